// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_LIMITS_HPP
#define LEASEHOLD_LIMITS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/hold_text.hpp>
#include <leasehold/detail/utf8.hpp>
#include <leasehold/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace leasehold::inline v0 {

/// The longest name of a lease, in bytes of UTF-8: the length that every database allows in a unique index.
inline constexpr std::size_t max_name_bytes = 190;
/// The longest owner, in bytes of UTF-8.
inline constexpr std::size_t max_owner_bytes = 190;
/// The largest number of permits of a lease_semaphore, and of readers of a shared_lease.
inline constexpr std::size_t max_permits = 1024;
/// The longest data that a holder publishes, and the longest reason of a request to hand over, in bytes of UTF-8.
inline constexpr std::size_t max_data_bytes = 1024;
/// The longest checkpoint that a holder saves, in bytes of UTF-8.
inline constexpr std::size_t max_checkpoint_bytes = 4096;
/// The longest reason of a hold, in bytes of UTF-8: the owner of its term is the reason, and what marks it as a hold.
inline constexpr std::size_t max_hold_reason_bytes = 160;

namespace detail {

// What is wrong with the bytes of a text, or nullptr.
constexpr const char* broken_encoding_rule(std::string_view text) noexcept
{
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] == '\0') return "must not contain a NUL";
        const std::size_t length = utf8_sequence_length(text.substr(i));
        if (length == 0) return "must be valid UTF-8";
        i += length;
    }
    return nullptr;
}

// What is wrong with a name or an owner, or nullptr.
constexpr const char* broken_text_rule(std::string_view text, std::size_t max_bytes) noexcept
{
    if (text.empty()) return "must not be empty";
    if (text.size() > max_bytes) return "is longer than the 190 bytes that are allowed";
    return broken_encoding_rule(text);
}

// What is wrong with the owner of a lease, or nullptr.
constexpr const char* broken_owner_rule(std::string_view owner, std::size_t max_bytes = max_owner_bytes) noexcept
{
    if (const char* rule = broken_text_rule(owner, max_bytes)) return rule;
    return is_hold(owner) ? "must not begin with 'held closed ', which marks a hold" : nullptr;
}

// What is wrong with the reason of a hold, or nullptr. It may be empty.
constexpr const char* broken_hold_reason_rule(std::string_view reason) noexcept
{
    return reason.size() > max_hold_reason_bytes ? "is longer than the 160 bytes that are allowed" : broken_encoding_rule(reason);
}

// What is wrong with data, or with the reason of a request, or nullptr. Either may be empty.
constexpr const char* broken_data_rule(std::string_view text) noexcept
{
    return text.size() > max_data_bytes ? "is longer than the 1024 bytes that are allowed" : broken_encoding_rule(text);
}

// What is wrong with a checkpoint, or nullptr. It may be empty.
constexpr const char* broken_checkpoint_rule(std::string_view text) noexcept
{
    return text.size() > max_checkpoint_bytes ? "is longer than the 4096 bytes that are allowed" : broken_encoding_rule(text);
}

// The error of a store's call with texts that can't be a name or an owner; no error if they can.
inline std::error_code refusal_of(std::string_view name) noexcept
{
    return broken_text_rule(name, max_name_bytes) ? make_error_code(errc::invalid_name) : std::error_code{};
}
inline std::error_code refusal_of(std::string_view name, std::string_view owner) noexcept
{
    const bool broken = broken_text_rule(owner, max_owner_bytes) && !broken_text_rule(name, max_name_bytes);
    return broken ? make_error_code(errc::invalid_owner) : refusal_of(name);
}

inline std::error_code refusal_of_data(std::string_view text) noexcept
{
    return broken_data_rule(text) ? make_error_code(errc::invalid_data) : std::error_code{};
}

inline std::error_code refusal_of_checkpoint(std::string_view text) noexcept
{
    return broken_checkpoint_rule(text) ? make_error_code(errc::invalid_data) : std::error_code{};
}

static_assert(max_name_bytes == 190 && max_owner_bytes == 190 && max_data_bytes == 1024 && max_checkpoint_bytes == 4096 &&
                  max_hold_reason_bytes == 160,
              "the messages above name the limits");
static_assert(hold_prefix.size() + hold_digits + before_hold_reason.size() + max_hold_reason_bytes == max_owner_bytes);

}  // namespace detail

/// Throws std::system_error with errc::invalid_name, which says why, unless `name` can be the name of a lease.
inline void validate_name(std::string_view name)
{
    if (const char* rule = detail::broken_text_rule(name, max_name_bytes))
        detail::raise_invalid(errc::invalid_name, std::string{"the name "} + rule);
}

/// Throws std::system_error with errc::invalid_owner, which says why, unless `owner` can be the owner of a lease.
inline void validate_owner(std::string_view owner)
{
    if (const char* rule = detail::broken_owner_rule(owner))
        detail::raise_invalid(errc::invalid_owner, std::string{"the owner "} + rule);
}

/// Throws std::system_error with errc::invalid_data, which says why, unless a holder can publish `data`.
inline void validate_data(std::string_view data)
{
    if (const char* rule = detail::broken_data_rule(data)) detail::raise_invalid(errc::invalid_data, std::string{"the data "} + rule);
}

/// Throws std::system_error with errc::invalid_data, which says why, unless `reason` can be the reason of a request to hand over.
inline void validate_reason(std::string_view reason)
{
    if (const char* rule = detail::broken_data_rule(reason)) detail::raise_invalid(errc::invalid_data, std::string{"the reason "} + rule);
}

/// Throws std::system_error with errc::invalid_data, which says why, unless a holder can save `text` as its checkpoint.
inline void validate_checkpoint(std::string_view text)
{
    if (const char* rule = detail::broken_checkpoint_rule(text))
        detail::raise_invalid(errc::invalid_data, std::string{"the checkpoint "} + rule);
}

/// Returns the same name. If it can't be the name of a lease, the program does not compile. `max_bytes` is for stores with
/// less room.
consteval std::string_view checked_name(std::string_view name, std::size_t max_bytes = max_name_bytes)
{
    if (const char* rule = detail::broken_text_rule(name, max_bytes)) detail::raise_invalid(errc::invalid_name, rule);
    return name;
}

}  // namespace leasehold::inline v0

#endif
