/* SPDX-License-Identifier: MIT
 * ctl.h: the processes that a collector is in now, and how they are told to start, stop or flush: files in their
 * folders of the spool (collector/control.h says which, and why no socket). Nothing of a database here.
 * Read on: cmd_ctl.c (`warpsight ctl`), api_processes.c (the same for the page). */
#ifndef WS_SERVER_CTL_H
#define WS_SERVER_CTL_H

#include "../collector/control.h"
#include "json.h"
#include "paths.h"

#include <stdbool.h>
#include <stdint.h>

/* A process that lives: it holds the lock of its open segment. Texts are cut to their room; foreign, to be tamed. */
struct ws_ctl_process {
    char agent_id[33];
    char token[128]; /* of the session */
    char folder[WS_PATH_MAX];
    uint32_t pid; /* as the process sees itself: in a container not the host's */
    int64_t started_ns;
    char name[128], exe[512], host[256], rank[64];
    bool is_on;    /* collecting */
    bool was_told; /* the three that follow are known: it has been off at least once */
    int64_t since_ns, until_ns;
    char reason[32];
};

/* Each of them in the spool, by session and agent; what cannot be read is passed over.
 * -WS_EPERM: the spool is not ours alone. */
int ws_ctl_each(const char *spool, int (*each)(void *state, const struct ws_ctl_process *process), void *state);

/* Who it is and whether it collects, as members of the object that is open: the same for `ctl --json` and the API. */
void ws_ctl_put_process(struct ws_json *j, const struct ws_ctl_process *process);

/* Hand a command to a process and wait for its answer. The command's id is made here.
 *   answer    what the process said
 *   message   [cap] one line when the result is not 0
 *   errors    -WS_EINVAL the process refused, message is its reason; -WS_ENOENT it has ended; -WS_EBUSY it did not
 *             answer in time (stopped, or its disk is full), and the command was taken back; -WS_EIO */
int ws_ctl_ask(const struct ws_ctl_process *process, struct ws_control_command *command, char *answer,
               size_t answer_cap, char *message, size_t cap);

#endif
