// SPDX-License-Identifier: BSL-1.0
#include "checkpoints_view.hpp"
#include "commands.hpp"
#include "failure.hpp"
#include "fires_view.hpp"
#include "json.hpp"
#include "live.hpp"
#include "message.hpp"
#include "opened_store.hpp"
#include "output.hpp"
#include "records.hpp"
#include "screen.hpp"
#include "signal_inbox.hpp"
#include "watch_model.hpp"
#include "watch_view.hpp"

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/error.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace tool {

namespace {

using namespace std::chrono_literals;

/// Looks at the store from time to time. An outage is shown, and looked past.
class watcher {
public:
    watcher(opened_store& store, const watch_options& options) : store_{store}, options_{options} {}

    /// What has changed, as lines. Throws store_error where the first look fails: somebody has mistyped something.
    std::vector<std::string> look()
    {
        std::error_code ec;
        held_ = store_->list(options_.prefix, ec);
        std::vector<std::pair<std::string, lh::checkpoint_record>> checkpoints;
        if ((options_.fires || options_.checkpoints) && !ec) checkpoints = store_->checkpoints(options_.prefix, ec);
        fire_records fires;
        if (options_.fires && !ec) fires = fires_among(checkpoints);
        saved_checkpoints saved;
        if (options_.checkpoints && !ec) saved = own_checkpoints(std::move(checkpoints));
        const auto now = clock_.now();
        next_ = now + options_.interval;
        if (ec && !looked_) throw lh::store_error{ec, "list", store_->diagnostics()};
        looked_ = true;
        trouble_ = ec ? "the database does not answer: " + ec.message() : "";
        std::vector<std::string> lines;
        if (!ec)
            for (const lease_change& each : model_.look(held_, now)) lines.push_back(time_of_day() + "  " + to_line(each));
        if (!ec) {
            if (!fires_) fires_ = without_open_fires(fires);  // what the first look finds completed is no news
            for (const std::string& each : changes_of(*fires_, fires)) lines.push_back(time_of_day() + "  " + each);
            fires_ = std::move(fires);
            if (saved_)  // what the first look finds saved is no news
                for (const std::string& each : changes_of(*saved_, saved)) lines.push_back(time_of_day() + "  " + each);
            saved_ = std::move(saved);
        }
        return lines;
    }

    [[nodiscard]] bool due() const noexcept { return clock_.now() >= next_; }
    [[nodiscard]] lh::duration until_next() const noexcept { return std::max(next_ - clock_.now(), lh::duration::zero()); }
    [[nodiscard]] const watch_model& model() const noexcept { return model_; }
    [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }
    /// All that the last look has found, or why it has not, in one line.
    [[nodiscard]] std::string to_json() const
    {
        return "{\"at\": " + json_string(timestamp()) +
               (trouble_.empty() ? ", \"leases\": " + tool::to_json(held_, ", ") : ", \"error\": " + json_string(trouble_)) +
               (trouble_.empty() && options_.fires ? ", \"fires\": " + tool::to_json(fires_.value_or(fire_records{}), ", ") : "") +
               (trouble_.empty() && options_.checkpoints
                    ? ", \"checkpoints\": " + tool::to_json(saved_.value_or(saved_checkpoints{}), ", ")
                    : "") +
               "}";
    }

private:
    opened_store& store_;
    const watch_options& options_;
    lh::steady_clock clock_;
    watch_model model_;
    std::vector<lh::lease_record> held_;
    std::optional<fire_records> fires_;
    std::optional<saved_checkpoints> saved_;
    lh::time_point next_{};
    std::string trouble_;
    bool looked_ = false;
};

int watch_as_lines(watcher& over, signal_inbox& signals, bool json)
{
    std::string trouble;
    while (!signals.asked_to_end().stop_requested()) {
        const auto changes = over.look();
        if (json)
            std::cout << over.to_json() << '\n';
        else
            for (const std::string& line : changes) std::cout << line << '\n';
        if (over.trouble() != trouble && !over.trouble().empty()) complain(over.trouble());
        trouble = over.trouble();
        if (!std::cout.flush()) break;  // main() tells why
        bool ignored = false;
        while (!over.due() && !signals.asked_to_end().stop_requested()) {
            wait_for(signals, false, over.until_next(), ignored);
            while (signals.take()) {}
            if (nobody_reads_output()) return exit_code::unread;
        }
    }
    return exit_code::success;  // to be ended is how it ends
}

class live_table {
public:
    live_table(watcher& over, signal_inbox& signals, std::string title)
        : over_{over}, signals_{signals}, title_{std::move(title)}
    {
        const char* no_colour = std::getenv("NO_COLOR");
        colour_ = !(no_colour && *no_colour);
        collect();  // a failure of the first look is told on the user's own screen
    }

    int run()
    {
        signals_.passing_on(true);
        screen on;
        while (!done_ && !signals_.asked_to_end().stop_requested()) {
            if (over_.due()) collect();
            draw_on(on);
            bool key = false;
            wait_for(signals_, true, std::min<lh::duration>(over_.until_next(), between_frames), key);
            take_signals(on);
            if (key) take_key();
        }
        return exit_code::success;
    }

private:
    void collect()
    {
        for (std::string& line : over_.look()) events_.push_back(std::move(line));
        while (events_.size() > most_events) events_.pop_front();
    }

    void draw_on(const screen& on) const
    {
        const auto size = on.size();
        on.show(draw({over_.model(), events_, title_, over_.trouble(), size.width, size.height, colour_},
                     lh::steady_clock{}.now()));
    }

    // SIGWINCH needs no more than the next frame.
    void take_signals(screen& on)
    {
        while (const auto signal = signals_.take()) {
            if (*signal != SIGTSTP) continue;
            on.leave();
            ::raise(SIGSTOP);
            on.enter();
        }
    }

    void take_key()
    {
        char key = 0;
        if (::read(STDIN_FILENO, &key, 1) != 1 || key == 'q') done_ = true;
    }

    static constexpr lh::duration between_frames = 100ms;
    static constexpr std::size_t most_events = 200;

    watcher& over_;
    signal_inbox& signals_;
    std::string title_;
    std::deque<std::string> events_;
    bool colour_ = true;
    bool done_ = false;
};

}  // namespace

int watch(const watch_options& options, const asked_store& asked)
{
    if (options.interval < 10ms) throw failure{exit_code::usage, "--interval must be at least 10ms"};
    const chosen_store chosen = choose_store(asked);
    const blocked_signals blocked;
    signal_inbox signals{blocked, true};
    opened_store store{chosen};
    watcher over{store, options};
    if (options.json || !::isatty(STDOUT_FILENO)) return watch_as_lines(over, signals, options.json);
    return live_table{over, signals,
                      "leasehold watch " + printable(options.prefix) + "   " + shown(chosen.connection_string)}
        .run();
}

}  // namespace tool
