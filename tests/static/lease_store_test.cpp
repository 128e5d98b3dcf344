// SPDX-License-Identifier: BSL-1.0
#include <leasehold/store/concept.hpp>
#include <leasehold/store/memory_store.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace lh = leasehold;

namespace {

using view = std::string_view;
using error = std::error_code&;

struct archetype {
    lh::acquire_result try_acquire(view name, view owner, lh::duration ttl, error ec);
    bool renew(view name, view owner, lh::fencing_token token, lh::duration ttl, error ec);
    bool release(view name, view owner, lh::fencing_token token, lh::duration min_hold_left, error ec);
    std::optional<lh::lease_record> inspect(view name, error ec);

    archetype() = default;
    archetype(const archetype&) = delete;  // a store need not be copied, nor moved
    archetype& operator=(const archetype&) = delete;
};
struct diagnosing : archetype {
    lh::store_diagnostics diagnostics() const;
};

struct batching : archetype {
    std::size_t batch_size() const noexcept;
    void renew_many(std::span<const lh::term_renewal> renewals, std::span<lh::batch_answer> answers, lh::duration within, error ec);
    void release_many(std::span<const lh::term_release> releases, std::span<lh::batch_answer> answers, error ec);
};

static_assert(lh::lease_store<archetype>);
static_assert(!lh::diagnosing_store<archetype>);
static_assert(!lh::batching_store<archetype>);
static_assert(lh::batching_store<batching>);
static_assert(lh::diagnosing_store<diagnosing>);
static_assert(lh::lease_store<lh::memory_store>);

// Each takes one operation away: `= delete` hides the base's.
struct without_try_acquire : archetype {
    void try_acquire() = delete;
};
struct without_renew : archetype {
    void renew() = delete;
};
struct without_release : archetype {
    void release() = delete;
};
struct without_inspect : archetype {
    void inspect() = delete;
};
struct without_batch_size : batching {
    void batch_size() = delete;
};
struct without_renew_many : batching {
    void renew_many() = delete;
};
struct without_release_many : batching {
    void release_many() = delete;
};
struct batch_size_that_may_throw : batching {
    std::size_t batch_size() const;
};
static_assert(!lh::batching_store<without_batch_size> && lh::lease_store<without_batch_size>);
static_assert(!lh::batching_store<without_renew_many> && !lh::batching_store<without_release_many>);
static_assert(!lh::batching_store<batch_size_that_may_throw>);
static_assert(!lh::lease_store<without_try_acquire>);
static_assert(!lh::lease_store<without_renew>);
static_assert(!lh::lease_store<without_release>);
static_assert(!lh::lease_store<without_inspect>);
static_assert(!lh::lease_store<int>);

struct answers_bool : archetype {  // busy and granted are not enough: the token is missing
    bool try_acquire(view name, view owner, lh::duration ttl, error ec);
};
struct renews_to_int : archetype {
    int renew(view name, view owner, lh::fencing_token token, lh::duration ttl, error ec);
};
struct throws_only : archetype {
    bool release(view name, view owner, lh::fencing_token token, lh::duration min_hold_left);
};
struct inspects_by_pointer : archetype {
    const lh::lease_record* inspect(view name, error ec);
};
static_assert(!lh::lease_store<answers_bool>);
static_assert(!lh::lease_store<renews_to_int>);
static_assert(!lh::lease_store<throws_only>);
static_assert(!lh::lease_store<inspects_by_pointer>);

struct diagnoses_by_changing : archetype {
    lh::store_diagnostics diagnostics();
};
struct diagnoses_in_words : archetype {
    std::string diagnostics() const;
};
static_assert(!lh::diagnosing_store<diagnoses_by_changing>);
static_assert(!lh::diagnosing_store<diagnoses_in_words>);

static_assert(lh::acquire_result{.status = lh::acquire_status::granted}.granted());
static_assert(!lh::acquire_result{}.granted());

}  // namespace
