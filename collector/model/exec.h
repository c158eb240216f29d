/* SPDX-License-Identifier: MIT
 * exec.h: the state that handlers work on: warp, block context, statistics rows, faults.
 * exec_body.h holds the handlers and is compiled once per instruction set (exec_base.c, exec_v3.c,
 * exec_v4.c); launch.c schedules warps and blocks. */
#ifndef WS_COLLECTOR_MODEL_EXEC_H
#define WS_COLLECTOR_MODEL_EXEC_H

#include "code.h"
#include "memory.h"

#include <pthread.h>

/* Generic addresses of shared and local memory: far outside any address a process can have. */
#define WINDOW_SHARED (1ull << 56)
#define WINDOW_LOCAL (2ull << 56)
#define WINDOW_SHIFT 56

/* What one request of the last pattern looks like; the usual two have closed forms. */
enum mem_shape {
    SHAPE_OTHER,
    SHAPE_GROUPS, /* each 8 lanes are side by side or at one address: a tile of a narrow block */
    SHAPE_STEP,   /* the same distance from lane to lane; from here on a check needs no table */
    SHAPE_ROW,    /* lanes side by side */
    SHAPE_SAME,   /* all lanes one address */
};
#define GROUP_LANES 8

#define MEM_COUNTS_N 10

union mem_counts {
    struct {
        uint64_t requests; /* executions with at least one active lane */
        uint64_t lanes;
        uint64_t sectors, ideal, lines;
        uint64_t wavefronts, wavefronts_ideal;
        uint64_t bytes;        /* lanes * width */
        uint64_t used_bytes;   /* global: what several lanes ask for counts once */
        uint64_t same_address; /* atomics: sum over requests of the most contended address's lanes */
    };
    uint64_t all[MEM_COUNTS_N];
};

/* Statistics of one memory instruction, and what its next execution may reuse. */
struct mem_row {
    union mem_counts sum;
    uint64_t lo, hi;                 /* the allocation hit last: a bounds check is two compares */
    uint64_t defined_lo, defined_hi; /* the same for checks of uninitialised reads, with its map of written bytes */
    uint8_t *defined;
    /* The last pattern: distances of the lanes from the first active one, and what a request of it adds to the counts.
     * Most instructions repeat theirs, or shift it as a whole. */
    uint32_t pattern_mask; /* 0: none */
    uint32_t pattern_phase;
    uint32_t pattern_low;  /* all distances or-ed: alignment */
    uint32_t group_rows;   /* SHAPE_GROUPS: bit k: group k is a row */
    enum mem_shape shape;  /* of a full warp */
    uint64_t step;         /* SHAPE_STEP, _ROW, _SAME: from lane to lane */
    int64_t pattern_least; /* the smallest distance */
    uint64_t pattern_span; /* bytes from there to the end of the last access */
    uint64_t last_first;   /* where it began: how far it moves each time */
    union mem_counts one;  /* what a request of it adds */
    uint64_t repeated;     /* requests of it that sum has not yet: exec_settle() */
    int64_t pattern[32];
    uint32_t pattern_32[32]; /* the same for addresses of 32 bits */
};

struct guard_row {
    uint64_t runs; /* with at least one lane */
    uint64_t lanes;
};

struct block_row {
    uint64_t runs;
    uint64_t lanes;
    uint64_t diverged; /* branches that split the warp */
};

enum fault_kind {
    FAULT_NONE,
    FAULT_BOUNDS,
    FAULT_ALIGN,
    FAULT_TRAP,
    FAULT_BARRIER,
    FAULT_HANG, /* a barrier that never completes */
    FAULT_UNINIT,
    FAULT_RACE,      /* between warps: a barrier is missing */
    FAULT_RACE_WARP, /* within a warp: __syncwarp is missing */
    FAULT_ASSERT,
    FAULT_CALL,  /* of an address that is no function of this form */
    FAULT_STACK, /* calls nested too deeply */
    FAULT_FREE,
    FAULT_TEXTURE, /* no object of the form that the instruction is for */
    FAULT_SURFACE, /* outside of it */
    FAULT_KIND_COUNT
};
enum hazard_kind { HAZARD_READ_AFTER_WRITE, HAZARD_WRITE_AFTER_READ, HAZARD_WRITE_TWICE };

/* exec_ctx.checks: bits of enum ws_model_check (model.h) that cost something */
#define CHECK_UNINIT 8u
#define CHECK_RACES 16u

struct fault {
    enum fault_kind kind;
    const struct code_ins *ins;
    uint64_t address;
    uint32_t block[3];
    uint32_t thread[3];
    uint64_t count; /* how often at this instruction */
    enum hazard_kind hazard;
    bool has_other; /* races: one other thread is known */
    uint32_t other; /* its number in the block */
};
#define FAULTS_MAX 16

/* Special registers of a block: ctaid, clusterid, cluster_ctaid, cluster_ctarank. */
#define BLOCK_REGS_MAX 10

