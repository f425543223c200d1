# SPDX-License-Identifier: MIT
"""From runs to figures: what a case adds to the untraced program."""
import statistics
from dataclasses import dataclass, field


@dataclass
class Result:
    """The runs of one workload.  runs[case][r] is round r's."""
    workload: object
    cases: list
    counts: dict = field(default_factory=dict)    # of one trace; see cases.py
    runs: dict = field(default_factory=dict)      # case name: its runs
    failures: dict = field(default_factory=dict)  # case name: reason
    notes: list = field(default_factory=list)

    def divisor(self):
        """What costs are given for each of, and how many there were."""
        return self.workload.per or ("event", self.counts.get("events", 0))

    def measured(self, case):
        return (not case.missing and case.name not in self.failures
                and bool(self.runs.get(case.name)))


def spread(values):
    return {"median": statistics.median(values), "least": min(values)}


def difference(runs, base, what):
    """The median compares runs of one round, the least all runs."""
    traced = [getattr(run, what) for run in runs]
    plain = [getattr(run, what) for run in base]
    return {"median": statistics.median(a - b for a, b in zip(traced, plain)),
            "least": min(traced) - min(plain)}


def divide(values, by):
    return {name: value / by for name, value in values.items()} if by else None


def compute_case(result, case):
    """The figures of one case that was measured."""
    runs, base = result.runs[case.name], result.runs["untraced"]
    count = result.divisor()[1]
    figures = {name: spread([getattr(run, name) for run in runs])
               for name in ("wall_s", "wall_all_s", "cpu_s", "rss_program",
                            "rss_all", "trace_bytes")}
    for name in runs[0].extra:
        figures[name] = {"median": statistics.median(
            run.extra[name] for run in runs)}
    if case.name == "untraced":
        return figures
    for name in ("wall_s", "cpu_s", "rss_program", "rss_all"):
        figures["added_" + name] = difference(runs, base, name)
    figures["wall_ns_each"] = divide(figures["added_wall_s"], count / 1e9)
    figures["cpu_ns_each"] = divide(figures["added_cpu_s"], count / 1e9)
    pairs = result.counts.get("allocations", 0)
    figures["trace_bytes_per_pair"] = divide(figures["trace_bytes"], pairs)
    return figures


def add_ratios(figures, cases):
    """Added time over that of each heaptrack, where both are known."""
    for peer in cases:
        if not peer.heaptrack or peer.name not in figures:
            continue
        for name, own in figures.items():
            if name == "untraced":
                continue
            for what in ("wall_s", "cpu_s"):
                whole = figures[peer.name]["added_" + what]["median"]
                part = own["added_" + what]["median"]
                if whole > 0:
                    own.setdefault("ratio_" + what, {})[peer.name] = part / whole


def compute(result):
    """Case name: its figures.  Cases without a number are not in it."""
    figures = {case.name: compute_case(result, case)
               for case in result.cases if result.measured(case)}
    add_ratios(figures, result.cases)
    return figures


def as_json(result, figures):
    cases = {}
    for case in result.cases:
        entry = {"label": case.label}
        if case.missing:
            entry["missing"] = case.missing
        elif case.name in result.failures:
            entry["failed"] = result.failures[case.name]
        entry.update(figures.get(case.name, {}))
        entry["runs"] = [{"wall_s": run.wall_s, "cpu_s": run.cpu_s}
                         for run in result.runs.get(case.name, [])]
        cases[case.name] = entry
    name, count = result.divisor()
    return {"about": result.workload.about, "threads": result.workload.threads,
            "each": {"name": name, "count": count}, **result.counts,
            "rounds": len(result.runs.get("untraced", [])), "cases": cases,
            "notes": result.notes}
