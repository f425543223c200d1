#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs whose trace is in several files: rotation, stop and start, forks.

    test_pieces.py BUILD_DIR PROGRAM_DIR [TEST]...
"""
import glob
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from dump_trace import Trace
from traced import (BUILD, CONTINUED, EXIT, LIBRARY, PATIENCE, PROGRAMS,
                    RECORD, SIGNALLED, STOPPED, Run, Skip, check, check_equal,
                    check_sequence, read_progress, run_tests, start_sequence,
                    test)

START, SIGNAL, API, ROTATION, FORK = range(1, 6)  # why a piece begins
GAP = 1


def traces_in(directory):
    """All traces there, with no PATH.live beside them."""
    paths = [p for p in glob.glob(directory + "/*.dat*")
             if not p.endswith(".n")]
    check(not [p for p in paths if p.endswith(".live")], "a .live was left",
          paths)
    return [Trace(path, keep_stacks=False) for path in paths]


def pieces_of(traces, run=None):
    """The pieces of one run, in order, which must be whole."""
    pieces = sorted((t for t in traces if run in (None, t.piece["run"])),
                    key=lambda t: t.piece["index"])
    if not pieces:
        return pieces
    check_equal([t.piece["index"] for t in pieces], list(range(len(pieces))),
                "pieces")
    check_equal(pieces[0].piece["run"], pieces[0].trace_id, "run_id")
    for before, after in zip(pieces, pieces[1:]):
        check_equal(after.piece["run"], pieces[0].trace_id, "run_id")
        check_equal(after.piece["previous"], before.trace_id, "previous_id")
    for piece in pieces:
        check_piece(piece)
    return pieces


def check_piece(piece):
    check_equal(piece.damaged, 0, "damage in " + piece.path)
    check_equal(len(piece.ends), 1, "END in " + piece.path)
    check(not piece.lost, "lost", piece.lost)
    end = piece.ends[0]
    check(end["event_count"] in (0, len(piece.events)), "events of", piece.path,
          end["event_count"], len(piece.events))
    named = {t["number"] for t in piece.threads if t["what"] == 1}
    check({ev.thread for ev in piece.events} <= named, "threads without start")
    check(any(m["flags"] & 1 for m in piece.modules) or not piece.events,
          "no program among the modules")


def all_events(pieces):
    """Those of all pieces; each thread's in the order of the pieces."""
    return [ev for piece in pieces for ev in piece.events]


def check_order(pieces):
    """No block is allocated twice, none freed that was not there."""
    whole = pieces[0]
    whole.events = sorted(all_events(pieces), key=lambda ev: ev.tick)
    twice, unknown, _ = whole.check_order()
    check(not twice, "allocated twice", twice[:3])
    check(not unknown, "unknown freed", unknown[:3])


@test
def rotation_among_threads():
    for env in ({}, {"MEMORY_PROFILER_HELPER": "0"}):
        run = Run(["sequence", "n", "4", "12000"],
                  env={"MEMORY_PROFILER_ROTATE": "1", **env},
                  must_trace=False)
        check_equal(run.status, 0, run.stderr.decode())
        check_equal(run.stderr, b"", "standard error")
        pieces = pieces_of(traces_in(run.dir))
        check(len(pieces) > 3, len(pieces), "pieces")
        check_equal([p.piece["why"] for p in pieces],
                    [START] + [ROTATION] * (len(pieces) - 1), "why")
        check_equal({p.piece["flags"] for p in pieces}, {0}, "gaps")
        check_equal([p.ends[0]["how"] for p in pieces],
                    [CONTINUED] * (len(pieces) - 1) + [EXIT], "END")
        check_sequence(pieces, [12000] * 4, env)
        check_order(pieces)
        run.done()


def start_rotated(path, threads, rotate, pause_us=0):
    """sequence, once there is a second file."""
    second = path + ".1"
    return start_sequence(
        path, threads,
        lambda: os.path.exists(second) and os.path.getsize(second),
        {"MEMORY_PROFILER_ROTATE": rotate}, pause_us)


