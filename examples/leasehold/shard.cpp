// SPDX-License-Identifier: BSL-1.0

// The subcommand that runs a command for each shard that this host owns.
#include "command_path.hpp"
#include "commands.hpp"
#include "duration_text.hpp"
#include "failure.hpp"
#include "keeper.hpp"
#include "keeper_nursery.hpp"
#include "message.hpp"
#include "metrics_file.hpp"
#include "opened_store.hpp"
#include "signal_inbox.hpp"
#include "supervise.hpp"
#include "wording.hpp"

#include <leasehold/fire_record.hpp>
#include <leasehold/shard_group.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <list>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace tool {

namespace {

/// The commands' share of the signals that the tool gets: all but those that end it. These drain the shards.
class signals_of_commands {
public:
    explicit signals_of_commands(signal_inbox& from) : from_{from}, thread_{[this](const std::stop_token& stop) { pass_on(stop); }} {}
    signals_of_commands(const signals_of_commands&) = delete;
    signals_of_commands& operator=(const signals_of_commands&) = delete;
    ~signals_of_commands()
    {
        thread_.request_stop();
        from_.wake();
    }

    /// One command's queue, as long as that runs.
    class queue {
    public:
        explicit queue(signals_of_commands& of) : of_{of}
        {
            const std::lock_guard lock{of_.mutex_};
            at_ = of_.queues_.emplace(of_.queues_.end());
        }
        queue(const queue&) = delete;
        queue& operator=(const queue&) = delete;
        ~queue()
        {
            const std::lock_guard lock{of_.mutex_};
            of_.queues_.erase(at_);
        }

        [[nodiscard]] signal_queue& operator*() const noexcept { return *at_; }

    private:
        signals_of_commands& of_;
        std::list<signal_queue>::iterator at_;
    };

private:
    void pass_on(const std::stop_token& stop)
    {
        while (!stop.stop_requested()) {
            std::array<pollfd, 1> watched{{{from_.descriptor(), POLLIN, 0}}};
            ::poll(watched.data(), watched.size(), -1);
            while (const auto signal = from_.take()) {
                if (*signal == 0 || *signal == SIGTERM || *signal == SIGINT || *signal == SIGQUIT || *signal == from_.ended_by()) continue;
                const std::lock_guard lock{mutex_};
                for (const signal_queue& each : queues_) each.put(*signal);
            }
        }
    }

    signal_inbox& from_;
    std::mutex mutex_;
    std::list<signal_queue> queues_;
    std::jthread thread_;  // the last
};

/// One host's part in a group: a command for each shard that it owns.
class shard_host {
public:
    using group_type = lh::shard_group<counted_store>;
    using shard_type = group_type::shard_type;

    shard_host(const shard_command_options& options, const chosen_terms& terms, opened_store& store, const keeper_nursery& nursery,
               signal_inbox& signals, metrics_file* counts, const std::string& id)
        : options_{options}, counts_{counts}, nursery_{nursery}, signals_{signals}, for_commands_{signals},
          group_{*store, options.name, options.of, {.ttl = terms.lease.ttl,
           .safety_margin = terms.lease.margin(),
           .drain_timeout = options.drain_timeout,
           .capacity = options.capacity,
           .max_shards = options.max_shards,
           .id = id,
           .data = options.data,
           .retry_min = options.pause,
           .retry_max = std::max<lh::duration>(options.pause, std::chrono::minutes{1}),
           .on_event = [this](const lh::shard_event& event) { tell(event); }}}
    {
    }

    int run()
    {
        const std::stop_callback end_with_signal{signals_.asked_to_end(), [this] { over_.request_stop(); }};
        group_.run(over_.get_token(), [this](shard_type& shard) { work(shard); });
        if (status_ != 0) return status_;
        // To be asked to end is how it ends.
        return signals_.ended_by() == SIGTERM ? exit_code::success : exit_code::signalled + signals_.ended_by();
    }

private:
    [[nodiscard]] std::string quoted(std::size_t shard) const { return "'" + printable(options_.name) + "/" + std::to_string(shard) + "'"; }

