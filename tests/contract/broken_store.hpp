// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_BROKEN_STORE_HPP
#define LEASEHOLD_TESTS_CONTRACT_BROKEN_STORE_HPP

#include <contract/broken_store_defects.hpp>
#include <contract/broken_store_queue.hpp>

#include <leasehold/leasehold.hpp>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace leasehold_test {

namespace lh = leasehold;

// A store written as plainly as possible, one mutex, right but for the defect in force.
class broken_store {
public:
    explicit broken_store(lh::manual_clock clock) : clock_{std::move(clock)} {}

    lh::acquire_result try_acquire(std::string_view name, std::string_view owner, lh::duration ttl, std::error_code& ec)
    {
        if (failing(ec)) {
            if (is(defect::outage_reported_as_busy)) ec.clear();
            return {};
        }
        std::unique_lock lock{mutex_, std::defer_lock};
        if (!is(defect::failure_reported_as_busy))
            lock.lock();
        else if (!lock.try_lock())
            return {};  // a conflict with another's statement, say
        else
            std::this_thread::sleep_for(std::chrono::microseconds{200});
        row& r = rows_[key(name)];
        const lh::time_point now = clock_.now();
        const bool waited_for = queue_.any(name);
        const bool unexpired = live(r, now) && !(waited_for && lets_waiters_in(r, now));
        if (!unexpired && is(defect::ended_wait_keeps_the_name_reserved) && queue_.any_ended(name)) return {};
        const bool mine = same_owner(r.owner, owner) ||
                          (is(defect::keep_closed_lets_the_same_owner_in) && r.closed && same_owner(r.closed_by, owner));
        if (unexpired && !mine) {
            if (is(defect::busy_attempt_writes)) r.ends = std::max(r.ends, now + ttl);
            if (is(defect::busy_reported_as_timeout)) ec = lh::errc::store_timeout;
            if (is(defect::waiters_are_shown_as_holders) && waited_for) r.waiter = owner;
            return {lh::acquire_status::busy, lh::fencing_token{r.token + is(defect::busy_token_wrong)},
                    waited_for ? told_to_waiters(r.ends - now) : r.ends - now};
        }
        const bool first = r.token == 0;
        if ((first && is(defect::grant_not_atomic)) || (!first && !unexpired && is(defect::take_over_not_atomic)))
            pause(lock);
        const bool again = unexpired && !(is(defect::keep_closed_lets_the_same_owner_in) && r.closed);
        if (again) {
            r.token += !is(defect::token_kept_for_the_same_owner);
            r.data.clear();
            r.request.reset();
            if (!is(defect::repeated_attempt_keeps_the_old_end))
                r.ends = is(defect::repeated_attempt_shortens) ? now + ttl : std::max(r.ends, now + ttl);
        } else {
            const bool keep =
                (is(defect::token_reused_after_release) && r.released) ||
                (is(defect::token_reused_after_forced_release) && r.forced) ||
                (is(defect::token_kept_for_the_same_owner_after_expiry) && !r.released && same_owner(r.owner, owner));
            if (!keep || r.token == 0) ++r.token;
            r = {.name = std::string{name}, .owner = std::string{owner}, .token = r.token, .ends = now + ttl, .since = now};
        }
        return {lh::acquire_status::granted, lh::fencing_token{r.token}, {}};
    }

    bool renew(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration ttl, std::error_code& ec)
    {
        if (failing(ec)) return {};
        const std::lock_guard lock{mutex_};
        const lh::time_point now = clock_.now();
        row* r = find(name);
        if (!r && is(defect::renewal_creates))
            r = &(rows_[key(name)] = {
                      .name = std::string{name}, .owner = std::string{owner}, .token = token.value(), .ends = now + ttl});
        if (!r || r->released || (r->token != token.value() && !is(defect::renewal_ignores_the_token)) ||
            (!same_owner(r->owner, owner) && !is(defect::renewal_ignores_the_owner)) ||
            (!live(*r, now) && !is(defect::renewal_ignores_expiry)))
            return false;
        if (!is(defect::renewal_does_not_extend))
            r->ends = is(defect::renewal_shortens) ? now + ttl : std::max(r->ends, now + ttl);
        r->token += is(defect::token_changed_by_a_renewal);
        if (is(defect::renewal_wakes)) queue_.wake(name);
        return true;
    }

