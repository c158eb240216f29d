/* SPDX-License-Identifier: MIT
 * select.h: which launches get counters: signature table, name filter, skip, count, every, passes.
 * Pure: no CUDA, no I/O, no clock; memory is given by the caller, who also serialises the calls.
 * A signature is one 64-bit hash of kernel name, grid, block and dynamic shared memory: among 16,384
 * signatures the chance that any two collide is below 1e-11. */
#ifndef WS_COLLECTOR_SELECT_H
#define WS_COLLECTOR_SELECT_H

#include "budget.h"
#include "settings.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_SELECT_SLOTS 32768u /* hash slots; at most half are used */
#define WS_SELECT_PASSES_MAX 64u
/* Launches that a signature may spend on one round of P passes: where replays come between, a pass may come twice. */
#define WS_SELECT_ROUND_MAX(P) (2 * (P) + 2)

struct ws_signature {
    uint64_t hash;         /* 0 = free */
    uint64_t launches;     /* seen */
    uint64_t matched_from; /* matching launches of any signature before its first */
    uint64_t pass_mask;    /* rotate: passes it has had since it was last complete */
    int64_t not_before_ns; /* the budget has no room for it until then */
    uint32_t waited;       /* rotate: launches let pass because the wrong pass was up */
    uint16_t taken;        /* rotate: launches of this round */
    uint8_t mode;          /* enum ws_mode: how it is counted; what is not decided yet counts as replay */
    uint8_t told;          /* 1 + mode + WS_MODE_COUNT * reason of the last decision that was told; 0 = none */
    bool is_match;         /* the name filter's verdict, asked once */
    bool is_collective;    /* by its name */
    bool is_refused;       /* the budget had no room for it, and that was told */
    bool is_claimed;       /* a thread is about to profile it: the others let theirs pass */
    bool is_complete;      /* has had all its passes at least once */
};

struct ws_select {
    /* set by the caller before the first call */
    uint64_t skip;           /* matching launches to let pass first */
    uint64_t count;          /* launches that get counters at most, 0 = no limit */
    uint64_t every;          /* each Nth launch of a signature; 0 = the first only */
    uint32_t passes;         /* rotate: passes of the set, 1…WS_SELECT_PASSES_MAX; replay: 1 */
    enum ws_mode first_mode; /* of a signature that is new */
    /* text of a name for WS_NAME_DEMANGLED, or NULL; see ws_select_filter() */
    bool (*demangle)(const char *mangled, char *out, size_t size);
    struct ws_signature *table; /* [WS_SELECT_SLOTS], zeroed */
    /* its own */
    const char *exact;
    regex_t regex;
    bool has_regex;
    enum ws_name_base base;
    uint32_t used;
    uint64_t matched;
    uint64_t profiled;
};

struct ws_launch_key {
    const char *name; /* mangled */
    uint32_t grid[3], block[3];
    uint32_t dynamic_smem_bytes;
};

/* Set the name filter: "" = every kernel, "regex:RE" = POSIX extended, matches a part; else exact, but for blanks: with
 * WS_NAME_FUNCTION the function's name with or without template arguments, the mangled name, its hash (name_hash.h), or
 * a demangled name, of which the function counts.
 * `text` must live as long as the select. -WS_ESYNTAX for a bad expression. */
int ws_select_filter(struct ws_select *select, const char *text, enum ws_name_base base);

/* Account for one launch and decide. `pass` is the counter's present pass (rotate), else 0; now_ns
 * is what not_before_ns is held against.
 * *ordinal = launches of this signature before. NULL = no room for a new signature.
 * *profile tells whether to profile: then the signature is claimed until ws_select_done() says that
 * it got counters or ws_select_release() that it did not. */
struct ws_signature *ws_select_next(struct ws_select *select, const struct ws_launch_key *key, uint32_t pass,
                                    int64_t now_ns, bool *profile, uint64_t *ordinal);
void ws_select_done(struct ws_select *select, struct ws_signature *signature, uint32_t pass);
void ws_select_release(struct ws_signature *signature);

/* Whether a kernel waits for other GPUs, by its name: NCCL's and NVSHMEM's. */
bool ws_select_is_collective(const char *mangled);

/* The function's own name in an Itanium-mangled symbol, with its template arguments when they are
 * plain numbers: _Z14transpose_tileILi32EEvPfPKfi → base "transpose_tile", alias "transpose_tile<32>".
 * Anything it cannot parse gives the text itself. Both end with NUL, cut at size. */
void ws_select_names(const char *mangled, char *base, char *alias, size_t size);

#endif
