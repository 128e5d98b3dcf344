// SPDX-License-Identifier: BSL-1.0
// What leases cost beside the statements that nobody can do without, beside what one would write by hand, and beside the flow
// that is found on the web: all in turn within one run; medians, ratios of each round with their least and most.
#include "../results.hpp"
#include "rounds.hpp"
#include "ways.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/environment.hpp>
#include <support/galera_cluster.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/temporary_directory.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <vector>

namespace lh = leasehold;
using namespace cost;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

void print(results& raw, const std::string& subject, const alternating& all, std::size_t floor)
{
    for (std::size_t i = 0; i < all.size(); ++i) {
        const spread ratio = all.ratio(i, floor);
        std::printf("%-24s %-32s %9.2f us   ratio %6.2f (%.2f to %.2f)\n", subject.c_str(), all.name(i).c_str(), all.time(i).median, ratio.median,
                    ratio.least, ratio.most);
        raw.add(subject, all.name(i), all.time(i).median);
        raw.add(subject, all.name(i) + ", ratio", ratio.median);
    }
    std::fflush(stdout);
}

void measure(results& raw, const database& of)
{
    const auto config = std::make_shared<const detail::configuration>(of.connection_string, lh::odbc_options{.on_connect = of.settings},
                                                                      &lh::dialect::detected::describe);
    lh::odbc_store store{of.connection_string, {.on_connect = of.settings}};
    store.create_schema();
    for (const char* name : {"floor", "classic", "by hand"}) {
        lh::basic_lease row{store, name};
        if (!row.try_acquire()) throw std::runtime_error{"a row could not be made"};
    }

    unbounded_calls unbounded{config};
    unbounded();
    std::vector<std::string> set_up = unbounded.sql().description().on_connect;
    set_up.insert(set_up.end(), of.settings.begin(), of.settings.end());
    bare_connection connection{of.connection_string, of.settings}, hand{of.connection_string, set_up}, transactions{of.connection_string, of.settings};
    bare_update update{of, connection};
    bare_select select{connection};
    statements_by_hand by_hand{unbounded.sql(), hand};
    classic_flow classic{of, transactions};
    lh::basic_lease lease{store, "measured"};

    alternating terms;
    terms.add("two UPDATEs", [&] { update(), update(); });
    terms.add("grant + release", [&] {
        auto guard = lease.try_acquire();
        if (!guard || guard.release() != lh::release_outcome::released) throw std::runtime_error{"a grant or release failed"};
    });
    terms.add("the same calls unbounded", [&] { unbounded(); });
    terms.add("the same statements by hand", [&] { by_hand(); });
    terms.add("select for update, commit", [&] { classic(); });
    terms.run(of.times);
    print(raw, of.label, terms, 0);
    const double bound = terms.difference(1, 2).median / 2, library = terms.difference(2, 3).median / 2;
    std::printf("%-24s a call: bounded time %.1f us, all else the library adds %.1f us\n", of.label.c_str(), bound, library);
    raw.add(of.label, "bounded time", bound);
    raw.add(of.label, "library", library);

    lh::basic_lease holder{store, "floor"}, other{store, "floor"};
    const auto held = holder.try_acquire();
    alternating answers;
    answers.add("one SELECT", [&] { select(); });
    answers.add("busy attempt", [&] {
        if (other.try_acquire()) throw std::runtime_error{"what is held was granted"};
    });
    answers.run(2 * of.times);
    print(raw, of.label, answers, 0);
}

void measure_memory(results& raw)
{
    std::mutex mutex;
    std::unordered_map<std::string, bool> table{{"measured", false}};
    std::timed_mutex timed;
    lh::memory_store store;
    lh::basic_lease lease{store, "measured"};
    const std::string name = "measured", owner = "somebody on some host, with a number";
    std::error_code ec;
    alternating all;
    const auto set = [&](bool held) {
        const std::lock_guard lock{mutex};
        table.find(name)->second = held;
    };
    all.add("mutex and look-up, twice", [&] { set(true), set(false); });
    all.add("timed_mutex", [&] {
        static_cast<void>(timed.try_lock_for(1s));
        timed.unlock();
    });
    all.add("memory_store", [&] {
        const auto got = store.try_acquire("another", owner, 30s, ec);
        store.release("another", owner, got.token, 0s, ec);
    });
    all.add("lease on memory_store", [&] { auto guard = lease.try_acquire(); });
    all.run(50'000);
    print(raw, "memory", all, 0);
}

// The servers of those of them that are wanted.
void measure_all(results& raw, const std::string& only)
{
    const auto wanted = [&only](std::string_view label) { return label.find(only) != label.npos; };
    if (wanted("memory")) measure_memory(raw);
    const temporary_directory folder;
    // Another value each time: SQLite writes nothing for a row that stays as it was, and its clock has milliseconds only.
    const auto sqlite = [&](const char* label, const char* file, const char* synchronous, int times) {
        if (wanted(label)) measure(raw, {label, sqlite_connection_string(folder.path() / file), {synchronous}, "expires_at + 1", "", "BEGIN IMMEDIATE", times});
    };
    sqlite("SQLite, flushing", "full.db", "PRAGMA synchronous=FULL", 200);
    sqlite("SQLite, synchronous=NORMAL", "normal.db", "PRAGMA synchronous=NORMAL", 400);
    const auto postgresql = [&](const char* label, const char* fsync) {
        if (!wanted(label)) return;
        const postgresql_server server{{"-c", fsync}};
        measure(raw, {label, server.connection_string(), {}, "clock_timestamp() + interval '30 seconds'", " FOR UPDATE", nullptr, 200});
    };
    postgresql("PostgreSQL, flushing", "fsync=on");
    postgresql("PostgreSQL, fsync=off", "fsync=off");
    const auto mariadb = [&](const char* label, const std::string& connection_string, int times) {
        measure(raw, {label, connection_string, {}, "UTC_TIMESTAMP(6) + INTERVAL 30 SECOND", " FOR UPDATE", nullptr, times});
    };
    if (const char* label = "MariaDB, flushing"; wanted(label))
        mariadb(label, mariadb_server{{"--innodb-flush-log-at-trx-commit=1"}}.connection_string(), 200);
    if (const char* label = "MariaDB, not flushing"; wanted(label)) mariadb(label, mariadb_server{}.connection_string(), 200);
    if (const char* label = "Galera, 3 nodes"; wanted(label)) mariadb(label, galera_cluster{}.node(0).connection_string(), 50);
}

void usage(std::FILE* to)
{
    std::fputs("Usage: cost [--results FILE] [STORE]\n"
               "What a grant, a release and a busy answer cost on every store, with private servers; takes about three minutes.\n"
               "STORE            only those with this in their name, as in PostgreSQL\n"
               "--results FILE   adds the figures to it as tab-separated lines\n",
               to);
}

}  // namespace

int main(int argc, char** argv)
try {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (words == std::vector<std::string>{"--help"}) {
        usage(stdout);
        return EXIT_SUCCESS;
    }
    std::string file;
    if (words.size() >= 2 && words[0] == "--results") {
        file = words[1];
        words.erase(words.begin(), words.begin() + 2);
    }
    if (words.size() > 1 || (words.size() == 1 && words[0].starts_with('-'))) {
        usage(stderr);
        return 2;
    }
    results raw{"cost", file};
    measure_all(raw, words.empty() ? "" : words[0]);
    return EXIT_SUCCESS;
}
catch (const std::exception& e) {
    std::fprintf(stderr, "cost: %s\n", e.what());
    return EXIT_FAILURE;
}
