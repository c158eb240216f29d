/* SPDX-License-Identifier: MIT
 * cmd_run.c: `warpsight run PROGRAM`: set the collector's environment, run the program, take its spool, report.
 * Needs no daemon; with one, that one takes the spool. Whatever fails around the program, the program runs and its
 * exit status is ours; what could not be done is said on stderr and stands in the report.
 * Read on: run_options.c (command line), child.c (the process), ingest.h (spool to database), cmd_report.c. */
#include "../analyzer/err.h"
#include "../collector/settings.h"
#include "../collector/spool.h"
#include "child.h"
#include "cli.h"
#include "cmd.h"
#include "export.h"
#include "ingest.h"
#include "install.h"
#include "log.h"
#include "names.h"
#include "nearest.h"
#include "paths.h"
#include "report.h"
#include "run_model.h"
#include "run_options.h"
#include "run_watch.h"
#include "target.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOTES 8
#define VARIABLES (WS_RUN_SETTINGS + 6)
#define MESSAGE 600
/* How long a daemon may take until the session is in its database. */
#define DAEMON_WAIT_MS 10000

/* Something that the report must say too. */
struct note {
    const char *code, *remedy; /* static */
    char message[400];
};

struct run {
    struct ws_run_options options;
    char db[WS_PATH_MAX], spool[WS_PATH_MAX];
    char token[33];
    char pid[16];                     /* our own */
    char program[WS_TARGET_PATH_MAX]; /* as it was found; "" when it was not */
    enum ws_target_kind kind;
    char preload[WS_PATH_MAX], collector[WS_PATH_MAX]; /* "" = not installed */
    char ld_preload[3 * WS_PATH_MAX];                  /* value for the child */
    struct ws_run_model model;                         /* with --model */
    struct ws_child_variable variable[VARIABLES];
    size_t variable_count;
    struct note note[NOTES];
    int note_count;
    struct ws_child_end end;
};

/* A line for people on stderr, where the program's lines are too. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "==WARPSIGHT== %s\n", line);
}

/* Say it now, and in the report. */
__attribute__((format(printf, 4, 5))) static void note(struct run *r, const char *code, const char *remedy,
                                                       const char *format, ...)
{
    struct note *n;
    va_list args;
    if (r->note_count == NOTES)
        return;
    n = &r->note[r->note_count++];
    n->code = code;
    n->remedy = remedy;
    va_start(args, format);
    vsnprintf(n->message, sizeof n->message, format, args);
    va_end(args);
    ws_log(WS_WARN, "run", "%s", n->message);
}

/* --- before --- */

/* Paths of ours. 0, or the status to exit with. */
static int find_paths(struct run *r)
{
    char relative[WS_PATH_MAX];
    char here[WS_PATH_MAX];
    int n;
    if (ws_path_db(r->db) != 0 || ws_path_spool(relative) != 0) {
        (void)ws_cli_failed("run", "no place for the database: set WARPSIGHT_DB or HOME");
        return WS_RUN_FAILED;
    }
    /* The program may change its folder before CUDA starts. */
    if (relative[0] == '/')
        n = snprintf(r->spool, sizeof r->spool, "%s", relative);
    else if (getcwd(here, sizeof here))
        n = snprintf(r->spool, sizeof r->spool, "%s/%s", here, relative);
    else
        n = (int)sizeof r->spool;
    if (n < (int)sizeof r->spool)
        return 0;
    (void)ws_cli_failed("run", "the path of the spool is too long");
    return WS_RUN_FAILED;
}

/* The program itself. 0, or the status to exit with. */
static int find_program(struct run *r)
{
    const char *word = r->options.program[0];
    int err = ws_target_find(word, getenv("PATH"), r->program);
    struct ws_target target;
    if (err == -WS_ENOENT) {
        (void)ws_cli_failed("run", "%s: not found", word);
        return WS_RUN_NOT_FOUND;
    }
    if (err != 0) {
        (void)ws_cli_failed("run", "%s: cannot be executed", word);
        return WS_RUN_NOT_EXECUTABLE;
    }
    ws_target_inspect(r->program, &target);
    r->kind = target.kind;
    return 0;
}

static void add_variable(struct run *r, const char *name, const char *value)
{
    if (r->variable_count < VARIABLES)
        r->variable[r->variable_count++] = (struct ws_child_variable){name, value};
}

