#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Controls: variables, options, signals, the C API.  Started by controls.sh."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from dump_trace import Trace
from traced import (EXIT, LIBRARY, PROGRAMS, RECORD, SIGNALLED, STOPPED, Run,
                    Skip, check, check_equal, children_of, later,
                    read_progress, run_tests, test, wait_for)

PREFIX = "MEMORY_PROFILER_"
PREAMBLE_BYTES = 32
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"


def controlled(argv, must_trace=True, record=False, **settings):
    """Run with variables, named without their prefix."""
    return Run(argv, env={PREFIX + name: value
                          for name, value in settings.items()},
               must_trace=must_trace, record=record, options=["-q"])


@test
def values_in_force():
    run = controlled(["/bin/true"], LOG="info", GRAB_BACKTRACES_ON_FREE="no",
                     ENABLE_SERVER="1", BACKTRACE_CACHE_SIZE_LEVEL_1="5")
    log = run.stderr.decode()
    for line in (f"{PREFIX}OUTPUT={run.path}\n", f"{PREFIX}LOG=info\n",
                 f"{PREFIX}GRAB_BACKTRACES_ON_FREE=0\n",
                 f"{PREFIX}CHOWN_OUTPUT_TO=\n", f"{PREFIX}HELPER=1\n",
                 f"{PREFIX}ENABLE_SERVER=1 (has no effect)\n",
                 f"{PREFIX}BACKTRACE_CACHE_SIZE_LEVEL_1=5 (has no effect)\n"):
        check(line in log, "not said:", line, log)
    check("BASE_SERVER_PORT" not in log, "said without being set")
    run.done()
    run = controlled(["/bin/true"], ENABLE_SERVER="1",
                     CULL_TEMPORARY_ALLOCATIONS="0")
    check_equal(run.stderr, b"", "said without being asked")
    run.done()


@test
def values_that_cannot_be():
    plain = Run(["basic"], traced=False)
    for name, value in (("CHOWN_OUTPUT_TO", "root"),
                        ("CHOWN_OUTPUT_TO", "4294967295"),
                        ("LOGFILE_ROTATE_WHEN_BIGGER_THAN", "1x"),
                        ("LOGFILE_ROTATE_WHEN_BIGGER_THAN", ""),
                        ("TEMPORARY_ALLOCATION_PENDING_THRESHOLD", "-1"),
                        ("LOGFILE_ROTATE_WHEN_BIGGER_THAN", "9" * 30),
                        ("LOGFILE", "l" * 2000)):
        run = controlled(["basic"], **{name: value})
        check_equal((run.status, run.stdout), (plain.status, plain.stdout))
        lines = run.stderr.decode().splitlines()
        check_equal(len(lines), 1, f"lines for {name}={value[:20]}")
        check(PREFIX + name in lines[0], lines)
        run.done()


@test
def zeroed_memory():
    ways = ["malloc", "memalign", "aligned", "valloc", "realloc", "shrunk"]
    run = controlled(["zeroed"])
    check("used" in run.stdout.decode(), "it is zero without us")
    run.done()
    for preload in ([], [JEMALLOC]):
        if preload and not os.path.exists(JEMALLOC):
            raise Skip("libjemalloc.so.2")
        run = Run(["zeroed"], env={PREFIX + "ZERO_MEMORY": "1"},
                  preload=preload)
        check_equal(run.stdout.decode().split("\n")[:-1],
                    [way + " zero" for way in ways], preload)
        run.clean_order()
        # The calls are the program's, whatever answers them.
        kinds = {ev.kind for ev in run.trace.events if ev.size == 70000}
        check_equal(kinds, {"malloc", "memalign"})
        run.done()


@test
def owner_of_the_trace():
    if os.geteuid() != 0:
        run = controlled(["basic"], CHOWN_OUTPUT_TO="0")
        check_equal(len(run.stderr.splitlines()), 1, run.stderr)
        run.done()
        raise Skip("being root")
    run = controlled(["steps", "alloc", "kill"], CHOWN_OUTPUT_TO="65534")
    for path in (run.path, run.path + ".live"):
        st = os.stat(path)
        check_equal((st.st_uid, st.st_gid), (65534, os.getegid()), path)
    run.done()


