#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""check_outputs.py [DRAW_FIGURES] [--report DIR]... - artifacts read back by
other programs: SVG by xmllint, folded stacks by flamegraph.pl's grammar, JSON
by its schema, CSV by Python's reader and beside the JSON.

DRAW_FIGURES (build/release/tests/draw_figures) draws the sample figures; each
report directory given is checked in the same way.
"""
import argparse
import csv
import io
import json
import pathlib
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
    return "\n".join(wrong + check_backtraces(document))


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


CHECKS = {".csv": check_csv, ".svg": check_svg, ".folded": check_folded, ".json": check_json}


def check(path):
    """Return what is wrong with @path, "" if nothing."""
    try:
        return CHECKS[path.suffix](path)
    except (ValueError, KeyError, OSError) as error:
        return f"{type(error).__name__}: {error}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("draw_figures", nargs="?", default=str(
        ROOT / "build/release/tests/draw_figures"))
    parser.add_argument("--report", action="append", default=[],
                        type=pathlib.Path)
    arguments = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([arguments.draw_figures, scratch], check=True)
        for directory in [pathlib.Path(scratch), *arguments.report]:
            for path in sorted(directory.iterdir()):
                if path.suffix not in CHECKS:
                    continue
                wrong = check(path)
                if wrong:
                    print(f"{path.name}: {wrong}")
                    failed += 1
                else:
                    passed += 1
    if not passed:
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
