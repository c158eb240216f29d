/* SPDX-License-Identifier: MIT
 * answer_cache.c: a few answers, 8 MB in all. The ETag says when one is stale; nothing else has to. */
#include "answer_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 32, ONE_MAX = 1 << 20, ALL_MAX = 8 << 20 };

struct kept {
    char *target;
    char etag[64];
    char *text;
    size_t bytes;
    uint64_t used;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static struct kept slots[SLOTS];
static size_t total;
static uint64_t uses;

static void forget(struct kept *k)
{
    total -= k->bytes;
    free(k->target);
    free(k->text);
    memset(k, 0, sizeof *k);
}

static struct kept *find(const char *target)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (slots[i].target && strcmp(slots[i].target, target) == 0)
            return &slots[i];
    return NULL;
}

bool ws_answer_cache_take(struct ws_call *call)
{
    struct kept *k;
    bool found = false;
    pthread_mutex_lock(&lock);
    k = find(call->request->target);
    if (k && strcmp(k->etag, call->etag) == 0) {
        k->used = ++uses;
        fwrite(k->text, 1, k->bytes, call->out);
        found = call->is_cached = true;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* A free place, made by forgetting what was used longest ago. */
static struct kept *make_room(size_t bytes)
{
    struct kept *oldest;
    for (;;) {
        struct kept *free_slot = NULL;
        oldest = NULL;
        for (size_t i = 0; i < SLOTS; i++) {
            if (!slots[i].target)
                free_slot = &slots[i];
            else if (!oldest || slots[i].used < oldest->used)
                oldest = &slots[i];
        }
        if (free_slot && total + bytes <= ALL_MAX)
            return free_slot;
        forget(oldest); /* there is one: nothing kept is neither full nor too much */
    }
}

void ws_answer_cache_keep(struct ws_call *call)
{
    struct kept *k;
    if (call->is_cached || call->status != 200 || !*call->etag || call->lent || call->file || fflush(call->out) != 0 ||
        call->text_bytes > ONE_MAX)
        return;
    pthread_mutex_lock(&lock);
    k = find(call->request->target);
    if (k)
        forget(k);
    k = make_room(call->text_bytes);
    k->target = strdup(call->request->target);
    k->text = malloc(call->text_bytes + 1);
    if (k->target && k->text) {
        memcpy(k->text, call->text, call->text_bytes);
        memcpy(k->etag, call->etag, sizeof k->etag);
        k->bytes = call->text_bytes;
        total += k->bytes;
        k->used = ++uses;
    } else {
        forget(k);
    }
    pthread_mutex_unlock(&lock);
}
