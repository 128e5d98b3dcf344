// SPDX-License-Identifier: BSL-1.0
#include "command_path.hpp"
#include "commands.hpp"
#include "duration_text.hpp"
#include "keeper.hpp"
#include "message.hpp"
#include "opened_store.hpp"
#include "signal_inbox.hpp"
#include "supervise.hpp"
#include "wait_line.hpp"
#include "wording.hpp"

#include <leasehold/leasehold.hpp>

#include <string>
#include <system_error>

namespace tool {

namespace {

using named_lease = lh::basic_lease<lh::odbc_store, lh::steady_clock, lh::fixed_owner_id>;

named_lease::guard_type acquire(named_lease& lease, opened_store& store, const run_options& options,
                                const std::stop_token& stop)
{
    if (options.wait && *options.wait <= lh::duration::zero()) return lease.try_acquire();
    const wait_notice told{{.name = options.name, .at_most = options.wait}, holder_of(store, options.name)};
    return options.wait ? lease.try_acquire_for(*options.wait, stop) : lease.acquire(stop);
}

int report_busy(const named_lease& lease, int status)
{
    std::error_code ignored;
    const auto held = lease.inspect(ignored);
    if (held)
        tell("'" + printable(held->name) + "' is " + held_by(*held));
    else
        tell("'" + printable(lease.name()) + "' was held by somebody else");
    return status;
}

// The command's status, unless the lease was lost under it.
int finish(named_lease::guard_type& guard, const command_end& end, const run_options& options)
{
    const std::string name = "'" + printable(options.name) + "'";
    switch (end.how) {
    case command_end::kind::not_started: complain(describe_not_started(options.command.front(), end)); break;
    case command_end::kind::keeper_gone:
        complain("the process that supervises the command was killed, and the command with it");
        break;
    case command_end::kind::ended:
        if (end.lost()) {
            if ((end.notes & had_to_be_killed) != 0) complain("the command did not end in time, and was killed");
            return exit_code::lost;
        }
        if ((end.notes & leaves_others) != 0)
            complain("the command has left processes running, which continue without the lease " + name);
    }
    std::error_code ec;
    const lh::release_outcome released = guard.release(ec);
    if (ec)
        complain("can't release " + name + "; it ends by itself within " + to_text(options.terms.ttl) + ": " + ec.message());
    if (!ec && released == lh::release_outcome::lost) {
        complain(name + " was taken away or ran out before the command ended with status " +
                 std::to_string(end.shell_status()));
        return exit_code::lost;
    }
    return end.shell_status();
}

}  // namespace

int run(const run_options& options, const asked_store& store)
{
    lh::validate_name(options.name);
    const std::string owner = owner_text(options.owner);
    const chosen_terms terms = choose_terms(options.terms);
    if (const int status = check_command(options.command.front()); status != 0)
        return report_bad_command(options.command.front(), status);
    const chosen_store chosen = choose_store(store);

    // In this order: signals are blocked in every thread, and the keeper inherits neither threads nor connections.
    const blocked_signals blocked;
    const keeper command{{options.command, options.name, owner, terms.kill_after, blocked.before()}};
    signal_inbox signals{blocked, true};
    opened_store opened{chosen, terms.call_timeout};

    named_lease lease{*opened, options.name, terms.lease, lh::fixed_owner_id{owner}};
    auto guard = acquire(lease, opened, options, signals.asked_to_end());
    if (signals.ended_by() != 0) return exit_code::signalled + signals.ended_by();
    if (!guard.held()) return report_busy(lease, options.busy_status);
    explain("'" + printable(options.name) + "' is held by this host, with token " + std::to_string(guard.token().value()) +
            ", as " + printable(owner));
    const running_term term{
        guard.token(), guard.stop_token(), [&guard] { return guard.remaining(); },
        [&guard, &options] { complain(describe_loss("'" + printable(options.name) + "'", guard.renewal_error())); },
        options.handover_signal != 0 ? guard.handover_token() : std::stop_token{}, options.handover_signal};
    const command_end end = supervise(command, signals, term);
    return finish(guard, end, options);
}

}  // namespace tool
