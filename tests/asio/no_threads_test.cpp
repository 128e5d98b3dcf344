// SPDX-License-Identifier: BSL-1.0
// The system has no thread to give for the calls of asynchronous operations.
#include <asio/support.hpp>

#include <atomic>
#include <exception>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace asio_no_threads_test {

struct clock : leasehold::manual_clock {};

std::atomic<bool> none_left = false;

}  // namespace asio_no_threads_test

template <>
struct leasehold::renewal::runtime_traits<asio_no_threads_test::clock> : leasehold::renewal::runtime_traits<void> {
    template <class Function>
    static std::thread start(Function&& function)
    {
        if (asio_no_threads_test::none_left) throw std::system_error{std::make_error_code(std::errc::resource_unavailable_try_again)};
        return leasehold::renewal::runtime_traits<void>::start(std::forward<Function>(function));
    }
};

BOOST_AUTO_TEST_SUITE(asio_no_threads_test)

using namespace leasehold_test;

// The handler may destroy the store.
BOOST_AUTO_TEST_CASE(a_release_without_a_thread_ends_the_term_before_its_handler_is_called_and_is_unknown)
{
    const clock time;
    scripted_store store{time};
    lh::basic_lease lease{store, "a", 30s, time};
    auto guard = lease.try_acquire();
    BOOST_TEST_REQUIRE(guard.held());
    running_context io;
    recorder<lh::release_outcome> released;
    bool called_before = false;
    store.before(operation::release, [&](std::string_view) { called_before = released.called(200ms); });
    none_left = true;
    lh::async_release(std::move(guard), released.on(io.context));
    none_left = false;
    BOOST_TEST(store.answered(operation::release) == 1);
    BOOST_TEST(!called_before);
    const auto end = released.get();
    BOOST_TEST((end.ec == std::errc::resource_unavailable_try_again));
    BOOST_TEST((end.result == lh::release_outcome::unknown));
}

#if LEASEHOLD_ASIO_HAS_COROUTINES
BOOST_AUTO_TEST_CASE(an_election_whose_term_no_thread_can_watch_ends_after_a_release_on_a_thread_of_the_library)
{
    const clock time;
    scripted_store store{time};
    using lease_type = lh::basic_lease<scripted_store, clock>;
    lease_type lease{store, "a", 30s, time};
    lh::leader_election election{lease};
    std::thread::id released_on;
    store.before(operation::try_acquire, [](std::string_view) { none_left = true; });
    store.before(operation::release, [&](std::string_view) { released_on = std::this_thread::get_id(); });
    net::io_context io;
    std::exception_ptr thrown;
    const auto lead = [](lh::leader_term<lease_type>&) -> net::awaitable<void> {
        BOOST_ERROR("led");
        co_return;
    };
    lh::async_lead(election, lead, net::bind_executor(io, [&](std::exception_ptr failure) { thrown = failure; }));
    io.run();
    none_left = false;
    BOOST_TEST_REQUIRE((thrown != nullptr));
    BOOST_CHECK_EXCEPTION(std::rethrow_exception(thrown), std::system_error,
                          [](const auto& e) { return e.code() == std::errc::resource_unavailable_try_again; });
    BOOST_TEST((released_on != std::thread::id{}));
    BOOST_TEST((released_on != std::this_thread::get_id()));
}
#endif

BOOST_AUTO_TEST_SUITE_END()
