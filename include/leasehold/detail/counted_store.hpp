// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_COUNTED_STORE_HPP
#define LEASEHOLD_DETAIL_COUNTED_STORE_HPP

#include <leasehold/clock/concept.hpp>
#include <leasehold/detail/agreed_count.hpp>
#include <leasehold/detail/count_machine.hpp>
#include <leasehold/detail/permit_names.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store/forwarding_store.hpp>
#include <leasehold/store/store_call.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/local_queue.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::inline v0::detail {

// The store of permits: keeps a record of their count in the store for as long as there are permits.
//
// The record is a lease of the name that all permits begin with. Its owner is the count, in words. A process with the same count
// is granted that lease too, at once, because the owner is the same; another count is another owner, and busy. So all processes
// agree, and no permit outlives the record of the count that it was granted under. See agreed_count for a count that changes.
//
// While the count becomes smaller, the permits that are to be no more are closed as they come free: each is a lease of "0 permits", which
// lasts until all processes know of the change. So those that don't know of it yet find them busy, and once all are closed, nobody can
// hold more than the new count. Until then a grant stands only if no more than the new count are held after it.
// Thread safety: like the store's.
template <lease_store Store, lease_clock Clock>
class counted_store : public forwarding_store<Store, counted_store<Store, Clock>> {
    using forwarding = forwarding_store<Store, counted_store>;

public:
    // `follows`: it takes the count that it finds.
    counted_store(Store& store, Clock clock, permit_names names, bool follows = false)
        : forwarding{store}, clock_{std::move(clock)}, names_{std::move(names)}, prefix_{names_.prefix()},
          woken_together_{names_.woken_together()}, follows_{follows}, own_{names_.count, 0, 0}, count_{names_.count}
    {
    }
    counted_store(const counted_store&) = delete;
    counted_store& operator=(const counted_store&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return names_.name; }
    [[nodiscard]] const permit_names& names() const noexcept { return names_; }

    // How many there are, as far as is known.
    [[nodiscard]] std::size_t count() const noexcept { return count_.load(); }

    // See forwarding_store. A release wakes those that wait for any of the permits.
    template <class Make>
    auto around(const store_call& call, std::error_code& ec, Make make) -> decltype(make())
    {
        if (call.operation == store_operation::renew) {
            if (!agree(call.time, ec)) return {};
            if (is_beyond(call.name, agreed().limit())) return {};
        }
        auto answer = make();
        if (call.operation == store_operation::release) waiting::released(this->underlying(), names_.name);
        return answer;
    }

    // See term_request.
    [[nodiscard]] std::optional<std::string_view> wakes(std::string_view name) const noexcept
    {
        return wakes_together() && name.starts_with(woken_together_) ? std::optional<std::string_view>{woken_together_} : std::nullopt;
    }
    [[nodiscard]] bool wakes_together() const noexcept { return !woken_together_.empty(); }
    [[nodiscard]] std::string_view woken_together() const noexcept { return woken_together_; }

    acquire_result try_acquire(std::string_view name, std::string_view owner, duration ttl, std::error_code& ec)
    {
        return granted_within(name, owner, ttl, ec, [&] { return try_one({name, owner, ttl, wakes(name)}, ec); });
    }

    acquire_result try_acquire(queue_ticket auto& ticket, std::string_view owner, duration ttl, std::error_code& ec)
        requires notifying_store<Store>
    {
        return granted_within(ticket.name(), owner, ttl, ec, [&] { return forwarding::try_acquire(ticket, owner, ttl, ec); });
    }

    void acquire_many(std::span<const term_request> requests, std::size_t most, std::span<std::optional<acquire_result>> answers,
                      std::error_code& ec)
        requires batch_acquiring_store<Store>
    {
        if (!agree(longest(requests), ec)) {
            if (!ec) std::ranges::fill(answers, acquire_result{});
            return;
        }
        const agreed_count now = agreed();
        const auto within = [&](const term_request& each) { return !is_beyond(each.name, now.count); };
        if (std::ranges::all_of(requests, within)) {
            forwarding::acquire_many(requests, most, answers, ec);
        } else {
            std::vector<term_request> left;
            std::ranges::copy_if(requests, std::back_inserter(left), within);
            std::vector<std::optional<acquire_result>> answered(left.size());
            if (!left.empty()) forwarding::acquire_many(left, most, answered, ec);
            auto next = answered.begin();
            for (std::size_t i = 0; i < requests.size(); ++i) answers[i] = within(requests[i]) ? *next++ : acquire_result{};
        }
        if (now.changing()) keep_within(now, requests, answers, ec);
    }