@test
def log_that_is_put_aside():
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    log = os.path.join(directory, "log")
    settings = {"LOG": "info", "LOGFILE": log}
    controlled(["/bin/true"], **settings).done()
    with open(log, encoding="utf-8") as f:
        whole = [line.partition("]: ")[2] for line in f]
    check(len(whole) > 10, "lines", whole)
    os.unlink(log)
    controlled(["/bin/true"], LOGFILE_ROTATE_WHEN_BIGGER_THAN="200",
               **settings).done()
    check_equal(sorted(os.listdir(directory)),
                ["log", "log.initial", "log.old"])
    parts = []
    for name in ("log.initial", "log.old", "log"):
        path = os.path.join(directory, name)
        check(os.path.getsize(path) < 400, name, os.path.getsize(path))
        with open(path, encoding="utf-8") as f:
            parts.append([line.partition("]: ")[2] for line in f])
    check_equal(parts[0][1], whole[1], "the second line")
    check(parts[0][0].startswith(PREFIX + "OUTPUT="), parts[0][0])
    check(parts[2][-1].startswith("tracing to "), parts[2][-1])
    shutil.rmtree(directory)


PHASES = [name for name in ("phases_pie", "phases_fixed", "phases_clang")
          if os.path.exists(os.path.join(PROGRAMS, name))]
MARK_TEXT, PHASE_BEGIN, PHASE_END, MARK_NUMBER = range(1, 5)


def sizes_between(run, thread, begin, end):
    """Sizes that a thread allocated after one tick and before another."""
    return [ev.size for ev in run.trace.events if ev.thread == thread and
            ev.kind == "malloc" and begin <= ev.tick < end]


@test
def programs_that_tell_nobody():
    for name in [*PHASES, "phases_static"]:
        for part in ("", "threads", "pieces", "handler", "old"):
            run = Run([name, part], traced=False)
            check_equal((run.status, run.stdout, run.stderr),
                        (3, b"done\n", b""), (name, part))
            run.done()


@test
def marks_and_phases():
    for name in PHASES:
        run = Run([name])
        check_equal((run.status, run.stdout, run.stderr),
                    (3, b"done\n", b""), name)
        marks = run.trace.marks
        check_equal([(m["kind"], m["value"], m["text"]) for m in marks],
                    [(PHASE_BEGIN, 0, "load"), (MARK_TEXT, 0, "half of it"),
                     (PHASE_END, 0, "load"), (PHASE_BEGIN, 0, "serve"),
                     (PHASE_BEGIN, 0, ""),
                     (MARK_NUMBER, 1234567890123, "requests"),
                     (PHASE_END, 0, "serve"), (MARK_TEXT, 0, ""),
                     (MARK_TEXT, 0, "x" * 4096), (MARK_TEXT, 0, ""),
                     (MARK_TEXT, 0, "\udcff\x01 \xe4")], name)
        check_equal({m["thread"] for m in marks}, {1}, "threads")
        ticks = [m["tick"] for m in marks]
        check_equal(ticks, sorted(ticks), "order")
        for begin, end, want in ((0, 1, [2000] * 5), (1, 2, [2001] * 5),
                                 (2, 3, [1001] * 3), (5, 6, [3000] * 7),
                                 (6, 10, [])):
            check_equal(sizes_between(run, 1, ticks[begin], ticks[end]), want,
                        (name, begin))
        check_equal(run.trace.ends[0]["event_count"], len(run.trace.events))
        run.done()


@test
def phases_of_threads():
    run = Run(["phases_pie", "threads"], keep_stacks=False)
    for thread in range(2, 6):
        number, = {ev.size - 100 for ev in run.trace.events
                   if ev.thread == thread and 100 <= ev.size < 104}
        mine = [m for m in run.trace.marks if m["thread"] == thread]
        check_equal(len(mine), 400, "marks")
        for i, mark in enumerate(mine[:-1]):
            check_equal(mark["kind"], PHASE_BEGIN + i % 2)
            check_equal(sizes_between(run, thread, mark["tick"],
                                      mine[i + 1]["tick"]),
                        [4000 + number + i % 2 * 1000] * 3, (thread, i))
    run.done()


