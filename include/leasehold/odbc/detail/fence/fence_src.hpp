// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FENCE_FENCE_SRC_HPP
#define LEASEHOLD_ODBC_DETAIL_FENCE_FENCE_SRC_HPP

#include <leasehold/detail/config.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/odbc/detail/driver/configuration.hpp>
#include <leasehold/odbc/detail/fence/fence_connection.hpp>
#include <leasehold/odbc/detail/fence/fence_flow.hpp>
#include <leasehold/odbc/store_base.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

// What a fence must know of a store: the SQL of its table.
struct fence_access {
    static const configuration& config_of(const store_base& store) noexcept { return *store.config_; }
};

LEASEHOLD_DECL bool fence_term(store_base& store, SQLHDBC connection, std::string_view name, std::string_view owner, fencing_token token,
                               std::optional<std::string_view> checkpoint, std::error_code& ec, store_diagnostics& details)
{
    const configuration& config = fence_access::config_of(store);
    fence_connection on{connection, config.secrets()};
    on.set_term(name, owner, token);

    bool autocommit = false;
    fault failed = on.read_autocommit(autocommit);
    const auto sql =
        failed == fault::none ? config.catalog_for(driver_info(connection, SQL_DBMS_NAME), driver_info(connection, SQL_DBMS_VER)) : nullptr;
    if (failed == fault::none) failed = look_for_transaction(on, sql->fence(), autocommit);
    if (failed == fault::none && autocommit) {
        ec = std::make_error_code(std::errc::invalid_argument);
        return false;
    }
    // Under expiry by observation no database says that a term is over before it is taken; the holder's store does.
    if (config.seen().has_run_out(name, token.value(), observations::now())) return false;
    const outcome<fence_answer> answer = failed == fault::none ? fence_flow(on, sql->fence()) : failed;
    failed = answer.failed();
    bool current = *answer == fence_answer::current;
    if (*answer == fence_answer::unsettled || *answer == fence_answer::unseen) {
        // On a connection of the store, which has no transaction and so sees the row as it is. If the fence has found the row, its token
        // can't change any more.
        const std::optional<lease_record> now = store.inspect(name, ec);
        if (ec) details = store.diagnostics();
        current = !ec && now && now->token == token && now->owner == owner;
        if (current && *answer == fence_answer::unseen) failed = on.fail(fault::conflict, fence_needs_new_snapshot);
    }
    if (failed == fault::none && current && checkpoint) {
        on.set_checkpoint(*checkpoint);
        const auto latest = config.catalog();  // the store may have found other indices when it looked
        failed = save_checkpoint_flow(on, latest->fence(), latest->spec().reads_back);
    }
    if (failed == fault::none) return current;
    ec = make_error_code(errc_of(failed));
    details = std::move(on.last_report().details);
    return false;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
