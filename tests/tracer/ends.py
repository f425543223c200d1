# SPDX-License-Identifier: MIT
"""How programs end, by themselves and otherwise, and who completes the trace:
the program, the process beside it or memprof-record.
"""
import os
import shutil
import signal
import struct
import subprocess
import tempfile

from dump_trace import CHUNK_MAGIC, CLOCK, COLUMNS, END, Trace
from traced import (LIVE_HELPER, PATIENCE, PROGRAMS, RECORD, Run, Skip, check,
                    check_equal, check_sequence, children_of, is_gone,
                    read_progress, start_sequence, test, wait_for)

ENDS = {"return": (1, 0, 0), "exit": (1, 11, 11), "_exit": (3, 12, 12),
        "_Exit": (3, 13, 13), "quick_exit": (2, 14, 14)}


@test
def ends():
    for how, (end, status, code) in ENDS.items():
        run = Run(["ending", how])
        check_equal(run.status, code, how)
        run.only_end(end, status)
        run.no_live_file()
        check_equal(run.sizes()[-1000:], list(range(1000, 2000)), how)
        check_equal(run.trace.ends[0]["event_count"], len(run.trace.events))
        run.done()


def killed(how, sig, record):
    run = Run(["ending", how], record=record)
    sizes = [s for s in run.sizes() if 1000 <= s < 2000]
    check_equal(sizes, list(range(1000, 2000)), how)
    check_equal(run.status, -sig, how)
    return run


@test
def killed_without_launcher():
    for how, sig in (("kill", signal.SIGKILL), ("segv", signal.SIGSEGV),
                     ("abort", signal.SIGABRT)):
        run = killed(how, sig, False)
        check(os.path.exists(run.path + ".live"), "no .live")
        if how == "abort":
            run.only_end(4, signal.SIGABRT)
        else:
            check_equal(run.trace.ends, [])
        run.done()


@test
def killed_under_launcher():
    for how, sig in (("kill", signal.SIGKILL), ("segv", signal.SIGSEGV),
                     ("abort", signal.SIGABRT)):
        run = killed(how, sig, True)
        run.no_live_file()
        run.only_end(4 if how == "abort" else 5, sig)
        check(run.trace.clocks or how == "abort")
        check(b"trace written to" in run.stderr)
        run.done()
    run = Run(["ending", "raw_exit"], record=True)
    check_equal(run.status, 15)
    run.only_end(3, 15)
    run.done()


@test
def forks():
    for how in ("fork", "raw_fork", "vfork", "spawn"):
        run = Run(["ending", how])
        check_equal(run.status, 0, how)
        run.only_end(1, 0)
        run.no_live_file()
        check_equal(run.sizes().count(77777), 1, how)
        check_equal(run.sizes().count(66666), 0, how)
        run.clean_order()
        run.done()


@test
def executes():
    for how in ("exec", "execlp"):
        run = Run(["ending", how])
        check_equal(run.status, 6, how)
        run.only_end(6, -1)
        check_equal(run.trace.ends[0]["program"][-2:], "sh")
        run.no_live_file()
        run.done()
    run = Run(["ending", "fexec_fail"])
    check_equal(run.status, 0)
    check_equal([e["how"] for e in run.trace.ends], [6, 6, 1])
    check_equal(run.sizes().count(77777), 1)
    run.no_live_file()
    run.clean_order()
    run.done()


@test
def abort_that_is_caught():
    run = Run(["ending", "abort_caught"])
    check_equal(run.status, 0)
    check_equal([e["how"] for e in run.trace.ends], [4, 1])
    check_equal(run.sizes().count(77777), 1)
    run.clean_order()
    run.done()


@test
def child_processes():
    run = Run(["sh", "-c", "/bin/true; /bin/true; exit 4"], record=True,
              options=["--children"])
    check_equal(run.status, 4)
    paths = sorted(p for p in os.listdir(run.dir))
    check_equal(paths, ["trace.dat", "trace.dat.1", "trace.dat.2"])
    for path in paths[1:]:
        trace = Trace(os.path.join(run.dir, path))
        check_equal(trace.process["executable"][-4:], "true")
        check_equal(trace.ends[0]["how"], 1)
    run.done()


@test
def peaks_of_parent_and_child():
    """getrusage() gives a spawned child the peak of who made it."""
    run = Run(["ending", "grow_and_spawn"], record=True,
              options=["--children"])
    check_equal(run.status, 0)
    ours, its = (trace.ends[0]["peak_rss"]
                 for trace in (run.trace, Trace(run.path + ".1")))
    check(ours >= 100 << 20, "parent", ours)
    check(0 < its < 60 << 20, "child", its)
    run.done()


