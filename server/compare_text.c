/* SPDX-License-Identifier: MIT
 * compare_text.c: see compare_text.h. Rows by impact: the change of a kernel's whole time. */
#include "compare_text.h"

#include "../analyzer/err.h"
#include "../analyzer/rules.h"
#include "text.h"

#include <inttypes.h>
#include <string.h>

#define TEXT 64
#define NAME_MAX 64   /* columns of a kernel's name in a table */
#define METRICS_MAX 4 /* that are told of one kernel */

/* What a person looks at to understand a changed time, in this order. */
static const enum ws_metric_id telling[] = {
    WS_M_gld_sectors_per_request,
    WS_M_gst_sectors_per_request,
    WS_M_shared_bank_conflicts,
    WS_M_dram_bytes,
    WS_M_flop_fp32,
    WS_M_flop_fp64,
    WS_M_inst_executed,
    WS_M_achieved_occupancy,
};
#define TELLING (sizeof telling / sizeof telling[0])
#define TELLING_CHANGE 0.05 /* a smaller change of these is not told, nor one of a time whose noise is not known */

struct page {
    const struct ws_comparison *c;
    const struct ws_compare_options *options;
    struct ws_text_out t;
    struct ws_arena arena;
};

/* --- words --- */

static const char *show(char *text, struct ws_value v, enum ws_unit unit)
{
    if (ws_has(v))
        ws_unit_format(text, TEXT, v, unit);
    else
        snprintf(text, TEXT, "-");
    return text;
}

/* "+12.3 %" */
static const char *show_signed(char *text, struct ws_value v)
{
    if (ws_has(v))
        snprintf(text, TEXT, "%+.1f %%", v.number * 100);
    else
        snprintf(text, TEXT, "-");
    return text;
}

static const char *show_impact(char *text, struct ws_value v)
{
    char number[TEXT - 2];
    if (!ws_has(v))
        return show(text, v, WS_UNIT_SECOND);
    ws_unit_format(number, sizeof number, ws_value_of(fabs(v.number)), WS_UNIT_SECOND);
    snprintf(text, TEXT, "%s%s", v.number < 0 ? "-" : "+", number);
    return text;
}

/* In Markdown, with what it would take for itself escaped; else the text as it is. */
static const char *escaped(struct page *p, const char *text)
{
    char *copy = p->options->markdown ? ws_arena_take(&p->arena, 2 * strlen(text) + 1) : NULL;
    char *at = copy;
    if (!copy)
        return p->options->markdown ? "" : text;
    for (; *text; text++) {
        if (strchr("|<*_`\\[]", *text))
            *at++ = '\\';
        *at++ = *text;
    }
    return copy;
}

/* Name and shape; two signatures of one name differ in the shape alone. */
static const char *kernel_text(struct page *p, const struct ws_pair *pair)
{
    const struct ws_kernel *k = ws_compare_kernel(p->c, pair);
    const struct ws_launch *l = &k->row.launch;
    char shape[112];
    char name[NAME_MAX + 4];
    char *text;
    size_t length = strlen(k->name.alias);
    snprintf(name, sizeof name, "%.*s%s", (int)(length > NAME_MAX ? NAME_MAX - 1 : NAME_MAX), k->name.alias,
             length > NAME_MAX ? "…" : "");
    snprintf(shape, sizeof shape, " (%u,%u,%u)x(%u,%u,%u)", l->grid.x, l->grid.y, l->grid.z, l->block.x, l->block.y,
             l->block.z);
    text = ws_arena_take(&p->arena, strlen(name) + strlen(shape) + 1);
    if (!text)
        return "";
    memcpy(text, name, strlen(name));
    memcpy(text + strlen(name), shape, strlen(shape) + 1);
    return ws_text_tame(&p->arena, text);
}

