// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_FAULTS_ENDURANCE_SAMPLES_HPP
#define LEASEHOLD_TESTS_FAULTS_ENDURANCE_SAMPLES_HPP

#include <support/belongings.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include <malloc.h>

namespace endurance {

/// What a process has between two faults.
struct sample {
    leasehold_test::belongings has;
    std::size_t heap_kb = 0;  // allocated and not freed
    std::size_t sessions = 0;
    std::size_t hanging_calls = 0;
};

/// All of them, and whether they grow.
///
/// A fault leaves any number of connections, each with hundreds of kB in the driver, and of calls that hang, each with a thread: some
/// are still there when the process is looked at. So the least is compared that each half was down to. What leaks is in that, too: the
/// process is never down from it. The first quarter is left out, since it is for what is made once. A short run has few samples, and
/// one of them may be of the moment when all connections were gone: so there what is usual in the earlier half is compared.
class samples {
public:
    sample take(std::size_t sessions, std::size_t hanging_calls)
    {
        const struct mallinfo2 heap = ::mallinfo2();
        all_.push_back({leasehold_test::belongings::now(), (heap.uordblks + heap.hblkhd) / 1024, sessions, hanging_calls});
        return all_.back();
    }

    /// To judge by.
    [[nodiscard]] bool too_few() const { return all_.size() < fewest; }

    /// In words; empty: nothing has.
    [[nodiscard]] std::string what_has_grown() const
    {
        if (too_few()) return "too few faults to judge by: " + std::to_string(all_.size());
        std::string grown;
        for (const figure& each : figures()) {
            if (each.late() > each.early() + each.allowance)
                grown +=
                    std::string{each.name} + " grew from " + std::to_string(each.early()) + " to " + std::to_string(each.late()) + ". ";
        }
        return grown;
    }

    [[nodiscard]] std::string table() const
    {
        if (too_few()) return {};
        std::string lines = "                              early            late\n";
        for (const figure& each : figures()) {
            char line[128];
            std::snprintf(line, sizeof line, "  %-18s %14zu  %14zu\n", each.name, each.early(), each.late());
            lines += line;
        }
        return lines;
    }

private:
    static constexpr std::size_t fewest = 8;

    struct figure {
        const char* name;
        std::vector<std::size_t> values;
        std::size_t allowance;

        [[nodiscard]] std::size_t early() const
        {
            const auto half = sorted(values.size() / 4, values.size() * 5 / 8);
            return half[half.size() < few ? half.size() / 2 : 0];
        }
        [[nodiscard]] std::size_t late() const { return sorted(values.size() * 5 / 8, values.size()).front(); }

    private:
        static constexpr std::size_t few = 16;

        [[nodiscard]] std::vector<std::size_t> sorted(std::size_t from, std::size_t to) const
        {
            std::vector<std::size_t> part{values.begin() + static_cast<std::ptrdiff_t>(from),
                                          values.begin() + static_cast<std::ptrdiff_t>(to)};
            std::ranges::sort(part);
            return part;
        }
    };

    [[nodiscard]] std::vector<figure> figures() const
    {
        const auto of = [&](const char* name, std::size_t allowance, auto value) {
            figure made{name, {}, allowance};
            for (const sample& each : all_) made.values.push_back(value(each));
            return made;
        };
        // A connection that is replaced costs some kB in drivers and their libraries.
        return {of("heap, kB", 2'000, [](const sample& s) { return s.heap_kb; }),
                of("resident, kB", 20'000, [](const sample& s) { return s.has.resident_kb; }),
                of("threads", 6, [](const sample& s) { return static_cast<std::size_t>(s.has.threads); }),
                of("files", 18, [](const sample& s) { return static_cast<std::size_t>(s.has.files); }),
                of("sessions", 6, [](const sample& s) { return s.sessions; }),
                of("calls that hang", 2, [](const sample& s) { return s.hanging_calls; })};
    }

    std::vector<sample> all_;
};

}  // namespace endurance

#endif
