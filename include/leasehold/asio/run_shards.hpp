// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_RUN_SHARDS_HPP
#define LEASEHOLD_ASIO_RUN_SHARDS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/asio/detail/net.hpp>
#include <leasehold/asio/lead.hpp>

#if LEASEHOLD_ASIO_HAS_COROUTINES

#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/group/shard_runner.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/owner_id/fixed_owner_id.hpp>
#include <leasehold/owner_id/random_owner_id.hpp>
#include <leasehold/release_all.hpp>
#include <leasehold/renewal/call_queue.hpp>
#include <leasehold/shard_group.hpp>
#include <leasehold/shard_term.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {

/// Ends a wait of shard_group's loop when there is something to do.
template <class Executor>
class shard_alarm {
public:
    explicit shard_alarm(std::shared_ptr<cancellable_work<Executor>> work)
        : work_{std::move(work)}, timer_{std::make_shared<net::steady_timer>(work_->strand())}
    {
    }

    [[nodiscard]] net::steady_timer& timer() const noexcept { return *timer_; }

    /// For a waker, with the alarm as the context.
    static void ring(void* alarm) noexcept
    {
        const shard_alarm& self = *static_cast<shard_alarm*>(alarm);
        self.work_->on_strand([timer = std::weak_ptr<net::steady_timer>{self.timer_}](auto&) {
            if (const auto waiting = timer.lock()) waiting->cancel();
        });
    }

private:
    std::shared_ptr<cancellable_work<Executor>> work_;
    std::shared_ptr<net::steady_timer> timer_;
};

/// Keeps the terms of coroutines that were destroyed before their work had ended, which share it. Its destructor ends them together:
/// no term ends before its coroutine is destroyed, and a store that is slow or fails is not asked for each.
template <class Runner>
class forgotten_shards {
public:
    using job_type = typename Runner::job_type;
    using guard_type = typename Runner::lease_type::guard_type;

    forgotten_shards() = default;
    forgotten_shards(const forgotten_shards&) = delete;
    forgotten_shards& operator=(const forgotten_shards&) = delete;
    ~forgotten_shards()
    {
        guards_to_release<guard_type> left{release_limit{max_release_time}};
        for (const auto& [index, job] : jobs_) {
            guard_type guard = shard_access::take_guard(*job->shard);
            left.add(guard);
        }
        left.send();
    }

    /// Takes the work of an operation that was destroyed. It is never resumed either.
    void take_from(Runner& runner) noexcept { jobs_ = runner.forget_work(); }

private:
    std::map<std::size_t, std::shared_ptr<job_type>> jobs_;
};

/// The work on shards, each a coroutine on a strand of its own.
template <class Runner, class Executor, class Work>
class async_shard_work {
public:
    using job_type = typename Runner::job_type;
    using forgotten_type = std::shared_ptr<forgotten_shards<Runner>>;

    async_shard_work(Runner& runner, const Executor& executor, Work work)
        : runner_{&runner}, executor_{executor}, work_{std::make_shared<Work>(std::move(work))},
          forgotten_{std::make_shared<forgotten_shards<Runner>>()}
    {
    }
    async_shard_work(const async_shard_work&) = delete;
    async_shard_work& operator=(const async_shard_work&) = delete;
    ~async_shard_work() { forgotten_->take_from(*runner_); }

    /// Runs on a thread that may wait for the store. Throws if there is no memory.
    void operator()(const std::shared_ptr<job_type>& job) const
    {
        const auto cancels = std::make_shared<cancellable_work<Executor>>(executor_);
        const auto begins = [runner = runner_, job, cancels, work = work_, forgotten = forgotten_](auto&) {
            const auto ended = [runner, job](std::exception_ptr thrown) { runner->finished(*job, std::move(thrown)); };
            const std::exception_ptr not_begun = thrown_by([&] {
                net::co_spawn(cancels->strand(), work_on(job, cancels, work, forgotten), net::bind_executor(cancels->strand(), ended));
            });
            if (not_begun) runner->finished(*job, not_begun);
        };
        if (const std::error_code ec = cancels->on_strand(begins)) throw std::system_error{ec};
    }

private:
    static net::awaitable<void> work_on(std::shared_ptr<job_type> job, std::shared_ptr<cancellable_work<Executor>> cancels,
                                        std::shared_ptr<Work> work, [[maybe_unused]] forgotten_type forgotten)
    {
        co_await work_until_over(*job->shard, *cancels, *work);
    }

    Runner* runner_;
    Executor executor_;
    std::shared_ptr<Work> work_;
    forgotten_type forgotten_;
};

