/* SPDX-License-Identifier: MIT
 * pq.h: libpq, opened when `warpsight push` needs it: nothing else does, so nothing else depends on it.
 * Add a function: a row in WS_PQ_FUNCTIONS; call it as ws_pq.PQ…(…). */
#ifndef WS_SERVER_PQ_H
#define WS_SERVER_PQ_H

#include <stdbool.h>
#include <stddef.h>

#if __has_include(<libpq-fe.h>)
#define WS_HAVE_PQ 1
#include <libpq-fe.h>

#define WS_PQ_FUNCTIONS(X) \
    X(PQconnectdbParams)   \
    X(PQstatus)            \
    X(PQerrorMessage)      \
    X(PQfinish)            \
    X(PQexec)              \
    X(PQexecParams)        \
    X(PQresultStatus)      \
    X(PQresultErrorField)  \
    X(PQntuples)           \
    X(PQgetvalue)          \
    X(PQclear)             \
    X(PQputCopyData)       \
    X(PQputCopyEnd)        \
    X(PQgetResult)         \
    X(PQsetNoticeProcessor)

struct ws_pq_functions {
#define WS_PQ_MEMBER(name) __typeof__(name) *name;
    WS_PQ_FUNCTIONS(WS_PQ_MEMBER)
#undef WS_PQ_MEMBER
};
extern struct ws_pq_functions ws_pq;
#endif

/* False: message [cap] says what to install. */
bool ws_pq_open(char *message, size_t cap);

#endif
