/* SPDX-License-Identifier: MIT
 * test_nvtx_filter.c: which ranges --nvtx-include means. */
#include "analyzer/err.h"
#include "collector/nvtx_filter.h"
#include "test.h"

#include <string.h>

static struct ws_nvtx_filter filter;
static char why[160];

/* A stack written "a b dom@c", lowest first. */
static bool fits_stack(const char *expression, const char *stack)
{
    char text[256];
    const char *domain[16], *name[16];
    size_t n = 0;
    bool is_fit;
    snprintf(text, sizeof text, "%s", stack);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        char *at = strchr(word, '@');
        if (at)
            *at = 0;
        domain[n] = at ? word : "";
        name[n++] = at ? at + 1 : word;
    }
    if (ws_nvtx_filter_init(&filter, expression, why, sizeof why) != 0) {
        CHECK_STR(why, "");
        return false;
    }
    is_fit = ws_nvtx_filter_fits_stack(&filter, domain, name, n);
    ws_nvtx_filter_fini(&filter);
    return is_fit;
}

TEST(stacks_that_an_expression_means_and_that_it_does_not)
{
    static const struct {
        const char *expression, *stack;
        bool is_fit;
    } cases[] = {
        {"a", "a", true},
        {"a", "x a y", true},
        {"a", "ab", false},
        {"a", "", false},
        {"a/", "a", true},
        {"a/b", "a b", true},
        {"a/b", "x a b y", true},
        {"a/b", "a x b", false},
        {"a/b", "b a", false},
        {"a/+/b", "a x b", true},
        {"a/+/b", "a b", false},
        {"a/*/b", "a b", true},
        {"a/*/b", "a x y b", true},
        {"a/*/b", "b x a", false},
        {"a/*/b/*/c", "a b x x c", true},
        {"[a", "a b", true},
        {"[a", "b a", false},
        {"a]", "b a", true},
        {"a]", "a b", false},
        {"[a/b]", "a b", true},
        {"[a/b]", "a b c", false},
        {"[a/*/c]", "a b c", true},
        {"d@a", "d@a", true},
        {"d@a", "a", false},
        {"a", "d@a", false},
        {"d@a/b", "d@a x d@b", true}, /* stacks of domains are apart */
        {"x,a", "a", true},
        {"x,y", "a", false},
        {"regex:^st", "step", true},
        {"regex:^st", "first", false},
        {"regex:^st/b", "step b", true},
        {"a\\/b", "a/b", true},
        {"a\\,b", "a,b", true},
        {"a\\@b", "a@b", false}, /* the test's own stack takes the @ for a domain's */
        {"", "a", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (fits_stack(cases[i].expression, cases[i].stack) != cases[i].is_fit)
            CHECK_STR(cases[i].expression, cases[i].stack); /* shows which */
}

static bool fits_range(const char *expression, const char *domain, const char *name)
{
    bool is_fit = ws_nvtx_filter_init(&filter, expression, why, sizeof why) == 0 &&
                  ws_nvtx_filter_fits_range(&filter, domain, name);
    ws_nvtx_filter_fini(&filter);
    return is_fit;
}

TEST(start_and_end_ranges)
{
    CHECK(fits_range("a", "", "a"));
    CHECK(fits_range("x,d@a", "d", "a"));
    CHECK(!fits_range("d@a", "", "a"));
    CHECK(!fits_range("a/", "", "a"));
    CHECK(!fits_range("[a", "", "a"));
    CHECK(!fits_range("a/b", "", "b"));
    CHECK(!fits_range("*", "", "a"));
    CHECK(fits_range("a\\@b", "", "a@b"));
}

TEST(what_is_no_expression_is_refused_with_a_reason)
{
    char text[4096];
    static const char *const bad[] = {"a@", "@a", "a,", ",a", "a//b", "regex:(", "a]b", "[", "a]/b", "/a"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        why[0] = 0;
        if (ws_nvtx_filter_init(&filter, bad[i], why, sizeof why) != -WS_EINVAL || !*why)
            CHECK_STR(bad[i], "is refused");
    }
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = 0;
    CHECK_INT(ws_nvtx_filter_init(&filter, text, why, sizeof why), -WS_EINVAL);
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "a/", 2);
    CHECK_INT(ws_nvtx_filter_init(&filter, text, why, sizeof why), -WS_EINVAL);
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "a,", 2);
    CHECK_INT(ws_nvtx_filter_init(&filter, text, why, sizeof why), -WS_EINVAL);
}
