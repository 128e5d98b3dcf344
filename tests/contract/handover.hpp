// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_HANDOVER_HPP
#define LEASEHOLD_TESTS_CONTRACT_HANDOVER_HPP

#include <contract/scene.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace leasehold::contract {

template <handover_store Store>
bool publish(Store& store, std::string_view name, std::string_view owner, fencing_token token, std::string_view data)
{
    std::error_code ec = leftover();
    const bool published = store.publish(name, owner, token, data, ec);
    expect_success(store, ec, "publish");
    return published;
}

template <handover_store Store>
bool ask(Store& store, std::string_view name, std::string_view reason)
{
    std::error_code ec = leftover();
    const bool asked = store.request_handover(name, reason, ec);
    expect_success(store, ec, "request_handover");
    return asked;
}

template <handover_store Store>
std::optional<std::string> asked(Store& store, std::string_view name, std::string_view owner, fencing_token token)
{
    std::error_code ec = leftover();
    std::optional<std::string> reason = store.handover_requested(name, owner, token, ec);
    expect_success(store, ec, "handover_requested");
    return reason;
}

// What is said during a term: the holder's data, and requests to hand over.
template <store_fixture Fixture>
    requires handover_store<store_of<Fixture>>
void add_handover(case_list<Fixture> cases)
{
    cases.add("published_data_is_shown_byte_by_byte", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(inspect(s.other(), s.name())->data == "");
        const std::string largest = std::string(max_data_bytes - 3, 'x') + "\u4e16";
        for (const std::string& data :
             {std::string{"10.0.0.7:8443"}, std::string{"Gr\u00fc\u00dfe 'quoted' \"too\" \\ % _ ; \U0001f600\n\t "}, largest}) {
            for (int once_more = 0; once_more < 2; ++once_more) BOOST_TEST(publish(s.store(), s.name(), "a", token, data));
            BOOST_TEST(inspect(s.other(), s.name())->data == data);
        }
        BOOST_TEST(publish(s.store(), s.name(), "a", token, ""));
        BOOST_TEST(inspect(s.other(), s.name())->data == "");
    });

    cases.add("list_shows_data_and_requests", [](auto& s) {
        if constexpr (operable_store<store_of<Fixture>>) {
            publish(s.store(), s.name("1"), "a", grant(s.store(), s.name("1"), "a"), "x");
            grant(s.store(), s.name("2"), "b");
            ask(s.store(), s.name("2"), "y");
            const auto records = s.other().list(s.name(""));
            BOOST_REQUIRE(records.size() == 2);
            BOOST_TEST(records[0].data == "x");
            BOOST_TEST(!records[0].handover_request.has_value());
            BOOST_TEST(records[1].data == "");
            BOOST_TEST(records[1].handover_request.value_or("none") == "y");
        }
    });

    cases.add("data_outlives_renewals_and_does_not_extend_the_term", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(publish(s.store(), s.name(), "a", token, "x"));
        BOOST_TEST(renew(s.store(), s.name(), "a", token));
        BOOST_TEST(inspect(s.store(), s.name())->data == "x");
        const fencing_token brief = grant(s.store(), s.name("brief"), "a", s.ttl());
        publish(s.store(), s.name("brief"), "a", brief, "x");
        ask(s.store(), s.name("brief"), "y");
        s.let_expire(s.ttl());
        BOOST_TEST(acquire(s.store(), s.name("brief"), "b").granted());
    });

    cases.add("next_term_has_neither_data_nor_request", [](auto& s) {
        for (const char* next_owner : {"a", "b"}) {
            const fencing_token token = grant(s.store(), s.name(), "a");
            BOOST_TEST(publish(s.store(), s.name(), "a", token, "old"));
            BOOST_TEST(ask(s.store(), s.name(), "old"));
            if (next_owner == std::string_view{"b"}) release(s.store(), s.name(), "a", token);
            const fencing_token next = grant(s.store(), s.name(), next_owner);
            BOOST_TEST(inspect(s.store(), s.name())->data == "");
            BOOST_TEST(!inspect(s.store(), s.name())->handover_request.has_value());
            BOOST_TEST(!asked(s.store(), s.name(), next_owner, next).has_value());
        }
    });

    cases.add("late_word_of_an_earlier_term_is_refused", [](auto& s) {
        const fencing_token first = grant(s.store(), s.name(), "a");
        const fencing_token next = grant(s.store(), s.name(), "a");
        BOOST_TEST(publish(s.store(), s.name(), "a", next, "new"));
        BOOST_TEST(!publish(s.store(), s.name(), "a", first, "late"));
        BOOST_TEST(!publish(s.store(), s.name(), "b", next, "another's"));
        BOOST_TEST(inspect(s.store(), s.name())->data == "new");
        BOOST_TEST(ask(s.store(), s.name(), "x"));
        BOOST_TEST(!asked(s.store(), s.name(), "a", first).has_value());
        BOOST_TEST(!asked(s.store(), s.name(), "b", next).has_value());
        BOOST_TEST(asked(s.store(), s.name(), "a", next).value_or("none") == "x");
    });

    cases.add("term_that_is_over_publishes_nothing_and_is_asked_nothing", [](auto& s) {
        const fencing_token released = grant(s.store(), s.name(), "a");
        release(s.store(), s.name(), "a", released);
        BOOST_TEST(!publish(s.store(), s.name(), "a", released, "late"));
        BOOST_TEST(!ask(s.store(), s.name(), "late"));
        const fencing_token expired = grant(s.store(), s.name("expired"), "a", s.ttl());
        s.let_expire(s.ttl());
        BOOST_TEST(!publish(s.store(), s.name("expired"), "a", expired, "late"));
        BOOST_TEST(!asked(s.store(), s.name("expired"), "a", expired).has_value());
        BOOST_TEST(!ask(s.store(), s.name("never held"), "late"));
        BOOST_TEST(!inspect(s.store(), s.name("never held")).has_value());
    });

    cases.add("name_that_is_kept_closed_shows_no_data_and_nobody_to_ask", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(publish(s.store(), s.name(), "a", token, "old"));
        BOOST_TEST(ask(s.store(), s.name(), "old"));
        BOOST_TEST(release(s.store(), s.name(), "a", token, long_ttl));
        const auto closed = inspect(s.store(), s.name());
        BOOST_REQUIRE(closed.has_value());
        BOOST_TEST(closed->data == "");
        BOOST_TEST(!closed->handover_request.has_value());
        BOOST_TEST(!ask(s.store(), s.name(), "x"));
    });

    cases.add("request_reaches_the_holder_and_takes_nothing_away", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(!asked(s.store(), s.name(), "a", token).has_value());
        for (const std::string& reason :
             {std::string{"a new version"}, std::string{"a new version"}, std::string{}, std::string(max_data_bytes, 'r')}) {
            BOOST_TEST(ask(s.other(), s.name(), reason));
            BOOST_TEST(asked(s.store(), s.name(), "a", token).value_or("none") == reason);
            BOOST_TEST(inspect(s.other(), s.name())->handover_request.value_or("none") == reason);
        }
        BOOST_TEST(renew(s.store(), s.name(), "a", token));
        BOOST_TEST(!acquire(s.other(), s.name(), "b").granted());
    });

    cases.add("texts_that_cannot_be_data_or_reasons_are_refused", [](auto& s) {
        using namespace std::string_view_literals;
        const fencing_token token = grant(s.store(), s.name(), "a");
        for (const std::string& broken : {std::string(max_data_bytes + 1, 'x'), std::string{"\xFF"}, std::string{"a\0b"sv}}) {
            std::error_code ec;
            BOOST_TEST(!s.store().publish(s.name(), "a", token, broken, ec));
            BOOST_TEST((ec == errc::invalid_data));
            ec.clear();
            BOOST_TEST(!s.store().request_handover(s.name(), broken, ec));
            BOOST_TEST((ec == errc::invalid_data));
        }
        BOOST_TEST(inspect(s.store(), s.name())->data == "");
        BOOST_TEST(!asked(s.store(), s.name(), "a", token).has_value());
    });
}

}  // namespace leasehold::contract

#endif
