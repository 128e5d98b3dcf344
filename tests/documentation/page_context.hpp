// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_DOCUMENTATION_PAGE_CONTEXT_HPP
#define LEASEHOLD_TESTS_DOCUMENTATION_PAGE_CONTEXT_HPP

// What the fragments of docs/ may take for granted. Each of them becomes the body of a member function of a page_context.

#undef NDEBUG  // their assert()s are tests

#include <contract/odbc_connection.hpp>
#include <documentation/opentelemetry.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/metrics.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <atomic>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <functional>
#include <iostream>
#include <list>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace pages {

namespace lh = leasehold;
using namespace std::chrono_literals;

inline void work() { std::this_thread::sleep_for(1ms); }

template <class... Words>
void print(const Words&... words)
{
    ((std::cout << ' ' << words), ...);
    std::cout << std::endl;
}

/// A reader's own, which end the transaction.
inline void commit(SQLHDBC connection)
{
    if (!SQL_SUCCEEDED(SQLEndTran(SQL_HANDLE_DBC, connection, SQL_COMMIT))) throw std::runtime_error{"commit failed"};
}
inline void roll_back(SQLHDBC connection) { SQLEndTran(SQL_HANDLE_DBC, connection, SQL_ROLLBACK); }

struct page_context {
    const std::string connection_string = "Driver=SQLite3;Database=pages.db";
    lh::odbc_store store{connection_string};
    lh::basic_lease<lh::odbc_store> lease{store, "nightly-report"};

    /// Connects when a page uses it.
    struct on_demand {
        const std::string& connection_string;
        std::optional<leasehold_test::odbc_connection> connection{};

        operator SQLHDBC()
        {
            if (!connection) connection.emplace(connection_string).begin();
            return connection->handle();
        }
    } connection{connection_string};

    /// Asked to stop soon, so that what runs until then ends.
    std::stop_source stops{};
    std::stop_token stop = stops.get_token();
    std::jthread stops_soon{[this](const std::stop_token& at_once) {
        std::mutex mutex;
        std::unique_lock lock{mutex};
        std::condition_variable_any over;
        over.wait_for(lock, at_once, 100ms, [] { return false; });
        stops.request_stop();
    }};

    page_context() { store.create_schema(); }
    page_context(const page_context&) = delete;
    page_context& operator=(const page_context&) = delete;
};

template <class Fragment>
bool ran(const char* where)
{
    std::cout << where << std::endl;
    try {
        Fragment fragment;
        fragment.run();
        return true;
    }
    catch (const std::exception& failed) {
        std::cerr << where << ": " << failed.what() << std::endl;
        return false;
    }
}

}  // namespace pages

#endif
