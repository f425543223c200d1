#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""check_outputs.py [DRAW_FIGURES] [--report DIR]... - artifacts read back by
other programs: SVG by xmllint, folded stacks by flamegraph.pl's grammar, JSON
by its schema.

DRAW_FIGURES (build/release/tests/draw_figures) draws the sample figures; each
report directory given is checked in the same way.
"""
import argparse
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


CHECKS = {".svg": check_svg, ".folded": check_folded, ".json": check_json}


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
