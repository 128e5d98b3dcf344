// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_RUN_WHILE_HELD_HPP
#define LEASEHOLD_ASIO_RUN_WHILE_HELD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/asio/detail/guards.hpp>
#include <leasehold/asio/detail/net.hpp>
#include <leasehold/asio/detail/pending_operations.hpp>
#include <leasehold/asio/detail/posting_executor.hpp>
#include <leasehold/asio/release.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/error.hpp>

#if LEASEHOLD_ASIO_HAS_COROUTINES

#include <leasehold/asio/detail/cancellable_work.hpp>
#include <leasehold/detail/new_stop_source.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {

template <class T>
inline constexpr bool is_awaitable = false;
template <class T, class Executor>
inline constexpr bool is_awaitable<net::awaitable<T, Executor>> = true;

template <class T>
struct awaitable_result;
template <class T, class Executor>
struct awaitable_result<net::awaitable<T, Executor>> {
    using type = T;
};

/// What runs while a right is held: its guard, and what cancels it.
template <class Guard, class Executor>
class held_run final : public cancellable, public std::enable_shared_from_this<held_run<Guard, Executor>> {
public:
    held_run(Guard guard, const Executor& executor)
        : guard_{std::move(guard)}, lost_{guard_.stop_token()}, work_{std::make_shared<cancellable_work<Executor>>(executor)}
    {
    }

    [[nodiscard]] cancellable_work<Executor>& work() const noexcept { return *work_; }
    [[nodiscard]] std::stop_token stop_token() const noexcept { return stop_.get_token(); }

    [[nodiscard]] bool held() const noexcept { return guard_.held(); }

    /// A loss cancels the work from now on. Throws lease_lost if it came before: the executor may be late. Call it on the strand.
    void start()
    {
        on_loss_.emplace(lost_, cancel_it{*this});
        if (!guard_.held()) std::rethrow_exception(loss());
    }

    void cancel() noexcept override
    {
        stop_.request_stop();
        work_->cancel();
    }

    /// The work has ended. Returns its exception, or else that the lease was lost.
    std::exception_ptr end(std::exception_ptr thrown)
    {
        on_loss_.reset();
        if (thrown) lease_access::forget_min_hold(guard_);
        if (guard_.held()) return thrown;
        const bool because_of_loss = !thrown || stop_.stop_requested();
        return because_of_loss ? loss() : thrown;
    }

    [[nodiscard]] Guard take_guard() noexcept { return std::move(guard_); }

    /// Releases the guard, unless it was taken. The work was broken off, so it doesn't keep the name closed.
    void give_back() noexcept
    {
        on_loss_.reset();
        lease_access::forget_min_hold(guard_);
        const Guard released{take_guard()};
    }

private:
    struct cancel_it {
        held_run& run;
        void operator()() const noexcept { run.cancel(); }
    };

    [[nodiscard]] std::exception_ptr loss() const
    {
        return std::make_exception_ptr(lease_lost{lease_access::body(guard_).name_of_loss()});
    }

    Guard guard_;
    const std::stop_token lost_;
    const std::shared_ptr<cancellable_work<Executor>> work_;
    std::stop_source stop_ = new_stop_source();
    std::optional<std::stop_callback<cancel_it>> on_loss_;
};

/// The work as a coroutine.
template <class Work>
auto begin_work(Work& work, [[maybe_unused]] std::stop_token stop)
{
    if constexpr (std::invocable<Work&, std::stop_token>)
        return std::invoke(work, std::move(stop));
    else if constexpr (std::invocable<Work&>)
        return std::invoke(work);
    else
        return std::move(work);
}

template <class Work>
using work_coroutine = decltype(begin_work(std::declval<Work&>(), std::stop_token{}));

template <class Work, class Ended>
void ended_before_start(Ended& ended)
{
    using result = typename awaitable_result<work_coroutine<Work>>::type;
    if constexpr (std::is_void_v<result>)
        ended(nullptr);
    else
        ended(nullptr, result{});
}

/// The user's handler, as the handler of the release: it gets what the work has come to.
template <class Handler, class... Results>
struct told_after_release {
    using executor_type = executor_of_t<Handler>;
    using allocator_type = net::associated_allocator_t<Handler>;

