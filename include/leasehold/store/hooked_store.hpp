// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_HOOKED_STORE_HPP
#define LEASEHOLD_STORE_HOOKED_STORE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/lease_event.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store/forwarding_store.hpp>
#include <leasehold/store/store_call.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

/// A finished call: how it went and how long it took, on std::chrono::steady_clock.
struct store_call_report {
    std::error_code error;  ///< the error, if it failed
    bool succeeded = false;  ///< granted, renewed, released, held (inspect), published, asked (both operations about a hand-over), saved,
                             ///< there (checkpoint, look_at_checkpoint), or told (now, list); meaningless if error is set
    duration elapsed{};        ///< from call to return
    std::size_t batch_size = 1;  ///< how many operations shared one call; `elapsed` is the time of all of them
};

/// A store that reports every call to a hook, for logs and metrics.
///
///     lh::hooked_store logged{store, [](const lh::store_call& call, const lh::store_call_report& report) { ... }};
///
/// The hook is called after each operation, turn() apart, on the same thread. That can be one of the library's own threads, so several
/// threads may call the hook at once. It must not throw, nor acquire, renew or release: the lease has not got the answer yet that the hook
/// is told, and waits for it. A hook that also takes a const lease_event& is told when terms begin
/// and end, losses included: see observed_store. Thread safety: like the store's, if the hook can be called from
/// several threads. Lifetime: the store must outlive it.
template <lease_store Store, std::invocable<const store_call&, const store_call_report&> Hook>
class hooked_store : public forwarding_store<Store, hooked_store<Store, Hook>> {
    using forwarding = forwarding_store<Store, hooked_store>;
    friend forwarding;

public:
    /// Reports each call of `store` to `hook`.
    hooked_store(Store& store, Hook hook) : forwarding{store}, hook_{std::move(hook)} {}

    /// See batch_acquiring_store; the hook gets each attempt, also those that were not made because enough were granted.
    void acquire_many(std::span<const term_request> requests, std::size_t most, std::span<std::optional<acquire_result>> answers,
                      std::error_code& ec)
        requires batch_acquiring_store<Store>
    {
        report_each(store_operation::try_acquire, requests, &term_request::ttl, answers, ec,
                    [&] { forwarding::acquire_many(requests, most, answers, ec); });
    }

    /// See batching_store; the hook gets each renewal.
    void renew_many(std::span<const term_renewal> renewals, std::span<batch_answer> answers, duration within, std::error_code& ec)
        requires batching_store<Store>
    {
        report_each(store_operation::renew, renewals, &term_renewal::ttl, answers, ec,
                    [&] { forwarding::renew_many(renewals, answers, within, ec); });
    }

    /// See batching_store; the hook gets each release.
    void release_many(std::span<const term_release> releases, std::span<batch_answer> answers, std::error_code& ec)
        requires batching_store<Store>
    {
        report_each(store_operation::release, releases, &term_release::min_hold_left, answers, ec,
                    [&] { forwarding::release_many(releases, answers, ec); });
    }

    /// See observed_store.
    void observe(const lease_event& event) noexcept
        requires std::invocable<Hook&, const lease_event&> || observed_store<Store>
    {
        if constexpr (std::invocable<Hook&, const lease_event&>) hook_(event);
        if constexpr (observed_store<Store>) forwarding::observe(event);
    }

private:
    static duration since(std::chrono::steady_clock::time_point begun)
    {
        return std::chrono::duration_cast<duration>(std::chrono::steady_clock::now() - begun);
    }

    static bool succeeded(const acquire_result& answer) noexcept { return answer.granted(); }
    static bool succeeded(const store_time&) noexcept { return true; }
    static bool succeeded(const std::vector<lease_record>&) noexcept { return true; }
    static bool succeeded(const checkpoint_look& answer) noexcept { return answer.saved.has_value(); }
    static bool succeeded(batch_answer answer) noexcept { return answer == batch_answer::yes; }
    static bool succeeded(const std::optional<acquire_result>& answer) noexcept { return answer && answer->granted(); }
    template <class Answer>
    static bool succeeded(const Answer& answer) noexcept
    {
        return static_cast<bool>(answer);
    }

    static bool answered(batch_answer answer) noexcept { return answer != batch_answer::unknown; }
    static bool answered(const std::optional<acquire_result>& answer) noexcept { return answer.has_value(); }

    static fencing_token token_of(const term_request&) noexcept { return {}; }
    static fencing_token token_of(const auto& item) noexcept { return item.token; }

    // See forwarding_store.
    template <class Make>
    auto around(const store_call& call, std::error_code& ec, Make make)
    {
        const auto begun = std::chrono::steady_clock::now();
        auto answer = make();
        const auto elapsed = since(begun);
        hook_(call, store_call_report{.error = ec, .succeeded = !ec && succeeded(answer), .elapsed = elapsed});
        return answer;
    }

    // An item without an answer failed with the error of the call.
    template <class Item, class Answer, class Make>
    void report_each(store_operation what, std::span<const Item> items, duration Item::*time, std::span<Answer> answers,
                     const std::error_code& ec, Make make)
    {
        const auto begun = std::chrono::steady_clock::now();
        make();
        const auto elapsed = since(begun);
        for (std::size_t i = 0; i < items.size(); ++i)
            hook_(store_call{what, items[i].name, items[i].owner, token_of(items[i]), items[i].*time},
                  store_call_report{answered(answers[i]) ? std::error_code{} : ec, succeeded(answers[i]), elapsed, items.size()});
    }

    Hook hook_;
};

}  // namespace leasehold::inline v0

#endif
