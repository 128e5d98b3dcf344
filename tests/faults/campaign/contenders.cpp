// SPDX-License-Identifier: BSL-1.0
#include "contenders.hpp"

#include "contention.hpp"

#include <support/environment.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

namespace campaign {

using namespace std::chrono_literals;

namespace {

struct way_to_contend {
    const char* mode;
    bool locks;
};

// One of each, so that all meet each other.
constexpr std::array<way_to_contend, contenders::count> ways{{{"acquire", true},
                                                              {"acquire_for", true},
                                                              {"elect", true},
                                                              {"try_acquire", false},
                                                              {"acquire", false},
                                                              {"try_acquire", true}}};

// The last ones are the operators.
way_to_contend way_of(std::size_t number, std::string_view right)
{
    const way_to_contend& way = ways.at(number);
    return number + operators_among(right) < contenders::count ? way : way_to_contend{"close", way.locks};
}

// An application's wall clock; half of them are right.
constexpr std::array<const char*, 8> clocks{"", "", "", "", "+5h", "-7h", "+400d", "-90m"};

// It ends within a call of each kind that may be under way, and the destructor's.
constexpr auto longest_leave = 3 * call_timeout + 2s;

std::string text_of(const leasehold_test::exit_status& status)
{
    return status.signal != 0 ? "signal:" + std::to_string(status.signal) : "status:" + std::to_string(status.code);
}

}  // namespace

contenders::contenders(site& at, std::filesystem::path records, std::string lease, std::string right, std::uint32_t seed,
                       const record_file& notes)
    : site_{at}, records_{std::move(records)}, lease_{std::move(lease)}, right_{std::move(right)}, random_{seed}, notes_{notes}
{
    for (std::size_t i = 0; i < count; ++i)
        each_.push_back({.gate = std::make_unique<leasehold_test::tcp_gate>(site_.server(server_of(i)).port())});
}

std::string contenders::process(std::size_t number) const
{
    const std::lock_guard lock{mutex_};
    return name(number);
}

bool contenders::runs(std::size_t number) const
{
    const std::lock_guard lock{mutex_};
    return each_.at(number).state == phase::running;
}

void contenders::start(std::size_t number)
{
    const std::lock_guard lock{mutex_};
    launch(number);
}

std::string contenders::name(std::size_t number) const
{
    return "c" + std::to_string(number) + "." + std::to_string(each_.at(number).incarnation);
}

std::filesystem::path contenders::file(std::size_t number) const
{
    return records_ / (name(number) + std::string{records_extension});
}

void contenders::launch(std::size_t number)
{
    contender& one = each_.at(number);
    ++one.incarnation;
    const way_to_contend way = way_of(number, right_);
    const char* clock = clocks.at(random_() % clocks.size());
    const std::string seed = std::to_string(random_());
    std::map<std::string, std::string> environment = site_.environment();
    if (*clock != '\0') environment.merge(leasehold_test::faketime_environment(clock));
    environment["LEASEHOLD_CAMPAIGN_STORE"] = site_.connection_string(server_of(number), one.gate->port());
    one.process.emplace(
        std::vector<std::string>{CAMPAIGN_WORKER, name(number), way.mode, way.locks ? "1" : "0", right_, lease_,
                                 file(number).string(), seed},
        leasehold_test::process_options{.environment = std::move(environment), .output_file = records_ / "output"});
    one.state = phase::running;
    if (*clock != '\0') notes_.write({event::fault, name(number), 0, now(), now(), "wall_clock_off"});
}

void contenders::kill(std::size_t number)
{
    const std::lock_guard lock{mutex_};
    contender& one = each_.at(number);
    const instant at = now();
    one.process->kill();
    one.state = phase::absent;
    notes_.write({event::killed, name(number), 0, at, now()});
}

void contenders::freeze(std::size_t number)
{
    const std::lock_guard lock{mutex_};
    contender& one = each_.at(number);
    one.since = now();
    one.process->signal(SIGSTOP);
    one.state = phase::frozen;
}

void contenders::thaw(std::size_t number)
{
    const std::lock_guard lock{mutex_};
    contender& one = each_.at(number);
    if (one.state != phase::frozen) return;
    one.process->signal(SIGCONT);
    one.state = phase::running;
    notes_.write({event::frozen, name(number), 0, one.since, now()});
}

void contenders::ask_to_leave(std::size_t number)
{
    const std::lock_guard lock{mutex_};
    contender& one = each_.at(number);
    if (one.state != phase::running) return;
    one.since = now();
    one.process->signal(SIGTERM);
    one.state = phase::leaving;
}

void contenders::reap(std::size_t number)
{
    contender& one = each_.at(number);
    if (one.state != phase::leaving) return;  // nobody else changes one that leaves
    const instant left = one.since + longest_leave.count() - now();
    const auto status = one.process->wait_for(std::chrono::milliseconds{std::max<instant>(left, 0) / millisecond});
    if (!status) one.process->kill();
    const std::lock_guard lock{mutex_};
    if (!status || !status->success())
        notes_.write({event::crashed, name(number), 0, now(), 0, status ? "leaving:" + text_of(*status) : "did_not_end"});
    one.state = phase::absent;
}

void contenders::look_after()
{
    const std::lock_guard lock{mutex_};
    for (std::size_t i = 0; i < count; ++i) {
        contender& one = each_[i];
        if (one.state != phase::running) continue;
        const auto status = one.process->wait_for(0ms);
        if (!status) continue;
        notes_.write({event::crashed, name(i), 0, now(), 0, text_of(*status)});
        launch(i);
    }
}

std::optional<std::size_t> contenders::holder(std::size_t first) const
{
    const std::lock_guard lock{mutex_};
    constexpr instant recent = 60 * millisecond;
    for (std::size_t tried = 0; tried < count; ++tried) {
        const std::size_t i = (first + tried) % count;
        if (each_[i].state != phase::running) continue;
        const auto last = last_record(file(i));
        if (!last || last->at < now() - recent) continue;
        if (last->what == event::won || last->what == event::held) return i;
        if (last->what == event::call && last->detail == "renew:yes") return i;
        if (last->what == event::calling && last->detail == "renew") return i;
    }
    return std::nullopt;
}

}  // namespace campaign
