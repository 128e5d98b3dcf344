// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FENCE_FENCE_TERM_HPP
#define LEASEHOLD_ODBC_DETAIL_FENCE_FENCE_TERM_HPP

#include <leasehold/detail/config.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/odbc/detail/driver/handle.hpp>
#include <leasehold/odbc/detail/store_impl.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <string_view>
#include <system_error>

namespace leasehold::inline v0::odbc::detail {

// See odbc::fence(). Fills in `ec` and the details where it fails.
LEASEHOLD_DECL bool fence_term(store_impl& store, SQLHDBC connection, std::string_view name, std::string_view owner, fencing_token token,
                               std::error_code& ec, store_diagnostics& details);

}  // namespace leasehold::inline v0::odbc::detail

#ifndef LEASEHOLD_SEPARATE_COMPILATION
#include <leasehold/odbc/detail/fence/fence_src.hpp>
#endif

#endif
