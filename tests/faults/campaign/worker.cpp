// SPDX-License-Identifier: BSL-1.0
// One contender of the campaign: campaign_worker NAME MODE LOCKS RIGHT LEASE FILE SEED, with the connection string in
// LEASEHOLD_CAMPAIGN_STORE. It contends for the lease, holds it, renews and releases it, and writes down what it saw, until
// SIGTERM. In mode "close" it is an operator, who holds the lease closed now and then. In mode "many" it is one of the crowd: it
// holds as many leases as one of them has, numbered from SEED on.
#include "contention.hpp"
#include "fires_right.hpp"
#include "noted_term.hpp"
#include "noting_store.hpp"
#include "parts.hpp"
#include "records.hpp"
#include "rights.hpp"
#include "shards_right.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <leasehold/release_all.hpp>

#include <chrono>
#include <concepts>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <exception>
#include <iostream>
#include <locale>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <pthread.h>

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace campaign {

namespace {

template <class Right>
class contender {
public:
    contender(store_type& store, std::string process, const std::string& name, const record_file& records,
              std::uint32_t seed)
        : process_{std::move(process)}, records_{records}, right_{store, name}, reason_{"hold: " + reason_of_hold(name)}, random_{seed}
    {
    }

    void contend(std::string_view mode, const std::stop_token& stop)
    {
        if constexpr (requires { right_.lease(); })
            if (mode == "elect") return elect(stop);
        const bool polls = mode == "try_acquire" || std::same_as<Right, whole_set>;
        while (!stop.stop_requested()) {
            const instant begin = now();
            std::error_code ec;
            bool granted = false;
            right_.attempt(mode == "elect" ? "acquire_for" : mode, ec, stop, random_,
                           [&](auto& guard, std::int64_t number, const char* weight) {
                               granted = true;
                               hold(guard, number, weight, stop);
                               release(guard, number);
                           });
            if (ec == std::errc::operation_canceled) ec.clear();
            if (granted) {
                pause(5, 40);
            } else {
                records_.write({ec ? event::failed : event::empty, process_, 0, begin, now(), ec ? word_for(ec) : "-"});
                pause(polls && !ec ? 10 : 40, polls && !ec ? 40 : 160);
            }
        }
    }

private:
    static constexpr bool hands_over = requires { Right::hands_over; };

    template <class Term>
    void hold(Term& term, std::int64_t token, const char* weight, const std::stop_token& stop)
    {
        const instant end = now() + drawn_holding_time();
        const noted_term noted{.records = records_, .process = process_, .token = token, .weight = weight, .may_be_asked = hands_over};
        note_while_held(noted, term, stop, [&] {
            if (draw(0, 400) == 0) renew_now(term);
            if constexpr (hands_over)
                if (is_asked(term, token)) return false;
            return now() < end;
        });
    }

    template <class Term>
    bool is_asked(const Term& term, std::int64_t token) const
    {
        const auto& guard = guard_of(term);
        if (!guard.handover_requested()) return false;
        records_.write({event::asked, process_, token, now(), 0, guard.handover_reason() == reason_ ? "by_hold" : "otherwise"});
        return true;
    }

    template <class Term>
    static const auto& guard_of(const Term& term)
    {
        if constexpr (requires { term.guard(); })
            return term.guard();
        else
            return term;
    }

    template <class Term>
    static void renew_now(Term& term)
    {
        std::error_code ignored;
        term.renew(ignored);
    }

    template <class Guard>
    void release(Guard& guard, std::int64_t token)
    {
        const instant begin = now();
        std::error_code ec;
        const auto outcome = guard.release(ec);
        const std::string how = ec ? word_for(ec) : outcome == lh::release_outcome::released ? "released" : "lost";
        records_.write({event::released, process_, token, begin, now(), how});
    }

    void elect(const std::stop_token& stop)
    {
        lh::leader_election election{right_.lease(), {.retry_max = 300ms}};
        election.run(stop, [&](auto& term) { hold(term, term.token().value(), "-", stop); });
    }

    // Mostly short, so that there are many terms; some longer than several renewals.
    std::int64_t drawn_holding_time()
    {
        const int kind = draw(0, 9);
        const int longest = hands_over ? 8000 : 4000;  // so long that the hold must have asked
        return (kind < 7 ? draw(1, 60) : kind < 9 ? draw(100, 800) : draw(1000, longest)) * millisecond;
    }

    void pause(int from, int to) { std::this_thread::sleep_for(std::chrono::milliseconds{draw(from, to)}); }
    int draw(int from, int to) { return std::uniform_int_distribution{from, to}(random_); }

    std::string process_;
    const record_file& records_;
    Right right_;
    std::string reason_;  // of a hold, as a holder is told it
    std::minstd_rand random_;
};

/// An operator, who holds the lease closed, and opens it again or leaves that to the hold's end.
class closer {
public:
    closer(store_type& store, std::string process, std::string name, const record_file& records, std::uint32_t seed)
        : store_{store}, process_{std::move(process)}, name_{std::move(name)}, records_{records}, random_{seed}
    {
    }

    void go_on(const std::stop_token& stop)
    {
        while (!stop.stop_requested()) {
            rest(std::chrono::milliseconds{draw(100, 1500)}, stop);
            if (stop.stop_requested()) return;
            const std::chrono::milliseconds period{draw(100, 3000)};
            // Now and then it opens what the other has closed. A hold that failed may stand.
            const bool opens = draw(0, 5) == 0 || !close(period, stop) || draw(0, 1) == 0;
            if (!opens) continue;
            rest(std::chrono::milliseconds{draw(0, static_cast<int>(period.count()))}, stop);
            open();
        }
    }

private:
    bool close(lh::duration period, const std::stop_token& stop)
    {
        const instant begin = now();
        std::error_code ec;
        const bool closed = store_.hold(name_, period, reason_of_hold(name_), {.wait_at_most = longest_wait_for_a_hold, .stop = stop}, ec);
        // A store's time-out is std::errc::timed_out as well, and is not that of the wait.
        const bool is_of_the_wait = ec.category() == std::generic_category();
        const std::string how = closed                                                  ? "closed"
                                : is_of_the_wait && ec == std::errc::timed_out          ? "timed_out"
                                : is_of_the_wait && ec == std::errc::operation_canceled ? "cancelled"
                                                                                        : word_for(ec);
        records_.write({event::closed, process_, 0, begin, now(), how});
        return closed;
    }

    void open()
    {
        const instant begin = now();
        std::error_code ec;
        const bool opened = store_.unhold(name_, ec);
        records_.write({event::opened, process_, 0, begin, now(), ec ? word_for(ec) : opened ? "opened" : "not_closed"});
    }

    static void rest(std::chrono::milliseconds length, const std::stop_token& stop)
    {
        const auto end = std::chrono::steady_clock::now() + length;
        while (!stop.stop_requested() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(10ms);
    }

    int draw(int from, int to) { return std::uniform_int_distribution{from, to}(random_); }

    store_type& store_;
    std::string process_;
    std::string name_;
    const record_file& records_;
    std::minstd_rand random_;
};

/// One of the crowd.
class holder_of_many {
public:
    holder_of_many(store_type& store, std::string process, const std::string& name, const record_file& records,
                   std::int64_t first)
        : process_{std::move(process)}, records_{records}
    {
        for (std::size_t i = 0; i < leases_of_each_in_the_crowd; ++i) {
            const std::int64_t number = first + static_cast<std::int64_t>(i);
            each_.emplace_back(store, name + before_number + std::to_string(number), number);
        }
    }

    void hold(const std::stop_token& stop)
    {
        for (instant seen = 0; !stop.stop_requested(); std::this_thread::sleep_for(50ms)) {
            for (held_lease& one : each_)
                if (!one.guard.held() && !stop.stop_requested()) take(one);
            if (now() < seen + 3 * second) continue;
            seen = now();
            for (const held_lease& one : each_) note(one, event::held);
        }
        for (const held_lease& one : each_) note(one, event::held);
        std::vector<lease_type::guard_type> guards;
        for (held_lease& one : each_) {
            if (one.guard.held())
                records_.write({event::releasing, process_, one.guard.token().value(), now(), 0, "-", one.number});
            // Lost ones too: left to itself each would ask the store, for up to a call's time, one after the other.
            guards.push_back(std::move(one.guard));
        }
        std::error_code ignored;
        lh::release_all(guards, ignored);
    }

private:
    struct held_lease {
        held_lease(store_type& store, const std::string& name, std::int64_t which)
            : number{which}, lease{store, name, crowd_terms, owner_for(name)}
        {
        }

        std::int64_t number;
        lease_type lease;
        lease_type::guard_type guard{};
        std::int64_t token = 0;  // of the term that was won last; 0: none since
    };

    void take(held_lease& one)
    {
        if (one.token != 0) records_.write({event::over, process_, one.token, now(), 0, "-", one.number});
        const instant begin = now();
        std::error_code ec;
        one.guard = one.lease.try_acquire(ec);
        if (ec) records_.write({event::failed, process_, 0, begin, now(), word_for(ec), one.number});
        one.token = one.guard.held() ? one.guard.token().value() : 0;
        note(one, event::won);
    }

    void note(const held_lease& one, event what) const
    {
        const instant before = now();
        const std::int64_t remaining = one.guard.remaining().count();
        if (one.guard.held())
            records_.write({what, process_, one.guard.token().value(), what == event::won ? now() : before, before + remaining, "-",
                            one.number});
    }

    std::string process_;
    const record_file& records_;
    std::deque<held_lease> each_;
};

// A program that speaks its user's language does so.
void speak_the_language_of_the_environment()
{
    if (const char* language = std::getenv("LC_ALL"); language && *language) std::locale::global(std::locale{""});
}

struct task {
    std::string process;
    std::string mode;
    bool locks = false;
    std::string right;
    std::string lease;
    std::string file;
    std::uint32_t seed = 0;
};

void create_schema(store_type& in, const std::string& lease, const std::stop_token& stop)
{
    std::error_code ec;
    for (in.create_schema(lease, ec); ec && !stop.stop_requested(); in.create_schema(lease, ec)) std::this_thread::sleep_for(100ms);
}

int run(const task& to_do, const std::string& connection_string)
{
    // Before any thread, so that all have it blocked.
    sigset_t asked;
    ::sigemptyset(&asked);
    ::sigaddset(&asked, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &asked, nullptr);
    std::stop_source stop;
    const std::jthread asked_to_stop{[&](const std::stop_token& over) {
        const timespec limit{.tv_sec = 0, .tv_nsec = 50'000'000};
        while (!over.stop_requested() && !stop.stop_requested())
            if (::sigtimedwait(&asked, nullptr, &limit) == SIGTERM) stop.request_stop();
    }};

    const record_file records{to_do.file};
    records.write({event::started, to_do.process, 0, now(), 0, to_do.mode + (to_do.locks ? ":locks" : ":polls")});
    const bool many = to_do.mode == "many";
    lh::odbc_store store{connection_string, lh::odbc_options{.call_timeout = many ? crowd_call_timeout : call_timeout,
                                                             .pool_size = many ? 2U : lh::odbc_options{}.pool_size,
                                                             .session_locks = to_do.locks}};
    store_type noting{store, to_do.process, part_names{to_do.lease, to_do.right}, records};
    create_schema(noting, many ? to_do.lease + before_number + std::to_string(to_do.seed) : to_do.lease, stop.get_token());
    const auto contend_for = [&]<class Right>(std::type_identity<Right>) {
        contender<Right>{noting, to_do.process, to_do.lease, records, to_do.seed}.contend(to_do.mode, stop.get_token());
    };
    if (many)
        holder_of_many{noting, to_do.process, to_do.lease, records, to_do.seed}.hold(stop.get_token());
    else if (to_do.mode == "close")
        closer{noting, to_do.process, to_do.lease, records, to_do.seed}.go_on(stop.get_token());
    else if (to_do.right == "shards")
        member_of_a_group{noting, to_do.process, to_do.lease, records, to_do.seed}.take_part(stop.get_token());
    else if (to_do.right == "fires")
        host_of_fires{noting, to_do.process, to_do.lease, records, to_do.seed}.take_part(stop.get_token());
    else if (to_do.right == "held")
        contend_for(std::type_identity<lease_held_closed>{});
    else if (to_do.right == "permit")
        contend_for(std::type_identity<permit>{});
    else if (to_do.right == "changing")
        contend_for(std::type_identity<permit_of_a_changing_count>{});
    else if (to_do.right == "shared")
        contend_for(std::type_identity<shared_right>{});
    else if (to_do.right == "set")
        contend_for(std::type_identity<whole_set>{});
    else
        contend_for(std::type_identity<single_lease>{});
    records.write({event::stopped, to_do.process, 0, now(), 0});
    return 0;
}

}  // namespace

}  // namespace campaign

int main(int count, char** values)
{
    const char* store = std::getenv("LEASEHOLD_CAMPAIGN_STORE");
    if (count != 8 || !store) {
        std::cerr << "usage: LEASEHOLD_CAMPAIGN_STORE=... campaign_worker NAME MODE LOCKS RIGHT LEASE FILE SEED\n";
        return 2;
    }
    try {
        campaign::speak_the_language_of_the_environment();
        return campaign::run({.process = values[1],
                              .mode = values[2],
                              .locks = values[3] == std::string_view{"1"},
                              .right = values[4],
                              .lease = values[5],
                              .file = values[6],
                              .seed = static_cast<std::uint32_t>(std::strtoul(values[7], nullptr, 10))},
                             store);
    } catch (const std::exception& error) {
        std::cerr << values[1] << ": " << error.what() << '\n';
        return 1;
    }
}
