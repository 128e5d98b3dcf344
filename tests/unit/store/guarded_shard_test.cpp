// SPDX-License-Identifier: BSL-1.0
// Two processes with different sets of shards must not hold leases at the same time.
#include <leasehold/basic_lease.hpp>
#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/lease_semaphore.hpp>
#include <leasehold/store/memory_store.hpp>
#include <leasehold/store/sharded_store.hpp>

#include <contract/asked_once.hpp>
#include <support/eventually.hpp>
#include <unit/store/guarded_shard_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <barrier>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(guarded_shard_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using namespace leasehold_test::guarded_shards;
using leasehold_test::eventually;
using leasehold_test::operation;

BOOST_FIXTURE_TEST_CASE(another_set_is_refused_until_the_record_of_the_old_one_has_run_out, scene)
{
    process old = with_two(), other = with_three();
    BOOST_TEST(grants(old, "name-1"));
    for (int i = 0; i < 20; ++i) {
        BOOST_TEST(!grants(other, "name-" + std::to_string(i)));
        BOOST_TEST((ec == lh::errc::invalid_terms));
    }
    const std::string words = words_of(other, "name-1");
    BOOST_TEST(has(words, "this process has the shards 'a of a, b, c (3 shards, "));
    BOOST_TEST(has(words, "'a of a, b (2 shards, "));
    BOOST_TEST(has(words, "wait 300 s"));
    BOOST_TEST(has(words, "leasehold release leasehold/shards --force"));

    clock.advance(300s - 1ms);
    BOOST_TEST(!grants(other, "name-1"));
    BOOST_TEST((ec == lh::errc::invalid_terms));
    clock.advance(1ms);
    BOOST_TEST(grants(other, "name-1"));
    BOOST_TEST(!grants(old, "name-1"));
    BOOST_TEST((ec == lh::errc::invalid_terms));
}

BOOST_FIXTURE_TEST_CASE(set_stays_in_use_as_long_as_a_lease_of_it_is_extended, scene)
{
    process old = with_two(), other = with_three();
    auto& shard = old.shard_of("name-1");
    const lh::fencing_token token = shard.try_acquire("name-1", "owner", ttl, ec).token;
    for (auto passed = 0s; passed < 1h; passed += 10s) {
        clock.advance(10s);
        BOOST_TEST_REQUIRE(shard.renew("name-1", "owner", token, ttl, ec));
        BOOST_TEST_REQUIRE(!grants(other, "name-1"));
        BOOST_TEST_REQUIRE((ec == lh::errc::invalid_terms));
    }
    BOOST_TEST(shard.release("name-1", "owner", token, {}, ec));
    clock.advance(300s);
    BOOST_TEST(grants(other, "name-1"));
}

// The record was ended by hand although a process used it.
BOOST_FIXTURE_TEST_CASE(renewal_under_another_set_is_an_error_and_extends_nothing, scene)
{
    process old = with_two(), other = with_three();
    auto& shard = old.shard_of("name-1");
    const lh::fencing_token token = shard.try_acquire("name-1", "owner", 1h, ec).token;
    a.leases.force_release(record);
    b.leases.force_release(record);
    BOOST_TEST(grants(other, "name-2"));
    clock.advance(3h);
    const lh::fencing_token later = shard.underlying().try_acquire("name-1", "owner", 1h, ec).token;
    BOOST_TEST(grants(other, "name-2"));
    BOOST_TEST(!shard.renew("name-1", "owner", later, 1h, ec));
    BOOST_TEST((ec == lh::errc::invalid_terms));
    BOOST_TEST((token < later));

    const std::array renewals{lh::term_renewal{"name-1", "owner", later, 2h}};
    std::array answers{lh::batch_answer::unknown};
    shard.renew_many(renewals, answers, 10s, ec);
    BOOST_TEST((ec == lh::errc::invalid_terms));
    BOOST_TEST((answers[0] == lh::batch_answer::unknown));
    BOOST_TEST((shard.inspect("name-1", ec)->remaining == 1h));
    BOOST_TEST(shard.release("name-1", "owner", later, {}, ec), "a release needs no record");
}

