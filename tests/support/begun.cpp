// SPDX-License-Identifier: BSL-1.0
// A translation unit for the headers that tests begin with, which are compiled once: see tests/CMakeLists.txt.
