// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_TRANSACTIONS_HPP
#define LEASEHOLD_TESTS_SIMULATION_TRANSACTIONS_HPP

#include "message.hpp"
#include "process.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace sim {

// The users' own transactions, as the server keeps them: one to a connection, on which nothing is done after its end. A fence keeps the
// row's next term away, a save in it all who write the row, until it ends.
class transactions {
public:
    struct transaction {
        int name = 0;
        bool fences = false;
        std::optional<std::pair<std::int64_t, int>> saved{};  // token and text
        std::vector<std::int64_t> work{};                     // of which fires
        std::uint64_t statements = 0;
        instant last = 0;  // statement
    };

    // On its connection; null: it has ended.
    [[nodiscard]] transaction* of(int connection, int name)
    {
        if (ended_.contains(connection)) return nullptr;
        transaction& found = open_[connection];
        found.name = name;
        return &found;
    }

    // What is committed now; empty: it had ended before.
    std::optional<transaction> end(int connection)
    {
        const auto found = open_.find(connection);
        if (found == open_.end()) return std::nullopt;
        transaction ended = std::move(found->second);
        open_.erase(found);
        ended_.insert(connection);
        return ended;
    }

    void end_all()
    {
        for (const auto& [connection, each] : open_) ended_.insert(connection);
        open_.clear();
    }

    // Null: it is not open.
    [[nodiscard]] const transaction* find(int connection) const
    {
        const auto found = open_.find(connection);
        return found == open_.end() ? nullptr : &found->second;
    }

    // Whether a statement of another connection has to wait. `next_term`: it begins another term of the row; else it writes to the row.
    [[nodiscard]] bool keep_away(const request& asked, bool next_term) const
    {
        return std::ranges::any_of(open_, [&](const auto& each) {
            const auto& [connection, it] = each;
            return connection != asked.connection && it.name == asked.name && (it.saved || (it.fences && next_term));
        });
    }

private:
    std::map<int, transaction> open_;
    std::set<int> ended_;
};

}  // namespace sim

#endif
