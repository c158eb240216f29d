/* SPDX-License-Identifier: MIT
 * slots.c: registers to places in the warp's register file; live ranges that do not overlap share one.
 * Sharing is safe although lanes diverge: a write under a mask leaves the other lanes of the place alone, and
 * only a full mask writes all lanes. A guarded write keeps the old value of the lanes it skips, so it counts
 * as a read too. Constants and special registers keep a place of their own. */
#include "code.h"

#include "../../analyzer/err.h"

#include <stdlib.h>
#include <string.h>

/* Above this the sets would not fit into reasonable memory; every register then keeps its own place. */
#define LIMIT_SET_WORDS (16u << 20)

uint32_t code_reads(const struct code *code, const struct code_ins *in, uint32_t out[CODE_REGS_MAX])
{
    const struct code_wide *wide = in->wide != CODE_NONE ? &code->wide[in->wide] : NULL;
    uint32_t n = 0;
    for (uint32_t k = 0; wide && k < wide->s_n; k++)
        out[n++] = wide->s[k];
    for (int k = 0; k < 4; k++)
        if (in->s[k] != CODE_NONE)
            out[n++] = in->s[k];
    if (in->a != CODE_NONE)
        out[n++] = in->a;
    if (in->guard != CODE_NONE) {
        out[n++] = in->guard;
        n += code_writes(code, in, out + n);
    }
    return n;
}

uint32_t code_writes(const struct code *code, const struct code_ins *in, uint32_t out[CODE_REGS_MAX])
{
    const struct code_wide *wide = in->wide != CODE_NONE ? &code->wide[in->wide] : NULL;
    uint32_t n = 0;
    for (uint32_t k = 0; wide && k < wide->d_n; k++)
        if (wide->d[k] != CODE_NONE)
            out[n++] = wide->d[k];
    for (int k = 0; k < 4; k++)
        if (in->d[k] != CODE_NONE)
            out[n++] = in->d[k];
    return n;
}

struct interval {
    uint32_t reg;
    uint32_t start, end; /* 2 * instruction for reads, + 1 for writes */
};

struct live {
    struct code *code;
    uint32_t words;
    uint64_t *in, *out, *use, *def; /* [blocks_n * words] */
    struct interval *of;            /* [regs_n] */
};

static bool is_virtual(const struct code *c, uint32_t reg)
{
    return c->regs[reg].kind == REG_VIRTUAL;
}

/* All instructions of a block, the ending one included. */
static uint32_t block_end(const struct code_block *b)
{
    return b->ending == CODE_NONE ? b->end : b->ending + 1;
}

static void block_sets(struct live *v, uint32_t b)
{
    const struct code *c = v->code;
    uint64_t *use = v->use + (size_t)b * v->words, *def = v->def + (size_t)b * v->words;
    for (uint32_t k = c->blocks[b].first; k < block_end(&c->blocks[b]); k++) {
        uint32_t regs[CODE_REGS_MAX];
        if (c->ins[k].fold != FOLD_RUNS)
            continue;
        for (uint32_t n = code_reads(c, &c->ins[k], regs); n-- > 0;)
            if (!(def[regs[n] / 64] >> (regs[n] % 64) & 1))
                use[regs[n] / 64] |= 1ull << (regs[n] % 64);
        for (uint32_t n = code_writes(c, &c->ins[k], regs); n-- > 0;)
            def[regs[n] / 64] |= 1ull << (regs[n] % 64);
    }
}

static bool flow_backwards(struct live *v, uint32_t b)
{
    const struct code_block *block = &v->code->blocks[b];
    uint32_t to[2] = {block->next, block->target};
    bool ends = block->kind == END_BRANCH || block->kind == END_EXIT || block->kind == END_RETURN;
    bool falls = !ends || block->guard != CODE_NONE;
    uint64_t *in = v->in + (size_t)b * v->words, *out = v->out + (size_t)b * v->words;
    bool changed = false;
    if (!falls)
        to[0] = CODE_NONE;
    if (block->kind != END_BRANCH)
        to[1] = CODE_NONE;
    for (uint32_t w = 0; w < v->words; w++) {
        uint64_t o = 0, i;
        for (int k = 0; k < 2; k++)
            if (to[k] != CODE_NONE)
                o |= v->in[(size_t)to[k] * v->words + w];
        i = v->use[(size_t)b * v->words + w] | (o & ~v->def[(size_t)b * v->words + w]);
        changed |= i != in[w];
        in[w] = i;
        out[w] = o;
    }
    return changed;
}

