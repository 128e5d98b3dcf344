// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_LEAD_HPP
#define LEASEHOLD_ASIO_LEAD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/asio/acquire.hpp>
#include <leasehold/asio/detail/call_operation.hpp>
#include <leasehold/asio/detail/cancellable_work.hpp>
#include <leasehold/asio/detail/completion.hpp>
#include <leasehold/asio/detail/net.hpp>
#include <leasehold/asio/detail/pending_operations.hpp>
#include <leasehold/asio/detail/posting_executor.hpp>
#include <leasehold/detail/candidate.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/election_machine.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/detail/new_stop_source.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/leader_election.hpp>
#include <leasehold/leader_term.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/renewal/call_queue.hpp>
#include <leasehold/step_down_reason.hpp>
#include <leasehold/time_point.hpp>

#if LEASEHOLD_ASIO_HAS_COROUTINES

#ifdef LEASEHOLD_STANDALONE_ASIO
#include <asio/dispatch.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/system_error.hpp>
#else
#include <boost/asio/dispatch.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>
#endif

#include <algorithm>
#include <chrono>
#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {

#ifdef LEASEHOLD_STANDALONE_ASIO
using net_system_error = ::asio::system_error;
#else
using net_system_error = ::boost::system::system_error;
#endif

/// What an operation with void(error_code, T) has completed with.
template <class T>
struct reply {
    std::error_code ec;
    T value;
};

/// Awaits the operation that begin(handler) starts.
template <class T, class Begin>
auto reply_to(Begin begin)
{
    return net::async_initiate<const net::use_awaitable_t<>&, void(reply<T>)>(
        [](auto handler, Begin starts) {
            const auto executor = executor_of(handler);
            starts(net::bind_executor(executor, [handler = std::move(handler)](std::error_code ec, T value) mutable {
                std::move(handler)(reply<T>{ec, std::move(value)});
            }));
        },
        net::use_awaitable, std::move(begin));
}

/// Awaits a call of the store, which a thread of the lease's library makes. The slot cancels one that goes second and has not begun.
template <class Result, class Lease, class Call>
auto reply_of_store(Lease& lease, renewal::call_order order, Call call, net::cancellation_slot slot = {})
{
    return reply_to<Result>([&lease, order, call = std::move(call), slot](auto handler) mutable {
        auto bound = net::bind_cancellation_slot(slot, std::move(handler));
        auto* const told = handler_completion<decltype(bound), Result>::make(std::move(bound));
        if (told) start_call<Result>(lease_access::keeper(lease).serving_engine(), order, std::move(call), *told);
    });
}

/// What asks an election's loop to end, and cancels the work of its term.
template <class Executor>
class election_stop final : public cancellable {
public:
    explicit election_stop(const Executor& executor) : work_{std::make_shared<cancellable_work<Executor>>(executor)} {}

    void cancel() noexcept override { stop_.request_stop(); }

    [[nodiscard]] std::stop_token token() const noexcept { return stop_.get_token(); }
    [[nodiscard]] const std::shared_ptr<cancellable_work<Executor>>& work() const noexcept { return work_; }

private:
    std::stop_source stop_ = new_stop_source();
    std::shared_ptr<cancellable_work<Executor>> work_;
};

/// Cancels one wait of an election's loop, on the strand, when the election is to end.
template <class Executor>
class end_of_wait {
public:
    explicit end_of_wait(const election_stop<Executor>& end) : on_end_{end.token(), emission{end.work(), signal_}} {}
    // Cancels it also when the stop of `other` is requested.
    end_of_wait(const election_stop<Executor>& end, const std::stop_token& other) : end_of_wait{end}
    {
        on_other_.emplace(other, emission{end.work(), signal_});
    }

    [[nodiscard]] auto slot() const noexcept { return signal_->slot(); }
    [[nodiscard]] const auto& signal() const noexcept { return signal_; }

private:
    struct emission {
        std::shared_ptr<cancellable_work<Executor>> work;
        std::weak_ptr<net::cancellation_signal> signal;

