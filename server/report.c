/* SPDX-License-Identifier: MIT
 * report.c: rows of one session into structs: means over launches, times, names, warnings.
 * Every formula is the analyzer's; here are only sums, counts, least and greatest. */
#include "report.h"

#include "../analyzer/err.h"
#include "../analyzer/plausible.h"
#include "../analyzer/rules.h"
#include "../analyzer/spread.h"
#include "../collector/budget.h"
#include "../collector/plan.h"
#include "../collector/settings.h"
#include "collected.h"
#include "timeline_facts.h"

#include "../collector/model/emit.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- loading --- */

struct loader {
    struct ws_session *s;
    struct ws_store *store;
    size_t process_cap, device_cap, kernel_cap, warning_cap;
    /* of the kernel whose metrics are being read */
    size_t kernel;
    int64_t profile_id; /* last one that counted as profiled */
    struct key {
        const char *key;
        enum ws_metric_id id;
        size_t stat; /* in the kernel's stats, plus 1; 0 = none yet */
        size_t kernel;
    } * keys;         /* [key_count], by key_id */
    size_t key_count; /* ids are small: one per distinct metric ever stored */
    size_t stat_cap;
    struct ws_samples *sums; /* of the function sums_of */
    const char *sums_of;
    bool is_sum_of_kernel;
};

/* One more zeroed element in *array; NULL when out of memory. */
static void *add(void **array, size_t *count, size_t *cap, size_t size)
{
    char *at;
    if (*count == *cap) {
        size_t n = *cap ? *cap * 2 : 16;
        void *grown = realloc(*array, n * size);
        if (!grown)
            return NULL;
        *array = grown;
        *cap = n;
    }
    at = (char *)*array + *count * size;
    memset(at, 0, size);
    (*count)++;
    return at;
}

#define ADD(array, count, cap, out)                                \
    do {                                                           \
        void *ws_array = (array);                                  \
        (out) = add(&ws_array, &(count), &(cap), sizeof *(array)); \
        (array) = ws_array;                                        \
    } while (0)

static bool keep(struct ws_arena *arena, const char **text)
{
    *text = ws_arena_text(arena, *text);
    return *text != NULL;
}

static int load_session_row(void *state, const struct ws_session_row *row)
{
    struct loader *l = state;
    struct ws_session_row *r = &l->s->row;
    struct ws_arena *a = &l->s->arena;
    *r = *row;
    return keep(a, &r->token) && keep(a, &r->name) && keep(a, &r->source) && keep(a, &r->exe) && keep(a, &r->argv) &&
                   keep(a, &r->host) && keep(a, &r->note)
               ? 0
               : -WS_ENOMEM;
}

static int load_process(void *state, const struct ws_process_row *row)
{
    struct loader *l = state;
    struct ws_arena *a = &l->s->arena;
    struct ws_process_row *r;
    ADD(l->s->processes, l->s->process_count, l->process_cap, r);
    if (!r)
        return -WS_ENOMEM;
    *r = *row;
    return keep(a, &r->agent_id) && keep(a, &r->exe) && keep(a, &r->argv) && keep(a, &r->cwd) && keep(a, &r->host) &&
                   keep(a, &r->boot_id) && keep(a, &r->rank) && keep(a, &r->driver_text) && keep(a, &r->cupti_path) &&
                   keep(a, &r->gpu_uuids) && keep(a, &r->warpsight) && keep(a, &r->git_commit) && keep(a, &r->settings)
               ? 0
               : -WS_ENOMEM;
}

static int load_device(void *state, const struct ws_device_row *row)
{
    struct loader *l = state;
    struct ws_arena *a = &l->s->arena;
    struct ws_device_row *r;
    ADD(l->s->devices, l->s->device_count, l->device_cap, r);
    if (!r)
        return -WS_ENOMEM;
    *r = *row;
    return keep(a, &r->uuid) && keep(a, &r->chip) && keep(a, &r->device.name) ? 0 : -WS_ENOMEM;
}

static size_t device_of(const struct ws_session *s, int64_t id)
{
    for (size_t i = 0; i < s->device_count; i++)
        if (s->devices[i].id == id)
            return i;
    return s->device_count;
}

/* Shared memory per SM that the driver was asked to set aside; 0 = it chose. */
static uint32_t carveout_bytes(const struct ws_session *s, const struct ws_kernel *k)
{
    uint64_t percent = k->row.carveout_percent;
    if (!k->row.has_attributes || percent > 100 || k->device == s->device_count)
        return 0;
    return (uint32_t)(s->devices[k->device].smem_bytes_per_sm * percent / 100);
}

static int load_kernel(void *state, const struct ws_kernel_row *row)
{
    struct loader *l = state;
    struct ws_kernel *k;
    ADD(l->s->kernels, l->s->kernel_count, l->kernel_cap, k);
    if (!k)
        return -WS_ENOMEM;
    k->row = *row;
    if (!keep(&l->s->arena, &k->row.mangled))
        return -WS_ENOMEM;
    ws_name_of(&l->s->arena, k->row.mangled, &k->name);
    k->device = device_of(l->s, row->device_id);
    k->row.launch.smem_carveout_bytes = carveout_bytes(l->s, k);
    k->launches = row->launches;
    return 0;
}

/* --- metrics --- */

static struct key *key_of(struct loader *l, const struct ws_metric_row *row)
{
    size_t i = (size_t)row->key_id;
    struct key *k;
    if (i >= l->key_count) {
        size_t n = i + 256;
        struct key *grown = realloc(l->keys, n * sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + l->key_count, 0, (n - l->key_count) * sizeof *grown);
        l->keys = grown;
        l->key_count = n;
    }
    k = &l->keys[i];
    if (!k->key) {
        k->key = ws_arena_text(&l->s->arena, row->key);
        k->id = ws_metric_find(row->key, strlen(row->key));
    }
    return k->key ? k : NULL;
}

