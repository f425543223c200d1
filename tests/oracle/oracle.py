# SPDX-License-Identifier: MIT
"""What docs/spec.md says a view holds, computed the slow and obvious way.

A Model is the full allocations JSON of a trace.  Every filter key is a
question to one row of it; groups and chains are found by looking at all rows.
Nothing here is taken from report/.

Times are whole nanoseconds, as the JSON writes them.  Where the trace's clock
is finer, a difference or a share of the run is known to a nanosecond only: such
quantities are pairs (least, most), and the answer to a question that they
leave open is None.  Traces whose tick is a nanosecond leave nothing open.
"""
import decimal
import fractions
import functools
import re

decimal.getcontext().prec = 60
Fraction = fractions.Fraction


def nanoseconds(number):
    """Of a JSON number of seconds, which must be read as text."""
    return int(decimal.Decimal(number).scaleb(9).to_integral_value())


PAGE = 4096


class Maps:
    """What the calls of mmap held: pieces [begin, end, map, since, until), until
    None where nothing unmapped them.  calls: rows of the mmaps JSON."""

    def __init__(self, calls):
        self.pieces, self.count = [], 0
        for call in calls:
            at, begin = nanoseconds(call["timestamp"]), int(call["address"], 16)
            end = begin + call["length"] + -call["length"] % PAGE
            if call["call"] == "mmap":
                assert call["id"] == self.count
                self.unmap(begin, end, at)
                self.pieces.append([begin, end, self.count, at, None])
                self.count += 1
            elif call["call"] == "munmap":
                self.unmap(begin, end, at)
            else:
                self.move(begin, end, call, at)

    def unmap(self, begin, end, at):
        """What it holds of [begin, end) until then; return: those parts."""
        gone, kept = [], []
        for piece in self.pieces:
            low, high, number, since, until = piece
            if until is not None or high <= begin or low >= end:
                kept.append(piece)
                continue
            gone.append([max(low, begin), min(high, end), number, since, at])
            for part in ((low, begin), (end, high)):
                if max(low, part[0]) < min(high, part[1]):
                    kept.append([max(low, part[0]), min(high, part[1]), number,
                                 since, None])
        self.pieces = kept + gone
        return gone

    def move(self, begin, end, call, at):
        """A map that is moved or made longer, or shorter, at its end."""
        new = int(call["new_address"], 16)
        length = call["new_length"] + -call["new_length"] % PAGE
        gone = self.unmap(begin, end, at)
        self.unmap(new, new + length, at)
        for low, high, number, _, _ in gone:
            first, last = low - begin, high - begin
            last = length if high == end else min(last, length)
            if first < last:
                self.pieces.append([new + first, new + last, number, at, None])

    def around(self, row, model):
        """{map: verdict} of the maps that may hold the block of a row."""
        found = {}
        for low, high, number, since, until in self.pieces:
            if not low <= row.address < high:
                continue
            time = row.at, row.at
            since = since, since + (model.slack if since == row.at else 0)
            verdict = at_least(time, since)
            if until is not None:
                until = until, until + (model.slack if until == row.at else 0)
                verdict = all_of(verdict, negated(at_least(time, until)))
            found[number] = any_of(found.get(number, False), verdict)
        return found


class Row:
    """An allocation."""

    def __init__(self, json, model):
        self.json = json
        self.id = json["id"]
        self.address = int(json["address"], 16)
        self.size = json["size"]
        self.usable = json.get("usable_size")
        self.at = nanoseconds(json["timestamp"])
        self.thread = json["thread"]
        self.thread_name = json.get("thread_name")
        self.call = json["call"]
        self.is_leaked = "deallocation_timestamp" not in json
        self.end = self.end_thread = self.end_call = None
        if not self.is_leaked:
            self.end = nanoseconds(json["deallocation_timestamp"])
            self.end_thread = json["deallocation_thread"]
            self.end_call = json.get("deallocation_call")
        self.temporary = json["temporary"]
        self.marker = json.get("marker", model.markers.get(json["id"], 0))
        self.position = json["position_in_chain"]
        self.group = json["backtrace_id"]
        self.end_group = json.get("deallocation_backtrace_id")
        self.frames = model.frames_of(json)
        self.before = self.after = None  # rows linked by realloc
        self.alloc_order = self.free_order = None

    def lifetime(self, model):
        if self.is_leaked:
            age = model.run_time - self.at
            return age - model.slack, age + model.slack
        life = nanoseconds(self.json["lifetime"])
        return life, life