static void touch(struct live *v, uint32_t reg, uint32_t at)
{
    struct interval *i = &v->of[reg];
    i->start = at < i->start ? at : i->start;
    i->end = at > i->end ? at : i->end;
}

static void touch_set(struct live *v, const uint64_t *set, uint32_t at)
{
    for (uint32_t w = 0; w < v->words; w++)
        for (uint64_t s = set[w]; s; s &= s - 1)
            touch(v, w * 64 + (uint32_t)__builtin_ctzll(s), at);
}

static void make_intervals(struct live *v, bool have_sets)
{
    const struct code *c = v->code;
    for (uint32_t r = 0; r < c->regs_n; r++)
        v->of[r] = (struct interval){r, UINT32_MAX, 0};
    for (uint32_t b = 0; b < c->blocks_n; b++) {
        uint32_t end = block_end(&c->blocks[b]);
        if (have_sets) {
            touch_set(v, v->in + (size_t)b * v->words, 2 * c->blocks[b].first);
            touch_set(v, v->out + (size_t)b * v->words, 2 * end);
        }
        for (uint32_t k = c->blocks[b].first; k < end; k++) {
            uint32_t regs[CODE_REGS_MAX];
            if (c->ins[k].fold != FOLD_RUNS)
                continue;
            for (uint32_t n = code_reads(c, &c->ins[k], regs); n-- > 0;)
                touch(v, regs[n], 2 * k);
            for (uint32_t n = code_writes(c, &c->ins[k], regs); n-- > 0;)
                touch(v, regs[n], 2 * k + 1);
        }
    }
    if (!have_sets)
        for (uint32_t r = 0; r < c->regs_n; r++)
            v->of[r].end = UINT32_MAX;
}

static int compare_starts(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->reg < y->reg ? -1 : x->reg > y->reg;
}

/* Predicates, 4-byte lanes, 8-byte lanes. */
static uint32_t class_of(const struct code_reg *r)
{
    return r->is_predicate ? 0 : r->bytes == 8 ? 2 : 1;
}

static const uint32_t class_bytes[3] = {4, 128, 256};

struct heap_item {
    uint32_t end, place;
};

static void heap_push(struct heap_item *heap, uint32_t n, struct heap_item item)
{
    while (n > 0 && heap[(n - 1) / 2].end > item.end) {
        heap[n] = heap[(n - 1) / 2];
        n = (n - 1) / 2;
    }
    heap[n] = item;
}

static struct heap_item heap_pop(struct heap_item *heap, uint32_t n)
{
    struct heap_item top = heap[0], last = heap[n - 1];
    uint32_t at = 0;
    n--;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= n)
            break;
        if (child + 1 < n && heap[child + 1].end < heap[child].end)
            child++;
        if (heap[child].end >= last.end)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top;
}

/* Linear scan of one class; places[] gets a place number per register; returns how many places. */
static uint32_t scan_class(const struct code *c, const struct interval *sorted, uint32_t class, uint32_t *places,
                           struct heap_item *heap, uint32_t *free_places)
{
    uint32_t heap_n = 0, free_n = 0, n = 0;
    for (uint32_t k = 0; k < c->regs_n; k++) {
        const struct interval *i = &sorted[k];
        if (i->start == UINT32_MAX || !is_virtual(c, i->reg) || class_of(&c->regs[i->reg]) != class)
            continue;
        while (heap_n > 0 && heap[0].end < i->start)
            free_places[free_n++] = heap_pop(heap, heap_n--).place;
        places[i->reg] = free_n > 0 ? free_places[--free_n] : n++;
        heap_push(heap, heap_n++, (struct heap_item){i->end, places[i->reg]});
    }
    return n;
}

