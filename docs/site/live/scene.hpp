// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_SITE_LIVE_SCENE_HPP
#define LEASEHOLD_SITE_LIVE_SCENE_HPP

#include "replica.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace live {

inline constexpr std::size_t replica_count = 3;
inline constexpr std::size_t no_replica = replica_count;
inline constexpr lh::duration remembered = 60s;

/// From when to when something was so. `to` is empty while it still is.
struct span {
    std::size_t replica = no_replica;
    lh::time_point from;
    std::optional<lh::time_point> to{};

    [[nodiscard]] bool before(lh::time_point when) const noexcept { return to && *to < when; }
};

/// A term of the lease "report".
struct term_span : span {
    std::int64_t token = 0;
    lh::time_point deadline{};   // up to which its holder believes
    lh::time_point store_end{};  // from which the store lets somebody else in

    [[nodiscard]] bool before(lh::time_point when) const noexcept { return span::before(when) && store_end < when; }
};

struct shard_span : span {
    std::size_t shard = 0;
};

enum class condition : std::uint8_t { off, running, cut, frozen };

struct life_span : span {
    condition is = condition::off;
};

struct event {
    lh::time_point at;
    std::size_t replica;
    happening what;
    std::int64_t number;  // of the token or the shard
};

/// Three replicas, a database and a file, on a clock that the page turns.
class scene {
public:
    scene() = default;
    scene(const scene&) = delete;
    scene& operator=(const scene&) = delete;
    ~scene() = default;

    /// Moves the clock, in steps that are as short as the replicas' turns.
    void advance(lh::duration by)
    {
        for (const lh::time_point until = now_ + by; now_ < until;) {
            now_ += std::min<lh::duration>(tick, until - now_);
            // Who is first changes, as it does among processes.
            const std::size_t first = static_cast<std::size_t>((now_ - begun) / tick) % replica_count;
            for (std::size_t i = 0; i < replica_count; ++i)
                if (replica* const each = replicas_[(first + i) % replica_count].get()) each->step();
            observe();
        }
        forget();
    }

    void start(std::size_t i)
    {
        if (replicas_[i]) return;
        const std::string owner = std::string{letter(i)} + ' ' + std::to_string(++starts_[i]);
        tell(happening::started, i);
        replicas_[i] = std::make_unique<replica>(database_, file_, clock_, owner, cut_[i],
                                                 [this, i](happening what, std::int64_t number) { tell(what, i, number); });
        observe();
    }
    /// As after SIGTERM: it releases what it holds.
    void stop(std::size_t i)
    {
        if (!replicas_[i] || replicas_[i]->is_frozen()) return;
        end(i, happening::stopped);
    }
    void kill(std::size_t i)
    {
        if (!replicas_[i]) return;
        replicas_[i]->kill();
        end(i, happening::killed);
    }
    void freeze(std::size_t i, bool now)
    {
        if (!replicas_[i] || replicas_[i]->is_frozen() == now) return;
        tell(now ? happening::frozen : happening::thawed, i);
        if (now)
            replicas_[i]->freeze();
        else
            replicas_[i]->thaw();
        observe();
    }
    void cut(std::size_t i, bool now)
    {
        if (cut_[i] == now) return;
        cut_[i] = now;
        if (replicas_[i]) replicas_[i]->cut(now);
        tell(now ? happening::cut : happening::joined, i);
        observe();
    }

    [[nodiscard]] lh::time_point now() const noexcept { return now_; }
    [[nodiscard]] lh::duration since_begin(lh::time_point when) const noexcept { return when - begun; }
    [[nodiscard]] static char letter(std::size_t i) noexcept { return static_cast<char>('A' + static_cast<char>(i)); }
    [[nodiscard]] condition condition_of(std::size_t i) const noexcept
    {
        if (!replicas_[i]) return condition::off;
        if (replicas_[i]->is_frozen()) return condition::frozen;
        return cut_[i] ? condition::cut : condition::running;
    }
    [[nodiscard]] bool is_cut(std::size_t i) const noexcept { return cut_[i]; }
    [[nodiscard]] const replica* at(std::size_t i) const noexcept { return replicas_[i].get(); }
    [[nodiscard]] const fenced_file& file() const noexcept { return file_; }
    [[nodiscard]] std::optional<lease_table::record_type> record() const { return database_.leases.look_up("report"); }

    /// The replica that holds the lease; no_replica: none.
    [[nodiscard]] std::size_t holder() const noexcept
    {
        for (std::size_t i = 0; i < replica_count; ++i)
            if (replicas_[i] && replicas_[i]->report().held()) return i;
        return no_replica;
    }
    [[nodiscard]] std::size_t owner_of(std::size_t shard) const noexcept
    {
        for (std::size_t i = 0; i < replica_count; ++i)
            if (replicas_[i] && replicas_[i]->shard(shard).held()) return i;
        return no_replica;
    }

