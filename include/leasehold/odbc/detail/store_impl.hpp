// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_STORE_IMPL_HPP
#define LEASEHOLD_ODBC_DETAIL_STORE_IMPL_HPP

#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/config.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/dialect/spec.hpp>
#include <leasehold/odbc/odbc_options.hpp>
#include <leasehold/odbc/queue_ticket.hpp>
#include <leasehold/odbc/store_health.hpp>
#include <leasehold/store/concept.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

class configuration;
class store_operations;

// All of basic_odbc_store that does not depend on its policies. It keeps the ODBC headers and the implementation out of files that
// include the store. Defined in odbc/src.hpp. Rethrows what was thrown underneath. Thread-safe.
class store_impl {
public:
    using describe_function = dialect::spec (*)(const dialect::server_info&);

    LEASEHOLD_DECL store_impl(std::string connection_string, odbc_options options, describe_function describe, bool in_process);
    store_impl(const store_impl&) = delete;
    store_impl& operator=(const store_impl&) = delete;
    LEASEHOLD_DECL ~store_impl();

    LEASEHOLD_DECL acquire_result try_acquire(std::string_view name, std::string_view owner, duration ttl, failure& why);
    LEASEHOLD_DECL acquire_result try_acquire(queue_ticket& ticket, std::string_view owner, duration ttl, failure& why);
    [[nodiscard]] LEASEHOLD_DECL queue_ticket enqueue(std::string_view name, waker& to_wake);
    LEASEHOLD_DECL void leave(waiting_ticket& place) noexcept;
    LEASEHOLD_DECL bool renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl, failure& why);
    LEASEHOLD_DECL bool release(std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left, failure& why);
    LEASEHOLD_DECL std::optional<lease_record> inspect(std::string_view name, failure& why);

    LEASEHOLD_DECL void renew_many(std::span<const term_renewal> renewals, std::span<batch_answer> answers, duration within, failure& why);
    LEASEHOLD_DECL void acquire_many(std::span<const term_request> requests, std::size_t most,
                                     std::span<std::optional<acquire_result>> answers, failure& why);
    LEASEHOLD_DECL void release_many(std::span<const term_release> releases, std::span<batch_answer> answers, failure& why);

    LEASEHOLD_DECL bool publish(std::string_view name, std::string_view owner, fencing_token token, std::string_view data, failure& why);
    LEASEHOLD_DECL bool request_handover(std::string_view name, std::string_view reason, failure& why);
    LEASEHOLD_DECL std::optional<std::string> handover_requested(std::string_view name, std::string_view owner, fencing_token token, failure& why);

    LEASEHOLD_DECL std::vector<lease_record> list(std::string_view prefix, failure& why);
    LEASEHOLD_DECL bool force_release(std::string_view name, failure& why);
    LEASEHOLD_DECL std::size_t purge(duration unused_for, failure& why);
    LEASEHOLD_DECL void create_schema(failure& why);
    LEASEHOLD_DECL std::vector<std::string> schema_sql(failure& why);
    LEASEHOLD_DECL void health(store_health& found, failure& why);

    [[nodiscard]] LEASEHOLD_DECL const configuration& config() const noexcept;
    [[nodiscard]] LEASEHOLD_DECL const odbc_options& options() const noexcept;
    [[nodiscard]] LEASEHOLD_DECL std::size_t batch_size() const noexcept;
    [[nodiscard]] LEASEHOLD_DECL bool likely_in_process() const noexcept;
    [[nodiscard]] LEASEHOLD_DECL std::uint64_t abandoned_calls() const;
    [[nodiscard]] LEASEHOLD_DECL std::size_t hanging_calls() const;
    [[nodiscard]] LEASEHOLD_DECL std::size_t sessions() const;

private:
    std::shared_ptr<const configuration> config_;
    std::unique_ptr<store_operations> operations_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
