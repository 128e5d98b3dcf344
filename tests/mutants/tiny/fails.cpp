// SPDX-License-Identifier: BSL-1.0
// A check that would kill anything.
#include <tiny/machine.hpp>

int main() { return tiny::machine::named("a").empty() ? 0 : 1; }
