// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_FORWARDING_STORE_HPP
#define LEASEHOLD_STORE_FORWARDING_STORE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/checkpoint_record.hpp>
#include <leasehold/error.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store/name_holding.hpp>
#include <leasehold/store/store_call.hpp>
#include <leasehold/waiting/local_queue.hpp>
#include <leasehold/waiting/ticket_limit.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

namespace detail {

// A place in the queue of a store that calls the name `stored`.
template <class Ticket>
class renamed_ticket {
public:
    static constexpr bool takes_thread = waiting::ticket_takes_thread<Ticket>;

    template <class Store>
    renamed_ticket(Store& store, std::string_view name, std::string stored, waker& to_wake)
        : name_{name}, stored_{std::move(stored)}, inner_(store.enqueue(stored_, to_wake))
    {
    }

    [[nodiscard]] std::string_view name() const noexcept { return name_; }
    [[nodiscard]] Ticket& inner() noexcept { return inner_; }
    void passed() noexcept
        requires requires(Ticket& ticket) { ticket.passed(); }
    {
        inner_.passed();
    }

private:
    const std::string name_, stored_;
    Ticket inner_;
};

}  // namespace detail

/// A store around a store: passes every call on to it. The base of decorators, which state only what they change.
///
///     struct tenant_store : lh::forwarding_store<lh::odbc_store, tenant_store> {
///         tenant_store(lh::odbc_store& store, std::string tenant) : forwarding_store{store}, prefix{std::move(tenant) + "/"} {}
///         std::string stored_name(std::string_view name) const { return prefix + std::string{name}; }
///         std::string prefix;
///     };
///
/// It models each optional concept of store/concept.hpp that `Store` models. `Derived` is the class that derives from it. That class may
/// hide any of its functions, and each function that it declares is used for all overloads of that name. These two reach all operations:
///
/// | expression | returns | does |
/// |---|---|---|
/// | d.stored_name(name) | std::string | what `Store` calls the lease that is called `name` here; different for different names. A result of more than 190 bytes makes the call fail with errc::invalid_name |
/// | d.around(call, ec, make) | what make() returns | is called instead of each call of a single operation, turn() apart. make() makes it, and sets `ec`; the decorator may do something before and after, or not call make() and set `ec` itself. `call` is a const store_call& |
///
/// Thread safety: that of the store. Lifetime: the store must outlive it.
template <lease_store Store, class Derived = void>
class forwarding_store
    : public name_holding<std::conditional_t<std::is_void_v<Derived>, forwarding_store<Store, Derived>, Derived>> {
    using self_type = std::conditional_t<std::is_void_v<Derived>, forwarding_store, Derived>;

    static constexpr bool renames() noexcept
    {
        return !std::same_as<decltype(std::declval<const self_type&>().stored_name(std::string_view{})), std::string_view>;
    }

    static constexpr bool saves_as_it_is() noexcept
    {
        using saves = bool (forwarding_store::*)(std::string_view, std::string_view, fencing_token, std::string_view, std::error_code&);
        return requires {
            { &self_type::save_checkpoint } -> std::same_as<saves>;
        };
    }

public:
    /// Passes calls on to `store`.
    explicit forwarding_store(Store& store) noexcept : store_{store} {}

    /// The store that it passes calls on to.
    [[nodiscard]] Store& underlying() const noexcept { return store_; }

    /// What that store calls the lease that is called `name` here.
    [[nodiscard]] constexpr std::string_view stored_name(std::string_view name) const noexcept { return name; }

    /// See lease_store.
    acquire_result try_acquire(std::string_view name, std::string_view owner, duration ttl, std::error_code& ec)
    {
        return passed_on({store_operation::try_acquire, name, owner, {}, ttl}, ec,
                         [&](std::string_view stored) { return store_.try_acquire(stored, owner, ttl, ec); });
    }

    /// See lease_store.
    bool renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl, std::error_code& ec)
    {
        return passed_on({store_operation::renew, name, owner, token, ttl}, ec,
                         [&](std::string_view stored) { return store_.renew(stored, owner, token, ttl, ec); });
    }

    /// See lease_store.
    bool release(std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left, std::error_code& ec)
    {
        return passed_on({store_operation::release, name, owner, token, min_hold_left}, ec,
                         [&](std::string_view stored) { return store_.release(stored, owner, token, min_hold_left, ec); });
    }

    /// See lease_store.
    std::optional<lease_record> inspect(std::string_view name, std::error_code& ec)
    {
        auto record = passed_on({store_operation::inspect, name}, ec, [&](std::string_view stored) { return store_.inspect(stored, ec); });
        if constexpr (renames())
            if (record) record->name = name;
        return record;
    }

    /// See notifying_store.
    [[nodiscard]] auto enqueue(std::string_view name, waker& to_wake)
        requires notifying_store<Store>
    {
        if constexpr (renames())
            return detail::renamed_ticket<detail::queue_ticket_of<Store>>{store_, name, self().stored_name(name), to_wake};
        else
            return store_.enqueue(name, to_wake);
    }

    /// See notifying_store.
    acquire_result try_acquire(queue_ticket auto& ticket, std::string_view owner, duration ttl, std::error_code& ec)
        requires notifying_store<Store>
    {
        return passed_on({store_operation::try_acquire, ticket.name(), owner, {}, ttl}, ec,
                         [&](std::string_view) { return store_.try_acquire(inner(ticket), owner, ttl, ec); });
    }

    /// See ordered_store.
    turn_answer turn(queue_ticket auto& ticket, std::error_code& ec)
        requires ordered_store<Store>
    {
        return store_.turn(inner(ticket), ec);
    }

    /// See handover_store.
    bool publish(std::string_view name, std::string_view owner, fencing_token token, std::string_view data, std::error_code& ec)
        requires handover_store<Store>
    {
        return passed_on({store_operation::publish, name, owner, token}, ec,
                         [&](std::string_view stored) { return store_.publish(stored, owner, token, data, ec); });
    }

    /// See handover_store.
    bool request_handover(std::string_view name, std::string_view reason, std::error_code& ec)
        requires handover_store<Store>
    {
        return passed_on({store_operation::request_handover, name}, ec,
                         [&](std::string_view stored) { return store_.request_handover(stored, reason, ec); });
    }

    /// See handover_store.
    std::optional<std::string> handover_requested(std::string_view name, std::string_view owner, fencing_token token, std::error_code& ec)
        requires handover_store<Store>
    {
        return passed_on({store_operation::handover_requested, name, owner, token}, ec,
                         [&](std::string_view stored) { return store_.handover_requested(stored, owner, token, ec); });
    }

    /// See checkpointing_store.
    bool save_checkpoint(std::string_view name, std::string_view owner, fencing_token token, std::string_view text, std::error_code& ec)
        requires checkpointing_store<Store>
    {
        return passed_on({store_operation::save_checkpoint, name, owner, token}, ec,
                         [&](std::string_view stored) { return store_.save_checkpoint(stored, owner, token, text, ec); });
    }

    /// See checkpoint_replacing_store. Not of a decorator that declares a save_checkpoint() of its own, which this would bypass.
    bool replace_checkpoint(std::string_view name, std::string_view owner, fencing_token token, std::string_view replaced,
                            std::string_view text, std::error_code& ec)
        requires(checkpoint_replacing_store<Store> && saves_as_it_is())
    {
        return passed_on({store_operation::save_checkpoint, name, owner, token}, ec, [&](std::string_view stored) {
            return store_.replace_checkpoint(stored, owner, token, replaced, text, ec);
        });
    }

    /// See checkpointing_store.
    std::optional<checkpoint_record> checkpoint(std::string_view name, std::error_code& ec)
        requires checkpointing_store<Store>
    {
        return passed_on({store_operation::checkpoint, name}, ec, [&](std::string_view stored) { return store_.checkpoint(stored, ec); });
    }

    /// See timed_store.
    store_time now(std::error_code& ec)
        requires timed_store<Store>
    {
        return passed_on({store_operation::now, {}}, ec, [&](std::string_view) { return store_.now(ec); });
    }

    /// See checkpoint_looking_store.
    checkpoint_look look_at_checkpoint(std::string_view name, std::error_code& ec)
        requires checkpoint_looking_store<Store>
    {
        return passed_on({store_operation::look_at_checkpoint, name}, ec,
                         [&](std::string_view stored) { return store_.look_at_checkpoint(stored, ec); });
    }

    /// See listing_store. Not of a decorator with names of its own, which would have to know what they are called there.
    [[nodiscard]] std::vector<lease_record> list(std::string_view prefix, std::error_code& ec)
        requires(listing_store<Store> && !renames())
    {
        return passed_on({store_operation::list, prefix}, ec, [&](std::string_view) { return store_.list(prefix, ec); });
    }

    /// See batching_store.
    [[nodiscard]] std::size_t batch_size() const noexcept
        requires batching_store<Store>
    {
        return store_.batch_size();
    }

    /// See batching_store.
    void renew_many(std::span<const term_renewal> renewals, std::span<batch_answer> answers, duration within, std::error_code& ec)
        requires batching_store<Store>
    {
        all_passed_on(renewals, ec, [&](std::span<const term_renewal> stored) { store_.renew_many(stored, answers, within, ec); });
    }

    /// See batching_store.
    void release_many(std::span<const term_release> releases, std::span<batch_answer> answers, std::error_code& ec)
        requires batching_store<Store>
    {
        all_passed_on(releases, ec, [&](std::span<const term_release> stored) { store_.release_many(stored, answers, ec); });
    }

    /// See batch_acquiring_store.
    void acquire_many(std::span<const term_request> requests, std::size_t most, std::span<std::optional<acquire_result>> answers,
                      std::error_code& ec)
        requires batch_acquiring_store<Store>
    {
        all_passed_on(requests, ec, [&](std::span<const term_request> stored) { store_.acquire_many(stored, most, answers, ec); });
    }

    /// See polled_store.
    [[nodiscard]] poll_pauses pauses() const noexcept
        requires polled_store<Store>
    {
        return store_.pauses();
    }

    /// See diagnosing_store.
    [[nodiscard]] store_diagnostics diagnostics() const
        requires diagnosing_store<Store>
    {
        return store_.diagnostics();
    }

    /// See observed_store.
    void observe(const lease_event& event) noexcept
        requires observed_store<Store>
    {
        store_.observe(event);
    }

    /// See queueing_store. A decorator with names of its own has a queue of its own for them.
    [[nodiscard]] waiting::local_queue& local_waiters() noexcept
        requires(queueing_store<Store> && !renames())
    {
        return store_.local_waiters();
    }

    /// See queue_sharing_store.
    [[nodiscard]] waiting::queue_key queue_key_of(std::string_view name) const noexcept
        requires(!renames())
    {
        return waiting::key_of(store_, name);
    }

    /// The clock that the store judges by, if it has one.
    [[nodiscard]] decltype(auto) clock() const noexcept
        requires requires(const Store& store) { store.clock(); }
    {
        return std::as_const(store_).clock();
    }

    /// See engine_sharing_store.
    [[nodiscard]] const void* engine_key() const noexcept { return detail::engine_key(store_); }

