/* XXH3, 64 bits with a seed, as specified by xxHash 0.8 (doc/xxhash_spec.md there).
 * Needs a compiler with 128-bit integers. */
#ifndef XXH3_H
#define XXH3_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 xxh_u128;

static const uint64_t P32_1 = 0x9E3779B1, P32_2 = 0x85EBCA77, P32_3 = 0xC2B2AE3D,
    P64_1 = 0x9E3779B185EBCA87, P64_2 = 0xC2B2AE3D27D4EB4F, P64_3 = 0x165667B19E3779F9,
    P64_4 = 0x85EBCA77C2B2AE63, P64_5 = 0x27D4EB2F165667C5;
static const uint8_t SECRET[192] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};

static uint64_t get(const uint8_t *p, int n) { /* n bytes, little-endian */
    uint64_t x = 0;
    while (n-- > 0) x = x << 8 | p[n];
    return x;
}
static uint64_t r64(const uint8_t *p) { return get(p, 8); }
static uint64_t s64(int i) { return r64(SECRET + i); }
static uint64_t rotl(uint64_t x, int n) { return x << n | x >> (64 - n); }
static uint64_t swap64(uint64_t x) {
    uint64_t y = 0;
    for (int i = 0; i < 8; i++, x >>= 8) y = y << 8 | (x & 0xff);
    return y;
}
/* The two halves of the 128-bit product, xored. */
static uint64_t fold(uint64_t a, uint64_t b) {
    xxh_u128 p = (xxh_u128)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}
static uint64_t avalanche(uint64_t h) {
    h = (h ^ h >> 37) * 0x165667919E3779F9;
    return h ^ h >> 32;
}
static uint64_t avalanche_short(uint64_t h) {
    h = (h ^ h >> 33) * P64_2;
    h = (h ^ h >> 29) * P64_3;
    return h ^ h >> 32;
}
/* Sixteen bytes of the key with sixteen of the secret at j. */
static uint64_t mix16(const uint8_t *d, int j, uint64_t seed) {
    return fold(r64(d) ^ (s64(j) + seed), r64(d + 8) ^ (s64(j + 8) - seed));
}
static uint64_t upto16(const uint8_t *d, size_t n, uint64_t seed) {
    if (n > 8) {
        uint64_t lo = r64(d) ^ ((s64(24) ^ s64(32)) + seed), hi = r64(d + n - 8) ^ ((s64(40) ^ s64(48)) - seed);
        return avalanche(n + swap64(lo) + hi + fold(lo, hi));
    }
    if (n >= 4) {
        seed ^= swap64(seed & 0xffffffff);
        uint64_t h = (get(d + n - 4, 4) + (get(d, 4) << 32)) ^ ((s64(8) ^ s64(16)) - seed);
        h = (h ^ rotl(h, 49) ^ rotl(h, 24)) * 0x9FB21C651E98DF25;
        h = (h ^ ((h >> 35) + n)) * 0x9FB21C651E98DF25;
        return h ^ h >> 28;
    }
    if (n > 0) {
        uint64_t h = (uint64_t)d[0] << 16 | (uint64_t)d[n >> 1] << 24 | d[n - 1] | n << 8;
        return avalanche_short(h ^ ((get(SECRET, 4) ^ get(SECRET + 4, 4)) + seed));
    }
    return avalanche_short(seed ^ s64(56) ^ s64(64));
}
static uint64_t upto240(const uint8_t *d, size_t n, uint64_t seed) {
    uint64_t h = n * P64_1;
    if (n <= 128) {
        for (int i = ((int)n - 1) / 32; i >= 0; i--)
            h += mix16(d + 16 * i, 32 * i, seed) + mix16(d + n - 16 * i - 16, 32 * i + 16, seed);
        return avalanche(h);
    }
    for (int i = 0; i < 8; i++) h += mix16(d + 16 * i, 16 * i, seed);
    h = avalanche(h);
    for (int i = 8; i < (int)n / 16; i++) h += mix16(d + 16 * i, 16 * i - 125, seed);
    return avalanche(h + mix16(d + n - 16, 119, seed));
}
/* Sixty-four bytes of the key with as many of a secret. */
static void accumulate(uint64_t acc[8], const uint8_t *d, const uint8_t *secret) {
    for (int i = 0; i < 8; i++) {
        uint64_t v = r64(d + 8 * i), k = v ^ r64(secret + 8 * i);
        acc[i ^ 1] += v;
        acc[i] += (k & 0xffffffff) * (k >> 32);
    }
}
static uint64_t beyond240(const uint8_t *d, size_t n, uint64_t seed) {
    uint8_t secret[192];
    for (int i = 0; i < 192; i++)
        secret[i] = (uint8_t)((i % 16 < 8 ? s64(i & ~7) + seed : s64(i & ~7) - seed) >> (8 * (i % 8)));
    uint64_t acc[8] = {P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1};
    for (size_t stripe = 0; stripe < (n - 1) / 64; stripe++) {
        accumulate(acc, d + 64 * stripe, secret + 8 * (stripe % 16));
        for (int i = 0; stripe % 16 == 15 && i < 8; i++)
            acc[i] = (acc[i] ^ acc[i] >> 47 ^ r64(secret + 128 + 8 * i)) * P32_1;
    }
    accumulate(acc, d + n - 64, secret + 121);
    uint64_t h = n * P64_1;
    for (int i = 0; i < 8; i += 2) h += fold(acc[i] ^ r64(secret + 11 + 8 * i), acc[i + 1] ^ r64(secret + 19 + 8 * i));
    return avalanche(h);
}
static uint64_t xxh3_64(const uint8_t *data, size_t n, uint64_t seed) {
    return n <= 16 ? upto16(data, n, seed) : n <= 240 ? upto240(data, n, seed) : beyond240(data, n, seed);
}
#endif
