/* SPDX-License-Identifier: MIT
 * access.c: what one warp's memory instruction costs.
 * Pure. The model calls these for every pattern that its own two fast paths do not cover, so they must be
 * quick: addresses that rise with the lane, the usual case, need one pass and no table. */
#include "access.h"

#include "err.h"

#include <string.h>

static const struct ws_access_rules rules[] = {
#define WS_ACCESS_RULES(first, last, sector, line, banks, bank_bytes, origin, note, source) \
    {first, last, sector, line, banks, bank_bytes, WS_RULES_##origin, note, source},
#include "access_rules.def"
#undef WS_ACCESS_RULES
};

const struct ws_access_rules *ws_access_rules(uint32_t cc_major, uint32_t cc_minor)
{
    uint32_t cc = cc_major * 10 + cc_minor;
    for (size_t k = 0; k < sizeof rules / sizeof *rules && cc_minor < 10; k++)
        if (cc >= rules[k].first && cc <= rules[k].last)
            return &rules[k];
    return NULL;
}

const char *ws_access_origin_name(enum ws_rules_origin origin)
{
    return origin == WS_RULES_MEASURED ? "measured" : origin == WS_RULES_DOCUMENTED ? "documented" : "assumed";
}

static uint32_t popcount(uint32_t m)
{
    return (uint32_t)__builtin_popcount(m);
}

/* Distinct values of addr >> shift over the active lanes. */
static uint32_t count_distinct(const uint64_t addr[], uint32_t mask, int shift)
{
    uint64_t seen[64];
    uint64_t used = 0;
    uint64_t last = 0;
    uint32_t n = 0;
    bool is_rising = true;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint64_t v = addr[__builtin_ctz(m)] >> shift;
        if (n > 0 && v < last) {
            is_rising = false;
            break;
        }
        n += n == 0 || v != last;
        last = v;
    }
    if (is_rising)
        return n;
    n = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint64_t v = addr[__builtin_ctz(m)] >> shift;
        uint32_t at = (uint32_t)((v * 0x9E3779B97F4A7C15ull) >> 58);
        while ((used >> at & 1) && seen[at] != v)
            at = (at + 1) & 63;
        if (used >> at & 1)
            continue;
        used |= 1ull << at;
        seen[at] = v;
        n++;
    }
    return n;
}

static int log2_of(uint32_t bytes)
{
    return bytes > 1 ? 31 - __builtin_clz(bytes) : 0;
}

void ws_access_sectors(const uint64_t addr[WS_ACCESS_LANES], uint32_t mask, uint32_t bytes, struct ws_sectors *out)
{
    uint32_t distinct = count_distinct(addr, mask, log2_of(bytes));
    out->lanes = popcount(mask);
    out->sectors = count_distinct(addr, mask, 5);
    out->lines = count_distinct(addr, mask, 7);
    out->bytes = distinct * bytes;
    out->ideal = (out->bytes + WS_ACCESS_SECTOR_BYTES - 1) / WS_ACCESS_SECTOR_BYTES;
}

/* Do all pairs (n, n^step) whose two lanes are active hold one address? */
static bool pairs_agree(const uint64_t addr[], uint32_t mask, uint32_t step)
{
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        uint32_t other = lane ^ step;
        if ((mask >> other & 1) && addr[other] != addr[lane])
            return false;
    }
    return true;
}

/* Half as many lanes' words would do for this part, as far as the hardware looks. */
static bool is_paired(const uint64_t addr[], uint32_t mask, uint32_t words)
{
    return pairs_agree(addr, mask, 1) || pairs_agree(addr, mask, 2) || (words == 4 && pairs_agree(addr, mask, 4));
}

