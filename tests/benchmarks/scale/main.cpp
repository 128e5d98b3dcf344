// SPDX-License-Identifier: BSL-1.0
// What many leases cost: renewals in batches and one by one, very many held leases in one process, a table of very many names.
#include "held.hpp"
#include "renewals.hpp"
#include "several.hpp"
#include "subject.hpp"
#include "table.hpp"

#include <benchmarks/usual_sizes.hpp>

#include <charconv>
#include <cstdlib>
#include <exception>
#include <string_view>

using namespace scale;
using namespace leasehold_test;

namespace {

constexpr const char* help = R"(scale [options]: what many leases cost, on private servers of its own.

  --only PART       renewals: one round of them in batches and one by one, and leases held both ways
                    held:     very many leases in one process: memory, whether all are renewed, releasing all
                    several:  many leases acquired at once, permits and shared rights
                    table:    a grant in tables of 100 names to very many, in tens; list by prefix
  --database NAME   PostgreSQL, MariaDB or SQLite; all unless given
  --leases N        leases for `renewals` and `several` (10000)
  --held N          leases for `held` (100000)
  --names N         names in the largest table (1000000)
  --seconds N       how long leases are held (60)
  --flush yes|no    whether what is committed is on the disk (yes); with a slow disk `no` saves much time
  --rounds N        rounds of what is measured side by side (7)
  --results FILE    adds tab-separated lines: program, database, measure, value
)";

template <class Number>
void read_number(std::string_view text, Number& into)
{
    const auto read = std::from_chars(text.data(), text.data() + text.size(), into);
    if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || into < 1)
        throw std::runtime_error{"not a number that can be: " + std::string{text}};
}

options read_options(int argc, char** argv)
{
    options wanted;
    for (int i = 1; i < argc; i += 2) {
        const std::string_view name = argv[i];
        if (name == "--help") {
            std::fputs(help, stdout);
            std::exit(EXIT_SUCCESS);
        }
        if (i + 1 == argc) throw std::runtime_error{"what is " + std::string{name} + "? See --help"};
        const std::string_view value = argv[i + 1];
        if (name == "--only") wanted.only = value;
        else if (name == "--database") wanted.database = value;
        else if (name == "--flush") wanted.flush = value != "no";
        else if (name == "--results") wanted.results = value;
        else if (name == "--leases") read_number(value, wanted.leases);
        else if (name == "--held") read_number(value, wanted.held);
        else if (name == "--names") read_number(value, wanted.names);
        else if (name == "--seconds") read_number(value, wanted.seconds);
        else if (name == "--rounds") read_number(value, wanted.rounds);
        else throw std::runtime_error{"what is " + std::string{name} + "? See --help"};
    }
    return wanted;
}

void measure(const subject& of, const options& wanted, results& to)
{
    if (wanted.only.empty() || wanted.only == "renewals") measure_renewals(of, wanted, to);
    if (wanted.only.empty() || wanted.only == "several") measure_several(of, wanted, to);
    if (wanted.only.empty() || wanted.only == "table") measure_table(of, wanted, to);
    if (wanted.only.empty() || wanted.only == "held") measure_held(of, wanted, to);
}

}  // namespace

int main(int argc, char** argv)
try {
    const options wanted = read_options(argc, argv);
    results to{"scale", wanted.results};
    // Not as the tests' servers are, but as they come: what is committed is on the disk, and there is room in memory.
    const auto asked_for = [&](std::string_view name) { return wanted.database.empty() || wanted.database == name; };
    if (asked_for("PostgreSQL")) {
        const std::string flush = wanted.flush ? "on" : "off";
        const postgresql_server server{postgresql_of_usual_size({"-c", "fsync=" + flush, "-c", "full_page_writes=" + flush})};
        measure({"PostgreSQL", server.connection_string(), {}, [&] { return processor_time_of(server.pid()); },
                 "generate_series(1, :count) as numbers (n)", "'1970-01-02 00:00:00+00'", "explain (costs off) "},
                wanted, to);
    }
    if (asked_for("MariaDB")) {
        const std::string flush = std::string{"--innodb-flush-log-at-trx-commit="} + (wanted.flush ? "1" : "0");
        const mariadb_server server{mariadb_of_usual_size({flush})};
        measure({"MariaDB", server.connection_string(), {}, [&] { return processor_time_of(server.pid()); },
                 "(select seq as n from seq_1_to_:count) as numbers", "'1970-01-02 00:00:00'", "explain "},
                wanted, to);
    }
    if (asked_for("SQLite")) {
        const temporary_directory folder;
        measure({"SQLite", sqlite_connection_string(folder.path() / "leases.db"),
                 {wanted.flush ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL"}, &own_processor_time,
                 "(with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < :count)"
                 " select n from numbers)", "0", "explain query plan "},
                wanted, to);
    }
    return EXIT_SUCCESS;
}
catch (const std::exception& e) {
    std::fprintf(stderr, "scale: %s\n", e.what());
    return EXIT_FAILURE;
}