class Model:
    """All rows of a trace, with what they say together.

    document: allocations JSON of a view without keys, floats read as text.
    run_time: nanoseconds.  exact: a tick is a nanosecond.
    orders:   {id: (order of its allocation, order of its end or None)} where
              the maker of the trace knows it; else times decide, and what they
              leave open (equal times) is not asked.
    markers:  {id: markers before it}, likewise; else there are none.
    maps:     rows of the mmaps JSON.
    modules:  rows of the modules JSON.
    """

    def __init__(self, document, run_time, exact, orders=None, markers=None,
                 maps=(), modules=()):
        self.markers = markers or {}
        self.modules = modules
        self.maps = Maps(maps)
        self.backtraces = document.get("backtraces")
        self.run_time = run_time
        self.slack = 0 if exact else 1
        self.rows = [Row(json, self) for json in document["allocations"]]
        self.rows.sort(key=lambda row: row.id)
        assert [row.id for row in self.rows] == list(range(len(self.rows)))
        self.groups = {}
        for row in self.rows:
            self.groups.setdefault(row.group, []).append(row)
        self.link_chains()
        if orders:
            for row in self.rows:
                row.alloc_order, row.free_order = orders[row.id]
        self.find_peak()
        self.group_facts = {number: self.group_known(rows)
                            for number, rows in self.groups.items()}

    def frames_of(self, json):
        if self.backtraces is None:
            return json["backtrace"]
        return self.backtraces[str(json["backtrace_id"])]

    # --- chains --------------------------------------------------------------

    def link_chains(self):
        """A realloc ends a block and begins the next thing its thread does:
        the n-th row that a thread's realloc ended goes on in the n-th row that
        its realloc began.  Reallocs of unknown blocks begin at position 0."""
        ends, begins = {}, {}
        for row in self.rows:
            if row.end_call == "realloc":
                ends.setdefault(row.end_thread, []).append(row)
            if row.call == "realloc" and row.position:
                begins.setdefault(row.thread, []).append(row)
        assert set(ends) == set(begins), "a realloc without its other half"
        for thread, old in ends.items():
            assert len(old) == len(begins[thread])
            old.sort(key=lambda row: row.end)
            for at, after in enumerate(begins[thread]):
                before = self.take_end(old, at, after)
                assert before.end <= after.at
                before.after, after.before = after, before
        for row in self.rows:
            chain = self.chain(row)
            assert chain.index(row) == row.position, (row.id, row.position)
            length = row.json.get("chain_length", len(chain))
            assert length == len(chain), row.json
        numbers = {}
        for row in self.rows:
            if "chain_id" in row.json:
                numbers.setdefault(row.json["chain_id"], []).append(row)
        for rows in numbers.values():
            assert rows == self.chain(rows[0]) and len(rows) > 1, rows[0].json
        # Every chain has its number, where chains have numbers at all.
        assert not numbers or sum(map(len, numbers.values())) == sum(
            1 for row in self.rows if row.before or row.after)

    @staticmethod
    def take_end(ends, at, after):
        """Number @at of ends; of those that came at the same time, where the
        clock is coarse, the one that says it is of the chain of after."""
        for other in range(at, len(ends)):
            if ends[other].end != ends[at].end:
                break
            if ends[other].json.get("chain_id") == after.json.get("chain_id"):
                ends[at], ends[other] = ends[other], ends[at]
                break
        return ends[at]

    def chain(self, row):
        """First to last; a row that no realloc touched is a chain of one."""
        while row.before:
            row = row.before
        chain = []
        while row:
            chain.append(row)
            row = row.after
        return chain

    # --- moments ---------------------------------------------------------------

    def steps(self, rows, ends_first):
        """(time, +1 or -1, row) in the order of the run.  Of equal times the
        ends come first or last, where nothing tells the order."""
        steps = []
        for row in rows:
            order = (row.alloc_order if row.alloc_order is not None
                     else (row.at, 1, row.id))
            steps.append((order, 1, row.at, row))
            if row.is_leaked:
                continue
            if row.alloc_order is not None:
                order = row.free_order
            else:
                order = (row.end, 2, row.id)
                if ends_first:  # its own beginning comes before it
                    order = ((row.end, 0, row.id) if row.at < row.end else
                             (row.end, 1, row.id + 0.5))
            steps.append((order, 0, row.end, row))
        # An allocation over a live block ends it: one order, the end first.
        steps.sort(key=lambda step: step[:2])
        return [(at, 1 if sign else -1, row) for _, sign, at, row in steps]

    def highest(self, rows):
        """(row that brought the highest sum of sizes first, ids alive then); no
        row where there are no bytes.  None where it is open."""
        results = []
        for ends_first in (True, False):
            total = best = 0
            alive, result = set(), (None, frozenset())
            for _, sign, row in self.steps(rows, ends_first):
                total += sign * row.size
                if sign > 0:
                    alive.add(row.id)
                else:
                    alive.discard(row.id)
                if total > best:
                    best, result = total, (row, frozenset(alive))
            results.append(result)
        return results[0] if results[0] == results[1] else None

    def find_peak(self):
        found = self.highest(self.rows)
        self.peak, self.alive_at_peak = found or (None, None)

    def beside_peak(self, row):
        """Whether its end came before (-1), with (0) or after the peak (1)."""
        if row.id in self.alive_at_peak or row.id > self.peak.id:
            return 1
        replaced = (row.end_call is None and row.address == self.peak.address and
                    row.end == self.peak.at)
        return 0 if replaced else -1

    # --- groups ------------------------------------------------------------------

    def group_known(self, rows):
        length = max(row.at for row in rows) - min(row.at for row in rows)
        slack = self.slack if len(rows) > 1 else 0
        return {"count": len(rows),
                "leaked": sum(row.is_leaked for row in rows),
                "interval": (max(0, length - slack), length + slack),
                "highest": self.highest(rows)}

    def figures(self, rows):
        """What the groups JSON says of some rows of a group."""
        first = min(row.at for row in rows)
        last = max(row.at for row in rows)
        result = {"size": sum(row.size for row in rows),
                  "allocated_count": len(rows),
                  "leaked_count": sum(row.is_leaked for row in rows),
                  "leaked_size": sum(row.size for row in rows if row.is_leaked),
                  "temporary_count": sum(row.temporary for row in rows),
                  "min_size": min(row.size for row in rows),
                  "max_size": max(row.size for row in rows),
                  "min_timestamp": first, "max_timestamp": last,
                  "interval": last - first}
        if rows[0].usable is not None:
            result["usable_size"] = sum(row.usable for row in rows)
        return result

    def all_figures(self, group):
        """Those that there are of all rows of a group only."""
        rows = self.groups[group]
        result = self.figures(rows)
        if self.peak:
            result["peak_size"] = sum(row.size for row in rows
                                      if row.id in self.alive_at_peak)
        highest = self.group_facts[group]["highest"]
        if highest:
            row, alive = highest
            result["max_total_usage"] = sum(self.rows[one].size for one in alive)
            result["max_total_usage_first_seen_at"] = row.at if row else 0
        return result


