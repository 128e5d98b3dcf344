// SPDX-License-Identifier: BSL-1.0
// What a member of a shard_group does step by step, on a clock that is turned, and what it tells of it.
#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/group/shard_runner.hpp>
#include <leasehold/group_member.hpp>
#include <leasehold/store/forwarding_store.hpp>
#include <leasehold/store/hooked_store.hpp>
#include <leasehold/store/memory_store.hpp>

#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace shard_runner_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using memory_type = lh::basic_memory_store<lh::manual_clock>;
using runner_type = lh::group::shard_runner<memory_type, lh::manual_clock>;
using job_type = runner_type::job_type;

namespace {

using works_type = std::map<std::size_t, std::shared_ptr<job_type>>;

void end_what_is_to_end(runner_type& runner, works_type& works)
{
    for (const auto& work : std::exchange(works, {}))
        if (work.second->shard->draining() || !work.second->shard->held())
            runner.finished(*work.second, nullptr);
        else
            works.insert(work);
}

struct failing_store : lh::forwarding_store<memory_type, failing_store> {
    using forwarding_store::forwarding_store;

    template <class Make>
    auto around(const lh::store_call&, std::error_code& ec, Make make) -> decltype(make())
    {
        if (!down) return make();
        ec = lh::errc::store_unavailable;
        return {};
    }
    std::vector<lh::lease_record> list(std::string_view prefix, std::error_code& ec)
    {
        if (!down) return forwarding_store::list(prefix, ec);
        ec = lh::errc::store_unavailable;
        return {};
    }

    std::atomic<bool> down{false};  // the library's threads read it, too
};

// Each list is the one before.
struct lagging_store : lh::forwarding_store<memory_type, lagging_store> {
    using forwarding_store::forwarding_store;

    std::vector<lh::lease_record> list(std::string_view prefix, std::error_code& ec)
    {
        return std::exchange(latest, forwarding_store::list(prefix, ec));
    }

    std::vector<lh::lease_record> latest;
};

// Somebody is at work as soon as the list has been read.
struct joining_store : lh::forwarding_store<memory_type, joining_store> {
    using forwarding_store::forwarding_store;

    std::vector<lh::lease_record> list(std::string_view prefix, std::error_code& ec)
    {
        std::vector<lh::lease_record> all = forwarding_store::list(prefix, ec);
        if (const auto joins = std::exchange(after_list, {})) joins();
        return all;
    }

    std::function<void()> after_list;
};

// Somebody is at work just before something is published.
struct publishing_store : lh::forwarding_store<memory_type, publishing_store> {
    using forwarding_store::forwarding_store;

    template <class Make>
    auto around(const lh::store_call& call, std::error_code&, Make make) -> decltype(make())
    {
        if (call.operation == lh::store_operation::publish)
            if (const auto works = std::exchange(before_publish, {})) works();
        return make();
    }

    std::function<void()> before_publish;
};

struct scene {
    lh::manual_clock clock;
    memory_type store{clock};
    std::map<std::string, int> events;
    std::vector<std::string> failures;
    runner_type runner{store,
                       "orders",
                       2,
                       {.ttl = 9s,
                        .id = "a",
                        .on_event =
                            [this](const lh::shard_event& event) {
                                ++events[std::string{to_string(event.kind)}];
                                if (event.kind == lh::shard_event_kind::failed) failures.emplace_back(event.what);
                            }},
                       clock};
    std::optional<runner_type::session> session{std::in_place, runner};
    works_type works;

    void step()
    {
        runner.step(*session, false, [this](const std::shared_ptr<job_type>& job) { works[job->shard->index()] = job; });
    }

