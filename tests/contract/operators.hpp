// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_OPERATORS_HPP
#define LEASEHOLD_TESTS_CONTRACT_OPERATORS_HPP

#include <contract/names.hpp>
#include <contract/scene.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <system_error>
#include <vector>

namespace leasehold::contract {

// What an operator does: look at what is held, and end a term.
template <store_fixture Fixture>
    requires operable_store<store_of<Fixture>>
void add_operators(case_list<Fixture> cases)
{
    cases.add("list_shows_what_is_held_and_nothing_else", [](auto& s) {
        const fencing_token held = grant(s.store(), s.name("held"), "a");
        release(s.store(), s.name("released"), "b", grant(s.store(), s.name("released"), "b"));
        grant(s.store(), s.name("expired"), "c", min_ttl);
        release(s.store(), s.name("closed"), "d", grant(s.store(), s.name("closed"), "d"), long_ttl);
        s.let_expire(min_ttl);

        const std::vector<lease_record> records = s.other().list(s.name(""));
        BOOST_REQUIRE(records.size() == 2);
        BOOST_TEST(records[0].name == s.name("closed"));
        BOOST_TEST(records[0].owner == "");
        BOOST_TEST(records[0].remaining > 0ns);
        BOOST_TEST(records[1].name == s.name("held"));
        BOOST_TEST(records[1].owner == "a");
        BOOST_TEST(records[1].token == held);
        BOOST_TEST(records[1].remaining > 0ns);
        BOOST_TEST(records[1].remaining <= long_ttl + s.rounding());
    });

    cases.add("list_without_a_prefix_shows_all_names_in_the_order_of_their_bytes", [](auto& s) {
        for (const char* label : {"b", "a", "B", "\u00e9", "z", "_", "\U0001f600"}) grant(s.store(), s.name(label), "a");
        const std::vector<lease_record> records = s.other().list();
        BOOST_TEST(std::ranges::is_sorted(records, {}, &lease_record::name));
        std::vector<std::string> ours;
        for (const lease_record& record : records)
            if (record.name.starts_with(s.name(""))) ours.push_back(record.name.substr(s.name("").size()));
        const std::vector<std::string> expected{"B", "_", "a", "b", "z", "\u00e9", "\U0001f600"};
        BOOST_TEST(ours == expected, boost::test_tools::per_element());
    });

    cases.add("list_has_lookalike_names_and_owners_unchanged", [](auto& s) {
        std::map<std::string, std::string> expected;
        for (const std::string& text : lookalikes()) {
            grant(s.store(), s.name(text), text);
            expected[s.name(text)] = text;
        }
        const std::vector<lease_record> records = s.store().list(s.name(""));
        BOOST_TEST(std::ranges::is_sorted(records, {}, &lease_record::name));
        BOOST_TEST(records.size() == expected.size());
        for (const lease_record& record : records) {
            BOOST_TEST_CONTEXT("the record's name is \"" << record.name << '"')
            {
                BOOST_REQUIRE(expected.contains(record.name));
                BOOST_TEST(record.owner == expected[record.name]);
            }
        }
    });

    cases.add("list_takes_its_prefix_byte_by_byte", [](auto& s) {
        for (const std::string& text : lookalikes()) grant(s.store(), s.name(text), "a");
        for (const std::string& prefix : lookalikes()) {
            BOOST_TEST_CONTEXT("the prefix's end is \"" << prefix << '"')
            {
                std::vector<std::string> expected;
                for (const std::string& text : lookalikes())
                    if (text.starts_with(prefix)) expected.push_back(s.name(text));
                std::ranges::sort(expected);
                std::vector<std::string> listed;
                for (const lease_record& record : s.store().list(s.name(prefix))) listed.push_back(record.name);
                BOOST_TEST(listed == expected, boost::test_tools::per_element());
            }
        }
    });

    cases.add("list_of_a_prefix_that_no_name_has_is_empty", [](auto& s) {
        grant(s.store(), s.name(), "a");
        BOOST_TEST(s.store().list(s.name("other")).empty());
        BOOST_TEST(s.store().list(s.name() + "longer").empty());
        BOOST_TEST(s.store().list(std::string(max_name_bytes, 'n')).empty());
        BOOST_TEST(s.store().list(s.name()).size() == 1);
    });

    cases.add("forced_release_ends_the_term", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(s.other().force_release(s.name()));
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
        BOOST_TEST(!renew(s.store(), s.name(), "a", token));
        BOOST_TEST(!release(s.store(), s.name(), "a", token));
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
    });

    cases.add("token_is_not_reused_after_a_forced_release", [](auto& s) {
        const fencing_token first = grant(s.store(), s.name(), "a");
        BOOST_TEST(s.store().force_release(s.name()));
        const fencing_token second = grant(s.store(), s.name(), "a");
        BOOST_TEST(second > first);
        BOOST_TEST(s.store().force_release(s.name()));
        BOOST_TEST(grant(s.other(), s.name(), "b") > second);
    });

    cases.add("forced_release_opens_a_closed_name", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(release(s.store(), s.name(), "a", token, long_ttl));
        BOOST_TEST(s.other().force_release(s.name()));
        BOOST_TEST(grant(s.store(), s.name(), "b") > token);
    });

    cases.add("forced_release_of_a_free_name_is_false", [](auto& s) {
        BOOST_TEST(!s.store().force_release(s.name()));
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(s.store().force_release(s.name()));
        BOOST_TEST(!s.store().force_release(s.name()));
        grant(s.store(), s.name(), "a", min_ttl);
        s.let_expire(min_ttl);
        BOOST_TEST(!s.store().force_release(s.name()));
        BOOST_TEST(grant(s.store(), s.name(), "b") > token);
    });

    cases.add("forced_release_touches_no_other_name", [](auto& s) {
        for (const std::string& text : lookalikes()) grant(s.store(), s.name(text), "a");
        const std::size_t held = lookalikes().size();
        for (const std::string text : {"x", "%", "\u00e9", "x\\", "_"}) {
            BOOST_TEST(s.store().force_release(s.name(text)));
            BOOST_TEST(!inspect(s.store(), s.name(text)).has_value());
        }
        BOOST_TEST(s.store().list(s.name("")).size() == held - 5);
    });

    cases.add("operators_forms_with_an_error_code_clear_it_and_do_not_throw", [](auto& s) {
        grant(s.store(), s.name(), "a");
        std::error_code ec = leftover();
        BOOST_TEST(s.store().list(s.name(), ec).size() == 1);
        BOOST_TEST(!ec);
        ec = leftover();
        BOOST_TEST(s.store().force_release(s.name(), ec));
        BOOST_TEST(!ec);
        ec = leftover();
        BOOST_TEST(!s.store().force_release(s.name(), ec));
        BOOST_TEST(!ec);
        ec.clear();
        BOOST_TEST(!s.store().force_release("", ec));
        BOOST_TEST((ec == errc::invalid_name));
        BOOST_CHECK_THROW(s.store().force_release(""), std::system_error);
    });
}

}  // namespace leasehold::contract

#endif
