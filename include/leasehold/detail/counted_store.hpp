// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_COUNTED_STORE_HPP
#define LEASEHOLD_DETAIL_COUNTED_STORE_HPP

#include <leasehold/clock/concept.hpp>
#include <leasehold/detail/agreed_count.hpp>
#include <leasehold/detail/attempt_one.hpp>
#include <leasehold/detail/catch_into.hpp>
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
// No statement gives a record another owner. So a change releases the record and writes the new one, and between the two any process may
// write the count that it knows. Before that, the change is noted in a lease of the name "licences/+". Its owner is the new count, and it
// outlives every earlier agreement. A process that has written the record looks at the note. If the note has a later change, that change
// counts, and each process that agrees to it carries it out. So the change survives the process that began it, and writes in between.
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
          note_name_{names_.of_gate.empty() ? prefix_ + "+" : std::string{}}, woken_together_{names_.woken_together()}, follows_{follows},
          own_{names_.count, 0, 0}, count_{names_.count}
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
            if (!outlasts_renewal(call.time, ec)) return {};
            if (is_beyond(call.name, agreed().limit())) return {};
        }
        auto answer = make();
        if (call.operation == store_operation::release) waiting::released(this->underlying(), names_.name);
        return answer;
    }

    // See term_request.
    [[nodiscard]] std::optional<std::string_view> wakes(std::string_view name) const noexcept
    {
        return name.starts_with(woken_together_) ? permits_wake() : std::nullopt;
    }
    [[nodiscard]] std::optional<std::string_view> permits_wake() const noexcept
    {
        return wakes_together() ? std::optional<std::string_view>{woken_together_} : std::nullopt;
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
        const auto within = [&](const term_request& request) { return !is_beyond(request.name, now.count); };
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
        if (!outlasts_renewal(longest(renewals), ec)) {
            if (!ec) std::ranges::fill(answers, batch_answer::no);
            return;
        }
        const std::size_t limit = agreed().limit();
        const auto still_is = [&](const term_renewal& renewal) { return !is_beyond(renewal.name, limit); };
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

    // Says what the last look at the record found instead of this count, and what to do. Empty: an errc::invalid_terms is the store's own.
    [[nodiscard]] std::string disagreement() const
    {
        const std::lock_guard lock{mutex_};
        return disagreement_;
    }

    // An attempt fails with this code, for this reason.
    void refuse(std::string reason, std::error_code& ec, errc code = errc::invalid_terms)
    {
        const std::lock_guard lock{mutex_};
        disagreement_ = std::move(reason);
        ec = code;
    }

    // Makes the record outlive what is granted or extended by `ttl` now. False: there is an error, or the name is held closed.
    bool agree(duration ttl, std::error_code& ec)
    {
        ec.clear();
        return !due(ttl) || write_record(ttl, ec);
    }

    // Before attempts: while the count becomes smaller, closes what has come free. False: there is an error. A name that is held closed
    // is none: the attempts find everything busy.
    bool settle(duration ttl, std::error_code& ec)
    {
        ec.clear();
        if (agreed().changing() && agree(ttl, ec)) settle(ttl, false, ec);
        return !ec;
    }

    // For a caller that found nothing free. True: the count has grown. Asks the store every 250 ms at most.
    bool has_grown(duration ttl, std::error_code& ec)
    {
        if (note_name_.empty()) return false;
        {
            const std::lock_guard lock{mutex_};
            const time_point now = clock_.now();
            if (now < looks_at_) return false;
            looks_at_ = now + between_looks;
        }
        std::error_code failed;
        const bool grown = is_larger_now(ttl, ec, failed);
        return grown && !failed;  // a failure is no matter: nothing is free, as was asked
    }

    // The same for a caller that asks for more than there are: it looks each time, and reports failures.
    bool has_grown_for_sure(duration ttl, std::error_code& ec)
    {
        std::error_code failed;
        const bool grown = !note_name_.empty() && is_larger_now(ttl, ec, failed);
        if (!ec) ec = failed;
        return grown && !ec;
    }

    // How many are held, by whatever process, and when the first of them is to end; for one that waits for several.
    struct held_permits {
        std::size_t count = 0;
        std::size_t kept_closed = 0;  // released, but nobody is granted them before min_hold is over
        std::size_t end = 0;  // no permit from this number on is held
        duration first_ends = duration::max();
    };

    held_permits held(std::error_code& ec) { return held(agreed().limit(), ec); }

    // Makes all processes agree on another count. `ttl`: of this process's permits.
    void resize(std::size_t to, duration ttl, std::error_code& ec)
    {
        ec.clear();
        seen_counts seen;
        for (int attempt = 0; attempt < 3 * most_attempts; ++attempt) {
            if (try_resize(to, ttl, seen, ec) || ec) {
                if (!ec) settle(ttl, true, ec);
                waiting::released(this->underlying(), names_.name);
                return;
            }
        }
        ec = errc::store_conflict;
    }

private:
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

    // `failed`: of the look; `ec`: of what follows.
    bool is_larger_now(duration ttl, std::error_code& ec, std::error_code& failed)
    {
        const std::size_t before = count();
        const std::string known = agreed().text(names_.unit);
        const std::optional<lease_record> record = this->underlying().inspect(names_.name, failed);
        if (failed || !record || record->owner == known) return false;
        return write_record(ttl, ec) && count() > before;
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
                     std::error_code& ec) noexcept
    {
        std::error_code failed;
        const auto is_granted = [&](std::size_t i) {
            return answers[i] && answers[i]->granted() && names_.number_of(requests[i].name).has_value();
        };
        bool any = false;
        for (std::size_t i = 0; i < answers.size(); ++i) any = any || is_granted(i);
        if (!any) return;
        std::size_t there_are = 0;
        catch_into(failed, [&] { there_are = held(now.limit(), failed).count; });
        std::size_t too_many = there_are > now.count ? there_are - now.count : 0;
        for (std::size_t i = answers.size(); i-- > 0 && (too_many > 0 || failed);) {
            if (!is_granted(i)) continue;
            std::error_code not_released;
            catch_into(not_released, [&] {
                this->underlying().release(requests[i].name, requests[i].owner, answers[i]->token, duration::zero(), not_released);
            });
            if (!failed) failed = not_released;
            answers[i] = acquire_result{};
            if (too_many > 0) --too_many;
        }
        if (!ec) ec = failed;
    }

    held_permits held(std::size_t limit, std::error_code& ec)
    {
        held_permits all;
        const auto look_at = [&all](std::size_t number, const lease_record& record) {
            if (record.is_count()) return;
            ++(record.owner.empty() ? all.kept_closed : all.count);
            all.end = std::max(all.end, number + 1);
            all.first_ends = std::min(all.first_ends, record.remaining);
        };
        if constexpr (listing_store<Store>) {
            for (const lease_record& record : this->underlying().list(prefix_, ec)) {
                const std::optional<std::size_t> number = names_.number_of(record.name);
                if (number && *number < limit) look_at(*number, record);
            }
        } else {
            for (std::size_t i = 0; i < limit && !ec; ++i)
                if (const auto record = this->underlying().inspect(names_.of_permit(i), ec); record && !ec) look_at(i, *record);
        }
        return all;
    }

    // Returns the number from which on no permit is held, as far as the store tells.
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
        for (const std::size_t number : numbers) names.push_back(names_.of_permit(number));
        std::vector<fencing_token> tokens(names.size());
        if (names.empty()) return tokens;
        if constexpr (batch_acquiring_store<Store>) {
            std::vector<term_request> requests;
            for (const std::string& name : names) requests.push_back({name, closed, ttl, wakes_nobody});
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

    struct closed_permit {
        std::size_t number;
        fencing_token token;
    };

    // Returns the closed permits among these.
    std::vector<closed_permit> closed_among(std::size_t first, std::size_t end, std::error_code& ec)
    {
        std::vector<closed_permit> all;
        const auto look_at = [&all](std::size_t number, const lease_record& record) {
            if (record.owner == closed) all.push_back({number, record.token});
        };
        if constexpr (listing_store<Store>) {
            for (const lease_record& record : this->underlying().list(prefix_, ec)) {
                const std::optional<std::size_t> number = names_.number_of(record.name);
                if (number && *number >= first && *number < end) look_at(*number, record);
            }
        } else {
            for (std::size_t i = first; i < end && !ec; ++i)
                if (const auto record = this->underlying().inspect(names_.of_permit(i), ec); record && !ec) look_at(i, *record);
        }
        return all;
    }

    // Permits that were closed are open again, if they still are permits: a change that was begun later may have closed them. So it looks
    // at the record when it has their tokens. A change that is begun after that look closes them with newer ones, and they stay closed.
    void reopen(std::size_t first, std::size_t end, duration ttl, std::error_code& ec)
    {
        for (int attempt = 0; attempt < most_attempts; ++attempt) {
            const agreed_count now = agreed();  // before they are read: another thread may follow a change meanwhile
            end = std::min(end, now.count);
            const std::vector<closed_permit> all = first < end ? closed_among(first, end, ec) : std::vector<closed_permit>{};
            if (ec || all.empty()) return;
            if (is_agreed(now, ec)) {
                for (std::size_t i = 0; i < all.size() && !ec; ++i)
                    this->underlying().release(names_.of_permit(all[i].number), closed, all[i].token, duration::zero(), ec);
                return;
            }
            if (ec || !write_record(ttl, ec)) return;
        }
        ec = errc::store_conflict;
    }

    // Whether the record says this count, and nobody has begun to change it.
    bool is_agreed(const agreed_count& now, std::error_code& ec)
    {
        const found_counts found = look(ec);
        return !ec && found.of_record && *found.of_record == now && !found.note_ahead();
    }

    // The numbers of the surplus permits that this process has not closed.
    std::vector<std::size_t> not_closed(const agreed_count& now)
    {
        std::vector<std::size_t> numbers;
        const std::lock_guard lock{mutex_};
        const time_point at = clock_.now();
        for (std::size_t i = now.count; i < now.was; ++i)
            if (!(own_ == now) || i >= closed_until_.size() || closed_until_[i] <= at) numbers.push_back(i);
        return numbers;
    }

    struct closing {
        bool all = false;  // there was no error, and none is still held
        bool some = false;
    };

    closing close(const agreed_count& now, const std::vector<std::size_t>& numbers, duration ttl, bool whole, std::error_code& ec)
    {
        const time_point sent = clock_.now();
        const std::vector<fencing_token> tokens = try_closing(numbers, ttl, whole, ec);
        const std::lock_guard lock{mutex_};
        if (own_ == now) closed_until_.resize(now.was, time_point::min());
        for (std::size_t i = 0; i < numbers.size() && own_ == now; ++i)
            if (tokens[i] != fencing_token{}) closed_until_[numbers[i]] = sent + ttl / 2;
        const auto open = std::ranges::count(tokens, fencing_token{});
        return {!ec && open == 0, open < std::ssize(tokens)};
    }

    void settle(duration ttl, bool whole, std::error_code& ec)
    {
        const agreed_count now = agreed();
        if (!now.changing()) return;
        const found_counts found = look(ec);
        if (ec) return;
        if (!found.of_record || !(*found.of_record == now) || found.note_ahead()) return static_cast<void>(write_record(ttl, ec));
        // A process that agreed on an older count wrote a record that ends no later than this one does, and grants nothing after that.
        const duration known = found.record->remaining;
        const std::vector<std::size_t> open = not_closed(now);
        closing closed_now = close(now, open, known, whole, ec);
        // All of them again, so that they stay closed beyond the change of the record.
        if (closed_now.all && open.size() < now.was - now.count)
            closed_now = close(now, numbers_from(now.count, now.was), known, whole, ec);
        if (closed_now.all && change_record(found, now.settled(), ttl, ec)) return follow(now, now.settled());
        if (!closed_now.all && !closed_now.some) return;
        // Another process has made the change final, or has begun another: then some of the permits just closed may count again. So they
        // may if the call that closed them has failed.
        std::error_code failed;
        if (write_record(ttl, failed) && count() > now.count) reopen(now.count, now.was, ttl, failed);
        if (!ec) ec = failed;
    }

    // The largest numbers of permits and changes that the attempts of one resize() have seen. They hold, whatever is found later.
    struct seen_counts {
        std::size_t limit = 0;
        std::size_t change = 0;
        int ahead = 0;  // attempts that found a change begun
    };

    // One attempt to make the record say another count. False: it has changed meanwhile, or there is an error.
    bool try_resize(std::size_t to, duration ttl, seen_counts& seen, std::error_code& ec)
    {
        const agreed_count own = agreed();
        const found_counts found = look(ec);
        if (ec) return false;
        if (found.note && !found.of_note) {
            refuse("'" + printable(note_name_) + "' notes a change of the count, but a lease of that name is held by '" +
                       printable(found.note->owner) + "'. Give one of the two another name", ec);
            return false;
        }
        if (found.note_ahead()) {
            if (++seen.ahead > patience) carry_out(found, ttl, ec);
            return false;
        }
        const agreed_count from = found.of_record.value_or(own);
        seen.limit = std::max({seen.limit, own.limit(), from.limit(), found.record ? 0 : end_of_held(ec)});
        seen.change = std::max({seen.change, own.change, from.change});
        if (ec) return false;
        if (found.record && from.count == to && from.change == seen.change) {
            follow(own, from);
            if (from.change > 0) reopen(0, to, ttl, ec);  // the writer of that count may have failed before it opened them
            return true;
        }
        const agreed_count wanted = agreed_count{from.count, seen.limit, seen.change}.resized(to, seen.change + 1);
        if (!change_record(found, wanted, ttl, ec)) return false;
        follow(own, wanted);
        if (from.change > 0 && to > from.count) reopen(from.count, to, ttl, ec);
        return true;
    }

    // What the store says of the count.
    struct found_counts {
        std::optional<lease_record> record, note;
        std::optional<agreed_count> of_record, of_note;

        // Somebody has begun a change that the record doesn't have.
        [[nodiscard]] bool note_ahead() const noexcept
        {
            return of_note && (!of_record || of_record->change < of_note->change);
        }
    };

    found_counts look(std::error_code& ec)
    {
        found_counts found;
        found.record = this->underlying().inspect(names_.name, ec);
        if (!ec) look_at_counts(found, ec);
        return found;
    }

    // What the record says, and then the note. False: there is an error.
    bool look_at_counts(found_counts& found, std::error_code& ec)
    {
        if (found.record) found.of_record = agreed_count::of(found.record->owner, names_.unit);
        if (found.record && !found.of_record)
            refuse(disagreement_with(*found.record), ec, found.record->is_hold() ? errc::held_closed : errc::invalid_terms);
        if (!ec && !note_name_.empty()) found.note = this->underlying().inspect(note_name_, ec);
        if (found.note) found.of_note = agreed_count::of(found.note->owner, names_.unit);
        return !ec;
    }

    // Carries out the change that the note says. If the record allows more than that change knows of, a process that missed an earlier
    // change has written the record, and may hold what it allows.
    void carry_out(const found_counts& found, duration ttl, std::error_code& ec)
    {
        const agreed_count& noted = *found.of_note;
        const bool knew_too_little = found.of_record && found.of_record->count > noted.limit();
        static_cast<void>(change_record(found, knew_too_little ? restored(noted, *found.of_record) : noted, ttl, ec));
    }

    // The record says `to` from now on, and lasts at least as long as it would have. False: somebody else has changed something, or there
    // is an error.
    bool change_record(const found_counts& found, const agreed_count& to, duration ttl, std::error_code& ec)
    {
        const duration lasts = std::max(count_machine::record_ttl(ttl), found.record ? found.record->remaining : duration{});
        const time_point noted = clock_.now();
        if (!write_note(found, to, lasts + ttl, ec)) return false;
        if (!found.record) return write(to, lasts, ec).granted() && !ec;
        // The record gets a new token. From now on only a process that has seen the note can extend it.
        const std::string& owner = found.record->owner;
        const acquire_result ours = try_one({names_.name, owner, ttl, wakes_nobody}, ec);
        if (ec || !ours.granted()) return false;
        const std::optional<lease_record> record = this->underlying().inspect(names_.name, ec);
        if (ec || !record || record->token != ours.token) return false;
        // It was made to last longer meanwhile. Half a ttl is for clocks that differ.
        if (record->remaining + (clock_.now() - noted) > lasts + ttl / 2) return false;
        if (!this->underlying().release(names_.name, owner, ours.token, duration::zero(), ec) || ec) return false;
        return write(to, std::max(lasts, record->remaining), ec).granted() && !ec;
    }

    // In place of the note that was found, which the record has caught up with, or which is part of the new one.
    bool write_note(const found_counts& found, const agreed_count& to, duration ttl, std::error_code& ec)
    {
        if (found.of_note && !(*found.of_note == to)) {
            const std::string before = found.of_note->text(names_.unit);
            const acquire_result ours = try_one({note_name_, before, ttl, wakes_nobody}, ec);
            if (ec || !ours.granted()) return false;
            if (!this->underlying().release(note_name_, before, ours.token, duration::zero(), ec) || ec) return false;
        }
        const std::string owner = to.text(names_.unit);
        return try_one({note_name_, owner, ttl, wakes_nobody}, ec).granted() && !ec;
    }

    acquire_result write(const agreed_count& count, duration ttl, std::error_code& ec)
    {
        const std::string owner = count.text(names_.unit);
        return try_one({names_.name, owner, ttl, wakes_nobody}, ec);
    }

    // This process agrees on that count now, unless another thread has followed a change meanwhile. It grants nothing before it knows how
    // long the record lasts.
    void follow(const agreed_count& own, const agreed_count& count)
    {
        const std::lock_guard lock{mutex_};
        if (!(own_ == own)) return;
        agreed_ = true;
        if (own_ == count) return;
        own_ = count;
        count_.store(count.count);
        token_ = {};
        machine_ = {};
        closed_until_.clear();
    }

    acquire_result try_one(const term_request& request, std::error_code& ec) { return attempt_one(this->underlying(), request, ec); }

    template <class Items>
    static duration longest(const Items& items) noexcept
    {
        duration most{};
        for (const auto& item : items) most = std::max(most, item.ttl);
        return most;
    }

    // What to say of that record.
    [[nodiscard]] std::string disagreement_with(const lease_record& other) const
    {
        const std::string here = "'" + printable(names_.name) + "' has " + std::to_string(count()) + " " + std::string{names_.unit} +
                                 " here, but ";
        if (other.is_hold())
            return here + "that name is " + words_of_hold(other) + ": open it with unhold() first";
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

    // Like agree(), for a renewal, which has no time to lose: while the record lasts long enough, it takes two statements at most, leaves
    // it to others to carry out a change that has been begun, and ignores a failure.
    bool outlasts_renewal(duration ttl, std::error_code& ec)
    {
        const agreed_count own = agreed();
        if (!due(ttl)) return true;
        if (known_token(own) != fencing_token{}) {
            if (extend(own, ttl, ec)) return true;
            if (lasts(ttl)) {
                ec.clear();
                return true;
            }
            if (ec) return false;
        }
        const time_point sent = clock_.now();
        const found_counts found = look(ec);
        if (ec) return false;
        if (found.of_record && !found.note_ahead() && !agree_on(own, found, sent, ttl, ec)) return false;
        return (found.of_record && sent + found.record->remaining >= clock_.now() + ttl) || agree(ttl, ec);
    }

    [[nodiscard]] bool due(duration ttl) const
    {
        const std::lock_guard lock{mutex_};
        return machine_.due(clock_.now(), ttl);
    }

    // True if a term that ends `ttl` from now ends before the record does.
    [[nodiscard]] bool lasts(duration ttl) const
    {
        const std::lock_guard lock{mutex_};
        return machine_.lasts(clock_.now() + ttl);
    }

    // False: there is an error, or the name is held closed, so that everything is busy.
    bool write_record(duration ttl, std::error_code& ec)
    {
        ec.clear();
        for (int attempt = 0; attempt < most_attempts; ++attempt) {
            const agreed_count own = agreed();
            if (extend(own, ttl, ec)) return true;
            if (ec || !catch_up(own, ttl, attempt >= patience, ec)) return false;
            if (!due(ttl)) return true;
        }
        ec = errc::store_conflict;
        return false;
    }

    // Makes the record last longer, if it still is the one that this process has seen last: one statement, which outdates no other's look.
    bool extend(const agreed_count& own, duration ttl, std::error_code& ec)
    {
        const fencing_token token = known_token(own);
        if (token == fencing_token{}) return false;
        const time_point sent = clock_.now();
        const duration lasts = count_machine::record_ttl(ttl);
        const bool extended = this->underlying().renew(names_.name, own.text(names_.unit), token, lasts, ec);
        if (!ec) know(own, extended ? token : fencing_token{}, sent, lasts);
        return extended && !ec;
    }

    // Looks at the record, or writes it if there is none; and then at the note. False: there is an error, or the name is held closed.
    bool catch_up(const agreed_count& own, duration ttl, bool carries_out, std::error_code& ec)
    {
        const time_point sent = clock_.now();
        found_counts found;
        found.record = this->underlying().inspect(names_.name, ec);
        if (ec || (found.record && found.record->is_hold())) return false;
        const bool first = !found.record;
        if (first && !write_first(own, ttl, found.record, ec)) return !ec;
        if (!look_at_counts(found, ec)) return false;
        if (!found.note_ahead()) return agree_on(own, found, sent, ttl, ec);
        if (verdict_on(own, *found.of_note, sent) == count_verdict::refuse) {
            // It leaves the change alone, but takes back the record that it has just written.
            if (first) this->underlying().release(names_.name, found.record->owner, found.record->token, duration::zero(), ec);
            if (!ec) refuse(disagreement_with(*found.note), ec);
        } else if (carries_out) {
            carry_out(found, ttl, ec);
        }
        return !ec;
    }

    [[nodiscard]] count_verdict verdict_on(const agreed_count& own, const agreed_count& found, time_point now) const
    {
        const std::lock_guard lock{mutex_};
        // If another thread has followed a change meanwhile, this one looks again.
        if (!(own_ == own) || own == found) return count_verdict::follow;
        return judge({own, agreed_, machine_.lasts(now), follows_, names_.count}, found);
    }

    // False: somebody else has written it meanwhile, or there is an error.
    bool write_first(const agreed_count& own, duration ttl, std::optional<lease_record>& record, std::error_code& ec)
    {
        const duration lasts = count_machine::record_ttl(ttl);
        const acquire_result answer = write(own, lasts, ec);
        if (ec == errc::invalid_terms) {
            const std::lock_guard lock{mutex_};
            disagreement_.clear();
        }
        if (answer.granted() && !ec)
            record = lease_record{.name = names_.name, .owner = own.text(names_.unit), .token = answer.token, .remaining = lasts};
        return record.has_value();
    }

    // False: there is an error.
    bool agree_on(const agreed_count& own, const found_counts& found, time_point sent, duration ttl, std::error_code& ec)
    {
        const count_verdict verdict = verdict_on(own, *found.of_record, sent);
        if (verdict == count_verdict::follow) {
            follow(own, *found.of_record);
            // No longer than this process would have written it: the database's clock may be behind for now, and be set right.
            know(*found.of_record, found.record->token, sent, std::min(found.record->remaining, count_machine::record_ttl(ttl)));
        } else if (verdict == count_verdict::refuse) {
            refuse(disagreement_with(*found.record), ec);
        } else if (const agreed_count again = restored(own, *found.of_record); change_record(found, again, ttl, ec)) {
            follow(own, again);
        }
        return !ec;
    }

    // 0: the record has to be looked at first.
    [[nodiscard]] fencing_token known_token(const agreed_count& own) const
    {
        const std::lock_guard lock{mutex_};
        return own_ == own ? token_ : fencing_token{};
    }

    // An answer says that the record of that count has this token, and lasts this long from `sent` on.
    void know(const agreed_count& count, fencing_token token, time_point sent, duration lasts)
    {
        const std::lock_guard lock{mutex_};
        if (!(own_ == count)) return;  // another thread has followed a change meanwhile
        token_ = token;
        if (token != fencing_token{}) machine_.lasts_for(sent, lasts);
    }

    static constexpr int most_attempts = 6;
    static constexpr int patience = 2;  // attempts that leave a change to the process that has begun it

    const Clock clock_;
    const permit_names names_;
    const std::string prefix_;
    const std::string note_name_;  // of the note of a change; empty: the count never changes
    const std::string woken_together_;
    const bool follows_;
    mutable std::mutex mutex_;  // guards what follows; never held across I/O
    count_machine machine_;
    agreed_count own_;
    bool agreed_ = false;
    fencing_token token_;                      // of the record, when it was looked at
    std::vector<time_point> closed_until_;     // by number: until when this process need not close a permit again
    time_point looks_at_ = time_point::min();  // when to look whether the count has grown
    std::string disagreement_;
    std::atomic<std::size_t> count_;  // own_.count, for a look without the mutex
};

}  // namespace leasehold::inline v0::detail

#endif
