// SPDX-License-Identifier: BSL-1.0
#include "checkup.hpp"
#include "commands.hpp"
#include "failure.hpp"
#include "json.hpp"
#include "message.hpp"
#include "opened_store.hpp"
#include "records.hpp"

#include <leasehold/leasehold.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
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

/// Lines as the findings come; or, as JSON, one object when all are there, or one of them is a failure.
class report {
public:
    report(const chosen_store& of, bool json) : json_{json}
    {
        text_ = "{\"store\": " + json_string(without_secrets(of.connection_string)) + ", \"table\": " + json_string(of.table) +
                ", \"findings\": [";
        if (!json_)
            std::cout << "      " << shown(of.connection_string) << ", table " << printable(of.table) << '\n' << std::flush;
    }

    void tell(const finding& what)
    {
        constexpr const char* words[]{"ok", "note", "mend"};
        const std::string word = words[static_cast<int>(what.how)];
        well_ = well_ && what.how != finding::kind::warning;
        if (!json_) std::cout << fitted(word, 6) << printable(what.text) << '\n' << std::flush;
        text_ +=
            (text_.ends_with('[') ? "" : ", ") + ("{\"is\": \"" + word) + "\", \"text\": " + json_string(what.text) + "}";
    }

    /// What ends the examination. It is said on standard error in any case, so only JSON has it here too.
    void tell_failure(const std::exception& why)
    {
        if (!json_) return;
        tell({finding::kind::warning, words_of(why)});
        finish();
    }

    /// The tool's status.
    int finish()
    {
        if (json_) std::cout << text_ << "], \"well\": " << (well_ ? "true" : "false") << "}\n";
        return well_ ? exit_code::success : exit_code::no;
    }

private:
    bool json_;
    bool well_ = true;
    std::string text_;
};

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
std::optional<lh::duration> clock_ahead(opened_store& store)
{
    lh::store_health quickest = store->health();
    for (int i = 1; i < samples; ++i)
        if (lh::store_health next = store->health(); !next.error && next.took < quickest.took) quickest = std::move(next);
    return quickest.clock_ahead;
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
    into.excludes = is_kept_out(store, owner);
    lh::waker wake;
    auto ticket = store->enqueue(trial_name, wake);
    std::error_code ec;
    lh::acquire_result answer;
    // The first answer puts it in the queue; the second, after a look at the row, says whether it is there still.
    for (int i = 0; i < 2 && !ec; ++i) answer = store->try_acquire(ticket, owner, trial_terms.ttl, ec);
    if (ec) throw lh::store_error{ec, "acquire", store->diagnostics()};
    if (answer.granted()) store->release(trial_name, owner, answer.token, {}, ec);
    return answer.retry_after > lh::duration::zero();
}

/// Acquires, renews and releases, with somebody waiting.
trial try_lease(opened_store& store, checkup& into)
{
    trial tried;
    lh::basic_lease first{*store, trial_name, trial_terms};
    lh::basic_lease second{*store, trial_name, trial_terms};
    auto guard = first.try_acquire_for(10s);
    if (!guard)
        throw failure{exit_code::store, std::string{"the lease "} + trial_name +
                                            " is held by another run of doctor, which doesn't release it; try again"};
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
    const auto released_at = now();
    tried.released = guard.release(ec) == lh::release_outcome::released;
    waiter.join();
    if (ec) throw lh::store_error{ec, "release", store->diagnostics()};
    tried.handed_over = got.has_value();
    if (got) into.hand_over = std::max(*got - released_at, lh::duration::zero());
    return tried;
}

int examine(const chosen_store& chosen, report& says)
{
    opened_store store{chosen};
    // Through the store first: its calls end in time, whatever the driver does.
    static_cast<void>(store->list());
    says.tell({finding::kind::good, "connects, and the table exists with its columns"});
    checkup found;
    found.round_trip = median_round_trip(store);
    bool relied_on = true;
    for (const finding& each : judge(try_lease(store, found))) {
        says.tell(each);
        relied_on = relied_on && each.how != finding::kind::warning;
    }

    const odbc_connection own{chosen.connection_string};
    found.facts = own.facts();
    const product of = product_of(found.facts);
    if (const auto version = own.ask(version_query(of))) found.facts.database_version = *version;
    for (const auto& [setting, query] : settings_to_ask(of))
        if (const auto value = own.ask(query)) found.settings.emplace(setting, *value);
    found.clock_ahead = clock_ahead(store);
    const lh::store_health health = store->health();
    found.one_call_at_a_time = health.one_call_at_a_time;
    found.pooled = health.pooled;
    for (const finding& each : judge(found)) says.tell(each);
    const int status = says.finish();
    return relied_on ? status : exit_code::store;
}

}  // namespace

int doctor(bool json, const asked_store& asked)
{
    const chosen_store chosen = choose_store(asked);
    report says{chosen, json};
    try {
        return examine(chosen, says);
    } catch (const std::exception& why) {
        says.tell_failure(why);
        throw;
    }
}

}  // namespace tool
