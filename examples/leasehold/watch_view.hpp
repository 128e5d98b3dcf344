// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_WATCH_VIEW_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_WATCH_VIEW_HPP

#include "watch_model.hpp"

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace tool {

/// What a screen is to show, and how large it is.
struct watch_view {
    const watch_model& model;
    const std::deque<std::string>& events;  ///< latest last
    std::string title;
    std::string trouble{};  ///< why the table may be old
    std::size_t width = 80;
    std::size_t height = 24;
    bool colour = true;
};

/// The screen's lines: at most `height`, none wider than `width`. A pure function of what it is given.
[[nodiscard]] std::vector<std::string> draw(const watch_view& view, leasehold::time_point now);

/// `width` columns, filled in eighths of one.
[[nodiscard]] std::string bar(leasehold::duration part, leasehold::duration whole, std::size_t width);

}  // namespace tool

#endif
