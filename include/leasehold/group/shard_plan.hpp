// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_GROUP_SHARD_PLAN_HPP
#define LEASEHOLD_GROUP_SHARD_PLAN_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

// Who should have which shard: a pure function of one look at all shards and members. All members compute the same plan from the same
// look, and each carries out its own part. A look that is older than another's costs a detour, never the rule that one owns: the rows
// in the store decide that.
namespace leasehold::inline v0::group {

inline constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();

// A member as the last look showed it.
struct seen_member {
    std::uint64_t order = 0;     // a hash of its id: decides where everything else is equal
    std::uint32_t capacity = 1;  // its weight; > 0
    std::size_t most = nobody;   // how many shards it takes
    bool paused = false;         // gives away what it has, and takes nothing
};

// Asks the holder to hand a shard over. `asker`: a member's index, or nobody: an operator asks, and the holder gives the shard to whomever.
struct shard_request {
    std::size_t asker = nobody;
    std::size_t after = 0;  // how many shards the asker will have with this one
};

enum class shard_place : std::uint8_t {
    unowned,     // nobody holds it
    owned,       // the member `holder` holds it
    leaving,     // its holder is giving it up, and nobody can take it yet
    of_stranger,  // somebody holds it who is no member, or no longer
    held_closed  // an operator lets nobody have it: it counts for no one's share
};

struct seen_shard {
    shard_place place = shard_place::unowned;
    std::size_t holder = nobody;
    std::optional<shard_request> request{};
};

// A shard that is to move.
struct shard_move {
    std::size_t shard;
    std::size_t from;  // nobody: it is free
    std::size_t to;    // nobody: its holder gives it up
    std::size_t after = 0;  // how many `to` will have with it
};

// How many shards each member has, and how many it will have once everything that is on its way has come.
class shard_loads {
public:
    explicit shard_loads(const std::vector<seen_member>& members) : members_{members}, owned_(members.size(), 0), due_(members.size(), 0) {}

    [[nodiscard]] std::size_t owned(std::size_t member) const noexcept { return owned_[member]; }
    [[nodiscard]] std::size_t with_due(std::size_t member) const noexcept { return owned_[member] + due_[member]; }
    [[nodiscard]] bool takes(std::size_t member) const noexcept
    {
        return !members_[member].paused && with_due(member) < members_[member].most;
    }

    void add(std::size_t member) noexcept { ++owned_[member]; }
    void leave(std::size_t from) noexcept
    {
        assert(owned_[from] > 0);
        --owned_[from];
    }
    void expect(std::size_t to) noexcept { ++due_[to]; }

    // Whether a move makes the spread smaller, if `to` has `after` shards with it: the shares of both then lie between the two of before.
    // A shard on its way counts for the member that gets it, and not for the one that gives: it may never come.
    [[nodiscard]] bool evens(std::size_t from, std::size_t to, std::size_t after) const noexcept
    {
        const std::size_t with_it = std::max(after, with_due(to) + 1);
        return from != to && takes(to) && weighted(owned_[from], to) > weighted(with_it, from);
    }

    // Returns the member that gets one more shard: its share is the smallest after it. nobody: all are paused or full.
    [[nodiscard]] std::size_t neediest() const noexcept
    {
        std::size_t least = nobody;
        for (std::size_t member = 0; member < members_.size(); ++member)
            if (takes(member) && (least == nobody || needs_more(member, least))) least = member;
        return least;
    }

    // Returns the member with the largest share of those for which `has_some` is true; nobody: none.
    template <class HasSome>
    [[nodiscard]] std::size_t richest(HasSome has_some) const noexcept
    {
        std::size_t most = nobody;
        for (std::size_t member = 0; member < members_.size(); ++member)
            if (has_some(member) && (most == nobody || weighted(owned_[member], most) > weighted(owned_[most], member))) most = member;
        return most;
    }

private:
    [[nodiscard]] std::uint64_t weighted(std::size_t shards, std::size_t by) const noexcept
    {
        return std::uint64_t{shards} * members_[by].capacity;
    }

    [[nodiscard]] bool needs_more(std::size_t a, std::size_t b) const noexcept
    {
        const std::uint64_t load_of_a = weighted(with_due(a) + 1, b);
        const std::uint64_t load_of_b = weighted(with_due(b) + 1, a);
        return std::tie(load_of_a, members_[a].order, a) < std::tie(load_of_b, members_[b].order, b);
    }

    const std::vector<seen_member>& members_;
    std::vector<std::size_t> owned_;
    std::vector<std::size_t> due_;
};

// The plan: what all members together should do.
class shard_plan {
public:
    // `shards`: by index; those of `count` and above are no more, and their holders give them up. Shards that are `leaving` with a request
    // are on their way to its asker.
    shard_plan(const std::vector<seen_member>& members, const std::vector<seen_shard>& shards, std::size_t count)
        : members_{members}, shards_{shards}, count_{std::min(count, shards.size())}, loads_{members}, movable_(members.size()),
          stays_(shards.size(), false)
    {
        count_owned();
        give_up();
        place_free();
        honour_requests();
        even_out();
    }

