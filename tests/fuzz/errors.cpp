// SPDX-License-Identifier: BSL-1.0
// What a driver reports is classified by its codes, whatever its words are, and shown without harm. Input: SQLSTATE, native
// code, connection string, message.
#include "fuzz.hpp"
#include "targets.hpp"

#include <leasehold/error.hpp>
#include <leasehold/odbc/detail/driver/errors.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>

#include <string>
#include <string_view>

namespace {

using namespace leasehold::odbc::detail;
namespace lh = leasehold;

bool operator==(const verdict& a, const verdict& b)
{
    return a.kind == b.kind && a.known == b.known && std::string_view{a.advice} == b.advice;
}

bool is_of_a_store(lh::errc code)
{
    return code == lh::errc::store_conflict || code == lh::errc::store_unavailable || code == lh::errc::store_timeout ||
           code == lh::errc::schema_missing || code == lh::errc::store_failure;
}

void is_classified(std::string_view state, int native, std::string_view message)
{
    static_assert(noexcept(classify(state, native, message)));
    const verdict found = classify(state, native, message);
    fuzz::require(found.kind != fault::none, "a failure is a failure", state, message);
    fuzz::require(is_of_a_store(errc_of(found.kind)), "a failure has an error code of a store", state, message);
    fuzz::require(found.advice != nullptr && fuzz::is_harmless(found.advice), "advice is a line of text", state, message);
    fuzz::require(found.known || (found.kind == fault::failure && *found.advice == '\0'),
                  "what is not known is a plain failure", state, message);
}

// A lease or a table can be called anything.
void names_do_not_decide(std::string_view state, int native, std::string_view name)
{
    const std::string said = "[some driver] relation \"" + std::string{name} + "\" is odd";
    if (state != connecting_failed && native != error_during_commit)
        fuzz::require(classify(state, native, said) == classify(state, native, "[some driver] relation \"job\" is odd"),
                      "the name in a message does not decide", state, name);

    const auto of_sqlite = [](std::string_view words) {
        return classify("HY000", 1, std::string{sqlite_speaks} + std::string{words}).kind;
    };
    fuzz::require(of_sqlite("no such table: " + std::string{name}) == fault::schema_missing, "a missing table", name);
    fuzz::require(of_sqlite("no such column: " + std::string{name}) == fault::schema_missing, "a missing column", name);
    fuzz::require(of_sqlite("UNIQUE constraint failed: " + std::string{name}) == fault::duplicate_key, "a duplicate key",
                  name);
    fuzz::require(of_sqlite("NOT NULL constraint failed: " + std::string{name}) == fault::failure, "another column", name);
    if (is_identifier(name))
        fuzz::require(of_sqlite("table " + std::string{name} + " has no column named token") == fault::schema_missing,
                      "a table without a column", name);
}

void is_shown_without_harm(std::string_view state, int native, std::string_view connection_string, std::string_view message)
{
    const std::string one_line = shown(std::string{message}, passwords_in(connection_string));
    fuzz::require(fuzz::is_harmless(one_line), "a message is one line without controls", message, one_line);

    const lh::store_error error{make_error_code(lh::errc::store_failure),
                                message,
                                {std::string{state}, native, std::string{message}, std::string{message}}};
    for (const std::string_view text : {std::string_view{error.what()}, error.sqlstate(), error.server_message()})
        fuzz::require(fuzz::is_harmless(text), "an exception's texts have no controls", message, text);
    fuzz::require(std::string_view{error.what()}.starts_with("leasehold: "), "an exception says whose it is", error.what());
    const lh::lease_lost lost{message};
    fuzz::require(fuzz::is_harmless(lost.what()), "an exception's text has no controls", message);
}

// The path is in a folder that is not there: no input may open a device.
void driver_is_advised_about(std::string_view message)
{
    const std::string said = "Can't open lib '/there-is-no-such-folder/" + std::string{message.substr(0, 200)};
    const known_to_driver_manager known{.drivers = {"SQLite3", std::string{message}}, .sources = {std::string{message}}};
    fuzz::require(driver_advice(said, known).starts_with("there is no such file"), "a path that leads to nothing is told as such", message);
    if (!fuzz::contains(message, "Can't open lib"))
        fuzz::require(driver_advice(message, known) == source_advice(known), "without a name the advice is the general one", message);
    const std::string misspelt = driver_advice("Can't open lib 'SQLte3'", known);
    fuzz::require(misspelt.find("'SQLite3', '") != std::string::npos, "drivers are listed", message, misspelt);
    for (const std::string& advice : {misspelt, source_advice(known)})
        fuzz::require(fuzz::is_harmless(advice), "a name in advice has no controls", message, advice);
}

}  // namespace

void fuzz::errors(std::string_view input)
{
    reader in{input};
    const std::string_view state = in.line();
    const auto native = static_cast<int>(in.number());
    const std::string_view connection_string = in.line();
    const std::string_view message = in.rest();
    is_classified(state, native, message);
    names_do_not_decide(state, native, message);
    is_shown_without_harm(state, native, connection_string, message);
    driver_is_advised_about(message);
    require(message.starts_with('[') !=
                is_unmarked_sqlite_text(std::string{message} + " (" + std::to_string(native) + ")", native),
            "SQLite's words are known by the code behind them", message);
}
