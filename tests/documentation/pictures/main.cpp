// SPDX-License-Identifier: BSL-1.0
// Draws the pictures of docs/ from the library's own code:
//
//     draw_pictures docs/pictures            writes them
//     draw_pictures --check docs/pictures    status 1 if one there is another
#include "checkpoint.hpp"
#include "fencing.hpp"
#include "hand_over.hpp"
#include "hold.hpp"
#include "one_term.hpp"
#include "permits.hpp"
#include "request.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>

int main(int argc, char** argv)
{
    const bool check = argc == 3 && std::string{argv[1]} == "--check";
    if (argc != 2 && !check) {
        std::cerr << "usage: draw_pictures [--check] FOLDER\n";
        return 2;
    }
    const std::filesystem::path folder = argv[argc - 1];
    const std::pair<const char*, std::string (*)()> pictures[] = {
        {"one_term.svg", &pictures::one_term}, {"hand_over.svg", &pictures::hand_over}, {"fencing.svg", &pictures::fencing},
        {"permits.svg", &pictures::permits}, {"request.svg", &pictures::request}, {"checkpoint.svg", &pictures::checkpoint},
        {"hold.svg", &pictures::hold}};
    bool agree = true;
    for (const auto& [name, draw] : pictures) {
        const std::string drawn = draw();
        if (!check) {
            std::ofstream{folder / name} << drawn;
            continue;
        }
        std::ifstream file{folder / name};
        const std::string there{std::istreambuf_iterator<char>{file}, {}};
        if (there == drawn) continue;
        std::cerr << (folder / name).string() << " is not what the library does now; draw it again: draw_pictures docs/pictures\n";
        agree = false;
    }
    return agree ? 0 : 1;
}
