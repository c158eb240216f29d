/* SPDX-License-Identifier: MIT
 * launch.c: warps and their divergence stacks, barriers, blocks, contexts.
 * A warp runs until a barrier or its end, then the next one; one that waits for others without a barrier gives way.
 * Blocks of a cluster, and all blocks of a cooperative launch, take turns the same way. Calls are call.c, workers are
 * crew.c, what a result looks like is result.c. */
#include "launch.h"

#include "call.h"
#include "check.h"
#include "crew.h"

#include "../../analyzer/err.h"

#include <stdlib.h>
#include <string.h>

#define BARRIERS 16u

/* --- faults --- */

static uint64_t block_number(const struct exec_ctx *ctx, const uint32_t block[3])
{
    return ((uint64_t)block[2] * ctx->grid[1] + block[1]) * ctx->grid[0] + block[0];
}

/* The place of a kind of fault at an instruction, new or known; NULL: no room. */
static struct fault *fault_place(struct exec_ctx *ctx, const struct code_ins *i, enum fault_kind kind)
{
    for (uint32_t k = 0; k < ctx->faults_n; k++)
        if (ctx->faults[k].ins == i && ctx->faults[k].kind == kind)
            return &ctx->faults[k];
    if (ctx->faults_n == FAULTS_MAX) {
        ctx->faults_lost++;
        return NULL;
    }
    ctx->faults[ctx->faults_n] = (struct fault){.kind = kind, .ins = i};
    return &ctx->faults[ctx->faults_n++];
}

struct fault *exec_fault(struct warp *w, const struct code_ins *i, enum fault_kind kind, uint32_t lane,
                         uint64_t address)
{
    struct exec_ctx *ctx = w->ctx;
    struct fault *f = fault_place(ctx, i, kind);
    uint32_t t = w->index * 32 + lane;
    if (kind == FAULT_TRAP || kind == FAULT_ASSERT || kind == FAULT_CALL || kind == FAULT_STACK)
        watch_stop(ctx, WS_MODEL_STOP_FAULT);
    if (!f)
        return NULL;
    f->count++;
    if (f->count > 1 && block_number(ctx, f->block) <= block_number(ctx, ctx->ctaid))
        return NULL;
    f->address = address;
    memcpy(f->block, ctx->ctaid, sizeof f->block);
    f->thread[0] = t % ctx->block[0];
    f->thread[1] = t / ctx->block[0] % ctx->block[1];
    f->thread[2] = t / (ctx->block[0] * ctx->block[1]);
    return f;
}

void launch_merge_faults(struct exec_ctx *sum, const struct exec_ctx *one)
{
    for (uint32_t k = 0; k < one->faults_n; k++) {
        const struct fault *from = &one->faults[k];
        struct fault *to = fault_place(sum, from->ins, from->kind);
        uint64_t count = to ? to->count : 0;
        if (!to)
            continue;
        if (count == 0 || block_number(sum, from->block) < block_number(sum, to->block))
            *to = *from;
        to->count = count + from->count;
    }
    sum->faults_lost += one->faults_lost;
}

/* --- divergence --- */

static bool pop(struct warp *w)
{
    w->mask = 0;
    do {
        while (w->depth > call_depth(w)) {
            struct stack_entry e = w->stack[--w->depth];
            w->block = e.block;
            w->join = e.join;
            w->mask = e.mask & w->live;
            if (w->mask)
                return true;
        }
    } while (w->calls_n > 0 && !call_return(w));
    return w->mask != 0;
}

static void push(struct warp *w, uint32_t block, uint32_t join, uint32_t mask)
{
    w->stack[w->depth++] = (struct stack_entry){block, join, mask};
}

/* Lanes part: `taken` go to the target, the others on. They meet at the block's join; when the running entry
 * already ends there, it is replaced, so that a loop whose lanes leave one by one needs no depth. */
static void diverge(struct warp *w, const struct code_block *b, uint32_t taken)
{
    uint32_t others = w->mask & ~taken;
    if (b->join != w->join && b->join != CODE_NONE)
        push(w, b->join, w->join, w->mask);
    w->join = b->join;
    if (b->target == b->join) {
        w->block = b->next;
        w->mask = others;
        return;
    }
    if (b->next != b->join)
        push(w, b->next, b->join, others);
    w->block = b->target;
    w->mask = taken;
}

