/* SPDX-License-Identifier: MIT
 * exec_memory.h: loads, stores, atomics, parameters: the data and the counts. Second half of exec_body.h.
 * Counting rules are analyzer/access.h; here are only their closed forms for the two usual shapes (lanes side by
 * side, all lanes one address) and the reuse of the last irregular pattern.
 * Device addresses are host addresses, so nothing is touched before its bounds were checked. No guard: see exec_body.h.
 */

/* Lane addresses of the instruction, 64-bit. */
static inline void lane_addresses(const struct warp *w, const struct code_ins *i, uint64_t *addr)
{
    uint64_t off = (uint64_t)i->imm;
    if (i->flags & CODE_ADDRESS_32) {
        const uint32_t *a = reg_at(w, i->a);
        LANES
        addr[l] = (uint32_t)(a[l] + (uint32_t)off);
    } else {
        const uint64_t *a = reg_at(w, i->a);
        LANES
        addr[l] = a[l] + off;
    }
}

/* Does [at, at+bytes) lie in one allocation? Fills the row's cache. */
static inline bool in_bounds(struct warp *w, struct mem_row *row, uint64_t at, uint64_t bytes)
{
    if (at >= row->lo && at < row->hi && row->hi - at >= bytes)
        return true;
    return memory_find(w->ctx->memory, at, &row->lo, &row->hi) && row->hi - at >= bytes;
}

/* --- patterns: counts of a request, reused while the distances between its lanes stay --- */

enum pattern_rule { RULE_SECTORS, RULE_BANKS, RULE_LOCAL };

/* Local memory is interleaved by 4-byte words of the 32 lanes, so equal offsets lie side by side. */
static void local_sectors(const uint64_t *addr, uint32_t mask, uint32_t bytes, struct ws_sectors *sum)
{
    uint32_t words = bytes > 4 ? bytes / 4 : 1;
    uint64_t place[32];
    memset(sum, 0, sizeof *sum);
    for (uint32_t k = 0; k < words; k++) {
        struct ws_sectors s;
        for (uint32_t l = 0; l < 32; l++)
            place[l] = ((addr[l] / 4 + k) * 32 + l) * 4 + addr[l] % 4;
        ws_access_sectors(place, mask, bytes < 4 ? bytes : 4, &s);
        sum->sectors += s.sectors;
        sum->ideal += s.ideal;
        sum->lines += s.lines;
        sum->bytes += s.bytes;
    }
}

/* Sectors and lines of lanes side by side, each aligned to its width. */
static inline void row_sectors(union mem_counts *one, uint64_t first, uint64_t bytes)
{
    uint64_t last = first + 32 * bytes - 1;
    one->sectors = (last >> 5) - (first >> 5) + 1;
    one->lines = (last >> 7) - (first >> 7) + 1;
}

/* What of an address the counts depend on when the distances are given. A shift by whole words turns the banks round,
 * and no word meets another one because of it. */
static inline uint32_t phase_of(uint64_t first, enum pattern_rule rule)
{
    return (uint32_t)first & (rule == RULE_SECTORS ? 127 : 3);
}

/* Lanes by eights, each side by side or at one address? */
static bool are_groups(struct mem_row *row, uint32_t bytes)
{
    row->group_rows = 0;
    for (int g = 0; g < 32; g += GROUP_LANES) {
        uint32_t apart = 0, stepped = 0;
        for (int l = 0; l < GROUP_LANES; l++) {
            uint32_t d = (uint32_t)row->pattern[g + l] - (uint32_t)row->pattern[g];
            apart |= d;
            stepped |= d ^ (bytes * (uint32_t)l);
        }
        if (apart && stepped)
            return false;
        row->group_rows |= (uint32_t)(stepped == 0) << (g / GROUP_LANES);
    }
    return true;
}

/* The distances; false: more than 2 GiB apart, nothing to remember. */
static bool note_distances(struct mem_row *row, const uint64_t *addr, uint32_t mask, uint32_t bytes)
{
    uint64_t first = addr[__builtin_ctz(mask)], far = 0, uneven = 0;
    int32_t least = 0, most = 0;
    uint32_t low = 0, apart = 0, stepped = 0;
    LANES
    {
        uint64_t active = 0ull - (uint64_t)((mask >> l) & 1u);
        uint64_t d = (addr[l] - first) & active;
        int32_t near = (int32_t)(uint32_t)d;
        far |= (d + 0x80000000u) >> 32;
        row->pattern[l] = near;
        row->pattern_32[l] = (uint32_t)near;
        least = near < least ? near : least;
        most = near > most ? near : most;
        low |= (uint32_t)near;
        apart |= (uint32_t)near;
        stepped |= (uint32_t)near ^ (bytes * (uint32_t)l);
    }
    row->step = (uint64_t)row->pattern[1];
    for (int l = 0; l < 32; l++)
        uneven |= (uint64_t)row->pattern[l] ^ (uint64_t)l * row->step;
    row->pattern_low = low;
    row->pattern_least = least;
    row->pattern_span = (uint64_t)((int64_t)most - least) + bytes;
    row->shape = mask != UINT32_MAX       ? SHAPE_OTHER
                 : apart == 0             ? SHAPE_SAME
                 : stepped == 0           ? SHAPE_ROW
                 : uneven == 0            ? SHAPE_STEP
                 : are_groups(row, bytes) ? SHAPE_GROUPS
                                          : SHAPE_OTHER;
    return far == 0;
}

static void note_sectors(union mem_counts *one, const uint64_t *addr, uint32_t mask, uint32_t bytes,
                         enum pattern_rule rule)
{
    struct ws_sectors s;
    if (rule == RULE_LOCAL)
        local_sectors(addr, mask, bytes, &s);
    else
        ws_access_sectors(addr, mask, bytes, &s);
    one->sectors = s.sectors;
    one->ideal = s.ideal;
    one->lines = s.lines;
    one->used_bytes = s.bytes;
}

