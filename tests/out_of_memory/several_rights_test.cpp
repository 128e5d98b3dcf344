// SPDX-License-Identifier: BSL-1.0
// Permits, shared leases, sets of leases, data and hand-over, with allocations that fail.
#include "allocations.hpp"

#include <leasehold/lease_semaphore.hpp>
#include <leasehold/lease_set.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/metrics.hpp>
#include <leasehold/shared_lease.hpp>
#include <leasehold/store/hooked_store.hpp>

#include <contract/asked_once.hpp>

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

    void check()
    {
        std::vector<decltype(theirs.try_acquire())> all;
        for (std::size_t i = 0; i < count; ++i) all.push_back(theirs.try_acquire_for(10s));
        for (const auto& each : all) BOOST_TEST(each.held(), "a permit is left behind");
        all.clear();
        BOOST_TEST(is_held(mine.try_acquire_for(10s)));
    }
};

// Whose count has changed, or not: it can be changed again, and then it is that.
struct resized_permits {
    using semaphore = lh::lease_semaphore<lh::memory_store>;
    lh::memory_store store;
    semaphore mine{store, name, count, 1h};
    std::size_t wanted = count;

    resized_permits() { BOOST_REQUIRE(is_held(mine.try_acquire())); }  // all have agreed on the count
    void check()
    {
        mine.resize(wanted);
        semaphore theirs{store, name, wanted, 1h};
        std::vector<decltype(theirs.try_acquire())> all;
        for (std::size_t i = 0; i < wanted; ++i) all.push_back(theirs.try_acquire_for(10s));
        for (const auto& each : all) BOOST_TEST(each.held(), "a permit is left behind");
        BOOST_TEST(!is_held(theirs.try_acquire()), "there is a permit too many");
    }
};

struct readers_and_writers {
    lh::memory_store store;
    lh::shared_lease<lh::memory_store> mine{store, name, 1h, lh::reader_limit{count}};
    lh::shared_lease<lh::memory_store> theirs{store, name, 1h, lh::reader_limit{count}};

    void check()
    {
        BOOST_TEST(is_held(theirs.try_acquire_for(10s)), "something is left behind");
        BOOST_TEST(is_held(mine.try_acquire_for(10s)));
        BOOST_TEST(is_held(mine.try_acquire_shared_for(10s)));
    }
};

struct set {
    lh::memory_store store;
    lh::basic_lease<lh::memory_store> a{store, name + "a", 1h}, b{store, name + "b", 1h};
    std::vector<lh::basic_lease<lh::memory_store>> range;

    set()
    {
        for (const char* end : {"c", "d"}) range.emplace_back(store, name + end, lh::lease_terms{.ttl = 1h});
    }
    void check()
    {
        for (const char* end : {"a", "b", "c", "d"}) {
            lh::basic_lease theirs{store, name + end, 1h};
            BOOST_TEST(is_held(theirs.try_acquire()), end << " is left behind");
        }
    }
};

// Of two stores, and so in two calls. A back-out does not keep the names closed for min_hold.
struct set_of_two_stores {
    lh::memory_store first, second;
    std::vector<lh::basic_lease<lh::memory_store>> range;

    set_of_two_stores()
    {
        const lh::lease_terms terms{.ttl = 1h, .min_hold = 1h};
        for (const char* end : {"a", "b"}) range.emplace_back(first, name + end, terms);
        for (const char* end : {"c", "d"}) range.emplace_back(second, name + end, terms);
    }
    void check()
    {
        for (const char* end : {"a", "b", "c", "d"}) {
            lh::basic_lease theirs{*end < 'c' ? first : second, name + end, 1h};
            BOOST_TEST(is_held(theirs.try_acquire()), end << " is left behind, or closed");
        }
    }
};

struct observed {
    lh::memory_store store;
    lh::metrics metrics;
    lh::hooked_store<lh::memory_store, std::reference_wrapper<lh::metrics>> hooked{store, std::ref(metrics)};
    lh::basic_lease<decltype(hooked)> lease{hooked, name, 1h};
    lh::basic_lease<lh::memory_store> theirs{store, name, 1h};

    void check()
    {
        BOOST_TEST(is_held(theirs.try_acquire()), "something is left behind");
        BOOST_TEST(is_held(lease.try_acquire()));
        std::ostringstream text;
        metrics.write_prometheus(text);
        BOOST_TEST(text.str().find("leasehold_") != std::string::npos);
    }
};

