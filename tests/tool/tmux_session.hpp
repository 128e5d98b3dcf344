// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_TOOL_TMUX_SESSION_HPP
#define LEASEHOLD_TESTS_TOOL_TMUX_SESSION_HPP

#include <support/child_process.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace leasehold_test {

/// An interactive bash in a terminal of its own: keys go in, and what a person would see comes out.
class tmux_session {
public:
    /// `variables`: as in NAME=value. Throws missing_requirement where there is no tmux.
    tmux_session(const std::filesystem::path& folder, const std::vector<std::string>& variables);
    tmux_session(const tmux_session&) = delete;
    tmux_session& operator=(const tmux_session&) = delete;
    ~tmux_session();

    /// Characters as they are, then Enter.
    void type_line(const std::string& text) { tmux({"send-keys", "-l", text}), key("Enter"); }
    /// As tmux names it: C-c, C-z, q.
    void key(const std::string& name) { tmux({"send-keys", name}); }
    void resize(int width, int height);

    /// What is on the screen, without the blanks at the ends of lines.
    [[nodiscard]] std::string screen() const { return tmux({"capture-pane", "-p"}); }
    /// The same with its colours, as escape sequences.
    [[nodiscard]] std::string coloured_screen() const { return tmux({"capture-pane", "-p", "-e"}); }
    /// Whether the screen comes to have that on it.
    [[nodiscard]] bool shows(const std::string& text, std::chrono::seconds within = std::chrono::seconds{15}) const;
    /// A variable of tmux's own, as in alternate_on.
    [[nodiscard]] std::string variable(const std::string& name) const;

private:
    std::string tmux(std::vector<std::string> arguments) const;

    std::string program_;
    std::filesystem::path socket_;
};

}  // namespace leasehold_test

#endif
