// SPDX-License-Identifier: BSL-1.0
#ifndef LEADER_DEMO_TIMELINE_HPP
#define LEADER_DEMO_TIMELINE_HPP

#include "records.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace demo {

enum class colour { plain, dim, red, green, yellow };

/// What is shown as it happens: lines that stay, and on a terminal a last one that is written over.
class timeline {
public:
    explicit timeline(instant began);
    ~timeline();
    timeline(const timeline&) = delete;
    timeline& operator=(const timeline&) = delete;

    void line(instant at, std::string_view who, std::string_view what, colour in = colour::plain);
    /// Only on a terminal: what happens now, until the next line.
    void now(instant at, std::string_view who, std::string_view what);
    /// Takes the line that now() has written away.
    void clear();

private:
    [[nodiscard]] std::string text(instant at, std::string_view who, std::string_view what) const;

    instant began_;
    bool terminal_;
    bool coloured_;
    bool drawn_ = false;
};

/// "token 3   remaining 1.05 s  [#################---]"; `whole` is what a full bar stands for.
[[nodiscard]] std::string token_and_remaining(std::int64_t token, instant remaining, instant whole);

/// "0.25 s"
[[nodiscard]] std::string seconds(instant time);

}  // namespace demo

#endif
