// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_BELONGINGS_HPP
#define LEASEHOLD_TESTS_SUPPORT_BELONGINGS_HPP

#include <support/thread_count.hpp>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

namespace leasehold_test {

/// What this process has, now.
struct belongings {
    std::ptrdiff_t files = 0;  // open ones
    std::ptrdiff_t threads = 0;
    std::size_t resident_kb = 0;

    static belongings now()
    {
        const std::filesystem::directory_iterator files{"/proc/self/fd"};
        std::ifstream statm{"/proc/self/statm"};
        std::size_t size = 0, resident = 0;
        statm >> size >> resident;
        return {std::distance(begin(files), end(files)), thread_count(),
                resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 1024};
    }
};

}  // namespace leasehold_test

#endif
