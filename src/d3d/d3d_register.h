/* SPDX-License-Identifier: MIT */
/* Registered resources of Direct3D, inside. It brings Windows' headers, so it is included before
 * everything but them. */
#ifndef CULVI_D3D_D3D_REGISTER_H_
#define CULVI_D3D_D3D_REGISTER_H_

#include "d3d/d3d_common.h"
/* after it */
#include "core/registration.h"
#include "d3d/d3d_candidate.h"

/* What differs by version of Direct3D. */
typedef struct culvi_d3d_version {
    const char *name;    /* "Direct3D 11" */
    const char *device;  /* "ID3D11Device" */
    const char *removed; /* "ID3D11Device::GetDeviceRemovedReason" */
    /* The driver's, which `has` looks for. */
    const char *cuda_register, *cuda_get_devices;
    GUID device_iid, resource_iid;
    /* The adapter of a device. */
    culv_result (*read_luid)(const culvi_voice *voice, const char *label, void *device,
                             culv_luid *out);
    bool (*has)(const culvi_cuda *cuda);
    culvi_register_fn make; /* `what` is the resource */
    /* Looks at a resource and at its device, and refuses what a candidate does not say. */
    culv_result (*look)(const culvi_voice *voice, const char *label, void *resource,
                        culvi_d3d_candidate *out, culv_luid *luid, bool *software);
    CUresult (*get_devices)(const culvi_cuda *cuda, void *device, unsigned list, unsigned capacity,
                            CUdevice *devices, unsigned *count);
} culvi_d3d_version;

extern const culvi_d3d_version culvi_d3d9_version, culvi_d3d10_version, culvi_d3d11_version;

extern const GUID culvi_iid_dxgi_adapter;

/* d3d_devices.c. Reads the adapter of a device of Direct3D 10 or 11. *software, which may be NULL:
 * it is one of Microsoft's rasterizers. */
culv_result culvi_d3d_read_adapter(const culvi_d3d_version *version, const culvi_voice *voice,
                                   const char *label, void *device, culv_luid *luid,
                                   bool *software);

#endif
