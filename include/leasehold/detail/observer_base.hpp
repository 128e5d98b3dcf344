// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_OBSERVER_BASE_HPP
#define LEASEHOLD_DETAIL_OBSERVER_BASE_HPP

#include <leasehold/concepts.hpp>
#include <leasehold/detail/observation.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/observer_options.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace leasehold::inline v0::detail {

// What all observers have. `Seen` is what they know: of one name a record, of many all of them.
template <class Seen, class Change, lease_clock Clock>
class observer_base {
    using observation_type = observation<Seen, Change, Clock>;

public:
    using clock_type = Clock;                                ///< measures its pauses and age()
    using feed_type = typename observation_type::feed_type;  ///< for the library

    observer_base(const observer_base&) = delete;
    observer_base& operator=(const observer_base&) = delete;

    /// How old current() is: the time since the last look that succeeded was sent. duration::max() before the first.
    [[nodiscard]] duration age() const noexcept { return observation_.age(); }

    /// The oldest change that was not taken by this function or another one for the next change; empty if there is none. An observer keeps
    /// the newest 256. May throw std::bad_alloc.
    [[nodiscard]] std::optional<Change> try_next_change() { return observation_.feed()->take(); }

    /// The same, but waits for it. Empty: the wait was cancelled. May throw std::bad_alloc.
    [[nodiscard]] std::optional<Change> next_change(const std::stop_token& stop = {})
    {
        return observation_.feed()->wait(stop);
    }

    /// For the library: what try_next_change() takes from.
    [[nodiscard]] const std::shared_ptr<feed_type>& feed() const noexcept { return observation_.feed(); }

protected:
    observer_base(typename observation_type::look_function look, typename observation_type::compare_function compare,
                  std::function<void(const Change&)> on_change, observer_options options, Clock clock)
        : observation_{std::move(look), compare, std::move(on_change), std::move(options), std::move(clock)}
    {
    }
    ~observer_base() = default;

    [[nodiscard]] Seen seen() const { return observation_.current(); }

private:
    observation_type observation_;
};

}  // namespace leasehold::inline v0::detail

#endif
