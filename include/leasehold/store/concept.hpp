// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_CONCEPT_HPP
#define LEASEHOLD_STORE_CONCEPT_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/checkpoint_record.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

class waker;
struct lease_event;

namespace waiting {

class local_queue;

/// The name in a queue that somebody waits for. Stores that share the process-wide queue are told apart by address and type,
/// since a wrapper may lie at the address of the store that it wraps.
struct queue_key {
    const void* store = nullptr;
    const void* type = nullptr;
    std::string_view name;

    friend bool operator==(const queue_key&, const queue_key&) = default;
};

}  // namespace waiting

/// An instant on a store's own clock, in UTC. It says when something happened for all who use the store; terms are never judged by it
/// anywhere but in the store.
using store_time = std::chrono::sys_time<std::chrono::microseconds>;

/// The answers to an attempt.
enum class acquire_status : std::uint8_t {
    granted,
    busy,   ///< somebody else holds the lease, or has just come first
    queued  ///< to a waiter only: it has a place in the queue, and the store has not looked who holds the lease
};

/// The enumerator's name; "invalid" for any other value.
[[nodiscard]] constexpr std::string_view to_string(acquire_status status) noexcept
{
    switch (status) {
    case acquire_status::granted: return "granted";
    case acquire_status::busy: return "busy";
    case acquire_status::queued: return "queued";
    }
    return "invalid";
}

/// Writes to_string(status).
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, acquire_status status)
{
    return out << to_string(status);
}

/// A store's answer to an attempt. It has no meaning if an error is reported.
struct acquire_result {
    /// The answer.
    acquire_status status = acquire_status::busy;
    fencing_token token{};  ///< granted: the token of the caller's term; busy: the holder's token, or 0 if it isn't known
    duration remaining{};   ///< busy: time until the holder's term ends by the store's clock; 0 if it isn't known
    /// Busy or queued, to a waiter with a ticket: how long it may sleep unless it is woken; 0: nobody will wake it, so it polls.
    duration retry_after{};

    /// Whether the lease was granted.
    [[nodiscard]] constexpr bool granted() const noexcept { return status == acquire_status::granted; }
};

/// What a store knows of a name's checkpoint at one moment; see checkpoint_looking_store.
struct checkpoint_look {
    std::optional<checkpoint_record> saved{};  ///< what was saved last; empty if nothing ever was
    fencing_token latest{};  ///< the token of the name's latest term; 0 if it has none, or it isn't known
    /// Whether a checkpoint that this term saves may still become visible. False: it was released, or the name has no term. True where
    /// this isn't known: after an expiry, too, where a transaction that saved it may commit later.
    bool open = true;
    store_time now{};  ///< the time of the store's clock
};

/// One of many renewals: the arguments of renew().
struct term_renewal {
    std::string_view name;   ///< the name of the lease
    std::string_view owner;  ///< who holds it
    fencing_token token{};   ///< the token of the term
    duration ttl{};          ///< see renew()
};

/// One of many releases: the arguments of release().
struct term_release {
    std::string_view name;   ///< the name of the lease
    std::string_view owner;  ///< who holds it
    fencing_token token{};   ///< the token of the term
    duration min_hold_left{};  ///< see release()
};

/// One of many attempts: the arguments of try_acquire().
struct term_request {
    std::string_view name;   ///< the name of the lease
    std::string_view owner;  ///< who wants it
    duration ttl{};          ///< see try_acquire()
    /// The end of the term wakes the waiters that queue for this name, if the store can wake any. Unset: those that queue for
    /// `name`. Empty: nobody waits for it, so the store need not prepare to wake anybody.
    std::optional<std::string_view> wakes{};
};

/// The result of renew() or release() for one item of a batch, if it is known.
enum class batch_answer : std::uint8_t {
    unknown,  ///< it may have been carried out or not, or may still be carried out
    yes,      ///< true
    no        ///< false: the term is over
};

