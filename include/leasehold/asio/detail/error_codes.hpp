// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_DETAIL_ERROR_CODES_HPP
#define LEASEHOLD_ASIO_DETAIL_ERROR_CODES_HPP

#include <leasehold/asio/detail/net.hpp>

#include <system_error>

namespace leasehold::inline v0::detail {

/// What a cancelled operation reports.
inline std::error_code aborted() noexcept
{
    return net_error_code{net::error::operation_aborted};
}

/// The error code of the Asio that is used, which handlers get.
inline net_error_code to_net(const std::error_code& ec)
{
#ifndef LEASEHOLD_STANDALONE_ASIO
    if (ec.category() == std::system_category()) return {ec.value(), boost::system::system_category()};
    if (ec.category() == std::generic_category()) return {ec.value(), boost::system::generic_category()};
#endif
    return ec;
}

}  // namespace leasehold::inline v0::detail

#endif