/* In front of what is preloaded already; a path with a blank or a colon cannot be said there. */
static bool make_ld_preload(struct run *r)
{
    const char *old = getenv("LD_PRELOAD");
    char yield[WS_PATH_MAX + 1] = "";
    if (strpbrk(r->preload, " :"))
        return false;
    if (r->options.does_yield) {
        yield[0] = ':';
        if (ws_install_find(WS_YIELD_NAME, yield + 1, sizeof yield - 1) != 0)
            return false;
    }
    return snprintf(r->ld_preload, sizeof r->ld_preload, "%s%s%s%s", r->preload, yield, old && *old ? ":" : "",
                    old ? old : "") < (int)sizeof r->ld_preload;
}

/* Which way the collector gets into this kind of program, and what to say when there is none. */
static void choose_way_in(struct run *r)
{
    bool is_preloaded = false;
    switch (r->kind) {
    case WS_TARGET_MUSL:
        note(r, "program-musl", "Run the program where glibc is; CUDA itself needs it.",
             "%s is made for musl: it runs as it is, without the collector", r->program);
        return;
    case WS_TARGET_OTHER_MACHINE:
        note(r, "program-other-machine", "Build the program for this machine, 64-bit.",
             "%s is made for another machine or 32-bit: it runs as it is, without the collector", r->program);
        return;
    case WS_TARGET_PRIVILEGED:
        note(r, "program-privileged", "Take the set-user-id bit from a copy, or run as that user.",
             "%s changes its user: the loader keeps the collector out", r->program);
        return;
    case WS_TARGET_STATIC:
        note(r, "program-static", "Link the program dynamically if nothing is seen.",
             "%s is linked statically: only the CUDA driver can load the collector", r->program);
        break;
    default:
        is_preloaded = make_ld_preload(r);
        break;
    }
    if (is_preloaded)
        add_variable(r, "LD_PRELOAD", r->ld_preload);
    else
        add_variable(r, "CUDA_INJECTION64_PATH", r->collector);
    if (r->options.does_yield && !is_preloaded)
        note(r, "yield-impossible", "Run without --yield, or a program that is linked dynamically.",
             "nothing can be preloaded into this program: its own profiler will find CUPTI taken");
}

static void set_collector(struct run *r)
{
    const char *holder = getenv("CUDA_INJECTION64_PATH");
    if (ws_install_find(WS_COLLECTOR_NAME, r->collector, sizeof r->collector) != 0 ||
        ws_install_find(WS_PRELOAD_NAME, r->preload, sizeof r->preload) != 0) {
        note(r, "no-collector", "Build where the CUDA toolkit is, or take the packaged WarpSight.",
             "this WarpSight was built without CUDA: it has no collector, the program runs as it is");
        return;
    }
    if (holder && *holder && strcmp(holder, r->collector) != 0) {
        note(r, "injection-taken", "Unset CUDA_INJECTION64_PATH.",
             "another tool is injected by CUDA_INJECTION64_PATH=%.200s: CUDA loads only one, the collector stays out",
             holder);
        return;
    }
    choose_way_in(r);
}

static void set_model(struct run *r)
{
    add_variable(r, "LD_LIBRARY_PATH", r->model.library_path);
    if (*r->model.registers)
        add_variable(r, "WARPSIGHT_MODEL_REGISTERS", r->model.registers);
}

static void set_variables(struct run *r)
{
    ws_make_id(r->token);
    if (r->options.is_model)
        set_model(r);
    else
        set_collector(r);
    add_variable(r, "WARPSIGHT_SPOOL", r->spool);
    add_variable(r, "WARPSIGHT_SESSION", r->token);
    snprintf(r->pid, sizeof r->pid, "%ld", (long)getpid());
    if (r->options.is_application_only)
        add_variable(r, "WARPSIGHT_ONLY_CHILD_OF", r->pid);
    for (size_t i = 0; i < ws_setting_count && i < WS_RUN_SETTINGS; i++)
        if (r->options.setting[i])
            add_variable(r, ws_setting_table[i].name, r->options.setting[i]);
    if (r->options.is_verbose && !getenv("WARPSIGHT_LOG"))
        add_variable(r, "WARPSIGHT_LOG", "info");
    if (ws_path_make_private_folder(r->spool) != 0)
        note(r, "spool-unusable", "Set WARPSIGHT_SPOOL to a folder of your own.",
             "the spool folder %.200s cannot be used (%s): nothing will be collected", r->spool, strerror(errno));
    for (size_t i = 0; r->options.is_verbose && i < r->variable_count; i++)
        say("%s=%s", r->variable[i].name, r->variable[i].value);
}

