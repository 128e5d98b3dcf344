// SPDX-License-Identifier: BSL-1.0
// One contender of the campaign: campaign_worker NAME MODE LOCKS LEASE FILE SEED, with the connection string in
// LEASEHOLD_CAMPAIGN_STORE. It contends for the lease, holds it, renews and releases it, and writes down what it saw, until
// SIGTERM.
#include "contention.hpp"
#include "records.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include <pthread.h>

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace campaign {

namespace {

std::string word_for(std::error_code ec)
{
    if (ec.category() != lh::lease_category())
        return "error:" + std::string{ec.category().name()} + std::to_string(ec.value());
    switch (static_cast<lh::errc>(ec.value())) {
    case lh::errc::store_unavailable: return "error:unavailable";
    case lh::errc::store_timeout: return "error:timeout";
    case lh::errc::store_conflict: return "error:conflict";
    case lh::errc::schema_missing: return "error:schema_missing";
    case lh::errc::store_failure: return "error:failure";
    default: return "error:" + std::to_string(ec.value());
    }
}

/// Writes every call of the store down, as seen from outside: begin, end, answer.
template <class Store>
class noting_store {
public:
    noting_store(Store& store, std::string process, const record_file& records)
        : store_{store}, process_{std::move(process)}, records_{records}
    {
    }

    lh::acquire_result try_acquire(std::string_view name, std::string_view owner, lh::duration ttl, std::error_code& ec)
    {
        const instant begin = now();
        const lh::acquire_result result = store_.try_acquire(name, owner, ttl, ec);
        note("acquire", result.token.value(), begin, ec, result.granted() ? "granted" : "busy");
        return result;
    }
    bool renew(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration ttl, std::error_code& ec)
    {
        const instant begin = now();
        const bool yes = store_.renew(name, owner, token, ttl, ec);
        note("renew", token.value(), begin, ec, yes ? "yes" : "no");
        return yes;
    }
    bool release(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration keep_closed,
                 std::error_code& ec)
    {
        const instant begin = now();
        const bool yes = store_.release(name, owner, token, keep_closed, ec);
        note("release", token.value(), begin, ec, yes ? "yes" : "no");
        return yes;
    }
    std::optional<lh::lease_record> inspect(std::string_view name, std::error_code& ec) { return store_.inspect(name, ec); }
    [[nodiscard]] lh::poll_pauses pauses() const noexcept { return store_.pauses(); }
    [[nodiscard]] auto enqueue(std::string_view name, lh::waker& to_wake) { return store_.enqueue(name, to_wake); }
    lh::acquire_result try_acquire(lh::queue_ticket auto& ticket, std::string_view owner, lh::duration ttl, std::error_code& ec)
    {
        const instant begin = now();
        const lh::acquire_result result = store_.try_acquire(ticket, owner, ttl, ec);
        note("acquire", result.token.value(), begin, ec, result.granted() ? "granted" : "busy");
        return result;
    }
    [[nodiscard]] lh::store_diagnostics diagnostics() const { return store_.diagnostics(); }

private:
    void note(const char* operation, std::int64_t token, instant begin, std::error_code ec, const char* answer)
    {
        const instant end = now();
        records_.write(
            {event::call, process_, token, begin, end, std::string{operation} + ":" + (ec ? word_for(ec) : answer)});
        // What we have no words for is worth reading.
        if (ec == lh::errc::store_failure || ec == lh::errc::schema_missing) {
            const lh::store_diagnostics said = store_.diagnostics();
            std::cerr << process_ + " " + operation + ": " + std::string{said.sqlstate} + " " +
                             std::to_string(said.native_error) + " " + said.server_message + "\n";
        }
    }

    Store& store_;
    std::string process_;
    const record_file& records_;
};

using store_type = noting_store<lh::odbc_store>;
using lease_type = lh::basic_lease<store_type>;

class contender {
public:
    contender(store_type& store, std::string process, const std::string& name, const record_file& records,
              std::uint32_t seed)
        : process_{std::move(process)}, records_{records}, lease_{store, name, terms}, random_{seed}
    {
    }

    void contend(std::string_view mode, const std::stop_token& stop)
    {
        if (mode == "elect") return elect(stop);
        while (!stop.stop_requested()) {
            const instant begin = now();
            std::error_code ec;
            auto guard = mode == "acquire"       ? lease_.acquire(ec, stop)
                         : mode == "acquire_for" ? lease_.try_acquire_for(700ms, ec, stop)
                                                 : lease_.try_acquire(ec);
            if (guard) {
                hold(guard, stop);
                release(guard);
                pause(5, 40);
            } else {
                const bool polls = mode == "try_acquire" && !ec;
                records_.write({ec ? event::failed : event::empty, process_, 0, begin, now(), ec ? word_for(ec) : "-"});
                pause(polls ? 10 : 40, polls ? 40 : 160);
            }
        }
    }

private:
    template <class Term>
    static std::int64_t token_of(const Term& term)
    {
        return term.token().value();
    }

    // Instants at which held() is true for certain: read before the last true answer, and after the first. What it promises
    // is read before too, so never later than what it will stick to.
    template <class Term>
    void hold(Term& term, const std::stop_token& stop)
    {
        const std::int64_t token = token_of(term);
        const std::stop_callback on_loss{term.stop_token(), [this, token, &stop] {
                                             // A leader's token is stopped by our own end as well.
                                             if (!stop.stop_requested())
                                                 records_.write({event::signalled, process_, token, now(), 0});
                                         }};
        const instant end = now() + drawn_holding_time();
        instant written = 0;
        while (now() < end && !stop.stop_requested()) {
            const instant before = now();
            const std::int64_t remaining = term.remaining().count();
            if (!term.held()) break;
            if (written == 0) records_.write({event::won, process_, token, now(), before + remaining});
            if (written == 0 || before - written > 15 * millisecond) {
                records_.write({event::held, process_, token, before, before + remaining});
                written = before;
            }
            if (draw(0, 400) == 0) renew_now(term);
            std::this_thread::sleep_for(500us);
        }
        if (!term.held() && !stop.stop_requested()) records_.write({event::over, process_, token, now(), 0});
        records_.write({event::releasing, process_, token, now(), 0});
    }

    template <class Term>
    static void renew_now(Term& term)
    {
        std::error_code ignored;
        term.renew(ignored);
    }

    void release(lease_type::guard_type& guard)
    {
        const std::int64_t token = token_of(guard);
        const instant begin = now();
        std::error_code ec;
        const auto outcome = guard.release(ec);
        const std::string how = ec ? word_for(ec) : outcome == lh::release_outcome::released ? "released" : "lost";
        records_.write({event::released, process_, token, begin, now(), how});
    }

    void elect(const std::stop_token& stop)
    {
        lh::leader_election election{lease_, {.retry_max = 300ms}};
        election.run(stop, [&](auto& term) { hold(term, stop); });
    }

    // Mostly short, so that there are many terms; some longer than several renewals.
    std::int64_t drawn_holding_time()
    {
        const int kind = draw(0, 9);
        return (kind < 7 ? draw(1, 60) : kind < 9 ? draw(100, 800) : draw(1000, 4000)) * millisecond;
    }

    void pause(int from, int to) { std::this_thread::sleep_for(std::chrono::milliseconds{draw(from, to)}); }
    int draw(int from, int to) { return std::uniform_int_distribution{from, to}(random_); }

    std::string process_;
    const record_file& records_;
    lease_type lease_;
    std::minstd_rand random_;
};

int run(const std::string& process, const std::string& mode, bool locks, const std::string& name, const std::string& file,
        std::uint32_t seed, const std::string& connection_string)
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

    const record_file records{file};
    records.write({event::started, process, 0, now(), 0, mode + (locks ? ":locks" : ":polls")});
    lh::odbc_store store{connection_string, lh::odbc_options{.call_timeout = call_timeout, .session_locks = locks}};
    std::error_code no_schema;
    for (store.create_schema(no_schema); no_schema && !stop.stop_requested(); store.create_schema(no_schema))
        std::this_thread::sleep_for(100ms);
    store_type noting{store, process, records};
    contender{noting, process, name, records, seed}.contend(mode, stop.get_token());
    records.write({event::stopped, process, 0, now(), 0});
    return 0;
}

}  // namespace

}  // namespace campaign

int main(int count, char** values)
{
    const char* store = std::getenv("LEASEHOLD_CAMPAIGN_STORE");
    if (count != 7 || !store) {
        std::cerr << "usage: LEASEHOLD_CAMPAIGN_STORE=... campaign_worker NAME MODE LOCKS LEASE FILE SEED\n";
        return 2;
    }
    try {
        return campaign::run(values[1], values[2], values[3] == std::string_view{"1"}, values[4], values[5],
                             static_cast<std::uint32_t>(std::strtoul(values[6], nullptr, 10)), store);
    } catch (const std::exception& error) {
        std::cerr << values[1] << ": " << error.what() << '\n';
        return 1;
    }
}
