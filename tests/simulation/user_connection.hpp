// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_USER_CONNECTION_HPP
#define LEASEHOLD_TESTS_SIMULATION_USER_CONNECTION_HPP

#include "message.hpp"
#include "network.hpp"
#include "world.hpp"

#include <leasehold/odbc/detail/driver/statement_catalog.hpp>
#include <leasehold/odbc/detail/fence/fence_flow.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace sim {

// The job's own connection to the database, with one transaction. What the library does on it are its flows, as for ODBC.
class user_connection {
public:
    // `number`: no other connection of the world has it.
    user_connection(world& w, network& net, process& of, int number) : world_{w}, net_{net}, of_{of}, number_{number} {}

    bool work(leasehold::fire_time fire) { return ask_for({.what = ask::work, .time = fire.time_since_epoch().count()}); }
    // False: it is not, or that isn't known.
    bool commit() { return ask_for({.what = ask::commit}); }
    void roll_back() { ask_for({.what = ask::roll_back}); }

    // fencing_connection, of a database whose fence is a SELECT that locks. -----------------------------------------------------------
    static fault read_autocommit(bool& on)
    {
        on = false;
        return fault::none;
    }
    fault run(const leasehold::odbc::detail::compiled_statement& next, bool = false)
    {
        selects_ = &next != &sql().save_checkpoint;
        done_ = false;
        if (&next == &sql().saved_checkpoint) return fault::none;  // no row was counted, and so there is none
        done_ = ask_for({.what = selects_ ? ask::fence : ask::save_fenced, .owner = owner_, .token = token_, .text = text_});
        return failed_;
    }
    [[nodiscard]] bool has_result() const noexcept { return selects_; }
    [[nodiscard]] bool found() const noexcept { return selects_ && done_; }
    [[nodiscard]] std::int64_t number() const noexcept { return done_ ? 1 : 0; }
    [[nodiscard]] std::int64_t rows() const noexcept { return !selects_ && done_ ? 1 : 0; }
    fault fail(fault kind, const char*) { return kind; }

    // As odbc::save_checkpoint().
    template <class Guard>
    friend bool save_checkpoint_on(user_connection& on, const Guard& of, const std::string& text, std::error_code& ec)
    {
        namespace flows = leasehold::odbc::detail;
        ec.clear();
        if (!of.held()) return false;
        on.owner_ = on.world_.owner(std::string{of.owner()});
        on.token_ = of.token().value();
        on.text_ = on.world_.owner(text);
        const flows::outcome<flows::fence_answer> answer = flows::fence_flow(on, sql());
        fault failed = answer.failed();
        if (answer.ok() && *answer != flows::fence_answer::current) return false;
        if (answer.ok()) failed = flows::save_checkpoint_flow(on, sql(), false);
        if (failed != fault::none) ec = flows::errc_of(failed);
        return failed == fault::none;
    }
    template <class Guard>
    friend bool save_checkpoint_on(user_connection& on, const Guard& of, const std::string& text)
    {
        std::error_code ec;
        return save_checkpoint_on(on, of, text, ec);
    }

private:
    // What a statement says does not matter here, only that it is there.
    static const leasehold::odbc::detail::compiled_fence& sql()
    {
        static leasehold::odbc::detail::compiled_fence only;
        only.lock.sql = "lock";
        only.save_checkpoint.sql = "save";
        return only;
    }

    bool ask_for(request asked)
    {
        asked.connection = number_;
        const reply said = net_.call(of_, asked, of_.clock.when(of_.clock.at(world_.time.now()) + world_.planned.call_timeout));
        failed_ = said.failed;
        return failed_ == fault::none && said.yes;
    }

    world& world_;
    network& net_;
    process& of_;
    int number_;
    int owner_ = nobody;
    int text_ = nobody;
    std::int64_t token_ = 0;
    fault failed_ = fault::none;
    bool selects_ = false;
    bool done_ = false;
};

}  // namespace sim

#endif
