// SPDX-License-Identifier: BSL-1.0
// needs: server
// The reply to an operation is lost with the connection, and others act before it is repeated.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgresql_server.hpp>
#include <support/printing.hpp>
#include <support/tcp_gate.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>
#include <string>
#include <system_error>

BOOST_AUTO_TEST_SUITE(lost_replies)

namespace lh = leasehold;
using namespace leasehold_test;
using namespace std::chrono_literals;

namespace {

template <class Server, class Store>
struct scene {
    Server server{};
    tcp_gate gate{server.port()};
    // Through the gate, with one connection that is there.
    Store ours{through_gate(), {.pool_size = 1, .session_locks = false}};
    Store others{server.connection_string(), {.session_locks = false}};
    std::error_code ec{};

    scene()
    {
        ours.create_schema();
        others.create_schema();
    }

    lh::fencing_token attempt(Store& by, const std::string& name, const std::string& owner)
    {
        const auto said = by.try_acquire(name, owner, 60s, ec);
        BOOST_TEST_REQUIRE(said.granted(), ec.message() << by.diagnostics().server_message);
        return said.token;
    }

    // What `call` says, whose reply is lost after it has ended the term, when `then` has been done.
    template <class Call, class Then>
    auto with_reply_lost(Call call, Then then)
    {
        return with_reply_lost(call, [&] { return !others.inspect("n", ec) && !ec; }, then);
    }

    // Likewise, after it has done something else.
    template <class Call, class Done, class Then>
    auto with_reply_lost(Call call, Done done, Then then)
    {
        static_cast<void>(call("prepared"));  // so that the statements need no more than one reply each
        // Long enough for what is done before the reply, and short enough for the reply to an earlier statement of the same call.
        gate.delay(700ms, direction::to_client);
        auto answer = std::async(std::launch::async, call, "n");
        BOOST_TEST_REQUIRE(eventually(done));
        then();
        gate.cut();
        gate.pass();
        return answer.get();
    }

private:
    std::string through_gate() const
    {
        std::string text = server.connection_string();
        const std::string port = "Port=" + std::to_string(server.port());
        return text.replace(text.find(port), port.size(), "Port=" + std::to_string(gate.port()));
    }
};

using scenes = boost::mpl::list<scene<postgresql_server, lh::odbc_store>, scene<mariadb_server, lh::odbc_store>,
                                scene<postgresql_server, lh::observing_odbc_store>>;

}  // namespace

BOOST_FIXTURE_TEST_CASE_TEMPLATE(forced_release_ends_one_term, Scene, scenes, Scene)
{
    auto& s = *static_cast<Scene*>(this);
    s.attempt(s.others, "prepared", "first");
    s.attempt(s.others, "n", "first");
    lh::fencing_token next;
    const bool ended = s.with_reply_lost(
        [&](const std::string& name) {
            std::error_code failure;
            return s.ours.force_release(name, failure) && !failure;
        },
        [&] { next = s.attempt(s.others, "n", "next"); });
    BOOST_TEST(ended);
    BOOST_TEST(s.others.renew("n", "next", next, 60s, s.ec));
}

// A release that is repeated after a lost connection says "released" only of what it has ended itself.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(release_of_a_term_that_an_operator_ended_is_lost, Scene, scenes, Scene)
{
    auto& s = *static_cast<Scene*>(this);
    for (const lh::duration min_hold : {lh::duration{0s}, lh::duration{30s}}) {
        const auto token = s.attempt(s.ours, "n", "us");
        BOOST_TEST(s.others.force_release("n"));
        s.gate.cut();
        const bool released = s.ours.release("n", "us", token, min_hold, s.ec);
        BOOST_TEST(!released);
        // After a release for min_hold an operator may have opened the name.
        BOOST_TEST((!s.ec || min_hold > 0s), s.ec.message());
    }
}

// The server ends the session while it is set up, so that the release was never sent.
BOOST_AUTO_TEST_CASE(release_that_was_not_sent_when_its_connection_was_lost_is_not_a_repeated_one)
{
    postgresql_server server{};
    lh::odbc_store others{server.connection_string()};
    others.create_schema();
    std::error_code ec;
    const lh::fencing_token token = others.try_acquire("n", "us", 60s, ec).token;
    BOOST_TEST(others.force_release("n"));
    BOOST_TEST(others.try_acquire("n", "next", 60s, ec).granted());
    server.execute_sql("create sequence logins");
    server.execute_sql("grant usage on sequence logins to public");
    lh::odbc_options options;
    options.on_connect = {"select case nextval('logins') when 1 then pg_terminate_backend(pg_backend_pid()) end"};
    lh::odbc_store ours{server.connection_string(), options};
    BOOST_TEST(!ours.release("n", "us", token, 0s, ec));
    BOOST_TEST(!ec, ec.message() << ours.diagnostics().advice);
    BOOST_TEST(server.execute_sql("select last_value > 1 from logins").find('t') != std::string::npos, "a second connection");
}

// The term is over by the time that the save is repeated.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(save_whose_reply_was_lost_is_read_back, Scene, scenes, Scene)
{
    auto& s = *static_cast<Scene*>(this);
    const auto token = s.attempt(s.ours, "n", "us");
    BOOST_TEST(s.attempt(s.ours, "prepared", "us") == token);
    std::error_code failure;
    const auto save = [&](const std::string& name) { return s.ours.save_checkpoint(name, "us", token, "offset=4711", failure); };
    const auto saved = [&] {
        const auto record = s.others.checkpoint("n", s.ec);
        return record && record->text == "offset=4711";
    };
    BOOST_TEST(s.with_reply_lost(save, saved, [&] { BOOST_TEST(s.others.force_release("n")); }));
    BOOST_TEST(!failure, failure.message());
}

// Nobody can tell whether it was saved.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(save_whose_reply_was_lost_and_that_another_has_written_over_is_an_error, Scene, scenes, Scene)
{
    auto& s = *static_cast<Scene*>(this);
    const auto token = s.attempt(s.ours, "n", "us");
    BOOST_TEST(s.attempt(s.ours, "prepared", "us") == token);
    std::error_code failure;
    const auto save = [&](const std::string& name) { return s.ours.save_checkpoint(name, "us", token, "offset=4711", failure); };
    BOOST_TEST(!s.with_reply_lost(save, [&] { return s.others.checkpoint("n", s.ec).has_value(); }, [&] {
        BOOST_TEST(s.others.force_release("n"));
        const auto next = s.attempt(s.others, "n", "next");
        BOOST_TEST(s.others.save_checkpoint("n", "next", next, "offset=5000", s.ec));
    }));
    BOOST_TEST((failure == lh::errc::store_unavailable), failure.message());
    BOOST_TEST(s.others.checkpoint("n")->text == "offset=5000");
}

BOOST_FIXTURE_TEST_CASE_TEMPLATE(release_whose_reply_was_lost_is_a_release, Scene, scenes, Scene)
{
    auto& s = *static_cast<Scene*>(this);
    const auto token = s.attempt(s.ours, "n", "us");
    BOOST_TEST(s.attempt(s.ours, "prepared", "us") == token);
    BOOST_TEST(s.with_reply_lost(
        [&](const std::string& name) {
            std::error_code failure;
            return s.ours.release(name, "us", token, 0s, failure) && !failure;
        },
        [] {}));
}

BOOST_AUTO_TEST_SUITE_END()
