/* SPDX-License-Identifier: MIT
 * crew.c: a launch's blocks over its workers: bounds, cancelling, samples.
 * Blocks are handed out by an atomic counter, so the counts do not depend on the number of workers. How a block runs is
 * launch.c; which blocks stand for all is sample.c. */
#include "crew.h"

#include "launch.h"
#include "result.h"
#include "sample.h"

#include "../../analyzer/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- bounds and cancelling --- */

/* The watch looks every so many warp instructions of a worker: 5 to 50 ms. */
#define SLICE (1u << 20)

static double wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void watch_stop(struct exec_ctx *ctx, enum ws_model_stop why)
{
    unsigned none = WS_MODEL_STOP_NONE;
    (void)atomic_compare_exchange_strong(&ctx->watch->stop, &none, (unsigned)why);
    ctx->stop = atomic_load(&ctx->watch->stop);
    ctx->budget = 0;
}

static void tell(struct exec_ctx *ctx, double now)
{
    struct watch *watch = ctx->watch;
    const struct ws_model_launch *l = watch->launch;
    struct ws_model_progress p = {.blocks_done = atomic_load(&watch->blocks_done),
                                  .blocks = watch->end,
                                  .instructions = atomic_load(&watch->instructions),
                                  .seconds = now - watch->began};
    if (ctx->is_first && l->tick && !l->tick(l->tick_user, &p))
        watch_stop(ctx, WS_MODEL_STOP_CANCELLED);
}

/* The blocks that the worker has run since it told the last time. */
static void watch_count(struct exec_ctx *ctx)
{
    if (ctx->blocks_untold)
        atomic_fetch_add(&ctx->watch->blocks_done, ctx->blocks_untold);
    ctx->blocks_untold = 0;
}

/* The slice is used up: may the worker go on with this many instructions? */
bool watch_allows(struct exec_ctx *ctx, uint32_t needed)
{
    struct watch *watch = ctx->watch;
    uint64_t more;
    if (ctx->given_back) { /* by a warp that waits */
        atomic_fetch_sub(&watch->instructions, ctx->given_back);
        ctx->budget_left += ctx->budget_left == UINT64_MAX ? 0 : ctx->given_back;
        ctx->given_back = 0;
    }
    more = ctx->budget_left < SLICE ? ctx->budget_left : SLICE;
    double now = wall_s();
    watch_count(ctx);
    if (!ctx->stop)
        tell(ctx, now);
    if (watch->deadline > 0 && now > watch->deadline)
        watch_stop(ctx, WS_MODEL_STOP_TIME);
    if (ctx->budget + more < needed)
        watch_stop(ctx, WS_MODEL_STOP_INSTRUCTIONS);
    ctx->stop = atomic_load(&watch->stop); /* another worker's, too */
    if (ctx->stop) {
        ctx->budget = 0;
        return false;
    }
    atomic_fetch_add(&watch->instructions, more);
    ctx->budget += more;
    ctx->budget_left -= ctx->budget_left == UINT64_MAX ? 0 : more;
    return true;
}

/* --- workers --- */

/* Counters of a block row, a guard row, a memory row. */
#define BLOCK_COUNTS (sizeof(struct block_row) / sizeof(uint64_t))
#define GUARD_COUNTS (sizeof(struct guard_row) / sizeof(uint64_t))
#define MEM_COUNTS MEM_COUNTS_N

/* What the interval is told for; the index is only a place. */
#define QUANTITIES (1 + WS_MODEL_KIND_COUNT * 3 + WS_MODEL_FP_COUNT)

/* A sample's sums, per stratum. */
struct tally {
    uint64_t *counts[SAMPLE_STRATA]; /* [counts_n] as visit_counts() goes through them */
    struct sample_sum sums[QUANTITIES][SAMPLE_STRATA];
    uint64_t taken[SAMPLE_STRATA];
    struct ws_model_result scratch;
};

struct worker {
    struct exec_ctx ctx;
    const struct sample *sample; /* NULL: all blocks, in order */
    struct tally *tally;
    struct team *team; /* NULL: blocks run one by one */
    pthread_t thread;
    uint32_t workers; /* of the launch */
    bool is_running;
};

