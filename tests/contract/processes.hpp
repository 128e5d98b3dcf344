// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_PROCESSES_HPP
#define LEASEHOLD_TESTS_CONTRACT_PROCESSES_HPP

#include <contract/peer.hpp>
#include <contract/scene.hpp>
#include <contract/tenure.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::contract {

// A folder for notes, gone with the object.
class notes_folder {
public:
    notes_folder()
        : path_{std::filesystem::temp_directory_path() / ("leasehold-contract-" + std::to_string(std::random_device{}()))}
    {
        std::filesystem::create_directory(path_);
    }
    notes_folder(const notes_folder&) = delete;
    notes_folder& operator=(const notes_folder&) = delete;
    ~notes_folder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::filesystem::path file(const std::string& name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

// One process each per entry of `clocks_off_by`, all on one name for so long; then what they noted is looked at. The result is
// whether any of them had a term: starting them takes some of the time.
template <fixture_with_peers Fixture>
bool contest_of_processes(scene<Fixture>& s, const std::vector<duration>& clocks_off_by, duration for_so_long)
{
    const notes_folder folder;
    const time_point until = steady_clock{}.now() + for_so_long;
    {
        std::vector<decltype(s.fixture.start_peer({}, duration{}))> peers;
        for (std::size_t i = 0; i < clocks_off_by.size(); ++i) {
            const std::string owner = "process " + std::to_string(i);
            const peer_orders orders{peer_orders::task::contend, s.name(), owner, 20s, until, folder.file(owner)};
            peers.push_back(s.fixture.start_peer(orders.arguments(), clocks_off_by[i]));
        }
        for (auto& peer : peers) BOOST_TEST(static_cast<int>(peer.wait()) == 0);
    }
    std::vector<tenure> all;
    for (std::size_t i = 0; i < clocks_off_by.size(); ++i) {
        const std::string owner = "process " + std::to_string(i);
        const peer_notes notes = peer_notes::read(folder.file(owner), owner);
        BOOST_TEST_MESSAGE("    " << owner << ": " << notes.tenures.size() << " terms");
        all.insert(all.end(), notes.tenures.begin(), notes.tenures.end());
        // Or the wrong clocks were none.
        const auto off_by = notes.wall_clock - std::chrono::system_clock::now();
        BOOST_TEST(std::chrono::abs(off_by - clocks_off_by[i]) < 5min);
    }
    BOOST_TEST(overlaps_in(all) == "");
    return !all.empty();
}

template <fixture_with_peers Fixture>
void contest_of_processes(scene<Fixture>& s, const std::vector<duration>& clocks_off_by)
{
    BOOST_TEST((contest_of_processes(s, clocks_off_by, 2s) || contest_of_processes(s, clocks_off_by, 20s)));
}

// False: the holder did not keep up with so short a ttl.
template <fixture_with_peers Fixture>
bool killed_holder_is_followed(scene<Fixture>& s, duration ttl)
{
    const notes_folder folder;
    const std::string name = s.name(std::to_string(ttl.count()));
    peer_orders orders{peer_orders::task::hold, name, "holder", ttl, steady_clock{}.now() + 5min, folder.file("holder")};
    auto holder = s.fixture.start_peer(orders.arguments(), duration::zero());
    const auto noted = [&]() -> std::optional<tenure> {
        const peer_notes notes = peer_notes::read(orders.notes, "holder");
        return notes.tenures.empty() ? std::nullopt : std::optional{notes.tenures.back()};
    };
    // It has renewed for longer than its ttl, so that what follows is the end of a renewed term.
    if (!eventually([&] { return noted() && noted()->end - noted()->begin > ttl + ttl / 2; }, 10s + 4 * ttl)) return false;
    const bool excludes = !acquire(s.store(), name, "too early").granted();
    holder.kill();
    const tenure killed = *noted();
    if (!excludes && steady_clock{}.now() - killed.end > ttl / 2) return false;  // it was lost before
    BOOST_TEST(excludes);

    peer_orders next{peer_orders::task::contend, name, "", 20s, steady_clock{}.now() + 1min, {}};
    std::vector<decltype(s.fixture.start_peer({}, duration{}))> peers;
    for (const std::string owner : {"second", "third"}) {
        next.owner = owner;
        next.notes = folder.file(owner);
        peers.push_back(s.fixture.start_peer(next.arguments(), duration::zero()));
    }
    std::vector<tenure> all;
    BOOST_TEST(eventually(
        [&] {
            all = {killed};
            for (const std::string owner : {"second", "third"})
                for (tenure& t : peer_notes::read(folder.file(owner), owner).tenures) all.push_back(std::move(t));
            return all.size() > 10;
        },
        30s));
    for (auto& peer : peers) peer.kill();
    BOOST_TEST(overlaps_in(all) == "");
    return true;
}

// Several processes on one name, each with its own store object, watched from outside through what they note.
template <fixture_with_peers Fixture>
void add_processes(case_list<Fixture> cases)
{
    cases.add("four_processes_on_one_name_never_hold_it_at_once",
              [](auto& s) { contest_of_processes(s, std::vector<duration>(4, duration::zero())); });

    if constexpr (fixture_with_wrong_clocks<Fixture>) {
        cases.add("processes_with_wrong_wall_clocks_never_hold_a_name_at_once",
                  [](auto& s) { contest_of_processes(s, s.fixture.wrong_clocks()); });
    }

    cases.add("killed_holder_is_followed_when_its_ttl_is_over", [](auto& s) {
        for (duration ttl = s.ttl() * 2; ttl < 1min; ttl *= 4)
            if (killed_holder_is_followed(s, ttl)) return;
        BOOST_TEST(false, "this machine is too slow");
    });
}

}  // namespace leasehold::contract

#endif
