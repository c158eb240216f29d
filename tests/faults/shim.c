/* SPDX-License-Identifier: MIT
 * shim.c: a library for LD_PRELOAD that lets the nth of some calls fail, or kills the process at it, and can move
 * the clock. It belongs to the tests: nothing of the product interposes a call.
 *   FAULT_CALLS=NAME,…   which calls count (rows of CALLS below); "all"
 *   FAULT_FROM=WORD,…    only those that come from an object whose file name holds one of the words
 *   FAULT_NTH=N          which of them, from 1; 0 = only count
 *   FAULT_MODE=once|ever|kill   that one fails, that one and all after it fail, or the process dies by SIGKILL there:
 *                        before the call, or (N even, a write) after half of its bytes
 *   FAULT_ERRNO=NAME     EDQUOT, EIO, EMFILE, ENOSPC instead of the call's usual error
 *   FAULT_LOG=FILE       at exit: "NAME COUNT" for each call
 *   FAULT_STEP_S=S       from FAULT_STEP_AFTER_MS after the start CLOCK_REALTIME reads S seconds more, for FAULT_FROM
 * Used by faults.py. Add a call: a row in CALLS and a wrapper at the end. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

/* name, the error it fails with */
#define CALLS(X)              \
    X(malloc, ENOMEM)         \
    X(calloc, ENOMEM)         \
    X(realloc, ENOMEM)        \
    X(mmap, ENOMEM)           \
    X(open, EMFILE)           \
    X(open64, EMFILE)         \
    X(fopen, EMFILE)          \
    X(opendir, EMFILE)        \
    X(mkdir, ENOSPC)          \
    X(read, EIO)              \
    X(pread, EIO)             \
    X(pread64, EIO)           \
    X(write, ENOSPC)          \
    X(pwrite, ENOSPC)         \
    X(pwrite64, ENOSPC)       \
    X(fsync, EIO)             \
    X(fdatasync, EIO)         \
    X(ftruncate, ENOSPC)      \
    X(ftruncate64, ENOSPC)    \
    X(rename, EIO)            \
    X(unlink, EIO)            \
    X(flock, ENOLCK)          \
    X(socket, EMFILE)         \
    X(pthread_create, EAGAIN) \
    X(sqlite3_step, 10)       \
    X(sqlite3_prepare_v2, 7)  \
    X(sqlite3_prepare_v3, 7)

enum call {
#define X(name, error) C_##name,
    CALLS(X)
#undef X
        CALL_COUNT
};

static const struct {
    const char *name;
    int error;
} calls[CALL_COUNT] = {
#define X(name, error) {#name, error},
    CALLS(X)
#undef X
};

enum mode { ONCE, EVER, KILL };

static struct {
    bool is_ready;
    bool is_on[CALL_COUNT];
    char from[512];
    unsigned long nth;
    enum mode mode;
    int error;
    int64_t step_ns, step_at_ns;
} plan;
static atomic_ulong seen[CALL_COUNT];
static atomic_ulong total;

/* --- who calls: the objects of the process, asked for again when an address is in none of them --- */

static struct object {
    uintptr_t start, end;
    bool is_wanted;
} objects[256];
static atomic_size_t object_count;
static pthread_mutex_t objects_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_in_list(const char *list, const char *text, bool whole)
{
    char word[64];
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        size_t n = strcspn(at, ",");
        if (n == 0 || n >= sizeof word)
            continue;
        memcpy(word, at, n);
        word[n] = 0;
        if (whole ? strcmp(text, word) == 0 : strstr(text, word) != NULL)
            return true;
    }
    return false;
}

static int add_object(struct dl_phdr_info *info, size_t size, void *state)
{
    size_t *n = state;
    const char *name = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : program_invocation_short_name;
    const char *slash = strrchr(name, '/');
    (void)size;
    for (int i = 0; i < info->dlpi_phnum && *n < sizeof objects / sizeof objects[0]; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        objects[*n].start = info->dlpi_addr + part->p_vaddr;
        objects[*n].end = objects[*n].start + part->p_memsz;
        objects[*n].is_wanted = !*plan.from || is_in_list(plan.from, slash ? slash + 1 : name, false);
        ++*n;
    }
    return 0;
}

static const struct object *find_object(uintptr_t at)
{
    size_t n = atomic_load(&object_count);
    for (size_t i = 0; i < n; i++)
        if (at >= objects[i].start && at < objects[i].end)
            return &objects[i];
    return NULL;
}

static bool is_wanted(void *caller)
{
    static __thread bool is_inside;
    const struct object *o = find_object((uintptr_t)caller);
    if (!o && !is_inside) {
        size_t n = 0;
        is_inside = true;
        pthread_mutex_lock(&objects_lock);
        dl_iterate_phdr(add_object, &n);
        atomic_store(&object_count, n);
        pthread_mutex_unlock(&objects_lock);
        is_inside = false;
        o = find_object((uintptr_t)caller);
    }
    return o && o->is_wanted;
}

/* --- the plan --- */

