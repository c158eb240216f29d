/* SPDX-License-Identifier: MIT
 * fake_app.c: a small CUDA program over the fake driver, one mode per test and per hazard.
 *   fake_app MODE [ARGUMENT]     `fake_app` alone lists the modes
 * What it prints depends on its own results only, so that two runs must agree byte for byte; its exit
 * status is the mode's. Every kernel's counts stand in the table below and nowhere else.
 * Add a mode: a function and a row in modes[]. */
#include "fake.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define HAS_NVTX
#endif

/* --- kernels: 1024 threads; vecadd in 4 blocks of 256 --- */

#define N 1024

static void vecadd(void **args)
{
    const float *a = *(const float **)args[0];
    const float *b = *(const float **)args[1];
    float *c = *(float **)args[2];
    for (int i = 0; i < N; i++)
        c[i] = a[i] + b[i];
}

static atomic_uint runs;

static void count_run(void **args)
{
    (void)args;
    atomic_fetch_add(&runs, 1);
}

/* 32 warps: 2 loads and 1 store each, fully coalesced. */
static const struct fake_count vecadd_counts[] = {
    {"smsp__sass_inst_executed_op_global_ld.sum", 64},
    {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", 256},
    {"smsp__sass_data_bytes_mem_global_op_ld.sum", 8192},
    {"smsp__sass_inst_executed_op_global_st.sum", 32},
    {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum", 128},
    {"smsp__sass_data_bytes_mem_global_op_st.sum", 4096},
    {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 1024},
    {"smsp__sass_inst_executed.sum", 384},
    {"smsp__sass_thread_inst_executed.sum", 12288},
    {"sm__warps_active.sum", 64000},
    {"sm__cycles_active.sum", 16000},
    {"dram__bytes_read.sum", 8192},
    {"dram__bytes_write.sum", 4096},
    {NULL, 0},
};

/* A tile of 32 x 32 without padding: every column read is a 32-way conflict. */
static const struct fake_count transpose_counts[] = {
    {"smsp__sass_inst_executed_op_shared_ld.sum", 32},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", 1024},
    {"smsp__sass_inst_executed_op_shared_st.sum", 32},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", 32},
    {"smsp__sass_inst_executed.sum", 640},
    {"smsp__sass_thread_inst_executed.sum", 20480},
    {NULL, 0},
};

static const struct fake_count scale_counts[] = {
    {"smsp__sass_inst_executed_op_global_ld.sum", 32},
    {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", 1024},
    {"smsp__sass_inst_executed.sum", 200},
    {NULL, 0},
};

static const struct fake_count reduce_counts[] = {
    {"smsp__sass_inst_executed_op_global_ld.sum", 7},
    {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", 77},
    {"smsp__sass_inst_executed.sum", 777},
    {NULL, 0},
};

static const struct fake_kernel kernels[] = {
    {"_Z6vecaddPKfS0_Pf", 16, 0, 0, 10000, 3, vecadd, vecadd_counts},
    {"_Z9transposePKfPf", 24, 4096, 0, 20000, 0, count_run, transpose_counts},
    {"_Z5scaleIfEvPT_", 32, 0, 8, 5000, 1, count_run, scale_counts},
    {"_Z6reducePKfPf", 40, 1024, 0, 15000, 2, count_run, reduce_counts},
    {"_Z11long_runnerPf", 16, 0, 0, 40000000, 1, count_run, reduce_counts},
    {"_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LLP11ncclDevComm", 96, 0, 0, 30000, 0, count_run, NULL},
};

static const struct fake_image image = {FAKE_IMAGE_MAGIC, sizeof kernels / sizeof kernels[0], kernels};

/* --- the program --- */

enum { VECADD, TRANSPOSE, SCALE, REDUCE, KERNELS, LONG_RUNNER = KERNELS, ALL_REDUCE, FUNCTIONS };

struct program {
    CUcontext context;
    CUmodule module;
    CUfunction function[FUNCTIONS];
    CUdeviceptr a, b, c;
};

static void must(CUresult r, const char *what)
{
    if (r == CUDA_SUCCESS)
        return;
    printf("%s: error %d\n", what, (int)r);
    exit(4);
}
#define MUST(call) must(call, #call)

static void load(struct program *p)
{
    MUST(cuModuleLoadData(&p->module, &image));
    for (int i = 0; i < FUNCTIONS; i++)
        MUST(cuModuleGetFunction(&p->function[i], p->module, kernels[i].name));
    MUST(cuMemAlloc(&p->a, N * sizeof(float)));
    MUST(cuMemAlloc(&p->b, N * sizeof(float)));
    MUST(cuMemAlloc(&p->c, N * sizeof(float)));
}

static void begin_on(struct program *p, CUdevice device)
{
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&p->context, device));
    MUST(cuCtxSetCurrent(p->context));
    load(p);
}

static void begin(struct program *p)
{
    begin_on(p, 0);
}

static CUresult launch(struct program *p, int kernel, CUstream stream)
{
    void *args[] = {&p->a, &p->b, &p->c, NULL};
    return cuLaunchKernel(p->function[kernel], 4, 1, 1, 256, 1, 1, 0, stream, args, NULL);
}

static void launch_cluster(struct program *p)
{
    void *args[] = {&p->a, NULL};
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {2, 1, 1}};
    CUlaunchConfig config = {.gridDimX = 8,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 128,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .sharedMemBytes = 512,
                             .attrs = &attribute,
                             .numAttrs = 1};
    MUST(cuLaunchKernelEx(&config, p->function[SCALE], args, NULL));
}

/* Copies, three additions, two transposes, one scaling: the program most tests run. */
static void use_cuda(struct program *p)
{
    float host[N];
    double sum = 0;
    begin(p);
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    MUST(cuMemcpyHtoD(p->a, host, sizeof host));
    MUST(cuMemcpyHtoD(p->b, host, sizeof host));
    MUST(cuMemsetD8(p->c, 0, sizeof host));
    for (int i = 0; i < 3; i++)
        MUST(launch(p, VECADD, NULL));
    for (int i = 0; i < 2; i++)
        MUST(cuLaunchKernel(p->function[TRANSPOSE], 1, 1, 1, 32, 8, 1, 0, NULL, NULL, NULL));
    launch_cluster(p);
    MUST(cuCtxSynchronize());
    MUST(cuMemcpyDtoH(host, p->c, sizeof host));
    for (int i = 0; i < N; i++)
        sum += (double)host[i];
    printf("sum %.0f, %u other kernels ran\n", sum, atomic_load(&runs));
    fprintf(stderr, "the program's own stderr\n");
}

static void pause_ms(int ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

static int basic(const char *argument)
{
    struct program p;
    use_cuda(&p);
    return argument ? atoi(argument) : 0;
}

static char self_path[4096];

/* The first context comes from a constructor of a library, under the loader's lock. */
static int in_constructor(const char *argument)
{
    char path[sizeof self_path + 16];
    const char *slash = strrchr(self_path, '/');
    snprintf(path, sizeof path, "%.*s/late.so", slash ? (int)(slash - self_path) : 0, self_path);
    if (!dlopen(path, RTLD_NOW))
        return 6;
    return basic(argument);
}

static int no_cuda(const char *argument)
{
    printf("no CUDA here\n");
    return argument ? atoi(argument) : 0;
}

static int init_only(const char *argument)
{
    CUresult r = cuInit(0);
    (void)argument;
    printf("cuInit answers %d\n", (int)r);
    return r == CUDA_SUCCESS ? 0 : 5;
}

static int many(const char *argument)
{
    struct program p;
    int n = argument ? atoi(argument) : 1000;
    begin(&p);
    for (int i = 0; i < n; i++)
        MUST(launch(&p, i % KERNELS, NULL));
    MUST(cuCtxSynchronize());
    printf("%d launches, %u ran\n", n, atomic_load(&runs));
    return 0;
}

/* A launch about every millisecond until it is killed; each one that is complete is told at once, with the time. */
static int steady(const char *argument)
{
    struct program p;
    int n = argument ? atoi(argument) : 60000;
    begin(&p);
    for (int i = 0; i < n; i++) {
        struct timespec now;
        char line[64];
        int length;
        MUST(launch(&p, i % KERNELS, NULL));
        MUST(cuCtxSynchronize());
        clock_gettime(CLOCK_REALTIME, &now);
        length = snprintf(line, sizeof line, "%jd%09ld\n", (intmax_t)now.tv_sec, now.tv_nsec);
        if (write(STDOUT_FILENO, line, (size_t)length) != length)
            return 1;
        pause_ms(1);
    }
    return 0;
}

/* Each thread has a kernel and a stream of its own: a counter that goes to the wrong kernel shows. */
#define THREADS 8
static struct program shared_program;

static void *thread_main(void *which)
{
    CUstream stream;
    int k = 1 + (int)(intptr_t)which % (KERNELS - 1);
    MUST(cuCtxSetCurrent(shared_program.context));
    MUST(cuStreamCreate(&stream, 0));
    for (int i = 0; i < 50; i++)
        MUST(launch(&shared_program, k, stream));
    MUST(cuStreamSynchronize(stream));
    return NULL;
}

static void run_threads(pthread_t thread[THREADS])
{
    for (intptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, thread_main, (void *)i) != 0)
            exit(6);
}

static int threads(const char *argument)
{
    pthread_t thread[THREADS];
    (void)argument;
    begin(&shared_program);
    run_threads(thread);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    printf("%u kernels ran in %d threads\n", atomic_load(&runs), THREADS);
    return 0;
}

static int main_thread_ends_first(const char *argument)
{
    static pthread_t thread[THREADS];
    (void)argument;
    begin(&shared_program);
    run_threads(thread);
    pthread_exit(NULL); /* exit status 0 when the last thread is gone */
}

static int graph(const char *argument)
{
    struct program p;
    CUstream stream;
    CUgraph captured, built;
    CUgraphExec exec;
    CUgraphNode node;
    CUDA_KERNEL_NODE_PARAMS params = {
        .gridDimX = 4, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 64, .blockDimY = 1, .blockDimZ = 1};
    (void)argument;
    begin(&p);
    MUST(cuStreamCreate(&stream, 0));
    MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < 3; i++)
        MUST(launch(&p, REDUCE, stream));
    MUST(cuStreamEndCapture(stream, &captured));
    MUST(cuGraphInstantiate(&exec, captured, 0));
    for (int i = 0; i < 4; i++)
        MUST(cuGraphLaunch(exec, stream));
    MUST(cuGraphExecDestroy(exec));
    MUST(cuGraphCreate(&built, 0));
    params.func = p.function[SCALE];
    MUST(cuGraphAddKernelNode(&node, built, NULL, 0, &params));
    MUST(cuGraphInstantiate(&exec, built, 0));
    MUST(cuGraphLaunch(exec, stream));
    MUST(cuStreamSynchronize(stream));
    printf("%u kernels ran from graphs\n", atomic_load(&runs));
    return 0;
}

