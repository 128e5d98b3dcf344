// SPDX-License-Identifier: BSL-1.0
// Who looks at leases without taking part.
#include <leasehold/leasehold.hpp>

#include <support/eventually.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace lease_observer_test {

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::eventually;
using memory_type = lh::basic_memory_store<lh::manual_clock>;

namespace {

// What an observer tells, from its thread.
class told_changes {
public:
    void add(const lh::lease_change& change)
    {
        const std::lock_guard lock{mutex_};
        told_.push_back(std::string{to_string(change.kind)} + " " + change.record.name + " " +
                        (change.record.is_hold() ? change.record.hold_reason() : change.record.owner));
    }
    auto all() const
    {
        const std::lock_guard lock{mutex_};
        return told_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> told_;
};

struct failing_plan {
    std::atomic<bool>* fails;
    std::atomic<int>* looks;
    lh::store_fault operator()(const lh::store_call& call) const
    {
        if (call.operation == lh::store_operation::inspect) ++*looks;
        return *fails ? lh::store_fault::lose_request : lh::store_fault::none;
    }
};

struct listing_counter : lh::forwarding_store<memory_type, listing_counter> {
    using forwarding_store::forwarding_store;

    std::vector<lh::lease_record> list(std::string_view prefix, std::error_code& ec)
    {
        ++lists;
        return underlying().list(prefix, ec);
    }
    std::optional<lh::lease_record> inspect(std::string_view, std::error_code&)
    {
        ++inspections;
        return std::nullopt;
    }

    std::atomic<int> lists{0}, inspections{0};
};

// Shows an earlier record every other time, as a balancer over copies does of which one lags.
struct lagging_store : lh::forwarding_store<memory_type, lagging_store> {
    using forwarding_store::forwarding_store;

    std::optional<lh::lease_record> inspect(std::string_view name, std::error_code& ec)
    {
        return earlier && looks++ % 2 == 1 ? earlier : forwarding_store::inspect(name, ec);
    }

    std::optional<lh::lease_record> earlier;
    std::atomic<int> looks{0};
};

struct scene {
    lh::manual_clock clock;
    memory_type store{clock};
    told_changes told;
    std::error_code ec;

    auto tell()
    {
        return [this](const lh::lease_change& change) { told.add(change); };
    }

