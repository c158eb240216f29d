/* SPDX-License-Identifier: MIT
 * target.h: what kind of program a file is, as far as preloading into it is concerned. Reads a few hundred bytes.
 * Decides nothing: cmd_run.c chooses what to say and what to leave out. */
#ifndef WS_SERVER_TARGET_H
#define WS_SERVER_TARGET_H

#include <stddef.h>

#define WS_TARGET_PATH_MAX 4096

enum ws_target_kind {
    WS_TARGET_DYNAMIC,       /* glibc's loader runs it: LD_PRELOAD works */
    WS_TARGET_STATIC,        /* no loader: LD_PRELOAD is ignored */
    WS_TARGET_MUSL,          /* another libc's loader: a preloaded glibc library would break it */
    WS_TARGET_OTHER_MACHINE, /* 32-bit or another architecture: ld.so would complain in every process */
    WS_TARGET_PRIVILEGED,    /* set-user-id, set-group-id: the loader drops LD_PRELOAD */
    WS_TARGET_SCRIPT,        /* "#!" whose interpreter could not be followed */
    WS_TARGET_UNKNOWN,       /* not readable, or not a program that we know */
};

struct ws_target {
    enum ws_target_kind kind;
    char loader[256]; /* PT_INTERP, or "" */
};

/* Where a program is that is called by this word, as execvp finds it.
 *   word    with a '/': itself; else looked for in path (NULL: the system's default path)
 *   out     [WS_TARGET_PATH_MAX]
 *   errors  -WS_ENOENT  nowhere; -WS_EPERM something is there but may not be executed; *out untouched */
int ws_target_find(const char *word, const char *path, char out[WS_TARGET_PATH_MAX]);

/* Look at a file; "#!" lines are followed four deep (`#!/usr/bin/env NAME` leads to env itself, which is
 * what runs first). Never fails: what is not understood is UNKNOWN. */
void ws_target_inspect(const char *path, struct ws_target *out);

#endif