namespace detail {

// One concept per operation, so that the compiler names the operation that is missing.
template <class S>
concept store_can_try_acquire = requires(S& s, std::string_view name, std::string_view owner, duration ttl, std::error_code& ec) {
    { s.try_acquire(name, owner, ttl, ec) } -> std::same_as<acquire_result>;
};

template <class S>
concept store_can_renew =
    requires(S& s, std::string_view name, std::string_view owner, fencing_token token, duration ttl, std::error_code& ec) {
        { s.renew(name, owner, token, ttl, ec) } -> std::same_as<bool>;
    };

template <class S>
concept store_can_release =
    requires(S& s, std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left, std::error_code& ec) {
        { s.release(name, owner, token, min_hold_left, ec) } -> std::same_as<bool>;
    };

template <class S>
concept store_can_inspect = requires(S& s, std::string_view name, std::error_code& ec) {
    { s.inspect(name, ec) } -> std::same_as<std::optional<lease_record>>;
};

template <class S>
concept store_can_tell_batch_size = requires(const S& s) {
    { s.batch_size() } noexcept -> std::same_as<std::size_t>;
};

template <class S>
concept store_can_renew_many =
    requires(S& s, std::span<const term_renewal> renewals, std::span<batch_answer> answers, duration within, std::error_code& ec) {
        { s.renew_many(renewals, answers, within, ec) } -> std::same_as<void>;
    };

template <class S>
concept store_can_release_many =
    requires(S& s, std::span<const term_release> releases, std::span<batch_answer> answers, std::error_code& ec) {
        { s.release_many(releases, answers, ec) } -> std::same_as<void>;
    };

template <class S>
concept store_can_publish = requires(S& s, std::string_view name, std::string_view owner, fencing_token token, std::string_view data,
                                     std::error_code& ec) {
    { s.publish(name, owner, token, data, ec) } -> std::same_as<bool>;
};

template <class S>
concept store_can_request_handover = requires(S& s, std::string_view name, std::string_view reason, std::error_code& ec) {
    { s.request_handover(name, reason, ec) } -> std::same_as<bool>;
};

template <class S>
concept store_can_tell_requested_handover =
    requires(S& s, std::string_view name, std::string_view owner, fencing_token token, std::error_code& ec) {
        { s.handover_requested(name, owner, token, ec) } -> std::same_as<std::optional<std::string>>;
    };

template <class S>
concept store_can_save_checkpoint = requires(S& s, std::string_view name, std::string_view owner, fencing_token token,
                                             std::string_view text, std::error_code& ec) {
    { s.save_checkpoint(name, owner, token, text, ec) } -> std::same_as<bool>;
};

template <class S>
concept store_can_replace_checkpoint = requires(S& s, std::string_view name, std::string_view owner, fencing_token token,
                                                std::string_view replaced, std::string_view text, std::error_code& ec) {
    { s.replace_checkpoint(name, owner, token, replaced, text, ec) } -> std::same_as<bool>;
};

template <class S>
concept store_can_tell_checkpoint = requires(S& s, std::string_view name, std::error_code& ec) {
    { s.checkpoint(name, ec) } -> std::same_as<std::optional<checkpoint_record>>;
};

template <class S>
concept store_can_look_at_checkpoint = requires(S& s, std::string_view name, std::error_code& ec) {
    { s.look_at_checkpoint(name, ec) } -> std::same_as<checkpoint_look>;
};

template <class S>
concept store_can_acquire_many = requires(S& s, std::span<const term_request> requests, std::size_t most,
                                          std::span<std::optional<acquire_result>> answers, std::error_code& ec) {
    { s.acquire_many(requests, most, answers, ec) } -> std::same_as<void>;
};

}  // namespace detail

