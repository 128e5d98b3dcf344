// SPDX-License-Identifier: BSL-1.0
// How long a released lease takes to its next holder, how fairly contenders take turns, and how soon a dead holder is
// replaced: with the store's own waiting, on a thread and without one, and with the loop that asks every 50 ms; how long the same takes
// for readers and writers of a shared lease; and how soon a wait that is cancelled has ended.
//
// Each waiter is a process of its own; in the memory store, a thread. A hand-over is measured from the instant before the
// release to the instant after the next holder's acquire() returned, or its handler was called.
#include "../choice.hpp"
#include "../results.hpp"
#include "../usual_sizes.hpp"
#include "cancelled.hpp"
#include "field.hpp"
#include "floor.hpp"
#include "record.hpp"
#include "taker.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/environment.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/temporary_directory.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace lh = leasehold;
using namespace hand_over;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

// How much is measured.
struct extent {
    std::chrono::milliseconds contention = 10s;       // of eight
    std::chrono::milliseconds short_contention = 4s;  // of others
    std::int64_t turns = 400;
    std::int64_t polled_turns = 60;
    std::int64_t compared_turns = 100;  // in each of four rounds
};
// That it runs, and no figures to believe.
constexpr extent brief_extent{.contention = 1s, .short_contention = 300ms, .turns = 40, .polled_turns = 6, .compared_turns = 10};

// A session of PostgreSQL that idles tells what it has done up to ten seconds late.
constexpr auto settling_time = 11s;
constexpr auto idle_time = 5s;
constexpr std::size_t contenders = 8;
constexpr int kills = 9;

double ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

struct statistics {
    double median = 0;
    double p99 = 0;
    double most = 0;
};

statistics of(std::vector<std::int64_t> ns)
{
    if (ns.empty()) return {};
    std::ranges::sort(ns);
    return {ms(ns[ns.size() / 2]), ms(ns[ns.size() * 99 / 100]), ms(ns.back())};
}

std::vector<std::int64_t> samples(const record& run, const std::function<bool(std::size_t)>& of_taker)
{
    std::vector<std::int64_t> taken;
    const auto count = std::min(static_cast<std::size_t>(run.samples.load()), max_samples);
    for (std::size_t i = 0; i < count; ++i)
        if (of_taker(run.taken_by[i])) taken.push_back(run.took[i]);
    return taken;
}

/// What is measured, and what can be asked of its server.
struct subject {
    const char* label;
    std::string connection_string{};                ///< empty: the memory store
    std::function<std::int64_t()> statements = {};  ///< that the server has carried out so far
    results& raw;
    extent much{};
};

void take_turns_at(field& takers, std::int64_t times)
{
    takers.begin();
    while (takers.run().samples < times) std::this_thread::sleep_for(1ms);
    takers.end();
}

std::vector<std::int64_t> turns_taken(const subject& s, std::size_t waiters, std::int64_t times, waits how)
{
    field takers{s.connection_string, waiters + 1, {work::turns, how}};
    take_turns_at(takers, times);
    return samples(takers.run(), [](std::size_t) { return true; });
}

statistics turns(const subject& s, std::size_t waiters, std::int64_t times, waits how) { return of(turns_taken(s, waiters, times, how)); }

// Alternately, so that both see the same machine. The ratio is that of the two medians.
void compare_with_floor(const subject& s)
{
    cost::bare_connection{s.connection_string, {std::begin(floor_table), std::end(floor_table)}};
    for (const std::size_t waiters : {1U, 8U}) {
        std::vector<std::int64_t> own, bare;
        for (int i = 0; i < 4; ++i)
            for (const waits how : {waits::blocking, waits::floor}) {
                const auto more = turns_taken(s, waiters, s.much.compared_turns, how);
                auto& all = how == waits::blocking ? own : bare;
                all.insert(all.end(), more.begin(), more.end());
            }
        const double median = of(own).median, floor = of(bare).median;
        std::printf("%-11s %zu waiter%s  median %7.3f ms   a bare lock between two bare UPDATEs: median %7.3f ms   ratio %.2f\n", s.label,
                    waiters, waiters == 1 ? " " : "s", median, floor, median / floor);
        std::fflush(stdout);
        const std::string with = ", " + std::to_string(waiters) + (waiters == 1 ? " waiter" : " waiters");
        s.raw.add(s.label, "hand-over, floor" + with, floor);
        s.raw.add(s.label, "hand-over, times its floor" + with, median / floor);
    }
}

