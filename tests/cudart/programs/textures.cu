/* SPDX-License-Identifier: MIT
 * textures.cu: textures on linear memory, pitched memory and arrays, surfaces, copies of arrays. The expected values come
 * from the formulas of the CUDA C++ Programming Guide, "Texture Fetching", written down here once more. */
#include "program.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <cuda_fp16.h>

/* --- expected values --- */

struct rules {
    cudaTextureAddressMode mode;
    cudaTextureFilterMode filter;
    bool normalized;
    float border;
};

/* One axis: the elements that take part and their weights; -1: the border. */
struct part {
    int at[2];
    double weight[2];
};

static int element(const rules &r, int i, int n)
{
    if (i >= 0 && i < n)
        return i;
    if (r.mode == cudaAddressModeBorder)
        return -1;
    if (r.mode == cudaAddressModeWrap && r.normalized)
        return ((i % n) + n) % n;
    return i < 0 ? 0 : n - 1;
}

static part axis(const rules &r, float coordinate, int n)
{
    double x = coordinate;
    if (r.normalized && r.mode == cudaAddressModeWrap)
        x -= std::floor(x);
    if (r.normalized && r.mode == cudaAddressModeMirror) {
        double whole = std::floor(x);
        x = std::fmod(whole, 2.0) == 0 ? x - whole : 1 - (x - whole);
    }
    if (r.normalized)
        x *= n;
    if (r.filter == cudaFilterModePoint)
        return {{element(r, (int)std::floor(x), n), 0}, {1, 0}};
    double low = std::floor(x - 0.5), alpha = std::floor((x - 0.5 - low) * 256 + 0.5) / 256;
    return {{element(r, (int)low, n), element(r, (int)low + 1, n)}, {1 - alpha, alpha}};
}

/* value(x, y, z) of an element */
template <class V> static float expected(const rules &r, const float c[3], const int n[3], V value)
{
    part p[3];
    double sum = 0;
    for (int k = 0; k < 3; k++)
        p[k] = n[k] ? axis(r, c[k], n[k]) : part{{0, 0}, {1, 0}};
    for (int corner = 0; corner < 8; corner++) {
        int at[3];
        double weight = 1;
        for (int k = 0; k < 3; k++) {
            at[k] = p[k].at[corner >> k & 1];
            weight *= p[k].weight[corner >> k & 1];
        }
        if (weight != 0)
            sum += weight * (at[0] < 0 || at[1] < 0 || at[2] < 0 ? r.border : value(at[0], at[1], at[2]));
    }
    return (float)sum;
}

/* --- kernels --- */

template <class T> __global__ void fetch_linear(cudaTextureObject_t t, T *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex1Dfetch<T>(t, i - 4);
}
/* c: three coordinates a thread; kind: 1, 2, 3 dimensions, -1, -2: with a layer, which is c[3i + 2] */
__global__ void fetch(cudaTextureObject_t t, const float *c, float *out, int n, int kind)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = c[3 * i], y = c[3 * i + 1], z = c[3 * i + 2];
    out[i] = kind == 1    ? tex1D<float>(t, x)
             : kind == 2  ? tex2D<float>(t, x, y)
             : kind == 3  ? tex3D<float>(t, x, y, z)
             : kind == -1 ? tex1DLayered<float>(t, x, (int)z)
             : kind == -2 ? tex2DLayered<float>(t, x, y, (int)z)
                          : tex2DLod<float>(t, x, y, 0.0f);
}
template <class T> __global__ void fetch_as(cudaTextureObject_t t, const float *c, T *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex2D<T>(t, c[3 * i], c[3 * i + 1]);
}
__global__ void gather(cudaTextureObject_t t, const float *c, float4 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex2Dgather<float4>(t, c[3 * i], c[3 * i + 1], 1);
}
__global__ void surface_add(cudaSurfaceObject_t s, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width || y >= height)
        return;
    float2 v = surf2Dread<float2>(s, x * 8, y);
    v.x += 1;
    v.y *= 2;
    surf2Dwrite(v, s, x * 8, y);
    surf2Dwrite(v, s, (x + 1000) * 8, y, cudaBoundaryModeZero); /* goes nowhere */
}
__global__ void surface_edges(cudaSurfaceObject_t s, float2 *out)
{
    int x = (int)threadIdx.x - 8;
    out[threadIdx.x] = surf2Dread<float2>(s, x * 8, 0, cudaBoundaryModeClamp);
    out[threadIdx.x + 32] = surf2Dread<float2>(s, x * 8, 0, cudaBoundaryModeZero);
}
__global__ void surface_forms(cudaSurfaceObject_t volume, cudaSurfaceObject_t layers, cudaSurfaceObject_t line)
{
    int x = threadIdx.x;
    for (int z = 0; z < 3; z++) {
        unsigned char v = surf3Dread<unsigned char>(volume, x, 1, z);
        surf3Dwrite((unsigned char)(v + z), volume, x, 1, z);
        ushort4 u = surf2DLayeredread<ushort4>(layers, x * 8, 0, z);
        u.w = (unsigned short)(u.x + z);
        surf2DLayeredwrite(u, layers, x * 8, 0, z);
    }
    surf1Dwrite(surf1Dread<int>(line, x * 4) * 3, line, x * 4);
}

