// SPDX-License-Identifier: BSL-1.0
// needs: server
// The fence for what is made of several leases: a permit, a writer of a shared lease, each lease of a set. The holder's clock stands
// still, so that it believes whatever has become of its terms.
#include <contract/asked_once.hpp>
#include <faults/fenced_databases.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/fence.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(fence_of_several)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

template <class Database, class Guard>
bool confirms(scene<Database>& s, const Guard& guard)
{
    const bool fenced = lh::odbc::fence(s.mine.handle(), guard);
    s.mine.roll_back();
    return fenced;
}

// Ends the terms that `guard` is made of, and has `theirs` take over. Only the newer guard, which is returned, is confirmed; the
// older one believes that it still holds.
template <class Database, class Guard, class Theirs>
auto take_over(scene<Database>& s, const Guard& guard, Theirs& theirs, const std::vector<std::string>& terms)
{
    BOOST_TEST(confirms(s, guard));
    for (const std::string& name : terms) BOOST_TEST(s.others_store.force_release(name));
    BOOST_TEST(!confirms(s, guard));
    auto next = theirs.try_acquire();
    BOOST_REQUIRE(next.held());
    BOOST_TEST(next.token() > guard.token());
    BOOST_TEST(guard.held());
    BOOST_TEST(!confirms(s, guard));
    BOOST_TEST(confirms(s, next));
    return next;
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(permit_is_confirmed_until_another_has_it, Database, databases)
{
    scene<Database> s{"permits"};
    lh::lease_semaphore ours{s.store, s.name, 2, 60s, s.stopped, lh::no_renewal{}};
    lh::lease_semaphore theirs{s.others_store, s.name, 2, 60s, lh::no_renewal{}};
    const auto permit = ours.try_acquire();
    const auto other = theirs.try_acquire();
    BOOST_REQUIRE((permit.held() && other.held()));
    BOOST_TEST(confirms(s, other));
    const auto next = take_over(s, permit, theirs, {std::string{permit.name()}});
    BOOST_TEST(next.index() == permit.index());
    BOOST_TEST(confirms(s, other));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(writer_is_confirmed_until_another_writes, Database, databases)
{
    scene<Database> s{"catalog"};
    lh::shared_lease ours{s.store, s.name, 60s, s.stopped, lh::no_renewal{}, lh::reader_limit{2}};
    lh::shared_lease theirs{s.others_store, s.name, 60s, lh::no_renewal{}, lh::reader_limit{2}};
    const auto writer = ours.try_acquire();
    BOOST_REQUIRE(writer.held());
    BOOST_TEST(is_held(take_over(s, writer, theirs, {s.name + "/writer", s.name + "/r0", s.name + "/r1"})));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(reader_is_confirmed_until_its_share_is_anothers, Database, databases)
{
    scene<Database> s{"readers"};
    lh::shared_lease ours{s.store, s.name, 60s, s.stopped, lh::no_renewal{}, lh::reader_limit{1}};
    lh::shared_lease theirs{s.others_store, s.name, 60s, lh::no_renewal{}, lh::reader_limit{1}};
    const auto reader = ours.try_acquire_shared();
    BOOST_REQUIRE(reader.held());
    BOOST_TEST(confirms(s, reader));
    BOOST_TEST(s.others_store.force_release(s.name + "/r0"));
    const auto writer = theirs.try_acquire();
    BOOST_REQUIRE(writer.held());
    BOOST_TEST(!confirms(s, reader));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(each_lease_of_a_set_has_a_fence_of_its_own, Database, databases)
{
    scene<Database> s{"accounts"};
    using lease_type = decltype(s.lease);
    std::vector<lease_type> leases;
    for (const char* end : {"/1", "/2"}) leases.emplace_back(s.store, s.name + end, lh::lease_terms{.ttl = 60s}, s.stopped);
    const auto all = lh::try_acquire_all(leases);
    BOOST_REQUIRE(all.held());
    for (const auto& guard : all.guards()) BOOST_TEST(lh::odbc::fence(s.mine.handle(), guard));  // in one transaction
    s.mine.roll_back();
    BOOST_TEST(s.others_store.force_release(s.name + "/2"));
    BOOST_TEST(confirms(s, all.guards()[0]));
    BOOST_TEST(!confirms(s, all.guards()[1]));
}

BOOST_AUTO_TEST_SUITE_END()