static int streams(const char *argument)
{
    struct program p;
    CUstream stream[4];
    (void)argument;
    begin(&p);
    for (int i = 0; i < 4; i++)
        MUST(cuStreamCreate(&stream[i], 0));
    for (int i = 0; i < 12; i++)
        MUST(launch(&p, TRANSPOSE, stream[i % 4]));
    MUST(launch(&p, TRANSPOSE, CU_STREAM_PER_THREAD));
    for (int i = 0; i < 4; i++)
        MUST(cuStreamDestroy(stream[i]));
    printf("%u kernels ran on streams\n", atomic_load(&runs));
    return 0;
}

/* Ten contexts come and go, two live at once. */
static int contexts(const char *argument)
{
    struct program p;
    CUcontext old = NULL;
    (void)argument;
    MUST(cuInit(0));
    for (int i = 0; i < 10; i++) {
        MUST(cuCtxCreate(&p.context, NULL, 0, 0));
        load(&p);
        MUST(launch(&p, i % 2 ? TRANSPOSE : REDUCE, NULL));
        if (old)
            MUST(cuCtxDestroy(old));
        old = p.context;
    }
    MUST(cuCtxSetCurrent(old));
    MUST(cuCtxSynchronize());
    printf("%u kernels ran in contexts\n", atomic_load(&runs));
    return 0;
}

