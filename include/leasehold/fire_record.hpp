// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_FIRE_RECORD_HPP
#define LEASEHOLD_FIRE_RECORD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/schedule/concept.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace leasehold::inline v0 {

/// A fire that was completed.
struct completed_fire {
    fire_time fire{};          ///< which one
    fire_time completed_at{};  ///< when, by the store's clock
    std::string owner;         ///< who has done it: the owner of its lease

    friend bool operator==(const completed_fire&, const completed_fire&) = default;
};

/// A fire that was begun, or whose job failed, and that is not completed.
struct open_fire {
    fire_time fire{};        ///< which one
    int attempts = 0;        ///< how often it was begun, as far as that was counted; 0 also if its host gave it back without running it
    fire_time not_before{};  ///< nobody begins it again before this time

    friend bool operator==(const open_fire&, const open_fire&) = default;
};

/// What the checkpoint of a name says about its fires, for all hosts; beside it, the checkpoint of the job itself.
///
/// As a text it is lines, the first of which has the version of the format. A line for what is not known is left out. All that follows the
/// line "text:" is the job's own. In an owner, a backslash stands before a backslash, and \n for a line break.
///
///     leasehold fires 1
///     schedule: every 1d at 3h
///     made by: host-1-5f1c
///     passed: 2026-11-25T03:00:00Z
///     fire: 2026-11-25T03:00:00Z
///     completed: 2026-11-25T03:00:41.5Z
///     owner: host-2-77ab
///     open: 2026-11-26T03:00:00Z
///     attempts: 1
///     not before: 2026-11-26T03:01:00Z
///     text:
///     offset=4711
struct fire_record {
    std::string schedule;                  ///< the text of the schedule; empty if there is no record yet
    std::string made_by;                   ///< the owner who has put this schedule into the record
    std::optional<fire_time> passed{};     ///< no fire up to here needs work any more: completed, missed or given up
    std::optional<completed_fire> last{};  ///< the last completed fire
    std::optional<open_fire> open{};       ///< the fire that is under way, or failed
    std::optional<std::string> text{};     ///< the job's own checkpoint

    friend bool operator==(const fire_record&, const fire_record&) = default;
};

/// The longest checkpoint that a job saves during a run: what a checkpoint has room for beside the record.
inline constexpr std::size_t max_run_checkpoint_bytes = 2800;

namespace detail {

inline constexpr std::string_view fire_record_begins = "leasehold fires ";

// As in "2026-11-25T03:00:00.25Z".
inline std::string written_time(fire_time instant)
{
    const auto day = std::chrono::floor<std::chrono::days>(instant);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss<duration> time{instant - day};
    const auto digits = [](std::int64_t value, std::size_t count) {
        std::string text(count, '0');
        for (std::size_t i = count; i-- > 0; value /= 10) text[i] = static_cast<char>('0' + value % 10);
        return text;
    };
    std::string text = digits(static_cast<int>(date.year()), 4) + '-' + digits(static_cast<unsigned>(date.month()), 2) + '-' +
                       digits(static_cast<unsigned>(date.day()), 2) + 'T' + digits(time.hours().count(), 2) + ':' +
                       digits(time.minutes().count(), 2) + ':' + digits(time.seconds().count(), 2);
    if (time.subseconds() > duration::zero()) {
        text += '.' + digits(time.subseconds().count(), 9);
        text.erase(text.find_last_not_of('0') + 1);
    }
    return text + 'Z';
}

// Takes exactly what written_time() writes.
class time_reader {
public:
    explicit time_reader(std::string_view text) noexcept : left_{text} {}

    std::optional<fire_time> read() noexcept
    {
        const auto y = number(4, 0), mon = number(2, '-'), d = number(2, '-'), h = number(2, 'T'), min = number(2, ':'), s = number(2, ':');
        duration fraction{};
        if (left_.starts_with('.')) {
            left_.remove_prefix(1);
            for (std::int64_t unit = 100'000'000; unit > 0 && !left_.starts_with('Z'); unit /= 10)
                fraction += duration{number(1, 0) * unit};
        }
        const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(y)}, std::chrono::month{static_cast<unsigned>(mon)},
                                               std::chrono::day{static_cast<unsigned>(d)}};
        if (broken_ || left_ != "Z" || !date.ok() || h > 23 || min > 59 || s > 59 || y < 1678 || y > 2261) return std::nullopt;
        return std::chrono::sys_days{date} + std::chrono::hours{h} + std::chrono::minutes{min} + std::chrono::seconds{s} + fraction;
    }

private:
    std::int64_t number(std::size_t digits, char before) noexcept
    {
        if (before != 0) {
            broken_ = broken_ || !left_.starts_with(before);
            if (!left_.empty()) left_.remove_prefix(1);
        }
        std::int64_t value = 0;
        for (std::size_t i = 0; i < digits; ++i) {
            const char digit = left_.empty() ? 'x' : left_.front();
            if (digit < '0' || digit > '9') return broken_ = true, 0;
            value = value * 10 + (digit - '0');
            left_.remove_prefix(1);
        }
        return value;
    }

    std::string_view left_;
    bool broken_ = false;
};

