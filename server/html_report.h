/* SPDX-License-Identifier: MIT
 * html_report.h: `report --html`: the page of the daemon with one session inside, as one file that opens
 * from disk and asks nobody for anything. */
#ifndef WS_SERVER_HTML_REPORT_H
#define WS_SERVER_HTML_REPORT_H

#include "report.h"
#include "store.h"

#include <stdio.h>

/* Write the file.
 *   sources  a session with the kernels whose lines are kept, with their text and what they cost; NULL: none
 *   errors  -WS_EUNSUP  the program was built without its page, or web/dist/index.html has another form
 *           -WS_ENOMEM; of the store. Write errors are the caller's to find (ferror) */
int ws_html_report(struct ws_store *store, const struct ws_session *session, const struct ws_session *sources,
                   FILE *out);

#endif
