// SPDX-License-Identifier: BSL-1.0

// leasehold, the command: runs commands on one of several hosts at a time. `leasehold --help` and docs/command.md.
#include "command_line.hpp"
#include "exit_code.hpp"
#include "failure.hpp"
#include "message.hpp"
#include "output.hpp"

#include <leasehold/error.hpp>

#include <exception>
#include <iostream>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace {

int report(const std::system_error& error)
{
    tool::complain(error.what());
    if (error.code() == leasehold::errc::held_closed) return tool::exit_code::busy;
    return error.code() == std::errc::invalid_argument ? tool::exit_code::usage : tool::exit_code::internal;
}

// If a standard stream is closed, what is opened next would get its number: messages would be written into the keeper's socket, or to
// the database. The root folder can be neither read nor written, so that using the stream fails as before. The command does not
// inherit it.
void reserve_standard_streams() noexcept
{
    for (const int each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(each, F_GETFD) < 0) static_cast<void>(::open("/", O_RDONLY | O_CLOEXEC));
}

}  // namespace

int main(int argc, char** argv)
{
    reserve_standard_streams();
    try {
        const auto asked = tool::understand({argv + 1, argv + argc});
        tool::hide_passwords(argc, argv);
        const int status = asked();
        if (std::cout.flush()) return status;
        if (tool::nobody_reads_output()) return tool::exit_code::unread;
        throw tool::failure{tool::exit_code::internal, "can't write to standard output"};
    } catch (const tool::failure& error) {
        tool::complain(error.what());
        return error.status();
    } catch (const leasehold::store_error& error) {
        tool::complain(tool::words_of(error));
        return tool::exit_code::store;
    } catch (const std::system_error& error) {
        return report(error);
    } catch (const std::exception& error) {
        tool::complain(error.what());
        return tool::exit_code::internal;
    }
}
