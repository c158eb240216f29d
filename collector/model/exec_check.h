/* SPDX-License-Identifier: MIT
 * exec_check.h: checks before an access: bytes that nobody wrote, hazards between threads in shared memory.
 * Third part of exec_body.h. Only instructions that check.c has redirected here pay for it. Bounds and alignment are
 * exec_memory.h's and always on. No guard: see exec_body.h.
 *
 * Shared memory has two stamps a cell (granule bytes): who wrote it last, who read it last, and in which interval
 * between two barriers. Two accesses of one interval by different threads, one of them a write, are a hazard. */

/* interval 32 | atomic 1 | __syncwarp count 19 | several warps 1 | warp 5 | lane 6 (32 = several lanes) */
#define STAMP_ATOMIC (1ull << 31)
#define STAMP_SYNC (0x7ffffull << 12)
#define STAMP_WARPS (1ull << 11)
#define STAMP_WARP (31ull << 6)
#define STAMP_LANES 32ull
#define STAMP_WHO 0xfffull

static inline uint64_t stamp_of(const struct warp *w, uint32_t lane)
{
    return (uint64_t)w->ctx->epoch << 32 | ((uint64_t)w->syncs << 12 & STAMP_SYNC) | (uint64_t)w->index << 6 | lane;
}

/* What the older access means for mine: FAULT_NONE, FAULT_RACE, FAULT_RACE_WARP. */
static inline enum fault_kind hazard(uint64_t old, uint64_t mine)
{
    if ((old ^ mine) >> 32 != 0 || ((old ^ mine) & STAMP_WHO) == 0)
        return FAULT_NONE;
    if ((old & STAMP_WARPS) || ((old ^ mine) & STAMP_WARP))
        return FAULT_RACE;
    return (old ^ mine) & STAMP_SYNC ? FAULT_NONE : FAULT_RACE_WARP;
}

/* Who has read a cell when this thread reads it, too. */
static inline uint64_t readers(uint64_t old, uint64_t mine)
{
    if ((old ^ mine) >> 32 != 0 || ((old ^ mine) & STAMP_WHO) == 0)
        return mine;
    if ((old & STAMP_WARPS) || ((old ^ mine) & STAMP_WARP))
        return mine | STAMP_WARPS;
    return (mine & ~0x3full) | STAMP_LANES;
}

static void report_race(struct warp *w, const struct code_ins *i, enum fault_kind kind, uint32_t lane, uint64_t address,
                        enum hazard_kind what, uint64_t other)
{
    struct fault *f = exec_fault(w, i, kind, lane, address);
    if (!f)
        return;
    f->hazard = what;
    f->has_other = !(other & (STAMP_WARPS | STAMP_LANES));
    f->other = (uint32_t)(other & STAMP_WARP) >> 1 | (uint32_t)(other & 31);
}

struct shared_access {
    const uint64_t *addr; /* [32] offsets into shared memory */
    uint32_t mask;        /* aligned and in bounds */
    uint32_t bytes;       /* per lane */
    bool reads, writes, is_atomic;
};

/* Does the store leave every byte of the lane as it is? Then nobody can see the order. */
static bool keeps_value(const struct warp *w, const struct code_ins *i, uint64_t at, int lane)
{
    for (uint32_t k = 0; k < i->vec; k++) {
        uint64_t v = lane_bits(w, i, (int)k, lane);
        if (memcmp(w->ctx->shared + at + (uint64_t)k * i->bytes, &v, i->bytes) != 0)
            return false;
    }
    return true;
}

static bool same_values(const struct warp *w, const struct code_ins *i, int a, int b)
{
    for (uint32_t k = 0; k < i->vec; k++) {
        uint64_t x = lane_bits(w, i, (int)k, a), y = lane_bits(w, i, (int)k, b);
        if (memcmp(&x, &y, i->bytes) != 0)
            return false;
    }
    return true;
}

