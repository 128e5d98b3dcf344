// SPDX-License-Identifier: BSL-1.0
// ctest:

// A clock of your own: a now() that never goes back, and, for waiting and for background renewal, a wait_until().
//
// This clock runs a thousand times as fast as the real one, to rehearse in seconds what takes hours: a holder dies in the
// night, and somebody takes over later. The store must use the same clock, so it is a memory store here; a database has its
// own clock, and a holder's clock must run at nearly the same rate. Other reasons for a clock of your own are a simulation's
// time and a real-time system's tick. For unit tests there is lh::manual_clock, which the test moves.
#include <leasehold/leasehold.hpp>

#include <chrono>
#include <iostream>
#include <system_error>

namespace lh = leasehold;
using namespace std::chrono_literals;

class fast_clock {
public:
    [[nodiscard]] lh::time_point now() const noexcept { return lh::time_point{(real_.now() - start_) * speed}; }

    bool wait_until(lh::waker& w, lh::time_point t) const { return w.wait_for((t - now()) / speed); }

    // Leases whose clocks are equal share the threads that watch them.
    friend bool operator==(const fast_clock& a, const fast_clock& b) noexcept { return a.start_ == b.start_; }

private:
    static constexpr int speed = 1000;
    lh::steady_clock real_;
    lh::time_point start_ = real_.now();
};

static_assert(lh::lease_clock<fast_clock> && lh::waitable_clock<fast_clock>);

int main()
{
    const auto began = std::chrono::steady_clock::now();
    const fast_clock clock;
    lh::basic_memory_store store{clock};
    constexpr lh::lease_terms terms{.ttl = 20min};
    lh::basic_lease night_shift{store, "watch", terms, clock};
    lh::basic_lease day_shift{store, "watch", terms, clock};
    const auto shows = [&] {
        return std::chrono::duration_cast<std::chrono::minutes>(clock.now().time_since_epoch()).count();
    };

    auto guard = night_shift.acquire();
    const auto too_soon = day_shift.try_acquire_for(25min);
    const bool still_there = too_soon.empty();
    std::cout << "after " << shows() << " minutes the night shift " << (still_there ? "is still there\n" : "is gone\n");

    // Nobody renews the term of a dead holder: this term is granted to somebody who is never heard from again.
    guard.release();
    std::error_code ec;
    const auto dead = store.try_acquire("watch", "somebody who dies", 20min, ec);
    const auto before = clock.now();
    const auto turn = day_shift.try_acquire_for(1h);
    const auto waited = clock.now() - before;
    std::cout << "the day shift takes over " << waited / 1min << " minutes later, token " << turn.token() << '\n';

    const std::chrono::duration<double> real = std::chrono::steady_clock::now() - began;
    std::cout << "this took " << real.count() << " s\n";
    return still_there && dead.granted() && turn && waited >= 19min ? 0 : 1;
}
