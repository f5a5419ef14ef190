/* NH, the keyed hash of docs/FORMAT.md, and SipHash-2-4, which expands its secret.
 * Needs a compiler with 128-bit integers. */
#ifndef NH_H
#define NH_H
#include "xxh3.h"

enum { NH_BLOCK = 1024 };
typedef struct {
    uint64_t length, offset, point, words[NH_BLOCK / 8];
    xxh_u128 fold, wide;
} nh_key;

static void sip_rounds(uint64_t v[4], int n) {
    while (n-- > 0) {
        v[0] += v[1], v[2] += v[3];
        v[1] = (v[1] << 13 | v[1] >> 51) ^ v[0], v[3] = (v[3] << 16 | v[3] >> 48) ^ v[2];
        v[0] = v[0] << 32 | v[0] >> 32;
        v[2] += v[1], v[0] += v[3];
        v[1] = (v[1] << 17 | v[1] >> 47) ^ v[2], v[3] = (v[3] << 21 | v[3] >> 43) ^ v[0];
        v[2] = v[2] << 32 | v[2] >> 32;
    }
}
/* SipHash-2-4 of the eight bytes of x. */
static uint64_t sip(const uint8_t *secret, uint64_t x) {
    uint64_t k0 = r64(secret), k1 = r64(secret + 8), m[2] = {x, UINT64_C(8) << 56};
    uint64_t v[4] = {k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573};
    for (int i = 0; i < 2; i++) {
        v[3] ^= m[i];
        sip_rounds(v, 2);
        v[0] ^= m[i];
    }
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
static void nh_expand(nh_key *k, const uint8_t *secret) {
    uint64_t w[7];
    for (int i = 0; i < 7; i++) w[i] = sip(secret, (uint64_t)i);
    for (int i = 0; i < NH_BLOCK / 8; i++) k->words[i] = sip(secret, (uint64_t)i + 7);
    k->length = w[0], k->offset = w[5], k->point = w[6] & ((UINT64_C(1) << 61) - 1);
    k->fold = (xxh_u128)w[2] << 64 | w[1] | 1, k->wide = (xxh_u128)w[4] << 64 | w[3] | 1;
}
static uint64_t nh_block(const nh_key *k, const uint8_t *b, size_t n) {
    const uint64_t *w = k->words;
    xxh_u128 sum = (xxh_u128)k->length * n;
    uint64_t x = 0, y = 0;
    if (n > 8) {
        for (size_t i = 0; i + 16 < n; i += 16, w += 2)
            sum += (xxh_u128)(r64(b + i) + w[0]) * (r64(b + i + 8) + w[1]);
        x = r64(n > 16 ? b + n - 16 : b), y = r64(b + n - 8);
    } else if (n >= 4) {
        x = get(b, 4) | get(b + n - 4, 4) << 32;
    } else if (n > 0) {
        x = (uint64_t)b[0] | (uint64_t)b[n / 2] << 8 | (uint64_t)b[n - 1] << 16;
    }
    sum += (xxh_u128)(x + w[0]) * (y + w[1]);
    return (uint64_t)(k->fold * sum >> 64);
}
static uint64_t nh_hash(const nh_key *k, const uint8_t *b, size_t n) {
    const uint64_t prime = (UINT64_C(1) << 61) - 1;
    uint64_t h, p = 0;
    if (n <= NH_BLOCK) {
        h = nh_block(k, b, n);
    } else {
        for (size_t i = 0; i < n; i += NH_BLOCK) {
            uint64_t x = nh_block(k, b + i, n - i < NH_BLOCK ? n - i : NH_BLOCK);
            p = (uint64_t)(((xxh_u128)p * k->point + (x >> 32)) % prime);
            p = (uint64_t)(((xxh_u128)p * k->point + (uint32_t)x) % prime);
        }
        h = (uint64_t)(k->wide * ((xxh_u128)n << 64 | p) >> 64) + k->offset;
    }
    return avalanche(h);
}
#endif