static enum ws_access_op access_op(const struct code_ins *i)
{
    switch (i->op) {
    case OP_atom:
        return i->type2 == AT_CAS ? WS_ACCESS_SWAP : WS_ACCESS_ATOMIC;
    case OP_ldmatrix:
    case OP_st_any:
    case OP_st_shared_b32:
    case OP_stmatrix:
    case OP_wmma_store:
        return WS_ACCESS_STORE;
    default:
        return WS_ACCESS_LOAD;
    }
}

/* Not seen the last time: count it by the rules and remember it. */
__attribute__((noinline)) static void learn_pattern(struct mem_row *row, const struct code_ins *i, const uint64_t *addr,
                                                    uint32_t mask, uint32_t counted, enum pattern_rule rule)
{
    union mem_counts one = {.all = {0}};
    bool is_near = note_distances(row, addr, mask, (uint32_t)i->bytes * i->vec);
    exec_settle(row);
    row->pattern_mask = is_near ? mask : 0;
    row->pattern_phase = phase_of(addr[__builtin_ctz(mask)], rule);
    if (rule == RULE_BANKS) {
        struct ws_banks b;
        ws_access_banks(addr, mask, counted, access_op(i), &b);
        one.wavefronts = b.wavefronts;
        one.wavefronts_ideal = b.ideal;
    } else {
        note_sectors(&one, addr, mask, counted, rule);
    }
    one.requests = 1;
    one.lanes = (uint32_t)__builtin_popcount(mask);
    one.bytes = one.lanes * counted;
    if (i->op == OP_atom && i->space != PTX_SPACE_GENERIC)
        one.same_address = ws_access_same_address(addr, mask);
    row->one = one;
}

/* Another phase of the last pattern: do its counts hold, or are they known at once? */
static inline bool takes_phase(struct mem_row *row, uint64_t first, uint32_t bytes, enum pattern_rule rule)
{
    uint32_t phase = phase_of(first, rule);
    if (phase == row->pattern_phase)
        return true;
    if ((first & (bytes - 1)) != 0 || row->shape < SHAPE_ROW || (row->pattern_low & (bytes - 1)) != 0)
        return false;
    if (row->shape == SHAPE_SAME)
        return (row->pattern_phase & (bytes - 1)) == 0;
    if (rule != RULE_SECTORS || (row->pattern_phase & (bytes - 1)) != 0)
        return false;
    exec_settle(row);
    row->pattern_phase = phase;
    row_sectors(&row->one, first, bytes);
    return true;
}

/* Count the request of the lanes in mask. counted: width for the rules (merged loads: wider than the access). */
static void count_pattern(struct mem_row *row, const struct code_ins *i, const uint64_t *addr, uint32_t mask,
                          uint32_t counted, enum pattern_rule rule)
{
    uint64_t first = addr[__builtin_ctz(mask)], differs = 0;
    LANES
    {
        uint64_t active = 0ull - (uint64_t)((mask >> l) & 1u);
        differs |= ((addr[l] - first) & active) ^ (uint64_t)row->pattern[l];
    }
    if (differs != 0 || row->pattern_mask != mask || !takes_phase(row, first, (uint32_t)i->bytes * i->vec, rule))
        learn_pattern(row, i, addr, mask, counted, rule);
    row->repeated++;
}

/* The lanes of mask whose access is aligned and in bounds; faults of the others are noted. */
static uint32_t checked_lanes(struct warp *w, const struct code_ins *i, struct mem_row *row, const uint64_t *addr,
                              uint32_t mask, uint64_t lo, uint64_t hi, uint32_t bytes)
{
    uint32_t good = mask;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        bool is_inside =
            lo == hi ? in_bounds(w, row, addr[l], bytes) : addr[l] >= lo && hi >= bytes && addr[l] <= hi - bytes;
        enum fault_kind kind = !is_inside ? FAULT_BOUNDS : addr[l] & (bytes - 1) ? FAULT_ALIGN : FAULT_NONE;
        if (kind == FAULT_NONE)
            continue;
        exec_fault(w, i, kind, l, addr[l]);
        good &= ~(1u << l);
    }
    return good;
}

/* Quick form: all active lanes within [lo, hi) and aligned, by minimum and maximum. */
static inline bool all_inside(const uint64_t *addr, uint32_t mask, uint64_t lo, uint64_t hi, uint32_t bytes)
{
    uint64_t bad = 0;
    uint64_t last = hi - bytes;
    if (hi < bytes)
        return false;
    LANES
    {
        uint64_t active = 0ull - (uint64_t)((mask >> l) & 1u);
        uint64_t outside = (uint64_t)(addr[l] < lo) | (uint64_t)(addr[l] > last);
        bad |= ((0ull - outside) | (addr[l] & (bytes - 1))) & active;
    }
    return bad == 0;
}

/* The request that was counted last, which begins at first: is all of it in [lo, hi), and aligned? */
static inline bool pattern_inside(const struct mem_row *row, uint64_t first, uint64_t lo, uint64_t hi, uint32_t bytes)
{
    uint64_t at = first + (uint64_t)row->pattern_least;
    return row->pattern_mask != 0 && ((first | row->pattern_low) & (bytes - 1)) == 0 && at >= lo && at <= hi &&
           hi - at >= row->pattern_span;
}

/* The same in the allocation that it lies in, which is not the last one. */
__attribute__((noinline)) static bool pattern_elsewhere(struct warp *w, struct mem_row *row, uint64_t first,
                                                        uint32_t bytes)
{
    return row->pattern_mask != 0 && ((first | row->pattern_low) & (bytes - 1)) == 0 &&
           in_bounds(w, row, first + (uint64_t)row->pattern_least, row->pattern_span);
}