        void operator()() const noexcept
        {
            work->on_strand([signal = signal](auto&) {
                if (const auto waiting = signal.lock()) waiting->emit(net::cancellation_type::terminal);
            });
        }
    };

    const std::shared_ptr<net::cancellation_signal> signal_ = std::make_shared<net::cancellation_signal>();
    const std::stop_callback<emission> on_end_;
    std::optional<std::stop_callback<emission>> on_other_;
};

/// Waits for an hour at most: the loop asks again. Ends early when the loop is to end.
template <class Executor>
net::awaitable<void> pause(election_stop<Executor>& end, duration how_long)
{
    const auto at_most = std::clamp<duration>(how_long, duration::zero(), std::chrono::hours{1});
    net::steady_timer timer{end.work()->strand(), std::chrono::ceil<net::steady_timer::duration>(at_most)};
    const end_of_wait<Executor> cancels{end};
    net_error_code ignored;
    co_await timer.async_wait(net::bind_cancellation_slot(cancels.slot(), net::redirect_error(net::use_awaitable, ignored)));
}

/// Runs the user's coroutine on the strand, and cancels it when the term is to end. An exception because of that is ignored.
template <class Term, class Executor, class Work>
net::awaitable<void> work_until_over(Term& term, cancellable_work<Executor>& cancels, Work& work)
{
    if (!term.held()) co_return;  // the cancellation would come after the first part of the work
    const std::stop_callback at_end{term.stop_token(), [&cancels] { cancels.cancel(); }};
    auto begins = [](Term& current, Work& does) -> net::awaitable<void> { co_await std::invoke(does, current); };
    try {
        co_await net::co_spawn(cancels.strand(), begins(term, work), net::bind_cancellation_slot(cancels.slot(), net::use_awaitable));
    } catch (const net_system_error& e) {
        if (e.code() != net_error_code{net::error::operation_aborted} || !term.stop_token().stop_requested()) throw;
    }
}

/// leader_election::run() as a coroutine.
struct async_election {
    template <class Lease, class Executor, class Work>
    static net::awaitable<void> run(candidate<Lease>& self, std::shared_ptr<election_stop<Executor>> end, Work work)
    {
        const std::stop_token stop = end->token();
        lease_access::keeper(self.lease()).attach_engine();
        election_machine machine = self.new_machine();
        for (;;) {
            const time_point now = self.clock().now();
            const election_step step = machine.next(now, stop.stop_requested());
            switch (step.action) {
            case election_action::leave: co_return;
            case election_action::pause: co_await pause(*end, step.until - self.clock().now()); break;
            case election_action::campaign: co_await campaign(self, machine, *end, work); break;
            }
        }
    }

private:
    // What a campaign and its looks at the holder know of each other, on the strand.
    template <class Executor>
    struct looking_around {
        explicit looking_around(election_stop<Executor>& end)
            : timer{end.work()->strand()}, ended{end.work()->strand(), net::steady_timer::time_point::max()}
        {
        }

        // A look that waits for a thread ends at once. One that is under way is waited for.
        void end()
        {
            campaign_is_over = true;
            timer.cancel();
            look.emit(net::cancellation_type::terminal);
        }

        net::steady_timer timer;  // until the next look
        net::cancellation_signal look;
        net::steady_timer ended;  // cancelled when there is no look any more
        std::exception_ptr thrown;  // by a hook
        bool campaign_is_over = false;
        bool is_over = false;
    };

    // A term under which nobody comes to lead does not keep the name closed.
    template <class Guard>
    struct end_of_candidacy {
        const Guard& granted;
        ~end_of_candidacy() { lease_access::forget_min_hold(granted); }
    };

    // The looks go on no longer than a campaign that ends with an exception.
    template <class Executor>
    struct over_at_end {
        looking_around<Executor>& looks;
        ~over_at_end() { looks.campaign_is_over = true; }
    };

