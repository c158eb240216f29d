/* SPDX-License-Identifier: MIT
 * control.h: how a running process is told to start, stop or flush: two small files in its folder of the spool.
 *   control.ask    one command, put there whole (linked from a file of another name) by whoever wants something
 *   control.state  what the process does now, and its last answers; written beside its place and renamed
 * The collector's own thread looks for control.ask each time it wakes (flush period, 50 ms): one open() that fails.
 * Files and no socket: the folder's rights (0700) are the whole protection, there is no descriptor for the program to
 * close or to inherit, nothing listens, a stopped process is told when it goes on, and a spool folder that a container
 * shares works from outside. Who is meant is said by the agent id in the path, never by a process id.
 * Texts only, no CUDA, no allocation: the server links the same object.
 * Read on: collection.h (what a command does), server/ctl.h (the asking side). */
#ifndef WS_COLLECTOR_CONTROL_H
#define WS_COLLECTOR_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_CONTROL_ASK "control.ask"
#define WS_CONTROL_STATE "control.state"
#define WS_CONTROL_BYTES 32768u /* of either file: a list of metrics may be long */
#define WS_CONTROL_CHANGES 16
#define WS_CONTROL_ANSWERS 8 /* of so many commands: askers may meet */
#define WS_CONTROL_TEXT 240

enum ws_control_verb { WS_CONTROL_START, WS_CONTROL_STOP, WS_CONTROL_FLUSH, WS_CONTROL_STATUS, WS_CONTROL_VERBS };

/* One command. Texts point into the buffer that was parsed. */
struct ws_control_command {
    char id[33]; /* 32 hex digits: the answer bears it */
    enum ws_control_verb verb;
    int64_t duration_ms; /* start: stop again after so long; 0 = no limit */
    struct {
        const char *name, *value; /* WARPSIGHT_SET, "core" */
    } change[WS_CONTROL_CHANGES];
    size_t change_count;
};

struct ws_control_answer {
    char id[33];
    bool is_refused;
    char text[WS_CONTROL_TEXT];
};

/* What control.state says. */
struct ws_control_state {
    bool is_on;
    int64_t since_ns;
    int64_t until_ns; /* collection ends by itself then; 0 = no limit */
    char reason[32];  /* as in COLLECTION records */
    struct ws_control_answer answer[WS_CONTROL_ANSWERS];
    size_t answer_count; /* oldest first */
    char settings[8192]; /* NAME=value, NUL between them */
    size_t settings_length;
};

/* "start", …; and back: WS_CONTROL_VERBS when the word is none. */
const char *ws_control_verb_name(enum ws_control_verb verb);
enum ws_control_verb ws_control_verb_find(const char *word);

/* Read a command from text[n], which is changed. -WS_ECORRUPT, with why[cap], for anything that is no command of this
 * version; the id is then there if it could be read. Names and values are not judged here. */
int ws_control_parse(char *text, size_t n, struct ws_control_command *out, char *why, size_t cap);

/* The text of a command into out[cap]; its length, or 0 when it does not fit or a value has a line break. */
size_t ws_control_format(const struct ws_control_command *command, char *out, size_t cap);

/* The same for the state. Parsing is lenient: what is not understood is left out. */
int ws_control_parse_state(char *text, size_t n, struct ws_control_state *out);
size_t ws_control_format_state(const struct ws_control_state *state, char *out, size_t cap);

/* The content of folder/name into out[cap] with a NUL behind it, when it is a file of ours (or root's) and no link.
 *   errors  -WS_ENOENT, -WS_EPERM (somebody else's, or no plain file), -WS_ELIMIT (larger than cap), -WS_EIO */
int ws_control_read_file(const char *folder, const char *name, char *out, size_t cap, size_t *n);

/* Write beside folder/name and rename. tag tells writers apart. -WS_EIO. */
int ws_control_write_file(const char *folder, const char *name, const char *tag, const char *text, size_t n);

#endif
