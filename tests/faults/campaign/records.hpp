// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_RECORDS_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_RECORDS_HPP

// What the processes of a campaign write down, each in a file of its own, and how it is read back. Knows nothing of leases:
// the checker sees no more than this.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace campaign {

/// Nanoseconds of the monotonic clock that all processes of one host share.
using instant = std::int64_t;

inline constexpr instant millisecond = 1'000'000;
inline constexpr instant second = 1000 * millisecond;

[[nodiscard]] instant now() noexcept;

enum class event : std::uint8_t {
    // of a contender; `token` is its term's
    started,    ///< at; detail: how it contends
    call,       ///< one call of the store, from at until until; detail: "acquire:granted", "acquire:queued", "renew:no",
                ///< "release:error:..."; busy: the holder's token, or 0
    won,        ///< held() was seen true for the first time in a term: at; it says that it will hold until until;
                ///< detail: of so many holders it takes the place, "-": of all
    held,       ///< held() was seen true: at; it says that it will hold until until
    over,       ///< held() was seen false without a release: at
    signalled,  ///< the loss was signalled: at
    releasing,  ///< about to release: at
    released,   ///< the release returned, from at until until; detail: "released", "lost", "error:..."
    empty,      ///< a wait that ended without the lease and without an error, from at until until
    failed,     ///< an attempt or a wait that ended with an error, from at until until; detail: which
    stopped,    ///< it ends by itself: at
    asked,      ///< who holds saw that it is asked to hand over: at; detail: "by_hold", or "otherwise"
    closed,     ///< hold() returned, from at until until; detail: "closed", "held_closed", "timed_out", "error:..."
    opened,     ///< unhold() returned, from at until until; detail: "opened", "not_closed", "error:..."
    calling,    ///< a call of the store has begun: at; its ttl: until; detail: "acquire", "renew", "release", ...
    // of a fire; until: the fire, on the store's clock, in nanoseconds since 1970
    fire_begun,       ///< its job was called: at; detail: which attempt
    fire_completing,  ///< it is about to be completed: at
    fire_completed,   ///< complete() returned: at; detail: "yes", "no", "error:..."
    fire_told,        ///< a hook was called: at; detail: "missed", "given_up"
    // of the conductor; `process` is the one that it is about, or "*" for all
    rules,    ///< the ttl: at; the safety margin: until; token: so many may hold at once, 0: one, and tokens tell its terms apart
    limits,   ///< the longest time of a call: at; the longest pause between a waiter's attempts: until
    began,    ///< the campaign: at
    ended,    ///< the faults are over: at
    fault,    ///< from at until until; detail: its kind
    excuse,   ///< from at until until nobody can be expected to get the lease
    outage,   ///< from at until until no call of `process` can have been answered by the database
    frozen,   ///< from at until until `process` was stopped (SIGSTOP)
    killed,   ///< SIGKILL was sent: at
    crashed,  ///< it ended by itself though it should not, or with a status that isn't 0: at; detail: how
    refusal,  ///< from at until until nothing that `process` asked for can have been written; detail: why, or "by_trigger"
    effect,   ///< what a fault did, from at until until: `token` of it; detail: the kind of fault, and of what
    circumstance,  ///< of the whole campaign: `token` of it; detail: what
};

struct record {
    event what{};
    std::string process;
    std::int64_t token = 0;
    instant at = 0;
    instant until = 0;
    std::string detail = "-";
    std::int64_t lease = 0;  ///< which; 0: that of the contenders, less: a part of their right, more: of the crowd
    std::string owner = "-";  ///< of the term that a call is about, if it is a hold; "-": the process

    [[nodiscard]] bool is_of_a_hold() const { return owner != "-"; }

    friend bool operator==(const record&, const record&) = default;
};

/// One line: the eight members, with a space between them.
[[nodiscard]] std::string to_line(const record& r);
/// Empty where the line isn't one of to_line()'s.
[[nodiscard]] std::optional<record> from_line(std::string_view line);

/// Appends records to a file. Each is one write() of a whole line, so a killed process leaves only whole lines. Thread-safe.
class record_file {
public:
    /// Throws std::system_error.
    explicit record_file(const std::filesystem::path& path);
    record_file(const record_file&) = delete;
    record_file& operator=(const record_file&) = delete;
    ~record_file();

    /// Throws std::system_error.
    void write(const record& r) const;

private:
    int file_ = -1;
};

inline constexpr std::string_view records_extension = ".records";

/// All records of a folder, in the order of `at`. Throws std::runtime_error for a line that is no record.
[[nodiscard]] std::vector<record> read_records(const std::filesystem::path& folder);

/// The last whole record of a file; empty where there is none.
[[nodiscard]] std::optional<record> last_record(const std::filesystem::path& path);

}  // namespace campaign

#endif
