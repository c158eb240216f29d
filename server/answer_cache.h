/* SPDX-License-Identifier: MIT
 * answer_cache.h: texts of recent answers by request target and ETag: several tabs, or one that asks again, cost one
 * computation a revision. */
#ifndef WS_SERVER_ANSWER_CACHE_H
#define WS_SERVER_ANSWER_CACHE_H

#include "api.h"

/* Write the kept text of call->request->target with call->etag into the call; false: there is none. */
bool ws_answer_cache_take(struct ws_call *call);

/* Keep the text of a finished call, if it is a whole answer that an ETag names. */
void ws_answer_cache_keep(struct ws_call *call);

#endif
