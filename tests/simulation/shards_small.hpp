// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_SHARDS_SMALL_HPP
#define LEASEHOLD_TESTS_SIMULATION_SHARDS_SMALL_HPP

#include <leasehold/group/shard_machine.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

// Small worlds of members and shards, explored whole: every order of looks, answers, deaths and joins.
namespace shards {

namespace group = leasehold::group;

inline constexpr std::size_t members_of_small_world = 3;
inline constexpr std::size_t shards_of_small_world = 4;

// How often each kind of trouble may come.
struct troubles {
    int joins = 0;
    int kills = 0;
    int cut_offs = 0;
    int lost_answers = 0;
    int late_attempts = 0;
    int old_looks = 0;
    int pauses = 0;
    int forced = 0;  // releases by an operator

    friend bool operator==(const troubles&, const troubles&) = default;
};

struct broken_rule : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct stored_row {
    std::size_t holder = group::nobody;
    std::int64_t token = 0;
    std::optional<std::pair<std::size_t, std::size_t>> request;  // asker, after

    friend bool operator==(const stored_row&, const stored_row&) = default;
};

struct old_look {
    std::array<stored_row, shards_of_small_world> rows;
    std::array<bool, members_of_small_world> listed;

    friend bool operator==(const old_look&, const old_look&) = default;
};

struct small_member {
    bool alive = false;
    bool listed = false;  // its own lease is in the store
    bool paused = false;
    std::optional<group::shard_machine> machine;
    std::optional<old_look> look;                        // taken, and not acted on yet
    std::array<bool, shards_of_small_world> attempts{};  // that the store carries out later, when nobody waits for the answer any more
    std::array<bool, shards_of_small_world> lost{};      // ended by force, and its renewal has not noticed

    friend bool operator==(const small_member&, const small_member&) = default;
};

class small_world {
public:
    // `settled`: the members have divided the shards already.
    small_world(std::size_t members, bool settled, const troubles& to_come) : to_come_{to_come},
          all_know_what_is_{to_come.old_looks == 0 && to_come.forced == 0}
    {
        for (std::size_t m = 0; m < members; ++m) enter(m);
        if (settled) settle(4);
    }

    friend bool operator==(const small_world&, const small_world&) = default;

    [[nodiscard]] std::size_t hash() const
    {
        std::size_t sum = 17;
        const auto add = [&sum](std::size_t value) { sum = (sum ^ value) * 0x100000001B3ULL; };
        for (const stored_row& row : rows_) {
            add(row.holder + 2);
            add(static_cast<std::size_t>(row.token));
            add(row.request ? row.request->first * 8 + row.request->second + 1 : 0);
        }
        for (const small_member& m : members_) {
            add((m.alive ? 1U : 0U) | (m.listed ? 2U : 0U) | (m.paused ? 4U : 0U) | (m.look ? 8U : 0U));
            for (std::size_t i = 0; i < shards_of_small_world; ++i)
                add((m.attempts[i] ? 8U : 0U) + (m.lost[i] ? 16U : 0U) +
                    (m.machine && m.machine->state_of(i) ? 1U + static_cast<std::size_t>(*m.machine->state_of(i)) : 0U));
        }
        add(static_cast<std::size_t>(to_come_.joins + 8 * to_come_.kills + 64 * to_come_.lost_answers + 512 * to_come_.late_attempts +
                                     4096 * to_come_.old_looks + 32768 * to_come_.pauses + 262144 * to_come_.cut_offs +
                                     2097152 * to_come_.forced));
        return sum;
    }

