// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_FIBER_HPP
#define LEASEHOLD_TESTS_SIMULATION_FIBER_HPP

#include <boost/context/fiber.hpp>
#include <boost/context/stack_context.hpp>

#include <cxxabi.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define LEASEHOLD_SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEASEHOLD_SIM_ASAN 1
#endif
#endif
#if defined(LEASEHOLD_SIM_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

namespace leasehold::inline v0 {
class waker;
}

namespace sim {

struct process;

// Stacks are used again: a schedule makes some twenty fibers, and there are thousands of schedules a second.
class stack_pool {
public:
#if defined(LEASEHOLD_SIM_ASAN) || !defined(__OPTIMIZE__)
    static constexpr std::size_t size = 512 * 1024;
#else
    static constexpr std::size_t size = 96 * 1024;
#endif

    static stack_pool& instance()
    {
        static stack_pool pool;
        return pool;
    }

    void* take()
    {
        if (free_.empty()) return std::malloc(size);
        void* const memory = free_.back();
        free_.pop_back();
        return memory;
    }
    void give_back(void* memory) { free_.push_back(memory); }

    ~stack_pool()
    {
        for (void* memory : free_) std::free(memory);
    }

private:
    std::vector<void*> free_;
};

struct pooled_stack {
    const void** bottom;

    boost::context::stack_context allocate()
    {
        boost::context::stack_context context;
        void* const memory = stack_pool::instance().take();
        if (memory == nullptr) throw std::bad_alloc{};
        *bottom = memory;
        context.size = stack_pool::size;
        context.sp = static_cast<char*>(memory) + stack_pool::size;
        return context;
    }
    void deallocate(boost::context::stack_context& context) noexcept
    {
        stack_pool::instance().give_back(static_cast<char*>(context.sp) - context.size);
    }
};

// What the C++ runtime keeps per thread of exceptions under way (Itanium C++ ABI): a fiber may wait in a destructor that
// one of them runs.
struct exception_state {
    void* caught;
    unsigned int uncaught;

    static exception_state& of_thread() { return *reinterpret_cast<exception_state*>(abi::__cxa_get_globals()); }
};

// One thread of a simulated process. It gives way only where it waits, so between two waits nothing else happens.
class fiber {
public:
    fiber(process& of, std::function<void()> body) : owner{of}, body_{std::move(body)}
    {
        inside_ = boost::context::fiber{std::allocator_arg, pooled_stack{&bottom_}, [this](boost::context::fiber&& outside) {
                                            arrive();
                                            outside_ = std::move(outside);
                                            body_();
                                            body_ = nullptr;
                                            done = true;
                                            leave(nullptr);
                                            return std::move(outside_);
                                        }};
    }

    // From the scheduler: runs until the next wait.
    void resume()
    {
        exception_state outside = exception_state::of_thread();
        exception_state::of_thread() = exceptions_;
        switch_in();
        exceptions_ = exception_state::of_thread();
        exception_state::of_thread() = outside;
    }

    // From inside: back to the scheduler.
    void suspend()
    {
        void* fake = nullptr;
        leave(&fake);
        outside_ = std::move(outside_).resume();
        arrive(fake);
    }

    process& owner;
    bool done = false;
    std::uint64_t wait_number = 0;          // tells a wake-up for an earlier wait
    leasehold::waker* waits_for = nullptr;  // besides time
    bool wake_due = false;                  // a wake-up for waits_for is on its way
    bool stopped_in_clock = false;          // with its whole process
    int no_freeze = 0;                      // > 0: reading the clock must not freeze the process
    std::vector<fiber*> joiners;

private:
    void switch_in()
    {
#if defined(LEASEHOLD_SIM_ASAN)
        void* fake = nullptr;
        __sanitizer_start_switch_fiber(&fake, bottom_, stack_pool::size);
        inside_ = std::move(inside_).resume();
        __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#else
        inside_ = std::move(inside_).resume();
#endif
    }

#if defined(LEASEHOLD_SIM_ASAN)
    void arrive(void* fake = nullptr) { __sanitizer_finish_switch_fiber(fake, &outside_bottom_, &outside_size_); }
    void leave(void** fake) { __sanitizer_start_switch_fiber(fake, outside_bottom_, outside_size_); }
    const void* outside_bottom_ = nullptr;
    std::size_t outside_size_ = 0;
#else
    void arrive(void* = nullptr) {}
    void leave(void**) {}
#endif

    const void* bottom_ = nullptr;
    exception_state exceptions_{};
    std::function<void()> body_;
    boost::context::fiber inside_;
    boost::context::fiber outside_;
};

}  // namespace sim

#endif
