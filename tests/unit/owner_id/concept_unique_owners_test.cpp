// SPDX-License-Identifier: BSL-1.0
// Every owner id of the library but those of a fixed text is unique to its lease object.
#include <leasehold/leasehold.hpp>
#include <contract/asked_once.hpp>
#include <support/printing.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <thread>

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

BOOST_AUTO_TEST_SUITE(concept_unique_owners_test)

namespace lh = leasehold;
using namespace std::chrono_literals;
using unique_ids = boost::mpl::list<lh::random_owner_id, lh::host_process_thread_owner_id>;

BOOST_AUTO_TEST_CASE_TEMPLATE(two_leases_of_one_thread_exclude_each_other, OwnerId, unique_ids)
{
    lh::memory_store store;
    lh::basic_lease first{store, "n", lh::lease_terms{.ttl = 30s}, lh::steady_clock{}, OwnerId{}};
    lh::basic_lease second{store, "n", lh::lease_terms{.ttl = 30s}, lh::steady_clock{}, OwnerId{}};
    const auto guard = first.try_acquire();
    BOOST_TEST(guard.held());
    BOOST_TEST(!is_held(second.try_acquire()));
    BOOST_TEST(first.owner() != second.owner());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(is_new_at_each_call_and_a_valid_owner, OwnerId, unique_ids)
{
    const OwnerId owner;
    std::set<std::string> seen;
    for (int i = 0; i < 200; ++i) {
        const std::string id = owner.id();
        BOOST_CHECK_NO_THROW(lh::validate_owner(id));
        seen.insert(id);
    }
    BOOST_TEST(seen.size() == 200U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(has_what_people_read_in_front_and_128_random_bits_behind, OwnerId, unique_ids)
{
    const std::string id = OwnerId{}.id();
    const std::size_t slash = id.rfind('/');
    const std::string unique = slash == std::string::npos ? id : id.substr(slash + 1);
    BOOST_TEST(unique.size() == 32U);
    BOOST_TEST(unique.find_first_not_of("0123456789abcdef") == std::string::npos);
    BOOST_TEST(id.starts_with(lh::detail::host_prefix()));
}

BOOST_AUTO_TEST_CASE(readable_part_is_cut_where_it_does_not_fit_and_the_unique_part_never)
{
    for (const std::size_t length : {1U, 156U, 157U, 158U, 300U}) {
        const std::string id = lh::detail::unique_owner(std::string(length, 'h'));
        BOOST_CHECK_NO_THROW(lh::validate_owner(id));
        BOOST_TEST(id.find('/') == std::min<std::size_t>(length, 157));
        BOOST_TEST(id.substr(id.find('/') + 1).size() == 32U);
    }
}

#if !defined(_WIN32)
BOOST_AUTO_TEST_CASE_TEMPLATE(a_child_of_fork_makes_another_owner_than_its_parent, OwnerId, unique_ids)
{
    const OwnerId owner;
    (void)owner.id();  // what is drawn in advance, if anything, the child would have too
    int ends[2];
    BOOST_REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const std::string id = owner.id();
        ::_exit(::write(ends[1], id.data(), id.size()) == static_cast<ssize_t>(id.size()) ? 0 : 1);
    }
    const std::string here = owner.id();
    int status = 0;
    BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
    BOOST_TEST(status == 0);
    std::string there(200, '\0');
    there.resize(static_cast<std::size_t>(::read(ends[0], there.data(), there.size())));
    BOOST_TEST(!there.empty());
    // Not for the process's id, which comes round again.
    BOOST_TEST(here.substr(here.rfind('/') + 1) != there.substr(there.rfind('/') + 1));
    ::close(ends[0]);
    ::close(ends[1]);
}
#endif

BOOST_AUTO_TEST_SUITE_END()