    void renew_many(std::span<const term_renewal> renewals, std::span<batch_answer> answers, duration within, std::error_code& ec)
        requires batching_store<Store>
    {
        const time_point begun = clock_.now();
        if (!agree(longest(renewals), ec)) return;
        const std::size_t limit = agreed().limit();
        const auto still_is = [&](const term_renewal& each) { return !is_beyond(each.name, limit); };
        const auto left_of_time = [&] { return within - (clock_.now() - begun); };
        if (std::ranges::all_of(renewals, still_is)) return forwarding::renew_many(renewals, answers, left_of_time(), ec);
        std::vector<term_renewal> left;
        std::ranges::copy_if(renewals, std::back_inserter(left), still_is);
        std::vector<batch_answer> answered(left.size(), batch_answer::unknown);
        if (!left.empty()) forwarding::renew_many(left, answered, left_of_time(), ec);
        auto next = answered.begin();
        for (std::size_t i = 0; i < renewals.size(); ++i) answers[i] = still_is(renewals[i]) ? *next++ : batch_answer::no;
    }

    void release_many(std::span<const term_release> releases, std::span<batch_answer> answers, std::error_code& ec)
        requires batching_store<Store>
    {
        forwarding::release_many(releases, answers, ec);
        waiting::released(this->underlying(), names_.name);
    }

    // What the last look at the record found instead of this count, and what to do. Empty: then an errc::invalid_terms is the store's own.
    [[nodiscard]] std::string disagreement() const
    {
        const std::lock_guard lock{mutex_};
        return disagreement_;
    }

    // An attempt fails with errc::invalid_terms, and this is why.
    void refuse(std::string why, std::error_code& ec)
    {
        const std::lock_guard lock{mutex_};
        disagreement_ = std::move(why);
        ec = errc::invalid_terms;
    }

    // Sees to it that the record outlives what is granted or extended by `ttl` now. False: there is an error.
    bool agree(duration ttl, std::error_code& ec)
    {
        {
            const std::lock_guard lock{mutex_};
            ec.clear();
            if (!machine_.due(clock_.now(), ttl)) return true;
        }
        return write_record(ttl, ec);
    }

    // Before attempts: while the count becomes smaller, closes what has come free. False: there is an error.
    bool settle(duration ttl, std::error_code& ec)
    {
        ec.clear();
        if (agreed().changing()) settle(ttl, false, ec);
        return !ec;
    }

    // Nothing is free: whether that is so because more are free than this process knows of. Asks the store now and then.
    bool has_grown(duration ttl, std::error_code& ec)
    {
        if (!names_.of_gate.empty()) return false;
        const std::size_t before = count();
        std::string known;
        {
            const std::lock_guard lock{mutex_};
            const time_point now = clock_.now();
            if (now < looks_at_) return false;
            looks_at_ = now + between_looks;
            known = own_.text(names_.unit);
        }
        std::error_code no_matter;  // nothing is free, as was asked
        const std::optional<lease_record> record = this->underlying().inspect(names_.name, no_matter);
        if (no_matter || !record || record->owner == known) return false;
        return write_record(ttl, ec) && count() > before;
    }

    // How many are held, by whatever process, and when the first of them is to end; for one that waits for several.
    struct held_permits {
        std::size_t count = 0;
        std::size_t end = 0;  // no permit from this number on is held
        duration first_ends = duration::max();
    };

    held_permits held(std::error_code& ec) { return held(agreed().limit(), ec); }

    // Makes all processes agree on another count. `ttl`: of this process's permits.
    void resize(std::size_t to, duration ttl, std::error_code& ec)
    {
        ec.clear();
        for (int attempt = 0; attempt < 4 * most_attempts; ++attempt) {
            if (try_resize(to, ttl, ec) || ec) {
                if (!ec && agreed().changing()) settle(ttl, true, ec);
                waiting::released(this->underlying(), names_.name);
                return;
            }
        }
        ec = errc::store_conflict;
    }

private:
    static constexpr std::string_view wakes_nobody{};  // nobody waits for the record
    static constexpr std::string_view closed{"0 permits"};  // the owner of a permit that is no more
    static constexpr duration between_looks = std::chrono::milliseconds{250};

    [[nodiscard]] agreed_count agreed() const
    {
        const std::lock_guard lock{mutex_};
        return own_;
    }

    [[nodiscard]] bool is_beyond(std::string_view name, std::size_t count) const noexcept
    {
        const std::optional<std::size_t> number = names_.number_of(name);
        return number && *number >= count;
    }

