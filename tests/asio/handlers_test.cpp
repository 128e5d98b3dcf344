// SPDX-License-Identifier: BSL-1.0
// What belongs to a handler: the memory that it brings along, and what it owns; and what it may do when it is called or destroyed.
#include <asio/counting_allocator.hpp>
#include <asio/kinds.hpp>
#include <asio/support.hpp>
#include <contract/asked_once.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(asio_handlers_test)

using namespace leasehold_test;

namespace {

struct fixture {
    lh::memory_store store;
    memory_lease lease{store, "a"};
    memory_lease other{store, "a"};
};

// Owns the memory that its allocator hands out, like a session that has memory for its own operations.
template <class F>
class owning_handler {
public:
    using allocator_type = counting_allocator<char>;
    using executor_type = net::io_context::executor_type;

    owning_handler(memory_account& memory, net::io_context& io, F f) : f_{std::move(f)}, io_{&io}, memory_{&memory}, owns_{&memory} {}

    [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type{*memory_}; }
    [[nodiscard]] executor_type get_executor() const noexcept { return io_->get_executor(); }

    template <class... Results>
    void operator()(Results... results)
    {
        f_(results...);
    }

private:
    struct goes {
        void operator()(memory_account* of) const noexcept { of->gone = true; }
    };

    F f_;
    net::io_context* io_;
    memory_account* memory_;
    std::unique_ptr<memory_account, goes> owns_;
};

// Runs the operation that start(handler) starts.
template <class Start>
void check_memory(const std::string& what, Start start)
{
    BOOST_TEST_CONTEXT(what)
    {
        net::io_context io;
        memory_account memory;
        int called = 0, in_use_then = -1;
        start(owning_handler{memory, io, [&](const auto&...) {
                                 ++called;
                                 in_use_then = memory.blocks;
                             }});
        io.run();
        BOOST_TEST(called == 1);
        BOOST_TEST(memory.ever > 0);
        BOOST_TEST(in_use_then == 0, "it could be used again");
        BOOST_TEST(memory.blocks == 0);
        BOOST_TEST(memory.gone);
        BOOST_TEST(memory.too_late == 0);
    }
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(every_operation_takes_memory_from_its_handler_and_gives_it_back_before_the_call, fixture)
{
    memory_lease b{store, "b"};
    check_memory("an attempt", [&](auto handler) { lh::async_try_acquire(lease, std::move(handler)); });
    check_memory("a wait", [&](auto handler) { lh::async_acquire(lease, std::move(handler)); });
    check_memory("a wait without time", [&](auto handler) { lh::async_try_acquire_for(lease, 0s, std::move(handler)); });
    check_memory("a set", [&](auto handler) { lh::async_try_acquire_all(lease, b, std::move(handler)); });
    std::vector<memory_lease> two;
    two.emplace_back(store, "c");
    two.emplace_back(store, "d");
    check_memory("each of several", [&](auto handler) { lh::async_try_acquire_each(two, std::move(handler)); });
    auto guard = lease.acquire();
    check_memory("a renewal", [&](auto handler) { lh::async_renew(guard, std::move(handler)); });
#if LEASEHOLD_ASIO_HAS_COROUTINES
    auto guard_too = b.acquire();
    const auto work = [](std::stop_token) -> net::awaitable<int> { co_return 1; };
    check_memory("work", [&](auto handler) { lh::async_run_while_held(std::move(guard_too), work, std::move(handler)); });
#endif
    check_memory("a release", [&](auto handler) { lh::async_release(std::move(guard), std::move(handler)); });
    check_memory("a release of nothing", [&](auto handler) { lh::async_release(std::move(guard), std::move(handler)); });
}

BOOST_FIXTURE_TEST_CASE(memory_that_a_handler_owns_outlasts_operations_that_end_with_their_context, fixture)
{
    BOOST_TEST_PASSPOINT();
    const auto held = lease.acquire();
    memory_account of_wait, of_renewal;
    {
        net::io_context io;
        const auto never_called = [](const auto&...) { BOOST_ERROR("called"); };
        lh::async_acquire(other, owning_handler{of_wait, io, never_called});
        lh::async_renew(held, owning_handler{of_renewal, io, never_called});
    }
    for (const auto* memory : {&of_wait, &of_renewal}) {
        BOOST_TEST(memory->ever > 0);
        BOOST_TEST(memory->blocks == 0);
        BOOST_TEST(memory->gone);
        BOOST_TEST(memory->too_late == 0);
    }
}

// A function that the context has not run keeps something that releases a lease at its end: the first operation of that context.
BOOST_AUTO_TEST_CASE(an_operation_that_starts_while_its_context_is_destroyed_ends_before_that)
{
    BOOST_TEST_PASSPOINT();
    lh::manual_clock clock;
    scripted_store store{clock};
    scripted_lease lease{store, "a", clock};
    gate call;
    store.before(operation::release, [&](std::string_view) { call.pass(); });
    const auto alive = std::make_shared<int>(1);
    struct session {
        scripted_lease::guard_type guard;
        net::io_context& io;
        std::shared_ptr<int> counted;

        session(scripted_lease& from, net::io_context& on, std::shared_ptr<int> count)
            : guard{from.acquire()}, io{on}, counted{std::move(count)}
        {
        }
        session(const session&) = delete;
        session& operator=(const session&) = delete;
        ~session()
        {
            lh::async_release(std::move(guard),
                              net::bind_executor(io, [kept = counted](error_code, lh::release_outcome) { BOOST_ERROR("called"); }));
        }
    };
    std::thread opens;
    {
        net::io_context io;
        net::post(io, [ends = std::make_shared<session>(lease, io, alive)] { BOOST_ERROR("run"); });
        opens = std::thread{[&] {
            static_cast<void>(call.reached_by(1));
            std::this_thread::yield();
            call.open();
        }};
    }
    BOOST_TEST(alive.use_count() == 1);
    opens.join();
    error_code ec;
    BOOST_TEST(!store.leases.inspect("a", ec));
}

BOOST_AUTO_TEST_CASE(a_handler_may_own_the_lease_and_the_store_and_destroy_them)
{
    struct world {
        lh::memory_store store;
        memory_lease lease{store, "a"};
        memory_lease other{store, "a"};
        memory_guard held{};
    };
    running_context io;
    for (int round = 0; round < 100; ++round) {
        auto owned = std::make_unique<world>();
        world& in = *owned;
        std::promise<void> done;
        const auto destroys = [&] {
            return net::bind_executor(io.context, [owner = std::move(owned), &done](error_code, auto result) mutable {
                if constexpr (requires { result.release(); }) result = {};
                owner.reset();
                done.set_value();
            });
        };
        error_code ec;
        if (round % 5 != 0 && round % 5 != 1) in.held = in.lease.acquire();
        switch (round % 5) {
        case 0: lh::async_acquire(in.lease, destroys()); break;
        case 1:
            in.store.try_acquire("a", "dead", 1ms, ec);
            lh::async_acquire(in.lease, destroys());
            break;
        case 2: lh::async_try_acquire_for(in.other, 1ms, destroys()); break;
        case 3: lh::async_renew(in.held, destroys()); break;
        default: lh::async_release(std::move(in.held), destroys());
        }
        BOOST_TEST_REQUIRE((done.get_future().wait_for(20s) == std::future_status::ready));
    }
}

namespace {

// A store around a store, which notes what it is asked for after its end.
struct noting_store : lh::forwarding_store<lh::memory_store, noting_store> {
    struct notes {
        bool ended = false;
        bool asked_too_late = false;
    };

    noting_store(lh::memory_store& store, notes& account) : forwarding_store{store}, noted{&account} {}
    noting_store(const noting_store&) = delete;
    noting_store& operator=(const noting_store&) = delete;
    ~noting_store() { noted->ended = true; }

    [[nodiscard]] const void* engine_key() const noexcept
    {
        note();
        return std::addressof(underlying());
    }
    template <class Make>
    auto around(const lh::store_call&, std::error_code&, Make make) -> decltype(make())
    {
        note();
        return make();
    }
    void note() const noexcept
    {
        if (noted->ended) noted->asked_too_late = true;
    }

    notes* noted;
};

// What a handler may own. The memory of the store stays, so that a call that comes too late can be noted.
struct world_of_a_handler {
    using lease_type = lh::basic_lease<noting_store>;

    void end()
    {
        held = {};
        lease.reset();
        other.reset();
        store.reset();
    }

    lh::memory_store inner;
    noting_store::notes noted;
    std::optional<noting_store> store{std::in_place, inner, noted};
    std::optional<lease_type> lease{std::in_place, *store, "a"}, other{std::in_place, *store, "b"};
    lease_type::guard_type held{};
};

struct ends_world {
    void operator()(world_of_a_handler* world) const noexcept { world->end(); }
};

// Each operation of a lease, with a handler that destroys the lease and the store.
template <class Check>
void check_each_operation(const Check& check)
{
    using world_type = world_of_a_handler;
    check("a wait", [](world_type& world, auto&& token) { lh::async_acquire(*world.lease, std::forward<decltype(token)>(token)); });
    check("an attempt", [](world_type& world, auto&& token) { lh::async_try_acquire(*world.lease, std::forward<decltype(token)>(token)); });
    check("a set", [](world_type& world, auto&& token) {
        lh::async_try_acquire_all(*world.lease, *world.other, std::forward<decltype(token)>(token));
    });
    check("a renewal", [](world_type& world, auto&& token) {
        world.held = world.lease->acquire();
        lh::async_renew(world.held, std::forward<decltype(token)>(token));
    });
    check("a release", [](world_type& world, auto&& token) {
        world.held = world.lease->acquire();
        lh::async_release(std::move(world.held), std::forward<decltype(token)>(token));
    });
}

// Starts the operation, and waits within the initiating function until the handler has returned.
template <class Handler>
struct waits_for_its_handler {
    Handler handler;
    std::future<void> returned;
};

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

template <class Handler, class... Results>
class leasehold::detail::net::async_result<asio_handlers_test::waits_for_its_handler<Handler>, void(Results...)> {
public:
    template <class Initiation, class Token, class... Arguments>
    static void initiate(Initiation&& initiation, Token&& token, Arguments&&... arguments)
    {
        std::forward<Initiation>(initiation)(std::move(token.handler), std::forward<Arguments>(arguments)...);
        token.returned.wait();
    }
};

BOOST_AUTO_TEST_SUITE(asio_handlers_test)

BOOST_AUTO_TEST_CASE(a_handler_may_destroy_the_lease_and_a_store_around_a_store_before_the_initiating_function_returns)
{
    running_context io;
    check_each_operation([&io](const std::string& what, auto start) {
        world_of_a_handler world;
        std::promise<void> returned;
        auto destroys = net::bind_executor(io.context, [&](error_code, auto result) {
            if constexpr (requires { result.release(); }) result = {};
            world.end();
            returned.set_value();
        });
        start(world, waits_for_its_handler<decltype(destroys)>{std::move(destroys), returned.get_future()});
        BOOST_TEST(!world.noted.asked_too_late, what);
    });
}

// A function that the context has not run starts the operation at its end.
BOOST_AUTO_TEST_CASE(a_context_that_is_being_destroyed_ends_what_an_operation_keeps_before_a_handler_that_owns_the_store)
{
    check_each_operation([](const std::string& what, auto start) {
        world_of_a_handler world;
        {
            net::io_context io;
            const world_of_a_handler::lease_type::guard_type none;
            lh::async_renew(none, net::bind_executor(io, [](error_code, bool) { BOOST_ERROR("called"); }));
            const auto starts = [&](void*) {
                start(world, net::bind_executor(io, [owner = std::unique_ptr<world_of_a_handler, ends_world>{&world}](
                                                        error_code, const auto&) { BOOST_ERROR("called"); }));
            };
            net::post(io, [last = std::shared_ptr<void>{nullptr, starts}] { BOOST_ERROR("run"); });
        }
        BOOST_TEST(world.noted.ended, what);
        BOOST_TEST(!world.noted.asked_too_late, what);
    });
}

BOOST_FIXTURE_TEST_CASE(guards_that_have_been_moved_from_hold_nothing, fixture)
{
    running_context io;
    memory_lease b{store, "b"};
    lh::basic_lease of_another_type{store, "c", lh::no_renewal{}};
    lh::shared_lease shared{store, "d"};
    const auto check = [&io](auto guard) {
        const auto moved = std::move(guard);
        BOOST_TEST(moved.held());
        recorder<bool> renewed;
        recorder<lh::release_outcome> released;
        lh::async_renew(guard, renewed.on(io.context));
        BOOST_TEST(renewed.get().ec == lh::errc::not_held);
        lh::async_release(std::move(guard), released.on(io.context));
        BOOST_TEST(released.get().ec == lh::errc::not_held);
        BOOST_TEST(moved.held());
#if LEASEHOLD_ASIO_HAS_COROUTINES
        std::promise<std::exception_ptr> done;
        const auto work = [](std::stop_token) -> net::awaitable<void> {
            BOOST_ERROR("begun");
            co_return;
        };
        lh::async_run_while_held(std::move(guard), work, net::bind_executor(io.context, [&](std::exception_ptr e) { done.set_value(e); }));
        BOOST_CHECK_THROW(std::rethrow_exception(done.get_future().get()), lh::lease_lost);
#endif
    };
    check(lease.acquire());
    check(lh::try_acquire_all(lease, b));
    check(lh::try_acquire_all(lease, of_another_type));
    check(shared.acquire());
    check(shared.acquire_shared());
}

namespace {

// By its clock holds wait, too.
struct store_with_a_clock : scripted_store {
    using scripted_store::scripted_store;
    [[nodiscard]] const lh::manual_clock& clock() const noexcept { return leases.clock(); }
};

// Calls of one kind hang in the store, which counts them.
struct hanging_calls {
    explicit hanging_calls(operation which)
    {
        store.before(which, [this](std::string_view) {
            ++inside;
            gates.pass();
        });
        store.after(which, [this](std::string_view) { --inside; });
    }
    hanging_calls(const hanging_calls&) = delete;
    hanging_calls& operator=(const hanging_calls&) = delete;
    ~hanging_calls() { gates.open(); }

    lh::manual_clock clock;
    store_with_a_clock store{clock};
    gate gates{clock};
    std::atomic<int> inside = 0;
};

}  // namespace

// The operation is the last user of the threads that make the calls.
BOOST_AUTO_TEST_CASE(a_handler_may_destroy_the_store_after_a_lease_whose_renewal_or_look_hung)
{
    for (const auto which : {operation::renew, operation::handover_requested})
        for (const bool holds : {false, true}) {
            hanging_calls with{which};
            lh::forwarding_store<store_with_a_clock> names{with.store};
            error_code ec;
            BOOST_TEST(with.store.leases.try_acquire("b", "somebody", 10h, ec).granted());
            std::optional<scripted_lease> lease{std::in_place, with.store, "a", with.clock, lh::lease_terms{.ttl = 30s}};
            std::optional<scripted_lease> other{std::in_place, with.store, "b", with.clock};
            auto guard = lease->acquire();
            std::stop_token asked;
            if (which == operation::handover_requested)
                asked = guard.handover_token();
            else
                with.clock.advance(10s);
            BOOST_TEST_REQUIRE(with.gates.reached_by(1));
            running_context io;
            std::promise<int> told;
            auto left_inside = told.get_future();
            auto token = net::bind_executor(io.context, [&](error_code, const auto&) { told.set_value(with.inside); });
            if (holds)
                lh::async_hold(names, "b", 1h, "migration", 1s, std::move(token));
            else
                lh::async_try_acquire_for(*other, 1s, std::move(token));
            std::thread ends{[&] {
                guard.release();
                lease.reset();
                other.reset();
                with.clock.advance(1s);
            }};
            BOOST_TEST((left_inside.wait_for(50ms) == std::future_status::timeout));
            with.gates.open();
            ends.join();
            BOOST_TEST(left_inside.get() == 0);
        }
}

using kinds_of_rights = boost::mpl::list<a_lease, a_permit, a_reader, a_writer>;
BOOST_AUTO_TEST_CASE_TEMPLATE(a_cancellation_does_not_keep_the_executor_while_a_renewal_of_its_right_hangs, Kind, kinds_of_rights)
{
    hanging_calls with{operation::renew};
    using right_type = right_on<Kind, decltype(with.store), lh::manual_clock, lh::lease_terms>;
    std::unique_ptr<right_type> right{new right_type(Kind::on(with.store, "a", with.clock, lh::lease_terms{.ttl = 30s}))};
    scripted_lease other{with.store, "b", with.clock, lh::lease_terms{.ttl = 10h}};
    const auto of_the_threads = other.acquire();
    auto guard = Kind::acquire(*right);
    with.clock.advance(10s);
    BOOST_TEST_REQUIRE(with.gates.reached_by(1));
    guard.release();
    for (const auto& row : Kind::asked_rows("a")) {
        error_code ec;
        BOOST_TEST(with.store.leases.try_acquire(row, "somebody", 10h, ec).granted());
    }
    running_context io;
    cancellation slots;
    std::promise<int> told;
    auto left_inside = told.get_future();
    const auto asked_before = with.store.answered(operation::try_acquire);
    Kind::async_acquire(*right, slots.on(net::bind_executor(io.context, [&](error_code, const auto&) { told.set_value(with.inside); })));
    BOOST_TEST(eventually([&] { return with.store.answered(operation::try_acquire) > asked_before; }));
    right.reset();
    std::promise<void> emitted;
    net::post(io.context, [&] {
        slots.emit();
        emitted.set_value();
    });
    BOOST_TEST((emitted.get_future().wait_for(20s) == std::future_status::ready));
    BOOST_TEST((left_inside.wait_for(0s) == std::future_status::timeout), "the handler may destroy the store");
    with.gates.open();
    BOOST_TEST(left_inside.get() == 0);
}

#if LEASEHOLD_ASIO_HAS_COROUTINES
BOOST_FIXTURE_TEST_CASE(an_exception_of_a_handler_after_work_leaves_through_the_context_and_the_lease_is_free, fixture)
{
    const auto throws = [](std::exception_ptr) { throw std::runtime_error{"the handler's own"}; };
    const auto is_the_handlers = [](const std::runtime_error& e) { return std::string{e.what()} == "the handler's own"; };
    {
        net::io_context io;
        const auto work = [](std::stop_token) -> net::awaitable<void> { co_return; };
        lh::async_run_while_held(lease.acquire(), work, net::bind_executor(io, throws));
        BOOST_CHECK_EXCEPTION(io.run(), std::runtime_error, is_the_handlers);
        BOOST_TEST(is_held(other.try_acquire()));
    }
    lh::leader_election election{lease};
    cancellation slots;
    net::io_context io;
    const auto lead = [&](lh::leader_term<memory_lease>&) -> net::awaitable<void> {
        slots.emit();
        co_return;
    };
    lh::async_lead(election, lead, slots.on(net::bind_executor(io, throws)));
    BOOST_CHECK_EXCEPTION(io.run(), std::runtime_error, is_the_handlers);
    BOOST_TEST(is_held(other.try_acquire()));
}
#endif

namespace {

// Has no memory for what it is given.
template <class Inside>
struct full_executor {
    template <class F>
    void execute(F) const
    {
        throw std::bad_alloc{};
    }
    [[nodiscard]] auto require(net::execution::blocking_t::never_t never) const
    {
        return full_executor<decltype(net::require(inside, never))>{net::require(inside, never)};
    }
    [[nodiscard]] net::execution_context& query(net::execution::context_t) const noexcept
    {
        return net::query(inside, net::execution::context);
    }
    friend bool operator==(const full_executor&, const full_executor&) noexcept = default;

    Inside inside;
};

struct releasing_store : lh::forwarding_store<lh::memory_store, releasing_store> {
    using forwarding_store::forwarding_store;
    template <class Make>
    auto around(const lh::store_call& call, std::error_code&, Make make) -> decltype(make())
    {
        if (call.operation == lh::store_operation::release) on_release();
        return make();
    }
    std::function<void()> on_release;
};

}  // namespace

// Nor does the context wait for the store, which may take long.
BOOST_FIXTURE_TEST_CASE(what_no_executor_has_memory_for_is_dropped_while_others_go_on, fixture)
{
    net::io_context io;
    releasing_store releases{store};
    lh::basic_lease a{releases, "a"};
    memory_lease b{store, "b"};
    std::promise<void> started, dropped;
    bool others_go_on = false;
    std::thread starts;
    releases.on_release = [&] {
        starts = std::thread{[&] {
            lh::async_try_acquire(b, net::bind_executor(io, [](error_code, const auto&) {}));
            started.set_value();
        }};
        others_go_on = started.get_future().wait_for(60s) == std::future_status::ready;
    };
    auto last = std::shared_ptr<void>{nullptr, [&](void*) { dropped.set_value(); }};
    lh::async_try_acquire(a, net::bind_executor(full_executor<net::io_context::executor_type>{io.get_executor()},
                                                [kept = std::move(last)](error_code, const auto&) {}));
    dropped.get_future().get();
    starts.join();
    BOOST_TEST(others_go_on);
}

#if defined(LEASEHOLD_STANDALONE_ASIO) ? __has_include(<asio/cancel_after.hpp>) : __has_include(<boost/asio/cancel_after.hpp>)
// Since Boost 1.86.
// Its timer may end at any time, so the operation begins where both end.
BOOST_FIXTURE_TEST_CASE(a_wait_ends_after_the_time_of_cancel_after, fixture)
{
    auto held = lease.acquire();
    running_context io;
    recorder<memory_guard> waiter, in_time;
    net::post(io.context, [&] { lh::async_acquire(other, net::cancel_after(5ms, waiter.on(io.context))); });
    const auto end = waiter.get();
    BOOST_TEST(end.ec == aborted);
    BOOST_TEST(end.result.empty());
    BOOST_TEST(store.local_waiters().waiting() == 0u);
    net::post(io.context, [&] { lh::async_acquire(other, net::cancel_after(1h, in_time.on(io.context))); });
    held.release();
    BOOST_TEST(is_held(in_time.get().result));
}

// Each says with which executor its timer is made.
BOOST_FIXTURE_TEST_CASE(every_operation_takes_cancel_after, fixture)
{
    running_context io;
    recorder<bool> renewed, closed;
    recorder<lh::release_outcome> released;
    auto guard = lease.acquire();
    net::post(io.context, [&] { lh::async_renew(guard, net::cancel_after(1h, renewed.on(io.context))); });
    BOOST_TEST(renewed.get().result);
    net::post(io.context, [&] { lh::async_hold(store, "b", 1h, "upgrade", 0s, net::cancel_after(1h, closed.on(io.context))); });
    BOOST_TEST(closed.get().result);
    net::post(io.context, [&] { lh::async_release(std::move(guard), net::cancel_after(1h, released.on(io.context))); });
    BOOST_TEST((released.get().result == lh::release_outcome::released));
}
#endif

BOOST_AUTO_TEST_SUITE_END()
