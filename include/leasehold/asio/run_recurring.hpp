// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_RUN_RECURRING_HPP
#define LEASEHOLD_ASIO_RUN_RECURRING_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/asio/acquire.hpp>
#include <leasehold/asio/lead.hpp>
#include <leasehold/detail/backoff.hpp>
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

#include <algorithm>
#include <chrono>
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

/// recurring::run() as a coroutine. Its steps are those of run(); what calls the store runs on a thread of the library meanwhile.
struct async_recurring {
    template <class Recurring, class Executor, class Job>
    static net::awaitable<void> run(Recurring& of, std::shared_ptr<election_stop<Executor>> end, Job job)
    {
        const std::stop_token stop = end->token();
        lease_access::keeper(of.lease_).attach_engine();
        const recurring_options& options = of.book_->options();
        backoff retry{options.retry_min, options.retry_max, waiting::random_seed(of.owner(), of.clock().now())};
        std::optional<fire_time> start;
        while (!stop.stop_requested()) {
            attempt<Recurring> tried;
            co_await begin(of, start, *end, tried);
            of.book_->tell_news();
            for (const auto& tell : tried.told) tell();
            if (tried.failed.why.ec) {
                if (tried.failed.why.not_read) start.reset();
                report(of, tried.failed);
                co_await pause(*end, retry.next());
                continue;
            }
            if (!tried.run.empty() && !co_await carry_out(of, tried.run, *end, job)) {
                co_await pause(*end, retry.next());
                continue;
            }
            retry.reset();
            if (tried.rest) co_await pause(*end, left_until(of.book_->local(tried.rest->until), of.clock().now()));
        }
    }

private:
    // A failure, and what the store has said about it on the thread that has called it.
    template <class Recurring>
    struct told_failure {
        typename Recurring::failure why{};
        std::optional<store_error> said{};

        void note(const Recurring& of)
        {
            if (why.ec && why.refusal.empty()) said.emplace(store_failure(of.store(), why.ec, "run", of.name()));
        }
    };

    template <class Recurring>
    struct attempt {
        told_failure<Recurring> failed{};
        typename Recurring::run_type run{};
        std::optional<fire_step> rest{};
        std::vector<std::function<void()>> told{};  // hooks, for the strand
    };

    static duration left_until(time_point until, time_point now) noexcept
    {
        return until == time_point::max() ? duration::max() : until - now;
    }

    template <class Executor>
    static net::awaitable<void> pause(election_stop<Executor>& end, duration how_long)
    {
        const auto at_most = std::clamp<duration>(how_long, duration::zero(), std::chrono::hours{1});  // the machine says so again
        net::steady_timer timer{end.work()->strand(), std::chrono::ceil<net::steady_timer::duration>(at_most)};
        const end_of_wait<Executor> cancels{end};
        net_error_code ignored;
        co_await timer.async_wait(net::bind_cancellation_slot(cancels.slot(), net::redirect_error(net::use_awaitable, ignored)));
    }

    // call() on a thread that may wait for the store. A call that could not be started, or threw, is a failure too.
    template <class Recurring, class Call>
    static net::awaitable<void> on_store(Recurring& of, renewal::call_order order, told_failure<Recurring>& failed, Call call)
    {
        const auto answer = co_await reply_of_store<bool>(of.lease_, order, [&of, &failed, &call](std::error_code&) {
            call();
            failed.note(of);
            return true;
        });
        if (answer.ec && !failed.why.ec) failed.why.ec = answer.ec;
    }

    template <class Recurring, class Executor>
    static net::awaitable<void> begin(Recurring& of, std::optional<fire_time>& start, election_stop<Executor>& end,
                                      attempt<Recurring>& tried)
    {
        typename Recurring::failure& why = tried.failed.why;
        typename Recurring::manner how{.acquire = {}, .start = {}, .rest = &tried.rest, .told_later = &tried.told};
        bool due = false;
        co_await on_store(of, renewal::call_order::second, tried.failed, [&] {
            if (!start) start = of.starts(why);
            how.start = start;
            due = !why.ec && of.is_due(how, why);
        });
        if (!due || why.ec) co_return;
        auto guard = co_await acquire(of, end, tried.failed);
        if (guard.empty()) co_return;
        co_await on_store(of, renewal::call_order::first, tried.failed,
                          [&] { tried.run = of.begin_with(std::move(guard), how, why); });
    }