    // An attempt at one permit, or at the gate.
    template <class Try>
    acquire_result granted_within(std::string_view name, std::string_view owner, duration ttl, std::error_code& ec, Try try_it)
    {
        if (!agree(ttl, ec)) return {};
        const agreed_count now = agreed();
        if (is_beyond(name, now.count)) return {};
        const acquire_result answer = try_it();
        if (!now.changing() || ec || !answer.granted() || !names_.number_of(name)) return answer;
        const term_request request{name, owner, ttl};
        std::optional<acquire_result> kept = answer;
        keep_within(now, {&request, 1}, {&kept, 1}, ec);
        return *kept;
    }

    // Gives back the newest of these grants if too many are held now. They were made after the caller had learnt of the change.
    void keep_within(const agreed_count& now, std::span<const term_request> requests, std::span<std::optional<acquire_result>> answers,
                     std::error_code& ec)
    {
        std::error_code failed;
        if (std::ranges::none_of(answers, [](const auto& each) { return each && each->granted(); })) return;
        const std::size_t there_are = held(now.limit(), failed).count;
        std::size_t too_many = there_are > now.count ? there_are - now.count : 0;
        for (std::size_t i = answers.size(); i-- > 0 && (too_many > 0 || failed);) {
            if (!answers[i] || !answers[i]->granted()) continue;
            std::error_code not_released;
            this->underlying().release(requests[i].name, requests[i].owner, answers[i]->token, duration::zero(), not_released);
            if (!failed) failed = not_released;
            answers[i] = acquire_result{};
            if (too_many > 0) --too_many;
        }
        if (!ec) ec = failed;
    }

    held_permits held(std::size_t limit, std::error_code& ec)
    {
        held_permits all;
        const auto look_at = [&all](std::size_t number, const lease_record& each) {
            if (each.is_count()) return;
            if (!each.owner.empty()) ++all.count;
            all.end = std::max(all.end, number + 1);
            all.first_ends = std::min(all.first_ends, each.remaining);
        };
        if constexpr (listing_store<Store>) {
            for (const lease_record& each : this->underlying().list(prefix_, ec)) {
                const std::optional<std::size_t> number = names_.number_of(each.name);
                if (number && *number < limit) look_at(*number, each);
            }
        } else {
            for (std::size_t i = 0; i < limit && !ec; ++i)
                if (const auto record = this->underlying().inspect(names_.of_permit(i), ec); record && !ec) look_at(i, *record);
        }
        return all;
    }

    // No permit from this number on is held, as far as the store tells.
    std::size_t end_of_held(std::error_code& ec)
    {
        if constexpr (listing_store<Store>)
            return held(max_permits, ec).end;
        else
            return 0;
    }

    // Closes these permits, until one is busy, unless `whole`. Returns the tokens of those that it closed; 0 for the others.
    std::vector<fencing_token> try_closing(const std::vector<std::size_t>& numbers, duration ttl, bool whole, std::error_code& ec)
    {
        std::vector<std::string> names;
        names.reserve(numbers.size());
        for (const std::size_t each : numbers) names.push_back(names_.of_permit(each));
        std::vector<fencing_token> tokens(names.size());
        if (names.empty()) return tokens;
        if constexpr (batch_acquiring_store<Store>) {
            std::vector<term_request> requests;
            for (const std::string& each : names) requests.push_back({each, closed, ttl, wakes_nobody});
            std::vector<std::optional<acquire_result>> answers(names.size());
            this->underlying().acquire_many(requests, names.size(), answers, ec);
            for (std::size_t i = 0; i < names.size(); ++i)
                if (answers[i] && answers[i]->granted()) tokens[i] = answers[i]->token;
        } else {
            for (std::size_t i = 0; i < names.size() && !ec; ++i) {
                const acquire_result answer = this->underlying().try_acquire(names[i], closed, ttl, ec);
                if (answer.granted() && !ec) tokens[i] = answer.token;
                if (!answer.granted() && !whole) break;
            }
        }
        return tokens;
    }

    static std::vector<std::size_t> numbers_from(std::size_t first, std::size_t end)
    {
        std::vector<std::size_t> numbers(end - first);
        std::iota(numbers.begin(), numbers.end(), first);
        return numbers;
    }

    // Permits that were closed are open again.
    void reopen(std::size_t first, std::size_t end, duration ttl, std::error_code& ec)
    {
        const std::vector<fencing_token> tokens = try_closing(numbers_from(first, end), ttl, true, ec);
        for (std::size_t i = 0; i < tokens.size() && !ec; ++i)
            if (tokens[i] != fencing_token{})
                this->underlying().release(names_.of_permit(first + i), closed, tokens[i], duration::zero(), ec);
    }

