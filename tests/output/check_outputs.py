#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""check_outputs.py [DRAW_FIGURES] [--report DIR]... - artifacts read back by
other programs: SVG by xmllint, folded stacks by flamegraph.pl's grammar, JSON
by its schema, CSV by Python's reader and beside the JSON, files for heaptrack
by heaptrack_print.

DRAW_FIGURES (build/release/tests/draw_figures) draws the sample figures, which
are checked; so are reports about generated traces with every artifact there
is, and each report directory given.
"""
import argparse
import csv
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What flamegraph.pl does with a line; more than one number is a comparison.
GRAMMAR = r"""
my ($lines, $bad) = (0, 0);
while (<>) {
	chomp;
	$lines++;
	my ($stack, $samples) = (/^(.*)\s+?(\d+(?:\.\d*)?)$/);
	unless (defined $samples and defined $stack) {
		print "line $.: no number: $_\n"; $bad++; next;
	}
	if ($stack =~ /^(.*)\s+?(\d+(?:\.\d*)?)$/) {
		print "line $.: two numbers: $_\n"; $bad++;
	}
	print "line $.: an empty name\n", $bad++
		if grep { $_ eq "" } split(/;/, $stack, -1);
}
exit($bad ? 1 : 0);
"""


def check_svg(path):
    run = subprocess.run(["xmllint", "--noout", "--nonet", "--huge", path],
                         capture_output=True, text=True, check=False)
    return run.stderr.strip()


def check_folded(path):
    run = subprocess.run(["perl", "-e", GRAMMAR, path], capture_output=True,
                         text=True, check=False)
    lines = path.read_bytes().split(b"\n")
    if lines.pop() != b"":
        return "no newline at the end"
    stacks = [line.rsplit(b" ", 1)[0].split(b";") for line in lines]
    for before, after in zip(stacks, stacks[1:]):
        if before >= after and before != [b"[no stack]"]:
            return f"not sorted, or twice: {after}"
    return run.stdout.strip()


def no_constant(text):
    raise ValueError(f"{text} is not JSON")


def check_backtraces(document):
    """Rows name the backtraces that the document holds, each of them."""
    if "backtraces" not in document:
        return []
    named = {str(row[key]) for rows in document.values()
             if isinstance(rows, list) for row in rows
             for key in row if key.endswith("backtrace_id")}
    numbers = [int(number) for number in document["backtraces"]]
    wrong = [f"backtrace {number} is named or held, not both"
             for number in named ^ document["backtraces"].keys()]
    if numbers != sorted(numbers):
        wrong.append("backtraces are not in order")
    return wrong


def check_timeline(document):
    """Arrays of one length, levels that fit what came and went."""
    if not document["schema"].startswith("memprof/timeline/"):
        return []
    arrays = {key: value for key, value in document.items()
              if isinstance(value, list) and key != "marks"}
    if len({len(array) for array in arrays.values()}) > 1:
        return ["arrays of different lengths"]
    wrong = []
    if arrays["seconds"] != sorted(arrays["seconds"]):
        wrong.append("seconds do not rise")
    level = 0
    for i, highest in enumerate(arrays["live_blocks"]):
        before = level
        level += arrays["allocations"][i] - arrays["deallocations"][i]
        if not max(before, level) <= highest <= \
                before + arrays["allocations"][i]:
            wrong.append(f"bin {i}: {highest} blocks, {before} before and "
                         f"{level} after it")
    return wrong


def check_classes(document):
    """Classes that follow each other, parts no larger than the whole."""
    wrong, end = [], None
    for row in document.get("classes", []):
        if end is not None and "min" in row and row["min"] != end:
            wrong.append(f"{row['class']} does not begin where the one "
                         "before it ends")
        end = row.get("below", row.get("max", -1) + 1)
        for part in ("peak", "leaked"):
            if row.get(part + "_bytes", 0) > row["bytes"]:
                wrong.append(f"{row['class']}: {part} above all")
        if "max" in row and not (row["min"] * row["allocations"] <=
                                 row["bytes"] <=
                                 row["max"] * row["allocations"]):
            wrong.append(f"{row['class']}: {row['bytes']} bytes")
    return wrong


def check_json(path):
    text = path.read_text(encoding="utf-8")
    if not text.endswith("}\n"):
        return "no newline at the end"
    document = json.loads(text, parse_constant=no_constant)
    name = document["schema"].split("/")[1]
    schema = json.loads((ROOT / f"docs/schema/{name}.schema.json").read_text(
        encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    errors = jsonschema.Draft202012Validator(schema).iter_errors(document)
    wrong = [f"{'/'.join(map(str, error.path))}: {error.message[:300]}"
             for error in errors]
    return "\n".join(wrong + check_backtraces(document) +
                     check_timeline(document) +
                     check_classes(document))


def csv_value(value):
    """@value of a JSON document as it stands in a CSV field."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.9f}".rstrip("0").rstrip(".")
    text = str(value)
    return "'" + text if text and text[0] in "=+-@" else text