static void *load_in_thread(void *program)
{
    struct program *p = program;
    MUST(cuCtxSetCurrent(p->context));
    load(p);
    return NULL;
}

/* A context goes while another thread loads a module, which takes long (FAKE_CUPTI_MODULE_MS); another one comes. */
static int gone(const char *argument)
{
    struct program p;
    CUcontext first, last;
    pthread_t thread;
    (void)argument;
    MUST(cuInit(0));
    MUST(cuCtxCreate(&first, NULL, 0, 0));
    MUST(cuCtxCreate(&p.context, NULL, 0, 0));
    if (pthread_create(&thread, NULL, load_in_thread, &p) != 0)
        return 5;
    pause_ms(100);
    MUST(cuCtxDestroy(first));
    MUST(cuCtxCreate(&last, NULL, 0, 0));
    pthread_join(thread, NULL);
    pause_ms(200);
    for (int round = 0; round < 2; round++) {
        MUST(cuCtxSetCurrent(round ? last : p.context));
        if (round)
            load(&p);
        MUST(launch(&p, TRANSPOSE, NULL));
    }
    printf("%u kernels ran\n", atomic_load(&runs));
    return 0;
}

static int devices(const char *argument)
{
    int n;
    (void)argument;
    MUST(cuInit(0));
    MUST(cuDeviceGetCount(&n));
    for (int d = 0; d < n; d++) {
        struct program p;
        begin_on(&p, d);
        for (int i = 0; i <= d; i++)
            MUST(launch(&p, TRANSPOSE, NULL));
    }
    printf("%u kernels ran on %d devices\n", atomic_load(&runs), n);
    return 0;
}

