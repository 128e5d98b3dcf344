// SPDX-License-Identifier: BSL-1.0
#include <contract/scene.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <utility>

BOOST_AUTO_TEST_SUITE(scene_test)

namespace {

// The system has two threads to give.
class one_of_two_threads {
public:
    template <class Work>
    explicit one_of_two_threads(Work work) : thread_{granted(std::move(work))}
    {
    }

    static inline int started = 0;

private:
    template <class Work>
    static Work granted(Work work)
    {
        if (started == 2) throw std::system_error{std::make_error_code(std::errc::resource_unavailable_try_again)};
        ++started;
        return work;
    }

    std::jthread thread_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(lack_of_a_thread_ends_the_others_without_their_work)
{
    std::atomic<int> worked = 0;
    BOOST_CHECK_THROW(leasehold::contract::at_once<one_of_two_threads>(4, [&](std::size_t) { ++worked; }), std::system_error);
    BOOST_TEST(one_of_two_threads::started == 2);
    BOOST_TEST(worked == 0);
}

BOOST_AUTO_TEST_SUITE_END()