def check_csv(path):
    """The rows are those of the JSON document beside it, if there is one."""
    text = path.read_bytes().decode("utf-8")
    if not text.endswith("\r\n") or "\n" in text.replace("\r\n", ""):
        return "lines do not end in CR LF"
    head, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    wrong = [f"row {i}: {len(row)} fields, not {len(head)}"
             for i, row in enumerate(rows, 1) if len(row) != len(head)]
    wrong += [f"row {i}: a formula: {field}" for i, row in enumerate(rows, 1)
              for field in row if field[:1] in tuple("=+-@")]
    twin = path.with_suffix(".json")
    if not twin.exists():
        return "\n".join(wrong)
    document = json.loads(twin.read_text(encoding="utf-8"))
    listed = document[document["schema"].split("/")[1]]
    if len(listed) != len(rows):
        wrong.append(f"{len(rows)} rows, {len(listed)} in {twin.name}")
    for i, (row, other) in enumerate(zip(rows, listed), 1):
        for key, field in zip(head, row):
            if key.endswith("backtrace"):
                frames = other.get(key) or document.get("backtraces", {}).get(
                    str(other.get(key + "_id")), [])
                names = [frame["function"].replace(" < ", "<")
                         for frame in reversed(frames)]
                found = [part.split(" [")[0] for part in field.split(" < ")]
                if not field.endswith("…") and names and \
                        [n.split(" [")[0] for n in names] != \
                        [found[0].removeprefix("'"), *found[1:]]:
                    wrong.append(f"row {i}: {key}: {field}, not {names}")
            elif csv_value(other.get(key, "")) != field:
                wrong.append(f"row {i}: {key}: {field}, not {other.get(key)}")
    return "\n".join(wrong[:20])


class HeaptrackFile:
    """What a data file of heaptrack says, read as docs/spec.md points to."""

    def __init__(self, text):
        self.strings = self.places = self.nodes = 0
        self.pairs, self.live = [], []
        self.calls = self.now = self.peak = self.time = 0
        self.versions = 0
        for line in text.split(b"\n")[:-1]:
            kind, _, rest = line.partition(b" ")
            if kind in (b"X", b"#"):
                continue
            if kind == b"s":
                self.string(rest)
                continue
            if not re.fullmatch(rb"[0-9a-f]+( [0-9a-f]+)*", rest):
                raise ValueError(f"not numbers: {line}")
            self.record(kind, [int(field, 16) for field in rest.split(b" ")])

    def string(self, rest):
        length, _, text = rest.partition(b" ")
        if int(length, 16) != len(text) or not text:
            raise ValueError(f"not that long: {rest}")
        self.strings += 1

    def record(self, kind, fields):
        if kind == b"v":
            self.versions += 1
        elif kind == b"i":
            names = [n for i, n in enumerate(fields[1:]) if i % 3 != 0 or i == 0]
            self.within(names, self.strings)
            if len(fields) != 3 and len(fields) % 3 != 2:
                raise ValueError(f"not whole frames: {fields}")
            self.places += 1
        elif kind == b"t":
            self.within(fields[:1], self.places)
            self.within(fields[1:], self.nodes)
            self.nodes += 1
        elif kind == b"a":
            self.within(fields[1:], self.nodes)
            self.pairs.append(fields[0])
            self.live.append(0)
        elif kind in (b"+", b"-"):
            self.event(fields[0], 1 if kind == b"+" else -1)
        elif kind == b"c":
            if fields[0] < self.time:
                raise ValueError("time falls")
            self.time = fields[0]
        elif kind not in (b"R", b"I"):
            raise ValueError(f"unknown record {kind}")

    @staticmethod
    def within(numbers, most):
        if max(numbers, default=0) > most:
            raise ValueError(f"{numbers}: only {most} were told")

    def event(self, pair, change):
        if pair == 0:
            raise ValueError("the pair that no block may have")
        self.live[pair] += change
        if self.live[pair] < 0:
            raise ValueError(f"pair {pair} is freed more often than allocated")
        self.calls += change > 0
        self.now += change * self.pairs[pair]
        self.peak = max(self.peak, self.now)


