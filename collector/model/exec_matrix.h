/* SPDX-License-Identifier: MIT
 * exec_matrix.h: products of matrices and how they get in and out of registers. Part of exec_body.h. No guard: see
 * there. mma, ldmatrix, stmatrix: lanes hold what the PTX ISA says. wmma: it says nothing; here the accumulator lies as
 * in mma (tiles of 8 by 8, rows first) and each lane has neighbours of the other two, so values are right, accesses are
 * ours. Sums are formed in double precision and rounded once, on a GPU after each group of products, and cut: last bits
 * differ. */

/* One element of a matrix in a register of a fragment, as a number. */
static double matrix_value(uint8_t type, uint64_t bits, uint32_t place)
{
    uint32_t word = (uint32_t)bits;
    float f;
    double d;
    switch (type) {
    case MATRIX_F64:
        memcpy(&d, &bits, sizeof d);
        return d;
    case MATRIX_F16:
        return half_to_double((uint16_t)(word >> (16 * place)));
    case MATRIX_BF16:
        return (double)bf16_to_float((uint16_t)(word >> (16 * place)));
    case MATRIX_E4M3:
        return fp8_to_double((uint8_t)(word >> (8 * place)), 4);
    case MATRIX_E5M2:
        return fp8_to_double((uint8_t)(word >> (8 * place)), 5);
    case MATRIX_S8:
        return (double)(int8_t)(word >> (8 * place));
    case MATRIX_U8:
        return (double)(uint8_t)(word >> (8 * place));
    case MATRIX_S4:
        return (double)((int32_t)(word << (28 - 4 * place)) >> 28);
    case MATRIX_U4:
        return (double)(word >> (4 * place) & 15u);
    case MATRIX_S32:
        return (double)(int32_t)word;
    case MATRIX_TF32:
        word &= 0xffffe000u; /* the tensor core does not see the low 13 bits */
        memcpy(&f, &word, sizeof f);
        return (double)f;
    default:
        memcpy(&f, &word, sizeof f);
        return (double)f;
    }
}

/* Elements in one register; a word of single bits is one element. */
static uint32_t matrix_packed(uint8_t type)
{
    switch (type) {
    case MATRIX_F16:
    case MATRIX_BF16:
        return 2;
    case MATRIX_E4M3:
    case MATRIX_E5M2:
    case MATRIX_S8:
    case MATRIX_U8:
        return 4;
    case MATRIX_S4:
    case MATRIX_U4:
        return 8;
    default:
        return 1;
    }
}

static uint64_t matrix_register(const struct warp *w, uint32_t offset, uint8_t type, uint32_t lane)
{
    return type == MATRIX_F64 ? ((const uint64_t *)reg_at(w, offset))[lane]
                              : ((const uint32_t *)reg_at(w, offset))[lane];
}

struct matrix_place {
    uint32_t row, column;
};

/* Where element `slot` of a lane's fragment of the first (m by k) or second (k by n, by columns) factor lies. */
static struct matrix_place factor_place(const struct code_matrix *m, bool is_a, uint32_t lane, uint32_t slot)
{
    uint32_t packed = matrix_packed(is_a ? m->a : m->b), k = m->a == MATRIX_B1 ? m->k / 32u : m->k;
    struct matrix_place p;
    if (m->is_wmma) { /* neighbours along k; more registers than elements: they come again */
        uint32_t share = (is_a ? m->m : m->n) * k / 32u;
        uint32_t at = lane * share + slot % share;
        return (struct matrix_place){at / k, at % k};
    }
    uint32_t reg = slot / packed, tile = m->m == 16 && is_a ? reg >> 1 : reg;
    p.row = lane / 4 + (is_a && m->m == 16 ? 8 * (reg & 1) : 0);
    p.column = lane % 4 * packed + tile * 4 * packed + slot % packed;
    return p;
}

