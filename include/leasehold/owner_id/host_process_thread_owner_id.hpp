// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_OWNER_ID_HOST_PROCESS_THREAD_OWNER_ID_HPP
#define LEASEHOLD_OWNER_ID_HOST_PROCESS_THREAD_OWNER_ID_HPP

#include <leasehold/detail/host.hpp>
#include <leasehold/owner_id/concept.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <thread>

namespace leasehold::inline v0 {

/// Host, process and the thread that constructs the lease, as in "db1:4711:139872".
///
/// For people who look for the process in a list. Not unique for ever: a process id comes round again, and in containers
/// it is often 1, so give containers host names of their own, or use random_owner_id.
struct host_process_thread_owner_id {
    /// See owner_id.
    [[nodiscard]] std::string id() const
    {
        const std::size_t thread = std::hash<std::thread::id>{}(std::this_thread::get_id());
        const std::string host = detail::host_prefix();
        return (host.empty() ? "localhost" : host) + ":" + std::to_string(detail::process_id()) + ":" + std::to_string(thread);
    }
};

}  // namespace leasehold::inline v0

#endif
