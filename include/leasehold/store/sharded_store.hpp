// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_SHARDED_STORE_HPP
#define LEASEHOLD_STORE_SHARDED_STORE_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/detail/shard_set.hpp>
#include <leasehold/detail/stable_hash.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_event.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store/guarded_shard.hpp>
#include <leasehold/store_diagnostics.hpp>
#include <leasehold/waiting/local_queue.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

/// The options of a sharded_store.
struct sharded_options {
    /// How long each database keeps the record of the set of shards for processes from which it no longer hears: 1 ms to 10 years.
    /// At least four times the longest ttl is used in any case. Longer: the other shards work for longer if a database is gone.
    /// Shorter: the set can be changed sooner.
    duration set_ttl = std::chrono::minutes{5};
};

/// Several stores, with each name in exactly one of them: for more leases than one database carries.
///
///     lh::sharded_store<lh::odbc_store> leases{{{"eu-1", first}, {"eu-2", second}}};
///     lh::basic_lease lease{leases.shard_of("shard-7"), "shard-7"};
///
/// A name's shard is found by rendezvous hashing (Thaler and Ravishankar, 1996): it is the shard whose id gives the largest
/// hash together with the name. So the databases need not know of each other, and a new shard takes its share of the names
/// equally from all others. All processes must name the same ids; their order doesn't matter.
///
/// **Two processes with different sets can't hold leases at the same time.** Two such processes would look for one lease in two
/// databases. So each database has a record of the set that is in use: a lease with the name "leasehold/shards", whose owner is the
/// set. Before a process grants or extends anything, it writes the record in all databases of its set, and it writes the record again
/// before that runs out; usually a grant or renewal takes no statement more. A process with another set gets
/// errc::invalid_terms, and a message that says which set is in use. **To change the set, stop all processes that use the old one,
/// and wait for set_ttl, or four times the longest ttl (permits and shared leases: twelve times) if that is longer.** The record
/// has to run out, since no process knows whether it was the last. A name's token stays behind in the old shard, so names that move
/// start with new tokens.
///
/// The price: all databases must be there when a process acquires its first lease; and if one is gone, the process can use the
/// other shards only while the record in it lasts (docs/scale.md has the figures). Then it gets the error of that database.
/// Applications that share a database but not the set use different tables there. Not covered: sets without a common database,
/// which never meet; leases that are made on a shard's own store; processes with a version of the library before this check.
///
/// It is a store itself. But a lease made on `shard_of(name)`, as above, is better than one on the whole: renewals go in
/// batches if the shard can do that, waiters are woken, and a database that hangs delays only the renewals of its own
/// leases, for as long as its record of the set need not be written again.
/// Thread safety: like the shards'.
/// Lifetime: the shards must outlive it, and it must outlive the leases made on shard_of(). Copies share what they have.
template <lease_store Store, lease_clock Clock = steady_clock>
class sharded_store {
public:
    /// One of the stores, and an id that is the same in every process. Don't use a host's name or address as the id: it may
    /// change.
    struct shard {
        std::string id;  ///< its name in every process
        Store& store;    ///< the store itself
    };

    /// A shard with its guard: see shard_of().
    using shard_type = guarded_shard<Store, Clock>;

    /// Throws std::system_error with std::errc::invalid_argument unless there is at least one shard and all ids are
    /// different and not empty, and with errc::invalid_terms if the options can't work; may throw std::bad_alloc. Does no I/O.
    /// The record of the set is timed by `clock`, which must run like those of the leases.
    explicit sharded_store(std::vector<shard> shards, sharded_options options = {}, Clock clock = {})
    {
        check(shards, options);
        std::vector<typename shard_type::set_type::member> members;
        for (const shard& each : shards) members.push_back({each.id, std::addressof(each.store)});
        const auto set = std::make_shared<typename shard_type::set_type>(std::move(members), options.set_ttl, std::move(clock));
        for (shard& each : shards) shards_.push_back({std::move(each.id), std::make_shared<shard_type>(set, each.store)});
    }

    /// The store that has the leases of this name. It lives as long as this sharded_store, or a copy of it.
    [[nodiscard]] shard_type& shard_of(std::string_view name) const noexcept
    {
        const auto weight = [name](const member& m) { return std::pair{detail::stable_hash(0, m.id, name), std::string_view{m.id}}; };
        return *std::ranges::max_element(shards_, {}, weight)->store;
    }

    /// See lease_store.
    acquire_result try_acquire(std::string_view name, std::string_view owner, duration ttl, std::error_code& ec)
    {
        return shard_of(name).try_acquire(name, owner, ttl, ec);
    }

    /// See batch_acquiring_store: one call for each shard that has some of the names, in the order of the shards, not of the requests.
    void acquire_many(std::span<const term_request> requests, std::size_t most, std::span<std::optional<acquire_result>> answers,
                      std::error_code& ec) requires batch_acquiring_store<Store>
    {
        ec.clear();
        for (const member& each : shards_) {
            std::error_code failed;
            most -= acquire_from(*each.store, requests, most, answers, failed);
            if (!ec) ec = failed;
        }
    }

    /// See lease_store.
    bool renew(std::string_view name, std::string_view owner, fencing_token token, duration ttl, std::error_code& ec)
    {
        return shard_of(name).renew(name, owner, token, ttl, ec);
    }

