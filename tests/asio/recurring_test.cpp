// SPDX-License-Identifier: BSL-1.0
#include <asio/support.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(asio_recurring_test)

using namespace leasehold_test;

namespace {

constexpr lh::store_time noon = std::chrono::sys_days{std::chrono::year{2026} / 11 / 25} + 12h;
constexpr lh::fire_time last_night = noon - 9h;
constexpr lh::every nightly{.period = 24h, .at = 3h};

using turned_store = lh::basic_memory_store<lh::manual_clock>;

struct turned_scene {
    lh::manual_clock clock;
    turned_store store{clock, noon};

    using job_type = lh::recurring<turned_store, lh::every, lh::manual_clock, lh::fixed_owner_id, lh::no_renewal>;
    using run_type = job_type::run_type;

    job_type job_of(const char* owner, const lh::recurring_options& options = {})
    {
        return job_type{store, "report", nightly, options, clock, lh::fixed_owner_id{owner}, lh::no_renewal{}};
    }

    const lh::recurring_options once{.max_attempts = 1};
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(begins_a_fire_that_is_due, turned_scene)
{
    auto job = job_of("a");
    running_context io;
    recorder<run_type> first, second;
    lh::async_try_begin(job, first.on(io.context));
    {
        auto [ec, run, on] = first.get();
        BOOST_TEST(!ec);
        BOOST_REQUIRE(run.held());
        BOOST_TEST((run.fire() == last_night));
        BOOST_TEST(run.complete());
    }
    lh::async_try_begin(job, second.on(io.context));
    const auto none = second.get();
    BOOST_TEST((!none.ec && none.result.empty()));
}

BOOST_FIXTURE_TEST_CASE(fire_that_another_host_is_at_is_not_begun, turned_scene)
{
    auto a = job_of("a");
    auto b = job_of("b");
    running_context io;
    const auto at_it = a.try_begin();
    recorder<run_type> other;
    lh::async_try_begin(b, other.on(io.context));
    const auto none = other.get();
    BOOST_TEST((!none.ec && none.result.empty()));
}

BOOST_FIXTURE_TEST_CASE(record_of_another_schedule_is_an_error, turned_scene)
{
    lh::recurring hourly{store, "report", lh::every{.period = 1h}, lh::recurring_options{}, clock, lh::no_renewal{}};
    {
        auto run = hourly.try_begin();
        BOOST_TEST(run.complete());
    }
    auto job = job_of("a");
    running_context io;
    recorder<run_type> refused;
    lh::async_try_begin(job, refused.on(io.context));
    BOOST_TEST((refused.get().ec == lh::errc::invalid_terms));
}

namespace {

// Answers nothing until it is opened.
struct gated_store : lh::forwarding_store<turned_store, gated_store> {
    using forwarding_store::forwarding_store;
    template <class Make>
    auto around(const lh::store_call&, std::error_code&, Make make) -> decltype(make())
    {
        open.wait(false);
        return make();
    }
    std::atomic<bool> open = false;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(cancelled_attempt_leaves_the_fire_open, turned_scene)
{
    gated_store gated{store};
    lh::recurring job{gated, "report", nightly, lh::recurring_options{}, clock, lh::fixed_owner_id{"a"}, lh::no_renewal{}};
    running_context io;
    cancellation slots;
    recorder<decltype(job)::run_type> cancelled, next;
    std::promise<void> begun;
    net::post(io.context, [&] {
        lh::async_try_begin(job, slots.on(cancelled.on(io.context)));
        slots.emit();
        begun.set_value();
    });
    begun.get_future().get();
    gated.open = true;  // before that, no answer can come
    gated.open.notify_all();
    {
        const auto none = cancelled.get();
        BOOST_TEST((none.ec == aborted && none.result.empty()));
    }
    lh::async_try_begin(job, next.on(io.context));
    const auto again = next.get();
    BOOST_TEST(again.result.held());
}

namespace {

struct waiting_scene : turned_scene {
    running_context io;
    job_type a = job_of("a");
    job_type b = job_of("b");
    recorder<run_type> waits;
    cancellation slots;

