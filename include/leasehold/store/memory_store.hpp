// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_MEMORY_STORE_HPP
#define LEASEHOLD_STORE_MEMORY_STORE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/checkpoint_record.hpp>
#include <leasehold/clock/concept.hpp>
#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/handover_priority.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store/name_holding.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/local_queue.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

/// Leases of one process, in memory: a real store, for threads that share it, and for tests.
///
/// Never fails, except with std::bad_alloc at a name's first term. Remembers every name that it has granted, because of the
/// tokens. Thread safety: any thread may call any function; names are spread over `shards` mutexes, each held for a look-up.
template <lease_clock Clock>
class basic_memory_store : public name_holding<basic_memory_store<Clock>> {
    struct shard;

public:
    /// The number of mutexes over which the names are spread.
    static constexpr std::size_t shards = 64;

    /// Uses a default-constructed clock.
    basic_memory_store() : basic_memory_store{Clock{}} {}
    /// Uses this clock, which decides when terms are over, and by which now() advances. `begins` is what now() says at this moment: the
    /// system's time, unless a test with a manual clock begins at a time of its own.
    explicit basic_memory_store(Clock clock, store_time begins = system_time()) : clock_{std::move(clock)}, begins_{begins} {}
    basic_memory_store(const basic_memory_store&) = delete;
    basic_memory_store& operator=(const basic_memory_store&) = delete;

    /// See lease_store.
    acquire_result try_acquire(std::string_view name, std::string_view owner, duration ttl, std::error_code& ec)
    {
        ec = detail::refusal_of(name, owner);
        if (ec) return {};
        const key wanted{name};
        shard& s = shard_of(wanted);
        const std::lock_guard lock{s.mutex};
        const time_point now = clock_.now();
        auto found = s.entries.find(wanted);
        if (found == s.entries.end()) found = s.entries.emplace(wanted, entry{}).first;
        entry& e = found->second;
        if (e.ends > now && e.owner != owner) return {acquire_status::busy, fencing_token{e.token}, e.ends - now};
        e.owner.assign(owner);
        e.ends = std::max(e.ends, now + ttl);
        e.of_term.reset();
        ++e.token;
        return {acquire_status::granted, fencing_token{e.token}, duration::zero()};
    }

