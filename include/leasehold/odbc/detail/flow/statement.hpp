// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FLOW_STATEMENT_HPP
#define LEASEHOLD_ODBC_DETAIL_FLOW_STATEMENT_HPP

#include <array>
#include <cstddef>
#include <cstdint>

namespace leasehold::inline v0::odbc::detail {

// The statements a connection keeps prepared. What each does is at dialect::spec.
enum class statement : std::uint8_t {
    probe,
    grant,
    read,
    observe,
    insert,
    take,
    renew,
    release,
    inspect,
    list,
    force_release,
    clock,
    write_nothing,
    lock,
    try_lock,
    unlock,
    backend,
    floor,
    add_floor,
    raise_floor,
    look,
    remove,
    publish,  // this one and those below: see dialect::handover_sql
    published,
    request,
    request_of_candidate,
    requested,
    said,
    save_checkpoint,  // this one and those below: see dialect::checkpoint_sql
    replace_checkpoint,
    saved_checkpoint,
    list_checkpoints,
    look_at_checkpoint
};
inline constexpr std::size_t statement_count = static_cast<std::size_t>(statement::look_at_checkpoint) + 1;

enum class parameter : std::uint8_t {
    name,
    owner,
    token,
    version,
    seen,
    us,
    now_ms,
    later_ms,
    unit,
    upper,
    lock_number,
    lock_name,
    data,
    checkpoint,
    replaced,
    all_names,  // this one and those below: see dialect::batch_sql
    all_owners,
    all_tokens,
    each_name,
    each_term,
    most,  // this one and those below: see dialect::many_attempts_sql
    nth_name,
    nth_owner,
    nth_token,
    last_name
};

enum class column : std::uint8_t {
    count,
    granted,
    fresh,
    token,
    whose,
    live,
    released,
    remaining,
    locked,
    version,
    clock,
    saved_by,  // the token of the term that saved the checkpoint
    owner,
    name,
    data,
    request,
    checkpoint  // longer than the others
};

// Numbers first, then texts of up to max_data_bytes.
inline constexpr std::size_t number_columns = static_cast<std::size_t>(column::owner);
inline constexpr std::size_t text_columns = static_cast<std::size_t>(column::request) + 1 - number_columns;
constexpr bool is_text(column id) noexcept { return id >= column::owner; }

// Values of column::whose; 0: another's.
inline constexpr std::int64_t owner_is_us = 1;
inline constexpr std::int64_t owner_is_nobody = 2;

// What statements show, in order.
namespace columns {

inline constexpr std::array probe{column::owner};
inline constexpr std::array grant{column::granted, column::token, column::remaining, column::fresh};
inline constexpr std::array clock{column::clock};
inline constexpr std::array lock{column::locked};
inline constexpr std::array token{column::token};
inline constexpr std::array look{column::count, column::token, column::name};
inline constexpr std::array read{column::token, column::whose, column::live, column::remaining, column::released};
inline constexpr std::array observe{column::token, column::version, column::remaining, column::owner, column::name};
inline constexpr std::array inspect{column::token, column::remaining, column::owner, column::data, column::request};
inline constexpr std::array grants{column::count, column::granted, column::token, column::remaining, column::fresh};
inline constexpr std::array reads{column::token, column::live, column::remaining, column::owner, column::name};
inline constexpr std::array list{column::token, column::remaining, column::owner, column::name, column::data, column::request};
inline constexpr std::array observed_list{column::token, column::version, column::remaining, column::owner,
                                          column::name,  column::data,    column::request};
inline constexpr std::array published{column::data};
inline constexpr std::array requested{column::request};
inline constexpr std::array said{column::token, column::data, column::request};
inline constexpr std::array checkpoint{column::token, column::live, column::checkpoint};
inline constexpr std::array list_checkpoints{column::token, column::name, column::checkpoint};
inline constexpr std::array look_at_checkpoint{column::token, column::live, column::saved_by, column::clock, column::checkpoint};

}  // namespace columns

// Whether what it came to is told by the number of rows it has changed.
constexpr bool is_told_by_rows(statement id) noexcept
{
    switch (id) {
    case statement::insert:
    case statement::take:
    case statement::renew:
    case statement::release:
    case statement::force_release: return true;
    default: return false;
    }
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
