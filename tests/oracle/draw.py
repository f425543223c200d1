# SPDX-License-Identifier: MIT
"""Random views whose conditions hit what a trace holds: sizes, times and ratios
that some allocation has exactly, and their neighbours.

A setting is (key, text), as in a spec.  Conditions of one view are drawn around
one allocation, which they mostly let pass, so that several together still leave
something.
"""
import re
from fractions import Fraction

import charts
import oracle


class View:
    """settings: (key, text) in order; filters: the same of each [filter NAME]
    that they use; more: artifacts beside allocations and groups."""

    def __init__(self, settings, filters=None, more=()):
        self.settings, self.filters = settings, filters or {}
        self.more = tuple(more)

    def get(self, key, default=None):
        return dict(self.settings).get(key, default)

    def conditions(self):
        """All but order, count and the like."""
        return [one for one in self.settings if is_condition(one[0])]

    def smaller(self):
        """The same with one setting or artifact less, anywhere."""
        for at in range(len(self.more)):
            yield View(self.settings, self.filters,
                       self.more[:at] + self.more[at + 1:])
        for at in range(len(self.settings)):
            yield View(self.settings[:at] + self.settings[at + 1:], self.filters,
                       self.more)
        for name, inner in self.filters.items():
            for at in range(len(inner)):
                if len(inner) > 1:
                    yield View(self.settings, {**self.filters, name:
                                               inner[:at] + inner[at + 1:]},
                               self.more)
        for at, (key, text) in enumerate(self.settings):
            words = text.split(",")
            if bare(key) in LISTS and len(words) > 1:
                for word in words:
                    yield View(self.settings[:at] + [(key, word.strip())] +
                               self.settings[at + 1:], self.filters,
                               self.more)

    def used(self):
        """The filters that it still uses."""
        names = {word.strip() for key, text in self.settings
                 if bare(key) in USES for word in text.split(",")}
        return {name: self.filters[name] for name in self.filters
                if name in names}


MANY_ROWS = 4000  # of more, no view shows all
USES = ("use", "use_any")
LISTS = (*USES, "thread", "marker", "backtraces", "deallocation_backtraces",
         "from_map")


def bare(key):
    """A key without the prefix that negates it."""
    return key[4:] if key.startswith("not_") else key


def is_condition(key):
    return bare(key) in oracle.ALL_KEYS or bare(key) in USES


def is_of_this_run(key):
    """Whether values of a key are times or addresses, which a program has others
    of whenever it runs."""
    name = bare(key)
    range_name = name.rsplit("_", 1)[0]
    return (name in ("from", "to", "alive_at", "alive_at_2") or
            name.startswith(("address", "from_map",
                             "group_max_total_usage")) or
            oracle.RANGES.get(range_name, (0, 0, ""))[2] in ("DURATION", "SPAN"))


