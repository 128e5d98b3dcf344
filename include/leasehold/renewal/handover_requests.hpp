// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_HANDOVER_REQUESTS_HPP
#define LEASEHOLD_RENEWAL_HANDOVER_REQUESTS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/handover_priority.hpp>
#include <leasehold/detail/new_stop_source.hpp>
#include <leasehold/error.hpp>
#include <leasehold/renewal/term.hpp>
#include <leasehold/store/concept.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::renewal {

/// Learns from the store whether the holder of a term was asked to hand over, and tells the holder.
///
/// A request is a hint: where the store fails, or memory runs out, the next renewal is early enough to ask again. The term keeps what
/// was learned. It is a part of a term_keeper, whose mutex guards it. Any thread may call any function. Each locks the mutex, but for
/// those that say that their caller has locked it.
template <class Keeper>
class handover_requests {
public:
    using term_ptr = std::shared_ptr<term>;

    explicit handover_requests(Keeper& keeper) noexcept : keeper_{keeper} {}

    /// Whether the holder was asked. The first call for a term asks the store; after that each renewal does. Without a thread, each
    /// call asks.
    [[nodiscard]] bool received(const term_ptr& of) noexcept
    {
        std::unique_lock lock{keeper_.mutex_};
        if (!of->listens) {
            std::error_code no_thread;
            listen(of, no_thread);
            ask_store(lock, of);
        }
        return of->asked && of->machine.phase() == term_phase::held && keeper_.clock_.now() < of->machine.deadline();
    }

    /// The reason of the request that received() is about. May throw std::bad_alloc.
    [[nodiscard]] std::string reason(const term_ptr& of) const
    {
        const std::lock_guard lock{keeper_.mutex_};
        return of->handover ? of->handover->reason : std::string{};
    }

    /// A token that is asked to stop when the holder is asked. May throw std::bad_alloc or std::system_error.
    [[nodiscard]] std::stop_token token(const term_ptr& of)
    {
        if (!Keeper::watches) return {};
        const std::lock_guard lock{keeper_.mutex_};
        // This may throw, so it comes before the term listens: from then on only renewals ask the store.
        const std::stop_source stop = of->signals_requests() ? of->handover->stop : detail::new_stop_source();
        std::error_code ec;
        listen(of, ec);
        if (ec) detail::throw_exception(std::system_error{ec});
        of->handover->stop = stop;
        keeper_.engine_.look(keeper_.self_);
        return stop.get_token();
    }

    /// From now on the holder declines requests of candidates whose priority is not higher.
    void decline_up_to(const term_ptr& of, int priority) noexcept
    {
        const std::lock_guard lock{keeper_.mutex_};
        of->priority = priority;
    }

    /// The caller of renew() has a thread for it. The caller has locked the mutex.
    void term_renewed_by_holder(std::unique_lock<std::mutex>& lock, const term_ptr& of) noexcept
    {
        if (of->listens) ask_store(lock, of);
    }

    /// The engine looks in the background. The caller has locked the mutex.
    void term_renewed(const term_ptr& of) noexcept
    {
        if (of->listens) keeper_.engine_.look(keeper_.self_);
    }

    /// On the engine's listener. Does I/O, and runs stop callbacks.
    void look() noexcept
    {
        std::unique_lock lock{keeper_.mutex_};
        const term_ptr of = keeper_.newest_;
        if (!of || !of->listens) return;
        ask_store(lock, of);
        if (!of->asked || of->machine.phase() != term_phase::held) return;
        std::stop_source source = of->handover->stop;
        lock.unlock();  // its callbacks may use the guard
        source.request_stop();
    }

private:
    // From now on each renewal of the term is followed by a look.
    void listen(const term_ptr& of, std::error_code& ec) noexcept
    {
        detail::catch_into(ec, [&] {
            if (!of->handover) of->handover = std::make_unique<term::handover_state>();
            keeper_.engine_.start_listener();
        });
        if (!ec) of->listens = true;
    }

    void ask_store(std::unique_lock<std::mutex>& lock, const term_ptr& of) noexcept
    {
        if constexpr (handover_store<typename Keeper::store_type>) {
            if (!of->handover || of->asked || of->machine.phase() != term_phase::held) return;
            lock.unlock();
            std::error_code ec;
            std::optional<std::string> reason;
            detail::catch_into(ec, [&] { reason = keeper_.store_.handover_requested(keeper_.name_, keeper_.owner_, of->token, ec); });
            lock.lock();
            if (ec || !reason || of->asked || detail::is_declined(*reason, of->priority)) return;
            of->handover->reason = std::move(*reason);
            of->asked = true;
            term_renewed(of);  // which tells those with the token
        }
    }

    Keeper& keeper_;
};

}  // namespace leasehold::inline v0::renewal

#endif
