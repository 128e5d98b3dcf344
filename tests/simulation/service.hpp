// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_SERVICE_HPP
#define LEASEHOLD_TESTS_SIMULATION_SERVICE_HPP

#include "guard_checks.hpp"
#include "guard_monitors.hpp"
#include "network.hpp"
#include "several.hpp"
#include "stopwatch.hpp"
#include "store.hpp"
#include "world.hpp"

#include <leasehold/leader_election.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace sim {

// The program that runs in each process: some threads that take leases in every way there is, hold them, write under them,
// renew them, give them back or lose them; at the end each of them must get every lease once more.
class service {
public:
    service(world& w, network& net, guard_monitors& all, right_monitors& rights, process& self)
        : world_{w}, net_{net}, monitors_{all}, self_{self}, store_{w, net, self}, clock_{self, w.planned.at_clock},
          rights_{rights}, cancellations_{w, self}
    {
        store_.on_renew = [this](std::string_view name, leasehold::fencing_token token) {
            monitors_.renewing(self_, name, token);
        };
        store_.on_refused = [this](std::string_view name, leasehold::fencing_token token) { monitors_.refused(self_, name, token); };
        w.time.start(self, [this] { main(); });
    }
    service(const service&) = delete;
    service& operator=(const service&) = delete;

    [[nodiscard]] bool done() const noexcept { return done_; }
    [[nodiscard]] const process& self() const noexcept { return self_; }

    // The schedule is over: nothing waits to be cancelled any more.
    void cancel_all() { cancellations_.cancel_all(); }

private:
    struct thing {
        int name;
        int owner;
        std::int64_t ttl;
        std::int64_t min_hold;
        any_policy policy;
        std::unique_ptr<lease> right;
    };

    random_source& random() { return world_.random; }
    [[nodiscard]] const plan& planned() const { return world_.planned; }
    [[nodiscard]] std::int64_t local() const { return self_.clock.at(world_.time.now()); }
    void sleep(std::int64_t how_long) { world_.time.sleep_until(self_.clock.when(local() + how_long)); }
    [[nodiscard]] bool goes_on() const { return world_.faults_go_on() && !world_.time.draining() && !world_.judge.broken(); }

    void main()
    {
        for (int name = 0; name < planned().names; ++name) things_.push_back(make(name));
        if (planned().several()) several_ = std::make_unique<several>(world_, rights_, self_, store_, clock_);
        const auto threads = random().between(1, 2);
        std::vector<fiber_thread> running;
        for (int i = 0; i < threads; ++i) running.emplace_back(world_.time.start(self_, [this] { work(); }));
        for (fiber_thread& thread : running) thread.join();
        several_.reset();
        things_.clear();
        done_ = true;
    }

    thing make(int name)
    {
        const no_freeze here;
        thing t{name, nobody, planned().ttl * random().between(2, 6) / 4, 0, {}, nullptr};
        std::string owner =
            (planned().fixed_owners ? "host" + std::to_string(self_.host) : self_.label) + '/' + std::to_string(name);
        t.owner = world_.owner(owner);
        if (random().chance(512)) t.min_hold = planned().min_hold;
        static constexpr std::array<std::pair<int, int>, 4> fractions{{{1, 3}, {1, 3}, {1, 2}, {2, 3}}};
        const auto [part, whole] = fractions[static_cast<std::size_t>(random().below(4))];
        t.policy.fraction = leasehold::renew_at_fraction{part, whole};
        if (random().chance(200)) t.policy.which = random().chance(512) ? any_policy::kind::none : any_policy::kind::until;
        t.policy.max = leasehold::duration{t.ttl * random().between(1, 4)};
        leasehold::lease_terms terms{.ttl = leasehold::duration{t.ttl},
                                     .safety_margin = leasehold::duration{t.ttl / planned().margin_part},
                                     .min_hold = leasehold::duration{t.min_hold}};
        t.right = std::make_unique<lease>(store_, lease_names[static_cast<std::size_t>(name)], terms, clock_,
                                          leasehold::fixed_owner_id{owner}, t.policy);
        start_engine(*t.right);
        return t;
    }

    void work()
    {
        while (goes_on()) {
            sleep(random().below(planned().ttl / 2));
            if (!goes_on()) break;
            if (several_ && random().chance(512)) {
                several_->act();
                continue;
            }
            thing& t = things_[static_cast<std::size_t>(random().below(static_cast<std::int64_t>(things_.size())))];
            switch (random().below(10)) {
            case 0:
            case 1: try_once(t); break;
            case 2:
            case 3:
            case 4: wait_for(t); break;
            case 5: wait_until_cancelled(t); break;
            case 6: lead(t); break;
            case 7: lock(t); break;
            case 8: inspect(t); break;
            default: lock_both();
            }
        }
        for (thing& t : things_) must_get(t);
        if (several_) several_->must_get();
    }

