// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_HOLD_JUDGE_HPP
#define LEASEHOLD_TESTS_SIMULATION_HOLD_JUDGE_HPP

#include "message.hpp"
#include "process.hpp"
#include "world.hpp"

#include <leasehold/detail/hold_text.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sim {

// What must be true of a name that is held closed for a while, judged by its row. That nobody is granted it meanwhile, and nobody believes
// that he holds it, is checked for all terms alike: see checker and guard_monitors.
class hold_judge {
public:
    static constexpr int name = 0;  // of lease_names

    hold_judge(world& of, std::int64_t period) : world_{of}, period_{period} {}

    // After each step. `somebody_waits`: for the name, until it has it.
    void check(bool somebody_waits)
    {
        const row_view row = world_.db.look(name);
        if (row.live && is_hold(row) && (!hold_ || hold_->token != row.token)) began(row);
        if (!hold_ || served_) return;
        const bool goes_on = row.live && row.token == hold_->token;
        if (goes_on && row.ends != hold_->ends) broken("a hold lasts as long as it was asked for", "its end has changed");
        if (!goes_on && !ended_) ended();
        if (!ended_) return;
        served_ = row.live;
        if (!served_ && somebody_waits && world_.planned.calm && world_.time.now() > *ended_ + world_.planned.ttl / 10)
            broken("who waits is served when a hold ends", "nobody has the name");
    }

    // What the one who makes the hold was told. -----------------------------------------------------------------------------------------
    void asks_to_open() noexcept { opening_ = true; }

    // There is no other hold.
    void refused(const std::string& why) { broken("a hold is refused for another only", why); }
    void made()
    {
        if (!hold_) broken("a hold that was made is in the store", "the row has not shown it");
    }
    void never_made(const std::string& why) { broken("a hold is had in the end", why); }

private:
    struct hold {
        std::int64_t token;
        std::int64_t ends;  // by the server's clock
    };

    [[nodiscard]] bool is_hold(const row_view& row) const
    {
        return row.owner != nobody && leasehold::detail::is_hold(world_.owners[static_cast<std::size_t>(row.owner)]);
    }

    void began(const row_view& row)
    {
        hold_ = {row.token, row.ends};
        ended_.reset();
        served_ = false;
        const std::int64_t lasts = row.ends - world_.db.now();
        if (lasts < period_ - 1000 || lasts > period_ + 1000)  // databases cut off a part of a microsecond
            broken("a hold lasts as long as it was asked for", "it begins for " + seconds(lasts));
    }

    void ended()
    {
        ended_ = world_.time.now();
        if (!opening_ && world_.db.now() < hold_->ends) broken("a hold lasts as long as it was asked for", "it is over before its time");
    }

    void broken(const char* rule, const std::string& how) { world_.fail(rule, how); }

    world& world_;
    std::int64_t period_;
    std::optional<hold> hold_;
    std::optional<instant> ended_;
    bool served_ = false;   // somebody has been granted the name after the hold
    bool opening_ = false;  // by unhold()
};

}  // namespace sim

#endif
