// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_OBSERVERS_HPP
#define LEASEHOLD_TESTS_CONTRACT_OBSERVERS_HPP

#include <contract/scene.hpp>

#include <leasehold/lease_observer.hpp>

#include <cstddef>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

namespace leasehold::contract {

/// How often the cases' observers look.
inline constexpr duration observer_pause = 10ms;

/// What an observer tells, in words.
class told_changes {
public:
    void operator()(const lease_change& change)
    {
        const std::lock_guard lock{mutex_};
        told_.push_back(std::string{to_string(change.kind)} + " " + change.record.owner);
    }

    [[nodiscard]] std::vector<std::string> all() const
    {
        const std::lock_guard lock{mutex_};
        return told_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> told_;
};

// Those who look without taking part.
template <store_fixture Fixture>
void add_observers(case_list<Fixture> cases)
{
    // Lets time pass until that many changes are told.
    static constexpr auto tells = [](auto& s, const told_changes& told, std::size_t count) {
        for (int i = 0; i < 500 && !eventually([&] { return told.all().size() >= count; }, 5ms, 1ms); ++i) s.let_pass(observer_pause);
        return told.all().size() == count;
    };

    cases.add("observer_tells_what_becomes_of_a_lease", [](auto& s) {
        told_changes told;
        const observer_options options{.every = observer_pause};
        lease_observer watch{s.other(), s.name(), [&told](const lease_change& change) { told(change); }, options, s.clock()};
        const fencing_token first = grant(s.store(), s.name(), "a");
        BOOST_TEST(tells(s, told, 1));
        BOOST_TEST(renew(s.store(), s.name(), "a", first));
        BOOST_TEST(watch.current()->owner == "a");
        release(s.store(), s.name(), "a", first);
        BOOST_TEST(tells(s, told, 2));
        const duration ttl = 8 * s.ttl();  // which must not run out before the observer has looked
        grant(s.store(), s.name(), "b", ttl);
        BOOST_TEST(tells(s, told, 3));
        s.let_expire(ttl);
        BOOST_TEST(tells(s, told, 4));
        BOOST_TEST(!watch.current().has_value());
        grant(s.store(), s.name(), "c");
        BOOST_TEST(tells(s, told, 5));
        BOOST_TEST((watch.age() < long_ttl));
        BOOST_TEST((told.all() ==
                    std::vector<std::string>{"acquired a", "released a", "acquired b", "expired b", "acquired c"}));
    });

    cases.add("observer_tells_of_data", [](auto& s) {
        if constexpr (handover_store<store_of<Fixture>>) {
            told_changes told;
            const fencing_token token = grant(s.store(), s.name(), "a");
            lease_observer watch{s.other(), s.name(), [&told](const lease_change& change) { told(change); },
                                 observer_options{.every = observer_pause}, s.clock()};
            BOOST_TEST(tells(s, told, 1));
            std::error_code ec;
            BOOST_TEST(s.store().publish(s.name(), "a", token, "10.0.0.7", ec));
            BOOST_TEST(tells(s, told, 2));
            BOOST_TEST(watch.current()->data == "10.0.0.7");
            BOOST_TEST(told.all().back() == "data_changed a");
        }
    });

    cases.add("observer_of_a_prefix_tells_of_all_names", [](auto& s) {
        if constexpr (listing_store<store_of<Fixture>>) {
            told_changes told;
            prefix_observer watch{s.other(), s.name("p/"), [&told](const lease_change& change) { told(change); },
                                  observer_options{.every = observer_pause}, s.clock()};
            grant(s.store(), s.name("q"), "z");
            const fencing_token a = grant(s.store(), s.name("p/a"), "a");
            BOOST_TEST(tells(s, told, 1));
            grant(s.store(), s.name("p/b"), "b");
            BOOST_TEST(tells(s, told, 2));
            release(s.store(), s.name("p/a"), "a", a);
            BOOST_TEST(tells(s, told, 3));
            BOOST_TEST(watch.current().size() == 1U);
            BOOST_TEST((told.all() == std::vector<std::string>{"acquired a", "acquired b", "released a"}));
        }
    });
}

}  // namespace leasehold::contract

#endif