static int64_t monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int error_named(const char *name)
{
    static const struct {
        const char *name;
        int value;
    } errors[] = {{"EDQUOT", EDQUOT}, {"EIO", EIO}, {"EMFILE", EMFILE}, {"ENOSPC", ENOSPC}};
    for (size_t i = 0; name && i < sizeof errors / sizeof errors[0]; i++)
        if (strcmp(errors[i].name, name) == 0)
            return errors[i].value;
    return 0;
}

static __attribute__((constructor)) void read_plan(void)
{
    const char *list = getenv("FAULT_CALLS");
    const char *mode = getenv("FAULT_MODE");
    const char *from = getenv("FAULT_FROM");
    const char *nth = getenv("FAULT_NTH");
    const char *step = getenv("FAULT_STEP_S");
    const char *after = getenv("FAULT_STEP_AFTER_MS");
    for (int i = 0; list && i < CALL_COUNT; i++)
        plan.is_on[i] = strcmp(list, "all") == 0 || is_in_list(list, calls[i].name, true);
    if (from)
        snprintf(plan.from, sizeof plan.from, "%s", from);
    plan.mode = !mode || strcmp(mode, "once") == 0 ? ONCE : strcmp(mode, "ever") == 0 ? EVER : KILL;
    plan.nth = nth ? strtoul(nth, NULL, 10) : 0;
    plan.error = error_named(getenv("FAULT_ERRNO"));
    plan.step_ns = step ? strtoll(step, NULL, 10) * 1000000000 : 0;
    plan.step_at_ns = monotonic_ns() + (after ? strtoll(after, NULL, 10) * 1000000 : 0);
    plan.is_ready = true;
}

static __attribute__((destructor)) void tell_counts(void)
{
    const char *path = getenv("FAULT_LOG");
    FILE *f;
    plan.is_ready = false;
    f = path ? fopen(path, "ae") : NULL;
    for (int i = 0; f && i < CALL_COUNT; i++)
        if (atomic_load(&seen[i]) > 0)
            fprintf(f, "%s %lu\n", calls[i].name, atomic_load(&seen[i]));
    if (f)
        fclose(f);
}

/* Whether this call is to fail; errno is set then. *half: it is to be killed after half of its bytes. */
static bool fails(enum call call, void *caller, bool *half)
{
    unsigned long n;
    if (!plan.is_ready || !plan.is_on[call] || !is_wanted(caller))
        return false;
    atomic_fetch_add(&seen[call], 1);
    n = atomic_fetch_add(&total, 1) + 1;
    if (plan.nth == 0 || n < plan.nth || (n > plan.nth && plan.mode != EVER))
        return false;
    if (plan.mode == KILL) {
        if (half && n % 2 == 0) {
            *half = true;
            return false;
        }
        kill(getpid(), SIGKILL);
        for (;;)
            pause();
    }
    errno = plan.error ? plan.error : calls[call].error;
    return true;
}

/* The next definition of a call. POSIX lets dlsym's answer be a function. */
#define NEXT(name)                         \
    static _Atomic(void *) next_;          \
    void *symbol_ = atomic_load(&next_);   \
    __typeof__(name) *real_;               \
    if (!symbol_) {                        \
        symbol_ = dlsym(RTLD_NEXT, #name); \
        atomic_store(&next_, symbol_);     \
    }                                      \
    memcpy(&real_, &symbol_, sizeof real_)

#define CALLER __builtin_return_address(0)

/* --- memory: a sanitizer is an allocator itself, there it stays alone --- */

#ifndef WITHOUT_MEMORY

API void *malloc(size_t n)
{
    NEXT(malloc);
    return fails(C_malloc, CALLER, NULL) ? NULL : real_(n);
}

/* dlsym itself may allocate, once, before the next calloc is known. */
API void *calloc(size_t n, size_t size)
{
    static _Alignas(16) char first[4096];
    static size_t used;
    static __thread bool is_asking;
    static _Atomic(void *) next;
    void *(*real)(size_t, size_t);
    void *symbol = atomic_load(&next);
    if (!symbol && is_asking) {
        void *p = first + used;
        used += (n * size + 15) & ~(size_t)15;
        return used <= sizeof first ? p : NULL;
    }
    if (!symbol) {
        is_asking = true;
        symbol = dlsym(RTLD_NEXT, "calloc");
        is_asking = false;
        atomic_store(&next, symbol);
    }
    memcpy(&real, &symbol, sizeof real);
    return fails(C_calloc, CALLER, NULL) ? NULL : real(n, size);
}

API void *realloc(void *p, size_t n)
{
    NEXT(realloc);
    return fails(C_realloc, CALLER, NULL) ? NULL : real_(p, n);
}

API void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    NEXT(mmap);
    return fails(C_mmap, CALLER, NULL) ? MAP_FAILED : real_(at, n, protection, flags, fd, offset);
}

#endif

/* --- files --- */

