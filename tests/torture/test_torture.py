#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that make life hard for a tracer.  Started by run.sh.

Each runs untraced and traced, and by memprof-record; status and output must
be the same, and the trace must agree with what the program says it did.
"""
import collections
import os
import re
import shutil
import signal
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "tracer"))
# pylint: disable=wrong-import-position,unused-import
import real_programs
from traced import (LIBRARY, PROGRAMS, Run, Skip, as_truth, check, check_equal,
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
        run.record = record
        yield run
        run.done()
    plain.done()


def tells_the_truth(run):
    missing = is_subsequence(truth_events(run),
                             [as_truth(ev) for ev in run.trace.events])
    check(missing is None, "not recorded:", missing)
    check_equal(run.trace.damaged, 0, "damaged")


def has_what_it_says(run):
    """Truth is "has SIZE COUNT": so many allocations of that size."""
    sizes = collections.Counter(run.sizes())
    want = collections.Counter()
    for line in run.truth:
        if line.startswith("has "):
            want[int(line.split()[1])] += int(line.split()[2])
    check(want, "no truth")
    got = {size: sizes[size] for size in want}
    check_equal(got, dict(want), "allocations by size")
    check_equal(run.trace.damaged, 0, "damaged")


@test
def every_moment_of_a_life():
    for run in same_as_untraced(["moments"]):
        has_what_it_says(run)
        run.clean_order()
        run.only_end(1, 3)
        run.no_live_file()


@test
def libraries_that_come_and_go():
    libraries = [os.path.join(PROGRAMS, name)
                 for name in ("libearly.so", "liblater.so", "libalone.so")]
    for run in same_as_untraced(["namespaces", *libraries]):
        has_what_it_says(run)
        run.clean_order()
        for ev in run.trace.events:
            for base, library in ((41000, libraries[0]),
                                  (51000, libraries[1])):
                if ev.kind == "malloc" and ev.size in (base + 1, base + 3):
                    module = run.trace.find_module(ev.stack[-1], ev.tick)
                    check_equal(module and module["path"], library, ev.size)
        run.only_end(1, 0)


@test
def allocations_inside_allocators():
    nesting = os.path.join(PROGRAMS, "nesting.so")
    for argv, status in ((["moments"], 3), (["edges"], 0),
                         (["ordeal", "threads:500"], 0)):
        plain = Run(argv, traced=False)
        run = Run(argv, preload=[nesting])
        check_equal((run.status, run.stdout, run.stderr),
                    (plain.status, plain.stdout, b""), argv)
        has_what_it_says(run)
        run.clean_order()
        run.only_end(1, status)
        check(run.sizes().count(49001) > 20, argv)
        run.done()
        plain.done()


@test
def checking_allocator_of_glibc():
    library = "libc_malloc_debug.so.0"
    for env in ({"MALLOC_CHECK_": "3"}, {"MALLOC_TRACE": "mtrace"}):
        plain = Run(["edges"], env={**env, "LD_PRELOAD": library},
                    traced=False)
        run = Run(["edges"], env=env, preload=[library])
        check_equal((run.status, run.stdout, run.stderr),
                    (plain.status, plain.stdout, plain.stderr), env)
        has_what_it_says(run)
        run.clean_order()
        run.done()
        plain.done()


@test
def edges_of_the_allocator():
    for run in same_as_untraced(["edges"]):
        has_what_it_says(run)
        run.clean_order()
    for tunables in ("", "glibc.malloc.check=3",
                     "glibc.malloc.tcache_count=0:glibc.malloc.perturb=165"):
        for run in same_as_untraced(["edges"],
                                    env={"GLIBC_TUNABLES": tunables}):
            has_what_it_says(run)


@test
def blocks_that_are_none():
    for what in ("foreign", "twice", "inside", "realloc", "smashed"):
        for run in same_as_untraced(["edges", what]):
            check_equal(run.status, -signal.SIGABRT, what)
            run.trace.check_order()
            check_equal(run.trace.damaged, 0, what)


def ordeal(*steps, end, has_live=False, live_stays=False, **how):
    """Runs ordeal; *end* is how and status of END, which is not there under
    *has_live* but for memprof-record."""
    for run in same_as_untraced(["ordeal", *steps], **how):
        what = (*steps, run.record)
        if run.truth:
            has_what_it_says(run)
        check_equal(run.trace.damaged, 0, what)
        if run.record or not has_live:
            run.only_end(*end)
        if run.record or not (has_live or live_stays):
            run.no_live_file()
        elif has_live:
            check_equal(run.trace.ends, [], what)


@test
def system_calls_refused():
    """By seccomp, all of them or some: what is lost is told."""
    for what, counts in (("all", ((100, 100), (100, 20000), (12000, 20000))),
                         ("files", ((12000, 12000),)),
                         ("clone", ((100, 12000),)),
                         ("getpid", ((100, 12000), (12000, 12000))),
                         ("identity", ((100, 12000), (12000, 20000)))):
        for before, after in counts:
            argv = ["filtered", what, str(before), str(after)]
            for run in same_as_untraced(argv):
                sizes = collections.Counter(run.sizes())
                lost = sum(entry["count"] for entry in run.trace.lost)
                freed = sum(ev.kind == "free" for ev in run.trace.events)
                known = sizes[501] + sizes[502] + freed + lost
                # Samples of memory are lost, too: as many as time allows.
                extra = known - 2 * (before + after)
                check(-2 <= extra <= 1000, argv, "known", known)
                if what != "all":
                    check_equal(lost, 0, argv)
                if run.record or what in ("identity", "getpid"):
                    check_equal([(end["how"], end["status"])
                                 for end in run.trace.ends], [(3, 6)], argv)


@test
def system_calls_that_kill():
    """The tracer makes none of them, and nothing is lost: the helper is
    outside of the filter."""
    for what, before, after in (("kill", 1, 100), ("kill", 100, 12000),
                                ("kill-all-threads", 12000, 12000),
                                ("kill-some", 1, 100), ("wrong", 1, 100),
                                ("children", 1, 12000)):
        argv = ["filtered", what, str(before), str(after)]
        for run in same_as_untraced(argv, keep_stacks=False):
            check_equal((run.status, run.stdout), (6, b"went on\n"), argv)
            has_what_it_says(run)
            check_equal(run.trace.lost, [], argv)
            check_equal(run.trace.damaged, 0, argv)
            run.only_end(3, 6)


@test
def no_more_time():
    """In strict mode, and where the time stamp counter may not be read,
    recording ends."""
    for what in ("strict", "tsc"):
        for before in (1, 12000):
            argv = ["filtered", what, str(before), "100"]
            for run in same_as_untraced(
                    argv, messages=["recording ends, as the program calls"]):
                check_equal((run.status, run.stdout), (6, b"went on\n"), argv)
                check_equal(run.trace.damaged, 0, argv)
                sizes = collections.Counter(run.sizes())
                check_equal(sizes[501], before, argv)
                check_equal(sizes[502], 0, argv)


@test
def ten_thousand_threads():
    ordeal("threads:10000", "exit:3", end=(1, 3), keep_stacks=False)


@test
def threads_that_race_the_end():
    for _ in range(3):
        ordeal("race", "exit:3", end=(1, 3))


@test
def processes_and_their_ends():
    ordeal("raw", "churn:500:12000", "raw", end=(1, 0))
    ordeal("live:3", end=(3, 3))
    ordeal("churn:500:12000", "live:3", end=(3, 3))
    ordeal("backtrace", end=(1, 0))
    ordeal("mainexits", end=(1, 17))
    ordeal("churn:500:12000", "mainexits", end=(1, 17))
    ordeal("daemon", end=(1, 5))
    ordeal("churn:500:12000", "daemon", end=(1, 5))
    ordeal("churn:500:12000", "waitall", "churn:501:12000", end=(1, 0))
    ordeal("churn:500:12000", "spaces", "churn:501:12000", end=(1, 0))


@test
def crashes():
    ordeal("overflow", end=(3, 23))
    ordeal("churn:500:12000", "overflow", end=(3, 23))
    for steps in (["crash"], ["churn:500:12000", "crash"]):
        ordeal(*steps, end=(5, signal.SIGSEGV), has_live=True)


@test
def lost_descriptors_and_directories():
    for step in ("closeall", "over"):
        ordeal(step, "churn:501:12000", end=(1, 0))
        ordeal("churn:500:12000", step, "churn:501:12000", end=(1, 0))
    ordeal("leave:gone", "churn:501:12000", end=(1, 0))
    ordeal("churn:500:12000", "leave:gone", "churn:501:12000", end=(1, 0))


@test
def trace_whose_directory_goes():
    for steps, loses in (([], False), (["closeall"], True)):
        top = tempfile.mkdtemp(prefix="memprof-test-")
        here, there = (os.path.join(top, name) for name in ("a", "b"))
        os.mkdir(here)
        run = Run(["ordeal", "churn:500:12000", f"rename:{here}:{there}",
                   *steps, "churn:501:12000", f"rename:{there}:{here}",
                   "churn:502:12000"], output=os.path.join(here, "t.dat"))
        check_equal((run.status, run.stdout), (0, b"done\n"), steps)
        run.only_end(1, 0)
        end = run.trace.ends[0]
        if not loses:
            has_what_it_says(run)
            check_equal(run.stderr, b"")
        check_equal(end["event_count"] - end["lost_count"],
                    len(run.trace.events), "events")
        run.no_live_file()
        run.done()
        shutil.rmtree(top)


@test
def limits():
    ordeal("limit:memory:100000000", "fill", end=(1, 0))
    # No file can be opened, to see that it is PATH.live that is removed.
    ordeal("limit:files:3", "churn:500:12000", end=(1, 0), live_stays=True)
    ordeal("limit:locked:0", "churn:500:12000", end=(1, 0))
    ordeal("limit:processes:0", "churn:500:12000", end=(1, 0))
    if os.geteuid() == 0:  # who is not root any more removes no file
        ordeal("limit:processes:0", "user:65534", "churn:500:12000",
               end=(1, 0), live_stays=True)


@test
def no_way_to_the_file_of_buffers():
    """The first buffers are there from the start; others are told of."""
    killed = (5, signal.SIGKILL)
    ordeal("limit:files:0", "churn:500:100", "kill", end=killed, has_live=True)
    for run in same_as_untraced(["ordeal", "limit:files:0", "hold:20", "kill"],
                                messages=["no room in the .live file for"]):
        told = re.search(rb" for (\d+) buffers", run.stderr)
        if run.record:
            run.only_end(*killed)
            outside = int(told[1])
        else:
            with open(run.path + ".live", "rb") as f:
                outside, = struct.unpack_from("<I", f.read(4096), 36)
        held = sum(ev.size == 47004 for ev in run.trace.events
                   if ev.kind == "malloc")
        # Eight are in the file, one of them that of the first thread.
        check_equal((outside, held), (13, 7), "buffers outside, blocks known")


@test
def no_memory_for_the_tracer():
    argv = ["ordeal", "limit:memory:9000000", "fill", "churn:500:12000"]
    for run in same_as_untraced(argv, messages=["events are being lost",
                                                "events missing"]):
        run.only_end(1, 0)
        end = run.trace.ends[0]
        if not end["lost_count"]:
            has_what_it_says(run)
        check_equal(end["event_count"] - end["lost_count"],
                    len(run.trace.events), "events")


@test
def limits_before_the_start():
    for limit in ("-v 60000", "-v 30000", "-v 20000", "-v 12000", "-v 6000",
                  "-n 3", "-n 4", "-n 5", "-f 0", "-f 8", "-s 64", "-d 1000",
                  "-l 0"):
        argv = ["sh", "-c", f"ulimit {limit} && exec {PROGRAMS}/ordeal "
                "churn:500:30000 exit:4"]
        plain = Run(argv, traced=False)
        run = Run(argv, env={"MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "1"},
                  must_trace=False)
        check_equal((run.status, run.stdout), (plain.status, plain.stdout),
                    limit)
        check(len(run.stderr.splitlines()) <= 4 +
              len(plain.stderr.splitlines()), limit, run.stderr)
        run.done()
        plain.done()


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


@test
def allocator_preloaded_before():
    """Its functions are bound, not the tracer's: that is told, once."""
    wrapper = os.path.join(PROGRAMS, "nesting.so")
    jemalloc = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
    for first, is_told in ((jemalloc, True), (wrapper, False)):
        if not os.path.exists(first):
            raise Skip(first)
        env = {"LD_PRELOAD": f"{first} {LIBRARY}",
               "MEMORY_PROFILER_OUTPUT": "trace.dat"}
        run = Run(["own_glibc"], env=env, traced=False)
        check_equal((run.status, run.stdout), (9, b"as always\n"), first)
        check_equal(run.stderr.count(b"comes before libmemprof.so"),
                    int(is_told), run.stderr)
        run.done()


