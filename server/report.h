/* SPDX-License-Identifier: MIT
 * report.h: one session, from rows to what a person is shown: means over launches, names, warnings, and the
 * analyzer's word on each kernel. Reads the database, prints nothing.
 * Read on: report_json.c and report_text.c (print it), analyzer/analyze.h (thinks). */
#ifndef WS_SERVER_REPORT_H
#define WS_SERVER_REPORT_H

#include "../analyzer/analyze.h"
#include "../analyzer/stalls.h"
#include "../analyzer/timeline.h"
#include "arena.h"
#include "json.h"
#include "names.h"
#include "pm_facts.h"
#include "store.h"

/* One metric of one kernel over its profiled launches. */
struct ws_stat {
    const char *key;
    enum ws_metric_id id; /* WS_METRIC_COUNT: a CUPTI metric outside of the catalogue */
    struct ws_value mean; /* or the reason of the first launch that has no value */
    double min, max;      /* of the launches that have it */
    double squares;       /* of their distances from their mean, added up */
    uint64_t count;       /* of those */
};

/* Standard deviation of a launch's value, from two launches on; missing below. */
struct ws_value ws_stat_deviation(const struct ws_stat *stat);
/* Whether the launches differ so much that their mean stands for none of them (spread.h). */
bool ws_stat_varies(const struct ws_stat *stat);
/* The same of a kernel: whether a count of its own instructions does, which the same work has the same of. */
bool ws_stat_is_work(const struct ws_stat *stat);

/* How a kernel's launches were counted. */
struct ws_counting {
    bool is_known;
    bool is_refused;               /* the budget left out launches of it */
    uint32_t mode, reason, passes; /* numbers of collector/budget.h */
    uint64_t footprint_bytes;      /* in use on the GPU at most, 0 = not known */
    double predicted_s;            /* of one counted launch */
};

/* What counting cost, in all processes. */
struct ws_counting_cost {
    bool is_known;
    double limit_s, overhead; /* what was allowed to each process; 0 = no limit */
    double spent_s, setup_s, predicted_s;
    double run_s; /* of the process that spent the most of it */
    double part;  /* the greatest that a process spent of its run without us */
    uint64_t launches;
    uint64_t refused; /* kernels of which launches were left out */
    uint64_t empty;   /* of those: that have no counter at all */
};

struct ws_times {
    struct ws_value total; /* s; mean times launches */
    struct ws_value mean, min, max;
};

struct ws_kernel {
    struct ws_kernel_row row;
    struct ws_name name;
    size_t device;                  /* index into devices, or device_count: not known */
    uint64_t launches;              /* seen, at least profiled */
    uint64_t profiled;              /* launches that have at least one counter */
    struct ws_times times;          /* s; origin says which clock: activity trace, or profiler */
    struct ws_stat *stats;          /* [stat_count], in order of arrival */
    struct ws_value sampled_blocks; /* a launch, mean: fewer than the grid has; missing = not sampled */
    struct ws_value sampled_interval;
    size_t stat_count;
    struct ws_counting counting;
    const struct ws_samples *samples; /* PC samples of its function, of all launch shapes together; NULL: none */
};

/* How a session was sampled (`run --stalls pc`). */
struct ws_pc_totals {
    bool is_there;
    uint32_t period_least, period_most; /* a sample every 2^period cycles of an SM; 0 = not known */
    uint64_t samples, other, dropped;   /* all; in kernels that are not the program's; by the hardware */
    uint64_t without_kernel;            /* in functions that are no kernel of the session */
};

struct ws_warning {
    const char *code, *message, *remedy; /* remedy may be "" */
    uint32_t severity;                   /* 0 info, 1 warning, 2 error */
    uint64_t count;
};

/* How and when a ceiling was measured: beside ws_ceilings, which the analyzer takes. */
struct ws_ceiling_origin {
    const char *method;  /* "" = not measured */
    int64_t measured_ns; /* since 1970; 0 = not measured */
};

struct ws_session {
    struct ws_arena arena;
    struct ws_session_row row;
    struct ws_process_row *processes; /* [process_count] */
    size_t process_count;
    struct ws_device_row *devices; /* [device_count] */
    size_t device_count;
    struct ws_ceilings *ceilings; /* [device_count], measured on that board under the driver of the session */
    struct ws_ceiling_origin (*ceiling_origins)[WS_CEILING_COUNT]; /* [device_count] */
    struct ws_kernel *kernels;                                     /* [kernel_count], longest total time first */
    size_t kernel_count;
    struct ws_warning *warnings; /* [warning_count], gravest first */
    size_t warning_count;
    struct ws_timeline_facts *facts; /* of the session's busiest GPU */
    struct ws_findings *timeline;    /* of the rules that look at the whole session */
    struct ws_pm_facts *pm;          /* over time, of the whole GPU; NULL: none were taken */
    double total_s;                  /* of all kernels that have a time */
    struct ws_pc_totals sampling;
    struct ws_counting_cost counting;
    bool is_wanted[WS_METRIC_COUNT]; /* by the settings of its processes */
};