inline std::string on_one_line(std::string_view text)
{
    std::string line;
    for (const char c : text) {
        if (c == '\\' || c == '\n') line += '\\';
        line += c == '\n' ? 'n' : c;
    }
    return line;
}

inline std::string from_one_line(std::string_view line)
{
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const bool escaped = line[i] == '\\' && i + 1 < line.size();
        if (escaped) ++i;
        text += escaped && line[i] == 'n' ? '\n' : line[i];
    }
    return text;
}

// Reads the lines of a record; the first one apart.
class fire_record_reader {
public:
    // Empty: it is no such record, or damaged.
    static std::optional<fire_record> read(std::string_view text)
    {
        fire_record_reader reader;
        for (std::string_view left = text; !left.empty();) {
            const std::size_t end = left.find('\n');
            const std::string_view line = left.substr(0, end);
            left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
            if (line == "text:") {
                reader.record_.text.emplace(left);
                break;
            }
            reader.take(line);
        }
        reader.put_together();
        if (reader.broken_) return std::nullopt;
        return std::move(reader.record_);
    }

private:
    void take(std::string_view line)
    {
        const std::size_t colon = line.find(": ");
        const std::string_view key = line.substr(0, colon);
        const std::string_view value = colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 2);
        if (key == "schedule") record_.schedule = value;
        if (key == "made by") record_.made_by = from_one_line(value);
        if (key == "owner") owner_ = from_one_line(value);
        if (key == "passed") read_time(value, record_.passed);
        if (key == "fire") read_time(value, fire_);
        if (key == "completed") read_time(value, completed_);
        if (key == "open") read_time(value, open_);
        if (key == "not before") read_time(value, not_before_);
        if (key == "attempts") read_attempts(value);
    }

    void read_time(std::string_view value, std::optional<fire_time>& into)
    {
        into = time_reader{value}.read();
        if (!into) broken_ = true;
    }

    void read_attempts(std::string_view value)
    {
        attempts_ = 0;
        for (const char digit : value) {
            if (digit < '0' || digit > '9' || attempts_ > 100'000'000) broken_ = true;
            if (!broken_) attempts_ = attempts_ * 10 + (digit - '0');
        }
    }

    void put_together()
    {
        if (record_.schedule.empty() || fire_.has_value() != completed_.has_value()) broken_ = true;
        if (broken_) return;
        if (fire_) record_.last = completed_fire{*fire_, *completed_, owner_};
        if (open_) record_.open = open_fire{*open_, attempts_, not_before_.value_or(fire_time{})};
    }

    fire_record record_;
    std::optional<fire_time> fire_;
    std::optional<fire_time> completed_;
    std::optional<fire_time> open_;
    std::optional<fire_time> not_before_;
    std::string owner_;
    int attempts_ = 0;
    bool broken_ = false;
};

}  // namespace detail

/// The record as a text, which read_fire_record() reads.
[[nodiscard]] inline std::string to_text(const fire_record& record)
{
    std::string text{detail::fire_record_begins};
    text += '1';
    const auto line = [&text](std::string_view key, std::string_view value) { text.append("\n").append(key).append(": ").append(value); };
    line("schedule", record.schedule);
    line("made by", detail::on_one_line(record.made_by));
    if (record.passed) line("passed", detail::written_time(*record.passed));
    if (record.last) {
        line("fire", detail::written_time(record.last->fire));
        line("completed", detail::written_time(record.last->completed_at));
        line("owner", detail::on_one_line(record.last->owner));
    }
    if (record.open) {
        line("open", detail::written_time(record.open->fire));
        line("attempts", std::to_string(record.open->attempts));
        line("not before", detail::written_time(record.open->not_before));
    }
    text += '\n';
    if (record.text) text.append("text:\n").append(*record.text);
    return text;
}

/// Reads the checkpoint of a name. A text of another kind, as a lease without a schedule saves it, is a record of no fires whose `text` it
/// is. Empty: a later version of the library has written it, or it is damaged. May throw std::bad_alloc.
[[nodiscard]] inline std::optional<fire_record> read_fire_record(std::string_view checkpoint)
{
    if (!checkpoint.starts_with(detail::fire_record_begins)) {
        fire_record none;
        none.text.emplace(checkpoint);
        return none;
    }
    const std::size_t end = checkpoint.find('\n');
    if (end == std::string_view::npos || checkpoint.substr(0, end) != "leasehold fires 1") return std::nullopt;
    return detail::fire_record_reader::read(checkpoint.substr(end + 1));
}

namespace detail {

// What the job itself has saved in the checkpoint of a name: beside the record of fires, if there is one. A record that can't be read is
// told as it is.
inline std::optional<std::string> own_text(std::string_view checkpoint)
{
    std::optional<fire_record> record = read_fire_record(checkpoint);
    return record ? std::move(record->text) : std::string{checkpoint};
}

// What to save as the checkpoint of a name so that its own text is `text`: a record of fires stays. Empty: the record can't be read, so
// that nothing may take its place.
inline std::optional<std::string> with_own_text(std::string_view checkpoint, std::string_view text)
{
    std::optional<fire_record> record = read_fire_record(checkpoint);
    if (!record) return std::nullopt;
    if (record->schedule.empty()) return std::string{text};
    record->text = text;
    return to_text(*record);
}

}  // namespace detail

}  // namespace leasehold::inline v0

#endif
