/* SPDX-License-Identifier: MIT
 * exec_async.h: mbarrier, bulk copies, clusters. Part of exec_body.h. No guard: see there.
 * A barrier object is 8 bytes of shared memory; how its bits lie is not told by NVIDIA, and here it is:
 *   phase 1 | bytes of copies that are awaited 23, signed | arrivals of a phase 20 | arrivals pending 20 (low bits) */

#define MBARRIER_COUNT 0xfffffull
#define MBARRIER_PHASE (1ull << 63)

static inline int64_t mbarrier_bytes(uint64_t v)
{
    return (int64_t)(v << 1) >> 41;
}

static inline uint64_t mbarrier_add_bytes(uint64_t v, int64_t more)
{
    uint64_t bytes = (uint64_t)(mbarrier_bytes(v) + more) & 0x7fffffull;
    return (v & ~(0x7fffffull << 40)) | bytes << 40;
}

/* The phase ends when nobody is awaited any more. */
static inline uint64_t mbarrier_settle(uint64_t v)
{
    if ((v & MBARRIER_COUNT) != 0 || mbarrier_bytes(v) != 0)
        return v;
    return (v ^ MBARRIER_PHASE) | (v >> 20 & MBARRIER_COUNT);
}

static inline uint64_t mbarrier_arrive(uint64_t v, uint64_t count)
{
    uint64_t pending = v & MBARRIER_COUNT;
    return mbarrier_settle((v & ~MBARRIER_COUNT) | (pending > count ? pending - count : 0));
}

/* bytes of shared memory at an address of this block or of one of its cluster; NULL: there are none (noted). */
static uint8_t *shared_bytes_at(struct warp *w, const struct code_ins *i, uint32_t lane, uint64_t addr, uint64_t bytes)
{
    struct exec_ctx *ctx = w->ctx;
    uint64_t rank = addr >> CLUSTER_SHIFT & 0xff, offset = addr & CLUSTER_OFFSET;
    const struct exec_ctx *owner = ctx;
    if (rank != 0) {
        uint32_t n = ctx->cluster[0] * ctx->cluster[1] * ctx->cluster[2];
        owner = rank - 1 < n ? (ctx->peers ? &ctx->peers[rank - 1] : ctx) : NULL;
    }
    if (!owner || offset >= ctx->shared_bytes || ctx->shared_bytes - offset < bytes) {
        exec_fault(w, i, FAULT_BOUNDS, lane, addr);
        return NULL;
    }
    return owner->shared + offset;
}

static uint8_t *barrier_of(struct warp *w, const struct code_ins *i, uint32_t lane, uint64_t addr)
{
    if (addr & 7) {
        exec_fault(w, i, FAULT_ALIGN, lane, addr);
        return NULL;
    }
    return shared_bytes_at(w, i, lane, addr, 8);
}

static uint64_t mbarrier_lane(const struct code_ins *i, uint64_t v, uint64_t operand, bool *yes)
{
    switch (i->type2) {
    case MBARRIER_INIT:
        return (operand & MBARRIER_COUNT) << 20 | (operand & MBARRIER_COUNT);
    case MBARRIER_INVAL:
        return 0;
    case MBARRIER_ARRIVE:
        if (i->boolean & 2)
            return mbarrier_arrive(mbarrier_add_bytes(v, (int64_t)(uint32_t)operand), 1);
        return mbarrier_arrive(v, i->s[0] == CODE_NONE ? 1 : operand & MBARRIER_COUNT);
    case MBARRIER_DROP: {
        uint64_t count = i->s[0] == CODE_NONE || (i->boolean & 2) ? 1 : operand & MBARRIER_COUNT;
        uint64_t all = v >> 20 & MBARRIER_COUNT;
        v = (v & ~(MBARRIER_COUNT << 20)) | (all > count ? all - count : 0) << 20;
        return mbarrier_arrive(i->boolean & 2 ? mbarrier_add_bytes(v, (int64_t)(uint32_t)operand) : v, count);
    }
    case MBARRIER_EXPECT:
        return mbarrier_add_bytes(v, (int64_t)(uint32_t)operand);
    case MBARRIER_COMPLETE:
        return mbarrier_settle(mbarrier_add_bytes(v, -(int64_t)(uint32_t)operand));
    default: /* a wait: for the phase of a token, or of a parity */
        *yes = i->boolean & 1 ? (v >> 63) != (operand & 1) : (v >> 63) != (operand >> 63);
        return v;
    }
}

static void op_mbarrier(struct warp *w, const struct code_ins *i)
{
    bool is_wait = i->type2 == MBARRIER_TEST || i->type2 == MBARRIER_TRY;
    uint64_t addr[32], old[32] = {0};
    uint32_t passed = 0;
    if (i->type2 == MBARRIER_PENDING) {
        const uint64_t *state = reg_at(w, i->s[0]);
        LANES
        old[l] = state[l] & MBARRIER_COUNT;
        store_lanes(w, i, 0, old);
        return;
    }
    lane_addresses(w, i, addr);
    for (uint32_t m = w->mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        uint64_t operand = i->s[0] == CODE_NONE ? 0 : lane_bits(w, i, 0, (int)l);
        bool yes = false;
        uint8_t *at;
        (void)window_of(&addr[l]);
        at = barrier_of(w, i, l, addr[l]);
        if (!at) {
            passed |= 1u << l; /* the fault is told; nobody waits for ever because of it */
            continue;
        }
        memcpy(&old[l], at, 8);
        operand = mbarrier_lane(i, old[l], operand, &yes);
        memcpy(at, &operand, 8);
        passed |= (uint32_t)yes << l;
    }
    if (is_wait)
        pred_set(w, i->d[0], passed);
    else if (i->d[0] != CODE_NONE)
        store_lanes(w, i, 0, old);
    if (is_wait && passed && w->ctx->checks) /* what was written before the phase ended is no race any more */
        check_next_interval(w->ctx);
    if (is_wait && (w->mask & ~passed))
        exec_yield(w);
}

