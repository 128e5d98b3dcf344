// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_DETAIL_NET_HPP
#define LEASEHOLD_ASIO_DETAIL_NET_HPP

/// Define LEASEHOLD_STANDALONE_ASIO for the whole program to use Asio without Boost.
#ifdef LEASEHOLD_STANDALONE_ASIO
#include <asio/version.hpp>
#define LEASEHOLD_ASIO_VERSION ASIO_VERSION
#else
#include <boost/asio/version.hpp>
#define LEASEHOLD_ASIO_VERSION BOOST_ASIO_VERSION
#endif

#if LEASEHOLD_ASIO_VERSION < 102000
#error "leasehold needs Boost 1.77 or later (Debian 12: libboost1.81-dev), or standalone Asio 1.20 or later"
#endif

#ifdef LEASEHOLD_STANDALONE_ASIO
#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/error.hpp>
#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>
#include <asio/system_executor.hpp>
#else
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/system_executor.hpp>
#endif

// Whether Asio has coroutines with this compiler.
#if defined(LEASEHOLD_STANDALONE_ASIO) ? defined(ASIO_HAS_CO_AWAIT) : defined(BOOST_ASIO_HAS_CO_AWAIT)
#define LEASEHOLD_ASIO_HAS_COROUTINES 1
#else
#define LEASEHOLD_ASIO_HAS_COROUTINES 0
#endif

namespace leasehold::inline v0::detail {

#ifdef LEASEHOLD_STANDALONE_ASIO
namespace net = ::asio;
using net_error_code = ::asio::error_code;
#else
namespace net = ::boost::asio;
using net_error_code = ::boost::system::error_code;
#endif

/// The handler's executor, or else the system executor. Said here, because the default of Asio itself is another one in
/// Boost 1.92, which runs the handler on the thread that completes the operation, which is one of the library's.
template <class Handler>
using executor_of_t = net::associated_executor_t<Handler, net::system_executor>;

/// See executor_of_t.
template <class Handler>
[[nodiscard]] executor_of_t<Handler> executor_of(const Handler& handler) noexcept
{
    return net::get_associated_executor(handler, net::system_executor{});
}

/// Starts an asynchronous operation. Asio's cancel_after and cancel_at make their timer with its executor. The timer's handler runs
/// where the operation's does, and must not do so at the same time.
struct initiation {
    using executor_type = net::system_executor;
    [[nodiscard]] executor_type get_executor() const noexcept { return {}; }
};

}  // namespace leasehold::inline v0::detail

#endif
