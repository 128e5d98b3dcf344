// SPDX-License-Identifier: BSL-1.0
// examples/thread_service where its own test, which is on SQLite, can't take it: replicas that start at the same moment, and a
// server that hangs. docs/service.md tells readers to build theirs like this.
#include <support/child_process.hpp>
#include <support/eventually.hpp>
#include <support/postgresql_server.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

std::string text_of(const std::filesystem::path& file)
{
    std::ifstream in{file};
    return {std::istreambuf_iterator<char>{in}, {}};
}

/// One process of the service, with a folder of its own.
class replica {
public:
    explicit replica(const std::string& store)
        : process_{{THREAD_SERVICE, folder_.path().string()},
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

}  // namespace

BOOST_AUTO_TEST_SUITE(thread_service)

// PostgreSQL's `create table if not exists` fails where another session creates the table at the same moment.
BOOST_AUTO_TEST_CASE(replicas_that_start_at_the_same_moment_all_start)
{
    postgresql_server server;
    BOOST_TEST(replica{server.connection_string()}.says("waits for its turn"));  // the leases' table is there
    server.execute_sql("drop table service_journal");

    std::thread keeps_all_from_creating{
        [&] { server.execute_sql("begin; lock table pg_catalog.pg_type in exclusive mode; select pg_sleep(5); commit"); }};
    const auto locks = [&](const std::string& granted) {
        return server
            .execute_sql("select count(*) > 0 from pg_locks where relation = 'pg_catalog.pg_type'::regclass and "
                         "mode like '%Exclusive%' and granted = " +
                         granted)
            .starts_with("t");
    };
    BOOST_TEST(eventually([&] { return locks("true"); }, 20s));
    replica one{server.connection_string()};
    replica two{server.connection_string()};
    BOOST_TEST(eventually([&] { return locks("false"); }, 20s), "nobody creates the table");
    keeps_all_from_creating.join();
    for (replica* each : {&one, &two}) {
        BOOST_TEST(each->says("waits for its turn"), each->log());
        each->ends_well();
    }
}

BOOST_AUTO_TEST_CASE(the_server_s_words_are_in_what_it_says_of_a_failure)
{
    postgresql_server server;
    BOOST_TEST(replica{server.connection_string()}.says("waits for its turn"));
    server.execute_sql(
        "drop table service_journal; create view service_journal as select 1 as token; grant all on service_journal to public");
    replica service{server.connection_string()};
    BOOST_TEST(service.says("insert into view"), service.log());  // cannot
    BOOST_TEST(!service.end().success());
}

BOOST_AUTO_TEST_CASE(leader_whose_server_hangs_is_not_ready_once_its_term_is_over)
{
    postgresql_server server;
    replica service{server.connection_string()};
    BOOST_TEST(eventually([&] { return service.ready(); }, 20s));
    server.freeze();
    BOOST_TEST(eventually([&] { return !service.ready(); }, 20s));
    server.thaw();
    service.ends_well();
}

BOOST_AUTO_TEST_SUITE_END()
