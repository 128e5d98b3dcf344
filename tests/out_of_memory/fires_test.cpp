// SPDX-License-Identifier: BSL-1.0
// Runs of a schedule, and names that are held closed, with allocations that fail.
#include "allocations.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/recurring.hpp>

#include <contract/asked_once.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <vector>

namespace lh = leasehold;
using namespace std::chrono_literals;
using out_of_memory::raise;
using out_of_memory::sweep;

namespace {

// Names too long for a string to keep in itself.
const std::string name(64, 'n');
const std::string text(64, 't');

struct fires {
    using job = lh::recurring<lh::memory_store, lh::every>;

    lh::memory_store store;
    job mine = made(), theirs = made();
    std::optional<lh::fire_time> done;

    job made(int max_attempts = 0)
    {
        return job{store, name, lh::every{.period = 24h},
                   lh::recurring_options{.ttl = 1h, .max_attempts = max_attempts, .retry_min = 1ms, .retry_max = 1ms}};
    }

    // What was said to be completed is, and what is not can be begun.
    void check()
    {
        auto run = theirs.try_begin_for(10s);
        if (run) BOOST_TEST((run.fire() != done));
        if (run) BOOST_TEST(run.complete());
        BOOST_TEST(theirs.last().has_value(), "the fire is neither completed nor open");
    }
};

struct completed_fire : fires {
    completed_fire()
    {
        auto run = theirs.try_begin();
        BOOST_REQUIRE(run.complete());
    }
};

struct held_closed {
    lh::memory_store store;
    bool held = false;

    void check()
    {
        std::error_code ec;
        if (!held) BOOST_TEST(!store.inspect(name, ec).has_value(), "the name is closed, though hold() failed");
        store.unhold(name, ec);
        BOOST_TEST(!ec);
        lh::basic_lease theirs{store, name, 1h};
        BOOST_TEST(is_held(theirs.try_acquire()), "the name is closed still");
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(out_of_memory_fires)

BOOST_AUTO_TEST_CASE(making_a_recurring)
{
    sweep<fires>([](fires& s) { s.made(); });
}

BOOST_AUTO_TEST_CASE(run_that_is_completed)
{
    sweep<fires>([](fires& s) {
        auto run = s.mine.try_begin();
        BOOST_REQUIRE(run.held());
        BOOST_REQUIRE(run.save_checkpoint(text));
        BOOST_REQUIRE(run.complete());
        s.done = run.fire();
    });
}

BOOST_AUTO_TEST_CASE(run_that_reports)
{
    sweep<fires>([](fires& s) {
        std::error_code ec;
        auto run = s.mine.try_begin_for(10s, ec);
        raise(ec);
        BOOST_REQUIRE(run.held());
        run.save_checkpoint(text, ec);
        raise(ec);
        const bool completed = run.complete(ec);
        if (completed) s.done = run.fire();
        raise(ec);
        BOOST_REQUIRE(completed);
    });
}

BOOST_AUTO_TEST_CASE(run_that_fails)
{
    sweep<fires>([](fires& s) {
        auto job = s.made(2);
        auto run = job.try_begin();
        BOOST_REQUIRE(run.held());
        BOOST_REQUIRE(run.fail());
    });
}

BOOST_AUTO_TEST_CASE(last_and_next)
{
    sweep<completed_fire>([](completed_fire& s) {
        BOOST_REQUIRE(s.mine.last().has_value());
        BOOST_REQUIRE((s.mine.next() > s.mine.last()->fire));
    });
}

BOOST_AUTO_TEST_CASE(name_that_is_held_closed)
{
    sweep<held_closed>([](held_closed& s) {
        s.held = s.store.hold(name, 1h, text);
        s.store.unhold(name);
    });
    sweep<held_closed>([](held_closed& s) {
        std::error_code ec;
        s.held = s.store.hold(name, 1h, text, ec);
        raise(ec);
    });
}

BOOST_AUTO_TEST_SUITE_END()
