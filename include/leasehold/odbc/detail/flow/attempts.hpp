// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FLOW_ATTEMPTS_HPP
#define LEASEHOLD_ODBC_DETAIL_FLOW_ATTEMPTS_HPP

#include <leasehold/odbc/detail/flow/batch_flow.hpp>
#include <leasehold/odbc/detail/flow/flow.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

// A row as it was read for an attempt.
struct attempted_row {
    std::int64_t token = 0;      // 0: there was none
    bool live = false;
    bool released = false;       // as far as the statement tells
    bool ours = false;           // its owner is who asks
    duration remaining{};        // if live
    std::string holder{};        // its owner
};

// Attempts at distinct names for one ttl, of which at most a given number are to be granted, and their outcomes. Copies all it
// is told, since a caller may leave before the driver does. A caller that has left looks at no answer:
// terms that were granted are then ended.
class attempts {
public:
    attempts(std::size_t count, std::size_t most) : left_{most} { items_.reserve(count); }

    // `wakes`: see term_request.
    void add(std::string_view name, std::string_view owner, std::optional<std::string_view> wakes = std::nullopt)
    {
        items_.push_back({std::string{name}, std::string{owner}, std::nullopt, {}, {}});
        if (wakes) items_.back().wakes.emplace(*wakes);
    }

    [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
    [[nodiscard]] std::string_view name(item_number i) const noexcept { return items_[i].name; }
    [[nodiscard]] std::string_view owner(item_number i) const noexcept { return items_[i].owner; }

    [[nodiscard]] std::string_view wakes(item_number i) const noexcept { return items_[i].wakes ? *items_[i].wakes : name(i); }

    // The row as it was read.
    [[nodiscard]] const attempted_row& row(item_number i) const noexcept { return items_[i].row; }
    [[nodiscard]] std::int64_t token(item_number i) const noexcept { return items_[i].row.token; }
    [[nodiscard]] std::string_view holder(item_number i) const noexcept { return items_[i].row.holder; }
    void set_row(item_number i, attempted_row row) { items_[i].row = std::move(row); }

    [[nodiscard]] const std::optional<grant_answer>& answer(item_number i) const noexcept { return items_[i].answer; }
    void set_answer(item_number i, const grant_answer& answer) noexcept
    {
        if (answer.result.granted() && left_ > 0) --left_;
        items_[i].answer = answer;
    }

    // How many may still be granted.
    [[nodiscard]] std::size_t left() const noexcept { return left_; }

    // The items without an answer.
    [[nodiscard]] std::vector<item_number> open(std::span<const item_number> among) const
    {
        std::vector<item_number> found;
        for (const item_number i : among)
            if (!items_[i].answer) found.push_back(i);
        return found;
    }
    [[nodiscard]] std::vector<item_number> open() const { return open(all_items(items_.size())); }

    // Sorts in the order in which everybody locks rows.
    void sort_by_name(std::vector<item_number>& items) const
    {
        std::ranges::sort(items, {}, [this](item_number i) { return name(i); });
    }

private:
    struct item {
        std::string name, owner;
        std::optional<std::string> wakes;
        attempted_row row;
        std::optional<grant_answer> answer;
    };

    std::vector<item> items_;
    std::size_t left_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
