#!/usr/bin/env python3
"""Reads a filter file as docs/FORMAT.md describes it: seen_reader.py FILE < KEYS

Prints key, tab and maybe or no for each line of KEYS. It knows classic, blocked,
partitioned, counting and scalable filters whose keys are hashed with XXH3 or NH. A
file whose checksums are right is trusted. If the file says what was done to its keys
before they were hashed, such as "email", that is printed on standard error: KEYS have to be
in that form already. Needs Python 3.10 or later.
"""
import sys
import zlib
from struct import unpack_from

from nh import NH
from xxh3 import xxh3_64

M = (1 << 64) - 1
BLOCKED, PARTITIONED, COUNTERS = 2, 3, 4
# For each number of lanes the bytes with that many one bits, ascending.
LANE_SETS = [[b for b in range(256) if b.bit_count() == lanes] for lanes in range(9)]
# The rules in the tag of version 1, by their bits from 1 on.
RULES = ("trim ignore-case lower email hex decimal url url-keep-host url-keep-port url-keep-dots url-keep-escapes "
         "url-keep-fragment url-sort-query url-drop-tracking-1 email-keep-host email-plus").split()


def need(ok, what):
    if not ok:
        sys.exit(f"seen_reader.py: {what}")


def load(d):
    """Checks every byte of the file d; returns its hash function, the rules of its keys and the parts."""
    need(d[:8] == b"\x89SEEN\r\n\x1a" and len(d) >= 4096, "not a seen file")
    version, head = unpack_from("<II", d, 8)
    need(4096 <= head <= len(d), "truncated")
    crc = zlib.crc32(d[320:head - 4], zlib.crc32(d[:256] + bytes(64)))
    need((crc,) == unpack_from("<I", d, head - 4), "damaged header")
    need(version in (1, 2), f"format version {version}")
    kind, algorithm, seed = unpack_from("<HB5xQ", d, 16)
    need(kind in (1, 2, 3, 4, 5) and algorithm in (0, 3), "a type or hash that this reader does not know")
    need(unpack_from("<I", d, 256)[0] != 1, "being changed by another process")
    count, chunk, total, body_end = unpack_from("<IIQQ", d, 184)
    need(len(d) == total, f"{len(d)} bytes instead of {total}")
    need(unpack_from("<I", d, total - 4)[0] == zlib.crc32(d[body_end:total - 4]), "damaged checksums")
    for i, at in enumerate(range(head, body_end, chunk)):
        crc = zlib.crc32(d[at:min(at + chunk, body_end)])
        need((crc,) == unpack_from("<I", d, body_end + 4 * i), f"damaged at byte {at}")
    hash = NH(d[208:224]).hash if algorithm == 3 else lambda key: xxh3_64(key, seed)
    return hash, rules(d, version, count), [unpack_from("<HBBB3xI4xQ56xQ", d, 512 + 96 * i) for i in range(count)]


def rules(d, version, count):
    """What was done to keys before they were hashed, in words."""
    if version == 2:
        length, = unpack_from("<I", d, 224)
        return d[512 + 96 * count:][:length].decode("ascii").split()
    tag, = unpack_from("<Q", d, 56 + 15 * 8)
    if tag >> 24 != 0x72756C6573 or tag & 1:
        return []  # a number of another kind
    return [RULES[i - 1] if i <= len(RULES) else f"rule-{i}" for i in range(1, 24) if tag >> i & 1]


def cells(h, kind, lines, lanes, k, m):
    """The numbers of the bits or counters that belong to hash h."""
    if kind == BLOCKED:
        region = m // lines
        for j in range(lines):
            line = j * region + (h * (region // 512) >> 64) * 512
            g = h * 0x9E3779B97F4A7C15 & M
            sets = LANE_SETS[lanes]
            chosen = sets[(g & 0xFFFF) * len(sets) >> 16]
            yield from (line + 64 * i + (g >> 16 + 6 * i) % 64 for i in range(8) if chosen >> i & 1)
            h = h * 0xD1342543DE82EF95 & M
            h ^= h >> 32
        return
    for i in range(k):
        yield i * (m // k) + (h * (m // k) >> 64) if kind == PARTITIONED else h * m >> 64
        h = h * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15 & M


def has(d, part, h):
    kind, lines, lanes, width, k, m, offset = part
    bits, mask = (width, (1 << width) - 1) if kind == COUNTERS else (1, 1)
    for c in cells(h, kind, lines, lanes, k, m):
        word, = unpack_from("<Q", d, offset + c * bits // 64 * 8)
        if not word >> c * bits % 64 & mask:
            return False
    return True


def main():
    need(len(sys.argv) == 2, "usage: seen_reader.py FILE < KEYS")
    with open(sys.argv[1], "rb") as f:
        d = f.read()
    hash, made, parts = load(d)
    if made:
        print(f"seen_reader.py: keys are looked up as they are; those of the file were made with {' '.join(made)}", file=sys.stderr)
    for line in sys.stdin.buffer:
        key = line.removesuffix(b"\n")
        h = hash(key)
        sys.stdout.buffer.write(key + (b"\tmaybe\n" if any(has(d, p, h) for p in parts) else b"\tno\n"))


main()
