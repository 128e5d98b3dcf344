// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_ACQUIRE_ALL_HPP
#define LEASEHOLD_ASIO_ACQUIRE_ALL_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/asio/acquire.hpp>
#include <leasehold/asio/detail/call_operation.hpp>
#include <leasehold/asio/detail/completion.hpp>
#include <leasehold/asio/detail/net.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_set.hpp>
#include <leasehold/renewal/call_queue.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <ranges>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

namespace detail {

/// Leases of one type, which it keeps.
template <class Lease>
class kept_leases {
public:
    using result_of_all = lease_set_guard<Lease>;
    using result_of_each = std::vector<lease_guard<Lease>>;

    template <class Leases>
        requires(!std::same_as<std::remove_const_t<Leases>, kept_leases>)
    explicit kept_leases(Leases& leases)
    {
        for (Lease& lease : leases) leases_.push_back(lease_access::share(lease));
    }

    [[nodiscard]] bool empty() const noexcept { return leases_.empty(); }
    [[nodiscard]] const Lease& first() const noexcept { return *leases_.front(); }

    // Throws std::system_error for a set that can't work.
    [[nodiscard]] auto set() const
    {
        std::vector<Lease*> all;
        all.reserve(leases_.size());
        for (const auto& lease : leases_) all.push_back(lease.get());
        return uniform_set<Lease>{std::move(all)};
    }

private:
    std::vector<std::shared_ptr<Lease>> leases_;
};

/// Leases of several types.
template <class... Leases>
class kept_mixture {
public:
    using result_of_all = lease_set_guard<Leases...>;

    explicit kept_mixture(const Leases&... leases) : leases_{lease_access::share(leases)...} {}

    [[nodiscard]] static constexpr bool empty() noexcept { return false; }
    [[nodiscard]] const auto& first() const noexcept { return *std::get<0>(leases_); }

    // Throws std::system_error for a set that can't work.
    [[nodiscard]] auto set() const
    {
        return std::apply([](const auto&... leases) { return mixed_set<Leases...>{*leases...}; }, leases_);
    }

private:
    std::tuple<std::shared_ptr<Leases>...> leases_;
};

template <class First, class... Rest>
auto keep_leases(First& first, Rest&... rest)
{
    if constexpr ((std::same_as<First, Rest> && ...)) {
        const auto all = {std::ref(first), std::ref(rest)...};
        return kept_leases<First>{all};
    } else {
        return kept_mixture<First, Rest...>{first, rest...};
    }
}

// One call on the threads of the first lease's store.
template <class Result>
struct start_acquire_some : initiation {
    template <class Handler, class Kept, class Acquire>
    void operator()(Handler&& handler, Kept kept, Acquire acquire) const
    {
        auto* const told = handler_completion<std::decay_t<Handler>, Result>::make(std::forward<Handler>(handler), kept);
        if (!told) return;
        std::error_code ec;
        bool started = false;
        catch_into(ec, [&] {
            if (kept.empty()) {
                [[maybe_unused]] const Result nothing = acquire(kept, ec);
                return;
            }
            auto& keeper = lease_access::keeper(kept.first());
            keeper.attach_engine();
            const auto engine = keeper.serving_engine();
            auto call = [kept = std::move(kept), acquire](std::error_code& failed) { return acquire(kept, failed); };
            started = true;
            start_call<Result>(engine, renewal::call_order::second, std::move(call), *told);
        });
        if (started) return;
        // What the leases keep needs the store, which the handler may own.
        { [[maybe_unused]] const Kept last{std::move(kept)}; }
        told->complete(ec, Result{});
    }
};

template <class Result, class Kept, class Acquire, class Token>
auto initiate_acquire_some(Kept kept, Acquire acquire, Token&& token)
{
    return net::async_initiate<Token, void(net_error_code, Result)>(start_acquire_some<Result>{}, token, std::move(kept), acquire);
}

template <class Kept, class Token>
auto initiate_acquire_all(Kept kept, Token&& token)
{
    const auto acquire = [](const Kept& leases, std::error_code& ec) {
        auto set = leases.set();
        return acquire_set(set, ec);
    };
    return initiate_acquire_some<typename Kept::result_of_all>(std::move(kept), acquire, std::forward<Token>(token));
}

// Leases, and a token at the end.
template <class... Arguments>
concept leases_and_token = []<std::size_t... I>(std::index_sequence<I...>) {
    using all = std::tuple<Arguments...>;
    using last = std::tuple_element_t<sizeof...(I), all>;
    return ((std::is_lvalue_reference_v<std::tuple_element_t<I, all>> &&
             is_basic_lease<std::remove_reference_t<std::tuple_element_t<I, all>>>) && ...) &&
           !is_basic_lease<std::remove_cvref_t<last>>;
}(std::make_index_sequence<sizeof...(Arguments) - 1>{});

}  // namespace detail

/// Acquires all leases, or none, like try_acquire_all(): one attempt, without waiting. Completes with
/// void(error_code, lease_set_guard); the guard is empty if one of them was busy.
///
///     lh::async_try_acquire_all(from, to, journal, net::use_awaitable)
///
/// An exception of try_acquire_all() is the error here, and a set that can't work is errc::invalid_name or errc::invalid_terms. All calls
/// are made on the threads of the first lease's store, also those of other stores.
/// Cancellation, handlers and lifetimes: see async_acquire().
template <class First, class... Rest>
    requires(detail::is_basic_lease<First> && sizeof...(Rest) > 0 && detail::leases_and_token<First&, Rest...>)
auto async_try_acquire_all(First& first, Rest&&... leases_and_token)
{
    const auto all = std::forward_as_tuple(std::forward<Rest>(leases_and_token)...);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        using token = std::tuple_element_t<sizeof...(I), std::tuple<Rest...>>;
        return detail::initiate_acquire_all(detail::keep_leases(first, std::get<I>(all)...),
                                            std::forward<token>(std::get<sizeof...(I)>(all)));
    }(std::make_index_sequence<sizeof...(Rest) - 1>{});
}

/// The same for a range of leases of one type.
template <detail::range_of_leases Range, class Token>
auto async_try_acquire_all(Range&& leases, Token&& token)
{
    using lease_type = std::ranges::range_value_t<Range>;
    return detail::initiate_acquire_all(detail::kept_leases<lease_type>{leases}, std::forward<Token>(token));
}

/// Acquires those of the leases that are free, like try_acquire_each(). Completes with void(error_code, std::vector of guards);
/// otherwise like async_try_acquire_all(), but an empty range is no error.
template <detail::range_of_leases Range, class Token>
auto async_try_acquire_each(Range&& leases, Token&& token)
{
    using lease_type = std::ranges::range_value_t<Range>;
    using kept_type = detail::kept_leases<lease_type>;
    const auto acquire = [](const kept_type& kept, std::error_code& ec) {
        auto set = kept.set();
        return detail::acquire_each(set, ec);
    };
    return detail::initiate_acquire_some<typename kept_type::result_of_each>(kept_type{leases}, acquire, std::forward<Token>(token));
}

}  // namespace leasehold::inline v0

#endif
