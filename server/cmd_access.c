/* SPDX-License-Identifier: MIT
 * cmd_access.c: `warpsight access`: what a regular access pattern costs, warp by warp, drawn.
 * The rules are analyzer/access.h, the ones the model counts with; here is only the option table and the drawing. */
#include "access_json.h"
#include "cli.h"
#include "cmd.h"

#include "../analyzer/access.h"
#include "../analyzer/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { O_WIDTH, O_STRIDE, O_OFFSET, O_BLOCK, O_PITCH, O_PLANE, O_TRANSPOSED, O_WARP, O_CC, O_JSON };
static const struct ws_option options[] = {
    [O_WIDTH] = {"width", 'w', "BYTES", "bytes per lane: 1, 2, 4 (default), 8 or 16"},
    [O_STRIDE] = {"stride", 's', "N", "elements between neighbours in x (default 1)"},
    [O_OFFSET] = {"offset", 'o', "N", "elements before the first (default 0)"},
    [O_BLOCK] = {"block", 'b', "XxYxZ", "threads of the block (default 32)"},
    [O_PITCH] = {"pitch", 'p', "BYTES", "bytes from a row (y) to the next (default: the row, packed)"},
    [O_PLANE] = {"plane", 0, "BYTES", "bytes from a plane (z) to the next (default: the plane, packed)"},
    [O_TRANSPOSED] = {"transposed", 't', NULL, "x walks down the rows: x steps by the pitch, y by the stride"},
    [O_WARP] = {"warp", 0, "N", "which warp of the block to draw (default 0)"},
    [O_CC] = {"cc", 0, "M.N", "compute capability: say how its rules are known (default 9.0)"},
    [O_JSON] = {"json", 0, NULL, "numbers as JSON"},
    {NULL, 0, NULL, NULL},
};

struct request {
    struct ws_pattern pattern;
    bool has_pitch, has_plane, as_json;
    uint32_t warp;
    const struct ws_access_rules *rules;
};

static bool read_block(const char *text, struct ws_pattern *p)
{
    unsigned x = 0, y = 1, z = 1;
    int used = 0, end = (int)strlen(text);
    bool is_good = (sscanf(text, "%4u%n", &x, &used) == 1 && used == end) ||
                   (sscanf(text, "%4ux%4u%n", &x, &y, &used) == 2 && used == end) ||
                   (sscanf(text, "%4ux%4ux%4u%n", &x, &y, &z, &used) == 3 && used == end);
    if (!is_good)
        return false;
    if (strspn(text, "0123456789x") != strlen(text))
        return false;
    p->block_x = x;
    p->block_y = strchr(text, 'x') ? y : 1;
    p->block_z = strchr(text, 'x') && strchr(strchr(text, 'x') + 1, 'x') ? z : 1;
    return true;
}

/* "9.0" → a row of access_rules.def. */
static const struct ws_access_rules *find_rules(const char *text)
{
    unsigned major = 0, minor = 0;
    char rest;
    return sscanf(text, "%2u.%2u%c", &major, &minor, &rest) == 2 ? ws_access_rules(major, minor) : NULL;
}

static int read_option(struct request *r, int found, const char *value)
{
    const long long far = 1ll << 28;
    long long n = 0;
    bool is_good = true;
    switch (found) {
    case O_TRANSPOSED:
        r->pattern.is_transposed = true;
        return 0;
    case O_JSON:
        r->as_json = true;
        return 0;
    case O_CC:
        r->rules = find_rules(value);
        is_good = r->rules != NULL;
        break;
    case O_BLOCK:
        is_good = read_block(value, &r->pattern);
        break;
    case O_WIDTH:
        is_good = ws_cli_integer(value, 1, 16, &n) && (n & (n - 1)) == 0;
        r->pattern.width = (uint32_t)n;
        break;
    case O_WARP:
        is_good = ws_cli_integer(value, 0, 31, &n);
        r->warp = (uint32_t)n;
        break;
    default:
        is_good = ws_cli_integer(value, -far, far, &n);
        if (found == O_STRIDE)
            r->pattern.stride = n;
        if (found == O_OFFSET)
            r->pattern.offset = n;
        if (found == O_PITCH)
            r->pattern.pitch = n;
        if (found == O_PLANE)
            r->pattern.plane = n;
        r->has_pitch |= found == O_PITCH;
        r->has_plane |= found == O_PLANE;
    }
    if (is_good)
        return 0;
    return ws_cli_usage_error("access", "--%s: '%s' is not possible", options[found].name, value);
}