static void branch(struct warp *w, const struct code_block *b, struct block_row *row)
{
    uint32_t taken = w->mask;
    if (b->guard != CODE_NONE)
        taken &= *(const uint32_t *)(const void *)(w->regs + b->guard) ^ (b->is_guard_negated ? UINT32_MAX : 0);
    if (taken == w->mask) {
        w->block = b->target;
    } else if (taken == 0) {
        w->block = b->next;
    } else {
        row->diverged++;
        diverge(w, b, taken);
    }
}

static void leave(struct warp *w, const struct code_block *b)
{
    uint32_t lanes = w->mask;
    if (b->guard != CODE_NONE)
        lanes &= *(const uint32_t *)(const void *)(w->regs + b->guard) ^ (b->is_guard_negated ? UINT32_MAX : 0);
    w->live &= ~lanes;
    w->mask &= ~lanes;
    w->block = b->next;
}

static uint32_t first_lane_value(const struct warp *w, uint32_t offset)
{
    return ((const uint32_t *)(const void *)(w->regs + offset))[__builtin_ctz(w->mask)];
}

/* Returns whether the warp has to wait. */
static bool arrive(struct warp *w, const struct code_block *b)
{
    const struct code_ins *i = &w->ctx->code->ins[b->ending];
    uint32_t id = first_lane_value(w, i->s[0]) % BARRIERS;
    w->ctx->barriers++;
    w->block = b->next;
    if (w->mask != w->live)
        exec_fault(w, i, FAULT_BARRIER, (uint32_t)__builtin_ctz(w->mask), 0);
    if (i->type2 == 1) { /* bar.arrive */
        w->ctx->arrived[id]++;
        return false;
    }
    w->barrier_id = id;
    w->barrier_threads = i->s[1] == CODE_NONE ? 0 : first_lane_value(w, i->s[1]);
    w->reduction = NULL;
    if (i->type2 == 2) {
        uint32_t p = *(const uint32_t *)(const void *)(w->regs + i->s[2]);
        w->reduction = i;
        w->reduction_bits = (i->flags & CODE_NEGATE_C ? ~p : p) & w->mask;
    }
    w->waits_at = i;
    w->state = WARP_WAITS;
    return true;
}

/* barrier.cluster.wait: has everybody arrived since this warp did? If not, it waits. */
static bool waits_for_cluster(struct warp *w, const struct code_block *b)
{
    struct exec_ctx *ctx = w->ctx;
    ctx->barriers++;
    w->block = b->next;
    if (!ctx->phase || w->cluster_phase != *ctx->phase)
        return false;
    w->waits_at = &ctx->code->ins[b->ending];
    w->state = WARP_IN_CLUSTER;
    return true;
}

void exec_yield(struct warp *w)
{
    struct exec_ctx *ctx = w->ctx;
    if (ctx->warps_n == 1 && !ctx->team)
        return;
    ctx->given_back += ctx->budget;
    ctx->budget = 0;
    ctx->yields = true;
}

/* The slice of instructions is used up, or the warp waits for another one. May it go on? If not, and it has not ended,
 * it is ready still. refills: slices that it has used without a break; one that has used two lets others run. */
static bool goes_on(struct warp *w, uint32_t needed, uint32_t *refills)
{
    struct exec_ctx *ctx = w->ctx;
    bool yields = ctx->yields;
    ctx->yields = false;
    if (!watch_allows(ctx, needed)) {
        w->state = WARP_DONE;
        return false;
    }
    return !yields && ++*refills <= 2;
}

