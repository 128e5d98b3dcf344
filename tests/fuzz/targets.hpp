// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_FUZZ_TARGETS_HPP
#define LEASEHOLD_TESTS_FUZZ_TARGETS_HPP

#include <array>
#include <string_view>

namespace fuzz {

// Each is a file of this folder. The input comes from libFuzzer, or from corpus/.
void command_line(std::string_view input);
void durations(std::string_view input);
void errors(std::string_view input);
void identifiers(std::string_view input);
void json(std::string_view input);
void metrics(std::string_view input);
void secrets(std::string_view input);
void store_file(std::string_view input);
void texts(std::string_view input);

struct target {
    std::string_view name;
    void (*check)(std::string_view input);
};

inline constexpr std::array<target, 9> targets{{{"command_line", command_line},
                                                {"durations", durations},
                                                {"errors", errors},
                                                {"identifiers", identifiers},
                                                {"json", json},
                                                {"metrics", metrics},
                                                {"secrets", secrets},
                                                {"store_file", store_file},
                                                {"texts", texts}}};

}  // namespace fuzz

#endif