static size_t counts_n(const struct code *c)
{
    return c->blocks_n * BLOCK_COUNTS + c->guarded_n * GUARD_COUNTS + (size_t)c->stats_n * MEM_COUNTS + 1;
}

typedef void (*visit_fn)(uint64_t *count, size_t place, void *user);

/* Every counter of a context, in one order. */
static void visit_counts(struct exec_ctx *ctx, visit_fn visit, void *user)
{
    const struct code *c = ctx->code;
    size_t place = 0;
    for (uint32_t b = 0; b < c->blocks_n; b++)
        for (size_t k = 0; k < BLOCK_COUNTS; k++)
            visit(&ctx->block_rows[b].runs + k, place++, user);
    for (uint32_t g = 0; g < c->guarded_n; g++)
        for (size_t k = 0; k < GUARD_COUNTS; k++)
            visit(&ctx->guard_rows[g].runs + k, place++, user);
    for (uint32_t s = 0; s < c->stats_n; s++) {
        exec_settle(&ctx->mem_rows[s]);
        for (size_t k = 0; k < MEM_COUNTS; k++)
            visit(&ctx->mem_rows[s].sum.all[k], place++, user);
    }
    visit(&ctx->barriers, place, user);
}

/* Into the sum, and back to 0 for the next block. */
static void move_count(uint64_t *count, size_t place, void *user)
{
    uint64_t *sum = user;
    sum[place] += *count;
    *count = 0;
}

static void drop_count(uint64_t *count, size_t place, void *user)
{
    (void)place;
    (void)user;
    *count = 0;
}

static void add_count(uint64_t *count, size_t place, void *user)
{
    const uint64_t *more = user;
    *count += more[place];
}

static void note_quantities(struct tally *t, uint32_t stratum)
{
    const struct ws_model_counts *c = &t->scratch.counts;
    double q[QUANTITIES];
    uint32_t n = 0;
    q[n++] = (double)c->ptx_instructions;
    for (int k = 0; k < WS_MODEL_KIND_COUNT; k++) {
        q[n++] = (double)c->memory[k].requests;
        q[n++] = (double)c->memory[k].sectors;
        q[n++] = (double)c->memory[k].wavefronts;
    }
    for (int k = 0; k < WS_MODEL_FP_COUNT; k++)
        q[n++] = (double)c->fp[k];
    for (uint32_t k = 0; k < n; k++) {
        t->sums[k][stratum].sum += q[k];
        t->sums[k][stratum].squares += q[k] * q[k];
    }
}

/* A block of the sample has run: whole, or it is forgotten. */
static void note_block(struct worker *me, uint32_t stratum)
{
    if (me->ctx.stop) {
        visit_counts(&me->ctx, drop_count, NULL);
        return;
    }
    result_count(&me->ctx, &me->tally->scratch);
    note_quantities(me->tally, stratum);
    visit_counts(&me->ctx, move_count, me->tally->counts[stratum]);
    me->tally->taken[stratum]++;
}

/* A worker takes several places at a time, or workers with small blocks wait for the counter's cache line; fewer
 * towards the end, so that they end together. A sample is run in its order. */
#define PLACES_MOST 32
#define PLACES_PARTS 16

static uint64_t places_at_once(const struct worker *me, const struct watch *watch)
{
    uint64_t at = atomic_load_explicit(&watch->next, memory_order_relaxed);
    uint64_t n = at < watch->end ? (watch->end - at) / ((uint64_t)me->workers * PLACES_PARTS) : 0;
    if (me->sample || me->team || n == 0)
        return 1;
    return n < PLACES_MOST ? n : PLACES_MOST;
}

static void *work(void *arg)
{
    struct worker *me = arg;
    struct watch *watch = me->ctx.watch;
    uint32_t blocks_at_once = me->team ? me->team->n : 1;
    uint64_t place = 0, end = 0;
    for (;; place++) {
        uint32_t stratum = 0;
        if (place == end) {
            uint64_t n = places_at_once(me, watch);
            place = atomic_fetch_add(&watch->next, n);
            end = place + n;
        }
        if (place >= watch->end || me->ctx.stop || atomic_load(&watch->stop)) {
            watch_count(&me->ctx);
            return NULL;
        }
        if (me->team)
            launch_team(me->team, place);
        else
            launch_block(&me->ctx, me->sample ? sample_block(me->sample, place, &stratum) : place);
        if (me->team)
            me->ctx.stop = atomic_load(&watch->stop);
        if (me->sample)
            note_block(me, stratum);
        if (!me->ctx.stop) {
            me->ctx.blocks_run += blocks_at_once;
            me->ctx.blocks_untold += blocks_at_once;
        }
        if (me->team) /* its blocks have the slices, not the worker */
            watch_count(&me->ctx);
    }
}

