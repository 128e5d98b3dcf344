// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_SERIES_HPP
#define LEASEHOLD_DETAIL_SERIES_HPP

#include <leasehold/detail/catch_into.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/limits.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

// The numbers behind metrics, and the text that they are written as.
namespace leasehold::inline v0::detail {

// The first four of store_operation, which every store has. Calls about a hand-over are not counted.
inline constexpr std::size_t counted_operations = 4;
inline constexpr std::array<std::string_view, counted_operations> operation_names{"try_acquire", "renew", "release", "inspect"};

enum class call_outcome : std::uint8_t { yes, no, error };
inline constexpr std::size_t outcome_count = 3;

struct call_family {
    std::string_view name;
    std::string_view help;
    std::array<std::string_view, outcome_count> outcomes;
};
inline constexpr std::array<call_family, counted_operations> call_families{{
    {"leasehold_attempts_total", "Attempts to acquire a lease.", {"granted", "busy", "error"}},
    {"leasehold_renewals_total", "Renewals of a term.", {"renewed", "over", "error"}},
    {"leasehold_releases_total", "Releases of a term.", {"released", "over", "error"}},
    {"leasehold_inspections_total", "Reads of a lease's record.", {"held", "free", "error"}},
}};

inline constexpr std::array<errc, 5> counted_errors{errc::store_unavailable, errc::store_timeout, errc::store_conflict,
                                                    errc::schema_missing, errc::store_failure};

// The place in counted_errors; its size for any other error.
[[nodiscard]] inline std::size_t error_index(const std::error_code& error) noexcept
{
    for (std::size_t i = 0; i < counted_errors.size(); ++i)
        if (error == counted_errors[i]) return i;
    return counted_errors.size();
}

[[nodiscard]] constexpr std::string_view error_label(std::size_t index) noexcept
{
    return index < counted_errors.size() ? to_string(counted_errors[index]) : "other";
}

// Counts durations by their size: the bounds are 100 us, and four times the one before each, up to nearly two hours.
class histogram {
public:
    static constexpr std::size_t buckets = 15;  // the last has no bound

    void add(duration d) noexcept
    {
        const auto us = static_cast<std::uint64_t>(std::max<duration::rep>(d.count(), 0)) / 1000;
        counts_[bucket_of(us)].fetch_add(1, std::memory_order_relaxed);
        sum_us_.fetch_add(us, std::memory_order_relaxed);
    }

    void add(const histogram& other) noexcept
    {
        for (std::size_t i = 0; i < buckets; ++i) counts_[i].fetch_add(other.count(i), std::memory_order_relaxed);
        sum_us_.fetch_add(other.sum_us_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    }

    [[nodiscard]] static double bound_seconds(std::size_t bucket) noexcept
    {
        return 1e-4 * static_cast<double>(std::uint64_t{1} << (2 * bucket));
    }
    [[nodiscard]] std::uint64_t count(std::size_t bucket) const noexcept { return counts_[bucket].load(std::memory_order_relaxed); }
    [[nodiscard]] double sum_seconds() const noexcept { return static_cast<double>(sum_us_.load(std::memory_order_relaxed)) * 1e-6; }

private:
    // The bound belongs to its bucket.
    static std::size_t bucket_of(std::uint64_t us) noexcept
    {
        if (us <= 100) return 0;
        const auto doublings = static_cast<std::size_t>(64 - std::countl_zero((us - 1) / 100));
        return std::min((doublings + 1) / 2, buckets - 1);
    }

    // Relaxed: each number is counted by itself, and nothing is read because of one. So a sum may be written that lacks the last
    // duration which its count has.
    std::array<std::atomic<std::uint64_t>, buckets> counts_{};
    std::atomic<std::uint64_t> sum_us_ = 0;
};

// What becomes of fires, and of attempts at them that failed.
enum class fire_outcome : std::uint8_t { completed, missed, failed, given_up };
inline constexpr std::array<std::string_view, 4> fire_outcomes{"completed", "missed", "failed", "given_up"};

struct gauge_family {
    std::string_view name;
    std::string_view help;
};
inline constexpr gauge_family last_completed_family{"leasehold_fire_last_completed_timestamp_seconds",
                                                    "When the last completed fire was completed, by the store's clock."};
inline constexpr gauge_family failures_in_a_row_family{"leasehold_fire_failures_in_a_row",
                                                       "Attempts that failed in this process since the last completed fire."};

// The numbers of one name. Terms of a name follow each other, so threads seldom meet here. Relaxed, as in a histogram.
struct name_series {
    std::array<std::array<std::atomic<std::uint64_t>, outcome_count>, counted_operations> calls{};
    std::array<std::atomic<std::uint64_t>, 2> lost{};  // over; in an outage
    std::array<histogram, counted_operations> call_seconds;  // written as a sum over all names: threads that count should not meet
    std::atomic<std::int64_t> held = 0;  // the token of the term that is held, or 0; for many names: how many terms
    std::atomic<std::int64_t> token = 0;
    histogram wait_seconds;
    histogram term_seconds;
    std::array<std::atomic<std::uint64_t>, fire_outcomes.size()> fires{};
    std::atomic<std::int64_t> last_completed_ns = 0;  // since 1970; 0: no fire that is known of
    std::atomic<std::int64_t> failures_in_a_row = 0;
    std::atomic<bool> counts_fires = false;
};

// Finds the numbers of a name without a lock. Names are added, never removed: open addressing, half full at most.
class name_table {
public:
    // May throw std::bad_alloc.
    explicit name_table(std::size_t most)
        : most_{most}, mask_{slots_for(most) - 1}, slots_(std::make_unique<std::atomic<entry*>[]>(mask_ + 1))
    {
    }

