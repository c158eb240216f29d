/* SPDX-License-Identifier: MIT
 * exec_v4.c: the handlers compiled for x86-64-v4 (AVX2 and FMA; v4 adds AVX-512).
 * The Makefile gives this file its instruction set; the code is exec_body.h. */
#ifdef __x86_64__
#define EXEC_TABLE exec_table_v4
#include "exec_body.h"
#else
/* ISO C wants a declaration in every file. */
extern int exec_v4_is_x86_only;
#endif
