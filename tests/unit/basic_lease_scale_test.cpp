// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <support/eventually.hpp>
#include <support/scripted_store.hpp>
#include <support/thread_count.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

// The sanitizers bring an operator new of their own, which clang++ links so that there can't be another.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LEASEHOLD_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LEASEHOLD_TEST_SANITIZED 1
#endif
#endif

namespace basic_lease_scale_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using leasehold_test::operation;
using leasehold_test::scripted_store;
using leasehold_test::thread_count;

namespace {

#ifndef LEASEHOLD_TEST_SANITIZED
// Allocations of this thread; the library's own threads are not what is measured.
thread_local long allocations = 0;
#endif

struct fixture {
    lh::manual_clock clock;
    scripted_store store{clock};
};

// A policy that tells how many terms are alive, since each keeps a copy.
struct counted {
    std::optional<lh::duration> next(lh::renewal_state s) const noexcept { return s.ttl / 3; }
    std::shared_ptr<int> copies = std::make_shared<int>();
};

}  // namespace
}  // namespace basic_lease_scale_test

#ifndef LEASEHOLD_TEST_SANITIZED

// Not inlined: g++ takes free() of what operator new returned for a mistake where it sees only one of the two.
[[gnu::noinline]] void* operator new(std::size_t size)
{
    ++basic_lease_scale_test::allocations;
    if (void* const memory = std::malloc(size != 0 ? size : 1)) return memory;
    throw std::bad_alloc{};
}

[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

#endif

BOOST_FIXTURE_TEST_SUITE(basic_lease_scale_test, fixture)

BOOST_AUTO_TEST_CASE(ten_thousand_held_leases_need_at_most_four_threads_more_than_one)
{
    lh::basic_lease first{store, "first", {.ttl = 30s}, clock};
    const auto first_guard = first.try_acquire();
    const auto with_one = thread_count();
    using lease_type = lh::basic_lease<scripted_store, lh::manual_clock, lh::fixed_owner_id>;
    std::vector<std::unique_ptr<lease_type>> leases;
    std::vector<lease_type::guard_type> guards;
    for (int i = 0; i < 10'000; ++i) {
        leases.push_back(std::make_unique<lease_type>(store, "lease " + std::to_string(i), lh::lease_terms{.ttl = 30s},
                                                      clock, lh::fixed_owner_id{"o"}));
        guards.push_back(leases.back()->try_acquire());
    }
    for (int round = 1; round <= 2; ++round) {
        clock.advance(10s);
        BOOST_TEST(eventually([&] { return store.answered(operation::renew) >= 10'001 * round; }, 60s));
        BOOST_TEST(thread_count() - with_one <= 4);
    }
    BOOST_TEST(eventually([&] { return std::ranges::all_of(guards, [](const auto& g) { return g.remaining() == 27s; }); }));
    BOOST_TEST(store.leases.list().size() == 10'001U);
}

BOOST_AUTO_TEST_CASE(leases_made_and_destroyed_leave_no_thread_and_no_term_behind)
{
    const auto before = thread_count();
    counted policy;
    {
        const lh::basic_lease keeps_the_engine{store, "k", {.ttl = 30s}, clock};
        for (int i = 0; i < 500; ++i) {
            lh::basic_lease lease{store, "n", {.ttl = 30s}, clock, lh::fixed_owner_id{"o"}, policy};
            const auto guard = lease.try_acquire();
            BOOST_TEST_REQUIRE(guard.held());
            if (i % 50 == 0) clock.advance(10s);
        }
        BOOST_TEST(eventually([&] { return policy.copies.use_count() == 1; }), "terms are still queued");
    }
    BOOST_TEST(eventually([&] { return thread_count() == before; }));
}

BOOST_AUTO_TEST_CASE(leases_of_one_clock_share_their_threads_and_others_do_not)
{
    lh::basic_lease a{store, "a", {.ttl = 30s}, clock};
    const auto guard_a = a.try_acquire();
    const auto with_one = thread_count();
    lh::basic_lease b{store, "b", {.ttl = 30s}, lh::manual_clock{clock}};
    const auto guard_b = b.try_acquire();
    BOOST_TEST(thread_count() == with_one);
    lh::manual_clock other;
    lh::basic_lease c{store, "c", {.ttl = 30s}, other};
    const auto guard_c = c.try_acquire();
    BOOST_TEST((thread_count() > with_one || with_one == 0));  // 0: the system doesn't tell
    const auto stop_a = guard_a.stop_token(), stop_c = guard_c.stop_token();
    store.always(operation::renew, leasehold_test::fate::fails);
    other.advance(27s);
    BOOST_TEST(stop_c.stop_requested());
    BOOST_TEST(!stop_a.stop_requested());
    BOOST_TEST(guard_a.held());
}

BOOST_AUTO_TEST_CASE(object_that_never_acquires_starts_no_thread)
{
    const auto before = thread_count();
    const lh::basic_lease lease{store, "n"};
    BOOST_TEST(!lease.inspect().has_value());
    BOOST_TEST(thread_count() == before);
}

#ifndef LEASEHOLD_TEST_SANITIZED
BOOST_AUTO_TEST_CASE(acquiring_and_releasing_allocates_nothing_after_the_first_time)
{
    lh::memory_store memory;
    const auto allocations_of = [](auto& lease) {
        for (int i = 0; i < 10; ++i) BOOST_TEST_REQUIRE(lease.try_acquire().held());
        const long before = allocations;
        for (int i = 0; i < 1000; ++i) lease.try_acquire().release();
        std::error_code ec;
        for (int i = 0; i < 1000; ++i) lease.try_acquire(ec).renew(ec);
        return allocations - before;
    };
    lh::basic_lease renewed{memory, "renewed"};
    BOOST_TEST(allocations_of(renewed) == 0);
    lh::basic_lease plain{memory, "plain", {}, lh::steady_clock{}, lh::random_owner_id{}, lh::no_renewal{}};
    BOOST_TEST(allocations_of(plain) == 0);
}
#endif

BOOST_AUTO_TEST_SUITE_END()

#undef LEASEHOLD_TEST_SANITIZED
