// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_THREAD_COUNT_HPP
#define LEASEHOLD_TESTS_SUPPORT_THREAD_COUNT_HPP

#include <filesystem>
#include <iterator>
#include <system_error>

namespace leasehold_test {

/// Threads of this process now; 0 where the system doesn't tell.
inline std::ptrdiff_t thread_count()
{
#if defined(_WIN32)
    return 0;  // Wine shows a /proc of its own server
#else
    std::error_code none;
    const std::filesystem::directory_iterator tasks{"/proc/self/task", none};
    return none ? 0 : std::distance(begin(tasks), end(tasks));
#endif
}

}  // namespace leasehold_test

#endif
