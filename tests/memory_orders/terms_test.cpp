// SPDX-License-Identifier: BSL-1.0
// What the threads of a term share: its deadline, and its place among those that the watchdog looks at.
#include <memory_orders/library.hpp>

namespace protocols {

// Goes on in steps, at any time; all threads read the same.
struct explored_clock {
    static inline std::vector<int> instants;
    static inline std::size_t at = 0;

    static void begin(std::vector<int> with)
    {
        instants = std::move(with);
        at = 0;
    }
    lh::time_point now() const noexcept
    {
        orders::current->give_way(nullptr);
        at += orders::current->choose(instants.size() - at);
        return lh::time_point{lh::duration{instants[at]}};
    }
};

struct explored_store {
    lh::acquire_result try_acquire(std::string_view, std::string_view, lh::duration, std::error_code&) { return {}; }
    bool renew(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&) const { return true; }
    bool release(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&) { return true; }
    std::optional<lh::lease_record> inspect(std::string_view, std::error_code&) { return std::nullopt; }
};

// A term of 20, less 2, granted at 0, so that its deadline is 18. A renewal was sent at 10; its answer extends the term to 28.
struct renewed_term {
    using keeper_type = lh::renewal::term_keeper<explored_store, explored_clock, lh::no_renewal>;

    renewed_term()
    {
        explored_clock::begin({0});
        const lh::lease_terms terms{.ttl = lh::duration{20}, .safety_margin = lh::duration{2}};
        keeper = std::make_shared<keeper_type>(store, "name", "owner", terms, explored_clock{}, lh::no_renewal{});
        static_cast<void>(keeper->begin_attempt());
        term = keeper->grant(lh::fencing_token{1}, lh::time_point{});
        explored_clock::begin({10});
        static_cast<void>(keeper->begin_extension(term, std::nullopt, sent));
    }
    [[nodiscard]] bool held() const { return term->remaining(explored_clock{}) > lh::duration::zero(); }
    void answer(bool extended) { keeper->end_renewal(sent, extended ? lh::batch_answer::yes : lh::batch_answer::no, {}); }

