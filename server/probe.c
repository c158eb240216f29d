/* SPDX-License-Identifier: MIT
 * probe.c: what this machine offers for profiling. Files of /proc and two libraries by dlopen, with prototypes
 * of our own: no CUDA header here. Foreign texts are searched, never trusted.
 * Add a fact: a member of struct ws_probe and a function called from ws_probe_machine(). */
#include "probe.h"

#include "install.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAP_SYS_ADMIN_BIT 21
#define CAP_PERFMON_BIT 38

/* Every way to put a library into a CUDA program, and the switches of tools that do. */
static const char *const variables[] = {"CUDA_INJECTION64_PATH", "CUDA_INJECTION32_PATH",
                                        "NVTX_INJECTION64_PATH", "LD_PRELOAD",
                                        "KINETO_USE_DAEMON",     "NSYS_PROFILING_SESSION_ID"};
#define VARIABLES (sizeof variables / sizeof variables[0])

/* Processes that hold the counters of a GPU or inject into programs, as /proc/PID/comm cuts their names. */
static const char *const tools[] = {"nv-hostengine", "dcgm-exporter", "ncu", "nsys", "nsys-launcher", "ncu-ui"};
#define TOOLS (sizeof tools / sizeof tools[0])

/* --- texts --- */

enum ws_probe_gate ws_probe_read_gate(const char *params, const char **spelling)
{
    static const char *const names[] = {"RmProfilingAdminOnly", "NVreg_RestrictProfilingToAdminUsers"};
    *spelling = "";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *at = strstr(params, names[i]);
        if (!at)
            continue;
        at += strlen(names[i]);
        at += strspn(at, " \t:=");
        if (*at != '0' && *at != '1')
            continue;
        *spelling = names[i];
        return *at == '1' ? WS_GATE_ADMIN_ONLY : WS_GATE_EVERYBODY;
    }
    return WS_GATE_UNKNOWN;
}

bool ws_probe_read_capabilities(const char *status, uint64_t *effective)
{
    const char *at = strstr(status, "CapEff:");
    char *end;
    unsigned long long v;
    if (!at)
        return false;
    v = strtoull(at + 7, &end, 16);
    if (end == at + 7)
        return false;
    *effective = v;
    return true;
}

void ws_probe_read_version(const char *text, char *out, size_t cap)
{
    out[0] = 0;
    for (const char *at = text; (at = strpbrk(at, "0123456789")) != NULL;) {
        size_t n = strspn(at, "0123456789.");
        bool is_word = at > text && at[-1] == ' ' && (at[n] == ' ' || at[n] == '\n' || at[n] == 0);
        if (is_word && n > 4 && n < cap && memchr(at, '.', n)) {
            memcpy(out, at, n);
            out[n] = 0;
            return;
        }
        at += n;
    }
}

bool ws_probe_may_count(enum ws_probe_gate gate, uint64_t capabilities, const char *driver_text)
{
    if (gate == WS_GATE_EVERYBODY || (capabilities >> CAP_SYS_ADMIN_BIT & 1) != 0)
        return true;
    return (capabilities >> CAP_PERFMON_BIT & 1) != 0 && strtol(driver_text, NULL, 10) >= 565;
}

/* --- files --- */

enum ws_probe_slice ws_probe_read_slice(const char *name)
{
    size_t n = strlen(name);
    size_t digits = n;
    if (strstr(name, " MIG "))
        return WS_SLICE_MIG;
    if (strncmp(name, "GRID ", 5) == 0)
        return WS_SLICE_VGPU;
    if (n < 3 || !strchr("ABCQ", name[n - 1]))
        return WS_SLICE_NONE;
    while (digits > 1 && isdigit((unsigned char)name[digits - 2]))
        digits--;
    return digits < n && digits > 1 && name[digits - 2] == '-' ? WS_SLICE_VGPU : WS_SLICE_NONE;
}

