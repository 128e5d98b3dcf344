// SPDX-License-Identifier: BSL-1.0
// What a guard saves for the next holder, and reads of the last one.
#include <leasehold/leasehold.hpp>

#include <support/lagging_reads.hpp>
#include <support/printing.hpp>
#include <support/scripted_store.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <system_error>

namespace lease_guard_checkpoint_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::fate;
using leasehold_test::operation;

namespace {

struct scene {
    lh::manual_clock clock;
    leasehold_test::scripted_store store{clock};
    lh::basic_lease<leasehold_test::scripted_store, lh::manual_clock> lease{store, "n", lh::lease_terms{.ttl = 30s}, clock};
    lh::basic_lease<leasehold_test::scripted_store, lh::manual_clock> other{store, "n", lh::lease_terms{.ttl = 30s}, clock};
    std::error_code ec;
};

bool names_the_checkpoint(const std::system_error& e)
{
    const std::string said = e.what();
    return e.code() == lh::errc::invalid_data && said.find("the checkpoint is longer than the 4096 bytes") != std::string::npos;
}

bool says_not_held(const std::system_error& e) { return e.code() == lh::errc::not_held; }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(lease_guard_checkpoint_test, scene)

BOOST_AUTO_TEST_CASE(next_holder_loads_what_the_last_one_has_saved)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(!guard.load_checkpoint().has_value());
    BOOST_TEST(guard.save_checkpoint("offset=4711"));
    BOOST_TEST(guard.load_checkpoint().value_or("none") == "offset=4711");
    const lh::fencing_token token = guard.token();
    guard.release();
    auto next = other.try_acquire();
    BOOST_TEST(next.load_checkpoint(ec).value_or("none") == "offset=4711");
    BOOST_TEST(!ec);
    BOOST_TEST((store.leases.checkpoint("n")->token == token));
    BOOST_TEST(next.save_checkpoint("", ec));
    BOOST_TEST(next.load_checkpoint().value_or("none") == "");
    BOOST_TEST((store.leases.checkpoint("n")->token == next.token()));
}

// The last holder has saved again, and this one's grant is not known yet, where the read goes.
struct lagging_scene {
    lagging_scene()
    {
        auto last = lease.try_acquire();
        last.save_checkpoint("1");
        store.was = store.look_at_checkpoint("n", ec);
        last.save_checkpoint("2");
    }

    lh::manual_clock clock;
    lh::basic_memory_store<lh::manual_clock> memory{clock};
    leasehold_test::lagging_reads<lh::basic_memory_store<lh::manual_clock>> store{memory};
    lh::basic_lease<decltype(store), lh::manual_clock> lease{store, "n", lh::lease_terms{.ttl = 30s}, clock};
    std::error_code ec;
};

BOOST_AUTO_TEST_CASE(holder_looks_again_where_its_term_is_not_known_yet)
{
    lagging_scene s;
    auto guard = s.lease.try_acquire();
    s.store.lagging_looks = 3;
    BOOST_TEST(guard.load_checkpoint().value_or("none") == "2");
    BOOST_TEST(s.store.lagging_looks == 0);
}

BOOST_AUTO_TEST_CASE(checkpoint_of_before_the_grant_is_never_loaded)
{
    lagging_scene s;
    auto guard = s.lease.try_acquire();
    s.store.lagging_looks = 1000;
    BOOST_TEST(!guard.load_checkpoint(ec).has_value());
    BOOST_TEST((ec == lh::errc::store_conflict));
    BOOST_CHECK_EXCEPTION(static_cast<void>(guard.load_checkpoint()), lh::store_error,
                          [](const lh::store_error& e) { return e.code() == lh::errc::store_conflict; });
    s.store.lagging_looks = 0;
    BOOST_TEST(guard.load_checkpoint(ec).value_or("none") == "2");
}

// The node has no row of the name yet.
BOOST_AUTO_TEST_CASE(checkpoint_of_before_the_name_was_known_is_never_loaded)
{
    lh::basic_memory_store<lh::manual_clock> memory{clock};
    leasehold_test::lagging_reads<lh::basic_memory_store<lh::manual_clock>> lagging{memory};
    lh::basic_lease mine{lagging, "new", lh::lease_terms{.ttl = 30s}, clock};
    lagging.was = memory.look_at_checkpoint("new", ec);
    {
        auto first = mine.try_acquire();
        BOOST_TEST(first.save_checkpoint("1"));
    }
    auto next = mine.try_acquire();
    lagging.lagging_looks = 3;
    BOOST_TEST(next.load_checkpoint().value_or("none") == "1");
    lagging.lagging_looks = 1000;
    BOOST_TEST(!next.load_checkpoint(ec).has_value());
    BOOST_TEST((ec == lh::errc::store_conflict));
}

// As odbc_store over a database for the generic dialect.
struct without_looks : lh::forwarding_store<lh::basic_memory_store<lh::manual_clock>, without_looks> {
    using forwarding_store::forwarding_store;

    lh::checkpoint_look look_at_checkpoint(std::string_view, std::error_code& failed)
    {
        failed = lh::errc::store_failure;
        return {};
    }
};

BOOST_AUTO_TEST_CASE(holder_loads_a_checkpoint_also_where_the_store_can_not_look)
{
    lh::basic_memory_store<lh::manual_clock> memory{clock};
    without_looks looking{memory};
    lh::basic_lease<without_looks, lh::manual_clock> mine{looking, "n", lh::lease_terms{.ttl = 30s}, clock};
    auto guard = mine.try_acquire();
    BOOST_TEST(guard.save_checkpoint("1"));
    BOOST_TEST(guard.load_checkpoint(ec).value_or("none") == "1");
    BOOST_TEST(!ec);
}

