// SPDX-License-Identifier: BSL-1.0
#include "command_path.hpp"

#include "exit_code.hpp"

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include <unistd.h>

namespace tool {

namespace {

int check_file(const std::filesystem::path& file)
{
    std::error_code ec;
    const auto status = std::filesystem::status(file, ec);
    if (!std::filesystem::exists(status)) return exit_code::not_found;
    return std::filesystem::is_directory(status) || ::access(file.c_str(), X_OK) != 0 ? exit_code::not_executable
                                                                                      : exit_code::success;
}

}  // namespace

int check_command(const std::string& command)
{
    if (command.find('/') != std::string::npos) return check_file(command);
    const char* path = std::getenv("PATH");
    if (!path || command.empty())
        return command.empty() ? exit_code::not_found : exit_code::success;  // execvp has a default of its own
    std::istringstream folders{std::string{path} + ":"};  // the last part may be empty, too: this folder
    int found = exit_code::not_found;
    for (std::string folder; std::getline(folders, folder, ':');) {
        const int here = check_file(std::filesystem::path{folder.empty() ? "." : folder} / command);
        if (here == exit_code::success) return here;
        if (here == exit_code::not_executable) found = here;
    }
    return found;
}

}  // namespace tool