    // All work that is to end does.
    void steps(std::chrono::seconds time)
    {
        for (; time > 0s; time -= 1s) {
            step();
            end_what_is_to_end(runner, works);
            clock.advance(1s);
        }
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(shard_runner_test, scene)

BOOST_AUTO_TEST_CASE(member_whose_id_another_has_taken_over_gives_its_shards_away_until_that_one_has_left)
{
    steps(9s);
    BOOST_TEST(runner.owned().size() == 2U);
    BOOST_TEST(store.force_release("orders/members/a"));
    {
        const lh::group_member other{store, "orders", lh::member_options{.ttl = 1h, .id = "a", .data = {}}, clock};
        clock.advance(9s);  // it learns that it is no member any more
        steps(9s);
        BOOST_TEST(runner.owned().empty());
        BOOST_TEST(runner.statistics().share == 0U);
        steps(60s);
        BOOST_TEST(runner.owned().empty());
    }
    steps(9s);
    BOOST_TEST(runner.owned().size() == 2U);
    BOOST_TEST(runner.statistics().share == 2U);
}

BOOST_AUTO_TEST_CASE(member_that_is_resized_before_it_has_begun_begins_with_the_new_count)
{
    std::error_code ec;
    BOOST_TEST(runner.resize(3, ec).empty());
    BOOST_REQUIRE(!ec);
    const auto first = runner.step(*session, false, [](const std::shared_ptr<job_type>&) {});
    BOOST_TEST(!first.over);
    BOOST_TEST(!first.refusal);
    steps(9s);
    BOOST_TEST(runner.owned().size() == 3U);
}

BOOST_AUTO_TEST_CASE(member_that_is_resized_while_it_agrees_on_the_count_begins_with_the_new_one)
{
    std::function<void()> resizes;
    lh::hooked_store hooked{store, [&](const lh::store_call& call, const lh::store_call_report&) {
        if (call.name == "jobs" && call.operation == lh::store_operation::inspect && resizes) std::exchange(resizes, nullptr)();
    }};
    lh::group::shard_runner other{hooked, "jobs", 2, {.ttl = 9s, .id = "a"}, clock};
    decltype(other)::session of_other{other};
    // The record says 3 before the member asks, and its own object follows before it hears of that.
    std::error_code ec;
    runner_type elsewhere{store, "jobs", 3, {.ttl = 9s, .id = "b"}, clock};
    BOOST_REQUIRE(elsewhere.resize(3, ec).empty());
    resizes = [&] { BOOST_TEST(other.resize(3, ec).empty()); };
    const auto start = [](const auto&) {};
    const auto first = other.step(of_other, false, start);
    BOOST_TEST(!resizes);
    BOOST_TEST(!first.over);
    BOOST_TEST(!first.refusal);
    const auto second = other.step(of_other, false, start);
    BOOST_TEST(!second.over);
    BOOST_TEST(other.count() == 3U);
}

BOOST_AUTO_TEST_CASE(member_follows_a_resize_in_the_look_that_shows_it)
{
    runner_type elsewhere{store, "orders", 2, {.ttl = 9s, .id = "b"}, clock};
    runner_type::session of_elsewhere{elsewhere};
    const auto step_elsewhere = [&] { elsewhere.step(of_elsewhere, false, [](const std::shared_ptr<job_type>&) {}); };
    for (int seconds = 0; seconds < 4; ++seconds) {
        step_elsewhere();
        steps(1s);
    }
    std::error_code ec;
    BOOST_REQUIRE(elsewhere.resize(3, ec).empty());
    step_elsewhere();
    clock.advance(3s);
    step();
    BOOST_TEST(runner.count() == 3U);
}

BOOST_AUTO_TEST_CASE(member_with_another_count_that_is_the_first_after_an_outage_is_refused)
{
    steps(9s);
    clock.advance(23h);
    runner_type other{store, "orders", 3, {.ttl = 9s, .id = "b"}, clock};
    runner_type::session of_other{other};
    const auto refused = other.step(of_other, false, [](const std::shared_ptr<job_type>&) {});
    BOOST_TEST(refused.over);
    BOOST_TEST((refused.refusal == lh::errc::invalid_terms));
    steps(9s);
    BOOST_TEST(runner.count() == 2U);
}

BOOST_AUTO_TEST_CASE(last_member_that_leaves_removes_the_record_of_the_count)
{
    std::error_code ec;
    runner_type other{store, "orders", 2, {.ttl = 9s, .id = "b"}, clock};
    runner_type::session of_other{other};
    const lh::group_member router{store, "orders", lh::member_options{.ttl = 1h, .id = "router"}, clock};
    step();
    const auto no_work = [](const std::shared_ptr<job_type>&) {};
    BOOST_REQUIRE(!other.step(of_other, false, no_work).over);
    BOOST_REQUIRE(other.step(of_other, true, no_work).over);
    BOOST_TEST(store.inspect("orders", ec).has_value());
    BOOST_REQUIRE(runner.step(*session, true, no_work).over);
    BOOST_TEST(!store.inspect("orders", ec));
}

BOOST_AUTO_TEST_CASE(member_that_is_resized_before_it_leaves_removes_the_record_of_the_new_count)
{
    std::error_code ec;
    step();
    BOOST_REQUIRE(runner.resize(3, ec).empty());
    BOOST_REQUIRE(runner.step(*session, true, [](const std::shared_ptr<job_type>&) {}).over);
    BOOST_TEST(!store.inspect("orders", ec));
}

BOOST_AUTO_TEST_CASE(last_member_that_leaves_removes_the_record_of_the_count_though_the_list_still_shows_it)
{
    std::error_code ec;
    lagging_store lags{store};
    lh::group::shard_runner other{lags, "jobs", 2, {.ttl = 9s, .id = "a"}, clock};
    decltype(other)::session of_other{other};
    other.pause(true);  // so that it has nothing to drain
    const auto no_work = [](const auto&) {};
    for (int looks = 0; looks < 2; ++looks) {
        BOOST_REQUIRE(!other.step(of_other, false, no_work).over);
        clock.advance(3s);
    }
    BOOST_REQUIRE(lags.latest.size() == 1U);
    BOOST_REQUIRE(other.step(of_other, true, no_work).over);
    BOOST_TEST(!store.inspect("jobs", ec));
}

BOOST_AUTO_TEST_CASE(last_member_that_leaves_as_another_joins_leaves_the_record_of_the_count)
{
    std::error_code ec;
    joining_store joins{store};
    lh::group::shard_runner leaver{joins, "jobs", 2, {.ttl = 9s, .id = "a"}, clock};
    decltype(leaver)::session of_leaver{leaver};
    runner_type joiner{store, "jobs", 2, {.ttl = 9s, .id = "b"}, clock};
    runner_type::session of_joiner{joiner};
    const auto no_work = [](const auto&) {};
    BOOST_REQUIRE(!leaver.step(of_leaver, false, no_work).over);
    joins.after_list = [&] { BOOST_TEST(!joiner.step(of_joiner, false, no_work).over); };
    BOOST_REQUIRE(leaver.step(of_leaver, true, no_work).over);
    BOOST_REQUIRE(!joins.after_list);
    BOOST_TEST(store.inspect("jobs", ec).has_value());
}

BOOST_AUTO_TEST_CASE(record_of_the_count_stays_if_the_last_member_leaves_before_one_that_joins_has_published_its_words)
{
    std::error_code ec;
    publishing_store publishes{store};
    lh::group::shard_runner joiner{publishes, "orders", 2, {.ttl = 9s, .id = "b"}, clock};
    decltype(joiner)::session of_joiner{joiner};
    const auto no_work = [](const auto&) {};
    for (const bool again : {false, true}) {
        step();
        publishes.before_publish = [&] { BOOST_TEST(runner.step(*session, true, no_work).over); };
        BOOST_REQUIRE(!joiner.step(of_joiner, false, no_work).over);
        BOOST_REQUIRE(!publishes.before_publish);
        BOOST_TEST_INFO("it joins again: " << again);
        BOOST_TEST(store.inspect("orders", ec).has_value());
        // It loses its membership, and joins again at its next look.
        BOOST_REQUIRE(store.force_release("orders/members/b"));
        session.emplace(runner);
        clock.advance(9s);
    }
}

BOOST_AUTO_TEST_CASE(count_of_members_that_were_killed_is_kept_for_a_day_and_who_is_refused_is_told_what_to_do)
{
    steps(9s);
    session.reset();  // which does not leave as a member does that is stopped
    const auto refusal_of_other = [&] {
        runner_type other{store, "orders", 3, {.ttl = 9s, .id = "b"}, clock};
        runner_type::session of_other{other};
        const auto first = other.step(of_other, false, [](const std::shared_ptr<job_type>&) {});
        std::string words;
        try {
            other.raise_if(first.refusal);
        }
        catch (const std::system_error& e) {
            words = e.what();
        }
        return words;
    };
    clock.advance(1h);
    for (int attempts = 0; attempts < 2; ++attempts) {
        const std::string said = refusal_of_other();
        BOOST_TEST(said.find("If they were killed, remove it with 'leasehold release orders --force', or wait ") != std::string::npos,
                   said);
    }
    clock.advance(23h);
    BOOST_TEST(refusal_of_other() == "");
}

BOOST_AUTO_TEST_CASE(members_that_come_back_within_a_cycle_of_an_outage_share_evenly_without_a_move)
{
    runner_type other{store, "orders", 2, {.ttl = 9s, .id = "b"}, clock};
    runner_type::session of_other{other};
    works_type works_of_other;
    const auto step_other = [&] {
        other.step(of_other, false, [&](const std::shared_ptr<job_type>& job) { works_of_other[job->shard->index()] = job; });
        end_what_is_to_end(other, works_of_other);
    };
    const auto both_step = [&](std::chrono::seconds time) {
        for (; time > 0s; time -= 1s) {
            step_other();
            steps(1s);
        }
    };
    both_step(9s);
    BOOST_REQUIRE(runner.owned().size() == 1U);
    BOOST_REQUIRE(other.owned().size() == 1U);
    clock.advance(20s);  // all terms have run out
    end_what_is_to_end(runner, works);
    end_what_is_to_end(other, works_of_other);
    steps(1s);
    both_step(9s);
    BOOST_TEST(runner.owned().size() == 1U);
    BOOST_TEST(other.owned().size() == 1U);
    BOOST_TEST(runner.statistics().taken == 2U, "one before and one after");
    BOOST_TEST(other.statistics().taken == 2U);
}

BOOST_AUTO_TEST_CASE(member_that_comes_back_waits_for_others_also_while_its_lost_work_goes_on)
{
    steps(4s);
    BOOST_REQUIRE(works.size() == 2U);
    clock.advance(20s);
    runner.finished(*works.at(0), nullptr);
    step();
    BOOST_TEST(runner.statistics().taken == 2U);
    clock.advance(3s);
    step();
    BOOST_TEST(runner.statistics().taken == 3U);
}

BOOST_AUTO_TEST_CASE(member_that_has_tried_in_vain_to_join_again_waits_for_others_when_it_has)
{
    failing_store fails{store};
    lh::group::shard_runner other{fails, "jobs", 2, {.ttl = 9s, .id = "a"}, clock};
    decltype(other)::session of_other{other};
    std::map<std::size_t, std::shared_ptr<decltype(other)::job_type>> works_of_other;
    const auto step_other = [&] {
        other.step(of_other, false, [&](const auto& job) { works_of_other[job->shard->index()] = job; });
        clock.advance(3s);
    };
    for (int looks = 0; looks < 2; ++looks) step_other();
    BOOST_REQUIRE(works_of_other.size() == 2U);
    clock.advance(20s);
    for (const auto& [shard, job] : works_of_other) other.finished(*job, nullptr);
    fails.down = true;
    step_other();
    fails.down = false;
    step_other();
    BOOST_TEST(other.statistics().taken == 2U);
    step_other();
    BOOST_TEST(other.statistics().taken == 4U);
    for (const auto& [shard, job] : works_of_other) other.finished(*job, nullptr);
}

BOOST_AUTO_TEST_CASE(member_that_comes_back_at_each_look_waits_for_others_once)
{
    step();
    for (int looks = 0; looks < 2; ++looks) {
        BOOST_TEST(runner.statistics().taken == 0U);
        clock.advance(20s);
        step();
    }
    BOOST_TEST(runner.statistics().taken == 2U);
}

BOOST_AUTO_TEST_CASE(member_that_has_lost_only_its_membership_waits_for_nobody)
{
    steps(4s);
    BOOST_REQUIRE(works.size() == 2U);
    BOOST_REQUIRE(store.force_release("orders/members/a"));
    for (int seconds = 0; seconds < 4; ++seconds) clock.advance(1s);  // it learns so from a renewal
    BOOST_REQUIRE(runner.owned().size() == 2U);
    std::error_code ec;
    BOOST_REQUIRE(runner.resize(3, ec).empty());
    BOOST_REQUIRE(!store.inspect("orders/members/a", ec));
    step();
    BOOST_TEST(store.inspect("orders/members/a", ec).has_value());
    BOOST_TEST(runner.owned().size() == 3U);
}

BOOST_AUTO_TEST_CASE(term_whose_work_has_ended_in_time_is_not_lost)
{
    steps(4s);
    BOOST_REQUIRE(works.size() == 2U);
    runner.finished(*works.at(0), nullptr);
    clock.advance(20s);  // nobody takes a step meanwhile
    runner.finished(*works.at(1), nullptr);
    step();
    BOOST_TEST(runner.statistics().lost == 1U);
    BOOST_TEST(events["lost"] == 1);
    BOOST_TEST(runner.statistics().given_back == 1U, "the same as was told");
    BOOST_TEST(events["given_back"] == 1);
}

BOOST_AUTO_TEST_CASE(failure_of_work_is_told_in_the_words_of_its_exception)
{
    steps(4s);
    BOOST_REQUIRE(works.size() == 2U);
    runner.finished(*works.at(0), std::make_exception_ptr(std::runtime_error{"no disk"}));
    step();
    runner.finished(*works.at(1), std::make_exception_ptr(1));
    step();
    BOOST_TEST(runner.statistics().failed == 2U);
    BOOST_TEST((failures == std::vector<std::string>{"no disk", "an exception that is no std::exception"}));
}

BOOST_AUTO_TEST_CASE(exception_of_work_is_destroyed_before_its_end_is_told)
{
    steps(4s);
    BOOST_REQUIRE(works.size() == 2U);
    struct failure {
        std::shared_ptr<void> state;
    };
    const std::shared_ptr<job_type> job = works.at(0);
    std::optional<bool> had_ended;
    std::exception_ptr thrown = std::make_exception_ptr(failure{{nullptr, [&](void*) { had_ended = job->finished; }}});
    BOOST_REQUIRE(!had_ended);
    runner.finished(*job, std::exchange(thrown, nullptr));
    BOOST_TEST((had_ended == false));
}

BOOST_AUTO_TEST_CASE(term_that_another_has_had_since_is_lost_though_no_renewal_has_failed)
{
    steps(4s);
    BOOST_REQUIRE(works.size() == 2U);
    const lh::fencing_token ours = works.at(0)->shard->token();
    BOOST_REQUIRE(store.force_release("orders/0"));
    std::error_code ec;
    BOOST_REQUIRE(store.try_acquire("orders/0", "another", 1h, ec).token > ours);
    BOOST_TEST(runner.resize(3, ec).empty());  // so that it looks now, before the next renewal
    BOOST_REQUIRE(!ec);
    step();
    BOOST_REQUIRE(works.at(0)->shard->draining());
    BOOST_REQUIRE(works.at(0)->shard->held());
    runner.finished(*works.at(0), nullptr);
    step();
    step();
    BOOST_TEST(runner.statistics().lost == 1U);
    BOOST_TEST(events["lost"] == 1);
    BOOST_TEST(runner.statistics().given_back == 0U);
    BOOST_TEST(events["given_back"] == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace shard_runner_test
