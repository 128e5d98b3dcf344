// SPDX-License-Identifier: BSL-1.0
#include <asio/support.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#if LEASEHOLD_ASIO_HAS_COROUTINES
BOOST_AUTO_TEST_SUITE(asio_run_shards_test)

using namespace leasehold_test;

namespace {

using group_type = lh::shard_group<lh::memory_store>;
using shard_type = group_type::shard_type;

// A member whose loop runs on a context of its own. What it works on are waits.
struct member {
    explicit member(lh::memory_store& store, std::size_t count = 4, lh::shard_options options = {})
    {
        options.ttl = 3s;
        options.retry_min = 1ms;
        options.on_event = [this](const lh::shard_event& event) {
            if (event.kind == lh::shard_event_kind::failed) {
                ++failed;
                const std::lock_guard lock{mutex};
                what = event.what;
            }
            if (event.kind == lh::shard_event_kind::given_back) ++given_back;
            if (event.kind == lh::shard_event_kind::lost) ++lost;
        };
        shards.emplace(store, "orders", count, std::move(options));
    }
    member(const member&) = delete;
    member& operator=(const member&) = delete;
    ~member()
    {
        if (running) stop();
    }

    static net::awaitable<void> wait_for_ever(shard_type&)
    {
        net::steady_timer pause{co_await net::this_coro::executor, net::steady_timer::time_point::max()};
        co_await pause.async_wait(net::use_awaitable);
    }

    void begin(std::function<net::awaitable<void>(shard_type&)> work = wait_for_ever)
    {
        running = true;
        lh::async_run_shards(*shards, std::move(work),
                             slots.on(net::bind_executor(io.context, [this](std::exception_ptr e) { done.set_value(e); })));
    }
    std::exception_ptr stop()
    {
        slots.cancel(io.context);
        return end();
    }
    std::exception_ptr end()
    {
        running = false;
        return done.get_future().get();
    }
    [[nodiscard]] bool comes_to_own(std::size_t count)
    {
        return eventually([&] { return shards->owned().size() == count; });
    }
    std::string said()
    {
        const std::lock_guard lock{mutex};
        return what;
    }

