// SPDX-License-Identifier: BSL-1.0
#include <leasehold/error.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>

BOOST_AUTO_TEST_SUITE(error_test)

namespace lh = leasehold;

namespace {

constexpr std::array all_codes{lh::errc::invalid_name,  lh::errc::invalid_owner,  lh::errc::invalid_terms,
                               lh::errc::not_held,      lh::errc::lost,           lh::errc::store_unavailable,
                               lh::errc::store_timeout, lh::errc::store_conflict, lh::errc::schema_missing,
                               lh::errc::store_failure, lh::errc::invalid_data,   lh::errc::held_closed};

const lh::store_diagnostics missing_table{.sqlstate = "42P01",
                                          .native_error = 7,
                                          .advice = "call create_schema()",
                                          .server_message = "relation \"leasehold\" does not exist"};

}  // namespace

BOOST_AUTO_TEST_CASE(codes_belong_to_a_category_of_their_own)
{
    for (const lh::errc code : all_codes) {
        const std::error_code as_code = code;
        BOOST_TEST(static_cast<bool>(as_code));
        BOOST_TEST(&as_code.category() == &lh::lease_category());
        BOOST_TEST(as_code == code);
    }
    BOOST_TEST(lh::lease_category().name() == std::string{"leasehold"});
}

BOOST_AUTO_TEST_CASE(every_code_has_a_message_of_its_own)
{
    std::set<std::string> messages;
    for (const lh::errc code : all_codes) messages.insert(make_error_code(code).message());
    BOOST_TEST(messages.size() == all_codes.size());
    BOOST_TEST(!messages.contains(""));
    BOOST_TEST(lh::lease_category().message(99) == "unknown leasehold error 99");
    BOOST_TEST(lh::lease_category().message(0) == "unknown leasehold error 0");
}

BOOST_AUTO_TEST_CASE(codes_compare_to_the_standard_conditions_that_fit)
{
    const auto code = [](lh::errc value) { return make_error_code(value); };
    BOOST_TEST((code(lh::errc::store_timeout) == std::errc::timed_out));
    BOOST_TEST((code(lh::errc::invalid_name) == std::errc::invalid_argument));
    BOOST_TEST((code(lh::errc::invalid_owner) == std::errc::invalid_argument));
    BOOST_TEST((code(lh::errc::invalid_terms) == std::errc::invalid_argument));
    BOOST_TEST((code(lh::errc::not_held) == std::errc::operation_not_permitted));
    BOOST_TEST((code(lh::errc::store_conflict) == std::errc::resource_unavailable_try_again));
    BOOST_TEST((code(lh::errc::held_closed) == std::errc::device_or_resource_busy));
    BOOST_TEST((code(lh::errc::lost) != std::errc::timed_out));
    BOOST_TEST((code(lh::errc::store_failure) != std::errc::invalid_argument));
}

BOOST_AUTO_TEST_CASE(store_error_says_our_words_first_and_the_servers_in_brackets)
{
    const lh::store_error error{lh::errc::schema_missing, "try_acquire 'nightly'", missing_table};
    BOOST_TEST(error.what() ==
               std::string{"leasehold: try_acquire 'nightly': the lease table, or a column of it, is missing: "
                           "call create_schema() [SQLSTATE 42P01, native 7: relation \"leasehold\" does not exist]"});
    BOOST_TEST(error.code() == lh::errc::schema_missing);
    BOOST_TEST(error.sqlstate() == "42P01");
    BOOST_TEST(error.native_error() == 7);
    BOOST_TEST(error.server_message() == "relation \"leasehold\" does not exist");
}

BOOST_AUTO_TEST_CASE(store_error_without_diagnostics_has_no_brackets)
{
    const lh::store_error error{lh::errc::store_timeout, "renew"};
    BOOST_TEST(error.what() == std::string{"leasehold: renew: the store did not answer in time"});
    BOOST_TEST(error.sqlstate().empty());
    BOOST_TEST(error.native_error() == 0);
    BOOST_TEST(error.server_message().empty());
}

BOOST_AUTO_TEST_CASE(store_error_names_a_missing_sqlstate)
{
    const lh::store_error error{lh::errc::store_failure,
                                "renew",
                                {.sqlstate = "", .native_error = 5, .advice = "", .server_message = "database is locked"}};
    BOOST_TEST(error.what() ==
               std::string{"leasehold: renew: the store failed [SQLSTATE none, native 5: database is locked]"});
}

BOOST_AUTO_TEST_CASE(store_error_of_a_store_that_is_not_sql_speaks_of_no_sqlstate)
{
    const lh::store_error error{
        lh::errc::store_failure, "renew", {.sqlstate = "", .native_error = 0, .advice = "", .server_message = "OOM"}};
    BOOST_TEST(error.what() == std::string{"leasehold: renew: the store failed [OOM]"});
}

BOOST_AUTO_TEST_CASE(store_error_with_a_foreign_code_says_its_message)
{
    const std::error_code foreign = std::make_error_code(std::errc::connection_refused);
    const lh::store_error error{foreign, "inspect"};
    BOOST_TEST(error.what() == "leasehold: inspect: " + foreign.message());
    BOOST_TEST((error.code() == std::errc::connection_refused));
}

BOOST_AUTO_TEST_CASE(a_copy_of_store_error_outlives_the_original)
{
    const lh::store_error copy = [] {
        const lh::store_error original{lh::errc::store_failure, "renew", missing_table};
        return lh::store_error{original};
    }();
    BOOST_TEST(copy.sqlstate() == "42P01");
    BOOST_TEST(std::string{copy.what()}.starts_with("leasehold: renew"));
}

BOOST_AUTO_TEST_CASE(store_error_is_caught_as_system_error_with_its_words)
{
    try {
        throw lh::store_error{lh::errc::store_unavailable, "inspect"};
    } catch (const std::system_error& error) {
        BOOST_TEST(error.what() == std::string{"leasehold: inspect: the store can't be reached"});
    }
}

BOOST_AUTO_TEST_CASE(lease_lost_names_the_lease)
{
    const lh::lease_lost error{"nightly"};
    BOOST_TEST(error.code() == lh::errc::lost);
    BOOST_TEST(error.what() ==
               std::string{
                   "leasehold: the lease 'nightly': the lease was lost: its time ran out, or it was taken over or removed"});
}

BOOST_AUTO_TEST_SUITE_END()