/* Passes for the lanes of one part: most distinct 4-byte words in one bank. */
static uint32_t bank_passes(const uint64_t addr[], uint32_t mask, uint32_t words)
{
    uint64_t word[WS_ACCESS_BANKS][WS_ACCESS_LANES];
    uint8_t n[WS_ACCESS_BANKS] = {0};
    uint32_t most = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint64_t first = addr[__builtin_ctz(m)] >> 2;
        for (uint64_t w = first; w < first + words; w++) {
            uint32_t bank = (uint32_t)(w % WS_ACCESS_BANKS);
            uint32_t i = 0;
            while (i < n[bank] && word[bank][i] != w)
                i++;
            if (i < n[bank])
                continue;
            word[bank][n[bank]++] = w;
            most = n[bank] > most ? n[bank] : most;
        }
    }
    return most;
}

static uint32_t lanes_from(uint32_t mask, uint32_t lane, uint32_t n)
{
    return mask & (n >= WS_ACCESS_LANES ? UINT32_MAX : ((1u << n) - 1) << lane);
}

/* Most lanes that meet in one bank: an atomic serves them one after another, also at one address. */
static uint32_t atomic_passes(const uint64_t addr[], uint32_t mask, uint32_t words)
{
    uint8_t n[WS_ACCESS_BANKS] = {0};
    uint32_t most = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t bank = (uint32_t)(addr[__builtin_ctz(m)] >> 2) % WS_ACCESS_BANKS;
        for (uint32_t w = 0; w < words; w++) {
            uint8_t *at = &n[(bank + w) % WS_ACCESS_BANKS];
            *at = (uint8_t)(*at + 1);
            most = *at > most ? *at : most;
        }
    }
    return most;
}

static bool joins(const uint64_t addr[], uint32_t mask, uint32_t words)
{
    return is_paired(addr, mask, words) && bank_passes(addr, mask, words) == 1;
}

static uint32_t passes_of(const uint64_t addr[], uint32_t mask, uint32_t words, enum ws_access_op op)
{
    if (op < WS_ACCESS_ATOMIC)
        return bank_passes(addr, mask, words);
    return atomic_passes(addr, mask, words) * (op == WS_ACCESS_SWAP ? 2 : 1);
}

void ws_access_banks(const uint64_t addr[WS_ACCESS_LANES], uint32_t mask, uint32_t bytes, enum ws_access_op op,
                     struct ws_banks *out)
{
    uint32_t words = bytes > 4 ? bytes / 4 : 1;
    uint32_t part = WS_ACCESS_LANES / words;
    out->lanes = popcount(mask);
    out->wavefronts = out->ideal = 0;
    for (uint32_t lane = 0; lane < WS_ACCESS_LANES; lane += part) {
        uint32_t here = lanes_from(mask, lane, part);
        if (op == WS_ACCESS_LOAD && words > 1 && lane % (2 * part) == 0 &&
            joins(addr, lanes_from(mask, lane, 2 * part), words)) {
            here = lanes_from(mask, lane, 2 * part);
            lane += part;
        }
        out->ideal += here == 0 ? 0 : op == WS_ACCESS_SWAP ? 2 : 1;
        out->wavefronts += here == 0 ? 0 : passes_of(addr, here, words, op);
    }
}

uint32_t ws_access_same_address(const uint64_t addr[WS_ACCESS_LANES], uint32_t mask)
{
    uint32_t most = 0;
    while (mask) {
        uint64_t a = addr[__builtin_ctz(mask)];
        uint32_t same = 0;
        for (uint32_t m = mask; m; m &= m - 1)
            if (addr[__builtin_ctz(m)] == a)
                same |= m & (0u - m);
        mask &= ~same;
        most = popcount(same) > most ? popcount(same) : most;
    }
    return most;
}

