// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_HPP
#define LEASEHOLD_ASIO_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/asio/acquire.hpp>
#include <leasehold/asio/acquire_all.hpp>
#include <leasehold/asio/hold.hpp>
#include <leasehold/asio/next_change.hpp>
#include <leasehold/asio/release.hpp>
#include <leasehold/asio/renew.hpp>
#include <leasehold/asio/try_begin.hpp>
#include <leasehold/leasehold.hpp>

#if LEASEHOLD_ASIO_HAS_COROUTINES
#include <leasehold/asio/lead.hpp>
#include <leasehold/asio/run_recurring.hpp>
#include <leasehold/asio/run_shards.hpp>
#include <leasehold/asio/run_while_held.hpp>
#endif

#endif