class Draw:
    """With steady, of a program's runs all have the same conditions."""

    def __init__(self, model, random, documented, steady=False):
        self.model = model
        self.random = random
        self.words = documented
        self.keys = [key for key in documented.keys if
                     bare(key) in oracle.ALL_KEYS and self.is_answerable(key)
                     and not (steady and is_of_this_run(key))]
        # Equal times may leave open when a group held the most.
        is_open = any(facts["highest"] is None
                      for facts in model.group_facts.values())
        self.sort_words = [word for word in documented.sort_words
                           if not (is_open and "usage" in word)]
        self.drawn = {key: 0 for key in self.keys}
        self.drawn.update({key: 0 for key in documented.keys
                           if bare(key) in USES})
        self.filter_count = 0

    def is_answerable(self, key):
        """Whether the trace has what the key is about."""
        if bare(key).startswith("usable_size") or bare(key) == "mmaped":
            return self.model.rows[0].usable is not None
        if bare(key) == "arena":
            return any(one["path"].endswith("/libmemprof.so")
                       for one in self.model.modules)
        if bare(key) == "from_map":
            return self.model.maps.count > 0
        if bare(key) == "deallocation_backtraces":
            return any(row.end_group is not None for row in self.model.rows)
        return True

    # --- how values are written ---------------------------------------------

    def number(self, value):
        return hex(value) if self.random.random() < 0.2 else str(value)

    def size(self, value):
        units = [("KiB", 1024), ("k", 1024), ("MiB", 1 << 20), ("kB", 1000),
                 (" MB", 10**6), ("B", 1)]
        fitting = [str(value // unit) + name for name, unit in units
                   if value and value % unit == 0]
        if value and value % 512 == 0:
            fitting.append(f"{value // 512 * 5}".rjust(2, "0")[:-1] + "." +
                           f"{value // 512 * 5}"[-1] + "KiB")
        if fitting and self.random.random() < 0.4:
            return self.random.choice(fitting)
        return self.number(value)

    def time(self, value):
        """Nanoseconds in one of the ways to write them."""
        seconds, rest = divmod(value, 10**9)
        ways = [f"{seconds}.{rest:09}", f"{value}ns", f"{seconds}.{rest:09}s",
                f"{value // 1000}.{value % 1000:03}us",
                f"{value // 10**6}.{value % 10**6:06}ms",
                f"{seconds}s{rest}ns", f"{seconds}s {rest // 10**6}ms "
                f"{rest % 10**6 // 1000}us {rest % 1000} ns"]
        return self.random.choice(ways)

    def percent(self, part):
        """At most nine places; whole or exact ones where there are any."""
        places = self.random.choice((0, 1, 2, 9, 9, 9))
        scaled = part * 100 * 10**places
        whole = (round(scaled) if self.random.random() < 0.7 else
                 int(scaled) + self.random.randrange(2))
        text = f"{whole // 10**places}"
        if places:
            text += f".{whole % 10**places:0{places}}".rstrip("0").rstrip(".")
        return text + self.random.choice(("%", "%", " %"))

    # --- values -----------------------------------------------------------------

    def row(self):
        return self.random.choice(self.model.rows)

    def near(self, value_of, row):
        """Its own value, another row's, or a neighbour of either."""
        dice = self.random.random()
        if dice < 0.5:
            value = value_of(row)
        else:
            value = value_of(self.row())
        if dice > 0.85:
            value += self.random.choice((-1, 1))
        return max(0, value)

    def range_bound(self, key, row):
        name, side = key.rsplit("_", 1)
        value_of, _, kind = oracle.RANGES[name]

        def whole(one):
            return int(value_of(self.model, one)[0])
        if kind == "QUOTA" and self.random.random() < 0.6:
            facts = self.model.group_facts[row.group]
            return self.percent(Fraction(facts["leaked"], facts["count"]))
        value, own = self.near(whole, row), whole(row)
        if self.random.random() < 0.7 and (
                value > own if side == "min" else value < own):
            value = own
        if kind == "SPAN" and self.random.random() < 0.4:
            return self.percent(Fraction(value, self.model.run_time))
        if kind == "BYTES":
            return self.size(value)
        return self.time(value) if kind in ("DURATION", "SPAN") else \
            self.number(value)

    def moment(self, row, words=True):
        dice = self.random.random()
        if dice < 0.08 and words and self.model.peak:
            return "peak"
        def event(one):
            if one.end is not None and self.random.random() < 0.5:
                return one.end
            return one.at
        value = self.near(event, row)
        if dice < 0.3:
            part = min(Fraction(value, self.model.run_time), Fraction(1))
            if self.random.random() < 0.15:
                part = Fraction(self.random.randrange(2))
            return self.percent(part)
        return self.time(value)

    def pattern(self, names, own):
        """An expression, without what INI or the trimming of values changes."""
        for _ in range(50):
            name = self.random.choice(own if own and self.random.random() < 0.6
                                      else names)
            pattern = self.expression(name)
            if self.random.random() < 0.15:
                pattern += "|" + self.expression(self.random.choice(names))
            if self.random.random() < 0.1:
                pattern = "(?i)" + pattern
            if (pattern.isascii() and pattern.isprintable() and
                    ";" not in pattern and pattern.strip() == pattern and
                    0 < len(pattern) < 120):
                return pattern
        return "."

    def expression(self, name):
        dice = self.random.random()
        if dice < 0.25:
            return "^" + escape(name) + "$"
        start = self.random.randrange(len(name))
        part = name[start:start + self.random.randrange(1, 12)]
        if dice < 0.4:
            return "^" + escape(name[:len(part)])
        if dice < 0.5:
            return escape(name[-len(part):]) + "$"
        if dice < 0.6:
            return "(?i:" + escape(part.swapcase()) + ")"
        if dice < 0.7:
            return escape(part[0]) + ".*" + escape(part[-1])
        if dice < 0.75:
            return self.random.choice((r"^\w+$", "[0-9]{2}", "no such name",
                                       ".", "^_"))
        return escape(part)

    def names(self, rows, member):
        return sorted({frame[member] for row in rows for frame in row.frames
                       if frame.get(member)})

    def regex(self, member, row):
        if member not in self.__dict__:
            setattr(self, member, self.names(self.model.rows, member) or ["none"])
        return self.pattern(getattr(self, member), self.names([row], member))

    def numbers(self, value_of, row):
        """A list of numbers that some rows have."""
        found = {value_of(self.row()) for _ in range(self.random.choice((0, 1, 3)))}
        found.add(value_of(row))
        return ", ".join(self.number(one) for one in
                         self.random.sample(sorted(found - {None}),
                                            len(found - {None}))) or "0"

    def text(self, key, row):
        """A value for a key."""
        model = self.model
        if key in ("from", "to", "alive_at", "alive_at_2"):
            return self.moment(row)
        if key == "lifetime":
            return self.random.choice(self.words.lifetimes)
        if key == "temporary":
            return self.random.choice(list(oracle.TEMPORARY))
        if key in ("mmaped", "readable", "writable", "executable"):
            return self.random.choice(list(oracle.MMAPED))
        if key == "arena":
            return self.random.choice(oracle.ARENAS)
        if key == "thread":
            return self.numbers(lambda one: one.thread, row)
        if key == "backtraces":
            return self.numbers(lambda one: one.group, row)
        if key == "deallocation_backtraces":
            return self.numbers(lambda one: one.end_group, row)
        if key == "from_map":
            def one_of(other):
                return self.random.choice(
                    [*model.maps.around(other, model)] or
                    [self.random.randrange(model.maps.count)])
            return self.numbers(one_of, row)
        if key == "thread_name":
            names = sorted({one.thread_name or "" for one in model.rows} - {""})
            return self.pattern(names or ["none"], [row.thread_name or "none"])
        if key == "marker":
            return self.numbers(lambda one: one.marker, row)
        if key.startswith("group_max_total_usage"):
            highest = model.group_facts[row.group]["highest"]
            return self.moment(highest[0] if highest and highest[0] else row)
        for regex, member in oracle.FRAME_KEYS.items():
            if key.endswith(regex):
                return self.regex(member, row)
        return self.range_bound(key, row)

    # --- whole views ----------------------------------------------------------------

    def conditions(self, count):
        """About @count (key, text) that are decided for every row."""
        row = self.row()
        keys = self.random.sample(self.keys, min(count, len(self.keys)))
        keys += [key for key in keys if bare(key) in self.words.repeating and
                 self.random.random() < 0.3]
        result = []
        for key in keys:
            for _ in range(8):
                more = result + [(key, self.text(bare(key), row))]
                if contradicts(more) or (key, "all") == ("not_lifetime",
                                                         more[-1][1]):
                    continue
                if None not in oracle.verdicts(self.model, more, {}):
                    result = more
                    self.drawn[key] += 1
                    break
        return result

    def with_filters(self, settings):
        """Some of the conditions in [filter NAME] sections."""
        uses = [key for key in self.words.keys if bare(key) in USES]
        if not uses or len(settings) < 2 or self.random.random() < 0.7:
            return View(settings)
        filters = {}
        left = settings[:]
        for _ in range(self.random.choice((1, 1, 2))):
            taken = [one for one in left if self.random.random() < 0.6]
            if taken:
                self.filter_count += 1
                filters[f"f{self.filter_count}"] = taken
                left = [one for one in left if one not in taken]
        if not filters:
            return View(settings)
        key = self.random.choice(uses)
        self.drawn[key] += 1
        return View([(key, ", ".join(filters))] + left, filters)

    def order(self):
        """sort_by, order, count and the like."""
        result = []
        if self.random.random() < 0.7:
            result.append(("sort_by", self.random.choice(self.sort_words)))
        if self.random.random() < 0.5:
            result.append(("order", self.random.choice(("asc", "dsc"))))
        dice = self.random.random()
        if dice < 0.6 or len(self.model.rows) > MANY_ROWS:
            result.append(("count", str(self.random.choice((1, 2, 3, 7, 20, 50)))))
        elif dice < 0.7:
            result.append(("count", "all"))
        if "skip" in self.words.view_keys and self.random.random() < 0.2:
            result.append(("skip", str(self.random.choice((0, 1, 2, 10, 10**6)))))
        return result

    def view(self):
        count = self.random.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 6))
        view = self.with_filters(self.conditions(count))
        if None in oracle.verdicts(self.model, view.conditions(), view.filters):
            return self.view()
        view.settings += self.order()
        view.more = tuple(one for one in (*charts.CHARTS, *charts.TABLES)
                          if self.random.random() < 0.2)
        if any(one in view.more for one in charts.TREES):
            view.settings += self.tree()
        return view

    def tree(self):
        """cost, direction."""
        result = []
        if self.random.random() < 0.8:
            result.append(("cost", self.random.choice(list(charts.COSTS))))
        if self.random.random() < 0.5:
            result.append(("direction", self.random.choice(("callers",
                                                            "callees"))))
        return result


def escape(text):
    """Letters, digits and _ as they are: what both kinds of expressions read
    alike."""
    return re.sub(r"([^\w\s])", r"\\\1", text, flags=re.ASCII)


def contradicts(settings):
    """What the spec refuses: bounds that exclude each other."""
    found = dict(settings)
    for key, text in settings:
        other = found.get("to" if key == "from" else key[:-4] + "_max"
                          if key.endswith("_min") else None)
        if other is None:
            continue
        parse = oracle.duration if key == "from" else \
            {"BYTES": oracle.size, "NUMBER": oracle.number}.get(
                oracle.RANGES.get(key[:-4], (0, 0, "TIME"))[2], oracle.duration)
        if (oracle.share(text) is None) != (oracle.share(other) is None) or \
                "peak" in (text, other):
            continue
        if oracle.share(text) is not None:
            parse = oracle.share
        elif key.startswith("group_leaked"):
            parse = oracle.number
        if parse(text) > parse(other):
            return True
    return False
