// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_REMEMBERED_TERMS_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_REMEMBERED_TERMS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

// Most names whose last token a store remembers.
inline constexpr std::size_t max_token_hints = 4096;

// The tokens of the terms this store released last: the next grant of such a name can try its UPDATE without reading first.
// Only a hint; the row decides. Thread-safe.
class token_hints {
public:
    void put(std::string_view name, std::int64_t token)
    {
        const std::lock_guard lock{mutex_};
        if (const auto found = tokens_.find(name); found != tokens_.end()) {
            found->second = token;
            return;
        }
        if (tokens_.size() >= max_token_hints) tokens_.clear();
        tokens_.emplace(name, token);
    }

    // 0 if there is none; it is used up. The node stays, so that the next put() allocates nothing.
    std::int64_t take(std::string_view name) noexcept
    {
        const std::lock_guard lock{mutex_};
        const auto found = tokens_.find(name);
        if (found == tokens_.end()) return 0;
        const std::int64_t token = found->second;
        found->second = 0;
        return token;
    }

private:
    struct hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    std::mutex mutex_;
    std::unordered_map<std::string, std::int64_t, hash, std::equal_to<>> tokens_;
};

// Most names whose late terms are remembered; those of others run out by themselves.
inline constexpr std::size_t max_late_terms = 4096;

// Terms whose attempt was granted after its caller had been told of a time-out: nobody knows of them, so they are to be ended.
//
// One of a name that was free can be ended at any time, for nothing else has its token. One that took over its own owner's
// unexpired term can't: the holder of that one may believe in it still, and the next one would be a second holder. So it
// is ended when the term it took over has been given back, or turns out to be nobody's too; otherwise it runs out.
// Not thread-safe.
class late_terms {
public:
    // An attempt is given up. Until it comes back, what its owner gives back has to be known. May throw std::bad_alloc.
    void expect(std::string_view name, std::string_view owner)
    {
        if (by_owner_.size() >= max_late_terms) std::erase_if(by_owner_, [](const auto& each) { return each.second.expected == 0; });
        entry& of_owner = by_owner_[key(name, owner)];
        of_owner.terms.reserve(of_owner.terms.size() + of_owner.expected + 1);
        ++of_owner.expected;
    }

    // It has come back, with a term or without (0). `fresh`: nobody held the name then. Followed by next_to_end().
    void arrived(std::string_view name, std::string_view owner, std::int64_t token, bool fresh)
    {
        const auto found = by_owner_.find(key(name, owner));
        if (found == by_owner_.end()) return;
        --found->second.expected;
        if (token != 0) found->second.terms.push_back({token, fresh});
    }

    // Nobody believes in that term any longer. Followed by next_to_end().
    void given_back(std::string_view name, std::string_view owner, std::int64_t token)
    {
        if (by_owner_.empty()) return;
        const auto found = by_owner_.find(key(name, owner));
        if (found != by_owner_.end()) found->second.over = std::max(found->second.over, token);
    }

    // The owner has been told of a later term: those before it are over.
    void told(std::string_view name, std::string_view owner, std::int64_t token)
    {
        if (by_owner_.empty()) return;
        const auto found = by_owner_.find(key(name, owner));
        if (found == by_owner_.end()) return;
        std::erase_if(found->second.terms, [token](const late& each) { return each.token < token; });
        forget_if_settled(found);
    }

    // The token of a term that is to be ended now; 0: there is none.
    std::int64_t next_to_end(std::string_view name, std::string_view owner)
    {
        if (by_owner_.empty()) return 0;
        const auto found = by_owner_.find(key(name, owner));
        if (found == by_owner_.end()) return 0;
        entry& of_owner = found->second;
        const auto next = std::find_if(of_owner.terms.begin(), of_owner.terms.end(),
                                       [&](const late& each) { return each.fresh || each.token - 1 <= of_owner.over; });
        std::int64_t token = 0;
        if (next != of_owner.terms.end()) {
            token = next->token;
            of_owner.over = std::max(of_owner.over, token);
            of_owner.terms.erase(next);
        }
        forget_if_settled(found);
        return token;
    }

    [[nodiscard]] std::size_t size() const noexcept { return by_owner_.size(); }

private:
    struct late {
        std::int64_t token;
        bool fresh;
    };
    struct entry {
        std::size_t expected = 0;  // attempts that have not come back
        std::int64_t over = 0;     // nobody believes in the term with this token, nor in an earlier one
        std::vector<late> terms{};
    };
    using entries = std::unordered_map<std::string, entry>;

    // Neither has a NUL in it.
    static std::string key(std::string_view name, std::string_view owner)
    {
        return std::string{name} + '\0' + std::string{owner};
    }

    void forget_if_settled(entries::iterator which)
    {
        if (which->second.expected == 0 && which->second.terms.empty()) by_owner_.erase(which);
    }

    entries by_owner_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
