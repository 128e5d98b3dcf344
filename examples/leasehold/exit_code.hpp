// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_EXIT_CODE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_EXIT_CODE_HPP

namespace tool {

/// How the tool ends, where it isn't the command's own status. From 64 to 78 they are those of sysexits.h, from 126 on a
/// shell's. The manual page and docs/command.md have the same table.
namespace exit_code {

inline constexpr int success = 0;
inline constexpr int no = 1;         ///< the answer is no: see the manual page
inline constexpr int usage = 64;     ///< EX_USAGE
inline constexpr int store = 69;     ///< EX_UNAVAILABLE: the database failed
inline constexpr int internal = 70;  ///< EX_SOFTWARE: no process, memory or file for us or the command, or our helper was killed
inline constexpr int busy = 75;      ///< EX_TEMPFAIL: somebody else holds it, or the time to wait is over
inline constexpr int lost = 76;      ///< the lease was lost while the command ran
inline constexpr int overdue = 124;  ///< run --max-hold: the command ran for too long, and was ended; as that of timeout(1)
inline constexpr int unread = 141;   ///< 128 + SIGPIPE: the reader of our output has gone
inline constexpr int not_executable = 126;
inline constexpr int not_found = 127;
inline constexpr int signalled = 128;  ///< and the signal's number

}  // namespace exit_code

}  // namespace tool

#endif
