// SPDX-License-Identifier: BSL-1.0
// Uses every public part once, so that ../quiet_headers sees the warnings that a user's compiler would print about them.
#include <leasehold/embedded.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/metrics.hpp>

#include <chrono>
#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#if defined(STRICT_USER_ODBC)
#include <leasehold/odbc.hpp>
#endif

#if defined(STRICT_USER_ASIO)
#include <leasehold/asio.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#endif

// The globals have every name that stands in the headers, and so those that are used here.
#pragma GCC diagnostic ignored "-Wshadow"

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

template <class Lease>
void acquire_in_every_form(Lease& shared_by_threads, std::error_code& failure)
{
    {
        auto first = shared_by_threads.try_acquire();
    }
    {
        auto first = shared_by_threads.try_acquire_for(1ms, std::stop_token{});
    }
    {
        auto first = shared_by_threads.try_acquire_until(std::chrono::steady_clock::now() + 1ms);
    }
    {
        auto first = shared_by_threads.acquire();
    }
    auto last = shared_by_threads.try_acquire(failure);
    std::cout << last.held() << last.remaining().count() << last.token();
    last.renew(failure);
    const auto stopped = last.stop_token();
    last.release(failure);
}

template <class Store>
void use_every_right(Store& database)
{
    std::error_code failure;
    lh::basic_lease plain{database, "plain", lh::lease_terms{.ttl = 30s}};
    acquire_in_every_form(plain, failure);
    if (auto mine = plain.try_acquire()) {
        mine.publish("10.0.0.7:8443");
        mine.save_checkpoint("offset=4711");
        mine.save_checkpoint("offset=4712", failure);
        std::cout << mine.load_checkpoint().value_or("") << mine.load_checkpoint(failure).has_value();
        std::cout << database.checkpoint("plain", failure).has_value() << database.now(failure).time_since_epoch().count();
        std::cout << mine.handover_requested() << mine.handover_reason();
        mine.renew(40s);
        mine.ensure_held();
        mine.release();
    }
    const auto result = plain.try_run([](auto& mine) { return mine.held(); });
    std::cout << result.has_value();
    if (const auto record = plain.inspect()) std::cout << record->owner;

    lh::basic_lease other{database, "other", 30s, lh::fixed_owner_id{"node-1"}, lh::renew_for{60s}};
    {
        const std::scoped_lock both{plain, other};
    }
    auto all = lh::try_acquire_all(plain, other);
    std::cout << all.held();
    all.release(failure);
    std::vector<lh::lease<Store>> many;
    many.emplace_back(database, "third", 30s);
    auto each = lh::try_acquire_each(many);
    lh::release_all(each, failure);

    lh::lease_semaphore permits{database, "permits", 4, 30s};
    acquire_in_every_form(permits, failure);

    lh::shared_lease catalog{database, "catalog", 30s, lh::reader_limit{8}};
    acquire_in_every_form(catalog, failure);
    {
        auto reader = catalog.acquire_shared();
        std::cout << reader.held();
    }
    {
        const std::shared_lock reading{catalog};
    }

    lh::leader_election election{plain};
    election.run(std::stop_token{}, [](auto& term) { return term.held(); });

    const int count = 4;
    lh::shard_group shards{database, "shards", count};
    shards.run(std::stop_token{}, [](auto& shard) { std::cout << shard.index(); }, failure);
    shards.resize(count + 1, failure);
    for (const lh::shard_view& each : shards.view(failure)) std::cout << each.owner << each.held_closed.value_or("");
    lh::group_member member{database, "workers"};
    const lh::group_observer observer{database, "workers", [](const lh::member_change& change) { std::cout << change.kind; }};
    lh::recurring nightly{database, "nightly", lh::every{.period = 24h}};
    nightly.run(std::stop_token{}, [](auto& run) { std::cout << run.attempt(); }, failure);
}