#define OPEN(name)                                                            \
    API int name(const char *path, int flags, ...)                            \
    {                                                                         \
        NEXT(name);                                                           \
        mode_t mode = 0;                                                      \
        va_list args;                                                         \
        if (flags & (O_CREAT | O_TMPFILE)) {                                  \
            va_start(args, flags);                                            \
            mode = va_arg(args, mode_t);                                      \
            va_end(args);                                                     \
        }                                                                     \
        return fails(C_##name, CALLER, NULL) ? -1 : real_(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

API FILE *fopen(const char *restrict path, const char *restrict mode)
{
    NEXT(fopen);
    return fails(C_fopen, CALLER, NULL) ? NULL : real_(path, mode);
}

API DIR *opendir(const char *path)
{
    NEXT(opendir);
    return fails(C_opendir, CALLER, NULL) ? NULL : real_(path);
}

API int mkdir(const char *path, mode_t mode)
{
    NEXT(mkdir);
    return fails(C_mkdir, CALLER, NULL) ? -1 : real_(path, mode);
}

API ssize_t read(int fd, void *at, size_t n)
{
    NEXT(read);
    return fails(C_read, CALLER, NULL) ? -1 : real_(fd, at, n);
}

#define PREAD(name, offset_t)                                                 \
    API ssize_t name(int fd, void *at, size_t n, offset_t offset)             \
    {                                                                         \
        NEXT(name);                                                           \
        return fails(C_##name, CALLER, NULL) ? -1 : real_(fd, at, n, offset); \
    }
PREAD(pread, off_t)
PREAD(pread64, off64_t)

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

API ssize_t write(int fd, const void *at, size_t n)
{
    NEXT(write);
    bool half = false;
    if (fails(C_write, CALLER, &half))
        return -1;
    if (half) {
        (void)!real_(fd, at, n / 2);
        die();
    }
    return real_(fd, at, n);
}

#define PWRITE(name, offset_t)                                          \
    API ssize_t name(int fd, const void *at, size_t n, offset_t offset) \
    {                                                                   \
        NEXT(name);                                                     \
        bool half = false;                                              \
        if (fails(C_##name, CALLER, &half))                             \
            return -1;                                                  \
        if (half) {                                                     \
            (void)!real_(fd, at, n / 2, offset);                        \
            die();                                                      \
        }                                                               \
        return real_(fd, at, n, offset);                                \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define SIMPLE(name, parameters, arguments)                          \
    API int name parameters                                          \
    {                                                                \
        NEXT(name);                                                  \
        return fails(C_##name, CALLER, NULL) ? -1 : real_ arguments; \
    }
int flock(int fd, int operation);
SIMPLE(fsync, (int fd), (fd))
SIMPLE(fdatasync, (int fd), (fd))
SIMPLE(ftruncate, (int fd, off_t n), (fd, n))
SIMPLE(ftruncate64, (int fd, off64_t n), (fd, n))
SIMPLE(rename, (const char *from, const char *to), (from, to))
SIMPLE(unlink, (const char *path), (path))
SIMPLE(flock, (int fd, int operation), (fd, operation))
SIMPLE(socket, (int domain, int type, int protocol), (domain, type, protocol))

/* --- threads, SQLite, the clock --- */

API int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr, void *(*run)(void *),
                       void *restrict arg)
{
    NEXT(pthread_create);
    return fails(C_pthread_create, CALLER, NULL) ? errno : real_(thread, attr, run, arg);
}

/* Declared here: the shim is preloaded into programs that know of no SQLite, too. */
int sqlite3_step(void *statement);
int sqlite3_prepare_v2(void *db, const char *sql, int n, void **out, const char **tail);
int sqlite3_prepare_v3(void *db, const char *sql, int n, unsigned flags, void **out, const char **tail);

API int sqlite3_step(void *statement)
{
    NEXT(sqlite3_step);
    return fails(C_sqlite3_step, CALLER, NULL) ? calls[C_sqlite3_step].error : real_(statement);
}

API int sqlite3_prepare_v2(void *db, const char *sql, int n, void **out, const char **tail)
{
    NEXT(sqlite3_prepare_v2);
    if (!fails(C_sqlite3_prepare_v2, CALLER, NULL))
        return real_(db, sql, n, out, tail);
    *out = NULL;
    return calls[C_sqlite3_prepare_v2].error;
}

API int sqlite3_prepare_v3(void *db, const char *sql, int n, unsigned flags, void **out, const char **tail)
{
    NEXT(sqlite3_prepare_v3);
    if (!fails(C_sqlite3_prepare_v3, CALLER, NULL))
        return real_(db, sql, n, flags, out, tail);
    *out = NULL;
    return calls[C_sqlite3_prepare_v3].error;
}

API int clock_gettime(clockid_t clock, struct timespec *t)
{
    NEXT(clock_gettime);
    int result = real_(clock, t);
    if (result == 0 && clock == CLOCK_REALTIME && plan.step_ns != 0 && is_wanted(CALLER) &&
        monotonic_ns() >= plan.step_at_ns)
        t->tv_sec += plan.step_ns / 1000000000;
    return result;
}
