// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LEASE_OBSERVER_HPP
#define LEASEHOLD_LEASE_OBSERVER_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/concepts.hpp>
#include <leasehold/detail/lease_changes.hpp>
#include <leasehold/detail/observer_base.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_change.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/observer_options.hpp>
#include <leasehold/store/concept.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

/// Tells who holds a lease, and of each change, without taking part.
///
///     lh::lease_observer watch{store, "scheduler", [](const lh::lease_change& c) { ... }};
///
/// It looks on a thread of its own, by default every second, with one inspect() each. A lease that is held at first was acquired. What
/// happens between two looks is told as far as the later one shows it: a short term may be missed, and an end is told as `expired` unless
/// it came before its time.
/// The function is called on that thread, once for each change, in order; see observer_options for what it throws and for failures of the
/// store. Without a function, take the changes by next_change().
/// Neither copyable nor movable. Thread safety: any thread may call any function. Lifetime: the store must outlive it. Its destructor waits
/// for a look and a call that are under way, so don't destroy it in its function, nor while a thread is in next_change().
template <lease_store Store, lease_clock Clock = steady_clock>
class lease_observer : public detail::observer_base<std::optional<lease_record>, lease_change, Clock> {
    using base = detail::observer_base<std::optional<lease_record>, lease_change, Clock>;

public:
    using store_type = Store;  ///< where it looks

    /// Begins to look. Throws std::system_error: errc::invalid_name; errc::invalid_terms if `options.every` is less than 1 ms; or if there
    /// is no thread.
    lease_observer(Store& store, std::string_view name, std::function<void(const lease_change&)> on_change = {},
                   observer_options options = {}, Clock clock = {})
        : base{look_at(store, name), &detail::lease_changes, std::move(on_change), std::move(options), std::move(clock)}
    {
    }

    /// The same without a function: take the changes by next_change().
    lease_observer(Store& store, std::string_view name, observer_options options, Clock clock = {})
        : lease_observer{store, name, nullptr, std::move(options), std::move(clock)}
    {
    }

    /// What the last look found that succeeded; empty when the name was free, or before that look. Its `remaining` is of that moment, age()
    /// ago. May throw std::bad_alloc.
    [[nodiscard]] std::optional<lease_record> current() const { return base::seen(); }

private:
    static auto look_at(Store& store, std::string_view name)
    {
        validate_name(name);
        return [&store, looked_at = std::string{name}](std::error_code& ec) { return store.inspect(looked_at, ec); };
    }
};

/// The same for all names that begin with a prefix: one list() a look, for however many names.
///
///     lh::prefix_observer watch{store, "jobs/", [](const lh::lease_change& c) { ... }};
///
/// For stores that are a listing_store. The changes of one look come in the order of the names. Everything else is as for lease_observer.
template <lease_store Store, lease_clock Clock = steady_clock>
class prefix_observer : public detail::observer_base<std::vector<lease_record>, lease_change, Clock> {
    using base = detail::observer_base<std::vector<lease_record>, lease_change, Clock>;

public:
    using store_type = Store;  ///< where it looks

    /// Begins to look; an empty prefix is that of all names. Throws std::system_error: errc::invalid_name for a prefix that no name has;
    /// errc::invalid_terms if `options.every` is less than 1 ms; or if there is no thread.
    prefix_observer(Store& store, std::string_view prefix, std::function<void(const lease_change&)> on_change = {},
                    observer_options options = {}, Clock clock = {})
        : base{look_at(store, prefix), &detail::lease_changes, std::move(on_change), std::move(options), std::move(clock)}
    {
    }

    /// The same without a function: take the changes by next_change().
    prefix_observer(Store& store, std::string_view prefix, observer_options options, Clock clock = {})
        : prefix_observer{store, prefix, nullptr, std::move(options), std::move(clock)}
    {
    }

    /// What the last look found that succeeded, in the order of the names' bytes. May throw std::bad_alloc.
    [[nodiscard]] std::vector<lease_record> current() const { return base::seen(); }

private:
    static auto look_at(Store& store, std::string_view prefix)
    {
        static_assert(listing_store<Store>,
                      "this store can't tell of many names at once, by list(prefix, ec): it has to be a listing_store");
        if (!prefix.empty()) validate_name(prefix);
        return [&store, listed = std::string{prefix}](std::error_code& ec) {
            std::vector<lease_record> records;
            if constexpr (listing_store<Store>) records = store.list(listed, ec);
            std::ranges::sort(records, {}, &lease_record::name);
            return records;
        };
    }
};

}  // namespace leasehold::inline v0

#endif
