// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_CONTENDER_HPP
#define LEASEHOLD_TESTS_SIMULATION_CONTENDER_HPP

#include "guard_checks.hpp"
#include "guard_monitors.hpp"
#include "network.hpp"
#include "program.hpp"
#include "several.hpp"
#include "stopwatch.hpp"
#include "store.hpp"
#include "world.hpp"

#include <leasehold/leader_election.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace sim {

// What the program of a process in a small world does with its one right.
enum class role : std::uint8_t {
    tries,         // try_acquire() every half ttl
    waits,         // try_acquire_for(), until it is granted
    cancels,       // acquire(), cancelled after a quarter of a ttl
    ends_by_hand,  // force_release() after a third of a ttl, as a person would; then try_acquire() as above
    leads,         // an election
    takes_permit,  // of a lease_semaphore, waiting for it
    reads,         // of a shared_lease, waiting for it
    writes
};

struct contender_plan {
    role does = role::tries;
    int terms = 1;
    std::int64_t hold = 0;  // each term for so long
    bool fenced = false;    // writes to the resource in the middle of a term
    bool starts_early = true;
    bool runs_out = false;             // is not renewed any more once it has been held for half a ttl
    int threads = 1;                   // each does all this, and they share the lease object
    int tries = 4;                     // of one that tries, for a term
    bool another_waits = false;        // one more thread waits for a term, through the same lease object
    bool stops_after_leading = false;  // is asked to stop campaigning after it has stepped down, not while it leads
    bool other_ttls = false;           // renews by hand in the middle of a term, by one and a half ttls and then by one
    std::size_t permits = 1;           // that it says there are
};

// The small program that runs in each process of a small world of leases.
class contender final : public program {
public:
    contender(world& w, network& net, guard_monitors& all, right_monitors& rights, process& self, const contender_plan& does)
        : world_{w}, net_{net}, monitors_{all}, rights_{rights}, self_{self}, plan_{does},
          owner_text_{(w.planned.fixed_owners ? "host" + std::to_string(self.host) : self.label) + "/0"}, owner_{w.owner(owner_text_)},
          store_{w, net, self}, clock_{self, w.planned.at_clock}, cancellations_{w, self}
    {
        store_.on_renew = [this](std::string_view name, leasehold::fencing_token token) { monitors_.renewing(self_, name, token); };
        store_.on_refused = [this](std::string_view name, leasehold::fencing_token token) { monitors_.refused(self_, name, token); };
        w.time.start(self, [this] { main(); });
    }

    [[nodiscard]] bool done() const noexcept override { return done_; }
    [[nodiscard]] const process& self() const noexcept override { return self_; }
    void cancel_all() override { cancellations_.cancel_all(); }

private:
    static constexpr int job = 0;

    [[nodiscard]] std::int64_t ttl() const { return world_.planned.ttl; }
    // More than long enough to get what is not held for ever, in spite of a few faults.
    [[nodiscard]] std::int64_t patience() const { return ttl() * 20; }
    [[nodiscard]] std::int64_t local() const { return self_.clock.at(world_.time.now()); }
    void sleep(std::int64_t how_long) { world_.time.sleep_until(self_.clock.when(local() + how_long)); }

    [[nodiscard]] leasehold::lease_terms terms() const
    {
        const plan& p = world_.planned;
        return {.ttl = leasehold::duration{p.ttl},
                .safety_margin = leasehold::duration{p.ttl / p.margin_part},
                .min_hold = leasehold::duration{p.min_hold}};
    }

    [[nodiscard]] any_policy policy() const
    {
        any_policy chosen;
        if (plan_.runs_out) chosen = {any_policy::kind::until, {}, leasehold::duration{ttl() / 2}};
        return chosen;
    }

    void main()
    {
        switch (plan_.does) {
        case role::takes_permit: take_permits(); break;
        case role::reads:
        case role::writes: share(); break;
        default: use_lease();
        }
        done_ = true;
    }

    void use_lease()
    {
        lease right{store_, lease_names[job], terms(), clock_, leasehold::fixed_owner_id{owner_text_}, policy()};
        if (plan_.starts_early) start_and_wait(right);
        std::vector<fiber_thread> others;
        for (int i = 1; i < plan_.threads; ++i) others.emplace_back(world_.time.start(self_, [this, &right] { use(right); }));
        if (plan_.another_waits) others.emplace_back(world_.time.start(self_, [this, &right] { wait(right); }));
        use(right);
        for (fiber_thread& each : others) each.join();
    }

