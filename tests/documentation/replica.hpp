// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_DOCUMENTATION_REPLICA_HPP
#define LEASEHOLD_TESTS_DOCUMENTATION_REPLICA_HPP

#include <support/child_process.hpp>
#include <support/eventually.hpp>
#include <support/postgresql_server.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <string>

namespace leasehold_test {

using namespace std::chrono_literals;

inline std::string text_of(const std::filesystem::path& file)
{
    std::ifstream in{file};
    return {std::istreambuf_iterator<char>{in}, {}};
}

/// One process of an example service, with a folder of its own.
class replica {
public:
    /// `argument`: of the program; empty: the folder.
    explicit replica(const std::string& program, const std::string& store, const std::string& argument = {})
        : process_{{program, argument.empty() ? folder_.path().string() : argument},
                   {.environment = {{"LEASEHOLD_STORE", store}}, .output_file = folder_.path() / "log"}}
    {
    }

    [[nodiscard]] bool says(const std::string& text) const
    {
        return eventually([&] { return log().find(text) != std::string::npos; }, 20s);
    }
    [[nodiscard]] std::string log() const { return text_of(folder_.path() / "log"); }
    [[nodiscard]] bool ready() const { return std::filesystem::exists(folder_.path() / "ready"); }
    [[nodiscard]] auto end()
    {
        process_.signal(SIGTERM);
        return process_.wait();
    }
    void ends_well()
    {
        const auto status = end();
        BOOST_TEST(status.success(), status << ", having logged:\n" << log());
    }

private:
    temporary_directory folder_;
    child_process process_;
};

/// Runs `start` while nobody can create a table, and lets those create theirs who have come to wait for it. Fails if nobody comes.
template <class Start>
void start_while_tables_cant_be_created(postgresql_server& server, Start start)
{
    std::future<void> keeps_all_from_creating = std::async(std::launch::async, [&] {
        server.execute_sql("do $$ begin lock table pg_catalog.pg_type in exclusive mode;"
                           " for i in 1..400 loop"
                           "  perform pg_sleep(0.05);"
                           "  if exists (select from pg_locks where relation = 'pg_catalog.pg_type'::regclass and not granted) then"
                           "   perform pg_sleep(0.5); return;"
                           "  end if;"
                           " end loop;"
                           " raise exception 'nobody creates a table'; end $$");
    });
    BOOST_TEST(eventually(
        [&] {
            return server
                .execute_sql("select count(*) > 0 from pg_locks where relation = 'pg_catalog.pg_type'::regclass and mode = 'ExclusiveLock'")
                .starts_with("t");
        },
        20s));
    start();
    keeps_all_from_creating.get();
}

}  // namespace leasehold_test

#endif
