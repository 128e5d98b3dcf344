// SPDX-License-Identifier: BSL-1.0
// In which of the store's queues the waiters for permits and shares stand, and when they leave.
#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
#include <support/eventually.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

BOOST_AUTO_TEST_SUITE(lease_semaphore_queues_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;

namespace {

// A memory store that says how many tickets there are.
class ticket_counting_store {
    using memory = lh::basic_memory_store<lh::manual_clock>;

public:
    explicit ticket_counting_store(const lh::manual_clock& clock) : leases{clock} {}

    class ticket {
    public:
        ticket(ticket_counting_store& of, std::string_view name, lh::waker& to_wake) : of_{of}, inner_{of.leases.enqueue(name, to_wake)}
        {
            ++of_.tickets;
        }
        ticket(const ticket&) = delete;
        ticket& operator=(const ticket&) = delete;
        ~ticket()
        {
            if (of_.before_end) of_.before_end();
            --of_.tickets;
        }

        [[nodiscard]] std::string_view name() const noexcept { return inner_.name(); }
        void passed() const noexcept { ++of_.passed; }

    private:
        friend ticket_counting_store;
        ticket_counting_store& of_;
        memory::queue_ticket inner_;
    };

    lh::acquire_result try_acquire(std::string_view name, std::string_view owner, lh::duration ttl, std::error_code& ec)
    {
        return leases.try_acquire(name, owner, ttl, ec);
    }
    lh::acquire_result try_acquire(const ticket& with, std::string_view owner, lh::duration ttl, std::error_code& ec)
    {
        ++tried_with_ticket;
        return leases.try_acquire(with.inner_, owner, ttl, ec);
    }
    lh::turn_answer turn(const ticket& of, std::error_code& ec)
    {
        ec.clear();
        if (of.name() == behind_at) return {lh::turn_status::behind, trust};
        if (of.name() == overdue_at) return {lh::turn_status::overdue, trust};
        if (of.name() == unordered_at) return {};
        return {lh::turn_status::first, 20ms};
    }
    bool renew(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration ttl, std::error_code& ec)
    {
        return leases.renew(name, owner, token, ttl, ec);
    }
    bool release(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration min_hold_left, std::error_code& ec)
    {
        return leases.release(name, owner, token, min_hold_left, ec);
    }
    void acquire_many(std::span<const lh::term_request> requests, std::size_t most, std::span<std::optional<lh::acquire_result>> answers,
                      std::error_code& ec)
    {
        most_at_once = std::max(most_at_once.load(), requests.size());
        leases.acquire_many(requests, most, answers, ec);
    }
    std::optional<lh::lease_record> inspect(std::string_view name, std::error_code& ec) { return leases.inspect(name, ec); }
    [[nodiscard]] ticket enqueue(std::string_view name, lh::waker& to_wake) { return {*this, name, to_wake}; }
    [[nodiscard]] lh::waiting::local_queue& local_waiters() noexcept { return leases.local_waiters(); }

    memory leases;
    std::atomic<int> tickets = 0, passed = 0, tried_with_ticket = 0;
    std::atomic<std::size_t> most_at_once = 0;  // names in a call
    std::string_view behind_at{}, overdue_at{}, unordered_at{};  // names; to be set before there are any tickets
    static constexpr lh::duration trust = 5s;
    std::function<void()> before_end{};  // of a ticket; to be set before there are any
};

static_assert(lh::ordered_store<ticket_counting_store> && lh::batch_acquiring_store<ticket_counting_store>);

struct scene {
    lh::fencing_token taken_by_another(const std::string& name)
    {
        std::error_code ec;
        const auto said = store.leases.try_acquire(name, "another process", 1h, ec);
        BOOST_TEST_REQUIRE(said.granted());
        return said.token;
    }
    void released_by_another(const std::string& name, lh::fencing_token token)
    {
        std::error_code ec;
        BOOST_TEST(store.leases.release(name, "another process", token, 0s, ec));
    }
    // For whom the permits are kept that come free.
    [[nodiscard]] std::string kept_by()
    {
        std::error_code ec;
        const auto record = store.leases.inspect("licences/^", ec);
        return record ? record->owner : std::string{};
    }
    // A waiter for a permit: none is granted while another process keeps them, though all are free.
    void waits_until_they_are_kept_no_longer()
    {
        lh::lease_semaphore semaphore{store, "licences", 2, 30s, clock};
        const auto kept = taken_by_another("licences/^");
        std::atomic<bool> got = false;
        const std::jthread waits{[&] { got = is_held(semaphore.acquire()); }};
        BOOST_TEST(eventually([&] { return store.tickets == 1; }));
        for (int i = 0; i < 200; ++i) clock.advance(100ms);
        BOOST_TEST(!got);
        released_by_another("licences/^", kept);
        BOOST_TEST(come_to(0));
        BOOST_TEST(eventually([&] { return got.load(); }));
    }
    [[nodiscard]] bool come_to(int tickets)
    {
        return eventually([&] {
            clock.advance(100ms);
            return store.tickets == tickets;
        });
    }

    lh::manual_clock clock;
    ticket_counting_store store{clock};
};

}  // namespace

// Its place in the line, and one more at the gate while a writer has it.
BOOST_FIXTURE_TEST_CASE(reader_waits_at_the_gate_while_a_writer_has_it, scene)
{
    store.behind_at = "catalog/writer";
    lh::shared_lease catalog{store, "catalog", 30s, clock, lh::reader_limit{2}};
    const auto first = taken_by_another("catalog/r0"), second = taken_by_another("catalog/r1");
    std::atomic<bool> got = false;
    std::stop_source stop;
    const std::jthread reads{[&] { got = is_held(catalog.acquire_shared(stop.get_token())); }};
    BOOST_TEST(come_to(1));
    const auto writers = taken_by_another("catalog/writer");
    BOOST_TEST(come_to(2));
    released_by_another("catalog/writer", writers);
    BOOST_TEST(come_to(1), "the gate is open");
    BOOST_TEST(store.passed == 0, "it was woken");
    released_by_another("catalog/r0", first);
    released_by_another("catalog/r1", second);
    BOOST_TEST(come_to(0));
    BOOST_TEST(eventually([&] { return got.load(); }));
    stop.request_stop();
}

BOOST_FIXTURE_TEST_CASE(reader_that_a_writer_kept_out_asks_for_one_share, scene)
{
    store.behind_at = "catalog/writer";
    lh::shared_lease catalog{store, "catalog", 30s, clock, lh::reader_limit{8}};
    const auto writers = taken_by_another("catalog/writer");
    std::atomic<bool> got = false;
    std::stop_source stop;
    const std::jthread reads{[&] { got = is_held(catalog.acquire_shared(stop.get_token())); }};
    BOOST_TEST(come_to(2));
    store.most_at_once = 0;
    released_by_another("catalog/writer", writers);
    BOOST_TEST(come_to(0));
    BOOST_TEST(eventually([&] { return got.load(); }));
    BOOST_TEST(store.most_at_once == 1U);
    stop.request_stop();
}

BOOST_FIXTURE_TEST_CASE(reader_that_a_writer_kept_out_finds_the_only_share_that_is_free, scene)
{
    store.behind_at = "catalog/writer";
    lh::shared_lease catalog{store, "catalog", 30s, clock, lh::reader_limit{8}};
    const auto writers = taken_by_another("catalog/writer");
    for (int i = 0; i < 7; ++i) taken_by_another("catalog/r" + std::to_string(i));
    std::atomic<bool> got = false;
    std::stop_source stop;
    const std::jthread reads{[&] { got = is_held(catalog.acquire_shared(stop.get_token())); }};
    BOOST_TEST(come_to(2));
    released_by_another("catalog/writer", writers);
    BOOST_TEST(come_to(0));
    BOOST_TEST(eventually([&] { return got.load(); }));
    stop.request_stop();
}

// The gate first, and then a place where all shares wake it.
BOOST_FIXTURE_TEST_CASE(writer_waits_for_all_readers_with_one_ticket, scene)
{
    store.behind_at = "catalog/r";
    lh::shared_lease catalog{store, "catalog", 30s, clock, lh::reader_limit{2}};
    const auto first = taken_by_another("catalog/r0"), second = taken_by_another("catalog/r1");
    std::atomic<bool> got = false;
    std::stop_source stop;
    const std::jthread writes{[&] { got = is_held(catalog.acquire(stop.get_token())); }};
    BOOST_TEST(come_to(2));
    released_by_another("catalog/r0", first);
    released_by_another("catalog/r1", second);
    BOOST_TEST(come_to(0));
    BOOST_TEST(eventually([&] { return got.load(); }));
    stop.request_stop();
}

BOOST_FIXTURE_TEST_CASE(waiter_that_is_behind_asks_for_no_permit, scene)
{
    store.behind_at = "licences";
    lh::lease_semaphore semaphore{store, "licences", 2, 30s, clock};
    std::atomic<bool> got = false;
    std::stop_source stop;
    std::jthread waits{[&] { got = is_held(semaphore.acquire(stop.get_token())); }};
    BOOST_TEST(come_to(1));
    for (int i = 0; i < 40; ++i) clock.advance(100ms);
    BOOST_TEST(!got, "though both are free");
    BOOST_TEST(store.leases.list().empty());
    stop.request_stop();
}

BOOST_FIXTURE_TEST_CASE(waiter_that_is_overdue_tries_past_the_others, scene)
{
    store.overdue_at = "licences";
    lh::lease_semaphore semaphore{store, "licences", 2, 30s, clock};
    BOOST_TEST(is_held(semaphore.try_acquire_for(1s)));
    BOOST_TEST(store.passed == 1);
}

BOOST_FIXTURE_TEST_CASE(waiter_that_is_overdue_for_the_only_permit_sleeps_between_its_looks, scene)
{
    store.overdue_at = "licences";
    lh::lease_semaphore semaphore{store, "licences", 1, 30s, clock};
    const auto taken = taken_by_another("licences/0");
    std::atomic<bool> got = false;
    const std::jthread waits{[&] { got = is_held(semaphore.acquire()); }};
    BOOST_TEST(eventually([&] { return store.tried_with_ticket == 1 && clock.sleepers() == 1; }));
    for (int i = 0; i < 200; ++i) clock.advance(100ms);
    BOOST_TEST(store.tried_with_ticket == 5, "every five seconds");
    released_by_another("licences/0", taken);
    BOOST_TEST(come_to(0));
    BOOST_TEST(eventually([&] { return got.load(); }));
}

// Somebody must have looked, whatever the queue says.
BOOST_FIXTURE_TEST_CASE(wait_that_ends_behind_others_has_asked_once, scene)
{
    store.behind_at = "licences";
    lh::lease_semaphore semaphore{store, "licences", 2, 30s, clock};
    std::atomic<bool> got = false;
    std::jthread waits{[&] { got = is_held(semaphore.try_acquire_for(10s)); }};
    BOOST_TEST(eventually([&] { return store.tickets == 1; }));
    BOOST_TEST(come_to(0));
    BOOST_TEST(eventually([&] { return got.load(); }));
    BOOST_TEST(store.passed == 0);
}

// Others may see it wait for several of them, however long that takes.
BOOST_FIXTURE_TEST_CASE(first_of_the_line_keeps_the_permits_for_itself_while_it_waits_for_several, scene)
{
    lh::lease_semaphore semaphore{store, "licences", 2, lh::lease_terms{.ttl = 30s, .min_hold = 1h}, clock};
    const auto taken = taken_by_another("licences/0");
    for (const bool is_served : {false, true}) {
        std::atomic<std::size_t> got = 0;
        std::stop_source stop;
        std::jthread waits{[&] {
            const auto both = semaphore.acquire(2, stop.get_token());
            got = both.size();
        }};
        BOOST_TEST(eventually([&] { return kept_by() == semaphore.owner() && clock.sleepers() == 2; }), "its renewals, and the waiter");
        for (int i = 0; i < 40; ++i) clock.advance(9s);
        BOOST_TEST(eventually([&] { return kept_by() == semaphore.owner(); }), "it is renewed");
        if (is_served)
            released_by_another("licences/0", taken);
        else
            stop.request_stop();
        BOOST_TEST(come_to(0));
        waits.join();
        BOOST_TEST(got == (is_served ? 2U : 0U));
        BOOST_TEST(kept_by() == "");
    }
}

BOOST_FIXTURE_TEST_CASE(wait_for_more_permits_than_are_left_keeps_the_permits_no_longer, scene)
{
    lh::lease_semaphore semaphore{store, "licences", 4, 30s, clock}, other{store, "licences", 4, 30s, clock};
    taken_by_another("licences/0");
    taken_by_another("licences/1");
    std::error_code ec;
    std::jthread waits{[&] { static_cast<void>(semaphore.acquire(3, std::stop_token{}, ec)); }};
    BOOST_TEST(eventually([&] { return kept_by() == semaphore.owner(); }));
    other.resize(2);
    BOOST_TEST(come_to(0));
    waits.join();
    BOOST_TEST(ec == lh::errc::invalid_terms);
    BOOST_TEST(kept_by() == "");
}

BOOST_FIXTURE_TEST_CASE(first_of_the_line_keeps_nothing_for_itself_while_it_waits_for_one, scene)
{
    lh::lease_semaphore semaphore{store, "licences", 1, 30s, clock};
    taken_by_another("licences/0");
    std::stop_source stop;
    const std::jthread waits{[&] { static_cast<void>(semaphore.acquire(1, stop.get_token())); }};
    BOOST_TEST(eventually([&] { return store.tickets > 0; }));
    for (int i = 0; i < 40; ++i) clock.advance(100ms);
    BOOST_TEST(kept_by() == "");
    stop.request_stop();
}

BOOST_FIXTURE_TEST_CASE(waiter_that_is_overdue_leaves_the_permits_to_the_first_who_wants_several, scene)
{
    store.overdue_at = "licences";
    waits_until_they_are_kept_no_longer();
    BOOST_TEST(store.passed == 1);
}

// A store has only so many sessions for those who wait.
BOOST_FIXTURE_TEST_CASE(waiter_whom_nobody_orders_leaves_the_permits_to_the_first_who_wants_several, scene)
{
    store.unordered_at = "licences";
    waits_until_they_are_kept_no_longer();
    BOOST_TEST(store.passed == 0);
}

BOOST_FIXTURE_TEST_CASE(wait_that_ends_leaves_the_permits_to_the_first_who_wants_several, scene)
{
    store.behind_at = "licences";
    lh::lease_semaphore semaphore{store, "licences", 2, 30s, clock};
    taken_by_another("licences/^");
    std::atomic<bool> over = false, got = false;
    const std::jthread waits{[&] {
        got = is_held(semaphore.try_acquire_for(10s));
        over = true;
    }};
    BOOST_TEST(eventually([&] { return store.tickets == 1; }));
    BOOST_TEST(come_to(0));
    BOOST_TEST(eventually([&] { return over.load(); }));
    BOOST_TEST(!got);
}

// It runs out if they have died.
BOOST_FIXTURE_TEST_CASE(permits_that_are_kept_for_nobody_are_free_in_the_end, scene)
{
    store.overdue_at = "licences";
    lh::lease_semaphore semaphore{store, "licences", 2, 30s, clock};
    std::error_code ec;
    BOOST_TEST(store.leases.try_acquire("licences/^", "another process", 20s, ec).granted());
    std::atomic<bool> got = false;
    const std::jthread waits{[&] { got = is_held(semaphore.acquire()); }};
    BOOST_TEST(eventually([&] { return store.tickets == 1; }));
    BOOST_TEST(come_to(0));
    BOOST_TEST(eventually([&] { return got.load(); }));
}

BOOST_FIXTURE_TEST_CASE(next_waiter_of_the_process_queues_when_the_one_before_has_left, scene)
{
    std::atomic<bool> watched = false, together = false;
    store.before_end = [&] {
        if (watched.exchange(false)) together = eventually([&] { return store.tickets > 2; }, 50ms);
    };
    lh::lease_semaphore one{store, "licences", 1, 30s, clock}, other{store, "licences", 1, 30s, clock};
    taken_by_another("licences/0");
    std::stop_source stop_first, stop_second;
    std::jthread first{[&] { static_cast<void>(one.acquire(stop_first.get_token())); }};
    BOOST_TEST(eventually([&] { return store.tickets == 2; }), "in the line, and for the permit");
    const std::jthread second{[&] { static_cast<void>(other.acquire(stop_second.get_token())); }};
    BOOST_TEST(eventually([&] { return store.local_waiters().waiting() == 2U; }));
    watched = true;
    stop_first.request_stop();
    first.join();
    BOOST_TEST(!watched);
    BOOST_TEST(!together);
    BOOST_TEST(eventually([&] { return store.tickets == 2; }));
    stop_second.request_stop();
}

BOOST_AUTO_TEST_SUITE_END()
