// SPDX-License-Identifier: BSL-1.0

// Commands that run once per fire of a schedule: `run --once-per`, `run --cron`, `every`, and `last`.
#include "command_path.hpp"
#include "commands.hpp"
#include "duration_text.hpp"
#include "failure.hpp"
#include "fires_view.hpp"
#include "json.hpp"
#include "keeper.hpp"
#include "message.hpp"
#include "metrics_file.hpp"
#include "opened_store.hpp"
#include "schedule_choice.hpp"
#include "service_manager.hpp"
#include "signal_inbox.hpp"
#include "supervise.hpp"
#include "wait_line.hpp"
#include "wording.hpp"

#include <leasehold/detail/checkpoint_since.hpp>
#include <leasehold/detail/run_access.hpp>
#include <leasehold/leasehold.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <functional>
#include <iostream>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace tool {

namespace {

using named_job = lh::recurring<counted_store, chosen_schedule, lh::steady_clock, lh::fixed_owner_id>;
using named_run = named_job::run_type;
using namespace std::chrono_literals;

constexpr lh::duration for_ever = lh::duration::max();

/// Sleeps, unless it is asked to stop.
void sleep_for(lh::duration time, const std::stop_token& stop)
{
    const lh::steady_clock clock;
    const lh::time_point until = clock.now() + time;
    lh::waker wake;
    const std::stop_callback when_stopped{stop, [&wake] { wake.wake(); }};
    while (!stop.stop_requested() && clock.now() < until) clock.wait_until(wake, until);
}

class fires {
public:
    fires(const run_options& options, const std::string& owner, const chosen_terms& terms, const keeper& command, signal_inbox& signals,
          opened_store& store, service_manager& manager, metrics_file* counts)
        : options_{options}, command_{command}, signals_{signals}, store_{store}, manager_{manager},
          when_{choose_schedule(options.schedule)},
          job_{*store, options.name, when_, recurring_options_of(terms, counts), lh::fixed_owner_id{owner}}
    {
    }

    /// The fire that is due, or nearly so, if nobody else does it; with catch_up::all those that were missed before it, too.
    int run_one()
    {
        wait_for_near_fire();
        const lh::fire_time due = lh::detail::last_fire(when_, now()).value_or(lh::fire_time{});
        lh::fire_time failed = lh::no_fire;  // and was not completed since
        int status = exit_code::success;     // of that, or of the last
        for (bool first = true;; first = false) {
            auto run = begin();
            if (signals_.ended_by() != 0) {
                lh::detail::run_access::never_begun(run);
                return exit_code::signalled + signals_.ended_by();
            }
            if (!run && first) return nothing_to_run(due);
            if (!run) return ended_with_status(completed_elsewhere(failed) ? exit_code::success : status);
            const lh::fire_time fire = run.fire();
            const int ended_with = carry_out(run);
            if (ended_with == 0 && failed == fire) failed = lh::no_fire;
            if (ended_with != 0) failed = fire;
            if (ended_with != 0 || failed == lh::no_fire) status = ended_with;
            // Later fires are left to later starts, or this one might never end.
            const bool goes_on = ended_with != 0 ? options_.retry.has_value() : options_.catch_up == lh::catch_up::all && fire < due;
            if (!goes_on || keeper_gone_ || signals_.ended_by() != 0) return ended_with_status(status);
        }
    }

    /// Each fire, until a signal ends it, or nobody is left to run the command.
    int run_all()
    {
        tell_next();
        std::stop_source over;
        const std::stop_callback end_with_signal{signals_.asked_to_end(), [&over] { over.request_stop(); }};
        job_.run(over.get_token(), [&](named_run& run) {
            outage_told_ = false;
            carry_out(run);
            if (keeper_gone_) over.request_stop();
        });
        manager_.stopping(keeper_gone_ ? "the command has ended" : "asked to end by a signal");
        if (keeper_gone_) return exit_code::internal;
        return signals_.ended_by() == SIGTERM ? exit_code::success : exit_code::signalled + signals_.ended_by();
    }

private:
    [[nodiscard]] std::string name() const { return "'" + printable(options_.name) + "'"; }

    // A database that does not answer yet ends nothing: run() asks again.
    void tell_next()
    {
        std::string told = "waiting for the next run of " + name();
        try {
            told = "the next run of " + name() + " is due " + to_text(job_.next());
        } catch (const lh::store_error& why) {
            report_outage(why);
        }
        manager_.ready(told);
    }

    int ended_with_status(int status)
    {
        manager_.stopping("the command has ended");
        return status;
    }

