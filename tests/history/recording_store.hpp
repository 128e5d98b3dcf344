// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_HISTORY_RECORDING_STORE_HPP
#define LEASEHOLD_TESTS_HISTORY_RECORDING_STORE_HPP

#include "call.hpp"

#include <leasehold/fencing_token.hpp>
#include <leasehold/store/concept.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace history {

/// The four operations of a store, for one thread, which writes down each call. Without min_hold, which the specification lacks.
template <leasehold::lease_store Store>
class recording_store {
public:
    /// `by`: who calls, for people to read.
    recording_store(Store& store, std::string by) : store_{store}, by_{std::move(by)} {}

    leasehold::acquire_result try_acquire(std::string_view name, std::string_view owner, leasehold::duration ttl,
                                          std::error_code& ec)
    {
        call c = begun(operation::acquire, name, owner, {}, ttl);
        const leasehold::acquire_result result = store_.try_acquire(name, owner, ttl, ec);
        c.token = ec ? 0 : result.token.value();
        ended(std::move(c), ec, result.granted());
        return result;
    }
    bool renew(std::string_view name, std::string_view owner, leasehold::fencing_token token, leasehold::duration ttl,
               std::error_code& ec)
    {
        call c = begun(operation::renew, name, owner, token, ttl);
        const bool yes = store_.renew(name, owner, token, ttl, ec);
        ended(std::move(c), ec, yes);
        return yes;
    }
    bool release(std::string_view name, std::string_view owner, leasehold::fencing_token token, leasehold::duration min_hold_left,
                 std::error_code& ec)
    {
        call c = begun(operation::release, name, owner, token, {});
        const bool yes = store_.release(name, owner, token, min_hold_left, ec);
        ended(std::move(c), ec, yes);
        return yes;
    }
    std::optional<leasehold::lease_record> inspect(std::string_view name, std::error_code& ec)
    {
        call c = begun(operation::inspect, name, {}, {}, {});
        std::optional<leasehold::lease_record> record = store_.inspect(name, ec);
        if (!ec && record) {
            c.token = record->token.value();
            c.owner = record->owner;
        }
        ended(std::move(c), ec, record.has_value());
        return record;
    }

    [[nodiscard]] const std::vector<call>& calls() const { return calls_; }

private:
    static instant now() { return std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count(); }

    [[nodiscard]] call begun(operation what, std::string_view name, std::string_view owner, leasehold::fencing_token token,
                             leasehold::duration ttl) const
    {
        return {.what = what,
                .name = std::string{name},
                .owner = std::string{owner},
                .token = token.value(),
                .ttl = ttl.count(),
                .begin = now(),
                .by = by_};
    }
    void ended(call c, std::error_code ec, bool yes)
    {
        c.said = ec ? answer::unknown : yes ? answer::yes : answer::no;
        c.end = ec ? never : now();
        calls_.push_back(std::move(c));
    }

    Store& store_;
    std::string by_;
    std::vector<call> calls_;
};

}  // namespace history

#endif
