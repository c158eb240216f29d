/* SPDX-License-Identifier: MIT
 * pm_facts.h: what the samples of a session say: of each device over all its time and while kernels ran, and of each
 * kernel whose runs are long enough to hold whole samples. Samples are of the WHOLE GPU: a kernel gets only those
 * during which it alone ran, from their start to their end, and even they are no counters of the kernel.
 * Read on: pm_view.h (samples as a picture). */
#ifndef WS_SERVER_PM_FACTS_H
#define WS_SERVER_PM_FACTS_H

#include "json.h"
#include "pm_view.h"

#include <stdbool.h>

struct ws_pm_device {
    int64_t process_id, device_id; /* device_id 0: not known */
    uint32_t device;               /* ordinal in the process */
    uint64_t interval_ns, samples;
    bool by_timer;
    int64_t from_ns, to_ns;
    size_t columns;
    struct ws_pm_column column[WS_PM_COLUMNS];
    struct ws_pm_stat all[WS_PM_COLUMNS];
    struct ws_pm_stat busy[WS_PM_COLUMNS]; /* samples in whose middle a kernel ran */
    uint64_t busy_samples;
    int64_t covered_ns; /* lengths of all samples; less than to_ns - from_ns where some are missing, or in bursts */
    bool is_joined;     /* false: more launches than are joined, busy and kernels are empty */
};

struct ws_pm_kernel {
    int64_t kernel_id;
    size_t series;    /* index into devices */
    uint64_t samples; /* from start to end within its runs, with nothing beside it */
    struct ws_pm_stat at[WS_PM_COLUMNS];
};

struct ws_pm_facts {
    struct ws_pm_device *devices; /* [count]: one a series */
    size_t count;
    struct ws_pm_kernel *kernels; /* [kernel_count], most samples first */
    size_t kernel_count, kernel_room;
};

/* Share of the time from a device's first sample to its last that its samples cover, 0 to 1. */
double ws_pm_covered(const struct ws_pm_device *device);

/* Free with ws_pm_facts_free. A session without samples: count 0. Errors: -WS_ENOMEM; of the store. */
int ws_pm_facts_load(struct ws_store *store, int64_t session_id, struct ws_pm_facts *out);
void ws_pm_facts_free(struct ws_pm_facts *facts);

/* The member "samples" of a report: what docs/api.md says. Nothing when there is none. */
void ws_pm_facts_json(struct ws_json *j, const struct ws_pm_facts *facts);
/* The object itself, also when there is none. */
void ws_pm_facts_json_object(struct ws_json *j, const struct ws_pm_facts *facts);

#endif