static inline bool pattern_allocated(struct warp *w, struct mem_row *row, uint64_t first, uint32_t bytes)
{
    return pattern_inside(row, first, row->lo, row->hi, bytes) || pattern_elsewhere(w, row, first, bytes);
}

/* Shared memory of any block of the cluster. */
static uint32_t resolve_cluster(struct warp *w, const struct code_ins *i, uint64_t *addr, uint32_t mask, uint32_t bytes)
{
    struct exec_ctx *ctx = w->ctx;
    uint32_t n = ctx->cluster[0] * ctx->cluster[1] * ctx->cluster[2];
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        uint64_t rank = addr[l] >> CLUSTER_SHIFT, offset = addr[l] & CLUSTER_OFFSET;
        const struct exec_ctx *owner = rank == 0 || (rank == 1 && !ctx->peers) ? ctx : NULL;
        if (rank > 0 && rank <= n && ctx->peers)
            owner = &ctx->peers[rank - 1];
        bool is_inside = owner && offset < ctx->shared_bytes && ctx->shared_bytes - offset >= bytes;
        if (is_inside && !(offset & (bytes - 1))) {
            addr[l] = (uint64_t)(uintptr_t)owner->shared + offset;
            continue;
        }
        exec_fault(w, i, is_inside ? FAULT_ALIGN : FAULT_BOUNDS, l, addr[l]);
        mask &= ~(1u << l);
    }
    return mask;
}

/* Count the lanes `mask` of one space, in the statistics row stat, and turn their addresses into host addresses, in
 * place. Returns the lanes whose bytes may be touched. */
static uint32_t resolve_at(struct warp *w, const struct code_ins *i, uint32_t stat, uint8_t space, uint64_t *addr,
                           uint32_t mask)
{
    struct exec_ctx *ctx = w->ctx;
    /* a generic instruction has a row per space it may turn out to touch */
    uint32_t offset = i->space != PTX_SPACE_GENERIC ? 0
                      : space == PTX_SPACE_SHARED   ? 1
                      : space == PTX_SPACE_LOCAL    ? 2
                                                    : 0;
    struct mem_row *row = &ctx->mem_rows[stat + offset];
    uint32_t bytes = (uint32_t)i->bytes * i->vec;
    uint64_t limit = code_local(ctx->code);
    uint64_t first, base = 0;
    if (mask == 0)
        return 0;
    first = addr[__builtin_ctz(mask)];
    switch (space) {
    case PTX_SPACE_SHARED:
        count_pattern(row, i, addr, mask, i->count_bytes, RULE_BANKS); /* of a merged load: not shown (result.c) */
        if (ctx->code->uses_mapa)
            return resolve_cluster(w, i, addr, mask, bytes);
        if (!pattern_inside(row, first, 0, ctx->shared_bytes, bytes))
            mask = checked_lanes(w, i, row, addr, mask, 0, ctx->shared_bytes ? ctx->shared_bytes : 1, bytes);
        base = (uint64_t)(uintptr_t)ctx->shared;
        break;
    case PTX_SPACE_LOCAL:
        count_pattern(row, i, addr, mask, bytes, RULE_LOCAL);
        if (!pattern_inside(row, first, 0, limit, bytes))
            mask = checked_lanes(w, i, row, addr, mask, 0, limit ? limit : 1, bytes);
        LANES
        addr[l] += (uint64_t)l * limit;
        base = (uint64_t)(uintptr_t)w->local;
        break;
    case PTX_SPACE_FRAME:
        if (!all_inside(addr, mask, 0, limit, bytes))
            mask = checked_lanes(w, i, row, addr, mask, 0, limit ? limit : 1, bytes);
        LANES
        addr[l] += (uint64_t)l * limit;
        base = (uint64_t)(uintptr_t)w->local;
        break;
    case PTX_SPACE_PARAM:
        limit = ctx->code->param_bytes;
        if (!all_inside(addr, mask, 0, limit, bytes))
            mask = checked_lanes(w, i, row, addr, mask, 0, limit ? limit : 1, bytes);
        base = (uint64_t)(uintptr_t)ctx->params;
        break;
    default:
        count_pattern(row, i, addr, mask, bytes, RULE_SECTORS);
        if (!pattern_allocated(w, row, first, bytes))
            mask = checked_lanes(w, i, row, addr, mask, 0, 0, bytes);
    }
    LANES
    addr[l] += base;
    return mask;
}

static uint32_t resolve(struct warp *w, const struct code_ins *i, uint8_t space, uint64_t *addr, uint32_t mask)
{
    return resolve_at(w, i, i->stat, space, addr, mask);
}

/* Generic addresses: which window the lane's address is in; the address within it. */
static uint8_t window_of(uint64_t *addr)
{
    uint64_t window = *addr >> WINDOW_SHIFT;
    if (window == 0)
        return PTX_SPACE_GLOBAL;
    *addr &= (1ull << WINDOW_SHIFT) - 1;
    return window == 1 ? PTX_SPACE_SHARED : PTX_SPACE_LOCAL;
}

/* Resolve all active lanes, whatever space a generic address turns out to be in. */
static uint32_t resolve_any(struct warp *w, const struct code_ins *i, uint64_t *addr)
{
    uint8_t space[32];
    uint32_t left = w->mask, good = 0;
    uint64_t windows = 0;
    lane_addresses(w, i, addr);
    if (i->space != PTX_SPACE_GENERIC)
        return resolve(w, i, i->space, addr, w->mask);
    LANES
    windows |= addr[l] >> WINDOW_SHIFT;
    if (windows == 0)
        return resolve(w, i, PTX_SPACE_GLOBAL, addr, w->mask);
    for (int l = 0; l < 32; l++)
        space[l] = window_of(&addr[l]);
    while (left) {
        uint8_t now = space[__builtin_ctz(left)];
        uint64_t part[32];
        uint32_t same = 0;
        for (int l = 0; l < 32; l++)
            same |= (uint32_t)(space[l] == now) << l;
        same &= left;
        memcpy(part, addr, sizeof part);
        good |= resolve(w, i, now, part, same);
        for (int l = 0; l < 32; l++)
            if (same >> l & 1)
                addr[l] = part[l];
        left &= ~same;
    }
    return good;
}

