// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_SEVERAL_HPP
#define LEASEHOLD_TESTS_SIMULATION_SEVERAL_HPP

#include "clock.hpp"
#include "policy.hpp"
#include "store.hpp"
#include "world.hpp"

#include <leasehold/error.hpp>
#include <leasehold/lease_semaphore.hpp>
#include <leasehold/owner_id/fixed_owner_id.hpp>
#include <leasehold/shared_lease.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace sim {

inline constexpr std::size_t permits = 2;
inline constexpr std::size_t other_permits = 3;  // of those who don't agree
inline constexpr std::size_t readers = 2;

enum class right_kind : std::uint8_t { permit, other_permit, reader, writer };

// Every permit and share that is held anywhere, asked again and again what it believes, and held against the rows and each other.
class right_monitors {
public:
    explicit right_monitors(world& of, std::size_t most_permits = permits) : world_{of}, most_permits_{most_permits} {}

    // One guard, from after it was acquired until before it is released.
    class belief {
    public:
        template <class Guard>
        belief(right_monitors& all, process& of, const Guard& got, right_kind kind, int owner, std::vector<int> rows)
            : all_{all}, of_{of}, held_{[&got] { return got.held(); }}, kind_{kind}, owner_{owner}, rows_{std::move(rows)},
              lost_{got.stop_token()}
        {
            all_.all_.push_back(this);
            all_.check();
        }
        belief(const belief&) = delete;
        belief& operator=(const belief&) = delete;
        ~belief() { std::erase(all_.all_, this); }

    private:
        friend right_monitors;
        right_monitors& all_;
        process& of_;
        std::function<bool()> held_;
        right_kind kind_;
        int owner_;
        std::vector<int> rows_;  // that must be this owner's
        std::stop_token lost_;
        instant over_since_ = never;
    };

    void check()
    {
        std::size_t count[4] = {};
        for (belief* b : all_) {
            if (b->of_.dead) continue;
            if (!b->held_()) {
                over(*b);
                continue;
            }
            if (b->over_since_ != never) world_.fail("lost is for ever", b->of_.label + " believes again in a right that was over");
            ++count[static_cast<std::size_t>(b->kind_)];
            if (promised()) rows_are_ours(*b);
        }
        if (!promised()) return;
        const auto of = [&count](right_kind kind) { return count[static_cast<std::size_t>(kind)]; };
        if (of(right_kind::permit) > most_permits_)
            world_.fail("no more than so many permits", std::to_string(of(right_kind::permit)) + " are held");
        if (of(right_kind::permit) > 0 && of(right_kind::other_permit) > 0)
            world_.fail("all agree on the count", "permits of two semaphores with different counts are held");
        if (of(right_kind::writer) > 1) world_.fail("one writer", "two writers hold");
        if (of(right_kind::writer) > 0 && of(right_kind::reader) > 0) world_.fail("a writer is never beside a reader", "both hold");
    }

    // Stands for who believes now.
    [[nodiscard]] std::uint64_t beliefs() const
    {
        std::uint64_t print = 0;
        for (const belief* b : all_) print += mixed_all(static_cast<std::uint64_t>(b->of_.index), b->kind_, b->held_(), b->of_.dead);
        return print;
    }

    // Stands for what later checks depend on besides the histories of the processes.
    [[nodiscard]] std::uint64_t fingerprint() const noexcept
    {
        std::uint64_t print = 0;
        for (const belief* b : all_) print += mixed_all(static_cast<std::uint64_t>(b->of_.index), b->kind_, b->over_since_);
        return print;
    }

private:
    [[nodiscard]] bool promised() const { return world_.planned.trust_is_promised && world_.planned.jump >= 0; }

    void rows_are_ours(const belief& b)
    {
        for (const int name : b.rows_) {
            const row_view row = world_.db.look(name);
            if (!row.live || row.owner != b.owner_)
                world_.fail("trust ends before the term", b.of_.label + " believes in '" +
                                                              std::string{lease_names[static_cast<std::size_t>(name)]} +
                                                              "', which is over in the store");
        }
    }

    void over(belief& b)
    {
        const instant now = world_.time.now();
        if (b.over_since_ == never) {
            b.over_since_ = now;
            return;
        }
        if (now > std::max(b.over_since_, b.of_.frozen_until) + ms && !b.lost_.stop_requested())
            world_.fail("loss is signalled by the deadline", b.of_.label + " was not told that one of several rights is lost");
    }

    world& world_;
    std::size_t most_permits_;
    std::vector<belief*> all_;
};

// The part of a process's program that takes permits and shares a name.
class several {
    using semaphore = leasehold::lease_semaphore<store, clock, leasehold::fixed_owner_id, any_policy>;
    using shared = leasehold::shared_lease<store, clock, leasehold::fixed_owner_id, any_policy>;

public:
    several(world& w, right_monitors& monitors, process& self, store& to, const clock& c)
        : world_{w}, monitors_{monitors}, self_{self}, owner_text_{self.label + "/several"}, owner_{w.owner(owner_text_)},
          pool_{to, "pool", permits, terms(), c, leasehold::fixed_owner_id{owner_text_}, any_policy{}},
          other_pool_{to, "pool", other_permits, terms(), c, leasehold::fixed_owner_id{owner_text_}, any_policy{}},
          doc_{to, "doc", terms(), c, leasehold::fixed_owner_id{owner_text_}, any_policy{}, leasehold::reader_limit{readers}}
    {
        for (const char* count : {"2 permits", "3 permits", "2 readers"}) static_cast<void>(w.owner(count));
    }

