// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_SCALE_PROCESSOR_TIME_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_SCALE_PROCESSOR_TIME_HPP

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

namespace scale {

/// Of this process so far, in seconds.
inline double own_processor_time()
{
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Of a server and the processes it has started and that still run, in seconds.
inline double processor_time_of(pid_t server)
{
    std::map<long, std::pair<long, double>> all;  // parent and time
    for (const auto& entry : std::filesystem::directory_iterator{"/proc"}) {
        const std::string name = entry.path().filename();
        long pid = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
        std::ifstream file{entry.path() / "stat"};
        std::string text((std::istreambuf_iterator<char>(file)), {});
        const auto end_of_name = text.rfind(')');
        if (end_of_name == std::string::npos) continue;
        std::istringstream fields{text.substr(end_of_name + 1)};
        std::string state, ignored;
        long parent = 0;
        double user = 0, system = 0;
        fields >> state >> parent;
        for (int i = 0; i < 9; ++i) fields >> ignored;
        fields >> user >> system;
        all[pid] = {parent, (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK))};
    }
    double sum = 0;
    for (const auto& [pid, of] : all)
        for (long at = pid; at > 1 && all.contains(at); at = all[at].first)
            if (at == server) {
                sum += of.second;
                break;
            }
    return sum;
}

}  // namespace scale

#endif
