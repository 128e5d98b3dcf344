// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_OPENED_STORE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_OPENED_STORE_HPP

#include "metrics_file.hpp"
#include "store_choice.hpp"
#include "wait_line.hpp"

#include <leasehold/duration.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <leasehold/store/hooked_store.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <system_error>
#include <utility>

namespace tool {

namespace lh = leasehold;

/// Counts what a store and its leases do, if anybody wants to know.
struct counting_hook {
    metrics_file* into = nullptr;

    void operator()(const lh::store_call& call, const lh::store_call_report& report) const noexcept
    {
        if (into) into->count(call, report);
    }
    void operator()(const lh::lease_event& event) const noexcept
    {
        if (into) into->count(event);
    }
};

/// What the tool's leases are in.
using counted_store = lh::hooked_store<lh::odbc_store, counting_hook>;

/// The store of a choice. The user's own file gets its table by itself; a shared database only by `leasehold init`.
class opened_store {
public:
    explicit opened_store(const chosen_store& chosen, lh::duration call_timeout = std::chrono::seconds{5}, metrics_file* counts = nullptr)
        : store_{chosen.connection_string,
                 lh::odbc_options{.call_timeout = call_timeout, .table = chosen.table, .session_locks = chosen.session_locks}},
          counted_{store_, counting_hook{counts}}
    {
        if (chosen.is_local) store_.create_schema();
    }

    /// For leases.
    [[nodiscard]] counted_store& operator*() noexcept { return counted_; }
    /// For what a lease does not need. Not counted.
    [[nodiscard]] lh::odbc_store* operator->() noexcept { return &store_; }

private:
    lh::odbc_store store_;
    counted_store counted_;
};

/// A look at who holds `name`, for those who tell it while others wait.
[[nodiscard]] inline std::function<wait_notice::answer()> holder_of(opened_store& store, const std::string& name)
{
    return [&store, name]() -> wait_notice::answer {
        std::error_code ec;
        auto record = store->inspect(name, ec);
        return ec ? wait_notice::answer{} : wait_notice::answer{std::move(record)};
    };
}

}  // namespace tool

#endif
