# SPDX-License-Identifier: BSL-1.0
"""Pictures of figures, as SVG that reads on a light and on a dark page."""
import math


def number(value, unit="", digits=None):
    if value is None:
        return "–"
    if value == 0:
        return "0" + unit
    if digits is None:
        digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}{unit}"


STYLE = """<style>
text{font:13px system-ui,sans-serif;fill:#1f2328}.quiet{fill:#59636e}.grid{stroke:#d1d9e0}.axis{stroke:#59636e}
.a{fill:#0969da;stroke:#0969da}.b{fill:#9a6700;stroke:#9a6700}.c{fill:#1a7f37;stroke:#1a7f37}.d{fill:#8250df;stroke:#8250df}
polyline{fill:none!important;stroke-width:2}.dashed{stroke-dasharray:3 4}.bar{stroke:none}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.quiet{fill:#9198a1}.grid{stroke:#3d444d}.axis{stroke:#9198a1}
.a{fill:#4493f8;stroke:#4493f8}.b{fill:#d29922;stroke:#d29922}.c{fill:#3fb950;stroke:#3fb950}.d{fill:#ab7df8;stroke:#ab7df8}}
.label{stroke:none!important}
</style>"""


def svg(width, height, title, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
            f"<title>{title}</title>{STYLE}{''.join(parts)}</svg>\n")


def bars(title, groups, unit):
    """groups: (label, [(name, class, value)]); on a logarithmic scale."""
    values = [value for _, each in groups for _, _, value in each if value]
    if not values:
        return None
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    left, width, row = 130, 720, 18
    scale = (width - left - 120) / (high - low)
    parts, y = [f'<text x="10" y="20">{title}</text>'], 44
    for power in range(low, high + 1):
        x = left + (power - low) * scale
        parts.append(f'<text class="quiet" x="{x:.0f}" y="{y - 4}" text-anchor="middle">{10.0 ** power:g} {unit}</text>')
    top = y
    for label, each in groups:
        y += 8
        parts.append(f'<text x="10" y="{y + row * len(each) / 2 + 4:.0f}">{label}</text>')
        for name, kind, value in each:
            if value:
                length = (math.log10(value) - low) * scale
                parts.append(f'<rect class="bar {kind}" x="{left}" y="{y + 2}" width="{length:.0f}" height="{row - 4}" rx="2"/>'
                             f'<text x="{left + length + 6:.0f}" y="{y + row - 5}">{number(value)} {unit} <tspan class="quiet">{name}</tspan></text>')
            y += row
    lines = [f'<line class="grid" x1="{left + (p - low) * scale:.0f}" x2="{left + (p - low) * scale:.0f}" y1="{top}" y2="{y + 4}"/>'
             for p in range(low, high + 1)]
    return svg(width + 110, y + 14, title, parts[:1] + lines + parts[1:])


def curves(title, across, series):
    """series: (name, class, [(x, y)]); x on a logarithmic scale, y from 0."""
    points = [point for _, _, each in series for point in each]
    if not points:
        return None
    width, height, left, top = 720, 330, 60, 40
    xs = sorted({x for x, _ in points})
    step = 10 ** math.floor(math.log10(max(y for _, y in points)))
    most = math.ceil(max(y for _, y in points) / step) * step
    if most / step < 4:
        step /= 2
    span = math.log(xs[-1] / xs[0]) or 1

    def at(x, y):
        return left + math.log(x / xs[0]) / span * (width - left - 40), height - 50 - y / most * (height - 50 - top)

    parts = [f'<text x="10" y="20">{title}</text>']
    for i in range(int(most / step) + 1):
        _, y = at(xs[0], i * step)
        parts.append(f'<line class="grid" x1="{left}" x2="{width - 40}" y1="{y:.0f}" y2="{y:.0f}"/>'
                     f'<text class="quiet" x="{left - 8}" y="{y + 4:.0f}" text-anchor="end">{i * step:,g}</text>')
    for x in xs:
        px, py = at(x, 0)
        parts.append(f'<text class="quiet" x="{px:.0f}" y="{py + 18:.0f}" text-anchor="middle">{x:,}</text>')
    parts.append(f'<text class="quiet" x="{(left + width) / 2:.0f}" y="{height - 12}" text-anchor="middle">{across}</text>')
    ends = []
    for name, kind, each in series:
        if not each:
            continue
        places = [at(x, y) for x, y in each]
        parts.append(f'<polyline class="{kind}" points="{" ".join(f"{x:.0f},{y:.0f}" for x, y in places)}"/>')
        parts += [f'<circle class="{kind}" cx="{x:.0f}" cy="{y:.0f}" r="3"/>' for x, y in places]
        ends.append([places[-1][1], places[-1][0], name, kind])
    ends.sort()
    for i, end in enumerate(ends):  # names one below the other where curves end together
        if i and end[0] < ends[i - 1][0] + 16:
            end[0] = ends[i - 1][0] + 16
        parts.append(f'<text class="label {end[3]}" x="{end[1] + 8:.0f}" y="{end[0] + 4:.0f}">{end[2]}</text>')
    return svg(width + 60, height, title, parts)