static void check_cell(struct warp *w, const struct code_ins *i, const struct shared_access *a, uint32_t lane,
                       uint64_t cell)
{
    struct exec_ctx *ctx = w->ctx;
    uint64_t wrote = ctx->cell_writer[cell], read = ctx->cell_reader[cell], mine = stamp_of(w, lane);
    enum fault_kind after_write = hazard(wrote, mine), after_read = a->writes ? hazard(read, mine) : FAULT_NONE;
    bool is_store = a->writes && !a->reads && i->op != OP_cp_async && i->op != OP_stmatrix;
    if ((ctx->checks & CHECK_UNINIT) && a->reads && wrote >> 32 < ctx->first_epoch)
        exec_fault(w, i, FAULT_UNINIT, lane, a->addr[lane]);
    if (!(ctx->checks & CHECK_RACES) || (after_write == FAULT_NONE && after_read == FAULT_NONE))
        return;
    if (is_store && keeps_value(w, i, a->addr[lane], (int)lane))
        return;
    if (after_write != FAULT_NONE && !(a->is_atomic && (wrote & STAMP_ATOMIC)))
        report_race(w, i, after_write, lane, a->addr[lane], a->reads ? HAZARD_READ_AFTER_WRITE : HAZARD_WRITE_TWICE,
                    wrote);
    else if (after_read != FAULT_NONE)
        report_race(w, i, after_read, lane, a->addr[lane], HAZARD_WRITE_AFTER_READ, read);
}

/* Lanes of one store that meet at an address with different values: which one stays is not defined. */
static void check_lanes_meet(struct warp *w, const struct code_ins *i, const struct shared_access *a, uint32_t lane,
                             uint64_t wrote)
{
    uint32_t other = (uint32_t)(wrote & 63);
    if (!(w->ctx->checks & CHECK_RACES) || a->is_atomic || i->op == OP_cp_async || i->op == OP_stmatrix ||
        hazard(wrote, stamp_of(w, lane)) != FAULT_RACE_WARP)
        return;
    if (other < lane && (a->mask >> other & 1) && a->addr[other] == a->addr[lane] &&
        !same_values(w, i, (int)other, (int)lane))
        report_race(w, i, FAULT_RACE_WARP, lane, a->addr[lane], HAZARD_WRITE_TWICE, wrote);
}

static void mark_cells(struct warp *w, const struct code_ins *i, const struct shared_access *a, uint32_t cells)
{
    struct exec_ctx *ctx = w->ctx;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        uint64_t mine = stamp_of(w, lane), cell = a->addr[lane] / ctx->granule;
        for (uint32_t k = 0; k < cells; k++, cell++) {
            if (a->writes && k == 0)
                check_lanes_meet(w, i, a, lane, ctx->cell_writer[cell]);
            if (a->writes)
                ctx->cell_writer[cell] = mine | (a->is_atomic ? STAMP_ATOMIC : 0);
            else
                ctx->cell_reader[cell] = readers(ctx->cell_reader[cell], mine);
        }
    }
}

/* The usual shape, 32 cells side by side: is there anything to report? If not, mark and be done. */
static bool row_is_clean(struct warp *w, const struct shared_access *a)
{
    struct exec_ctx *ctx = w->ctx;
    uint64_t first = a->addr[0], apart = 0, bad = 0, mine = stamp_of(w, 0);
    uint64_t *writer = ctx->cell_writer + first / ctx->granule, *reader = ctx->cell_reader + first / ctx->granule;
    uint64_t oldest = a->reads && (ctx->checks & CHECK_UNINIT) ? ctx->first_epoch : 0;
    uint64_t epoch = ctx->epoch, looks_at_readers = a->writes ? UINT64_MAX : 0;
    if (a->mask != UINT32_MAX || a->bytes != ctx->granule || a->is_atomic)
        return false;
    LANES
    apart |= a->addr[l] ^ (first + (uint64_t)l * ctx->granule);
    if (apart)
        return false;
    LANES
    {
        uint64_t who = (mine + (uint64_t)l) & STAMP_WHO, at = writer[l] >> 32;
        uint64_t after_write = (uint64_t)(at == epoch) & (uint64_t)((writer[l] & STAMP_WHO) != who);
        uint64_t after_read = (uint64_t)(reader[l] >> 32 == epoch) & (uint64_t)((reader[l] & STAMP_WHO) != who);
        bad |= after_write | (after_read & looks_at_readers) | (uint64_t)(at < oldest);
    }
    if (bad)
        return false;
    if (a->writes) {
        LANES
        writer[l] = mine + (uint64_t)l;
    } else {
        LANES
        reader[l] = reader[l] >> 32 == epoch && (reader[l] & STAMP_WHO) != ((mine + (uint64_t)l) & STAMP_WHO)
                        ? readers(reader[l], mine + (uint64_t)l)
                        : mine + (uint64_t)l;
    }
    return true;
}