static void rewrite(struct code *c)
{
    for (uint32_t k = 0; k < c->ins_n; k++) {
        struct code_ins *in = &c->ins[k];
        uint32_t *all[10] = {&in->d[0], &in->d[1], &in->d[2], &in->d[3], &in->s[0],
                             &in->s[1], &in->s[2], &in->s[3], &in->a,    &in->guard};
        for (int n = 0; n < 10; n++)
            if (*all[n] != CODE_NONE)
                *all[n] = c->regs[*all[n]].offset;
    }
    for (uint32_t k = 0; k < c->wide_n; k++) {
        for (uint32_t n = 0; n < c->wide[k].d_n; n++)
            if (c->wide[k].d[n] != CODE_NONE)
                c->wide[k].d[n] = c->regs[c->wide[k].d[n]].offset;
        for (uint32_t n = 0; n < c->wide[k].s_n; n++)
            c->wide[k].s[n] = c->regs[c->wide[k].s[n]].offset;
    }
    for (uint32_t b = 0; b < c->blocks_n; b++)
        if (c->blocks[b].guard != CODE_NONE)
            c->blocks[b].guard = c->regs[c->blocks[b].guard].offset;
}

static int place_all(struct code *c, struct interval *sorted)
{
    uint32_t *places = calloc(c->regs_n + 1, sizeof *places);
    uint32_t *free_places = malloc((c->regs_n + 1) * sizeof *free_places);
    struct heap_item *heap = malloc((c->regs_n + 1) * sizeof *heap);
    uint64_t at = 0;
    int err = -WS_ENOMEM;
    if (!places || !free_places || !heap)
        goto out;
    for (uint32_t class = 0; class < 3; class ++) {
        uint32_t n = scan_class(c, sorted, class, places, heap, free_places);
        for (uint32_t r = 0; r < c->regs_n; r++)
            if (is_virtual(c, r) && class_of(&c->regs[r]) == class)
                c->regs[r].offset = (uint32_t)(at + (uint64_t)places[r] * class_bytes[class]);
        at += (uint64_t)n * class_bytes[class] + 4;
        at = (at + 63) & ~63ull;
    }
    c->saved_bytes = (uint32_t)at;
    for (uint32_t class = 3; class -- > 0;) /* the wide ones first: all lie at multiples of their lane */
        for (uint32_t r = 0; r < c->regs_n; r++)
            if (!is_virtual(c, r) && class_of(&c->regs[r]) == class) {
                c->regs[r].offset = (uint32_t)at;
                at += class_bytes[class];
            }
    err = at > (64u << 20) ? -WS_ELIMIT : 0;
    c->file_bytes = (uint32_t)at;
out:
    free(places);
    free(free_places);
    free(heap);
    return err;
}

int slots_assign(struct code *code)
{
    struct live v = {.code = code, .words = (code->regs_n + 63) / 64};
    size_t words = (size_t)code->blocks_n * v.words;
    bool have_sets = words <= LIMIT_SET_WORDS;
    bool changed = have_sets;
    uint64_t *sets = calloc(have_sets ? 4 * words + 1 : 1, sizeof *sets);
    int err = -WS_ENOMEM;
    v.of = malloc((code->regs_n + 1) * sizeof *v.of);
    if (!sets || !v.of)
        goto out;
    v.in = sets;
    v.out = sets + words;
    v.use = sets + 2 * words;
    v.def = sets + 3 * words;
    for (uint32_t b = 0; have_sets && b < code->blocks_n; b++)
        block_sets(&v, b);
    while (changed) {
        changed = false;
        for (uint32_t b = code->blocks_n; b-- > 0;)
            changed |= flow_backwards(&v, b);
    }
    make_intervals(&v, have_sets);
    qsort(v.of, code->regs_n, sizeof *v.of, compare_starts);
    err = place_all(code, v.of);
    if (!err)
        rewrite(code);
out:
    free(sets);
    free(v.of);
    return err;
}