    // On a thread of the shard's own. What it throws is told as the event `failed`, and the command runs again after a pause.
    void work(shard_type& shard)
    {
        const std::string name = quoted(shard.index());
        std::optional<std::string> checkpoint;
        if (const auto saved = shard.load_checkpoint()) checkpoint = lh::detail::own_text(*saved);
        const signals_of_commands::queue signals{for_commands_};
        const std::optional<int> socket = start_keeper(shard);
        if (!socket) return;
        const keeper command{*socket};
        const running_term term{shard.token(),
                                shard.guard().stop_token(),
                                [&shard] { return shard.remaining(); },
                                [&] { complain(describe_loss(name, shard.guard().renewal_error())); },
                                {},
                                {},
                                shard.stop_token(),
                                SIGTERM,
                                std::move(checkpoint)};
        const command_end end = supervise(command, *signals, term);
        for (const std::string& each : describe_end(name, options_.command.front(), end)) complain(each);
        if (end.can_never_run()) return give_up(end.shell_status());
        if (end.lost() || shard.draining()) return;
        const int status = end.shell_status();
        if (status != 0) throw std::runtime_error{"the command has ended with status " + std::to_string(status)};
        explain(name + ": the command has ended, and is run again in " + to_text(options_.pause));
    }

    // Nothing: nobody is left to start one.
    std::optional<int> start_keeper(shard_type& shard)
    {
        try {
            return nursery_.start(shard.index(), std::string{shard.owner()});
        } catch (const std::system_error& error) {
            if (error.code() != std::errc::broken_pipe && error.code() != std::errc::connection_reset) throw;
            complain("the process that starts the commands was killed");
            give_up(exit_code::internal);
            return std::nullopt;
        }
    }

    // The command can't be run here: so for no shard.
    void give_up(int status)
    {
        status_ = status;
        over_.request_stop();
    }

    void tell(const lh::shard_event& event)
    {
        if (counts_) counts_->count(event);
        using kind = lh::shard_event_kind;
        const std::string name = quoted(event.shard);
        switch (event.kind) {
        case kind::taken: return explain(name + " is held by this host, with token " + std::to_string(event.token.value()));
        case kind::draining: return explain(name + " is to be given up: its command is asked to end");
        case kind::given_back: return explain(name + " is free");
        case kind::lost: return;  // told when the command was asked to end
        case kind::failed: return complain(name + ": " + std::string{event.what} + "; it is tried again after a pause");
        case kind::late:
            return complain(name + " is to be handed over " + (event.token.value() != 0 ? "by" : "to") +
                            " this host, and still is not after " + to_text(options_.drain_timeout));
        case kind::resized:
            return complain("'" + printable(options_.name) + "' has " + std::to_string(event.shard) + " shards from now on");
        case kind::store_failed: return tell_outage(event);
        case kind::share_changed: return explain("this host should have " + std::to_string(event.share) + " shards");
        }
    }

    // Not each time: it may last for hours.
    void tell_outage(const lh::shard_event& event)
    {
        const auto now = std::chrono::steady_clock::now();
        const std::string said = "can't " + std::string{event.what} + ": " + event.error.message() + "; leasehold will try again";
        if (outage_told_ && now - *outage_told_ < std::chrono::minutes{1}) return explain(said);
        outage_told_ = now;
        complain(said);
    }

    const shard_command_options& options_;
    metrics_file* const counts_;
    const keeper_nursery& nursery_;
    signal_inbox& signals_;
    std::stop_source over_;
    std::atomic<int> status_ = 0;
    std::optional<std::chrono::steady_clock::time_point> outage_told_;
    signals_of_commands for_commands_;
    group_type group_;
};

}  // namespace

int shard(const shard_command_options& options, const asked_store& store)
{
    lh::validate_name(options.name);
    const std::string id = owner_text(options.owner);
    const chosen_terms terms = choose_terms(options.terms);
    if (options.pause < std::chrono::milliseconds{1}) throw failure{exit_code::usage, "--pause must be at least 1ms"};
    const std::string& program = options.command.front();
    if (const int status = program.find("{}") == program.npos ? check_command(program) : 0; status != 0)
        return report_bad_command(program, status);
    const chosen_store chosen = choose_store(store);

    // In this order: signals are blocked in every thread, and keepers inherit neither threads nor connections.
    const blocked_signals blocked;
    const keeper_nursery nursery{{options.command, options.name, {}, terms.kill_after, blocked.before()}};
    // Without a terminal SIGHUP is for the commands: "read your configuration again".
    signal_inbox signals{blocked, ::isatty(STDIN_FILENO) != 0};
    std::optional<metrics_file> counts;
    if (options.metrics_file) counts.emplace(*options.metrics_file);
    opened_store opened{chosen, terms.call_timeout, counts ? &*counts : nullptr};
    return shard_host{options, terms, opened, nursery, signals, counts ? &*counts : nullptr, id}.run();
}

}  // namespace tool