/// The place where leases live. It alone decides who holds.
///
/// `s` is an object of the store; `name` and `owner` are std::string_views, already validated (non-empty UTF-8 up to 190
/// bytes, no NUL); `token` is a fencing_token; `ttl` and `min_hold_left` are durations; `ec` is a std::error_code&.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.try_acquire(name, owner, ttl, ec) | acquire_result | decides in one atomic step, by the store's clock. If another owner has an unexpired term, or the name is kept closed: busy, and writes nothing. Otherwise, also if `owner` itself has an unexpired term: grants `owner` a new term with a token larger than every earlier one of that name. The term ends `ttl` from now, or when that owner's unexpired term would have ended if that is later |
/// | s.renew(name, owner, token, ttl, ec) | bool | true: that very term was unexpired and now ends `ttl` from now, or when it would have ended if that is later; false: it is over. Never creates or revives a term |
/// | s.release(name, owner, token, min_hold_left, ec) | bool | true: that very term was unexpired and has ended, and nobody, not even the same owner, can acquire the name for `min_hold_left` (0: free at once); false: it was already over |
/// | s.inspect(name, ec) | std::optional<lease_record> | the current record; empty when the name is free |
///
/// No two grants share a token, so a late statement for an earlier term (a frozen server, a lost reply) can't touch a later
/// term of the same owner. try_acquire and renew never shorten a term, because a late renewal may be carried out after its
/// successor. A store over a network may find out that an attempt was granted after its caller has got a timeout. It may end
/// that term, so that the name is not held by nobody. But if the attempt took over an unexpired term of its own owner, it
/// must not end the new term, because the owner may still believe in its own.
/// Errors: each operation clears `ec` on success and sets it on failure, preferably to an errc; its result then has no
/// meaning. A failure is never reported as busy or false. No operation throws for a failure of the store, but it may throw
/// std::bad_alloc.
/// Thread safety: all four may be called at once from any number of threads.
/// Time: each should return within a bound of the store's own (its call timeout); destructors of guards wait that long at
/// most. A store whose clock is coarser than a duration rounds up: a term may last a little longer than requested, never
/// less.
///
/// The minimal model is examples/own_store.cpp. A model must pass tests/contract.
template <class S>
concept lease_store = detail::store_can_try_acquire<S> && detail::store_can_renew<S> && detail::store_can_release<S> &&
                      detail::store_can_inspect<S>;

/// How long a waiter sleeps between two attempts if nobody wakes it: the pauses grow from the shortest to the longest.
struct poll_pauses {
    duration shortest = std::chrono::milliseconds{10};  ///< the first pause
    duration longest = std::chrono::milliseconds{500};  ///< the longest pause, and all after it
};

/// A store that defines how often a waiter may ask it. For other stores the defaults of poll_pauses apply.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.pauses() | poll_pauses | must not throw |
template <class S>
concept polled_store = lease_store<S> && requires(const S& s) {
    { s.pauses() } noexcept -> std::same_as<poll_pauses>;
};

/// A waiter's place in the queue for a name: see notifying_store.
template <class T>
concept queue_ticket = requires(const T& ticket) {
    { ticket.name() } -> std::convertible_to<std::string_view>;
};

namespace detail {

template <class S>
using queue_ticket_of = decltype(std::declval<S&>().enqueue(std::string_view{}, std::declval<waker&>()));

}  // namespace detail

/// A store that can wake a waiter when a lease is released.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.enqueue(name, w) | an object `ticket` | a waiter's place in the queue for `name`, until `ticket` is destroyed. From the first attempt with it on, the store wakes `w` (a waker&) when `name` may have become free. A hint: it may wake for no reason, or not at all. Does no I/O; reports no errors; may throw std::bad_alloc |
/// | ticket.name() | std::string_view | the name it is for; what it refers to lives as long as the ticket |
/// | s.try_acquire(ticket, owner, ttl, ec) | acquire_result | the same as try_acquire(name, owner, ttl, ec), but by a waiter: the store may prefer those that have waited longer. An answer that is not a grant has `retry_after`. `queued` comes without a look at the lease, so that it has neither token nor remaining time, and says nothing about whether the store can be reached |
///
/// A name that becomes free before the first busy answer is not missed: the store looks, or wakes. `retry_after` is at most 100 ms longer
/// than the holder's time, if that is known: the first in line tries before. A release that keeps the name closed should wake waiters
/// too: the name may open before the time that their last answer said. One thread at a time uses a ticket. It need be neither movable nor
/// copyable; its destructor takes at most 30 ms; `w` outlives it. At most one ticket for a name exists in a process at a time, unless two
/// decorators wrap one store; and for a short time two may where an asynchronous wait ends, or where a writer of a shared lease comes
/// while a reader waits.
template <class S>
concept notifying_store =
    lease_store<S> && requires(S& s, detail::queue_ticket_of<S>& ticket, std::string_view owner, duration ttl, std::error_code& ec) {
    requires queue_ticket<std::remove_reference_t<decltype(ticket)>>;
    { s.try_acquire(ticket, owner, ttl, ec) } -> std::same_as<acquire_result>;
};

