// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_SCRIPTED_STORE_HPP
#define LEASEHOLD_TESTS_SUPPORT_SCRIPTED_STORE_HPP

#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/store/memory_store.hpp>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold_test {

/// Holds back the threads that pass it, until it is opened. With a clock, they sleep on it, so that advance() does not wait for them.
class gate
{
public:
    gate() = default;
    explicit gate(leasehold::manual_clock clock) : clock_{std::move(clock)} {}

    void pass()
    {
        leasehold::waker opened;
        {
            const std::lock_guard lock{mutex_};
            if (!open_) sleepers_.push_back(&opened);
            ++waiting_;
            changed_.notify_all();
            if (open_) opened.wake();
        }
        if (clock_)
            clock_->wait_until(opened, leasehold::time_point::max());
        else
            opened.wait();
        const std::lock_guard lock{mutex_};
        --waiting_;
    }

    void open()
    {
        const std::lock_guard lock{mutex_};
        open_ = true;
        for (leasehold::waker* each : sleepers_) each->wake();
        sleepers_.clear();
    }

    /// Returns when this many wait at the gate; false when they don't come.
    [[nodiscard]] bool reached_by(int callers = 1)
    {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, std::chrono::seconds{20}, [&] { return waiting_ >= callers; });
    }

    [[nodiscard]] int waiting() const
    {
        const std::lock_guard lock{mutex_};
        return waiting_;
    }

private:
    std::optional<leasehold::manual_clock> clock_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<leasehold::waker*> sleepers_;
    bool open_ = false;
    int waiting_ = 0;
};

enum class operation : std::size_t {
    try_acquire,
    renew,
    release,
    inspect,
    renew_many,
    release_many,
    acquire_many,
    publish,
    request_handover,
    handover_requested,
    save_checkpoint,
    checkpoint,
    now
};

/// What becomes of a statement.
enum class fate {
    carried_out,
    fails,           ///< errc::store_unavailable, and not carried out
    loses_reply,     ///< carried out, and errc::store_timeout
    refused,         ///< not carried out, and answered busy, false or empty
    throws,          ///< std::runtime_error, and not carried out
    throws_no_code,  ///< std::system_error whose code says success
};

/// A memory store whose statements can be made to hang, fail, be refused, throw, or lose their reply.
///
/// Thread safety: all functions from any thread.
class scripted_store
{
public:
    explicit scripted_store(leasehold::manual_clock clock) : leases{clock} {}

    /// What becomes of every statement of this kind from now on.
    void always(operation op, fate f)
    {
        const std::lock_guard lock{mutex_};
        of(op).always = f;
    }

    /// What becomes of the next statement of this kind; several are taken in turn.
    void next(operation op, fate f)
    {
        const std::lock_guard lock{mutex_};
        of(op).next.push_back(f);
    }

    using hook = std::function<void(std::string_view name)>;

    /// Called on the statement's thread before it is carried out.
    void before(operation op, hook f)
    {
        const std::lock_guard lock{mutex_};
        of(op).before = std::move(f);
    }

    /// Called on the statement's thread after it was carried out, before it is answered.
    void after(operation op, hook f)
    {
        const std::lock_guard lock{mutex_};
        of(op).after = std::move(f);
    }

    /// Statements sent, also those that have not come back.
    [[nodiscard]] int sent(operation op) const
    {
        const std::lock_guard lock{mutex_};
        return of(op).sent;
    }

    /// Statements answered.
    [[nodiscard]] int answered(operation op) const
    {
        const std::lock_guard lock{mutex_};
        return of(op).answered;
    }

    [[nodiscard]] leasehold::duration last_keep_closed() const
    {
        const std::lock_guard lock{mutex_};
        return last_keep_closed_;
    }

    leasehold::acquire_result try_acquire(std::string_view name, std::string_view owner, leasehold::duration ttl,
                                          std::error_code& ec)
    {
        return play(operation::try_acquire, name, ec, leasehold::acquire_result{},
                    [&] { return leases.try_acquire(name, owner, ttl, ec); });
    }

    bool renew(std::string_view name, std::string_view owner, leasehold::fencing_token token, leasehold::duration ttl,
               std::error_code& ec)
    {
        return play(operation::renew, name, ec, false, [&] { return leases.renew(name, owner, token, ttl, ec); });
    }

