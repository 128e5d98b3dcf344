// SPDX-License-Identifier: BSL-1.0

// The conductor: starts the service three times, shows what its processes write down, and injects the faults.
#include "processes.hpp"
#include "records.hpp"
#include "roles.hpp"
#include "timeline.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace demo {

namespace {

struct interrupted {
    int signal;
};

instant now() { return lh::steady_clock{}.now().time_since_epoch().count(); }

instant after(std::chrono::nanoseconds time) { return now() + time.count(); }

class conductor {
public:
    conductor(const conduct_options& options, const blocked_signals& signals, const scratch_folder& folder)
        : signals_{signals},
          folder_{folder.path()},
          connection_{options.store.empty() ? sqlite_in(folder_) : options.store},
          lease_name_{"leasehold-demo-" + lh::random_owner_id{}.id()},
          hand_overs_{hand_overs_in(options.length)},
          store_{connection_, lh::odbc_options{.call_timeout = 2s}},
          reader_{folder_},
          records_{folder_ / ("conductor" + std::string{record_reader::extension})}
    {
    }

    /// The whole play, but for the checker. Throws `interrupted`, lh::store_error, std::runtime_error.
    void perform()
    {
        store_.create_schema();
        start_replicas();
        watch_until(30s + hand_overs_ * 5s, "the leaders to hand over",
                    [this] { return hand_overs_seen_ >= hand_overs_ && in_mid_term(); });
        kill_leader();
        watch_until(30s, "a take-over", [this] { return in_mid_term(); });
        stop_leader();
        watch_until(30s, "a hand-over", [this] { return leads_for(1500ms); });
        show("conductor", "stops them all");
        stop_all();
        show_new_records();
        if (const auto record = lh::basic_lease{store_, lease_name_}.inspect())
            throw std::runtime_error{"the lease is still held, by " + record->owner};
        show("conductor", "all have ended, and the database says that the lease is free");
    }

    /// Leaves nothing that runs, and no lease that is held.
    void clean_up() noexcept
    {
        timeline_.clear();
        stop_all();
        std::error_code ignored;  // one killed in its term may have left it held; or there is no database at all
        if (started_) store_.force_release(lease_name_, ignored);
    }

private:
    struct replica {
        std::string name;
        std::unique_ptr<child> process;
        bool may_end = false;
    };

    static std::string sqlite_in(const std::filesystem::path& folder)
    {
        return "Driver=SQLite3;Database=" + (folder / "leases.db").string();
    }

    // A term of three tasks takes 3 s; what comes after the hand-overs, 8 s.
    static int hand_overs_in(std::chrono::seconds length) { return std::max(1, static_cast<int>((length - 8s) / 3s)); }

    void start_replicas()
    {
        records_.write({event::rules, "conductor", 0, terms.ttl.count(), terms.margin().count()});
        records_.write({event::began, "conductor", 0, began_, 0});
        show("conductor",
             "starts three processes of one service; ttl " + seconds(terms.ttl.count()) + ", a leader task every second");
        started_ = true;
        for (const char* const name : {"replica-1", "replica-2", "replica-3"}) {
            // Not among the arguments, which every user of the host can read: there may be a password in it.
            const std::string store = std::string{store_variable} + "=" + connection_;
            const std::string records = (folder_ / (std::string{name}.append(record_reader::extension))).string();
            replicas_.push_back({name, std::make_unique<child>(std::vector<std::string>{"serve", name, lease_name_, records},
                                                               std::vector{store})});
        }
    }

    template <class Condition>
    void watch_until(std::chrono::nanoseconds limit, const std::string& what, Condition fulfilled)
    {
        for (const instant end = after(limit); !fulfilled(); show_new_records()) {
            if (now() > end) throw std::runtime_error{"waited for " + what + " for " + seconds(limit.count()) + " without success"};
            if (const int signal = signals_.wait_for(20ms)) throw interrupted{signal};
            for (const replica& r : replicas_)
                if (const auto status = r.process->status(); status && !r.may_end)
                    throw std::runtime_error{r.name + " has ended by itself, with status " + std::to_string(*status)};
            show_now();
        }
    }

    [[nodiscard]] bool leads_for(std::chrono::nanoseconds time) const
    {
        return leader_ && now() >= leader_->at + time.count();
    }

    // Away from both ends of a term, so that a fault meets a leader also when this process is late.
    [[nodiscard]] bool in_mid_term() const { return leads_for(1500ms) && !leads_for(2300ms); }

    replica& leading_replica()
    {
        for (replica& r : replicas_)
            if (r.name == leader_->process) return r;
        throw std::runtime_error{"the leader is not one of the replicas"};
    }

