// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_NOTING_STORE_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_NOTING_STORE_HPP

#include "parts.hpp"
#include "records.hpp"

#include <leasehold/checkpoint_record.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/odbc/detail/driver/errors.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/store/name_holding.hpp>
#include <leasehold/store_diagnostics.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace campaign {

inline std::string word_for(std::error_code ec)
{
    if (ec.category() != leasehold::lease_category()) return "error:" + std::string{ec.category().name()} + std::to_string(ec.value());
    switch (static_cast<leasehold::errc>(ec.value())) {
    case leasehold::errc::store_unavailable: return "error:unavailable";
    case leasehold::errc::store_timeout: return "error:timeout";
    case leasehold::errc::store_conflict: return "error:conflict";
    case leasehold::errc::schema_missing: return "error:schema_missing";
    case leasehold::errc::store_failure: return "error:failure";
    case leasehold::errc::held_closed: return "held_closed";
    default: return "error:" + std::to_string(ec.value());
    }
}

/// Of a hold: its own digits, as in "held closed 5f3a9c2b41d07e88: migration". "-": of no hold.
inline std::string word_for_owner(std::string_view owner)
{
    constexpr std::string_view before = "held closed ";
    if (!owner.starts_with(before)) return "-";
    return "hold_" + std::string{owner.substr(before.size(), owner.find(':') - before.size())};
}

/// Writes every call of the store down, as seen from outside: begin, end, answer. A batch is as many calls, but for the crowd's.
/// A hold is made by calls that are written down too.
template <class Store>
class noting_store : public leasehold::name_holding<noting_store<Store>> {
public:
    noting_store(Store& store, std::string process, part_names parts, const record_file& records)
        : store_{store}, process_{std::move(process)}, parts_{std::move(parts)}, records_{records}
    {
    }

    /// Of all leases, and noted as of that one.
    void create_schema(std::string_view lease, std::error_code& ec)
    {
        const instant begin = calling("create_schema", lease, 0, {});
        store_.create_schema(ec);
        note("create_schema", lease, 0, begin, ec, "yes");
    }