@test
def killed_children():
    run = Run(["sh", "-c", f"{os.path.join(PROGRAMS, 'steps')} alloc kill;"
               "exit 4"], record=True, options=["--children"])
    check_equal(run.status, 4)
    trace = Trace(run.path + ".1")
    check_equal([(end["how"], end["status"]) for end in trace.ends],
                [(7, -1)])
    check_equal(sum(ev.kind == "malloc" and 1000 <= ev.size < 2000
                    for ev in trace.events), 1000)
    check(not os.path.exists(run.path + ".1.live"), ".live was left")
    run.done()


@test
def forks_and_an_end_among_threads():
    run = Run(["storm", "30"], keep_stacks=False)
    check_equal(run.status, 0)
    run.only_end(1, 0)
    run.no_live_file()
    check_equal(run.sizes().count(66666), 0)
    check_equal(run.trace.damaged, 0)
    run.clean_order()
    run.done()


@test
def failing_exec_among_threads():
    run = Run(["failing_exec"], keep_stacks=False)
    check_equal(run.status, 0)
    check_equal([e["how"] for e in run.trace.ends], [6] * 20 + [1])
    check_equal(run.sizes().count(77777), 20)
    check_equal(run.trace.damaged, 0)
    # The other threads may each be at an event when an attempt is made.
    lost = sum(entry["count"] for entry in run.trace.lost)
    check(lost <= 3 * 20, lost)
    end = run.trace.ends[-1]
    check_equal(end["lost_count"], lost)
    check(abs(end["event_count"] - lost - len(run.trace.events)) <= 3)
    run.no_live_file()
    run.done()


def end_counts(trace):
    """Whether the last END is the program's end, by docs/trace-format.md."""
    kinds = [chunk[0] for chunk in trace.chunks]
    if END not in kinds:
        return False
    after = kinds[len(kinds) - kinds[::-1].index(END):]
    if trace.ends[-1]["how"] == 6:
        return CLOCK not in after
    return COLUMNS not in after


@test
def killed_after_a_failed_exec():
    for steps, count in ((("exec", "alloc"), 1000),
                         (("alloc", "exec", "alloc"), 2000),
                         (("thread", "exec", "alloc"), 1000),
                         (("alloc", "thread", "exec", "exec", "alloc"), 2000),
                         (("alloc", "exec"), 1000)):
        for record in (False, True):
            run = Run(["steps", *steps, "kill"], record=record)
            what = (steps, record)
            check_equal(run.status, -signal.SIGKILL, what)
            check_equal(sum(1000 <= s < 2000 for s in run.sizes()), count,
                        what)
            check_equal(os.path.exists(run.path + ".live"), not record, what)
            check_equal(end_counts(run.trace), record, what)
            if record:
                check_equal(run.trace.ends[-1]["how"], 5, what)
            check_equal(run.trace.damaged, 0, what)
            run.done()


def finish_by_launcher(path):
    """Has memprof-record complete a trace that another process left."""
    announce = 'printf "\\0%s%s\\0" "$1" "$2" >>"$MEMORY_PROFILER_NAME_FILE"'
    with open(path, "rb") as f:
        trace_id, = struct.unpack_from("<Q", f.read(32), 16)
    run = subprocess.run([RECORD, "-q", "--children", "-o", path + ".sh", "--",
                          "sh", "-c", announce, "sh", f"{trace_id:016x}",
                          path], check=True,
                         stderr=subprocess.PIPE, text=True)
    for name in os.listdir(os.path.dirname(path)):
        if name.startswith(os.path.basename(path) + ".sh"):
            os.unlink(os.path.join(os.path.dirname(path), name))
    return run.stderr.splitlines()


@test
def names_are_told_to_nobody_else():
    """Once memprof-record has ended, its descriptor may be another process's."""
    for is_elsewhere in (False, True):
        with tempfile.NamedTemporaryFile(prefix="memprof-test-") as other:
            name = (f"/proc/{os.getpid()}/fd/{other.fileno()}" if is_elsewhere
                    else other.name)
            run = Run(["ending", "return"],
                      env={"MEMORY_PROFILER_NAME_FILE": name})
            told = run.path.encode() in other.read()
            check_equal(told, not is_elsewhere)
            check_equal(os.path.getsize(other.name) > 0, told)
            run.done()


