// SPDX-License-Identifier: BSL-1.0
// Where the leases are: five hosts with one line in their crontabs must not each lock a file of their own.
#include <tool/tool_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

using namespace leasehold_test;
using perms = std::filesystem::perms;

BOOST_AUTO_TEST_SUITE(tool_store)

struct nameless : tool_fixture {
    const std::map<std::string, std::string> nowhere{{"LEASEHOLD_DEFAULT_STORE_FILE", path("none")},
                                                     {"XDG_STATE_HOME", path("state")}};

    [[nodiscard]] std::map<std::string, std::string> nowhere_but(const std::string& variable, const std::string& value) const
    {
        auto all = nowhere;
        all[variable] = value;
        return all;
    }
};

BOOST_FIXTURE_TEST_CASE(nothing_is_run_and_nothing_looked_at_without_a_store_that_somebody_has_named, nameless)
{
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"run", "job", "--nowait", "--", "touch", path("ran")},
          {"elect", "job", "--", "touch", path("ran")},
          {"list"},
          {"show", "job"},
          {"watch"},
          {"wait", "job", "--free"},
          {"release", "job", "--force"},
          {"init"},
          {"doctor"},
          {"purge", "--unused-for", "1h", "--yes"}}) {
        const auto refused = run(words, nowhere);
        BOOST_TEST(refused.status.code == 64, words.front());
        BOOST_TEST(refused.err.find("leasehold: no store is named") == 0U, refused.err);
        BOOST_TEST(refused.err.find("into " + path("none")) != std::string::npos, refused.err);
        BOOST_TEST(refused.err.find("--local") != std::string::npos, refused.err);
    }
    BOOST_TEST(!std::filesystem::exists(path("ran")));
    BOOST_TEST(!std::filesystem::exists(path("state")));
}

BOOST_FIXTURE_TEST_CASE(a_store_that_is_named_and_empty_is_a_mistake, nameless)
{
    for (const char* option : {"--store", "--store-file", "--table"}) {
        const auto refused = run({"run", "job", option, "", "--", "touch", path("ran")});
        BOOST_TEST(refused.status.code == 64);
        BOOST_TEST(refused.err == std::string{"leasehold: "} + option + " is empty: set it, or leave it out\n");
    }
    for (const char* variable :
         {"LEASEHOLD_STORE", "LEASEHOLD_STORE_FILE", "LEASEHOLD_TABLE", "LEASEHOLD_DEFAULT_STORE_FILE"}) {
        const auto refused = run({"run", "job", "--", "touch", path("ran")}, {{variable, " "}});
        BOOST_TEST(refused.status.code == 64);
        BOOST_TEST(refused.err == std::string{"leasehold: "} + variable + " is empty: set it, or leave it out\n");
    }
    BOOST_TEST(!std::filesystem::exists(path("ran")));
}

BOOST_FIXTURE_TEST_CASE(local_is_a_file_in_a_folder_of_the_user_s_own, nameless)
{
    BOOST_TEST(run({"list", "--local"}, nowhere).status.success());
    BOOST_TEST(std::filesystem::exists(path("state/leasehold/leases.db")));
    BOOST_TEST((std::filesystem::status(path("state/leasehold")).permissions() == perms::owner_all));
    const auto homeless = run({"list", "--local"}, {{"XDG_STATE_HOME", ""}, {"HOME", ""}});
    BOOST_TEST(homeless.status.code == 64);
    BOOST_TEST(run({"list", "--local"}, {{"XDG_STATE_HOME", ""}, {"HOME", path("home")}}).status.success());
    BOOST_TEST(std::filesystem::exists(path("home/.local/state/leasehold/leases.db")));
}