    bool is_empty_without_an_error()
    {
        const auto none = waits.get();
        return !none.ec && none.result.empty();
    }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(wait_takes_a_fire_that_is_due_at_once, waiting_scene)
{
    lh::async_try_begin_for(b, 24h, waits.on(io.context));
    auto [ec, run, on] = waits.get();
    BOOST_TEST(!ec);
    BOOST_REQUIRE(run.held());
    BOOST_TEST((run.fire() == last_night));
    BOOST_TEST(run.complete());
    BOOST_TEST(b.last()->owner == "b");
}

BOOST_FIXTURE_TEST_CASE(wait_takes_the_fire_over_from_one_that_fails_when_the_pause_is_over, waiting_scene)
{
    auto at_it = a.try_begin();
    BOOST_REQUIRE(at_it.held());
    lh::async_try_begin_for(b, 30s, waits.on(io.context));
    BOOST_TEST(!waits.called(20ms));
    BOOST_TEST(at_it.fail());  // which is retried after a second
    BOOST_TEST(!waits.called(20ms));
    for (int i = 0; i < 200 && !waits.called(10ms); ++i) clock.advance(100ms);
    const auto over = waits.get();
    BOOST_TEST(!over.ec);
    BOOST_TEST(over.result.held());
    BOOST_TEST((over.result.fire() == last_night));
}

BOOST_FIXTURE_TEST_CASE(wait_takes_the_fire_over_from_one_that_dies, waiting_scene)
{
    std::error_code ec;
    BOOST_REQUIRE((store.try_acquire("report", "dead", 60s, ec).status == lh::acquire_status::granted));
    lh::async_try_begin_for(b, 10min, waits.on(io.context));
    BOOST_TEST(!waits.called(20ms));
    clock.advance(61s);
    const auto over = waits.get();
    BOOST_TEST(over.result.held());
}

BOOST_FIXTURE_TEST_CASE(wait_ends_without_an_error_when_another_has_completed_the_fire, waiting_scene)
{
    auto at_it = a.try_begin();
    lh::async_try_begin_for(b, 24h, waits.on(io.context));
    BOOST_TEST(!waits.called(20ms));
    BOOST_TEST(at_it.complete());
    at_it.release();
    BOOST_TEST(is_empty_without_an_error());
}

BOOST_FIXTURE_TEST_CASE(wait_without_time_begins_a_fire_that_is_due, waiting_scene)
{
    lh::async_try_begin_for(b, 0s, waits.on(io.context));
    const auto begun = waits.get();
    BOOST_TEST(!begun.ec);
    BOOST_TEST(begun.result.held());
}

BOOST_FIXTURE_TEST_CASE(wait_ends_at_once_where_no_fire_is_due, waiting_scene)
{
    {
        auto run = a.try_begin();
        BOOST_TEST(run.complete());
    }
    lh::async_try_begin_for(b, 24h, waits.on(io.context));
    BOOST_TEST(is_empty_without_an_error());
}

BOOST_FIXTURE_TEST_CASE(wait_ends_without_an_error_when_its_time_is_over, waiting_scene)
{
    const auto at_it = a.try_begin();
    recorder<run_type> no_time;
    lh::async_try_begin_for(b, 0s, no_time.on(io.context));
    const auto none = no_time.get();
    BOOST_TEST((!none.ec && none.result.empty()));
    lh::async_try_begin_for(b, 5s, waits.on(io.context));
    BOOST_TEST(!waits.called(20ms));
    clock.advance(5s);
    BOOST_TEST(is_empty_without_an_error());
    BOOST_TEST(at_it.held());
}

BOOST_FIXTURE_TEST_CASE(time_that_is_over_in_the_pause_after_a_failure_ends_the_wait, waiting_scene)
{
    {
        auto run = a.try_begin();
        BOOST_TEST(run.fail());
    }
    lh::async_try_begin_for(b, 500ms, waits.on(io.context));
    BOOST_TEST(!waits.called(20ms));
    clock.advance(500ms);
    BOOST_TEST(is_empty_without_an_error());
}

BOOST_FIXTURE_TEST_CASE(cancelled_wait_holds_nothing, waiting_scene)
{
    auto at_it = a.try_begin();
    lh::async_try_begin_for(b, 24h, slots.on(waits.on(io.context)));
    BOOST_TEST(!waits.called(20ms));
    slots.cancel(io.context);
    {
        const auto none = waits.get();
        BOOST_TEST((none.ec == aborted && none.result.empty()));
    }
    at_it.release();
    const auto next = a.try_begin();
    BOOST_TEST(next.held());
}

BOOST_FIXTURE_TEST_CASE(wait_in_the_pause_after_a_failure_can_be_cancelled, waiting_scene)
{
    {
        auto run = a.try_begin();
        BOOST_TEST(run.fail());
    }
    lh::async_try_begin_for(b, 24h, slots.on(waits.on(io.context)));
    BOOST_TEST(!waits.called(20ms));
    slots.cancel(io.context);
    BOOST_TEST((waits.get().ec == aborted));
}

namespace {

// Keeps the answers to one kind of calls back until it is opened.
struct late_store : lh::forwarding_store<turned_store, late_store> {
    late_store(turned_store& in, lh::store_operation at) : forwarding_store{in}, late_at{at} {}
    template <class Make>
    auto around(const lh::store_call& call, std::error_code&, Make make) -> decltype(make())
    {
        auto answer = make();
        if (call.operation == late_at) {
            answered = true;
            answered.notify_all();
            open.wait(false);
        }
        return answer;
    }
    const lh::store_operation late_at;
    std::atomic<bool> answered = false;
    std::atomic<bool> open = false;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(cancellation_that_overtakes_the_grant_leaves_the_fire_open, turned_scene)
{
    auto other = job_of("b", once);
    running_context io;
    for (const bool waits : {false, true}) {
        late_store late{store, lh::store_operation::try_acquire};
        lh::recurring job{late, "report", nightly, once, clock, lh::fixed_owner_id{"a"}, lh::no_renewal{}};
        cancellation slots;
        recorder<decltype(job)::run_type> cancelled;
        if (waits)
            lh::async_try_begin_for(job, 24h, slots.on(cancelled.on(io.context)));
        else
            lh::async_try_begin(job, slots.on(cancelled.on(io.context)));
        late.answered.wait(false);
        slots.cancel(io.context);
        late.open = true;
        late.open.notify_all();
        const auto none = cancelled.get();
        BOOST_TEST((none.ec == aborted && none.result.empty()));
        auto again = other.try_begin();
        BOOST_TEST(again.held());
        BOOST_TEST(again.attempt() == 1);
        if (again.held()) again.complete();
        clock.advance(24h);
    }
}

BOOST_FIXTURE_TEST_CASE(handler_that_works_under_the_run_where_it_is_uses_up_an_attempt, turned_scene)
{
    auto job = job_of("a", once);
    auto other = job_of("b", once);
    running_context io;
    std::promise<bool> held;
    lh::async_try_begin(job, net::bind_executor(io.context, [&held](error_code, auto&& run) { held.set_value(run.held()); }));
    BOOST_TEST(held.get_future().get());
    std::error_code ec;
    BOOST_REQUIRE(eventually([&] { return !store.inspect("report", ec).has_value(); }));
    const auto again = other.try_begin();
    BOOST_TEST(again.empty());  // it was the only one
}

BOOST_FIXTURE_TEST_CASE(context_that_is_gone_before_the_run_is_delivered_leaves_the_fire_open, turned_scene)
{
    auto job = job_of("a", once);
    auto other = job_of("b", once);
    {
        net::io_context never_run;
        lh::async_try_begin(job, net::bind_executor(never_run, [](error_code, const run_type&) {}));
        BOOST_REQUIRE(eventually([&] { return store.checkpoint("report").has_value(); }));
    }
    const auto again = other.try_begin();
    BOOST_TEST(again.held());
    BOOST_TEST(again.attempt() == 1);
}

// Who has begun in time is not too late because it was cancelled.
BOOST_FIXTURE_TEST_CASE(fire_that_was_left_open_in_time_is_begun_later_with_catch_up_none, turned_scene)
{
    const lh::recurring_options none{.catch_up = lh::catch_up::none, .max_attempts = 1, .begin_within = 10h};
    auto job = job_of("a", none);
    auto other = job_of("b", none);
    {
        net::io_context never_run;
        lh::async_try_begin(job, net::bind_executor(never_run, [](error_code, const run_type&) {}));
        BOOST_REQUIRE(eventually([&] { return store.checkpoint("report").has_value(); }));
    }
    clock.advance(2h);
    const auto again = other.try_begin();
    BOOST_TEST((again.held() && again.fire() == last_night));
}

BOOST_FIXTURE_TEST_CASE(wait_for_a_record_of_another_schedule_is_an_error, waiting_scene)
{
    lh::recurring hourly{store, "report", lh::every{.period = 1h}, lh::recurring_options{}, clock, lh::no_renewal{}};
    {
        auto run = hourly.try_begin();
        BOOST_TEST(run.complete());
    }
    lh::async_try_begin_for(b, 24h, waits.on(io.context));
    BOOST_TEST((waits.get().ec == lh::errc::invalid_terms));
}

namespace {

// Fails at one kind of calls.
struct failing_store : lh::forwarding_store<turned_store, failing_store> {
    failing_store(turned_store& in, lh::store_operation at) : forwarding_store{in}, fails_at{at} {}
    template <class Make>
    auto around(const lh::store_call& call, std::error_code& ec, Make make) -> decltype(make())
    {
        if (call.operation != fails_at) return make();
        ec = std::make_error_code(std::errc::host_unreachable);
        return decltype(make()){};
    }
    const lh::store_operation fails_at;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(outage_ends_the_wait_with_its_error, turned_scene)
{
    using enum lh::store_operation;
    for (const auto at : {look_at_checkpoint, try_acquire, save_checkpoint}) {
        failing_store failing{store, at};
        const lh::recurring_options options{.max_attempts = 2};  // so that the beginning is noted
        lh::recurring job{failing, "report", nightly, options, clock, lh::no_renewal{}};
        running_context io;
        recorder<decltype(job)::run_type> waits;
        lh::async_try_begin_for(job, 24h, waits.on(io.context));
        const auto none = waits.get();
        BOOST_TEST((none.ec == std::errc::host_unreachable && none.result.empty()));
    }
    std::error_code ec;
    BOOST_TEST(!store.inspect("report", ec));
}

BOOST_AUTO_TEST_CASE(context_that_is_gone_ends_the_wait_and_holds_nothing)
{
    lh::memory_store store;
    lh::recurring a{store, "report", nightly}, b{store, "report", nightly};
    auto at_it = a.try_begin();
    auto owned = std::make_shared<int>(1);
    const std::weak_ptr<int> is_alive = owned;
    {
        net::io_context short_lived;
        const auto never = [kept = std::move(owned)](error_code, const auto&) {};
        lh::async_try_begin_for(b, 24h, net::bind_executor(short_lived, never));
    }
    BOOST_TEST(is_alive.expired());
    at_it.release();
    const auto next = a.try_begin();
    BOOST_TEST(next.held());
}

#if LEASEHOLD_ASIO_HAS_COROUTINES

namespace {

// A host whose loop runs on a context of its own.
struct host {
    using job_type = lh::recurring<lh::memory_store, lh::every>;
    using run_type = job_type::run_type;