static int cooperative(const char *argument)
{
    struct program p;
    (void)argument;
    begin(&p);
    MUST(cuLaunchCooperativeKernel(p.function[REDUCE], 4, 1, 1, 64, 1, 1, 0, NULL, NULL));
    printf("%u cooperative kernels ran\n", atomic_load(&runs));
    return 0;
}

/* Kernels that may be replayed and cooperative ones that may not, in turn: N rounds. */
static int mixed(const char *argument)
{
    struct program p;
    int n = argument ? atoi(argument) : 10;
    begin(&p);
    for (int i = 0; i < n; i++) {
        MUST(cuLaunchCooperativeKernel(p.function[REDUCE], 4, 1, 1, 64, 1, 1, 0, NULL, NULL));
        if (i % 3 == 0) /* a new shape each time: a replay between rotated launches */
            MUST(cuLaunchKernel(p.function[TRANSPOSE], (unsigned)i + 1, 1, 1, 32, 8, 1, 0, NULL, NULL, NULL));
        MUST(cuLaunchCooperativeKernel(p.function[SCALE], 8, 1, 1, 64, 1, 1, 0, NULL, NULL));
    }
    nanosleep(&(struct timespec){1, 200000000}, NULL); /* nobody rotates any more */
    MUST(cuLaunchKernel(p.function[TRANSPOSE], 1000, 1, 1, 32, 8, 1, 0, NULL, NULL, NULL));
    printf("%u kernels ran\n", atomic_load(&runs));
    return 0;
}

/* An all-reduce between two kernels, on each device. */
static int collective(const char *argument)
{
    int n = argument ? atoi(argument) : 1;
    MUST(cuInit(0));
    for (int d = 0; d < n; d++) {
        struct program p;
        begin_on(&p, d);
        MUST(launch(&p, TRANSPOSE, NULL));
        MUST(launch(&p, ALL_REDUCE, NULL));
        MUST(launch(&p, REDUCE, NULL));
        MUST(cuCtxSynchronize());
    }
    printf("%u kernels ran on %d devices\n", atomic_load(&runs), n);
    return 0;
}

/* The first launch hangs in its profiler; another thread works on and ends the process. */
static void *launch_one(void *unused)
{
    (void)unused;
    MUST(cuCtxSetCurrent(shared_program.context));
    MUST(launch(&shared_program, TRANSPOSE, NULL));
    return NULL;
}

static int stuck(const char *argument)
{
    pthread_t thread;
    int wait_ms = argument ? atoi(argument) : 0;
    begin(&shared_program);
    if (pthread_create(&thread, NULL, launch_one, NULL) != 0)
        return 6;
    pause_ms(200);
    for (int i = 0; i < 100; i++)
        MUST(launch(&shared_program, REDUCE, NULL));
    MUST(cuCtxSynchronize());
    printf("100 launches beside one that may be stuck\n");
    pause_ms(wait_ms);
    if (wait_ms > 0) {
        pthread_join(thread, NULL);
        MUST(launch(&shared_program, SCALE, NULL));
        printf("%u kernels ran\n", atomic_load(&runs));
    }
    return 0;
}

