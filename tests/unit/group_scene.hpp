// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_UNIT_GROUP_SCENE_HPP
#define LEASEHOLD_TESTS_UNIT_GROUP_SCENE_HPP

#include <leasehold/leasehold.hpp>

#include <support/eventually.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace leasehold_test {

// Members of one group of shards in one process, on a clock that is turned, and what their work and their hooks have seen.
template <class Store>
class group_scene {
public:
    using group_type = leasehold::shard_group<Store, leasehold::manual_clock>;
    static constexpr auto ttl = std::chrono::seconds{9};

    group_scene(Store& store, leasehold::manual_clock clock) : store_{store}, clock_{std::move(clock)} {}
    group_scene(const group_scene&) = delete;
    group_scene& operator=(const group_scene&) = delete;
    ~group_scene() { end(); }

    // All members leave; nothing that `work` refers to is used any longer.
    void end()
    {
        for (auto& each : members_) each->stop.request_stop();
        for (auto& each : members_)
            if (each->thread.joinable()) finish(*each);
    }

    struct end_of_test {
        group_scene& of;
        ~end_of_test() { of.end(); }
    };
    // For a test whose work refers to its own variables: declared after them, it ends before them.
    [[nodiscard]] end_of_test ends_with_test() noexcept { return {*this}; }

    struct member {
        std::unique_ptr<group_type> group;
        std::stop_source stop;
        std::atomic<bool> returned{false};
        std::error_code error;
        std::thread thread;
    };

    // What the work on a shard does until it is to end; by default it waits for that.
    std::function<void(typename group_type::shard_type&)> work = [](auto& shard) { wait_for_end(shard); };

    static void wait_for_end(typename group_type::shard_type& shard)
    {
        leasehold::waker ends;
        const std::stop_callback wake{shard.stop_token(), [&ends] { ends.wake(); }};
        ends.wait();
    }

    // Returns when the member is in the group, or has refused to run: one that begins later would find the others' shards taken.
    member& join(std::string id, std::size_t count, leasehold::shard_options options = {})
    {
        const std::string row = "orders/members/" + id;
        options.ttl = ttl;
        options.id = std::move(id);
        options.on_event = [this, own = options.id](const leasehold::shard_event& event) {
            const std::lock_guard lock{mutex_};
            ++events_[own + " " + std::string{to_string(event.kind)}];
            if (!event.what.empty()) said_ = event.what;
        };
        members_.push_back(std::make_unique<member>());
        member& joined = *members_.back();
        joined.group = std::make_unique<group_type>(store_, "orders", count, options, clock_);
        joined.thread = std::thread{[this, &joined] {
            joined.group->run(
                joined.stop.get_token(), [this](auto& shard) { watch(shard); }, joined.error);
            joined.returned = true;
        }};
        static_cast<void>(eventually([&] {
            std::error_code ec;
            return joined.returned || store_.inspect(row, ec).has_value();
        }));
        return joined;
    }

    // Turns the clock until it is so; false: it never is.
    [[nodiscard]] bool comes(const std::function<bool()>& so, int most_steps = 400)
    {
        for (int step = 0; step < most_steps; ++step) {
            if (eventually(so, std::chrono::milliseconds{5}, std::chrono::milliseconds{1})) return true;
            clock_.advance(std::chrono::milliseconds{250});
        }
        return eventually(so);
    }

    void pass(std::chrono::milliseconds time)
    {
        for (; time.count() > 0; time -= std::chrono::milliseconds{250}) clock_.advance(std::chrono::milliseconds{250});
    }

    // The same for a test that counts: all threads do what is due before the clock goes on.
    void pass_slowly(std::chrono::milliseconds time)
    {
        for (; time.count() > 0; time -= std::chrono::milliseconds{250}) {
            clock_.advance(std::chrono::milliseconds{250});
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
    }

    [[nodiscard]] bool shares_are(std::vector<std::size_t> expected) const
    {
        std::vector<std::size_t> shares;
        for (const auto& each : members_) shares.push_back(each->group->owned().size());
        return shares == expected;
    }

    [[nodiscard]] int events(const std::string& which) const
    {
        const std::lock_guard lock{mutex_};
        const auto found = events_.find(which);
        return found == events_.end() ? 0 : found->second;
    }
    [[nodiscard]] std::string said() const
    {
        const std::lock_guard lock{mutex_};
        return said_;
    }
    [[nodiscard]] int doubles() const noexcept { return doubles_; }
    // How many terms each shard has had.
    [[nodiscard]] int terms() const noexcept { return terms_; }

    void leave(member& which)
    {
        which.stop.request_stop();
    }

private:
    void finish(member& of)
    {
        while (!of.returned) clock_.advance(std::chrono::milliseconds{250});
        of.thread.join();
    }

    void watch(typename group_type::shard_type& shard)
    {
        ++terms_;
        if (++working_[shard.index()] > 1) ++doubles_;
        struct leave_shard {
            std::atomic<int>& of;
            ~leave_shard() { --of; }
        } const at_end{working_[shard.index()]};
        work(shard);
    }

    Store& store_;
    leasehold::manual_clock clock_;
    std::vector<std::unique_ptr<member>> members_;
    std::array<std::atomic<int>, 128> working_{};
    std::atomic<int> doubles_{0};
    std::atomic<int> terms_{0};
    mutable std::mutex mutex_;
    std::map<std::string, int> events_;
    std::string said_;
};

}  // namespace leasehold_test

#endif