    leasehold::acquire_result try_acquire(std::string_view name, std::string_view owner, leasehold::duration ttl, std::error_code& ec)
    {
        const instant begin = calling("acquire", name, 0, ttl, owner);
        const leasehold::acquire_result result = store_.try_acquire(name, owner, ttl, ec);
        note("acquire", name, result.token.value(), begin, ec, result.granted() ? "granted" : "busy", owner);
        return result;
    }
    bool renew(std::string_view name, std::string_view owner, leasehold::fencing_token token, leasehold::duration ttl, std::error_code& ec)
    {
        const instant begin = calling("renew", name, token.value(), ttl);
        const bool yes = store_.renew(name, owner, token, ttl, ec);
        note("renew", name, token.value(), begin, ec, yes ? "yes" : "no");
        return yes;
    }
    bool release(std::string_view name, std::string_view owner, leasehold::fencing_token token, leasehold::duration min_hold_left,
                 std::error_code& ec)
    {
        const instant begin = calling("release", name, token.value(), {}, owner);
        const bool yes = store_.release(name, owner, token, min_hold_left, ec);
        note("release", name, token.value(), begin, ec, yes ? "yes" : "no", owner);
        return yes;
    }
    void acquire_many(std::span<const leasehold::term_request> requests, std::size_t most,
                      std::span<std::optional<leasehold::acquire_result>> answers, std::error_code& ec)
    {
        std::vector<instant> begun;
        for (const auto& each : requests) begun.push_back(calling("acquire", each.name, 0, each.ttl));
        store_.acquire_many(requests, most, answers, ec);
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const auto& said = answers[i];
            const bool tried = !said || said->granted() || said->token.value() != 0 || said->remaining > leasehold::duration::zero();
            note("acquire", requests[i].name, said ? said->token.value() : 0, begun[i], said ? std::error_code{} : ec,
                 !tried ? "untried" : said && said->granted() ? "granted" : "busy");
        }
    }
    void renew_many(std::span<const leasehold::term_renewal> renewals, std::span<leasehold::batch_answer> answers,
                    leasehold::duration within, std::error_code& ec)
    {
        if (is_of_the_crowd(renewals.front().name)) {
            const instant begin = now();
            store_.renew_many(renewals, answers, within, ec);
            return note_many("renew_many", renewals.front().name, answers, begin, ec);
        }
        std::vector<instant> begun;
        for (const auto& each : renewals) begun.push_back(calling("renew", each.name, each.token.value(), each.ttl));
        store_.renew_many(renewals, answers, within, ec);
        for (std::size_t i = 0; i < renewals.size(); ++i)
            note("renew", renewals[i].name, renewals[i].token.value(), begun[i], answers[i], ec);
    }
    void release_many(std::span<const leasehold::term_release> releases, std::span<leasehold::batch_answer> answers, std::error_code& ec)
    {
        if (is_of_the_crowd(releases.front().name)) {
            const instant begin = now();
            store_.release_many(releases, answers, ec);
            return note_many("release_many", releases.front().name, answers, begin, ec);
        }
        std::vector<instant> begun;
        for (const auto& each : releases) begun.push_back(calling("release", each.name, each.token.value(), {}));
        store_.release_many(releases, answers, ec);
        for (std::size_t i = 0; i < releases.size(); ++i)
            note("release", releases[i].name, releases[i].token.value(), begun[i], answers[i], ec);
    }
    [[nodiscard]] std::size_t batch_size() const noexcept { return store_.batch_size(); }
    std::optional<leasehold::lease_record> inspect(std::string_view name, std::error_code& ec)
    {
        const instant begin = now();
        std::optional<leasehold::lease_record> found = store_.inspect(name, ec);
        // Of parts, which share records, it is left out.
        if (parts_.number_of(name) == 0)
            note("inspect", name, found ? found->token.value() : 0, begin, ec, found ? "held" : "free", found ? found->owner : "");
        return found;
    }
    bool publish(std::string_view name, std::string_view owner, leasehold::fencing_token token, std::string_view data, std::error_code& ec)
    {
        return store_.publish(name, owner, token, data, ec);
    }
    bool request_handover(std::string_view name, std::string_view reason, std::error_code& ec)
    {
        const instant begin = now();
        const bool yes = store_.request_handover(name, reason, ec);
        note("ask", name, 0, begin, ec, yes ? "yes" : "no");
        return yes;
    }
    std::optional<std::string> handover_requested(std::string_view name, std::string_view owner, leasehold::fencing_token token,
                                                  std::error_code& ec)
    {
        return store_.handover_requested(name, owner, token, ec);
    }
    std::vector<leasehold::lease_record> list(std::string_view prefix, std::error_code& ec)
    {
        const instant begin = now();
        std::vector<leasehold::lease_record> found = store_.list(prefix, ec);
        note("list", prefix, static_cast<std::int64_t>(found.size()), begin, ec, "seen");
        return found;
    }
    bool save_checkpoint(std::string_view name, std::string_view owner, leasehold::fencing_token token, std::string_view text,
                         std::error_code& ec)
    {
        return saved(name, token, ec, [&] { return store_.save_checkpoint(name, owner, token, text, ec); });
    }
    bool replace_checkpoint(std::string_view name, std::string_view owner, leasehold::fencing_token token, std::string_view replaced,
                            std::string_view text, std::error_code& ec)
    {
        return saved(name, token, ec, [&] { return store_.replace_checkpoint(name, owner, token, replaced, text, ec); });
    }
    std::optional<leasehold::checkpoint_record> checkpoint(std::string_view name, std::error_code& ec)
    {
        const instant begin = now();
        std::optional<leasehold::checkpoint_record> found = store_.checkpoint(name, ec);
        note("checkpoint", name, found ? found->token.value() : 0, begin, ec, "seen");
        return found;
    }
    leasehold::checkpoint_look look_at_checkpoint(std::string_view name, std::error_code& ec)
    {
        const instant begin = now();
        leasehold::checkpoint_look found = store_.look_at_checkpoint(name, ec);
        note("look", name, found.latest.value(), begin, ec, "seen");
        return found;
    }
    leasehold::store_time now(std::error_code& ec) { return store_.now(ec); }
    [[nodiscard]] leasehold::poll_pauses pauses() const noexcept { return store_.pauses(); }
    [[nodiscard]] auto enqueue(std::string_view name, leasehold::waker& to_wake) { return store_.enqueue(name, to_wake); }
    leasehold::acquire_result try_acquire(leasehold::queue_ticket auto& ticket, std::string_view owner, leasehold::duration ttl,
                                          std::error_code& ec)
    {
        const instant begin = calling("acquire", ticket.name(), 0, ttl, owner);
        const leasehold::acquire_result result = store_.try_acquire(ticket, owner, ttl, ec);
        const bool queued = result.status == leasehold::acquire_status::queued;
        // Without a remaining time it is not told that somebody holds the lease: the store prefers one who has waited longer.
        const bool told = result.granted() || result.remaining > leasehold::duration::zero();
        note("acquire", ticket.name(), told ? result.token.value() : 0, begin, ec,
             queued             ? "queued"
             : result.granted() ? "granted"
                                : "busy",
             owner);
        return result;
    }
    [[nodiscard]] leasehold::store_diagnostics diagnostics() const { return store_.diagnostics(); }

