#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_layers.py - which layer includes which, and functions nobody may call.

Fails when a file includes a header of a layer it may not know, when the tracer
and the report know each other, or when a banned function is called.
"""
import pathlib
import re
import sys

# layer: layers it may include besides itself.  The reasons are in the headers.
LAYERS = {
    "core": "",
    "source": "core",
    "event": "core",
    "input": "core source event",
    "engine": "core event input",
    "symbol": "core source",
    "filter": "core event engine symbol",
    "figure": "core",
    "aggregate": "core event engine filter symbol figure",
    "template": "core figure",
    "output": "core figure template",
}
# Single headers that files of a folder may include beyond that, with the reason.
EXCEPTIONS = {
    # the one place that knows how a trace is laid out
    ("report/input", "tracer/trace_format.h"),
    # templates/ and default.ini as built into the program
    ("report/output/svg", "report/template/builtin.h"),
}
# report/*.c tie the layers together and may include all of them.
MAY_CALL = {
    # the place for temporary files, as every program's
    ("report/source/source.c", "getenv"),
}

BANNED = {
    "strcpy": "memcpy or snprintf",
    "strcat": "snprintf",
    "sprintf": "snprintf",
    "vsprintf": "vsnprintf",
    "strtok": "strsep, strcspn",
    "atoi": "units_parse_integer",
    "atol": "units_parse_integer",
    "atof": "units_parse_seconds",
    "gets": "fgets",
}
# Library code hands errors back; only report/main.c and memprof-record end a
# process or write to the standard streams.
BANNED_IN_REPORT = {
    "abort": "return an error",
    "exit": "return an error",
    "_exit": "return an error",
    "printf": "fill a struct diag, write to a sink",
    "puts": "fill a struct diag, write to a sink",
    "perror": "fill a struct diag",
    "getenv": "take it as a parameter",
    "secure_getenv": "take it as a parameter",
    "setlocale": "nothing: outputs do not depend on the locale",
}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
CALL = re.compile(r"(?<![\w.>])(\w+)\s*\(")
# Comments, then strings and character constants: nothing in them is a call.
NOISE = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def without_noise(text):
    return NOISE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def layer_of(path):
    parts = path.split("/")
    if parts[0] != "report":
        return parts[0]
    return parts[1] if len(parts) > 2 else "top"


def include_problem(path, header):
    folder = str(pathlib.PurePosixPath(path).parent)
    own, other = layer_of(path), layer_of(header)
    if (folder, header) in EXCEPTIONS or own == other:
        return None
    if own == "tracer" or other == "tracer":
        return f"must not include {header}: tracer and report stand alone"
    if own == "top":
        return None
    if "/" not in header:
        return f'"{header}" is not written from the root'
    if own not in LAYERS:
        return f"layer {own} is not in LAYERS"
    if other not in LAYERS[own].split():
        return f"{own} must not include {header}"
    return None


def call_problem(path, name):
    if (path, name) in MAY_CALL:
        return None
    if name in BANNED:
        return f"calls {name}; instead: {BANNED[name]}"
    if path.startswith("report/") and path != "report/main.c" \
            and name in BANNED_IN_REPORT:
        return f"calls {name}; instead: {BANNED_IN_REPORT[name]}"
    return None


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def problems(path, text):
    for match in INCLUDE.finditer(text):
        problem = include_problem(path, match.group(1))
        if problem:
            yield line_of(text, match.start()), problem
    clean = without_noise(text)
    for match in CALL.finditer(clean):
        problem = call_problem(path, match.group(1))
        if problem:
            yield line_of(clean, match.start()), problem


def self_test():
    """The check must see what it is for."""
    bad = [
        ("report/aggregate/x.c", '#include "report/output/page.h"\n'),
        ("report/output/x.c", '#include "tracer/pool.h"\n'),
        ("report/input/x.c", '#include "tracer/pool.h"\n'),
        ("tracer/x.c", '#include "report/core/vec.h"\n'),
        ("report/symbol/x.c", '#include "report/event/run.h"\n'),
        ("report/core/x.c", "void f(void) { exit(1); }\n"),
        ("tracer/x.c", "void f(char *a) { strcpy (a, a); }\n"),
    ]
    good = [
        ("report/input/x.c", '#include "tracer/trace_format.h"\n'),
        ("report/main.c", '#include "report/output/page.h"\nexit(1);\n'),
        ("report/core/x.c", '/* exit(1) */ f("exit(1)"); on_exit.exit(1);\n'),
        ("report/output/x.c", "page->exit(1); my_exit(1); fprintf(f);\n"),
    ]
    wrong = [p for p in bad if not list(problems(*p))]
    wrong += [p for p in good if list(problems(*p))]
    return [f"check_layers.py: self test: {path}: {text!r}"
            for path, text in wrong]


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    found = self_test()
    files = sorted(p for top in ("report", "tracer")
                   for p in (root / top).rglob("*.[ch]"))
    bad_files = set()
    for file in files:
        path = file.relative_to(root).as_posix()
        for line, problem in problems(path, file.read_text()):
            found.append(f"{path}:{line}: {problem}")
            bad_files.add(path)
    for text in found:
        print(text)
    print(f"{len(files) - len(bad_files)} passed, {len(found)} failed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