template <class Store>
void use_what_leads_to_the_work(Store& store)
{
    lh::recurring nightly{store, "report", lh::every{.period = 24h, .at = 3h},
                          lh::recurring_options{.ttl = 60s, .catch_up = lh::catch_up::last}};
    if (auto run = nightly.try_begin()) {
        std::cout << run.fire().time_since_epoch().count();
        run.save_checkpoint("offset=4711");
        run.complete();
    }
    lh::recurring hourly{store, "tidy", lh::cron{"0 * * * *"}};
    hourly.run(std::stop_token{}, [](auto& run) { std::cout << run.held(); });
    std::cout << hourly.last().has_value() << hourly.next().time_since_epoch().count();

    lh::group_member me{store, "workers", lh::member_options{.ttl = 10s, .data = "10.0.0.7:8443"}};
    for (const auto& each : me.members()) std::cout << each.id << each.data;
    const lh::group_observer others{store, "workers", [](const lh::member_change& change) { std::cout << change.member.id; }};
    lh::shard_group shards{store, "orders", 64, lh::shard_options{.ttl = 10s, .drain_timeout = 30s}};
    shards.run(std::stop_token{}, [](auto& shard) {
        const auto from = shard.load_checkpoint();
        while (shard.held() && !shard.draining()) std::cout << shard.index() << shard.token() << from.has_value();
    });
    std::cout << shards.owned().size() << shards.view().size();
    shards.resize(128);
    shards.pause();

    lh::lease_observer watch{store, "scheduler", [](const lh::lease_change& change) { std::cout << lh::to_string(change.kind); }};
    std::cout << watch.current().has_value() << watch.age().count();
    store.hold("nightly-report", 2h, "migration");
    store.unhold("nightly-report");

    lh::lease_semaphore permits{store, "permits", 4, 30s};
    permits.resize(8);
    const auto three = permits.try_acquire(3);
    std::cout << three.held();
    lh::basic_lease plain{store, "plain"};
    const auto mine = plain.try_acquire();
    const std::string sequencer = lh::to_text(mine);
    std::cout << lh::read_sequencer(sequencer).token;
}

void use_stores_in_memory()
{
    lh::memory_store memory;
    lh::metrics numbers;
    lh::hooked_store hooked{memory, [&numbers](const lh::store_call& call, const lh::store_call_report& report) { numbers(call, report); }};
    use_every_right(hooked);
    use_what_leads_to_the_work(memory);
    lh::manual_clock turned;
    lh::basic_memory_store on_turned{turned};
    lh::basic_lease once{on_turned, "once", turned, lh::no_renewal{}};
    auto mine = once.try_acquire();
    turned.advance(1h);
    std::cout << mine.held();
}

#if defined(STRICT_USER_ODBC)
void use_a_database()
{
    lh::odbc_store database{"Driver=SQLite3;Database=strict_user.db", lh::odbc_options{.call_timeout = 5s, .pool_size = 4}};
    database.create_schema();
    use_every_right(database);
    use_what_leads_to_the_work(database);
    for (const lh::lease_record& record : database.list()) std::cout << record.name << record.remaining.count();
    database.force_release("plain");
    std::cout << database.purge(24h, lh::with_checkpoints);
    lh::basic_lease plain{database, "plain"};
    auto mine = plain.acquire();
    SQLHDBC connection = SQL_NULL_HDBC;
    std::cout << lh::odbc::fence(connection, mine) << lh::odbc::save_checkpoint(connection, mine, "offset=4711");
    lh::recurring nightly{database, "nightly", lh::every{.period = 24h}};
    if (auto run = nightly.try_begin()) std::cout << lh::odbc::fence(connection, run) << run.complete(connection);
    lh::leader_election election{plain};
    election.run(std::stop_token{}, [connection](auto& term) {
        return lh::odbc::fence(connection, term) && lh::odbc::save_checkpoint(connection, term, "offset=4711");
    });
    lh::shard_group shards{database, "shards", 4};
    shards.run(std::stop_token{}, [connection](auto& shard) {
        std::cout << lh::odbc::fence(connection, shard) << lh::odbc::save_checkpoint(connection, shard, "offset=4711");
    });
    std::cout << lh::checkpoint_sql("postgresql");
}
#endif

#if defined(STRICT_USER_ASIO)
void use_asio()
{
    lh::memory_store memory;
    lh::basic_lease plain{memory, "plain"};
    boost::asio::io_context context;
    auto granted = lh::async_acquire(plain, boost::asio::use_future);
    context.run();
    auto mine = granted.get();
    std::cout << mine.held();
}
#endif

}  // namespace

int main()
{
    use_stores_in_memory();
#if defined(STRICT_USER_ODBC)
    use_a_database();
#endif
#if defined(STRICT_USER_ASIO)
    use_asio();
#endif
}
