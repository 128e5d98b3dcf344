// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_CATCH_INTO_HPP
#define LEASEHOLD_DETAIL_CATCH_INTO_HPP

#include <leasehold/error.hpp>

#include <exception>
#include <new>
#include <system_error>

namespace leasehold::inline v0::detail {

// Runs `f`, which reports errors in `ec`, and turns its exceptions into error codes too. For the forms that do not throw,
// and for the library's own threads, in which nothing catches exceptions.
template <class Function>
void catch_into([[maybe_unused]] std::error_code& ec, Function&& f) noexcept
{
#if defined(__cpp_exceptions)
    try {
        f();
    }
    catch (const std::system_error& e) {
        ec = e.code() ? e.code() : make_error_code(errc::store_failure);
    }
    catch (const std::bad_alloc&) {
        ec = std::make_error_code(std::errc::not_enough_memory);
    }
    catch (...) {
        ec = errc::store_failure;
    }
#else
    f();
#endif
}

// Returns what `f` throws, if anything.
template <class Function>
std::exception_ptr thrown_by(Function&& f) noexcept
{
#if defined(__cpp_exceptions)
    try {
        f();
    }
    catch (...) {
        return std::current_exception();
    }
#else
    f();
#endif
    return nullptr;
}

// Calls `f` for each item, even after one call has thrown; then throws the first exception.
template <class Range, class Function>
void for_each_then_throw(const Range& all, const Function& f)
{
    std::exception_ptr first;
    for (const auto& item : all) {
        const std::exception_ptr thrown = thrown_by([&] { f(item); });
        if (!first) first = thrown;
    }
    if (first) std::rethrow_exception(first);
}

// Calls each function, even after one has thrown; then throws the first exception.
template <class... Functions>
void call_each_then_throw(const Functions&... functions)
{
    std::exception_ptr first;
    const auto call = [&first](const auto& function) {
        const std::exception_ptr thrown = thrown_by(function);
        if (!first) first = thrown;
    };
    (call(functions), ...);
    if (first) std::rethrow_exception(first);
}

}  // namespace leasehold::inline v0::detail

#endif
