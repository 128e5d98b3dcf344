// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_CALL_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_CALL_HPP

#include <leasehold/checkpoint_record.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/odbc/detail/flow/attempts.hpp>
#include <leasehold/odbc/detail/flow/batch_flow.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/flow/flow.hpp>
#include <leasehold/odbc/detail/flow/operator_flows.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

enum class operation : std::uint8_t {
    acquire,
    look,  // at the row; `yes`: it is this owner's
    renew,
    release,
    inspect,
    list,
    force_release,
    create_schema,
    health,
    connect,
    lock,      // wait for the session lock, as long as it takes; `yes`: has it
    try_lock,  // the same, without waiting
    unlock,
    renew_many,  // what is in `many`
    release_many,
    acquire_many,  // what is in `attempted`
    publish,
    request_handover,
    handover_requested,
    save_checkpoint,
    replace_checkpoint,
    checkpoint,
    list_checkpoints,
    now,       // by the database's clock
    look_at_checkpoint,
    purge,     // one step, after `name`; `token`: with the checkpoints that earlier terms have saved
    end_wait  // end the wait of the session `token` for a lock
};

// A request, with views into the caller's arguments: a session copies them before the caller can leave.
struct request {
    operation what = operation::connect;
    std::string_view name{};
    std::string_view owner{};
    std::int64_t token = 0;  // acquire: a hint, or 0
    duration time{};         // ttl, min_hold_left, or for how long unused
    std::shared_ptr<batch> many{};
    std::shared_ptr<attempts> attempted{};
    std::string_view data{};  // publish, request_handover, save_checkpoint, replace_checkpoint
    std::string_view replaced{};  // replace_checkpoint
    std::optional<std::string_view> wakes{};  // acquire: see term_request
};

// The result of a request. Belongs to the session, so that it has somewhere to go when the caller has left.
struct answer {
    fault failed = fault::none;
    grant_answer grant{};
    bool attempted = false;  // the attempts have their answers, and nobody writes them any longer
    bool yes = false;  // renewed, released, published, asked, saved; lock: has it
    std::optional<std::string> reason{};
    std::optional<checkpoint_record> checkpoint{};
    std::int64_t clock_us = 0;
    checkpoint_look looked{};
    std::optional<lease_record> record{};
    std::vector<lease_record> records{};
    std::vector<std::pair<std::string, checkpoint_record>> checkpoints{};
    purge_step purged{};
    health_answer health{};
    store_diagnostics details{};
    std::exception_ptr thrown{};
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
