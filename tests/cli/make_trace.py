#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_trace.py FILE [--version MAJOR.MINOR] - a small trace whose truth is known.

Written from docs/trace-format.md alone, so that page is tested too: no line of
the tracer is used.  A tick is a nanosecond, the run takes ten seconds:

    s     event           id  bytes  live  from
    1.0   malloc A        0   1000   1000  main > setup
    2.0   malloc B        1   2000   3000  main > load > parse
    3.0   calloc C        2   4000   7000  main > setup          <- peak
    4.0   free A                     6000  main
    5.0   malloc D        3    500   6500  main > load > parse
    5.0   free C                     2500  main
    6.0   realloc B to E  4   6000   6500  main > load > parse > grow
    7.0   malloc F        5     16   6516  main > setup
    7.5   free F                     6500  main > setup          (temporary)
    8.0   malloc G        6     64   6564  main
    9.0   free D                     6064  main
   10.0   exit(3)                          E and G leak
"""
import argparse
import struct

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F,
                      0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                      0x27D4EB2F165667C5)


def rotate(value, bits):
    return (value << bits | value >> (64 - bits)) & MASK


def xxh64_round(acc, lane):
    return rotate((acc + lane * P2) & MASK, 31) * P1 & MASK


def xxh64(data):
    """XXH64, seed 0 (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md)."""
    offset = 0
    if len(data) >= 32:
        accs = [(P1 + P2) & MASK, P2, 0, -P1 & MASK]
        while offset + 32 <= len(data):
            lanes = struct.unpack_from("<4Q", data, offset)
            accs = [xxh64_round(a, lane) for a, lane in zip(accs, lanes)]
            offset += 32
        acc = sum(rotate(a, bits)
                  for a, bits in zip(accs, (1, 7, 12, 18))) & MASK
        for a in accs:
            acc = ((acc ^ xxh64_round(0, a)) * P1 + P4) & MASK
    else:
        acc = P5
    acc = (acc + len(data)) & MASK
    while offset + 8 <= len(data):
        lane, = struct.unpack_from("<Q", data, offset)
        acc = (rotate(acc ^ xxh64_round(0, lane), 27) * P1 + P4) & MASK
        offset += 8
    if offset + 4 <= len(data):
        lane, = struct.unpack_from("<I", data, offset)
        acc = (rotate(acc ^ lane * P1 & MASK, 23) * P2 + P3) & MASK
        offset += 4
    for byte in data[offset:]:
        acc = rotate(acc ^ byte * P5 & MASK, 11) * P1 & MASK
    acc = (acc ^ acc >> 33) * P2 & MASK
    acc = (acc ^ acc >> 29) * P3 & MASK
    return acc ^ acc >> 32


START = 1_000_000_000
END = START + 10_000_000_000
REALTIME = 1_700_000_000_000_000_000  # 2023-11-14T22:13:20Z
APP, LIB = 0x400000, 0x7F0000000000
MAIN, SETUP, LOAD = APP + 0x1010, APP + 0x1200, APP + 0x1300
PARSE, GROW = LIB + 0x2020, LIB + 0x2100
SLACK = 8


def string(text):
    data = text.encode()
    return struct.pack("<I", len(data)) + data


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def svarint(value):
    return varint((value << 1 ^ value >> 63) & MASK)


def preamble(major, minor, piece=0):
    head = b"\x89MPROF\r\n" + struct.pack("<HHIQ", major, minor, 0x0A0B0C0D,
                                          RUN_ID + piece)
    return head + struct.pack("<Q", xxh64(head))


def chunk(kind, payload, thread=0, first=START, last=None, events=0):
    head = b"\xfeMPchnk\n" + struct.pack(
        "<HHIIIQQIIQQ", kind, 0, thread, len(payload), len(payload), first,
        first if last is None else last, events, 0, xxh64(payload), 0)
    return head + struct.pack("<Q", xxh64(head)) + payload


def process(seconds=0):
    tick = round(seconds * 1e9)
    return chunk(1, struct.pack("<IIBBBBIQQQ", 4242, 1, 2, 1, 12, 1, 2,
                                START + tick, START + tick, REALTIME + tick) +
                 string("/opt/app/bin/app") + string("/opt/app") +
                 string("app") + string("--fast") + string("0.1.0"))


def module(number, flags, start, size, path):
    segment = struct.pack("<5Q", 0 if flags == 0 else start, size, 0, size, 5)
    return chunk(3, struct.pack("<IIQQQQII", number, flags, START,
                                start if flags == 0 else 0, start,
                                start + size, 1, 4) +
                 segment + b"\xab\xcd\xef" + bytes([number]) + string(path))


class Events:
    """The stateful coding of an EVENTS payload."""

    def __init__(self, first=0, last=float("inf")):
        self.span = first, last
        self.data = b""
        self.count = 0
        self.stack = []
        self.tick = START
        self.address = 0

    def add(self, kind, seconds, stack, *fields):
        if not self.span[0] <= seconds < self.span[1]:
            return
        tick = START + round(seconds * 1e9)
        kept = 0
        while (kept < min(len(stack), len(self.stack)) and
               stack[kept] == self.stack[kept]):
            kept += 1
        out = bytes([kind]) + varint(tick - self.tick)
        out += varint(len(self.stack) - kept) + varint(len(stack) - kept)
        previous = stack[kept - 1] if kept else 0
        for frame in stack[kept:]:
            out += svarint(frame - previous)
            previous = frame
        self.data += out + b"".join(f() if callable(f) else f for f in fields)
        self.tick, self.stack = tick, stack
        self.count += 1

    def addr(self, address):
        """A field: what it is depends on the events that come before."""
        def field():
            delta = address - self.address
            self.address = address
            return svarint(delta)
        return field


PIECES = {None: (0, 10), 0: (0, 4.5), 1: (4.5, 6.5), 2: (6.5, 10)}
RUN_ID = 0x1122334455667788


def events(span):
    e = Events(*span)
    a, b, c, d, g, f, moved = (0x10000 + i * 0x10000 for i in range(7))
    setup, parse = [MAIN, SETUP], [MAIN, LOAD, PARSE]
    slack = varint(SLACK)
    e.add(1, 1.0, setup, e.addr(a), varint(1000), slack)
    e.add(1, 2.0, parse, e.addr(b), varint(2000), slack)
    e.add(2, 3.0, setup, e.addr(c), varint(4000), slack)
    e.add(5, 4.0, [MAIN], e.addr(a))
    e.add(1, 5.0, parse, e.addr(d), varint(500), slack)
    e.add(5, 5.0, [MAIN], e.addr(c))
    e.add(7, 6.0, parse + [GROW], varint(0), e.addr(b), e.addr(moved),
          varint(6000), slack)
    e.add(1, 7.0, setup, e.addr(f), varint(16), slack)
    e.add(5, 7.5, setup, e.addr(f))
    e.add(1, 8.0, [MAIN], e.addr(g), varint(64), slack)
    e.add(5, 9.0, [MAIN], e.addr(d))
    return e


def map_events():
    """0: 12 KiB, read and write, from 1.0 to 5.0, in two calls.  1: 4 KiB,
    read and execute, by PARSE, from 2.0 on.  2: 8 KiB without any access, from
    3.0, moved and made longer at 4.0, to 7.0.  3: 4 KiB from 6.0 on, read.
    The peak of allocations is at 3.5."""
    e = Events()
    places = [0x1000000 * (i + 1) for i in range(5)]

    def mmap(seconds, stack, place, length, protection):
        e.add(8, seconds, stack, e.addr(place), varint(length),
              varint(protection), varint(0x22), svarint(-1), varint(0))
    setup, parse = [MAIN, SETUP], [MAIN, LOAD, PARSE]
    mmap(1.0, setup, places[0], 0x3000, 3)
    mmap(2.0, parse, places[1], 0x1000, 5)
    mmap(3.0, setup, places[2], 0x2000, 0)
    e.add(1, 3.5, setup, e.addr(0x10000), varint(100), varint(SLACK))
    e.add(10, 4.0, setup, e.addr(places[2]), varint(0x2000), e.addr(places[3]),
          varint(0x5000), varint(1))
    e.add(9, 4.5, setup, e.addr(places[0]), varint(0x1000))
    e.add(9, 5.0, parse, e.addr(places[0] + 0x1000), varint(0x2000))
    mmap(6.0, setup, places[4], 0x1000, 1)
    e.add(9, 7.0, setup, e.addr(places[3]), varint(0x5000))
    return e


def thread():
    return (chunk(5, struct.pack("<IIIIQ", 1, 4242, 1, 0, START) + string("")) +
            chunk(5, struct.pack("<IIIIQ", 1, 4242, 2, 0, START) +
                  string("app")))


def end(count, is_last=True, tick=0, program="", is_stopped=False):
    how, status, tick = (1, 3, END) if is_last else (8, -1, tick)
    if program:
        how, status = 6, -1
    if is_stopped:
        how, status = 9, -1
    return chunk(8, struct.pack("<IiQQQQQQ", how, status, tick, tick,
                                REALTIME + tick - START, count, 0, 9 << 20) +
                 string(program), first=tick)


def piece(index, has_gap):
    if index is None:
        return b""
    return chunk(12, struct.pack("<QQQIBBH", RUN_ID,
                                 RUN_ID + index - 1 if index else 0, 0, index,
                                 4 if index else 1, has_gap, 0))


def mark(kind, seconds, text, value=0):
    tick = START + round(seconds * 1e9)
    return chunk(11, struct.pack("<IIQQ", kind, 1, tick, value) + string(text),
                 first=tick)


def marks():
    """A mark, a phase, one right after an allocation within it, a number, a
    phase that does not end; an end too many; a number that JSON does not have."""
    return (mark(1, 0.5, "started") + mark(2, 1.5, "load") +
            mark(2, 4.001, "rest") + mark(3, 4.003, "rest") +
            mark(3, 6.5, "load") + mark(4, 7.2, "requests", 42) +
            mark(2, 8.5, "serve") + mark(3, 9.5, "other") +
            mark(4, 9.6, "unknown", 2**64 - 1))


def block(data, times=None, is_last=False):
    """Of a zstd frame: @data, or its one byte so many times (RFC 8878)."""
    size, kind = (len(data), 0) if times is None else (times, 1)
    return struct.pack("<I", size << 3 | kind << 1 | is_last)[:3] + data


def bomb(count):
    """@count allocations, each with 65,536 frames like no other's: some 20 bytes
    of the file an allocation."""
    out, raw_len = b"\x28\xb5\x2f\xfd\x00\x70", 0
    for i in range(count):
        depth = varint(65536)
        head = (b"\x01\x01" + (depth if i else varint(0)) + depth +
                svarint(MAIN + i))
        tail = svarint(16) + varint(8) + varint(0)
        out += block(head) + block(svarint(1), 65535) + block(
            tail, is_last=i == count - 1)
        raw_len += len(head) + 65535 + len(tail)
    head = b"\xfeMPchnk\n" + struct.pack(
        "<HHIIIQQIIQQ", 2, 1, 1, len(out), raw_len, START, START + count,
        count, 0, xxh64(out), 0)
    return head + struct.pack("<Q", xxh64(head)) + out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--version", default="1.0")
    parser.add_argument("--marks", action="store_true")
    parser.add_argument("--maps", action="store_true",
                        help="calls of mmap instead")
    parser.add_argument("--piece", type=int, help="0: the events up to 4.0, "
                        "1: those from 5.0 to 6.0, 2: those from 7.0 on")
    parser.add_argument("--gap", action="store_true",
                        help="the process ran unrecorded before the piece")
    parser.add_argument("--exec", default="", help="what it becomes at the end")
    parser.add_argument("--stopped", action="store_true",
                        help="recording was, and the program went on")
    parser.add_argument("--bomb", type=int, default=0, metavar="COUNT",
                        help="instead, so many allocations with stacks "
                        "that only a compressor thinks of")
    options = parser.parse_args()
    major, minor = map(int, options.version.split("."))
    e = map_events() if options.maps else events(PIECES[options.piece])
    is_last = options.piece in (None, 2)
    with open(options.file, "wb") as out:
        out.write(preamble(major, minor, options.piece or 0) +
                  process(PIECES[options.piece][0]) +
                  piece(options.piece, options.gap) + thread() +
                  module(1, 1, APP, 0x10000, "/opt/app/bin/app") +
                  module(2, 0, LIB, 0x10000, "/opt/app/lib/libparse.so.1") +
                  (bomb(options.bomb) if options.bomb else
                   chunk(2, e.data, 1, START, e.tick, e.count)) +
                  (marks() if options.marks else b"") +
                  end(options.bomb or e.count, is_last, e.tick, options.exec,
                      options.stopped))


if __name__ == "__main__":
    main()
