// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_SCRIPTED_BATCHING_STORE_HPP
#define LEASEHOLD_TESTS_SUPPORT_SCRIPTED_BATCHING_STORE_HPP

#include <support/scripted_store.hpp>

#include <leasehold/store/concept.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

namespace leasehold_test {

/// A scripted store that takes many in one call, as operation::renew_many, release_many and acquire_many.
class scripted_batching_store : public scripted_store
{
public:
    using scripted_store::scripted_store;

    std::size_t takes = 1000;  ///< how many in one call; to be set before it is used

    [[nodiscard]] std::size_t batch_size() const noexcept { return takes; }

    void renew_many(std::span<const leasehold::term_renewal> renewals, std::span<leasehold::batch_answer> answers,
                    leasehold::duration within, std::error_code& ec)
    {
        {
            const std::lock_guard lock{mutex_};
            within_ = within;
        }
        all(operation::renew_many, renewals, answers, ec,
            [&](const auto& each) { return leases.renew(each.name, each.owner, each.token, each.ttl, ec); });
    }

    void release_many(std::span<const leasehold::term_release> releases, std::span<leasehold::batch_answer> answers,
                      std::error_code& ec)
    {
        all(operation::release_many, releases, answers, ec,
            [&](const auto& each) { return leases.release(each.name, each.owner, each.token, each.min_hold_left, ec); });
    }

    void acquire_many(std::span<const leasehold::term_request> requests, std::size_t most,
                      std::span<std::optional<leasehold::acquire_result>> answers, std::error_code& ec)
    {
        note(requests);
        std::vector<std::optional<leasehold::acquire_result>> said(requests.size(), leasehold::acquire_result{});  // busy, if refused
        play(operation::acquire_many, requests.front().name, ec, false, [&] {
            leases.acquire_many(requests, most, said, ec);
            return true;
        });
        if (!ec) std::ranges::copy(said, answers.begin());
    }

    /// How many there were in each call, in the order of their beginnings.
    [[nodiscard]] std::vector<std::size_t> sizes() const
    {
        const std::lock_guard lock{mutex_};
        return sizes_;
    }

    /// The names of the last call, sorted.
    [[nodiscard]] std::vector<std::string> last_names() const
    {
        const std::lock_guard lock{mutex_};
        return last_names_;
    }

    [[nodiscard]] leasehold::duration last_within() const
    {
        const std::lock_guard lock{mutex_};
        return within_;
    }

private:
    template <class Item>
    void note(std::span<const Item> items)
    {
        const std::lock_guard lock{mutex_};
        sizes_.push_back(items.size());
        last_names_.clear();
        for (const Item& each : items) last_names_.emplace_back(each.name);
        std::ranges::sort(last_names_);
    }

    template <class Item, class One>
    void all(operation op, std::span<const Item> items, std::span<leasehold::batch_answer> answers, std::error_code& ec, One one)
    {
        note(items);
        std::vector<leasehold::batch_answer> said(items.size(), leasehold::batch_answer::no);
        play(op, items.front().name, ec, false, [&] {
            for (std::size_t i = 0; i < items.size(); ++i)
                if (one(items[i])) said[i] = leasehold::batch_answer::yes;
            return true;
        });
        if (!ec) std::ranges::copy(said, answers.begin());
    }

    mutable std::mutex mutex_;
    std::vector<std::size_t> sizes_;
    std::vector<std::string> last_names_;
    leasehold::duration within_{};
};

static_assert(leasehold::batching_store<scripted_batching_store> && !leasehold::batching_store<scripted_store>);
static_assert(leasehold::batch_acquiring_store<scripted_batching_store> && !leasehold::batch_acquiring_store<scripted_store>);

/// A scripted store whose diagnostics a test sets.
template <class Store>
class telling_store : public Store
{
public:
    using Store::Store;

    [[nodiscard]] leasehold::store_diagnostics diagnostics() const
    {
        leasehold::store_diagnostics said;
        said.advice = says;
        return said;
    }

    std::string says;
};

static_assert(leasehold::diagnosing_store<telling_store<scripted_store>>);

/// For BOOST_AUTO_TEST_CASE_TEMPLATE: a store that takes one attempt in a call, and one that takes many.
using both_stores = std::tuple<scripted_store, scripted_batching_store>;

}  // namespace leasehold_test

#endif
