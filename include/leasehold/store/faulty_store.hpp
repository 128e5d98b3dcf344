// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_FAULTY_STORE_HPP
#define LEASEHOLD_STORE_FAULTY_STORE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/checkpoint_record.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_event.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store/store_call.hpp>
#include <leasehold/store_diagnostics.hpp>
#include <leasehold/waiting/local_queue.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0 {

/// What happens to one call.
enum class store_fault : std::uint8_t {
    none,
    lose_request,  ///< fails with errc::store_unavailable; the store never sees it
    lose_reply     ///< the store carries it out; the caller gets errc::store_timeout
};

/// A store whose calls fail according to a plan, to test what your own code does in an outage.
///
///     lh::faulty_store flaky{
///         store, [&](const lh::store_call&) { return outage ? lh::store_fault::lose_request : lh::store_fault::none; }};
///
/// The plan is called before each call of the store, on the same thread. It may block, to imitate a store that hangs. It
/// must not throw. This is never a batching_store: each renewal and each release is a separate call, which can fail by
/// itself.
/// Thread safety: like the store's, if the plan can be called from several threads.
/// Lifetime: the store must outlive it.
template <lease_store Store, class Plan>
    requires std::is_invocable_r_v<store_fault, Plan&, const store_call&>
class faulty_store {
public:
    /// Calls `plan` before each call of `store`.
    faulty_store(Store& store, Plan plan) : store_{store}, plan_{std::move(plan)} {}

    /// See lease_store.
    acquire_result try_acquire(std::string_view name, std::string_view owner, duration ttl, std::error_code& ec)
    {
        return planned({store_operation::try_acquire, name, owner, {}, ttl}, ec, [&] { return store_.try_acquire(name, owner, ttl, ec); });
    }

    /// See notifying_store.
    acquire_result try_acquire(queue_ticket auto& ticket, std::string_view owner, duration ttl, std::error_code& ec)
        requires notifying_store<Store>
    {
        return planned({store_operation::try_acquire, ticket.name(), owner, {}, ttl}, ec,
                       [&] { return store_.try_acquire(ticket, owner, ttl, ec); });
    }

    /// See lease_store.
    bool renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl, std::error_code& ec)
    {
        return planned({store_operation::renew, name, owner, token, ttl}, ec, [&] { return store_.renew(name, owner, token, ttl, ec); });
    }

    /// See lease_store.
    bool release(std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left, std::error_code& ec)
    {
        return planned({store_operation::release, name, owner, token, min_hold_left}, ec,
                       [&] { return store_.release(name, owner, token, min_hold_left, ec); });
    }

    /// See handover_store.
    bool publish(std::string_view name, std::string_view owner, fencing_token token, std::string_view data, std::error_code& ec)
        requires handover_store<Store>
    {
        return planned({store_operation::publish, name, owner, token}, ec, [&] { return store_.publish(name, owner, token, data, ec); });
    }

    /// See handover_store.
    bool request_handover(std::string_view name, std::string_view reason, std::error_code& ec)
        requires handover_store<Store>
    {
        return planned({store_operation::request_handover, name}, ec, [&] { return store_.request_handover(name, reason, ec); });
    }

    /// See handover_store.
    std::optional<std::string> handover_requested(std::string_view name, std::string_view owner, fencing_token token, std::error_code& ec)
        requires handover_store<Store>
    {
        return planned({store_operation::handover_requested, name, owner, token}, ec,
                        [&] { return store_.handover_requested(name, owner, token, ec); });
    }

    /// See checkpointing_store.
    bool save_checkpoint(std::string_view name, std::string_view owner, fencing_token token, std::string_view text, std::error_code& ec)
        requires checkpointing_store<Store>
    {
        return planned({store_operation::save_checkpoint, name, owner, token}, ec,
                       [&] { return store_.save_checkpoint(name, owner, token, text, ec); });
    }

    /// See checkpointing_store.
    std::optional<checkpoint_record> checkpoint(std::string_view name, std::error_code& ec)
        requires checkpointing_store<Store>
    {
        return planned({store_operation::checkpoint, name}, ec, [&] { return store_.checkpoint(name, ec); });
    }

    /// See timed_store.
    store_time now(std::error_code& ec)
        requires timed_store<Store>
    {
        return planned({store_operation::now, {}}, ec, [&] { return store_.now(ec); });
    }

    /// See lease_store.
    std::optional<lease_record> inspect(std::string_view name, std::error_code& ec)
    {
        return planned({store_operation::inspect, name}, ec, [&] { return store_.inspect(name, ec); });
    }

    /// The store that it decorates.
    [[nodiscard]] Store& underlying() const noexcept { return store_; }

    /// See polled_store.
    [[nodiscard]] poll_pauses pauses() const noexcept
        requires polled_store<Store>
    {
        return store_.pauses();
    }

    /// See notifying_store.
    [[nodiscard]] auto enqueue(std::string_view name, waker& to_wake)
        requires notifying_store<Store>
    {
        return store_.enqueue(name, to_wake);
    }

    /// See waiting::queueing_store.
    [[nodiscard]] waiting::local_queue& local_waiters() noexcept
        requires waiting::queueing_store<Store>
    {
        return store_.local_waiters();
    }

    /// See observed_store.
    void observe(const lease_event& event) noexcept
        requires observed_store<Store>
    {
        store_.observe(event);
    }

    /// See diagnosing_store.
    [[nodiscard]] store_diagnostics diagnostics() const
    {
        store_diagnostics said;
        if (failed_as_planned_ == this)
            said.advice = "the plan of a faulty_store says so";
        else if constexpr (diagnosing_store<Store>)
            said = store_.diagnostics();
        return said;
    }

private:
    template <class Call>
    auto planned(const store_call& call, std::error_code& ec, Call&& make) -> decltype(make())
    {
        const store_fault fault = plan_(call);
        failed_as_planned_ = fault == store_fault::none ? nullptr : this;
        if (fault == store_fault::lose_request) {
            ec = errc::store_unavailable;
            return {};
        }
        auto result = make();
        if (ec) failed_as_planned_ = nullptr;
        if (fault == store_fault::none || ec) return result;
        ec = errc::store_timeout;
        return {};
    }

    // Of this thread; the last call's.
    inline static thread_local const faulty_store* failed_as_planned_ = nullptr;

    Store& store_;
    Plan plan_;
};

}  // namespace leasehold::inline v0

#endif