static void count_value(struct ws_stat *stat, struct ws_value value)
{
    if (!ws_has(value)) {
        if (stat->count == 0 && ws_has(stat->mean))
            stat->mean = value;
        return;
    }
    if (stat->count == 0) {
        stat->mean = value;
        stat->min = stat->max = value.number;
    } else {
        /* Welford: the distances from the mean so far and from the new one. */
        double before = value.number - stat->mean.number / (double)stat->count;
        stat->mean.number += value.number; /* a sum until finish_kernel */
        stat->squares += before * (value.number - stat->mean.number / (double)(stat->count + 1));
        stat->min = fmin(stat->min, value.number);
        stat->max = fmax(stat->max, value.number);
    }
    stat->count++;
}

struct ws_value ws_stat_deviation(const struct ws_stat *stat)
{
    if (stat->count < 2)
        return ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    return ws_value_of(stat->min == stat->max ? 0 : sqrt(fmax(stat->squares, 0) / (double)(stat->count - 1)));
}

bool ws_stat_varies(const struct ws_stat *stat)
{
    return stat->count > 1 && ws_spread_varies(stat->min, stat->max);
}

bool ws_stat_is_work(const struct ws_stat *stat)
{
    const char *cupti = stat->id < WS_METRIC_COUNT ? ws_metric_get(stat->id)->cupti : NULL;
    return cupti && strstr(cupti, "__sass_"); /* an imported file may give what we compute: no CUPTI name then */
}

/* Rows come ordered by kernel: the kernels are by id still. */
static int load_metric(void *state, const struct ws_metric_row *row)
{
    struct loader *l = state;
    struct key *key;
    struct ws_kernel *k;
    while (l->kernel < l->s->kernel_count && l->s->kernels[l->kernel].row.id != row->kernel_id) {
        l->kernel++;
        l->stat_cap = 0;
    }
    key = l->kernel < l->s->kernel_count && row->key_id >= 0 ? key_of(l, row) : NULL;
    if (!key)
        return -WS_ENOMEM;
    k = &l->s->kernels[l->kernel];
    if (key->stat == 0 || key->kernel != l->kernel) {
        struct ws_stat *stat;
        ADD(k->stats, k->stat_count, l->stat_cap, stat);
        if (!stat)
            return -WS_ENOMEM;
        stat->key = key->key;
        stat->id = key->id;
        stat->mean = ws_value_of(0);
        key->stat = k->stat_count;
        key->kernel = l->kernel;
    }
    count_value(&k->stats[key->stat - 1], row->value);
    if (ws_has(row->value) && row->profile_id != l->profile_id) {
        l->profile_id = row->profile_id;
        k->profiled++;
    }
    return 0;
}

static const struct ws_stat *stat_of(const struct ws_kernel *k, enum ws_metric_id id)
{
    for (size_t i = 0; i < k->stat_count; i++)
        if (k->stats[i].id == id)
            return &k->stats[i];
    return NULL;
}

static struct ws_value seconds(double value, enum ws_origin origin)
{
    struct ws_value v = ws_value_of(value);
    v.origin = (unsigned char)origin;
    return v;
}

/* The activity trace where it timed a launch that was not replayed; else the profiler's own, longer, time. */
static void find_times(struct ws_kernel *k)
{
    const struct ws_stat *stat = stat_of(k, WS_M_duration);
    struct ws_times *t = &k->times;
    if (k->row.timed > 0) {
        t->mean = seconds((double)k->row.total_ns / ((double)k->row.timed * 1e9), WS_ORIGIN_ACTIVITY);
        t->min = seconds((double)k->row.min_ns / 1e9, WS_ORIGIN_ACTIVITY);
        t->max = seconds((double)k->row.max_ns / 1e9, WS_ORIGIN_ACTIVITY);
    } else if (stat && ws_has(stat->mean)) {
        t->mean = seconds(stat->mean.number, WS_ORIGIN_PROFILER_TIME);
        t->min = seconds(stat->min, WS_ORIGIN_PROFILER_TIME);
        t->max = seconds(stat->max, WS_ORIGIN_PROFILER_TIME);
    } else {
        t->mean = stat ? stat->mean : ws_missing(WS_WHY_NOT_COLLECTED, NULL);
        t->total = t->min = t->max = t->mean;
        return;
    }
    if (k->row.timed == k->launches)
        t->total = seconds((double)k->row.total_ns / 1e9, WS_ORIGIN_ACTIVITY);
    else
        t->total = seconds(t->mean.number * (double)k->launches, (enum ws_origin)t->mean.origin);
}

static struct ws_value stat_by_key(const struct ws_kernel *k, const char *key)
{
    for (size_t i = 0; i < k->stat_count; i++)
        if (k->stats[i].id == WS_METRIC_COUNT && strcmp(k->stats[i].key, key) == 0)
            return k->stats[i].mean;
    return ws_missing(WS_WHY_NOT_COLLECTED, NULL);
}

static void take_means(struct ws_kernel *k)
{
    for (size_t i = 0; i < k->stat_count; i++) {
        struct ws_stat *s = &k->stats[i];
        if (s->count == 0)
            continue;
        /* Equal values must come out unchanged, whatever a sum of them rounds to. */
        s->mean = s->min == s->max ? ws_value_of(s->min) : ws_value_of(s->mean.number / (double)s->count);
    }
}

uint64_t ws_report_blocks(const struct ws_kernel *k)
{
    const struct ws_dim3 *g = &k->row.launch.grid;
    return (uint64_t)g->x * g->y * g->z;
}