    // Those of the permits that are to be no more which this process has not closed.
    std::vector<std::size_t> not_closed(const agreed_count& now)
    {
        std::vector<std::size_t> numbers;
        const std::lock_guard lock{mutex_};
        const time_point at = clock_.now();
        for (std::size_t i = now.count; i < now.was; ++i)
            if (!(own_ == now) || i >= closed_until_.size() || closed_until_[i] <= at) numbers.push_back(i);
        return numbers;
    }

    // False: one of them is held still, or there is an error.
    bool close(const agreed_count& now, const std::vector<std::size_t>& numbers, duration ttl, bool whole, std::error_code& ec)
    {
        const time_point sent = clock_.now();
        const std::vector<fencing_token> tokens = try_closing(numbers, ttl, whole, ec);
        const std::lock_guard lock{mutex_};
        if (own_ == now) closed_until_.resize(now.was, time_point::min());
        for (std::size_t i = 0; i < numbers.size() && own_ == now; ++i)
            if (tokens[i] != fencing_token{}) closed_until_[numbers[i]] = sent + ttl / 2;
        return !ec && std::ranges::none_of(tokens, [](const auto& each) { return each == fencing_token{}; });
    }

    void settle(duration ttl, bool whole, std::error_code& ec)
    {
        const agreed_count now = agreed();
        const std::optional<lease_record> record = this->underlying().inspect(names_.name, ec);
        if (ec) return;
        if (!record || record->owner != now.text(names_.unit)) return static_cast<void>(write_record(ttl, ec));
        // Whoever has agreed on an older count has written a record that ends no later than this one does, and grants nothing after that.
        const std::vector<std::size_t> open = not_closed(now);
        if (!close(now, open, record->remaining, whole, ec)) return;
        // All of them again, so that they stay closed beyond the change of the record.
        if (open.size() < now.was - now.count && !close(now, numbers_from(now.count, now.was), record->remaining, whole, ec)) return;
        if (replace(now, now.settled(), ttl, ec)) return follow(now.settled(), clock_.now(), ttl);
        // Somebody else has made the change final, or another change: then some of them may be permits again.
        if (!ec && write_record(ttl, ec) && count() > now.count) reopen(now.count, std::min(count(), now.was), ttl, ec);
    }

    // One attempt to make the record say another count. False: it has changed meanwhile, or there is an error.
    bool try_resize(std::size_t to, duration ttl, std::error_code& ec)
    {
        const agreed_count own = agreed();
        const time_point sent = clock_.now();
        const std::optional<lease_record> record = this->underlying().inspect(names_.name, ec);
        if (ec) return false;
        const std::optional<agreed_count> found = record ? agreed_count::of(record->owner, names_.unit) : std::nullopt;
        if (record && !found) {
            refuse(disagreement_with(*record), ec);
            return false;
        }
        if (found && found->count == to) {
            follow(*found, sent, duration::zero());
            return true;
        }
        agreed_count from = found.value_or(own);
        if (!found) from.was = std::max(from.limit(), end_of_held(ec));  // a change that was interrupted leaves no record
        if (ec) return false;
        const agreed_count wanted = from.resized(to, std::max(own.change, from.change) + 1);
        const bool written = found ? replace(from, wanted, ttl, ec) : write(wanted, count_machine::record_ttl(ttl), ec).granted();
        if (!written || ec) return false;
        follow(wanted, sent, ttl);
        if (from.change > 0 && to > from.count) reopen(from.count, to, ttl, ec);
        return true;
    }

    // The record says `to` from now on, and lasts at least as long as it would have. False: it says something else than `from`, or
    // there is an error. Between the two somebody may find no record, and write `from` again.
    bool replace(const agreed_count& from, const agreed_count& to, duration ttl, std::error_code& ec)
    {
        const acquire_result ours = write(from, ttl, ec);
        if (ec || !ours.granted()) return false;
        const std::optional<lease_record> record = this->underlying().inspect(names_.name, ec);
        if (ec || !record || record->token != ours.token) return false;
        if (!this->underlying().release(names_.name, from.text(names_.unit), ours.token, duration::zero(), ec) || ec) return false;
        return write(to, std::max(count_machine::record_ttl(ttl), record->remaining), ec).granted() && !ec;
    }

    acquire_result write(const agreed_count& count, duration ttl, std::error_code& ec)
    {
        const std::string owner = count.text(names_.unit);
        return try_one({names_.name, owner, ttl, wakes_nobody}, ec);
    }

