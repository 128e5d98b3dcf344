// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_GROUP_SHARD_MACHINE_HPP
#define LEASEHOLD_GROUP_SHARD_MACHINE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/group/shard_plan.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace leasehold::inline v0::group {

// A shard's row, as one look at the store found it. Of a shard without a row nobody holds a term.
struct seen_row {
    std::size_t shard = 0;
    std::int64_t token = 0;
    std::size_t holder = nobody;  // a member's index; nobody: no member has that owner
    std::optional<shard_request> request{};
    bool held_closed = false;
};

// One look at the store.
struct shard_look {
    std::vector<seen_member> members;  // in the same order for everybody
    std::size_t me = 0;
    std::vector<seen_row> rows;
};

struct shard_ask {
    std::size_t shard;
    std::size_t holder;
    std::size_t after;  // see shard_request
};

// What a member does after a look, in this order.
struct shard_actions {
    std::vector<std::size_t> drain;      // ask the work on them to end; each is given back when it has ended
    std::vector<std::size_t> lost;       // somebody has had a later term; told with each look
    std::vector<std::size_t> give_back;  // release them
    std::vector<std::size_t> take;       // try to acquire them
    std::vector<shard_ask> ask;          // ask their holders to hand them over
    std::vector<std::size_t> late;       // mine, or asked for: drains that outlast their time; told once each
    std::size_t share = 0;               // how many shards this member should have
    bool moving = false;                 // something is on its way to this member: look again soon
};

struct shard_pacing {
    duration drain_timeout = std::chrono::seconds{30};
    duration retry_min = std::chrono::seconds{1};  // before a shard is taken again whose work has ended by itself
    duration retry_max = std::chrono::minutes{1};
    duration patience = std::chrono::seconds{6};  // two looks of everybody: how long a free shard is left to the member that should take it

    friend bool operator==(const shard_pacing&, const shard_pacing&) = default;
};

// What one member knows and does: a pure function of what it has seen and done, and of the time; no clock, no I/O.
//
// It knows what it owns better than any look, which may come from before its last step, or from a copy of the database that lags. So its
// own shards, what it has just given away, and what it has just asked for count as it remembers them.
class shard_machine {
public:
    enum class state : std::uint8_t {
        working,
        draining,  // the work has been asked to end
        ended      // the work has ended; the term has not
    };

    shard_machine(std::size_t count, const shard_pacing& pacing) : count_{count}, pacing_{pacing} { assert(count > 0); }

    // What to do now. Shards to drain are draining from now on; all other actions are told to the machine when they are done. If it throws,
    // for want of memory, none is draining that was not before.
    shard_actions looked(const shard_look& look, time_point now)
    {
        assert(look.me < look.members.size());
        const std::vector<seen_shard> shards = overlaid(look, now);
        const shard_plan plan{look.members, shards, count_};
        shard_actions todo;
        todo.share = plan.share(look.me);
        todo.drain.reserve(mine_.size());
        todo.lost.reserve(mine_.size());
        for (const auto& [shard, mine] : mine_)
            if (mine.is == state::ended) todo.give_back.push_back(shard);
        take(plan, look, shards, now, todo);
        await(plan, look, now);
        ask(plan, look, now, todo);
        tell_late(now, todo);
        todo.moving = !todo.take.empty() || std::ranges::any_of(asked_, [](const auto& entry) { return !entry.second.told_late; });
        drain(plan, look, now, todo);
        check(look, todo);
        return todo;
    }

    // The store has granted it.
    void taken(std::size_t shard, std::int64_t token)
    {
        assert(!mine_.contains(shard));
        mine_.emplace(shard, my_shard{token, state::working, {}, std::nullopt, false});
        asked_.erase(shard);
    }

    // Allocates what ended() and over() need: after this call neither throws.
    void make_room_for_end(std::size_t shard)
    {
        ended_tokens_.try_emplace(shard, 0);
        retries_.try_emplace(shard);
    }