static enum ws_grade grade_of(const struct ws_stat *told)
{
    if (told->count == 0 || told->min != told->max || told->min < 0 || told->min >= WS_GRADE_COUNT)
        return WS_GRADE_ESTIMATE; /* launches differ */
    return (enum ws_grade)(unsigned)told->min;
}

/* What the model says of its values' grades goes to those values and is no number of its own. */
static void take_grades(struct ws_kernel *k)
{
    const size_t prefix = sizeof WS_MODEL_GRADE_PREFIX - 1;
    size_t kept = 0;
    for (size_t i = 0; i < k->stat_count; i++) {
        const struct ws_stat *told = &k->stats[i];
        if (told->id < WS_METRIC_COUNT || strncmp(told->key, WS_MODEL_GRADE_PREFIX, prefix) != 0)
            continue;
        for (size_t n = 0; n < k->stat_count; n++)
            if (k->stats[n].id < WS_METRIC_COUNT && strcmp(k->stats[n].key, told->key + prefix) == 0)
                k->stats[n].mean.grade = (unsigned char)grade_of(told);
    }
    for (size_t i = 0; i < k->stat_count; i++)
        if (k->stats[i].id < WS_METRIC_COUNT || strncmp(k->stats[i].key, WS_MODEL_GRADE_PREFIX, prefix) != 0)
            k->stats[kept++] = k->stats[i];
    k->stat_count = kept;
}

static void finish_kernel(struct ws_kernel *k)
{
    /* A launch that was profiled was one, also where the activity trace is missing. */
    if (k->launches < k->profiled)
        k->launches = k->profiled;
    take_grades(k);
    k->sampled_blocks = stat_by_key(k, WS_MODEL_BLOCKS_KEY);
    k->sampled_interval = stat_by_key(k, WS_MODEL_INTERVAL_KEY);
    find_times(k);
}

/* --- how it was counted --- */

static int load_decision(void *state, const struct ws_decision_row *row)
{
    struct loader *l = state;
    for (size_t i = 0; i < l->s->kernel_count; i++) {
        struct ws_counting *c = &l->s->kernels[i].counting;
        bool was_refused = c->is_refused;
        if (l->s->kernels[i].row.id != row->kernel_id)
            continue;
        /* Several processes: one that was counted says more than one that was not. */
        if (c->is_known && c->mode != WS_MODE_NONE)
            row = NULL;
        else
            *c = (struct ws_counting){true,
                                      row->is_refused,
                                      row->rec.mode,
                                      row->rec.reason,
                                      row->rec.passes,
                                      row->rec.footprint_bytes,
                                      (double)row->rec.predicted_ns / 1e9};
        c->is_refused = c->is_refused || was_refused;
        break;
    }
    return 0;
}

static int load_budget(void *state, const struct ws_budget_row *row)
{
    struct loader *l = state;
    struct ws_counting_cost *c = &l->s->counting;
    double spent = (double)row->rec.spent_ns / 1e9;
    double run = (double)row->rec.run_ns / 1e9;
    double part = run > spent ? spent / (run - spent) : 0;
    c->limit_s = (double)row->rec.limit_ns / 1e9;
    c->overhead = row->rec.overhead;
    if (!c->is_known || part > c->part) {
        c->part = part;
        c->run_s = run;
    }
    c->is_known = true;
    c->spent_s += spent;
    c->setup_s += (double)row->rec.setup_ns / 1e9;
    c->predicted_s += (double)row->rec.predicted_ns / 1e9;
    c->launches += row->rec.counted;
    return 0;
}

/* The value of a setting in a JSON array of NAME=value, else its default; in the arena, NULL when out of memory. */
static const char *setting_of(struct ws_session *s, const char *json, const char *name)
{
    const struct ws_setting *row = ws_setting_find(name);
    size_t n = strlen(name);
    cJSON *tree = cJSON_Parse(json);
    const char *found = row ? row->text : "";
    const cJSON *item;
    cJSON_ArrayForEach(item, tree)
    {
        const char *text = cJSON_IsString(item) ? item->valuestring : "";
        if (strncmp(text, name, n) == 0 && text[n] == '=')
            found = text + n + 1;
    }
    found = ws_arena_text(&s->arena, found);
    cJSON_Delete(tree);
    return found;
}

/* Which counters its processes were to collect: of a counter that is missing, whether it was asked for. */
static int find_wanted(struct ws_session *s)
{
    struct ws_plan *plan = malloc(sizeof *plan);
    int err = plan ? 0 : -WS_ENOMEM;
    for (size_t i = 0; err == 0 && i < s->process_count; i++) {
        const char *set = setting_of(s, s->processes[i].settings, "WARPSIGHT_SET");
        const char *metrics = setting_of(s, s->processes[i].settings, "WARPSIGHT_METRICS");
        if (!set || !metrics) {
            err = -WS_ENOMEM;
            break;
        }
        (void)ws_plan_make(plan, set, metrics); /* names that it does not know are none of the catalogue */
        for (unsigned m = 0; m < WS_METRIC_COUNT; m++)
            s->is_wanted[m] = s->is_wanted[m] || plan->has_metric[m];
    }
    free(plan);
    return err;
}

static int load_counting(struct loader *l)
{
    struct ws_session *s = l->s;
    int err = ws_store_each_decision(l->store, s->row.id, load_decision, l);
    if (err == 0)
        err = ws_store_each_budget(l->store, s->row.id, load_budget, l);
    for (size_t i = 0; i < s->kernel_count; i++) {
        s->counting.refused += s->kernels[i].counting.is_refused;
        s->counting.empty += s->kernels[i].counting.is_refused && s->kernels[i].profiled == 0;
    }
    return err == 0 ? find_wanted(s) : err;
}

/* --- warnings --- */

