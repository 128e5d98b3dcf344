// error: a store needs room for at least one name
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/store/static_memory_store.hpp>

#ifdef LEASEHOLD_COMPILE_OK
leasehold::static_memory_store<1> store;
#else
leasehold::static_memory_store<0> store;
#endif
