/* SPDX-License-Identifier: MIT
 * ctl.c: see ctl.h. Names in paths come from the folder itself and are looked at before use; no link is followed.
 * A command is linked into place, never renamed: of two askers one waits until the other's was taken up. */
#include "ctl.h"

#include "../analyzer/err.h"
#include "../collector/spool.h"
#include "../collector/wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEAD_BYTES (512u << 10) /* the HELLO stands in the first frames of a segment */
#define ANSWER_MS 12000         /* the longest flush period is 10 s */
#define LOOK_MS 10

static bool is_token(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n < 128 && strspn(name, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == n;
}

static bool is_agent(const char *name)
{
    return strlen(name) == 32 && strspn(name, "0123456789abcdef") == 32;
}

static bool is_open_segment(const char *name)
{
    return strspn(name, "0123456789") == 8 && strcmp(name + 8, ".open") == 0;
}

static bool is_our_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_uid == geteuid() || st.st_uid == 0) &&
           (st.st_mode & S_IWOTH) == 0;
}

static bool join(char out[WS_PATH_MAX], const char *folder, const char *name)
{
    int n = snprintf(out, WS_PATH_MAX, "%s/%s", folder, name);
    return n > 0 && n < WS_PATH_MAX;
}

/* --- one process --- */

/* The open segment of a folder whose writer lives, as a descriptor; -1: there is none. */
static int open_live(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *e;
    int found = -1;
    while (dir && found < 0 && (e = readdir(dir)) != NULL) {
        char path[WS_PATH_MAX];
        struct stat st;
        int fd;
        if (!is_open_segment(e->d_name) || !join(path, folder, e->d_name))
            continue;
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0)
            continue;
        /* Without a header it is not locked yet, perhaps; trying the lock then would be in its writer's way. */
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= WS_WIRE_SEGMENT_BYTES &&
            flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
            found = fd;
        else
            close(fd);
    }
    if (dir)
        closedir(dir);
    return found;
}

