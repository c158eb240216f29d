/* SPDX-License-Identifier: MIT
 * err.c: the text of each error code. The list itself is in err.h. */
#include "err.h"

const char *ws_err_text(int code)
{
    switch (code < 0 ? -(long)code : (long)code) { /* long: the least int has no negation */
    case WS_OK:
        return "no error";
#define WS_ERR_CASE(sym, val, text) \
    case sym:                       \
        return text;
        WS_ERR_LIST(WS_ERR_CASE)
#undef WS_ERR_CASE
    default:
        return "unknown error";
    }
}
