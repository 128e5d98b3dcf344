// SPDX-License-Identifier: BSL-1.0
#include "command_path.hpp"
#include "commands.hpp"
#include "duration_text.hpp"
#include "keeper.hpp"
#include "message.hpp"
#include "metrics_file.hpp"
#include "opened_store.hpp"
#include "service_manager.hpp"
#include "signal_inbox.hpp"
#include "supervise.hpp"
#include "wait_line.hpp"
#include "wording.hpp"

#include <leasehold/detail/checkpoint_since.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/leasehold.hpp>

#include <algorithm>
#include <chrono>
#include <list>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace tool {

namespace {

using named_lease = lh::basic_lease<counted_store, lh::steady_clock, lh::fixed_owner_id>;

/// How often somebody who waits for several leases asks again, where none of them says how long.
constexpr std::chrono::milliseconds between_attempts{20};

/// What is the same whatever the command is run under.
struct run_scene {
    const run_options& options;
    const std::string& owner;
    const chosen_terms& terms;
    const keeper& command;
    signal_inbox& signals;
    opened_store& store;
    service_manager& manager;
};

std::string quoted(const std::string& name) { return "'" + printable(name) + "'"; }

/// One attempt, or a wait with a line that shows who holds `seen`.
template <class TryOnce, class Wait>
auto acquire(const run_scene& at, const std::string& seen, TryOnce try_once, Wait wait)
{
    if (at.options.wait && *at.options.wait <= lh::duration::zero()) return try_once();
    at.manager.status("waiting for " + quoted(at.options.name));
    const wait_notice told{{.name = at.options.name, .at_most = at.options.wait}, holder_of(at.store, seen)};
    return wait(at.signals.asked_to_end());
}

int report_busy(const run_scene& at, const std::string& held_name, const std::string& otherwise)
{
    std::error_code ignored;
    const auto held = at.store->inspect(held_name, ignored);
    tell(held ? quoted(held->name) + " is " + held_by(*held) : otherwise);
    return at.options.busy_status;
}

// The command's status, unless the lease was lost under it. Releases before it says anything: others wait for the lease, and nobody may
// be reading.
template <class Guard>
int finish(Guard& guard, const command_end& end, const run_options& options)
{
    const std::string name = quoted(options.name);
    std::error_code ec;
    if (end.how != command_end::kind::ended) lh::detail::lease_access::forget_min_hold(guard);  // the work is still to be done
    const lh::release_outcome released = end.lost() ? lh::release_outcome::lost : guard.release(ec);
    for (const std::string& each : describe_end(name, options.command.front(), end)) complain(each);
    if (end.lost()) return exit_code::lost;
    if (ec)
        complain("can't release " + name + "; it ends by itself within " + to_text(options.terms.ttl) + ": " + ec.message());
    if (!ec && released == lh::release_outcome::lost) {
        complain(name + " was taken away or ran out before the command ended with status " +
                 std::to_string(end.shell_status()));
        return exit_code::lost;
    }
    return end.shell_status();
}

template <class Guard>
std::error_code outage_of(const Guard& guard)
{
    if constexpr (requires { guard.renewal_error(); })
        return guard.renewal_error();
    else
        return {};
}

/// Runs the command under the guard; without one, reports what is busy: `busy()` is the exit status.
template <class Guard, class Busy>
int run_under(const run_scene& at, Guard guard, lh::fencing_token token, std::string_view held_name, Busy busy,
              std::vector<lh::fencing_token> tokens = {}, std::optional<std::size_t> number = {},
              std::vector<std::size_t> numbers = {})
{
    if (at.signals.ended_by() != 0) {
        at.manager.stopping("asked to end by a signal");
        lh::detail::lease_access::forget_min_hold(guard);
        return exit_code::signalled + at.signals.ended_by();
    }
    if (!guard.held()) return busy();
    const std::string held_with = quoted(std::string{held_name}) + " is held by this host, with token " + std::to_string(token.value());
    explain(held_with + ", as " + printable(at.owner));
    at.manager.ready(held_with);
    std::stop_token asked;
    if constexpr (requires { guard.handover_token(); })
        if (at.options.handover_signal != 0) asked = guard.handover_token();
    std::optional<std::string> checkpoint;  // a failure to read it counts: without it the command would start over
    if constexpr (requires { guard.load_checkpoint(); }) {
        if (const auto saved = guard.load_checkpoint()) checkpoint = lh::detail::own_text(*saved);
    } else if (at.options.of != right::all_leases && numbers.empty()) {
        std::error_code ec;
        const auto saved = lh::detail::checkpoint_since(*at.store, held_name, token, ec);
        if (ec) lh::detail::raise_store_failure(*at.store, ec, "checkpoint", held_name);
        if (saved) checkpoint = lh::detail::own_text(saved->text);
    }
    running_term term{
        token, guard.stop_token(), [&guard] { return guard.remaining(); },
        [&guard, &at] {
            const std::string loss = describe_loss(quoted(at.options.name), outage_of(guard));
            complain(loss);
            at.manager.stopping(loss);
        },
        std::move(tokens), number, std::move(asked),
        at.options.handover_signal, std::move(checkpoint)};
    term.numbers = std::move(numbers);
    term.max_hold = at.options.max_hold;
    const command_end end = supervise(at.command, at.signals, term);
    at.manager.stopping("the command has ended");
    return finish(guard, end, at.options);
}

int run_under_lease(const run_scene& at)
{
    named_lease lease{*at.store, at.options.name, at.terms.lease, lh::fixed_owner_id{at.owner}};
    auto guard = acquire(at, at.options.name, [&] { return lease.try_acquire(); }, [&](const std::stop_token& stop) {
        return at.options.wait ? lease.try_acquire_for(*at.options.wait, stop) : lease.acquire(stop);
    });
    const lh::fencing_token token = guard.empty() ? lh::fencing_token{} : guard.token();
    return run_under(at, std::move(guard), token, at.options.name,
                     [&] { return report_busy(at, at.options.name, quoted(at.options.name) + " was held by somebody else"); });
}

using named_permits = lh::lease_semaphore<counted_store, lh::steady_clock, lh::fixed_owner_id>;

int run_under_several_permits(const run_scene& at, named_permits& permits)
{
    const std::size_t several = at.options.take;
    auto taken = acquire(at, {}, [&] { return permits.try_acquire(several); }, [&](const std::stop_token& stop) {
        return at.options.wait ? permits.try_acquire_for(*at.options.wait, several, stop) : permits.acquire(several, stop);
    });
    const auto busy = [&] {
        tell("fewer than " + std::to_string(several) + " of the " + std::to_string(permits.count()) + " permits of " +
             quoted(at.options.name) + " are free");
        return at.options.busy_status;
    };
    if (taken.empty()) return run_under(at, std::move(taken), {}, {}, busy);
    const std::vector<lh::fencing_token> tokens = taken.tokens();
    const std::vector<std::size_t> numbers = taken.indexes();
    return run_under(at, std::move(taken), tokens.front(), at.options.name, busy, tokens, {}, numbers);
}

int run_under_permit(const run_scene& at)
{
    const lh::semaphore_options options{.on_other_count = at.options.follow ? lh::on_other_count::follow : lh::on_other_count::refuse};
    named_permits permits{*at.store, at.options.name, at.options.permits, at.terms.lease, lh::fixed_owner_id{at.owner}, options};
    if (at.options.take > 0) return run_under_several_permits(at, permits);
    auto permit = acquire(at, {}, [&] { return permits.try_acquire(); }, [&](const std::stop_token& stop) {
        return at.options.wait ? permits.try_acquire_for(*at.options.wait, stop) : permits.acquire(stop);
    });
    const auto busy = [&] {
        tell("all " + std::to_string(permits.count()) + " permits of " + quoted(at.options.name) + " are held");
        return at.options.busy_status;
    };
    if (permit.empty()) return run_under(at, std::move(permit), {}, {}, busy);
    const std::string name{permit.name()};
    const std::size_t index = permit.index();
    const lh::fencing_token token = permit.token();
    return run_under(at, std::move(permit), token, name, busy, {}, index);
}

int run_under_shared_lease(const run_scene& at)
{
    lh::shared_lease shared{*at.store, at.options.name, at.terms.lease, lh::fixed_owner_id{at.owner}};
    const std::string writer = at.options.name + "/writer";
    const auto busy = [&] { return report_busy(at, writer, quoted(at.options.name) + " is held by others"); };
    if (at.options.of == right::writer) {
        auto guard = acquire(at, writer, [&] { return shared.try_acquire(); }, [&](const std::stop_token& stop) {
            return at.options.wait ? shared.try_acquire_for(*at.options.wait, stop) : shared.acquire(stop);
        });
        const lh::fencing_token token = guard.empty() ? lh::fencing_token{} : guard.token();
        return run_under(at, std::move(guard), token, writer, busy);
    }
    auto guard = acquire(at, writer, [&] { return shared.try_acquire_shared(); }, [&](const std::stop_token& stop) {
        return at.options.wait ? shared.try_acquire_shared_for(*at.options.wait, stop) : shared.acquire_shared(stop);
    });
    if (guard.empty()) return run_under(at, std::move(guard), {}, {}, busy);
    const std::string name{guard.name()};
    const std::size_t index = guard.index();
    const lh::fencing_token token = guard.token();
    return run_under(at, std::move(guard), token, name, busy, {}, index);
}

/// Which of them somebody else holds; null: none, as it was then.
named_lease* first_busy(std::list<named_lease>& leases)
{
    const auto busy = std::ranges::find_if(leases, [](named_lease& each) { return each.inspect().has_value(); });
    return busy == leases.end() ? nullptr : &*busy;
}

/// Waits in line for the one that is busy, and gives it back at once. Nothing has run under it, so it is not kept closed.
void wait_for_one(const run_scene& at, const named_lease& busy, lh::time_point until, const std::stop_token& stop)
{
    lh::lease_terms in_passing = at.terms.lease;
    in_passing.min_hold = {};
    named_lease passed{*at.store, busy.name(), in_passing, lh::fixed_owner_id{at.owner}};
    static_cast<void>(passed.try_acquire_until(until, stop));
}

/// Holds nothing while it waits: for the first that is busy, and then it asks for all again.
auto wait_for_all(const run_scene& at, std::list<named_lease>& leases, const std::stop_token& stop)
{
    const std::optional<lh::duration>& at_most = at.options.wait;
    const lh::steady_clock clock;
    const lh::time_point until = at_most && *at_most < lh::time_point::max() - clock.now() ? clock.now() + *at_most : lh::time_point::max();
    for (;;) {
        auto all = lh::try_acquire_all(leases);
        const lh::duration left = until - clock.now();
        if (!all.empty() || stop.stop_requested() || left <= lh::duration::zero()) return all;
        if (const named_lease* busy = first_busy(leases))
            wait_for_one(at, *busy, until, stop);
        else
            std::this_thread::sleep_for(std::min<lh::duration>(between_attempts, left));
    }
}

int run_under_all(const run_scene& at)
{
    std::list<named_lease> leases;
    for (const std::string& name : at.options.names) leases.emplace_back(*at.store, name, at.terms.lease, lh::fixed_owner_id{at.owner});
    auto guard = acquire(at, {}, [&] { return lh::try_acquire_all(leases); },
                         [&](const std::stop_token& stop) { return wait_for_all(at, leases, stop); });
    std::vector<lh::fencing_token> tokens;
    if (!guard.empty())
        for (const auto& each : guard.guards()) tokens.push_back(each.token());
    const auto busy = [&] {
        const named_lease* held = first_busy(leases);
        return report_busy(at, std::string{(held ? *held : leases.front()).name()},
                           "one of " + quoted(at.options.name) + " was held by somebody else");
    };
    const lh::fencing_token first = tokens.empty() ? lh::fencing_token{} : tokens.front();
    return run_under(at, std::move(guard), first, at.options.name, busy, tokens);
}

/// What the command gets as LEASEHOLD_NAME, but for the number: the lease that its token belongs to.
std::string name_for_command(const run_options& options)
{
    switch (options.of) {
    case right::permit: return options.name + "/";
    case right::reader: return options.name + "/r";
    case right::writer: return options.name + "/writer";
    default: return options.name;
    }
}

}  // namespace

