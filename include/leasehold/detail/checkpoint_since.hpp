// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_CHECKPOINT_SINCE_HPP
#define LEASEHOLD_DETAIL_CHECKPOINT_SINCE_HPP

#include <leasehold/checkpoint_record.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/store/concept.hpp>

#include <chrono>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace leasehold::inline v0::detail {

inline constexpr int lagging_looks_max = 8;
inline constexpr std::chrono::milliseconds first_pause_of_lagging_looks{1};  // doubles each time: 0.13 s in all

// What was saved last, as of a moment after the grant of this term. A look may go to a node that lags (a balancer, a proxy that splits
// reads from writes) and doesn't know the term yet, or the name: it is repeated, and in the end errc::store_conflict. A store that tells no
// term with the checkpoint is believed: it takes every name for open. Token 0: the reader holds nothing, and what it reads may be old.
template <checkpointing_store Store>
[[nodiscard]] std::optional<checkpoint_record> checkpoint_since(Store& store, std::string_view name, fencing_token token,
                                                                std::error_code& ec)
{
    if constexpr (checkpoint_looking_store<Store>) {
        std::chrono::milliseconds pause = first_pause_of_lagging_looks;
        for (int looks = 1; token != fencing_token{}; ++looks) {
            checkpoint_look seen = store.look_at_checkpoint(name, ec);
            if (ec == errc::store_failure) break;  // a database whose clock odbc_store has no SQL for: it has no such look
            if (ec) return std::nullopt;
            const bool tells_no_term = seen.latest == fencing_token{} && seen.open;
            if (tells_no_term || seen.latest >= token) return std::move(seen.saved);
            if (looks == lagging_looks_max) {
                ec = errc::store_conflict;
                return std::nullopt;
            }
            std::this_thread::sleep_for(pause);
            pause *= 2;
        }
    }
    return store.checkpoint(name, ec);
}

}  // namespace leasehold::inline v0::detail

#endif