    name_table(const name_table&) = delete;
    name_table& operator=(const name_table&) = delete;
    ~name_table()
    {
        for (std::size_t i = 0; i <= mask_; ++i) delete slots_[i].load(std::memory_order_relaxed);
    }

    // Returns the numbers of all other names if this name has no room or memory, or no store would accept it.
    [[nodiscard]] name_series& of(std::string_view name) noexcept
    {
        const std::size_t hash = std::hash<std::string_view>{}(name);
        for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
            entry* found = slots_[i].load(std::memory_order_acquire);
            if (!found && !(found = add(i, name, hash))) return others_;
            if (found->hash == hash && found->name == name) return found->series;
        }
    }

    // A term of the name begins. The one before is over, although its end may be told later: its holder may not know of it yet.
    name_series& term_begins(std::string_view name, std::int64_t token) noexcept
    {
        name_series& series = of(name);
        if (is_of_others(series))
            series.held.fetch_add(1, std::memory_order_relaxed);
        else
            series.held.store(token, std::memory_order_relaxed);
        series.token.store(token, std::memory_order_relaxed);
        return series;
    }
    name_series& term_ends(std::string_view name, std::int64_t token) noexcept
    {
        name_series& series = of(name);
        if (std::int64_t ended = token; !is_of_others(series))
            series.held.compare_exchange_strong(ended, 0, std::memory_order_relaxed);
        else
            series.held.fetch_sub(1, std::memory_order_relaxed);
        return series;
    }
    // Returns how many terms of these names are held.
    [[nodiscard]] std::int64_t held(const name_series& series) const noexcept
    {
        const std::int64_t now = series.held.load(std::memory_order_relaxed);
        return is_of_others(series) ? now : now != 0 ? 1 : 0;
    }

    // Whether these are the numbers of many names.
    [[nodiscard]] bool is_of_others(const name_series& series) const noexcept { return &series == &others_; }

    template <class Visitor>
    void for_each(Visitor visit) const
    {
        for (std::size_t i = 0; i <= mask_; ++i)
            if (const entry* const found = slots_[i].load(std::memory_order_acquire)) visit(found->name, found->series);
        if (others_used_.load(std::memory_order_relaxed)) visit(name_of_others, others_);
    }

private:
    static constexpr std::string_view name_of_others = "(others)";

    // A power of two.
    static std::size_t slots_for(std::size_t most)
    {
        if (most > std::numeric_limits<std::size_t>::max() / 4) throw_exception(std::bad_alloc{});
        return std::bit_ceil(most * 2);
    }

    struct entry {
        entry(std::string_view its_name, std::size_t its_hash) : name{its_name}, hash{its_hash} {}

        const std::string name;
        const std::size_t hash;
        name_series series;
    };

