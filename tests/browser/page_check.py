#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page_check.py [INDEX.HTML...] - the page in headless Chromium.

Every sample page, and each page given, is opened at 1280 and 400 pixels: no
sideways scrolling, no message on the console, nothing loaded, and what script
adds works (page_check.js).  With script off all text is still visible.
--shots DIR keeps screenshots, light and dark, for people to look at.
"""
import argparse
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
         "--enable-logging=stderr", "--force-color-profile=srgb"]
WIDTHS = (1280, 400)
TRIES = 5


def chromium(page, width, height, *flags):
    """Return Chromium's output and the messages on the page's console."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        run = subprocess.run(
            ["chromium", *FLAGS, f"--user-data-dir={profile}",
             f"--window-size={width},{height}", *flags, page.as_uri()],
            capture_output=True, text=True, timeout=300, check=False)
    console = re.findall(r"CONSOLE[^\]]*\] (.*)", run.stderr)
    return run.stdout, console


FRAME = """<!DOCTYPE html><meta charset="utf-8"><body>
<iframe src="{name}" width="{width}" height="900" style="border: 0"></iframe>
<script>
addEventListener("message", event => {{
	const result = document.createElement("pre");
	result.textContent = event.data;
	document.body.append(result);
}});
</script></body>"""


def framed(page, width):
    """Open @page in a frame @width wide, as windows are never below 500.
    Return what its check sent, and the messages on the console.  On a busy
    machine Chromium may give up before there is anything."""
    frame = page.with_name("frame.html")
    frame.write_text(FRAME.format(name=page.name, width=width),
                     encoding="utf-8")
    for _ in range(TRIES):
        dom, console = chromium(frame, 1400, 1000,
                                "--virtual-time-budget=3000", "--dump-dom")
        found = re.search(r"<pre>(.*?)</pre>", dom, re.S)
        if found:
            break
    result = html.unescape(found[1]) if found else "the check did not run"
    return result, [f"console: {line}" for line in console]


def with_script(page, scratch):
    """Put the checks at the end of a copy of @page."""
    text = page.read_text(encoding="utf-8")
    script = (HERE / "page_check.js").read_text(encoding="utf-8")
    copy = scratch / "checked.html"
    copy.write_text(text.replace(
        "</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    return copy


def without_script(page, scratch):
    """What is left where a policy blocks inline script."""
    text = page.read_text(encoding="utf-8")
    copy = scratch / "noscript.html"
    copy.write_text(re.sub(r"<script>.*?</script>", "", text, flags=re.S),
                    encoding="utf-8")
    return copy


def check_live(page, width, scratch):
    result, console = framed(with_script(page, scratch), width)
    faults = [] if result == f"ok at {width}" else result.splitlines()
    return faults + console


VISIBLE = """<script>
const hidden = [...document.querySelectorAll("main h2, main h3, main td, " +
	"main th, main svg, main .note, main .tiles dd")].filter(node =>
	!node.getClientRects().length && !node.closest("details"));
parent.postMessage(hidden.length + " hidden, " +
	document.querySelectorAll("button").length + " buttons, " +
	(document.documentElement.scrollWidth <= innerWidth ? "fits " : "exceeds ") + innerWidth, "*");
</script></body>"""


def check_plain(page, width, scratch):
    plain = without_script(page, scratch)
    plain.write_text(plain.read_text(encoding="utf-8")
                     .replace("</body>", VISIBLE), encoding="utf-8")
    result, console = framed(plain, width)
    good = f"0 hidden, 0 buttons, fits {width}"
    faults = [] if result == good else [f"without script: {result}"]
    return faults + console


def shoot(page, directory, name, scratch):
    directory.mkdir(parents=True, exist_ok=True)
    text = page.read_text(encoding="utf-8")
    for theme in ("light", "dark"):
        copy = scratch / "themed.html"
        copy.write_text(re.sub(r'data-theme="[a-z]*"',
                               f'data-theme="{theme}"', text, count=1),
                        encoding="utf-8")
        for width, height in ((1280, 4200), (400, 7000)):
            shot = directory / f"{name}-{width}-{theme}.png"
            chromium(copy, width, height, f"--screenshot={shot}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", type=pathlib.Path,
                        default=ROOT / "build/release/tests/sample_pages")
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    parser.add_argument("--shots", type=pathlib.Path)
    arguments = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        subprocess.run([arguments.tool.resolve(), scratch], check=True)
        pages = sorted(scratch.glob("*/index.html"))
        for page in pages + [page.resolve() for page in arguments.pages]:
            for check in (check_live, check_plain):
                for width in WIDTHS:
                    faults = check(page, width, scratch)
                    passed, failed = passed + (not faults), failed + bool(faults)
                    for fault in faults[:20]:
                        print(f"{page.parent.name} at {width}: {fault}")
            if arguments.shots:
                shoot(page, arguments.shots.resolve(), page.parent.name,
                      scratch)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