    [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(handler); }
    [[nodiscard]] allocator_type get_allocator() const noexcept { return net::get_associated_allocator(handler); }

    void operator()(std::error_code, release_outcome)
    {
        if (auto slot = net::get_associated_cancellation_slot(handler); slot.is_connected()) slot.clear();
        std::apply([this](auto&... result) { std::move(handler)(std::move(thrown), std::move(result)...); }, results);
    }

    Handler handler;
    std::exception_ptr thrown;
    std::tuple<Results...> results;
};

/// What follows the work: first the release, on a thread that may wait for the store; then the handler.
template <class Handler, class Run>
class end_of_run {
public:
    end_of_run(Handler handler, std::shared_ptr<Run> run) : handler_{std::move(handler)}, run_{std::move(run)} {}
    end_of_run(end_of_run&&) = default;
    end_of_run& operator=(end_of_run&&) = delete;
    // The handler may own the store, and others may still refer to the run.
    ~end_of_run()
    {
        if (run_) run_->give_back();
    }

    template <class... Results>
    void operator()(std::exception_ptr thrown, Results... results)
    {
        thrown = run_->end(std::move(thrown));
        auto guard_left = run_->take_guard();
        async_release(std::move(guard_left),
                      told_after_release<Handler, Results...>{std::move(handler_), std::move(thrown), {std::move(results)...}});
    }

private:
    Handler handler_;
    std::shared_ptr<Run> run_;
};

struct start_run_while_held : initiation {
    template <class Handler, class Guard, class Work>
    void operator()(Handler&& handler, Guard guard, Work work) const
    {
        using run_type = held_run<Guard, posting_executor_t<executor_of_t<std::decay_t<Handler>>>>;
        const auto run = std::make_shared<run_type>(std::move(guard), posting_executor(executor_of(handler)));
        const auto strand = run->work().strand();
        if (auto slot = net::get_associated_cancellation_slot(handler); slot.is_connected())
            slot.assign([run = std::weak_ptr<cancellable>{run}](net::cancellation_type) {
                if (const auto running = run.lock()) running->cancel();
            });
        end_of_run<std::decay_t<Handler>, run_type> ended{std::forward<Handler>(handler), run};
        if (!run->held()) return ended_before_start<Work>(ended);
        // Begins the work on the strand. A function that begins it runs there, too, and no loss comes before the work can be cancelled.
        auto coroutine = [](auto running, Work begins) -> work_coroutine<Work> {
            running->start();
            co_return co_await begin_work(begins, running->stop_token());
        };
        net::co_spawn(strand, coroutine(run, std::move(work)),
                      net::bind_cancellation_slot(run->work().slot(), net::bind_executor(strand, std::move(ended))));
    }
};

template <class T>
struct run_signature {
    using type = void(std::exception_ptr, T);
};
template <>
struct run_signature<void> {
    using type = void(std::exception_ptr);
};

}  // namespace detail

/// Runs a coroutine while a lease is held, or a permit, a share, an exclusive right or a set: cancels it when that is lost, waits for
/// it to end, and then releases the guard.
///
/// `work` is a net::awaitable<T>, or a function of no argument, or of a std::stop_token, that returns one. It runs on a strand of the
/// handler's associated executor, and is cancelled with cancellation_type::terminal, no later than the term's deadline plus what the
/// executor needs; the std::stop_token is asked to stop at that time as well.
/// Completes like co_spawn(): void(std::exception_ptr, T), or void(std::exception_ptr) for an awaitable<void>. After a loss that is a
/// lease_lost; otherwise it is what the work threw. A release that fails is not reported. A cancellation of the operation cancels the
/// work. Work that ignores its cancellation continues without the lease.
/// If the guard isn't held when the executor comes to the work, the work isn't begun.
template <detail::any_guard Guard, class Work, class Token>
auto async_run_while_held(Guard guard, Work work, Token&& token)
{
    using result = typename detail::awaitable_result<detail::work_coroutine<Work>>::type;
    return detail::net::async_initiate<Token, typename detail::run_signature<result>::type>(detail::start_run_while_held{}, token,
                                                                                           std::move(guard), std::move(work));
}

}  // namespace leasehold::inline v0

#endif  // Asio has coroutines

#endif