// From the attempt to the release, with what reports.
template <class Attempt>
void live_through(Attempt attempt)
{
    std::error_code ec;
    auto guard = attempt(ec);
    raise(ec);
    const std::stop_token lost = guard.stop_token();
    BOOST_REQUIRE(guard.renew());
    BOOST_REQUIRE(guard.release() == lh::release_outcome::released);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(out_of_memory_for_several_rights)

BOOST_AUTO_TEST_CASE(making_them)
{
    sweep<permits>([](permits& s) { lh::lease_semaphore{s.store, name, count, 1h}; });
    sweep<readers_and_writers>([](readers_and_writers& s) { lh::shared_lease{s.store, name, 1h, lh::reader_limit{count}}; });
}

BOOST_AUTO_TEST_CASE(permit)
{
    sweep<permits>([](permits& s) { BOOST_REQUIRE(is_held(s.mine.try_acquire())); });
    sweep<permits>([](permits& s) { live_through([&](std::error_code& ec) { return s.mine.try_acquire(ec); }); });
}

BOOST_AUTO_TEST_CASE(wait_for_a_permit)
{
    sweep<permits>([](permits& s) {
        const int allowed = std::exchange(out_of_memory::allocations_left, -1);
        const auto first = s.theirs.try_acquire(), second = s.theirs.try_acquire();
        out_of_memory::allocations_left = allowed;
        std::error_code ec;
        BOOST_REQUIRE(!is_held(s.mine.try_acquire_for(1ms, ec)));
        raise(ec);
    });
}

BOOST_AUTO_TEST_CASE(several_permits)
{
    sweep<permits>([](permits& s) { BOOST_REQUIRE(is_held(s.mine.try_acquire(count))); });
    sweep<permits>([](permits& s) { live_through([&](std::error_code& ec) { return s.mine.try_acquire(count, ec); }); });
}

BOOST_AUTO_TEST_CASE(wait_for_several_permits)
{
    sweep<permits>([](permits& s) {
        const int allowed = std::exchange(out_of_memory::allocations_left, -1);
        const auto first = s.theirs.try_acquire();
        out_of_memory::allocations_left = allowed;
        std::error_code ec;
        BOOST_REQUIRE(!is_held(s.mine.try_acquire_for(1ms, count, ec)));
        raise(ec);
    });
}

BOOST_AUTO_TEST_CASE(change_of_the_number_of_permits)
{
    for (const std::size_t to : {count + 1, count - 1}) {
        sweep<resized_permits>([to](resized_permits& s) {
            s.wanted = to;
            s.mine.resize(to);
        });
        sweep<resized_permits>([to](resized_permits& s) {
            s.wanted = to;
            std::error_code ec;
            s.mine.resize(to, ec);
            raise(ec);
        });
    }
}

BOOST_AUTO_TEST_CASE(reader)
{
    sweep<readers_and_writers>([](readers_and_writers& s) { BOOST_REQUIRE(is_held(s.mine.try_acquire_shared())); });
    sweep<readers_and_writers>([](readers_and_writers& s) { const std::shared_lock lock{s.mine}; });
}

BOOST_AUTO_TEST_CASE(writer)
{
    sweep<readers_and_writers>([](readers_and_writers& s) { BOOST_REQUIRE(is_held(s.mine.try_acquire())); });
    sweep<readers_and_writers>([](readers_and_writers& s) { const std::scoped_lock lock{s.mine}; });
    sweep<readers_and_writers>(
        [](readers_and_writers& s) { live_through([&](std::error_code& ec) { return s.mine.try_acquire(ec); }); });
}

BOOST_AUTO_TEST_CASE(wait_for_the_readers)
{
    sweep<readers_and_writers>([](readers_and_writers& s) {
        const int allowed = std::exchange(out_of_memory::allocations_left, -1);
        const auto reading = s.theirs.try_acquire_shared();
        out_of_memory::allocations_left = allowed;
        std::error_code ec;
        BOOST_REQUIRE(!is_held(s.mine.try_acquire_for(1ms, ec)));
        raise(ec);
    });
}

BOOST_AUTO_TEST_CASE(all_or_none)
{
    sweep<set>([](set& s) { BOOST_REQUIRE(is_held(lh::try_acquire_all(s.a, s.b))); });
    sweep<set>([](set& s) { live_through([&](std::error_code& ec) { return lh::try_acquire_all(s.range, ec); }); });
}

BOOST_AUTO_TEST_CASE(all_or_none_of_two_stores)
{
    sweep<set_of_two_stores>([](set_of_two_stores& s) {
        auto all = lh::try_acquire_all(s.range);
        BOOST_REQUIRE(all.held());
        for (auto& each : s.range) {
            s.first.force_release(each.name());
            s.second.force_release(each.name());
        }
    });
    sweep<set_of_two_stores>([](set_of_two_stores& s) {
        auto some = lh::try_acquire_each(s.range);
        BOOST_REQUIRE(some.size() == 4U);
        for (auto& each : s.range) {
            s.first.force_release(each.name());
            s.second.force_release(each.name());
        }
    });
}

BOOST_AUTO_TEST_CASE(each_that_is_free)
{
    sweep<set>([](set& s) { BOOST_REQUIRE(lh::try_acquire_each(s.range).size() == 2U); });
}

BOOST_AUTO_TEST_CASE(data_and_hand_over)
{
    sweep<set>([](set& s) {
        auto guard = s.a.try_acquire();
        guard.publish(std::string_view{name});
        BOOST_REQUIRE(s.a.request_handover(name));
        if (!guard.handover_requested()) throw std::bad_alloc{};  // the first call asks the store
        const std::stop_token asked = guard.handover_token();
        BOOST_REQUIRE(guard.handover_reason() == name);
        BOOST_REQUIRE(s.a.inspect()->data == name);
    });
}

BOOST_AUTO_TEST_CASE(lease_that_is_counted)
{
    sweep<observed>([](observed& s) {
        auto guard = s.lease.try_acquire();
        BOOST_REQUIRE(guard.renew());
        BOOST_REQUIRE(guard.release() == lh::release_outcome::released);
    });
}

BOOST_AUTO_TEST_SUITE_END()
