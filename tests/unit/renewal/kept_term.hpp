// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_UNIT_RENEWAL_KEPT_TERM_HPP
#define LEASEHOLD_TESTS_UNIT_RENEWAL_KEPT_TERM_HPP

#include <leasehold/clock/manual_clock.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/renewal/term_keeper.hpp>

#include <support/scripted_store.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>

namespace leasehold_test {

/// The newest term of a lease without an engine: the test is the watchdog, the worker and the signaller.
template <class Clock>
struct kept_term {
    using keeper_type = leasehold::renewal::term_keeper<scripted_store, Clock, leasehold::renew_at_fraction>;

    kept_term(scripted_store& store, leasehold::lease_terms terms, Clock clock)
        : keeper{std::make_shared<keeper_type>(store, "n", "o", terms, clock, leasehold::renew_at_fraction{})}
    {
    }

    [[nodiscard]] leasehold::duration remaining() const
    {
        return newest ? newest->remaining(keeper->clock()) : leasehold::duration::zero();
    }
    [[nodiscard]] bool held() const { return remaining() > leasehold::duration::zero(); }
    [[nodiscard]] std::stop_token stop_token() const { return keeper->stop_token(newest); }

    bool grant(leasehold::fencing_token token, leasehold::time_point sent)
    {
        BOOST_TEST_REQUIRE(keeper->begin_attempt());
        auto granted = keeper->grant(token, sent);
        if (!granted)
            keeper->attempt_failed();
        else
            newest = std::move(granted);
        return newest != nullptr;
    }

    bool step() { return told(keeper->step()); }
    void renew() { keeper->renew(), told(true); }
    bool extend(std::optional<leasehold::duration> ttl, std::error_code& ec) { return told(keeper->extend(newest, ttl, ec)); }
    leasehold::release_outcome end(std::error_code& ec)
    {
        const auto ended = std::move(newest);
        return told(keeper->end(ended, ec));
    }

    template <class T>
    T told(T answer)
    {
        keeper->signal();
        return answer;
    }

    std::shared_ptr<keeper_type> keeper;
    std::shared_ptr<leasehold::renewal::term> newest;
};

/// A scripted store, and a lease that nobody else wants.
struct alone {
    explicit alone(leasehold::lease_terms with = {.ttl = std::chrono::seconds{30}}) : terms{with}, kept{store, with, clock} {}

    leasehold::fencing_token grant()
    {
        const leasehold::time_point sent = clock.now();
        const leasehold::acquire_result result = store.try_acquire("n", "o", terms.ttl, ec);
        BOOST_TEST_REQUIRE((!ec && result.granted()));
        BOOST_TEST_REQUIRE(term->grant(result.token, sent));
        return result.token;
    }

    void renew_when_due()
    {
        clock.advance(std::chrono::seconds{10});
        BOOST_TEST_REQUIRE(term->step());
        term->renew();
    }

    leasehold::manual_clock clock;
    scripted_store store{clock};
    std::error_code ec;
    leasehold::lease_terms terms;
    kept_term<leasehold::manual_clock> kept;
    kept_term<leasehold::manual_clock>* const term = &kept;
};

}  // namespace leasehold_test

#endif
