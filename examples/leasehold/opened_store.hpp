// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_OPENED_STORE_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_OPENED_STORE_HPP

#include "store_choice.hpp"
#include "wait_line.hpp"

#include <leasehold/duration.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <system_error>
#include <utility>

namespace tool {

namespace lh = leasehold;

/// The store of a choice. The user's own file gets its table by itself; a shared database only by `leasehold init`.
class opened_store {
public:
    explicit opened_store(const chosen_store& chosen, lh::duration call_timeout = std::chrono::seconds{5})
        : store_{chosen.connection_string, lh::odbc_options{.call_timeout = call_timeout, .table = chosen.table}}
    {
        if (chosen.is_local) store_.create_schema();
    }

    [[nodiscard]] lh::odbc_store& operator*() noexcept { return store_; }
    [[nodiscard]] lh::odbc_store* operator->() noexcept { return &store_; }

private:
    lh::odbc_store store_;
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
