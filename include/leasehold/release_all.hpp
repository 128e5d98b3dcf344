// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RELEASE_ALL_HPP
#define LEASEHOLD_RELEASE_ALL_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/concept.hpp>
#include <leasehold/detail/catch_into.hpp>
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

// Until when other calls of stores may begin. The terms that are left then are over in this process, and run out in the store.
class release_limit {
public:
    // Without a limit.
    release_limit() noexcept = default;
    explicit release_limit(duration longest) noexcept : longest_{longest} {}

    template <lease_clock Clock>
    [[nodiscard]] bool reached(const Clock& clock) noexcept
    {
        const time_point now = clock.now();
        if (!begun_) begun_ = now;
        return now - *begun_ >= longest_;
    }

private:
    duration longest_ = duration::max();
    std::optional<time_point> begun_;
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
        if (is_given_up(guard.store()) || limit_.reached(guard.keeper().clock())) {
            leave(leaving{std::move(guard.handle_), std::move(guard.term_)}, release_outcome::unknown);
            return;
        }
        if constexpr (batching_store<store_type>) {
            if (add_to_batch(guard)) return;
        }
        const auto handle = guard.handle_;
        std::error_code ec;
        if (guard.release(ec) == release_outcome::released) ++released_;
        if (ec) failed(handle, ec);
    }

    void send() noexcept
    {
        if constexpr (batching_store<store_type>) {
            if (leaving_.empty()) return;
            std::error_code ec;
            answers_.assign(leaving_.size(), batch_answer::unknown);  // within its capacity
            catch_into(ec, [this, &ec] { store_of(leaving_.front()).release_many(releases_, answers_, ec); });
            for (std::size_t i = 0; i < leaving_.size(); ++i) {
                const bool unknown = answers_[i] == batch_answer::unknown;
                const bool ours = answers_[i] == batch_answer::yes;
                const std::error_code error = unknown ? (ec ? ec : make_error_code(errc::store_failure)) : std::error_code{};
                if (unknown) failed(leaving_[i].handle, error);
                const auto said = unknown ? release_outcome::unknown : ours ? release_outcome::released : release_outcome::lost;
                if (leaving_[i].has_ended(said, error) == release_outcome::released) ++released_;
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
        if (failed_) f(failed_->store(), error_, std::string_view{failed_->name()});
    }
    void throw_if_failed() const
    {
        if (failed_) raise_store_failure(failed_->store(), error_, "release_all", failed_->name());
    }

private:
    using handle_type = typename Guard::handle_type;

    struct leaving {
        handle_type handle;
        std::shared_ptr<renewal::term> term;

        release_outcome has_ended(release_outcome said, std::error_code error = {}) const noexcept
        {
            return handle->has_ended(term, said, error);
        }
    };

    static store_type& store_of(const leaving& one) noexcept { return one.handle->store(); }

    // False: the guard has to be released by itself.
    bool add_to_batch(Guard& guard) noexcept
    {
        if (!leaving_.empty() && std::addressof(store_of(leaving_.front())) != guard.store()) send();
        const std::size_t most = renewal::batch_size_of(guard.keeper().store());
        if (most < 2) return false;
        std::error_code no_memory;
        catch_into(no_memory, [&] { reserve(most); });
        if (no_memory) return false;
        leaving one{std::move(guard.handle_), std::move(guard.term_)};
        if (const std::optional<term_release> what = one.handle->end_here(one.term)) {
            leaving_.push_back(std::move(one));
            releases_.push_back(*what);
            if (leaving_.size() >= most) send();
        }
        else {
            one.has_ended(release_outcome::lost);
        }
        return true;
    }

    void reserve(std::size_t most)
    {
        leaving_.reserve(most);
        releases_.reserve(most);
        answers_.reserve(most);
    }

    static void leave(const leaving& one, release_outcome outcome) noexcept
    {
        static_cast<void>(one.handle->end_here(one.term));
        one.has_ended(outcome);
    }

    // The first failure is the one that is reported; each ends the calls of its store.
    void failed(const handle_type& on, std::error_code ec) noexcept
    {
        const store_type* const store = std::addressof(on->store());
        if (!failed_) {
            failed_ = on;
            error_ = ec;
        } else if (!is_given_up(store)) {
            std::error_code without;  // memory: then no store is called again
            catch_into(without, [&] { also_failed_.push_back(store); });
            all_given_up_ = all_given_up_ || without;
        }
    }

    [[nodiscard]] bool is_given_up(const store_type* store) const noexcept
    {
        return failed_ && (all_given_up_ || std::addressof(failed_->store()) == store ||
                           std::find(also_failed_.begin(), also_failed_.end(), store) != also_failed_.end());
    }

    release_limit limit_;
    std::vector<leaving> leaving_;
    std::vector<term_release> releases_;
    std::vector<batch_answer> answers_;
    std::size_t released_ = 0;
    handle_type failed_;
    std::error_code error_;
    std::vector<const store_type*> also_failed_;
    bool all_given_up_ = false;
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
