// SPDX-License-Identifier: BSL-1.0
// The suite has to be able to fail: it is run on stores with one defect each, and one of its cases, named here, has to
// notice. Each run is this program again, with the defect as its argument: broken_stores_test -- <defect> shows all that
// notice.
#include <contract/broken_store.hpp>
#include <contract/contract.hpp>

#include <support/child_process.hpp>

#define BOOST_TEST_NO_MAIN
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

namespace lh = leasehold;
using leasehold_test::broken_store;
using leasehold_test::defect;

struct caught_by {
    defect what;
    const char* name;
    const char* by;  // a case of the suite that must notice; others may too
};

constexpr std::array catches{
    caught_by{defect::token_reused_after_release, "token_reused_after_release", "token_grows_after_each_release"},
    caught_by{defect::token_reused_after_forced_release, "token_reused_after_forced_release",
              "token_is_not_reused_after_a_forced_release"},
    caught_by{defect::token_kept_for_the_same_owner_after_expiry, "token_kept_for_the_same_owner_after_expiry",
              "token_grows_after_expiry_for_the_same_owner"},
    caught_by{defect::token_kept_for_the_same_owner, "token_kept_for_the_same_owner",
              "same_owner_again_is_granted_a_new_term_at_once"},
    caught_by{defect::token_changed_by_a_renewal, "token_changed_by_a_renewal", "token_stays_the_same_across_renewals"},
    caught_by{defect::grant_not_atomic, "grant_not_atomic", "first_grant_to_many_at_once_has_one_winner"},
    caught_by{defect::take_over_not_atomic, "take_over_not_atomic",
              "take_over_by_many_at_once_has_one_winner_and_a_growing_token"},
    caught_by{defect::release_then_reset_not_atomic, "release_then_reset_not_atomic",
              "eight_threads_on_one_name_never_hold_it_at_once"},
    caught_by{defect::expired_a_little_early, "expired_a_little_early",
              "lease_is_busy_until_its_ttl_has_passed_and_no_longer"},
    caught_by{defect::never_expires, "never_expires", "expired_lease_is_free_to_others"},
    caught_by{defect::busy_attempt_writes, "busy_attempt_writes", "busy_changes_nothing"},
    caught_by{defect::busy_token_wrong, "busy_token_wrong", "busy_tells_the_holders_token_and_remaining_time"},
    caught_by{defect::repeated_attempt_keeps_the_old_end, "repeated_attempt_keeps_the_old_end",
              "same_owner_again_gets_a_fresh_ttl"},
    caught_by{defect::repeated_attempt_shortens, "repeated_attempt_shortens", "same_owner_again_never_shortens_what_it_had"},
    caught_by{defect::renewal_does_not_extend, "renewal_does_not_extend", "renewal_extends_the_term"},
    caught_by{defect::renewal_shortens, "renewal_shortens", "renewal_never_shortens_the_term"},
    caught_by{defect::renewal_ignores_expiry, "renewal_ignores_expiry",
              "renewal_of_an_expired_term_is_false_and_revives_nothing"},
    caught_by{defect::renewal_ignores_the_token, "renewal_ignores_the_token",
              "renewal_with_the_same_owners_earlier_token_is_false"},
    caught_by{defect::renewal_ignores_the_owner, "renewal_ignores_the_owner",
              "renewal_of_a_term_that_was_taken_over_is_false_and_harmless"},
    caught_by{defect::renewal_creates, "renewal_creates", "renewal_of_a_name_never_granted_is_false_and_creates_nothing"},
    caught_by{defect::release_ignores_expiry, "release_ignores_expiry",
              "release_of_an_expired_term_is_false_and_closes_nothing"},
    caught_by{defect::release_ignores_the_token, "release_ignores_the_token",
              "release_with_the_same_owners_earlier_token_is_false"},
    caught_by{defect::release_ignores_the_owner, "release_ignores_the_owner", "release_by_another_owner_is_false"},
    caught_by{defect::release_always_true, "release_always_true", "second_release_is_false"},
    caught_by{defect::keep_closed_ignored, "keep_closed_ignored", "closed_name_is_busy_to_everybody"},
    caught_by{defect::keep_closed_lets_the_same_owner_in, "keep_closed_lets_the_same_owner_in",
              "closed_name_is_busy_to_everybody"},
    caught_by{defect::keep_closed_shows_the_owner, "keep_closed_shows_the_owner",
              "closed_name_is_shown_with_an_empty_owner"},
    caught_by{defect::keep_closed_never_shorter_than_the_term, "keep_closed_never_shorter_than_the_term",
              "closing_can_be_shorter_than_what_the_term_had_left"},
    caught_by{defect::names_ignore_case, "names_ignore_case", "lookalike_names_are_distinct_and_come_back_unchanged"},
    caught_by{defect::names_ignore_trailing_spaces, "names_ignore_trailing_spaces",
              "lookalike_names_are_distinct_and_come_back_unchanged"},
    caught_by{defect::names_cut_at_180_bytes, "names_cut_at_180_bytes",
              "longest_names_and_owners_differ_in_their_last_byte"},
    caught_by{defect::owners_ignore_case, "owners_ignore_case", "owners_that_collations_take_for_equal_are_distinct"},
    caught_by{defect::owners_ignore_trailing_spaces, "owners_ignore_trailing_spaces", "lookalike_owners_are_distinct"},
    caught_by{defect::inspect_shows_what_expired, "inspect_shows_what_expired", "expired_lease_is_free_to_others"},
    caught_by{defect::inspect_not_atomic, "inspect_not_atomic", "all_answers_to_contenders_have_an_order_that_explains_them"},
    caught_by{defect::error_code_not_cleared, "error_code_not_cleared", "success_clears_the_error_code"},
    caught_by{defect::failure_reported_as_busy, "failure_reported_as_busy", "different_names_at_once_are_all_granted"},
    caught_by{defect::list_not_sorted, "list_not_sorted",
              "list_without_a_prefix_shows_all_names_in_the_order_of_their_bytes"},
    caught_by{defect::list_shows_what_is_free, "list_shows_what_is_free", "list_shows_what_is_held_and_nothing_else"},
    caught_by{defect::list_takes_prefixes_as_patterns, "list_takes_prefixes_as_patterns",
              "list_takes_its_prefix_byte_by_byte"},
    caught_by{defect::forced_release_forgets, "forced_release_forgets", "token_is_not_reused_after_a_forced_release"},
    caught_by{defect::forced_release_does_nothing, "forced_release_does_nothing", "forced_release_ends_the_term"},
    caught_by{defect::ticket_never_wakes, "ticket_never_wakes", "waiter_gets_the_lease_after_a_release"},
    caught_by{defect::ticket_counts_late, "ticket_counts_late", "release_right_after_the_busy_answer_is_not_missed"},
    caught_by{defect::ticket_works_once, "ticket_works_once", "lease_can_be_waited_for_again"},
    caught_by{defect::only_the_last_ticket_is_woken, "only_the_last_ticket_is_woken",
              "waits_for_different_names_do_not_disturb_each_other"},
    caught_by{defect::turn_wakes_nobody, "turn_wakes_nobody", "turns_come_in_order_across_processes_and_each_wakes_the_next"},
    caught_by{defect::turn_is_forgotten, "turn_is_forgotten", "turns_come_in_order_across_processes_and_each_wakes_the_next"},
    caught_by{defect::turn_of_any_name, "turn_of_any_name", "turn_at_a_name_has_nothing_to_do_with_its_lease"},
    caught_by{defect::renewal_wakes, "renewal_wakes", "renewals_by_the_holder_wake_nobody"},
    caught_by{defect::ended_wait_keeps_the_name_reserved, "ended_wait_keeps_the_name_reserved",
              "wait_that_ran_out_of_time_leaves_nothing_behind"},
    caught_by{defect::waiters_are_shown_as_holders, "waiters_are_shown_as_holders",
              "wait_that_was_cancelled_ends_soon_and_leaves_nothing_behind"},
    caught_by{defect::waiters_are_told_too_long, "waiters_are_told_too_long",
              "waiter_gets_the_lease_of_a_holder_that_never_releases_when_it_runs_out_and_not_before"},
    caught_by{defect::waiters_are_told_next_to_nothing, "waiters_are_told_next_to_nothing", "waiter_asks_the_store_rarely"},
    caught_by{defect::waiters_are_let_in_early, "waiters_are_let_in_early",
              "waiter_gets_the_lease_of_a_holder_that_never_releases_when_it_runs_out_and_not_before"},
    caught_by{defect::waiters_get_what_is_held, "waiters_get_what_is_held",
              "threads_that_wait_for_a_name_take_turns_and_ask_one_at_a_time"},
    caught_by{defect::busy_reported_as_timeout, "busy_reported_as_timeout", "wait_of_no_time_is_exactly_one_attempt"},
    caught_by{defect::closed_name_is_free_to_waiters, "closed_name_is_free_to_waiters", "min_hold_is_waited_for"},
    caught_by{defect::outage_reported_as_busy, "outage_reported_as_busy", "outage_of_the_store_ends_a_wait_with_its_error"},
    caught_by{defect::deleted_name_stays_busy, "deleted_name_stays_busy",
              "waiter_for_a_name_that_is_deleted_gets_it_when_the_term_would_have_run_out_at_the_latest"},
    caught_by{defect::every_tenth_release_is_forgotten, "every_tenth_release_is_forgotten",
              "threads_that_wait_for_a_name_take_turns_and_ask_one_at_a_time"},
    caught_by{defect::release_in_the_instant_of_the_grant_is_forgotten,
              "release_in_the_instant_of_the_grant_is_forgotten", "several_leases_are_taken_all_or_none"},
    caught_by{defect::batch_is_answered_with_yes, "batch_is_answered_with_yes",
              "each_of_many_renewals_is_answered_by_itself"},
    caught_by{defect::batch_is_answered_by_its_first, "batch_is_answered_by_its_first",
              "renewals_of_expired_terms_are_false_and_revive_nothing"},
    caught_by{defect::batch_ends_at_the_first_no, "batch_ends_at_the_first_no",
              "each_of_many_renewals_is_answered_by_itself"},
    caught_by{defect::batch_has_the_first_ttl, "batch_has_the_first_ttl", "many_renewals_keep_their_own_ttls"},
    caught_by{defect::batch_forgets_its_seventeenth, "batch_forgets_its_seventeenth",
              "many_renewals_extend_each_term"},
    caught_by{defect::batch_takes_any_of_its_tokens, "batch_takes_any_of_its_tokens",
              "terms_and_owners_of_a_batch_are_not_mixed_up"},
    caught_by{defect::batch_of_releases_is_all_or_nothing, "batch_of_releases_is_all_or_nothing",
              "each_of_many_releases_is_answered_by_itself"},
    caught_by{defect::batch_of_releases_keeps_nothing_closed, "batch_of_releases_keeps_nothing_closed",
              "many_releases_can_keep_names_closed"},
    caught_by{defect::batch_of_releases_repeats_yes, "batch_of_releases_repeats_yes",
              "the_same_release_twice_is_true_once"},
    caught_by{defect::checkpoint_ignores_the_token, "checkpoint_ignores_the_token", "checkpoint_of_an_earlier_term_is_refused"},
    caught_by{defect::checkpoint_ignores_the_owner, "checkpoint_ignores_the_owner", "checkpoint_of_an_earlier_term_is_refused"},
    caught_by{defect::checkpoint_ignores_expiry, "checkpoint_ignores_expiry", "term_that_is_over_saves_no_checkpoint"},
    caught_by{defect::checkpoint_of_a_term_that_is_over_is_saved, "checkpoint_of_a_term_that_is_over_is_saved",
              "term_that_is_over_saves_no_checkpoint"},
    caught_by{defect::checkpoint_creates, "checkpoint_creates", "name_that_nobody_has_held_has_no_checkpoint"},
    caught_by{defect::checkpoint_ends_with_the_term, "checkpoint_ends_with_the_term",
              "checkpoint_outlives_an_expiry_and_the_next_holders_terms"},
    caught_by{defect::checkpoint_ends_with_a_release, "checkpoint_ends_with_a_release", "checkpoint_outlives_renewals_and_a_release"},
    caught_by{defect::checkpoint_ends_with_a_forced_release, "checkpoint_ends_with_a_forced_release",
              "checkpoint_outlives_a_forced_release"},
    caught_by{defect::checkpoint_has_the_token_of_now, "checkpoint_has_the_token_of_now",
              "checkpoint_outlives_an_expiry_and_the_next_holders_terms"},
    caught_by{defect::checkpoint_extends, "checkpoint_extends", "checkpoint_does_not_extend_the_term"},
    caught_by{defect::checkpoint_replaces_any, "checkpoint_replaces_any", "save_that_names_what_it_replaces_writes_over_nothing_else"},
    caught_by{defect::checkpoint_replaces_none, "checkpoint_replaces_none", "save_that_names_what_it_replaces_writes_over_nothing_else"},
    caught_by{defect::checkpoint_is_cut_at_1024_bytes, "checkpoint_is_cut_at_1024_bytes", "checkpoint_comes_back_byte_by_byte"},
    caught_by{defect::checkpoint_takes_any_text, "checkpoint_takes_any_text", "texts_that_cannot_be_checkpoints_are_refused"},
    caught_by{defect::checkpoint_of_another_name, "checkpoint_of_another_name", "name_that_nobody_has_held_has_no_checkpoint"},
    caught_by{defect::empty_checkpoint_is_none, "empty_checkpoint_is_none", "checkpoint_comes_back_byte_by_byte"},
    caught_by{defect::store_clock_is_local, "store_clock_is_local", "store_clock_is_near_the_system_s_in_utc"},
    caught_by{defect::store_clock_stands_still, "store_clock_stands_still", "store_clock_goes_on_with_the_terms"},
    caught_by{defect::replacement_is_not_kept, "replacement_is_not_kept", "fire_that_one_host_completes_is_done_for_the_others"},
    caught_by{defect::replacement_ignores_the_term, "replacement_ignores_the_term", "host_that_is_late_completes_nothing"},
    caught_by{defect::release_after_a_checkpoint_is_forgotten, "release_after_a_checkpoint_is_forgotten",
              "fire_that_was_not_completed_is_open_for_the_others"},
    caught_by{defect::checkpoint_loses_its_second_line, "checkpoint_loses_its_second_line",
              "another_schedule_of_the_name_is_refused_unless_it_replaces_the_first"},
    caught_by{defect::time_of_a_look_stands_still, "time_of_a_look_stands_still", "next_fire_is_due_when_the_stores_clock_says_so"},
    caught_by{defect::list_shows_no_requests, "list_shows_no_requests", "member_that_joins_gets_an_equal_share"},
    caught_by{defect::list_shows_released_terms, "list_shows_released_terms", "member_that_leaves_gives_all_to_the_other"},
    caught_by{defect::checkpoint_ends_with_a_term_that_was_asked, "checkpoint_ends_with_a_term_that_was_asked",
              "checkpoint_of_a_shard_goes_with_it"},
    caught_by{defect::owners_ignore_digits, "owners_ignore_digits", "member_with_another_count_is_refused"},
};
static_assert(catches.size() == static_cast<std::size_t>(defect::count_) - 1, "every defect has a case that catches it");