    // Looks at the holder from time to time, while the campaign waits with its place in the queue.
    template <class Lease, class Executor>
    static net::awaitable<void> look_around(candidate<Lease>& self, election_machine& machine,
                                            std::shared_ptr<looking_around<Executor>> state)
    {
        while (!state->campaign_is_over) {
            const time_point now = self.clock().now();
            const auto pause = std::min<duration>(machine.look_at(now) - now, std::chrono::hours{1});
            state->timer.expires_after(std::chrono::ceil<net::steady_timer::duration>(pause));
            net_error_code ignored;
            co_await state->timer.async_wait(net::redirect_error(net::use_awaitable, ignored));
            if (state->campaign_is_over) break;
            const auto looks = [&self](std::error_code&) { return self.look_at_holder(); };
            const auto seen = co_await reply_of_store<std::optional<lease_record>>(self.lease(), renewal::call_order::second, looks,
                                                                                   state->look.slot());
            if (state->campaign_is_over) break;
            if (seen.value) machine.busy();
            self.tell_of(seen.value);
        }
    }

    template <class Lease, class Executor, class Work>
    static net::awaitable<void> campaign(candidate<Lease>& self, election_machine& machine, election_stop<Executor>& end, Work& work)
    {
        using guard_type = typename Lease::guard_type;
        const auto failure = std::make_shared<std::optional<store_error>>();
        const auto was_busy = std::make_shared<bool>(false);
        const auto looks = std::make_shared<looking_around<Executor>>(end);
        const over_at_end<Executor> at_end{*looks};
        const end_of_wait<Executor> cancels{end};
        if (self.looks_around()) {
            net::co_spawn(end.work()->strand(), look_around<Lease, Executor>(self, machine, looks),
                          net::bind_executor(end.work()->strand(), [looks, ends = cancels.signal()](std::exception_ptr thrown) {
                              looks->thrown = std::move(thrown);
                              looks->is_over = true;
                              looks->ended.cancel();
                              if (looks->thrown) ends->emit(net::cancellation_type::terminal);
                          }));
        } else {
            looks->is_over = true;
        }
        const auto begins = [&](auto handler) {
            initiate_acquire(acquirable_lease<Lease>{self.lease(), failure, "campaign", was_busy}, no_deadline,
                             net::bind_cancellation_slot(cancels.slot(), std::move(handler)));
        };
        auto got = co_await reply_to<guard_type>(begins);
        const end_of_candidacy<guard_type> of_candidacy{got.value};
        looks->end();
        net_error_code ignored;
        while (!looks->is_over) co_await looks->ended.async_wait(net::redirect_error(net::use_awaitable, ignored));
        if (looks->thrown) std::rethrow_exception(looks->thrown);
        if (!got.value.empty()) {
            std::error_code unwatched;
            self.watch(got.value, unwatched);
            if (unwatched) {
                lease_access::forget_min_hold(got.value);
                const auto releases = [&guard = got.value](std::error_code& ec) { return guard.release(ec); };
                co_await reply_of_store<release_outcome>(self.lease(), renewal::call_order::first, releases);
                lease_access::attempts(self.lease()).raise_failure(unwatched, "async_lead");
            }
            co_await lead(self, machine, std::move(got.value), end, work);
        }
        else if (got.ec && got.ec != aborted()) {
            if (*was_busy) machine.busy();
            machine.failed(self.clock().now());
            if (!*failure) failure->emplace(got.ec, "campaign '" + self.lease().name() + "'");
            self.notify(self.options().on_error, **failure);
        }
    }

    // Before the term is destroyed, also with a coroutine that is never resumed, it is hidden from resign(); and work that did not come to
    // its end does not keep the name closed.
    template <class Lease>
    struct end_of_work {
        candidate<Lease>& self;
        const leader_term<Lease>& term;
        bool reached = false;
        ~end_of_work()
        {
            self.hide();
            if (!reached) lease_access::forget_min_hold(term.guard());
        }
    };