static void run_warp(struct warp *w)
{
    struct exec_ctx *ctx = w->ctx;
    uint32_t refills = 0;
    const struct code_block *blocks = ctx->code->blocks;
    const struct code_ins *run = ctx->code->run;
    for (;;) {
        const struct code_block *b;
        struct block_row *row;
        if (w->mask == 0 || w->block == w->join || w->block == CODE_NONE) {
            if (w->block == CODE_NONE)
                w->live &= ~w->mask;
            if (pop(w))
                continue;
            w->state = WARP_DONE;
            return;
        }
        b = &blocks[w->block];
        row = &ctx->block_rows[w->block];
        if (w->depth + 3 > STACK_MAX)
            watch_stop(ctx, WS_MODEL_STOP_FAULT);
        if (ctx->budget < b->counted && !goes_on(w, b->counted, &refills))
            return;
        ctx->budget -= b->counted;
        row->runs++;
        row->lanes += (uint32_t)__builtin_popcount(w->mask);
        for (const struct code_ins *i = run + b->run_first, *end = run + b->run_end; i < end; i++)
            i->fn(w, i);
        switch (b->kind) {
        case END_BRANCH:
            branch(w, b, row);
            break;
        case END_EXIT:
            leave(w, b);
            break;
        case END_BARRIER:
            if (arrive(w, b))
                return;
            break;
        case END_CALL:
            row->diverged += call_enter(w, b);
            break;
        case END_RETURN:
            call_leave(w, b);
            break;
        case END_CLUSTER:
            if (waits_for_cluster(w, b))
                return;
            break;
        default:
            w->block = b->next;
        }
    }
}

/* --- barriers --- */

static void give_reduction(struct exec_ctx *ctx, uint32_t id)
{
    uint32_t ones = 0, all = 0;
    for (uint32_t k = 0; k < ctx->warps_n; k++) {
        const struct warp *w = &ctx->warps[k];
        if (w->state == WARP_WAITS && w->barrier_id == id && w->reduction) {
            ones += (uint32_t)__builtin_popcount(w->reduction_bits);
            all += (uint32_t)__builtin_popcount(w->mask);
        }
    }
    for (uint32_t k = 0; k < ctx->warps_n; k++) {
        struct warp *w = &ctx->warps[k];
        const struct code_ins *i = w->reduction;
        uint32_t *d;
        if (w->state != WARP_WAITS || w->barrier_id != id || !i)
            continue;
        d = (uint32_t *)(void *)(w->regs + i->d[0]);
        if (i->boolean != 0) {
            bool yes = i->boolean == 1 ? ones == all : ones > 0;
            *d = (*d & ~w->mask) | (yes ? w->mask : 0);
        } else {
            for (int l = 0; l < 32; l++)
                if (w->mask >> l & 1)
                    d[l] = ones;
        }
    }
}

/* No warp can run: let those go whose barrier is complete. False: none is, the block hangs. */
static bool release(struct exec_ctx *ctx)
{
    uint32_t waiting[BARRIERS] = {0}, threads[BARRIERS] = {0}, live = 0;
    bool any = false;
    for (uint32_t k = 0; k < ctx->warps_n; k++) {
        const struct warp *w = &ctx->warps[k];
        live += w->state != WARP_DONE;
        if (w->state != WARP_WAITS)
            continue;
        waiting[w->barrier_id]++;
        threads[w->barrier_id] = w->barrier_threads;
    }
    for (uint32_t id = 0; id < BARRIERS; id++) {
        uint32_t needed = threads[id] ? (threads[id] + 31) / 32 : live;
        if (waiting[id] == 0 || waiting[id] + ctx->arrived[id] < needed)
            continue;
        ctx->arrived[id] -= waiting[id] >= needed ? 0 : needed - waiting[id];
        give_reduction(ctx, id);
        for (uint32_t k = 0; k < ctx->warps_n; k++)
            if (ctx->warps[k].state == WARP_WAITS && ctx->warps[k].barrier_id == id)
                ctx->warps[k].state = WARP_READY;
        any = true;
    }
    return any;
}

/* --- blocks --- */

static void fill_lanes(struct warp *w, const struct code_reg *r, uint64_t value)
{
    if (r->bytes == 8) {
        uint64_t *p = (uint64_t *)(void *)(w->regs + r->offset);
        for (int l = 0; l < 32; l++)
            p[l] = value;
    } else {
        uint32_t *p = (uint32_t *)(void *)(w->regs + r->offset);
        for (int l = 0; l < 32; l++)
            p[l] = (uint32_t)value;
    }
}