static void free_tally(struct tally *t)
{
    if (t)
        free(t->counts[0]);
    free(t);
}

static struct tally *make_tally(const struct code *c)
{
    struct tally *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->counts[0] = calloc(counts_n(c), SAMPLE_STRATA * sizeof *t->counts[0]);
    for (int k = 1; k < SAMPLE_STRATA && t->counts[0]; k++)
        t->counts[k] = t->counts[0] + (size_t)k * counts_n(c);
    if (t->counts[0])
        return t;
    free_tally(t);
    return NULL;
}

static void free_team(struct team *t)
{
    for (uint32_t k = 0; t && t->members && k < t->n; k++)
        launch_free_ctx(&t->members[k]);
    if (t) {
        free(t->members);
        free(t->phases);
    }
    free(t);
}

/* Blocks that are resident together: n of them, cluster by cluster. */
static int make_team(struct worker *me, const struct exec_ctx *like, struct watch *watch, uint32_t n,
                     pthread_mutex_t *lock)
{
    struct team *t = me->team = calloc(1, sizeof *t);
    int err = t ? 0 : -WS_ENOMEM;
    if (err)
        return err;
    t->cluster_n = like->cluster[0] * like->cluster[1] * like->cluster[2];
    t->members = calloc(n, sizeof *t->members);
    t->phases = calloc(n / t->cluster_n + 1, sizeof *t->phases);
    if (!t->members || !t->phases)
        return -WS_ENOMEM;
    t->budget_left = me->ctx.budget_left;
    for (; t->n < n && !err; t->n++) {
        struct exec_ctx *ctx = &t->members[t->n];
        uint32_t cluster = t->n / t->cluster_n;
        err = launch_make_ctx(ctx, like);
        ctx->watch = watch;
        ctx->atomic_lock = lock;
        ctx->team = t;
        ctx->peers = &t->members[(size_t)cluster * t->cluster_n];
        ctx->phase = &t->phases[cluster];
        ctx->is_first = me->ctx.is_first;
    }
    return err;
}

static int make_worker(struct worker *me, const struct exec_ctx *like, struct watch *watch, const struct sample *sample,
                       uint32_t threads)
{
    int err = launch_make_ctx(&me->ctx, like);
    me->ctx.watch = watch;
    me->ctx.budget = 0;
    me->ctx.budget_left = like->budget == UINT64_MAX ? UINT64_MAX : like->budget / threads;
    me->sample = sample;
    me->workers = threads;
    if (!err && sample) {
        me->tally = make_tally(like->code);
        err = me->tally ? 0 : -WS_ENOMEM;
    }
    return err;
}

static void run_workers(struct worker *workers, uint32_t n)
{
    for (uint32_t k = 1; k < n; k++)
        workers[k].is_running = pthread_create(&workers[k].thread, NULL, work, &workers[k]) == 0;
    work(&workers[0]);
    for (uint32_t k = 1; k < n; k++)
        if (workers[k].is_running)
            pthread_join(workers[k].thread, NULL);
}

/* Add a context's statistics to another's. */
static void merge_ctx(struct exec_ctx *to, const struct exec_ctx *one)
{
    const struct code *c = to->code;
    for (uint32_t b = 0; b < c->blocks_n; b++)
        for (size_t k = 0; k < BLOCK_COUNTS; k++)
            (&to->block_rows[b].runs)[k] += (&one->block_rows[b].runs)[k];
    for (uint32_t g = 0; g < c->guarded_n; g++)
        for (size_t k = 0; k < GUARD_COUNTS; k++)
            (&to->guard_rows[g].runs)[k] += (&one->guard_rows[g].runs)[k];
    for (uint32_t s = 0; s < c->stats_n; s++) {
        exec_settle(&one->mem_rows[s]);
        for (size_t k = 0; k < MEM_COUNTS; k++)
            to->mem_rows[s].sum.all[k] += one->mem_rows[s].sum.all[k];
    }
    launch_merge_faults(to, one);
    to->barriers += one->barriers;
    to->blocks_run += one->blocks_run;
    to->stop = to->stop ? to->stop : one->stop;
}

