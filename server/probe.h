/* SPDX-License-Identifier: MIT
 * probe.h: what this machine offers for profiling: driver, GPUs, CUPTI, rights, other tools. Facts only.
 * Prints nothing, changes nothing. Read on: cmd_doctor.c, which judges and says what to do. */
#ifndef WS_SERVER_PROBE_H
#define WS_SERVER_PROBE_H

#include "../collector/locate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_PROBE_DEVICES 16
#define WS_PROBE_VARIABLES 8
#define WS_PROBE_TOOLS 8

/* Who may read hardware counters, says the driver. */
enum ws_probe_gate {
    WS_GATE_UNKNOWN, /* the driver's file is not there or says nothing */
    WS_GATE_EVERYBODY,
    WS_GATE_ADMIN_ONLY,
};

/* A whole board, or a part of one. */
enum ws_probe_slice { WS_SLICE_NONE, WS_SLICE_MIG, WS_SLICE_VGPU };

struct ws_probe_device {
    char name[96];
    char chip[32]; /* CUPTI's name for it, "" if CUPTI cannot tell */
    int cc_major, cc_minor, sms;
    enum ws_probe_slice slice;
};

struct ws_probe {
    char kernel_release[96];
    bool is_container;

    char driver_text[48]; /* of /proc/driver/nvidia/version: "580.159.04", "" */
    bool has_library;     /* libcuda.so.1 could be opened */
    char library_error[256];
    int init_result;    /* of cuInit; 0 = good */
    int driver_version; /* cuDriverGetVersion: 13000 */
    int device_count;
    struct ws_probe_device device[WS_PROBE_DEVICES];

    enum ws_probe_gate gate;
    const char *gate_name; /* the spelling that was found, static; "" */
    uint64_t capabilities; /* effective set; bit 21 SYS_ADMIN, bit 38 PERFMON */

    struct ws_locations places;
    const struct ws_located *cupti; /* into places; NULL = none could be opened */
    char cupti_error[256];
    uint32_t cupti_version;
    bool has_host; /* libnvperf_host lies beside it: counters can be configured */

    char collector[512]; /* libwarpsight-cupti.so of this installation, "" */
    char preload[512];

    struct {
        const char *name; /* static */
        char value[256];
    } variable[WS_PROBE_VARIABLES];
    int variable_count;
    char tool[WS_PROBE_TOOLS][64]; /* "nv-hostengine (pid 4711)" */
    int tool_count;
};

/* Look at everything.
 *   root     "" for this machine; else a folder that stands for "/": /proc, /usr/local and libcuda.so.1 (in the
 *            folder itself) are taken from there. For tests
 *   errors   none: what is not there is empty, 0 or UNKNOWN
 *   thread   from a process without other threads: the CUDA driver is initialised, with every injection
 *            variable taken out of the environment first                                                     */
void ws_probe_machine(const char *root, struct ws_probe *out);

/* Pure parts, for their tests. Texts are NUL-ended and may be anything. */

/* Of /proc/driver/nvidia/params: "RmProfilingAdminOnly: 1", or the older NVreg_ spelling of it. */
enum ws_probe_gate ws_probe_read_gate(const char *params, const char **spelling);
/* Of /proc/self/status: "CapEff: 000001ffffffffff"; false when there is no such line. */
bool ws_probe_read_capabilities(const char *status, uint64_t *effective);
/* Of /proc/driver/nvidia/version: the first word like 580.159.04; "" if there is none. */
void ws_probe_read_version(const char *text, char *out, size_t cap);

/* Of a device's name: "NVIDIA H100 80GB HBM3 MIG 1g.10gb" is a MIG instance, "NVIDIA A40-48Q" and "GRID V100D-32C" are
 * vGPUs (profile letters A, B, C, Q). source  NVIDIA, MIG and vGPU user guides */
enum ws_probe_slice ws_probe_read_slice(const char *name);
/* Whether these capabilities open the gate for this driver ("565.57"): CAP_SYS_ADMIN, and CAP_PERFMON from driver 565
 * on. source  NVIDIA, "ERR_NVGPUCTRPERM: Permission issue with Performance Counters" */
bool ws_probe_may_count(enum ws_probe_gate gate, uint64_t capabilities, const char *driver_text);

#endif
