/* SPDX-License-Identifier: MIT
 * yield.c: libwarpsight-yield.so, preloaded by `run --yield` only. CUPTI has one subscriber a process; the program's
 * own profiler (PyTorch's Kineto) asks once and does not ask again when it is refused. So its call is caught here,
 * before CUPTI sees it: the collector lets go, then the call goes on to the caller's own CUPTI. Reaches who is linked
 * to CUPTI (Kineto in libtorch_cpu.so is); who looks the call up by dlsym passes by unseen. Links libc only, prints
 * nothing. Without a collector in the process the calls pass through. Read on: inject.c. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define NOT_INITIALIZED 15 /* CUPTI_ERROR_NOT_INITIALIZED: the caller has no CUPTI behind it */

EXPORT void ws_yield_set_hook(void (*hook)(const char *who, const void *call));
EXPORT int cuptiSubscribe(void **subscriber, void *callback, void *userdata);
EXPORT int cuptiSubscribe_v2(void **subscriber, void *callback, void *userdata, void *params);

static _Atomic(void (*)(const char *who, const void *call)) release;

void ws_yield_set_hook(void (*hook)(const char *who, const void *call))
{
    atomic_store(&release, hook);
}

/* The call of that name in what the caller is linked to: its own CUPTI, of which a process may map two. */
static void *find_behind(const void *caller, const char *name, void (*ours)(void), const char **who)
{
    Dl_info info;
    void *library, *self, *found = NULL;
    memcpy(&self, &ours, sizeof self);
    *who = "";
    if (dladdr(caller, &info) == 0 || !info.dli_fname)
        return dlsym(RTLD_NEXT, name);
    *who = info.dli_fname;
    library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library) {
        found = dlsym(library, name); /* in it and what it needs, not in what was preloaded */
        dlclose(library);
    }
    /* The program itself has no library of that name: what comes after us. */
    return found && found != self ? found : dlsym(RTLD_NEXT, name);
}

/* call: what the caller would have called, in its own CUPTI. */
static void let_go(const char *who, const void *call)
{
    void (*hook)(const char *, const void *) = atomic_exchange(&release, NULL);
    const char *slash = strrchr(who, '/');
    if (hook)
        hook(slash ? slash + 1 : who, call);
}

int cuptiSubscribe(void **subscriber, void *callback, void *userdata)
{
    int (*real)(void **, void *, void *) = NULL;
    const char *who;
    void *found = find_behind(__builtin_return_address(0), "cuptiSubscribe", (void (*)(void))cuptiSubscribe, &who);
    memcpy(&real, &found, sizeof real);
    if (!real)
        return NOT_INITIALIZED;
    let_go(who, found);
    return real(subscriber, callback, userdata);
}

int cuptiSubscribe_v2(void **subscriber, void *callback, void *userdata, void *params)
{
    int (*real)(void **, void *, void *, void *) = NULL;
    const char *who;
    void *found =
        find_behind(__builtin_return_address(0), "cuptiSubscribe_v2", (void (*)(void))cuptiSubscribe_v2, &who);
    memcpy(&real, &found, sizeof real);
    if (!real)
        return NOT_INITIALIZED;
    let_go(who, found);
    return real(subscriber, callback, userdata, params);
}
