// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_NEXT_CHANGE_HPP
#define LEASEHOLD_ASIO_NEXT_CHANGE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/asio/detail/completion.hpp>
#include <leasehold/asio/detail/error_codes.hpp>
#include <leasehold/asio/detail/net.hpp>
#include <leasehold/asio/detail/pending_operations.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/change_feed.hpp>

#include <atomic>
#include <memory>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {

// One who waits for the next change of an observer. It is finished once: the feed hands a change over, or ends, or has let it go.
template <class Change>
class next_change_operation final : public cancellable,
                                    public change_feed<Change>::taker,
                                    public std::enable_shared_from_this<next_change_operation<Change>> {
public:
    explicit next_change_operation(std::shared_ptr<change_feed<Change>> feed) noexcept : feed_{std::move(feed)} {}

    // The handler is called from now on.
    void start(completion<Change>& handler) noexcept
    {
        handler_ = &handler;
        std::error_code ec;
        catch_into(ec, [this] { feed_->take_next(this->shared_from_this()); });
        if (ec) return handler.complete(ec, Change{});
        if (cancelled_.load()) cancel();  // it may have come before there was anything to leave
    }

    void taken(Change change) noexcept override { handler_->complete({}, std::move(change)); }
    void ended() noexcept override { handler_->complete(aborted(), Change{}); }

    void cancel() noexcept override
    {
        cancelled_.store(true);
        if (feed_->leave(*this)) ended();
    }

private:
    const std::shared_ptr<change_feed<Change>> feed_;
    completion<Change>* handler_ = nullptr;  // written before the feed knows of this
    std::atomic<bool> cancelled_{false};
};

template <class Observer>
concept change_observer = requires(const Observer& observer) { typename Observer::feed_type::change_type; observer.feed(); };

struct start_next_change : initiation {
    template <class Handler, class Change>
    void operator()(Handler&& handler, const std::shared_ptr<change_feed<Change>>& feed) const
    {
        auto* const told = handler_completion<std::decay_t<Handler>, Change>::make(std::forward<Handler>(handler));
        if (!told) return;
        std::error_code ec;
        std::shared_ptr<next_change_operation<Change>> operation;
        catch_into(ec, [&] {
            operation = std::make_shared<next_change_operation<Change>>(feed);
            told->starts(operation);
        });
        if (ec) return told->complete(ec, Change{});
        operation->start(*told);
    }
};

}  // namespace detail

/// Waits without a thread for the next change that an observer tells of and that nobody has taken: completes with
/// void(error_code, lease_change) for a lease_observer and a prefix_observer, with void(error_code, member_change) for a group_observer.
///
///     lh::lease_change change = co_await lh::async_next_change(watch, net::use_awaitable);
///
/// Changes come in order. Several waits get one change each, in the order in which they began. The end of the observer, and a cancellation,
/// complete it with operation_aborted; a change that comes meanwhile is left for the next one.
template <detail::change_observer Observer, class Token>
auto async_next_change(Observer& observer, Token&& token)
{
    using change_type = typename Observer::feed_type::change_type;
    return detail::net::async_initiate<Token, void(detail::net_error_code, change_type)>(detail::start_next_change{}, token,
                                                                                       observer.feed());
}

}  // namespace leasehold::inline v0

#endif
