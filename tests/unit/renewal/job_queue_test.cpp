// SPDX-License-Identifier: BSL-1.0
#include <leasehold/renewal/job_queue.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <vector>

namespace lh = leasehold;

namespace {

struct idle_term : lh::renewal::watched_term {
    bool step() override { return false; }
    void renew() override {}
};

}  // namespace

BOOST_AUTO_TEST_SUITE(job_queue_test)

BOOST_AUTO_TEST_CASE(first_in_is_first_out)
{
    const auto a = std::make_shared<idle_term>(), b = std::make_shared<idle_term>(), c = std::make_shared<idle_term>();
    lh::renewal::job_queue jobs;
    BOOST_TEST(jobs.empty());
    jobs.push(a);
    jobs.push(b);
    BOOST_TEST((jobs.pop() == a));
    jobs.push(c);
    BOOST_TEST((jobs.pop() == b));
    BOOST_TEST((jobs.pop() == c));
    BOOST_TEST(jobs.empty());
}

BOOST_AUTO_TEST_CASE(term_waits_in_it_once_and_can_come_back)
{
    const auto a = std::make_shared<idle_term>(), b = std::make_shared<idle_term>();
    lh::renewal::job_queue jobs;
    jobs.push(a);
    jobs.push(b);
    jobs.push(a);
    BOOST_TEST((jobs.pop() == a));
    jobs.push(a);
    BOOST_TEST((jobs.pop() == b));
    BOOST_TEST((jobs.pop() == a));
    BOOST_TEST(jobs.empty());
    BOOST_TEST(a.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(emptied_queue_takes_jobs_again)
{
    const auto a = std::make_shared<idle_term>();
    lh::renewal::job_queue jobs;
    for (int i = 0; i < 3; ++i) {
        jobs.push(a);
        jobs.clear();
        BOOST_TEST(jobs.empty());
        BOOST_TEST(a.use_count() == 1);
    }
}

BOOST_AUTO_TEST_CASE(long_queue_is_dropped_without_recursion)
{
    lh::renewal::job_queue jobs;
    std::weak_ptr<idle_term> last;
    for (int i = 0; i < 1'000'000; ++i) {
        auto term = std::make_shared<idle_term>();
        last = term;
        jobs.push(std::move(term));
    }
    jobs.clear();
    BOOST_TEST(last.expired());
}

BOOST_AUTO_TEST_SUITE_END()
