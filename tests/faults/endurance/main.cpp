// SPDX-License-Identifier: BSL-1.0
// Very many leases held by one process for very long, while its database fails again and again: what does it lose, and what does
// it keep of threads, files and memory? See docs/testing.md.
#include "contention.hpp"
#include "faults.hpp"
#include "held_leases.hpp"
#include "samples.hpp"

#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <malloc.h>

namespace {

using namespace std::chrono_literals;
namespace lh = leasehold;
using namespace leasehold_test;
using std::chrono::steady_clock;

constexpr int skipped = 77;
constexpr const char* usage = R"(usage: endurance [--on postgresql|mariadb] [--leases N] [--seconds N] [--ttl SECONDS] [--seed N]

One process holds N leases, and acquires and releases some more, while its database and the network break. A fault of at most
three tenths of the ttl must cost no term; every eighth one outlasts the ttl, must end all terms as an outage, and all are acquired again.

  --on       a private server (default: postgresql)
  --leases   1 to 1000000 (default: 100000)
  --seconds  10 to 100000 (default: 3600)
  --ttl      3 to 3600 (default: 60)
  --seed     decides which faults come, and how long they take

Exit status: 0 nothing was wrong, 1 something was, 2 wrong arguments, 77 there is no such server here.
)";

struct options {
    std::string on = "postgresql";
    std::size_t leases = 100'000;
    unsigned seconds = 3600;
    unsigned ttl = 60;
    std::uint32_t seed = std::random_device{}();
};

template <class Number>
bool parse(std::string_view text, Number least, Number most, Number& into)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    return error == std::errc{} && end == text.data() + text.size() && into >= least && into <= most;
}

