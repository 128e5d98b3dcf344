// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_HOLD_HPP
#define LEASEHOLD_ASIO_HOLD_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/asio/detail/completion.hpp>
#include <leasehold/asio/detail/net.hpp>
#include <leasehold/asio/detail/wait_operation.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/hold_wait.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/renewal/engine_registry.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store/name_holding.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/deadline.hpp>
#include <leasehold/waiting/ticket_limit.hpp>
#include <leasehold/waiting/wait_machine.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {

// What a hold would be as a right: see acquirable.
template <class Store>
class acquirable_hold {
public:
    using guard_type = hold_grant<Store>;

    acquirable_hold(Store& store, std::string_view name, duration period, std::string_view reason)
        : store_{&store}, name_{name}, reason_{reason}, period_{period}, clock_{hold_clock_of(store)}
    {
    }

    [[nodiscard]] const auto& clock() const noexcept { return clock_; }
    [[nodiscard]] auto engine() const { return renewal::engine_for(engine_key(*store_), clock_); }
    // A hold is only waited for.
    [[nodiscard]] static guard_type attempt(std::error_code&) noexcept { return {}; }

    class wait {
    public:
        wait(const acquirable_hold& hold, time_point deadline, waker& to_wake, waiting::ticket_limit* limit)
            : waits_{*hold.store_, hold.name_, hold.period_, hold.reason_, hold.clock_, deadline - hold.clock_.now(), to_wake, limit}
        {
        }

        [[nodiscard]] waiting::wait_step next(time_point now, bool cancelled) { return waits_.next(now, cancelled); }
        void woken(time_point now) noexcept { waits_.woken(now); }
        [[nodiscard]] guard_type attempt(waiting::wait_action how, std::error_code& ec) { return waits_.attempt(how, ec).guard; }
        [[nodiscard]] std::error_code error_of_end() const noexcept { return waits_.error_of_end(); }
        [[nodiscard]] bool end_takes_time() const noexcept { return waits_.end_takes_time(); }
        void leave_queues() noexcept { waits_.leave_queues(); }

    private:
        hold_wait<Store, hold_clock<Store>> waits_;
    };

private:
    Store* store_;
    std::string name_, reason_;
    duration period_;
    hold_clock<Store> clock_;
};

// Tells the handler whether the name is held. It is called once, and ends then.
template <class Grant>
class hold_completion final : public completion<Grant> {
public:
    explicit hold_completion(completion<bool>& handler) noexcept : handler_{handler} {}
    void complete(std::error_code ec, Grant grant) noexcept override
    {
        const std::unique_ptr<hold_completion> last{this};
        handler_.complete(ec, !ec && !grant.empty());
    }
    void discard() noexcept override {}

private:
    completion<bool>& handler_;
};

struct start_hold : initiation {
    template <class Handler, class Store>
    void operator()(Handler&& handler, std::reference_wrapper<Store> store, const std::string& name, duration period,
                    const std::string& reason, duration wait_at_most) const
    {
        using right_type = acquirable_hold<Store>;
        auto* const told = handler_completion<std::decay_t<Handler>, bool>::make(std::forward<Handler>(handler));
        if (!told) return;
        std::error_code ec = refusal_of_hold(name, period, reason);
        bool started = false;
        if (!ec)
            catch_into(ec, [&] {
                const right_type right{store.get(), name, period, reason};
                const time_point deadline = waiting::deadline_after(right.clock(), wait_at_most);
                auto operation = std::make_shared<wait_operation<right_type>>(right, right.engine(), deadline);
                operation->join();
                told->starts(operation);
                auto ends = std::make_unique<hold_completion<hold_grant<Store>>>(*told);
                started = true;
                operation->start(*ends.release());
            });
        if (!started) told->complete(ec, false);
    }
};

}  // namespace detail

/// Holds a name closed like store.hold(name, period, reason), without a thread that waits: completes with void(error_code, bool), true if
/// the name is held closed. It waits at most `wait_at_most` for who has the name. The errors are those of hold(). A cancellation is
/// operation_aborted, and then nothing is held closed. If the call that it has overtaken fails, the error is the store's, and a hold may
/// stand. A hold that was granted also stands if the execution context is destroyed before the handler is called.
template <holding_store Store, class Token>
auto async_hold(Store& store, std::string_view name, duration period, std::string_view reason, duration wait_at_most, Token&& token)
{
    return detail::net::async_initiate<Token, void(detail::net_error_code, bool)>(
        detail::start_hold{}, token, std::ref(store), std::string{name}, period, std::string{reason}, wait_at_most);
}

/// The same, with the time that hold_options has.
template <holding_store Store, class Token>
auto async_hold(Store& store, std::string_view name, duration period, std::string_view reason, Token&& token)
{
    return leasehold::async_hold(store, name, period, reason, hold_options{}.wait_at_most, std::forward<Token>(token));
}

}  // namespace leasehold::inline v0

#endif
