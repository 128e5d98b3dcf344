// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>
#include <leasehold/recurring.hpp>

#include <contract/asked_once.hpp>
#include <support/eventually.hpp>
#include <support/refused.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(recurring_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::refused;

namespace {

constexpr lh::store_time noon = std::chrono::sys_days{std::chrono::year{2026} / 11 / 25} + 12h;
constexpr lh::fire_time last_night = noon - 9h;
constexpr lh::every nightly{.period = 24h, .at = 3h};

// Calls of the store, but for renewals.
struct counter {
    std::shared_ptr<std::map<lh::store_operation, int>> calls = std::make_shared<std::map<lh::store_operation, int>>();
    std::shared_ptr<std::mutex> mutex = std::make_shared<std::mutex>();

    void operator()(const lh::store_call& call, const lh::store_call_report&) const
    {
        const std::lock_guard lock{*mutex};
        if (call.operation != lh::store_operation::renew) ++(*calls)[call.operation];
    }
    // And begins anew.
    int taken() const
    {
        const std::lock_guard lock{*mutex};
        int all = 0;
        for (const auto& [operation, times] : *calls) all += times;
        calls->clear();
        return all;
    }
};

using memory = lh::basic_memory_store<lh::manual_clock>;

struct scene {
    lh::manual_clock clock;
    memory store{clock, noon};
    std::vector<lh::fire_time> missed;
    std::vector<lh::fire_time> given_up;
    std::vector<std::string> told_completed;  // in order: the name's last fire with who has completed it, or one of this process
    lh::recurring_options tells{.on_completed = [this](lh::fire_time fire) { told_completed.push_back(short_text(fire)); },
                                .on_last_completed =
                                    [this](const lh::completed_fire& last) {
                                        told_completed.push_back(short_text(last.fire) + " by " + last.owner);
                                    }};

    static std::string short_text(lh::fire_time fire) { return std::to_string((fire - last_night) / 24h); }

    lh::recurring_options hooks(lh::recurring_options with = {})
    {
        with.on_missed = [this](lh::fire_time fire) { missed.push_back(fire); };
        with.on_given_up = [this](lh::fire_time fire) { given_up.push_back(fire); };
        return with;
    }

    template <lh::schedule Schedule = lh::every>
    auto host(const std::string& owner, lh::recurring_options with = {}, Schedule when = nightly, const std::string& name = "report")
    {
        return lh::recurring{store, name, when, hooks(std::move(with)), clock, lh::fixed_owner_id{std::string{owner}}, lh::no_renewal{}};
    }

    std::string record() const { return store.checkpoint("report").value().text; }
};

// The answer to the first completion gets lost, and comes so late that others have had a term.
struct late_store : lh::forwarding_store<memory, late_store> {
    using forwarding_store::forwarding_store;

    bool replace_checkpoint(std::string_view name, std::string_view owner, lh::fencing_token token, std::string_view replaced,
                            std::string_view text, std::error_code& ec)
    {
        const bool is_late = text.find("\ncompleted: ") != std::string_view::npos && std::exchange(first, false);
        if (!is_late || carries_out) {
            const bool saved = underlying().replace_checkpoint(name, owner, token, replaced, text, ec);
            if (!is_late) return saved;
        }
        meanwhile();
        ec = lh::errc::store_unavailable;
        return false;
    }

    bool carries_out = true;
    bool first = true;
    std::function<void()> meanwhile;
};

// Saves may stay behind on their way, with their answers lost; the first of them may be carried out later.
struct leaving_store : lh::forwarding_store<memory, leaving_store> {
    using forwarding_store::forwarding_store;

    bool replace_checkpoint(std::string_view name, std::string_view owner, lh::fencing_token token, std::string_view replaced,
                            std::string_view text, std::error_code& ec)
    {
        const auto save = [this, n = std::string{name}, o = std::string{owner}, token, r = std::string{replaced},
                           t = std::string{text}](std::error_code& failed) {
            return underlying().replace_checkpoint(n, o, token, r, t, failed);
        };
        if (leaves == 0) return save(ec);
        --leaves;
        if (!left) left = save;
        ec = lh::errc::store_unavailable;
        return false;
    }

    std::optional<lh::checkpoint_record> checkpoint(std::string_view name, std::error_code& ec)
    {
        std::optional<lh::checkpoint_record> seen = underlying().checkpoint(name, ec);
        looked();
        return seen;
    }

    lh::checkpoint_look look_at_checkpoint(std::string_view name, std::error_code& ec)
    {
        lh::checkpoint_look seen = underlying().look_at_checkpoint(name, ec);
        looked();
        return seen;
    }

    // Not before all has been left that is to be.
    void looked()
    {
        if (leaves > 0) return;
        if (const auto meanwhile = std::exchange(after_next_look, nullptr)) meanwhile();
    }

    bool carry_out()
    {
        std::error_code ec;
        return left(ec);
    }

    int leaves = 0;  // so many
    std::function<bool(std::error_code&)> left;
    std::function<void()> after_next_look;
};

// Something happens between a look at the record and the attempt at the lease.
struct delayed_store : lh::forwarding_store<memory, delayed_store> {
    using forwarding_store::forwarding_store;

    template <class Make>
    auto around(const lh::store_call& call, std::error_code&, Make make) -> decltype(make())
    {
        if (call.operation == lh::store_operation::try_acquire && before_attempt) std::exchange(before_attempt, {})();
        return make();
    }

    std::function<void()> before_attempt;
};

// The user's, in which a fire is completed; the test commits it.
struct transaction {
    std::string text;
    std::error_code ec;
    std::function<void()> while_it_waits_for_the_row{};

