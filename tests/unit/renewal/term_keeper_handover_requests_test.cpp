// SPDX-License-Identifier: BSL-1.0
// Which term is told of a request to hand over, and when the store is asked for one. No engine runs here: the test is the listener.
#include <support/printing.hpp>
#include <support/scripted_store.hpp>
#include <unit/renewal/kept_term.hpp>

#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/renew_policy/no_renewal.hpp>
#include <leasehold/renewal/term_keeper.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>

BOOST_AUTO_TEST_SUITE(term_keeper_handover_requests_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::alone;
using leasehold_test::kept_term;
using leasehold_test::operation;
using leasehold_test::scripted_store;

namespace {

struct scene : alone {
    scene() { grant(); }

    [[nodiscard]] bool received() { return kept.keeper->handover_requested(kept.newest); }
    [[nodiscard]] std::string reason() { return kept.keeper->handover_reason(kept.newest); }
    [[nodiscard]] int asked() const { return store.sent(operation::handover_requested); }
    void request(std::string_view why) { BOOST_TEST_REQUIRE(store.leases.request_handover("n", why, ec)); }
    void lose()
    {
        store.leases.force_release("n");
        BOOST_TEST(!kept.extend(std::nullopt, ec));
    }
};

// Nobody can wait on it, so that nothing happens in the background.
struct read_only_clock {
    [[nodiscard]] lh::time_point now() const noexcept { return of.now(); }
    lh::manual_clock of;
};

}  // namespace

BOOST_AUTO_TEST_CASE(term_that_nobody_has_asked_about_has_no_reason)
{
    scene s;
    BOOST_TEST(s.reason() == "");
}

BOOST_AUTO_TEST_CASE(request_is_received_until_the_deadline_though_nobody_has_seen_it_pass)
{
    scene s;
    s.request("x");
    BOOST_TEST(s.received());
    s.clock.advance(27s - 1ns);
    BOOST_TEST(s.received());
    s.clock.advance(1ns);
    BOOST_TEST(!s.received());
}

BOOST_AUTO_TEST_CASE(request_is_not_received_once_the_term_was_refused)
{
    scene s;
    s.request("x");
    BOOST_TEST(s.received());
    s.lose();
    BOOST_TEST(!s.received());
}

BOOST_AUTO_TEST_CASE(store_is_not_asked_about_a_term_that_is_over)
{
    scene s;
    s.lose();
    BOOST_TEST(!s.received());
    BOOST_TEST(s.asked() == 0);
}

BOOST_AUTO_TEST_CASE(store_is_not_asked_for_the_next_term_until_its_holder_wants_to_know)
{
    scene s;
    BOOST_TEST(!s.received());
    const auto* const memory = s.kept.newest.get();
    s.kept.end(s.ec);
    s.grant();
    BOOST_TEST_REQUIRE(s.kept.newest.get() == memory);
    s.request("x");
    BOOST_TEST(s.kept.extend(std::nullopt, s.ec));
    s.kept.keeper->look();
    BOOST_TEST(s.asked() == 1);
    BOOST_TEST(s.received());
    BOOST_TEST(s.asked() == 2);
}

BOOST_AUTO_TEST_CASE(every_token_of_a_term_is_asked_to_stop)
{
    scene s;
    const std::stop_token first = s.kept.keeper->handover_token(s.kept.newest), second = s.kept.keeper->handover_token(s.kept.newest);
    s.request("x");
    BOOST_TEST(!first.stop_requested());
    s.kept.keeper->look();
    BOOST_TEST(first.stop_requested());
    BOOST_TEST(second.stop_requested());
    BOOST_TEST(s.kept.keeper->handover_token(s.kept.newest).stop_requested());
    BOOST_TEST(s.reason() == "x");
}

BOOST_AUTO_TEST_CASE(token_is_not_asked_to_stop_by_a_look_that_comes_after_the_loss)
{
    scene s;
    const std::stop_token token = s.kept.keeper->handover_token(s.kept.newest);
    s.request("x");
    BOOST_TEST(s.kept.extend(std::nullopt, s.ec));
    BOOST_TEST(s.received());
    BOOST_TEST(!token.stop_requested());
    s.lose();
    s.kept.keeper->look();
    BOOST_TEST(!token.stop_requested());
}

BOOST_AUTO_TEST_CASE(token_on_a_clock_that_cannot_be_waited_on_is_never_asked_to_stop)
{
    const lh::manual_clock time;
    scripted_store store{time};
    kept_term<read_only_clock> kept{store, lh::lease_terms{.ttl = 30s}, read_only_clock{time}};
    std::error_code ec;
    const auto result = store.try_acquire("n", "o", 30s, ec);
    BOOST_TEST_REQUIRE(kept.grant(result.token, time.now()));
    BOOST_TEST(!kept.keeper->handover_token(kept.newest).stop_possible());
}

BOOST_AUTO_TEST_CASE(reason_that_was_told_is_not_replaced_by_an_answer_that_comes_later)
{
    scene s;
    s.request("first");
    s.store.after(operation::handover_requested, [&](std::string_view) {
        s.store.after(operation::handover_requested, {});
        s.request("second");
        BOOST_TEST(s.kept.extend(std::nullopt, s.ec));
        BOOST_TEST(s.reason() == "second");
    });
    BOOST_TEST(s.received());
    BOOST_TEST(s.asked() == 2);
    BOOST_TEST(s.reason() == "second");
}

BOOST_AUTO_TEST_CASE(answer_that_comes_with_an_error_is_none)
{
    struct failing_store : scripted_store {
        using scripted_store::scripted_store;
        std::optional<std::string> handover_requested(std::string_view, std::string_view, lh::fencing_token, std::error_code& ec)
        {
            ec = lh::errc::store_timeout;
            return "x";
        }
    };
    const lh::manual_clock clock;
    failing_store store{clock};
    lh::renewal::term_keeper<failing_store, lh::manual_clock, lh::no_renewal> keeper{
        store, "n", "o", lh::lease_terms{.ttl = 30s}, clock, lh::no_renewal{}};
    std::error_code ec;
    const auto result = store.try_acquire("n", "o", 30s, ec);
    BOOST_TEST_REQUIRE(keeper.begin_attempt());
    const auto term = keeper.grant(result.token, clock.now());
    BOOST_TEST(!keeper.handover_requested(term));
    BOOST_TEST(keeper.handover_reason(term) == "");
}

BOOST_AUTO_TEST_SUITE_END()
