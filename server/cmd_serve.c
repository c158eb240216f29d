/* SPDX-License-Identifier: MIT
 * cmd_serve.c: `warpsight serve`: the daemon. Takes the database and the socket, or says in one line why not;
 * then waits for signals. SIGTERM and SIGINT end it within 2 s, SIGHUP opens the log file anew.
 * Read on: daemon.c (ingest), http.c (the socket), routes.def (what it answers). */
#include "../analyzer/err.h"
#include "cli.h"
#include "cmd.h"
#include "daemon.h"
#include "dbfile.h"
#include "http.h"
#include "log.h"
#include "serve_state.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ALLOWED_MAX = 8, GRACE_MS = 700, END_MS = 1700 };

struct serve {
    struct ws_daemon daemon;
    const char *db, *log;
    char address[64];
    uint16_t port;
    const char *hosts[ALLOWED_MAX + 4];
    size_t host_count, allowed;
    char own_host[66];
    bool no_token, open, background, stop;
    int ready; /* the starting process waits at its other end; -1 = none */
    char db_path[WS_PATH_MAX];
    char log_path[WS_PATH_MAX + 8];
};

static const struct ws_option options[] = {
    {"listen", 0, "ADDR:PORT", "where to answer (127.0.0.1:7750); port 0: any that is free"},
    {"db", 0, "FILE", "database ($WARPSIGHT_DB, else warpsight.db in the data folder)"},
    {"no-token", 0, NULL, "let every user of this machine in; on loopback only"},
    {"allow-host", 0, "NAME", "answer under this host name too; may be given up to 8 times"},
    {"open", 0, NULL, "open the page in a browser"},
    {"background", 0, NULL, "return when it answers; say how to stop it"},
    {"stop", 0, NULL, "end the daemon of this database"},
    {"log", 0, "FILE", "log there instead of stderr; SIGHUP opens it anew"},
    {NULL, 0, NULL, NULL},
};
enum { OPT_LISTEN, OPT_DB, OPT_NO_TOKEN, OPT_ALLOW_HOST, OPT_OPEN, OPT_BACKGROUND, OPT_STOP, OPT_LOG };

/* --- command line --- */

/* ADDR:PORT, [ADDR]:PORT, localhost:PORT. */
static bool parse_listen(struct serve *s, const char *text)
{
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    long long port;
    if (!colon || n == 0 || !ws_cli_integer(colon + 1, 0, 65535, &port))
        return false;
    if (text[0] == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
    }
    if (n >= sizeof s->address)
        return false;
    memcpy(s->address, text, n);
    s->address[n] = 0;
    if (strcmp(s->address, "localhost") == 0)
        snprintf(s->address, sizeof s->address, "127.0.0.1");
    s->port = (uint16_t)port;
    return true;
}

static bool is_host_name(const char *text)
{
    size_t n = strlen(text);
    return n > 0 && n < 254 && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == n;
}

