// SPDX-License-Identifier: BSL-1.0
// needs: server
// With the fence a write can't land after a later holder's, however long its writer slept in between; without it, it can.
#include <contract/asked_once.hpp>
#include <faults/fenced_databases.hpp>

#include <leasehold/odbc/fence.hpp>
#include <support/child_process.hpp>
#include <support/eventually.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(fenced_writes)

using namespace leasehold_test;

namespace {

constexpr const char* database_variable = "LEASEHOLD_TEST_FENCED_DATABASE";
constexpr const char* dialect_variable = "LEASEHOLD_TEST_FENCED_DIALECT";
constexpr const char* name_variable = "LEASEHOLD_TEST_FENCED_NAME";
constexpr const char* what_variable = "LEASEHOLD_TEST_FENCED_WHAT";
constexpr const char* seed_variable = "LEASEHOLD_TEST_SEED";
constexpr lh::lease_terms short_terms{.ttl = 2s};

// Takes the lease, looks whether it has it, is stopped there, and then writes.
template <class Database>
void write_late(const std::string& connection_string, const std::string& name, const std::string& what)
{
    typename Database::store_type store{connection_string, Database::options()};
    lh::basic_lease lease{store, name, short_terms};
    const auto guard = lease.try_acquire();
    application app{connection_string, name};
    const bool checked = what == "fence, write" ? lh::odbc::fence(app.handle(), guard) : guard.held();
    std::cout << (checked ? "checked" : "busy") << std::endl;

    std::string order;
    std::getline(std::cin, order);
    if (what == "look, fence, write" && !lh::odbc::fence(app.handle(), guard)) {
        app.roll_back();
        std::cout << "refused" << std::endl;
        return;
    }
    app.write(guard.token());
    app.commit();
    std::cout << "written" << std::endl;
}

std::optional<std::string> next_of(child_process& child, const std::vector<std::string>& words)
{
    for (;;) {
        auto line = child.read_line();
        if (!line) return std::nullopt;
        for (const std::string& word : words)
            if (*line == word) return line;
    }
}

/// A writer in a process of its own, stopped between its look and its write until its lease has run out.
template <class Database>
struct frozen_writer {
    Database& database = the<Database>();
    std::string name;
    typename Database::store_type store{database.connection_string(), database.options()};
    lh::basic_lease<typename Database::store_type> lease;
    application app;
    child_process child;

    explicit frozen_writer(const std::string& what)
        : name{what}, lease{store, name, lh::lease_terms{.ttl = 60s}}, app{prepared(), name},
          child{{"/proc/self/exe", "--run_test=fenced_writes/as_a_child_that_writes_late"},
                {.environment = {{database_variable, database.connection_string()},
                                 {dialect_variable, std::is_same_v<Database, generic_database> ? "generic" : ""},
                                 {name_variable, name},
                                 {what_variable, what}},
                 .capture = true}}
    {
        BOOST_TEST((next_of(child, {"checked", "busy"}) == "checked"));
        child.signal(SIGSTOP);
        BOOST_TEST(eventually([&] { return !lease.inspect(); }, 30s));
    }

    std::string prepared()
    {
        application::prepare(database.connection_string(), name);
        return database.connection_string();
    }

    std::string thawed()
    {
        child.write("go on\n");
        child.signal(SIGCONT);
        return next_of(child, {"written", "refused"}).value_or("neither");
    }

    void take_over_and_write()
    {
        BOOST_REQUIRE(eventually([&] { return lease.try_lock(); }, 30s));
        BOOST_TEST(lh::odbc::fence(app.handle(), lease.guard()));
        app.write(lease.guard().token());
        app.commit();
    }
};

}  // namespace

