// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_ASIO_SUPPORT_HPP
#define LEASEHOLD_TESTS_ASIO_SUPPORT_HPP

#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/scripted_store.hpp>

#include <leasehold/asio.hpp>

#ifdef LEASEHOLD_STANDALONE_ASIO
#include <asio.hpp>
#else
#include <boost/asio.hpp>
#endif

// Since Asio 1.24, Boost 1.80.
#if LEASEHOLD_ASIO_VERSION >= 102400
#define LEASEHOLD_TESTS_ANY_COMPLETION_HANDLER 1
#else
#define LEASEHOLD_TESTS_ANY_COMPLETION_HANDLER 0
#endif

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace leasehold_test {

namespace lh = leasehold;
namespace net = lh::detail::net;
using namespace std::chrono_literals;
using std::error_code;

using memory_lease = lh::basic_lease<lh::memory_store>;
using memory_guard = memory_lease::guard_type;
using scripted_lease = lh::basic_lease<scripted_store, lh::manual_clock>;

#ifdef LEASEHOLD_STANDALONE_ASIO
using net_system_error = asio::system_error;
#else
using net_system_error = boost::system::system_error;
#endif

inline const error_code aborted = lh::detail::aborted();

/// An io_context that some threads run until the end of the test.
class running_context {
public:
    explicit running_context(int threads = 1)
    {
        for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { context.run(); });
    }
    running_context(const running_context&) = delete;
    running_context& operator=(const running_context&) = delete;
    ~running_context()
    {
        work_.reset();
        context.stop();
        for (auto& each : threads_) each.join();
    }

    net::io_context context;

private:
    net::executor_work_guard<net::io_context::executor_type> work_{context.get_executor()};
    std::vector<std::thread> threads_;
};

/// Cancels operations by the cancellation slots of their handlers. Outlives the operations.
class cancellation {
public:
    /// The handler, or the token, with a slot of its own.
    template <class Handler>
    auto on(Handler handler)
    {
        return net::bind_cancellation_slot(signals_.emplace_back().slot(), std::move(handler));
    }

    /// On the thread that runs the handlers. The last first: if the first waiter left first, each would get the session that waits at the
    /// server just before its own end, and the sessions that are given up take threads.
    void emit(net::cancellation_type type = net::cancellation_type::terminal)
    {
        for (auto each = signals_.rbegin(); each != signals_.rend(); ++each) each->emit(type);
    }
    /// Does that on the handlers' executor, which another thread runs, and waits for it.
    template <class Executor>
    void cancel(const Executor& executor, net::cancellation_type type = net::cancellation_type::terminal)
    {
        std::promise<void> emitted;
        net::dispatch(executor, [&] {
            emit(type);
            emitted.set_value();
        });
        emitted.get_future().get();
    }
    void cancel(net::io_context& context, net::cancellation_type type = net::cancellation_type::terminal)
    {
        cancel(context.get_executor(), type);
    }

private:
    std::deque<net::cancellation_signal> signals_;
};

/// What a handler was called with.
template <class Result>
struct outcome {
    error_code ec;
    Result result;
    std::thread::id on;
};

/// A handler that keeps what it is called with.
template <class Result>
class recorder {
public:
    template <class Executor>
    auto on(const Executor& executor)
    {
        return net::bind_executor(executor, [promise = promise_](error_code ec, Result result) {
            promise->set_value({ec, std::move(result), std::this_thread::get_id()});
        });
    }
    auto on(net::io_context& context) { return on(context.get_executor()); }
    auto on(net::thread_pool& pool) { return on(pool.get_executor()); }

    [[nodiscard]] bool called(std::chrono::nanoseconds within = 20s) { return future_.wait_for(within) == std::future_status::ready; }
    [[nodiscard]] outcome<Result> get()
    {
        if (!called()) throw std::runtime_error{"the handler was not called"};
        return future_.get();
    }

private:
    std::shared_ptr<std::promise<outcome<Result>>> promise_ = std::make_shared<std::promise<outcome<Result>>>();
    std::future<outcome<Result>> future_ = promise_->get_future();
};

/// A hook that keeps how long the one waited who waited longest for what it was granted.
struct longest_wait {
    void operator()(const lh::store_call&, const lh::store_call_report&) const noexcept {}
    void operator()(const lh::lease_event& event)
    {
        const std::lock_guard lock{mutex};
        if (event.kind == lh::lease_event_kind::acquired) waited = std::max(waited, event.waited);
    }

    std::mutex mutex;
    lh::duration waited{};
};

}  // namespace leasehold_test

#endif
