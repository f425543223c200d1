#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""memory.py - --memory is kept, and what does not fit is sorted in a file.

Traces of tests/tools/big_trace.c; the peak of the resident memory is what the
kernel says of the ended process.
"""
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("MEMPROF_BUILD", "build/release")
REPORT = BUILD / "memprof-report"
MIB = 1 << 20
# Code and data of the program and its libraries, and what malloc() itself needs.
CONSTANT = 28 * MIB

passed = failed = 0


def check(good, what):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print(f"FAILED: {what}")


def run(*arguments, env=None):
    """Return: exit status, peak of the resident memory, standard error."""
    with tempfile.TemporaryFile() as errors:
        # Kept: an object that goes away may wait for its process itself.
        process = subprocess.Popen([REPORT, *arguments], stderr=errors,
                                   stdout=subprocess.DEVNULL,
                                   env={**os.environ, **(env or {})})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read().decode()
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024, text


def make_trace(work, name, events, blocks):
    path = work / name
    subprocess.run([BUILD / "tests/big_trace", "-n", str(events),
                    "-b", str(blocks), path], check=True,
                   stdout=subprocess.DEVNULL)
    return path


def files_in(directory):
    """Return: what the files there hold, by path; None if it is not there."""
    if not directory.exists():
        return None
    return {path: path.read_bytes() for path in directory.rglob("*")
            if path.is_file()}


def test_limit_kept(work, trace):
    """Whatever the limit, the run keeps it or says what needs how much."""
    outcomes = set()
    old = work / "old"
    old.mkdir()
    (old / "index.html").write_text("of before")
    purposes = set()
    for mib in (16, 20, 24, 32, 40, 48, 64, 96, 128, 256):
        out = work / f"limit{mib}"
        status, peak, text = run("--quiet", f"--memory={mib}MiB", "-o", out,
                                 trace)
        outcomes.add(status)
        check(peak <= mib * MIB + CONSTANT,
              f"--memory {mib}MiB: peak {peak / MIB:.1f} MiB")
        check(status in (0, 2), f"--memory {mib}MiB: status {status}")
        if status == 2:
            said = re.search(
                r"--memory \S+ MiB is not enough for ([^:]+): "
                r"(at .* of the run, )?[\d,]+ live blocks? take .* more were "
                r"needed; allow at least (\d+)MiB, or ask for less .*; no "
                r"report was written", text)
            check(said and int(said[3]) > mib,
                  f"--memory {mib}MiB: message {text!r}")
            purposes.add(said and said[1])
            check(files_in(out) is None, f"--memory {mib}MiB leaves files")
            before = files_in(old)
            run("--quiet", f"--memory={mib}MiB", "-o", old, trace)
            check(files_in(old) == before,
                  f"--memory {mib}MiB changes the report of before")
        else:
            left = [path for path in files_in(out)
                    if path.name.endswith(".tmp")]
            check(out / "index.html" in files_in(out) and not left,
                  f"--memory {mib}MiB: {left}")
    check(outcomes == {0, 2}, f"limits of both kinds were tried: {outcomes}")
    check("reading" in purposes and len(purposes) > 1,
          f"refused in several phases: {purposes}")


def test_view_refused(work, trace):
    """One artifact of which half was written when memory ended is none."""
    out = work / "view.json"
    status, _, text = run("--as", "flamegraph", "--memory=16MiB", "-o", out,
                          trace)
    check(status == 2 and "is not enough" in text and not out.exists(),
          f"a view: status {status}, {text!r}")


def test_bounded(work, short, long):
    """Twenty times the events, the same live blocks: the same memory."""
    _, peak_short, _ = run("--quiet", "-o", work / "short", short)
    _, peak_long, _ = run("--quiet", "-o", work / "long", long)
    check(peak_long < peak_short + 12 * MIB,
          f"peak grows: {peak_short / MIB:.1f} to {peak_long / MIB:.1f} MiB")


def test_history(work, short, long):
    """The same of what lists every allocation in the order of time."""
    peaks = []
    for trace in (short, long):
        status, peak, text = run("--quiet", "--as", "heaptrack", "-o",
                                 work / "x.heaptrack.zst", trace)
        check(status == 0, f"a file for heaptrack: {text}")
        peaks.append(peak)
    check(peaks[1] < peaks[0] + 12 * MIB,
          f"heaptrack: {peaks[0] / MIB:.1f} to {peaks[1] / MIB:.1f} MiB")


def rows(work, name, trace, *arguments, env=None):
    out = work / name
    status, peak, text = run("--quiet", *arguments, "-o", out, trace, env=env)
    return status, peak, text, out


def test_rows(work, trace):
    """All rows, in memory and in a file: equal, and sorted."""
    view = "sort_by=size&order=dsc&lifetime=only_temporary"
    ask = ("--view", view, "--as", "allocations")
    status, _, text, whole = rows(work, "whole.json", trace, *ask)
    check(status == 0, f"rows: {text}")
    status, peak, text, spilled = rows(work, "spilled.json", trace, *ask,
                                       "--memory=24MiB")
    check(status == 0, f"rows in a file: {text}")
    check(peak <= 24 * MIB + CONSTANT, f"rows: peak {peak / MIB:.1f} MiB")
    if status == 0:
        check(whole.read_bytes() == spilled.read_bytes(),
              "rows sorted in a file differ")
        items = json.loads(spilled.read_text())["allocations"]
        keys = [(-row["size"], row["id"]) for row in items]
        check(len(keys) > 100000 and keys == sorted(keys),
              "rows are not in order")
    for skip, count in ((0, 10), (150000, 7), (10**9, 5)):
        parts = [rows(work, "part.csv", trace, "--view",
                      f"{view}&skip={skip}&count={count}", "--as",
                      "allocations.csv", *more)[3].read_bytes()
                 for more in ((), ("--memory=24MiB",))]
        check(parts[0] == parts[1], f"skip={skip}&count={count} differs")


LINES = """
#include <stdlib.h>
static void *volatile block;
int main(void)
{
    block = malloc(100);
    __asm__ volatile(".rept 60000\\n.loc 1 1\\nnop\\n.loc 1 2\\nnop\\n.endr");
    return 0;
}
"""


def test_debug_information(work):
    """The lines of one unit take megabytes at once: the library that reads them
    ends the process when it gets no memory."""
    (work / "lines.c").write_text(LINES)
    subprocess.run(["cc", "-g", "-o", work / "lines", work / "lines.c"],
                   check=True)
    trace = work / "lines.dat"
    subprocess.run([BUILD / "memprof-record", "-q", "-o", trace,
                    work / "lines"], check=True)
    outcomes = set()
    for mib in (16, 18, 20, 22, 24, 26, 28, 32, 256):
        out = work / f"lines{mib}"
        status, _, text = run("--quiet", f"--memory={mib}MiB", "-o", out, trace)
        outcomes.add(status)
        check((status, files_in(out) is None, "is not enough" in text) in
              ((0, False, False), (2, True, True)),
              f"many lines, --memory {mib}MiB: status {status}, {text!r}")
    check(outcomes == {0, 2}, f"many lines: status {outcomes}")


def test_no_directory(work, trace):
    status, _, text, _ = rows(work, "none.json", trace, "--as", "allocations",
                              "--memory=24MiB",
                              env={"TMPDIR": "/nowhere/at/all"})
    check(status == 2 and "/nowhere/at/all: " in text,
          f"no TMPDIR: status {status}, {text!r}")


def test_signal(work, trace):
    """A killed run leaves nothing in TMPDIR.  Nobody reads what it writes, so
    that it waits with its file there."""
    directory = work / "tmp"
    directory.mkdir()
    for number in (signal.SIGTERM, signal.SIGKILL):
        process = subprocess.Popen(
            [REPORT, "--quiet", "--as", "allocations", "--memory=24MiB", trace],
            stdout=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(directory)})
        spilled = False
        while process.poll() is None and not spilled:
            links = pathlib.Path(f"/proc/{process.pid}/fd").iterdir()
            try:
                spilled = any(str(directory) in os.readlink(link)
                              for link in links)
            except OSError:
                pass
            time.sleep(0.001)
        process.send_signal(number)
        process.wait()
        process.stdout.close()
        check(spilled, f"signal {number}: no file in TMPDIR was seen")
        check(not list(directory.iterdir()), f"signal {number} leaves a file")


def on_terminal(*arguments):
    """Return: what appears on a terminal."""
    text = b""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(REPORT, [str(REPORT), *map(str, arguments)])
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    os.waitpid(pid, 0)
    os.close(terminal)
    return text.decode()


def test_progress(work, trace):
    ask = ("--as", "summary", "-o", work / "summary.json", trace)
    text = on_terminal(*ask)
    check(re.search(r"reading: [\d.]+ [KM]iB of [\d.]+ [KM]iB", text),
          f"progress: {text!r}")
    check(text.endswith("\r\x1b[K"), "the line of progress stays")
    check(on_terminal("--quiet", *ask) == "", "--quiet on a terminal")
    check(run(*ask)[2] == "", "progress without a terminal")
    check("reading" in run("--verbose", *ask)[2], "--verbose")


def main():
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        short = make_trace(work, "short.dat", 400000, 100000)
        long = make_trace(work, "long.dat", 8000000, 100000)
        narrow = make_trace(work, "narrow.dat", 400000, 10000)
        test_limit_kept(work, short)
        test_view_refused(work, short)
        test_bounded(work, short, long)
        test_history(work, short, long)
        test_rows(work, narrow)
        test_debug_information(work)
        test_no_directory(work, narrow)
        test_signal(work, narrow)
        test_progress(work, long)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
