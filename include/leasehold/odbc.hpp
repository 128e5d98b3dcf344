// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_HPP
#define LEASEHOLD_ODBC_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/fence_sql.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#endif
