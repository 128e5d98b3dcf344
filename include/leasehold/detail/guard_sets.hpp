// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_GUARD_SETS_HPP
#define LEASEHOLD_DETAIL_GUARD_SETS_HPP

#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/held_term.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_guard.hpp>
#include <leasehold/release_all.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/renewal/batch.hpp>
#include <leasehold/renewal/term.hpp>
#include <leasehold/renewal/watched_term.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// The guards of a set: a vector of one type, or a tuple of several.
namespace leasehold::inline v0::detail {

template <class Guard, class Function>
void each_of_set(const std::vector<Guard>& guards, Function f)
{
    for (const auto& guard : guards) f(guard);
}
template <class... Guards, class Function>
void each_of_set(const std::tuple<Guards...>& guards, Function f)
{
    std::apply([&f](const auto&... guard) { (f(guard), ...); }, guards);
}

// The term of a guard, or of a copy that was kept of its term.
template <class Guard>
auto& term_of(Guard& guard) noexcept
{
    if constexpr (requires { guard.term(); })
        return guard;
    else
        return lease_access::body(guard);
}

// The first call of a store that failed.
class set_failure {
public:
    template <lease_store Store>
    void note(Store& store, std::error_code ec, std::string_view name) noexcept
    {
        if (error_) return;
        error_ = ec;
        std::error_code no_memory;  // then without the details
        catch_into(no_memory, [&] {
            name_ = name;
            diagnostics_ = diagnostics_of(store);
        });
    }

    [[nodiscard]] std::error_code error() const noexcept { return error_; }

    [[noreturn]] void raise(std::string_view operation) const
    {
        raise_failed_call(error_, std::string{operation} + " '" + name_ + "'", diagnostics_);
    }

private:
    std::error_code error_;
    std::string name_;
    store_diagnostics diagnostics_;
};

struct set_release {
    std::size_t guards = 0;
    std::size_t released = 0;
    set_failure failure{};

