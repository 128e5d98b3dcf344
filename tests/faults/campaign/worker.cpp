// SPDX-License-Identifier: BSL-1.0
// One contender of the campaign: campaign_worker NAME MODE LOCKS LEASE FILE SEED, with the connection string in
// LEASEHOLD_CAMPAIGN_STORE. It contends for the lease, holds it, renews and releases it, and writes down what it saw, until
// SIGTERM. In mode "many" it is one of the crowd: it holds as many leases as one of them has, numbered from SEED on.
#include "contention.hpp"
#include "records.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <leasehold/release_all.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <exception>
#include <iostream>
#include <locale>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

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

// The crowd's leases have their number behind the name.
constexpr char before_number = '#';

std::int64_t number_of(std::string_view lease)
{
    std::int64_t number = 0;
    const std::size_t at = lease.rfind(before_number);
    if (at != std::string_view::npos) std::from_chars(lease.data() + at + 1, lease.data() + lease.size(), number);
    return number;
}

// The owner, like the name, is words of messages.
struct worded_owner_id {
    std::string words;

    [[nodiscard]] std::string id() const { return words + "/" + lh::random_owner_id{}.id(); }
};

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
        const instant begin = calling("acquire", name, 0, ttl);
        const lh::acquire_result result = store_.try_acquire(name, owner, ttl, ec);
        note("acquire", name, result.token.value(), begin, ec, result.granted() ? "granted" : "busy");
        return result;
    }
    bool renew(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration ttl, std::error_code& ec)
    {
        const instant begin = calling("renew", name, token.value(), ttl);
        const bool yes = store_.renew(name, owner, token, ttl, ec);
        note("renew", name, token.value(), begin, ec, yes ? "yes" : "no");
        return yes;
    }
    bool release(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration min_hold_left,
                 std::error_code& ec)
    {
        const instant begin = calling("release", name, token.value(), {});
        const bool yes = store_.release(name, owner, token, min_hold_left, ec);
        note("release", name, token.value(), begin, ec, yes ? "yes" : "no");
        return yes;
    }
    void renew_many(std::span<const lh::term_renewal> renewals, std::span<lh::batch_answer> answers, lh::duration within,
                    std::error_code& ec)
    {
        const instant begin = now();
        store_.renew_many(renewals, answers, within, ec);
        note_many("renew_many", renewals.front().name, answers, begin, ec);
    }
    void release_many(std::span<const lh::term_release> releases, std::span<lh::batch_answer> answers, std::error_code& ec)
    {
        const instant begin = now();
        store_.release_many(releases, answers, ec);
        note_many("release_many", releases.front().name, answers, begin, ec);
    }
    [[nodiscard]] std::size_t batch_size() const noexcept { return store_.batch_size(); }
    std::optional<lh::lease_record> inspect(std::string_view name, std::error_code& ec) { return store_.inspect(name, ec); }
    [[nodiscard]] lh::poll_pauses pauses() const noexcept { return store_.pauses(); }
    [[nodiscard]] auto enqueue(std::string_view name, lh::waker& to_wake) { return store_.enqueue(name, to_wake); }
    lh::acquire_result try_acquire(lh::queue_ticket auto& ticket, std::string_view owner, lh::duration ttl, std::error_code& ec)
    {
        const instant begin = calling("acquire", ticket.name(), 0, ttl);
        const lh::acquire_result result = store_.try_acquire(ticket, owner, ttl, ec);
        const bool queued = result.status == lh::acquire_status::queued;
        // Without a remaining time it is not told that somebody holds the lease: the store prefers one who has waited longer.
        const bool told = result.granted() || result.remaining > lh::duration::zero();
        note("acquire", ticket.name(), told ? result.token.value() : 0, begin, ec, queued ? "queued" : result.granted() ? "granted" : "busy");
        return result;
    }
    [[nodiscard]] lh::store_diagnostics diagnostics() const { return store_.diagnostics(); }

private:
    // What a process that is killed had begun must be known: it may have been carried out. The crowd's calls are not judged one by one.
    instant calling(const char* operation, std::string_view lease, std::int64_t token, lh::duration ttl)
    {
        const instant begin = now();
        if (number_of(lease) == 0) records_.write({event::calling, process_, token, begin, ttl.count(), operation});
        return begin;
    }

    void note(const char* operation, std::string_view lease, std::int64_t token, instant begin, std::error_code ec,
              const char* answer)
    {
        const instant end = now();
        std::string detail = std::string{operation} + ":" + (ec ? word_for(ec) : answer);
        if (ec) {
            const lh::store_diagnostics said = store_.diagnostics();
            const bool coded = said.sqlstate != "HY000" && !said.sqlstate.empty();
            // What the library has no words for is told apart by what the server said.
            if (ec == lh::errc::store_failure)
                detail += ":" + (coded ? std::string{said.sqlstate} : std::to_string(said.native_error));
            read_once(detail + ": " + std::string{said.sqlstate} + " " + std::to_string(said.native_error) + " " +
                      said.server_message);
        }
        records_.write({event::call, process_, token, begin, end, detail, number_of(lease)});
    }

    // `token` of a batch is how many had an answer.
    void note_many(const char* operation, std::string_view first, std::span<const lh::batch_answer> answers, instant begin,
                   std::error_code ec)
    {
        const auto answered = std::ranges::count_if(answers, [](auto each) { return each != lh::batch_answer::unknown; });
        const bool refused = std::ranges::find(answers, lh::batch_answer::no) != answers.end();
        note(operation, first, answered, begin, ec, refused ? "no" : "yes");
    }

    // Each message once, in the file of outputs.
    void read_once(const std::string& message)
    {
        const std::lock_guard lock{reading_};
        if (read_.insert(message).second) std::cerr << process_ + " " + message + "\n";
    }

    Store& store_;
    std::string process_;
    const record_file& records_;
    std::mutex reading_;
    std::set<std::string> read_;
};

using store_type = noting_store<lh::odbc_store>;
using lease_type = lh::basic_lease<store_type, lh::steady_clock, worded_owner_id>;

class contender {
public:
    contender(store_type& store, std::string process, const std::string& name, const record_file& records,
              std::uint32_t seed)
        : process_{std::move(process)}, records_{records}, lease_{store, name, terms, worded_owner_id{name.substr(0, 100)}},
          random_{seed}
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
            : number{which}, lease{store, name, crowd_terms, worded_owner_id{name.substr(0, 100)}}
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
    const bool many = mode == "many";
    lh::odbc_store store{connection_string, lh::odbc_options{.call_timeout = many ? crowd_call_timeout : call_timeout,
                                                             .pool_size = many ? 2U : lh::odbc_options{}.pool_size,
                                                             .session_locks = locks}};
    std::error_code no_schema;
    for (store.create_schema(no_schema); no_schema && !stop.stop_requested(); store.create_schema(no_schema))
        std::this_thread::sleep_for(100ms);
    store_type noting{store, process, records};
    if (many)
        holder_of_many{noting, process, name, records, seed}.hold(stop.get_token());
    else
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
        campaign::speak_the_language_of_the_environment();
        return campaign::run(values[1], values[2], values[3] == std::string_view{"1"}, values[4], values[5],
                             static_cast<std::uint32_t>(std::strtoul(values[6], nullptr, 10)), store);
    } catch (const std::exception& error) {
        std::cerr << values[1] << ": " << error.what() << '\n';
        return 1;
    }
}
