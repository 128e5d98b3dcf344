// SPDX-License-Identifier: BSL-1.0
// A store in a database, with allocations of its caller that fail. What the driver allocates, and the threads that wait for it, is not
// touched.
#include "allocations.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/detail/session/bounded_session.hpp>
#include <leasehold/odbc/detail/session/pool.hpp>
#include <leasehold/odbc/detail/session/steps.hpp>
#include <leasehold/odbc/detail/session/token_hints.hpp>
#include <leasehold/odbc/detail/store_operations.hpp>
#include <leasehold/odbc/dialect/detected.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <contract/asked_once.hpp>
#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <new>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace lh = leasehold;
namespace od = lh::odbc::detail;
using namespace std::chrono_literals;
using out_of_memory::raise;
using out_of_memory::sweep;

namespace {

const std::string name(64, 'n');

const std::string& database()
{
    static const leasehold_test::temporary_directory folder;
    static const std::string connection_string = [] {
        const std::string text = leasehold_test::sqlite_connection_string(folder.path() / "leases.db");
        lh::odbc_store{text}.create_schema();
        return text;
    }();
    return connection_string;
}

// The store has met no database yet.
struct scene {
    lh::odbc_store store{database()};
    lh::basic_lease<lh::odbc_store> lease{store, name, 1h};

    void check()
    {
        static lh::odbc_store others{database()};
        static lh::basic_lease<lh::odbc_store> theirs{others, name, 1h};
        BOOST_TEST(is_held(theirs.try_acquire()), "something is left behind");
        BOOST_TEST(is_held(lease.try_acquire()));
    }
};

// A store that has its connection, and calls for two names at once. What it grants after a failure must be there for others, too.
struct batch_scene {
    lh::odbc_store store{database(), {.call_timeout = 1s}};
    const std::array<std::string, 2> names{name + "1", name + "2"};
    const std::string next = name + "3";
    std::error_code ec;

    batch_scene() { raise(store.health().error); }
    void check()
    {
        static lh::odbc_store others{database(), {.call_timeout = 1s}};
        BOOST_TEST(store.try_acquire(next, "o", 1h, ec).granted());
        BOOST_TEST(others.inspect(next, ec).has_value(), "not committed");
        for (const std::string& each : names) others.force_release(each, ec);
        const auto both = attempts();
        BOOST_TEST((both[0] && both[0]->granted() && both[1] && both[1]->granted()));
        for (const std::string& each : names) others.force_release(each, ec);
        BOOST_TEST(others.force_release(next, ec));
        BOOST_TEST(!ec, ec.message());
    }
    std::array<std::optional<lh::acquire_result>, 2> attempts()
    {
        const std::array<lh::term_request, 2> requests{{{names[0], "o", 1h}, {names[1], "o", 1h}}};
        std::array<std::optional<lh::acquire_result>, 2> answers;
        store.acquire_many(requests, 2, answers, ec);
        return answers;
    }
};

struct holding_scene : batch_scene {
    std::array<lh::term_release, 2> releases{};

    holding_scene()
    {
        for (std::size_t i = 0; i < names.size(); ++i) releases[i] = {names[i], "o", store.try_acquire(names[i], "o", 1h, ec).token, {}};
        raise(ec);
    }
};

// The first call of its sessions hangs until it is freed.
struct hanging_pool {
    static std::promise<void>& freed()
    {
        static std::promise<void> promise;
        return promise;
    }
    static lh::dialect::spec describe(const lh::dialect::server_info& at)
    {
        static const std::shared_future<void> free = freed().get_future().share();
        free.wait();
        return lh::dialect::detected::describe(at);
    }

    std::shared_ptr<od::pool> sessions =
        std::make_shared<od::pool>(std::make_shared<const od::configuration>(database(), lh::odbc_options{}, &describe), false);

