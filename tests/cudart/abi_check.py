# SPDX-License-Identifier: MIT
# abi_check.py: reads collector/cudart's own structs and tables, prints a C file of static assertions that hold every
# field and number to the toolkit's headers. usage: abi_check.py FOLDER >check.c
import re, sys

folder = sys.argv[1]
theirs = {
    "rt_dim3": "dim3", "rt_uuid": "cudaUUID_t", "rt_device_prop": "struct cudaDeviceProp",
    "rt_func_attributes": "struct cudaFuncAttributes", "rt_pointer_attributes": "struct cudaPointerAttributes",
    "rt_pitched_ptr": "struct cudaPitchedPtr", "rt_extent": "struct cudaExtent", "rt_pos": "struct cudaPos",
    "rt_copy_3d": "struct cudaMemcpy3DParms", "rt_location": "struct cudaMemLocation",
    "rt_launch_config": "cudaLaunchConfig_t", "rt_channel_desc": "struct cudaChannelFormatDesc",
    "rt_fatbin_wrapper": "__fatBinC_Wrapper_t",
    "rt_resource_desc": "struct cudaResourceDesc", "rt_texture_desc": "struct cudaTextureDesc",
    "rt_resource_linear": "__typeof__(((struct cudaResourceDesc *)0)->res.linear)",
    "rt_resource_pitch": "__typeof__(((struct cudaResourceDesc *)0)->res.pitch2D)",
}
numbers = {
    "RT_HOST_TO_HOST": "cudaMemcpyHostToHost", "RT_HOST_TO_DEVICE": "cudaMemcpyHostToDevice",
    "RT_DEVICE_TO_HOST": "cudaMemcpyDeviceToHost", "RT_DEVICE_TO_DEVICE": "cudaMemcpyDeviceToDevice",
    "RT_COPY_DEFAULT": "cudaMemcpyDefault", "RT_MEMORY_UNREGISTERED": "cudaMemoryTypeUnregistered",
    "RT_MEMORY_HOST": "cudaMemoryTypeHost", "RT_MEMORY_DEVICE": "cudaMemoryTypeDevice",
    "RT_MEMORY_MANAGED": "cudaMemoryTypeManaged", "RT_CAPTURE_NONE": "cudaStreamCaptureStatusNone",
    "RT_CAPTURE_ACTIVE": "cudaStreamCaptureStatusActive",
    "RT_CAPTURE_INVALIDATED": "cudaStreamCaptureStatusInvalidated",
    "RT_FUNC_MAX_DYNAMIC_SHARED": "cudaFuncAttributeMaxDynamicSharedMemorySize",
    "RT_FUNC_CARVEOUT": "cudaFuncAttributePreferredSharedMemoryCarveout", "RT_LIMIT_STACK": "cudaLimitStackSize",
    "RT_LIMIT_PRINTF": "cudaLimitPrintfFifoSize", "RT_LIMIT_HEAP": "cudaLimitMallocHeapSize",
    "RT_CHANNEL_SIGNED": "cudaChannelFormatKindSigned", "RT_CHANNEL_UNSIGNED": "cudaChannelFormatKindUnsigned",
    "RT_CHANNEL_FLOAT": "cudaChannelFormatKindFloat", "RT_ARRAY_LAYERED": "cudaArrayLayered",
    "RT_ARRAY_SURFACE": "cudaArraySurfaceLoadStore", "RT_ARRAY_GATHER": "cudaArrayTextureGather",
    "RT_RESOURCE_ARRAY": "cudaResourceTypeArray", "RT_RESOURCE_MIPMAPPED": "cudaResourceTypeMipmappedArray",
    "RT_RESOURCE_LINEAR": "cudaResourceTypeLinear", "RT_RESOURCE_PITCH_2D": "cudaResourceTypePitch2D",
    "RT_FATBIN_MAGIC": "FATBINC_MAGIC", "RT_VERSION": "CUDART_VERSION",
}
read = lambda name: open(f"{folder}/{name}").read()
print('#include <cuda_runtime_api.h>\n#include <fatbinary_section.h>\n#include "abi.h"\n#include <stddef.h>')
say = lambda claim: print(f'_Static_assert({claim}, "{claim}");'.replace("\n", " "))
structs = re.findall(r"^struct (\w+) \{\n(.*?)^\};", read("abi.h"), re.S | re.M)
assert {name for name, _ in structs} == set(theirs), "a struct without its counterpart"
fields = 0
for name, body in structs:
    say(f"sizeof(struct {name}) == sizeof({theirs[name]})")
    for line in body.splitlines():
        line = re.sub(r"/\*.*?\*/", "", line).strip().rstrip(";")
        if not line:
            continue
        for field in re.findall(r"(\w+)(?:\[\d+\])?(?:,|$)", line):
            say(f"offsetof(struct {name}, {field}) == offsetof({theirs[name]}, {field})")
            say(f"sizeof(((struct {name} *)0)->{field}) == sizeof((({theirs[name]} *)0)->{field})")
            fields += 1
for code, name in re.findall(r"^X\((\d+), (\w+)", read("errors.def"), re.M):
    say(f"cuda{name} == {code}")
for code, name in re.findall(r"^X\((\d+), (\w+)", read("attributes.def"), re.M):
    say(f"cudaDevAttr{name} == {code}")
for ours, name in numbers.items():
    say(f"(long){ours} == (long){name}")
say("sizeof(cudaLaunchAttribute) == 72 && offsetof(cudaLaunchAttribute, val) == 8")
say("cudaAddressModeWrap == 0 && cudaAddressModeClamp == 1 && cudaAddressModeMirror == 2 && cudaAddressModeBorder == 3")
say("cudaFilterModeLinear == 1 && cudaReadModeNormalizedFloat == 1")
say("cudaLaunchAttributeClusterDimension == 4 && cudaLaunchAttributeCooperative == 2")
assert fields > 150, fields
