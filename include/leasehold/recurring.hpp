// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RECURRING_HPP
#define LEASEHOLD_RECURRING_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/basic_lease.hpp>
#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/concepts.hpp>
#include <leasehold/detail/backoff.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/fire_book.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/detail/lease_options.hpp>
#include <leasehold/detail/recurring_machine.hpp>
#include <leasehold/detail/wrong_arguments.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fire_record.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/owner_id/random_owner_id.hpp>
#include <leasehold/recurring_options.hpp>
#include <leasehold/recurring_run.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/schedule/concept.hpp>
#include <leasehold/schedule/every.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/deadline.hpp>
#include <leasehold/waiting/queue_ticket.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

namespace detail {

template <class, class>
class fire_wait;  // of <leasehold/detail/fire_wait.hpp>

template <class T>
concept option_of_recurring = std::same_as<std::remove_cvref_t<T>, recurring_options> ||
                              (lease_option<T> && !durations_of_lease<std::remove_cvref_t<T>>);

template <class...>
inline constexpr bool arguments_of_recurring = false;

template <class First, class Second, class Schedule, class... Options>
inline constexpr bool arguments_of_recurring<First, Second, Schedule, Options...> =
    store_and_name<First, Second> && schedule<std::remove_cvref_t<Schedule>> && (option_of_recurring<Options> && ...);

}  // namespace detail

/// Runs a job once per fire of a schedule, on one of any number of hosts.
///
///     lh::recurring nightly{store, "report", lh::every{.period = 24h, .at = 3h}, lh::recurring_options{.ttl = 60s}};
///     if (auto run = nightly.try_begin()) {   // empty: the fire is done, or somebody is doing it, or none is due
///         report(run.fire());
///         run.complete();
///     }
///
/// Hosts agree on the fires by the store's clock, whatever their own say. The store keeps the last completed fire in the name's
/// checkpoint, which only the holder of the lease writes: so a fire is completed at most once. A host that dies leaves its fire to the next
/// one, within the ttl; a job that fails leaves it open too. So a fire may be *begun* more than once: what the job writes should be
/// completed with it, in one transaction (recurring_run::complete(connection)), or be safe to repeat.
///
/// A name without a record: try_begin() takes the last fire before now as due, however late; run() begins with the next one.
/// The store must be a checkpointing_store and a timed_store, and should be a checkpoint_replacing_store. It must outlive the recurring
/// and its runs.
/// Movable, not copyable. Thread safety: any thread may call any function, except moving; one begins a fire at a time.
template <lease_store Store, schedule Schedule, lease_clock Clock = steady_clock, owner_id OwnerId = random_owner_id,
          renew_policy RenewPolicy = renew_at_fraction>
class recurring {
    static_assert(checkpointing_store<Store>,
                  "this store keeps no checkpoints, where fires are recorded: it has to be a checkpointing_store");
    static_assert(timed_store<Store>, "this store does not tell its time, by which fires are judged: it has to be a timed_store");

public:
    // Doxygen 1.16 loses the first comment that stands behind its member, if there is a concept above.
    /// Where the lease and the record live.
    using store_type = Store;
    /// When the job is due.
    using schedule_type = Schedule;
    /// What a run holds.
    using lease_type = basic_lease<Store, Clock, OwnerId, RenewPolicy>;
    /// What try_begin() returns.
    using run_type = recurring_run<lease_type>;

    /// What follows the schedule may come in any order: recurring_options, a clock, an owner id, a renew policy. Does no I/O.
    ///
    /// Asks the schedule for two fires. Throws std::system_error, which says what is wrong and what is allowed: errc::invalid_terms for the
    /// schedule, also if a fire of it is not later than the one before, and for the options; and what basic_lease's constructor throws.
    template <detail::option_of_recurring... Options>
    recurring(std::type_identity_t<Store>& store, std::string_view name, Schedule when, Options&&... options)
        : recurring{detail::pick_last<recurring_options>(options...), store, name, std::move(when), options...}
    {
    }

    /// The same, so that the options can be given in braces.
    template <detail::option_of_recurring... Options>
    recurring(std::type_identity_t<Store>& store, std::string_view name, Schedule when, recurring_options with, Options&&... options)
        : recurring{std::move(with), store, name, std::move(when), options...}
    {
    }

