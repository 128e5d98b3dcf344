// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FENCE_FENCE_SRC_HPP
#define LEASEHOLD_ODBC_DETAIL_FENCE_FENCE_SRC_HPP

#include <leasehold/error.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/odbc/detail/fence/fence_connection.hpp>
#include <leasehold/odbc/detail/fence/fence_flow.hpp>
#include <leasehold/odbc/detail/fence/fence_term.hpp>
#include <leasehold/odbc/detail/session/configuration.hpp>
#ifndef LEASEHOLD_SEPARATE_COMPILATION
#include <leasehold/odbc/src.hpp>
#endif

#include <optional>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

LEASEHOLD_DECL bool fence_term(store_impl& store, SQLHDBC connection, std::string_view name, std::string_view owner, fencing_token token,
                               std::error_code& ec, store_diagnostics& details)
{
    const configuration& config = store.config();
    fence_connection on{connection, config.secrets()};
    on.set_term(name, owner, token);

    bool autocommit = false;
    fence_answer answer = fence_answer::over;
    fault failed = on.read_autocommit(autocommit);
    const auto sql = failed == fault::none ? config.catalog_for(on.info(SQL_DBMS_NAME), on.info(SQL_DBMS_VER)) : nullptr;
    if (failed == fault::none) failed = look_for_transaction(on, sql->fence(), autocommit);
    if (failed == fault::none && autocommit) {
        ec = std::make_error_code(std::errc::invalid_argument);
        return false;
    }
    // By observation no database says that a term is over, before it has been taken; the holder's store does.
    if (config.seen().has_run_out(name, token.value(), observations::now())) return false;
    if (failed == fault::none) failed = fence_flow(on, sql->fence(), answer);
    if (failed != fault::none) {
        ec = make_error_code(errc_of(failed));
        details = std::move(on.last_report().details);
        return false;
    }
    if (answer != fence_answer::unsettled) return answer == fence_answer::current;
    // On a connection of the store, which has no transaction and so sees the row as it is. Its token can't change any more.
    failure unread;
    const std::optional<lease_record> now = store.inspect(name, unread);
    if (unread) {
        ec = make_error_code(errc_of(unread.kind));
        details = std::move(unread.details);
    }
    return !unread && now && now->token == token && now->owner == owner;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
