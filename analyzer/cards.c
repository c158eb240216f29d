/* SPDX-License-Identifier: MIT
 * cards.c: the table of cards.def. */
#include "cards.h"

static const struct ws_card cards[] = {
#define WS_CARD(id, title, cannot, instead, tool, command, source) {id, title, cannot, instead, tool, command, source},
#include "cards.def"
#undef WS_CARD
};

size_t ws_cards_count(void)
{
    return sizeof cards / sizeof *cards;
}

const struct ws_card *ws_cards_get(size_t i)
{
    return &cards[i];
}