static int add_warning(struct loader *l, uint32_t severity, const char *code, const char *message, const char *remedy,
                       uint64_t count)
{
    struct ws_warning *w;
    ADD(l->s->warnings, l->s->warning_count, l->warning_cap, w);
    if (!w)
        return -WS_ENOMEM;
    *w = (struct ws_warning){code, message, remedy, severity, count};
    return keep(&l->s->arena, &w->code) && keep(&l->s->arena, &w->message) && keep(&l->s->arena, &w->remedy)
               ? 0
               : -WS_ENOMEM;
}

static int load_status(void *state, const struct ws_status_row *row)
{
    struct loader *l = state;
    /* The same word from several processes is one warning. */
    for (size_t i = 0; i < l->s->warning_count; i++) {
        struct ws_warning *w = &l->s->warnings[i];
        if (strcmp(w->code, row->code) == 0 && strcmp(w->message, row->message) == 0) {
            w->count += row->count;
            return 0;
        }
    }
    return add_warning(l, row->severity, row->code, row->message, row->remedy, row->count);
}

struct reason {
    const char *word, *text, *remedy;
};
static const struct reason reasons[] = {
    {"memory", "the collector's memory bound was reached", "Raise WARPSIGHT_MEMORY_MB."},
    {"disk", "the spool could not be written, or its bound was reached", "Free space, or raise WARPSIGHT_SPOOL_MB."},
    {"quota", "the spool's bound was reached", "Raise WARPSIGHT_SPOOL_MB."},
    {"cupti-dropped", "CUPTI dropped them", "Profile a shorter part of the program."},
    {"too-large", "they do not fit into a frame", ""},
    {"damaged", "their bytes were damaged or cut off", ""},
    {"gap", "their numbers are missing", ""},
    {"out-of-order", "they came twice or out of order", ""},
    {"bad-record", "they could not be decoded", "Record and read with the same version of WarpSight."},
    {"unknown-type", "a newer collector wrote them", "Read with the version that recorded."},
    {"impossible-time", "their time stamps are impossible", ""},
    {"overlap", "kernels of one stream ran at the same time, which this GPU cannot do", ""},
    {"hardware", "the hardware could not hand them over in time", "Sample less often: --sampling-interval N."},
    {"hardware-full", "the hardware's buffer was full", "Sample less often: --sampling-interval N."},
    {"exit-time", "the program's end was not held up for them", ""},
    {"name-lost", "the record with their name was lost", ""},
    {"profile-lost", "the record of their launch was lost", ""},
    {"series-lost", "the record that says what they are was lost", ""},
    {"hardware-buffer", "the GPU took samples faster than they could be read", "A longer --timeline-interval."},
    {"decode-full", "more samples came between two decodes than one of them holds",
     "A longer --timeline-interval, fewer metrics, or a larger WARPSIGHT_MEMORY_MB."},
    {"not-decoded", "the program ended before they could be read", "A longer --timeline-interval."},
};

static int load_loss(void *state, const struct ws_loss_row *row)
{
    struct loader *l = state;
    struct reason other = {row->reason, row->reason, ""};
    const struct reason *r = &other;
    char message[256];
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (strcmp(reasons[i].word, row->reason) == 0)
            r = &reasons[i];
    snprintf(message, sizeof message, "%" PRIu64 " %.60s record%s lost: %.120s", row->count, row->kind,
             row->count == 1 ? " was" : "s were", r->text);
    if (strcmp(row->kind, "kernel") == 0 &&
        (strcmp(r->word, "impossible-time") == 0 || strcmp(r->word, "overlap") == 0))
        snprintf(message, sizeof message, "%" PRIu64 " launch%s without time: %.120s", row->count,
                 row->count == 1 ? " counts" : "es count", r->text);
    if (strcmp(row->kind, "frame") == 0)
        snprintf(message, sizeof message, "%" PRIu64 " frame%s of records %s lost: %.120s", row->count,
                 row->count == 1 ? "" : "s", row->count == 1 ? "was" : "were", r->text);
    return add_warning(l, 1, "records-lost", message, r->remedy, row->count);
}

/* Costs of all processes, by what. */
struct costs {
    struct {
        char what[24];
        uint64_t count;
        double seconds;
    } row[8];
    size_t count;
};

static int load_cost(void *state, const struct ws_cost_row *row)
{
    struct costs *c = state;
    size_t i = 0;
    while (i < c->count && strcmp(c->row[i].what, row->what) != 0)
        i++;
    if (i == sizeof c->row / sizeof c->row[0])
        return 0; /* more kinds than any collector has */
    if (i == c->count) {
        snprintf(c->row[i].what, sizeof c->row[i].what, "%s", row->what);
        c->count++;
    }
    c->row[i].count += row->count;
    c->row[i].seconds += (double)row->total_ns / 1e9;
    return 0;
}

/* Work of the collector's own thread: the program does not wait for it. */
static bool is_beside(const char *what)
{
    return strcmp(what, "flush") == 0 || strcmp(what, "sampling") == 0 || strcmp(what, "timeline") == 0 ||
           strcmp(what, "timeline-setup") == 0;
}

static int warn_of_cost(struct loader *l, const struct costs *c)
{
    char message[512];
    char time[32];
    double total = 0;
    size_t n;
    if (c->count == 0)
        return 0;
    for (size_t i = 0; i < c->count; i++)
        if (!is_beside(c->row[i].what))
            total += c->row[i].seconds;
    ws_unit_format(time, sizeof time, ws_value_of(total), WS_UNIT_SECOND);
    n = (size_t)snprintf(message, sizeof message, "WarpSight took %s of the program's time:", time);
    for (size_t i = 0; i < c->count && n < sizeof message; i++) {
        ws_unit_format(time, sizeof time, ws_value_of(c->row[i].seconds), WS_UNIT_SECOND);
        n += (size_t)snprintf(message + n, sizeof message - n, "%s %s %s%s", i ? "," : "", c->row[i].what, time,
                              is_beside(c->row[i].what) ? " (beside it, on a thread of our own)" : "");
        if (strcmp(c->row[i].what, "profile") == 0 && n < sizeof message)
            n += (size_t)snprintf(message + n, sizeof message - n, " for %" PRIu64 " launch%s", c->row[i].count,
                                  c->row[i].count == 1 ? "" : "es");
    }
    return add_warning(l, 0, "overhead", message, "", 1);
}

