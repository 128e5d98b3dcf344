// SPDX-License-Identifier: BSL-1.0
// Very many grants and releases of each kind of right, for a leak check at the end: in memory and on SQLite, by a few threads.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <contract/asked_once.hpp>
#include <support/environment.hpp>
#include <support/temporary_directory.hpp>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

namespace lh = leasehold;
using namespace std::chrono_literals;

constexpr int skipped = 77;
constexpr unsigned threads = 4;

// What a thread uses. All threads contend for the same few rights.
template <class Store>
class contender {
public:
    contender(Store& store, std::uint32_t seed)
        : random_{seed}, lease_{store, "lease"}, other_{store, "other"}, permits_{store, "permits", 2}, shared_{store, "shared"}
    {
    }

    // Whether it was granted. Errors are exceptions.
    bool acquire_and_release()
    {
        switch (random_() % 8) {
        case 0: return is_held(lease_.try_acquire_for(50ms));
        case 1: return is_held(permits_.try_acquire());
        case 2: return is_held(shared_.try_acquire());
        case 3: return is_held(shared_.try_acquire_shared());
        case 4: return is_held(lh::try_acquire_all(lease_, other_));
        case 5: {
            auto guard = other_.try_acquire();
            if (guard) guard.renew();
            return static_cast<bool>(guard);
        }
        default: return is_held(lease_.try_acquire());
        }
    }

private:
    std::mt19937 random_;
    lh::basic_lease<Store> lease_, other_;
    lh::lease_semaphore<Store> permits_;
    lh::shared_lease<Store> shared_;
};

template <class Store>
void run(const char* name, Store& store, std::uint64_t grants)
{
    std::atomic<std::uint64_t> granted = 0, attempts = 0;
    std::atomic<bool> failed = false;
    const auto begun = std::chrono::steady_clock::now();
    {
        std::vector<std::jthread> all;
        for (std::uint32_t i = 0; i < threads; ++i) {
            all.emplace_back([&, i] {
                try {
                    contender mine{store, i + 1};
                    while (granted < grants && !failed) {
                        ++attempts;
                        if (mine.acquire_and_release()) ++granted;
                    }
                } catch (const std::exception& error) {
                    std::fprintf(stderr, "%s: %s\n", name, error.what());
                    failed = true;
                }
            });
        }
    }
    if (failed) throw std::runtime_error{std::string{name} + " failed"};
    std::printf("%s: %llu granted and released, of %llu attempts, in %.0f s\n", name, static_cast<unsigned long long>(granted.load()),
                static_cast<unsigned long long>(attempts.load()),
                std::chrono::duration<double>{std::chrono::steady_clock::now() - begun}.count());
}

}  // namespace

int main()
{
    try {
        std::uint64_t grants = 20'000;
        if (const char* asked = std::getenv("LEASEHOLD_GRANTS")) {
            const auto [end, error] = std::from_chars(asked, asked + std::strlen(asked), grants);
            if (error != std::errc{} || *end != '\0' || grants == 0) throw std::runtime_error{"LEASEHOLD_GRANTS must be a number"};
        }
        {
            lh::memory_store store;
            run("memory", store, grants);
        }
        const leasehold_test::temporary_directory folder;
        lh::odbc_store store{leasehold_test::sqlite_connection_string(folder.path() / "grants.db"),
                             {.call_timeout = 60s, .on_connect = {"pragma synchronous = off"}}};
        store.create_schema();
        run("SQLite", store, grants);
        return 0;
    } catch (const leasehold_test::missing_requirement& lacks) {
        std::fprintf(stderr, "SKIPPED: %s\n", lacks.what());
        return leasehold_test::servers_required() ? 1 : skipped;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "endurance.grants: %s\n", error.what());
        return 1;
    }
}
