/* SPDX-License-Identifier: MIT
 * assets.c: web/dist inside the program, by the assembler's .incbin; assets.h of the build says which files
 * there are. No file is read when the program runs. */
#include "assets.h"

#include "api.h"
#include "web_files.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* name: C name; the file's bytes lie between name and name_end. */
#define EMBED(name, file)                                                                                   \
    __asm__(".pushsection .rodata\n.balign 16\n" #name ":\n.incbin \"" file "\"\n" #name "_end:\n.byte 0\n" \
            ".popsection\n");                                                                               \
    extern const char name[];                                                                               \
    extern const char name##_end[];
#define NOTHING(name)                   \
    static const char name[1] = {'\0'}; \
    static const char *const name##_end = name;

#ifdef WS_WEB_HTML
EMBED(ws_web_html, WS_WEB_HTML)
#else
NOTHING(ws_web_html)
#endif
#ifdef WS_WEB_JS
EMBED(ws_web_js, WS_WEB_JS)
#else
NOTHING(ws_web_js)
#endif
#ifdef WS_WEB_CSS
EMBED(ws_web_css, WS_WEB_CSS)
#else
NOTHING(ws_web_css)
#endif

static const char no_page[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>WarpSight</title></head><body>\n"
    "<h1>WarpSight</h1>\n<p>This program was built without its page: <code>web/dist</code> was not there. Run "
    "<code>make web</code>, then <code>make</code>. The API answers at <code>/api/v1/</code>, and every report is "
    "also in the terminal: <code>warpsight report</code>.</p>\n</body></html>\n";

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct ws_asset assets[WS_ASSET_COUNT];
static struct ws_asset page;

static void set(struct ws_asset *a, const char *data, const char *end)
{
    a->data = data;
    a->size = (size_t)(end - data);
    ws_content_hash(a->data, a->size, a->hash);
}

/* Copy html to out, with ?v=hash behind each "/app.js" and "/app.css" of an attribute. */
static void write_page(FILE *out, const char *html)
{
    static const char *const names[] = {"/app.js\"", "/app.css\""};
    while (*html) {
        const struct ws_asset *a = NULL;
        for (size_t i = 0; i < 2; i++)
            if (strncmp(html, names[i], strlen(names[i])) == 0)
                a = &assets[i == 0 ? WS_ASSET_JS : WS_ASSET_CSS];
        if (!a) {
            fputc(*html++, out);
            continue;
        }
        while (*html != '"')
            fputc(*html++, out);
        fprintf(out, "?v=%s", a->hash);
    }
}

static void make(void)
{
    static const struct ws_asset plain = {no_page, sizeof no_page - 1, "0"};
    char *text = NULL;
    size_t size = 0;
    FILE *out;
    set(&assets[WS_ASSET_HTML], ws_web_html, ws_web_html_end);
    set(&assets[WS_ASSET_JS], ws_web_js, ws_web_js_end);
    set(&assets[WS_ASSET_CSS], ws_web_css, ws_web_css_end);
    page = plain;
    out = open_memstream(&text, &size);
    if (!out)
        return;
    write_page(out, assets[WS_ASSET_HTML].size ? assets[WS_ASSET_HTML].data : no_page);
    if (fclose(out) == 0)
        set(&page, text, text + size); /* kept for ever */
    else
        free(text);
}

const struct ws_asset *ws_asset_get(enum ws_asset_id id)
{
    pthread_once(&once, make);
    return &assets[id];
}

const struct ws_asset *ws_asset_page(void)
{
    pthread_once(&once, make);
    return &page;
}
