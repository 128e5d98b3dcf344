// SPDX-License-Identifier: BSL-1.0
// ctest:

// A job once a night, at three: started on every host, by cron or by hand, it runs on one. A host that comes later finds it done; one that
// comes while another runs it waits, and takes it over if that one fails or dies.
//
// It runs on an SQLite file, or on the database of a connection string that is given as an argument.
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <iostream>

namespace lh = leasehold;
using namespace std::chrono_literals;

int main(int argc, char** argv)
{
    lh::odbc_store store{argc > 1 ? argv[1] : "Driver=SQLite3;Database=nightly_job.db"};
    store.create_schema();

    lh::recurring nightly{store, "report", lh::every{.period = 24h, .at = 3h}};
    auto run = nightly.try_begin_for(1h);
    if (!run) {
        std::cout << "this night's report is done\n";
        return 0;
    }
    for (int page = 1; page <= 3 && run.held(); ++page) std::cout << "page " << page << " under token " << run.token() << '\n';
    return run.complete() ? 0 : 1;  // without it, the next host does it again
}