    /// Other arguments: one line says what is wrong.
    template <class First, class Second, class... Rest>
        requires std::same_as<Store, detail::no_store_of_leases>
    recurring(First&&, Second&&, Rest&&...) : recurring{recurring_options{}, detail::nowhere(), std::string_view{}, Schedule{}}
    {
        detail::explain_wrong_arguments<First, Second, Rest...>();
        constexpr bool has_schedule = schedule<std::remove_cvref_t<detail::third_t<Rest...>>>;
        static_assert(!detail::store_and_name<First, Second> || has_schedule,
                      "after the name comes the schedule: every{.period = 24h, .at = 3h}, cron{...}, or your own");
        static_assert(!detail::store_and_name<First, Second> || !has_schedule,
                      "after the schedule come recurring_options, a clock, an owner id and a renew policy");
    }

    /// Takes over the other one, which can then only be destroyed or assigned to.
    recurring(recurring&&) noexcept = default;
    /// Takes over the other one.
    recurring& operator=(recurring&&) noexcept = default;
    /// See ~basic_lease().
    ~recurring() = default;

    [[nodiscard]] const std::string& name() const noexcept { return lease_.name(); }  ///< the name of the job
    [[nodiscard]] const std::string& owner() const noexcept { return lease_.owner(); }  ///< the owner of its leases
    [[nodiscard]] Store& store() const noexcept { return lease_.store(); }  ///< where lease and record live