BOOST_AUTO_TEST_CASE(guard_that_no_longer_holds_saves_nothing_and_asks_nobody)
{
    auto guard = lease.try_acquire();
    store.always(operation::renew, fate::refused);
    clock.advance(31s);
    BOOST_TEST(!guard.held());
    BOOST_TEST(!guard.save_checkpoint("late"));
    BOOST_TEST(!guard.save_checkpoint("late", ec));
    BOOST_TEST(!ec);
    BOOST_TEST(store.sent(operation::save_checkpoint) == 0);
    BOOST_TEST(!guard.load_checkpoint().has_value());
}

BOOST_AUTO_TEST_CASE(term_that_is_over_in_the_store_saves_nothing)
{
    auto guard = lease.try_acquire();
    BOOST_TEST(store.leases.force_release("n"));
    BOOST_TEST(!guard.save_checkpoint("late"));
    BOOST_TEST(!store.leases.checkpoint("n").has_value());
}

BOOST_AUTO_TEST_CASE(empty_guard_has_no_checkpoint)
{
    lh::lease_guard<decltype(lease)> empty;
    BOOST_CHECK_EXCEPTION(empty.save_checkpoint("x"), std::system_error, says_not_held);
    BOOST_CHECK_EXCEPTION(static_cast<void>(empty.load_checkpoint()), std::system_error, says_not_held);
    BOOST_TEST(!empty.save_checkpoint("x", ec));
    BOOST_TEST((ec == lh::errc::not_held));
    ec.clear();
    BOOST_TEST(!empty.load_checkpoint(ec).has_value());
    BOOST_TEST((ec == lh::errc::not_held));
}

BOOST_AUTO_TEST_CASE(text_that_is_too_long_is_refused_before_the_store_is_asked)
{
    auto guard = lease.try_acquire();
    const std::string too_long(lh::max_checkpoint_bytes + 1, 'x');
    BOOST_CHECK_EXCEPTION(guard.save_checkpoint(too_long), std::system_error, names_the_checkpoint);
    BOOST_TEST(!guard.save_checkpoint(too_long, ec));
    BOOST_TEST((ec == lh::errc::invalid_data));
    BOOST_TEST(store.sent(operation::save_checkpoint) == 0);
    BOOST_TEST(guard.save_checkpoint(std::string(lh::max_checkpoint_bytes, 'x')));
}

BOOST_AUTO_TEST_CASE(failures_of_the_store_are_told)
{
    auto guard = lease.try_acquire();
    store.always(operation::save_checkpoint, fate::fails);
    BOOST_CHECK_THROW(guard.save_checkpoint("x"), lh::store_error);
    store.always(operation::save_checkpoint, fate::throws);
    BOOST_TEST(!guard.save_checkpoint("x", ec));
    BOOST_TEST((ec == lh::errc::store_failure));
    store.always(operation::checkpoint, fate::fails);
    BOOST_CHECK_THROW(static_cast<void>(guard.load_checkpoint()), lh::store_error);
    BOOST_TEST(!guard.load_checkpoint(ec).has_value());
    BOOST_TEST((ec == lh::errc::store_unavailable));
    store.always(operation::checkpoint, fate::throws);
    BOOST_TEST(!guard.load_checkpoint(ec).has_value());
    BOOST_TEST((ec == lh::errc::store_failure));
    BOOST_TEST(guard.held());
}

BOOST_AUTO_TEST_CASE(decorators_pass_checkpoints_and_the_time_on)
{
    int calls = 0;
    lh::hooked_store hooked{store, [&](const lh::store_call& call, const lh::store_call_report& report) {
                                if (call.operation >= lh::store_operation::save_checkpoint) calls += report.succeeded ? 1 : 100;
                            }};
    bool outage = false;
    lh::faulty_store flaky{hooked, [&](const lh::store_call&) { return outage ? lh::store_fault::lose_request : lh::store_fault::none; }};
    static_assert(lh::checkpointing_store<decltype(flaky)> && lh::timed_store<decltype(flaky)>);
    lh::basic_lease through{flaky, "n", lh::lease_terms{.ttl = 30s}, clock};
    auto guard = through.try_acquire();
    BOOST_TEST(guard.save_checkpoint("x"));
    BOOST_TEST(guard.load_checkpoint().value_or("none") == "x");
    BOOST_TEST((flaky.now(ec) == store.leases.now(ec)));
    BOOST_TEST(calls == 3);
    outage = true;
    BOOST_TEST(!guard.save_checkpoint("y", ec));
    BOOST_TEST((ec == lh::errc::store_unavailable));
    BOOST_TEST((flaky.now(ec) == lh::store_time{}));
    BOOST_TEST((ec == lh::errc::store_unavailable));
    BOOST_TEST(calls == 3);
}

BOOST_AUTO_TEST_CASE(memory_store_s_time_goes_on_by_its_clock_from_where_it_was_told)
{
    using std::chrono::sys_days;
    const lh::store_time midnight = sys_days{std::chrono::year{2030} / 1 / 1};
    lh::basic_memory_store timed{clock, midnight};
    BOOST_TEST((timed.now(ec) == midnight));
    clock.advance(90s);
    BOOST_TEST((timed.now(ec) == midnight + 90s));
    lh::memory_store real;
    const auto off = real.now(ec) - std::chrono::system_clock::now();
    BOOST_TEST((off < 1min && off > -1min));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace lease_guard_checkpoint_test
