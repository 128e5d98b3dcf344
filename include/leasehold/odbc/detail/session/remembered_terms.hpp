// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_REMEMBERED_TERMS_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_REMEMBERED_TERMS_HPP

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

// Most names that a store remembers, and most owners of late terms.
inline constexpr std::size_t max_remembered_terms = 4096;

// What a store remembers of names: a hint for the next attempt, and late terms. Not thread-safe: the pool's mutex guards it.
//
// Three other classes find something by its name, and have reasons of their own. observations: what expiry by observation decides
// by, so none is dropped that is in use. held_locks and lock_keeper: session locks that the store has, to be given back.
class remembered_terms {
public:
    // What the next attempt may rely on, since the row decides: the token of the term that this store released last, so that a grant can
    // try its UPDATE without reading first; or busy_last_time.
    void put_hint(std::string_view name, std::int64_t hint)
    {
        if (const auto found = names_.find(name); found != names_.end())
            found->second.hint = hint;
        else if (has_room())
            names_.emplace(name, remembered{.hint = hint});
    }

    // 0 if there is none; it is used up. The node stays, so that the next put_hint() allocates nothing.
    std::int64_t take_hint(std::string_view name) noexcept
    {
        const auto found = names_.find(name);
        return found == names_.end() ? 0 : std::exchange(found->second.hint, 0);
    }

    // Late terms: their attempt was granted after its caller had been told of a time-out. Nobody knows of them, so they are to be ended.
    //
    // One of a name that was free can be ended at any time, for nothing else has its token. One that took over its own owner's
    // unexpired term can't: the holder of that one may believe in it still, and the next one would be a second holder. So it
    // is ended when the term it took over has been given back, or turns out to be nobody's too; otherwise it runs out.

    // An attempt is given up. Until it comes back, what its owner gives back has to be known. May throw std::bad_alloc.
    void expect(std::string_view name, std::string_view owner)
    {
        late_terms& late = add_late(name, owner);
        late.terms.reserve(late.terms.size() + late.expected + 1);
        ++late.expected;
    }

    // It has come back, with a term or without (0). `fresh`: nobody held the name then. Followed by next_to_end().
    void arrived(std::string_view name, std::string_view owner, std::int64_t token, bool fresh)
    {
        late_terms* const late = find_late(name, owner);
        if (late == nullptr) return;
        assert(late->expected > 0 && late->terms.capacity() > late->terms.size());
        --late->expected;
        if (token != 0) late->terms.push_back({token, fresh});
    }

    // Nobody believes in that term any longer. Followed by next_to_end().
    void given_back(std::string_view name, std::string_view owner, std::int64_t token) noexcept
    {
        if (late_terms* const late = find_late(name, owner)) late->over = std::max(late->over, token);
    }

    // The owner has been told of a later term: those before it are over.
    void told(std::string_view name, std::string_view owner, std::int64_t token) noexcept
    {
        late_terms* const late = find_late(name, owner);
        if (late == nullptr) return;
        std::erase_if(late->terms, [token](const late_term& each) { return each.token < token; });
        forget_settled(name);
    }

    // The token of a term that is to be ended now; 0: there is none.
    std::int64_t next_to_end(std::string_view name, std::string_view owner) noexcept
    {
        late_terms* const late = find_late(name, owner);
        if (late == nullptr) return 0;
        const auto next = std::ranges::find_if(
            late->terms, [late](const late_term& each) { return each.fresh || each.token - 1 <= late->over; });
        std::int64_t token = 0;
        if (next != late->terms.end()) {
            token = next->token;
            late->over = std::max(late->over, token);
            late->terms.erase(next);
        }
        forget_settled(name);
        return token;
    }

    // How many owners of a name have late terms, or attempts that were given up.
    [[nodiscard]] std::size_t late() const noexcept { return late_; }
    [[nodiscard]] std::size_t names() const noexcept { return names_.size(); }

private:
    struct late_term {
        std::int64_t token;
        bool fresh;
    };
    struct late_terms {
        std::string owner;
        std::size_t expected = 0;  // attempts that have not come back
        std::int64_t over = 0;     // nobody believes in the term with this token, nor in an earlier one
        std::vector<late_term> terms{};
    };
    struct remembered {
        std::int64_t hint = 0;
        std::vector<late_terms> late{};  // one entry for each owner; seldom any
    };
    struct hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    // For one more name. Hints go where there is none: without them an attempt needs one statement more.
    bool has_room()
    {
        if (names_.size() >= max_remembered_terms) std::erase_if(names_, [](const auto& each) { return each.second.late.empty(); });
        return names_.size() < max_remembered_terms;
    }

    // Late terms go only to make room for others, for they run out by themselves; those of an attempt that has not come back stay.
    late_terms& add_late(std::string_view name, std::string_view owner)
    {
        if (late_terms* const known = find_late(name, owner)) return *known;
        if (late_ >= max_remembered_terms || !has_room())
            for (auto& each : names_) late_ -= std::erase_if(each.second.late, [](const late_terms& of) { return of.expected == 0; });
        auto& late = names_.try_emplace(std::string{name}).first->second.late;
        late.push_back({.owner = std::string{owner}});
        ++late_;
        return late.back();
    }

    late_terms* find_late(std::string_view name, std::string_view owner) noexcept
    {
        if (late_ == 0) return nullptr;
        const auto found = names_.find(name);
        if (found == names_.end()) return nullptr;
        const auto of = std::ranges::find(found->second.late, owner, &late_terms::owner);
        return of == found->second.late.end() ? nullptr : &*of;
    }

    void forget_settled(std::string_view name) noexcept
    {
        late_ -= std::erase_if(names_.find(name)->second.late, [](const late_terms& of) { return of.expected == 0 && of.terms.empty(); });
    }

    std::unordered_map<std::string, remembered, hash, std::equal_to<>> names_;
    std::size_t late_ = 0;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