    /// How often two have held one name, or a write was taken of somebody who was no longer the newest: must stay 0.
    [[nodiscard]] int violations() const noexcept { return violations_; }

    [[nodiscard]] const std::deque<term_span>& terms() const noexcept { return terms_; }
    [[nodiscard]] const std::deque<shard_span>& shards() const noexcept { return shards_; }
    [[nodiscard]] const std::deque<life_span>& lives() const noexcept { return lives_; }
    [[nodiscard]] const std::deque<event>& events() const noexcept { return events_; }

    static constexpr lh::duration tick = 50ms;

private:
    static constexpr lh::time_point begun{1h};

    void end(std::size_t i, happening how)
    {
        replicas_[i].reset();
        tell(how, i);
        observe();
    }

    void tell(happening what, std::size_t i, std::int64_t number = 0)
    {
        if (what == happening::wrote && record() && record()->token.value() > number && holder() != no_replica) ++violations_;
        events_.push_back({now_, i, what, number});
    }

    void observe()
    {
        for (std::size_t i = 0; i < replica_count; ++i) {
            note_life(i);
            note_term(i);
        }
        const auto holds_report = [](const replica& each) { return each.report().held(); };
        if (count_if(holds_report) > 1) ++violations_;
        for (std::size_t shard = 0; shard < shard_count; ++shard) {
            if (count_if([&](const replica& each) { return each.shard(shard).held(); }) > 1) ++violations_;
            note_shard(shard);
        }
    }

    template <class Predicate>
    [[nodiscard]] std::ptrdiff_t count_if(Predicate holds) const
    {
        return std::count_if(replicas_.begin(), replicas_.end(), [&](const auto& each) { return each && holds(*each); });
    }

    template <class Span, class Same>
    static Span* open_span(std::deque<Span>& spans, Same same)
    {
        const auto found = std::find_if(spans.rbegin(), spans.rend(), [&](const Span& each) { return !each.to && same(each); });
        return found == spans.rend() ? nullptr : &*found;
    }

    void note_life(std::size_t i)
    {
        life_span* const open = open_span(lives_, [&](const life_span& each) { return each.replica == i; });
        const condition is = condition_of(i);
        if (open && open->is == is) return;
        if (open) open->to = now_;
        if (is != condition::off) lives_.push_back({{i, now_}, is});
    }

    void note_term(std::size_t i)
    {
        const bool held = replicas_[i] && replicas_[i]->report().held();
        const std::int64_t token = held ? replicas_[i]->report().token().value() : 0;
        term_span* open = open_span(terms_, [&](const term_span& each) { return each.replica == i; });
        if (open && open->token != token) {
            open->to = std::min(now_, open->deadline);
            open = nullptr;
        }
        if (held && !open) open = &terms_.emplace_back(term_span{{i, now_}, token});
        if (open) open->deadline = now_ + replicas_[i]->report().remaining();
        const auto there = record();
        for (term_span& each : terms_) {
            if (there && there->token.value() == each.token)
                each.store_end = now_ + there->remaining;
            else
                each.store_end = std::min(each.store_end, now_);
        }
    }

    void note_shard(std::size_t shard)
    {
        shard_span* const open = open_span(shards_, [&](const shard_span& each) { return each.shard == shard; });
        const std::size_t owner = owner_of(shard);
        if (open && open->replica == owner) return;
        if (open) open->to = now_;
        if (owner != no_replica) shards_.push_back({{owner, now_}, shard});
    }

    void forget()
    {
        const lh::time_point oldest = now_ - remembered;
        std::erase_if(terms_, [&](const auto& each) { return each.before(oldest); });
        std::erase_if(shards_, [&](const auto& each) { return each.before(oldest); });
        std::erase_if(lives_, [&](const auto& each) { return each.before(oldest); });
        std::erase_if(events_, [&](const auto& each) { return each.at < oldest; });
    }

    lh::time_point now_ = begun;
    page_clock clock_{now_};
    database database_{clock_};
    fenced_file file_;
    std::array<bool, replica_count> cut_{};
    std::array<int, replica_count> starts_{};
    std::deque<term_span> terms_;
    std::deque<shard_span> shards_;
    std::deque<life_span> lives_;
    std::deque<event> events_;
    int violations_ = 0;
    std::array<std::unique_ptr<replica>, replica_count> replicas_;  // end first
};

}  // namespace live

#endif
