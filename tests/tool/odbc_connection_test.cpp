// SPDX-License-Identifier: BSL-1.0
#include <odbc_connection.hpp>
#include <support/environment.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>

BOOST_AUTO_TEST_SUITE(tool_odbc_connection)

BOOST_AUTO_TEST_CASE(answer_is_read_whole_however_long_it_is)
{
    const leasehold_test::temporary_directory folder;
    const tool::odbc_connection connection{leasehold_test::sqlite_connection_string(folder.path() / "any.db")};
    for (const std::size_t bytes : {0U, 1U, 511U, 512U, 513U, 1022U, 4'000U}) {
        const std::string text = bytes == 0 ? "" : std::string(bytes - 1, 'x') + "y";
        BOOST_TEST((connection.ask("select '" + text + "'") == text), bytes << " bytes");
    }
    BOOST_TEST(!connection.ask("select null").has_value());
    BOOST_TEST(!connection.ask("select 1 where 1 = 0").has_value());
    BOOST_TEST(!connection.ask("select nothing").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
