#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Whether docs/pictures/dashboard.svg is the picture of docs/dashboard.json: it was drawn of these queries, and each panel is in it."""
import sys
import xml.etree.ElementTree

sys.dont_write_bytecode = True
from panels import DASHBOARD, PICTURE, description, panels  # noqa: E402

AGAIN = "draw it again: tests/documentation/dashboard/draw LEASEHOLD --seconds 600"


def problems():
    picture = xml.etree.ElementTree.parse(PICTURE).getroot()
    drawn_of = picture.find(".//{http://purl.org/dc/elements/1.1/}description")
    if drawn_of is None or drawn_of.text.splitlines() != description().splitlines():
        yield f"{PICTURE} is not of {DASHBOARD} as it is now"
    texts = [text for element in picture.iter("{http://www.w3.org/2000/svg}text") for text in element.itertext()]
    for panel in panels():
        if panel["title"] not in texts:
            yield f"{PICTURE} has no panel {panel['title']}"
    if not panels():
        yield f"{DASHBOARD} has no panel"


if __name__ == "__main__":
    found = list(problems())
    print(*found, *([AGAIN] if found else []), sep="\n", end="")
    sys.exit(1 if found else 0)
