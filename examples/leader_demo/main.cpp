// SPDX-License-Identifier: BSL-1.0
// ctest: --seconds 12

// Leader election by three processes of one service; examples/demo builds and runs it.
#include "check.hpp"
#include "roles.hpp"

#include <charconv>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::string_view usage = R"(usage: leader_demo [--store "Driver=..."] [--seconds N] [--keep]
       leader_demo serve NAME LEASE FILE    one replica of the service; the store is taken from LEASEHOLD_DEMO_STORE
       leader_demo check FOLDER             judge the records that --keep has kept

  --store    the database, an ODBC connection string (default: an SQLite file, removed at the end)
  --seconds  about how long it may take, 12 to 3600 (default: 20)
  --keep     leave the folder with the records behind, and say where it is
)";

int misused(std::string_view why)
{
    std::cerr << "leader_demo: " << why << "\n" << usage;
    return 2;
}

int conduct(const std::vector<std::string>& arguments)
{
    demo::conduct_options options;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        const bool has_value = i + 1 < arguments.size();
        if (argument == "--help" || argument == "-h") {
            std::cout << usage;
            return 0;
        }
        if (argument == "--keep") {
            options.keep = true;
        }
        else if (argument == "--store" && has_value) {
            options.store = arguments[++i];
            if (options.store.empty()) return misused("--store is empty");
        }
        else if (argument == "--seconds" && has_value) {
            const std::string& text = arguments[++i];
            int number = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
            if (error != std::errc{} || *end != '\0' || number < 12 || number > 3600)
                return misused("--seconds needs a number from 12 to 3600");
            options.length = std::chrono::seconds{number};
        }
        else {
            return misused(
                (argument == "--store" || argument == "--seconds" ? "a value is missing after " : "unknown option ") +
                argument);
        }
    }
    return demo::conduct(options);
}

int run(const std::vector<std::string>& arguments)
{
    const std::string role = arguments.empty() ? "" : arguments.front();
    if (role == "check") return arguments.size() == 2 ? demo::check(arguments[1]) : misused("check needs a folder");
    if (role == "serve") {
        const char* store = std::getenv(demo::store_variable);
        if (arguments.size() != 4) return misused("serve needs a name, a lease and a file");
        if (!store) return misused("serve needs LEASEHOLD_DEMO_STORE in the environment");
        return demo::serve({.name = arguments[1], .store = store, .lease = arguments[2], .records = arguments[3]});
    }
    return conduct(arguments);
}

}  // namespace

int main(int count, char** values)
{
    try {
        return run({values + 1, values + count});
    }
    catch (const std::exception& error) {
        std::cerr << "leader_demo: " << error.what() << "\n";
        return EXIT_FAILURE;
    }
}
