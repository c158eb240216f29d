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

static inline void count_request(struct mem_row *row, uint32_t lanes, uint32_t bytes)
{
    row->requests++;
    row->lanes += lanes;
    row->bytes += (uint64_t)lanes * bytes;
}

/* Does [at, at+bytes) lie in one allocation? Fills the row's cache. */
static inline bool in_bounds(struct warp *w, struct mem_row *row, uint64_t at, uint64_t bytes)
{
    if (at >= row->lo && at < row->hi && row->hi - at >= bytes)
        return true;
    return memory_find(w->ctx->memory, at, &row->lo, &row->hi) && row->hi - at >= bytes;
}

/* Counts of an irregular request: reused when mask, phase and lane distances are those of the last time. */
static void count_pattern(struct mem_row *row, const uint64_t *addr, uint32_t mask, uint32_t bytes, bool is_shared)
{
    uint64_t first = addr[__builtin_ctz(mask)];
    uint32_t delta[32];
    uint32_t differs = 0;
    uint64_t far = 0; /* lanes more than 2 GiB apart: nothing to remember */
    LANES
    {
        uint64_t active = 0ull - (uint64_t)((mask >> l) & 1u);
        uint64_t d = (addr[l] - first) & active;
        far |= (d + 0x80000000u) >> 32;
        delta[l] = (uint32_t)d;
    }
    LANES
    differs |= delta[l] ^ row->pattern[l];
    if (differs != 0 || far != 0 || row->pattern_mask != mask || row->pattern_phase != (uint32_t)(first & 127)) {
        row->pattern_mask = far ? 0 : mask;
        row->pattern_phase = (uint32_t)(first & 127);
        memcpy(row->pattern, delta, sizeof delta);
        if (is_shared) {
            struct ws_banks b;
            ws_access_banks(addr, mask, bytes, &b);
            row->pattern_wavefronts = b.wavefronts;
            row->pattern_wavefronts_ideal = b.ideal;
        } else {
            struct ws_sectors s;
            ws_access_sectors(addr, mask, bytes, &s);
            row->pattern_sectors = s.sectors;
            row->pattern_ideal = s.ideal;
            row->pattern_lines = s.lines;
            row->pattern_used = s.bytes;
        }
    }
    count_request(row, (uint32_t)__builtin_popcount(mask), bytes);
    if (is_shared) {
        row->wavefronts += row->pattern_wavefronts;
        row->wavefronts_ideal += row->pattern_wavefronts_ideal;
    } else {
        row->sectors += row->pattern_sectors;
        row->ideal += row->pattern_ideal;
        row->lines += row->pattern_lines;
        row->used_bytes += row->pattern_used;
    }
}

