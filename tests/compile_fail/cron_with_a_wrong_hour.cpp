// expect: the_hour_of_a_cron_line_is_0_to_23
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/schedule/cron.hpp>

#ifdef LEASEHOLD_COMPILE_OK
constexpr leasehold::cron nightly{"0 3 * * *"};
#else
constexpr leasehold::cron nightly{"0 24 * * *"};
#endif
