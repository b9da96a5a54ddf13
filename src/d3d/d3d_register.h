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

/* A resource of Direct3D 10 or 11 as one of its kinds. Their flags have the same numbers. */
typedef struct culvi_d3d_shape {
    bool is_buffer;
    uint64_t size; /* a buffer's bytes, or a texture's texels without gaps; 0: unknown */
    uint32_t misc; /* D3D11_RESOURCE_MISC_FLAG */
    uint32_t bind; /* D3D11_BIND_FLAG */
    int usage;     /* D3D11_USAGE */
    culvi_d3d_texture texture;
} culvi_d3d_shape;

uint64_t culvi_d3d_texels_size(const culvi_d3d_texture *texture);
/* `sharing`: the flags of what can be shared. */
culvi_d3d_candidate culvi_d3d_candidate_of(int version, const culvi_d3d_shape *shape,
                                           uint32_t sharing, void *resource);

#define CULVI_D3D_FLAGS_OF(d) .misc = (d).MiscFlags, .bind = (d).BindFlags, .usage = (int)(d).Usage
#define CULVI_D3D_READ_TEXTURE(n, sides, resource, s)                                              \
    do {                                                                                           \
        D3D##n##_TEXTURE##sides##D_DESC d;                                                         \
        ID3D##n##Texture##sides##D_GetDesc((ID3D##n##Texture##sides##D *)(resource), &d);          \
        (s) =                                                                                      \
            (culvi_d3d_shape){.texture = CULVI_D3D_TEXTURE_##sides##D(d), CULVI_D3D_FLAGS_OF(d)};  \
        (s).size = culvi_d3d_texels_size(&(s).texture);                                            \
    } while (0)
/* shape_of(), and culvi_d3d_version::look of Direct3D 10 or 11. */
#define CULVI_D3D_SHAPES(n, sharing)                                                               \
    static culvi_d3d_shape shape_of(void *resource)                                                \
    {                                                                                              \
        culvi_d3d_shape s;                                                                         \
        D3D##n##_RESOURCE_DIMENSION dimension = D3D##n##_RESOURCE_DIMENSION_UNKNOWN;               \
        ID3D##n##Resource_GetType((ID3D##n##Resource *)resource, &dimension);                      \
        if (dimension == D3D##n##_RESOURCE_DIMENSION_BUFFER) {                                     \
            D3D##n##_BUFFER_DESC d;                                                                \
            ID3D##n##Buffer_GetDesc((ID3D##n##Buffer *)resource, &d);                              \
            s = (culvi_d3d_shape){.is_buffer = true, .size = d.ByteWidth, CULVI_D3D_FLAGS_OF(d)};  \
        } else if (dimension == D3D##n##_RESOURCE_DIMENSION_TEXTURE1D)                             \
            CULVI_D3D_READ_TEXTURE(n, 1, resource, s);                                             \
        else if (dimension == D3D##n##_RESOURCE_DIMENSION_TEXTURE3D)                               \
            CULVI_D3D_READ_TEXTURE(n, 3, resource, s);                                             \
        else                                                                                       \
            CULVI_D3D_READ_TEXTURE(n, 2, resource, s);                                             \
        return s;                                                                                  \
    }                                                                                              \
    static culv_result look(const culvi_voice *voice, const char *label, void *resource,           \
                            culvi_d3d_candidate *out, culv_luid *luid, bool *software)             \
    {                                                                                              \
        const culvi_d3d_shape s = shape_of(resource);                                              \
        ID3D##n##Device *device = NULL;                                                            \
        *out = culvi_d3d_candidate_of(n, &s, sharing, resource);                                   \
        ID3D##n##Resource_GetDevice((ID3D##n##Resource *)resource, &device);                       \
        culv_result result =                                                                       \
            culvi_d3d_read_adapter(&culvi_d3d##n##_version, voice, label, device, luid, software); \
        ID3D##n##Device_Release(device);                                                           \
        return result;                                                                             \
    }

#endif
