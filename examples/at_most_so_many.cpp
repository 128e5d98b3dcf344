// SPDX-License-Identifier: BSL-1.0
// ctest:

// At most so many at a time, on all hosts: licences, connections, slots of a batch system.
//
// It runs on an SQLite file, or on the database of a connection string that is given as an argument.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <system_error>

namespace lh = leasehold;
using namespace std::chrono_literals;

int main(int argc, char** argv)
{
    const std::string connection_string = argc > 1 ? argv[1] : "Driver=SQLite3;Database=at_most_so_many.db";
    lh::odbc_store store{connection_string};
    store.create_schema();
    lh::odbc_store stores_elsewhere{connection_string};  // another host has its own

    lh::lease_semaphore ours{store, "licences", 2, 30s};
    lh::lease_semaphore theirs{stores_elsewhere, "licences", 2, 30s};

    const auto permit = ours.try_acquire();
    auto their_permit = theirs.try_acquire();
    std::cout << "we have licence " << permit.index() << ", they have licence " << their_permit.index() << '\n';
    const auto third = ours.try_acquire();
    const bool busy = third.empty();
    std::cout << "a third is " << (busy ? "busy" : "free") << '\n';
    const bool different = permit.index() != their_permit.index();
    their_permit.release();

    // A permit that its holder gives back, or whose holder dies, is free for the next.
    const auto second = ours.try_acquire_for(5s);
    std::cout << "now we have " << second.index() << ", too\n";

    // All must agree on the count, or there would be as many permits as there are opinions.
    lh::lease_semaphore wrong{stores_elsewhere, "licences", 3, 30s};
    bool refused = false;
    try {
        static_cast<void>(wrong.try_acquire());
    }
    catch (const std::system_error& e) {
        refused = e.code() == lh::errc::invalid_terms;
        std::cout << e.what() << '\n';
    }

    // The count changes while permits are held. Processes that run follow; one that starts later follows if told to. Three or none.
    const lh::semaphore_options follow{.on_other_count = lh::on_other_count::follow};
    lh::lease_semaphore slots{store, "slots", 2, 30s, follow}, late{stores_elsewhere, "slots", 2, 30s, follow};
    const auto slot = slots.try_acquire();
    slots.resize(4);
    const auto three = late.try_acquire_for(5s, 3);
    std::cout << "of " << late.count() << " slots they have " << three.size() << " at once\n";
    return permit.held() && busy && different && second.held() && refused && slot.held() && three.held() ? 0 : 1;
}
