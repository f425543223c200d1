# SPDX-License-Identifier: MIT
"""The programs that are traced."""
import os
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROGRAMS = ("watch", "threads", "recursion", "short_threads")
REDIS_TESTS = "set,get,lpush"


class Missing(Exception):
    """A program is needed that is not installed."""


@dataclass
class Workload:
    """load(folder, process): drives a server; returns what it measured.
    per: what the cost is divided by instead of events, (name, how many)."""
    name: str
    about: str
    command: list
    env: dict = field(default_factory=dict)
    load: callable = None
    per: tuple = None
    threads: int = 1


def find_program(name, package):
    path = shutil.which(name)
    if not path:
        raise Missing(f"{name} is not installed (package {package})")
    return path


def build_programs(folder):
    """Compiles programs/*.c into @folder, where they are older or missing."""
    compiler = os.environ.get("CC") or "cc"
    header = os.path.join(HERE, "programs/random.h")
    os.makedirs(folder, exist_ok=True)
    for name in PROGRAMS:
        source = os.path.join(HERE, "programs", name + ".c")
        out = os.path.join(folder, name)
        newest = max(os.path.getmtime(source), os.path.getmtime(header))
        if os.path.exists(out) and os.path.getmtime(out) > newest:
            continue
        find_program(compiler.split()[0], "gcc")
        subprocess.run([*compiler.split(), "-std=gnu17", "-O2", "-g", "-Wall",
                        "-Wextra", "-pthread", "-o", out, source], check=True)


def sqlite3(tools, work, quick):
    rows = 12000 if quick else 120000
    script = os.path.join(HERE, "workloads/sqlite.sql")
    return Workload(
        "sqlite3", "SQL on tables in memory",
        [find_program("sqlite3", "sqlite3"), "-cmd",
         f"create table size(n); insert into size values({rows})",
         ":memory:", f".read '{script}'"])


def python3(tools, work, quick):
    """The interpreter itself: a version manager's shim would start another."""
    python = "/usr/bin/python3"
    if not os.access(python, os.X_OK):
        python = find_program("python3", "python3")
    script = os.path.join(ROOT, "tests/workloads/json_dict.py")
    turns = 1 if quick else 6
    return Workload(
        "python3", "JSON and dictionaries, PYTHONMALLOC=malloc",
        [os.path.realpath(python), "-c", "import runpy\n"
         f"for _ in range({turns}): runpy.run_path({script!r})"],
        env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0",
             "PYTHONDONTWRITEBYTECODE": "1"})


def compiler_command(work, source):
    """cc1plus alone, on preprocessed text: no driver, no children."""
    driver = find_program("g++", "g++")
    text = os.path.join(work, os.path.basename(source) + ".ii")
    subprocess.run([driver, "-O1", "-E", os.path.join(ROOT, source), "-o", text],
                   check=True)
    compiler = subprocess.run([driver, "-print-prog-name=cc1plus"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout.strip()
    return [find_program(compiler, "g++"), "-quiet", "-O1", "-fpreprocessed",
            text, "-o", "/dev/null"]


def cc1plus(tools, work, quick):
    return Workload("cc1plus", "tests/workloads/templates.cpp at -O1",
                    compiler_command(work, "tests/workloads/templates.cpp"))


def cc1plus_headers(tools, work, quick):
    return Workload("cc1plus-headers", "the library's larger headers at -O1",
                    compiler_command(work, "tests/bench/workloads/headers.cpp"))


def threads(count):
    def make(tools, work, quick):
        events = 50000 if quick else 1000000
        return Workload(
            f"threads-{count}",
            f"{count} thread{'s' * (count > 1)} allocating and freeing at once",
            [os.path.join(tools, "threads"), str(count), str(events)],
            threads=count)
    return make


def recursion(tools, work, quick):
    events = 50000 if quick else 1000000
    return Workload("recursion", "allocations 160 to 240 frames deep",
                    [os.path.join(tools, "recursion"), str(events)])


def short_threads(tools, work, quick):
    count = 500 if quick else 5000
    return Workload("short-threads", "a new thread for each pair of events",
                    [os.path.join(tools, "short_threads"), str(count)],
                    per=("thread", count))


# --- redis ------------------------------------------------------------------

def ask_redis(path, command):
    """One command over the socket at @path; the answer's first bytes."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(10)
        connection.connect(path)
        connection.sendall(command + b"\r\n")
        return connection.recv(64)


def wait_for_redis(path, process):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if ask_redis(path, b"PING").startswith(b"+PONG"):
                return
        except OSError:
            pass
        time.sleep(0.002)
    raise OSError("the server does not answer")


def parse_redis(text):
    """redis-benchmark's CSV: requests a second and p99 of each test."""
    rows = [[cell.strip('"') for cell in line.split(",")]
            for line in text.splitlines() if line.startswith('"')]
    return {row[0]: (float(row[rows[0].index("rps")]),
                     float(row[rows[0].index("p99_latency_ms")]))
            for row in rows[1:]}


def redis(tools, work, quick):
    requests = 5000 if quick else 100000
    benchmark = find_program("redis-benchmark", "redis-tools")
    server = find_program("redis-server", "redis-server")

    def load(folder, process):
        path = os.path.join(folder, "redis.sock")
        wait_for_redis(path, process)
        done = subprocess.run(
            [benchmark, "-s", path, "-n", str(requests), "-c", "50",
             "-t", REDIS_TESTS, "--csv"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            timeout=300)
        try:
            ask_redis(path, b"SHUTDOWN NOSAVE")
        except ConnectionError:
            pass  # it has gone already
        tests = parse_redis(done.stdout)
        if done.returncode or not tests:
            raise OSError("redis-benchmark failed")
        return summarise_redis(tests)

    return Workload(
        "redis", f"{len(REDIS_TESTS.split(','))} × {requests:,} requests, "
        "50 connections", [server, "--port", "0", "--unixsocket", "redis.sock",
                           "--save", "", "--appendonly", "no"], load=load)


def summarise_redis(tests):
    """Throughput of all the requests together; the worst of the tests' p99."""
    seconds = sum(1 / rps for rps, _ in tests.values())
    return {"requests_per_s": len(tests) / seconds,
            "p99_ms": max(p99 for _, p99 in tests.values())}


# name: how it is made, whether it is measured when none is named
WORKLOADS = {
    "sqlite3": (sqlite3, True),
    "python3": (python3, True),
    "cc1plus": (cc1plus, True),
    "cc1plus-headers": (cc1plus_headers, False),
    "threads-1": (threads(1), True),
    "threads-2": (threads(2), True),
    "threads-4": (threads(4), True),
    "threads-8": (threads(8), True),
    "recursion": (recursion, True),
    "redis": (redis, True),
    "short-threads": (short_threads, True),
}
