// SPDX-License-Identifier: BSL-1.0
// Random schedules of processes that come and go with different sets of shards: clocks that drift, requests and replies that are
// late or lost, requests that are carried out much later, databases that are down. No name may be held twice. One thread, on time
// that is only a number.
#include <leasehold/basic_lease.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/renew_policy/no_renewal.hpp>
#include <leasehold/store/memory_store.hpp>
#include <leasehold/store/sharded_store.hpp>
#include <leasehold/time_point.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(shard_set_changes_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

constexpr lh::duration ttl = 10s;

// True time, and a clock that runs at another rate. Two of them differ by 8.4 % at most, less than the margin of a tenth.
struct world {
    lh::duration now = 1h;
    std::mt19937_64 random;
    int names = 1;  // of which processes want leases

    int below(int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); }
    bool chance(int percent) { return below(100) < percent; }
    lh::duration up_to(lh::duration d) { return d / 1000 * below(1000); }
};

class drifting_clock {
public:
    explicit drifting_clock(world& of) : of_{&of}, per_mille_{960 + of.below(81)}, ahead_{of.up_to(1h)} {}
    [[nodiscard]] lh::time_point now() const noexcept { return lh::time_point{of_->now / 1000 * per_mille_ + ahead_}; }

private:
    world* of_;
    int per_mille_;
    lh::duration ahead_;
};

// A database behind a network.
class database {
public:
    explicit database(world& of) : world_{of}, rows_{drifting_clock{of}} {}

    lh::duration down_until{};

    lh::acquire_result try_acquire(std::string_view name, std::string_view owner, lh::duration for_time, std::error_code& ec)
    {
        return sent(ec, [this, n = std::string{name}, o = std::string{owner}, for_time](std::error_code& e) {
            return rows_.try_acquire(n, o, for_time, e);
        });
    }
    bool renew(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration for_time, std::error_code& ec)
    {
        return sent(ec, [this, n = std::string{name}, o = std::string{owner}, token, for_time](std::error_code& e) {
            return rows_.renew(n, o, token, for_time, e);
        });
    }
    bool release(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration closed, std::error_code& ec)
    {
        return sent(ec, [this, n = std::string{name}, o = std::string{owner}, token, closed](std::error_code& e) {
            return rows_.release(n, o, token, closed, e);
        });
    }
    std::optional<lh::lease_record> inspect(std::string_view name, std::error_code& ec)
    {
        return sent(ec, [this, n = std::string{name}](std::error_code& e) { return rows_.inspect(n, e); });
    }

    // What was held up in the network arrives.
    void deliver()
    {
        for (std::size_t i = 0; i < late_.size();) {
            if (late_[i].at > world_.now) {
                ++i;
                continue;
            }
            const auto request = std::move(late_[i].carry_out);
            late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(i));
            request();
        }
    }

private:
    struct late_request {
        lh::duration at;
        std::function<void()> carry_out;
    };

    template <class Request>
    auto sent(std::error_code& ec, Request request) -> decltype(request(ec))
    {
        using result = decltype(request(ec));
        world_.now += 1ms;
        if (world_.chance(3)) world_.now += world_.up_to(15s);
        ec = lh::errc::store_unavailable;
        if (world_.now < down_until) return result{};
        if (world_.chance(3)) {
            late_.push_back({world_.now + world_.up_to(90s), [request] {
                                 std::error_code ignored;
                                 static_cast<void>(request(ignored));
                             }});
            ec = lh::errc::store_timeout;
            return result{};
        }
        result answer = request(ec);
        if (world_.chance(3)) world_.now += world_.up_to(15s);
        if (!world_.chance(3)) return answer;
        ec = lh::errc::store_timeout;
        return result{};
    }

    world& world_;
    lh::basic_memory_store<drifting_clock> rows_;
    std::vector<late_request> late_;
};

using sharded = lh::sharded_store<database, drifting_clock>;
constexpr std::size_t databases = 4, names = 3, processes = 5;

std::string name_of(std::size_t i) { return "name-" + std::to_string(i); }

// A process with a set of shards, and a lease of each name.
class process {
public:
    using lease_type = lh::basic_lease<sharded::shard_type, drifting_clock, lh::random_owner_id, lh::no_renewal>;