    explored_store store;
    std::shared_ptr<keeper_type> keeper;
    std::shared_ptr<lh::renewal::term> term;
    lh::renewal::sent_renewal sent;
};

BOOST_AUTO_TEST_SUITE(terms_test)

template <class Held>
auto two_looks(bool extended, Held held)
{
    return [=](fiber_execution& run) {
        renewed_term of;
        explored_clock::begin({10, 18, 27, 28});
        run.threads({[&] { of.answer(extended); },
                     [&] {
                         const bool first = held(of);
                         run.require(held(of) <= first, "held again after a loss");
                     }});
        run.require(extended || !of.held(), "held after a refusal");
        explored_clock::begin({28});
        run.require(!of.held(), "held after the deadline");
    };
}

BOOST_AUTO_TEST_CASE(loss_of_a_term_is_for_ever)
{
    const auto held = [](renewed_term& of) { return of.held(); };
    check_holds("deadline, extended", explore(two_looks(true, held)));
    check_holds("deadline, refused", explore(two_looks(false, held)));
    check_holds("deadline, extended, all relaxed", explore(two_looks(true, held), all_relaxed));

    const auto held_without_storing = [](renewed_term& of) {
        const lh::time_point until = of.term->deadline.load(acquire);
        return explored_clock{}.now() < until;
    };
    check_breaks("deadline, a loss that is seen but not stored", explore(two_looks(true, held_without_storing)),
                 "held again after a loss");
}

template <class Renewal>
auto told_by_another_thread(std::memory_order tell, std::memory_order listen, Renewal renewal)
{
    return [=](fiber_execution& run) {
        renewed_term of;
        explored_clock::begin({10, 18, 27});
        atomic<bool> lost;
        run.threads({[&] { renewal(of); },
                     [&] {
                         if (!of.held()) lost.store(true, tell);
                     },
                     [&] {
                         if (lost.load(listen)) run.require(!of.held(), "held again after a loss");
                     }});
    };
}

BOOST_AUTO_TEST_CASE(loss_that_one_thread_has_seen_is_seen_by_all)
{
    const auto by_keeper = [](renewed_term& of) { of.answer(true); };
    check_holds("deadline, told", explore(told_by_another_thread(release, acquire, by_keeper)));
    check_holds("deadline, told, all relaxed", explore(told_by_another_thread(relaxed, relaxed, by_keeper), all_relaxed));

    const auto by_a_store = [](renewed_term& of) {
        if (of.term->deadline.load() != lh::renewal::term::over) of.term->deadline.store(lh::time_point{lh::duration{28}});
    };
    check_breaks("deadline, extended by a store", explore(told_by_another_thread(release, acquire, by_a_store)),
                 "held again after a loss");
}

// engine::schedule() looks at wakes_at() without the engine's mutex, to leave the heap alone where an earlier wake is due.
struct scheduled_term : lh::renewal::watched_term {
    bool step() override { return false; }
    void renew() override {}
};

template <bool LookUnderKeepersMutex>
void schedule_and_watchdog(fiber_execution& run)
{
    constexpr lh::time_point soon{lh::duration{10}}, later{lh::duration{50}}, never = lh::time_point::max();
    orders::mutex keepers, engines;
    lh::renewal::term_heap heap{lh::renewal::watched_term::heap::instants};
    const auto term = std::make_shared<scheduled_term>();
    plain<bool> holds;
    heap.put(term, soon);  // of a term that was released
    const auto look = [&] { return term->wakes_at() <= later; };
    const auto put_unless = [&](bool due) {
        if (due) return;
        const std::lock_guard lock{engines};
        heap.put(term, later);
    };
    run.threads({[&] {  // a grant
                     const bool looked_early = !LookUnderKeepersMutex && look();
                     const std::lock_guard lock{keepers};
                     holds = true;
                     put_unless(LookUnderKeepersMutex ? look() : looked_early);
                 },
                 [&] {  // the watchdog, at `soon`
                     {
                         const std::lock_guard lock{engines};
                         if (heap.first_at() > soon) return;
                         heap.take_first();
                     }
                     const std::lock_guard lock{keepers};
                     if (holds) put_unless(look());
                 }});
    run.require(heap.first_at() != never, "nobody watches the term");
}

BOOST_AUTO_TEST_CASE(look_at_the_next_wake_without_the_engines_mutex_misses_none)
{
    check_holds("next wake", explore(schedule_and_watchdog<true>));
    check_holds("next wake, all relaxed", explore(schedule_and_watchdog<true>, all_relaxed));
    check_breaks("next wake, looked at before the keeper's mutex", explore(schedule_and_watchdog<false>),
                 "nobody watches the term");
}

// What a keeper is to its handles.
struct counted_keeper {
    void keep_itself(std::shared_ptr<counted_keeper> its) { self = std::move(its); }
    void retire() { ended_after = used_by_one + used_by_other; }

    lh::renewal::handle_count handles_;
    std::shared_ptr<counted_keeper> self;
    plain<int> used_by_one, used_by_other, ended_after;
};

void two_handles(fiber_execution& run)
{
    auto one = lh::renewal::keeper_handle<counted_keeper>::make();
    const auto kept = std::exchange(one->self, nullptr);
    auto other = one;
    run.threads({[&] {
                     one->used_by_one = 1;
                     one = {};
                 },
                 [&] {
                     other->used_by_other = 1;
                     other = {};
                 }});
    run.require(kept->ended_after == 2, "the keeper has not ended");
}

BOOST_AUTO_TEST_CASE(last_handle_ends_what_all_others_have_used)
{
    check_holds("last handle", explore(two_handles));
    check_breaks("last handle, all relaxed", explore(two_handles, all_relaxed), "data race: a read");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace protocols
