// SPDX-License-Identifier: BSL-1.0
#include <leasehold/basic_lease.hpp>
#include <leasehold/lease_event.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/store/faulty_store.hpp>
#include <leasehold/store/forwarding_store.hpp>
#include <leasehold/store/hooked_store.hpp>
#include <leasehold/store/memory_store.hpp>
#include <support/printing.hpp>
#include <support/scripted_batching_store.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(forwarding_store_test)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

using memory = lh::basic_memory_store<lh::manual_clock>;

// A store that can do whatever a store can do, and notes the names that reach it.
class able_store : public scripted_batching_store {
public:
    using scripted_batching_store::scripted_batching_store;

    struct ticket {
        std::string_view name() const { return called; }
        void passed() noexcept { ++past; }
        std::string called;
        int past = 0;
    };

    ticket enqueue(std::string_view name, lh::waker&) { return {std::string{name}}; }
    using scripted_batching_store::try_acquire;
    lh::acquire_result try_acquire(ticket& with, std::string_view owner, lh::duration ttl, std::error_code& ec)
    {
        return try_acquire(with.name(), owner, ttl, ec);
    }
    lh::turn_answer turn(ticket& with, std::error_code& ec)
    {
        ec.clear();
        names.emplace_back(with.name());
        return {lh::turn_status::overdue, 7s};
    }
    void acquire_many(std::span<const lh::term_request> requests, std::size_t most, std::span<std::optional<lh::acquire_result>> answers,
                      std::error_code& ec)
    {
        for (std::size_t i = 0; i < requests.size() && most > 0; ++i) {
            names.emplace_back(requests[i].name);
            names.emplace_back(requests[i].wakes ? *requests[i].wakes : "as named");
            answers[i] = leases.try_acquire(requests[i].name, requests[i].owner, requests[i].ttl, ec);
        }
    }
    [[nodiscard]] lh::poll_pauses pauses() const noexcept { return {1s, 2s}; }
    [[nodiscard]] lh::store_diagnostics diagnostics() const { return {.sqlstate = "08S01", .advice = {}, .server_message = {}}; }
    void observe(const lh::lease_event& event) noexcept { names.emplace_back(event.name); }
    [[nodiscard]] lh::waiting::local_queue& local_waiters() noexcept { return leases.local_waiters(); }

    std::vector<std::string> names;
};

template <class Store>
constexpr bool can_do_everything = lh::ordered_store<Store> && lh::batching_store<Store> && lh::batch_acquiring_store<Store> &&
                                   lh::handover_store<Store> && lh::polled_store<Store> && lh::diagnosing_store<Store> &&
                                   lh::observed_store<Store>;
static_assert(can_do_everything<able_store>);
static_assert(can_do_everything<lh::forwarding_store<able_store>> && lh::queueing_store<lh::forwarding_store<able_store>>);

// What a plain store can't do, no store around it claims to.
struct plain_store {
    lh::acquire_result try_acquire(std::string_view, std::string_view, lh::duration, std::error_code&) { return {}; }
    bool renew(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&) { return false; }
    bool release(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&) { return false; }
    std::optional<lh::lease_record> inspect(std::string_view, std::error_code&) { return {}; }
};
using around_plain = lh::forwarding_store<plain_store>;
static_assert(lh::lease_store<around_plain> && !lh::notifying_store<around_plain> && !lh::ordered_store<around_plain> &&
              !lh::batching_store<around_plain> &&
              !lh::batch_acquiring_store<around_plain> && !lh::handover_store<around_plain> && !lh::polled_store<around_plain> &&
              !lh::diagnosing_store<around_plain> && !lh::observed_store<around_plain> && !lh::queueing_store<around_plain>);

template <lh::lease_store Store>
struct tenant_store : lh::forwarding_store<Store, tenant_store<Store>> {
    tenant_store(Store& all, std::string before) : lh::forwarding_store<Store, tenant_store>{all}, prefix{std::move(before)} {}
    std::string stored_name(std::string_view name) const { return prefix + std::string{name}; }
    std::string prefix;
};
static_assert(can_do_everything<tenant_store<able_store>> && !lh::queueing_store<tenant_store<able_store>>);

// As that of a database's session lock: a wait without a thread has one such ticket at a time.
struct ticket_with_a_thread {
    static constexpr bool takes_thread = true;
};
static_assert(lh::waiting::ticket_takes_thread<lh::detail::renamed_ticket<ticket_with_a_thread>>);
static_assert(!lh::waiting::ticket_takes_thread<lh::detail::renamed_ticket<lh::memory_store::queue_ticket>>);

template <lh::lease_store Store>
struct counting_store : lh::forwarding_store<Store, counting_store<Store>> {
    using lh::forwarding_store<Store, counting_store>::forwarding_store;
    auto around(const lh::store_call&, std::error_code&, auto make) { return ++calls, make(); }
    std::atomic<int> calls = 0;
};

