// SPDX-License-Identifier: BSL-1.0
// Every public operation, with the first allocation of the calling thread failing, then the second, and so on until it needs no
// more: it reports, and leaves nothing half done. A program of its own, since it replaces the global operator new.
#include "allocations.hpp"

#include <leasehold/leasehold.hpp>
#include <leasehold/release_all.hpp>

#include <contract/asked_once.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace lh = leasehold;
using namespace std::chrono_literals;
using out_of_memory::raise;
using out_of_memory::sweep;

namespace {

// Names too long for a string to keep in itself.
const std::string name(64, 'n');
const std::string busy_name(64, 'b');

struct scene {
    lh::memory_store store;
    lh::basic_lease<lh::memory_store> lease{store, name, 1h};
    lh::basic_lease<lh::memory_store> somebody_else{store, busy_name, 1h};
    lh::basic_lease<lh::memory_store> waiter{store, busy_name, 1h};
    lh::lease_guard<lh::basic_lease<lh::memory_store>> theirs = somebody_else.try_acquire();

    void check()
    {
        BOOST_TEST(!lease.inspect().has_value(), "something is left behind");
        BOOST_TEST(is_held(lease.try_acquire()));
        BOOST_TEST(lh::waiting::own_queue::threads_waiting() == 0U);
        theirs.release();
        BOOST_TEST(is_held(waiter.try_acquire_for(10s)));
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(out_of_memory_test)

BOOST_AUTO_TEST_CASE(making_a_lease)
{
    sweep<scene>([](scene& s) {
        lh::basic_lease{s.store, std::string_view{name}, lh::fixed_owner_id{"somebody with a long name, too long to be kept"}};
    });
}

BOOST_AUTO_TEST_CASE(one_attempt)
{
    sweep<scene>([](scene& s) { BOOST_REQUIRE(is_held(s.lease.try_acquire())); });
}

BOOST_AUTO_TEST_CASE(one_attempt_that_reports)
{
    sweep<scene>([](scene& s) {
        std::error_code ec;
        const auto guard = s.lease.try_acquire(ec);
        raise(ec);
        BOOST_REQUIRE(guard.held());
    });
}

BOOST_AUTO_TEST_CASE(attempt_at_a_name_that_is_busy)
{
    sweep<scene>([](scene& s) { BOOST_REQUIRE(!is_held(s.waiter.try_acquire())); });
}

BOOST_AUTO_TEST_CASE(waiting)
{
    sweep<scene>([](scene& s) { BOOST_REQUIRE(!is_held(s.waiter.try_acquire_for(1ms))); });
}

BOOST_AUTO_TEST_CASE(waiting_that_can_be_cancelled)
{
    sweep<scene>([](scene& s) {
        std::stop_source stop;
        std::error_code ec;
        BOOST_REQUIRE(!is_held(s.waiter.try_acquire_for(1ms, stop.get_token(), ec)));
        raise(ec);
    });
}

BOOST_AUTO_TEST_CASE(a_guards_whole_life)
{
    sweep<scene>([](scene& s) {
        auto guard = s.lease.try_acquire();
        const std::stop_token stop = guard.stop_token();
        BOOST_REQUIRE(guard.renew());
        auto moved = std::move(guard);
        BOOST_REQUIRE(moved.release() == lh::release_outcome::released);
    });
}

BOOST_AUTO_TEST_CASE(a_guards_destructor)
{
    sweep<scene>([](scene& s) {
        const auto guard = s.lease.try_acquire();
        out_of_memory::allocations_left = 0;  // what releases must need none
    });
}

BOOST_AUTO_TEST_CASE(locking)
{
    sweep<scene>([](scene& s) { const std::scoped_lock both{s.lease}; });
}

BOOST_AUTO_TEST_CASE(running_under_the_lease)
{
    sweep<scene>([](scene& s) { BOOST_REQUIRE(s.lease.try_run([] {})); });
}

BOOST_AUTO_TEST_CASE(token_of_requests_to_hand_over)
{
    int failures = 0;
    for (bool made = false; !made && failures < 100; failures += made ? 0 : 1) {
        scene s;
        const auto guard = s.lease.try_acquire();
        out_of_memory::allocations_left = failures;
        try {
            made = guard.handover_token().stop_possible();
            out_of_memory::allocations_left = -1;
            BOOST_TEST(made);
        } catch (const std::exception&) {
            out_of_memory::allocations_left = -1;
            BOOST_TEST(s.lease.request_handover("x"));
            BOOST_TEST(guard.handover_requested(), "nobody listens, so that each call asks the store; " << failures << " allocations");
        }
    }
    BOOST_TEST(failures > 1);
    BOOST_TEST(failures < 100);
}

BOOST_AUTO_TEST_CASE(request_to_hand_over_that_there_was_no_memory_for_is_received_by_the_next_call)
{
    scene s;
    const auto guard = s.lease.try_acquire();
    BOOST_TEST(s.lease.request_handover("x"));  // short, so that the answer needs no memory
    out_of_memory::allocations_left = 0;
    const bool received = guard.handover_requested();
    out_of_memory::allocations_left = -1;
    BOOST_TEST(!received);
    BOOST_TEST(guard.handover_requested());
}

BOOST_AUTO_TEST_CASE(checkpoint)
{
    sweep<scene>([](scene& s) {
        auto guard = s.lease.try_acquire();
        BOOST_REQUIRE(guard.save_checkpoint(busy_name));
        BOOST_REQUIRE(guard.load_checkpoint() == busy_name);
    });
    sweep<scene>([](scene& s) {
        std::error_code ec;
        auto guard = s.lease.try_acquire(ec);
        raise(ec);
        const bool saved = guard.save_checkpoint(busy_name, ec);
        raise(ec);
        BOOST_REQUIRE(saved);
        const std::optional<std::string> loaded = guard.load_checkpoint(ec);
        raise(ec);
        BOOST_REQUIRE(loaded == busy_name);
    });
}

BOOST_AUTO_TEST_CASE(token_as_a_text)
{
    sweep<scene>([](scene& s) {
        const auto guard = s.lease.try_acquire();
        lh::token_gate gate;
        const lh::sequencer read = lh::read_sequencer(lh::to_text(guard));
        BOOST_REQUIRE(lh::is_current(s.store, read));
        BOOST_REQUIRE(gate.admit(read));
        BOOST_REQUIRE(gate.highest(name) == guard.token());
    });
    sweep<scene>([](scene& s) {
        std::error_code ec;
        const auto guard = s.lease.try_acquire();
        lh::token_gate gate;
        const std::string header = lh::to_text(guard, ec);
        raise(ec);
        const lh::sequencer read = lh::read_sequencer(header, ec);
        raise(ec);
        const bool current = lh::is_current(s.store, read, ec);
        raise(ec);
        BOOST_REQUIRE(current);
        const bool admitted = gate.admit(read, ec);
        if (ec) BOOST_TEST((gate.highest(name) == lh::fencing_token{}));
        raise(ec);
        BOOST_REQUIRE(admitted);
    });
}

// Which throws nothing but that, whatever it is given.
BOOST_AUTO_TEST_CASE(text_that_is_no_token)
{
    sweep<scene>([](scene&) {
        std::error_code ec;
        const lh::sequencer read = lh::read_sequencer("lh1:1:" + name + "%", ec);
        BOOST_TEST(read.name.empty());
        if (ec != lh::errc::invalid_data) raise(ec);
    });
}

BOOST_AUTO_TEST_CASE(looking)
{
    sweep<scene>([](scene& s) { BOOST_REQUIRE(s.waiter.inspect().has_value()); });
}

BOOST_AUTO_TEST_CASE(releasing_many)
{
    sweep<scene>([](scene& s) {
        std::vector<lh::lease_guard<lh::basic_lease<lh::memory_store>>> guards;
        guards.push_back(s.lease.try_acquire());
        BOOST_REQUIRE(lh::release_all(guards) == 1U);
    });
}

BOOST_AUTO_TEST_CASE(queueing_terms_for_which_there_is_room)
{
    struct idle_term : lh::renewal::watched_term {
        bool step() override { return false; }
        void renew() override {}
    };
    for (std::size_t many = 1; many <= 5; ++many) {
        std::vector<std::shared_ptr<lh::renewal::watched_term>> terms;
        while (terms.size() < many) terms.push_back(std::make_shared<idle_term>());
        lh::renewal::term_heap heap{lh::renewal::watched_term::heap::instants};
        heap.reserve(many);
        lh::renewal::term_heap jobs{lh::renewal::watched_term::heap::renewals};
        jobs.reserve(many);
        bool thrown = false;
        out_of_memory::allocations_left = 0;
        try {
            heap.reserve(many);
            jobs.reserve(many);
            for (const auto& term : terms) {
                heap.put(term, lh::time_point{1h});
                jobs.put(term, lh::time_point{1h});
            }
        } catch (const std::bad_alloc&) {
            thrown = true;
        }
        out_of_memory::allocations_left = -1;
        BOOST_TEST(!thrown, many << " terms");
    }
}

// A renewal that has begun and never ends would keep the term from being renewed for ever.
BOOST_AUTO_TEST_CASE(batch_of_renewals_that_fails_for_want_of_memory_has_begun_none)
{
    struct counted_term : lh::renewal::watched_term {
        explicit counted_term(int& count) : under_way{count} {}
        bool step() override { return false; }
        void renew() override {}
        std::optional<lh::duration> begin_renewal(lh::time_point, lh::term_renewal&, lh::renewal::sent_renewal&) override
        {
            ++under_way;
            return 1s;
        }
        void end_renewal(const lh::renewal::sent_renewal&, lh::batch_answer, std::error_code) override { --under_way; }
        int& under_way;
    };
    struct batching_store : lh::memory_store {
        static std::size_t batch_size() noexcept { return 10; }
        static void renew_many(std::span<const lh::term_renewal>, std::span<lh::batch_answer>, lh::duration, std::error_code&) {}
        static void release_many(std::span<const lh::term_release>, std::span<lh::batch_answer>, std::error_code&) {}
    };
    struct several_terms {
        several_terms()
        {
            while (terms.size() < 5) terms.push_back(std::make_shared<counted_term>(under_way));
        }
        void check() const { BOOST_TEST(under_way == 0); }
        int under_way = 0;
        batching_store store;
        std::vector<std::shared_ptr<lh::renewal::watched_term>> terms;
    };
    sweep<several_terms>([](several_terms& s) { lh::renewal::renew_as_batch(s.store, lh::steady_clock{}, s.terms); });
}

BOOST_AUTO_TEST_CASE(lease_that_has_an_engine_needs_no_room_there_again)
{
    lh::memory_store store;
    lh::basic_lease lease{store, name, 1h};
    lease.try_acquire().release();
    auto& keeper = lh::detail::lease_access::keeper(lease);
    bool thrown = false;
    out_of_memory::allocations_left = 0;
    try {
        for (int i = 0; i < 10; ++i) keeper.attach_engine();
    } catch (const std::bad_alloc&) {
        thrown = true;
    }
    out_of_memory::allocations_left = -1;
    BOOST_TEST(!thrown);
}

BOOST_AUTO_TEST_CASE(leading)
{
    sweep<scene>([](scene& s) {
        lh::leader_election election{s.lease};
        std::stop_source stop;
        election.run(stop.get_token(), [&](auto&) { stop.request_stop(); });
    });
}

BOOST_AUTO_TEST_SUITE_END()
