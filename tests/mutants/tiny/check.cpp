// SPDX-License-Identifier: BSL-1.0
// What is to notice the mutants of machine.hpp. operators_test.py leaves out a part of it, by the argument `less`.
#include <tiny/machine.hpp>

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
    const tiny::instant before{9};
    const tiny::instant end{10};
    const tiny::instant behind{11};
    bool stop = false;
    const auto stopped = [&stop] { return stop; };
    tiny::machine first{end};
    if (first.over(before, stopped)) return wrong("before the end");
    const bool at_end = first.over(end, stopped);
    if (argc == 1 && !at_end) return wrong("at the end");
    if (!first.over(behind, stopped) || !first.over(before, stopped)) return wrong("behind the end");
    tiny::machine second{end};
    stop = true;
    if (!second.over(before, stopped)) return wrong("stopped");
    if (tiny::at_least(1, 2) != 2 || tiny::at_least(3, 2) != 3 || tiny::at_least(2, 2) != 2) return wrong("at_least");
    if (tiny::is_past(before, end) || tiny::is_past(end, end) || !tiny::is_past(behind, end)) return wrong("is_past");
    if (tiny::sum(1, 2) != 3) return wrong("sum");
    return tiny::machine::both({3}, {4}) == tiny::count{7} ? 0 : wrong("both");
}
