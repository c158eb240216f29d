/* SPDX-License-Identifier: MIT
 * assets.h: the files of web/dist as they were when the program was built, and the page that names them.
 * Without web/dist a small page says how to build it; everything else works. */
#ifndef WS_SERVER_ASSETS_H
#define WS_SERVER_ASSETS_H

#include <stddef.h>

enum ws_asset_id { WS_ASSET_HTML, WS_ASSET_JS, WS_ASSET_CSS, WS_ASSET_COUNT };

struct ws_asset {
    const char *data;
    size_t size;
    char hash[17]; /* of the content */
};

/* The file as it lies in web/dist; size 0 when there was none. Any thread; lent for ever. */
const struct ws_asset *ws_asset_get(enum ws_asset_id id);

/* index.html with ?v=HASH behind the names of script and style; of the page that says how to build it when
 * there is none. Made at the first call. Any thread; lent for ever. */
const struct ws_asset *ws_asset_page(void);

#endif
