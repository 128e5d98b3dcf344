// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_RESULTS_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_RESULTS_HPP

#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace leasehold_test {

/// What a benchmark measured, as tab-separated lines (program, subject, measure, value), for tables and plots.
class results {
public:
    /// Adds to `file`; an empty name: to none.
    results(std::string_view program, const std::string& file) : program_{program}
    {
        if (file.empty()) return;
        out_.open(file, std::ios::app);
        if (!out_) throw std::runtime_error{"cannot write " + file};
        out_.precision(6);
    }

    void add(std::string_view subject, std::string_view measure, double value)
    {
        if (out_.is_open()) out_ << program_ << '\t' << subject << '\t' << measure << '\t' << value << std::endl;
    }

private:
    std::string program_;
    std::ofstream out_;
};

}  // namespace leasehold_test

#endif
