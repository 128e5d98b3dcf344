// SPDX-License-Identifier: BSL-1.0
// Members of groups, shards and observers, with allocations that fail.
#include "allocations.hpp"

#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
#include <support/eventually.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <new>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using out_of_memory::raise;
using out_of_memory::sweep;

namespace {

// Names too long for a string to keep in itself.
const std::string name(64, 'n');
const std::string text(64, 't');

struct workers {
    lh::memory_store store;
    const lh::member_options options{.ttl = 1h, .id = "a member with a long name, too long to be kept", .data = {}};

    void check()
    {
        BOOST_TEST(store.list(name).empty(), "a member is left behind");
        lh::group_member theirs{store, name, options};
        BOOST_TEST(theirs.held());
    }
};

// Sleeps until there is memory again: one whose store or memory fails tries again after a pause.
struct relieving_clock : lh::steady_clock {
    bool wait_until(lh::waker& w, lh::time_point t) const
    {
        if (out_of_memory::allocations_left == 0) out_of_memory::allocations_left = -1;
        return steady_clock::wait_until(w, t);
    }
};

struct shards {
    static constexpr std::size_t count = 2;
    lh::memory_store store;
    std::stop_source stop;
    int worked = 0;
    lh::shard_group<lh::memory_store, relieving_clock> group{
        store, name, count, lh::shard_options{.ttl = 300ms, .id = text, .retry_min = 1ms, .retry_max = 1ms}};

    void check()
    {
        BOOST_TEST(group.owned().empty());
        BOOST_TEST(group.statistics().owned == 0U);
        BOOST_TEST(group.statistics().lost == 0U, "a shard that was given back counts as lost");
        BOOST_TEST(group.members().empty(), "the member is left behind");
        BOOST_TEST(group.view().empty(), "a shard is left behind");
    }
};

// Each look has so many allocations, until one has been enough.
struct watched_store : lh::forwarding_store<lh::memory_store, watched_store> {
    using forwarding_store::forwarding_store;

    std::optional<lh::lease_record> inspect(std::string_view of, std::error_code& ec)
    {
        limit();
        return underlying().inspect(of, ec);
    }
    std::vector<lh::lease_record> list(std::string_view prefix, std::error_code& ec)
    {
        limit();
        return underlying().list(prefix, ec);
    }

    void limit() noexcept
    {
        out_of_memory::allocations_left = allowed;
        allowed += allowed < 0 ? 0 : 1;
        ++looks;
    }

    std::atomic<int> allowed{-1};
    std::atomic<int> looks{0};
};

// What was told of one change, while its looks had 0 allocations, then 1, and so on.
template <class Change>
struct told {
    std::mutex mutex;
    std::vector<Change> changes;
    std::atomic<int> count{0};
    std::atomic<int> failures{0};
    std::atomic<bool> other_failure{false};

