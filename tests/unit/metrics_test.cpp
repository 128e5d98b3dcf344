// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>
#include <leasehold/metrics.hpp>

#include <contract/asked_once.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <ios>
#include <limits>
#include <locale>
#include <new>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(metrics_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

std::string text_of(const lh::metrics& m)
{
    std::ostringstream out;
    m.write_prometheus(out);
    return out.str();
}

// The value after `name{labels}`; empty if there is no such line.
std::string value_of(const std::string& text, const std::string& sample)
{
    const std::size_t at = text.find("\n" + sample + " ");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + sample.size() + 2;
    return text.substr(begin, text.find('\n', begin) - begin);
}

std::string value_of(const lh::metrics& m, const std::string& sample) { return value_of(text_of(m), sample); }

lh::store_call_report answered(bool yes, lh::duration elapsed = 1ms) { return {.error = {}, .succeeded = yes, .elapsed = elapsed}; }
lh::store_call_report failed(std::error_code error) { return {.error = error}; }

}  // namespace

BOOST_AUTO_TEST_CASE(more_names_than_memory_can_hold_are_refused)
{
    for (const std::size_t most : {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() / 2 + 1})
        BOOST_CHECK_THROW(lh::metrics{most}, std::bad_alloc);
}

BOOST_AUTO_TEST_CASE(name_that_prometheus_would_refuse_is_counted_with_the_others)
{
    lh::metrics m{1};
    for (const char* name : {"(others)", "\xff", "", "leader", "one too many"})
        m(lh::store_call{.operation = lh::store_operation::try_acquire, .name = name}, answered(true));
    BOOST_TEST(value_of(m, "leasehold_attempts_total{lease=\"(others)\",outcome=\"granted\"}") == "4");
    BOOST_TEST(value_of(m, "leasehold_attempts_total{lease=\"leader\",outcome=\"granted\"}") == "1");
    BOOST_TEST(text_of(m).find('\xff') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_life_of_a_lease_is_counted)
{
    lh::manual_clock clock;
    lh::basic_memory_store store{clock};
    lh::metrics m;
    lh::hooked_store observed{store, std::ref(m)};
    lh::basic_lease one{observed, "leader", 30s, clock, lh::no_renewal{}};
    lh::basic_lease other{observed, "leader", 30s, clock};
    {
        auto guard = one.try_acquire();
        BOOST_TEST(is_empty(other.try_acquire()));
        BOOST_TEST(value_of(m, "leasehold_held{lease=\"leader\"}") == "1");
        BOOST_TEST(guard.renew());
        clock.advance(3s);
    }
    BOOST_TEST(value_of(m, "leasehold_held{lease=\"leader\"}") == "0");
    {
        auto guard = one.try_acquire();
        store.force_release("leader");
        BOOST_TEST(guard.release() == lh::release_outcome::lost);
    }
    const std::string text = text_of(m);
    BOOST_TEST(value_of(text, "leasehold_attempts_total{lease=\"leader\",outcome=\"granted\"}") == "2");
    BOOST_TEST(value_of(text, "leasehold_attempts_total{lease=\"leader\",outcome=\"busy\"}") == "1");
    BOOST_TEST(value_of(text, "leasehold_renewals_total{lease=\"leader\",outcome=\"renewed\"}") == "1");
    BOOST_TEST(value_of(text, "leasehold_releases_total{lease=\"leader\",outcome=\"released\"}") == "1");
    BOOST_TEST(value_of(text, "leasehold_releases_total{lease=\"leader\",outcome=\"over\"}") == "1");
    BOOST_TEST(value_of(text, "leasehold_lost_total{lease=\"leader\",reason=\"over\"}") == "1");
    BOOST_TEST(value_of(text, "leasehold_fencing_token{lease=\"leader\"}") == "2");
    BOOST_TEST(value_of(text, "leasehold_term_duration_seconds_count{lease=\"leader\"}") == "2");
    BOOST_TEST(value_of(text, "leasehold_term_duration_seconds_sum{lease=\"leader\"}") == "3");
    BOOST_TEST(value_of(text, "leasehold_wait_duration_seconds_count{lease=\"leader\"}") == "2");
}

// A holder learns of its loss from its next renewal, or from the stop callbacks of others that run before.
BOOST_AUTO_TEST_CASE(next_term_of_a_name_ends_one_whose_loss_was_not_told_yet)
{
    lh::manual_clock clock;
    lh::basic_memory_store store{clock};
    lh::metrics m;
    lh::hooked_store observed{store, std::ref(m)};
    lh::basic_lease one{observed, "leader", 30s, clock, lh::no_renewal{}};
    lh::basic_lease other{observed, "leader", 30s, clock, lh::no_renewal{}};
    auto first = one.try_acquire();
    store.force_release("leader");
    auto second = other.try_acquire();
    BOOST_TEST(value_of(m, "leasehold_held{lease=\"leader\"}") == "1");
    BOOST_TEST(first.release() == lh::release_outcome::lost);
    BOOST_TEST(value_of(m, "leasehold_held{lease=\"leader\"}") == "1");
    second.release();
    BOOST_TEST(value_of(m, "leasehold_held{lease=\"leader\"}") == "0");
    BOOST_TEST(value_of(m, "leasehold_term_duration_seconds_count{lease=\"leader\"}") == "2");
}

BOOST_AUTO_TEST_CASE(terms_of_names_that_share_their_numbers_are_counted)
{
    lh::metrics m{1};
    lh::manual_clock clock;
    lh::basic_memory_store store{clock};
    lh::hooked_store observed{store, std::ref(m)};
    lh::basic_lease a{observed, "a", 30s, clock}, b{observed, "b", 30s, clock}, c{observed, "c", 30s, clock};
    auto of_a = a.try_acquire(), of_b = b.try_acquire(), of_c = c.try_acquire();
    BOOST_TEST(value_of(m, "leasehold_held{lease=\"(others)\"}") == "2");
    of_b.release();
    BOOST_TEST(value_of(m, "leasehold_held{lease=\"(others)\"}") == "1");
}

BOOST_AUTO_TEST_CASE(errors_are_counted_by_code)
{
    lh::metrics m;
    const lh::store_call call{lh::store_operation::renew, "n"};
    m(call, failed(lh::errc::store_timeout));
    m(call, failed(lh::errc::store_timeout));
    m(call, failed(std::make_error_code(std::errc::not_enough_memory)));
    const std::string text = text_of(m);
    BOOST_TEST(value_of(text, "leasehold_store_errors_total{code=\"store_timeout\"}") == "2");
    BOOST_TEST(value_of(text, "leasehold_store_errors_total{code=\"other\"}") == "1");
    BOOST_TEST(value_of(text, "leasehold_store_errors_total{code=\"store_failure\"}") == "0");
    BOOST_TEST(value_of(text, "leasehold_renewals_total{lease=\"n\",outcome=\"error\"}") == "3");
}

BOOST_AUTO_TEST_CASE(a_duration_is_in_the_bucket_whose_bound_it_does_not_exceed)
{
    lh::metrics m;
    const lh::store_call call{lh::store_operation::try_acquire, "n"};
    for (const lh::duration each : {lh::duration{0}, lh::duration{100us}, lh::duration{101us}, lh::duration{400us}, lh::duration{401us},
                                    lh::duration{1h}, lh::duration{24h}})
        m(call, answered(true, each));
    const auto up_to = [text = text_of(m)](const std::string& bound) {
        return value_of(text, "leasehold_store_call_duration_seconds_bucket{operation=\"try_acquire\",le=\"" + bound + "\"}");
    };
    BOOST_TEST(up_to("0.0001") == "2");
    BOOST_TEST(up_to("0.0004") == "4");
    BOOST_TEST(up_to("0.0016") == "5");
    BOOST_TEST(up_to("6710.8864") == "6");
    BOOST_TEST(up_to("+Inf") == "7");
}

BOOST_AUTO_TEST_CASE(names_beyond_the_limit_share_their_numbers)
{
    lh::metrics m{2};
    for (const char* name : {"a", "b", "c", "d", "a", "c"}) m(lh::store_call{lh::store_operation::try_acquire, name}, answered(true));
    const std::string text = text_of(m);
    BOOST_TEST(value_of(text, "leasehold_attempts_total{lease=\"a\",outcome=\"granted\"}") == "2");
    BOOST_TEST(value_of(text, "leasehold_attempts_total{lease=\"b\",outcome=\"granted\"}") == "1");
    BOOST_TEST(value_of(text, "leasehold_attempts_total{lease=\"c\",outcome=\"granted\"}").empty());
    BOOST_TEST(value_of(text, "leasehold_attempts_total{lease=\"(others)\",outcome=\"granted\"}") == "3");
}

BOOST_AUTO_TEST_CASE(names_are_escaped_and_numbers_are_the_same_in_every_locale)
{
    struct with_commas : std::numpunct<char> {
        char do_decimal_point() const override { return ','; }
        char do_thousands_sep() const override { return '.'; }
        std::string do_grouping() const override { return "\3"; }
    };
    lh::metrics m;
    m(lh::store_call{lh::store_operation::try_acquire, "a\"b\\c\nd"}, answered(true, 1500ms));
    m(lh::lease_event{.kind = lh::lease_event_kind::acquired, .name = "n", .token = lh::fencing_token{1234567}});
    std::ostringstream out;
    out.imbue(std::locale{std::locale::classic(), new with_commas});
    out << std::hex << std::showbase;
    m.write_prometheus(out);
    BOOST_TEST(value_of(out.str(), R"(leasehold_attempts_total{lease="a\"b\\c\nd",outcome="granted"})") == "1");
    BOOST_TEST(value_of(out.str(), "leasehold_fencing_token{lease=\"n\"}") == "1234567");
    BOOST_TEST(value_of(out.str(), "leasehold_store_call_duration_seconds_sum{operation=\"try_acquire\"}") == "1.5");
}

BOOST_AUTO_TEST_CASE(every_number_of_a_file_is_labelled_with_its_name)
{
    lh::metrics m;
    m(lh::store_call{lh::store_operation::renew, "n"}, answered(true));
    std::ostringstream out;
    m.write_prometheus(out, "job \"a\".prom");
    BOOST_TEST(value_of(out.str(), R"(leasehold_renewals_total{lease="n",outcome="renewed",file="job \"a\".prom"})") == "1");
    BOOST_TEST(value_of(out.str(), R"(leasehold_loss_signal_delay_seconds_count{file="job \"a\".prom"})") == "0");
    BOOST_TEST(value_of(out.str(), R"(leasehold_loss_signal_delay_seconds_bucket{file="job \"a\".prom",le="+Inf"})") == "0");
    std::istringstream lines{out.str()};
    for (std::string line; std::getline(lines, line);)
        BOOST_TEST((line.starts_with('#') || line.find("file=\"") != std::string::npos), line);
}

BOOST_AUTO_TEST_CASE(threads_count_together)
{
    lh::metrics m{64};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < 2000; ++i) m(lh::store_call{lh::store_operation::try_acquire, std::to_string(i % 50)}, answered(true));
            });
        static_cast<void>(text_of(m));
    }
    const std::string text = text_of(m);
    for (int i = 0; i < 50; ++i)
        BOOST_TEST(value_of(text, "leasehold_attempts_total{lease=\"" + std::to_string(i) + "\",outcome=\"granted\"}") == "160");
    BOOST_TEST(value_of(text, "leasehold_store_call_duration_seconds_count{operation=\"try_acquire\"}") == "8000");
    BOOST_TEST(text.find("(others)") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(fires_of_a_schedule_are_counted_beside_the_users_hooks)
{
    lh::manual_clock clock;
    lh::basic_memory_store store{clock, std::chrono::sys_days{std::chrono::year{2026} / 11 / 25} + 12h};
    lh::metrics counted;
    std::ostringstream none, all;
    counted.write_prometheus(none);
    BOOST_TEST(none.str().find("leasehold_fire") == std::string::npos);
    int completed = 0, last = 0, missed = 0, given_up = 0;
    lh::recurring job{store, "report", lh::every{.period = 1h},
                      counted.counting_fires("report", {.max_attempts = 1,
                                                        .on_completed = [&](lh::fire_time) { ++completed; },
                                                        .on_last_completed = [&](const lh::completed_fire&) { ++last; },
                                                        .on_missed = [&](lh::fire_time) { ++missed; },
                                                        .on_given_up = [&](lh::fire_time) { ++given_up; }}),
                      clock, lh::no_renewal{}};
    {
        auto run = job.try_begin();
        BOOST_TEST(run.complete());
    }
    clock.advance(3h);
    {
        auto run = job.try_begin();
        BOOST_TEST(run.fail());
    }
    BOOST_TEST(completed == 1);
    BOOST_TEST(last == 1);
    BOOST_TEST(missed == 2);
    BOOST_TEST(given_up == 1);
    counted.write_prometheus(all);
    BOOST_TEST(all.str().find("leasehold_fires_total{lease=\"report\",outcome=\"completed\"} 1\n") != std::string::npos);
    BOOST_TEST(all.str().find("leasehold_fires_total{lease=\"report\",outcome=\"missed\"} 2\n") != std::string::npos);
    BOOST_TEST(all.str().find("leasehold_fires_total{lease=\"report\",outcome=\"failed\"} 0\n") != std::string::npos);
    BOOST_TEST(all.str().find("leasehold_fires_total{lease=\"report\",outcome=\"given_up\"} 1\n") != std::string::npos);
}

namespace {

constexpr const char* last_completed = "leasehold_fire_last_completed_timestamp_seconds{lease=\"report\"}";
constexpr const char* in_a_row = "leasehold_fire_failures_in_a_row{lease=\"report\"}";

// The time, as the gauge writes it.
std::string seconds_of(lh::store_time time)
{
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count());
}

}  // namespace

