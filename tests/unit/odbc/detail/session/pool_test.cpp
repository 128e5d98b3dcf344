// SPDX-License-Identifier: BSL-1.0
// Which session a call gets.
#include <leasehold/odbc/detail/session/pool.hpp>
#include <leasehold/odbc/detail/session/steps.hpp>
#include <leasehold/odbc/dialect/spec.hpp>
#include <leasehold/odbc/dialect/sqlite.hpp>
#include <support/environment.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace pool_test {

using namespace leasehold_test;
using namespace std::chrono_literals;
namespace od = leasehold::odbc::detail;
using steady = std::chrono::steady_clock;

namespace {

constexpr std::int64_t token = 7;

// With session locks that nobody takes: a session without a thread does nothing while it is idle.
leasehold::dialect::spec sqlite_with_locks(const leasehold::dialect::server_info& at)
{
    leasehold::dialect::spec described = leasehold::dialect::sqlite::describe(at);
    for (std::string* const text : {&described.locks.lock, &described.locks.try_lock, &described.locks.unlock}) *text = "select 1";
    return described;
}

// Is granted a term.
class granted_job final : public od::job_with_result<granted_job, od::grant_answer> {
public:
    explicit granted_job(bool throws) noexcept : job_with_result{od::job_traits{.uses_table = false}}, throws_{throws} {}

    od::fault try_once(od::session&, bool) override
    {
        result = od::granted(token, true);
        if (throws_) throw std::bad_alloc{};
        return od::fault::none;
    }
    [[nodiscard]] od::item_number attempts_made() const noexcept override { return 1; }
    [[nodiscard]] od::job_attempt attempt(od::item_number, const od::call_texts& texts) const noexcept override
    {
        return {texts.name, texts.owner, texts.name, &result};
    }

private:
    bool throws_;
};

// Two idle sessions: one has the lock of the term of "n", the other was used last.
struct scene {
    temporary_directory folder;
    std::shared_ptr<const od::configuration> config = std::make_shared<const od::configuration>(
        sqlite_connection_string(folder.path() / "leases.db"), leasehold::odbc_options{}, &sqlite_with_locks);
    std::shared_ptr<od::pool> sessions = std::make_shared<od::pool>(config, true);
    od::session_pointer holder, other;

    scene()
    {
        holder = connected();
        other = connected();
        back(holder);
        back(other);
        const od::session_pointer waited = sessions->check_out_to_wait();
        if (waited != holder) std::swap(holder, other);
        sessions->check_in_from_wait(holder, "n", token, holder->inner().connection_number());
        back(out());
    }
    ~scene() { sessions->close(steady::now() + 10s); }

    od::session_pointer out(const od::call_texts& texts, const od::job& wanted)
    {
        od::fault refused{};
        return sessions->check_out(texts, wanted, steady::now() + 10s, refused);
    }
    od::session_pointer out() { return out({}, od::connect_job()); }
    od::session_pointer connected()
    {
        const od::session_pointer session = out();
        BOOST_REQUIRE(session->run(steady::now() + 10s));
        return session;
    }
    // The term goes on.
    void back(const od::session_pointer& session) { sessions->check_in(session, {}, od::connect_job()); }
    od::session_pointer for_release()
    {
        od::session_pointer chosen = out({.name = "n"}, od::release_job(token));
        back(chosen);
        return chosen;
    }
};

}  // namespace
}  // namespace pool_test

BOOST_FIXTURE_TEST_SUITE(pool_test, scene)

BOOST_AUTO_TEST_CASE(release_goes_to_the_session_that_has_the_lock)
{
    holder->idle_since += 1h;
    BOOST_TEST(for_release() == holder);
}

// A router may have forgotten its connection.
BOOST_AUTO_TEST_CASE(release_avoids_a_session_that_was_idle_for_long)
{
    holder->idle_since -= od::trusted_while_idle;
    BOOST_TEST(for_release() == other);
}

BOOST_AUTO_TEST_CASE(session_is_idle_from_its_return_on)
{
    const steady::time_point before = steady::now();
    const od::session_pointer session = out();
    session->idle_since = {};
    back(session);
    BOOST_TEST((session->idle_since >= before));
}

BOOST_AUTO_TEST_CASE(release_goes_to_the_session_that_has_the_lock_if_the_others_are_busy)
{
    holder->idle_since -= od::trusted_while_idle;
    const od::session_pointer busy = out();
    BOOST_TEST(busy == other);
    BOOST_TEST(for_release() == holder);
    back(busy);
}

BOOST_AUTO_TEST_CASE(granted_term_gets_a_lock_unless_the_call_throws_so_that_nobody_is_told)
{
    const std::size_t before = sessions->count().locks;
    for (const bool throws : {true, false}) {
        const od::call_texts texts{.name = "m", .owner = "we"};
        granted_job wanted{throws};
        const od::session_pointer session = out(texts, wanted);
        BOOST_REQUIRE(session->run(steady::now() + 10s));
        wanted.take_result(session->inner().done());
        BOOST_REQUIRE(wanted.result.result.granted());
        sessions->check_in(session, texts, wanted);
        BOOST_TEST(sessions->count().locks == before + (throws ? 0 : 1));
    }
}

BOOST_AUTO_TEST_SUITE_END()
