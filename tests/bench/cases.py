# SPDX-License-Identifier: MIT
"""The tracers that are compared, and how a user starts each of them."""
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field

GIB = 1 << 30
# heaptrack 1.4's interpreter can grow until the machine has no memory left.
HEAPTRACK_LIMIT_BYTES = 6 * GIB


@dataclass
class Case:
    """prefix(folder): what stands before the program's command."""
    name: str
    label: str
    prefix: callable = lambda folder: []
    env: dict = field(default_factory=dict)
    missing: str = None  # why it cannot be measured
    address_space_bytes: int = 0
    heaptrack: bool = False

    def command(self, folder, program):
        return self.prefix(folder) + program

    def failure(self, log):
        """heaptrack's status is the program's, even if nothing was recorded."""
        if not self.heaptrack or "heaptrack stats:" in log:
            return None
        reason = re.search(r"what\(\): *(.*)", log)
        return "its interpreter ended" + (f": {reason[1]}" if reason else "")


def snapshot_tracer(build, folder):
    """Copies the tracer, so that a rebuild meanwhile changes nothing."""
    os.makedirs(folder)
    for name in ("libmemprof.so", "memprof-record", "memprof-report"):
        shutil.copy2(os.path.join(build, name), folder)
    return folder


def memprof_cases(tracer):
    def prefix(*options):
        return lambda folder: [
            os.path.join(tracer, "memprof-record"), "--quiet", *options,
            "-o", os.path.join(folder, "trace.dat"), "--"]
    return [
        Case("memprof", "memprof", prefix()),
        Case("memprof-nofree", "memprof, no free stacks",
             prefix("--no-free-stacks")),
        Case("memprof-libunwind", "memprof, libunwind", prefix(),
             env={"MEMORY_PROFILER_USE_SHADOW_STACK": "0"}),
    ]


def heaptrack_case(name, script):
    """@script: heaptrack's own, or None if there is none."""
    if not script:
        return Case(name, "heaptrack", heaptrack=True,
                    missing="not installed (package heaptrack)")
    version = subprocess.run([script, "--version"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, text=True).stdout.strip()
    text = subprocess.run([script, "--help"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True).stdout
    # Without it the script opens the result in heaptrack_gui, if there is one.
    options = ["--record-only"] if "--record-only" in text else []
    return Case(name, version or "heaptrack", heaptrack=True,
                address_space_bytes=HEAPTRACK_LIMIT_BYTES,
                prefix=lambda folder: [script, *options, "-o",
                                       os.path.join(folder, "trace.ht")])


def heaptrack_cases(named):
    """Debian's, and those of @named, paths separated by ':'."""
    cases = [heaptrack_case("heaptrack", shutil.which("heaptrack"))]
    for i, path in enumerate(filter(None, named.split(":")), 2):
        if not os.access(path, os.X_OK) or os.path.isdir(path):
            raise ValueError(f"HEAPTRACK: {path} is not a program")
        cases.append(heaptrack_case(f"heaptrack-{i}", os.path.abspath(path)))
    labels = [case.label for case in cases]
    for i, case in enumerate(cases):
        if case.label in labels[:i]:
            case.label += f" ({case.name})"
    return cases


def all_cases(tracer):
    return [Case("untraced", "untraced"), *memprof_cases(tracer),
            *heaptrack_cases(os.environ.get("HEAPTRACK", ""))]


def count_events(tracer, trace):
    """What the report says of @trace."""
    done = subprocess.run([os.path.join(tracer, "memprof-report"), "--as",
                           "summary", trace], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode:
        raise ValueError("memprof-report: " + done.stderr.strip())
    head = json.loads(done.stdout)["head"]
    return {name: head[name] for name in
            ("events", "allocations", "events_lost", "backtraces")}


def heaptrack_allocations(log):
    """What heaptrack says it counted, None if it does not."""
    found = re.search(r"^\s*allocations:\s*(\d+)", log, re.M)
    return int(found[1]) if found else None