BOOST_FIXTURE_TEST_CASE(same_set_is_granted_to_any_process_in_any_order, scene)
{
    process one{{{"a", a}, {"b", b}}, {}, clock}, other{{{"b", b}, {"a", a}}, {.set_ttl = 1h}, clock};
    const process copy = other;
    BOOST_TEST(grants(one, "name-1"));
    BOOST_TEST(grants(other, "name-2"));
    BOOST_TEST(copy.shard_of("name-3").try_acquire("name-3", "owner", ttl, ec).granted());
}

BOOST_FIXTURE_TEST_CASE(ids_that_stand_for_other_databases_are_refused, scene)
{
    process right{{{"x", a}, {"y", b}}, {}, clock}, swapped{{{"x", b}, {"y", a}}, {}, clock};
    BOOST_TEST(grants(right, "name-1"));
    BOOST_TEST(!grants(swapped, "name-1"));
    BOOST_TEST((ec == lh::errc::invalid_terms));

    // Several shards in one database, one of which moves to another.
    clock.advance(1h);
    process before{{{"x", a}, {"y", a}, {"z", b}}, {}, clock}, moved{{{"x", a}, {"y", b}, {"z", b}}, {}, clock};
    for (int i = 0; i < 10; ++i) BOOST_TEST(grants(before, "name-" + std::to_string(i)));
    BOOST_TEST(!grants(moved, "name-1"));
    BOOST_TEST((ec == lh::errc::invalid_terms));
}

BOOST_FIXTURE_TEST_CASE(leases_longer_than_the_record_make_it_longer, scene)
{
    process all{{{"a", a}, {"b", b}}, {.set_ttl = 1s}, clock}, other = with_three();
    BOOST_TEST(all.try_acquire("name-1", "owner", 1h, ec).granted());
    clock.advance(1h);
    BOOST_TEST(all.try_acquire("name-1", "owner", 1h, ec).granted());
    clock.advance(4h - 1h - 1s);
    BOOST_TEST(!grants(other, "name-1"));
    clock.advance(1h + 1s);
    BOOST_TEST(grants(other, "name-1"));
}

BOOST_FIXTURE_TEST_CASE(batches_are_guarded, scene)
{
    process old = with_two(), other = with_three();
    const std::array requests{lh::term_request{"name-1", "o", ttl}, lh::term_request{"name-2", "o", ttl},
                              lh::term_request{"name-3", "o", 1h}};
    std::array<std::optional<lh::acquire_result>, 3> answers;
    old.acquire_many(requests, 3, answers, ec);
    BOOST_TEST(!ec);
    for (const auto& each : answers) BOOST_TEST((each && each->granted()));
    answers = {};
    other.acquire_many(requests, 3, answers, ec);
    BOOST_TEST((ec == lh::errc::invalid_terms));
    for (const auto& each : answers) BOOST_TEST(!each.has_value());
    clock.advance(4h - 1s);
    BOOST_TEST(!grants(other, "name-1"), "the longest ttl of a batch counts");

    // The time for a call includes that for the records.
    const std::array renewals{lh::term_renewal{"name-1", "o", lh::fencing_token{1}, ttl}};
    std::array renewed{lh::batch_answer::unknown};
    auto& shard = old.shard_of("name-1");
    a.before(operation::try_acquire, [this](std::string_view) { clock.advance(2s); });
    shard.renew_many(renewals, renewed, 10s, ec);
    BOOST_TEST((shard.underlying().last_within() == 8s));
}

BOOST_FIXTURE_TEST_CASE(name_of_the_record_is_no_lease, scene)
{
    process all = with_two();
    BOOST_TEST(!grants(all, record));
    BOOST_TEST((ec == lh::errc::invalid_name));
    const std::array requests{lh::term_request{"name-1", "o", ttl}, lh::term_request{record, "o", ttl}};
    std::array<std::optional<lh::acquire_result>, 2> answers;
    process one{{{"a", a}}, {}, clock};
    one.acquire_many(requests, 2, answers, ec);
    BOOST_TEST((ec == lh::errc::invalid_name));
    BOOST_TEST(grants(one, "name-1"));
}

