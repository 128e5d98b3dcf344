// SPDX-License-Identifier: BSL-1.0
#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/renewal/engine.hpp>
#include <leasehold/renewal/engine_registry.hpp>

#include <support/eventually.hpp>
#include <support/scripted_store.hpp>
#include <support/thread_count.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(engine_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using leasehold_test::gate;
using leasehold_test::thread_count;

namespace {

using manual_engine = lh::renewal::engine<lh::manual_clock>;

struct probe final : lh::renewal::watched_term {
    bool step() override
    {
        const std::lock_guard lock{mutex};
        ++steps;
        return on_step ? on_step() : false;
    }

    void renew() override
    {
        if (on_renew) on_renew();
        ++renewals;
    }

    void due_before(lh::time_point deadline) { set_renewal(lh::renewal::batch_tier::none, deadline); }

    std::mutex mutex;
    std::atomic<int> steps = 0;
    std::atomic<int> renewals = 0;
    std::function<bool()> on_step;
    std::function<void()> on_renew;
};

struct running {
    std::shared_ptr<probe> enrolled(lh::duration in)
    {
        auto p = std::make_shared<probe>();
        engine->enroll();
        schedule(p, in);
        return p;
    }

    void schedule(const std::shared_ptr<probe>& p, lh::duration in)
    {
        const std::lock_guard lock{p->mutex};
        engine->schedule(p, clock.now() + in);
    }

    lh::manual_clock clock;
    gate hang{clock};
    std::unique_ptr<manual_engine> engine = std::make_unique<manual_engine>(clock);
};

}  // namespace

BOOST_AUTO_TEST_CASE(term_is_asked_when_it_is_due_and_not_before)
{
    running r;
    const auto p = r.enrolled(10s);
    r.clock.advance(10s - 1ns);
    BOOST_TEST(p->steps == 0);
    r.clock.advance(1ns);
    BOOST_TEST(p->steps == 1);
    r.clock.advance(1h);
    BOOST_TEST(p->steps == 1, "asked again without being scheduled");
}

BOOST_AUTO_TEST_CASE(earlier_instant_wakes_the_watchdog)
{
    running r;
    const auto late = r.enrolled(1h);
    r.clock.advance(1s);  // the watchdog sleeps for `late`
    const auto soon = r.enrolled(5s);
    r.schedule(late, 10s);
    r.clock.advance(5s);
    BOOST_TEST(soon->steps == 1);
    BOOST_TEST(late->steps == 0);
    r.clock.advance(5s);
    BOOST_TEST(late->steps == 1);
}

BOOST_AUTO_TEST_CASE(watchdog_on_real_time_is_woken_for_an_earlier_instant)
{
    // On a clock that nobody advances only the wake itself can bring the watchdog round.
    lh::renewal::engine<lh::steady_clock> engine{lh::steady_clock{}};
    const auto p = std::make_shared<probe>();
    engine.enroll();
    for (int i = 1; i <= 20; ++i) {
        const std::lock_guard lock{p->mutex};
        engine.schedule(p, lh::steady_clock{}.now());
    }
    BOOST_TEST(eventually([&] { return p->steps >= 1; }));
    engine.withdraw(*p);
}

BOOST_AUTO_TEST_CASE(withdrawn_term_is_not_asked_and_is_dropped)
{
    running r;
    const auto p = r.enrolled(10s);
    r.engine->withdraw(*p);
    BOOST_TEST(p.use_count() == 1);
    r.clock.advance(1h);
    BOOST_TEST(p->steps == 0);
}

BOOST_AUTO_TEST_CASE(later_instant_is_left_to_the_step_that_comes_earlier)
{
    running r;
    const auto p = r.enrolled(10s);
    r.schedule(p, 20s);
    r.clock.advance(10s);
    BOOST_TEST(p->steps == 1, "a step that comes too early is cheap; the queue must not be touched for it");
}

BOOST_AUTO_TEST_CASE(renewals_run_on_workers_and_never_on_the_watchdog)
{
    running r;
    std::atomic<std::thread::id> watchdog, worker;
    const auto p = r.enrolled(10s);
    p->on_step = [&] {
        watchdog = std::this_thread::get_id();
        return true;
    };
    p->on_renew = [&] { worker = std::this_thread::get_id(); };
    r.clock.advance(10s);
    BOOST_TEST(eventually([&] { return p->renewals == 1; }));
    BOOST_TEST((watchdog.load() != worker.load()));
    BOOST_TEST((watchdog.load() != std::this_thread::get_id()));
}

BOOST_AUTO_TEST_CASE(one_hanging_renewal_does_not_keep_the_others_due_at_the_same_instant)
{
    for (int round = 0; round < 30; ++round) {
        running r;
        const auto first = r.enrolled(10s);
        first->on_step = [] { return true; };
        first->on_renew = [&] { r.hang.pass(); };
        std::vector<std::shared_ptr<probe>> others;
        for (int i = 0; i < 3; ++i) {
            others.push_back(r.enrolled(10s));
            others.back()->on_step = [] { return true; };
        }
        r.clock.advance(10s);
        for (const auto& other : others)
            BOOST_TEST_REQUIRE(eventually([&] { return other->renewals == 1; }),
                               "left to the worker that hangs, round " << round);
        r.hang.open();
        r.engine.reset();
    }
}

