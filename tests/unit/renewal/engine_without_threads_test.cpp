// SPDX-License-Identifier: BSL-1.0
// The system has no thread to give: every right reports it in the same way.
#include <leasehold/leasehold.hpp>

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <chrono>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

namespace engine_without_threads_test {

struct clock : leasehold::manual_clock {};

int threads_left = 0;

}  // namespace engine_without_threads_test

template <>
struct leasehold::renewal::runtime_traits<engine_without_threads_test::clock> : leasehold::renewal::runtime_traits<void> {
    template <class Function>
    static std::thread start(Function&& function)
    {
        if (engine_without_threads_test::threads_left > 0) {
            --engine_without_threads_test::threads_left;
            return leasehold::renewal::runtime_traits<void>::start(std::forward<Function>(function));
        }
        throw std::system_error{std::make_error_code(std::errc::resource_unavailable_try_again)};
    }
};

BOOST_AUTO_TEST_SUITE(engine_without_threads_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

// The store was not asked, so it is no store_error.
template <class Attempt>
void is_a_system_error(const char* of, Attempt attempt)
{
    BOOST_TEST_CONTEXT(of)
    {
        try {
            attempt();
            BOOST_ERROR("no exception");
        } catch (const lh::store_error& e) {
            BOOST_ERROR(e.what());
        } catch (const std::system_error& e) {
            BOOST_TEST((e.code() == std::errc::resource_unavailable_try_again), e.what());
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(lack_of_a_thread_is_the_same_exception_for_every_right)
{
    const clock time;
    lh::basic_memory_store store{time};
    lh::basic_lease a{store, "a", 30s, time}, b{store, "b", 30s, time};
    lh::basic_lease<lh::basic_memory_store<clock>, clock, lh::fixed_owner_id> other{store, "c", 30s, time, lh::fixed_owner_id{"o"}};
    lh::lease_semaphore permits{store, "permits", 2, 30s, time};
    lh::shared_lease shared{store, "shared", 30s, time};
    is_a_system_error("lease", [&] { (void)a.try_acquire(); });
    is_a_system_error("waiting for a lease", [&] { (void)a.try_acquire_for(1s); });
    is_a_system_error("set", [&] { (void)lh::try_acquire_all(a, b); });
    is_a_system_error("set of several types", [&] { (void)lh::try_acquire_all(a, other); });
    is_a_system_error("permit", [&] { (void)permits.try_acquire(); });
    is_a_system_error("waiting for a permit", [&] { (void)permits.try_acquire_for(1s); });
    is_a_system_error("reader", [&] { (void)shared.try_acquire_shared(); });
    is_a_system_error("waiting reader", [&] { (void)shared.try_acquire_shared_for(1s); });
    is_a_system_error("writer", [&] { (void)shared.try_acquire(); });
    is_a_system_error("waiting writer", [&] { (void)shared.try_acquire_for(1s); });
    lh::leader_election election{a};
    is_a_system_error("election", [&] { election.run({}, [](auto&) { BOOST_ERROR("leads"); }); });
}

BOOST_AUTO_TEST_CASE(lack_of_a_thread_ends_an_election_which_reports_it)
{
    for (const int threads : {0, 3})  // the fourth looks for requests to hand over
    {
        const clock time;
        lh::basic_memory_store store{time};
        lh::basic_lease lease{store, "leader", 30s, time};
        lh::leader_election election{lease};
        threads_left = threads;
        std::error_code ec;
        election.run({}, [](auto&) { BOOST_ERROR("leads"); }, ec);
        BOOST_TEST((ec == std::errc::resource_unavailable_try_again), ec.message());
        BOOST_TEST(threads_left == 0);
        BOOST_TEST(store.list().empty());
    }
}

BOOST_AUTO_TEST_CASE(election_that_was_stopped_reports_nothing_and_passes_on_what_its_function_throws)
{
    threads_left = 10;
    const clock time;
    lh::basic_memory_store store{time};
    lh::basic_lease lease{store, "leader", 30s, time};
    lh::leader_election election{lease};
    std::stop_source stop;
    std::error_code ec = lh::errc::not_held;
    election.run(stop.get_token(), [&](auto&) { stop.request_stop(); }, ec);
    BOOST_TEST(!ec, ec.message());
    lh::leader_election again{lease};
    BOOST_CHECK_THROW(again.run({}, [](auto&) { throw std::system_error{ENOMEM, std::generic_category()}; }, ec), std::system_error);
    threads_left = 0;
}

BOOST_AUTO_TEST_SUITE_END()
