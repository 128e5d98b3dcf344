// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_TALLY_HPP
#define LEASEHOLD_TESTS_SIMULATION_TALLY_HPP

#include <cstdint>

namespace sim {

// What was done to the library, and what it did, over all schedules.
struct tally {
    std::uint64_t lost_requests = 0, lost_replies = 0, duplicates = 0, slow_messages = 0, broken_connections = 0,
                  refusals = 0;
    std::uint64_t process_freezes = 0, crashes = 0, server_freezes = 0, server_restarts = 0, clock_jumps = 0;
    std::uint64_t calls = 0, timeouts = 0, terms = 0, losses = 0, writes = 0, refused_writes = 0, batches = 0;
    std::uint64_t locks = 0, at_head = 0, yields = 0, several = 0;

    template <class Each>
    void each(Each&& tell) const
    {
        tell("requests lost", lost_requests);
        tell("replies lost after the commit", lost_replies);
        tell("requests delivered twice", duplicates);
        tell("messages slower than a ttl", slow_messages);
        tell("connections broken", broken_connections);
        tell("statements refused (deadlock, serialization)", refusals);
        tell("processes frozen", process_freezes);
        tell("processes crashed", crashes);
        tell("server frozen", server_freezes);
        tell("server restarted", server_restarts);
        tell("jumps of the server's clock", clock_jumps);
        tell("calls of the store", calls);
        tell("calls that ran out of time", timeouts);
        tell("terms held", terms);
        tell("terms lost", losses);
        tell("fenced writes accepted", writes);
        tell("fenced writes refused", refused_writes);
        tell("renewals of several terms in one call", batches);
        tell("session locks asked for", locks);
        tell("terms granted to the first in the queue", at_head);
        tell("locks left to a holder without one", yields);
        tell("permits and shares held", several);
    }

    void add(const tally& other)
    {
        lost_requests += other.lost_requests;
        lost_replies += other.lost_replies;
        duplicates += other.duplicates;
        slow_messages += other.slow_messages;
        broken_connections += other.broken_connections;
        refusals += other.refusals;
        process_freezes += other.process_freezes;
        crashes += other.crashes;
        server_freezes += other.server_freezes;
        server_restarts += other.server_restarts;
        clock_jumps += other.clock_jumps;
        calls += other.calls;
        timeouts += other.timeouts;
        terms += other.terms;
        losses += other.losses;
        writes += other.writes;
        refused_writes += other.refused_writes;
        batches += other.batches;
        locks += other.locks;
        at_head += other.at_head;
        yields += other.yields;
        several += other.several;
    }
};

}  // namespace sim

#endif