static uint32_t thread_special(const struct exec_ctx *ctx, uint8_t special, uint32_t t)
{
    uint32_t lane = t % 32;
    switch (special) {
    case SR_TID_X:
        return t % ctx->block[0];
    case SR_TID_Y:
        return t / ctx->block[0] % ctx->block[1];
    case SR_TID_Z:
        return t / (ctx->block[0] * ctx->block[1]);
    case SR_NTID_X:
    case SR_NTID_Y:
    case SR_NTID_Z:
        return ctx->block[special - SR_NTID_X];
    case SR_NCTAID_X:
    case SR_NCTAID_Y:
    case SR_NCTAID_Z:
        return ctx->grid[special - SR_NCTAID_X];
    case SR_LANEID:
        return lane;
    case SR_WARPID:
        return t / 32;
    case SR_NWARPID:
        return ctx->warps_n;
    case SR_ENVREG1:
        return (uint32_t)(ctx->workspace >> 32);
    case SR_ENVREG2:
        return (uint32_t)ctx->workspace;
    case SR_RESERVED_BEGIN:
        return (uint32_t)ctx->shared_bytes - RESERVED_SMEM;
    case SR_RESERVED_END:
        return (uint32_t)ctx->shared_bytes;
    case SR_RESERVED_CAP:
        return RESERVED_SMEM;
    case SR_NCLUSTERID_X:
    case SR_NCLUSTERID_Y:
    case SR_NCLUSTERID_Z:
        return ctx->grid[special - SR_NCLUSTERID_X] / ctx->cluster[special - SR_NCLUSTERID_X];
    case SR_CLUSTER_NCTAID_X:
    case SR_CLUSTER_NCTAID_Y:
    case SR_CLUSTER_NCTAID_Z:
        return ctx->cluster[special - SR_CLUSTER_NCTAID_X];
    case SR_CLUSTER_NCTARANK:
        return ctx->cluster[0] * ctx->cluster[1] * ctx->cluster[2];
    case SR_NSMID:
    case SR_ONE:
        return 1;
    case SR_LANEMASK_EQ:
        return 1u << lane;
    case SR_LANEMASK_LT:
        return (1u << lane) - 1;
    case SR_LANEMASK_LE:
        return (2u << lane) - 1;
    case SR_LANEMASK_GE:
        return 0u - (1u << lane);
    case SR_LANEMASK_GT:
        return 0u - (2u << lane);
    case SR_DYNAMIC_SMEM:
        return ctx->dynamic_smem;
    case SR_TOTAL_SMEM:
        return (uint32_t)ctx->shared_bytes - (ctx->code->uses_reserved_smem ? RESERVED_SMEM : 0);
    default:
        return 0;
    }
}

static uint32_t block_special(const struct exec_ctx *ctx, uint8_t special)
{
    const uint32_t *at = ctx->ctaid, *c = ctx->cluster;
    switch (special) {
    case SR_CTAID_X:
    case SR_CTAID_Y:
    case SR_CTAID_Z:
        return at[special - SR_CTAID_X];
    case SR_CLUSTERID_X:
    case SR_CLUSTERID_Y:
    case SR_CLUSTERID_Z:
        return at[special - SR_CLUSTERID_X] / c[special - SR_CLUSTERID_X];
    case SR_CLUSTER_CTAID_X:
    case SR_CLUSTER_CTAID_Y:
    case SR_CLUSTER_CTAID_Z:
        return at[special - SR_CLUSTER_CTAID_X] % c[special - SR_CLUSTER_CTAID_X];
    default:
        return at[0] % c[0] + c[0] * (at[1] % c[1] + c[1] * (at[2] % c[2]));
    }
}

/* Constants, what never changes for a warp of this launch, and what follows from them. */
static void prepare_warp(struct warp *w)
{
    const struct code *c = w->ctx->code;
    for (uint32_t r = 0; r < c->regs_n; r++) {
        const struct code_reg *reg = &c->regs[r];
        uint32_t *p = (uint32_t *)(void *)(w->regs + reg->offset);
        if (reg->kind == REG_CONSTANT)
            fill_lanes(w, reg, reg->value);
        else if (reg->kind == REG_SPECIAL)
            for (uint32_t l = 0; l < 32; l++)
                p[l] = thread_special(w->ctx, reg->special, w->index * 32 + l);
    }
    w->mask = UINT32_MAX;
    for (uint32_t k = 0; k < c->once_n; k++)
        c->ins[c->once[k]].fn(w, &c->ins[c->once[k]]);
}

