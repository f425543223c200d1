#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Temporary allocations that a trace has only in sums.  Started by cull.sh.

What is culled depends on where a trace's chunks begin and end, which is not the
same in every run; that all sums are, is.
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile

from dump_trace import ALLOCATIONS, BATCH, RELEASES, Trace
from traced import (BUILD, PATIENCE, PROGRAMS, RECORD, Run, Skip, await_writer,
                    check, check_equal, children_of, is_gone, read_progress,
                    run_tests, test, wait_for)

REPORT = os.path.join(BUILD, "memprof-report")
FOR_EVER = "--cull-lifetime=100000000"


def culled_run(argv, *options, **how):
    return Run(argv, record=True, options=(*options, "--cull"), **how)


def events_of(trace):
    """Of allocations and frees, those in sums included."""
    return len(trace.events) + 2 * sum(row["count"] for row in trace.culled)


def is_whole(trace):
    check_equal(trace.damaged, 0, "damage")
    check(not trace.lost, "lost", trace.lost)
    check_equal(len(trace.ends), 1, "END")
    check(trace.ends[0]["event_count"] in (0, events_of(trace)), "events",
          trace.ends[0]["event_count"], events_of(trace))


def made(trace):
    """How many blocks of each size."""
    sizes = collections.Counter(
        ev.size for ev in trace.events
        if ev.kind in ALLOCATIONS or ev.kind == "realloc")
    for row in trace.culled:
        sizes[row["size"]] += row["count"]
    return sizes


# --- reports ----------------------------------------------------------------

VIEWS = {
    "every": "",
    "sites": "function_regex = ^(at_once|grown)$",
    "small": "size_max = 250",
    "main_thread": "thread = 1",
    "deep": "backtrace_depth_min = 20",
    "at_once": "temporary = heaptrack",
    "not_at_once": "not_temporary = heaptrack",
    "gone": "lifetime = only_temporary",
    "busy": "group_allocations_min = 30",
    "short": "lifetime_max = 1h",
    "first_blocks": "position_in_chain_max = 0",
    "all_the_time": "from = 0s",
    "usable": "usable_size_min = 100",
    "leaks": "lifetime = only_leaked",
}
UNDECIDED_VIEWS = {
    "addresses": "address_min = 1",
    "not_addresses": "address_max = 1",
    "freed_by": "not_deallocation_backtraces = 4000000",
}
LIFETIMES = {"none": "lifetime_min = 1h"}


