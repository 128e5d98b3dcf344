// SPDX-License-Identifier: BSL-1.0
#include "wording.hpp"

#include "commands.hpp"
#include "duration_text.hpp"
#include "exit_code.hpp"
#include "failure.hpp"
#include "message.hpp"

#include <leasehold/limits.hpp>
#include <leasehold/owner_id/random_owner_id.hpp>

#include <cstring>

namespace tool {

std::string owner_text(const std::string& label)
{
    const std::string unique = leasehold::random_owner_id{}.id();
    if (label.empty()) return unique;
    const std::string random = unique.substr(unique.rfind('/') + 1);
    const std::size_t room = leasehold::max_owner_bytes - random.size() - 1;
    if (label.size() > room)
        throw failure{exit_code::usage, "--owner is longer than the allowed " + std::to_string(room) + " bytes"};
    std::string owner = label + "/" + random;
    leasehold::validate_owner(owner);
    return owner;
}

std::string held_by(const leasehold::lease_record& record)
{
    const std::string time = to_short_text(record.remaining);
    if (record.owner.empty()) return "released, and kept closed for " + time + " more";
    if (record.is_hold())
        return "held closed for " + time + " more" + (record.hold_reason().empty() ? "" : ": " + printable(record.hold_reason()));
    if (record.is_count()) return "the record of the count, " + record.owner + ", for " + time + " more, if not renewed";
    return "held by " + printable(record.owner) + " for " + time + " more, if not renewed";
}

std::string describe_loss(const std::string& name, std::error_code outage)
{
    return "the lease " + name + " is lost: " +
           (outage ? "it could not be renewed in time (" + outage.message() + ")" : "it ran out or was taken away") +
           "; the command is asked to end";
}

std::vector<std::string> describe_end(const std::string& name, const std::string& command, const command_end& end)
{
    using kind = command_end::kind;
    std::vector<std::string> says;
    if (end.how == kind::not_started) says.push_back("can't run " + printable(command) + ": " + std::strerror(end.error));
    if (end.how == kind::keeper_gone) says.emplace_back("the process that supervises the command was killed, and the command with it");
    if ((end.notes & had_to_be_killed) != 0) says.emplace_back("the command did not end in time, and was killed");
    if ((end.notes & leaves_others) != 0)
        says.push_back("the command has left processes running, which continue without the lease " + name);
    return says;
}

int report_bad_command(const std::string& command, int status)
{
    complain(printable(command) + (status == exit_code::not_found ? ": command not found" : ": can't be executed"));
    return status;
}

}  // namespace tool
