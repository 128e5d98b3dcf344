// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_GROUP_OBSERVER_HPP
#define LEASEHOLD_GROUP_OBSERVER_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/concepts.hpp>
#include <leasehold/detail/lease_changes.hpp>
#include <leasehold/detail/observer_base.hpp>
#include <leasehold/detail/wrong_arguments.hpp>
#include <leasehold/group_member.hpp>
#include <leasehold/member_change.hpp>
#include <leasehold/member_record.hpp>
#include <leasehold/observer_options.hpp>
#include <leasehold/store/concept.hpp>

#include <algorithm>
#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

namespace detail {

// Both are sorted by id. Who has left comes first, so that a table of addresses never has two of one id.
inline std::vector<member_change> changes_between(const std::vector<member_record>& before, const std::vector<member_record>& after)
{
    const auto in = [](const std::vector<member_record>& all, const std::string& id) {
        const auto found = std::ranges::lower_bound(all, id, {}, &member_record::id);
        return found != all.end() && found->id == id ? &*found : nullptr;
    };
    std::vector<member_change> changes;
    for (const member_record& old : before) {
        const member_record* const now = in(after, old.id);
        if (!now || now->token != old.token) changes.push_back({member_change_kind::left, old});
    }
    for (const member_record& now : after) {
        const member_record* const old = in(before, now.id);
        if (!old || old->token != now.token)
            changes.push_back({member_change_kind::joined, now});
        else if (old->data != now.data)
            changes.push_back({member_change_kind::data_changed, now});
    }
    return changes;
}

}  // namespace detail

/// Tells who joins a group, who leaves it, and whose data change, without being a member.
///
///     lh::group_observer watch{store, "workers", [](const lh::member_change& c) { ... }};
///
/// The first members are told as joined. A member that publishes something just after it has joined may be told as one that joins and
/// then changes its data. Who leaves and comes back between two looks is told as both.
/// The function is called on a thread of the observer, once for each change; see observer_options for what it throws and for failures of
/// the store. Without a function, take the changes by next_change().
/// Neither copyable nor movable. Thread safety: any thread may call any function. Lifetime: the store must outlive it. Its destructor waits
/// for a look and a call that are under way, so don't destroy it in its function, nor while a thread is in next_change().
template <lease_store Store, lease_clock Clock = steady_clock>
class group_observer : public detail::observer_base<std::vector<member_record>, member_change, Clock> {
    using base = detail::observer_base<std::vector<member_record>, member_change, Clock>;

public:
    using store_type = Store;  ///< where it looks

    /// Begins to look. Throws std::system_error: errc::invalid_name; errc::invalid_terms if `options.every` is less than 1 ms; or if there
    /// is no thread.
    group_observer(Store& store, std::string_view group, std::function<void(const member_change&)> on_change = {},
                   observer_options options = {}, Clock clock = {})
        : base{look_at(store, group), &changes_of_members, std::move(on_change), std::move(options), std::move(clock)}
    {
    }
    /// The same without a function: take the changes by next_change().
    group_observer(Store& store, std::string_view group, observer_options options, Clock clock = {})
        : group_observer{store, group, nullptr, std::move(options), std::move(clock)}
    {
    }
    /// Other arguments: one line says what is wrong.
    template <class First, class Second, class... Rest>
        requires(std::same_as<Store, detail::no_store_of_leases> && !std::same_as<std::remove_cvref_t<First>, Store>)
    group_observer(First&&, Second&&, Rest&&...) : group_observer{detail::nowhere(), std::string_view{}, nullptr}
    {
        detail::explain_wrong_arguments<First, Second, Rest...>();
        static_assert(!detail::store_and_name<First, Second>,
                      "after the name of the group comes a function of const member_change&, or options");
    }

    /// Who were members at the last look that succeeded. May throw std::bad_alloc.
    [[nodiscard]] std::vector<member_record> current() const { return base::seen(); }

private:
    using seen_type = std::vector<member_record>;

    static auto look_at(Store& store, std::string_view group)
    {
        detail::require_group_store<Store>();
        validate_name(group);
        return [&store, looked_at = std::string{group}](std::error_code& ec) { return detail::list_members(store, looked_at, ec); };
    }

    static std::vector<member_change> changes_of_members(const seen_type& before, const seen_type& after, const detail::look_times&)
    {
        return detail::changes_between(before, after);
    }
};

/// Other arguments: one line says what is wrong.
template <class First, class Second, class... Rest>
    requires(!detail::store_and_name<First, Second> ||
             (sizeof...(Rest) > 0 && !std::convertible_to<detail::third_t<Rest...>, std::function<void(const member_change&)>> &&
              !std::same_as<std::remove_cvref_t<detail::third_t<Rest...>>, observer_options>))
group_observer(First&&, Second&&, Rest&&...) -> group_observer<detail::no_store_of_leases>;

}  // namespace leasehold::inline v0

#endif
