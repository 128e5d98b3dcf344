// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_DRAIN_MODEL_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_DRAIN_MODEL_HPP

#include <leasehold/fencing_token.hpp>
#include <leasehold/group/group_texts.hpp>
#include <leasehold/lease_record.hpp>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

/// Whether an owner, or the id of a member, is of a host: it begins with the host's name, as they do unless a program names them
/// otherwise. "web-1/8f0c" and "web-1:4711:3/8f0c" are of "web-1", and "web-10/8f0c" is not.
[[nodiscard]] inline bool begins_with_host(std::string_view owner, std::string_view host) noexcept
{
    if (!owner.starts_with(host)) return false;
    owner.remove_prefix(host.size());
    return owner.empty() || owner.front() == '/' || owner.front() == ':';
}

/// Whether a host has a lease, by its owner.
[[nodiscard]] inline bool is_of_host(const leasehold::lease_record& record, std::string_view host) noexcept
{
    return !record.is_count() && !record.is_hold() && begins_with_host(record.owner, host);
}

/// The id of the member of a group that it says lives, by its name; empty: it says no such thing.
[[nodiscard]] inline std::string_view member_in(const leasehold::lease_record& record) noexcept
{
    constexpr std::string_view before_id = "/members/";
    const std::size_t at = record.name.find(before_id);
    return at == std::string::npos ? std::string_view{} : std::string_view{record.name}.substr(at + before_id.size());
}

/// Whether it is known as the membership of a group, which is not waited for: one that is asked gives its shards away and takes none, but
/// lives on. Such a name alone says nothing: "site/members/export" may well be a lease that a command runs under.
[[nodiscard]] inline bool is_membership(const leasehold::lease_record& record, std::string_view host)
{
    const std::string_view id = member_in(record);
    if (id.empty()) return false;
    return id == record.owner || begins_with_host(id, host) || leasehold::group::words_in(record.data).has_value();
}

/// What a host has, and whom to ask for it: each term once, also those that begin while the host is being emptied.
class drain_model {
public:
    explicit drain_model(std::string host) : host_{std::move(host)} {}

    void look(const std::vector<leasehold::lease_record>& held)
    {
        left_.clear();
        to_ask_.clear();
        std::set<std::string> waited_for;  // who waits for several permits has a lease of this name, which nobody works under
        for (const leasehold::lease_record& record : held)
            if (record.is_count()) waited_for.insert(record.name + "/^");
        std::set<std::string_view> members;  // owners of members with an id of the host's
        for (const leasehold::lease_record& record : held)
            if (!record.owner.empty() && !record.is_hold() && begins_with_host(member_in(record), host_)) members.insert(record.owner);
        for (const leasehold::lease_record& record : held) {
            const bool of_host = is_of_host(record, host_);
            if (!of_host && !members.contains(record.owner)) continue;
            if (waited_for.contains(record.name)) continue;
            if (!is_membership(record, host_)) left_.push_back(record);
            leasehold::fencing_token& asked = asked_[record.name];
            if (asked == record.token) continue;
            asked = record.token;
            to_ask_.push_back(record.name);
        }
    }

    /// The request has failed: the next look names it again, if the host still has it.
    void ask_again(const std::string& name) { asked_[name] = {}; }

    /// Whether this is still the term that a look has found. A name that went to another host meanwhile is none of this one's.
    [[nodiscard]] bool asks(const leasehold::lease_record& now) const
    {
        const auto found = asked_.find(now.name);
        return found != asked_.end() && found->second == now.token && !now.owner.empty();
    }

    [[nodiscard]] const std::vector<std::string>& to_ask() const noexcept { return to_ask_; }
    [[nodiscard]] const std::vector<leasehold::lease_record>& left() const noexcept { return left_; }
    /// How many names were to be asked for so far.
    [[nodiscard]] std::size_t asked() const noexcept { return asked_.size(); }

private:
    std::string host_;
    std::map<std::string, leasehold::fencing_token> asked_;
    std::vector<std::string> to_ask_;
    std::vector<leasehold::lease_record> left_;
};

}  // namespace tool

#endif
