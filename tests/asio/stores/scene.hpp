// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_ASIO_STORES_SCENE_HPP
#define LEASEHOLD_TESTS_ASIO_STORES_SCENE_HPP

#include <asio/kinds.hpp>
#include <contract/odbc_connection.hpp>
#include <faults/waiting_scene.hpp>

#include <leasehold/odbc/detail/queue/queue_machine.hpp>
#include <leasehold/odbc/detail/flow/session_lock_key.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/environment.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/tcp_gate.hpp>
#include <support/temporary_directory.hpp>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>

// Two processes, as stores, on one database: what waits in one of them without a thread is held by the other one.
namespace leasehold_test {

/// A database on a server of its own.
template <class Server>
struct network_database {
    static constexpr bool has_queue = true;

    Server server{arguments_for_view<Server>()};
    server_view view = view_of(server);

    [[nodiscard]] std::string connection_string() const { return server.connection_string(); }
    [[nodiscard]] std::string connection_string_through(const tcp_gate& gate) const
    {
        std::string text = connection_string();
        const std::string port = "Port=" + std::to_string(server.port());
        return text.replace(text.find(port), port.size(), "Port=" + std::to_string(gate.port()));
    }
    // Sessions that wait for a session lock: the server's queue.
    [[nodiscard]] int in_queue() { return number(view.waiting); }
    // Which session it is that waits, and whether another one does.
    [[nodiscard]] int session_in_queue() { return number(view.waiter); }
    [[nodiscard]] bool in_queue_beside(int session)
    {
        const char* id = std::is_same_v<Server, postgresql_server> ? "pid" : "id";
        return number(std::string{view.waiting} + " and " + id + " <> " + std::to_string(session)) >= 1;
    }
    [[nodiscard]] int number(const std::string& sql) { return std::stoi(server.execute_sql(sql)); }
};

struct postgresql : network_database<postgresql_server> {
    // Statements that wait for somebody's transaction.
    [[nodiscard]] int blocked() { return number("select count(*) from pg_locks where not granted and locktype <> 'advisory'"); }
    // Whether a session has the lock of this lease.
    [[nodiscard]] bool is_locked(const std::string& name)
    {
        return number(
                   "select count(*) from pg_locks where locktype = 'advisory' and granted and (classid::bigint << 32 | objid::bigint) = " +
                   std::to_string(lh::odbc::detail::session_lock_key{"leasehold", name}.number())) == 1;
    }
};

struct mariadb : network_database<mariadb_server> {
    // InnoDB shows a copy of this table, and makes a new one when nobody has looked for a tenth of a second.
    [[nodiscard]] int blocked() { return number("select count(*) from information_schema.innodb_trx where trx_state = 'LOCK WAIT'"); }
    [[nodiscard]] bool is_locked(const std::string& name)
    {
        const auto key = lh::odbc::detail::session_lock_key{"leasehold", name}.text();
        return number("select is_used_lock(concat('" + std::string{key.begin(), key.end()} + ".', crc32(database()))) is not null") == 1;
    }
};

/// Without a queue of its own: waiters poll.
struct sqlite {
    static constexpr bool has_queue = false;

    temporary_directory folder{};

    [[nodiscard]] std::string connection_string() const { return sqlite_connection_string(folder.path() / "leases.db"); }
};

// Tests that hold a row for a while want no time-out meanwhile, nor does what is not tested where a sanitizer makes it slow.
inline lh::odbc_options patient_options() { return {.call_timeout = 40s, .lock_timeout = 20s}; }

/// One for all test cases.
template <class Database>
Database& the()
{
    static Database database;
    static const bool prepared = [] {
        lh::odbc_store{database.connection_string(), patient_options()}.create_schema();
        return true;
    }();
    static_cast<void>(prepared);
    return database;
}

/// That no two test cases have.
inline std::string new_name()
{
    static int names = 0;
    return "n" + std::to_string(++names);
}

// A wake takes milliseconds. A waiter in a server's queue that nobody woke looks again after some five seconds.
inline constexpr auto woken_within = 2s;
// Long enough for what waits for nothing.
inline constexpr auto soon = 5s;
/// Two stores on one database, and what runs the handlers.
template <class Database>
struct two_processes {
    Database& database = the<Database>();
    lh::odbc_store mine{database.connection_string(), patient_options()};
    lh::odbc_store theirs{database.connection_string(), patient_options()};
    running_context io{};