/* --- after --- */

static void no_tick(bool is_final)
{
    (void)is_final;
}

/* The program's words with a NUL between them, as the wire has them; cut between words when it must be. */
static size_t join_words(char **word, char *out, size_t cap)
{
    size_t used = 0;
    for (; *word; word++) {
        size_t n = strlen(*word) + 1;
        if (n > cap - used)
            break;
        memcpy(out + used, *word, n);
        used += n;
    }
    return used > 0 ? used - 1 : 0;
}

static const char *setting_of(const struct run *r, const char *variable)
{
    const struct ws_setting *s = ws_setting_find(variable);
    const char *given = s ? r->options.setting[s - ws_setting_table] : NULL;
    return given ? given : getenv(variable);
}

static void spool_record(const struct run *r)
{
    char argv[8192];
    char host[256] = "";
    char exe[PATH_MAX];
    size_t argv_length = join_words(r->options.program, argv, sizeof argv);
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = 0;
    if (!realpath(r->program, exe))
        snprintf(exe, sizeof exe, "%s", r->program);
    (void)ws_spool_run(&(struct ws_rec_run){.session_token = ws_text_of(r->token),
                                            .session_name = ws_text_of(setting_of(r, "WARPSIGHT_NAME")),
                                            .exe = ws_text_of(exe),
                                            .argv = ws_text_n(argv, argv_length),
                                            .started_ns = r->end.started_ns,
                                            .ended_ns = r->end.ended_ns,
                                            .exit_status = (uint32_t)r->end.status,
                                            .signal = (uint32_t)r->end.signal,
                                            .host = ws_text_of(host)});
}

/* Whether a collector wrote anything for this session: the first record of a process makes the folder. */
static bool is_silent(const struct run *r)
{
    char folder[WS_PATH_MAX + sizeof r->token];
    snprintf(folder, sizeof folder, "%s/%s", r->spool, r->token);
    return access(folder, F_OK) != 0;
}

/* The commonest reason why nothing came. Not asked before: the program may bring a driver library of its own. */
static void check_driver(struct run *r)
{
    void *driver = !r->options.is_model && is_silent(r) ? dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) : NULL;
    if (driver)
        dlclose(driver);
    else if (r->options.is_model && is_silent(r) && r->model.needs_cudart)
        note(r, "model-bypassed", "Take -rpath of the CUDA toolkit out of the link line.",
             "the program found another libcudart (RPATH?): the model saw nothing");
    else if (!r->options.is_model && is_silent(r))
        note(r, "no-driver", "Run it where the driver is; `warpsight model` predicts without a GPU.",
             "no process started CUDA, and there is no NVIDIA driver here (libcuda.so.1)");
}

/* What we know of the program, as a segment beside those of its processes. */
static void write_record(const struct run *r)
{
    char agent[33];
    struct ws_spool_config config = {.folder = r->spool,
                                     .session = r->token,
                                     .agent_id = agent,
                                     .started_ns = r->end.started_ns,
                                     .memory_bytes = 4u << 20,
                                     .disk_bytes = 32u << 20,
                                     .flush_ms = 1000,
                                     .tick = no_tick};
    ws_make_id(agent);
    if (ws_spool_init(&config) != 0 || ws_spool_start() != 0)
        return;
    spool_record(r);
    for (int i = 0; i < r->note_count; i++)
        ws_spool_status_now(r->note[i].code, 1, r->note[i].remedy, "%s", r->note[i].message);
    (void)ws_spool_finish(5000);
}

struct facts {
    bool has_exit;
    uint64_t kernels, launches, processes;
};

static int take_facts(void *state, const struct ws_session_row *row)
{
    struct facts *f = state;
    f->has_exit = row->has_exit;
    f->kernels = row->kernels;
    f->launches = row->launches;
    return 0;
}

static int count_process(void *state, const struct ws_process_row *row)
{
    struct facts *f = state;
    (void)row;
    f->processes++;
    return 0;
}