BOOST_AUTO_TEST_CASE(gauges_tell_when_the_last_fire_was_completed_and_what_has_failed_since)
{
    constexpr lh::store_time noon = std::chrono::sys_days{std::chrono::year{2026} / 11 / 25} + 12h;
    lh::manual_clock clock;
    lh::basic_memory_store store{clock, noon};
    lh::metrics here, there;
    const auto host = [&](lh::metrics& counts) {
        return lh::recurring{store, "report", lh::every{.period = 1h}, counts.counting_fires("report"), clock, lh::no_renewal{}};
    };
    const auto fails = [&](auto& job) {
        std::stop_source stop;
        job.run(stop.get_token(), [&](auto&) {
            stop.request_stop();
            throw std::runtime_error{"fails"};
        });
    };
    const auto completes = [](auto& job) {
        auto run = job.try_begin();
        BOOST_TEST(run.complete());
    };
    auto one = host(here);
    BOOST_TEST(text_of(here).find("leasehold_fire_last") == std::string::npos, "nobody has completed a fire");
    BOOST_TEST(value_of(text_of(here), in_a_row) == "0");
    completes(one);
    BOOST_TEST(value_of(text_of(here), last_completed) == seconds_of(noon));
    clock.advance(1h);
    fails(one);
    clock.advance(1h);
    fails(one);
    BOOST_TEST(value_of(text_of(here), in_a_row) == "2");
    BOOST_TEST(value_of(text_of(here), last_completed) == seconds_of(noon));

    // A process that begins tells of the fires of others, and of its own failures only.
    auto other = host(there);
    BOOST_TEST(is_empty(other.try_begin()), "the pause after the failure");
    BOOST_TEST(value_of(text_of(there), last_completed) == seconds_of(noon));
    BOOST_TEST(value_of(text_of(there), "leasehold_fires_total{lease=\"report\",outcome=\"completed\"}") == "0");
    clock.advance(1s);
    completes(other);
    BOOST_TEST(value_of(text_of(there), last_completed) == seconds_of(noon + 2h + 1s));
    BOOST_TEST(value_of(text_of(there), in_a_row) == "0");
    BOOST_TEST(value_of(text_of(there), "leasehold_fires_total{lease=\"report\",outcome=\"completed\"}") == "1");

    // And the first one learns that somebody has made its failures good.
    clock.advance(1min);
    BOOST_TEST(is_empty(one.try_begin()));
    BOOST_TEST(value_of(text_of(here), in_a_row) == "0");
    BOOST_TEST(value_of(text_of(here), last_completed) == seconds_of(noon + 2h + 1s));
    BOOST_TEST(value_of(text_of(here), "leasehold_fires_total{lease=\"report\",outcome=\"completed\"}") == "1");

    // One that reads the same again makes nothing good.
    clock.advance(1h);
    fails(one);
    auto third = host(here);
    static_cast<void>(third.try_begin());
    BOOST_TEST(value_of(text_of(here), in_a_row) == "1");
}

