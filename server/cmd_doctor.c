/* SPDX-License-Identifier: MIT
 * cmd_doctor.c: `warpsight doctor`: will profiling work here, and if not, what to do. Judges the facts of probe.c.
 * Exit 0 when traces and counters will work, 1 when not: it is a check that a script can rely on.
 * Add a check: a function that calls add(), and a line in check_all().
 * Hidden: WARPSIGHT_DOCTOR_ROOT=FOLDER stands for "/" (probe.h); for tests. */
#include "cli.h"
#include "cmd.h"
#include "json.h"
#include "probe.h"
#include "version.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum state { OK, NOTE, BAD };
static const char *const state_names[] = {"ok", "note", "bad"};

#define CHECKS 24
struct check {
    const char *id;
    enum state state;
    char message[400];
    const char *remedy; /* static, or "" */
};

struct doctor {
    struct ws_probe probe;
    struct check check[CHECKS];
    int count;
    bool has_trace, has_counters;
};

__attribute__((format(printf, 5, 6))) static void add(struct doctor *d, const char *id, enum state state,
                                                      const char *remedy, const char *format, ...)
{
    struct check *c;
    va_list args;
    if (d->count == CHECKS)
        return;
    c = &d->check[d->count++];
    c->id = id;
    c->state = state;
    c->remedy = remedy;
    va_start(args, format);
    vsnprintf(c->message, sizeof c->message, format, args);
    va_end(args);
}

/* --- checks --- */

static const char remedy_rights[] =
    "run as root (sudo -E), or give CAP_SYS_ADMIN (from driver 565 on CAP_PERFMON is enough), or let an administrator "
    "load the "
    "driver with `options nvidia NVreg_RestrictProfilingToAdminUsers=0` in /etc/modprobe.d and restart; "
    "a container needs --cap-add=SYS_ADMIN";

static bool is_gvisor(const struct ws_probe *p)
{
    return strncmp(p->kernel_release, "4.4.0", 5) == 0;
}

static bool is_wsl(const struct ws_probe *p)
{
    return strstr(p->kernel_release, "icrosoft") != NULL;
}

static void check_system(struct doctor *d)
{
    const struct ws_probe *p = &d->probe;
    if (is_gvisor(p))
        add(d, "kernel", NOTE, "run on the host, or in a container that is no sandbox, to get counters",
            "Linux %s: this looks like gVisor, whose GPU support has no hardware counters", p->kernel_release);
    else if (is_wsl(p))
        add(d, "kernel", NOTE,
            "allow counters to all users in the NVIDIA control panel of Windows (Developer settings)",
            "Linux %s: WSL; the driver and its rights are those of Windows", p->kernel_release);
    else
        add(d, "kernel", OK, "", "Linux %s%s", *p->kernel_release ? p->kernel_release : "(release unknown)",
            p->is_container ? ", in a container" : "");
}

static void check_driver(struct doctor *d)
{
    const struct ws_probe *p = &d->probe;
    const char *version = *p->driver_text ? p->driver_text : "(version unknown)";
    if (!p->has_library && *p->driver_text == 0) {
        add(d, "driver", BAD, "install the NVIDIA driver; `warpsight model` and recorded sessions work without",
            "no NVIDIA driver: %s", p->library_error);
    } else if (!p->has_library) {
        add(d, "driver", BAD,
            "start the container with --gpus all (NVIDIA Container Toolkit), or repair the driver's libraries",
            "kernel driver %s is loaded, but its library is not here: %s", version, p->library_error);
    } else if (p->init_result == 100) {
        add(d, "driver", BAD, "is a GPU given to this machine or container? see nvidia-smi and CUDA_VISIBLE_DEVICES",
            "driver %s sees no GPU (cuInit answers 100)", version);
    } else if (p->init_result == 803) {
        add(d, "driver", BAD, "restart after the driver's update, or take the libcuda of this driver",
            "driver %s and libcuda do not fit together (cuInit answers 803)", version);
    } else if (p->init_result != 0) {
        add(d, "driver", BAD, "see nvidia-smi and the kernel log", "driver %s does not start (cuInit answers %d)",
            version, p->init_result);
    } else {
        add(d, "driver", OK, "", "%s, for CUDA %d.%d", version, p->driver_version / 1000,
            p->driver_version % 1000 / 10);
    }
}