def report(path, views):
    """Groups of each view, and the summary."""
    with tempfile.TemporaryDirectory(prefix="memprof-test-") as folder:
        spec = os.path.join(folder, "spec")
        out = os.path.join(folder, "out")
        with open(spec, "w", encoding="utf-8") as f:
            for name, condition in views.items():
                f.write(f"[view {name}]\n{condition}\ncount = 100000\n"
                        "artifacts = groups, sizes.json, lifetimes.json\n")
        subprocess.run([REPORT, "--spec", spec, "-o", out, path], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        groups = {}
        for name in views:
            with open(f"{out}/{name}.groups.json", encoding="utf-8") as f:
                groups[name] = json.load(f)
            for histogram in "sizes", "lifetimes":
                with open(f"{out}/{name}.{histogram}.json",
                          encoding="utf-8") as f:
                    check_equal(json.load(f).get("undecided_count"),
                                groups[name].get("undecided_count"), name)
        with open(f"{out}/summary.json", encoding="utf-8") as f:
            return groups, json.load(f)


SUMS = ("usable_size", "size", "allocated_count", "leaked_count",
        "leaked_size", "temporary_count")


def by_site(groups, is_threaded):
    """Sums by the names of a backtrace's frames: addresses are not the same in
    two runs, and two calls in one line are two groups."""
    sites = collections.defaultdict(collections.Counter)
    for row in groups["groups"]:
        frames = tuple((f.get("function"), f.get("line"))
                       for f in row["backtrace"])
        site = sites[frames]
        for prefix in "only_matched_", "all_":
            for name in SUMS[is_threaded:]:
                site[prefix + name] += row[prefix + name]
            for name, best in ("min_size", min), ("max_size", max):
                name = prefix + name
                site[name] = best(site.get(name, row[name]), row[name])
    return sites


def check_same_sites(plain, culled, what, is_threaded):
    a, b = by_site(plain, is_threaded), by_site(culled, is_threaded)
    for site in a.keys() | b.keys():
        if a.get(site) != b.get(site):
            raise AssertionError(f"{what}: {site}: {a.get(site)}, culled "
                                 f"{b.get(site)}")


def same_but_for_culling(argv, is_threaded=False, **how):
    """Returns both summaries' heads of a program that is the same each time; of
    several threads but for what is alive at once, and where."""
    plain = Run(argv, record=True, **how)
    culled = culled_run(argv, FOR_EVER, **how)
    is_whole(plain.trace)
    is_whole(culled.trace)
    check_equal(made(culled.trace), made(plain.trace), "blocks by size")
    check_equal((plain.trace.minor, plain.trace.process["flags"] & 4), (0, 0))
    check_equal((culled.trace.minor, culled.trace.process["flags"] & 4),
                (2, 4))
    old, old_summary = report(plain.path, VIEWS)
    new, new_summary = report(culled.path, {**VIEWS, **UNDECIDED_VIEWS,
                                            **LIFETIMES})
    for name in VIEWS:
        check_same_sites(old[name], new[name], name, is_threaded)
        check_equal(new[name]["undecided_count"], 0, name)
        check("culled_count" not in old[name], "culled in a plain trace")
    heads = old_summary["head"], new_summary["head"]
    for key in ("allocations", "allocated_bytes", "frees", "reallocs",
                "temporary", "leaked_bytes", "leaked_count", "backtraces",
                "unmatched_frees", "overwritten", "events_lost"):
        check_equal(heads[1][key], heads[0][key], key)
    if not is_threaded:
        check(heads[1]["peak_bytes"] <= heads[0]["peak_bytes"] <=
              heads[1]["peak_bytes"] + heads[1]["culled_most_bytes"], "peaks",
              heads)
    count = sum(row["count"] for row in culled.trace.culled)
    check_equal(heads[1]["culled"], count)
    check_equal(heads[1]["culled_most_bytes"],
                sum(culled.trace.culled_most.values()))
    check("culled" not in heads[0], "a plain trace speaks of culling")
    for name in "addresses", "not_addresses", "freed_by":
        check_equal(new[name]["undecided_count"], count, name)
        check_equal(new[name]["culled_count"], 0, name)
    check_equal((new["none"]["matched_count"], new["none"]["undecided_count"]),
                (0, 0))
    plain.done()
    return heads, culled


@test
def same_sums():
    heads, run = same_but_for_culling(["culled", "3"])
    for artifact in "tree", "flamegraph", "sizes":
        text = " ".join(re.sub("<[^>]*>", " ", subprocess.run(
            [REPORT, "--view", "address_max=1", "--as", artifact, run.path],
            check=True, stdout=subprocess.PIPE, text=True).stdout).split())
        check("Nothing passed" in text and
              f"{heads[1]['culled']:,} culled allocations left out: whether "
              "they match is not known" in text, artifact, text[:300])
    short = int(run.truth[0].split()[1])
    check(heads[1]["culled"] >= short, "of the program's short blocks", short,
          "only", heads[1]["culled"])
    sizes = [ev.size for ev in run.trace.events if ev.kind in ALLOCATIONS]
    for size in (100, 219, 302, 400, 401, 502):
        check(size not in sizes, "not culled:", size)
    for size in (300, 301, 601, 701, 702):
        check(size in sizes, "culled:", size)
    run.clean_order()
    run.done()


@test
def same_sums_in_many_chunks():
    """Long enough for some, so that pairs lie across their ends."""
    heads, run = same_but_for_culling(["culled", "400"])
    check(heads[1]["culled"] > heads[1]["allocations"] // 2, heads[1])
    run.clean_order()
    run.done()


@test
def thresholds():
    """A sleep only ever takes longer than it should."""
    run = culled_run(["culled", "1", "60"], "--cull-lifetime=20")
    check(501 in run.sizes(), "the slow block was culled")
    run.done()
    run = culled_run(["culled", "1", "20"], FOR_EVER)
    check(501 not in run.sizes(), "the slow block is there")
    run.done()
    run = culled_run(["culled"], "--cull-lifetime=0")
    check(not run.trace.culled, "culled", run.trace.culled)
    run.done()
    run = culled_run(["culled"], FOR_EVER, "--cull-pending=5")
    short = {row["size"]: row["count"] for row in run.trace.culled}
    check(short[100] and short[302], "not culled", short)
    check_equal(set(range(200, 220)) & set(short), set(range(214, 220)))
    check_equal(made(run.trace)[200], 1)
    run.done()


@test
def without_stacks_of_frees_or_helper():
    for options in ("--no-free-stacks",), ("--no-helper",):
        run = culled_run(["culled", "200"], *options)
        is_whole(run.trace)
        check_equal(made(run.trace)[100], 200 * 7)
        run.clean_order()
        run.done()


@test
def blocks_that_change_hands():
    """One that another thread has freed, and allocated again, is not the
    thread's own, whatever it looks like from there."""
    for threads, rounds in ("2", "20000"), ("4", "6000"):
        run = culled_run(["handover", threads, rounds], FOR_EVER,
                         keep_stacks=False)
        is_whole(run.trace)
        run.clean_order()
        blocks = int(run.truth[0].split()[1])
        sums = made(run.trace)
        first = sum(row["count"] for row in run.trace.culled
                    if row["size"] in (16, 24, 32))
        first += sum(1 for ev in run.trace.events if ev.kind == "malloc" and
                     ev.size in (16, 24, 32))
        check(first >= blocks == int(threads) * int(rounds), first, blocks)
        check(sums[16] >= blocks // 4, sums[16])
        run.done()


def passed_on(trace):
    """How many of the blocks that programs/passed_on.c passes on are culled."""
    return sum(row["count"] for row in trace.culled if row["size"] >= 1000)


def has_helper():
    return len(os.sched_getaffinity(0)) > 1


@test
def blocks_that_another_thread_frees():
    """A thread's buffers are written when it ends, and those of all together: it
    is not long until the program does."""
    heads, run = same_but_for_culling(["passed_on", "2", "10000"],
                                      is_threaded=True)
    run.clean_order()
    blocks = int(run.truth[0].split()[1])
    if has_helper():
        check(passed_on(run.trace) > blocks // 2, passed_on(run.trace), blocks)
        check(run.trace.batches, "no chunks that count together")
    check_equal(heads[1]["unmatched_frees"], 0)
    run.done()
    run = culled_run(["passed_on", "1", "2000"], "--cull-lifetime=0")
    check_equal(passed_on(run.trace), 0)
    run.done()
    run = culled_run(["passed_on", "1", "2000"], "--no-helper")
    is_whole(run.trace)
    run.clean_order()
    run.done()


BATCH_HEAD = 72


def find_batch(path):
    """Offset of the first chunk BATCH; None: there is none."""
    with open(path, "rb") as f:
        data = f.read()
    at = 32
    while at < len(data):
        kind, = struct.unpack_from("<H", data, at + 8)
        if kind == BATCH:
            return at
        at += BATCH_HEAD + struct.unpack_from("<I", data, at + 16)[0]
    return None


@test
def chunks_that_count_together():
    """Of a batch that is not complete none does."""
    run = culled_run(["passed_on", "1", "3000"], FOR_EVER)
    at = find_batch(run.path)
    if not has_helper():
        run.done()
        return
    check(at, "no batch")
    with open(run.path, "rb") as f:
        data = bytearray(f.read())
    cut = os.path.join(run.dir, "cut.dat")
    for name, content in (("cut off", data[:at]),
                          ("damaged", data[:at + BATCH_HEAD] + b"x" +
                           data[at + BATCH_HEAD + 1:])):
        with open(cut, "wb") as f:
            f.write(content)
        out = subprocess.run([REPORT, "--as", "summary", cut],
                             capture_output=True, check=False)
        head = json.loads(out.stdout)["head"]
        check_equal((head["unmatched_frees"], head.get("culled", 0)), (0, 0),
                    name)
        check(head["allocations"] < 100, name, head["allocations"])
        check(out.returncode, name)
    check(b"BATCH" in out.stderr, out.stderr)
    run.done()


# --- programs that are killed -----------------------------------------------

DONE, NEVER, CANNOT = 0, 3, 77  # what programs/meddle.c says


def end_at(nth, folder, recorded):
    """Kills passed_on before its @nth system call at its end that changes files.
    Return: what meddle says, and the trace's path."""
    path = os.path.join(folder, f"{nth}-{recorded}.dat")
    argv = [os.path.join(PROGRAMS, "passed_on"), "2", "1500", path + ".n"]
    settings = {"MEMORY_PROFILER_CULL_TEMPORARY_ALLOCATIONS": "1",
                "MEMORY_PROFILER_OUTPUT": path,
                "LD_PRELOAD": os.path.join(BUILD, "libmemprof.so")}
    how = ["env", *(f"{key}={value}" for key, value in settings.items())]
    if recorded:
        how = [RECORD, "-q", "-o", path, "--cull", "--"]
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("MEMORY_PROFILER_")}
    p = subprocess.run([os.path.join(PROGRAMS, "meddle"), "kill", str(nth),
                        *how, *argv], env=env, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, check=False, timeout=PATIENCE)
    if p.returncode == CANNOT:
        raise Skip("processes cannot be followed here")
    return p.returncode, path


@test
def killed_within_a_batch():
    """Before each chunk that is written at the end, and after the last."""
    folder = tempfile.mkdtemp(prefix="memprof-test-")
    said, nth, incomplete, complete = DONE, 0, 0, 0
    while said == DONE:
        nth += 1
        for recorded in True, False:
            said, path = end_at(nth, folder, recorded)
            trace = Trace(path, keep_stacks=False)
            what = f"call {nth}, recorded: {recorded}"
            check_equal(trace.damaged, 0, what)
            check_sequence([trace], read_progress(path + ".n"), 2, what)
            twice, unknown, live = trace.check_order()
            check(not twice and not unknown, what, twice[:3], unknown[:3])
            check(not [b for b in live.values() if b.size >= 1000], what)
            head = report_of_killed(path)
            check_equal((head["allocations"], head["unmatched_frees"],
                         head["overwritten"], head["events_lost"]),
                        (sum(made(trace).values()), 0, 0, 0), what)
            incomplete += bool(trace.aside)
            complete += bool(trace.batches)
    check_equal(said, NEVER)
    check(not has_helper() or (incomplete and complete), "batches", incomplete,
          complete)
    shutil.rmtree(folder)

def check_sequence(traces, progress, threads, what):
    """Every block of programs/sequence.c, once: thread t's are of 1000 (t + 1)
    bytes and more, their sizes count up."""
    sums = collections.Counter()
    freed = 0
    for trace in traces:
        sums += made(trace)
        freed += sum(1 for ev in trace.events if ev.kind in RELEASES)
        freed += sum(row["count"] for row in trace.culled)
    for t in range(threads):
        sizes = [sums[1000 * (t + 1) + i] for i in range(1000)]
        count = sum(sizes)
        check(progress[t] <= count <= progress[t] + 1, what, "thread", t,
              "has", count, "blocks, not", progress[t])
        want = [(count - i + 999) // 1000 for i in range(1000)]
        check_equal(sizes, want, f"{what}, thread {t}")
        freed -= count
    return freed


def trace_until_killed(folder, argv, blocks, completes):
    """The trace of a program, in @folder with its file of progress, that is
    killed after so many blocks; without @completes memprof-record is as well."""
    path = os.path.join(folder, "trace.dat")
    file = os.path.join(folder, "progress")
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("MEMORY_PROFILER_")}
    with subprocess.Popen(
            [RECORD, "-q", "-o", path, "--cull", "--", *argv], env=env,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for(process, lambda: os.path.exists(file) and
                 sum(read_progress(file)) > blocks)
        pid, = children_of(process.pid)
        if not completes:
            process.kill()
        os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
    check(is_gone(pid), "the program was not killed")
    if not completes:
        await_writer(path)
    trace = Trace(path, keep_stacks=False)
    check_equal(trace.damaged, 0, "damage")
    return trace


def report_of_killed(path):
    """The head of the summary; status 1 says that the trace has no end."""
    out = subprocess.run([REPORT, "--as", "summary", path],
                         capture_output=True, check=False)
    return json.loads(out.stdout)["head"]


@test
def killed_at_any_moment():
    """What was in a chunk is there once, in events or in sums, and so is what
    was still in buffers."""
    threads = 3
    for number, blocks in enumerate((300, 9000, 40000, 90000)):
        folder = tempfile.mkdtemp(prefix="memprof-test-")
        file = os.path.join(folder, "progress")
        argv = [os.path.join(PROGRAMS, "sequence"), file, str(threads),
                "100000000"]
        trace = trace_until_killed(folder, argv, blocks,
                                   completes=number % 2 == 0)
        progress = read_progress(file)
        freed = check_sequence([trace], progress, threads, f"kill {number}")
        summary = report_of_killed(trace.path)
        check_equal(summary["allocations"], sum(made(trace).values()))
        check_equal(summary["events_lost"], 0)
        check(-threads <= freed <= 100, "frees", freed)
        shutil.rmtree(folder)


@test
def killed_while_passing_on():
    """What one thread's event and another's make is there once, or not yet."""
    for number, blocks in enumerate((2000, 30000, 60000)):
        folder = tempfile.mkdtemp(prefix="memprof-test-")
        file = os.path.join(folder, "progress")
        argv = [os.path.join(PROGRAMS, "passed_on"), "2", "100000000", file]
        trace = trace_until_killed(folder, argv, blocks, completes=number != 1)
        check_sequence([trace], read_progress(file), 2, f"kill {number}")
        twice, unknown, live = trace.check_order()
        check(not twice and not unknown, twice[:3], unknown[:3])
        check(len(live) < 500, "alive", len(live))
        head = report_of_killed(trace.path)
        check_equal((head["allocations"], head["unmatched_frees"],
                     head["events_lost"]),
                    (sum(made(trace).values()), 0, 0), f"kill {number}")
        shutil.rmtree(folder)


@test
def rotated():
    threads = 2
    folder = tempfile.mkdtemp(prefix="memprof-test-")
    file = os.path.join(folder, "progress")
    run = culled_run(["sequence", file, str(threads), "24000"],
                     "--rotate=1", output=os.path.join(folder, "t.dat"),
                     must_trace=False, traced=False)
    check_equal(run.status, 0, run.stderr)
    pieces = [Trace(path, keep_stacks=False)
              for path in glob.glob(folder + "/t.dat*")]
    check(len(pieces) > 1, "it was not rotated")
    check(any(piece.culled for piece in pieces), "nothing was culled")
    for piece in pieces:
        is_whole(piece)
    check_sequence(pieces, read_progress(file), threads, "rotated")
    run.done()
    shutil.rmtree(folder)


if __name__ == "__main__":
    raise SystemExit(run_tests())
