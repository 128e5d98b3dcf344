// SPDX-License-Identifier: BSL-1.0
// Asynchronous sets of leases on real databases. A set does not wait; its leases are waited for, and it may come too late.
#include <asio/stores/scene.hpp>
#include <contract/asked_once.hpp>

#include <thread>
#include <vector>

using namespace leasehold_test;

namespace {

using lease_type = lh::basic_lease<lh::odbc_store>;
using set_guard = lh::lease_set_guard<lease_type>;

template <class Database>
struct two_sets : two_processes<Database> {
    two_sets()
    {
        for (const char* each : {"/a", "/b", "/c"}) {
            ours.emplace_back(this->mine, name + each, terms);
            others.emplace_back(this->theirs, name + each, terms);
        }
    }
    [[nodiscard]] std::size_t taken() { return this->theirs.list(name).size(); }

    const std::string name = new_name();
    std::vector<lease_type> ours, others;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(asio_sets_on_stores)

BOOST_AUTO_TEST_CASE_TEMPLATE(a_set_of_another_process_is_handed_over_when_it_is_released, Database, databases)
{
    two_sets<Database> s;
    recorder<set_guard> theirs, too_early, later;
    recorder<lease_type::guard_type> waiter;
    lh::async_try_acquire_all(s.others, theirs.on(s.io.context));
    auto held = theirs.get();
    BOOST_TEST_REQUIRE((!held.ec && held.result.held()));
    BOOST_TEST(s.taken() == 3u);
    lh::async_try_acquire_all(s.ours, too_early.on(s.io.context));
    const auto busy = too_early.get();
    BOOST_TEST((!busy.ec && busy.result.empty()));
    lh::async_acquire(s.ours[1], waiter.on(s.io.context));
    BOOST_TEST_REQUIRE(eventually([&] { return s.waiting() == 1; }));
    BOOST_TEST(!waiter.called(20ms));
    const auto begun = steady_now();
    recorder<lh::release_outcome> released;
    lh::async_release(std::move(held.result), released.on(s.io.context));
    BOOST_TEST((released.get().result == lh::release_outcome::released));
    auto one = waiter.get();
    if constexpr (Database::has_queue) BOOST_TEST((steady_now() - begun < woken_within));
    BOOST_TEST((!one.ec && one.result.held()));
    BOOST_TEST(s.taken() == 1u);
    one.result.release();
    lh::async_try_acquire_all(s.ours, later.on(s.io.context));
    auto set = later.get();
    BOOST_TEST((!set.ec && set.result.held()));
    BOOST_TEST(set.result.size() == 3u);
    recorder<bool> renewed;
    lh::async_renew(set.result, renewed.on(s.io.context));
    BOOST_TEST(renewed.get().result);
    BOOST_TEST(s.nobody_waits());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_set_that_another_process_has_a_part_of_is_not_granted_and_leaves_nothing_held, Database, databases)
{
    two_sets<Database> s;
    const auto held = s.others[1].acquire();
    recorder<set_guard> all;
    recorder<std::vector<lease_type::guard_type>> each;
    lh::async_try_acquire_all(s.ours, all.on(s.io.context));
    const auto none = all.get();
    BOOST_TEST((!none.ec && none.result.empty()));
    BOOST_TEST(s.taken() == 1u);
    lh::async_try_acquire_each(s.ours, each.on(s.io.context));
    const auto some = each.get();
    BOOST_TEST(!some.ec);
    BOOST_TEST(some.result.size() == 2u);
    BOOST_TEST(s.taken() == 3u);
}

// An application's transaction holds a row of the set, so that the call that grants it has begun when its context is destroyed.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_set_that_is_granted_after_its_cancellation_is_released, Database, servers_with_queues)
{
    BOOST_TEST_PASSPOINT();
    two_sets<Database> s;
    { const auto first = lh::try_acquire_all(s.others); }  // writes the rows
    odbc_connection application{s.database.connection_string()};
    application.begin();
    application.execute("select token from leasehold where name = '" + s.ours[1].name() + "' for update");
    BOOST_TEST_REQUIRE(s.no_statement_blocks());
    std::thread ends_it;
    {
        net::io_context gone;
        lh::async_try_acquire_all(s.ours, net::bind_executor(gone, [](error_code, const set_guard&) { BOOST_ERROR("called"); }));
        BOOST_TEST(s.statement_blocks());
        ends_it = std::thread{[&] { application.roll_back(); }};
    }
    ends_it.join();
    BOOST_TEST(s.taken() == 0u);
    recorder<set_guard> theirs;
    lh::async_try_acquire_all(s.others, theirs.on(s.io.context));
    BOOST_TEST(is_held(theirs.get().result));
}

BOOST_AUTO_TEST_SUITE_END()
