#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""figures_check.py [DRAW_FIGURES] - SVG figures in headless Chromium.

The sample figures are opened as files of their own and inside a page, 1280
and 400 pixels wide, and driven by figures_check.js.  Nothing may be written to
the console.
"""
import html
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
         "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--hide-scrollbars",
         "--enable-logging=stderr", "--virtual-time-budget=4000"]
TRIES = 5
FRAME = """<!DOCTYPE html><meta charset="utf-8"><body>
<iframe src="{name}" width="{width}" height="900" style="border: 0"></iframe>
<script>
addEventListener("message", event => {{
	document.documentElement.dataset.result = event.data;
}});
</script></body>"""


def instrumented(path):
    """Add the checks to the end of a copy of @path."""
    text = path.read_text(encoding="utf-8")
    script = (HERE / "figures_check.js").read_text(encoding="utf-8")
    end = "</html>" if path.suffix == ".html" else "</svg>"
    if end == "</svg>":
        script = f"<![CDATA[{script}]]>"
    head, tail = text.rsplit(end, 1)
    copy = path.with_name("checked-" + path.name)
    copy.write_text(f"{head}<script>{script}</script>{end}{tail}",
                    encoding="utf-8")
    return copy


def open_page(page, width):
    """Return what the checks found, and what the console says.  On a busy machine
    Chromium may give up before they have run."""
    for _ in range(TRIES):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            run = subprocess.run(
                ["chromium", *FLAGS, f"--user-data-dir={profile}",
                 f"--window-size={width},900", "--dump-dom", page.as_uri()],
                capture_output=True, text=True, timeout=300, check=False)
        found = re.search(r'data-result="([^"]*)"', run.stdout)
        if found:
            break
    result = html.unescape(found[1]) if found else "the checks did not run"
    return result, re.findall(r"CONSOLE[^\]]*\] (.*)", run.stderr)


def check(path, width):
    """Return what is wrong."""
    page = instrumented(path)
    if width < 500:  # windows do not get that narrow
        frame = path.with_name("frame.html")
        frame.write_text(FRAME.format(name=page.name, width=width),
                         encoding="utf-8")
        page, width = frame, 800
    result, console = open_page(page, width)
    faults = [] if result.startswith("ok ") else result.splitlines()
    return faults + [f"console: {line}" for line in console]


def main():
    tool = sys.argv[1] if len(sys.argv) > 1 else str(
        ROOT / "build/release/tests/draw_figures")
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([tool, scratch], check=True)
        for name in ("small.flamegraph.svg", "run.timeline.svg",
                     "some.sizes.svg", "some.lifetimes.svg", "page.html"):
            for width in (1280, 400):
                faults = check(pathlib.Path(scratch) / name, width)
                passed += not faults
                failed += bool(faults)
                for fault in faults:
                    print(f"{name} at {width}: {fault}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
