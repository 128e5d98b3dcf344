// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_UNIT_ODBC_DETAIL_SCRIPTED_DATABASE_HPP
#define LEASEHOLD_TESTS_UNIT_ODBC_DETAIL_SCRIPTED_DATABASE_HPP

#include <leasehold/duration.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/flow/statement.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Found by argument-dependent look-up from Boost.Test: numbers, as in the headers.
namespace leasehold::inline v0::odbc::detail {

inline std::ostream& boost_test_print_type(std::ostream& out, statement which)
{
    return out << "statement " << static_cast<int>(which);
}

inline std::ostream& boost_test_print_type(std::ostream& out, fault kind)
{
    return out << "fault " << static_cast<int>(kind);
}

}  // namespace leasehold::inline v0::odbc::detail

namespace leasehold_test {

namespace od = leasehold::odbc::detail;

/// The answer of a flow, and what it failed with.
template <class Answer>
od::fault came_to(Answer& answer, od::outcome<Answer> said)
{
    answer = std::move(*said);
    return said.failed();
}

/// What a database answers to one statement.
struct reply {
    od::fault failed = od::fault::none;
    std::int64_t rows = 0;
    bool found = false;
    std::vector<std::pair<od::column, std::int64_t>> numbers{};
    std::string name{};
    std::vector<std::pair<od::column, std::string>> texts{};  ///< see operators_database.hpp
    std::vector<reply> each{};                                ///< rows; likewise
    std::string words{};                                      ///< of a failure; likewise
    std::string advice{};                                     ///< of a failure
};

inline reply fails(od::fault kind) { return {.failed = kind}; }
inline reply no_row() { return {}; }
/// No row, and what an earlier one showed is still there: it counts for nothing.
inline reply no_row_after(reply earlier)
{
    earlier.found = false;
    return earlier;
}
inline reply changes(std::int64_t rows) { return {.rows = rows}; }
inline reply shows(std::initializer_list<std::pair<od::column, std::int64_t>> numbers)
{
    return {.found = true, .numbers = numbers};
}

/// What `read` shows.
inline reply shows_row(std::int64_t token, std::int64_t whose, bool live, std::int64_t remaining, bool released = false)
{
    return shows({{od::column::token, token},
                  {od::column::whose, whose},
                  {od::column::live, live},
                  {od::column::remaining, remaining},
                  {od::column::released, released}});
}

/// What the grants in one statement show.
inline reply shows_grant(bool granted, std::int64_t token, std::int64_t remaining, bool fresh)
{
    return shows({{od::column::granted, granted},
                  {od::column::token, token},
                  {od::column::remaining, remaining},
                  {od::column::fresh, fresh}});
}

/// What `look` shows.
inline reply shows_step(std::int64_t looked_at, std::int64_t above, std::string last)
{
    reply r = shows({{od::column::count, looked_at}, {od::column::token, above}});
    r.name = std::move(last);
    return r;
}

/// A `Database` of flow.hpp and purge_flow.hpp that answers as written, the last answer again and again, and notes what it was asked.
class scripted_database {
public:
    scripted_database(std::initializer_list<reply> replies) : replies_{replies} {}
    explicit scripted_database(const std::vector<reply>& replies) : replies_{replies.begin(), replies.end()} {}

    bool one_statement = false;
    bool has_floor = false;
    bool has_clock = false;
    bool looks_at_once = false;
    od::fault key_is = od::fault::none;  ///< what check_name_key() finds
    bool believes = true;  ///< counts of rows are to be believed
    std::int64_t ttl_us = 1000;

    std::vector<od::statement> asked;
    std::vector<std::int64_t> tokens;  ///< that were set at each of them
    std::vector<std::int64_t> versions;  ///< that were set
    std::vector<std::string> uppers;     ///< likewise

    od::fault run(od::statement which)
    {
        asked.push_back(which);
        tokens.push_back(token_);
        return next();
    }
    [[nodiscard]] bool found() const { return now_.found; }
    [[nodiscard]] std::int64_t rows() const { return now_.rows; }
    [[nodiscard]] std::int64_t number(od::column which) const { return numbers_[static_cast<std::size_t>(which)]; }
    void set_token(std::int64_t token) { token_ = token; }
    [[nodiscard]] std::string_view text(od::column) const { return now_.name; }
    void set_upper(std::string_view name) { uppers.emplace_back(name); }
    void set_version(std::int64_t version) { versions.push_back(version); }
    [[nodiscard]] std::int64_t time_to_live_us() const { return ttl_us; }
    void set_time_to_live(leasehold::duration ttl) { ttl_us = std::chrono::ceil<std::chrono::microseconds>(ttl).count(); }
    [[nodiscard]] bool single_statement_grant() const { return one_statement; }
    [[nodiscard]] bool purges() const { return has_floor; }
    od::fault check_name_key() const { return key_is; }
    [[nodiscard]] bool tells_time() const { return has_clock; }
    [[nodiscard]] bool looks_at_checkpoint() const { return looks_at_once; }
    [[nodiscard]] bool judges_by_its_clock() const { return has_clock; }
    [[nodiscard]] bool reads_back() const { return !believes; }
    [[nodiscard]] od::failure last_report() const { return {now_.failed, {{}, 0, now_.advice, {}}}; }

protected:
    od::fault next()
    {
        const reply said = replies_.front();
        if (replies_.size() > 1) replies_.pop_front();
        show(said);
        return said.failed;
    }
    void show(const reply& said)
    {
        now_ = said;
        numbers_ = {};
        for (const auto& [column, number] : now_.numbers) numbers_[static_cast<std::size_t>(column)] = number;
    }
    [[nodiscard]] const reply& now() const { return now_; }

private:
    std::deque<reply> replies_;
    reply now_{};
    std::array<std::int64_t, od::number_columns + od::text_columns> numbers_{};
    std::int64_t token_ = 0;
};

/// The heads of the tests of flows.
namespace flows {

using namespace std::chrono_literals;
using od::column;
using od::fault;
using od::statement;
using statements = std::vector<statement>;
using texts = std::vector<std::string>;

}  // namespace flows

}  // namespace leasehold_test

#endif
