// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_SCENE_HPP
#define LEASEHOLD_TESTS_CONTRACT_SCENE_HPP

#include <contract/fixture.hpp>

#include <support/eventually.hpp>
#include <support/printing.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <latch>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace leasehold::contract {

using namespace std::chrono_literals;

/// The ttl of terms that must not run out while a case goes on.
inline constexpr duration long_ttl = 10min;

// What stands in `ec` before each call: success has to clear it.
inline std::error_code leftover() { return std::make_error_code(std::errc::identifier_removed); }

template <lease_store Store>
void expect_success(const Store& store, std::error_code ec, std::string_view operation)
{
    if (!ec) return;
    std::string what{operation};
    if (ec == leftover()) throw std::logic_error{what + " succeeded and did not clear the error code"};
    if constexpr (diagnosing_store<Store>) throw store_error{ec, what, store.diagnostics()};
    throw std::system_error{ec, what};
}

// The four operations for cases in which the store must not fail. They throw and don't use Boost.Test's macros, which are
// for one thread only.

template <lease_store Store>
acquire_result acquire(Store& store, std::string_view name, std::string_view owner, duration ttl = long_ttl)
{
    std::error_code ec = leftover();
    const acquire_result result = store.try_acquire(name, owner, ttl, ec);
    expect_success(store, ec, "try_acquire");
    return result;
}

template <lease_store Store>
bool renew(Store& store, std::string_view name, std::string_view owner, fencing_token token, duration ttl = long_ttl)
{
    std::error_code ec = leftover();
    const bool result = store.renew(name, owner, token, ttl, ec);
    expect_success(store, ec, "renew");
    return result;
}

template <lease_store Store>
bool release(Store& store, std::string_view name, std::string_view owner, fencing_token token, duration min_hold_left = {})
{
    std::error_code ec = leftover();
    const bool result = store.release(name, owner, token, min_hold_left, ec);
    expect_success(store, ec, "release");
    return result;
}

template <lease_store Store>
std::optional<lease_record> inspect(Store& store, std::string_view name)
{
    std::error_code ec = leftover();
    std::optional<lease_record> result = store.inspect(name, ec);
    expect_success(store, ec, "inspect");
    return result;
}

/// The term that `owner` gets of a free name.
template <lease_store Store>
fencing_token grant(Store& store, std::string_view name, std::string_view owner, duration ttl = long_ttl)
{
    const acquire_result result = acquire(store, name, owner, ttl);
    if (!result.granted()) throw std::logic_error{"try_acquire was busy on a free name"};
    return result.token;
}

using leasehold_test::eventually;

/// Runs work(0) to work(count - 1) on threads that set off together; what the first one threw is thrown here.
/// If a thread can't be started, no work is done, and that is thrown.
template <class Thread = std::jthread, class Work>
void at_once(std::size_t count, Work work)
{
    std::latch start{static_cast<std::ptrdiff_t>(count)};
    bool lacks_threads = false;  // written before the latch opens
    std::vector<std::exception_ptr> failures(count);
    {
        std::vector<Thread> threads;
        try {
            for (std::size_t i = 0; i < count; ++i)
                threads.emplace_back([&, i] {
                    start.arrive_and_wait();
                    if (lacks_threads) return;
                    try {
                        work(i);
                    } catch (...) {
                        failures[i] = std::current_exception();
                    }
                });
        } catch (...) {
            lacks_threads = true;
            start.count_down(static_cast<std::ptrdiff_t>(count - threads.size()));
            throw;
        }
    }
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

/// The seed of a case's random numbers: LEASEHOLD_TEST_SEED, or a new one each time. Cases print it.
inline std::uint64_t random_seed()
{
    if (const char* given = std::getenv("LEASEHOLD_TEST_SEED")) return std::strtoull(given, nullptr, 10);
    return std::random_device{}();
}

/// What a case works with: the fixture, and names that nobody else uses.
template <store_fixture Fixture>
class scene {
public:
    using store_type = store_of<Fixture>;

    Fixture fixture{};

    store_type& store() { return fixture.store(); }
    store_type& other() { return fixture.another_store(); }
    duration ttl() { return fixture.short_ttl(); }
    void let_pass(duration d) { fixture.let_pass(d); }

    /// Lets a term of this ttl, granted before, run out.
    void let_expire(duration ttl) { let_pass(ttl + rounding()); }

    duration rounding()
    {
        if constexpr (requires { fixture.rounding(); })
            return fixture.rounding();
        else
            return 10ms;
    }

    std::size_t max_name_bytes()
    {
        if constexpr (requires { fixture.max_name_bytes(); })
            return fixture.max_name_bytes();
        else
            return leasehold::max_name_bytes;
    }

    /// The holder's clock.
    auto clock()
    {
        if constexpr (requires { fixture.clock(); })
            return fixture.clock();
        else
            return steady_clock{};
    }

    /// A name that has never had a term, the same in a case each time for the same label.
    [[nodiscard]] std::string name(std::string_view label = "name") const { return prefix_ + std::string{label}; }

    /// What `work`, given a new name, did in time: terms of this ttl that it made were unexpired for certain until it returned.
    /// Where the machine held it up it is done again with another name, so it returns what is to be checked.
    template <class Work>
    auto in_time(duration ttl, Work work)
    {
        for (int tries = 1;; ++tries) {
            const auto begun = std::chrono::steady_clock::now();
            auto done = work(name("try-" + std::to_string(tries)));
            if (std::chrono::steady_clock::now() - begun < ttl) return done;
            if (tries == 20) throw std::runtime_error{"this machine is too slow for the fixture's short_ttl()"};
        }
    }

private:
    static std::string new_prefix()
    {
        static const std::uint64_t run = (std::uint64_t{std::random_device{}()} << 32U) + std::random_device{}();
        static std::atomic<int> count = 0;
        constexpr std::string_view digits = "0123456789abcdef";
        std::string text = "contract-";
        for (std::uint64_t bits = run; bits != 0; bits /= digits.size()) text.push_back(digits[bits % digits.size()]);
        return text + '/' + std::to_string(++count) + '/';
    }

    std::string prefix_ = new_prefix();
};

/// A test suite that is being put together of cases for one fixture.
template <store_fixture Fixture>
class case_list {
public:
    explicit case_list(boost::unit_test::test_suite& suite) : suite_{suite} {}

    /// `body` takes a scene<Fixture>&.
    template <class Body>
    void add(const char* name, Body body, const char* file = __builtin_FILE(), std::size_t line = __builtin_LINE())
    {
        const auto run = [body] {
            scene<Fixture> set;
            body(set);
        };
        suite_.add(boost::unit_test::make_test_case(run, name, file, line));
    }

private:
    boost::unit_test::test_suite& suite_;
};

}  // namespace leasehold::contract

#endif
