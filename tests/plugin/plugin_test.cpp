// SPDX-License-Identifier: BSL-1.0
// A store that a program and a plugin with hidden visibility share. The clock stands still, so a waiter goes on only if it is woken.
// Who sleeps on it are the thread that watches the holder's term, and the waiter.
#include "plugin.hpp"

#include <leasehold/leasehold.hpp>

#include <support/eventually.hpp>

#include <boost/test/unit_test.hpp>

#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

BOOST_AUTO_TEST_SUITE(plugin_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;

namespace {

plugin_functions load()
{
    void* const library = ::dlopen(LEASEHOLD_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error{::dlerror()};
    const auto entry = reinterpret_cast<plugin_functions (*)()>(::dlsym(library, plugin_entry));
    if (entry == nullptr) throw std::runtime_error{::dlerror()};
    return entry();
}

struct scene {
    lh::manual_clock clock;
    test_store store{clock};
    test_lease lease{store, "shard-7", 1h, clock};
    plugin_functions plugin = load();
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(release_in_the_plugin_wakes_a_waiter_of_the_program, scene)
{
    void* const holder = plugin.acquire(store, lease.name(), clock);
    std::atomic<bool> held = false;
    std::jthread waiter{[&](std::stop_token stop) {
        const auto guard = lease.acquire(std::move(stop));
        held = guard.held();
    }};
    BOOST_TEST(eventually([&] { return clock.sleepers() == 2U; }));
    BOOST_TEST(!held);
    plugin.release(holder);
    BOOST_TEST(eventually([&] { return held.load(); }));
}

BOOST_FIXTURE_TEST_CASE(release_in_the_program_wakes_a_waiter_of_the_plugin, scene)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(guard.held());
    std::atomic<void*> holder = nullptr;
    std::jthread waiter{[&] { holder = plugin.acquire(store, lease.name(), clock); }};
    BOOST_TEST(eventually([&] { return clock.sleepers() == 2U; }));
    guard.release();
    BOOST_TEST(eventually([&] { return holder != nullptr; }));
    waiter.join();
    plugin.release(holder);
}

BOOST_FIXTURE_TEST_CASE(threads_of_the_plugin_and_of_the_program_are_told_apart, scene)
{
    lease.lock();
    bool another_has = true;  // the first thread that asks in the plugin
    std::jthread{[&] { another_has = plugin.has_locked(lease); }}.join();
    BOOST_TEST(!another_has);
    BOOST_TEST(plugin.has_locked(lease));
    lease.unlock();
}

// Hidden visibility gives the plugin a category of errors of its own, and types of its own.
BOOST_FIXTURE_TEST_CASE(error_codes_are_the_same_in_the_plugin_and_in_the_program, scene)
{
    BOOST_TEST((plugin.lost() == lh::errc::lost));
    BOOST_TEST((lh::errc::lost == plugin.lost()));
    BOOST_TEST((plugin.lost() != lh::errc::not_held));
    BOOST_TEST(plugin.is_lost(lh::errc::lost));
    BOOST_TEST(!plugin.is_lost(lh::errc::not_held));
    BOOST_TEST(!plugin.is_lost(std::error_code{static_cast<int>(lh::errc::lost), std::generic_category()}));
    // Two codes are compared by their categories' addresses, which are one only where this program exports its own.
    BOOST_TEST((plugin.lost() == lh::make_error_code(lh::errc::lost)));
}

BOOST_FIXTURE_TEST_CASE(exceptions_of_the_plugin_are_caught_by_their_types_in_the_program, scene)
{
    BOOST_CHECK_EXCEPTION(plugin.throw_store_error(), lh::store_error, [](const lh::store_error& e) {
        return e.code() == lh::errc::store_unavailable && e.sqlstate() == "08S01";
    });
    BOOST_CHECK_EXCEPTION(plugin.throw_lease_lost(), lh::lease_lost, [](const lh::lease_lost& e) { return e.code() == lh::errc::lost; });
}

BOOST_AUTO_TEST_SUITE_END()
