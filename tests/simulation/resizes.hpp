// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_RESIZES_HPP
#define LEASEHOLD_TESTS_SIMULATION_RESIZES_HPP

#include "policy.hpp"
#include "stopped_hosts.hpp"

#include <leasehold/detail/agreed_count.hpp>
#include <leasehold/lease_semaphore.hpp>
#include <leasehold/owner_id/fixed_owner_id.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
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

// One that holds permits.
struct permit_player : player {
    using player::player;
    std::function<std::size_t()> held = [] { return std::size_t{0}; };  // how many it believes that it holds
};

class resizes : stopped_hosts<permit_player> {
    using player = permit_player;
    using semaphore = leasehold::lease_semaphore<store, clock, leasehold::fixed_owner_id, any_policy>;
    static constexpr std::size_t most = 4;
    static constexpr int pool = 2;  // of lease_names

public:
    resizes(std::uint64_t seed, bool calm) : stopped_hosts{seed, calm, 3, 2}
    {
        start("resizes", [this](player& of) { play(of); });
    }

    resizes_result run()
    {
        run_until_broken(result_.what, [this] { check(); });
        result_.broken_rule = result_.what.empty() ? nullptr : result_.what.c_str();
        world_.time.drain();
        return std::move(result_);
    }

private:
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

    resizes_result result_;
    std::size_t limit_ = most;
    std::size_t change_ = 0;  // the latest that the record has had
};

}  // namespace sim

#endif
