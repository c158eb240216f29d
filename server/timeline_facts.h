/* SPDX-License-Identifier: MIT
 * timeline_facts.h: the facts that the timeline rules W30 to W40 judge, from a session's activity and host records.
 * One GPU of one process is looked at: the busiest. Facts whose records were not collected say so.
 * Read on: analyzer/timeline.h (what each fact is), analyzer/rules/w30_*.c … (who reads them). */
#ifndef WS_SERVER_TIMELINE_FACTS_H
#define WS_SERVER_TIMELINE_FACTS_H

#include "../analyzer/timeline.h"
#include "report.h"
#include "store.h"

/* CUPTI numbers a context's null stream 7: the legacy default stream, which waits for all and lets all wait. */
#define WS_LEGACY_STREAM 7u

/* Fill *out.
 *   session  loaded: kernels, devices and processes are used
 *   errors   -WS_ENOMEM, of the store. A session without device work is none: all facts are then missing */
int ws_timeline_facts_load(struct ws_store *store, const struct ws_session *session, struct ws_timeline_facts *out);

#endif
