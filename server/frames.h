/* SPDX-License-Identifier: MIT
 * frames.h: frames into rows. The only writer of facts into the database; it is fed bytes and touches no file.
 * Foreign bytes may be anything: what cannot be read is booked as LOSS and skipped, never guessed.
 * Read on: ingest.h (spool folders and capture files feed it), collector/wire.def (the records). */
#ifndef WS_SERVER_FRAMES_H
#define WS_SERVER_FRAMES_H

#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ws_frames;

/* What was read so far. */
struct ws_frames_count {
    uint64_t frames;      /* whole, good frames */
    uint64_t records;     /* records of them that became facts */
    uint64_t launches;    /* KERNEL records among them */
    uint64_t lost_frames; /* damaged, cut off or missing by their number */
    uint64_t duplicates;  /* frames skipped: their agent is in the database already */
};

/* A reader of agents' frames.
 *   import   the bytes are a capture: what says "measured" becomes "recorded", and agents or sessions that the
 *            database knows already are skipped
 *   returns  NULL when out of memory; free with ws_frames_free. Not for several threads. */
struct ws_frames *ws_frames_new(struct ws_store *store, bool import);
void ws_frames_free(struct ws_frames *in);

/* A segment begins: the frames that follow are of this agent. Texts of the segment before are forgotten.
 *   token    session token if the place tells it (the spool's folder), else ""
 *   cursor   how far this segment was read before; NULL: not at all, and the agent's numbers go on
 *   errors   of the store */
int ws_frames_segment(struct ws_frames *in, const struct ws_segment_header *header, const char *token,
                      const struct ws_cursor *cursor);

/* Frames of the current segment.
 *   at, length  the bytes that follow what was consumed before
 *   at_end      no bytes will follow, ever: a cut frame is lost, and damage is skipped
 *   is_final    more may follow, but they are all written: damage is skipped, a cut frame is waited for.
 *               Neither: the writer is alive, reading stops at what is not whole or not right
 *   consumed    bytes that need not be shown again. Stops also at a segment header
 *   errors      of the store: then the transaction must be rolled back and *in freed */
int ws_frames_take(struct ws_frames *in, const uint8_t *at, size_t length, bool is_final, bool at_end,
                   size_t *consumed);

/* The same for bytes before the cursor: only the texts are taken, nothing is booked. */
int ws_frames_texts(struct ws_frames *in, const uint8_t *at, size_t length, size_t *consumed);

/* The current agent's writer is gone without BYE: says so in the report. Nothing if BYE was seen. */
int ws_frames_killed(struct ws_frames *in);

/* A capture is at its end: the same as ws_frames_end_segment, and ws_frames_killed for each of its agents. */
int ws_frames_finish(struct ws_frames *in);

/* Write what is held back: activity rows, sums, losses. Before every commit. */
int ws_frames_flush(struct ws_frames *in);

/* The segment is over: flush, and damage that no frame followed is booked. */
int ws_frames_end_segment(struct ws_frames *in);

/* Book frames that were lost before any agent was known, e.g. after a damaged segment header. */
void ws_frames_count_lost(struct ws_frames *in, uint64_t frames);

const struct ws_frames_count *ws_frames_counted(const struct ws_frames *in);
/* Of the current agent. */
uint64_t ws_frames_next_seq(const struct ws_frames *in);
bool ws_frames_saw_bye(const struct ws_frames *in);
/* Agents met, those that were skipped included. */
size_t ws_frames_agents(const struct ws_frames *in);

/* Sessions that got rows: ids[0..*count), lent until the next call. */
const int64_t *ws_frames_sessions(const struct ws_frames *in, size_t *count);
/* With import: sessions that were there before and were left alone. */
const int64_t *ws_frames_known_sessions(const struct ws_frames *in, size_t *count);

#endif
