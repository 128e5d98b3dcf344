// SPDX-License-Identifier: BSL-1.0
#include <leasehold/error.hpp>

#include <exception>
#include <system_error>
#include <type_traits>

namespace lh = leasehold;

namespace {

static_assert(std::is_error_code_enum_v<lh::errc> && !std::is_error_condition_enum_v<lh::errc>);
static_assert(std::is_convertible_v<lh::errc, std::error_code>);
static_assert(std::is_base_of_v<std::system_error, lh::store_error> && std::is_base_of_v<std::system_error, lh::lease_lost>);
// Copied while it is thrown: an exception from there would end the program.
static_assert(std::is_nothrow_copy_constructible_v<lh::store_error> && std::is_nothrow_copy_assignable_v<lh::store_error>);
static_assert(std::is_nothrow_copy_constructible_v<lh::lease_lost>);
static_assert(static_cast<int>(lh::errc::invalid_name) != 0, "0 means success in an error_code");

}  // namespace
