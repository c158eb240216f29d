/* SPDX-License-Identifier: MIT
 * lists.h: what `warpsight list` can print beyond its own settings: each list is made by the file that
 * knows its table. Add a list: a line here, a row in cmd_list.c. */
#ifndef WS_SERVER_LISTS_H
#define WS_SERVER_LISTS_H

#include <stdbool.h>

/* Print to stdout, as a table or as JSON {"NAME":[…]}; returns the exit status. */
typedef int ws_list(bool as_json);

ws_list ws_list_sessions;         /* list_sessions.c */
ws_list ws_list_metrics;          /* list_metrics.c */
ws_list ws_list_timeline_metrics; /* list_metrics.c */
ws_list ws_list_rules;            /* cmd_explain.c */
ws_list ws_list_routes;           /* routes.c */

#endif
