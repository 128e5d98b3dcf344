// SPDX-License-Identifier: BSL-1.0
#include <leasehold/owner_id/concept.hpp>
#include <leasehold/owner_id/fixed_owner_id.hpp>
#include <leasehold/owner_id/host_process_thread_owner_id.hpp>
#include <leasehold/owner_id/hostname_owner_id.hpp>
#include <leasehold/owner_id/random_owner_id.hpp>

#include <memory>
#include <type_traits>
#include <string>
#include <string_view>

namespace lh = leasehold;

namespace {

struct archetype {
    std::string id() const;
};
struct by_reference {
    const std::string& id() const;
};
struct c_string {
    const char* id() const;
};
struct with_state {
    std::string text;
    std::string id() const;
};

static_assert(lh::owner_id<archetype>);
static_assert(lh::owner_id<by_reference>);
static_assert(lh::owner_id<c_string>);
static_assert(lh::owner_id<with_state>);
static_assert(lh::owner_id<lh::fixed_owner_id>);
static_assert(lh::owner_id<lh::random_owner_id>);
static_assert(std::is_same_v<lh::hostname_owner_id, lh::random_owner_id>);
static_assert(lh::owner_id<lh::host_process_thread_owner_id>);

struct without_id {};
struct changes_itself {
    std::string id();
};
struct a_number {
    int id() const;
};
struct a_view {  // not implicitly a string
    std::string_view id() const;
};
struct move_only {
    std::unique_ptr<int> part;
    std::string id() const;
};

static_assert(!lh::owner_id<without_id>);
static_assert(!lh::owner_id<changes_itself>);
static_assert(!lh::owner_id<a_number>);
static_assert(!lh::owner_id<a_view>);
static_assert(!lh::owner_id<move_only>);
static_assert(!lh::owner_id<std::string>);
static_assert(!lh::owner_id<int>);

}  // namespace
