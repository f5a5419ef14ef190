"""XXH3, 64 bits with a seed, as specified by xxHash 0.8 (doc/xxhash_spec.md there)."""
from struct import unpack_from

M = (1 << 64) - 1
P32 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")


def r32(b, i):
    return unpack_from("<I", b, i)[0]


def r64(b, i):
    return unpack_from("<Q", b, i)[0]


def rotl(x, n):
    return (x << n | x >> 64 - n) & M


def swap64(x):
    return int.from_bytes(x.to_bytes(8, "little"), "big")


def fold(a, b):
    """The two halves of the 128-bit product, xored."""
    p = a * b
    return p & M ^ p >> 64


def avalanche(h):
    h ^= h >> 37
    h = h * 0x165667919E3779F9 & M
    return h ^ h >> 32


def avalanche_short(h):
    h ^= h >> 33
    h = h * P64[1] & M
    h ^= h >> 29
    h = h * P64[2] & M
    return h ^ h >> 32


def mix16(d, i, j, seed):
    """Sixteen bytes of the key at i with sixteen of the secret at j."""
    return fold(r64(d, i) ^ r64(SECRET, j) + seed & M, r64(d, i + 8) ^ r64(SECRET, j + 8) - seed & M)


def upto16(d, n, seed):
    if n > 8:
        lo = r64(d, 0) ^ (r64(SECRET, 24) ^ r64(SECRET, 32)) + seed & M
        hi = r64(d, n - 8) ^ (r64(SECRET, 40) ^ r64(SECRET, 48)) - seed & M
        return avalanche(n + swap64(lo) + hi + fold(lo, hi) & M)
    if n >= 4:
        seed ^= int.from_bytes((seed & 0xFFFFFFFF).to_bytes(4, "little"), "big") << 32
        h = r32(d, n - 4) + (r32(d, 0) << 32) ^ (r64(SECRET, 8) ^ r64(SECRET, 16)) - seed & M
        h ^= rotl(h, 49) ^ rotl(h, 24)
        h = h * 0x9FB21C651E98DF25 & M
        h ^= (h >> 35) + n
        h = h * 0x9FB21C651E98DF25 & M
        return h ^ h >> 28
    if n:
        h = d[0] << 16 | d[n >> 1] << 24 | d[n - 1] | n << 8
        return avalanche_short(h ^ (r32(SECRET, 0) ^ r32(SECRET, 4)) + seed & M)
    return avalanche_short(seed ^ r64(SECRET, 56) ^ r64(SECRET, 64))


def upto240(d, n, seed):
    h = n * P64[0]
    if n <= 128:
        for i in range((n - 1) // 32, -1, -1):
            h += mix16(d, 16 * i, 32 * i, seed) + mix16(d, n - 16 * i - 16, 32 * i + 16, seed)
        return avalanche(h & M)
    for i in range(8):
        h += mix16(d, 16 * i, 16 * i, seed)
    h = avalanche(h & M)
    for i in range(8, n // 16):
        h += mix16(d, 16 * i, 16 * i - 125, seed)
    return avalanche(h + mix16(d, n - 16, 119, seed) & M)


def accumulate(acc, d, i, secret, j):
    """Sixty-four bytes of the key at i with as many of the secret at j."""
    for lane in range(8):
        v = r64(d, i + 8 * lane)
        k = v ^ r64(secret, j + 8 * lane)
        acc[lane ^ 1] = acc[lane ^ 1] + v & M
        acc[lane] = acc[lane] + (k & 0xFFFFFFFF) * (k >> 32) & M


def beyond240(d, n, seed):
    secret = b"".join((r64(SECRET, i) + (seed if i % 16 == 0 else -seed) & M).to_bytes(8, "little")
                      for i in range(0, 192, 8))
    acc = [P32[2], P64[0], P64[1], P64[2], P64[3], P32[1], P64[4], P32[0]]
    for stripe in range((n - 1) // 64):
        accumulate(acc, d, 64 * stripe, secret, 8 * (stripe % 16))
        if stripe % 16 == 15:
            for lane in range(8):
                acc[lane] = (acc[lane] ^ acc[lane] >> 47 ^ r64(secret, 128 + 8 * lane)) * P32[0] & M
    accumulate(acc, d, n - 64, secret, 121)
    h = n * P64[0]
    for i in range(0, 8, 2):
        h += fold(acc[i] ^ r64(secret, 11 + 8 * i), acc[i + 1] ^ r64(secret, 19 + 8 * i))
    return avalanche(h & M)


def xxh3_64(data, seed=0):
    n = len(data)
    return (upto16 if n <= 16 else upto240 if n <= 240 else beyond240)(data, n, seed)
