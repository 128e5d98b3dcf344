// SPDX-License-Identifier: BSL-1.0
// Where cost grows: with the leases that one process holds, and with the threads of it that wait for one name; and how many
// statements renew its leases. The other two of the four pictures are made of what hand_over (processes) and scale (size of the
// table) measure.
#include "gathered.hpp"
#include "held.hpp"
#include "waiters.hpp"

#include <benchmarks/choice.hpp>
#include <benchmarks/results.hpp>
#include <benchmarks/usual_sizes.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/postgresql_server.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

using namespace leasehold_test;

namespace {

void usage(std::FILE* to)
{
    std::fputs("Usage: growth [--results FILE] [held | gathered | waiters]\n"
               "Cost against the leases that a process holds, the statements that renew them, on simulated time, and cost against its\n"
               "waiting threads; takes about two minutes.\n"
               "--results FILE   adds the figures to it as tab-separated lines\n",
               to);
}

}  // namespace

int main(int argc, char** argv)
try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words == std::vector<std::string>{"--help"}) {
        usage(stdout);
        return EXIT_SUCCESS;
    }
    const auto asked = read_choice(words, {"held", "gathered", "waiters"});
    if (!asked) {
        usage(stderr);
        return 2;
    }
    results raw{"growth", asked->results};
    if (asked->wants("held")) growth::measure_held({0, 100, 1'000, 10'000, 100'000}, raw);
    if (asked->wants("gathered")) growth::measure_gathered({10, 100, 1'000, 10'000}, raw);
    if (!asked->wants("waiters")) return EXIT_SUCCESS;
    const std::vector<std::size_t> threads{1, 10, 100, 1'000};
    leasehold::memory_store memory;
    growth::measure_waiters("memory", memory, {}, threads, raw);
    postgresql_server server{postgresql_of_usual_size()};
    leasehold::odbc_store store{server.connection_string()};
    store.create_schema();
    const auto sessions = [&server] {
        return std::stod(server.execute_sql("select count(*) from pg_stat_activity where usename = 'leasehold'"));
    };
    growth::measure_waiters("PostgreSQL", store, sessions, threads, raw);
    return EXIT_SUCCESS;
}
catch (const std::exception& e) {
    std::fprintf(stderr, "growth: %s\n", e.what());
    return EXIT_FAILURE;
}
