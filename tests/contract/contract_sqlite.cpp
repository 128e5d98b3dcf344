// SPDX-License-Identifier: BSL-1.0
#include <contract/contract.hpp>
#include <contract/odbc_errors.hpp>
#include <contract/odbc_fixture.hpp>
#include <contract/odbc_handover.hpp>
#include <contract/odbc_health.hpp>
#include <contract/odbc_purge.hpp>

#include <support/environment.hpp>
#include <support/temporary_directory.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#if defined(__linux__)
#include <csignal>
#include <sys/mount.h>
#include <sys/resource.h>
#endif

namespace {

namespace lh = leasehold;
using namespace std::chrono_literals;

struct sqlite_database {
    leasehold_test::temporary_directory folder;
    std::string connection_string() const { return leasehold_test::sqlite_connection_string(folder.path() / "leases.db"); }

    lh::odbc_store store{connection_string()};
    lh::odbc_store another{connection_string()};

    sqlite_database() { store.create_schema(); }
};

// One writer at a time is SQLite's own rule, so the application's transaction is one that reads: it goes on seeing the
// database as it was when it began.
class reading_transaction {
public:
    explicit reading_transaction(const std::string& connection_string) : mine_{connection_string}, others_{connection_string}
    {
        mine_.begin();
        before_ = rows_seen_by(mine_);
    }

    bool still_open()
    {
        const bool sees_the_past = rows_seen_by(mine_) == before_ && rows_seen_by(others_) != before_;
        mine_.roll_back();
        return sees_the_past && rows_seen_by(mine_) != before_;
    }

private:
    static std::string rows_seen_by(leasehold_test::odbc_connection& connection)
    {
        return connection.execute("select count(*) from leasehold");
    }

    leasehold_test::odbc_connection mine_;
    leasehold_test::odbc_connection others_;
    std::string before_;
};

struct sqlite_fixture : leasehold_test::odbc_fixture<sqlite_database> {
    using odbc_fixture::database;

    auto open_transaction() { return reading_transaction{database().connection_string()}; }

