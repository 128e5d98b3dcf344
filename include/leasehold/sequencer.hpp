// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_SEQUENCER_HPP
#define LEASEHOLD_SEQUENCER_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/guard_core.hpp>
#include <leasehold/detail/held_term.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/store/concept.hpp>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace leasehold::inline v0 {

/// A term as its holder shows it to others: the name and the token. Chubby's word for it.
///
/// A holder sends it with its requests, as in an HTTP header: to_text(guard). The receiver reads it with read_sequencer(), and refuses the
/// request of a late holder: token_gate compares it with what the receiver has seen, is_current() asks the store.
///
/// As a text it is "lh1:", the token, a colon and the name, as in "lh1:42:orders/17". In the name, each byte apart from letters, digits and
/// "-._~/" is a percent sign and two hexadecimal digits in upper case. So it is ASCII without spaces, at most 594 bytes long, and two texts
/// are equal if and only if the terms are. It is not signed: who can write to the receiver can make one up.
struct sequencer {
    std::string name;       ///< the name of the lease
    fencing_token token{};  ///< the token of the term

    friend bool operator==(const sequencer&, const sequencer&) = default;
};

namespace detail {

inline constexpr std::string_view sequencer_begins = "lh1:";

constexpr bool stands_for_itself(char c) noexcept
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view{"-._~/"}.find(c) != std::string_view::npos;
}

inline std::string percent_encoded(std::string_view text)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string encoded;
    encoded.reserve(text.size());
    for (const char c : text) {
        if (stands_for_itself(c)) {
            encoded += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        encoded.append({'%', digits[byte / 16], digits[byte % 16]});
    }
    return encoded;
}

// -1: no digit of a text that percent_encoded() has made.
constexpr int hex_digit(char c) noexcept
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The text that percent_encoded() has encoded; empty if it makes no such text.
inline std::optional<std::string> percent_decoded(std::string_view encoded)
{
    std::string text;
    for (std::size_t i = 0; i < encoded.size(); ++i) {
        char c = encoded[i];
        const bool plain = stands_for_itself(c);
        if (!plain) {
            const int high = c == '%' && encoded.size() - i > 2 ? hex_digit(encoded[i + 1]) : -1;
            const int low = high >= 0 ? hex_digit(encoded[i + 2]) : -1;
            if (low < 0) return std::nullopt;
            c = static_cast<char>(static_cast<unsigned char>(high * 16 + low));
            if (stands_for_itself(c)) return std::nullopt;
            i += 2;
        }
        text += c;
    }
    return text;
}

// What is wrong with the text, or nullptr. Reads it into `into`, which is changed only if nothing is wrong.
inline const char* read_sequencer_into(std::string_view text, sequencer& into)
{
    if (!text.starts_with(sequencer_begins)) return "must begin with \"lh1:\"";
    text.remove_prefix(sequencer_begins.size());
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return "must have a colon between the token and the name";
    const char* const end = text.data() + colon;
    std::int64_t token = 0;
    const auto [stopped, failed] = std::from_chars(text.data(), end, token);
    if (failed != std::errc{} || stopped != end || token < 1 || text.front() == '0')
        return "must have a token from 1 to 9223372036854775807, without leading zeros";
    if (text.size() - colon - 1 > 3 * max_name_bytes) return "must have a name of at most 190 bytes";
    std::optional<std::string> name = percent_decoded(text.substr(colon + 1));
    if (!name)
        return "must have a name in letters, digits and \"-._~/\", and a percent sign and two digits, as in %C3, for each other byte";
    if (broken_text_rule(*name, max_name_bytes)) return "must have a name of 1 to 190 bytes of UTF-8 without a NUL";
    into.name.swap(*name);
    into.token = fencing_token{token};
    return nullptr;
}

static_assert(max_name_bytes == 190, "the messages above, and what is said of the length, name the limit");

}  // namespace detail

/// The text of it, which read_sequencer() reads. Throws std::system_error with errc::invalid_name or errc::not_held (the token is less than
/// 1) if it is of no term, and std::bad_alloc.
[[nodiscard]] inline std::string to_text(const sequencer& value)
{
    validate_name(value.name);
    if (value.token < fencing_token{1})
        detail::raise_invalid(errc::not_held, "a sequencer must have the token of a term, which is at least 1");
    std::string text{detail::sequencer_begins};
    text.append(std::to_string(value.token.value())).append(":").append(detail::percent_encoded(value.name));
    return text;
}

/// The term of a guard, of a leader_term, shard_term or recurring_run: whatever has a name() and a token(). Not a permits_guard or a
/// lease_set_guard, which have several terms: each of its guards() names one. An exclusive_guard names the term of its gate.
template <class Guard>
concept names_its_term = !detail::guard_of_several<Guard> && requires(const Guard& guard) {
    { guard.name() } -> std::convertible_to<std::string_view>;
    { guard.token() } -> std::same_as<fencing_token>;
};