/* The session as it stands in the database, read only. False when it is not there, or not yet complete. */
static bool read_session(const struct run *r, int64_t *session, struct facts *facts)
{
    struct ws_store *store = NULL;
    char message[MESSAGE];
    bool is_complete = false;
    if (ws_store_open(&store, r->db, WS_STORE_READ, message, sizeof message) != 0)
        return false;
    memset(facts, 0, sizeof *facts);
    if (ws_store_find_token(store, ws_text_of(r->token), session) == 0 &&
        ws_store_get_session(store, *session, take_facts, facts) == 0 &&
        ws_store_each_process(store, *session, count_process, facts) == 0)
        is_complete = facts->has_exit;
    ws_store_close(store);
    return is_complete;
}

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&t, NULL);
}

/* Spool into database, by us or by the daemon that holds it. 0, or -WS_E… with a line on stderr. */
static int take_spool(const struct run *r)
{
    struct ws_store *store = NULL;
    struct ws_progress progress;
    struct ws_ingest done;
    struct facts facts;
    char message[MESSAGE] = "";
    int64_t session;
    int err = -WS_EBUSY;
    for (int waited = 0; err == -WS_EBUSY && waited <= DAEMON_WAIT_MS; waited += 50) {
        if (waited > 0)
            pause_ms(50);
        err = ws_store_open(&store, r->db, WS_STORE_WRITE | WS_STORE_MOVE_CORRUPT, message, sizeof message);
        if (err == -WS_EBUSY && read_session(r, &session, &facts))
            return 0; /* the daemon was quicker */
    }
    if (err == 0) {
        ws_progress_begin(&progress, "==WARPSIGHT== storing", "B", false);
        err = ws_ingest_spool(store, r->spool, &progress, &done);
        ws_progress_end(&progress);
        if (err != 0)
            snprintf(message, sizeof message, "%s",
                     *ws_store_message(store) ? ws_store_message(store) : ws_err_text(err));
    }
    ws_store_close(store);
    if (err != 0)
        ws_log(WS_ERROR, "run",
               "the session is not in the database: %s. It stays in the spool; `warpsight report` takes it from there",
               message);
    return err;
}

/* -o: written beside its place and renamed, so that it is whole or not there. */
static int write_capture(const struct run *r, int64_t session)
{
    char beside[WS_RUN_PATH_MAX + 8];
    char message[MESSAGE] = "";
    struct ws_store *store = NULL;
    FILE *out = NULL;
    int err;
    snprintf(beside, sizeof beside, "%s.part", r->options.output);
    err = ws_store_open(&store, r->db, WS_STORE_READ, message, sizeof message);
    if (err == 0) {
        out = fopen(beside, "we");
        err = out ? ws_export_capture_to(store, session, out) : -WS_EIO;
    }
    if (out && fclose(out) != 0 && err == 0)
        err = -WS_EIO;
    ws_store_close(store);
    if (err == 0 && rename(beside, r->options.output) != 0)
        err = -WS_EIO;
    if (err == 0) {
        say("session written to %s", r->options.output);
        return 0;
    }
    if (out)
        (void)unlink(beside);
    ws_log(WS_ERROR, "run", "cannot write %s: %s", r->options.output,
           *message     ? message
           : errno != 0 ? strerror(errno)
                        : ws_err_text(err));
    return err;
}