static void start_block(struct exec_ctx *ctx, uint64_t number)
{
    const struct code *c = ctx->code;
    uint32_t threads = ctx->block[0] * ctx->block[1] * ctx->block[2];
    ctx->ctaid[0] = (uint32_t)(number % ctx->grid[0]);
    ctx->ctaid[1] = (uint32_t)(number / ctx->grid[0] % ctx->grid[1]);
    ctx->ctaid[2] = (uint32_t)(number / ((uint64_t)ctx->grid[0] * ctx->grid[1]));
    memset(ctx->arrived, 0, sizeof ctx->arrived);
    check_next_block(ctx);
    if (ctx->shared_bytes)
        memset(ctx->shared, 0, ctx->shared_bytes);
    for (uint32_t k = 0; k < ctx->warps_n; k++) {
        struct warp *w = &ctx->warps[k];
        uint32_t lanes = threads - k * 32;
        w->live = w->mask = lanes >= 32 ? UINT32_MAX : (1u << lanes) - 1;
        w->block = 0;
        w->join = CODE_NONE;
        w->depth = 0;
        w->state = WARP_READY;
        w->reduction = NULL;
        w->calls_n = 0;
        w->frame = 0;
        w->function = CODE_NONE;
        w->cluster_lanes = 0;
        for (uint32_t n = 0; n < ctx->block_regs_n; n++) {
            const struct code_reg *r = &c->regs[ctx->block_regs[n]];
            fill_lanes(w, r, block_special(ctx, r->special));
        }
    }
}

/* The first warp that waits is shown. */
static void report_hang(struct exec_ctx *ctx)
{
    for (uint32_t k = 0; k < ctx->warps_n; k++) {
        struct warp *w = &ctx->warps[k];
        if (w->state != WARP_WAITS && w->state != WARP_IN_CLUSTER)
            continue;
        exec_fault(w, w->waits_at, FAULT_HANG, (uint32_t)__builtin_ctz(w->mask), 0);
        return;
    }
}

enum block_state {
    BLOCK_GIVES_WAY, /* a warp waits for another one without a barrier */
    BLOCK_WAITS,     /* nothing can run but what others may wake: the end, in a block that is alone */
    BLOCK_ENDS,
};

/* Run the block until it ends or depends on others. *moved: something ran. */
static enum block_state step_block(struct exec_ctx *ctx, bool *moved)
{
    for (;;) {
        bool done = true, gives_way = false;
        for (uint32_t k = 0; k < ctx->warps_n; k++) {
            struct warp *w = &ctx->warps[k];
            *moved |= w->state == WARP_READY;
            if (w->state == WARP_READY)
                run_warp(w);
            done &= w->state == WARP_DONE;
            gives_way |= w->state == WARP_READY;
        }
        if (done || ctx->stop)
            return BLOCK_ENDS;
        if (release(ctx)) {
            check_next_interval(ctx);
            continue;
        }
        return gives_way ? BLOCK_GIVES_WAY : BLOCK_WAITS;
    }
}

void launch_block(struct exec_ctx *ctx, uint64_t number)
{
    bool moved = false;
    enum block_state state;
    start_block(ctx, number);
    do
        state = step_block(ctx, &moved);
    while (state == BLOCK_GIVES_WAY);
    if (state == BLOCK_WAITS) /* a barrier that never completes: the GPU would hang here */
        report_hang(ctx);
}

/* --- blocks that are resident together --- */

/* Has every warp of the cluster that still runs arrived at its barrier? Then those that wait go on. */
static bool release_cluster(struct exec_ctx *members, uint32_t n)
{
    bool any = false;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < members[k].warps_n; i++) {
            const struct warp *w = &members[k].warps[i];
            if (w->state != WARP_DONE && (w->live & ~w->cluster_lanes))
                return false;
            any |= w->state != WARP_DONE && w->cluster_lanes;
        }
    if (!any)
        return false;
    ++*members[0].phase;
    for (uint32_t k = 0; k < n; k++) {
        check_next_interval(&members[k]);
        for (uint32_t i = 0; i < members[k].warps_n; i++) {
            struct warp *w = &members[k].warps[i];
            w->cluster_lanes = 0;
            w->state = w->state == WARP_IN_CLUSTER ? WARP_READY : w->state;
        }
    }
    return true;
}

/* The block that member k of a team's turn is. */
static uint64_t member_block(const struct team *t, uint64_t turn, uint32_t k)
{
    const struct exec_ctx *ctx = &t->members[k];
    uint64_t cluster = turn * (t->n / t->cluster_n) + k / t->cluster_n, place = 0, stride = 1;
    uint32_t rank = k % t->cluster_n;
    for (int d = 0; d < 3; d++) {
        uint32_t clusters = ctx->grid[d] / ctx->cluster[d];
        place += stride * (cluster % clusters * ctx->cluster[d] + rank % ctx->cluster[d]);
        stride *= ctx->grid[d];
        cluster /= clusters;
        rank /= ctx->cluster[d];
    }
    return place;
}