    void kill_leader()
    {
        replica& victim = leading_replica();
        const record term = *leader_;
        const instant sent = now();
        victim.may_end = true;
        victim.process->send(SIGKILL);
        victim.process->end_within(5s);
        show_new_records();
        if (!leader_ || leader_->token != term.token)
            throw std::runtime_error{"the leader stepped down in the moment of the kill; try again"};
        leader_.reset();
        // Not sooner than this lets the database somebody else in: its answer is no older than the question.
        const instant asked = now();
        const auto holder = lh::basic_lease{store_, lease_name_}.inspect();
        const bool still = holder && holder->token.value() == term.token;
        const record kill{event::killed, victim.name, term.token, sent, still ? asked + holder->remaining.count() : 0};
        records_.write(kill);
        show("conductor", "SIGKILL to " + victim.name + ", the leader: the database keeps its lease until the ttl ends",
             colour::red);
        gap_ = kill;
        show_gap();
    }

    void stop_leader()
    {
        replica& chosen = leading_replica();
        records_.write({event::asked, chosen.name, leader_->token, now(), 0});
        show("conductor", "SIGTERM to " + chosen.name + ", the leader: it is asked to stop", colour::yellow);
        chosen.may_end = true;
        chosen.process->send(SIGTERM);
        leader_.reset();
    }

    void stop_all() noexcept
    {
        for (replica& r : replicas_) {
            r.may_end = true;
            r.process->send(SIGTERM);
        }
        for (replica& r : replicas_) r.process->end_within(4s);
    }

    void show(const std::string& who, const std::string& what, colour in = colour::plain)
    {
        timeline_.line(now(), who, what, in);
    }

    void show_new_records()
    {
        for (const record& r : reader_.read()) show_record(r);
    }

    void show_record(const record& r)
    {
        switch (r.what) {
        case event::led:
            leader_ = r;
            gap_.reset();
            timeline_.line(r.at, r.process, "leads   " + remaining_of(r.at), colour::green);
            return;
        case event::extended:
            if (leads(r)) leader_->until = r.until;
            return;
        case event::worked:
            if (leads(r)) timeline_.line(r.at, r.process, "works   " + remaining_of(r.at));
            return;
        case event::stepped_down: ++hand_overs_seen_; return ended(r, "steps down");
        case event::stopped: return ended(r, "stops, as it was asked to, and releases the lease");
        case event::lost: return ended(r, "has lost the lease");
        default: return;  // our own
        }
    }

    void ended(const record& r, const char* how)
    {
        if (leads(r)) leader_.reset();
        timeline_.line(r.at, r.process, how, colour::yellow);
    }

    [[nodiscard]] bool leads(const record& r) const
    {
        return leader_ && leader_->process == r.process && leader_->token == r.token;
    }

    [[nodiscard]] std::string remaining_of(instant at) const
    {
        return token_and_remaining(leader_->token, leader_->until - at, (terms.ttl - terms.margin()).count());
    }

    void show_now()
    {
        const instant at = now();
        if (leader_ && at >= drawn_ + one_second / 10)
            timeline_.now(drawn_ = at, leader_->process, "leads   " + remaining_of(at));
        if (gap_ && at >= gap_->at + one_second / 4) show_gap();
    }

    // Between a kill and the take-over, four times a second.
    void show_gap()
    {
        if (!gap_) return;
        const instant at = now();
        gap_->at = at;
        if (gap_->until > at)
            timeline_.line(at, "nobody", "leads   " + token_and_remaining(gap_->token, gap_->until - at, terms.ttl.count()),
                           colour::dim);
    }

    const blocked_signals& signals_;
    std::filesystem::path folder_;
    std::string connection_;
    std::string lease_name_;
    int hand_overs_;
    lh::odbc_store store_;
    record_reader reader_;
    record_file records_;
    instant began_ = now();
    timeline timeline_{began_};
    std::vector<replica> replicas_;
    bool started_ = false;
    int hand_overs_seen_ = 0;
    std::optional<record> leader_;  // whose term the records show, with the latest `until`
    instant drawn_ = 0;             // when the leader's remaining time was shown last
    std::optional<record> gap_;     // after a kill: when it was shown, and until when the database keeps the lease
};

int judge(const std::filesystem::path& folder, const blocked_signals& signals)
{
    std::cout << "\nThe checker, from the records of the three processes:\n" << std::flush;
    child checker{{"check", folder.string()}};
    while (!checker.status())
        if (const int signal = signals.wait_for(10ms)) throw interrupted{signal};
    return checker.status().value();
}

}  // namespace

int conduct(const conduct_options& options)
{
    const blocked_signals signals{SIGINT, SIGTERM, SIGHUP};
    const scratch_folder folder{options.keep};
    int status = EXIT_FAILURE;
    try {
        {
            conductor demo{options, signals, folder};
            try {
                demo.perform();
            }
            catch (...) {
                demo.clean_up();
                throw;
            }
        }
        status = judge(folder.path(), signals);
    }
    catch (const interrupted& by) {
        std::cerr << "interrupted\n";
        status = 128 + by.signal;
    }
    catch (const std::exception& error) {
        std::cerr << "leader_demo: " << error.what() << "\n";
    }
    if (options.keep) std::cout << "the records are in " << folder.path().string() << "\n";
    return status;
}

}  // namespace demo