// Not a test by itself: what the child of others does.
BOOST_AUTO_TEST_CASE(as_a_child_that_writes_late)
{
    const char* connection_string = std::getenv(database_variable);
    if (!connection_string) return;
    const auto run = std::string{std::getenv(dialect_variable)} == "generic" ? write_late<generic_database>
                                                                             : write_late<postgresql_database>;
    run(connection_string, std::getenv(name_variable), std::getenv(what_variable));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(of_a_holder_frozen_after_the_fence_come_before_the_next_holders, Database, databases)
{
    frozen_writer<Database> frozen{"fence, write"};
    std::error_code ec;
    BOOST_TEST(!is_held(frozen.lease.try_acquire(ec)));
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(frozen.thawed() == "written");
    frozen.take_over_and_write();
    BOOST_TEST(frozen.app.last() == "2");
    BOOST_TEST(frozen.app.regressions() == "0");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(of_a_holder_frozen_before_the_fence_are_not_made, Database, databases)
{
    frozen_writer<Database> frozen{"look, fence, write"};
    frozen.take_over_and_write();
    BOOST_TEST(frozen.thawed() == "refused");
    BOOST_TEST(frozen.app.last() == "2");
    BOOST_TEST(frozen.app.regressions() == "0");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(land_late_without_the_fence, Database, databases)
{
    frozen_writer<Database> frozen{"look, write"};
    frozen.take_over_and_write();
    BOOST_TEST(frozen.thawed() == "written");
    BOOST_TEST(frozen.app.last() == "1");
    BOOST_TEST(frozen.app.regressions() == "1");
}

namespace {

struct tally {
    std::atomic<int> writes = 0;
    std::atomic<int> refusals = 0;
    std::atomic<int> conflicts = 0;
    std::atomic<int> busy = 0;
    std::atomic<int> errors = 0;
};

// Acquires, fences, dawdles for up to twice the ttl, writes; again and again. Its clock stands still, so it never learns by
// itself that it has lost the lease.
template <class Database>
void dawdle_and_write(Database& database, const std::string& name, std::uint64_t seed, lh::time_point until, tally& count)
{
    std::mt19937_64 random{seed};
    const auto up_to = [&random](std::chrono::milliseconds longest) {
        return std::chrono::milliseconds{std::uniform_int_distribution<std::int64_t>{0, longest.count()}(random)};
    };
    typename Database::store_type store{database.connection_string(), database.options()};
    lh::basic_lease lease{store, name, lh::lease_terms{.ttl = 60ms}, lh::manual_clock{}, lh::random_owner_id{},
                          lh::no_renewal{}};
    application app{database.connection_string(), name};
    while (now() < until) {
        std::error_code ec;
        auto guard = lease.try_acquire(ec);
        if (ec) ++(ec == lh::errc::store_conflict ? count.conflicts : count.errors);
        if (!guard) {
            ++count.busy;
            std::this_thread::sleep_for(up_to(10ms));
            continue;
        }
        std::this_thread::sleep_for(up_to(80ms));
        if (random() % 2 == 0) static_cast<void>(guard.renew(ec));
        if (random() % 4 == 0) static_cast<void>(guard.release(ec));
        const bool fenced = lh::odbc::fence(app.handle(), guard, ec);
        if (ec) ++(ec == lh::errc::store_conflict ? count.conflicts : count.errors);
        if (fenced) {
            std::this_thread::sleep_for(up_to(120ms));
            app.write(guard.token());
            app.commit();
            ++count.writes;
        }
        else {
            app.roll_back();
            ++count.refusals;
        }
        if (guard) static_cast<void>(guard.release(ec));
    }
}

std::uint64_t chosen_seed()
{
    const char* given = std::getenv(seed_variable);
    return given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(are_in_the_order_of_tokens_whatever_holders_do, Database, databases)
{
    const std::uint64_t seed = chosen_seed();
    std::cout << "replay the choices with " << seed_variable << '=' << seed << std::endl;
    Database& database = the<Database>();
    const std::string name = "random " + std::to_string(seed);
    application::prepare(database.connection_string(), name);
    tally count;
    std::vector<std::string> failures(4);
    {
        std::vector<std::jthread> holders;
        for (std::size_t i = 0; i < failures.size(); ++i)
            holders.emplace_back([&, i] {
                try {
                    dawdle_and_write(database, name, seed + i, now() + 5s, count);
                } catch (const std::exception& e) {
                    failures[i] = e.what();
                }
            });
    }
    for (const std::string& failure : failures) BOOST_TEST(failure == "");
    std::cout << count.writes << " writes, " << count.refusals << " refused by the fence, " << count.conflicts
              << " conflicts, " << count.busy << " busy\n";
    application app{database.connection_string(), name};
    BOOST_TEST(app.regressions() == "0");
    BOOST_TEST(count.errors == 0);
    BOOST_TEST(count.writes > 5);
    BOOST_TEST(count.refusals > 0);
}

BOOST_AUTO_TEST_SUITE_END()