/* The accumulator: pairs of neighbours in tiles of 8 by 8, tiles below each other first. */
static struct matrix_place sum_place(const struct code_matrix *m, uint32_t lane, uint32_t slot)
{
    uint32_t tile = slot / 2, down = m->m / 8u;
    return (struct matrix_place){tile % down * 8 + lane / 4, tile / down * 8 + lane % 4 * 2 + slot % 2};
}

#define MATRIX_SIDE 32
#define MATRIX_DEPTH 64

struct matrices {
    double a[MATRIX_SIDE][MATRIX_DEPTH], b[MATRIX_SIDE][MATRIX_DEPTH]; /* b by columns */
    double c[MATRIX_SIDE][MATRIX_SIDE];
    uint32_t a_bits[16][8], b_bits[8][8]; /* of single bits: words along k */
};

static void gather_factor(const struct warp *w, const struct code_wide *wide, bool is_a, struct matrices *x)
{
    const struct code_matrix *m = &wide->matrix;
    uint8_t type = is_a ? m->a : m->b;
    const uint32_t *regs = wide->s + (is_a ? 0 : m->a_n);
    uint32_t packed = matrix_packed(type), n = is_a ? m->a_n : m->b_n;
    for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t r = 0; r < n; r++) {
            uint64_t bits = matrix_register(w, regs[r], type, lane);
            for (uint32_t e = 0; e < packed; e++) {
                struct matrix_place p = factor_place(m, is_a, lane, r * packed + e);
                if (type == MATRIX_B1)
                    (is_a ? x->a_bits : x->b_bits)[p.row][p.column] = (uint32_t)bits;
                else
                    (is_a ? x->a : x->b)[p.row][p.column] = matrix_value(type, bits, e);
            }
        }
}

static void gather_sum(const struct warp *w, const struct code_wide *wide, struct matrices *x)
{
    const struct code_matrix *m = &wide->matrix;
    const uint32_t *regs = wide->s + m->a_n + m->b_n;
    uint32_t packed = matrix_packed(m->c);
    for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t r = 0; r < m->c_n; r++) {
            uint64_t bits = matrix_register(w, regs[r], m->c, lane);
            for (uint32_t e = 0; e < packed; e++) {
                struct matrix_place p = sum_place(m, lane, r * packed + e);
                x->c[p.row][p.column] = matrix_value(m->c, bits, e);
            }
        }
}

static void multiply(const struct code_matrix *m, struct matrices *x)
{
    for (uint32_t r = 0; r < m->m; r++)
        for (uint32_t c = 0; c < m->n; c++) {
            double sum = x->c[r][c];
            if (m->a == MATRIX_B1)
                for (uint32_t k = 0; k < m->k / 32u; k++) {
                    uint32_t a = x->a_bits[r][k], b = x->b_bits[c][k];
                    sum += __builtin_popcount(m->is_and ? a & b : a ^ b);
                }
            else if (m->a == MATRIX_F64)
                for (uint32_t k = 0; k < m->k; k++)
                    sum = __builtin_fma(x->a[r][k], x->b[c][k], sum);
            else
                for (uint32_t k = 0; k < m->k; k++)
                    sum += x->a[r][k] * x->b[c][k];
            x->c[r][c] = sum;
        }
}

static uint64_t matrix_bits(const struct code_matrix *m, double v)
{
    uint64_t bits;
    uint32_t word;
    float f = (float)v;
    switch (m->d) {
    case MATRIX_F64:
        memcpy(&bits, &v, sizeof bits);
        return bits;
    case MATRIX_F16:
        return double_to_half(v);
    case MATRIX_S32:
        return m->saturates ? (uint32_t)(v > INT32_MAX   ? INT32_MAX
                                         : v < INT32_MIN ? INT32_MIN
                                                         : (int32_t)v)
                            : (uint32_t)(int64_t)v;
    default:
        memcpy(&word, &f, sizeof word);
        return word;
    }
}