    lh::recurring_options recurring_options_of(const chosen_terms& terms, metrics_file* counts)
    {
        lh::recurring_options with{
            .ttl = terms.lease.ttl,
            .safety_margin = terms.lease.safety_margin,
            .catch_up = options_.catch_up,
            .max_attempts = options_.retry ? *options_.retry + 1 : 0,
            .replace_schedule = options_.reschedule,
            .on_missed = [this](lh::fire_time fire) { complain(name() + ": the run of " + to_text(fire) + " was missed"); },
            .on_given_up = [this](lh::fire_time fire) { complain(name() + ": the run of " + to_text(fire) + " is given up"); },
            .on_error = [this](const lh::store_error& why) { report_outage(why); }};
        if (options_.begin_within) with.begin_within = *options_.begin_within;
        if (counts) with = counts->counting_fires(options_.name, std::move(with));
        on_failed_ = with.on_failed;
        return with;
    }

    [[nodiscard]] lh::fire_time now()
    {
        std::error_code ec;
        const lh::fire_time time = (*store_).now(ec);
        if (ec) lh::detail::raise_store_failure(*store_, ec, "now", options_.name);
        return time;
    }

    // Hosts whose clocks are fast start a little before the fire. By the store's clock it is the same for all.
    void wait_for_near_fire()
    {
        const lh::fire_time time = now();
        const lh::fire_time next = when_.next(time);
        if (next == lh::no_fire || next - time > earliness(when_, next)) return;
        explain(name() + " is due " + to_text(next) + ", in " + to_text(next - time));
        manager_.status("waiting for " + to_text(next));
        // Asked again: a clock that is slower than ours, or was set back, would still be before the fire.
        for (lh::fire_time at = time; at < next && !signals_.asked_to_end().stop_requested(); at = now())
            sleep_for(next - at, signals_.asked_to_end());
    }

    named_run begin()
    {
        if (options_.wait && *options_.wait <= lh::duration::zero()) return job_.try_begin();
        manager_.status("waiting for " + name());
        const wait_notice told{{.name = options_.name, .at_most = options_.wait}, holder_of(store_, options_.name)};
        return job_.try_begin_for(options_.wait.value_or(for_ever), signals_.asked_to_end());
    }

    int nothing_to_run(lh::fire_time due)
    {
        const auto last = job_.last();
        if (last && last->fire >= due) {
            explain_completion(*last);
            return exit_code::success;
        }
        const lh::fire_time next = job_.next();
        std::error_code ignored;
        const auto held = store_->inspect(options_.name, ignored);
        if (next > due && options_.reschedule) {
            explain(name() + ": the next run is due " + to_text(next));
            return exit_code::success;
        }
        if (held)
            tell(name() + " is " + held_by(*held));
        else
            tell(name() + ": the run of " + to_text(due) + (next > due ? " was given up or missed; the next one is due " + to_text(next)
                                                                       : " is not completed"));
        return options_.busy_status;
    }

    // While this host waited to try the fire again. If the store can't say, the failure here counts.
    bool completed_elsewhere(lh::fire_time fire)
    {
        std::error_code ignored;
        const auto last = job_.last(ignored);
        if (!last || last->fire != fire) return false;
        explain_completion(*last);
        return true;
    }

    void explain_completion(const lh::completed_fire& last) const
    {
        explain(name() + ": the run of " + to_text(last.fire) + " was completed by " + printable(last.owner) + ", " +
                to_text(last.completed_at));
    }

    // Runs the command; returns the status of the tool.
    int carry_out(named_run& run)
    {
        const std::string begun = name() + ": the run of " + to_text(run.fire()) + " begins, attempt " + std::to_string(run.attempt());
        explain(begun + ", with token " + std::to_string(run.token().value()));
        manager_.ready(begun);
        running_term term{run.token(), run.stop_token(), [&run] { return run.remaining(); },
                          [&run, this] { complain(describe_loss(name(), run.renewal_error())); }};
        term.fire = run.fire();
        term.checkpoint = saved_last(run);
        if (options_.handover_signal != 0) term.asked = run.handover_token();
        term.signal_if_asked = options_.handover_signal;
        term.max_hold = options_.max_hold;
        const command_end end = supervise(command_, signals_, term);
        const int status = end.lost() ? exit_code::lost : end.shell_status();
        keeper_gone_ = end.how == command_end::kind::keeper_gone;
        const int noted = end.lost() || keeper_gone_ ? status : status == 0 ? complete(run) : fail(run, status);
        if (keeper_gone_ || end.lost()) leave(run);
        for (const std::string& each : describe_end(name(), options_.command.front(), end)) complain(each);
        return noted;
    }

    // Asks the store: what the last command has left behind may have saved after the run knew the record.
    std::optional<std::string> saved_last(const named_run& run)
    {
        std::error_code ec;
        const auto saved = lh::detail::checkpoint_since(*store_, options_.name, run.token(), ec);
        if (ec) return run.load_checkpoint();
        return saved ? lh::detail::own_text(saved->text) : std::nullopt;
    }

