// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_FIXTURE_HPP
#define LEASEHOLD_TESTS_CONTRACT_FIXTURE_HPP

#include <leasehold/leasehold.hpp>

#include <chrono>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace leasehold::contract {

/// What the suite needs of a store to be tested: a fixture, made for each case. Data may stay between cases and runs,
/// for every case makes up names of its own.
///
/// | expression | returns | does |
/// |---|---|---|
/// | f.store() | Store& | the store; the same object each time |
/// | f.another_store() | Store& | another object on the same data, as another process would have; store() itself where there is no such thing |
/// | f.let_pass(d) | void | lets the store's clock go on by d: moves a manual clock, or sleeps. From any thread |
/// | f.short_ttl() | duration | a ttl that is cheap to wait for and long enough for some calls on a busy machine: 10 s on a manual clock, 250 ms on a real one |
///
/// What follows is optional; a case that needs it is in the suite where the fixture has it.
///
/// | expression | returns | does |
/// |---|---|---|
/// | f.clock() | lease_clock | the holder's clock, which let_pass() moves too; steady_clock unless given |
/// | f.rounding() | duration | how much longer than asked the store may keep a term; 10 ms unless given |
/// | f.max_name_bytes() | std::size_t | how long a name may be, for a store that needs some of the 190 bytes, such as a prefix of its own |
/// | f.start_peer(orders, clock_off_by) | a peer_process | starts another process on the same data, its wall clock wrong by that much; see peer.hpp |
/// | f.wrong_clocks() | std::vector<duration> | by how much the wall clocks of peers can be wrong at the same time; none unless given |
/// | f.delete_row(name) | void | takes away all the store knows of a name |
/// | f.begin_outage() | an object | an attempt that would get a lease gets an error, until that object is destroyed |
/// | f.open_transaction() | object with bool still_open() | an application's own connection to the same database, in a transaction that has written something |
template <class F>
concept store_fixture = std::default_initializable<F> && requires(F& f, duration d)
{
    requires lease_store<std::remove_reference_t<decltype(f.store())>>;
    requires std::same_as<decltype(f.store()), decltype(f.another_store())>;
    f.let_pass(d);
    {
        f.short_ttl()
        } -> std::convertible_to<duration>;
};

/// A process started by a fixture.
template <class P>
concept peer_process = std::movable<P> && requires(P& p)
{
    p.kill();  // at once, as SIGKILL does
    {
        p.wait()
        } -> std::convertible_to<int>;  // until it has ended; its exit status
};

template <class F>
concept fixture_with_peers = store_fixture<F> && requires(F& f, const std::vector<std::string>& orders, duration off)
{
    {
        f.start_peer(orders, off)
        } -> peer_process;
};

template <class F>
concept fixture_with_wrong_clocks = fixture_with_peers<F> && requires(F& f)
{
    {
        f.wrong_clocks()
        } -> std::convertible_to<std::vector<duration>>;
};

template <class F>
concept fixture_that_deletes = store_fixture<F> && requires(F& f, std::string_view name)
{
    f.delete_row(name);
};

template <class F>
concept fixture_with_outages = store_fixture<F> && requires(F& f)
{
    f.begin_outage();
};

template <class F>
concept fixture_with_transactions = store_fixture<F> && requires(F& f)
{
    {
        f.open_transaction().still_open()
        } -> std::convertible_to<bool>;
};

template <store_fixture F>
using store_of = std::remove_reference_t<decltype(std::declval<F&>().store())>;

/// A store an operator can ask what is held, and that ends terms by order.
template <class S>
concept operable_store = lease_store<S> && requires(S& s, std::string_view text, std::error_code& ec)
{
    {
        s.list(text)
        } -> std::convertible_to<std::vector<lease_record>>;
    {
        s.list()
        } -> std::convertible_to<std::vector<lease_record>>;
    {
        s.list(text, ec)
        } -> std::convertible_to<std::vector<lease_record>>;
    {
        s.force_release(text)
        } -> std::same_as<bool>;
    {
        s.force_release(text, ec)
        } -> std::same_as<bool>;
};

}  // namespace leasehold::contract

#endif
