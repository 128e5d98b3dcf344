// SPDX-License-Identifier: BSL-1.0
// Permits, shared leases, sets of leases, data and hand-over, with allocations that fail.
#include "allocations.hpp"

#include <leasehold/lease_semaphore.hpp>
#include <leasehold/lease_set.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/metrics.hpp>
#include <leasehold/shared_lease.hpp>
#include <leasehold/store/hooked_store.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <sstream>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace lh = leasehold;
using namespace std::chrono_literals;
using out_of_memory::raise;
using out_of_memory::sweep;

namespace {

// Names too long for a string to keep in itself.
const std::string name(64, 'n');
constexpr std::size_t count = 2;

struct permits {
    lh::memory_store store;
    lh::lease_semaphore<lh::memory_store> mine{store, name, count, 1h};
    lh::lease_semaphore<lh::memory_store> theirs{store, name, count, 1h};
};

void all_permits_are_free(permits& s)
{
    std::vector<decltype(s.theirs.try_acquire())> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(s.theirs.try_acquire_for(10s));
    for (const auto& each : all) BOOST_TEST(each.held());
    all.clear();
    BOOST_TEST(s.mine.try_acquire_for(10s).held());
}

struct readers_and_writers {
    lh::memory_store store;
    lh::shared_lease<lh::memory_store> mine{store, name, 1h, lh::reader_limit{count}};
    lh::shared_lease<lh::memory_store> theirs{store, name, 1h, lh::reader_limit{count}};
};

void somebody_else_may_write(readers_and_writers& s)
{
    BOOST_TEST(s.theirs.try_acquire_for(10s).held());
    BOOST_TEST(s.mine.try_acquire_for(10s).held());
    BOOST_TEST(s.mine.try_acquire_shared_for(10s).held());
}

struct set {
    lh::memory_store store;
    lh::basic_lease<lh::memory_store> a{store, name + "a", 1h}, b{store, name + "b", 1h};
    std::vector<lh::basic_lease<lh::memory_store>> range;

