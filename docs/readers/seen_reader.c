/* Reads a filter file as docs/FORMAT.md describes it: seen_reader FILE < KEYS
 *
 * Prints key, tab and maybe or no for each line of KEYS. It knows classic, blocked,
 * partitioned, counting and scalable filters whose keys are hashed with XXH3 or NH. A
 * file whose checksums are right is trusted. If the file says what was done to its keys
 * before they were hashed, such as "email", that is printed on standard error: KEYS have to
 * be in that form already.
 * cc -o seen_reader seen_reader.c */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include "nh.h"

enum { BLOCKED = 2, PARTITIONED = 3, COUNTERS = 4 };

static void need(int ok, const char *what) {
    if (!ok) { fprintf(stderr, "seen_reader: %s\n", what); exit(1); }
}
static uint32_t crc32(uint32_t crc, const uint8_t *p, uint64_t n) { /* start with 0 */
    crc = ~crc;
    while (n-- > 0) {
        crc ^= *p++;
        for (int i = 0; i < 8; i++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    return ~crc;
}
static uint64_t mulhi(uint64_t a, uint64_t b) { return (uint64_t)((xxh_u128)a * b >> 64); }

/* Checks every byte of the file d of n bytes. */
static void check(const uint8_t *d, uint64_t n) {
    static const uint8_t zero[64];
    need(n >= 4096 && memcmp(d, "\x89SEEN\r\n\x1a", 8) == 0, "not a seen file");
    uint64_t head = get(d + 12, 4), total = r64(d + 192), end = r64(d + 200), chunk = get(d + 188, 4);
    need(head >= 4096 && head <= n, "truncated");
    uint32_t crc = crc32(crc32(crc32(0, d, 256), zero, 64), d + 320, head - 324);
    need(crc == get(d + head - 4, 4), "damaged header");
    need(get(d + 8, 4) == 1 || get(d + 8, 4) == 2, "another format version");
    need(get(d + 16, 2) >= 1 && get(d + 16, 2) <= 5 && (d[18] == 0 || d[18] == 3), "a type or hash that this reader does not know");
    need(get(d + 256, 4) != 1, "being changed by another process");
    need(n == total, "truncated or too long");
    need(crc32(0, d + end, total - end - 4) == get(d + total - 4, 4), "damaged checksums");
    for (uint64_t at = head, sum = end; at < end; at += chunk, sum += 4)
        need(crc32(0, d + at, end - at < chunk ? end - at : chunk) == get(d + sum, 4), "damaged body");
}
/* Prints what was done to keys before they were hashed, if the file says so. */
static void print_rules(const uint8_t *d) {
    static const char *const names[24] = {0, "trim", "ignore-case", "lower", "email", "hex", "decimal", "url", "url-keep-host",
        "url-keep-port", "url-keep-dots", "url-keep-escapes", "url-keep-fragment", "url-sort-query", "url-drop-tracking-1", "email-keep-host", "email-plus"};
    uint64_t tag = r64(d + 56 + 15 * 8), length = get(d + 224, 4);
    int version = (int)get(d + 8, 4), in_tag = version == 1 && tag >> 24 == 0x72756c6573 && !(tag & 1);
    if (!in_tag && (version == 1 || length == 0)) return;
    fputs("seen_reader: keys are looked up as they are; those of the file were made with", stderr);
    if (version == 2) fprintf(stderr, " %.*s", (int)length, (const char *)d + 512 + 96 * get(d + 184, 4));
    for (int i = 1; in_tag && i < 24; i++)
        if (tag >> i & 1) names[i] ? fprintf(stderr, " %s", names[i]) : fprintf(stderr, " rule-%d", i);
    fputc('\n', stderr);
}
/* Whether cell i of width bits is not zero. */
static int cell(const uint8_t *a, uint64_t i, int width) {
    return (r64(a + i * width / 64 * 8) >> i * width % 64 & ((UINT64_C(1) << width) - 1)) != 0;
}
static int has_blocked(const uint8_t *a, uint64_t h, int lines, int lanes, uint64_t m) {
    static const int choose[] = {1, 8, 28, 56, 70, 56, 28, 8, 1}; /* lanes of 8 */
    uint64_t region = m / lines;
    for (int j = 0; j < lines; j++) {
        uint64_t line = j * region + mulhi(h, region / 512) * 512, g = h * 0x9E3779B97F4A7C15;
        int rank = (int)((g & 0xffff) * choose[lanes] >> 16), set = -1;
        while (rank >= 0) rank -= __builtin_popcount(++set) == lanes; /* the next such byte */
        for (int i = 0; i < 8; i++)
            if (set >> i & 1 && !cell(a, line + 64 * i + (g >> (16 + 6 * i)) % 64, 1)) return 0;
        h *= 0xD1342543DE82EF95;
        h ^= h >> 32;
    }
    return 1;
}
/* p is a record of the part table. */
static int has(const uint8_t *d, const uint8_t *p, uint64_t h) {
    const uint8_t *a = d + r64(p + 80);
    uint64_t kind = get(p, 2), k = get(p + 8, 4), m = r64(p + 16), slice = m / k;
    if (kind == BLOCKED) return has_blocked(a, h, p[2], p[3], m);
    for (uint64_t i = 0; i < k; i++, h = h * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15)
        if (!cell(a, kind == PARTITIONED ? i * slice + mulhi(h, slice) : mulhi(h, m), kind == COUNTERS ? p[4] : 1))
            return 0;
    return 1;
}
int main(int argc, char **argv) {
    need(argc == 2, "usage: seen_reader FILE < KEYS");
    FILE *f = fopen(argv[1], "rb");
    need(f && fseek(f, 0, SEEK_END) == 0, "cannot open the file");
    size_t n = (size_t)ftell(f), room = 0;
    uint8_t *d = malloc(n + 1);
    rewind(f);
    need(d && fread(d, 1, n, f) == n, "cannot read the file");
    check(d, n);
    print_rules(d);
    nh_key nh;
    if (d[18] == 3) nh_expand(&nh, d + 208);
    char *key = NULL;
    for (ssize_t length; (length = getline(&key, &room, stdin)) >= 0;) {
        length -= length > 0 && key[length - 1] == '\n';
        uint8_t *bytes = (uint8_t *)key;
        uint64_t h = d[18] == 3 ? nh_hash(&nh, bytes, (size_t)length) : xxh3_64(bytes, (size_t)length, r64(d + 24)), maybe = 0;
        for (uint64_t i = 0; i < get(d + 184, 4) && !maybe; i++) maybe = has(d, d + 512 + 96 * i, h);
        fwrite(key, 1, (size_t)length, stdout);
        puts(maybe ? "\tmaybe" : "\tno");
    }
    return 0;
}
