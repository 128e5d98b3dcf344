// SPDX-License-Identifier: BSL-1.0
#include "field.hpp"

#include "floor.hpp"

#include <history/checker.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hand_over {

namespace lh = leasehold;

namespace {

constexpr std::string_view role = "--taker";
constexpr const char* myself = "/proc/self/exe";

}  // namespace

field::field(const std::string& connection_string, std::size_t takers, const way& how) : how_{how}
{
    if (connection_string.empty()) {
        start(memory_, takers, [&](std::size_t i) { threads_.emplace_back([this, i, how] { take_part(run(), i, memory_, how); }); });
        return;
    }
    lh::odbc_store store{connection_string};
    start(store, takers, [&](std::size_t i) {
        processes_.emplace_back(std::vector<std::string>{
            myself, std::string{role}, folder_.path() / "record", std::to_string(i), std::to_string(static_cast<int>(how.work)),
            std::to_string(static_cast<int>(how.waits)), std::to_string(how.ttl.count()), std::to_string(static_cast<int>(how.rights)),
            connection_string});
    });
}

template <class Store, class Start>
void field::start(Store& store, std::size_t takers, Start each_of)
{
    lh::basic_lease busy{store, busy_name};
    auto guard = busy.acquire();
    for (std::size_t i = 0; i < takers; ++i) each_of(i);
    wait_for_all(run().connected, takers);
    std::this_thread::sleep_for(std::chrono::milliseconds{20});  // now they wait
    guard.release();
    wait_for_all(run().ready, takers);
}

void field::wait_for_all(const std::atomic<std::int64_t>& so_far, std::size_t takers)
{
    while (static_cast<std::size_t>(so_far) < takers) {
        for (auto& each : processes_)
            if (!each.running()) throw std::runtime_error{"a taker ended before the run"};
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
}

void field::begin()
{
    run().began = now();
    run().begin = true;
}

void field::end()
{
    join();
    if (how_.rights == rights::writing_and_reading)
        check_apart(run());
    else
        check_terms(run());
}

void field::join()
{
    begin();
    run().stop = true;
    for (auto& each : processes_) each.wait();
    processes_.clear();
    for (auto& each : threads_) each.join();
    threads_.clear();
}

void field::kill()
{
    for (auto& each : processes_) each.kill();
    processes_.clear();
}

void check_terms(const record& run)
{
    // The terms are renewed, so none runs out.
    constexpr history::instant no_end = 3'600'000'000'000;
    constexpr history::instant clock_error = no_end / 2;
    if (run.terms_ended > max_terms) throw std::runtime_error{"more terms than are written down"};
    std::vector<history::call> calls;
    for (const term& each : std::span{run.terms}.first(run.terms_ended)) {
        const std::string taker = "taker " + std::to_string(each.taker);
        calls.push_back({.what = history::operation::acquire, .said = history::answer::yes, .name = "measured", .owner = taker,
                         .token = each.token, .ttl = no_end, .begin = each.asked, .end = each.got});
        calls.push_back({.what = history::operation::release, .said = each.was_held ? history::answer::yes : history::answer::no,
                         .name = "measured", .owner = taker, .token = each.token, .begin = each.releasing, .end = each.released});
    }
    if (const auto found = history::check(calls, clock_error); !found.explanation.empty()) throw std::runtime_error{found.explanation};
}

void check_apart(const record& run)
{
    if (run.terms_ended > max_terms) throw std::runtime_error{"more terms than are written down"};
    std::vector<term> terms{run.terms.begin(), run.terms.begin() + static_cast<std::ptrdiff_t>(run.terms_ended.load())};
    std::ranges::sort(terms, {}, &term::got);
    const auto meet = [](const term& one, const term& next) { return one.was_held && one.releasing > next.got; };
    if (std::ranges::adjacent_find(terms, meet) != terms.end()) throw std::runtime_error{"a writer was beside a reader"};
}

std::optional<int> serve_as_taker(int argc, char** argv)
try {
    if (argc != 9 || argv[1] != role) return std::nullopt;
    const shared_record run{argv[2]};
    const way how{static_cast<work>(std::atoi(argv[4])), static_cast<waits>(std::atoi(argv[5])),
                  std::chrono::nanoseconds{std::atoll(argv[6])}, static_cast<rights>(std::atoi(argv[7]))};
    if (how.waits == waits::floor) {
        take_bare_turns(*run, static_cast<std::size_t>(std::atoi(argv[3])), argv[8]);
        return EXIT_SUCCESS;
    }
    lh::odbc_store store{argv[8]};
    take_part(*run, static_cast<std::size_t>(std::atoi(argv[3])), store, how);
    return EXIT_SUCCESS;
}
catch (const std::exception& e) {
    std::fprintf(stderr, "hand_over: %s\n", e.what());
    return EXIT_FAILURE;
}

}  // namespace hand_over
