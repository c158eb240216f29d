/* SPDX-License-Identifier: MIT
 * settings.h: the settings of settings.def, read once from the environment and copied.
 * The only place in the collector that looks at the environment (lint checks it): a background
 * thread that called getenv would race with the program's own setenv.
 * Add a setting: one row in settings.def. Read on: settings.c. */
#ifndef WS_COLLECTOR_SETTINGS_H
#define WS_COLLECTOR_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All texts of one process. --metrics lists are the long ones: 60 CUPTI names are some 4 KiB. */
#define WS_SETTINGS_BYTES (32u * 1024u)
#define WS_SETTINGS_COMPLAINTS 16

enum ws_setting_type { WS_SETTING_TYPE_TEXT, WS_SETTING_TYPE_INT, WS_SETTING_TYPE_ENUM };

/* Values of the ENUM members, in the order of settings.def (a unit test holds them together). */
enum ws_name_base { WS_NAME_FUNCTION, WS_NAME_DEMANGLED, WS_NAME_MANGLED };
enum ws_replay_mode { WS_REPLAY_AUTO, WS_REPLAY_KERNEL, WS_REPLAY_ROTATE, WS_REPLAY_NONE };
enum ws_stalls_setting { WS_STALLS_COUNTERS, WS_STALLS_PC };
enum ws_timeline_start_setting { WS_TIMELINE_START_BESIDE, WS_TIMELINE_START_FIRST };
enum ws_start_setting { WS_START_NOW, WS_START_IDLE, WS_START_API };
enum ws_log_setting { WS_LOG_OFF, WS_LOG_ERROR, WS_LOG_WARN, WS_LOG_INFO, WS_LOG_DEBUG };

/* One row of settings.def. */
struct ws_setting {
    const char *field;   /* "flush_ms" */
    const char *name;    /* "WARPSIGHT_FLUSH_MS" */
    const char *text;    /* TEXT: the default, else "" */
    const char *choices; /* ENUM: "auto|kernel|rotate|none", else "" */
    const char *option;  /* option of `warpsight run`, or "" */
    const char *doc;
    int64_t value;       /* INT: the default; ENUM: its index */
    int64_t least, most; /* INT */
    size_t offset;       /* of the member in struct ws_settings */
    enum ws_setting_type type;
};

/* A value that was refused. */
struct ws_complaint {
    const char *name;  /* static: the variable */
    char message[200]; /* "WARPSIGHT_FLUSH_MS=abc is not a whole number from 5 to 10000; 50 is used" */
};

struct ws_settings {
#define WS_SETTING_TEXT(field, name, text, option, doc) const char *field;
#define WS_SETTING_INT(field, name, value, least, most, option, doc) int64_t field;
#define WS_SETTING_ENUM(field, name, value, choices, option, doc) int field;
#include "settings.def"
#undef WS_SETTING_TEXT
#undef WS_SETTING_INT
#undef WS_SETTING_ENUM

    /* What else the collector wants from the environment; "" = not set. */
    const char *spool_dir; /* WARPSIGHT_SPOOL, else $XDG_RUNTIME_DIR/warpsight, else /tmp/warpsight-UID */
    const char *cuda_home; /* CUDA_HOME */
    const char *cuda_path; /* CUDA_PATH */
    const char *rank;      /* "OMPI_COMM_WORLD_RANK=3": the first rank variable that is set */
    const char *injection; /* CUDA_INJECTION64_PATH */

    /* Set-user-id and the like: nothing was read, all is default, and the collector stays inert. */
    bool is_secure;

    uint32_t complaint_count; /* those that are kept in complaint[] */
    struct ws_complaint complaint[WS_SETTINGS_COMPLAINTS];

    uint32_t used; /* bytes of arena */
    char arena[WS_SETTINGS_BYTES];
};

/* The rows of settings.def, in order. */
extern const struct ws_setting ws_setting_table[];
extern const size_t ws_setting_count;

/* Looks up a variable; NULL = not set. The result need only live until the next call. */
typedef const char *ws_settings_lookup(void *state, const char *name);

/* Read every setting from the environment of this process (secure_getenv), copied into *out.
 *   errors  none: what does not fit is the default and a complaint
 *   thread  call once, from the thread that loads the collector; *out is some 36 KiB: static or heap */
void ws_settings_read(struct ws_settings *out);

/* The same from any source; for tests, and for `warpsight run`, which looks into the child's environment. */
void ws_settings_read_from(struct ws_settings *out, ws_settings_lookup *lookup, void *state);

/* Whether a setting takes this value.
 *   why     [cap] receives "is not a whole number from 5 to 10000" and the like
 *   errors  -WS_EINVAL */
int ws_setting_check(const struct ws_setting *setting, const char *value, char *why, size_t cap);

/* Give a setting another value, when the program runs already.
 *   why     [cap] receives the reason
 *   errors  -WS_EINVAL: the value does not fit; -WS_ELIMIT: no room left for texts. Nothing is changed then.
 *   thread  nobody may read *settings meanwhile */
int ws_settings_change(struct ws_settings *settings, const struct ws_setting *setting, const char *value, char *why,
                       size_t cap);

/* The period of --sampling-interval: "auto" is 0, "0" to "26" are 5 to 31 (2^period cycles).
 *   errors  -WS_EINVAL; *period untouched */
int ws_setting_sampling_period(const char *interval, uint32_t *period);

/* The row of a variable's name, or NULL. */
const struct ws_setting *ws_setting_find(const char *name);

/* The default as a person would write it ("50", "kernel"), into out[cap], cut if it must be. */
void ws_setting_default(const struct ws_setting *setting, char *out, size_t cap);

/* The present value as a person would write it, into out[cap], cut if it must be. */
void ws_setting_format(const struct ws_settings *settings, const struct ws_setting *setting, char *out, size_t cap);

/* "NAME=value" of each setting that differs from its default, NUL between them (not after the last),
 * into out[cap]. Those that do not fit are left out whole. Returns the bytes written. */
size_t ws_settings_diff(const struct ws_settings *settings, char *out, size_t cap);

#endif
