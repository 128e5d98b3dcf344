// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_STORE_CHOICE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_STORE_CHOICE_HPP

#include <optional>
#include <string>
#include <string_view>

namespace tool {

/// Where the leases are to be, as far as it was said. What was said and is empty is a mistake, not silence: it is what an
/// unset variable of a script leaves.
struct asked_store {
    std::optional<std::string> store{};  ///< a connection string, or the name of a data source
    std::optional<std::string> file{};   ///< that has the connection string in it
    bool local = false;                  ///< the user's own SQLite file, for processes of this host
    std::optional<std::string> table{};
    bool session_locks = true;
};

struct chosen_store {
    std::string connection_string;
    std::string table = "leasehold";
    bool session_locks = true;
    bool is_local = false;
    std::string origin{};  ///< who named it, as in "--store" or "LEASEHOLD_STORE"
};

/// The first that is said: --store, --store-file or --local, of which there may be one; LEASEHOLD_STORE, LEASEHOLD_STORE_FILE,
/// the host's own file. Never a store that nobody has named: hosts that each lock a file of their own exclude nobody.
/// Makes the folder of the local file; touches no database. Throws failure.
[[nodiscard]] chosen_store choose_store(const asked_store& asked);

/// The file with the store of everybody on this host who names none: LEASEHOLD_DEFAULT_STORE_FILE, or /etc/leasehold.store.
/// Throws failure where the variable is empty.
[[nodiscard]] std::string default_store_file();

/// What may be shown of a connection string: the values of keywords that are known to be no secret.
[[nodiscard]] std::string without_secrets(std::string_view connection_string);

/// The same for a terminal: what it would obey or hide is escaped.
[[nodiscard]] std::string shown(std::string_view connection_string);

/// The connection string in a file's text: its first line that is neither empty nor begins with a #; empty where there is none.
/// Throws failure (exit_code::usage), naming the line, for a line with a NUL.
[[nodiscard]] std::string connection_string_in(std::string_view file_text);

}  // namespace tool

#endif
