// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_EMBEDDED_BOARD_HPP
#define LEASEHOLD_EXAMPLES_EMBEDDED_BOARD_HPP

#include <cstdint>

namespace board {

/// Text to the debugger, here QEMU's standard output (semihosting: a call to the program that runs the processor).
inline void print(const char* text)
{
    register int operation asm("r0") = 0x04;  // SYS_WRITE0
    register const char* argument asm("r1") = text;
    asm volatile("bkpt 0xAB" : "+r"(operation) : "r"(argument) : "memory");
}

inline void print(std::uint32_t number)
{
    char text[11];
    char* first = text + sizeof text - 1;
    *first = '\0';
    do {
        *--first = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number != 0);
    print(first);
}

/// Ends the program, with an exit status of QEMU's.
[[noreturn]] inline void exit(std::uint32_t status)
{
    const std::uint32_t reason[] = {0x20026, status};  // ADP_Stopped_ApplicationExit
    register int operation asm("r0") = 0x20;           // SYS_EXIT_EXTENDED
    register const std::uint32_t* argument asm("r1") = reason;
    asm volatile("bkpt 0xAB" : "+r"(operation) : "r"(argument) : "memory");
    for (;;) {}
}

/// Keeps interrupts out, and so every other task of this core: the mutex of a lease store.
class critical_section {
public:
    void lock() noexcept
    {
        std::uint32_t before;
        asm volatile("mrs %0, primask\n cpsid i" : "=r"(before) : : "memory");
        before_ = before;
    }

    void unlock() noexcept { asm volatile("msr primask, %0" : : "r"(before_) : "memory"); }

private:
    std::uint32_t before_ = 0;
};

/// Makes an interrupt call tick() each time that this many cycles have passed.
inline void start_ticking(std::uint32_t cycles)
{
    auto* const systick = reinterpret_cast<volatile std::uint32_t*>(0xE000E010);
    systick[1] = cycles - 1;
    systick[2] = 0;
    systick[0] = 7;  // on, with an interrupt, by the processor's clock
}

inline void stop_ticking() { *reinterpret_cast<volatile std::uint32_t*>(0xE000E010) = 0; }

/// Functions that the program must define.
int run();
void tick();

}  // namespace board

#endif