@test
def marks_in_signal_handlers():
    run = Run(["phases_pie", "handler"])
    check_equal([m["text"] for m in run.trace.marks], ["signal"] * 10)
    ticks = [m["tick"] for m in run.trace.marks]
    for begin, end in zip(ticks, ticks[1:]):
        check_equal(sizes_between(run, 1, begin, end), [8000] * 100)
    run.done()


@test
def marks_of_children_that_are_not_traced():
    run = Run(["sh", "-c", os.path.join(PROGRAMS, "phases_pie")])
    check_equal((run.stdout, run.trace.marks), (b"done\n", []))
    run.done()


def launch(*argv, cwd=None, **kept):
    """memprof-record itself.  Return: status, output, messages."""
    p = subprocess.run([RECORD, *argv], capture_output=True, text=True,
                       cwd=cwd, check=False, **kept)
    return p.returncode, p.stdout, p.stderr


@test
def started_by_one_that_is_not_traced():
    """Each has a trace: the second does not take the first one's name, nor
    the name of another file where it starts."""
    basic = os.path.join(PROGRAMS, "basic")
    starting = os.path.join(PROGRAMS, "starting_static")
    for options in [], ["--children"]:
        directory = tempfile.mkdtemp(prefix="memprof-test-100%p%")
        os.mkdir(os.path.join(directory, "sub"))
        for name in ("t.dat", "sub/t.dat"):
            with open(os.path.join(directory, name), "w",
                      encoding="utf-8") as f:
                f.write("of before")
        status, _, err = launch(*options, "-o", "t.dat", "--", starting,
                                basic, basic, cwd=directory)
        check_equal(status, 0, err)
        check_equal(sorted(os.listdir(directory)), ["sub", "t.dat", "t.dat.1"])
        check_equal(os.listdir(os.path.join(directory, "sub")), ["t.dat"])
        with open(os.path.join(directory, "sub/t.dat"), encoding="utf-8") as f:
            check_equal(f.read(), "of before")
        for name in ("t.dat", "t.dat.1"):
            trace = Trace(os.path.join(directory, name))
            check_equal(trace.process["arguments"], [basic], name)
        shutil.rmtree(directory)


@test
def names_that_are_relative():
    """To where it all began: not to where a child starts, nor to where the
    program is when recording is."""
    basic = os.path.join(PROGRAMS, "basic")
    alone = {"LD_PRELOAD": LIBRARY, PREFIX + "OUTPUT": "t.dat",
             PREFIX + "TRACK_CHILD_PROCESSES": "1"}
    record = [RECORD, "-q", "--children", "-o", "t.dat", "--"]
    for launcher, env in ((record, {}), ([], alone)):
        directory = tempfile.mkdtemp(prefix="memprof-test-")
        sub = os.path.join(directory, "sub")
        os.mkdir(sub)
        env = dict(os.environ, **env, **{PREFIX + "LOG": "info",
                                         PREFIX + "LOGFILE": "log"})
        subprocess.run([*launcher, "sh", "-c", "cd sub && \"$0\"; :", basic],
                       env=env, cwd=directory, stdout=subprocess.DEVNULL,
                       check=True)
        check_equal(os.listdir(sub), [], launcher)
        names = [name for name in os.listdir(directory)
                 if name.startswith("t.dat")]
        check([basic] in [Trace(os.path.join(directory, name))
                          .process["arguments"] for name in names], names)
        check(os.path.exists(os.path.join(directory, "log")), "the log")
        env[PREFIX + "DISABLE_BY_DEFAULT"] = "1"
        env[PREFIX + "OUTPUT"] = "late.dat"
        subprocess.run(["sh", "-c", "cd sub && kill -USR1 $$; :"], cwd=directory,
                       env=dict(env, LD_PRELOAD=LIBRARY), check=True)
        check_equal(os.listdir(sub), [], "started late")
        check(os.path.exists(os.path.join(directory, "late.dat")), "late.dat")
        shutil.rmtree(directory)


