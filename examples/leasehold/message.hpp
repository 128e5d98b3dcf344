// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_MESSAGE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_MESSAGE_HPP

#include <leasehold/detail/printable.hpp>

#include <cstdint>
#include <string_view>

namespace tool {

enum class loudness : std::uint8_t { quiet, normal, verbose };

/// What the tool itself has to say: lines on standard error, each with `leasehold: ` in front, whole in one write, so that
/// they don't tear the command's own. What nobody reads in time is dropped. Set once, before there are threads.
void set_loudness(loudness value) noexcept;

/// A failure of the tool's own: always said, unless --quiet.
void complain(std::string_view text);
/// Said with --verbose only.
void explain(std::string_view text);
/// An answer that is no failure: said with --verbose, and to a person at a terminal. Cron mails what a job says.
void tell(std::string_view text);

/// Whether explain() says anything.
[[nodiscard]] bool explains() noexcept;

/// What happens now: one line of a terminal, which the next one takes the place of, and any message. Nothing elsewhere.
void show_status(std::string_view text);
void clear_status();
[[nodiscard]] bool shows_status() noexcept;

/// Names, owners and servers' words come from elsewhere: what a terminal would obey, or would show as nothing, is escaped.
/// All of the above do it by themselves.
using leasehold::detail::printable;

}  // namespace tool

#endif
