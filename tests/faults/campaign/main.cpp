// SPDX-License-Identifier: BSL-1.0
// The fault campaign: contending processes, real databases, and faults from a seed. See docs/testing.md.
#include "check.hpp"
#include "circumstances.hpp"
#include "conductor.hpp"
#include "contention.hpp"

#include <support/environment.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <stdlib.h>

namespace {

constexpr int skipped = 77;
constexpr const char* usage = R"(usage: fault_campaign [--on postgresql|mariadb|galera|group_replication|patroni]
                      [--seconds N] [--seed N] [--right lease|held|permit|changing|shared|set|shards|fires] [--crowd]
                      [--only KIND] [--keep] [--history FILE]
       fault_campaign check FOLDER [--history FILE]
       fault_campaign check FILE.jsonl

  --on       the database (default: postgresql), a private server of the campaign's own
  --seconds  how long, 10 to 100000, beside the servers' start (default: 40)
  --seed     decides which faults come when, in which circumstances (TLS, language, names); what they hit is decided by how
             the processes happen to run
  --right    what the contenders contend for: one lease (default), one that two of them hold closed now and then, as operators do,
             permits of which two can be held, permits whose count changes between one and three, a shared lease for two readers
             or one writer, a set of three leases, twelve shards that they divide, or the fires of a schedule, two a second
  --crowd    beside the contenders 60 processes that hold 256 leases each; needs a minute or more
  --only     of the faults of network and servers only this kind, as the table of figures names it
  --keep     keep the records, also when there is nothing to object; they are always kept when there is
  --history  write the history of the contenders' lease to FILE.jsonl (JSON lines) or FILE.edn (for Jepsen's tools), also more
             than once; see docs/histories.md
)";

struct options {
    std::string on = "postgresql";
    unsigned seconds = 40;
    std::uint32_t seed = std::random_device{}();
    std::string right{campaign::right_names[0]};
    bool crowd = false;
    std::string only{};
    bool keep = false;
    std::vector<std::filesystem::path> histories{};
};

int misused(const std::string& why)
{
    std::cerr << "fault_campaign: " << why << '\n' << usage;
    return 2;
}

template <class Number>
bool parse(std::string_view text, Number& into)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    return error == std::errc{} && end == text.data() + text.size();
}

std::filesystem::path new_folder()
{
    // Not in the folder of a run, which is removed when it ends.
    std::string name = "/tmp/leasehold-campaign-XXXXXX";
    if (!::mkdtemp(name.data())) throw std::system_error{errno, std::generic_category(), "mkdtemp"};
    return name;
}

int run(const options& o)
{
    const std::filesystem::path records = new_folder();
    const auto replay = "fault_campaign --on " + o.on + " --seconds " + std::to_string(o.seconds) + " --seed " + std::to_string(o.seed) +
                        (o.right == campaign::right_names[0] ? "" : " --right " + o.right) + (o.crowd ? " --crowd" : "") +
                        (o.only.empty() ? "" : " --only " + o.only);
    campaign::circumstances around = campaign::drawn_circumstances(o.seed);
    around.right = o.right;
    around.crowd = o.crowd;
    // On two busy processors MariaDB does not recover from so many that reconnect at once through TLS.
    if (o.crowd && o.on != "postgresql") around.tls = false;
    around.only = o.only;
    std::cout << "campaign: " << replay << "   (records in " << records.string() << ")\n  "
              << (around.tls ? "TLS" : "no TLS") << ", messages in " << (around.language.empty() ? "English" : around.language)
              << ", " << around.right << " named " << around.name << std::endl;
    bool agrees = false;
    try {
        campaign::conduct(o.on, around, std::chrono::seconds{o.seconds}, o.seed, records);
        agrees = campaign::check(records, o.histories);
    } catch (const leasehold_test::missing_requirement&) {
        std::filesystem::remove_all(records);
        throw;
    } catch (const std::exception& error) {
        std::cerr << "fault_campaign: " << error.what() << '\n';
    }
    if (agrees && !o.keep) std::filesystem::remove_all(records);
    if (!agrees)
        std::cout << "FAILED. The records are in " << records.string() << "; judge them again: fault_campaign check "
                  << records.string() << "\nThe same faults again (not exactly the same run): " << replay << '\n';
    return agrees ? EXIT_SUCCESS : EXIT_FAILURE;
}

bool is_history_option(const std::vector<std::string>& arguments, std::size_t i)
{
    return arguments[i] == "--history" && i + 1 < arguments.size() && campaign::is_history_file(arguments[i + 1]);
}

int check(const std::vector<std::string>& arguments)
{
    if (arguments.size() == 2 && campaign::is_history_file(arguments[1]))
        return campaign::check_history_file(arguments[1]) ? EXIT_SUCCESS : EXIT_FAILURE;
    std::vector<std::filesystem::path> histories;
    for (std::size_t i = 2; i < arguments.size(); i += 2)
        if (is_history_option(arguments, i))
            histories.emplace_back(arguments[i + 1]);
        else
            return misused("after check FOLDER there can only be --history FILE.jsonl or FILE.edn");
    if (arguments.size() < 2) return misused("check needs a folder, or a history in JSON lines");
    return campaign::check(arguments[1], histories) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int run(const std::vector<std::string>& arguments)
{
    if (!arguments.empty() && arguments[0] == "check") return check(arguments);
    options o;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (argument == "--keep" || argument == "--crowd") {
            (argument == "--keep" ? o.keep : o.crowd) = true;
            continue;
        }
        if (i + 1 == arguments.size()) return misused("unknown option, or a value is missing: " + argument);
        const std::string& value = arguments[++i];
        if (argument == "--on")
            o.on = value;
        else if (argument == "--only")
            o.only = value;
        else if (argument == "--history" && campaign::is_history_file(value))
            o.histories.emplace_back(value);
        else if (argument == "--right" && std::ranges::find(campaign::right_names, value) != campaign::right_names.end())
            o.right = value;
        else if (argument == "--seconds" ? !parse(value, o.seconds) || o.seconds < 10 || o.seconds > 100000
                 : argument == "--seed"  ? !parse(value, o.seed)
                                         : true)
            return misused("unknown option, or a bad value: " + argument + " " + value);
    }
    return run(o);
}

}  // namespace

int main(int count, char** values)
{
    try {
        return run({values + 1, values + count});
    } catch (const leasehold_test::missing_requirement& missing) {
        std::cerr << (leasehold_test::servers_required() ? "MISSING: " : "SKIPPED: ") << missing.what() << '\n';
        return leasehold_test::servers_required() ? EXIT_FAILURE : skipped;
    } catch (const std::exception& error) {
        std::cerr << "fault_campaign: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
}