    /// See batch_acquiring_store.
    void acquire_many(std::span<const term_request> requests, std::size_t most, std::span<std::optional<acquire_result>> answers,
                      std::error_code& ec)
    {
        ec.clear();
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const term_request& request = requests[i];
            const acquire_result result = most > 0 ? try_acquire(request.name, request.owner, request.ttl, ec) : acquire_result{};
            if (ec) return;
            if (result.granted()) --most;
            answers[i] = result;
        }
    }

    /// See lease_store.
    bool renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl, std::error_code& ec)
    {
        return change_term(name, owner, token, ec, [ttl](shard&, entry& e, time_point now) { e.ends = std::max(e.ends, now + ttl); });
    }

    /// See lease_store.
    bool release(std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left, std::error_code& ec)
    {
        bool woken = false;
        const bool ended = change_term(name, owner, token, ec, [&](shard& s, entry& e, time_point now) {
            e.owner.clear();  // so that no attempt is the same owner's, which would be granted in spite of min_hold_left
            e.ends = now + min_hold_left;
            e.of_term.reset();
            woken = s.released(name);
        });
        // The woken thread often waits for this very processor: let it run first.
        if (woken) std::this_thread::yield();
        return ended;
    }

    /// See handover_store. May throw std::bad_alloc.
    bool publish(std::string_view name, std::string_view owner, fencing_token token, std::string_view data, std::error_code& ec)
    {
        if (ec = detail::refusal_of_data(data); ec) return false;
        return change_term(name, owner, token, ec, [data](shard&, entry& e, time_point) { e.notes().data.assign(data); });
    }

    /// See handover_store. May throw std::bad_alloc.
    bool request_handover(std::string_view name, std::string_view reason, std::error_code& ec)
    {
        ec = detail::refusal_of(name);
        if (!ec) ec = detail::refusal_of_data(reason);
        if (ec) return false;
        const key wanted{name};
        shard& s = shard_of(wanted);
        const std::lock_guard lock{s.mutex};
        const auto found = s.entries.find(wanted);
        if (found == s.entries.end() || found->second.ends <= clock_.now() || found->second.owner.empty()) return false;
        std::optional<std::string>& request = found->second.notes().request;
        const bool gives_way = request && detail::is_repeated(reason) && !detail::is_repeated(*request);
        if (!gives_way) request.emplace(reason);
        return true;
    }

    /// See handover_store. May throw std::bad_alloc.
    std::optional<std::string> handover_requested(std::string_view name, std::string_view owner, fencing_token token, std::error_code& ec)
    {
        std::optional<std::string> reason;
        change_term(name, owner, token, ec, [&reason](shard&, const entry& e, time_point) {
            if (e.of_term) reason = e.of_term->request;
        });
        return reason;
    }

    /// See checkpointing_store. May throw std::bad_alloc.
    bool save_checkpoint(std::string_view name, std::string_view owner, fencing_token token, std::string_view text, std::error_code& ec)
    {
        if (ec = detail::refusal_of_checkpoint(text); ec) return false;
        return change_term(name, owner, token, ec, [text](shard&, entry& e, time_point) {
            e.saved = std::make_unique<checkpoint_record>(checkpoint_record{.text = std::string{text}, .token = fencing_token{e.token}});
        });
    }

    /// See checkpoint_replacing_store. May throw std::bad_alloc.
    bool replace_checkpoint(std::string_view name, std::string_view owner, fencing_token token, std::string_view replaced,
                            std::string_view text, std::error_code& ec)
    {
        if (ec = detail::refusal_of_checkpoint(text); ec) return false;
        bool done = false;
        change_term(name, owner, token, ec, [&](shard&, entry& e, time_point) {
            const bool saved_by_us = e.saved && e.saved->token.value() == e.token && e.saved->text == text;
            done = saved_by_us || (e.saved ? std::string_view{e.saved->text} : std::string_view{}) == replaced;
            if (done)
                e.saved = std::make_unique<checkpoint_record>(
                    checkpoint_record{.text = std::string{text}, .token = fencing_token{e.token}});
        });
        return done;
    }

    /// The checkpoint of this name, if it has one; see checkpointing_store. Throws std::system_error with errc::invalid_name; may throw
    /// std::bad_alloc.
    [[nodiscard]] std::optional<checkpoint_record> checkpoint(std::string_view name) const
    {
        validate_name(name);
        const key wanted{name};
        shard& s = shard_of(wanted);
        const std::lock_guard lock{s.mutex};
        const auto found = s.entries.find(wanted);
        if (found == s.entries.end() || !found->second.saved) return std::nullopt;
        return *found->second.saved;
    }

    /// The same, reported in `ec`. May throw std::bad_alloc.
    [[nodiscard]] std::optional<checkpoint_record> checkpoint(std::string_view name, std::error_code& ec) const
    {
        ec = detail::refusal_of(name);
        return ec ? std::nullopt : checkpoint(name);
    }

    /// The checkpoints of all names that begin with `prefix`, sorted by name. May throw std::bad_alloc.
    [[nodiscard]] std::vector<std::pair<std::string, checkpoint_record>> checkpoints(std::string_view prefix = {}) const
    {
        std::vector<std::pair<std::string, checkpoint_record>> found;
        for (shard& s : shards_) {
            const std::lock_guard lock{s.mutex};
            for (const auto& [named, e] : s.entries)
                if (e.saved && named.text.starts_with(prefix)) found.emplace_back(named.text, *e.saved);
        }
        std::ranges::sort(found, {}, &std::pair<std::string, checkpoint_record>::first);
        return found;
    }
    /// The same, reported in `ec`. May throw std::bad_alloc.
    [[nodiscard]] std::vector<std::pair<std::string, checkpoint_record>> checkpoints(std::string_view prefix, std::error_code& ec) const
    {
        ec.clear();
        return checkpoints(prefix);
    }

    /// See checkpoint_looking_store. May throw std::bad_alloc.
    [[nodiscard]] checkpoint_look look_at_checkpoint(std::string_view name, std::error_code& ec) const
    {
        if (ec = detail::refusal_of(name); ec) return {};
        const key wanted{name};
        shard& s = shard_of(wanted);
        const std::lock_guard lock{s.mutex};
        checkpoint_look seen{.open = false, .now = now(ec)};
        const auto found = s.entries.find(wanted);
        if (found == s.entries.end()) return seen;
        const entry& e = found->second;
        if (e.saved) seen.saved = *e.saved;
        seen.latest = fencing_token{e.token};
        seen.open = e.ends > clock_.now() && !e.owner.empty();
        return seen;
    }

    /// See timed_store. It advances by the clock of this store, from the time that the constructor was given.
    [[nodiscard]] store_time now(std::error_code& ec) const noexcept
    {
        ec.clear();
        return now();
    }
    /// The same: it can't fail.
    [[nodiscard]] store_time now() const noexcept
    {
        return begins_ + std::chrono::floor<std::chrono::microseconds>(clock_.now() - made_);
    }

    /// See lease_store.
    std::optional<lease_record> inspect(std::string_view name, std::error_code& ec) const
    {
        if (ec = detail::refusal_of(name); ec) return std::nullopt;
        const key wanted{name};
        shard& s = shard_of(wanted);
        const std::lock_guard lock{s.mutex};
        const auto found = s.entries.find(wanted);
        const time_point now = clock_.now();
        if (found == s.entries.end() || found->second.ends <= now) return std::nullopt;
        return record_of(*found, now);
    }

    /// The records of all held names that begin with `prefix`, sorted by name. May throw std::bad_alloc.
    [[nodiscard]] std::vector<lease_record> list(std::string_view prefix = {}) const
    {
        std::vector<lease_record> records;
        for (shard& s : shards_) {
            const std::lock_guard lock{s.mutex};
            const time_point now = clock_.now();
            for (const auto& named : s.entries)
                if (named.second.ends > now && named.first.text.starts_with(prefix)) records.push_back(record_of(named, now));
        }
        std::ranges::sort(records, {}, &lease_record::name);
        return records;
    }

    /// The same, reported in `ec`.
    [[nodiscard]] std::vector<lease_record> list(std::string_view prefix, std::error_code& ec) const noexcept
    {
        std::vector<lease_record> records;
        ec.clear();
        detail::catch_into(ec, [&] { records = list(prefix); });
        return records;
    }

    /// The same, of all names.
    [[nodiscard]] std::vector<lease_record> list(std::error_code& ec) const noexcept { return list({}, ec); }

    /// Ends the term that the name has, if any; its token is not used again. True if there was a term. Its holder learns of
    /// this at its next renewal. Throws std::system_error with errc::invalid_name.
    bool force_release(std::string_view name)
    {
        validate_name(name);
        const key wanted{name};
        shard& s = shard_of(wanted);
        const std::lock_guard lock{s.mutex};
        const auto found = s.entries.find(wanted);
        const time_point now = clock_.now();
        if (found == s.entries.end() || found->second.ends <= now) return false;
        found->second.owner.clear();
        found->second.ends = now;
        s.released(name);
        return true;
    }

    /// The same, reported in `ec`.
    bool force_release(std::string_view name, std::error_code& ec) noexcept
    {
        ec.clear();
        bool ended = false;
        if (detail::broken_text_rule(name, max_name_bytes))
            ec = errc::invalid_name;
        else
            ended = force_release(name);
        return ended;
    }

    /// See notifying_store.
    class queue_ticket {
    public:
        queue_ticket(const queue_ticket&) = delete;
        queue_ticket& operator=(const queue_ticket&) = delete;

        ~queue_ticket()
        {
            const std::lock_guard lock{shard_.mutex};
            std::erase(shard_.tickets, this);
            if (waits_for_turn_)
                if (queue_ticket* const next = shard_.first_in_turn(name_)) next->waker_.wake();
            // This waiter may have been woken without taking the lease: then it is the next waiter's turn.
            const auto found = shard_.entries.find(key{name_});
            if (found == shard_.entries.end() || found->second.owner.empty()) shard_.released(name_);
        }

        /// See notifying_store.
        [[nodiscard]] std::string_view name() const noexcept { return name_; }
        /// See ordered_store: nobody is stuck here.
        static void passed() noexcept {}

    private:
        friend basic_memory_store;

        queue_ticket(shard& its_shard, std::string_view name, waker& to_wake) : shard_{its_shard}, name_{name}, waker_{to_wake}
        {
            const std::lock_guard lock{shard_.mutex};
            shard_.tickets.push_back(this);
        }

        shard& shard_;
        const std::string name_;
        waker& waker_;
        bool waits_for_turn_ = false;
    };

    /// See notifying_store.
    [[nodiscard]] queue_ticket enqueue(std::string_view name, waker& to_wake) { return {shard_of(key{name}), name, to_wake}; }

    /// See notifying_store.
    acquire_result try_acquire(const queue_ticket& ticket, std::string_view owner, duration ttl, std::error_code& ec)
    {
        acquire_result result = try_acquire(ticket.name(), owner, ttl, ec);
        result.retry_after = result.remaining;  // every release wakes
        return result;
    }

    /// See ordered_store. In the order in which the tickets were made.
    turn_answer turn(queue_ticket& ticket, std::error_code& ec)
    {
        ec = detail::refusal_of(ticket.name());
        if (ec) return {};
        const std::lock_guard lock{ticket.shard_.mutex};
        ticket.waits_for_turn_ = true;
        if (ticket.shard_.first_in_turn(ticket.name()) == &ticket) return {};
        return {.status = turn_status::behind, .retry_after = duration::max()};
    }

    /// See queueing_store.
    [[nodiscard]] waiting::local_queue& local_waiters() noexcept { return waiters_; }

    /// The clock that decides when terms are over.
    [[nodiscard]] const Clock& clock() const noexcept { return clock_; }