/// What turn() answers; see ordered_store.
enum class turn_status : std::uint8_t {
    first,   ///< it is this waiter's turn, and stays so until its ticket is destroyed
    behind,  ///< others came earlier
    overdue  ///< others came earlier, but nothing has been heard of them for so long that this waiter may try once past them
};

/// The result of turn().
struct turn_answer {
    turn_status status = turn_status::first;  ///< whether it is this waiter's turn
    /// How long the waiter may sleep before it asks again, unless it is woken; 0: nobody will wake it, so it polls.
    duration retry_after{};
};

/// A notifying_store in which waiters of all processes queue for a name, apart from any attempt at a lease: who waits for one of several
/// leases stands in one queue with all others.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.turn(ticket, ec) | turn_answer | whether this waiter is the first of those who wait with a ticket for this name, in whatever process; without a look at any lease. The first call joins the queue. From then on the store wakes the ticket's waker when it becomes the first. Asked again by the first: when to try again |
/// | ticket.passed() | void | after `overdue`: the waiter was granted what it wanted, so the others may be stuck. Must not throw |
///
/// A ticket is used for turn() or for try_acquire(), not for both. Everything else is as for notifying_store.
template <class S>
concept ordered_store = notifying_store<S> && requires(S& s, detail::queue_ticket_of<S>& ticket, std::error_code& ec) {
    { s.turn(ticket, ec) } -> std::same_as<turn_answer>;
    { ticket.passed() } noexcept;
};

/// A store for which many renewals or releases in one call cost much less than as many calls.
///
/// `renewals` is a std::span<const term_renewal>, `releases` is a std::span<const term_release>; `answers` is a
/// std::span<batch_answer> of the same length, all `unknown` when the call is made; `within` is a duration.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.batch_size() | std::size_t | how many to send in one call, as far as is known now; 0 or 1: batches have no advantage. Must not throw or wait |
/// | s.renew_many(renewals, answers, within, ec) | void | does for each item what renew() does, in any order, and writes to answers[i] the result of renew() for renewals[i]. Returns within the store's own bound, and within `within` if that is sooner |
/// | s.release_many(releases, answers, ec) | void | the same with release() |
///
/// Each item is independent: if the term of one is over, this changes nothing for the others, and the same item twice is
/// like two calls. Lists longer than batch_size() are carried out, too.
/// Errors: `ec` is cleared if every item has an answer, and set if one stays `unknown`; the answers that were given are
/// valid even then. Everything else is as for lease_store.
template <class S>
concept batching_store = lease_store<S> && detail::store_can_tell_batch_size<S> && detail::store_can_renew_many<S> &&
                         detail::store_can_release_many<S>;

/// A store for which many attempts in one call cost much less than as many calls.
///
/// `requests` is a std::span<const term_request>, no two of which have the same name; `most` is a std::size_t; `answers` is a
/// std::span<std::optional<acquire_result>> of the same length, all empty when the call is made.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.acquire_many(requests, most, answers, ec) | void | does for each item what try_acquire() does, in their order, until `most` of them have been granted, and writes the result to its answer. The items after that are not tried: their answer is busy with neither token nor remaining time |
///
/// Each item is granted or refused by itself, in one atomic step of its own: a busy item changes nothing for the others. If
/// others interfere, an item may be answered busy without a look at it, and fewer than `most` be granted, but never more.
/// Lists of any length are carried out.
/// Errors: `ec` is cleared if every item has an answer, and set if one stays empty; the answers that were given are valid
/// even then. An item without an answer may have been granted, as after an attempt that failed. Everything else is as for
/// lease_store.
template <class S>
concept batch_acquiring_store = lease_store<S> && detail::store_can_acquire_many<S>;

