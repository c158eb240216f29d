/* SPDX-License-Identifier: MIT
 * command.h: takes the commands that control.h describes, on the collector's thread, and answers them. */
#ifndef WS_COLLECTOR_COMMAND_H
#define WS_COLLECTOR_COMMAND_H

#include <stdbool.h>

/* Where: the process's own folder of the spool; and whether it begins idle, which is told before anything else. Once,
 * before the thread starts. */
void ws_command_init(const char *folder, bool is_idle);

/* Look for a command, carry on with the one under way, write what changed. Each time the thread wakes, after
 * ws_collection_tick(). */
void ws_command_poll(void);

/* The process ends: its files go. */
void ws_command_end(void);

#endif
