#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that know what they allocated, against what the report says.

Each program prints its sums as JSON on descriptor 3.  It runs untraced and
traced; output and exit status must be the same, and every figure must equal
the truth.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("MEMPROF_BUILD", "build/release"))
RECORD = os.path.join(BUILD, "memprof-record")
REPORT = os.path.join(BUILD, "memprof-report")
HERE = os.path.join(ROOT, "tests/truth")

passed = failed = 0


def check(name, ok, detail=""):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print(f"FAILED {name}: {detail}")


def compile_program(work, source, *flags):
    out = os.path.join(work, os.path.basename(source).replace(".", "_"))
    compilers = {".cpp": ["g++", "-O1", "-pthread"], ".rs": ["rustc", "-O"]}
    compiler = compilers.get(os.path.splitext(source)[1], ["gcc", "-O1", "-pthread"])
    subprocess.run([*compiler, "-g", *flags, "-o", out,
                    os.path.join(HERE, source)], check=True)
    return out


def run_with_truth(command):
    """Exit status, output and what the program wrote to descriptor 3."""
    read_end, write_end = os.pipe()
    process = subprocess.Popen(["sh", "-c", f'exec "$@" 3>&{write_end}', "sh",
                                *command], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, pass_fds=[write_end])
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        truth = pipe.read()
    out, err = process.communicate()
    return process.returncode, out, err, json.loads(truth or "null")


def trace(work, name, command):
    plain = run_with_truth(command)
    path = os.path.join(work, f"{name}.dat")
    traced = run_with_truth([RECORD, "--quiet", "-o", path, "--", *command])
    check(f"{name}: same status", plain[0] == traced[0], f"{plain[0]} {traced[0]}")
    check(f"{name}: same output", plain[1:3] == traced[1:3], traced[2])
    return path, traced[3]