@test
def killed_while_writing_a_chunk():
    run = Run(["steps", "alloc", "kill"])
    want = sorted(run.sizes())
    files = {}
    for name in (run.path, run.path + ".live"):
        with open(name, "rb") as f:
            files[name] = f.read()
    whole = files[run.path]
    finish_by_launcher(run.path)
    with open(run.path, "rb") as f:
        finished = f.read()
    # What was added begins with the chunk that was not written.
    length = 72 + struct.unpack_from("<I", finished, len(whole) + 16)[0]
    chunk = finished[len(whole):len(whole) + length]
    last = whole.rindex(CHUNK_MAGIC)
    for part in (0, 5, 71, 72, 300, len(chunk) - 1, len(chunk)):
        # With another thread's chunk behind it, or without.
        for behind in (b"", whole[last:]):
            with open(run.path, "wb") as f:
                f.write(whole + chunk[:part] + behind)
            with open(run.path + ".live", "wb") as f:
                f.write(files[run.path + ".live"])
            finish_by_launcher(run.path)
            run.no_live_file()
            trace = Trace(run.path)
            what = (part, len(behind))
            got = sorted(ev.size for ev in trace.events
                         if ev.kind in ("malloc", "calloc", "memalign",
                                        "new"))
            check_equal(got == want, True, f"events after {what}")
            check_equal(trace.damaged,
                        int(bool(behind) and 0 < part < 72),
                        what)
    run.done()