/* As PyTorch does it: a profiler of the program's own, in a library that is linked to CUPTI, starts in the middle. */
static int own_profiler(const char *argument)
{
    char path[sizeof self_path + 16];
    const char *slash = strrchr(self_path, '/');
    int (*start)(void) = NULL;
    struct program p;
    void *library, *symbol;
    (void)argument;
    begin(&p);
    for (int i = 0; i < 3; i++)
        MUST(launch(&p, TRANSPOSE, NULL));
    snprintf(path, sizeof path, "%.*s/own.so", slash ? (int)(slash - self_path) : 0, self_path);
    library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    symbol = library ? dlsym(library, "own_profiler_start") : NULL;
    memcpy(&start, &symbol, sizeof start);
    if (!start)
        return 6;
    printf("own profiler: %d\n", start());
    for (int i = 0; i < 5; i++)
        MUST(launch(&p, REDUCE, NULL));
    MUST(cuCtxSynchronize());
    printf("%u kernels ran\n", atomic_load(&runs));
    return 0;
}

static int bad_launch(const char *argument)
{
    struct program p;
    CUresult r;
    (void)argument;
    begin(&p);
    r = cuLaunchKernel(p.function[TRANSPOSE], 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, NULL);
    printf("a block of 2048: %d\n", (int)r);
    r = cuLaunchKernel(p.function[TRANSPOSE], 0, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
    printf("an empty grid: %d\n", (int)r);
    MUST(launch(&p, TRANSPOSE, NULL));
    printf("%u kernels ran\n", atomic_load(&runs));
    return 3;
}

/* --- ways to end --- */

static int killed(const char *argument)
{
    struct program p;
    use_cuda(&p);
    fflush(NULL);
    pause_ms(400); /* eight flush periods */
    raise(argument ? atoi(argument) : SIGKILL);
    return 0;
}

static int ends_at_once(const char *argument)
{
    struct program p;
    use_cuda(&p);
    fflush(NULL);
    _exit(argument ? atoi(argument) : 0);
}

static int ends_quickly(const char *argument)
{
    struct program p;
    use_cuda(&p);
    fflush(NULL);
    quick_exit(argument ? atoi(argument) : 0);
}

static int aborts(const char *argument)
{
    struct rlimit no_core = {0, 0};
    struct program p;
    (void)argument;
    setrlimit(RLIMIT_CORE, &no_core);
    use_cuda(&p);
    fflush(NULL);
    abort();
}

static void launch_at_exit(void)
{
    printf("at exit: %d\n", (int)launch(&shared_program, REDUCE, NULL));
}

static int uses_cuda_at_exit(const char *argument)
{
    (void)argument;
    atexit(launch_at_exit);
    begin(&shared_program);
    MUST(launch(&shared_program, REDUCE, NULL));
    return 0;
}

/* --- processes --- */

static int wait_for(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int fork_after(const char *argument)
{
    struct program p;
    pid_t child;
    (void)argument;
    use_cuda(&p);
    fflush(NULL);
    child = fork();
    if (child == 0) {
        pid_t grandchild = fork(); /* what waited before the first fork must not wait here */
        if (grandchild == 0)
            _exit(0);
        (void)wait_for(grandchild);
        printf("child\n");
        exit(7); /* with all exit handlers, as Python's multiprocessing has them run */
    }
    printf("child ended with %d\n", wait_for(child));
    MUST(launch(&p, VECADD, NULL));
    return 0;
}

static int fork_before(const char *argument)
{
    struct program p;
    pid_t child = fork();
    int status = 0;
    (void)argument;
    if (child != 0)
        status = wait_for(child);
    use_cuda(&p);
    if (child != 0)
        printf("child ended with %d\n", status);
    return child == 0 ? 9 : 0;
}

/* Forks with other threads launching: the child must not wait for a lock that one of them held. */
static int fork_under_load(const char *argument)
{
    pthread_t thread[THREADS];
    int failed = 0;
    (void)argument;
    begin(&shared_program);
    run_threads(thread);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0)
            exit(0);
        failed += wait_for(child) != 0;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    printf("20 children, %d failed\n", failed);
    return 0;
}

static int exec_chain(const char *argument)
{
    struct program p;
    char *const next[] = {self_path, "basic", "11", NULL};
    (void)argument;
    use_cuda(&p);
    fflush(NULL);
    pause_ms(200); /* what is younger than a flush period is lost with the old image */
    execv(self_path, next);
    return 1;
}

static int spawns(const char *argument)
{
    struct program p;
    char *const command[] = {"/bin/sh", "-c", "echo from a shell; exit 5", NULL};
    pid_t child;
    (void)argument;
    use_cuda(&p);
    fflush(NULL);
    if (posix_spawn(&child, command[0], NULL, NULL, command, environ) != 0)
        return 1;
    printf("spawned child ended with %d\n", wait_for(child));
    fflush(NULL);
    child = vfork();
    if (child == 0) {
        execv(command[0], command);
        _exit(127);
    }
    printf("vforked child ended with %d\n", wait_for(child));
    return 0;
}

/* --- things a program may do to its process --- */

static int closes_descriptors(const char *argument)
{
    struct program p;
    char name[] = "/tmp/fake-app-XXXXXX";
    char back[64] = "";
    int fd;
    (void)argument;
    use_cuda(&p);
    pause_ms(150); /* three flush periods: whoever writes has opened its file by now */
    for (int i = 3; i < 1024; i++)
        close(i);
    /* The lowest numbers again: whoever still writes to a closed descriptor writes in here. */
    fd = mkstemp(name);
    for (int i = 0; i < 20; i++) {
        int copy = dup(fd);
        (void)copy;
    }
    for (int i = 0; i < 8; i++) {
        MUST(launch(&p, VECADD, NULL));
        pause_ms(40);
    }
    if (fd < 0 || pwrite(fd, "mine\n", 5, 0) != 5 || pread(fd, back, sizeof back, 0) < 0)
        return 1;
    printf("own file holds %jd bytes: %s", (intmax_t)lseek(fd, 0, SEEK_END), back);
    unlink(name);
    return 0;
}

static int limits_file_size(const char *argument)
{
    struct rlimit limit = {4096, 4096};
    struct program p;
    (void)argument;
    setrlimit(RLIMIT_FSIZE, &limit);
    begin(&p);
    for (int i = 0; i < 400; i++) {
        MUST(launch(&p, i % KERNELS, NULL));
        pause_ms(1);
    }
    printf("alive, %u kernels ran\n", atomic_load(&runs));
    return 0;
}

static atomic_int signals_here, signals_elsewhere;
static pthread_t main_thread;

static void on_signal(int number)
{
    (void)number;
    atomic_fetch_add(pthread_equal(pthread_self(), main_thread) ? &signals_here : &signals_elsewhere, 1);
}

static int gets_signals(const char *argument)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct program p;
    (void)argument;
    main_thread = pthread_self();
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    use_cuda(&p);
    for (int i = 0; i < 20; i++) {
        kill(getpid(), i % 2 ? SIGUSR1 : SIGTERM);
        pause_ms(2);
    }
    printf("%d signals in the main thread, %d elsewhere\n", atomic_load(&signals_here),
           atomic_load(&signals_elsewhere));
    return 0;
}