BOOST_FIXTURE_TEST_CASE(the_first_that_is_named_counts_and_verbose_says_which, nameless)
{
    const std::string store = sqlite_connection_string(path("leases.db"));
    const std::string file = store_file();
    const auto says = [&](const std::vector<std::string>& words, const std::map<std::string, std::string>& environment) {
        std::vector<std::string> all{"list", "-v"};
        all.insert(all.end(), words.begin(), words.end());
        const auto result = run(all, environment);
        BOOST_TEST(result.status.success(), result.err);
        const std::size_t at = result.err.find("named by ");
        return at == std::string::npos ? result.err : result.err.substr(at, result.err.find('\n', at) - at);
    };
    const std::map<std::string, std::string> all{{"LEASEHOLD_STORE", store}, {"LEASEHOLD_STORE_FILE", file}};
    BOOST_TEST(says({"--store", store}, all) == "named by --store");
    BOOST_TEST(says({"--store-file", file}, all) == "named by --store-file " + file);
    BOOST_TEST(says({"--local"}, all) == "named by --local");
    BOOST_TEST(says({}, all) == "named by LEASEHOLD_STORE");
    BOOST_TEST(says({}, {{"LEASEHOLD_STORE_FILE", file}}) == "named by LEASEHOLD_STORE_FILE, which is " + file);
    BOOST_TEST(says({}, {}) == "named by " + file);
    const auto masked = run({"list", "-v", "--store", store + ";PWD=secret"});
    BOOST_TEST(masked.err.find("leasehold: the store is Driver=") == 0U, masked.err);
    BOOST_TEST(masked.err.find(";PWD=***, table leasehold; named by --store\n") != std::string::npos, masked.err);
    for (const char* two : {"--store", "--store-file"})
        BOOST_TEST(run({"list", "--local", two, store}).err.find("excludes") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_store_can_be_named_in_a_file, nameless)
{
    std::ofstream{path("store")} << "# the database of the tests\n\n"
                                 << sqlite_connection_string(path("leases.db")) << ";PWD=secret\n";
    std::filesystem::permissions(path("store"), perms::owner_read | perms::group_read | perms::others_read);
    const auto open = run({"list", "--store-file", path("store")}, nowhere);
    BOOST_TEST(open.status.success());
    BOOST_TEST(open.err.find("everybody on this host can read " + path("store")) != std::string::npos, open.err);
    std::filesystem::permissions(path("store"), perms::owner_read | perms::group_read);
    for (const char* variable : {"LEASEHOLD_STORE_FILE", "LEASEHOLD_DEFAULT_STORE_FILE"}) {
        const auto quiet = run({"list"}, nowhere_but(variable, path("store")));
        BOOST_TEST(quiet.status.success());
        BOOST_TEST(quiet.err == "");
    }
    BOOST_TEST(run({"list", "--store-file", path("none")}).err.find("No such file") != std::string::npos);
    BOOST_TEST(run({"list", "--store-file", path("none")}).status.code == 64);
}

// A user who can write it chooses the driver: code that runs as root, if root has a crontab.
BOOST_FIXTURE_TEST_CASE(a_host_s_store_that_others_can_write_is_refused, nameless)
{
    for (const perms others : {perms::group_write, perms::others_write}) {
        std::filesystem::permissions(store_file(), perms::owner_read | perms::owner_write | others);
        const auto refused = run_words("list");
        BOOST_TEST(refused.status.code == 64);
        BOOST_TEST(refused.err.find("is not used, because users other than its owner can write to it: chmod go-w it") !=
                       std::string::npos,
                   refused.err);
    }
    std::filesystem::permissions(store_file(), perms::owner_read);
    BOOST_TEST(run_words("list").status.success());
    if (::geteuid() == 0) {
        BOOST_REQUIRE(::chown(store_file().c_str(), 12345, static_cast<gid_t>(-1)) == 0);
        BOOST_TEST(run_words("list").err.find("belongs neither to root nor to you") != std::string::npos);
    }
}

// It was written for everybody; to go on as if it weren't there would split the hosts.
BOOST_FIXTURE_TEST_CASE(a_host_s_store_that_can_t_be_read_is_an_error_and_not_none, nameless)
{
    std::filesystem::create_directory(path("folder"));
    const auto refused = run({"list"}, nowhere_but("LEASEHOLD_DEFAULT_STORE_FILE", path("folder")));
    BOOST_TEST(refused.status.code == 64);
    BOOST_TEST(refused.err.find("can't read the store's file " + path("folder")) != std::string::npos, refused.err);
    std::ofstream{path("empty")} << "# nothing yet\n";
    BOOST_TEST(
        run({"list"}, nowhere_but("LEASEHOLD_DEFAULT_STORE_FILE", path("empty"))).err.find("no connection string in") !=
        std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
