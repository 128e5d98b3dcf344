// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_STATIC_HOLDER_HPP
#define LEASEHOLD_TESTS_SUPPORT_STATIC_HOLDER_HPP

#include <leasehold/basic_lease.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <system_error>

namespace leasehold_test {

/// Prints its text when it is destroyed.
struct last_words {
    std::error_code error;
    ~last_words()
    {
        if (error) std::cout << error.message() << std::endl;
    }
};

/// main() of a program whose store, leases and guard are static, so that they are released after main() has returned.
///
/// Prints the token, reads a line, asks the store once more and returns. If that call fails, the last static object prints why.
template <class MakeStore>
int hold_by_static_objects(MakeStore make)
{
    using namespace std::chrono_literals;
    static last_words words;
    static auto store = make();
    static leasehold::basic_lease lease{store, "held by a static object", 30s};
    static leasehold::basic_lease locked{store, "locked by a static object", 30s};
    static auto guard = lease.try_acquire();
    locked.lock();
    std::cout << guard.token() << std::endl;
    std::string line;
    std::getline(std::cin, line);
    // The details of its failure belong to this thread, whose objects are destroyed before static ones.
    const auto record = lease.inspect(words.error);
    return record || words.error ? 0 : 1;
}

}  // namespace leasehold_test

#endif