/* One member's turn. The team has one budget, which goes from hand to hand. */
static enum block_state step_member(struct team *t, struct exec_ctx *ctx, bool *moved)
{
    enum block_state state;
    ctx->budget = t->budget;
    ctx->budget_left = t->budget_left;
    state = step_block(ctx, moved);
    t->budget = ctx->budget;
    t->budget_left = ctx->budget_left;
    return state;
}

void launch_team(struct team *t, uint64_t turn)
{
    uint32_t left = t->n;
    for (uint32_t k = 0; k < t->n; k++) {
        start_block(&t->members[k], member_block(t, turn, k));
        t->members[k].has_ended = false;
    }
    while (left > 0) {
        bool moved = false;
        for (uint32_t k = 0; k < t->n; k++) {
            struct exec_ctx *ctx = &t->members[k];
            if (ctx->has_ended)
                continue;
            ctx->has_ended = step_member(t, ctx, &moved) == BLOCK_ENDS;
            left -= ctx->has_ended;
            if (ctx->stop)
                return;
        }
        for (uint32_t k = 0; k < t->n; k += t->cluster_n)
            moved |= release_cluster(&t->members[k], t->cluster_n);
        if (moved)
            continue;
        for (uint32_t k = 0; k < t->n; k++)
            if (!t->members[k].has_ended) {
                report_hang(&t->members[k]);
                return;
            }
    }
}

/* --- contexts --- */

void launch_free_ctx(struct exec_ctx *ctx)
{
    check_end(ctx);
    free(ctx->shared);
    free(ctx->register_files);
    free(ctx->local_memory);
    for (uint32_t k = 0; ctx->warps && k < ctx->warps_n; k++)
        call_free(&ctx->warps[k]);
    free(ctx->warps);
    free(ctx->block_rows);
    free(ctx->mem_rows);
    free(ctx->guard_rows);
}

int launch_make_ctx(struct exec_ctx *ctx, const struct exec_ctx *like)
{
    const struct code *c = like->code;
    size_t file = ((size_t)c->file_bytes + 63) & ~(size_t)63;
    void *shared = NULL, *files = NULL;
    *ctx = *like;
    ctx->warps = calloc(ctx->warps_n, sizeof *ctx->warps);
    ctx->block_rows = calloc(c->blocks_n, sizeof *ctx->block_rows);
    ctx->mem_rows = calloc((size_t)c->stats_n + 1, sizeof *ctx->mem_rows);
    ctx->guard_rows = calloc((size_t)c->guarded_n + 1, sizeof *ctx->guard_rows);
    ctx->local_memory = calloc(1, 32 * code_local(c) * ctx->warps_n + 1);
    if (posix_memalign(&shared, 128, ctx->shared_bytes + 128) == 0)
        ctx->shared = shared;
    if (posix_memalign(&files, 64, file * ctx->warps_n + 64) == 0)
        ctx->register_files = files;
    if (!ctx->warps || !ctx->block_rows || !ctx->mem_rows || !ctx->guard_rows || !ctx->local_memory || !ctx->shared ||
        !ctx->register_files || !check_begin(ctx))
        return -WS_ENOMEM;
    memset(ctx->register_files, 0, file * ctx->warps_n);
    for (uint32_t r = 0; r < c->regs_n; r++)
        if (c->regs[r].kind == REG_SPECIAL && code_differs_by_block(c->regs[r].special) &&
            ctx->block_regs_n < BLOCK_REGS_MAX)
            ctx->block_regs[ctx->block_regs_n++] = r;
    for (uint32_t k = 0; k < ctx->warps_n; k++) {
        struct warp *w = &ctx->warps[k];
        w->ctx = ctx;
        w->index = k;
        w->regs = ctx->register_files + k * file;
        w->local = ctx->local_memory + 32 * code_local(c) * k;
        prepare_warp(w);
    }
    return 0;
}

void launch_fini(struct exec_ctx *ctx)
{
    launch_free_ctx(ctx);
}
