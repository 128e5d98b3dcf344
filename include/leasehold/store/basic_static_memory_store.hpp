// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_BASIC_STATIC_MEMORY_STORE_HPP
#define LEASEHOLD_STORE_BASIC_STATIC_MEMORY_STORE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/bounded_text.hpp>
#include <leasehold/clock/concept.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/plain_error.hpp>
#include <leasehold/static_lease_record.hpp>
#include <leasehold/static_text_limits.hpp>
#include <leasehold/store/basic_lockable.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store/spin_mutex.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

/// Leases in a table of fixed size, for tasks, cores or threads that share it, without heap, exceptions or threads library.
///
/// At most `N` names can be held, or kept closed, at a time. One more is errc::store_failure, the only failure of this
/// store. A name whose time is over takes no room: tokens are counted for all names together, so the store need not remember
/// old names. A name or owner longer than `Limits` is errc::invalid_name or errc::invalid_owner.
///
/// Functions that report in an `ec` take a plain_error or a std::error_code. inspect() and list() are for programs with a
/// heap, and cost other programs nothing; look_up() and for_each() do the same without a heap.
///
/// Thread safety: all contexts that `Mutex` keeps apart may call all functions. The mutex is held for one pass through the
/// table. The store can be constinit if Clock and Mutex can.
template <std::size_t N, lease_clock Clock, basic_lockable Mutex = spin_mutex, static_text_limits Limits = static_text_limits{}>
class basic_static_memory_store {
    static_assert(N > 0, "a store needs room for at least one name");
    static_assert(Limits.valid(), "names and owners have 1 to 190 bytes");

public:
    /// How many names it has room for.
    static constexpr std::size_t capacity = N;
    /// The longest name that it has room for.
    static constexpr std::size_t max_name_bytes = Limits.name_bytes;
    /// The longest owner that it has room for.
    static constexpr std::size_t max_owner_bytes = Limits.owner_bytes;
    /// What inspect() returns.
    using record_type = static_lease_record<Limits>;

    constexpr basic_static_memory_store() : basic_static_memory_store{Clock{}} {}
    /// Uses this clock, which decides when terms are over, and by which now() advances. `epoch` is the time in UTC when the clock says 0: a
    /// device that has a calendar clock subtracts one from the other.
    constexpr explicit basic_static_memory_store(Clock clock, store_time epoch = {}) : clock_{std::move(clock)}, epoch_{epoch} {}
    basic_static_memory_store(const basic_static_memory_store&) = delete;
    basic_static_memory_store& operator=(const basic_static_memory_store&) = delete;

    /// See lease_store.
    template <error_report Error>
    acquire_result try_acquire(std::string_view name, std::string_view owner, duration ttl, Error& ec) noexcept
    {
        ec.clear();
        const bool name_is_broken = detail::broken_text_rule(name, max_name_bytes) != nullptr;
        if (name_is_broken || detail::broken_text_rule(owner, max_owner_bytes)) {
            ec = name_is_broken ? errc::invalid_name : errc::invalid_owner;
            return {};
        }
        const detail::locked lock{mutex_};
        const time_point now = clock_.now();
        entry* e = place_for(name, now);
        if (!e) {
            ec = errc::store_failure;
            return {};
        }
        const bool again = e->held(now);
        if (again && e->owner != owner) return {acquire_status::busy, fencing_token{e->token}, e->ends - now};
        e->name.assign(name);
        e->owner.assign(owner);
        e->ends = again ? std::max(e->ends, now + ttl) : now + ttl;
        e->token = ++last_token_;
        return {acquire_status::granted, fencing_token{e->token}, duration::zero()};
    }

