// SPDX-License-Identifier: BSL-1.0
// What the driver manager of this machine makes of drivers that it can't load, and what we say to it.
#include <support/temporary_directory.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <string>

BOOST_AUTO_TEST_SUITE(driver_advice_test)

namespace {

namespace lh = leasehold;

std::string advice_for(const std::string& driver)
{
    lh::odbc_store store{"Driver=" + driver + ";Database=none.db"};
    try {
        store.create_schema();
    }
    catch (const lh::store_error& failed) {
        return failed.what();
    }
    return "no error";
}

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

BOOST_AUTO_TEST_SUITE_END()