    // The shards whose holders begin to drain them.
    [[nodiscard]] const std::vector<shard_move>& drains() const noexcept { return drains_; }
    // The shards that are free, and who takes them.
    [[nodiscard]] const std::vector<shard_move>& takes() const noexcept { return takes_; }
    // The shards that somebody had better ask for. Each such move makes the spread smaller.
    [[nodiscard]] const std::vector<shard_move>& asks() const noexcept { return asks_; }
    // How many shards the member should have.
    [[nodiscard]] std::size_t share(std::size_t member) const noexcept { return loads_.with_due(member); }

private:
    void count_owned()
    {
        for (std::size_t i = 0; i < shards_.size(); ++i) {
            const seen_shard& s = shards_[i];
            if (s.place == shard_place::owned && i < count_) loads_.add(s.holder);
            if (s.place == shard_place::leaving && i < count_ && s.request) loads_.expect(s.request->asker);
            stays_[i] = s.place == shard_place::owned;
        }
    }

    // What is no more goes first; then everything of those that are paused, what somebody has beyond its limit, and what an operator wants
    // to be given up.
    void give_up()
    {
        for (std::size_t i = shards_.size(); i-- > 0;) {
            const seen_shard& s = shards_[i];
            if (s.place != shard_place::owned) continue;
            const seen_member& holder = members_[s.holder];
            const bool gone = i >= count_;
            const bool by_operator = s.request && s.request->asker == nobody;
            if (!gone && !holder.paused && !by_operator && loads_.owned(s.holder) <= holder.most) continue;
            if (!gone) loads_.leave(s.holder);
            stays_[i] = false;
            drains_.push_back({i, s.holder, nobody});
        }
    }

    // Places what is free, and what will be without a request. So nobody asks for what somebody has while there is something to take.
    void place_free()
    {
        for (std::size_t i = 0; i < count_; ++i) {
            const seen_shard& s = shards_[i];
            if (stays_[i] || s.place == shard_place::held_closed || (s.place == shard_place::leaving && s.request)) continue;
            const std::size_t to = loads_.neediest();
            if (to == nobody) return;
            loads_.expect(to);
            if (s.place == shard_place::unowned) takes_.push_back({i, nobody, to, loads_.with_due(to)});
        }
    }

    // A request is followed only as long as the move makes the spread smaller: one that has lost its reason moves nothing.
    void honour_requests()
    {
        std::vector<std::size_t> requested;
        for (std::size_t i = 0; i < count_; ++i) {
            if (!stays_[i]) continue;
            if (shards_[i].request)
                requested.push_back(i);
            else
                movable_[shards_[i].holder].push_back(i);
        }
        std::ranges::stable_sort(requested, {}, [this](std::size_t i) { return shards_[i].request->after; });
        for (const std::size_t i : requested) {
            const auto [asker, after] = *shards_[i].request;
            const std::size_t holder = shards_[i].holder;
            if (loads_.evens(holder, asker, after)) {
                loads_.leave(holder);
                loads_.expect(asker);
                drains_.push_back({i, holder, asker, after});
            } else {
                movable_[holder].push_back(i);
            }
        }
    }

    // Adds moves until none makes the spread smaller.
    void even_out()
    {
        for (;;) {
            const std::size_t to = loads_.neediest();
            const std::size_t from = loads_.richest([this](std::size_t member) { return !movable_[member].empty(); });
            if (to == nobody || from == nobody || !loads_.evens(from, to, 0)) return;
            loads_.leave(from);
            loads_.expect(to);
            asks_.push_back({pick(movable_[from], members_[to].order), from, to, loads_.with_due(to)});
        }
    }

    // Different askers begin at different ends, so that two that do not know of each other seldom ask for the same shard.
    static std::size_t pick(std::vector<std::size_t>& from, std::uint64_t order)
    {
        const auto at = from.begin() + static_cast<std::ptrdiff_t>(order % from.size());
        const std::size_t picked = *at;
        from.erase(at);
        return picked;
    }

    const std::vector<seen_member>& members_;
    const std::vector<seen_shard>& shards_;
    const std::size_t count_;
    shard_loads loads_;
    std::vector<std::vector<std::size_t>> movable_;  // of each member: what it has and nobody has asked for
    std::vector<bool> stays_;  // of each shard: its holder keeps it unless somebody asks
    std::vector<shard_move> drains_;
    std::vector<shard_move> takes_;
    std::vector<shard_move> asks_;
};

}  // namespace leasehold::inline v0::group

#endif
