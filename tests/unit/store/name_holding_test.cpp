// SPDX-License-Identifier: BSL-1.0
// Names that are held closed: what the contract (tests/contract/holds.hpp) has no means to see.
#include <leasehold/leasehold.hpp>

#include <support/eventually.hpp>
#include <support/printing.hpp>
#include <support/scripted_store.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace name_holding_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using memory_type = lh::basic_memory_store<lh::manual_clock>;

namespace {

struct scene {
    lh::manual_clock clock;
    memory_type store{clock};
    std::error_code ec;

    auto lease(std::string_view name, std::string owner)
    {
        return lh::basic_lease{store, name, lh::lease_terms{.ttl = 1h}, clock, lh::fixed_owner_id{std::move(owner)}, lh::no_renewal{}};
    }
};

// Answers attempts, or requests to hand over, with an error that a hold finds by itself otherwise.
struct refusing_store : lh::forwarding_store<memory_type, refusing_store> {
    using forwarding_store::forwarding_store;

    auto around(const lh::store_call& call, std::error_code& ec, auto make)
    {
        if (call.operation != refused) return make();
        ec = with;
        return decltype(make()){};
    }

    lh::store_operation refused = lh::store_operation::try_acquire;
    std::error_code with;
};

// Has no memory left for the answer to an attempt.
struct answerless_store : lh::forwarding_store<memory_type, answerless_store> {
    using forwarding_store::forwarding_store;

    auto around(const lh::store_call& call, std::error_code&, auto make)
    {
        auto answer = make();
        if (call.operation == lh::store_operation::try_acquire) throw std::bad_alloc{};
        return answer;
    }
};

// A store that does to its calls, one after another, what a script says, and then nothing.
template <class Store>
struct fault_script {
    std::vector<lh::store_fault> faults;
    std::size_t calls = 0;
    lh::faulty_store<Store, std::function<lh::store_fault(const lh::store_call&)>> store;

    fault_script(Store& of, std::vector<lh::store_fault> script)
        : faults{std::move(script)}, store{of, [this](const lh::store_call&) { return next(); }}
    {
    }