    void act()
    {
        const inside here{inside_};
        const bool waits = world_.random.chance(700);
        const leasehold::duration at_most{waits ? world_.random.below(world_.planned.ttl * 2) : 0};
        std::error_code ec;
        switch (world_.random.below(9)) {
        case 0: return use(other_pool_.try_acquire(ec), right_kind::other_permit, ec);
        case 1:
        case 2:
        case 3: return use(waits ? pool_.try_acquire_for(at_most, ec) : pool_.try_acquire(ec), right_kind::permit, ec);
        case 4:
        case 5:
        case 6: return use(waits ? doc_.try_acquire_shared_for(at_most, ec) : doc_.try_acquire_shared(ec), right_kind::reader, ec);
        default: {
            auto writer = waits ? doc_.try_acquire_for(at_most, ec) : doc_.try_acquire(ec);
            if (writer.empty() && !ec && world_.planned.calm) nothing_of_it_is_left();
            return use(std::move(writer), right_kind::writer, ec);
        }
        }
    }

    // Faults have stopped: each right is to be had within a bounded time.
    void must_get()
    {
        const inside here{inside_};
        get_in_the_end("a permit", right_kind::permit,
                       [this](leasehold::duration bound, std::error_code& ec) { return pool_.try_acquire_for(bound, ec); });
        get_in_the_end("a share", right_kind::reader,
                       [this](leasehold::duration bound, std::error_code& ec) { return doc_.try_acquire_shared_for(bound, ec); });
        get_in_the_end("the whole", right_kind::writer,
                       [this](leasehold::duration bound, std::error_code& ec) { return doc_.try_acquire_for(bound, ec); });
    }

private:
    struct inside {
        int& count;
        explicit inside(int& of) : count{++of} {}
        inside(const inside&) = delete;
        inside& operator=(const inside&) = delete;
        ~inside() { --count; }
    };

    [[nodiscard]] leasehold::lease_terms terms() const
    {
        const std::int64_t ttl = world_.planned.ttl;
        return {.ttl = leasehold::duration{ttl}, .safety_margin = leasehold::duration{ttl / world_.planned.margin_part}};
    }

    void sleep(std::int64_t how_long) { world_.time.sleep_until(self_.clock.when(self_.clock.at(world_.time.now()) + how_long)); }

    template <class Guard>
    std::vector<int> rows_of(const Guard& got, right_kind kind) const
    {
        if (kind == right_kind::writer)
            return {number_of_name("doc/writer"), number_of_name("doc/r0"), number_of_name("doc/r1")};
        return {number_of_name(got.name())};
    }

    template <class Guard>
    void use(Guard got, right_kind kind, const std::error_code& ec)
    {
        if (got.empty()) {
            world_.tell(self_, 'v', static_cast<int>(kind),
                        [&] { return "gets none of several: " + (ec ? ec.message() : std::string{"busy"}); });
            return;
        }
        if (ec) world_.fail("an error holds nothing", self_.label + ": an attempt at one of several rights failed and gave a guard");
        ++world_.faults.several;
        hold(got, kind);
        std::error_code failed;
        if (world_.random.chance(700)) static_cast<void>(got.release(failed));
    }

    template <class Guard>
    void hold(Guard& got, right_kind kind)
    {
        const right_monitors::belief believes{monitors_, self_, got, kind, owner_, rows_of(got, kind)};
        world_.tell(self_, 'V', static_cast<int>(kind), [&] { return "holds '" + std::string{got.name()} + "', one of several"; });
        for (auto rounds = world_.random.below(4); rounds > 0 && got.held() && world_.faults_go_on() && !world_.time.draining(); --rounds) {
            sleep(world_.random.below(world_.planned.ttl));
            std::error_code failed;
            if (world_.random.chance(200)) static_cast<void>(got.renew(failed));
        }
        if (world_.planned.calm && world_.faults_go_on() && !world_.time.draining() && !got.held())
            world_.fail("nothing is lost without a fault", self_.label + " lost '" + std::string{got.name()} + "'");
    }

    // Without a fault: a writer who got nothing has given back whatever it had.
    void nothing_of_it_is_left()
    {
        for (const char* name : {"doc/writer", "doc/r0", "doc/r1"}) {
            const row_view row = world_.db.look(number_of_name(name));
            if (row.live && row.owner == owner_ && inside_ == 1)
                world_.fail("no set is half held", self_.label + " got nothing, and still has '" + name + "'");
        }
    }

    template <class Acquire>
    void get_in_the_end(const char* what, right_kind kind, Acquire acquire)
    {
        const plan& p = world_.planned;
        if (world_.time.draining() || world_.judge.broken()) return;
        const std::int64_t bound = p.ttl * 40 + p.ttl * p.hosts * 20 + p.longest_delay() * 4 + std::abs(p.jump) * 2;
        const std::int64_t begun = self_.clock.at(world_.time.now());
        const auto elapsed = [&] { return self_.clock.at(world_.time.now()) - begun; };
        std::error_code ec;
        do {
            auto got = acquire(leasehold::duration{bound}, ec);
            if (world_.time.draining()) return;
            if (!got.empty()) {
                const right_monitors::belief believes{monitors_, self_, got, kind, owner_, rows_of(got, kind)};
                sleep(world_.random.below(p.ttl / 50));
                return;
            }
            if (ec) sleep(p.ttl / 5);
        } while (ec && elapsed() < bound);
        world_.fail("somebody holds in the end", self_.label + " did not get " + what + (ec ? ": " + ec.message() : ""));
    }

    world& world_;
    right_monitors& monitors_;
    process& self_;
    const std::string owner_text_;
    const int owner_;
    semaphore pool_;
    semaphore other_pool_;
    shared doc_;
    int inside_ = 0;  // threads that are in act() or must_get()
};

}  // namespace sim

#endif
