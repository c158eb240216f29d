/* SPDX-License-Identifier: MIT
 * target.c: what kind of program a file is. ELF headers and "#!" lines are foreign bytes: every length and
 * offset is checked against what was read.
 * Add a kind: the enum of target.h, and a message in cmd_run.c. */
#include "target.h"

#include "../analyzer/err.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRIPT_DEPTH 4 /* the kernel follows as many */
#define HEADERS_MAX 64 /* program headers looked at; real programs have about a dozen */

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE
#endif

/* --- find --- */

static int check_executable(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return errno == EACCES ? -WS_EPERM : -WS_ENOENT;
    if (!S_ISREG(st.st_mode) || access(path, X_OK) != 0)
        return -WS_EPERM;
    return 0;
}

int ws_target_find(const char *word, const char *path, char out[WS_TARGET_PATH_MAX])
{
    char candidate[WS_TARGET_PATH_MAX];
    int worst = -WS_ENOENT;
    if (*word == 0)
        return -WS_ENOENT;
    if (strchr(word, '/')) {
        int err = check_executable(word);
        if (err == 0)
            snprintf(out, WS_TARGET_PATH_MAX, "%s", word);
        return err;
    }
    for (const char *at = path ? path : "/bin:/usr/bin"; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
        int length = (int)strcspn(at, ":");
        int err;
        /* An empty part means the present folder, as for execvp. */
        if (snprintf(candidate, sizeof candidate, "%.*s%s%s", length, at, length ? "/" : "./", word) >=
            (int)sizeof candidate)
            continue;
        err = check_executable(candidate);
        if (err == 0) {
            snprintf(out, WS_TARGET_PATH_MAX, "%s", candidate);
            return 0;
        }
        if (err == -WS_EPERM)
            worst = err;
    }
    return worst;
}

/* --- inspect --- */

static bool read_at(int fd, void *out, size_t n, uint64_t offset)
{
    return offset <= INT64_MAX && pread(fd, out, n, (off_t)offset) == (ssize_t)n;
}

/* The PT_INTERP text of a 64-bit file of our machine; false when there is none. */
static bool read_loader(int fd, const Elf64_Ehdr *e, char *out, size_t size)
{
    size_t n;
    for (int i = 0; i < e->e_phnum && i < HEADERS_MAX; i++) {
        Elf64_Phdr p;
        if (!read_at(fd, &p, sizeof p, e->e_phoff + (uint64_t)i * sizeof p))
            return false;
        if (p.p_type != PT_INTERP)
            continue;
        n = p.p_filesz < size ? (size_t)p.p_filesz : size - 1;
        if (n == 0 || !read_at(fd, out, n, p.p_offset))
            return false;
        out[n] = 0;
        return true;
    }
    return false;
}

static enum ws_target_kind inspect_elf(int fd, struct ws_target *out)
{
    Elf64_Ehdr e;
    if (!read_at(fd, &e, sizeof e, 0))
        return WS_TARGET_UNKNOWN;
    if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_ident[EI_DATA] != ELFDATA2LSB || e.e_machine != OWN_MACHINE)
        return WS_TARGET_OTHER_MACHINE;
    if ((e.e_type != ET_EXEC && e.e_type != ET_DYN) || e.e_phentsize != sizeof(Elf64_Phdr))
        return WS_TARGET_UNKNOWN;
    if (!read_loader(fd, &e, out->loader, sizeof out->loader))
        return WS_TARGET_STATIC;
    return strstr(out->loader, "/ld-musl") ? WS_TARGET_MUSL : WS_TARGET_DYNAMIC;
}

/* The interpreter of a "#!" line: the first word after it. */
static bool read_interpreter(const char *line, size_t length, char out[WS_TARGET_PATH_MAX])
{
    size_t at = 2;
    size_t n = 0;
    while (at < length && (line[at] == ' ' || line[at] == '\t'))
        at++;
    while (at + n < length && !strchr(" \t\n", line[at + n]))
        n++;
    if (n == 0 || at + n == length) /* a line that does not end within the buffer is none */
        return false;
    memcpy(out, line + at, n);
    out[n] = 0;
    return true;
}

/* One file: its kind, or SCRIPT and the next file to look at. */
static enum ws_target_kind inspect_one(const char *path, struct ws_target *out, char next[WS_TARGET_PATH_MAX])
{
    char start[256] = "";
    struct stat st;
    ssize_t n;
    enum ws_target_kind kind = WS_TARGET_UNKNOWN;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    next[0] = 0;
    if (fd < 0)
        return WS_TARGET_UNKNOWN;
    n = pread(fd, start, sizeof start - 1, 0);
    if (n >= SELFMAG && memcmp(start, ELFMAG, SELFMAG) == 0) {
        kind = inspect_elf(fd, out);
        if (kind == WS_TARGET_DYNAMIC && fstat(fd, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)) != 0)
            kind = WS_TARGET_PRIVILEGED;
    } else if (n > 2 && start[0] == '#' && start[1] == '!') {
        kind = WS_TARGET_SCRIPT;
        if (!read_interpreter(start, (size_t)n, next))
            next[0] = 0;
    }
    close(fd);
    return kind;
}

void ws_target_inspect(const char *path, struct ws_target *out)
{
    char at[WS_TARGET_PATH_MAX];
    char next[WS_TARGET_PATH_MAX];
    out->kind = WS_TARGET_UNKNOWN;
    out->loader[0] = 0;
    if (snprintf(at, sizeof at, "%s", path) >= (int)sizeof at)
        return;
    for (int depth = 0; depth <= SCRIPT_DEPTH; depth++) {
        out->kind = inspect_one(at, out, next);
        if (out->kind != WS_TARGET_SCRIPT || next[0] == 0)
            return;
        memcpy(at, next, sizeof at);
    }
}