uint32_t ws_access_lanes(const struct ws_pattern *pattern, uint32_t warp, uint64_t addr[WS_ACCESS_LANES])
{
    const struct ws_pattern *p = pattern;
    uint64_t threads = (uint64_t)p->block_x * p->block_y * p->block_z;
    int64_t step_x = p->is_transposed ? p->pitch : p->stride * (int64_t)p->width;
    int64_t step_y = p->is_transposed ? p->stride * (int64_t)p->width : p->pitch;
    uint32_t mask = 0;
    for (uint32_t lane = 0; lane < WS_ACCESS_LANES; lane++) {
        uint64_t t = (uint64_t)warp * WS_ACCESS_LANES + lane;
        int64_t x, y, z;
        addr[lane] = 0;
        if (t >= threads)
            continue;
        x = (int64_t)(t % p->block_x);
        y = (int64_t)(t / p->block_x % p->block_y);
        z = (int64_t)(t / ((uint64_t)p->block_x * p->block_y));
        addr[lane] =
            WS_ACCESS_BASE + (uint64_t)(p->offset * (int64_t)p->width + x * step_x + y * step_y + z * p->plane);
        mask |= 1u << lane;
    }
    return mask;
}

static bool is_valid(const struct ws_pattern *p)
{
    const int64_t far = 1ll << 28; /* keeps every address of 1024 threads above 0 */
    uint64_t threads = (uint64_t)p->block_x * p->block_y * p->block_z;
    if (p->block_x == 0 || p->block_y == 0 || p->block_z == 0 || p->block_x > 1024 || p->block_y > 1024 ||
        p->block_z > 64 || threads > 1024)
        return false;
    if (p->width == 0 || p->width > 16 || (p->width & (p->width - 1)) != 0)
        return false;
    if (p->stride > far / 16 || p->stride < -far / 16 || p->offset > far || p->offset < -far)
        return false;
    if (p->pitch % (int64_t)p->width != 0 || p->plane % (int64_t)p->width != 0)
        return false;
    return p->pitch <= far && p->pitch >= -far && p->plane <= far && p->plane >= -far;
}

static uint64_t block_wavefronts(const struct ws_pattern *p, enum ws_access_op op, uint64_t *ideal)
{
    uint64_t addr[WS_ACCESS_LANES];
    uint64_t sum = 0;
    uint32_t mask;
    *ideal = 0;
    for (uint32_t warp = 0; (mask = ws_access_lanes(p, warp, addr)) != 0; warp++) {
        struct ws_banks b;
        ws_access_banks(addr, mask, p->width, op, &b);
        sum += b.wavefronts;
        *ideal += b.ideal;
    }
    return sum;
}

int ws_access_report(const struct ws_pattern *pattern, struct ws_access_report *out)
{
    uint64_t addr[WS_ACCESS_LANES];
    struct ws_access_report r = {0};
    struct ws_pattern padded = *pattern;
    uint32_t mask;
    if (!is_valid(pattern))
        return -WS_EINVAL;
    for (uint32_t warp = 0; (mask = ws_access_lanes(pattern, warp, addr)) != 0; warp++) {
        struct ws_sectors s;
        ws_access_sectors(addr, mask, pattern->width, &s);
        r.warps++;
        r.lanes += s.lanes;
        r.sectors += s.sectors;
        r.ideal_sectors += s.ideal;
        r.lines += s.lines;
        r.used_bytes += s.bytes;
    }
    r.bytes = r.lanes * pattern->width;
    r.store_wavefronts = block_wavefronts(pattern, WS_ACCESS_STORE, &r.ideal_wavefronts);
    r.wavefronts = r.padded_wavefronts = block_wavefronts(pattern, WS_ACCESS_LOAD, &r.ideal_wavefronts);
    for (uint32_t pad = pattern->width; pad <= WS_ACCESS_LINE_BYTES && pattern->pitch != 0; pad += pattern->width) {
        uint64_t ideal;
        uint64_t wavefronts;
        if (pad % 4 != 0)
            continue;
        padded.pitch = pattern->pitch + (int64_t)pad;
        wavefronts = block_wavefronts(&padded, WS_ACCESS_LOAD, &ideal);
        if (wavefronts < r.padded_wavefronts) {
            r.padded_wavefronts = wavefronts;
            r.padding = pad;
        }
    }
    *out = r;
    return 0;
}
