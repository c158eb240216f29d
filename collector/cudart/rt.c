/* SPDX-License-Identifier: MIT
 * rt.c: one lock, one session a process, errors and complaints of the stand-in.
 * What is emitted is written at once, so that a program that crashes leaves what was known until then. */
#include "rt.h"

#include "registers.h"

#include "../settings.h"
#include "../spool.h"

#include "version.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMPLAINTS 64
#define SPOOL_PATH 4096
/* Of each kernel; a launch is 6 KB in the session. */
#define COUNTED_LAUNCHES 1000

struct complaint {
    char *text;
    uint64_t count;
};

static struct {
    pthread_mutex_t lock;
    pid_t pid; /* of the session; another one = a forked child, which gets its own */
    bool is_started, is_ended;
    struct ws_settings settings;
    struct ws_emit *emit;
    struct ws_model *memory;
    int fd;
    char path[SPOOL_PATH];
    unsigned checks;
    int sticky, unasked; /* a launch error that nobody has asked for */
    uint64_t unasked_count;
    struct complaint complaint[COMPLAINTS];
    uint32_t complaints;
} rt = {.lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, .fd = -1};

static _Thread_local int last_error;

/* --- the session --- */

static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return true;
}

/* A token may name a folder only. */
static bool is_safe(const char *token)
{
    return *token && strspn(token, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == strlen(token);
}

static void open_segment(const char *session, const char *agent)
{
    int n = snprintf(rt.path, sizeof rt.path, "%s/%s/%s/00000000.open", rt.settings.spool_dir, session, agent);
    if (n < (int)sizeof rt.path && make_folders(rt.path))
        rt.fd = open(rt.path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (rt.fd < 0)
        fprintf(stderr, "==WARPSIGHT== model: no session, the spool %s cannot be used\n", rt.settings.spool_dir);
    else
        (void)flock(rt.fd, LOCK_EX | LOCK_NB); /* tells a reader that the segment grows */
}

/* The program's words as the kernel keeps them, NUL between them. */
static size_t read_arguments(char *out, size_t cap)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, out, cap);
    if (fd >= 0)
        close(fd);
    return n > 0 ? (size_t)n - 1 : 0;
}

static void start_session(void)
{
    static char exe[SPOOL_PATH], argv[8192], cwd[SPOOL_PATH], host[256];
    struct ws_emit_session session = {.name = rt.settings.name, .exe = exe, .argv = argv, .cwd = cwd, .host = host};
    struct ws_emit_device device;
    char agent[33];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = 0;
    if (!getcwd(cwd, sizeof cwd))
        cwd[0] = 0;
    (void)gethostname(host, sizeof host - 1);
    ws_make_id(agent);
    session.agent_id = agent;
    session.session_token = is_safe(rt.settings.session) ? rt.settings.session : agent;
    session.argv_bytes = read_arguments(argv, sizeof argv);
    session.version = WS_VERSION;
    session.git_commit = WS_GIT_COMMIT;
    session.pid = (uint32_t)getpid();
    session.started_ns = ws_now_ns();
    rt_registers_read(rt.settings.registers);
    if (!rt_device_init(rt.settings.gpu, &device))
        fprintf(stderr, "==WARPSIGHT== model: no GPU '%s' in gpus.def, the H200 is taken\n", rt.settings.gpu);
    rt.emit = ws_emit_new(&session, &device);
    if (rt.emit)
        ws_emit_set_limit(rt.emit, COUNTED_LAUNCHES);
    open_segment(session.session_token, agent);
    rt_flush();
}

