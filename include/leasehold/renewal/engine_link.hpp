// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_ENGINE_LINK_HPP
#define LEASEHOLD_RENEWAL_ENGINE_LINK_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/concept.hpp>
#include <leasehold/renewal/batch_tier.hpp>
#include <leasehold/renewal/engine.hpp>
#include <leasehold/renewal/engine_registry.hpp>
#include <leasehold/renewal/watched_term.hpp>
#include <leasehold/time_point.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace leasehold::inline v0::renewal {

/// A term's link to the engine that watches it. Not thread-safe.
template <lease_clock Clock>
class engine_link {
public:
    /// Whether losses are signalled in the background.
    static constexpr bool watches = true;

    [[nodiscard]] bool connected() const noexcept { return engine_ != nullptr; }

    void connect(const void* store, const Clock& clock)
    {
        auto serving = engine_for(store, clock);
        serving->enroll();
        engine_ = std::move(serving);
    }

    /// Null until connected.
    [[nodiscard]] const std::shared_ptr<engine<Clock>>& serving() const noexcept { return engine_; }

    [[nodiscard]] std::optional<renewal_grid> grid() const noexcept
    {
        return engine_ ? std::optional{engine_->grid()} : std::nullopt;
    }

    void schedule(std::shared_ptr<watched_term> term, time_point at) const noexcept
    {
        if (engine_) engine_->schedule(std::move(term), at);
    }

    void signal(std::shared_ptr<watched_term> term) const noexcept
    {
        if (engine_) engine_->signal(std::move(term));
    }

    /// To be called before look(); may throw std::system_error.
    void start_listener() const
    {
        if (engine_) engine_->start_listener();
    }

    void look(std::shared_ptr<watched_term> term) const noexcept
    {
        if (engine_) engine_->look(std::move(term));
    }

    /// Whether the calling thread is one that sends renewals, or the one that looks.
    [[nodiscard]] bool renews_on_this_thread() const noexcept { return engine_ && engine_->renews_on_this_thread(); }
    [[nodiscard]] bool looks_on_this_thread() const noexcept { return engine_ && engine_->looks_on_this_thread(); }

    /// May wait for the engine's threads, if this was the last link.
    void disconnect(const watched_term& term) noexcept
    {
        if (!engine_) return;
        engine_->withdraw(term);
        engine_.reset();
    }

private:
    std::shared_ptr<engine<Clock>> engine_;
};

/// On a clock that can't be waited on, nothing happens in the background: held() and remaining() read the clock, but no loss
/// is signalled.
template <lease_clock Clock>
    requires(!waitable_clock<Clock>)
class engine_link<Clock> {
public:
    static constexpr bool watches = false;

    [[nodiscard]] bool connected() const noexcept { return true; }
    void connect(const void*, const Clock&) noexcept {}
    [[nodiscard]] std::optional<renewal_grid> grid() const noexcept { return std::nullopt; }
    void schedule(const std::shared_ptr<watched_term>&, time_point) const noexcept {}
    void signal(const std::shared_ptr<watched_term>&) const noexcept {}
    void start_listener() const noexcept {}
    void look(const std::shared_ptr<watched_term>&) const noexcept {}
    [[nodiscard]] bool renews_on_this_thread() const noexcept { return false; }
    [[nodiscard]] bool looks_on_this_thread() const noexcept { return false; }
    void disconnect(const watched_term&) noexcept {}
};

}  // namespace leasehold::inline v0::renewal

#endif
