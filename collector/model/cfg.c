/* SPDX-License-Identifier: MIT
 * cfg.c: blocks of a kernel, and where diverged lanes meet again: the immediate post-dominator of each block
 * (Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm", on the reversed graph).
 * The order of blocks in PTX text is not topological, so nothing here relies on it. */
#include "code.h"

#include "../../analyzer/err.h"

#include <stdlib.h>
#include <string.h>

static void mark_leaders(const struct code *c, const struct code_flow *flow, uint8_t *leader)
{
    leader[0] = 1;
    for (uint32_t f = 0; f < c->functions_n; f++)
        leader[c->functions[f].entry] = 1;
    for (uint32_t k = 0; k < c->ins_n; k++) {
        if (flow[k].kind == END_FALL)
            continue;
        if (flow[k].kind == END_CALL ||
            flow[k].kind == END_CLUSTER) /* may run again: nothing else of the text with it */
            leader[k] = 1;
        if (k + 1 < c->ins_n)
            leader[k + 1] = 1;
        if (flow[k].kind == END_BRANCH)
            leader[flow[k].target] = 1;
    }
}

static void fill_block(struct code *c, const struct code_flow *flow, const uint32_t *block_of, struct code_block *b,
                       uint32_t end)
{
    uint32_t last = end - 1;
    b->end = end;
    b->ending = CODE_NONE;
    b->kind = flow[last].kind;
    b->target = CODE_NONE;
    b->guard = CODE_NONE;
    b->next = end < c->ins_n ? block_of[end] : CODE_NONE;
    if (b->kind != END_FALL) {
        b->end = last;
        b->ending = last;
        b->guard = b->kind == END_BARRIER ? CODE_NONE : c->ins[last].guard;
        b->is_guard_negated = c->ins[last].is_guard_negated;
    }
    if (b->kind == END_BRANCH)
        b->target = block_of[flow[last].target];
    for (uint32_t k = b->first; k < end; k++)
        b->counted += !(c->ins[k].flags & CODE_UNCOUNTED);
}

static int make_blocks(struct code *c, const struct code_flow *flow)
{
    uint8_t *leader = calloc(c->ins_n + 1, 1);
    uint32_t *block_of = malloc((c->ins_n + 1) * sizeof *block_of);
    int err = -WS_ENOMEM;
    uint32_t n = 0;
    if (!leader || !block_of)
        goto out;
    mark_leaders(c, flow, leader);
    for (uint32_t k = 0; k < c->ins_n; k++) {
        n += leader[k];
        block_of[k] = n - 1;
    }
    c->blocks = calloc(n ? n : 1, sizeof *c->blocks);
    if (!c->blocks)
        goto out;
    c->blocks_n = n;
    for (uint32_t k = 0, b = 0; k < c->ins_n; b++) {
        uint32_t end = k + 1;
        while (end < c->ins_n && !leader[end])
            end++;
        c->blocks[b].first = k;
        fill_block(c, flow, block_of, &c->blocks[b], end);
        k = end;
    }
    for (uint32_t f = 0; f < c->functions_n; f++)
        c->functions[f].entry = block_of[c->functions[f].entry];
    err = 0;
out:
    free(leader);
    free(block_of);
    return err;
}

/* Successors of a block; the exit is node blocks_n. Returns 1 or 2. */
static uint32_t successors(const struct code *c, uint32_t b, uint32_t out[2])
{
    const struct code_block *block = &c->blocks[b];
    uint32_t exit_node = c->blocks_n;
    uint32_t next = block->next == CODE_NONE ? exit_node : block->next;
    if (block->kind != END_BRANCH && block->kind != END_EXIT && block->kind != END_RETURN) {
        out[0] = next;
        return 1;
    }
    out[0] = block->kind == END_BRANCH ? block->target : exit_node;
    out[1] = next;
    return block->guard == CODE_NONE ? 1 : 2;
}

struct graph {
    uint32_t nodes;
    uint32_t *pred_first; /* [nodes + 1] into preds */
    uint32_t *preds;
    uint32_t *order;  /* node of each number: exit first */
    uint32_t *number; /* of each node in that order, CODE_NONE = the exit cannot be reached */
    uint32_t *idom;
    uint32_t *work;
};

