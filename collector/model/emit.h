/* SPDX-License-Identifier: MIT
 * emit.h: modelled launches as the wire frames that the collector writes, source = modelled.
 * Bytes in memory; whoever calls writes them to a capture or the spool. */
#ifndef WS_COLLECTOR_MODEL_EMIT_H
#define WS_COLLECTOR_MODEL_EMIT_H

#include "model.h"

#include <stddef.h>
#include <stdint.h>

struct ws_emit;

/* Metrics of a launch that was sampled, outside of the catalogue: how many blocks ran, and half the width of the 95 %
 * interval as a share of the count that is known worst. */
#define WS_MODEL_BLOCKS_KEY "model_blocks"
#define WS_MODEL_INTERVAL_KEY "model_interval"
/* Beside the counts where a kernel has them: instructions. */
#define WS_MODEL_TEXTURES_KEY "model_texture_instructions"
#define WS_MODEL_SURFACES_KEY "model_surface_instructions"
/* The same before a metric's key: the number is its enum ws_grade, where that is not exact. */
#define WS_MODEL_GRADE_PREFIX "grade."

/* What the session is. Texts are copied. */
struct ws_emit_session {
    const char *agent_id;      /* 32 hex digits */
    const char *session_token; /* NULL = the agent is a session of its own */
    const char *name;
    const char *exe;  /* the PTX or program that was modelled */
    const char *argv; /* arguments separated by NUL */
    size_t argv_bytes;
    const char *cwd, *host;
    const char *version, *git_commit;
    uint32_t pid;
    int64_t started_ns;
};

/* The GPU that is assumed: limits of its compute capability, and its size. */
struct ws_emit_device {
    const char *name; /* as the driver spells it: "NVIDIA H200" */
    uint32_t cc_major, cc_minor;
    uint32_t sms; /* 0 = unknown */
    uint32_t max_warps_per_sm, regs_per_sm;
    uint64_t smem_bytes_per_sm, smem_optin_bytes, l2_bytes, sm_clock_hz;
};

/* One segment begins: HELLO and DEVICE. NULL when out of memory. */
struct ws_emit *ws_emit_new(const struct ws_emit_session *session, const struct ws_emit_device *device);

/* One launch: KERNEL without a time, PROFILE, and a METRIC for every raw key: a count, or why there is none.
 *   name             mangled
 *   regs_per_thread  from ptxas, 0 = not known */
void ws_emit_launch(struct ws_emit *emit, const char *name, const struct ws_model_launch *launch,
                    const struct ws_model_result *result, uint32_t regs_per_thread);

/* Give counters to so many launches of each kernel only; later ones are KERNEL records. 0 = all, as at first. */
void ws_emit_set_limit(struct ws_emit *emit, uint64_t launches);

/* What each instruction of that launch did that ran: an INSTRUCTION record each.
 *   file_of  path of the source of a row's source_file, NUL-ended, lent until its next call; NULL = none */
void ws_emit_instructions(struct ws_emit *emit, const char *name, const struct ws_model_launch *launch,
                          const struct ws_model_result *result, const char *(*file_of)(void *state, uint32_t number),
                          void *state);

/* A line for the report's warnings; severity 0 info, 1 warning, 2 error. */
void ws_emit_status(struct ws_emit *emit, const char *code, uint32_t severity, const char *message, const char *remedy,
                    uint64_t count);

/* The bytes since the last time, lent until the next call: for a caller that writes as it goes.
 * NULL when memory ran out at any time. */
const uint8_t *ws_emit_drain(struct ws_emit *emit, size_t *bytes);

/* BYE, and the bytes that were not drained; lent until ws_emit_free. NULL when memory ran out at any time. */
const uint8_t *ws_emit_finish(struct ws_emit *emit, int64_t ended_ns, size_t *bytes);
void ws_emit_free(struct ws_emit *emit);

#endif
