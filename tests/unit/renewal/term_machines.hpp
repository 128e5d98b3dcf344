// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_UNIT_RENEWAL_TERM_MACHINES_HPP
#define LEASEHOLD_TESTS_UNIT_RENEWAL_TERM_MACHINES_HPP

// Machines of a term in each of their states, and how a failed check shows what they answer.

#include <leasehold/renewal/term_machine.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <ostream>

namespace leasehold::inline v0::renewal
{

inline std::ostream& boost_test_print_type(std::ostream& out, term_action action)
{
    constexpr std::array names{"sleep", "renew", "signal_loss"};
    return out << names.at(static_cast<std::size_t>(action));
}

inline std::ostream& boost_test_print_type(std::ostream& out, term_phase phase)
{
    constexpr std::array names{"none", "held", "lost"};
    return out << names.at(static_cast<std::size_t>(phase));
}

}  // namespace leasehold::inline v0::renewal

namespace leasehold_test::term_machines {

namespace lh = leasehold;
using namespace std::chrono_literals;
using lh::renewal::term_action;
using lh::renewal::term_machine;
using lh::renewal::term_phase;

inline constexpr lh::time_point start{1h};
inline constexpr lh::duration ttl = 30s;
inline constexpr lh::duration margin = 3s;
inline constexpr lh::time_point deadline = start + 27s;  // from the start of the attempt

struct after {
    std::optional<lh::duration> pause;
    std::optional<lh::duration> next(lh::renewal_state) const noexcept { return pause; }
};

inline constexpr after at_ten{10s};

inline term_machine held(lh::time_point sent = start)
{
    term_machine machine;
    machine.granted(sent, ttl, margin, at_ten);
    return machine;
}

inline term_machine renewing()
{
    term_machine machine = held();
    BOOST_TEST_REQUIRE((machine.step(start + 10s).action == term_action::renew));
    return machine;
}

inline term_machine lost()
{
    term_machine machine = held();
    BOOST_TEST_REQUIRE((machine.step(deadline).action == term_action::signal_loss));
    return machine;
}

inline term_machine ended()
{
    term_machine machine = held();
    machine.ended();
    return machine;
}

}  // namespace leasehold_test::term_machines

#endif
