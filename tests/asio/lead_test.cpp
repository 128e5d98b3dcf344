// SPDX-License-Identifier: BSL-1.0
#include <asio/support.hpp>
#include <support/explaining_store.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>

#if LEASEHOLD_ASIO_HAS_COROUTINES
BOOST_AUTO_TEST_SUITE(asio_lead_test)

using namespace leasehold_test;

namespace {

using term_type = lh::leader_term<memory_lease>;

// A candidate whose loop runs on a context of its own.
struct candidate {
    explicit candidate(lh::memory_store& store, lh::leader_election_options options = {})
        : lease{store, "a", lh::lease_terms{.ttl = 1500ms}}
    {
        options.on_stepped_down = [this](lh::step_down_reason why) { last = why; };
        options.on_error = [this](std::error_code) { ++errors; };
        options.retry_min = 1ms;
        options.retry_max = 10ms;
        election.emplace(lease, std::move(options));
    }
    candidate(const candidate&) = delete;
    candidate& operator=(const candidate&) = delete;
    ~candidate() { stop(); }

    // Leads until the end of the term.
    net::awaitable<void> lead(term_type& term)
    {
        ++terms;
        net::steady_timer pause{co_await net::this_coro::executor};
        while (term.held()) {
            pause.expires_after(1ms);
            co_await pause.async_wait(net::use_awaitable);
        }
    }

    void begin()
    {
        lh::async_lead(*election, [this](term_type& term) { return lead(term); },
                       slots.on(net::bind_executor(io.context, [this](std::exception_ptr e) { done.set_value(e); })));
    }
    void stop() { slots.cancel(io.context); }
    [[nodiscard]] bool comes_to_lead()
    {
        return eventually([this] { return election->is_leader(); });
    }

