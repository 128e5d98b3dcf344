// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_SITE_LIVE_DATABASE_HPP
#define LEASEHOLD_SITE_LIVE_DATABASE_HPP

#include <leasehold/embedded.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace live {

namespace lh = leasehold;
using namespace std::chrono_literals;

/// The clock of the page: it shows what the page has turned it to. All replicas and the database have the same.
class page_clock {
public:
    explicit page_clock(const lh::time_point& shown) noexcept : shown_{&shown} {}
    [[nodiscard]] lh::time_point now() const noexcept { return *shown_; }

private:
    const lh::time_point* shown_;
};

inline constexpr lh::static_text_limits short_texts{.name_bytes = 31, .owner_bytes = 15};
using lease_table = lh::basic_static_memory_store<64, page_clock, lh::spin_mutex, short_texts>;

/// A row as others see it.
struct row {
    lease_table::record_type lease;
    std::optional<std::string> handover_request{};
};

/// What all replicas share: the library's store, and the requests to hand over, for which that store has no room.
class database {
public:
    explicit database(const page_clock& clock) : leases{clock} {}

    [[nodiscard]] std::vector<row> rows(std::string_view prefix) const
    {
        std::vector<row> found;
        leases.for_each([&](const lease_table::record_type& each) {
            if (!each.name.view().starts_with(prefix)) return;
            const auto asked = requests_.find(each.token.value());
            found.push_back({each, asked == requests_.end() ? std::nullopt : std::optional{asked->second}});
        });
        return found;
    }

    /// Part of the term, as in every store: the next one does not have it.
    void request_handover(std::string_view name, std::string reason)
    {
        if (const auto record = leases.look_up(name)) requests_[record->token.value()] = std::move(reason);
    }

    lease_table leases;

private:
    std::map<std::int64_t, std::string> requests_;  // by token
};

/// The way from one replica to the database. Nothing comes through when it is cut, or when the process is dead.
class connection {
public:
    static constexpr std::size_t max_name_bytes = lease_table::max_name_bytes;
    static constexpr std::size_t max_owner_bytes = lease_table::max_owner_bytes;

    explicit connection(database& there) noexcept : there_{there} {}

    void cut(bool now) noexcept { cut_ = now; }
    [[nodiscard]] bool is_cut() const noexcept { return cut_; }
    [[nodiscard]] database* get() const noexcept { return cut_ ? nullptr : &there_; }

    lh::acquire_result try_acquire(std::string_view name, std::string_view owner, lh::duration ttl, lh::plain_error& ec) noexcept
    {
        return over(ec) ? there_.leases.try_acquire(name, owner, ttl, ec) : lh::acquire_result{};
    }
    bool renew(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration ttl, lh::plain_error& ec) noexcept
    {
        return over(ec) && there_.leases.renew(name, owner, token, ttl, ec);
    }
    bool release(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration min_hold_left,
                 lh::plain_error& ec) noexcept
    {
        return over(ec) && there_.leases.release(name, owner, token, min_hold_left, ec);
    }

private:
    bool over(lh::plain_error& ec) const noexcept
    {
        if (cut_) ec = lh::errc::store_timeout;
        return !cut_;
    }

    database& there_;
    bool cut_ = false;
};

}  // namespace live

#endif
