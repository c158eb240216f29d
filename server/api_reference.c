/* SPDX-License-Identifier: MIT
 * api_reference.c: a session held against what is known beforehand: the known answers of the reference kernels, and
 * the predicted curve of the decode step (K29) over the batches that were measured.
 * Which batches there are, and how large the matrix is, comes from kernels/gemv.expect. */
#include "../analyzer/decode.h"
#include "../analyzer/err.h"
#include "../analyzer/gpus.h"
#include "api.h"
#include "scorecard.h"
#include "session_cache.h"
#include "verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What `kernels verify --json` says of one session; a program's twin has another session, so those are not here. */
static int put_verified(const struct ws_session *session, struct ws_json *j)
{
    const struct ws_score_source source = {session, ws_missing(WS_WHY_NOT_COLLECTED, NULL)};
    struct ws_verify_tally tally;
    struct ws_scorecard card;
    int err = ws_scorecard_make(&source, 1, NULL, &card);
    if (err == 0) {
        ws_json_object(j);
        err = ws_verify_json_members(session, NULL, false, j, &tally);
        ws_json_key(j, "scorecard");
        ws_scorecard_json(j, &card, false);
        ws_json_end(j);
    }
    ws_scorecard_fini(&card);
    return err;
}

void ws_api_verify(struct ws_call *call)
{
    const struct ws_cached *c;
    int err;
    if (ws_call_unchanged(call) || !ws_call_whole_session(call, call->request->ids[0], &c))
        return;
    err = put_verified(c->session, ws_call_json(call));
    ws_session_cache_give(c);
    if (err != 0)
        ws_call_fail_store(call, err);
}

/* --- the decode step ------------------------------------------------------------------------------- */

enum { BATCHES = 16, CURVE = 64 };
#define DECODE "gemv"

struct sweep {
    double size; /* of the matrix; 0: the file does not say */
    struct {
        unsigned batch;
        double multiply_adds;          /* expected */
        const struct ws_kernel *found; /* NULL: no launch */
        size_t kernel;
    } at[BATCHES];
    size_t count;
};

/* "gemv<16>" -> 16; 0: something else. */
static unsigned batch_of(struct ws_word name)
{
    static const char start[] = DECODE "<";
    size_t n = strlen(start);
    unsigned batch = 0;
    if (name.length < n + 2 || memcmp(name.at, start, n) != 0 || name.at[name.length - 1] != '>')
        return 0;
    for (size_t i = n; i < name.length - 1; i++) {
        if (name.at[i] < '0' || name.at[i] > '9' || batch > 9999)
            return 0;
        batch = batch * 10 + (unsigned)(name.at[i] - '0');
    }
    return batch;
}

static void find_launch(struct sweep *sweep, size_t place, struct ws_word name, const struct ws_session *s)
{
    for (size_t i = 0; i < s->kernel_count && !sweep->at[place].found; i++)
        if (ws_expect_name_is(name, s->kernels[i].name.demangled)) {
            sweep->at[place].found = &s->kernels[i];
            sweep->at[place].kernel = i;
        }
}

/* Batches that the file expects multiply-adds of: size^2 each vector. */
static void read_sweep(struct sweep *sweep, const struct ws_session *s)
{
    memset(sweep, 0, sizeof *sweep);
    for (size_t i = 0; i < ws_verify_files(); i++) {
        struct ws_expect_reader reader;
        struct ws_expect line;
        int more;
        if (strcmp(ws_verify_file_name(i), DECODE) != 0)
            continue;
        ws_expect_open(&reader, ws_verify_file_text(i), strlen(ws_verify_file_text(i)));
        while ((more = ws_expect_next(&reader, &line)) != 0) {
            unsigned batch =
                more == 1 && line.kind == WS_EXPECT_VALUE && line.key == WS_M_fp32_fma && line.op == WS_EXPECT_EQUAL
                    ? batch_of(line.name)
                    : 0;
            if (batch == 0 || sweep->count == BATCHES)
                continue;
            sweep->at[sweep->count].batch = batch;
            sweep->at[sweep->count].multiply_adds = line.number;
            sweep->size = sqrt(line.number / batch);
            find_launch(sweep, sweep->count++, line.name, s);
        }
    }
}