/* --- drawing: one row a sector (or bank), one column a lane --- */

static void draw_lanes_header(void)
{
    printf("%14s  lane 0       8       16      24     31\n", "");
}

static void draw_sectors(const uint64_t *addr, uint32_t mask)
{
    uint64_t sectors[WS_ACCESS_LANES];
    uint32_t n = 0;
    for (uint32_t l = 0; l < WS_ACCESS_LANES; l++) {
        uint64_t s = addr[l] / WS_ACCESS_SECTOR_BYTES;
        uint32_t at = 0;
        if (!(mask >> l & 1))
            continue;
        while (at < n && sectors[at] < s)
            at++;
        if (at < n && sectors[at] == s)
            continue;
        memmove(sectors + at + 1, sectors + at, (n - at) * sizeof *sectors);
        sectors[at] = s;
        n++;
    }
    printf("\nlanes × 32-byte sectors (byte offset of each sector)\n");
    draw_lanes_header();
    for (uint32_t k = 0; k < n; k++) {
        printf("%14" PRId64 "  ", (int64_t)(sectors[k] * WS_ACCESS_SECTOR_BYTES - WS_ACCESS_BASE));
        for (uint32_t l = 0; l < WS_ACCESS_LANES; l++)
            putchar(!(mask >> l & 1) ? ' ' : addr[l] / WS_ACCESS_SECTOR_BYTES == sectors[k] ? '#' : '.');
        putchar('\n');
    }
}

/* How many different words of the bank the lanes want. */
static uint32_t words_in_bank(const uint64_t *addr, uint32_t mask, uint32_t words, uint32_t bank)
{
    uint64_t seen[WS_ACCESS_LANES * 4];
    uint32_t n = 0;
    for (uint32_t l = 0; l < WS_ACCESS_LANES; l++)
        for (uint32_t k = 0; k < words && (mask >> l & 1); k++) {
            uint64_t w = addr[l] / 4 + k;
            uint32_t at = 0;
            if (w % WS_ACCESS_BANKS != bank)
                continue;
            while (at < n && seen[at] != w)
                at++;
            if (at == n)
                seen[n++] = w;
        }
    return n;
}

static void draw_banks(const uint64_t *addr, uint32_t mask, uint32_t width)
{
    uint32_t words = width > 4 ? width / 4 : 1;
    printf("\nlanes × shared-memory banks (words: different 4-byte words that the warp wants of the bank)\n");
    draw_lanes_header();
    for (uint32_t bank = 0; bank < WS_ACCESS_BANKS; bank++) {
        printf("bank %2u %3u w.  ", bank, words_in_bank(addr, mask, words, bank));
        for (uint32_t l = 0; l < WS_ACCESS_LANES; l++) {
            bool hits = false;
            for (uint32_t k = 0; k < words; k++)
                hits |= (addr[l] / 4 + k) % WS_ACCESS_BANKS == bank;
            putchar(!(mask >> l & 1) ? ' ' : hits ? '#' : '.');
        }
        putchar('\n');
    }
}

