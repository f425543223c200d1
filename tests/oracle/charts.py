# SPDX-License-Identifier: MIT
"""What a view's trees, charts and CSV files must hold, found from the rows that
passed, the slow and obvious way.

Every function gives what is wrong, or None.  Where times are known to a
nanosecond only, a figure of the timeline lies between two bounds.
"""
import bisect
import csv
import decimal
import io
import itertools
import json
import re

import oracle
import pictures

# --- classes -------------------------------------------------------------------

FIRST_LIFETIME = 100  # nanoseconds that the first class ends at


def size_class(size):
    """(min, max) of the class of a size."""
    if size == 0:
        return 0, 0
    low = 1 << size.bit_length() - 1
    return low, 2 * low - 1


def lifetime_class(lifetime):
    """(from, below) of the class of a lifetime, in nanoseconds."""
    low = 0
    for power in itertools.count(len(str(FIRST_LIFETIME)) - 1):
        for factor in (1, 2, 5):
            bound = factor * 10**power
            if lifetime < bound:
                return low, bound
            low = bound


def class_sums(model, rows):
    peak = [row for row in rows if row.id in (model.alive_at_peak or ())]
    leaked = [row for row in rows if row.is_leaked]
    return {"allocations": len(rows), "bytes": sum(row.size for row in rows),
            "peak_blocks": len(peak), "peak_bytes": sum(row.size for row in peak),
            "leaked_count": len(leaked),
            "leaked_bytes": sum(row.size for row in leaked)}


def classes_difference(model, answer, rows_of, bounds_of):
    """rows_of: {bounds: rows}; bounds_of: of a class of the answer."""
    left = dict(rows_of)
    for one in answer["classes"]:
        want = class_sums(model, left.pop(bounds_of(one), []))
        for key, value in want.items():
            if "peak" in key and model.alive_at_peak is None:
                continue
            if key in one and one[key] != value:
                return f"class {one['class']}: {key} is {one[key]}, not {value}"
    if left:
        return f"no class {sorted(left)}"
    return None


def grouped(rows, key):
    found = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def sizes_difference(model, view, rows, text):
    answer = json.loads(text, parse_float=str)
    return classes_difference(model, answer,
                              grouped(rows, lambda row: size_class(row.size)),
                              lambda one: (one["min"], one["max"]))


def lifetimes_difference(model, view, rows, text):
    answer = json.loads(text, parse_float=str)

    def bounds(one):
        if "min" not in one:
            return None, None
        return tuple(oracle.nanoseconds(one[key]) for key in ("min", "below"))

    def of_row(row):
        if row.is_leaked:
            return None, None
        return lifetime_class(row.lifetime(model)[0])
    return classes_difference(model, answer, grouped(rows, of_row), bounds)


# --- over time -----------------------------------------------------------------


class Levels:
    """Of the rows, as a list of (time, bytes, blocks) after each event."""

    def __init__(self, model, rows, ends_first):
        self.times, self.bytes, self.blocks = [], [0], [0]
        for at, sign, row in model.steps(rows, ends_first):
            self.times.append(at)
            self.bytes.append(self.bytes[-1] + sign * row.size)
            self.blocks.append(self.blocks[-1] + sign)

    def highest(self, begin, end):
        """Bytes and blocks in [begin, end), what held at its beginning
        included; -1 where it is empty."""
        if begin >= end:
            return -1, -1
        first = bisect.bisect_left(self.times, begin)
        last = bisect.bisect_left(self.times, end)
        return (max(self.bytes[first:last + 1]), max(self.blocks[first:last + 1]))


def between(times, begin, end):
    return max(0, bisect.bisect_left(times, end) - bisect.bisect_left(times, begin))


