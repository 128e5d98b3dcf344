// SPDX-License-Identifier: BSL-1.0
// What the driver manager of this machine makes of drivers that it can't load, and what we say to it.
#include <support/environment.hpp>
#include <support/temporary_directory.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/detail/driver/nearest.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(nearest_test)

namespace {

namespace lh = leasehold;
using lh::odbc::detail::nearest;

std::string advice_for_string(const std::string& connection_string)
{
    lh::odbc_store store{connection_string};
    try {
        store.create_schema();
    }
    catch (const lh::store_error& failed) {
        return failed.what();
    }
    return "no error";
}

std::string advice_for(const std::string& driver) { return advice_for_string("Driver=" + driver + ";Database=none.db"); }

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(path_without_a_file_is_said_to_be_none)
{
    const std::string advice = advice_for("/nowhere/libsqlite3odbc.so");
    BOOST_TEST(says(advice, "there is no such file"), advice);
    BOOST_TEST(!says(advice, "odbcinst -q -d"), advice);
}

BOOST_AUTO_TEST_CASE(file_that_is_there_but_no_driver_is_said_to_be_there)
{
    const leasehold_test::temporary_directory folder;
    const std::string file = (folder.path() / "libsqlite3odbc.so").string();
    std::ofstream{file} << "not a library";
    const std::string advice = advice_for(file);
    BOOST_TEST(says(advice, "is there, but can't be loaded"), advice);
}

BOOST_AUTO_TEST_CASE(name_that_this_manager_does_not_know_is_to_be_written_as_a_path)
{
    for (const char* name : {"No Such Driver", "libnosuchdriver.so"}) {
        const std::string advice = advice_for(name);
        BOOST_TEST(says(advice, "the driver's full path as Driver="), advice);
    }
}

// Whatever drivers there are here: odbcinst lists them too.
BOOST_AUTO_TEST_CASE(misspelt_name_gets_those_that_there_are_and_the_nearest)
{
    const std::vector<std::string> installed = leasehold_test::installed_odbc_drivers();
    const std::string right = leasehold_test::find_odbc_driver({"SQLite3"});
    const std::string misspelt = advice_for("SQLlite3");
    BOOST_TEST(says(misspelt, ": did you mean '" + right + "'? There are: '"), misspelt);
    const std::string unlike = advice_for("No Such Driver");
    BOOST_TEST(!says(unlike, "did you mean"), unlike);
    for (const std::string& driver : installed)
        for (const std::string& advice : {misspelt, unlike, advice_for_string("DSN=none")})
            BOOST_TEST(says(advice, "'" + driver + "'"), advice);
}

BOOST_AUTO_TEST_CASE(password_is_not_in_it)
{
    for (const char* name : {"hunter2000", "SQLite hunter2000"}) {
        const std::string advice = advice_for(std::string{name} + ";PWD=hunter2000");
        BOOST_TEST(!says(advice, "hunter2000"), advice);
    }
}

BOOST_AUTO_TEST_CASE(probable_meaning_of_a_misspelt_word_is_found)
{
    const std::vector<std::string> words{"run", "elect", "show", "list", "watch", "wait", "release", "--nowait"};
    for (const auto& [typed, meant] : {std::pair{"lsit", "list"},
                                       {"lst", "list"},
                                       {"ls", "list"},
                                       {"listt", "list"},
                                       {"rnu", "run"},
                                       {"relaese", "release"},
                                       {"rel", "release"},
                                       {"wach", "watch"},
                                       {"--no-wait", "--nowait"}})
        BOOST_TEST(nearest(typed, words) == meant, typed << ": " << nearest(typed, words));
    for (const char* typed : {"frobnicate", "status", "x", "", "l"}) BOOST_TEST(nearest(typed, words) == "");
}

BOOST_AUTO_TEST_CASE(driver_that_was_probably_meant_is_found)
{
    const std::vector<std::string> drivers{"PostgreSQL Unicode", "PostgreSQL ANSI", "MariaDB Unicode", "SQLite3"};
    for (const auto& [typed, meant] : {std::pair{"PostgreSQL Unicod", "PostgreSQL Unicode"},
                                       {"Postgres ANSI", "PostgreSQL ANSI"},
                                       {"postgresql", "PostgreSQL Unicode"},
                                       {"mariadb", "MariaDB Unicode"},
                                       {"SQLITE", "SQLite3"},
                                       {"Oracle", ""},
                                       {"", ""}})
        BOOST_TEST(nearest(typed, drivers) == meant, typed);
}

BOOST_AUTO_TEST_SUITE_END()
