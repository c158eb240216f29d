/* SPDX-License-Identifier: MIT
 * cmd.h: every subcommand of the program: one function each, one file cmd_<name>.c each.
 * Add a command: its file, a line here, a row in main.c.
 *
 * A command gets its own name as argv[0] and returns the exit status of the program. It prints results to
 * stdout, complaints through cli.h, and does not call exit(). */
#ifndef WS_SERVER_CMD_H
#define WS_SERVER_CMD_H

typedef int ws_cmd(int argc, char **argv);

ws_cmd ws_cmd_access;
ws_cmd ws_cmd_baseline;
ws_cmd ws_cmd_ceilings;
ws_cmd ws_cmd_ctl;
ws_cmd ws_cmd_diff;
ws_cmd ws_cmd_doctor;
ws_cmd ws_cmd_explain;
ws_cmd ws_cmd_report;
ws_cmd ws_cmd_export;
ws_cmd ws_cmd_import;
ws_cmd ws_cmd_list;
ws_cmd ws_cmd_kernels;
ws_cmd ws_cmd_kernels_model; /* of ws_cmd_kernels; its argv[0] is "kernels model" */
ws_cmd ws_cmd_model;
ws_cmd ws_cmd_occupancy;
ws_cmd ws_cmd_push;
ws_cmd ws_cmd_run;
ws_cmd ws_cmd_serve;

#endif
