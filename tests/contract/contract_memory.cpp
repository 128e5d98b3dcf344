// SPDX-License-Identifier: BSL-1.0
#include <contract/contract.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace {

namespace lh = leasehold;

struct memory_fixture {
    lh::manual_clock time;
    lh::basic_memory_store<lh::manual_clock> leases{time};

    auto& store() { return leases; }
    auto& another_store() { return leases; }
    void let_pass(lh::duration d) { time.advance(d); }
    lh::duration short_ttl() const { return std::chrono::seconds{10}; }
    lh::manual_clock clock() const { return time; }
};

// What a user's own store may be: the four operations, and nobody who wakes a waiter or says how often to ask.
class plain_store {
public:
    explicit plain_store(lh::basic_memory_store<lh::manual_clock>& inner) : inner_{inner} {}

    lh::acquire_result try_acquire(std::string_view name, std::string_view owner, lh::duration ttl, std::error_code& ec)
    {
        return inner_.try_acquire(name, owner, ttl, ec);
    }
    bool renew(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration ttl, std::error_code& ec)
    {
        return inner_.renew(name, owner, token, ttl, ec);
    }
    bool release(std::string_view name, std::string_view owner, lh::fencing_token token, lh::duration min_hold_left,
                 std::error_code& ec)
    {
        return inner_.release(name, owner, token, min_hold_left, ec);
    }
    std::optional<lh::lease_record> inspect(std::string_view name, std::error_code& ec) { return inner_.inspect(name, ec); }

private:
    lh::basic_memory_store<lh::manual_clock>& inner_;
};
static_assert(lh::lease_store<plain_store> && !lh::notifying_store<plain_store> && !lh::polled_store<plain_store>);

struct plain_fixture {
    lh::manual_clock time;
    lh::basic_memory_store<lh::manual_clock> leases{time};
    plain_store one{leases};
    plain_store two{leases};

    auto& store() { return one; }
    auto& another_store() { return two; }
    void let_pass(lh::duration d) { time.advance(d); }
    lh::duration short_ttl() const { return std::chrono::seconds{10}; }
    lh::manual_clock clock() const { return time; }
};

using memory = lh::basic_memory_store<lh::manual_clock>;

struct forwarded_fixture {
    lh::manual_clock time;
    memory leases{time};
    lh::forwarding_store<memory> one{leases}, two{leases};

    auto& store() { return one; }
    auto& another_store() { return two; }
    void let_pass(lh::duration d) { time.advance(d); }
    lh::duration short_ttl() const { return std::chrono::seconds{10}; }
    lh::manual_clock clock() const { return time; }
};
static_assert(lh::notifying_store<lh::forwarding_store<memory>> && lh::handover_store<lh::forwarding_store<memory>> &&
              lh::queueing_store<lh::forwarding_store<memory>>);

// The store around a store of docs/writing_a_store.md.
struct tenant_store : lh::forwarding_store<memory, tenant_store> {
    tenant_store(memory& all, std::string tenant) : forwarding_store{all}, prefix{std::move(tenant) + "/"} {}
    std::string stored_name(std::string_view name) const { return prefix + std::string{name}; }
    std::string prefix;
};
static_assert(lh::notifying_store<tenant_store> && lh::handover_store<tenant_store> && !lh::queueing_store<tenant_store>);

struct tenant_fixture {
    lh::manual_clock time;
    memory leases{time};
    tenant_store one{leases, "acme"}, two{leases, "acme"};

    auto& store() { return one; }
    auto& another_store() { return two; }
    void let_pass(lh::duration d) { time.advance(d); }
    lh::duration short_ttl() const { return std::chrono::seconds{10}; }
    lh::manual_clock clock() const { return time; }
    std::size_t max_name_bytes() const { return lh::max_name_bytes - one.prefix.size(); }
};

const lh::contract::suite<memory_fixture> contract{"memory"};
const lh::contract::suite<forwarded_fixture> contract_forwarded{"memory_behind_a_forwarding_store"};
const lh::contract::suite<tenant_fixture> contract_tenant{"memory_of_a_tenant"};
const lh::contract::suite<plain_fixture> contract_plain{"memory_that_wakes_nobody", {"waiting", "turns", "several"}};

}  // namespace