    // Lets the observer look until it has told that many changes.
    bool tells(std::size_t count)
    {
        for (int step = 0; step < 100 && !eventually([&] { return told.all().size() >= count; }, 5ms, 1ms); ++step) clock.advance(500ms);
        return eventually([&] { return told.all().size() >= count; }) && told.all().size() == count;
    }
};

using texts = std::vector<std::string>;

// The thread of an observer runs before its class is built, and after it is destroyed: all that there is belongs to the base.
template <class Observer, class Seen, class Change>
constexpr bool adds_nothing = sizeof(Observer) == sizeof(lh::detail::observer_base<Seen, Change, typename Observer::clock_type>);

static_assert(adds_nothing<lh::lease_observer<memory_type>, std::optional<lh::lease_record>, lh::lease_change>);
static_assert(adds_nothing<lh::prefix_observer<memory_type>, std::vector<lh::lease_record>, lh::lease_change>);
static_assert(adds_nothing<lh::group_observer<memory_type>, std::vector<lh::member_record>, lh::member_change>);

}  // namespace

BOOST_FIXTURE_TEST_SUITE(lease_observer_test, scene)

BOOST_AUTO_TEST_CASE(look_at_a_copy_that_lags_tells_nothing)
{
    lagging_store lags{store};
    const auto earlier = store.try_acquire("job", "a", 1h, ec);
    lags.earlier = store.inspect("job", ec);
    BOOST_REQUIRE(store.release("job", "a", earlier.token, {}, ec));
    BOOST_REQUIRE(store.try_acquire("job", "b", 1h, ec).granted());
    const lh::lease_observer watch{lags, "job", tell(), lh::observer_options{.every = 500ms}, clock};
    for (int step = 0; step < 100 && !eventually([&] { return lags.looks >= 4; }, 5ms, 1ms); ++step) clock.advance(500ms);
    BOOST_TEST(lags.looks >= 4);
    BOOST_TEST((told.all() == texts{"acquired job b"}));
    BOOST_TEST(watch.current()->owner == "b");
}

BOOST_AUTO_TEST_CASE(each_change_is_told_in_order)
{
    const lh::acquire_result first = store.try_acquire("n", "a", 1h, ec);
    lh::lease_observer watch{store, "n", tell(), lh::observer_options{}, clock};
    BOOST_TEST(tells(1));
    BOOST_TEST(watch.current()->owner == "a");
    store.publish("n", "a", first.token, "x", ec);
    BOOST_TEST(tells(2));
    BOOST_TEST(watch.current()->data == "x");
    store.release("n", "a", first.token, 0s, ec);
    BOOST_TEST(tells(3));
    BOOST_TEST(!watch.current().has_value());
    store.try_acquire("n", "b", 20s, ec);
    BOOST_TEST(tells(4));
    BOOST_TEST(tells(5));
    store.hold("n", 1h, "migration");
    BOOST_TEST(tells(6));
    BOOST_TEST(watch.current()->is_hold());
    store.unhold("n");
    store.try_acquire("n", "c", 1h, ec);
    BOOST_TEST(tells(8));
    store.force_release("n");
    store.try_acquire("n", "d", 1h, ec);
    store.try_acquire("another", "e", 1h, ec);
    BOOST_TEST(tells(9));
    BOOST_TEST((told.all() == texts{"acquired n a", "data_changed n a", "released n a", "acquired n b", "expired n b",
                                    "hold_begun n migration", "hold_ended n migration", "acquired n c", "taken_over n d"}));
}

BOOST_AUTO_TEST_CASE(options_need_no_function_before_them)
{
    store.try_acquire("n", "a", 1h, ec);
    lh::lease_observer watch{store, "n", lh::observer_options{.every = 10s}, clock};
    lh::prefix_observer all{store, "", lh::observer_options{.every = 10s}, clock};
    BOOST_TEST((watch.next_change()->record.owner == "a"));
    BOOST_TEST((all.next_change()->record.owner == "a"));
    const lh::lease_observer by_its_own_clock{store, "n", lh::observer_options{.every = 10s}};
    const lh::lease_observer in_braces{store, "n", {.every = 10s}};
    BOOST_CHECK_THROW((lh::lease_observer{store, "n", lh::observer_options{.every = 0s}}), std::system_error);
}

BOOST_AUTO_TEST_CASE(prefix_observer_tells_of_all_names_that_begin_so)
{
    store.try_acquire("jobs/a", "1", 1h, ec);
    store.try_acquire("other", "1", 1h, ec);
    lh::prefix_observer watch{store, "jobs/", tell(), lh::observer_options{}, clock};
    BOOST_TEST(tells(1));
    store.force_release("jobs/a");
    store.try_acquire("jobs/b", "2", 1h, ec);
    BOOST_TEST(tells(3));
    BOOST_TEST(watch.current().size() == 1U);
    BOOST_TEST((told.all() == texts{"acquired jobs/a 1", "released jobs/a 1", "acquired jobs/b 2"}));
}

BOOST_AUTO_TEST_CASE(a_thousand_names_are_one_statement_a_look)
{
    listing_counter counting{store};
    for (int i = 0; i < 1000; ++i) store.try_acquire("jobs/" + std::to_string(i), "1", 1h, ec);
    lh::prefix_observer watch{counting, "jobs/", tell(), lh::observer_options{.every = 10s}, clock};
    BOOST_TEST(eventually([&] { return told.all().size() == 1000U; }));
    BOOST_TEST(counting.lists == 1);
    clock.advance(10s);
    BOOST_TEST(eventually([&] { return counting.lists == 2; }));
    BOOST_TEST(counting.inspections == 0);
}

BOOST_AUTO_TEST_CASE(outage_is_told_and_the_knowledge_grows_old)
{
    std::atomic<bool> fails{true};
    std::atomic<int> looks{0}, errors{0};
    lh::faulty_store faulty{store, failing_plan{&fails, &looks}};
    store.try_acquire("n", "a", 1h, ec);
    lh::observer_options options;
    options.on_error = [&](std::error_code error) { errors += error == lh::errc::store_unavailable ? 1 : 0; };
    lh::lease_observer watch{faulty, "n", tell(), options, clock};
    BOOST_TEST(eventually([&] { return errors == 1; }));
    BOOST_TEST((watch.age() == lh::duration::max()));
    fails = false;
    BOOST_TEST(tells(1));
    BOOST_TEST(eventually([&] { return watch.age() < 1s; }));
    fails = true;
    const lh::duration age = watch.age();
    const int before = errors;
    clock.advance(10s);
    BOOST_TEST((watch.age() == age + 10s));
    BOOST_TEST(eventually([&] { return errors > before; }));
    BOOST_TEST(watch.current()->owner == "a");
    BOOST_TEST(told.all().size() == 1U);
}

BOOST_AUTO_TEST_CASE(outage_is_told_by_an_observer_of_many_names_too)
{
    std::atomic<bool> fails{true};
    std::atomic<int> looks{0}, errors{0};
    lh::faulty_store faulty{store, failing_plan{&fails, &looks}};
    store.try_acquire("jobs/a", "1", 1h, ec);
    lh::observer_options options;
    options.on_error = [&](std::error_code error) { errors += error == lh::errc::store_unavailable ? 1 : 0; };
    lh::prefix_observer watch{faulty, "jobs/", tell(), options, clock};
    BOOST_TEST(eventually([&] { return errors == 1; }, 2s));
    BOOST_TEST((watch.age() == lh::duration::max()));
    BOOST_TEST(told.all().empty());
    fails = false;
    BOOST_TEST(tells(1));
}

BOOST_AUTO_TEST_CASE(it_looks_once_in_each_pause)
{
    std::atomic<bool> fails{false};
    std::atomic<int> looks{0};
    lh::faulty_store counting{store, failing_plan{&fails, &looks}};
    lh::lease_observer watch{counting, "n", {}, lh::observer_options{.every = 10s}, clock};
    for (int expected = 1; expected < 4; ++expected) {
        BOOST_TEST(eventually([&] { return looks == expected && watch.age() == 0s; }));
        clock.advance(9s);
        clock.advance(1s);
    }
}

BOOST_AUTO_TEST_CASE(it_looks_once_if_the_pause_has_no_end)
{
    std::atomic<bool> fails{false};
    std::atomic<int> looks{0};
    lh::faulty_store counting{store, failing_plan{&fails, &looks}};
    lh::lease_observer watch{counting, "n", {}, lh::observer_options{.every = lh::duration::max()}, clock};
    BOOST_TEST(eventually([&] { return looks == 1; }));
    clock.advance(1h);
    BOOST_TEST(leasehold_test::throughout([&] { return looks == 1; }, 50ms));
}

BOOST_AUTO_TEST_CASE(what_the_function_throws_is_told_and_the_next_change_comes)
{
    std::atomic<int> thrown{0};
    lh::observer_options options;
    options.on_exception = [&](std::exception_ptr exception) {
        try {
            std::rethrow_exception(exception);
        } catch (const std::runtime_error&) {
            ++thrown;
        }
        throw std::runtime_error{"of the hook, too"};
    };
    store.try_acquire("n", "a", 1h, ec);
    lh::lease_observer watch{store, "n",
                             [this](const lh::lease_change& change) {
                                 told.add(change);
                                 throw std::runtime_error{"of the function"};
                             },
                             options, clock};
    BOOST_TEST(tells(1));
    store.force_release("n");
    BOOST_TEST(tells(2));
    BOOST_TEST(eventually([&] { return thrown == 2; }));
}

BOOST_AUTO_TEST_CASE(changes_can_be_taken_one_by_one)
{
    lh::lease_observer watch{store, "n", {}, lh::observer_options{.every = 1ms}, clock};
    BOOST_TEST(eventually([&] { return watch.age() == 0s; }));
    BOOST_TEST(!watch.try_next_change().has_value());
    store.try_acquire("n", "a", 1h, ec);
    clock.advance(1ms);
    BOOST_TEST((watch.next_change()->kind == lh::lease_change_kind::acquired));
    BOOST_TEST(!watch.try_next_change().has_value());
    std::stop_source stop;
    stop.request_stop();
    BOOST_TEST(!watch.next_change(stop.get_token()).has_value());
}

BOOST_AUTO_TEST_CASE(arguments_that_cannot_work_are_refused)
{
    const auto refused = [](lh::errc code) { return [code](const std::system_error& e) { return e.code() == code; }; };
    BOOST_CHECK_EXCEPTION((lh::lease_observer{store, "", tell()}), std::system_error, refused(lh::errc::invalid_name));
    BOOST_CHECK_EXCEPTION((lh::lease_observer{store, "n", tell(), lh::observer_options{.every = 999us}}), std::system_error,
                          refused(lh::errc::invalid_terms));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace lease_observer_test