@test
def rotation_by_time():
    """Also of a program that does not fill its buffers."""
    if len(os.sched_getaffinity(0)) < 2:
        raise Skip("one processor")
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    path = os.path.join(directory, "trace.dat")
    p, program = start_rotated(path, 2, "1s", 5000)
    os.kill(program, signal.SIGKILL)
    p.communicate(timeout=PATIENCE)
    pieces = pieces_of(traces_in(directory))
    first = pieces[0]
    end = first.ends[0]
    check(end["monotonic_ns"] - first.process["monotonic_ns"] >= 10 ** 9,
          "too early")
    check_sequence(pieces, read_progress(path + ".n")[:2], "by time")
    shutil.rmtree(directory)


@test
def killed_while_rotating():
    """Whenever a thread has filled a buffer there is another file, so that a
    kill hits a moment between two of them now and then."""
    choose = random.Random(5)
    for n in range(4):
        directory = tempfile.mkdtemp(prefix="memprof-test-")
        path = os.path.join(directory, "trace.dat")
        p, program = start_rotated(path, 3, "1")
        time.sleep(choose.random() * 0.02)
        os.kill(program, signal.SIGKILL)
        _, errors = p.communicate(timeout=PATIENCE)
        check_equal(errors, b"", f"round {n}: standard error")
        traces = traces_in(directory)
        pieces = pieces_of(traces)
        check_sequence(pieces, read_progress(path + ".n")[:3], n)
        check_equal({t.ends[0]["how"] for t in pieces[:-2]}, {CONTINUED}
                    if pieces[:-2] else set(), "END")
        shutil.rmtree(directory)


DONE, NEVER, CANNOT = 0, 3, 77  # what meddle says


