// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_RUN_RECURRING_HPP
#define LEASEHOLD_ASIO_RUN_RECURRING_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/asio/acquire.hpp>
#include <leasehold/asio/detail/guards.hpp>
#include <leasehold/asio/lead.hpp>
#include <leasehold/detail/backoff.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/held_term.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/detail/recurring_machine.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/recurring.hpp>
#include <leasehold/recurring_run.hpp>
#include <leasehold/renewal/call_queue.hpp>
#include <leasehold/schedule/concept.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/queue_ticket.hpp>

#if LEASEHOLD_ASIO_HAS_COROUTINES

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

namespace detail {

/// recurring::run() as a coroutine. It takes the same steps, and calls the store on a thread of the library.
template <class Recurring>
class async_recurring {
    using access = recurring_access<Recurring>;
    using run_type = typename access::run_type;
    using guard_type = typename access::guard_type;

public:
    template <class Executor, class Job>
    static net::awaitable<void> run(Recurring& recurring, std::shared_ptr<election_stop<Executor>> end, Job job)
    {
        const std::stop_token stop = end->token();
        lease_access::keeper(access::lease(recurring)).attach_engine();
        const recurring_options& options = access::book(recurring).options();
        backoff retry{options.retry_min, options.retry_max, waiting::random_seed(recurring.owner(), now(recurring))};
        std::optional<fire_time> start;
        while (!stop.stop_requested()) {
            beginning outcome;
            co_await begin(recurring, start, *end, outcome);
            const std::exception_ptr thrown = thrown_by([&] { tell(recurring, outcome.hooks); });
            if (thrown || stop.stop_requested()) co_await give_back(recurring, outcome.run);
            if (thrown) std::rethrow_exception(thrown);
            if (outcome.failed.error.ec) {
                if (outcome.failed.error.not_read) start.reset();
                report(recurring, outcome.failed);
                co_await pause(*end, retry.next());
                continue;
            }
            if (!outcome.run.empty() && !co_await carry_out(recurring, outcome.run, *end, job)) {
                co_await pause(*end, retry.next());
                continue;
            }
            retry.reset();
            if (outcome.rest) co_await pause(*end, left_until(recurring, access::book(recurring).local(outcome.rest->until)));
        }
    }

private:
    // A failure, and the exception for on_error, made on the thread that has called the store.
    struct told_failure {
        typename access::failure error{};
        std::optional<store_error> exception{};

        void note(const Recurring& recurring)
        {
            if (error.ec && error.refusal.empty()) exception.emplace(store_failure(recurring.store(), error.ec, "run", recurring.name()));
        }
    };

    struct beginning {
        told_failure failed{};
        run_type run{};
        std::optional<fire_step> rest{};
        std::vector<std::function<void()>> hooks{};  // to call on the strand

        beginning() = default;
        beginning(const beginning&) = delete;
        beginning& operator=(const beginning&) = delete;
        ~beginning() { drop(run); }  // of a coroutine that is never resumed
    };

    static time_point now(Recurring& recurring) noexcept { return access::book(recurring).clock().now(); }

    static duration left_until(Recurring& recurring, time_point until) noexcept
    {
        return until == time_point::max() ? duration::max() : until - now(recurring);
    }

    // Runs call() on a thread that may wait for the store. A call that could not be started, or threw, is a failure too.
    template <class Call>
    static net::awaitable<void> on_store(Recurring& recurring, renewal::call_order order, told_failure& failed, Call call)
    {
        const auto answer = co_await reply_of_store<bool>(access::lease(recurring), order, [&recurring, &failed, &call](std::error_code&) {
            call();
            failed.note(recurring);
            return true;
        });
        if (answer.ec && !failed.error.ec) failed.error.ec = answer.ec;
    }