/* One worker: runs blocks one after another. */
struct exec_ctx {
    const struct code *code;
    struct memory *memory;
    uint8_t *shared;
    uint64_t shared_bytes;
    const uint8_t *params;
    uint32_t grid[3], block[3];
    uint32_t ctaid[3];
    uint32_t dynamic_smem;
    uint32_t warps_n;
    struct warp *warps;           /* [warps_n] */
    struct block_row *block_rows; /* [code->blocks_n] */
    struct mem_row *mem_rows;     /* [code->stats_n] */
    struct guard_row *guard_rows; /* [code->guarded_n] */
    struct fault faults[FAULTS_MAX];
    uint32_t faults_n;
    pthread_mutex_t *atomic_lock; /* NULL with one worker */
    uint64_t budget;              /* warp instructions left until the watch looks again (launch.c) */
    uint64_t budget_left;         /* and after that */
    struct watch *watch;
    unsigned stop; /* enum ws_model_stop */
    bool is_first; /* the worker that tells how far it is */
    void (*print)(void *state, bool is_assert, const char *text,
                  size_t bytes); /* what kernels print; NULL = it is dropped */
    void *print_state;
    uint64_t barriers; /* warp arrivals */
    uint64_t clock;
    uint32_t arrived[16];                /* bar.arrive of warps that did not wait, per barrier of the block */
    uint32_t block_regs[BLOCK_REGS_MAX]; /* special registers that differ from block to block */
    uint32_t block_regs_n;
    uint64_t workspace;     /* of a cooperative launch's grid, 0 = none */
    uint64_t given_back;    /* of the budget, by warps that wait for others */
    bool yields;            /* the warp that runs waits for others: let them run */
    uint32_t cluster[3];    /* blocks of a cluster, 1 without */
    struct team *team;      /* blocks that are resident together; NULL: this one alone */
    struct exec_ctx *peers; /* [cluster blocks] of this block's cluster, by rank; NULL: none */
    uint32_t *phase;        /* of the cluster's barrier */
    bool has_ended;         /* in a team */
    uint64_t blocks_run;
    uint64_t blocks_untold; /* of those: the watch has not counted them yet */
    uint64_t faults_lost;   /* kinds that found no room in faults */
    /* exec_check.h */
    uint32_t checks;
    uint32_t epoch, first_epoch;         /* interval between barriers now, and the block's first */
    uint32_t granule;                    /* bytes of shared memory per cell */
    uint64_t *cell_writer, *cell_reader; /* [shared_bytes / granule + 1] stamps */
    uint8_t *register_files, *local_memory;
};

/* Blocks that take turns because they may wait for each other: those of a cluster, all of a cooperative launch. */
struct team {
    struct exec_ctx *members; /* [n], cluster by cluster */
    uint32_t n, cluster_n;
    uint32_t *phases; /* [n / cluster_n] */
    uint64_t budget, budget_left;
};

struct stack_entry {
    uint32_t block, join, mask;
};
/* Each level of nesting splits a mask of at most 32 lanes, and leaves at most two entries. */
#define STACK_MAX 72

enum warp_state { WARP_READY, WARP_WAITS, WARP_IN_CLUSTER, WARP_DONE };

/* A call that has not returned. */
struct call_frame {
    uint32_t block, join, mask; /* where it goes on, and which lanes called */
    uint32_t depth;             /* of the divergence stack */
    uint32_t frame, function;   /* of the caller */
    uint32_t call;              /* of code->calls */
    uint8_t *saved;             /* [code->saved_bytes] the caller's registers */
};

struct warp {
    uint8_t *regs; /* code->file_bytes, 64-byte aligned */
    uint32_t mask; /* lanes that execute now */
    uint32_t live; /* lanes that have not ended */
    uint32_t block, join;
    uint32_t depth;
    uint32_t carry; /* one bit per lane: add.cc and friends */
    uint32_t syncs; /* __syncwarp executed */
    uint32_t index; /* warp of the block */
    enum warp_state state;
    uint32_t barrier_id, barrier_threads; /* while it waits */
    const struct code_ins *waits_at;
    const struct code_ins *reduction; /* bar.red that waits for its result */
    uint32_t reduction_bits;
    uint8_t *local;    /* 32 * code_local(), lane after lane */
    uint32_t frame;    /* of local memory: where the function that runs has its own */
    uint32_t function; /* of code->functions; CODE_NONE: the kernel */
    struct call_frame *calls;
    uint32_t calls_n, calls_cap;
    uint32_t cluster_lanes; /* that arrived at the cluster's barrier */
    uint32_t cluster_phase; /* of that barrier then */
    struct exec_ctx *ctx;
    struct stack_entry stack[STACK_MAX];
};

/* Requests that repeated the last pattern go into the sum: before it is read, and before the pattern changes. */
static inline void exec_settle(struct mem_row *row)
{
    for (int k = 0; k < MEM_COUNTS_N; k++)
        row->sum.all[k] += row->repeated * row->one.all[k];
    row->repeated = 0;
}

/* Handlers by operation for the best instruction set this machine has (name: "v4", "v3", "base"), or for the one
 * asked for; NULL when this build or machine lacks it. */
const exec_fn *exec_table(const char *name);
const char *exec_best(void);

/* Tables of the three builds; NULL entries do not exist. */
extern const exec_fn exec_table_base[OP_COUNT];
#ifdef __x86_64__
extern const exec_fn exec_table_v3[OP_COUNT];
extern const exec_fn exec_table_v4[OP_COUNT];
#endif

/* printf and failed assertions of the active lanes (print.c). Where the arguments lie: code->copies from imm on. */
enum exec_print_kind { PRINT_TEXT, PRINT_ASSERT };
void exec_print(struct warp *w, const struct code_ins *i);

/* malloc and free of the active lanes (heap.c). */
void exec_heap(struct warp *w, const struct code_ins *i);

/* Texture and surface instructions of the active lanes (texture.c). */
void exec_texture(struct warp *w, const struct code_ins *i);
void exec_surface(struct warp *w, const struct code_ins *i);

/* The warp waits for another one (launch.c): it stops at the end of its block of instructions. */
void exec_yield(struct warp *w);

/* Note a fault of one lane (launch.c). Returns it when it is the first of its kind at this instruction, or the first
 * in the order of blocks; else NULL. */
struct fault *exec_fault(struct warp *w, const struct code_ins *i, enum fault_kind kind, uint32_t lane,
                         uint64_t address);

#endif
