// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_HOLD_MACHINE_HPP
#define LEASEHOLD_DETAIL_HOLD_MACHINE_HPP

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace leasehold::inline v0::detail {

enum class hold_step : std::uint8_t {
    wait,
    ask,               // the holder, to hand over
    refuse_held,       // somebody else holds the name closed
    refuse_count       // several hold the name, and it keeps the record of their count
};

// When a wait for a hold looks who has the name, and what it does then: a pure function of answers and the time.
//
// Each term is asked once. The wait looks at once when another term is in the way. It also looks now and then, since the answers to its
// attempts don't tell of all terms, as while it stands in line.
class hold_machine {
public:
    static constexpr duration look_pause = std::chrono::milliseconds{500};

    // The first look is due when the first attempt was busy, or when others stand in line.
    void in_line(time_point now) noexcept
    {
        if (look_at_ == time_point::max()) look_at_ = now;
    }

    // An attempt was busy. `token`: the holder's, or 0.
    void busy(fencing_token token, time_point now) noexcept
    {
        in_line(now);
        if (token != fencing_token{} && token != seen_) look_at_ = std::min(look_at_, now);
    }

    [[nodiscard]] time_point look_at() const noexcept { return look_at_; }

    [[nodiscard]] hold_step looked(const std::optional<lease_record>& record, time_point now) noexcept
    {
        look_at_ = now + look_pause;
        if (!record) return hold_step::wait;
        if (record->is_hold()) return hold_step::refuse_held;
        if (record->is_count()) return hold_step::refuse_count;
        if (record->token == seen_) return hold_step::wait;
        seen_ = record->token;
        return record->owner.empty() ? hold_step::wait : hold_step::ask;  // a name that a min_hold keeps closed has nobody to ask
    }

private:
    time_point look_at_ = time_point::max();
    fencing_token seen_{};  // 0: no term yet
};

}  // namespace leasehold::inline v0::detail

#endif