    template <class Executor>
    static net::awaitable<void> begin(Recurring& recurring, std::optional<fire_time>& start, election_stop<Executor>& end,
                                      beginning& outcome)
    {
        typename access::failure& error = outcome.failed.error;
        typename access::manner how{.acquire = {}, .start = {}, .rest = &outcome.rest, .told_later = &outcome.hooks};
        bool due = false;
        co_await on_store(recurring, renewal::call_order::second, outcome.failed, [&] {
            if (!start) start = access::starts(recurring, error);
            how.start = start;
            due = !error.ec && access::is_due(recurring, how, error);
        });
        if (!due || error.ec) co_return;
        auto guard = co_await acquire(recurring, end, outcome.failed);
        if (guard.empty()) co_return;
        co_await on_store(recurring, renewal::call_order::first, outcome.failed,
                          [&] { outcome.run = access::begin_with(recurring, std::move(guard), how, error); });
    }

    // First the news, as run() does; and the hooks, also if the news throws.
    static void tell(Recurring& recurring, const std::vector<std::function<void()>>& hooks)
    {
        call_each_then_throw([&] { access::book(recurring).tell_news(); },
                             [&] { for_each_then_throw(hooks, [](const auto& hook) { hook(); }); });
    }

    // Runs no job: the fire, if one was begun, is open again, with as many attempts as before.
    static net::awaitable<void> give_back(Recurring& recurring, run_type& begun)
    {
        told_failure ignored;
        if (!begun.empty()) co_await on_store(recurring, renewal::call_order::first, ignored, [&] { drop(begun); });
    }

    // Waits for the lease. Empty: it is to stop, or there is a failure.
    template <class Executor>
    static net::awaitable<guard_type> acquire(Recurring& recurring, election_stop<Executor>& end, told_failure& failed)
    {
        const auto exception = std::make_shared<std::optional<store_error>>();
        const end_of_wait<Executor> cancels{end};
        auto got = co_await reply_to<guard_type>([&](auto handler) {
            initiate_acquire(acquirable_lease<typename Recurring::lease_type>{access::lease(recurring), exception, "run"}, no_deadline,
                             net::bind_cancellation_slot(cancels.slot(), std::move(handler)));
        });
        if (got.ec && got.ec != aborted()) {
            failed.error.ec = got.ec;
            if (*exception) failed.exception.emplace(**exception);
        }
        co_return std::move(got.value);
    }

    // False: the outcome was not noted, so the fire may be due again at once. Takes the run, unless there is no memory to begin.
    template <class Executor, class Job>
    static net::awaitable<bool> carry_out(Recurring& recurring, run_type& taken, election_stop<Executor>& end, Job& job)
    {
        run_type begun = std::move(taken);
        std::exception_ptr thrown;
        bool cancelled = !begun.held();  // before the job has begun
        const fire_time fire = begun.fire();
        const std::stop_token lost = begun.stop_token();
        try {
            if (!cancelled) co_await carried_out(begun, lost, end, job);
        } catch (const net_system_error& e) {
            const bool aborts = e.code() == net_error_code{net::error::operation_aborted};
            cancelled = aborts && (lost.stop_requested() || end.token().stop_requested());
            if (!cancelled) thrown = std::current_exception();
        } catch (...) {
            thrown = std::current_exception();
        }
        told_failure failed;
        bool given_up = false;
        if (thrown && begun.held())
            co_await on_store(recurring, renewal::call_order::first, failed, [&] { access::fail(begun, given_up, failed.error.ec); });
        else if (!thrown && !cancelled && begun.held() && access::is_open(begun))
            co_await complete(recurring, begun, end, failed);
        else if (!thrown && access::is_in_transaction(begun))
            co_await on_store(recurring, renewal::call_order::first, failed, [&] { access::settle(begun, failed.error.ec); });
        told_failure ignored;
        co_await on_store(recurring, renewal::call_order::first, ignored, [&] { begun.release(ignored.error.ec); });
        access::book(recurring).tell_end_of(fire, given_up, thrown, [&] {
            if (failed.error.ec) report(recurring, failed);
        });
        co_return access::settled(begun);
    }

