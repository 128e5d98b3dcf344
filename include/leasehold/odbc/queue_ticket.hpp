// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_QUEUE_TICKET_HPP
#define LEASEHOLD_ODBC_QUEUE_TICKET_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/config.hpp>

#include <memory>
#include <string_view>

namespace leasehold::inline v0::odbc {

class store_base;
namespace detail {
class waiting_ticket;
}  // namespace detail

/// The result of basic_odbc_store::enqueue(); see notifying_store.
///
/// Attempts with it queue behind those who came earlier, in this process and others. The destructor ends what waits in the
/// database; it takes at most 30 ms, and so leaves a wait behind only where the server doesn't answer.
class queue_ticket {
public:
    /// A session waits for it, with a thread: waiters that have none share a few of these tickets.
    static constexpr bool takes_thread = true;

    /// Made by basic_odbc_store::enqueue().
    LEASEHOLD_DECL queue_ticket(store_base& store, std::shared_ptr<detail::waiting_ticket> place);
    queue_ticket(const queue_ticket&) = delete;
    queue_ticket& operator=(const queue_ticket&) = delete;
    LEASEHOLD_DECL ~queue_ticket();

    /// See notifying_store.
    [[nodiscard]] LEASEHOLD_DECL std::string_view name() const noexcept;
    /// See ordered_store.
    LEASEHOLD_DECL void passed() noexcept;

private:
    friend store_base;

    store_base& store_;
    std::shared_ptr<detail::waiting_ticket> place_;
};

}  // namespace leasehold::inline v0::odbc

#endif
