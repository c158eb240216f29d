/* SPDX-License-Identifier: MIT
 * nvtx_filter.h: which open NVTX ranges --nvtx-include means. Pure: no NVTX, no I/O; the caller serialises.
 *
 * Expressions, separated by commas; any of them suffices:
 *   NAME         a range of this name in the default domain: start/end, or push/pop anywhere on a thread's stack
 *   NAME/        push/pop only
 *   DOMAIN@NAME  in that domain
 *   A/B          B pushed right above A; with a plus sign as a name between them: above one more range; with an
 *                asterisk: above any number
 *   [A/B         A is the lowest of the stack; A/B]: B is the highest
 *   regex:RE     in place of a name: POSIX extended, matches a part
 * A backslash makes the next character plain. These are Nsight Compute's rules, but that there a NAME without a mark
 * means start/end ranges alone. */
#ifndef WS_COLLECTOR_NVTX_FILTER_H
#define WS_COLLECTOR_NVTX_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#define WS_NVTX_EXPRESSIONS 16
#define WS_NVTX_PARTS 16
#define WS_NVTX_NAME 128 /* bytes of a name that are compared, its NUL included */

enum ws_nvtx_part_kind { WS_NVTX_TEXT, WS_NVTX_REGEX, WS_NVTX_ONE, WS_NVTX_MANY };

struct ws_nvtx_part {
    enum ws_nvtx_part_kind kind;
    char text[WS_NVTX_NAME];
    regex_t regex;
};

struct ws_nvtx_expression {
    char domain[WS_NVTX_NAME]; /* "" = the default domain */
    struct ws_nvtx_part part[WS_NVTX_PARTS];
    size_t part_count;
    bool is_push_only, is_bottom, is_top;
};

struct ws_nvtx_filter {
    struct ws_nvtx_expression expression[WS_NVTX_EXPRESSIONS];
    size_t count;
};

/* Read the text of --nvtx-include. -WS_EINVAL, with why[cap]; what it had is then given back.
 * *out is some 50 KiB: static or heap. Give back with ws_nvtx_filter_fini. */
int ws_nvtx_filter_init(struct ws_nvtx_filter *out, const char *text, char *why, size_t cap);
void ws_nvtx_filter_fini(struct ws_nvtx_filter *filter);

/* Whether a start/end range of this name is meant. domain: "" = the default. */
bool ws_nvtx_filter_fits_range(const struct ws_nvtx_filter *filter, const char *domain, const char *name);

/* Whether a thread's stack of pushed ranges is: domain[count] and name[count], lowest first, of all domains. */
bool ws_nvtx_filter_fits_stack(const struct ws_nvtx_filter *filter, const char *const *domain, const char *const *name,
                               size_t count);

#endif
