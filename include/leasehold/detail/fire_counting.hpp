// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_FIRE_COUNTING_HPP
#define LEASEHOLD_DETAIL_FIRE_COUNTING_HPP

#include <leasehold/detail/series.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/fire_record.hpp>
#include <leasehold/recurring_options.hpp>
#include <leasehold/schedule/concept.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

// The hooks of a recurring behind its numbers.
namespace leasehold::inline v0::detail {

// Another fire of the name was completed since: failures before it no longer count.
inline void note_last_completed(name_series& numbers, const completed_fire& last) noexcept
{
    const std::int64_t at = last.completed_at.time_since_epoch().count();
    if (numbers.last_completed_ns.exchange(at, std::memory_order_relaxed) != at)
        numbers.failures_in_a_row.store(0, std::memory_order_relaxed);
}

// The options with hooks that count, and then call those of `with`. `count` takes a fire_outcome.
template <class Count>
recurring_options counting_fires(recurring_options with, name_series& numbers, Count count)
{
    numbers.counts_fires.store(true, std::memory_order_relaxed);
    with.on_completed = [count, next = std::move(with.on_completed)](fire_time fire) {
        count(fire_outcome::completed);
        if (next) next(fire);
    };
    with.on_last_completed = [&numbers, next = std::move(with.on_last_completed)](const completed_fire& last) {
        note_last_completed(numbers, last);
        if (next) next(last);
    };
    with.on_missed = [count, next = std::move(with.on_missed)](fire_time fire) {
        count(fire_outcome::missed);
        if (next) next(fire);
    };
    with.on_failed = [&numbers, count, next = std::move(with.on_failed)](fire_time fire, const std::exception_ptr& thrown) {
        numbers.failures_in_a_row.fetch_add(1, std::memory_order_relaxed);
        count(fire_outcome::failed);
        if (next) next(fire, thrown);
    };
    with.on_given_up = [count, next = std::move(with.on_given_up)](fire_time fire) {
        count(fire_outcome::given_up);
        if (next) next(fire);
    };
    return with;
}

// The names whose fires are counted, but not those that share `(others)`: they have no state in common.
template <class Visitor>
void for_each_schedule(const name_table& names, Visitor visit)
{
    names.for_each([&](std::string_view name, const name_series& numbers) {
        if (numbers.counts_fires.load(std::memory_order_relaxed) && !names.is_of_others(numbers)) visit(name, numbers);
    });
}

inline std::optional<double> last_completed_seconds(const name_series& numbers) noexcept
{
    const std::int64_t at = numbers.last_completed_ns.load(std::memory_order_relaxed);
    return at != 0 ? std::optional{std::chrono::duration<double>{duration{at}}.count()} : std::nullopt;
}

inline std::optional<std::int64_t> failures_in_a_row(const name_series& numbers) noexcept
{
    return numbers.failures_in_a_row.load(std::memory_order_relaxed);
}

}  // namespace leasehold::inline v0::detail

#endif
