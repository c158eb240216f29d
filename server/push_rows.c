/* SPDX-License-Identifier: MIT
 * push_rows.c: see push_rows.h. */
#include "push_rows.h"

#include "../analyzer/err.h"
#include "../analyzer/rules.h"
#include "sha256.h"
#include "utf8.h"
#include "version.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- fields --- */

/* One row at a time: fields come with a tab before all but the first. */
struct row {
    FILE *out;
    bool is_begun;
};

static void separate(struct row *r)
{
    if (r->is_begun)
        fputc('\t', r->out);
    r->is_begun = true;
}

static void put_text(struct row *r, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t left = strlen(text);
    separate(r);
    while (left > 0) {
        size_t n = ws_utf8_length(at, left);
        if (n == 1 && strchr("\t\n\r\\", *at))
            fprintf(r->out, "\\%c", *at == '\t' ? 't' : *at == '\n' ? 'n' : *at == '\r' ? 'r' : '\\');
        else if (n > 0)
            fwrite(at, 1, n, r->out);
        else
            fputc('?', r->out);
        at += n ? n : 1;
        left -= n ? n : 1;
    }
}

static void put_null(struct row *r)
{
    separate(r);
    fputs("\\N", r->out);
}

static void put_int(struct row *r, int64_t number)
{
    separate(r);
    fprintf(r->out, "%" PRId64, number);
}

static void put_value(struct row *r, struct ws_value v)
{
    if (!ws_has(v)) {
        put_null(r);
        return;
    }
    separate(r);
    fprintf(r->out, "%.17g", v.number);
}

/* Of nanoseconds since 1970; 0 = not known. */
static void put_time(struct row *r, int64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm t;
    char text[40];
    if (ns <= 0 || !gmtime_r(&seconds, &t) || strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &t) == 0) {
        put_null(r);
        return;
    }
    separate(r);
    fprintf(r->out, "%s.%06" PRId64 "+00", text, ns % 1000000000 / 1000);
}

static void end_row(struct row *r)
{
    fputc('\n', r->out);
    r->is_begun = false;
}

/* --- rows --- */

void ws_push_fingerprint(const struct ws_session_row *row, char out[65])
{
    uint8_t digest[32];
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    out[0] = 0;
    if (!f)
        return;
    fprintf(f, "%s %s\n%s\n%s\n%" PRId64 " %" PRId64 " %d %" PRId64 " %" PRIu64 " %" PRIu64, WS_VERSION, WS_GIT_COMMIT,
            row->name, row->note, row->started_ns, row->ended_ns, row->has_exit, row->exit_status, row->kernels,
            row->launches);
    if (fclose(f) == 0) {
        ws_sha256(text, length, digest);
        for (size_t i = 0; i < sizeof digest; i++)
            snprintf(out + 2 * i, 3, "%02x", digest[i]);
    }
    free(text);
}

static void put_head(FILE *out, const struct ws_session *s, const char *fingerprint)
{
    struct row r = {out, false};
    const struct ws_session_row *row = &s->row;
    put_text(&r, row->token);
    put_text(&r, fingerprint);
    put_text(&r, row->host);
    put_text(&r, row->name);
    put_text(&r, row->source);
    put_text(&r, row->exe);
    put_text(&r, row->argv);
    put_text(&r, row->note);
    put_time(&r, row->started_ns);
    put_time(&r, row->ended_ns);
    if (row->has_exit)
        put_int(&r, row->exit_status);
    else
        put_null(&r);
    put_int(&r, ws_report_driver(s));
    put_text(&r, s->device_count > 0 ? s->devices[0].device.name : "");
    put_value(&r, ws_value_of(s->total_s));
    end_row(&r);
}

static void put_device(FILE *out, const char *token, const struct ws_device_row *d)
{
    struct row r = {out, false};
    put_text(&r, token);
    put_text(&r, d->uuid);
    put_int(&r, d->device.index);
    put_text(&r, d->device.name);
    put_text(&r, d->chip);
    put_int(&r, d->device.cc_major);
    put_int(&r, d->device.cc_minor);
    put_int(&r, d->device.sms);
    end_row(&r);
}

static void put_dim3(struct row *r, struct ws_dim3 d)
{
    put_int(r, d.x);
    put_int(r, d.y);
    put_int(r, d.z);
}

static void put_kernel(FILE *out, const struct ws_session *s, const struct ws_kernel *k)
{
    struct row r = {out, false};
    put_text(&r, s->row.token);
    put_int(&r, k->row.id);
    put_text(&r, k->device < s->device_count ? s->devices[k->device].uuid : "");
    put_text(&r, k->name.hash);
    put_text(&r, k->name.alias);
    put_text(&r, k->name.demangled);
    put_dim3(&r, k->row.launch.grid);
    put_dim3(&r, k->row.launch.block);
    put_int(&r, k->row.launch.dynamic_smem_bytes);
    put_int(&r, (int64_t)k->launches);
    put_int(&r, (int64_t)k->profiled);
    put_value(&r, k->times.total);
    put_value(&r, k->times.mean);
    put_value(&r, k->times.min);
    put_value(&r, k->times.max);
    end_row(&r);
}

static void put_metrics(FILE *out, const char *token, int64_t kernel, const struct ws_report *report,
                        struct ws_push_count *count)
{
    for (int i = 0; i < WS_METRIC_COUNT; i++) {
        const struct ws_metric *m = ws_metric_get((enum ws_metric_id)i);
        struct row r = {out, false};
        if (!ws_has(report->metric[i]))
            continue;
        put_text(&r, token);
        put_int(&r, kernel);
        put_text(&r, m->key);
        put_value(&r, report->metric[i]);
        put_text(&r, ws_unit_get(m->unit)->symbol);
        end_row(&r);
        count->metrics++;
    }
}

