/* SPDX-License-Identifier: MIT */
/* Culvert: registers buffers and textures of your own Direct3D 9, 10 or 11 program with CUDA, the
 * old way (cuGraphicsD3D11RegisterResource and similar calls). CUDA may use a resource from
 * culv_registration_map() to culv_registration_unmap(), and Direct3D at all other times. The two
 * calls order both sides: no fence or keyed mutex is needed. The resource must have no sharing
 * flag.
 *
 * Map everything that a frame needs in one call. In a new program with Direct3D 11 or 12, prefer
 * shared memory (culvert/d3d.h), which needs no map in each frame.
 *
 * CUDA registers, by NVIDIA's reference:
 * - Direct3D 11 and 10: buffers, and textures of one, two and three dimensions, of
 *   D3D_DRIVER_TYPE_HARDWARE devices. Not the primary render target; no depth or stencil; in
 *   Direct3D 11 nothing that was created as shared (D3D11_RESOURCE_MISC_SHARED and others).
 * - Direct3D 9: vertex and index buffers, textures, cube and volume textures, and surfaces that
 *   stand alone, in D3DPOOL_DEFAULT, of an IDirect3DDevice9Ex with D3DDEVTYPE_HAL and hardware
 *   vertex processing. Not the primary render target; no depth or stencil; nothing that was created
 *   as shared, which Culvert cannot see in Direct3D 9.
 * - Formats of one, two or four channels of 8, 16 or 32 bits: DXGI_FORMAT R8, R16, R32, R8G8,
 *   R16G16, R32G32, R8G8B8A8, R16G16B16A16 and R32G32B32A32 in UNORM, SNORM, UINT, SINT and FLOAT
 *   as far as they exist (not R8G8_..._SRGB), R8G8B8A8_UNORM_SRGB, A8_UNORM, B8G8R8A8_UNORM and
 *   B8G8R8X8_UNORM; in Direct3D 9 D3DFMT_L8, A8, A8L8, L16, A8R8G8B8, X8R8G8B8, A8B8G8R8, Q8W8V8U8,
 *   G16R16, V16U16, A16B16G16R16, R16F, G16R16F, A16B16G16R16F, R32F, G32R32F and A32B32G32R32F.
 * Culvert refuses all other resources before the driver does, as far as it can see, and says what
 * to do instead.
 *
 * Threads. The reference does not mention them. Make these calls on the thread that uses the
 * immediate context, or make the device safe for threads (ID3D11Multithread,
 * D3DCREATE_MULTITHREADED).
 *
 * This header needs no header of Windows or Direct3D. On other systems its calls answer UNSUPPORTED
 * (NOT_BUILT). It has not run on Windows yet: docs/direct3d.md says what was proved. */
#ifndef CULV_D3D_REGISTER_H_
#define CULV_D3D_REGISTER_H_

#ifndef CULV_EXPERIMENTAL
#    error "d3d_register.h is experimental (docs/stability.md): define CULV_EXPERIMENTAL first"
#endif

#include "device.h"
#include "image.h"
#include "shared.h"

struct IUnknown;

CULV_EXTERN_C_BEGIN

/** Settings of a registration. */
typedef struct culv_d3d_register_desc {
    size_t struct_size;       /**< Set by culv_d3d_register_desc_init(). */
    culv_access access;       /**< Default: CULV_ACCESS_READ_WRITE. */
    culv_bool no_surfaces;    /**< Textures: 1 omits CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST. */
    culv_bool texture_gather; /**< Textures: 1 sets CU_GRAPHICS_REGISTER_FLAGS_TEXTURE_GATHER. */
    const char *label;        /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d_register_desc;

CULV_INIT(culv_d3d_register_desc)

/** Registers a buffer or a texture: an ID3D11Resource, an ID3D10Resource, or in Direct3D 9 an
 * IDirect3DVertexBuffer9, IDirect3DIndexBuffer9, IDirect3DTexture9, IDirect3DCubeTexture9,
 * IDirect3DVolumeTexture9, or an IDirect3DSurface9 that stands alone. desc may be NULL. Register a
 * resource only once in a CUDA context. A texture with D3D11_RESOURCE_MISC_TEXTURECUBE is a cube or
 * an array of cubes. In Direct3D 10 NVIDIA's reference does not forbid resources that were created
 * as shared: the driver decides.
 *
 * `device` is the CUDA device of the same adapter (culv_device_open_for_d3d() in culvert/d3d.h). No
 * attachment is needed.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; HANDLE_KIND: the object is no such resource; VALUE:
 * an unknown access, or CUDA would write an IMMUTABLE resource; DEVICE_MISMATCH: the resource
 * belongs to another adapter, or to WARP or REF), UNSUPPORTED (FORMAT; USAGE: a back buffer, depth,
 * multisampled, shared, D3D11_USAGE_STAGING, in Direct3D 9 a pool other than D3DPOOL_DEFAULT, a
 * level or a face of a texture, or a device that is no IDirect3DDevice9Ex, no HAL device, or
 * processes vertices in software; DRIVER_TOO_OLD: the CUDA driver has no such function; NOT_BUILT:
 * not Windows), DRIVER (the message explains what the driver's codes mean here), ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: the resource stays yours, and CUDA holds a COM reference. *out is yours, for
 * culv_registration_destroy(); it keeps the culv_device alive.
 * Threads: the thread of the immediate context (see above).
 * Source: CUDA driver API reference, cuGraphicsD3D11RegisterResource, ...D3D10... and ...D3D9...;
 * the reference does not mention multisampled and staging resources, which Culvert refuses. CUDA
 * Programming Guide, "Direct3D Interoperability". */
CULV_EXPORT culv_result culv_d3d_register(culv_device *device, struct IUnknown *resource,
                                          const culv_d3d_register_desc *desc,
                                          culv_registration **out);

/* Devices -------------------------------------------------------------------------------------- */

/** The choice among linked GPUs (SLI). */
typedef enum culv_d3d_device_list {
    CULV_D3D_DEVICES_ALL = 1,           /**< The GPUs that draw for the device. */
    CULV_D3D_DEVICES_CURRENT_FRAME = 2, /**< The GPUs that draw the current frame. */
    CULV_D3D_DEVICES_NEXT_FRAME = 3,    /**< The GPUs that draw the next frame. */
    CULV_D3D_DEVICE_LIST_FORCE32 = 0x7fffffff
} culv_d3d_device_list;

/** Lists the CUDA devices that a device of Direct3D draws with, as ordinals for
 * culv_device_open_by_ordinal(). `object` is an ID3D11Device, ID3D10Device or IDirect3DDevice9, or
 * an IDXGIAdapter, which has one CUDA device. If linked GPUs draw frames in turns, register a
 * resource once for each GPU. Here the driver matches the devices; culv_device_open_for_d3d()
 * (culvert/d3d.h) compares LUIDs.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: an unknown list or object), NO_DEVICE (DEVICE_UNKNOWN:
 * CUDA does not have one of the GPUs), UNSUPPORTED (DRIVER_TOO_OLD, NOT_BUILT), DRIVER.
 * Ownership: the object stays yours.
 * Source: CUDA driver API reference, cuD3D11GetDevices, cuD3D10GetDevices, cuD3D9GetDevices and
 * cuD3D11GetDevice. */
CULV_EXPORT culv_result culv_d3d_get_devices(struct IUnknown *object, culv_d3d_device_list list,
                                             uint32_t capacity, int32_t *ordinals, uint32_t *count);

CULV_EXTERN_C_END

#endif
