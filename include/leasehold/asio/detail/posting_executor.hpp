// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_DETAIL_POSTING_EXECUTOR_HPP
#define LEASEHOLD_ASIO_DETAIL_POSTING_EXECUTOR_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/asio/detail/net.hpp>

#ifdef LEASEHOLD_STANDALONE_ASIO
#include <asio/any_io_executor.hpp>
#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>
#include <asio/is_executor.hpp>
#include <asio/require.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#else
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/is_executor.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#endif

#include <type_traits>

namespace leasehold::inline v0::detail {

/// Whether an executor can be told to call nothing within post(). That of an any_completion_handler can't, and has no context, either.
template <class Executor>
inline constexpr bool can_post_on =
    net::is_executor<Executor>::value || net::can_require<Executor, net::execution::blocking_t::never_t>::value;

/// The executor that gets what is for such an executor first.
template <class Executor>
using posting_executor_t = std::conditional_t<can_post_on<Executor>, Executor, net::any_io_executor>;

/// The executor inside, if it is one of these; else the system executor.
template <class... Inside, class Executor>
net::any_io_executor executor_inside(const Executor& executor)
{
    net::any_io_executor found{net::system_executor{}};
    const auto take = [&found](const auto* inside) {
        if (inside) found = *inside;
        return inside != nullptr;
    };
    static_cast<void>((take(executor.template target<Inside>()) || ...));
    return found;
}

/// See posting_executor_t. Only the system executor may throw: it may have no memory.
template <class Executor>
posting_executor_t<Executor> posting_executor(const Executor& executor)
{
    if constexpr (can_post_on<Executor>)
        return executor;
    else
        return executor_inside<net::io_context::executor_type, net::strand<net::io_context::executor_type>,
                               net::strand<net::any_io_executor>, net::thread_pool::executor_type,
                               net::strand<net::thread_pool::executor_type>>(executor);
}

}  // namespace leasehold::inline v0::detail

#endif
