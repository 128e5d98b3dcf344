// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_PERMITS_FORMS_HPP
#define LEASEHOLD_DETAIL_PERMITS_FORMS_HPP

#include <leasehold/detail/acquire_forms.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/detail/permit_pool.hpp>
#include <leasehold/error.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/permits_guard.hpp>
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

// A number of permits to take at once, as the caller gave it.
class wanted_permits {
public:
    template <std::integral Count>
    explicit constexpr wanted_permits(Count number) noexcept
        : number_{std::in_range<std::int64_t>(number) ? static_cast<std::int64_t>(number) : std::numeric_limits<std::int64_t>::max()}
    {
    }

    [[nodiscard]] constexpr bool possible() const noexcept { return number_ >= 1 && std::cmp_less_equal(number_, max_permits); }
    [[nodiscard]] constexpr some_permits attempt() const noexcept { return {possible() ? static_cast<std::size_t>(number_) : 0}; }
    [[nodiscard]] std::string refusal(std::size_t permits) const
    {
        return "1 to " + std::to_string(permits) + " permits can be taken at once, not " + std::to_string(number_);
    }

private:
    std::int64_t number_;
};

// The ways to acquire several permits at once. Lives for one call.
template <class Semaphore, class Pool>
class permits_forms : public acquire_forms<permits_forms<Semaphore, Pool>, permits_guard<Semaphore>> {
    using guard_type = permits_guard<Semaphore>;

public:
    permits_forms(std::shared_ptr<Pool> pool, wanted_permits wanted) noexcept : pool_{std::move(pool)}, wanted_{wanted} {}

    // A temporary object of it lives as long as the call.
    [[nodiscard]] permits_forms& here() noexcept { return *this; }

private:
    friend acquire_forms<permits_forms, guard_type>;
    using some_result = typename Pool::some_result;

    // See acquire_forms.
    permits_forms& forms() noexcept { return *this; }
    [[nodiscard]] const auto& clock() const noexcept { return pool_->clock(); }

    guard_type attempt_or_throw(std::string_view operation)
    {
        std::error_code ec;
        check();
        some_result last = attempt(ec);
        return granted_or_throw(std::move(last), ec, operation);
    }

    guard_type attempt_or_report(std::error_code& ec) noexcept
    {
        guard_type guard;
        if (refused(ec)) return guard;
        catch_into(ec, [&] { guard = guard_of(attempt(ec)); });
        return guard;
    }

    guard_type wait_or_throw(time_point deadline, const std::stop_token& stop, std::string_view operation)
    {
        std::error_code ec;
        check();
        some_result last = pool_->wait(deadline, stop, ec, wanted_.attempt());
        return granted_or_throw(std::move(last), ec, operation);
    }

    guard_type wait_or_report(time_point deadline, const std::stop_token& stop, std::error_code& ec) noexcept
    {
        guard_type guard;
        if (refused(ec)) return guard;
        catch_into(ec, [&] { guard = guard_of(pool_->wait(deadline, stop, ec, wanted_.attempt())); });
        report_cancellation(guard, stop, ec);
        return guard;
    }

    void check() const
    {
        if (!wanted_.possible()) raise_invalid(errc::invalid_terms, wanted_.refusal(pool_->count()));
    }

    bool refused(std::error_code& ec) const noexcept
    {
        ec = wanted_.possible() ? std::error_code{} : make_error_code(errc::invalid_terms);
        return !wanted_.possible();
    }

    some_result attempt(std::error_code& ec)
    {
        some_permits some = wanted_.attempt();
        return pool_->attempt_once(some, ec);
    }

    guard_type granted_or_throw(some_result last, std::error_code ec, std::string_view operation)
    {
        if (ec) pool_->raise_failure(ec, operation, last.too_late, last.of_another);
        return guard_of(std::move(last));
    }

    [[nodiscard]] guard_type guard_of(some_result last) const noexcept
    {
        if (last.guard.empty()) return {};
        return lease_access::make_guard<guard_type>(pool_, std::move(last));
    }

    std::shared_ptr<Pool> pool_;
    wanted_permits wanted_;
};

}  // namespace leasehold::inline v0::detail

#endif