    void operator()(const Change& change)
    {
        out_of_memory::allocations_left = -1;
        const std::lock_guard lock{mutex};
        changes.push_back(change);
        ++count;
    }
    lh::observer_options options()
    {
        return {.every = 1ms,
                .on_error =
                    [this](std::error_code ec) {
                        out_of_memory::allocations_left = -1;  // for what the next look needs before it asks the store
                        ++failures;
                        if (ec != std::errc::not_enough_memory) other_failure = true;
                    },
                .on_exception = {}};
    }
};

// A change while there is no memory is told once there is, once; by next_change() too, if the observer has it.
template <class Change, class Make>
void expect_told_in_the_end(Make make)
{
    lh::memory_store store;
    watched_store watched{store};
    told<Change> all;
    auto watch = make(watched, all);
    BOOST_REQUIRE(eventually([&] { return watched.looks > 1; }));
    watched.allowed = 0;
    lh::group_member member{store, name, lh::member_options{.ttl = 1h, .id = text, .data = text}};
    BOOST_TEST(eventually([&] { return all.count == 1; }));
    watched.allowed = -1;
    const int looks = watched.looks;
    BOOST_TEST(eventually([&] { return watched.looks > looks + 2; }));
    BOOST_TEST(all.count == 1);
    BOOST_TEST(all.failures > 1);
    BOOST_TEST(!all.other_failure);
    if constexpr (requires { watch.try_next_change(); }) {
        BOOST_TEST(watch.try_next_change().has_value(), "the change is told to the function alone");
        BOOST_TEST(!watch.try_next_change().has_value());
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(out_of_memory_groups)

BOOST_AUTO_TEST_CASE(member_of_a_group)
{
    sweep<workers>([](workers& s) {
        lh::group_member me{s.store, name, s.options};
        me.publish(text);
        BOOST_REQUIRE(me.members().size() == 1U);
        BOOST_REQUIRE(me.members().front().data == text);
        me.leave();
    });
}

BOOST_AUTO_TEST_CASE(member_of_a_group_that_reports)
{
    sweep<workers>([](workers& s) {
        std::error_code ec;
        lh::group_member me{s.store, name, s.options, ec};
        raise(ec);
        me.publish(text, ec);
        raise(ec);
        BOOST_REQUIRE(me.members(ec).size() == (ec ? 0U : 1U));
        raise(ec);
        me.leave(ec);
        raise(ec);
    });
}

// What could not be published is published by the next call.
BOOST_AUTO_TEST_CASE(member_that_had_no_memory_for_what_it_publishes_keeps_its_word_later)
{
    for (int allowed = 0, failures = 1; failures != 0 && allowed < 100; ++allowed) {
        lh::memory_store store;
        lh::group_member me{store, name, lh::member_options{.ttl = 1h, .id = text, .data = {}}};
        std::error_code ec;
        out_of_memory::allocations_left = allowed;
        me.publish(text, ec);
        out_of_memory::allocations_left = -1;
        failures = ec ? 1 : 0;
        BOOST_TEST((!ec || ec == std::errc::not_enough_memory), ec.message());
        if (ec) me.publish(text);
        BOOST_TEST(me.members().front().data == text);
    }
}

BOOST_AUTO_TEST_CASE(all_shards_of_a_group)
{
    sweep<shards>([](shards& s) {
        s.group.run(
            s.stop.get_token(), [](const std::function<void()>& job) { job(); },
            [&s](auto& shard) {
                if (++s.worked < 2) return;
                s.stop.request_stop();
                BOOST_TEST(shard.held());
            });
        if (out_of_memory::allocations_left <= 0) throw std::bad_alloc{};  // it was told as an event, and the member went on
    });
}

BOOST_AUTO_TEST_CASE(resize_and_looks_at_a_group)
{
    sweep<shards>([](shards& s) {
        s.group.resize(3);
        std::error_code ec;
        s.group.resize(shards::count, ec);
        raise(ec);
        BOOST_REQUIRE(s.group.view(ec).empty());
        raise(ec);
        BOOST_REQUIRE(s.group.members(ec).empty());
        raise(ec);
        BOOST_REQUIRE(s.group.owned().empty());
    });
}

BOOST_AUTO_TEST_CASE(observer_of_a_lease)
{
    expect_told_in_the_end<lh::lease_change>([](watched_store& in, told<lh::lease_change>& all) {
        return lh::lease_observer<watched_store>{in, name + "/members/" + text, std::ref(all), all.options()};
    });
}

BOOST_AUTO_TEST_CASE(observer_of_a_prefix)
{
    expect_told_in_the_end<lh::lease_change>([](watched_store& in, told<lh::lease_change>& all) {
        return lh::prefix_observer<watched_store>{in, name, std::ref(all), all.options()};
    });
}

BOOST_AUTO_TEST_CASE(observer_of_a_group)
{
    expect_told_in_the_end<lh::member_change>([](watched_store& in, told<lh::member_change>& all) {
        return lh::group_observer<watched_store>{in, name, std::ref(all), all.options()};
    });
}

BOOST_AUTO_TEST_CASE(making_an_observer)
{
    sweep<workers>([](workers& s) { const lh::lease_observer watch{s.store, name, [](const lh::lease_change&) {}}; });
    sweep<workers>([](workers& s) { const lh::prefix_observer watch{s.store, name, [](const lh::lease_change&) {}}; });
    sweep<workers>([](workers& s) { const lh::group_observer watch{s.store, name, [](const lh::member_change&) {}}; });
}

BOOST_AUTO_TEST_SUITE_END()