    bool release(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration min_hold_left,
                 std::error_code& ec)
    {
        if (failing(ec)) return {};
        std::unique_lock lock{mutex_};
        const lh::time_point now = clock_.now();
        row* r = find(name);
        const bool ours = r && (r->token == token.value() || is(defect::release_ignores_the_token)) &&
                          (same_owner(r->owner, owner) || is(defect::release_ignores_the_owner)) &&
                          (live(*r, now) || is(defect::release_ignores_expiry)) && !r->released;
        if (!ours) return is(defect::release_always_true);
        if (is(defect::every_tenth_release_is_forgotten) && ++releases_ % 10 == 0) return true;
        if (is(defect::release_in_the_instant_of_the_grant_is_forgotten) && r->since == now) return true;
        if (is(defect::release_then_reset_not_atomic)) {
            r->ends = now;
            pause(lock);
        }
        if (is(defect::release_after_a_checkpoint_is_forgotten) && saved_under(*r)) return true;
        if (is(defect::checkpoint_ends_with_a_term_that_was_asked) && r->request) saved_.erase(key(name));
        r->closed_by = r->owner;
        r->data.clear();
        r->request.reset();
        if (!is(defect::keep_closed_shows_the_owner)) r->owner.clear();
        r->released = true;
        r->closed = min_hold_left > lh::duration::zero();
        const lh::time_point until = is(defect::keep_closed_ignored) ? now : now + min_hold_left;
        r->ends = is(defect::keep_closed_never_shorter_than_the_term) && r->closed ? std::max(until, r->ends) : until;
        if (r->ends <= now) queue_.wake(name);
        return true;
    }

    [[nodiscard]] std::size_t batch_size() const noexcept { return 100; }

    void renew_many(std::span<const lh::term_renewal> renewals, std::span<lh::batch_answer> answers, lh::duration,
                    std::error_code& ec)
    {
        const auto one = [&](const lh::term_renewal& each, lh::fencing_token token) {
            return renew(each.name, each.owner, token, is(defect::batch_has_the_first_ttl) ? renewals[0].ttl : each.ttl, ec);
        };
        for_each_of(renewals, answers, ec, one);
    }

    void release_many(std::span<const lh::term_release> releases, std::span<lh::batch_answer> answers, std::error_code& ec)
    {
        const auto one = [&](const lh::term_release& each, lh::fencing_token token) {
            const bool before = is(defect::batch_of_releases_repeats_yes) &&
                                std::ranges::any_of(std::span{releases.data(), &each}, [&](const lh::term_release& other) {
                                    return other.name == each.name && other.token == each.token;
                                });
            return release(each.name, each.owner, token,
                           is(defect::batch_of_releases_keeps_nothing_closed) ? lh::duration{} : each.min_hold_left, ec) || before;
        };
        const auto held_by_owner = [&](const lh::term_release& each) {
            const auto record = inspect(each.name, ec);
            return record && record->owner == each.owner;
        };
        if (is(defect::batch_of_releases_is_all_or_nothing) && !std::ranges::all_of(releases, held_by_owner)) {
            std::ranges::fill(answers, lh::batch_answer::no);
            return;
        }
        for_each_of(releases, answers, ec, one);
    }

    std::optional<lh::lease_record> inspect(std::string_view name, std::error_code& ec)
    {
        if (failing(ec)) return {};
        std::unique_lock lock{mutex_};
        const row* r = find(name);
        const std::string owner_before = r ? r->owner : "";
        if (is(defect::inspect_not_atomic)) pause(lock);
        const lh::time_point now = clock_.now();
        if (!r || (!live(*r, now) && !(is(defect::inspect_shows_what_expired) && !r->released))) return std::nullopt;
        lh::lease_record shown = record(*r, now);
        if (is(defect::inspect_not_atomic)) shown.owner = owner_before;
        return shown;
    }

