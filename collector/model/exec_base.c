/* SPDX-License-Identifier: MIT
 * exec_base.c: the handlers compiled for any machine of this architecture.
 * The Makefile gives this file its instruction set; the code is exec_body.h. */

#define EXEC_TABLE exec_table_base
#include "exec_body.h"