static int take_option(struct serve *s, int option, const char *value)
{
    switch (option) {
    case OPT_LISTEN:
        if (!parse_listen(s, value))
            return ws_cli_usage_error("serve", "--listen wants ADDR:PORT, not '%s'", value);
        break;
    case OPT_DB:
        s->db = value;
        break;
    case OPT_NO_TOKEN:
        s->no_token = true;
        break;
    case OPT_ALLOW_HOST:
        if (!is_host_name(value) || s->allowed == ALLOWED_MAX)
            return ws_cli_usage_error("serve", "--allow-host wants a host name, up to %d times", ALLOWED_MAX);
        s->hosts[s->host_count++] = value;
        s->allowed++;
        break;
    case OPT_OPEN:
        s->open = true;
        break;
    case OPT_BACKGROUND:
        s->background = true;
        break;
    case OPT_STOP:
        s->stop = true;
        break;
    case OPT_LOG:
        s->log = value;
        break;
    default:
        return ws_cli_usage_error("serve", "unexpected '%s'", value);
    }
    return WS_EXIT_OK;
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

/* 0: go on; -1: help was printed; else a status to exit with. */
static int parse(struct serve *s, int argc, char **argv)
{
    struct ws_cli cli = {.usage = "[options]",
                         .about = "Stores what running programs record, and shows it at a local URL.",
                         .options = options,
                         .argc = argc,
                         .argv = argv};
    const char *value;
    int found;
    while ((found = ws_cli_next(&cli, &value)) != WS_CLI_END) {
        if (found == WS_CLI_HELP)
            return -1;
        if (found == WS_CLI_ERROR || take_option(s, found, value) != WS_EXIT_OK)
            return WS_EXIT_USAGE;
    }
    if (s->no_token && !is_loopback(s->address))
        return ws_cli_usage_error("serve", "--no-token is for loopback addresses only, not %s", s->address);
    return WS_EXIT_OK;
}

/* --- paths, log --- */

static int find_db(struct serve *s)
{
    char path[WS_PATH_MAX];
    char message[WS_PATH_MAX + 128];
    bool exists;
    if (s->db)
        snprintf(path, sizeof path, "%s", s->db);
    else if (ws_path_db(path) != 0)
        return ws_cli_failed("serve", "no place for a database: set WARPSIGHT_DB or use --db FILE");
    if (ws_dbfile_resolve(path, !s->stop, s->db_path, &exists, message, sizeof message) != 0)
        return ws_cli_failed("serve", "%s", message);
    if (ws_path_spool(s->daemon.spool) != 0)
        return ws_cli_failed("serve", "the path of the spool is too long");
    return WS_EXIT_OK;
}

/* Point stderr at the log file. */
static int open_log(const struct serve *s)
{
    int fd = open(s->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return ws_cli_failed("serve", "cannot open the log %s: %s", s->log_path, strerror(errno));
    dup2(fd, STDERR_FILENO);
    close(fd);
    return WS_EXIT_OK;
}

/* --- start --- */

static void set_hosts(struct serve *s)
{
    struct ws_http_policy *p = &s->daemon.policy;
    s->hosts[s->host_count++] = "localhost";
    s->hosts[s->host_count++] = "127.0.0.1";
    s->hosts[s->host_count++] = "[::1]";
    snprintf(s->own_host, sizeof s->own_host, strchr(s->address, ':') ? "[%s]" : "%s", s->address);
    s->hosts[s->host_count++] = s->own_host;
    p->hosts = s->hosts;
    p->host_count = s->host_count;
}

static int busy(const struct serve *s, const char *message)
{
    struct ws_serve_state other;
    if (ws_serve_state_find(s->db_path, &other))
        return ws_cli_failed("serve", "the daemon with pid %ld serves %s already, at %.*s", (long)other.pid, s->db_path,
                             (int)strcspn(other.url, "?"), other.url);
    return ws_cli_failed("serve", "%s", message);
}

static int open_database(struct serve *s)
{
    struct ws_daemon *d = &s->daemon;
    char message[WS_PATH_MAX + 256];
    int err;
    snprintf(d->db, sizeof d->db, "%s", s->db_path);
    err = ws_daemon_open(d, message, sizeof message);
    if (err == -WS_EBUSY)
        return busy(s, message);
    if (err == 0 && !s->no_token)
        err = ws_daemon_load_token(d, message, sizeof message);
    return err == 0 ? WS_EXIT_OK : ws_cli_failed("serve", "%s", message);
}

static int open_socket(struct serve *s, int *fd)
{
    struct ws_daemon *d = &s->daemon;
    char message[256];
    int err = ws_http_listen(s->address, s->port, fd, &d->policy.port, message, sizeof message);
    if (err == -WS_EINVAL)
        return ws_cli_usage_error("serve", "--listen: %s", message);
    if (err == -WS_EEXIST)
        return ws_cli_failed("serve", "%s; choose another with --listen %s:PORT", message, s->own_host);
    if (err != 0)
        return ws_cli_failed("serve", "%s", message);
    snprintf(d->url, sizeof d->url, "http://%s:%u", s->own_host, (unsigned)d->policy.port);
    return WS_EXIT_OK;
}

/* The URL goes to the browser by a file that only we can read: a command line is seen by everyone. */
static void open_browser(const struct serve *s, const char *url)
{
    char text[512];
    char path[WS_PATH_MAX + 16];
    pid_t pid;
    snprintf(text, sizeof text,
             "<!doctype html><meta charset=\"utf-8\"><title>WarpSight</title>"
             "<meta http-equiv=\"refresh\" content=\"0;url=%s\"><a href=\"%s\">WarpSight</a>\n",
             url, url);
    snprintf(path, sizeof path, "%s.open.html", s->db_path);
    if (ws_serve_side_file(s->db_path, ".open.html", text) != 0) {
        ws_log(WS_WARN, "serve", "cannot write %s: open the URL by hand", path);
        return;
    }
    pid = fork();
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (fork() == 0) { /* not our child: nobody waits for it */
            execlp("xdg-open", "xdg-open", path, (char *)NULL);
            ws_log(WS_WARN, "serve", "cannot start xdg-open: open the URL by hand");
        }
        _exit(0);
    }
    if (pid > 0)
        waitpid(pid, NULL, 0);
}

/* Say where we are: to the starting process, or on stdout. */
static void announce(struct serve *s)
{
    struct ws_daemon *d = &s->daemon;
    char url[192];
    snprintf(url, sizeof url, "%s/%s%s", d->url, *d->token ? "?token=" : "", d->token);
    if (ws_serve_state_write(s->db_path, url) != 0)
        ws_log(WS_WARN, "serve", "cannot write %s.serve: `serve --stop` will not find this daemon", s->db_path);
    if (!is_loopback(s->address))
        ws_log(WS_WARN, "serve",
               "answers on %s: whoever gets the token over this unencrypted line reads all sessions; "
               "safer: ssh -L 7750:127.0.0.1:7750 HOST",
               s->address);
    if (s->ready >= 0) {
        dprintf(s->ready, "%s\n", url);
        close(s->ready);
    } else {
        printf("%s\n", url);
        fflush(stdout);
    }
    ws_log(WS_INFO, "serve", "pid=%ld listens on %s", (long)getpid(), d->url);
    if (s->open)
        open_browser(s, url);
}

/* --- run and end --- */

static void *end_anyway(void *state)
{
    struct timespec pause = {END_MS / 1000, END_MS % 1000 * 1000000L};
    (void)state;
    nanosleep(&pause, NULL);
    /* What is committed is safe, and the rest is still in the spool. */
    ws_log(WS_WARN, "serve", "still busy: ended without waiting");
    _exit(0);
}

static void wait_for_end(const struct serve *s, const sigset_t *signals)
{
    int got;
    for (;;) {
        if (sigwait(signals, &got) != 0 || got == SIGTERM || got == SIGINT)
            return;
        if (got == SIGHUP && s->log_path[0] && open_log(s) == WS_EXIT_OK)
            ws_log(WS_INFO, "serve", "log opened anew");
    }
}

static void end(struct serve *s, struct ws_http *http)
{
    pthread_t watch;
    if (pthread_create(&watch, NULL, end_anyway, NULL) == 0)
        pthread_detach(watch);
    ws_log(WS_INFO, "serve", "ends");
    ws_daemon_interrupt(&s->daemon);
    ws_http_stop(http, GRACE_MS);
    ws_daemon_stop(&s->daemon);
    ws_serve_state_remove(s->db_path);
    ws_daemon_close(&s->daemon);
}

/* A daemon runs for weeks: what a long session took goes back to the system when it is freed. By default glibc raises
 * the size from which it does so to the largest freed so far, and gives each thread a heap. The few megabytes that
 * answers take stay: giving them back each time makes the kernels page three times slower (page faults). */
static void tame_heap(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 4 << 20);
    (void)mallopt(M_ARENA_MAX, 4);
}