static inline uint8_t *host(uint64_t addr)
{
    return (uint8_t *)(uintptr_t)addr;
}

static inline uint64_t read_bytes(const uint8_t *at, uint32_t bytes, bool is_signed)
{
    uint16_t h;
    uint32_t s;
    uint64_t d;
    switch (bytes) {
    case 1:
        return is_signed ? (uint64_t)(int64_t)(int8_t)*at : *at;
    case 2:
        memcpy(&h, at, 2);
        return is_signed ? (uint64_t)(int64_t)(int16_t)h : h;
    case 4:
        memcpy(&s, at, 4);
        return is_signed ? (uint64_t)(int64_t)(int32_t)s : s;
    default:
        memcpy(&d, at, 8);
        return d;
    }
}

static void load_element(struct warp *w, const struct code_ins *i, uint32_t k, const uint64_t *addr, uint32_t mask)
{
    uint32_t offset = k * i->bytes;
    if (i->d_wide >> k & 1) {
        uint64_t *d = reg_at(w, i->d[k]);
        for (uint32_t m = mask; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            d[l] = read_bytes(host(addr[l]) + offset, i->bytes, i->flags & CODE_SIGNED);
        }
        return;
    }
    uint32_t *d = reg_at(w, i->d[k]);
    if (i->bytes == 4 && mask == UINT32_MAX) {
        for (int l = 0; l < 32; l++)
            memcpy(&d[l], host(addr[l]) + offset, 4);
        return;
    }
    for (uint32_t m = mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        d[l] = (uint32_t)read_bytes(host(addr[l]) + offset, i->bytes, i->flags & CODE_SIGNED);
    }
}

/* --- a full warp that repeats its pattern --- */

/* Where the accesses lie whose counts and bounds are known: base, first lane. */
struct repeat {
    uint8_t *base;  /* of the space */
    uint64_t first; /* address of lane 0 in it */
};

/* Are all lanes base + table[lane]? The first form is for tables of equal steps: it reads their beginning only. */
#ifdef __AVX2__
/* By hand: the compiler's sum over a vector's lanes costs as much as the rest. */
static inline bool in_step_64(const uint64_t *a, uint64_t base, const int64_t *table)
{
    __m256i first = _mm256_loadu_si256((const __m256i *)(const void *)table);
    __m256i want = _mm256_add_epi64(_mm256_set1_epi64x((long long)base), first);
    __m256i by = _mm256_set1_epi64x(table[4]), differs = _mm256_setzero_si256();
    for (int l = 0; l < 32; l += 4) {
        __m256i is = _mm256_loadu_si256((const __m256i *)(const void *)(a + l));
        differs = _mm256_or_si256(differs, _mm256_xor_si256(is, want));
        want = _mm256_add_epi64(want, by);
    }
    return _mm256_testz_si256(differs, differs);
}

static inline bool in_step_32(const uint32_t *a, uint32_t base, const uint32_t *table)
{
    __m256i first = _mm256_loadu_si256((const __m256i *)(const void *)table);
    __m256i want = _mm256_add_epi32(_mm256_set1_epi32((int)base), first);
    __m256i by = _mm256_set1_epi32((int)table[8]), differs = _mm256_setzero_si256();
    for (int l = 0; l < 32; l += 8) {
        __m256i is = _mm256_loadu_si256((const __m256i *)(const void *)(a + l));
        differs = _mm256_or_si256(differs, _mm256_xor_si256(is, want));
        want = _mm256_add_epi32(want, by);
    }
    return _mm256_testz_si256(differs, differs);
}

static inline bool in_table_64(const uint64_t *a, uint64_t base, const int64_t *table)
{
    __m256i from = _mm256_set1_epi64x((long long)base), differs = _mm256_setzero_si256();
    for (int l = 0; l < 32; l += 4) {
        __m256i is = _mm256_loadu_si256((const __m256i *)(const void *)(a + l));
        __m256i want = _mm256_loadu_si256((const __m256i *)(const void *)(table + l));
        differs = _mm256_or_si256(differs, _mm256_xor_si256(_mm256_sub_epi64(is, from), want));
    }
    return _mm256_testz_si256(differs, differs);
}

static inline bool in_table_32(const uint32_t *a, uint32_t base, const uint32_t *table)
{
    __m256i from = _mm256_set1_epi32((int)base), differs = _mm256_setzero_si256();
    for (int l = 0; l < 32; l += 8) {
        __m256i is = _mm256_loadu_si256((const __m256i *)(const void *)(a + l));
        __m256i want = _mm256_loadu_si256((const __m256i *)(const void *)(table + l));
        differs = _mm256_or_si256(differs, _mm256_xor_si256(_mm256_sub_epi32(is, from), want));
    }
    return _mm256_testz_si256(differs, differs);
}
#else
static inline bool in_step_64(const uint64_t *a, uint64_t base, const int64_t *table)
{
    uint64_t differs = 0, step = (uint64_t)table[1];
    LANES
    differs |= a[l] ^ (base + (uint64_t)l * step);
    return differs == 0;
}

static inline bool in_step_32(const uint32_t *a, uint32_t base, const uint32_t *table)
{
    uint32_t differs = 0, step = table[1];
    LANES
    differs |= a[l] ^ (base + (uint32_t)l * step);
    return differs == 0;
}

