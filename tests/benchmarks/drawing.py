# SPDX-License-Identifier: BSL-1.0
"""How the charts look: light and dark, with text that stays text. Needs matplotlib (Debian: python3-matplotlib)."""
import os
import sys

try:
    import matplotlib
except ModuleNotFoundError:
    # A python3 that comes first in the path need not be the one that Debian's package is for.
    if sys.executable == "/usr/bin/python3" or not os.path.exists("/usr/bin/python3"):
        print("SKIPPED: there is no matplotlib (Debian: python3-matplotlib)")
        sys.exit(77)
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

matplotlib.use("svg")
from matplotlib import pyplot, ticker  # noqa: E402

# What the charts are drawn with, and the name of the variable that it becomes, so that they can be read on a dark page.
COLOURS = {"ink": ("#1f2328", "#e6edf3"), "faint": ("#59636f", "#9da7b4"), "grid": ("#d1d9e1", "#3d444e"), "ground": ("#fffffe", "#0d1118"),
           "a": ("#0969db", "#58a6fe"), "b": ("#9a6701", "#d2991f"), "c": ("#1a7f38", "#3fb951"), "d": ("#8250de", "#ab7df9")}
INK, FAINT, GRID, GROUND = (COLOURS[name][0] for name in ("ink", "faint", "grid", "ground"))
CREATOR = f"matplotlib {matplotlib.__version__}"

pyplot.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "leasehold", "font.size": 11, "axes.titlesize": 12, "axes.titlelocation": "left", "text.color": INK,
    "axes.labelcolor": FAINT, "axes.edgecolor": GRID, "xtick.color": FAINT, "ytick.color": FAINT, "grid.color": GRID, "axes.grid": True,
    "axes.axisbelow": True, "axes.facecolor": GROUND, "figure.facecolor": GROUND, "savefig.facecolor": GROUND, "legend.frameon": False,
    "axes.spines.top": False, "axes.spines.right": False, "figure.constrained_layout.use": True})


def save(figure, title, path, description=None):
    metadata = {"Title": title, "Date": None, "Creator": CREATOR} | ({"Description": description} if description else {})
    figure.savefig(path, metadata=metadata)
    pyplot.close(figure)
    text = path.read_text(encoding="utf-8")
    for name, (light, _) in COLOURS.items():
        text = text.replace(light, f"var(--{name})")
    variables = [";".join(f"--{name}:{pair[which]}" for name, pair in COLOURS.items()) for which in (0, 1)]
    style = f"<style>:root{{{variables[0]}}}@media(prefers-color-scheme:dark){{:root{{{variables[1]}}}}}</style>"
    text = text.replace("<defs>", style + "\n <defs>", 1).replace("'DejaVu Sans'", "system-ui").replace("DejaVu Sans", "system-ui")
    path.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n", encoding="utf-8")