    // As long as the lease is held, unless a signal ends it: what is not noted as done is done again.
    int complete(named_run& run)
    {
        const auto not_noted = [&](const char* why) {
            complain(name() + why + " before the run of " + to_text(run.fire()) + " could be noted as done; another host may repeat it");
        };
        for (;;) {
            std::error_code ec;
            if (run.complete(ec)) {
                run.release(ec);
                return exit_code::success;
            }
            if (!ec || !run.held()) break;
            complain(name() + ": can't note that the run of " + to_text(run.fire()) + " is done: " + ec.message());
            sleep_for(std::min<lh::duration>(1s, run.remaining()), signals_.asked_to_end());
            if (signals_.ended_by() == 0) continue;
            not_noted(": a signal came");
            return exit_code::signalled + signals_.ended_by();
        }
        not_noted(" was lost");
        return exit_code::lost;
    }

    int fail(named_run& run, int status)
    {
        const std::string fire = to_text(run.fire());
        std::error_code ec;
        run.fail(ec);
        if (on_failed_) on_failed_(run.fire(), nullptr);  // run() calls it for a job that throws; this one has ended with a status
        complain(name() + ": the command has ended with status " + std::to_string(status) + "; the run of " + fire + " is not completed");
        return status;
    }

    // To another host, at once: it is not the command that has failed. A run that is still held would be noted as done.
    static void leave(named_run& run)
    {
        std::error_code ignored;
        run.release(ignored);
    }

    // Once for each outage: it may last for hours.
    void report_outage(const lh::store_error& why)
    {
        const std::string said = words_of(why) + "; leasehold will try again";
        if (outage_told_)
            explain(said);
        else
            complain(said);
        outage_told_ = true;
    }

    const run_options& options_;
    const keeper& command_;
    signal_inbox& signals_;
    opened_store& store_;
    service_manager& manager_;
    const chosen_schedule when_;
    bool outage_told_ = false;
    bool keeper_gone_ = false;
    std::function<void(lh::fire_time, std::exception_ptr)> on_failed_;
    named_job job_;
};

int with_fires(const run_options& options, const asked_store& asked, bool hangup_ends, int (fires::*runs)())
{
    lh::validate_name(options.name);
    static_cast<void>(choose_schedule(options.schedule));
    const std::string owner = owner_text(options.owner);
    const chosen_terms terms = choose_terms(options.terms);
    if (const int status = check_command(options.command.front()); status != 0)
        return report_bad_command(options.command.front(), status);
    const chosen_store chosen = choose_store(asked);

    // In this order: signals are blocked in every thread, and the keeper inherits neither threads nor connections, nor the
    // service manager.
    service_manager manager;
    const blocked_signals blocked;
    const keeper command{{options.command, options.name, owner, terms.kill_after, blocked.before()}};
    signal_inbox signals{blocked, hangup_ends};
    const std::stop_callback tell_manager{signals.asked_to_end(), [&] { manager.asked_to_end(signals.ended_by()); }};
    std::optional<metrics_file> counts;
    if (options.metrics_file) counts.emplace(*options.metrics_file);
    opened_store opened{chosen, terms.call_timeout, counts ? &*counts : nullptr};
    fires of{options, owner, terms, command, signals, opened, manager, counts ? &*counts : nullptr};
    return (of.*runs)();
}

std::string after_attempts(int attempts)
{
    return attempts == 0 ? "" : " after " + std::to_string(attempts) + (attempts == 1 ? " attempt" : " attempts");
}

}  // namespace

int run_once_per_fire(const run_options& options, const asked_store& store) { return with_fires(options, store, true, &fires::run_one); }

int every(const run_options& options, const asked_store& store)
{
    // Without a terminal SIGHUP is for the command: "read your configuration again".
    return with_fires(options, store, ::isatty(STDIN_FILENO) != 0, &fires::run_all);
}

int last(const std::string& name, bool json, const asked_store& asked)
{
    lh::validate_name(name);
    opened_store store{choose_store(asked)};
    std::error_code ec;
    const auto saved = (*store).checkpoint(name, ec);
    if (ec) lh::detail::raise_store_failure(*store, ec, "checkpoint", name);
    const auto record = saved ? lh::read_fire_record(saved->text) : lh::fire_record{};
    if (!record) throw failure{exit_code::store, "a later version of leasehold has written the record of " + printable(name)};
    if (json) {
        std::cout << to_json(name, record) << '\n';
    } else if (const auto& last = record->last) {
        std::cout << printable(name) << ": the run of " << to_text(last->fire) << " was completed " << to_text(last->completed_at) << " by "
                  << printable(last->owner) << '\n';
    } else {
        std::cout << printable(name) << ": no run was completed yet\n";
    }
    if (const auto& open = record->open; open && !json)
        std::cout << "the run of " << to_text(open->fire) << " is not completed" << after_attempts(open->attempts) << '\n';
    return record->last ? exit_code::success : exit_code::no;
}

}  // namespace tool
