/* SPDX-License-Identifier: MIT
 * model_run.c: a launch spec through the SIMT model into a session, labelled modelled.
 * The frames go into the spool as a collector's do, so that the ingest is the only writer of the database. */
#include "model_run.h"

#include "cli.h"
#include "interrupt.h"
#include "model_exe.h"
#include "model_spec.h"
#include "paths.h"
#include "progress.h"
#include "store.h"
#include "version.h"

#include "../analyzer/err.h"
#include "../collector/model/board.h"
#include "../collector/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TEXT_MAX (256l << 20)
#define BUNDLED_MAX 256

static char *read_file(const char *path, size_t *length)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    long n = -1;
    if (f && fseek(f, 0, SEEK_END) == 0)
        n = ftell(f);
    if (n >= 0 && n <= TEXT_MAX)
        text = malloc((size_t)n + 1);
    if (text) {
        rewind(f);
        *length = fread(text, 1, (size_t)n, f);
        text[*length] = '\0';
    }
    if (f)
        fclose(f);
    return text;
}

/* --- the assumed GPU --- */

static int describe_gpu(const char *command, const char *wanted, struct ws_emit_device *out, char name[64])
{
    struct ws_board board;
    if (!ws_model_board(wanted ? wanted : "H200", &board, out, name))
        return ws_cli_usage_error(command, "unknown GPU '%s'; see analyzer/gpus.def for the boards", wanted);
    return WS_EXIT_OK;
}

/* --- session --- */

static char *join_arguments(int argc, char **argv, size_t *bytes)
{
    size_t n = 0;
    char *all;
    for (int k = 0; k < argc; k++)
        n += strlen(argv[k]) + 1;
    all = malloc(n + 1);
    *bytes = 0;
    for (int k = 0; all && k < argc; k++) {
        size_t len = strlen(argv[k]);
        if (k > 0)
            all[(*bytes)++] = '\0';
        memcpy(all + *bytes, argv[k], len);
        *bytes += len;
    }
    return all;
}

int ws_model_job_open(struct ws_model_job *job, const char *exe, int argc, char **argv)
{
    struct ws_emit_session session = {0};
    struct ws_emit_device device;
    char gpu[64], host[256] = "", cwd[WS_PATH_MAX] = "";
    size_t argv_bytes;
    char *arguments;
    int status = describe_gpu(job->command, job->gpu, &device, gpu);
    if (status != WS_EXIT_OK)
        return status;
    arguments = join_arguments(argc, argv, &argv_bytes);
    if (!arguments)
        return ws_cli_failed(job->command, "out of memory");
    job->cc = device.cc_major * 10 + device.cc_minor;
    ws_make_id(job->agent_id);
    (void)gethostname(host, sizeof host - 1);
    if (!getcwd(cwd, sizeof cwd))
        cwd[0] = '\0';
    session.agent_id = job->agent_id;
    session.name = job->name ? job->name : "";
    session.exe = exe;
    session.argv = arguments;
    session.argv_bytes = argv_bytes;
    session.cwd = cwd;
    session.host = host;
    session.version = WS_VERSION;
    session.git_commit = WS_GIT_COMMIT;
    session.pid = (uint32_t)getpid();
    session.started_ns = ws_now_ns();
    job->emit = ws_emit_new(&session, &device);
    ws_interrupt_catch();
    free(arguments);
    return job->emit ? WS_EXIT_OK : ws_cli_failed(job->command, "out of memory");
}

/* --- launches --- */

static void print_row(FILE *out, const struct ws_model_row *r)
{
    fprintf(out, "%6u %6u  %-24s %12" PRIu64 " %7.2f", r->source_line, r->ptx_line, r->opcode, r->runs,
            r->runs ? (double)r->lanes / (double)r->runs : 0.0);
    if (r->is_memory && r->memory.sectors)
        fprintf(out, "  %.2f sectors a request (ideal %.2f)", (double)r->memory.sectors / (double)r->memory.requests,
                (double)r->memory.ideal_sectors / (double)r->memory.requests);
    if (r->is_memory && r->memory.wavefronts)
        fprintf(out, "  %.2f wavefronts a request (ideal %.2f)",
                (double)r->memory.wavefronts / (double)r->memory.requests,
                (double)r->memory.ideal_wavefronts / (double)r->memory.requests);
    if (r->diverged)
        fprintf(out, "  %" PRIu64 " times divergent", r->diverged);
    fputc('\n', out);
}