int run(const run_options& options, const asked_store& store)
{
    if (options.of != right::all_leases) lh::validate_name(options.name);
    for (const std::string& each : options.names) lh::validate_name(each);
    const std::string owner = owner_text(options.owner);
    const chosen_terms terms = choose_terms(options.terms);
    if (const int status = check_command(options.command.front()); status != 0)
        return report_bad_command(options.command.front(), status);
    const chosen_store chosen = choose_store(store);

    // In this order: signals are blocked in every thread, and the keeper inherits neither threads nor connections, nor the
    // service manager.
    service_manager manager;
    const blocked_signals blocked;
    const keeper command{{options.command, name_for_command(options), owner, terms.kill_after, blocked.before()}};
    signal_inbox signals{blocked, true};
    const std::stop_callback tell_manager{signals.asked_to_end(), [&] { manager.asked_to_end(signals.ended_by()); }};
    std::optional<metrics_file> counts;
    if (options.metrics_file) counts.emplace(*options.metrics_file);
    opened_store opened{chosen, terms.call_timeout, counts ? &*counts : nullptr};

    const run_scene at{options, owner, terms, command, signals, opened, manager};
    switch (options.of) {
    case right::permit: return run_under_permit(at);
    case right::reader:
    case right::writer: return run_under_shared_lease(at);
    case right::all_leases: return run_under_all(at);
    default: return run_under_lease(at);
    }
}

}  // namespace tool
