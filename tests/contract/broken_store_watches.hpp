// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_BROKEN_STORE_WATCHES_HPP
#define LEASEHOLD_TESTS_CONTRACT_BROKEN_STORE_WATCHES_HPP

#include <contract/broken_store_defects.hpp>

#include <leasehold/clock/waker.hpp>

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold_test {

// Who waits for what in a broken_store: right but for the defect in force.
class broken_store_watches {
public:
    class watch {
    public:
        template <class IsFree>
        watch(broken_store_watches& all, std::string_view name, leasehold::waker& to_wake, IsFree is_free)
            : all_{all}, name_{name}, waker_{to_wake}
        {
            if (is(defect::watch_begins_late)) return;
            begin();
            if (is_free()) waker_.wake();
        }
        watch(const watch&) = delete;
        watch& operator=(const watch&) = delete;
        ~watch()
        {
            const std::lock_guard lock{all_.mutex_};
            std::erase(all_.watches_, this);
            all_.ended_.insert(name_);
        }

        [[nodiscard]] bool live() const
        {
            if (is(defect::watch_begins_late)) begin();
            return true;
        }

    private:
        friend broken_store_watches;

        void begin() const
        {
            const std::lock_guard lock{all_.mutex_};
            if (is(defect::watch_works_once) && all_.ended_.contains(name_)) return;
            if (std::ranges::find(all_.watches_, this) == all_.watches_.end()) all_.watches_.push_back(this);
        }

        broken_store_watches& all_;
        const std::string name_;
        leasehold::waker& waker_;
    };

    [[nodiscard]] bool any(std::string_view name) const
    {
        const std::lock_guard lock{mutex_};
        return std::ranges::find(watches_, name, &watch::name_) != watches_.end();
    }

    // One that is over, and none that goes on.
    [[nodiscard]] bool any_ended(std::string_view name) const
    {
        const std::lock_guard lock{mutex_};
        return ended_.contains(std::string{name}) && std::ranges::find(watches_, name, &watch::name_) == watches_.end();
    }

    void wake(std::string_view name) const
    {
        const std::lock_guard lock{mutex_};
        if (is(defect::live_watch_never_wakes)) return;
        if (is(defect::only_the_last_watch_is_woken)) {
            if (!watches_.empty() && watches_.back()->name_ == name) watches_.back()->waker_.wake();
            return;
        }
        for (const watch* each : watches_)
            if (each->name_ == name) each->waker_.wake();
    }

private:
    mutable std::mutex mutex_;
    mutable std::vector<const watch*> watches_;
    std::set<std::string> ended_;
};

}  // namespace leasehold_test

#endif
