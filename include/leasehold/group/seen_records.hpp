// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_GROUP_SEEN_RECORDS_HPP
#define LEASEHOLD_GROUP_SEEN_RECORDS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/stable_hash.hpp>
#include <leasehold/group/group_texts.hpp>
#include <leasehold/group/shard_machine.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/shard_options.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::inline v0::group {

// The member that looks.
struct looking_member {
    std::string_view id;
    std::string_view owner;
    member_words words;  // as they are now: its row may say what they were
};

// Turns the records of a group into a look at its shards. The look does not refer to the records.
class seen_records {
public:
    seen_records(const std::vector<lease_record>& records, std::string_view name, const looking_member& mine)
    {
        const std::string members = members_of(name);
        look_.me = nobody;
        for (const lease_record& record : records) {
            if (record.owner.empty() || record.is_hold() || !std::string_view{record.name}.starts_with(members)) continue;
            const std::string_view id = std::string_view{record.name}.substr(members.size());
            // A member that an operator has asked to go is paused as long as it lives: its host is being emptied.
            const bool asked_to_go = record.handover_request.has_value();
            if (record.owner == mine.owner) {
                asked_to_go_ = asked_to_go;
                add_me(id, mine);
            }
            else
                add(id, record.owner, words_in(record.data).value_or(takes_nothing), mine.words.count, asked_to_go);
        }
        if (look_.me == nobody) add_me(mine.id, mine);
        const std::string prefix = prefix_of(name);
        for (const lease_record& record : records) {
            const std::optional<std::size_t> shard = shard_in(record.name, prefix);
            if (shard && *shard < max_shards) look_.rows.push_back(row_of(*shard, record));
        }
    }

    [[nodiscard]] const shard_look& look() const noexcept { return look_; }
    // Whether a member has another count than the one that looks.
    [[nodiscard]] bool count_differs() const noexcept { return count_differs_; }
    // Whether an operator has asked the member that looks to go.
    [[nodiscard]] bool asked_to_go() const noexcept { return asked_to_go_; }

private:
    static constexpr member_words takes_nothing{.paused = true};

    void add_me(std::string_view id, const looking_member& mine)
    {
        look_.me = look_.members.size();
        add(id, mine.owner, mine.words, mine.words.count, asked_to_go_);
    }

    void add(std::string_view id, std::string_view owner, const member_words& words, std::size_t count, bool asked_to_go)
    {
        if (words.count != 0 && words.count != count) count_differs_ = true;
        by_owner_.emplace(owner, look_.members.size());
        by_id_.emplace(id, look_.members.size());
        look_.members.push_back({.order = detail::stable_hash(0, id, owner),
                                 .capacity = words.capacity,
                                 .most = words.most == 0 ? nobody : words.most,
                                 .paused = words.paused || asked_to_go});
    }

    [[nodiscard]] seen_row row_of(std::size_t shard, const lease_record& record) const
    {
        const auto holder = by_owner_.find(record.owner);
        seen_row row{shard, record.token.value(), holder == by_owner_.end() ? nobody : holder->second, {}, record.is_hold()};
        if (!record.handover_request) return row;
        const std::optional<wanted_by> by = request_in(*record.handover_request);
        if (!by) {
            row.request = shard_request{};  // an operator's
            return row;
        }
        // The request of a member that has left moves nothing.
        const auto asker = by_id_.find(by->id);
        if (asker != by_id_.end()) row.request = shard_request{asker->second, by->after};
        return row;
    }

    shard_look look_;
    bool count_differs_ = false;
    bool asked_to_go_ = false;
    std::map<std::string_view, std::size_t> by_owner_;
    std::map<std::string_view, std::size_t> by_id_;
};

}  // namespace leasehold::inline v0::group

#endif
