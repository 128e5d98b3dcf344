// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_GUARD_SETS_HPP
#define LEASEHOLD_DETAIL_GUARD_SETS_HPP

#include <leasehold/detail/catch_into.hpp>
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
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

// The guards of a set: a vector of one type, or a tuple of several.
namespace leasehold::inline v0::detail {

template <class Lease, class Function>
void each_of_set(const std::vector<lease_guard<Lease>>& guards, Function f)
{
    for (const auto& guard : guards) f(guard);
}
template <class... Leases, class Function>
void each_of_set(const std::tuple<lease_guard<Leases>...>& guards, Function f)
{
    std::apply([&f](const auto&... each) { (f(each), ...); }, guards);
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
            if constexpr (diagnosing_store<Store>) said_ = store.diagnostics();
        });
    }

    [[nodiscard]] std::error_code error() const noexcept { return error_; }

    void raise_if_any(std::string_view operation) const
    {
        if (error_) raise_failed_call(error_, std::string{operation} + " '" + name_ + "'", said_);
    }

private:
    std::error_code error_;
    std::string name_;
    store_diagnostics said_;
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

// The newest first; `order` is that in which they were acquired.
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
        const bool given_up = std::any_of(failed.begin(), failed.end(), [called](const void* each) { return each == called; });
        if (given_up || limit.reached(lease_access::clock_of(guard))) return lease_access::leave(guard);
        const std::string_view name = guard.name();
        std::error_code ec;
        const auto kept = lease_access::keep_alive(guard);  // for the name
        if (guard.release(ec) == release_outcome::released) ++out.released;
        if (!ec) return;
        failed[failures++] = std::addressof(store);
        out.failure.note(store, ec, name);
    };
    for (auto i = order.rbegin(); i != order.rend(); ++i) {
        std::size_t at = 0;
        std::apply([&](auto&... each) { ((at++ == *i ? release(each) : static_cast<void>(0)), ...); }, guards);
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

// The term of a guard, which can be extended also after the guard has been moved, released or destroyed; after a release it is over.
template <class Lease>
class kept_term {
public:
    using store_type = typename lease_parts<Lease>::store;

    explicit kept_term(const lease_guard<Lease>& of) noexcept : handle_{lease_access::keep_alive(of)}, term_{lease_access::term(of)} {}

    [[nodiscard]] store_type* store() const noexcept { return std::addressof(keeper().store()); }
    [[nodiscard]] std::string_view name() const noexcept { return keeper().name(); }
    [[nodiscard]] bool held() const noexcept { return term_->remaining(keeper().clock()) > duration::zero(); }
    bool renew(std::error_code& ec) noexcept { return keeper().renewals().extend(term_, std::nullopt, ec); }

private:
    friend lease_access;

    [[nodiscard]] auto& keeper() const noexcept { return *handle_; }

    typename lease_parts<Lease>::handle handle_;
    std::shared_ptr<renewal::term> term_;
};

// False: one of them is lost. Stops at the first loss or failure, since the set is of no use then.
template <class... Guards>
bool renew_set(std::tuple<Guards...>& guards, set_failure* failure) noexcept
{
    const auto renew = [failure](auto& guard) {
        std::error_code ec;
        const bool extended = guard.renew(ec);
        if (ec) failure->note(lease_access::store(guard), ec, guard.name());
        return extended && !ec;
    };
    return std::apply([&renew](auto&... each) { return (renew(each) && ...); }, guards);
}

// Renews guards of one store in one call.
template <class Guard>
bool renew_together(std::vector<Guard>& guards, std::size_t first, std::size_t last, set_failure* failure)
{
    std::vector<term_renewal> renewals;
    std::vector<renewal::sent_renewal> sent;
    std::vector<std::size_t> of;
    renewals.reserve(last - first);
    sent.reserve(last - first);
    of.reserve(last - first);
    std::vector<batch_answer> answers(last - first, batch_answer::unknown);
    for (std::size_t i = first; i < last; ++i) {
        renewal::sent_renewal out;
        if (const auto what = lease_access::begin_extension(guards[i], out)) {
            renewals.push_back(*what);
            sent.push_back(std::move(out));
            of.push_back(i);
        }
    }
    answers.resize(of.size());
    std::error_code ec;
    auto& store = lease_access::store(guards[first]);
    if (!of.empty()) catch_into(ec, [&] { store.renew_many(renewals, answers, duration::max(), ec); });
    bool extended = of.size() == last - first;
    for (std::size_t i = 0; i < of.size(); ++i) {
        lease_access::end_extension(guards[of[i]], sent[i], answers[i], ec);
        extended = extended && guards[of[i]].held();
        if (answers[i] == batch_answer::unknown)
            failure->note(store, ec ? ec : make_error_code(errc::store_failure), guards[of[i]].name());
    }
    return extended;
}

template <class Guard>
bool renew_set(std::vector<Guard>& guards, set_failure* failure) noexcept
{
    using store_type = typename Guard::store_type;
    for (std::size_t i = 0; i < guards.size();) {
        std::size_t end = i + 1;
        if constexpr (batching_store<store_type>) {
            const std::size_t most = renewal::batch_size_of(lease_access::store(guards[i]));
            while (end < guards.size() && end - i < most && guards[end].store() == guards[i].store()) ++end;
        }
        std::error_code ec;
        bool extended = false;
        if constexpr (batching_store<store_type>)
            if (end - i > 1) catch_into(ec, [&] { extended = renew_together(guards, i, end, failure); });
        if (end - i == 1) extended = guards[i].renew(ec);
        if (ec) failure->note(lease_access::store(guards[i]), ec, guards[i].name());
        if (!extended || failure->error()) return false;
        i = end;
    }
    return true;
}

// Makes set guards.
struct set_access {
    template <class Set>
    static Set make(typename Set::guards_type guards, std::vector<std::size_t> order, std::stop_source stop) noexcept
    {
        return Set{std::move(guards), std::move(order), std::move(stop)};
    }
};

}  // namespace leasehold::inline v0::detail

#endif
