#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <iostream>

int main()
{
    try {
        leasehold::odbc_store store{"Driver=SQLite3;Database=test_package.db"};
        store.create_schema();
        leasehold::basic_lease lease{store, "nightly-report"};
        const auto guard = lease.try_acquire();
        std::cout << "leasehold with ODBC: " << (guard.held() ? "held" : "not held") << " under token " << guard.token() << '\n';
        return guard.held() ? 0 : 1;
    }
    catch (const leasehold::store_error& error) {
        // The package is fine where this machine has a driver manager and no driver for SQLite.
        std::cout << "leasehold with ODBC: linked, and not tried further: " << error.what() << '\n';
        return error.sqlstate() == "IM002" || error.sqlstate() == "01000" ? 0 : 1;
    }
}
