/* SPDX-License-Identifier: MIT
 * run_watch.c: counts launches in the frame headers of a spool that is being written. A segment stays open here until
 * the next one is there, so that a daemon that takes it meanwhile hides nothing; a segment that came and went between
 * two looks is missed, and the counts are told as "at least" then. */
#include "run_watch.h"

#include "../collector/wire.h"
#include "progress.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_S 5.0

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- counting --- */

static int open_at(const struct ws_run_watch *w, const struct ws_watched *a, uint32_t segment)
{
    static const char *const ends[] = {"open", "done"};
    char path[WS_PATH_MAX + 64];
    int fd = -1;
    for (int i = 0; i < 2 && fd < 0; i++) {
        snprintf(path, sizeof path, "%s/%s/%08u.%s", w->folder, a->agent, (unsigned)segment, ends[i]);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    }
    return fd;
}

/* Frames from where we stopped; the last one may not be whole yet. */
static void count_frames(struct ws_run_watch *w, struct ws_watched *a)
{
    uint8_t header[WS_WIRE_FRAME_BYTES];
    off_t size = lseek(a->fd, 0, SEEK_END);
    struct ws_frame frame;
    while (pread(a->fd, header, sizeof header, (off_t)a->offset) == (ssize_t)sizeof header &&
           ws_wire_peek_frame(&frame, header) == 0) {
        uint64_t next = a->offset + WS_WIRE_FRAME_BYTES + frame.length;
        if (size < 0 || next > (uint64_t)size)
            break;
        w->launches += frame.type == WS_REC_KERNEL ? frame.records : 0;
        w->measured += frame.type == WS_REC_PROFILE ? frame.records : 0;
        a->offset = next;
    }
}

/* The lowest segment from `from` on that is in the agent's folder; UINT32_MAX: none. */
static uint32_t find_segment(const struct ws_run_watch *w, const struct ws_watched *a, uint32_t from)
{
    char path[WS_PATH_MAX + 64];
    uint32_t lowest = UINT32_MAX;
    const struct dirent *e;
    unsigned number;
    DIR *dir;
    snprintf(path, sizeof path, "%s/%s", w->folder, a->agent);
    dir = opendir(path);
    while (dir && (e = readdir(dir)) != NULL)
        if (strspn(e->d_name, "0123456789") == 8 && sscanf(e->d_name, "%8u.", &number) == 1 && number >= from &&
            number < lowest)
            lowest = number;
    if (dir)
        closedir(dir);
    return lowest;
}

/* Read on in this segment, and in those that follow it. */
static void follow(struct ws_run_watch *w, struct ws_watched *a)
{
    for (;;) {
        uint32_t from = a->fd >= 0 ? a->segment + 1 : a->segment;
        uint32_t next = find_segment(w, a, from);
        if (a->fd >= 0)
            count_frames(w, a); /* after we looked for the next one: what this one holds now is all it will */
        if (next == UINT32_MAX)
            return;
        w->is_least = w->is_least || next != from;
        if (a->fd >= 0)
            close(a->fd);
        a->segment = next;
        a->fd = open_at(w, a, next);
        a->offset = WS_WIRE_SEGMENT_BYTES;
        if (a->fd < 0) { /* taken since */
            a->segment = next + 1;
            w->is_least = true;
        }
    }
}

static bool is_known(const struct ws_run_watch *w, const char *agent)
{
    for (int i = 0; i < w->agent_count; i++)
        if (strcmp(w->agents[i].agent, agent) == 0)
            return true;
    return false;
}

static void find_agents(struct ws_run_watch *w)
{
    DIR *dir = opendir(w->folder);
    const struct dirent *e;
    while (dir && (e = readdir(dir)) != NULL) {
        if (strlen(e->d_name) != 32 || strspn(e->d_name, "0123456789abcdef") != 32 || is_known(w, e->d_name))
            continue;
        if (w->agent_count == WS_WATCH_AGENTS) {
            w->is_least = true;
            break;
        }
        w->agents[w->agent_count] = (struct ws_watched){.fd = -1};
        memcpy(w->agents[w->agent_count++].agent, e->d_name, 33);
    }
    if (dir)
        closedir(dir);
}

/* --- telling --- */

void ws_run_watch_begin(struct ws_run_watch *w, const char *spool, const char *token)
{
    struct ws_progress terminal;
    ws_progress_begin(&terminal, "", "", false);
    memset(w, 0, sizeof *w);
    w->out = terminal.out;
    w->started_s = terminal.started_s;
    w->next_s = w->started_s + FIRST_S;
    if (snprintf(w->folder, sizeof w->folder, "%s/%s", spool, token) >= (int)sizeof w->folder)
        w->out = NULL;
}

void ws_run_watch_look_at(struct ws_run_watch *w, double time_s)
{
    double seconds = time_s - w->started_s;
    if (!w->out)
        return;
    find_agents(w);
    for (int i = 0; i < w->agent_count; i++)
        follow(w, &w->agents[i]);
    if (time_s < w->next_s)
        return;
    w->next_s = w->started_s + 2 * seconds;
    if (w->launches + w->measured > 0)
        fprintf(w->out,
                "==WARPSIGHT== %.0f s: %s%llu launches traced (%.3g/s), %llu measured, in %d process%s so far\n",
                seconds, w->is_least ? "at least " : "", (unsigned long long)w->launches, (double)w->launches / seconds,
                (unsigned long long)w->measured, w->agent_count, w->agent_count == 1 ? "" : "es");
    fflush(w->out);
}

void ws_run_watch_look(void *watch)
{
    ws_run_watch_look_at(watch, now_s());
}

void ws_run_watch_end(struct ws_run_watch *w)
{
    for (int i = 0; i < w->agent_count; i++)
        if (w->agents[i].fd >= 0)
            close(w->agents[i].fd);
    w->agent_count = 0;
}
