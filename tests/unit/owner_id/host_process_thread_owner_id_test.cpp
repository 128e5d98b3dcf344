// SPDX-License-Identifier: BSL-1.0
#include <leasehold/owner_id/host_process_thread_owner_id.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <thread>

#include <unistd.h>

BOOST_AUTO_TEST_SUITE(host_process_thread_owner_id_test)

namespace lh = leasehold;

namespace {

std::string readable(const std::string& id) { return id.substr(0, id.rfind('/')); }

}  // namespace

BOOST_AUTO_TEST_CASE(names_host_and_process)
{
    const std::string id = lh::host_process_thread_owner_id{}.id();
    BOOST_TEST(id.starts_with(lh::detail::host_prefix()));
    BOOST_TEST(id.find(":" + std::to_string(::getpid()) + ":") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(readable_part_stays_on_a_thread_and_differs_between_threads)
{
    const lh::host_process_thread_owner_id owner;
    std::string elsewhere;
    std::thread{[&] { elsewhere = owner.id(); }}.join();
    BOOST_TEST(readable(owner.id()) == readable(owner.id()));
    BOOST_TEST(readable(owner.id()) != readable(elsewhere));
}

BOOST_AUTO_TEST_SUITE_END()