std::optional<options> read(const std::vector<std::string>& arguments)
{
    options o;
    if (arguments.size() % 2 != 0) return std::nullopt;
    for (std::size_t i = 0; i < arguments.size(); i += 2) {
        const std::string& value = arguments[i + 1];
        bool good = false;
        if (arguments[i] == "--on") {
            o.on = value;
            good = value == "postgresql" || value == "mariadb";
        } else if (arguments[i] == "--leases") {
            good = parse<std::size_t>(value, 1, 1'000'000, o.leases);
        } else if (arguments[i] == "--seconds") {
            good = parse(value, 10U, 100'000U, o.seconds);
        } else if (arguments[i] == "--ttl") {
            good = parse(value, 3U, 3600U, o.ttl);
        } else if (arguments[i] == "--seed") {
            good = parse<std::uint32_t>(value, 0, 0xffff'ffff, o.seed);
        }
        if (!good) return std::nullopt;
    }
    return o;
}

std::unique_ptr<database_server> server_of(const std::string& on)
{
    if (on == "postgresql") return std::make_unique<postgresql_server>(std::vector<std::string>{"-c", "max_connections=50"});
    // Commits that outlast the server's process, though not the machine.
    return std::make_unique<mariadb_server>(std::vector<std::string>{"--innodb-flush-log-at-trx-commit=2"});
}

std::string through(const tcp_gate& gate, const database_server& server)
{
    std::string text = server.connection_string();
    const std::string port = "Port=" + std::to_string(server.port());
    return text.replace(text.find(port), port.size(), "Port=" + std::to_string(gate.port()));
}

class run {
public:
    explicit run(const options& o) : o_{o}, random_{o.seed} {}

    bool to_its_end()
    {
        lh::odbc_store{server_->connection_string()}.create_schema();  // with more time than the calls of the leases have
        acquire_all();
        std::printf("endurance: %zu leases held after %.0f s\n", leases_.count(), minutes() * 60);
        endurance::contention beside{store_, terms_, o_.seed};
        const auto end = begun_ + std::chrono::seconds{o_.seconds};
        // A slow machine gets as many faults as it takes to judge by.
        for (int number = 1; (steady_clock::now() < end || samples_.too_few()) && objections_.empty(); ++number) {
            break_something(number % 8 == 0);
            sample(beside);
        }
        beside.end();
        if (beside.overlaps != 0) object(std::to_string(beside.overlaps) + " grants while another thread held the lease");
        if (beside.other_errors != 0) object(std::to_string(beside.other_errors) + " calls failed with another error than an outage");
        if (leases_.tokens_that_do_not_grow() != 0) object("tokens that don't grow");
        if (const std::size_t released = leases_.release(); objections_.empty() && released != leases_.count())
            object(std::to_string(released) + " released at the end");
        if (const std::string grown = objections_.empty() ? samples_.what_has_grown() : ""; !grown.empty()) object(grown);
        return report();
    }

private:
    void acquire_all()
    {
        const bool all = eventually([&] { leases_.acquire_missing(); return leases_.complete(); }, 10min, 500ms);
        if (!all) object("not all leases could be acquired within 10 minutes");
    }

    // Breaks something, mends it, and judges what it cost.
    void break_something(bool for_long)
    {
        const auto& fault = endurance::faults()[for_long ? endurance::outages[random_() % endurance::outages.size()]
                                                        : random_() % endurance::faults().size()];
        const auto ttl = std::chrono::milliseconds{terms_.ttl / 1ms};
        const auto time = for_long ? ttl + ttl / 10 : std::chrono::milliseconds{random_() % static_cast<unsigned>(ttl.count() / 6)};
        ++faults_[std::string{fault.name} + (for_long ? ", longer than the ttl" : "")];
        const auto begun = steady_clock::now();
        fault.begin(*server_, gate_);
        // Nothing comes true here: it is the time of the fault.
        (void)eventually([] { return false; }, time, time);
        auto lost = leases_.take_losses();
        if (for_long && lost.by_outage != leases_.count())
            object(std::to_string(lost.by_outage) + " terms of " + std::to_string(leases_.count()) +
                   " were told as lost to an outage of more than a ttl" + lost.told_errors());
        fault.end(*server_, gate_);
        static_cast<void>(server_->execute_sql("select 1"));  // not over before somebody else is answered, however slow this machine is
        const auto took = steady_clock::now() - begun;
        const bool bearable = took <= bearable_;
        // All are renewed afterwards, but for those whose turn had not come; and those are acquired again that could not outlast it.
        const bool settled = eventually(
            [&] {
                if (!bearable) {
                    lost += leases_.take_losses();
                    leases_.acquire_missing();
                }
                return leases_.complete() && leases_.least_left() > terms_.ttl / 2;
            },
            bearable ? 2 * terms_.ttl : std::max<lh::duration>(2 * terms_.ttl, 10min), 200ms);
        lost += leases_.take_losses();
        const std::string what = std::string{fault.name} + " for " + std::to_string(took / 1ms) + " ms";
        const std::string errors = what + lost.told_errors();
        if (lost.otherwise != 0) object(std::to_string(lost.otherwise) + " terms were lost, and not to an outage: " + errors);
        if (bearable && lost.by_outage != 0) object(std::to_string(lost.by_outage) + " terms did not outlast it: " + errors);
        if (!settled)
            object("not all leases were held and renewed in time afterwards, but " + std::to_string(leases_.held()) +
                   ", of which the first ends in " + std::to_string(leases_.least_left() / 1ms) + " ms: " + errors);
        losses_ += lost.by_outage;
    }

    void sample(const endurance::contention& beside)
    {
        const auto sessions = std::stoul(server_->execute_sql(o_.on == "postgresql"
            ? "select count(*) from pg_stat_activity where usename = 'leasehold'"
            : "select count(*) from information_schema.processlist where user = 'leasehold'"));
        const auto now = samples_.take(sessions, store_.hanging_calls());
        if (minutes() < next_line_) return;
        next_line_ = minutes() + 1;
        std::printf(
            "%6.1f min: %zu held, heap %zu kB, resident %zu kB, %td threads, %td files, %zu sessions; %llu grants beside, %llu busy,"
            " %llu outages\n",
            minutes(), leases_.held(), now.heap_kb, now.has.resident_kb, now.has.threads, now.has.files, now.sessions,
            static_cast<unsigned long long>(beside.grants), static_cast<unsigned long long>(beside.busy),
            static_cast<unsigned long long>(beside.outages));
        std::fflush(stdout);
    }

    void object(const std::string& to)
    {
        std::printf("endurance: WRONG: %s\n", to.c_str());
        std::fflush(stdout);
        objections_.push_back(to);
    }

    bool report() const
    {
        for (const auto& [name, times] : faults_) std::printf("  %4d times %s\n", times, name.c_str());
        std::printf("  %zu terms ended by outages that they could not outlast; each was acquired again\n%s", losses_,
                    samples_.table().c_str());
        std::printf("endurance: %s after %.0f minutes\n", objections_.empty() ? "passed" : "FAILED", minutes());
        return objections_.empty();
    }

    [[nodiscard]] double minutes() const { return std::chrono::duration<double, std::ratio<60>>{steady_clock::now() - begun_}.count(); }

    options o_;
    std::mt19937 random_;
    std::unique_ptr<database_server> server_ = server_of(o_.on);
    tcp_gate gate_{server_->port()};
    lh::lease_terms terms_{.ttl = std::chrono::seconds{o_.ttl}};
    const lh::duration call_timeout_ = terms_.ttl / 12;
    // A term that was renewed a third of the ttl before a fault outlives it, margin and all, even if a call then hangs (a twelfth) and the
    // longest pause of the renewals comes after it (another twelfth). A tenth is left for all to be renewed.
    const lh::duration bearable_ = terms_.ttl * 3 / 10;
    lh::odbc_store store_{through(gate_, *server_), lh::odbc_options{.call_timeout = call_timeout_}};
    endurance::held_leases leases_{store_, o_.leases, terms_};
    steady_clock::time_point begun_ = steady_clock::now();
    double next_line_ = 0;
    std::map<std::string, int> faults_;
    std::size_t losses_ = 0;
    endurance::samples samples_;
    std::vector<std::string> objections_;
};

}  // namespace

int main(int argc, char** argv)
{
    ::mallopt(M_ARENA_MAX, 1);  // mallinfo2() tells of the first only
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments == std::vector<std::string>{"--help"}) {
        std::cout << usage;
        return 0;
    }
    const auto o = read(arguments);
    if (!o) {
        std::cerr << usage;
        return 2;
    }
    std::cout << "endurance: endurance --on " << o->on << " --leases " << o->leases << " --seconds " << o->seconds << " --ttl " << o->ttl
              << " --seed " << o->seed << std::endl;
    try {
        return run{*o}.to_its_end() ? 0 : 1;
    } catch (const missing_requirement& lacks) {
        std::cerr << "SKIPPED: " << lacks.what() << '\n';
        return servers_required() ? 1 : skipped;
    } catch (const std::exception& error) {
        std::cerr << "endurance: " << error.what() << '\n';
        return 1;
    }
}