    // The work on it has ended. Unless it was draining, it is not taken again before a pause, which doubles after each failure. What an
    // operator has asked for is left to others first.
    void ended(std::size_t shard, bool failed, time_point now)
    {
        const auto found = mine_.find(shard);
        assert(found != mine_.end() && found->second.is != state::ended);
        const bool by_itself = found->second.is == state::working;
        const bool others_first = found->second.wanted_by_operator;
        make_room_for_end(shard);
        retry& again = retries_.find(shard)->second;
        found->second.is = state::ended;
        if (!by_itself && !failed && !others_first) {
            retries_.erase(shard);
            return;
        }
        if (failed)
            again.pause = std::min(std::max(2 * again.pause, pacing_.retry_min), pacing_.retry_max);
        else
            again.pause = by_itself ? pacing_.retry_min : duration::zero();
        again.not_before = now + (others_first ? std::max(again.pause, 4 * pacing_.patience) : again.pause);
    }

    // Its term has ended: it was given back, or is lost. Only once the work has ended.
    void over(std::size_t shard) noexcept
    {
        const auto found = mine_.find(shard);
        assert(found != mine_.end() && found->second.is == state::ended);
        std::int64_t& last = ended_tokens_.find(shard)->second;
        last = std::max(last, found->second.token);
        mine_.erase(found);
    }

    // The work on it has to end: its term is lost, or the member gives everything away.
    void give_up(std::size_t shard, time_point now)
    {
        const auto found = mine_.find(shard);
        if (found == mine_.end() || found->second.is != state::working) return;
        found->second.is = state::draining;
        found->second.draining_since = now;
    }

    // There are this many shards from now on. Those that are no more are drained.
    void resize(std::size_t count)
    {
        assert(count > 0);
        count_ = count;
    }

    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    [[nodiscard]] std::size_t owned() const noexcept { return mine_.size(); }
    [[nodiscard]] std::optional<state> state_of(std::size_t shard) const
    {
        const auto found = mine_.find(shard);
        return found == mine_.end() ? std::nullopt : std::optional{found->second.is};
    }
    [[nodiscard]] std::vector<std::size_t> mine() const
    {
        std::vector<std::size_t> all;
        for (const auto& [shard, mine] : mine_) all.push_back(shard);
        return all;
    }

    friend bool operator==(const shard_machine&, const shard_machine&) = default;

private:
    struct my_shard {
        std::int64_t token = 0;
        state is = state::working;
        time_point draining_since{};
        std::optional<std::uint64_t> for_whom{};  // the `order` of the member that has asked for it: indices change from look to look
        bool told_late = false;
        bool wanted_by_operator = false;

        friend bool operator==(const my_shard&, const my_shard&) = default;
    };

    struct my_ask {
        std::int64_t token = 0;  // of the term whose holder was asked
        std::size_t after = 0;
        time_point since{};
        std::size_t looks = 0;  // that have not shown it
        bool told_late = false;

        friend bool operator==(const my_ask&, const my_ask&) = default;
    };

    struct retry {
        duration pause{};
        time_point not_before{};

        friend bool operator==(const retry&, const retry&) = default;
    };

    // Returns the shards of the look, corrected by what this member knows better.
    std::vector<seen_shard> overlaid(const shard_look& look, time_point now)
    {
        std::size_t size = count_;
        for (const seen_row& row : look.rows) size = std::max(size, row.shard + 1);
        if (!mine_.empty()) size = std::max(size, mine_.rbegin()->first + 1);
        std::vector<seen_shard> shards(size);
        std::vector<std::int64_t> tokens(size, 0);
        newest_tokens_.resize(std::max(size, newest_tokens_.size()), 0);
        for (const seen_row& row : look.rows) {
            tokens[row.shard] = row.token;
            shards[row.shard] = seen_as(row, look);
            newest_tokens_[row.shard] = std::max(newest_tokens_[row.shard], row.token);
        }
        for (const auto& [shard, mine] : mine_)
            if (tokens[shard] <= mine.token) shards[shard] = own(mine, look, tokens[shard], shards[shard].request);
        overlay_asks(look.me, tokens, shards);
        note_unowned(shards, now);
        return shards;
    }

    [[nodiscard]] seen_shard seen_as(const seen_row& row, const shard_look& look) const
    {
        // An earlier look has shown a later term, so this one comes from a copy that lags: it does not show who has the shard now.
        const bool lags = row.token < newest_tokens_[row.shard];
        if (row.held_closed && !lags) return {shard_place::held_closed, nobody, {}};
        if (row.holder == nobody || lags) return {shard_place::of_stranger, nobody, {}};
        if (row.holder == look.me) {
            const auto ended = ended_tokens_.find(row.shard);
            if (ended != ended_tokens_.end() && row.token <= ended->second) return {shard_place::leaving, look.me, {}};
        }
        return {shard_place::owned, row.holder, row.request};
    }

