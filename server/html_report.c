/* SPDX-License-Identifier: MIT
 * html_report.c: the page as one file. Script and style stand in it as they are and are named by their hash in a
 * Content-Security-Policy, so that nothing else runs, whatever a kernel is called; the data is JSON in
 * which no '<' occurs. Which members the data has: web/src/embed.js. */
#include "html_report.h"

#include "../analyzer/err.h"
#include "api.h"
#include "assets.h"
#include "kernel_source.h"
#include "sha256.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char style_tag[] = "<link rel=\"stylesheet\" href=\"/app.css\">";
static const char script_tag[] = "<script type=\"module\" src=\"/app.js\"></script>";
static const char first_tag[] = "<meta charset=\"utf-8\">";

/* A text that was made in memory. */
struct text {
    char *at;
    size_t size;
};

/* --- data --- */

static int put_sources(struct ws_json *j, struct ws_store *store, const struct ws_session *sources)
{
    char id[24];
    int err = 0;
    ws_json_key(j, "sources");
    ws_json_object(j);
    for (size_t i = 0; err == 0 && sources && i < sources->kernel_count; i++) {
        snprintf(id, sizeof id, "%" PRId64, sources->kernels[i].row.id);
        ws_json_key(j, id);
        err = ws_kernel_source_answer(j, store, &sources->kernels[i].row, sources->row.id);
    }
    ws_json_end(j);
    return err;
}

static int write_data(struct ws_store *store, const struct ws_session *session, const struct ws_session *sources,
                      FILE *out)
{
    struct ws_json j = {.out = out};
    int err;
    ws_json_object(&j);
    ws_json_key(&j, "report");
    err = ws_report_json(session, &j);
    if (err == 0) {
        ws_json_key(&j, "session");
        err = ws_api_put_session_page(&j, NULL, store, session);
    }
    if (err == 0) {
        ws_json_key(&j, "roofline");
        err = ws_api_put_roofline(&j, session);
    }
    if (err != 0)
        return err;
    ws_json_key(&j, "time");
    ws_api_put_time(&j, session);
    ws_json_key(&j, "catalogue");
    ws_api_put_catalogue(&j);
    err = put_sources(&j, store, sources);
    ws_json_end(&j);
    return err;
}

static int make_data(struct ws_store *store, const struct ws_session *session, const struct ws_session *sources,
                     struct text *data)
{
    FILE *out = open_memstream(&data->at, &data->size);
    int err;
    if (!out)
        return -WS_ENOMEM;
    err = write_data(store, session, sources, out);
    if (fclose(out) != 0 && err == 0)
        err = -WS_ENOMEM;
    return err;
}

/* '<' stands only within texts of the JSON, where \u003c is the same: no "</script>", no "<!--". */
static void put_data(const struct text *data, FILE *out)
{
    for (size_t i = 0; i < data->size; i++)
        if (data->at[i] == '<')
            fputs("\\u003c", out);
        else
            fputc(data->at[i], out);
}

/* --- script and style --- */

/* What would end the element, or begin a comment of HTML. */
static bool is_markup(const char *at, size_t left)
{
    static const char *const words[] = {"</script", "</style", "<!--"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (left >= strlen(words[i]) && strncasecmp(at, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

/* The asset as it can stand inline. A script or style has such words in its strings only, where a backslash
 * before the second character means nothing. */
static int make_inline(enum ws_asset_id id, struct text *text)
{
    const struct ws_asset *a = ws_asset_get(id);
    FILE *out = open_memstream(&text->at, &text->size);
    if (!out)
        return -WS_ENOMEM;
    for (size_t i = 0; i < a->size; i++) {
        fputc(a->data[i], out);
        if (is_markup(a->data + i, a->size - i))
            fputc('\\', out);
    }
    return fclose(out) == 0 ? 0 : -WS_ENOMEM;
}

static void put_policy(const struct text *script, const struct text *style, FILE *out)
{
    char script_hash[64];
    char style_hash[64];
    ws_sha256_csp(script->at, script->size, script_hash);
    ws_sha256_csp(style->at, style->size, style_hash);
    fprintf(out,
            "\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '%s'; "
            "style-src '%s'; img-src data: blob:; base-uri 'none'; form-action 'none'\">",
            script_hash, style_hash);
}

/* --- the file --- */

/* Copy html up to tag and behind it; NULL when it is not there. */
static const char *copy_until(const char *html, const char *tag, FILE *out)
{
    const char *at = html ? strstr(html, tag) : NULL;
    if (!at)
        return NULL;
    fwrite(html, 1, (size_t)(at - html), out);
    return at + strlen(tag);
}

static int write_page(const char *html, const struct text *script, const struct text *style, const struct text *data,
                      FILE *out)
{
    html = copy_until(html, first_tag, out);
    fputs(first_tag, out);
    put_policy(script, style, out);
    html = copy_until(html, style_tag, out);
    fputs("<style>", out);
    fwrite(style->at, 1, style->size, out);
    fputs("</style>", out);
    html = copy_until(html, script_tag, out);
    if (!html)
        return -WS_EUNSUP;
    fputs("<script type=\"application/json\" id=\"warpsight-data\">", out);
    put_data(data, out);
    fputs("</script>\n<script type=\"module\">", out);
    fwrite(script->at, 1, script->size, out);
    fputs("</script>", out);
    fputs(html, out);
    return 0;
}

int ws_html_report(struct ws_store *store, const struct ws_session *session, const struct ws_session *sources,
                   FILE *out)
{
    const struct ws_asset *html = ws_asset_get(WS_ASSET_HTML);
    struct text script = {NULL, 0};
    struct text style = {NULL, 0};
    struct text data = {NULL, 0};
    int err = html->size > 0 ? 0 : -WS_EUNSUP;
    if (err == 0)
        err = make_inline(WS_ASSET_JS, &script);
    if (err == 0)
        err = make_inline(WS_ASSET_CSS, &style);
    if (err == 0)
        err = make_data(store, session, sources, &data);
    if (err == 0)
        err = write_page(html->data, &script, &style, &data, out);
    free(script.at);
    free(style.at);
    free(data.at);
    return err;
}
