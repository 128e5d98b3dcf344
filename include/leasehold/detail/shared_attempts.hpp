// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_SHARED_ATTEMPTS_HPP
#define LEASEHOLD_DETAIL_SHARED_ATTEMPTS_HPP

#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/exclusive_wait.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/detail/permit_attempts.hpp>
#include <leasehold/detail/permit_pool.hpp>
#include <leasehold/detail/permit_search.hpp>
#include <leasehold/error.hpp>
#include <leasehold/exclusive_guard.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/permit_guard.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/wait_on_thread.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::detail {

// How a shared_lease is acquired by a writer or a reader: single attempts, and waits on the caller's thread.
template <class SharedLease, class Pool>
class shared_attempts {
    struct rights;
    struct reading;

public:
    using guard_type = exclusive_guard<SharedLease>;
    using wait_type = exclusive_wait<Pool>;

    explicit shared_attempts(std::shared_ptr<Pool> shares) : rights_{std::make_shared<rights>(std::move(shares))} {}

    [[nodiscard]] Pool& pool() const noexcept { return *rights_->pool; }
    // Returns what a wait_type needs besides the pool.
    [[nodiscard]] auto& subject() const noexcept { return rights_->gate; }
    [[nodiscard]] auto& a_lease() const noexcept { return rights_->gate; }

    // The attempts of readers.
    [[nodiscard]] auto readers() const noexcept
    {
        return permit_attempts<Pool, permit_guard<SharedLease>, reading>{rights_->pool, reading{rights_}};
    }

    // Whether the end of what it keeps alive may wait for the store.
    [[nodiscard]] bool end_takes_time() const noexcept { return rights_->end_takes_time(); }

    // See acquire_forms.
    [[nodiscard]] const auto& clock() const noexcept { return pool().clock(); }
    static void prepare() noexcept {}
    static bool prepare(const std::error_code&) noexcept { return true; }

    auto attempt(std::error_code& ec) const noexcept
    {
        typename wait_type::result taken;
        catch_into(ec, [&] { taken = write(ec); });
        return taken;
    }

    auto wait(time_point deadline, const std::stop_token& stop, std::error_code& ec) const noexcept
    {
        typename wait_type::result taken;
        if (stop.stop_requested()) return taken;
        if (deadline <= clock().now()) return attempt(ec);
        catch_into(ec, [&] {
            lease_access::attempts(rights_->gate).prepare();
            waker to_wake;
            wait_type waits{pool(), rights_->gate, deadline, to_wake};
            taken = waiting::wait_on_thread(waits, clock(), to_wake, stop, ec);
        });
        return taken;
    }

    template <class Result>
    [[noreturn]] void raise_failure(const Result& result, std::error_code ec, std::string_view operation) const
    {
        pool().raise_failure(ec, operation, result.too_late, false, result.failure);
    }

    template <class Result>
    [[nodiscard]] guard_type guard_of(Result taken) const noexcept
    {
        return taken.guard.empty() ? guard_type{} : lease_access::make_guard<guard_type>(rights_->pool, std::move(taken.guard));
    }

private:
    // The readers' shares, and the gate, which outlive the lease while somebody uses them.
    struct rights {
        explicit rights(std::shared_ptr<Pool> shares) : pool{std::move(shares)}, gate{pool->make_gate()} {}

        [[nodiscard]] bool end_takes_time() const noexcept
        {
            return pool->end_takes_time() || lease_access::keeper(gate).end_takes_time();
        }

        const std::shared_ptr<Pool> pool;
        typename Pool::lease_type gate;
    };

    // A reader looks at the gate, and takes a share if it is open. If it is closed, a reader that waits does so at the gate.
    struct reading {
        std::shared_ptr<rights> its_rights;

        [[nodiscard]] bool end_takes_time() const noexcept { return its_rights->end_takes_time(); }

        template <class Asking>
        typename Pool::attempt_result operator()(permit_search& search, Asking& asking, std::error_code& ec) const
        {
            const bool overdue = asking.is_overdue(ec);
            if (ec) return {};
            const std::optional<lease_record> closed = its_rights->pool->counted().inspect(its_rights->gate.name(), ec);
            if (ec) return {};
            if (closed) return asking.wait_for(its_rights->gate.name(), closed->remaining, ec);
            if (overdue) asking.missed();
            return asking.try_any(search, ec);
        }

        // As in "try_acquire_shared_for".
        [[nodiscard]] static std::string name_of(std::string operation)
        {
            constexpr std::string_view verb = "acquire";
            return operation.insert(operation.find(verb) + verb.size(), "_shared");
        }
    };

    // Stops at the first share that is busy.
    auto write(std::error_code& ec) const
    {
        exclusive_terms<Pool> taken{pool()};
        if (!taken.take_gate(lease_access::attempts(rights_->gate).attempt_once(ec), ec)) return taken.none(ec);
        taken.take_shares(true, std::nullopt, ec);
        if (!ec && taken.has_all_shares()) return taken.complete(ec);
        if (taken.lost() && !ec) ec = errc::lost;
        return taken.none(ec);
    }

    std::shared_ptr<rights> rights_;
};

}  // namespace leasehold::inline v0::detail

#endif
