// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RELEASE_ALL_HPP
#define LEASEHOLD_RELEASE_ALL_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/concept.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_guard.hpp>
#include <leasehold/renewal/batch.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <ranges>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

/// After this time the destructor of a guard of several terms begins no other call of a store.
inline constexpr duration max_release_time = std::chrono::seconds{1};

namespace detail {

template <class Guard>
inline constexpr bool is_lease_guard = false;
template <class Lease>
inline constexpr bool is_lease_guard<lease_guard<Lease>> = true;

template <class Range>
concept range_of_guards = std::ranges::input_range<Range> && std::is_lvalue_reference_v<std::ranges::range_reference_t<Range>> &&
                          is_lease_guard<std::ranges::range_value_t<Range>>;

// How long calls of stores may take together before no other one begins. Terms that are left then are over in this process, and run out in
// the store. Each call is measured by the clock of its own lease: those of two leases need not show the same time.
class release_limit {
public:
    // Without a limit.
    release_limit() noexcept = default;
    explicit release_limit(duration longest) noexcept : left_{longest} {}

    [[nodiscard]] bool reached() const noexcept { return left_ <= duration::zero(); }
    template <lease_clock Clock, class Call>
    void count(const Clock& clock, Call call) noexcept
    {
        const time_point begun = clock.now();
        call();
        left_ -= std::clamp(clock.now() - begun, duration::zero(), left_);
    }

private:
    duration left_ = duration::max();
};

// Guards to be released, of one store at a time.
template <class Guard>
class guards_to_release {
    using store_type = typename Guard::store_type;

public:
    explicit guards_to_release(release_limit limit = {}) noexcept : limit_{limit} {}

    void add(Guard& guard) noexcept
    {
        if (guard.empty()) return;
        term_type one = std::exchange(lease_access::body(guard), {});
        if (is_skipped(one.store())) return one.leave(error_);
        if (limit_.reached()) return one.leave(errc::store_timeout);
        if constexpr (batching_store<store_type>) {
            if (add_to_batch(one)) return;
        }
        std::error_code ec;
        limit_.count(one.keeper().clock(), [&] {
            if (one.end(ec) == release_outcome::released) ++released_;
        });
        if (ec) failed(one, ec);
    }

    void send() noexcept
    {
        if constexpr (batching_store<store_type>) {
            if (leaving_.empty()) return;
            std::error_code ec;
            answers_.assign(leaving_.size(), batch_answer::unknown);  // within its capacity
            auto& first = leaving_.front().keeper();
            limit_.count(first.clock(), [&] {
                catch_into(ec, [&] { first.store().release_many(releases_, answers_, ec); });
            });
            for (std::size_t i = 0; i < leaving_.size(); ++i) {
                const bool unknown = answers_[i] == batch_answer::unknown;
                const bool ours = answers_[i] == batch_answer::yes;
                const std::error_code error = unknown ? (ec ? ec : make_error_code(errc::store_failure)) : std::error_code{};
                if (unknown) failed(leaving_[i], error);
                const auto outcome = unknown ? release_outcome::unknown : ours ? release_outcome::released : release_outcome::lost;
                if (leaving_[i].keeper().has_ended(leaving_[i].term(), outcome, error) == release_outcome::released) ++released_;
            }
            leaving_.clear();
            releases_.clear();
        }
    }

    [[nodiscard]] std::size_t released() const noexcept { return released_; }
    [[nodiscard]] std::error_code error() const noexcept { return error_; }
    // Calls f(store, error, name) for the first call that failed, if any.
    template <class Function>
    void on_failure(Function f) const
    {
        if (failed_) f(failed_->keeper().store(), error_, std::string_view{failed_->keeper().name()});
    }
    void throw_if_failed() const
    {
        if (failed_) failed_->raise_failure(error_, "release_all");
    }

private:
    using term_type = typename Guard::body_type;

    // False: the term has to be released by itself.
    bool add_to_batch(term_type& one) noexcept
    {
        if (!leaving_.empty() && std::addressof(leaving_.front().keeper().store()) != one.store()) send();
        const std::size_t most = renewal::batch_size_of(one.keeper().store());
        if (most < 2) return false;
        std::error_code no_memory;
        catch_into(no_memory, [&] { reserve(most); });
        if (no_memory) return false;
        if (const std::optional<term_release> what = one.keeper().end_here(one.term())) {
            leaving_.push_back(std::move(one));
            releases_.push_back(*what);
            if (leaving_.size() >= most) send();
        }
        else {
            one.keeper().has_ended(one.term(), release_outcome::lost);
        }
        return true;
    }

    void reserve(std::size_t most)
    {
        leaving_.reserve(most);
        releases_.reserve(most);
        answers_.reserve(most);
    }

    // The first failure is the one that is reported; each ends the calls of its store.
    void failed(const term_type& on, std::error_code ec) noexcept
    {
        const store_type* const store = std::addressof(on.keeper().store());
        if (!failed_) {
            failed_ = on;
            error_ = ec;
        } else if (!is_skipped(store)) {
            std::error_code without;  // memory: then no store is called again
            catch_into(without, [&] { also_failed_.push_back(store); });
            all_skipped_ = all_skipped_ || without;
        }
    }

    [[nodiscard]] bool is_skipped(const store_type* store) const noexcept
    {
        return failed_ && (all_skipped_ || std::addressof(failed_->keeper().store()) == store ||
                           std::find(also_failed_.begin(), also_failed_.end(), store) != also_failed_.end());
    }

    release_limit limit_;
    std::vector<term_type> leaving_;
    std::vector<term_release> releases_;
    std::vector<batch_answer> answers_;
    std::size_t released_ = 0;
    std::optional<term_type> failed_;
    std::error_code error_;
    std::vector<const store_type*> also_failed_;
    bool all_skipped_ = false;
};

template <range_of_guards Guards>
auto release_range(Guards& guards) noexcept
{
    guards_to_release<std::ranges::range_value_t<Guards>> leaving;
    for (auto& guard : guards) leaving.add(guard);
    leaving.send();
    return leaving;
}

}  // namespace detail

/// Releases all guards of a range, with few calls if the store is a batching_store; does nothing to empty guards.
///
/// Returns how many were released; the other terms were lost. All guards are empty afterwards, and none of their terms is
/// held any more, whatever the store says. After a call that fails, that store is not called again: it frees its remaining
/// leases when their time runs out. So at most about one call timeout is wasted on each store.
/// Throws store_error for the first failure.
template <detail::range_of_guards Guards>
std::size_t release_all(Guards&& guards)
{
    const auto left = detail::release_range(guards);
    left.throw_if_failed();
    return left.released();
}

/// The same, reported in `ec`: does not throw.
template <detail::range_of_guards Guards>
std::size_t release_all(Guards&& guards, std::error_code& ec) noexcept
{
    const auto left = detail::release_range(guards);
    ec = left.error();
    return left.released();
}

}  // namespace leasehold::inline v0

#endif
