/* SPDX-License-Identifier: MIT
 * unserved.c: the rest of the runtime's functions, so that every program starts: each says its name and returns
 * cudaErrorNotSupported. */
#include "rt.h"

__attribute__((visibility("default"))) struct rt_channel_desc cudaCreateChannelDesc(int x, int y, int z, int w, int f);
__attribute__((visibility("default"))) struct rt_channel_desc cudaCreateChannelDesc(int x, int y, int z, int w, int f)
{
    return (struct rt_channel_desc){x, y, z, w, f};
}

static int unserved(const char *name)
{
    (void)rt_enter();
    return rt_fail(RT_ErrorNotSupported, name, "the model does not serve this call");
}

#define X(name)                 \
    RT_API(name, void)          \
    {                           \
        return unserved(#name); \
    }
#include "unserved.def"
#undef X