static void check_shared(struct warp *w, const struct code_ins *i, const uint64_t *addr, uint32_t mask, uint32_t bytes,
                         bool reads, bool writes)
{
    struct exec_ctx *ctx = w->ctx;
    struct shared_access a = {addr, 0, bytes, reads, writes, reads && writes};
    uint32_t cells = bytes / ctx->granule;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        if ((addr[l] & (bytes - 1)) == 0 && addr[l] < ctx->shared_bytes && ctx->shared_bytes - addr[l] >= bytes)
            a.mask |= 1u << l;
    }
    if (!ctx->cell_writer || row_is_clean(w, &a))
        return;
    for (uint32_t m = a.mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        for (uint32_t k = 0; k < cells; k++)
            check_cell(w, i, &a, lane, addr[lane] / ctx->granule + k);
    }
    mark_cells(w, i, &a, cells);
}

/* Which bytes of the allocation at this address have been written; NULL: all, or no such allocation. */
static inline uint8_t *defined_at(struct warp *w, struct mem_row *row, uint64_t at, uint64_t bytes)
{
    if (at < row->defined_lo || at >= row->defined_hi) {
        row->defined = NULL;
        if (!memory_defined(w->ctx->memory, at, &row->defined_lo, &row->defined_hi, &row->defined))
            row->defined_lo = row->defined_hi = 0;
    }
    return row->defined && row->defined_hi - at >= bytes ? row->defined + (at - row->defined_lo) : NULL;
}

/* A full warp side by side in one allocation: one look. */
static bool global_row(struct warp *w, struct mem_row *row, const uint64_t *addr, uint32_t bytes, bool reads,
                       bool writes)
{
    uint64_t apart = 0, first = addr[0];
    uint8_t *defined;
    LANES
    apart |= addr[l] ^ (first + (uint64_t)l * bytes);
    if (apart)
        return false;
    defined = defined_at(w, row, first, 32ull * bytes);
    if (!defined || (reads && memchr(defined, 0, 32ull * bytes)))
        return !defined && first >= row->defined_lo && first < row->defined_hi && !row->defined;
    if (writes)
        memset(defined, 1, 32ull * bytes);
    return true;
}

static void check_global(struct warp *w, const struct code_ins *i, const uint64_t *addr, uint32_t mask, uint32_t bytes,
                         bool reads, bool writes)
{
    struct mem_row *row = &w->ctx->mem_rows[i->stat];
    if (!(w->ctx->checks & CHECK_UNINIT))
        return;
    if (mask == UINT32_MAX && global_row(w, row, addr, bytes, reads, writes))
        return;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        uint8_t *defined = defined_at(w, row, addr[l], bytes);
        if (!defined)
            continue;
        if (reads && memchr(defined, 0, bytes))
            exec_fault(w, i, FAULT_UNINIT, l, addr[l]);
        if (writes)
            memset(defined, 1, bytes);
    }
}

static void check_access(struct warp *w, const struct code_ins *i)
{
    bool writes = i->op == OP_st_any || i->op == OP_st_global_b32 || i->op == OP_st_shared_b32 || i->op == OP_atom;
    bool reads = !writes || i->op == OP_atom;
    uint32_t bytes = (uint32_t)i->bytes * i->vec, shared = 0, global = 0;
    uint64_t addr[32];
    lane_addresses(w, i, addr);
    if (i->op == OP_cp_async) { /* addr is where it goes, s[0] whence it comes */
        for (int l = 0; l < 32; l++)
            (void)window_of(&addr[l]);
        check_global(w, i, reg_at(w, i->s[0]), w->mask, bytes, true, false);
        check_shared(w, i, addr, w->mask, bytes, false, true);
        return;
    }
    if (i->op == OP_ldmatrix || i->op == OP_stmatrix) {
        for (int l = 0; l < 32; l++)
            (void)window_of(&addr[l]);
        check_shared(w, i, addr, w->mask & matrix_lanes(i), bytes, i->op == OP_ldmatrix, i->op == OP_stmatrix);
        return;
    }
    if (i->space == PTX_SPACE_GENERIC) {
        for (int l = 0; l < 32; l++) {
            uint8_t space = window_of(&addr[l]);
            shared |= (uint32_t)(space == PTX_SPACE_SHARED) << l;
            global |= (uint32_t)(space == PTX_SPACE_GLOBAL) << l;
        }
    } else {
        shared = i->space == PTX_SPACE_SHARED ? UINT32_MAX : 0;
        global = ~shared;
    }
    if (shared & w->mask)
        check_shared(w, i, addr, shared & w->mask, bytes, reads, writes);
    if (global & w->mask)
        check_global(w, i, addr, global & w->mask, bytes, reads, writes);
}

static void op_checked(struct warp *w, const struct code_ins *i)
{
    check_access(w, i);
    i->unchecked(w, i);
}

/* __syncwarp: orders the accesses of the warp's lanes. */
static void op_warp_sync(struct warp *w, const struct code_ins *i)
{
    (void)i;
    w->syncs++;
}