    explicit host(lh::memory_store& store, lh::recurring_options options = {}, lh::every when = {.period = 1min},
                  lh::duration pause = 1ms)
    {
        options.ttl = 3s;
        options.retry_min = pause;
        options.retry_max = 5 * pause;
        options.catch_up = lh::catch_up::all;
        options.on_failed = [this](lh::fire_time, std::exception_ptr) { ++failures; };
        options.on_error = [this](std::error_code) { ++errors; };
        job.emplace(store, "report", when, std::move(options));
    }
    host(const host&) = delete;
    host& operator=(const host&) = delete;
    ~host() { stop(); }

    template <class Job>
    void begin(Job works)
    {
        lh::async_run_recurring(*job, std::move(works),
                                slots.on(net::bind_executor(io.context, [this](std::exception_ptr e) { done.set_value(e); })));
    }
    void stop() { slots.cancel(io.context); }
    [[nodiscard]] std::exception_ptr end()
    {
        stop();
        return done.get_future().get();
    }

    std::atomic<int> failures = 0;
    std::atomic<int> errors = 0;
    std::optional<job_type> job;
    cancellation slots;
    std::promise<std::exception_ptr> done;
    running_context io;  // the last: its end comes before that of what the coroutine refers to
};

constexpr lh::every often{.period = 20ms};

net::awaitable<void> wait_for(lh::duration how_long)
{
    net::steady_timer pause{co_await net::this_coro::executor};
    pause.expires_after(how_long);
    co_await pause.async_wait(net::use_awaitable);
}

}  // namespace

BOOST_AUTO_TEST_CASE(runs_each_fire_once_and_in_order)
{
    lh::memory_store store;
    host one{store, {}, often};
    std::vector<lh::fire_time> fires;
    std::atomic<int> count = 0;
    one.begin([&](host::run_type& run) -> net::awaitable<void> {
        fires.push_back(run.fire());
        ++count;
        co_return;
    });
    BOOST_TEST(eventually([&] { return count >= 5; }));
    BOOST_TEST((one.end() == nullptr));
    for (std::size_t i = 1; i < fires.size(); ++i) BOOST_TEST((fires[i] == fires[i - 1] + 20ms));
    BOOST_TEST((one.job->last()->fire == fires.back()));
    BOOST_TEST(one.failures == 0);
    BOOST_TEST(one.errors == 0);
}

BOOST_AUTO_TEST_CASE(hosts_share_the_fires_and_run_none_twice)
{
    lh::memory_store store;
    std::mutex mutex;
    std::map<lh::fire_time, int> completed;
    const auto works = [&](host::run_type& run) -> net::awaitable<void> {
        co_await wait_for(2ms);
        if (!run.complete()) co_return;
        const std::lock_guard lock{mutex};
        ++completed[run.fire()];
    };
    host one{store, {}, often}, other{store, {}, often};
    one.begin(works);
    other.begin(works);
    BOOST_TEST(eventually([&] {
        const std::lock_guard lock{mutex};
        return completed.size() >= 8;
    }));
    BOOST_TEST((one.end() == nullptr));
    BOOST_TEST((other.end() == nullptr));
    for (const auto& [fire, times] : completed) BOOST_TEST(times == 1);
}

BOOST_AUTO_TEST_CASE(job_that_throws_is_tried_again)
{
    lh::memory_store store;
    host one{store, {}, often};
    std::atomic<int> begun = 0;
    std::vector<lh::fire_time> fires;
    one.begin([&](host::run_type& run) -> net::awaitable<void> {
        fires.push_back(run.fire());
        if (++begun <= 2) throw std::runtime_error{"fails"};
        co_return;
    });
    BOOST_TEST(eventually([&] { return begun >= 3; }));
    BOOST_TEST((one.end() == nullptr));
    BOOST_TEST(one.failures == 2);
    BOOST_TEST((fires[0] == fires[1] && fires[1] == fires[2]));
}

BOOST_AUTO_TEST_CASE(fire_that_its_job_has_left_open_is_begun_again_after_a_pause)
{
    lh::memory_store store;
    for (const lh::duration pause : {lh::duration{10min}, lh::duration{1ms}}) {
        host one{store, {}, often, pause};
        std::atomic<int> begun = 0;
        one.begin([&](host::run_type& run) -> net::awaitable<void> {
            ++begun;
            run.release();
            co_return;
        });
        BOOST_TEST(eventually([&] { return begun > 0; }));
        BOOST_TEST((pause == 1ms ? eventually([&] { return begun > 1; }) : throughout([&] { return begun < 2; }, 50ms)));
        BOOST_TEST((one.end() == nullptr));
    }
}

BOOST_AUTO_TEST_CASE(job_that_is_given_up_is_told_on_the_strand)
{
    lh::memory_store store;
    std::atomic<int> given_up = 0;
    std::thread::id works_on, told_on;
    lh::recurring_options options{.max_attempts = 2};
    options.on_given_up = [&](lh::fire_time) {
        told_on = std::this_thread::get_id();
        ++given_up;
    };
    host one{store, std::move(options), often};
    one.begin([&](host::run_type&) -> net::awaitable<void> {
        works_on = std::this_thread::get_id();
        co_await wait_for(1us);
        throw std::runtime_error{"fails"};
    });
    BOOST_TEST(eventually([&] { return given_up >= 1; }));
    BOOST_TEST((one.end() == nullptr));
    BOOST_TEST((works_on == told_on));
}

BOOST_AUTO_TEST_CASE(hook_that_throws_for_a_missed_fire_ends_the_operation_before_an_attempt_is_counted)
{
    lh::memory_store store;
    {
        lh::recurring first{store, "report", often, lh::no_renewal{}};
        auto run = first.try_begin();
        BOOST_TEST(run.complete());
        BOOST_TEST(eventually([&] { return store.now() > run.fire() + 100ms; }));
    }
    std::atomic<int> begun = 0;
    lh::recurring_options options{.max_attempts = 1};
    options.on_missed = [](lh::fire_time) { throw std::runtime_error{"the pager is broken"}; };
    host one{store};
    one.job.emplace(store, "report", often, std::move(options));
    one.begin([&](host::run_type&) -> net::awaitable<void> {
        ++begun;
        co_return;
    });
    BOOST_TEST((one.done.get_future().get() != nullptr));
    BOOST_TEST(begun == 0);
    BOOST_TEST(!lh::read_fire_record(store.checkpoint("report").value().text).value().open.has_value());
}

namespace {

// A fire is due, and the first look at the record tells the one before it.
struct told_scene : turned_scene {
    told_scene()
    {
        auto first = job_of("first");
        auto run = first.try_begin();
        run.complete();
        clock.advance(24h);
    }

