// SPDX-License-Identifier: BSL-1.0
// A store around another one says what that one says about a failure.
#include <leasehold/detail/counted_store.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/store/faulty_store.hpp>
#include <leasehold/store/hooked_store.hpp>

#include <support/explaining_store.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <string>
#include <system_error>
#include <thread>

BOOST_AUTO_TEST_SUITE(forwarding_store_decorators_test)

namespace lh = leasehold;
using namespace leasehold_test;

namespace {

constexpr auto ignore_all = [](const lh::store_call&, const lh::store_call_report&) noexcept {};
constexpr auto no_fault = [](const lh::store_call&) noexcept { return lh::store_fault::none; };

template <class Store>
std::string what_an_attempt_throws(Store& store)
{
    lh::basic_lease lease{store, "n"};
    try {
        lease.try_acquire().release();
    }
    catch (const lh::store_error& e) {
        return e.what();
    }
    return "nothing";
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_passes_on_the_diagnostics_of_the_store_in_it)
{
    explaining_store explains;
    explains.outage = true;
    lh::hooked_store hooked{explains, ignore_all};
    lh::faulty_store faulty{explains, no_fault};
    lh::hooked_store hooked_faulty{faulty, ignore_all};
    lh::detail::counted_store counted{explains, lh::steady_clock{}, lh::detail::permit_names{"n", "/", "permits", 5, {}}};
    const std::string all = "leasehold: try_acquire 'n': the store can't be reached: start the server "
                            "[SQLSTATE 08S01, native 7: connection refused]";
    BOOST_TEST(what_an_attempt_throws(explains) == all);
    BOOST_TEST(what_an_attempt_throws(hooked) == all);
    BOOST_TEST(what_an_attempt_throws(faulty) == all);
    BOOST_TEST(what_an_attempt_throws(hooked_faulty) == all);
    BOOST_TEST(what_an_attempt_throws(counted) == all);
}

BOOST_AUTO_TEST_CASE(a_fault_of_the_plan_is_said_to_be_one_to_the_thread_that_met_it)
{
    explaining_store explains;
    std::atomic<lh::store_fault> fault = lh::store_fault::lose_request;
    lh::faulty_store faulty{explains, [&](const lh::store_call&) noexcept { return fault.load(); }};
    BOOST_TEST(what_an_attempt_throws(faulty) ==
               "leasehold: try_acquire 'n': the store can't be reached: the plan of a faulty_store says so");
    fault = lh::store_fault::lose_reply;
    std::error_code ec;
    faulty.try_acquire("m", "o", lh::duration{1}, ec);
    BOOST_TEST(ec == lh::errc::store_timeout);
    BOOST_TEST(faulty.diagnostics().advice == "the plan of a faulty_store says so");
    std::string elsewhere = "?";
    std::thread{[&] { elsewhere = faulty.diagnostics().advice; }}.join();
    BOOST_TEST(elsewhere == "");
    fault = lh::store_fault::none;
    explains.outage = true;
    faulty.try_acquire("m", "o", lh::duration{1}, ec);
    BOOST_TEST(faulty.diagnostics().sqlstate == "08S01");
}

BOOST_AUTO_TEST_SUITE_END()