static void scatter_sum(struct warp *w, const struct code_wide *wide, const struct matrices *x)
{
    const struct code_matrix *m = &wide->matrix;
    uint32_t packed = matrix_packed(m->d);
    for (uint32_t r = 0; r < wide->d_n; r++) {
        uint64_t out[32] = {0};
        uint32_t low[32];
        for (uint32_t lane = 0; lane < 32; lane++)
            for (uint32_t e = 0; e < packed; e++) {
                struct matrix_place p = sum_place(m, lane, r * packed + e);
                out[lane] |= matrix_bits(m, x->c[p.row][p.column]) << (16 * e);
            }
        if (wide->d[r] == CODE_NONE)
            continue;
        if (m->d == MATRIX_F64) {
            store_64(w, wide->d[r], out);
            continue;
        }
        LANES
        low[l] = (uint32_t)out[l];
        store_32(w, wide->d[r], low);
    }
}

static void op_mma(struct warp *w, const struct code_ins *i)
{
    const struct code_wide *wide = &w->ctx->code->wide[i->wide];
    struct matrices x;
    gather_factor(w, wide, true, &x);
    gather_factor(w, wide, false, &x);
    gather_sum(w, wide, &x);
    multiply(&wide->matrix, &x);
    scatter_sum(w, wide, &x);
}

/* --- wmma.load and wmma.store: an access per element of a lane, or per register of elements that are neighbours --- */

struct wmma_walk {
    uint32_t pieces, per_piece; /* accesses of a lane; elements of each */
    uint32_t bytes;             /* of one access */
};

static uint32_t register_bits(const struct code_matrix *m)
{
    return m->a == MATRIX_F64 ? 64 : 32;
}

/* Address of a lane's element: row and column times the stride, in elements. */
static uint64_t element_offset(const struct code_matrix *m, uint32_t lane, uint32_t slot, uint32_t stride)
{
    struct matrix_place p;
    uint64_t at;
    if (m->part == 'c') {
        p = sum_place(m, lane, slot);
    } else {
        p = factor_place(m, m->part == 'a', lane, slot);
        if (m->part == 'b') /* by columns */
            p = (struct matrix_place){p.column, p.row};
    }
    at = m->is_column ? (uint64_t)p.column * stride + p.row : (uint64_t)p.row * stride + p.column;
    return m->a == MATRIX_B1 ? (m->is_column ? (uint64_t)p.column * (stride / 32) + p.row
                                             : (uint64_t)p.row * (stride / 32) + p.column) *
                                   4
                             : at * m->bits / 8;
}

/* Count the access and find its bytes; the lanes that may touch them. */
static uint32_t wmma_resolve(struct warp *w, const struct code_ins *i, uint64_t *addr, bool writes)
{
    uint32_t left = w->mask, good = 0, stat = i->stat;
    if (i->type2 != WMMA_OWN) /* counted apart */
        stat += i->space == PTX_SPACE_GENERIC ? 3 : 1;
    while (left) {
        uint64_t part[32];
        uint8_t space[32], now;
        uint32_t same = 0;
        for (int l = 0; l < 32; l++) {
            part[l] = addr[l];
            space[l] = i->space == PTX_SPACE_GENERIC ? window_of(&part[l]) : i->space;
        }
        now = space[__builtin_ctz(left)];
        for (int l = 0; l < 32; l++)
            same |= (uint32_t)(space[l] == now) << l;
        same &= left;
        if (w->ctx->checks && now == PTX_SPACE_SHARED)
            check_shared(w, i, part, same, i->bytes, !writes, writes);
        else if (w->ctx->checks && now == PTX_SPACE_GLOBAL)
            check_global(w, i, part, same, i->bytes, !writes, writes);
        good |= resolve_at(w, i, stat, now, part, same);
        for (int l = 0; l < 32; l++)
            if (same >> l & 1)
                addr[l] = part[l];
        left &= ~same;
    }
    return good;
}

