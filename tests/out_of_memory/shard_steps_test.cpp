// SPDX-License-Identifier: BSL-1.0
// The steps of a member of a shard_group, with allocations that fail after a look.
#include "allocations.hpp"

#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/group/shard_runner.hpp>
#include <leasehold/shard_group.hpp>
#include <leasehold/store/forwarding_store.hpp>
#include <leasehold/store/memory_store.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

using memory_type = lh::basic_memory_store<lh::manual_clock>;

// After a look there are so many allocations.
struct frugal_store : lh::forwarding_store<memory_type, frugal_store> {
    using forwarding_store::forwarding_store;

    std::vector<lh::lease_record> list(std::string_view prefix, std::error_code& ec)
    {
        auto all = underlying().list(prefix, ec);
        out_of_memory::allocations_left = allowed;
        return all;
    }

    int allowed = -1;
};

// A member that owns all shards, and works on them until each is to be given up.
struct member {
    using runner_type = lh::group::shard_runner<frugal_store, lh::manual_clock>;
    using job_type = runner_type::job_type;

    lh::manual_clock clock;
    memory_type rows{clock};
    frugal_store store{rows};
    runner_type runner{store, "orders", 3, lh::shard_options{.ttl = 9s}, clock};
    runner_type::session session{runner};
    std::vector<std::shared_ptr<job_type>> works;

    member()
    {
        for (int i = 0; i < 2; ++i, clock.advance(3s)) step();
    }

    runner_type::step_result step()
    {
        return runner.step(session, false, [this](const std::shared_ptr<job_type>& job) { works.push_back(job); });
    }

    bool winds_up()
    {
        for (int i = 0; i < 3; ++i, clock.advance(3s)) {
            if (runner.wind_up(session)) return true;
            for (const auto& each : works)
                if (each->shard->draining() && !each->finished) runner.finished(*each, nullptr);
        }
        return false;
    }
};

// There is no memory for a copy of its text.
struct untold_failure : std::exception {
    [[nodiscard]] const char* what() const noexcept override
    {
        out_of_memory::allocations_left = 0;
        return "more than a string has room for without an allocation";
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(out_of_memory_shard_steps)

BOOST_AUTO_TEST_CASE(all_work_ends_although_memory_ran_out_after_a_look_that_showed_a_request)
{
    int failed = 0;
    bool fails = true;
    for (int allowed = 0; fails; ++allowed) {
        BOOST_REQUIRE(allowed < 1000);
        member one;
        BOOST_REQUIRE(one.works.size() == 3U);
        std::error_code ec;
        for (const char* shard : {"orders/0", "orders/2"}) BOOST_REQUIRE(one.rows.request_handover(shard, "maintenance", ec));
        one.store.allowed = allowed;
        fails = false;
        try {
            one.step();
        } catch (const std::bad_alloc&) {
            fails = true;
            ++failed;
        }
        out_of_memory::allocations_left = -1;
        one.store.allowed = -1;
        BOOST_TEST(one.winds_up(), "work goes on that nobody has asked to end: " << allowed << " allocations");
    }
    BOOST_TEST(failed > 3);
}

BOOST_AUTO_TEST_CASE(work_that_throws_gives_its_shard_back_although_there_is_no_memory_for_the_reason)
{
    lh::memory_store store;
    std::stop_source stop;
    int failed = 0;
    const auto stops = [&](const lh::shard_event& event) {
        if (event.kind != lh::shard_event_kind::failed) return;
        ++failed;
        stop.request_stop();
    };
    lh::shard_group group{store, "orders", 1, lh::shard_options{.ttl = 900ms, .on_event = stops}};
    std::vector<std::thread> threads;
    group.run(
        stop.get_token(), [&](const std::function<void()>& works) { threads.emplace_back(works); }, [](auto&) { throw untold_failure{}; });
    for (std::thread& thread : threads) thread.join();
    BOOST_TEST(failed == 1);
    BOOST_TEST(group.view().empty());
}

BOOST_AUTO_TEST_SUITE_END()
