// SPDX-License-Identifier: BSL-1.0
#include <leasehold/sequencer.hpp>

#include <leasehold/basic_lease.hpp>
#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/lease_semaphore.hpp>
#include <leasehold/lease_set_guard.hpp>
#include <leasehold/recurring.hpp>
#include <leasehold/renew_policy/no_renewal.hpp>
#include <leasehold/schedule/every.hpp>
#include <leasehold/store/memory_store.hpp>


#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

BOOST_AUTO_TEST_SUITE(sequencer_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

lh::sequencer of(std::string name, std::int64_t token)
{
    return {.name = std::move(name), .token = lh::fencing_token{token}};
}

std::string refusal_of(std::string_view text)
{
    try {
        static_cast<void>(lh::read_sequencer(text));
    }
    catch (const std::system_error& e) {
        return e.code() == lh::errc::invalid_data ? e.what() : "another error";
    }
    return "none";
}

bool refuses(std::string_view text, std::string_view why)
{
    std::error_code ec;
    const lh::sequencer read = lh::read_sequencer(text, ec);
    return refusal_of(text).find(why) != std::string::npos && ec == lh::errc::invalid_data && read == lh::sequencer{};
}

template <class Guard>
concept has_text = requires(const Guard& guard) { lh::to_text(guard); };

}  // namespace

BOOST_AUTO_TEST_CASE(text_is_the_documented_one)
{
    BOOST_TEST(to_text(of("orders/17", 42)) == "lh1:42:orders/17");
    BOOST_TEST(to_text(of("a b:c%", 1)) == "lh1:1:a%20b%3Ac%25");
    BOOST_TEST(to_text(of("Grüße", std::numeric_limits<std::int64_t>::max())) == "lh1:9223372036854775807:Gr%C3%BC%C3%9Fe");
}

BOOST_AUTO_TEST_CASE(text_of_a_guard_is_that_of_its_term)
{
    lh::memory_store store;
    lh::basic_lease lease{store, "orders/17", 10s};
    static_cast<void>(lease.try_acquire());
    const auto guard = lease.try_acquire();
    BOOST_TEST(lh::to_text(guard) == "lh1:2:orders/17");
    std::error_code ec = lh::errc::lost;
    BOOST_TEST(lh::to_text(guard, ec) == "lh1:2:orders/17");
    BOOST_TEST(!ec);
    lh::lease_semaphore permits{store, "permits", 1, 10s};
    const auto permit = permits.try_acquire();
    const lh::sequencer of_permit = lh::read_sequencer(lh::to_text(permit));
    BOOST_TEST(lh::is_current(store, of_permit));
}

BOOST_AUTO_TEST_CASE(several_terms_have_no_text_but_each_of_their_guards_has)
{
    lh::memory_store store;
    lh::lease_semaphore permits{store, "licences", 8, 10s};
    auto three = permits.try_acquire(3);
    BOOST_TEST(!has_text<decltype(three)>);
    BOOST_TEST(!lh::names_its_term<decltype(three)>);
    BOOST_TEST(!has_text<lh::lease_set_guard<lh::basic_lease<lh::memory_store>>>);
    std::vector<lh::sequencer> terms;
    for (const auto& each : three.guards()) terms.push_back(lh::read_sequencer(lh::to_text(each)));
    BOOST_TEST(terms.size() == 3U);
    for (const lh::sequencer& term : terms) BOOST_TEST(lh::is_current(store, term), term.name);
    three.release();
    for (const lh::sequencer& term : terms) BOOST_TEST(!lh::is_current(store, term), term.name);
}

BOOST_AUTO_TEST_CASE(records_that_are_no_lease_are_no_current_term)
{
    lh::memory_store store;
    lh::lease_semaphore permits{store, "licences", 8, 10s};
    const auto permit = permits.try_acquire();
    std::error_code ec;
    const auto count = store.inspect("licences", ec);
    BOOST_TEST_REQUIRE((count && count->is_count()));
    BOOST_TEST(!lh::is_current(store, of("licences", count->token.value())));
    store.hold("job", 1h, "migration");
    const auto hold = store.inspect("job", ec);
    BOOST_TEST_REQUIRE((hold && hold->is_hold()));
    BOOST_TEST(!lh::is_current(store, of("job", hold->token.value())));
}

BOOST_AUTO_TEST_CASE(empty_guard_has_no_text)
{
    const lh::lease_guard<lh::basic_lease<lh::memory_store>> none;
    std::error_code ec;
    BOOST_TEST(lh::to_text(none, ec).empty());
    BOOST_TEST((ec == lh::errc::not_held));
    BOOST_CHECK_THROW(static_cast<void>(lh::to_text(none)), std::system_error);
    BOOST_CHECK_THROW(static_cast<void>(to_text(of("name", 0))), std::system_error);
    BOOST_CHECK_THROW(static_cast<void>(to_text(of("", 1))), std::system_error);
}

BOOST_AUTO_TEST_CASE(a_run_of_a_recurring_has_one_too)
{
    lh::memory_store store;
    lh::recurring nightly{store, "report", lh::every{.period = 1h}};
    const auto run = nightly.try_begin();
    BOOST_TEST(lh::to_text(run) == "lh1:1:report");
}