static void print_text(const struct request *r, const struct ws_access_report *a)
{
    uint64_t addr[WS_ACCESS_LANES];
    struct ws_sectors s;
    struct ws_banks b, stored;
    uint32_t mask = ws_access_lanes(&r->pattern, r->warp, addr);
    ws_access_sectors(addr, mask, r->pattern.width, &s);
    ws_access_banks(addr, mask, r->pattern.width, WS_ACCESS_LOAD, &b);
    ws_access_banks(addr, mask, r->pattern.width, WS_ACCESS_STORE, &stored);
    printf("warp %u: %u lanes of %u bytes\n", r->warp, s.lanes, r->pattern.width);
    printf("  global memory  %u sectors a request, %u when side by side; %.1f %% of the bytes moved are used\n",
           s.sectors, s.ideal, 100.0 * s.bytes / (WS_ACCESS_SECTOR_BYTES * (double)s.sectors));
    printf("  shared memory  %u wavefronts a request, %u without conflicts", b.wavefronts, b.ideal);
    printf(stored.wavefronts != b.wavefronts ? "; %u when it stores\n" : "\n", stored.wavefronts);
    printf("block: %u warps\n", a->warps);
    printf("  global memory  %" PRIu64 " sectors, %.3f a request, %" PRIu64 " lines\n", a->sectors,
           (double)a->sectors / a->warps, a->lines);
    printf("  shared memory  %" PRIu64 " wavefronts, %" PRIu64 " of them conflicts", a->wavefronts,
           a->wavefronts - a->ideal_wavefronts);
    printf(a->store_wavefronts != a->wavefronts ? "; %" PRIu64 " when it stores\n" : "\n", a->store_wavefronts);
    if (a->padding)
        printf("advice: in shared memory, %u bytes of padding a row (pitch %" PRId64
               ") bring the wavefronts from %" PRIu64 " to %" PRIu64 "\n",
               a->padding, r->pattern.pitch + (int64_t)a->padding, a->wavefronts, a->padded_wavefronts);
    printf("rules: %s (%s); %s\n", ws_access_origin_name(r->rules->origin), r->rules->source, r->rules->note);
    draw_sectors(addr, mask);
    draw_banks(addr, mask, r->pattern.width);
}

static void print_json(const struct request *r, const struct ws_access_report *a)
{
    struct ws_json j = {.out = stdout, .pretty = true};
    ws_access_json(&j, &r->pattern, a, r->warp);
    putchar('\n');
}

int ws_cmd_access(int argc, char **argv)
{
    struct ws_cli cli = {
        .usage = "[options]",
        .about =
            "What a regular access pattern costs: 32-byte sectors in global memory, wavefronts and bank conflicts in\n"
            "shared memory. Thread (x,y,z) touches element offset + x*stride of row y, plane z.\n"
            "Example: --width 4 --stride 2 --offset 1 --block 32x8 --pitch 4096",
        .options = options,
        .argc = argc,
        .argv = argv};
    struct request r = {.pattern = {.width = 4, .stride = 1, .block_x = 32, .block_y = 1, .block_z = 1},
                        .rules = ws_access_rules(9, 0)};
    struct ws_access_report report;
    const char *value;
    int found;
    while ((found = ws_cli_next(&cli, &value)) != WS_CLI_END) {
        int err;
        if (found == WS_CLI_HELP)
            return WS_EXIT_OK;
        if (found == WS_CLI_ERROR)
            return WS_EXIT_USAGE;
        if (found == WS_CLI_OPERAND)
            return ws_cli_usage_error("access", "unexpected '%s'", value);
        err = read_option(&r, found, value);
        if (err)
            return err;
    }
    ws_access_fill_defaults(&r.pattern, r.has_pitch, r.has_plane);
    if (ws_access_report(&r.pattern, &report) != 0)
        return ws_cli_usage_error("access",
                                  "no such access: blocks have 1 to 1024 threads (z up to 64), pitch and plane "
                                  "are multiples of the width");
    if (r.warp >= report.warps)
        return ws_cli_usage_error("access", "--warp %u: the block has %u warps", r.warp, report.warps);
    if (r.as_json)
        print_json(&r, &report);
    else
        print_text(&r, &report);
    return WS_EXIT_OK;
}
