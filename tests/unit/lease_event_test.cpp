// SPDX-License-Identifier: BSL-1.0
// What a hook is told of the life of a lease.
#include <contract/asked_once.hpp>
#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/scripted_batching_store.hpp>
#include <support/scripted_store.hpp>

#include <leasehold/leasehold.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(lease_event_test)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

using kind = lh::lease_event_kind;

struct seen {
    kind what;
    std::string name;
    lh::fencing_token token;
    lh::duration waited, held, late;
    std::error_code error;
};

class diary {
public:
    void operator()(const lh::store_call&, const lh::store_call_report&) const noexcept {}
    void operator()(const lh::lease_event& e)
    {
        const std::lock_guard lock{mutex_};
        events_.push_back({e.kind, std::string{e.name}, e.token, e.waited, e.held, e.late, e.error});
    }
    [[nodiscard]] std::vector<seen> events() const
    {
        const std::lock_guard lock{mutex_};
        return events_;
    }
    [[nodiscard]] std::size_t count(kind what) const { return static_cast<std::size_t>(std::ranges::count(events(), what, &seen::what)); }

private:
    mutable std::mutex mutex_;
    std::vector<seen> events_;
};

// The term runs out while it takes note of the beginning.
struct slow_diary {
    void operator()(const lh::store_call&, const lh::store_call_report&) const noexcept {}
    void operator()(const lh::lease_event& event)
    {
        if (event.kind == kind::acquired) clock.advance(28s);
        notes(event);
    }
    diary& notes;
    lh::manual_clock clock;
};

struct scene {
    lh::manual_clock clock;
    scripted_store store{clock};
    diary told;
    lh::hooked_store<scripted_store, std::reference_wrapper<diary>> observed{store, std::ref(told)};

    auto lease(const std::string& name = "n")
    {
        return lh::basic_lease{observed, name, lh::lease_terms{.ttl = 30s}, clock, lh::no_renewal{}};
    }
    auto renewed_lease() { return lh::basic_lease{observed, "n", lh::lease_terms{.ttl = 30s}, clock}; }
};

struct counted_clock {
    [[nodiscard]] lh::time_point now() const noexcept
    {
        ++*reads;
        return lh::steady_clock{}.now();
    }
    std::shared_ptr<int> reads = std::make_shared<int>();
};

// Asked for one permit at a time, and for all in one call.
using stores_of_permits = std::tuple<scripted_store, scripted_batching_store>;

// How often a lease reads its clock for a term.
template <class Store>
int clock_reads(Store& store)
{
    const counted_clock clock;
    lh::basic_lease lease{store, "n", lh::lease_terms{.ttl = 30s}, clock, lh::no_renewal{}};
    lease.try_acquire().release();
    return *clock.reads;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_term_begins_and_ends_once)
{
    scene s;
    auto lease = s.lease();
    {
        const auto guard = lease.try_acquire();
        s.clock.advance(3s);
    }
    const auto events = s.told.events();
    BOOST_REQUIRE(events.size() == 2U);
    BOOST_TEST(events[0].what == kind::acquired);
    BOOST_TEST(events[0].name == "n");
    BOOST_TEST(events[0].token == lh::fencing_token{1});
    BOOST_TEST(events[0].waited.count() == 0);
    BOOST_TEST(events[1].what == kind::released);
    BOOST_TEST(events[1].token == lh::fencing_token{1});
    BOOST_TEST((events[1].held == 3s));
    BOOST_TEST(!events[1].error);
}

BOOST_AUTO_TEST_CASE(a_busy_attempt_and_one_that_fails_are_no_events)
{
    scene s;
    auto one = s.lease(), other = s.lease();
    const auto guard = one.try_acquire();
    BOOST_TEST(is_empty(other.try_acquire()));
    std::error_code ec;
    s.store.next(operation::try_acquire, fate::fails);
    BOOST_TEST(is_empty(other.try_acquire(ec)));
    BOOST_TEST(s.told.events().size() == 1U);
}

