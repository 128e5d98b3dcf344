// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_GUARD_MONITORS_HPP
#define LEASEHOLD_TESTS_SIMULATION_GUARD_MONITORS_HPP

#include "policy.hpp"
#include "store.hpp"
#include "world.hpp"

#include <leasehold/basic_lease.hpp>
#include <leasehold/owner_id/fixed_owner_id.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace sim {

using lease = leasehold::basic_lease<store, clock, leasehold::fixed_owner_id, any_policy>;
using guard = lease::guard_type;

// While a fiber has one, its process does not stop in the middle of reading the clock: for checks, and where a lock is held
// that other processes share with it only in this simulation.
class no_freeze {
public:
    no_freeze() : self_{scheduler::running().current()}
    {
        if (self_ != nullptr) ++self_->no_freeze;
    }
    no_freeze(const no_freeze&) = delete;
    no_freeze& operator=(const no_freeze&) = delete;
    ~no_freeze()
    {
        if (self_ != nullptr) --self_->no_freeze;
    }

private:
    fiber* self_;
};

// Every guard that is alive anywhere, asked again and again what it believes, and held against the rows and each other.
class guard_monitors {
public:
    explicit guard_monitors(world& of) : world_{of} {}

    // One guard, from after it was acquired until before it is released.
    class belief {
    public:
        belief(guard_monitors& all, process& of, const guard& g, int name, int owner, bool watches_for_loss)
            : all_{all}, of_{of}, guard_{g}, name_{name}, owner_{owner}, token_{g.token().value()}
        {
            const no_freeze here;
            if (watches_for_loss) lost_ = g.stop_token();
            watches_ = watches_for_loss;
            // The thread that got it may have slept until its term was over, while another of the threads that share the lease got it.
            for (const belief* other : all_.all_)
                if (other->name_ == name && &other->of_ == &of && other->owner_ == owner && !of.dead && other->guard_.held() && g.held())
                    all_.world_.fail("one guard of a lease object holds", "two guards of one lease object hold");
            all_.all_.push_back(this);
            all_.check();
        }
        belief(const belief&) = delete;
        belief& operator=(const belief&) = delete;
        ~belief() { std::erase(all_.all_, this); }

    private:
        friend guard_monitors;
        guard_monitors& all_;
        process& of_;
        const guard& guard_;
        int name_;
        int owner_;
        std::int64_t token_;
        std::stop_token lost_;
        bool watches_ = false;
        instant over_since_ = never;
        bool refused_ = false;  // its last renewal
    };

    void check()
    {
        const no_freeze here;
        std::array<const belief*, lease_names.size()> holder{};
        for (belief* b : all_) {
            if (b->of_.dead) continue;
            if (b->guard_.held())
                held(*b, holder[static_cast<std::size_t>(b->name_)]);
            else
                over(*b);
        }
    }

    // Stands for who believes now.
    [[nodiscard]] std::uint64_t beliefs() const
    {
        std::uint64_t print = 0;
        for (const belief* b : all_) print += mixed_all(static_cast<std::uint64_t>(b->of_.index), b->token_, b->guard_.held(), b->of_.dead);
        return print;
    }

    // Stands for what later checks depend on besides the histories of the processes.
    [[nodiscard]] std::uint64_t fingerprint() const noexcept
    {
        std::uint64_t print = 0;
        for (const belief* b : all_) print += mixed_all(static_cast<std::uint64_t>(b->of_.index), b->token_, b->over_since_);
        return print;
    }

    // A renewal by this process is about to be sent.
    void renewing(const process& of, std::string_view name, leasehold::fencing_token token)
    {
        const no_freeze here;
        if (world_.planned.at_clock.of_1024 != 0) return;  // it may have been stopped since it looked at the clock
        for (const belief* b : all_)
            if (&b->of_ == &of && lease_names[static_cast<std::size_t>(b->name_)] == name && b->token_ == token.value() &&
                !b->guard_.held())
                world_.fail("no renewal after the deadline", of.label + " renews a term that it does not believe in");
    }

    // A renewal by this process was refused. The process must take note before it waits for anything else.
    void refused(const process& of, std::string_view name, leasehold::fencing_token token)
    {
        if (world_.planned.at_clock.of_1024 != 0) return;  // it may be stopped before it takes note
        for (belief* b : all_)
            if (&b->of_ == &of && lease_names[static_cast<std::size_t>(b->name_)] == name && b->token_ == token.value()) b->refused_ = true;
    }

private:
    void held(belief& b, const belief*& other)
    {
        if (b.refused_) world_.fail("a refused renewal is a loss", b.of_.label + " believes in a term whose renewal was refused");
        if (b.over_since_ != never) world_.fail("lost is for ever", b.of_.label + " believes again in a term that was over");
        if (!world_.planned.trust_is_promised) return;
        // Set back, the server's clock may have revived this term; a release sent before it ran out may end it then.
        if (world_.planned.jump < 0 && world_.judge.was_over(b.name_, b.token_)) return;
        if (world_.judge.was_ended_by_hand(b.name_, b.owner_, b.token_)) {
            if (world_.db.now() >= world_.judge.latest_end(b.name_, b.token_))
                world_.fail("trust ends before the term", b.of_.label + " believes in a term that would be over if nobody had ended it");
            return;
        }
        if (other != nullptr)
            world_.fail("trust does not overlap", b.of_.label + " and " + other->of_.label + " both believe they hold '" +
                                                      std::string{lease_names[static_cast<std::size_t>(b.name_)]} + "'");
        other = &b;
        // A later term of its own owner keeps everybody else out as well: an attempt that it had given up was carried out late.
        const row_view row = world_.db.look(b.name_);
        if (!row.live || row.token < b.token_ || row.owner != b.owner_)
            world_.fail("trust ends before the term",
                        b.of_.label + " believes in token " + std::to_string(b.token_) + ", which is over in the store");
    }

    // The loss is to be signalled no later than the deadline; a millisecond for the fibers that do it.
    void over(belief& b)
    {
        const instant now = world_.time.now();
        if (b.over_since_ == never) {
            b.over_since_ = now;
            ++world_.faults.losses;
            world_.tell(b.of_, 'l', b.token_, [&] { return "no longer holds token " + std::to_string(b.token_); });
            return;
        }
        const instant since = std::max(b.over_since_, b.of_.frozen_until);
        if (b.watches_ && now > since + ms && !b.lost_.stop_requested())
            world_.fail("loss is signalled by the deadline",
                        b.of_.label + " was not told that token " + std::to_string(b.token_) + " is lost");
    }

    world& world_;
    std::vector<belief*> all_;
};

}  // namespace sim

#endif