    bool save_checkpoint(std::string_view name, std::string_view owner, lh::fencing_token token, std::string_view text, std::error_code& ec,
                         bool any_term = false)
    {
        if (failing(ec)) return {};
        if (!is(defect::checkpoint_takes_any_text)) ec = lh::detail::refusal_of_checkpoint(text);
        if (ec) return false;
        const std::lock_guard lock{mutex_};
        row* r = find(name);
        if (!r && is(defect::checkpoint_creates)) r = &(rows_[key(name)] = row{std::string{name}, {}});
        const lh::time_point now = clock_.now();
        if (!r) return false;
        const bool ours = (r->token == token.value() || is(defect::checkpoint_ignores_the_token) || any_term) &&
                          (same_owner(r->owner, owner) || is(defect::checkpoint_ignores_the_owner) || any_term) &&
                          (live(*r, now) || is(defect::checkpoint_ignores_expiry) || any_term) && (!r->released || any_term);
        if (ours && is(defect::checkpoint_extends)) r->ends += std::chrono::seconds{1};
        if (ours || is(defect::checkpoint_creates) || is(defect::checkpoint_of_a_term_that_is_over_is_saved)) {
            lh::checkpoint_record& kept = saved_[is(defect::checkpoint_of_another_name) ? std::string{} : key(name)];
            kept.text = text.substr(0, is(defect::checkpoint_is_cut_at_1024_bytes) ? 1024 : text.size());
            if (is(defect::checkpoint_loses_its_second_line)) kept.text = without_second_line(kept.text);
            kept.token = token;
        }
        return ours;
    }

    bool replace_checkpoint(std::string_view name, std::string_view owner, lh::fencing_token token, std::string_view replaced,
                            std::string_view text, std::error_code& ec)
    {
        const std::optional<lh::checkpoint_record> there = checkpoint(name, ec);
        if (ec) return false;
        const bool same = there ? there->text == replaced || (there->text == text && there->token == token)
                                : replaced.empty() && !is(defect::checkpoint_replaces_none);
        if (same && is(defect::replacement_is_not_kept)) return true;
        return (same || is(defect::checkpoint_replaces_any)) &&
               save_checkpoint(name, owner, token, text, ec, is(defect::replacement_ignores_the_term));
    }

    std::optional<lh::checkpoint_record> checkpoint(std::string_view name, std::error_code& ec)
    {
        if (failing(ec)) return {};
        const std::lock_guard lock{mutex_};
        const row* r = find(name);
        const auto found = saved_.find(is(defect::checkpoint_of_another_name) ? "" : key(name));
        if (found == saved_.end() || (is(defect::empty_checkpoint_is_none) && found->second.text.empty())) return std::nullopt;
        if (r && is(defect::checkpoint_ends_with_the_term) && !live(*r, clock_.now())) return std::nullopt;
        if (r && ((is(defect::checkpoint_ends_with_a_release) && r->released && !r->forced) ||
                  (is(defect::checkpoint_ends_with_a_forced_release) && r->forced)))
            return std::nullopt;
        lh::checkpoint_record shown = found->second;
        if (r && is(defect::checkpoint_has_the_token_of_now)) shown.token = lh::fencing_token{r->token};
        return shown;
    }

    lh::checkpoint_look look_at_checkpoint(std::string_view name, std::error_code& ec)
    {
        lh::checkpoint_look seen{.saved = checkpoint(name, ec)};
        if (!ec) seen.now = now(ec);
        if (ec) return {};
        const std::lock_guard lock{mutex_};
        if (is(defect::time_of_a_look_stands_still)) seen.now = *begun_;
        if (const row* r = find(name)) {
            seen.latest = lh::fencing_token{r->token};
            seen.open = !r->released;
        }
        return seen;
    }

    lh::store_time now(std::error_code& ec)
    {
        if (failing(ec)) return {};
        using std::chrono::floor;
        using std::chrono::microseconds;
        const lh::store_time begin = floor<microseconds>(std::chrono::system_clock::now());
        const lh::store_time first = begun_.value_or(begin);
        begun_ = first;
        if (is(defect::store_clock_is_local)) return begin + std::chrono::hours{9};
        return first + (is(defect::store_clock_stands_still) ? microseconds{} : floor<microseconds>(clock_.now() - made_));
    }

    bool publish(std::string_view name, std::string_view owner, lh::fencing_token token, std::string_view data, std::error_code& ec)
    {
        if (failing(ec) || (ec = lh::detail::refusal_of_data(data))) return false;
        const std::lock_guard lock{mutex_};
        row* const r = find_term(name, owner, token);
        if (r) r->data = data;
        return r != nullptr;
    }

    bool request_handover(std::string_view name, std::string_view reason, std::error_code& ec)
    {
        if (failing(ec) || (ec = lh::detail::refusal_of_data(reason))) return false;
        const std::lock_guard lock{mutex_};
        row* const r = find(name);
        if (!r || r->released || !live(*r, clock_.now())) return false;
        r->request = reason;
        return true;
    }

    std::optional<std::string> handover_requested(std::string_view name, std::string_view owner, lh::fencing_token token,
                                                  std::error_code& ec)
    {
        if (failing(ec)) return {};
        const std::lock_guard lock{mutex_};
        const row* const r = find_term(name, owner, token);
        return r ? r->request : std::nullopt;
    }