/* The start of a file under the root; "" when it cannot be read. */
static void read_text(const char *root, const char *path, char *out, size_t cap)
{
    char full[4096];
    ssize_t n;
    int fd;
    out[0] = 0;
    if (snprintf(full, sizeof full, "%s%s", root, path) >= (int)sizeof full)
        return;
    fd = open(full, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    n = read(fd, out, cap - 1);
    close(fd);
    out[n > 0 ? n : 0] = 0;
}

static bool is_there(const char *root, const char *path)
{
    char full[4096];
    return snprintf(full, sizeof full, "%s%s", root, path) < (int)sizeof full && access(full, F_OK) == 0;
}

static void probe_system(const char *root, struct ws_probe *out)
{
    char text[8192];
    struct utsname name;
    read_text(root, "/proc/sys/kernel/osrelease", out->kernel_release, sizeof out->kernel_release);
    out->kernel_release[strcspn(out->kernel_release, "\n")] = 0;
    if (out->kernel_release[0] == 0 && *root == 0 && uname(&name) == 0)
        snprintf(out->kernel_release, sizeof out->kernel_release, "%s", name.release);
    out->is_container = is_there(root, "/.dockerenv") || is_there(root, "/run/.containerenv");
    read_text(root, "/proc/driver/nvidia/version", text, sizeof text);
    ws_probe_read_version(text, out->driver_text, sizeof out->driver_text);
    read_text(root, "/proc/driver/nvidia/params", text, sizeof text);
    out->gate = ws_probe_read_gate(text, &out->gate_name);
    read_text(root, "/proc/self/status", text, sizeof text);
    if (!ws_probe_read_capabilities(text, &out->capabilities))
        out->capabilities = 0;
}

/* Other tools at work, by the names of processes. */
static void probe_tools(const char *root, struct ws_probe *out)
{
    char path[4096];
    char name[64];
    struct dirent *entry;
    DIR *dir;
    if (snprintf(path, sizeof path, "%s/proc", root) >= (int)sizeof path)
        return;
    dir = opendir(path);
    if (!dir)
        return;
    while (out->tool_count < WS_PROBE_TOOLS && (entry = readdir(dir)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0]) || strlen(entry->d_name) > 12)
            continue;
        snprintf(path, sizeof path, "/proc/%.12s/comm", entry->d_name);
        read_text(root, path, name, sizeof name);
        name[strcspn(name, "\n")] = 0;
        for (size_t i = 0; i < TOOLS && out->tool_count < WS_PROBE_TOOLS; i++)
            if (strcmp(name, tools[i]) == 0)
                snprintf(out->tool[out->tool_count++], sizeof out->tool[0], "%s (pid %.12s)", tools[i], entry->d_name);
    }
    closedir(dir);
}

static void probe_variables(struct ws_probe *out)
{
    for (size_t i = 0; i < VARIABLES && out->variable_count < WS_PROBE_VARIABLES; i++) {
        const char *value = getenv(variables[i]);
        if (!value || *value == 0)
            continue;
        out->variable[out->variable_count].name = variables[i];
        snprintf(out->variable[out->variable_count].value, sizeof out->variable[0].value, "%s", value);
        out->variable_count++;
    }
}

/* --- driver --- */

/* The driver calls used, as cuda.h declares them; CUresult and CUdevice are ints. */
struct driver {
    int (*init)(unsigned flags);
    int (*get_version)(int *version);
    int (*device_count)(int *count);
    int (*device_name)(char *name, int length, int device);
    int (*device_attribute)(int *value, int attribute, int device);
};
enum { ATTRIBUTE_SMS = 16, ATTRIBUTE_CC_MAJOR = 75, ATTRIBUTE_CC_MINOR = 76 };

static void bind(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
}

static void *open_driver(const char *root, struct ws_probe *out)
{
    char path[4096] = "libcuda.so.1";
    void *library;
    const char *why;
    if (*root && snprintf(path, sizeof path, "%s/libcuda.so.1", root) >= (int)sizeof path)
        return NULL;
    library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library)
        return library;
    why = dlerror();
    snprintf(out->library_error, sizeof out->library_error, "%s", why ? why : "the loader gave no reason");
    return NULL;
}

static void describe_device(const struct driver *d, int device, struct ws_probe_device *out)
{
    if (!d->device_name || d->device_name(out->name, (int)sizeof out->name, device) != 0)
        snprintf(out->name, sizeof out->name, "GPU %d", device);
    out->slice = ws_probe_read_slice(out->name);
    if (!d->device_attribute)
        return;
    (void)d->device_attribute(&out->cc_major, ATTRIBUTE_CC_MAJOR, device);
    (void)d->device_attribute(&out->cc_minor, ATTRIBUTE_CC_MINOR, device);
    (void)d->device_attribute(&out->sms, ATTRIBUTE_SMS, device);
}

static void probe_driver(const char *root, struct ws_probe *out)
{
    struct driver d = {NULL, NULL, NULL, NULL, NULL};
    void *library = open_driver(root, out);
    int count = 0;
    if (!library)
        return;
    out->has_library = true;
    bind(library, "cuInit", &d.init);
    bind(library, "cuDriverGetVersion", &d.get_version);
    bind(library, "cuDeviceGetCount", &d.device_count);
    bind(library, "cuDeviceGetName", &d.device_name);
    bind(library, "cuDeviceGetAttribute", &d.device_attribute);
    if (d.get_version)
        (void)d.get_version(&out->driver_version);
    /* No tool may be loaded into us by that. */
    for (size_t i = 0; i < VARIABLES; i++)
        (void)unsetenv(variables[i]);
    out->init_result = d.init ? d.init(0) : -1;
    if (out->init_result != 0 || !d.device_count || d.device_count(&count) != 0)
        return;
    for (int i = 0; i < count && out->device_count < WS_PROBE_DEVICES; i++)
        describe_device(&d, i, &out->device[out->device_count++]);
}

