// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_OUTPUT_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_OUTPUT_HPP

#include <poll.h>
#include <unistd.h>

namespace tool {

/// Whether the reader of our standard output, such as `head -1`, has seen enough and gone.
[[nodiscard]] inline bool nobody_reads_output() noexcept
{
    pollfd output{STDOUT_FILENO, 0, 0};
    return ::poll(&output, 1, 0) > 0 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace tool

#endif
