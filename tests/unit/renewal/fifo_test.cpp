// SPDX-License-Identifier: BSL-1.0
#include <leasehold/renewal/fifo.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <utility>

BOOST_AUTO_TEST_SUITE(fifo_test)

namespace {

struct person {
    leasehold::renewal::fifo_link<person> here, there;
};
using queue_here = leasehold::renewal::fifo<person, &person::here>;
using queue_there = leasehold::renewal::fifo<person, &person::there>;

}  // namespace

BOOST_AUTO_TEST_CASE(each_comes_once_in_the_order_of_arrival_and_can_come_back)
{
    const auto a = std::make_shared<person>(), b = std::make_shared<person>();
    queue_here queue;
    BOOST_TEST(queue.empty());
    for (const auto& each : {b, a, b}) queue.push(each);
    BOOST_TEST((queue.pop() == b));
    queue.push(b);
    BOOST_TEST((queue.pop() == a));
    BOOST_TEST((queue.pop() == b));
    BOOST_TEST(queue.empty());
    BOOST_TEST(a.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(one_waits_in_several_by_a_link_for_each)
{
    const auto a = std::make_shared<person>(), b = std::make_shared<person>();
    queue_here here;
    queue_there there;
    for (const auto& each : {a, b}) here.push(each);
    for (const auto& each : {b, a}) there.push(each);
    BOOST_TEST((here.pop() == a));
    BOOST_TEST((there.pop() == b));
    BOOST_TEST((here.pop() == b));
    BOOST_TEST((there.pop() == a));
}

BOOST_AUTO_TEST_CASE(long_one_is_dropped_without_recursion)
{
    std::weak_ptr<person> last;
    {
        queue_here queue;
        for (int i = 0; i < 1'000'000; ++i) {
            auto added = std::make_shared<person>();
            last = added;
            queue.push(std::move(added));
        }
    }
    BOOST_TEST(last.expired());
}

BOOST_AUTO_TEST_SUITE_END()
