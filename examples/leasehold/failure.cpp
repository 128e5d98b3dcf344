// SPDX-License-Identifier: BSL-1.0
#include "failure.hpp"

#include "nearest.hpp"
#include "odbc_connection.hpp"

#include <leasehold/error.hpp>

#include <string_view>
#include <vector>

namespace tool {

namespace {

std::string in_quotes(const std::vector<std::string>& names)
{
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
    return text;
}

/// What the driver manager took for a file, because it knows no driver of that name; empty: something else has failed.
std::string unknown_driver(std::string_view server_message)
{
    constexpr std::string_view before = "Can't open lib '";
    const std::size_t begin = server_message.find(before);
    if (begin == std::string_view::npos) return {};
    const std::string_view name = server_message.substr(begin + before.size());
    const std::string driver{name.substr(0, name.find('\''))};
    const bool is_a_file = driver.find('/') != driver.npos || driver.find(".so") != driver.npos || driver.ends_with(".dylib");
    return is_a_file ? std::string{} : driver;
}

std::string drivers_here()
{
    const std::vector<std::string> drivers = installed_drivers();
    return drivers.empty() ? "There is none; packages of Debian and Ubuntu: odbc-postgresql, odbc-mariadb, libsqliteodbc"
                           : "There are: " + in_quotes(drivers);
}

std::string words_of_unknown_driver(const std::string& driver)
{
    const std::string meant = nearest(driver, installed_drivers());
    return "there is no ODBC driver '" + driver + "' here" + (meant.empty() ? ". " : ": did you mean '" + meant + "'? ") + drivers_here();
}

std::string words_of_unknown_source()
{
    const std::vector<std::string> sources = data_sources();
    return "the connection string must be keyword=value;... with a Driver= or DSN= that is known here. " +
           (sources.empty() ? "There is no data source" : "There is the data source " + in_quotes(sources)) +
           ". Drivers: " + drivers_here();
}

}  // namespace

std::string words_of(const std::exception& error)
{
    const auto* const of_store = dynamic_cast<const leasehold::store_error*>(&error);
    if (!of_store) return error.what();
    std::string words;
    const bool lacks_column = std::string_view{error.what()}.find("docs/migrating.md") != std::string_view::npos;
    if (of_store->code() == leasehold::errc::schema_missing && !lacks_column) {
        words = "the table for the leases doesn't exist: create it with 'leasehold init', or name another with --table";
    } else if (of_store->sqlstate() == "IM002") {
        words = words_of_unknown_source();
    } else if (const std::string driver = unknown_driver(of_store->server_message()); !driver.empty()) {
        words = words_of_unknown_driver(driver);
    } else {
        return error.what();
    }
    return words + " [SQLSTATE " + std::string{of_store->sqlstate()} + ": " + std::string{of_store->server_message()} + "]";
}

}  // namespace tool
