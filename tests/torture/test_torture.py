#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that make life hard for a tracer.  Started by run.sh.

Each runs untraced and traced, and by memprof-record; status and output must
be the same, and the trace must agree with what the program says it did.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "tracer"))
# pylint: disable=wrong-import-position
from traced import (PROGRAMS, Run, Skip, as_truth, check, check_equal,
                    is_subsequence, run_tests, test, truth_events)


def same_as_untraced(argv, env=None, messages=(), **how):
    """Runs a program in all three ways.  Yields the two traced runs."""
    plain = Run(list(argv), env=env, traced=False)
    for record in (False, True):
        run = Run(list(argv), env=env, record=record,
                  options=["-q"] if record else (), **how)
        what = (argv, "record" if record else "preloaded")
        check_equal((run.status, run.stdout), (plain.status, plain.stdout),
                    what)
        left = [line for line in run.stderr.decode().splitlines()
                if not any(m in line for m in messages)
                and line not in plain.stderr.decode().splitlines()]
        check(not left, "messages", left, what)
        yield run
        run.done()
    plain.done()


def tells_the_truth(run):
    missing = is_subsequence(truth_events(run),
                             [as_truth(ev) for ev in run.trace.events])
    check(missing is None, "not recorded:", missing)
    check_equal(run.trace.damaged, 0, "damaged")


ALLOCATORS = ["own_glibc", "plain_jemalloc", "shared_jemalloc",
              "plain_mimalloc", "shared_mimalloc", "plain_tcmalloc_minimal",
              "shared_tcmalloc_minimal", "static_jemalloc_pic",
              "static_tcmalloc_minimal", "static_rjem", "exported_rjem",
              "stripped_rjem"]


@test
def other_allocators():
    missing = []
    for name in ALLOCATORS:
        if not os.path.exists(os.path.join(PROGRAMS, name)):
            missing.append(name)
            continue
        for run in same_as_untraced([name], keep_stacks=True):
            tells_the_truth(run)
            run.clean_order()
            sizes = [ev.size for ev in run.trace.events
                     if ev.kind == "malloc"]
            changes = [ev.size for ev in run.trace.events
                       if ev.kind == "realloc"]
            churned = int([line for line in run.truth
                           if line.startswith("churned")][0].split()[1])
            check_equal((sizes.count(333), changes.count(4444)),
                        (churned, churned), name)
            check_equal(sizes.count(777), 1, name)
            block = [ev for ev in run.trace.events if ev.size == 777][0]
            check(777 + block.slack >= 777 and block.slack < 2000, name)
            run.only_end(1, 9)
    if missing:
        raise Skip("not linked: " + ", ".join(missing))


if __name__ == "__main__":
    sys.exit(run_tests())
