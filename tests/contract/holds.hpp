// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_HOLDS_HPP
#define LEASEHOLD_TESTS_CONTRACT_HOLDS_HPP

#include <contract/scene.hpp>

#include <leasehold/basic_lease.hpp>
#include <leasehold/owner_id/fixed_owner_id.hpp>
#include <leasehold/renew_policy/no_renewal.hpp>
#include <leasehold/store/name_holding.hpp>

#include <atomic>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

namespace leasehold::contract {

// Throws and uses none of Boost.Test's macros.
template <holding_store Store>
void hold(Store& store, std::string_view name, duration period, std::string_view reason)
{
    std::error_code ec = leftover();
    const bool held = store.hold(name, period, reason, ec);
    expect_success(store, ec, "hold");
    if (!held) throw std::logic_error{"hold() did neither hold nor fail"};
}

template <holding_store Store>
bool unhold(Store& store, std::string_view name)
{
    std::error_code ec = leftover();
    const bool ended = store.unhold(name, ec);
    expect_success(store, ec, "unhold");
    return ended;
}

template <holding_store Store>
void expect_refused(Store& store, std::string_view name, duration period, std::string_view reason, const hold_options& options,
                    std::error_code expected)
{
    std::error_code ec = leftover();
    BOOST_TEST(!store.hold(name, period, reason, options, ec));
    BOOST_TEST(ec == expected);
}

template <class Store>
auto as_owner(Store& store, const std::string& name, const std::string& owner, auto clock)
{
    return basic_lease{store, name, lease_terms{.ttl = long_ttl}, clock, fixed_owner_id{owner}, no_renewal{}};
}

// What closes a name.
template <store_fixture Fixture>
    requires holding_store<store_of<Fixture>>
void add_hold_terms(case_list<Fixture> cases)
{
    cases.add("held_name_is_granted_to_nobody_until_it_is_opened", [](auto& s) {
        hold(s.store(), s.name(), long_ttl, "migration");
        for (auto* store : {&s.store(), &s.other()})
            for (const char* owner : {"a", "migration"}) BOOST_TEST(!acquire(*store, s.name(), owner).granted());
        BOOST_TEST(acquire(s.other(), s.name("another"), "a").granted());
        BOOST_TEST(unhold(s.other(), s.name()));
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
        BOOST_TEST(acquire(s.store(), s.name(), "a").granted());
        BOOST_TEST(!unhold(s.store(), s.name()));
    });

    cases.add("hold_runs_out", [](auto& s) {
        hold(s.store(), s.name(), s.ttl(), "short");
        s.let_expire(s.ttl());
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
        BOOST_TEST(!unhold(s.store(), s.name()));
        BOOST_TEST(acquire(s.other(), s.name(), "a").granted());
    });

    cases.add("hold_is_a_term_with_a_token_of_its_own", [](auto& s) {
        const fencing_token before = grant(s.store(), s.name(), "a");
        release(s.store(), s.name(), "a", before);
        hold(s.store(), s.name(), long_ttl, "migration");
        const auto record = inspect(s.other(), s.name());
        BOOST_REQUIRE(record.has_value());
        BOOST_TEST(record->token > before);
        BOOST_TEST(!renew(s.store(), s.name(), "a", before));
        BOOST_TEST(!release(s.store(), s.name(), "a", before));
        BOOST_TEST(!release(s.store(), s.name(), "a", record->token));
        BOOST_TEST((inspect(s.store(), s.name())->token == record->token));
        BOOST_TEST(unhold(s.store(), s.name()));
        BOOST_TEST(grant(s.store(), s.name(), "a") > record->token);
    });

    cases.add("record_shows_the_reason", [](auto& s) {
        std::string longest = std::string(max_hold_reason_bytes - 3, 'x') + "\u4e16";
        int count = 0;
        const std::string odd = ": 'it\"s' \\ % _ ; ?\n\U0001f600 ";
        for (const std::string& reason : {std::string{"migration"}, std::string{}, odd, longest}) {
            const std::string name = s.name("reason-" + std::to_string(++count));
            hold(s.store(), name, long_ttl, reason);
            const auto record = inspect(s.other(), name);
            BOOST_REQUIRE(record.has_value());
            BOOST_TEST(record->is_hold());
            BOOST_TEST(!record->is_count());
            BOOST_TEST(record->hold_reason() == reason);
            BOOST_TEST((record->remaining > 0ns && record->remaining <= long_ttl + s.rounding()));
        }
        grant(s.store(), s.name("lease"), "a");
        BOOST_TEST(!inspect(s.other(), s.name("lease"))->is_hold());
        BOOST_TEST(inspect(s.other(), s.name("lease"))->hold_reason() == "");
        if constexpr (listing_store<store_of<Fixture>>) {
            std::error_code ec;
            int holds = 0;
            for (const lease_record& record : s.other().list(s.name(""), ec)) holds += record.is_hold() ? 1 : 0;
            BOOST_TEST(holds == count);
        }
    });

    cases.add("checkpoint_outlives_a_hold", [](auto& s) {
        if constexpr (checkpointing_store<store_of<Fixture>>) {
            std::error_code ec;
            const fencing_token token = grant(s.store(), s.name(), "a");
            BOOST_TEST(s.store().save_checkpoint(s.name(), "a", token, "x", ec));
            release(s.store(), s.name(), "a", token);
            hold(s.store(), s.name(), long_ttl, "migration");
            BOOST_TEST(unhold(s.store(), s.name()));
            const auto saved = s.other().checkpoint(s.name(), ec);
            BOOST_REQUIRE(saved.has_value());
            BOOST_TEST(saved->text == "x");
        }
    });

    cases.add("name_that_is_held_closed_is_not_held_again", [](auto& s) {
        hold(s.store(), s.name(), long_ttl, "migration");
        const auto first = inspect(s.store(), s.name());
        for (const char* reason : {"migration", "another", ""})
            expect_refused(s.other(), s.name(), long_ttl, reason, {}, make_error_code(errc::held_closed));
        BOOST_TEST((inspect(s.store(), s.name())->token == first->token));
        BOOST_CHECK_EXCEPTION(s.other().hold(s.name(), long_ttl, "another"), std::system_error, [](const auto& e) {
            const std::string_view said = e.what();
            return e.code() == errc::held_closed && said.find("'migration'") != said.npos && said.find(" s, ") != said.npos;
        });
    });

    cases.add("of_many_holds_at_once_there_is_one", [](auto& s) {
        std::atomic<int> held = 0, refused = 0;
        at_once(4, [&](std::size_t i) {
            std::error_code ec;
            if ((i % 2 ? s.other() : s.store()).hold(s.name(), long_ttl, "migration", ec))
                ++held;
            else if (ec == errc::held_closed)
                ++refused;
        });
        BOOST_TEST(held == 1);
        BOOST_TEST(refused == 3);
    });

    cases.add("unhold_leaves_a_lease_alone", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(!unhold(s.other(), s.name()));
        BOOST_TEST(renew(s.store(), s.name(), "a", token));
        BOOST_TEST(release(s.store(), s.name(), "a", token, long_ttl));
        BOOST_TEST(!unhold(s.other(), s.name()));
        BOOST_TEST(!acquire(s.store(), s.name(), "b").granted());
    });