/* What was spent of what was allowed. */
static int warn_of_budget(struct loader *l)
{
    const struct ws_counting_cost *c = &l->s->counting;
    char message[400], spent[32], limit[48] = "";
    size_t n;
    if (!c->is_known || (c->limit_s == 0 && c->overhead == 0))
        return 0;
    ws_unit_format(spent, sizeof spent, ws_value_of(c->spent_s), WS_UNIT_SECOND);
    if (c->limit_s > 0) {
        char time[32];
        ws_unit_format(time, sizeof time, ws_value_of(c->limit_s), WS_UNIT_SECOND);
        snprintf(limit, sizeof limit, " of at most %s", time);
    }
    n = (size_t)snprintf(message, sizeof message, "counting took %s%s, %.1f %% of the run without it", spent, limit,
                         100 * c->part);
    if (c->overhead > 0)
        n += (size_t)snprintf(message + n, sizeof message - n, " of at most %.3g %%", 100 * c->overhead);
    n += (size_t)snprintf(message + n, sizeof message - n, ": %" PRIu64 " launch%s", c->launches,
                          c->launches == 1 ? "" : "es");
    if (c->refused > 0)
        snprintf(message + n, sizeof message - n,
                 "; of %" PRIu64 " kernel%s launches were left out, %" PRIu64 " %s no counter at all", c->refused,
                 c->refused == 1 ? "" : "s", c->empty, c->empty == 1 ? "has" : "have");
    return add_warning(l, 0, "budget", message, c->empty > 0 ? "Raise --budget or --max-overhead, or run longer." : "",
                       1);
}

static bool has_warning(const struct ws_session *s, const char *start)
{
    for (size_t i = 0; i < s->warning_count; i++)
        if (strncmp(s->warnings[i].code, start, strlen(start)) == 0)
            return true;
    return false;
}

/* What is missing although nothing said so. */
static int warn_of_nothing(struct loader *l)
{
    const struct ws_session *s = l->s;
    uint64_t profiled = 0;
    for (size_t i = 0; i < s->kernel_count; i++)
        profiled += s->kernels[i].profiled;
    if (s->process_count == 0)
        return add_warning(l, 2, "no-cuda", "no process of this program started CUDA with the collector in it",
                           "Run `warpsight doctor`; a statically linked or set-user-id program cannot be preloaded.",
                           1);
    if (s->kernel_count == 0)
        return add_warning(l, 1, "no-kernels", "no CUDA kernel was seen",
                           "Does the program get as far as its first launch? See also: warpsight doctor.", 1);
    if (profiled == 0 && !has_warning(s, "counters-") && !has_warning(s, "timeline-mode") &&
        strcmp(s->row.source, "imported") != 0)
        return add_warning(l, 0, "no-counters", "no launch got counters: only times and geometry are known",
                           "Leave out --set trace, --replay-mode none or a filter that fits no kernel.", 1);
    return 0;
}

/* When nothing was collected, in one sentence. */
static int warn_of_gaps(struct loader *l)
{
    struct ws_gaps gaps;
    const struct ws_session_row *r = &l->s->row;
    int64_t end_ns = r->ended_ns > 0 ? r->ended_ns : 0;
    int64_t sum_ns = 0;
    char time[64], message[300];
    int err = ws_gaps_load(l->store, r->id, 0, &gaps);
    for (size_t i = 0; i < l->s->process_count; i++)
        end_ns = l->s->processes[i].ended_ns > end_ns ? l->s->processes[i].ended_ns : end_ns;
    for (size_t i = 0; i < gaps.count; i++) {
        int64_t until = gaps.at[i].end_ns < INT64_MAX ? gaps.at[i].end_ns : end_ns;
        sum_ns += until > gaps.at[i].start_ns ? until - gaps.at[i].start_ns : 0;
    }
    if (err == 0 && gaps.count > 0) {
        ws_unit_format(time, sizeof time, ws_value_of((double)sum_ns * 1e-9), WS_UNIT_SECOND);
        snprintf(message, sizeof message,
                 "not collected for %s, in %zu part%s of the run (the first because of: %s): that time counts neither "
                 "as busy nor as idle",
                 time, gaps.count, gaps.count == 1 ? "" : "s", gaps.at[0].reason);
        err = add_warning(l, 0, "not-collected", message, "When: `warpsight report --by-process`, or the timeline.",
                          gaps.count);
    }
    ws_gaps_free(&gaps);
    return err;
}

static int warn_of_exit(struct loader *l)
{
    const struct ws_session_row *r = &l->s->row;
    char message[96];
    if (!r->has_exit || (r->exit_status == 0 && r->exit_signal == 0))
        return 0;
    if (r->exit_signal != 0)
        snprintf(message, sizeof message, "the program was ended by signal %" PRId64 " (%s)", r->exit_signal,
                 r->exit_signal > 0 && r->exit_signal < 65 ? strsignal((int)r->exit_signal) : "unknown");
    else
        snprintf(message, sizeof message, "the program ended with status %" PRId64, r->exit_status);
    return add_warning(l, r->exit_signal != 0, r->exit_signal ? "program-signal" : "program-status", message, "", 1);
}

