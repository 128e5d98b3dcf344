// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_SCREEN_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_SCREEN_HPP

#include <cstddef>
#include <string>
#include <vector>

#include <termios.h>

namespace tool {

/// The terminal's other screen, for drawing on; the destructor gives back the one with the user's own lines.
class screen {
public:
    screen();
    screen(const screen&) = delete;
    screen& operator=(const screen&) = delete;
    ~screen();

    struct extent {
        std::size_t width;
        std::size_t height;
    };
    [[nodiscard]] extent size() const noexcept;

    /// All in one write, over what is there, so that nothing flickers.
    void show(const std::vector<std::string>& lines) const;

    /// Gives the terminal back and takes it again: around a suspension.
    void leave() noexcept;
    void enter() noexcept;

private:
    termios before_{};
    bool has_modes_ = false;
};

}  // namespace tool

#endif