    // Calls each(next world, what happened) for everything that can come next.
    template <class Each>
    void successors(Each each) const
    {
        for (std::size_t m = 0; m < members_of_small_world; ++m) {
            const small_member& now = members_[m];
            const std::string who = "member " + std::to_string(m);
            const auto step = [&](const std::string& what, auto change) {
                small_world next = *this;
                change(next);
                next.check();
                each(std::move(next), who + " " + what);
            };
            if (now.alive && !now.look) {
                step("looks and acts", [m](small_world& w) { w.cycle(m, w.look(), answers::come); });
                if (to_come_.lost_answers > 0)
                    step("looks and acts, and no answer comes", [m](small_world& w) {
                        --w.to_come_.lost_answers;
                        w.cycle(m, w.look(), answers::are_lost);
                    });
                if (to_come_.late_attempts > 0)
                    step("looks, and what it does is carried out later", [m](small_world& w) {
                        --w.to_come_.late_attempts;
                        w.cycle(m, w.look(), answers::attempts_are_late);
                    });
                if (to_come_.old_looks > 0)
                    step("looks", [m](small_world& w) {
                        --w.to_come_.old_looks;
                        w.members_[m].look = w.look();
                    });
            }
            if (now.alive && now.look)
                step("acts on its old look", [m](small_world& w) {
                    const old_look seen = *w.members_[m].look;
                    w.members_[m].look.reset();
                    w.cycle(m, seen, answers::come);
                });
            if (now.alive)
                for (std::size_t i = 0; i < shards_of_small_world; ++i)
                    if (now.machine->state_of(i) == group::shard_machine::state::draining)
                        step("has drained " + std::to_string(i), [m, i](small_world& w) { w.finish(m, i); });
            for (std::size_t i = 0; i < shards_of_small_world; ++i) {
                if (now.alive && now.lost[i])
                    step("notices that it has lost " + std::to_string(i), [m, i](small_world& w) { w.end_term(m, i); });
                if (to_come_.forced > 0 && rows_[i].holder == m)
                    step("loses " + std::to_string(i) + " by force", [m, i](small_world& w) {
                        --w.to_come_.forced;
                        w.force(m, i);
                    });
            }
            if (std::ranges::find(now.attempts, true) != now.attempts.end())
                step("is granted what it no longer waits for", [m](small_world& w) { w.carry_out(m); });
            if (!now.alive && now.listed) step("is no longer listed", [m](small_world& w) { w.members_[m].listed = false; });
            if (!now.alive && holds(m)) step("loses its rows", [m](small_world& w) { w.expire(m); });
            if (!now.alive && !now.listed && !holds(m) && to_come_.joins > 0)
                step("joins", [m](small_world& w) {
                    --w.to_come_.joins;
                    w.enter(m);
                });
            if (now.alive && to_come_.kills > 0)
                step("dies", [m](small_world& w) {
                    --w.to_come_.kills;
                    w.leave(m);
                });
            if (now.alive && to_come_.cut_offs > 0)
                step("is cut off until its terms are over", [m](small_world& w) {
                    --w.to_come_.cut_offs;
                    w.cut_off(m);
                });
            if (now.alive && to_come_.pauses > 0)
                step(now.paused ? "goes on" : "pauses", [m](small_world& w) {
                    --w.to_come_.pauses;
                    w.members_[m].paused = !w.members_[m].paused;
                });
        }
    }

    // With no more trouble: everybody looks and acts in turn, and drains, until nothing changes. Returns how many rounds that took; throws
    // if it took more than `most`, or if it is not fair in the end.
    std::size_t settle(std::size_t most)
    {
        std::size_t last_change = 0;
        for (std::size_t round = 1; round <= most + 4; ++round) {
            const auto before = rows_;
            for (std::size_t m = 0; m < members_of_small_world; ++m) {
                if (std::ranges::find(members_[m].attempts, true) != members_[m].attempts.end()) carry_out(m);
                if (!members_[m].alive) {
                    members_[m].listed = false;
                    expire(m);
                    continue;
                }
                const old_look seen = members_[m].look ? *std::exchange(members_[m].look, std::nullopt) : look();
                cycle(m, seen, answers::come);
                for (std::size_t i = 0; i < shards_of_small_world; ++i)
                    if (members_[m].lost[i])
                        end_term(m, i);
                    else if (members_[m].machine->state_of(i) == group::shard_machine::state::draining)
                        finish(m, i);
                check();
            }
            if (rows_ != before) last_change = round;
        }
        if (last_change > most) throw broken_rule{"it has not settled after " + std::to_string(most) + " rounds"};
        check_fair();
        return last_change;
    }

    [[nodiscard]] std::string text() const
    {
        std::ostringstream out;
        for (std::size_t i = 0; i < shards_of_small_world; ++i) {
            out << i << ":" << (rows_[i].holder == group::nobody ? std::string{"-"} : std::to_string(rows_[i].holder));
            if (rows_[i].request) out << "(asked by " << rows_[i].request->first << " after " << rows_[i].request->second << ")";
            out << ' ';
        }
        for (std::size_t m = 0; m < members_of_small_world; ++m)
            if (members_[m].alive)
                out << " m" << m << (members_[m].paused ? " paused" : "") << " works on " << working(m);
        return out.str();
    }

private:
    enum class answers : std::uint8_t { come, are_lost, attempts_are_late };

    void enter(std::size_t m)
    {
        members_[m] = small_member{};
        members_[m].alive = true;
        members_[m].listed = true;
        members_[m].machine.emplace(count_, group::shard_pacing{.drain_timeout = std::chrono::hours{1},
                                                                .retry_min = std::chrono::seconds{0},
                                                                .retry_max = std::chrono::seconds{0}});
    }

