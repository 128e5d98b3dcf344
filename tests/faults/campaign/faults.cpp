// SPDX-License-Identifier: BSL-1.0
#include "faults.hpp"

#include "kinds.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>

namespace campaign {

namespace {

bool can_be_done(place where, const site& at)
{
    switch (where) {
    case place::anywhere: return true;
    case place::single_server: return !at.is_cluster() && !at.is_patroni();
    case place::cluster: return at.is_cluster();
    case place::galera: return at.is_galera();
    case place::group_replication: return at.is_cluster() && !at.is_galera();
    case place::patroni: return at.is_patroni();
    }
    return false;
}

}  // namespace

fault_lane::fault_lane(sort which, scene on, std::uint32_t seed) : on_{on}, random_{seed}
{
    const std::span<const fault_kind> all = fault_kinds();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool possible = can_be_done(all[i].where, on_.database);
        const bool wanted = which == sort::processes || on_.only.empty() || on_.only == all[i].name;
        if (all[i].sort == which && possible && wanted) kinds_.insert(kinds_.end(), all[i].weight, i);
    }
    if (kinds_.empty()) throw std::invalid_argument{"no kind of fault here is called " + on_.only};
    draw();
    next_at_ = now() + 2 * second;  // to let them begin
}

void fault_lane::draw()
{
    const auto between = [this](instant from, instant to) {
        return std::uniform_int_distribution<instant>{from, to}(random_);
    };
    next_.kind = kinds_[random_() % kinds_.size()];
    const fault_kind& kind = fault_kinds()[next_.kind];
    next_.target = random_() % contenders::count;
    next_.lasts = between(kind.shortest, kind.longest);
    next_.variant = static_cast<std::uint32_t>(random_());
    next_at_ = now() + between(200 * millisecond, 1300 * millisecond);
}

void fault_lane::go_on()
{
    if (under_way_) {
        if (now() >= began_ + next_.lasts) end();
    } else if (now() >= next_at_) {
        begin();
    }
}

void fault_lane::stop()
{
    if (under_way_) end();
}

void fault_lane::begin()
{
    const fault_kind& kind = fault_kinds()[next_.kind];
    if (kind.target == target::holder) {
        // The drawn one if nobody holds just now.
        next_.target = on_.processes.holder(next_.target).value_or(next_.target);
    } else if (kind.target == target::waiter) {
        const auto holder = on_.processes.holder(next_.target);
        if (holder == next_.target) next_.target = (next_.target + 1) % contenders::count;
    } else if (kind.target == target::server) {
        next_.target %= on_.database.size();
    }
    began_ = now();
    hit_ = kind.target == target::server || kind.target == target::all ? "*" : on_.processes.process(next_.target);
    under_way_ = kind.begin(on_, next_);
    next_.in_force = now();
    if (!under_way_) draw();
}

void fault_lane::end()
{
    const fault_kind& kind = fault_kinds()[next_.kind];
    const instant ending = now();
    kind.end(on_, next_, ending);
    const instant ended = now();
    on_.notes.write({event::fault, hit_, 0, began_, ended, kind.name});
    if (kind.excused != excused::nothing) {
        // Until the others have given the node up, and while it comes back, nothing can be committed.
        const instant group_change =
            on_.database.is_cluster() ? on_.database.cluster().longest_group_change() / std::chrono::nanoseconds{1} : 0;
        if (kind.excused == excused::all_of_it) on_.notes.write({event::excuse, "*", 0, began_, ended});
        if (kind.excused == excused::group_changes) {
            on_.notes.write({event::excuse, "*", 0, began_, std::min(ended, began_ + group_change)});
            on_.notes.write({event::excuse, "*", 0, ending, ended + group_change});
        }
    }
    under_way_ = false;
    draw();
}

}  // namespace campaign
