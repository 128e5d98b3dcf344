// SPDX-License-Identifier: BSL-1.0
#include "command_path.hpp"
#include "commands.hpp"
#include "duration_text.hpp"
#include "failure.hpp"
#include "keeper.hpp"
#include "message.hpp"
#include "metrics_file.hpp"
#include "opened_store.hpp"
#include "signal_inbox.hpp"
#include "supervise.hpp"
#include "wait_line.hpp"
#include "wording.hpp"

#include <leasehold/leasehold.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace tool {

namespace {

using named_lease = lh::basic_lease<counted_store, lh::steady_clock, lh::fixed_owner_id>;
using election = lh::leader_election<named_lease>;

/// One host's part in an election: what it does as leader, and after it.
class candidate {
public:
    candidate(named_lease& lease, opened_store& store, const elect_options& options, const keeper& command,
              signal_inbox& signals)
        : lease_{lease}, store_{store}, options_{options}, command_{command}, signals_{signals}, restarts_{options.restart,
                                                                                                           options.pause}
    {
    }

    int run()
    {
        tell_waiting();
        const std::stop_callback end_with_signal{signals_.asked_to_end(), [this] { over_.request_stop(); }};
        election of{
            lease_,
            {.on_elected =
                 [this](lh::fencing_token token) {
                     explain(name() + " is held by this host, with token " + std::to_string(token.value()));
                 },
             .on_stepped_down = [this](lh::step_down_reason) { pause(); },
             .on_leader_observed = [this](const lh::lease_record& other) { explain(name() + " is " + held_by(other)); },
             .on_error = [this](const lh::store_error& why) { report_outage(why); },
             .cooldown = lh::duration::zero()}};
        of.run(over_.get_token(), [this](election::term_type& term) { lead(term); });
        waiting_.reset();
        if (status_) return *status_;
        // To be asked to end is how it ends.
        return signals_.ended_by() == SIGTERM ? exit_code::success : exit_code::signalled + signals_.ended_by();
    }

private:
    [[nodiscard]] std::string name() const { return "'" + printable(options_.name) + "'"; }

    // A line at a terminal; what is said with --verbose comes from the election.
    void tell_waiting()
    {
        if (shows_status() && !explains())
            waiting_.emplace(awaited{.name = options_.name}, holder_of(store_, options_.name));
    }

    void lead(election::term_type& term)
    {
        waiting_.reset();
        outage_told_ = false;
        next_ = {};
        if (signals_.ended_by() != 0) return;
        std::optional<std::string> checkpoint;
        try {
            if (const auto saved = term.load_checkpoint()) checkpoint = lh::detail::own_text(*saved);
        } catch (const lh::store_error& why) {
            next_ = restarts_.not_started();
            return report_outage(why);
        }
        const auto begun = lh::steady_clock{}.now();
        // The guard's stop token, not the term's: a signal is for the command, which ends in its own time.
        const command_end end =
            supervise(command_, signals_,
                      {term.token(), term.guard().stop_token(), [&term] { return term.remaining(); },
                       [&term, this] { complain(describe_loss(name(), term.guard().renewal_error())); }, {}, {},
                       options_.handover_signal != 0 ? term.guard().handover_token() : std::stop_token{}, options_.handover_signal,
                       std::move(checkpoint)});
        to_say_ = describe_end(name(), options_.command.front(), end);
        if (end.how == command_end::kind::not_started && !end.can_never_run()) {
            next_ = restarts_.not_started();
            return;
        }
        if (end.how != command_end::kind::ended) return finish(end.shell_status());
        if (end.lost()) {
            next_ = restarts_.lease_lost();
            return;
        }
        if (signals_.ended_by() != 0) return;
        next_ = restarts_.command_ended(end.shell_status(), lh::steady_clock{}.now() - begun);
        if (!next_.again) return finish(end.shell_status());
        to_say_.push_back("the command has ended with status " + std::to_string(end.shell_status()) + "; " + name() +
                          " is free for the next host");
    }

    void finish(int status)
    {
        status_ = status;
        over_.request_stop();
    }

    // After the release, so that others have their turn. Nobody may be reading what it says.
    void pause()
    {
        for (const std::string& each : std::exchange(to_say_, {})) complain(each);
        stay_away();
        if (!over_.stop_requested()) tell_waiting();
    }

    void stay_away()
    {
        if (next_.pause <= lh::duration::zero() || over_.stop_requested()) return;
        explain("standing for election again in " + to_text(next_.pause));
        lh::waker wake;
        const std::stop_callback when_over{over_.get_token(), [&wake] { wake.wake(); }};
        const lh::steady_clock clock;
        const lh::time_point until = clock.now() + next_.pause;
        while (!over_.stop_requested() && clock.now() < until) clock.wait_until(wake, until);
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

    named_lease& lease_;
    opened_store& store_;
    const elect_options& options_;
    const keeper& command_;
    signal_inbox& signals_;
    restart_machine restarts_;
    restart_machine::step next_{};
    std::vector<std::string> to_say_;  // of the term that ends
    std::stop_source over_;
    std::optional<int> status_;
    bool outage_told_ = false;
    std::optional<wait_notice> waiting_;
};

}  // namespace

int elect(const elect_options& options, const asked_store& store)
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
    // Without a terminal SIGHUP is for the command: "read your configuration again".
    signal_inbox signals{blocked, ::isatty(STDIN_FILENO) != 0};
    std::optional<metrics_file> counts;
    if (options.metrics_file) counts.emplace(*options.metrics_file);
    opened_store opened{chosen, terms.call_timeout, counts ? &*counts : nullptr};
    named_lease lease{*opened, options.name, terms.lease, lh::fixed_owner_id{owner}};
    return candidate{lease, opened, options, command, signals}.run();
}

}  // namespace tool
