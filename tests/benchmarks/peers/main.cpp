// SPDX-License-Identifier: BSL-1.0
// leasehold beside what its users would take instead, on private servers: in one run, and one after the other in each of its rounds. A
// client is a process of its own; see serve.hpp. How fast a machine is shows in the floors, two bare round trips to the same server.
#include "../results.hpp"
#include "../usual_sizes.hpp"
#include "contest.hpp"
#include "serve.hpp"

#include <support/etcd_server.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/redis_server.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace peers;
using namespace leasehold_test;

namespace {

constexpr std::string_view role = "--client";
const std::vector<std::string> myself{"/proc/self/exe", std::string{role}};

/// All rounds of one subject, or of a floor.
struct measured {
    std::vector<std::int64_t> pairs, turns, late;
    std::vector<double> floor_ratio, per_second, fewest, most, longest_wait;
};

template <class Number>
Number quantile(std::vector<Number> of, std::size_t percent)
{
    std::ranges::sort(of);
    return of.at(std::min(of.size() - 1, of.size() * percent / 100));
}

double ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

/// The servers, as they come: PostgreSQL, MariaDB and etcd flush each commit, and so does one Redis; the other keeps nothing on disk.
class servers {
public:
    servers()
    {
        leasehold::odbc_store{postgresql_.connection_string()}.create_schema();
        leasehold::odbc_store{mariadb_.connection_string()}.create_schema();
        cost::bare_connection{postgresql_.connection_string(), {row_lock::table}};
    }

    /// `tools`: the folder with etcd_mutex and client.mjs and its packages; empty: without those.
    [[nodiscard]] std::vector<subject> subjects(const std::filesystem::path& tools)
    {
        const std::string postgresql = postgresql_.connection_string(), mariadb = mariadb_.connection_string();
        const std::string redis = std::to_string(redis_.port()), flushing_redis = std::to_string(flushing_redis_.port());
        std::vector<subject> all{
            {"leasehold, PostgreSQL", myself, "leasehold", postgresql, "PostgreSQL"},
            {"leasehold, PostgreSQL, try_acquire()", myself, "leasehold-tried", postgresql, "PostgreSQL", true},
            {"leasehold, MariaDB", myself, "leasehold", mariadb, "MariaDB"},
            {"leasehold, MariaDB, try_acquire()", myself, "leasehold-tried", mariadb, "MariaDB", true},
            {"pg_advisory_lock", myself, "session-lock", postgresql, "PostgreSQL", false, false},
            {"GET_LOCK", myself, "session-lock", mariadb, "MariaDB", false, false},
            {"row, polled", myself, "row", postgresql, "PostgreSQL"},
            {"SET NX", myself, "redis-set", redis, "Redis"},
            {"SET NX, flushing", myself, "redis-set", flushing_redis, "Redis"},
        };
        if (tools.empty()) return all;
        const std::vector<std::string> node{"node", tools / "client.mjs"}, go{tools / "etcd_mutex"};
        for (const char* kind : {"redlock", "node-redisson"}) all.push_back({kind, node, kind, redis, "Redis"});
        all.push_back({"etcd3", node, "etcd3", etcd(), "etcd"});
        all.push_back({"etcd, Go mutex", go, "mutex", etcd(), "etcd"});
        return all;
    }

    [[nodiscard]] std::map<std::string, subject> floors(const std::filesystem::path& tools)
    {
        std::map<std::string, subject> all{
            {"PostgreSQL", {"PostgreSQL, floor", myself, "sql-floor", postgresql_.connection_string(), ""}},
            {"MariaDB", {"MariaDB, floor", myself, "sql-floor", mariadb_.connection_string(), ""}},
            {"Redis", {"Redis, floor", myself, "redis-floor", std::to_string(redis_.port()), ""}},
        };
        if (!tools.empty()) all["etcd"] = {"etcd, floor", {tools / "etcd_mutex"}, "floor", etcd(), ""};
        return all;
    }

private:
    std::string etcd()
    {
        if (!etcd_) etcd_.emplace();
        return etcd_->connection_string();
    }

    postgresql_server postgresql_{postgresql_of_usual_size({"-c", "fsync=on", "-c", "full_page_writes=on"})};
    mariadb_server mariadb_{mariadb_of_usual_size({"--innodb-flush-log-at-trx-commit=1"})};
    redis_server redis_;
    redis_server flushing_redis_{{"--appendonly", "yes", "--appendfsync", "always"}};
    std::optional<etcd_server> etcd_;
};

void measure_round(const subject& what, const subject& floor, const extent& much, measured& into, measured& of_floor)
{
    std::vector<std::int64_t> own, bare;
    measure_pairs(what, floor, much, own, bare);
    into.floor_ratio.push_back(static_cast<double>(quantile(own, 50)) / static_cast<double>(quantile(bare, 50)));
    into.pairs.insert(into.pairs.end(), own.begin(), own.end());
    of_floor.pairs.insert(of_floor.pairs.end(), bare.begin(), bare.end());
    if (what.only_pairs) return;
    const contention seen = measure_contention(what, much);
    into.per_second.push_back(seen.per_second);
    into.fewest.push_back(seen.fewest_per_second);
    into.most.push_back(seen.most_per_second);
    into.longest_wait.push_back(seen.longest_wait_ms);
    measure_turns(what, much, into.turns);
    if (what.has_ttl) measure_kills(what, much, into.late);
}

class told {
public:
    explicit told(results& raw) : raw_{raw} {}

