// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_CONFIG_HPP
#define LEASEHOLD_DETAIL_CONFIG_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

/// Define LEASEHOLD_SEPARATE_COMPILATION for the whole program, and include <leasehold/odbc/src.hpp> in one file of it, to compile
/// what is no template once instead of in each file. The CMake option of that name does both.
#ifdef LEASEHOLD_SEPARATE_COMPILATION
#define LEASEHOLD_DECL
#else
#define LEASEHOLD_DECL inline
#endif

#endif
