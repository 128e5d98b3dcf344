// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_OPENED_STORE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_OPENED_STORE_HPP

#include "store_choice.hpp"

#include <leasehold/duration.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>

namespace tool {

namespace lh = leasehold;

/// The store of a choice. The user's own file gets its table by itself; a database of others only by `leasehold init`.
class opened_store {
public:
    explicit opened_store(const chosen_store& chosen, lh::duration call_timeout = std::chrono::seconds{5})
        : store_{chosen.connection_string, lh::odbc_options{.call_timeout = call_timeout, .table = chosen.table}}
    {
        if (chosen.is_default) store_.create_schema();
    }

    [[nodiscard]] lh::odbc_store& operator*() noexcept { return store_; }
    [[nodiscard]] lh::odbc_store* operator->() noexcept { return &store_; }

private:
    lh::odbc_store store_;
};

}  // namespace tool

#endif
