// SPDX-License-Identifier: BSL-1.0
#include "message.hpp"

#include <unistd.h>

namespace tool {

namespace {

loudness chosen = loudness::normal;

void write_line(std::string_view text)
{
    constexpr std::string_view prefix = "leasehold: ";
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());  // the library's own messages have it
    const std::string line = std::string{prefix}.append(text).append("\n");
    std::string_view left = line;
    while (!left.empty()) {
        const ssize_t written = ::write(STDERR_FILENO, left.data(), left.size());
        if (written <= 0) return;
        left.remove_prefix(static_cast<std::size_t>(written));
    }
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

std::string printable(std::string_view text)
{
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        // C1 controls are U+0080 to U+009F, two bytes of UTF-8.
        const bool c1 = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
        if (byte < 0x20 || byte == 0x7F || c1)
            result += '?';
        else
            result += text[i];
        if (c1) ++i;
    }
    return result;
}

}  // namespace tool