    void use(lease& right)
    {
        for (int term = 0; term < plan_.terms; ++term) {
            switch (plan_.does) {
            case role::leads: lead(right); break;
            case role::waits: wait(right); break;
            case role::cancels: wait_until_cancelled(right); break;
            case role::ends_by_hand: end_by_hand(); [[fallthrough]];
            default: try_often(right);
            }
        }
    }

    // Its threads start and go to sleep before there is anything for them to do, which leaves fewer orders to try.
    void start_and_wait(lease& right)
    {
        start_engine(right);
        sleep(ms);
    }

    void try_often(lease& right)
    {
        for (int i = 0; i < plan_.tries; ++i) {
            if (i != 0) sleep(ttl() / 2);
            const stopwatch watch{world_, self_};
            std::error_code ec;
            guard g = right.try_acquire(ec);
            watch.check(0, 2);
            const call_record& last = store_.last();
            if (g.empty() && !ec && last.caller == world_.time.current() && last.ended == world_.time.now() && last.failed)
                world_.fail("an error is not busy", self_.label + ": try_acquire says busy, the store had failed");
            if (got(g, ec)) return hold(g);
        }
    }

    void end_by_hand()
    {
        sleep(ttl() / 3);
        static_cast<void>(net_.call(self_, {ask::force_release, {}, job, nobody, 0, 0}, world_.time.now() + world_.planned.call_timeout));
    }

    void wait(lease& right)
    {
        const stopwatch watch{world_, self_};
        std::error_code ec;
        while (watch.elapsed() < patience() && !world_.time.draining()) {
            guard g = right.try_acquire_for(leasehold::duration{patience()}, ec);
            if (got(g, ec)) {
                if (watch.elapsed() >= patience()) break;  // only the attempt after the last sleep was granted
                return hold(g);
            }
            if (ec) sleep(ttl() / 4);
        }
        never_got();
    }

    void wait_until_cancelled(lease& right)
    {
        const cancellations::one& cancel = cancellations_.after(ttl() / 4);
        std::error_code ec;
        guard g = right.acquire(cancel.token(), ec);
        if (ec == std::errc::operation_canceled) ec.clear();
        cancellations_.check(cancel);
        if (got(g, ec)) hold(g);
    }

    void lead(lease& right)
    {
        const cancellations::one& cancel = cancellations_.after(patience());
        leasehold::leader_election_options options;
        options.retry_min = options.retry_max = options.cooldown.emplace(leasehold::duration{ttl() / 2});
        std::optional<std::stop_token> helpers;
        std::stop_source enough = cancel.source;
        if (plan_.stops_after_leading)
            options.on_stepped_down = [&](leasehold::step_down_reason) {
                check_told(world_, self_, helpers);
                enough.request_stop();
            };
        leasehold::leader_election election{right, options};
        election.run(cancel.token(), [&](leasehold::leader_term<lease>& term) {
            check_told(world_, self_, helpers);
            helpers = term.stop_token();
            const guard_monitors::belief believes{monitors_, self_, term.guard(), job, owner_, true};
            world_.tell(self_, 'e', term.token().value(), [&] { return "is elected with token " + std::to_string(term.token().value()); });
            sleep(plan_.hold);
            if (!plan_.stops_after_leading) enough.request_stop();
        });
        check_told(world_, self_, helpers);
        if (!helpers) never_got();
    }

    void take_permits()
    {
        leasehold::lease_semaphore pool{store_,      "pool", plan_.permits, terms(), clock_, leasehold::fixed_owner_id{owner_text_},
                                        any_policy{}};
        const right_kind kind = plan_.permits == 1 ? right_kind::permit : right_kind::other_permit;
        for (int term = 0; term < plan_.terms; ++term)
            get_one(kind, [&](std::error_code& ec) { return pool.try_acquire_for(leasehold::duration{patience()}, ec); },
                    [](const auto& g) { return std::vector{number_of_name(g.name())}; });
    }