static int serve(struct serve *s)
{
    struct ws_http *http = NULL;
    sigset_t signals;
    int fd = -1;
    int status;
    tame_heap();
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* threads inherit it: only sigwait sees them */
    set_hosts(s);
    status = open_database(s);
    if (status == WS_EXIT_OK)
        status = open_socket(s, &fd);
    if (status == WS_EXIT_OK && s->log_path[0])
        status = open_log(s);
    if (status == WS_EXIT_OK && (ws_daemon_start(&s->daemon) != 0 || ws_http_start(&http, &s->daemon, fd) != 0))
        status = ws_cli_failed("serve", "cannot start threads: %s", strerror(errno));
    if (status == WS_EXIT_OK) {
        announce(s);
        wait_for_end(s, &signals);
        end(s, http);
        return WS_EXIT_OK;
    }
    ws_daemon_interrupt(&s->daemon);
    ws_daemon_stop(&s->daemon);
    ws_daemon_close(&s->daemon);
    return status;
}

/* --- in the background --- */

static void detach(struct serve *s, int ready)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    s->ready = ready;
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    /* stderr stays until the log is open: complaints about the start belong to whoever started us. */
    if (!s->log)
        snprintf(s->log_path, sizeof s->log_path, "%s.log", s->db_path);
}

static int wait_until_ready(const struct serve *s, int ready, pid_t child)
{
    char url[256];
    size_t n = 0;
    ssize_t got;
    int status = 0;
    while (n + 1 < sizeof url && (got = read(ready, url + n, sizeof url - 1 - n)) > 0)
        n += (size_t)got;
    url[n] = 0;
    if (n == 0) {
        waitpid(child, &status, 0);
        return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : WS_EXIT_FAILED;
    }
    printf("%sto stop it: warpsight serve --stop%s%s\n", url, s->db ? " --db " : "", s->db ? s->db : "");
    return WS_EXIT_OK;
}

