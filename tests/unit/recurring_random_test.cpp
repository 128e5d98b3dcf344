// SPDX-License-Identifier: BSL-1.0
// Hosts whose clocks drift, that die between their work and its completion, and whose answers get lost: what is promised of fires, in many
// random histories, on one thread.
#include <leasehold/leasehold.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace recurring_random_test {

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

constexpr lh::store_time begins = std::chrono::sys_days{std::chrono::year{2026} / 11 / 25};
constexpr lh::every minutely{.period = 1min, .at = 7s};
constexpr lh::duration ttl = 20s;
constexpr std::size_t hosts = 4;

using memory = lh::basic_memory_store<lh::manual_clock>;

class history {
public:
    history(std::uint32_t seed, lh::catch_up how, int max_attempts)
        : random_{seed}, how_{how}, max_attempts_{max_attempts}, losses_{static_cast<int>(seed % 3) * 4}
    {
        for (std::size_t i = 0; i < hosts; ++i) hosts_.push_back(std::make_unique<host>(*this, i));
    }

    void run()
    {
        for (int i = 0; i < 400; ++i) step();
        losses_ = 0;
        // Everything that can be done is done in the end.
        for (int i = 0; i < 40; ++i) {
            advance(5s);
            for (auto& each : hosts_) begin_and_complete(*each);
        }
        check_that_nothing_was_left_out();
    }

private:
    struct host {
        host(history& of, std::size_t number)
            : rate{995 + 2 * static_cast<int>(number)}, store{of.store_, answers{of}},
              job{store, "job", minutely, of.options(), clock, lh::fixed_owner_id{"host-" + std::to_string(number)}, lh::no_renewal{}}
        {
        }

        struct answers {
            history& of;
            lh::store_fault operator()(const lh::store_call&) const { return of.next_fault(); }
        };
        using store_type = lh::faulty_store<memory, answers>;
        using job_type = lh::recurring<store_type, lh::every, lh::manual_clock, lh::fixed_owner_id, lh::no_renewal>;

        int rate;  // of its clock, in thousandths: some are slow, some are fast
        lh::manual_clock clock;
        store_type store;
        job_type job;
        std::optional<job_type::run_type> run;
    };

    struct dead {
        host::job_type::run_type run;
        lh::fire_time until;  // when its lease is certainly over, so that its destructor ends nobody's
    };

    lh::recurring_options options()
    {
        return {.ttl = ttl,
                .safety_margin = 2s,
                .catch_up = how_,
                .max_attempts = max_attempts_,
                .retry_min = 1s,
                .retry_max = 8s,
                .begin_within = 30s,
                .on_missed = [this](lh::fire_time fire) { tell(fire, missed_); },
                .on_given_up = [this](lh::fire_time fire) { tell(fire, given_up_); }};
    }

    int between(int low, int high) { return std::uniform_int_distribution<int>{low, high}(random_); }

    lh::store_fault next_fault()
    {
        if (between(1, 100) > losses_) return lh::store_fault::none;
        return between(0, 1) == 0 ? lh::store_fault::lose_request : lh::store_fault::lose_reply;
    }

    lh::fire_time now()
    {
        std::error_code ec;
        return store_.now(ec);
    }

    void advance(lh::duration by)
    {
        clock_.advance(by);
        for (auto& each : hosts_) each->clock.advance(by * each->rate / 1000);
        while (!dead_.empty() && dead_.front().until < now()) dead_.pop_front();
    }

