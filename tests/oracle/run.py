#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random views of several traces, against brute force over all allocations.

    tests/oracle/run.py [--rounds N] [--seed S] [--steady] [TRACE...]

Records a few programs and makes a few traces (or takes those named), reads the
JSON of all allocations of each, draws N views a trace (default 400, fewer of
large traces), and compares the rows, their order and every figure of
allocations and groups with what oracle.py finds, and trees, charts and CSV files
with what charts.py finds.  A view that differs is made as small as it can be and
printed as a spec.

With --steady nothing is drawn around times and addresses of the programs' runs,
so that it fails or passes whenever it is run; those of the made traces are the
same each time.

Beside the oracle, memprof-report is held against itself: conditions one by one
and together, pages of rows and the whole.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import charts
import dense
import maps
import oracle
from draw import MANY_ROWS, USES, Draw, View, bare, contradicts

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("MEMPROF_BUILD", "build/release")
RECORD, REPORT = BUILD / "memprof-record", BUILD / "memprof-report"
VIEWS_A_RUN = 100
PROBLEMS_MAX = 3   # of a trace; then it is given up
ROWS_FOR_ALL_ROUNDS = 2000


class Documented:
    """What docs/spec.md offers."""

    def __init__(self):
        self.text = (ROOT / "docs/spec.md").read_text()
        start = self.text.index("\n## Filter keys\n")
        end = self.text.index("\n## Artifacts\n")
        self.view_keys = self.headings(self.text[:start])
        self.keys = self.headings(self.text[start:end])
        start = self.text.index("\n## Maps\n")
        own = self.headings(self.text[start:end])
        shared = re.search("^These keys(.|\n)*?\n\n", self.text[start:end],
                           re.M)[0]
        self.map_keys = own + re.findall(r"`(\w+)`", shared)
        self.keys = [key for key in self.keys if key not in own]
        # May stand several times, meaning any of the values.
        self.repeating = [key for key in self.keys if
                          re.match("REGEX|LIST", self.section(key)) and
                          "LIST and REGEX as often as you" in self.text]
        sort = self.section("sort_by")
        self.sort_words = re.findall(r"`((?:only_matched|all)\.\w+)`", sort)
        self.sort_words += re.findall(r"^\| `(\w+)` \|", sort, re.M)
        self.lifetimes = re.findall(r"^\| `(\w+)` \|",
                                    self.section("lifetime"), re.M)

    @staticmethod
    def headings(text):
        return [key for line in re.findall(r"^### (.*)$", text, re.M)
                for key in re.findall(r"`(\w+)`", line)]

    def section(self, key):
        return re.search(rf"^### .*`{key}`.*\n((?:.|\n)*?)^##", self.text,
                         re.M).group(1)

    def lacking(self):
        """What the oracle does not know."""
        orders = {*oracle.ROW_ORDERS, *oracle.GROUP_ORDERS}
        return ([f"the key {key}" for key in self.keys
                 if bare(key) not in oracle.ALL_KEYS and bare(key) not in USES] +
                [f"the key {key} of maps" for key in self.map_keys
                 if bare(key) not in oracle.ALL_KEYS] +
                [f"sort_by = {word}" for word in self.sort_words
                 if word not in orders] +
                [f"lifetime = {word}" for word in self.lifetimes
                 if word not in oracle.LIFETIMES] +
                [f"{key} of groups" for key in GROUP_FIGURES if not
                 re.fullmatch(oracle.KNOWN_FIGURES, key)])


def group_figures():
    """Those of a row of groups, as its schema has them."""
    schema = json.loads((ROOT / "docs/schema/groups.schema.json").read_text())
    row = schema["properties"]["groups"]["items"]["properties"]
    return [key for key in row if key.startswith(("only_matched_", "all_"))]


GROUP_FIGURES = group_figures()

# Of artifacts whose files are not called as they are.
SUFFIXES = {"tree": "tree.txt", "flamegraph": "flamegraph.svg"}

# --- memprof-report ------------------------------------------------------------


class Refused(Exception):
    """memprof-report wrote nothing; its message."""


