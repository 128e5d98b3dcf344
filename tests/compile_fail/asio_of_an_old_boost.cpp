// error: needs Boost 1\.77 or later
// SPDX-License-Identifier: BSL-1.0
#include <boost/asio/version.hpp>

#ifndef LEASEHOLD_COMPILE_OK
#undef BOOST_ASIO_VERSION
#define BOOST_ASIO_VERSION 101801  // of Boost 1.75
#endif

#include <leasehold/asio/detail/net.hpp>
