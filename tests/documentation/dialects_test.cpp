// SPDX-License-Identifier: BSL-1.0
// docs/dialects.md shows the DDL that the library runs, to the letter.
#include <leasehold/odbc/odbc_store.hpp>

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>
#include <string>

namespace lh = leasehold;

namespace {

std::string page()
{
    std::ifstream file{DIALECTS_PAGE};
    return {std::istreambuf_iterator<char>{file}, {}};
}

template <class Dialect, class Expiry = lh::expiry_by_server_clock>
void check_schema()
{
    const lh::odbc_options options;
    const lh::odbc::detail::program program{Expiry::applied_to(Dialect::describe({.dbms_name = {}, .dbms_version = {}, .now = options.now, .lock_timeout = {}, .call_timeout = {}})),
                                            options};
    BOOST_TEST_REQUIRE(!program.schema().empty());
    const std::string text = page();
    for (const std::string& statement : program.schema())
        BOOST_TEST(text.find("\n" + statement + ";\n") != std::string::npos, "docs/dialects.md lacks: " << statement);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(dialects_page)

BOOST_AUTO_TEST_CASE(postgresql) { check_schema<lh::dialect::postgresql>(); }
BOOST_AUTO_TEST_CASE(mariadb) { check_schema<lh::dialect::mariadb>(); }
BOOST_AUTO_TEST_CASE(sqlite) { check_schema<lh::dialect::sqlite>(); }
BOOST_AUTO_TEST_CASE(generic) { check_schema<lh::dialect::generic>(); }

BOOST_AUTO_TEST_CASE(observation)
{
    check_schema<lh::dialect::postgresql, lh::expiry_by_observation>();
    check_schema<lh::dialect::mariadb, lh::expiry_by_observation>();
    check_schema<lh::dialect::sqlite, lh::expiry_by_observation>();
}

BOOST_AUTO_TEST_SUITE_END()