    // Notes on which thread the last release was made.
    struct noting_store : lh::forwarding_store<turned_store, noting_store> {
        using forwarding_store::forwarding_store;
        template <class Make>
        auto around(const lh::store_call& call, std::error_code&, Make make) -> decltype(make())
        {
            if (call.operation == lh::store_operation::release) released_on = std::this_thread::get_id();
            return make();
        }
        std::atomic<std::thread::id> released_on{};
    };

    auto job_telling(lh::recurring_options options)
    {
        return lh::recurring{noting, "report", nightly, std::move(options), clock, lh::fixed_owner_id{"a"}, lh::no_renewal{}};
    }

    noting_store noting{store};
    cancellation slots;
    std::promise<std::exception_ptr> done;
    running_context io;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(hook_that_throws_when_a_fire_was_begun_gives_the_attempt_back, told_scene)
{
    std::atomic<int> begun = 0;
    std::thread::id told_on;
    lh::recurring_options options{.max_attempts = 1};
    options.on_last_completed = [&](const lh::completed_fire&) {
        told_on = std::this_thread::get_id();
        throw std::runtime_error{"the pager is broken"};
    };
    auto job = job_telling(std::move(options));
    lh::async_run_recurring(
        job,
        [&](auto&) -> net::awaitable<void> {
            ++begun;
            co_return;
        },
        net::bind_executor(io.context, [this](std::exception_ptr e) { done.set_value(e); }));
    BOOST_CHECK_THROW(std::rethrow_exception(done.get_future().get()), std::runtime_error);
    BOOST_TEST(begun == 0);
    BOOST_TEST((noting.released_on.load() != std::thread::id{}));
    BOOST_TEST((noting.released_on.load() != told_on));  // which may not wait for the store
    auto other = job_of("b", once);
    const auto again = other.try_begin();
    BOOST_TEST(again.held());
    BOOST_TEST(again.attempt() == 1);
}

BOOST_FIXTURE_TEST_CASE(hook_that_throws_for_a_missed_fire_keeps_no_news_from_another_hook, told_scene)
{
    clock.advance(24h);
    bool told = false;
    lh::recurring_options options;
    options.on_missed = [](lh::fire_time) { throw std::runtime_error{"the pager is broken"}; };
    options.on_last_completed = [&](const lh::completed_fire&) { told = true; };
    auto job = job_telling(std::move(options));
    lh::async_run_recurring(job, [](auto&) -> net::awaitable<void> { co_return; },
                            net::bind_executor(io.context, [this](std::exception_ptr e) { done.set_value(e); }));
    BOOST_CHECK_THROW(std::rethrow_exception(done.get_future().get()), std::runtime_error);
    BOOST_TEST(told);
}

BOOST_FIXTURE_TEST_CASE(job_is_not_begun_under_a_lease_that_is_lost, told_scene)
{
    lh::recurring_options options{.retry_min = 1ms, .retry_max = 1ms};
    options.on_last_completed = [&](const lh::completed_fire&) { clock.advance(2min); };  // longer than the ttl
    auto job = job_telling(std::move(options));
    std::vector<bool> begun_held;
    lh::async_run_recurring(
        job,
        [&](auto& run) -> net::awaitable<void> {
            begun_held.push_back(run.held());
            slots.emit();
            co_return;
        },
        slots.on(net::bind_executor(io.context, [this](std::exception_ptr e) { done.set_value(e); })));
    BOOST_TEST((done.get_future().get() == nullptr));
    BOOST_TEST((begun_held == std::vector<bool>{true}));
}

BOOST_FIXTURE_TEST_CASE(stop_before_the_job_is_begun_leaves_the_fire_open_with_all_its_attempts, told_scene)
{
    late_store late{store, lh::store_operation::save_checkpoint};
    lh::recurring job{late, "report", nightly, once, clock, lh::fixed_owner_id{"a"}, lh::no_renewal{}};
    std::atomic<int> begun = 0;
    lh::async_run_recurring(
        job,
        [&](auto&) -> net::awaitable<void> {
            ++begun;
            co_return;
        },
        slots.on(net::bind_executor(io.context, [this](std::exception_ptr e) { done.set_value(e); })));
    late.answered.wait(false);
    slots.cancel(io.context);
    late.open = true;
    late.open.notify_all();
    BOOST_TEST((done.get_future().get() == nullptr));
    BOOST_TEST(begun == 0);
    auto other = job_of("b", once);
    const auto again = other.try_begin();
    BOOST_TEST(again.held());
    BOOST_TEST(again.attempt() == 1);
}

BOOST_FIXTURE_TEST_CASE(context_that_is_gone_before_the_job_leaves_the_fire_open, turned_scene)
{
    late_store late{store, lh::store_operation::save_checkpoint};
    lh::recurring job{late, "report", lh::every{.period = 20ms}, once, clock, lh::fixed_owner_id{"a"}, lh::no_renewal{}};
    std::atomic<int> begun = 0;
    {
        net::io_context short_lived;
        const auto work = net::make_work_guard(short_lived);
        lh::async_run_recurring(
            job,
            [&](auto&) -> net::awaitable<void> {
                ++begun;
                co_return;
            },
            net::bind_executor(short_lived, [](std::exception_ptr) {}));
        BOOST_TEST(eventually([&] {
            short_lived.poll();
            clock.advance(20ms);
            return late.answered.load();
        }));
        late.open = true;
        late.open.notify_all();
    }
    BOOST_TEST(begun == 0);
    BOOST_TEST(lh::read_fire_record(store.checkpoint("report").value().text).value().open.value().attempts == 0);
    std::error_code ec;
    BOOST_TEST(!store.inspect("report", ec));
}

BOOST_AUTO_TEST_CASE(fires_that_are_completed_are_told_on_the_strand)
{
    lh::memory_store store;
    std::thread::id works_on;
    std::vector<lh::fire_time> begun, completed, last;
    bool elsewhere = false;
    std::atomic<std::size_t> told = 0;
    lh::recurring_options options;
    options.on_completed = [&](lh::fire_time fire) { completed.push_back(fire); };
    options.on_last_completed = [&](const lh::completed_fire& of) {
        last.push_back(of.fire);
        elsewhere = elsewhere || std::this_thread::get_id() != works_on;
        ++told;
    };
    host one{store, std::move(options), often};
    one.begin([&](host::run_type& run) -> net::awaitable<void> {
        works_on = std::this_thread::get_id();
        begun.push_back(run.fire());
        co_await wait_for(1us);
        if (begun.size() == 2) run.complete();  // or else when it has returned
    });
    BOOST_TEST(eventually([&] { return told >= 3; }));
    BOOST_TEST((one.end() == nullptr));
    BOOST_TEST((completed == begun));
    BOOST_TEST((last == begun));
    BOOST_TEST(!elsewhere);
}

BOOST_AUTO_TEST_CASE(stop_cancels_the_job_and_leaves_its_fire_open)
{
    lh::memory_store store;
    host one{store, {}, often};
    std::promise<lh::fire_time> begun;
    bool first = true;
    one.begin([&](host::run_type& run) -> net::awaitable<void> {
        if (std::exchange(first, false)) begun.set_value(run.fire());
        co_await wait_for(1h);
    });
    const lh::fire_time fire = begun.get_future().get();
    BOOST_TEST((one.end() == nullptr));
    BOOST_TEST(one.failures == 0);
    std::error_code ec;
    BOOST_TEST(!store.inspect("report", ec));
    lh::recurring next{store, "report", often, lh::recurring_options{.catch_up = lh::catch_up::all}};
    const auto run = next.try_begin();
    BOOST_TEST((run.fire() == fire));
}

BOOST_AUTO_TEST_CASE(loss_of_the_lease_cancels_the_job_which_is_begun_again)
{
    lh::memory_store store;
    host one{store, {}, often};
    std::atomic<int> begun = 0;
    std::vector<lh::fire_time> fires;
    one.begin([&](host::run_type& run) -> net::awaitable<void> {
        fires.push_back(run.fire());
        if (++begun == 1) co_await wait_for(1h);
    });
    BOOST_TEST(eventually([&] { return begun == 1; }));
    store.force_release("report");
    BOOST_TEST(eventually([&] { return begun >= 2; }));
    BOOST_TEST((one.end() == nullptr));
    BOOST_TEST((fires[0] == fires[1]));
    BOOST_TEST(one.failures == 0);
}

BOOST_AUTO_TEST_CASE(another_schedule_ends_the_operation)
{
    lh::memory_store store;
    lh::recurring hourly{store, "report", lh::every{.period = 1h}};
    {
        auto run = hourly.try_begin();
        BOOST_TEST(run.complete());
    }
    host one{store, {}, often};
    one.begin([](host::run_type&) -> net::awaitable<void> { co_return; });
    const std::exception_ptr thrown = one.done.get_future().get();
    BOOST_REQUIRE((thrown != nullptr));
    BOOST_CHECK_THROW(std::rethrow_exception(thrown), std::system_error);
}

BOOST_AUTO_TEST_CASE(handler_is_never_called_within_the_initiating_function)
{
    lh::memory_store store;
    lh::recurring job{store, "report", often};
    cancellation slots;
    net::io_context here;
    bool initiating = false, called = false, called_within = false;
    net::post(here, [&] {
        initiating = true;
        const auto note = [&](std::exception_ptr) { (initiating ? called_within : called) = true; };
        lh::async_run_recurring(job, [](auto&) -> net::awaitable<void> { co_return; }, slots.on(net::bind_executor(here, note)));
        slots.emit();
        initiating = false;
    });
    here.run();
    BOOST_TEST(!called_within);
    BOOST_TEST(called);
}

#endif

BOOST_AUTO_TEST_SUITE_END()