    void leave(std::size_t m)
    {
        members_[m].alive = false;
        members_[m].machine.reset();
        members_[m].look.reset();
        members_[m].lost = {};
    }

    [[nodiscard]] bool holds(std::size_t m) const
    {
        return std::ranges::any_of(rows_, [m](const stored_row& row) { return row.holder == m; });
    }

    void expire(std::size_t m)
    {
        for (stored_row& row : rows_)
            if (row.holder == m) free(row);
    }

    static void free(stored_row& row)
    {
        row.holder = group::nobody;
        row.request.reset();
    }

    // The work has ended before the store gives the rows to others: that is what a deadline is for.
    void cut_off(std::size_t m)
    {
        for (const std::size_t i : members_[m].machine->mine()) end_term(m, i);
        expire(m);
    }

    void end_term(std::size_t m, std::size_t i)
    {
        members_[m].machine->give_up(i, {});
        if (members_[m].machine->state_of(i) != group::shard_machine::state::ended) members_[m].machine->ended(i, false, {});
        members_[m].machine->over(i);
        members_[m].lost[i] = false;
    }

    void force(std::size_t m, std::size_t i)
    {
        members_[m].lost[i] = members_[m].alive && members_[m].machine->state_of(i);
        free(rows_[i]);
    }

    [[nodiscard]] old_look look() const
    {
        old_look seen{rows_, {}};
        for (std::size_t m = 0; m < members_of_small_world; ++m) seen.listed[m] = members_[m].listed;
        return seen;
    }

    bool grant(std::size_t m, std::size_t i)
    {
        if (rows_[i].holder != group::nobody && rows_[i].holder != m) return false;
        free(rows_[i]);
        rows_[i].holder = m;
        ++rows_[i].token;
        return true;
    }

    void carry_out(std::size_t m)
    {
        for (std::size_t i = 0; i < shards_of_small_world; ++i) {
            // A member that has taken the shard meanwhile loses that term: its next renewal says so.
            if (members_[m].attempts[i] && grant(m, i) && members_[m].alive && members_[m].machine->state_of(i)) end_term(m, i);
            members_[m].attempts[i] = false;
        }
    }

    void finish(std::size_t m, std::size_t i)
    {
        members_[m].machine->ended(i, false, {});
        give_back(m, i);
    }

    void give_back(std::size_t m, std::size_t i)
    {
        members_[m].machine->over(i);
        if (!std::exchange(members_[m].lost[i], false) && rows_[i].holder == m) free(rows_[i]);
    }

    void cycle(std::size_t m, const old_look& seen, answers how)
    {
        group::shard_look look;
        std::array<std::size_t, members_of_small_world> index{};
        std::vector<std::size_t> of_index;
        for (std::size_t each = 0; each < members_of_small_world; ++each) {
            index[each] = group::nobody;
            if (!seen.listed[each] && each != m) continue;
            index[each] = look.members.size();
            of_index.push_back(each);
            look.members.push_back({.order = 7 * each + 1, .paused = members_[each].alive && members_[each].paused});
        }
        look.me = index[m];
        for (std::size_t i = 0; i < shards_of_small_world; ++i) {
            const stored_row& row = seen.rows[i];
            if (row.holder == group::nobody) continue;
            group::seen_row shown{i, row.token, index[row.holder], {}};
            if (row.request && index[row.request->first] != group::nobody)
                shown.request = group::shard_request{index[row.request->first], row.request->second};
            look.rows.push_back(shown);
        }
        const auto before = true_loads();
        const group::shard_actions todo = members_[m].machine->looked(look, {});
        check_drains(m, todo, before, seen);
        for (const std::size_t i : todo.give_back) give_back(m, i);
        for (const std::size_t i : todo.take) {
            if (how == answers::attempts_are_late)
                members_[m].attempts[i] = true;
            else if (grant(m, i) && how == answers::come)
                members_[m].machine->taken(i, rows_[i].token);
        }
        if (how == answers::attempts_are_late) return;
        for (const group::shard_ask& each : todo.ask)
            if (rows_[each.shard].holder != group::nobody) rows_[each.shard].request = std::pair{m, each.after};
    }

    // How many shards each has and goes on with, and is being given.
    [[nodiscard]] std::array<std::size_t, members_of_small_world> true_loads() const
    {
        std::array<std::size_t, members_of_small_world> loads{};
        for (std::size_t m = 0; m < members_of_small_world; ++m) {
            if (!members_[m].alive) continue;
            for (std::size_t i = 0; i < count_; ++i) {
                const auto state = members_[m].machine->state_of(i);
                if (state == group::shard_machine::state::working) ++loads[m];
                if (state == group::shard_machine::state::draining && rows_[i].request) ++loads[rows_[i].request->first];
                if (!state && rows_[i].holder == m) ++loads[m];  // granted by an answer that was lost: it takes it again
            }
        }
        return loads;
    }