/* --- objects --- */

static cudaTextureObject_t texture(const cudaResourceDesc &resource, const rules &r, bool as_float = false)
{
    cudaTextureDesc d;
    cudaTextureObject_t t;
    memset(&d, 0, sizeof d);
    for (int k = 0; k < 3; k++)
        d.addressMode[k] = r.mode;
    for (int k = 0; k < 4; k++)
        d.borderColor[k] = r.border;
    d.filterMode = r.filter;
    d.normalizedCoords = r.normalized;
    d.readMode = as_float ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    OK(cudaCreateTextureObject(&t, &resource, &d, nullptr));
    return t;
}

static cudaResourceDesc of_array(cudaArray_t array)
{
    cudaResourceDesc d;
    memset(&d, 0, sizeof d);
    d.resType = cudaResourceTypeArray;
    d.res.array.array = array;
    return d;
}

static cudaSurfaceObject_t surface(cudaArray_t array)
{
    cudaResourceDesc d = of_array(array);
    cudaSurfaceObject_t s;
    OK(cudaCreateSurfaceObject(&s, &d));
    return s;
}

/* Coordinates around the texture, on and between elements, and far away. */
static std::vector<float> coordinates(const int n[3], bool normalized)
{
    std::vector<float> c;
    unsigned random = 12345;
    for (int i = 0; i < 700; i++)
        for (int k = 0; k < 3; k++) {
            float span = n[k] ? (float)n[k] : 1.0f, x;
            random = random * 1664525u + 1013904223u;
            x = i % 50 == 7 ? ((float)(random >> 24) - 128) * 1000 : ((float)(random >> 8) / 16777216.0f * 3 - 1) * span;
            if (i % 3 == 0)
                x = std::floor(x * 4) / 4;
            c.push_back(normalized ? x / span : x);
        }
    return c;
}

static bool equal(const std::vector<float> &a, const std::vector<float> &b)
{
    for (size_t i = 0; i < a.size(); i++)
        if (!(std::fabs(a[i] - b[i]) <= 1e-6f * std::fmax(1.0f, std::fabs(b[i])))) {
            printf("element %zu is %.9g, not %.9g\n", i, a[i], b[i]);
            return false;
        }
    return a.size() == b.size();
}

/* --- tests --- */