    std::vector<lh::lease_record> list(std::string_view prefix, std::error_code& ec)
    {
        ec.clear();
        const std::lock_guard lock{mutex_};
        const lh::time_point now = clock_.now();
        std::vector<lh::lease_record> records;
        for (const auto& [key, r] : rows_) {
            const bool released = r.released && is(defect::list_shows_released_terms);
            if (!(live(r, now) || is(defect::list_shows_what_is_free) || released) || !begins(r.name, prefix)) continue;
            records.push_back(record(r, now));
            if (released) records.back().owner = r.closed_by;
            if (is(defect::list_shows_no_requests)) records.back().handover_request.reset();
        }
        if (is(defect::list_not_sorted)) std::ranges::reverse(records);
        return records;
    }
    std::vector<lh::lease_record> list(std::string_view prefix = {})
    {
        std::error_code ec;
        return list(prefix, ec);
    }

    bool force_release(std::string_view name, std::error_code& ec)
    {
        ec.clear();
        if (name.empty()) {
            ec = lh::errc::invalid_name;
            return false;
        }
        const std::lock_guard lock{mutex_};
        row* r = find(name);
        if (!r || !live(*r, clock_.now())) return false;
        if (is(defect::forced_release_does_nothing)) return true;
        if (is(defect::forced_release_forgets)) {
            rows_.erase(key(name));
            return true;
        }
        r->owner.clear();
        r->data.clear();
        r->request.reset();
        r->released = !is(defect::token_reused_after_forced_release);
        r->forced = true;
        r->ends = clock_.now();
        queue_.wake(name);
        return true;
    }
    bool force_release(std::string_view name)
    {
        lh::validate_name(name);
        std::error_code ec;
        return force_release(name, ec);
    }

    [[nodiscard]] broken_store_queue::ticket enqueue(std::string_view name, lh::waker& to_wake) { return {queue_, name, to_wake}; }

    lh::acquire_result try_acquire(broken_store_queue::ticket& ticket, std::string_view owner, lh::duration ttl, std::error_code& ec)
    {
        lh::acquire_result result = try_acquire(ticket.name(), owner, ttl, ec);
        ticket.was_busy();
        result.retry_after = result.remaining > lh::duration::zero() ? result.remaining : lh::duration{std::chrono::seconds{5}};
        return result;
    }

    lh::turn_answer turn(const broken_store_queue::ticket& ticket, std::error_code& ec)
    {
        ec.clear();
        return queue_.turn(ticket);
    }

    // What happens to a store.

    void erase(std::string_view name)
    {
        const std::lock_guard lock{mutex_};
        if (is(defect::deleted_name_stays_busy))
            rows_[key(name)].ends = lh::time_point::max();
        else
            rows_.erase(key(name));
    }

    void set_outage(bool outage) { outage_ = outage; }

private:
    struct row {
        std::string name;
        std::string owner;
        std::int64_t token = 0;
        lh::time_point ends = lh::time_point::min();
        lh::time_point since{};
        std::string waiter{};
        std::string closed_by{};
        std::string data{};
        std::optional<std::string> request{};
        bool released = false;
        bool forced = false;
        bool closed = false;
    };

    template <class Item, class One>
    void for_each_of(std::span<const Item> items, std::span<lh::batch_answer> answers, std::error_code& ec, One one)
    {
        ec.clear();
        for (std::size_t i = 0; i < items.size(); ++i) {
            bool yes = is(defect::batch_forgets_its_seventeenth) && i == 16;
            if (!yes) yes = one(items[i], items[i].token);
            if (!yes && is(defect::batch_takes_any_of_its_tokens))
                for (const Item& other : items) yes = yes || one(items[i], other.token);
            if (ec) return;
            if (is(defect::batch_is_answered_with_yes)) yes = true;
            answers[i] = yes ? lh::batch_answer::yes : lh::batch_answer::no;
            if (is(defect::batch_is_answered_by_its_first)) answers[i] = answers[0];
            if (!is(defect::batch_ends_at_the_first_no) || yes) continue;
            std::ranges::fill(answers.subspan(i), lh::batch_answer::no);
            return;
        }
    }

    bool failing(std::error_code& ec) const
    {
        if (!is(defect::error_code_not_cleared)) ec.clear();
        if (outage_) ec = lh::errc::store_unavailable;
        return outage_;
    }

