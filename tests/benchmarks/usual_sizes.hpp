// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_USUAL_SIZES_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_USUAL_SIZES_HPP

#include <string>
#include <utility>
#include <vector>

namespace leasehold_test {

// The tests' servers are made small, so that many of them start quickly; MariaDB with a redo log of 8 MB makes a checkpoint
// all the time. What is measured runs on servers as they come: these are the defaults of the two, after `others`.

inline std::vector<std::string> mariadb_of_usual_size(std::vector<std::string> others = {})
{
    others.insert(others.end(), {"--innodb-log-file-size=96M", "--innodb-buffer-pool-size=128M"});
    return others;
}

inline std::vector<std::string> postgresql_of_usual_size(std::vector<std::string> others = {})
{
    others.insert(others.end(), {"-c", "shared_buffers=128MB"});
    return others;
}

}  // namespace leasehold_test

#endif
