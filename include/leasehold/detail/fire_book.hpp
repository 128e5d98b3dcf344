// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_FIRE_BOOK_HPP
#define LEASEHOLD_DETAIL_FIRE_BOOK_HPP

#include <leasehold/checkpoint_record.hpp>
#include <leasehold/clock/concept.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/checkpoint_since.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/detail/recurring_machine.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/fire_record.hpp>
#include <leasehold/recurring_options.hpp>
#include <leasehold/schedule/concept.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::detail {

// What a recurring and its runs remember of the store's clock and of the name's record, and how they read and write it.
//
// The remembered record is the store's as long as no term came after the one up to which it is known. So a run that is granted the next
// token need not read it again.
template <class Store, class Clock>
class fire_book {
public:
    fire_book(Store& store, std::string name, std::string owner, std::string schedule_text, Clock clock, recurring_options options)
        : store_{store}, name_{std::move(name)}, owner_{std::move(owner)}, schedule_text_{std::move(schedule_text)},
          clock_{std::move(clock)}, options_{std::move(options)}
    {
    }

    [[nodiscard]] Store& store() const noexcept { return store_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const std::string& owner() const noexcept { return owner_; }
    [[nodiscard]] const std::string& schedule_text() const noexcept { return schedule_text_; }
    [[nodiscard]] const recurring_options& options() const noexcept { return options_; }
    [[nodiscard]] const Clock& clock() const noexcept { return clock_; }

    [[nodiscard]] fire_rules rules() const noexcept
    {
        return {.catch_up = options_.catch_up,
                .max_attempts = options_.max_attempts,
                .begin_within = options_.begin_within,
                .retry_min = options_.retry_min,
                .retry_max = options_.retry_max};
    }

    // The store's time: read once, and from then on told by the monotonic clock. It is ahead of the store's only by the drift of the two
    // clocks since.
    fire_time now(std::error_code& ec)
    {
        const std::optional<reading> last = last_reading();
        return last ? told_by(*last) : read_clock(ec);
    }

    // The same for a fire that is due by it: a reading that is old is made again, since clocks drift, and a server's may be set. The record
    // may be another one after that.
    fire_time now_to_begin(std::error_code& ec)
    {
        const std::optional<reading> last = last_reading();
        return last && clock_.now() - last->at < std::chrono::minutes{1} ? told_by(*last) : read_clock(ec);
    }

    // As now(), without I/O, after it has been read.
    [[nodiscard]] fire_time now_at_hand() const
    {
        const std::optional<reading> last = last_reading();
        return last ? told_by(*last) : fire_time{};
    }

    // When the monotonic clock will show that time of the store.
    [[nodiscard]] time_point local(fire_time at) const
    {
        const std::optional<reading> last = last_reading();
        if (!last || at == no_fire) return time_point::max();
        const duration left = at - last->value;
        return left < time_point::max() - last->at ? last->at + left : time_point::max();
    }

    // The record, if it is known at all.
    [[nodiscard]] std::optional<fire_record> known() const
    {
        const std::lock_guard lock{mutex_};
        return record_;
    }

    // The record, if the holder of this term need not read it.
    [[nodiscard]] std::optional<fire_record> known_to(fencing_token token) const
    {
        const std::lock_guard lock{mutex_};
        const bool known = record_ && known_up_to_ && token.value() == known_up_to_->value() + 1;
        return known ? record_ : std::nullopt;
    }

    // The record is known up to this term from now on.
    void knows_up_to(fencing_token token, const fire_record& record)
    {
        const std::lock_guard lock{mutex_};
        record_ = record;
        known_up_to_ = token;
        ++changes_;
        note(record);
    }

    // No fire up to there needs work, as far as the record has ever said. A purge may have removed the record since.
    [[nodiscard]] std::optional<fire_time> ever_passed() const
    {
        const std::lock_guard lock{mutex_};
        return ever_passed_;
    }

    // A run is about to complete its fire. If the record says later that this owner has, it was that run, and not one of a process before.
    void completes(fire_time fire)
    {
        const std::lock_guard lock{mutex_};
        completing_ = fire;
    }

    // Calls the hooks for what the record has said of completed fires since the last call. Both are called, also if the first throws;
    // then throws what it throws.
    void tell_news()
    {
        news told;
        {
            const std::lock_guard lock{mutex_};
            told = std::exchange(news_, {});
        }
        const auto tell_completed = [&] {
            if (told.completed && options_.on_completed) options_.on_completed(*told.completed);
        };
        const auto tell_last = [&] {
            if (told.last && options_.on_last_completed) options_.on_last_completed(*told.last);
        };
        call_each_then_throw(tell_completed, tell_last);
    }

    // Calls the hooks after an attempt: the news, then that its fire is given up, then with what its job has thrown, if it has; `report()`
    // comes last. All are called, also if one throws; then throws what the first of these throws.
    template <class Report>
    void tell_end_of(fire_time fire, bool given_up, const std::exception_ptr& failure, const Report& report)
    {
        const auto tell_given_up = [&] {
            if (given_up && options_.on_given_up) options_.on_given_up(fire);
        };
        const auto tell_failed = [&] {
            if (failure && options_.on_failed) options_.on_failed(fire, failure);
        };
        call_each_then_throw([this] { tell_news(); }, tell_given_up, tell_failed, report);
    }

    // It is not known what was written under the current term: the next holder has to read it.
    void forget()
    {
        const std::lock_guard lock{mutex_};
        known_up_to_.reset();
        ++changes_;
    }

    // Reads the record, without remembering it. One that is not readable is errc::invalid_terms.
    // The holder's token: what is read is not older than the grant. 0: the reader holds nothing.
    std::optional<fire_record> look_up(fencing_token token, std::error_code& ec) { return look_up(token, ec, nullptr); }

    // Reads the record, and remembers it unless something has been written meanwhile.
    std::optional<fire_record> read(fencing_token token, std::error_code& ec)
    {
        const std::uint64_t before = changes();
        bool none_saved = false;
        std::optional<fire_record> record = look_up(token, ec, &none_saved);
        const std::lock_guard lock{mutex_};
        if (changes_ == before) {
            record_ = record;
            // The term that wrote the record may write again. If there is no record, the first term of all need not read it.
            known_up_to_ = none_saved ? std::optional{fencing_token{}} : std::nullopt;
            if (record) note(*record);
        }
        return record;
    }

    // Writes the record under the holder's term, as one of this schedule, in the place of the one before. A text of the job that somebody
    // has saved meanwhile is taken over, unless this write is to save one. False: the term is over, or has completed this fire or a later
    // one by then. A completion whose answer got lost, and that the record does not tell of any more, is an error.
    bool write(fencing_token token, const fire_record& before, fire_record& record, std::error_code& ec, bool saves_text = false)
    {
        bool written = false;
        std::error_code unanswered;  // of a save that may have been carried out
        ec.clear();
        catch_into(ec, [&] {
            std::optional<std::string> replaced = before.schedule.empty() ? before.text.value_or("") : to_text(before);
            sign(record);
            std::string text = to_text(record);
            for (bool again = false; replaced && !written;) {
                written = save(token, *replaced, text, ec);
                if (!ec) {
                    if (!written) replaced = to_be_replaced(token, *replaced, record, ec);
                    if (!written && replaced && !replaced->empty() && !saves_text) {
                        take_over_text(record, own_text(*replaced));
                        text = to_text(record);
                    }
                    continue;
                }
                unanswered = ec;
                std::error_code not_read;
                written = is_saved(token, text, not_read);
                if (written) ec.clear();
                // A save still under way might note fires that no hook hears of: only a second save settles it.
                if (written || not_read || std::exchange(again, true)) break;
            }
        });
        if (written && !ec) catch_into(ec, [&] { knows_up_to(token, record); });
        if (!written || ec) forget();
        if (!written && !ec && unanswered && completes(record))
            catch_into(ec, [&] { written = was_completed(token, record, unanswered, ec); });
        return written && !ec;
    }

    // A record that is new says of which schedule it is.
    void sign(fire_record& record) const
    {
        if (!record.schedule.empty()) return;
        record.schedule = schedule_text_;
        record.made_by = owner_;
    }

    // What is wrong with the record, for a person; empty if it is of this schedule, or may be made so.
    [[nodiscard]] std::string refusal(const fire_record& record) const
    {
        if (record.schedule.empty() && record.text && record.text->size() > max_run_checkpoint_bytes)
            return "the checkpoint of '" + printable(name_) + "' has " + std::to_string(record.text->size()) +
                   " bytes; with a schedule at most " + std::to_string(max_run_checkpoint_bytes) + " are allowed: save a shorter one first";
        if (!has_other_schedule(record) || (options_.replace_schedule && !was_ours())) return {};
        return "'" + printable(name_) + "' has another schedule: its record says \"" + printable(record.schedule) + "\", made by " +
               printable(record.made_by) + "; this one says \"" + printable(schedule_text_) + "\". Give it another name, or " +
               (options_.replace_schedule ? "stop this one: its schedule was replaced"
                                          : "replace the schedule (recurring_options::replace_schedule)");
    }

    // The same of one that can't be read.
    [[nodiscard]] std::string refusal() const
    {
        return "'" + printable(name_) + "': a later version of leasehold has written the record of its fires, or the record is damaged";
    }

    [[nodiscard]] bool has_other_schedule(const fire_record& record) const
    {
        return !record.schedule.empty() && record.schedule != schedule_text_;
    }

private:
    struct reading {
        fire_time value;
        time_point at;
    };

    // What the hooks have not been told yet.
    struct news {
        std::optional<fire_time> completed{};
        std::optional<completed_fire> last{};
    };

    [[nodiscard]] std::optional<reading> last_reading() const
    {
        const std::lock_guard lock{mutex_};
        return reading_;
    }

    [[nodiscard]] fire_time told_by(const reading& last) const { return last.value + (clock_.now() - last.at); }

    // Reads the clock, and the record with it if the store tells both at once.
    fire_time read_clock(std::error_code& ec)
    {
        fire_time value{};
        ec.clear();
        catch_into(ec, [&] {
            if constexpr (checkpoint_looking_store<Store>) {
                const std::uint64_t before = changes();
                const checkpoint_look seen = store_.look_at_checkpoint(name_, ec);
                value = seen.now;
                if (!ec) remember(seen, before);
            }
            else if constexpr (timed_store<Store>) {
                value = store_.now(ec);
            }
        });
        const time_point at = clock_.now();
        const std::lock_guard lock{mutex_};
        if (!ec) reading_ = reading{value, at};
        return value;
    }

    // One that is not readable is left to read(), which says so.
    void remember(const checkpoint_look& seen, std::uint64_t before)
    {
        std::optional<fire_record> record = seen.saved ? read_fire_record(seen.saved->text) : fire_record{};
        const std::lock_guard lock{mutex_};
        if (changes_ != before) return;
        record_ = std::move(record);
        known_up_to_ = seen.open ? std::nullopt : std::optional{seen.latest};
        if (record_) note(*record_);
    }

    // Whether the record was ever of this schedule. Then a later job replaced it: to replace it again would lose the fires of both.
    [[nodiscard]] bool was_ours() const
    {
        const std::lock_guard lock{mutex_};
        return was_ours_;
    }

    // Under the mutex.
    void note(const fire_record& record)
    {
        ever_passed_ = std::max(ever_passed_, record.passed);
        was_ours_ = was_ours_ || record.schedule == schedule_text_;
        if (!options_.on_completed && !options_.on_last_completed) return;
        if (!record.last || record.last == last_) return;
        if (completing_ == record.last->fire && record.last->owner == owner_) news_.completed = std::exchange(completing_, {});
        news_.last = record.last;
        last_ = record.last;
    }

    [[nodiscard]] std::uint64_t changes() const
    {
        const std::lock_guard lock{mutex_};
        return changes_;
    }

    std::optional<fire_record> look_up(fencing_token token, std::error_code& ec, bool* none_saved)
    {
        std::optional<fire_record> record;
        ec.clear();
        catch_into(ec, [&] {
            const std::optional<checkpoint_record> saved = saved_in_store(token, ec);
            if (ec) return;
            record = saved ? read_fire_record(saved->text) : fire_record{};
            if (!record) ec = errc::invalid_terms;
            if (none_saved) *none_saved = !saved;
        });
        return record;
    }

    // For a store that keeps none, recurring says so, in one line.
    std::optional<checkpoint_record> saved_in_store(fencing_token token, std::error_code& ec)
    {
        if constexpr (checkpointing_store<Store>)
            return checkpoint_since(store_, name_, token, ec);
        else
            return {};
    }

    // A save that its broken connection left behind may be carried out after later ones: it must find that it replaces nothing.
    bool save(fencing_token token, std::string_view replaced, std::string_view text, std::error_code& ec)
    {
        if constexpr (checkpoint_replacing_store<Store>)
            return store_.replace_checkpoint(name_, owner_, token, replaced, text, ec);
        else if constexpr (checkpointing_store<Store>)
            return store_.save_checkpoint(name_, owner_, token, text, ec);
        else
            return false;
    }

    // A longer text leaves no room for the record. Without the record the fire would be run again.
    static void take_over_text(fire_record& record, std::optional<std::string> saved)
    {
        if (!saved || saved->size() <= max_run_checkpoint_bytes) record.text = std::move(saved);
    }

    // The answer to a save got lost.
    bool is_saved(fencing_token token, std::string_view text, std::error_code& ec)
    {
        const std::optional<checkpoint_record> saved = saved_in_store(token, ec);
        return !ec && saved && saved->token == token && saved->text == text;
    }

    [[nodiscard]] static bool completes(const fire_record& record) noexcept
    {
        return record.last && !record.open && record.last->fire == record.passed;
    }

    // The answer to a save that completes a fire got lost, and the term is over by now. If later fires were completed since, nothing tells
    // whether it was carried out: then it is the error of the save.
    bool was_completed(fencing_token token, const fire_record& record, const std::error_code& unanswered, std::error_code& ec)
    {
        const std::optional<fire_record> there = read(token, ec);
        if (!ec && there->last == record.last) return true;
        const bool is_open = !ec && there->passed < record.passed;
        const bool by_another = !ec && there->last && there->last->fire == record.last->fire;
        ec = is_open || by_another ? std::error_code{} : unanswered;
        return false;
    }

    // After a save that wrote nothing: the text that the next try replaces. That is a save of this term whose answer got lost, or nothing,
    // after a purge. None: the term is over, or what is there has done more, or another term has completed the fire.
    std::optional<std::string> to_be_replaced(fencing_token token, std::string_view replaced, const fire_record& record,
                                              std::error_code& ec)
    {
        if (!checkpoint_replacing_store<Store>) return std::nullopt;
        std::optional<checkpoint_record> saved = saved_in_store(token, ec);
        if (!saved) saved.emplace();
        if (ec || saved->text == replaced) return std::nullopt;
        const std::optional<fire_record> there = read_fire_record(saved->text);
        if (!there || there->passed > record.passed) return std::nullopt;
        if (completes(record) && there->passed == record.passed && saved->token != token) return std::nullopt;
        return std::move(saved->text);
    }

    Store& store_;
    const std::string name_;
    const std::string owner_;
    const std::string schedule_text_;
    const Clock clock_;
    const recurring_options options_;

    mutable std::mutex mutex_;  // guards what follows; no call of the store under it
    std::optional<reading> reading_;
    std::optional<fire_record> record_;
    std::optional<fencing_token> known_up_to_;
    std::optional<completed_fire> last_;  // that the record has had, in whichever reading
    std::optional<fire_time> ever_passed_;
    bool was_ours_ = false;
    std::optional<fire_time> completing_;
    news news_;
    std::uint64_t changes_ = 0;  // of what is remembered, by writes
};

// Saves the own text of a name under a term: beside its record of fires, if it has one, also if a run changes that meanwhile. False: the
// term is over, and nothing was written. errc::invalid_terms: the record can't be read, and stays.
template <checkpoint_replacing_store Store>
bool save_own_text(Store& store, std::string_view name, std::string_view owner, fencing_token token, std::string_view text,
                   std::error_code& ec)
{
    for (std::optional<std::string> replaced;;) {
        std::optional<checkpoint_record> saved = checkpoint_since(store, name, token, ec);
        std::string there = saved ? std::move(saved->text) : std::string{};
        if (ec || replaced == there) return false;
        replaced = std::move(there);
        const std::optional<std::string> next = with_own_text(*replaced, text);
        if (!next) ec = errc::invalid_terms;
        if (next && store.replace_checkpoint(name, owner, token, *replaced, *next, ec)) return true;
        if (ec) return false;
    }
}

}  // namespace leasehold::inline v0::detail

#endif
