#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benchmark itself works; no time is judged.  Last line: N passed, ..."""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import measure  # noqa: E402
import workloads  # noqa: E402

HERE = workloads.HERE
TOOLS = os.path.join(workloads.ROOT, "build/bench")
SECOND_PROCESS = "(setsid sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done' &)"

passed = failed = 0


def check(name, ok, detail=""):
    global passed, failed
    passed += bool(ok)
    failed += not ok
    if not ok:
        print(f"FAILED {name}: {detail}")


def run_tracer(*options):
    return subprocess.run([os.path.join(HERE, "tracer"), *options], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_list():
    done = run_tracer("--list")
    check("--list names every workload", done.returncode == 0 and
          all(f"  {name}" in done.stdout for name in workloads.WORKLOADS),
          done.stdout + done.stderr)
    done = run_tracer("--workload", "nothing")
    check("an unknown workload is refused", done.returncode == 1 and
          "no workload 'nothing'" in done.stderr, done.stderr)


def test_cells(work):
    """One round of the recursion, with the cases that need no other package."""
    path = os.path.join(work, "bench.json")
    done = run_tracer("--quick", "--rounds", "1", "--workload", "recursion",
                      "--case", "memprof", "--case", "memprof-nofree",
                      "--json", path)
    check("one round runs", done.returncode == 0, done.stderr)
    if done.returncode:
        return
    check("tables are printed", "## recursion" in done.stdout and
          "## Goals" in done.stdout, done.stdout)
    with open(path) as text:
        result = json.load(text)["workloads"]["recursion"]
    check("events are counted", result["events"] >= 50000 and
          result["events_lost"] == 0, str(result))
    check("the cases are those asked for", list(result["cases"]) ==
          ["untraced", "memprof", "memprof-nofree"], str(list(result["cases"])))
    for name, case in result["cases"].items():
        # A program may end before its own peak is looked at.
        wanted = ["wall_s", "cpu_s", "rss_all"]
        if name != "untraced":
            wanted += ["trace_bytes_per_pair"]
            # On a busy machine the untraced round may be the slower one.
            check(f"{name}: differences", all(
                isinstance(case[cell]["median"], float)
                for cell in ("wall_ns_each", "cpu_ns_each")), str(case))
        check(f"{name}: cells", all(case[cell]["median"] > 0 for cell in wanted),
              str(case))


def test_report(work):
    """One round of one report, beside heaptrack's where that is installed."""
    path = os.path.join(work, "report.json")
    done = subprocess.run(
        [os.path.join(HERE, "report"), "--quick", "--workload", "recursion",
         "--json", path], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    check("reports are measured", done.returncode == 0, done.stderr)
    if done.returncode:
        return
    check("tables of reports are printed", "## recursion" in done.stdout and
          "## Goals" in done.stdout and "M ev./s" in done.stdout, done.stdout)
    with open(path) as text:
        result = json.load(text)["workloads"]["recursion"]
    own = result["reports"]["memprof"]
    check("cells of a report", result["events"] >= 50000 and
          own["wall_s"]["median"] > 0 and own["cpu_s"]["median"] > 0 and
          own["rate"]["median"] > 0, str(own))


def test_orphan(work):
    """A process that nobody waits for counts, and is waited for."""
    path = os.path.join(work, "watch")
    subprocess.run([os.path.join(TOOLS, "watch"), path, "0", "sh", "-c",
                    SECOND_PROCESS + "; exit 3"], check=True)
    run = measure.read_watch(path, "/bin/sh")
    check("status of the command", run.failure == "exit status 3", str(run))
    check("CPU time of an orphan", run.cpu_s > 0.01, str(run))
    check("end of an orphan", run.wall_all_s > run.wall_s, str(run))


def main():
    with tempfile.TemporaryDirectory() as work:
        test_list()
        test_cells(work)
        test_report(work)
        test_orphan(work)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
