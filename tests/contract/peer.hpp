// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_PEER_HPP
#define LEASEHOLD_TESTS_CONTRACT_PEER_HPP

#include <contract/tenure.hpp>

#include <leasehold/leasehold.hpp>

#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace leasehold::contract {

/// What another process is to do with a lease, and what it noted while doing so. The suite gives orders as arguments of a
/// command line to the fixture's start_peer(), which starts a program whose main() opens the store and calls run_peer():
///
///     int main(int argc, char** argv)   // my_peer <address> <orders...>
///     {
///         my_store store{argv[1]};
///         return lh::contract::run_peer(store, {argv + 2, argv + argc});
///     }
struct peer_orders {
    enum class task {
        contend,  ///< acquire, hold for a moment, release, again and again
        hold      ///< acquire once and keep it by renewal
    };

    task what = task::contend;
    std::string name;
    std::string owner;
    duration ttl{};
    time_point until;  ///< on steady_clock, which all processes of a host share
    std::filesystem::path notes;

    [[nodiscard]] std::vector<std::string> arguments() const
    {
        return {what == task::contend ? "contend" : "hold",       name,          owner, std::to_string(ttl.count()),
                std::to_string(until.time_since_epoch().count()), notes.string()};
    }

    static peer_orders from(const std::vector<std::string>& arguments)
    {
        if (arguments.size() != 6)
            throw std::invalid_argument{"a peer needs six arguments: what name owner ttl until notes"};
        return {.what = arguments[0] == "contend" ? task::contend : task::hold,
                .name = arguments[1],
                .owner = arguments[2],
                .ttl = duration{std::stoll(arguments[3])},
                .until = time_point{duration{std::stoll(arguments[4])}},
                .notes = arguments[5]};
    }
};

/// What a peer noted: when it held the lease, and what its wall clock showed. A peer that was killed has noted whole lines
/// up to then.
struct peer_notes {
    std::vector<tenure> tenures;
    std::chrono::system_clock::time_point wall_clock{};  ///< at the start; the epoch: nothing was noted yet

    static peer_notes read(const std::filesystem::path& file, const std::string& holder)
    {
        peer_notes notes;
        std::ifstream lines{file};
        std::string kind;
        std::int64_t token = 0;
        duration::rep begin = 0;
        duration::rep end = 0;
        for (std::string line; std::getline(lines, line) && !lines.eof();) {
            std::istringstream words{line};
            if (!(words >> kind)) continue;
            if (kind == "wall" && words >> begin)
                notes.wall_clock = std::chrono::system_clock::time_point{std::chrono::seconds{begin}};
            else if (kind == "held" && words >> token >> begin >> end)
                notes.tenures.push_back(
                    {time_point{duration{begin}}, time_point{duration{end}}, fencing_token{token}, holder});
            else if (kind == "holds" && words >> token >> begin >> end) {
                // Noted again and again; the last is the longest.
                if (notes.tenures.empty() || notes.tenures.back().token != fencing_token{token})
                    notes.tenures.push_back({time_point{duration{begin}}, {}, fencing_token{token}, holder});
                notes.tenures.back().end = time_point{duration{end}};
            }
        }
        return notes;
    }
};

namespace detail {

class note_taker {
public:
    explicit note_taker(const std::filesystem::path& file) : out_{file, std::ios::app}
    {
        if (!out_) throw std::runtime_error{"a peer can't write its notes"};
        const auto wall = std::chrono::system_clock::now().time_since_epoch();
        out_ << "wall " << std::chrono::duration_cast<std::chrono::seconds>(wall).count() << std::endl;
    }

    void write(const char* kind, const tenure& t)
    {
        out_ << kind << ' ' << t.token << ' ' << t.begin.time_since_epoch().count() << ' '
             << t.end.time_since_epoch().count() << std::endl;
    }

private:
    std::ofstream out_;
};

template <lease_store Store>
void follow(const peer_orders& orders, Store& store)
{
    const steady_clock clock;
    basic_lease lease{store, orders.name, lease_terms{.ttl = orders.ttl}, clock, fixed_owner_id{orders.owner}};
    note_taker notes{orders.notes};
    waker nobody;
    while (clock.now() < orders.until) {
        auto guard = lease.try_acquire();
        tenure seen{clock.now(), clock.now(), guard.token(), orders.owner};
        if (!guard.held()) {
            std::this_thread::yield();
            continue;
        }
        const time_point enough =
            orders.what == peer_orders::task::contend ? seen.begin + std::chrono::milliseconds{1} : orders.until;
        // An instant counts if the guard was still held when it was asked afterwards.
        for (time_point now = clock.now(); guard.held() && now < enough; now = clock.now()) {
            seen.end = now;
            if (orders.what == peer_orders::task::contend) continue;
            notes.write("holds", seen);
            nobody.wait_for(std::chrono::milliseconds{5});
        }
        notes.write("held", seen);
    }
}

}  // namespace detail

/// The exit status of a peer's main().
template <lease_store Store>
int run_peer(Store& store, const std::vector<std::string>& arguments)
{
    try {
        detail::follow(peer_orders::from(arguments), store);
        return 0;
    } catch (const std::exception& e) {
        std::cerr << "peer: " << e.what() << '\n';
        return 1;
    }
}

}  // namespace leasehold::contract

#endif