    [[nodiscard]] release_outcome outcome() const noexcept
    {
        if (failure.error()) return release_outcome::unknown;
        return released == guards ? release_outcome::released : release_outcome::lost;
    }
};

// Releases the newest first. `order`: in which they were acquired.
template <class Lease>
set_release release_set(std::vector<lease_guard<Lease>>& guards, const std::vector<std::size_t>& order, release_limit limit = {}) noexcept
{
    set_release out{.guards = guards.size()};
    guards_to_release<lease_guard<Lease>> left{limit};
    for (auto i = order.rbegin(); i != order.rend(); ++i) left.add(guards[*i]);
    left.send();
    out.released = left.released();
    left.on_failure([&out](auto& store, std::error_code ec, std::string_view name) { out.failure.note(store, ec, name); });
    guards.clear();
    return out;
}

template <class... Leases>
set_release release_set(std::tuple<lease_guard<Leases>...>& guards, const std::vector<std::size_t>& order,
                        release_limit limit = {}) noexcept
{
    set_release out;
    std::array<const void*, sizeof...(Leases)> failed{};  // the stores that are not called again
    std::size_t failures = 0;
    const auto release = [&](auto& guard) {
        if (guard.empty()) return;
        ++out.guards;
        auto& store = *guard.store();
        const void* const called = std::addressof(store);
        const bool given_up = std::any_of(failed.begin(), failed.end(), [called](const void* address) { return address == called; });
        auto ended = std::exchange(lease_access::body(guard), {});
        if (given_up) return ended.leave(out.failure.error());
        if (limit.reached()) return ended.leave(errc::store_timeout);
        std::error_code ec;
        limit.count(ended.keeper().clock(), [&] {
            if (ended.end(ec) == release_outcome::released) ++out.released;
        });
        if (!ec) return;
        failed[failures++] = std::addressof(store);
        out.failure.note(store, ec, ended.keeper().name());
    };
    for (auto i = order.rbegin(); i != order.rend(); ++i) {
        std::size_t at = 0;
        std::apply([&](auto&... guard) { ((at++ == *i ? release(guard) : static_cast<void>(0)), ...); }, guards);
    }
    return out;
}

// Ends terms under which nobody has worked: they don't keep their names closed.
template <class Guards>
void back_out(Guards& guards, const std::vector<std::size_t>& order) noexcept
{
    each_of_set(guards, [](const auto& guard) { lease_access::forget_min_hold(guard); });
    static_cast<void>(release_set(guards, order));
}

// Says how terms are renewed together. `all`: waits for the terms whose renewal is at the store already, and the others wait with them;
// otherwise those are left out.
struct joint_renewal {
    std::optional<duration> ttl{};
    duration within = duration::max();  // that the call may take
    bool all = true;
};

// Extends terms, or those of guards. False: one of them is lost. Stops at the first loss or failure, since the set is of no use then.
template <class... Terms>
bool renew_set(std::tuple<Terms...>& terms, const joint_renewal& how, set_failure& failure) noexcept
{
    const auto renew = [&](auto& term) {
        std::error_code ec;
        const bool extended = term.extend(how.ttl, ec);
        if (ec) failure.note(term.keeper().store(), ec, term.name());
        return extended && !ec;
    };
    return std::apply([&renew](auto&... term) { return (renew(term_of(term)) && ...); }, terms);
}

// Renews terms of one store in one call.
template <class Term>
bool renew_together(std::span<Term> terms, const joint_renewal& how, set_failure& failure)
{
    std::vector<term_renewal> renewals;
    std::vector<renewal::sent_renewal> sent;
    std::vector<std::size_t> indexes;
    renewals.reserve(terms.size());
    sent.reserve(terms.size());
    indexes.reserve(terms.size());
    std::vector<batch_answer> answers(terms.size(), batch_answer::unknown);
    for (std::size_t i = 0; i < terms.size(); ++i) {
        renewal::sent_renewal out;
        auto& term = term_of(terms[i]);
        if (const auto what = term.keeper().begin_extension(term.term(), how.ttl, out, how.all)) {
            renewals.push_back(*what);
            sent.push_back(std::move(out));
            indexes.push_back(i);
        }
    }
    answers.resize(indexes.size());
    std::error_code ec;
    auto& store = term_of(terms.front()).keeper().store();
    if (!indexes.empty()) catch_into(ec, [&] { store.renew_many(renewals, answers, how.within, ec); });
    bool extended = !how.all || indexes.size() == terms.size();
    for (std::size_t i = 0; i < indexes.size(); ++i) {
        auto& term = term_of(terms[indexes[i]]);
        term.keeper().end_renewal(sent[i], answers[i], ec);
        extended = extended && term.remaining() > duration::zero();
        if (answers[i] == batch_answer::unknown) failure.note(store, ec ? ec : make_error_code(errc::store_failure), term.name());
    }
    return extended;
}

template <class Term>
bool renew_set(std::vector<Term>& terms, const joint_renewal& how, set_failure& failure) noexcept
{
    for (std::size_t i = 0; i < terms.size();) {
        auto& first = term_of(terms[i]);
        auto& store = first.keeper().store();
        std::size_t end = i + 1;
        std::error_code ec;
        bool extended = false;
        if constexpr (batching_store<std::remove_reference_t<decltype(store)>>) {
            const std::size_t most = renewal::batch_size_of(store);
            while (end < terms.size() && end - i < most && term_of(terms[end]).store() == std::addressof(store)) ++end;
            if (end - i > 1 || !how.all)
                catch_into(ec, [&] { extended = renew_together(std::span{terms}.subspan(i, end - i), how, failure); });
        }
        if (end - i == 1 && how.all) extended = first.extend(how.ttl, ec);
        if (ec) failure.note(store, ec, first.name());
        if (!extended || failure.error()) return false;
        i = end;
    }
    return true;
}

// The terms of several leases, which a guard holds: a vector of guards of one type, or a tuple of several.
template <class... Leases>
class held_set {
public:
    using guards_type =
        std::conditional_t<sizeof...(Leases) == 1, std::vector<lease_guard<std::tuple_element_t<0, std::tuple<Leases...>>>>,
                           std::tuple<lease_guard<Leases>...>>;
    static constexpr bool is_one_term = false;

    held_set() noexcept = default;
    // All guards are granted, and their losses are signalled through `stop`. `order`: in which they were acquired.
    held_set(guards_type guards, std::vector<std::size_t> order, std::stop_source stop) noexcept
        : guards_{std::move(guards)}, order_{std::move(order)}, stop_{std::move(stop)}
    {
    }

