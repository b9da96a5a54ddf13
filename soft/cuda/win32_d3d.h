/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: resources of Direct3D 9, 10 and 11 that are registered with it. It serves
 * under Wine, and is as strict as the text of NVIDIA's driver API reference. */
#ifndef SOFT_WIN32_D3D_H_
#define SOFT_WIN32_D3D_H_

#include "graphics.h"

struct soft_d3d;

/* What differs by version. */
struct soft_d3d_calls {
    /* What a resource is: is_image, size or desc and levels, of `out`; its adapter's LUID; and
     * *resource, what the other calls get, with a reference. INVALID_HANDLE: nothing that CUDA
     * registers; UNKNOWN: it cannot be registered. */
    CUresult (*look)(void *object, struct soft_graphics *out, uint8_t luid[8], void **resource);
    void (*read)(struct soft_d3d *r);
    void (*write)(struct soft_d3d *r);
};
extern const struct soft_d3d_calls soft_d3d9, soft_d3d10, soft_d3d11;

struct soft_d3d {
    struct soft_graphics base;
    const struct soft_d3d_calls *calls;
    void *resource; /* a COM reference */
    struct soft_d3d *next;
};

/* Texels of a format: false, where CUDA registers none of it. */
bool soft_d3d_format(unsigned dxgi, CUarray_format *format, unsigned *channels);
/* The first byte of a layer of a mapped level, and what its rows have. */
struct soft_d3d_rows {
    uint8_t *start;
    size_t row, rows, slices, pitch, slice;
};
struct soft_d3d_rows soft_d3d_rows(const struct soft_d3d *r, unsigned level, unsigned layer);
void soft_d3d_copy_rows(const struct soft_d3d_rows *rows, void *there, size_t pitch, size_t slice,
                        bool from_there);
/* False: it does not say. */
bool soft_d3d9_device_luid(void *device, uint8_t luid[8]);
bool soft_d3d9_adapter_luid(const char *name, uint8_t luid[8]);

/* --- what NVIDIA's cudaD3D9.h, cudaD3D10.h and cudaD3D11.h declare, which only its Windows toolkit
 * has. COM pointers are void here. */
CUresult CUDAAPI cuD3D9GetDevice(CUdevice *pCudaDevice, const char *pszAdapterName);
CUresult CUDAAPI cuD3D9GetDevices(unsigned int *pCudaDeviceCount, CUdevice *pCudaDevices,
                                  unsigned int cudaDeviceCount, void *pD3D9Device, int deviceList);
CUresult CUDAAPI cuGraphicsD3D9RegisterResource(CUgraphicsResource *pCudaResource,
                                                void *pD3DResource, unsigned int Flags);
CUresult CUDAAPI cuD3D10GetDevice(CUdevice *pCudaDevice, void *pAdapter);
CUresult CUDAAPI cuD3D10GetDevices(unsigned int *pCudaDeviceCount, CUdevice *pCudaDevices,
                                   unsigned int cudaDeviceCount, void *pD3D10Device,
                                   int deviceList);
CUresult CUDAAPI cuGraphicsD3D10RegisterResource(CUgraphicsResource *pCudaResource,
                                                 void *pD3DResource, unsigned int Flags);
CUresult CUDAAPI cuD3D11GetDevice(CUdevice *pCudaDevice, void *pAdapter);
CUresult CUDAAPI cuD3D11GetDevices(unsigned int *pCudaDeviceCount, CUdevice *pCudaDevices,
                                   unsigned int cudaDeviceCount, void *pD3D11Device,
                                   int deviceList);
CUresult CUDAAPI cuGraphicsD3D11RegisterResource(CUgraphicsResource *pCudaResource,
                                                 void *pD3DResource, unsigned int Flags);

/* Rows of procs.c; the versions are cudaD3D9Typedefs.h's and so on. */
// clang-format off
#define SOFT_PROCS_D3D(X) \
    X(cuD3D9GetDevice, 2000, cuD3D9GetDevice) \
    X(cuD3D9GetDevices, 3020, cuD3D9GetDevices) \
    X(cuGraphicsD3D9RegisterResource, 3000, cuGraphicsD3D9RegisterResource) \
    X(cuD3D10GetDevice, 2010, cuD3D10GetDevice) \
    X(cuD3D10GetDevices, 3020, cuD3D10GetDevices) \
    X(cuGraphicsD3D10RegisterResource, 3000, cuGraphicsD3D10RegisterResource) \
    X(cuD3D11GetDevice, 3000, cuD3D11GetDevice) \
    X(cuD3D11GetDevices, 3020, cuD3D11GetDevices) \
    X(cuGraphicsD3D11RegisterResource, 3000, cuGraphicsD3D11RegisterResource)
// clang-format on

#endif
