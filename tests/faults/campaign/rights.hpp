// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_RIGHTS_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_RIGHTS_HPP

#include "contention.hpp"
#include "noting_store.hpp"
#include "records.hpp"

#include <leasehold/lease_semaphore.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <leasehold/semaphore_options.hpp>
#include <leasehold/shared_lease.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace campaign {

// The owner, like the name, is words of messages.
struct worded_owner_id {
    std::string words;

    [[nodiscard]] std::string id() const { return words + "/" + leasehold::random_owner_id{}.id(); }
};

using store_type = noting_store<leasehold::odbc_store>;
using lease_type = leasehold::basic_lease<store_type, leasehold::steady_clock, worded_owner_id>;

inline worded_owner_id owner_for(std::string_view name) { return {std::string{name.substr(0, 100)}}; }

/// How a contender asks once: "acquire", "acquire_for", or anything else for a single attempt.
template <class Right>
auto asked_of(Right& right, std::string_view mode, std::error_code& ec, const std::stop_token& stop)
{
    constexpr auto at_most = std::chrono::milliseconds{700};
    if (mode == "acquire") return right.acquire(stop, ec);
    if (mode == "acquire_for") return right.try_acquire_for(at_most, stop, ec);
    return right.try_acquire(ec);
}

// What contenders contend for. Each has `attempt(mode, ec, stop, random, use)`, which calls use(guard, number, weight) with what it was
// granted: `number` tells the terms of this process apart, `weight` says how much of the right it is (see event::won).

/// One lease. Its terms are told apart by their tokens.
class single_lease {
public:
    single_lease(store_type& store, const std::string& name) : lease_{store, name, terms, owner_for(name)} {}

    [[nodiscard]] lease_type& lease() noexcept { return lease_; }

    template <class Use>
    void attempt(std::string_view mode, std::error_code& ec, const std::stop_token& stop, std::minstd_rand&, Use use)
    {
        if (auto guard = asked_of(lease_, mode, ec, stop)) use(guard, guard.token().value(), "-");
    }

private:
    lease_type lease_;
};

/// One lease that operators hold closed now and then. Who has it hands it over when asked to.
class lease_held_closed : public single_lease {
public:
    using single_lease::single_lease;

    static constexpr bool hands_over = true;
};

/// Why operators hold the contenders' lease closed.
inline std::string reason_of_hold(std::string_view name) { return owner_for(name).words; }

/// A permit of a semaphore.
class permit {
public:
    permit(store_type& store, const std::string& name) : permits_{store, name, permits_at_once, terms, owner_for(name)} {}

    template <class Use>
    void attempt(std::string_view mode, std::error_code& ec, const std::stop_token& stop, std::minstd_rand&, Use use)
    {
        if (auto guard = asked_of(permits_, mode, ec, stop)) use(guard, ++terms_, "1");
    }

private:
    leasehold::lease_semaphore<store_type, leasehold::steady_clock, worded_owner_id> permits_;
    std::int64_t terms_ = 0;
};

/// A permit of a semaphore whose count the contenders change while others hold some.
class permit_of_a_changing_count {
public:
    permit_of_a_changing_count(store_type& store, const std::string& name)
        : permits_{store, name, permits_at_once, terms, leasehold::semaphore_options{.on_other_count = leasehold::on_other_count::follow},
                   owner_for(name)}
    {
    }

    template <class Use>
    void attempt(std::string_view mode, std::error_code& ec, const std::stop_token& stop, std::minstd_rand& random, Use use)
    {
        if (random() % 20 == 0) permits_.resize(1 + random() % most_permits_at_once, ec);
        if (auto guard = asked_of(permits_, mode, ec, stop)) use(guard, ++terms_, "1");
    }

private:
    leasehold::lease_semaphore<store_type, leasehold::steady_clock, worded_owner_id> permits_;
    std::int64_t terms_ = 0;
};

/// A reader's share of a shared lease, or, every third time, a writer's right.
class shared_right {
    using shared_type = leasehold::shared_lease<store_type, leasehold::steady_clock, worded_owner_id>;

    struct reader {
        shared_type& of;

        auto acquire(const std::stop_token& stop, std::error_code& ec) { return of.acquire_shared(stop, ec); }
        auto try_acquire(std::error_code& ec) { return of.try_acquire_shared(ec); }
        auto try_acquire_for(std::chrono::milliseconds at_most, const std::stop_token& stop, std::error_code& ec)
        {
            return of.try_acquire_shared_for(at_most, stop, ec);
        }
    };

public:
    shared_right(store_type& store, const std::string& name)
        : shared_{store, name, terms, owner_for(name), leasehold::reader_limit{readers_at_once}}
    {
    }

    template <class Use>
    void attempt(std::string_view mode, std::error_code& ec, const std::stop_token& stop, std::minstd_rand& random, Use use)
    {
        if (random() % 3 == 0) {
            if (auto guard = asked_of(shared_, mode, ec, stop)) use(guard, ++terms_, "-");
            return;
        }
        reader asks{shared_};
        if (auto guard = asked_of(asks, mode, ec, stop)) use(guard, ++terms_, "1");
    }

private:
    shared_type shared_;
    std::int64_t terms_ = 0;
};

/// All leases of a set, or none. Each attempt names them in another order.
class whole_set {
public:
    whole_set(store_type& store, const std::string& name)
    {
        for (std::size_t i = 0; i < leases_in_a_set; ++i)
            leases_.emplace_back(store, name + "/" + std::to_string(i), terms, owner_for(name));
    }

    template <class Use>
    void attempt(std::string_view, std::error_code& ec, const std::stop_token&, std::minstd_rand& random, Use use)
    {
        std::ranges::shuffle(leases_, random);
        if (auto guard = leasehold::try_acquire_all(leases_, ec)) use(guard, ++terms_, "-");
    }

private:
    std::vector<lease_type> leases_;
    std::int64_t terms_ = 0;
};

}  // namespace campaign

#endif