def heaptrack_prints(path):
    """What heaptrack_print finds: calls, and bytes at the peak."""
    with tempfile.NamedTemporaryFile() as folded:
        run = subprocess.run(
            ["heaptrack_print", "-f", path, "-a0", "-p0", "-T0", "-l0",
             "--flamegraph-cost-type", "peak", "-F", folded.name],
            capture_output=True, text=True, check=True)
        if run.stderr.strip():
            raise ValueError(f"heaptrack_print: {run.stderr.strip()}")
        lines = pathlib.Path(folded.name).read_bytes().splitlines()
    calls = re.search(r"allocation functions: (\d+)", run.stdout)
    return int(calls[1]), sum(int(line.rsplit(b" ", 1)[1]) for line in lines)


def check_heaptrack(path):
    """Read by a reader of our own and by heaptrack's; its view's other files
    say the same."""
    text = subprocess.run(["zstd", "-dcq", path], capture_output=True,
                          check=True).stdout
    file = HeaptrackFile(text)
    view = path.name[:-len(".heaptrack.zst")]
    rows = json.loads((path.parent / f"{view}.allocations.json").read_text())
    levels = json.loads((path.parent / f"{view}.timeline.json").read_text())
    sums = json.loads((path.parent / "summary.json").read_text())["views"][view]
    wanted = (rows["total_count"], max(levels["live_bytes"], default=0))
    if (file.calls, file.peak) != wanted:
        return f"calls, peak: {file.calls, file.peak}, not {wanted}"
    if file.now != sums["matched_leaked_bytes"]:
        return f"{file.now} bytes leak, not {sums['matched_leaked_bytes']}"
    if heaptrack_prints(path) != wanted:
        return f"heaptrack_print: {heaptrack_prints(path)}, not {wanted}"
    return "" if file.versions == 1 else "no version"


CHECKS = {".csv": check_csv, ".svg": check_svg, ".folded": check_folded,
          ".json": check_json, ".zst": check_heaptrack}


def check(path):
    """Return what is wrong with @path, "" if nothing."""
    try:
        return CHECKS[path.suffix](path)
    except (ValueError, LookupError, OSError,
            subprocess.CalledProcessError) as error:
        return f"{type(error).__name__}: {error}"


SPEC = """
[view everything]
artifacts = {0}
[view leaks]
lifetime = only_leaked
cost = leaked
count = 10
artifacts = {0}
[view peak]
alive_at = peak
cost = peak
direction = callees
artifacts = {0}
[view freed]
lifetime = only_temporary
cost = temporary
artifacts = {0}
[view nothing]
size_min = 1TiB
artifacts = {0}
"""


def make_reports(tools, scratch):
    """Directories of reports with all artifacts."""
    names = re.findall(r"^ARTIFACT\((\w+)\)", (
        ROOT / "report/output/artifact_list.h").read_text("utf-8"), re.M)
    of_trace = {"summary", "mmaps", "mallopts", "threads", "modules",
                "markers", "residency", "mappings"}
    spec = scratch / "all.ini"
    spec.write_text(SPEC.format(", ".join(
        name.replace("_", ".") for name in names if name not in of_trace)))
    for seed, more in ((1, []), (2, ["-t", "3", "-d", "200"]), (3, ["-w"]),
                       (4, ["-n", "0"])):
        trace, report = scratch / f"{seed}.dat", scratch / f"report{seed}"
        subprocess.run([tools / "tests/gen_trace", "-s", str(seed), "-n",
                        "5000", *more, trace], check=True)
        subprocess.run([tools / "memprof-report", "--quiet", "--spec", spec,
                        "-o", report, trace], check=True)
        yield report


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("draw_figures", nargs="?", default=str(
        ROOT / "build/release/tests/draw_figures"))
    parser.add_argument("--report", action="append", default=[],
                        type=pathlib.Path)
    arguments = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        figures = scratch / "figures"
        figures.mkdir()
        subprocess.run([arguments.draw_figures, figures], check=True)
        tools = pathlib.Path(arguments.draw_figures).parents[1]
        for directory in [figures, *make_reports(tools, scratch),
                          *arguments.report]:
            for path in sorted(directory.iterdir()):
                if path.suffix not in CHECKS:
                    continue
                wrong = check(path)
                if wrong:
                    print(f"{directory.name}/{path.name}: {wrong}")
                    failed += 1
                else:
                    passed += 1
    if not passed:
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