template <class T> static bool linear_of(const std::vector<T> &data)
{
    buffer<T> memory(data), out(data.size() + 8);
    cudaResourceDesc d;
    memset(&d, 0, sizeof d);
    d.resType = cudaResourceTypeLinear;
    d.res.linear.devPtr = memory.device;
    d.res.linear.desc = cudaCreateChannelDesc<T>();
    d.res.linear.sizeInBytes = data.size() * sizeof(T);
    cudaTextureObject_t t = texture(d, {cudaAddressModeWrap, cudaFilterModePoint, false, 5});
    int n = (int)data.size() + 8;
    fetch_linear<T><<<(n + 63) / 64, 64>>>(t, out.device, n);
    std::vector<T> got = out.host(), want(n);
    memset(want.data(), 0, n * sizeof(T));
    memcpy(want.data() + 4, data.data(), data.size() * sizeof(T));
    OK(cudaDestroyTextureObject(t));
    return memcmp(got.data(), want.data(), n * sizeof(T)) == 0;
}

static bool linear_memory()
{
    std::vector<float> f(100);
    std::vector<float4> f4(33);
    std::vector<short> s(70);
    std::vector<uchar2> u(65);
    for (int i = 0; i < 100; i++)
        f[i] = i * 0.37f - 3;
    for (int i = 0; i < 33; i++)
        f4[i] = make_float4(i, -i, i * i, 0.5f);
    for (int i = 0; i < 70; i++)
        s[i] = (short)(i * 901 - 30000);
    for (int i = 0; i < 65; i++)
        u[i] = make_uchar2((unsigned char)(i * 7), (unsigned char)(255 - i));
    return linear_of(f) && linear_of(f4) && linear_of(s) && linear_of(u);
}

/* All address modes, filters and kinds of coordinates on one array. dims as in fetch(). */
static bool array_of(int dims, const int n[3], unsigned flags)
{
    int layers = dims < 0 ? 3 : 0, planes = layers ? layers : n[2] ? n[2] : 1, rows = n[1] ? n[1] : 1;
    std::vector<float> data((size_t)n[0] * rows * planes);
    for (size_t i = 0; i < data.size(); i++)
        data[i] = (float)((i * 2654435761u >> 8) % 1000) / 8 - 50;
    cudaArray_t array;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    OK(cudaMalloc3DArray(&array, &desc, make_cudaExtent(n[0], n[1], layers ? layers : n[2]), flags));
    cudaMemcpy3DParms copy;
    memset(&copy, 0, sizeof copy);
    copy.srcPtr = make_cudaPitchedPtr(data.data(), n[0] * sizeof(float), n[0], rows);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(n[0], rows, planes);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    bool good = true;
    for (int c = 0; c < 16; c++) {
        rules r = {(cudaTextureAddressMode)(c & 3), c & 4 ? cudaFilterModeLinear : cudaFilterModePoint, (c & 8) != 0, -7.25f};
        int around[3] = {n[0], n[1], layers ? 0 : n[2]};
        std::vector<float> where = coordinates(around, r.normalized), want;
        for (size_t i = 0; layers && i < where.size() / 3; i++)
            where[3 * i + 2] = (float)(i % 3); /* which layer */
        buffer<float> at(where), out(where.size() / 3);
        cudaTextureObject_t t = texture(of_array(array), r);
        fetch<<<((int)out.n + 127) / 128, 128>>>(t, at.device, out.device, (int)out.n, dims);
        for (size_t i = 0; i < out.n; i++)
            want.push_back(expected(r, &where[3 * i], around, [&](int x, int y, int z) {
                size_t plane = layers ? (size_t)where[3 * i + 2] : (size_t)z;
                return data[(plane * rows + y) * n[0] + x];
            }));
        good = good && equal(out.host(), want);
        if (!good)
            printf("dims %d, mode %d, filter %d, normalized %d\n", dims, r.mode, r.filter, r.normalized);
        OK(cudaDestroyTextureObject(t));
    }
    OK(cudaFreeArray(array));
    return good;
}