BOOST_AUTO_TEST_CASE(renewal_of_the_earliest_deadline_goes_first)
{
    running r;
    for (std::size_t i = 0; i < manual_engine::workers_max; ++i) {
        const auto stuck = r.enrolled(5s);
        stuck->on_step = [] { return true; };
        stuck->on_renew = [&] { r.hang.pass(); };
    }
    r.clock.advance(5s);
    BOOST_TEST(r.hang.reached_by(static_cast<int>(manual_engine::workers_max)));
    std::mutex mutex;
    std::vector<int> renewed;
    std::vector<std::shared_ptr<probe>> waiting;
    for (const int deadline : {9, 7, 8}) {
        const auto p = waiting.emplace_back(r.enrolled(1s + std::chrono::milliseconds{waiting.size()}));
        p->on_step = [&r, p = p.get(), deadline] {
            p->due_before(r.clock.now() + std::chrono::seconds{deadline});
            return true;
        };
        p->on_renew = [&mutex, &renewed, deadline] {
            const std::lock_guard lock{mutex};
            renewed.push_back(deadline);
        };
    }
    r.clock.advance(2s);
    r.hang.open();
    for (const auto& p : waiting) BOOST_TEST(eventually([&] { return p->renewals == 1; }));
    const std::lock_guard lock{mutex};
    BOOST_TEST(renewed.front() == 7);
}

BOOST_AUTO_TEST_CASE(watchdog_goes_on_while_every_worker_hangs)
{
    running r;
    std::vector<std::shared_ptr<probe>> stuck;
    for (int i = 0; i < 5; ++i) {
        stuck.push_back(r.enrolled(10s));
        stuck.back()->on_step = [] { return true; };
        stuck.back()->on_renew = [&] { r.hang.pass(); };
    }
    const auto other = r.enrolled(20s);
    r.clock.advance(10s);
    BOOST_TEST(r.hang.reached_by(static_cast<int>(manual_engine::workers_max)));
    r.clock.advance(10s);
    BOOST_TEST(other->steps == 1);
    r.hang.open();
    for (const auto& p : stuck) BOOST_TEST(eventually([&] { return p->renewals == 1; }));
}

BOOST_AUTO_TEST_CASE(ten_thousand_terms_need_five_threads)
{
    const auto before = thread_count();
    running r;
    std::vector<std::shared_ptr<probe>> many;
    for (int i = 0; i < 10'000; ++i) {
        many.push_back(r.enrolled(10s + std::chrono::milliseconds{i % 7}));
        many.back()->on_step = [] { return true; };
    }
    r.clock.advance(11s);
    BOOST_TEST(eventually([&] { return std::ranges::all_of(many, [](const auto& p) { return p->renewals == 1; }); }, 60s));
    BOOST_TEST(thread_count() - before <= 2 + manual_engine::workers_max);
}

BOOST_AUTO_TEST_CASE(destructor_waits_for_the_renewal_under_way)
{
    std::atomic<bool> destroyed = false;
    running r;
    const auto p = r.enrolled(10s);
    p->on_step = [] { return true; };
    p->on_renew = [&] { r.hang.pass(); };
    r.clock.advance(10s);
    BOOST_TEST_REQUIRE(r.hang.reached_by());
    r.engine->withdraw(*p);
    std::thread destroys{[&] {
        r.engine.reset();
        destroyed = true;
    }};
    BOOST_TEST(leasehold_test::throughout([&] { return !destroyed; }, 30ms));
    r.hang.open();
    destroys.join();
    BOOST_TEST(p->renewals == 1);
}

BOOST_AUTO_TEST_CASE(may_be_destroyed_by_its_own_watchdog)
{
    running r;
    const auto p = r.enrolled(10s);
    std::atomic<bool> destroyed = false;
    p->on_step = [&] {
        r.engine->withdraw(*p);
        r.engine.reset();
        destroyed = true;
        return false;
    };
    r.clock.advance(10s);
    BOOST_TEST(leasehold_test::eventually([&] { return destroyed.load(); }));
    BOOST_TEST(p->steps == 1);
    BOOST_TEST(!r.engine);
}

BOOST_AUTO_TEST_CASE(may_be_destroyed_by_its_own_worker)
{
    const auto before = thread_count();
    running r;
    const auto p = r.enrolled(10s);
    std::atomic<bool> destroyed = false;
    p->on_step = [] { return true; };
    p->on_renew = [&] {
        r.engine->withdraw(*p);
        r.engine.reset();
        destroyed = true;
    };
    r.clock.advance(10s);
    BOOST_TEST(eventually([&] { return destroyed.load(); }));
    BOOST_TEST(eventually([&] { return thread_count() <= before; }));
}

BOOST_AUTO_TEST_CASE(registry_gives_one_engine_per_store_and_clock)
{
    const int store = 0, other_store = 0;
    const lh::manual_clock clock, other_clock;
    const auto engine = lh::renewal::engine_for(&store, clock);
    BOOST_TEST((lh::renewal::engine_for(&store, lh::manual_clock{clock}) == engine));
    BOOST_TEST((lh::renewal::engine_for(&other_store, clock) != engine));
    BOOST_TEST((lh::renewal::engine_for(&store, other_clock) != engine));
}

BOOST_AUTO_TEST_CASE(registry_does_not_keep_an_engine_that_nobody_uses)
{
    const int store = 0;
    const lh::manual_clock clock;
    const auto before = thread_count();
    std::weak_ptr<manual_engine> gone;
    for (int i = 0; i < 50; ++i) {
        const auto engine = lh::renewal::engine_for(&store, clock);
        BOOST_TEST(gone.expired());
        gone = engine;
    }
    BOOST_TEST(gone.expired());
    BOOST_TEST(eventually([&] { return thread_count() <= before; }));
}

BOOST_AUTO_TEST_SUITE_END()
