/* SPDX-License-Identifier: MIT
 * spool.h: append-only segment writer: records in, frames of wire.c out, by one thread.
 * Producers (CUPTI's buffer thread, launching threads) only copy bytes under a short lock; the
 * collector's one thread seals frames and calls write(). Memory and disk are bounded: what does not
 * fit is dropped, newest first, and counted as LOSS. No CUDA, no signal handler, no printing.
 *
 * On disk: <spool>/<session>/<agent>/<number>.open, flock'ed while it is written, renamed to .done
 * when it is full or the process ends well. Every segment stands alone: it opens with HELLO, the
 * devices, contexts and all strings known so far. */
#ifndef WS_COLLECTOR_SPOOL_H
#define WS_COLLECTOR_SPOOL_H

#include "wire.h"

#include <stdbool.h>
#include <stdint.h>

struct ws_spool_config {
    const char *folder;   /* the spool; created 0700 if it is missing */
    const char *session;  /* token, letters, digits, - and _ only */
    const char *agent_id; /* 32 hex digits */
    int64_t started_ns;
    uint64_t memory_bytes;    /* bound of queued frames */
    uint64_t disk_bytes;      /* bound of this agent's segments that nobody has taken yet */
    unsigned flush_ms;        /* how often the thread wakes */
    void (*tick)(bool final); /* called by the thread before each write: collect what is finished */
};

/* Prepare; touches no file. Errors: -WS_ENOMEM; -WS_EINVAL for a session token or agent id that could
 * leave the folder. */
int ws_spool_init(const struct ws_spool_config *config);

/* Start the one thread, all signals blocked in it. -WS_EIO if it cannot be created. */
int ws_spool_start(void);

/* Add records. Any thread. Each returns at once: 0, or -WS_ELIMIT when the record was dropped. */
#define WS_RECORD(sym, name, num) int ws_spool_##name(const struct ws_rec_##name *rec);
#include "wire.def"

/* The id of a text, announced by a STRING record the first time. 0 for NULL, "" or a full table. */
uint32_t ws_spool_string_id(const char *text);

/* Whether this id stands for exactly this text. */
bool ws_spool_string_is(uint32_t id, const char *text);

/* A fact for the report; code is a stable slug. The same code and message again only counts up. */
void ws_spool_status_now(const char *code, unsigned severity, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Count records that were lost. */
void ws_spool_count_loss(const char *kind, const char *reason, uint64_t count);

/* Add to a running cost total ("profile", "flush", …; a string literal). */
void ws_spool_add_cost(const char *what, uint64_t count, int64_t ns);

/* Write now what has been added. Only from the tick, which may have something before it that does not come back. */
void ws_spool_write_now(void);

/* There is one more thread of the collector that ends by itself at the last tick: it does not keep the process alive.
 */
void ws_spool_add_thread(void);

/* Last tick, everything written, BYE, segment renamed to .done. Waits at most timeout_ms for the
 * thread; false when it gave up (what was written stays valid). */
bool ws_spool_finish(unsigned timeout_ms);

/* The folder of this process's segments, before the first of them is there. From tick() only. 0 or -WS_E… */
int ws_spool_make_folder(void);

/* The thread's next round begins now. Any thread. */
void ws_spool_wake(void);

/* Whether the thread may still open files: the program may have put a seccomp filter on it that kills at the first.
 * From tick() only. */
bool ws_spool_may_open_files(void);

/* In a forked child: close the descriptor, nothing else. Async-signal-safe. */
void ws_spool_forget(void);

/* CLOCK_REALTIME in ns: CUPTI's clock too. */
int64_t ws_now_ns(void);
/* 32 hex digits that nothing else has: of an agent, a session. Random; of time and process where that cannot be had.
 * Not a secret. */
void ws_make_id(char out[33]);

#endif