    set()
    {
        for (const char* end : {"c", "d"}) range.emplace_back(store, name + end, lh::lease_terms{.ttl = 1h});
    }
};

void all_of_the_set_is_free(set& s)
{
    for (const char* end : {"a", "b", "c", "d"}) {
        lh::basic_lease theirs{s.store, name + end, 1h};
        BOOST_TEST(theirs.try_acquire().held());
    }
}

struct observed {
    lh::memory_store store;
    lh::metrics metrics;
    lh::hooked_store<lh::memory_store, std::reference_wrapper<lh::metrics>> hooked{store, std::ref(metrics)};
    lh::basic_lease<decltype(hooked)> lease{hooked, name, 1h};
    lh::basic_lease<lh::memory_store> theirs{store, name, 1h};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(out_of_memory_for_several_rights)

BOOST_AUTO_TEST_CASE(making_them)
{
    sweep<permits>([](permits& s) { lh::lease_semaphore{s.store, name, count, 1h}; }, all_permits_are_free);
    sweep<readers_and_writers>([](readers_and_writers& s) { lh::shared_lease{s.store, name, 1h, lh::reader_limit{count}}; },
                               somebody_else_may_write);
}

BOOST_AUTO_TEST_CASE(permit)
{
    sweep<permits>([](permits& s) { BOOST_REQUIRE(s.mine.try_acquire().held()); }, all_permits_are_free);
    sweep<permits>(
        [](permits& s) {
            std::error_code ec;
            auto guard = s.mine.try_acquire(ec);
            raise(ec);
            const std::stop_token lost = guard.stop_token();
            BOOST_REQUIRE(guard.renew());
            BOOST_REQUIRE(guard.release() == lh::release_outcome::released);
        },
        all_permits_are_free);
}

BOOST_AUTO_TEST_CASE(wait_for_a_permit)
{
    sweep<permits>(
        [](permits& s) {
            const int allowed = std::exchange(out_of_memory::allocations_left, -1);
            const auto first = s.theirs.try_acquire(), second = s.theirs.try_acquire();
            out_of_memory::allocations_left = allowed;
            std::error_code ec;
            BOOST_REQUIRE(!s.mine.try_acquire_for(1ms, ec));
            raise(ec);
        },
        all_permits_are_free);
}

BOOST_AUTO_TEST_CASE(reader)
{
    sweep<readers_and_writers>([](readers_and_writers& s) { BOOST_REQUIRE(s.mine.try_acquire_shared().held()); }, somebody_else_may_write);
    sweep<readers_and_writers>([](readers_and_writers& s) { const std::shared_lock lock{s.mine}; }, somebody_else_may_write);
}

BOOST_AUTO_TEST_CASE(writer)
{
    sweep<readers_and_writers>([](readers_and_writers& s) { BOOST_REQUIRE(s.mine.try_acquire().held()); }, somebody_else_may_write);
    sweep<readers_and_writers>([](readers_and_writers& s) { const std::scoped_lock lock{s.mine}; }, somebody_else_may_write);
    sweep<readers_and_writers>(
        [](readers_and_writers& s) {
            std::error_code ec;
            auto guard = s.mine.try_acquire(ec);
            raise(ec);
            const std::stop_token lost = guard.stop_token();
            BOOST_REQUIRE(guard.renew());
            BOOST_REQUIRE(guard.release() == lh::release_outcome::released);
        },
        somebody_else_may_write);
}

BOOST_AUTO_TEST_CASE(wait_for_the_readers)
{
    sweep<readers_and_writers>(
        [](readers_and_writers& s) {
            const int allowed = std::exchange(out_of_memory::allocations_left, -1);
            const auto reading = s.theirs.try_acquire_shared();
            out_of_memory::allocations_left = allowed;
            std::error_code ec;
            BOOST_REQUIRE(!s.mine.try_acquire_for(1ms, ec));
            raise(ec);
        },
        somebody_else_may_write);
}

BOOST_AUTO_TEST_CASE(all_or_none)
{
    sweep<set>([](set& s) { BOOST_REQUIRE(lh::try_acquire_all(s.a, s.b).held()); }, all_of_the_set_is_free);
    sweep<set>(
        [](set& s) {
            std::error_code ec;
            auto all = lh::try_acquire_all(s.range, ec);
            raise(ec);
            const std::stop_token lost = all.stop_token();
            BOOST_REQUIRE(all.renew());
            BOOST_REQUIRE(all.release() == lh::release_outcome::released);
        },
        all_of_the_set_is_free);
}

BOOST_AUTO_TEST_CASE(each_that_is_free)
{
    sweep<set>([](set& s) { BOOST_REQUIRE(lh::try_acquire_each(s.range).size() == 2U); }, all_of_the_set_is_free);
}

BOOST_AUTO_TEST_CASE(data_and_hand_over)
{
    sweep<set>(
        [](set& s) {
            auto guard = s.a.try_acquire();
            guard.publish(std::string_view{name});
            BOOST_REQUIRE(s.a.request_handover(name));
            if (!guard.handover_requested()) throw std::bad_alloc{};  // the first call asks the store
            const std::stop_token asked = guard.handover_token();
            BOOST_REQUIRE(guard.handover_reason() == name);
            BOOST_REQUIRE(s.a.inspect()->data == name);
        },
        all_of_the_set_is_free);
}

BOOST_AUTO_TEST_CASE(lease_that_is_counted)
{
    sweep<observed>(
        [](observed& s) {
            auto guard = s.lease.try_acquire();
            BOOST_REQUIRE(guard.renew());
            BOOST_REQUIRE(guard.release() == lh::release_outcome::released);
        },
        [](observed& s) {
            BOOST_TEST(s.theirs.try_acquire().held());
            BOOST_TEST(s.lease.try_acquire().held());
            std::ostringstream text;
            s.metrics.write_prometheus(text);
            BOOST_TEST(text.str().find("leasehold_") != std::string::npos);
        });
}

BOOST_AUTO_TEST_SUITE_END()
