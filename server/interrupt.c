/* SPDX-License-Identifier: MIT
 * interrupt.c: Ctrl-C as a wish to end. */
#include "interrupt.h"

#include <signal.h>

static volatile sig_atomic_t asked;

static void on_interrupt(int number)
{
    (void)number;
    asked = 1;
}

void ws_interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
}

bool ws_interrupt_is_asked(void)
{
    return asked != 0;
}