@test
def allocator_of_a_sanitizer():
    """It finds the leak, as without the tracer, and says so by the status; one
    line says that its blocks are not recorded."""
    if not os.path.exists(os.path.join(PROGRAMS, "sanitized")):
        raise Skip("clang's AddressSanitizer")
    for run in same_as_untraced(["sanitized"], must_trace=False, messages=[
            "==", "    #", "leak", "allocator of a sanitizer inside it"]):
        check(run.status != 9 or b"leaked" not in run.stderr, run.stderr)
        check_equal(run.stderr.count(b"of a sanitizer inside it"), 1)


@test
def sanitizers():
    """Those whose library comes behind the tracer are traced."""
    missing = []
    # What is recorded is the matter here, not what they find.
    env = {"ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0",
           "LSAN_OPTIONS": "detect_leaks=0"}
    for name in ("gcc_asan", "gcc_tsan", "gcc_lsan", "gcc_static_asan",
                 "gcc_static_tsan"):
        if not os.path.exists(os.path.join(PROGRAMS, name)):
            missing.append(name)
            continue
        for run in same_as_untraced([name], env=env):
            tells_the_truth(run)
            run.only_end(1, 9)
    if missing:
        raise Skip("not linked: " + ", ".join(missing))


@test
def programs_with_functions_of_the_c_library():
    """They are not the tracer's, whatever the loader thinks."""
    if not os.path.exists(os.path.join(PROGRAMS, "own_libc")):
        raise Skip("this processor")
    for children in ("0", "1"):
        env = {"MEMORY_PROFILER_TRACK_CHILD_PROCESSES": children}
        for run in same_as_untraced(["own_libc"], env=env):
            has_what_it_says(run)
            run.clean_order()
            run.only_end(1, 9)


@test
def cxx_of_other_allocators():
    missing = []
    for name in ("cxx_shared_tcmalloc_minimal", "cxx_static_tcmalloc_minimal",
                 "cxx_static_jemalloc_pic"):
        if not os.path.exists(os.path.join(PROGRAMS, name)):
            missing.append(name)
            continue
        for run in same_as_untraced([name]):
            run.clean_order()
            want = [int(line.split()[1]) for line in run.truth
                    if line.startswith("new")]
            got = [size for size in run.sizes()
                   if size >= 40000 and size != 72704]
            check_equal(got, want, name)
    if missing:
        raise Skip("not linked: " + ", ".join(missing))


if __name__ == "__main__":
    sys.exit(run_tests())
