// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_SITE_LIVE_REPLICA_HPP
#define LEASEHOLD_SITE_LIVE_REPLICA_HPP

#include "database.hpp"
#include "ranges_of_old_libcxx.hpp"

#include <leasehold/detail/election_machine.hpp>
#include <leasehold/detail/stable_hash.hpp>
#include <leasehold/group/group_texts.hpp>
#include <leasehold/group/shard_machine.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace live {

inline constexpr std::size_t shard_count = 6;
inline constexpr lh::lease_terms terms{.ttl = 4s, .safety_margin = 500ms};
inline constexpr lh::duration poll_pause = 250ms, look_pause = 500ms, drain_time = 400ms, write_pause = 1s;

using lease_type = lh::basic_static_lease<connection, page_clock, lh::static_owner_id, lh::renew_at_fraction>;
using guard_type = lease_type::guard_type;

/// What happens in a replica, for the picture.
enum class happening : std::uint8_t { started, stopped, killed, frozen, thawed, cut, joined, acquired, lost, wrote, refused, took, gave };

/// The file that the holder writes. It remembers the largest token, and refuses smaller ones: that is all a fence has to do.
class fenced_file {
public:
    bool write(lh::fencing_token token) noexcept
    {
        const bool taken = newest_ <= token;
        if (taken) newest_ = token;
        ++(taken ? written_ : refused_);
        return taken;
    }

    [[nodiscard]] lh::fencing_token newest() const noexcept { return newest_; }
    [[nodiscard]] int written() const noexcept { return written_; }
    [[nodiscard]] int refused() const noexcept { return refused_; }

private:
    lh::fencing_token newest_;
    int written_ = 0;
    int refused_ = 0;
};

/// One process: it wants the lease "report", and its part of the shards of "orders". step() is one turn of its loop.
class replica {
public:
    using teller = std::function<void(happening, std::int64_t)>;  // with a token, or the number of a shard

    replica(database& there, fenced_file& file, const page_clock& clock, std::string owner, bool cut, teller tell)
        : owner_{std::move(owner)}, clock_{clock}, file_{file}, tell_{std::move(tell)}, connection_{there},
          report_{connection_, "report"}, member_{connection_, lh::group::members_of("orders") + owner_},
          election_{{.retry_min = poll_pause, .retry_max = 1s, .cooldown = 1s}, lh::detail::stable_hash(1, owner_, {})}
    {
        connection_.cut(cut);
        // Replicas do not start at the same instant.
        attempt_at_ = clock_.now() + static_cast<lh::duration::rep>(election_seed() % 5) * 50ms;
        look_at_ = attempt_at_;
        report_.lease.emplace(connection_, report_.name, terms, clock_, lh::static_owner_id{owner_.c_str()}, every_third);
        member_.lease.emplace(connection_, member_.name, terms, clock_, lh::static_owner_id{owner_.c_str()}, every_third);
        for (std::size_t i = 0; i < shard_count; ++i) {
            shards_[i].name = lh::group::shard_name("orders", i);
            shards_[i].lease.emplace(connection_, shards_[i].name, terms, clock_, lh::static_owner_id{owner_.c_str()}, every_third);
        }
    }
    replica(const replica&) = delete;
    replica& operator=(const replica&) = delete;
    ~replica() = default;  // its guards release

    void step()
    {
        if (frozen_) return;
        keep_report();
        keep_shards();
        if (clock_.now() >= look_at_) look();
    }

    void cut(bool now) noexcept { connection_.cut(now); }
    [[nodiscard]] bool is_cut() const noexcept { return connection_.is_cut(); }
    [[nodiscard]] bool is_frozen() const noexcept { return frozen_; }

    /// The worst instant: it has just seen that it holds the lease, and is about to write.
    void freeze()
    {
        frozen_ = true;
        if (report_.guard.held()) about_to_write_ = report_.guard.token();
    }
    void thaw()
    {
        frozen_ = false;
        if (about_to_write_) write(*about_to_write_);
        about_to_write_.reset();
    }
    /// From now on a dead process: what its destructor sends does not arrive.
    void kill() noexcept { connection_.cut(true); }

    [[nodiscard]] const std::string& owner() const noexcept { return owner_; }
    [[nodiscard]] const guard_type& report() const noexcept { return report_.guard; }
    [[nodiscard]] const guard_type& shard(std::size_t i) const noexcept { return shards_[i].guard; }
    [[nodiscard]] bool drains(std::size_t i) const
    {
        return machine_.state_of(i) == lh::group::shard_machine::state::draining;
    }

private:
    struct kept_lease {
        kept_lease() = default;
        kept_lease(connection&, std::string lease_name) : name{std::move(lease_name)} {}

        std::string name;
        std::optional<lease_type> lease;
        guard_type guard;  // goes before its lease
    };

    [[nodiscard]] std::uint64_t election_seed() const noexcept { return lh::detail::stable_hash(0, owner_, owner_); }

