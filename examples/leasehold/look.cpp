// SPDX-License-Identifier: BSL-1.0

// The subcommands that look into the store, or mend it.
#include "checkpoints_view.hpp"
#include "commands.hpp"
#include "duration_text.hpp"
#include "failure.hpp"
#include "fires_view.hpp"
#include "json.hpp"
#include "message.hpp"
#include "opened_store.hpp"
#include "records.hpp"
#include "wait_line.hpp"
#include "wording.hpp"

#include <leasehold/basic_lease.hpp>
#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/detail/fire_book.hpp>
#include <leasehold/fire_record.hpp>
#include <leasehold/lease_semaphore.hpp>
#include <leasehold/semaphore_options.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include <unistd.h>

namespace tool {

namespace {

using namespace std::chrono_literals;

std::optional<lh::lease_record> inspect(opened_store& store, const std::string& name)
{
    return lh::basic_lease{*store, name}.inspect();
}

}  // namespace

int show(const std::string& name, bool json, const asked_store& asked)
{
    lh::validate_name(name);
    opened_store store{choose_store(asked)};
    const auto record = inspect(store, name);
    const auto saved = own_checkpoint(store->checkpoint(name));
    if (json) {
        std::string text = record ? to_json(*record) : "null";
        if (record && saved) text.insert(text.size() - 1, ", " + json_members(*saved));
        std::cout << text << '\n';
        return record ? exit_code::success : exit_code::no;
    }
    if (record)
        std::cout << to_table({*record});
    else
        std::cout << printable(name) << " is free\n";
    if (saved) std::cout << "checkpoint: " << printable(saved->text) << ", saved under token " << saved->token.value() << '\n';
    return record ? exit_code::success : exit_code::no;
}

int list(const list_options& options, const asked_store& asked)
{
    opened_store store{choose_store(asked)};
    if (options.fires) {
        const fire_records records = fires_among(store->checkpoints(options.prefix));
        std::cout << (options.json ? to_json(records) + "\n" : to_table(records));
        if (records.empty() && !options.json)
            tell("nothing has a schedule" + (options.prefix.empty() ? "" : " with a name that begins with " + options.prefix));
        return exit_code::success;
    }
    if (options.checkpoints) {
        const saved_checkpoints saved = own_checkpoints(store->checkpoints(options.prefix));
        std::cout << (options.json ? to_json(saved) + "\n" : to_table(saved));
        if (saved.empty() && !options.json)
            tell("nothing was ever saved" + (options.prefix.empty() ? "" : " for a name that begins with " + options.prefix));
        return exit_code::success;
    }
    const auto records = store->list(options.prefix);
    std::cout << (options.json ? to_json(records) + "\n" : to_table(records));
    if (records.empty() && !options.json)
        tell("nothing is held" + (options.prefix.empty() ? "" : " with a name that begins with " + options.prefix));
    return exit_code::success;
}

int release(const std::string& name, bool force, const asked_store& asked)
{
    lh::validate_name(name);
    if (!force)
        throw failure{
            exit_code::usage,
            "release ends somebody else's lease. That holder's command keeps running until its next renewal, possibly at the"
            " same time as the next holder's, and is then killed. If that is what you want, add --force"};
    opened_store store{choose_store(asked)};
    const auto record = inspect(store, name);
    const bool ended = store->force_release(name);
    if (ended)
        std::cout << printable(name) << " was " << (record ? held_by(*record) : "held") << "; it is now free\n";
    else
        std::cout << printable(name) << " was already free\n";
    return ended ? exit_code::success : exit_code::no;
}

int ask(const std::string& name, const std::string& reason, const asked_store& asked)
{
    lh::validate_name(name);
    lh::validate_reason(reason);
    opened_store store{choose_store(asked)};
    const auto record = inspect(store, name);
    const bool is_hold = record && record->is_hold();
    // Of a hold or a count the store would keep the request, and say that it was made.
    if (is_hold || (record && record->is_count()) || !lh::basic_lease{*store, name}.request_handover(reason)) {
        std::cout << printable(name) << " is " << (is_hold ? held_by(*record) : "held by nobody who could be asked") << '\n';
        return exit_code::no;
    }
    std::cout << printable(name) << " is " << (record ? held_by(*record) : "held") << "; the holder was asked to hand it over\n";
    return exit_code::success;
}

namespace {

/// The part of a text between the commas that stands at that place.
std::string_view part_of(std::string_view text, std::size_t place)
{
    for (; place > 0 && text.find(',') != text.npos; --place) text.remove_prefix(text.find(',') + 1);
    return place > 0 ? std::string_view{} : text.substr(0, text.find(','));
}

/// What the environment says of a leasehold run that this runs under.
struct outer_term {
    std::string owner;
    lh::fencing_token token;
};

/// Nothing: there is none that holds this name.
std::optional<outer_term> outer_term_of(const std::string& name)
{
    const char *const names = std::getenv("LEASEHOLD_NAME"), *const tokens = std::getenv("LEASEHOLD_TOKEN"),
               *const owner = std::getenv("LEASEHOLD_OWNER");
    if (names == nullptr || tokens == nullptr || owner == nullptr) return std::nullopt;
    std::string_view token = tokens;
    if (name != names) {
        std::size_t place = 0;  // of --all
        while (!part_of(names, place).empty() && part_of(names, place) != name) ++place;
        if (part_of(names, place).empty()) return std::nullopt;
        token = part_of(tokens, place);
    }
    std::int64_t value = 0;
    const auto [end, wrong] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (wrong != std::errc{} || end != token.data() + token.size()) return std::nullopt;
    return outer_term{owner, lh::fencing_token{value}};
}

/// The record of fires has to have room beside the text, if the name has a schedule.
void check_length(opened_store& store, const std::string& name, const std::string& text)
{
    if (text.size() <= lh::max_run_checkpoint_bytes) return;
    const auto saved = store->checkpoint(name);
    const bool has_record = saved && lh::detail::with_own_text(saved->text, {}) != "";
    // The first run of a schedule may write its record when it ends.
    if (has_record || (outer_term_of(name) && std::getenv("LEASEHOLD_FIRE") != nullptr))
        throw failure{exit_code::usage, "the checkpoint of " + printable(name) + ", which has a schedule, is longer than the " +
                                            std::to_string(lh::max_run_checkpoint_bytes) + " bytes that are allowed"};
}

/// False: the term is over.
bool save_text(opened_store& store, const std::string& name, std::string_view owner, lh::fencing_token token, const std::string& text)
{
    check_length(store, name, text);
    std::error_code ec;
    const bool saved = lh::detail::save_own_text(*store, name, owner, token, text, ec);
    if (ec == lh::errc::invalid_terms)
        throw failure{exit_code::store,
                      "a later version of leasehold has written the record of " + printable(name) +
                          ", or it is damaged: nothing was saved"};
    if (ec) throw lh::store_error{ec, "save_checkpoint '" + name + "'", store->diagnostics()};
    return saved;
}

int save_under(opened_store& store, const std::string& name, const outer_term& term, const std::string& text)
{
    if (save_text(store, name, term.owner, term.token, text)) return exit_code::success;
    complain("'" + printable(name) + "' is no longer held by the leasehold run that this runs under: nothing was saved");
    return exit_code::lost;
}

int save_in_passing(opened_store& store, const std::string& name, const std::string& text)
{
    lh::basic_lease lease{*store, name};
    auto guard = lease.try_acquire();
    if (guard.empty()) {
        const auto record = inspect(store, name);
        tell("'" + printable(name) + "' is " + (record ? held_by(*record) : "held by somebody else") + ": nothing was saved");
        return exit_code::busy;
    }
    if (save_text(store, name, guard.owner(), guard.token(), text)) return exit_code::success;
    complain("'" + printable(name) + "' was taken away at once: nothing was saved");
    return exit_code::lost;
}

}  // namespace

int checkpoint(const checkpoint_options& options, const asked_store& asked)
{
    lh::validate_name(options.name);
    if (options.save) lh::validate_checkpoint(*options.save);
    opened_store store{choose_store(asked)};
    if (options.save) {
        const auto term = outer_term_of(options.name);
        return term ? save_under(store, options.name, *term, *options.save) : save_in_passing(store, options.name, *options.save);
    }
    const auto saved = store->checkpoint(options.name);
    const auto text = saved ? lh::detail::own_text(saved->text) : std::nullopt;
    if (options.json && text)
        std::cout << "{\"checkpoint\": " << json_string(*text) << ", \"token\": " << saved->token.value() << "}\n";
    else if (options.json)
        std::cout << "null\n";
    else if (text)
        std::cout << (::isatty(STDOUT_FILENO) != 0 ? printable(*text) : *text) << '\n';
    else
        tell("nothing was ever saved for '" + printable(options.name) + "'");
    return text ? exit_code::success : exit_code::no;
}

int resize(const resize_options& options, const asked_store& asked)
{
    opened_store store{choose_store(asked)};
    // The count that there is does not matter, so it need not be known.
    lh::lease_semaphore permits{*store, options.name, options.permits, options.ttl,
                                lh::semaphore_options{.on_other_count = lh::on_other_count::follow}};
    permits.resize(options.permits);
    const auto record = inspect(store, options.name);
    explain("'" + printable(options.name) + "' has " + std::to_string(options.permits) + " permits now" +
            (record ? "; its record says '" + printable(record->owner) + "'" : ""));
    return exit_code::success;
}

int init(bool print, const asked_store& asked)
{
    const chosen_store chosen = choose_store(asked);
    lh::odbc_store store{chosen.connection_string, lh::odbc_options{.table = chosen.table}};
    if (print) {
        for (const std::string& statement : store.schema_sql()) std::cout << statement << ";\n";
        return exit_code::success;
    }
    const lh::store_health before = store.health();
    store.create_schema();
    const std::string table = "the table '" + printable(chosen.table) + "'";
    if (before.error == lh::errc::schema_missing)
        std::cout << "created " << table << '\n';
    else
        std::cout << table << " exists already\n";
    return exit_code::success;
}

namespace {

// Neither a name that is only kept closed, nor the record of a count.
bool has_holder(const std::optional<lh::lease_record>& record)
{
    return record && !record->owner.empty() && !record->is_hold() && !record->is_count();
}

}  // namespace

// Asks, rather than stands in line: who waits for a lease that it doesn't want would only keep others waiting.
int wait(const wait_options& options, const asked_store& asked)
{
    lh::validate_name(options.name);
    constexpr lh::duration between_looks = 250ms;
    opened_store store{choose_store(asked)};
    const lh::steady_clock clock;
    const lh::time_point begun = clock.now();
    wait_line told{{.name = options.name, .held = options.held, .at_most = options.timeout}};
    for (;;) {
        const auto record = inspect(store, options.name);
        if (options.held ? has_holder(record) : !record) return exit_code::success;
        told.seen(record);
        told.draw();
        lh::duration pause = between_looks;
        if (record) pause = std::min(pause, record->remaining + 1ms);
        if (options.timeout) {
            const lh::duration left = *options.timeout - (clock.now() - begun);
            if (left <= lh::duration::zero()) {
                tell("'" + options.name + "' is " + (record ? held_by(*record) : "still free"));
                return exit_code::busy;
            }
            pause = std::min(pause, left);
        }
        std::this_thread::sleep_for(pause);
    }
}

namespace {

// A person who types it is asked; a script says --yes.
bool confirmed(const std::string& question)
{
    if (!::isatty(STDIN_FILENO) || !::isatty(STDERR_FILENO))
        throw failure{exit_code::usage, "can't ask for confirmation here: add --yes"};
    std::cerr << question << " [y/N] " << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "yes";
}

}  // namespace

int purge(const purge_options& options, const asked_store& asked)
{
    if (options.unused_for < lh::min_unused_for) throw failure{exit_code::usage, "--unused-for must be at least 1m"};
    const chosen_store chosen = choose_store(asked);
    opened_store store{chosen};
    const std::string unused = "that nobody has held for " + to_text(options.unused_for);
    const std::string with_fires = options.with_checkpoints ? ", with their checkpoints and last runs," : "";
    if (!options.yes && !confirmed("Remove the names " + unused + with_fires + " from " + shown(chosen.connection_string) + ", table " +
                                   printable(chosen.table) + "?")) {
        tell("nothing was removed");
        return exit_code::no;
    }
    const std::size_t gone = options.with_checkpoints ? store->purge(options.unused_for, lh::with_checkpoints)
                                                      : store->purge(options.unused_for);
    std::cout << gone << (gone == 1 ? " name " : " names ") << unused << (gone == 1 ? " was" : " were") << " removed\n";
    return exit_code::success;
}

}  // namespace tool