static inline bool in_table_64(const uint64_t *a, uint64_t base, const int64_t *table)
{
    uint64_t differs = 0;
    LANES
    differs |= (a[l] - base) ^ (uint64_t)table[l];
    return differs == 0;
}

static inline bool in_table_32(const uint32_t *a, uint32_t base, const uint32_t *table)
{
    uint32_t differs = 0;
    LANES
    differs |= (a[l] - base) ^ table[l];
    return differs == 0;
}
#endif

static inline bool distances_same_64(const uint64_t *a, const struct mem_row *row)
{
    return row->shape >= SHAPE_STEP ? in_step_64(a, a[0], row->pattern) : in_table_64(a, a[0], row->pattern);
}

static inline bool distances_same_32(const uint32_t *a, const struct mem_row *row)
{
    return row->shape >= SHAPE_STEP ? in_step_32(a, a[0], row->pattern_32) : in_table_32(a, a[0], row->pattern_32);
}

/* A loop goes through memory in steps that the processor does not see as such: they are larger than its pages. */
static inline void fetch_ahead(struct mem_row *row, uint64_t first)
{
    const uint8_t *next = (const uint8_t *)(uintptr_t)(first + 2 * (first - row->last_first));
    row->last_first = first;
    __builtin_prefetch(next);
    __builtin_prefetch(next + 64);
}

/* Is this the pattern of the last time, in bounds and aligned? Then it is counted. */
static inline bool repeats(struct warp *w, const struct code_ins *i, struct mem_row *row, uint32_t bytes,
                           bool is_shared, struct repeat *out)
{
    struct exec_ctx *ctx = w->ctx;
    if (w->mask != UINT32_MAX || row->pattern_mask != UINT32_MAX)
        return false;
    if (i->flags & CODE_ADDRESS_32) {
        const uint32_t *a = reg_at(w, i->a);
        out->first = (uint32_t)(a[0] + (uint32_t)i->imm);
        if (!distances_same_32(a, row))
            return false;
    } else {
        const uint64_t *a = reg_at(w, i->a);
        out->first = a[0] + (uint64_t)i->imm;
        if (!distances_same_64(a, row))
            return false;
    }
    if (!takes_phase(row, out->first, bytes, is_shared ? RULE_BANKS : RULE_SECTORS))
        return false;
    if (is_shared ? !pattern_inside(row, out->first, 0, ctx->shared_bytes, bytes)
                  : !pattern_allocated(w, row, out->first, bytes))
        return false;
    out->base = is_shared ? ctx->shared : NULL;
    if (!is_shared)
        fetch_ahead(row, out->first);
    row->repeated++;
    return true;
}

static inline bool may_repeat(const struct code_ins *i)
{
    return i->space == PTX_SPACE_GLOBAL || i->space == PTX_SPACE_SHARED || i->space == PTX_SPACE_CONST;
}

/* Bytes of the pattern's first lane; the others are row->pattern away. */
static inline uint8_t *repeat_at(const struct repeat *r)
{
    return (uint8_t *)((uintptr_t)r->base + (uintptr_t)r->first);
}

static inline void gather_groups(uint32_t *d, const uint8_t *at, const struct mem_row *row)
{
    for (size_t g = 0; g < 32 / GROUP_LANES; g++) {
        const uint8_t *from = at + row->pattern[g * GROUP_LANES];
        uint32_t v;
        if (row->group_rows >> g & 1) {
            memcpy(d + g * GROUP_LANES, from, sizeof *d * GROUP_LANES);
            continue;
        }
        memcpy(&v, from, 4);
        for (size_t l = 0; l < GROUP_LANES; l++)
            d[g * GROUP_LANES + l] = v;
    }
}

/* One element of a vector, for all lanes; at: lane 0's. step: bytes of the whole vector. */
static inline void gather_32(uint32_t *d, const uint8_t *at, const struct mem_row *row, uint32_t step)
{
    uint32_t v;
    if (row->shape == SHAPE_SAME) {
        memcpy(&v, at, 4);
        LANES
        d[l] = v;
    } else if (row->shape == SHAPE_ROW && step == 4) {
        memcpy(d, at, 128);
    } else if (row->shape == SHAPE_GROUPS && step == 4) {
        gather_groups(d, at, row);
    } else if (row->shape == SHAPE_STEP) {
        for (int l = 0; l < 32; l++)
            memcpy(&d[l], at + (size_t)l * row->step, 4);
    } else if (row->shape == SHAPE_ROW && step == 8) {
        LANES
        memcpy(&d[l], at + (size_t)l * 8, 4);
    } else if (row->shape == SHAPE_ROW && step == 16) {
        LANES
        memcpy(&d[l], at + (size_t)l * 16, 4);
    } else {
        for (int l = 0; l < 32; l++)
            memcpy(&d[l], at + row->pattern[l], 4);
    }
}

static inline void gather_64(uint64_t *d, const uint8_t *at, const struct mem_row *row, uint32_t step)
{
    uint64_t v;
    if (row->shape == SHAPE_SAME) {
        memcpy(&v, at, 8);
        LANES
        d[l] = v;
    } else if (row->shape == SHAPE_ROW && step == 8) {
        memcpy(d, at, 256);
    } else {
        for (int l = 0; l < 32; l++)
            memcpy(&d[l], at + row->pattern[l], 8);
    }
}