    void keep_report()
    {
        const lh::time_point now = clock_.now();
        lh::plain_error ec;
        if (!report_.guard.empty()) {
            const lh::fencing_token token = report_.guard.token();
            if (report_.guard.renew_if_due(ec)) return work();
            report_.guard.release(ec);
            election_.stepped_down(now, lh::step_down_reason::lost);
            tell_(happening::lost, token.value());
        }
        if (now < attempt_at_ || election_.next(now, false).action != lh::detail::election_action::campaign) return;
        attempt_at_ = now + poll_pause;
        report_.guard = report_.lease->try_acquire(ec);
        if (ec) return election_.failed(now);
        if (!report_.guard) return election_.busy();
        election_.elected();
        tell_(happening::acquired, report_.guard.token().value());
        write_at_ = now;
        work();
    }

    void work()
    {
        if (clock_.now() < write_at_) return;
        write_at_ = clock_.now() + write_pause;
        if (report_.guard.held()) write(report_.guard.token());
    }

    void write(lh::fencing_token token)
    {
        const bool taken = file_.write(token);
        tell_(taken ? happening::wrote : happening::refused, token.value());
    }

    void keep_shards()
    {
        const lh::time_point now = clock_.now();
        lh::plain_error ec;
        if (!member_.guard.empty()) member_.guard.renew_if_due(ec);
        for (const std::size_t i : machine_.mine()) {
            if (!shards_[i].guard.renew_if_due(ec)) {  // lost: the work has to end before anything else
                machine_.give_up(i, now);
                end_work(i);
            } else if (machine_.state_of(i) == lh::group::shard_machine::state::draining && now >= drained_at_[i]) {
                end_work(i);
            }
        }
    }

    void end_work(std::size_t i)
    {
        lh::plain_error ec;
        machine_.ended(i, false, clock_.now());
        shards_[i].guard.release(ec);
        machine_.over(i);
        tell_(happening::gave, static_cast<std::int64_t>(i));
    }

    // What shard_group does at each look, on a store without a heap.
    void look()
    {
        const lh::time_point now = clock_.now();
        look_at_ = now + look_pause;
        lh::plain_error ec;
        if (!member_.guard) member_.guard = member_.lease->try_acquire(ec);
        database* const there = connection_.get();
        if (!there) return;
        const std::vector<row> rows = there->rows(lh::group::prefix_of("orders"));
        std::vector<std::string_view> owners;
        const lh::group::shard_look seen = look_of(rows, owners);
        const lh::group::shard_actions todo = machine_.looked(seen, now);
        for (const std::size_t i : todo.drain) drained_at_[i] = now + drain_time;
        for (const std::size_t i : todo.take) take(i);
        for (const lh::group::shard_ask& each : todo.ask)
            there->request_handover(shards_[each.shard].name, lh::group::request_text({owner_, each.after}));
    }

    void take(std::size_t i)
    {
        lh::plain_error ec;
        shards_[i].guard = shards_[i].lease->try_acquire(ec);
        if (!shards_[i].guard) return;
        machine_.taken(i, shards_[i].guard.token().value());
        tell_(happening::took, static_cast<std::int64_t>(i));
    }

    [[nodiscard]] lh::group::shard_look look_of(const std::vector<row>& rows, std::vector<std::string_view>& owners) const
    {
        lh::group::shard_look seen;
        seen.me = lh::group::nobody;
        const auto add = [&](std::string_view owner) {
            if (owner == owner_) seen.me = seen.members.size();
            owners.push_back(owner);
            seen.members.push_back({.order = lh::detail::stable_hash(0, owner, owner)});
        };
        const std::string members = lh::group::members_of("orders");
        for (const row& each : rows)
            if (each.lease.name.view().starts_with(members) && !each.lease.owner.view().empty()) add(each.lease.owner.view());
        if (seen.me == lh::group::nobody) add(owner_);
        const auto index_of = [&](std::string_view owner) {
            const auto found = std::find(owners.begin(), owners.end(), owner);
            return found == owners.end() ? lh::group::nobody : static_cast<std::size_t>(found - owners.begin());
        };
        for (const row& each : rows) {
            const auto shard = lh::group::shard_in(each.lease.name.view(), lh::group::prefix_of("orders"));
            if (!shard || *shard >= shard_count) continue;
            lh::group::seen_row found{*shard, each.lease.token.value(), index_of(each.lease.owner.view()), {}};
            if (each.handover_request) {
                const auto by = lh::group::request_in(*each.handover_request);
                if (by && index_of(by->id) != lh::group::nobody) found.request = lh::group::shard_request{index_of(by->id), by->after};
            }
            seen.rows.push_back(found);
        }
        return seen;
    }

    static constexpr lh::renew_at_fraction every_third{1, 3};

    const std::string owner_;
    const page_clock clock_;
    fenced_file& file_;
    const teller tell_;
    connection connection_;
    kept_lease report_;
    kept_lease member_;
    std::array<kept_lease, shard_count> shards_;
    std::array<lh::time_point, shard_count> drained_at_{};
    lh::detail::election_machine election_;
    lh::group::shard_machine machine_{shard_count, {.patience = 2 * look_pause}};
    lh::time_point attempt_at_;
    lh::time_point look_at_;
    lh::time_point write_at_;
    std::optional<lh::fencing_token> about_to_write_;
    bool frozen_ = false;
};

}  // namespace live

#endif