static int changes_environment(const char *argument)
{
    struct program p;
    char name[32];
    (void)argument;
    begin(&p);
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "FAKE_%d", i);
        setenv(name, "value", 1);
        if (i % 50 == 0)
            MUST(launch(&p, i / 50 % KERNELS, NULL));
    }
    if (clearenv() != 0)
        return 1;
    MUST(launch(&p, VECADD, NULL));
    printf("environment is empty: %s\n", getenv("PATH") ? "no" : "yes");
    return 0;
}

static int changes_folder(const char *argument)
{
    struct program p;
    (void)argument;
    if (chdir("/") != 0)
        return 1;
    use_cuda(&p);
    return 0;
}

/* The process's address space is used up while it runs. */
static int runs_out_of_memory(const char *argument)
{
    struct program p;
    struct rlimit limit;
    (void)argument;
    begin(&p);
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = 1; /* no further mapping at all */
    setrlimit(RLIMIT_AS, &limit);
    for (int i = 0; i < 200; i++)
        MUST(launch(&p, i % KERNELS, NULL));
    pause_ms(150);
    printf("%u kernels ran\n", atomic_load(&runs));
    return 0;
}

static int runs_out_of_descriptors(const char *argument)
{
    struct rlimit limit = {3, 3};
    struct program p;
    (void)argument;
    begin(&p);
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int i = 0; i < 50; i++) {
        MUST(launch(&p, i % KERNELS, NULL));
        pause_ms(2);
    }
    printf("%u kernels ran\n", atomic_load(&runs));
    return 0;
}