static void gather_element(struct warp *w, const struct code_ins *i, uint32_t k, const uint8_t *at,
                           const struct mem_row *row)
{
    uint32_t step = (uint32_t)i->bytes * i->vec;
    uint64_t wide[32];
    if (i->bytes == 4 && !(i->d_wide >> k & 1)) {
        gather_32(reg_at(w, i->d[k]), at, row, step);
        return;
    }
    if (i->bytes == 8) {
        gather_64(reg_at(w, i->d[k]), at, row, step);
        return;
    }
    for (int l = 0; l < 32; l++)
        wide[l] = read_bytes(at + row->pattern[l], i->bytes, i->flags & CODE_SIGNED);
    store_lanes(w, i, (int)k, wide);
}

static inline void scatter_32(const uint32_t *s, uint8_t *at, const struct mem_row *row, uint32_t step)
{
    if (row->shape == SHAPE_ROW && step == 4)
        memcpy(at, s, 128);
    else
        for (int l = 0; l < 32; l++)
            memcpy(at + row->pattern[l], &s[l], 4);
}

static void scatter_element(const struct warp *w, const struct code_ins *i, uint32_t k, uint8_t *at,
                            const struct mem_row *row)
{
    const uint32_t *narrow = reg_at(w, i->s[k]);
    const uint64_t *wide = reg_at(w, i->s[k]);
    bool is_wide = i->s_wide >> k & 1;
    if (i->bytes == 4 && !is_wide)
        scatter_32(narrow, at, row, (uint32_t)i->bytes * i->vec);
    else if (i->bytes == 8)
        for (int l = 0; l < 32; l++)
            memcpy(at + row->pattern[l], &wide[l], 8);
    else
        for (int l = 0; l < 32; l++) /* little endian: the low bytes come first */
            memcpy(at + row->pattern[l], is_wide ? (const void *)&wide[l] : (const void *)&narrow[l], i->bytes);
}

/* Vectors of four words, lane after lane in memory, a register for each word. */
#ifdef __SSE2__
static inline __m128 *words_of(const struct warp *w, uint32_t offset, int l)
{
    return (__m128 *)(void *)((float *)reg_at(w, offset) + l);
}

static inline void load_row_of_4(const struct warp *w, const struct code_ins *i, const uint8_t *at)
{
    for (int l = 0; l < 32; l += 4) {
        const float *from = (const float *)(const void *)(at + (size_t)l * 16);
        __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + 4), c = _mm_loadu_ps(from + 8),
               d = _mm_loadu_ps(from + 12);
        _MM_TRANSPOSE4_PS(a, b, c, d);
        *words_of(w, i->d[0], l) = a;
        *words_of(w, i->d[1], l) = b;
        *words_of(w, i->d[2], l) = c;
        *words_of(w, i->d[3], l) = d;
    }
}

static inline void store_row_of_4(const struct warp *w, const struct code_ins *i, uint8_t *at)
{
    for (int l = 0; l < 32; l += 4) {
        float *to = (float *)(void *)(at + (size_t)l * 16);
        __m128 a = *words_of(w, i->s[0], l), b = *words_of(w, i->s[1], l), c = *words_of(w, i->s[2], l),
               d = *words_of(w, i->s[3], l);
        _MM_TRANSPOSE4_PS(a, b, c, d);
        _mm_storeu_ps(to, a);
        _mm_storeu_ps(to + 4, b);
        _mm_storeu_ps(to + 8, c);
        _mm_storeu_ps(to + 12, d);
    }
}
#else
static inline void load_row_of_4(const struct warp *w, const struct code_ins *i, const uint8_t *at)
{
    for (int k = 0; k < 4; k++)
        for (int l = 0; l < 32; l++)
            memcpy((uint32_t *)reg_at(w, i->d[k]) + l, at + 16 * l + 4 * k, 4);
}

static inline void store_row_of_4(const struct warp *w, const struct code_ins *i, uint8_t *at)
{
    for (int k = 0; k < 4; k++)
        for (int l = 0; l < 32; l++)
            memcpy(at + 16 * l + 4 * k, (const uint32_t *)reg_at(w, i->s[k]) + l, 4);
}
#endif

static inline bool is_row_of_4(const struct code_ins *i, const struct mem_row *row, const uint32_t *regs, uint8_t wide)
{
    return i->vec == 4 && i->bytes == 4 && wide == 0 && row->shape == SHAPE_ROW && regs[0] != CODE_NONE &&
           regs[1] != CODE_NONE && regs[2] != CODE_NONE && regs[3] != CODE_NONE;
}

/* Any load, the slow way: lane by lane. */
__attribute__((noinline)) static void load_lanes(struct warp *w, const struct code_ins *i)
{
    uint64_t addr[32];
    uint32_t mask = resolve_any(w, i, addr);
    for (uint32_t k = 0; k < i->vec; k++)
        if (i->d[k] != CODE_NONE)
            load_element(w, i, k, addr, mask);
}

__attribute__((noinline)) static void store_each_lane(struct warp *w, const struct code_ins *i)
{
    uint64_t addr[32];
    uint32_t mask = resolve_any(w, i, addr);
    for (uint32_t k = 0; k < i->vec; k++) {
        uint32_t offset = k * i->bytes;
        const uint32_t *narrow = reg_at(w, i->s[k]);
        if (i->bytes == 4 && !(i->s_wide >> k & 1)) {
            for (uint32_t m = mask; m; m &= m - 1) {
                int l = __builtin_ctz(m);
                memcpy(host(addr[l]) + offset, &narrow[l], 4);
            }
            continue;
        }
        for (uint32_t m = mask; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            uint64_t v = lane_bits(w, i, (int)k, l);
            memcpy(host(addr[l]) + offset, &v, i->bytes); /* little endian: the low bytes come first */
        }
    }
}

