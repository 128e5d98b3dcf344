// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_RELEASE_WATCH_HPP
#define LEASEHOLD_ODBC_RELEASE_WATCH_HPP

#include <leasehold/clock/waker.hpp>
#include <leasehold/odbc/detail/waiting_line.hpp>

#include <string>
#include <string_view>

namespace leasehold::inline v0::odbc {

/// What basic_odbc_store::watch_release() returns; see notifying_store.
///
/// While it lives, attempts at the name queue behind those who came earlier, in this process and others. The destructor ends
/// what waits in the database; it takes at most 30 ms, and so leaves a wait behind only where the server doesn't answer.
class release_watch {
public:
    /// Made by basic_odbc_store::watch_release().
    release_watch(detail::waiting_line& line, std::string_view name, waker& to_wake)
        : line_{line}, name_{name}, place_{line.enter(name, to_wake)}
    {
    }
    release_watch(const release_watch&) = delete;
    release_watch& operator=(const release_watch&) = delete;
    ~release_watch()
    {
        if (place_) line_.leave(name_, *place_);
    }

    /// True while a session of its own is in line, and lines have not been waited in in vain. False too where there is no such
    /// line (SQLite), or no session for it.
    [[nodiscard]] bool live() const { return place_ && place_->live() && line_.patience().is_whole(); }

private:
    detail::waiting_line& line_;
    std::string name_;
    detail::waiting_line::place_pointer place_;
};

}  // namespace leasehold::inline v0::odbc

#endif
