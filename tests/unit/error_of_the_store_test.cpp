// SPDX-License-Identifier: BSL-1.0
#include <leasehold/error.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

BOOST_AUTO_TEST_SUITE(error_of_the_store_test)

namespace lh = leasehold;

BOOST_AUTO_TEST_CASE(what_has_our_words_first_and_the_servers_in_brackets)
{
    const lh::store_error e{
        lh::errc::store_unavailable,
        "try_acquire 'nightly'",
        {.sqlstate = "08001", .native_error = 111, .advice = "is the server up?", .server_message = "refused"}};
    BOOST_TEST(e.what() == "leasehold: try_acquire 'nightly': the store can't be reached: is the server up? "
                           "[SQLSTATE 08001, native 111: refused]");
    BOOST_TEST(e.sqlstate() == "08001");
    BOOST_TEST(e.native_error() == 111);
    BOOST_TEST(e.server_message() == "refused");
    BOOST_TEST((e.code() == lh::errc::store_unavailable));
}

BOOST_AUTO_TEST_CASE(what_is_short_where_the_server_said_nothing)
{
    const lh::store_error e{lh::errc::store_timeout, "renew 'n'"};
    BOOST_TEST(e.what() == "leasehold: renew 'n': the store did not answer in time");
    BOOST_TEST(e.sqlstate().empty());
    BOOST_TEST(e.native_error() == 0);
    BOOST_TEST(e.server_message().empty());
}

BOOST_AUTO_TEST_CASE(message_without_a_sqlstate_says_so)
{
    const lh::store_error e{
        lh::errc::store_failure, "x", {.sqlstate = {}, .native_error = 5, .advice = {}, .server_message = "odd"}};
    BOOST_TEST(std::string_view{e.what()}.ends_with("[SQLSTATE none, native 5: odd]"));
}

BOOST_AUTO_TEST_CASE(foreign_code_keeps_its_message)
{
    const auto code = std::make_error_code(std::errc::not_enough_memory);
    const lh::store_error e{code, "renew 'n'"};
    BOOST_TEST((e.code() == std::errc::not_enough_memory));
    BOOST_TEST(std::string{e.what()}.find(code.message()) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(is_a_system_error_and_copies_without_throwing)
{
    static_assert(std::is_base_of_v<std::system_error, lh::store_error>);
    static_assert(std::is_nothrow_copy_constructible_v<lh::store_error>);
    const lh::store_error e{
        lh::errc::store_conflict, "x", {.sqlstate = "40001", .native_error = 0, .advice = {}, .server_message = "m"}};
    try {
        throw e;
    } catch (const std::system_error& caught) {
        BOOST_TEST(caught.what() == std::string_view{e.what()});
        BOOST_TEST((caught.code() == std::errc::resource_unavailable_try_again));
    }
}

BOOST_AUTO_TEST_CASE(is_whole_after_it_was_moved_from)
{
    lh::store_error from{
        lh::errc::store_failure, "renew 'n'", {.sqlstate = "HY000", .native_error = 1, .advice = {}, .server_message = "m"}};
    const std::string what = from.what();
    const lh::store_error to{std::move(from)};
    BOOST_TEST(from.what() == what);  // NOLINT(bugprone-use-after-move): what is tested
    BOOST_TEST(from.sqlstate() == "HY000");
    BOOST_TEST(from.native_error() == 1);
    BOOST_TEST(from.server_message() == "m");
    lh::store_error other{lh::errc::store_timeout, "x"};
    other = std::move(from);
    BOOST_TEST(from.what() == what);
    BOOST_TEST(other.what() == what);
    BOOST_TEST(to.what() == what);
}

BOOST_AUTO_TEST_CASE(names_and_servers_can_not_forge_a_line_of_a_log)
{
    const lh::store_error e{lh::errc::store_failure,
                            "renew 'n\nERROR all is lost\x1b[2J'",
                            {.sqlstate = "4\n", .native_error = 1, .advice = "a\rb", .server_message = "no \u202e\xff\n"}};
    BOOST_TEST(e.what() == "leasehold: renew 'n\\nERROR all is lost\\u{1b}[2J': the store failed: a\\rb "
                           "[SQLSTATE 4\\n, native 1: no \\u{202e}\\xff\\n]");
    BOOST_TEST(e.server_message() == "no \\u{202e}\\xff\\n");
    BOOST_TEST(lh::lease_lost{"n\nERROR"}.what() == std::string{"leasehold: the lease 'n\\nERROR': "} +
                                                        make_error_code(lh::errc::lost).message());
}

BOOST_AUTO_TEST_SUITE_END()
