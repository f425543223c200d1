#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""corruption.py - a trace cut at every byte, and flipped at every byte.

Runs the sanitized memprof-report in full, from the file to the artifact.  Each
run must end with a documented status, name file and offset when something is
wrong, and write whole JSON when it writes.
"""
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPORT = os.environ.get("MEMPROF_REPORT", ROOT / "build/asan/memprof-report")
OK, UNREADABLE, DAMAGED = 0, 3, 4
ARTIFACTS = ("summary", "allocations", "groups", "mmaps")


def problem(name, data, work, artifact, allowed):
    """Why the report on @data is wrong, or None."""
    path = work / f"{name}.dat"
    path.write_bytes(data)
    run = subprocess.run([REPORT, "--as", artifact, path.name], cwd=work,
                         capture_output=True, timeout=300, check=False)
    path.unlink()
    errors = run.stderr.decode(errors="replace")
    if run.returncode not in allowed:
        return f"{name}: status {run.returncode}: {errors[-2000:]}"
    if run.returncode == OK:
        good = not errors or "offset" in errors
    else:
        good = path.name in errors
        # An empty file has no offset to name.
        good = good and ("offset" in errors or not data)
    if not good:
        return f"{name}: the message names no place: {errors!r}"
    if run.returncode != UNREADABLE:
        try:
            json.loads(run.stdout)
        except ValueError as error:
            return f"{name}: {artifact} is not JSON: {error}"
    return None


def cuts(trace):
    """A cut between two chunks is a killed program, anything else damage."""
    for size in range(len(trace)):
        yield f"cut-{size}", trace[:size], (OK, UNREADABLE, DAMAGED)


def flips(trace, rng):
    """Every byte stands under a checksum, so no flip may pass."""
    for at, byte in enumerate(trace):
        flipped = bytes([byte ^ 1 << rng.randrange(8)])
        yield (f"flip-{at}", trace[:at] + flipped + trace[at + 1:],
               (UNREADABLE, DAMAGED))


def main():
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        subprocess.run([ROOT / "tests/cli/make_trace.py", work / "whole.dat"],
                       check=True)
        trace = (work / "whole.dat").read_bytes()
        cases = [*cuts(trace), *flips(trace, rng),
                 ("whole", trace, (OK,))]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = [pool.submit(problem, case, data, work,
                                ARTIFACTS[i % len(ARTIFACTS)], allowed)
                    for i, (case, data, allowed) in enumerate(cases)]
            found = [text for text in (job.result() for job in jobs) if text]
    for text in found[:20]:
        print(text)
    print(f"{len(cases) - len(found)} passed, {len(found)} failed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
