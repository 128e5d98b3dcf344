// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_GROUPS_HPP
#define LEASEHOLD_TESTS_CONTRACT_GROUPS_HPP

#include <contract/scene.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace leasehold::contract {

template <class Store>
concept group_store = listing_store<Store> && handover_store<Store>;

// Members of the scene's group in this process. What one has saved of a shard, and what the next one has found.
template <store_fixture Fixture>
    requires group_store<store_of<Fixture>>
class group_scene {
public:
    using store_type = store_of<Fixture>;
    using group_type = shard_group<store_type, decltype(std::declval<scene<Fixture>&>().clock())>;

    struct member {
        member(store_type& store, std::string_view name, std::size_t count, shard_options options, typename group_type::clock_type clock)
            : group{store, name, count, std::move(options), std::move(clock)}
        {
        }

        group_type group;
        std::stop_source stop{};
        std::atomic<bool> returned{false};
        std::error_code error{};
        std::thread thread{};
    };

    explicit group_scene(scene<Fixture>& s) : scene_{s} {}
    group_scene(const group_scene&) = delete;
    group_scene& operator=(const group_scene&) = delete;
    ~group_scene()
    {
        for (const auto& each : members_) each->stop.request_stop();
        for (const auto& each : members_) {
            while (!eventually([&] { return each->returned.load(); }, 5ms, 1ms)) pass();
            each->thread.join();
        }
    }

    member& join(store_type& store, std::string id, std::size_t count)
    {
        shard_options options{.ttl = ttl()};
        options.id = std::move(id);
        members_.push_back(std::make_unique<member>(store, scene_.name(), count, std::move(options), scene_.clock()));
        member& joined = *members_.back();
        joined.thread = std::thread{[this, &joined] {
            joined.group.run(
                joined.stop.get_token(), [this, &joined](auto& shard) { work(joined, shard); }, joined.error);
            joined.returned = true;
        }};
        return joined;
    }

    // Lets time pass until it is so. False: it never is.
    [[nodiscard]] bool comes(const std::function<bool()>& so)
    {
        for (int steps = 0; steps < 20 * steps_of_a_ttl; ++steps) {
            if (eventually(so, 5ms, 1ms)) return true;
            pass();
        }
        return so();
    }

    [[nodiscard]] bool shares_are(const std::vector<std::size_t>& expected) const
    {
        std::vector<std::size_t> shares;
        for (const auto& each : members_) shares.push_back(each->group.owned().size());
        return shares == expected;
    }

    // As in "1 saved by a": what this member found when it began with a shard that somebody had worked on.
    [[nodiscard]] std::vector<std::string> found_by(const std::string& id) const
    {
        const std::lock_guard lock{mutex_};
        const auto found = found_.find(id);
        return found == found_.end() ? std::vector<std::string>{} : found->second;
    }

private:
    static constexpr int steps_of_a_ttl = 36;

    // Members look three times in a ttl; so it is as short as a busy machine allows.
    [[nodiscard]] duration ttl() const { return 6 * scene_.ttl(); }
    void pass() { scene_.let_pass(ttl() / steps_of_a_ttl); }

    void work(member& of, typename group_type::shard_type& shard)
    {
        waker ends;
        const std::stop_callback wake{shard.stop_token(), [&ends] { ends.wake(); }};
        if constexpr (checkpointing_store<store_type>) {
            std::error_code ec;
            const auto before = shard.load_checkpoint(ec);
            if (before) {
                const std::lock_guard lock{mutex_};
                found_[of.group.id()].push_back(*before);
            }
            ends.wait();
            shard.save_checkpoint(std::to_string(shard.index()) + " saved by " + of.group.id(), ec);
        } else {
            ends.wait();
        }
    }

    scene<Fixture>& scene_;
    mutable std::mutex mutex_;
    std::map<std::string, std::vector<std::string>> found_;
    std::vector<std::unique_ptr<member>> members_;
};