    // Waits for the lease. Empty: it is to stop, or there is a failure.
    template <class Recurring, class Executor>
    static auto acquire(Recurring& of, election_stop<Executor>& end, told_failure<Recurring>& failed)
        -> net::awaitable<typename Recurring::guard_type>
    {
        using lease_type = typename Recurring::lease_type;
        using guard_type = typename Recurring::guard_type;
        const auto said = std::make_shared<std::optional<store_error>>();
        const end_of_wait<Executor> cancels{end};
        auto got = co_await reply_to<guard_type>([&](auto handler) {
            initiate_acquire(acquirable_lease<lease_type>{of.lease_, said, "run"}, no_deadline,
                             net::bind_cancellation_slot(cancels.slot(), std::move(handler)));
        });
        if (got.ec && got.ec != aborted()) {
            failed.why.ec = got.ec;
            if (*said) failed.said.emplace(**said);
        }
        co_return std::move(got.value);
    }

    // False: it is not noted what became of it, so that the fire may be due again at once.
    template <class Recurring, class Executor, class Job>
    static net::awaitable<bool> carry_out(Recurring& of, typename Recurring::run_type& begun, election_stop<Executor>& end, Job& job)
    {
        std::exception_ptr thrown;
        bool cancelled = false;
        const fire_time fire = begun.fire();
        const std::stop_token lost = begun.stop_token();
        try {
            co_await carried_out(begun, lost, end, job);
        } catch (const net_system_error& e) {
            const bool aborts = e.code() == net_error_code{net::error::operation_aborted};
            cancelled = aborts && (lost.stop_requested() || end.token().stop_requested());
            if (!cancelled) thrown = std::current_exception();
        } catch (...) {
            thrown = std::current_exception();
        }
        told_failure<Recurring> failed;
        bool given_up = false;
        if (thrown && begun.held())
            co_await on_store(of, renewal::call_order::first, failed, [&] { begun.fail(given_up, failed.why.ec); });
        else if (!thrown && !cancelled && begun.held() && begun.state_ == Recurring::run_type::state::open)
            co_await complete(of, begun, end, failed);
        else if (!thrown && begun.state_ == Recurring::run_type::state::in_transaction)
            co_await on_store(of, renewal::call_order::first, failed, [&] { begun.is_open(failed.why.ec); });
        told_failure<Recurring> ignored;
        co_await on_store(of, renewal::call_order::first, ignored, [&] { begun.release(ignored.why.ec); });
        const recurring_options& options = of.book_->options();
        of.book_->tell_news();
        if (given_up && options.on_given_up) options.on_given_up(fire);
        if (thrown && options.on_failed) options.on_failed(fire, thrown);
        if (failed.why.ec) report(of, failed);
        co_return begun.settled();
    }

    // As in run(): again after a failure, for a ttl.
    template <class Recurring, class Executor>
    static net::awaitable<void> complete(Recurring& of, typename Recurring::run_type& begun, election_stop<Executor>& end,
                                         told_failure<Recurring>& failed)
    {
        const duration ttl = of.book_->options().ttl;
        const time_point until = Recurring::after(of.clock().now(), ttl);
        backoff retry = Recurring::pauses_of_completing(ttl);
        for (;;) {
            failed = {};
            co_await on_store(of, renewal::call_order::first, failed, [&] { begun.complete_untold(failed.why.ec); });
            if (!failed.why.ec || !begun.held() || of.clock().now() >= until || end.token().stop_requested()) co_return;
            report(of, failed);
            co_await pause(end, retry.next());
        }
    }

    // The user's coroutine, which is cancelled when the lease is lost, or the operation is cancelled.
    template <class Run, class Executor, class Job>
    static net::awaitable<void> carried_out(Run& begun, const std::stop_token& lost, election_stop<Executor>& end, Job& job)
    {
        const end_of_wait<Executor> cancels{end, lost};
        auto begins = [](Run& of, Job& works) -> net::awaitable<void> { co_await std::invoke(works, of); };
        co_await net::co_spawn(end.work()->strand(), begins(begun, job), net::bind_cancellation_slot(cancels.slot(), net::use_awaitable));
    }

    template <class Recurring>
    static void report(Recurring& of, const told_failure<Recurring>& failed)
    {
        if (!failed.why.refusal.empty()) of.raise(failed.why, "run");
        const auto& hook = of.book_->options().on_error;
        if (!hook) return;
        hook(failed.said ? *failed.said : store_failure(of.store(), failed.why.ec, "run", of.name()));
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
auto async_run_recurring(recurring<Store, Schedule, Clock, OwnerId, RenewPolicy>& of, Job job, Token&& token)
{
    using run_type = typename recurring<Store, Schedule, Clock, OwnerId, RenewPolicy>::run_type;
    static_assert(std::same_as<std::invoke_result_t<Job&, run_type&>, detail::net::awaitable<void>>,
                  "async_run_recurring needs a function of a run_type& that returns an awaitable<void>");
    return detail::net::async_initiate<Token, void(std::exception_ptr)>(detail::start_loop<detail::async_recurring>{}, token,
                                                                        std::addressof(of), std::move(job));
}

}  // namespace leasehold::inline v0

#endif  // Asio has coroutines

#endif
