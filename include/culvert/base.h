/* SPDX-License-Identifier: MIT */
/* Culvert: export macros, version, and the few CUDA handle types that the API uses.
 *
 * All declarations in the headers exist since version 0.1, unless a comment says otherwise. */
#ifndef CULV_BASE_H_
#define CULV_BASE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#    define CULV_EXTERN_C_BEGIN extern "C" {
#    define CULV_EXTERN_C_END   }
#else
#    define CULV_EXTERN_C_BEGIN
#    define CULV_EXTERN_C_END
#endif

/* Define CULV_STATIC if you link libculvert.a (the CMake target culvert::static and `pkg-config
 * --static` define it). */
#if defined(CULV_STATIC)
#    define CULV_EXPORT
#elif defined(_WIN32)
#    define CULV_EXPORT __declspec(dllimport)
#elif defined(__GNUC__)
#    define CULV_EXPORT __attribute__((visibility("default")))
#else
#    define CULV_EXPORT
#endif

#define CULV_MAKE_VERSION(major, minor, patch)                                                     \
    ((uint32_t)((major)*1000000 + (minor)*1000 + (patch)))
#define CULV_VERSION_MAJOR 0
#define CULV_VERSION_MINOR 1
#define CULV_VERSION_PATCH 0
/* The version of these headers. culv_version() returns the version of the library in use. */
#define CULV_VERSION CULV_MAKE_VERSION(CULV_VERSION_MAJOR, CULV_VERSION_MINOR, CULV_VERSION_PATCH)

/* A C++ module cannot export static functions: define this as `inline` before you include the
 * headers. All objects that you link together then need the same version of the headers. */
#ifndef CULV_INLINE
#    define CULV_INLINE static inline
#endif

CULV_EXTERN_C_BEGIN

/* Defines `type##_init()`, which returns a `type` with struct_size set and all other fields 0. Some
 * types have a comment that says what these zeros mean. Other types have their own init function,
 * which sets more fields. */
#define CULV_INIT(type)                                                                            \
    CULV_INLINE type type##_init(void)                                                             \
    {                                                                                              \
        type empty;                                                                                \
        memset(&empty, 0, sizeof empty);                                                           \
        empty.struct_size = sizeof empty;                                                          \
        return empty;                                                                              \
    }

/* CUDA's own opaque handles. They are repeated here so that Culvert's headers need no CUDA header.
 * They are the types of cuda.h; cudaStream_t is the same type as CUstream. */
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUarray_st *CUarray;
typedef struct CUmipmappedArray_st *CUmipmappedArray;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUsurfObject;
typedef unsigned long long CUtexObject;

/** A boolean. Culvert returns 0 (false) or 1 (true). As input, every value except 0 is true.
 * VkBool32 is the same type. */
typedef uint32_t culv_bool;

/** A device's UUID: VkPhysicalDeviceIDProperties::deviceUUID, CUuuid and GL_DEVICE_UUID_EXT are the
 * same 16 bytes. All zero means "not given". */
typedef struct culv_uuid {
    uint8_t bytes[16];
} culv_uuid;

/** A Windows adapter's locally unique identifier: VkPhysicalDeviceIDProperties::deviceLUID, the
 * result of cuDeviceGetLuid(), DXGI_ADAPTER_DESC::AdapterLuid and ID3D12Device::GetAdapterLuid()
 * are the same 8 bytes. Linked GPUs share one LUID. A node mask with one bit selects one. */
typedef struct culv_luid {
    uint8_t bytes[8];
} culv_luid;

/** Returns the version of the library in use, encoded by CULV_MAKE_VERSION. */
CULV_EXPORT uint32_t culv_version(void);

/** Returns the version of the library in use as text, such as "0.1.0".
 * Ownership: a static string, never NULL. */
CULV_EXPORT const char *culv_version_string(void);

CULV_EXTERN_C_END

#endif