    /// See lease_store.
    bool release(std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left, std::error_code& ec)
    {
        return shard_of(name).release(name, owner, token, min_hold_left, ec);
    }

    /// See handover_store.
    bool publish(std::string_view name, std::string_view owner, fencing_token token, std::string_view data, std::error_code& ec)
        requires handover_store<Store>
    {
        return shard_of(name).publish(name, owner, token, data, ec);
    }

    /// See handover_store.
    bool request_handover(std::string_view name, std::string_view reason, std::error_code& ec)
        requires handover_store<Store>
    {
        return shard_of(name).request_handover(name, reason, ec);
    }

    /// See handover_store.
    std::optional<std::string> handover_requested(std::string_view name, std::string_view owner, fencing_token token, std::error_code& ec)
        requires handover_store<Store>
    {
        return shard_of(name).handover_requested(name, owner, token, ec);
    }

    /// See lease_store.
    std::optional<lease_record> inspect(std::string_view name, std::error_code& ec) const { return shard_of(name).inspect(name, ec); }

    /// The records of all held names that begin with `prefix` in all shards, sorted by name, without those of the set. Empty after
    /// an error, since a list without the leases of one shard would look complete.
    [[nodiscard]] std::vector<lease_record> list(std::string_view prefix, std::error_code& ec) const
        requires requires(Store& s) { s.list(prefix, ec); }
    {
        std::vector<lease_record> all;
        ec.clear();
        for (auto each = shards_.begin(); each != shards_.end(); ++each) {
            Store& store = each->store->underlying();
            const auto is_same = [&store](const member& other) {
                return std::addressof(other.store->underlying()) == std::addressof(store);
            };
            if (std::any_of(shards_.begin(), each, is_same)) continue;
            auto some = store.list(prefix, ec);
            if (ec) return {};
            std::ranges::move(some, std::back_inserter(all));
        }
        std::erase_if(all, [](const lease_record& each) { return each.name == detail::shard_set_name; });
        std::ranges::sort(all, {}, &lease_record::name);
        return all;
    }

    /// See notifying_store.
    [[nodiscard]] auto enqueue(std::string_view name, waker& to_wake)
        requires notifying_store<Store>
    {
        return shard_of(name).enqueue(name, to_wake);
    }
    /// See notifying_store.
    acquire_result try_acquire(queue_ticket auto& ticket, std::string_view owner, duration ttl, std::error_code& ec)
        requires notifying_store<Store>
    {
        return shard_of(ticket.name()).try_acquire(ticket, owner, ttl, ec);
    }

    /// See polled_store.
    [[nodiscard]] poll_pauses pauses() const noexcept
        requires polled_store<Store>
    {
        return shards_.front().store->pauses();
    }

    /// See waiting::queueing_store: the names of all shards use the queue of the first shard, which tells them apart.
    [[nodiscard]] waiting::local_queue& local_waiters() noexcept
        requires waiting::queueing_store<Store>
    {
        return shards_.front().store->local_waiters();
    }

    /// See observed_store: the shard that has the name is told.
    void observe(const lease_event& event) noexcept
        requires observed_store<Store>
    {
        shard_of(event.name).observe(event);
    }

    /// Details of the calling thread's last failed call, if it was in a shard: see diagnosing_store.
    [[nodiscard]] store_diagnostics diagnostics() const
    {
        for (const member& each : shards_)
            if (each.store->failed_last()) return each.store->diagnostics();
        return {};
    }

private:
    struct member {
        std::string id;
        std::shared_ptr<shard_type> store;
    };

    static void check(const std::vector<shard>& shards, const sharded_options& options)
    {
        const auto refuse = [](const char* why) {
            detail::throw_exception(std::system_error{std::make_error_code(std::errc::invalid_argument), why});
        };
        if (shards.empty()) refuse("a sharded_store needs at least one shard");
        for (auto each = shards.begin(); each != shards.end(); ++each) {
            if (each->id.empty()) refuse("a shard's id must not be empty");
            if (std::any_of(shards.begin(), each, [&](const shard& other) { return other.id == each->id; }))
                refuse("two shards have the same id");
        }
        if (options.set_ttl < min_ttl || options.set_ttl > max_ttl)
            detail::raise_invalid(errc::invalid_terms, "set_ttl must be 1 ms to 10 years (3650 days)");
    }

    // How many were granted.
    std::size_t acquire_from(shard_type& store, std::span<const term_request> requests, std::size_t most,
                             std::span<std::optional<acquire_result>> answers, std::error_code& ec)
    {
        std::vector<std::size_t> here;
        std::vector<term_request> asked;
        for (std::size_t i = 0; i < requests.size(); ++i) {
            if (std::addressof(shard_of(requests[i].name)) != std::addressof(store)) continue;
            here.push_back(i);
            asked.push_back(requests[i]);
        }
        std::vector<std::optional<acquire_result>> said(asked.size());
        if (!asked.empty()) store.acquire_many(asked, most, said, ec);
        std::size_t granted = 0;
        for (std::size_t i = 0; i < here.size(); ++i) {
            if (said[i] && said[i]->granted()) ++granted;
            answers[here[i]] = said[i];
        }
        return granted;
    }

    std::vector<member> shards_;
};

}  // namespace leasehold::inline v0

#endif
