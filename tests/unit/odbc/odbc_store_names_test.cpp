// SPDX-License-Identifier: BSL-1.0
// What can't be a name or an owner is refused by the store itself, which has no driver here to ask.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>

BOOST_AUTO_TEST_SUITE(odbc_store_names_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

const std::array impossible{std::string{}, std::string{"a\0b", 3}, std::string{"\xff"}, std::string{"\xc3"},
                            std::string(lh::max_name_bytes + 1, 'n')};

}  // namespace

BOOST_AUTO_TEST_CASE(impossible_names_are_refused_before_any_io)
{
    lh::odbc_store store{"no driver"};
    for (const std::string& text : impossible) {
        const auto refused = [&](lh::errc why, auto call) {
            std::error_code ec;
            call(ec);
            BOOST_TEST((ec == why), ec.message());
        };
        const lh::fencing_token token{1};
        for (const auto& [name, owner, why] : {std::tuple{std::string_view{text}, std::string_view{"o"}, lh::errc::invalid_name},
                                               std::tuple{std::string_view{"n"}, std::string_view{text}, lh::errc::invalid_owner}}) {
            refused(why, [&, n = name, o = owner](auto& ec) { BOOST_TEST(!store.try_acquire(n, o, 1s, ec).granted()); });
            refused(why, [&, n = name, o = owner](auto& ec) { BOOST_TEST(!store.renew(n, o, token, 1s, ec)); });
            refused(why, [&, n = name, o = owner](auto& ec) { BOOST_TEST(!store.release(n, o, token, 0s, ec)); });
        }
        refused(lh::errc::invalid_name, [&](auto& ec) { BOOST_TEST(!store.inspect(text, ec)); });
        refused(lh::errc::invalid_name, [&](auto& ec) { BOOST_TEST(!store.force_release(text, ec)); });
    }
}

BOOST_AUTO_TEST_CASE(other_stores_refuse_them_too)
{
    lh::memory_store store;
    lh::static_memory_store<4> small;
    for (const std::string& text : impossible) {
        std::error_code ec;
        BOOST_TEST(!store.try_acquire(text, "o", 1s, ec).granted());
        BOOST_TEST((ec == lh::errc::invalid_name));
        BOOST_TEST(!store.try_acquire("n", text, 1s, ec).granted());
        BOOST_TEST((ec == lh::errc::invalid_owner));
        BOOST_TEST(!small.try_acquire(text, "o", 1s, ec).granted());
        BOOST_TEST((ec == lh::errc::invalid_name));
        BOOST_TEST(!small.try_acquire("n", text, 1s, ec).granted());
        BOOST_TEST((ec == lh::errc::invalid_owner));
    }
    BOOST_TEST(store.list().empty());
}

BOOST_AUTO_TEST_SUITE_END()