/* Elements of one access of a piece: all of a register where memory has them side by side, else one. */
static struct wmma_walk wmma_walk_of(const struct code_wide *wide, const struct code_ins *i)
{
    const struct code_matrix *m = &wide->matrix;
    uint32_t registers = wide->d_n + wide->s_n, packed = matrix_packed(m->a);
    struct wmma_walk walk = {.pieces = registers * packed, .per_piece = 1, .bytes = i->bytes};
    if (m->bits < 8) { /* s4, u4: only whole registers */
        walk.pieces = registers;
        walk.per_piece = packed;
    }
    return walk;
}

/* Where the lanes' words (or, by ldmatrix, rows) of the tiles from this one on lie; the lanes that have one. */
static uint32_t tile_addresses(const struct code_matrix *m, uint8_t how, uint32_t tile, const uint64_t base[32],
                               const uint32_t stride[32], uint64_t addr[32])
{
    uint32_t rows = m->part == 'b' ? m->k : m->m, columns = m->part == 'a' ? m->k : m->n;
    uint32_t down = (m->is_column ? columns : rows) / 8, tiles = rows * columns / 64, mask = 0;
    for (uint32_t l = 0; l < 32; l++) {
        uint32_t t = tile + (how == WMMA_LDSM ? l / 8 : 0);
        uint32_t line = how == WMMA_LDSM ? l % 8 : l / 4, cell = how == WMMA_LDSM ? 0 : l % 4 * 2;
        uint64_t along = t / down * 8ull + cell;
        addr[l] = base[l] + 2 * ((t % down * 8ull + line) * stride[l] + along);
        mask |= (uint32_t)(t < tiles) << l;
    }
    return mask;
}

/* Requests of a factor of 16-bit values, whatever lane the model keeps them in: by tiles of 8 lines (what lies side by
 * side in memory) of 8 values. */
static void count_wmma(struct warp *w, const struct code_ins *i, const uint64_t base[32], const uint32_t stride[32])
{
    const struct code_matrix *m = &w->ctx->code->wide[i->wide].matrix;
    uint32_t tiles = (m->part == 'b' ? m->k : m->m) * (m->part == 'a' ? m->k : m->n) / 64u;
    uint64_t first = base[0];
    uint8_t space = i->space == PTX_SPACE_GENERIC ? window_of(&first) : i->space;
    enum pattern_rule rule = space == PTX_SPACE_SHARED  ? RULE_BANKS
                             : space == PTX_SPACE_LOCAL ? RULE_LOCAL
                                                        : RULE_SECTORS;
    uint32_t offset = i->space != PTX_SPACE_GENERIC || space == PTX_SPACE_GLOBAL ? 0
                      : space == PTX_SPACE_SHARED                                ? 1
                                                                                 : 2;
    struct code_ins one = *i;
    one.bytes = i->type2 == WMMA_LDSM ? 16 : 4;
    for (uint32_t tile = 0; tile < tiles; tile += i->type2 == WMMA_LDSM ? 4 : 1) {
        uint64_t addr[32];
        uint32_t mask = w->mask & tile_addresses(m, i->type2, tile, base, stride, addr);
        for (int l = 0; l < 32 && i->space == PTX_SPACE_GENERIC; l++)
            (void)window_of(&addr[l]);
        if (mask)
            count_pattern(&w->ctx->mem_rows[i->stat + offset], &one, addr, mask, one.bytes, rule);
    }
}