static void op_ld_any(struct warp *w, const struct code_ins *i)
{
    struct mem_row *row = &w->ctx->mem_rows[i->stat];
    struct repeat r;
    if (!may_repeat(i) || !repeats(w, i, row, (uint32_t)i->bytes * i->vec, i->space == PTX_SPACE_SHARED, &r)) {
        load_lanes(w, i);
        return;
    }
    if (is_row_of_4(i, row, i->d, i->d_wide)) {
        load_row_of_4(w, i, repeat_at(&r));
        return;
    }
    for (uint32_t k = 0; k < i->vec; k++)
        if (i->d[k] != CODE_NONE)
            gather_element(w, i, k, repeat_at(&r) + (size_t)k * i->bytes, row);
}

static void op_st_any(struct warp *w, const struct code_ins *i)
{
    struct mem_row *row = &w->ctx->mem_rows[i->stat];
    struct repeat r;
    if (!may_repeat(i) || !repeats(w, i, row, (uint32_t)i->bytes * i->vec, i->space == PTX_SPACE_SHARED, &r)) {
        store_each_lane(w, i);
        return;
    }
    if (is_row_of_4(i, row, i->s, i->s_wide)) {
        store_row_of_4(w, i, repeat_at(&r));
        return;
    }
    for (uint32_t k = 0; k < i->vec; k++)
        scatter_element(w, i, k, repeat_at(&r) + (size_t)k * i->bytes, row);
}

/* Kernel parameters at a fixed offset: one value for all lanes. */
static void op_ld_param(struct warp *w, const struct code_ins *i)
{
    for (uint32_t k = 0; k < i->vec; k++) {
        uint64_t v = read_bytes(w->ctx->params + i->imm + (uint64_t)k * i->bytes, i->bytes, i->flags & CODE_SIGNED);
        if (i->d[k] == CODE_NONE)
            continue;
        if (i->d_wide >> k & 1) {
            uint64_t temp[32];
            LANES
            temp[l] = v;
            store_64(w, i->d[k], temp);
        } else {
            uint32_t temp[32];
            LANES
            temp[l] = (uint32_t)v;
            store_32(w, i->d[k], temp);
        }
    }
}

/* --- 4-byte accesses, the usual ones: the general case without its questions --- */

static inline void load_b32(struct warp *w, const struct code_ins *i, bool is_shared)
{
    struct mem_row *row = &w->ctx->mem_rows[i->stat];
    struct repeat r;
    if (repeats(w, i, row, 4, is_shared, &r))
        gather_32(reg_at(w, i->d[0]), repeat_at(&r), row, 4);
    else
        load_lanes(w, i);
}

static inline void store_b32(struct warp *w, const struct code_ins *i, bool is_shared)
{
    struct mem_row *row = &w->ctx->mem_rows[i->stat];
    struct repeat r;
    if (repeats(w, i, row, 4, is_shared, &r))
        scatter_32(reg_at(w, i->s[0]), repeat_at(&r), row, 4);
    else
        store_each_lane(w, i);
}

static void op_ld_global_b32(struct warp *w, const struct code_ins *i)
{
    load_b32(w, i, false);
}

static void op_st_global_b32(struct warp *w, const struct code_ins *i)
{
    store_b32(w, i, false);
}

static void op_ld_shared_b32(struct warp *w, const struct code_ins *i)
{
    load_b32(w, i, true);
}

static void op_st_shared_b32(struct warp *w, const struct code_ins *i)
{
    store_b32(w, i, true);
}

/* --- atomics --- */

static uint64_t atomic_float(const struct code_ins *i, uint64_t old, uint64_t b)
{
    uint8_t t = i->type;
    bool ftz = i->flags & CODE_FTZ;
    if (t == PTX_F16X2)
        return half2_op((uint32_t)old, (uint32_t)b, 0, HALF_ADD);
    if (t == PTX_BF16X2)
        return bf2_op((uint32_t)old, (uint32_t)b, 0, HALF_ADD);
    if (t == PTX_F32) {
        float x = (float)lane_float(old, PTX_F32, ftz), y = (float)lane_float(b, PTX_F32, ftz);
        float r = x + y;
        uint32_t bits;
        memcpy(&bits, &r, sizeof bits);
        return bits;
    }
    return float_lane(lane_float(old, t, ftz) + lane_float(b, t, ftz), t, ftz);
}

static uint64_t atomic_result(const struct code_ins *i, uint64_t old, uint64_t b, uint64_t c)
{
    bool is_signed = i->flags & CODE_SIGNED;
    bool is_less = is_signed ? (int64_t)extend(b, i->bytes, true) < (int64_t)extend(old, i->bytes, true) : b < old;
    switch (i->type2) {
    case AT_ADD:
        return i->type == PTX_F16X2 || i->type == PTX_BF16X2 || is_float_type(i->type) ? atomic_float(i, old, b)
                                                                                       : old + b;
    case AT_MIN:
        return is_less ? b : old;
    case AT_MAX:
        return is_less ? old : b;
    case AT_INC:
        return old >= b ? 0 : old + 1;
    case AT_DEC:
        return old == 0 || old > b ? b : old - 1;
    case AT_CAS:
        return old == b ? c : old;
    case AT_EXCH:
        return b;
    case AT_AND:
        return old & b;
    case AT_OR:
        return old | b;
    default:
        return old ^ b;
    }
}

/* Lanes whose swap succeeds: one a bank in each part of the warp that is served at once, and one an address. */
static uint32_t winners_of(const uint64_t addr[32], uint32_t mask, uint32_t words)
{
    uint32_t part = 32 / words, won = 0;
    for (uint32_t first = 0; first < 32; first += part) {
        uint32_t banks = 0;
        for (uint32_t l = first; l < first + part; l++) {
            uint32_t mine = (words == 2 ? 3u : 1u) << (addr[l] >> 2 & 31u), is_taken = 0;
            for (uint32_t m = won; m; m &= m - 1)
                is_taken |= addr[__builtin_ctz(m)] == addr[l];
            if (!(mask >> l & 1) || (banks & mine) || is_taken)
                continue;
            banks |= mine;
            won |= 1u << l;
        }
    }
    return won;
}