static void add_rules(char *text, size_t cap, char sign, uint64_t rules)
{
    for (size_t i = 0; i < ws_rules_count() && i < 64; i++) {
        const char *id = ws_rules_get(i)->id;
        size_t used = strlen(text);
        if (rules & 1ull << i)
            snprintf(text + used, cap - used, "%s%c%.*s", used ? " " : "", sign, (int)strcspn(id, "-"), id);
    }
}

/* "-W05 +W12": what went, what came. */
static const char *show_findings(char *text, size_t cap, struct ws_findings_change f)
{
    text[0] = 0;
    add_rules(text, cap, '-', f.gone);
    add_rules(text, cap, '+', f.appeared);
    return text;
}

static const char *trend_text(const struct ws_pair *pair)
{
    static const char *const words[] = {"one launch", "within noise", "slower", "faster"};
    if (pair->is_mixed_clock)
        return "two clocks";
    if (!ws_has(pair->duration.delta))
        return "";
    return words[pair->duration.trend];
}

/* --- which rows --- */

static bool is_telling(const struct page *p, const struct ws_pair *pair, enum ws_metric_id id)
{
    struct ws_value b = ws_compare_metric(p->c, pair, false, id);
    struct ws_value t = ws_compare_metric(p->c, pair, true, id);
    return ws_has(b) && ws_has(t) && fabs(t.number - b.number) > TELLING_CHANGE * fabs(b.number);
}

static bool is_changed(const struct page *p, const struct ws_pair *pair)
{
    struct ws_findings_change f = ws_compare_findings(p->c, pair);
    if (f.appeared | f.gone)
        return true;
    if (pair->duration.trend == WS_TREND_SLOWER || pair->duration.trend == WS_TREND_FASTER)
        return true;
    if (pair->duration.trend == WS_TREND_UNKNOWN && ws_has(pair->duration.percent) &&
        fabs(pair->duration.percent.number) > TELLING_CHANGE)
        return true;
    for (size_t i = 0; i < TELLING; i++)
        if (is_telling(p, pair, telling[i]))
            return true;
    return false;
}

/* --- tables: one writer of cells, two forms --- */

struct sheet {
    struct page *p;
    struct ws_table table; /* of the terminal */
    size_t columns, at;
};

static void put_cell(struct sheet *s, const char *text)
{
    if (!s->p->options->markdown) {
        ws_table_add(&s->table, text);
        return;
    }
    fputs(s->at % s->columns == 0 ? "| " : " | ", s->p->t.out);
    fputs(escaped(s->p, text), s->p->t.out);
    if (++s->at % s->columns == 0)
        fputs(" |\n", s->p->t.out);
}

static void begin_sheet(struct sheet *s, struct page *p, const char *align, const char *const *titles)
{
    *s = (struct sheet){.p = p, .columns = strlen(align)};
    if (!p->options->markdown)
        ws_table_init(&s->table, align);
    for (size_t i = 0; i < s->columns; i++)
        put_cell(s, titles[i]);
    for (size_t i = 0; p->options->markdown && i < s->columns; i++)
        fprintf(p->t.out, "%s%s%s", i ? "" : "|", align[i] == 'r' ? "---:" : "---", i + 1 < s->columns ? "|" : "|\n");
}

static void end_sheet(struct sheet *s)
{
    if (!s->p->options->markdown)
        ws_table_print(&s->table, &s->p->t);
}

/* --- parts --- */

static void put_side(struct page *p, const char *word, const char *called, const struct ws_cached *side)
{
    const struct ws_session *s = side->session;
    const char *name = *s->row.name ? s->row.name : s->row.exe;
    ws_text_printf(&p->t, WS_BOLD, p->options->markdown ? "- %s: " : "%-7s ", word);
    ws_text_printf(&p->t, WS_PLAIN, "session %" PRId64 " \"%s\", %s", s->row.id,
                   escaped(p, ws_text_tame(&p->arena, name)), s->row.source);
    if (s->device_count > 0)
        ws_text_printf(&p->t, WS_PLAIN, ", %s", escaped(p, ws_text_tame(&p->arena, s->devices[0].device.name)));
    if (called && strcmp(called, name) != 0)
        ws_text_printf(&p->t, WS_DIM, " (%s)", escaped(p, ws_text_tame(&p->arena, called)));
    ws_text_put(&p->t, WS_PLAIN, "\n");
}

