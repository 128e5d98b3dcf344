// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_PERMIT_ATTEMPTS_HPP
#define LEASEHOLD_DETAIL_PERMIT_ATTEMPTS_HPP

#include <leasehold/detail/lease_access.hpp>
#include <leasehold/detail/permit_pool.hpp>
#include <leasehold/detail/permit_wait.hpp>
#include <leasehold/error.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/time_point.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::detail {

// An attempt at any of the permits, by a pool or a waiter.
struct any_permit {
    template <class Asking>
    auto operator()(permit_search& search, Asking& asking, std::error_code& ec) const
    {
        return asking.try_any(search, ec);
    }
};

// An attempt at a number of permits, all or none, as the caller gave it.
class wanted_permits {
public:
    template <std::integral Count>
    explicit constexpr wanted_permits(Count number) noexcept
        : number_{std::in_range<std::int64_t>(number) ? static_cast<std::int64_t>(number) : std::numeric_limits<std::int64_t>::max()}
    {
    }

    [[nodiscard]] constexpr bool possible() const noexcept { return number_ >= 1 && std::cmp_less_equal(number_, max_permits); }
    [[nodiscard]] constexpr bool several() const noexcept { return number_ > 1; }
    [[nodiscard]] std::string refusal(std::size_t permits) const
    {
        return "1 to " + std::to_string(permits) + " permits can be taken at once, not " + std::to_string(number_);
    }

    // One that is not possible is an attempt at 0, which is refused.
    template <class Asking>
    auto operator()(permit_search& search, Asking& asking, std::error_code& ec) const
    {
        return asking.try_some(search, possible() ? static_cast<std::size_t>(number_) : 0, ec);
    }

private:
    std::int64_t number_;
};

// How permits of a pool are acquired: single attempts, and the wait, on the caller's thread. `Kind` is what permit_wait calls.
template <class Pool, class Guard, class Kind>
class permit_attempts {
public:
    using guard_type = Guard;
    using wait_type = permit_wait<Pool, Kind>;

    explicit permit_attempts(std::shared_ptr<Pool> pool, Kind kind = {}) noexcept : pool_{std::move(pool)}, kind_{std::move(kind)} {}

    [[nodiscard]] Pool& pool() const noexcept { return *pool_; }
    // Returns what a wait_type needs besides the pool.
    [[nodiscard]] const Kind& subject() const noexcept { return kind_; }
    // Returns any of its leases: all have the same threads.
    [[nodiscard]] auto& a_lease() const { return pool_->lease(0); }

    // Returns the attempts at several of the same permits.
    template <class Several>
    [[nodiscard]] auto at(wanted_permits wanted) const noexcept
    {
        return permit_attempts<Pool, Several, wanted_permits>{pool_, wanted};
    }

    // See acquire_forms.
    [[nodiscard]] const auto& clock() const noexcept { return pool_->clock(); }

    void prepare() const
    {
        if constexpr (may_be_impossible)
            if (!kind_.possible()) raise_invalid(errc::invalid_terms, kind_.refusal(pool_->count()));
    }
    bool prepare(std::error_code& ec) const noexcept
    {
        if constexpr (may_be_impossible)
            if (!kind_.possible()) ec = errc::invalid_terms;
        return !ec;
    }

    // Whether the end of what it keeps alive may wait for the store.
    [[nodiscard]] bool end_takes_time() const noexcept
    {
        if constexpr (requires { kind_.end_takes_time(); })
            return kind_.end_takes_time();
        else
            return pool_->end_takes_time();
    }

    auto attempt(std::error_code& ec) const { return pool_->attempt_once(kind_, ec); }
    auto wait(time_point deadline, const std::stop_token& stop, std::error_code& ec) const
    {
        return pool_->wait(deadline, stop, ec, kind_);
    }

    template <class Result>
    [[noreturn]] void raise_failure(const Result& result, std::error_code ec, std::string_view operation) const
    {
        if constexpr (requires { Kind::name_of(std::string{}); })
            pool_->raise_failure(ec, Kind::name_of(std::string{operation}), result.too_late, result.of_another);
        else
            pool_->raise_failure(ec, operation, result.too_late, result.of_another);
    }

    template <class Result>
    [[nodiscard]] Guard guard_of(Result result) const noexcept
    {
        return lease_access::make_guard<Guard>(pool_, std::move(result));
    }

private:
    static constexpr bool may_be_impossible = requires(const Kind& kind) { kind.possible(); };

    std::shared_ptr<Pool> pool_;
    Kind kind_;
};

}  // namespace leasehold::inline v0::detail

#endif
