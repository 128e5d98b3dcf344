# SPDX-License-Identifier: BSL-1.0
# One misuse per file, and the message its author would read.
#
# The file's first line is `// expect: <regex>` (CMake's regular expressions; must fit g++'s and clang++'s words). It must
# not compile, with output that matches; with -DLEASEHOLD_COMPILE_OK it must compile, which proves that the misuse between
# #ifndef LEASEHOLD_COMPILE_OK and #endif is all that is wrong with it.
file(STRINGS "${SOURCE}" first_line LIMIT_COUNT 1)
if(NOT first_line MATCHES "^// expect: (.+)$")
    message(FATAL_ERROR "${SOURCE}:1: the first line must be `// expect: <regex>`")
endif()
set(expected "${CMAKE_MATCH_1}")
set(compile "${CMAKE_COMMAND}" -E env LC_ALL=C "${COMPILER}" -std=c++20 -fsyntax-only "-I${INCLUDE}" "${SOURCE}")

execute_process(COMMAND ${compile} -DLEASEHOLD_COMPILE_OK RESULT_VARIABLE status ERROR_VARIABLE output OUTPUT_VARIABLE output)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "${SOURCE}: does not even compile without its misuse:\n${output}")
endif()
execute_process(COMMAND ${compile} RESULT_VARIABLE status ERROR_VARIABLE output OUTPUT_VARIABLE output)
if(status EQUAL 0)
    message(FATAL_ERROR "${SOURCE}: compiles, and must not")
endif()
if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "${SOURCE}: fails with another message than /${expected}/:\n${output}")
endif()
message(STATUS "fails as it should:\n${output}")