    static seen_shard own(const my_shard& mine, const shard_look& look, std::int64_t seen_token,
                          const std::optional<shard_request>& request)
    {
        if (mine.is == state::working)
            return {shard_place::owned, look.me, seen_token == mine.token ? request : std::nullopt};
        seen_shard going{shard_place::leaving, look.me, {}};
        if (!mine.for_whom) return going;
        const auto asker = std::ranges::find(look.members, *mine.for_whom, &seen_member::order);
        if (asker != look.members.end() && !asker->paused)
            going.request = shard_request{static_cast<std::size_t>(asker - look.members.begin()), 0};
        return going;
    }

    // A request that no look has shown yet counts. One that two looks in a row have not shown was lost.
    void overlay_asks(std::size_t me, const std::vector<std::int64_t>& tokens, std::vector<seen_shard>& shards)
    {
        for (auto entry = asked_.begin(); entry != asked_.end();) {
            auto& [shard, wanted] = *entry;
            const bool same_term = shard < shards.size() && tokens[shard] == wanted.token && shards[shard].place == shard_place::owned &&
                                   shards[shard].holder != me;
            const bool shown = same_term && shards[shard].request.has_value();
            if (!same_term || (shown && shards[shard].request->asker != me) || (!shown && ++wanted.looks > 2)) {
                entry = asked_.erase(entry);
                continue;
            }
            if (shown)
                wanted.looks = 0;
            else
                shards[shard].request = shard_request{me, wanted.after};
            ++entry;
        }
    }

    void note_unowned(const std::vector<seen_shard>& shards, time_point now)
    {
        for (std::size_t i = 0; i < count_; ++i)
            if (shards[i].place == shard_place::unowned)
                unowned_since_.try_emplace(i, now);
            else
                unowned_since_.erase(i);
        unowned_since_.erase(unowned_since_.lower_bound(count_), unowned_since_.end());
    }

    // Comes last, and needs no memory: so the runner learns of all that is draining, also if something fails.
    void drain(const shard_plan& plan, const shard_look& look, time_point now, shard_actions& todo) noexcept
    {
        for (const shard_move& move : plan.drains())
            if (move.from == look.me) drain(move.shard, move.to, look, now, todo);
        // A row with a later term says that this member's term is over, sooner than a renewal may. The work on the shard must end, too.
        for (const seen_row& row : look.rows) {
            const auto found = mine_.find(row.shard);
            if (found == mine_.end() || found->second.is == state::ended || found->second.token >= row.token) continue;
            drain(row.shard, nobody, look, now, todo);
            todo.lost.push_back(row.shard);
        }
    }

    void drain(std::size_t shard, std::size_t to, const shard_look& look, time_point now, shard_actions& todo) noexcept
    {
        const auto found = mine_.find(shard);
        if (found == mine_.end() || found->second.is != state::working) return;  // granted by an answer that was lost: it runs out
        found->second.is = state::draining;
        found->second.draining_since = now;
        if (to != nobody) found->second.for_whom = look.members[to].order;
        const auto row = std::ranges::find(look.rows, shard, &seen_row::shard);
        found->second.wanted_by_operator = row != look.rows.end() && row->request && row->request->asker == nobody;
        todo.drain.push_back(shard);
    }

    // Takes the free shards that the plan gives to this member; those that it gives to members that do not come for them, in turn; and
    // those that are this member's already by an answer that was lost.
    void take(const shard_plan& plan, const shard_look& look, const std::vector<seen_shard>& shards, time_point now, shard_actions& todo)
    {
        const seen_member& me = look.members[look.me];
        if (me.paused) return;
        std::size_t room = me.most == nobody ? nobody : me.most - std::min(me.most, mine_.size());
        const auto take_if_room = [&](std::size_t shard) {
            const auto again = retries_.find(shard);
            if (room == 0 || (again != retries_.end() && now < again->second.not_before)) return;
            if (room != nobody) --room;
            todo.take.push_back(shard);
        };
        for (std::size_t i = 0; i < count_; ++i)
            if (shards[i].place == shard_place::owned && shards[i].holder == look.me && !mine_.contains(i)) take_if_room(i);
        for (const shard_move& move : plan.takes())
            if (move.to == look.me || now - unowned_since_.at(move.shard) >= wait_for(move.to, look)) take_if_room(move.shard);
    }