static void print_lines(FILE *out, const char *name, const struct ws_model_result *result)
{
    fprintf(out, "%s: PTX instructions (not SASS)\n%6s %6s  %-24s %12s %7s\n", name, "line", "PTX", "opcode", "runs",
            "lanes");
    for (uint32_t k = 0; k < result->rows_n; k++)
        if (result->rows[k].runs)
            print_row(out, &result->rows[k]);
}

static void tell(const struct ws_model_job *job, const char *name, const struct ws_model_launch *l,
                 const struct ws_model_result *r)
{
    double share = r->blocks ? (double)r->blocks_run / (double)r->blocks : 0;
    double m = 1e-6 * (double)r->counts.ptx_instructions * (r->is_sampled ? share : 1);
    if (!job->is_quiet)
        fprintf(stderr,
                "==WARPSIGHT== modelled %s (%u,%u,%u)x(%u,%u,%u): %.2f M PTX warp instructions, %.2f s, %.0f M/s\n",
                name, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], m, r->seconds,
                r->seconds > 0 ? m / r->seconds : 0.0);
    if (r->is_sampled && !job->is_quiet)
        fprintf(stderr,
                "==WARPSIGHT== %s: %" PRIu64 " of %" PRIu64 " blocks ran, counts are estimates, +-%.1f %% at worst\n",
                name, r->blocks_run, r->blocks, 100 * r->interval);
    for (uint32_t k = 0; k < r->issues_n; k++)
        fprintf(stderr, "==WARPSIGHT== %s: %s (%" PRIu64 " %s)\n", r->issues[k].is_hint ? "hint" : "error",
                r->issues[k].text, r->issues[k].count, r->issues[k].count == 1 ? "time" : "times");
    if (r->issues_lost)
        fprintf(stderr, "==WARPSIGHT== %" PRIu64 " more at other places of the kernel, not shown\n", r->issues_lost);
}

/* struct ws_model_launch.tick, with a struct ws_progress: how far it is, and whether to go on. */
static bool on_tick(void *progress, const struct ws_model_progress *now)
{
    char rate[64];
    snprintf(rate, sizeof rate, "%.0f M PTX warp instructions/s",
             now->seconds > 0 ? 1e-6 * (double)now->instructions / now->seconds : 0);
    ws_progress_tell(progress, now->blocks_done, now->blocks, rate);
    return !ws_interrupt_is_asked();
}

/* What a launch may take, and who is told how far it is. */
static void set_bounds(const struct ws_model_job *job, struct ws_progress *progress, struct ws_model_launch *launch)
{
    launch->threads = job->threads;
    launch->instructions = job->instructions;
    launch->checks = job->checks;
    launch->sample_blocks = job->sample_blocks;
    launch->max_instructions = job->budget_instructions ? job->budget_instructions : job->max_instructions;
    launch->max_seconds = job->budget_seconds;
    launch->samples_when_cut = job->budget_instructions || job->budget_seconds > 0;
    launch->tick = on_tick;
    launch->tick_user = progress;
}

/* Ctrl-C: the launch that ran is in the session as far as it came; those that have not begun are not. */
static int give_up(struct ws_model_job *job, const char *name, const struct ws_model_result *r)
{
    char text[WS_SPEC_NAME_MAX + 128];
    job->is_cancelled = true;
    if (r->stop == WS_MODEL_STOP_CANCELLED)
        snprintf(text, sizeof text,
                 "Ctrl-C while %s ran, after %" PRIu64 " of %" PRIu64
                 " blocks: its counts are of a part, later launches are missing",
                 name, r->blocks_run, r->blocks);
    else
        snprintf(text, sizeof text, "Ctrl-C after %s: later launches are missing", name);
    ws_emit_status(job->emit, "model-cancelled", 1, text, "run it again, with --sample auto when it takes too long", 1);
    fprintf(stderr, "==WARPSIGHT== %s\n", text);
    return WS_EXIT_FAILED;
}

/* Where the source files of a module are. */
struct sources {
    const struct ws_model *model;
    const char *folder;     /* of the PTX */
    char path[WS_PATH_MAX]; /* of the file asked for last */
    uint32_t number;        /* of it */
    bool is_known;
};

/* A path of the line table, made absolute where a file is there: a bare name may lie beside the PTX, or in the folder
 * above it. What is found nowhere keeps the name that it has. */