struct broken_fixture {
    lh::manual_clock time;
    broken_store leases{time};

    auto& store() { return leases; }
    auto& another_store() { return leases; }
    void let_pass(lh::duration d) { time.advance(d); }
    lh::duration short_ttl() const { return std::chrono::seconds{10}; }
    lh::manual_clock clock() const { return time; }

    void delete_row(std::string_view name) { leases.erase(name); }

    struct outage {
        broken_store& of;
        ~outage() { of.set_outage(false); }
    };
    outage begin_outage()
    {
        leases.set_outage(true);
        return {leases};
    }
};

std::string this_program;

// The names of the suite's cases that failed, of those asked for ("*": all), on a store with this defect.
std::vector<std::string> failures_with(const std::string& defect_name, const std::string& cases)
{
    leasehold_test::child_process run{{this_program, "--catch_system_errors=no", "--color_output=no", "--log_level=test_suite",
                                       "--report_sink=stdout", "--report_level=detailed", "--run_test=*/*/" + cases, "--",
                                       defect_name},
                                      {.capture = true}};
    std::istringstream report{run.read_all(std::chrono::minutes{5})};
    const bool passed = run.wait(std::chrono::minutes{1}).success();
    std::vector<std::string> failed;
    for (std::string line; std::getline(report, line);) {
        const std::size_t begin = line.find("Test case \"");
        const std::size_t end = std::min(line.find("\" has failed"), line.find("\" was aborted"));
        if (begin == std::string::npos || end == std::string::npos) continue;
        const std::string path = line.substr(begin + 11, end - begin - 11);
        failed.push_back(path.substr(path.rfind('/') + 1));
    }
    if (passed != failed.empty())
        throw std::runtime_error{"the run with the defect " + defect_name + " did not get as far as its report"};
    return failed;
}

