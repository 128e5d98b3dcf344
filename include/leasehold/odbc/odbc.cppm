// SPDX-License-Identifier: BSL-1.0
module;

#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/fence_sql.hpp>
#include <leasehold/odbc/odbc_store.hpp>

/// The public names of the store for databases and of the fence, and those of the module leasehold.
export module leasehold.odbc;

export import leasehold;

export namespace leasehold {

using leasehold::basic_odbc_store;
using leasehold::expiry_by_observation;
using leasehold::expiry_by_server_clock;
using leasehold::max_call_timeout;
using leasehold::max_pool_size;
using leasehold::max_unused_for;
using leasehold::min_call_timeout;
using leasehold::min_unused_for;
using leasehold::observing_odbc_store;
using leasehold::odbc_columns;
using leasehold::odbc_expiry;
using leasehold::odbc_options;
using leasehold::odbc_store;
using leasehold::save_checkpoint_on;
using leasehold::store_health;
using leasehold::transaction_pooler;
using leasehold::validate;
using leasehold::with_checkpoints;
using leasehold::with_checkpoints_t;

}  // namespace leasehold

export namespace leasehold::dialect {

using leasehold::dialect::add_plain_statements;
using leasehold::dialect::batch_sql;
using leasehold::dialect::checkpoint_sql;
using leasehold::dialect::detected;
using leasehold::dialect::fence_sql;
using leasehold::dialect::generic;
using leasehold::dialect::handover_sql;
using leasehold::dialect::many_attempts_sql;
using leasehold::dialect::mariadb;
using leasehold::dialect::name_key_sql;
using leasehold::dialect::observing;
using leasehold::dialect::odbc_dialect;
using leasehold::dialect::plain_checkpoint;
using leasehold::dialect::plain_handover;
using leasehold::dialect::plain_look_at_checkpoint;
using leasehold::dialect::postgresql;
using leasehold::dialect::purge_sql;
using leasehold::dialect::purge_with;
using leasehold::dialect::remaining_is_no_time;
using leasehold::dialect::server_info;
using leasehold::dialect::session_lock_sql;
using leasehold::dialect::spec;
using leasehold::dialect::sqlite;

}  // namespace leasehold::dialect

export namespace leasehold::odbc {

using leasehold::odbc::checkpoint_sql;
using leasehold::odbc::fence;
using leasehold::odbc::fence_sql;
using leasehold::odbc::queue_ticket;
using leasehold::odbc::save_checkpoint;
using leasehold::odbc::sql_placeholders;
using leasehold::odbc::store_base;

}  // namespace leasehold::odbc