    memory_lease lease;
    cancellation slots;
    std::optional<lh::leader_election<memory_lease>> election;
    std::atomic<int> terms = 0;
    std::atomic<int> errors = 0;
    std::atomic<lh::step_down_reason> last = lh::step_down_reason::returned;
    std::promise<std::exception_ptr> done;
    running_context io;  // the last: its end comes before that of what the coroutine refers to
};

struct fixture {
    lh::memory_store store;
    std::error_code ignored;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_stop_ends_the_leadership_and_the_operation, fixture)
{
    candidate one{store};
    one.begin();
    BOOST_TEST(one.comes_to_lead());
    one.stop();
    BOOST_TEST((one.done.get_future().get() == nullptr));
    BOOST_TEST((one.last == lh::step_down_reason::stopped));
    BOOST_TEST(!one.election->is_leader());
    BOOST_TEST(!store.inspect("a", ignored));
}

BOOST_FIXTURE_TEST_CASE(the_handler_is_never_called_within_the_initiating_function, fixture)
{
    memory_lease lease{store, "a"};
    lh::leader_election election{lease};
    cancellation slots;
    net::io_context here;
    bool initiating = false, called = false, called_within = false;
    net::post(here, [&] {
        initiating = true;
        const auto note = [&](std::exception_ptr) { (initiating ? called_within : called) = true; };
        lh::async_lead(election, [](term_type&) -> net::awaitable<void> { co_return; }, slots.on(net::bind_executor(here, note)));
        slots.emit();
        initiating = false;
    });
    here.run();
    BOOST_TEST(!called_within);
    BOOST_TEST(called);
}

BOOST_FIXTURE_TEST_CASE(an_election_can_be_awaited, fixture)
{
    candidate one{store};
    bool led = false;
    auto work = [&](auto& term) -> net::awaitable<void> {
        led = term.held();
        one.slots.emit();
        co_return;
    };
    net::co_spawn(one.io.context, lh::async_lead(*one.election, work, one.slots.on(net::use_awaitable)), net::use_future).get();
    BOOST_TEST(led);
    BOOST_TEST(!store.inspect("a", ignored));
}

BOOST_FIXTURE_TEST_CASE(a_lost_leader_ends_its_coroutine_and_leads_again, fixture)
{
    candidate one{store};
    one.begin();
    BOOST_TEST(one.comes_to_lead());
    store.force_release("a");
    BOOST_TEST(eventually([&] { return one.terms == 2; }));
    BOOST_TEST((one.last == lh::step_down_reason::lost));
    one.stop();
    BOOST_TEST((one.done.get_future().get() == nullptr));
}

BOOST_FIXTURE_TEST_CASE(a_leader_that_resigns_leaves_the_turn_to_another, fixture)
{
    candidate one{store, {.cooldown = 1h}}, other{store};
    one.begin();
    BOOST_TEST(one.comes_to_lead());
    other.begin();
    one.election->resign();
    BOOST_TEST(other.comes_to_lead());
    BOOST_TEST(eventually([&] { return one.last == lh::step_down_reason::resigned; }));
    // It sleeps for an hour, and ends at once nevertheless.
    one.stop();
    BOOST_TEST((one.done.get_future().get() == nullptr));
    BOOST_TEST(one.terms == 1);
}

BOOST_FIXTURE_TEST_CASE(a_candidate_of_a_higher_priority_is_handed_the_leadership_and_keeps_it, fixture)
{
    candidate low{store, {.priority = 1, .cooldown = 1ms}}, high{store, {.priority = 2, .cooldown = 1ms}};
    low.begin();
    BOOST_TEST(low.comes_to_lead());
    high.begin();
    BOOST_TEST(high.comes_to_lead());
    BOOST_TEST(eventually([&] { return low.last == lh::step_down_reason::asked; }));
    // The other asks for it every third of the ttl.
    BOOST_TEST(throughout([&] { return high.election->is_leader(); }, 800ms));
    BOOST_TEST(high.terms == 1);
    for (auto* each : {&low, &high}) {
        each->stop();
        BOOST_TEST((each->done.get_future().get() == nullptr));
    }
}

BOOST_FIXTURE_TEST_CASE(exception_of_the_work_ends_the_operation_after_the_release, fixture)
{
    candidate one{store};
    auto work = [&](term_type&) -> net::awaitable<void> {
        throw std::runtime_error{"the work's own"};
        co_return;
    };
    lh::async_lead(*one.election, work, net::bind_executor(one.io.context, [&](std::exception_ptr e) {
                       BOOST_ASSERT(!store.inspect("a", ignored));
                       one.done.set_value(e);
                   }));
    BOOST_CHECK_THROW(std::rethrow_exception(one.done.get_future().get()), std::runtime_error);
    BOOST_TEST((one.last == lh::step_down_reason::threw));
}

BOOST_FIXTURE_TEST_CASE(a_candidate_learns_who_leads_without_leading, fixture)
{
    std::promise<std::string> seen;
    BOOST_TEST(store.try_acquire("a", "somebody", 1h, ignored).granted());
    candidate one{store, {.on_leader_observed = [&](const lh::lease_record& leader) { seen.set_value(leader.owner); }}};
    one.begin();
    BOOST_TEST(seen.get_future().get() == "somebody");
    one.stop();
    BOOST_TEST((one.done.get_future().get() == nullptr));
    BOOST_TEST(one.terms == 0);
}

BOOST_FIXTURE_TEST_CASE(a_candidate_that_looks_around_keeps_its_place_in_the_queue, fixture)
{
    const auto held = store.try_acquire("a", "somebody", 1h, ignored);
    candidate one{store, {.on_leader_observed = [](const lh::lease_record&) {}}};
    one.begin();
    BOOST_REQUIRE(eventually([&] { return store.local_waiters().waiting() == 1; }));
    std::atomic<bool> got = false;
    const std::jthread later{[&] {
        lh::basic_lease lease{store, "a"};
        const auto guard = lease.acquire();
        got = guard.held();
    }};
    BOOST_REQUIRE(eventually([&] { return store.local_waiters().waiting() == 2; }));
    std::this_thread::sleep_for(1200ms);  // it looks every half a second
    BOOST_TEST(store.release("a", "somebody", held.token, 0s, ignored));
    BOOST_TEST(one.comes_to_lead());
    BOOST_TEST(!got);
    one.stop();
}

namespace {

// Attempts at a name wait until it is opened.
struct gated_attempts : lh::forwarding_store<lh::basic_memory_store<lh::manual_clock>, gated_attempts> {
    using forwarding_store::forwarding_store;
    template <class Make>
    auto around(const lh::store_call& call, std::error_code&, Make make) -> decltype(make())
    {
        if (call.operation == lh::store_operation::try_acquire) {
            auto& gate = call.name == "a" ? a_is_open : others_are_open;
            ++waiting;
            gate.wait(false);
        }
        return make();
    }
    void open(std::atomic<bool>& gate)
    {
        gate = true;
        gate.notify_all();
    }
    std::atomic<bool> a_is_open = false;
    std::atomic<bool> others_are_open = false;
    std::atomic<int> waiting = 0;
};

}  // namespace

// Both threads that may wait for the store are with attempts that hang when it has been elected.
BOOST_AUTO_TEST_CASE(a_candidate_that_was_elected_does_not_wait_for_its_own_look)
{
    lh::manual_clock clock;
    lh::basic_memory_store store{clock};
    gated_attempts gated{store};
    const lh::lease_terms terms{.ttl = 600ms};
    lh::basic_lease a{gated, "a", clock, terms}, b{gated, "b", clock, terms}, c{gated, "c", clock, terms};
    lh::leader_election election{a, {.on_leader_observed = [](const lh::lease_record&) {}}};
    cancellation slots;
    std::promise<void> leads;
    std::promise<std::exception_ptr> done;
    std::promise<void> has_looked;
    std::array<recorder<decltype(b)::guard_type>, 2> others;
    running_context io;
    auto work = [&](auto&) -> net::awaitable<void> {
        leads.set_value();
        slots.emit();
        co_return;
    };
    lh::async_lead(election, work, slots.on(net::bind_executor(io.context, [&](std::exception_ptr e) { done.set_value(e); })));
    BOOST_TEST(eventually([&] { return gated.waiting == 1; }));
    lh::async_try_acquire(b, others[0].on(io.context));
    BOOST_TEST(eventually([&] { return gated.waiting == 2; }));
    lh::async_try_acquire(c, others[1].on(io.context));
    // By Asio's clock its look is due after a third of the ttl. A timer that ends later finds it in the queue.
    net::steady_timer later{io.context, terms.ttl / 3 + 1ms};
    later.async_wait([&](auto) { has_looked.set_value(); });
    has_looked.get_future().get();
    gated.open(gated.a_is_open);
    const auto led = leads.get_future();
    BOOST_TEST((led.wait_for(10s) == std::future_status::ready));
    gated.open(gated.others_are_open);
    BOOST_TEST((done.get_future().get() == nullptr));
    for (auto& each : others) BOOST_TEST(!each.get().ec);
}

BOOST_FIXTURE_TEST_CASE(a_hook_that_throws_while_a_candidate_waits_ends_it, fixture)
{
    BOOST_TEST(store.try_acquire("a", "somebody", 1h, ignored).granted());
    candidate one{store, {.on_leader_observed = [](const lh::lease_record&) { throw std::runtime_error{"of the hook"}; }}};
    one.begin();
    BOOST_CHECK_THROW(std::rethrow_exception(one.done.get_future().get()), std::runtime_error);
    BOOST_TEST(store.local_waiters().waiting() == 0U);
}

// Another thread than the one that runs the hook has called the store.
BOOST_AUTO_TEST_CASE(an_outage_is_told_with_all_that_the_exception_would_say)
{
    leasehold_test::explaining_store explains;
    explains.outage = true;
    lh::basic_lease lease{explains, "leader"};
    cancellation slots;
    std::string what;
    lh::leader_election election{lease, {.on_error = [&](const lh::store_error& e) {
                                     what = e.what();
                                     slots.emit();
                                 }}};
    std::promise<std::exception_ptr> done;
    running_context io;
    const auto leads = [](auto&) -> net::awaitable<void> { co_return; };
    lh::async_lead(election, leads, slots.on(net::bind_executor(io.context, [&](std::exception_ptr e) { done.set_value(e); })));
    BOOST_TEST((done.get_future().get() == nullptr));
    BOOST_TEST(what == "leasehold: campaign 'leader': the store can't be reached: start the server "
                       "[SQLSTATE 08S01, native 7: connection refused]");
}

BOOST_AUTO_TEST_CASE(an_outage_is_told_and_tried_again)
{
    lh::manual_clock clock;
    scripted_store store{clock};
    scripted_lease lease{store, "a", clock, lh::lease_terms{.ttl = 1h}};
    std::atomic<int> errors = 0;
    std::atomic<bool> led = false;
    // By the lease's clock a pause is never over; Asio's wakes the candidate, which finds that out.
    lh::leader_election election{lease, {.on_error = [&](std::error_code) { ++errors; }, .retry_min = 1ms, .retry_max = 1ms}};
    std::promise<std::exception_ptr> done;
    cancellation slots;
    running_context io;
    store.next(operation::try_acquire, fate::fails);
    auto work = [&](lh::leader_term<scripted_lease>&) -> net::awaitable<void> {
        led = true;
        slots.emit();
        co_return;
    };
    lh::async_lead(election, work, slots.on(net::bind_executor(io.context, [&](std::exception_ptr e) { done.set_value(e); })));
    BOOST_TEST(eventually([&] {
        clock.advance(1ms);
        return led.load();
    }));
    BOOST_TEST((done.get_future().get() == nullptr));
    BOOST_TEST(errors == 1);
}

BOOST_AUTO_TEST_CASE(a_busy_answer_ends_the_growth_of_pauses)
{
    lh::manual_clock clock;
    scripted_store store{clock};
    scripted_lease lease{store, "a", clock, lh::lease_terms{.ttl = 1h}};
    std::atomic<int> errors = 0;
    lh::leader_election election{lease, {.on_error = [&](std::error_code) { ++errors; }, .retry_min = 1ms, .retry_max = 1h}};
    std::promise<std::exception_ptr> done;
    cancellation slots;
    running_context io;
    constexpr int failures = 8;  // the pause after it is at least 64 ms
    store.always(operation::try_acquire, fate::fails);
    for (int i = 0; i < failures; ++i) store.next(operation::try_acquire, fate::fails);
    store.next(operation::try_acquire, fate::refused);
    lh::async_lead(election, [](lh::leader_term<scripted_lease>&) -> net::awaitable<void> { co_return; },
                   slots.on(net::bind_executor(io.context, [&](std::exception_ptr e) { done.set_value(e); })));
    BOOST_TEST(eventually([&] {
        if (errors <= failures) clock.advance(1ms);
        return errors > failures;
    }));
    const int before = store.sent(operation::try_acquire);
    clock.advance(1ms);
    BOOST_TEST(eventually([&] { return store.sent(operation::try_acquire) > before; }, 5s));
    slots.cancel(io.context);
    BOOST_TEST((done.get_future().get() == nullptr));
}

// The release may hang as the renewals did, and others lead meanwhile.
BOOST_AUTO_TEST_CASE(a_loss_is_told_before_the_release)
{
    lh::manual_clock clock;
    scripted_store store{clock};
    scripted_lease lease{store, "a", clock, lh::lease_terms{.ttl = 30s}};
    cancellation slots;
    int releases_before = -1;
    const auto stepped_down = [&](lh::step_down_reason) {
        releases_before = store.sent(operation::release);
        slots.emit();
    };
    lh::leader_election election{lease, {.on_stepped_down = stepped_down}};
    running_context io;
    std::promise<std::exception_ptr> done;
    auto work = [&](lh::leader_term<scripted_lease>& term) -> net::awaitable<void> {
        store.always(operation::renew, fate::fails);
        while (term.held()) clock.advance(1s);
        co_return;
    };
    lh::async_lead(election, work, slots.on(net::bind_executor(io.context, [&](std::exception_ptr e) { done.set_value(e); })));
    BOOST_TEST((done.get_future().get() == nullptr));
    BOOST_TEST(releases_before == 0);
    BOOST_TEST(store.sent(operation::release) == 1);
}

BOOST_AUTO_TEST_CASE(work_is_not_begun_under_a_lease_that_is_lost)
{
    using turned_store = lh::basic_memory_store<lh::manual_clock>;
    lh::manual_clock clock;
    turned_store store{clock};
    lh::basic_lease lease{store, "a", clock, lh::lease_terms{.ttl = 30s}, lh::no_renewal{}};
    cancellation slots;
    std::atomic<int> elected = 0;
    std::vector<lh::step_down_reason> ended;
    std::vector<bool> begun_held;
    lh::leader_election election{lease,
                                 {.on_elected =
                                      [&](lh::fencing_token) {
                                          if (++elected == 1) clock.advance(31s);
                                      },
                                  .on_stepped_down = [&](lh::step_down_reason why) { ended.push_back(why); },
                                  .retry_min = 1ms,
                                  .retry_max = 1ms,
                                  .cooldown = 1ms}};
    running_context io;
    std::promise<std::exception_ptr> done;
    auto work = [&](auto& term) -> net::awaitable<void> {
        begun_held.push_back(term.held());
        slots.emit();
        co_return;
    };
    lh::async_lead(election, work, slots.on(net::bind_executor(io.context, [&](std::exception_ptr e) { done.set_value(e); })));
    auto over = done.get_future();
    BOOST_TEST(eventually([&] {
        if (elected == 1) clock.advance(1ms);
        return over.wait_for(1ms) == std::future_status::ready;
    }));
    BOOST_TEST((over.get() == nullptr));
    BOOST_TEST((begun_held == std::vector<bool>{true}));
    BOOST_TEST((!ended.empty() && ended.front() == lh::step_down_reason::lost));
}

BOOST_FIXTURE_TEST_CASE(an_exception_leaves_the_name_open_whatever_min_hold_is, fixture)
{
    memory_lease lease{store, "a", lh::lease_terms{.ttl = 1h, .min_hold = 20h}};
    lh::leader_election election{lease};
    running_context io;
    std::promise<std::exception_ptr> done;
    auto work = [](term_type&) -> net::awaitable<void> {
        throw std::runtime_error{"work"};
        co_return;
    };
    lh::async_lead(election, work, net::bind_executor(io.context, [&](std::exception_ptr e) { done.set_value(e); }));
    BOOST_TEST((done.get_future().get() != nullptr));
    BOOST_TEST(!store.inspect("a", ignored));
}

BOOST_FIXTURE_TEST_CASE(work_that_is_broken_off_leaves_the_name_open_whatever_min_hold_is, fixture)
{
    memory_lease lease{store, "a", lh::lease_terms{.ttl = 1h, .min_hold = 20h}};
    lh::leader_election election{lease};
    {
        running_context io;
        std::promise<void> begun;
        auto work = [&begun](term_type&) -> net::awaitable<void> {
            net::steady_timer never{co_await net::this_coro::executor, net::steady_timer::time_point::max()};
            begun.set_value();
            co_await never.async_wait(net::use_awaitable);
        };
        lh::async_lead(election, work, net::bind_executor(io.context, [](std::exception_ptr) {}));
        begun.get_future().wait();
    }
    BOOST_TEST(eventually([&] { return !store.inspect("a", ignored); }));
}

namespace {

// Looks at a name wait at a gate.
struct gated_looks : lh::forwarding_store<lh::basic_memory_store<lh::manual_clock>, gated_looks> {
    using forwarding_store::forwarding_store;
    template <class Make>
    auto around(const lh::store_call& call, std::error_code&, Make make) -> decltype(make())
    {
        if (call.operation == lh::store_operation::inspect) looks.pass();
        return make();
    }
    gate looks;
};

}  // namespace

// It has the lease, and waits for the end of its own look at the last leader.
BOOST_AUTO_TEST_CASE(a_candidate_that_is_broken_off_before_it_leads_leaves_the_name_open_whatever_min_hold_is)
{
    lh::manual_clock clock;
    lh::basic_memory_store store{clock};
    gated_looks gated{store};
    std::error_code ec;
    const auto held = store.try_acquire("a", "somebody", 1h, ec);
    lh::basic_lease lease{gated, "a", clock, lh::lease_terms{.ttl = 30ms, .min_hold = 20h}};
    lh::leader_election election{lease, {.on_leader_observed = [](const lh::lease_record&) {}}};
    std::optional<net::io_context> io{std::in_place};
    auto work = [](auto&) -> net::awaitable<void> {
        BOOST_ERROR("begun");
        co_return;
    };
    lh::async_lead(election, work, net::bind_executor(*io, [](std::exception_ptr) { BOOST_ERROR("called"); }));
    BOOST_TEST(eventually([&] {
        io->poll();
        return gated.looks.waiting() == 1;
    }));
    BOOST_TEST(store.release("a", "somebody", held.token, 0s, ec));
    BOOST_TEST(eventually([&] {
        const auto record = store.inspect("a", ec);
        return record && record->owner == lease.owner();
    }));
    BOOST_TEST(eventually([&] { return io->poll() != 0; }), "the guard is not delivered");
    gated.looks.open();
    io.reset();
    BOOST_TEST(!store.inspect("a", ec));
}

BOOST_FIXTURE_TEST_CASE(a_context_that_is_destroyed_ends_leaders_and_candidates, fixture)
{
    for (int round = 0; round < 20; ++round) {
        candidate leader{store}, waiting{store};
        leader.begin();
        BOOST_TEST_REQUIRE(leader.comes_to_lead());
        waiting.begin();
        if (round % 2 == 0) leader.election->resign();
    }
    BOOST_TEST(eventually([&] { return !store.inspect("a", ignored); }));
}

BOOST_FIXTURE_TEST_CASE(candidates_on_a_pool_of_threads_never_lead_at_once, fixture)
{
    // Also of a leader that is cancelled, after whom others lead.
    struct ends_turn {
        std::atomic<int>& leading;
        ~ends_turn() { --leading; }
    };
    std::atomic<int> leading = 0;
    std::atomic<int> most = 0;
    std::atomic<int> turns = 0;
    std::array<cancellation, 4> slots;
    std::vector<std::unique_ptr<candidate>> all;
    running_context io{3};
    std::vector<net::strand<net::io_context::executor_type>> strands;
    std::array<std::promise<std::exception_ptr>, 4> done;
    for (std::size_t i = 0; i < done.size(); ++i) {
        all.push_back(std::make_unique<candidate>(store, lh::leader_election_options{.cooldown = 1ms}));
        auto work = [&](term_type& term) -> net::awaitable<void> {
            if (!term.held()) co_return;
            most = std::max(most.load(), ++leading);
            const ends_turn at_end{leading};
            net::steady_timer pause{co_await net::this_coro::executor, 1ms};
            co_await pause.async_wait(net::use_awaitable);
            ++turns;
        };
        // Several threads run the context, so that the slot needs a strand.
        const auto& strand = strands.emplace_back(net::make_strand(io.context));
        lh::async_lead(*all[i]->election, work,
                       slots[i].on(net::bind_executor(strand, [&done, i](std::exception_ptr e) { done[i].set_value(e); })));
    }
    BOOST_TEST(eventually([&] { return turns >= 20; }));
    for (std::size_t i = 0; i < done.size(); ++i) slots[i].cancel(strands[i]);
    for (auto& each : done) each.get_future().get();
    BOOST_TEST(most == 1);
}

BOOST_FIXTURE_TEST_CASE(a_coroutine_that_leads_is_cancelled_by_the_handlers_slot, fixture)
{
    candidate one{store};
    auto work = [&](term_type&) -> net::awaitable<void> {
        net::steady_timer never{co_await net::this_coro::executor, 1h};
        co_await never.async_wait(net::use_awaitable);
    };
    lh::async_lead(*one.election, work,
                   one.slots.on(net::bind_executor(one.io.context, [&](std::exception_ptr e) { one.done.set_value(e); })));
    BOOST_TEST(one.comes_to_lead());
    one.stop();
    BOOST_TEST((one.done.get_future().get() == nullptr));
    BOOST_TEST(!store.inspect("a", ignored));
}

BOOST_AUTO_TEST_SUITE_END()
#endif