/// A store in which a holder publishes data, and others ask it to hand the lease over.
///
/// `data` and `reason` are std::string_views, already validated (UTF-8 up to max_data_bytes (1,024) bytes, no NUL, may be empty).
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.publish(name, owner, token, data, ec) | bool | true: that very term was unexpired and has `data` from now on, in place of what it had; false: it is over, and nothing is written |
/// | s.request_handover(name, reason, ec) | bool | true: somebody holds `name`, and that term has been asked, with this reason in place of an earlier one; false: nobody holds it, also if it is only kept closed, and nothing is written |
/// | s.handover_requested(name, owner, token, ec) | std::optional<std::string> | the reason, if that very term is unexpired and has been asked |
///
/// Data and request are part of the term: inspect() shows them while it is unexpired and not released, and the next term has
/// neither. A reason of the form "priority 7" is that of a candidate, and "as shard 3 of ID" that of a member of a shard_group. Both ask
/// again by themselves: they had better leave a reason of another form in place, which they did not see when they asked.
/// None of the three operations grants, extends or ends a term. Everything else is as for lease_store.
template <class S>
concept handover_store = lease_store<S> && detail::store_can_publish<S> && detail::store_can_request_handover<S> &&
                         detail::store_can_tell_requested_handover<S>;

/// A store that keeps for each name what its next holder must know: how far the last one has come.
///
/// `text` is a std::string_view, which may be empty.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.save_checkpoint(name, owner, token, text, ec) | bool | true: that very term was unexpired, and the checkpoint of `name` is `text` under this token from now on, in place of an earlier one; false: the term is over, and nothing is written. One atomic step. Reports errc::invalid_data, and writes nothing, if `text` is longer than max_checkpoint_bytes (4,096) bytes, is not UTF-8 or has a NUL |
/// | s.checkpoint(name, ec) | std::optional<checkpoint_record> | what was saved last, under whatever term; empty if nothing ever was |
///
/// A checkpoint belongs to the name, not to a term: it outlives renewals, a release, an expiry, a forced end, later terms, and whatever
/// else the tokens outlive. An owner that is granted a term sees what every earlier term has saved, and no earlier term saves any more.
/// Neither operation grants, extends or ends a term. Everything else is as for lease_store.
template <class S>
concept checkpointing_store = lease_store<S> && detail::store_can_save_checkpoint<S> && detail::store_can_tell_checkpoint<S>;

/// A checkpointing_store in which a save can name what it replaces. So a statement that a broken connection has left behind, and that the
/// store carries out later than others of its term, changes nothing: what it names is no longer there. Without this operation a recurring
/// saves with save_checkpoint(), and such a statement can open a completed fire again.
///
/// `replaced` and `text` are std::string_views, which may be empty.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.replace_checkpoint(name, owner, token, replaced, text, ec) | bool | true: as save_checkpoint(name, owner, token, text, ec), where the checkpoint of `name` was `replaced`, or there was none and `replaced` is empty; also where it was `text` under this token. False: it was another one, or the term is over, and nothing is written. One atomic step |
///
/// Everything else is as for checkpointing_store.
template <class S>
concept checkpoint_replacing_store = checkpointing_store<S> && detail::store_can_replace_checkpoint<S>;

/// A store that tells the time of its own clock, which it judges terms by: the same for all processes that use the store, whatever the
/// clocks of their hosts say.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.now(ec) | store_time | the time of the store's clock at some instant between the call and its return |
///
/// Everything else is as for lease_store.
template <class S>
concept timed_store = lease_store<S> && requires(S& s, std::error_code& ec) {
    { s.now(ec) } -> std::same_as<store_time>;
};