static bool make_graph(const struct code *c, struct graph *g)
{
    uint32_t to[2];
    uint32_t n = g->nodes = c->blocks_n + 1;
    g->pred_first = calloc(n + 2, sizeof *g->pred_first);
    g->preds = malloc((2 * (size_t)n + 1) * sizeof *g->preds);
    g->order = malloc(n * sizeof *g->order);
    g->number = malloc(n * sizeof *g->number);
    g->idom = malloc(n * sizeof *g->idom);
    g->work = calloc(2 * (size_t)n, sizeof *g->work);
    if (!g->pred_first || !g->preds || !g->order || !g->number || !g->idom || !g->work)
        return false;
    for (uint32_t b = 0; b + 1 < n; b++)
        for (uint32_t k = successors(c, b, to); k-- > 0;)
            g->pred_first[to[k] + 2]++;
    for (uint32_t b = 0; b < n; b++)
        g->pred_first[b + 2] += g->pred_first[b + 1];
    for (uint32_t b = 0; b + 1 < n; b++)
        for (uint32_t k = successors(c, b, to); k-- > 0;)
            g->preds[g->pred_first[to[k] + 1]++] = b;
    return true;
}

/* Number the nodes in reverse postorder of the reversed graph, from the exit. */
static void number_nodes(struct graph *g)
{
    uint32_t *stack = g->work, *at = g->work + g->nodes;
    uint32_t depth = 1, left = g->nodes;
    memset(g->number, 0xff, g->nodes * sizeof *g->number);
    stack[0] = g->nodes - 1;
    at[0] = g->pred_first[stack[0]];
    g->number[stack[0]] = 0;
    while (depth > 0) {
        uint32_t node = stack[depth - 1];
        if (at[depth - 1] < g->pred_first[node + 1]) {
            uint32_t p = g->preds[at[depth - 1]++];
            if (g->number[p] != CODE_NONE)
                continue;
            g->number[p] = 0;
            stack[depth] = p;
            at[depth++] = g->pred_first[p];
        } else {
            g->order[--left] = node;
            depth--;
        }
    }
    memset(g->number, 0xff, g->nodes * sizeof *g->number);
    for (uint32_t k = left; k < g->nodes; k++) {
        g->order[k - left] = g->order[k];
        g->number[g->order[k]] = k - left;
    }
    g->nodes -= left; /* from here on: the nodes that reach the exit */
}

static uint32_t meet(const struct graph *g, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (g->number[a] > g->number[b])
            a = g->idom[a];
        while (g->number[b] > g->number[a])
            b = g->idom[b];
    }
    return a;
}

static void post_dominators(const struct code *c, struct graph *g)
{
    uint32_t exit_node = c->blocks_n;
    bool changed = true;
    memset(g->idom, 0xff, (c->blocks_n + 1) * sizeof *g->idom);
    g->idom[exit_node] = exit_node;
    while (changed) {
        changed = false;
        for (uint32_t k = 1; k < g->nodes; k++) {
            uint32_t b = g->order[k], to[2], best = CODE_NONE;
            for (uint32_t s = successors(c, b, to); s-- > 0;)
                if (g->number[to[s]] != CODE_NONE && g->idom[to[s]] != CODE_NONE)
                    best = best == CODE_NONE ? to[s] : meet(g, best, to[s]);
            if (g->idom[b] != best) {
                g->idom[b] = best;
                changed = true;
            }
        }
    }
}

int cfg_build(struct code *code, const struct code_flow *flow)
{
    struct graph g = {0};
    int err = make_blocks(code, flow);
    if (err)
        return err;
    err = -WS_ENOMEM;
    if (!make_graph(code, &g))
        goto out;
    number_nodes(&g);
    post_dominators(code, &g);
    for (uint32_t b = 0; b < code->blocks_n; b++)
        code->blocks[b].join = g.idom[b] == code->blocks_n ? CODE_NONE : g.idom[b];
    err = 0;
out:
    free(g.pred_first);
    free(g.preds);
    free(g.order);
    free(g.number);
    free(g.idom);
    free(g.work);
    return err;
}