// Of a shared lease for 64 readers, beside a lease: two that take turns. Alternately, so that all see the same machine. The ratio is that
// of the two medians.
void compare_rights(const subject& s)
{
    std::vector<std::int64_t> lease, to_reader, to_writer, between_writers;
    const auto add = [](std::vector<std::int64_t>& to, const std::vector<std::int64_t>& more) {
        to.insert(to.end(), more.begin(), more.end());
    };
    const auto all = [](std::size_t) { return true; };
    for (int i = 0; i < 4; ++i) {
        add(lease, turns_taken(s, 1, s.much.compared_turns, waits::blocking));
        const way write{.rights = rights::writing}, both{.rights = rights::writing_and_reading};
        field writers{s.connection_string, 2, write};
        take_turns_at(writers, s.much.compared_turns);
        add(between_writers, samples(writers.run(), all));
        field mixed{s.connection_string, 2, both};
        take_turns_at(mixed, 2 * s.much.compared_turns);
        add(to_reader, samples(mixed.run(), [&both](std::size_t taker) { return reads(taker, both); }));
        add(to_writer, samples(mixed.run(), [&both](std::size_t taker) { return !reads(taker, both); }));
    }
    const double beside = of(lease).median;
    const auto print = [&](const std::string& what, const statistics& took) {
        std::printf("%-11s %-18s median %7.3f ms  p99 %7.3f ms   a lease beside it: median %7.3f ms   ratio %.2f\n", s.label, what.c_str(),
                    took.median, took.p99, beside, took.median / beside);
        std::fflush(stdout);
        s.raw.add(s.label, "hand-over, " + what, took.median);
        s.raw.add(s.label, "hand-over, " + what + ", p99", took.p99);
        s.raw.add(s.label, "hand-over, " + what + ", times a lease's", took.median / beside);
    };
    print("writer to reader", of(to_reader));
    print("reader to writer", of(to_writer));
    print("writer to writer", of(between_writers));
}

#ifdef HAND_OVER_ASYNCHRONOUS
// Alternately, so that both see the same machine. The ratio is that of the two medians.
void compare_asynchronous(const subject& s, std::size_t waiters, const std::string& with)
{
    std::vector<std::int64_t> blocking, asynchronous;
    for (int i = 0; i < 4; ++i)
        for (const bool blocks : {true, false}) {
            const auto more = turns_taken(s, waiters, s.much.compared_turns, blocks ? waits::blocking : waits::asynchronous);
            auto& all = blocks ? blocking : asynchronous;
            all.insert(all.end(), more.begin(), more.end());
        }
    const statistics without = of(asynchronous), beside = of(blocking);
    std::printf("%-11s %zu waiter%s  median %7.3f ms  p99 %7.3f ms   without a thread; beside it, with one: median %7.3f ms   ratio %.2f\n",
                s.label, waiters, waiters == 1 ? " " : "s", without.median, without.p99, beside.median, without.median / beside.median);
    std::fflush(stdout);
    s.raw.add(s.label, "hand-over, asynchronous" + with, without.median);
    s.raw.add(s.label, "hand-over, asynchronous, p99" + with, without.p99);
    s.raw.add(s.label, "hand-over, beside the asynchronous" + with, beside.median);
    s.raw.add(s.label, "hand-over, asynchronous, ratio" + with, without.median / beside.median);
}
#endif

void measure_turns(const subject& s)
{
    for (const std::size_t waiters : {1U, 8U}) {
        const statistics own = turns(s, waiters, s.much.turns, waits::blocking);
        const statistics poll = turns(s, waiters, s.much.polled_turns, waits::polling);
        std::printf("%-11s %zu waiter%s  median %7.3f ms  p99 %7.3f ms   50 ms poll: median %6.2f ms  p99 %6.2f ms   ratio %.0f\n",
                    s.label, waiters, waiters == 1 ? " " : "s", own.median, own.p99, poll.median, poll.p99, poll.median / own.median);
        std::fflush(stdout);
        const std::string with = ", " + std::to_string(waiters) + (waiters == 1 ? " waiter" : " waiters");
        s.raw.add(s.label, "hand-over" + with, own.median);
        s.raw.add(s.label, "hand-over, p99" + with, own.p99);
        s.raw.add(s.label, "hand-over, 50 ms poll" + with, poll.median);
#ifdef HAND_OVER_ASYNCHRONOUS
        compare_asynchronous(s, waiters, with);
#endif
    }
}