def meddle(how, nth, what, options=(), env=None, under=()):
    """Meddles with moments before a system call.  Return: what meddle says,
    standard error, the traces, blocks of the program and of its child."""
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    progress = os.path.join(directory, "progress")
    trace = os.path.join(directory, "trace.dat")
    env = {**os.environ, "MEMORY_PROFILER_HELPER": "0", **(env or {})}
    p = subprocess.run([os.path.join(PROGRAMS, "meddle"), how, str(nth),
                        *under, RECORD, "-q", "-o", trace, *options, "--",
                        os.path.join(PROGRAMS, "moments"), progress, what,
                        trace], env=env, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    if p.returncode == CANNOT:
        raise Skip("processes cannot be followed here")
    traces = traces_in(directory)
    with open(progress, "rb") as f:
        counts = struct.unpack("<2Q", f.read())
    shutil.rmtree(directory)
    return p.returncode, p.stderr, traces, counts


def check_moment(what, traces, counts):
    """Every file is a piece with an end, and no block is missing."""
    own = [t for t in traces if not t.piece["parent"]]
    others = [t for t in traces if t.piece["parent"]]
    first = 0
    for pieces, count in ((own, counts[0]), (others, counts[1])):
        sizes = [ev.size - 1000 for ev in all_events(pieces_of(pieces))
                 if ev.kind == "malloc" and 1000 <= ev.size < 11000]
        check_equal(sizes, list(range(first, first + len(sizes))), what)
        check(count <= len(sizes) <= count + 1, what, len(sizes), count)
        first = count


def kill_everywhere(what, **how):
    """Before each system call that makes or changes a file."""
    said, nth = DONE, 0
    while said == DONE:
        nth += 1
        said, errors, traces, counts = meddle("kill", nth, what, **how)
        if traces or "was killed before" not in errors:
            check_equal(errors, "", "standard error")
        check_moment((what, nth), traces, counts)
    check_equal(said, NEVER, what)
    check(nth > 15, what, nth)


@test
def killed_at_every_moment_of_a_rotation():
    kill_everywhere("rotate", env={"MEMORY_PROFILER_ROTATE": "1"})


@test
def killed_at_every_moment_where_files_have_one_name():
    no_links = os.path.join(PROGRAMS, "no_links")
    if subprocess.run([no_links, "true"]).returncode != 0:
        raise Skip("system calls cannot be refused here")
    kill_everywhere("rotate", env={"MEMORY_PROFILER_ROTATE": "1"},
                    under=[no_links])


def lost_in(traces):
    """Events that each trace says it lacks."""
    return [max(sum(lost["count"] for lost in piece.lost),
                sum(end["lost_count"] for end in piece.ends))
            for piece in traces]


@test
def killed_while_events_are_lost():
    """Every event is in the trace, or counted, in one piece."""
    said, nth = DONE, 1
    while said == DONE:
        said, _, traces, (blocks, _) = meddle(
            "kill", nth, "limit", env={"MEMORY_PROFILER_ROTATE": "1"})
        events = [ev for ev in all_events(traces)
                  if ev.kind not in ("rss", "lost")]
        count = len(events) + sum(lost_in(traces))
        # The last free may be missing; few are not of the program's blocks.
        check(2 * blocks - 1 <= count <= 2 * blocks + 1000, nth,
              lost_in(traces), len(events), blocks)
        nth += 2
    check_equal(said, NEVER)


@test
def lost_events_are_counted_once():
    """Files that are as long as they may be become longer again, at some
    moment of writes in vain and of rotations."""
    said, nth, lossy = DONE, 1, 0
    while said == DONE:
        said, errors, traces, _ = meddle(
            "lift", nth, "limit", env={"MEMORY_PROFILER_ROTATE": "1"})
        want = [int(line.rpartition(" ")[2]) for line in errors.splitlines()
                if "events missing" in line]
        got = lost_in(traces)
        check_equal(sum(got), sum(want), (nth, got))
        lossy += bool(want)
        nth += 4
    check_equal(said, NEVER)
    check(lossy > 5, lossy)


@test
def killed_at_every_moment_of_a_start():
    kill_everywhere("start", options=["--disable-at-start"])


@test
def killed_at_every_moment_of_another_start():
    kill_everywhere("restart")


@test
def killed_at_every_moment_of_a_fork():
    kill_everywhere("fork", options=["--children"])


def blocks_of(piece, thread):
    """Numbers of the blocks of pieces' thread, by their sizes."""
    return [(ev.size - 64) // 8 for ev in piece.events
            if ev.kind == "memalign" and (ev.size - 64) % 8 == thread]


def check_blocks(run, pieces, threads):
    """What was surely recorded is there, once; what surely not is not."""
    for t in range(threads):
        got = []
        for piece in pieces:
            mine = blocks_of(piece, t)
            if mine:
                check_equal(mine, list(range(mine[0], mine[-1] + 1)),
                            f"blocks of thread {t} in one piece")
            got += mine
        check_equal(len(set(got)), len(got), f"thread {t}, some twice")
        for line in run.truth:
            which, thread, first, last = line.split()
            if int(thread) != t:
                continue
            want = set(range(int(first), int(last) + 1))
            if which == "on":
                check(want <= set(got), "missing:", line)
            else:
                check(not want & set(got), "not to be recorded:", line)


@test
def stop_and_start_among_threads():
    run = Run(["pieces", "8", "3", "exit"], must_trace=False)
    check_equal(run.status, 0, run.stderr.decode())
    pieces = pieces_of(traces_in(run.dir))
    check_equal([p.piece["why"] for p in pieces], [START, API, API, API], "why")
    check_equal([p.piece["flags"] for p in pieces], [0, GAP, GAP, GAP], "gaps")
    check_equal([p.ends[0]["how"] for p in pieces],
                [STOPPED, STOPPED, STOPPED, EXIT], "END")
    check_equal(len([w for w in run.truth if w.startswith("on")]), 4 * 8,
                "times on")
    check_blocks(run, pieces, 8)
    run.done()


def notes_of(paths):
    """What a report says about the completeness of its figures."""
    out = subprocess.run([os.path.join(BUILD, "memprof-report"), "--as",
                          "summary", *paths], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True).stdout
    return re.findall(r"Recording was off[^:\"]*|Pieces? [^\"]*missing[^:\"]*",
                      out)


@test
def many_gaps_have_few_notes():
    run = Run(["pieces", "1", "6", "exit"], must_trace=False)
    paths = glob.glob(run.path + "*")
    check_equal(len(paths), 7, "pieces")
    notes = notes_of(paths)
    check_equal(len(notes), 4, notes)
    check_equal(notes[-1], "Recording was off 3 more times")
    paths = [run.path, *(f"{run.path}.{i}" for i in (1, 2, 6))]
    notes = notes_of(paths)
    check_equal([n.split(" ")[0] for n in notes],
                ["Recording", "Recording", "Pieces"], notes)
    run.done()


@test
def disabled_by_default():
    env = {"MEMORY_PROFILER_DISABLE_BY_DEFAULT": "1"}
    run = Run(["basic"], env=env, must_trace=False)
    check_equal(os.listdir(run.dir), [], "files of what was never started")
    run.done()
    run = Run(["pieces", "2", "2", "exit", "disabled"], env=env,
              must_trace=False)
    check_equal(run.status, 0, run.stderr.decode())
    pieces = pieces_of(traces_in(run.dir))
    check_equal([p.piece["why"] for p in pieces], [API, API], "why")
    check_equal([p.piece["flags"] for p in pieces], [GAP, GAP], "gaps")
    check_blocks(run, pieces, 2)
    run.done()


@test
def killed_after_a_start():
    run = Run(["pieces", "3", "2", "kill"], record=True, must_trace=False)
    check_equal(run.status, -signal.SIGKILL, run.stderr.decode())
    pieces = pieces_of(traces_in(run.dir))
    check_equal([p.ends[0]["how"] for p in pieces],
                [STOPPED, STOPPED, SIGNALLED], "END")
    check_blocks(run, pieces, 3)
    run.done()


@test
def names_of_pieces():
    """Relative ones, in the directory that the program was started in."""
    env = {"MEMORY_PROFILER_OUTPUT": "%e-%n-%p.dat"}
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    subprocess.run([os.path.join(PROGRAMS, "pieces"), "1", "2", "exit"],
                   env=dict(os.environ, LD_PRELOAD=LIBRARY, **env),
                   cwd=directory, check=True, timeout=PATIENCE)
    names = sorted(os.listdir(directory))
    check_equal([name.rpartition("-")[0] for name in names],
                ["pieces-0", "pieces-1", "pieces-2"], "names")
    check_equal(len({name.rpartition("-")[2] for name in names}), 1, "names")
    shutil.rmtree(directory)


def forked(how, env=None, options=("--children",)):
    run = Run(["forking", how], record=True, options=("-q", *options), env=env,
              must_trace=False)
    check_equal(run.status, 0, run.stderr.decode())
    check_equal(run.stderr, b"", "standard error")
    return run, {int(w.split()[1]): int(w.split()[2]) for w in run.truth}


def check_family(how):
    """Every process that goes on has a trace with its own blocks."""
    run, processes = forked(how)
    traces = traces_in(run.dir)
    by_id = {t.trace_id: t for t in traces}
    for trace in traces:
        pieces_of(traces, trace.piece["run"])
    for pid, n in processes.items():
        mine = [t for t in traces if t.process["pid"] == pid]
        check_equal(len(mine), 1, f"traces of process {pid}")
        sizes = [ev.size for ev in mine[0].events if ev.kind == "malloc" and
                 10000 <= ev.size < 11000]
        check_equal(sizes, [10000 + n] * 3, f"{how}: blocks of process {n}")
        if n == 0:
            continue
        piece = mine[0].piece
        parent = by_id[piece["previous"]]
        check_equal(piece["why"], FORK, "why")
        check_equal(piece["parent"], parent.piece["run"], "parent_run")
        twice, unknown, _ = mine[0].check_order()
        check(not twice, "allocated twice", twice[:3])
        if how == "daemon":  # what is between it and the first one is gone
            continue
        check_equal(mine[0].process["ppid"], parent.process["pid"], "parent")
        check({ev.addr for ev in unknown} <= addresses(parent),
              "frees of unknown blocks")
    run.done()
    return len(traces), len(processes)


def addresses(trace):
    return {ev.addr for ev in trace.events if ev.addr}


@test
def fork_once():
    check_equal(check_family("once"), (2, 2), "traces and processes")


@test
def fork_chain():
    check_equal(check_family("chain"), (6, 6), "traces and processes")


@test
def fork_storm():
    check_equal(check_family("storm"), (33, 33), "traces and processes")


@test
def daemon():
    check_equal(check_family("daemon"), (3, 2), "traces and processes")


@test
def waits_for_children_of_every_kind():
    check_equal(check_family("wall"), (2, 2), "traces and processes")


@test
def forked_children_that_are_not_traced():
    run, _ = forked("chain", options=())
    check_equal(len(traces_in(run.dir)), 1, "traces")
    run.done()


if __name__ == "__main__":
    sys.exit(run_tests())
