// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_VERSION_HPP
#define LEASEHOLD_VERSION_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

// The only place that states the version: CMake and the packages read it from here.
#define LEASEHOLD_VERSION_MAJOR 0
#define LEASEHOLD_VERSION_MINOR 2
#define LEASEHOLD_VERSION_PATCH 0

#endif