/* --- CUPTI --- */

/* CUpti_Device_GetChipName_Params. */
struct chip_params {
    size_t struct_size;
    void *reserved;
    size_t device;
    const char *chip;
};

static void probe_chips(void *cupti, struct ws_probe *out)
{
    int (*get_chip)(struct chip_params * params) = NULL;
    bind(cupti, "cuptiDeviceGetChipName", &get_chip);
    for (int i = 0; get_chip && i < out->device_count; i++) {
        struct chip_params p = {sizeof p, NULL, (size_t)i, NULL};
        if (get_chip(&p) == 0 && p.chip)
            snprintf(out->device[i].chip, sizeof out->device[i].chip, "%s", p.chip);
    }
}

static bool probe_place(const struct ws_located *place, struct ws_probe *out)
{
    struct ws_opened opened;
    int (*get_version)(uint32_t * version) = NULL;
    if (ws_locate_open(place, &opened) != 0) {
        if (out->cupti_error[0] == 0)
            snprintf(out->cupti_error, sizeof out->cupti_error, "%s", opened.error);
        return false;
    }
    bind(opened.cupti, "cuptiGetVersion", &get_version);
    if (!get_version || get_version(&out->cupti_version) != 0)
        return false;
    out->cupti = place;
    out->has_host = ws_locate_open_perf(place) != NULL;
    probe_chips(opened.cupti, out);
    return true;
}

static void probe_cupti(const char *root, struct ws_probe *out)
{
    static const char *const nothing[] = {NULL};
    struct ws_locate_hints hints = {.root = root,
                                    .cupti = getenv("WARPSIGHT_CUPTI"),
                                    .cuda_home = getenv("CUDA_HOME"),
                                    .cuda_path = getenv("CUDA_PATH"),
                                    .driver_major = (uint32_t)(out->driver_version / 1000),
                                    .mapped = nothing};
    ws_locate_cupti(&hints, &out->places);
    for (uint32_t i = 0; i < out->places.found_count; i++) {
        /* Of a made-up machine only what lies in it counts. */
        if (*root && out->places.found[i].is_bare)
            continue;
        if (probe_place(&out->places.found[i], out))
            return;
    }
}

static void probe_driver_and_cupti(const char *root, struct ws_probe *out)
{
    probe_driver(root, out);
    probe_cupti(root, out);
}

/* Run a part of the probe in a process of its own: a driver or a CUPTI that crashes when it is asked must not take the
 * answer about everything else with it. *out lies at the same address in both, so its pointers hold. */
static bool in_child(void (*part)(const char *, struct ws_probe *), const char *root, struct ws_probe *out)
{
    static struct ws_probe copy;
    int ends[2];
    size_t n = 0;
    pid_t child;
    fflush(NULL);
    if (pipe(ends) != 0)
        return false;
    child = fork();
    if (child == 0) {
        part(root, out);
        while (n < sizeof *out) {
            ssize_t done = write(ends[1], (const char *)out + n, sizeof *out - n);
            if (done <= 0)
                _exit(1);
            n += (size_t)done;
        }
        _exit(0);
    }
    close(ends[1]);
    while (child > 0 && n < sizeof copy) {
        ssize_t got = read(ends[0], (char *)&copy + n, sizeof copy - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    close(ends[0]);
    if (child > 0)
        (void)waitpid(child, NULL, 0);
    if (n != sizeof copy)
        return false;
    memcpy(out, &copy, sizeof copy);
    return true;
}

/* Without the question about each GPU's chip, for which CUPTI talks to the driver. */
static void probe_cupti_alone(const char *root, struct ws_probe *out)
{
    int devices = out->device_count;
    out->device_count = 0;
    probe_cupti(root, out);
    out->device_count = devices;
}

static void probe_libraries(const char *root, struct ws_probe *out)
{
    if (in_child(probe_driver_and_cupti, root, out))
        return;
    if (!in_child(probe_driver, root, out))
        snprintf(out->library_error, sizeof out->library_error, "the driver crashed when it was asked");
    if (!in_child(probe_cupti_alone, root, out))
        snprintf(out->cupti_error, sizeof out->cupti_error, "CUPTI crashed when it was asked");
}

void ws_probe_machine(const char *root, struct ws_probe *out)
{
    memset(out, 0, sizeof *out);
    out->gate_name = "";
    probe_system(root, out);
    probe_tools(root, out);
    probe_variables(out);
    probe_libraries(root, out);
    if (ws_install_find(WS_COLLECTOR_NAME, out->collector, sizeof out->collector) != 0)
        out->collector[0] = 0;
    if (ws_install_find(WS_PRELOAD_NAME, out->preload, sizeof out->preload) != 0)
        out->preload[0] = 0;
}
