/* SPDX-License-Identifier: MIT
 * test_cards.c: every card says what, why and with which tool; metrics and rules it names exist. */
#include "../../analyzer/cards.h"
#include "../../analyzer/metrics.h"
#include "../../analyzer/rules.h"
#include "test.h"

#include <ctype.h>

TEST(every_card_is_whole_and_its_id_is_its_own)
{
    CHECK(ws_cards_count() > 0);
    for (size_t i = 0; i < ws_cards_count(); i++) {
        const struct ws_card *c = ws_cards_get(i);
        CHECK(*c->id && *c->title && *c->cannot && *c->tool && *c->source);
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(c->id, ws_cards_get(k)->id) != 0);
    }
}

/* Words with an underline are metric keys but for CUDA's own names; W and two digits is a rule. */
TEST(what_a_card_points_to_is_there)
{
    for (size_t i = 0; i < ws_cards_count(); i++) {
        const char *at = ws_cards_get(i)->instead;
        while (*at) {
            size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
            char word[64];
            snprintf(word, sizeof word, "%.*s", (int)n, at);
            if (n > 0 && memchr(at, '_', n) && islower((unsigned char)*at) && ws_metric_find(at, n) == WS_METRIC_COUNT)
                WS_FAIL("card %s names an unknown metric %s", ws_cards_get(i)->id, word);
            if (n == 3 && *at == 'W' && isdigit((unsigned char)at[1]) && !ws_rules_find(word))
                WS_FAIL("card %s names an unknown rule %s", ws_cards_get(i)->id, word);
            at += n > 0 ? n : 1;
        }
    }
}