static void check_devices(struct doctor *d)
{
    for (int i = 0; i < d->probe.device_count; i++) {
        const struct ws_probe_device *g = &d->probe.device[i];
        /* The range profiler begins with Volta. */
        if (g->cc_major < 7)
            add(d, "gpu", BAD, "use `nvprof` of an old CUDA toolkit for this GPU",
                "GPU %d: %s, compute capability %d.%d: too old for CUPTI's range profiler (7.0)", i, g->name,
                g->cc_major, g->cc_minor);
        else
            add(d, "gpu", OK, "", "GPU %d: %s, compute capability %d.%d, %d SMs%s%s", i, g->name, g->cc_major,
                g->cc_minor, g->sms, *g->chip ? ", chip " : "", g->chip);
    }
}

/* A part of a board can be profiled only as far as its owner lets it. */
static void check_slices(struct doctor *d)
{
    for (int i = 0; i < d->probe.device_count; i++) {
        const struct ws_probe_device *g = &d->probe.device[i];
        if (g->slice == WS_SLICE_MIG)
            add(d, "slice", NOTE, "for these counters profile an instance that is the whole GPU, or switch MIG off",
                "GPU %d is a MIG instance: counters of what instances share (L2, DRAM) may be missing", i);
        else if (g->slice == WS_SLICE_VGPU)
            add(d, "slice", NOTE,
                "the host's administrator sets enable_profiling=1 for this vGPU; one virtual machine a GPU can have it",
                "GPU %d is a vGPU: the hypervisor decides whether there are counters", i);
    }
}

static void check_cupti(struct doctor *d)
{
    const struct ws_probe *p = &d->probe;
    uint32_t major = p->cupti_version / 10000;
    if (!p->cupti) {
        add(d, "cupti", BAD,
            "install the CUDA toolkit (cuda-cupti), or set WARPSIGHT_CUPTI to libcupti.so; programs that "
            "bring their own (PyTorch) are served from that",
            "no usable libcupti%s%s (looked at %.200s)", *p->cupti_error ? ": " : "", p->cupti_error, p->places.tried);
        return;
    }
    if (p->driver_version != 0 && (int)major > p->driver_version / 1000)
        add(d, "cupti", BAD, "update the driver, or set WARPSIGHT_CUPTI to the libcupti of an older toolkit",
            "%s (%s) is for CUDA %" PRIu32 ", newer than the driver", p->cupti->path, p->cupti->reason, major);
    else if (!p->has_host)
        add(d, "cupti", BAD, "libnvperf_host.so must lie beside libcupti.so: install the whole cuda-cupti package",
            "%s (%s), version %" PRIu32 ", has no libnvperf_host.so beside it: traces, but no counters", p->cupti->path,
            p->cupti->reason, p->cupti_version);
    else
        add(d, "cupti", OK, "", "%s (%s), version %" PRIu32, p->cupti->path, p->cupti->reason, p->cupti_version);
}

static void check_rights(struct doctor *d)
{
    const struct ws_probe *p = &d->probe;
    bool may = ws_probe_may_count(p->gate, p->capabilities, p->driver_text);
    if (!p->has_library)
        return; /* nothing to be allowed */
    if (p->gate == WS_GATE_UNKNOWN)
        add(d, "rights", may ? OK : NOTE, may ? "" : remedy_rights,
            "the driver does not say who may read counters (/proc/driver/nvidia/params); %s",
            may ? "this user may in any case" : "this user may only if everybody may");
    else if (!may)
        add(d, "rights", BAD, remedy_rights, "%s: 1: the driver gives counters to administrators only", p->gate_name);
    else if (p->gate == WS_GATE_EVERYBODY && p->is_container &&
             !ws_probe_may_count(WS_GATE_ADMIN_ONLY, p->capabilities, p->driver_text))
        add(d, "rights", NOTE, "if counters fail all the same: --cap-add=SYS_ADMIN",
            "%s: 0, but this container has no CAP_SYS_ADMIN: some hosts refuse counters then", p->gate_name);
    else
        add(d, "rights", OK, "", "%s: %d, and this user may read counters", p->gate_name,
            p->gate == WS_GATE_ADMIN_ONLY ? 1 : 0);
}

static void check_installation(struct doctor *d)
{
    const struct ws_probe *p = &d->probe;
    if (*p->collector && *p->preload)
        add(d, "collector", OK, "", "%s", p->collector);
    else
        add(d, "collector", BAD, "build where the CUDA toolkit is (make), or take the packaged WarpSight",
            "this WarpSight has no %s: it was built without the CUDA toolkit",
            *p->collector ? "libwarpsight.so" : "libwarpsight-cupti.so");
}

