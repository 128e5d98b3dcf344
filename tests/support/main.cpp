// SPDX-License-Identifier: BSL-1.0
// main() of every test program: Boost.Test's, and skipping where something is missing.
#include <support/environment.hpp>
#include <support/time_limit.hpp>

#define BOOST_TEST_NO_MAIN
#include <boost/test/execution_monitor.hpp>
#include <boost/test/unit_test.hpp>
#include <boost/test/unit_test_monitor.hpp>

#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace {

constexpr int skipped = 77;
bool something_missing = false;
leasehold_test::time_limit* limit = nullptr;  // not destroyed by exit(), which a child of fork() may call: it lacks the thread

int report_missing(const leasehold_test::missing_requirement& missing)
{
    const std::string& name = boost::unit_test::framework::current_test_unit().p_name.get();
    if (leasehold_test::servers_required())
        BOOST_ERROR(name << " needs what is not here, and LEASEHOLD_REQUIRE_SERVERS is set: " << missing.what());
    else
        std::cerr << "SKIPPED " << name << ": " << missing.what() << std::endl;
    something_missing = true;
    return 0;
}

bool initialise()
{
    boost::unit_test::framework::master_test_suite().p_name.value = "leasehold";
    boost::unit_test::unit_test_monitor_t::instance().register_exception_translator<leasehold_test::missing_requirement>(
        &report_missing);
    if (limit) boost::unit_test::framework::register_observer(*limit);
    return true;
}

}  // namespace

int main(int argc, char** argv)
{
    // A crash is a crash, with its core and its sanitizer report, not a failed check among others.
    std::string no_signals{"--catch_system_errors=no"};
    std::vector<char*> arguments(argv, argv + argc);
    arguments.insert(arguments.begin() + 1, no_signals.data());
    std::optional<leasehold_test::time_limit> watched;
    if (const auto seconds = leasehold_test::time_limit::from_environment()) limit = &watched.emplace(*seconds);
    const int result = boost::unit_test::unit_test_main(&initialise, static_cast<int>(arguments.size()), arguments.data());
    return result == 0 && something_missing ? skipped : result;
}
