/* SPDX-License-Identifier: MIT
 * cards.h: what counters cannot show, and with which tool it is seen. The rows are in cards.def. */
#ifndef WS_ANALYZER_CARDS_H
#define WS_ANALYZER_CARDS_H

#include <stddef.h>

struct ws_card {
    const char *id, *title;
    const char *cannot;  /* why counters are blind to it */
    const char *instead; /* what is shown of it all the same; "" = nothing */
    const char *tool;
    const char *command; /* "" = none; PROGRAM stands for the program */
    const char *source;
};

size_t ws_cards_count(void);
/* i < ws_cards_count(). */
const struct ws_card *ws_cards_get(size_t i);

#endif
