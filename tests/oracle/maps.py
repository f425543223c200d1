# SPDX-License-Identifier: MIT
"""Views of maps: calls of mmap taken for allocations, which most of their keys
are about as well."""
import oracle
from draw import Draw

ORDERS = ("timestamp", "address", "size", "lifetime")
COMPARISONS = 40


class Words:
    """What docs/spec.md offers for maps."""

    def __init__(self, documented):
        self.keys = documented.map_keys
        self.repeating = documented.repeating
        self.view_keys = documented.view_keys
        self.sort_words = list(ORDERS)
        self.lifetimes = [word for word in documented.lifetimes
                          if word not in ("only_chain_leaked",
                                          "only_whole_group_leaked")]


def seconds(value):
    return f"{value // 10**9}.{value % 10**9:09}"


def allocation(call, names):
    row = {"id": call["id"], "address": call["address"], "size": call["length"],
           "timestamp": call["timestamp"], "thread": call["thread"],
           "call": "mmap", "temporary": False, "position_in_chain": 0,
           "backtrace_id": call["backtrace_id"],
           "protection": call["protection"]}
    if call["thread"] in names:
        row["thread_name"] = names[call["thread"]]
    if "unmapped" in call:
        row["deallocation_timestamp"] = call["unmapped"]
        row["deallocation_thread"] = 0
        row["lifetime"] = seconds(oracle.nanoseconds(call["unmapped"]) -
                                  oracle.nanoseconds(call["timestamp"]))
    return row


def model_of(document, model):
    """document: mmaps JSON without keys.  model: of the trace's allocations."""
    names = {row.thread: row.thread_name for row in model.rows
             if row.thread_name}
    calls = [call for call in document["mmaps"] if call["call"] == "mmap"]
    maps = oracle.Model({"allocations": [allocation(call, names)
                                         for call in calls],
                         "backtraces": document.get("backtraces", {})},
                        model.run_time, model.slack == 0)
    # The peak is that of the allocations.
    maps.peak = maps.alive_at_peak = None
    return maps


def expected(model, settings, conditions):
    verdicts = oracle.verdicts(model, conditions, {})
    rows = [row for row, passes in zip(model.rows, verdicts) if passes]
    said = dict(settings)
    key = oracle.ROW_ORDERS[said.get("sort_by", "timestamp")]
    sign = -1 if said.get("order") == "dsc" else 1
    rows.sort(key=lambda row: (sign * key(model, row), row.id))
    skip, count = int(said.get("skip", "0")), said.get("count", "all")
    shown = rows[skip:] if count == "all" else rows[skip:skip + int(count)]
    return len(rows), [row.id for row in shown]


def compare(model, documented, random, steady, ask):
    """ask: the mmaps JSON of settings.  Return: (comparisons, settings drawn,
    [(settings, problem)])."""
    document = ask([])
    maps = model_of(document, model)
    if not maps.rows:
        return 0, {}, []
    draw = Draw(maps, random, Words(documented), steady)
    problems = []
    for _ in range(COMPARISONS):
        conditions = draw.conditions(random.choice((1, 1, 2, 3)))
        settings = conditions + draw.order()
        if not settings:
            continue
        answer = ask(settings)
        got = (answer["total_count"], [row["id"] for row in answer["mmaps"]])
        want = expected(maps, settings, conditions)
        if got != want:
            problems.append((settings, f"maps {got}, not {want}"))
            break
    return COMPARISONS, draw.drawn, problems
