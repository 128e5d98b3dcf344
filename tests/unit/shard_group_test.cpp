// SPDX-License-Identifier: BSL-1.0
// Shares of the work, in one process, on a clock that is turned.
#include "group_scene.hpp"

#include <leasehold/leasehold.hpp>

#include <support/eventually.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace shard_group_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using memory_type = lh::basic_memory_store<lh::manual_clock>;
using group_type = lh::shard_group<memory_type, lh::manual_clock>;

namespace {

struct scene {
    lh::manual_clock clock;
    memory_type store{clock};
    leasehold_test::group_scene<memory_type> group{store, clock};
};

// Counts the calls that a database would get as statements.
class counting_store {
public:
    explicit counting_store(const lh::manual_clock& clock) : memory_{clock} {}

    lh::acquire_result try_acquire(std::string_view name, std::string_view owner, lh::duration ttl, std::error_code& ec)
    {
        ++calls;
        return memory_.try_acquire(name, owner, ttl, ec);
    }
    bool renew(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration ttl, std::error_code& ec)
    {
        ++calls;
        fewest_renewed = 1;
        return memory_.renew(name, owner, token, ttl, ec);
    }
    bool release(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration closed, std::error_code& ec)
    {
        ++calls;
        return memory_.release(name, owner, token, closed, ec);
    }
    std::optional<lh::lease_record> inspect(std::string_view name, std::error_code& ec)
    {
        ++calls;
        return memory_.inspect(name, ec);
    }
    [[nodiscard]] std::size_t batch_size() const noexcept { return 4096; }
    void renew_many(std::span<const lh::term_renewal> terms, std::span<lh::batch_answer> answers, lh::duration within, std::error_code& ec)
    {
        ++calls;
        longest_renewal = std::max(longest_renewal.load(), within);
        fewest_renewed = std::min<int>(fewest_renewed, static_cast<int>(terms.size()));
        for (std::size_t i = 0; i < terms.size(); ++i) {
            const auto& each = terms[i];
            answers[i] = memory_.renew(each.name, each.owner, each.token, each.ttl, ec) ? lh::batch_answer::yes : lh::batch_answer::no;
        }
    }
    void release_many(std::span<const lh::term_release> releases, std::span<lh::batch_answer> answers, std::error_code& ec)
    {
        ++calls;
        for (std::size_t i = 0; i < releases.size(); ++i) {
            const auto& each = releases[i];
            answers[i] = memory_.release(each.name, each.owner, each.token, each.min_hold_left, ec) ? lh::batch_answer::yes
                                                                                                    : lh::batch_answer::no;
        }
    }
    void acquire_many(std::span<const lh::term_request> requests, std::size_t most, std::span<std::optional<lh::acquire_result>> answers,
                      std::error_code& ec)
    {
        ++calls;
        memory_.acquire_many(requests, most, answers, ec);
    }
    bool publish(std::string_view name, std::string_view owner, lh::fencing_token token, std::string_view data, std::error_code& ec)
    {
        ++calls;
        return memory_.publish(name, owner, token, data, ec);
    }
    bool request_handover(std::string_view name, std::string_view reason, std::error_code& ec)
    {
        ++calls;
        return memory_.request_handover(name, reason, ec);
    }
    std::optional<std::string> handover_requested(std::string_view name, std::string_view owner, lh::fencing_token token,
                                                  std::error_code& ec)
    {
        ++calls;
        return memory_.handover_requested(name, owner, token, ec);
    }
    std::vector<lh::lease_record> list(std::string_view prefix, std::error_code& ec)
    {
        ++calls;
        if (down) {
            ec = lh::errc::store_unavailable;
            return {};
        }
        return memory_.list(prefix, ec);
    }

