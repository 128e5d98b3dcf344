# SPDX-License-Identifier: BSL-1.0
"""What docs/dashboard.json says: its panels, and their queries."""
import json
import pathlib
import re

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"
DASHBOARD = DOCS / "dashboard.json"
PICTURE = DOCS / "pictures" / "dashboard.svg"


def panels():
    return json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]


def unit(panel):
    return panel["fieldConfig"]["defaults"]["unit"]


def query(target, leases):
    """As Grafana sends it where these leases are chosen."""
    return target["expr"].replace("$lease", "|".join(leases))


def legend(target, labels):
    return re.sub(r"\{\{(\w+)\}\}", lambda name: labels.get(name.group(1), ""), target["legendFormat"])


def description():
    """One line a panel with all that decides how it is drawn. A picture carries it, and so tells which dashboard it is of."""
    def line(panel):
        queries = [[target["expr"], target["legendFormat"]] for target in panel["targets"]]
        return json.dumps([panel["title"], panel["type"], unit(panel), panel["gridPos"], queries])

    return "\n".join(map(line, panels()))
