// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_COUNT_MACHINE_HPP
#define LEASEHOLD_DETAIL_COUNT_MACHINE_HPP

#include <leasehold/duration.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <cassert>

namespace leasehold::inline v0::detail {

// When the record of a count has to be written again: a pure function of what was sent and of the time.
//
// The record is kept three times as long as a permit, and written again when a third of that has passed. So a permit that is
// granted or extended now ends before the record, even if the statement is carried out a ttl late, when its holder no longer
// believes in it.
class count_machine {
public:
    // Whether nothing may be granted or extended by `ttl` before the record is written again.
    [[nodiscard]] bool due(time_point now, duration ttl) const noexcept { return lasts_until_ < now + 2 * ttl; }

    // Whether the record should be there still, as it was written.
    [[nodiscard]] bool lasts(time_point now) const noexcept { return now < lasts_until_; }

    [[nodiscard]] static duration record_ttl(duration ttl) noexcept { return 3 * ttl; }

    // The record was written, by a statement sent at `sent`.
    void written(time_point sent, duration ttl) noexcept
    {
        lasts_for(sent, record_ttl(ttl));
        assert(!due(sent, ttl));
    }

    // The answer to a statement sent at `sent` says that the record lasts this long.
    void lasts_for(time_point sent, duration remaining) noexcept { lasts_until_ = std::max(lasts_until_, sent + remaining); }

private:
    time_point lasts_until_ = time_point::min();  // at least, by this process's clock
};

}  // namespace leasehold::inline v0::detail

#endif