    std::atomic<int> failed = 0, given_back = 0, lost = 0;
    std::mutex mutex;
    std::string what;
    bool running = false;
    cancellation slots;
    std::optional<group_type> shards;
    std::promise<std::exception_ptr> done;
    running_context io{2};  // the last: its end comes before that of what the coroutines refer to
};

struct fixture {
    lh::memory_store store;
    std::error_code ignored;
};

std::string message_of(const std::exception_ptr& thrown, lh::errc code)
{
    try {
        if (thrown) std::rethrow_exception(thrown);
    } catch (const std::system_error& e) {
        BOOST_TEST((e.code() == code));
        return e.what();
    }
    return "nothing";
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_coroutine_works_on_each_shard_and_a_stop_gives_all_back_and_leaves, fixture)
{
    member one{store};
    one.begin();
    BOOST_TEST(one.comes_to_own(4));
    BOOST_TEST(one.shards->members().size() == 1U);
    BOOST_TEST((one.stop() == nullptr));
    BOOST_TEST(one.given_back == 4);
    BOOST_TEST(one.failed == 0);
    BOOST_TEST(one.shards->view().empty());
    BOOST_TEST(one.shards->members().empty());
}

BOOST_FIXTURE_TEST_CASE(a_drain_cancels_the_coroutine_of_the_shard_that_moves_and_no_other, fixture)
{
    member one{store}, other{store};
    one.begin();
    BOOST_TEST(one.comes_to_own(4));
    other.begin();
    BOOST_TEST(other.comes_to_own(2));
    BOOST_TEST(one.comes_to_own(2));
    BOOST_TEST(one.given_back == 2);
    BOOST_TEST(one.failed == 0);
    BOOST_TEST(other.given_back == 0);
}

BOOST_FIXTURE_TEST_CASE(a_lost_shard_cancels_its_coroutine_and_is_taken_again, fixture)
{
    member one{store};
    std::atomic<int> calls = 0;
    one.begin([&](shard_type& shard) {
        ++calls;
        return member::wait_for_ever(shard);
    });
    BOOST_TEST(one.comes_to_own(4));
    store.force_release("orders/1");
    BOOST_TEST(eventually([&] { return one.lost == 1 && calls == 5; }));
    BOOST_TEST(one.comes_to_own(4));
    BOOST_TEST(one.failed == 0);
}

BOOST_FIXTURE_TEST_CASE(a_coroutine_may_end_its_work_and_save_what_the_next_owner_must_know_before_its_shard_goes, fixture)
{
    member one{store, 1};
    one.begin([](shard_type& shard) -> net::awaitable<void> {
        co_await net::this_coro::reset_cancellation_state(net::disable_cancellation());
        net::steady_timer pause{co_await net::this_coro::executor};
        while (!shard.draining()) {
            pause.expires_after(1ms);
            co_await pause.async_wait(net::use_awaitable);
        }
        shard.save_checkpoint("7");
    });
    BOOST_TEST(one.comes_to_own(1));
    one.stop();
    BOOST_TEST(store.checkpoint("orders/0", ignored)->text == "7");
}

BOOST_FIXTURE_TEST_CASE(a_coroutine_that_throws_ends_the_term_and_is_called_again, fixture)
{
    member one{store, 1};
    std::atomic<int> calls = 0;
    one.begin([&](shard_type& shard) -> net::awaitable<void> {
        if (++calls == 1) throw std::runtime_error{"no disk"};
        co_await member::wait_for_ever(shard);
    });
    BOOST_TEST(eventually([&] { return one.failed == 1 && calls == 2; }));
    BOOST_TEST(one.said() == "no disk");
    BOOST_TEST(one.comes_to_own(1));
}

BOOST_FIXTURE_TEST_CASE(another_count_is_an_exception_that_says_both, fixture)
{
    member one{store, 4}, other{store, 8};
    one.begin();
    BOOST_TEST(one.comes_to_own(4));
    other.begin();
    const std::string said = message_of(other.end(), lh::errc::invalid_terms);
    BOOST_TEST(said.find("'orders' has 8 shards here, but the store's record of that name says '4 shards'") != std::string::npos, said);
    BOOST_TEST(one.shards->members().size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_stop_before_it_has_begun_is_one, fixture)
{
    group_type shards{store, "orders", 4, {.ttl = 300ms}};
    cancellation slots;
    net::io_context here;
    bool called = false;
    lh::async_run_shards(shards, member::wait_for_ever, slots.on(net::bind_executor(here, [&](std::exception_ptr e) {
                             BOOST_TEST((e == nullptr));
                             called = true;
                         })));
    slots.emit();
    here.run();
    BOOST_TEST(called);
    BOOST_TEST(shards.members().empty());
}

BOOST_FIXTURE_TEST_CASE(it_can_be_awaited, fixture)
{
    member one{store, 2};
    std::atomic<int> calls = 0;
    const auto work = [&](auto&) -> net::awaitable<void> {
        if (++calls == 2) one.slots.emit();
        co_return;
    };
    net::co_spawn(one.io.context, lh::async_run_shards(*one.shards, work, one.slots.on(net::use_awaitable)), net::use_future).get();
    BOOST_TEST(calls >= 2);
    BOOST_TEST(store.list("orders/", ignored).empty());
}

BOOST_FIXTURE_TEST_CASE(a_context_that_is_destroyed_gives_everything_back, fixture)
{
    std::optional<group_type> shards{std::in_place, store, "orders", 4U, lh::shard_options{.ttl = 300ms}};
    {
        running_context io{1};
        lh::async_run_shards(*shards, member::wait_for_ever, net::bind_executor(io.context, [](std::exception_ptr) {}));
        BOOST_TEST(eventually([&] { return shards->owned().size() == 4; }));
    }
    BOOST_TEST(shards->view().empty());
    BOOST_TEST(shards->members().empty());
}

namespace {

// Releases of shards take their time, or fail.
struct hesitant_store : lh::forwarding_store<lh::memory_store, hesitant_store> {
    using forwarding_store::forwarding_store;
    template <class Make>
    auto around(const lh::store_call& call, std::error_code& ec, Make make) -> decltype(make())
    {
        if (call.operation != lh::store_operation::release || call.name.starts_with("orders/members/")) return make();
        ++releases;
        std::this_thread::sleep_for(takes);
        if (!fails) return make();
        ec = lh::errc::store_unavailable;
        return {};
    }
    std::chrono::milliseconds takes{0};
    bool fails = false;
    std::atomic<int> releases = 0;
};

// Destroys the context of a member that works on eight shards. Returns how many of its coroutines were destroyed after their terms.
int destroy_context_over(hesitant_store& store)
{
    lh::shard_group shards{store, "orders", 8, lh::shard_options{.ttl = 3s}};
    using term_type = decltype(shards)::shard_type;
    struct end_of_work {
        const term_type& shard;
        int& too_late;
        ~end_of_work() { too_late += shard.held() ? 0 : 1; }
    };
    int too_late = 0;
    const auto work = [&too_late](term_type& shard) -> net::awaitable<void> {
        const end_of_work at_end{shard, too_late};
        net::steady_timer pause{co_await net::this_coro::executor, net::steady_timer::time_point::max()};
        co_await pause.async_wait(net::use_awaitable);
    };
    {
        running_context io{1};
        lh::async_run_shards(shards, work, net::bind_executor(io.context, [](std::exception_ptr) {}));
        BOOST_TEST(eventually([&] { return shards.owned().size() == 8; }));
    }
    return too_late;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_context_that_is_destroyed_asks_a_slow_store_no_more_after_a_second, fixture)
{
    hesitant_store slow{store};
    slow.takes = 400ms;
    BOOST_TEST(destroy_context_over(slow) == 0);
    BOOST_TEST(slow.releases >= 1);
    BOOST_TEST(slow.releases <= 3);
}

BOOST_FIXTURE_TEST_CASE(a_context_that_is_destroyed_asks_a_store_that_fails_no_more, fixture)
{
    hesitant_store failing{store};
    failing.fails = true;
    BOOST_TEST(destroy_context_over(failing) == 0);
    BOOST_TEST(failing.releases == 1);
}

BOOST_AUTO_TEST_SUITE_END()
#endif