def timeline_difference(model, view, rows, text):
    answer = json.loads(text, parse_float=str)
    ends = [oracle.nanoseconds(one) for one in answer["seconds"]]
    slack = model.slack
    least, most = Levels(model, rows, True), Levels(model, rows, False)
    came = sorted(row.at for row in rows)
    went = sorted(row.end for row in rows if not row.is_leaked)
    for key, total in (("allocations", len(came)), ("deallocations", len(went))):
        if sum(answer[key]) != total:
            return f"{sum(answer[key])} {key}, not {total}"
    begin = 0
    for at, end in enumerate(ends):
        inner, outer = (begin + slack, end - slack), (begin - slack, end + slack)
        low, high = least.highest(*inner), most.highest(*outer)
        for key, lowest, highest in (
                ("live_bytes", low[0], high[0]),
                ("live_blocks", low[1], high[1]),
                ("allocations", between(came, *inner), between(came, *outer)),
                ("deallocations", between(went, *inner), between(went, *outer))):
            if not lowest <= answer[key][at] <= highest:
                return (f"bin {at}: {key} is {answer[key][at]}, not from "
                        f"{lowest} to {highest}")
        begin = end
    return mark_difference(model, rows, answer["marks"])


def mark_difference(model, rows, marks):
    """Where the rows together held the most."""
    found = model.highest(rows)
    if not found:
        return None
    want = [found[0].at] if found[0] else []
    got = [oracle.nanoseconds(mark["seconds"]) for mark in marks]
    return None if got == want else f"highest at {got}, not {want}"


# --- folded stacks ---------------------------------------------------------------

COSTS = {"bytes": lambda model, row: row.size,
         "count": lambda model, row: 1,
         "temporary": lambda model, row: int(row.temporary),
         "peak": lambda model, row: row.size * (row.id in model.alive_at_peak),
         "leaked": lambda model, row: row.size * row.is_leaked}


def folded_name(frame):
    return frame["function"].replace(";", ":") or "?"


def folded_difference(model, view, rows, text):
    cost = view.get("cost", "bytes")
    if cost == "peak" and model.alive_at_peak is None:
        return None
    want = {}
    for row in rows:
        frames = row.frames
        if view.get("direction") == "callees":
            frames = reversed(frames)
        stack = ";".join(map(folded_name, frames)) or "[no stack]"
        stack = re.sub(r" (\d+)$", r"_\1", stack)
        want[stack] = want.get(stack, 0) + COSTS[cost](model, row)
    want = [f"{stack} {value}" for stack, value in want.items() if value]
    got = text.splitlines()
    if sorted(got) == sorted(want):
        return None
    return f"{sorted(set(got) ^ set(want))[:4]} (of {cost})"


# --- CSV -------------------------------------------------------------------------


def stack_text(frames):
    """Innermost first."""
    words = []
    for frame in reversed(frames):
        word = frame["function"]
        if "file" in frame:
            word += " [" + frame["file"].split("/")[-1]
            word += f":{frame['line']}]" if frame.get("line") else "]"
        words.append(word.replace(" < ", "<"))
    return " < ".join(words)


def field_differs(text, value):
    if isinstance(value, bool):
        return text != str(value).lower()
    if isinstance(value, int):
        return text != str(value)
    try:
        return decimal.Decimal(text) != decimal.Decimal(value)
    except decimal.InvalidOperation:
        return text.removeprefix("'") != value


def csv_difference(model, rows, text):
    """rows: those of the JSON."""
    lines = list(csv.reader(io.StringIO(text, newline="")))
    keys, lines = lines[0], lines[1:]
    if len(lines) != len(rows):
        return f"{len(lines)} rows, not {len(rows)}"
    for line, row in zip(lines, rows):
        if set(row) - {"backtrace"} - set(keys):
            return f"no column {set(row) - set(keys)}"
        for key, field in zip(keys, line, strict=True):
            value = row.get(key, "")
            if key.endswith("backtrace"):
                number = row.get(key + "_id")
                value = "" if number is None else stack_text(
                    model.backtraces[str(number)])
            if field_differs(field, value):
                return f"{key} is {field!r}, not {value!r}, in {row}"
    return None


CHARTS = {"sizes.json": sizes_difference,
          "lifetimes.json": lifetimes_difference,
          "timeline.json": timeline_difference,
          "folded": folded_difference,
          **pictures.PICTURES}
TREES = ("folded", *pictures.PICTURES)
TABLES = {"allocations.csv": "allocations", "groups.csv": "groups"}
