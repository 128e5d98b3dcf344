// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_DETAIL_PENDING_OPERATIONS_HPP
#define LEASEHOLD_ASIO_DETAIL_PENDING_OPERATIONS_HPP

#include <leasehold/asio/detail/net.hpp>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace leasehold::inline v0::detail {

/// An operation that can be told to end.
class cancellable {
public:
    cancellable() = default;
    cancellable(const cancellable&) = delete;
    cancellable& operator=(const cancellable&) = delete;
    virtual ~cancellable() = default;

    /// Makes it end soon; nothing if it has ended. Doesn't wait. From any thread.
    virtual void cancel() noexcept = 0;
};

class handler_list;

/// A handler that waits for the end of its operation.
class pending_handler {
public:
    pending_handler() = default;
    pending_handler(const pending_handler&) = delete;
    pending_handler& operator=(const pending_handler&) = delete;

    /// Destroys the object without calling the handler.
    virtual void discard() noexcept = 0;

    void belongs_to(std::weak_ptr<cancellable> operation) noexcept { operation_ = std::move(operation); }

protected:
    virtual ~pending_handler() = default;

private:
    friend class handler_list;
    friend class pending_operations;

    std::weak_ptr<cancellable> operation_;
    handler_list* in_ = nullptr;
    pending_handler* before_ = nullptr;
    pending_handler* after_ = nullptr;
};

/// Never allocates. Not thread-safe.
class handler_list {
public:
    handler_list() = default;
    handler_list(const handler_list&) = delete;
    handler_list& operator=(const handler_list&) = delete;

    [[nodiscard]] bool empty() const noexcept { return !first_; }

    void push(pending_handler& added) noexcept
    {
        added.in_ = this;
        added.before_ = nullptr;
        added.after_ = first_;
        if (first_) first_->before_ = &added;
        first_ = &added;
    }

    pending_handler& pop() noexcept
    {
        pending_handler& popped = *first_;
        erase(popped);
        return popped;
    }

    /// Removes it from whichever list it is in.
    static void erase(pending_handler& gone) noexcept
    {
        (gone.before_ ? gone.before_->after_ : gone.in_->first_) = gone.after_;
        if (gone.after_) gone.after_->before_ = gone.before_;
    }

private:
    pending_handler* first_ = nullptr;
};

/// The handlers of one execution context whose operations have not ended. The context may be destroyed before that: then it cancels
/// the operations, and waits until nothing of them refers to a lease or a store any more before it destroys the handlers. A
/// coroutine that is destroyed with its handler may own the store.
///
/// Thread safety: any thread may call any function.
class pending_operations final : public net::execution_context::service {
public:
    inline static net::execution_context::id id;

    explicit pending_operations(net::execution_context& context) : net::execution_context::service{context} {}
    // A context that is being destroyed first shuts down the services that it has by then. After that it destroys functions that nobody
    // has run, and one of these may be the first to start an operation there.
    ~pending_operations() override { shut_down(); }

    /// False: the context is being destroyed, and no handler will run any more.
    [[nodiscard]] bool add(pending_handler& added) noexcept
    {
        const std::lock_guard lock{mutex_};
        if (closed_) return false;
        open_.push(added);
        return true;
    }

    /// The operation has ended: calls post(), which hands the handler to its executor; without memory for that, it drops it. If the
    /// context is being destroyed, calls drop() instead, which must leave nothing behind that refers to a store.
    template <class Post, class Drop>
    void ended(pending_handler& handler, Post post, Drop drop) noexcept
    {
        std::unique_lock lock{mutex_};
        if (!closed_) {
            handler_list::erase(handler);
            ++unfinished_;  // a context that is destroyed meanwhile waits
            lock.unlock();
            post();
            lock.lock();
        } else {
            lock.unlock();
            drop();
            lock.lock();
            handler_list::erase(handler);
            dropped_.push(handler);
        }
        if (--unfinished_ == 0) changed_.notify_all();
    }

    /// Calls post(), which gives an executor something to do, unless the context is being destroyed.
    template <class Post>
    void unless_closed(Post post) noexcept
    {
        const std::lock_guard lock{mutex_};
        if (!closed_) post();
    }

private:
    void shutdown() override { shut_down(); }

    void shut_down() noexcept
    {
        std::unique_lock lock{mutex_};
        closed_ = true;
        for (; !open_.empty(); ++unfinished_) to_cancel_.push(open_.pop());
        while (auto next = next_to_cancel()) {
            lock.unlock();
            next->cancel();
            next.reset();
            lock.lock();
        }
        changed_.wait(lock, [this] { return unfinished_ == 0; });
        while (!dropped_.empty()) {
            pending_handler& gone = dropped_.pop();
            lock.unlock();
            gone.discard();
            lock.lock();
        }
    }

    std::shared_ptr<cancellable> next_to_cancel() noexcept
    {
        while (!to_cancel_.empty()) {
            pending_handler& next = to_cancel_.pop();
            cancelled_.push(next);
            if (auto operation = next.operation_.lock()) return operation;
        }
        return nullptr;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool closed_ = false;
    std::size_t unfinished_ = 0;
    handler_list open_;
    handler_list to_cancel_;
    handler_list cancelled_;
    handler_list dropped_;
};

/// The context of an executor.
template <class Executor>
net::execution_context& context_of(const Executor& executor) noexcept
{
    if constexpr (net::can_query<const Executor&, net::execution::context_as_t<net::execution_context&>>::value)
        return net::query(executor, net::execution::context_as<net::execution_context&>);
    else if constexpr (requires { executor.context(); })
        return executor.context();
    else
        return net::query(net::system_executor{}, net::execution::context);
}

}  // namespace leasehold::inline v0::detail

#endif
