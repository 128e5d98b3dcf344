// SPDX-License-Identifier: BSL-1.0
#include <leasehold/renewal/call_queue.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <utility>

BOOST_AUTO_TEST_SUITE(call_queue_test)

using leasehold::renewal::call_job;
using leasehold::renewal::call_order;
using leasehold::renewal::call_queue;

namespace {

struct idle_job : call_job {
    using call_job::call_job;
    void run() noexcept override {}
};

std::shared_ptr<idle_job> job(call_order order) { return std::make_shared<idle_job>(order); }

}  // namespace

BOOST_AUTO_TEST_CASE(calls_that_others_wait_for_go_first_and_each_kind_in_order_of_arrival)
{
    const auto a = job(call_order::second), b = job(call_order::second), c = job(call_order::second);
    const auto x = job(call_order::first), y = job(call_order::first), z = job(call_order::first);
    call_queue calls;
    for (const auto& each : {a, b, x, c, y, z}) calls.push(each);
    for (const auto& each : {x, y, z, a, b, c}) {
        BOOST_TEST_REQUIRE(!calls.empty());
        BOOST_TEST((calls.pop() == each));
    }
    BOOST_TEST(calls.empty());
    BOOST_TEST(a.use_count() == 1);
    BOOST_TEST(z.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(is_empty_only_without_calls_of_either_kind)
{
    for (const call_order order : {call_order::first, call_order::second}) {
        call_queue calls;
        BOOST_TEST(calls.empty());
        calls.push(job(order));
        BOOST_TEST(!calls.empty());
        calls.pop();
        BOOST_TEST(calls.empty());
    }
}

BOOST_AUTO_TEST_CASE(call_waits_in_it_once_and_can_come_back)
{
    for (const call_order order : {call_order::first, call_order::second}) {
        const auto a = job(order), b = job(order);
        call_queue calls;
        for (const auto& each : {a, b, a}) calls.push(each);
        BOOST_TEST((calls.pop() == a));
        calls.push(a);
        BOOST_TEST((calls.pop() == b));
        BOOST_TEST((calls.pop() == a));
        BOOST_TEST(calls.empty());
    }
}

BOOST_AUTO_TEST_CASE(long_queue_of_calls_is_dropped_without_recursion)
{
    for (const call_order order : {call_order::first, call_order::second}) {
        std::weak_ptr<idle_job> last;
        {
            call_queue calls;
            for (int i = 0; i < 300'000; ++i) {
                auto added = job(order);
                last = added;
                calls.push(std::move(added));
            }
        }
        BOOST_TEST(last.expired());
    }
}

BOOST_AUTO_TEST_SUITE_END()