def report(*arguments):
    done = subprocess.run([REPORT, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise Refused(f"exit status {done.returncode}: "
                      f"{done.stderr.decode(errors='replace')}")
    return done.stdout


def load(data):
    return json.loads(data, parse_float=str)


def spec_of(views):
    lines = ["[report]", "pages = none"]
    for name, view in views:
        for section, settings in [
                *((f"filter {one}", inner) for one, inner in view.used().items()),
                (f"view {name}", [("artifacts", ", ".join(
                    ("allocations", "groups", *view.more))), *view.settings])]:
            lines += ["", f"[{section}]"]
            lines += [f"{key} = {text}" for key, text in settings]
    return "\n".join(lines) + "\n"


def url_of(settings):
    """The same for --view."""
    return "&".join(f"{key}={text.replace('%', '%25').replace('&', '%26')}"
                    for key, text in settings)


def ask(path, views):
    """{name: (allocations, groups, {more: text})} of [(name, view)]."""
    with tempfile.TemporaryDirectory() as work:
        spec = os.path.join(work, "spec.ini")
        out = os.path.join(work, "out")
        with open(spec, "w", encoding="utf-8") as file:
            file.write(spec_of(views))
        report("--quiet", "--spec", spec, "-o", out, path)
        result = {}
        for name, view in views:
            def read(suffix, name=name):
                suffix = SUFFIXES.get(suffix, suffix)
                return pathlib.Path(out, f"{name}.{suffix}").read_bytes()
            result[name] = (load(read("allocations.json")),
                            load(read("groups.json")),
                            {one: read(one).decode() for one in view.more})
    return result


def ask_by_view(path, settings):
    return (*(load(report("--quiet", "--view", url_of(settings), "--as", kind,
                          path)) for kind in ("allocations", "groups")), {})


# --- what a view must hold --------------------------------------------------------


def page(view, rows):
    """What skip and count leave of the rows of an order."""
    skip, count = oracle.number(view.get("skip", "0")), view.get("count", "all")
    return rows[skip:] if count == "all" else rows[skip:skip + oracle.number(count)]


def expected_rows(model, view, matched):
    """[(sort value, row)] in order."""
    key = oracle.ROW_ORDERS.get(view.get("sort_by"),
                                oracle.ROW_ORDERS["timestamp"])
    sign = -1 if view.get("order") == "dsc" else 1
    return sorted(((sign * key(model, row), row) for row in matched),
                  key=lambda one: (one[0], one[1].id))


def order_difference(got, want):
    """Of numbers in order, against [(sort value, number)]."""
    numbers = [number for _, number in want]
    return None if got == numbers else first_difference(got, numbers)


def group_order(view):
    """(sort word, sign)."""
    word = view.get("sort_by")
    if word not in oracle.GROUP_ORDERS:
        word = "only_matched.size"
    order = view.get("order", "asc" if word.endswith(("timestamp", "_at")) else
                     "dsc")
    return word, -1 if order == "dsc" else 1


def expected_groups(model, view, matched):
    """[(sort value, number, matched rows)] in order."""
    word, sign = group_order(view)
    half, figure = word.split(".")
    groups = {}
    for row in matched:
        groups.setdefault(row.group, []).append(row)
    result = []
    for group, rows in groups.items():
        figures = (model.figures(rows) if half == "only_matched" else
                   model.all_figures(group))
        result.append((sign * figures[figure], model.groups[group][0].id, group,
                       rows))
    return [(value, group, rows) for value, _, group, rows in sorted(
        result, key=lambda one: one[:2])]


def figure_differs(model, name, text, want):
    if name.endswith("interval"):
        return abs(oracle.nanoseconds(text) - want) > model.slack
    if name.endswith(("timestamp", "_at")):
        return oracle.nanoseconds(text) != want
    return text != want


def group_difference(model, row, matched):
    group = row["backtrace_id"]
    every = model.groups[group]
    want = {f"{half}_{name}": value for half, figures in
            (("only_matched", model.figures(matched)),
             ("all", model.all_figures(group)))
            for name, value in figures.items()}
    for key in GROUP_FIGURES:
        if key in want and (key not in row or figure_differs(
                model, key, row[key], want[key])):
            return f"group {group}: {key} is {row.get(key)}, not {want[key]}"
    if row.get("backtrace", every[0].frames) != every[0].frames:
        return f"group {group}: another backtrace"
    return None


def totals_difference(answer, matched, total):
    want = {"total_count": total, "matched_count": len(matched),
            "matched_bytes": sum(row.size for row in matched)}
    for key, value in want.items():
        if answer[key] != value:
            return f"{key} is {answer[key]}, not {value}"
    return None


def allocations_difference(model, view, matched, answer):
    every = [(value, row.id) for value, row in
             expected_rows(model, view, matched)]
    want, got = page(view, every), answer["allocations"]
    wrong = order_difference([row["id"] for row in got], want)
    if wrong:
        return "ids " + wrong
    for row in got:
        if row != model.rows[row["id"]].json:
            return (f"row {row} is not that of all allocations, "
                    f"{model.rows[row['id']].json}")
    return backtraces_difference(model, answer, got) or \
        totals_difference(answer, matched, len(matched))


def backtraces_difference(model, answer, rows):
    """The table beside the rows holds the stacks they name, and no other."""
    if "backtraces" not in answer:
        return None
    named = {str(row[key]) for row in rows
             for key in ("backtrace_id", "deallocation_backtrace_id")
             if key in row}
    if set(answer["backtraces"]) != named:
        return f"backtraces {sorted(answer['backtraces'])}, not {sorted(named)}"
    for number, frames in answer["backtraces"].items():
        if frames != model.backtraces[number]:
            return f"backtrace {number} is another"
    return None


def groups_difference(model, view, matched, answer):
    every = expected_groups(model, view, matched)
    want, got = page(view, every), answer["groups"]
    wrong = order_difference([row["backtrace_id"] for row in got],
                             [one[:2] for one in want])
    if wrong:
        return "groups " + wrong
    rows_of = {group: rows for _, group, rows in every}
    for row in got:
        different = group_difference(model, row, rows_of[row["backtrace_id"]])
        if different:
            return different
    return backtraces_difference(model, answer, got) or \
        totals_difference(answer, matched, len(every))


def first_difference(got, want):
    for at, pair in enumerate(zip(got, want)):
        if pair[0] != pair[1]:
            return (f"differ at row {at}: {pair[0]}, not {pair[1]} "
                    f"({len(got)} rows, not {len(want)})")
    return f"{len(got)} rows, not {len(want)}: {got[:8]}… not {want[:8]}…"


def difference(model, view, answer):
    """What is wrong with memprof-report's answer; None if nothing."""
    verdicts = oracle.verdicts(model, view.conditions(), view.filters)
    assert None not in verdicts
    matched = [row for row, passes in zip(model.rows, verdicts) if passes]
    problem = allocations_difference(model, view, matched, answer[0])
    if problem:
        return "allocations: " + problem
    problem = groups_difference(model, view, matched, answer[1])
    if problem:
        return "groups: " + problem
    for one, text in answer[2].items():
        problem = more_difference(model, view, matched, answer, one, text)
        if problem:
            return f"{one}: {problem}"
    return None


def more_difference(model, view, matched, answer, one, text):
    """Of a chart, or of a CSV file, which has the rows of the JSON."""
    if one in charts.CHARTS:
        return charts.CHARTS[one](model, view, matched, text)
    kind = charts.TABLES[one]
    return charts.csv_difference(
        model, answer[kind == "groups"][kind], text)


# --- one trace ---------------------------------------------------------------------


class Trace:
    def __init__(self, path, exact=False, orders=None, markers=None,
                 steady=False):
        self.path, self.exact, self.steady = str(path), exact, steady
        self.orders, self.markers = orders, markers
        self.name = os.path.basename(self.path)

    def read(self):
        document = load(report("--quiet", "--view", "", "--as", "allocations",
                               self.path))
        head = load(report("--quiet", "--as", "summary", self.path))["head"]
        mmaps = load(report("--quiet", "--as", "mmaps", self.path))["mmaps"]
        modules = load(report("--quiet", "--as", "modules", self.path))["modules"]
        self.model = oracle.Model(document, oracle.nanoseconds(head["run_time"]),
                                  self.exact, self.orders, self.markers, mmaps,
                                  modules)
        self.check_head(head)

    def check_head(self, head):
        rows, peak = self.model.rows, self.model.peak
        want = {"allocations": len(rows),
                "allocated_bytes": sum(row.size for row in rows),
                "leaked_count": sum(row.is_leaked for row in rows),
                "temporary": sum(row.temporary for row in rows)}
        if peak:
            want["peak_bytes"] = sum(rows[one].size
                                     for one in self.model.alive_at_peak)
            want["peak_blocks"] = len(self.model.alive_at_peak)
        for key, value in want.items():
            assert head[key] == value, (self.name, key, head[key], value)


class Examination:
    """Of one trace: draws, asks, compares."""

    def __init__(self, trace, seed, rounds):
        self.trace = trace
        self.passed, self.problems = 0, []
        trace.read()
        self.random = random.Random(f"{seed} {trace.name}")
        self.draw = Draw(trace.model, self.random, Documented(), trace.steady)
        rows = len(trace.model.rows)
        self.rounds = max(20, min(rounds, rounds * ROWS_FOR_ALL_ROUNDS // rows))
        self.matching = 0

    def run(self):
        self.compare_maps()
        left = self.rounds
        while left > 0 and len(self.problems) < PROBLEMS_MAX:
            count = min(left, VIEWS_A_RUN)
            self.compare([(f"v{n}", self.draw.view()) for n in range(count)])
            left -= count
        for _ in range(max(3, self.rounds // 100)):
            if len(self.problems) >= PROBLEMS_MAX:
                break
            self.compare_by_view()
            if len(self.trace.model.rows) <= MANY_ROWS:
                self.compare_with_itself()
                self.compare_opposites()

    def compare_maps(self):
        def ask(settings):
            return load(report("--quiet", "--view", url_of(settings), "--as",
                               "mmaps", self.trace.path))
        try:
            passed, drawn, problems = maps.compare(
                self.trace.model, self.draw.words, self.random,
                self.trace.steady, ask)
        except Refused as refused:
            passed, drawn, problems = 0, {}, [([], str(refused))]
        self.passed += passed
        for key, count in drawn.items():
            self.draw.drawn[key] = self.draw.drawn.get(key, 0) + count
        for settings, problem in problems:
            self.problems.append(f"FAILED {self.trace.name}: --view "
                                 f"'{url_of(settings)}' --as mmaps: {problem}\n")

    def compare(self, views):
        try:
            answers = ask(self.trace.path, views)
        except Refused as refused:
            if len(views) == 1:
                self.shrink(views[0][1], str(refused))
                return
            half = len(views) // 2
            for part in (views[:half], views[half:]):
                if len(self.problems) < PROBLEMS_MAX:
                    self.compare(part)
            return
        for name, view in views:
            if len(self.problems) >= PROBLEMS_MAX:
                break
            problem = difference(self.trace.model, view, answers[name])
            self.matching += answers[name][0]["matched_count"] > 0
            if problem:
                self.shrink(view, problem)
            else:
                self.passed += 1

    def compare_by_view(self):
        # sort_by names an order of one kind of rows, --as names one kind; there
        # are no sections.
        view = self.draw.view()
        view = View([(key, text) for key, text in view.settings
                     if key not in ("sort_by", "cost", "direction") and
                     bare(key) not in USES])
        try:
            problem = difference(self.trace.model, view, ask_by_view(
                self.trace.path, view.settings))
        except Refused as refused:
            problem = str(refused)
        if problem:
            self.fail(view, f"--view '{url_of(view.settings)}': {problem}")
        else:
            self.passed += 1

    def shrink(self, view, problem):
        """Leaves out what the difference does not need."""
        again = True
        while again:
            again = False
            for fewer in view.smaller():
                found = self.problem_of(fewer)
                if found and found.split(":")[0] == problem.split(":")[0]:
                    view, problem, again = fewer, found, True
                    break
        self.fail(view, problem)

    def problem_of(self, view):
        if None in oracle.verdicts(self.trace.model, view.conditions(),
                                   view.filters):
            return None
        try:
            return difference(self.trace.model, view, ask(
                self.trace.path, [("v", view)])["v"])
        except Refused as refused:
            return str(refused)

    def fail(self, view, problem):
        self.problems.append(f"FAILED {self.trace.name}: {problem}\n" +
                             spec_of([("v", view)]))

    # --- against itself ---------------------------------------------------------

    def compare_with_itself(self):
        """AND is intersection; pages put together are the whole."""
        one, two = self.draw.conditions(1), self.draw.conditions(1)
        words = [word for word in self.draw.sort_words if word in oracle.ROW_ORDERS]
        order = [("sort_by", self.random.choice(words)),
                 ("order", self.random.choice(("asc", "dsc")))]
        if {key for key, _ in one} & {key for key, _ in two} or contradicts(one + two):
            return
        both = one + two
        # These look at what stands beside them: the range, the frame.
        if any(text.endswith("_in_current_range") or
               key in ("function_regex", "source_regex", "library_regex")
               for key, text in both):
            return
        try:
            answers = ask(self.trace.path, [
                ("one", View(one)), ("two", View(two)), ("both", View(both)),
                ("few", View(both + order + [("count", "5")])),
                ("sorted", View(both + order))])
        except Refused as refused:
            self.fail(View(both + order), str(refused))
            return
        ids = {name: [row["id"] for row in answer[0]["allocations"]]
               for name, answer in answers.items()}
        for good, what in (
                (set(ids["one"]) & set(ids["two"]) == set(ids["both"]),
                 "two conditions are not the intersection of each"),
                (ids["both"] == sorted(ids["both"]),
                 "ids do not rise in the order of time"),
                (sorted(ids["sorted"]) == ids["both"],
                 "another order, other rows"),
                (ids["few"] == ids["sorted"][:5], "count is not the beginning")):
            if good:
                self.passed += 1
            else:
                self.fail(View(both + order), what)


    def compare_opposites(self):
        """What a key passes and what its opposite passes are all rows, and no
        row is in both."""
        keys = [key for key in self.draw.keys if "not_" + key in self.draw.keys]
        if not keys:
            return
        key = self.random.choice(keys)
        text = self.draw.text(key, self.draw.row())
        if text == "all":
            return
        views = [View([(key, text)]), View([("not_" + key, text)])]
        try:
            answers = ask(self.trace.path, [("yes", views[0]), ("no", views[1])])
        except Refused as refused:
            self.fail(views[0], str(refused))
            return
        both = [row["id"] for answer in answers.values()
                for row in answer[0]["allocations"]]
        if sorted(both) == list(range(len(self.trace.model.rows))):
            self.passed += 1
        else:
            self.fail(views[0], f"with not_{key} it is not everything once")


def examine(trace, seed, rounds):
    examination = Examination(trace, seed, rounds)
    examination.run()
    return (trace.name, len(trace.model.rows), examination.passed,
            examination.matching, examination.draw.drawn, examination.problems)


# --- traces --------------------------------------------------------------------------


def record(work, name, command, **environment):
    path = work / name
    subprocess.run([RECORD, "--quiet", "-o", path, "--", *command], check=False,
                   stdout=subprocess.DEVNULL,
                   env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1",
                            PYTHONHASHSEED="0", **environment))
    return Trace(path)


def build(work, compiler, source, *flags):
    out = work / source.stem
    subprocess.run([compiler, *flags, "-o", out, source], check=True)
    return out


def recorded(work):
    programs = ROOT / "tests/programs"
    yield record(work, "chains.dat", [build(
        work, "gcc", programs / "chains.c", "-O2", "-g", "-pthread")])
    yield record(work, "containers.dat", [build(
        work, "g++", programs / "containers.cpp", "-O1", "-g", "-pthread")])
    yield record(work, "sqlite3.dat", ["sqlite3", ":memory:", SQL])
    yield record(work, "python3.dat",
                 [os.path.realpath(sys.executable), "-S", "-c", "pass"],
                 PYTHONMALLOC="malloc")


SQL = """create table part(id integer primary key, name text, kind text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)
  insert into part select i, hex(randomblob(12)), 'kind ' || (i % 31) from n;
create index part_kind on part(kind);
select kind, count(*), length(group_concat(name)) from part group by kind;
"""


def generated(work, seed):
    for n in range(3):
        path = work / f"dense{n}.dat"
        made = dense.Dense(path, f"{seed} {n}", (200, 900, 2500)[n])
        yield Trace(path, True, made.orders, made.markers)
    path = work / "generated.dat"
    subprocess.run([BUILD / "tests/gen_trace", "-s", str(seed % 1000), "-t", "3",
                    "-n", "2000", "-d", "12", "-m", path], check=True)
    yield Trace(path, exact=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steady", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("traces", nargs="*")
    options = parser.parse_args()
    problems = [f"FAILED: docs/spec.md has what the oracle lacks: {one}"
                for one in Documented().lacking()]
    passed, drawn, matching = 0, {}, 0
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        if options.traces:
            traces = [Trace(path) for path in options.traces]
        else:
            programs = [*recorded(work)]
            for trace in programs:
                trace.steady = options.steady
            traces = [*generated(work, options.seed), *programs]
        with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
            for result in pool.map(examine, traces, *zip(
                    *[(options.seed, options.rounds)] * len(traces))):
                print(f"{result[0]}: {result[1]} allocations, "
                      f"{result[2]} comparisons, {result[3]} views not empty",
                      flush=True)
                passed += result[2]
                matching += result[3]
                for key, count in result[4].items():
                    drawn[key] = drawn.get(key, 0) + count
                for problem in result[5]:
                    print(problem)
                problems += result[5]
        if problems and not options.traces:
            keep = pathlib.Path(tempfile.mkdtemp(prefix="memprof-oracle-"))
            for trace in traces:
                if any(f" {trace.name}:" in one for one in problems):
                    shutil.copy(trace.path, keep)
            print(f"traces of the failures: {keep}")
    print("conditions drawn: " + ", ".join(
        f"{key} {count}" for key, count in drawn.items()))
    problems += [f"FAILED: {key} was never drawn" for key, count in drawn.items()
                 if not count]
    for problem in problems:
        if problem.startswith("FAILED:"):
            print(problem)
    if problems:
        print(f"again: tests/oracle/run.py --rounds {options.rounds} "
              f"--seed {options.seed}" + " --steady" * options.steady)
    print(f"{passed} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