static void print_report(const struct run *r, int64_t session)
{
    char id[32];
    char *form = r->options.is_json ? "--json" : "--csv";
    char *argv[] = {"report", id, form, NULL};
    snprintf(id, sizeof id, "%" PRId64, session);
    (void)ws_cmd_report(r->options.is_json || r->options.is_csv ? 3 : 2, argv);
    /* Our exit status is the program's, whatever becomes of our own output. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        ws_log(WS_ERROR, "run", "cannot write the report to stdout: %s", strerror(errno));
        clearerr(stdout);
    }
}

/* Nothing at all came from the program: why that may be. */
static void explain_silence(const struct run *r, const struct facts *facts)
{
    if (facts->processes > 0)
        say("CUDA was started, but no kernel was seen");
    else if (r->options.is_model && r->note_count == 0)
        say("no CUDA call reached the model: a program needs `-cudart shared` for that, a library too");
    else if (r->note_count > 0)
        say("no CUDA call was seen: see above");
    else
        say("no CUDA call was seen. If the program does use CUDA: `warpsight doctor`; work handed to a container "
            "(docker "
            "run), another machine (ssh, srun) or a service is not reached; a Python without GPU packages makes no "
            "CUDA call");
}

/* A kernel filter that fits nothing: an empty report without a word would look like a fault of the program. */
static void check_filter(const struct run *r, const struct ws_session *session)
{
    const char *text = setting_of(r, "WARPSIGHT_KERNEL");
    struct ws_nearest near = {.word = text ? text : ""};
    char why[200];
    char list[400];
    struct ws_name_filter *filter = text && *text ? ws_name_filter_new(text, why, sizeof why) : NULL;
    bool is_found = !filter || session->kernel_count == 0;
    for (size_t i = 0; !is_found && i < session->kernel_count; i++) {
        is_found = ws_name_filter_fits(filter, &session->kernels[i].name);
        ws_nearest_offer_kernel(&near, &session->kernels[i].name);
    }
    ws_name_filter_free(filter);
    if (!is_found)
        ws_log(WS_WARN, "run", "no kernel fits --kernel-name %s: none got counters. The nearest names are %s", text,
               ws_nearest_list(&near, list, sizeof list));
}

static void check_session(const struct run *r, int64_t id)
{
    struct ws_store *store = NULL;
    struct ws_session *session = NULL;
    char message[MESSAGE];
    if (ws_store_open(&store, r->db, WS_STORE_READ, message, sizeof message) != 0)
        return;
    if (ws_report_load(store, id, &session) == 0)
        check_filter(r, session);
    ws_report_free(session);
    ws_store_close(store);
}

static void show(struct run *r)
{
    int64_t session;
    struct facts facts;
    bool is_there;
    if (take_spool(r) != 0)
        return;
    is_there = read_session(r, &session, &facts);
    if (!is_there) {
        ws_log(WS_ERROR, "run", "the session did not reach the database %s", r->db);
        return;
    }
    say("session %" PRId64 ": %" PRIu64 " kernel%s, %" PRIu64 " launch%s; the program ended with status %d", session,
        facts.kernels, facts.kernels == 1 ? "" : "s", facts.launches, facts.launches == 1 ? "" : "es", r->end.status);
    if (facts.kernels == 0)
        explain_silence(r, &facts);
    check_session(r, session);
    if (r->options.has_output)
        (void)write_capture(r, session);
    else
        print_report(r, session);
    if (facts.kernels == 0 && r->options.needs_kernels && r->end.status == 0)
        r->end.status = WS_RUN_NO_KERNELS;
}

/* On a terminal a long run says now and then what it has recorded; the model's launches tell themselves. */
static int run_program(struct run *r)
{
    static struct ws_run_watch watch;
    struct ws_child_watch look = {.every_ms = 1000, .look = ws_run_watch_look, .user = &watch};
    int err;
    ws_run_watch_begin(&watch, r->spool, r->token);
    err = ws_child_run_watched(r->options.program, r->variable, r->variable_count,
                               watch.out && !r->options.is_model ? &look : NULL, &r->end);
    ws_run_watch_end(&watch);
    return err;
}

int ws_cmd_run(int argc, char **argv)
{
    static struct run r; /* paths: 60 KiB */
    int status = ws_run_options_read(argc, argv, &r.options);
    int err;
    if (status != -1)
        return status;
    status = find_paths(&r);
    if (status == 0)
        status = find_program(&r);
    if (status == 0 && r.options.is_model && ws_run_model_prepare(&r.model, r.program, r.spool) != 0)
        status = WS_RUN_FAILED;
    if (status != 0)
        return status;
    set_variables(&r);
    fflush(NULL); /* nothing of ours may come out of the program */
    err = run_program(&r);
    if (err != 0) {
        (void)ws_cli_failed("run", "%s: %s", r.options.program[0], strerror(errno));
        return err == -WS_ENOENT ? WS_RUN_NOT_FOUND : err == -WS_EPERM ? WS_RUN_NOT_EXECUTABLE : WS_RUN_FAILED;
    }
    check_driver(&r);
    ws_run_model_end(&r.model);
    write_record(&r);
    show(&r);
    return r.end.status;
}