/* One lane's copy between [from, +bytes) and [to, +bytes); both were looked at. */
static bool bulk_ends(struct warp *w, const struct code_ins *i, uint32_t lane, uint64_t to, uint64_t bytes,
                      uint8_t **target, const uint8_t **source)
{
    const uint64_t *from = reg_at(w, i->s[0]);
    uint64_t global = i->type2 ? from[lane] : to, shared = i->type2 ? to : from[lane], other = from[lane];
    uint64_t lo, hi;
    uint8_t *in_shared;
    (void)window_of(&shared);
    if (((global | shared | bytes) & 15) != 0) {
        exec_fault(w, i, FAULT_ALIGN, lane, (shared | bytes) & 15 ? shared : global);
        return false;
    }
    in_shared = shared_bytes_at(w, i, lane, shared, bytes);
    if (!in_shared)
        return false;
    if (i->boolean) { /* from shared memory to that of another block */
        (void)window_of(&other);
        *source = shared_bytes_at(w, i, lane, other, bytes);
        *target = in_shared;
        return *source != NULL;
    }
    if (!memory_find(w->ctx->memory, global, &lo, &hi) || hi - global < bytes) {
        exec_fault(w, i, FAULT_BOUNDS, lane, global);
        return false;
    }
    *target = i->type2 ? in_shared : host(global);
    *source = i->type2 ? host(global) : in_shared;
    return true;
}

/* What --check has to know of a copy, piece by piece. */
static void check_bulk(struct warp *w, const struct code_ins *i, uint32_t lane, uint64_t to, uint64_t bytes)
{
    struct exec_ctx *ctx = w->ctx;
    uint64_t shared = i->type2 ? to : ((const uint64_t *)reg_at(w, i->s[0]))[lane], mine = stamp_of(w, lane);
    (void)window_of(&shared);
    if (ctx->cell_writer && shared >> CLUSTER_SHIFT == 0)
        for (uint64_t cell = shared / ctx->granule; cell < (shared + bytes) / ctx->granule; cell++) {
            if (i->type2)
                ctx->cell_writer[cell] = mine;
            else
                ctx->cell_reader[cell] = readers(ctx->cell_reader[cell], mine);
        }
    if ((ctx->checks & CHECK_UNINIT) && !i->type2)
        memory_define(ctx->memory, to, bytes);
}

/* Done at once; the barrier hears of it at once. */
static void op_bulk_copy(struct warp *w, const struct code_ins *i)
{
    const uint32_t *size = reg_at(w, i->s[1]);
    uint64_t to[32];
    lane_addresses(w, i, to);
    for (uint32_t m = w->mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        uint8_t *target = NULL, *at;
        const uint8_t *source = NULL;
        uint64_t v, barrier;
        if (!bulk_ends(w, i, l, to[l], size[l], &target, &source))
            continue;
        memmove(target, source, size[l]);
        if (w->ctx->checks)
            check_bulk(w, i, l, to[l], size[l]);
        if (i->s[2] == CODE_NONE)
            continue;
        barrier = ((const uint64_t *)reg_at(w, i->s[2]))[l];
        (void)window_of(&barrier);
        at = barrier_of(w, i, l, barrier);
        if (!at)
            continue;
        memcpy(&v, at, 8);
        v = mbarrier_settle(mbarrier_add_bytes(v, -(int64_t)size[l]));
        memcpy(at, &v, 8);
    }
}

/* The same place in another block's shared memory: its rank, plus 1, above the offset. */
static void op_mapa(struct warp *w, const struct code_ins *i)
{
    const uint32_t *rank = reg_at(w, i->s[1]);
    uint64_t out[32];
    for (int l = 0; l < 32; l++) {
        uint64_t a = lane_bits(w, i, 0, l);
        out[l] = (a & ~(0xffull << CLUSTER_SHIFT)) | ((uint64_t)rank[l] + 1) << CLUSTER_SHIFT;
    }
    store_lanes(w, i, 0, out);
}

static void op_getctarank(struct warp *w, const struct code_ins *i)
{
    uint32_t own = w->ctx->peers ? (uint32_t)(w->ctx - w->ctx->peers) : 0, out[32];
    for (int l = 0; l < 32; l++) {
        uint32_t rank = (uint32_t)(lane_bits(w, i, 0, l) >> CLUSTER_SHIFT) & 0xff;
        out[l] = rank ? rank - 1 : own;
    }
    store_32(w, i->d[0], out);
}

static void op_cluster_arrive(struct warp *w, const struct code_ins *i)
{
    (void)i;
    w->cluster_lanes |= w->mask;
    if (w->ctx->phase)
        w->cluster_phase = *w->ctx->phase;
}

/* imm: 0 = only where other blocks are resident, too (a load that waits for them as a rule) */
static void op_yield(struct warp *w, const struct code_ins *i)
{
    if (i->imm || w->ctx->team)
        exec_yield(w);
}