BOOST_AUTO_TEST_CASE(every_name_comes_back)
{
    std::mt19937 random{1};
    const std::vector<std::string> parts{"a",  "Z",    "0",    "-", ".", "_", "~",  "/",  "%", ":",
                                         " ", "\n", "\x01", "\x7f", "+", "é", "€", "😀", "%25"};
    for (int i = 0; i < 2000; ++i) {
        std::string name;
        for (std::size_t left = 1 + random() % 40; left > 0; --left) name += parts[random() % parts.size()];
        const lh::sequencer term = of(name, 1 + static_cast<std::int64_t>(random()));
        const std::string text = to_text(term);
        std::error_code ec;
        BOOST_TEST((lh::read_sequencer(text, ec) == term), text);
        BOOST_TEST(text.find_first_of(" \n:\x01\x7f", 4) == text.rfind(':'));
    }
    const std::string longest(190, '%');
    BOOST_TEST((lh::read_sequencer(to_text(of(longest, 7))) == of(longest, 7)));
}

BOOST_AUTO_TEST_CASE(other_texts_are_refused)
{
    for (const std::string_view text : {"", "lh1", "lh2:1:a", " lh1:1:a", "LH1:1:a"})
        BOOST_TEST(refuses(text, "must begin with \"lh1:\""), text);
    for (const std::string_view text : {"lh1:", "lh1:1", "lh1:a"}) BOOST_TEST(refuses(text, "colon between"), text);
    for (const std::string_view text :
         {"lh1::a", "lh1:0:a", "lh1:01:a", "lh1:-1:a", "lh1:+1:a", "lh1:1 :a", "lh1:9223372036854775808:a", "lh1:0x1:a"})
        BOOST_TEST(refuses(text, "must have a token from 1"), text);
    for (const std::string_view text :
         {"lh1:1:a b", "lh1:1:a:b", "lh1:1:%", "lh1:1:%4", "lh1:1:%41", "lh1:1:%c3%a9", "lh1:1:%2G", "lh1:1:é", "lh1:1:a\n"})
        BOOST_TEST(refuses(text, "letters, digits"), text);
    for (const std::string_view text : {"lh1:1:", "lh1:1:%C3", "lh1:1:%00", "lh1:1:%ED%A0%80"})
        BOOST_TEST(refuses(text, "1 to 190 bytes"), text);
    BOOST_TEST(refuses("lh1:1:" + std::string(191, 'a'), "1 to 190 bytes"));
    BOOST_TEST(refuses("lh1:1:" + std::string(1'000'000, 'a'), "at most 190 bytes"));
    BOOST_TEST(refuses(std::string_view{"lh1:1:a\0", 8}, "letters, digits"));
    BOOST_TEST(refusal_of("lh1:1:a\n") == "leasehold: the sequencer 'lh1:1:a\\n' must have a name in letters, digits and \"-._~/\", and a"
                                           " percent sign and two digits, as in %C3, for each other byte: invalid data or reason");
}

BOOST_AUTO_TEST_CASE(store_tells_whether_a_term_is_current)
{
    lh::manual_clock clock;
    lh::basic_memory_store store{clock};
    lh::basic_lease lease{store, "job", 10s, clock, lh::no_renewal{}};
    auto guard = lease.try_acquire();
    const lh::sequencer term = lh::read_sequencer(lh::to_text(guard));
    BOOST_TEST(lh::is_current(store, term));
    BOOST_TEST(!lh::is_current(store, of("job", 2)));
    BOOST_TEST(!lh::is_current(store, of("other", 1)));
    clock.advance(11s);
    std::error_code ec = lh::errc::lost;
    BOOST_TEST(!lh::is_current(store, term, ec));
    BOOST_TEST(!ec);
    const auto later = lease.try_acquire();
    BOOST_TEST(!lh::is_current(store, term));
    BOOST_TEST(lh::is_current(store, of("job", 2)));
}

BOOST_AUTO_TEST_CASE(a_name_that_is_kept_closed_has_no_current_term)
{
    lh::memory_store store;
    std::error_code ec;
    const auto granted = store.try_acquire("job", "a", 10s, ec);
    BOOST_TEST(store.release("job", "a", granted.token, 5s, ec));
    BOOST_TEST(!lh::is_current(store, of("job", granted.token.value())));
}

BOOST_AUTO_TEST_CASE(gate_admits_no_earlier_term)
{
    lh::token_gate gate;
    std::error_code ec = lh::errc::lost;
    BOOST_TEST(gate.admit(of("a", 3), ec));
    BOOST_TEST(!ec);
    BOOST_TEST(gate.admit(of("a", 3)));
    BOOST_TEST(!gate.admit(of("a", 2)));
    BOOST_TEST(gate.admit(of("b", 1)));
    BOOST_TEST(gate.admit(of("a", 5)));
    BOOST_TEST(!gate.admit(of("a", 4)));
    BOOST_TEST((gate.highest("a") == lh::fencing_token{5}));
    BOOST_TEST((gate.highest("c") == lh::fencing_token{}));
    gate.forget("a");
    gate.forget("c");
    BOOST_TEST(gate.admit(of("a", 1)));
}

BOOST_AUTO_TEST_SUITE_END()
