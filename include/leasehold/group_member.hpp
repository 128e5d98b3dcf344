// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_GROUP_MEMBER_HPP
#define LEASEHOLD_GROUP_MEMBER_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/basic_lease.hpp>
#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/concepts.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/detail/wrong_arguments.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/group/group_texts.hpp>
#include <leasehold/lease_guard.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/member_record.hpp>
#include <leasehold/owner_id/fixed_owner_id.hpp>
#include <leasehold/owner_id/random_owner_id.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/store/concept.hpp>

#include <algorithm>
#include <concepts>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

/// How a member takes part in a group.
struct member_options {
    /// How long the group keeps a member from which it no longer hears.
    duration ttl = std::chrono::seconds{10};
    /// Its name in the group; two members that live never have the same. Empty: a text that nobody else has, like a random_owner_id.
    std::string id{};
    /// What the others are to know of it, as in "10.0.0.7:8443": at most max_data_bytes (1,024) bytes of UTF-8 without a NUL.
    std::string data{};
};

namespace detail {

template <class Store>
constexpr void require_group_store() noexcept
{
    static_assert(listing_store<Store>, "this store can't tell of many names at once, by list(prefix, ec): it has to be a listing_store");
    static_assert(!listing_store<Store> || handover_store<Store>,
                  "this store keeps neither data nor requests of a term: it has to be a handover_store");
}

// All members of the group that live, sorted by id, with the data of their own: what those of a shard_group say to each other is left out.
template <class Store>
std::vector<member_record> list_members(Store& store, std::string_view group, std::error_code& ec)
{
    std::vector<member_record> members;
    const std::string prefix = group::members_of(group);
    for (lease_record& record : store.list(prefix, ec)) {
        if (record.owner.empty() || record.is_hold()) continue;
        if (const auto words = group::words_in(record.data)) record.data = std::string{words->data};
        members.push_back({record.name.substr(prefix.size()), std::move(record.data), std::move(record.owner), record.token,
                           record.remaining});
    }
    if (ec) members.clear();
    std::ranges::sort(members, {}, &member_record::id);
    return members;
}

}  // namespace detail

/// One of those that live: a lease of its own, renewed together with the store's other leases.
///
///     lh::group_member me{store, "workers", lh::member_options{.ttl = 10s, .data = "10.0.0.7:8443"}};
///     for (const auto& each : me.members()) route(each.id, each.data);
///
/// The lease's name is "workers/members/" and the member's id. A member whose membership was lost, as in a long outage, joins again when
/// members() or keep() is called.
/// Neither copyable nor movable. Thread safety: one thread at a time, except for id(), group(), owner() and store().
/// Lifetime: the store must outlive it.
template <lease_store Store, lease_clock Clock = steady_clock>
class group_member {
public:
    using store_type = Store;  ///< where the group lives
    using clock_type = Clock;  ///< measures deadlines
    using lease_type = basic_lease<Store, Clock, fixed_owner_id, renew_at_fraction>;  ///< the type of its lease

    /// Joins the group. Does I/O. Throws std::system_error: errc::invalid_owner if a member with this id lives already, whose owner the
    /// message names; errc::invalid_name, errc::invalid_data, errc::invalid_terms, which say what is wrong; and store_error when
    /// the store fails.
    group_member(Store& store, std::string_view group, member_options options = {}, Clock clock = {})
        : group_member{store, group, options, random_owner_id{}.id(), clock}
    {
        validate_data(data_);
        std::error_code ec;
        keep(ec);
        if (ec == errc::invalid_owner) detail::raise_invalid(errc::invalid_owner, lives_already());
        if (ec) detail::raise_store_failure(store, ec, "join", lease_.name());
    }

    /// The same, reported in `ec`: then it is no member yet, and keep() tries again. Still throws if the arguments can't work.
    group_member(Store& store, std::string_view group, member_options options, std::error_code& ec, Clock clock = {})
        : group_member{store, group, options, random_owner_id{}.id(), clock}
    {
        validate_data(data_);
        keep(ec);
    }

    /// Other arguments: one line says what is wrong.
    template <class First, class Second, class... Rest>
        requires(std::same_as<Store, detail::no_store_of_leases> && !std::same_as<std::remove_cvref_t<First>, Store>)
    group_member(First&&, Second&&, Rest&&...) : group_member{detail::nowhere(), std::string_view{}}
    {
        detail::explain_wrong_arguments<First, Second, Rest...>();
        static_assert(!detail::store_and_name<First, Second>, "after the name of the group come member_options");
    }
    group_member(const group_member&) = delete;
    group_member& operator=(const group_member&) = delete;
    /// Leaves the group. A failure is not reported: the others then learn of it when the ttl is over.
    ~group_member() = default;

    [[nodiscard]] const std::string& id() const noexcept { return id_; }  ///< its name in the group
    [[nodiscard]] const std::string& group() const noexcept { return group_; }  ///< the group's name
    [[nodiscard]] const std::string& owner() const noexcept { return lease_.owner(); }  ///< the owner of its lease
    [[nodiscard]] Store& store() const noexcept { return lease_.store(); }  ///< where the group lives

