// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_FAULTY_STORE_HPP
#define LEASEHOLD_STORE_FAULTY_STORE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/error.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store/forwarding_store.hpp>
#include <leasehold/store/store_call.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <cstdint>
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
/// The plan is called before each call of the store, turn() apart, on the same thread. It may block, to imitate a store that hangs. It
/// must not throw. This is never a batching_store: each renewal and each release is a separate call, which can fail by
/// itself.
/// Thread safety: like the store's, if the plan can be called from several threads.
/// Lifetime: the store must outlive it.
template <lease_store Store, class Plan>
    requires std::is_invocable_r_v<store_fault, Plan&, const store_call&>
class faulty_store : public forwarding_store<Store, faulty_store<Store, Plan>> {
    using forwarding = forwarding_store<Store, faulty_store>;
    friend forwarding;

public:
    /// Calls `plan` before each call of `store`.
    faulty_store(Store& store, Plan plan) : forwarding{store}, plan_{std::move(plan)} {}

    // Each call can fail by itself.
    void batch_size() const = delete;
    void renew_many() = delete;
    void release_many() = delete;
    void acquire_many() = delete;

    // Its waiters have a line of their own: one whose call hangs keeps none of the wrapped store behind it.
    void local_waiters() = delete;
    void queue_key_of() = delete;

    /// A call that hangs delays no lease of another store around the same one.
    [[nodiscard]] const void* engine_key() const noexcept { return this; }

    /// See diagnosing_store.
    [[nodiscard]] store_diagnostics diagnostics() const
    {
        store_diagnostics details;
        if (failed_as_planned_ == this)
            details.advice = "the plan of a faulty_store says so";
        else if constexpr (diagnosing_store<Store>)
            details = forwarding::diagnostics();
        return details;
    }

private:
    // See forwarding_store.
    template <class Make>
    auto around(const store_call& call, std::error_code& ec, Make make) -> decltype(make())
    {
        const store_fault fault = plan_(call);
        failed_as_planned_ = fault == store_fault::none ? nullptr : this;
        if (fault == store_fault::lose_request) {
            ec = errc::store_unavailable;
            return {};
        }
        auto answer = make();
        if (ec) failed_as_planned_ = nullptr;
        if (fault == store_fault::none || ec) return answer;
        ec = errc::store_timeout;
        return {};
    }

    // Of this thread; the last call's.
    inline static thread_local const faulty_store* failed_as_planned_ = nullptr;

    Plan plan_;
};

}  // namespace leasehold::inline v0

#endif
