// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_OUT_OF_MEMORY_ALLOCATIONS_HPP
#define LEASEHOLD_TESTS_OUT_OF_MEMORY_ALLOCATIONS_HPP

#include <boost/test/unit_test.hpp>

#include <new>
#include <system_error>

namespace out_of_memory {

/// How often the calling thread may allocate yet; negative: without a limit.
extern thread_local int allocations_left;

/// What an operation that reports its failure says, as an exception.
inline void raise(const std::error_code& ec)
{
    if (ec == std::errc::not_enough_memory) throw std::bad_alloc{};
    if (ec) throw std::system_error{ec};
}

/// Calls operation(scene) with no allocation allowed, then with one, and so on until it needs no more; each time in a new scene,
/// so that nothing is there yet. What fails must say that memory ran out. Then scene.check() looks at what it left.
template <class Scene, class Operation>
void sweep(Operation operation)
{
    constexpr int more_than_any_needs = 1000;
    for (int allowed = 0; allowed < more_than_any_needs; ++allowed) {
        Scene scene;
        bool done = false;
        try {
            allocations_left = allowed;
            operation(scene);
            allocations_left = -1;
            done = true;
        } catch (const std::bad_alloc&) {
            allocations_left = -1;
        } catch (const std::system_error& e) {
            allocations_left = -1;
            BOOST_TEST((e.code() == std::errc::not_enough_memory), e.what());
        }
        BOOST_TEST_CONTEXT(allowed << " allocations")
        {
            scene.check();
        }
        if (done) {
            BOOST_TEST_MESSAGE("needed " << allowed << " allocations");
            return;
        }
    }
    BOOST_FAIL("never came to an end");
}

}  // namespace out_of_memory

#endif
