/* SPDX-License-Identifier: MIT
 * interrupt.h: Ctrl-C as a wish to end, for work that can end in good order. */
#ifndef WS_SERVER_INTERRUPT_H
#define WS_SERVER_INTERRUPT_H

#include <stdbool.h>

/* From now on the first Ctrl-C asks for an end; the second ends the program as ever. */
void ws_interrupt_catch(void);
bool ws_interrupt_is_asked(void);

#endif
