// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_SHARD_SET_HPP
#define LEASEHOLD_DETAIL_SHARD_SET_HPP

#include <leasehold/clock/concept.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/detail/shard_set_machine.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store_diagnostics.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::inline v0::detail {

// The name of the lease in each shard's database whose owner is the set of shards.
inline constexpr std::string_view shard_set_name = "leasehold/shards";

// Keeps two processes with different sets of shards from holding leases at the same time.
//
// Each database has a record of the set: a lease of a fixed name. Its owner is the text of the set, the same in all processes that
// have the same set. So each of them is granted it again at once, which extends it; to a process with another set it is busy.
// A statement that grants or extends something by a ttl T is sent only while the records in all databases of the set are known to
// last for 2 T more. They are known by this process's clock, from before the statement that wrote them, less a tenth.
//
// Why two processes P and Q, whose sets differ but share the database C, can't both believe in a term at an instant x, in whichever
// databases they look for its name. P's deadline is that of a statement with some ttl T, and was counted from before the check of
// that statement: so x is earlier than the check + T, and P's record in C, which lasts until the check + 2 T or longer, is
// unexpired at x. For the same reason so is Q's. But both records are the lease of one name in C, with different owners, and
// a store never has two unexpired terms of one name. The condition is that of any lease: the clocks of P, of Q and of C run at nearly
// the same rate.
// The rows in the two databases don't overlap either, unless a statement is carried out later than T after its check. Such a
// statement may leave an unexpired row, but nobody believes in it.
//
// Not covered: sets without a common database, which can't meet; records that an operator ended while processes of that set ran;
// processes without this check.
// Thread safety: all functions from any thread. Lifetime: the stores must outlive it.
template <lease_store Store, lease_clock Clock>
class shard_set {
public:
    struct member {
        std::string id;
        Store* store;
    };

    // The ids must differ. Shards with the same store object are in one database. May throw std::bad_alloc.
    shard_set(std::vector<member> members, duration least_ttl, Clock clock)
        : clock_{std::move(clock)}, machine_{members.size(), least_ttl}
    {
        // All processes take the databases in the same order: of two sets that begin at once, one gets the first that they share,
        // and the other stops there. Otherwise each could keep the other from ever starting.
        std::ranges::sort(members, {}, &member::id);
        std::vector<std::string> all;
        for (const member& each : members) all.push_back(each.id);
        for (const member& each : members) {
            const std::size_t i = number_of(*each.store);
            if (i == databases_.size()) databases_.emplace_back(database{each.store});
            databases_[i].ids.push_back(each.id);
        }
        for (database& each : databases_) each.owner = shard_set_text(each.ids, all);
        machine_ = shard_set_machine{databases_.size(), least_ttl};
    }
    shard_set(const shard_set&) = delete;
    shard_set& operator=(const shard_set&) = delete;

    [[nodiscard]] const Clock& clock() const noexcept { return clock_; }

    // Which database this is.
    [[nodiscard]] std::size_t number_of(const Store& store) const noexcept
    {
        const auto is_it = [&store](const database& each) { return each.store == std::addressof(store); };
        return static_cast<std::size_t>(std::ranges::find_if(databases_, is_it) - databases_.begin());
    }

    // Whether something may be granted or extended by `ttl` now. Writes the records that are too old. False: there is an error, and
    // `why` has its details. May throw std::bad_alloc.
    [[nodiscard]] bool admits(duration ttl, std::error_code& ec, store_diagnostics& why)
    {
        ec.clear();
        if (covers_all(ttl)) return true;
        for (std::size_t i = 0; i < databases_.size(); ++i)
            if (!covers(i, ttl) && !write(i, ttl, ec, why)) return false;
        if (covers_all(ttl)) return true;
        ec = errc::store_timeout;
        why.advice = "confirming the set of shards in all databases took longer than the record of the set lasts";
        return false;
    }

    // After a call to database `called` that succeeded: writes the records that will soon be too old. A failure changes nothing.
    void write_ahead(std::size_t called, duration ttl) noexcept
    {
        for (std::size_t i = 0; i < databases_.size(); ++i) {
            {
                const std::lock_guard lock{mutex_};
                if (!machine_.begin_ahead(i, called, clock_.now(), ttl)) continue;
            }
            std::error_code ec;
            catch_into(ec, [&] {
                store_diagnostics ignored;
                write(i, ttl, ec, ignored);
            });
        }
    }

private:
    struct database {
        Store* store;
        std::vector<std::string> ids{};
        std::string owner{};  // of the record
    };

    static constexpr int most_attempts = 3;

    [[nodiscard]] bool covers_all(duration ttl)
    {
        const std::lock_guard lock{mutex_};
        return machine_.all_cover(clock_.now(), ttl);
    }

    [[nodiscard]] bool covers(std::size_t i, duration ttl)
    {
        const std::lock_guard lock{mutex_};
        return machine_.covers(i, clock_.now(), ttl);
    }

    bool write(std::size_t i, duration ttl, std::error_code& ec, store_diagnostics& why)
    {
        const database& in = databases_[i];
        const duration record_ttl = machine_.record_ttl(ttl);
        for (int attempt = 0; attempt < most_attempts; ++attempt) {
            const time_point sent = clock_.now();
            const acquire_result said = in.store->try_acquire(shard_set_name, in.owner, record_ttl, ec);
            if (ec) return failed(in, why);
            if (said.granted()) {
                const std::lock_guard lock{mutex_};
                machine_.written(i, sent, ttl);
                return true;
            }
            const std::optional<lease_record> other = in.store->inspect(shard_set_name, ec);
            if (ec) return failed(in, why);
            if (other && other->owner != in.owner) {
                ec = errc::invalid_terms;
                why.advice = disagreement(in, *other);
                return false;
            }
            // Another process of this set has just written the record, or the other set's has just run out.
        }
        ec = errc::store_conflict;
        return failed(in, why);
    }

    // False.
    static bool failed(const database& in, store_diagnostics& why)
    {
        if constexpr (diagnosing_store<Store>) why = in.store->diagnostics();
        std::string advice = "the set of shards must be confirmed in the database of '" + printable(in.ids.front()) +
                             "' before anything is granted or extended in any shard";
        if (!why.advice.empty()) advice.append(": ").append(why.advice);
        why.advice = std::move(advice);
        return false;
    }

    static std::string disagreement(const database& in, const lease_record& other)
    {
        return "this process has the shards '" + printable(in.owner) + "', but the lease '" + std::string{shard_set_name} +
               "' in the database of '" + printable(in.ids.front()) + "' says that '" + printable(other.owner) +
               "' are in use: all processes must have the same shards, and each shard's id must stand for the same database. Correct this "
               "process; or stop all processes that have the other shards, and wait " +
               std::to_string(std::chrono::ceil<std::chrono::seconds>(other.remaining).count()) +
               " s until that lease has run out. Once they are all stopped, 'leasehold release " + std::string{shard_set_name} +
               " --force' ends it at once";
    }

    const Clock clock_;
    std::vector<database> databases_;
    std::mutex mutex_;  // guards machine_; never held across I/O
    shard_set_machine machine_;
};

}  // namespace leasehold::inline v0::detail

#endif