    /// See lease_store.
    template <error_report Error>
    bool renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl, Error& ec) noexcept
    {
        ec.clear();
        const detail::locked lock{mutex_};
        const time_point now = clock_.now();
        entry* e = term(name, owner, token, now);
        if (e) e->ends = std::max(e->ends, now + ttl);
        return e != nullptr;
    }

    /// See lease_store.
    template <error_report Error>
    bool release(std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left, Error& ec) noexcept
    {
        ec.clear();
        const detail::locked lock{mutex_};
        const time_point now = clock_.now();
        entry* e = term(name, owner, token, now);
        if (!e) return false;
        e->owner.clear();  // so that no attempt is the same owner's, which would be granted in spite of min_hold_left
        e->ends = now + min_hold_left;
        return true;
    }

    /// See timed_store. It can't fail.
    template <error_report Error>
    [[nodiscard]] store_time now(Error& ec) const noexcept
    {
        ec.clear();
        return epoch_ + std::chrono::floor<std::chrono::microseconds>(clock_.now().time_since_epoch());
    }

    /// The record of this name; empty when it is free.
    [[nodiscard]] std::optional<record_type> look_up(std::string_view name) const
    {
        const detail::locked lock{mutex_};
        const time_point now = clock_.now();
        const entry* e = held_entry(name, now);
        return e ? std::optional{record_of(*e, now)} : std::nullopt;
    }

    /// Calls `f` with a record_type of each name that is held. Each record is read at a time of its own; `f` may use the
    /// store.
    template <class Function>
    void for_each(Function f) const
    {
        for (const entry& e : entries_) {
            std::optional<record_type> record;
            {
                const detail::locked lock{mutex_};
                const time_point now = clock_.now();
                if (e.held(now)) record = record_of(e, now);
            }
            if (record) f(*record);
        }
    }

    /// Ends the term that the name has, if any; its token is not used again. True if there was a term. Its holder learns of
    /// this at its next renewal.
    template <error_report Error>
    bool force_release(std::string_view name, Error& ec)
    {
        ec.clear();
        if (detail::broken_text_rule(name, leasehold::max_name_bytes)) {
            ec = errc::invalid_name;
            return false;
        }
        const detail::locked lock{mutex_};
        const time_point now = clock_.now();
        entry* e = held_entry(name, now);
        if (e) e->ends = now;
        return e != nullptr;
    }

    /// The same. Throws std::system_error with errc::invalid_name.
    bool force_release(std::string_view name)
    {
        validate_name(name);
        plain_error none;
        return force_release(name, none);
    }

    /// See lease_store. Uses the heap.
    std::optional<lease_record> inspect(std::string_view name, std::error_code& ec) const
    {
        ec.clear();
        const std::optional<record_type> record = look_up(name);
        return record ? std::optional{with_heap(*record)} : std::nullopt;
    }

    /// The records of all held names that begin with `prefix`, sorted by name. Uses the heap; may throw std::bad_alloc.
    [[nodiscard]] std::vector<lease_record> list(std::string_view prefix = {}) const
    {
        std::vector<lease_record> records;
        for_each([&](const record_type& record) {
            if (record.name.view().starts_with(prefix)) records.push_back(with_heap(record));
        });
        std::sort(records.begin(), records.end(), [](const lease_record& a, const lease_record& b) { return a.name < b.name; });
        return records;
    }

    /// The same, reported in `ec`.
    [[nodiscard]] std::vector<lease_record> list(std::string_view prefix, std::error_code& ec) const
    {
        ec.clear();
        return list(prefix);
    }

    /// The same, of all names.
    [[nodiscard]] std::vector<lease_record> list(std::error_code& ec) const { return list({}, ec); }

    /// Short pauses: an attempt costs little, so a waiter that nobody wakes may poll often.
    [[nodiscard]] poll_pauses pauses() const noexcept { return {std::chrono::milliseconds{1}, std::chrono::milliseconds{20}}; }

private:
    // An entry whose time is over belongs to no name. All zeros at first, so that a static store takes no room in flash.
    struct entry {
        bounded_text<Limits.name_bytes> name;
        bounded_text<Limits.owner_bytes> owner;
        std::int64_t token = 0;
        time_point ends{};

        [[nodiscard]] bool held(time_point now) const noexcept { return token != 0 && ends > now; }
    };

    // The entry of this name if it is held, else a free entry, else nullptr.
    entry* place_for(std::string_view name, time_point now) const
    {
        entry* free = nullptr;
        for (entry& e : entries_) {
            if (!e.held(now))
                free = &e;
            else if (e.name == name)
                return &e;
        }
        return free;
    }

    entry* held_entry(std::string_view name, time_point now) const
    {
        entry* e = place_for(name, now);
        return e && e->held(now) ? e : nullptr;
    }

    entry* term(std::string_view name, std::string_view owner, fencing_token token, time_point now) const
    {
        entry* e = held_entry(name, now);
        return e && e->owner == owner && e->token == token.value() ? e : nullptr;
    }

    static record_type record_of(const entry& e, time_point now)
    {
        return {.name = e.name, .owner = e.owner, .token = fencing_token{e.token}, .remaining = e.ends - now};
    }

    static lease_record with_heap(const record_type& record)
    {
        return {.name = std::string{record.name.view()},
                .owner = std::string{record.owner.view()},
                .token = record.token,
                .remaining = record.remaining};
    }

    Clock clock_;
    store_time epoch_;
    mutable Mutex mutex_{};  // guards what follows
    mutable std::array<entry, N> entries_{};
    std::int64_t last_token_ = 0;
};

}  // namespace leasehold::inline v0

#endif