BOOST_FIXTURE_TEST_CASE(permits_of_another_set_are_refused_with_its_words, scene)
{
    process old = with_two(), other = with_three();
    lh::lease_semaphore there{old.shard_of("licences"), "licences", 5, ttl, clock};
    const auto permit = there.try_acquire();
    BOOST_TEST(permit.held());
    lh::lease_semaphore here{other.shard_of("licences"), "licences", 5, ttl, clock};
    BOOST_CHECK_EXCEPTION(static_cast<void>(here.try_acquire()), std::system_error, [](const std::system_error& e) {
        return e.code() == lh::errc::invalid_terms && has(e.what(), "all processes must have the same shards");
    });
    lh::lease_semaphore fewer{old.shard_of("licences"), "licences", 4, ttl, clock};
    BOOST_CHECK_EXCEPTION(static_cast<void>(fewer.try_acquire()), std::system_error,
                          [](const std::system_error& e) { return has(e.what(), "all processes must agree on the count"); });
}

BOOST_AUTO_TEST_CASE(waiters_on_a_shard_are_woken_and_those_of_another_set_are_refused)
{
    using memory = lh::basic_memory_store<lh::manual_clock>;
    lh::manual_clock clock;
    memory a{clock}, b{clock};
    lh::sharded_store<memory, lh::manual_clock> all{{{"a", a}, {"b", b}}, {}, clock}, other{{{"a", a}}, {}, clock};
    lh::basic_lease holder{all.shard_of("n"), "n", ttl, clock}, waiter{all.shard_of("n"), "n", ttl, clock};
    auto guard = holder.try_acquire();
    {
        lh::waker woken;
        std::error_code ec;
        auto ticket = other.shard_of("n").enqueue("n", woken);
        BOOST_TEST(!other.shard_of("n").try_acquire(ticket, "stranger", ttl, ec).granted());
        BOOST_TEST((ec == lh::errc::invalid_terms));
    }

    bool got = false;
    const std::size_t before = clock.sleepers();
    {
        const std::jthread waits{[&] { got = is_held(waiter.try_acquire_for(20s)); }};
        BOOST_TEST(eventually([&] { return all.shard_of("n").local_waiters().waiting() == 1 && clock.sleepers() > before; }));
        guard.release();  // the clock stands still: only the release can wake
    }
    BOOST_TEST(got);
}

// Each call of one's first attempt is a moment at which the other can make its own.
BOOST_AUTO_TEST_CASE(of_two_sets_that_begin_at_once_at_most_one_gets_anything)
{
    for (int moment = 0; moment < 6; ++moment)
        for (const bool larger_first : {false, true}) {
            scene s;
            process two = s.with_two(), three = s.with_three();
            process &first = larger_first ? three : two, &second = larger_first ? two : three;
            bool second_granted = false, inside = false;
            int calls = 0;
            std::error_code ec;
            for (database* each : {&s.a, &s.b, &s.c})
                each->before(operation::try_acquire, [&](std::string_view) {
                    if (inside || calls++ != moment) return;
                    inside = true;
                    second_granted = second.try_acquire("name-1", "second", ttl, ec).granted() && !ec;
                    inside = false;
                });
            const bool first_granted = first.try_acquire("name-1", "first", ttl, s.ec).granted() && !s.ec;
            BOOST_TEST(!(first_granted && second_granted));
            BOOST_TEST((first_granted || second_granted), "all take the databases in the same order");
        }
}

BOOST_AUTO_TEST_CASE(threads_that_begin_at_once_with_different_sets_exclude_each_other)
{
    for (int round = 0; round < 200; ++round) {
        lh::memory_store a, b, c;
        lh::sharded_store<lh::memory_store> two{{{"a", a}, {"b", b}}}, three{{{"b", b}, {"a", a}, {"c", c}}};
        std::array<bool, 4> granted{};
        {
            std::barrier begin{4};
            std::vector<std::jthread> threads;
            for (std::size_t i = 0; i < granted.size(); ++i)
                threads.emplace_back([&, i] {
                    begin.arrive_and_wait();
                    std::error_code ec;
                    granted[i] = (i % 2 ? two : three).try_acquire("name-" + std::to_string(i), "o", ttl, ec).granted() && !ec;
                });
        }
        BOOST_TEST((granted[0] == granted[2] && granted[1] == granted[3] && granted[0] != granted[1]));
    }
}

BOOST_AUTO_TEST_SUITE_END()