static const char *find_source(void *state, uint32_t number)
{
    static const char *const places[] = {"", "../"};
    struct sources *s = state;
    char trial[2 * WS_PATH_MAX], *real = NULL;
    uint32_t length = 0;
    const char *name = ws_model_source_file(s->model, number, &length);
    if (!name || length >= sizeof s->path)
        return NULL;
    if (s->is_known && s->number == number)
        return s->path;
    s->is_known = true;
    s->number = number;
    snprintf(s->path, sizeof s->path, "%.*s", (int)length, name);
    for (size_t k = 0; name[0] != '/' && !real && k < sizeof places / sizeof *places; k++) {
        snprintf(trial, sizeof trial, "%s/%s%s", s->folder, places[k], s->path);
        real = realpath(trial, NULL);
    }
    if (real && strlen(real) < sizeof s->path)
        snprintf(s->path, sizeof s->path, "%s", real);
    free(real);
    return s->path;
}

/* What a GPU gives a thread at least, whatever ptxas says (all launches of the reference kernels on an H200). */
#define LEAST_REGISTERS 16u

/* Ask ptxas once for a PTX, if a launch of the spec does not say itself what it takes. */
static void ask_ptxas(struct ws_model_job *job, const struct ws_spec *spec, const char *ptx, size_t length)
{
    bool is_wanted = false;
    for (uint32_t k = 0; k < ws_spec_launches(spec); k++)
        is_wanted |= ws_spec_registers(spec, k) == 0;
    if (!is_wanted || ws_ptxas_run(ptx, length, &job->ptxas) == 0 || job->is_ptxas_told)
        return;
    job->is_ptxas_told = true;
    ws_emit_status(job->emit, "model-registers", 0, "registers and spills are not known: they need ptxas",
                   "put ptxas of the CUDA toolkit into PATH, or give \"registers\" in the spec", 1);
}

/* Registers of a launch from its spec or from ptxas, with its spills; 0 = not known. */
static uint32_t registers_of(const struct ws_model_job *job, const struct ws_spec *spec, uint32_t k, const char *name,
                             struct ws_model_launch *launch)
{
    const struct ws_ptxas_kernel *kernel = ws_ptxas_find(&job->ptxas, name);
    uint32_t given = ws_spec_registers(spec, k);
    if (given > 0 || !kernel)
        return given;
    if (launch->spill_bytes == 0)
        launch->spill_bytes = kernel->spill_bytes;
    return kernel->registers > LEAST_REGISTERS ? kernel->registers : LEAST_REGISTERS;
}

static int run_launch(struct ws_model_job *job, struct ws_model *model, struct ws_spec *spec, uint32_t k, uint32_t only,
                      const char *folder)
{
    struct sources sources = {.model = model, .folder = folder};
    static uint8_t params[WS_SPEC_PARAMS_MAX];
    char error[WS_MODEL_ERROR_BYTES] = "", name[WS_SPEC_NAME_MAX];
    struct ws_model_launch launch;
    struct ws_progress progress;
    struct ws_model_result result;
    uint32_t registers;
    bool is_cancelled;
    int err = ws_spec_launch(spec, model, k, &launch, params, error);
    if (err)
        return ws_cli_failed(job->command, "launch %u: %s", k, error);
    registers = registers_of(job, spec, k, ws_model_kernel_name(model, launch.kernel), &launch);
    if (only != UINT32_MAX && launch.kernel != only)
        return WS_EXIT_OK;
    set_bounds(job, &progress, &launch);
    ws_spec_short_name(ws_model_kernel_name(model, launch.kernel), name);
    ws_progress_begin(&progress, name, "blocks", job->is_quiet);
    err = ws_model_run(model, &launch, &result);
    ws_progress_end(&progress);
    if (err == -WS_EUNSUP) {
        job->refused++;
        ws_emit_status(job->emit, "model-refused", 1, result.refusal, "measure this kernel on a GPU", 1);
        return ws_cli_failed(job->command, "not modelled: %s", result.refusal);
    }
    if (err)
        return ws_cli_failed(job->command, "%s: %s", name, result.refusal[0] ? result.refusal : ws_err_text(err));
    is_cancelled = result.stop == WS_MODEL_STOP_CANCELLED || ws_interrupt_is_asked();
    if (!is_cancelled && launch.samples_when_cut && result.blocks_run == 0 && result.issues_n == 0) {
        ws_model_result_fini(&result);
        return ws_cli_failed(job->command, "%s: no block ended within the budget", name);
    }
    tell(job, name, &launch, &result);
    if (job->lines)
        print_lines(job->lines, name, &result);
    ws_emit_launch(job->emit, ws_model_kernel_name(model, launch.kernel), &launch, &result, registers);
    ws_emit_instructions(job->emit, ws_model_kernel_name(model, launch.kernel), &launch, &result, find_source,
                         &sources);
    job->modelled++;
    job->sampled += result.is_sampled;
    for (uint32_t n = 0; n < result.issues_n; n++)
        *(result.issues[n].is_hint ? &job->hints : &job->errors) += 1;
    job->seconds += result.seconds;
    err = is_cancelled ? give_up(job, name, &result) : WS_EXIT_OK;
    ws_model_result_fini(&result);
    return err;
}

