// SPDX-License-Identifier: BSL-1.0
// Writers of a shared lease: how one waits for the readers, gives up, and loses what it has.
#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
#include <support/printing.hpp>
#include <unit/counted_rights_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

BOOST_AUTO_TEST_SUITE(shared_lease_writer_test)

using namespace leasehold_test;
using namespace leasehold_test::counted_rights;

namespace {

// Runs `work` on a thread; finish() lets the clock go on until it is done.
class in_background {
public:
    template <class Work>
    in_background(lh::manual_clock clock, Work work)
        : clock_{std::move(clock)}, thread_{[this, work] {
              work();
              done_ = true;
          }}
    {
    }

    [[nodiscard]] bool done() const { return done_; }
    [[nodiscard]] bool finish(lh::duration step = 10ms)
    {
        const bool ended = eventually([&] {
            if (!done_) clock_.advance(step);
            return done_.load();
        });
        if (ended) thread_.join();
        return ended;
    }

private:
    lh::manual_clock clock_;
    std::atomic<bool> done_ = false;
    std::jthread thread_;
};

// Notes whose waiters the shares of a shared lease wake.
struct noting_store : lh::forwarding_store<lh::memory_store, noting_store> {
    using forwarding_store::forwarding_store;

    void acquire_many(std::span<const lh::term_request> requests, std::size_t most, std::span<std::optional<lh::acquire_result>> answers,
                      std::error_code& ec)
    {
        for (const lh::term_request& each : requests)
            if (each.name.starts_with("n/r")) woken.emplace(each.wakes.value_or(each.name));
        underlying().acquire_many(requests, most, answers, ec);
    }

    std::set<std::string> woken;
};

}  // namespace

