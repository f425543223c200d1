#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_docs.py [DIR] - the documents name what the program has, and nothing else.

Compares the tables in the sources with docs/ and the manual pages: keys, sort
words, options, artifacts, pages, variables, definitions, chunks, events, exit
statuses, and links between documents; with DIR, where README.md is installed,
only these.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def read(path):
    return (ROOT / path).read_text()


def unquote(text):
    """The value of adjacent C string literals."""
    parts = re.findall(r'"((?:\\.|[^"\\])*)"', text)
    return "".join(parts).replace('\\"', '"').replace("\\\\", "\\")


def between(text, start, end):
    """From the first @start to the first @end after it."""
    begin = text.find(start)
    stop = text.find(end, begin)
    if begin < 0 or stop < 0:
        sys.exit(f"check_docs.py: {start!r} … {end!r} not found")
    return text[begin:stop]


def table_names(path, table):
    """First strings of the rows of a C table."""
    rows = between(read(path), f"{table}[] = {{", "\n};")
    return re.findall(r'^\t\{ "([^"]+)"', rows, re.M)


def negated_names():
    """Opposites of filter keys."""
    rows = between(read("report/filter/keys.c"), "filter_keys[] = {", "\n};")
    return re.findall(r'\.negated = "(\w+)"', rows)


def sort_words():
    rows = between(read("report/spec_keys.c"), "sort_names[] = {", "\n};")
    return re.findall(r'= "([^"]+)"', rows)


def format_names(list_file, macro):
    """Names of the formats a list names; their ids are names in C."""
    ids = re.findall(rf"^{macro}\((\w+)\)", read(list_file), re.M)
    return [one.replace("_", ".") for one in ids]


def report_options():
    rows = between(read("report/cli.c"), "option_rows[] = {", "\n};")
    return re.findall(r'\{ GROUP_\w+,\s*[^,]+,\s*"([\w-]+)"', rows)


def record_options():
    text = read("tracer/record/settings.c")
    rows = (between(text, "struct control controls[]", "};") +
            between(text, "struct option own_options[]", "};"))
    return re.findall(r'\{ ?"([\w-]+)"', rows)


def tracer_variables():
    names = re.findall(r'(?:(?<!define )PREFIX\s+|OPTION\(|NO_EFFECT\(|REFUSED\()'
                       r'"(\w[^"=]*)', read("tracer/options.c"))
    return sorted("MEMORY_PROFILER_" + name for name in set(names))


def definitions():
    rows = between(read("report/figure/definition.c"),
                   "definitions[] = {", "\n};")
    result = []
    for row in re.findall(r'^\t\{ ("(?:.|\n)*?) \},$', rows, re.M):
        words = re.findall(r'"(?:\\.|[^"\\])*"(?:\s*"(?:\\.|[^"\\])*")*', row)
        result.append(tuple(unquote(word) for word in words))
    return result


def enum_values(path, prefix):
    return re.findall(rf"^\t{prefix}(\w+) = (\d+),", read(path), re.M)


def man_items(text, macro):
    """Names that a list of a manual page explains."""
    return [re.sub(r"\\-", "-", name) for name in re.findall(
        rf"^\.It (?:.*, )?{macro} (\S+)", text, re.M)]


def man_options(text):
    """All long options that a manual page mentions."""
    return {name.replace("\\-", "-") for name in
            re.findall(r"Fl (?:\w , )?\\-([\w\\-]+)", text)}


class Check:
    def __init__(self):
        self.passed = 0
        self.problems = []

    def that(self, good, problem):
        if good:
            self.passed += 1
        else:
            self.problems.append(problem)

    def all_in(self, names, where, place):
        self.that(names, f"{place}: the source's table was not found")
        for name in names:
            self.that(name in where, f"{place} lacks {name}")

    def same(self, names, written, place):
        """Everything is written, and nothing else is."""
        self.all_in(names, written, place)
        for name in sorted(set(written) - set(names)):
            self.that(False, f"{place} has {name}, which does not exist")


def check_keys(check):
    spec = read("docs/spec.md")
    man = read("docs/man/memprof-report.1")
    filters = table_names("report/filter/keys.c", "filter_keys")
    views = table_names("report/spec_keys.c", "view_keys")
    reports = table_names("report/spec_keys.c", "report_keys")
    filters += negated_names()
    headings = re.findall(r"^### (`\w+`(?:, `\w+`)*)$", spec, re.M)
    check.same(sorted(filters + views + reports),
               sorted(re.findall(r"\w+", " ".join(headings))),
               "docs/spec.md, headings")
    for name in re.findall(r"^### `\w+`.*\n((?:.|\n)*?)(?=^#|\Z)", spec,
                           re.M):
        check.that("xample" in name,
                   f"docs/spec.md: no example under: {name[:60]!r}")
    check.same(sorted(set(filters + views + reports)),
               sorted(set(man_items(man, "Cm"))), "memprof-report.1, keys")
    check.all_in(sort_words(), re.findall(r"`([\w.]+)`", spec),
                 "docs/spec.md, sort_by")
    check.all_in(sort_words(), re.findall(r"[\w.]+\w", man),
                 "memprof-report.1, sort_by")
    moments = re.findall(r"\b[a-z]+:NAME", read("report/cli.c"))
    for text, place in ((spec, "docs/spec.md"), (man, "memprof-report.1")):
        check.all_in(moments, re.findall(r"\b[a-z]+:NAME", text),
                     f"{place}, moments")


