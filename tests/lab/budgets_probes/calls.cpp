// SPDX-License-Identifier: BSL-1.0
// One call on a private PostgreSQL server, with the counters of gcov set to zero just before it and written just after it; see
// tests/lab/budgets. Another process holds what the call waits for, so that only the caller's own code is counted.
#include <leasehold/asio.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/child_process.hpp>
#include <support/environment.hpp>
#include <support/eventually.hpp>
#include <support/postgresql_server.hpp>
#include <support/thread_count.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

extern "C" void __gcov_reset();
extern "C" void __gcov_dump();

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

constexpr const char* name = "measured";
constexpr std::size_t permits = 16;
// The server's log and its list of sessions tell by this name which sessions are the holder's.
constexpr const char* as_holder = ";pqopt={application_name=holder}";
// A session that idles does its chores: it takes or gives back a session lock some milliseconds after a call.
constexpr auto chores = 500ms;

// Serves the lines of standard input until they end. It ends without writing its counters.
[[noreturn]] void hold(const std::string& connection_string)
{
    lh::odbc_store store{connection_string};
    lh::basic_lease lease{store, name};
    lh::lease_semaphore semaphore{store, "permits", permits};
    decltype(lease.acquire()) guard;
    std::vector<decltype(semaphore.acquire())> taken;
    for (std::string line; std::getline(std::cin, line);) {
        if (line == "take") guard = lease.acquire();
        if (line == "release") guard.release();
        if (line == "permits")
            while (taken.size() < permits / 2) taken.push_back(semaphore.acquire());
        std::cout << line << std::endl;
    }
    std::_Exit(EXIT_SUCCESS);
}

class scene {
public:
    explicit scene(const std::string& program) : holder_{{program, "hold", server_.connection_string() + as_holder}, {.capture = true}}
    {
        store_.create_schema();
    }

    [[nodiscard]] lh::odbc_store& store() noexcept { return store_; }
    [[nodiscard]] std::string sql(const std::string& text) { return server_.execute_sql(text); }

    void tell_holder(const std::string& what)
    {
        if (!holder_.write(what + "\n") || holder_.read_line() != what) throw std::runtime_error{"the holder failed: " + what};
    }

    void call(const std::function<void()>& body)
    {
        std::this_thread::sleep_for(chores);
        const std::size_t before = server_.log().size();
        std::remove("calls.gcda");  // of the call before: otherwise the counters would be added to its
        __gcov_reset();
        body();
        __gcov_dump();
        std::this_thread::sleep_for(chores);
        statements_ = 0;
        std::istringstream log{server_.log().substr(before)};
        for (std::string line; std::getline(log, line);)
            if (line.starts_with("leasehold ") && line.find(" holder ") == line.npos && line.find("LOG:  ") != line.npos) ++statements_;
    }

    // The same, where the holder has the lease until the call waits in the server.
    void contended_call(const std::function<void()>& body)
    {
        tell_holder("take");
        std::exception_ptr failure;
        std::thread releases{[&] {
            try {
                // An advisory lock that is waited for is the server's queue.
                const auto waits = [this] { return sql("select count(*) from pg_locks where not granted") != "0\n"; };
                if (!eventually(waits, 10s)) throw std::runtime_error{"nobody waits in the server"};
            } catch (...) {
                failure = std::current_exception();
            }
            holder_.write("release\n");
        }};
        call(body);
        releases.join();
        if (failure) std::rethrow_exception(failure);
        if (holder_.read_line() != "release") throw std::runtime_error{"the holder did not release"};
    }

    [[nodiscard]] long statements() const noexcept { return statements_; }
    [[nodiscard]] std::ptrdiff_t added_threads() const { return thread_count() - threads_before_; }

private:
    postgresql_server server_{{"-c", "log_statement=all", "-c", "log_line_prefix=%u %a "}};
    child_process holder_;
    std::ptrdiff_t threads_before_ = thread_count();
    lh::odbc_store store_{server_.connection_string()};
    long statements_ = 0;
};

template <class Guard>
void must_be_held(const Guard& guard)
{
    if (!guard) throw std::runtime_error{"the call was not granted"};
}

// The first time opens the sessions; the second is what counts.
void measure(scene& s, const std::string& what)
{
    lh::basic_lease lease{s.store(), name};
    lh::lease_semaphore semaphore{s.store(), "permits", permits};
    if (what == "permit") s.tell_holder("permits");
    for (int i = 0; i < 2; ++i) {
        decltype(lease.acquire()) guard;
        decltype(semaphore.acquire()) permit;
        if (what == "free")
            s.call([&] { guard = lease.try_acquire(); });
        else if (what == "contended")
            s.contended_call([&] { guard = lease.acquire(); });
        else if (what == "permit")
            s.call([&] { permit = semaphore.try_acquire(); });
        else
            s.contended_call([&] {
                boost::asio::io_context context;
                lh::async_acquire(lease, boost::asio::bind_executor(context, [&](auto ec, auto granted) {
                                      if (ec) throw std::system_error{ec};
                                      guard = std::move(granted);
                                  }));
                context.run();
            });
        if (what == "permit")
            must_be_held(permit);
        else
            must_be_held(guard);
    }
    std::printf("statements %ld\n", s.statements());
}

void count_threads_and_connections(const std::string& program)
{
    scene s{program};
    lh::basic_lease lease{s.store(), name};
    const auto guard = lease.try_acquire();
    must_be_held(guard);
    std::this_thread::sleep_for(chores);
    std::printf("threads %td\nconnections %s", s.added_threads(),
                s.sql("select count(*) from pg_stat_activity where usename = 'leasehold' and application_name <> 'holder'").c_str());
}

}  // namespace

int main(int argc, char** argv)
try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 2 && words[0] == "hold") hold(words[1]);
    if (words.size() != 1) throw std::runtime_error{"one of: free, contended, permit, asynchronous, held"};
    if (words[0] == "held") {
        count_threads_and_connections(argv[0]);
        return EXIT_SUCCESS;
    }
    scene s{argv[0]};
    measure(s, words[0]);
    return EXIT_SUCCESS;
} catch (const missing_requirement& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 77;
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return EXIT_FAILURE;
}
