// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_ENGINE_REGISTRY_HPP
#define LEASEHOLD_RENEWAL_ENGINE_REGISTRY_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/concept.hpp>
#include <leasehold/renewal/engine.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace leasehold::inline v0::renewal {

/// The engine that serves this store's leases on this clock: the running one, or a new one.
///
/// It is separate from stores, so that a user's store needs to know nothing of threads. It lives as long as a lease uses it.
/// May throw std::bad_alloc, and std::system_error if a thread can't be started.
template <waitable_clock Clock>
std::shared_ptr<engine<Clock>> engine_for(const void* store, const Clock& clock)
{
    struct entry {
        const void* store;
        Clock clock;
        std::weak_ptr<engine<Clock>> serves;
    };
    struct registry {
        std::mutex mutex;
        std::vector<entry> entries;
    };
    // Never destroyed, since leases in static objects may be destroyed later.
    static registry& known = *new registry;

    const std::lock_guard lock{known.mutex};
    std::erase_if(known.entries, [](const entry& e) { return e.serves.expired(); });
    for (const entry& e : known.entries)
        if (e.store == store && detail::same_clock(e.clock, clock))
            if (auto running = e.serves.lock()) return running;
    auto started = std::make_shared<engine<Clock>>(clock);
    known.entries.push_back({store, clock, started});
    return started;
}

}  // namespace leasehold::inline v0::renewal

#endif