    // Returns what is in the slot then, which another thread may have put there; null: there is no room.
    entry* add(std::size_t slot, std::string_view name, std::size_t hash) noexcept
    {
        // Prometheus refuses all of a file in which a text is not UTF-8, or a sample is there twice.
        if (name != name_of_others && broken_text_rule(name, max_name_bytes) == nullptr) {
            // One at a time: otherwise a name can be one too many while another thread adds it. A full table takes no lock.
            std::unique_lock lock{adding_, std::defer_lock};
            if (count_.load(std::memory_order_acquire) < most_) lock.lock();
            if (entry* const there = slots_[slot].load(std::memory_order_acquire)) return there;
            const std::size_t before = count_.load(std::memory_order_relaxed);
            std::unique_ptr<entry> added;
            std::error_code failed;
            if (lock && before < most_) catch_into(failed, [&] { added = std::make_unique<entry>(name, hash); });
            if (added) {
                slots_[slot].store(added.get(), std::memory_order_release);
                count_.store(before + 1, std::memory_order_release);
                return added.release();
            }
        }
        if (!others_used_.load(std::memory_order_relaxed)) others_used_.store(true, std::memory_order_relaxed);
        return nullptr;
    }

    const std::size_t most_;
    const std::size_t mask_;
    // The release with which an entry comes into its slot, and the acquire of those that find it there: they see it whole.
    const std::unique_ptr<std::atomic<entry*>[]> slots_;
    std::atomic<std::size_t> count_ = 0;  // a thread that finds it full sees all entries, by its release and acquire
    std::mutex adding_;
    std::atomic<bool> others_used_ = false;  // relaxed: others_ was made with the table
    name_series others_;
};

// The numbers of one group. There are few, and their events are rare.
struct group_series {
    std::size_t owned = 0;
    std::size_t wanted = 0;
    std::uint64_t taken = 0;
    std::uint64_t given_back = 0;
    std::uint64_t lost = 0;
    std::uint64_t failed = 0;
    std::uint64_t late = 0;
};

// Prometheus' text format.
class prometheus_writer {
public:
    struct label {
        std::string_view name;
        std::string_view value;
    };
    using labels = std::initializer_list<label>;

    // `file`, if it is not empty, is a label of every sample.
    prometheus_writer(std::ostream& out, std::string_view file) noexcept : out_{out}, file_{file} {}

    void begin(std::string_view family, std::string_view type, std::string_view help) const
    {
        out_ << "# HELP " << family << ' ' << help << "\n# TYPE " << family << ' ' << type << '\n';
    }

    template <class Number>
    void sample(std::string_view name, labels with, Number value) const
    {
        write_name(name, {}, with, {});
        write(value);
    }

    void histogram(std::string_view name, labels with, const detail::histogram& values) const
    {
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < detail::histogram::buckets; ++i) {
            total += values.count(i);
            const bool last = i + 1 == detail::histogram::buckets;
            write_name(name, "_bucket", with, last ? std::string{"+Inf"} : text_of(detail::histogram::bound_seconds(i)));
            write(total);
        }
        write_name(name, "_sum", with, {});
        write(values.sum_seconds());
        write_name(name, "_count", with, {});
        write(total);
    }

private:
    // Does not depend on the locale of the stream.
    template <class Number>
    static std::string text_of(Number value)
    {
        std::array<char, 64> text{};
        if constexpr (std::is_floating_point_v<Number>)
            return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed).ptr};
        else
            return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
    }

    template <class Number>
    void write(Number value) const
    {
        out_ << ' ' << text_of(value) << '\n';
    }

    void write_name(std::string_view name, std::string_view suffix, labels with, std::string_view bound) const
    {
        out_ << name << suffix;
        char before = '{';
        for (const label& one : with) {
            write_label(before, one);
            before = ',';
        }
        if (!file_.empty()) write_label(std::exchange(before, ','), {"file", file_});
        if (!bound.empty()) write_label(std::exchange(before, ','), {"le", bound});
        if (before == ',') out_ << '}';
    }

    void write_label(char before, const label& one) const
    {
        out_ << before << one.name << "=\"";
        for (const char c : one.value) {
            if (c == '\n')
                out_ << "\\n";
            else if (c == '"' || c == '\\')
                out_ << '\\' << c;
            else
                out_ << c;
        }
        out_ << '"';
    }

    std::ostream& out_;
    std::string_view file_;
};

}  // namespace leasehold::inline v0::detail

#endif