    void line(const std::string& label, const std::string& measure, double value)
    {
        std::printf("%-38s %-44s %10.3f\n", label.c_str(), measure.c_str(), value);
        std::fflush(stdout);
        raw_.add(label, measure, value);
    }
    void all(const std::string& label, const measured& m)
    {
        line(label, "grant + release, ms", ms(quantile(m.pairs, 50)));
        if (!m.floor_ratio.empty()) line(label, "grant + release, in two bare round trips", quantile(m.floor_ratio, 50));
        if (!m.per_second.empty()) {
            line(label, "8 clients: grants a second", quantile(m.per_second, 50));
            line(label, "8 clients: grants a second, the least of a client", quantile(m.fewest, 50));
            line(label, "8 clients: grants a second, the most of a client", quantile(m.most, 50));
            line(label, "8 clients: longest wait, ms", std::ranges::max(m.longest_wait));
        }
        if (!m.turns.empty()) {
            line(label, "hand-over, ms", ms(quantile(m.turns, 50)));
            line(label, "hand-over, p99, ms", ms(quantile(m.turns, 99)));
        }
        if (!m.late.empty()) {
            line(label, "after the ttl, holder killed, ms", ms(quantile(m.late, 50)));
            line(label, "after the ttl, holder killed, worst, ms", ms(std::ranges::max(m.late)));
        }
    }

private:
    results& raw_;
};

// One that fails, as a client does that gets no answer for a minute, costs the others nothing: it has no figures. Whether none did.
bool measure(const std::filesystem::path& tools, const extent& much, results& raw)
{
    servers on;
    const auto subjects = on.subjects(tools);
    const auto floors = on.floors(tools);
    std::map<std::string, measured> of;
    std::set<std::string> failed;
    for (int round = 1; round <= much.rounds; ++round)
        for (const subject& each : subjects) {
            if (failed.contains(each.label)) continue;
            std::fprintf(stderr, "round %d of %d: %s\n", round, much.rounds, each.label.c_str());
            const subject& floor = floors.at(each.server);
            try {
                measure_round(each, floor, much, of[each.label], of[floor.label]);
            } catch (const std::exception& e) {
                std::fprintf(stderr, "FAILED: %s\n", e.what());
                failed.insert(each.label);
            }
        }
    told out{raw};
    for (const auto& [server, floor] : floors)
        if (!of[floor.label].pairs.empty()) out.all(floor.label, of[floor.label]);
    for (const subject& each : subjects)
        if (!failed.contains(each.label)) out.all(each.label, of[each.label]);
    return failed.empty();
}

void usage(std::FILE* to)
{
    std::fputs("Usage: peers [--brief | --rounds N] [--tools FOLDER] [--results FILE]\n"
               "Measures leasehold beside other locks on PostgreSQL, MariaDB, Redis and etcd, on private servers; a quarter of an hour.\n"
               "--brief          so little of each that it only shows that it runs\n"
               "--rounds N       in how many rounds each is measured; default: 3\n"
               "--tools FOLDER   where `run` has put etcd_mutex, client.mjs and its packages; without it those locks are left out\n"
               "--results FILE   adds the figures to it as tab-separated lines\n",
               to);
}

struct wishes {
    extent much;
    std::filesystem::path tools;
    std::string results;
};

std::optional<wishes> read(std::vector<std::string> words)
{
    wishes read;
    if (std::erase(words, "--brief") != 0) read.much = brief_extent;
    if (words.size() % 2 != 0) return std::nullopt;
    for (std::size_t i = 0; i < words.size(); i += 2) {
        if (words[i] == "--rounds" && (read.much.rounds = std::atoi(words[i + 1].c_str())) > 0) continue;
        if (words[i] == "--tools")
            read.tools = words[i + 1];
        else if (words[i] == "--results")
            read.results = words[i + 1];
        else
            return std::nullopt;
    }
    return read;
}

}  // namespace

int main(int argc, char** argv)
try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words == std::vector<std::string>{"--help"}) {
        usage(stdout);
        return EXIT_SUCCESS;
    }
    if (words.size() == 5 && words[0] == role) {
        serve(words[1], {words[2], words[3], std::chrono::milliseconds{std::stoll(words[4])}});
        return EXIT_SUCCESS;
    }
    const auto asked = read(words);
    if (!asked) {
        usage(stderr);
        return 2;
    }
    results raw{"peers", asked->results};
    const bool all_measured = measure(asked->tools, asked->much, raw);
    if (asked->tools.empty()) std::printf("WITHOUT redlock, node-redisson, etcd3 and the mutex of etcd for Go: they are `run`'s\n");
    return all_measured ? EXIT_SUCCESS : EXIT_FAILURE;
}
catch (const std::exception& e) {
    std::fprintf(stderr, "peers: %s\n", e.what());
    return EXIT_FAILURE;
}