static bool is_ours(const struct ws_probe *p, const char *value)
{
    return strcmp(value, p->collector) == 0 || strstr(value, "/libwarpsight.so") != NULL ||
           strcmp(value, "libwarpsight.so") == 0;
}

static void check_others(struct doctor *d)
{
    const struct ws_probe *p = &d->probe;
    int found = 0;
    for (int i = 0; i < p->variable_count; i++) {
        const char *name = p->variable[i].name;
        bool is_injection = strcmp(name, "CUDA_INJECTION64_PATH") == 0;
        if (is_ours(p, p->variable[i].value) || strcmp(name, "LD_PRELOAD") == 0)
            continue;
        found++;
        add(d, "variable", is_injection ? BAD : NOTE, "unset it for programs that WarpSight is to profile",
            "%s=%.200s: %s", name, p->variable[i].value,
            is_injection ? "another tool is injected; CUDA loads only one" : "another tool may take CUPTI first");
    }
    for (int i = 0; i < p->tool_count; i++) {
        found++;
        add(d, "tool", NOTE, "DCGM: `dcgmi profile --pause` while you profile, `--resume` after; others: end them",
            "%s runs here: it may hold the GPU's counters", p->tool[i]);
    }
    if (found == 0)
        add(d, "tools", OK, "", "no other profiler is injected or running");
}

static bool has_bad(const struct doctor *d, const char *id)
{
    for (int i = 0; i < d->count; i++)
        if (d->check[i].state == BAD && strcmp(d->check[i].id, id) == 0)
            return true;
    return false;
}

static void check_all(struct doctor *d)
{
    check_system(d);
    check_driver(d);
    check_devices(d);
    check_slices(d);
    check_cupti(d);
    check_rights(d);
    check_installation(d);
    check_others(d);
    d->has_trace = !has_bad(d, "driver") && d->probe.device_count > 0 && d->probe.cupti && *d->probe.collector &&
                   *d->probe.preload && !has_bad(d, "variable");
    /* A CUPTI that is too new for the driver cannot trace either; one without its host library can. */
    if (has_bad(d, "cupti") && d->probe.has_host)
        d->has_trace = false;
    d->has_counters =
        d->has_trace && !has_bad(d, "cupti") && !has_bad(d, "gpu") && !has_bad(d, "rights") && !is_gvisor(&d->probe);
}

/* --- what works --- */

enum need { NOTHING, A_TRACE, COUNTERS };
static const struct feature {
    const char *id, *title;
    enum need need;
    const char *cost; /* measured ones: docs/compared.md */
    const char *command;
} features[] = {
    {"trace", "kernel and copy times", A_TRACE,
     "some percent of a program; launches of a few µs in a row: up to a third", "warpsight run --set trace ./app"},
    {"api", "host calls", A_TRACE, "a record for each call into CUDA, beside the trace",
     "warpsight run --set trace,api ./app"},
    {"counters", "hardware counters", COUNTERS,
     "one launch of each kernel runs once a pass (2 for core, 7 with stalls), its memory saved and restored",
     "warpsight run ./app"},
    {"rotation", "counters without replay", COUNTERS,
     "one pass a launch, no launch runs twice; the launch is waited for", "warpsight run --replay-mode rotate ./app"},
    {"ceilings", "measured roofs", COUNTERS, "some seconds, once a board and driver", "warpsight ceilings"},
    {"model", "modelled counters", NOTHING, "no GPU; 1 ms of an H200 takes seconds", "warpsight run --model ./app"},
    {"recorded", "recorded sessions", NOTHING, "nothing", "warpsight import FILE"},
};
#define FEATURES (sizeof features / sizeof features[0])

static bool works(const struct doctor *d, const struct feature *f)
{
    return f->need == NOTHING || (f->need == A_TRACE ? d->has_trace : d->has_counters);
}

/* The check that a feature fails for; NULL when it works. */
static const struct check *obstacle(const struct doctor *d, const struct feature *f)
{
    if (works(d, f))
        return NULL;
    for (int i = 0; i < d->count; i++)
        if (d->check[i].state == BAD && !(f->need == A_TRACE && strcmp(d->check[i].id, "rights") == 0))
            return &d->check[i];
    for (int i = 0; i < d->count; i++)
        if (d->check[i].state == NOTE && strcmp(d->check[i].id, "kernel") == 0)
            return &d->check[i];
    return NULL;
}