    /// Whether it certainly is a member: the others see it. Reads the clock.
    [[nodiscard]] bool held() const noexcept { return guard_.held(); }
    /// A token that is asked to stop when this membership is lost; see lease_guard::stop_token().
    [[nodiscard]] std::stop_token stop_token() const { return guard_.stop_token(); }

    /// All members that live, this one included, sorted by id: one statement. Joins again first if the membership was lost.
    /// Throws store_error when the store fails.
    [[nodiscard]] std::vector<member_record> members()
    {
        std::error_code ec;
        auto all = members(ec);
        if (ec) detail::raise_store_failure(store(), ec, "members", group_);
        return all;
    }

    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] std::vector<member_record> members(std::error_code& ec) noexcept
    {
        std::vector<member_record> all;
        keep(ec);
        if (!ec) detail::catch_into(ec, [&] { all = detail::list_members(store(), group_, ec); });
        return all;
    }

    /// Makes `data` visible to the others, in place of what they saw before. Joins again first if the membership was lost. Throws
    /// std::system_error with errc::invalid_data, which says what is wrong, and store_error when the store fails.
    void publish(std::string_view data)
    {
        validate_data(data);
        std::error_code ec;
        publish(data, ec);
        if (ec) detail::raise_store_failure(store(), ec, "publish", lease_.name());
    }

    /// The same, reported in `ec`: does not throw.
    void publish(std::string_view data, std::error_code& ec) noexcept
    {
        ec = detail::refusal_of_data(data);
        if (ec) return;
        detail::catch_into(ec, [&] { data_.assign(data); });
        published_ = false;
        if (!ec) keep(ec);
    }

    /// Joins again if the membership was lost, and publishes what is not published yet; without need it does no I/O. `ec` is
    /// errc::invalid_owner if another member with this id lives. Does not throw.
    void keep(std::error_code& ec) noexcept
    {
        ec.clear();
        for (int attempt = 0; attempt < 2; ++attempt) {
            if (!joins(ec) || publishes(ec) || ec) return;
            guard_.renew(ec);  // it learns here that the store no longer has this term
            if (ec) return;
        }
        ec = errc::lost;
    }

    /// Leaves the group before it is destroyed. Throws store_error when the store fails: then the others learn of it when the ttl is over.
    void leave()
    {
        if (!guard_.empty()) guard_.release();
    }

    /// The same, reported in `ec`: does not throw.
    void leave(std::error_code& ec) noexcept
    {
        ec.clear();
        if (!guard_.empty()) guard_.release(ec);
    }

    /// The guard of its lease, for functions that take guards; empty once it has left.
    [[nodiscard]] const typename lease_type::guard_type& guard() const noexcept { return guard_; }

    /// That a member with this id lives already, and who that is, in words. Does I/O; if the store fails, the words don't say who.
    [[nodiscard]] std::string lives_already() const
    {
        const std::string one = "a member '" + detail::printable(id_) + "' of '" + detail::printable(group_) + "' ";
        std::error_code ignored;
        const auto holder = lease_.inspect(ignored);
        if (holder && holder->is_hold())
            return one + "can't join: its name is " + detail::words_of_hold(*holder) +
                   ": open it with unhold(), or give this one another id";
        const bool known = holder && !holder->owner.empty();
        return one + "lives already" + (known ? ", held by '" + detail::printable(holder->owner) + "'" : "") +
               ": give this one another id, or wait until that one has left or its ttl is over";
    }

private:
    group_member(Store& store, std::string_view group, const member_options& options, const std::string& owner, const Clock& clock)
        : group_{group}, id_{options.id.empty() ? owner : options.id}, data_{options.data},
          lease_{store, checked(group::members_of(group) + id_), lease_terms{.ttl = options.ttl}, clock, fixed_owner_id{owner}}
    {
        detail::require_group_store<Store>();
    }

    // Returns whether it is a member now, as far as it knows.
    bool joins(std::error_code& ec) noexcept
    {
        if (guard_.held()) return true;
        guard_ = lease_.try_acquire(ec);
        if (!ec && guard_.empty()) ec = errc::invalid_owner;
        published_ = data_.empty();
        return !ec;
    }

    // Returns whether the others can see its data now.
    bool publishes(std::error_code& ec) noexcept
    {
        if (!published_) published_ = guard_.publish(data_, ec) && !ec;
        return published_;
    }

    static std::string checked(std::string name)
    {
        if (name.size() > max_name_bytes)
            detail::raise_invalid(errc::invalid_name, "the name of the group and the member's id leave no room for '/members/' between "
                                                      "them: together they may have 181 bytes");
        return name;
    }

    const std::string group_;
    const std::string id_;
    std::string data_;
    bool published_ = false;
    lease_type lease_;
    typename lease_type::guard_type guard_;
};

/// Other arguments: one line says what is wrong.
template <class First, class Second, class... Rest>
    requires(!detail::store_and_name<First, Second> ||
             (sizeof...(Rest) != 0 && !std::convertible_to<detail::third_t<Rest...>, member_options>))
group_member(First&&, Second&&, Rest&&...) -> group_member<detail::no_store_of_leases>;

}  // namespace leasehold::inline v0

#endif