void contend(const subject& s, std::size_t processes, waits by)
{
    const way how{work::contend, by};
    const bool polling = by == waits::polling;
    const auto statements = [&s] { return s.statements ? s.statements() : 0; };
    const auto before = statements();
    if (s.statements) field{s.connection_string, processes, how}.run().stop = true;  // they come and go; that is taken off
    const auto between = statements();
    field takers{s.connection_string, processes, how};
    const auto length = processes == contenders ? s.much.contention : s.much.short_contention;
    takers.begin();
    std::this_thread::sleep_for(length);
    takers.end();
    std::vector<std::int64_t> grants;
    std::int64_t all = 0;
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < processes; ++i) {
        const record::taker& each = takers.run().takers[i];
        grants.push_back(each.grants);
        all += each.grants;
        longest = std::max(longest, each.longest_wait.load());
    }
    const auto [least, most] = std::ranges::minmax(grants);
    const double seconds = std::chrono::duration<double>{length}.count();
    const double turn = seconds * 1e3 / static_cast<double>(all) * static_cast<double>(processes);
    std::printf("%-11s %2zu contenders, %-4s %6.0f grants/s   most/least %.2f (%lld, %lld)   longest wait %.1f ms, %.2f of the mean turn",
                s.label, processes, polling ? "poll" : "wait", static_cast<double>(all) / seconds,
                least > 0 ? static_cast<double>(most) / static_cast<double>(least) : 0.0, static_cast<long long>(most),
                static_cast<long long>(least), ms(longest), ms(longest) / turn);
    const std::string with = (polling ? ", 50 ms poll, " : ", ") + std::to_string(processes) + " processes";
    s.raw.add(s.label, "grants a second" + with, static_cast<double>(all) / seconds);
    s.raw.add(s.label, "longest wait in mean turns" + with, ms(longest) / turn);
    if (s.statements) {
        const double each = static_cast<double>((statements() - between) - (between - before)) / static_cast<double>(all);
        std::printf("   statements/grant %.2f", each);
        s.raw.add(s.label, "statements a grant" + with, each);
    }
    std::printf("\n");
    std::fflush(stdout);
}

// Eight that wait while one holds: what they ask of the server.
void measure_idleness(const subject& s)
{
    if (!s.statements) return;
    field holder{s.connection_string, 1, {.work = work::take}};
    holder.begin();
    while (holder.run().takers[0].grants == 0) std::this_thread::sleep_for(1ms);
    field takers{s.connection_string, contenders, {.work = work::take}};
    takers.begin();
    std::this_thread::sleep_for(settling_time);
    const auto before = s.statements();
    const auto begun = now();
    std::this_thread::sleep_for(idle_time);
    const auto asked = s.statements() - before;
    const double seconds = ms(now() - begun) / 1e3;
    std::printf("%-11s %zu waiters, nothing happens: %.2f statements a second and waiter\n", s.label, contenders,
                static_cast<double>(asked) / seconds / static_cast<double>(contenders));
    std::fflush(stdout);
    s.raw.add(s.label, "statements a second of an idle waiter", static_cast<double>(asked) / seconds / static_cast<double>(contenders));
    holder.end();
    takers.run().stop = true;
    takers.end();
}

// SIGKILL of the holder; from the store's expiry, as the store tells it, to the next holder.
void measure_crash(const subject& s)
{
    lh::odbc_store store{s.connection_string};
    std::vector<std::int64_t> late;
    for (int i = 0; i < kills; ++i) {
        field holder{s.connection_string, 1, {.work = work::take, .ttl = 2s}};
        holder.begin();
        while (holder.run().takers[0].grants == 0) std::this_thread::sleep_for(1ms);
        field takers{s.connection_string, contenders, {.work = work::take, .ttl = 2s}};
        takers.begin();
        std::this_thread::sleep_for(300ms);
        holder.kill();
        std::error_code ec;
        const auto asked = now();
        const auto held = store.inspect("measured", ec);
        const auto expiry = (asked + now()) / 2 + (held ? held->remaining.count() : 0);
        std::int64_t got = 0;
        while (got == 0) {
            std::this_thread::sleep_for(1ms);
            for (std::size_t each = 0; each < contenders; ++each) got = std::max(got, takers.run().takers[each].got_at.load());
        }
        late.push_back(got - expiry);
        takers.end();
        store.force_release("measured");
    }
    const statistics all = of(late);
    std::printf("%-11s holder killed, ttl 2 s, %zu waiters: next holder %.2f ms after the expiry at the median, %.2f at worst (%d kills)\n",
                s.label, contenders, all.median, all.most, kills);
    std::fflush(stdout);
    s.raw.add(s.label, "after the expiry, holder killed", all.median);
    s.raw.add(s.label, "after the expiry, holder killed, worst", all.most);
}

