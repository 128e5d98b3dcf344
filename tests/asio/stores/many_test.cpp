// SPDX-License-Identifier: BSL-1.0
// Ten thousand that wait without threads, on real databases.
#include <asio/stores/scene.hpp>

#include <support/thread_count.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

using namespace leasehold_test;

namespace {

constexpr std::size_t names = 1'000, waiters_of_each = 10;
constexpr lh::lease_terms long_terms{.ttl = 10min};

/// Another process holds all names, with no thread of its own but its sessions'.
template <class Database>
struct held_names : two_processes<Database> {
    using held_lease = lh::basic_lease<lh::odbc_store, lh::steady_clock, lh::random_owner_id, lh::no_renewal>;
    using waiting_lease = lh::basic_lease<lh::odbc_store>;

    held_names()
    {
        for (std::size_t i = 0; i < names; ++i) leases.emplace_back(holders, name_of(i), long_terms);
        guards = lh::try_acquire_each(leases);
    }

    [[nodiscard]] std::string name_of(std::size_t i) const { return prefix + "/" + std::to_string(i); }

    const std::string prefix = new_name();
    lh::odbc_store holders{this->database.connection_string(), {.call_timeout = 40s, .lock_timeout = 20s, .session_locks = false}};
    std::vector<held_lease> leases;
    std::vector<held_lease::guard_type> guards;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(asio_many_on_stores)

BOOST_AUTO_TEST_CASE_TEMPLATE(ten_thousand_waiters_take_few_threads_and_can_all_be_cancelled, Database, databases)
{
    held_names<Database> s;
    BOOST_TEST_REQUIRE(s.guards.size() == names);
    const auto before = thread_count();
    cancellation slots;
    std::atomic<std::size_t> cancelled = 0, other = 0;
    std::vector<std::unique_ptr<typename held_names<Database>::waiting_lease>> leases;
    for (std::size_t i = 0; i < names * waiters_of_each; ++i) {
        auto& lease = *leases.emplace_back(std::make_unique<lh::basic_lease<lh::odbc_store>>(s.mine, s.name_of(i % names), long_terms));
        lh::async_acquire(lease, slots.on(net::bind_executor(s.io.context, [&](error_code ec, const auto&) {
            ++(ec == aborted ? cancelled : other);
        })));
    }
    BOOST_TEST(s.waiting() == names * waiters_of_each);
    if constexpr (Database::has_queue) BOOST_TEST(eventually([&] { return s.database.in_queue() <= 1; }));
    BOOST_TEST(throughout([&] { return thread_count() - before <= 8; }, 500ms));
    BOOST_TEST(s.waiting() == names * waiters_of_each);
    slots.cancel(s.io.context);
    BOOST_TEST(eventually([&] { return cancelled + other == names * waiters_of_each; }, 60s));
    BOOST_TEST(cancelled == names * waiters_of_each);
    BOOST_TEST(thread_count() - before <= 8);
    BOOST_TEST(s.nobody_waits());
    BOOST_TEST(lh::release_all(s.guards) == names);
}

BOOST_AUTO_TEST_SUITE_END()