@test
def traces_that_cannot_be_made():
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    open(os.path.join(directory, "file"), "w", encoding="utf-8").close()
    for output, why in (("nodir/x", "No such file"),
                        ("nodir/%p.dat", "No such file"),
                        (".", "Is a directory"), ("file/x", "Not a dir"),
                        ("/dev/null", "It is no regular file"),
                        ("x" * 300, "name too long"),
                        ("x" * 2000, "name too long")):
        for argv, env in ((["-o", output], {}),
                          ([], {PREFIX + "OUTPUT": output})):
            status, out, err = launch(*argv, "--", "sh", "-c",
                                      "echo ran >>file", cwd=directory,
                                      env=dict(os.environ, **env))
            check_equal((status, out), (125, ""), output[:20])
            check(why in err and len(err.splitlines()) == 1, err)
    check_equal(os.path.getsize(os.path.join(directory, "file")), 0,
                "the program has run")
    shutil.rmtree(directory)


@test
def live_file_that_is_not_ours():
    """It stays, and the trace is completed without it."""
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    path = os.path.join(directory, "t.dat")
    with open(path + ".live", "w", encoding="utf-8") as f:
        f.write("my own " * 1000)
    for steps, status in (["alloc"], 0), (["alloc", "kill"], -signal.SIGKILL):
        got, _, err = launch("-o", path, "--", os.path.join(PROGRAMS, "steps"),
                             *steps)
        check_equal(got, status, err)
        check("t.dat.live: not of this trace, left there" in err, err)
        check("Invalid" not in err, err)
        check_equal(os.path.getsize(path + ".live"), 7000)
        alone = shutil.copy(path, os.path.join(directory, "alone.dat"))
        check_equal(len(Trace(alone).ends), 1, steps)
    shutil.rmtree(directory)


@test
def options_that_set_variables():
    directory = os.path.realpath(tempfile.mkdtemp(prefix="memprof-test-"))
    path = os.path.join(directory, "t.dat")
    for option, line in (("--no-free-stacks", "GRAB_BACKTRACES_ON_FREE=0"),
                         ("--zero-memory", "ZERO_MEMORY=1"),
                         ("--cull", "CULL_TEMPORARY_ALLOCATIONS=1"),
                         ("--cull-lifetime=7",
                          "CULL_TEMPORARY_ALLOCATIONS=1"),
                         ("--cull-lifetime=7",
                          "TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD=7"),
                         ("--cull-pending=7",
                          "TEMPORARY_ALLOCATION_PENDING_THRESHOLD=7"),
                         ("--no-helper", "HELPER=0"),
                         ("--disable-at-start", "DISABLE_BY_DEFAULT=1"),
                         ("--duration=1.25", "DURATION=1.25"),
                         ("--no-signals", "REGISTER_SIGUSR1=0"),
                         ("--no-signals", "REGISTER_SIGUSR2=0"),
                         ("--rotate=64M,10m", "ROTATE=67108864,600s"),
                         ("--rotate=1.5GiB", "ROTATE=1610612736,0s"),
                         ("--rotate=0.25kB,1.5min", "ROTATE=250,90s"),
                         ("--rotate=1.000000001T", "ROTATE=1099511628875,0s"),
                         ("--children", "TRACK_CHILD_PROCESSES=1"),
                         (f"--chown={os.getuid()}",
                          f"CHOWN_OUTPUT_TO={os.getuid()}"),
                         ("--log-file=%e.log", f"LOGFILE={directory}/%e.log"),
                         ("--log=debug", "LOG=debug")):
        status, out, err = launch("-q", "-o", path, "--log=info", option,
                                  "true", cwd=directory)
        check_equal((status, out), (0, ""), option)
        log = os.path.join(directory, "true.log")
        if os.path.exists(log):
            with open(log, encoding="utf-8") as f:
                err += f.read()
        check(f" {PREFIX}{line}\n" in err, option, err)
    for option in ("--log=of", "--log=", "--chown=root", "--chown",
                   "--duration=0", "--duration=.", "--duration=-1",
                   "--duration=1m", "--rotate=", "--rotate=M", "--rotate=1x",
                   "--rotate=1M,", "--rotate=1.5", "--rotate=1.M",
                   "--rotate=.5M", "--rotate=1.0000000001M",
                   "--rotate=18446744073709551615.5M", "--rotate=0",
                   "--rotate=0.0001k", "--rotate=1,1", "--rotate=1m,1h",
                   "--rotate=1,1m,1"):
        status, _, err = launch("-o", path, option, "true", cwd=directory)
        check_equal(status, 125, option)
        check("--" in err, err)
    for option, says in (("--chown=me", "--chown takes the number of a user"),
                         ("--rotate=M", "64M, 10m or 64M,10m, not 'M'"),
                         ("--output=-", "standard output takes no trace"),
                         ("--output=", "takes the name of a file"),
                         ("--output=%", "%n and %% are placeholders"),
                         ("--output=a%q", "%n and %% are placeholders"),
                         ("--output=/dev/null", "is no regular file")):
        status, out, err = launch(option, "echo", "x", cwd=directory)
        check_equal((status, out), (125, ""), option)
        check(says in err, option, err)
    for option in ("--help", "--version"):
        with open("/dev/full", "w", encoding="utf-8") as full:
            p = subprocess.run([RECORD, option], stdout=full, text=True,
                               stderr=subprocess.PIPE, check=False)
        check_equal(p.returncode, 125, option)
        check("standard output: " in p.stderr, option, p.stderr)
    shutil.rmtree(directory)