/* Gravest first, then by code and message: an order that does not depend on which process was read first. */
static int by_gravity(const void *a, const void *b)
{
    const struct ws_warning *x = a;
    const struct ws_warning *y = b;
    int order = strcmp(x->code, y->code);
    if (x->severity != y->severity)
        return x->severity > y->severity ? -1 : 1;
    return order != 0 ? order : strcmp(x->message, y->message);
}

static int load_warnings(struct loader *l)
{
    struct costs costs = {.count = 0};
    int64_t id = l->s->row.id;
    int err = ws_store_each_status(l->store, id, load_status, l);
    if (err == 0)
        err = warn_of_nothing(l);
    if (err == 0)
        err = warn_of_budget(l);
    if (err == 0)
        err = ws_store_each_loss(l->store, id, load_loss, l);
    if (err == 0)
        err = warn_of_gaps(l);
    if (err == 0)
        err = warn_of_exit(l);
    if (err == 0)
        err = ws_store_each_cost(l->store, id, load_cost, &costs);
    if (err == 0)
        err = warn_of_cost(l, &costs);
    if (l->s->warning_count > 0)
        qsort(l->s->warnings, l->s->warning_count, sizeof *l->s->warnings, by_gravity);
    return err;
}

/* --- ceilings --- */

uint32_t ws_report_driver(const struct ws_session *session)
{
    return session->process_count > 0 ? session->processes[0].driver_version : 0;
}

static int load_ceiling_origin(void *state, const struct ws_ceiling_row *row)
{
    struct loader *l = state;
    enum ws_ceiling_id id = ws_ceiling_find(row->key, strlen(row->key));
    for (size_t i = 0; i < l->s->device_count && id != WS_CEILING_COUNT; i++) {
        struct ws_ceiling_origin *o = &l->s->ceiling_origins[i][id];
        if (row->driver_version != ws_report_driver(l->s) || strcmp(row->uuid, l->s->devices[i].uuid) != 0)
            continue;
        *o = (struct ws_ceiling_origin){row->method, row->measured_ns};
        if (!keep(&l->s->arena, &o->method))
            return -WS_ENOMEM;
    }
    return 0;
}

/* A board that was not measured keeps "not measured"; that is no error. */
static int load_ceilings(struct loader *l)
{
    struct ws_session *s = l->s;
    size_t count = s->device_count > 0 ? s->device_count : 1;
    int err = 0;
    s->ceilings = calloc(count, sizeof *s->ceilings);
    s->ceiling_origins = calloc(count, sizeof *s->ceiling_origins);
    if (!s->ceilings || !s->ceiling_origins)
        return -WS_ENOMEM;
    for (size_t i = 0; i < s->device_count; i++)
        for (size_t k = 0; k < WS_CEILING_COUNT; k++)
            s->ceiling_origins[i][k].method = "";
    for (size_t i = 0; err == 0 && i < s->device_count; i++) {
        err = ws_store_get_ceilings(l->store, s->devices[i].uuid, ws_report_driver(s), &s->ceilings[i]);
        err = err == -WS_ENOENT ? 0 : err;
    }
    return err == 0 ? ws_store_each_ceiling(l->store, load_ceiling_origin, l) : err;
}

/* --- the timeline --- */

/* Rows that cannot be read leave their facts missing; the kernels are worth showing without them. */
int ws_report_load_samples(struct ws_store *store, struct ws_session *session)
{
    struct ws_pm_facts samples;
    int err = ws_pm_facts_load(store, session->row.id, &samples);
    if (err != 0 || samples.count == 0)
        return err;
    session->pm = malloc(sizeof samples);
    if (!session->pm) {
        ws_pm_facts_free(&samples);
        return -WS_ENOMEM;
    }
    *session->pm = samples;
    return 0;
}

int ws_report_load_timeline(struct ws_store *store, struct ws_session *session)
{
    struct ws_timeline_facts *facts = malloc(sizeof *facts);
    struct ws_findings *found = malloc(sizeof *found);
    int err = facts && found ? ws_timeline_facts_load(store, session, facts) : -WS_ENOMEM;
    if (err != 0 && err != -WS_ECORRUPT) {
        free(facts);
        free(found);
        return err;
    }
    ws_rules_run_timeline(facts, found);
    session->facts = facts;
    session->timeline = found;
    return ws_report_load_samples(store, session);
}

/* --- what cannot be --- */

/* Values that break a bound of plausible.def: nothing is computed from them. The rows in the database stay.
 *   first  the first of them, if any */
static unsigned strike_out(struct ws_kernel *k, struct ws_implausible *first)
{
    struct ws_value raw[WS_METRIC_COUNT];
    unsigned count;
    for (int id = 0; id < WS_METRIC_COUNT; id++)
        raw[id] = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    /* Means are compared only where they are of the same launches: rotation counts each pass on others. */
    for (size_t i = 0; i < k->stat_count; i++) {
        const struct ws_stat *stat = &k->stats[i];
        if (stat->id < WS_METRIC_COUNT && stat->count > 0 && (stat->count == k->profiled || stat->min < 0))
            raw[stat->id] = stat->min < 0 ? ws_value_of(stat->min) : stat->mean;
    }
    count = ws_plausible(raw, first);
    for (size_t i = 0; count > 0 && i < k->stat_count; i++) {
        struct ws_stat *stat = &k->stats[i];
        if (stat->id < WS_METRIC_COUNT && stat->count > 0 && raw[stat->id].why == WS_WHY_RANGE) {
            stat->mean = raw[stat->id];
            stat->count = 0;
        }
    }
    return count;
}

