// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_SLEEPERS_CLOCK_HPP
#define LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_SLEEPERS_CLOCK_HPP

#include <leasehold/leasehold.hpp>

#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace pictures {

/// A manual clock that knows until when somebody has gone to sleep: so that a story goes on only when a waiter waits.
class sleepers_clock {
public:
    [[nodiscard]] leasehold::time_point now() const noexcept { return manual.now(); }

    bool wait_until(leasehold::waker& w, leasehold::time_point t) const
    {
        {
            const std::lock_guard lock{known_->mutex};
            known_->untils.insert(t);
        }
        return manual.wait_until(w, t);
    }

    void await_a_sleeper_until(leasehold::time_point t) const
    {
        for (;;) {
            {
                const std::lock_guard lock{known_->mutex};
                if (known_->untils.contains(t)) return;
            }
            std::this_thread::yield();
        }
    }

    friend bool operator==(const sleepers_clock& a, const sleepers_clock& b) noexcept { return a.known_ == b.known_; }

    leasehold::manual_clock manual;

private:
    struct known {
        std::mutex mutex;
        std::set<leasehold::time_point> untils;
    };
    std::shared_ptr<known> known_ = std::make_shared<known>();
};

}  // namespace pictures

#endif