# --- what gave a block ----------------------------------------------------------

def chunk(row):
    """How glibc made it: "arena", "map" or None where another allocator did."""
    if row.address % 16 or not row.usable:
        return None
    if row.usable % 16 == 8 and row.usable > 16:
        return "arena"
    if row.usable % 16 or (row.address + row.usable) % PAGE:
        return None
    place = row.address % PAGE
    moved = row.call == "realloc" and place and row.usable >= 1 << 16
    return "map" if place == 16 or row.call == "memalign" or moved else None


def arena(model, row):
    """Other arenas than the main one are where libraries are, far from the
    program."""
    if chunk(row) != "arena":
        return "main" if chunk(row) else "other"
    program, tracer = (
        next(int(one["start"], 16) for one in model.modules if is_it(one))
        for is_it in (lambda one: one["program"],
                      lambda one: one["path"].endswith("/libmemprof.so")))
    away = max(abs(program - tracer) // 2, 1 << 36)
    return "main" if abs(row.address - tracer) > away else "non_main"


# --- values, as docs/spec.md writes them ---------------------------------------

UNITS_OF_TIME = {"d": 86400 * 10**9, "h": 3600 * 10**9, "min": 60 * 10**9,
                 "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}
UNITS_OF_BYTES = {"": 1, "b": 1}
for power, letter in enumerate("kmgt", 1):
    UNITS_OF_BYTES[letter] = UNITS_OF_BYTES[letter + "ib"] = 1024 ** power
    UNITS_OF_BYTES[letter + "b"] = 1000 ** power


@functools.cache
def number(text):
    return int(text, 16 if text.lower().startswith("0x") else 10)


@functools.cache
def size(text):
    if text.lower().startswith("0x"):
        return int(text, 16)
    digits, unit = re.fullmatch(r"([\d.]+) *([a-zA-Z]*)", text).groups()
    return int(Fraction(digits) * UNITS_OF_BYTES[unit.lower()])


@functools.cache
def duration(text):
    """Whole nanoseconds."""
    if re.fullmatch(r"[\d.]+", text):
        text += "s"
    parts = re.findall(r"([\d.]+) *([a-zA-Z]+) *", text)
    total = sum(Fraction(digits) * UNITS_OF_TIME[unit.lower()]
                for digits, unit in parts)
    assert total.denominator == 1, text
    return int(total)


@functools.cache
def share(text):
    """Of "12.5%": 1/8; None of anything else."""
    return Fraction(text[:-1].strip()) / 100 if text.endswith("%") else None


def of_run(model, part):
    """(least, most) nanoseconds of a share of the run.  Seconds that are a
    share only by accident of rounding decide nothing."""
    exact = part * model.run_time
    whole = round(exact)
    least = min(whole, exact) if abs(exact - whole) < Fraction(1, 1000) else exact
    most = max(whole, exact) if abs(exact - whole) < Fraction(1, 1000) else exact
    return least - model.slack * part, most + model.slack * part


def moment(model, text):
    """(least, most) nanoseconds; "peak" stays a word."""
    if text == "peak":
        return text
    part = share(text)
    if part is None:
        return (duration(text),) * 2
    return of_run(model, part) if part else (0, 0)


# --- verdicts: True, False, or None where nanoseconds leave it open ---------------

def at_least(value, bound):
    if value[0] >= bound[1]:
        return True
    return False if value[1] < bound[0] else None


def at_most(value, bound):
    return at_least(bound, value)


def negated(verdict):
    return None if verdict is None else not verdict


def all_of(*verdicts):
    if False in verdicts:
        return False
    return None if None in verdicts else True


def any_of(*verdicts):
    return negated(all_of(*map(negated, verdicts)))


def exactly(value):
    return value, value


# --- keys ------------------------------------------------------------------------
#
# A key's function takes the model, the view's other conditions and the text, and
# gives the question to a row.

def timed(model, time, text):
    """An event's time beside a moment: seconds compare as written, to the
    nanosecond; a share of the run falls between the ticks."""
    slack = model.slack if share(text) is not None else 0
    return time - slack, time + slack


def moment_from(model, text, time_of, order_of):
    """Rows that did it at this moment or later."""
    when = moment(model, text)
    if when == "peak":
        return lambda row: order_of(row) >= 0
    if share(text) == 0:
        return lambda row: True
    return lambda row: at_least(timed(model, time_of(row), text), when)


def moment_to(model, text, time_of, order_of):
    """Rows that did it at this moment or earlier."""
    when = moment(model, text)
    if when == "peak":
        return lambda row: order_of(row) <= 0
    if share(text) is not None and share(text) >= 1:
        return lambda row: True
    return lambda row: at_most(timed(model, time_of(row), text), when)


def allocated(model):
    """When, and whether before (-1), at (0) or after (1) the peak."""
    return (lambda row: row.at,
            lambda row: (row.id > model.peak.id) - (row.id < model.peak.id))


def ended(model):
    """The same of the row's end."""
    return lambda row: row.end, model.beside_peak


def key_from(model, _, text):
    return moment_from(model, text, *allocated(model))


def key_to(model, _, text):
    return moment_to(model, text, *allocated(model))


def key_alive_at(model, _, text):
    if moment(model, text) == "peak":
        return lambda row: row.id in model.alive_at_peak
    if share(text) is not None and share(text) >= 1:
        return lambda row: row.is_leaked
    born = moment_to(model, text, *allocated(model))
    dead = moment_to(model, text, *ended(model))
    return lambda row: all_of(born(row), row.is_leaked or negated(dead(row)))


LIFETIMES = {
    "all": lambda model, row: True,
    "only_leaked": lambda model, row: row.is_leaked,
    "only_temporary": lambda model, row: not row.is_leaked,
    "only_chain_leaked": lambda model, row: model.chain(row)[-1].is_leaked,
    "only_whole_group_leaked": lambda model, row:
        model.group_facts[row.group]["leaked"] ==
        model.group_facts[row.group]["count"],
    "only_deallocated_in_current_range": None,
    "only_not_deallocated_in_current_range": None,
}


def key_lifetime(model, view, text):
    if LIFETIMES[text]:
        return lambda row: LIFETIMES[text](model, row)
    bounds = ([moment_from(model, one, *ended(model))
               for one in view.get("from", [])] +
              [moment_to(model, one, *ended(model))
               for one in view.get("to", [])])

    def freed_in_range(row):
        return not row.is_leaked and all_of(*(one(row) for one in bounds))
    if text == "only_deallocated_in_current_range":
        return freed_in_range
    return lambda row: negated(freed_in_range(row))


def chain_lifetime(model, row):
    chain = model.chain(row)
    first, last = chain[0], chain[-1]
    if len(chain) == 1:
        return row.lifetime(model)
    life = (model.run_time if last.is_leaked else last.end) - first.at
    return life - model.slack, life + model.slack


def plain(parse):
    """A bound that is the same for all rows."""
    return lambda model, row, text: exactly(parse(text))


def quota(model, row, text):
    """A number, or a share of the allocations of the row's group."""
    part = share(text)
    return exactly(number(text) if part is None else
                   part * model.group_facts[row.group]["count"])


def span(model, row, text):
    """A duration, or a share of the run."""
    part = share(text)
    return exactly(duration(text)) if part is None else of_run(model, part)


# What _min and _max compare: (least, most) of a row and of the bound, and how
# the bound is written.
RANGES = {
    "address": (lambda model, row: exactly(row.address), plain(number), "NUMBER"),
    "size": (lambda model, row: exactly(row.size), plain(size), "BYTES"),
    "usable_size": (lambda model, row: exactly(row.usable), plain(size), "BYTES"),
    "lifetime": (lambda model, row: row.lifetime(model), plain(duration),
                 "DURATION"),
    "first_size": (lambda model, row: exactly(model.chain(row)[0].size),
                   plain(size), "BYTES"),
    "last_size": (lambda model, row: exactly(model.chain(row)[-1].size),
                  plain(size), "BYTES"),
    "chain_length": (lambda model, row: exactly(len(model.chain(row))),
                     plain(number), "NUMBER"),
    "position_in_chain": (lambda model, row:
                          exactly(model.chain(row).index(row)), plain(number),
                          "NUMBER"),
    "chain_lifetime": (chain_lifetime, plain(duration), "DURATION"),
    "backtrace_depth": (lambda model, row: exactly(len(row.frames)),
                        plain(number), "NUMBER"),
    "group_allocations": (lambda model, row:
                          exactly(model.group_facts[row.group]["count"]),
                          plain(number), "NUMBER"),
    "group_leaked_allocations": (lambda model, row:
                                 exactly(model.group_facts[row.group]["leaked"]),
                                 quota, "QUOTA"),
    "group_interval": (lambda model, row:
                       model.group_facts[row.group]["interval"], span, "SPAN"),
}


def range_key(name, compare):
    value_of, bound_of, _ = RANGES[name]
    return lambda model, _, text: lambda row: compare(value_of(model, row),
                                                      bound_of(model, row, text))


def first_seen(make):
    """When the group's live bytes were at their highest for the first time; the
    start of the run where they were none."""
    def key(model, _, text):
        time, order = allocated(model)

        def moment_of(row):
            return model.group_facts[row.group]["highest"][0]
        ask = make(model, text,
                   lambda row: time(moment_of(row)) if moment_of(row) else 0,
                   lambda row: order(moment_of(row)) if moment_of(row) else -1)
        return lambda row: (ask(row) if model.group_facts[row.group]["highest"]
                            else None)
    return key


def numbers(text):
    return {number(word.strip()) for word in text.split(",")}


def number_key(value_of):
    return lambda model, _, text: (
        lambda row, wanted=frozenset(numbers(text)): value_of(row) in wanted)


def key_from_map(model, _, text):
    wanted = numbers(text)

    def ask(row):
        found = model.maps.around(row, model)
        return any_of(*(found[one] for one in wanted & found.keys()), False)
    return ask


def key_thread_name(model, _, text):
    pattern = re.compile(text)
    return lambda row: bool(pattern.search(row.thread_name or ""))


def permission(letter):
    """Of maps."""
    return lambda model, _, text: lambda row: (
        (letter in row.json["protection"]) == (text == "yes"))


TEMPORARY = {"heaptrack": lambda row: row.temporary,
             "freed": lambda row: not row.is_leaked}

MMAPED = {"yes": "map", "no": "arena"}
ARENAS = ("main", "non_main", "other")

KEYS = {
    "from": key_from,
    "to": key_to,
    "alive_at": key_alive_at,
    "alive_at_2": key_alive_at,
    "lifetime": key_lifetime,
    "temporary": lambda model, _, text: TEMPORARY[text],
    "mmaped": lambda model, _, text: lambda row: chunk(row) == MMAPED[text],
    "arena": lambda model, _, text: lambda row: arena(model, row) == text,
    "readable": permission("r"),
    "writable": permission("w"),
    "executable": permission("x"),
    "thread": number_key(lambda row: row.thread),
    "thread_name": key_thread_name,
    "marker": number_key(lambda row: row.marker),
    "backtraces": number_key(lambda row: row.group),
    "from_map": key_from_map,
    "deallocation_backtraces": number_key(lambda row: row.end_group),
    "group_max_total_usage_first_seen_min": first_seen(moment_from),
    "group_max_total_usage_first_seen_max": first_seen(moment_to),
}
for range_name in RANGES:
    KEYS[range_name + "_min"] = range_key(range_name, at_least)
    KEYS[range_name + "_max"] = range_key(range_name, at_most)

# Keys that are asked together: one frame must meet all of them.
FRAME_KEYS = {"function_regex": "function", "source_regex": "file",
              "library_regex": "module"}
ALL_KEYS = {*KEYS, *FRAME_KEYS, *("negative_" + key for key in FRAME_KEYS)}


def frame_keys(view, prefix):
    """[(member of a frame, its expressions)]"""
    return [(member, [re.compile(text) for text in view[prefix + key]])
            for key, member in FRAME_KEYS.items() if prefix + key in view]


def frame_matches(frame, member, patterns):
    return member in frame and any(pattern.search(frame[member])
                                   for pattern in patterns)


def frames_question(view):
    """What the regex keys ask of a stack; answered once a backtrace."""
    wanted, unwanted = frame_keys(view, ""), frame_keys(view, "negative_")
    answers = {}

    def answer(frames):
        found = not wanted or any(
            all(frame_matches(frame, *key) for key in wanted) for frame in frames)
        return found and not any(frame_matches(frame, *key)
                                 for frame in frames for key in unwanted)

    def ask(row):
        if row.group not in answers:
            answers[row.group] = answer(row.frames)
        return answers[row.group]
    return ask


# --- views -------------------------------------------------------------------------

# What rows are sorted by; those of time are known to a nanosecond only.
ROW_ORDERS = {
    "timestamp": lambda model, row: row.at,
    "address": lambda model, row: row.address,
    "size": lambda model, row: row.size,
    "usable_size": lambda model, row: row.usable or 0,
    "lifetime": lambda model, row: sum(row.lifetime(model)) // 2,
}
# In the groups JSON.
KNOWN_FIGURES = (r"(only_matched|all)_((leaked_|usable_|min_|max_)?size|"
                 r"(allocated|leaked|temporary)_count|"
                 r"(min|max)_timestamp|interval)|all_peak_size|"
                 r"all_max_total_usage(_first_seen_at)?")
GROUP_ORDERS = [half + "." + word for half in ("only_matched", "all")
                for word in ("min_timestamp", "max_timestamp", "interval",
                             "allocated_count", "leaked_count", "size")]
GROUP_ORDERS.append("all.max_total_usage_first_seen_at")


def repeated(asks, is_negated):
    """A key that stands several times: any of its values; not_key: none."""
    if len(asks) == 1 and not is_negated:
        return asks[0]
    if is_negated:
        return lambda row: all_of(*(negated(ask(row)) for ask in asks))
    return lambda row: any_of(*(ask(row) for ask in asks))


def question(model, settings, filters):
    """What a list of (key, text) asks of a row.  filters: {name: settings}."""
    view = {}
    for key, text in settings:
        view.setdefault(key, []).append(text)
    asks = []
    if any(key in FRAME_KEYS or key.startswith("negative_") for key in view):
        asks.append(frames_question(view))
    for key, texts in view.items():
        is_negated = key.startswith("not_")
        bare = key[4:] if is_negated else key
        if bare in ("use", "use_any"):
            used = [question(model, filters[name.strip()], filters)
                    for text in texts for name in text.split(",")]
            join = any_of if bare == "use_any" or is_negated else all_of
            asks.append(lambda row, used=used, join=join, sign=is_negated:
                        negated(join(*(one(row) for one in used))) if sign
                        else join(*(one(row) for one in used)))
        elif bare in KEYS:
            asks.append(repeated([KEYS[bare](model, view, text)
                                  for text in texts], is_negated))

    def meets_all(row):
        verdict = True
        for ask in asks:
            answer = ask(row)
            if answer is False:
                return False
            if answer is None:
                verdict = None
        return verdict
    return meets_all


def verdicts(model, settings, filters):
    """Of every row."""
    ask = question(model, settings, filters)
    return [ask(row) for row in model.rows]
