// SPDX-License-Identifier: BSL-1.0
// Renewals that the engine sends, alone or many in one call: when the next one follows, and when the store is asked for requests.
#include <leasehold/leasehold.hpp>

#include <contract/asked_once.hpp>
#include <support/printing.hpp>
#include <support/scripted_batching_store.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>

BOOST_AUTO_TEST_SUITE(engine_background_renewals_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using leasehold_test::both_stores;
using leasehold_test::fate;
using leasehold_test::operation;

namespace {

// Tells how many leases are alive, since each keeps a copy.
struct counted_policy {
    [[nodiscard]] std::optional<lh::duration> next(lh::renewal_state state) const noexcept { return state.ttl / 3; }
    std::shared_ptr<int> copies = std::make_shared<int>();
};

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(only_a_renewal_that_was_carried_out_is_followed_by_a_look_for_requests, Store, both_stores)
{
    lh::manual_clock clock;
    Store store{clock};
    lh::basic_lease one{store, "one", 30s, clock}, other{store, "other", 30s, clock};
    const auto a = one.try_acquire(), b = other.try_acquire();
    BOOST_TEST(!a.handover_requested());
    BOOST_TEST(!b.handover_requested());
    BOOST_TEST(store.sent(operation::handover_requested) == 2);

    for (const operation op : {operation::renew, operation::renew_many}) store.always(op, fate::fails);
    clock.advance(10s);
    BOOST_TEST((a.renewal_error() == lh::errc::store_unavailable));
    BOOST_TEST((b.renewal_error() == lh::errc::store_unavailable));
    BOOST_TEST(store.sent(operation::handover_requested) == 2);

    for (const operation op : {operation::renew, operation::renew_many}) store.always(op, fate::carried_out);
    for (int renewals = 1; renewals <= 2; ++renewals) {
        clock.advance(10s);
        BOOST_TEST(a.remaining() == 27s);
        BOOST_TEST(b.remaining() == 27s);
        BOOST_TEST(store.sent(operation::handover_requested) == 2 + 2 * renewals);
    }
}

BOOST_AUTO_TEST_CASE(engine_forgets_a_lease_that_is_gone)
{
    lh::manual_clock clock;
    leasehold_test::scripted_store store{clock};
    lh::basic_lease stays{store, "stays", 30s, clock};
    const auto guard = stays.try_acquire();
    const counted_policy policy;
    {
        lh::basic_lease goes{store, "goes", 30s, clock, policy};
        BOOST_TEST(is_held(goes.try_acquire()));
        BOOST_TEST(policy.copies.use_count() > 1);
    }
    BOOST_TEST(policy.copies.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(engine_forgets_a_lease_that_was_renewed_and_whose_holder_did_not_want_to_know_of_requests)
{
    lh::manual_clock clock;
    leasehold_test::scripted_store store{clock};
    lh::basic_lease stays{store, "stays", 30s, clock};
    const auto guard = stays.try_acquire();
    const counted_policy policy;
    {
        lh::basic_lease goes{store, "goes", 30s, clock, policy};
        const auto renewed = goes.try_acquire();
        clock.advance(10s);
        BOOST_TEST(renewed.remaining() == 27s);
    }
    BOOST_TEST(policy.copies.use_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
