// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_DIAGNOSTICS_HPP
#define LEASEHOLD_STORE_DIAGNOSTICS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <string>

namespace leasehold::inline v0 {

/// The details behind a store's error code.
struct store_diagnostics {
    std::string sqlstate;        ///< five characters, or empty if the store has none
    int native_error = 0;        ///< the database's own error number
    std::string advice;          ///< the store's own words: what went wrong and what to do about it; may be empty
    /// The server's or driver's words, which may repeat what was sent to it. odbc_store hides secrets of the connection
    /// string in it (see there), and escapes control, bidirectional and invisible characters.
    std::string server_message;
};

}  // namespace leasehold::inline v0

#endif
