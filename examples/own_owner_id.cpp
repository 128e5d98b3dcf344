// SPDX-License-Identifier: BSL-1.0
// ctest:

// An owner id of your own: an id(), called once, that names the owner for people and for the store.
//
// For a store, two objects with the same text are one owner. This owner id uses that: a Kubernetes pod keeps its name and
// its UID when its container restarts. So the new container is granted the name at once, instead of waiting for the end of
// the old container's term. The text contains the UID because a StatefulSet gives the name, but not the UID, to the next
// pod. If nothing has to survive a restart, keep the default, which is unique to the lease object.
#include <leasehold/leasehold.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace lh = leasehold;
using namespace std::chrono_literals;

class pod_owner_id {
public:
    /// From the pod's own fields (fieldRef: metadata.name, metadata.uid).
    pod_owner_id() : pod_owner_id{variable("POD_NAME"), variable("POD_UID")} {}
    pod_owner_id(const std::string& name, const std::string& uid) : text_{name + '/' + uid} {}

    [[nodiscard]] std::string id() const { return text_; }

private:
    static std::string variable(const char* name)
    {
        const char* value = std::getenv(name);
        // Better no owner than an owner that several pods share.
        if (!value || !*value) throw std::runtime_error{std::string{"the environment has no "} + name};
        return value;
    }

    std::string text_;
};

static_assert(lh::owner_id<pod_owner_id>);

int main()
{
    lh::memory_store store;
    constexpr lh::lease_terms terms{.ttl = 30s};

    // A container that crashes while it holds the lease: nobody releases its term.
    std::error_code ec;
    const auto before = store.try_acquire("ledger", pod_owner_id{"ledger-0", "5f0c"}.id(), terms.ttl, ec).token;

    lh::basic_lease of_another_pod{store, "ledger", terms, lh::steady_clock{}, pod_owner_id{"ledger-1", "81aa"}};
    const bool busy = !of_another_pod.try_run([] {});
    std::cout << of_another_pod.owner() << (busy ? " is told that it is busy\n" : " holds it, too soon\n");

    lh::basic_lease restarted{store, "ledger", terms, lh::steady_clock{}, pod_owner_id{"ledger-0", "5f0c"}};
    const auto guard = restarted.try_acquire();
    std::cout << restarted.owner() << " had token " << before << " before the crash and has " << guard.token()
              << " after it\n";

    try {
        lh::basic_lease here{store, "another ledger", terms, lh::steady_clock{}, pod_owner_id{}};
        std::cout << "this is pod " << here.owner() << '\n';
    } catch (const std::runtime_error& e) {
        std::cout << "this is no pod: " << e.what() << '\n';
    }
    return busy && guard.held() && guard.token() > before ? 0 : 1;
}
