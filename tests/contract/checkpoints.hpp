// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_CHECKPOINTS_HPP
#define LEASEHOLD_TESTS_CONTRACT_CHECKPOINTS_HPP

#include <contract/scene.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace leasehold::contract {

template <checkpointing_store Store>
bool save(Store& store, std::string_view name, std::string_view owner, fencing_token token, std::string_view text)
{
    std::error_code ec = leftover();
    const bool saved = store.save_checkpoint(name, owner, token, text, ec);
    expect_success(store, ec, "save_checkpoint");
    return saved;
}

template <checkpoint_replacing_store Store>
bool replace(Store& store, std::string_view name, std::string_view owner, fencing_token token, std::string_view replaced,
             std::string_view text)
{
    std::error_code ec = leftover();
    const bool saved = store.replace_checkpoint(name, owner, token, replaced, text, ec);
    expect_success(store, ec, "replace_checkpoint");
    return saved;
}

template <checkpointing_store Store>
std::optional<checkpoint_record> saved(Store& store, std::string_view name)
{
    std::error_code ec = leftover();
    std::optional<checkpoint_record> record = store.checkpoint(name, ec);
    expect_success(store, ec, "checkpoint");
    return record;
}

template <checkpointing_store Store>
void expect_saved(Store& store, std::string_view name, std::string_view text, fencing_token token)
{
    const std::optional<checkpoint_record> record = saved(store, name);
    BOOST_REQUIRE(record.has_value());
    BOOST_TEST(record->text == text);
    BOOST_TEST(record->token == token);
}

// What a holder leaves for the next one.
template <store_fixture Fixture>
    requires checkpointing_store<store_of<Fixture>>