// All runs, a few at a time: where a defect keeps somebody waiting, a run waits too.
class catching_runs {
public:
    catching_runs()
    {
        for (auto& thread : threads_)
            thread = std::jthread{[this] {
                for (std::size_t i = next_++; i < catches.size(); i = next_++) {
                    std::packaged_task run{[i] { return failures_with(catches[i].name, catches[i].by); }};
                    run();
                    results_[i].set_value(run.get_future());
                }
            }};
    }

    std::vector<std::string> failures_of(std::size_t number) { return results_[number].get_future().get().get(); }

private:
    std::atomic<std::size_t> next_ = 0;
    std::array<std::promise<std::future<std::vector<std::string>>>, catches.size()> results_;
    std::array<std::jthread, 4> threads_;
};

void suite_catches(std::size_t number)
{
    static catching_runs runs;
    const std::vector<std::string> noticed{catches[number].by};
    BOOST_TEST(runs.failures_of(number) == noticed, boost::test_tools::per_element());
}

bool initialise()
{
    auto& all = boost::unit_test::framework::master_test_suite();
    this_program = all.argv[0];
    if (all.argc > 1) {
        const std::string_view asked = all.argv[1];
        const auto found = std::ranges::find(catches, asked, &caught_by::name);
        if (found != catches.end())
            leasehold_test::in_force = found->what;
        else if (asked != "none")
            return false;
        static const lh::contract::suite<broken_fixture> contract{"broken"};
        return true;
    }
    auto* catching = BOOST_TEST_SUITE("broken_stores");
    all.add(catching);
    catching->add(boost::unit_test::make_test_case(
        [] { BOOST_TEST(failures_with("none", "*") == std::vector<std::string>{}, boost::test_tools::per_element()); },
        "store_without_a_defect_passes", __FILE__, __LINE__));
    for (std::size_t i = 0; i < catches.size(); ++i)
        catching->add(boost::unit_test::make_test_case([i] { suite_catches(i); }, catches[i].name, __FILE__, __LINE__));
    return true;
}

}  // namespace

int main(int argc, char** argv) { return boost::unit_test::unit_test_main(&initialise, argc, argv); }