    void step()
    {
        host& one = *hosts_[static_cast<std::size_t>(between(0, hosts - 1))];
        switch (between(0, 9)) {
        case 0: return advance(1ms * between(1, 90'000));  // an outage, as a rule longer than the ttl
        case 1:
        case 2:
        case 3: return advance(1ms * between(1, 8'000));
        case 4: return die(one);
        case 5: return end(one, false);
        default: return one.run ? end(one, true) : begin(one);
        }
    }

    void begin(host& one)
    {
        if (one.run) return;
        std::error_code ec;
        auto run = one.job.try_begin(ec);
        BOOST_TEST((!ec || run.empty()));
        if (!run) return;
        const lh::fire_time fire = run.fire();
        // A rate of half a percent for a minute, and what the margin allows.
        BOOST_TEST((fire <= now() + 1s), "a fire was begun before its time");
        BOOST_TEST(!completed_.contains(fire), "a fire was begun after it was completed");
        BOOST_TEST(!given_up_.contains(fire), "a fire was begun after it was given up");
        if (max_attempts_ > 0) BOOST_TEST(++attempts_[fire] <= max_attempts_);
        first_ = std::min(first_, fire);
        one.run.emplace(std::move(run));
    }

    void end(host& one, bool well)
    {
        if (!one.run) return;
        std::error_code ec;
        const lh::fire_time fire = one.run->fire();
        const bool text_saved = one.run->save_checkpoint(std::to_string(fire.time_since_epoch().count()), ec);
        if (text_saved && well && one.run->complete(ec)) {
            BOOST_TEST(!ec);
            BOOST_TEST(completed_.insert(fire).second, "a fire was completed twice");
            BOOST_TEST((fire == *completed_.rbegin()), "fires are completed in order");
        }
        else if (ec) {
            unknown_.insert(fire);
        }
        if (!well) one.run->fail(ec);
        one.run.reset();
    }

    // Between its work and the completion, or after it: its lease stays until the ttl is over.
    void die(host& one)
    {
        if (!one.run) return;
        const lh::fire_time fire = one.run->fire();
        std::error_code ec;
        if (between(0, 1) == 0 && one.run->complete(ec)) completed_.insert(fire);
        if (ec) unknown_.insert(fire);
        dead_.push_back({std::move(*one.run), now() + ttl + 1s});
        one.run.reset();
    }

    void begin_and_complete(host& one)
    {
        begin(one);
        end(one, true);
    }

    static void tell(lh::fire_time fire, std::set<lh::fire_time>& into)
    {
        BOOST_TEST(into.insert(fire).second, "a fire was told twice");
    }

    // A host that dies as it tells is not simulated: so each fire since the first was completed, given up or told, or its completion had no
    // answer.
    void check_that_nothing_was_left_out()
    {
        const auto record = lh::read_fire_record(store_.checkpoint("job").value().text);
        BOOST_REQUIRE(record.has_value());
        std::size_t told = 0;
        for (lh::fire_time fire = first_; fire <= *record->passed; fire = minutely.next(fire)) {
            const bool known = completed_.contains(fire) || given_up_.contains(fire) || missed_.contains(fire) || unknown_.contains(fire);
            if (!known && losses_seen()) continue;  // noted by a write whose answer was lost
            BOOST_TEST(known, "a fire was left out silently");
            ++told;
        }
        BOOST_TEST(told > 3U);
        BOOST_TEST((*record->passed > now() - 2min));
        for (const lh::fire_time fire : missed_) BOOST_TEST(!completed_.contains(fire));
        if (how_ == lh::catch_up::all) BOOST_TEST(missed_.empty());
    }

    [[nodiscard]] bool losses_seen() const noexcept { return losing_; }

    std::mt19937 random_;
    const lh::catch_up how_;
    const int max_attempts_;
    int losses_;  // percent of all calls
    const bool losing_ = losses_ > 0;
    lh::manual_clock clock_;
    memory store_{clock_, begins};
    std::deque<dead> dead_;
    std::vector<std::unique_ptr<host>> hosts_;
    std::set<lh::fire_time> completed_, missed_, given_up_, unknown_;
    std::map<lh::fire_time, int> attempts_;
    lh::fire_time first_ = lh::no_fire;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(recurring_random_test)

BOOST_AUTO_TEST_CASE(each_fire_is_completed_at_most_once_in_order_and_none_is_left_out_silently)
{
    for (std::uint32_t seed = 1; seed <= 90; ++seed)
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            const auto how = static_cast<lh::catch_up>(seed % 3);
            history{seed * 7919, how, seed % 2 == 0 ? 0 : 3}.run();
        }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace recurring_random_test