    template <class Guard>
    friend bool save_checkpoint_on(transaction& in, const Guard&, const std::string& saved)
    {
        if (in.while_it_waits_for_the_row) in.while_it_waits_for_the_row();
        in.text = saved;
        return true;
    }
};

template <class Recurring>
std::optional<lh::fire_time> completes(Recurring& job)
{
    auto run = job.try_begin();
    if (!run) return std::nullopt;
    return run.complete() ? std::optional{run.fire()} : std::nullopt;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(fire_is_completed_once_by_one_of_several_hosts, scene)
{
    auto a = host("a");
    auto b = host("b");
    {
        auto run = a.try_begin();
        BOOST_REQUIRE(run.held());
        BOOST_TEST((run.fire() == last_night));
        BOOST_TEST(is_empty(b.try_begin()));
        BOOST_TEST(run.complete());
        BOOST_TEST(run.complete());
        BOOST_TEST(run.completed());
        BOOST_TEST(is_empty(b.try_begin()));
    }
    BOOST_TEST(is_empty(a.try_begin()));
    BOOST_TEST(is_empty(b.try_begin()));
    clock.advance(15h);
    BOOST_TEST((completes(b) == last_night + 24h));
    BOOST_TEST(is_empty(a.try_begin()));
    BOOST_TEST((a.last()->fire == last_night + 24h));
    BOOST_TEST((a.last()->completed_at == noon + 15h));
    BOOST_TEST(a.last()->owner == "b");
    BOOST_TEST((a.next() == last_night + 48h));
}

BOOST_FIXTURE_TEST_CASE(run_that_is_not_completed_leaves_its_fire_open, scene)
{
    auto a = host("a");
    auto b = host("b");
    BOOST_TEST(is_held(a.try_begin()));
    BOOST_TEST(is_held(b.try_begin()));
    {
        auto died = a.try_begin();
        BOOST_REQUIRE(died.held());
        clock.advance(61s);
        BOOST_TEST(!died.complete());  // by who has lost the lease
        BOOST_TEST((completes(b) == last_night));
        BOOST_TEST(!died.complete());
        BOOST_TEST(!died.save_checkpoint("x"));
        BOOST_TEST(!died.fail());
    }
    BOOST_TEST(b.last()->owner == "b");
}

BOOST_FIXTURE_TEST_CASE(look_before_the_fire_costs_no_statement_and_a_fire_two_beyond_grant_and_release, scene)
{
    const counter count;
    lh::hooked_store counted{store, count};
    lh::recurring job{counted, "report", nightly, lh::recurring_options{}, clock, lh::no_renewal{}};
    BOOST_TEST((completes(job) == last_night));
    BOOST_TEST(count.taken() == 5);  // the first of all notes its beginning
    for (int i = 0; i < 10; ++i) BOOST_TEST(is_empty(job.try_begin()));
    BOOST_TEST(count.taken() == 0);
    for (int night = 1; night <= 3; ++night) {
        clock.advance(24h);
        BOOST_TEST((completes(job) == last_night + night * 24h));
        BOOST_TEST(count.taken() == 4);
        BOOST_TEST(is_empty(job.try_begin()));
        BOOST_TEST(count.taken() == 0);
    }
}

BOOST_FIXTURE_TEST_CASE(fire_that_others_have_done_costs_one_look_of_a_new_host, scene)
{
    auto a = host("a");
    BOOST_TEST(completes(a).has_value());
    const counter count;
    lh::hooked_store counted{store, count};
    lh::recurring late{counted, "report", nightly, clock, lh::no_renewal{}};
    BOOST_TEST(is_empty(late.try_begin()));
    BOOST_TEST(count.taken() == 1);
}

BOOST_FIXTURE_TEST_CASE(fire_costs_two_beyond_grant_and_release_of_a_new_process_and_of_hosts_that_alternate, scene)
{
    auto first = host("first");
    BOOST_TEST(completes(first).has_value());
    const counter count;
    lh::hooked_store counted{store, count};
    const auto job_of = [&](std::string_view owner) {
        return lh::recurring{counted, "report",         nightly, lh::recurring_options{},
                             clock,   lh::fixed_owner_id{std::string{owner}}, lh::no_renewal{}};
    };
    for (int night = 1; night <= 3; ++night) {
        clock.advance(24h);
        auto process = job_of("new");
        BOOST_TEST((completes(process) == last_night + night * 24h));
        BOOST_TEST(count.taken() == 4);
    }
    auto a = job_of("a");
    auto b = job_of("b");
    BOOST_TEST((is_empty(a.try_begin()) && is_empty(b.try_begin())));
    BOOST_TEST(count.taken() == 2);
    for (int night = 4; night <= 9; ++night) {
        clock.advance(24h);
        BOOST_TEST((completes(night % 2 == 0 ? a : b) == last_night + night * 24h));
        BOOST_TEST(count.taken() == 4);
        BOOST_TEST(is_empty((night % 2 == 0 ? b : a).try_begin()));  // finds out that the other one was there
        BOOST_TEST(count.taken() == 1);
    }
}

// A record that was looked at is the holder's only if no term has come in between.
BOOST_FIXTURE_TEST_CASE(record_is_read_again_by_who_looked_before_another_ones_term, scene)
{
    lh::hooked_store watched{store, [this, steps_in = true](const lh::store_call& call, const lh::store_call_report&) mutable {
        if (call.operation != lh::store_operation::look_at_checkpoint || !std::exchange(steps_in, false)) return;
        auto other = host("other");
        BOOST_TEST((completes(other) == last_night));
    }};
    lh::recurring job{watched, "report", nightly, lh::recurring_options{}, clock, lh::no_renewal{}};
    BOOST_TEST(is_empty(job.try_begin()));
}

BOOST_FIXTURE_TEST_CASE(store_that_can_not_tell_all_at_once_is_asked_one_by_one, scene)
{
    struct plain_store : lh::forwarding_store<memory, plain_store> {
        using forwarding_store::forwarding_store;
        void look_at_checkpoint() = delete;
    };
    static_assert(!lh::checkpoint_looking_store<plain_store> && lh::checkpointing_store<plain_store> && lh::timed_store<plain_store>);
    plain_store plain{store};
    const counter count;
    lh::hooked_store counted{plain, count};
    lh::recurring job{counted, "report", nightly, lh::recurring_options{}, clock, lh::no_renewal{}};
    BOOST_TEST((completes(job) == last_night));
    BOOST_TEST(count.taken() == 6);
    clock.advance(24h);
    BOOST_TEST((completes(job) == last_night + 24h));
    BOOST_TEST(count.taken() == 4);
}

BOOST_FIXTURE_TEST_CASE(record_that_can_not_be_read_is_refused_by_who_looks_at_it, scene)
{
    std::error_code ec;
    const auto granted = store.try_acquire("report", "later version", 60s, ec);
    BOOST_TEST(store.save_checkpoint("report", "later version", granted.token, "leasehold fires 2\n", ec));
    BOOST_TEST(store.release("report", "later version", granted.token, {}, ec));
    auto a = host("a");
    BOOST_CHECK_EXCEPTION(static_cast<void>(a.try_begin()), std::system_error, [](const auto& e) {
        const bool says_why = std::string_view{e.what()}.find("a later version of leasehold") != std::string_view::npos;
        return e.code() == lh::errc::invalid_terms && says_why;
    });
    BOOST_CHECK_THROW(static_cast<void>(a.next()), std::system_error);
}

// Who has read the record during a term does not know what that term writes after it.
BOOST_FIXTURE_TEST_CASE(record_that_was_read_during_the_term_before_is_read_again, scene)
{
    auto a = host("a");
    auto b = host("b");
    {
        auto run = a.try_begin();
        BOOST_TEST(run.save_checkpoint("half"));
        BOOST_TEST(is_empty(b.try_begin()));  // reads
        BOOST_TEST(run.save_checkpoint("whole"));
        BOOST_TEST(run.complete());
    }
    BOOST_TEST(is_empty(b.try_begin()));
    clock.advance(24h);
    auto run = b.try_begin();
    BOOST_TEST(run.load_checkpoint().value() == "whole");
}

BOOST_FIXTURE_TEST_CASE(first_fire_of_a_name_is_not_forgotten_when_its_host_dies, scene)
{
    auto a = host("a", {.catch_up = lh::catch_up::all});
    auto b = host("b", {.catch_up = lh::catch_up::all});
    auto dies = a.try_begin();
    BOOST_REQUIRE(dies.held());
    clock.advance(24h);
    BOOST_TEST((completes(b) == last_night));
    BOOST_TEST((completes(b) == last_night + 24h));
}

BOOST_FIXTURE_TEST_CASE(store_decides_what_time_it_is, scene)
{
    // The hosts' clocks count for nothing: only the store tells the time.
    lh::manual_clock other;
    other.advance(7min);
    lh::recurring a{store, "report", nightly, other, lh::no_renewal{}};
    BOOST_TEST((completes(a) == last_night));
    BOOST_TEST((a.next() == last_night + 24h));
}

BOOST_FIXTURE_TEST_CASE(old_reading_of_the_clock_is_made_anew_before_a_fire_begins, scene)
{
    lh::manual_clock fast;  // this host's clock runs ahead
    lh::recurring job{store, "report", nightly, fast, lh::no_renewal{}};
    BOOST_TEST(completes(job).has_value());
    fast.advance(15h + 10s);
    clock.advance(15h - 10s);
    BOOST_TEST(is_empty(job.try_begin()));
    clock.advance(10s);
    fast.advance(10s);
    BOOST_TEST((completes(job) == last_night + 24h));
}

BOOST_FIXTURE_TEST_CASE(fire_is_judged_by_a_new_reading_of_the_clock_after_a_long_wait_for_the_lease, scene)
{
    delayed_store waits{store};
    lh::manual_clock fast;  // this host's clock runs ahead, or the store's was set back
    lh::recurring late{waits, "report", nightly, lh::recurring_options{.ttl = 48h}, fast, lh::fixed_owner_id{"late"}, lh::no_renewal{}};
    auto other = host("other");
    waits.before_attempt = [&] {
        BOOST_TEST((completes(other) == last_night));
        fast.advance(15h + 10s);
        clock.advance(15h - 10s);
    };
    BOOST_TEST(is_empty(late.try_begin()));
    clock.advance(10s);
    fast.advance(10s);
    BOOST_TEST((completes(late) == last_night + 24h));
}

BOOST_FIXTURE_TEST_CASE(job_that_fails_is_retried_after_a_pause_by_whoever_comes, scene)
{
    auto a = host("a", {.retry_min = 10s});
    auto b = host("b", {.retry_min = 10s});
    {
        auto run = a.try_begin();
        BOOST_TEST(run.attempt() == 1);
        BOOST_TEST(run.fail());
        BOOST_TEST(run.empty());
    }
    BOOST_TEST(is_empty(a.try_begin()));
    BOOST_TEST(is_empty(b.try_begin()));
    clock.advance(10s);
    {
        auto run = b.try_begin();
        BOOST_REQUIRE(run.held());
        BOOST_TEST(run.attempt() == 2);
        BOOST_TEST((run.fire() == last_night));
        BOOST_TEST(run.fail());
    }
    clock.advance(10s);
    BOOST_TEST(is_empty(a.try_begin()));
    clock.advance(10s);
    BOOST_TEST((completes(a) == last_night));
}

BOOST_FIXTURE_TEST_CASE(attempts_are_counted_for_all_hosts_also_when_they_die, scene)
{
    const lh::recurring_options three{.max_attempts = 3};
    for (const std::string owner : {"a", "b", "c"}) {
        auto job = host(owner, three);
        auto dies = job.try_begin();
        BOOST_REQUIRE(dies.held());
        clock.advance(61s);
    }
    auto d = host("d", three);
    BOOST_TEST(given_up.empty());
    BOOST_TEST(is_empty(d.try_begin()));
    BOOST_TEST((given_up == std::vector{last_night}));
    BOOST_TEST((d.next() == last_night + 24h));
    BOOST_TEST(!d.last());
}

BOOST_FIXTURE_TEST_CASE(job_that_fails_too_often_is_given_up_at_once, scene)
{
    auto a = host("a", {.max_attempts = 2, .retry_min = 1s});
    for (int i = 1; i <= 2; ++i) {
        auto run = a.try_begin();
        BOOST_REQUIRE(run.held());
        BOOST_TEST(run.fail());
        clock.advance(10s);
    }
    BOOST_TEST((given_up == std::vector{last_night}));
    BOOST_TEST(is_empty(a.try_begin()));
    BOOST_TEST(missed.empty());
}

BOOST_FIXTURE_TEST_CASE(missed_fires_are_told_once_or_run, scene)
{
    auto last = host("a", {.catch_up = lh::catch_up::last});
    BOOST_TEST(completes(last).has_value());
    clock.advance(3 * 24h);
    BOOST_TEST(is_held(last.try_begin()));
    BOOST_TEST((missed == std::vector{last_night + 24h, last_night + 48h}));
    BOOST_TEST((completes(last) == last_night + 72h));
    BOOST_TEST(missed.size() == 2U);

    missed.clear();
    clock.advance(2 * 24h);
    auto none = host("a", {.catch_up = lh::catch_up::none});
    BOOST_TEST(is_empty(none.try_begin()));
    BOOST_TEST((missed == std::vector{last_night + 96h, last_night + 120h}));
    BOOST_TEST(is_empty(none.try_begin()));
    BOOST_TEST(missed.size() == 2U);
    BOOST_TEST((none.last()->fire == last_night + 72h));

    missed.clear();
    clock.advance(2 * 24h);
    auto all = host("a", {.catch_up = lh::catch_up::all});
    BOOST_TEST((completes(all) == last_night + 144h));
    BOOST_TEST((completes(all) == last_night + 168h));
    BOOST_TEST(is_empty(all.try_begin()));
    BOOST_TEST(missed.empty());
}

BOOST_FIXTURE_TEST_CASE(checkpoint_of_the_job_lives_beside_the_record, scene)
{
    auto a = host("a");
    auto b = host("b");
    {
        auto run = a.try_begin();
        BOOST_TEST(!run.load_checkpoint());
        BOOST_TEST(run.save_checkpoint("page 3\nof 7"));
        BOOST_TEST(run.load_checkpoint().value() == "page 3\nof 7");
    }
    {
        auto run = b.try_begin();
        BOOST_TEST((run.fire() == last_night));
        BOOST_TEST(run.load_checkpoint().value() == "page 3\nof 7");
        BOOST_TEST(run.complete());
        BOOST_TEST(run.save_checkpoint("after"));
    }
    BOOST_TEST(is_empty(a.try_begin()));
    BOOST_TEST(a.last()->owner == "b");
    clock.advance(24h);
    auto run = a.try_begin();
    BOOST_TEST(run.load_checkpoint().value() == "after");
    BOOST_TEST(run.save_checkpoint(std::string(lh::max_run_checkpoint_bytes, 'x')));
    BOOST_TEST(refused([&] { run.save_checkpoint(std::string(lh::max_run_checkpoint_bytes + 1, 'x')); }, lh::errc::invalid_data, "2800"));
    std::error_code ec;
    BOOST_TEST(!run.save_checkpoint("\xff", ec));
    BOOST_TEST((ec == lh::errc::invalid_data));
}

BOOST_FIXTURE_TEST_CASE(checkpoint_of_a_lease_without_a_schedule_is_kept, scene)
{
    lh::basic_lease lease{store, "report", clock, lh::no_renewal{}};
    {
        auto guard = lease.try_acquire();
        guard.save_checkpoint("offset=4711");
    }
    auto a = host("a");
    auto run = a.try_begin();
    BOOST_REQUIRE(run.held());
    BOOST_TEST(run.load_checkpoint().value() == "offset=4711");
    BOOST_TEST(run.complete());
    BOOST_TEST(run.load_checkpoint().value() == "offset=4711");
}

BOOST_FIXTURE_TEST_CASE(another_schedule_of_the_name_is_refused_with_what_each_says, scene)
{
    auto a = host("host-a");
    BOOST_TEST(completes(a).has_value());
    auto b = host("b", {}, lh::cron{"0 4 * * *"});
    for (const char* words : {"every 1d at 3h", "cron 0 4 * * *", "host-a"})
        BOOST_TEST(refused([&] { static_cast<void>(is_held(b.try_begin())); }, lh::errc::invalid_terms, words));
    std::error_code ec;
    BOOST_TEST(is_empty(b.try_begin(ec)));
    BOOST_TEST((ec == lh::errc::invalid_terms));
    BOOST_TEST(refused([&] { static_cast<void>(b.next()); }, lh::errc::invalid_terms, "host-a"));
    BOOST_TEST((b.last()->fire == last_night));  // that is the name's, under whatever schedule
    std::stop_source stop;
    BOOST_TEST(refused([&] { b.run(stop.get_token(), [](auto&) {}); }, lh::errc::invalid_terms, "host-a"));
    ec.clear();
    b.run(stop.get_token(), [](auto&) {}, ec);
    BOOST_TEST((ec == lh::errc::invalid_terms));
    stop.request_stop();
    a.run(stop.get_token(), [](auto&) {}, ec);
    BOOST_TEST(!ec);
}

BOOST_FIXTURE_TEST_CASE(schedule_is_replaced_if_that_is_asked_for, scene)
{
    auto a = host("a");
    BOOST_TEST(completes(a).has_value());
    auto b = host("b", {.replace_schedule = true}, lh::cron{"0 4 * * *"});
    BOOST_TEST(is_empty(b.try_begin()));
    BOOST_TEST((b.next() == last_night + 25h));
    clock.advance(24h);
    BOOST_TEST(refused([&] { static_cast<void>(is_held(a.try_begin())); }, lh::errc::invalid_terms, "made by b"));
    BOOST_TEST((completes(b) == last_night + 25h));
}

BOOST_FIXTURE_TEST_CASE(record_of_a_later_version_is_refused, scene)
{
    lh::basic_lease lease{store, "report", clock, lh::no_renewal{}};
    {
        auto guard = lease.try_acquire();
        guard.save_checkpoint("leasehold fires 2\nschedule: x\n");
    }
    auto a = host("a");
    BOOST_TEST(refused([&] { static_cast<void>(is_held(a.try_begin())); }, lh::errc::invalid_terms, "later version"));
    BOOST_TEST(refused([&] { static_cast<void>(a.last()); }, lh::errc::invalid_terms, "later version"));
}

BOOST_FIXTURE_TEST_CASE(wrong_schedules_and_options_are_refused_with_their_rule, scene)
{
    const auto with = [this](lh::recurring_options options) { static_cast<void>(host("a", std::move(options))); };
    BOOST_TEST(refused([&] { static_cast<void>(host("a", {}, lh::every{.period = 0s})); }, lh::errc::invalid_terms, "period of 0"));
    BOOST_TEST(refused([&] { with({.max_attempts = -1}); }, lh::errc::invalid_terms, "max_attempts"));
    BOOST_TEST(refused([&] { with({.retry_min = 0s}); }, lh::errc::invalid_terms, "retry_min"));
    BOOST_TEST(refused([&] { with({.retry_min = 2s, .retry_max = 1s}); }, lh::errc::invalid_terms, "retry_max"));
    BOOST_TEST(refused([&] { with({.ttl = 0s}); }, lh::errc::invalid_terms, "ttl"));
    BOOST_TEST(refused([&] { static_cast<void>(host("a", {}, nightly, "")); }, lh::errc::invalid_name, "empty"));
}

BOOST_FIXTURE_TEST_CASE(failing_store_is_an_error_and_not_an_empty_run, scene)
{
    std::atomic<bool> broken{true};
    using lh::store_fault;
    lh::faulty_store failing{store, [&broken](const lh::store_call&) { return broken ? store_fault::lose_request : store_fault::none; }};
    lh::recurring job{failing, "report", nightly, clock, lh::no_renewal{}};
    BOOST_CHECK_THROW(static_cast<void>(is_held(job.try_begin())), lh::store_error);
    std::error_code ec;
    BOOST_TEST(is_empty(job.try_begin(ec)));
    BOOST_TEST(ec.message() != "");
    BOOST_TEST(static_cast<bool>(ec));
    broken = false;
    auto run = job.try_begin(ec);
    BOOST_TEST(!ec);
    BOOST_REQUIRE(run.held());
    broken = true;
    BOOST_CHECK_THROW(run.complete(), lh::store_error);
    BOOST_TEST(!run.completed());
    broken = false;
    BOOST_TEST(run.complete());
}

BOOST_FIXTURE_TEST_CASE(completion_whose_answer_got_lost_is_read_back, scene)
{
    lh::faulty_store losing{store, [](const lh::store_call& call) {
                                const bool saves = call.operation == lh::store_operation::save_checkpoint;
                                return saves ? lh::store_fault::lose_reply : lh::store_fault::none;
                            }};
    lh::recurring job{losing, "report", nightly, clock, lh::no_renewal{}};
    BOOST_TEST((completes(job) == last_night));
    BOOST_TEST(is_empty(job.try_begin()));
}

BOOST_AUTO_TEST_CASE(completion_whose_answer_got_lost_before_the_term_ended_is_not_told_as_none)
{
    enum class next_host { begins_the_next, completes_the_next, completes_this_one };
    for (const next_host does : {next_host::begins_the_next, next_host::completes_the_next, next_host::completes_this_one}) {
        scene s;
        late_store late{s.store};
        late.carries_out = does != next_host::completes_this_one;
        lh::recurring job{late, "report", nightly, s.clock, lh::no_renewal{}};
        auto other = s.host("other", {.max_attempts = 3});  // so that its beginnings are noted
        auto run = job.try_begin();
        BOOST_REQUIRE(run.held());
        late.meanwhile = [&] {
            s.clock.advance(late.carries_out ? 24h : 2min);
            auto next = other.try_begin();
            BOOST_TEST((next.fire() == (late.carries_out ? last_night + 24h : last_night)));
            if (does != next_host::begins_the_next) BOOST_TEST(next.complete());
        };
        std::error_code ec;
        BOOST_TEST(run.complete(ec) == (does == next_host::begins_the_next));
        const bool unknown = does == next_host::completes_the_next;
        BOOST_TEST((ec == (unknown ? make_error_code(lh::errc::store_unavailable) : std::error_code{})));
        BOOST_TEST(run.completed() == (does == next_host::begins_the_next));
    }
}

BOOST_FIXTURE_TEST_CASE(save_that_was_left_behind_opens_no_completed_fire, scene)
{
    for (const bool carried_out_before : {false, true}) {
        const std::string name = carried_out_before ? "before" : "after";
        leaving_store leaving{store};
        lh::recurring job{leaving, name, nightly, clock, lh::no_renewal{}};
        auto run = job.try_begin();
        BOOST_REQUIRE(run.held());
        leaving.leaves = 2;
        std::error_code ec;
        BOOST_TEST(!run.save_checkpoint("half", ec));
        BOOST_TEST(static_cast<bool>(ec));
        if (carried_out_before) BOOST_TEST(leaving.carry_out());
        BOOST_TEST(run.complete());
        BOOST_TEST(!leaving.carry_out());
        BOOST_TEST(run.release() == lh::release_outcome::released);
        BOOST_TEST(is_empty(job.try_begin()));
        BOOST_TEST((job.last().value().fire == last_night));
    }
}

// Whether it was carried out or not is known only after another one; else the host would leave what it has noted untold.
BOOST_FIXTURE_TEST_CASE(missed_fire_is_told_although_the_save_that_notes_it_is_late, scene)
{
    for (const bool carried_out_before : {false, true}) {
        const std::string name = carried_out_before ? "before" : "after";
        missed.clear();
        leaving_store leaving{store};
        lh::recurring job{leaving, name, nightly, hooks(), clock, lh::no_renewal{}};
        BOOST_TEST_REQUIRE(completes(job).has_value());
        clock.advance(49h);
        leaving.leaves = 1;
        if (carried_out_before) leaving.after_next_look = [&] { BOOST_TEST(leaving.carry_out()); };
        std::error_code ec;
        auto run = job.try_begin(ec);
        BOOST_TEST(!ec);
        BOOST_REQUIRE(run.held());
        BOOST_TEST(missed.size() == 1U);
        BOOST_TEST(run.complete());
        BOOST_TEST(!leaving.carry_out());
    }
}

BOOST_FIXTURE_TEST_CASE(failure_opens_no_fire_that_a_transaction_completes_meanwhile, scene)
{
    leaving_store leaving{store};
    lh::recurring job{leaving, "report", nightly, clock, lh::no_renewal{}};
    auto run = job.try_begin();
    BOOST_REQUIRE(run.held());
    transaction mine;
    BOOST_TEST(run.complete(mine));
    leaving.after_next_look = [&] { BOOST_TEST(store.save_checkpoint("report", run.owner(), run.token(), mine.text, mine.ec)); };
    BOOST_TEST(!run.fail());
    BOOST_TEST(is_empty(job.try_begin()));
    BOOST_TEST((job.last().value().fire == last_night));
}

// A process that the job has left behind holds the run's token, which is current until the release.
BOOST_FIXTURE_TEST_CASE(text_that_is_saved_beside_a_run_opens_no_fire_that_the_run_completes_meanwhile, scene)
{
    leaving_store leaving{store};
    auto job = host("a");
    auto run = job.try_begin();
    BOOST_REQUIRE(run.held());
    leaving.after_next_look = [&] { BOOST_TEST(run.complete()); };
    std::error_code ec;
    BOOST_TEST(lh::detail::save_own_text(leaving, "report", run.owner(), run.token(), "page 2", ec));
    BOOST_TEST(!ec);
    const auto record = lh::read_fire_record(this->record()).value();
    BOOST_TEST((record.last.value().fire == last_night));
    BOOST_TEST(record.text.value() == "page 2");
    run.release();
    auto other = host("b");
    BOOST_TEST(is_empty(other.try_begin()));
}

BOOST_FIXTURE_TEST_CASE(text_is_not_saved_beside_a_run_that_is_over, scene)
{
    auto job = host("a");
    auto run = job.try_begin();
    const lh::fencing_token token = run.token();
    BOOST_TEST(run.complete());
    run.release();
    const std::string before = record();
    std::error_code ec;
    BOOST_TEST(!lh::detail::save_own_text(store, "report", "a", token, "page 2", ec));
    BOOST_TEST(!ec);
    BOOST_TEST(record() == before);
    lh::faulty_store failing{store, [](const lh::store_call& call) {
                                 const bool saves = call.operation == lh::store_operation::save_checkpoint;
                                 return saves ? lh::store_fault::lose_request : lh::store_fault::none;
                             }};
    BOOST_TEST(!lh::detail::save_own_text(failing, "report", "a", token, "page 2", ec));
    BOOST_TEST(static_cast<bool>(ec));
}

// As the command's own `leasehold checkpoint --save` does.
BOOST_AUTO_TEST_CASE(text_that_is_saved_beside_a_run_outlives_what_the_run_notes)
{
    for (const bool fails : {false, true}) {
        scene s;
        auto job = s.host("a", {.retry_min = 1s});
        auto run = job.try_begin();
        BOOST_TEST(run.save_checkpoint("page 1"));
        std::error_code ec;
        BOOST_TEST(lh::detail::save_own_text(s.store, "report", run.owner(), run.token(), "page 2", ec));
        BOOST_TEST((fails ? run.fail() : run.complete()));
        BOOST_TEST((fails || run.load_checkpoint().value() == "page 2"));
        BOOST_TEST(lh::detail::own_text(s.record()).value() == "page 2");
        if (!run.empty()) run.release();
        s.clock.advance(24h);
        auto next = job.try_begin();
        BOOST_TEST(next.load_checkpoint().value() == "page 2");
    }
}

// Whoever saves through the store itself knows nothing of the record's room.
BOOST_FIXTURE_TEST_CASE(text_that_leaves_no_room_for_the_record_does_not_keep_a_fire_from_being_completed, scene)
{
    auto job = host("a");
    auto run = job.try_begin();
    BOOST_TEST(run.save_checkpoint("page 1"));
    std::error_code ec;
    BOOST_TEST(store.save_checkpoint("report", run.owner(), run.token(), std::string(lh::max_checkpoint_bytes, 'x'), ec));
    BOOST_TEST(run.complete());
    BOOST_TEST(run.load_checkpoint().value() == "page 1");
    run.release();
    auto other = host("b");
    BOOST_TEST(is_empty(other.try_begin()));
}

BOOST_FIXTURE_TEST_CASE(text_takes_no_place_of_a_record_that_a_later_version_has_written, scene)
{
    const std::string later = std::string{lh::detail::fire_record_begins} + "2\nwhatever\n";
    lh::basic_lease lease{store, "report", lh::lease_terms{}, clock, lh::fixed_owner_id{"a"}, lh::no_renewal{}};
    auto guard = lease.try_acquire();
    BOOST_TEST(guard.save_checkpoint(later));
    std::error_code ec;
    BOOST_TEST(!lh::detail::save_own_text(store, "report", "a", guard.token(), "page 1", ec));
    BOOST_TEST((ec == lh::errc::invalid_terms));
    BOOST_TEST(record() == later);
}

BOOST_FIXTURE_TEST_CASE(text_that_the_run_saves_takes_the_place_of_one_that_was_saved_beside_it, scene)
{
    auto job = host("a");
    auto run = job.try_begin();
    BOOST_TEST(run.save_checkpoint("page 1"));
    std::error_code ec;
    BOOST_TEST(lh::detail::save_own_text(store, "report", run.owner(), run.token(), "page 2", ec));
    BOOST_TEST(run.save_checkpoint("page 1"));
    BOOST_TEST(lh::detail::own_text(record()).value() == "page 1");
}

// Whoever asks, asks for now.
BOOST_FIXTURE_TEST_CASE(first_fire_of_a_name_is_run_however_late_although_none_is_made_up_for, scene)
{
    auto a = host("a", {.catch_up = lh::catch_up::none});
    BOOST_TEST((completes(a) == last_night));
    clock.advance(24h);
    BOOST_TEST(is_empty(a.try_begin()));
    BOOST_TEST((missed == std::vector{last_night + 24h}));
}

BOOST_FIXTURE_TEST_CASE(run_does_what_a_guard_does, scene)
{
    auto a = host("a");
    auto b = host("b", {}, nightly, "other");
    auto run = a.try_begin();
    auto other = b.try_begin();
    BOOST_TEST(run.publish("10.0.0.7"));
    std::error_code ec;
    BOOST_TEST(run.publish("10.0.0.8", ec));
    BOOST_TEST(store.inspect("report", ec)->data == "10.0.0.8");
    BOOST_TEST(!run.handover_requested());
    BOOST_TEST(!run.handover_token().stop_requested());
    BOOST_TEST((lh::basic_lease{store, "report", clock}.request_handover("upgrade")));
    BOOST_TEST(run.renew());
    BOOST_TEST(run.handover_requested());
    BOOST_TEST(run.handover_reason() == "upgrade");
    BOOST_TEST(run.save_checkpoint("page 1"));
    ec = lh::errc::not_held;
    BOOST_TEST(run.load_checkpoint(ec).value() == "page 1");
    BOOST_TEST(!ec);
    BOOST_TEST(run.complete());
    swap(run, other);
    BOOST_TEST(run.name() == "other");
    BOOST_TEST(!run.completed());
    BOOST_TEST(!run.load_checkpoint());
    BOOST_TEST(run.complete());
    run.swap(other);
    BOOST_TEST(run.name() == "report");
    BOOST_TEST((a.last().has_value() && b.last().has_value()));
}

BOOST_FIXTURE_TEST_CASE(empty_run_can_do_nothing, scene)
{
    auto a = host("a");
    BOOST_TEST(completes(a).has_value());
    auto none = a.try_begin();
    BOOST_TEST(!none);
    BOOST_TEST(none.empty());
    BOOST_TEST(!none.load_checkpoint());
    BOOST_TEST(!none.handover_requested());
    BOOST_TEST(refused([&] { none.publish("x"); }, lh::errc::not_held, "empty"));
    BOOST_TEST(refused([&] { none.complete(); }, lh::errc::not_held, "empty"));
    BOOST_TEST(refused([&] { none.fail(); }, lh::errc::not_held, "empty"));
    std::error_code ec;
    BOOST_TEST(!none.complete(ec));
    BOOST_TEST((ec == lh::errc::not_held));
    auto moved = std::move(none);
    BOOST_TEST(moved.empty());
}

BOOST_FIXTURE_TEST_CASE(host_that_waits_takes_over_from_one_that_fails, scene)
{
    BOOST_TEST_PASSPOINT();
    auto a = host("a", {.retry_min = 10s});
    lh::recurring b{store, "report", nightly, hooks({.retry_min = 10s}), clock, lh::fixed_owner_id{"b"}};
    auto run = a.try_begin();
    BOOST_REQUIRE(run.held());
    std::atomic<bool> began{false};
    std::jthread other{[&] {
        auto second = b.try_begin_for(30s);
        began = second.held();
        BOOST_TEST(second.complete());
    }};
    while (clock.sleepers() == 0) std::this_thread::yield();
    BOOST_TEST(!began);
    BOOST_TEST(run.fail());
    static_cast<void>(leasehold_test::eventually([&] {
        if (!began) clock.advance(1s);
        return began.load();
    }));
    other.join();
    BOOST_TEST(began);
    BOOST_TEST(b.last()->owner == "b");
}

BOOST_FIXTURE_TEST_CASE(host_that_waits_goes_when_the_fire_is_completed_or_its_time_is_over, scene)
{
    BOOST_TEST_PASSPOINT();
    auto a = host("a");
    lh::recurring b{store, "report", nightly, hooks(), clock, lh::fixed_owner_id{"b"}};
    auto run = a.try_begin();
    BOOST_TEST(is_empty(b.try_begin_for(0s)));
    std::jthread other{[&] { BOOST_TEST(is_empty(b.try_begin_for(24h))); }};
    while (clock.sleepers() == 0) std::this_thread::yield();
    BOOST_TEST(run.complete());
    run.release();
    other.join();
    BOOST_TEST(is_empty(b.try_begin_for(24h)));  // none is due
    std::stop_source stop;
    stop.request_stop();
    std::error_code ec;
    BOOST_TEST(is_empty(b.try_begin_for(1s, stop.get_token(), ec)));
    BOOST_TEST((ec == std::errc::operation_canceled));
}

BOOST_AUTO_TEST_CASE(run_waits_for_each_fire_and_retries_one_that_threw)
{
    lh::memory_store store;
    std::stop_source stop;
    std::mutex mutex;
    std::map<lh::fire_time, int> completed;
    int thrown = 0;
    std::atomic<int> told{0};
    const auto one = [&] {
        lh::recurring job{store, "job", lh::every{.period = 20ms},
                          lh::recurring_options{.ttl = 1min,
                                                .catch_up = lh::catch_up::all,
                                                .retry_min = 1ms,
                                                .retry_max = 2ms,
                                                .on_failed = [&](lh::fire_time, const std::exception_ptr&) { ++told; }}};
        job.run(stop.get_token(), [&](auto& run) {
            const std::lock_guard lock{mutex};
            if (run.fire().time_since_epoch() / 20ms % 5 == 0 && run.attempt() == 1) {
                ++thrown;
                throw std::runtime_error{"bad luck"};
            }
            ++completed[run.fire()];
            if (completed.size() >= 40) stop.request_stop();
        });
    };
    {
        const std::jthread first{one};
        const std::jthread second{one};
        const std::jthread third{one};
    }
    BOOST_TEST(thrown >= 7);
    BOOST_TEST(told == thrown);
    std::optional<lh::fire_time> before;
    for (const auto& [fire, times] : completed) {
        BOOST_TEST(times == 1);
        if (before) BOOST_TEST((fire == *before + 20ms));
        before = fire;
    }
}

BOOST_AUTO_TEST_CASE(term_that_is_lost_before_its_beginning_is_noted_does_not_end_the_wait)
{
    using memory_type = lh::basic_memory_store<lh::manual_clock>;
    struct slow_store : lh::forwarding_store<memory_type, slow_store> {
        slow_store(memory_type& memory, lh::manual_clock turned) : forwarding_store{memory}, clock{std::move(turned)} {}
        bool save_checkpoint(std::string_view name, std::string_view owner, lh::fencing_token token, std::string_view text,
                             std::error_code& ec)
        {
            if (std::exchange(first, false)) clock.advance(60s);
            return underlying().save_checkpoint(name, owner, token, text, ec);
        }
        lh::manual_clock clock;
        bool first = true;
    };
    lh::manual_clock clock;
    memory_type memory{clock};
    slow_store store{memory, clock};
    const lh::recurring_options options{.ttl = 30s, .max_attempts = 2};
    lh::recurring job{store, "job", lh::every{.period = 24h}, options, clock, lh::no_renewal{}};
    const auto run = job.try_begin_for(1h);
    BOOST_TEST(run.held());
    BOOST_TEST(!store.first);
}

BOOST_AUTO_TEST_CASE(run_begins_no_job_under_a_term_that_is_over)
{
    using memory_type = lh::basic_memory_store<lh::manual_clock>;
    struct slow_store : lh::forwarding_store<memory_type, slow_store> {
        slow_store(memory_type& memory, lh::manual_clock turned) : forwarding_store{memory}, clock{std::move(turned)} {}
        bool save_checkpoint(std::string_view name, std::string_view owner, lh::fencing_token token, std::string_view text,
                             std::error_code& ec)
        {
            const bool saved = underlying().save_checkpoint(name, owner, token, text, ec);
            if (slow.exchange(false)) clock.advance(60s);
            return saved;
        }
        lh::manual_clock clock;
        std::atomic<bool> slow{false};
    };
    lh::manual_clock clock;
    memory_type memory{clock};
    slow_store store{memory, clock};
    const lh::recurring_options options{.ttl = 30s, .max_attempts = 2};
    lh::recurring job{store, "job", lh::every{.period = 24h}, options, clock, lh::no_renewal{}};
    auto first = job.try_begin();
    BOOST_TEST(first.complete());
    clock.advance(24h);  // the next fire is due
    store.slow = true;
    std::stop_source stop;
    std::atomic<int> begun_in_time{0};
    std::atomic<int> begun_late{0};
    std::jthread runs{[&] {
        job.run(stop.get_token(), [&](auto& begun) {
            ++(begun.held() ? begun_in_time : begun_late);
            stop.request_stop();
        });
    }};
    BOOST_TEST(leasehold_test::eventually([&] {
        clock.advance(100ms);
        return stop.stop_requested();
    }));
    stop.request_stop();
    runs.join();
    BOOST_TEST(begun_late == 0);
    BOOST_TEST(begun_in_time == 1);
}

BOOST_AUTO_TEST_CASE(run_pauses_after_a_completion_that_could_not_be_noted)
{
    struct unsaving_store : lh::forwarding_store<lh::memory_store, unsaving_store> {
        using forwarding_store::forwarding_store;
        bool save_checkpoint(std::string_view name, std::string_view owner, lh::fencing_token token, std::string_view text,
                             std::error_code& ec)
        {
            const bool completes = text.find("\ncompleted: ") != std::string_view::npos;
            if (!completes) return underlying().save_checkpoint(name, owner, token, text, ec);
            ec = lh::errc::invalid_data;
            return false;
        }
    };
    lh::memory_store memory;
    unsaving_store store{memory};
    std::stop_source stop;
    std::atomic<int> calls{0};
    std::jthread runs{[&] {
        lh::recurring job{store, "job", lh::every{.period = 5ms}, lh::recurring_options{.ttl = 1h}};
        job.run(stop.get_token(), [&](auto&) { ++calls; });
    }};
    BOOST_TEST(leasehold_test::eventually([&] { return calls > 0; }));
    BOOST_TEST(leasehold_test::throughout([&] { return calls < 3; }, 50ms));
    stop.request_stop();
}

BOOST_AUTO_TEST_CASE(run_pauses_before_it_begins_a_fire_again_that_its_job_has_left_open)
{
    enum class leaves { released, released_and_thrown, rolled_back };
    for (const leaves how : {leaves::released, leaves::released_and_thrown, leaves::rolled_back}) {
        scene s;
        std::stop_source stop;
        std::atomic<int> begun{0};
        std::array<lh::fire_time, 2> fires{};
        const lh::recurring_options options{.ttl = 10min, .retry_min = 1min};
        lh::recurring job{s.store, "report", nightly, options, s.clock, lh::no_renewal{}};
        std::jthread runs{[&] {
            job.run(stop.get_token(), [&](auto& run) {
                if (begun < 2) fires[static_cast<std::size_t>(begun)] = run.fire();
                ++begun;
                transaction mine;
                if (how == leaves::rolled_back)
                    static_cast<void>(run.complete(mine));
                else
                    run.release();
                if (how == leaves::released_and_thrown) throw std::runtime_error{"after the release"};
            });
        }};
        while (s.clock.sleepers() == 0) std::this_thread::yield();
        s.clock.advance(15h);
        BOOST_TEST(leasehold_test::eventually([&] { return begun > 0; }));
        BOOST_TEST(leasehold_test::throughout([&] { return begun < 2; }, 50ms));
        BOOST_TEST(leasehold_test::eventually([&] { return s.clock.advance(1min), begun > 1; }));
        BOOST_TEST((fires[0] == fires[1]));
        stop.request_stop();
    }
}

BOOST_AUTO_TEST_CASE(run_tells_a_fire_that_was_committed_and_begins_it_no_more)
{
    scene s;
    std::stop_source stop;
    std::atomic<int> begun{0};
    std::atomic<int> told{0};
    const lh::recurring_options options{.on_completed = [&](lh::fire_time) { ++told; }};
    lh::recurring job{s.store, "report", nightly, options, s.clock, lh::no_renewal{}};
    std::jthread runs{[&] {
        job.run(stop.get_token(), [&](auto& run) {
            ++begun;
            transaction mine;
            BOOST_TEST(run.complete(mine));
            BOOST_TEST(s.store.save_checkpoint("report", run.owner(), run.token(), mine.text, mine.ec));
        });
    }};
    while (s.clock.sleepers() == 0) std::this_thread::yield();
    for (int night = 1; night <= 2; ++night) {
        s.clock.advance(night == 1 ? 15h : 24h);
        BOOST_TEST(leasehold_test::eventually([&] { return told == night; }));
    }
    stop.request_stop();
    runs.join();
    BOOST_TEST(begun == 2);
}

BOOST_AUTO_TEST_CASE(run_notes_a_completion_after_an_outage_that_the_lease_has_outlived)
{
    lh::memory_store memory;
    std::atomic<int> outage{0};
    std::atomic<int> told{0};
    lh::faulty_store store{memory, [&](const lh::store_call& call) {
                               const bool saves = call.operation == lh::store_operation::save_checkpoint ||
                                                  call.operation == lh::store_operation::checkpoint ||
                                                  call.operation == lh::store_operation::look_at_checkpoint;
                               return saves && outage > 0 && outage-- > 0 ? lh::store_fault::lose_request : lh::store_fault::none;
                           }};
    std::stop_source stop;
    std::map<lh::fire_time, int> calls;
    lh::recurring job{store, "job", lh::every{.period = 5ms},
                      lh::recurring_options{.ttl = 3s, .retry_min = 10min, .retry_max = 10min,
                                            .on_error = [&](const lh::store_error&) { ++told; }}};
    job.run(stop.get_token(), [&](auto& run) {
        if (++calls[run.fire()] == 1 && calls.size() == 1) outage = 6;
        if (calls.size() == 3) stop.request_stop();
    });
    BOOST_TEST(told == 3);
    for (const auto& [fire, times] : calls) BOOST_TEST(times == 1);
}

BOOST_AUTO_TEST_CASE(what_on_given_up_throws_reaches_the_caller)
{
    lh::memory_store store;
    const lh::recurring_options options{.max_attempts = 1, .on_given_up = [](lh::fire_time) { throw std::range_error{"told"}; }};
    lh::recurring job{store, "job", lh::every{.period = 5ms}, options};
    BOOST_CHECK_THROW(job.run({}, [](auto&) { throw std::runtime_error{"failed"}; }), std::range_error);
    lh::recurring other{store, "other", lh::every{.period = 24h}, options};
    auto run = other.try_begin();
    BOOST_REQUIRE(run.held());
    BOOST_CHECK_THROW(run.fail(), std::range_error);
}

BOOST_AUTO_TEST_CASE(failure_is_told_although_on_given_up_throws)
{
    std::string told;
    lh::memory_store store;
    const auto words_of = [](const std::exception_ptr& failure) {
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& e) {
            return std::string{e.what()};
        }
    };
    const lh::recurring_options options{.max_attempts = 1,
                                        .on_given_up = [](lh::fire_time) { throw std::range_error{"the pager is broken"}; },
                                        .on_failed = [&](lh::fire_time, const std::exception_ptr& failure) { told = words_of(failure); }};
    lh::recurring job{store, "job", lh::every{.period = 5ms}, options};
    BOOST_CHECK_THROW(job.run({}, [](auto&) { throw std::runtime_error{"the disk is full"}; }), std::range_error);
    BOOST_TEST(told == "the disk is full");
}

BOOST_FIXTURE_TEST_CASE(completion_is_told_once_and_by_whom, scene)
{
    using told = std::vector<std::string>;
    auto a = host("a", tells);
    BOOST_TEST_REQUIRE(completes(a).has_value());
    BOOST_TEST(told_completed == (told{"0", "0 by a"}));
    auto b = host("b");
    clock.advance(24h);
    {
        auto run = b.try_begin();
        BOOST_TEST(run.complete());
    }
    BOOST_TEST(told_completed.size() == 2U, "b has no hooks");
    BOOST_TEST(is_empty(a.try_begin()));
    BOOST_TEST(is_empty(a.try_begin()));
    BOOST_TEST(told_completed == (told{"0", "0 by a", "1 by b"}));
    clock.advance(24h);
    auto run = a.try_begin();
    BOOST_TEST(told_completed.size() == 3U, "what is only begun");
    std::error_code ec;
    BOOST_TEST(run.complete(ec));
    BOOST_TEST(run.complete(ec));
    BOOST_TEST(run.complete());
    BOOST_TEST(told_completed == (told{"0", "0 by a", "1 by b", "2", "2 by a"}));
}

BOOST_FIXTURE_TEST_CASE(process_that_begins_is_told_of_the_last_fire_but_not_that_it_has_completed_it, scene)
{
    {
        auto before = host("a");
        BOOST_TEST_REQUIRE(completes(before).has_value());
    }
    auto a = host("a", tells);
    BOOST_TEST(is_empty(a.try_begin()));
    BOOST_TEST(told_completed == (std::vector<std::string>{"0 by a"}));
}

BOOST_FIXTURE_TEST_CASE(fire_of_a_transaction_is_told_as_completed_when_it_is_seen_to_be_committed, scene)
{
    auto a = host("a", tells);
    for (const bool commits : {false, true}) {
        auto run = a.try_begin();
        BOOST_REQUIRE(run.held());
        transaction mine;
        BOOST_TEST(run.complete(mine));
        if (commits) BOOST_TEST(store.save_checkpoint("report", run.owner(), run.token(), mine.text, mine.ec));
        run.release();
        BOOST_TEST(told_completed.empty());
    }
    BOOST_TEST(is_empty(a.try_begin()));
    BOOST_TEST(told_completed == (std::vector<std::string>{"0", "0 by a"}));
}

BOOST_AUTO_TEST_CASE(work_whose_commit_had_no_answer_is_not_committed_again_if_it_was)
{
    for (const bool commits_late : {false, true}) {
        scene s;
        auto a = s.host("a", s.tells);
        auto run = a.try_begin();
        BOOST_REQUIRE(run.held());
        transaction first, second, third;
        BOOST_TEST(run.complete(first));
        const auto commit = [&] { BOOST_TEST(s.store.save_checkpoint("report", run.owner(), run.token(), first.text, first.ec)); };
        if (commits_late)
            second.while_it_waits_for_the_row = commit;
        else
            commit();
        BOOST_TEST(!run.complete(second));
        BOOST_TEST(run.completed());
        BOOST_TEST(!run.complete(third));
        BOOST_TEST(third.text == "");
        run.release();
        BOOST_TEST(is_empty(a.try_begin()));
        BOOST_TEST(s.told_completed == (std::vector<std::string>{"0", "0 by a"}));
    }
}

BOOST_FIXTURE_TEST_CASE(work_whose_transaction_was_rolled_back_is_committed_by_the_next, scene)
{
    auto a = host("a");
    auto run = a.try_begin();
    transaction first, second;
    BOOST_TEST(run.complete(first));
    BOOST_TEST(run.complete(second));
    BOOST_TEST(store.save_checkpoint("report", run.owner(), run.token(), second.text, second.ec));
    run.release();
    BOOST_TEST(is_empty(a.try_begin()));
}

BOOST_FIXTURE_TEST_CASE(failure_after_a_committed_transaction_does_not_hide_the_completion, scene)
{
    auto a = host("a", tells);
    auto run = a.try_begin();
    transaction mine;
    BOOST_TEST(run.complete(mine));
    BOOST_TEST(store.save_checkpoint("report", run.owner(), run.token(), mine.text, mine.ec));
    BOOST_TEST(!run.fail());
    BOOST_TEST(is_empty(a.try_begin()));
    BOOST_TEST(told_completed == (std::vector<std::string>{"0", "0 by a"}));
}

BOOST_FIXTURE_TEST_CASE(completion_whose_answer_was_lost_is_told_when_it_is_seen, scene)
{
    leaving_store leaving{store};
    lh::recurring a{leaving, "report", nightly, tells, clock, lh::fixed_owner_id{"a"}, lh::no_renewal{}};
    auto run = a.try_begin();
    leaving.leaves = 2;
    BOOST_CHECK_THROW(run.complete(), lh::store_error);
    BOOST_TEST(told_completed.empty());
    BOOST_TEST(leaving.carry_out());
    run.release();
    BOOST_TEST(is_empty(a.try_begin()));
    BOOST_TEST(told_completed == (std::vector<std::string>{"0", "0 by a"}));
}

BOOST_AUTO_TEST_CASE(run_tells_each_fire_that_it_completes)
{
    lh::memory_store store;
    std::stop_source stop;
    std::vector<lh::fire_time> begun, completed, last;
    lh::recurring job{store, "job", lh::every{.period = 5ms},
                      lh::recurring_options{.catch_up = lh::catch_up::all,
                                            .retry_min = 1ms,
                                            .on_completed = [&](lh::fire_time fire) { completed.push_back(fire); },
                                            .on_last_completed = [&](const lh::completed_fire& of) { last.push_back(of.fire); }}};
    bool fails = true;
    job.run(stop.get_token(), [&](auto& run) {
        if (std::exchange(fails, false)) throw std::runtime_error{"once"};
        begun.push_back(run.fire());
        if (begun.size() == 3) stop.request_stop();
    });
    BOOST_TEST((completed == begun));
    BOOST_TEST((last == begun));
}

BOOST_AUTO_TEST_CASE(what_on_completed_throws_reaches_the_caller_of_a_completed_fire)
{
    lh::memory_store store;
    int last_told = 0;
    const lh::recurring_options options{.on_completed = [](lh::fire_time) { throw std::range_error{"told"}; },
                                        .on_last_completed = [&](const lh::completed_fire&) { ++last_told; }};
    lh::recurring job{store, "job", lh::every{.period = 5ms}, options};
    BOOST_CHECK_THROW(job.run({}, [](auto&) {}), std::range_error);
    BOOST_TEST(last_told == 1, "the other hook is called as well");
    for (const bool throws : {true, false}) {
        lh::recurring other{store, throws ? "other" : "third", lh::every{.period = 24h}, options};
        auto run = other.try_begin();
        BOOST_REQUIRE(run.held());
        std::error_code ec;
        if (throws)
            BOOST_CHECK_THROW(run.complete(), std::range_error);
        else
            BOOST_TEST((run.complete(ec) && ec == lh::errc::store_failure));
        BOOST_TEST(run.completed());
        BOOST_TEST(run.complete(), "and is told once");
    }
}

BOOST_FIXTURE_TEST_CASE(completed_fire_stays_completed_for_a_run_whose_lease_is_over, scene)
{
    auto a = host("a");
    auto run = a.try_begin();
    BOOST_REQUIRE(run.held());
    BOOST_TEST(run.complete());
    clock.advance(61s);
    BOOST_TEST(!run.held());
    BOOST_TEST(run.complete());
    std::error_code ec;
    BOOST_TEST(run.complete(ec));
    BOOST_TEST(!ec);
    run.release(ec);
    BOOST_TEST(!run.complete(ec), "an empty run is none");
    BOOST_TEST((ec == lh::errc::not_held));
}

BOOST_FIXTURE_TEST_CASE(run_begins_with_the_next_fire, scene)
{
    std::stop_source stop;
    std::atomic<int> runs{0};
    lh::recurring job{store, "report", nightly, lh::recurring_options{}, clock};
    std::jthread thread{[&] {
        job.run(stop.get_token(), [&](auto& run) {
            if (run.fire() != last_night + 24h) ++runs;
            ++runs;
            stop.request_stop();
        });
    }};
    while (clock.sleepers() == 0) std::this_thread::yield();
    BOOST_TEST(runs == 0);
    clock.advance(14h + 59min);
    BOOST_TEST(runs == 0);
    clock.advance(1min);
    thread.join();
    BOOST_TEST(runs == 1);
    BOOST_TEST((job.last()->fire == last_night + 24h));
}

BOOST_FIXTURE_TEST_CASE(run_ends_when_it_is_asked_to_stop_while_it_waits, scene)
{
    std::stop_source stop;
    lh::recurring job{store, "report", nightly, clock};
    std::jthread thread{[&] { job.run(stop.get_token(), [](auto&) {}); }};
    while (clock.sleepers() == 0) std::this_thread::yield();
    stop.request_stop();
    thread.join();
    BOOST_TEST(!store.checkpoint("report"));
}

namespace {

struct stopping_store : lh::forwarding_store<memory, stopping_store> {
    using forwarding_store::forwarding_store;
    template <class Make>
    auto around(const lh::store_call& call, std::error_code&, Make make) -> decltype(make())
    {
        if (call.operation == lh::store_operation::save_checkpoint) stop.request_stop();
        return make();
    }
    std::stop_source stop;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(stop_before_the_job_is_called_leaves_the_fire_open_with_all_its_attempts, scene)
{
    const lh::recurring_options once{.max_attempts = 1};
    {
        auto before = host("before");
        BOOST_TEST((completes(before) == last_night));
    }
    clock.advance(24h);
    stopping_store stopping{store};
    lh::recurring job{stopping, "report", nightly, once, clock, lh::no_renewal{}};
    int begun = 0;
    job.run(stopping.stop.get_token(), [&](auto&) { ++begun; });
    BOOST_TEST(stopping.stop.stop_requested());
    BOOST_TEST(begun == 0);
    auto other = host("other", once);
    const auto run = other.try_begin();
    BOOST_TEST(run.held());
    BOOST_TEST(run.attempt() == 1);
}

BOOST_FIXTURE_TEST_CASE(own_schedule_needs_only_next, scene)
{
    struct at_midnight {
        lh::fire_time next(lh::fire_time after) const noexcept
        {
            return std::chrono::floor<std::chrono::days>(after) + std::chrono::days{1};
        }
    };
    auto a = host("a", {}, at_midnight{});
    BOOST_TEST((completes(a) == last_night - 3h));
    auto b = host("b");
    BOOST_TEST(refused([&] { static_cast<void>(is_held(b.try_begin())); }, lh::errc::invalid_terms, "of its own"));
}

BOOST_AUTO_TEST_SUITE_END()
