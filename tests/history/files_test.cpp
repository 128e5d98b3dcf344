// SPDX-License-Identifier: BSL-1.0
// Histories in files: what is written is read back, as JSON lines and by Jepsen's conventions; the checker rejects the files in
// files/broken, each broken by hand in one place, and accepts those in files/right. docs/histories.md describes the formats.
#include "checker.hpp"
#include "edn.hpp"
#include "random_history.hpp"
#include "written.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

using namespace history;

namespace {

const std::filesystem::path files{LEASEHOLD_HISTORY_FILES};

std::vector<std::filesystem::path> files_in(const char* folder)
{
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator{files / folder})
        if (entry.path().extension() == ".jsonl") found.push_back(entry.path());
    return found;
}

written_history read(const std::filesystem::path& path)
{
    std::ifstream file{path};
    return read_json_lines(file);
}

std::string reason_not_to_read(const std::string& text)
{
    std::istringstream in{text};
    try {
        (void)read_json_lines(in);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "";
}

std::string edn_of(const std::vector<call>& calls)
{
    std::ostringstream out;
    write_edn(out, {calls, 0});
    return out.str();
}

// What Jepsen's tools make of it: each process does one thing at a time, and its completion is of what it invoked. Times count from the
// first call, which began at `first`. Throws std::runtime_error where that is not so, and where the text is not EDN.
std::vector<call> calls_in_edn(const std::string& text, instant first)
{
    std::vector<call> calls;
    std::map<std::int64_t, edn> invoked;  // of each process
    std::int64_t index = 0, last_time = 0;
    const auto require = [&](bool right, const char* what) {
        if (!right) throw std::runtime_error{"event " + std::to_string(index) + ": " + what};
    };
    for (edn_reader reader{text}; !reader.at_end(); ++index) {
        const edn event = reader.next(), &value = event.at("value");
        const std::string type = event.at("type").text_of(':'), operation = event.at("f").text_of(':');
        const std::int64_t process = event.at("process").integer(), time = event.at("time").integer();
        require(event.at("index").integer() == index && time >= last_time, "not in order");
        last_time = time;
        if (type == "invoke") {
            require(time == value.at("begin").integer(), "an invocation is at another time");
            require(invoked.emplace(process, event).second, "the process is in a call, or never came back from one");
            continue;
        }
        const auto begun = invoked.find(process);
        require(begun != invoked.end() && begun->second.at("f").text_of(':') == operation, "completes what was not invoked");
        const edn& asked = begun->second.at("value");
        require(asked.at("name").text_of('"') == value.at("name").text_of('"') &&
                    asked.at("owner").text_of('"') == value.at("owner").text_of('"') &&
                    asked.at("begin").integer() == value.at("begin").integer(),
                "completes another call");
        call c{.what = detail::operation_of(operation)};
        c.said = detail::answer_of(c.what, value.at("result").text_of(':'));
        require(type == (c.said == answer::unknown ? "info" : "ok"), "the type is not that of the result");
        c.name = value.at("name").text_of('"');
        c.owner = value.at("owner").text_of('"');
        c.token = value.at("token").integer();
        c.ttl = value.at("ttl").integer();
        c.begin = first + value.at("begin").integer();
        const edn& end = value.at("end");
        c.end = end.kind == 'n' ? never : first + end.integer();
        require(c.said == answer::unknown || c.end == first + time, "a completion is at another time");
        c.by = value.at("by").text_of('"');
        calls.push_back(c);
        if (c.said != answer::unknown) invoked.erase(begun);
    }
    return calls;
}

const std::string header = "{\"format\":\"leasehold history\",\"version\":1,\"clock_error\":0}\n";

call grant(instant begin, instant end)
{
    return {operation::acquire, answer::yes, "job", "a", 1, 10, begin, end, "p1"};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(history_files)

BOOST_AUTO_TEST_CASE(histories_broken_by_hand_are_rejected)
{
    const std::vector<std::filesystem::path> paths = files_in("broken");
    BOOST_TEST(paths.size() >= 8U);
    for (const std::filesystem::path& path : paths) {
        const written_history found = read(path);
        BOOST_TEST_CONTEXT(path) BOOST_TEST(!check(found.calls, found.clock_error).linearizable());
    }
}

BOOST_AUTO_TEST_CASE(histories_of_real_runs_are_accepted)
{
    const std::vector<std::filesystem::path> paths = files_in("right");
    BOOST_TEST(paths.size() >= 2U);
    for (const std::filesystem::path& path : paths) {
        const written_history found = read(path);
        BOOST_TEST(found.calls.size() > 20U);
        BOOST_TEST_CONTEXT(path) BOOST_TEST(check(found.calls, found.clock_error).explanation == "");
    }
}

BOOST_AUTO_TEST_CASE(what_is_written_as_json_lines_is_read_back)
{
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        written_history what{random_history{{.calls = 40, .unknown_of_100 = 30, .forced_of_100 = 20}, seed}.make(),
                             static_cast<instant>(seed)};
        what.calls[0].name = "a \"quoted\" \\ name\n\twith \x01 and \xc3\xa4";
        std::ostringstream out;
        write_json_lines(out, what);
        std::istringstream in{out.str()};
        BOOST_TEST((read_json_lines(in) == what));
    }
}

BOOST_AUTO_TEST_CASE(escapes_of_other_writers_are_read)
{
    std::istringstream in{header + R"( { "op" : "inspect", "result":"free","name":"\u00e4\/\u20ac","owner":"","token":0,"ttl":0,)"
                                   R"("begin":-5,"end":7,"by":"\b\f\r"})" "\n\n"};
    const written_history found = read_json_lines(in);
    BOOST_REQUIRE(found.calls.size() == 1U);
    BOOST_TEST(found.calls[0].name == "\xc3\xa4/\xe2\x82\xac");
    BOOST_TEST(found.calls[0].by == "\b\f\r");
    BOOST_TEST(found.calls[0].begin == -5);
}

BOOST_AUTO_TEST_CASE(what_is_no_history_is_refused_with_the_line_and_the_reason)
{
    std::string line = json_line(grant(1, 2));
    BOOST_TEST(reason_not_to_read(header + line) == "");
    BOOST_TEST(reason_not_to_read("") == "an empty file is no history");
    BOOST_TEST(reason_not_to_read(line).starts_with("line 1: the member \"format\" is missing"));
    const auto reason = [&](const std::string& from, const std::string& to) {
        std::string changed = line;
        const std::size_t at = changed.find(from);
        BOOST_REQUIRE(at != std::string::npos);
        return reason_not_to_read(header + changed.replace(at, from.size(), to));
    };
    BOOST_TEST(reason("granted", "yes") ==
               "line 2: \"yes\" is no result of acquire; its results are \"granted\", \"busy\" and \"unknown\"");
    BOOST_TEST(reason("\"acquire\"", "\"lock\"") == "line 2: unknown operation \"lock\"");
    BOOST_TEST(reason("\"end\":2", "\"end\":0") == "line 2: \"end\" is before \"begin\"");
    BOOST_TEST(reason("\"end\":2", "\"end\":null") == "line 2: only a call of unknown result may have no \"end\"");
    BOOST_TEST(reason("\"token\":1", "\"token\":0") == "line 2: a grant has a \"token\" of 1 or more");
    BOOST_TEST(reason("\"token\":1", "\"token\":\"1\"") == "line 2: \"token\" has to be an integer");
    BOOST_TEST(reason("\"ttl\":10,", "") == "line 2: the member \"ttl\" is missing");
    BOOST_TEST(reason("\"ttl\":10", "\"ttl\":10,\"ttl\":11") == "line 2: the member \"ttl\" stands there twice");
    BOOST_TEST(reason("\"ttl\"", "\"tll\":1,\"ttl\"") == "line 2: unknown member \"tll\"");
    BOOST_TEST(reason("}", "} x") == "line 2: nothing may follow the object");
    BOOST_TEST(reason("}", "").starts_with("line 2: expected ','"));
}

BOOST_AUTO_TEST_CASE(edn_has_an_invocation_and_a_completion_of_each_call)
{
    BOOST_TEST(edn_of({grant(100, 102)}) ==
               "{:index 0, :time 0, :type :invoke, :process 0, :f :acquire, "
               ":value {:name \"job\", :owner \"a\", :ttl 10, :begin 0, :by \"p1\"}}\n"
               "{:index 1, :time 2, :type :ok, :process 0, :f :acquire, "
               ":value {:name \"job\", :owner \"a\", :ttl 10, :token 1, :begin 0, :end 2, :result :granted, :by \"p1\"}}\n");
}

BOOST_AUTO_TEST_CASE(edn_never_uses_a_process_again_after_a_call_of_unknown_outcome)
{
    call lost{operation::acquire, answer::unknown, "job", "a", 0, 10, 1, never, "p1"};
    call overlapping = grant(2, 4);
    const std::string text = edn_of({lost, overlapping, grant(4, 5), grant(6, 7)});
    BOOST_TEST(text.find(":type :info, :process 0") != std::string::npos);
    BOOST_TEST(text.find(":end nil, :result :unknown") != std::string::npos);
    const auto count = [&](const std::string& what) {
        int found = 0;
        for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
        return found;
    };
    BOOST_TEST(count(":process 0") == 2);
    BOOST_TEST(count(":process 1") == 4);  // what ends when another begins overlaps it
    BOOST_TEST(count(":process 2") == 2);
}

BOOST_AUTO_TEST_CASE(what_is_written_as_edn_is_read_back)
{
    const auto key = [](const call& c) { return std::tuple{c.begin, c.end, c.what, c.said, c.owner, c.token, c.ttl}; };
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        std::vector<call> calls = random_history{{.calls = 40, .unknown_of_100 = 30, .forced_of_100 = 20}, seed}.make();
        for (call& each : calls) each.name = "a \"quoted\" \\ name\n\twith \x01, {:braces [} and \xc3\xa4";
        std::vector<call> read = calls_in_edn(edn_of(calls), std::ranges::min(calls, {}, &call::begin).begin);
        std::ranges::sort(calls, {}, key);
        std::ranges::sort(read, {}, key);
        BOOST_TEST((read == calls), "seed " << seed);
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_edn_is_seen)
{
    const std::string right = edn_of({grant(100, 102)});
    BOOST_TEST(calls_in_edn(right, 100).size() == 1U);
    for (const auto& [from, to] : {std::pair{"{:index", "{index"}, {":name \"job\"", ":name \"job"}, {":value {", ":value "},
                                   {":ttl 10", ":ttl"}, {":ttl 10", ":ttl 1O"}, {":type :ok", ":type ok"}, {"job", "j\\xb"},
                                   {":process 0", ":process nil"}, {":type :ok", ":type :info"}, {":by", ":begin"}, {"}}\n{", "}\n{"}}) {
        std::string wrong = right;
        wrong.replace(wrong.find(from), std::string_view{from}.size(), to);
        BOOST_CHECK_THROW(calls_in_edn(wrong, 100), std::runtime_error);
    }
}

BOOST_AUTO_TEST_SUITE_END()
