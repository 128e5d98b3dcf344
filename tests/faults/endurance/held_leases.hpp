// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_FAULTS_ENDURANCE_HELD_LEASES_HPP
#define LEASEHOLD_TESTS_FAULTS_ENDURANCE_HELD_LEASES_HPP

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace endurance {

namespace lh = leasehold;

/// Very many leases of one process, each acquired again after a loss.
class held_leases {
public:
    using lease_type = lh::basic_lease<lh::odbc_store>;

    held_leases(lh::odbc_store& store, std::size_t count, lh::lease_terms terms) : tokens_(count)
    {
        leases_.reserve(count);
        guards_.reserve(count);
        for (std::size_t i = 0; i < count; ++i) leases_.emplace_back(store, prefix_ + std::to_string(i), terms);
    }

    [[nodiscard]] std::size_t count() const { return tokens_.size(); }
    [[nodiscard]] std::size_t held() const { return guards_.size(); }
    [[nodiscard]] bool complete() const { return held() == count(); }
    /// Grants whose token was not greater than that of the name's last one.
    [[nodiscard]] std::size_t tokens_that_do_not_grow() const { return tokens_that_do_not_grow_; }

    /// One attempt at each lease that is not held.
    void acquire_missing()
    {
        for (std::size_t at = 0; at < leases_.size() && !complete(); at += in_a_set) {
            std::error_code ec;
            for (auto& guard : lh::try_acquire_each(std::span{leases_}.subspan(at, std::min(in_a_set, leases_.size() - at)), ec)) {
                note_token(guard);
                guards_.push_back(std::move(guard));
            }
            if (ec) return;  // an outage
        }
    }

    struct losses {
        std::size_t by_outage = 0;
        std::size_t otherwise = 0;
        std::map<std::string, std::size_t> errors{};  ///< the last one of each term's renewals, and of how many terms

        losses& operator+=(const losses& more)
        {
            by_outage += more.by_outage;
            otherwise += more.otherwise;
            for (const auto& [error, terms] : more.errors) errors[error] += terms;
            return *this;
        }

        /// Such as "; the renewals' errors: 12 times ...".
        [[nodiscard]] std::string told_errors() const
        {
            std::string text;
            for (const auto& [error, terms] : errors)
                text += (text.empty() ? "; the renewals' errors: " : ", ") + std::to_string(terms) + " times " + error;
            return text;
        }
    };
    /// Those since the last call. Their guards are given up.
    losses take_losses()
    {
        losses found;
        const auto first = std::partition(guards_.begin(), guards_.end(), [](const auto& guard) { return guard.held(); });
        const std::span lost{first, guards_.end()};
        for (const auto& guard : lost) {
            const std::error_code why = guard.renewal_error();
            ++(why ? found.by_outage : found.otherwise);
            ++found.errors[why ? why.message() : "none"];
        }
        // Together: in an outage each by itself would wait for its own call time-out.
        std::error_code ignored;
        lh::release_all(lost, ignored);
        guards_.erase(first, guards_.end());
        return found;
    }

    /// The time to the deadline of the term that ends first; 0 if one is lost.
    [[nodiscard]] lh::duration least_left() const
    {
        lh::duration least = lh::duration::max();
        for (const auto& guard : guards_) least = std::min(least, guard.remaining());
        return least;
    }

    /// How many were released.
    std::size_t release() { return lh::release_all(guards_); }

private:
    static constexpr std::size_t in_a_set = 256;

    void note_token(const lease_type::guard_type& guard)
    {
        std::size_t number = 0;
        const std::string_view digits = guard.name().substr(prefix_.size());
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (guard.token() <= tokens_[number]) ++tokens_that_do_not_grow_;
        tokens_[number] = guard.token();
    }

    const std::string prefix_ = "shard-of-some-service/";
    std::vector<lease_type> leases_;
    std::vector<lease_type::guard_type> guards_;
    std::vector<lh::fencing_token> tokens_;  // of the last term of each name
    std::size_t tokens_that_do_not_grow_ = 0;
};

}  // namespace endurance

#endif
