// SPDX-License-Identifier: BSL-1.0
// The record of a name's fires: when it is gone, replaced, made by another version, or has no room.
#include <leasehold/leasehold.hpp>
#include <support/eventually.hpp>
#include <support/lagging_reads.hpp>
#include <support/refused.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(recurring_record_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using leasehold_test::lagging_reads;
using leasehold_test::refused;

namespace {

constexpr lh::store_time noon = std::chrono::sys_days{std::chrono::year{2026} / 11 / 25} + 12h;
constexpr lh::fire_time last_night = noon - 9h;
constexpr lh::every nightly{.period = 24h, .at = 3h};

using memory = lh::basic_memory_store<lh::manual_clock>;

// A purge may remove what a name has saved. Its next term has the next token all the same.
struct purged_store : lh::forwarding_store<memory, purged_store> {
    using forwarding_store::forwarding_store;

    std::optional<lh::checkpoint_record> checkpoint(std::string_view name, std::error_code& ec)
    {
        auto saved = underlying().checkpoint(name, ec);
        return purged ? std::nullopt : saved;
    }

    lh::checkpoint_look look_at_checkpoint(std::string_view name, std::error_code& ec)
    {
        auto seen = underlying().look_at_checkpoint(name, ec);
        if (purged) seen.saved.reset();
        return seen;
    }

    bool replace_checkpoint(std::string_view name, std::string_view owner, lh::fencing_token token, std::string_view replaced,
                            std::string_view text, std::error_code& ec)
    {
        if (!purged) return underlying().replace_checkpoint(name, owner, token, replaced, text, ec);
        ec.clear();
        const bool saved = replaced.empty() && underlying().save_checkpoint(name, owner, token, text, ec);
        if (saved) purged = false;
        return saved;
    }

    bool purged = false;
};

struct scene {
    lh::manual_clock clock;
    memory store{clock, noon};
    std::vector<lh::fire_time> missed;

    lh::recurring_options telling(lh::recurring_options with = {})
    {
        with.on_missed = [this](lh::fire_time fire) { missed.push_back(fire); };
        return with;
    }

    template <lh::schedule Schedule = lh::every>
    auto host(const std::string& owner, lh::recurring_options with = {}, Schedule when = nightly)
    {
        return lh::recurring{store, "report", when, telling(std::move(with)), clock, lh::fixed_owner_id{std::string{owner}},
                             lh::no_renewal{}};
    }
};

template <class Job>
std::optional<lh::fire_time> completes(Job& job)
{
    auto run = job.try_begin();
    if (run.empty() || !run.complete()) return std::nullopt;
    return run.fire();
}

// A store whose reads lag for a while, as those of a node of a cluster may.
struct lagging_store : lh::forwarding_store<memory, lagging_store> {
    using forwarding_store::forwarding_store;

    std::optional<lh::checkpoint_record> checkpoint(std::string_view name, std::error_code& ec)
    {
        auto saved = underlying().checkpoint(name, ec);
        return older ? older : saved;
    }

    lh::checkpoint_look look_at_checkpoint(std::string_view name, std::error_code& ec)
    {
        auto seen = underlying().look_at_checkpoint(name, ec);
        if (older) seen.saved = older;
        return seen;
    }