    std::atomic<int> calls{0};
    std::atomic<int> fewest_renewed{0};  // together
    std::atomic<lh::duration> longest_renewal{lh::duration{}};  // that was allowed
    std::atomic<bool> down{false};

private:
    memory_type memory_;
};

// Does not show who owns the shard 1, like a copy of the database that lags.
struct lagging_store : lh::forwarding_store<memory_type, lagging_store> {
    using forwarding_store::forwarding_store;
    std::vector<lh::lease_record> list(std::string_view prefix, std::error_code& ec)
    {
        std::vector<lh::lease_record> all = forwarding_store::list(prefix, ec);
        std::erase_if(all, [](const lh::lease_record& each) { return each.name == "orders/1"; });
        return all;
    }
};

// Counts the attempts at shards that are held closed.
struct watching_store : lh::forwarding_store<memory_type, watching_store> {
    using forwarding_store::forwarding_store;
    lh::acquire_result try_acquire(std::string_view name, std::string_view owner, lh::duration ttl, std::error_code& ec)
    {
        note(name, ec);
        return forwarding_store::try_acquire(name, owner, ttl, ec);
    }
    void acquire_many(std::span<const lh::term_request> requests, std::size_t most, std::span<std::optional<lh::acquire_result>> answers,
                      std::error_code& ec)
    {
        for (const lh::term_request& each : requests) note(each.name, ec);
        forwarding_store::acquire_many(requests, most, answers, ec);
    }
    void note(std::string_view name, std::error_code& ec)
    {
        const auto found = underlying().inspect(name, ec);
        if (found && found->is_hold()) ++in_vain;
    }

