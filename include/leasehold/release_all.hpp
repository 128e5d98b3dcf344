// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RELEASE_ALL_HPP
#define LEASEHOLD_RELEASE_ALL_HPP

#include <leasehold/detail/guarded.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_guard.hpp>
#include <leasehold/renewal/gathering.hpp>
#include <leasehold/store/concept.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <ranges>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

namespace detail {

template <class Guard>
struct lease_of_guard;
template <class Lease>
struct lease_of_guard<lease_guard<Lease>> {
    using type = Lease;
};

template <class Range>
concept range_of_guards = std::ranges::input_range<Range> && std::is_lvalue_reference_v<std::ranges::range_reference_t<Range>> &&
                          requires { typename lease_of_guard<std::ranges::range_value_t<Range>>::type; };

// Guards on their way out, of one store at a time.
template <class Lease>
class guards_to_release {
    using store_type = typename Lease::store_type;

public:
    void add(lease_guard<Lease>& guard) noexcept
    {
        if (!guard.lease_) return;
        if (failed_on_) return leave(*std::exchange(guard.lease_, nullptr));
        if constexpr (batching_store<store_type>) {
            if (add_to_batch(guard)) return;
        }
        Lease& lease = *guard.lease_;
        std::error_code ec;
        if (guard.release(ec) == release_outcome::released) ++released_;
        if (ec) failed(lease, ec);
    }

    void send() noexcept
    {
        if constexpr (batching_store<store_type>) {
            if (leases_.empty()) return;
            std::error_code ec;
            answers_.assign(leases_.size(), batch_answer::unknown);  // within its capacity
            guarded(ec, [this, &ec] { leases_.front()->store().release_many(releases_, answers_, ec); });
            for (std::size_t i = 0; i < leases_.size(); ++i) {
                if (answers_[i] == batch_answer::yes) ++released_;
                if (answers_[i] == batch_answer::unknown && !failed_on_)
                    failed(*leases_[i], ec ? ec : make_error_code(errc::store_failure));
                leases_[i]->has_ended();
            }
            leases_.clear();
            releases_.clear();
        }
    }

    [[nodiscard]] std::size_t released() const noexcept { return released_; }
    [[nodiscard]] std::error_code why() const noexcept { return why_; }
    void throw_if_failed() const
    {
        if (failed_on_) failed_on_->raise_failure(why_, "release_all");
    }

private:
    // False: to be released by itself.
    bool add_to_batch(lease_guard<Lease>& guard) noexcept
    {
        Lease& lease = *guard.lease_;
        if (!leases_.empty() && std::addressof(leases_.front()->store()) != std::addressof(lease.store())) send();
        const std::size_t most = std::min(lease.store().batch_size(), renewal::max_batch);
        if (most < 2) return false;
        std::error_code without;  // memory
        guarded(without, [&] { reserve(most); });
        if (without) return false;
        guard.lease_ = nullptr;
        if (const std::optional<term_release> what = lease.term_->end_here()) {
            leases_.push_back(&lease);
            releases_.push_back(*what);
            if (leases_.size() >= most) send();
        }
        else {
            lease.has_ended();
        }
        return true;
    }

    void reserve(std::size_t most)
    {
        leases_.reserve(most);
        releases_.reserve(most);
        answers_.reserve(most);
    }

    static void leave(Lease& lease) noexcept
    {
        static_cast<void>(lease.term_->end_here());
        lease.has_ended();
    }

    void failed(Lease& on, std::error_code ec) noexcept
    {
        failed_on_ = &on;
        why_ = ec;
    }

    std::vector<Lease*> leases_;
    std::vector<term_release> releases_;
    std::vector<batch_answer> answers_;
    std::size_t released_ = 0;
    Lease* failed_on_ = nullptr;
    std::error_code why_;
};

template <range_of_guards Guards>
auto release_range(Guards& guards) noexcept
{
    guards_to_release<typename lease_of_guard<std::ranges::range_value_t<Guards>>::type> leaving;
    for (auto& guard : guards) leaving.add(guard);
    leaving.send();
    return leaving;
}

}  // namespace detail

/// Releases all guards of a range, with few calls where the store is a batching_store; empty guards are left as they are.
///
/// Returns how many were released; the other terms were lost. All guards are empty afterwards, and none of their terms is
/// believed in any more, whatever the store says. After a call that fails the store is asked no more: it frees what is left
/// when its time runs out. So it takes about one call timeout at most that comes to nothing.
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
    ec = left.why();
    return left.released();
}

}  // namespace leasehold::inline v0

#endif
