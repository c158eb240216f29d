/* SPDX-License-Identifier: MIT
 * sass.c: see sass.h. The cubin goes to the tool through memory (memfd): nothing lies on a disk.
 * nvdisasm says ".text.NAME:" before a function, cuobjdump "Function : NAME"; both write an instruction as
 * offset (hexadecimal, in a C comment), text, semicolon. */
#include "sass.h"

#include "../analyzer/err.h"
#include "line_table.h"
#include "tool.h"

#include <ctype.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TIMEOUT_MS 20000u
#define TEXT_MAX ((size_t)16 << 20)
#define LINES_MAX 200000u
#define PATH_BYTES 4096
#define KEPT 16           /* functions of which the answer is kept, */
#define KEPT_LINES 20000u /* if it is no longer */

static int add(struct ws_sass *s, uint64_t pc, const char *text, size_t length)
{
    if (s->count == LINES_MAX)
        return -WS_ELIMIT;
    if (s->count == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 256;
        struct ws_sass_line *grown = realloc(s->lines, cap * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        s->lines = grown;
        s->cap = cap;
    }
    s->lines[s->count] = (struct ws_sass_line){pc, strndup(text, length)};
    return s->lines[s->count].text ? s->count++, 0 : -WS_ENOMEM;
}

/* Whether this line begins a function; then whether it is the wanted one. */
static bool is_begin(const char *line, size_t n, const char *function, bool *is_wanted)
{
    static const char *const marks[] = {".text.", "Function : "};
    for (size_t i = 0; i < 2; i++) {
        size_t m = strlen(marks[i]);
        size_t length = strlen(function);
        if (n < m || memcmp(line, marks[i], m) != 0)
            continue;
        if (i == 0 && line[n - 1] != ':')
            continue;
        *is_wanted = n - m - (i == 0) == length && memcmp(line + m, function, length) == 0;
        return true;
    }
    return false;
}

/* One instruction, if the line is one. Text ends with the last semicolon; what follows is its encoding. */
static int take_line(struct ws_sass *s, const char *line, size_t n, uint64_t begin)
{
    const char *stop = line + n;
    char *end;
    uint64_t pc;
    size_t length;
    if (n < 8 || memcmp(line, "/*", 2) != 0 || !isxdigit((unsigned char)line[2]) || (line[2] == '0' && line[3] == 'x'))
        return 0;
    pc = strtoull(line + 2, &end, 16); /* a digit first, so it ends within the line */
    if (stop - end < 2 || end[0] != '*' || end[1] != '/' || pc < begin)
        return 0;
    end += 2;
    while (end < stop && (*end == ' ' || *end == '\t'))
        end++;
    for (length = (size_t)(stop - end); length > 0 && end[length - 1] != ';'; length--)
        ;
    while (length > 0 && (end[length - 1] == ';' || end[length - 1] == ' '))
        length--;
    return length > 0 ? add(s, pc - begin, end, length) : 0;
}

int ws_sass_parse(const char *text, const char *function, uint64_t begin, struct ws_sass *out)
{
    bool is_wanted = false;
    int err = 0;
    while (err == 0 && *text) {
        size_t n = strcspn(text, "\n");
        const char *line = text + strspn(text, " \t");
        size_t length = line < text + n ? n - (size_t)(line - text) : 0;
        while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\r'))
            length--;
        if (length > 0 && !is_begin(line, length, function, &is_wanted) && is_wanted)
            err = take_line(out, line, length, begin);
        text += n + (text[n] == '\n');
    }
    return err;
}

void ws_sass_fini(struct ws_sass *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->lines[i].text);
    free(s->lines);
    memset(s, 0, sizeof *s);
}

const char *ws_sass_why(int err)
{
    switch (err) {
    case -WS_ENOENT:
        return "needs nvdisasm or cuobjdump of the CUDA toolkit";
    case -WS_EBUSY:
        return "the disassembler took more than 20 s";
    case -WS_ELIMIT:
        return "the function is too long";
    default:
        return "the disassembler says nothing of this function";
    }
}

const char *ws_sass_find(const struct ws_sass *s, uint64_t pc)
{
    size_t low = 0;
    size_t high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->lines[middle].pc < pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->count && s->lines[low].pc == pc ? s->lines[low].text : NULL;
}

