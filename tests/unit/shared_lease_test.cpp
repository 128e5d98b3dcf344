// SPDX-License-Identifier: BSL-1.0
// Readers and writers: on a store that takes one attempt in a call, and on one that takes many.
#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
#include <unit/counted_rights_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(shared_lease_test)

using namespace leasehold_test;
using namespace leasehold_test::counted_rights;

BOOST_AUTO_TEST_CASE_TEMPLATE(many_read_or_one_writes, Store, both_stores)
{
    scene<Store> s;
    auto one = s.lease(), other = s.lease();
    {
        const auto first = one.try_acquire_shared(), second = one.try_acquire_shared(), third = other.try_acquire_shared();
        BOOST_TEST((first.held() && second.held() && third.held()));
        BOOST_TEST(first.index() != second.index());
        BOOST_TEST(is_empty(other.try_acquire()));
        BOOST_TEST(is_empty(one.try_acquire()));
        BOOST_TEST(s.held() == 3U, "what a writer took before it met a reader was given back");
    }
    auto writer = one.try_acquire();
    BOOST_TEST_REQUIRE(writer.held());
    BOOST_TEST(writer.remaining() == 27s);
    BOOST_TEST(writer.name() == "catalog/writer");
    BOOST_TEST(writer.owner() == one.owner());
    BOOST_TEST(writer.store() == &s.store);
    BOOST_CHECK_NO_THROW(writer.ensure_held());
    BOOST_TEST(s.held() == 65U);
    BOOST_TEST(is_empty(other.try_acquire_shared()));
    BOOST_TEST(is_empty(one.try_acquire_shared()));
    BOOST_TEST(is_empty(other.try_acquire()));
    BOOST_TEST(is_empty(one.try_acquire()));
    const auto token = writer.token();
    BOOST_TEST(writer.release() == lh::release_outcome::released);
    BOOST_TEST(s.held() == 0U);
    BOOST_TEST(token_of(other.try_acquire()) > token);
    BOOST_TEST(is_held(one.try_acquire_shared()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(as_many_read_as_all_agree_on, Store, both_stores)
{
    scene<Store> s;
    auto two = s.lease(lh::reader_limit{2}), three = s.lease(lh::reader_limit{3}),
         one = lh::shared_lease{s.store, "x", lh::reader_limit{1}, s.clock};
    BOOST_TEST(two.readers() == 2U);
    const auto first = two.try_acquire_shared();
    BOOST_CHECK_EXCEPTION(static_cast<void>(three.try_acquire_shared()), std::system_error,
                          says(lh::errc::invalid_terms, {"'catalog' has 3 readers here", "'2 readers'"}));
    BOOST_CHECK_EXCEPTION(static_cast<void>(three.try_acquire()), std::system_error,
                          says(lh::errc::invalid_terms, {"'2 readers'"}));
    std::error_code ec;
    BOOST_TEST(is_empty(three.try_acquire_for(1s, ec)));
    BOOST_TEST(ec == lh::errc::invalid_terms);
    const auto second = two.try_acquire_shared();
    BOOST_TEST(second.held());
    BOOST_TEST(is_empty(two.try_acquire_shared()));
    BOOST_TEST(s.held() == 2U);
    {
        const auto reader = one.try_acquire_shared();
        BOOST_TEST(reader.held());
        BOOST_TEST(is_empty(one.try_acquire_shared()));
        BOOST_TEST(is_empty(one.try_acquire()));
    }
    BOOST_TEST(is_held(one.try_acquire()));
    auto most = lh::shared_lease{s.store, "y", lh::reader_limit{lh::max_permits}, s.clock};
    BOOST_TEST(is_held(most.try_acquire()));
}

BOOST_AUTO_TEST_CASE(exclusive_right_costs_few_statements)
{
    scene<scripted_batching_store> s;
    auto lease = s.lease();
    auto writer = lease.try_acquire();
    BOOST_TEST(s.statements() <= 6);
    BOOST_TEST(writer.renew());
    BOOST_TEST(s.store.sent(operation::renew_many) == 1);
    int before = s.statements();
    writer.release();
    BOOST_TEST(s.statements() - before == 1);
    auto reader = lease.try_acquire_shared();
    reader.release();
    before = s.statements();
    reader = lease.try_acquire_shared();
    reader.release();
    BOOST_TEST(s.statements() - before == 3, "a look at the gate, a grant, a release");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(it_is_a_shared_timed_mutex, Store, both_stores)
{
    BOOST_TEST_PASSPOINT();
    scene<Store> s;
    auto one = s.lease(), other = s.lease();
    {
        std::unique_lock writing{one};
        BOOST_TEST(one.guard().held());
        BOOST_TEST(one.shared_guard().empty());
        BOOST_CHECK_EXCEPTION(one.lock(), std::system_error,
                              [](const auto& e) { return e.code() == std::errc::resource_deadlock_would_occur; });
        BOOST_CHECK_EXCEPTION(one.lock_shared(), std::system_error,
                              [](const auto& e) { return e.code() == std::errc::resource_deadlock_would_occur; });
        BOOST_TEST(!other.try_lock_shared());
        BOOST_TEST(!other.try_lock());
        BOOST_TEST(!other.try_lock_shared_for(0s));
        BOOST_TEST(!other.try_lock_until(s.clock.now()));
    }
    BOOST_TEST(one.guard().empty());
    BOOST_TEST(s.held() == 0U);
    {
        std::shared_lock reading{one, std::try_to_lock};
        BOOST_TEST(reading.owns_lock());
        BOOST_TEST(one.shared_guard().held());
        BOOST_TEST(!one.try_lock_shared(), "this thread has it already");
        BOOST_CHECK_THROW(one.lock_shared(), std::system_error);
        BOOST_CHECK_THROW(one.lock(), std::system_error);
        std::thread{[&] {
            std::shared_lock too{one};
            BOOST_TEST(s.held() == 2U);
        }}.join();
        BOOST_TEST(s.held() == 1U);
    }
    BOOST_TEST(s.held() == 0U);
    {
        lh::basic_lease plain{s.store, "plain", 30s, s.clock};
        const std::scoped_lock both{one, plain};
        BOOST_TEST(one.guard().held());
    }
    {
        std::unique_lock timed{one, 1s};
        BOOST_TEST(timed.owns_lock());
    }
    one.lock();
    std::thread{[&] {
        BOOST_CHECK_THROW(one.unlock(), std::system_error);
        BOOST_CHECK_THROW(one.unlock_shared(), std::system_error);
    }}.join();
    BOOST_TEST(one.guard().held(), "another thread has not locked it");
}

BOOST_AUTO_TEST_CASE(wrong_arguments_are_refused_before_any_call)
{
    scene<scripted_store> s;
    const auto refused = [&](lh::errc code, std::vector<std::string> words, auto make) {
        BOOST_CHECK_EXCEPTION(make(), std::system_error, says(code, words));
    };
    refused(lh::errc::invalid_terms, {"readers", "1 to 1024", "not 0"}, [&] {
        lh::shared_lease{s.store, "n", lh::reader_limit{0}};
    });
    refused(lh::errc::invalid_terms, {"not 1025"}, [&] { lh::shared_lease{s.store, "n", 30s, lh::reader_limit{1025}}; });
    refused(lh::errc::invalid_name, {"183 bytes"}, [&] { lh::shared_lease{s.store, std::string(184, 'n')}; });
    refused(lh::errc::invalid_terms, {"min_hold must be 0"}, [&] {
        lh::shared_lease{s.store, "n", lh::lease_terms{.ttl = 30s, .min_hold = 1s}};
    });
    BOOST_TEST(s.statements() == 0);
    lh::shared_lease longest{s.store, std::string(183, 'n'), s.clock};
    BOOST_TEST(is_held(longest.try_acquire()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(outage_is_an_error, Store, both_stores)
{
    scene<Store> s;
    auto lease = s.lease();
    for (const operation each : {operation::try_acquire, operation::inspect, operation::acquire_many})
        s.store.always(each, fate::fails);
    BOOST_CHECK_EXCEPTION(static_cast<void>(lease.try_acquire()), lh::store_error,
                          says(lh::errc::store_unavailable, {"try_acquire 'catalog"}));
    BOOST_CHECK_THROW(static_cast<void>(lease.try_acquire_shared()), lh::store_error);
    BOOST_CHECK_THROW(static_cast<void>(lease.acquire()), lh::store_error);
    BOOST_CHECK_THROW(lease.lock_shared(), lh::store_error);
    std::error_code ec;
    BOOST_TEST(is_empty(lease.acquire_shared(ec)));
    BOOST_TEST(ec == lh::errc::store_unavailable);
}

BOOST_AUTO_TEST_CASE(readers_and_writers_never_meet)
{
    lh::memory_store store;
    std::atomic<int> reading = 0, writing = 0, meetings = 0, done = 0;
    const auto process = [&](bool writes) {
        lh::shared_lease lease{store, "catalog", lh::reader_limit{4}};
        for (int i = 0; i < 60; ++i) {
            if (writes) {
                const std::unique_lock mine{lease};
                if (++writing != 1 || reading != 0) ++meetings;
                --writing;
            } else {
                const std::shared_lock mine{lease};
                ++reading;
                if (writing != 0) ++meetings;
                --reading;
            }
            ++done;
        }
    };
    {
        const std::jthread a{process, true}, b{process, true}, c{process, false}, d{process, false}, e{process, false};
    }
    BOOST_TEST(meetings == 0);
    BOOST_TEST(done == 300);
    BOOST_TEST(store.list("catalog/").empty());
}

BOOST_AUTO_TEST_SUITE_END()