BOOST_AUTO_TEST_CASE(shares_of_readers_wake_the_writer_that_waits_for_them_and_those_of_a_writer_nobody)
{
    lh::memory_store memory;
    noting_store store{memory};
    lh::shared_lease lease{store, "n", 30s};
    BOOST_TEST(is_held(lease.try_acquire_shared()));
    BOOST_TEST(store.woken == (std::set<std::string>{"n/r"}), boost::test_tools::per_element());
    store.woken.clear();
    BOOST_TEST(is_held(lease.try_acquire()));
    BOOST_TEST(store.woken == (std::set<std::string>{""}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(writer_that_waits_goes_before_new_readers, Store, both_stores)
{
    scene<Store> s;
    auto one = s.lease(), other = s.lease();
    auto first = one.try_acquire_shared(), second = other.try_acquire_shared();
    typename decltype(one)::guard_type writer;
    in_background waiting{s.clock, [&] { writer = one.acquire(); }};
    BOOST_TEST(eventually([&] { return s.held() == 65U; }), "it has the gate, and takes what is free");
    BOOST_TEST(is_empty(other.try_acquire_shared()));
    BOOST_TEST(is_empty(one.try_acquire_shared()));
    first.release();
    BOOST_TEST(is_empty(other.try_acquire_shared()));
    BOOST_TEST(!waiting.done());
    second.release();
    BOOST_TEST(waiting.finish());
    BOOST_TEST(writer.held());
}

BOOST_AUTO_TEST_CASE(destructor_of_a_writer_asks_a_slow_store_no_more_after_a_second)
{
    scene<scripted_store> s;
    auto catalog = s.lease();
    s.store.before(operation::release, [&](std::string_view) { s.clock.advance(50ms); });
    lh::time_point begun;
    {
        const auto writer = catalog.try_acquire();
        BOOST_TEST_REQUIRE(writer.held());
        begun = s.clock.now();
    }
    BOOST_TEST((s.clock.now() - begun == 1s));
}

BOOST_AUTO_TEST_CASE(readers_without_end_do_not_starve_a_writer)
{
    lh::memory_store store;
    std::atomic<bool> stop = false;
    std::atomic<int> reads = 0;
    const auto read = [&] {
        lh::shared_lease lease{store, "catalog"};
        while (!stop) {
            const auto mine = lease.try_acquire_shared_for(5ms);
            if (!mine) continue;
            ++reads;
            std::this_thread::sleep_for(1ms);
        }
    };
    const std::jthread a{read}, b{read}, c{read};
    BOOST_TEST(eventually([&] { return reads > 20; }));
    lh::shared_lease lease{store, "catalog"};
    for (int i = 0; i < 5; ++i) BOOST_TEST(is_held(lease.try_acquire_for(10s)));
    stop = true;
}

BOOST_AUTO_TEST_CASE_TEMPLATE(dead_writer_keeps_readers_out_until_its_ttl_ends_and_no_longer, Store, both_stores)
{
    scene<Store> s;
    auto dead = s.lease(lh::no_renewal{});
    auto alive = s.lease();
    {
        const auto reader = alive.try_acquire_shared();
        std::error_code ec;
        BOOST_TEST(s.store.leases.try_acquire("catalog/writer", "dead while it waits", 30s, ec).granted());
        const std::string another = "catalog/r" + std::to_string((reader.index() + 1) % 64);
        BOOST_TEST(s.store.leases.try_acquire(another, "dead while it waits", 30s, ec).granted());
    }
    BOOST_TEST(is_empty(alive.try_acquire_shared()));
    s.clock.advance(30s);
    BOOST_TEST(is_held(alive.try_acquire_shared()));
    auto writer = dead.try_acquire();
    BOOST_TEST(writer.held());
    s.clock.advance(30s);
    BOOST_TEST(!writer.held());
    BOOST_TEST(is_held(alive.try_acquire()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(writer_whose_time_runs_out_gives_everything_back, Store, both_stores)
{
    scene<Store> s;
    auto one = s.lease(), other = s.lease();
    auto reader = other.try_acquire_shared();
    typename decltype(one)::guard_type writer;
    in_background waiting{s.clock, [&] { writer = one.try_acquire_for(5s); }};
    BOOST_TEST(eventually([&] { return s.held() == 65U; }));
    BOOST_TEST(waiting.finish(100ms));
    BOOST_TEST(writer.empty());
    BOOST_TEST(s.held() == 1U);
    BOOST_TEST(reader.held());
    BOOST_TEST(is_held(other.try_acquire_shared()));

    std::stop_source stop;
    in_background cancelled{s.clock, [&] { writer = one.acquire(stop.get_token()); }};
    BOOST_TEST(eventually([&] { return s.held() == 65U; }));
    stop.request_stop();
    BOOST_TEST(cancelled.finish());
    BOOST_TEST(writer.empty());
    BOOST_TEST(s.held() == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(writer_that_fails_half_way_holds_nothing, Store, both_stores)
{
    scene<Store> s;
    auto lease = s.lease(lh::reader_limit{4});
    lease.try_acquire_shared().release();  // the record of the count
    // The gate, and then one share after another.
    for (int granted = 0; granted < 4; ++granted) {
        for (int i = 0; i < granted; ++i) s.store.next(operation::try_acquire, fate::carried_out);
        s.store.next(operation::try_acquire, fate::fails);
        s.store.next(operation::acquire_many, fate::fails);
        std::error_code ec;
        BOOST_TEST(is_empty(lease.try_acquire(ec)));
        BOOST_TEST(ec == lh::errc::store_unavailable);
        BOOST_TEST(s.held() == 0U);
        for (int i = 0; s.in_batches && i < 9; ++i) lease.try_acquire(ec).release(ec);  // uses up what is left of the plan
    }
    BOOST_TEST(is_held(lease.try_acquire()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(loss_of_a_share_is_the_loss_of_the_exclusive_right, Store, both_stores)
{
    scene<Store> s;
    auto lease = s.lease();
    auto writer = lease.try_acquire();
    const std::stop_token told = writer.stop_token();
    for (int i = 0; i < 6; ++i) s.clock.advance(5s);
    BOOST_TEST(writer.held(), "it is renewed");
    if (s.in_batches) BOOST_TEST(s.store.sent(operation::renew) == 0);
    s.store.leases.force_release("catalog/r17");
    for (int i = 0; i < 3; ++i) s.clock.advance(5s);
    BOOST_TEST(eventually([&] { return told.stop_requested(); }));
    BOOST_TEST(!writer.held());
    BOOST_CHECK_THROW(writer.ensure_held(), lh::lease_lost);
    BOOST_TEST(!writer.renew());
    BOOST_TEST(writer.release() == lh::release_outcome::lost);
    BOOST_TEST(s.held() == 0U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(thread_whose_exclusive_right_is_lost_in_part_has_still_locked_the_lease_until_it_unlocks, Store, both_stores)
{
    for (const std::string_view lost : {"catalog/r17", "catalog/writer"}) {
        scene<Store> s;
        auto lease = s.lease();
        lease.lock();
        s.store.leases.force_release(lost);
        for (int i = 0; i < 3; ++i) s.clock.advance(5s);
        BOOST_TEST(eventually([&] { return !lease.guard().held(); }));
        BOOST_TEST(s.held() == 64U);
        const lh::time_point lost_at = s.clock.now();
        const auto is_deadlock = [](const std::system_error& e) { return e.code() == std::errc::resource_deadlock_would_occur; };
        BOOST_CHECK_EXCEPTION(lease.lock(), std::system_error, is_deadlock);
        BOOST_CHECK_EXCEPTION(lease.lock_shared(), std::system_error, is_deadlock);
        BOOST_TEST(!lease.try_lock());
        BOOST_TEST(!lease.try_lock_for(1h));
        BOOST_TEST(!lease.try_lock_until(lost_at + 1h));
        BOOST_TEST(!lease.try_lock_shared());
        BOOST_TEST(!lease.try_lock_shared_for(1h));
        BOOST_TEST(!lease.try_lock_shared_until(lost_at + 1h));
        BOOST_TEST((s.clock.now() == lost_at));
        BOOST_TEST(!lease.guard().empty());
        lease.unlock();
        BOOST_TEST(lease.guard().empty());
        BOOST_TEST(s.held() == 0U);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(writer_that_loses_the_gate_while_it_waits_gives_up, Store, both_stores)
{
    scene<Store> s;
    auto one = s.lease(), other = s.lease();
    auto reader = other.try_acquire_shared();
    std::error_code ec;
    typename decltype(one)::guard_type writer;
    in_background waiting{s.clock, [&] { writer = one.acquire(ec); }};
    BOOST_TEST(eventually([&] { return s.held() == 65U; }));
    s.store.leases.force_release("catalog/writer");
    BOOST_TEST(waiting.finish(1s));
    BOOST_TEST(writer.empty());
    BOOST_TEST(ec == lh::errc::lost);
    BOOST_TEST(s.held() == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(writer_that_loses_the_gate_before_it_waits_gives_up, Store, both_stores)
{
    scene<Store> s;
    auto one = s.lease(), other = s.lease();
    auto reader = other.try_acquire_shared();
    BOOST_TEST(reader.held());
    const auto shares = scene<Store>::in_batches ? operation::acquire_many : operation::try_acquire;
    const auto renewals = [&] { return s.store.answered(operation::renew) + s.store.answered(operation::renew_many); };
    const lh::time_point begun = s.clock.now();
    std::atomic<bool> lost = false;
    // Between the grant of the gate and the first answer about the shares.
    s.store.before(shares, [&](std::string_view name) {
        if (!name.starts_with("catalog/r") || lost.exchange(true)) return;
        s.store.leases.force_release("catalog/writer");
        s.clock.advance(11s);
        static_cast<void>(eventually([&] { return renewals() >= 2; }));
    });
    std::error_code ec;
    typename decltype(one)::guard_type writer;
    in_background waiting{s.clock, [&] { writer = one.try_acquire_for(1h, ec); }};
    BOOST_TEST(waiting.finish(1s));
    BOOST_TEST(lost);
    BOOST_TEST(writer.empty());
    BOOST_TEST(ec == lh::errc::lost);
    BOOST_TEST(s.clock.now() - begun < 30min);
    BOOST_TEST(s.held() == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(loss_of_a_waiting_writer_is_not_explained_with_what_the_store_said_of_an_earlier_call, Store, both_stores)
{
    scene<telling_store<Store>> s;
    s.store.says = "an earlier call";
    auto one = s.lease(), other = s.lease();
    auto reader = other.try_acquire_shared();
    std::string said;
    in_background waiting{s.clock, [&] {
                              try {
                                  static_cast<void>(is_held(one.acquire()));
                              } catch (const lh::store_error& e) {
                                  said = e.what();
                              }
                          }};
    BOOST_TEST(eventually([&] { return s.held() == 65U; }));
    s.store.leases.force_release("catalog/writer");
    BOOST_TEST(waiting.finish(1s));
    BOOST_TEST(said.find(make_error_code(lh::errc::lost).message()) != std::string::npos, said);
    BOOST_TEST(said.find("an earlier call") == std::string::npos, said);
}

BOOST_AUTO_TEST_CASE(failure_of_a_writer_has_its_own_details_not_those_of_the_back_out)
{
    scene<telling_store<scripted_store>> s;
    auto catalog = s.lease();
    s.store.before(operation::try_acquire, [&](std::string_view name) {
        s.store.says = "the attempt";
        if (name.starts_with("catalog/r")) s.store.next(operation::try_acquire, fate::fails);
    });
    s.store.before(operation::release, [&](std::string_view) { s.store.says = "the back-out"; });
    const auto is_of_attempt = [](const lh::store_error& e) { return std::string_view{e.what()}.ends_with(": the attempt"); };
    BOOST_CHECK_EXCEPTION(static_cast<void>(is_held(catalog.try_acquire())), lh::store_error, is_of_attempt);
    BOOST_TEST(s.store.says == "the back-out");
    BOOST_TEST(s.held() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