/* Add a worker's statistics to the first one's. */
static void merge(struct worker *sum, const struct worker *one)
{
    merge_ctx(&sum->ctx, &one->ctx);
}

static void merge_team(struct worker *me)
{
    for (uint32_t k = 0; me->team && k < me->team->n; k++)
        merge_ctx(&me->ctx, &me->team->members[k]);
}

/* --- samples --- */

/* All workers' sums into the first one's; the others start again. */
static void gather(struct worker *workers, uint32_t n)
{
    struct tally *sum = workers[0].tally;
    size_t all = counts_n(workers[0].ctx.code) * SAMPLE_STRATA;
    for (uint32_t w = 1; w < n; w++) {
        struct tally *one = workers[w].tally;
        for (size_t k = 0; k < all; k++)
            sum->counts[0][k] += one->counts[0][k];
        for (uint32_t s = 0; s < SAMPLE_STRATA; s++) {
            sum->taken[s] += one->taken[s];
            for (uint32_t q = 0; q < QUANTITIES; q++) {
                sum->sums[q][s].sum += one->sums[q][s].sum;
                sum->sums[q][s].squares += one->sums[q][s].squares;
            }
        }
        memset(one->counts[0], 0, all * sizeof *one->counts[0]);
        memset(one->sums, 0, sizeof one->sums);
        memset(one->taken, 0, sizeof one->taken);
    }
}

/* Blocks to run when the first SAMPLE_BLOCKS are done: all of a launch that is soon done, more when they differ. */
static uint64_t more_places(const struct sample *sample, const struct tally *t)
{
    const double soon = 200e6; /* warp instructions: about a second */
    struct sample_estimate e;
    double spread = 0;
    for (uint32_t q = 0; q < QUANTITIES; q++) {
        sample_estimate(sample, t->taken, t->sums[q], &e);
        spread = fmax(spread, e.spread);
    }
    sample_estimate(sample, t->taken, t->sums[0], &e);
    if (e.total < soon)
        return sample->blocks;
    return sample_places(sample, spread > SAMPLE_SPREAD ? SAMPLE_MORE_BLOCKS : SAMPLE_BLOCKS);
}

static double worst_interval(const struct sample *sample, const struct tally *t)
{
    double worst = 0;
    for (uint32_t q = 0; q < QUANTITIES; q++) {
        struct sample_estimate e;
        sample_estimate(sample, t->taken, t->sums[q], &e);
        if (e.total > 0)
            worst = fmax(worst, e.half_width / e.total);
    }
    return worst;
}

/* The grid's counts from those of the blocks that ran: by stratum, so that rare edges keep their weight. */
static void extrapolate(struct exec_ctx *ctx, const struct sample *sample, const struct tally *t, uint64_t blocks_run)
{
    size_t n = counts_n(ctx->code);
    uint64_t *whole = t->counts[0]; /* stratum 0 becomes the sum of all */
    for (size_t k = 0; k < n; k++) {
        double all = 0, total = 0;
        for (uint32_t s = 0; s < sample->strata_n; s++)
            all += (double)t->counts[s][k];
        for (uint32_t s = 0; s < sample->strata_n; s++) {
            double blocks = (double)sample->strata[s].blocks;
            total += t->taken[s] ? (double)t->counts[s][k] * (blocks / (double)t->taken[s])
                                 : all * (blocks / (double)blocks_run);
        }
        whole[k] = (uint64_t)llround(total);
    }
    visit_counts(ctx, add_count, whole);
}