    // `set`: a bit for each database.
    process(world& of, std::array<std::unique_ptr<database>, databases>& all, int set) : clock_{of}
    {
        std::vector<sharded::shard> shards;
        for (std::size_t i = 0; i < databases; ++i)
            if ((set >> i & 1) != 0) shards.push_back({"shard-" + std::to_string(i), *all[i]});
        store_ = std::make_unique<sharded>(std::move(shards), lh::sharded_options{.set_ttl = 60s}, clock_);
        for (std::size_t i = 0; i < names; ++i)
            leases_[i] = std::make_unique<lease_type>(store_->shard_of(name_of(i)), name_of(i), lh::lease_terms{.ttl = ttl}, clock_);
    }

    void act(world& in)
    {
        const auto i = static_cast<std::size_t>(in.below(in.names));
        std::error_code ec;
        if (!guards_[i].held())
            guards_[i] = leases_[i]->try_acquire(ec);
        else if (in.chance(95))
            guards_[i].renew(ec);
        else
            static_cast<void>(guards_[i].release(ec));
        ec == lh::errc::invalid_terms ? ++refused : ec ? ++failed : ++done;
    }

    [[nodiscard]] bool holds(std::size_t i) const { return guards_[i].held(); }

    int done = 0, refused = 0, failed = 0;

private:
    drifting_clock clock_;
    std::unique_ptr<sharded> store_;
    std::array<std::unique_ptr<lease_type>, names> leases_;
    std::array<lh::lease_guard<lease_type>, names> guards_;
};

struct outcome {
    int held_twice = 0, done = 0, refused = 0, failed = 0, sets_that_held = 0;
};

outcome play(std::uint64_t seed)
{
    world w{.random = std::mt19937_64{seed}};
    w.names += w.below(static_cast<int>(names));
    std::array<std::unique_ptr<database>, databases> all;
    for (auto& each : all) each = std::make_unique<database>(w);
    // Any two sets have a shard in common.
    const int common = 1 << w.below(static_cast<int>(databases));
    const auto any_set = [&] { return common | w.below(1 << databases); };
    int in_fashion = any_set();
    std::array<std::unique_ptr<process>, processes> running;
    std::array<int, processes> sets{};
    outcome result;
    std::array<bool, 1 << databases> held{};
    for (int step = 0; step < 600; ++step) {
        w.now += w.up_to(2s);
        if (w.chance(1)) in_fashion = any_set();
        if (w.chance(1)) w.now += w.up_to(60s);
        if (w.chance(1)) all[static_cast<std::size_t>(w.below(static_cast<int>(databases)))]->down_until = w.now + w.up_to(90s);
        for (auto& each : all) each->deliver();
        const auto p = static_cast<std::size_t>(w.below(static_cast<int>(processes)));
        if (!running[p] || w.chance(2)) {
            if (running[p]) result.done += running[p]->done, result.refused += running[p]->refused, result.failed += running[p]->failed;
            running[p].reset();
            sets[p] = w.chance(80) ? in_fashion : any_set();
            running[p] = std::make_unique<process>(w, all, sets[p]);
        }
        running[p]->act(w);
        for (std::size_t name = 0; name < names; ++name) {
            int holders = 0;
            for (std::size_t i = 0; i < processes; ++i)
                if (running[i] && running[i]->holds(name)) {
                    ++holders;
                    held[static_cast<std::size_t>(sets[i])] = true;
                }
            if (holders > 1) ++result.held_twice;
        }
    }
    for (const bool each : held) result.sets_that_held += each ? 1 : 0;
    return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_name_is_held_twice_while_sets_change)
{
    constexpr std::uint64_t first_seed = 1, schedules = 300;
    BOOST_TEST_MESSAGE("seeds " << first_seed << " to " << first_seed + schedules - 1);
    outcome sum;
    int changed = 0;
    for (std::uint64_t seed = first_seed; seed < first_seed + schedules; ++seed) {
        const outcome of = play(seed);
        if (of.held_twice > 0) BOOST_ERROR("held twice with seed " << seed);
        sum.done += of.done, sum.refused += of.refused, sum.failed += of.failed;
        if (of.sets_that_held > 1) ++changed;
    }
    BOOST_TEST_MESSAGE(sum.done << " calls done, " << sum.refused << " refused, " << sum.failed << " failed; in " << changed
                                << " schedules more than one set held");
    // The schedules have what they are for.
    BOOST_TEST(sum.done > 1000);
    BOOST_TEST(sum.refused > 1000);
    BOOST_TEST(sum.failed > 1000);
    BOOST_TEST(changed > 50);
}

BOOST_AUTO_TEST_SUITE_END()
