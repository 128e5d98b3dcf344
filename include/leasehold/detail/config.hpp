// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_CONFIG_HPP
#define LEASEHOLD_DETAIL_CONFIG_HPP

/// Define LEASEHOLD_SEPARATE_COMPILATION for the whole program, and include <leasehold/odbc/src.hpp> in one file of it, to compile
/// what is no template once instead of in each file. The CMake option of that name does both.
#ifdef LEASEHOLD_SEPARATE_COMPILATION
#define LEASEHOLD_DECL
#else
#define LEASEHOLD_DECL inline
#endif

/// What shared libraries must have in common: compared by its address or its type, it is one in all of them, also in those that
/// are built with -fvisibility=hidden.
#ifdef _WIN32
#define LEASEHOLD_SHARED
#else
#define LEASEHOLD_SHARED __attribute__((visibility("default")))
#endif

#endif
