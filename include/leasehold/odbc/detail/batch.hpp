// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_BATCH_HPP
#define LEASEHOLD_ODBC_DETAIL_BATCH_HPP

#include <leasehold/duration.hpp>
#include <leasehold/store/concept.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

using item_number = std::uint32_t;

// Terms of distinct names, and what has become of them. Copies all it is told, for a caller may leave before the driver does.
class batch {
public:
    explicit batch(std::size_t most) : answers_(most) { items_.reserve(most); }

    void add(std::string_view name, std::string_view owner, std::int64_t token)
    {
        items_.push_back({text_.size(), name.size(), owner.size(), token});
        text_.append(name).append(owner);
    }

    [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
    [[nodiscard]] std::string_view name(item_number i) const { return text_of(items_[i].at, items_[i].name); }
    [[nodiscard]] std::string_view owner(item_number i) const { return text_of(items_[i].at + items_[i].name, items_[i].owner); }
    [[nodiscard]] std::int64_t token(item_number i) const { return items_[i].token; }

    // Of each, as soon as it is known: also for a caller that has given up waiting for the rest. From any thread.
    [[nodiscard]] batch_answer answer(item_number i) const noexcept { return answers_[i].load(std::memory_order_relaxed); }
    void set_answer(item_number i, bool yes) noexcept
    {
        answers_[i].store(yes ? batch_answer::yes : batch_answer::no, std::memory_order_relaxed);
    }

private:
    struct item {
        std::size_t at, name, owner;
        std::int64_t token;
    };

    std::string_view text_of(std::size_t at, std::size_t size) const { return std::string_view{text_}.substr(at, size); }

    std::vector<item> items_;
    std::string text_;
    std::vector<std::atomic<batch_answer>> answers_;
};

// Which items can go into one statement: of one time (a ttl), at most `most`, and no name twice, so that each row counted is
// one item. In the order of their names, as everybody who locks many rows should take them.
template <class Item, class Time>
std::vector<std::vector<item_number>> batch_groups(std::span<const Item> items, std::span<const item_number> which, Time time,
                                                   std::size_t most)
{
    std::vector<item_number> order{which.begin(), which.end()};
    const auto time_of = [&](item_number i) { return std::invoke(time, items[i]); };
    std::ranges::sort(order, [&](item_number a, item_number b) {
        if (time_of(a) != time_of(b)) return time_of(a) < time_of(b);
        const int names = items[a].name.compare(items[b].name);
        return names != 0 ? names < 0 : a < b;
    });
    std::vector<std::vector<item_number>> groups;
    while (!order.empty()) {
        std::vector<item_number> again;  // names that this round has already
        for (std::size_t i = 0; i < order.size(); ++i) {
            const bool same_time = i != 0 && time_of(order[i]) == time_of(order[i - 1]);
            if (same_time && items[order[i]].name == items[order[i - 1]].name) {
                again.push_back(order[i]);
                continue;
            }
            if (i == 0 || !same_time || groups.back().size() >= most) groups.emplace_back();
            groups.back().push_back(order[i]);
        }
        order = std::move(again);
    }
    return groups;
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