static bool is_alive(const char *folder)
{
    int fd = open_live(folder);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void copy_text(char *out, size_t cap, struct ws_text text)
{
    size_t n = text.length < cap - 1 ? text.length : cap - 1;
    if (n > 0)
        memcpy(out, text.at, n);
    out[n] = 0;
}

/* Of a process that a collector of CUPTI is in: the model has nothing that could be stopped. */
static bool take_hello(struct ws_ctl_process *p, const struct ws_rec_hello *hello)
{
    if (ws_text_is(hello->source, "modelled"))
        return false;
    p->pid = (uint32_t)hello->pid;
    p->started_ns = hello->started_ns;
    copy_text(p->name, sizeof p->name, hello->session_name);
    copy_text(p->exe, sizeof p->exe, hello->exe);
    copy_text(p->host, sizeof p->host, hello->host);
    copy_text(p->rank, sizeof p->rank, hello->rank);
    return true;
}

/* Who writes this segment. */
static bool read_head(int fd, struct ws_ctl_process *p)
{
    uint8_t *bytes = malloc(HEAD_BYTES);
    ssize_t n = bytes ? pread(fd, bytes, HEAD_BYTES, 0) : -1;
    struct ws_segment_header header;
    size_t at = WS_WIRE_SEGMENT_BYTES;
    bool is_found = false;
    struct ws_frame frame;
    if (n > 0 && ws_wire_get_segment(&header, bytes, (size_t)n) == 0 && strcmp(header.agent_id, p->agent_id) == 0) {
        p->pid = header.pid;
        p->started_ns = header.started_ns;
        while (ws_wire_get_frame(&frame, bytes + at, (size_t)n - at) == 0) {
            struct ws_rec_hello hello;
            const uint8_t *record;
            uint32_t offset = 0;
            uint32_t length;
            if (frame.type == WS_REC_HELLO && ws_wire_next_record(&frame, &offset, &record, &length) == 1 &&
                ws_wire_get_hello(&hello, record, length) == 0) {
                is_found = take_hello(p, &hello);
                break;
            }
            at += WS_WIRE_FRAME_BYTES + frame.length;
        }
    }
    free(bytes);
    return is_found;
}

static bool read_state(const char *folder, struct ws_control_state *out)
{
    char *text = malloc(WS_CONTROL_BYTES);
    size_t n;
    bool is_read = text && ws_control_read_file(folder, WS_CONTROL_STATE, text, WS_CONTROL_BYTES, &n) == 0 &&
                   ws_control_parse_state(text, n, out) == 0;
    free(text);
    return is_read;
}

static bool look_at(struct ws_ctl_process *p)
{
    struct ws_control_state state;
    int fd = is_our_folder(p->folder) ? open_live(p->folder) : -1;
    bool is_found = fd >= 0 && read_head(fd, p);
    if (fd >= 0)
        close(fd);
    if (!is_found)
        return false;
    p->is_on = true; /* what never was told anything collects */
    p->was_told = read_state(p->folder, &state);
    if (p->was_told) {
        p->is_on = state.is_on;
        p->since_ns = state.since_ns;
        p->until_ns = state.until_ns;
        memcpy(p->reason, state.reason, sizeof p->reason);
    }
    return true;
}

/* --- all of them --- */

static int names_of(const char *folder, struct dirent ***names)
{
    int count = is_our_folder(folder) ? scandir(folder, names, NULL, alphasort) : -1;
    if (count < 0)
        *names = NULL;
    return count < 0 ? 0 : count;
}

static void free_names(struct dirent **names, int count)
{
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

static int each_of_token(const char *spool, const char *token,
                         int (*each)(void *state, const struct ws_ctl_process *process), void *state)
{
    char folder[WS_PATH_MAX];
    struct dirent **names = NULL;
    int count = join(folder, spool, token) ? names_of(folder, &names) : 0;
    int err = 0;
    for (int i = 0; err == 0 && i < count; i++) {
        struct ws_ctl_process p;
        memset(&p, 0, sizeof p);
        if (!is_agent(names[i]->d_name) || !join(p.folder, folder, names[i]->d_name))
            continue;
        memcpy(p.agent_id, names[i]->d_name, sizeof p.agent_id);
        snprintf(p.token, sizeof p.token, "%s", token);
        if (look_at(&p))
            err = each(state, &p);
    }
    free_names(names, count);
    return err;
}

int ws_ctl_each(const char *spool, int (*each)(void *state, const struct ws_ctl_process *process), void *state)
{
    struct dirent **names = NULL;
    struct stat st;
    int count;
    int err = 0;
    if (lstat(spool, &st) != 0)
        return 0;
    if (!is_our_folder(spool))
        return -WS_EPERM;
    count = names_of(spool, &names);
    for (int i = 0; err == 0 && i < count; i++)
        if (is_token(names[i]->d_name))
            err = each_of_token(spool, names[i]->d_name, each, state);
    free_names(names, count);
    return err;
}

/* --- asking --- */

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&t, NULL);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct asking {
    const struct ws_ctl_process *process;
    const char *id;
    int64_t until_ms;
    char *message;
    size_t cap;
};

#define FAILED(a, err, ...) (snprintf((a)->message, (a)->cap, __VA_ARGS__), -(err))

/* The command as control.ask, when no other lies there. */
static int hand_over(const struct asking *a, const char *text, size_t n)
{
    char beside[WS_PATH_MAX], place[WS_PATH_MAX], name[64];
    int err = -1;
    snprintf(name, sizeof name, "control.%s", a->id);
    if (!join(beside, a->process->folder, name) || !join(place, a->process->folder, WS_CONTROL_ASK))
        return FAILED(a, WS_EIO, "the path of the spool is too long");
    if (ws_control_write_file(a->process->folder, name, "new", text, n) != 0)
        return FAILED(a, WS_EIO, "cannot write to %s: %s", a->process->folder, strerror(errno));
    while ((err = link(beside, place)) != 0 && errno == EEXIST && now_ms() < a->until_ms &&
           is_alive(a->process->folder))
        pause_ms(LOOK_MS);
    if (err != 0)
        err = errno == EEXIST
                  ? FAILED(a, WS_EBUSY, "process %u does not take commands: one has been lying there", a->process->pid)
                  : FAILED(a, WS_EIO, "cannot write to %s: %s", a->process->folder, strerror(errno));
    (void)unlink(beside);
    return err;
}

/* Not taken up: it must not be carried out later. */
static void take_back(const struct asking *a)
{
    char place[WS_PATH_MAX];
    char *text = malloc(WS_CONTROL_BYTES);
    size_t n;
    if (text && join(place, a->process->folder, WS_CONTROL_ASK) &&
        ws_control_read_file(a->process->folder, WS_CONTROL_ASK, text, WS_CONTROL_BYTES, &n) == 0 &&
        strstr(text, a->id))
        (void)unlink(place);
    free(text);
}

/* 1: not yet. */
static int look_for_answer(const struct asking *a, char *answer, size_t answer_cap)
{
    struct ws_control_state state;
    if (!read_state(a->process->folder, &state))
        return 1;
    for (size_t i = 0; i < state.answer_count; i++) {
        if (strcmp(state.answer[i].id, a->id) != 0)
            continue;
        if (state.answer[i].is_refused)
            return FAILED(a, WS_EINVAL, "%s", state.answer[i].text);
        snprintf(answer, answer_cap, "%s", state.answer[i].text);
        return 0;
    }
    return 1;
}

int ws_ctl_ask(const struct ws_ctl_process *process, struct ws_control_command *command, char *answer,
               size_t answer_cap, char *message, size_t cap)
{
    struct asking a = {process, command->id, now_ms() + ANSWER_MS, message, cap};
    char *text = malloc(WS_CONTROL_BYTES);
    size_t n;
    int err;
    if (!text)
        return FAILED(&a, WS_ENOMEM, "out of memory");
    ws_make_id(command->id);
    n = ws_control_format(command, text, WS_CONTROL_BYTES);
    err = n > 0 ? hand_over(&a, text, n) : FAILED(&a, WS_EINVAL, "the settings are too long, or hold a line break");
    free(text);
    if (err != 0)
        return err;
    while ((err = look_for_answer(&a, answer, answer_cap)) == 1) {
        if (!is_alive(process->folder)) {
            take_back(&a);
            return FAILED(&a, WS_ENOENT, "process %u has ended", process->pid);
        }
        if (now_ms() >= a.until_ms) {
            take_back(&a);
            return FAILED(&a, WS_EBUSY, "process %u did not answer within %d s: is it stopped, or its disk full?",
                          process->pid, ANSWER_MS / 1000);
        }
        pause_ms(LOOK_MS);
    }
    return err;
}

void ws_ctl_put_process(struct ws_json *j, const struct ws_ctl_process *p)
{
    ws_json_put_uint(j, "pid", p->pid);
    ws_json_put_text(j, "agent", p->agent_id);
    ws_json_put_text(j, "session", p->token);
    ws_json_put_text(j, "name", p->name);
    ws_json_put_text(j, "rank", p->rank);
    ws_json_put_text(j, "host", p->host);
    ws_json_put_text(j, "exe", p->exe);
    ws_json_put_text(j, "state", p->is_on ? "collecting" : "idle");
}
