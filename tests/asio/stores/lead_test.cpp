// SPDX-License-Identifier: BSL-1.0
// What coroutines do while they hold a lease on real databases: leading, and work that a loss cancels.
#include <asio/stores/scene.hpp>

#if LEASEHOLD_ASIO_HAS_COROUTINES

#include <atomic>
#include <cstdint>
#include <exception>
#include <future>
#include <optional>
#include <stop_token>
#include <string>

BOOST_AUTO_TEST_SUITE(asio_leading_on_stores)

using namespace leasehold_test;

namespace {

using lease_type = lh::basic_lease<lh::odbc_store>;
using term_type = lh::leader_term<lease_type>;

constexpr lh::lease_terms quick_terms{.ttl = 3s};

// Until it is told that the term is over; then, where it can be cancelled, the timer's wait throws.
net::awaitable<void> wait_for_end(std::stop_token over)
{
    net::steady_timer pause{co_await net::this_coro::executor};
    while (!over.stop_requested()) {
        pause.expires_after(10ms);
        co_await pause.async_wait(net::use_awaitable);
    }
}

// A candidate of one of the two processes.
class candidate {
public:
    candidate(lh::odbc_store& process, const std::string& name, net::io_context& io, int priority)
        : io_{io}, lease_{process, name, quick_terms}
    {
        election_.emplace(lease_, lh::leader_election_options{.on_stepped_down =
                                                                  [this](lh::step_down_reason why) {
                                                                      last_ = why;
                                                                      ++ended_;
                                                                  },
                                                              .priority = priority});
        const auto work = [this](term_type& term) {
            token_ = term.token().value();
            ++terms_;
            return wait_for_end(term.stop_token());
        };
        lh::async_lead(*election_, work, slots_.on(net::bind_executor(io, [this](std::exception_ptr e) { done_.set_value(e); })));
    }
    candidate(const candidate&) = delete;
    candidate& operator=(const candidate&) = delete;

    [[nodiscard]] bool leads() const { return election_->is_leader(); }
    [[nodiscard]] bool comes_to_lead() const
    {
        return eventually([this] { return leads() && terms_ > ended_; }, 20s);  // its work has begun, too
    }
    [[nodiscard]] bool ends()
    {
        slots_.cancel(io_);
        return done_.get_future().get() == nullptr;
    }
    [[nodiscard]] int terms() const { return terms_; }
    [[nodiscard]] std::int64_t token() const { return token_; }
    [[nodiscard]] lh::step_down_reason last() const { return last_; }

private:
    net::io_context& io_;
    lease_type lease_;
    cancellation slots_;
    std::atomic<int> terms_ = 0, ended_ = 0;
    std::atomic<std::int64_t> token_ = 0;
    std::atomic<lh::step_down_reason> last_ = lh::step_down_reason::returned;
    std::promise<std::exception_ptr> done_;
    std::optional<lh::leader_election<lease_type>> election_;
};

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(leadership_goes_to_a_higher_priority_in_another_process_and_back_after_that_ends, Database, databases)
{
    two_processes<Database> s;
    const std::string name = new_name();
    candidate low{s.mine, name, s.io.context, 1};
    BOOST_TEST(low.comes_to_lead());
    const auto first = low.token();
    candidate high{s.theirs, name, s.io.context, 2};
    BOOST_TEST(high.comes_to_lead());
    BOOST_TEST(eventually([&] { return low.last() == lh::step_down_reason::asked; }));
    BOOST_TEST(high.token() > first);
    BOOST_TEST(high.ends());
    BOOST_TEST((high.last() == lh::step_down_reason::stopped));
    BOOST_TEST(low.comes_to_lead());
    BOOST_TEST(low.token() > high.token());
    BOOST_TEST(low.terms() == 2);
    BOOST_TEST(low.ends());
    BOOST_TEST(s.theirs.list(name).empty());
    BOOST_TEST(s.nobody_waits());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(work_is_told_of_a_loss_that_another_process_causes_and_leaves_the_next_term_alone, Database, databases)
{
    two_processes<Database> s;
    const std::string name = new_name();
    lease_type lease{s.mine, name, quick_terms}, next{s.theirs, name, quick_terms};
    std::promise<void> begun;
    std::promise<std::exception_ptr> done;
    std::atomic<bool> told = false;
    auto work = [&](std::stop_token lost) -> net::awaitable<void> {
        const std::stop_callback notes{lost, [&] { told = true; }};
        begun.set_value();
        co_await wait_for_end(lost);
    };
    lh::async_run_while_held(lease.acquire(), work, net::bind_executor(s.io.context, [&](std::exception_ptr e) { done.set_value(e); }));
    begun.get_future().get();
    BOOST_TEST(s.theirs.force_release(name));
    const auto taken = next.try_acquire();
    BOOST_TEST(taken.held());
    auto end = done.get_future();
    BOOST_TEST_REQUIRE((end.wait_for(20s) == std::future_status::ready));
    BOOST_CHECK_THROW(std::rethrow_exception(end.get()), lh::lease_lost);
    BOOST_TEST(told);
    BOOST_TEST(taken.held());
    BOOST_TEST(s.theirs.list(name).size() == 1u, "the other process's term, which the end of the work has left alone");
}

BOOST_AUTO_TEST_SUITE_END()

#endif