    /// Begins a fire that is due, if nobody is doing it. An empty run: the fire is done, or somebody else is doing it, or it is to be
    /// retried later, or none is due yet.
    ///
    /// The first call reads the store's clock and the record. After that, a call before the next fire does no I/O.
    /// Throws std::system_error with errc::invalid_terms if the record is of another schedule, saying what each says and who made it, or if
    /// the checkpoint of the name leaves no room for a record; otherwise like basic_lease::try_acquire().
    [[nodiscard]] run_type try_begin() &
    {
        failure error;
        run_type run = begin(at_once(), error);
        if (error.ec) raise(error, "try_begin");
        return run;
    }
    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] run_type try_begin(std::error_code& ec) & noexcept
    {
        failure error;
        run_type run;
        detail::catch_into(error.ec, [&] { run = begin(at_once(), error); });
        ec = error.ec;
        return run;
    }

    /// As try_begin(), but waits while a fire is due that is not completed, at most this long: for the one that is doing it, and for the
    /// pause after a failure. So this host takes the fire over if the other one fails or dies. An empty run: it was completed, no fire is
    /// due, or the time ran out, or `stop` was asked to stop. Throws like try_begin(): an outage ends the wait.
    template <class Rep, class Period>
    [[nodiscard]] run_type try_begin_for(std::chrono::duration<Rep, Period> at_most, std::stop_token stop = {}) &
    {
        failure error;
        run_type run = begin_until(waiting::deadline_after(clock(), at_most), stop, error);
        if (error.ec) raise(error, "try_begin_for");
        return run;
    }
    /// The same, reported in `ec`: does not throw. No error means that the time ran out, or that no fire is due.
    template <class Rep, class Period>
    [[nodiscard]] run_type try_begin_for(std::chrono::duration<Rep, Period> at_most, std::error_code& ec) & noexcept
    {
        return try_begin_for(at_most, {}, ec);
    }
    /// The same. std::errc::operation_canceled means that `stop` was asked to stop.
    template <class Rep, class Period>
    [[nodiscard]] run_type try_begin_for(std::chrono::duration<Rep, Period> at_most, std::stop_token stop, std::error_code& ec) & noexcept
    {
        failure error;
        run_type run;
        detail::catch_into(error.ec, [&] { run = begin_until(waiting::deadline_after(clock(), at_most), stop, error); });
        ec = error.ec;
        if (!ec && run.empty() && stop.stop_requested()) ec = std::make_error_code(std::errc::operation_canceled);
        return run;
    }

    /// Waits for each fire, waits for the lease, and calls `job` with the run, until `stop` is asked to stop. The fire is completed when
    /// `job` returns, unless it has said otherwise (fail(), release()). If it throws, the fire is left open: on_failed is called, and
    /// after a pause the first host to come tries again. This object begins a fire that was left open otherwise after such a pause, too.
    ///
    /// `job` takes a run_type&. It should end soon when run.stop_token() is asked to stop, and when `stop` is: then it throws, or calls
    /// run.release(), unless its work is done. After failures of the store, run() tries again. It throws std::system_error with
    /// errc::invalid_terms if the record is of another schedule, and what a hook throws.
    template <std::invocable<run_type&> Job>
    void run(const std::stop_token& stop, Job job)
    {
        const failure error = run_until_refused(stop, job);
        if (error.ec) raise(error, "run");
    }
    /// The same, reported in `ec`: throws only std::bad_alloc, and what a hook throws.
    template <std::invocable<run_type&> Job>
    void run(const std::stop_token& stop, Job job, std::error_code& ec)
    {
        ec = run_until_refused(stop, job).ec;
    }
    template <class Job>
        requires(!std::invocable<Job&, run_type&>)
    void run(const std::stop_token&, Job) = delete;  ///< it needs something to call with the recurring_run (auto&)
    template <class Job>
        requires(!std::invocable<Job&, run_type&>)
    void run(const std::stop_token&, Job, std::error_code&) = delete;  ///< the same

    /// The last completed fire; empty if none ever was. One statement. Throws store_error when the store fails.
    [[nodiscard]] std::optional<completed_fire> last() const
    {
        failure error;
        std::optional<completed_fire> found = last_of(error);
        if (error.ec) raise(error, "last");
        return found;
    }
    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] std::optional<completed_fire> last(std::error_code& ec) const noexcept
    {
        failure error;
        std::optional<completed_fire> found;
        detail::catch_into(error.ec, [&] { found = last_of(error); });
        ec = error.ec;
        return found;
    }

    /// The fire that is begun next: the one that is due and not completed, or else the first to come; no_fire if none will. Of a name
    /// without a record it is the first to come, although try_begin() would begin the last one before now. At most two statements. Throws
    /// like try_begin().
    [[nodiscard]] fire_time next() const
    {
        failure error;
        const fire_time found = next_of(error);
        if (error.ec) raise(error, "next");
        return found;
    }
    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] fire_time next(std::error_code& ec) const noexcept
    {
        failure error;
        fire_time found = no_fire;
        detail::catch_into(error.ec, [&] { found = next_of(error); });
        ec = error.ec;
        return found;
    }

    /// Deleted: a temporary object would be gone when its run is used.
    template <class... Arguments>
    run_type try_begin(Arguments&&...) && = delete;
    template <class... Arguments>
    run_type try_begin_for(Arguments&&...) && = delete;  ///< see try_begin() &&