@test
def launcher_to_its_own_output():
    """By the name of /dev/stdout it is a regular file like any."""
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    path = os.path.join(directory, "out")
    with open(path, "w", encoding="utf-8") as out:
        p = subprocess.run([RECORD, "-o", "/dev/stdout", "echo", "x"],
                           stdout=out, stderr=subprocess.PIPE, text=True,
                           check=False)
    check_equal((p.returncode, os.path.getsize(path)), (125, 0))
    check("or standard output" in p.stderr, p.stderr)
    shutil.rmtree(directory)


@test
def launcher_without_a_name():
    status, out, err = launch("echo", "x",
                              env=dict(os.environ, **{PREFIX + "OUTPUT": ""}))
    check_equal((status, out), (0, "x\n"))
    check("OUTPUT is empty" in err, err)


@test
def under_valgrind():
    if not shutil.which("valgrind"):
        raise Skip("valgrind")
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    for tool, says in (("memcheck", True), ("none", False)):
        status, _, err = launch("--children", "-o", "t.%p", "valgrind", "-q",
                                "--tool=" + tool, "true", cwd=directory)
        check_equal(status, 0, tool)
        check_equal("valgrind has put an allocator in front" in err, says,
                    f"{tool}: {err}")
    shutil.rmtree(directory)


def killed_under(shell):
    """Has steps recorded, and killed, with the rest of a shell's command."""
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    path = os.path.join(directory, "t.dat")
    p = subprocess.run([*shell, RECORD, "-q", "-o", path, "--",
                        os.path.join(PROGRAMS, "steps"), "alloc", "kill"],
                       env=dict(os.environ, MEMORY_PROFILER_HELPER="0"),
                       capture_output=True, text=True, timeout=100)
    check_equal((p.returncode, p.stderr), (-signal.SIGKILL, ""), shell)
    check_equal(os.listdir(directory), ["t.dat"], shell)
    trace = Trace(path)
    check_equal(sum(1000 <= ev.size < 2000 for ev in trace.events
                    if ev.kind == "malloc"), 1000, shell)
    check_equal([end["how"] for end in trace.ends], [SIGNALLED], shell)
    shutil.rmtree(directory)


@test
def launcher_with_few_descriptors():
    killed_under(["sh", "-c", 'ulimit -n 5; exec "$@"', "sh"])


@test
def launcher_without_proc():
    hide = ["unshare", "-m", "sh", "-c",
            'mount -t tmpfs none /proc && exec "$@"', "sh"]
    if not shutil.which("unshare") or subprocess.run(
            [*hide, "true"], capture_output=True).returncode != 0:
        raise Skip("hiding /proc")
    killed_under(hide)