    std::atomic<int> in_vain{0};
};

std::string refusal(const std::function<void()>& what, lh::errc code)
{
    try {
        what();
    }
    catch (const std::system_error& e) {
        BOOST_TEST((e.code() == code));
        return e.what();
    }
    return "nothing";
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(shard_group_test, scene)

BOOST_AUTO_TEST_CASE(members_that_start_together_share_evenly_without_a_move)
{
    for (const char* id : {"a", "b", "c"}) group.join(id, 12);
    BOOST_TEST(group.comes([&] { return group.shares_are({4, 4, 4}) && group.terms() >= 12; }));  // the work of a shard may begin later
    group.pass(20s);
    BOOST_TEST(group.shares_are({4, 4, 4}));
    BOOST_TEST(group.doubles() == 0);
    BOOST_TEST(group.terms() == 12);
}

BOOST_AUTO_TEST_CASE(one_that_joins_gets_its_share_from_those_that_have_most_and_nothing_else_moves)
{
    group.join("a", 12);
    group.join("b", 12);
    BOOST_TEST(group.comes([&] { return group.shares_are({6, 6}); }));
    group.join("c", 12);
    BOOST_TEST(group.comes([&] { return group.shares_are({4, 4, 4}) && group.terms() >= 12 + 4; }));
    group.pass(20s);
    BOOST_TEST(group.terms() == 12 + 4);
    BOOST_TEST(group.doubles() == 0);
}

BOOST_AUTO_TEST_CASE(one_that_is_stopped_hands_everything_over_and_then_returns)
{
    auto& a = group.join("a", 8);
    group.join("b", 8);
    BOOST_TEST(group.comes([&] { return group.shares_are({4, 4}); }));
    group.leave(a);
    BOOST_TEST(group.comes([&] { return group.shares_are({0, 8}) && a.returned; }));
    BOOST_TEST(!a.error);
    BOOST_TEST(a.group->members().size() == 1U);
    BOOST_TEST(group.events("a lost") == 0);
    BOOST_TEST(group.events("a given_back") == 4);
}

BOOST_AUTO_TEST_CASE(next_owner_begins_only_when_the_work_has_returned_and_with_its_checkpoint)
{
    std::atomic<bool> slow{false};
    std::atomic<int> seen{0}, saved{0};
    const auto ends = group.ends_with_test();
    group.work = [&](auto& shard) {
        if (shard.load_checkpoint().value_or("") == "7") ++seen;
        group.wait_for_end(shard);
        while (slow) std::this_thread::yield();
        if (shard.held() && shard.save_checkpoint("7")) ++saved;
    };
    auto& a = group.join("a", 4);
    BOOST_TEST(group.comes([&] { return group.shares_are({4}); }));
    slow = true;
    group.join("b", 4);
    BOOST_TEST(group.comes([&] { return group.events("a draining") == 2; }));
    group.pass(20s);
    BOOST_TEST(group.shares_are({4, 0}));
    BOOST_TEST(a.group->view().at(0).owner == "a");
    slow = false;
    BOOST_TEST(group.comes([&] { return group.shares_are({2, 2}); }));
    BOOST_TEST(saved == 2);
    BOOST_TEST(group.comes([&] { return seen == 2; }));
}

BOOST_AUTO_TEST_CASE(work_that_does_not_return_keeps_its_shard_and_is_told_of_by_both)
{
    std::atomic<bool> stuck{true};
    const auto ends = group.ends_with_test();
    group.work = [&](auto& shard) {
        group.wait_for_end(shard);
        while (stuck) std::this_thread::yield();
    };
    auto& a = group.join("a", 2, {.drain_timeout = 10s});
    BOOST_TEST(group.comes([&] { return group.shares_are({2}); }));
    group.join("b", 2, {.drain_timeout = 10s});
    BOOST_TEST(group.comes([&] { return group.events("a late") == 1 && group.events("b late") == 1; }));
    group.pass(30s);
    BOOST_TEST(group.shares_are({2, 0}));
    BOOST_TEST(a.group->statistics().late == 1U);
    stuck = false;
    BOOST_TEST(group.comes([&] { return group.shares_are({1, 1}); }));
}

BOOST_AUTO_TEST_CASE(work_that_throws_ends_the_term_and_is_called_again_after_a_pause)
{
    std::atomic<int> calls{0};
    const auto ends = group.ends_with_test();
    group.work = [&](auto& shard) {
        if (shard.index() == 1 && ++calls == 1) throw std::runtime_error{"no disk"};
        group.wait_for_end(shard);
    };
    auto& a = group.join("a", 2, {.retry_min = 5s});
    BOOST_TEST(group.comes([&] { return group.events("a failed") == 1; }));
    BOOST_TEST(group.said() == "no disk");
    BOOST_TEST(a.group->statistics().failed == 1U);
    BOOST_TEST(group.comes([&] { return group.shares_are({2}) && calls == 2; }));
}

BOOST_AUTO_TEST_CASE(term_that_is_lost_is_signalled_and_the_shard_is_taken_again)
{
    std::atomic<int> unheld{0};
    const auto ends = group.ends_with_test();
    group.work = [&](auto& shard) {
        group.wait_for_end(shard);
        if (!shard.held()) ++unheld;
    };
    group.join("a", 2);
    BOOST_TEST(group.comes([&] { return group.shares_are({2}); }));
    BOOST_TEST(store.force_release("orders/1"));
    BOOST_TEST(group.comes([&] { return group.events("a lost") == 1 && group.shares_are({2}); }));
    BOOST_TEST(unheld == 1);
}

BOOST_AUTO_TEST_CASE(request_of_an_operator_is_followed)
{
    group.join("a", 2);
    BOOST_TEST(group.comes([&] { return group.shares_are({2}); }));
    std::error_code ec;
    BOOST_TEST(store.request_handover("orders/0", "maintenance", ec));
    BOOST_TEST(group.comes([&] { return group.events("a given_back") == 1; }));
}

BOOST_AUTO_TEST_CASE(shard_that_an_operator_asks_for_goes_to_another_member)
{
    auto& a = group.join("a", 8);
    auto& b = group.join("b", 8);
    BOOST_TEST(group.comes([&] { return group.shares_are({4, 4}); }));
    const std::size_t shard = a.group->owned().front();
    std::error_code ec;
    BOOST_TEST(store.request_handover("orders/" + std::to_string(shard), "maintenance", ec));
    BOOST_TEST(group.comes([&] {
        const auto owned = b.group->owned();
        return std::ranges::find(owned, shard) != owned.end();
    }));
    BOOST_TEST(group.comes([&] { return group.shares_are({4, 4}); }));
    BOOST_TEST(group.doubles() == 0);
}

BOOST_AUTO_TEST_CASE(member_that_an_operator_asks_to_go_gives_everything_away_and_lives_on)
{
    auto& a = group.join("a", 8);
    group.join("b", 8);
    BOOST_TEST(group.comes([&] { return group.shares_are({4, 4}); }));
    std::error_code ec;
    BOOST_TEST(store.request_handover("orders/members/a", "reboot", ec));
    BOOST_TEST(group.comes([&] { return group.shares_are({0, 8}); }));
    group.pass(60s);
    BOOST_TEST(group.shares_are({0, 8}));
    BOOST_TEST(a.group->members().size() == 2U);
}

BOOST_AUTO_TEST_CASE(member_that_was_asked_to_go_takes_none_after_a_loss_of_its_membership_either)
{
    group.join("a", 8);
    group.join("b", 8);
    BOOST_TEST(group.comes([&] { return group.shares_are({4, 4}); }));
    std::error_code ec;
    BOOST_TEST(store.request_handover("orders/members/a", "reboot", ec));
    BOOST_TEST(group.comes([&] { return group.shares_are({0, 8}); }));
    BOOST_TEST(store.force_release("orders/members/a"));  // as after a freeze
    group.pass(60s);
    BOOST_TEST(group.shares_are({0, 8}));
}

BOOST_AUTO_TEST_CASE(group_whose_name_is_held_closed_begins_when_the_hold_ends)
{
    store.hold("orders", 1h, "migration");
    auto& a = group.join("a", 8);
    BOOST_TEST(group.comes([&] { return group.events("a store_failed") > 1; }));
    BOOST_TEST(!a.returned);
    BOOST_TEST(store.unhold("orders"));
    BOOST_TEST(group.comes([&] { return group.shares_are({8}); }));
}

BOOST_AUTO_TEST_CASE(member_s_name_that_is_held_closed_has_no_share)
{
    store.hold("orders/members/c", 1h, "");
    group.join("a", 8);
    group.join("b", 8);
    BOOST_TEST(group.comes([&] { return group.shares_are({4, 4}); }));
}

BOOST_AUTO_TEST_CASE(group_member_in_a_group_of_shards_takes_none)
{
    lh::group_member router{store, "orders", lh::member_options{.ttl = 9s, .id = "router", .data = "10.0.0.9:8443"}, clock};
    auto& a = group.join("a", 12);
    BOOST_TEST(group.comes([&] { return group.shares_are({12}); }));
    BOOST_TEST(a.group->statistics().share == 12U);
    BOOST_TEST(a.group->members().size() == 2U);
}

BOOST_AUTO_TEST_CASE(group_member_and_observer_see_the_data_of_shard_members_and_no_words_of_theirs)
{
    std::mutex mutex;
    std::vector<std::string> told;
    auto& a = group.join("a", 4, {.data = "10.0.0.7:8443"});
    BOOST_TEST(group.comes([&] { return group.shares_are({4}); }));
    lh::group_observer watch{store, "orders",
                             [&](const lh::member_change& c) {
                                 const std::lock_guard lock{mutex};
                                 told.push_back(std::string{to_string(c.kind)} + " " + c.member.id + " " + c.member.data);
                             },
                             lh::observer_options{.every = 500ms}, clock};
    BOOST_TEST(group.comes([&] { return watch.current().size() == 1; }));
    a.group->pause();
    BOOST_TEST(group.comes([&] { return group.shares_are({0}); }));
    a.group->set_capacity(2);
    group.pass_slowly(5s);
    BOOST_TEST(watch.current().at(0).data == "10.0.0.7:8443");
    const std::lock_guard lock{mutex};
    BOOST_TEST((told == std::vector<std::string>{"joined a 10.0.0.7:8443"}));
}

BOOST_AUTO_TEST_CASE(member_that_is_paused_gives_everything_away_and_takes_its_share_again)
{
    auto& a = group.join("a", 8);
    group.join("b", 8);
    BOOST_TEST(group.comes([&] { return group.shares_are({4, 4}); }));
    a.group->pause();
    BOOST_TEST(group.comes([&] { return group.shares_are({0, 8}); }));
    BOOST_TEST(a.group->members().size() == 2U);
    a.group->resume();
    BOOST_TEST(group.comes([&] { return group.shares_are({4, 4}); }));
    BOOST_TEST(group.doubles() == 0);
}

BOOST_AUTO_TEST_CASE(shares_follow_the_capacities_and_the_limit)
{
    auto& a = group.join("a", 12, {.capacity = 2});
    group.join("b", 12);
    BOOST_TEST(group.comes([&] { return group.shares_are({8, 4}); }));
    a.group->set_capacity(1);
    BOOST_TEST(group.comes([&] { return group.shares_are({6, 6}); }));
    group.join("c", 12, {.max_shards = 1});
    BOOST_TEST(group.comes([&] { return group.shares_are({6, 5, 1}) || group.shares_are({5, 6, 1}); }));
}

BOOST_AUTO_TEST_CASE(count_is_changed_for_all_members_and_shards_that_are_no_more_are_drained)
{
    auto& a = group.join("a", 8);
    auto& b = group.join("b", 8);
    BOOST_TEST(group.comes([&] { return group.shares_are({4, 4}); }));
    a.group->resize(12);
    BOOST_TEST(group.comes([&] { return group.shares_are({6, 6}); }));
    BOOST_TEST(b.group->count() == 12U);
    b.group->resize(4);
    BOOST_TEST(group.comes([&] { return group.shares_are({2, 2}); }));
    BOOST_TEST(a.group->count() == 4U);
    BOOST_TEST(group.comes([&] { return std::ranges::none_of(a.group->view(), [](const auto& each) { return each.index >= 4; }); }));
    BOOST_TEST(refusal([&] { a.group->resize(0); }, lh::errc::invalid_terms).find("1 to 4096 shards, not 0") != std::string::npos);
    BOOST_TEST(refusal([&] { a.group->resize(-1); }, lh::errc::invalid_terms).find("1 to 4096 shards, not -1:") != std::string::npos);
    for (const int impossible : {4097, 0, -1}) {
        std::error_code ec;
        a.group->resize(impossible, ec);
        BOOST_TEST((ec == lh::errc::invalid_terms));
    }
}

BOOST_AUTO_TEST_CASE(count_of_a_name_that_is_held_closed_is_refused_with_the_reason)
{
    store.hold("orders", 1h, "audit");
    group_type a{store, "orders", 8, {.ttl = 9s}, clock};
    const std::string why = refusal([&] { a.resize(4); }, lh::errc::held_closed);
    BOOST_TEST((why.find("audit") != std::string::npos && why.find("unhold()") != std::string::npos), why);
}

BOOST_AUTO_TEST_CASE(member_with_another_count_is_refused_and_told_both_and_who_has_the_other)
{
    auto& a = group.join("a", 8);
    BOOST_TEST(group.comes([&] { return group.shares_are({8}); }));
    group_type other{store, "orders", 16, {.ttl = 9s}, clock};
    const std::string said = refusal([&] { other.run(std::stop_source{}.get_token(), [](auto&) {}); }, lh::errc::invalid_terms);
    BOOST_TEST(said.find("'orders' has 16 shards here, but the store's record of that name says '8 shards', as does the member 'a': all") !=
                   std::string::npos,
               said);
    BOOST_TEST(other.members().size() == 1U);
    for (const char* id : {"b", "c", "d", "e"}) group.join(id, 8);
    BOOST_TEST(group.comes([&] { return a.group->statistics().members == 5; }));
    BOOST_TEST(refusal([&] { other.run(std::stop_source{}.get_token(), [](auto&) {}); }, lh::errc::invalid_terms)
                   .find("as do the members 'a', 'b', 'c' and 2 more: all") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(name_that_belongs_to_something_else_is_refused)
{
    lh::basic_lease lease{store, "orders", 30s, clock, lh::fixed_owner_id{"boss"}};
    const auto guard = lease.try_acquire();
    group_type other{store, "orders", 16, {.ttl = 9s}, clock};
    const std::string said = refusal([&] { other.run(std::stop_source{}.get_token(), [](auto&) {}); }, lh::errc::invalid_terms);
    BOOST_TEST(said.find("held by 'boss'") != std::string::npos, said);
}

BOOST_AUTO_TEST_CASE(second_member_with_an_id_is_refused_and_told_who)
{
    group.join("a", 8);
    BOOST_TEST(group.comes([&] { return group.shares_are({8}); }));
    group_type other{store, "orders", 8, {.ttl = 9s, .id = "a"}, clock};
    const std::string said = refusal([&] { other.run(std::stop_source{}.get_token(), [](auto&) {}); }, lh::errc::invalid_owner);
    std::error_code ec;
    const std::string owner = store.inspect("orders/members/a", ec)->owner;
    BOOST_TEST(said.find("a member 'a' of 'orders' lives already, held by '" + owner + "': give") != std::string::npos, said);
    other.run(std::stop_source{}.get_token(), [](auto&) {}, ec);
    BOOST_TEST((ec == lh::errc::invalid_owner));
}

BOOST_AUTO_TEST_CASE(arguments_that_cannot_work_are_refused)
{
    const auto made = [&](auto count, lh::shard_options options) {
        return [this, count, options] { const group_type refused{store, "orders", count, options, clock}; };
    };
    BOOST_TEST(refusal(made(0, {}), lh::errc::invalid_terms).find("1 to 4096 shards, not 0") != std::string::npos);
    BOOST_TEST(refusal(made(4097, {}), lh::errc::invalid_terms).find("not 4097") != std::string::npos);
    BOOST_TEST(refusal(made(-1, {}), lh::errc::invalid_terms).find("1 to 4096 shards, not -1:") != std::string::npos);
    BOOST_TEST(refusal(made(-4'294'967'295LL, {}), lh::errc::invalid_terms).find("not -4294967295:") != std::string::npos);
    BOOST_TEST(refusal(made(4, {.capacity = 0}), lh::errc::invalid_terms).find("pause()") != std::string::npos);
    BOOST_TEST(refusal(made(4, {.ttl = 0s}), lh::errc::invalid_terms) != "nothing");
    BOOST_TEST(refusal(made(4, {.ttl = 9s, .safety_margin = 6s}), lh::errc::invalid_terms) != "nothing", "it leaves no time to renew");
    BOOST_TEST(refusal(made(4, {.drain_timeout = -1s}), lh::errc::invalid_terms) != "nothing");
    BOOST_TEST(refusal(made(4, {.retry_min = 0s}), lh::errc::invalid_terms) != "nothing");
    BOOST_TEST(refusal(made(4, {.retry_min = 2s, .retry_max = 1s}), lh::errc::invalid_terms) != "nothing");
    BOOST_TEST(refusal(made(4, {.retry_max = lh::max_ttl + 1ms}), lh::errc::invalid_terms).find("retry_max must be at most 10 years") !=
               std::string::npos);
    const auto longest = lh::duration::max();
    BOOST_TEST(refusal(made(4, {.retry_min = longest, .retry_max = longest}), lh::errc::invalid_terms) != "nothing");
    BOOST_TEST(refusal(made(4, {.id = std::string(180, 'x')}), lh::errc::invalid_name) != "nothing");
    BOOST_TEST(refusal(made(4, {.id = "\xff"}), lh::errc::invalid_name) != "nothing");
    BOOST_TEST(refusal(made(4, {.id = std::string("a\0b", 3)}), lh::errc::invalid_name) != "nothing");
    BOOST_TEST(refusal(made(4, {.data = std::string(945, 'x')}), lh::errc::invalid_data) != "nothing");
    BOOST_TEST(refusal([&] { const group_type refused{store, "", 4, {}, clock}; }, lh::errc::invalid_name) != "nothing");
}

BOOST_AUTO_TEST_CASE(work_runs_on_an_executor_of_the_users)
{
    std::vector<std::thread> threads;
    std::atomic<int> jobs{0};
    group_type mine{store, "orders", 3, {.ttl = 9s}, clock};
    std::stop_source stop;
    std::thread runs{[&] {
        mine.run(
            stop.get_token(),
            [&](std::function<void()> job) {
                ++jobs;
                threads.emplace_back(std::move(job));
            },
            [&](auto& shard) { group.wait_for_end(shard); });
    }};
    BOOST_TEST(group.comes([&] { return mine.owned().size() == 3; }));
    stop.request_stop();
    runs.join();
    for (std::thread& each : threads) each.join();
    BOOST_TEST(jobs == 3);
}

BOOST_AUTO_TEST_CASE(work_whose_executor_begins_it_after_the_end_of_the_term_is_not_called)
{
    std::mutex mutex;
    std::vector<std::function<void()>> jobs;
    const auto taken = [&] {
        const std::lock_guard lock{mutex};
        return std::exchange(jobs, {});
    };
    std::atomic<int> begun_in_time{0};
    std::atomic<int> begun_late{0};
    group_type mine{store, "orders", 1, {.ttl = 9s}, clock};
    std::stop_source stop;
    std::thread runs{[&] {
        mine.run(
            stop.get_token(),
            [&](std::function<void()> job) {
                const std::lock_guard lock{mutex};
                jobs.push_back(std::move(job));
            },
            [&](auto& shard) { ++(shard.held() ? begun_in_time : begun_late); });
    }};
    std::vector<std::function<void()>> late;
    BOOST_TEST(group.comes([&] { return !(late = taken()).empty(); }));
    clock.advance(60s);
    for (const auto& job : late) job();
    BOOST_TEST(group.comes([&] {
        for (const auto& job : taken()) job();
        return begun_in_time > 0;
    }));
    BOOST_TEST(begun_late == 0);
    stop.request_stop();
    BOOST_TEST(group.comes([&] {
        for (const auto& job : taken()) job();
        return mine.owned().empty();
    }));
    runs.join();
}

BOOST_AUTO_TEST_CASE(executor_that_throws_gives_the_shard_back)
{
    std::atomic<int> failed{0};
    group_type mine{store,
                    "orders",
                    1,
                    {.ttl = 9s, .on_event = [&](const lh::shard_event& e) { failed += e.kind == lh::shard_event_kind::failed ? 1 : 0; }},
                    clock};
    std::stop_source stop;
    std::thread runs{[&] {
        mine.run(
            stop.get_token(), [](const std::function<void()>&) { throw std::runtime_error{"full"}; }, [](auto&) {});
    }};
    BOOST_TEST(group.comes([&] { return failed >= 1; }));
    BOOST_TEST(group.comes([&] { return !store.inspect("orders/0", *std::make_unique<std::error_code>()); }));
    stop.request_stop();
    BOOST_TEST(group.comes([&] { return mine.members().empty(); }));
    runs.join();
}

BOOST_AUTO_TEST_CASE(view_shows_who_has_what_and_members_show_their_own_data)
{
    auto& a = group.join("a", 4, {.data = "10.0.0.7:8443"});
    BOOST_TEST(group.comes([&] { return group.shares_are({4}); }));
    const auto view = a.group->view();
    BOOST_REQUIRE(view.size() == 4U);
    BOOST_TEST(view[3].index == 3U);
    BOOST_TEST(view[3].owner == "a");
    BOOST_TEST(!view[3].draining);
    BOOST_TEST((a.group->owned() == std::vector<std::size_t>{0, 1, 2, 3}));
    BOOST_TEST(a.group->members().at(0).id == "a");
    BOOST_TEST(a.group->members().at(0).data == "10.0.0.7:8443");
    BOOST_TEST(store.inspect("orders", *std::make_unique<std::error_code>())->is_count());
    BOOST_TEST(a.group->statistics().owned == 4U);
    BOOST_TEST(a.group->statistics().share == 4U);
    BOOST_TEST(a.group->statistics().members == 1U);
}

BOOST_AUTO_TEST_CASE(view_shows_what_is_given_up_for_whatever_reason)
{
    std::atomic<bool> stuck{true};
    const auto ends = group.ends_with_test();
    group.work = [&](auto& shard) {
        group.wait_for_end(shard);
        while (stuck) std::this_thread::sleep_for(1ms);
    };
    auto& a = group.join("a", 4);
    auto& b = group.join("b", 4);
    BOOST_TEST(group.comes([&] { return group.shares_are({2, 2}); }));
    const auto draining = [&](const std::string& id) {
        const auto all = a.group->view();
        return std::ranges::count_if(all, [&](const auto& each) { return each.owner == id && each.draining; });
    };
    BOOST_TEST(draining("a") == 0);
    a.group->resize(3);
    BOOST_TEST(group.comes([&] { return draining("a") + draining("b") == 1; }));
    a.group->pause();
    BOOST_TEST(group.comes([&] { return draining("a") == 2; }));
    BOOST_TEST(group.comes([&] { return a.group->statistics().owned == 2; }));
    group.leave(b);
    BOOST_TEST(group.comes([&] { return draining("b") == 2; }));
    stuck = false;
}

BOOST_AUTO_TEST_CASE(view_shows_what_a_member_gives_up_that_an_operator_asks_to_go)
{
    std::atomic<bool> stuck{true};
    const auto ends = group.ends_with_test();
    group.work = [&](auto& shard) {
        group.wait_for_end(shard);
        while (stuck) std::this_thread::sleep_for(1ms);
    };
    auto& a = group.join("a", 2);
    BOOST_TEST(group.comes([&] { return group.shares_are({2}); }));
    std::error_code ec;
    BOOST_TEST(store.request_handover("orders/members/a", "reboot", ec));
    BOOST_TEST(a.group->view().at(1).draining);
    BOOST_TEST(group.comes([&] { return group.events("a draining") == 2; }));
    stuck = false;
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(shard_stores_test)

BOOST_AUTO_TEST_CASE(member_needs_at_most_three_statements_a_cycle_when_nothing_moves_whatever_the_number_of_shards)
{
    for (const std::size_t count : {std::size_t{8}, std::size_t{100}}) {
        lh::manual_clock clock;
        counting_store store{clock};
        leasehold_test::group_scene<counting_store> group{store, clock};
        group.work = [&](auto& shard) { group.wait_for_end(shard); };
        group.join("a", count);
        group.join("b", count);
        BOOST_TEST(group.comes([&] { return group.shares_are({count / 2, count / 2}); }));
        group.pass(9s);
        const int before = store.calls;
        group.pass_slowly(30s);  // 10 cycles of a third of the ttl
        BOOST_TEST(store.calls - before <= 3 * 2 * 10);
        BOOST_TEST(store.calls - before >= 2 * 10);
        BOOST_TEST(group.shares_are({count / 2, count / 2}));
    }
}

BOOST_AUTO_TEST_CASE(terms_that_were_taken_at_different_times_are_renewed_together)
{
    lh::manual_clock clock;
    counting_store store{clock};
    leasehold_test::group_scene<counting_store> group{store, clock};
    group.work = [&](auto& shard) { group.wait_for_end(shard); };
    std::vector<std::size_t> shares;
    for (const char* id : {"a", "b", "c", "d"}) {
        group.join(id, 48);
        shares.assign(shares.size() + 1, 48 / (shares.size() + 1));
        BOOST_TEST(group.comes([&] { return group.shares_are(shares); }));
        group.pass(1250ms);
    }
    group.pass(9s);
    const int calls = store.calls;
    store.fewest_renewed = 1000;
    group.pass_slowly(30s);  // 10 cycles
    BOOST_TEST(store.fewest_renewed % (12 + 1) == 0);  // whole members: shards and itself; two at once if their looks fall together
    BOOST_TEST(store.calls - calls <= 3 * 4 * 10);
    BOOST_TEST((store.longest_renewal.load() <= 5s), "half of a term of 10 s is left for another try");
}

BOOST_AUTO_TEST_CASE(shard_is_its_owner_s_whatever_a_look_says)
{
    lh::manual_clock clock;
    memory_type rows{clock};
    std::error_code ec;
    const auto theirs = rows.try_acquire("orders/1", "somebody", 1h, ec);
    lagging_store store{rows};
    std::atomic<int> terms{0};
    leasehold_test::group_scene<lagging_store> group{store, clock};
    group.work = [&](auto& shard) {
        if (shard.index() == 1) ++terms;
        group.wait_for_end(shard);
    };
    auto& a = group.join("a", 3);
    BOOST_TEST(group.comes([&] { return group.shares_are({2}); }));
    group.pass(30s);
    BOOST_TEST((a.group->owned() == std::vector<std::size_t>{0, 2}));
    BOOST_TEST(terms == 0);
    rows.release("orders/1", "somebody", theirs.token, {}, ec);
    BOOST_TEST(group.comes([&] { return group.shares_are({3}) && terms == 1; }));
    group.end();
}

BOOST_AUTO_TEST_CASE(shards_that_are_held_closed_are_shown_as_such_and_left_alone_and_the_others_are_shared_evenly)
{
    lh::manual_clock clock;
    memory_type rows{clock};
    for (const char* each : {"orders/0", "orders/2", "orders/4"}) rows.hold(each, 1h, "migration");
    watching_store store{rows};
    leasehold_test::group_scene<watching_store> group{store, clock};
    group.work = [&](auto& shard) { group.wait_for_end(shard); };
    auto& a = group.join("a", 8);
    group.join("b", 8);
    BOOST_TEST(group.comes([&] { return group.shares_are({3, 2}) || group.shares_are({2, 3}); }));
    group.pass(20s);
    BOOST_TEST((group.shares_are({3, 2}) || group.shares_are({2, 3})));
    BOOST_TEST(a.group->statistics().share == a.group->owned().size());
    const auto view = a.group->view();
    BOOST_REQUIRE(view.size() == 8U);
    BOOST_TEST((view[2].held_closed == "migration"));
    BOOST_TEST(view[2].owner.empty());
    BOOST_TEST(!view[2].draining);
    BOOST_TEST((view[2].remaining > 50min));
    BOOST_TEST(!view[3].held_closed.has_value());
    BOOST_TEST(store.in_vain == 0);
    BOOST_TEST(rows.unhold("orders/2"));
    BOOST_TEST(group.comes([&] { return group.shares_are({3, 3}); }));
    group.end();
}

BOOST_AUTO_TEST_CASE(store_that_fails_is_told_of_and_costs_no_shard)
{
    lh::manual_clock clock;
    counting_store store{clock};
    leasehold_test::group_scene<counting_store> group{store, clock};
    group.work = [&](auto& shard) { group.wait_for_end(shard); };
    auto& a = group.join("a", 4);
    BOOST_TEST(group.comes([&] { return group.shares_are({4}); }));
    store.down = true;
    BOOST_TEST(group.comes([&] { return group.events("a store_failed") >= 3; }));
    BOOST_TEST(group.shares_are({4}));
    BOOST_TEST(a.group->statistics().store_failures >= 3U);
    std::error_code ec;
    BOOST_TEST(a.group->view(ec).empty());
    BOOST_TEST((ec == lh::errc::store_unavailable));
    BOOST_CHECK_THROW((void)a.group->members(), lh::store_error);
    group.leave(a);  // the work ends although the store can't be looked at
    BOOST_TEST(group.comes([&] { return a.returned.load(); }));
    store.down = false;
    BOOST_TEST(a.group->view().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace shard_group_test
