// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_FIRE_JUDGE_HPP
#define LEASEHOLD_TESTS_SIMULATION_FIRE_JUDGE_HPP

#include "message.hpp"
#include "world.hpp"

#include <leasehold/fire_record.hpp>
#include <leasehold/recurring_options.hpp>
#include <leasehold/schedule/concept.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace sim {

// A fire that a host begins.
struct begun_fire {
    leasehold::fire_time fire{};
    bool holds = false;      // the lease
    std::int64_t ahead = 0;  // ns: by so much the host's idea of the store's time may be ahead of it
};

struct judged_fires {
    leasehold::catch_up catch_up = leasehold::catch_up::last;
    int max_attempts = 0;
    std::int64_t latest_begin = 0;  // with catch_up::none: how long after its time a fire is first begun
    bool in_transactions = false;   // each fire is completed in one of the job's own, together with its work
};

// What must be true of the fires of one name, judged by the record in the store and by what its hosts were told.
template <class Schedule>
class fire_judge {
public:
    static constexpr int name = 0;  // of lease_names

    fire_judge(world& of, Schedule when, const judged_fires& by) : world_{of}, when_{std::move(when)}, by_{by} {}

    [[nodiscard]] const Schedule& when() const noexcept { return when_; }
    [[nodiscard]] const std::optional<leasehold::fire_record>& record() const noexcept { return record_; }
    // The first record is of another schedule than was expected.
    void is_of(const Schedule& other) { when_ = other; }
    // The token under which the fire was completed, if it was.
    [[nodiscard]] std::optional<std::int64_t> completed_under(leasehold::fire_time fire) const
    {
        const auto found = completed_.find(fire);
        return found == completed_.end() ? std::nullopt : std::optional{found->second};
    }

    // A host has begun this fire, was told that it is completed, missed or given up. ---------------------------------------------------
    void begun(const begun_fire& by)
    {
        const leasehold::fire_time now{leasehold::duration{world_.db.now()}}, latest_now = now + leasehold::duration{by.ahead};
        const int times = ++begun_[by.fire];
        if (times > by_.max_attempts && by_.max_attempts > 0) broken("no fire is begun too often");
        if (by.fire > latest_now) broken("no fire is begun before its time");
        if (by_.catch_up == leasehold::catch_up::none && times == 1 && now > by.fire + leasehold::duration{by_.latest_begin})
            broken("with catch_up::none no fire is first begun too late");
        // One who has lost the lease may not know yet what others have done since.
        if (!by.holds || !record_) return;
        if (by.fire <= record_->passed) broken("no fire is begun after it has passed");
        if (record_->open && record_->open->fire == by.fire && record_->open->not_before > latest_now)
            broken("no fire is begun again before its pause is over");
    }

    void completed(leasehold::fire_time fire, std::int64_t token)
    {
        if (!told_completed_.emplace(fire, token).second) broken("a fire is completed once");
        if (told_missed_.contains(fire)) broken("no fire is completed and missed");
    }

    void missed(leasehold::fire_time fire)
    {
        if (!told_missed_.insert(fire).second) broken("a missed fire is told once");
        if (completed_.contains(fire)) broken("no fire is completed and missed");
        if (told_given_up_.contains(fire)) broken("no fire is missed and given up");
        if (by_.catch_up == leasehold::catch_up::all) broken("with catch_up::all no fire is missed");
    }

    void given_up(leasehold::fire_time fire)
    {
        if (!told_given_up_.insert(fire).second) broken("a fire is given up once");
        if (told_missed_.contains(fire)) broken("no fire is missed and given up");
        if (by_.max_attempts == 0 || completed_.contains(fire)) broken("a fire is given up after its attempts");
    }

    // The record in the store, after each step. ----------------------------------------------------------------------------------------
    void check()
    {
        for (const auto& [fire, times] : world_.db.work())
            if (times > 1) broken("the work of a fire is done once");
        look_at_record();
        if (by_.in_transactions) look_at_work();
    }

    // All hosts have ended, and had time for every fire. `all_is_told`: none died, or lost its lease, before it knew what it had noted.
    void in_the_end(bool all_is_told)
    {
        if (!record_ || !record_->passed || when_.next(*record_->passed) != leasehold::no_fire)
            broken("in the end the fires are done");
        for (const leasehold::fire_time each : left_out_)
            if (all_is_told && !told_missed_.contains(each) && !told_given_up_.contains(each))
                broken("a fire that is left out is told");
    }

private:
    void look_at_record()
    {
        const int saved = world_.db.checkpoint_of(name);
        if (saved == saved_) return;
        saved_ = saved;
        std::optional<leasehold::fire_record> next = leasehold::read_fire_record(world_.owners[static_cast<std::size_t>(saved)]);
        if (!next) return broken("the record can be read");
        const bool completes = next->last && (!record_ || next->last != record_->last);
        if (record_) follows(*record_, *next);
        if (completes) note_completion(*next->last);
        record_ = std::move(next);
    }

    void look_at_work()
    {
        for (const auto& [fire, times] : world_.db.work())
            if (!completed_.contains(leasehold::fire_time{leasehold::duration{fire}})) broken("work and completion come together");
        if (completed_.size() > world_.db.work().size()) broken("work and completion come together");
    }

    void follows(const leasehold::fire_record& before, const leasehold::fire_record& next)
    {
        if (next.schedule != before.schedule) return broken("the record stays that of its first schedule");
        if (next.passed < before.passed) broken("the record never goes back");
        if (before.last && (!next.last || next.last->fire < before.last->fire)) broken("the last fire never goes back");
        if (!before.passed || !(next.passed > before.passed)) return;
        const bool completes = next.last && next.last->fire == next.passed;
        if (by_.catch_up == leasehold::catch_up::all && by_.max_attempts == 0 && !(completes && next.passed == when_.next(*before.passed)))
            broken("with catch_up::all each fire is completed before the next");
        for (leasehold::fire_time each = when_.next(*before.passed); each <= *next.passed; each = when_.next(each))
            if (!(completes && each == *next.passed)) left_out_.insert(each);
    }

    void note_completion(const leasehold::completed_fire& done)
    {
        const std::int64_t token = world_.db.checkpoint_token_of(name);
        if (!world_.db.saved_by_holder(name, done.owner)) broken("a fire is completed by the holder of the lease");
        if (told_missed_.contains(done.fire)) broken("no fire is completed and missed");
        // The same run may complete it again, if it doesn't know that it has done so.
        if (completed_.emplace(done.fire, token).first->second != token) broken("a fire is completed once");
    }

    void broken(const char* rule)
    {
        world_.fail(rule, record_ ? "the record before says: " + leasehold::to_text(*record_) : "there was no record");
    }

    world& world_;
    Schedule when_;
    judged_fires by_;
    int saved_ = nobody;
    std::optional<leasehold::fire_record> record_;
    std::map<leasehold::fire_time, int> begun_;
    std::map<leasehold::fire_time, std::int64_t> completed_, told_completed_;  // under which token
    std::set<leasehold::fire_time> left_out_, told_missed_, told_given_up_;
};

}  // namespace sim

#endif
