// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_RESIZES_HPP
#define LEASEHOLD_TESTS_SIMULATION_RESIZES_HPP

#include "network.hpp"
#include "policy.hpp"
#include "store.hpp"
#include "world.hpp"

#include <leasehold/detail/agreed_count.hpp>
#include <leasehold/lease_semaphore.hpp>
#include <leasehold/owner_id/fixed_owner_id.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace sim {

// Processes that take one permit or several, and change their count now and then, while messages get lost, come late or twice, clocks
// drift and processes stop. Checked after each step: how many are believed to be held, against what the record says.
struct resizes_result {
    const char* broken_rule = nullptr;
    std::string what;
    int grants = 0;
    int of_several = 0;
    int resizes = 0;
    int refusals = 0;     // the count was refused, or a permit was lost
    bool settled = true;  // in the end the record has one count, and so many could be held at once
};

class resizes {
    using semaphore = leasehold::lease_semaphore<store, clock, leasehold::fixed_owner_id, any_policy>;
    static constexpr std::size_t most = 4;
    static constexpr int pool = 2;  // of lease_names

public:
    resizes(std::uint64_t seed, bool calm) : random_{seed}, choose_{random_, seed}, world_{rules(random_, calm), choose_, false}
    {
        for (int host = 0; host < world_.planned.hosts; ++host) {
            auto p = std::make_unique<process>();
            p->index = p->host = host;
            p->label = "n" + std::to_string(host + 1);
            p->clock = {random_.between(1, 1'000'000) * ms, random_.between(-world_.planned.drift_ppm, world_.planned.drift_ppm)};
            world_.processes.push_back(std::move(p));
            players_.push_back(std::make_unique<player>(world_, net_, *world_.processes.back()));
        }
        for (auto& each : players_) world_.time.start(each->self, [this, &of = *each] { play(of); });
        if (!calm) world_.time.at(world_.planned.ttl, &strike, this, 0);
    }

    resizes_result run()
    {
        while (!world_.judge.broken() && result_.what.empty() && !all_ended() && world_.time.now() < ends_at() * 20 && world_.time.step())
            check();
        if (world_.judge.broken()) result_.what = world_.judge.rule();
        result_.broken_rule = result_.what.empty() ? nullptr : result_.what.c_str();
        world_.time.drain();
        return std::move(result_);
    }

private:
    struct player {
        player(world& w, network& net, process& of) : self{of}, owner{of.label + "/resizes"}, to{w, net, of}, time{of, w.planned.at_clock}
        {
            static_cast<void>(w.owner(owner));
        }
        process& self;
        const std::string owner;
        store to;
        clock time;
        std::function<std::size_t()> held = [] { return std::size_t{0}; };  // how many it believes that it holds
        bool ended = false;
    };

    static plan rules(random_source& random, bool calm)
    {
        plan p{random};
        p.hosts = static_cast<int>(random.between(3, 4));
        p.names = 2;
        p.calm = calm;
        p.in_step = true;
        p.at_clock.of_1024 = 0;
        p.jump = 0;
        p.trust_is_promised = true;
        p.min_hold = 0;
        p.slow_polls = false;
        p.fault_end = p.ttl * 12;
        if (calm) p.lost_request = p.lost_reply = p.duplicate = p.slow = p.broken_connection = p.refused = 0, p.quick_delay = p.ttl / 100;
        return p;
    }

    [[nodiscard]] std::int64_t ttl() const { return world_.planned.ttl; }
    [[nodiscard]] std::int64_t ends_at() const { return world_.planned.fault_end; }
    [[nodiscard]] bool all_ended() const
    {
        return std::ranges::all_of(players_, [](const auto& each) { return each->ended; });
    }
    void sleep(player& of, std::int64_t how_long)
    {
        world_.time.sleep_until(of.self.clock.when(of.self.clock.at(world_.time.now()) + how_long));
    }

