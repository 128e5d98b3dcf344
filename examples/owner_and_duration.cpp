// SPDX-License-Identifier: BSL-1.0
// ctest:

// tryLock(name, owner, duration) in one place and unlock(name) in another: one request begins something, and another ends
// it.
//
// In such locks, unlock() usually takes the name, or the name and the owner. Work that outlives its duration, which nobody
// renews, then ends the lock of its successor. The owner does not prevent this, since the same owner may have locked the
// name again since. Nor does the holder ever learn that its time ran out. Here the token goes with the owner and names
// exactly one term. If lock and unlock are in different places, the four operations of a store are enough. If they are in
// one place, a guard does more: it renews, and knows when it has lost.
#include <leasehold/leasehold.hpp>

#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

namespace lh = leasehold;
using namespace std::chrono_literals;

// The old interface over any store, for code that is migrated step by step.
template <lh::lease_store Store>
class lock_service {
public:
    explicit lock_service(Store& store) : store_{store} {}

    // Keep the token with the locked object. Empty: somebody else has it.
    std::optional<lh::fencing_token> try_lock(const std::string& name, const std::string& owner, lh::duration duration)
    {
        std::error_code ec;
        const lh::acquire_result result = store_.try_acquire(name, owner, duration, ec);
        if (ec) throw lh::store_error{ec, "try_lock '" + name + "'"};  // a failure is not "somebody else"
        return result.granted() ? std::optional{result.token} : std::nullopt;
    }

    // False: that term was already over, so somebody else may have worked at the same time.
    bool unlock(const std::string& name, const std::string& owner, lh::fencing_token token)
    {
        std::error_code ec;
        const bool ended = store_.release(name, owner, token, 0s, ec);
        if (ec) throw lh::store_error{ec, "unlock '" + name + "'"};
        return ended;
    }

private:
    Store& store_;
};

int main()
{
    lh::memory_store store;
    lock_service locks{store};

    const auto first = locks.try_lock("basket-17", "alice", 100ms);
    std::this_thread::sleep_for(200ms);                             // the request takes longer than planned
    const auto second = locks.try_lock("basket-17", "alice", 30s);  // the same user, in another tab
    if (!first || !second) return 1;
    const bool late = locks.unlock("basket-17", "alice", *first);
    std::cout << "late unlock with token " << *first << ": " << (late ? "ended a lock" : "nothing of yours is locked")
              << '\n';
    const bool in_time = locks.unlock("basket-17", "alice", *second);
    std::cout << "unlock with token " << *second << ": " << (in_time ? "unlocked" : "lost") << '\n';

    // If one function does all of it, the guard renews for as long as it takes: the duration is only for crashes.
    lh::basic_lease lease{store, "basket-18", lh::lease_terms{.ttl = 500ms}, lh::steady_clock{},
                          lh::fixed_owner_id{"alice"}};
    auto guard = lease.acquire();
    std::this_thread::sleep_for(1200ms);
    const bool still = guard.held() && guard.release() == lh::release_outcome::released;
    std::cout << "1.2 s of work with 0.5 s of time to live: " << (still ? "held to the end" : "lost") << '\n';
    return !late && in_time && still ? 0 : 1;
}
