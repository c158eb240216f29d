/* SPDX-License-Identifier: MIT
 * log.h: what the server tells a person while it works: one line per event, on stderr, key=value.
 * Never a secret, never a result (those go to stdout). Errors of the command line are cli.h's. */
#ifndef WS_SERVER_LOG_H
#define WS_SERVER_LOG_H

enum ws_log_level {
    WS_ERROR, /* a person must act */
    WS_WARN,  /* data lost or degraded, with a count */
    WS_INFO,  /* life cycle */
    WS_DEBUG,
    WS_LOG_LEVEL_COUNT
};

/* Lines above this level are dropped; WS_WARN until set (the daemon sets WS_INFO). Any thread. */
void ws_log_set_level(enum ws_log_level level);

/* "==WARPSIGHT== warning: store: …": the line is written by one write(), so threads do not mix.
 *   part    the file it comes from, e.g. "ingest"
 *   format  control bytes in the result are shown as '?': log lines may carry foreign text */
void ws_log(enum ws_log_level level, const char *part, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