    // How many of this process wait.
    [[nodiscard]] std::size_t waiting() { return mine.local_waiters().waiting(); }
    // Whether a statement comes to wait for a transaction of the test.
    [[nodiscard]] bool statement_blocks()
    {
        return eventually([&] { return database.blocked() > 0; }, 10s, 200ms);
    }
    // MariaDB may show what was so a tenth of a second ago: ask this before another statement is to block.
    [[nodiscard]] bool no_statement_blocks()
    {
        return eventually([&] { return database.blocked() == 0; }, 10s, 200ms);
    }
    [[nodiscard]] bool nobody_waits()
    {
        return eventually(
            [&] {
                if constexpr (Database::has_queue)
                    if (database.in_queue() != 0) return false;
                return waiting() == 0 && theirs.local_waiters().waiting() == 0;
            },
            20s, 20ms);
    }
};

template <class Kind, class Database>
struct on {
    using kind = Kind;
    using database = Database;
    // The asynchronous waiters of a store have one ticket that costs a thread. For a right of several leases it is a place in the line of
    // the name, in which this waiter is the first; so it polls for the leases. What asks may be in a call, which a cancellation waits for.
    static constexpr bool queues_at_server = Database::has_queue && std::is_same_v<Kind, a_lease>;
};

/// Two contenders for a right: the other process holds it, and this one waits for it. `Stores` has the two stores and the database.
template <class On, class Stores>
struct contenders : Stores {
    using kind = typename On::kind;
    using right_type = right_on<kind, lh::odbc_store, lh::lease_terms>;
    using guard = guard_of<kind, right_type>;

    // What `Stores` is made of.
    template <class... Parts>
    explicit contenders(Parts... parts) : Stores{parts...}
    {
    }

    // Held by the other process, with the session lock that a waiter queues for: a term gets it some milliseconds later.
    [[nodiscard]] auto hold()
    {
        auto held = kind::hold(holder);
        if constexpr (On::queues_at_server)
            if (!eventually([&] { return this->database.is_locked(name); }, 20s, 20ms))
                throw std::runtime_error{name + " has no session lock"};
        return held;
    }
    [[nodiscard]] std::size_t taken() { return rows_taken<kind>(this->theirs, name); }
    // How many of this process wait.
    [[nodiscard]] std::size_t waiting()
    {
        const std::size_t places = Stores::waiting();
        return places < kind::queues_of_first ? 0 : places - (kind::queues_of_first - 1);
    }
    // Whether the waiter has got as far as it can, while what hold() returned is held; `in_queue`: also at the server.
    [[nodiscard]] bool one_waits(bool in_queue = On::queues_at_server)
    {
        return eventually(
            [&] {
                if (waiting() != 1 || taken() != kind::rows_while_waiting) return false;
                if constexpr (On::queues_at_server) return !in_queue || this->database.in_queue() == 1;
                return true;
            },
            20s, 20ms);
    }
    // A waiter in a queue looks at the row soon after it has begun to wait, and then not for seconds: meanwhile it is in no call.
    [[nodiscard]] bool has_looked()
    {
        return throughout([this] { return waiting() == 1; }, 2 * lh::odbc::detail::first_look, 50ms);
    }

    const std::string name = new_name();
    right_type right = kind::on(this->mine, name, terms);
    right_type holder = kind::on(this->theirs, name, terms);
};

template <class Database>
using each_kind_on = std::tuple<on<a_lease, Database>, on<a_permit, Database>, on<a_reader, Database>, on<a_writer, Database>,
                                on<a_writer_after_a_reader, Database>>;
using over_network = decltype(std::tuple_cat(each_kind_on<postgresql>{}, each_kind_on<mariadb>{}));
using with_queue = std::tuple<on<a_lease, postgresql>, on<a_lease, mariadb>>;
using everywhere = decltype(std::tuple_cat(each_kind_on<sqlite>{}, over_network{}));
using servers_with_queues = std::tuple<postgresql, mariadb>;
using databases = std::tuple<sqlite, postgresql, mariadb>;

}  // namespace leasehold_test

#endif
