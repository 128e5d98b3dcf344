// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_RELEASE_WATCH_HPP
#define LEASEHOLD_ODBC_RELEASE_WATCH_HPP

#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/config.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace leasehold::inline v0::odbc {

namespace detail {
class place_in_line;
class waiting_line;
}  // namespace detail

/// What basic_odbc_store::watch_release() returns; see notifying_store.
///
/// While it lives, attempts at the name queue behind those who came earlier, in this process and others. The destructor ends
/// what waits in the database; it takes at most 30 ms, and so leaves a wait behind only where the server doesn't answer.
class release_watch {
public:
    /// Made by basic_odbc_store::watch_release().
    LEASEHOLD_DECL release_watch(detail::waiting_line& line, std::string_view name, waker& to_wake);
    release_watch(const release_watch&) = delete;
    release_watch& operator=(const release_watch&) = delete;
    LEASEHOLD_DECL ~release_watch();

    /// True while a session of its own is in line, and lines have not been waited in in vain. False too where there is no such
    /// line (SQLite), or no session for it.
    [[nodiscard]] LEASEHOLD_DECL bool live() const;

private:
    detail::waiting_line& line_;
    std::string name_;
    std::shared_ptr<detail::place_in_line> place_;
};

}  // namespace leasehold::inline v0::odbc

#endif