    bool release(std::string_view name, std::string_view owner, leasehold::fencing_token token,
                 leasehold::duration min_hold_left, std::error_code& ec)
    {
        {
            const std::lock_guard lock{mutex_};
            last_keep_closed_ = min_hold_left;
        }
        return play(operation::release, name, ec, false,
                    [&] { return leases.release(name, owner, token, min_hold_left, ec); });
    }

    std::optional<leasehold::lease_record> inspect(std::string_view name, std::error_code& ec)
    {
        return play(operation::inspect, name, ec, std::optional<leasehold::lease_record>{},
                    [&] { return leases.inspect(name, ec); });
    }

    bool publish(std::string_view name, std::string_view owner, leasehold::fencing_token token, std::string_view data, std::error_code& ec)
    {
        return play(operation::publish, name, ec, false, [&] { return leases.publish(name, owner, token, data, ec); });
    }

    bool request_handover(std::string_view name, std::string_view reason, std::error_code& ec)
    {
        return play(operation::request_handover, name, ec, false, [&] { return leases.request_handover(name, reason, ec); });
    }

    std::optional<std::string> handover_requested(std::string_view name, std::string_view owner, leasehold::fencing_token token,
                                                  std::error_code& ec)
    {
        return play(operation::handover_requested, name, ec, std::optional<std::string>{},
                    [&] { return leases.handover_requested(name, owner, token, ec); });
    }

    bool save_checkpoint(std::string_view name, std::string_view owner, leasehold::fencing_token token, std::string_view text,
                         std::error_code& ec)
    {
        return play(operation::save_checkpoint, name, ec, false, [&] { return leases.save_checkpoint(name, owner, token, text, ec); });
    }

    bool replace_checkpoint(std::string_view name, std::string_view owner, leasehold::fencing_token token, std::string_view replaced,
                            std::string_view text, std::error_code& ec)
    {
        return play(operation::save_checkpoint, name, ec, false,
                    [&] { return leases.replace_checkpoint(name, owner, token, replaced, text, ec); });
    }

    std::optional<leasehold::checkpoint_record> checkpoint(std::string_view name, std::error_code& ec)
    {
        return play(operation::checkpoint, name, ec, std::optional<leasehold::checkpoint_record>{},
                    [&] { return leases.checkpoint(name, ec); });
    }

    leasehold::store_time now(std::error_code& ec)
    {
        return play(operation::now, {}, ec, leasehold::store_time{}, [&] { return leases.now(ec); });
    }

    /// What it is made of: for looking at, or changing, what is really held.
    leasehold::basic_memory_store<leasehold::manual_clock> leases;

protected:
    template <class Result, class Statement>
    Result play(operation op, std::string_view name, std::error_code& ec, Result refusal, Statement statement)
    {
        fate what{};
        hook first, last;
        {
            const std::lock_guard lock{mutex_};
            script& s = of(op);
            ++s.sent;
            what = s.always;
            if (!s.next.empty()) {
                what = s.next.front();
                s.next.pop_front();
            }
            first = s.before;
            last = s.after;
        }
        if (first) first(name);
        Result result = refusal;
        ec.clear();
        if (what == fate::carried_out || what == fate::loses_reply) result = statement();
        if (last) last(name);
        {
            const std::lock_guard lock{mutex_};
            ++of(op).answered;
        }
        if (what == fate::throws) throw std::runtime_error{"the store's own exception"};
        if (what == fate::throws_no_code) throw std::system_error{std::error_code{}};
        if (what == fate::fails) ec = leasehold::errc::store_unavailable;
        if (what == fate::loses_reply) ec = leasehold::errc::store_timeout;
        return ec ? refusal : result;
    }

private:
    struct script {
        fate always = fate::carried_out;
        std::deque<fate> next;
        hook before;
        hook after;
        int sent = 0;
        int answered = 0;
    };

    script& of(operation op) { return scripts_[static_cast<std::size_t>(op)]; }
    [[nodiscard]] const script& of(operation op) const { return scripts_[static_cast<std::size_t>(op)]; }

    mutable std::mutex mutex_;
    std::array<script, 13> scripts_;
    leasehold::duration last_keep_closed_{};
};

}  // namespace leasehold_test

#endif