static const char *next_command(const struct doctor *d)
{
    if (d->has_counters)
        return "warpsight run ./app";
    return d->has_trace ? "warpsight run --set trace ./app" : "warpsight kernels model transpose";
}

/* --- output --- */

static void print_text(const struct doctor *d)
{
    for (int i = 0; i < d->count; i++) {
        printf("%-5s %-10s %s\n", state_names[d->check[i].state], d->check[i].id, d->check[i].message);
        if (*d->check[i].remedy)
            printf("                 %s\n", d->check[i].remedy);
    }
    putchar('\n');
    for (size_t i = 0; i < FEATURES; i++) {
        const struct check *why = obstacle(d, &features[i]);
        printf("%-25s %-4s %s%s\n", features[i].title, works(d, &features[i]) ? "yes" : "no", why ? "see " : "",
               why ? why->id : features[i].cost);
    }
    printf("\nnext: %s\n", next_command(d));
}

static void print_features(const struct doctor *d, struct ws_json *j)
{
    ws_json_key(j, "features");
    ws_json_array(j);
    for (size_t i = 0; i < FEATURES; i++) {
        const struct check *why = obstacle(d, &features[i]);
        ws_json_object_line(j);
        ws_json_put_text(j, "id", features[i].id);
        ws_json_put_text(j, "title", features[i].title);
        ws_json_put_bool(j, "works", works(d, &features[i]));
        ws_json_put_text(j, "why", why ? why->message : "");
        ws_json_put_text(j, "remedy", why ? why->remedy : "");
        ws_json_put_text(j, "cost", features[i].cost);
        ws_json_put_text(j, "command", features[i].command);
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void print_json(const struct doctor *d)
{
    struct ws_json j = {.out = stdout, .pretty = true};
    ws_json_object(&j);
    ws_json_key(&j, "warpsight");
    ws_json_object_line(&j);
    ws_json_put_text(&j, "version", WS_VERSION);
    ws_json_end(&j);
    ws_json_key(&j, "checks");
    ws_json_array(&j);
    for (int i = 0; i < d->count; i++) {
        ws_json_object_line(&j);
        ws_json_put_text(&j, "id", d->check[i].id);
        ws_json_put_text(&j, "state", state_names[d->check[i].state]);
        ws_json_put_text(&j, "message", d->check[i].message);
        ws_json_put_text(&j, "remedy", d->check[i].remedy);
        ws_json_end(&j);
    }
    ws_json_end(&j);
    print_features(d, &j);
    ws_json_key(&j, "works");
    ws_json_object_line(&j);
    ws_json_put_bool(&j, "trace", d->has_trace);
    ws_json_put_bool(&j, "counters", d->has_counters);
    ws_json_put_bool(&j, "model", true);
    ws_json_put_bool(&j, "recorded", true);
    ws_json_end(&j);
    ws_json_put_text(&j, "next", next_command(d));
    ws_json_end(&j);
    putchar('\n');
}

int ws_cmd_doctor(int argc, char **argv)
{
    enum { JSON };
    static const struct ws_option options[] = {{"json", 0, NULL, "as JSON"}, {NULL, 0, NULL, NULL}};
    static struct doctor doctor; /* 30 KiB */
    struct ws_cli cli = {.usage = "[--json]",
                         .about = "Will profiling work on this machine, and if not, what to do.\n"
                                  "Exit status 0: traces and counters will work; 1: they will not.",
                         .options = options,
                         .argc = argc,
                         .argv = argv};
    const char *value;
    const char *root = getenv("WARPSIGHT_DOCTOR_ROOT");
    bool is_json = false;
    int found;
    while ((found = ws_cli_next(&cli, &value)) != WS_CLI_END) {
        if (found == WS_CLI_HELP)
            return WS_EXIT_OK;
        if (found == WS_CLI_ERROR)
            return WS_EXIT_USAGE;
        if (found == WS_CLI_OPERAND)
            return ws_cli_usage_error("doctor", "takes no argument: '%s'", value);
        is_json = is_json || found == JSON;
    }
    ws_probe_machine(root ? root : "", &doctor.probe);
    check_all(&doctor);
    if (is_json)
        print_json(&doctor);
    else
        print_text(&doctor);
    return doctor.has_trace && doctor.has_counters ? WS_EXIT_OK : WS_EXIT_FAILED;
}
