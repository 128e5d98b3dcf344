// SPDX-License-Identifier: BSL-1.0
// Messages never show a password of the connection string. Input: how the password is written (two choices), the password;
// then a connection string, and a message, of any form.
#include "connection_strings.hpp"
#include "targets.hpp"

#include <leasehold/odbc/detail/driver/secrets.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace leasehold::odbc::detail;

using texts = std::vector<std::string>;

// Whether a secret is also in the words around it, which then change when it is hidden.
bool any_in(std::string_view text, const texts& secrets)
{
    return std::any_of(secrets.begin(), secrets.end(),
                       [text](const std::string& each) { return is_telling(each) && fuzz::contains(text, each); });
}

void known_password(const fuzz::connection_string& of)
{
    const texts secrets = passwords_in(of.text());
    fuzz::require(std::find(secrets.begin(), secrets.end(), of.password) != secrets.end(),
                  "a password is known as the database gets it", of.text(), of.password);

    const bool is_around = fuzz::contains(of.before + "***" + of.after, of.value);
    const std::string hidden = redacted(of.text(), secrets);
    fuzz::require(is_around || !fuzz::contains(hidden, of.value), "of a connection string the password is hidden", of.text(), hidden);

    const std::string_view before = "access denied (using password: \"", after = "\") by h";
    // It may be made of these words, and of what it is hidden by.
    const bool is_in_the_rest = fuzz::contains(std::string{before} + "***" + std::string{after}, of.password);
    const bool can_be_told = is_telling(of.password) && !is_in_the_rest && !fuzz::contains(of.password, "***") &&
                             !any_in(before, secrets) && !any_in(after, secrets);
    const std::string said = redacted(std::string{before} + of.password + std::string{after}, secrets);
    fuzz::require(!can_be_told || !fuzz::contains(said, of.password), "a password that stands by itself is hidden",
                  of.text(), said);
}

void any_message(std::string_view connection_string, std::string_view message)
{
    const texts secrets = passwords_in(connection_string);
    for (std::size_t i = 0; i < secrets.size(); ++i) {
        fuzz::require(!secrets[i].empty(), "no secret is empty", connection_string);
        fuzz::require(i == 0 || secrets[i - 1].size() >= secrets[i].size(), "longer secrets come first", connection_string);
    }
    for (const std::string_view text : {message, connection_string}) {
        const std::string hidden = redacted(std::string{text}, secrets);
        fuzz::require(redacted(hidden, secrets) == hidden, "what is hidden stays as it is", connection_string, text, hidden);
    }
}

}  // namespace

void fuzz::secrets(std::string_view input)
{
    reader in{input};
    if (const auto known = read_connection_string(in)) known_password(*known);
    const std::string_view connection_string = in.line();
    any_message(connection_string, in.rest());
}
