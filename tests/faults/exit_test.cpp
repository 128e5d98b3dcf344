// SPDX-License-Identifier: BSL-1.0
// needs: server, program
// A process that ends while static objects hold a lease: its main thread's own objects are gone by then.
#include <leasehold/odbc/odbc_store.hpp>

#include <support/child_process.hpp>
#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/temporary_directory.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <system_error>
#include <vector>

namespace lh = leasehold;
using namespace leasehold_test;

namespace {

using servers = boost::mpl::list<postgresql_server, mariadb_server>;

class static_holder {
public:
    explicit static_holder(const std::string& connection_string, const std::vector<std::string>& options = {})
        : process_{command(connection_string, options), {.capture = true}}
    {
        BOOST_TEST_REQUIRE(process_.read_line().value_or("") == "1");
    }

    // How it ends; what it then prints is in `last_words`.
    exit_status end()
    {
        process_.write("end\n");
        last_words = process_.read_all();
        return process_.wait();
    }

    std::string last_words;

private:
    static std::vector<std::string> command(const std::string& connection_string, const std::vector<std::string>& options)
    {
        std::vector<std::string> words{STATIC_HOLDER, connection_string};
        words.insert(words.end(), options.begin(), options.end());
        return words;
    }

    child_process process_;
};

void check_leaver(const std::vector<std::string>& options, const std::string& lies = "unheard_of")
{
    const temporary_directory folder;
    const std::string database = (folder.path() / "leases.db").string();
    std::vector<std::string> command{LEAVER, std::string{"Driver="} + LYING_DRIVER + ";Lies=" + lies + ";Database=" + database};
    command.insert(command.end(), options.begin(), options.end());
    child_process leaver{command,
                         {.environment = {{"LYING_DRIVER_REAL", find_odbc_driver_file({"SQLite3", "SQLITE3"})}}, .capture = true}};
    BOOST_TEST(leaver.read_all() == make_error_code(lh::errc::store_timeout).message() + "\n");
    BOOST_TEST(leaver.wait() == exit_status{});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(exit_of_a_process)

BOOST_AUTO_TEST_CASE_TEMPLATE(static_guard_whose_server_was_killed_does_not_abort_the_exit, Server, servers)
{
    Server server;
    lh::odbc_store{server.connection_string()}.create_schema();
    static_holder holder{server.connection_string()};
    server.kill();
    BOOST_TEST(holder.end() == exit_status{});
    BOOST_TEST(holder.last_words == make_error_code(lh::errc::store_unavailable).message() + "\n");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(static_guard_is_released_at_the_exit, Server, servers)
{
    Server server;
    lh::odbc_store store{server.connection_string()};
    store.create_schema();
    static_holder holder{server.connection_string()};
    BOOST_TEST(holder.end() == exit_status{});
    BOOST_TEST(store.list().empty());
}

BOOST_AUTO_TEST_CASE(static_guard_on_sqlite_is_released_at_the_exit)
{
    const temporary_directory folder;
    const std::string connection_string = sqlite_connection_string(folder.path() / "leases.db");
    lh::odbc_store store{connection_string};
    store.create_schema();
    static_holder holder{connection_string};
    BOOST_TEST(holder.end() == exit_status{});
    BOOST_TEST(store.list().empty());
}

// As docs/using.md says: nothing is destroyed, so nothing is released, and the lease is free when its ttl is over.
BOOST_AUTO_TEST_CASE_TEMPLATE(process_that_leaves_at_once_with_a_guard_on_the_stack_keeps_the_name_until_its_end, Server, servers)
{
    Server server;
    lh::odbc_store store{server.connection_string()};
    store.create_schema();
    static_holder holder{server.connection_string(), {"at_once"}};
    BOOST_TEST(holder.end() == exit_status{});
    BOOST_TEST(store.list().size() == 1U);
    BOOST_TEST(eventually([&] { return store.list().empty(); }, std::chrono::seconds{20}));
}

// OpenSSL frees its tables at the exit: who was in them crashed the process.
BOOST_AUTO_TEST_CASE(no_thread_is_in_the_driver_when_its_libraries_clean_up)
{
    check_leaver({});
}

BOOST_AUTO_TEST_CASE(no_thread_connects_for_the_first_time_when_the_libraries_clean_up)
{
    check_leaver({"connect"});
}

// libpq first uses OpenSSL when the server has answered: that clean-up is registered after the thread was left, and so comes first.
BOOST_AUTO_TEST_CASE(no_thread_connects_when_libraries_clean_up_that_were_used_after_it_was_left)
{
    check_leaver({"late"}, "unheard_of,late_libraries");
}

BOOST_AUTO_TEST_CASE(child_of_fork_waits_for_its_own_threads)
{
    check_leaver({"fork"});
}

BOOST_AUTO_TEST_SUITE_END()
