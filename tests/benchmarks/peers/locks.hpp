// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_PEERS_LOCKS_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_PEERS_LOCKS_HPP

#include "../cost/bare_connection.hpp"
#include "../hand_over/floor.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <hiredis/hiredis.h>
#include <unistd.h>

// The ways to lock that are compared and are written in C++. Of each there is one in a client's process. acquire() waits until it has the
// lock.
namespace peers {

using namespace std::chrono_literals;

/// What a client is told of the lock that it shall take.
struct lock_plan {
    std::string address;
    std::string name;
    std::chrono::milliseconds ttl;
};

class leasehold_lock {
public:
    explicit leasehold_lock(const lock_plan& plan)
        : store_{plan.address}, lease_{store_, plan.name, leasehold::lease_terms{.ttl = plan.ttl}}
    {
    }
    void acquire() { guard_ = lease_.acquire(); }
    void release() { guard_.release(); }

protected:
    leasehold::odbc_store store_;
    leasehold::basic_lease<leasehold::odbc_store> lease_;
    leasehold::basic_lease<leasehold::odbc_store>::guard_type guard_;
};

/// For locks that nobody else wants.
class tried_leasehold_lock : public leasehold_lock {
public:
    using leasehold_lock::leasehold_lock;
    void acquire()
    {
        guard_ = lease_.try_acquire();
        if (!guard_) throw std::runtime_error{"somebody else has the lease"};
    }
};

/// Two statements on one connection. Those of a floor are bare round trips.
class statements_lock {
public:
    statements_lock(const lock_plan& plan, const hand_over::bare_sql& sql)
        : connection_{plan.address, {}}, lock_{connection_, {sql.lock, {}}, none_}, unlock_{connection_, {sql.unlock, {}}, none_}
    {
    }
    void acquire() { lock_.change_one(); }
    void release() { unlock_.change_one(); }

private:
    leasehold::odbc::detail::parameter_block none_;
    cost::bare_connection connection_;
    cost::bare_statement lock_, unlock_;
};

/// pg_advisory_lock() or get_lock().
class session_lock : public statements_lock {
public:
    explicit session_lock(const lock_plan& plan) : statements_lock{plan, hand_over::bare_sql_of(plan.address)} {}
};

class sql_floor : public statements_lock {
public:
    explicit sql_floor(const lock_plan& plan) : statements_lock{plan, {"select 1", "select 1"}} {}
};

/// The row of ShedLock's table on PostgreSQL, with the database's clock and ShedLock's statements for a row that exists. Polls as Spring
/// Integration's JdbcLockRegistry does, since ShedLock does not wait.
class row_lock {
public:
    static constexpr auto poll_pause = 100ms;
    static constexpr const char* table =
        "create table shedlock (name varchar(64) not null primary key, lock_until timestamp not null, locked_at timestamp not null, "
        "locked_by varchar(255) not null)";

    explicit row_lock(const lock_plan& plan)
        : connection_{plan.address,
                      {"insert into shedlock values ('" + plan.name + "', " + now_ + ", " + now_ + ", 'nobody') on conflict do nothing"}},
          lock_{connection_,
                {"update shedlock set lock_until = " + now_ + " + interval '" + std::to_string(plan.ttl.count()) +
                     " milliseconds', locked_at = " + now_ + ", locked_by = '" + me_ + "' where name = '" + plan.name +
                     "' and lock_until <= " + now_,
                 {}},
                none_},
          unlock_{connection_,
                  {"update shedlock set lock_until = " + now_ + " where name = '" + plan.name + "' and locked_by = '" + me_ + "'", {}},
                  none_}
    {
    }
    void acquire()
    {
        while (!lock_.change()) std::this_thread::sleep_for(poll_pause);
    }
    void release() { unlock_.change_one(); }

private:
    const std::string now_ = "timezone('utc', current_timestamp)";
    const std::string me_ = "process " + std::to_string(::getpid());
    leasehold::odbc::detail::parameter_block none_;
    cost::bare_connection connection_;
    cost::bare_statement lock_, unlock_;
};

/// A connection to Redis.
class redis_connection {
public:
    explicit redis_connection(const std::string& port) : context_{redisConnect("127.0.0.1", std::stoi(port)), &redisFree}
    {
        if (!context_ || context_->err) throw std::runtime_error{"cannot connect to Redis"};
    }

    /// Whether the answer was not nil. Throws on an error.
    template <class... Words>
    bool command(const char* format, Words... words)
    {
        const std::unique_ptr<redisReply, void (*)(void*)> reply{static_cast<redisReply*>(redisCommand(context_.get(), format, words...)),
                                                                 &freeReplyObject};
        if (!reply) throw std::runtime_error{"Redis does not answer"};
        if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error{std::string{"Redis: "} + reply->str};
        return reply->type != REDIS_REPLY_NIL;
    }

private:
    std::unique_ptr<redisContext, decltype(&redisFree)> context_;
};

class redis_floor {
public:
    explicit redis_floor(const lock_plan& plan) : redis_{plan.address} {}
    void acquire() { redis_.command("PING"); }
    void release() { redis_.command("PING"); }

private:
    redis_connection redis_;
};

/// As Redis's documentation describes it: SET NX PX, and a script that deletes the key if its value is ours.
class redis_set_lock {
public:
    static constexpr auto poll_pause = 50ms;

    explicit redis_set_lock(const lock_plan& plan)
        : redis_{plan.address}, name_{plan.name}, ttl_{std::to_string(plan.ttl.count())}, me_{std::to_string(::getpid())}
    {
    }
    void acquire()
    {
        while (!redis_.command("SET %s %s NX PX %s", name_.c_str(), me_.c_str(), ttl_.c_str())) std::this_thread::sleep_for(poll_pause);
    }
    void release()
    {
        redis_.command("EVAL %s 1 %s %s", "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0",
                       name_.c_str(), me_.c_str());
    }

private:
    redis_connection redis_;
    std::string name_, ttl_, me_;
};

}  // namespace peers

#endif
