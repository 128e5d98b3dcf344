// SPDX-License-Identifier: BSL-1.0
// What one lease's hanging call, slow callback or lost term costs the others: nothing.
#include <leasehold/leasehold.hpp>

#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/scripted_batching_store.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(engine_losses_and_hangs_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using leasehold_test::fate;
using leasehold_test::gate;
using leasehold_test::operation;
using leasehold_test::scripted_batching_store;
using leasehold_test::scripted_store;
using leasehold_test::throughout;

namespace {

template <class Store>
struct scene {
    using lease_type = lh::basic_lease<Store, lh::manual_clock>;
    using guard_type = typename lease_type::guard_type;

    explicit scene(lh::duration with_ttl = 30s) : ttl{with_ttl} {}

    // Nothing may hang when the leases go.
    ~scene() { hang.open(); }

    guard_type acquire(const std::string& name)
    {
        leases.push_back(std::make_unique<lease_type>(store, name, lh::lease_terms{.ttl = ttl}, clock));
        auto guard = leases.back()->try_acquire();
        BOOST_TEST_REQUIRE(guard.held());
        return guard;
    }

    // Renewals of this name, and of batches that begin with it.
    void let_renewals_hang_of(std::string_view name)
    {
        for (const operation op : {operation::renew, operation::renew_many})
            store.before(op, [this, name](std::string_view of) {
                if (of == name) hang.pass();
            });
    }

    void in_steps(lh::duration time, lh::duration step)
    {
        for (lh::duration passed{}; passed < time; passed += step) clock.advance(step);
    }

    lh::duration ttl;
    lh::manual_clock clock;
    gate hang{clock};
    Store store{clock};
    std::vector<std::unique_ptr<lease_type>> leases;
};

}  // namespace

BOOST_AUTO_TEST_CASE(one_row_that_hangs_after_an_outage_costs_itself_only)
{
    scene<scripted_batching_store> s{3s};
    auto a = s.acquire("a"), b = s.acquire("b"), c = s.acquire("c"), d = s.acquire("d");
    for (const operation op : {operation::renew, operation::renew_many}) s.store.always(op, fate::fails);
    s.in_steps(1150ms + 1s, 50ms);
    for (const operation op : {operation::renew, operation::renew_many}) s.store.always(op, fate::carried_out);
    s.let_renewals_hang_of("a");
    for (int i = 0; i < 60; ++i) {
        s.clock.advance(50ms);
        BOOST_TEST_REQUIRE(eventually([&] { return s.store.sent(operation::renew) - s.store.answered(operation::renew) <= 1; }));
    }
    BOOST_TEST(!a.held());
    BOOST_TEST(b.held());
    BOOST_TEST(c.held());
    BOOST_TEST(d.held());
}

BOOST_AUTO_TEST_CASE(renewal_of_a_lost_term_that_still_hangs_costs_later_terms_nothing)
{
    scene<scripted_store> s;
    auto lost = s.acquire("n");
    std::atomic<int> sent = 0;
    s.store.before(operation::renew, [&](auto) {
        if (sent.fetch_add(1) == 0) s.hang.pass();  // exactly one
    });
    s.in_steps(27s, 9s);
    BOOST_TEST(!lost.held());
    BOOST_TEST(s.hang.waiting() == 1);
    BOOST_TEST(!lost.renew(), "and says so at once");
    auto guard = s.leases.front()->try_acquire();
    s.in_steps(5min, 5s);
    BOOST_TEST(guard.held());
    s.hang.open();
    BOOST_TEST(eventually([&] { return s.store.answered(operation::renew) == s.store.sent(operation::renew); }));
    s.in_steps(1min, 5s);
    BOOST_TEST(guard.held(), "the late answer is not about this term");
    BOOST_TEST(!lost.held());
}

BOOST_AUTO_TEST_CASE(slow_stop_callback_delays_no_renewal_of_others)
{
    scene<scripted_store> s;
    auto lost = s.acquire("lost");
    auto other = s.acquire("other");
    gate slow{s.clock};
    const std::stop_callback callback{lost.stop_token(), [&] { slow.pass(); }};
    s.store.leases.force_release("lost");
    s.in_steps(1min, 5s);
    BOOST_TEST(slow.waiting() == 1);
    BOOST_TEST(other.held());
    BOOST_TEST(other.remaining() > 15s);
    slow.open();
}

BOOST_AUTO_TEST_CASE(stop_callback_may_renew_another_lease_of_its_batch)
{
    scene<scripted_batching_store> s;
    auto lost = s.acquire("lost"), other = s.acquire("other");
    std::atomic<bool> renewed = false;
    const std::stop_callback callback{lost.stop_token(), [&] { renewed = other.renew(); }};
    s.store.leases.force_release("lost");
    s.in_steps(20s, 10s);
    BOOST_TEST(eventually([&] { return renewed.load(); }));
    BOOST_TEST(!lost.held());
}

BOOST_AUTO_TEST_CASE(stop_callback_may_take_a_lock_that_the_caller_of_renew_holds)
{
    scene<scripted_store> s;
    auto guard = s.acquire("n");
    std::mutex mutex;
    std::atomic<bool> told = false;
    const std::stop_callback callback{guard.stop_token(), [&] {
                                          const std::lock_guard lock{mutex};
                                          told = true;
                                      }};
    s.store.leases.force_release("n");
    {
        const std::lock_guard lock{mutex};
        BOOST_TEST(!guard.renew());
        BOOST_TEST(guard.stop_token().stop_requested());
    }
    BOOST_TEST(eventually([&] { return told.load(); }));
}

