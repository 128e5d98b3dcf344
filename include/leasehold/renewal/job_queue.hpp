// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_JOB_QUEUE_HPP
#define LEASEHOLD_RENEWAL_JOB_QUEUE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/renewal/watched_term.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace leasehold::inline v0::renewal {

/// Terms whose renewal has to be sent, the earliest deadline first, each at most once. Not thread-safe.
class job_queue {
public:
    [[nodiscard]] bool empty() const noexcept { return jobs_.empty(); }

    /// Makes room for this many terms, so that push() does not throw.
    void reserve(std::size_t terms)
    {
        if (terms > jobs_.capacity()) jobs_.reserve(std::max(terms, 2 * jobs_.capacity()));
    }

    /// Null when empty.
    [[nodiscard]] const watched_term* first() const noexcept { return jobs_.empty() ? nullptr : jobs_.front().term.get(); }

    void push(std::shared_ptr<watched_term> term)
    {
        if (std::exchange(term->awaits_worker_, true)) return;
        const time_point before = term->renew_before();
        jobs_.push_back({before, std::move(term)});
        std::ranges::push_heap(jobs_, later);
    }

    std::shared_ptr<watched_term> pop() noexcept
    {
        assert(!empty());
        std::ranges::pop_heap(jobs_, later);
        std::shared_ptr<watched_term> term = std::move(jobs_.back().term);
        jobs_.pop_back();
        term->awaits_worker_ = false;
        return term;
    }

    void erase(const watched_term& term) noexcept
    {
        if (!term.awaits_worker_) return;
        const auto found = std::ranges::find_if(jobs_, [&term](const job& each) { return each.term.get() == &term; });
        assert(found != jobs_.end());
        found->term->awaits_worker_ = false;
        jobs_.erase(found);
        std::ranges::make_heap(jobs_, later);
    }

private:
    struct job {
        time_point before;
        std::shared_ptr<watched_term> term;
    };

    static constexpr auto later = [](const job& a, const job& b) noexcept { return a.before > b.before; };

    std::vector<job> jobs_;
};

}  // namespace leasehold::inline v0::renewal

#endif