// From the request to stop a wait to the end of it, when it has left the queues. A rival holds the lease all the time.
void measure_cancellation(const subject& s)
{
    const auto print = [&s](const char* how, const std::string& with, const statistics& took) {
        std::printf("%-11s a wait %s a thread is cancelled: median %.3f ms  p99 %.3f ms  worst %.3f ms\n", s.label, how, took.median,
                    took.p99, took.most);
        std::fflush(stdout);
        s.raw.add(s.label, "cancelled wait" + with, took.median);
        s.raw.add(s.label, "cancelled wait" + with + ", p99", took.p99);
    };
    const auto took = times_of_cancellations(s.connection_string);
    print("with", "", of(took.blocking));
    if (!took.asynchronous.empty()) print("without", ", asynchronous", of(took.asynchronous));
}

// What is measured of a subject.
enum class part { all, floor, rights };

void measure(const subject& s, part of_it)
{
    if (!s.connection_string.empty()) lh::odbc_store{s.connection_string}.create_schema();
    if (s.statements && of_it != part::rights) compare_with_floor(s);
    if (of_it == part::floor) return;
    compare_rights(s);
    if (of_it == part::rights) return;
    measure_turns(s);
    measure_cancellation(s);
    for (const std::size_t processes : {1U, 2U, 4U, 8U, 16U, 32U, 64U}) contend(s, processes, waits::blocking);
    contend(s, contenders, waits::polling);
    if (s.connection_string.empty()) return;
    measure_idleness(s);
    measure_crash(s);
}

std::int64_t number_in(std::string text)
{
    const auto digits = text.find_first_of("0123456789");
    return digits == text.npos ? 0 : std::stoll(text.substr(digits));
}

void measure_postgresql(results& raw, extent much, part of_it)
{
    postgresql_server server{postgresql_of_usual_size()};
    // Sessions report what they did a while later.
    const auto statements = [&server] {
        std::this_thread::sleep_for(2s);
        return number_in(server.execute_sql("select xact_commit + xact_rollback from pg_stat_database where datname = 'leasehold'"));
    };
    measure({"PostgreSQL", server.connection_string(), statements, raw, much}, of_it);
}

void measure_mariadb(results& raw, extent much, part of_it)
{
    mariadb_server server{mariadb_of_usual_size()};
    const auto statements = [&server] {
        return number_in(
            server.execute_sql("select variable_value from information_schema.global_status where variable_name = 'QUESTIONS'"));
    };
    measure({"MariaDB", server.connection_string(), statements, raw, much}, of_it);
}

void usage(std::FILE* to)
{
    std::fputs("Usage: hand_over [--floor | --rights] [--brief] [--results FILE] [memory | sqlite | postgresql | mariadb]\n"
               "Measures waiting on all of them, or on one, with private servers; takes about ten minutes.\n"
               "--floor          only hand-overs beside a bare session lock between two bare UPDATEs, on PostgreSQL and MariaDB; a minute\n"
               "--rights         only hand-overs of readers and writers beside those of a lease; a minute each\n"
               "--brief          so little of each that it only shows that it runs: on memory a quarter of a minute\n"
               "--results FILE   adds the figures to it as tab-separated lines\n",
               to);
}

}  // namespace

int main(int argc, char** argv)
try {
    if (const auto code = serve_as_taker(argc, argv)) return *code;
    std::vector<std::string> words(argv + 1, argv + argc);
    if (words == std::vector<std::string>{"--help"}) {
        usage(stdout);
        return EXIT_SUCCESS;
    }
    const bool floor = std::erase(words, "--floor") != 0, only_rights = std::erase(words, "--rights") != 0;
    const part of_it = floor ? part::floor : only_rights ? part::rights : part::all;
    const extent much = std::erase(words, "--brief") != 0 ? brief_extent : extent{};
    const auto asked = read_choice(words, {"memory", "sqlite", "postgresql", "mariadb"});
    if (!asked || (floor && only_rights)) {
        usage(stderr);
        return 2;
    }
    results raw{"hand_over", asked->results};
    const temporary_directory folder;
    if (asked->wants("memory") && !floor) measure({"memory", {}, {}, raw, much}, of_it);
    if (asked->wants("sqlite") && !floor) measure({"SQLite", sqlite_connection_string(folder.path() / "leases.db"), {}, raw, much}, of_it);
    if (asked->wants("postgresql")) measure_postgresql(raw, much, of_it);
    if (asked->wants("mariadb")) measure_mariadb(raw, much, of_it);
    return EXIT_SUCCESS;
}
catch (const std::exception& e) {
    std::fprintf(stderr, "hand_over: %s\n", e.what());
    return EXIT_FAILURE;
}
