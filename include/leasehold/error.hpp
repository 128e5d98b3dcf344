// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ERROR_HPP
#define LEASEHOLD_ERROR_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/config.hpp>
#include <leasehold/detail/never_destroyed.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <exception>
#include <iosfwd>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0 {

/// What can go wrong. Busy (somebody else holds the lease) is not here, since it is an answer, not an error.
enum class errc {
    invalid_name = 1,   ///< a name that is empty, longer than max_name_bytes, not UTF-8, or has a NUL
    invalid_owner,      ///< an owner that is empty, longer than max_owner_bytes, not UTF-8, has a NUL, or begins like that of a hold;
                        ///< or a member's id that lives already
    invalid_terms,      ///< durations, a count or a schedule that can't work, or that the record contradicts; the message names the rule
    not_held,           ///< an operation that needs a held lease, on an empty guard
    lost,               ///< the term is over although its holder did not release it
    store_unavailable,  ///< the store can't be reached or refuses the log-in; or the connection was lost, and what the call did is unknown
    store_timeout,      ///< the store did not answer in time; what it did is unknown
    store_conflict,     ///< the store refused the statement because of concurrent ones, and kept refusing it
    schema_missing,     ///< the table, or a column of it, does not exist
    store_failure,      ///< any other failure of the store
    invalid_data,       ///< data, a reason, a checkpoint or a sequencer that is too long, not UTF-8, has a NUL, or can't be read
    held_closed         ///< a name that is to be held closed, or whose count is to be changed, is held closed already
};

/// The enumerator's name, as in "store_timeout"; "invalid" for any other value. Its meaning in words is
/// make_error_code(code).message().
[[nodiscard]] constexpr std::string_view to_string(errc code) noexcept
{
    switch (code) {
    case errc::invalid_name: return "invalid_name";
    case errc::invalid_owner: return "invalid_owner";
    case errc::invalid_terms: return "invalid_terms";
    case errc::not_held: return "not_held";
    case errc::lost: return "lost";
    case errc::store_unavailable: return "store_unavailable";
    case errc::store_timeout: return "store_timeout";
    case errc::store_conflict: return "store_conflict";
    case errc::schema_missing: return "schema_missing";
    case errc::store_failure: return "store_failure";
    case errc::invalid_data: return "invalid_data";
    case errc::held_closed: return "held_closed";
    }
    return "invalid";
}

/// Writes to_string(code).
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, errc code)
{
    return out << to_string(code);
}

/// The category of errc. Conditions: store_timeout is std::errc::timed_out, invalid_* are std::errc::invalid_argument,
/// not_held is std::errc::operation_not_permitted, store_conflict is std::errc::resource_unavailable_try_again, held_closed is
/// std::errc::device_or_resource_busy.
[[nodiscard]] LEASEHOLD_SHARED const std::error_category& lease_category() noexcept;

/// Lets an errc be a std::error_code.
[[nodiscard]] inline std::error_code make_error_code(errc code) noexcept
{
    return {static_cast<int>(code), lease_category()};
}

/// Whether `ec` is this error. By the category's name: a plugin may have a category of its own.
[[nodiscard]] inline bool operator==(const std::error_code& ec, errc code) noexcept
{
    return ec.value() == static_cast<int>(code) && std::string_view{ec.category().name()} == lease_category().name();
}

/// A store failed. The code says how; sqlstate(), native_error() and server_message() give the database's own details.
class LEASEHOLD_SHARED store_error : public std::system_error {
public:
    /// `doing` names the operation that failed, as in "try_acquire 'nightly'".
    store_error(std::error_code code, std::string_view doing, store_diagnostics diagnostics = {})
        : std::system_error{code}, details_{std::make_shared<const details>(code, doing, std::move(diagnostics))}
    {
    }
    /// Moving copies, so that a moved-from exception still has its message.
    store_error(const store_error&) noexcept = default;
    /// The same.
    store_error& operator=(const store_error&) noexcept = default;
    ~store_error() override = default;

    /// The library's own words first, then, in brackets, SQLSTATE, native code and the server's words, on one line. Control,
    /// bidirectional and invisible characters are escaped.
    [[nodiscard]] const char* what() const noexcept override { return details_->what.c_str(); }

    /// The code, so that a function of an error code takes it.
    operator std::error_code() const noexcept { return code(); }
    /// Five characters, or empty if the store has none.
    [[nodiscard]] std::string_view sqlstate() const noexcept { return details_->diagnostics.sqlstate; }
    /// The database's own error number; 0 if it has none.
    [[nodiscard]] int native_error() const noexcept { return details_->diagnostics.native_error; }
    /// The message of the server or driver, which may repeat what was sent to it; escaped like what().
    [[nodiscard]] std::string_view server_message() const noexcept { return details_->diagnostics.server_message; }

private:
    struct details {
        details(std::error_code code, std::string_view doing, store_diagnostics reported) : diagnostics{std::move(reported)}
        {
            for (std::string* text : {&diagnostics.sqlstate, &diagnostics.advice, &diagnostics.server_message})
                *text = detail::printable(*text);
            what = describe(code, doing, diagnostics);
        }
        std::string what;
        store_diagnostics diagnostics;
    };

