// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_FAULTS_WAITING_SCENE_HPP
#define LEASEHOLD_TESTS_FAULTS_WAITING_SCENE_HPP

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/database_server.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/mysql_programs.hpp>
#include <support/postgresql_server.hpp>
#include <support/tcp_gate.hpp>

#include <boost/mpl/list.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

// Several processes, as stores, that wait for names on a server of their own, and what that server says of them.
namespace leasehold_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using servers = boost::mpl::list<postgresql_server, mariadb_server>;

inline constexpr lh::lease_terms terms{.ttl = 60s};
// "At once", on a machine that does other things too; a poll's longest pause is half a second, a ttl a minute.
inline constexpr auto at_once = 400ms;

// What a server says about those who wait for a session lock.
struct server_view {
    const char* waiting;
    const char* locks;
    const char* sessions;
    const char* waiter;
    const char* holder;
    std::string end;
};

inline server_view view_of(const postgresql_server&)
{
    return {.waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted",
            .locks = "select count(*) from pg_locks where locktype = 'advisory'",
            .sessions = "select count(*) from pg_stat_activity where usename = 'leasehold'",
            .waiter = "select pid from pg_locks where locktype = 'advisory' and not granted limit 1",
            .holder = "select pid from pg_locks where locktype = 'advisory' and granted limit 1",
            .end = "select pg_terminate_backend(:session)"};
}

inline server_view view_of(const mariadb_server& server)
{
    const bool mysql = server.is_mysql();
    return {.waiting = "select count(*) from information_schema.processlist where state = 'User lock'",
            .locks = mysql ? "select count(*) from performance_schema.metadata_locks where object_type = 'USER LEVEL LOCK'"
                           : "select count(*) from information_schema.metadata_lock_info where lock_type = 'User lock'",
            .sessions = "select count(*) from information_schema.processlist where user = 'leasehold'",
            .waiter = "select id from information_schema.processlist where state = 'User lock' limit 1",
            .holder = mysql ? "select t.processlist_id from performance_schema.metadata_locks as l join performance_schema.threads as t"
                              " on t.thread_id = l.owner_thread_id where l.object_type = 'USER LEVEL LOCK'"
                              " and l.lock_status = 'GRANTED' limit 1"
                            : "select thread_id from information_schema.metadata_lock_info where lock_type = 'User lock' limit 1",
            .end = "kill connection :session"};
}

template <class Server>
std::vector<std::string> arguments_for_view()
{
    if (std::is_same_v<Server, mariadb_server> && !is_mysql(mysql_root())) return {"--plugin-load-add=metadata_lock_info"};
    return {};
}

template <class Server>
struct waiting_scene {
    Server server{arguments_for_view<Server>()};
    server_view view = view_of(server);
    std::deque<lh::odbc_store> stores;  // as many processes

    explicit waiting_scene(std::size_t processes = 2)
    {
        for (std::size_t i = 0; i < processes; ++i)
            stores.emplace_back(server.connection_string(), lh::odbc_options{.session_locks = true});
        stores.front().create_schema();
    }

    std::string ask(const std::string& sql)
    {
        std::string answer = server.execute_sql(sql);
        while (!answer.empty() && answer.back() == '\n') answer.pop_back();
        return answer;
    }
    int number(const std::string& sql) { return std::stoi(ask(sql)); }
    int in_line() { return number(view.waiting); }
    int locks() { return number(view.locks); }
    int sessions() { return number(view.sessions); }
    void end_session(const std::string& number)
    {
        std::string sql = view.end;
        ask(sql.replace(sql.find(":session"), 8, number));
    }
    void end_session_of_waiter() { end_session(ask(view.waiter)); }
    void end_session_of_holder() { end_session(ask(view.holder)); }
    bool are_in_line(int waiters)
    {
        return eventually([&] { return in_line() == waiters; });
    }
    bool nothing_is_left(int locks_left)
    {
        return eventually([&] { return in_line() == 0 && locks() == locks_left; });
    }
    // When the term ends that there is: an answer is on its way for an unknown time.
    struct bounds {
        std::chrono::steady_clock::time_point earliest, latest;
    };
    bounds expiry_of(const std::string& name)
    {
        std::error_code ec;
        const auto asked = std::chrono::steady_clock::now();
        const auto seen = stores.back().inspect(name, ec);
        if (!seen) throw std::runtime_error{"nobody holds " + name};
        const auto remaining = std::chrono::duration_cast<std::chrono::steady_clock::duration>(seen->remaining);
        return {asked + remaining, std::chrono::steady_clock::now() + remaining};
    }
    std::string row(const std::string& name)
    {
        return ask("select owner, token, expires_at from leasehold where name = '" + name + "'");
    }
};

inline std::string through_gate(const tcp_gate& gate, const database_server& server)
{
    std::string text = server.connection_string();
    const std::string port = "Port=" + std::to_string(server.port());
    return text.replace(text.find(port), port.size(), "Port=" + std::to_string(gate.port()));
}

inline std::chrono::steady_clock::time_point steady_now() { return std::chrono::steady_clock::now(); }

struct counted {
    std::atomic<int>& attempts;
    void operator()(const lh::store_call& call, const lh::store_call_report&) const
    {
        if (call.operation == lh::store_operation::try_acquire) ++attempts;
    }
};

}  // namespace leasehold_test

#endif