void rt_flush(void)
{
    size_t n = 0;
    const uint8_t *bytes = rt.emit ? ws_emit_drain(rt.emit, &n) : NULL;
    while (bytes && rt.fd >= 0 && n > 0) {
        ssize_t put = write(rt.fd, bytes, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            break;
        bytes += put;
        n -= (size_t)put;
    }
}

static void start(void)
{
    static const char empty[] = ".version 8.0\n.target sm_50\n.address_size 64\n";
    char error[WS_MODEL_ERROR_BYTES];
    if (!rt.is_started) {
        ws_settings_read(&rt.settings);
        (void)ws_model_check_parse(rt.settings.check, &rt.checks); /* run has looked at it */
        if (ws_model_new(empty, sizeof empty - 1, &rt.memory, error) != 0)
            abort(); /* out of memory before anything began */
    }
    if (rt.fd >= 0) /* the parent's: its segment, its lock */
        close(rt.fd);
    rt.fd = -1;
    ws_emit_free(rt.emit);
    rt.is_started = true;
    rt.pid = getpid();
    start_session();
}

int rt_enter(void)
{
    pthread_mutex_lock(&rt.lock);
    if (!rt.is_started || rt.pid != getpid())
        start();
    return rt.sticky;
}

void rt_leave(void)
{
    pthread_mutex_unlock(&rt.lock);
}

struct ws_emit *rt_emit(void)
{
    return rt.emit;
}

struct ws_model *rt_memory(void)
{
    return rt.memory;
}

void rt_set_bounds(struct ws_model_launch *launch)
{
    long n = rt.settings.threads > 0 ? rt.settings.threads : sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t instructions = 0;
    launch->threads = n < 1 ? 1 : n > 64 ? 64 : (uint32_t)n;
    launch->checks = rt.checks;
    launch->max_instructions = (uint64_t)rt.settings.max_instructions;
    (void)ws_model_sample_parse(rt.settings.sample, &launch->sample_blocks); /* run has looked at both */
    if (ws_model_budget_parse(rt.settings.model_budget, &launch->max_seconds, &instructions) != 0)
        return;
    launch->samples_when_cut = true;
    launch->max_instructions = instructions ? instructions : launch->max_instructions;
}

unsigned rt_checks(void)
{
    return rt.checks;
}

/* --- errors --- */

const char *rt_error_name(int code)
{
    switch (code) {
#define X(number, name, text) \
    case number:              \
        return "cuda" #name;
#include "errors.def"
#undef X
    default:
        return "unrecognized error code";
    }
}

const char *rt_error_text(int code)
{
    switch (code) {
#define X(number, name, text) \
    case number:              \
        return text;
#include "errors.def"
#undef X
    default:
        return "unrecognized error code";
    }
}

int rt_done(int code)
{
    if (code != RT_Success && code != RT_ErrorNotReady)
        last_error = code;
    rt_leave();
    return code;
}

void rt_set_sticky(int code)
{
    if (rt.sticky == RT_Success)
        rt.sticky = code;
}

void rt_clear_sticky(void)
{
    rt.sticky = RT_Success;
    last_error = RT_Success;
}

void rt_launch_failed(int code)
{
    if (rt.unasked == RT_Success)
        rt.unasked = code;
    rt.unasked_count++;
}

static bool is_new(const char *text)
{
    for (uint32_t k = 0; k < rt.complaints; k++)
        if (strcmp(rt.complaint[k].text, text) == 0) {
            rt.complaint[k].count++;
            return false;
        }
    if (rt.complaints == COMPLAINTS)
        return false;
    rt.complaint[rt.complaints].text = strdup(text);
    if (!rt.complaint[rt.complaints].text)
        return false;
    rt.complaint[rt.complaints++].count = 1;
    return true;
}

static void complain(const char *slug, unsigned severity, const char *remedy, const char *text)
{
    if (!is_new(text))
        return;
    fprintf(stderr, "==WARPSIGHT== %s\n", text);
    if (rt.emit)
        ws_emit_status(rt.emit, slug, severity, text, remedy, 1);
    rt_flush();
}

void rt_complain(const char *slug, unsigned severity, const char *remedy, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    complain(slug, severity, remedy, text);
}

int rt_fail(int code, const char *call, const char *format, ...)
{
    char why[300], text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    snprintf(text, sizeof text, "%s returned %d (%s): %s", call, code, rt_error_text(code), why);
    complain("model-call-failed", 1, "check what the call returns", text);
    return rt_done(code);
}

void rt_place(const void *return_address, char out[128])
{
    Dl_info info;
    const char *base;
    if (!return_address || !dladdr(return_address, &info) || !info.dli_fname) {
        snprintf(out, 128, "%p", return_address);
        return;
    }
    base = strrchr(info.dli_fname, '/');
    base = base ? base + 1 : info.dli_fname;
    /* addr2line wants the call, not what follows it */
    snprintf(out, 128, "%.80s+0x%" PRIxPTR, base, (uintptr_t)return_address - (uintptr_t)info.dli_fbase - 1);
}

RT_API(cudaGetLastError, void)
{
    int code = rt_enter();
    if (code == RT_Success)
        code = last_error;
    last_error = RT_Success;
    rt.unasked = RT_Success;
    rt_leave();
    return code;
}

RT_API(cudaPeekAtLastError, void)
{
    int code = rt_enter();
    if (code == RT_Success)
        code = last_error;
    rt.unasked = RT_Success;
    rt_leave();
    return code;
}

__attribute__((visibility("default"))) const char *cudaGetErrorString(int code);
__attribute__((visibility("default"))) const char *cudaGetErrorString(int code)
{
    return rt_error_text(code);
}

__attribute__((visibility("default"))) const char *cudaGetErrorName(int code);
__attribute__((visibility("default"))) const char *cudaGetErrorName(int code)
{
    return rt_error_name(code);
}

/* --- the end --- */

#define LEAKS_NAMED 5

static void report_leaks(void)
{
    const struct rt_block *b;
    uint64_t bytes = 0, count = 0;
    for (size_t k = 0; (b = rt_heap_at(k)) != NULL; k++)
        if (b->owner != RT_OWNER_REGISTERED) {
            char place[128];
            bytes += b->bytes;
            rt_place(b->caller, place);
            if (count++ < LEAKS_NAMED)
                rt_complain("model-leak", 1, "free what is allocated",
                            "never freed: %zu bytes of %s (allocation %u, at %s)", b->bytes, b->call, b->number, place);
        }
    if (count > LEAKS_NAMED)
        rt_complain("model-leak", 1, "free what is allocated",
                    "never freed in all: %" PRIu64 " bytes in %" PRIu64 " allocations", bytes, count);
}

/* Runs after the program's own exit handlers and destructors, which may free still. */
__attribute__((destructor)) static void end(void)
{
    char done[SPOOL_PATH];
    size_t n = 0;
    const uint8_t *bytes;
    if (!rt.is_started || rt.is_ended || rt.pid != getpid())
        return;
    rt.is_ended = true;
    if (rt.unasked != RT_Success)
        rt_complain("model-unchecked", 1, "call cudaGetLastError() after each launch",
                    "a launch failed with %d (%s) and nobody asked: cudaGetLastError was not called after it",
                    rt.unasked, rt_error_text(rt.unasked));
    if (rt_print_pending() > 0)
        rt_complain("model-printf-lost", 1, "call cudaDeviceSynchronize() before the end",
                    "%zu bytes that kernels printed are lost: the program ended without waiting for them",
                    rt_print_pending());
    if (rt.sticky == RT_Success)
        report_leaks();
    for (uint32_t k = 0; k < rt.complaints; k++)
        if (rt.complaint[k].count > 1)
            fprintf(stderr, "==WARPSIGHT== %" PRIu64 " times: %s\n", rt.complaint[k].count, rt.complaint[k].text);
    if (!rt.emit || rt.fd < 0)
        return;
    rt_flush();
    bytes = ws_emit_finish(rt.emit, ws_now_ns(), &n);
    if (bytes && write(rt.fd, bytes, n) == (ssize_t)n) {
        size_t stem = strlen(rt.path) - strlen("open");
        snprintf(done, sizeof done, "%.*sdone", (int)stem, rt.path);
        (void)rename(rt.path, done);
    }
    close(rt.fd);
    rt.fd = -1;
}
