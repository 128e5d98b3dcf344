// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_COMPILED_ONCE_HPP
#define LEASEHOLD_ODBC_DETAIL_COMPILED_ONCE_HPP

#include <leasehold/basic_lease.hpp>
#include <leasehold/odbc/odbc_store.hpp>

// Templates whose usual instance is compiled with the definitions of odbc/src.hpp.
#ifdef LEASEHOLD_SEPARATE_COMPILATION
namespace leasehold::inline v0 {

extern template class renewal::engine<steady_clock>;
extern template class renewal::term_keeper<odbc_store, steady_clock, renew_at_fraction>;
extern template class renewal::term_renewals<renewal::term_keeper<odbc_store, steady_clock, renew_at_fraction>>;
extern template class renewal::lost_terms<renewal::term_keeper<odbc_store, steady_clock, renew_at_fraction>>;
extern template class renewal::handover_requests<renewal::term_keeper<odbc_store, steady_clock, renew_at_fraction>>;
extern template class lease_guard<basic_lease<odbc_store>>;
extern template class detail::lease_attempts<basic_lease<odbc_store>>;
extern template class basic_lease<odbc_store>;

}  // namespace leasehold::inline v0
#endif

#endif