static int finish_kernels(struct loader *l)
{
    struct ws_session *s = l->s;
    struct ws_implausible first = {0};
    const char *kernel = "";
    char message[512];
    uint64_t count = 0;
    for (size_t i = 0; i < s->kernel_count; i++) {
        struct ws_implausible one = {0};
        unsigned n;
        take_means(&s->kernels[i]);
        n = strike_out(&s->kernels[i], &one);
        if (n > 0 && count == 0) {
            first = one;
            kernel = s->kernels[i].name.alias;
        }
        count += n;
        finish_kernel(&s->kernels[i]);
        if (ws_has(s->kernels[i].times.total))
            s->total_s += s->kernels[i].times.total.number;
    }
    if (count == 0)
        return 0;
    snprintf(message, sizeof message, "%" PRIu64 " counter value%s cannot be and %s left out, first %s of %.200s: %s",
             count, count == 1 ? "" : "s", count == 1 ? "is" : "are", ws_metric_get(first.id)->key, kernel, first.text);
    return add_warning(l, 1, "implausible", message, "The values as they came: warpsight export --format sqlite.",
                       count);
}

/* --- PC samples --- */

static int load_sampling(void *state, const struct ws_pc_sampling_row *row)
{
    struct ws_pc_totals *t = &((struct loader *)state)->s->sampling;
    uint32_t period = row->rec.period;
    t->period_least = !t->is_there || period < t->period_least ? period : t->period_least;
    t->period_most = period > t->period_most ? period : t->period_most;
    t->samples += row->rec.samples;
    t->other += row->rec.other;
    t->dropped += row->rec.dropped;
    t->is_there = true;
    return 0;
}

/* A function's samples belong to each of its launch shapes: which one a sample is from is not known. */
static int load_sum(void *state, const struct ws_pc_sample_row *row)
{
    struct loader *l = state;
    struct ws_session *s = l->s;
    struct ws_samples one = {.unnamed = 0};
    bool is_kernel = false;
    if (!l->sums || strcmp(l->sums_of, row->function) != 0) {
        l->sums = ws_arena_take(&s->arena, sizeof *l->sums);
        l->sums_of = ws_arena_text(&s->arena, row->function);
        if (!l->sums || !l->sums_of)
            return -WS_ENOMEM;
        memset(l->sums, 0, sizeof *l->sums);
        for (size_t i = 0; i < s->kernel_count; i++)
            if (strcmp(s->kernels[i].row.mangled, row->function) == 0) {
                s->kernels[i].samples = l->sums;
                is_kernel = true;
            }
        l->is_sum_of_kernel = is_kernel;
    }
    ws_samples_add(l->sums, row->reason, row->samples);
    ws_samples_add(&one, row->reason, row->samples);
    if (!l->is_sum_of_kernel)
        s->sampling.without_kernel += ws_samples_all(&one);
    return 0;
}

/* --- all together --- */

static int load_all(struct loader *l, int64_t id)
{
    int err = ws_store_get_session(l->store, id, load_session_row, l);
    if (err == 0)
        err = ws_store_each_process(l->store, id, load_process, l);
    if (err == 0)
        err = ws_store_each_device(l->store, id, load_device, l);
    if (err == 0)
        err = ws_store_each_kernel(l->store, id, load_kernel, l);
    if (err == 0)
        err = ws_store_each_metric(l->store, id, load_metric, l);
    if (err == 0)
        err = load_ceilings(l);
    if (err == 0)
        err = ws_store_each_pc_sampling(l->store, id, load_sampling, l);
    if (err == 0)
        err = ws_store_each_pc_sum(l->store, id, load_sum, l);
    if (err == 0)
        err = finish_kernels(l);
    if (err == 0)
        err = load_counting(l);
    if (err == 0)
        err = load_warnings(l);
    return err;
}

int ws_report_load(struct ws_store *store, int64_t session_id, struct ws_session **out)
{
    struct ws_session *s = NULL;
    int err = ws_report_load_kernels(store, session_id, &s);
    if (err == 0)
        err = ws_report_load_timeline(store, s);
    if (err != 0)
        ws_report_free(s);
    else
        *out = s;
    return err;
}

int ws_report_load_kernels(struct ws_store *store, int64_t session_id, struct ws_session **out)
{
    struct ws_session *s = calloc(1, sizeof *s);
    struct loader l = {.s = s, .store = store};
    int err = s ? load_all(&l, session_id) : -WS_ENOMEM;
    free(l.keys);
    if (err == 0) {
        err = ws_report_select(s, NULL, "duration", 0);
        if (err == -WS_ENOENT && s->kernel_count == 0)
            err = 0; /* a session without kernels is one, too */
    }
    if (err != 0) {
        ws_report_free(s);
        return err;
    }
    *out = s;
    return 0;
}

static void free_kernel(struct ws_kernel *k)
{
    free(k->stats);
}

void ws_report_free(struct ws_session *session)
{
    if (!session)
        return;
    for (size_t i = 0; i < session->kernel_count; i++)
        free_kernel(&session->kernels[i]);
    free(session->kernels);
    free(session->processes);
    free(session->devices);
    free(session->ceilings);
    free(session->ceiling_origins);
    free(session->facts);
    free(session->timeline);
    if (session->pm)
        ws_pm_facts_free(session->pm);
    free(session->pm);
    free(session->warnings);
    ws_arena_fini(&session->arena);
    free(session);
}

/* --- analysis --- */

/* Why a counter that no row mentions has no value. */
static enum ws_why why_nothing(const struct ws_session *s, const struct ws_kernel *k, unsigned id)
{
    const struct ws_counting *c = &k->counting;
    if (has_warning(s, "counters-no-rights"))
        return WS_WHY_NO_RIGHTS;
    if (strcmp(s->row.source, "imported") == 0)
        return WS_WHY_NOT_IN_SOURCE;
    if (c->is_known && s->is_wanted[id]) {
        if (c->is_refused)
            return WS_WHY_BUDGET;
        if (c->mode == WS_MODE_ROTATE && k->profiled > 0)
            return WS_WHY_PASS;
        if (c->mode == WS_MODE_NONE && k->profiled == 0)
            return WS_WHY_UNCOUNTED;
    }
    return k->profiled == 0 ? WS_WHY_NO_LAUNCH : WS_WHY_NOT_COLLECTED;
}