/* Rows of the instruction: swaps, then the loads before them. An H200 counts so (tests/gpu/results, calibrate). */
static void count_retries(struct warp *w, const struct code_ins *i, const uint64_t addr[32])
{
    struct mem_row *swaps = &w->ctx->mem_rows[i->stat], *loads = swaps + 1;
    uint32_t words = i->bytes == 8 ? 2 : 1, part = 32 / words;
    struct code_ins load = *i;
    load.op = OP_ld_any;
    for (uint32_t left = w->mask; left;) {
        uint32_t lanes = (uint32_t)__builtin_popcount(left), parts = 0;
        count_pattern(loads, &load, addr, left, i->bytes, RULE_BANKS);
        for (uint32_t first = 0; first < 32; first += part)
            parts += (left >> first & (part == 32 ? UINT32_MAX : (1u << part) - 1)) != 0;
        swaps->sum.requests++;
        swaps->sum.lanes += lanes;
        swaps->sum.bytes += (uint64_t)lanes * i->bytes;
        swaps->sum.wavefronts += 2ull * parts;
        swaps->sum.wavefronts_ideal += 2ull * parts;
        left &= ~winners_of(addr, left, words);
    }
    swaps->sum.same_address += ws_access_same_address(addr, w->mask);
}

static void op_atom(struct warp *w, const struct code_ins *i)
{
    struct mem_row *row = &w->ctx->mem_rows[i->stat];
    uint64_t old[32] = {0};
    uint64_t addr[32];
    uint32_t mask;
    pthread_mutex_t *lock = i->space == PTX_SPACE_SHARED ? NULL : w->ctx->atomic_lock; /* a block has one worker */
    lane_addresses(w, i, addr);
    if (i->space == PTX_SPACE_GENERIC)
        row->sum.same_address += ws_access_same_address(addr, w->mask); /* else with the pattern */
    if (i->flags & CODE_RETRIES) {                                      /* what is accessed is not what is counted */
        count_retries(w, i, addr);
        mask = resolve_at(w, i, i->stat + 2, i->space, addr, w->mask);
    } else {
        mask = resolve_any(w, i, addr);
    }
    if (lock)
        pthread_mutex_lock(lock);
    for (uint32_t m = mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        uint64_t b = extend(lane_bits(w, i, 0, l), i->bytes, false);
        uint64_t c = i->type2 == AT_CAS ? extend(lane_bits(w, i, 1, l), i->bytes, false) : 0;
        uint64_t v;
        old[l] = read_bytes(host(addr[l]), i->bytes, false);
        v = atomic_result(i, old[l], b, c);
        memcpy(host(addr[l]), &v, i->bytes);
    }
    if (lock)
        pthread_mutex_unlock(lock);
    if ((i->flags & CODE_RETURNS) && i->d[0] != CODE_NONE)
        store_lanes(w, i, 0, old);
}

/* Lanes that give ldmatrix an address: 8 for each matrix. */
static inline uint32_t matrix_lanes(const struct code_ins *i)
{
    return i->type2 == 4 ? UINT32_MAX : (1u << (8 * i->type2)) - 1;
}

/* ldmatrix: lane 8m + r has the address of row r (16 bytes) of matrix m; lane l gets two neighbours of row l / 4, or
 * of column l / 4 when transposed. */
static void op_ldmatrix(struct warp *w, const struct code_ins *i)
{
    uint64_t addr[32];
    uint16_t rows[32][8] = {{0}};
    uint32_t good;
    lane_addresses(w, i, addr);
    for (int l = 0; l < 32; l++)
        (void)window_of(&addr[l]);
    good = resolve(w, i, PTX_SPACE_SHARED, addr, w->mask & matrix_lanes(i));
    for (uint32_t m = good; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        memcpy(rows[l], host(addr[l]), sizeof rows[l]);
    }
    for (uint32_t k = 0; k < i->type2; k++) {
        uint32_t temp[32];
        for (uint32_t l = 0; l < 32; l++) {
            uint32_t line = l / 4, pair = l % 4 * 2;
            uint32_t low = i->boolean ? rows[8 * k + pair][line] : rows[8 * k + line][pair];
            uint32_t high = i->boolean ? rows[8 * k + pair + 1][line] : rows[8 * k + line][pair + 1];
            temp[l] = low | high << 16;
        }
        if (i->d[k] != CODE_NONE)
            store_32(w, i->d[k], temp);
    }
}

/* cp.async: done at once; the wait group finds it done. s[0]: address in global memory, s[1]: bytes to copy. */
static void op_cp_async(struct warp *w, const struct code_ins *i)
{
    uint32_t mask;
    uint64_t addr[32];
    uint64_t to[32];
    const uint64_t *global = reg_at(w, i->s[0]);
    uint64_t limit = w->ctx->shared_bytes;
    lane_addresses(w, i, to);
    LANES
    addr[l] = global[l];
    for (int l = 0; l < 32; l++)
        if (window_of(&to[l]) == PTX_SPACE_LOCAL)
            to[l] = UINT64_MAX;
    mask = resolve(w, i, PTX_SPACE_GLOBAL, addr, w->mask);
    for (uint32_t m = mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        uint64_t n = i->s[1] != CODE_NONE ? lane_bits(w, i, 1, l) : i->bytes;
        if (to[l] >= limit || limit - to[l] < i->bytes) {
            exec_fault(w, i, FAULT_BOUNDS, (uint32_t)l, to[l]);
            continue;
        }
        n = n < i->bytes ? n : i->bytes;
        memset(w->ctx->shared + to[l], 0, i->bytes);
        memcpy(w->ctx->shared + to[l], host(addr[l]), n);
    }
}
