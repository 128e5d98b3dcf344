// SPDX-License-Identifier: BSL-1.0
// What libFuzzer calls, for the one target that LEASEHOLD_FUZZ_TARGET names.
#include "targets.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::LEASEHOLD_FUZZ_TARGET(size == 0 ? std::string_view{}
                                          : std::string_view{reinterpret_cast<const char*>(data), size});
    return 0;
}
