// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_SHARD_TERM_HPP
#define LEASEHOLD_SHARD_TERM_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_guard.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {
struct shard_access;
}

/// One term of one shard: shard_group passes it to the function that works on the shard.
///
/// Thread safety: any thread may call what does no I/O; one thread at a time may call the rest. Lifetime: it lives as long as the call of
/// that function; a token that stop_token() returned may outlive it.
template <class Lease>
class shard_term {
public:
    shard_term(const shard_term&) = delete;
    shard_term& operator=(const shard_term&) = delete;

    [[nodiscard]] std::size_t index() const noexcept { return index_; }  ///< which shard: 0 to count - 1
    [[nodiscard]] std::size_t count() const noexcept { return count_; }  ///< how many shards there were when it was taken
    [[nodiscard]] fencing_token token() const noexcept { return token_; }  ///< the token of the term
    [[nodiscard]] std::string_view name() const noexcept { return guard_.name(); }  ///< the name of the shard's lease, as in "orders/17"
    [[nodiscard]] std::string_view owner() const noexcept { return guard_.owner(); }  ///< the owner of its lease

    /// Whether the term certainly continues, see lease_guard::held(): also while it is drained. Reads the clock.
    [[nodiscard]] bool held() const noexcept { return guard_.held(); }
    /// Time to the deadline; 0 if the term is over.
    [[nodiscard]] duration remaining() const noexcept { return guard_.remaining(); }
    /// Whether the shard is to be given up: end the work, save what the next owner must know, and return. The term continues until then.
    [[nodiscard]] bool draining() const noexcept { return draining_.load(std::memory_order_relaxed); }
    /// A token that is asked to stop when the shard is to be given up, or is lost. Its callbacks run on the thread of run(), or on the
    /// thread that signals losses: keep them short.
    [[nodiscard]] std::stop_token stop_token() const noexcept { return stop_.get_token(); }

    /// Throws lease_lost unless held().
    void ensure_held() const { guard_.ensure_held(); }

    /// Saves `text` for the shard's next owner; see lease_guard::save_checkpoint(). False: the term is over.
    bool save_checkpoint(std::string_view text) { return guard_.save_checkpoint(text); }
    /// The same, reported in `ec`: does not throw.
    bool save_checkpoint(std::string_view text, std::error_code& ec) noexcept { return guard_.save_checkpoint(text, ec); }
    /// What the last owner has saved; see lease_guard::load_checkpoint().
    [[nodiscard]] std::optional<std::string> load_checkpoint() const { return guard_.load_checkpoint(); }
    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] std::optional<std::string> load_checkpoint(std::error_code& ec) const noexcept { return guard_.load_checkpoint(ec); }

    /// The store of its lease.
    [[nodiscard]] auto* store() const noexcept { return guard_.store(); }
    /// The guard of its lease, for functions that take guards. A fence takes the term itself, too.
    [[nodiscard]] const lease_guard<Lease>& guard() const noexcept { return guard_; }

private:
    friend detail::shard_access;

    struct request_stop {
        std::stop_source source;
        void operator()() noexcept { source.request_stop(); }
    };

    shard_term(std::size_t index, std::size_t count, lease_guard<Lease> guard)
        : index_{index}, count_{count}, guard_{std::move(guard)}, token_{guard_.token()},
          on_loss_{guard_.stop_token(), request_stop{stop_}}
    {
    }

    const std::size_t index_;
    const std::size_t count_;
    std::stop_source stop_;
    std::atomic<bool> draining_{false};  // relaxed: a flag that publishes nothing else
    lease_guard<Lease> guard_;
    const fencing_token token_;
    std::stop_callback<request_stop> on_loss_;
};

namespace detail {

// What a shard_group needs of a term beyond its public interface.
struct shard_access {
    template <class Lease>
    static std::shared_ptr<shard_term<Lease>> make(std::size_t index, std::size_t count, lease_guard<Lease> guard)
    {
        return std::shared_ptr<shard_term<Lease>>{new shard_term<Lease>{index, count, std::move(guard)}};
    }

    template <class Lease>
    static void drain(shard_term<Lease>& term) noexcept
    {
        term.draining_.store(true, std::memory_order_relaxed);
        term.stop_.request_stop();
    }

    // Only once the work has ended.
    template <class Lease>
    static lease_guard<Lease> take_guard(shard_term<Lease>& term) noexcept
    {
        return std::move(term.guard_);
    }
};

}  // namespace detail

}  // namespace leasehold::inline v0

#endif
