// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_MESSAGE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_MESSAGE_HPP

#include <cstdint>
#include <string>
#include <string_view>

namespace tool {

enum class loudness : std::uint8_t { quiet, normal, verbose };

/// What the tool itself has to say: lines on standard error, each with `leasehold: ` in front, whole in one write, so that
/// they don't tear the command's own. Set once, before there are threads.
void set_loudness(loudness value) noexcept;

/// A failure of the tool's own: always said, unless --quiet.
void complain(std::string_view text);
/// Said with --verbose only.
void explain(std::string_view text);
/// An answer that is no failure: said with --verbose, and to a person at a terminal. Cron mails what a job says.
void tell(std::string_view text);

/// Names and owners come from elsewhere: what a terminal would take for an order, or would break a line, becomes `?`.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace tool

#endif
