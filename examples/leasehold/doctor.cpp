// SPDX-License-Identifier: BSL-1.0
#include "checkup.hpp"
#include "commands.hpp"
#include "failure.hpp"
#include "message.hpp"
#include "opened_store.hpp"

#include <leasehold/leasehold.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tool {

namespace {

using namespace std::chrono_literals;

// One name, whose row stays: rows are never deleted, since they carry the token.
constexpr const char* trial_name = "leasehold-doctor";
constexpr lh::lease_terms trial_terms{.ttl = 10s};
constexpr int samples = 11;

lh::time_point now() { return lh::steady_clock{}.now(); }

void tell_finding(finding::kind how, const std::string& text)
{
    constexpr const char* words[]{"ok    ", "note  ", "mend  "};
    std::cout << words[static_cast<int>(how)] << printable(text) << '\n' << std::flush;
}

lh::duration median_round_trip(opened_store& store)
{
    std::vector<lh::duration> took;
    for (int i = 0; i < samples; ++i) {
        std::error_code ec;
        const auto begun = now();
        static_cast<void>(store->inspect(trial_name, ec));
        if (ec) throw lh::store_error{ec, "inspect", store->diagnostics()};
        took.push_back(now() - begun);
    }
    std::nth_element(took.begin(), took.begin() + samples / 2, took.end());
    return took[samples / 2];
}

/// Of the quickest of some answers, which says most.
std::optional<lh::duration> clock_ahead(const odbc_connection& of, const std::string& query)
{
    using wall_clock = std::chrono::system_clock;
    std::optional<lh::duration> ahead;
    lh::duration quickest = lh::duration::max();
    for (int i = 0; i < samples && !query.empty(); ++i) {
        const auto begun = now();
        const auto asked = wall_clock::now().time_since_epoch();
        const auto answer = of.ask(query);
        const lh::duration took = now() - begun;
        if (!answer || took >= quickest) continue;
        quickest = took;
        const auto theirs =
            std::chrono::duration_cast<lh::duration>(std::chrono::duration<double>{std::strtod(answer->c_str(), nullptr)});
        ahead = theirs - std::chrono::duration_cast<lh::duration>(asked) - took / 2;
    }
    return ahead;
}

/// A second owner's attempt, which is to be busy; one that isn't is ended again.
bool is_kept_out(opened_store& store, const std::string& owner)
{
    std::error_code ec;
    const auto result = store->try_acquire(trial_name, owner, trial_terms.ttl, ec);
    if (ec) throw lh::store_error{ec, "acquire", store->diagnostics()};
    if (!result.granted()) return true;
    store->release(trial_name, owner, result.token, {}, ec);
    return false;
}

bool is_shown(opened_store& store, const std::string& owner, lh::fencing_token token)
{
    std::error_code ec;
    const auto record = store->inspect(trial_name, ec);
    if (ec) throw lh::store_error{ec, "inspect", store->diagnostics()};
    return record && record->owner == owner && record->token == token && record->remaining > trial_terms.ttl / 2 &&
           record->remaining < trial_terms.ttl + 2s;
}

bool waiters_are_woken(opened_store& store, const std::string& owner, trial& into)
{
    lh::waker wake;
    const auto in_line = store->watch_release(trial_name, wake);
    into.excludes = is_kept_out(store, owner);                                // a busy answer puts it in line
    const auto until = now() + (store->pauses().longest < 100ms ? 0ms : 1s);  // a database in this process: there is no line
    while (!in_line.live() && now() < until) std::this_thread::sleep_for(10ms);
    return in_line.live();
}

/// Acquires, renews and releases, with somebody waiting.
trial try_lease(opened_store& store, checkup& into)
{
    trial tried;
    lh::basic_lease first{*store, trial_name, trial_terms};
    lh::basic_lease second{*store, trial_name, trial_terms};
    auto guard = first.try_acquire_for(10s);
    if (!guard)
        throw failure{exit_code::store,
                      std::string{"the lease "} + trial_name + " is held by another doctor, who doesn't let go; try again"};
    tried.held = guard.held();
    const lh::fencing_token token = guard.token();
    const std::string owner{first.owner()};
    tried.shown = is_shown(store, owner, token);
    into.woken = waiters_are_woken(store, std::string{second.owner()}, tried);
    std::error_code ec;
    tried.renewed = guard.renew(ec);
    if (ec) throw lh::store_error{ec, "renew", store->diagnostics()};
    tried.still_excludes = is_kept_out(store, std::string{second.owner()});

    std::optional<lh::time_point> got;
    std::thread waiter{[&] {
        std::error_code waiters_ec;
        const auto next = second.try_acquire_for(10s, waiters_ec);
        if (!next) return;
        got = now();
        tried.token_grew = next.token() > token;
        tried.late_refused = !store->renew(trial_name, owner, token, trial_terms.ttl, waiters_ec);
    }};
    std::this_thread::sleep_for(200ms);  // until it waits
    const auto let_go = now();
    tried.released = guard.release(ec) == lh::release_outcome::released;
    waiter.join();
    if (ec) throw lh::store_error{ec, "release", store->diagnostics()};
    tried.handed_over = got.has_value();
    if (got) into.hand_over = std::max(*got - let_go, lh::duration::zero());
    return tried;
}

bool tell_all(const std::vector<finding>& findings)
{
    bool well = true;
    for (const finding& each : findings) {
        tell_finding(each.how, each.text);
        well = well && each.how != finding::kind::warning;
    }
    return well;
}

}  // namespace

int doctor(const asked_store& asked)
{
    const chosen_store chosen = choose_store(asked);
    std::cout << "      " << shown(chosen.connection_string) << ", table " << printable(chosen.table) << '\n' << std::flush;
    opened_store store{chosen};
    // Through the store first: its calls end in time, whatever the driver does.
    static_cast<void>(store->list());
    tell_finding(finding::kind::good, "connects, and the table is there with its columns");
    checkup found;
    found.round_trip = median_round_trip(store);
    const bool relied_on = tell_all(judge(try_lease(store, found)));

    const odbc_connection own{chosen.connection_string};
    found.facts = own.facts();
    const product of = product_of(found.facts);
    if (const auto version = own.ask(version_query(of))) found.facts.database_version = *version;
    for (const auto& [setting, query] : settings_to_ask(of))
        if (const auto value = own.ask(query)) found.settings.emplace(setting, *value);
    found.clock_ahead = clock_ahead(own, clock_query(of));
    const bool well = tell_all(judge(found));
    if (!relied_on) return exit_code::store;
    return well ? exit_code::success : exit_code::no;
}

}  // namespace tool