static int serve_in_background(struct serve *s)
{
    int ends[2];
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return ws_cli_failed("serve", "cannot make a pipe: %s", strerror(errno));
    fflush(NULL);
    child = fork();
    if (child < 0)
        return ws_cli_failed("serve", "cannot fork: %s", strerror(errno));
    if (child == 0) {
        close(ends[0]);
        detach(s, ends[1]);
        return serve(s);
    }
    close(ends[1]);
    return wait_until_ready(s, ends[0], child);
}

static int stop(const struct serve *s)
{
    int err = ws_serve_state_stop(s->db_path);
    if (err == -WS_ENOENT)
        return ws_cli_failed("serve", "no daemon serves %s", s->db_path);
    if (err != 0)
        return ws_cli_failed("serve", "the daemon of %s does not end: %s", s->db_path, ws_err_text(err));
    printf("stopped\n");
    return WS_EXIT_OK;
}

int ws_cmd_serve(int argc, char **argv)
{
    struct serve *s = calloc(1, sizeof *s);
    int status;
    if (!s)
        return ws_cli_failed("serve", "out of memory");
    s->ready = -1;
    parse_listen(s, "127.0.0.1:7750");
    status = parse(s, argc, argv);
    if (status == WS_EXIT_OK)
        status = find_db(s);
    if (s->log)
        snprintf(s->log_path, sizeof s->log_path, "%s", s->log);
    if (status == WS_EXIT_OK) {
        ws_log_set_level(WS_INFO);
        status = s->stop ? stop(s) : s->background ? serve_in_background(s) : serve(s);
    }
    free(s);
    return status < 0 ? WS_EXIT_OK : status;
}