BOOST_AUTO_TEST_CASE(waiting_counts_from_when_the_caller_asked)
{
    scene s;
    auto one = s.lease(), other = s.lease();
    auto guard = one.try_acquire();
    std::jthread waiting{[&] { other.try_acquire_for(1h).release(); }};
    BOOST_TEST_REQUIRE(eventually([&] { return s.clock.sleepers() == 2; }), "the waiter, and the watchdog of the guard");
    s.clock.advance(5s);
    guard.release();
    waiting.join();
    const auto events = s.told.events();
    BOOST_REQUIRE(events.size() == 4U);
    const auto granted = std::ranges::find(events, lh::fencing_token{2}, &seen::token);
    BOOST_REQUIRE(granted != events.end());
    BOOST_TEST(granted->what == kind::acquired);
    BOOST_TEST((granted->waited == 5s));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(waiting_for_a_permit_counts_from_when_the_caller_asked, Store, stores_of_permits)
{
    lh::manual_clock clock;
    Store store{clock};
    diary told;
    lh::hooked_store observed{store, std::ref(told)};
    lh::lease_semaphore one{observed, "licences", 2, 30s, clock}, other{observed, "licences", 2, 30s, clock};
    auto permit = one.try_acquire();
    const auto another = one.try_acquire();
    std::jthread waiting{[&] { other.try_acquire_for(1h).release(); }};
    BOOST_TEST_REQUIRE(eventually([&] { return clock.sleepers() == 2; }));
    clock.advance(5s);
    permit.release();
    waiting.join();
    const auto events = told.events();
    BOOST_TEST(told.count(kind::acquired) == 3U);
    BOOST_TEST((std::ranges::max(events, {}, &seen::waited).waited == 5s));
}

BOOST_AUTO_TEST_CASE(a_term_that_runs_out_is_lost_and_its_release_is_no_second_end)
{
    scene s;
    auto lease = s.lease();
    {
        const auto guard = lease.try_acquire();
        s.clock.advance(28s);
        BOOST_TEST(eventually([&] { return s.told.count(kind::lost) == 1; }));
    }
    const auto events = s.told.events();
    BOOST_REQUIRE(events.size() == 2U);
    BOOST_TEST((events[1].held == 27s), "up to the deadline");
    BOOST_TEST((events[1].late == 1s), "the clock jumped over the deadline");
    BOOST_TEST(!events[1].error);
}

BOOST_AUTO_TEST_CASE(a_term_that_is_lost_while_its_beginning_is_told_is_lost_after_it_and_once)
{
    lh::manual_clock clock;
    scripted_store store{clock};
    diary told;
    lh::hooked_store observed{store, slow_diary{told, clock}};
    lh::basic_lease lease{observed, "n", lh::lease_terms{.ttl = 30s}, clock, lh::no_renewal{}};
    {
        const auto guard = lease.try_acquire();
        BOOST_TEST(!guard.held());
    }
    BOOST_TEST(eventually([&] { return told.count(kind::lost) == 1; }));
    const auto events = told.events();
    BOOST_REQUIRE(events.size() == 2U);
    BOOST_TEST(events[0].what == kind::acquired);
    BOOST_TEST(events[1].what == kind::lost);
    BOOST_TEST(events[1].token == events[0].token);
}

BOOST_AUTO_TEST_CASE(a_loss_in_an_outage_says_so)
{
    scene s;
    auto lease = s.renewed_lease();
    const auto guard = lease.try_acquire();
    s.store.always(operation::renew, fate::fails);
    for (int i = 0; i < 30; ++i) s.clock.advance(1s);
    BOOST_TEST(eventually([&] { return s.told.count(kind::lost) == 1; }));
    BOOST_TEST(s.told.events().back().error == lh::errc::store_unavailable);
}

BOOST_AUTO_TEST_CASE(a_renewal_that_finds_the_term_over_is_a_loss_before_the_deadline)
{
    scene s;
    auto lease = s.lease();
    auto guard = lease.try_acquire();
    s.store.leases.force_release("n");
    s.clock.advance(2s);
    BOOST_TEST(!guard.renew());
    BOOST_TEST(eventually([&] { return s.told.count(kind::lost) == 1; }));
    const auto lost = s.told.events().back();
    BOOST_TEST((lost.held == 2s));
    BOOST_TEST(lost.late.count() == 0);
}

BOOST_AUTO_TEST_CASE(a_release_that_finds_the_term_over_is_a_loss)
{
    scene s;
    auto lease = s.lease();
    auto guard = lease.try_acquire();
    s.store.leases.force_release("n");
    BOOST_TEST(guard.release() == lh::release_outcome::lost);
    BOOST_TEST(s.told.count(kind::lost) == 1U);
    BOOST_TEST(s.told.count(kind::released) == 0U);
}

BOOST_AUTO_TEST_CASE(a_release_that_fails_says_why)
{
    scene s;
    auto lease = s.lease();
    auto guard = lease.try_acquire();
    s.store.next(operation::release, fate::fails);
    std::error_code ec;
    guard.release(ec);
    BOOST_TEST(s.told.count(kind::released) == 1U);
    BOOST_TEST(s.told.events().back().error == lh::errc::store_unavailable);
}

BOOST_AUTO_TEST_CASE(stop_callbacks_come_before_the_event)
{
    scene s;
    auto lease = s.lease();
    const auto guard = lease.try_acquire();
    std::size_t events_then = 0;
    const auto token = guard.stop_token();
    std::stop_callback on_loss{token, [&] { events_then = s.told.events().size(); }};
    s.clock.advance(27s);
    BOOST_TEST(eventually([&] { return s.told.count(kind::lost) == 1; }));
    BOOST_TEST(events_then == 1U);
}

// The signaller may come to a loss when guard, lease and store are gone.
BOOST_AUTO_TEST_CASE(no_loss_is_told_to_a_store_that_is_gone_and_none_is_forgotten)
{
    for (int i = 0; i < 200; ++i) {
        lh::manual_clock clock;
        diary told;
        auto memory = std::make_unique<lh::basic_memory_store<lh::manual_clock>>(clock);
        {
            lh::hooked_store observed{*memory, std::ref(told)};
            lh::basic_lease lease{observed, "n", lh::lease_terms{.ttl = 30s}, clock, lh::no_renewal{}};
            auto guard = lease.try_acquire();
            memory->force_release("n");
            static_cast<void>(guard.renew());
        }
        memory.reset();
        BOOST_TEST_REQUIRE(told.count(kind::acquired) == 1U);
        BOOST_TEST_REQUIRE(told.count(kind::lost) == 1U);
    }
}

BOOST_AUTO_TEST_CASE(a_release_after_the_deadline_is_no_second_end_while_the_loss_waits_to_be_signalled)
{
    scene s;
    auto one = s.lease("slow"), other = s.lease("n");
    auto slow = one.try_acquire(), late = other.try_acquire();
    gate hold_back{s.clock};
    const auto token = slow.stop_token();
    const std::stop_callback callback{token, [&] { hold_back.pass(); }};
    s.store.leases.force_release("slow");
    BOOST_TEST(!slow.renew());
    BOOST_TEST_REQUIRE(hold_back.reached_by());
    s.clock.advance(28s);
    BOOST_TEST(late.release() == lh::release_outcome::released, "the store keeps it for the safety margin");
    hold_back.open();
    BOOST_TEST(eventually([&] { return s.told.count(kind::lost) == 2; }));
    BOOST_TEST(s.told.count(kind::released) == 0U);
}

// The leases of a semaphore have a store of the semaphore's own, and share the signaller with other leases.
BOOST_AUTO_TEST_CASE(a_loss_that_waits_to_be_signalled_is_told_before_its_semaphore_is_gone)
{
    scene s;
    auto lease = s.lease("slow");
    auto slow = lease.try_acquire();
    gate hold_back{s.clock};
    const auto token = slow.stop_token();
    const std::stop_callback callback{token, [&] { hold_back.pass(); }};
    s.store.leases.force_release("slow");
    BOOST_TEST(!slow.renew());
    BOOST_TEST_REQUIRE(hold_back.reached_by());
    {
        lh::lease_semaphore permits{s.observed, "licences", 2, 30s, s.clock};
        auto permit = permits.try_acquire();
        s.store.leases.force_release(permit.name());
        BOOST_TEST(!permit.renew());
        BOOST_TEST(s.told.count(kind::lost) == 0U);
    }
    BOOST_TEST(s.told.count(kind::lost) == 1U);
    hold_back.open();
    BOOST_TEST(eventually([&] { return s.told.count(kind::lost) == 2; }));
}

BOOST_AUTO_TEST_CASE(decorators_around_and_below_pass_events_on)
{
    lh::manual_clock clock;
    lh::basic_memory_store memory{clock};
    diary told;
    lh::hooked_store inner{memory, std::ref(told)};
    lh::faulty_store faulty{inner, [](const lh::store_call&) { return lh::store_fault::none; }};
    lh::hooked_store outer{faulty, [](const lh::store_call&, const lh::store_call_report&) {}};
    lh::basic_lease lease{outer, "n", 30s, clock};
    lease.try_acquire().release();
    BOOST_TEST(told.events().size() == 2U);
    lh::lease_semaphore permits{outer, "licences", 2, 30s, clock};
    permits.try_acquire().release();
    BOOST_TEST(told.events().size() == 4U);
    BOOST_TEST(told.events().back().name.starts_with("licences/"));
    static_assert(!lh::observed_store<decltype(memory)>);
}

BOOST_AUTO_TEST_CASE(where_nobody_takes_events_nothing_is_measured_for_them)
{
    lh::memory_store memory;
    diary told;
    lh::hooked_store takes_calls{memory, [](const lh::store_call&, const lh::store_call_report&) {}};
    lh::hooked_store takes_events{memory, std::ref(told)};
    BOOST_TEST(clock_reads(takes_calls) == clock_reads(memory));
    BOOST_TEST(clock_reads(takes_events) == clock_reads(memory) + 2, "how long the caller waited, and how long the term lasted");
    BOOST_TEST(told.events().size() == 2U);
}

BOOST_AUTO_TEST_CASE(releases_of_many_are_ends_too)
{
    scene s;
    auto a = s.lease("a"), b = s.lease("b");
    std::vector<decltype(a.try_acquire())> guards;
    guards.push_back(a.try_acquire());
    guards.push_back(b.try_acquire());
    lh::release_all(guards);
    BOOST_TEST(s.told.count(kind::released) == 2U);
}

BOOST_AUTO_TEST_CASE(releases_that_are_left_out_after_one_that_fails_say_why)
{
    scene s;
    auto a = s.lease("a"), b = s.lease("b");
    std::error_code ec;
    std::vector<decltype(a.try_acquire())> guards;
    guards.push_back(a.try_acquire());
    guards.push_back(b.try_acquire());
    s.store.next(operation::release, fate::fails);
    lh::release_all(guards, ec);
    auto both = lh::try_acquire_all(a, b);
    s.store.next(operation::release, fate::fails);
    both.release(ec);
    BOOST_TEST(s.store.sent(operation::release) == 2);
    BOOST_TEST(s.told.count(kind::released) == 4U);
    for (const seen& event : s.told.events())
        if (event.what == kind::released) BOOST_TEST(event.error == lh::errc::store_unavailable);
}

BOOST_AUTO_TEST_SUITE_END()
