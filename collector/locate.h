/* SPDX-License-Identifier: MIT
 * locate.h: where libcupti may lie: every place looked at, and an ordered list of what is there.
 * Search only: which file is used, and that it fits the driver, is decided by who opens it (ws_locate_open).
 * No CUDA header. Add a place: one line in add_places(), locate.c. */
#ifndef WS_COLLECTOR_LOCATE_H
#define WS_COLLECTOR_LOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_LOCATE_PATH 512
#define WS_LOCATE_FOUND 32
#define WS_LOCATE_TRIED 4096

/* What the search may know. NULL and "" are the same: not known. */
struct ws_locate_hints {
    const char *cupti;         /* WARPSIGHT_CUPTI: a file, or a folder that holds one */
    const char *cuda_home;     /* CUDA_HOME */
    const char *cuda_path;     /* CUDA_PATH */
    const char *site_packages; /* of a Python environment that is not mapped (doctor) */
    const char *root;          /* put before the system's own places (/usr/local/cuda…): tests */
    uint32_t driver_major;     /* 13 for a driver of CUDA 13.x; 0 = not known */
    /* Files mapped into the process, NULL-ended; NULL = ask the loader. */
    const char *const *mapped;
};

struct ws_located {
    char path[WS_LOCATE_PATH]; /* absolute; or a bare name that the loader resolves */
    const char *reason;        /* static: "WARPSIGHT_CUPTI", "already in the process", … */
    uint32_t major;            /* 13 for libcupti.so.13, followed through links; 0 = the name does not say */
    bool is_bare;              /* nobody knows yet whether the loader finds it */
};

struct ws_locations {
    uint32_t found_count;
    struct ws_located found[WS_LOCATE_FOUND]; /* best first; no file twice */
    char tried[WS_LOCATE_TRIED];              /* the folders and files looked at, ", " between them */
};

/* Look in every place and sort what is there:
 *   1. WARPSIGHT_CUPTI; 2. CUDA_HOME, CUDA_PATH; 3. a libcupti that is mapped; 4. beside a mapped
 *   libcudart or in the wheels beside a mapped libtorch; 5. site_packages; 6. /usr/local/cuda, /usr/local/cuda-*
 * (newest first), /opt/cuda, /usr/lib/cuda; 7. the loader's own search. A library of the driver's own major version
 * goes before one of an older version, and that before one of a newer version, which the driver cannot serve;
 * WARPSIGHT_CUPTI stays first whatever it is. errors  none: the last entries are always bare names thread  any; some 20
 * KiB: not on a small stack */
void ws_locate_cupti(const struct ws_locate_hints *hints, struct ws_locations *out);

struct ws_opened {
    void *cupti;       /* of dlopen, never closed */
    const char *error; /* static or of dlerror: valid until the next dl call of this thread; NULL when open */
};

/* Open one candidate.
 *   errors  -WS_ENOENT  the loader refused; out->error says why
 *   thread  any, but not while holding the loader's lock */
int ws_locate_open(const struct ws_located *place, struct ws_opened *out);

/* Open the libnvperf_host.so beside it, globally: libcupti opens that by bare name at the first call of the counter
 * API and has no run path (without it the host API answers 15).
 *   returns the handle of dlopen, never closed; NULL = the loader must find it, counters may fail
 *   thread  any, but not while holding the loader's lock */
void *ws_locate_open_perf(const struct ws_located *place);

#endif
