// SPDX-License-Identifier: BSL-1.0
#include <asio/support.hpp>

#include <support/thread_count.hpp>

#include <atomic>

BOOST_AUTO_TEST_SUITE(asio_many_test)

using namespace leasehold_test;

namespace {

constexpr int many = 10'000;

struct waiters {
    template <class NameOf>
    waiters(lh::memory_store& in, net::io_context& io, NameOf name_of)
    {
        for (int i = 0; i < many; ++i) {
            leases.push_back(std::make_unique<memory_lease>(in, name_of(i)));
            lh::async_acquire(*leases.back(), slots.on(net::bind_executor(io, [this](error_code ec, memory_guard guard) {
                ++(ec == aborted ? cancelled : guard.held() ? granted : failed);
                if (!guard.empty()) guard.release();
            })));
        }
    }

    cancellation slots;
    std::atomic<int> granted = 0;
    std::atomic<int> cancelled = 0;
    std::atomic<int> failed = 0;
    std::vector<std::unique_ptr<memory_lease>> leases;
};

}  // namespace

BOOST_AUTO_TEST_CASE(ten_thousand_waiters_of_one_name_take_few_threads_and_all_get_it)
{
    lh::memory_store store;
    net::io_context io;
    const auto before = thread_count();
    memory_lease holder{store, "a"};
    auto held = holder.acquire();
    waiters all{store, io, [](int) { return "a"; }};
    BOOST_TEST(store.local_waiters().waiting() == many);
    BOOST_TEST(thread_count() - before <= 8);
    held.release();
    io.run();
    BOOST_TEST(all.granted == many);
    BOOST_TEST(thread_count() - before <= 8);
}

BOOST_AUTO_TEST_CASE(ten_thousand_names_take_few_threads_and_can_all_be_cancelled)
{
    lh::memory_store store;
    net::io_context io;
    const auto before = thread_count();
    std::error_code ec;
    for (int i = 0; i < many; ++i) BOOST_TEST_REQUIRE(store.try_acquire(std::to_string(i), "somebody", 1h, ec).granted());
    waiters all{store, io, [](int i) { return std::to_string(i); }};
    BOOST_TEST(eventually([&] { return store.local_waiters().waiting() == many; }));
    BOOST_TEST(thread_count() - before <= 8);
    all.slots.emit();
    BOOST_TEST(eventually([&] { return store.local_waiters().waiting() == 0; }));
    io.run();
    BOOST_TEST(all.cancelled == many);
    BOOST_TEST(thread_count() - before <= 8);
}

BOOST_AUTO_TEST_SUITE_END()
