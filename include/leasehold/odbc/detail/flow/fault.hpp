// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_FLOW_FAULT_HPP
#define LEASEHOLD_ODBC_DETAIL_FLOW_FAULT_HPP

#include <leasehold/error.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <cstdint>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

// What went wrong with a statement or a connection, as far as the store acts differently on it.
enum class fault : std::uint8_t {
    none,
    conflict,         // serialization, deadlock, SQLite's busy: worth another try
    lock_timeout,     // another transaction kept the row locked
    duplicate_key,    // somebody else inserted the row; or, where it comes again and again, another unique index refuses it
    connection_lost,  // worth a new connection; what the statement did is unknown
    starting,         // the server is there and will accept connections soon
    unavailable,      // can't connect
    read_only,        // it refuses to write; a new connection may lead to a server that doesn't
    timeout,          // no answer in time; what the statement did is unknown
    overtaken,        // what a statement did whose answer was lost can't be seen any longer
    schema_missing,
    changed,  // the row is not as it was read, or remembered: look again; no flow ends with it
    failure  // anything else
};

// What a step of a flow came to: a value, or a fault, and then the value is T{}.
template <class T>
class outcome {
public:
    constexpr outcome(T value) : value_(std::move(value)) {}
    constexpr outcome(fault failed) : failed_{failed} {}

    [[nodiscard]] constexpr fault failed() const noexcept { return failed_; }
    [[nodiscard]] constexpr bool ok() const noexcept { return failed_ == fault::none; }
    [[nodiscard]] constexpr T& operator*() noexcept { return value_; }
    [[nodiscard]] constexpr const T& operator*() const noexcept { return value_; }
    [[nodiscard]] constexpr const T* operator->() const noexcept { return &value_; }

private:
    T value_{};
    fault failed_ = fault::none;
};

// The value, unless something failed before it.
template <class Value>
constexpr auto unless(fault failed, Value value) -> outcome<decltype(value())>
{
    if (failed != fault::none) return failed;
    return value();
}

// What to do about a failure, and what to tell. Of a statement, or of a whole call.
struct failure {
    fault kind = fault::none;
    store_diagnostics details{};

    explicit operator bool() const noexcept { return kind != fault::none; }
};

constexpr errc errc_of(fault kind) noexcept
{
    switch (kind) {
    case fault::conflict:
    case fault::lock_timeout: return errc::store_conflict;
    case fault::connection_lost:
    case fault::starting:
    case fault::unavailable:
    case fault::overtaken: return errc::store_unavailable;
    case fault::timeout: return errc::store_timeout;
    case fault::schema_missing: return errc::schema_missing;
    default: return errc::store_failure;
    }
}

}  // namespace leasehold::inline v0::odbc::detail

#endif