static void put_warning(void *state, const char *line)
{
    struct page *p = state;
    ws_text_printf(&p->t, WS_YELLOW, p->options->markdown ? "- note: %s\n" : "note    %s\n", line);
}

static void put_pair(struct sheet *s, struct page *p, const struct ws_pair *pair)
{
    char a[TEXT], findings[160];
    put_cell(s, show(a, ws_compare_median(p->c, pair, false), WS_UNIT_SECOND));
    put_cell(s, show(a, ws_compare_median(p->c, pair, true), WS_UNIT_SECOND));
    put_cell(s, show_signed(a, pair->duration.percent));
    put_cell(s, show_signed(a, pair->duration.noise)[0] == '+' ? a + 1 : a);
    put_cell(s, trend_text(pair));
    put_cell(s, show_impact(a, pair->impact));
    put_cell(s, show_findings(findings, sizeof findings, ws_compare_findings(p->c, pair)));
    put_cell(s, kernel_text(p, pair));
}

static void put_telling(struct page *p, const struct ws_pair *pair)
{
    size_t told = 0;
    for (size_t i = 0; i < TELLING && told < METRICS_MAX; i++) {
        const struct ws_metric *m = ws_metric_get(telling[i]);
        char a[TEXT], b[TEXT];
        if (!is_telling(p, pair, telling[i]))
            continue;
        if (told++ == 0)
            ws_text_printf(&p->t, WS_PLAIN, p->options->markdown ? "\n**%s**\n" : "\n%s\n",
                           escaped(p, kernel_text(p, pair)));
        ws_text_printf(&p->t, WS_PLAIN, p->options->markdown ? "- %s %s -> %s\n" : "  %-28s %s -> %s\n", m->key,
                       show(a, ws_compare_metric(p->c, pair, false, telling[i]), m->unit),
                       show(b, ws_compare_metric(p->c, pair, true, telling[i]), m->unit));
    }
}

static void put_pairs(struct page *p)
{
    static const char *const titles[] = {"base", "target", "change", "noise", "", "impact", "findings", "kernel"};
    struct sheet s;
    size_t shown = 0;
    size_t wanted = 0;
    size_t quiet = 0;
    for (size_t i = 0; i < p->c->count; i++) {
        bool is_pair = ws_compare_is_pair(&p->c->pairs[i]);
        bool is_wanted = is_pair && (p->options->all || is_changed(p, &p->c->pairs[i]));
        wanted += is_wanted;
        quiet += is_pair && !is_wanted;
    }
    if (wanted > 0) {
        begin_sheet(&s, p, "rrrrlrll", titles);
        for (size_t i = 0; i < p->c->count && (p->options->top == 0 || shown < p->options->top); i++) {
            const struct ws_pair *pair = &p->c->pairs[i];
            if (!ws_compare_is_pair(pair) || !(p->options->all || is_changed(p, pair)))
                continue;
            put_pair(&s, p, pair);
            shown++;
        }
        end_sheet(&s);
    }
    ws_text_printf(&p->t, WS_DIM, "%s%zu kernel%s changed, %zu did not", p->options->markdown ? "\n" : "", wanted,
                   wanted == 1 ? "" : "s", quiet);
    if (shown < wanted)
        ws_text_printf(&p->t, WS_DIM, "; the first %zu are shown (--top)", shown);
    ws_text_put(&p->t, WS_DIM, "\n");
    for (size_t i = 0, told = 0; i < p->c->count && told < shown; i++)
        if (ws_compare_is_pair(&p->c->pairs[i]) && is_changed(p, &p->c->pairs[i])) {
            put_telling(p, &p->c->pairs[i]);
            told++;
        }
}