static void op_wmma_load(struct warp *w, const struct code_ins *i)
{
    const struct code_wide *wide = &w->ctx->code->wide[i->wide];
    const struct code_matrix *m = &wide->matrix;
    uint32_t stride[32]; /* its place may be a result's */
    struct wmma_walk walk = wmma_walk_of(wide, i);
    uint32_t packed = matrix_packed(m->a) / walk.per_piece, shift = register_bits(m) / packed;
    uint64_t base[32], out[32] = {0};
    lane_addresses(w, i, base);
    memcpy(stride, reg_at(w, i->s[0]), sizeof stride);
    if (i->type2 != WMMA_OWN)
        count_wmma(w, i, base, stride);
    for (uint32_t piece = 0; piece < walk.pieces; piece++) {
        uint32_t reg = piece / packed, low[32], good;
        uint64_t addr[32];
        for (uint32_t l = 0; l < 32; l++)
            addr[l] = base[l] + element_offset(m, l, piece * walk.per_piece, stride[l]);
        good = wmma_resolve(w, i, addr, false);
        for (uint32_t g = good; g; g &= g - 1) {
            int l = __builtin_ctz(g);
            out[l] |= read_bytes(host(addr[l]), walk.bytes, false) << (piece % packed * (packed > 1 ? shift : 0));
        }
        if ((piece + 1) % packed != 0)
            continue;
        if (wide->d[reg] != CODE_NONE && m->a == MATRIX_F64) {
            store_64(w, wide->d[reg], out);
        } else if (wide->d[reg] != CODE_NONE) {
            LANES
            low[l] = (uint32_t)out[l];
            store_32(w, wide->d[reg], low);
        }
        memset(out, 0, sizeof out);
    }
}

static void op_wmma_store(struct warp *w, const struct code_ins *i)
{
    const struct code_wide *wide = &w->ctx->code->wide[i->wide];
    const struct code_matrix *m = &wide->matrix;
    const uint32_t *stride = reg_at(w, i->s[0]);
    struct wmma_walk walk = wmma_walk_of(wide, i);
    uint32_t packed = matrix_packed(m->a) / walk.per_piece, shift = register_bits(m) / packed;
    uint64_t base[32];
    lane_addresses(w, i, base);
    for (uint32_t piece = 0; piece < walk.pieces; piece++) {
        uint64_t addr[32];
        uint32_t good;
        for (uint32_t l = 0; l < 32; l++)
            addr[l] = base[l] + element_offset(m, l, piece * walk.per_piece, stride[l]);
        good = wmma_resolve(w, i, addr, true);
        for (uint32_t g = good; g; g &= g - 1) {
            int l = __builtin_ctz(g);
            uint64_t v = matrix_register(w, wide->s[piece / packed], m->a, (uint32_t)l) >>
                         (packed > 1 ? piece % packed * shift : 0);
            memcpy(host(addr[l]), &v, walk.bytes);
        }
    }
}

/* --- stmatrix, movmatrix --- */

/* stmatrix: what ldmatrix does, the other way. */
static void op_stmatrix(struct warp *w, const struct code_ins *i)
{
    uint64_t addr[32];
    uint16_t rows[32][8] = {{0}};
    uint32_t good;
    for (uint32_t k = 0; k < i->type2; k++) {
        const uint32_t *v = reg_at(w, i->s[k]);
        for (uint32_t l = 0; l < 32; l++) {
            uint32_t line = l / 4, pair = l % 4 * 2;
            for (uint32_t h = 0; h < 2; h++) {
                uint16_t half = (uint16_t)(v[l] >> (16 * h));
                if (i->boolean)
                    rows[8 * k + pair + h][line] = half;
                else
                    rows[8 * k + line][pair + h] = half;
            }
        }
    }
    lane_addresses(w, i, addr);
    for (int l = 0; l < 32; l++)
        (void)window_of(&addr[l]);
    good = resolve(w, i, PTX_SPACE_SHARED, addr, w->mask & matrix_lanes(i));
    for (uint32_t m = good; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        memcpy(host(addr[l]), rows[l], sizeof rows[l]);
    }
}

/* An 8 by 8 matrix of halves, transposed among the lanes. */
static void op_movmatrix(struct warp *w, const struct code_ins *i)
{
    const uint32_t *v = reg_at(w, i->s[0]);
    uint32_t out[32];
    for (uint32_t l = 0; l < 32; l++) {
        uint32_t row = l / 4, pair = l % 4 * 2; /* my row of the result is a column of the source */
        uint32_t shift = row % 2 * 16;
        uint32_t low = v[pair * 4 + row / 2] >> shift & 0xffffu, high = v[(pair + 1) * 4 + row / 2] >> shift & 0xffffu;
        out[l] = low | high << 16;
    }
    store_32(w, i->d[0], out);
}
