/* SPDX-License-Identifier: MIT
 * access.h: what one warp's memory instruction costs: sectors, lines, shared-memory wavefronts.
 * The one definition of these rules: the SIMT model counts with them, `warpsight access` draws them.
 * Pure: no allocation, no I/O. */
#ifndef WS_ANALYZER_ACCESS_H
#define WS_ANALYZER_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#define WS_ACCESS_LANES 32
#define WS_ACCESS_SECTOR_BYTES 32
#define WS_ACCESS_LINE_BYTES 128
#define WS_ACCESS_BANKS 32

/* The rules of a compute capability (access_rules.def). */
enum ws_rules_origin { WS_RULES_MEASURED, WS_RULES_DOCUMENTED, WS_RULES_ASSUMED };
struct ws_access_rules {
    uint32_t first, last; /* compute capability times 10 */
    uint32_t sector_bytes, line_bytes, banks, bank_bytes;
    enum ws_rules_origin origin;
    const char *note, *source;
};
/* NULL: unknown compute capability. */
const struct ws_access_rules *ws_access_rules(uint32_t cc_major, uint32_t cc_minor);
/* "measured", "documented", "assumed". */
const char *ws_access_origin_name(enum ws_rules_origin origin);

/* One request to global or local memory. */
struct ws_sectors {
    uint32_t lanes;   /* active */
    uint32_t sectors; /* distinct 32-byte pieces over the active lanes */
    uint32_t ideal;   /* ceil(distinct bytes / 32): what the same bytes would need side by side */
    uint32_t lines;   /* distinct 128-byte pieces: tag look-ups */
    uint32_t bytes;   /* distinct bytes asked for */
};

/* Sectors of one request.
 *   addr   [32] bytes, aligned to bytes; read where mask has the lane's bit
 *   bytes  1, 2, 4, 8 or 16 per lane
 *   source CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory"; equal to
 *          l1tex__t_sectors_pipe_lsu_mem_global_op_{ld,st} on an H200 for 27 launches of 4 and 8 bytes */
void ws_access_sectors(const uint64_t addr[WS_ACCESS_LANES], uint32_t mask, uint32_t bytes, struct ws_sectors *out);

/* One request to shared memory. */
struct ws_banks {
    uint32_t lanes;
    uint32_t wavefronts; /* passes: per part of the warp, the most distinct words in one bank */
    uint32_t ideal;      /* passes that this width needs without any conflict */
};

/* Wavefronts of one request; 32 banks of 4 bytes.
 *   loads    4 bytes and less: the warp at once; 8 bytes: half warps; 16 bytes: quarter warps. Two parts join into
 *            one pass when in both all active lane pairs (n, n^1), or all (n, n^2), or (16 bytes) all (n, n^4) have
 *            equal addresses, and the two together need no second pass
 *   stores   the same parts, which never join; so do the rows of ldmatrix
 *   atomics  lanes that meet in a bank follow each other, at one address too; compare-and-swap takes two passes
 *   source   CUDA C++ Programming Guide, "Shared Memory"; NVIDIA forum 77228 for the pairs; what this says beyond
 *            them is as an H200 counts (tests/gpu/results, calibrate) */
enum ws_access_op { WS_ACCESS_LOAD, WS_ACCESS_STORE, WS_ACCESS_ATOMIC, WS_ACCESS_SWAP };
void ws_access_banks(const uint64_t addr[WS_ACCESS_LANES], uint32_t mask, uint32_t bytes, enum ws_access_op op,
                     struct ws_banks *out);

/* How many lanes of the most contended address an atomic instruction has to serve one after another. */
uint32_t ws_access_same_address(const uint64_t addr[WS_ACCESS_LANES], uint32_t mask);

/* A regular access pattern: thread t of the block (x fastest) touches
 * base + ((offset + x * stride) * width) + y * pitch + z * plane, bytes. */
struct ws_pattern {
    uint32_t width;   /* bytes per lane: 1, 2, 4, 8, 16 */
    int64_t stride;   /* elements between neighbours in x */
    int64_t offset;   /* elements */
    uint32_t block_x; /* threads */
    uint32_t block_y;
    uint32_t block_z;
    int64_t pitch;      /* bytes between rows (y) */
    int64_t plane;      /* bytes between planes (z) */
    bool is_transposed; /* x steps by pitch and y by stride*width */
};

/* Addresses of warp `warp` of the block; returns the mask of lanes that exist (0: no such warp). Lane addresses
 * are relative to a base that is a multiple of 128 and far from 0, so that negative strides stay positive. */
#define WS_ACCESS_BASE (1ull << 40)
uint32_t ws_access_lanes(const struct ws_pattern *pattern, uint32_t warp, uint64_t addr[WS_ACCESS_LANES]);

/* Totals over all warps of one block, and the smallest pitch padding [bytes, multiple of width, ≤ 128] that
 * gives the fewest shared wavefronts. */
struct ws_access_report {
    uint32_t warps;
    uint64_t lanes, bytes;
    uint64_t used_bytes; /* distinct within each request */
    uint64_t sectors, ideal_sectors, lines;
    uint64_t wavefronts, ideal_wavefronts; /* of loads */
    uint64_t store_wavefronts;
    uint32_t padding;
    uint64_t padded_wavefronts;
};

/* errors -WS_EINVAL: width not 1, 2, 4, 8, 16; block of 0 or more than 1024 threads; pitch or plane no multiple of
 * the width (a GPU faults on misaligned lanes), or too far; *out untouched */
int ws_access_report(const struct ws_pattern *pattern, struct ws_access_report *out);

#endif
