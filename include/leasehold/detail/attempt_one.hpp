// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_ATTEMPT_ONE_HPP
#define LEASEHOLD_DETAIL_ATTEMPT_ONE_HPP

#include <leasehold/error.hpp>
#include <leasehold/store/concept.hpp>

#include <optional>
#include <string_view>
#include <system_error>

namespace leasehold::inline v0::detail {

// Nobody waits for such a term, so the store does not prepare to wake anybody.
inline constexpr std::string_view wakes_nobody{};

// Makes one attempt. Its request may name the waiters that the end of its term wakes, and only a call for many can pass that on.
template <lease_store Store>
acquire_result attempt_one(Store& store, const term_request& request, std::error_code& ec)
{
    if constexpr (batch_acquiring_store<Store>) {
        if (request.wakes) {
            std::optional<acquire_result> answer;
            store.acquire_many({&request, 1}, 1, {&answer, 1}, ec);
            if (!answer && !ec) ec = errc::store_failure;
            return answer.value_or(acquire_result{});
        }
    }
    return store.try_acquire(request.name, request.owner, request.ttl, ec);
}

}  // namespace leasehold::inline v0::detail

#endif