/// A store that tells the checkpoint of a name, its latest term and the time in one call, where asking one by one would take several.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.look_at_checkpoint(name, ec) | checkpoint_look | what checkpoint(name, ec) and now(ec) return, and the name's latest term, all as of one moment between the call and its return |
///
/// An owner that is then granted the token after `latest`, which was not `open`, knows the checkpoint without another look: no term has
/// been in between. Everything else is as for lease_store.
template <class S>
concept checkpoint_looking_store = checkpointing_store<S> && timed_store<S> && detail::store_can_look_at_checkpoint<S>;

/// A store that tells of many names at once.
///
/// `prefix` is a std::string_view, which may be empty.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.list(prefix, ec) | std::vector<lease_record> | the records of all names that begin with `prefix` and are not free, as inspect() would return them |
///
/// Everything else is as for lease_store.
template <class S>
concept listing_store = lease_store<S> && requires(S& s, std::string_view prefix, std::error_code& ec) {
    { s.list(prefix, ec) } -> std::same_as<std::vector<lease_record>>;
};

/// A store in which a name can be held closed: see name_holding, which gives both operations to any store.
///
/// `period` is a duration, `reason` a std::string_view.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.hold(name, period, reason, ec) | bool | true: nobody is granted `name` until `period` from now is over, or until unhold(). Asks who has it to hand over, and waits. False: there is an error |
/// | s.unhold(name, ec) | bool | true: `name` was held closed, and is no longer; false: it was not |
///
/// inspect() and list() show a hold as a lease_record with is_hold(). Everything else is as for lease_store.
template <class S>
concept holding_store =
    lease_store<S> && requires(S& s, std::string_view name, duration period, std::string_view reason, std::error_code& ec) {
        { s.hold(name, period, reason, ec) } -> std::same_as<bool>;
        { s.unhold(name, ec) } -> std::same_as<bool>;
    };

/// A store that has details about its last failure.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.diagnostics() | store_diagnostics | details of the last call that failed on the calling thread; throws nothing but std::bad_alloc |
template <class S>
concept diagnosing_store = lease_store<S> && requires(const S& s) {
    { s.diagnostics() } -> std::convertible_to<store_diagnostics>;
};

/// A store that wants to know what becomes of the terms of its leases. A hooked_store whose hook takes a lease_event is one.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.observe(event) | void | `event` is a const lease_event&. Must not throw. A beginning comes on the thread that acquired. An end comes on the thread that released or found the loss, or on the thread that runs stop callbacks, after them; a slow call delays those of other leases, but no renewal. Must not destroy the lease |
template <class S>
concept observed_store = requires(S& s, const lease_event& event) {
    { s.observe(event) } noexcept -> std::same_as<void>;
};

/// A store that has a queue for its waiters, so that all waiters of a process use the same queue, whichever library they
/// were compiled into. A store around a store returns the queue of the store that it wraps.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.local_waiters() | waiting::local_queue& | a member of the store. Must not throw |
template <class S>
concept queueing_store = lease_store<S> && requires(S& s) {
    { s.local_waiters() } noexcept -> std::same_as<waiting::local_queue&>;
};

/// A store around a store whose waiters stand in the queue of the store that it wraps.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.queue_key_of(name) | waiting::queue_key | what waiting::key_of() says of the store that it wraps. Must not throw |
template <class S>
concept queue_sharing_store = lease_store<S> && requires(const S& s, std::string_view name) {
    { s.queue_key_of(name) } noexcept -> std::same_as<waiting::queue_key>;
};

/// A store around a store whose leases are renewed and watched by the threads that serve the store that it wraps.
///
/// | expression | returns | does |
/// |---|---|---|
/// | s.engine_key() | const void* | the address of that store, or its engine_key(). Must not throw |
template <class S>
concept engine_sharing_store = requires(const S& s) {
    { s.engine_key() } noexcept -> std::same_as<const void*>;
};

namespace detail {

/// What stands for a store in the registry of engines.
template <class Store>
const void* engine_key(const Store& store) noexcept
{
    if constexpr (engine_sharing_store<Store>)
        return store.engine_key();
    else
        return std::addressof(store);
}

}  // namespace detail

}  // namespace leasehold::inline v0

#endif
