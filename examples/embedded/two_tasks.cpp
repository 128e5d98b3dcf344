// SPDX-License-Identifier: BSL-1.0
// Two tasks of one microcontroller that must not drive the same pump at once: first on a clock that the program itself
// moves, then with a task that interrupts the other at any instruction.
#include "board.hpp"

#include <leasehold/embedded.hpp>

#include <string_view>

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

// Milliseconds since the start, in 32 bits, which one instruction reads. A clock for more than 49 days must count overflows
// too. The store calls now() with interrupts off, so now() must be right there, and in an interrupt: read high, low, high again, and count
// an overflow that is pending.
volatile std::uint32_t ticks = 0;

void let_pass(std::chrono::milliseconds time) { ticks = ticks + static_cast<std::uint32_t>(time.count()); }

struct tick_clock {
    lh::time_point now() const noexcept { return lh::time_point{std::chrono::milliseconds{ticks}}; }
};

constexpr lh::static_text_limits short_texts{.name_bytes = 15, .owner_bytes = 15};
using lease_store = lh::basic_static_memory_store<2, tick_clock, board::critical_section, short_texts>;
using task_lease = lh::basic_static_lease<lease_store, tick_clock, lh::static_owner_id, lh::renew_at_fraction>;

constexpr lh::lease_terms terms{.ttl = 1s};  // a tenth of it is the safety margin
static_assert(terms.valid());

constinit lease_store leases;
constinit task_lease for_control{leases, lh::checked_name("pump"), terms, tick_clock{}, lh::static_owner_id{"control"}};
constinit task_lease for_service{leases, lh::checked_name("pump"), terms, tick_clock{}, lh::static_owner_id{"service"}};

int failures = 0;

void expect(bool as_it_should_be, const char* what)
{
    if (as_it_should_be) return;
    ++failures;
    board::print("FAILED: ");
    board::print(what);
    board::print("\n");
}

// One attempt, given back at once. True also if there is an error.
template <class Lease>
bool busy(Lease& lease, lh::plain_error& ec)
{
    const auto guard = lease.try_acquire(ec);
    return guard.empty();
}

void one_waits_while_the_other_renews()
{
    lh::plain_error ec;
    auto control = for_control.try_acquire(ec);
    expect(!ec && control.held(), "control gets the pump");
    for (int i = 0; i < 50; ++i) {
        let_pass(100ms);
        expect(control.renew_if_due(ec) && !ec, "control goes on, five times as long as the ttl");
        expect(busy(for_service, ec) && !ec, "service finds it busy");
    }
    const auto record = for_service.inspect();
    expect(record && record->owner == "control" && record->token == control.token(), "service sees who has it");
    expect(control.release(ec) == lh::release_outcome::released && !ec, "control gives it back");
    expect(!busy(for_service, ec) && !ec, "service has it at once, and gives it back");
}

void one_that_hangs_is_replaced_and_can_do_no_harm()
{
    lh::plain_error ec;
    auto control = for_control.try_acquire(ec);
    let_pass(899ms);
    expect(control.held() && control.remaining() == 1ms, "control holds until its deadline");
    let_pass(1ms);
    expect(!control.held(), "and stops to believe there");
    expect(busy(for_service, ec), "before the store lets anybody in");
    let_pass(100ms);
    auto service = for_service.try_acquire(ec);
    expect(service.held() && service.token() > control.token(), "service takes over, with a larger token");
    expect(!control.renew(ec) && !ec, "a late renewal does nothing");
    expect(control.release(ec) == lh::release_outcome::lost, "and so does a late release");
    expect(service.held() && service.renew(ec), "service has it still");
}

void what_can_not_work_is_an_error()
{
    lh::plain_error ec;
    const std::string_view no_name;  // with a literal, g++ 14 warns of a value that is not used, and there is none
    lh::basic_static_lease nameless{leases, no_name, terms, tick_clock{}, lh::static_owner_id{"control"}};
    expect(busy(nameless, ec) && ec == lh::errc::invalid_name, "a lease without a name");
    for (const char* name : {"valve", "heater"})
        expect(leases.try_acquire(name, "control", 1s, ec).granted(), "two names find room");
    expect(busy(for_control, ec) && ec == lh::errc::store_failure, "a third does not");
    let_pass(1s);
    expect(!busy(for_control, ec) && !ec, "but where the time of one is over");
}

// The second task, which runs in an interrupt; the first can be at any instruction. Each task marks its use of the pump.
volatile bool controlling = false;
volatile bool servicing = false;
volatile std::uint32_t overlaps = 0;
std::uint32_t service_terms = 0;
lh::fencing_token last_token;
task_lease::guard_type* service_guard = nullptr;

void note_term(lh::fencing_token token)
{
    if (token <= last_token) overlaps = overlaps + 1;
    last_token = token;
}

void service_task()
{
    lh::plain_error ec;
    auto& guard = *service_guard;
    if (guard) {
        servicing = false;
        if (guard.release(ec) != lh::release_outcome::released) overlaps = overlaps + 1;
        return;
    }
    guard = for_service.try_acquire(ec);
    if (!guard) return;
    if (controlling) overlaps = overlaps + 1;
    servicing = true;
    note_term(guard.token());
    ++service_terms;
}

void two_that_interrupt_each_other_never_overlap()
{
    std::uint32_t control_terms = 0;
    std::uint32_t busy = 0;
    task_lease::guard_type guard_of_service;
    service_guard = &guard_of_service;
    board::start_ticking(2999);
    while (overlaps == 0 && (control_terms < 20000 || service_terms < 1000)) {
        lh::plain_error ec;
        auto guard = for_control.try_acquire(ec);
        if (!guard) {
            ++busy;
            continue;
        }
        controlling = true;
        if (servicing) overlaps = overlaps + 1;
        note_term(guard.token());
        ++control_terms;
        controlling = false;
        if (guard.release(ec) != lh::release_outcome::released) overlaps = overlaps + 1;
    }
    board::stop_ticking();
    expect(overlaps == 0, "no two terms at once, and each token larger than the one before");
    board::print("control had ");
    board::print(control_terms);
    board::print(" terms and was told ");
    board::print(busy);
    board::print(" times that it was busy; service had ");
    board::print(service_terms);
    board::print(" terms\n");
}

}  // namespace

void board::tick() { service_task(); }

int board::run()
{
    one_waits_while_the_other_renews();
    one_that_hangs_is_replaced_and_can_do_no_harm();
    what_can_not_work_is_an_error();
    two_that_interrupt_each_other_never_overlap();
    board::print(failures == 0 ? "passed\n" : "FAILED\n");
    return failures == 0 ? 0 : 1;
}
