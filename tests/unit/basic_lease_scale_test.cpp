// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
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
// Of this thread; the library's own threads are not what is measured.
thread_local long allocations = 0;
thread_local long bytes_in_use = 0;

// In front of each block, which keeps the alignment that operator new promises.
constexpr std::size_t header = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
static_assert(header >= sizeof(std::size_t));

// What a block takes of an allocator like glibc's: a word of its own, in steps of two words.
constexpr long taken_for(std::size_t size)
{
    constexpr std::size_t word = sizeof(void*), step = 2 * word;
    return static_cast<long>(std::max((size + word + step - 1) / step * step, 2 * step));
}
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
    using namespace basic_lease_scale_test;
    ++allocations;
    void* const memory = std::malloc(header + size);
    if (!memory) throw std::bad_alloc{};
    *static_cast<std::size_t*>(memory) = size;
    bytes_in_use += taken_for(size);
    return static_cast<std::byte*>(memory) + header;
}

[[gnu::noinline]] void operator delete(void* memory) noexcept
{
    using namespace basic_lease_scale_test;
    if (!memory) return;
    void* const block = static_cast<std::byte*>(memory) - header;
    bytes_in_use -= taken_for(*static_cast<const std::size_t*>(block));
    std::free(block);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { ::operator delete(memory); }

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
    BOOST_TEST(eventually([&] { return thread_count() <= before; }));
}

BOOST_AUTO_TEST_CASE(leases_of_one_clock_share_their_threads_and_others_do_not)
{
    lh::basic_lease a{store, "a", {.ttl = 30s}, clock};
    const auto guard_a = a.try_acquire();
    const auto with_one = thread_count();
    lh::basic_lease b{store, "b", {.ttl = 30s}, lh::manual_clock{clock}};
    const auto guard_b = b.try_acquire();
    BOOST_TEST(thread_count() <= with_one);
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
    BOOST_TEST(thread_count() <= before);
}

#ifndef LEASEHOLD_TEST_SANITIZED
BOOST_AUTO_TEST_CASE(acquiring_and_releasing_allocates_nothing_after_the_first_time)
{
    lh::memory_store memory;
    const auto allocations_of = [](auto& lease) {
        for (int i = 0; i < 10; ++i) BOOST_TEST_REQUIRE(is_held(lease.try_acquire()));
        const long before = allocations;
        for (int i = 0; i < 1000; ++i) lease.try_acquire().release();
        std::error_code ec;
        for (int i = 0; i < 1000; ++i) {
            auto guard = lease.try_acquire(ec);
            guard.renew(ec);
        }
        return allocations - before;
    };
    lh::basic_lease renewed{memory, "renewed"};
    BOOST_TEST(allocations_of(renewed) == 0);
    lh::basic_lease plain{memory, "plain", {}, lh::steady_clock{}, lh::random_owner_id{}, lh::no_renewal{}};
    BOOST_TEST(allocations_of(plain) == 0);
}

// docs/performance.md promises 1 KiB for each lease held on a database, whose store needs a little too.
BOOST_AUTO_TEST_CASE(lease_that_is_held_takes_at_most_900_bytes)
{
    constexpr std::size_t held = 1000;
    constexpr long at_most = 900;
    const std::string owner(40, 'o');
    std::vector<std::string> names;
    for (std::size_t i = 0; i < held; ++i) names.push_back("shard-of-some-service/" + std::to_string(10'000 + i));
    const auto taken_by = [](auto work) {
        const long before = bytes_in_use;
        work();
        return static_cast<double>(bytes_in_use - before) / static_cast<double>(held);
    };

    lh::memory_store without_leases;
    const double of_store = taken_by([&] {
        std::error_code ec;
        for (const auto& name : names) BOOST_TEST_REQUIRE(without_leases.try_acquire(name, owner, 1h, ec).granted());
    });

    lh::memory_store memory;
    using lease_type = lh::basic_lease<lh::memory_store, lh::steady_clock, lh::fixed_owner_id>;
    lease_type keeps_the_engine{memory, "first", {.ttl = 1h}, lh::fixed_owner_id{owner}};
    const auto its_guard = keeps_the_engine.try_acquire();
    std::vector<lease_type> leases;
    std::vector<lease_type::guard_type> guards;
    const double of_all = taken_by([&] {
        leases.reserve(held);
        guards.reserve(held);
        for (const auto& name : names) {
            leases.emplace_back(memory, name, lh::lease_terms{.ttl = 1h}, lh::fixed_owner_id{owner});
            guards.push_back(leases.back().try_acquire());
        }
    });
    BOOST_TEST_REQUIRE(std::ranges::all_of(guards, [](const auto& guard) { return guard.held(); }));
    BOOST_TEST_MESSAGE(of_all - of_store << " bytes for each lease, " << of_store << " in the store");
    BOOST_TEST(of_all - of_store <= at_most);
}

BOOST_AUTO_TEST_CASE(lease_that_was_unlocked_keeps_no_memory_for_it)
{
    lh::memory_store memory;
    lh::basic_lease lease{memory, "n"};
    lease.lock();
    lease.unlock();
    const long before = bytes_in_use;
    lease.lock();
    BOOST_TEST(bytes_in_use > before);
    lease.unlock();
    BOOST_TEST(bytes_in_use == before);
}
#endif

BOOST_AUTO_TEST_SUITE_END()

#undef LEASEHOLD_TEST_SANITIZED