/* One curve, under roofs of one source. */
static void put_curve(struct ws_json *j, const char *source, double size, struct ws_value dram, struct ws_value fp32)
{
    ws_json_object(j);
    ws_json_put_text(j, "source", source);
    ws_report_json_put_value(j, "dram", dram, "B/s");
    ws_report_json_put_value(j, "fp32", fp32, "FLOP/s");
    ws_report_json_put_value(j, "turn", ws_decode_turn(size, dram, fp32), "");
    ws_json_key(j, "curve");
    ws_json_array(j);
    for (int batch = 1; batch <= CURVE && ws_has(dram) && ws_has(fp32); batch++) {
        struct ws_decode d;
        ws_decode_predict(size, batch, dram, fp32, &d);
        ws_json_object_line(j);
        ws_json_put_int(j, "batch", batch);
        ws_json_put_number(j, "bytes", d.bytes);
        ws_json_put_number(j, "operations", d.operations);
        ws_json_put_number(j, "seconds", d.seconds.number);
        ws_json_put_text(j, "bound", ws_bound_name(d.bound));
        ws_json_end(j);
    }
    ws_json_end(j);
    ws_json_end(j);
}

static void put_curves(struct ws_json *j, const struct ws_session *s, const struct sweep *sweep)
{
    size_t device = 0;
    struct ws_board board;
    bool is_known;
    struct ws_value none = ws_missing(WS_WHY_NO_DEVICE, NULL);
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->at[i].found && sweep->at[i].found->device < s->device_count)
            device = sweep->at[i].found->device;
    ws_json_key(j, "predicted");
    ws_json_array(j);
    if (device < s->device_count) {
        is_known = ws_gpus_board(s->devices[device].device.name, &board) == 0;
        put_curve(j, "measured", sweep->size, ws_ceiling_bandwidth(&s->ceilings[device], WS_LEVEL_DRAM),
                  ws_ceiling_measured(&s->ceilings[device], WS_CEILING_FP32));
        put_curve(j, "data sheet", sweep->size, is_known ? board.dram_bytes_per_s : none,
                  is_known ? board.rate[WS_RATE_FP32] : none);
    }
    ws_json_end(j);
}

static void put_point(struct ws_json *j, const struct ws_session *s, const struct sweep *sweep, size_t i,
                      struct ws_report *report)
{
    const struct ws_kernel *k = sweep->at[i].found;
    ws_json_object_line(j);
    ws_json_put_uint(j, "batch", sweep->at[i].batch);
    ws_json_put_number(j, "multiply_adds_expected", sweep->at[i].multiply_adds);
    if (!k) {
        ws_json_put_null(j, "kernel");
        ws_report_json_put_value(j, "seconds", ws_missing(WS_WHY_NO_LAUNCH, NULL), "s");
        ws_json_end(j);
        return;
    }
    ws_report_analyze(s, sweep->at[i].kernel, report);
    ws_json_put_int(j, "kernel", k->row.id);
    ws_report_json_names(j, &k->name);
    ws_report_json_put_value(j, "seconds", k->times.mean, "s");
    ws_report_json_put_value(j, "multiply_adds", report->metric[WS_M_fp32_fma], "");
    ws_report_json_put_value(j, "dram_bytes", report->metric[WS_M_dram_bytes], "B");
    ws_json_end(j);
}

static int put_decode(struct ws_json *j, const struct ws_session *s)
{
    struct ws_report *report = malloc(sizeof *report);
    struct sweep sweep;
    if (!report)
        return -WS_ENOMEM;
    read_sweep(&sweep, s);
    ws_json_object(j);
    ws_json_put_int(j, "session", s->row.id);
    ws_json_put_text(j, "id", "K29");
    ws_json_put_text(j, "source", s->row.source);
    ws_json_put_number(j, "size", sweep.size);
    ws_json_put_text(j, "model", "t(B) = max(bytes / DRAM bandwidth, operations / FP32 rate)");
    put_curves(j, s, &sweep);
    ws_json_key(j, "points");
    ws_json_array(j);
    for (size_t i = 0; i < sweep.count; i++)
        put_point(j, s, &sweep, i, report);
    ws_json_end(j);
    ws_json_end(j);
    free(report);
    return 0;
}

void ws_api_decode(struct ws_call *call)
{
    const struct ws_cached *c;
    int err;
    if (ws_call_unchanged(call) || !ws_call_session(call, call->request->ids[0], &c))
        return;
    err = put_decode(ws_call_json(call), c->session);
    ws_session_cache_give(c);
    if (err != 0)
        ws_call_fail_store(call, err);
}
