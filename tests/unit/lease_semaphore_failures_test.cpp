// SPDX-License-Identifier: BSL-1.0
// Permits where the store fails in part, or answers what it seldom does.
#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
#include <unit/counted_rights_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace lease_semaphore_failures_test {

namespace lh = leasehold;

// A clock that can't be waited on. Threads that block in the library are counted.
struct clock_of_blocked_threads {
    [[nodiscard]] lh::time_point now() const noexcept { return lh::steady_clock{}.now(); }

    inline static std::atomic<int> blocked = 0;
};

}  // namespace lease_semaphore_failures_test

template <>
struct leasehold::renewal::runtime_traits<lease_semaphore_failures_test::clock_of_blocked_threads>
    : leasehold::renewal::runtime_traits<void> {
    struct condition_variable : std::condition_variable {
        void wait(std::unique_lock<std::mutex>& lock)
        {
            ++lease_semaphore_failures_test::clock_of_blocked_threads::blocked;
            std::condition_variable::wait(lock);
            --lease_semaphore_failures_test::clock_of_blocked_threads::blocked;
        }
    };
};

BOOST_AUTO_TEST_SUITE(lease_semaphore_failures_test)

using namespace leasehold_test;
using namespace leasehold_test::counted_rights;

namespace {

// Answers for the permits with even numbers only, as if its connection were lost before it comes to the others.
struct store_that_answers_in_part : scripted_batching_store {
    using scripted_batching_store::scripted_batching_store;

    bool in_part = true;

    void acquire_many(std::span<const lh::term_request> requests, std::size_t most, std::span<std::optional<lh::acquire_result>> answers,
                      std::error_code& ec)
    {
        std::vector<std::size_t> places;
        std::vector<lh::term_request> asked;
        for (std::size_t i = 0; i < requests.size(); ++i) {
            if (in_part && requests[i].name != "licences" && (requests[i].name.back() - '0') % 2 != 0) continue;
            places.push_back(i);
            asked.push_back(requests[i]);
        }
        std::vector<std::optional<lh::acquire_result>> given(asked.size());
        leases.acquire_many(asked, most, given, ec);
        for (std::size_t i = 0; i < places.size(); ++i) answers[places[i]] = given[i];
        if (!ec && asked.size() < requests.size()) ec = lh::errc::store_unavailable;
    }
};

// One whose row of the count can't be reached for a while.
struct store_without_its_count : lh::forwarding_store<lh::basic_memory_store<lh::manual_clock>, store_without_its_count> {
    using forwarding_store::forwarding_store;

    template <class Make>
    auto around(const lh::store_call& call, std::error_code& ec, Make make) -> decltype(make())
    {
        if (!unreachable || call.name != "licences") return make();
        ec = lh::errc::store_unavailable;
        return {};
    }

    bool unreachable = false;
};

}  // namespace

