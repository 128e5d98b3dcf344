// SPDX-License-Identifier: BSL-1.0

// A service of several replicas with threads: one replica writes a journal, the others wait for their turn.
//
//     LEASEHOLD_STORE='Driver=SQLite3;Database=service.db' thread_service FOLDER
//
// FOLDER/ready         exists while this replica leads: for a readiness probe (test -e)
// FOLDER/metrics.prom  what the store and the lease do: for Prometheus' node_exporter
//
// On SIGTERM or SIGINT it ends the piece of work that it does, releases the lease, so that another replica leads at once, and
// ends. docs/service.md explains it piece by piece; asio_service is the same idea without threads.
#include "connection.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/metrics.hpp>
#include <leasehold/odbc/fence.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <unistd.h>

namespace lh = leasehold;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// The file exists until this object goes, or the term ends: then it is removed also while a call to the database hangs.
class ready_file {
public:
    ready_file(fs::path file, const std::stop_token& term) : file_{std::move(file)}
    {
        std::ofstream{file_} << "leads\n";
        on_end_.emplace(term, [this] { remove(); });
    }
    ready_file(const ready_file&) = delete;
    ready_file& operator=(const ready_file&) = delete;
    ~ready_file() { remove(); }

private:
    void remove() const
    {
        std::error_code ignored;
        fs::remove(file_, ignored);
    }

    fs::path file_;
    std::optional<std::stop_callback<std::function<void()>>> on_end_;
};

/// Replaces the file as a whole: its reader never sees half of it.
void write_metrics(const lh::metrics& metrics, const fs::path& file)
{
    const fs::path next = file.string() + ".next";
    {
        std::ofstream out{next};
        metrics.write_prometheus(out);
    }
    std::error_code failed;
    fs::rename(next, file, failed);
    if (failed) std::cerr << file << ": " << failed.message() << std::endl;
}

/// One piece of work, in one transaction. False: the term is over by the database's clock, and nothing was written.
template <class Guard>
bool write_entry(connection& database, const Guard& guard)
{
    if (!lh::odbc::fence(database.handle(), guard)) {
        database.roll_back();
        return false;
    }
    database.run("insert into service_journal values (" + std::to_string(guard.token().value()) + ")");
    database.commit();
    return true;
}

/// Under a lease, since PostgreSQL's "if not exists" fails where two replicas create the table at the same moment.
void create_table(lh::odbc_store& store, connection& database)
{
    lh::basic_lease migration{store, "thread-service-tables", lh::lease_terms{.ttl = 3s}};
    const auto guard = migration.acquire();
    database.run("create table if not exists service_journal (token bigint)");
    database.commit();
}

/// Returns after `pause`, or as soon as `stop` is asked to stop.
void wait_between(const std::stop_token& stop, std::chrono::milliseconds pause)
{
    std::mutex mutex;
    std::unique_lock lock{mutex};
    std::condition_variable_any woken;
    woken.wait_for(lock, stop, pause, [] { return false; });
}

int main(int argc, char** argv)
{
    const char* const connection_string = std::getenv("LEASEHOLD_STORE");
    if (argc != 2 || !connection_string) {
        std::cerr << "usage: LEASEHOLD_STORE=CONNECTION-STRING thread_service FOLDER\n";
        return 2;
    }
    const fs::path folder = argv[1];

    // Before any thread starts, so that the signals reach only the sigwait() below.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);

    bool failed = false;
    try {
        fs::remove(folder / "ready");  // left there if this replica was killed while it led
        lh::metrics metrics;           // before the store that reports to it, and its leases
        lh::odbc_store store{connection_string};
        store.create_schema();
        lh::hooked_store observed{store, std::ref(metrics)};
        lh::basic_lease lease{observed, "thread-service", lh::lease_terms{.ttl = 3s}};
        lh::leader_election election{lease,
                                     {.on_error = [](const lh::store_error& e) { std::cerr << e.what() << std::endl; }}};
        connection database{connection_string};
        create_table(store, database);

        // Also while this replica does not lead, and once more when it has stopped.
        std::jthread counts{[&](const std::stop_token& stop) {
            for (;;) {
                write_metrics(metrics, folder / "metrics.prom");
                if (stop.stop_requested()) return;
                wait_between(stop, 1s);
            }
        }};
        std::jthread leads{[&](const std::stop_token& stop) {
            try {
                election.run(stop, [&](auto& term) {
                    std::cout << "leads with token " << term.token() << std::endl;
                    const ready_file ready{folder / "ready", term.stop_token()};
                    while (term.held() && write_entry(database, term.guard())) wait_between(term.stop_token(), 100ms);
                    std::cout << "leads no more" << std::endl;
                });
            }
            catch (const std::exception& e) {
                std::cerr << e.what() << std::endl;
                failed = true;
                kill(getpid(), SIGTERM);
            }
        }};
        std::cout << "waits for its turn" << std::endl;

        int signal = 0;
        sigwait(&signals, &signal);
    }  // asks the thread to stop and waits for it: the piece of work ends, then the lease is released
    catch (const std::exception& e) {
        std::cerr << e.what() << std::endl;
        failed = true;
    }
    std::cout << "has ended" << std::endl;
    return failed ? 1 : 0;
}