    static bool lets_waiters_in(const row& r, lh::time_point now)
    {
        return is(defect::waiters_get_what_is_held) || (is(defect::closed_name_is_free_to_waiters) && r.closed) ||
               (is(defect::waiters_are_let_in_early) && r.ends - now <= std::chrono::seconds{1});
    }

    static lh::duration told_to_waiters(lh::duration remaining)
    {
        if (is(defect::waiters_are_told_too_long)) return remaining + std::chrono::hours{1};
        if (is(defect::waiters_are_told_next_to_nothing)) return std::chrono::nanoseconds{1};
        if (is(defect::waiters_are_let_in_early)) return remaining - std::chrono::seconds{1};
        return remaining;
    }

    // What a statement between a look and a write is: time for others.
    static void pause(std::unique_lock<std::mutex>& lock)
    {
        lock.unlock();
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        lock.lock();
    }

    static bool live(const row& r, lh::time_point now)
    {
        if (is(defect::never_expires)) return r.token != 0 && !(r.released && r.ends <= now) && !r.forced;
        if (is(defect::expired_a_little_early) && r.ends != lh::time_point::min())
            return r.ends - std::chrono::seconds{1} > now;
        return r.ends > now;
    }

    static std::string lower(std::string text)
    {
        std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return text;
    }

    static std::string trimmed(std::string text)
    {
        while (text.ends_with(' ')) text.pop_back();
        return text;
    }

    static std::string without_digits(std::string text)
    {
        std::erase_if(text, [](unsigned char c) { return std::isdigit(c) != 0; });
        return text;
    }

    static std::string key(std::string_view name)
    {
        std::string text{name};
        if (is(defect::names_ignore_case)) return lower(text);
        if (is(defect::names_ignore_trailing_spaces)) return trimmed(text);
        if (is(defect::names_cut_at_180_bytes)) return text.substr(0, 180);
        return text;
    }

    static bool same_owner(const std::string& a, std::string_view b)
    {
        if (is(defect::owners_ignore_case)) return lower(a) == lower(std::string{b});
        if (is(defect::owners_ignore_trailing_spaces)) return trimmed(a) == trimmed(std::string{b});
        if (is(defect::owners_ignore_digits)) return without_digits(a) == without_digits(std::string{b});
        return a == b;
    }

    // As LIKE would have it.
    static bool begins(std::string_view name, std::string_view prefix)
    {
        if (!is(defect::list_takes_prefixes_as_patterns)) return name.starts_with(prefix);
        if (prefix.empty()) return true;
        if (prefix.front() == '%')
            return begins(name, prefix.substr(1)) || (!name.empty() && begins(name.substr(1), prefix));
        return !name.empty() && (prefix.front() == '_' || prefix.front() == name.front()) &&
               begins(name.substr(1), prefix.substr(1));
    }

    row* find(std::string_view name)
    {
        const auto found = rows_.find(key(name));
        return found == rows_.end() ? nullptr : &found->second;
    }

    // Null: it is over.
    row* find_term(std::string_view name, std::string_view owner, lh::fencing_token token)
    {
        row* const r = find(name);
        const bool ours = r && r->token == token.value() && same_owner(r->owner, owner) && live(*r, clock_.now()) && !r->released;
        return ours ? r : nullptr;
    }

    bool saved_under(const row& r) const
    {
        const auto found = saved_.find(key(r.name));
        return found != saved_.end() && found->second.token.value() == r.token;
    }

    static std::string without_second_line(std::string text)
    {
        const std::size_t begin = text.find('\n');
        const std::size_t end = begin == std::string::npos ? begin : text.find('\n', begin + 1);
        return end == std::string::npos ? text : text.erase(begin, end - begin);
    }

    static lh::lease_record record(const row& r, lh::time_point now)
    {
        return {.name = r.name,
                .owner = r.waiter.empty() ? r.owner : r.waiter,
                .token = lh::fencing_token{r.token},
                .remaining = r.ends - now,
                .data = r.data,
                .handover_request = r.request};
    }

    lh::manual_clock clock_;
    const lh::time_point made_ = clock_.now();
    std::optional<lh::store_time> begun_;
    std::mutex mutex_;
    std::map<std::string, row> rows_;
    std::map<std::string, lh::checkpoint_record> saved_;
    broken_store_queue queue_;
    std::atomic<bool> outage_ = false;
    int releases_ = 0;
};

}  // namespace leasehold_test

#endif