private:
    friend detail::recurring_access<recurring>;
    template <class, class>
    friend class detail::fire_wait;
    using book_type = detail::fire_book_of<lease_type>;
    using guard_type = typename lease_type::guard_type;

    struct failure {
        std::error_code ec{};
        std::string refusal{};  // of a record; empty if the store has failed
        bool not_read = false;  // the store's clock
    };

    // How a fire is begun: how the lease is acquired, where a name without a record starts, and what to wait for if nothing is to be done.
    struct manner {
        std::function<guard_type(std::error_code&)> acquire;
        std::optional<fire_time> start{};
        std::optional<detail::fire_step>* rest = nullptr;
        std::vector<std::function<void()>>* told_later = nullptr;  // where calls of hooks go, unless they are called at once
    };

    template <class... Options>
    recurring(recurring_options with, Store& store, std::string_view name, Schedule when, const Options&... options)
        : when_{checked(std::move(when))},
          lease_{store,
                 name,
                 terms_of(checked(with)),
                 detail::pick<detail::role_of_clock, Clock>(options...),
                 detail::pick<detail::role_of_owner_id, OwnerId>(options...),
                 detail::pick<detail::role_of_renew_policy, RenewPolicy>(options...)},
          book_{std::make_shared<book_type>(store, lease_.name(), lease_.owner(), text_of(when_),
                                            detail::lease_access::keeper(lease_).clock(), std::move(with))}
    {
    }

    static Schedule checked(Schedule when)
    {
        if constexpr (detail::schedule_with_rules<Schedule>)
            if (const char* rule = when.broken_rule()) detail::raise_invalid(errc::invalid_terms, rule);
        // Such a schedule would have the same fire begun again and again. Most that go wrong do it for a fire of their own.
        const fire_time first = when.next(fire_time{});
        if (first <= fire_time{} || (first != no_fire && fire_time{when.next(first)} <= first))
            detail::raise_invalid(errc::invalid_terms, "the schedule's next(after) must be later than `after`");
        return when;
    }

    static const recurring_options& checked(const recurring_options& with)
    {
        if (const char* rule = with.broken_rule()) detail::raise_invalid(errc::invalid_terms, rule);
        return with;
    }

    static lease_terms terms_of(const recurring_options& with)
    {
        lease_terms terms{.ttl = with.ttl};
        if (with.safety_margin) terms.safety_margin = *with.safety_margin;
        return terms;
    }

    // Schedules without a text share one, which tells them from those that have one.
    static std::string text_of(const Schedule& when)
    {
        if constexpr (detail::schedule_with_text<Schedule>) {
            std::string text = when.text();
            const bool fits = !text.empty() && text.size() <= max_schedule_bytes && text.find('\n') == std::string::npos &&
                              detail::broken_encoding_rule(text) == nullptr;
            if (!fits) detail::raise_invalid(errc::invalid_terms, "the text of the schedule must be 1 to 200 bytes of UTF-8 on one line");
            return text;
        }
        else {
            return "of its own";
        }
    }

    [[nodiscard]] const Clock& clock() const noexcept { return book_->clock(); }

    [[nodiscard]] manner at_once()
    {
        return {.acquire = [this](std::error_code& ec) { return lease_.try_acquire(ec); }};
    }

    [[nodiscard]] manner waiting_until(time_point deadline, const std::stop_token& stop, std::optional<fire_time> start,
                                       std::optional<detail::fire_step>& rest)
    {
        return {.acquire =
                    [this, deadline, &stop](std::error_code& ec) {
                        guard_type guard = lease_.try_acquire_until(deadline, stop, ec);
                        if (ec == std::errc::operation_canceled) ec.clear();
                        return guard;
                    },
                .start = start,
                .rest = &rest};
    }

    run_type begin_until(time_point deadline, const std::stop_token& stop, failure& error)
    {
        for (;;) {
            std::optional<detail::fire_step> rest;
            run_type run = begin(waiting_until(deadline, stop, {}, rest), error);
            if (!run.empty() || error.ec || stop.stop_requested() || clock().now() >= deadline) return run;
            const std::optional<time_point> looks_at = worth_a_look(rest);
            if (!looks_at) return run;
            pause_until(std::min(*looks_at, deadline), stop);
        }
    }

    // When to look again after an attempt that has begun nothing, because of `rest`. Empty: no fire is due that is not completed.
    [[nodiscard]] std::optional<time_point> worth_a_look(const std::optional<detail::fire_step>& rest) const
    {
        if (!rest) return time_point::min();  // the term was lost before the beginning was noted
        // A fire that is to be retried is due, and so is worth the wait.
        if (rest->fire > book_->now_at_hand()) return std::nullopt;
        return book_->local(rest->until);
    }

    [[nodiscard]] detail::fire_step step_at(const fire_record& record, const manner& how, fire_time now) const
    {
        const bool decides = !record.passed && !how.start;
        fire_time start = decides ? detail::before_the_last_fire(when_, now) : how.start.value_or(now);
        start = std::max(start, book_->ever_passed().value_or(start));
        detail::fire_rules rules = book_->rules();
        if (decides) rules.begin_within = duration::max();  // who asks for the first fire of all asks for now
        return detail::next_fire_step(record, when_, rules, start, now);
    }

    run_type begin(const manner& how, failure& error)
    {
        if (!is_due(how, error)) return {};
        guard_type guard = how.acquire(error.ec);
        if (error.ec || guard.empty()) return {};
        return begin_with(std::move(guard), how, error);
    }

    run_type begin_with(guard_type guard, const manner& how, failure& error)
    {
        std::optional<fire_record> record = book_->known_to(guard.token());
        if (!record) record = book_->read(guard.token(), error.ec);
        tell_news(how);
        if (refused(record, error)) return {};
        return under_the_lease(std::move(guard), std::move(*record), how, error);
    }

    bool is_due(const manner& how, failure& error)
    {
        const bool due = looks_due(how, error);
        tell_news(how);
        return due;
    }

    // By what is known; asks the store for what never was.
    bool looks_due(const manner& how, failure& error)
    {
        fire_time now = book_->now(error.ec);
        if (error.ec) return false;
        std::optional<fire_record> record = book_->known();
        if (!record) record = book_->read({}, error.ec);
        if (refused(record, error)) return false;
        if (book_->has_other_schedule(*record)) return true;  // to be replaced
        detail::fire_step step = step_at(*record, how, now);
        if (step.action != detail::fire_action::rest) {
            now = book_->now_to_begin(error.ec);
            if (error.ec) return false;
            record = book_->known();
            if (!record) record = book_->read({}, error.ec);
            if (refused(record, error)) return false;
            if (book_->has_other_schedule(*record)) return true;
            step = step_at(*record, how, now);
        }
        if (step.action == detail::fire_action::rest && how.rest) *how.rest = step;
        return step.action != detail::fire_action::rest;
    }

    // Whether this record, which was read or could not be, ends the call.
    bool refused(const std::optional<fire_record>& record, failure& error) const
    {
        if (!record && error.ec == errc::invalid_terms) error.refusal = book_->refusal();
        if (record && !error.ec) error.refusal = book_->refusal(*record);
        if (!error.refusal.empty()) error.ec = errc::invalid_terms;
        return static_cast<bool>(error.ec);
    }

    run_type under_the_lease(guard_type guard, fire_record record, const manner& how, failure& error)
    {
        for (;;) {
            const fire_time now = book_->now_to_begin(error.ec);  // the wait for the lease may have been long
            if (error.ec) return {};
            if (book_->has_other_schedule(record)) {
                fire_record next = detail::rescheduled(record, book_->schedule_text(), owner(), now);
                if (!book_->write(guard.token(), record, next, error.ec)) return {};
                const std::optional<open_fire> dropped = std::exchange(record, std::move(next)).open;
                const recurring_options& options = book_->options();
                if (dropped && options.on_missed && !tell({[&options, dropped] { options.on_missed(dropped->fire); }}, how)) return {};
                continue;
            }
            const detail::fire_step step = step_at(record, how, now);
            if (step.action == detail::fire_action::rest) {
                book_->knows_up_to(guard.token(), record);
                if (how.rest) *how.rest = step;
                return {};
            }
            const auto untold = hooks_for(record, step);
            // The hooks are called before the attempt at this fire is noted: if one throws, no attempt is counted.
            const bool begins = step.action == detail::fire_action::begin && untold.empty();
            if (!noted(guard, record, step, begins, error)) return {};
            if (begins) return run_type{book_, std::move(guard), std::move(record), step};
            if (!tell(untold, how)) return {};
        }
    }

    using told_hook = std::function<void()>;

    // Returns what to call once the step is noted: hooks for its missed fires, and for the one that is given up.
    std::vector<told_hook> hooks_for(const fire_record& record, const detail::fire_step& step) const
    {
        const recurring_options& options = book_->options();
        std::vector<told_hook> hooks;
        // A purge may have removed the record.
        const std::optional<fire_time> passed = record.passed ? record.passed : book_->ever_passed();
        if (options.on_missed && passed)
            for (const fire_time fire : detail::missed_fires(*passed, when_, step))
                hooks.push_back([&options, fire] { options.on_missed(fire); });
        if (options.on_given_up && step.given_up)
            hooks.push_back([&options, fire = *step.given_up] { options.on_given_up(fire); });
        return hooks;
    }

    // False: the hooks are called later, on another thread, and the fire is begun after that.
    static bool tell(const std::vector<told_hook>& hooks, const manner& how)
    {
        if (!how.told_later || hooks.empty()) {
            detail::for_each_then_throw(hooks, [](const told_hook& hook) { hook(); });
            return true;
        }
        how.told_later->insert(how.told_later->end(), hooks.begin(), hooks.end());
        return false;
    }

    // Notes in the record what has to be there before the work, or which fires are not run.
    bool noted(const guard_type& guard, fire_record& record, const detail::fire_step& step, bool begins, failure& error)
    {
        if (begins && !detail::notes_beginning(record, book_->rules(), step)) {
            book_->knows_up_to(guard.token(), record);
            return true;
        }
        fire_record next = begins ? detail::begun(record, step) : detail::passed_by(record, step);
        if (!book_->write(guard.token(), record, next, error.ec)) return false;
        record = std::move(next);
        return true;
    }

    // Tells the news now, unless hooks are called later: see manner::told_later.
    void tell_news(const manner& how)
    {
        if (!how.told_later) book_->tell_news();
    }

    [[nodiscard]] std::optional<fire_time> starts(failure& error)
    {
        const fire_time now = book_->now(error.ec);
        error.not_read = static_cast<bool>(error.ec);
        return now;
    }

    // No error: `stop` was asked to stop.
    template <class Job>
    failure run_until_refused(const std::stop_token& stop, Job& job)
    {
        detail::backoff retry{book_->options().retry_min, book_->options().retry_max, waiting::random_seed(owner(), clock().now())};
        std::optional<fire_time> start;
        while (!stop.stop_requested()) {
            failure error;
            if (!start) start = starts(error);
            std::optional<detail::fire_step> rest;
            run_type begun = error.ec ? run_type{} : begin(waiting_until(time_point::max(), stop, start, rest), error);
            if (!error.refusal.empty()) return error;
            if (error.ec) {
                start = error.not_read ? std::nullopt : start;
                report(error);
                pause_until(after(clock().now(), retry.next()), stop);
                continue;
            }
            if (!begun.empty() && stop.stop_requested()) {
                begun.never_begun();
                return {};
            }
            if (!begun.empty() && !carry_out(std::move(begun), stop, job)) {
                pause_until(after(clock().now(), retry.next()), stop);
                continue;
            }
            retry.reset();
            if (rest) pause_until(book_->local(rest->until), stop);
        }
        return {};
    }

    // False: the outcome was not noted, so the fire may be due again at once.
    template <class Job>
    bool carry_out(run_type begun, const std::stop_token& stop, Job& job)
    {
        std::exception_ptr thrown;
        if (begun.held()) thrown = detail::thrown_by([&] { std::invoke(job, begun); });
        failure error;
        bool given_up = false;
        const fire_time fire = begun.fire();
        if (thrown && begun.held())
            begun.fail(given_up, error.ec);
        else if (!thrown && begun.held() && begun.state_ == run_type::state::open)
            complete(begun, stop, error);
        else if (!thrown && begun.state_ == run_type::state::in_transaction)
            begun.is_open(error.ec);
        book_->tell_end_of(fire, given_up, thrown, [&] {
            if (error.ec) report(error);
        });
        return begun.settled();
    }

    // The pauses between attempts to note a completed fire are those of a lease whose renewal has failed.
    static detail::backoff pauses_of_completing(duration ttl) noexcept { return {ttl / 60, ttl / 12}; }

    // The work is done, and the lease may outlast a failure of the store. So this tries again, for a ttl.
    void complete(run_type& begun, const std::stop_token& stop, failure& error)
    {
        const time_point until = after(clock().now(), book_->options().ttl);
        detail::backoff retry = pauses_of_completing(book_->options().ttl);
        for (;;) {
            begun.complete_untold(error.ec);
            if (!error.ec || !begun.held() || clock().now() >= until || stop.stop_requested()) return;
            report(error);
            pause_until(after(clock().now(), retry.next()), stop);
        }
    }

    void report(const failure& error) const
    {
        if (book_->options().on_error) book_->options().on_error(detail::store_failure(store(), error.ec, "run", name()));
    }

    [[noreturn]] void raise(const failure& error, std::string_view operation) const
    {
        if (!error.refusal.empty()) detail::raise_invalid(errc::invalid_terms, error.refusal);
        detail::raise_store_failure(store(), error.ec, operation, name());
    }

    static time_point after(time_point now, duration pause) noexcept
    {
        return pause < time_point::max() - now ? now + pause : time_point::max();
    }

    void pause_until(time_point until, const std::stop_token& stop) const
    {
        static_assert(waitable_clock<Clock>, "waiting for a fire needs a clock with wait_until (waitable_clock)");
        waker to_wake;
        const std::stop_callback wake_when_stopped{stop, [&to_wake] { to_wake.wake(); }};
        while (!stop.stop_requested() && clock().now() < until) clock().wait_until(to_wake, until);
    }

    std::optional<completed_fire> last_of(failure& error) const
    {
        const std::optional<fire_record> record = book_->look_up({}, error.ec);
        if (!record && error.ec == errc::invalid_terms) error.refusal = book_->refusal();
        return record ? record->last : std::nullopt;
    }

    fire_time next_of(failure& error) const
    {
        const fire_time now = book_->now(error.ec);
        if (error.ec) return no_fire;
        const std::optional<fire_record> record = book_->look_up({}, error.ec);
        if (refused(record, error)) return no_fire;
        if (!record->passed || book_->has_other_schedule(*record)) return when_.next(now);
        const detail::fire_step step = detail::next_fire_step(*record, when_, book_->rules(), now, now);
        return step.action == detail::fire_action::pass ? fire_time{when_.next(step.passed)} : step.fire;
    }

    Schedule when_;
    lease_type lease_;
    std::shared_ptr<book_type> book_;
};

