# SPDX-License-Identifier: MIT
"""What a benchmark ran on."""
import os
import platform


def describe():
    try:
        with open("/proc/cpuinfo") as info:
            model = next(line.split(":", 1)[1].strip() for line in info
                         if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.machine()
    return {"cpu": model, "cores": len(os.sched_getaffinity(0)),
            "kernel": platform.release(), "load": os.getloadavg()[0]}


def sentence(machine):
    busy = machine["load"] >= machine["cores"] / 2
    return (f"{machine['cpu']}, {machine['cores']} cores, Linux "
            f"{machine['kernel']}, load at the start {machine['load']:.1f}"
            f"{' (others work here: rely on CPU time)' * busy}.")