    void try_once(thing& t)
    {
        const stopwatch watch{world_, self_};
        std::error_code ec;
        guard g = t.right->try_acquire(ec);
        watch.check(0, 2);
        if (ec) return failed("try_acquire", ec, g);
        if (!g.empty()) return hold(t, std::move(g));
        const call_record& last = store_.last();
        const bool mine = last.caller == world_.time.current() && last.ended == world_.time.now();
        if (mine && last.failed && !world_.time.draining())
            world_.fail("an error is not busy", self_.label + ": try_acquire says busy, the store had failed");
    }

    void wait_for(thing& t)
    {
        const std::int64_t at_most = random().below(planned().ttl * 2);
        const stopwatch watch{world_, self_};
        std::error_code ec;
        guard g = t.right->try_acquire_for(leasehold::duration{at_most}, ec);
        watch.check(at_most, 2);
        if (ec) return failed("try_acquire_for", ec, g);
        if (!g.empty()) return hold(t, std::move(g));
        if (watch.elapsed() < at_most && !world_.time.draining())
            world_.fail("a wait lasts its time",
                        self_.label + " gave up after " + seconds(watch.elapsed()) + " of " + seconds(at_most));
        world_.tell(self_, 'g', t.name, [&] { return "waited " + seconds(at_most) + " and got nothing"; });
    }

    void wait_until_cancelled(thing& t)
    {
        const cancellations::one& cancel = cancellations_.after(random().below(planned().ttl * 2));
        std::error_code ec;
        guard g = t.right->acquire(cancel.token(), ec);
        if (ec == std::errc::operation_canceled) ec.clear();
        if (ec) return failed("acquire", ec, g);
        if (!g.empty()) return hold(t, std::move(g));
        if (!cancel.token().stop_requested())
            world_.fail("a wait lasts its time", self_.label + ": acquire() gave up although nobody cancelled it");
        cancellations_.check(cancel);
    }

    void lead(thing& t)
    {
        const cancellations::one& cancel = cancellations_.after(random().below(planned().ttl * 3));
        leasehold::leader_election_options options;
        options.retry_min = leasehold::duration{planned().ttl / 50};
        options.retry_max = leasehold::duration{planned().ttl / 4};
        options.cooldown = leasehold::duration{planned().ttl / 50};
        options.on_stepped_down = [this](leasehold::step_down_reason why) {
            world_.tell(self_, 'd', static_cast<int>(why), [] { return std::string{"stepped down"}; });
        };
        leasehold::fencing_token seen;
        if (random().chance(512))
            options.on_leader_observed = [&](const leasehold::lease_record& leader) {
                if (leader.token == seen) world_.fail("a leader is told of once", self_.label + " is told of a leader again");
                seen = leader.token;
            };
        leasehold::leader_election election{*t.right, options};
        std::optional<std::stop_token> helpers;  // of the term before, who had its token
        election.run(cancel.token(), [&](leasehold::leader_term<lease>& term) {
            check_told(world_, self_, helpers);
            helpers = term.stop_token();
            const std::stop_callback helper{*helpers, [&] {
                                                if (election.is_leader())
                                                    world_.fail("who is to step down does not lead", self_.label + " leads");
                                            }};
            const guard_monitors::belief believes{monitors_, self_, term.guard(), t.name, t.owner, random().chance(700)};
            ++world_.faults.terms;
            world_.tell(self_, 'e', term.token().value(),
                        [&] { return "is elected with token " + std::to_string(term.token().value()); });
            for (auto rounds = random().below(6); rounds > 0 && term.held() && !world_.time.draining(); --rounds) {
                sleep(random().below(t.ttl / 2));
                if (random().chance(100)) election.resign();
                if (random().chance(512)) write(t, term.guard(), 0);
            }
        });
        check_told(world_, self_, helpers);
        cancellations_.check(cancel);
    }

    void lock(thing& t)
    {
        // lock() throws where the store fails; the guard is then the lease's own.
        try {
            if (!t.right->try_lock_for(leasehold::duration{random().below(planned().ttl)})) return;
        } catch (const std::system_error&) {
            return;
        }
        use(t, t.right->guard(), nullptr);
        const stopwatch watch{world_, self_};
        t.right->unlock();
        watch.check(0, 1);
    }

    // In either order: std::scoped_lock backs off. Not with min_hold, where what it gives back stays closed: it might never
    // get both.
    void lock_both()
    {
        if (things_.size() < 2 || things_[0].min_hold != 0 || things_[1].min_hold != 0) return try_once(things_.front());
        const bool swapped = random().chance(512);
        thing& a = things_[swapped ? 1 : 0];
        thing& b = things_[swapped ? 0 : 1];
        try {
            const std::scoped_lock both{*a.right, *b.right};
            use(a, a.right->guard(), nullptr);
        } catch (const std::system_error&) {
        }
    }

    void inspect(thing& t)
    {
        const stopwatch watch{world_, self_};
        std::error_code ec;
        const auto record = t.right->inspect(ec);
        watch.check(0, 1);
        if (record && record->token.value() > world_.judge.last_token(t.name))
            world_.fail("store: tokens grow", "inspect shows a token that no term ever had");
    }

