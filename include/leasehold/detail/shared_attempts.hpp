// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_SHARED_ATTEMPTS_HPP
#define LEASEHOLD_DETAIL_SHARED_ATTEMPTS_HPP

#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/exclusive_wait.hpp>
#include <leasehold/detail/guard_sets.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/detail/permit_pool.hpp>
#include <leasehold/error.hpp>
#include <leasehold/exclusive_guard.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/permit_guard.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/wait_on_thread.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::detail {

// How a shared_lease is acquired by a writer or a reader: single attempts, and waits on the caller's thread.
template <class SharedLease, class Pool>
class shared_attempts {
    using guard_type = exclusive_guard<SharedLease>;
    using shared_guard_type = permit_guard<SharedLease>;
    using shared_attempt = typename Pool::attempt_result;
    using terms_type = exclusive_terms<Pool>;

public:
    struct outcome {
        guard_type guard;
        bool too_late = false;
        set_failure failure{};
    };

    // The readers' shares, and the gate, which outlive the lease while somebody uses them.
    struct rights {
        explicit rights(std::shared_ptr<Pool> shares) : pool{std::move(shares)}, gate{pool->make_gate()} {}

        const std::shared_ptr<Pool> pool;
        typename Pool::lease_type gate;
    };

    // A reader's attempts; keeps what they need.
    struct reading {
        std::shared_ptr<rights> of;

        template <class Asking>
        shared_attempt operator()(permit_search& search, Asking& asking, std::error_code& ec) const
        {
            return read(*of, search, asking, ec);
        }
    };

    explicit shared_attempts(std::shared_ptr<Pool> shares) : rights_{std::make_shared<rights>(std::move(shares))} {}

    [[nodiscard]] Pool& pool() const noexcept { return *rights_->pool; }
    [[nodiscard]] const auto& gate() const noexcept { return rights_->gate; }
    [[nodiscard]] const std::shared_ptr<rights>& parts() const noexcept { return rights_; }
    [[nodiscard]] reading reader() const noexcept { return {rights_}; }

    // A writer's single attempt. Stops at the first share that is busy.
    static typename terms_type::result write(rights& of, std::error_code& ec)
    {
        terms_type taken{*of.pool};
        if (!taken.take_gate(lease_access::attempt(of.gate, ec), ec)) return taken.none(ec);
        taken.take_shares(true, std::nullopt, ec);
        if (!ec && taken.has_all_shares()) return taken.complete(ec);
        if (taken.lost() && !ec) ec = errc::lost;
        return taken.none(ec);
    }

    // See acquire_forms.
    [[nodiscard]] const auto& clock() const noexcept { return pool().clock(); }

    guard_type attempt_or_report(std::error_code& ec) noexcept
    {
        ec.clear();
        return attempt(ec).guard;
    }

    outcome attempt(std::error_code& ec) noexcept
    {
        outcome done;
        catch_into(ec, [&] { done = outcome_of(write(*rights_, ec)); });
        return done;
    }

    guard_type attempt_or_throw(std::string_view operation)
    {
        std::error_code ec;
        auto done = attempt(ec);
        return granted_or_throw(std::move(done), ec, operation);
    }

    guard_type wait_or_throw(time_point deadline, const std::stop_token& stop, std::string_view operation)
    {
        std::error_code ec;
        auto done = wait(deadline, stop, ec);
        return granted_or_throw(std::move(done), ec, operation);
    }

    guard_type wait_or_report(time_point deadline, const std::stop_token& stop, std::error_code& ec) noexcept
    {
        ec.clear();
        guard_type guard = wait(deadline, stop, ec).guard;
        report_cancellation(guard, stop, ec);
        return guard;
    }

    shared_guard_type attempt_shared_or_throw(std::string_view operation)
    {
        std::error_code ec;
        auto last = attempt_shared(ec);
        return shared_or_throw(std::move(last), ec, operation);
    }

    shared_guard_type attempt_shared_or_report(std::error_code& ec) noexcept
    {
        shared_guard_type guard;
        ec.clear();
        catch_into(ec, [&] { guard = guard_of(attempt_shared(ec)); });
        return guard;
    }

    shared_guard_type wait_shared_or_throw(time_point deadline, const std::stop_token& stop, std::string_view operation)
    {
        std::error_code ec;
        auto last = wait_shared(deadline, stop, ec);
        return shared_or_throw(std::move(last), ec, operation);
    }

    shared_guard_type wait_shared_or_report(time_point deadline, const std::stop_token& stop, std::error_code& ec) noexcept
    {
        shared_guard_type guard;
        ec.clear();
        catch_into(ec, [&] { guard = guard_of(wait_shared(deadline, stop, ec)); });
        report_cancellation(guard, stop, ec);
        return guard;
    }

private:
    outcome outcome_of(typename terms_type::result taken) const noexcept
    {
        if (taken.guard.empty()) return {.guard = {}, .too_late = taken.too_late, .failure = std::move(taken.failure)};
        return {lease_access::make_guard<guard_type>(rights_->pool, std::move(taken.guard))};
    }

    outcome wait(time_point deadline, const std::stop_token& stop, std::error_code& ec) noexcept
    {
        if (stop.stop_requested()) return {};
        if (deadline <= pool().clock().now()) return attempt(ec);
        outcome done;
        catch_into(ec, [&] {
            lease_access::keeper(rights_->gate).attach_engine();
            waker to_wake;
            exclusive_wait<Pool> waits{pool(), rights_->gate, deadline, to_wake};
            done = outcome_of(waiting::wait_on_thread(waits, pool().clock(), to_wake, stop, ec));
        });
        return done;
    }

    guard_type granted_or_throw(outcome done, std::error_code ec, std::string_view operation)
    {
        if (ec) pool().raise_failure(ec, operation, done.too_late, false, done.failure);
        return std::move(done.guard);
    }

    // A reader looks at the gate, and takes a share if it is open. If it is closed, a reader that waits does so at the gate.
    template <class Asking>
    static shared_attempt read(const rights& of, permit_search& search, Asking& asking, std::error_code& ec)
    {
        const bool overdue = asking.is_overdue(ec);
        if (ec) return {};
        const std::optional<lease_record> closed = of.pool->counted().inspect(of.gate.name(), ec);
        if (ec) return {};
        if (closed) return asking.wait_for(of.gate.name(), closed->remaining, ec);
        if (overdue) asking.missed();
        return asking.try_any(search, ec);
    }

    shared_attempt attempt_shared(std::error_code& ec)
    {
        auto attempt = reader();
        return pool().attempt_once(attempt, ec);
    }

    shared_attempt wait_shared(time_point deadline, const std::stop_token& stop, std::error_code& ec)
    {
        return pool().wait(deadline, stop, ec, reader());
    }

    shared_guard_type shared_or_throw(shared_attempt last, std::error_code ec, std::string_view operation)
    {
        if (ec) pool().raise_failure(ec, operation, last.too_late, last.of_another);
        return guard_of(std::move(last));
    }

    [[nodiscard]] shared_guard_type guard_of(shared_attempt last) const noexcept
    {
        return lease_access::make_guard<shared_guard_type>(rights_->pool, std::move(last));
    }

    std::shared_ptr<rights> rights_;
};

}  // namespace leasehold::inline v0::detail

#endif