    cases.add("no_lease_has_the_owner_of_a_hold", [](auto& s) {
        hold(s.store(), s.name(), long_ttl, "migration");
        const std::string owner = inspect(s.store(), s.name())->owner;
        BOOST_CHECK_EXCEPTION(as_owner(s.store(), s.name(), owner, s.clock()), std::system_error,
                              [](const auto& e) { return e.code() == errc::invalid_owner; });
    });

    cases.add("what_cannot_be_a_hold_is_refused", [](auto& s) {
        using namespace std::string_view_literals;
        const hold_options options{.wait_at_most = 0s};
        const auto check = [&](duration period, std::string_view reason, errc expected) {
            expect_refused(s.store(), s.name(), period, reason, options, make_error_code(expected));
            BOOST_CHECK_EXCEPTION(s.store().hold(s.name(), period, reason, options), std::system_error,
                                  [&](const auto& e) { return e.code() == expected; });
        };
        for (const duration period : {-1ns, 0ns, 999'999ns, max_ttl + 1ns}) check(period, "x", errc::invalid_terms);
        for (const std::string& reason : {std::string(max_hold_reason_bytes + 1, 'x'), std::string{"\xFF"}, std::string{"a\0b"sv}})
            check(long_ttl, reason, errc::invalid_data);
        expect_refused(s.store(), "", long_ttl, "x", options, make_error_code(errc::invalid_name));
        std::error_code ec;
        BOOST_TEST(!s.store().unhold("", ec));
        BOOST_TEST((ec == errc::invalid_name));
        BOOST_TEST(acquire(s.store(), s.name(), "a").granted());
    });
}

// How a hold waits for who has the name, and others for a hold.
template <store_fixture Fixture>
    requires holding_store<store_of<Fixture>>
void add_hold_waits(case_list<Fixture> cases)
{
    cases.add("holder_is_asked_and_then_the_name_is_held", [](auto& s) {
        BOOST_TEST_PASSPOINT();
        const fencing_token token = grant(s.store(), s.name(), "a");
        std::error_code ec;
        std::atomic<bool> held = false;
        {
            const hold_options options{.wait_at_most = 5min};
            const std::jthread operating{[&] { held = s.other().hold(s.name(), long_ttl, "migration", options, ec); }};
            if constexpr (handover_store<store_of<Fixture>>)
                BOOST_TEST(eventually([&] { return inspect(s.store(), s.name())->handover_request == "hold: migration"; }));
            BOOST_TEST(renew(s.store(), s.name(), "a", token));
            BOOST_TEST(!held);
            BOOST_TEST(release(s.store(), s.name(), "a", token));
            s.let_pass(s.rounding());  // a waiter that is not woken asks again
        }
        BOOST_TEST(held);
        BOOST_TEST(!ec, ec.message());
        BOOST_TEST(inspect(s.store(), s.name())->is_hold());
    });

    cases.add("holder_that_does_not_hand_over_keeps_the_name", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        expect_refused(s.other(), s.name(), long_ttl, "migration", {.wait_at_most = 0s}, std::make_error_code(std::errc::timed_out));
        BOOST_TEST(renew(s.store(), s.name(), "a", token));
        if constexpr (handover_store<store_of<Fixture>>)
            BOOST_TEST((inspect(s.store(), s.name())->handover_request == "hold: migration"));
        BOOST_CHECK_EXCEPTION(s.other().hold(s.name(), long_ttl, "x", {.wait_at_most = 0s}), std::system_error, [](const auto& e) {
            return e.code() == std::errc::timed_out && std::string_view{e.what()}.find("'a'") != std::string_view::npos;
        });
    });

    cases.add("wait_for_a_hold_can_be_cancelled", [](auto& s) {
        BOOST_TEST_PASSPOINT();
        const fencing_token token = grant(s.store(), s.name(), "a");
        std::stop_source stop;
        std::error_code ec;
        {
            const hold_options options{.wait_at_most = 5min, .stop = stop.get_token()};
            const std::jthread operating{[&] { s.other().hold(s.name(), long_ttl, "x", options, ec); }};
            std::this_thread::sleep_for(20ms);
            stop.request_stop();
        }
        BOOST_TEST(ec == std::make_error_code(std::errc::operation_canceled));
        BOOST_TEST(renew(s.store(), s.name(), "a", token));
        BOOST_TEST(release(s.store(), s.name(), "a", token));
        expect_refused(s.store(), s.name(), long_ttl, "x", {.stop = stop.get_token()},
                       std::make_error_code(std::errc::operation_canceled));
        BOOST_TEST(acquire(s.store(), s.name(), "b").granted());
    });

    cases.add("waiters_are_served_when_the_name_is_opened", [](auto& s) {
        BOOST_TEST_PASSPOINT();
        hold(s.store(), s.name(), long_ttl, "migration");
        std::atomic<int> served = 0;
        std::exception_ptr failed;
        {
            const auto wait_in_line = [&](const std::string& owner) {
                auto lease = as_owner(s.store(), s.name(), owner, s.clock());
                std::error_code ec;
                const auto guard = lease.try_acquire_for(5min, ec);
                served += !guard.empty() && !ec ? 1 : 0;
            };
            const std::jthread first{wait_in_line, "a"}, second{wait_in_line, "b"};
            std::this_thread::sleep_for(20ms);
            BOOST_TEST(served == 0);
            BOOST_TEST(unhold(s.other(), s.name()));
            for (int i = 0; i < 100 && served < 2; ++i) s.let_pass(10ms);
        }
        BOOST_TEST(served == 2);
    });
}

}  // namespace leasehold::contract

#endif