    // SQLite's clock is that of the process that runs the statement: hosts of one file have one clock, right or wrong.
    std::vector<lh::duration> wrong_clocks() const
    {
        return leasehold_test::sanitized ? std::vector<lh::duration>(4, 0h) : std::vector<lh::duration>(4, 5h);
    }
};

const lh::contract::suite<sqlite_fixture> contract{"sqlite"};
const leasehold_test::purge_suite purging{"sqlite_purge", [] { return sqlite_fixture::database().connection_string(); },
                                          {"SQLite", " - cast(1000 * ", " as integer)", "0", "'job-' || a.n || '-' || b.n",
                                           "text", "integer"}};

BOOST_AUTO_TEST_SUITE(sqlite_errors)

struct file_fixture {
    leasehold_test::temporary_directory folder;
    std::string connection_string = leasehold_test::sqlite_connection_string(folder.path() / "own.db");
};

BOOST_FIXTURE_TEST_CASE(table_that_lacks_a_column_is_told, file_fixture)
{
    leasehold_test::check_missing_columns(connection_string, {});
}

BOOST_FIXTURE_TEST_CASE(health_says_what_a_probe_wants_to_know, file_fixture)
{
    leasehold_test::check_health(connection_string, {});
}

BOOST_FIXTURE_TEST_CASE(table_that_is_of_a_later_version_is_refused, file_fixture)
{
    leasehold_test::check_schema_version(connection_string);
}

BOOST_AUTO_TEST_CASE(wrong_connection_strings_are_named)
{
    leasehold_test::check_connection_strings(leasehold_test::sqlite_connection_string("unused.db"));
}

BOOST_FIXTURE_TEST_CASE(missing_table_is_named_and_created, file_fixture)
{
    leasehold_test::check_missing_table(connection_string, {"HY000", "42S02"});
}

BOOST_FIXTURE_TEST_CASE(schema_can_be_created_by_many_at_once, file_fixture)
{
    leasehold_test::check_schema_created_by_many(connection_string);
}

BOOST_FIXTURE_TEST_CASE(table_from_before_is_taken_over_by_adding_a_token_column, file_fixture)
{
    leasehold_test::odbc_connection own{connection_string};
    leasehold_test::check_taking_a_table_over(connection_string, [&own](const std::string& sql) { own.execute(sql); },
                                              "text", "integer", "0", "(strftime('%s', 'now') + 3600) * 1000",
                                              {"HY000", "42S22"});
}

BOOST_FIXTURE_TEST_CASE(file_that_cannot_be_opened_is_named, file_fixture)
{
    lh::odbc_store nowhere{leasehold_test::sqlite_connection_string(folder.path() / "no such folder" / "leases.db")};
    leasehold_test::check_failure(nowhere, {.code = lh::errc::store_unavailable, .words = {"path"}});
    BOOST_CHECK_EXCEPTION((void)nowhere.now(), lh::store_error,
                          [](const lh::store_error& error) { return error.code() == lh::errc::store_unavailable; });
    std::ofstream{folder.path() / "text"} << std::string(4096, 'x');
    lh::odbc_store text{leasehold_test::sqlite_connection_string(folder.path() / "text")};
    leasehold_test::check_failure(text, {.code = lh::errc::store_unavailable, .words = {"not an SQLite database"}});
}

// Each connection would have a database of its own, and grant there what the others have granted.
BOOST_FIXTURE_TEST_CASE(database_that_is_no_file_is_refused, file_fixture)
{
    // Keeps the driver loaded to the end: of leaks in what was unloaded, LeakSanitizer does not know that they are the driver's.
    static const auto* const open = new leasehold_test::odbc_connection{connection_string};
    static_cast<void>(open);
    const std::string driver = connection_string.substr(0, connection_string.find(';') + 1);
    for (const char* rest : {"Database=:memory:", "Database=", "", "Databse=leases.db"}) {
        BOOST_TEST_CONTEXT("connection string " << driver << rest)
        {
            lh::odbc_store nowhere{driver + rest};
            leasehold_test::check_failure(nowhere, {.code = lh::errc::store_unavailable, .words = {"Database=", "names no file"}});
            std::error_code ec;
            nowhere.create_schema(ec);
            BOOST_TEST(ec == make_error_code(lh::errc::store_unavailable));
        }
    }
    lh::observing_odbc_store observing{driver + "Database=:memory:"};
    leasehold_test::check_failure(observing, {.code = lh::errc::store_unavailable, .words = {"Database="}});
}

BOOST_FIXTURE_TEST_CASE(blanks_beside_keywords_lead_to_the_same_file, file_fixture)
{
    lh::odbc_store store{connection_string};
    store.create_schema();
    std::string apart = connection_string;
    apart.replace(apart.find(";Database="), 10, ";\n  Database = ");
    lh::odbc_store other{apart};
    std::error_code ec;
    BOOST_TEST(store.try_acquire("name", "one", 1h, ec).granted());
    BOOST_TEST(!other.try_acquire("name", "another", 1h, ec).granted());
    BOOST_TEST(!ec, ec.message());
}

BOOST_FIXTURE_TEST_CASE(read_only_database_is_named, file_fixture)
{
    lh::odbc_store writing{connection_string};
    writing.create_schema();
    lh::odbc_options options;
    options.on_connect = {"pragma query_only = on"};
    lh::odbc_store reading{connection_string, options};
    leasehold_test::check_failure(reading, {.code = lh::errc::store_failure, .words = {"read-only"}, .can_read = true});
}

// As many names as fit, each after the one before in the table's order, and then one more.
template <class Store>
void check_full(Store& store)
{
    const std::string owner(lh::max_owner_bytes, 'o');
    const auto name = [](int i) { return std::string(lh::max_name_bytes - 6, 'n') + std::to_string(100'000 + i); };
    std::error_code ec;
    int i = 0;
    for (; i < 10'000 && !ec; ++i) static_cast<void>(store.try_acquire(name(i), owner, 1h, ec));
    BOOST_TEST(ec == make_error_code(lh::errc::store_failure));
    leasehold_test::check_failure(
        store, {.code = lh::errc::store_failure, .words = {"full"}, .can_read = true, .name = name(i), .owner = owner});
}

BOOST_FIXTURE_TEST_CASE(full_database_is_named, file_fixture)
{
    lh::odbc_options options;
    options.on_connect = {"pragma max_page_count = 20", "pragma synchronous = off"};
    lh::odbc_store store{connection_string, options};
    store.create_schema();
    check_full(store);
}

#if defined(__linux__)
class small_disk {
public:
    explicit small_disk(const std::filesystem::path& path) : path_{path}
    {
        std::filesystem::create_directory(path_);
        mounted_ = ::mount("leasehold-contract", path_.c_str(), "tmpfs", 0, "size=256k") == 0;
        if (!mounted_) BOOST_TEST_MESSAGE("not run: mounting a small disk needs root");
    }
    small_disk(const small_disk&) = delete;
    small_disk& operator=(const small_disk&) = delete;
    ~small_disk()
    {
        if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
    }

    [[nodiscard]] bool mounted() const noexcept { return mounted_; }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
    bool mounted_ = false;
};

BOOST_FIXTURE_TEST_CASE(full_disk_is_named, file_fixture)
{
    const small_disk disk{folder.path() / "disk"};
    if (!disk.mounted()) return;
    lh::odbc_options options;
    options.on_connect = {"pragma synchronous = off"};
    lh::odbc_store store{leasehold_test::sqlite_connection_string(disk.path() / "leases.db"), options};
    store.create_schema();
    check_full(store);
}

std::size_t descriptors_in(const std::filesystem::path& folder)
{
    std::size_t count = 0;
    for (const auto& each : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        std::error_code ec;
        const std::string file = std::filesystem::read_symlink(each, ec).string();
        if (!ec && file.starts_with(folder.string())) ++count;
    }
    return count;
}

// SQLite rolls back by itself when a commit can't be written, and the driver doesn't notice. `stop` lets nothing more be written, and
// `go_on` does again.
template <class Stop, class GoOn>
void check_release_of_many_after_failed_commit(const std::filesystem::path& folder, lh::errc expected, Stop stop, GoOn go_on)
{
    {
        lh::odbc_options options;
        options.on_connect = {"pragma synchronous = off"};
        lh::odbc_store store{leasehold_test::sqlite_connection_string(folder / "leases.db"), options};
        store.create_schema();
        std::error_code ec;
        std::vector<lh::term_release> terms;
        for (const char* name : {"a", "b", "c", "d"}) terms.push_back({name, "o", store.try_acquire(name, "o", 1h, ec).token, {}});
        const std::span<const lh::term_release> all{terms};
        std::vector<lh::batch_answer> answers(2, lh::batch_answer::unknown);
        stop();
        store.release_many(all.first(2), answers, ec);
        go_on();
        BOOST_TEST(ec == make_error_code(expected), ec.message());
        BOOST_TEST((answers == std::vector<lh::batch_answer>(2, lh::batch_answer::unknown)));
        for (const auto& two : {all.last(2), all.first(2)}) {
            answers.assign(2, lh::batch_answer::unknown);
            store.release_many(two, answers, ec);
            BOOST_TEST(!ec, ec.message());
            BOOST_TEST((answers == std::vector<lh::batch_answer>(2, lh::batch_answer::yes)), "released " << two.front().name);
        }
        BOOST_TEST(store.batch_size() > 1);
    }
    BOOST_TEST(descriptors_in(folder) == 0U);
}

BOOST_FIXTURE_TEST_CASE(after_a_full_disk_a_batch_is_released_and_no_connection_stays_open, file_fixture)
{
    const small_disk disk{folder.path() / "disk"};
    if (!disk.mounted()) return;
    check_release_of_many_after_failed_commit(
        disk.path(), lh::errc::store_failure,
        [&] {
            std::ofstream filler{disk.path() / "filler"};
            while (filler << std::string(4096, 'x') << std::flush) {}
        },
        [&] { std::filesystem::remove(disk.path() / "filler"); });
}

BOOST_FIXTURE_TEST_CASE(after_a_failed_write_a_batch_is_released_and_no_connection_stays_open, file_fixture)
{
    ::rlimit before{};
    BOOST_REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
    check_release_of_many_after_failed_commit(
        folder.path(), lh::errc::store_failure,
        [&] {
            const ::rlimit nothing{1, before.rlim_max};
            BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &nothing) == 0);
        },
        [&] { BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0); });
    std::signal(SIGXFSZ, ignored);
}
#endif

BOOST_FIXTURE_TEST_CASE(database_locked_by_somebody_else_is_a_conflict_and_then_works, file_fixture)
{
    lh::odbc_options options;
    options.call_timeout = 3s;  // enough for what works, on a busy machine
    lh::odbc_store store{connection_string, options};
    store.create_schema();
    leasehold_test::odbc_connection writer{connection_string};
    writer.execute("begin immediate");
    std::error_code ec;
    const auto begun = std::chrono::steady_clock::now();
    BOOST_TEST(!store.try_acquire("name", "owner", 1h, ec).granted());
    BOOST_TEST(std::chrono::steady_clock::now() - begun < 60s);  // the driver's own would be 100 s
    BOOST_TEST((ec == lh::errc::store_conflict || ec == lh::errc::store_timeout), ec.message());
    writer.execute("rollback");
    leasehold_test::check_works(store);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
