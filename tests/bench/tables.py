# SPDX-License-Identifier: MIT
"""Figures as Markdown tables."""

MIB = 1 << 20
DASH = "–"

# Title, figure, goal, how the figure is written.  {peer} stands for heaptrack.
GOALS = (
    ("ns wall per event", "wall_ns_each", 60, lambda value: f"{value:.0f}"),
    ("ns CPU per event", "cpu_ns_each", 60, lambda value: f"{value:.0f}"),
    ("trace B per pair", "trace_bytes_per_pair", 4, lambda value: f"{value:.1f}"),
    ("added MiB", "added_rss_all", 24 * MIB, lambda value: f"{value / MIB:.1f}"),
)
GOAL_OF_HEAPTRACK = 0.25
# Workloads that the goals are for; the others vary one of these.
GOAL_WORKLOADS = ("sqlite3", "python3", "cc1plus", "cc1plus-headers",
                  "threads-4", "recursion", "redis")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |",
             "| --- " + "| ---: " * (len(head) - 1) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def both(figure, form, scale=1):
    """A median, and the least in brackets."""
    if figure is None:
        return DASH
    return (form.format(figure["median"] / scale) + " (" +
            form.format(figure["least"] / scale) + ")")


def median(figure, form, scale=1):
    return DASH if figure is None else form.format(figure["median"] / scale)


def wall_cell(own):
    """Says so when the last process ended later than the command."""
    cell = both(own["wall_s"], "{:.3f}")
    last = own["wall_all_s"]["median"]
    if last > own["wall_s"]["median"] * 1.05:
        cell += f"; last process {last:.3f}"
    return cell


def ratio_cell(own, what, peer):
    ratio = own.get("ratio_" + what, {}).get(peer.name)
    return DASH if ratio is None else f"{ratio:.2f}"


def why_not(case):
    return "not installed" if case.missing else "failed"


def notes(result):
    """Why cells are empty, and what else was found."""
    lines = [f"{case.label}: {case.missing}." for case in result.cases
             if case.missing]
    for case in result.cases:
        if case.name in result.failures:
            limit = case.address_space_bytes
            lines.append(f"{case.label} failed: {result.failures[case.name]}" +
                         (f" (limit of a process: {limit >> 30} GiB)" if limit
                          else "") + ".")
    return lines + result.notes


def measured_peers(result):
    return [case for case in result.cases
            if case.heaptrack and result.measured(case)]


def server_table(result, figures):
    plain = figures["untraced"]["requests_per_s"]["median"]
    rows = []
    for case in result.cases:
        if case.name in figures:
            own = figures[case.name]
            rate = own["requests_per_s"]["median"]
            rows.append([case.label, f"{rate:,.0f}", f"{rate / plain:.2f}",
                         median(own["p99_ms"], "{:.3f}")])
    return table(["", "requests/s", "of untraced", "p99 ms"], rows)


def workload_table(result, figures):
    """All cases of one workload."""
    unit, count = result.divisor()
    peers = measured_peers(result)
    head = ["", "wall s", "added", "CPU s", "added", f"ns wall/{unit}",
            f"ns CPU/{unit}", "peak MiB", "all processes", "B/pair"]
    head += [f"{what} / {peer.label}" for peer in peers for what in ("wall", "CPU")]
    rows = []
    for case in result.cases:
        own = figures.get(case.name)
        if own is None:
            rows.append([case.label, why_not(case)] +
                        [DASH] * (len(head) - 2))
            continue
        row = [case.label, wall_cell(own),
               both(own.get("added_wall_s"), "{:.3f}"),
               both(own["cpu_s"], "{:.3f}"),
               both(own.get("added_cpu_s"), "{:.3f}"),
               both(own.get("wall_ns_each"), "{:.0f}"),
               both(own.get("cpu_ns_each"), "{:.0f}"),
               median(own["rss_program"], "{:.1f}", MIB),
               median(own["rss_all"], "{:.1f}", MIB),
               median(own.get("trace_bytes_per_pair"), "{:.2f}")]
        row += [ratio_cell(own, what, peer)
                for peer in peers for what in ("wall_s", "cpu_s")]
        rows.append(row)
    text = f"## {result.workload.name}: {result.workload.about}\n\n"
    if result.counts:
        text += (f"{result.counts['events']:,} events, "
                 f"{result.counts['allocations']:,} pairs, "
                 f"{result.counts['backtraces']:,} backtraces.\n\n")
    text += table(head, rows)
    if result.workload.load:
        text += ("\n" + server_table(result, figures) + "\nThe load runs on the "
                 "same machine: of an idle one only, these figures and the\nwall "
                 "time say something about the tracer.\n")
    for note in notes(result):
        text += f"\n{note}\n"
    return text