void add_checkpoints(case_list<Fixture> cases)
{
    cases.add("name_that_nobody_has_held_has_no_checkpoint", [](auto& s) {
        BOOST_TEST(!saved(s.store(), s.name()).has_value());
        BOOST_TEST(!save(s.store(), s.name(), "a", fencing_token{1}, "x"));
        BOOST_TEST(!saved(s.store(), s.name()).has_value());
        BOOST_TEST(!inspect(s.store(), s.name()).has_value());
        const fencing_token token = grant(s.store(), s.name("held"), "a");
        BOOST_TEST(!saved(s.store(), s.name("held")).has_value());
        BOOST_TEST(save(s.store(), s.name("held"), "a", token, "x"));
        BOOST_TEST(!saved(s.store(), s.name()).has_value());
    });

    cases.add("checkpoint_comes_back_byte_by_byte", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        const std::string largest = std::string(max_checkpoint_bytes - 3, 'x') + "\u4e16";
        std::string wide;
        while (wide.size() + 3 <= max_checkpoint_bytes) wide += "\u4e16";
        const std::string odd = "Gr\u00fc\u00dfe 'quoted' \"too\" \\ % _ ; ? {fn} :name \U0001f600\r\n\t ";
        for (const std::string& text :
             {std::string{"offset=4711"}, std::string{}, std::string{"NULL"}, std::string{"  \t"}, odd, largest, wide}) {
            for (int once_more = 0; once_more < 2; ++once_more) BOOST_TEST(save(s.store(), s.name(), "a", token, text));
            expect_saved(s.other(), s.name(), text, token);
        }
    });

    cases.add("look_at_a_checkpoint_tells_the_latest_term_and_the_time_too", [](auto& s) {
        if constexpr (checkpoint_looking_store<store_of<Fixture>>) {
            std::error_code ec = leftover();
            const auto look = [&](std::string_view name) {
                checkpoint_look seen = s.other().look_at_checkpoint(name, ec);
                expect_success(s.other(), ec, "look_at_checkpoint");
                return seen;
            };
            const store_time before = s.store().now(ec);
            const checkpoint_look none = look(s.name());
            BOOST_TEST((!none.saved && none.latest == fencing_token{}));
            BOOST_TEST((none.now >= before && none.now <= s.store().now(ec)));
            const fencing_token token = grant(s.store(), s.name(), "a");
            BOOST_TEST((!look(s.name()).saved && look(s.name()).latest == token && look(s.name()).open));
            BOOST_TEST(save(s.store(), s.name(), "a", token, "x"));
            BOOST_TEST((look(s.name()).saved == checkpoint_record{"x", token}));
            BOOST_TEST(release(s.store(), s.name(), "a", token));
            BOOST_TEST((look(s.name()).saved == checkpoint_record{"x", token} && look(s.name()).latest == token && !look(s.name()).open));
            const fencing_token next = grant(s.store(), s.name(), "b");
            BOOST_TEST((look(s.name()).saved == checkpoint_record{"x", token} && look(s.name()).latest == next && look(s.name()).open));
        }
    });

    cases.add("checkpoints_of_a_prefix_are_listed_by_name_whoever_holds_them", [](auto& s) {
        if constexpr (requires(std::error_code& ec) { s.store().checkpoints("", ec); }) {
            const std::string prefix = s.name("list/");
            const fencing_token token = grant(s.store(), prefix + "b", "x");
            BOOST_TEST(save(s.store(), prefix + "b", "x", token, "second"));
            const fencing_token released = grant(s.store(), prefix + "a", "x");
            BOOST_TEST(save(s.store(), prefix + "a", "x", released, "first \u4e16"));
            BOOST_TEST(release(s.store(), prefix + "a", "x", released));
            grant(s.store(), prefix + "c", "x");
            const fencing_token beside = grant(s.store(), s.name("lisu"), "x");
            BOOST_TEST(save(s.store(), s.name("lisu"), "x", beside, "another"));
            std::error_code ec = leftover();
            const auto found = s.other().checkpoints(prefix, ec);
            expect_success(s.other(), ec, "checkpoints");
            BOOST_REQUIRE(found.size() == 2U);
            BOOST_TEST((found[0].first == prefix + "a" && found[0].second == checkpoint_record{"first \u4e16", released}));
            BOOST_TEST((found[1].first == prefix + "b" && found[1].second == checkpoint_record{"second", token}));
        }
    });

    cases.add("checkpoint_outlives_renewals_and_a_release", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(save(s.store(), s.name(), "a", token, "x"));
        BOOST_TEST(renew(s.store(), s.name(), "a", token));
        expect_saved(s.store(), s.name(), "x", token);
        BOOST_TEST(release(s.store(), s.name(), "a", token, long_ttl));
        expect_saved(s.other(), s.name(), "x", token);
    });

    cases.add("checkpoint_outlives_an_expiry_and_the_next_holders_terms", [](auto& s) {
        const fencing_token expired = grant(s.store(), s.name(), "a", s.ttl());
        BOOST_TEST(save(s.store(), s.name(), "a", expired, "x"));
        s.let_expire(s.ttl());
        expect_saved(s.other(), s.name(), "x", expired);
        for (const char* next_owner : {"b", "a"}) {
            const fencing_token next = grant(s.other(), s.name(), next_owner);
            expect_saved(s.other(), s.name(), "x", expired);
            BOOST_TEST(release(s.other(), s.name(), next_owner, next));
        }
        const fencing_token last = grant(s.store(), s.name(), "c");
        BOOST_TEST(save(s.store(), s.name(), "c", last, "y"));
        expect_saved(s.other(), s.name(), "y", last);
    });

    cases.add("checkpoint_outlives_a_forced_release", [](auto& s) {
        if constexpr (operable_store<store_of<Fixture>>) {
            const fencing_token token = grant(s.store(), s.name(), "a");
            BOOST_TEST(save(s.store(), s.name(), "a", token, "x"));
            BOOST_TEST(s.other().force_release(s.name()));
            expect_saved(s.store(), s.name(), "x", token);
            BOOST_TEST(!save(s.store(), s.name(), "a", token, "late"));
            expect_saved(s.store(), s.name(), "x", token);
        }
    });

    cases.add("checkpoint_of_an_earlier_term_is_refused", [](auto& s) {
        const fencing_token first = grant(s.store(), s.name(), "a");
        const fencing_token next = grant(s.store(), s.name(), "a");
        BOOST_TEST(save(s.store(), s.name(), "a", next, "new"));
        BOOST_TEST(!save(s.store(), s.name(), "a", first, "late"));
        BOOST_TEST(!save(s.store(), s.name(), "b", next, "another's"));
        BOOST_TEST(!save(s.store(), s.name(), "A", next, "another's"));
        expect_saved(s.other(), s.name(), "new", next);
    });

    if constexpr (checkpoint_replacing_store<store_of<Fixture>>) {
        cases.add("save_that_names_what_it_replaces_writes_over_nothing_else", [](auto& s) {
            const fencing_token first = grant(s.store(), s.name(), "a");
            BOOST_TEST(!replace(s.store(), s.name(), "a", first, "x", "y"));
            BOOST_TEST(!saved(s.store(), s.name()).has_value());
            BOOST_TEST(replace(s.store(), s.name(), "a", first, "", "x"));
            expect_saved(s.other(), s.name(), "x", first);
            BOOST_TEST(release(s.store(), s.name(), "a", first));
            const fencing_token token = grant(s.store(), s.name(), "a");
            BOOST_TEST(!replace(s.store(), s.name(), "a", token, "", "y"));
            BOOST_TEST(!replace(s.store(), s.name(), "a", token, "X", "y"));
            BOOST_TEST(!replace(s.store(), s.name(), "a", token, "z", "y"));
            expect_saved(s.other(), s.name(), "x", first);
            const std::string largest = std::string(max_checkpoint_bytes - 3, 'x') + "\u4e16", odd = "\u4e16 ' \" \\ ? \r\n\t ";
            std::string before = "x";
            for (const std::string& text : {largest, odd, std::string{}, std::string{"last"}}) {
                BOOST_TEST(replace(s.store(), s.name(), "a", token, before, text));
                BOOST_TEST(replace(s.store(), s.name(), "a", token, before, text));  // its answer may have got lost
                expect_saved(s.other(), s.name(), text, token);
                BOOST_TEST(!replace(s.store(), s.name(), "a", token, before, "late"));
                before = text;
            }
            expect_saved(s.other(), s.name(), "last", token);
        });

        cases.add("term_that_is_over_replaces_no_checkpoint", [](auto& s) {
            const fencing_token token = grant(s.store(), s.name(), "a");
            BOOST_TEST(replace(s.store(), s.name(), "a", token, "", "x"));
            BOOST_TEST(!replace(s.store(), s.name(), "b", token, "x", "another's"));
            BOOST_TEST(release(s.store(), s.name(), "a", token));
            BOOST_TEST(!replace(s.store(), s.name(), "a", token, "x", "late"));
            BOOST_TEST(!replace(s.store(), s.name(), "a", token, "x", "x"));
            expect_saved(s.store(), s.name(), "x", token);
        });
    }

    cases.add("term_that_is_over_saves_no_checkpoint", [](auto& s) {
        const fencing_token released = grant(s.store(), s.name(), "a");
        BOOST_TEST(save(s.store(), s.name(), "a", released, "x"));
        BOOST_TEST(release(s.store(), s.name(), "a", released));
        BOOST_TEST(!save(s.store(), s.name(), "a", released, "late"));
        expect_saved(s.store(), s.name(), "x", released);
        const fencing_token expired = grant(s.store(), s.name("expired"), "a", s.ttl());
        s.let_expire(s.ttl());
        BOOST_TEST(!save(s.store(), s.name("expired"), "a", expired, "late"));
        BOOST_TEST(!saved(s.store(), s.name("expired")).has_value());
        const fencing_token closed = grant(s.store(), s.name("closed"), "a");
        BOOST_TEST(release(s.store(), s.name("closed"), "a", closed, long_ttl));
        BOOST_TEST(!save(s.store(), s.name("closed"), "a", closed, "late"));
        BOOST_TEST(!saved(s.store(), s.name("closed")).has_value());
    });

    cases.add("checkpoint_does_not_extend_the_term", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a", s.ttl());
        save(s.store(), s.name(), "a", token, "x");
        s.let_expire(s.ttl());
        BOOST_TEST(acquire(s.store(), s.name(), "b").granted());
    });

    cases.add("checkpoint_stands_beside_what_the_term_has", [](auto& s) {
        const fencing_token token = grant(s.store(), s.name(), "a");
        const auto before = inspect(s.store(), s.name());
        BOOST_TEST(save(s.store(), s.name(), "a", token, "x"));
        const auto after = inspect(s.store(), s.name());
        BOOST_REQUIRE((before && after));
        BOOST_TEST((after->owner == before->owner && after->token == before->token && after->data == before->data));
        BOOST_TEST((after->remaining <= before->remaining && after->remaining > duration::zero()));
    });

    cases.add("texts_that_cannot_be_checkpoints_are_refused", [](auto& s) {
        using namespace std::string_view_literals;
        const fencing_token token = grant(s.store(), s.name(), "a");
        BOOST_TEST(save(s.store(), s.name(), "a", token, "x"));
        for (const std::string& broken : {std::string(max_checkpoint_bytes + 1, 'x'), std::string{"\xFF"}, std::string{"a\0b"sv}}) {
            std::error_code ec;
            BOOST_TEST(!s.store().save_checkpoint(s.name(), "a", token, broken, ec));
            BOOST_TEST((ec == errc::invalid_data));
        }
        expect_saved(s.store(), s.name(), "x", token);
    });

    cases.add("next_holder_sees_what_every_earlier_one_has_saved", [](auto& s) {
        // Each counts on from what it finds: a save that is lost, or comes late, leaves the count behind.
        constexpr std::size_t threads = 4;
        constexpr int rounds = 10;
        std::atomic<int> counted = 0;
        at_once(threads, [&](std::size_t i) {
            auto& store = i % 2 ? s.other() : s.store();
            const std::string owner = "owner-" + std::to_string(i);
            for (int round = 0; round < rounds;) {
                const acquire_result got = acquire(store, s.name(), owner);
                if (!got.granted()) continue;
                const auto from = saved(store, s.name());
                if (!save(store, s.name(), owner, got.token, std::to_string((from ? std::stoi(from->text) : 0) + 1)))
                    throw std::logic_error{"a term of ten minutes was over at once"};
                ++counted;
                ++round;
                release(store, s.name(), owner, got.token);
            }
        });
        BOOST_TEST(saved(s.store(), s.name())->text == std::to_string(counted.load()));
    });
}

template <timed_store Store>
store_time time_of(Store& store)
{
    std::error_code ec = leftover();
    const store_time now = store.now(ec);
    expect_success(store, ec, "now");
    return now;
}

// The store's clock.
template <store_fixture Fixture>
    requires timed_store<store_of<Fixture>>
void add_store_clock(case_list<Fixture> cases)
{
    cases.add("store_clock_goes_on_with_the_terms", [](auto& s) {
        const store_time before = time_of(s.store());
        s.let_pass(s.ttl());
        const auto passed = time_of(s.other()) - before;
        BOOST_TEST((passed >= s.ttl() - s.rounding()));
        BOOST_TEST((passed < s.ttl() + 1min));
    });

    // The tests' servers run here. A clock of another time zone, or of another epoch, is further off than this.
    cases.add("store_clock_is_near_the_system_s_in_utc", [](auto& s) {
        const auto off = time_of(s.store()) - std::chrono::system_clock::now();
        BOOST_TEST((off < 10min && off > -10min));
    });
}

}  // namespace leasehold::contract

#endif