BOOST_AUTO_TEST_CASE(names_that_share_their_numbers_have_no_state_of_fires)
{
    lh::metrics counted{1};
    static_cast<void>(counted.counting_fires("first"));
    static_cast<void>(counted.counting_fires("one too many"));
    const std::string text = text_of(counted);
    BOOST_TEST(value_of(text, "leasehold_fires_total{lease=\"(others)\",outcome=\"completed\"}") == "0");
    BOOST_TEST(value_of(text, "leasehold_fire_failures_in_a_row{lease=\"first\"}") == "0");
    BOOST_TEST(text.find("leasehold_fire_failures_in_a_row{lease=\"(others)\"}") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(events_of_a_group_are_counted)
{
    lh::metrics m;
    BOOST_TEST(text_of(m).find("shard") == std::string::npos);
    using kind = lh::shard_event_kind;
    const auto tell = [&m](kind of, std::size_t owned, std::size_t share) {
        m(lh::shard_event{.kind = of, .group = "orders", .owned = owned, .share = share});
    };
    tell(kind::share_changed, 0, 2);
    tell(kind::taken, 1, 2);
    tell(kind::taken, 2, 2);
    tell(kind::failed, 1, 2);
    tell(kind::given_back, 1, 2);
    tell(kind::lost, 1, 2);
    tell(kind::late, 0, 3);
    m(lh::shard_event{.kind = kind::taken, .group = "jobs", .owned = 7, .share = 8});
    const std::string text = text_of(m);
    BOOST_TEST(value_of(text, "leasehold_shards_owned{group=\"orders\"}") == "0");
    BOOST_TEST(value_of(text, "leasehold_shards_wanted{group=\"orders\"}") == "3");
    BOOST_TEST(value_of(text, "leasehold_shards_owned{group=\"jobs\"}") == "7");
    BOOST_TEST(value_of(text, "leasehold_shard_moves_total{group=\"orders\",kind=\"taken\"}") == "2");
    BOOST_TEST(value_of(text, "leasehold_shard_moves_total{group=\"orders\",kind=\"given_back\"}") == "1");
    BOOST_TEST(value_of(text, "leasehold_shard_moves_total{group=\"orders\",kind=\"lost\"}") == "1");
    BOOST_TEST(value_of(text, "leasehold_shard_failures_total{group=\"orders\"}") == "1");
    BOOST_TEST(value_of(text, "leasehold_shard_drains_late_total{group=\"orders\"}") == "1");
}

BOOST_AUTO_TEST_SUITE_END()