    // As in run(), it tries again after a failure, for a ttl.
    template <class Executor>
    static net::awaitable<void> complete(Recurring& recurring, run_type& begun, election_stop<Executor>& end, told_failure& failed)
    {
        const duration ttl = access::book(recurring).options().ttl;
        const time_point until = access::after(now(recurring), ttl);
        backoff retry = access::pauses_of_completing(ttl);
        for (;;) {
            failed = {};
            co_await on_store(recurring, renewal::call_order::first, failed, [&] { access::complete(begun, failed.error.ec); });
            if (!failed.error.ec || !begun.held() || now(recurring) >= until || end.token().stop_requested()) co_return;
            report(recurring, failed);
            co_await pause(end, retry.next());
        }
    }

    // Runs the user's coroutine, and cancels it when the lease is lost, or the operation is cancelled.
    template <class Executor, class Job>
    static net::awaitable<void> carried_out(run_type& begun, const std::stop_token& lost, election_stop<Executor>& end, Job& job)
    {
        const end_of_wait<Executor> cancels{end, lost};
        auto begins = [](run_type& run, Job& works) -> net::awaitable<void> { co_await std::invoke(works, run); };
        co_await net::co_spawn(end.work()->strand(), begins(begun, job), net::bind_cancellation_slot(cancels.slot(), net::use_awaitable));
    }

    static void report(Recurring& recurring, const told_failure& failed)
    {
        if (!failed.error.refusal.empty()) access::raise(recurring, failed.error);
        const auto& hook = access::book(recurring).options().on_error;
        if (!hook) return;
        hook(failed.exception ? *failed.exception : store_failure(recurring.store(), failed.error.ec, "run", recurring.name()));
    }
};

}  // namespace detail

/// Waits for each fire, waits for the lease, and runs `job`, a coroutine, until the operation is cancelled, like recurring::run(), but
/// without a thread.
///
/// `job` is a function of a run_type&, which returns a net::awaitable<void>. When the coroutine has returned, the fire is completed, unless
/// it has said otherwise, and the lease is released. If it throws, the fire is left open, and tried again after a pause. When the lease is
/// lost, or the operation is cancelled, the coroutine is cancelled with cancellation_type::terminal; if it ends with operation_aborted
/// because of that, the fire is open at once, and that is no failure.
/// The hooks of the recurring and the coroutine run on a strand of the handler's associated executor; the store is called on threads of the
/// library. Completes with void(std::exception_ptr): none after a cancellation, which is a stop; a std::system_error with
/// errc::invalid_terms if the record is of another schedule; or what a hook threw. Waits for fires and pauses after failures follow Asio's
/// steady clock, not that of the recurring.
/// Lifetime: the recurring must outlive the operation. While it runs, nobody else may begin fires with that recurring.
template <lease_store Store, schedule Schedule, lease_clock Clock, owner_id OwnerId, renew_policy RenewPolicy, class Job, class Token>
    requires std::invocable<Job&, typename recurring<Store, Schedule, Clock, OwnerId, RenewPolicy>::run_type&>
auto async_run_recurring(recurring<Store, Schedule, Clock, OwnerId, RenewPolicy>& recurring_job, Job job, Token&& token)
{
    using recurring_type = recurring<Store, Schedule, Clock, OwnerId, RenewPolicy>;
    using run_type = typename recurring_type::run_type;
    static_assert(std::same_as<std::invoke_result_t<Job&, run_type&>, detail::net::awaitable<void>>,
                  "async_run_recurring needs a function of a run_type& that returns an awaitable<void>");
    return detail::net::async_initiate<Token, void(std::exception_ptr)>(detail::start_loop<detail::async_recurring<recurring_type>>{},
                                                                        token, std::addressof(recurring_job), std::move(job));
}

}  // namespace leasehold::inline v0

#endif  // Asio has coroutines

#endif