private:
    // Holds what the holder and others have said during a term. Few terms have any of it, so it is separate.
    struct term_notes {
        std::string data;
        std::optional<std::string> request;
    };

    struct entry {
        std::string owner;
        std::int64_t token = 0;
        time_point ends = time_point::min();
        std::unique_ptr<term_notes> of_term;
        std::unique_ptr<checkpoint_record> saved;

        term_notes& notes()
        {
            if (!of_term) of_term = std::make_unique<term_notes>();
            return *of_term;
        }
    };

    // A name and its hash, which selects the shard and then finds the entry.
    struct key {
        explicit key(std::string_view name) noexcept : text{name}, hash{std::hash<std::string_view>{}(name)} {}

        std::string_view text;
        std::size_t hash;
    };

    // A key as it is stored, hashed only once.
    struct kept_key {
        explicit kept_key(const key& original) : text{original.text}, hash{original.hash} {}

        std::string text;
        std::size_t hash;
    };

    struct key_hash {
        using is_transparent = void;
        std::size_t operator()(const auto& hashed) const noexcept { return hashed.hash; }
    };

    struct key_equal {
        using is_transparent = void;
        bool operator()(const auto& a, const auto& b) const noexcept { return a.text == b.text; }
    };

    using entry_map = std::unordered_map<kept_key, entry, key_hash, key_equal>;

    // Each shard has a cache line of its own, so that neighbours don't slow each other down.
    struct alignas(64) shard {
        std::mutex mutex;
        entry_map entries;
        std::vector<queue_ticket*> tickets;

        // Null: nobody waits for a turn.
        [[nodiscard]] queue_ticket* first_in_turn(std::string_view name) const noexcept
        {
            const auto found =
                std::ranges::find_if(tickets, [name](const auto* ticket) { return ticket->waits_for_turn_ && ticket->name_ == name; });
            return found == tickets.end() ? nullptr : *found;
        }

        // Wakes all tickets: the term does not end when their last answer said. As a rule there is only one, that of
        // the first waiter of this store. Call it under the mutex, so that no ticket is destroyed meanwhile.
        bool released(std::string_view name) noexcept
        {
            bool woken = false;
            for (queue_ticket* const ticket : tickets) {
                if (ticket->name_ != name) continue;
                ticket->waker_.wake();
                woken = true;
            }
            return woken;
        }
    };

    template <class Change>
    bool change_term(std::string_view name, std::string_view owner, fencing_token token, std::error_code& ec, Change change)
    {
        if (ec = detail::refusal_of(name); ec) return false;
        const key wanted{name};
        shard& s = shard_of(wanted);
        const std::lock_guard lock{s.mutex};
        const auto found = s.entries.find(wanted);
        if (found == s.entries.end()) return false;
        const time_point now = clock_.now();
        entry& e = found->second;
        if (e.owner != owner || e.token != token.value() || e.ends <= now) return false;
        change(s, e, now);
        return true;
    }

    static lease_record record_of(const typename entry_map::value_type& named, time_point now)
    {
        const auto& [name, e] = named;
        lease_record record{.name = name.text, .owner = e.owner, .token = fencing_token{e.token}, .remaining = e.ends - now};
        if (e.of_term) {
            record.data = e.of_term->data;
            record.handover_request = e.of_term->request;
        }
        return record;
    }

    shard& shard_of(const key& name) const noexcept { return shards_[name.hash % shards]; }

    static store_time system_time() { return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now()); }

    Clock clock_;
    const store_time begins_;
    const time_point made_ = clock_.now();
    mutable std::array<shard, shards> shards_;
    waiting::local_queue waiters_;
};

/// A memory store on the system's clock.
using memory_store = basic_memory_store<steady_clock>;

}  // namespace leasehold::inline v0

#endif