def check_formats(check):
    spec = read("docs/spec.md")
    man = read("docs/man/memprof-report.1")
    artifacts = format_names("report/output/artifact_list.h", "ARTIFACT")
    pages = format_names("report/output/page_list.h", "PAGE")
    check.same(sorted(artifacts),
               sorted(re.findall(r"^\| `([\w.]+)` \| `[\w.]+` \|",
                                 between(spec, "## Artifacts", "\n## Q"),
                                 re.M)),
               "docs/spec.md, artifacts")
    check.same(sorted(artifacts),
               sorted(man_items(between(man, ".Sh ARTIFACTS", ".Sh FILES"),
                                "Sy")),
               "memprof-report.1, artifacts")
    check.all_in(pages, re.findall(r"`(\w+)`", spec), "docs/spec.md, pages")
    check.all_in(pages, re.findall(r"\w+", man), "memprof-report.1, pages")


def check_commands(check):
    report = read("docs/man/memprof-report.1")
    record = read("docs/man/memprof-record.1")
    check.same(sorted(report_options()), sorted(man_options(report)),
               "memprof-report.1, options")
    check.same(sorted(record_options()),
               sorted(man_options(record) - {"-"}),
               "memprof-record.1, options")
    check.same(tracer_variables(), sorted(man_items(record, "Ev")),
               "memprof-record.1, variables")
    for name, number in enum_values("report/cli.h", "STATUS_"):
        check.that(re.search(rf"^\.It {number}$", report, re.M),
                   f"memprof-report.1 lacks exit status {number} ({name})")


def check_api(check):
    """Every function of memprof.h has its prototype in the manual."""
    header = read("tracer/memprof.h")
    page = read("docs/man/memprof.3")
    functions = re.findall(r"__inline__ (\w+) (memprof_\w+)\((.*)\)", header)
    synopsis = re.findall(r"^\.Ft (\w+)\n\.Fn (memprof_\w+) (.*)$", page,
                          re.M)
    check.same(functions, [(kind, name, arguments.strip('"').replace('" "',
                                                                     ", "))
                           for kind, name, arguments in synopsis],
               "memprof.3, functions")
    for name in re.findall(r"^\.Nm (memprof_\w+)", page, re.M):
        check.that(name in header, f"memprof.3 names {name}")


def check_definitions(check):
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*) \|$",
                      read("docs/figures.md"), re.M)
    check.same(definitions(), rows, "docs/figures.md")


def check_trace_format(check):
    text = read("docs/trace-format.md")
    header = "tracer/trace_format.h"
    chunks = [one for one in enum_values(header, "TRACE_CHUNK_")
              if one[0] not in ("ZSTD", "IN_BATCH")]
    check.same(chunks, re.findall(r"^### (\w+) \((\d+)\)$", text, re.M),
               "docs/trace-format.md, chunks")
    events = between(text, "| kind | name |", "\n\n")
    check.same([(number, name) for name, number in
                enum_values(header, "TRACE_EVENT_")],
               re.findall(r"^\| (\d+) \| (\w+) \|", events, re.M),
               "docs/trace-format.md, events")
    for section, field, enum in (
            ("PROCESS", "clock", "clock"), ("PROCESS", "arch", "arch"),
            ("PIECE", "why", "piece_why"), ("THREAD", "what", "thread_what"),
            ("LOST", "reason", "lost_reason"), ("END", "how", "end_how"),
            ("FILE", "kind", "file_kind"), ("MARK", "kind", "mark_kind"),
            ("SMAPS", "kind", "smaps_kind")):
        row = re.search(rf"^\| \d+ \| \d \| {field} \|(.*)",
                        between(text, f"### {section} (", "\n##"), re.M)
        values = re.findall(r" = (\d+),", between(
            read(header), f"enum trace_{enum} {{", "}"))
        check.same(values,
                   re.findall(r"(?:^|[,:]) (\d+) ", row[1] if row else ""),
                   f"docs/trace-format.md, {section}, {field}")


def check_links(check, root=ROOT):
    files = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    for file in files:
        text = re.sub(r"```.*?```", "", file.read_text(), flags=re.S)
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
            if "://" in target:
                continue
            check.that((file.parent / target).exists(),
                       f"{file.relative_to(root)} links to {target}, which "
                       "does not exist")


def main():
    check = Check()
    if len(sys.argv) > 1:
        check_links(check, pathlib.Path(sys.argv[1]))
    else:
        for part in (check_keys, check_formats, check_commands, check_api,
                     check_definitions, check_trace_format, check_links):
            part(check)
    for problem in check.problems:
        print(problem)
    print(f"{check.passed} passed, {len(check.problems)} failed")
    return 1 if check.problems else 0


if __name__ == "__main__":
    sys.exit(main())
