# SPDX-License-Identifier: MIT
"""Small traces full of coincidences: equal times, equal sizes, round shares of
the run, long chains, blocks freed by other threads, lost frees, reused
addresses.  A tick is a nanosecond, and the order of events is known.
"""
import random
import struct
import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import make_trace as coding  # noqa: E402  (written from docs/trace-format.md)

RUN = 10_000_000_000
STEP = RUN // 200
SIZES = (0, 1, 16, 16, 24, 24, 24, 64, 64, 100, 1024, 1024, 4096, 65536)
MALLOC, CALLOC, MEMALIGN, NEW, FREE, DELETE, REALLOC = range(1, 8)
MARKER = 14
MMAP, MUNMAP, MREMAP = 8, 9, 10
PLACE = 0x10000   # of one block


NAMES = {1: "app", 2: "worker", 3: "worker"}


class Dense:
    """path: file to write.  orders: {id: (order of the allocation, order of
    its end or None)} among all events.  markers: {id: markers before it}."""

    def __init__(self, path, seed, count):
        self.random = random.Random(seed)
        self.events = {n: coding.Events() for n in NAMES}
        self.stacks = [self.stack() for _ in range(12)]
        self.live = {}          # address: id
        self.free_addresses = []
        self.next_address = 0x10000
        self.order = 0
        self.orders, self.markers = {}, {}
        self.marker_count = 0
        now = 1
        for _ in range(count):
            # Threads never act at the same time: where they do, nothing but
            # the reader decides what came first.
            thread = now % len(NAMES) + 1
            now += self.act(self.events[thread], now)
            if self.random.random() < 0.6:
                now += self.random.choice((1, 1, 1, 7, STEP, STEP))
            if now > RUN - 1000:
                break
        with open(path, "wb") as out:
            out.write(self.file())

    def stack(self):
        frames = [coding.MAIN, coding.SETUP, coding.LOAD, coding.PARSE,
                  coding.GROW, coding.LIB + 0x3000]
        return [self.random.choice(frames)
                for _ in range(self.random.randrange(7))]

    def act(self, events, now):
        """One call; how long it takes."""
        dice = self.random.random()
        stack = self.random.choice(self.stacks)
        if dice < 0.02:
            events.add(FREE, now / 1e9, stack, events.addr(0xdead0))
            self.order += 1
            return 0
        if dice < 0.025:
            self.put_marker(events, now)
            return 0
        if 0.035 < dice < 0.06:
            self.put_map(events, now, stack)
            return 0
        if dice < 0.45 or not self.live:
            address = self.place()
            if dice < 0.035 and self.live:   # its free was lost
                address = self.random.choice(list(self.live))
                self.end(address)
            kind = self.random.choice((MALLOC, MALLOC, CALLOC, MEMALIGN, NEW))
            body = self.begin(address)
            if kind == MEMALIGN:
                body += coding.varint(16)
            events.add(kind, now / 1e9, stack, events.addr(address), body)
            return 0
        address = self.random.choice(list(self.live)[-12:])
        if dice < 0.75:
            kind = self.random.choice((FREE, FREE, DELETE))
            events.add(kind, now / 1e9, stack, events.addr(address))
            self.end(address)
            self.order += 1
            self.free_addresses.append(address)
            return 0
        # Two reallocs of a thread never begin at the same time: the JSON could
        # not tell which block became which.
        took = self.random.choice((0, 0, 3, 600))
        self.end(address)
        self.order += 1
        if self.random.random() < 0.4:
            self.free_addresses.append(address)
            new = self.place()
        else:
            new = address
        body = [coding.varint(took), events.addr(address), events.addr(new),
                self.begin(new)]
        events.add(REALLOC, now / 1e9, stack, *body)
        events.tick += took
        return took + 1

    def put_marker(self, events, now):
        """As Events.add(), but a marker has no stack."""
        tick = coding.START + now
        events.data += (bytes([MARKER]) + coding.varint(tick - events.tick) +
                        coding.varint(4) + b"mark")
        events.tick = tick
        events.count += 1
        self.marker_count += 1
        self.order += 1

    def put_map(self, events, now, stack):
        """mmap, munmap or mremap of a few places, some of them with blocks."""
        def some():
            first = self.random.randrange(1, self.next_address // PLACE + 4)
            length = self.random.randrange(1, 6) * PLACE
            return first * PLACE, length - self.random.choice((0, 1, 4096))
        begin, length = some()
        kind = self.random.choice((MMAP, MMAP, MUNMAP, MREMAP))
        fields = [events.addr(begin), coding.varint(length)]
        if kind == MMAP:
            fields += [coding.varint(3), coding.varint(0x22), coding.svarint(-1),
                       coding.varint(0)]
        elif kind == MREMAP:
            new, new_length = some()
            fields += [events.addr(new), coding.varint(new_length),
                       coding.varint(3)]
        events.add(kind, now / 1e9, stack, *fields)
        self.order += 1

    def place(self):
        if self.free_addresses and self.random.random() < 0.6:
            return self.free_addresses.pop()
        self.next_address += PLACE
        return self.next_address

    def begin(self, address):
        """Notes an allocation; its size and slack, coded."""
        self.live[address] = len(self.orders)
        self.markers[len(self.orders)] = self.marker_count
        self.orders[len(self.orders)] = (self.order, None)
        self.order += 1
        return (coding.varint(self.random.choice(SIZES)) +
                coding.varint(self.random.choice((0, 8))))

    def end(self, address):
        number = self.live.pop(address)
        self.orders[number] = (self.orders[number][0], self.order)

    def file(self):
        start, finish = coding.START, coding.START + RUN
        out = coding.preamble(1, 0) + coding.process()
        for number, name in NAMES.items():
            out += coding.chunk(5, struct.pack("<IIIIQ", number, 4241 + number,
                                               1, 0, start) + coding.string(""))
            out += coding.chunk(5, struct.pack("<IIIIQ", number, 4241 + number,
                                               2, 0, start) + coding.string(name))
        out += coding.module(1, 1, coding.APP, 0x10000, "/opt/app/bin/app")
        out += coding.module(2, 0, coding.LIB, 0x10000,
                             "/opt/app/lib/libparse.so.1")
        for number, events in self.events.items():
            out += coding.chunk(2, events.data, number, start, events.tick,
                                events.count)
        return out + coding.chunk(8, struct.pack(
            "<IiQQQQQQ", 1, 0, finish, finish, coding.REALTIME + RUN,
            sum(one.count for one in self.events.values()), 0, 9 << 20) +
            coding.string(""), first=finish)
