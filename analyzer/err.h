/* SPDX-License-Identifier: MIT
 * err.h: the error codes every part of WarpSight returns (negated), and their texts.
 * One list. A function returns 0 or -WS_E…; a number never carries an error (value.h does that).
 * Add a code: one row in WS_ERR_LIST. */
#ifndef WS_ANALYZER_ERR_H
#define WS_ANALYZER_ERR_H

/* X(symbol, value, text). The values are stable: tests and logs name them. */
#define WS_ERR_LIST(X)                              \
    X(WS_EINVAL, 1, "invalid argument")             \
    X(WS_EUNSUP, 2, "not supported")                \
    X(WS_ENOENT, 3, "not found")                    \
    X(WS_ENOMEM, 4, "out of memory")                \
    X(WS_EIO, 5, "input/output error")              \
    X(WS_ESHORT, 6, "input ends too early")         \
    X(WS_ECORRUPT, 7, "corrupt input")              \
    X(WS_ELIMIT, 8, "limit exceeded")               \
    X(WS_ESYNTAX, 9, "syntax error")                \
    X(WS_EDIMENSION, 10, "units do not agree")      \
    X(WS_ECYCLE, 11, "definition refers to itself") \
    X(WS_EBUSY, 12, "busy")                         \
    X(WS_EEXIST, 13, "exists already")              \
    X(WS_EPERM, 14, "not permitted")                \
    X(WS_EVERSION, 15, "made by an unknown version")

enum ws_err {
    WS_OK = 0,
#define WS_ERR_ENUM(sym, val, text) sym = (val),
    WS_ERR_LIST(WS_ERR_ENUM)
#undef WS_ERR_ENUM
};

/* The text of an error code, for people; accepts the code or its negation. Never NULL. */
const char *ws_err_text(int code);

#endif
