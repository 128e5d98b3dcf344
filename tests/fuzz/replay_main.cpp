// SPDX-License-Identifier: BSL-1.0
// Runs each check on the files of its folder, without libFuzzer, so with any compiler:
//
//     fuzz_replay CORPUS            every target, on the files of CORPUS/TARGET
//     fuzz_replay TARGET FILE...    one target, on files or on folders of them
#include "targets.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(const fs::path& place)
{
    if (!fs::is_directory(place)) return {place};
    std::vector<fs::path> files;
    for (const auto& each : fs::directory_iterator{place}) files.push_back(each.path());
    std::sort(files.begin(), files.end());
    return files;
}

std::string content_of(const fs::path& file)
{
    std::ifstream in{file, std::ios::binary};
    if (!in) throw std::runtime_error{"can't read " + file.string()};
    return {std::istreambuf_iterator<char>{in}, {}};
}

// Says which input it is before it is tried: a sanitizer ends the process.
std::size_t replay(const fuzz::target& target, const fs::path& place)
{
    const std::vector<fs::path> files = files_in(place);
    for (const fs::path& file : files) {
        std::cout << target.name << ": " << file.string() << std::endl;
        // A copy of exactly that size: AddressSanitizer sees a read behind its end.
        const std::string content = content_of(file);
        const std::vector<char> exact(content.begin(), content.end());
        target.check({exact.data(), exact.size()});
    }
    return files.size();
}

int replay_corpus(const fs::path& corpus)
{
    std::size_t inputs = 0;
    for (const fuzz::target& each : fuzz::targets) {
        const std::size_t its = replay(each, corpus / each.name);
        if (its == 0) throw std::runtime_error{"there is no input in " + (corpus / each.name).string()};
        inputs += its;
    }
    std::cout << inputs << " inputs of " << fuzz::targets.size() << " targets broke no rule\n";
    return 0;
}

int usage()
{
    std::cerr << "Usage: fuzz_replay CORPUS | fuzz_replay TARGET FILE...\nTargets:";
    for (const fuzz::target& each : fuzz::targets) std::cerr << ' ' << each.name;
    std::cerr << '\n';
    return 2;
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        const std::vector<std::string> arguments{argv + 1, argv + argc};
        if (arguments.size() == 1 && fs::is_directory(arguments.front())) return replay_corpus(arguments.front());
        if (arguments.size() < 2) return usage();
        for (const fuzz::target& each : fuzz::targets) {
            if (each.name != arguments.front()) continue;
            for (std::size_t i = 1; i < arguments.size(); ++i) replay(each, arguments[i]);
            return 0;
        }
        return usage();
    } catch (const std::exception& error) {
        std::cerr << "fuzz_replay: " << error.what() << '\n';
        return 1;
    }
}
