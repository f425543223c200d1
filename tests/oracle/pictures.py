# SPDX-License-Identifier: MIT
"""What a view's ASCII tree and flamegraph must show, found from the rows that
passed, the slow and obvious way: a tree of (bytes, allocations) by the frames
of the stacks, beside the one that is read back from the text or the drawing.

Every function gives what is wrong, or None.
"""
import re
import xml.etree.ElementTree

LINES_WHOLE = 2000     # nodes; a larger tree sums up what is small
PARTS = 2000           # small: less than one of so many of the cost
BOX_RATIO = 1e-4       # boxes below it are not drawn
BOX_BYTES = 400        # and its name: rather more than a box takes
BYTES_SURE = 3_500_000 # of boxes; more may be too many
UNITS = {"B": 1, "bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


class Node:
    def __init__(self, key=None):
        self.key = key
        self.bytes = self.count = 0
        self.children = {}

    def add(self, size, count):
        self.bytes += size
        self.count += count

    def below(self):
        """This one and all below it, parents first."""
        nodes = [self]
        for node in nodes:
            nodes.extend(node.children.values())
        return nodes


def cost_of(model, view, row):
    """(bytes, allocations) of a row; None where it is none of the cost's."""
    cost = view.get("cost", "bytes")
    if cost == "temporary" and not row.temporary or \
            cost == "peak" and row.id not in model.alive_at_peak or \
            cost == "leaked" and not row.is_leaked:
        return None
    return row.size, 1


def is_by_count(view):
    return view.get("cost") in ("count", "temporary")


def merge(model, view, rows, key):
    """The tree of the rows' stacks, frames with equal keys merged."""
    root = Node()
    for row in rows:
        cost = cost_of(model, view, row)
        if cost is None:
            continue
        node = root
        node.add(*cost)
        frames = row.frames
        if view.get("direction") == "callees":
            frames = reversed(frames)
        for frame in frames:
            node = node.children.setdefault(key(frame), Node(key(frame)))
            node.add(*cost)
    return root


def rounds_to(text, value):
    """Whether a value can have been rounded to "12.3 KiB"; of a percentage the
    value is a share."""
    number, unit = text.rsplit(" ", 1)
    if unit == "%":
        value *= 100
        if number[0] == "<":
            return 0 < value < float(number[1:])
        if number[0] == ">":
            return float(number[1:]) < value < 100
    number = number.replace(",", "")
    places = len(number.partition(".")[2])
    step = 10 ** -places * UNITS.get(unit, 1)
    return abs(float(number) * UNITS.get(unit, 1) - value) <= step * 0.5000001


# --- the tree as text ----------------------------------------------------------

SIZE, SHARE, COUNT = r"([\d.,]+ \w+)", r"([<>]?[\d.,]+ %)", r"([\d,]+)"
ROW = re.compile(rf" *{SIZE}  +{SHARE}  +{COUNT}  (.*)")
ROW_BY_COUNT = re.compile(rf" *{COUNT}  +{SHARE}  +{SIZE}  (.*)")
BARS = re.compile("((?:│ |  )*)(├ |└ )?(.*)")
REST = re.compile(r"\((\d+) functions? below 0\.05 %\)")


class Printed:
    def __init__(self, size, share, count, label):
        self.size, self.share, self.label = size, share, label
        self.count = int(count.replace(",", ""))
        self.children = []


def printed_tree(text, by_count):
    """Its root.  A row steps right only where its parent has several children:
    then that is the last row with a bar less."""
    lines = text.splitlines()
    rows = lines[next(i for i, line in enumerate(lines)
                      if line.endswith("  FUNCTION")) + 1:]
    last = {}  # row by how many bars it has
    before = None
    for line in rows:
        if by_count:
            count, share, size, rest = ROW_BY_COUNT.fullmatch(line).groups()
        else:
            size, share, count, rest = ROW.fullmatch(line).groups()
        bars, branch, label = BARS.fullmatch(rest).groups()
        depth = len(bars) // 2
        node = Printed(size, share, count, label)
        if branch:
            last[depth].children.append(node)
        elif before:
            before.children.append(node)
        else:
            root = node
        last[depth + bool(branch)] = before = node
    return root


def line_key(frame):
    """What makes frames one node: all but the address."""
    return (frame["function"], frame.get("file"), frame.get("line"),
            frame["module"])


def line_label(key):
    function, file, line, _ = key
    if file is None:
        return function
    return f"{function} [{file.split('/')[-1]}{f':{line}' if line else ''}]"


def node_difference(node, printed, whole, least, by_count):
    """Of a node and, where it is one, of all below it."""
    cost = node.count if by_count else node.bytes
    if node.count != printed.count or not rounds_to(printed.size, node.bytes) \
            or not rounds_to(printed.share, cost / whole if whole else 0):
        return (f"{printed.label} has {printed.size}, {printed.share}, "
                f"{printed.count}, not {node.bytes} B, {node.count} of {whole}")
    def weight(one):
        return one.count if by_count else one.bytes
    left = sorted(node.children.values(), key=weight, reverse=True)
    small = [one for one in left if weight(one) < least]
    left = left[:len(left) - len(small)]
    shown = printed.children
    if small:
        if not shown or not REST.fullmatch(shown[-1].label):
            return f"below {printed.label}, {len(small)} small ones are not summed"
        rest = Node()
        for one in small:
            rest.add(one.bytes, one.count)
        if int(REST.fullmatch(shown[-1].label).group(1)) != len(small):
            return f"below {printed.label}: {shown[-1].label}, not {len(small)}"
        wrong = node_difference(rest, shown[-1], whole, 0, by_count)
        if wrong:
            return wrong
        shown = shown[:-1]
    if len(shown) != len(left):
        return f"below {printed.label}: {len(shown)} rows, not {len(left)}"
    for at, child in enumerate(shown):
        # Equal weights come in any order; equal labels are told by what follows.
        alike = [one for one in left if weight(one) == weight(left[0])]
        problems = []
        label = child.label.removesuffix(" (inlined)")
        for one in alike:
            wrong = f"below {printed.label}: {label}, not {line_label(one.key)}"
            if line_label(one.key) == label:
                wrong = node_difference(one, child, whole, least, by_count)
            if not wrong:
                left.remove(one)
                break
            problems.append(wrong)
        else:
            return problems[-1]
    return None


def tree_difference(model, view, rows, text):
    if view.get("cost") == "peak" and model.alive_at_peak is None:
        return None
    root, by_count = merge(model, view, rows, line_key), is_by_count(view)
    whole = root.count if by_count else root.bytes
    head = (f"{root.bytes:,} bytes) in {root.count:,} allocation" if not by_count
            else f"{root.count:,} allocation")
    if head not in text.splitlines()[0]:
        return f"the first line is {text.splitlines()[0]!r}, without {head!r}"
    if not root.children:
        return None if "nothing " in text else "rows, where nothing is"
    least = whole // PARTS if len(root.below()) > LINES_WHOLE else 0
    return node_difference(root, printed_tree(text, by_count), whole, least,
                           by_count)


# --- the flamegraph --------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"
ROW_PX = 18
TITLE = re.compile(r"(?:[\d.]+ \w+ \()?([\d,]+) bytes\)?, ([\d,]+) allocations?, "
                   r"([<>]?[\d.,]+ %)")


def box_key(frame):
    return frame["function"], frame["module"]


def percent(text):
    return float(text.removesuffix("%")) / 100


def count_boxes(box):
    return 1 + sum(count_boxes(child) for child in box.children)


class Box:
    """As drawn; lines of the title: function, source, module, figures."""

    def __init__(self, drawn):
        self.left, self.width = percent(drawn.get("x")), percent(drawn.get("width"))
        self.row, rest = divmod(int(drawn.get("y")), ROW_PX)
        assert rest == 0
        self.title = drawn.find(SVG + "title").text.split("\n")
        self.title[0] = self.title[0].removesuffix(" (inlined)")
        self.value = int(drawn.get("data-v"))
        self.children = []


def drawn_tree(drawing):
    """Its root: boxes are in preorder, each below the last one of the row above."""
    frames = next((one for one in drawing.iter(SVG + "svg")
                   if one.get("class") == "mp-frames"), None)
    if frames is None:
        return None
    boxes = [Box(one) for one in frames.findall(SVG + "svg")]
    above = {}
    for box in boxes:
        if box.row:
            above[box.row - 1].children.append(box)
        above[box.row] = box
    return boxes[0]


def box_difference(node, box, whole, by_count):
    cost = node.count if by_count else node.bytes
    size, count, share = TITLE.fullmatch(box.title[-1]).groups()
    if (box.value, size, count) != (cost, f"{node.bytes:,}", f"{node.count:,}") or \
            not rounds_to(share, cost / whole) or \
            abs(box.width - cost / whole) > 1e-6:
        return (f"{box.title} of {box.value}, {box.width:%} wide, not {node.bytes} "
                f"B, {node.count} of {whole}")
    left = box.left
    for child in box.children:
        if child.left < left - 1e-6:
            return f"{child.title} overlaps what is beside it"
        left = child.left + child.width
    if left > box.left + box.width + 1e-6:
        return f"{box.title} is narrower than what is in it"
    wide = {key: one for key, one in node.children.items()
            if (one.count if by_count else one.bytes) >= BOX_RATIO * whole > 0}
    drawn = {}
    for child in box.children:
        keys = [key for key in wide if key[0] == child.title[0] and
                key not in drawn and (not key[1] or key[1] in child.title[1:-1])]
        key = next((key for key in keys if (
            wide[key].count if by_count else wide[key].bytes) == child.value), None)
        if key is None:
            return f"in {box.title[0]}: {child.title} of {child.value}"
        drawn[key] = child
    if len(drawn) != len(wide):
        return f"{box.title[0]} lacks {set(wide) - set(drawn)}"
    for key, child in drawn.items():
        wrong = box_difference(wide[key], child, whole, by_count)
        if wrong:
            return wrong
    return None


def flamegraph_difference(model, view, rows, text):
    if view.get("cost") == "peak" and model.alive_at_peak is None:
        return None
    root, by_count = merge(model, view, rows, box_key), is_by_count(view)
    drawing = xml.etree.ElementTree.fromstring(text)
    top = drawn_tree(drawing)
    if not root.children:
        return "boxes, where nothing is" if top else None
    if sum(BOX_BYTES + len(node.key[0]) for node in root.below()[1:]) > BYTES_SURE:
        return None
    whole = root.count if by_count else root.bytes
    if not top or top.title[0] != "all":
        return "no box of all"
    hidden, boxes = int(drawing.get("data-hidden")), count_boxes(top)
    if hidden != len(root.below()) - boxes:
        return f"{hidden} hidden and {boxes} boxes of {len(root.below())} functions"
    return box_difference(root, top, whole, by_count) if whole else None


PICTURES = {"tree": tree_difference, "flamegraph": flamegraph_difference}
