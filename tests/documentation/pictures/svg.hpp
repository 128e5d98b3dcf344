// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_SVG_HPP
#define LEASEHOLD_TESTS_DOCUMENTATION_PICTURES_SVG_HPP

#include <sstream>
#include <string>

namespace pictures {

/// A drawing of lanes along time. Colours are classes, so that the file serves light and dark alike.
class svg {
public:
    svg(double width, double height, const std::string& title) : width_{width}, height_{height}, title_{title} {}

    void rectangle(const std::string& kind, double x, double y, double width, double height)
    {
        body_ << "<rect class=\"" << kind << "\" x=\"" << x << "\" y=\"" << y << "\" width=\"" << width << "\" height=\"" << height
              << "\" rx=\"3\"/>\n";
    }

    void line(const std::string& kind, double x1, double y1, double x2, double y2)
    {
        body_ << "<path class=\"" << kind << "\" d=\"M" << x1 << ' ' << y1 << "L" << x2 << ' ' << y2 << "\"/>\n";
    }

    /// `anchor`: start, middle or end.
    void text(const std::string& kind, double x, double y, const std::string& words, const std::string& anchor = "start")
    {
        body_ << "<text class=\"" << kind << "\" x=\"" << x << "\" y=\"" << y << "\" text-anchor=\"" << anchor << "\">" << words
              << "</text>\n";
    }

    void dot(const std::string& kind, double x, double y)
    {
        body_ << "<circle class=\"" << kind << "\" cx=\"" << x << "\" cy=\"" << y << "\" r=\"4\"/>\n";
    }

    void cross(const std::string& kind, double x, double y)
    {
        line(kind, x - 3.5, y - 3.5, x + 3.5, y + 3.5);
        line(kind, x - 3.5, y + 3.5, x + 3.5, y - 3.5);
    }

    /// What comes down from one lane into the lane of the store, and is taken or refused there. `y`: the top of that lane, 30 high.
    void arrival(double x, double from, double y, bool taken, const std::string& words)
    {
        line(taken ? "thin" : "failed", x, from, x, y + 15);
        if (taken)
            dot("asked", x, y + 15);
        else
            cross("failed", x, y + 15);
        text(taken ? "small" : "bad", x, y + 50, words, "middle");
    }

    /// A measure between two instants, with its words beside or above.
    void measure(double x1, double x2, double y)
    {
        line("thin", x1, y, x2, y);
        line("thin", x1, y - 5, x1, y + 5);
        line("thin", x2, y - 5, x2, y + 5);
    }

    [[nodiscard]] std::string str() const
    {
        std::ostringstream out;
        out << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << width_ << ' ' << height_ << "\" width=\"" << width_
            << "\" height=\"" << height_ << "\" role=\"img\">\n<title>" << title_ << "</title>\n<style>" << style << "</style>\n"
            << "<rect class=\"ground\" width=\"100%\" height=\"100%\" rx=\"8\"/>\n"
            << body_.str() << "</svg>\n";
        return out.str();
    }

private:
    static constexpr const char* style = R"(
text{font:15px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:#1f2328}
.small{font-size:13px;fill:#59636e}
.on{fill:#fff}
.bad{fill:#b3261e}
.ground{fill:#fff;stroke:#d1d9e0}
.holds{fill:#0b63c5}
.next{fill:#1a7f37}
.store{fill:#d9dee4}
.waits{fill:none;stroke:#6e7781;stroke-width:1.5;stroke-dasharray:4 3}
.paused{fill:#f3d9a4}
.thin{stroke:#59636e;stroke-width:1.2;fill:none}
.edge{stroke:#59636e;stroke-width:1.2;stroke-dasharray:3 3;fill:none}
.asked{fill:#1f2328;stroke:#fff}
.failed{stroke:#b3261e;stroke-width:2;fill:none}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}
.small{fill:#9da7b3}
.on{fill:#fff}
.bad{fill:#ff8a80}
.ground{fill:#0d1117;stroke:#30363d}
.holds{fill:#1f6feb}
.next{fill:#238636}
.store{fill:#30363d}
.waits{stroke:#8b949e}
.paused{fill:#5c4813}
.thin,.edge{stroke:#9da7b3}
.asked{fill:#e6edf3;stroke:#0d1117}
.failed{stroke:#ff8a80}
}
)";

    double width_;
    double height_;
    std::string title_;
    std::ostringstream body_;
};

}  // namespace pictures

#endif