    std::optional<lh::checkpoint_record> older;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(fire_that_was_begun_after_a_read_that_lagged_is_not_completed_again, scene)
{
    auto first = host("first");
    BOOST_TEST((completes(first) == last_night));
    lagging_store lagging{store};
    lagging.older = store.checkpoint("report");
    clock.advance(24h);
    BOOST_TEST((completes(first) == last_night + 24h));
    lh::recurring job{lagging, "report", nightly, clock, lh::fixed_owner_id{"second"}, lh::no_renewal{}};
    auto run = job.try_begin();
    BOOST_REQUIRE(run.held());
    BOOST_TEST((run.fire() == last_night + 24h));
    lagging.older.reset();
    BOOST_TEST(!run.complete());
    BOOST_TEST(first.last().value().owner == "first");
}

BOOST_FIXTURE_TEST_CASE(host_begins_no_completed_fire_by_a_read_that_does_not_know_its_term_yet, scene)
{
    auto first = host("first");
    BOOST_TEST((completes(first) == last_night));
    lagging_reads<memory> lagging{store};
    std::error_code ec;
    lagging.was = lagging.look_at_checkpoint("report", ec);
    clock.advance(24h);
    BOOST_TEST((completes(first) == last_night + 24h));
    lh::recurring job{lagging, "report", nightly, clock, lh::fixed_owner_id{"second"}, lh::no_renewal{}};
    lagging.lagging_looks = 1000;
    const auto refused_run = job.try_begin(ec);
    BOOST_TEST(refused_run.empty());
    BOOST_TEST((ec == lh::errc::store_conflict));
    lagging.lagging_looks = 4;
    const auto run = job.try_begin(ec);
    BOOST_TEST(run.empty());
    BOOST_TEST(!ec);
    BOOST_TEST(first.last().value().owner == "first");
}

BOOST_FIXTURE_TEST_CASE(host_begins_no_completed_fire_by_a_read_that_does_not_know_the_name_yet, scene)
{
    lagging_reads<memory> lagging{store};
    std::error_code ec;
    lagging.was = lagging.look_at_checkpoint("report", ec);
    auto first = host("first");
    BOOST_TEST((completes(first) == last_night));
    lh::recurring job{lagging, "report", nightly, clock, lh::fixed_owner_id{"second"}, lh::no_renewal{}};
    lagging.lagging_looks = 1000;
    const auto refused_run = job.try_begin(ec);
    BOOST_TEST(refused_run.empty());
    BOOST_TEST((ec == lh::errc::store_conflict), "an error, after which run() pauses");
    lagging.lagging_looks = 4;
    const auto run = job.try_begin(ec);
    BOOST_TEST(run.empty());
    BOOST_TEST(!ec);
}

BOOST_FIXTURE_TEST_CASE(fire_is_completed_also_if_a_purge_has_removed_the_record_that_the_host_knows, scene)
{
    purged_store purged{store};
    lh::recurring job{purged, "report", nightly, clock, lh::no_renewal{}};
    BOOST_TEST((completes(job) == last_night));
    purged.purged = true;
    clock.advance(24h);
    BOOST_TEST((completes(job) == last_night + 24h));
    lh::recurring other{purged, "report", nightly, clock, lh::no_renewal{}};
    BOOST_TEST(!completes(other).has_value());
}

// So soon that the host does not read the record again before it begins.
BOOST_FIXTURE_TEST_CASE(fire_that_follows_soon_is_completed_also_if_a_purge_has_removed_the_record_that_the_host_knows, scene)
{
    purged_store purged{store};
    lh::recurring job{purged, "report", lh::every{.period = 20s}, clock, lh::no_renewal{}};
    BOOST_TEST((completes(job) == noon));
    purged.purged = true;
    clock.advance(20s);
    BOOST_TEST((completes(job) == noon + 20s));
}

BOOST_FIXTURE_TEST_CASE(purge_of_the_record_lets_run_repeat_no_fire, scene)
{
    purged_store purged{store};
    std::vector<lh::fire_time> done;
    std::atomic<std::size_t> completed{0};
    std::stop_source stop;
    std::jthread runs{[&] {
        lh::recurring_options options{.catch_up = lh::catch_up::all};
        options.on_completed = [&](lh::fire_time) { ++completed; };
        lh::recurring job{purged, "report", nightly, options, clock, lh::no_renewal{}};
        job.run(stop.get_token(), [&](auto& run) { done.push_back(run.fire()); });
    }};
    const struct ends_with_test {
        std::stop_source& of;
        ~ends_with_test() { of.request_stop(); }
    } ends{stop};
    BOOST_TEST_REQUIRE(eventually([&] { return clock.sleepers() > 0; }));  // it has begun, and waits for its first fire
    const auto a_day_later = [&](std::size_t fires) {
        clock.advance(24h);
        BOOST_TEST_REQUIRE(eventually([&] { return completed >= fires; }));
    };
    a_day_later(1);
    a_day_later(2);
    // Somebody else's term, after which the host reads the record again.
    lh::basic_lease other{purged, "report", clock, lh::no_renewal{}};
    BOOST_TEST_REQUIRE(eventually([&] { return static_cast<bool>(other.try_run([&] { purged.purged = true; })); }));
    a_day_later(3);
    stop.request_stop();
    runs.join();
    BOOST_TEST((done == std::vector<lh::fire_time>{last_night + 24h, last_night + 48h, last_night + 72h}));
}

BOOST_AUTO_TEST_CASE(schedule_whose_next_fire_is_not_later_is_refused)
{
    struct at_or_after {
        static lh::fire_time next(lh::fire_time after) { return std::chrono::ceil<std::chrono::days>(after); }
    };
    struct at_one_or_after {
        static lh::fire_time next(lh::fire_time after) { return std::chrono::ceil<std::chrono::days>(after - 1h) + 1h; }
    };
    scene s;
    BOOST_TEST(refused([&] { static_cast<void>(s.host("a", {}, at_or_after{})); }, lh::errc::invalid_terms, "later than"));
    BOOST_TEST(refused([&] { static_cast<void>(s.host("a", {}, at_one_or_after{})); }, lh::errc::invalid_terms, "later than"));
}

BOOST_FIXTURE_TEST_CASE(completed_fire_is_not_due_under_another_schedule_after_the_clock_of_the_store_was_set_back, scene)
{
    clock.advance(15h + 30s);
    auto a = host("a");
    BOOST_TEST((completes(a) == last_night + 24h));
    // The same record in a store whose clock is a minute behind.
    memory behind{clock, noon + 15h - 30s};
    const std::string record = store.checkpoint("report").value().text;
    {
        lh::basic_lease lease{behind, "report", clock, lh::no_renewal{}};
        auto guard = lease.try_acquire();
        BOOST_TEST(guard.save_checkpoint(record));
    }
    lh::recurring b{behind, "report", lh::cron{"0 3 * * *"}, lh::recurring_options{.replace_schedule = true}, clock, lh::no_renewal{}};
    BOOST_TEST(!completes(b).has_value());
    clock.advance(2min);
    BOOST_TEST(!completes(b).has_value());
    clock.advance(24h);
    BOOST_TEST((completes(b) == last_night + 48h));
}

// As in a rolling deploy from one version with the option to the next.
BOOST_FIXTURE_TEST_CASE(host_whose_schedule_was_replaced_does_not_replace_it_again, scene)
{
    auto old_version = host("old", {.replace_schedule = true});
    BOOST_TEST((completes(old_version) == last_night));
    auto new_version = host("new", {.replace_schedule = true}, lh::every{.period = 12h, .at = 3h});
    BOOST_TEST(!completes(new_version).has_value());
    clock.advance(24h);
    BOOST_TEST(refused([&] { static_cast<void>(completes(old_version)); }, lh::errc::invalid_terms, "stop this one"));
    BOOST_TEST((completes(new_version) == last_night + 24h));
}

BOOST_FIXTURE_TEST_CASE(open_fire_is_told_as_missed_when_another_schedule_takes_its_place, scene)
{
    auto a = host("a", {.retry_min = 1h, .retry_max = 1h});
    {
        auto run = a.try_begin();
        BOOST_TEST(run.fail());
    }
    auto b = host("b", {.replace_schedule = true}, lh::every{.period = 12h, .at = 3h});
    BOOST_TEST(!completes(b).has_value());
    BOOST_TEST((missed == std::vector<lh::fire_time>{last_night}));
}

BOOST_FIXTURE_TEST_CASE(each_missed_fire_is_told_though_the_hook_throws_and_no_attempt_is_counted, scene)
{
    auto a = host("a", {.max_attempts = 1});
    BOOST_TEST(completes(a).has_value());
    clock.advance(4 * 24h);
    auto options = telling({.max_attempts = 1});
    options.on_missed = [this](lh::fire_time fire) {
        missed.push_back(fire);
        throw std::runtime_error{"the pager is broken"};
    };
    lh::recurring b{store, "report", nightly, options, clock, lh::no_renewal{}};
    BOOST_CHECK_THROW(static_cast<void>(completes(b)), std::runtime_error);
    BOOST_TEST((missed == std::vector<lh::fire_time>{last_night + 24h, last_night + 48h, last_night + 72h}));
    BOOST_TEST((completes(b) == last_night + 96h));
}

BOOST_FIXTURE_TEST_CASE(name_whose_checkpoint_leaves_no_room_for_a_record_is_refused_with_the_limit, scene)
{
    {
        lh::basic_lease lease{store, "report", clock, lh::no_renewal{}};
        auto guard = lease.try_acquire();
        BOOST_TEST(guard.save_checkpoint(std::string(lh::max_checkpoint_bytes, 'x')));
    }
    auto a = host("a");
    for (const char* words : {"4096 bytes", "at most 2800", "shorter"})
        BOOST_TEST(refused([&] { static_cast<void>(completes(a)); }, lh::errc::invalid_terms, words));
}

BOOST_FIXTURE_TEST_CASE(run_that_is_completed_and_then_fails_is_released, scene)
{
    auto a = host("a");
    auto run = a.try_begin();
    BOOST_TEST(run.save_checkpoint("page 1"));
    BOOST_TEST(run.complete());
    BOOST_TEST(!run.fail());
    BOOST_TEST(run.empty());
    BOOST_TEST(!run.load_checkpoint().has_value());
    BOOST_TEST(store.list().empty());
    clock.advance(24h);
    auto next = a.try_begin();
    BOOST_TEST(next.load_checkpoint().value_or("") == "page 1");
}

BOOST_AUTO_TEST_SUITE_END()
