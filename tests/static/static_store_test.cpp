// SPDX-License-Identifier: BSL-1.0
// What is known when compiling of leases without a heap; the run-time part is in unit/.
#include <leasehold/embedded.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

struct stopped_clock {
    lh::time_point now() const noexcept { return {}; }
};
struct no_lock {
    void lock() noexcept {}
    void unlock() noexcept {}
};

constexpr lh::static_text_limits short_texts{.name_bytes = 15, .owner_bytes = 7};
using store = lh::basic_static_memory_store<4, stopped_clock, no_lock, short_texts>;
static_assert(lh::lease_store<store> && lh::plain_lease_store<store>);
static_assert(store::max_name_bytes == 15 && store::max_owner_bytes == 7 && store::capacity == 4);
static_assert(lh::owner_id<lh::static_owner_id>);

// Terms and texts that are constants are checked here, and the objects need no code that runs before main().
constexpr lh::lease_terms terms{.ttl = 2s};
constinit store leases;
[[maybe_unused]] constinit lh::basic_static_lease lease{leases, lh::checked_name("pump", store::max_name_bytes),
                                                        lh::checked_terms(terms), stopped_clock{},
                                                        lh::static_owner_id{"control"}};
static_assert(lh::checked_name("pump") == "pump");
static_assert(std::is_trivially_destructible_v<store> && std::is_trivially_destructible_v<decltype(lease)>);
static_assert(std::is_same_v<decltype(lease)::renew_policy_type, lh::no_renewal>);
static_assert(std::is_same_v<decltype(lease.inspect()), std::optional<lh::static_lease_record<short_texts>>>);

struct without_unlock {
    void lock();
};
struct made_with_arguments {
    explicit made_with_arguments(int);
    void lock();
    void unlock();
};
static_assert(lh::basic_lockable<no_lock> && !lh::basic_lockable<without_unlock> &&
              !lh::basic_lockable<made_with_arguments>);

struct with_error_codes_only {
    enum : std::size_t { max_name_bytes = 8, max_owner_bytes = 8 };
    lh::acquire_result try_acquire(std::string_view, std::string_view, lh::duration, std::error_code&);
    bool renew(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&);
    bool release(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&);
};
static_assert(!lh::plain_lease_store<with_error_codes_only>);

constexpr auto text_of(std::string_view from)
{
    lh::bounded_text<4> text;
    text.assign("old");
    text.assign(from);
    return text;
}
static_assert(text_of("four") == "four" && text_of("fives") == "old" && text_of("").empty());
static_assert(text_of("a") == text_of("a") && text_of("a") != text_of("b") && text_of("ab").size() == 2);
static_assert(std::string_view{text_of("a")} == "a");

static_assert(!lh::plain_error{} && lh::plain_error{lh::errc::lost} && lh::plain_error{lh::errc::lost} == lh::errc::lost);
static_assert(lh::plain_error{lh::errc::lost}.code() == lh::errc::lost && std::is_trivially_copyable_v<lh::plain_error>);

}  // namespace
