// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_ASIO_KINDS_HPP
#define LEASEHOLD_TESTS_ASIO_KINDS_HPP

#include <asio/support.hpp>

#include <boost/mpl/list.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

// The kinds of right that can be waited for, so that one text tests each of them.
namespace leasehold_test {

// The operations of a lease, of a semaphore for a permit, and of a shared lease for a writer.
struct plain_operations {
    static auto acquire(auto& right) { return right.acquire(); }
    static auto try_acquire(auto& right) { return right.try_acquire(); }
    static auto async_acquire(auto& right, auto&& token) { return lh::async_acquire(right, std::forward<decltype(token)>(token)); }
    static auto async_try_acquire(auto& right, auto&& token) { return lh::async_try_acquire(right, std::forward<decltype(token)>(token)); }
    static auto async_try_acquire_for(auto& right, auto at_most, auto&& token)
    {
        return lh::async_try_acquire_for(right, at_most, std::forward<decltype(token)>(token));
    }
    static auto async_try_acquire_until(auto& right, auto until, auto&& token)
    {
        return lh::async_try_acquire_until(right, until, std::forward<decltype(token)>(token));
    }
    // What everybody else has to wait for.
    static auto hold(auto& right) { return right.acquire(); }
};

// Of a shared lease for a reader, who waits for a writer.
struct reader_operations {
    static auto acquire(auto& right) { return right.acquire_shared(); }
    static auto try_acquire(auto& right) { return right.try_acquire_shared(); }
    static auto async_acquire(auto& right, auto&& token) { return lh::async_acquire_shared(right, std::forward<decltype(token)>(token)); }
    static auto async_try_acquire(auto& right, auto&& token)
    {
        return lh::async_try_acquire_shared(right, std::forward<decltype(token)>(token));
    }
    static auto async_try_acquire_for(auto& right, auto at_most, auto&& token)
    {
        return lh::async_try_acquire_shared_for(right, at_most, std::forward<decltype(token)>(token));
    }
    static auto async_try_acquire_until(auto& right, auto until, auto&& token)
    {
        return lh::async_try_acquire_shared_until(right, until, std::forward<decltype(token)>(token));
    }
    static auto hold(auto& right) { return right.acquire(); }
};

using rows = std::vector<std::string>;

// Each kind says how it is made, and which of the store's rows it consists of:
// - all_rows: of the name, for whichever right;
// - own_rows: how many of them its guard holds, and held_rows: how many of them hold()'s guard holds;
// - rows_while_waiting: how many are taken while hold()'s guard is held and one waits;
// - queues_of_first: in how many of the store's queues the first of them waits;
// - asked_rows: the first and the last one that an attempt at a free right asks for.

struct a_lease : plain_operations {
    static constexpr std::size_t queues_of_first = 1;
    static constexpr std::size_t own_rows = 1, held_rows = 1, rows_while_waiting = 1;
    static auto on(auto& store, std::string_view name, const auto&... rest) { return lh::basic_lease{store, name, rest...}; }
    static rows all_rows(const std::string& name) { return {name}; }
    static rows asked_rows(const std::string& name) { return {name}; }
};

struct a_permit : plain_operations {
    static constexpr std::size_t queues_of_first = 1;
    static constexpr std::size_t own_rows = 1, held_rows = 1, rows_while_waiting = 1;
    static auto on(auto& store, std::string_view name, const auto&... rest) { return lh::lease_semaphore{store, name, 1, rest...}; }
    static rows all_rows(const std::string& name) { return {name + "/0"}; }
    static rows asked_rows(const std::string& name) { return {name + "/0"}; }
};

// One share, so that readers take turns.
struct a_reader : reader_operations {
    static constexpr std::size_t queues_of_first = 1;
    static constexpr std::size_t own_rows = 1, held_rows = 2, rows_while_waiting = 2;
    static auto on(auto& store, std::string_view name, const auto&... rest)
    {
        return lh::shared_lease{store, name, lh::reader_limit{1}, rest...};
    }
    static rows all_rows(const std::string& name) { return {name + "/writer", name + "/r0"}; }
    static rows asked_rows(const std::string& name) { return {name + "/r0"}; }
};

// It waits for another writer, in the line of the name and at the gate.
struct a_writer : plain_operations {
    static constexpr std::size_t queues_of_first = 2;
    static constexpr std::size_t own_rows = 5, held_rows = 5, rows_while_waiting = 5;
    static auto on(auto& store, std::string_view name, const auto&... rest)
    {
        return lh::shared_lease{store, name, lh::reader_limit{4}, rest...};
    }
    static rows all_rows(const std::string& name) { return {name + "/writer", name + "/r0", name + "/r1", name + "/r2", name + "/r3"}; }
    static rows asked_rows(const std::string& name) { return {name + "/writer", name + "/r3"}; }
};

// It has the gate and all shares but one, and waits for that.
struct a_writer_after_a_reader : a_writer {
    static constexpr std::size_t queues_of_first = 1;
    static constexpr std::size_t held_rows = 1;
    static auto hold(auto& right) { return right.acquire_shared(); }
};

using kinds = boost::mpl::list<a_lease, a_permit, a_reader, a_writer, a_writer_after_a_reader>;

template <class Kind, class Store, class... Options>
using right_on = decltype(Kind::on(std::declval<Store&>(), std::string_view{}, std::declval<const Options&>()...));
template <class Kind, class Right>
using guard_of = decltype(Kind::acquire(std::declval<Right&>()));

/// How many of the name's rows the store says somebody holds. Errors throw.
template <class Kind, class Store>
std::size_t rows_taken(Store& store, const std::string& name)
{
    std::size_t taken = 0;
    for (const auto& row : Kind::all_rows(name)) {
        error_code ec;
        if (store.inspect(row, ec)) ++taken;
        if (ec) throw std::system_error{ec, row};
    }
    return taken;
}

/// Two that want the same right of a memory store, and what runs their handlers.
template <class Kind>
struct two_rights {
    using right = right_on<Kind, lh::memory_store>;
    using guard = guard_of<Kind, right>;

    [[nodiscard]] std::size_t taken() { return rows_taken<Kind>(store, "a"); }
    [[nodiscard]] std::size_t waiting()
    {
        const std::size_t places = store.local_waiters().waiting();
        return places < Kind::queues_of_first ? 0 : places - (Kind::queues_of_first - 1);
    }
    // Whether the first waiter has got as far as it can, while hold()'s guard is held.
    [[nodiscard]] bool one_waits()
    {
        return eventually([&] { return waiting() == 1 && taken() == Kind::rows_while_waiting; }, 10s, 50us);
    }

    lh::memory_store store;
    right one = Kind::on(store, "a"), other = Kind::on(store, "a");
    running_context io;
};

/// A store whose attempts at names that begin with "hangs" hang at a gate, and a right of that name.
template <class Kind>
struct hanging_right {
    hanging_right()
    {
        static_cast<void>(Kind::try_acquire(right));  // writes the record of the count, if there is one
        store.before(operation::try_acquire, [this](std::string_view name) {
            if (name.starts_with("hangs")) calls.pass();
        });
    }
    ~hanging_right() { calls.open(); }

    lh::manual_clock clock;
    scripted_store store{clock};
    gate calls{clock};
    right_on<Kind, scripted_store, lh::manual_clock> right = Kind::on(store, "hangs", clock);
    using guard = guard_of<Kind, decltype(right)>;
};

}  // namespace leasehold_test

#endif
