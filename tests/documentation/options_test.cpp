// SPDX-License-Identifier: BSL-1.0
// The defaults and limits in the tables of docs/options.md are those of the code.
#include <leasehold/leasehold.hpp>
#include <leasehold/metrics.hpp>
#include <leasehold/odbc/detail/session/pool.hpp>
#include <leasehold/odbc/odbc_options.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

std::string text(lh::duration of)
{
    using namespace std::chrono;
    const auto count = [](auto n, const char* unit) { return std::to_string(n.count()) + " " + unit; };
    if (of % hours{24 * 365} == 0s && of > 0s) return count(duration_cast<hours>(of) / (24 * 365), "years");
    if (of == 1h) return "1 hour";
    if (of % 1s == 0s) return count(duration_cast<seconds>(of), "s");
    return count(duration_cast<milliseconds>(of), "ms");
}
std::string text(std::size_t of) { return std::to_string(of); }
std::string text(int of) { return std::to_string(of); }
std::string text(bool of) { return of ? "yes" : "no"; }

std::string bytes(std::size_t of) { return text(of) + " bytes of UTF-8"; }

using row = std::vector<std::string>;

std::string trimmed(const std::string& cell)
{
    const std::size_t begin = cell.find_first_not_of(' ');
    return begin == cell.npos ? "" : cell.substr(begin, cell.find_last_not_of(' ') + 1 - begin);
}

// The first cell of each row to the others.
std::map<std::string, row> rows_of_page()
{
    std::ifstream page{DOCS "/options.md"};
    std::map<std::string, row> rows;
    for (std::string line; std::getline(page, line);) {
        if (!line.starts_with("| ")) continue;
        std::istringstream cells{line.substr(2)};
        row all;
        for (std::string cell; std::getline(cells, cell, '|');) all.push_back(trimmed(cell));
        rows[all.front()] = {all.begin() + 1, all.end()};
    }
    return rows;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(options_page)

BOOST_AUTO_TEST_CASE(defaults_and_limits_are_those_of_the_code)
{
    constexpr lh::lease_terms terms;
    const lh::odbc_options store;
    const lh::leader_election_options election;
    BOOST_TEST((terms.margin() == terms.ttl / 10), "a tenth, says the page");
    const lh::shard_options shards;
    BOOST_TEST(store.on_connect.empty());
    const std::map<std::string, row> wanted{
        {"`ttl`", {text(terms.ttl), text(lh::min_ttl) + " to " + text(lh::max_ttl)}},
        {"`min_hold`", {text(terms.min_hold), "0 to " + text(lh::max_ttl)}},
        {"`call_timeout`", {text(store.call_timeout), text(lh::min_call_timeout) + " to " + text(lh::max_call_timeout)}},
        {"`pool_size`", {text(store.pool_size), "1 to " + text(lh::max_pool_size)}},
        {"`table`", {"`" + store.table + "`"}},
        {"`lock_timeout`", {text(store.lock_timeout)}},
        {"`session_locks`", {text(store.session_locks)}},
        {"`max_session_locks`", {text(store.max_session_locks), "0 to " + text(lh::odbc::detail::max_session_locks_of_a_store)}},
        {"`pooler`", {store.pooler == lh::transaction_pooler::detect ? "detect" : ""}},
        {"`retry_min`", {text(election.retry_min)}},
        {"`retry_max`", {text(election.retry_max)}},
        {"`step_down_if_asked`", {text(election.step_down_if_asked)}},
        {"`priority`", {text(election.priority)}},
        {"a name", {bytes(lh::max_name_bytes)}},
        {"an owner", {bytes(lh::max_owner_bytes)}},
        {"data that a holder publishes, the reason of a request", {bytes(lh::max_data_bytes)}},
        {"the reason of a hold", {bytes(lh::max_hold_reason_bytes)}},
        {"`every` of an observer", {text(lh::observer_options{}.every)}},
        {"`wait_at_most`", {text(lh::hold_options{}.wait_at_most)}},
        {"what a job saves beside the record of its fires", {bytes(lh::max_run_checkpoint_bytes)}},
        {"a checkpoint", {bytes(lh::max_checkpoint_bytes)}},
        {"permits of a semaphore", {text(lh::max_permits)}},
        {"shards of a group", {text(lh::max_shards)}},
        {"`ttl` of a member", {text(shards.ttl), text(lh::min_ttl) + " to " + text(lh::max_ttl)}},
        {"`drain_timeout`", {text(shards.drain_timeout)}},
        {"`capacity`", {std::to_string(shards.capacity)}},
        {"`max_shards`", {text(shards.max_shards) + ", no limit"}},
        {"pauses after work that has thrown", {text(shards.retry_min) + " to " + text(shards.retry_max)}},
        {"names with numbers of their own in `metrics`", {text(lh::metrics::default_max_names) + ", unless you say otherwise"}},
        {"connections of a store that wait, beside the pool", {text(lh::odbc::detail::max_waiting_sessions)}},
    };
    const auto page = rows_of_page();
    for (const auto& [name, cells] : wanted) {
        BOOST_TEST_CONTEXT(name)
        {
            BOOST_TEST_REQUIRE(page.contains(name));
            const row& said = page.at(name);
            BOOST_TEST_REQUIRE(said.size() >= cells.size());
            for (std::size_t i = 0; i < cells.size(); ++i) BOOST_TEST(said[i] == cells[i]);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
