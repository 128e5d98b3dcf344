// error: raise_invalid|call to consteval function
// note: raise_invalid
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/limits.hpp>

#ifdef LEASEHOLD_COMPILE_OK
const auto name = leasehold::checked_name("pump");
#else
const auto name = leasehold::checked_name({"pu\0p", 4});
#endif
