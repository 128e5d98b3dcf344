// SPDX-License-Identifier: BSL-1.0
#include "board.hpp"

extern "C" {

// Addresses, made by the linker script.
extern const std::uint32_t data_in_flash[];
extern std::uint32_t data_begin[], data_end[], bss_begin[], bss_end[], stack_top[];

[[noreturn]] void reset_handler()
{
    const std::uint32_t* from = data_in_flash;
    for (std::uint32_t* to = data_begin; to != data_end; ++to) *to = *from++;
    for (std::uint32_t* to = bss_begin; to != bss_end; ++to) *to = 0;
    board::exit(static_cast<std::uint32_t>(board::run()));
}

[[noreturn]] static void fault_handler()
{
    board::print("fault\n");
    board::exit(99);
}

static void tick_handler() { board::tick(); }
}

namespace {

using handler = void (*)();

struct vector_table {
    std::uint32_t* stack;
    handler handlers[15];
};

[[gnu::section(".vectors"), gnu::used]] const vector_table vectors{
    stack_top,
    {reset_handler, fault_handler, fault_handler, fault_handler, fault_handler, fault_handler, nullptr, nullptr, nullptr,
     nullptr, fault_handler, fault_handler, nullptr, fault_handler, tick_handler}};

}  // namespace