/// What a holder sends with its requests: the sequencer of the guard's term, as a text. It does not ask whether the guard is held().
///
/// Throws std::system_error with errc::not_held when the guard is empty, and std::bad_alloc.
template <names_its_term Guard>
[[nodiscard]] std::string to_text(const Guard& guard)
{
    const fencing_token token = guard.token();
    if (token == fencing_token{}) detail::raise_invalid(errc::not_held, "the guard is empty");
    return to_text(sequencer{.name = std::string{guard.name()}, .token = token});
}

/// The same, reported in `ec`: does not throw.
template <names_its_term Guard>
[[nodiscard]] std::string to_text(const Guard& guard, std::error_code& ec) noexcept
{
    std::string text;
    ec.clear();
    detail::catch_into(ec, [&] { text = to_text(guard); });
    return text;
}

template <names_its_term Guard>
std::string to_text(const Guard&&) = delete;  ///< a temporary guard has released: name it, or use try_run()
template <names_its_term Guard>
std::string to_text(const Guard&&, std::error_code&) = delete;  ///< a temporary guard has released: name it, or use try_run()
template <detail::guard_of_several Guard>
std::string to_text(const Guard&) = delete;  ///< it has several terms, so use each of its guards()
template <detail::guard_of_several Guard>
std::string to_text(const Guard&, std::error_code&) = delete;  ///< it has several terms, so use each of its guards()

/// Reads what to_text() has written, and nothing else. Throws std::system_error with errc::invalid_data, which says what is wrong, and
/// std::bad_alloc. The result is a claim of who sent it: check it with token_gate or is_current().
[[nodiscard]] inline sequencer read_sequencer(std::string_view text)
{
    sequencer read;
    if (const char* rule = detail::read_sequencer_into(text, read))
        detail::raise_invalid(errc::invalid_data, "the sequencer '" + detail::printable(text.substr(0, 600)) + "' " + rule);
    return read;
}

/// The same, reported in `ec`: does not throw. With an error, the result is empty.
[[nodiscard]] inline sequencer read_sequencer(std::string_view text, std::error_code& ec) noexcept
{
    sequencer read;
    ec.clear();
    detail::catch_into(ec, [&] {
        if (detail::read_sequencer_into(text, read)) ec = errc::invalid_data;
    });
    return read;
}

namespace detail {

template <lease_store Store>
bool is_current(Store& store, const sequencer& term, std::error_code& ec)
{
    const std::optional<lease_record> record = store.inspect(term.name, ec);
    if (ec || !record || record->is_count() || record->is_hold()) return false;
    return record->token == term.token && !record->owner.empty();
}

}  // namespace detail

/// Asks the store whether that very term is unexpired and not released. One statement. True is of a moment ago: where late requests must
/// not get through at all, use a token_gate, or write under the fence (docs/fencing.md).
///
/// Throws store_error when the store fails, and std::bad_alloc. Thread safety: that of the store.
template <lease_store Store>
[[nodiscard]] bool is_current(Store& store, const sequencer& term)
{
    std::error_code ec;
    const bool current = detail::is_current(store, term, ec);
    if (ec) detail::raise_store_failure(store, ec, "is_current", term.name);
    return current;
}

/// The same, reported in `ec`: does not throw.
template <lease_store Store>
[[nodiscard]] bool is_current(Store& store, const sequencer& term, std::error_code& ec) noexcept
{
    bool current = false;
    ec.clear();
    detail::catch_into(ec, [&] { current = detail::is_current(store, term, ec); });
    return current && !ec;
}

/// Keeps late holders out of a server: remembers the highest token of each name, and admits no lower one. Asks no store.
///
/// As soon as a later holder's request is admitted, those of an earlier one no longer are. It is in memory: after a restart it admits
/// the first to come, so keep the tokens with the data instead where that matters (`where last_token <= ?`). One entry a name, until
/// forget(). Thread safety: any thread may call any function.
class token_gate {
public:
    /// Whether this term is the latest that this gate has seen of its name. Throws std::bad_alloc, and then has changed nothing.
    [[nodiscard]] bool admit(const sequencer& term)
    {
        const std::lock_guard lock{mutex_};
        const auto found = highest_.find(term.name);
        if (found == highest_.end()) return highest_.emplace(term.name, term.token), true;
        if (term.token < found->second) return false;
        found->second = term.token;
        return true;
    }

    /// The same, reported in `ec`: does not throw. With an error it is false.
    [[nodiscard]] bool admit(const sequencer& term, std::error_code& ec) noexcept
    {
        bool admitted = false;
        ec.clear();
        detail::catch_into(ec, [&] { admitted = admit(term); });
        return admitted;
    }

    /// The highest token that was admitted of this name; 0 if none was.
    [[nodiscard]] fencing_token highest(std::string_view name) const
    {
        const std::lock_guard lock{mutex_};
        const auto found = highest_.find(name);
        return found == highest_.end() ? fencing_token{} : found->second;
    }

    /// Forgets this name: the next holder to come is admitted.
    void forget(std::string_view name)
    {
        const std::lock_guard lock{mutex_};
        const auto found = highest_.find(name);
        if (found != highest_.end()) highest_.erase(found);
    }

private:
    mutable std::mutex mutex_;
    std::map<std::string, fencing_token, std::less<>> highest_;
};

}  // namespace leasehold::inline v0

#endif
