// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_HAND_OVER_FLOOR_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_HAND_OVER_FLOOR_HPP

#include "../cost/bare_connection.hpp"
#include "record.hpp"
#include "taker.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <thread>

// What a hand-over can't do without on a database: a bare session lock handed over, one bare committed UPDATE before that, and one after.
namespace hand_over {

struct bare_sql {
    const char* lock;
    const char* unlock;
};

/// Of the database that this driver leads to.
inline bare_sql bare_sql_of(std::string_view connection_string)
{
    if (connection_string.find("PostgreSQL") != std::string_view::npos)
        return {"select 1 from (select pg_advisory_lock(4711)) as taken", "select 1 from (select pg_advisory_unlock(4711)) as given"};
    return {"select get_lock('floor of a hand-over', 60)", "select release_lock('floor of a hand-over')"};
}

inline constexpr const char* floor_table[] = {"drop table if exists hand_over_floor",
                                              "create table hand_over_floor (name varchar(20) primary key, turns bigint not null)",
                                              "insert into hand_over_floor values ('measured', 0)"};

/// Takes part in a run like take_turns(), by hand.
inline void take_bare_turns(record& run, std::size_t index, const std::string& connection_string)
{
    using namespace std::chrono_literals;
    const bare_sql sql = bare_sql_of(connection_string);
    const cost::bare_connection connection{connection_string, {}};
    leasehold::odbc::detail::parameter_block none;
    cost::bare_statement lock{connection, {sql.lock, {}}, none}, unlock{connection, {sql.unlock, {}}, none};
    cost::bare_statement update{connection, {"update hand_over_floor set turns = turns + 1 where name = 'measured'", {}}, none};
    ++run.connected;
    ++run.ready;
    while (!run.begin) std::this_thread::sleep_for(1ms);
    while (!run.stop) {
        const auto asked = now();
        lock.change_one();
        update.change_one();
        const auto got = now();
        note(run, index, asked, got);
        if (const auto since = run.released.exchange(0)) run.add(got - since, index);
        std::this_thread::sleep_for(turn_lasts);
        const auto releasing = now();
        run.released = releasing;
        update.change_one();
        unlock.change_one();
        while (run.released == releasing && !run.stop) std::this_thread::sleep_for(100us);
    }
}

}  // namespace hand_over

#endif
