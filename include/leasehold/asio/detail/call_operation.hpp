// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_DETAIL_CALL_OPERATION_HPP
#define LEASEHOLD_ASIO_DETAIL_CALL_OPERATION_HPP

#include <leasehold/asio/detail/completion.hpp>
#include <leasehold/asio/detail/error_codes.hpp>
#include <leasehold/asio/detail/guards.hpp>
#include <leasehold/asio/detail/pending_operations.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/renewal/call_queue.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0::detail {

/// One call of a store, on one of the threads for such calls. `Call` takes a std::error_code& and returns a Result.
///
/// Calls that go second can be cancelled: before they begin they don't, and afterwards their result is dropped, on this thread.
template <class Call, class Result>
class call_operation final : public renewal::call_job, public cancellable {
public:
    call_operation(renewal::call_order order, Call call)
        : call_job{order}, can_be_cancelled_{order == renewal::call_order::second}, call_{std::move(call)}
    {
    }

    /// The handler is called from now on; after it, the operation may be queued.
    void start(completion<Result>& handler) noexcept
    {
        std::unique_lock lock{mutex_};
        handler_ = &handler;
        if (cancelled_) finish(std::move(lock), {}, {});
    }

    void run() noexcept override
    {
        {
            const std::lock_guard lock{mutex_};
            if (!handler_) return;
            running_ = true;
        }
        std::error_code ec;
        Result result{};
        catch_into(ec, [&] { result = (*call_)(ec); });
        finish(std::unique_lock{mutex_}, ec, std::move(result));
    }

    void cancel() noexcept override
    {
        std::unique_lock lock{mutex_};
        if (!can_be_cancelled_) return;
        cancelled_ = true;
        if (handler_ && !running_) finish(std::move(lock), {}, {});
    }

private:
    void finish(std::unique_lock<std::mutex> lock, std::error_code ec, Result result) noexcept
    {
        const bool cancelled = cancelled_;
        completion<Result>* const told = std::exchange(handler_, nullptr);
        lock.unlock();
        call_.reset();  // it may keep a lease, whose store the handler may own
        if (cancelled) drop(result);
        told->complete(cancelled ? aborted() : ec, std::move(result));
    }

    const bool can_be_cancelled_;
    std::optional<Call> call_;
    std::mutex mutex_;
    completion<Result>* handler_ = nullptr;  // null before the start and after the end
    bool running_ = false;
    bool cancelled_ = false;
};

/// Starts it. On a failure to start, the handler gets the error, and `not_asked`.
template <class Result, class Engine, class Call>
void start_call(const std::shared_ptr<Engine>& engine, renewal::call_order order, Call call, auto& handler, Result not_asked = {})
{
    static_assert(std::is_nothrow_move_constructible_v<Call>, "without memory, the handler is still called");
    std::error_code ec;
    std::shared_ptr<call_operation<Call, Result>> operation;
    catch_into(ec, [&] {
        operation = std::make_shared<call_operation<Call, Result>>(order, std::move(call));
        engine->start_caller();
        handler.starts(operation);
    });
    if (ec) {
        // What the call keeps, or releases, needs the store, which the handler may own.
        operation.reset();
        { [[maybe_unused]] const Call last{std::move(call)}; }
        return handler.complete(ec, std::move(not_asked));
    }
    operation->start(handler);
    engine->call(std::move(operation));
}

}  // namespace leasehold::inline v0::detail

#endif