namespace detail {

// What the asynchronous forms need of a recurring and its runs beyond their public interfaces: the steps of run().
template <class Recurring>
struct recurring_access {
    using run_type = typename Recurring::run_type;
    using guard_type = typename Recurring::guard_type;
    using failure = typename Recurring::failure;
    using manner = typename Recurring::manner;

    static auto& lease(Recurring& recurring) noexcept { return recurring.lease_; }
    static auto& book(Recurring& recurring) noexcept { return *recurring.book_; }
    static std::optional<fire_time> starts(Recurring& recurring, failure& error) { return recurring.starts(error); }
    static bool is_due(Recurring& recurring, const manner& how, failure& error) { return recurring.is_due(how, error); }
    static run_type begin_with(Recurring& recurring, guard_type guard, const manner& how, failure& error)
    {
        return recurring.begin_with(std::move(guard), how, error);
    }
    [[noreturn]] static void raise(const Recurring& recurring, const failure& error) { recurring.raise(error, "run"); }

    static bool is_open(const run_type& begun) noexcept { return begun.state_ == run_type::state::open; }
    static bool is_in_transaction(const run_type& begun) noexcept { return begun.state_ == run_type::state::in_transaction; }
    static void settle(run_type& begun, std::error_code& ec) { begun.is_open(ec); }
    static bool settled(const run_type& begun) noexcept { return begun.settled(); }
    static void complete(run_type& begun, std::error_code& ec) noexcept { begun.complete_untold(ec); }
    static void fail(run_type& begun, bool& given_up, std::error_code& ec) noexcept { begun.fail(given_up, ec); }
    static time_point after(time_point now, duration pause) noexcept { return Recurring::after(now, pause); }
    static backoff pauses_of_completing(duration ttl) noexcept { return Recurring::pauses_of_completing(ttl); }
};

}  // namespace detail

/// Takes the policies from the options, or the defaults.
template <lease_store Store, schedule Schedule, class... Options>
recurring(Store&, std::string_view, Schedule, Options&&...)
    -> recurring<Store, Schedule, detail::clock_in<Options...>, detail::owner_id_in<Options...>, detail::renew_policy_in<Options...>>;
/// The same, for options in braces.
template <lease_store Store, schedule Schedule, class... Options>
recurring(Store&, std::string_view, Schedule, recurring_options, Options&&...)
    -> recurring<Store, Schedule, detail::clock_in<Options...>, detail::owner_id_in<Options...>, detail::renew_policy_in<Options...>>;
/// Other arguments: one line says what is wrong.
template <class First, class Second, class... Rest>
    requires(!detail::arguments_of_recurring<First, Second, Rest...>)
recurring(First&&, Second&&, Rest&&...) -> recurring<detail::no_store_of_leases, every>;

}  // namespace leasehold::inline v0

#endif