/* A descriptor of the cubin's bytes, from their begin; -1. */
static int file_of(const uint8_t *cubin, size_t length)
{
    int fd = memfd_create("warpsight-cubin", MFD_CLOEXEC);
    while (fd >= 0 && length > 0) {
        ssize_t n = write(fd, cubin, length);
        if (n <= 0) {
            close(fd);
            return -1;
        }
        cubin += n;
        length -= (size_t)n;
    }
    if (fd >= 0)
        (void)lseek(fd, 0, SEEK_SET);
    return fd;
}

static int disassemble(int file, const char *function, uint32_t index, char **text)
{
    char program[PATH_BYTES];
    char number[16];
    const char *const nvdisasm[] = {program, "-c", "-fun", number, "/dev/fd/3", NULL};
    const char *const cuobjdump[] = {program, "-sass", "-fun", function, "/dev/fd/3", NULL};
    struct ws_tool_run run = {.argv = nvdisasm, .file = file, .timeout_ms = TIMEOUT_MS, .most = TEXT_MAX};
    size_t length;
    snprintf(number, sizeof number, "%u", index);
    if (!ws_tool_find("nvdisasm", program, sizeof program)) {
        if (!ws_tool_find("cuobjdump", program, sizeof program))
            return -WS_ENOENT;
        run.argv = cuobjdump;
    }
    return ws_tool_run(&run, text, &length);
}

/* --- what is kept --- */

struct kept {
    uint64_t key, used; /* key 0 = free */
    int err;
    struct ws_sass sass;
};

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept kept[KEPT];
static uint64_t kept_uses;

static uint64_t key_of(const uint8_t *cubin, size_t length, const char *function)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        h = (h ^ cubin[i]) * 0x100000001b3u;
    for (const char *c = function; *c; c++)
        h = (h ^ (unsigned char)*c) * 0x100000001b3u;
    return h ? h : 1;
}

static int copy(const struct ws_sass *from, struct ws_sass *to)
{
    int err = 0;
    for (size_t i = 0; err == 0 && i < from->count; i++)
        err = add(to, from->lines[i].pc, from->lines[i].text, strlen(from->lines[i].text));
    return err;
}

/* The entry of a key, or the one to give up for it. */
static struct kept *entry_of(uint64_t key)
{
    struct kept *oldest = &kept[0];
    for (size_t i = 0; i < KEPT; i++) {
        if (kept[i].key == key)
            return &kept[i];
        if (kept[i].used < oldest->used)
            oldest = &kept[i];
    }
    return oldest;
}

static bool recall(uint64_t key, struct ws_sass *out, int *err)
{
    struct kept *e;
    bool is_kept;
    pthread_mutex_lock(&kept_lock);
    e = entry_of(key);
    is_kept = e->key == key;
    if (is_kept) {
        e->used = ++kept_uses;
        *err = e->err == 0 ? copy(&e->sass, out) : e->err;
    }
    pthread_mutex_unlock(&kept_lock);
    return is_kept;
}

static void keep(uint64_t key, const struct ws_sass *sass, int err)
{
    struct ws_sass mine = {NULL, 0, 0};
    struct kept *e;
    if (sass->count > KEPT_LINES || err == -WS_ENOENT || err == -WS_ENOMEM) /* a tool may come, memory too */
        return;
    if (copy(sass, &mine) != 0) {
        ws_sass_fini(&mine);
        return;
    }
    pthread_mutex_lock(&kept_lock);
    e = entry_of(key);
    ws_sass_fini(&e->sass);
    *e = (struct kept){.key = key, .used = ++kept_uses, .err = err, .sass = mine};
    pthread_mutex_unlock(&kept_lock);
}

static int read_anew(const uint8_t *cubin, size_t length, const char *function, struct ws_sass *out)
{
    char *text = NULL;
    uint32_t index;
    uint64_t begin;
    int file;
    int err = ws_cubin_symbol(cubin, length, function, &index, &begin);
    if (err != 0)
        return err == -WS_ENOENT ? -WS_EUNSUP : err;
    file = file_of(cubin, length);
    if (file < 0)
        return -WS_EIO;
    err = disassemble(file, function, index, &text);
    close(file);
    if (err == 0)
        err = ws_sass_parse(text, function, begin, out);
    free(text);
    return err == 0 && out->count == 0 ? -WS_EUNSUP : err;
}

int ws_sass_read(const uint8_t *cubin, size_t length, const char *function, struct ws_sass *out)
{
    uint64_t key = key_of(cubin, length, function);
    int err = 0;
    memset(out, 0, sizeof *out);
    if (recall(key, out, &err))
        return err;
    err = read_anew(cubin, length, function, out);
    keep(key, out, err);
    return err;
}