def panel(left, top, title, across, unit, labels, series):
    """One of several pictures in one: both scales logarithmic. series: (name, class, [(x, y)]); labels: of x, where not itself."""
    width, height, margin = 330, 200, 52
    points = [point for _, _, each in series for point in each]
    if not points:
        return []
    xs = sorted({x for x, _ in points})
    low = math.floor(math.log10(min(y for _, y in points)))
    high = max(low + 1, math.ceil(math.log10(max(y for _, y in points))))

    def at(x, y):
        return (left + margin + math.log(x / xs[0]) / (math.log(xs[-1] / xs[0]) or 1) * (width - margin),
                top + 30 + (1 - (math.log10(y) - low) / (high - low)) * (height - 30))

    parts = [f'<text x="{left}" y="{top + 12}">{title}</text>']
    for power in range(low, high + 1):
        y = at(xs[0], 10.0 ** power)[1]
        parts.append(f'<line class="grid" x1="{left + margin}" x2="{left + width}" y1="{y:.0f}" y2="{y:.0f}"/><text class="quiet" '
                     f'x="{left + margin - 6}" y="{y + 4:.0f}" text-anchor="end">{10.0 ** power:,g}{" " + unit if power == high else ""}</text>')
    for x in xs:
        label = labels.get(x, f"{x // 1_000_000}M" if x >= 1_000_000 else f"{x // 1000}k" if x >= 10_000 else f"{x:,}")
        parts.append(f'<text class="quiet" x="{at(x, 10.0 ** low)[0]:.0f}" y="{top + height + 18}" text-anchor="middle">{label}</text>')
    parts.append(f'<text class="quiet" x="{left + (margin + width) / 2:.0f}" y="{top + height + 36}" text-anchor="middle">{across}</text>')
    ends = []
    for name, kind, each in series:
        places = [at(x, y) for x, y in each]
        if places:
            parts.append(f'<polyline class="{kind}" points="{" ".join(f"{x:.0f},{y:.0f}" for x, y in places)}"/>')
            parts += [f'<circle class="{kind}" cx="{x:.0f}" cy="{y:.0f}" r="2.5"/>' for x, y in places]
            ends.append([places[-1][1], name, kind])
    return parts + names_beside(left + width + 8, ends)


def names_beside(x, ends):
    """Of curves, at their ends: one below the other where these are close together."""
    ends.sort()
    parts = []
    for i, end in enumerate(ends):
        if i and end[0] < ends[i - 1][0] + 15:
            end[0] = ends[i - 1][0] + 15
        parts.append(f'<text class="label {end[2]}" x="{x:.0f}" y="{end[0] + 4:.0f}">{end[1]}</text>')
    return parts


def four_panels(title, panels):
    """Two by two of what panel() takes after its place."""
    parts = []
    for i, each in enumerate(panels):
        parts += panel(14 + 470 * (i % 2), 44 + 270 * (i // 2), *each)
    return svg(950, 580, title, [f'<text x="14" y="22">{title}</text>'] + parts) if parts else None
