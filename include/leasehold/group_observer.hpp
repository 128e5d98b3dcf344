// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_GROUP_OBSERVER_HPP
#define LEASEHOLD_GROUP_OBSERVER_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/concepts.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/thread_without_signals.hpp>
#include <leasehold/detail/wrong_arguments.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/group_member.hpp>
#include <leasehold/store/concept.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

/// What has happened to a member.
enum class member_change_kind : std::uint8_t {
    joined,       ///< it is there, and was not before, or has left and come back
    left,         ///< it has left, or its ttl is over
    data_changed  ///< it publishes something else
};

/// The enumerator's name; "invalid" for any other value.
[[nodiscard]] constexpr std::string_view to_string(member_change_kind kind) noexcept
{
    switch (kind) {
    case member_change_kind::joined: return "joined";
    case member_change_kind::left: return "left";
    case member_change_kind::data_changed: return "data_changed";
    }
    return "invalid";
}

/// One change of a group, as an observer sees it.
struct member_change {
    member_change_kind kind{};  ///< what has happened
    member_record member;       ///< the member, as it is now; one that has left, as it was seen last
};

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

/// How an observer looks.
struct observer_options {
    duration every = std::chrono::seconds{1};  ///< how often it looks: one statement each
};

/// Tells who joins a group, who leaves it, and whose data change, without being a member.
///
///     lh::group_observer watch{store, "workers", [](const lh::member_change& c) { ... }};
///
/// Those who are members at first have joined. A member that publishes something just after it has joined may be told as one that joins and
/// then changes its data. Who leaves and comes back between two looks is told as both.
/// The function is called on a thread of the observer, once for each change; what it throws is ignored. After a failure of the store the
/// observer looks again; meanwhile nothing has changed, as far as it knows.
/// Neither copyable nor movable. Thread safety: any thread may call current(). Lifetime: the store must outlive it. Its destructor waits
/// for a look and a call that are under way, so don't destroy it in its function.
template <lease_store Store, lease_clock Clock = steady_clock>
class group_observer {
public:
    /// Begins to look. May throw std::system_error if there is no thread, with errc::invalid_terms if `options.every` is less than 1 ms.
    group_observer(Store& store, std::string_view group, std::function<void(const member_change&)> on_change, observer_options options = {},
                   Clock clock = {})
        : store_{store}, group_{group}, on_change_{std::move(on_change)}, options_{options}, clock_{std::move(clock)}
    {
        detail::require_group_store<Store>();
        static_assert(waitable_clock<Clock>, "an observer needs a clock with wait_until (waitable_clock)");
        if (options_.every < std::chrono::milliseconds{1})
            detail::raise_invalid(errc::invalid_terms, "an observer looks every 1 ms at most");
        thread_ = detail::thread_without_signals([this] { observe(); });
    }
    /// Other arguments: one line says what is wrong.
    template <class First, class Second, class... Rest>
        requires(std::same_as<Store, detail::no_store_of_leases> && !std::same_as<std::remove_cvref_t<First>, Store>)
    group_observer(First&&, Second&&, Rest&&...) : group_observer{detail::nowhere(), std::string_view{}, nullptr}
    {
        detail::explain_wrong_arguments<First, Second, Rest...>();
        static_assert(!detail::store_and_name<First, Second>, "after the name of the group comes a function of const member_change&");
    }
    group_observer(const group_observer&) = delete;
    group_observer& operator=(const group_observer&) = delete;
    /// Ends the observation.
    ~group_observer()
    {
        stopping_.store(true, std::memory_order_relaxed);
        waker_.wake();
        thread_.join();
    }

    /// Who were members at the last look. May throw std::bad_alloc.
    [[nodiscard]] std::vector<member_record> current() const
    {
        const std::lock_guard lock{mutex_};
        return current_;
    }

private:
    void observe() noexcept
    {
        while (!stopping_.load(std::memory_order_relaxed)) {
            const time_point next = clock_.now() + options_.every;
            std::error_code ec;
            detail::catch_into(ec, [&] { look(); });
            while (!stopping_.load(std::memory_order_relaxed) && clock_.now() < next) clock_.wait_until(waker_, next);
        }
    }

    void look()
    {
        std::error_code ec;
        auto now = detail::list_members(store_, group_, ec);
        if (ec) return;
        const auto changes = detail::changes_between(current(), now);
        {
            const std::lock_guard lock{mutex_};
            current_ = std::move(now);
        }
        for (const member_change& each : changes) {
            std::error_code ignored;
            if (on_change_) detail::catch_into(ignored, [&] { on_change_(each); });
        }
    }

    Store& store_;
    const std::string group_;
    const std::function<void(const member_change&)> on_change_;
    const observer_options options_;
    const Clock clock_;
    waker waker_;
    std::atomic<bool> stopping_{false};  // relaxed: the waker's mutex orders it
    mutable std::mutex mutex_;  // guards what follows
    std::vector<member_record> current_;
    std::thread thread_;
};

/// Other arguments: one line says what is wrong.
template <class First, class Second, class... Rest>
    requires(!detail::store_and_name<First, Second> ||
             !std::convertible_to<detail::third_t<Rest...>, std::function<void(const member_change&)>>)
group_observer(First&&, Second&&, Rest&&...) -> group_observer<detail::no_store_of_leases>;

}  // namespace leasehold::inline v0

#endif