    static std::string describe(std::error_code code, std::string_view doing, const store_diagnostics& diagnostics)
    {
        std::string text{"leasehold: "};
        text.append(detail::printable(doing)).append(": ").append(code.message());
        if (!diagnostics.advice.empty()) text.append(": ").append(diagnostics.advice);
        if (!diagnostics.sqlstate.empty() || !diagnostics.server_message.empty()) {
            text.append(" [");
            // A store that isn't SQL has neither.
            if (!diagnostics.sqlstate.empty() || diagnostics.native_error != 0) {
                text.append("SQLSTATE ").append(diagnostics.sqlstate.empty() ? "none" : diagnostics.sqlstate);
                text.append(", native ").append(std::to_string(diagnostics.native_error)).append(": ");
            }
            text.append(diagnostics.server_message).append("]");
        }
        return text;
    }

    std::shared_ptr<const details> details_;  // shared, so that copying the exception can't throw
};

/// The term is over; its code is errc::lost.
class LEASEHOLD_SHARED lease_lost : public std::system_error {
public:
    /// Puts the name into the message.
    explicit lease_lost(std::string_view name)
        : std::system_error{make_error_code(errc::lost), "leasehold: the lease '" + detail::printable(name) + "'"}
    {
    }
};

namespace detail {

class LEASEHOLD_SHARED lease_error_category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "leasehold"; }

    [[nodiscard]] std::string message(int code) const override
    {
        switch (static_cast<errc>(code)) {
        case errc::invalid_name: return "invalid name";
        case errc::invalid_owner: return "invalid owner";
        case errc::invalid_terms: return "invalid terms";
        case errc::not_held: return "no lease is held through this guard";
        case errc::lost: return "the lease was lost: its time ran out, or it was taken over or removed";
        case errc::store_unavailable: return "the store can't be reached";
        case errc::store_timeout: return "the store did not answer in time";
        case errc::store_conflict: return "the store kept refusing because of concurrent statements";
        case errc::schema_missing: return "the lease table, or a column of it, is missing";
        case errc::store_failure: return "the store failed";
        case errc::invalid_data: return "invalid data or reason";
        case errc::held_closed: return "the name is held closed";
        }
        return "unknown leasehold error " + std::to_string(code);
    }

    [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override
    {
        switch (static_cast<errc>(code)) {
        case errc::invalid_name:
        case errc::invalid_owner:
        case errc::invalid_terms:
        case errc::invalid_data: return std::errc::invalid_argument;
        case errc::not_held: return std::errc::operation_not_permitted;
        case errc::store_timeout: return std::errc::timed_out;
        case errc::store_conflict: return std::errc::resource_unavailable_try_again;
        case errc::held_closed: return std::errc::device_or_resource_busy;
        default: return {code, *this};
        }
    }
};

// Code built without exceptions has only the error_code forms; reaching a throw there is a bug, so it ends the program.
template <class Exception>
[[noreturn]] void throw_exception([[maybe_unused]] Exception exception)
{
#if defined(__cpp_exceptions)
    throw std::move(exception);
#else
    std::terminate();
#endif
}

// For a call of a store. The lack of memory or of a thread is this process's own: it is no store_error, whichever call met it.
[[noreturn]] inline void raise_failed_call(std::error_code code, std::string_view doing, store_diagnostics diagnostics)
{
    if (code == std::make_error_code(std::errc::not_enough_memory)) throw_exception(std::bad_alloc{});
    if (code == std::make_error_code(std::errc::resource_unavailable_try_again))
        throw_exception(std::system_error{code, "leasehold: " + printable(doing)});
    throw_exception(store_error{code, doing, std::move(diagnostics)});
}

[[noreturn]] inline void raise_invalid(errc code, std::string_view message)
{
    throw_exception(std::system_error{make_error_code(code), "leasehold: " + std::string{message}});
}

}  // namespace detail

inline const std::error_category& lease_category() noexcept
{
    // Never destroyed, since leases in static objects may be destroyed later.
    static const detail::never_destroyed<detail::lease_error_category> category;
    return category.value;
}

}  // namespace leasehold::inline v0

/// \cond
template <>
struct std::is_error_code_enum<leasehold::errc> : std::true_type {};
/// \endcond

#endif
