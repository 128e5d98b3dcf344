// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_STATEMENT_CHANNEL_HPP
#define LEASEHOLD_TESTS_SIMULATION_STATEMENT_CHANNEL_HPP

#include "message.hpp"
#include "network.hpp"
#include "world.hpp"

#include <cstdint>

namespace sim {

// What the flows see as a connection: each statement is a message there and one back.
class statement_channel {
public:
    statement_channel(world& w, network& net, process& of, int name, int owner, std::int64_t time, instant until)
        : world_{w}, net_{net}, of_{of}, name_{name}, owner_{owner}, time_{time}, until_{until}
    {
    }

    fault run(statement which)
    {
        last_ = net_.call(of_, {ask::sql, which, name_, owner_, token_, time_}, until_);
        return last_.failed;
    }
    [[nodiscard]] bool found() const { return last_.found; }
    [[nodiscard]] std::int64_t rows() const { return last_.rows; }
    [[nodiscard]] int owner() const { return last_.owner; }
    [[nodiscard]] std::int64_t number(column which) const { return last_.number(which); }
    void set_token(std::int64_t token) { token_ = token; }
    void set_time(std::int64_t time) { time_ = time; }
    [[nodiscard]] std::int64_t time_to_live_us() const { return (time_ + 999) / 1000; }
    [[nodiscard]] bool single_statement_grant() const { return world_.planned.kind == store_kind::single_statement; }
    [[nodiscard]] bool purges() const { return false; }

private:
    world& world_;
    network& net_;
    process& of_;
    int name_;
    int owner_;
    std::int64_t time_;
    instant until_;
    std::int64_t token_ = 0;
    reply last_;
};

}  // namespace sim

#endif