class Toggled:
    """The program toggled, fed byte by byte."""

    def __init__(self, mode="", record=None, output="trace.dat",
                 ignored=False, traced=True, **settings):
        self.dir = tempfile.mkdtemp(prefix="memprof-test-")
        self.path = os.path.join(self.dir, output)
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(PREFIX)}
        env.update({PREFIX + k: v for k, v in settings.items()})
        argv = [os.path.join(PROGRAMS, "toggled"), mode]
        if record is not None:
            argv = [RECORD, "-o", self.path, *record, "--", *argv]
        elif traced:
            env.update({"LD_PRELOAD": LIBRARY, PREFIX + "OUTPUT": self.path})
        self.process = subprocess.Popen(
            argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, cwd=self.dir, bufsize=0,
            preexec_fn=(lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN))
            if ignored else None)

    def feed(self, text):
        for byte in text.encode():
            self.process.stdin.write(bytes([byte]))
            check_equal(self.process.stdout.read(1), bytes([byte]), "echo")

    def read(self):
        return self.process.stdout.read(1)

    def send(self, number=signal.SIGUSR1):
        self.process.send_signal(number)

    def end(self, status=4):
        """Return: what it wrote on standard error."""
        _, err = self.process.communicate(timeout=120)
        check_equal(self.process.returncode, status, err)
        return err.decode()

    def pieces(self, in_part=False):
        """Return: what was fed, and how it ended, by the file's name."""
        found = {}
        for name in os.listdir(self.dir):
            if name.endswith(".live"):
                raise AssertionError(f"{name} was left")
            trace = Trace(os.path.join(self.dir, name))
            check_equal(trace.damaged, 0, name)
            check_equal(len(trace.ends), 1, f"END chunks of {name}")
            fed = [chr(ev.size // 1000) for ev in trace.events
                   if ev.kind == "malloc" and ev.size % 1000 == 0 and
                   ev.size >= 32000]
            for letter in () if in_part else set(fed):
                check_equal(fed.count(letter) % 100, 0, (name, letter))
            # A recording in part may lack the free of its last block.
            check_equal(sum(ev.kind == "free" and
                            bool(ev.stack) for ev in trace.events) >=
                        len(fed) // 10 - in_part, True, "frees")
            found[name] = ("".join(fed[::100]), trace.ends[0]["how"])
        return found

    def done(self):
        shutil.rmtree(self.dir, ignore_errors=True)


@test
def signals_start_and_stop():
    run = Toggled()
    run.feed("ab")
    run.send()
    run.feed("cd")
    run.send(signal.SIGUSR2)
    run.feed("ef")
    run.send(signal.SIGUSR2)
    run.feed("g")
    run.send()
    run.feed("h")
    check_equal(run.end(), "")
    check_equal(run.pieces(), {"trace.dat": ("ab", STOPPED),
                               "trace.dat.1": ("ef", STOPPED),
                               "trace.dat.2": ("h", EXIT)})
    run.done()


@test
def files_numbered_by_their_start():
    run = Toggled(output="trace-%n.dat")
    run.feed("a")
    run.send()
    run.send(signal.SIGUSR2)
    run.feed("b")
    check_equal(run.end(), "")
    check_equal(run.pieces(), {"trace-0.dat": ("a", STOPPED),
                               "trace-1.dat": ("b", EXIT)})
    run.done()


@test
def complete_while_the_program_waits():
    run = Toggled()
    run.feed("a")
    run.send()
    wait_for(run.process, lambda: not os.path.exists(run.path + ".live"))
    check_equal(run.pieces(), {"trace.dat": ("a", STOPPED)})
    run.feed("b")
    check_equal(run.end(), "")
    check_equal(run.pieces(), {"trace.dat": ("a", STOPPED)})
    run.done()


@test
def started_by_a_signal():
    run = Toggled(DISABLE_BY_DEFAULT="1")
    run.feed("ab")
    check_equal(os.listdir(run.dir), [])
    run.send()
    run.feed("cd")
    check_equal(run.end(), "")
    check_equal(run.pieces(), {"trace.dat": ("cd", EXIT)})
    run.done()
    run = Toggled(DISABLE_BY_DEFAULT="1")
    run.feed("ab")
    check_equal(run.end(), "")
    check_equal(os.listdir(run.dir), [])
    run.done()


@test
def signals_that_are_not_ours():
    run = Toggled(REGISTER_SIGUSR1="0")
    run.feed("a")
    run.send(signal.SIGUSR2)
    run.feed("b")
    run.send()
    run.end(-signal.SIGUSR1)
    check_equal(run.pieces(), {"trace.dat": ("a", STOPPED)})
    run.done()
    run = Toggled(record=["-q", "--no-signals"])
    run.feed("a")
    run.send(signal.SIGUSR2)
    run.process.wait(timeout=100)  # memprof-record passes it on
    run.end(-signal.SIGUSR2)
    check_equal(run.pieces(), {"trace.dat": ("a", SIGNALLED)})
    run.done()


@test
def handlers_of_the_program():
    for mode, ignored in (("caught", False), ("waited", False), ("", True),
                          ("caught", True)):
        run = Toggled(mode, ignored=ignored)
        for letter in "abc":
            run.feed(letter)
            run.send()
            if mode:
                check_equal(run.read(), b"!" if mode == "caught" else b".",
                            (mode, ignored))
        check_equal(run.end(), "")
        check_equal(run.pieces(), {"trace.dat": ("abc", EXIT)}, (mode, ignored))
        run.done()


@test
def children_die_of_the_signal():
    run = Toggled("child")
    check_equal(run.read(), b"+", "the child's end")
    run.feed("a")
    run.send()
    run.feed("b")
    check_equal(run.end(), "")
    check_equal(run.pieces(), {"trace.dat": ("a", STOPPED)})
    run.done()


@test
def starts_and_stops_among_threads():
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    path = os.path.join(directory, "trace.dat")
    counts = os.path.join(directory, "n")
    threads, pieces, enough = 3, 8, 200
    names = ["trace.dat", *(f"trace.dat.{n}" for n in range(1, pieces))]
    env = {k: v for k, v in os.environ.items() if not k.startswith(PREFIX)}
    env.update({"LD_PRELOAD": LIBRARY, PREFIX + "OUTPUT": path})
    program = subprocess.Popen(
        [os.path.join(PROGRAMS, "sequence"), counts, str(threads),
         "100000000000"], env=env)
    wait_for(program, lambda: os.path.exists(counts))
    for number, name in enumerate(names):
        live = os.path.join(directory, name) + ".live"
        if number:
            program.send_signal(signal.SIGUSR1)
        wait_for(program, lambda: os.path.exists(live))
        goal = sum(read_progress(counts)) + enough
        wait_for(program, lambda: sum(read_progress(counts)) >= goal)
        time.sleep(0.001 * (number % 4))
        program.send_signal(signal.SIGUSR2)
        wait_for(program, lambda: not os.path.exists(live))
    program.kill()
    program.wait()
    check_equal(sorted(os.listdir(directory)), ["n", *names])
    events = sum(check_numbered(os.path.join(directory, name), threads,
                                [STOPPED]) for name in names)
    check(events > pieces * enough, "events", events)
    shutil.rmtree(directory)


def check_numbered(path, threads, how):
    """Each thread's blocks are there in order, without a gap."""
    trace = Trace(path, keep_stacks=False)
    check_equal((trace.damaged, len(trace.ends)), (0, 1), path)
    check(trace.ends[0]["how"] in how, path, trace.ends[0])
    for thread in range(threads):
        got = [ev.size % 1000 for ev in trace.events
               if ev.kind == "malloc" and ev.size // 1000 == thread + 1]
        want = [(got[0] + i) % 1000 for i in range(len(got))] if got else []
        check(got == want, path, "thread", thread, "lacks events")
    return len(trace.events)


@test
def signals_inside_an_event():
    run = Toggled("inside")
    check_equal(run.end(), "")
    names = os.listdir(run.dir)
    events = sum(check_numbered(os.path.join(run.dir, name), 1,
                                [STOPPED, EXIT]) for name in names)
    check(len(names) > 1 and events > 100, len(names), events)
    run.done()


def is_complete(path):
    """Whether the trace has its end: .live is not there at first, either."""
    return (not os.path.exists(path + ".live") and
            os.path.getsize(path) > PREAMBLE_BYTES and
            bool(Trace(path, keep_stacks=False).ends))


def feed_until_complete(run, letter):
    """Feeds one letter again and again until the trace has its end."""
    while not is_complete(run.path):
        run.feed(letter)


def has_recorded_for(seconds, **settings):
    """Return: whether the program had its first byte within that time; what
    comes after it is not recorded."""
    run = Toggled(DURATION=seconds, **settings)
    run.feed("a")
    feed_until_complete(run, "b")
    run.feed("z")
    check_equal(run.end(), "")
    (fed, how), = run.pieces(in_part=True).values()
    check(how == STOPPED and fed.rstrip("b") in ("a", ""), settings, fed, how)
    run.done()
    return fed.startswith("a")


@test
def recorded_for_a_time():
    for settings in ({}, {"HELPER": "0"}):
        check(any(has_recorded_for(seconds, **settings)
                  for seconds in ("0.3", "3", "30")), settings)
    run = Toggled(record=["-q", "--duration=0.3", "--disable-at-start"])
    run.feed("a")
    check_equal(os.listdir(run.dir), [])
    run.send()
    wait_for(run.process, lambda: os.path.exists(run.path))
    feed_until_complete(run, "b")
    run.feed("c")
    check_equal(run.end(), "")
    (fed, how), = run.pieces(in_part=True).values()
    check_equal((fed.rstrip("b"), how), ("", STOPPED))
    run.done()


@test
def pieces_under_the_launcher():
    run = Toggled(record=[])
    run.feed("a")
    children, = children_of(run.process.pid)
    os.kill(children, signal.SIGUSR1)
    run.feed("b")
    os.kill(children, signal.SIGUSR1)
    run.feed("c")
    os.kill(children, signal.SIGKILL)
    err = run.end(-signal.SIGKILL)
    check_equal(run.pieces(), {"trace.dat": ("a", STOPPED),
                               "trace.dat.1": ("c", SIGNALLED)})
    check("1 more piece of it" in err, err)
    run.done()
    run = Toggled(record=["--disable-at-start"])
    run.feed("a")
    check("never started" in run.end())
    check_equal(os.listdir(run.dir), [])
    run.done()


@test
def pieces_by_the_program():
    for part in ("pieces", "old"):
        run = Run(["phases_pie", part])
        check_equal((run.status, run.stdout, run.stderr), (3, b"done\n", b""))
        if part == "pieces":
            check_equal(run.truth, ["recording 0", "recording 1"])
        sizes = [[size for size in one.sizes() if size // 10 == 700]
                 for one in (run, later(run))]
        check_equal(sizes, [[7000] * 10, [7002] * 10], part)
        check_equal([m["value"] for m in later(run).trace.marks],
                    [4294967295] if part == "old" else [])
        run.done()
    run = controlled(["phases_pie", "pieces"], DISABLE_BY_DEFAULT="1")
    check_equal([size for size in run.sizes() if size // 10 == 700],
                [7002] * 10, "started by the program alone")
    check_equal(os.listdir(run.dir), ["trace.dat"])
    run.done()


@test
def flushed_while_the_program_runs():
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    path = os.path.join(directory, "trace.dat")
    env = dict(os.environ, LD_PRELOAD=LIBRARY, MEMORY_PROFILER_OUTPUT=path)
    program = subprocess.Popen([os.path.join(PROGRAMS, "phases_pie"),
                                "flush"], env=env, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    check_equal(program.stdout.readline(), b"flushed\n")
    copy = shutil.copy(path, os.path.join(directory, "copy.dat"))
    sizes = [ev.size for ev in Trace(copy).events]
    check_equal(sizes.count(6000), 100, "without PATH.live")
    check_equal(program.communicate(b"x", timeout=60)[0], b"done\n")
    sizes = [ev.size for ev in Trace(path).events]
    check_equal((sizes.count(6000), sizes.count(6001)), (100, 100))
    shutil.rmtree(directory)


if __name__ == "__main__":
    sys.exit(run_tests())