def report(path, view, artifact):
    paths = [path] if isinstance(path, str) else path
    done = subprocess.run([REPORT, "--view", view, "--as", artifact, *paths],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        return {"error": done.stderr.decode()}
    return json.loads(done.stdout)


def test_random(work):
    program = compile_program(work, "random_ops.c")
    for seed in range(1, 9):
        name = f"random_ops {seed}"
        operations = str(500 * seed ** 3)
        path, truth = trace(work, f"random{seed}", [program, str(seed), operations])
        head = report(path, "", "summary").get("head", {})
        for key, value in truth.items():
            check(f"{name}: {key}", head.get(key) == value,
                  f"truth {value}, report {head.get(key)}")
        check(f"{name}: nothing unmatched",
              head.get("unmatched_frees") == 0 and head.get("overwritten") == 0,
              str(head))
        sums = report(path, "alive_at=peak", "groups")
        check(f"{name}: view of the peak",
              sums.get("matched_bytes") == truth["peak_bytes"] and
              sums.get("matched_count") == truth["peak_blocks"], str(sums)[:300])
        sums = report(path, "lifetime=only_leaked", "groups")
        check(f"{name}: view of leaks",
              sums.get("matched_bytes") == truth["leaked_bytes"] and
              sums.get("matched_count") == truth["leaked_count"], str(sums)[:300])


def test_pieces(work):
    """A run whose file is rotated, its pieces given the wrong way round."""
    program = compile_program(work, "random_ops.c")
    os.environ["MEMORY_PROFILER_ROTATE"] = "64KiB"
    path, truth = trace(work, "rotated", [program, "7", "171500"])
    del os.environ["MEMORY_PROFILER_ROTATE"]
    pieces = sorted(glob.glob(path + "*"), reverse=True)
    check("rotated: pieces", len(pieces) > 2, str(pieces))
    head = report(pieces, "", "summary").get("head", {})
    for key, value in truth.items():
        check(f"rotated: {key}", head.get(key) == value,
              f"truth {value}, report {head.get(key)}")
    check("rotated: nothing unmatched",
          head.get("unmatched_frees") == 0 and head.get("overwritten") == 0,
          str(head))


def test_handover(work):
    program = compile_program(work, "handover.c")
    for threads in (2, 4, 8):
        name = f"handover {threads}"
        path, truth = trace(work, f"handover{threads}",
                            [program, str(threads), str(threads), "20000"])
        ours = "function_regex=^truth_allocate"
        every = report(path, ours, "groups")
        leaked = report(path, ours + "&lifetime=only_leaked", "groups")
        found = {"matched_count": every.get("matched_count"),
                 "matched_bytes": every.get("matched_bytes"),
                 "matched_leaked_count": leaked.get("matched_count"),
                 "matched_leaked_bytes": leaked.get("matched_bytes")}
        for key, value in truth.items():
            check(f"{name}: {key}", found[key] == value,
                  f"truth {value}, report {found[key]}")
        head = report(path, "", "summary").get("head", {})
        check(f"{name}: order of events",
              head.get("unmatched_frees") == 0 and head.get("overwritten") == 0,
              str(head))
        check(f"{name}: threads", head.get("threads") == threads + 1, str(head))


def test_stacks(work):
    program = compile_program(work, "stacks.cpp", "-std=c++17")
    path, truth = trace(work, "stacks", [program])
    found = report(path, "", "allocations")
    rows = found.get("allocations", [])
    for row in rows:
        row["backtrace"] = found["backtraces"][str(row["backtrace_id"])]
    for size, (function, count) in truth.items():
        found = [r for r in rows if r["size"] == int(size)]
        # The innermost frame of the program itself.
        inner = [[f["function"] for f in r["backtrace"]
                  if f.get("module", "").startswith("stacks")][-1:] for r in found]
        check(f"stacks: size {size}",
              inner == [[function]] * count, f"{inner} for {function} × {count}")
        check(f"stacks: size {size} reaches main",
              all(any(f["function"] == "main" for f in r["backtrace"])
                  for r in found), str(found)[:500])
        lines = [f.get("line") for r in found for f in r["backtrace"]
                 if f["function"] == function]
        check(f"stacks: size {size} has lines", lines and all(lines), str(lines))
    freed = [r for r in rows if r["size"] == 10005]
    check("stacks: freed block", len(freed) == 1 and
          "deallocation_timestamp" in freed[0], str(freed)[:400])


def test_rust_sites(work):
    """What a standard library allocates belongs to who asked it to."""
    program = compile_program(work, "sites.rs")
    path, truth = trace(work, "sites", [program])
    sites = report(path, "", "summary").get("top", {}).get("leaked", [])
    for function, leaked in truth.items():
        found = [s["leaked_bytes"] for s in sites
                 if s["function"].split("::")[-1] == function]
        check(f"sites: {function}", found == [leaked], f"{found}, not {leaked}")


def test_chunks(work):
    """What glibc's headers say of its blocks, and what another allocator gave."""
    ours = "&lifetime=only_leaked&function_regex=^truth_allocate"
    program = compile_program(work, "chunks.c")
    path, truth = trace(work, "chunks", [program, "glibc"])
    check("chunks: of all kinds", all(truth[key] for key in truth
                                      if "other" not in key), str(truth))
    for query, count in truth.items():
        found = report(path, query + ours, "groups").get("matched_count")
        check(f"chunks: {query}", found == count, f"truth {count}, report {found}")
    program = compile_program(work, "chunks.c", "-Wl,--no-as-needed",
                              "-ljemalloc")
    path, _ = trace(work, "jemalloc", [program])
    every = report(path, ours[1:], "groups").get("matched_count")
    other = report(path, "arena=other" + ours, "groups").get("matched_count")
    check("chunks: jemalloc", every == other and every > 0, f"{other} of {every}")


def test_running(work):
    """Threads that allocate as fast as they can while their trace is read."""
    program = compile_program(work, "../programs/sequence.c")
    for threads in (1, 9):
        path = os.path.join(work, f"running{threads}.dat")
        blocks = str(800000 // threads)
        recorder = subprocess.Popen([RECORD, "--quiet", "-o", path, "--", program,
                                     path + ".counts", str(threads), blocks])
        while recorder.poll() is None and (
                not os.path.exists(path) or os.path.getsize(path) < 4096):
            time.sleep(0.005)
        ended = False
        while not ended:
            ended = recorder.poll() is not None
            done = subprocess.run([REPORT, "--view", "", "--as", "summary", path],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            check(f"running {threads}: sound", done.returncode == 0,
                  done.stderr.decode())
            head = json.loads(done.stdout or "{}").get("head", {})
            check(f"running {threads}: each free has its block",
                  head.get("unmatched_frees") == 0 and
                  head.get("overwritten") == 0, str(head))


def main():
    with tempfile.TemporaryDirectory() as work:
        test_random(work)
        test_pieces(work)
        test_handover(work)
        test_stacks(work)
        test_rust_sites(work)
        test_chunks(work)
        test_running(work)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
