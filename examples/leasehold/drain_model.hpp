// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_DRAIN_MODEL_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_DRAIN_MODEL_HPP

#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

/// Whether a host has a lease: its owner begins with the host's name, as owners do unless a program names them otherwise. "web-1" has
/// what "web-1/8f0c" and "web-1:4711:3/8f0c" hold, and nothing that "web-10/8f0c" holds.
[[nodiscard]] inline bool is_of_host(const leasehold::lease_record& record, std::string_view host) noexcept
{
    if (record.is_count() || record.is_hold() || !record.owner.starts_with(host)) return false;
    const std::string_view rest = std::string_view{record.owner}.substr(host.size());
    return rest.empty() || rest.front() == '/' || rest.front() == ':';
}

/// Whether it says that a member of a group lives. One that is asked gives its shards away and takes none, but lives on.
[[nodiscard]] inline bool is_membership(const leasehold::lease_record& record) noexcept
{
    return record.name.find("/members/") != std::string::npos;
}

/// What a host has, and whom to ask for it: each term once, also those that begin while the host is being emptied.
class drain_model {
public:
    explicit drain_model(std::string host) : host_{std::move(host)} {}

    void look(const std::vector<leasehold::lease_record>& held)
    {
        left_.clear();
        to_ask_.clear();
        for (const leasehold::lease_record& record : held) {
            if (!is_of_host(record, host_)) continue;
            if (!is_membership(record)) left_.push_back(record);
            leasehold::fencing_token& asked = asked_[record.name];
            if (asked == record.token) continue;
            asked = record.token;
            to_ask_.push_back(record.name);
        }
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