    // How long this member leaves a free shard to the one that the plan prefers: that one may hang. Then the next ones come in turn, the
    // first of them after all of the patience and no more.
    [[nodiscard]] duration wait_for(std::size_t preferred, const shard_look& look) const
    {
        const std::size_t others_before = (look.me + look.members.size() - preferred - 1) % look.members.size();
        const duration more = pacing_.patience / 2;
        const duration::rep most = (duration::max() - pacing_.patience) / std::max(more, duration{1});
        return pacing_.patience + std::min(static_cast<duration::rep>(others_before), most) * more;
    }

    // Only what the plan moves to this member is on its way: a request in the row may have lost its reason, and get it back.
    void await(const shard_plan& plan, const shard_look& look, time_point now)
    {
        std::map<std::size_t, my_ask> awaited;
        for (const shard_move& move : plan.drains()) {
            if (move.to != look.me) continue;
            if (auto known = asked_.extract(move.shard)) {
                awaited.insert(std::move(known));
                continue;
            }
            const auto row = std::ranges::find(look.rows, move.shard, &seen_row::shard);
            if (row != look.rows.end()) awaited.try_emplace(move.shard, my_ask{row->token, move.after, now, 0, false});
        }
        asked_ = std::move(awaited);
    }

    // Asks for no shard that this member can't take yet, for example because its work failed here. It asks for no other one instead.
    void ask(const shard_plan& plan, const shard_look& look, time_point now, shard_actions& todo)
    {
        const auto waits = [&](const auto& entry) {
            return entry.first < count_ && now < entry.second.not_before && !mine_.contains(entry.first);
        };
        // libc++ 14, with which emscripten compiles it, has no std::ranges::count_if.
        std::ptrdiff_t left_out = std::count_if(retries_.begin(), retries_.end(), waits);
        for (const shard_move& move : plan.asks()) {
            if (move.to != look.me || left_out-- > 0) continue;
            const auto again = retries_.find(move.shard);
            if (again != retries_.end() && waits(*again)) continue;
            const auto row = std::ranges::find(look.rows, move.shard, &seen_row::shard);
            if (row == look.rows.end() || mine_.contains(move.shard)) continue;
            todo.ask.push_back({move.shard, move.from, move.after});
            const auto [found, is_new] = asked_.try_emplace(move.shard, my_ask{row->token, move.after, now, 0, false});
            if (!is_new) found->second.after = move.after;
        }
    }

    void tell_late(time_point now, shard_actions& todo)
    {
        const auto tell = [&](std::size_t shard, time_point since, bool& told) {
            if (told || now - since <= pacing_.drain_timeout) return;
            todo.late.push_back(shard);
            told = true;
        };
        for (auto& [shard, mine] : mine_)
            if (mine.is == state::draining) tell(shard, mine.draining_since, mine.told_late);
        for (auto& [shard, wanted] : asked_) tell(shard, wanted.since, wanted.told_late);
    }

    void check([[maybe_unused]] const shard_look& look, [[maybe_unused]] const shard_actions& todo) const
    {
        assert(std::ranges::none_of(todo.take, [&](std::size_t i) { return mine_.contains(i) || i >= count_; }));
        assert(std::ranges::none_of(todo.ask, [&](const shard_ask& ask) { return mine_.contains(ask.shard) || ask.holder == look.me; }));
        assert(std::ranges::all_of(todo.drain, [&](std::size_t i) { return mine_.at(i).is == state::draining; }));
        assert(std::ranges::all_of(todo.give_back, [&](std::size_t i) { return mine_.at(i).is == state::ended; }));
        assert(!look.members[look.me].paused || (todo.take.empty() && todo.ask.empty()));
        assert(!look.members[look.me].paused || std::ranges::none_of(mine_, [](const auto& e) { return e.second.is == state::working; }));
    }

    std::size_t count_;
    shard_pacing pacing_;
    std::map<std::size_t, my_shard> mine_;
    std::map<std::size_t, my_ask> asked_;  // what others are to hand over to this member
    std::map<std::size_t, std::int64_t> ended_tokens_;  // the token of the last term of this member that has ended
    std::map<std::size_t, retry> retries_;
    std::map<std::size_t, time_point> unowned_since_;
    std::vector<std::int64_t> newest_tokens_;  // that a look has shown, by shard
};

}  // namespace leasehold::inline v0::group

#endif