    lh::store_fault next() { return calls < faults.size() ? faults[calls++] : lh::store_fault::none; }
};

bool names_the_mark(const std::system_error& e)
{
    return e.code() == lh::errc::invalid_owner && std::string{e.what()}.find("'held closed '") != std::string::npos;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(name_holding_test, scene)

BOOST_AUTO_TEST_CASE(each_holder_that_comes_before_is_asked)
{
    BOOST_TEST_PASSPOINT();
    auto first = lease("n", "a"), second = lease("n", "b");
    auto guard = first.try_acquire();
    std::atomic<bool> held = false, asked = false;
    {
        const std::jthread waiting{[&] {
            const auto next = second.acquire();
            std::error_code failed;
            asked = eventually([&] {
                clock.advance(20ms);
                return store.inspect("n", failed)->handover_request == "hold: x";
            });
        }};
        BOOST_TEST(eventually([&] { return store.local_waiters().waiting() == 1U; }));
        std::error_code failed;
        const std::jthread operating{[&] { held = store.hold("n", 1h, "x", failed); }};
        BOOST_TEST(eventually([&] { return store.inspect("n", ec)->handover_request.has_value(); }));
        guard.release();
    }
    BOOST_TEST(asked);
    BOOST_TEST(held);
}

BOOST_AUTO_TEST_CASE(hold_that_is_given_back_wakes_the_next_of_its_process)
{
    leasehold_test::scripted_store scripted{clock};
    const lh::fencing_token token = scripted.try_acquire("n", "held closed", 1h, ec).token;
    lh::detail::hold_grant<leasehold_test::scripted_store> grant{"n", "held closed"};
    grant.granted(scripted, token);
    lh::waker to_wake;
    const lh::waiting::local_queue::place next{lh::waiting::queue_of(scripted), lh::waiting::key_of(scripted, "n"), to_wake};
    grant = {};
    BOOST_TEST(to_wake.woken());
    BOOST_TEST(!scripted.leases.inspect("n", ec).has_value());
}

BOOST_AUTO_TEST_CASE(time_of_the_wait_is_that_of_the_stores_clock)
{
    BOOST_TEST_PASSPOINT();
    auto holding = lease("n", "a");
    const auto guard = holding.try_acquire();
    std::atomic<bool> done = false;
    std::error_code failed;
    {
        const std::jthread operating{[&] {
            store.hold("n", 1h, "x", {.wait_at_most = 30min}, failed);
            done = true;
        }};
        BOOST_TEST(eventually([&] { return store.inspect("n", ec)->handover_request.has_value(); }));
        BOOST_TEST(!done);
        clock.advance(30min);
    }
    BOOST_TEST(failed == std::make_error_code(std::errc::timed_out));
}

BOOST_AUTO_TEST_CASE(permits_of_a_name_that_is_held_closed_are_busy)
{
    store.hold("n", 1h, "x");
    lh::lease_semaphore permits{store, "n", 2, lh::lease_terms{.ttl = 30s}, clock};
    const auto guard = permits.try_acquire(ec);
    BOOST_TEST(guard.empty());
    BOOST_TEST(!ec, ec.message());
    store.unhold("n");
    const auto next = permits.try_acquire();
    BOOST_TEST(next.held());
    BOOST_TEST(!store.hold("n", 1h, "x", ec));
    BOOST_TEST((ec == lh::errc::invalid_terms));
    BOOST_CHECK_EXCEPTION(store.hold("n", 1h, "x"), std::system_error,
                          [](const auto& e) { return std::string{e.what()}.find("record of 2 permits") != std::string::npos; });
}

BOOST_AUTO_TEST_CASE(no_owner_begins_like_that_of_a_hold)
{
    BOOST_CHECK_EXCEPTION(lease("n", "held closed by me"), std::system_error, names_the_mark);
    BOOST_CHECK_EXCEPTION((lh::lease_semaphore{store, "n", 2, lh::fixed_owner_id{"held closed by me"}}), std::system_error, names_the_mark);
    BOOST_CHECK_NO_THROW(lease("n", "held closed"));
    lh::basic_lease plain{store, "n", 1h};
    BOOST_TEST(!plain.owner().starts_with("held closed "));
}

BOOST_AUTO_TEST_CASE(failure_of_the_store_is_told)
{
    leasehold_test::scripted_store scripted{clock};
    struct holding_store : lh::forwarding_store<leasehold_test::scripted_store, holding_store> {
        using forwarding_store::forwarding_store;
    } holds{scripted};
    scripted.next(leasehold_test::operation::try_acquire, leasehold_test::fate::fails);
    BOOST_TEST(!holds.hold("n", 1h, "x", ec));
    BOOST_TEST(static_cast<bool>(ec));
    BOOST_TEST(holds.hold("n", 1h, "x", ec));
    scripted.next(leasehold_test::operation::inspect, leasehold_test::fate::fails);
    BOOST_CHECK_THROW(holds.unhold("n"), lh::store_error);
    BOOST_TEST(holds.unhold("n", ec));
    BOOST_TEST(!ec);
}

BOOST_AUTO_TEST_CASE(hold_whose_reply_is_lost_is_found_by_a_look)
{
    using enum lh::store_fault;
    fault_script script{store, {lose_reply}};
    BOOST_TEST(script.store.hold("n", 1h, "migration", ec));
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(store.inspect("n", ec)->hold_reason() == "migration");
    BOOST_TEST(script.store.unhold("n"));
    script.calls = 0;
    BOOST_TEST(script.store.hold("n", 1h, "migration"));
    BOOST_TEST(store.inspect("n", ec)->is_hold());
}

BOOST_AUTO_TEST_CASE(hold_whose_answer_found_no_memory_is_found_by_a_look)
{
    answerless_store here{store};
    BOOST_TEST(here.hold("n", 1h, "", ec));
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(store.inspect("n", ec).has_value());
}

BOOST_AUTO_TEST_CASE(hold_that_was_not_made_has_the_error_of_its_attempt)
{
    using enum lh::store_fault;
    fault_script script{store, {lose_request}};
    BOOST_CHECK_EXCEPTION(script.store.hold("n", 1h), lh::store_error, [](const lh::store_error& e) {
        const std::string_view said = e.what();
        return e.code() == lh::errc::store_unavailable && said.find("the plan of a faulty_store") != said.npos &&
               said.find("may be held") == said.npos;
    });
    BOOST_TEST(!store.inspect("n", ec).has_value());
}

BOOST_AUTO_TEST_CASE(error_says_that_a_name_may_be_held_closed)
{
    using enum lh::store_fault;
    for (const lh::store_fault look : {lose_request, lose_reply}) {
        fault_script script{store, {lose_reply, look}};
        BOOST_CHECK_EXCEPTION(script.store.hold("n", 1h), lh::store_error, [](const lh::store_error& e) {
            return e.code() == lh::errc::store_timeout && std::string{e.what()}.find("'n', which may be held closed") != std::string::npos;
        });
        BOOST_TEST(store.inspect("n", ec)->is_hold());
        store.unhold("n");
        script.calls = 0;
        BOOST_TEST(!script.store.hold("n", 1h, "migration", ec));
        BOOST_TEST((ec == lh::errc::store_timeout));
        store.unhold("n");
    }
}

BOOST_AUTO_TEST_CASE(hold_needs_no_reason)
{
    BOOST_TEST(store.hold("n", 1h, ec));
    BOOST_TEST(!ec);
    BOOST_TEST(store.inspect("n", ec)->hold_reason() == "");
    BOOST_TEST(!store.hold("n", 1h, ec));
    BOOST_TEST((ec == lh::errc::held_closed));
}

BOOST_AUTO_TEST_CASE(errors_of_the_store_are_not_taken_for_what_the_hold_itself_has_found)
{
    refusing_store refusing{store};
    for (const std::error_code said : {make_error_code(lh::errc::invalid_terms), make_error_code(lh::errc::held_closed),
                                       std::make_error_code(std::errc::timed_out), std::make_error_code(std::errc::operation_canceled)}) {
        refusing.with = said;
        BOOST_CHECK_EXCEPTION(refusing.hold("n", 1h, "x"), lh::store_error, [&](const lh::store_error& e) { return e.code() == said; });
    }
    // After a look at the holder.
    refusing.refused = lh::store_operation::request_handover;
    auto holding = lease("n", "a");
    const auto guard = holding.try_acquire();
    BOOST_CHECK_THROW(refusing.hold("n", 1h, "x"), lh::store_error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace name_holding_test
