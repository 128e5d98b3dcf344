// SPDX-License-Identifier: BSL-1.0
// ctest:

// A store of your own: four operations, over any place that keeps your data; here a std::map.
//
// Write such a class to keep leases in another place (a key-value server, a file, a service of your company). It must pass
// the suite in tests/contract.
#include <leasehold/leasehold.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace lh = leasehold;
using namespace std::chrono_literals;

class map_store {
public:
    lh::acquire_result try_acquire(std::string_view name, std::string_view owner, lh::duration ttl, std::error_code& ec)
    {
        ec.clear();
        const std::lock_guard one_atomic_step{mutex_};
        const lh::time_point now = clock_.now();
        row& r = rows_.try_emplace(std::string{name}).first->second;
        // Somebody else holds it, or a release keeps it closed: busy, and nothing is changed.
        if (r.ends > now && r.owner != owner) return {lh::acquire_status::busy, lh::fencing_token{r.token}, r.ends - now};
        // Every grant is a new term with a new token, even for the owner of the previous term: a late request for the
        // previous term finds another token.
        ++r.token;
        r.owner = owner;
        r.ends = std::max(r.ends, now + ttl);
        return {lh::acquire_status::granted, lh::fencing_token{r.token}, lh::duration::zero()};
    }

    bool renew(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration ttl, std::error_code& ec)
    {
        // Never shorten a term: a delayed request may arrive after its successor.
        return change(name, owner, token, ec, [ttl](row& r, lh::time_point now) { r.ends = std::max(r.ends, now + ttl); });
    }

    bool release(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration min_hold_left,
                 std::error_code& ec)
    {
        // Keep the row for its token: the next term needs a larger one. Without an owner it is closed to all until `ends`.
        return change(name, owner, token, ec, [min_hold_left](row& r, lh::time_point now) {
            r = {"", r.token, now + min_hold_left};
        });
    }

    std::optional<lh::lease_record> inspect(std::string_view name, std::error_code& ec)
    {
        ec.clear();
        const std::lock_guard lock{mutex_};
        const lh::time_point now = clock_.now();
        const auto found = rows_.find(name);
        if (found == rows_.end() || found->second.ends <= now) return std::nullopt;
        const row& r = found->second;
        return lh::lease_record{std::string{name}, r.owner, lh::fencing_token{r.token}, r.ends - now};
    }

private:
    struct row {
        std::string owner;
        std::int64_t token = 0;
        lh::time_point ends{};
    };

    // Only that very term, and only while it lasts: a late caller changes nothing, and learns that.
    template <class Change>
    bool change(std::string_view name, std::string_view owner, lh::fencing_token token, std::error_code& ec, Change how)
    {
        ec.clear();  // a store that can fail sets it instead, preferably to an lh::errc; a failure is never just "false"
        const std::lock_guard lock{mutex_};
        const lh::time_point now = clock_.now();
        const auto found = rows_.find(name);
        if (found == rows_.end()) return false;
        row& r = found->second;
        if (r.owner != owner || r.token != token.value() || r.ends <= now) return false;
        how(r, now);
        return true;
    }

    // Only the store's clock decides, whatever the clocks of its users say.
    lh::steady_clock clock_;
    std::mutex mutex_;
    std::map<std::string, row, std::less<>> rows_;
};

static_assert(lh::lease_store<map_store>);

int main()
{
    map_store store;
    lh::basic_lease ours{store, "nightly-report", lh::lease_terms{.ttl = 2s}};
    lh::basic_lease theirs{store, "nightly-report", lh::lease_terms{.ttl = 2s}};

    {
        const auto guard = ours.try_acquire();
        std::cout << "ours: token " << guard.token() << ", theirs: " << (theirs.try_run([] {}) ? "granted" : "busy") << '\n';
    }
    const auto guard = theirs.try_acquire();
    std::cout << "released; theirs: token " << guard.token() << '\n';
    return guard.held() && guard.token() == lh::fencing_token{2} ? 0 : 1;
}
