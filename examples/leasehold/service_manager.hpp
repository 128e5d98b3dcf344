// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_SERVICE_MANAGER_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_SERVICE_MANAGER_HPP

#include <atomic>
#include <string>
#include <string_view>

namespace tool {

/// The service manager that has started the tool, such as systemd, and is told how it is: sd_notify(3) without its library.
///
/// It listens on the datagram socket that NOTIFY_SOCKET names. Without one, nothing is told to anybody. The constructor removes
/// the variable, for it is the tool that is the service, not its command: so it is made before the keeper.
///
/// Nothing here fails, or takes long: what a manager does not read in time is dropped. Thread safety: any thread may call
/// any function.
class service_manager {
public:
    service_manager();
    service_manager(const service_manager&) = delete;
    service_manager& operator=(const service_manager&) = delete;
    ~service_manager() = default;

    /// One line for people.
    void status(std::string_view text);
    /// Once: units that wait for the service start.
    void ready(std::string_view text);
    /// The first time only, so that the manager shows what came first.
    void stopping(std::string_view text);
    /// The same for a signal, but for SIGHUP: many commands only read their configuration again, and go on.
    void asked_to_end(int signal);

private:
    void send(std::string_view state, std::string_view text) const;

    std::string socket_;
    std::atomic<bool> stopping_ = false;
};

}  // namespace tool

#endif
