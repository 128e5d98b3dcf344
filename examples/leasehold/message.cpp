// SPDX-License-Identifier: BSL-1.0
#include "message.hpp"

#include "records.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <mutex>
#include <utility>

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tool {

namespace {

loudness chosen = loudness::normal;

std::mutex mutex;  // over what is on standard error
std::size_t status_columns = 0;
bool reader_keeps_up = true;

// Nobody may be reading: the reader of a log hangs, or a terminal is held with Ctrl-S. Leases are renewed and released all the same.
constexpr std::chrono::milliseconds patience{200};

// Waits once, not for each of many messages.
bool there_is_room()
{
    pollfd errors{STDERR_FILENO, POLLOUT, 0};
    const auto at_most = reader_keeps_up ? patience : patience.zero();
    int ready = 0;
    do
        ready = ::poll(&errors, 1, static_cast<int>(at_most.count()));
    while (ready < 0 && errno == EINTR);
    reader_keeps_up = ready > 0;
    return reader_keeps_up;
}

void write_all(std::string_view left)
{
    while (!left.empty() && there_is_room()) {
        // Where a pipe has room, it has room for that much.
        const ssize_t written = ::write(STDERR_FILENO, left.data(), std::min<std::size_t>(left.size(), PIPE_BUF));
        if (written <= 0) return;
        left.remove_prefix(static_cast<std::size_t>(written));
    }
}

// Blanks, which every terminal knows, over what is to go.
std::string erasure() { return status_columns == 0 ? "" : "\r" + std::string(std::exchange(status_columns, 0), ' ') + "\r"; }

void write_line(std::string_view text)
{
    constexpr std::string_view prefix = "leasehold: ";
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());  // the library's own messages have it
    const std::lock_guard lock{mutex};
    write_all(erasure().append(prefix).append(printable(text)).append("\n"));
}

// A shell's prompt isn't drawn over by a job in its background.
bool is_in_foreground() noexcept { return ::tcgetpgrp(STDERR_FILENO) == ::getpgrp(); }

std::size_t columns_of_terminal() noexcept
{
    winsize size{};
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

void set_loudness(loudness value) noexcept { chosen = value; }

void complain(std::string_view text)
{
    if (chosen != loudness::quiet) write_line(text);
}

void explain(std::string_view text)
{
    if (chosen == loudness::verbose) write_line(text);
}

void tell(std::string_view text)
{
    if (chosen == loudness::verbose || (chosen == loudness::normal && ::isatty(STDERR_FILENO))) write_line(text);
}

bool explains() noexcept { return chosen == loudness::verbose; }

bool shows_status() noexcept { return chosen != loudness::quiet && ::isatty(STDERR_FILENO) != 0; }

void show_status(std::string_view text)
{
    if (!shows_status()) return;
    const std::lock_guard lock{mutex};
    if (!is_in_foreground()) {
        status_columns = 0;
        return;
    }
    // Not in the last column, where some terminals begin a new line.
    const std::string line = fitted("leasehold: " + printable(text), columns_of_terminal() - 1);
    const std::size_t columns = columns_of(line.substr(0, line.find_last_not_of(' ') + 1));
    write_all(erasure().append(line, 0, line.find_last_not_of(' ') + 1));
    status_columns = columns;
}

void clear_status()
{
    const std::lock_guard lock{mutex};
    write_all(erasure());
}

}  // namespace tool
