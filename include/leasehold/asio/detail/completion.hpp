// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_DETAIL_COMPLETION_HPP
#define LEASEHOLD_ASIO_DETAIL_COMPLETION_HPP

#include <leasehold/asio/detail/error_codes.hpp>
#include <leasehold/asio/detail/guards.hpp>
#include <leasehold/asio/detail/net.hpp>
#include <leasehold/asio/detail/pending_operations.hpp>
#include <leasehold/asio/detail/posting_executor.hpp>
#include <leasehold/detail/catch_into.hpp>

#include <memory>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0::detail {

/// The handler of an operation, whichever type it has. Called once, or destroyed with its execution context.
template <class Result>
class completion : public pending_handler {
public:
    /// Hands the result to the handler's executor; never calls the handler itself. The object then belongs to the executor.
    virtual void complete(std::error_code ec, Result result) noexcept = 0;

protected:
    ~completion() override = default;
};

/// Memory comes from the handler's associated allocator, and goes back to it before the handler is called.
template <class Handler, class Result>
class handler_completion final : public completion<Result> {
    using executor_type = posting_executor_t<executor_of_t<Handler>>;
    using allocator_type = typename std::allocator_traits<net::associated_allocator_t<Handler>>::template rebind_alloc<handler_completion>;
    using allocation = std::allocator_traits<allocator_type>;

    struct discarding {
        void operator()(handler_completion* discarded) const noexcept { discarded->discard(); }
    };
    using owner = std::unique_ptr<handler_completion, discarding>;

public:
    /// Null: the handler's context is being destroyed. Then what the operation keeps is destroyed before the handler, which may own the
    /// store. Otherwise complete() must follow.
    template <class... Kept>
    static handler_completion* make(Handler handler, Kept&... kept)
    {
        allocator_type allocator{net::get_associated_allocator(handler)};
        struct memory {
            allocator_type& allocator;
            typename allocation::pointer at = allocation::allocate(allocator, 1);
            ~memory()
            {
                if (at) allocation::deallocate(allocator, at, 1);
            }
        } unused{allocator};
        owner made{::new (static_cast<void*>(std::to_address(unused.at))) handler_completion{handler, allocator}};
        unused.at = nullptr;
        if (made->pending_.add(*made)) return made.release();
        (static_cast<void>(Kept(std::move(kept))), ...);
        return nullptr;
    }

    /// The handler's cancellation slot cancels the operation.
    void starts(const std::shared_ptr<cancellable>& operation)
    {
        this->belongs_to(operation);
        auto slot = net::get_associated_cancellation_slot(handler_);
        if (!slot.is_connected()) return;
        slot.assign([operation = std::weak_ptr<cancellable>{operation}](net::cancellation_type) {
            if (const auto running = operation.lock()) running->cancel();
        });
    }

    void complete(std::error_code ec, Result result) noexcept override
    {
        const auto post = [&] {
            delivery posted{this, ec, std::move(result)};
            const auto executor = posted.to->work_.get_executor();
            std::error_code without_memory;  // then the handler is destroyed, as with its context
            catch_into(without_memory, [&] {
                if constexpr (can_post_on<executor_of_t<Handler>>) {
                    net::post(executor, std::move(posted));
                } else {
                    const auto last = executor_of(posted.to->handler_);
                    net::post(executor, net::bind_executor(last, std::move(posted)));
                }
            });
        };
        pending_.ended(*this, post, [&] { drop(result); });
    }

    void discard() noexcept override
    {
        [[maybe_unused]] const Handler last{std::move(handler_)};  // it may own what the allocator refers to
        allocator_type allocator{allocator_};
        this->~handler_completion();
        allocation::deallocate(allocator, std::pointer_traits<typename allocation::pointer>::pointer_to(*this), 1);
    }

private:
    // If this throws, the handler has not been moved from.
    handler_completion(Handler& handler, const allocator_type& allocator)
        : allocator_{allocator}, work_{posting_executor(executor_of(handler))},
          pending_{net::use_service<pending_operations>(context_of(work_.get_executor()))}, handler_{std::move(handler)}
    {
    }
    ~handler_completion() = default;

    // What the executor runs. A result that nobody gets is released before the handler's own things are destroyed.
    struct delivery {
        delivery(handler_completion* target, std::error_code error, Result&& with) noexcept
            : to{target}, ec{error}, result{std::move(with)}
        {
        }
        delivery(delivery&&) = default;
        delivery& operator=(delivery&&) = delete;
        ~delivery() { drop(result); }

        owner to;
        std::error_code ec;
        Result result;

        void operator()()
        {
            Handler handler{std::move(to->handler_)};
            if (auto slot = net::get_associated_cancellation_slot(handler); slot.is_connected()) slot.clear();
            to.reset();
            // The handler gets a result of its own. What it leaves there is not released as a result that nobody got.
            std::move(handler)(to_net(ec), Result{std::move(result)});
        }
    };

    allocator_type allocator_;
    net::executor_work_guard<executor_type> work_;
    pending_operations& pending_;
    Handler handler_;
};

}  // namespace leasehold::inline v0::detail

#endif
