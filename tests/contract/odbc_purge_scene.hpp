// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CONTRACT_ODBC_PURGE_SCENE_HPP
#define LEASEHOLD_TESTS_CONTRACT_ODBC_PURGE_SCENE_HPP

#include <contract/odbc_connection.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/detail/driver/connecting.hpp>
#include <leasehold/odbc/detail/flow/flow.hpp>
#include <leasehold/odbc/detail/flow/operator_flows.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace leasehold_test {

namespace lh = leasehold;
namespace od = leasehold::odbc::detail;
using namespace std::chrono_literals;

/// What differs between databases, as SQL.
struct purge_dialect {
    std::string_view dbms;       ///< as its driver calls it
    std::string minus;           ///< between an expiry and a number of seconds that is to be taken off it
    std::string after_minus;     ///< after that number
    std::string long_ago;        ///< what versions without purge() wrote at a release
    std::string pair_name;       ///< a name made of a.n and b.n
    std::string text, seconds;   ///< types of columns in a table of another library
};

/// A table of its own, and what shows and ages its rows.
struct purge_scene {
    purge_scene(std::string where, const purge_dialect& dialect) : connection_string{std::move(where)}, of{dialect}
    {
        store.create_schema();
        own.execute("delete from " + options.table + " where name <> ''");
    }

    /// `column` so much earlier, exact to the millisecond.
    [[nodiscard]] std::string earlier(const std::string& column, lh::duration by) const
    {
        // Not as a floating-point number, which this process's language may write with a comma.
        const std::int64_t ms = std::chrono::floor<std::chrono::milliseconds>(by).count();
        return column + of.minus + std::to_string(ms / 1000) + "." + std::to_string(1000 + ms % 1000).substr(1) + of.after_minus;
    }
    void set_expiry(const std::string& name, const std::string& sql)
    {
        patiently([&] { own.execute("update " + options.table + " set expires_at = " + sql + " where name = '" + name + "'"); });
    }
    void make_older(const std::string& name, lh::duration by) { set_expiry(name, earlier("expires_at", by)); }
    /// A released row has a thousandth of the time.
    void make_release_older(const std::string& name, lh::duration by) { make_older(name, by / 1000); }

    [[nodiscard]] std::set<std::string> names()
    {
        std::set<std::string> all;
        for (std::string name; !(name = next_name(name)).empty();) all.insert(name);
        return all;
    }
    [[nodiscard]] std::string floor() { return own.execute("select token from " + options.table + " where name = ''"); }

    /// SQLite has one writer at a time.
    template <class Work>
    void patiently(Work work)
    {
        for (int tries = 0;; ++tries) {
            try {
                return work();
            } catch (const std::runtime_error& e) {
                if (tries == 1000 || std::string_view{e.what()}.find("locked") == std::string_view::npos) throw;
                std::this_thread::sleep_for(1ms);
            }
        }
    }

    std::string connection_string;
    purge_dialect of;
    lh::odbc_options options{.table = next_table()};
    lh::odbc_store store{connection_string, options};
    odbc_connection own{connection_string};
    std::error_code ignored;

private:
    static std::string next_table()
    {
        static int count = 0;
        return "purged_" + std::to_string(++count);
    }
    std::string next_name(const std::string& after)
    {
        return own.execute("select min(name) from " + options.table + " where name > '" + after + "'");
    }
};

/// A connection of the library's, on which something happens before a statement.
struct scripted_moment {
    explicit scripted_moment(const purge_scene& s)
        : connection{std::make_shared<const od::configuration>(s.connection_string, s.options, &lh::dialect::detected::describe)}
    {
        if (connection.connect() != od::fault::none) throw std::runtime_error{"can't connect"};
    }

    od::fault run(od::statement which)
    {
        before(which);
        return connection.run(which);
    }
    [[nodiscard]] bool found() const { return connection.found(); }
    [[nodiscard]] std::int64_t rows() const { return connection.rows(); }
    [[nodiscard]] std::int64_t number(od::column which) const { return connection.number(which); }
    [[nodiscard]] std::string_view text(od::column which) const { return connection.text(which); }
    void set_token(std::int64_t token) { connection.set_token(token); }
    void set_upper(std::string_view name) { connection.set_upper(name); }
    [[nodiscard]] std::int64_t time_to_live_us() const { return connection.time_to_live_us(); }
    [[nodiscard]] bool single_statement_grant() const { return connection.single_statement_grant(); }
    [[nodiscard]] bool purges() const { return connection.purges(); }

    od::connection connection;
    std::function<void(od::statement)> before = [](od::statement) {};
};

}  // namespace leasehold_test

#endif