static void put_alone(struct page *p, bool target)
{
    size_t count = 0;
    for (size_t i = 0; i < p->c->count; i++) {
        const struct ws_pair *pair = &p->c->pairs[i];
        char a[TEXT];
        if ((target ? pair->base : pair->target) != WS_COMPARE_NONE)
            continue;
        if (count++ == 0)
            ws_text_printf(&p->t, WS_BOLD, p->options->markdown ? "\nOnly in %s:\n\n" : "\nonly in %s\n",
                           target ? "target" : "base");
        if (p->options->top == 0 || count <= p->options->top)
            ws_text_printf(&p->t, WS_PLAIN, p->options->markdown ? "- %s, %s\n" : "  %s, %s\n",
                           escaped(p, kernel_text(p, pair)),
                           show(a, ws_compare_median(p->c, pair, target), WS_UNIT_SECOND));
    }
    if (p->options->top != 0 && count > p->options->top)
        ws_text_printf(&p->t, WS_DIM, "  and %zu more\n", count - p->options->top);
}

/* --- gate --- */

static void put_judged(struct sheet *s, struct page *p, const struct ws_gate_condition *g, const struct ws_pair *pair,
                       const struct ws_gate_judged *j)
{
    char a[TEXT];
    put_cell(s, ws_gate_result_name(j->result));
    put_cell(s, g->text);
    put_cell(s, show(a, j->base, j->unit));
    put_cell(s, show(a, j->target, j->unit));
    put_cell(s, g->is_relative ? show_signed(a, j->change) : show(a, j->change, j->unit));
    put_cell(s, show(a, j->noise, WS_UNIT_RATIO));
    put_cell(s, kernel_text(p, pair));
}

static void put_gate(struct page *p, const struct ws_gate *gate)
{
    static const char *const titles[] = {"", "condition", "base", "target", "change", "noise", "kernel"};
    struct ws_gate_tally t = ws_gate_tally(gate, p->c);
    struct sheet s;
    ws_text_printf(&p->t, WS_BOLD, p->options->markdown ? "\n### %s\n\n" : "\n%s\n",
                   t.failed > 0 || t.never_judged > 0 ? "gate: FAILED" : "gate: passed");
    if (t.failed + t.noise > 0) {
        begin_sheet(&s, p, "llrrrrl", titles);
        for (size_t g = 0; g < gate->count; g++)
            for (size_t i = 0; i < p->c->count; i++) {
                const struct ws_pair *pair = &p->c->pairs[i];
                struct ws_gate_judged j;
                if (!ws_compare_is_pair(pair))
                    continue;
                j = ws_gate_judge(&gate->condition[g], p->c, pair);
                if (j.result == WS_GATE_FAILS || j.result == WS_GATE_NOISE)
                    put_judged(&s, p, &gate->condition[g], pair, &j);
            }
        end_sheet(&s);
        if (p->options->markdown)
            fputc('\n', p->t.out);
    }
    ws_text_printf(&p->t, WS_PLAIN, "%zu failed, %zu passed, %zu within the noise, %zu not judged\n", t.failed,
                   t.passed, t.noise, t.unknown);
    if (t.never_judged > 0)
        ws_text_printf(
            &p->t, WS_YELLOW,
            "%zu condition%s could not be judged for any kernel: no kernel in common, or the values were not "
            "collected\n",
            t.never_judged, t.never_judged == 1 ? "" : "s");
}

/* --- whole --- */

int ws_compare_text(const struct ws_comparison *c, const struct ws_gate *gate, const struct ws_compare_options *options,
                    FILE *out)
{
    struct page p = {.c = c, .options = options};
    ws_text_init(&p.t, out);
    put_side(&p, "base", options->base, c->base);
    put_side(&p, "target", options->target, c->target);
    ws_compare_warnings(c, put_warning, &p);
    ws_text_put(&p.t, WS_PLAIN, "\n");
    put_pairs(&p);
    put_alone(&p, false);
    put_alone(&p, true);
    if (gate->count > 0)
        put_gate(&p, gate);
    ws_arena_fini(&p.arena);
    return 0;
}