private:
    static instant now() noexcept { return campaign::now(); }

    template <class Save>
    bool saved(std::string_view name, leasehold::fencing_token token, std::error_code& ec, Save save)
    {
        const instant begin = now();
        const bool yes = save();
        note("save", name, token.value(), begin, ec, yes ? "yes" : "no");
        return yes;
    }

    // What a process that is killed had begun must be known: it may have been carried out. The crowd's calls are not judged one by one.
    instant calling(const char* operation, std::string_view lease, std::int64_t token, leasehold::duration ttl, std::string_view owner = {})
    {
        const instant begin = now();
        if (!is_of_the_crowd(lease))
            records_.write(
                {event::calling, process_, token, begin, ttl.count(), operation, parts_.number_of(lease), word_for_owner(owner)});
        return begin;
    }

    void note(const char* operation, std::string_view lease, std::int64_t token, instant begin, std::error_code ec,
              const char* answer, std::string_view owner = {})
    {
        const instant end = now();
        std::string detail = std::string{operation} + ":" + (ec ? word_for(ec) : answer);
        if (ec) {
            const leasehold::store_diagnostics said = store_.diagnostics();
            const bool coded = said.sqlstate != "HY000" && !said.sqlstate.empty();
            // What the library has no words for is told apart by what the server said.
            if (ec == leasehold::errc::store_failure)
                detail += ":" + (coded ? std::string{said.sqlstate} : std::to_string(said.native_error));
            // A release whose first answer was lost: the database is there, and shows a later term.
            if (said.advice == leasehold::odbc::detail::advice::overtaken) detail += ":overtaken";
            read_once(detail + ": " + std::string{said.sqlstate} + " " + std::to_string(said.native_error) + " " +
                      said.server_message);
        }
        records_.write({event::call, process_, token, begin, end, detail, parts_.number_of(lease), word_for_owner(owner)});
    }

    void note(const char* operation, std::string_view lease, std::int64_t token, instant begin, leasehold::batch_answer said,
              std::error_code ec)
    {
        const bool known = said != leasehold::batch_answer::unknown;
        note(operation, lease, token, begin, known ? std::error_code{} : ec, said == leasehold::batch_answer::yes ? "yes" : "no");
    }

    // `token` of a batch is how many had an answer.
    void note_many(const char* operation, std::string_view first, std::span<const leasehold::batch_answer> answers, instant begin,
                   std::error_code ec)
    {
        const auto answered = std::ranges::count_if(answers, [](auto each) { return each != leasehold::batch_answer::unknown; });
        const bool refused = std::ranges::find(answers, leasehold::batch_answer::no) != answers.end();
        note(operation, first, answered, begin, ec, refused ? "no" : "yes");
    }

    // Each message once, in the file of outputs.
    void read_once(const std::string& message)
    {
        const std::lock_guard lock{reading_};
        if (read_.insert(message).second) std::cerr << process_ + " " + message + "\n";
    }

    Store& store_;
    std::string process_;
    part_names parts_;
    const record_file& records_;
    std::mutex reading_;
    std::set<std::string> read_;
};

}  // namespace campaign

#endif