BOOST_AUTO_TEST_CASE(those_who_have_the_stop_token_are_told_of_a_term_that_its_release_finds_lost)
{
    scene<scripted_store> s;
    auto guard = s.acquire("n");
    const std::stop_token stop = guard.stop_token();
    s.store.leases.force_release("n");
    BOOST_TEST(guard.release() == lh::release_outcome::lost);
    BOOST_TEST(eventually([&] { return stop.stop_requested(); }));
}

BOOST_AUTO_TEST_CASE(loss_to_a_renewal_that_hangs_is_told_as_an_outage)
{
    scene<scripted_store> s;
    auto guard = s.acquire("n");
    s.let_renewals_hang_of("n");
    s.in_steps(27s, 9s);
    BOOST_TEST(!guard.held());
    BOOST_TEST((guard.renewal_error() == lh::errc::store_timeout));
    s.hang.open();
    BOOST_TEST(eventually([&] { return s.store.answered(operation::renew) == 1; }));
    BOOST_TEST((guard.renewal_error() == lh::errc::store_timeout), "an answer that came too late changes nothing");
}

BOOST_AUTO_TEST_CASE(loss_to_a_take_over_is_no_outage)
{
    scene<scripted_store> s;
    auto guard = s.acquire("n");
    s.store.leases.force_release("n");
    s.clock.advance(10s);
    BOOST_TEST(!guard.held());
    BOOST_TEST(!guard.renewal_error());
}

BOOST_AUTO_TEST_CASE(renewal_by_a_shorter_ttl_whose_answer_is_slow_leaves_the_old_end)
{
    lh::manual_clock clock;
    scripted_store store{clock};
    lh::basic_lease lease{store, "n", 30s, clock, lh::no_renewal{}};
    auto guard = lease.try_acquire();
    store.after(operation::renew, [&](auto) { clock.advance(3s); });
    BOOST_TEST(guard.renew(5s));
    BOOST_TEST(guard.held());
    BOOST_TEST(guard.remaining() == 24s);
}

BOOST_AUTO_TEST_CASE(store_that_calls_a_renewal_invalid_is_reported_like_any_failure)
{
    struct peculiar_store : scripted_store {
        using scripted_store::scripted_store;
        bool renew(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code& ec)
        {
            ec = lh::errc::invalid_terms;
            return false;
        }
    };
    lh::manual_clock clock;
    peculiar_store store{clock};
    lh::basic_lease lease{store, "n", clock};
    auto guard = lease.try_acquire();
    BOOST_CHECK_THROW(guard.renew(), lh::store_error);
    BOOST_CHECK_THROW(guard.renew(1h), lh::store_error);
    BOOST_TEST(guard.held());
}

BOOST_AUTO_TEST_CASE(store_that_takes_more_in_one_call_than_is_sensible_gets_the_most_that_is)
{
    scene<scripted_batching_store> s;
    s.store.takes = 1'000'000;
    std::vector<scene<scripted_batching_store>::guard_type> guards;
    for (int i = 0; i < 2500; ++i) guards.push_back(s.acquire(std::to_string(i)));
    s.clock.advance(10s);
    BOOST_TEST(eventually([&] { return std::ranges::all_of(guards, [](const auto& guard) { return guard.remaining() == 27s; }); }));
    for (const std::size_t size : s.store.sizes()) BOOST_TEST(size <= 1000U);
}

BOOST_AUTO_TEST_CASE(work_of_nothing_is_told_to_have_run_whatever_it_did_to_the_guard)
{
    scene<scripted_store> s;
    lh::basic_lease lease{s.store, "n", s.clock};
    BOOST_TEST(lease.try_run([](auto& guard) { guard.release(); }));
    std::optional<decltype(lease)::guard_type> kept;
    BOOST_TEST(lease.try_run([&](auto& guard) { kept.emplace(std::move(guard)); }));
    BOOST_TEST(!lease.try_run([] {}));
    BOOST_TEST(lease.try_run([&](auto&) { return 1; }).has_value() == false);
    s.clock.advance(27s);
    BOOST_TEST(lease.try_run([&] { s.clock.advance(1h); }));
}

// With it the library's threads end, and what they run.
BOOST_AUTO_TEST_CASE(last_guard_of_a_store_waits_in_its_destructor_for_a_stop_callback_that_runs_and_others_dont)
{
    scene<scripted_store> s;
    std::optional lost{s.acquire("a")}, last{s.acquire("b")};
    s.leases.clear();  // guards outlive them
    {
        const std::stop_callback slow{lost->stop_token(), [&] { s.hang.pass(); }};
        s.store.always(operation::renew, fate::refused);
        s.in_steps(30s, 1s);
        BOOST_TEST_REQUIRE(s.hang.reached_by());
        std::atomic<bool> other_is_gone = false, last_is_gone = false;
        const std::jthread destroying{[&] {
            lost.reset();
            other_is_gone = true;
            last.reset();
            last_is_gone = true;
        }};
        BOOST_TEST(eventually([&] { return other_is_gone.load(); }));
        BOOST_TEST(throughout([&] { return !last_is_gone.load(); }, 200ms));
        s.hang.open();
        BOOST_TEST(eventually([&] { return last_is_gone.load(); }));
    }
}

BOOST_AUTO_TEST_SUITE_END()
