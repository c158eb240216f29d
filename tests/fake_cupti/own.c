/* SPDX-License-Identifier: MIT
 * own.c: own.so, a profiler that a program brings along: linked to CUPTI as PyTorch's is, it subscribes when asked,
 * once. Read on: fake_app.c, own-profiler. */
#include "fake.h"

#include <cupti.h>

FAKE_API int own_profiler_start(void);

static void CUPTIAPI nothing(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    (void)userdata;
    (void)domain;
    (void)id;
    (void)data;
}

int own_profiler_start(void)
{
    CUpti_SubscriberHandle handle;
    return (int)cuptiSubscribe(&handle, nothing, NULL);
}