protected:
    /// Makes a call.
    template <class Make>
    auto around(const store_call&, std::error_code&, Make make)
    {
        return make();
    }

private:
    [[nodiscard]] self_type& self() noexcept { return static_cast<self_type&>(*this); }
    [[nodiscard]] const self_type& self() const noexcept { return static_cast<const self_type&>(*this); }

    template <class Ticket>
    static auto& inner(Ticket& ticket) noexcept
    {
        if constexpr (renames())
            return ticket.inner();
        else
            return ticket;
    }

    // make() with the name that the store knows.
    template <class Make>
    auto passed_on(const store_call& call, std::error_code& ec, Make make)
    {
        return self().around(call, ec, [&]() -> decltype(make(call.name)) {
            const auto stored = self().stored_name(call.name);
            if (!renames() || stored.size() <= max_name_bytes) return make(stored);
            ec = errc::invalid_name;
            return {};
        });
    }

    // make() with copies of the items that have the names that the store knows.
    template <class Item, class Make>
    void all_passed_on(std::span<const Item> items, std::error_code& ec, Make make)
    {
        if constexpr (!renames()) return make(items);
        std::vector<Item> stored{items.begin(), items.end()};
        std::vector<std::string> names;
        names.reserve(2 * items.size());  // so that no name moves
        const auto rename = [&](std::string_view& name) {
            name = names.emplace_back(self().stored_name(name));
            if (name.size() > max_name_bytes) ec = errc::invalid_name;
        };
        ec.clear();
        for (Item& item : stored) {
            rename(item.name);
            if constexpr (requires { item.wakes; })
                if (item.wakes && !item.wakes->empty()) rename(*item.wakes);
        }
        if (!ec) make(stored);
    }

    Store& store_;
};

}  // namespace leasehold::inline v0

#endif
