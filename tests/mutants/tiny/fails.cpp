// SPDX-License-Identifier: BSL-1.0
// A check that would kill anything.
#include <tiny/machine.hpp>

int main() { return tiny::at_least(1, 2); }
