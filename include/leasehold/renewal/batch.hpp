// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_BATCH_HPP
#define LEASEHOLD_RENEWAL_BATCH_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/concept.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/renewal/batch_tier.hpp>
#include <leasehold/renewal/watched_term.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::inline v0::renewal {

/// How many renewals, or releases, may go to the store in one call; at least 1.
template <batching_store Store>
[[nodiscard]] std::size_t batch_size_of(const Store& store) noexcept
{
    return std::clamp<std::size_t>(store.batch_size(), 1, max_batch);
}

/// Renewals that are sent in one call.
struct renewal_batch {
    std::vector<term_renewal> renewals;
    std::vector<batch_answer> answers;
    std::vector<sent_renewal> sent;
    std::vector<watched_term*> terms;

    /// Makes room for `most` renewals, so that adding them does not throw. May throw std::bad_alloc.
    explicit renewal_batch(std::size_t most)
    {
        renewals.reserve(most);
        answers.reserve(most);
        sent.reserve(most);
        terms.reserve(most);
    }
};

/// Sends the renewals of terms of one store in one call. Each term's time counts from before the call. Each term gets its
/// own answer; without an answer it keeps trying within its time. Does I/O.
template <batching_store Store, lease_clock Clock>
void renew_as_batch(Store& store, const Clock& clock, std::span<const std::shared_ptr<watched_term>> terms)
{
    renewal_batch batch{terms.size()};
    const time_point now = clock.now();
    duration least_left = duration::max();
    for (const auto& term : terms) {
        term_renewal what;
        sent_renewal on_its_way;
        const auto left = term->begin_renewal(now, what, on_its_way);
        if (!left) continue;
        least_left = std::min(least_left, *left);
        batch.renewals.push_back(what);
        batch.answers.push_back(batch_answer::unknown);
        batch.sent.push_back(std::move(on_its_way));
        batch.terms.push_back(term.get());
    }
    if (batch.terms.empty()) return;
    std::error_code ec;
    detail::catch_into(ec, [&] { store.renew_many(batch.renewals, batch.answers, time_in_batch(least_left), ec); });
    for (std::size_t i = 0; i < batch.terms.size(); ++i) batch.terms[i]->end_renewal(batch.sent[i], batch.answers[i], ec);
}

}  // namespace leasehold::inline v0::renewal

#endif
