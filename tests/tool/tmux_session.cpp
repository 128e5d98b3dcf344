// SPDX-License-Identifier: BSL-1.0
#include <tool/tmux_session.hpp>

#include <support/environment.hpp>
#include <support/eventually.hpp>

#include <stdexcept>

namespace leasehold_test {

tmux_session::tmux_session(const std::filesystem::path& folder, const std::vector<std::string>& variables)
    : program_{find_program({"tmux"}).string()}, socket_{folder / "tmux"}
{
    std::vector<std::string> start{"-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "24", "env"};
    start.insert(start.end(), variables.begin(), variables.end());
    for (const char* word : {"PS1=ready> ", "bash", "--norc", "--noprofile", "-i"}) start.emplace_back(word);
    tmux(start);
    tmux({"set-option", "-g", "default-terminal", "xterm-256color"});
    if (!shows("ready>")) throw std::runtime_error{"no prompt: " + screen()};
}

tmux_session::~tmux_session()
{
    try {
        tmux({"kill-server"});
    } catch (const std::exception&) {
        // it has ended with its last shell
    }
}

std::string tmux_session::tmux(std::vector<std::string> arguments) const
{
    arguments.insert(arguments.begin(), {program_, "-S", socket_.string(), "-u"});
    // The first one leaves the server behind, which is to live.
    child_process client{
        arguments, {.environment = {{"TERM", "xterm-256color"}, {"LC_ALL", "C.UTF-8"}, {"TMUX", ""}}, .capture = true}};
    std::string out = client.read_all();
    if (!client.wait().success()) throw std::runtime_error{"tmux " + arguments[4] + " failed: " + out};
    return out;
}

void tmux_session::resize(int width, int height)
{
    tmux({"resize-window", "-x", std::to_string(width), "-y", std::to_string(height)});
}

bool tmux_session::shows(const std::string& text, std::chrono::seconds within) const
{
    return eventually([&] { return screen().find(text) != std::string::npos; }, within, std::chrono::milliseconds{50});
}

std::string tmux_session::variable(const std::string& name) const
{
    std::string value = tmux({"display-message", "-p", "#{" + name + "}"});
    while (!value.empty() && value.back() == '\n') value.pop_back();
    return value;
}

}  // namespace leasehold_test
