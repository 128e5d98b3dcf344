// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_FAULTS_WAITING_SCENE_HPP
#define LEASEHOLD_TESTS_FAULTS_WAITING_SCENE_HPP

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>

#include <boost/mpl/list.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
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
struct postgresql_view {
    static constexpr const char* waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted";
    static constexpr const char* locks = "select count(*) from pg_locks where locktype = 'advisory'";
    static constexpr const char* sessions = "select count(*) from pg_stat_activity where usename = 'leasehold'";
    static constexpr const char* waiter = "select pid from pg_locks where locktype = 'advisory' and not granted limit 1";
    static constexpr const char* holder = "select pid from pg_locks where locktype = 'advisory' and granted limit 1";
    static std::string end(const std::string& session) { return "select pg_terminate_backend(" + session + ")"; }
};

struct mariadb_view {
    static constexpr const char* waiting = "select count(*) from information_schema.processlist where state = 'User lock'";
    static constexpr const char* locks =
        "select count(*) from information_schema.metadata_lock_info where lock_type = 'User lock'";
    static constexpr const char* sessions = "select count(*) from information_schema.processlist where user = 'leasehold'";
    static constexpr const char* waiter = "select id from information_schema.processlist where state = 'User lock' limit 1";
    static constexpr const char* holder =
        "select thread_id from information_schema.metadata_lock_info where lock_type = 'User lock' limit 1";
    static std::string end(const std::string& session) { return "kill connection " + session; }
};

template <class Server>
struct view_of_server;
template <>
struct view_of_server<postgresql_server> {
    using type = postgresql_view;
    static std::vector<std::string> arguments() { return {}; }
};
template <>
struct view_of_server<mariadb_server> {
    using type = mariadb_view;
    static std::vector<std::string> arguments() { return {"--plugin-load-add=metadata_lock_info"}; }
};

template <class Server>
struct waiting_scene {
    using view = typename view_of_server<Server>::type;

    Server server{view_of_server<Server>::arguments()};
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
    int in_line() { return number(view::waiting); }
    int locks() { return number(view::locks); }
    int sessions() { return number(view::sessions); }
    void end_session_of_waiter() { ask(view::end(ask(view::waiter))); }
    void end_session_of_holder() { ask(view::end(ask(view::holder))); }
    bool are_in_line(int waiters)
    {
        return eventually([&] { return in_line() == waiters; });
    }
    bool nothing_is_left(int locks_left)
    {
        return eventually([&] { return in_line() == 0 && locks() == locks_left; });
    }
    std::string row(const std::string& name)
    {
        return ask("select owner, token, expires_at from leasehold where name = '" + name + "'");
    }
};

inline std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

struct counted {
    std::atomic<int>& attempts;
    void operator()(const lh::store_call& call, const lh::store_call_report&) const
    {
        if (call.operation == lh::store_operation::try_acquire) ++attempts;
    }
};

}  // namespace leasehold_test

#endif
