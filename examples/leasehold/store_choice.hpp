// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_STORE_CHOICE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_STORE_CHOICE_HPP

#include <string>
#include <string_view>

namespace tool {

/// Where the leases are to be, as far as it was said; empty: not said.
struct asked_store {
    std::string store{};  ///< a connection string, or the name of a data source
    std::string file{};   ///< that has the connection string in it
    std::string table{};
};

struct chosen_store {
    std::string connection_string;
    std::string table = "leasehold";
    bool is_default = false;  ///< the SQLite file in the user's state folder
};

/// The first that is there: --store, --store-file, LEASEHOLD_STORE, LEASEHOLD_STORE_FILE, an SQLite file of the user's own.
/// Makes that file's folder; touches no database. Throws failure.
[[nodiscard]] chosen_store choose_store(const asked_store& asked);

/// What may be shown of a connection string: the values of keywords that are known to be no secret.
[[nodiscard]] std::string shown(std::string_view connection_string);

/// The connection string in a file's text: its first line that is neither empty nor begins with a #.
[[nodiscard]] std::string connection_string_in(std::string_view file_text);

}  // namespace tool

#endif