static bool pitched_memory()
{
    const int n[3] = {37, 11, 0};
    std::vector<float> data(n[0] * n[1]), want;
    for (size_t i = 0; i < data.size(); i++)
        data[i] = (float)(i * i % 97);
    float *memory;
    size_t pitch;
    OK(cudaMallocPitch(&memory, &pitch, n[0] * 4, n[1]));
    OK(cudaMemcpy2D(memory, pitch, data.data(), n[0] * 4, n[0] * 4, n[1], cudaMemcpyHostToDevice));
    cudaResourceDesc d;
    memset(&d, 0, sizeof d);
    d.resType = cudaResourceTypePitch2D;
    d.res.pitch2D.devPtr = memory;
    d.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    d.res.pitch2D.width = n[0];
    d.res.pitch2D.height = n[1];
    d.res.pitch2D.pitchInBytes = pitch;
    rules r = {cudaAddressModeMirror, cudaFilterModeLinear, true, 0};
    cudaTextureObject_t t = texture(d, r);
    std::vector<float> where = coordinates(n, true);
    buffer<float> at(where), out(where.size() / 3);
    fetch<<<((int)out.n + 127) / 128, 128>>>(t, at.device, out.device, (int)out.n, 0); /* by level 0 */
    for (size_t i = 0; i < out.n; i++)
        want.push_back(expected(r, &where[3 * i], n, [&](int x, int y, int) { return data[y * n[0] + x]; }));
    bool good = equal(out.host(), want);
    OK(cudaDestroyTextureObject(t));
    OK(cudaFree(memory));
    return good;
}

