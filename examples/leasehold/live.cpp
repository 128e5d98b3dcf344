// SPDX-License-Identifier: BSL-1.0
#include "live.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

#include <poll.h>
#include <unistd.h>

namespace tool {

std::string time_of_day()
{
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm local{};
    ::localtime_r(&now, &local);
    std::array<char, 16> text{};
    std::strftime(text.data(), text.size(), "%H:%M:%S", &local);
    return text.data();
}

std::string timestamp()
{
    const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    std::tm utc{};
    ::gmtime_r(&seconds, &utc);
    std::array<char, 24> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
    std::array<char, 8> fraction{};
    std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>(now.time_since_epoch().count() % 1000));
    return std::string{text.data()} + fraction.data();
}

void wait_for(signal_inbox& signals, bool keys, leasehold::duration time, bool& key)
{
    std::array<pollfd, 3> watched{
        {{signals.descriptor(), POLLIN, 0}, {keys ? STDIN_FILENO : -1, POLLIN, 0}, {STDOUT_FILENO, 0, 0}}};
    const int found =
        ::poll(watched.data(), watched.size(), static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(time).count()));
    key = found > 0 && watched[1].revents != 0;
}

}  // namespace tool
