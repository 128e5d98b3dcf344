// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_OWNER_ID_HOST_PROCESS_THREAD_OWNER_ID_HPP
#define LEASEHOLD_OWNER_ID_HOST_PROCESS_THREAD_OWNER_ID_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/host.hpp>
#include <leasehold/owner_id/concept.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <thread>

namespace leasehold::inline v0 {

/// Host, process and the thread that constructs the lease, so that people can find the process in a list, and 128 random
/// bits, new at each call: "db1:4711:139872/8f0c...".
///
/// Any two lease objects exclude each other, also on one thread, and also if process ids are reused or are always 1.
/// May throw what std::random_device throws if there is no source of random numbers.
struct host_process_thread_owner_id {
    /// See owner_id.
    [[nodiscard]] std::string id() const
    {
        const std::size_t thread = std::hash<std::thread::id>{}(std::this_thread::get_id());
        const std::string where = ":" + std::to_string(detail::process_id()) + ":" + std::to_string(thread);
        // If the host's name is too long, cut the name, not the part after it.
        return detail::unique_owner(detail::host_prefix().substr(0, room_for_host) + where);
    }

private:
    static constexpr std::size_t room_for_host = 115;
};

}  // namespace leasehold::inline v0

#endif
