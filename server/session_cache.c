/* SPDX-License-Identifier: MIT
 * session_cache.c: a few sessions, least recently used goes when nobody reads it. */
#include "session_cache.h"

#include "../analyzer/err.h"
#include "../analyzer/rules.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4 };

_Static_assert(WS_FINDINGS_MAX <= 64, "a finding is a bit");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;          /* guards slots, users and used */
static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;     /* one load at a time: it is most of the memory */
static pthread_mutex_t timeline_lock = PTHREAD_MUTEX_INITIALIZER; /* the same for timelines, which take longer */
static struct ws_cached *slots[SLOTS];
static uint64_t uses;

static void drop(struct ws_cached *c)
{
    if (!c || --c->users > 0)
        return;
    ws_report_free(c->session);
    free(c->kernels);
    free(c);
}

void ws_session_cache_give(const struct ws_cached *cached)
{
    pthread_mutex_lock(&lock);
    drop((struct ws_cached *)(uintptr_t)cached);
    pthread_mutex_unlock(&lock);
}

static struct ws_cached *find(int64_t id, uint64_t revision)
{
    struct ws_cached *found = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SLOTS; i++)
        if (slots[i] && slots[i]->id == id && slots[i]->revision == revision)
            found = slots[i];
    if (found) {
        found->users++;
        found->used = ++uses;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* In the place of an older state of the session, or of what was used least. */
static void keep(struct ws_cached *c)
{
    size_t at = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SLOTS; i++) {
        if (slots[i] && slots[i]->id == c->id) {
            at = i;
            break;
        }
        if (!slots[i] || (slots[at] && slots[i]->used < slots[at]->used))
            at = i;
    }
    drop(slots[at]);
    slots[at] = c;
    c->users = 2; /* the slot's, the caller's */
    c->used = ++uses;
    pthread_mutex_unlock(&lock);
}

/* --- summaries --- */

static uint64_t rule_bit(const struct ws_rule *rule)
{
    for (size_t i = 0; i < ws_rules_count() && i < 64; i++)
        if (ws_rules_get(i) == rule)
            return 1ull << i;
    return 0;
}

static enum ws_bound bound_of(const struct ws_roofline *r)
{
    enum ws_bound bound = WS_BOUND_UNKNOWN;
    double best = -1;
    for (size_t i = 0; i < r->count; i++)
        if (ws_has(r->points[i].measured.percent) && r->points[i].measured.percent.number > best) {
            best = r->points[i].measured.percent.number;
            bound = r->points[i].measured.bound;
        }
    return bound;
}

static void summarise(const struct ws_report *report, struct ws_kernel_summary *out)
{
    const struct ws_findings *f = &report->findings;
    memcpy(out->metric, report->metric, sizeof out->metric);
    out->gain = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    out->severity = WS_SEVERITY_INFO;
    for (size_t i = 0; i < f->count; i++) {
        out->rules |= rule_bit(f->item[i].rule);
        if (f->item[i].severity > out->severity)
            out->severity = f->item[i].severity;
    }
    for (size_t i = 0; i < f->skipped_count; i++)
        if (!f->skipped[i].yielded_to)
            out->not_judged |= rule_bit(f->skipped[i].rule);
    if (f->count > 0)
        out->gain = f->item[0].gain;
    out->bound = bound_of(&report->roofline);
}

static int load(struct ws_store *store, struct ws_cached *c)
{
    struct ws_report *report = malloc(sizeof *report);
    int err = report ? ws_report_load_kernels(store, c->id, &c->session) : -WS_ENOMEM;
    if (err == 0) {
        c->kernels = calloc(c->session->kernel_count + 1, sizeof *c->kernels);
        err = c->kernels ? 0 : -WS_ENOMEM;
    }
    for (size_t i = 0; err == 0 && i < c->session->kernel_count; i++) {
        ws_report_analyze(c->session, i, report);
        summarise(report, &c->kernels[i]);
    }
    free(report);
    return err;
}

/* The timeline of a session that is in use already. Other readers see it when it is whole, or not at all. */
static int complete(struct ws_store *store, struct ws_cached *c)
{
    int err = 0;
    pthread_mutex_lock(&timeline_lock);
    if (!atomic_load(&c->is_whole)) {
        err = ws_report_load_timeline(store, c->session);
        atomic_store(&c->is_whole, err == 0);
    }
    pthread_mutex_unlock(&timeline_lock);
    return err;
}

int ws_session_cache_take_whole(struct ws_store *store, int64_t id, uint64_t revision, const struct ws_cached **out)
{
    const struct ws_cached *c;
    int err = ws_session_cache_take(store, id, revision, &c);
    if (err != 0)
        return err;
    if (!atomic_load(&c->is_whole))
        err = complete(store, (struct ws_cached *)(uintptr_t)c);
    if (err == 0)
        *out = c;
    else
        ws_session_cache_give(c);
    return err;
}

int ws_session_cache_take(struct ws_store *store, int64_t id, uint64_t revision, const struct ws_cached **out)
{
    struct ws_cached *c = find(id, revision);
    int err = 0;
    if (!c) {
        pthread_mutex_lock(&load_lock);
        c = find(id, revision); /* another request loaded it meanwhile */
        if (!c) {
            c = calloc(1, sizeof *c);
            err = -WS_ENOMEM;
            if (c) {
                c->id = id;
                c->revision = revision;
                c->users = 1;
                err = load(store, c);
            }
            if (err == 0)
                keep(c);
        }
        pthread_mutex_unlock(&load_lock);
    }
    if (err != 0) {
        drop(c);
        return err;
    }
    *out = c;
    return 0;
}