void ws_report_analyze(const struct ws_session *session, size_t kernel, struct ws_report *out)
{
    static const struct ws_device nothing = {.name = ""};
    const struct ws_kernel *k = &session->kernels[kernel];
    struct ws_value raw[WS_METRIC_COUNT];
    struct ws_facts facts = {.device =
                                 k->device < session->device_count ? &session->devices[k->device].device : &nothing,
                             .launch = k->row.launch,
                             .launches = k->launches,
                             .profiled_launches = k->profiled,
                             .is_library = k->name.is_library,
                             .raw = raw};
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        raw[i] = ws_missing(why_nothing(session, k, i), NULL);
    for (size_t i = 0; i < k->stat_count; i++)
        if (k->stats[i].id < WS_METRIC_COUNT)
            raw[k->stats[i].id] = k->stats[i].mean;
    for (unsigned i = 0; ws_has(k->sampled_blocks) && i < WS_METRIC_COUNT; i++)
        if (ws_has(raw[i]) && raw[i].grade == WS_GRADE_EXACT)
            raw[i].grade = WS_GRADE_ESTIMATE;
    if (ws_has(k->times.mean))
        raw[WS_M_duration] = k->times.mean;
    ws_analyze(&facts, k->device < session->device_count ? &session->ceilings[k->device] : NULL, out);
    /* Occupancy follows from registers and shared memory, which only an activity record tells. */
    if (!k->row.has_attributes && ws_has(out->occupancy.theoretical))
        out->occupancy.theoretical = out->metric[WS_M_theoretical_occupancy] = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
}

/* --- selecting --- */

static const char *const sort_words[] = {"duration", "mean", "min", "max", "launches", "gain", "name"};

bool ws_report_is_sort_key(const char *key)
{
    for (size_t i = 0; i < sizeof sort_words / sizeof sort_words[0]; i++)
        if (strcmp(key, sort_words[i]) == 0)
            return true;
    return ws_metric_find(key, strlen(key)) < WS_METRIC_COUNT;
}

static bool needs_analysis(const char *key)
{
    for (size_t i = 0; i < sizeof sort_words / sizeof sort_words[0]; i++)
        if (strcmp(key, sort_words[i]) == 0)
            return strcmp(key, "gain") == 0;
    return true;
}

struct ws_value ws_report_sort_value(const struct ws_kernel *kernel, const struct ws_report *report, const char *key)
{
    enum ws_metric_id id;
    if (strcmp(key, "duration") == 0)
        return kernel->times.total;
    if (strcmp(key, "mean") == 0)
        return kernel->times.mean;
    if (strcmp(key, "min") == 0)
        return kernel->times.min;
    if (strcmp(key, "max") == 0)
        return kernel->times.max;
    if (strcmp(key, "launches") == 0)
        return ws_value_of((double)kernel->launches);
    if (strcmp(key, "gain") == 0)
        return report && report->findings.count > 0 ? report->findings.item[0].gain
                                                    : ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    id = ws_metric_find(key, strlen(key));
    return report && id < WS_METRIC_COUNT ? report->metric[id] : ws_missing(WS_WHY_NOT_COLLECTED, NULL);
}

struct place {
    size_t kernel;
    struct ws_value value;
    const char *name;
    int64_t id;
    bool by_name;
};

/* Greatest first, missing last; equal ones in order of their first launch. */
static int by_value(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;
    int order = x->by_name ? strcmp(x->name, y->name) : 0;
    if (order != 0)
        return order;
    if (!x->by_name && ws_has(x->value) != ws_has(y->value))
        return ws_has(x->value) ? -1 : 1;
    if (!x->by_name && ws_has(x->value) && x->value.number != y->value.number)
        return x->value.number > y->value.number ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int sort_kernels(struct ws_session *s, const char *key)
{
    struct ws_report *report = needs_analysis(key) ? malloc(sizeof *report) : NULL;
    struct place *places = calloc(s->kernel_count ? s->kernel_count : 1, sizeof *places);
    struct ws_kernel *sorted = calloc(s->kernel_count ? s->kernel_count : 1, sizeof *sorted);
    int err = !places || !sorted || (needs_analysis(key) && !report) ? -WS_ENOMEM : 0;
    for (size_t i = 0; err == 0 && i < s->kernel_count; i++) {
        const struct ws_kernel *k = &s->kernels[i];
        if (report)
            ws_report_analyze(s, i, report);
        places[i] = (struct place){i, ws_report_sort_value(k, report, key), k->name.demangled, k->row.id,
                                   strcmp(key, "name") == 0};
    }
    if (err == 0) {
        qsort(places, s->kernel_count, sizeof *places, by_value);
        for (size_t i = 0; i < s->kernel_count; i++)
            sorted[i] = s->kernels[places[i].kernel];
        free(s->kernels);
        s->kernels = sorted;
        sorted = NULL;
    }
    free(report);
    free(places);
    free(sorted);
    return err;
}

int ws_report_select(struct ws_session *session, const struct ws_name_filter *filter, const char *key, size_t top)
{
    size_t kept = 0;
    int err;
    for (size_t i = 0; i < session->kernel_count; i++) {
        if (filter && !ws_name_filter_fits(filter, &session->kernels[i].name))
            free_kernel(&session->kernels[i]);
        else
            session->kernels[kept++] = session->kernels[i];
    }
    session->kernel_count = kept;
    if (kept == 0)
        return -WS_ENOENT;
    err = key ? sort_kernels(session, key) : 0;
    while (err == 0 && top != 0 && session->kernel_count > top)
        free_kernel(&session->kernels[--session->kernel_count]);
    return err;
}