    template <class Lease, class Executor, class Work>
    static net::awaitable<void> lead(candidate<Lease>& self, election_machine& machine, typename Lease::guard_type guard,
                                     election_stop<Executor>& end, Work& work)
    {
        leader_term<Lease> term = self.new_term(std::move(guard), machine, end.token());
        self.show(term);
        end_of_work<Lease> of_work{self, term};
        std::exception_ptr thrown;
        try {
            self.notify(self.options().on_elected, term.token());
            co_await work_until_over(term, *end.work(), work);
            of_work.reached = true;
        } catch (...) {
            thrown = std::current_exception();
        }
        const auto ended = self.ends(term, end.token(), thrown != nullptr);
        const auto tell = [&] {
            try {
                self.notify(self.options().on_stepped_down, ended.reason);
            } catch (...) {
                if (!thrown) thrown = std::current_exception();
            }
        };
        if (ended.lost) tell();
        if (thrown) lease_access::forget_min_hold(term.guard());
        // A release that fails is no error: the store frees the lease at the latest when its time runs out.
        const auto releases = [&term](std::error_code& ec) { return term.release(ec); };
        co_await reply_of_store<release_outcome>(self.lease(), renewal::call_order::first, releases);
        self.stepped_down(machine, self.clock().now(), ended.reason);
        if (!ended.lost) tell();
        if (thrown) std::rethrow_exception(thrown);
    }
};

/// Starts the coroutine begin(end) on a strand of the handler's executor. The handler's cancellation slot asks `end` to end it.
template <class Handler, class Begin>
void start_until_stopped(Handler&& handler, Begin begin)
{
    using executor_type = posting_executor_t<executor_of_t<std::decay_t<Handler>>>;
    const auto end = std::make_shared<election_stop<executor_type>>(posting_executor(executor_of(handler)));
    if (auto slot = net::get_associated_cancellation_slot(handler); slot.is_connected())
        slot.assign([end = std::weak_ptr<cancellable>{end}](net::cancellation_type) {
            if (const auto running = end.lock()) running->cancel();
        });
    const auto strand = end->work()->strand();
    auto ended = [end, handler = std::decay_t<Handler>{std::forward<Handler>(handler)}](std::exception_ptr thrown) mutable {
        const auto executor = executor_of(handler);
        net::dispatch(net::bind_executor(executor, [handler = std::move(handler), thrown = std::move(thrown)]() mutable {
            if (auto slot = net::get_associated_cancellation_slot(handler); slot.is_connected()) slot.clear();
            std::move(handler)(std::move(thrown));
        }));
    };
    net::co_spawn(strand, begin(end), net::bind_executor(strand, std::move(ended)));
}

// Starts Loop::run(), a coroutine that the handler's slot cancels.
template <class Loop>
struct start_loop : initiation {
    template <class Handler, class Subject, class Work>
    void operator()(Handler&& handler, Subject* subject, Work work) const
    {
        start_until_stopped(std::forward<Handler>(handler), [&](auto end) { return Loop::run(*subject, end, std::move(work)); });
    }
};

}  // namespace detail

/// Campaigns, leads with a coroutine, steps down and campaigns again until the operation is cancelled, like leader_election::run(), but
/// without a thread.
///
/// `work` is a function of a leader_term&, which returns a net::awaitable<void>. It is called for each term; the lease is released
/// when the coroutine has ended. When the leadership ends, the coroutine is cancelled with cancellation_type::terminal, and
/// term.stop_token() is asked to stop. An exception because of that is no error.
/// The hooks of the election and the coroutine run on a strand of the handler's associated executor. Completes with
/// void(std::exception_ptr): none after a cancellation, which is a stop, or else what the coroutine or a hook threw. Pauses after
/// failures and between campaigns follow Asio's steady clock, not the lease's.
/// Lifetime: the election must outlive the operation. While it runs, nobody may call run().
template <class Lease, class Work, class Token>
    requires std::invocable<Work&, leader_term<Lease>&>
auto async_lead(leader_election<Lease>& election, Work work, Token&& token)
{
    static_assert(std::same_as<std::invoke_result_t<Work&, leader_term<Lease>&>, detail::net::awaitable<void>>,
                  "async_lead needs a function of a leader_term& that returns an awaitable<void>");
    return detail::net::async_initiate<Token, void(std::exception_ptr)>(detail::start_loop<detail::async_election>{}, token,
                                                                        std::addressof(detail::election_access::candidate_of(election)),
                                                                        std::move(work));
}

}  // namespace leasehold::inline v0

#endif  // Asio has coroutines

#endif
