# SPDX-License-Identifier: BSL-1.0
"""What the pictures of runs have in common: the frame of an SVG in light and dark, and to draw one anew or to check it."""
import json
import pathlib
import sys


def opening(width, height, title, light, dark):
    """The lines of an SVG up to its ground. `light` and `dark`: the colour of each class."""
    return [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
            f"<title>{title}</title>", "<style>",
            'text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:#1f2328}', ".small{fill:#59636e}",
            ".on{fill:#fff;font-weight:600}", ".ground{fill:#fff;stroke:#d1d9e0}", ".event{stroke:#59636e;stroke-dasharray:3 3}",
            ".draining{opacity:.45}", *(f".{each}{{fill:{colour}}}" for each, colour in light.items()),
            "@media (prefers-color-scheme:dark){", "text{fill:#e6edf3}", ".small{fill:#9da7b3}", ".on{fill:#fff}",
            ".ground{fill:#0d1117;stroke:#30363d}", ".event{stroke:#9da7b3}",
            *(f".{each}{{fill:{colour}}}" for each, colour in dark.items()), "}",
            "</style>", '<rect class="ground" width="100%" height="100%" rx="8"/>']


def main(arguments, about, record, picture, run, draw):
    """draw [LEASEHOLD | --check]; returns the exit status."""
    if len(arguments) > 1 or arguments in (["-h"], ["--help"]):
        print(about, file=sys.stderr)
        return 2
    check = arguments == ["--check"]
    if arguments and not check:
        found = run(str(pathlib.Path(arguments[0]).resolve()))
        record.write_text("".join(json.dumps(each) + "\n" for each in found), encoding="utf-8")
    drawn = draw([json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()])
    if not check:
        picture.write_text(drawn, encoding="utf-8")
    elif picture.read_text(encoding="utf-8") != drawn:
        print(f"{picture} is not of {record}: draw it again")
        return 1
    return 0