    // This process agrees on that count now. `ttl`: 0 if the record was not written.
    void follow(const agreed_count& count, time_point sent, duration ttl)
    {
        const std::lock_guard lock{mutex_};
        if (!(own_ == count)) {
            machine_ = {};
            closed_until_.clear();
        }
        own_ = count;
        count_.store(count.count);
        agreed_ = true;
        if (ttl > duration::zero()) machine_.written(sent, ttl);
    }

    // What says whom the term wakes is a call for many.
    acquire_result try_one(const term_request& request, std::error_code& ec)
    {
        if constexpr (batch_acquiring_store<Store>) {
            if (request.wakes) {
                std::optional<acquire_result> said;
                this->underlying().acquire_many({&request, 1}, 1, {&said, 1}, ec);
                if (!said && !ec) ec = errc::store_failure;
                return said.value_or(acquire_result{});
            }
        }
        return this->underlying().try_acquire(request.name, request.owner, request.ttl, ec);
    }

    template <class Items>
    static duration longest(const Items& items) noexcept
    {
        duration most{};
        for (const auto& each : items) most = std::max(most, each.ttl);
        return most;
    }

    // What to say of that record.
    [[nodiscard]] std::string disagreement_with(const lease_record& other) const
    {
        const std::string here = "'" + printable(names_.name) + "' has " + std::to_string(count()) + " " + std::string{names_.unit} +
                                 " here, but ";
        if (!other.is_count())
            return here + "a lease of that name is " +
                   (other.owner.empty() ? "kept closed by its min_hold" : "held by '" + printable(other.owner) + "'") +
                   ": the name keeps the record of the count. Give one of the two another name";
        const std::string_view owner{other.owner};
        return here + "the store's record of that name says '" + printable(owner.substr(0, owner.find(','))) +
               "': all processes must agree on the count. Give the same count, or " +
               (names_.of_gate.empty() ? "change it with resize(), or follow it with semaphore_options, or " : "") +
               "end all processes that have the other one, and wait " +
               std::to_string(std::chrono::ceil<std::chrono::seconds>(other.remaining).count()) + " s until their record has run out";
    }

    // False: there is an error, or the name is held closed, so that everything is busy.
    bool write_record(duration ttl, std::error_code& ec)
    {
        ec.clear();
        for (int attempt = 0; attempt < most_attempts; ++attempt) {
            const agreed_count own = agreed();
            const time_point sent = clock_.now();
            const acquire_result said = write(own, count_machine::record_ttl(ttl), ec);
            if (ec) {
                const std::lock_guard lock{mutex_};
                if (ec == errc::invalid_terms) disagreement_.clear();
                return false;
            }
            if (said.granted()) {
                const std::lock_guard lock{mutex_};
                if (!(own_ == own)) continue;  // another thread has followed a change meanwhile
                agreed_ = true;
                machine_.written(sent, ttl);
                return true;
            }
            const std::optional<lease_record> other = this->underlying().inspect(names_.name, ec);
            if (ec || (other && other->is_hold())) return false;
            if (other && other->owner != own.text(names_.unit) && !goes_with(own, *other, ttl, ec)) return false;
            // Somebody with the same count has locked or written the record just now, that of another count has just run out, or this
            // process has another count now.
        }
        ec = errc::store_conflict;
        return false;
    }

    // The record says something else. False: there is an error.
    bool goes_with(const agreed_count& own, const lease_record& other, duration ttl, std::error_code& ec)
    {
        const std::optional<agreed_count> found = agreed_count::of(other.owner, names_.unit);
        count_verdict verdict = count_verdict::refuse;
        const time_point now = clock_.now();
        {
            const std::lock_guard lock{mutex_};
            if (!(own_ == own)) return true;
            if (found) verdict = judge({own, agreed_, machine_.lasts(now), follows_}, *found);
        }
        if (verdict == count_verdict::follow) {
            follow(*found, now, duration::zero());
        } else if (verdict == count_verdict::restore) {
            const agreed_count wanted = restored(own, *found);
            if (replace(*found, wanted, ttl, ec)) follow(wanted, now, ttl);
        } else {
            refuse(disagreement_with(other), ec);
        }
        return !ec;
    }

    static constexpr int most_attempts = 3;

    const Clock clock_;
    const permit_names names_;
    const std::string prefix_;
    const std::string woken_together_;
    const bool follows_;
    mutable std::mutex mutex_;  // guards what follows; never held across I/O
    count_machine machine_;
    agreed_count own_;
    bool agreed_ = false;
    std::vector<time_point> closed_until_;     // by number: until when this process need not close a permit again
    time_point looks_at_ = time_point::min();  // when to look whether the count has grown
    std::string disagreement_;
    std::atomic<std::size_t> count_;  // own_.count, for a look without the mutex
};

}  // namespace leasehold::inline v0::detail

#endif