    // No move without need, if nobody acts on an old look or works on what it has lost: what a member drains for another leaves their
    // shares closer to each other.
    void check_drains(std::size_t m, const group::shard_actions& todo, std::array<std::size_t, members_of_small_world> loads,
                      const old_look& seen) const
    {
        if (members_[m].paused || !all_know_what_is_) return;
        for (const std::size_t i : todo.drain) {
            const auto& request = seen.rows[i].request;
            if (!request) throw broken_rule{"it drains what nobody has asked for"};
            const std::size_t to = request->first;
            if (loads[m] < loads[to] + 2 && members_[to].alive && !members_[to].paused)
                throw broken_rule{"a move that does not make the spread smaller: shard " + std::to_string(i) + " from member " +
                                  std::to_string(m) + " with " + std::to_string(loads[m]) + " to member " + std::to_string(to) + " with " +
                                  std::to_string(loads[to])};
            --loads[m];
            ++loads[to];
        }
    }

    void check() const
    {
        for (std::size_t i = 0; i < shards_of_small_world; ++i) {
            std::size_t owners = 0;
            for (const small_member& m : members_)
                if (m.alive && m.machine->state_of(i) && !m.lost[i]) ++owners;
            if (owners > 1) throw broken_rule{"two own shard " + std::to_string(i)};
        }
    }

    [[nodiscard]] std::size_t working(std::size_t m) const
    {
        std::size_t shards = 0;
        for (std::size_t i = 0; i < shards_of_small_world; ++i)
            if (members_[m].machine->state_of(i) == group::shard_machine::state::working) ++shards;
        return shards;
    }

    void check_fair() const
    {
        std::size_t least = group::nobody;
        std::size_t most = 0;
        std::size_t all = 0;
        for (std::size_t m = 0; m < members_of_small_world; ++m) {
            if (!members_[m].alive) continue;
            if (members_[m].paused && working(m) > 0) throw broken_rule{"a member that is paused works"};
            if (members_[m].paused) continue;
            least = std::min(least, working(m));
            most = std::max(most, working(m));
            all += working(m);
        }
        if (least == group::nobody) return;
        if (all != count_) throw broken_rule{"not all shards are owned in the end: " + text()};
        if (most - least > 1) throw broken_rule{"not fair in the end: " + text()};
    }

    std::array<stored_row, shards_of_small_world> rows_{};
    std::array<small_member, members_of_small_world> members_{};
    std::size_t count_ = shards_of_small_world;
    troubles to_come_;
    bool all_know_what_is_;
};

struct explored {
    std::size_t worlds = 0;
    std::size_t steps = 0;
    std::size_t slowest = 0;  // the most rounds that a world needed to settle
    std::string broken;       // what went wrong, and how it came to that; empty: nothing
};

// Every world that can follow from this one. `settles_within`: rounds of everybody's looks.
inline explored explore(const small_world& first, std::size_t settles_within, std::size_t most_worlds)
{
    struct hash_of {
        std::size_t operator()(const small_world& w) const { return w.hash(); }
    };
    struct came {
        const small_world* from;
        std::string how;
    };
    explored all;
    std::unordered_map<small_world, came, hash_of> seen;
    std::deque<const small_world*> to_visit;
    const auto story = [&seen](const small_world* at) {
        std::vector<std::string> lines;
        for (; at; at = seen.at(*at).from) lines.push_back(seen.at(*at).how + "\n      -> " + at->text());
        std::string told;
        for (auto line = lines.rbegin(); line != lines.rend(); ++line) told += "    " + *line + "\n";
        return told;
    };
    to_visit.push_back(&seen.emplace(first, came{nullptr, "at first"}).first->first);
    while (!to_visit.empty()) {
        const small_world* const at = to_visit.front();
        to_visit.pop_front();
        try {
            small_world settling = *at;
            all.slowest = std::max(all.slowest, settling.settle(settles_within));
            at->successors([&](small_world next, const std::string& how) {
                ++all.steps;
                const auto [found, is_new] = seen.emplace(std::move(next), came{at, how});
                if (is_new) to_visit.push_back(&found->first);
            });
        } catch (const broken_rule& broken) {
            all.broken = std::string{broken.what()} + "\n" + story(at);
            break;
        }
        if (seen.size() > most_worlds) {
            all.broken = "more than " + std::to_string(most_worlds) + " worlds\n" + story(at);
            break;
        }
    }
    all.worlds = seen.size();
    return all;
}

}  // namespace shards

#endif