    static void strike(void* self, std::uint64_t) { static_cast<resizes*>(self)->strike(); }
    void strike()
    {
        if (world_.time.now() >= ends_at()) return;
        if (random_.chance(500)) world_.time.freeze(players_[index()]->self, random_.below(ttl() * 3));
        world_.time.at(world_.time.now() + random_.between(ttl() / 2, ttl() * 2), &strike, this, 0);
    }
    [[nodiscard]] std::size_t index() { return static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(players_.size()))); }

    // The processes have the counts that they agree on; one may have been made with another, and follows.
    void play(player& of)
    {
        const leasehold::lease_terms terms{.ttl = leasehold::duration{ttl()},
                                           .safety_margin = leasehold::duration{ttl() / world_.planned.margin_part}};
        const bool other = of.self.index == 0;
        semaphore permits{of.to, "pool", other ? 3 : 2, terms, of.time, leasehold::fixed_owner_id{of.owner}, any_policy{},
                          leasehold::semaphore_options{other ? leasehold::on_other_count::follow : leasehold::on_other_count::refuse}};
        agree(of, permits);
        while (!world_.time.draining() && world_.time.now() < ends_at()) act(of, permits);
        in_the_end(of, permits);
        of.ended = true;
    }

    // The follower comes last, so that all agree on 2.
    void agree(player& of, semaphore& permits)
    {
        if (of.self.index == 0) sleep(of, ttl() * 2);
        std::error_code ec;
        do {
            static_cast<void>(permits.try_acquire(ec));
            if (ec) sleep(of, ttl() / 10);
        } while (ec && !world_.time.draining() && world_.time.now() < ends_at());
    }

    void act(player& of, semaphore& permits)
    {
        std::error_code ec;
        sleep(of, random_.below(ttl() / 4));
        const leasehold::duration at_most{random_.below(ttl() * 2)};
        switch (random_.below(8)) {
        case 0:
            permits.resize(random_.between(1, static_cast<std::int64_t>(most)), ec);
            result_.resizes += ec ? 0 : 1;
            return;
        case 1:
        case 2: {
            const auto several = random_.between(1, static_cast<std::int64_t>(permits.count()));
            auto got = random_.chance(500) ? permits.try_acquire(several, ec) : permits.try_acquire_for(at_most, several, ec);
            result_.of_several += got.empty() ? 0 : 1;
            return hold(of, std::move(got), ec);
        }
        default: hold(of, random_.chance(500) ? permits.try_acquire(ec) : permits.try_acquire_for(at_most, ec), ec);
        }
    }

    template <class Guard>
    static std::size_t size_of(const Guard& got)
    {
        if constexpr (requires { got.size(); })
            return got.size();
        else
            return 1;
    }

    template <class Guard>
    void hold(player& of, Guard got, const std::error_code& ec)
    {
        if (ec == leasehold::errc::invalid_terms) ++result_.refusals;
        if (got.empty()) return;
        ++result_.grants;
        of.held = [&got] { return got.held() ? size_of(got) : 0; };
        check();
        for (auto rounds = random_.below(4); rounds > 0 && got.held() && !world_.time.draining(); --rounds) sleep(of, random_.below(ttl()));
        if (world_.planned.calm && !world_.time.draining() && !got.held()) result_.what = "a permit was taken away without a fault";
        of.held = [] { return std::size_t{0}; };
        std::error_code failed;
        if (random_.chance(700)) static_cast<void>(got.release(failed));
    }

    // Nothing goes wrong any more: the count becomes final, and as many as it says can be had.
    void in_the_end(player& of, semaphore& permits)
    {
        if (of.self.index != 1) return;
        std::error_code ec;
        for (int i = 0; i < 200 && !world_.time.draining(); ++i) {
            sleep(of, ttl() / 4);
            const auto all = permits.try_acquire(permits.count(), ec);
            const auto found = record();
            if (!ec && all.held() && found && !found->changing() && found->count == all.size()) return;
        }
        result_.settled = world_.time.draining();
        if (!result_.settled) result_.what = "the count is final in the end, and so many can be held";
    }

    [[nodiscard]] std::optional<leasehold::detail::agreed_count> record()
    {
        const row_view row = world_.db.look(pool);
        if (!row.live || row.owner == nobody) return std::nullopt;
        return leasehold::detail::agreed_count::of(world_.owners[static_cast<std::size_t>(row.owner)], "permits");
    }

    // A record that is away for a moment, between two statements of a change, allows what it did before. So does one that has fallen back:
    // somebody who has not heard of a change has written it in that moment.
    void check()
    {
        if (const auto found = record(); found && found->change >= change_) {
            change_ = found->change;
            limit_ = found->limit();
        }
        std::size_t held = 0;
        for (const auto& each : players_) held += each->held();
        if (held > limit_ && result_.what.empty())
            result_.what = std::to_string(held) + " permits are held, the record allows " + std::to_string(limit_);
    }

    random_source random_;
    random_chooser choose_;
    world world_;
    network net_{world_};
    std::vector<std::unique_ptr<player>> players_;
    resizes_result result_;
    std::size_t limit_ = most;
    std::size_t change_ = 0;  // the latest that the record has had
};

}  // namespace sim

#endif
