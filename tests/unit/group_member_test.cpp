// SPDX-License-Identifier: BSL-1.0
// Who lives: members of a group, and who only looks.
#include <leasehold/leasehold.hpp>

#include <support/eventually.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <vector>

namespace group_member_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using memory_type = lh::basic_memory_store<lh::manual_clock>;
using member_type = lh::group_member<memory_type, lh::manual_clock>;

namespace {

struct scene {
    lh::manual_clock clock;
    memory_type store{clock};
    std::error_code ec;

    void pass(std::chrono::milliseconds time)
    {
        for (; time.count() > 0; time -= 500ms) clock.advance(500ms);
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(group_member_test, scene)

BOOST_AUTO_TEST_CASE(members_see_each_other_with_their_data_until_they_leave)
{
    member_type a{store, "workers", {.id = "a", .data = "10.0.0.7:8443"}, clock};
    {
        member_type b{store, "workers", {.id = "b"}, clock};
        const auto all = b.members();
        BOOST_REQUIRE(all.size() == 2U);
        BOOST_TEST(all[0].id == "a");
        BOOST_TEST(all[0].data == "10.0.0.7:8443");
        BOOST_TEST(all[1].id == "b");
        BOOST_TEST(all[1].owner == b.owner());
    }
    BOOST_TEST(a.members().size() == 1U);
    a.publish("10.0.0.8:8443");
    BOOST_TEST(a.members().at(0).data == "10.0.0.8:8443");
    a.leave();
    BOOST_TEST(!a.held());
}

BOOST_AUTO_TEST_CASE(member_lives_on_while_it_is_renewed)
{
    member_type a{store, "workers", {.ttl = 9s, .id = "a"}, clock};
    pass(60s);
    BOOST_TEST(a.held());
    BOOST_TEST(a.members(ec).size() == 1U);
}

BOOST_AUTO_TEST_CASE(second_member_with_an_id_is_refused_and_told_who)
{
    const member_type a{store, "workers", {.id = "a"}, clock};
    const auto says_who = [&](const std::system_error& e) {
        const std::string expected = "a member 'a' of 'workers' lives already, held by '" + a.owner() + "': give this one another id";
        return e.code() == lh::errc::invalid_owner && std::string{e.what()}.find(expected) != std::string::npos;
    };
    BOOST_CHECK_EXCEPTION((member_type{store, "workers", {.id = "a"}, clock}), std::system_error, says_who);
    member_type other{store, "workers", {.id = "a"}, ec, clock};
    BOOST_TEST((ec == lh::errc::invalid_owner));
    BOOST_TEST(!other.held());
    BOOST_TEST(other.members(ec).empty());
    BOOST_TEST((ec == lh::errc::invalid_owner));
}

BOOST_AUTO_TEST_CASE(member_whose_name_is_held_closed_is_told_so)
{
    const auto is_told = [&](const std::string& hold) {
        const auto says_so = [&](const std::system_error& e) {
            const std::string words = "a member 'a' of 'workers' can't join: its name is " + hold + ": open it";
            return std::string{e.what()}.find(words) != std::string::npos;
        };
        BOOST_CHECK_EXCEPTION((member_type{store, "workers", {.id = "a"}, clock}), std::system_error, says_so);
        BOOST_TEST(store.unhold("workers/members/a"));
    };
    store.hold("workers/members/a", 1h, "reboot");
    is_told("held closed (reboot)");
    store.hold("workers/members/a", 1h, "");
    is_told("held closed");
}

BOOST_AUTO_TEST_CASE(data_that_look_like_words_of_a_shard_group_are_shown_as_they_are)
{
    member_type a{store, "workers", {.id = "a", .data = "capacity=5 zone=b"}, clock};
    BOOST_TEST(a.members().at(0).data == "capacity=5 zone=b");
}

BOOST_AUTO_TEST_CASE(ids_are_different_by_themselves)
{
    member_type a{store, "workers", {}, clock};
    member_type b{store, "workers", {}, clock};
    BOOST_TEST(a.id() != b.id());
    BOOST_TEST(a.members().size() == 2U);
}

BOOST_AUTO_TEST_CASE(membership_that_was_lost_begins_again_with_the_same_data)
{
    member_type a{store, "workers", {.ttl = 9s, .id = "a", .data = "x"}, clock};
    BOOST_TEST(store.force_release("workers/members/a"));
    pass(6s);
    BOOST_TEST(!a.held());
    BOOST_TEST(a.stop_token().stop_requested());
    const auto all = a.members();
    BOOST_REQUIRE(all.size() == 1U);
    BOOST_TEST(all[0].data == "x");
    BOOST_TEST(a.held());
}

BOOST_AUTO_TEST_CASE(data_that_finds_the_membership_over_is_published_after_it_has_joined_again)
{
    member_type a{store, "workers", {.ttl = 9s, .id = "a", .data = "x"}, clock};
    BOOST_TEST(store.force_release("workers/members/a"));
    BOOST_TEST(a.held());  // it does not know yet
    a.publish("y");
    const auto all = a.members();
    BOOST_REQUIRE(all.size() == 1U);
    BOOST_TEST(all[0].data == "y");
    BOOST_TEST(store.force_release("workers/members/a"));
    BOOST_TEST(store.try_acquire("workers/members/a", "another", 1min, ec).granted());
    a.publish("z", ec);
    BOOST_TEST((ec == lh::errc::invalid_owner));
    BOOST_TEST(!a.held());
}

BOOST_AUTO_TEST_CASE(names_and_data_that_cannot_be_are_refused)
{
    BOOST_CHECK_THROW((member_type{store, "workers", {.id = std::string(190, 'x')}, clock}), std::system_error);
    BOOST_CHECK_THROW((member_type{store, "workers", {.data = std::string(1025, 'x')}, clock}), std::system_error);
    member_type a{store, "workers", {}, clock};
    BOOST_CHECK_THROW(a.publish(std::string(1025, 'x')), std::system_error);
    a.publish(std::string(1025, 'x'), ec);
    BOOST_TEST((ec == lh::errc::invalid_data));
}

BOOST_AUTO_TEST_CASE(observer_is_told_who_joins_changes_and_leaves_and_is_no_member)
{
    std::mutex mutex;
    std::vector<std::string> told;
    const auto seen = [&] {
        const std::lock_guard lock{mutex};
        return told.size();
    };
    const auto comes = [&](std::size_t count) {
        for (int step = 0; step < 100 && !eventually([&] { return seen() >= count; }, 50ms, 1ms); ++step) clock.advance(500ms);
        return seen() == count;
    };
    std::optional<member_type> a;
    a.emplace(store, "workers", lh::member_options{.id = "a", .data = "1"}, clock);
    lh::group_observer watch{store, "workers",
                             [&](const lh::member_change& c) {
                                 const std::lock_guard lock{mutex};
                                 told.push_back(std::string{to_string(c.kind)} + " " + c.member.id + " " + c.member.data);
                             },
                             lh::observer_options{}, clock};
    BOOST_TEST(comes(1));
    a->publish("2");
    BOOST_TEST(comes(2));
    BOOST_TEST(watch.current().size() == 1U);
    a.reset();
    BOOST_TEST(comes(3));
    BOOST_TEST((told == std::vector<std::string>{"joined a 1", "data_changed a 2", "left a 2"}));
    BOOST_CHECK_THROW((lh::group_observer{store, "workers", {}, lh::observer_options{.every = 0s}, clock}), std::system_error);
}

BOOST_AUTO_TEST_CASE(changes_can_be_taken_one_by_one)
{
    lh::group_observer watch{store, "workers", {}, lh::observer_options{.every = 1ms}, clock};
    BOOST_TEST(eventually([&] { return watch.age() == 0s; }));
    BOOST_TEST(!watch.try_next_change().has_value());
    {
        const member_type a{store, "workers", {.id = "a", .data = "1"}, clock};
        clock.advance(1ms);
        const auto joined = watch.next_change();
        BOOST_REQUIRE(joined.has_value());
        BOOST_TEST((joined->kind == lh::member_change_kind::joined));
        BOOST_TEST(joined->member.id == "a");
    }
    clock.advance(1ms);
    BOOST_TEST((watch.next_change()->kind == lh::member_change_kind::left));
    BOOST_TEST(!watch.try_next_change().has_value());
    std::stop_source stop;
    stop.request_stop();
    BOOST_TEST(!watch.next_change(stop.get_token()).has_value());
}

BOOST_AUTO_TEST_CASE(newest_changes_are_kept_for_whoever_takes_them)
{
    constexpr int most_kept = 256;
    std::list<member_type> members;
    for (int i = 0; i <= most_kept; ++i) members.emplace_back(store, "workers", lh::member_options{.id = std::to_string(1000 + i)}, clock);
    lh::group_observer watch{store, "workers", lh::observer_options{.every = 1ms}, clock};
    BOOST_TEST(eventually([&] { return !watch.current().empty(); }));
    // The next look comes when all changes of the first are told.
    clock.advance(1ms);
    BOOST_TEST(eventually([&] { return watch.age() == 0s; }));
    BOOST_TEST(watch.next_change().value().member.id == "1001");
    for (int i = 2; i <= most_kept; ++i) BOOST_TEST(watch.next_change().value().member.id == std::to_string(1000 + i));
    BOOST_TEST(!watch.try_next_change().has_value());
}

BOOST_AUTO_TEST_CASE(one_that_has_left_and_come_back_between_two_looks_is_told_as_both)
{
    const std::vector<lh::member_record> before{{"a", "", "o", lh::fencing_token{1}, 1s}, {"b", "", "o", lh::fencing_token{1}, 1s}};
    const std::vector<lh::member_record> after{{"a", "", "o", lh::fencing_token{2}, 1s}, {"b", "", "o", lh::fencing_token{1}, 2s}};
    const auto changes = lh::detail::changes_between(before, after);
    BOOST_REQUIRE(changes.size() == 2U);
    BOOST_TEST((changes[0].kind == lh::member_change_kind::left));
    BOOST_TEST((changes[1].kind == lh::member_change_kind::joined));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace group_member_test
