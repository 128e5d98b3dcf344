// error: the_hour_of_a_cron_line_is_0_to_23|call to consteval function
// note: the_hour_of_a_cron_line_is_0_to_23
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/schedule/cron.hpp>

leasehold::cron nightly()
{
#ifdef LEASEHOLD_COMPILE_OK
    return leasehold::cron{"0 3 * * *"};
#else
    return leasehold::cron{"0 24 * * *"};
#endif
}
