// SPDX-License-Identifier: BSL-1.0
// ctest:

// Counts what a store and its leases do, and prints it as Prometheus reads it: the answer to GET /metrics.
//
// It runs in memory, so that it needs no database.
#include <leasehold/leasehold.hpp>
#include <leasehold/metrics.hpp>

#include <chrono>
#include <functional>
#include <iostream>
#include <stop_token>
#include <system_error>

namespace lh = leasehold;
using namespace std::chrono_literals;

int main()
{
    lh::memory_store store;
    lh::metrics metrics;  // before the store that reports to it, and its leases
    bool outage = false;
    lh::faulty_store failing{store, [&](const lh::store_call&) { return outage ? lh::store_fault::lose_request : lh::store_fault::none; }};
    lh::hooked_store observed{failing, std::ref(metrics)};

    lh::basic_lease leader{observed, "leader", 30s};
    lh::basic_lease rival{observed, "leader", 30s};
    auto term = leader.try_acquire();
    if (!rival.try_run([] {})) std::cerr << "the rival finds the lease busy\n";
    term.renew();
    term.release();

    auto next = rival.try_acquire();
    outage = true;
    std::error_code ec;
    if (!next.renew(ec)) std::cerr << "a renewal fails: " << ec.message() << '\n';
    outage = false;
    store.force_release("leader");
    if (!next.renew()) std::cerr << "and the next finds that the term is over\n";

    // A job with a schedule, whose fires are counted too.
    lh::recurring report{observed, "report", lh::every{.period = 24h}, metrics.counting_fires("report")};
    if (auto run = report.try_begin()) run.complete();

    // A member of a group, whose shards are counted too. It leaves as soon as it has one.
    std::stop_source leave;
    lh::shard_options options{.ttl = 1s};
    options.on_event = [&metrics](const lh::shard_event& event) { metrics(event); };
    lh::shard_group orders{store, "orders", 4, options};
    orders.run(leave.get_token(), [&leave](auto&) { leave.request_stop(); });

    metrics.write_prometheus(std::cout);
}