// Members that divide shards among them, by what the store tells of them.
template <store_fixture Fixture>
    requires group_store<store_of<Fixture>>
void add_groups(case_list<Fixture> cases)
{
    cases.add("member_that_joins_gets_an_equal_share", [](auto& s) {
        group_scene<Fixture> group{s};
        auto& a = group.join(s.store(), "a", 6);
        BOOST_REQUIRE(group.comes([&] { return group.shares_are({6}); }));
        auto& b = group.join(s.other(), "b", 6);
        BOOST_TEST(group.comes([&] { return group.shares_are({3, 3}); }));
        std::vector<std::size_t> all = a.group.owned();
        std::ranges::copy(b.group.owned(), std::back_inserter(all));
        std::ranges::sort(all);
        BOOST_TEST((all == std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
        const auto members = b.group.members();
        BOOST_REQUIRE(members.size() == 2U);
        BOOST_TEST((members[0].id == "a" && members[1].id == "b"));
        const auto view = a.group.view();
        BOOST_TEST(view.size() == 6U);
        BOOST_TEST(std::ranges::count(view, "a", &shard_view::owner) == 3);
        BOOST_TEST(std::ranges::count(view, "b", &shard_view::owner) == 3);
    });

    cases.add("member_that_leaves_gives_all_to_the_other", [](auto& s) {
        group_scene<Fixture> group{s};
        auto& a = group.join(s.store(), "a", 6);
        auto& b = group.join(s.other(), "b", 6);
        BOOST_REQUIRE(group.comes([&] { return group.shares_are({3, 3}); }));
        b.stop.request_stop();
        BOOST_TEST(group.comes([&] { return group.shares_are({6, 0}) && b.returned; }));
        BOOST_TEST(!b.error);
        BOOST_TEST(a.group.members().size() == 1U);
    });

    cases.add("shards_of_a_member_that_has_died_are_taken", [](auto& s) {
        const std::string orders = s.name();
        // As a process leaves them that was killed.
        std::error_code ec;
        for (const char* row : {"/members/x", "/0", "/1", "/2"})
            BOOST_REQUIRE(s.other().try_acquire(orders + row, "x", s.ttl(), ec).granted());
        group_scene<Fixture> group{s};
        auto& a = group.join(s.store(), "a", 6);
        BOOST_TEST(group.comes([&] { return group.shares_are({6}); }));
        BOOST_TEST(a.group.members().size() == 1U);
    });

    if constexpr (checkpointing_store<store_of<Fixture>>)
        cases.add("checkpoint_of_a_shard_goes_with_it", [](auto& s) {
            group_scene<Fixture> group{s};
            group.join(s.store(), "a", 2);
            BOOST_REQUIRE(group.comes([&] { return group.shares_are({2}); }));
            auto& b = group.join(s.other(), "b", 2);
            BOOST_REQUIRE(group.comes([&] { return group.shares_are({1, 1}); }));
            const std::vector<std::size_t> got = b.group.owned();
            BOOST_REQUIRE(got.size() == 1U);
            const std::vector<std::string> expected{std::to_string(got.front()) + " saved by a"};
            BOOST_TEST(eventually([&] { return group.found_by("b") == expected; }));
            BOOST_TEST(group.found_by("a").empty());
        });

    cases.add("member_with_another_count_is_refused", [](auto& s) {
        group_scene<Fixture> group{s};
        auto& a = group.join(s.store(), "a", 4);
        BOOST_REQUIRE(group.comes([&] { return group.shares_are({4}); }));
        auto& b = group.join(s.other(), "b", 5);
        BOOST_TEST(group.comes([&] { return b.returned.load(); }));
        BOOST_TEST((b.error == errc::invalid_terms), b.error.message());
        BOOST_TEST(group.shares_are({4, 0}));
        BOOST_TEST(a.group.count() == 4U);
        BOOST_TEST(a.group.members().size() == 1U);
    });
}

}  // namespace leasehold::contract

#endif
