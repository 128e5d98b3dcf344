// SPDX-License-Identifier: BSL-1.0
// ctest:

// An owner id of your own: an id(), called once, that says who holds, to people and to the store.
//
// Two with the same text are one owner to a store. That is what this one is for: a pod of Kubernetes keeps its name and its UID
// when its container is started anew, and so goes on with the term it had, instead of waiting for its own ghost's end. The UID
// is in it because a StatefulSet gives the name, but not the UID, to the next pod. Where nothing is to survive a restart, keep
// the default, which is unique to the lease object.
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
        // Better none than one that several pods have.
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

    // A container that crashes while it holds: nobody releases its term.
    std::error_code ec;
    const auto before = store.try_acquire("ledger", pod_owner_id{"ledger-0", "5f0c"}.id(), terms.ttl, ec).token;

    lh::basic_lease of_another_pod{store, "ledger", terms, lh::steady_clock{}, pod_owner_id{"ledger-1", "81aa"}};
    const bool busy = !of_another_pod.try_acquire();
    std::cout << of_another_pod.owner() << (busy ? " is told that it is busy\n" : " holds it, too soon\n");

    lh::basic_lease started_anew{store, "ledger", terms, lh::steady_clock{}, pod_owner_id{"ledger-0", "5f0c"}};
    const auto guard = started_anew.try_acquire();
    std::cout << started_anew.owner() << " had token " << before << " before the crash and has " << guard.token()
              << " after it\n";

    try {
        lh::basic_lease here{store, "another ledger", terms, lh::steady_clock{}, pod_owner_id{}};
        std::cout << "this is pod " << here.owner() << '\n';
    } catch (const std::runtime_error& e) {
        std::cout << "this is no pod: " << e.what() << '\n';
    }
    return busy && guard.held() && guard.token() > before ? 0 : 1;
}
