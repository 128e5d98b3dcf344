// error: this_cron_line_never_fires_no_such_day_is_in_its_months|call to consteval function
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/schedule/cron.hpp>

leasehold::cron last_of_february()
{
#ifdef LEASEHOLD_COMPILE_OK
    return leasehold::cron{"0 0 29 2 *"};
#else
    return leasehold::cron{"0 0 30 2 *"};
#endif
}
