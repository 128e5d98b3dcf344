// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_GUARD_CORE_HPP
#define LEASEHOLD_DETAIL_GUARD_CORE_HPP

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>

#include <string_view>
#include <utility>

namespace leasehold::inline v0::detail {

struct lease_access;

// A guard of several terms that can be asked for each of them, and so is never asked for one name and token.
template <class Guard>
concept guard_of_several = requires(const Guard& guard) { guard.guards(); };

/// What is true of each guard: it holds a right, which can be lost while the guard lives, and gives it back in its destructor.
///
/// Movable, not copyable; a default-constructed, moved-from or released guard is empty. Nothing can be asked of a temporary guard.
///
// `Body` is the right: empty by default and when it is moved from, it has empty(), remaining() and drop(), and what its guard is asked.
template <class Guard, class Body>
class guard_core {
public:
    /// The right that it holds, for the library.
    using body_type = Body;

    /// An empty guard.
    guard_core() noexcept = default;
    /// For the library: holds a right that was granted.
    constexpr explicit guard_core(Body body) noexcept : body_{std::move(body)} {}
    /// Takes over the other guard's right; the other is then empty.
    guard_core(guard_core&& other) noexcept = default;

    /// Releases its own right, like the destructor, and takes over the other guard's.
    guard_core& operator=(guard_core&& other) noexcept
    {
        guard_core taken{std::move(other)};
        std::swap(body_, taken.body_);
        return *this;
    }

    /// Releases the right. A failure is not reported: the store then frees it when its time runs out.
    ~guard_core()
    {
        if (!body_.empty()) body_.drop();
    }

    /// Exchanges what they hold.
    void swap(Guard& other) noexcept { std::swap(body_, static_cast<guard_core&>(other).body_); }
    /// Exchanges what they hold.
    friend void swap(Guard& a, Guard& b) noexcept { a.swap(b); }

    /// The same as held(): false when the guard is empty, and for ever once the right is lost.
    [[nodiscard]] explicit operator bool() const& noexcept { return held(); }

    /// Whether the right certainly continues: true until the deadline, false for ever once it is over. Reads the clock, of several terms
    /// once for each.
    [[nodiscard]] bool held() const& noexcept { return remaining() > duration::zero(); }

    /// Time to the deadline, of several terms to the earliest; 0 if the right is over, or the guard is empty.
    [[nodiscard]] duration remaining() const& noexcept { return body_.remaining(); }

    /// Whether the guard has no right: never acquired, moved from, or released. A lost guard is not empty.
    [[nodiscard]] bool empty() const& noexcept { return body_.empty(); }

    /// The term's fencing token; 0 when the guard is empty. A permit's is larger than every earlier one of the same index. A writer's is
    /// that of its gate, and can't be compared with readers'. A set has tokens().
    [[nodiscard]] fencing_token token() const& noexcept
        requires requires(const Body& body) { body.token(); }
    {
        return body_.token();
    }

    /// The name of the lease, as in "nightly-report", "licences/3" or "catalog/writer"; empty when the guard is empty.
    [[nodiscard]] std::string_view name() const& noexcept
        requires requires(const Body& body) { body.name(); }
    {
        return body_.name();
    }

    /// The owner; empty when the guard is empty.
    [[nodiscard]] std::string_view owner() const& noexcept
        requires requires(const Body& body) { body.owner(); }
    {
        return body_.owner();
    }

    // Deleted: `if (lease.try_acquire()) work();` would work without the lease, since a temporary guard releases it before.
    explicit operator bool() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool held() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    duration remaining() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    bool empty() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    fencing_token token() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::string_view name() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()
    std::string_view owner() const&& = delete;  ///< a temporary guard has released: name it, or use try_run()

protected:
    [[nodiscard]] constexpr Body& body() noexcept { return body_; }
    [[nodiscard]] constexpr const Body& body() const noexcept { return body_; }

private:
    friend lease_access;

    Body body_{};
};

}  // namespace leasehold::inline v0::detail

#endif