    ~hanging_pool() { sessions->close(std::chrono::steady_clock::now() + 10s); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(out_of_memory_for_the_store_in_a_database)

BOOST_AUTO_TEST_CASE(making_a_store)
{
    sweep<scene>([](scene&) { lh::odbc_store{database()}; });
}

BOOST_AUTO_TEST_CASE(attempt_and_release)
{
    sweep<scene>([](scene& s) { BOOST_REQUIRE(is_held(s.lease.try_acquire())); });
    sweep<scene>([](scene& s) {
        std::error_code ec;
        const auto guard = s.lease.try_acquire(ec);
        raise(ec);
        BOOST_REQUIRE(guard.held());
    });
}

// A session whose thread can't be made is used again.
BOOST_AUTO_TEST_CASE(a_call_that_could_not_start_is_not_told_the_end_of_the_next)
{
    const auto until = std::chrono::steady_clock::now() + 10s;
    const auto session = std::make_shared<od::bounded_session>(
        std::make_shared<const od::configuration>(database(), lh::odbc_options{}, &lh::dialect::detected::describe), false,
        od::bounded_session::handlers{});
    session->inner().prepare({}, od::connect_job(), until);
    int told = 0;
    bool started = true;
    out_of_memory::allocations_left = 0;
    try {
        session->start([&told] { ++told; });
    } catch (const std::bad_alloc&) {
        started = false;
    }
    out_of_memory::allocations_left = -1;
    BOOST_REQUIRE(!started);
    BOOST_TEST(session->run(until));
    session->ask_to_stop();
    session->wait_stopped(until);
    BOOST_TEST(told == 0);
}

BOOST_AUTO_TEST_CASE(call_that_hangs_is_given_up_without_memory)
{
    const hanging_pool pool;
    const auto connect = od::connect_job();
    const auto until = std::chrono::steady_clock::now() + 50ms;
    od::fault refused{};
    const od::session_pointer hangs = pool.sessions->check_out({}, connect, until, refused);
    BOOST_REQUIRE(hangs);
    BOOST_REQUIRE(!hangs->run(until));
    std::optional<bool> abandoned;
    out_of_memory::allocations_left = 0;
    try {
        abandoned = pool.sessions->abandon(hangs);
    } catch (const std::bad_alloc&) {
        // said below
    }
    out_of_memory::allocations_left = -1;
    const std::size_t hanging = pool.sessions->count().hanging;
    hanging_pool::freed().set_value();
    BOOST_TEST(abandoned.value_or(false));
    BOOST_TEST(hanging == 1U);
    BOOST_TEST(leasehold_test::eventually([&pool] { return pool.sessions->count().hanging == 0; }));
}

// Its thread is there from an earlier call, and must not wait for another one for good.
BOOST_AUTO_TEST_CASE(session_of_a_detached_call_that_could_not_start_ends)
{
    const auto config = std::make_shared<const od::configuration>("Driver=/no/such/driver.so", lh::odbc_options{},
                                                                  &lh::dialect::detected::describe);
    const auto sessions = std::make_shared<od::pool>(config, false);
    const auto connect = od::connect_job();
    const auto until = std::chrono::steady_clock::now() + 10s;
    od::fault refused{};
    od::session_pointer session = sessions->check_out({}, connect, until, refused);
    BOOST_REQUIRE(session->run(until));
    sessions->check_in(session, {}, connect);
    BOOST_REQUIRE(sessions->check_out({}, connect, until, refused) == session);
    bool started = true;
    out_of_memory::allocations_left = 0;
    try {
        sessions->run_detached(session);
    } catch (const std::bad_alloc&) {
        started = false;
    }
    out_of_memory::allocations_left = -1;
    BOOST_REQUIRE(!started);
    sessions->drop(session);
    BOOST_TEST(sessions->count().sessions == 0U);
    const std::weak_ptr<od::bounded_session> left = std::exchange(session, nullptr);
    BOOST_TEST(leasehold_test::eventually([&left] { return left.expired(); }));
    sessions->close(std::chrono::steady_clock::now() + 10s);
}

BOOST_AUTO_TEST_CASE(wait)
{
    sweep<scene>([](scene& s) { BOOST_REQUIRE(is_held(s.lease.try_acquire_for(10s))); });
}

BOOST_AUTO_TEST_CASE(a_guards_whole_life)
{
    sweep<scene>([](scene& s) {
        auto guard = s.lease.try_acquire();
        const std::stop_token lost = guard.stop_token();
        BOOST_REQUIRE(guard.renew());
        guard.publish(std::string_view{name});
        BOOST_REQUIRE(s.lease.request_handover(name));
        BOOST_REQUIRE(guard.release() == lh::release_outcome::released);
    });
}

BOOST_AUTO_TEST_CASE(a_guards_destructor)
{
    sweep<scene>([](scene& s) {
        const auto guard = s.lease.try_acquire();
        out_of_memory::allocations_left = 0;  // what releases must need none
    });
}

BOOST_AUTO_TEST_CASE(calls_for_many)
{
    sweep<holding_scene>([](holding_scene& s) {
        std::array<lh::batch_answer, 2> answers{};
        s.store.release_many(s.releases, answers, s.ec);
        raise(s.ec);
        BOOST_REQUIRE((answers[0] == lh::batch_answer::yes && answers[1] == lh::batch_answer::yes));
    });
    sweep<batch_scene>([](batch_scene& s) {
        const auto answers = s.attempts();
        raise(s.ec);
        BOOST_REQUIRE((answers[0] && answers[0]->granted() && answers[1] && answers[1]->granted()));
    });
}

// Else all who wait for that name elsewhere would find its lock stuck.
BOOST_AUTO_TEST_CASE(release_without_memory_gives_the_lock_of_its_term_back)
{
    const auto config = std::make_shared<const od::configuration>(database(), lh::odbc_options{}, &lh::dialect::detected::describe);
    od::store_operations operations{config, true};
    od::failure failed;
    od::fault refused{};
    const std::shared_ptr<od::pool>& sessions = operations.waiting_sessions();
    const auto connect = od::connect_job();
    std::array<od::session_pointer, 2> connected;
    for (od::session_pointer& session : connected) {
        session = sessions->check_out({}, connect, operations.deadline(), refused);
        BOOST_REQUIRE(session->run(operations.deadline()));
    }
    for (const od::session_pointer& session : connected) sessions->check_in(session, {}, connect);
    const od::session_pointer holder = sessions->check_out_to_wait();
    sessions->check_in_from_wait(holder, name, 7, holder->inner().connection_number());
    BOOST_TEST(operations.session_locks() == 1U);
    const auto release = od::release_job(7);
    BOOST_TEST(sessions->check_out({.name = name}, release, operations.deadline(), refused) == holder);
    const od::session_pointer other = sessions->check_out({}, connect, operations.deadline(), refused);
    bool threw = false;
    out_of_memory::allocations_left = 0;
    try {
        operations.release({name, "o", lh::fencing_token{7}, {}}, operations.deadline(), failed);
    } catch (const std::bad_alloc&) {
        threw = true;
    }
    out_of_memory::allocations_left = -1;
    BOOST_TEST(threw);
    BOOST_TEST(operations.session_locks() == 0U);
    sessions->check_in(holder, {}, release);
    sessions->check_in(other, {}, connect);
}

BOOST_AUTO_TEST_CASE(hint_without_memory_is_left_out)
{
    od::token_hints hints;
    out_of_memory::allocations_left = 0;
    hints.put(name, 5);
    out_of_memory::allocations_left = -1;
    BOOST_TEST(hints.take(name) == 0);
    hints.put(name, 6);
    BOOST_TEST(hints.take(name) == 6);
}

BOOST_AUTO_TEST_CASE(operators_calls)
{
    sweep<scene>([](scene& s) { s.store.create_schema(); });
    sweep<scene>([](scene& s) { BOOST_REQUIRE(!s.lease.inspect().has_value()); });
    sweep<scene>([](scene& s) { BOOST_REQUIRE(s.store.list().empty()); });
    sweep<scene>([](scene& s) { BOOST_REQUIRE(!s.store.force_release(name)); });
    sweep<scene>([](scene& s) { s.store.purge(24h); });
}

BOOST_AUTO_TEST_CASE(health)
{
    sweep<scene>([](scene& s) {
        raise(s.store.health().error);
    });
}

BOOST_AUTO_TEST_SUITE_END()
