// SPDX-License-Identifier: BSL-1.0
// Several leases at once: on a store that takes one attempt in a call, and on one that takes many.
#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
#include <unit/lease_set_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

BOOST_AUTO_TEST_SUITE(lease_set_test)

using namespace leasehold_test;
using namespace leasehold_test::lease_sets;

namespace {

/// A store with no answer for one of the names in a call.
class partly_answering_store : public scripted_batching_store
{
public:
    using scripted_batching_store::scripted_batching_store;

    void acquire_many(std::span<const lh::term_request> requests, std::size_t most, std::span<std::optional<lh::acquire_result>> answers,
                      std::error_code& ec)
    {
        scripted_batching_store::acquire_many(requests, most, answers, ec);
        for (std::size_t i = 0; i < requests.size(); ++i) {
            if (requests[i].name != unanswered) continue;
            answers[i].reset();
            ec = lh::errc::store_unavailable;
        }
    }

    std::string unanswered;
};

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(all_are_held_by_one_guard, Store, both_stores)
{
    scene<Store> s;
    auto all = lh::try_acquire_all(s.c, s.a, s.b);
    BOOST_TEST_REQUIRE(static_cast<bool>(all));
    BOOST_TEST(all.size() == 3U);
    BOOST_TEST(!all.empty());
    BOOST_TEST(all.remaining() == 27s);
    BOOST_CHECK_NO_THROW(all.ensure_held());
    BOOST_TEST_NAMES(s.held(), "a", "b", "c");
    BOOST_TEST(all.guards()[0].name() == "c");
    BOOST_TEST(all.tokens().size() == 3U);
    BOOST_TEST(all.tokens()[1] == s.a.inspect()->token);
    BOOST_TEST(all.release() == lh::release_outcome::released);
    BOOST_TEST(s.held().empty());
    BOOST_TEST(all.empty());
    BOOST_TEST(!all.held());
    BOOST_TEST(all.guards().empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(one_that_is_busy_makes_it_none, Store, both_stores)
{
    scene<Store> s;
    for (const char* taken : {"a", "b", "c"}) {
        auto theirs = s.lease(taken);
        const auto their_guard = theirs.try_acquire();
        BOOST_TEST(is_empty(lh::try_acquire_all(s.a, s.b, s.c)));
        BOOST_TEST_NAMES(s.held(), taken);
    }
    BOOST_TEST(is_held(lh::try_acquire_all(s.a, s.b, s.c)), "and the objects are as before");
}

BOOST_AUTO_TEST_CASE(they_are_asked_for_by_name_whatever_the_order_of_the_arguments)
{
    scene<scripted_store> s;
    std::vector<std::string> asked, released;
    s.store.before(operation::try_acquire, [&](std::string_view name) { asked.emplace_back(name); });
    s.store.before(operation::release, [&](std::string_view name) { released.emplace_back(name); });
    auto all = lh::try_acquire_all(s.b, s.c, s.a);
    BOOST_TEST_NAMES(asked, "a", "b", "c");
    asked.clear();
    auto again_a = s.lease("a"), again_b = s.lease("b");
    BOOST_TEST(!is_held(lh::try_acquire_all(again_b, again_a)));
    BOOST_TEST_NAMES(asked, "a");
    BOOST_TEST(released.empty());
}

BOOST_AUTO_TEST_CASE(they_go_to_the_store_in_one_call_if_it_takes_many)
{
    scene<scripted_batching_store> s;
    auto all = lh::try_acquire_all(s.b, s.c, s.a);
    BOOST_TEST(s.calls() == 1);
    BOOST_TEST(all.renew());
    BOOST_TEST(s.calls() == 2);
    all.release();
    BOOST_TEST(s.calls() == 3);
}

BOOST_AUTO_TEST_CASE(long_sets_go_in_calls_of_the_stores_size)
{
    scene<scripted_batching_store> s;
    s.store.takes = 4;
    std::vector<scene<scripted_batching_store>::lease_type> many;
    for (int i = 0; i < 10; ++i) many.push_back(s.lease(std::to_string(i)));
    auto all = lh::try_acquire_all(many);
    BOOST_TEST_REQUIRE(all.held());
    BOOST_TEST(all.renew());
    BOOST_TEST(all.release() == lh::release_outcome::released);
    BOOST_TEST(s.store.sizes() == (std::vector<std::size_t>{4, 4, 2, 4, 4, 2, 4, 4, 2}), boost::test_tools::per_element());
    const auto theirs = s.lease("1");
    auto other = s.lease("1");
    const auto guard = other.try_acquire();
    BOOST_TEST(!is_held(lh::try_acquire_all(many)));
    BOOST_TEST_NAMES(s.held(), "1");
}

BOOST_AUTO_TEST_CASE(leases_granted_before_a_failure_are_released_the_newest_first)
{
    scene<scripted_store> s;
    std::vector<std::string> released;
    s.store.before(operation::release, [&](std::string_view name) { released.emplace_back(name); });
    for (const fate third : {fate::fails, fate::throws, fate::refused}) {
        released.clear();
        s.store.next(operation::try_acquire, fate::carried_out);
        s.store.next(operation::try_acquire, fate::carried_out);
        s.store.next(operation::try_acquire, third);
        std::error_code ec;
        BOOST_TEST(is_empty(lh::try_acquire_all(s.c, s.b, s.a, ec)));
        BOOST_TEST(static_cast<bool>(ec) == (third != fate::refused));
        BOOST_TEST_NAMES(released, "b", "a");
        BOOST_TEST(s.held().empty());
    }
    s.store.next(operation::try_acquire, fate::carried_out);
    s.store.next(operation::try_acquire, fate::fails);
    BOOST_CHECK_EXCEPTION(
        static_cast<void>(lh::try_acquire_all(s.c, s.b, s.a)), lh::store_error,
        [](const lh::store_error& e) { return std::string{e.what()}.find("try_acquire_all 'b'") != std::string::npos; });
    BOOST_TEST(s.held().empty());
}

BOOST_AUTO_TEST_CASE(failed_batch_leaves_nothing_held)
{
    scene<scripted_batching_store> s;
    s.store.takes = 2;
    s.store.next(operation::acquire_many, fate::carried_out);
    s.store.next(operation::try_acquire, fate::fails);  // the third, which is alone in its call
    std::error_code ec;
    BOOST_TEST(is_empty(lh::try_acquire_all(s.a, s.b, s.c, ec)));
    BOOST_TEST(ec == lh::errc::store_unavailable);
    BOOST_TEST(s.held().empty());
    s.store.next(operation::acquire_many, fate::throws);
    BOOST_CHECK_THROW(static_cast<void>(lh::try_acquire_all(s.a, s.b, s.c)), lh::store_error);
    BOOST_TEST(is_held(lh::try_acquire_all(s.a, s.b, s.c)), "and the objects are as before");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(failure_has_its_own_details_not_those_of_the_back_out, Store, both_stores)
{
    scene<telling_store<Store>> s;
    const auto tells = [&](const char* words) { return [&s, words](std::string_view) { s.store.says = words; }; };
    for (const operation each : {operation::try_acquire, operation::acquire_many}) s.store.before(each, tells("the attempt"));
    for (const operation each : {operation::release, operation::release_many}) s.store.before(each, tells("the back-out"));
    if constexpr (scene<Store>::in_batches) s.store.takes = 2;
    s.store.next(s.attempts, fate::carried_out);
    if constexpr (!scene<Store>::in_batches) s.store.next(operation::try_acquire, fate::carried_out);
    s.store.next(operation::try_acquire, fate::fails);
    BOOST_CHECK_EXCEPTION(static_cast<void>(lh::try_acquire_all(s.a, s.b, s.c)), lh::store_error, [](const lh::store_error& e) {
        return std::string_view{e.what()}.find(" 'c': ") != std::string_view::npos && std::string_view{e.what()}.ends_with(": the attempt");
    });
    BOOST_TEST(s.store.says == "the back-out");
    BOOST_TEST(s.held().empty());
}

BOOST_AUTO_TEST_CASE(failed_batch_names_the_lease_that_the_store_did_not_answer_for)
{
    scene<partly_answering_store> s;
    s.store.unanswered = "b";
    const auto names_b = [](const lh::store_error& e) {
        const std::string_view said = e.what();
        return e.code() == lh::errc::store_unavailable && said.find(" 'b'") != std::string_view::npos &&
               said.find("already over") == std::string_view::npos;
    };
    BOOST_CHECK_EXCEPTION(static_cast<void>(lh::try_acquire_all(s.a, s.b, s.c)), lh::store_error, names_b);
    s.store.leases.force_release("b");
    // The others are granted too late, besides.
    s.store.after(operation::acquire_many, [&](std::string_view) { s.clock.advance(28s); });
    BOOST_CHECK_EXCEPTION(static_cast<void>(lh::try_acquire_all(s.a, s.b, s.c)), lh::store_error, names_b);
    s.store.unanswered.clear();
    s.clock.advance(30s);
    BOOST_CHECK_EXCEPTION(static_cast<void>(lh::try_acquire_all(s.a, s.b, s.c)), lh::store_error, [](const lh::store_error& e) {
        const std::string_view said = e.what();
        return said.find(" 'a'") != std::string_view::npos && said.find("already over") != std::string_view::npos;
    });
}

BOOST_AUTO_TEST_CASE(failure_in_a_set_of_several_types_has_its_own_details)
{
    scene<telling_store<scripted_store>> s;
    auto other = lh::basic_lease{s.store, "b", lh::lease_terms{.ttl = 30s}, s.clock, lh::fixed_owner_id{"us"}};
    s.store.before(operation::try_acquire, [&](std::string_view) { s.store.says = "the attempt"; });
    s.store.before(operation::release, [&](std::string_view) { s.store.says = "the back-out"; });
    s.store.next(operation::try_acquire, fate::carried_out);
    s.store.next(operation::try_acquire, fate::fails);
    BOOST_CHECK_EXCEPTION(static_cast<void>(lh::try_acquire_all(s.a, other)), lh::store_error, [](const lh::store_error& e) {
        return std::string_view{e.what()}.find(" 'b': ") != std::string_view::npos && std::string_view{e.what()}.ends_with(": the attempt");
    });
    BOOST_TEST(s.store.says == "the back-out");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(backing_out_does_not_keep_names_closed, Store, both_stores)
{
    scene<Store> s;
    auto a = s.lease("a", {.ttl = 30s, .min_hold = 1h}), b = s.lease("b", {.ttl = 30s, .min_hold = 1h});
    {
        const auto theirs = s.b.try_acquire();
        BOOST_TEST(!is_held(lh::try_acquire_all(a, b)));
        BOOST_TEST_NAMES(s.held(), "b");
    }
    lh::try_acquire_all(a, b).release();
    BOOST_TEST_NAMES(s.held(), "a", "b");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(set_that_was_lost_keeps_no_name_closed, Store, both_stores)
{
    scene<Store> s;
    auto a = s.lease("a", {.ttl = 30s, .min_hold = 1h}), b = s.lease("b", {.ttl = 30s, .min_hold = 1h});
    auto both = lh::try_acquire_all(a, b);
    s.store.leases.force_release("a");
    std::error_code ec;
    BOOST_TEST(!both.renew(ec));
    both.release();
    BOOST_TEST(s.held().empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(wrong_sets_are_refused_before_any_call, Store, both_stores)
{
    scene<Store> s;
    auto again = s.lease("a");
    BOOST_CHECK_EXCEPTION(static_cast<void>(lh::try_acquire_all(s.a, s.b, again)), std::system_error,
                          says(lh::errc::invalid_name, {"'a' is in the set twice"}));
    BOOST_CHECK_EXCEPTION(static_cast<void>(lh::try_acquire_all(s.a, s.a)), std::system_error,
                          says(lh::errc::invalid_name, {"twice"}));
    std::vector<typename scene<Store>::lease_type> none;
    BOOST_CHECK_EXCEPTION(static_cast<void>(lh::try_acquire_all(none)), std::system_error,
                          says(lh::errc::invalid_terms, {"the set is empty"}));
    std::error_code ec;
    BOOST_TEST(is_empty(lh::try_acquire_all(none, ec)));
    BOOST_TEST(ec == lh::errc::invalid_terms);
    BOOST_TEST(is_empty(lh::try_acquire_all(s.a, again, ec)));
    BOOST_TEST(ec == lh::errc::invalid_name);
    none.push_back(s.lease("x"));
    none.push_back(s.lease("x"));
    BOOST_CHECK_EXCEPTION(static_cast<void>(lh::try_acquire_each(none)), std::system_error,
                          says(lh::errc::invalid_name, {"'x' is in the set twice"}));
    BOOST_TEST(s.calls() == 0);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(lease_that_holds_already_is_busy, Store, both_stores)
{
    scene<Store> s;
    const auto mine = s.b.try_acquire();
    BOOST_TEST(is_empty(lh::try_acquire_all(s.a, s.b, s.c)));
    BOOST_TEST_NAMES(s.held(), "b");
    BOOST_TEST(mine.held());
}

BOOST_AUTO_TEST_CASE(leases_of_several_types_and_stores_are_one_set)
{
    scene<scripted_store> s;
    lh::basic_memory_store other{s.clock};
    lh::basic_lease same_name{other, "a", 60s, s.clock};
    auto all = lh::try_acquire_all(s.b, same_name, s.a);
    BOOST_TEST_REQUIRE(all.held());
    BOOST_TEST(all.size() == 3U);
    BOOST_TEST(all.remaining() == 27s);
    BOOST_TEST(std::get<1>(all.guards()).store() == &other);
    BOOST_TEST(all.tokens().size() == 3U);
    BOOST_TEST(all.renew());
    const std::stop_token told = all.stop_token();
    other.force_release("a");
    s.clock.advance(9s);
    BOOST_TEST(all.held());
    s.clock.advance(11s);
    BOOST_TEST(eventually([&] { return told.stop_requested(); }));
    BOOST_TEST(all.release() == lh::release_outcome::lost);
    BOOST_TEST(s.held().empty());

    const auto theirs = s.b.try_acquire();
    auto b = s.lease("b");
    BOOST_TEST(!is_held(lh::try_acquire_all(same_name, b)));
    BOOST_TEST(other.list().empty());
    std::error_code ec;
    s.store.next(operation::try_acquire, fate::fails);
    BOOST_TEST(!is_held(lh::try_acquire_all(same_name, s.c, ec)));
    BOOST_TEST(ec == lh::errc::store_unavailable);
    BOOST_TEST(other.list().empty());
    s.store.next(operation::try_acquire, fate::fails);
    BOOST_CHECK_THROW(static_cast<void>(lh::try_acquire_all(same_name, s.c)), lh::store_error);
    s.store.always(operation::release, fate::fails);
    auto mixed = lh::try_acquire_all(same_name, s.a, s.c);
    BOOST_TEST(mixed.release(ec) == lh::release_outcome::unknown);
    BOOST_TEST(other.list().empty(), "the other store did not fail");
    BOOST_TEST(s.store.sent(operation::release) == 3, "one of them now, and this store is not called again");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(each_gives_those_that_were_free, Store, both_stores)
{
    scene<Store> s;
    std::vector<typename scene<Store>::lease_type> shards;
    for (const char* name : {"3", "1", "2", "5", "4"}) shards.push_back(s.lease(name));
    auto two = s.lease("2");
    const auto theirs = two.try_acquire();
    auto some = lh::try_acquire_each(shards);
    BOOST_TEST_REQUIRE(some.size() == 4U);
    std::vector<std::string> got;
    for (const auto& guard : some) {
        BOOST_TEST(guard.held());
        got.emplace_back(guard.name());
    }
    BOOST_TEST_NAMES(got, "3", "1", "5", "4");
    if (s.in_batches) BOOST_TEST(s.store.sent(operation::acquire_many) == 1);
    BOOST_TEST(lh::try_acquire_each(shards).empty(), "they hold already");
    some[0].release();
    BOOST_TEST(lh::try_acquire_each(shards).size() == 1U);
    std::vector<typename scene<Store>::lease_type> none;
    BOOST_TEST(lh::try_acquire_each(none).empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(each_holds_nothing_after_a_failure, Store, both_stores)
{
    scene<Store> s;
    std::vector<typename scene<Store>::lease_type> shards;
    for (const char* name : {"1", "2", "3"}) shards.push_back(s.lease(name));
    std::error_code ec;
    if (!s.in_batches) s.store.next(s.attempts, fate::carried_out);
    s.store.next(s.attempts, fate::fails);
    BOOST_TEST(lh::try_acquire_each(shards, ec).empty());
    BOOST_TEST(ec == lh::errc::store_unavailable);
    BOOST_TEST(s.held().empty());
    s.store.next(s.attempts, fate::fails);
    BOOST_CHECK_THROW(static_cast<void>(lh::try_acquire_each(shards)), lh::store_error);
    BOOST_TEST(lh::try_acquire_each(shards, ec).size() == 3U);
    BOOST_TEST(!ec);
}

BOOST_AUTO_TEST_CASE(opposite_orders_neither_deadlock_nor_overlap)
{
    lh::memory_store store;
    std::atomic<int> inside = 0, overlaps = 0, grants = 0;
    const auto process = [&](bool forwards) {
        lh::basic_lease a{store, "a"}, b{store, "b"}, c{store, "c"};
        for (int got = 0; got < 300;) {
            auto all = forwards ? lh::try_acquire_all(a, b, c) : lh::try_acquire_all(c, b, a);
            if (!all) continue;
            if (inside.fetch_add(1) != 0) ++overlaps;
            ++got;
            ++grants;
            --inside;
        }
    };
    {
        const std::jthread one{process, true}, other{process, false};
    }
    BOOST_TEST(overlaps == 0);
    BOOST_TEST(grants == 600);
    BOOST_TEST(store.list().empty());
}

BOOST_AUTO_TEST_CASE(set_that_is_granted_too_late_is_released_without_a_failing_call_for_each)
{
    scene<scripted_batching_store> s;
    s.store.after(operation::acquire_many, [&](std::string_view) { s.clock.advance(27s); });
    s.store.always(operation::release, fate::fails);
    std::error_code ec;
    BOOST_TEST(is_empty(lh::try_acquire_all(s.a, s.b, s.c, ec)));
    BOOST_TEST(ec == lh::errc::store_timeout);
    BOOST_TEST(s.store.sent(operation::release) == 1);
    s.clock.advance(3s);
    s.store.always(operation::release, fate::carried_out);
    BOOST_TEST(is_empty(lh::try_acquire_all(s.a, s.b, s.c, ec)));
    BOOST_TEST(ec == lh::errc::store_timeout);
    BOOST_TEST(s.store.sent(operation::release) == 1 + 3);
    BOOST_TEST(s.held().empty());
}

BOOST_AUTO_TEST_SUITE_END()