/* Local memory is interleaved by 4-byte words of the 32 lanes, so equal offsets lie side by side. */
static void count_local(struct mem_row *row, const uint64_t *addr, uint32_t mask, uint32_t bytes)
{
    uint32_t words = bytes > 4 ? bytes / 4 : 1;
    uint64_t place[32];
    for (uint32_t k = 0; k < words; k++) {
        struct ws_sectors s;
        for (uint32_t l = 0; l < 32; l++)
            place[l] = ((addr[l] / 4 + k) * 32 + l) * 4 + addr[l] % 4;
        ws_access_sectors(place, mask, bytes < 4 ? bytes : 4, &s);
        row->sectors += s.sectors;
        row->ideal += s.ideal;
        row->lines += s.lines;
        row->used_bytes += s.bytes;
    }
    count_request(row, (uint32_t)__builtin_popcount(mask), bytes);
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

/* Count the lanes `mask` of one space and turn their addresses into host addresses, in place. Returns the lanes
 * whose bytes may be touched. */
static uint32_t resolve(struct warp *w, const struct code_ins *i, uint8_t space, uint64_t *addr, uint32_t mask)
{
    struct exec_ctx *ctx = w->ctx;
    /* a generic instruction has a row per space it may turn out to touch */
    uint32_t offset = i->space != PTX_SPACE_GENERIC ? 0
                      : space == PTX_SPACE_SHARED   ? 1
                      : space == PTX_SPACE_LOCAL    ? 2
                                                    : 0;
    struct mem_row *row = &ctx->mem_rows[i->stat + offset];
    uint32_t bytes = (uint32_t)i->bytes * i->vec;
    uint64_t limit = ctx->code->local_bytes;
    uint64_t base = 0;
    switch (space) {
    case PTX_SPACE_SHARED:
        count_pattern(row, addr, mask, i->count_bytes, true); /* of a merged load: not shown (result.c) */
        if (!all_inside(addr, mask, 0, ctx->shared_bytes, bytes))
            mask = checked_lanes(w, i, row, addr, mask, 0, ctx->shared_bytes ? ctx->shared_bytes : 1, bytes);
        base = (uint64_t)(uintptr_t)ctx->shared;
        break;
    case PTX_SPACE_LOCAL:
    case PTX_SPACE_FRAME:
        if (space == PTX_SPACE_LOCAL)
            count_local(row, addr, mask, bytes);
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
        count_pattern(row, addr, mask, bytes, false);
        if (!all_inside(addr, mask, row->lo, row->hi, bytes))
            mask = checked_lanes(w, i, row, addr, mask, 0, 0, bytes);
    }
    LANES
    addr[l] += base;
    return mask;
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
    lane_addresses(w, i, addr);
    if (i->space != PTX_SPACE_GENERIC)
        return resolve(w, i, i->space, addr, w->mask);
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

static void op_ld_any(struct warp *w, const struct code_ins *i)
{
    uint64_t addr[32];
    uint32_t mask = resolve_any(w, i, addr);
    for (uint32_t k = 0; k < i->vec; k++)
        if (i->d[k] != CODE_NONE)
            load_element(w, i, k, addr, mask);
}

static void op_st_any(struct warp *w, const struct code_ins *i)
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

/* --- the usual shapes: 4-byte accesses of a full warp, side by side or all one address --- */

struct shape {
    uint64_t first;
    bool is_row, is_same;
};

static inline struct shape shape_64(const uint64_t *a, uint64_t off)
{
    struct shape s;
    uint64_t row = 0, same = 0;
    uint64_t base = a[0];
    LANES
    {
        uint64_t d = a[l] - base;
        same |= d;
        row |= d ^ (uint64_t)(4 * l);
    }
    s.first = base + off;
    s.is_row = row == 0 && (s.first & 3) == 0;
    s.is_same = same == 0 && (s.first & 3) == 0;
    return s;
}

static inline struct shape shape_32(const uint32_t *a, uint32_t off)
{
    struct shape s;
    uint32_t row = 0, same = 0;
    uint32_t base = a[0];
    LANES
    {
        uint32_t d = a[l] - base;
        same |= d;
        row |= d ^ (uint32_t)(4 * l);
    }
    s.first = (uint32_t)(base + off);
    s.is_row = row == 0 && (s.first & 3) == 0;
    s.is_same = same == 0 && (s.first & 3) == 0;
    return s;
}

static inline void count_row(struct mem_row *row, uint64_t first)
{
    count_request(row, 32, 4);
    row->sectors += ((first + 127) >> 5) - (first >> 5) + 1;
    row->lines += ((first + 127) >> 7) - (first >> 7) + 1;
    row->ideal += 4;
    row->used_bytes += 128;
}

static void op_ld_global_b32(struct warp *w, const struct code_ins *i)
{
    struct mem_row *row = &w->ctx->mem_rows[i->stat];
    uint32_t *d = reg_at(w, i->d[0]);
    if (w->mask == UINT32_MAX) {
        struct shape s = shape_64(reg_at(w, i->a), (uint64_t)i->imm);
        if (s.is_row && in_bounds(w, row, s.first, 128)) {
            count_row(row, s.first);
            memcpy(d, (const void *)(uintptr_t)s.first, 128);
            return;
        }
        if (s.is_same && in_bounds(w, row, s.first, 4)) {
            uint32_t v;
            memcpy(&v, (const void *)(uintptr_t)s.first, 4);
            count_request(row, 32, 4);
            row->sectors++;
            row->lines++;
            row->ideal++;
            row->used_bytes += 4;
            LANES
            d[l] = v;
            return;
        }
    }
    op_ld_any(w, i);
}

static void op_st_global_b32(struct warp *w, const struct code_ins *i)
{
    struct mem_row *row = &w->ctx->mem_rows[i->stat];
    if (w->mask == UINT32_MAX) {
        struct shape s = shape_64(reg_at(w, i->a), (uint64_t)i->imm);
        if (s.is_row && in_bounds(w, row, s.first, 128)) {
            count_row(row, s.first);
            memcpy((void *)(uintptr_t)s.first, reg_at(w, i->s[0]), 128);
            return;
        }
    }
    op_st_any(w, i);
}

static inline struct shape shared_shape(const struct warp *w, const struct code_ins *i)
{
    return i->flags & CODE_ADDRESS_32 ? shape_32(reg_at(w, i->a), (uint32_t)i->imm)
                                      : shape_64(reg_at(w, i->a), (uint64_t)i->imm);
}

static inline void count_shared_once(struct mem_row *row, const struct code_ins *i)
{
    /* 16 bytes from one address take two passes; 4 and 8 take one (analyzer/access.h) */
    count_request(row, 32, i->count_bytes);
    row->wavefronts += i->count_bytes == 16 ? 2 : 1;
    row->wavefronts_ideal += i->count_bytes == 16 ? 2 : 1;
}

/* The pattern of the last time again, in bounds and aligned: count it and load. */
static inline bool shared_repeats(struct warp *w, const struct code_ins *i, struct mem_row *row, uint32_t *d)
{
    const uint32_t *a = reg_at(w, i->a);
    const uint8_t *shared = w->ctx->shared;
    uint32_t off = (uint32_t)i->imm, base = a[0], differs = 0, all = 0, most = 0;
    uint32_t at[32];
    LANES
    {
        at[l] = a[l] + off;
        differs |= (a[l] - base) ^ row->pattern[l];
        all |= at[l];
        most = at[l] > most ? at[l] : most;
    }
    if (differs != 0 || row->pattern_mask != UINT32_MAX || row->pattern_phase != ((base + off) & 127) ||
        (all & 3) != 0 || (uint64_t)most + 4 > w->ctx->shared_bytes)
        return false;
    count_request(row, 32, i->count_bytes);
    row->wavefronts += row->pattern_wavefronts;
    row->wavefronts_ideal += row->pattern_wavefronts_ideal;
    for (int l = 0; l < 32; l++)
        memcpy(&d[l], shared + at[l], 4);
    return true;
}

static void op_ld_shared_b32(struct warp *w, const struct code_ins *i)
{
    struct exec_ctx *ctx = w->ctx;
    uint32_t *d = reg_at(w, i->d[0]);
    if (w->mask == UINT32_MAX) {
        struct shape s = shared_shape(w, i);
        if (s.is_same && s.first < ctx->shared_bytes && ctx->shared_bytes - s.first >= 4) {
            uint32_t v;
            memcpy(&v, ctx->shared + s.first, 4);
            count_shared_once(&ctx->mem_rows[i->stat], i);
            LANES
            d[l] = v;
            return;
        }
        if (s.is_row && i->count_bytes == 4 && s.first < ctx->shared_bytes && ctx->shared_bytes - s.first >= 128) {
            count_shared_once(&ctx->mem_rows[i->stat], i);
            memcpy(d, ctx->shared + s.first, 128);
            return;
        }
        if ((i->flags & CODE_ADDRESS_32) && shared_repeats(w, i, &ctx->mem_rows[i->stat], d))
            return;
    }
    op_ld_any(w, i);
}

static void op_st_shared_b32(struct warp *w, const struct code_ins *i)
{
    struct exec_ctx *ctx = w->ctx;
    if (w->mask == UINT32_MAX) {
        struct shape s = shared_shape(w, i);
        if (s.is_row && s.first < ctx->shared_bytes && ctx->shared_bytes - s.first >= 128) {
            count_shared_once(&ctx->mem_rows[i->stat], i);
            memcpy(ctx->shared + s.first, reg_at(w, i->s[0]), 128);
            return;
        }
    }
    op_st_any(w, i);
}

/* --- atomics --- */

enum atomic_op { AT_ADD, AT_MIN, AT_MAX, AT_INC, AT_DEC, AT_CAS, AT_EXCH, AT_AND, AT_OR, AT_XOR };

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

static void op_atom(struct warp *w, const struct code_ins *i)
{
    struct mem_row *row = &w->ctx->mem_rows[i->stat];
    uint64_t old[32] = {0};
    uint64_t addr[32];
    uint32_t mask;
    lane_addresses(w, i, addr);
    row->same_address += ws_access_same_address(addr, w->mask);
    mask = resolve_any(w, i, addr);
    if (w->ctx->atomic_lock)
        pthread_mutex_lock(w->ctx->atomic_lock);
    for (uint32_t m = mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        uint64_t b = extend(lane_bits(w, i, 0, l), i->bytes, false);
        uint64_t c = i->type2 == AT_CAS ? extend(lane_bits(w, i, 1, l), i->bytes, false) : 0;
        uint64_t v;
        old[l] = read_bytes(host(addr[l]), i->bytes, false);
        v = atomic_result(i, old[l], b, c);
        memcpy(host(addr[l]), &v, i->bytes);
    }
    if (w->ctx->atomic_lock)
        pthread_mutex_unlock(w->ctx->atomic_lock);
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
    struct code_ins source = *i;
    uint64_t addr[32];
    uint64_t to[32];
    const uint64_t *global = reg_at(w, i->s[0]);
    uint64_t limit = w->ctx->shared_bytes;
    lane_addresses(w, i, to);
    LANES
    addr[l] = global[l];
    source.count_bytes = i->bytes;
    for (int l = 0; l < 32; l++)
        if (window_of(&to[l]) == PTX_SPACE_LOCAL)
            to[l] = UINT64_MAX;
    mask = resolve(w, &source, PTX_SPACE_GLOBAL, addr, w->mask);
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