    [[nodiscard]] const guards_type& guards() const noexcept { return guards_; }
    [[nodiscard]] std::size_t size() const noexcept
    {
        std::size_t count = 0;
        each_of_set(guards_, [&count](const auto& guard) { count += guard.empty() ? 0U : 1U; });
        return count;
    }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] duration remaining() const noexcept
    {
        duration least = empty() ? duration::zero() : duration::max();
        each_of_set(guards_, [&least](const auto& guard) { least = std::min(least, guard.remaining()); });
        return least;
    }
    [[nodiscard]] std::stop_token stop_token() const
    {
        std::stop_token told = stop_.get_token();
        each_of_set(guards_, [&told](const auto& guard) {
            if (guard.empty() || told.stop_requested()) return;
            std::stop_token of_term = guard.stop_token();  // the shared one, unless this term is lost already
            if (of_term.stop_possible()) told = std::move(of_term);  // not where its clock can't be waited on
        });
        return told;
    }
    [[nodiscard]] std::error_code renewal_error() const noexcept
    {
        std::error_code first;
        each_of_set(guards_, [&first](const auto& guard) {
            if (!first) first = guard.renewal_error();
        });
        return first;
    }
    [[nodiscard]] std::string name_of_loss() const
    {
        std::string name;
        each_of_set(guards_, [&name](const auto& guard) {
            if (name.empty() && !guard.held()) name = guard.name();
        });
        return name;
    }
    [[nodiscard]] const char* broken_rule(duration ttl) const { return broken_rule(guards_, ttl); }
    // Returns the threads that serve the first lease; null if there are no terms.
    [[nodiscard]] auto engine() const
    {
        if constexpr (sizeof...(Leases) == 1)
            return guards_.empty() ? nullptr : lease_access::body(guards_.front()).engine();
        else
            return lease_access::body(std::get<0>(guards_)).engine();
    }
    // See held_term. A set that is lost has no term that was worked under as it should.
    void forget_min_hold() const noexcept
    {
        each_of_set(guards_, [](const auto& guard) { lease_access::forget_min_hold(guard); });
    }

    bool extend(std::optional<duration> ttl, std::error_code& ec) noexcept { return extend(guards_, ttl, failure_ = {}, ec); }
    // Returns a function that extends the terms, even after the guard has gone.
    [[nodiscard]] auto extension() const
    {
        return [terms = terms()](std::optional<duration> ttl, std::error_code& ec) mutable {
            set_failure failure;
            return extend(terms, ttl, failure, ec);
        };
    }
    release_outcome end(std::error_code& ec) noexcept
    {
        if (remaining() == duration::zero()) forget_min_hold();
        set_release left = release_set(guards_, order_);
        failure_ = std::move(left.failure);
        ec = failure_.error();
        return ec ? release_outcome::unknown : left.outcome();
    }
    void drop() noexcept
    {
        if (remaining() == duration::zero()) forget_min_hold();
        static_cast<void>(release_set(guards_, order_, release_limit{max_release_time}));
    }
    [[noreturn]] void raise_failure(std::error_code, std::string_view operation) const { failure_.raise(operation); }

private:
    template <class Terms>
    static bool extend(Terms& terms, std::optional<duration> ttl, set_failure& failure, std::error_code& ec) noexcept
    {
        const bool possible = !ttl || !broken_rule(terms, *ttl);
        const bool extended = possible && renew_set(terms, {.ttl = ttl}, failure);
        ec = possible ? failure.error() : make_error_code(errc::invalid_terms);
        return extended && !ec;
    }

    template <class Terms>
    static const char* broken_rule(const Terms& terms, duration ttl)
    {
        const char* first = nullptr;
        each_of_set(terms, [&](const auto& term) {
            if (!first) first = term_of(term).broken_rule(ttl);
        });
        return first;
    }

    [[nodiscard]] auto terms() const
    {
        const auto copied = [](const auto&... guard) { return std::tuple{lease_access::body(guard)...}; };
        if constexpr (sizeof...(Leases) > 1) {
            return std::apply(copied, guards_);
        } else {
            std::vector<std::remove_cvref_t<decltype(lease_access::body(guards_.front()))>> all;
            for (const auto& guard : guards_) all.push_back(lease_access::body(guard));
            return all;
        }
    }

    guards_type guards_;
    std::vector<std::size_t> order_;
    std::stop_source stop_{std::nostopstate};
    set_failure failure_;  // of the last call
};

// Makes set guards.
struct set_access {
    template <class Set>
    static Set make(typename Set::guards_type guards, std::vector<std::size_t> order, std::stop_source stop) noexcept
    {
        return Set{typename Set::body_type{std::move(guards), std::move(order), std::move(stop)}};
    }
};

}  // namespace leasehold::inline v0::detail

#endif