static void run_sample(struct worker *workers, uint32_t threads, struct watch *watch, const struct sample *sample,
                       struct ws_model_result *result)
{
    uint32_t wanted = watch->launch->sample_blocks;
    struct exec_ctx *ctx = &workers[0].ctx;
    watch->end = wanted == 0                ? sample->blocks
                 : wanted == WS_SAMPLE_AUTO ? sample_places(sample, SAMPLE_BLOCKS)
                                            : sample_places(sample, wanted);
    for (;;) {
        uint64_t more;
        run_workers(workers, threads);
        gather(workers, threads);
        if (wanted != WS_SAMPLE_AUTO || atomic_load(&watch->stop))
            break;
        more = more_places(sample, workers[0].tally);
        if (more <= watch->end)
            break;
        atomic_store(&watch->next, watch->end);
        watch->end = more;
        wanted = 0; /* once */
    }
    for (uint32_t k = 1; k < threads; k++)
        merge(&workers[0], &workers[k]);
    result->blocks_run = ctx->blocks_run;
    result->is_sampled = ctx->blocks_run > 0 && ctx->blocks_run < sample->blocks;
    if (result->is_sampled)
        result->interval = worst_interval(sample, workers[0].tally);
    if (ctx->blocks_run > 0)
        extrapolate(ctx, sample, workers[0].tally, ctx->blocks_run);
}

/* --- a launch --- */

static void run_crew(struct worker *workers, uint32_t threads, struct watch *watch, const struct sample *sample,
                     struct ws_model_result *result)
{
    struct exec_ctx *ctx = &workers[0].ctx;
    if (workers[0].sample) {
        run_sample(workers, threads, watch, sample, result);
    } else {
        watch->end = workers[0].team ? sample->blocks / workers[0].team->n : sample->blocks;
        run_workers(workers, threads);
        for (uint32_t k = 0; k < threads; k++)
            merge_team(&workers[k]);
        for (uint32_t k = 1; k < threads; k++)
            merge(&workers[0], &workers[k]);
        result->blocks_run = ctx->blocks_run;
    }
    result->blocks = sample->blocks;
    result->stop = (enum ws_model_stop)ctx->stop;
    result->is_stopped = ctx->stop != WS_MODEL_STOP_NONE && !result->is_sampled;
}

uint32_t launch_team_blocks(const struct exec_ctx *like, const struct ws_model_launch *launch)
{
    uint32_t cluster = like->cluster[0] * like->cluster[1] * like->cluster[2];
    if (launch->is_cooperative)
        return like->grid[0] * like->grid[1] * like->grid[2];
    return cluster > 1 || like->code->uses_cluster ? cluster : 0;
}

int launch_run(const struct exec_ctx *like, const struct ws_model_launch *launch, struct ws_model_result *result,
               struct exec_ctx *out)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct watch watch = {.launch = launch, .began = wall_s()};
    uint32_t threads = launch->threads ? launch->threads : 1, together = launch_team_blocks(like, launch);
    bool samples = together == 0 && (launch->sample_blocks || launch->samples_when_cut);
    struct sample sample;
    struct worker *workers;
    int err = 0;
    sample_init(&sample, like->grid);
    if (launch->max_seconds > 0)
        watch.deadline = watch.began + launch->max_seconds;
    if (together && threads > sample.blocks / together)
        threads = (uint32_t)(sample.blocks / together);
    if (threads > sample.blocks)
        threads = (uint32_t)sample.blocks;
    if (threads == 0)
        threads = 1;
    workers = calloc(threads, sizeof *workers);
    if (!workers)
        return -WS_ENOMEM;
    for (uint32_t k = 0; k < threads && !err; k++) {
        err = make_worker(&workers[k], like, &watch, samples ? &sample : NULL, threads);
        workers[k].ctx.atomic_lock = threads > 1 ? &lock : NULL;
        workers[k].ctx.is_first = k == 0;
        if (!err && together)
            err = make_team(&workers[k], like, &watch, together, workers[k].ctx.atomic_lock);
    }
    if (!err) {
        run_crew(workers, threads, &watch, &sample, result);
        *out = workers[0].ctx;
    }
    for (uint32_t k = 0; k < threads; k++) {
        if (k > 0 || err)
            launch_free_ctx(&workers[k].ctx);
        free_tally(workers[k].tally);
        free_team(workers[k].team);
    }
    free(workers);
    return err;
}
