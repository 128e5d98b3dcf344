// SPDX-License-Identifier: BSL-1.0
#ifndef LEADER_DEMO_RECORDS_HPP
#define LEADER_DEMO_RECORDS_HPP

// What the processes of the demo write down, each in a file of its own, and how it is read back. Knows nothing of leases:
// the checker sees no more than this.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace demo {

/// Nanoseconds of the monotonic clock that all processes of one host share.
using instant = std::int64_t;

inline constexpr instant one_second = 1'000'000'000;

enum class event {
    // of a replica; `token` is its term's
    led,           ///< a term began: at, and up to when the guard allows to act: until
    extended,      ///< the same, after a renewal
    worked,        ///< a leader task: from at until until
    stepped_down,  ///< the last act is over, the lease about to be released, by the leader's own choice: at
    stopped,       ///< the same, since the process was asked to stop
    lost,          ///< the guard said that the term is over: at
    // of the conductor; `process` and `token` say which leader
    rules,   ///< the ttl: at, and the safety margin: until
    began,   ///< the demo: at
    killed,  ///< SIGKILL was sent: at; when the database lets somebody else in, as it said just after: until (0: it did not)
    asked    ///< SIGTERM was sent: at
};

struct record {
    event what{};
    std::string process;
    std::int64_t token = 0;
    instant at = 0;
    instant until = 0;

    friend bool operator==(const record&, const record&) = default;
};

/// One line: the five members, with a space between them.
[[nodiscard]] std::string to_line(const record& r);
/// Empty where the line isn't one of to_line()'s.
[[nodiscard]] std::optional<record> from_line(std::string_view line);

/// Appends records to a file. Each is one write() of a whole line, so a killed process leaves only whole lines.
class record_file {
public:
    /// Throws std::system_error.
    explicit record_file(const std::filesystem::path& path);
    record_file(const record_file&) = delete;
    record_file& operator=(const record_file&) = delete;
    ~record_file();

    /// Throws std::system_error.
    void write(const record& r);

private:
    int file_ = -1;
};

/// Reads the records of all files in a folder, also while they grow.
class record_reader {
public:
    explicit record_reader(std::filesystem::path folder) : folder_{std::move(folder)} {}

    /// What was added since the last call, in the order of `at`; a line that isn't whole yet is left for the next call.
    /// Throws std::runtime_error for a line that can't be a record.
    [[nodiscard]] std::vector<record> read();

    static constexpr std::string_view extension = ".records";

private:
    struct source {
        std::filesystem::path path;
        std::size_t read = 0;
    };

    void look_for_files();
    void read_from(source& from, std::vector<record>& into);

    std::filesystem::path folder_;
    std::vector<source> sources_;
};

}  // namespace demo

#endif