@test
def killed_and_written_over():
    run = Run(["steps", "alloc", "kill"])
    with open(run.path + ".live", "rb") as f:
        live = bytearray(f.read())
    length = struct.unpack_from("<Q", live, 4096 + 24)[0]
    live[8192 + length // 2:8192 + length // 2 + 64] = b"\xff" * 64
    with open(run.path + ".live", "wb") as f:
        f.write(live)
    lines = finish_by_launcher(run.path)
    check_equal(len(lines), 1, lines)
    check("wrote over" in lines[0], lines)
    sizes = [ev.size for ev in Trace(run.path).events if ev.kind == "malloc"]
    count = len(sizes)
    check(400 < count < 600, count)
    check_equal(sizes, list(range(1000, 1000 + count)))
    run.no_live_file()
    run.done()


@test
def killed_and_cut_off():
    run = Run(["steps", "alloc", "kill"])
    with open(run.path, "rb") as f:
        trace = f.read()
    with open(run.path + ".live", "rb") as f:
        live = f.read()
    length = struct.unpack_from("<Q", live, 4096 + 24)[0]
    # Whoever has the file open may shorten it, while it is read, too.
    for size, want in ((8192 + length // 2, range(400, 600)),
                       (8192, range(1)), (4100, range(1)),
                       (4096, range(1))):
        with open(run.path, "wb") as f:
            f.write(trace)
        with open(run.path + ".live", "wb") as f:
            f.write(live[:size])
        lines = finish_by_launcher(run.path)
        check_equal(len(lines), int(size >= 8192), lines)
        sizes = [ev.size for ev in Trace(run.path).events
                 if ev.kind == "malloc"]
        check(len(sizes) in want, size, len(sizes))
        check(sizes == list(range(1000, 1000 + len(sizes))), sizes[-3:])
        run.no_live_file()
    run.done()


@test
def exec_among_threads():
    for record in (False, True):
        run = Run(["steps", "alloc", "thread", "sh"], record=record)
        check_equal(run.status, 6)
        run.only_end(6, -1)
        check(end_counts(run.trace))
        check_equal(run.sizes().count(77777), 1)
        if record:
            run.no_live_file()
        run.done()


def helper_of(run):
    """The process that the program saw beside it, 0 for none."""
    lines = [t.split() for t in run.truth if t.startswith("helper")]
    return int(lines[-1][1]) if lines else 0


def beside(*steps, churned, env=None, record=False, has_helper=True,
           prefix=(), output=None, status=5):
    """Runs beside, which frees as many blocks as it churns."""
    argv = [os.path.join(PROGRAMS, "beside"), *steps]
    plain = Run(argv, traced=False)
    run = Run([*prefix, *argv], env=env, record=record, output=output,
              options=["-q"], keep_stacks=False)
    check_equal((run.status, run.stdout, run.stderr),
                (plain.status, plain.stdout, b""), steps)
    check_equal(run.status, status, steps)
    sizes = run.sizes()
    check_equal(sizes.count(500), churned, steps)
    check_equal(run.trace.damaged, 0, steps)
    helper = helper_of(run)
    if len(os.sched_getaffinity(0)) > 1:
        check_equal(bool(helper), has_helper, steps)
    if helper:
        check(is_gone(helper), "it is still there after", steps)
    plain.done()
    return run


@test
def a_process_beside_the_program():
    # Not seen, not waited for, and with no file of the program's open.
    run = beside("churn:20000", "find", "tasks", "wait", "chld", "pipe",
                 "churn:20000", "chld", churned=40000)
    run.only_end(1, 5)
    run.no_live_file()
    check_equal(run.trace.ends[0]["event_count"], len(run.trace.events))
    run.done()
    for steps in (["abandon"], ["session"], ["vfork"]):
        more = 60000 if steps == ["vfork"] else 0
        run = beside("churn:20000", "find", *steps, "churn:10000",
                     churned=30000 + more)
        run.only_end(1, 5)
        run.no_live_file()
        run.done()


@test
def beside_after_a_failing_exec():
    # PATH.live was made anew: it names the process that writes from then on.
    run = beside("churn:20000", "noexec", "churn:20000", "find", "raw_exit",
                 churned=40000, status=21)
    with open(run.path + ".live", "rb") as f:
        page = f.read(4096)
    check_equal(struct.unpack_from("<I", page, LIVE_HELPER)[0], helper_of(run))
    run.done()


@test
def no_process_beside_the_program():
    beside("churn:20000", "find", churned=20000, has_helper=False,
           env={"MEMORY_PROFILER_HELPER": "0"}).done()
    # A filter does not bind the process that was there before.
    beside("noclone", "churn:20000", "find", churned=20000).done()
    if shutil.which("taskset"):
        run = Run(["taskset", "-c", "0", os.path.join(PROGRAMS, "beside"),
                   "churn:20000", "find"], record=True,
                  options=["--children", "-q"])
        check_equal(run.status, 5)
        trace = Trace(run.path + ".1", keep_stacks=False)
        check_equal(sum(ev.size == 500 for ev in trace.events), 20000)
        check_equal(helper_of(run), 0)
        run.done()


@test
def programs_with_privileges():
    if os.geteuid() != 0:
        raise Skip("being root")
    run = beside("churn:20000", "find", "user:65534", "churn:20000", "find",
                 churned=40000)
    users = [line.split()[2] for line in run.truth
             if line.startswith("helper")]
    if len(os.sched_getaffinity(0)) > 1:
        check_equal(users, ["0", "65534"], "users of the process beside")
    run.done()
    beside("newpid", "churn:20000", "find", "child", churned=20000,
           has_helper=False).done()
    beside("churn:20000", "find", "newpid", "child", "churn:10",
           churned=20010).done()
    beside("churn:20000", "find", "user:65534", "churn:20000",
           churned=40000).done()
    beside("churn:20000", "find", "root:/var", "churn:20000",
           churned=40000).done()


@test
def killed_beside_the_program():
    for steps in (["kill"], ["killsoon"]):
        for _ in range(2):
            run = beside("churn:20000", "find", *steps, "churn:20000",
                         churned=40000)
            run.only_end(1, 5)
            run.no_live_file()
            run.done()


@test
def stopped_beside_the_program():
    run = beside("churn:20000", "find", "stop", "churn:20000", churned=40000)
    run.only_end(1, 5)
    run.done()


@test
def killed_while_it_is_stopped():
    run = beside("churn:20000", "find", "stop", "die", churned=20000,
                 status=-signal.SIGKILL, record=True)
    run.only_end(5, signal.SIGKILL)
    run.no_live_file()
    run.done()


@test
def ends_that_nobody_sees():
    for step, how, status in (("raw_exit", 3, 21), ("raw:/bin/true", 3, 0)):
        run = beside("churn:20000", "find", step, churned=20000,
                     status=status)
        check_equal(run.trace.ends, [], step)
        run.done()
        run = beside("churn:20000", "find", step, churned=20000,
                     status=status, record=True)
        run.only_end(how, status)
        run.no_live_file()
        run.done()


@test
def killed_among_threads():
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    path = os.path.join(directory, "trace.dat")
    for n in range(8):
        threads = (1, 2, 4, 12)[n % 4]
        p, program = start_sequence(
            path, threads, lambda: os.path.getsize(path + ".n"),
            {"MEMORY_PROFILER_HELPER": "0" if n == 5 else "1"})
        wait_for(p, lambda: sum(read_progress(path + ".n")) >=
                 6000 * (n * 3 % 8))
        if n % 3 == 2:
            for helper in children_of(program):
                os.kill(helper, signal.SIGKILL)
        os.kill(program, signal.SIGKILL)
        _, err = p.communicate(timeout=PATIENCE)
        check_equal((p.returncode, err), (-signal.SIGKILL, b""), n)
        progress = read_progress(path + ".n")
        check(not os.path.exists(path + ".live"), "live", n)
        trace = Trace(path, keep_stacks=False)
        check_equal(trace.damaged, 0, n)
        check_equal(trace.ends[-1]["how"], 5, n)
        check_sequence([trace], progress[:threads], n)
        os.unlink(path + ".n")
    shutil.rmtree(directory)
