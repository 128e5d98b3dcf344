// SPDX-License-Identifier: BSL-1.0
#include <leasehold/renewal/job_queue.hpp>
#include <leasehold/renewal/signal_queue.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(job_queue_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

struct idle_term : lh::renewal::watched_term {
    explicit idle_term(lh::duration before = {}) { set_renewal(lh::renewal::batch_tier::none, lh::time_point{before}); }
    bool step() override { return false; }
    void renew() override {}
};

}  // namespace

BOOST_AUTO_TEST_CASE(earliest_deadline_is_first_out)
{
    const auto late = std::make_shared<idle_term>(3s), soon = std::make_shared<idle_term>(1s), later = std::make_shared<idle_term>(2s);
    lh::renewal::job_queue jobs;
    BOOST_TEST(jobs.empty());
    BOOST_TEST(jobs.first() == nullptr);
    jobs.push(late);
    jobs.push(soon);
    BOOST_TEST((jobs.first() == soon.get()));
    BOOST_TEST((jobs.pop() == soon));
    jobs.push(later);
    BOOST_TEST((jobs.pop() == later));
    BOOST_TEST((jobs.pop() == late));
    BOOST_TEST(jobs.empty());
}

BOOST_AUTO_TEST_CASE(term_waits_in_it_once_and_can_come_back)
{
    const auto a = std::make_shared<idle_term>(1s), b = std::make_shared<idle_term>(2s);
    lh::renewal::job_queue jobs;
    jobs.push(a);
    jobs.push(b);
    jobs.push(a);
    BOOST_TEST((jobs.pop() == a));
    BOOST_TEST((jobs.pop() == b));
    jobs.push(a);
    BOOST_TEST((jobs.pop() == a));
    BOOST_TEST(jobs.empty());
    BOOST_TEST(a.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(term_that_is_erased_leaves_the_order_of_the_others)
{
    const auto a = std::make_shared<idle_term>(1s), b = std::make_shared<idle_term>(2s), c = std::make_shared<idle_term>(3s);
    lh::renewal::job_queue jobs;
    for (const auto& each : {c, b, a}) jobs.push(each);
    jobs.erase(*a);
    jobs.erase(*a);
    BOOST_TEST(a.use_count() == 1);
    BOOST_TEST((jobs.pop() == b));
    jobs.push(a);
    BOOST_TEST((jobs.pop() == a));
    BOOST_TEST((jobs.pop() == c));
}

// The engine's mutex is locked meanwhile, which the watchdog needs.
BOOST_AUTO_TEST_CASE(many_that_wait_are_erased_without_a_search_for_each)
{
    std::vector<std::shared_ptr<idle_term>> terms;
    lh::renewal::job_queue jobs;
    jobs.reserve(50'000);
    for (int i = 0; i < 50'000; ++i) jobs.push(terms.emplace_back(std::make_shared<idle_term>(i * 1s)));
    const auto begun = std::chrono::steady_clock::now();
    for (const auto& each : terms) jobs.erase(*each);
    BOOST_TEST((std::chrono::steady_clock::now() - begun < 2s));
    BOOST_TEST(jobs.empty());
}

BOOST_AUTO_TEST_CASE(losses_are_signalled_in_their_order_and_each_once)
{
    const auto a = std::make_shared<idle_term>(), b = std::make_shared<idle_term>();
    lh::renewal::signal_queue signals{lh::renewal::watched_term::queue::losses};
    signals.push(b);
    signals.push(a);
    signals.push(b);
    BOOST_TEST((signals.pop() == b));
    signals.push(b);
    BOOST_TEST((signals.pop() == a));
    BOOST_TEST((signals.pop() == b));
    BOOST_TEST(signals.empty());
    BOOST_TEST(a.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(long_queue_of_losses_is_dropped_without_recursion)
{
    std::weak_ptr<idle_term> last;
    {
        lh::renewal::signal_queue signals{lh::renewal::watched_term::queue::losses};
        for (int i = 0; i < 1'000'000; ++i) {
            auto term = std::make_shared<idle_term>();
            last = term;
            signals.push(std::move(term));
        }
    }
    BOOST_TEST(last.expired());
}

BOOST_AUTO_TEST_SUITE_END()
