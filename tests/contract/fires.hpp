// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_FIRES_HPP
#define LEASEHOLD_TESTS_CONTRACT_FIRES_HPP

#include <contract/asked_once.hpp>
#include <contract/checkpoints.hpp>
#include <contract/scene.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::contract {

template <class Store>
concept fire_store = checkpointing_store<Store> && timed_store<Store>;

inline constexpr duration day = 24h;

// A fire each day, the last one twelve hours ago: no other becomes due while a case goes on.
template <timed_store Store>
every once_a_day(Store& store)
{
    const duration since = time_of(store).time_since_epoch();
    return {.period = day, .at = (since + day / 2) % day};
}

// A host that runs the scene's job.
template <store_fixture Fixture>
auto host_on(scene<Fixture>& s, store_of<Fixture>& store, every when, std::string owner, recurring_options with = {.ttl = long_ttl})
{
    return recurring{store, s.name(), when, std::move(with), s.clock(), fixed_owner_id{std::move(owner)}, no_renewal{}};
}

// A run of a fire that is due. A machine that is held up for longer than the ttl gets another try.
template <class Recurring>
auto run_of(Recurring& job)
{
    for (int tries = 1;; ++tries) {
        auto run = job.try_begin();
        if (run && run.held()) return run;
        if (tries == 20) throw std::runtime_error{"no run of a fire that is due"};
    }
}

// A job that several hosts run once per fire, by what the store keeps of it.
template <store_fixture Fixture>
    requires fire_store<store_of<Fixture>>
void add_fires(case_list<Fixture> cases)
{
    cases.add("fire_that_one_host_completes_is_done_for_the_others", [](auto& s) {
        const every when = once_a_day(s.store());
        const store_time before = time_of(s.store());
        auto mine = host_on(s, s.store(), when, "a"), theirs = host_on(s, s.other(), when, "b"), late = host_on(s, s.other(), when, "c");
        auto run = mine.try_begin();
        BOOST_REQUIRE(run.held());
        const fire_time fire = run.fire();
        BOOST_TEST((fire == fire_time{when.next(fire_time{before} - day)}));
        BOOST_TEST(is_empty(theirs.try_begin()));
        BOOST_TEST(run.complete());
        BOOST_TEST(is_empty(theirs.try_begin()));
        BOOST_TEST((run.release() == release_outcome::released));
        for (auto* each : {&mine, &theirs, &late}) {
            BOOST_TEST(is_empty(each->try_begin()));
            const std::optional<completed_fire> last = each->last();
            BOOST_REQUIRE(last.has_value());
            BOOST_TEST((last->fire == fire && last->owner == "a"));
            BOOST_TEST((last->completed_at >= before && last->completed_at <= time_of(s.other()) + s.rounding()));
            BOOST_TEST((each->next() == fire + day));
        }
    });

    cases.add("fire_that_was_not_completed_is_open_for_the_others", [](auto& s) {
        const every when = once_a_day(s.store());
        auto mine = host_on(s, s.store(), when, "a"), theirs = host_on(s, s.other(), when, "b");
        fire_time fire{};
        {
            auto run = mine.try_begin();
            BOOST_REQUIRE(run.held());
            BOOST_TEST(run.save_checkpoint("half of it"));
            fire = run.fire();
        }
        BOOST_TEST(!theirs.last().has_value());
        {
            auto run = theirs.try_begin();
            BOOST_REQUIRE(run.held());
            BOOST_TEST((run.fire() == fire));
            BOOST_TEST(run.load_checkpoint().value_or("none") == "half of it");
            BOOST_TEST(run.complete());
        }
        BOOST_TEST(is_empty(mine.try_begin()));
        BOOST_TEST(mine.last().value().owner == "b");
    });

    // Its clock stands still, so that it believes in its term.
    cases.add("host_that_is_late_completes_nothing", [](auto& s) {
        const every when = once_a_day(s.store());
        recurring stopped{s.store(),      s.name(),           when, recurring_options{.ttl = s.ttl()},
                          manual_clock{}, fixed_owner_id{"a"}, no_renewal{}};
        auto theirs = host_on(s, s.other(), when, "b");
        auto late = run_of(stopped);
        s.let_expire(s.ttl());
        BOOST_TEST(late.held());
        BOOST_TEST(!late.complete());
        auto run = theirs.try_begin();
        BOOST_REQUIRE(run.held());
        BOOST_TEST((run.fire() == late.fire()));
        BOOST_TEST(!late.complete());
        BOOST_TEST(!late.save_checkpoint("late"));
        BOOST_TEST(!theirs.last().has_value());
        BOOST_TEST(run.complete());
        BOOST_TEST(!late.complete());
        BOOST_TEST(theirs.last().value().owner == "b");
    });

    cases.add("another_schedule_of_the_name_is_refused_unless_it_replaces_the_first", [](auto& s) {
        const every when = once_a_day(s.store());
        const every twice{.period = day / 2, .at = (when.at + 1h) % (day / 2)};
        auto mine = host_on(s, s.store(), when, "a");
        {
            auto run = mine.try_begin();
            BOOST_REQUIRE(run.held());
            BOOST_TEST(run.complete());
        }
        const auto refused = [&](auto job) {
            std::error_code ec;
            const auto run = job.try_begin(ec);
            return run.empty() && ec == errc::invalid_terms;
        };
        BOOST_TEST(refused(host_on(s, s.other(), twice, "b")));
        BOOST_TEST(mine.last().value().owner == "a");
        auto replacing = host_on(s, s.other(), twice, "c", {.ttl = long_ttl, .replace_schedule = true});
        BOOST_TEST(is_empty(replacing.try_begin()));  // it begins with its next fire
        BOOST_TEST(refused(host_on(s, s.store(), when, "d")));
        BOOST_TEST(!refused(host_on(s, s.store(), twice, "e")));
    });

    cases.add("next_fire_is_due_when_the_stores_clock_says_so", [](auto& s) {
        const every when{.period = 4 * s.ttl()};
        auto mine = host_on(s, s.store(), when, "a"), theirs = host_on(s, s.other(), when, "b");
        fire_time first{};
        {
            auto run = mine.try_begin();
            BOOST_REQUIRE(run.held());
            BOOST_TEST(run.complete());
            first = run.fire();
        }
        const auto another_fire = [&](auto& job) {
            const auto run = job.try_begin();
            return run.empty() || run.fire() > first;
        };
        BOOST_TEST(another_fire(theirs));
        const duration left = first + when.period - time_of(s.store());
        if (left > duration::zero()) s.let_pass(left + s.rounding());
        auto newcomer = host_on(s, s.other(), when, "c");  // others go by their own clocks, for a minute after a look
        auto run = newcomer.try_begin();
        BOOST_REQUIRE(run.held());
        BOOST_TEST((run.fire() > first && run.fire() <= time_of(s.store())));
        BOOST_TEST(((run.fire() - first) % when.period == duration::zero()));
        BOOST_TEST(run.complete());
        BOOST_TEST((mine.last().value().fire == run.fire()));
    });
}

}  // namespace leasehold::contract

#endif
