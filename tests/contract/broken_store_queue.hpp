// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_BROKEN_STORE_QUEUE_HPP
#define LEASEHOLD_TESTS_CONTRACT_BROKEN_STORE_QUEUE_HPP

#include <contract/broken_store_defects.hpp>

#include <leasehold/clock/waker.hpp>
#include <leasehold/store/concept.hpp>

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold_test {

// Who waits for what in a broken_store: right but for the defect in force.
class broken_store_queue {
public:
    class ticket {
    public:
        ticket(broken_store_queue& all, std::string_view name, leasehold::waker& to_wake) : all_{all}, name_{name}, waker_{to_wake}
        {
            if (!is(defect::ticket_counts_late)) begin();
        }
        ticket(const ticket&) = delete;
        ticket& operator=(const ticket&) = delete;
        ~ticket()
        {
            const std::lock_guard lock{all_.mutex_};
            std::erase(all_.tickets_, this);
            all_.ended_.insert(name_);
            std::erase(all_.turns_, this);
            const ticket* const next = all_.first_in_turn(name_);
            if (next && !is(defect::turn_wakes_nobody)) next->waker_.wake();
        }
        void passed() noexcept {}

        [[nodiscard]] std::string_view name() const { return name_; }
        // Late: one that has been told when to ask again may sleep by then.
        void was_busy()
        {
            if (std::exchange(was_busy_, true) || !is(defect::ticket_counts_late)) begin();
        }

    private:
        friend broken_store_queue;

        void begin()
        {
            const std::lock_guard lock{all_.mutex_};
            if (is(defect::ticket_works_once) && all_.ended_.contains(name_)) return;
            if (std::ranges::find(all_.tickets_, this) == all_.tickets_.end()) all_.tickets_.push_back(this);
        }

        broken_store_queue& all_;
        const std::string name_;
        leasehold::waker& waker_;
        bool was_busy_ = false;
    };

    leasehold::turn_answer turn(const ticket& of)
    {
        const std::lock_guard lock{mutex_};
        const bool asks_again = std::ranges::find(turns_, &of) != turns_.end();
        if (!asks_again) turns_.push_back(&of);
        if (first_in_turn(of.name_) == &of && !(asks_again && is(defect::turn_is_forgotten))) return {};
        return {leasehold::turn_status::behind, std::chrono::seconds{5}};
    }

    [[nodiscard]] bool any(std::string_view name) const
    {
        const std::lock_guard lock{mutex_};
        return std::ranges::find(tickets_, name, &ticket::name_) != tickets_.end();
    }

    // One that is over, and none that goes on.
    [[nodiscard]] bool any_ended(std::string_view name) const
    {
        const std::lock_guard lock{mutex_};
        return ended_.contains(std::string{name}) && std::ranges::find(tickets_, name, &ticket::name_) == tickets_.end();
    }

    void wake(std::string_view name) const
    {
        const std::lock_guard lock{mutex_};
        if (is(defect::ticket_never_wakes)) return;
        if (is(defect::only_the_last_ticket_is_woken)) {
            if (!tickets_.empty() && tickets_.back()->name_ == name) tickets_.back()->waker_.wake();
            return;
        }
        for (const ticket* each : tickets_)
            if (each->name_ == name) each->waker_.wake();
    }

private:
    // Null: there is none.
    [[nodiscard]] const ticket* first_in_turn(std::string_view name) const
    {
        const auto found =
            std::ranges::find_if(turns_, [name](const ticket* each) { return is(defect::turn_of_any_name) || each->name_ == name; });
        return found == turns_.end() ? nullptr : *found;
    }

    mutable std::mutex mutex_;
    mutable std::vector<const ticket*> tickets_;
    std::vector<const ticket*> turns_;  // in the order in which they were first asked for
    std::set<std::string> ended_;
};

}  // namespace leasehold_test

#endif
