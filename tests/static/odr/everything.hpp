// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_STATIC_ODR_EVERYTHING_HPP
#define LEASEHOLD_TESTS_STATIC_ODR_EVERYTHING_HPP

#include <leasehold/leasehold.hpp>

#if defined(LEASEHOLD_TEST_ODBC)
#include <leasehold/odbc.hpp>
#endif

#endif
