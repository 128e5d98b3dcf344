// SPDX-License-Identifier: BSL-1.0
// All guards have the members of one base: what those do that a kind of guard has because of it.
#include <leasehold/leasehold.hpp>

#include <support/printing.hpp>
#include <support/scripted_batching_store.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <system_error>
#include <utility>

BOOST_AUTO_TEST_SUITE(guard_base_test)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;
using namespace std::string_literals;

namespace {

struct scene {
    lh::manual_clock clock;
    scripted_batching_store store{clock};
    lh::lease_semaphore<scripted_batching_store, lh::manual_clock> licences{store, "licences", 2, 30s, clock};
    lh::shared_lease<scripted_batching_store, lh::manual_clock> catalog{store, "catalog", 30s, clock, lh::reader_limit{2}};
    lh::basic_lease<scripted_batching_store, lh::manual_clock> a{store, "a", 30s, clock};
    lh::basic_lease<scripted_batching_store, lh::manual_clock> b{store, "b", lh::lease_terms{.ttl = 30s, .safety_margin = 10s}, clock};
    std::error_code ec;

    lh::duration left(const char* name) { return store.leases.inspect(name, ec)->remaining; }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(holder_of_a_permit_publishes_in_its_row, scene)
{
    auto permit = licences.try_acquire();
    BOOST_TEST(permit.publish("10.0.0.7:8443"));
    BOOST_TEST(store.leases.inspect(permit.name(), ec)->data == "10.0.0.7:8443");
    BOOST_CHECK_EXCEPTION(permit.publish("a\0b"s), std::system_error,
                          [](const auto& e) { return e.code() == lh::errc::invalid_data; });
    store.leases.force_release(permit.name());
    BOOST_TEST(!permit.publish("late", ec));
    permit.release(ec);
    BOOST_TEST(!permit.publish("empty", ec));
    BOOST_TEST(ec == lh::errc::not_held);
}

BOOST_FIXTURE_TEST_CASE(holder_of_a_share_learns_that_it_is_asked_to_hand_over, scene)
{
    const auto share = catalog.try_acquire_shared();
    BOOST_TEST(!share.handover_requested());
    lh::basic_lease its{store, share.name(), 30s, clock};
    BOOST_TEST(its.request_handover("a writer waits"));
    clock.advance(10s);
    BOOST_TEST(share.handover_requested());
    BOOST_TEST(share.handover_reason() == "a writer waits");
}

BOOST_FIXTURE_TEST_CASE(writer_is_extended_by_a_new_ttl_and_says_what_its_last_renewal_met, scene)
{
    auto writer = catalog.try_acquire();
    BOOST_TEST(writer.renew(60s));
    BOOST_TEST((left("catalog/writer") == 60s && left("catalog/r0") == 60s && left("catalog/r1") == 60s));
    BOOST_TEST(!writer.renewal_error());
    store.always(operation::renew, fate::fails);
    store.always(operation::renew_many, fate::fails);
    BOOST_TEST(!writer.renew(ec));
    BOOST_TEST(writer.renewal_error() == lh::errc::store_unavailable);
    BOOST_TEST(writer.held());
}

BOOST_FIXTURE_TEST_CASE(set_is_extended_by_a_ttl_that_works_for_all_or_not_at_all, scene)
{
    auto all = lh::try_acquire_all(a, b);
    BOOST_TEST(all.renew(60s));
    BOOST_TEST((left("a") == 60s && left("b") == 60s));
    const int sent = store.sent(operation::renew_many);
    BOOST_TEST(!all.renew(10s, ec), "it is as long as the margin of one of them");
    BOOST_TEST(ec == lh::errc::invalid_terms);
    BOOST_CHECK_EXCEPTION(all.renew(10s), std::system_error, [](const auto& e) { return e.code() == lh::errc::invalid_terms; });
    BOOST_TEST(store.sent(operation::renew_many) == sent);
    store.always(operation::renew_many, fate::fails);
    BOOST_TEST(!all.renew(60s, ec));
    BOOST_TEST(all.renewal_error() == lh::errc::store_unavailable);
}

BOOST_FIXTURE_TEST_CASE(moved_from_permit_has_the_index_of_none, scene)
{
    auto first = licences.try_acquire(), second = licences.try_acquire();
    if (first.index() == 0) swap(first, second);
    auto taken = std::move(first);
    BOOST_TEST((first.empty() && first.index() == 0U && taken.index() == 1U));
    taken = std::move(second);
    BOOST_TEST((taken.held() && taken.index() == 0U));
    BOOST_TEST(store.leases.list("licences/").size() == 1U, "what a guard held is released when it takes over another's");
}

BOOST_AUTO_TEST_SUITE_END()
