/* SPDX-License-Identifier: MIT */
/* Registered resources of Direct3D, inside. It brings Windows' headers, so it is included before
 * everything but them. */
#ifndef CULVI_D3D_D3D_REGISTER_H_
#define CULVI_D3D_D3D_REGISTER_H_

#include "d3d/d3d_common.h"
/* after it */
#include "core/registration.h"
#include "d3d/d3d_image.h"

/* What differs by version of Direct3D. */
typedef struct culvi_d3d_version culvi_d3d_version;
struct culvi_d3d_version {
    const char *name;    /* "Direct3D 11" */
    const char *device;  /* "ID3D11Device" */
    const char *removed; /* "ID3D11Device::GetDeviceRemovedReason" */
    /* The driver's, which `has` looks for. */
    const char *cuda_register, *cuda_get_devices;
    GUID device_iid, resource_iid;
    /* The adapter of a device. *software, which may be NULL: it is one of Microsoft's
     * rasterizers. */
    culv_result (*read_luid)(const culvi_d3d_version *version, const culvi_voice *voice,
                             const char *label, void *device, culv_luid *luid, bool *software);
    bool (*has)(const culvi_cuda *cuda);
    culvi_register_fn make; /* `what` is the resource */
    /* Looks at a resource and at its device, and refuses what a candidate does not say. */
    culv_result (*look)(const culvi_voice *voice, const char *label, void *resource,
                        culvi_d3d_candidate *out, culv_luid *luid, bool *software);
    CUresult (*get_devices)(const culvi_cuda *cuda, void *device, unsigned list, unsigned capacity,
                            CUdevice *devices, unsigned *count);
};

/* The driver's calls for a version. `more`: what `has` asks besides. */
#define CULVI_D3D_DRIVERS_CALLS(register_call, devices_call, more)                                 \
    static bool has(const culvi_cuda *cuda)                                                        \
    {                                                                                              \
        return cuda->register_call != NULL && cuda->devices_call != NULL more;                     \
    }                                                                                              \
    static CUresult register_resource(const culv_device *device, const void *what, unsigned flags, \
                                      CUgraphicsResource *out)                                     \
    {                                                                                              \
        void *resource = (void *)(uintptr_t)what;                                                  \
        return CULVI_CU(device, register_call, (out, resource, flags));                            \
    }                                                                                              \
    static CUresult get_devices(const culvi_cuda *cuda, void *device, unsigned list,               \
                                unsigned capacity, CUdevice *devices, unsigned *count)             \
    {                                                                                              \
        return cuda->devices_call(count, devices, capacity, device, (int)list);                    \
    }                                                                                              \
    enum { DRIVERS_CALLS_END }
#define CULVI_D3D_DRIVERS(register_call, devices_call)                                             \
    .cuda_register = #register_call, .cuda_get_devices = #devices_call, .has = has,                \
    .make = register_resource, .get_devices = get_devices

extern const culvi_d3d_version culvi_d3d9_version, culvi_d3d10_version, culvi_d3d11_version;

extern const GUID culvi_iid_dxgi_adapter, culvi_iid_dxgi_resource;

/* culvi_d3d_version::read_luid of Direct3D 10 and 11. */
culv_result culvi_d3d_read_adapter(const culvi_d3d_version *version, const culvi_voice *voice,
                                   const char *label, void *device, culv_luid *luid,
                                   bool *software);
/* Whether it is of a swap chain. */
bool culvi_d3d_is_back_buffer(void *resource);

#endif