    void share()
    {
        leasehold::shared_lease doc{store_, "doc", terms(), clock_, leasehold::fixed_owner_id{owner_text_}, any_policy{},
                                    leasehold::reader_limit{1}};
        const leasehold::duration at_most{patience()};
        for (int term = 0; term < plan_.terms; ++term) {
            if (plan_.does == role::reads)
                get_one(right_kind::reader, [&](std::error_code& ec) { return doc.try_acquire_shared_for(at_most, ec); },
                        [](const auto& g) { return std::vector{number_of_name(g.name())}; });
            else
                get_one(right_kind::writer, [&](std::error_code& ec) { return doc.try_acquire_for(at_most, ec); },
                        [](const auto&) { return std::vector{number_of_name("doc/writer"), number_of_name("doc/r0")}; });
        }
    }

    template <class Acquire, class Rows>
    void get_one(right_kind kind, Acquire acquire, Rows rows)
    {
        const stopwatch watch{world_, self_};
        while (watch.elapsed() < patience() && !world_.time.draining()) {
            std::error_code ec;
            auto g = acquire(ec);
            if (got(g, ec)) {
                if (watch.elapsed() >= patience()) break;
                const right_monitors::belief believes{rights_, self_, g, kind, owner_, rows(g)};
                sleep(plan_.hold);
                if (world_.planned.calm && !world_.time.draining() && !g.held())
                    world_.fail("nothing is lost without a fault", self_.label + " lost '" + std::string{g.name()} + "'");
                return;
            }
            if (ec) sleep(ttl() / 4);
        }
        never_got();
    }

    // An error holds nothing, and what is granted is held.
    template <class Guard>
    bool got(const Guard& g, const std::error_code& ec)
    {
        if (ec) {
            world_.tell(self_, 'f', ec.value(), [&] { return "gets nothing: " + ec.message(); });
            if (!g.empty()) world_.fail("an error holds nothing", self_.label + ": an attempt failed and gave a guard");
            return false;
        }
        if (g.empty()) {
            world_.tell(self_, 'b', 0, [] { return std::string{"gets nothing: busy"}; });
            return false;
        }
        if (world_.planned.at_clock.of_1024 == 0 && !g.held() && !world_.time.draining())
            world_.fail("what is handed out is held", self_.label + " got a guard whose deadline had passed");
        return true;
    }

    void never_got()
    {
        world_.fail("somebody holds in the end", self_.label + " did not get it within " + seconds(patience()));
    }

    void hold(guard& g)
    {
        const instant granted = world_.time.now();
        const std::int64_t token = g.token().value();
        {
            const guard_monitors::belief believes{monitors_, self_, g, job, owner_, true};
            world_.tell(self_, 'a', token, [&] {
                return "holds 'job' with token " + std::to_string(token) + " for " + seconds(g.remaining().count());
            });
            sleep(plan_.hold / 2);
            if (plan_.fenced && g.held()) write(g);
            if (plan_.other_ttls && g.held()) {
                renew(g, ttl() * 3 / 2);
                sleep(ttl() / 4);
                renew(g, ttl());
            }
            if (g.held() || plan_.runs_out) sleep(plan_.hold - plan_.hold / 2);
            const bool may_be_lost = !world_.planned.calm || plan_.runs_out || world_.judge.was_ended_by_hand(job, owner_, token);
            if (!may_be_lost && !g.held() && !world_.time.draining())
                world_.fail("nothing is lost without a fault", self_.label + " lost token " + std::to_string(token));
        }
        give_back(world_, self_, g, {job, owner_, world_.planned.min_hold, granted}, g.stop_token());
    }

    void renew(guard& g, std::int64_t by)
    {
        std::error_code ec;
        const bool extended = g.renew(leasehold::duration{by}, ec);
        world_.tell(self_, 'm', extended, [&] { return std::string{"renew(): "} + (ec ? ec.message() : extended ? "extended" : "lost"); });
        if (!ec && !extended && believes_in(g))
            world_.fail("a refused renewal is a loss", self_.label + ": renew() says lost, held() says held");
    }

    void write(const guard& g)
    {
        const reply said =
            net_.call(self_, {ask::write, {}, job, owner_, g.token().value(), 0}, world_.time.now() + world_.planned.call_timeout);
        if (said.failed == fault::none && !said.yes && believes_in(g))
            world_.fail("fence: a holder may write", self_.label + " holds, and its write is refused");
    }

    world& world_;
    network& net_;
    guard_monitors& monitors_;
    right_monitors& rights_;
    process& self_;
    contender_plan plan_;
    const std::string owner_text_;
    const int owner_;
    store store_;
    clock clock_;
    cancellations cancellations_;
    bool done_ = false;
};

}  // namespace sim

#endif