static void put_points(FILE *out, const char *token, int64_t kernel, const struct ws_roofline *roofline)
{
    for (size_t i = 0; i < roofline->count; i++) {
        const struct ws_roof_point *p = &roofline->points[i];
        struct row r = {out, false};
        if (!ws_has(p->intensity) || !ws_has(p->flop_rate))
            continue;
        put_text(&r, token);
        put_int(&r, kernel);
        put_text(&r, ws_precision_name(p->precision));
        put_text(&r, ws_level_name(p->level));
        put_value(&r, p->intensity);
        put_value(&r, p->flop_rate);
        put_value(&r, p->measured.roof);
        put_value(&r, p->measured.percent);
        put_text(&r, ws_bound_name(p->measured.bound));
        end_row(&r);
    }
}

static void put_findings(FILE *out, const char *token, int64_t kernel, const struct ws_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct ws_finding *f = &findings->item[i];
        struct row r = {out, false};
        put_text(&r, token);
        put_int(&r, kernel);
        put_text(&r, f->rule->id);
        put_text(&r, ws_severity_name(f->severity));
        put_value(&r, f->gain);
        put_text(&r, f->text);
        end_row(&r);
    }
}

/* Once for all launch shapes of a function. */
static void put_samples(FILE *out, const struct ws_session *session, size_t kernel)
{
    const struct ws_kernel *k = &session->kernels[kernel];
    struct ws_stall stall;
    for (size_t i = 0; i < kernel; i++)
        if (session->kernels[i].samples == k->samples)
            return;
    for (int i = 0; k->samples && i < WS_STALL_COUNT; i++) {
        struct row r = {out, false};
        if (k->samples->all[i] == 0)
            continue;
        ws_stalls_get((enum ws_stall_id)i, &stall);
        put_text(&r, session->row.token);
        put_text(&r, k->name.hash);
        put_text(&r, stall.reason);
        put_int(&r, (int64_t)k->samples->all[i]);
        put_int(&r, (int64_t)k->samples->not_issued[i]);
        end_row(&r);
    }
}

/* A device while kernels ran (kernel 0), or a kernel while it alone ran; what has no value has no row. */
static void put_sampled(FILE *out, const struct ws_session *s, size_t series, int64_t kernel, uint64_t samples,
                        const struct ws_pm_stat *stats)
{
    const struct ws_pm_device *d = &s->pm->devices[series];
    const char *uuid = "";
    for (size_t i = 0; i < s->device_count; i++)
        if (s->devices[i].id == d->device_id)
            uuid = s->devices[i].uuid;
    for (size_t k = 0; k < d->columns; k++) {
        struct row r = {out, false};
        if (stats[k].count == 0)
            continue;
        put_text(&r, s->row.token);
        put_int(&r, (int64_t)series);
        put_text(&r, uuid);
        put_int(&r, kernel);
        put_text(&r, d->column[k].key);
        put_int(&r, (int64_t)samples);
        put_value(&r, ws_value_of(ws_pm_stat_mean(&stats[k])));
        put_value(&r, ws_value_of(stats[k].min));
        put_value(&r, ws_value_of(stats[k].max));
        put_text(&r, ws_unit_get(d->column[k].unit)->symbol);
        end_row(&r);
    }
}

static void put_pm_samples(FILE *out, const struct ws_session *s)
{
    const struct ws_pm_facts *f = s->pm;
    for (size_t i = 0; f && i < f->count; i++)
        put_sampled(out, s, i, 0, f->devices[i].busy_samples, f->devices[i].busy);
    for (size_t i = 0; f && i < f->kernel_count; i++)
        put_sampled(out, s, f->kernels[i].series, f->kernels[i].kernel_id, f->kernels[i].samples, f->kernels[i].at);
}

int ws_push_put_session(FILE *const table[WS_PUSH_TABLE_COUNT], const struct ws_session *session,
                        const char *fingerprint, struct ws_push_count *count)
{
    const char *token = session->row.token;
    struct ws_report *report = malloc(sizeof *report);
    if (!report)
        return -WS_ENOMEM;
    put_head(table[WS_PUSH_SESSION], session, fingerprint);
    for (size_t i = 0; i < session->device_count; i++)
        put_device(table[WS_PUSH_DEVICE], token, &session->devices[i]);
    for (size_t i = 0; i < session->kernel_count; i++) {
        int64_t kernel = session->kernels[i].row.id;
        ws_report_analyze(session, i, report);
        put_kernel(table[WS_PUSH_KERNEL], session, &session->kernels[i]);
        put_metrics(table[WS_PUSH_METRIC], token, kernel, report, count);
        put_points(table[WS_PUSH_POINT], token, kernel, &report->roofline);
        put_findings(table[WS_PUSH_FINDING], token, kernel, &report->findings);
        put_samples(table[WS_PUSH_PC_SAMPLE], session, i);
        count->kernels++;
    }
    put_pm_samples(table[WS_PUSH_SAMPLE], session);
    free(report);
    for (int i = 0; i < WS_PUSH_TABLE_COUNT; i++)
        if (ferror(table[i]))
            return -WS_ENOMEM; /* memory streams */
    return 0;
}