static int run_all(struct ws_model_job *job, struct ws_model *model, struct ws_spec *spec, const char *folder)
{
    char error[WS_MODEL_ERROR_BYTES] = "";
    uint32_t only = UINT32_MAX;
    int status = WS_EXIT_OK;
    if (job->kernel && ws_spec_find_kernel(model, job->kernel, &only) != 0)
        return ws_cli_failed(job->command, "no single kernel '%s' in the PTX", job->kernel);
    if (ws_spec_prepare(spec, model, error) != 0)
        return ws_cli_failed(job->command, "%s", error);
    if ((job->checks & WS_CHECK_UNINIT) && ws_spec_undefine(spec, model) != 0)
        return ws_cli_failed(job->command, "out of memory");
    for (uint32_t k = 0; k < ws_spec_launches(spec) && !job->is_cancelled; k++) {
        int one = run_launch(job, model, spec, k, only, folder);
        status = one != WS_EXIT_OK ? one : status;
    }
    if (!job->is_cancelled && ws_spec_save(spec, model, error) != 0)
        return ws_cli_failed(job->command, "%s", error);
    return status;
}

static int read_ptx(const struct ws_model_job *job, const struct ws_spec *spec, const char *path, char **ptx,
                    size_t *length)
{
    char error[WS_MODEL_ERROR_BYTES] = "";
    const char *kernel = job->kernel ? job->kernel : ws_spec_kernel(spec, 0);
    if (job->exe) {
        if (ws_model_exe(path, kernel, job->cc, ptx, length, error) == 0)
            return WS_EXIT_OK;
        return ws_cli_failed(job->command, "%s: %s", path, error);
    }
    *ptx = read_file(path, length);
    return *ptx ? WS_EXIT_OK : ws_cli_failed(job->command, "cannot read %s", path);
}

int ws_model_job_spec(struct ws_model_job *job, const char *spec_path, const char *ptx_path)
{
    char folder[WS_PATH_MAX], error[WS_MODEL_ERROR_BYTES] = "";
    struct ws_spec *spec = NULL;
    struct ws_model *model = NULL;
    char *json, *ptx = NULL;
    size_t json_n = 0, ptx_n = 0;
    int status;
    if (ws_path_parent(spec_path, folder) != 0)
        return ws_cli_failed(job->command, "%s: the path is too long", spec_path);
    json = read_file(spec_path, &json_n);
    if (!json)
        return ws_cli_failed(job->command, "cannot read %s", spec_path);
    if (ws_spec_new(json, json_n, folder, &spec, error) != 0) {
        status = ws_cli_failed(job->command, "%s: %s", spec_path, error);
        goto out;
    }
    ptx_path = job->exe ? job->exe : ptx_path ? ptx_path : ws_spec_ptx(spec);
    if (!ptx_path) {
        status = ws_cli_failed(job->command, "no PTX: give --ptx FILE or --exe FILE, or \"ptx\" in the spec");
        goto out;
    }
    status = read_ptx(job, spec, ptx_path, &ptx, &ptx_n);
    if (status != WS_EXIT_OK)
        goto out;
    ask_ptxas(job, spec, ptx, ptx_n);
    if (ws_model_new(ptx, ptx_n, &model, error) != 0)
        status = ws_cli_failed(job->command, "%s: %s", ptx_path, error);
    else if (ws_path_parent(ptx_path, folder) != 0)
        status = ws_cli_failed(job->command, "%s: the path is too long", ptx_path);
    else
        status = run_all(job, model, spec, folder);
out:
    ws_ptxas_fini(&job->ptxas);
    ws_model_free(model);
    ws_spec_free(spec);
    free(ptx);
    free(json);
    return status;
}

/* --- into the spool and the capture --- */

static int write_file(const char *path, const uint8_t *bytes, size_t n, bool force)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0600);
    size_t at = 0;
    if (fd < 0)
        return -1;
    while (at < n) {
        ssize_t put = write(fd, bytes + at, n - at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            break;
        at += (size_t)put;
    }
    return close(fd) == 0 && at == n ? 0 : -1;
}