/// shard_group::run() as a coroutine.
struct async_shards {
    template <class Group, class Executor, class Work>
    static net::awaitable<void> run(Group& group, std::shared_ptr<election_stop<Executor>> end, Work work)
    {
        auto& runner = shard_group_access::runner(group);
        using runner_type = std::remove_reference_t<decltype(runner)>;
        using lease_type = typename Group::lease_type;
        using step_result = typename runner_type::step_result;
        // Nobody acquires this one: its engine has the threads that wait for the store.
        lease_type engine{group.store(), group.name(), lease_terms{.ttl = runner.options().ttl}, runner.clock(),
                          fixed_owner_id{random_owner_id{}.id()}};
        lease_access::keeper(engine).attach_engine();

        shard_alarm<Executor> alarm{end->work()};
        const typename runner_type::sleep sleep{runner, &shard_alarm<Executor>::ring, &alarm};
        const std::stop_token stop = end->token();
        const std::stop_callback wake_when_stopped{stop, [&runner] { runner.wake(); }};
        const async_shard_work<runner_type, Executor, Work> start{runner, end->work()->strand().get_inner_executor(), std::move(work)};
        std::optional<typename runner_type::session> session;
        const auto steps = [&](std::error_code&) {
            if (!session) session.emplace(runner);
            return runner.step(*session, stop.stop_requested(), start);
        };
        std::error_code failure;  // there was no memory, or no thread: all work ends, and then the operation
        for (;;) {
            const auto reply = co_await reply_of_store<step_result>(engine, renewal::call_order::second, steps);
            if (reply.ec) {
                if (!failure) failure = reply.ec;
                if (!session) break;
                end->cancel();
            } else if (reply.value.over) {
                runner.raise_if(reply.value.refusal);
                break;
            }
            if (sleep.on().take()) continue;
            const duration rest = reply.ec ? duration{between_failures} : reply.value.next - runner.clock().now();
            alarm.timer().expires_after(std::chrono::ceil<net::steady_timer::duration>(std::min<duration>(rest, std::chrono::hours{1})));
            net_error_code ignored;
            co_await alarm.timer().async_wait(net::redirect_error(net::use_awaitable, ignored));
        }
        if (failure) throw std::system_error{failure, "async_run_shards '" + group.name() + "'"};
    }

private:
    static constexpr std::chrono::milliseconds between_failures{100};
};

struct start_run_shards : initiation {
    template <class Handler, class Group, class Work>
    void operator()(Handler&& handler, Group* group, Work work) const
    {
        start_until_stopped(std::forward<Handler>(handler), [&](auto end) { return async_shards::run(*group, end, std::move(work)); });
    }
};

}  // namespace detail

/// Takes part in a group, and works on each shard that this member owns with a coroutine, until the operation is cancelled: like
/// shard_group::run(), but without a thread for each shard.
///
///     co_await lh::async_run_shards(shards, [](auto& shard) -> net::awaitable<void> {
///         while (!shard.draining()) co_await work(shard.index(), shard.token());
///     }, net::use_awaitable);
///
/// `work` is a function of a shard_term&, which returns a net::awaitable<void>. It is called for each term of a shard, on a strand of its
/// own of the handler's associated executor, so where several threads run that, several coroutines run at once. The shard is given back
/// when its coroutine has ended. When the shard is to be given up or is lost, the coroutine is cancelled with
/// cancellation_type::terminal, and shard.stop_token() is asked to stop. An exception because of that is no failure; another one is, as
/// for run(). A coroutine that has more to do than that before its shard is given up resets its cancellation state
/// (net::this_coro::reset_cancellation_state(net::disable_cancellation())), and asks draining().
///
/// Completes with void(std::exception_ptr): none after a cancellation, which is a stop: all coroutines have ended then, all shards are
/// released, and the member has left. Otherwise what run() throws. on_event is called on a thread of the library. Pauses between looks
/// follow Asio's steady clock, not the group's. Lifetime: the group must outlive the operation. While it runs, nobody may call run(). If it
/// is destroyed with its context, the member leaves; then its shards are released: no release of a shard begins after one that fails, nor
/// after max_release_time (1 s) of them.
template <lease_store Store, lease_clock Clock, class Work, class Token>
    requires std::invocable<Work&, typename shard_group<Store, Clock>::shard_type&>
auto async_run_shards(shard_group<Store, Clock>& group, Work work, Token&& token)
{
    using result = std::invoke_result_t<Work&, typename shard_group<Store, Clock>::shard_type&>;
    static_assert(std::same_as<result, detail::net::awaitable<void>>,
                  "async_run_shards needs a function of a shard_term& that returns an awaitable<void>");
    return detail::net::async_initiate<Token, void(std::exception_ptr)>(detail::start_run_shards{}, token, std::addressof(group),
                                                                        std::move(work));
}

}  // namespace leasehold::inline v0

#endif  // Asio has coroutines

#endif
