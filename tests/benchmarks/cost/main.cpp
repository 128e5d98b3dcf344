// SPDX-License-Identifier: BSL-1.0
// What leases cost beside the statements that nobody can do without, beside what one would write by hand, and beside the flow
// that is found on the web: all in turn within one run; medians, ratios of each round with their least and most.
#include "../results.hpp"
#include "../usual_sizes.hpp"
#include "memory.hpp"
#include "one_processor.hpp"
#include "rounds.hpp"
#include "synchronous_standby.hpp"
#include "ways.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <contract/asked_once.hpp>
#include <support/environment.hpp>
#include <support/galera_cluster.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/temporary_directory.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace lh = leasehold;
using namespace cost;
using namespace leasehold_test;

namespace {

constexpr auto pause_between = std::chrono::milliseconds{2};

struct options {
    bool one_processor = false;
    bool after_pause = false;
    std::string only{};
    std::string results{};

    /// Of the subjects' names, to tell these figures from the others.
    [[nodiscard]] std::string suffix() const { return one_processor ? ", one processor" : after_pause ? ", after a pause" : ""; }
    [[nodiscard]] std::chrono::microseconds pause() const { return after_pause ? pause_between : std::chrono::milliseconds{0}; }
    /// A pause is longer than most of what is measured.
    [[nodiscard]] int times(int usual) const { return after_pause ? usual / 4 : usual; }
};

void print(results& raw, const std::string& subject, const alternating& all, std::size_t floor)
{
    for (std::size_t i = 0; i < all.size(); ++i) {
        const spread ratio = all.ratio(i, floor);
        std::printf("%-40s %-32s %9.2f us   ratio %6.2f (%.2f to %.2f)\n", subject.c_str(), all.name(i).c_str(), all.time(i).median,
                    ratio.median, ratio.least, ratio.most);
        raw.add(subject, all.name(i), all.time(i).median);
        raw.add(subject, all.name(i) + ", ratio", ratio.median);
    }
    std::fflush(stdout);
}

void measure(results& raw, const database& of, const options& wanted)
{
    const auto config = std::make_shared<const detail::configuration>(of.connection_string, lh::odbc_options{.on_connect = of.settings},
                                                                      &lh::dialect::detected::describe);
    lh::odbc_store store{of.connection_string, {.on_connect = of.settings}};
    store.create_schema();
    for (const char* name : {"floor", "classic", "by hand"}) {
        lh::basic_lease row{store, name};
        if (!is_held(row.try_acquire())) throw std::runtime_error{"a row could not be made"};
    }

    bare_update::create_table(of);

    unbounded_calls unbounded{config};
    unbounded();
    std::vector<std::string> set_up = unbounded.sql().spec().on_connect;
    set_up.insert(set_up.end(), of.settings.begin(), of.settings.end());
    bare_connection connection{of.connection_string, of.settings}, hand{of.connection_string, set_up},
        transactions{of.connection_string, of.settings};
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
    terms.run(wanted.times(of.times), wanted.pause());
    print(raw, of.label, terms, 0);
    const double bound = terms.difference(1, 2).median / 2, library = terms.difference(2, 3).median / 2;
    std::printf("%-40s a call: bounded time %.1f us, all else the library adds %.1f us\n", of.label.c_str(), bound, library);
    raw.add(of.label, "bounded time", bound);
    raw.add(of.label, "library", library);

    lh::basic_lease holder{store, "floor"}, other{store, "floor"};
    const auto held = holder.try_acquire();
    alternating answers;
    answers.add("one SELECT", [&] { select(); });
    answers.add("busy attempt", [&] {
        if (is_held(other.try_acquire())) throw std::runtime_error{"what is held was granted"};
    });
    answers.add("the same attempt unbounded", [&] { unbounded.ask("floor"); });
    answers.run(wanted.times(2 * of.times), wanted.pause());
    print(raw, of.label, answers, 0);

    lh::basic_lease saver{store, "saver", lh::lease_terms{.ttl = std::chrono::minutes{10}}};
    auto saves = saver.try_acquire();
    checkpoint_by_hand save_by_hand{unbounded.sql(), hand, saves.name(), saves.owner(), saves.token().value()};
    int offset = 0;
    const auto next = [&offset] { return "offset=" + std::to_string(++offset); };
    alternating checkpoints;
    checkpoints.add("one UPDATE", [&] { update(); });
    checkpoints.add("checkpoint", [&] {
        if (!saves.save_checkpoint(next())) throw std::runtime_error{"a checkpoint was refused"};
    });
    checkpoints.add("its statement by hand", [&] { save_by_hand(next()); });
    checkpoints.run(wanted.times(2 * of.times), wanted.pause());
    print(raw, of.label, checkpoints, 0);
}

void measure_memory(results& raw, const options& wanted)
{
    print(raw, "memory" + wanted.suffix(), measured_in_memory(), 0);
    if (wanted.one_processor) return;
    const auto with_threads = [&raw](const std::string& what, const std::string& apart, double (*times)(std::size_t, bool)) {
        const auto [one_for_all, nothing_in_common] = measured_with_threads(times);
        std::printf("%-40s %s: %.2f times one thread (%.2f to %.2f); %s %.2f (%.2f to %.2f)\n", "memory", what.c_str(), one_for_all.median,
                    one_for_all.least, one_for_all.most, apart.c_str(), nothing_in_common.median, nothing_in_common.least,
                    nothing_in_common.most);
        std::fflush(stdout);
        raw.add("memory", what + ", times one thread", one_for_all.median);
        raw.add("memory", apart + ", times one thread", nothing_in_common.median);
    };
    with_threads("16 threads on 16 names", "16 threads with a store each", &pairs_a_second);
    with_threads("metrics: 16 threads on 16 names", "metrics: 16 threads with one each", &counted_a_second);
}

// The servers of those of them that are wanted.
void measure_all(results& raw, const options& options)
{
    const auto wanted = [&options](std::string_view label) { return label.find(options.only) != label.npos; };
    const auto named = [&options](const char* label) { return label + options.suffix(); };
    if (wanted("memory") && !options.after_pause) measure_memory(raw, options);
    const temporary_directory folder;
    // Another value each time: SQLite writes nothing for a row that stays as it was, and its clock has milliseconds only.
    const auto sqlite = [&](const char* label, const char* file, const char* synchronous, int times) {
        if (!wanted(label)) return;
        measure(raw,
                {named(label),
                 sqlite_connection_string(folder.path() / file),
                 {synchronous},
                 "expires_at + 1",
                 "bigint",
                 "",
                 "BEGIN IMMEDIATE",
                 times},
                options);
    };
    sqlite("SQLite, flushing", "full.db", "PRAGMA synchronous=FULL", 200);
    sqlite("SQLite, synchronous=NORMAL", "normal.db", "PRAGMA synchronous=NORMAL", 400);
    const auto postgresql = [&](const char* label, const std::string& flush, bool with_standby) {
        if (!wanted(label)) return;
        postgresql_server server{postgresql_of_usual_size({"-c", "fsync=" + flush, "-c", "full_page_writes=" + flush})};
        std::optional<synchronous_standby> standby;
        if (with_standby) standby.emplace(server);
        measure(raw,
                {named(label),
                 server.connection_string(),
                 {},
                 "clock_timestamp() + interval '30 seconds'",
                 "timestamptz",
                 " FOR UPDATE",
                 nullptr,
                 200},
                options);
    };
    postgresql("PostgreSQL, flushing", "on", false);
    postgresql("PostgreSQL, fsync=off", "off", false);
    const auto mariadb = [&](const char* label, const std::string& connection_string, int times) {
        measure(
            raw,
            {named(label), connection_string, {}, "UTC_TIMESTAMP(6) + INTERVAL 30 SECOND", "datetime(6)", " FOR UPDATE", nullptr, times},
            options);
    };
    if (const char* label = "MariaDB, flushing"; wanted(label))
        mariadb(label, mariadb_server{mariadb_of_usual_size({"--innodb-flush-log-at-trx-commit=1"})}.connection_string(), 200);
    if (const char* label = "MariaDB, not flushing"; wanted(label))
        mariadb(label, mariadb_server{mariadb_of_usual_size()}.connection_string(), 200);
    if (options.one_processor) return;  // servers that take turns on it show nothing of what one waits for the other
    postgresql("PostgreSQL, synchronous standby", "on", true);
    if (const char* label = "Galera, 3 nodes"; wanted(label))
        mariadb(label, galera_cluster{mariadb_of_usual_size()}.node(0).connection_string(), 50);
}

void usage(std::FILE* to)
{
    std::fputs("Usage: cost [--one-processor | --after-pause] [--results FILE] [STORE]\n"
               "What a grant, a release and a busy answer cost on every store, with private servers; takes about three minutes.\n"
               "STORE            only those with this in their name, as in PostgreSQL\n"
               "--one-processor  all on one processor, the servers too, and no cluster of them: nothing waits for a processor to be\n"
               "                 woken, so what is compared is work\n"
               "--after-pause    sleeps for 2 ms before each grant, as those do who ask for a lease now and then\n"
               "--results FILE   adds the figures to it as tab-separated lines\n",
               to);
}

std::optional<options> read_options(const std::vector<std::string>& words)
{
    options wanted;
    for (std::size_t i = 0; i < words.size(); ++i)
        if (words[i] == "--one-processor")
            wanted.one_processor = true;
        else if (words[i] == "--after-pause")
            wanted.after_pause = true;
        else if (words[i] == "--results" && i + 1 < words.size())
            wanted.results = words[++i];
        else if (words[i].starts_with('-') || !wanted.only.empty())
            return std::nullopt;
        else
            wanted.only = words[i];
    if (wanted.one_processor && wanted.after_pause) return std::nullopt;
    return wanted;
}

}  // namespace

int main(int argc, char** argv)
try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words == std::vector<std::string>{"--help"}) {
        usage(stdout);
        return EXIT_SUCCESS;
    }
    const auto wanted = read_options(words);
    if (!wanted) {
        usage(stderr);
        return 2;
    }
    if (wanted->one_processor) stay_on_one_processor();
    results raw{"cost", wanted->results};
    measure_all(raw, *wanted);
    return EXIT_SUCCESS;
}
catch (const std::exception& e) {
    std::fprintf(stderr, "cost: %s\n", e.what());
    return EXIT_FAILURE;
}
