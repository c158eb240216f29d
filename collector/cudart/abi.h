/* SPDX-License-Identifier: MIT
 * abi.h: the CUDA runtime's structs and numbers as the stand-in needs them, without the toolkit's headers.
 * Field names are those of CUDA 13. tests/cudart/abi_check.c holds sizes, offsets and values to the headers, where
 * those are. Nothing here is ours to change. */
#ifndef WS_COLLECTOR_CUDART_ABI_H
#define WS_COLLECTOR_CUDART_ABI_H

#include <stddef.h>
#include <stdint.h>

enum rt_error {
#define X(code, name, text) RT_##name = (code),
#include "errors.def"
#undef X
};

enum rt_copy_kind { RT_HOST_TO_HOST, RT_HOST_TO_DEVICE, RT_DEVICE_TO_HOST, RT_DEVICE_TO_DEVICE, RT_COPY_DEFAULT };
enum rt_memory_type { RT_MEMORY_UNREGISTERED, RT_MEMORY_HOST, RT_MEMORY_DEVICE, RT_MEMORY_MANAGED };
enum rt_capture_status { RT_CAPTURE_NONE, RT_CAPTURE_ACTIVE, RT_CAPTURE_INVALIDATED };
enum rt_func_attribute { RT_FUNC_MAX_DYNAMIC_SHARED = 8, RT_FUNC_CARVEOUT = 9 };
enum rt_limit { RT_LIMIT_STACK, RT_LIMIT_PRINTF, RT_LIMIT_HEAP, RT_LIMIT_COUNT };

struct rt_dim3 {
    unsigned x, y, z;
};

struct rt_uuid {
    char bytes[16];
};

struct rt_device_prop {
    char name[256];
    struct rt_uuid uuid;
    char luid[8];
    unsigned luidDeviceNodeMask;
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    size_t memPitch;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    size_t totalConstMem;
    int major;
    int minor;
    size_t textureAlignment;
    size_t texturePitchAlignment;
    int multiProcessorCount;
    int integrated;
    int canMapHostMemory;
    int maxTexture1D;
    int maxTexture1DMipmap;
    int maxTexture2D[2];
    int maxTexture2DMipmap[2];
    int maxTexture2DLinear[3];
    int maxTexture2DGather[2];
    int maxTexture3D[3];
    int maxTexture3DAlt[3];
    int maxTextureCubemap;
    int maxTexture1DLayered[2];
    int maxTexture2DLayered[3];
    int maxTextureCubemapLayered[2];
    int maxSurface1D;
    int maxSurface2D[2];
    int maxSurface3D[3];
    int maxSurface1DLayered[2];
    int maxSurface2DLayered[3];
    int maxSurfaceCubemap;
    int maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels;
    int ECCEnabled;
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    int tccDriver;
    int asyncEngineCount;
    int unifiedAddressing;
    int memoryBusWidth;
    int l2CacheSize;
    int persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported;
    int globalL1CacheSupported;
    int localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor;
    int managedMemory;
    int isMultiGpuBoard;
    int multiGpuBoardGroupID;
    int hostNativeAtomicSupported;
    int pageableMemoryAccess;
    int concurrentManagedAccess;
    int computePreemptionSupported;
    int canUseHostPointerForRegisteredMem;
    int cooperativeLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables;
    int directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported;
    int sparseCudaArraySupported;
    int hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported;
    int memoryPoolsSupported;
    int gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported;
    int ipcEventSupported;
    int clusterLaunch;
    int unifiedFunctionPointers;
    int deviceNumaConfig;
    int deviceNumaId;
    int mpsEnabled;
    int hostNumaId;
    unsigned gpuPciDeviceID;
    unsigned gpuPciSubsystemID;
    int hostNumaMultinodeIpcSupported;
    int reserved[56];
};

struct rt_func_attributes {
    size_t sharedSizeBytes;
    size_t constSizeBytes;
    size_t localSizeBytes;
    int maxThreadsPerBlock;
    int numRegs;
    int ptxVersion;
    int binaryVersion;
    int cacheModeCA;
    int maxDynamicSharedSizeBytes;
    int preferredShmemCarveout;
    int clusterDimMustBeSet;
    int requiredClusterWidth;
    int requiredClusterHeight;
    int requiredClusterDepth;
    int clusterSchedulingPolicyPreference;
    int nonPortableClusterSizeAllowed;
    int reserved[16];
};

struct rt_pointer_attributes {
    int type; /* enum rt_memory_type */
    int device;
    void *devicePointer;
    void *hostPointer;
    long reserved[8];
};

struct rt_pitched_ptr {
    void *ptr;
    size_t pitch, xsize, ysize;
};

struct rt_extent {
    size_t width, height, depth;
};

struct rt_pos {
    size_t x, y, z;
};

struct rt_copy_3d {
    void *srcArray;
    struct rt_pos srcPos;
    struct rt_pitched_ptr srcPtr;
    void *dstArray;
    struct rt_pos dstPos;
    struct rt_pitched_ptr dstPtr;
    struct rt_extent extent;
    int kind; /* enum rt_copy_kind */
};

struct rt_location {
    int type;
    int id;
};

struct rt_launch_config {
    struct rt_dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    void *stream;
    void *attrs; /* 72 bytes each: an int id, padding, 64 bytes of value */
    unsigned numAttrs;
};

struct rt_channel_desc {
    int x, y, z, w, f;
};

enum rt_channel_kind { RT_CHANNEL_SIGNED, RT_CHANNEL_UNSIGNED, RT_CHANNEL_FLOAT };
enum rt_array_flag { RT_ARRAY_LAYERED = 1, RT_ARRAY_SURFACE = 2, RT_ARRAY_GATHER = 8 };
enum rt_resource_type { RT_RESOURCE_ARRAY, RT_RESOURCE_MIPMAPPED, RT_RESOURCE_LINEAR, RT_RESOURCE_PITCH_2D };

struct rt_resource_desc {
    int resType;    /* enum rt_resource_type */
    size_t res[16]; /* a union: an array's handle, or one of the two below */
    unsigned flags;
};

struct rt_resource_linear {
    void *devPtr;
    struct rt_channel_desc desc;
    size_t sizeInBytes;
};

struct rt_resource_pitch {
    void *devPtr;
    struct rt_channel_desc desc;
    size_t width, height, pitchInBytes;
};

struct rt_texture_desc {
    int addressMode[3]; /* numbered as enum ws_texture_address */
    int filterMode;     /* 1 = linear */
    int readMode;       /* 1 = normalized float */
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
};

/* What nvcc's registration code hands over (fatbinary_section.h of the toolkit). */
struct rt_fatbin_wrapper {
    int magic, version;
    const void *data;
    void *filename_or_fatbins;
};
#define RT_VERSION 13000
#define RT_FATBIN_MAGIC 0x466243b1

#define RT_STREAM_LEGACY ((void *)1)
#define RT_STREAM_PER_THREAD ((void *)2)

#endif
