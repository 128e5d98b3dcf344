// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_LIVE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_LIVE_HPP

#include "signal_inbox.hpp"

#include <leasehold/duration.hpp>

#include <string>

namespace tool {

/// By this host's clock, as in "14:05:09".
[[nodiscard]] std::string time_of_day();

/// As ISO 8601 has it, by this host's clock in UTC.
[[nodiscard]] std::string timestamp();

/// Waits until a signal came, the reader of the output has gone, a key if `keys`, or the time is over.
void wait_for(signal_inbox& signals, bool keys, leasehold::duration time, bool& key);

}  // namespace tool

#endif
