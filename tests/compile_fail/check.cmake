# SPDX-License-Identifier: BSL-1.0
# One misuse per file, and the message its author would read.
#
# The file's first line is `// error: <regex>` (CMake's regular expressions; must fit g++'s and clang++'s words). It must not compile,
# with a single error, whose own line matches. `// first error: <regex>` is for what a compiler says more than once: there the first
# counts. A second line `// note: <regex>` asks for what stands anywhere in the output, as the reason in a compiler's note. With
# -DLEASEHOLD_COMPILE_OK it must compile, which proves that the misuse between #ifndef LEASEHOLD_COMPILE_OK and #endif is all that is
# wrong with it: here, or, for files that include the whole library, in the test compile_fail.without_misuse.
file(STRINGS "${SOURCE}" head LIMIT_COUNT 2)
list(GET head 0 first_line)
list(GET head 1 second_line)
if(NOT first_line MATCHES "^// (error|first error): (.+)$")
    message(FATAL_ERROR "${SOURCE}:1: the first line must be `// error: <regex>` or `// first error: <regex>`")
endif()
set(kind "${CMAKE_MATCH_1}")
set(expected "${CMAKE_MATCH_2}")
set(expected_note "")
if(second_line MATCHES "^// note: (.+)$")
    set(expected_note "${CMAKE_MATCH_1}")
endif()
set(compile "${CMAKE_COMMAND}" -E env LC_ALL=C "${COMPILER}" -std=c++20 -fsyntax-only "-I${INCLUDE}")

file(STRINGS "${SOURCE}" includes REGEX "^#include ")
if(includes MATCHES "<leasehold/leasehold.hpp>")
    list(APPEND compile -include "${WHOLE_LIBRARY}")  # beside it is what the compiler made of it
else()
    execute_process(COMMAND ${compile} "${SOURCE}" -DLEASEHOLD_COMPILE_OK RESULT_VARIABLE status ERROR_VARIABLE output OUTPUT_VARIABLE output)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "${SOURCE}: does not even compile without its misuse:\n${output}")
    endif()
endif()
execute_process(COMMAND ${compile} "${SOURCE}" RESULT_VARIABLE status ERROR_VARIABLE output OUTPUT_VARIABLE output)
if(status EQUAL 0)
    message(FATAL_ERROR "${SOURCE}: compiles, and must not")
endif()
string(REPLACE ";" "," output "${output}")  # of CMake's lists
string(REGEX MATCHALL "[^\n]* error: [^\n]*" errors "${output}")
# g++ 14 calls the reason for which a call of a consteval function fails an error, too, and not a note.
if(errors MATCHES "error: call to consteval function")
    list(FILTER errors EXCLUDE REGEX "error: call to non-'constexpr' function")
endif()
list(LENGTH errors count)
if(count EQUAL 0 OR (kind STREQUAL "error" AND NOT count EQUAL 1))
    message(FATAL_ERROR "${SOURCE}: has ${count} errors, and must have one:\n${output}")
endif()
list(GET errors 0 first)
if(NOT first MATCHES "${expected}")
    message(FATAL_ERROR "${SOURCE}: fails with another message than /${expected}/:\n${output}")
endif()
if(expected_note AND NOT output MATCHES "${expected_note}")
    message(FATAL_ERROR "${SOURCE}: fails without /${expected_note}/:\n${output}")
endif()
message(STATUS "fails as it should:\n${output}")
