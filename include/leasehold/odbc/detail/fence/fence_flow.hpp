// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FENCE_FENCE_FLOW_HPP
#define LEASEHOLD_ODBC_DETAIL_FENCE_FENCE_FLOW_HPP

#include <leasehold/odbc/detail/driver/statement_catalog.hpp>
#include <leasehold/odbc/detail/flow/advice.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>

#include <concepts>
#include <cstdint>

// Which statement a fence runs, and what its answer means. No ODBC and no SQL.
namespace leasehold::inline v0::odbc::detail {

// The caller's connection, or a stand-in for it: runs statements, and shows what the last one came to.
template <class Connection>
concept fencing_connection = requires(Connection& on, const Connection& shown, const compiled_statement& next, fault kind,
                                      const char* advice, bool& autocommit) {
    { on.read_autocommit(autocommit) } -> std::same_as<fault>;
    { on.run(next) } -> std::same_as<fault>;
    { on.run(next, true) } -> std::same_as<fault>;
    { shown.has_result() } -> std::same_as<bool>;
    { shown.found() } -> std::same_as<bool>;
    { shown.number() } -> std::convertible_to<std::int64_t>;
    { shown.rows() } -> std::convertible_to<std::int64_t>;
    { on.fail(kind, advice) } -> std::same_as<fault>;
};

enum class fence_answer : std::uint8_t {
    over,
    current,
    unsettled,  // the token can't change any longer; whether the term is live has to be read outside of the transaction
    unseen      // what the transaction sees has no such term; its snapshot may be from before the term
};

inline constexpr const char* fence_needs_index =
    "nothing would keep a take-over out, since the table has no unique index with the token in it: create one on name and"
    " token, as schema_sql() shows";
inline constexpr const char* fence_needs_new_snapshot =
    "the transaction's snapshot is from before the term, and so shows what others may have overwritten since: end the transaction"
    " and start again, with the fence first";

// The answer is about the table, so it is kept for all fences of the store.
fault learn_fence_kind(fencing_connection auto& on, const compiled_fence& sql)
{
    if (sql.kind != fence_kind::unknown) return fault::none;
    bool cluster = false;
    if (!sql.cluster.sql.empty()) {
        if (const fault failed = on.run(sql.cluster); failed != fault::none) return failed;
        cluster = on.found();
    }
    if (!cluster && !sql.possible.sql.empty()) {
        if (const fault failed = on.run(sql.possible); failed != fault::none) return failed;
        if (!on.found()) return on.fail(fault::failure, fence_needs_index);
    }
    sql.kind = cluster ? fence_kind::write : fence_kind::lock;
    return fault::none;
}

// The driver says autocommit mode, in which a fence would end with its own statement. One that has not told the server yet does so
// with this statement, at the latest. If no statement can see a transaction, the driver is asked again after a read.
fault look_for_transaction(fencing_connection auto& on, const compiled_fence& sql, bool& autocommit)
{
    const bool can_see = !sql.transaction.sql.empty();
    if (!autocommit || (!can_see && sql.written.sql.empty())) return fault::none;
    const fault failed = can_see ? on.run(sql.transaction) : on.run(sql.written, true);
    if (!can_see && failed == fault::none) return on.read_autocommit(autocommit);
    autocommit = failed != fault::none || !on.found();
    return failed;
}

// An UPDATE that counts the row, or a SELECT that shows what is true of it.
outcome<fence_answer> run_fence(fencing_connection auto& on, const compiled_statement& next)
{
    if (const fault failed = on.run(next); failed != fault::none) return failed;
    if (!on.has_result()) return on.rows() > 0 ? fence_answer::current : fence_answer::over;
    if (!on.found()) return fence_answer::unseen;
    if (on.number() == 0) return fence_answer::over;
    if (on.number() == 3) return on.fail(fault::conflict, fence_needs_new_snapshot);
    return on.number() == 1 ? fence_answer::current : fence_answer::unsettled;
}

// If counts of rows can't be trusted: looks, in the same transaction, for what the UPDATE has written.
outcome<fence_answer> read_back_fence(fencing_connection auto& on, const compiled_fence& sql)
{
    fault failed = on.run(sql.lock, true);
    if (failed == fault::none) failed = on.run(sql.written, true);
    return unless(failed, [&] { return on.found() ? fence_answer::current : fence_answer::over; });
}

outcome<fence_answer> fence_flow(fencing_connection auto& on, const compiled_fence& sql)
{
    if (sql.lock.sql.empty()) return on.fail(fault::failure, "this dialect has no fence");
    if (const fault failed = learn_fence_kind(on, sql); failed != fault::none) return failed;
    if (!sql.written.sql.empty()) return read_back_fence(on, sql);
    outcome<fence_answer> answer = run_fence(on, sql.lock);
    if (sql.kind != fence_kind::write || *answer == fence_answer::over || *answer == fence_answer::unseen) return answer;
    answer = run_fence(on, sql.write);
    if (*answer != fence_answer::current || sql.write_back.sql.empty()) return answer;
    return unless(on.run(sql.write_back), [] { return fence_answer::current; });
}

// After the fence, which keeps the term's row as it is: so the UPDATE finds it. MariaDB does not count a row that was as it should be, and
// other drivers may not count at all.
fault save_checkpoint_flow(fencing_connection auto& on, const compiled_fence& sql, bool in_digits)
{
    if (const fault failed = on.run(sql.save_checkpoint, in_digits); failed != fault::none || on.rows() > 0) return failed;
    if (const fault failed = on.run(sql.saved_checkpoint, in_digits); failed != fault::none || on.found()) return failed;
    return on.fail(fault::failure, advice::row_not_kept);
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