    void failed(const char* what, const std::error_code& ec, const guard& g)
    {
        world_.tell(self_, 'f', ec.value(), [&] { return std::string{what} + ": " + ec.message(); });
        if (!g.empty()) world_.fail("an error holds nothing", self_.label + ": " + what + " failed and gave a guard");
    }

    void hold(thing& t, guard g)
    {
        const instant granted = world_.time.now();
        if (planned().at_clock.of_1024 == 0 && !g.held())
            world_.fail("what is handed out is held", self_.label + " got a guard whose deadline had passed");
        use(t, g, &g);
        if (random().chance(200)) return;  // by the destructor
        const std::stop_token lost = random().chance(512) ? g.stop_token() : std::stop_token{};
        give_back(world_, self_, g, {t.name, t.owner, t.min_hold, granted}, lost);
    }

    // While the guard is held, and maybe some time longer.
    void use(thing& t, const guard& g, guard* to_renew)
    {
        const guard_monitors::belief believes{monitors_, self_, g, t.name, t.owner, random().chance(700)};
        ++world_.faults.terms;
        const std::int64_t token = g.token().value();
        const std::int64_t trusted = time_left(g);
        world_.tell(self_, 'a', token, [&] {
            return "holds '" + std::string{g.name()} + "' with token " + std::to_string(token) + " for " + seconds(trusted);
        });
        const bool persistent = random().chance(100);  // goes on though it has lost
        for (auto rounds = random().below(6); rounds > 0 && goes_on(); --rounds) {
            sleep(random().below(t.ttl / 2));
            if (!persistent && !g.held()) break;
            const auto choice = random().below(4);
            if (choice == 0) write(t, g, random().chance(200) ? random().below(t.ttl * 2) : 0);
            if (choice == 1 && to_renew != nullptr) renew(t, *to_renew);
        }
        if (planned().calm && t.policy.which == any_policy::kind::fraction && goes_on() && !g.held())
            world_.fail("nothing is lost without a fault", self_.label + " lost token " + std::to_string(token));
    }

    // What comes between the check and the write, only the token can stop.
    void write(thing& t, const guard& g, std::int64_t pause)
    {
        if (!g.held()) return;
        if (pause != 0) sleep(pause);
        const reply said = net_.call(self_, {ask::write, {}, t.name, t.owner, g.token().value(), 0},
                                     world_.time.now() + planned().call_timeout);
        if (said.failed != fault::none) return;
        ++(said.yes ? world_.faults.writes : world_.faults.refused_writes);
        if (!said.yes && believes_in(g) && planned().trust_is_promised && planned().jump >= 0)
            world_.fail("fence: a holder may write", self_.label + " holds, and its write is refused");
    }

    void renew(thing& t, guard& g)
    {
        const stopwatch watch{world_, self_};
        std::error_code ec;
        const bool other = random().chance(256);
        const auto part = planned().calm ? random().between(4, 6) : random().between(2, 6);
        const bool extended = other ? g.renew(leasehold::duration{t.ttl * part / 4}, ec) : g.renew(ec);
        watch.check(0, 3);  // up to two renewals of the engine may come first
        world_.tell(self_, 'r', extended, [&] {
            return std::string{"renew(): "} + (ec ? ec.message() : extended ? "extended" : "lost");
        });
        if (!ec && !extended && believes_in(g))
            world_.fail("a refused renewal is a loss", self_.label + ": renew() says lost, held() says held");
    }

    static std::int64_t time_left(const guard& g)
    {
        const no_freeze here;
        return g.remaining().count();
    }

    // Faults have stopped: the lease is to be had within a bounded time.
    void must_get(thing& t)
    {
        const plan& p = planned();
        if (world_.time.draining()) return;
        const std::int64_t bound = p.longest_ttl() * 3 + p.min_hold * 2 + p.longest_delay() * 2 + p.ttl * p.hosts * 6 +
                                   std::abs(p.jump) * 2 + p.hosts * 8 * p.min_hold;
        const stopwatch watch{world_, self_};
        guard g;
        std::error_code ec;
        // What was sent before may still be on its way, and a process may still be stopped.
        do {
            g = t.right->try_acquire_for(leasehold::duration{bound}, ec);
            if (world_.time.draining()) return;
            if (ec) sleep(p.ttl / 10);
        } while (ec && watch.elapsed() < bound);
        if (g.empty())
            return world_.fail("somebody holds in the end", self_.label + " did not get '" + std::string{t.right->name()} +
                                                                "' within " + seconds(bound) +
                                                                (ec ? ": " + ec.message() : ""));
        world_.tell(self_, 'm', t.name, [&] {
            return "gets '" + std::string{t.right->name()} + "' in the end, after " + seconds(watch.elapsed());
        });
        const guard_monitors::belief believes{monitors_, self_, g, t.name, t.owner, false};
        sleep(random().below(p.ttl / 50));
    }

    world& world_;
    network& net_;
    guard_monitors& monitors_;
    process& self_;
    store store_;
    clock clock_;
    std::vector<thing> things_;
    right_monitors& rights_;
    std::unique_ptr<several> several_;
    cancellations cancellations_;
    bool done_ = false;
};

}  // namespace sim

#endif