/* 300 launches within half a second or more: time for whatever a test does to it from outside. */
static int slow(const char *argument)
{
    struct program p;
    (void)argument;
    begin(&p);
    for (int i = 0; i < 300; i++) {
        MUST(launch(&p, i % KERNELS, NULL));
        pause_ms(2);
    }
    MUST(cuCtxSynchronize());
    printf("%u kernels ran\n", atomic_load(&runs));
    return 0;
}

/* Kernels of 40 ms with as long a rest after each, on every device: what samples over time can see. */
static int long_runs(const char *argument)
{
    int runs_wanted = argument ? atoi(argument) : 3;
    int n;
    MUST(cuInit(0));
    MUST(cuDeviceGetCount(&n));
    for (int d = 0; d < n; d++) {
        struct program p;
        CUfunction function;
        void *args[] = {&p.a, NULL};
        begin_on(&p, d);
        MUST(cuModuleGetFunction(&function, p.module, kernels[LONG_RUNNER].name));
        for (int i = 0; i < runs_wanted; i++) {
            MUST(cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, NULL, args, NULL));
            MUST(cuCtxSynchronize());
            pause_ms(40);
        }
    }
    printf("%u kernels ran on %d devices\n", atomic_load(&runs), n);
    return 0;
}

/* A filter on all threads that ends the process at the next file that anybody opens, renames or removes. */
static int filters_calls(const char *argument)
{
    static const int forbidden[] = {SYS_openat, SYS_mkdirat, SYS_renameat2, SYS_unlinkat, SYS_getdents64,
#ifdef SYS_open
                                    SYS_open,   SYS_mkdir,   SYS_rename,    SYS_unlink,
#endif
                                    SYS_socket, SYS_clone3};
    enum { COUNT = sizeof forbidden / sizeof forbidden[0] };
    struct sock_filter code[COUNT + 3];
    struct sock_fprog filter = {.len = COUNT + 3, .filter = code};
    struct program p;
    (void)argument;
    use_cuda(&p);
    pause_ms(150); /* three flush periods: whoever writes has opened its file by now */
    code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < COUNT; i++)
        code[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)forbidden[i],
                                                   (unsigned char)(COUNT - i), 0);
    code[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0)
        return 6;
    for (int i = 0; i < 100; i++) {
        MUST(launch(&p, VECADD, NULL));
        pause_ms(5);
    }
    printf("alive behind the filter\n");
    return 0;
}

/* Gives back references to whatever the driver loaded: the library stays, for its thread runs. */
static int closes_libraries(const char *argument)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    struct program p;
    (void)argument;
    use_cuda(&p);
    for (int i = 0; path && i < 4; i++) {
        void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
        if (!library)
            break;
        dlclose(library);
        dlclose(library);
    }
    pause_ms(150);
    MUST(launch(&p, VECADD, NULL));
    MUST(cuCtxSynchronize());
    printf("libraries closed\n");
    return 0;
}

/* --- collection that is switched while the program runs --- */

/* Works until the file is there: a captured graph of three reductions, an addition, a transpose, again and again. */
static int serves(const char *argument)
{
    struct program p;
    CUstream stream;
    CUgraph captured;
    CUgraphExec exec;
    begin(&p);
    MUST(cuStreamCreate(&stream, 0));
    MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < 3; i++)
        MUST(launch(&p, REDUCE, stream));
    MUST(cuStreamEndCapture(stream, &captured));
    MUST(cuGraphInstantiate(&exec, captured, 0));
    for (int i = 0; i < 30000 && (!argument || access(argument, F_OK) != 0); i++) {
        MUST(cuGraphLaunch(exec, stream));
        MUST(launch(&p, VECADD, stream));
        MUST(launch(&p, TRANSPOSE, stream));
        MUST(cuStreamSynchronize(stream));
        pause_ms(1);
    }
    printf("served\n");
    return 0;
}

/* Each kernel once: two outside, two within cudaProfilerStart and -Stop. */
static int calls_the_profiler(const char *argument)
{
    struct program p;
    (void)argument;
    begin(&p);
    MUST(launch(&p, VECADD, NULL));
    MUST(cuProfilerStart());
    MUST(launch(&p, TRANSPOSE, NULL));
    MUST(cuProfilerStop());
    MUST(launch(&p, SCALE, NULL));
    MUST(cuProfilerStart());
    MUST(cuProfilerStart()); /* twice is once */
    MUST(launch(&p, REDUCE, NULL));
    MUST(cuProfilerStop());
    MUST(launch(&p, VECADD, NULL));
    MUST(cuCtxSynchronize());
    printf("%u kernels ran\n", atomic_load(&runs));
    return 0;
}

