#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Decodes a trace file without any of the project's C code.

A second reading of docs/trace-format.md: the tests of the tracer use it as a
module, people run it on a file.  It is strict: whatever the format does not
allow raises FormatError.

    dump_trace.py [--events | --summary] FILE
"""
import ctypes
import os
import struct
import sys

PREAMBLE_MAGIC = b"\x89MPROF\r\n"
LIVE_MAGIC = b"\x89MPLIVE\n"
CHUNK_MAGIC = b"\xfeMPchnk\n"
CHUNK_HEADER = struct.Struct("<8sHHIIIQQIIQHHIQ")
MASK = (1 << 64) - 1

(NOTHING, PROCESS, EVENTS, MODULE, UNLOAD, THREAD, CLOCK, LOST, END,
 COLUMNS, FILE, MARK, PIECE, SMAPS, BATCH) = range(15)
SMAPS_KINDS = ("", "file", "heap", "stack", "anonymous", "tracer", "code",
               "shared", "special", "rest")
SMAPS_VALUES = ("size", "rss", "anonymous", "shared_clean", "shared_dirty",
                "private_clean", "private_dirty", "swap")
FILE_KINDS = {1: "binary", 2: "perf map", 3: "JIT object", 4: "included"}
KINDS = {1: "malloc", 2: "calloc", 3: "memalign", 4: "new", 5: "free",
         6: "delete", 7: "realloc", 8: "mmap", 9: "munmap", 10: "mremap",
         11: "mallopt", 12: "rss", 13: "lost", 14: "marker"}
NO_STACK = {"rss", "lost", "marker"}
ALLOCATIONS = {"malloc", "calloc", "memalign", "new"}
RELEASES = {"free", "delete"}
TRUNCATED, NO_STACK_TAG = 0x20, 0x40
DEPTH_MAX = 65536


class FormatError(Exception):
    """The file breaks the format."""


def load_zstd():
    lib = ctypes.CDLL("libzstd.so.1")
    lib.ZSTD_decompress.restype = ctypes.c_size_t
    lib.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t,
                                    ctypes.c_char_p, ctypes.c_size_t]
    lib.ZSTD_isError.argtypes = [ctypes.c_size_t]
    return lib


ZSTD = load_zstd()


def decompress(data, raw_len):
    out = ctypes.create_string_buffer(raw_len or 1)
    n = ZSTD.ZSTD_decompress(out, raw_len, data, len(data))
    if ZSTD.ZSTD_isError(n) or n != raw_len:
        raise FormatError("zstd frame does not give raw_len bytes")
    return out.raw[:raw_len]


P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F,
                      0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                      0x27D4EB2F165667C5)


def rotl(x, r):
    return ((x << r) | (x >> (64 - r))) & MASK


def xxh64_round(acc, lane):
    return rotl((acc + lane * P2) & MASK, 31) * P1 & MASK


def xxh64_python(data):
    n, i = len(data), 0
    if n >= 32:
        acc = [(P1 + P2) & MASK, P2, 0, (-P1) & MASK]
        while i + 32 <= n:
            lanes = struct.unpack_from("<4Q", data, i)
            acc = [xxh64_round(a, v) for a, v in zip(acc, lanes)]
            i += 32
        h = sum(rotl(a, r) for a, r in zip(acc, (1, 7, 12, 18))) & MASK
        for a in acc:
            h = ((h ^ xxh64_round(0, a)) * P1 + P4) & MASK
    else:
        h = P5
    h = (h + n) & MASK
    while i + 8 <= n:
        h ^= xxh64_round(0, struct.unpack_from("<Q", data, i)[0])
        h = (rotl(h, 27) * P1 + P4) & MASK
        i += 8
    if i + 4 <= n:
        h ^= struct.unpack_from("<I", data, i)[0] * P1 & MASK
        h = (rotl(h, 23) * P2 + P3) & MASK
        i += 4
    while i < n:
        h ^= data[i] * P5 & MASK
        h = rotl(h, 11) * P1 & MASK
        i += 1
    h ^= h >> 33
    h = h * P2 & MASK
    h ^= h >> 29
    h = h * P3 & MASK
    return h ^ (h >> 32)


def load_xxhash():
    try:
        lib = ctypes.CDLL("libxxhash.so.0")
    except OSError:
        return xxh64_python
    lib.XXH64.restype = ctypes.c_uint64
    lib.XXH64.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    return lambda data: lib.XXH64(data, len(data), 0)


xxh64 = load_xxhash()


class Cursor:
    """Bounded reading."""

    def __init__(self, data):
        self.data, self.pos = data, 0

    def take(self, n):
        if self.pos + n > len(self.data):
            raise FormatError("payload is too short")
        self.pos += n
        return self.data[self.pos - n:self.pos]

    def u32(self):
        return struct.unpack("<I", self.take(4))[0]

    def i32(self):
        return struct.unpack("<i", self.take(4))[0]

    def u64(self):
        return struct.unpack("<Q", self.take(8))[0]

    def string(self):
        return self.take(self.u32()).decode("utf-8", "surrogateescape")

    def rest(self):
        return self.take(len(self.data) - self.pos)

    def varint(self):
        v = shift = 0
        data, pos = self.data, self.pos
        while True:
            if pos >= len(data) or shift > 63:
                raise FormatError("bad varint")
            b = data[pos]
            pos += 1
            v |= (b & 0x7f) << shift
            if b < 0x80:
                self.pos = pos
                return v & MASK
            shift += 7

    def svarint(self):
        v = self.varint()
        return (v >> 1) ^ -(v & 1)

    def done(self):
        if self.pos != len(self.data):
            raise FormatError("bytes after the payload's end")


class Event:
    __slots__ = ("kind", "thread", "tick", "end_tick", "stack", "truncated",
                 "addr", "size", "slack", "align", "old", "fields")

    def __repr__(self):
        parts = [f"{self.tick} t{self.thread} {self.kind}"]
        for name in ("old", "addr"):
            if getattr(self, name) is not None:
                parts.append(f"{name}={getattr(self, name):#x}")
        for name in ("size", "slack", "align", "fields"):
            if getattr(self, name) is not None:
                parts.append(f"{name}={getattr(self, name)}")
        parts.append("stack=" + ",".join(f"{f:#x}" for f in self.stack))
        return " ".join(parts)


def new_event(tag, thread, tick):
    """An event without body and stack."""
    if tag & 0x80 or tag & 0x1f not in KINDS:
        raise FormatError(f"bad tag {tag:#x}")
    ev = Event()
    ev.kind, ev.thread = KINDS[tag & 0x1f], thread
    ev.truncated = bool(tag & TRUNCATED)
    ev.tick = ev.end_tick = tick
    ev.addr = ev.size = ev.slack = ev.align = ev.old = ev.fields = None
    ev.stack = ()
    return ev


def has_stack(tag):
    return not tag & NO_STACK_TAG and KINDS[tag & 0x1f] not in NO_STACK


def change_stack(stack, pop, frames):
    """The stack without its innermost frames, with others in their place."""
    if pop > len(stack):
        raise FormatError("pop is greater than the depth")
    if not pop and not frames:
        return stack
    stack = stack[:len(stack) - pop] + frames
    if len(stack) > DEPTH_MAX:
        raise FormatError("stack too deep")
    return stack


def decode_events(data, thread, first_tick):
    """Yields the events of one EVENTS payload."""
    cur = Cursor(data)
    tick, addr, stack = first_tick, 0, []

    def next_addr():
        nonlocal addr
        addr = (addr + cur.svarint()) & MASK
        return addr

    while cur.pos < len(data):
        tag = cur.take(1)[0]
        tick += cur.varint()
        ev = new_event(tag, thread, tick)
        if has_stack(tag):
            pop, push = cur.varint(), cur.varint()
            if pop > len(stack):
                raise FormatError("pop is greater than the depth")
            kept = len(stack) - pop
            pc = stack[kept - 1] if kept else 0
            frames = []
            for _ in range(push):
                pc = (pc + cur.svarint()) & MASK
                frames.append(pc)
            ev.stack = stack = change_stack(stack, pop, frames)
        decode_body(ev, cur, next_addr)
        if ev.kind == "realloc":
            tick = ev.end_tick
        yield ev


def decode_body(ev, cur, next_addr):
    kind = ev.kind
    if kind in ALLOCATIONS:
        ev.addr, ev.size, ev.slack = next_addr(), cur.varint(), cur.varint()
        if kind == "memalign":
            ev.align = cur.varint()
    elif kind in RELEASES:
        ev.addr = next_addr()
    elif kind == "realloc":
        ev.end_tick = ev.tick + cur.varint()
        ev.old, ev.addr = next_addr(), next_addr()
        ev.size, ev.slack = cur.varint(), cur.varint()
    else:
        decode_rare(ev, cur, next_addr)


def decode_rare(ev, cur, next_addr):
    """The body of what is neither allocation nor release."""
    kind = ev.kind
    if kind == "mmap":
        ev.addr, ev.size = next_addr(), cur.varint()
        ev.fields = (cur.varint(), cur.varint(), cur.svarint(), cur.varint())
    elif kind == "munmap":
        ev.addr, ev.size = next_addr(), cur.varint()
    elif kind == "mremap":
        ev.old = next_addr()
        old_len = cur.varint()
        ev.addr, ev.size = next_addr(), cur.varint()
        ev.fields = (old_len, cur.varint())
    elif kind == "mallopt":
        ev.fields = (cur.svarint(), cur.svarint(), cur.svarint())
    elif kind == "rss":
        ev.size = cur.varint()
    elif kind == "lost":
        ev.fields = (cur.varint(), cur.varint())
    elif kind == "marker":
        ev.fields = (cur.take(cur.varint()),)


class Shape:
    """What one call site does again and again."""

    def __init__(self, tag, pop, frames):
        self.tag, self.pop, self.frames = tag, pop, frames
        self.distance = self.size = 0


class Columns:
    """The state of one COLUMNS payload, step by step as the format has it."""

    NAMES = ("codes", "shapes", "new_shapes", "frames", "addresses", "sizes",
             "slacks", "blocks", "distances", "freed", "times", "bodies")
    NONE = 65535

    def __init__(self, data, thread, first_tick):
        cur = Cursor(data)
        self.shift, zero = cur.take(1)[0], cur.take(3)
        count = cur.u32()
        if self.shift > 32 or any(zero) or count < len(self.NAMES):
            raise FormatError("head of the columns")
        lengths = [cur.u32() for _ in range(count)]
        for name, length in zip(self.NAMES, lengths):
            setattr(self, name, Cursor(cur.take(length)))
        rest = [cur.take(length) for length in lengths[len(self.NAMES):]]
        cur.done()
        self.culled = Cursor(rest[0] if rest else b"")
        self.rows, self.most = [], (0, 0)
        self.thread, self.first_tick = thread, first_tick
        self.t = first_tick >> self.shift
        self.stack = []
        self.known, self.numbers = [], []  # shapes, addresses
        self.successor = {}
        self.last = self.before = self.NONE
        self.made = []  # blocks: (address, class)
        self.free = {}  # class: addresses, the newest last
        self.slack = {}
        self.end = self.last_freed = self.last_body = self.last_address = 0
        self.pushed = 0

    def events(self):
        while self.codes.pos < len(self.codes.data):
            yield self.event(self.codes.take(1)[0])
        for name in self.NAMES:
            getattr(self, name).done()
        if self.culled.data:
            self.read_culled()

    def tick(self):
        return self.tick_of(self.t)

    def tick_of(self, units):
        return max(units << self.shift, self.first_tick)

    def read_culled(self):
        cur, stack, addr = self.culled, [], 0
        count = cur.varint()
        self.most = cur.varint(), cur.varint()
        for _ in range(count):
            tag, pop, push = cur.varint(), cur.varint(), cur.varint()
            if tag & ~(TRUNCATED | 0x1f) or KINDS[tag & 0x1f] not in ALLOCATIONS:
                raise FormatError("the tag of a row")
            frames = []
            for _ in range(push):
                number = cur.varint()
                if number:
                    frames.append(self.numbers[number - 1])
                    continue
                addr = (addr + cur.svarint()) & MASK
                frames.append(addr)
                if len(self.numbers) < 65535:
                    self.numbers.append(addr)
            self.pushed += push
            stack = change_stack(stack, pop, frames)
            names = ("size", "slack", "count", "temporary", "shortest",
                     "longest", "first", "last")
            row = dict(zip(names, [cur.varint() for _ in names]))
            row["longest"] += row["shortest"]
            row["first"] += self.first_tick >> self.shift
            row["last"] += row["first"]
            for name in "first", "last":
                row[name] = self.tick_of(row[name])
            for name in "shortest", "longest":
                row[name] <<= self.shift
            if not row["temporary"] <= row["count"] <= 1 << 20 or \
                    not row["count"] or self.pushed > 1 << 24:
                raise FormatError("the numbers of a row")
            self.rows.append(dict(row, kind=KINDS[tag & 0x1f], stack=stack,
                                  thread=self.thread))
        cur.done()

    def event(self, code):
        shape = self.next_shape(code & 3)
        self.t += self.times.varint()
        ev = new_event(shape.tag, self.thread, self.tick())
        self.pushed += len(shape.frames)
        if self.pushed > 1 << 24:
            raise FormatError("too many frames")
        self.stack = change_stack(self.stack, shape.pop, shape.frames)
        if has_stack(shape.tag):
            ev.stack = self.stack
        if ev.kind == "realloc":
            self.t += self.bodies.varint()
            ev.end_tick = self.tick()
        in_place = ev.kind == "realloc" and code & 0x80
        if ev.kind == "realloc":
            ev.old = self.next_freed(shape, code, in_place)
            self.allocate(ev, shape, code, ev.old if in_place else None)
        elif ev.kind in RELEASES:
            ev.addr = self.next_freed(shape, code, False)
        elif ev.kind in ALLOCATIONS:
            self.allocate(ev, shape, code, None)
            if ev.kind == "memalign":
                ev.align = self.bodies.varint()
        else:
            decode_rare(ev, self.bodies, self.next_body)
        return ev

    def next_shape(self, how):
        h = ((self.last * 0x9E3779B1 + self.before * 0x85EBCA6B) &
             0xffffffff) >> 18
        if how == 3:
            raise FormatError("code")
        if how == 2:
            shape = self.new_shape()
            number = len(self.known)
            if number < self.NONE:
                self.known.append(shape)
        else:
            number = (struct.unpack("<H", self.shapes.take(2))[0] if how
                      else self.successor.get(h, 0))
            if number >= len(self.known):
                raise FormatError("unknown shape")
            shape = self.known[number]
        self.successor[h] = number
        self.before, self.last = self.last, number
        return shape

    def new_shape(self):
        cur = self.new_shapes
        tag, pop, push = cur.take(1)[0], cur.varint(), cur.varint()
        if tag & 0x80 or tag & 0x1f not in KINDS or push > DEPTH_MAX:
            raise FormatError("bad shape")
        frames = []
        for number in struct.unpack(f"<{push}H", self.frames.take(2 * push)):
            if number > len(self.numbers):
                raise FormatError("unknown address")
            if number:
                frames.append(self.numbers[number - 1])
                continue
            self.last_address = (self.last_address +
                                 self.addresses.svarint()) & MASK
            frames.append(self.last_address)
            if len(self.numbers) < 65535:
                self.numbers.append(self.last_address)
        return Shape(tag, pop, frames)

    def next_freed(self, shape, code, in_place):
        if code & 4:
            shape.distance = self.distances.varint()
        if shape.distance > len(self.made):
            raise FormatError("unknown block")
        if not shape.distance:
            self.last_freed = (self.last_freed + self.freed.svarint()) & MASK
            return self.last_freed
        addr, kind = self.made[-shape.distance]
        if not in_place:
            self.free[kind] = (self.free.get(kind, []) + [addr])[-16:]
        return addr

    def allocate(self, ev, shape, code, addr):
        if code & 8:
            shape.size = self.sizes.varint()
        ev.size = shape.size
        h = (ev.size * 0x9E3779B97F4A7C15 & MASK) >> 52
        if code & 16:
            self.slack[h] = self.slacks.varint()
        ev.slack = self.slack.get(h, 0)
        kind = (ev.size + ev.slack) >> 4 & 4095
        if addr is None:
            addr = self.place(code >> 5 & 3, kind)
        ev.addr = addr
        self.end = (addr + ev.size + ev.slack + 8) & MASK
        self.made.append((addr, kind))

    def place(self, how, kind):
        if how == 1:
            return self.end
        if how == 3:
            return (self.end + self.blocks.svarint()) & MASK
        newer = self.blocks.varint() if how == 2 else 0
        free = self.free.get(kind, [])
        if newer >= len(free) or (how == 2 and not newer):
            raise FormatError("no such free block")
        return free.pop(-1 - newer)

    def next_body(self):
        self.last_body = (self.last_body + self.bodies.svarint()) & MASK
        return self.last_body


def decode_columns(data, thread, first_tick):
    """Yields the events of one COLUMNS payload."""
    columns = Columns(data, thread, first_tick)
    yield from columns.events()


def signed(word):
    return word - (1 << 64) if word >> 63 else word


def decode_records(data, thread, first_tick, start=0):
    """Yields the events of one buffer of PATH.live, from word start on."""
    if len(data) % 8 or start * 8 > len(data):
        raise FormatError("a buffer ends within a word or before its start")
    words = iter(struct.unpack(f"<{len(data) // 8}Q", data))
    tick, stack = first_tick, []
    for head in words:
        left = words.__length_hint__() + 1
        try:
            ev, stack, tick = decode_record(head, words, thread, tick, stack)
        except StopIteration:
            raise FormatError("a buffer ends within a record") from None
        if len(data) // 8 - left >= start:
            yield ev
        elif len(data) // 8 - words.__length_hint__() > start:
            raise FormatError("a record lies across a buffer's start")


def decode_record(head, words, thread, tick, stack):
    tag, pop, push = head & 0xff, head >> 8 & 0xffff, head >> 24 & 0xffff
    has_maker = 0
    if KINDS.get(tag & 0x1f) in RELEASES:
        has_maker = tag & 0x80  # what is only for culling
        tag &= 0x7f
    ticks = head >> 40
    if ticks == 0xffffff:
        ticks = next(words)
    tick += ticks
    ev = new_event(tag, thread, tick)
    decode_words(ev, words)
    if has_maker:
        ev.addr &= (1 << 48) - 1
    frames = [next(words) for _ in range(push)]
    if not has_stack(tag):
        if pop or push:
            raise FormatError("an event without stack changes it")
        return ev, stack, ev.end_tick
    ev.stack = stack = change_stack(stack, pop, frames)
    return ev, stack, ev.end_tick


def decode_extent(ev, words):
    word = next(words)
    ev.size, ev.slack = word & (1 << 48) - 1, word >> 48
    if ev.slack == 0xffff:
        ev.slack = next(words)


def decode_words(ev, words):
    """The body of a record."""
    kind = ev.kind
    if kind in ALLOCATIONS:
        ev.addr = next(words)
        decode_extent(ev, words)
        if kind == "memalign":
            ev.align = next(words)
    elif kind in RELEASES:
        ev.addr = next(words)
    elif kind == "realloc":
        ev.old, ev.addr = next(words), next(words)
        decode_extent(ev, words)
        ev.end_tick = ev.tick + next(words)
    elif kind == "mmap":
        ev.addr, ev.size = next(words), next(words)
        ev.fields = (next(words), next(words), signed(next(words)),
                     next(words))
    elif kind == "munmap":
        ev.addr, ev.size = next(words), next(words)
    elif kind == "mremap":
        ev.old, old_len = next(words), next(words)
        ev.addr, ev.size = next(words), next(words)
        ev.fields = (old_len, next(words))
    elif kind == "mallopt":
        ev.fields = (signed(next(words)), signed(next(words)),
                     signed(next(words)))
    elif kind == "rss":
        ev.size = next(words)
    elif kind == "lost":
        ev.fields = (next(words), next(words))
    else:
        raise FormatError(f"{kind} in a buffer")


class Trace:
    """Everything one file (and its .live) holds, decoded."""

    def __init__(self, path, keep_stacks=True):
        self.path = path
        self.process = self.piece = None
        self.modules, self.unloads, self.threads = [], [], []
        self.clocks, self.lost, self.ends = [], [], []
        self.marks, self.files, self.samples = [], [], []
        self.events = []
        self.culled = []  # rows
        self.culled_most = {}  # bytes, by thread
        self.chunks = []
        self.damaged = 0
        self.aside, self.batches = {}, []
        self.seen = set()
        self.buffer_counts = {}  # of each thread's chunks
        self.keep_stacks = keep_stacks
        live = None
        if os.path.exists(path + ".live"):
            # First: its events move from there into chunks, never back.
            with open(path + ".live", "rb") as f:
                live = f.read()
        with open(path, "rb") as f:
            data = f.read()
        self.size = len(data)
        self.read_preamble(data)
        self.read_chunks(data)
        if live is not None:
            self.read_live(live)
        self.events.sort(key=lambda ev: ev.tick)
        numbers = {}
        for thread, number in self.seen:
            numbers.setdefault(thread, []).append(number)
        for found in numbers.values():
            if sorted(found) != list(range(len(found))):
                self.damaged += 1

    def read_preamble(self, data):
        if len(data) < 32:
            raise FormatError("no preamble")
        magic, major, minor, order, self.trace_id, check = struct.unpack(
            "<8sHHIQQ", data[:32])
        if magic != PREAMBLE_MAGIC or order != 0x0a0b0c0d:
            raise FormatError("not a trace")
        if major != 2 or minor not in (0, 2):
            raise FormatError("another version")
        self.minor = minor
        if check != xxh64(data[:24]):
            raise FormatError("preamble checksum")

    def read_chunks(self, data):
        pos = 32
        while pos < len(data):
            head = data[pos:pos + 72]
            if len(head) < 72 or head[:8] != CHUNK_MAGIC or \
                    xxh64(head[:64]) != struct.unpack("<Q", head[64:])[0]:
                nxt = data.find(CHUNK_MAGIC, pos + 1)
                self.damaged += 1
                pos = len(data) if nxt < 0 else nxt
                continue
            (_, kind, flags, thread, stored, raw, first, last, count,
             sequence, check, buffers, batch, culled,
             _) = CHUNK_HEADER.unpack(head)
            payload = data[pos + 72:pos + 72 + stored]
            pos += 72 + stored
            if len(payload) < stored:
                self.damaged += 1
                continue
            if xxh64(payload) != check:
                # Cut off by a full disk, and others are behind it?
                inside = payload.find(CHUNK_MAGIC)
                if inside < 0:
                    raise FormatError("payload checksum")
                self.damaged += 1
                pos += inside - stored
                continue
            if flags & ~3 or ((culled or flags & 2) and not self.minor) or \
                    (flags & 2) >> 1 != (batch > 0):
                raise FormatError("reserved bits")
            if flags & 1:
                payload = decompress(payload, raw)
            elif raw != stored:
                raise FormatError("raw_len differs from stored_len")
            self.chunks.append((kind, thread, stored, raw))
            if kind in (EVENTS, COLUMNS):
                self.take_or_put_aside(
                    batch, (kind, payload, thread, first, last, count, culled),
                    (thread, sequence, buffers or 1))
                continue
            if count or sequence or buffers or batch or culled or \
                    first != last:
                raise FormatError("event fields in another chunk")
            if kind == BATCH:
                self.take_batch(payload)
                continue
            self.read_payload(kind, payload)

    def take_or_put_aside(self, batch, events, buffers):
        """Chunks of a batch count once all of it is there."""
        if batch:
            self.aside.setdefault(batch, []).append((events, buffers))
        else:
            self.read_events(*events)
            self.note_buffers(*buffers)

    def take_batch(self, payload):
        batch, count = struct.unpack("<II", payload)
        chunks = self.aside.pop(batch, [])
        if not 0 < count <= len(chunks):
            raise FormatError("count of a batch")
        self.batches.append(count)
        for events, buffers in chunks[-count:]:
            self.read_events(*events)
            self.note_buffers(*buffers)

    def read_events(self, kind, payload, thread, first, last, count, culled):
        if kind == EVENTS:
            events, shift = list(decode_events(payload, thread, first)), 0
        else:
            columns = Columns(payload, thread, first)
            events, shift = list(columns.events()), columns.shift
            self.culled += columns.rows
            self.culled_most[thread] = max(columns.most[0],
                                           self.culled_most.get(thread, 0))
            if 2 * sum(row["count"] for row in columns.rows) != culled:
                raise FormatError("culled_count")
        if len(events) != count:
            raise FormatError(f"{len(events)} events, not {count}")
        if events and events[-1].end_tick != max(first, last >> shift << shift):
            raise FormatError("last_tick")
        self.add_events(events)

    def note_buffers(self, thread, sequence, count):
        self.buffer_counts.setdefault(thread, []).append(count)
        for number in range(sequence, sequence + count):
            if (thread, number) in self.seen:
                raise FormatError("sequence number twice")
            self.seen.add((thread, number))

    def read_payload(self, kind, payload):
        cur = Cursor(payload)
        if not self.process and kind != PROCESS:
            raise FormatError("PROCESS is not first")
        if kind == PROCESS:
            self.read_process(cur)
        elif kind == MODULE:
            self.read_module(cur)
        elif kind == UNLOAD:
            self.unloads.append((cur.u32(), cur.u32(), cur.u64()))
        elif kind == THREAD:
            number, tid, what, zero, tick = (cur.u32(), cur.u32(), cur.u32(),
                                             cur.u32(), cur.u64())
            if zero:
                raise FormatError("reserved")
            self.threads.append({"number": number, "tid": tid, "what": what,
                                 "tick": tick, "name": cur.string()})
        elif kind == CLOCK:
            self.clocks.append((cur.u64(), cur.u64(), cur.u64()))
        elif kind == LOST:
            self.lost.append({"count": cur.u64(), "reason": cur.u32(),
                              "error": cur.u32(), "tick": cur.u64()})
        elif kind == END:
            self.ends.append({
                "how": cur.u32(), "status": cur.i32(), "tick": cur.u64(),
                "monotonic_ns": cur.u64(), "realtime_ns": cur.u64(),
                "event_count": cur.u64(), "lost_count": cur.u64(),
                "peak_rss": cur.u64(), "program": cur.string()})
        elif kind == FILE:
            self.read_file(cur)
        elif kind == MARK:
            self.marks.append({"kind": cur.u32(), "thread": cur.u32(),
                               "tick": cur.u64(), "value": cur.u64(),
                               "text": cur.string()})
        elif kind == SMAPS:
            self.read_smaps(cur)
        elif kind == PIECE:
            if self.piece or len(self.chunks) != 2:
                raise FormatError("PIECE is not second")
            self.piece = {"run": cur.u64(), "previous": cur.u64(),
                          "parent": cur.u64(), "index": cur.u32()}
            self.piece["why"], self.piece["flags"], *zero = cur.take(4)
            if any(zero):
                raise FormatError("reserved")
        elif kind == NOTHING:
            return
        else:
            raise FormatError(f"unknown chunk {kind}")
        cur.done()

    def read_smaps(self, cur):
        tick, count, zero = cur.u64(), cur.u32(), cur.u32()
        rows = {}
        for _ in range(count):
            kind, mappings = SMAPS_KINDS[cur.u32()], cur.u32()
            row = dict(zip(SMAPS_VALUES, [cur.u64() for _ in SMAPS_VALUES]),
                       mappings=mappings)
            if rows.setdefault((kind, cur.string()), row) is not row:
                raise FormatError("a row twice")
        if zero:
            raise FormatError("reserved")
        self.samples.append({"tick": tick, "rows": rows})

    def read_file(self, cur):
        kind, flags, offset, addr, id_len, zero = (
            cur.u32(), cur.u32(), cur.u64(), cur.u64(), cur.u32(), cur.u32())
        if kind not in FILE_KINDS or flags not in (0, 1, 3) or zero:
            raise FormatError("a file's kind or flags")
        build_id = cur.take(id_len).hex()
        path = cur.string()
        if not offset:
            self.files.append({"kind": FILE_KINDS[kind], "path": path,
                               "addr": addr, "build_id": build_id,
                               "data": bytearray(), "whole": False,
                               "cut": False})
        file = [f for f in self.files if (f["kind"], f["path"], f["addr"]) ==
                (FILE_KINDS[kind], path, addr)][-1]
        if file["whole"] or offset != len(file["data"]):
            raise FormatError("a file's parts")
        file["data"] += cur.rest()
        file["whole"], file["cut"] = bool(flags & 1), bool(flags & 2)

    def add_events(self, events):
        if not self.keep_stacks:
            for ev in events:
                ev.stack = ev.stack and ev.stack[-1:]
        self.events += events

    def read_process(self, cur):
        pid, ppid = cur.u32(), cur.u32()
        clock, arch, page_shift, flags = cur.take(4)
        n = cur.u32()
        self.process = {
            "pid": pid, "ppid": ppid, "clock": clock, "arch": arch,
            "page_shift": page_shift, "flags": flags,
            "start_tick": cur.u64(), "monotonic_ns": cur.u64(),
            "realtime_ns": cur.u64(), "executable": cur.string(),
            "directory": cur.string(),
            "arguments": [cur.string() for _ in range(n)],
            "version": cur.string()}

    def read_module(self, cur):
        m = {"number": cur.u32(), "flags": cur.u32(), "load": cur.u64(),
             "bias": cur.u64(), "start": cur.u64(), "end": cur.u64()}
        segments, build_id_len = cur.u32(), cur.u32()
        if segments > 64 or build_id_len > 64:
            raise FormatError("module limits")
        m["segments"] = [struct.unpack("<5Q", cur.take(40))
                         for _ in range(segments)]
        m["build_id"] = cur.take(build_id_len).hex()
        m["path"] = cur.string()
        m["unload"] = None
        if any(m["number"] == other["number"] for other in self.modules):
            raise FormatError("module number")
        self.modules.append(m)

    def read_live(self, data):
        magic, major, _, stride, run_id, _, slots = struct.unpack(
            "<8sHHIQII", data[:32])
        if magic != LIVE_MAGIC or major != 2:
            raise FormatError("not a .live file")
        if run_id != self.piece["run"]:
            return
        for reason, count in zip((3, 2), struct.unpack_from("<QQ", data, 40)):
            if count:
                self.lost.append({"count": count, "reason": reason,
                                  "error": 0})
        if stride % 4096 or 4096 + slots * stride > len(data):
            raise FormatError(".live file's size")
        for i in range(slots):
            off = 4096 + i * stride
            used, thread, _, _, first, length = struct.unpack_from(
                "<IIIIQQ", data, off)
            if not used:
                continue
            if used != 1 or length > stride - 4096:
                raise FormatError("a slot's control page")
            self.read_parts(data, off, thread, first, length)

    def read_parts(self, data, off, thread, first, length):
        parts = [struct.unpack_from("<IHH", data, off + 8)]
        after = struct.unpack_from("<IHH", data, off + 32)
        ends = [length]
        if any(after):
            parts.append(after)
            ends.insert(0, after[1] * 8)
        for (sequence, start, piece), end in zip(parts, ends):
            if piece != self.piece["index"] % 65536 or end == start * 8 or \
                    (thread, sequence) in self.seen:
                continue
            buf = data[off + 4096:off + 4096 + end]
            self.seen.add((thread, sequence))
            self.add_events(list(decode_records(buf, thread, first, start)))

    def close_modules(self):
        for number, _, tick in self.unloads:
            for m in self.modules:
                if m["number"] == number:
                    m["unload"] = tick

    def find_module(self, pc, tick):
        self.close_modules()
        for m in self.modules:
            if m["start"] <= pc < m["end"] and m["load"] <= tick and \
                    (m["unload"] is None or tick < m["unload"]):
                return m
        return None

    def check_order(self):
        """Pairs allocations with releases in merged order.

        Return: (double allocations, releases of unknown blocks, live blocks
        as {address: event}).
        """
        steps = []
        for n, ev in enumerate(self.events):
            if ev.kind in ALLOCATIONS:
                steps.append((ev.tick, 1, n, "a", ev.addr, ev))
            elif ev.kind in RELEASES:
                steps.append((ev.tick, 0, n, "f", ev.addr, ev))
            elif ev.kind == "realloc":
                steps.append((ev.tick, 0, n, "f", ev.old, ev))
                steps.append((ev.end_tick, 1, n, "a", ev.addr, ev))
        steps.sort(key=lambda s: (s[0], s[2], s[1]))
        live, twice, unknown = {}, [], []
        for _, _, _, what, addr, ev in steps:
            if what == "a":
                if addr in live:
                    twice.append(ev)
                live[addr] = ev
            elif addr in live:
                del live[addr]
            else:
                unknown.append(ev)
        return twice, unknown, live


def print_summary(trace):
    print("process", trace.process)
    for m in trace.modules:
        print("module", m["number"], hex(m["start"]), hex(m["end"]),
              m["flags"], m["build_id"], m["path"])
    for u in trace.unloads:
        print("unload", u)
    for t in trace.threads:
        print("thread", t)
    for lost in trace.lost:
        print("lost", lost)
    for end in trace.ends:
        print("end", end)
    counts = {}
    for ev in trace.events:
        counts[ev.kind] = counts.get(ev.kind, 0) + 1
    print("events", len(trace.events), counts)
    twice, unknown, live = trace.check_order()
    print("order: allocated twice", len(twice), "unknown released",
          len(unknown), "alive at the end", len(live),
          "bytes", sum(ev.size for ev in live.values()))
    depths = [len(ev.stack) for ev in trace.events if ev.stack]
    if depths:
        print("depth: mean", round(sum(depths) / len(depths), 1), "max",
              max(depths))
    print("file bytes", trace.size, "per event",
          round(trace.size / max(1, len(trace.events)), 2), "raw per event",
          round(sum(c[3] for c in trace.chunks if c[0] in (EVENTS, COLUMNS)) /
                max(1, len(trace.events)), 2), "damaged", trace.damaged)


def main(args):
    events = "--events" in args
    paths = [a for a in args if not a.startswith("--")]
    if len(paths) != 1:
        sys.exit(__doc__)
    trace = Trace(paths[0], keep_stacks=True)
    if events:
        for ev in trace.events:
            print(ev)
    else:
        print_summary(trace)


if __name__ == "__main__":
    main(sys.argv[1:])
