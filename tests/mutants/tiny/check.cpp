// SPDX-License-Identifier: BSL-1.0
// What is to notice the mutants of machine.hpp. operators_test.py leaves out a part of it, by the argument `less`.
#include <tiny/machine.hpp>

#include <chrono>
#include <cstdio>

namespace {

int wrong(const char* what)
{
    std::printf("error: in \"%s\"\n", what);
    return 1;
}

}  // namespace

int main(int argc, char**)
{
    const tiny::instant end{std::chrono::seconds{10}};
    const std::chrono::nanoseconds tick{1};
    bool stop = false;
    const auto stopped = [&stop] { return stop; };
    tiny::machine first{end};
    if (first.over(end - tick, stopped)) return wrong("before the end");
    if (argc == 1 && !first.over(end, stopped)) return wrong("at the end");
    if (!first.over(end + tick, stopped) || !first.over(end - tick, stopped)) return wrong("behind the end");
    tiny::machine second{end};
    stop = true;
    if (!second.over(end - tick, stopped)) return wrong("stopped");
    if (tiny::at_least(1, 2) != 2 || tiny::at_least(3, 2) != 3 || tiny::at_least(2, 2) != 2) return wrong("at_least");
    return tiny::machine::named("name") == "tiny name" ? 0 : wrong("named");
}