#ifdef HAS_NVTX
static nvtxEventAttributes_t text_of(const char *text)
{
    nvtxEventAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = text;
    return a;
}

/* vecadd in none of them, transpose in step/inner, scale in range "whole", reduce in a registered name of domain "dom".
 */
static int has_ranges(const char *argument)
{
    struct program p;
    nvtxDomainHandle_t domain;
    nvtxEventAttributes_t named = text_of(NULL);
    nvtxRangeId_t whole;
    (void)argument;
    nvtxRangePushA("early"); /* before CUDA is there */
    begin(&p);
    MUST(launch(&p, VECADD, NULL));
    nvtxRangePushA("step");
    nvtxRangePushW(L"inner");
    MUST(launch(&p, TRANSPOSE, NULL));
    nvtxRangePop();
    nvtxRangePop();
    whole = nvtxRangeStartA("whole");
    MUST(launch(&p, SCALE, NULL));
    nvtxRangeEnd(whole);
    domain = nvtxDomainCreateA("dom");
    named.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    named.message.registered = nvtxDomainRegisterStringA(domain, "step");
    nvtxDomainRangePushEx(domain, &named);
    MUST(launch(&p, REDUCE, NULL));
    nvtxDomainRangePop(domain);
    nvtxRangePop();
    MUST(cuCtxSynchronize());
    printf("%u kernels ran\n", atomic_load(&runs));
    return 0;
}
#endif

/* Four ranks, each a process of its own; the last is killed in the middle. */
static int ranks(const char *argument)
{
    pid_t child[4];
    (void)argument;
    for (int i = 0; i < 4; i++) {
        char rank[16];
        char *const last[] = {self_path, "kill", "9", NULL};
        char *const other[] = {self_path, "many", i == 0 ? "40" : "20", NULL};
        snprintf(rank, sizeof rank, "%d", i);
        child[i] = fork();
        if (child[i] == 0) {
            setenv("RANK", rank, 1);
            execv(self_path, i == 3 ? last : other);
            _exit(127);
        }
    }
    for (int i = 0; i < 4; i++) {
        int status = wait_for(child[i]);
        if (status != (i == 3 ? 128 + SIGKILL : 0))
            printf("rank %d ended with %d\n", i, status);
    }
    printf("ranks ended\n");
    return 0;
}

struct mode {
    const char *name;
    int (*run)(const char *argument);
};

static const struct mode modes[] = {
    {"basic", basic},
    {"constructor", in_constructor},
    {"no-cuda", no_cuda},
    {"init", init_only},
    {"many", many},
    {"steady", steady},
    {"threads", threads},
    {"main-thread-ends", main_thread_ends_first},
    {"graph", graph},
    {"streams", streams},
    {"contexts", contexts},
    {"gone", gone},
    {"devices", devices},
    {"cooperative", cooperative},
    {"mixed", mixed},
    {"collective", collective},
    {"stuck", stuck},
    {"own-profiler", own_profiler},
    {"bad-launch", bad_launch},
    {"kill", killed},
    {"_exit", ends_at_once},
    {"quick_exit", ends_quickly},
    {"abort", aborts},
    {"at-exit", uses_cuda_at_exit},
    {"fork-after", fork_after},
    {"fork-before", fork_before},
    {"fork-under-load", fork_under_load},
    {"exec", exec_chain},
    {"spawn", spawns},
    {"close-descriptors", closes_descriptors},
    {"file-size", limits_file_size},
    {"signals", gets_signals},
    {"environment", changes_environment},
    {"chdir", changes_folder},
    {"no-memory", runs_out_of_memory},
    {"no-descriptors", runs_out_of_descriptors},
    {"slow", slow},
    {"long", long_runs},
    {"seccomp", filters_calls},
    {"dlclose", closes_libraries},
    {"serve", serves},
    {"profiler", calls_the_profiler},
#ifdef HAS_NVTX
    {"nvtx", has_ranges},
#endif
    {"ranks", ranks},
};

int main(int argc, char **argv)
{
    ssize_t n = readlink("/proc/self/exe", self_path, sizeof self_path - 1);
    self_path[n > 0 ? n : 0] = 0;
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            return modes[i].run(argv[2]);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        printf("%s\n", modes[i].name);
    return 2;
}