/* Bytes and halves, read as they are and as floats. */
static bool formats()
{
    const int n[3] = {16, 8, 0};
    std::vector<uchar4> bytes(n[0] * n[1]);
    std::vector<short> words(n[0] * n[1]);
    std::vector<__half> halves(n[0] * n[1]);
    for (size_t i = 0; i < bytes.size(); i++) {
        bytes[i] = make_uchar4((unsigned char)i, (unsigned char)(2 * i), (unsigned char)(3 * i), (unsigned char)(255 - i));
        words[i] = (short)(i * 600 - 32768);
        halves[i] = __float2half((float)i * 0.125f - 3);
    }
    cudaArray_t a, b, c;
    cudaChannelFormatDesc of_bytes = cudaCreateChannelDesc<uchar4>(), of_words = cudaCreateChannelDesc<short>(),
                          of_halves = cudaCreateChannelDescHalf();
    OK(cudaMallocArray(&a, &of_bytes, n[0], n[1]));
    OK(cudaMallocArray(&b, &of_words, n[0], n[1]));
    OK(cudaMallocArray(&c, &of_halves, n[0], n[1]));
    OK(cudaMemcpy2DToArray(a, 0, 0, bytes.data(), n[0] * 4, n[0] * 4, n[1], cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DToArray(b, 0, 0, words.data(), n[0] * 2, n[0] * 2, n[1], cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DToArray(c, 0, 0, halves.data(), n[0] * 2, n[0] * 2, n[1], cudaMemcpyHostToDevice));
    rules point = {cudaAddressModeClamp, cudaFilterModePoint, false, 0}, mixed = {cudaAddressModeClamp, cudaFilterModeLinear, false, 0};
    std::vector<float> where = coordinates(n, false), want, fourth;
    buffer<float> at(where), out(where.size() / 3);
    buffer<uchar4> raw(out.n);
    buffer<float4> four(out.n);
    int blocks = ((int)out.n + 127) / 128;
    cudaTextureObject_t t[4] = {texture(of_array(a), point), texture(of_array(a), mixed, true), texture(of_array(b), mixed, true),
                                texture(of_array(c), mixed)};
    bool good = true;
    fetch_as<uchar4><<<blocks, 128>>>(t[0], at.device, raw.device, (int)out.n);
    fetch_as<float4><<<blocks, 128>>>(t[1], at.device, four.device, (int)out.n);
    std::vector<uchar4> whole = raw.host();
    std::vector<float4> floats = four.host();
    for (size_t i = 0; i < out.n; i++) {
        auto third = [&](int x, int y, int) { return (float)bytes[y * n[0] + x].z; };
        good = good && (float)whole[i].z == expected(point, &where[3 * i], n, third);
        want.push_back(expected(mixed, &where[3 * i], n, [&](int x, int y, int z) { return third(x, y, z) / 255.0f; }));
        fourth.push_back(floats[i].z);
    }
    good = good && equal(fourth, want);
    fetch<<<blocks, 128>>>(t[2], at.device, out.device, (int)out.n, 2);
    for (size_t i = 0; i < out.n; i++)
        want[i] = expected(mixed, &where[3 * i], n, [&](int x, int y, int) { return std::fmax(-1.0f, words[y * n[0] + x] / 32767.0f); });
    good = good && equal(out.host(), want);
    fetch<<<blocks, 128>>>(t[3], at.device, out.device, (int)out.n, 2);
    for (size_t i = 0; i < out.n; i++)
        want[i] = expected(mixed, &where[3 * i], n, [&](int x, int y, int) { return __half2float(halves[y * n[0] + x]); });
    good = good && equal(out.host(), want);
    for (cudaTextureObject_t one : t)
        OK(cudaDestroyTextureObject(one));
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
    OK(cudaFreeArray(c));
    return good;
}

static bool gathers()
{
    const int n[3] = {12, 9, 0};
    std::vector<float2> data(n[0] * n[1]);
    for (size_t i = 0; i < data.size(); i++)
        data[i] = make_float2(-1, (float)i);
    cudaArray_t array;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float2>();
    OK(cudaMallocArray(&array, &desc, n[0], n[1], cudaArrayTextureGather));
    OK(cudaMemcpyToArray(array, 0, 0, data.data(), data.size() * 8, cudaMemcpyHostToDevice));
    rules r = {cudaAddressModeClamp, cudaFilterModePoint, false, 0};
    cudaTextureObject_t t = texture(of_array(array), r);
    std::vector<float> where = coordinates(n, false);
    buffer<float> at(where);
    buffer<float4> out(where.size() / 3);
    gather<<<((int)out.n + 127) / 128, 128>>>(t, at.device, out.device, (int)out.n);
    std::vector<float4> got = out.host();
    bool good = true;
    for (size_t i = 0; i < out.n; i++) {
        int x = (int)std::floor(where[3 * i] - 0.5f), y = (int)std::floor(where[3 * i + 1] - 0.5f);
        auto v = [&](int dx, int dy) { return data[element(r, y + dy, n[1]) * n[0] + element(r, x + dx, n[0])].y; };
        good = good && got[i].x == v(0, 1) && got[i].y == v(1, 1) && got[i].z == v(1, 0) && got[i].w == v(0, 0);
    }
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(array));
    return good;
}

static bool surfaces()
{
    const int width = 40, height = 5;
    std::vector<float2> data(width * height), back(width * height);
    for (int i = 0; i < width * height; i++)
        data[i] = make_float2((float)i, 0.5f * i);
    cudaArray_t a, b;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float2>();
    OK(cudaMallocArray(&a, &desc, width, height, cudaArraySurfaceLoadStore));
    OK(cudaMallocArray(&b, &desc, width, height));
    OK(cudaMemcpy2DToArray(b, 0, 0, data.data(), width * 8, width * 8, height, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DArrayToArray(a, 0, 0, b, 0, 0, width * 8, height));
    cudaSurfaceObject_t s = surface(a);
    buffer<float2> edges(64);
    surface_add<<<dim3(2, height), 32>>>(s, width, height);
    surface_edges<<<1, 32>>>(s, edges.device);
    OK(cudaMemcpy2DFromArray(back.data(), width * 8, a, 0, 0, width * 8, height, cudaMemcpyDeviceToHost));
    std::vector<float2> e = edges.host();
    bool good = true;
    for (int i = 0; i < width * height; i++)
        good = good && back[i].x == data[i].x + 1 && back[i].y == data[i].y * 2;
    for (int i = 0; i < 32; i++)
        good = good && e[i].x == back[i < 8 ? 0 : i - 8].x && e[i + 32].x == (i < 8 ? 0 : back[i - 8].x);
    OK(cudaDestroySurfaceObject(s));
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
    return good;
}

static bool surface_shapes()
{
    std::vector<unsigned char> volume(32 * 2 * 3), v2(32 * 2 * 3);
    std::vector<ushort4> layers(32 * 3), l2(32 * 3);
    std::vector<int> line(32), i2(32);
    for (size_t i = 0; i < volume.size(); i++)
        volume[i] = (unsigned char)(i * 3);
    for (size_t i = 0; i < layers.size(); i++)
        layers[i] = make_ushort4((unsigned short)(i * 500), 1, 2, 3);
    for (int i = 0; i < 32; i++)
        line[i] = i - 9;
    cudaArray_t a, b, c;
    cudaChannelFormatDesc da = cudaCreateChannelDesc<unsigned char>(), db = cudaCreateChannelDesc<ushort4>(), dc = cudaCreateChannelDesc<int>();
    OK(cudaMalloc3DArray(&a, &da, make_cudaExtent(32, 2, 3), cudaArraySurfaceLoadStore));
    OK(cudaMalloc3DArray(&b, &db, make_cudaExtent(32, 1, 3), cudaArraySurfaceLoadStore | cudaArrayLayered));
    OK(cudaMallocArray(&c, &dc, 32, 0, cudaArraySurfaceLoadStore));
    auto move = [](cudaArray_t array, void *host, size_t bytes, cudaExtent extent, bool is_back) {
        cudaMemcpy3DParms p;
        memset(&p, 0, sizeof p);
        (is_back ? p.dstPtr : p.srcPtr) = make_cudaPitchedPtr(host, extent.width * bytes, extent.width, extent.height);
        (is_back ? p.srcArray : p.dstArray) = array;
        p.extent = extent;
        p.kind = is_back ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
        OK(cudaMemcpy3D(&p));
    };
    move(a, volume.data(), 1, make_cudaExtent(32, 2, 3), false);
    move(b, layers.data(), 8, make_cudaExtent(32, 1, 3), false);
    OK(cudaMemcpyToArray(c, 0, 0, line.data(), 128, cudaMemcpyHostToDevice));
    cudaSurfaceObject_t s[3] = {surface(a), surface(b), surface(c)};
    surface_forms<<<1, 32>>>(s[0], s[1], s[2]);
    move(a, v2.data(), 1, make_cudaExtent(32, 2, 3), true);
    move(b, l2.data(), 8, make_cudaExtent(32, 1, 3), true);
    OK(cudaMemcpyFromArray(i2.data(), c, 0, 0, 128, cudaMemcpyDeviceToHost));
    bool good = true;
    for (int z = 0; z < 3; z++)
        for (int x = 0; x < 32; x++) {
            good = good && v2[(z * 2) * 32 + x] == volume[(z * 2) * 32 + x] &&
                   v2[(z * 2 + 1) * 32 + x] == (unsigned char)(volume[(z * 2 + 1) * 32 + x] + z);
            good = good && l2[z * 32 + x].w == (unsigned short)(layers[z * 32 + x].x + z) && l2[z * 32 + x].y == 1;
            good = good && i2[x] == line[x] * 3;
        }
    for (cudaSurfaceObject_t one : s)
        OK(cudaDestroySurfaceObject(one));
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
    OK(cudaFreeArray(c));
    return good;
}

int main()
{
    const int line[3] = {23, 0, 0}, plane[3] = {17, 13, 0}, volume[3] = {7, 6, 5};
    check("linear memory", linear_memory());
    check("one dimension", array_of(1, line, 0));
    check("two dimensions", array_of(2, plane, 0));
    check("three dimensions", array_of(3, volume, 0));
    check("layers of lines", array_of(-1, line, cudaArrayLayered));
    check("layers", array_of(-2, plane, cudaArrayLayered));
    check("pitched memory", pitched_memory());
    check("formats", formats());
    check("gathers", gathers());
    check("surfaces", surfaces());
    check("shapes of surfaces", surface_shapes());
    return failed;
}
