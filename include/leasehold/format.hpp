// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_FORMAT_HPP
#define LEASEHOLD_FORMAT_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_change.hpp>
#include <leasehold/lease_event.hpp>
#include <leasehold/member_change.hpp>
#include <leasehold/recurring_options.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/semaphore_options.hpp>
#include <leasehold/shard_event.hpp>
#include <leasehold/step_down_reason.hpp>
#include <leasehold/store/concept.hpp>

#include <version>

// std::formatter for every type that has <<, where the standard library has <format>: std::format("{:>6}", guard.token()). A token takes
// the format specifications of an integer, and the others, which are written by their names, those of a text.
#if defined(__cpp_lib_format)

#include <cstdint>
#include <format>
#include <string_view>

namespace leasehold::inline v0::detail {

template <class Named>
struct formatter_of_names : std::formatter<std::string_view> {
    template <class Context>
    auto format(Named value, Context& context) const
    {
        return std::formatter<std::string_view>::format(to_string(value), context);
    }
};

}  // namespace leasehold::inline v0::detail

/// \cond
template <>
struct std::formatter<leasehold::fencing_token> : std::formatter<std::int64_t> {
    template <class Context>
    auto format(leasehold::fencing_token token, Context& context) const
    {
        return std::formatter<std::int64_t>::format(token.value(), context);
    }
};
template <>
struct std::formatter<leasehold::acquire_status> : leasehold::detail::formatter_of_names<leasehold::acquire_status> {};
template <>
struct std::formatter<leasehold::catch_up> : leasehold::detail::formatter_of_names<leasehold::catch_up> {};
template <>
struct std::formatter<leasehold::errc> : leasehold::detail::formatter_of_names<leasehold::errc> {};
template <>
struct std::formatter<leasehold::lease_event_kind> : leasehold::detail::formatter_of_names<leasehold::lease_event_kind> {};
template <>
struct std::formatter<leasehold::lease_change_kind> : leasehold::detail::formatter_of_names<leasehold::lease_change_kind> {};
template <>
struct std::formatter<leasehold::member_change_kind> : leasehold::detail::formatter_of_names<leasehold::member_change_kind> {};
template <>
struct std::formatter<leasehold::on_other_count> : leasehold::detail::formatter_of_names<leasehold::on_other_count> {};
template <>
struct std::formatter<leasehold::release_outcome> : leasehold::detail::formatter_of_names<leasehold::release_outcome> {};
template <>
struct std::formatter<leasehold::shard_event_kind> : leasehold::detail::formatter_of_names<leasehold::shard_event_kind> {};
template <>
struct std::formatter<leasehold::step_down_reason> : leasehold::detail::formatter_of_names<leasehold::step_down_reason> {};
/// \endcond

#endif  // the library has <format>

#endif
