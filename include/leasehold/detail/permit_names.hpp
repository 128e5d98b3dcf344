// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_PERMIT_NAMES_HPP
#define LEASEHOLD_DETAIL_PERMIT_NAMES_HPP

#include <leasehold/detail/agreed_count.hpp>
#include <leasehold/error.hpp>
#include <leasehold/limits.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::detail {

// What the permits of one kind are called: "licences/0", and 5 of them.
struct permit_names {
    std::string name;
    std::string_view separator;  // between the name and the number of a permit
    std::string_view unit;       // "permits"
    std::size_t count = 0;       // as the process was told
    std::string_view of_gate;    // after the name; empty: there is none

    // The end of any permit or share wakes the waiters for this name: the whole. Empty: each wakes its own.
    [[nodiscard]] std::string woken_together() const { return of_gate.empty() ? std::string{} : prefix(); }
    [[nodiscard]] std::string prefix() const { return name + std::string{separator}; }
    [[nodiscard]] std::string of_permit(std::size_t i) const { return prefix() + std::to_string(i); }

    // Returns which permit has this name; empty: none has, as for the gate's name.
    [[nodiscard]] std::optional<std::size_t> number_of(std::string_view text) const noexcept
    {
        if (!take_text(text, name) || !take_text(text, separator) || (text.size() > 1 && text.front() == '0')) return std::nullopt;
        const std::optional<std::size_t> number = take_number(text);
        return text.empty() ? number : std::nullopt;
    }
};

// What is wrong with so many permits of these names; no error if nothing is.
template <class Count>
std::error_code refusal_of_count(const permit_names& names, Count count) noexcept
{
    if (std::cmp_less(count, 1) || std::cmp_greater(count, max_permits)) return errc::invalid_terms;
    std::size_t digits = 1;
    for (auto last = static_cast<std::size_t>(count) - 1; last >= 10; last /= 10) ++digits;
    const std::size_t suffix = std::max(names.separator.size() + digits, names.of_gate.size());
    return names.name.size() + suffix > max_name_bytes ? make_error_code(errc::invalid_name) : std::error_code{};
}

// Throws that, with what is allowed.
template <class Count>
void check_count(const permit_names& names, Count count)
{
    const std::error_code refusal = refusal_of_count(names, count);
    const std::string unit{names.unit};
    if (refusal == errc::invalid_terms)
        raise_invalid(errc::invalid_terms, "the number of " + unit + " must be 1 to " + std::to_string(max_permits) + ", not " +
                                               std::to_string(count));
    if (!refusal) return;
    const std::string last = std::string{names.separator} + std::to_string(static_cast<std::size_t>(count) - 1);
    raise_invalid(errc::invalid_name, "the name is longer than the " +
                                          std::to_string(max_name_bytes - std::max(last.size(), names.of_gate.size())) +
                                          " bytes that leave room for the names of its " + unit + ", such as '" + last + "' at its end");
}

// The names of `count` permits, once they are checked. Throws std::system_error.
template <class Count>
permit_names checked_permits(std::string_view name, std::string_view separator, std::string_view of_gate, Count count,
                             std::string_view unit)
{
    validate_name(name);
    permit_names names{std::string{name}, separator, unit, 0, of_gate};
    check_count(names, count);
    names.count = static_cast<std::size_t>(count);
    return names;
}

}  // namespace leasehold::inline v0::detail

#endif