BOOST_AUTO_TEST_CASE(permit_outlasts_an_outage_of_the_count_for_as_long_as_the_record_lasts)
{
    lh::manual_clock clock;
    lh::basic_memory_store<lh::manual_clock> all{clock};
    store_without_its_count store{all};
    lh::lease_semaphore semaphore{store, "licences", 2, lh::lease_terms{.ttl = 30s}, clock, lh::no_renewal{}};
    auto permit = semaphore.try_acquire();
    store.unreachable = true;
    std::error_code ec;
    for (const auto later : {20s, 20s, 15s}) {
        clock.advance(later);
        BOOST_TEST(permit.renew(ec));
        BOOST_TEST(!ec);
    }
    clock.advance(25s);
    BOOST_TEST(!permit.renew(ec), "the record would end first");
    BOOST_TEST(ec == lh::errc::store_unavailable);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(record_that_is_busy_for_a_moment_is_no_other_count, Store, both_stores)
{
    scene<Store> s;
    auto theirs = s.semaphore(5), ours = s.semaphore(5);
    std::error_code ec;
    s.store.next(s.writes_record, fate::refused);  // as if somebody had locked the row
    auto permit = theirs.try_acquire(ec);
    BOOST_TEST(!ec);
    BOOST_TEST(permit.held(), "there was no record");
    BOOST_TEST(is_held(ours.try_acquire(ec)), "the record is of the same count");
    BOOST_TEST(!ec);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(record_that_stays_busy_is_a_conflict, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(5);
    s.store.always(s.writes_record, fate::refused);
    BOOST_CHECK_EXCEPTION(static_cast<void>(semaphore.try_acquire()), lh::store_error,
                          says(lh::errc::store_conflict, {"try_acquire 'licences'"}));
    BOOST_TEST(s.attempts() == 6);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(other_count_that_runs_out_before_the_look_is_in_nobodys_way, Store, both_stores)
{
    scene<Store> s;
    auto six = s.semaphore(6), five = s.semaphore(5);
    six.try_acquire().release();
    // As if its time were over: a turn of the clock would end this attempt, too.
    s.store.before(operation::inspect, [&](std::string_view) { static_cast<void>(s.store.leases.force_release("licences")); });
    std::error_code ec;
    BOOST_TEST(is_held(five.try_acquire(ec)));
    BOOST_TEST(!ec);
}

// A record is then over sooner than it seems.
BOOST_AUTO_TEST_CASE(record_that_was_read_while_the_stores_clock_was_behind_is_believed_in_no_longer_than_any_other)
{
    struct store_set_back_for_a_look : scripted_store {
        using scripted_store::scripted_store;
        bool is_behind = false;
        std::optional<lh::lease_record> inspect(std::string_view name, std::error_code& ec)
        {
            auto record = scripted_store::inspect(name, ec);
            if (record && std::exchange(is_behind, false)) record->remaining += 1h;
            return record;
        }
    };
    lh::manual_clock clock;
    store_set_back_for_a_look store{clock};
    lh::lease_semaphore writer{store, "licences", 5, 30s, clock}, reader{store, "licences", 5, 30s, clock};
    BOOST_TEST(is_held(writer.try_acquire()));
    store.is_behind = true;
    BOOST_TEST(is_held(reader.try_acquire()));
    BOOST_TEST(!store.is_behind);
    clock.advance(100s);
    lh::lease_semaphore four{store, "licences", 4, 30s, clock};
    const auto permit = four.try_acquire();
    BOOST_TEST(permit.held());
    std::error_code ec;
    BOOST_TEST(is_empty(reader.try_acquire(ec)));
    BOOST_TEST(ec == lh::errc::invalid_terms);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(guard_of_an_attempt_that_failed_has_no_index, Store, both_stores)
{
    scene<Store> s;
    auto semaphore = s.semaphore(3);
    auto permits = take(semaphore, 2);
    (permits[0].index() != 0 ? permits[0] : permits[1]).release();  // it is asked for first
    s.store.always(operation::try_acquire, fate::fails);
    std::error_code ec;
    const auto none = semaphore.try_acquire(ec);
    BOOST_TEST(none.empty());
    BOOST_TEST(ec == lh::errc::store_unavailable);
    BOOST_TEST(none.index() == 0U);
}

BOOST_AUTO_TEST_CASE(permit_that_is_granted_is_no_error_though_other_attempts_of_the_call_fail)
{
    constexpr std::size_t count = 16;
    lh::manual_clock clock;
    store_that_answers_in_part store{clock};
    lh::lease_semaphore semaphore{store, "licences", count, 30s, clock};
    std::vector<decltype(semaphore.try_acquire())> permits;
    std::error_code ec;
    for (std::size_t i = 0; i < count / 2; ++i) {
        permits.push_back(semaphore.try_acquire(ec));
        BOOST_TEST(!ec);
        BOOST_TEST(permits.back().held());
    }
    BOOST_TEST(is_empty(semaphore.try_acquire(ec)));
    BOOST_TEST(ec == lh::errc::store_unavailable);
    store.in_part = false;
    BOOST_TEST(is_held(semaphore.try_acquire(ec)));
    BOOST_TEST(!ec);
}

BOOST_AUTO_TEST_CASE(attempt_that_the_store_calls_invalid_is_no_disagreement_on_the_count)
{
    struct peculiar_store : scripted_store {
        using scripted_store::scripted_store;
        bool refuses = false;
        lh::acquire_result try_acquire(std::string_view name, std::string_view owner, lh::duration ttl, std::error_code& ec)
        {
            if (!refuses) return scripted_store::try_acquire(name, owner, ttl, ec);
            ec = lh::errc::invalid_terms;
            return {};
        }
    };
    lh::manual_clock clock;
    peculiar_store store{clock};
    lh::lease_semaphore five{store, "licences", 5, 30s, clock}, four{store, "licences", 4, 30s, clock};
    const auto permit = five.try_acquire();
    BOOST_TEST(permit.held());
    BOOST_CHECK_EXCEPTION(static_cast<void>(four.try_acquire()), std::system_error,
                          says(lh::errc::invalid_terms, {"all processes must agree on the count"}));
    static_cast<void>(store.leases.force_release("licences"));
    store.refuses = true;
    BOOST_CHECK_EXCEPTION(static_cast<void>(four.try_acquire()), lh::store_error,
                          says(lh::errc::invalid_terms, {"try_acquire 'licences'"}));
}

// Otherwise the last of many threads would wait for the calls of all the others, each of which may take a call time-out.
BOOST_AUTO_TEST_CASE(attempts_that_wait_for_another_threads_attempt_fail_with_it)
{
    scripted_batching_store store{lh::manual_clock{}};
    lh::lease_semaphore semaphore{store, "licences", 5, 30s, clock_of_blocked_threads{}, lh::no_renewal{}};
    const auto permit = semaphore.try_acquire();
    BOOST_TEST(permit.held());
    leasehold_test::gate hold;
    store.before(operation::acquire_many, [&](std::string_view) { hold.pass(); });
    store.always(operation::acquire_many, fate::fails);
    const int before = store.sent(operation::acquire_many);
    std::array<std::error_code, 3> errors;
    std::array<std::string, 3> words;
    const auto attempt = [&](std::size_t i) {
        try {
            static_cast<void>(semaphore.try_acquire());
        } catch (const lh::store_error& failed) {
            errors[i] = failed.code();
            words[i] = failed.what();
        }
    };
    {
        const std::jthread first{attempt, 0};
        BOOST_TEST(hold.reached_by());
        const std::jthread second{attempt, 1}, third{attempt, 2};
        BOOST_TEST(eventually([] { return clock_of_blocked_threads::blocked == 2; }));
        hold.open();
    }
    BOOST_TEST(store.sent(operation::acquire_many) - before == 1);
    for (const std::error_code& each : errors) BOOST_TEST(each == lh::errc::store_unavailable);
    BOOST_TEST(words[0].find("another thread") == std::string::npos);
    BOOST_TEST(words[1].find("another thread's attempt failed") != std::string::npos, words[1]);
    store.always(operation::acquire_many, fate::carried_out);
    BOOST_TEST(is_held(semaphore.try_acquire()), "the failure is that of those who waited only");
}

BOOST_AUTO_TEST_SUITE_END()
