/* SPDX-License-Identifier: MIT
 * http_load.c: several clients that ask a daemon again and again, each over a connection of its own, and how long the
 * answers took. A client asks its next question when the answer is there: no rest, so that the daemon is never idle.
 * usage: http_load PORT CLIENTS SECONDS PATH…     paths in turn; TOKEN in the environment
 * Prints JSON: requests, errors, and the times in ms. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 1 << 22, ANSWER = 1 << 16 };

struct client {
    pthread_t thread;
    int number;
    float *ms; /* [count], room ROOM */
    size_t count, errors;
    uint64_t bytes;
};

static int port, path_count;
static double until;
static char **paths;
static const char *token;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int connect_to(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int one = 1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) != 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

/* Read one answer: 200 with a Content-Length. False: anything else. */
static bool read_answer(int fd, char *buffer, uint64_t *bytes)
{
    size_t used = 0;
    size_t whole = 0;
    const char *end = NULL;
    while (!end) {
        ssize_t n = read(fd, buffer + used, ANSWER - 1 - used);
        if (n <= 0)
            return false;
        used += (size_t)n;
        buffer[used] = 0;
        end = strstr(buffer, "\r\n\r\n");
    }
    if (strncmp(buffer, "HTTP/1.1 200", 12) != 0 || !strcasestr(buffer, "content-length:"))
        return false;
    whole = (size_t)(end - buffer) + 4 + strtoull(strcasestr(buffer, "content-length:") + 15, NULL, 10);
    *bytes += whole;
    while (used < whole) {
        ssize_t n = read(fd, buffer, whole - used < ANSWER ? whole - used : ANSWER);
        if (n <= 0)
            return false;
        used += (size_t)n;
    }
    return true;
}

static void *run(void *state)
{
    struct client *c = state;
    char *buffer = malloc(ANSWER);
    char ask[1024];
    int fd = connect_to();
    for (int i = c->number; now() < until && c->count < ROOM; i++) {
        double start = now();
        int n = snprintf(ask, sizeof ask, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n\r\n",
                         paths[i % path_count], port, token);
        if (fd >= 0 && write(fd, ask, (size_t)n) == n && read_answer(fd, buffer, &c->bytes)) {
            c->ms[c->count++] = (float)((now() - start) * 1e3);
            continue;
        }
        c->errors++;
        close(fd);
        fd = connect_to();
    }
    close(fd);
    free(buffer);
    return NULL;
}

static int by_ms(const void *a, const void *b)
{
    const float *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
    int clients = argc > 4 ? atoi(argv[2]) : 0;
    struct client *all = calloc((size_t)(clients > 0 ? clients : 1), sizeof *all);
    float *ms;
    size_t count = 0, errors = 0;
    uint64_t bytes = 0;
    if (clients <= 0 || clients > 64 || !all) {
        fprintf(stderr, "usage: http_load PORT CLIENTS SECONDS PATH…\n");
        return 2;
    }
    port = atoi(argv[1]);
    until = now() + atof(argv[3]);
    paths = argv + 4;
    path_count = argc - 4;
    token = getenv("TOKEN") ? getenv("TOKEN") : "";
    for (int i = 0; i < clients; i++) {
        all[i].number = i;
        all[i].ms = malloc(ROOM * sizeof(float));
        if (!all[i].ms || pthread_create(&all[i].thread, NULL, run, &all[i]) != 0)
            return 1;
    }
    for (int i = 0; i < clients; i++) {
        pthread_join(all[i].thread, NULL);
        count += all[i].count;
        errors += all[i].errors;
        bytes += all[i].bytes;
    }
    ms = malloc((count + 1) * sizeof *ms);
    if (!ms)
        return 1;
    count = 0;
    for (int i = 0; i < clients; i++) {
        memcpy(ms + count, all[i].ms, all[i].count * sizeof *ms);
        count += all[i].count;
        free(all[i].ms);
    }
    qsort(ms, count, sizeof *ms, by_ms);
    printf("{\"requests\":%zu,\"errors\":%zu,\"bytes\":%llu,\"p50\":%.3f,\"p90\":%.3f,\"p99\":%.3f,\"max\":%.3f}\n",
           count, errors, (unsigned long long)bytes, count ? ms[count / 2] : 0, count ? ms[count * 9 / 10] : 0,
           count ? ms[count * 99 / 100] : 0, count ? ms[count - 1] : 0);
    free(ms);
    free(all);
    return 0;
}
