// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_SQL_TABLE_HPP
#define LEASEHOLD_TESTS_SIMULATION_SQL_TABLE_HPP

#include "message.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace sim {

// What the statements of the dialects (include/leasehold/odbc/dialect) do to the lease table, each in one atomic step, in
// microseconds of the server's clock. Which statement comes when is for the library's flows to decide.
//
// As one node of a cluster may be, it can be behind by a change of a row that is younger than `lag`: reads then show what was,
// and what is written is refused, as certification does; but only if it changes the row, for else nothing is certified.
class sql_table {
public:
    // blind: a take-over compares nothing, as it must: for a test of what finds that.
    explicit sql_table(std::int64_t lag, bool blind) : lag_{lag}, blind_{blind} {}

    // Whether a node that lags does not have the last change of this row yet.
    [[nodiscard]] bool may_lag(int name, std::int64_t now) const noexcept
    {
        return lag_ > 0 && now - changed_at_[static_cast<std::size_t>(name)] < lag_;
    }

    // `lags`: the node that gets it does not have the last change of the row.
    reply execute(const request& asked, std::int64_t now, bool lags)
    {
        const auto name = static_cast<std::size_t>(asked.name);
        const row before = rows_[name];
        if (lags) {
            row past = past_[name];
            const reply said = carry_out(past, asked, now);
            if (past == past_[name]) return said;
            reply refused;
            refused.failed = fault::conflict;
            return refused;
        }
        const reply said = carry_out(rows_[name], asked, now);
        if (rows_[name] != before) {
            past_[name] = before;
            changed_at_[name] = now;
        }
        return said;
    }

    // Whether it would be the next term of an unexpired row of another owner, which is told as busy without a lock.
    [[nodiscard]] bool is_busy_for(const request& asked, std::int64_t now) const
    {
        const row& r = rows_[static_cast<std::size_t>(asked.name)];
        return live(r, now) && r.owner != asked.owner;
    }

    // The latest term, over or not.
    [[nodiscard]] bool is_latest_term(int name, int owner, std::int64_t token) const
    {
        const row& r = rows_[static_cast<std::size_t>(name)];
        return r.owner == owner && r.token == token;
    }
    [[nodiscard]] std::int64_t latest_token(int name) const { return rows_[static_cast<std::size_t>(name)].token; }
    [[nodiscard]] bool was_released(int name) const { return rows_[static_cast<std::size_t>(name)].expires == long_ago; }

    [[nodiscard]] row_view look(int name, std::int64_t now) const
    {
        const row& r = rows_[static_cast<std::size_t>(name)];
        if (!live(r, now)) return {};
        return {true, r.owner, r.token, r.expires * 1000};
    }

private:
    struct row {
        int owner = nobody;
        std::int64_t token = 0;  // 0: there is no such row
        std::int64_t expires = 0;

        friend bool operator==(const row&, const row&) = default;
    };
    static constexpr std::int64_t long_ago = 0;

    reply carry_out(row& r, const request& asked, std::int64_t now) const
    {
        const std::int64_t later = now + (asked.time + 999) / 1000;
        reply said;
        switch (asked.which) {
        case statement::read: read(r, asked, now, said); break;
        case statement::inspect:
            said.found = live(r, now);
            said.owner = r.owner;
            said.number(column::token) = r.token;
            said.number(column::remaining) = r.expires - now;
            break;
        case statement::insert:
            if (r.token != 0)
                said.failed = fault::duplicate_key;
            else
                said.rows = set(r, {asked.owner, 1, later});
            break;
        case statement::take:
            if (blind_ || (r.token == asked.token && (!live(r, now) || r.owner == asked.owner)))
                said.rows = set(r, {asked.owner, r.token + 1, std::max(r.expires, later)});
            break;
        case statement::renew:
            if (is_live_term(r, asked, now)) {
                r.expires = std::max(r.expires + 1, later);
                said.rows = 1;
            }
            break;
        case statement::release:
            if (is_live_term(r, asked, now))
                said.rows = asked.time > 0 ? set(r, {nobody, r.token, later}) : set(r, {r.owner, r.token, long_ago});
            break;
        case statement::grant: grant(r, asked, now, later, said); break;
        case statement::write_nothing: break;
        default: said.failed = fault::failure;
        }
        return said;
    }

    static bool live(const row& r, std::int64_t now) { return r.token != 0 && r.expires > now; }
    static bool is_live_term(const row& r, const request& asked, std::int64_t now)
    {
        return live(r, now) && r.owner == asked.owner && r.token == asked.token;
    }
    static std::int64_t set(row& r, const row& to)
    {
        r = to;
        return 1;
    }

    static void read(const row& r, const request& asked, std::int64_t now, reply& said)
    {
        said.found = r.token != 0;
        said.number(column::token) = r.token;
        said.number(column::whose) = r.owner == nobody ? 2 : r.owner == asked.owner ? 1 : 0;
        said.number(column::live) = live(r, now);
        said.number(column::remaining) = r.expires - now;
        said.number(column::released) = r.expires == long_ago;
    }

    // As PostgreSQL's: granted, token, remaining, fresh.
    static void grant(row& r, const request& asked, std::int64_t now, std::int64_t later, reply& said)
    {
        said.found = true;
        if (live(r, now) && r.owner != asked.owner) {
            said.number(column::token) = r.token;
            said.number(column::remaining) = r.expires - now;
            return;
        }
        const bool fresh = !live(r, now);
        r = {asked.owner, r.token + 1, std::max(r.expires, later)};
        said.number(column::granted) = 1;
        said.number(column::token) = r.token;
        said.number(column::fresh) = fresh;
    }

    std::int64_t lag_;
    bool blind_;
    std::array<row, lease_names.size()> rows_{}, past_{};
    std::array<std::int64_t, lease_names.size()> changed_at_{};
};

}  // namespace sim

#endif
