// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_BROKEN_STORE_DEFECTS_HPP
#define LEASEHOLD_TESTS_CONTRACT_BROKEN_STORE_DEFECTS_HPP

namespace leasehold_test {

// What may be wrong with a store, one at a time.
enum class defect {
    none,
    token_reused_after_release,
    token_reused_after_forced_release,
    token_kept_for_the_same_owner_after_expiry,
    token_kept_for_the_same_owner,
    token_changed_by_a_renewal,
    grant_not_atomic,
    take_over_not_atomic,
    release_then_reset_not_atomic,
    expired_a_little_early,
    never_expires,
    busy_attempt_writes,
    busy_token_wrong,
    repeated_attempt_keeps_the_old_end,
    repeated_attempt_shortens,
    renewal_does_not_extend,
    renewal_shortens,
    renewal_ignores_expiry,
    renewal_ignores_the_token,
    renewal_ignores_the_owner,
    renewal_creates,
    release_ignores_expiry,
    release_ignores_the_token,
    release_ignores_the_owner,
    release_always_true,
    keep_closed_ignored,
    keep_closed_lets_the_same_owner_in,
    keep_closed_shows_the_owner,
    keep_closed_never_shorter_than_the_term,
    names_ignore_case,
    names_ignore_trailing_spaces,
    names_cut_at_180_bytes,
    owners_ignore_case,
    owners_ignore_trailing_spaces,
    inspect_shows_what_expired,
    inspect_not_atomic,
    error_code_not_cleared,
    failure_reported_as_busy,
    list_not_sorted,
    list_shows_what_is_free,
    list_takes_prefixes_as_patterns,
    forced_release_forgets,
    forced_release_does_nothing,
    ticket_never_wakes,
    ticket_counts_late,
    ticket_works_once,
    only_the_last_ticket_is_woken,
    turn_wakes_nobody,
    turn_is_forgotten,
    turn_of_any_name,
    renewal_wakes,
    ended_wait_keeps_the_name_reserved,
    waiters_are_shown_as_holders,
    waiters_are_told_too_long,
    waiters_are_told_next_to_nothing,
    waiters_are_let_in_early,
    waiters_get_what_is_held,
    busy_reported_as_timeout,
    closed_name_is_free_to_waiters,
    outage_reported_as_busy,
    deleted_name_stays_busy,
    every_tenth_release_is_forgotten,
    release_in_the_instant_of_the_grant_is_forgotten,
    batch_is_answered_with_yes,
    batch_is_answered_by_its_first,
    batch_ends_at_the_first_no,
    batch_has_the_first_ttl,
    batch_forgets_its_seventeenth,
    batch_takes_any_of_its_tokens,
    batch_of_releases_is_all_or_nothing,
    batch_of_releases_keeps_nothing_closed,
    batch_of_releases_repeats_yes,
    count_  // how many there are
};

inline defect in_force = defect::none;

inline bool is(defect d) noexcept { return in_force == d; }

}  // namespace leasehold_test

#endif
