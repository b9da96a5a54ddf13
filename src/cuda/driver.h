/* SPDX-License-Identifier: MIT */
/* A loaded CUDA driver: NVIDIA's or the software twin. */
#ifndef CULVI_CUDA_DRIVER_H_
#define CULVI_CUDA_DRIVER_H_

#include "base/text.h"
#include "culvert/device.h"

#include <cuda.h>
#include <cudaTypedefs.h>

/* cudaGLTypedefs.h has these, for whoever has OpenGL's headers: GLuint and GLenum are unsigned. */
typedef CUresult(CUDAAPI *PFN_cuGraphicsGLRegisterBuffer_v3000)(CUgraphicsResource *resource,
                                                                unsigned buffer, unsigned flags);
typedef CUresult(CUDAAPI *PFN_cuGraphicsGLRegisterImage_v3000)(CUgraphicsResource *resource,
                                                               unsigned image, unsigned target,
                                                               unsigned flags);

#if defined(_WIN32)
/* Those of cudaD3D9Typedefs.h, cudaD3D10Typedefs.h and cudaD3D11Typedefs.h, which only NVIDIA's
 * toolkit for Windows has. COM pointers are void here. Source: CUDA driver API reference, "Direct3D
 * Interoperability". */
typedef CUresult(CUDAAPI *culvi_d3d_register_fn)(CUgraphicsResource *out, void *resource,
                                                 unsigned flags);
typedef CUresult(CUDAAPI *culvi_d3d_get_devices_fn)(unsigned *count, CUdevice *devices,
                                                    unsigned capacity, void *device, int list);
typedef CUresult(CUDAAPI *culvi_d3d_get_device_fn)(CUdevice *out, void *adapter);
typedef culvi_d3d_register_fn PFN_cuGraphicsD3D9RegisterResource_v3000,
    PFN_cuGraphicsD3D10RegisterResource_v3000, PFN_cuGraphicsD3D11RegisterResource_v3000;
typedef culvi_d3d_get_devices_fn PFN_cuD3D9GetDevices_v3020, PFN_cuD3D10GetDevices_v3020,
    PFN_cuD3D11GetDevices_v3020;
typedef culvi_d3d_get_device_fn PFN_cuD3D11GetDevice_v3000;
typedef CUresult(CUDAAPI *PFN_cuD3D9GetDevice_v2000)(CUdevice *out, const char *adapter_name);
#endif

/* The form of cuGetProcAddress that also reports a status of the symbol (CUDA 12.0). */
typedef PFN_cuGetProcAddress_v12000 culvi_get_proc_fn;

typedef struct culvi_cuda {
    void *module;
    culvi_get_proc_fn get_proc;
    culv_driver kind; /* CULV_DRIVER_NVIDIA or CULV_DRIVER_SOFT */
    int version;
#define CULV_CU(name, version, need) PFN_##name##_v##version name;
#include "cuda/cuda_procs.h"
#undef CULV_CU
} culvi_cuda;

void culvi_cuda_close(culvi_cuda *cuda);
void (*culvi_cuda_proc(const culvi_cuda *cuda, const char *name, int version))(void);
/* The form of a function whose stream 0 is the calling thread's default stream. */
void (*culvi_cuda_proc_per_thread(const culvi_cuda *cuda, const char *name, int version))(void);
const char *culvi_driver_name(culv_driver kind);

bool culvi_soft_allowed(void);
/* Asks the twin for the directory of the manifest of its Vulkan layer: "culvSoftLayerPath", or
 * "culvSoftAddLayerPath", which also tells this process's Vulkan loader of it, by the environment.
 * NULL: the twin, or the manifest beside it, is missing. */
const char *culvi_soft_ask(const char *function);

/* One device of one driver. */
typedef struct culvi_cuda_device {
    const culvi_cuda *cuda;
    CUdevice ordinal;
    char name[256];
    culv_uuid uuid; /* a MIG slice's own */
    bool mig;       /* the driver calls it a MIG slice */
    bool luid_valid;
    culv_luid luid;
    uint32_t node_mask;
} culvi_cuda_device;

/* The devices of the drivers that `kind` allows. */
typedef struct culvi_probe {
    culv_driver asked;
    culvi_cuda *drivers[2]; /* NVIDIA's, the twin; NULL when absent */
    culvi_cuda_device *devices;
    uint32_t num_devices;
    culv_reason reason;  /* why the first absent driver is absent; FORKED, if that is one's */
    char problems[2056]; /* the same in words, for each absent driver; the twin's is the first */
    /* The two parts of that. Who allowed the twin wants it, and reads first why it is absent. */
    char twin[1024], others[1024];
    culv_reason twin_reason;
} culvi_probe;

culv_result culvi_probe_open(const culvi_voice *voice, culv_driver kind, culvi_probe *probe);
void culvi_probe_close(culvi_probe *probe); /* closes the drivers that are still in it */
/* The device with this UUID, or NULL. */
const culvi_cuda_device *culvi_probe_find(const culvi_probe *probe, const culv_uuid *uuid);
/* The device with this LUID and node, or NULL. Then *linked says whether some devices have the LUID
 * with other nodes. */
const culvi_cuda_device *culvi_probe_find_luid(const culvi_probe *probe, const culv_luid *luid,
                                               uint32_t node_mask, bool *linked);
/* Names every device of the probe, and what hides others. */
void culvi_probe_describe(const culvi_probe *probe, culvi_text *text);
/* The same without why the twin is absent. */
void culvi_probe_describe_others(const culvi_probe *probe, culvi_text *text);

#endif
