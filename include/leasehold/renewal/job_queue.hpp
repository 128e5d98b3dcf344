// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_JOB_QUEUE_HPP
#define LEASEHOLD_RENEWAL_JOB_QUEUE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/renewal/deadline_heap.hpp>
#include <leasehold/renewal/watched_term.hpp>
#include <leasehold/time_point.hpp>

#include <cassert>
#include <memory>
#include <utility>

namespace leasehold::inline v0::renewal {

/// Terms whose renewal has to be sent, the earliest deadline first, each at most once. Not thread-safe.
class job_queue : private term_heap {
public:
    job_queue() noexcept : term_heap{watched_term::heap::renewals} {}

    using term_heap::empty, term_heap::first, term_heap::reserve, term_heap::erase;

    void push(std::shared_ptr<watched_term> term)
    {
        if (has(*term)) return;
        const time_point before = term->renew_before();
        put(std::move(term), before);
    }

    std::shared_ptr<watched_term> pop()
    {
        assert(!empty());
        return take_first();
    }
};

}  // namespace leasehold::inline v0::renewal

#endif
