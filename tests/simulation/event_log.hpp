// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_EVENT_LOG_HPP
#define LEASEHOLD_TESTS_SIMULATION_EVENT_LOG_HPP

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace sim {

// What happened, one line per event. Lines are only made where somebody reads them; the hash is always made, and is equal
// for two runs of a seed.
class event_log {
public:
    explicit event_log(bool told) : told_{told} {}

    [[nodiscard]] bool told() const noexcept { return told_; }
    [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
    [[nodiscard]] std::uint64_t events() const noexcept { return events_; }

    // `what` and `value` go into the hash, `text()` into the line.
    template <class Text>
    void tell(std::int64_t at, std::string_view who, char what, std::int64_t value, Text&& text)
    {
        ++events_;
        mix(static_cast<std::uint64_t>(at));
        mix(static_cast<std::uint64_t>(value) * 256U + static_cast<unsigned char>(what));
        if (told_) print(at, who, text());
    }

private:
    void mix(std::uint64_t x) noexcept { hash_ = (hash_ ^ x) * 0x100000001B3ULL ^ (hash_ >> 29U); }

    static void print(std::int64_t at, std::string_view who, const std::string& text)
    {
        std::printf("%12.6f s  %-6.*s %s\n", static_cast<double>(at) / 1e9, static_cast<int>(who.size()), who.data(),
                    text.c_str());
    }

    bool told_;
    std::uint64_t hash_ = 0xCBF29CE484222325ULL;
    std::uint64_t events_ = 0;
};

inline std::string seconds(std::int64_t ns)
{
    char text[40];
    std::snprintf(text, sizeof text, "%.6f s", static_cast<double>(ns) / 1e9);
    return text;
}

}  // namespace sim

#endif