/* Load a session. Free with ws_report_free (NULL is allowed).
 *   errors  -WS_ENOENT no such session; -WS_ENOMEM; of the store */
int ws_report_load(struct ws_store *store, int64_t session_id, struct ws_session **out);
/* The same in two steps: all but facts, timeline and samples, which are NULL then, and what is missing. The second
 * reads every launch of the session; the first does not. */
int ws_report_load_kernels(struct ws_store *store, int64_t session_id, struct ws_session **out);
int ws_report_load_timeline(struct ws_store *store, struct ws_session *session);
/* The samples alone, into a session that was loaded by its kernels. */
int ws_report_load_samples(struct ws_store *store, struct ws_session *session);
void ws_report_free(struct ws_session *session);

/* The CUDA driver that the session ran under, as cuDriverGetVersion; 0 = not known. */
uint32_t ws_report_driver(const struct ws_session *session);

/* Blocks of its grid. */
uint64_t ws_report_blocks(const struct ws_kernel *kernel);

/* What the analyzer says of kernels[kernel]. Some 50 KiB: one at a time. */
void ws_report_analyze(const struct ws_session *session, size_t kernel, struct ws_report *out);

/* The value that a sort key stands for: "duration" (total), "mean", "min", "max", "launches", "gain" or a metric
 * key; report may be NULL for the first five. Missing when there is none. */
struct ws_value ws_report_sort_value(const struct ws_kernel *kernel, const struct ws_report *report, const char *key);
/* Whether key is one of those, or "name". */
bool ws_report_is_sort_key(const char *key);

/* Keep only the kernels that fit, in the order of key (NULL: as it is), at most top (0: all).
 * -WS_ENOENT when the filter left none. */
int ws_report_select(struct ws_session *session, const struct ws_name_filter *filter, const char *key, size_t top);

/* `report --json`, whole; its parts are used by the HTTP API, too. -WS_ENOMEM, before anything is written. */
int ws_report_json(const struct ws_session *session, struct ws_json *j);
void ws_report_json_session(struct ws_json *j, const struct ws_session_row *row, const struct ws_session *session);
/* Its members without the braces, for objects that add some. session NULL: without driver, cuda, cupti. */
void ws_report_json_session_members(struct ws_json *j, const struct ws_session_row *row,
                                    const struct ws_session *session);
/* "2026-11-30T12:00:00.123456789Z", or null for 0. */
void ws_report_json_time(struct ws_json *j, const char *key, int64_t ns);
/* The names of a kernel as every list shows them, without braces: "name" (short), "demangled", "function" (bare). */
void ws_report_json_names(struct ws_json *j, const struct ws_name *name);
/* "sampled" {blocks, of, interval}: only of a modelled launch of which a part of the blocks ran. */
void ws_report_json_sampled(struct ws_json *j, const struct ws_kernel *kernel);
void ws_report_json_point_members(struct ws_json *j, const struct ws_roof_point *point);
/* key: a JSON array of texts as the database keeps it. */
void ws_report_json_texts(struct ws_json *j, const char *key, const char *json);
void ws_report_json_devices(struct ws_json *j, const struct ws_session *session);
void ws_report_json_warnings(struct ws_json *j, const struct ws_session *session);
/* wanted: [WS_METRIC_COUNT] which metrics; NULL: all, those outside of the catalogue too. */
void ws_report_json_kernel(struct ws_json *j, const struct ws_session *session, size_t kernel,
                           const struct ws_report *report, const bool *wanted);
/* Members of an object: method, samples, not_issued, unnamed, shares, selected, not_selected. */
void ws_report_json_samples_members(struct ws_json *j, const struct ws_samples *samples);
/* key "pc_sampling": how the session was sampled; nothing where it was not. */
void ws_report_json_sampling(struct ws_json *j, const struct ws_session *session);
void ws_report_json_findings(struct ws_json *j, const struct ws_findings *findings);
/* key: the number, or null; key: [x,y,z]; key: the value with its unit, as below. */
void ws_report_json_number(struct ws_json *j, const char *key, struct ws_value value);
void ws_report_json_dim3(struct ws_json *j, const char *key, struct ws_dim3 d);
void ws_report_json_put_value(struct ws_json *j, const char *key, struct ws_value value, const char *unit);
/* {"value":…,"unit":…} or {"value":null,"why":…}; min, max when stat is given and launches differ. */
void ws_report_json_value(struct ws_json *j, struct ws_value value, const char *unit, const struct ws_stat *stat);

struct ws_text_options {
    size_t details; /* how many kernels are described one by one */
    bool all;       /* every metric of each */
};
/* The report for people; colour and width as text.h decides. -WS_ENOMEM, before anything is written. */
int ws_report_text(const struct ws_session *session, const struct ws_text_options *options, FILE *out);

/* `--csv`: one line a kernel and metric: kernel,name,grid,block,launches,metric,value,unit,why. */
int ws_report_csv(const struct ws_session *session, FILE *out);

#endif
