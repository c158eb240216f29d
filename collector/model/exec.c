/* SPDX-License-Identifier: MIT
 * exec.c: which build of the handlers this machine can run. */
#include "exec.h"

#include <string.h>

const char *exec_best(void)
{
#if defined(__x86_64__) && !defined(WS_MODEL_ONLY_BASE)
    if (exec_table("v4"))
        return "v4";
    if (exec_table("v3"))
        return "v3";
#endif
    return "base";
}

const exec_fn *exec_table(const char *name)
{
    if (strcmp(name, "base") == 0)
        return exec_table_base;
#if defined(__x86_64__) && !defined(WS_MODEL_ONLY_BASE)
    bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
    if (strcmp(name, "v3") == 0)
        return has_v3 ? exec_table_v3 : NULL;
    if (strcmp(name, "v4") == 0)
        return has_v4 ? exec_table_v4 : NULL;
#endif
    return NULL;
}
