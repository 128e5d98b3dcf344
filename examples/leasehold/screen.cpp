// SPDX-License-Identifier: BSL-1.0
#include "screen.hpp"

#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace tool {

namespace {

void write_all(std::string_view text) noexcept
{
    while (!text.empty()) {
        const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
        if (written <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace

screen::screen() : has_modes_{::tcgetattr(STDIN_FILENO, &before_) == 0} { enter(); }

screen::~screen() { leave(); }

void screen::enter() noexcept
{
    if (has_modes_) {
        termios quiet = before_;
        quiet.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO));
        ::tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
    }
    write_all("\033[?1049h\033[?25l\033[2J");
}

void screen::leave() noexcept
{
    write_all("\033[?25h\033[?1049l");
    if (has_modes_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

screen::extent screen::size() const noexcept
{
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {80, 24};
    return {size.ws_col, size.ws_row};
}

void screen::show(const std::vector<std::string>& lines) const
{
    std::string text{"\033[H"};
    for (std::size_t i = 0; i < lines.size(); ++i) text += (i > 0 ? "\r\n" : "") + lines[i] + "\033[K";
    write_all(text + "\033[J");
}

}  // namespace tool