struct scene {
    lh::manual_clock clock;
    able_store below{clock};
    std::error_code ec;
    lh::waker nobody;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(what_a_decorator_does_around_a_call_is_done_around_each, scene)
{
    counting_store<able_store> counted{below};
    const auto token = counted.try_acquire("n", "me", 30s, ec).token;
    auto ticket = counted.enqueue("n", nobody);
    counted.try_acquire(ticket, "other", 30s, ec);
    counted.renew("n", "me", token, 30s, ec);
    counted.publish("n", "me", token, "data", ec);
    counted.request_handover("n", "please", ec);
    BOOST_TEST((counted.handover_requested("n", "me", token, ec) == "please"));
    BOOST_TEST(counted.inspect("n", ec)->data == "data");
    BOOST_TEST(counted.release("n", "me", token, 0s, ec));
    BOOST_TEST(counted.calls == 8);
}

BOOST_FIXTURE_TEST_CASE(all_calls_pass_through_with_the_name_that_the_store_below_knows, scene)
{
    tenant_store<able_store> acme{below, "acme/"};
    const auto token = acme.try_acquire("n", "me", 30s, ec).token;
    BOOST_TEST(below.leases.inspect("acme/n", ec)->owner == "me");
    BOOST_TEST(acme.inspect("n", ec)->name == "n");
    BOOST_TEST((acme.renew("n", "me", token, 30s, ec) && acme.publish("n", "me", token, "data", ec)));
    BOOST_TEST(acme.request_handover("n", "please", ec));
    BOOST_TEST((acme.handover_requested("n", "me", token, ec) == "please"));

    auto ticket = acme.enqueue("n", nobody);
    BOOST_TEST(ticket.name() == "n");
    BOOST_TEST(acme.try_acquire(ticket, "other", 30s, ec).token == token);
    BOOST_TEST((acme.turn(ticket, ec).status == lh::turn_status::overdue));
    ticket.passed();
    BOOST_TEST(ticket.inner().past == 1);
    BOOST_TEST((below.names == std::vector<std::string>{"acme/n"}));

    std::array<lh::batch_answer, 1> answers{};
    acme.renew_many(std::array{lh::term_renewal{"n", "me", token, 30s}}, answers, 1s, ec);
    BOOST_TEST((answers[0] == lh::batch_answer::yes));
    answers = {};
    acme.release_many(std::array{lh::term_release{"n", "me", token, 0s}}, answers, ec);
    BOOST_TEST((answers[0] == lh::batch_answer::yes));

    below.names.clear();
    std::array<std::optional<lh::acquire_result>, 3> granted;
    acme.acquire_many(std::array{lh::term_request{"a", "me", 30s}, lh::term_request{"b", "me", 30s, "all"},
                                 lh::term_request{"c", "me", 30s, ""}}, 3, granted, ec);
    BOOST_TEST((below.names == std::vector<std::string>{"acme/a", "as named", "acme/b", "acme/all", "acme/c", ""}));
    BOOST_TEST((acme.pauses().longest == 2s && acme.batch_size() == below.batch_size() && acme.diagnostics().sqlstate == "08S01"));
}

BOOST_FIXTURE_TEST_CASE(name_that_gets_too_long_is_refused_and_never_reaches_the_store, scene)
{
    tenant_store<able_store> acme{below, "acme/"};
    const std::string longest(lh::max_name_bytes - 5, 'n'), longer = longest + 'n';
    BOOST_TEST(acme.try_acquire(longest, "me", 30s, ec).granted());
    BOOST_TEST(!acme.try_acquire(longer, "me", 30s, ec).granted());
    BOOST_TEST(ec == lh::errc::invalid_name);
    ec.clear();
    auto ticket = acme.enqueue(longer, nobody);
    acme.try_acquire(ticket, "me", 30s, ec);
    BOOST_TEST(ec == lh::errc::invalid_name);
    std::array<std::optional<lh::acquire_result>, 1> granted;
    acme.acquire_many(std::array{lh::term_request{longer, "me", 30s}}, 1, granted, ec);
    BOOST_TEST(ec == lh::errc::invalid_name);
    BOOST_TEST((!granted[0] && below.names.empty()));
    BOOST_TEST(below.sent(leasehold_test::operation::try_acquire) == 1);
}

BOOST_AUTO_TEST_CASE(tenants_do_not_wait_in_one_line)
{
    memory leases;
    tenant_store<memory> acme{leases, "acme/"}, other{leases, "other/"};
    BOOST_TEST(!(lh::waiting::key_of(acme, "n") == lh::waiting::key_of(other, "n")));
    lh::forwarding_store<memory> plain{leases};
    BOOST_TEST((&lh::waiting::queue_of(plain) == &leases.local_waiters()));
    BOOST_TEST((lh::waiting::key_of(plain, "n") == lh::waiting::key_of(leases, "n")));
}

BOOST_AUTO_TEST_CASE(store_around_a_store_has_the_threads_and_the_line_of_that_one_unless_it_may_hang)
{
    memory leases;
    lh::forwarding_store<memory> plain{leases};
    lh::hooked_store hooked{plain, [](const lh::store_call&, const lh::store_call_report&) {}};
    lh::faulty_store faulty{plain, [](const lh::store_call&) { return lh::store_fault::none; }};
    BOOST_TEST(lh::detail::engine_key(hooked) == &leases);
    BOOST_TEST(lh::detail::engine_key(faulty) == static_cast<const void*>(&faulty));
    lh::hooked_store around_faulty{faulty, [](const lh::store_call&, const lh::store_call_report&) {}};
    BOOST_TEST((lh::waiting::key_of(hooked, "n") == lh::waiting::key_of(leases, "n")));
    BOOST_TEST(!(lh::waiting::key_of(faulty, "n") == lh::waiting::key_of(leases, "n")));
    BOOST_TEST((lh::waiting::key_of(around_faulty, "n") == lh::waiting::key_of(faulty, "n")));
    BOOST_TEST((&lh::waiting::queue_of(around_faulty) == &lh::waiting::queue_of(faulty)));
}

BOOST_AUTO_TEST_SUITE_END()
