// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_UNIT_STORE_GUARDED_SHARD_SCENE_HPP
#define LEASEHOLD_TESTS_UNIT_STORE_GUARDED_SHARD_SCENE_HPP

#include <leasehold/basic_lease.hpp>
#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/renew_policy/no_renewal.hpp>
#include <leasehold/store/sharded_store.hpp>

#include <support/scripted_batching_store.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <system_error>

/// Processes with sets of two or three scripted databases.
namespace leasehold_test::guarded_shards {

using database = scripted_batching_store;
using process = leasehold::sharded_store<database, leasehold::manual_clock>;

inline constexpr std::string_view record = "leasehold/shards";
inline constexpr std::chrono::seconds ttl{30};

struct scene {
    leasehold::manual_clock clock;
    database a{clock}, b{clock}, c{clock};
    std::error_code ec;

    process with_two() { return process{{{"a", a}, {"b", b}}, {}, clock}; }
    process with_three() { return process{{{"c", c}, {"b", b}, {"a", a}}, {}, clock}; }

    // A name that this process has in this database.
    static std::string name_in(const process& of, const database& wanted, const std::string& prefix = "name-")
    {
        for (int i = 0;; ++i)
            if (std::string name = prefix + std::to_string(i); &of.shard_of(name).underlying() == &wanted) return name;
    }

    bool grants(process& to, std::string_view name) { return to.try_acquire(name, "owner", ttl, ec).granted() && !ec; }

    // Calls of this kind in all databases.
    int sent(operation op) const { return a.sent(op) + b.sent(op) + c.sent(op); }

    void outage(database& of, fate f)
    {
        for (const operation op : {operation::try_acquire, operation::renew, operation::inspect}) of.always(op, f);
    }
};

// What the store says of a refusal.
inline std::string words_of(process& by, std::string_view name)
{
    leasehold::basic_lease lease{by, name, ttl, leasehold::manual_clock{}, leasehold::no_renewal{}};
    try {
        static_cast<void>(lease.try_acquire());
    }
    catch (const leasehold::store_error& e) {
        return e.what();
    }
    return {};
}

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace leasehold_test::guarded_shards

#endif