/* <spool>/<session>/<agent>/00000000.done, as the collector leaves a finished segment. */
static int into_spool(const struct ws_model_job *job, const uint8_t *bytes, size_t n)
{
    char spool[WS_PATH_MAX], folder[WS_PATH_MAX + 80], path[WS_PATH_MAX + 112];
    if (ws_path_spool(spool) != 0)
        return ws_cli_failed(job->command, "the path of the spool is too long");
    if (ws_path_make_private_folder(spool) != 0)
        return ws_cli_failed(job->command, "the spool %s cannot be used", spool);
    snprintf(folder, sizeof folder, "%s/%s/%s", spool, job->agent_id, job->agent_id);
    snprintf(path, sizeof path, "%s/00000000.done", folder);
    if (ws_path_make_folder(folder) != 0 || write_file(path, bytes, n, false) != 0)
        return ws_cli_failed(job->command, "cannot write %s: %s", path, strerror(errno));
    return WS_EXIT_OK;
}

int ws_model_job_close(struct ws_model_job *job, const char *capture_path, bool force)
{
    size_t n = 0;
    const uint8_t *bytes = ws_emit_finish(job->emit, ws_now_ns(), &n);
    int status = WS_EXIT_OK;
    if (!bytes)
        status = ws_cli_failed(job->command, "out of memory");
    if (bytes && capture_path && write_file(capture_path, bytes, n, force) != 0)
        status = ws_cli_failed(job->command, "cannot write %s: %s", capture_path, strerror(errno));
    if (bytes && job->modelled + (job->is_cancelled ? 0 : job->refused) > 0) {
        int stored = into_spool(job, bytes, n);
        status = stored != WS_EXIT_OK ? stored : status;
    }
    ws_emit_free(job->emit);
    job->emit = NULL;
    return status;
}

/* --- the bundled kernels --- */

static bool bundled_folder(char *out, size_t cap)
{
    static const char *const places[] = {"../kernels/ptx", "../../kernels/ptx", "kernels/ptx",
                                         "../lib/warpsight/kernels"};
    char self[WS_PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;
    if (n <= 0)
        return false;
    self[n] = '\0';
    slash = strrchr(self, '/');
    if (!slash)
        return false;
    slash[1] = '\0';
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        char probe[WS_PATH_MAX + 64];
        snprintf(probe, sizeof probe, "%s%s/vec_add.json", self, places[k]);
        if (access(probe, R_OK) == 0)
            return snprintf(out, cap, "%s%s", self, places[k]) < (int)cap;
    }
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The *.json of the folder, sorted; each is freed by the caller. */
static size_t list_specs(const char *folder, char *out[BUNDLED_MAX])
{
    DIR *dir = opendir(folder);
    const struct dirent *e;
    size_t n = 0;
    while (dir && n < BUNDLED_MAX && (e = readdir(dir)) != NULL) {
        size_t length = strlen(e->d_name);
        if (length < 6 || strcmp(e->d_name + length - 5, ".json") != 0)
            continue;
        out[n] = strndup(e->d_name, length - 5);
        n += out[n] != NULL;
    }
    if (dir)
        closedir(dir);
    qsort(out, n, sizeof *out, by_name);
    return n;
}

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (strcmp(names[k], name) == 0)
            return true;
    return false;
}

int ws_model_job_bundled(struct ws_model_job *job, const char *const *names, size_t count)
{
    char folder[WS_PATH_MAX + 64], path[2 * WS_PATH_MAX];
    char *specs[BUNDLED_MAX];
    int status = WS_EXIT_OK;
    size_t n;
    if (!bundled_folder(folder, sizeof folder))
        return ws_cli_failed(job->command, "the bundled kernels (kernels/ptx) are not beside this program");
    n = list_specs(folder, specs);
    for (size_t k = 0; k < n && !job->is_cancelled; k++) {
        int one;
        if (count > 0 && !is_among(specs[k], names, count))
            continue;
        snprintf(path, sizeof path, "%s/%s.json", folder, specs[k]);
        one = ws_model_job_spec(job, path, NULL);
        status = one != WS_EXIT_OK ? one : status;
    }
    for (size_t k = 0; k < count; k++)
        if (!is_among(names[k], (const char *const *)specs, n)) {
            const char *near = ws_cli_nearest(names[k], (const char *const *)specs, n);
            status = ws_cli_failed(job->command, "no bundled kernel '%s'%s%s%s (kernels/ptx has %zu)", names[k],
                                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", n);
        }
    for (size_t k = 0; k < n; k++)
        free(specs[k]);
    return status;
}

int ws_model_job_session(const struct ws_model_job *job, struct ws_store *store, int64_t *id)
{
    if (ws_store_find_token(store, ws_text_of(job->agent_id), id) != 0)
        return ws_cli_failed(job->command, "the session was not stored");
    return WS_EXIT_OK;
}
