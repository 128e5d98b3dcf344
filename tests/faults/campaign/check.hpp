// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_CHECK_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_CHECK_HPP

#include "history.hpp"
#include "records.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace campaign {

/// Of one kind of fault.
struct kind_figures {
    int count = 0;
    int errors = 0;                ///< calls that began and ended in it, with an error
    instant time = 0;              ///< that it lasted, all together
    instant longest_gap = 0;       ///< longest time without a holder that it was part of
    instant longest_recovery = 0;  ///< the same without what is excused, as while there was no database
};

/// Of so many hundredths of them; 0 where there are none.
[[nodiscard]] inline instant of_100(const std::vector<instant>& sorted, std::size_t hundredths)
{
    return sorted.empty() ? 0 : sorted[std::min(sorted.size() - 1, sorted.size() * hundredths / 100)];
}

struct call_figures {
    int count = 0;
    int beyond_limit = 0;  ///< took longer than the call's time and a tenth of a second, though its process wasn't stopped
    instant longest = 0;
    std::map<std::string, int> answers{};
};

/// Of times for which the name was held closed.
struct hold_figures {
    int certain = 0;                    ///< of which hold() told
    int asked = 0;                      ///< holders that saw that they were asked to hand over
    int grants_inside = 0;              ///< to contenders, while the name was closed for certain
    std::map<std::string, int> told{};  ///< the answers of hold() and unhold()
    std::vector<instant> waits{};       ///< of hold(), where nothing hit its operator, or all; sorted
    std::vector<instant> openings{};    ///< from each end of a hold to the next term, where nothing hit all; sorted
};

/// Of fires; each is counted once.
struct fire_figures {
    int begun = 0;
    int begun_again = 0;        ///< more than once
    int completed = 0;          ///< for certain
    int perhaps_completed = 0;  ///< by a call that had no answer, or an error
    int given_up_untold = 0;
    std::map<std::string, int> told{};  ///< by the hooks, and by complete()
    std::vector<instant> lateness{};    ///< from when it was due until it was completed; sorted
};

struct figures {
    std::string database;
    instant length = 0;
    int terms = 0;
    int overlaps = 0;
    int tokens_out_of_order = 0;
    int busy_in_outage = 0;
    int written_in_refusal = 0;  ///< calls that claim to have written while nothing could be written
    int calls_in_outage = 0;  ///< that answered with an error, as they should
    int lost_too_early = 0;   ///< renewals and releases that were told that the term is over, before its deadline
    int crashes = 0;
    instant latest_signal = 0;  ///< of a loss, after the deadline
    int signals = 0;
    instant longest_gap = 0;
    std::vector<instant> hand_overs{};  ///< from each release to the next term, where no fault came between; sorted
    std::vector<instant> hand_overs_after_cut_off{};  ///< those of them in the ten seconds after a host was cut off; sorted
    instant held = 0;  ///< all the time somebody was seen to hold
    std::map<std::string, kind_figures> faults{};
    std::map<std::string, call_figures> calls{};
    hold_figures holds{};
    fire_figures fires{};
    recorded_history history{};     ///< of the contenders' lease
    double seconds_to_decide = 0;   ///< whether it is linearizable
    int leases = 0;  ///< beside the one of the contenders
    instant longest_gap_of_those = 0;
    std::map<std::string, std::int64_t> circumstances{};
    std::map<std::string, std::pair<int, std::int64_t>> effects{};  ///< how often, and the greatest
    /// What is wrong; empty: nothing.
    std::vector<std::string> objections{};
};

/// Detail of the circumstance that is how many shards there were. Where there is none, the contenders contended for something else.
inline constexpr const char* shards_detail = "shards";

/// Judges the records of one campaign, in the order of `at`, each lease by itself, and each shard. Shares no code with the library.
[[nodiscard]] figures judge(const std::vector<record>& records);

void print(const figures& what);

/// Judges the records in a folder, prints what it found, and says whether there is nothing to object.
/// Throws std::runtime_error for a file that doesn't hold records. `histories`: the history of the contenders' lease is written to
/// these files, as JSON lines (.jsonl) or EDN (.edn).
[[nodiscard]] bool check(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& histories = {});

/// Whether such a file's name says its format.
[[nodiscard]] bool is_history_file(const std::filesystem::path& path);

/// Judges a history in JSON lines, and prints what it found. Throws std::runtime_error for a file that doesn't hold one.
[[nodiscard]] bool check_history_file(const std::filesystem::path& path);

}  // namespace campaign

#endif