def verdict(text, met):
    return f"{text} met" if met else f"**{text} not met**"


def ratio_verdict(result, own, peer):
    if not result.measured(peer):
        return why_not(peer)
    ratio = own.get("ratio_wall_s", {}).get(peer.name)
    if ratio is None or result.workload.load:
        return DASH
    return verdict(f"{ratio:.3f}", ratio <= GOAL_OF_HEAPTRACK)


def goal_row(result, figures, case, peers):
    """A server's wall time is that of its clients: no verdict on it."""
    own = figures[case.name]
    row = [f"{result.workload.name}, {case.label}"]
    row += [ratio_verdict(result, own, peer) for peer in peers]
    for _, name, goal, form in GOALS:
        figure = own.get(name)
        if figure is None or (result.workload.load and "wall" in name):
            row.append(DASH)
        else:
            row.append(verdict(form(figure["median"]), figure["median"] <= goal))
    return row


def goals_table(results):
    """@results: (result, figures) of each workload.  Empty: nothing to say."""
    wanted = [(result, figures) for result, figures in results
              if result.workload.name in GOAL_WORKLOADS]
    if not wanted:
        return ""
    peers = [case for case in wanted[0][0].cases
             if case.heaptrack and not case.missing]
    rows = [goal_row(result, figures, case, peers)
            for result, figures in wanted for case in result.cases
            if case.name in ("memprof", "memprof-nofree") and case.name in figures]
    if not rows:
        return ""
    head = [""] + [f"added wall / {peer.label} (≤ {GOAL_OF_HEAPTRACK})"
                   for peer in peers]
    head += [f"{title} (≤ {form(goal)})" for title, _, goal, form in GOALS]
    return "## Goals\n\n" + table(head, rows)


def scaling_table(results, cores):
    """Cost of an event with more threads, relative to one."""
    found = {result.workload.threads: (result, figures)
             for result, figures in results
             if result.workload.name.startswith("threads-")}
    if 1 not in found or len(found) == 1:
        return ""
    rows = []
    for case in found[1][0].cases:
        if case.name == "untraced" or case.missing:
            continue
        # CPU first: wall time is the one that others' work disturbs.
        for title, name in (("CPU", "cpu_ns_each"), ("wall", "wall_ns_each")):
            rows.append([f"{case.label}, {title}"] +
                        scaling_cells(found, case, name, cores))
    return ("## Threads at once\n\nns an event, in brackets over that of one thread.  "
            "Wall time is multiplied by the\nthreads that can run at once, at "
            f"most {cores} here.\n\n" +
            table([""] + [f"{n} thread{'s' * (n > 1)}" for n in sorted(found)],
                  rows))


def scaling_cells(found, case, name, cores):
    cells, one = [], None
    for count, (_, figures) in sorted(found.items()):
        figure = figures.get(case.name, {}).get(name)
        if figure is None:
            cells.append("failed")
            continue
        parallel = min(count, cores) if name == "wall_ns_each" else 1
        cost = figure["median"] * parallel
        one = cost if count == 1 else one
        ratio = f" ({cost / one:.2f})" if one and one > 0 else ""
        cells.append(f"{cost:.0f}{ratio}")
    return cells
