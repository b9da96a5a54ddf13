/* SPDX-License-Identifier: MIT */
/* What the attachments of Direct3D 11 and 12 share: COM objects, HRESULTs, the match. It brings
 * Windows' headers, which may be MinGW's, Microsoft's or DirectX-Headers, so it is included before
 * everything but them. */
#ifndef CULVI_D3D_D3D_COMMON_H_
#define CULVI_D3D_D3D_COMMON_H_

#define COBJMACROS
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <unknwn.h>

#undef OPTIONAL /* windows.h has it */

#include "graphics/pair.h"

/* Native objects are COM pointers. */
static inline void *culvi_d3d_object(uint64_t native)
{
    return (void *)(uintptr_t)native;
}

/* HRESULTs, by winerror.h's numbers, which not all sets of headers have. */
enum {
    CULVI_D3D_REMOVED = (int)0x887a0005u,        /* DXGI_ERROR_DEVICE_REMOVED */
    CULVI_D3D_HUNG = (int)0x887a0006u,           /* DXGI_ERROR_DEVICE_HUNG */
    CULVI_D3D_RESET = (int)0x887a0007u,          /* DXGI_ERROR_DEVICE_RESET */
    CULVI_D3D_INTERNAL_ERROR = (int)0x887a0020u, /* DXGI_ERROR_DRIVER_INTERNAL_ERROR */
    CULVI_D3D_NAME_THERE = (int)0x887a002cu,     /* DXGI_ERROR_NAME_ALREADY_EXISTS */
    CULVI_D3D_ALREADY_EXISTS = (int)0x800700b7u, /* HRESULT_FROM_WIN32(ERROR_ALREADY_EXISTS) */
    CULVI_D3D_INVALID_HANDLE = (int)0x80070006u, /* HRESULT_FROM_WIN32(ERROR_INVALID_HANDLE): a
                                                    name of an object of another kind */
    CULVI_D3D_INVALID_CALL = (int)0x887a0001u,   /* DXGI_ERROR_INVALID_CALL */
    CULVI_D3D_NOT_IMPLEMENTED = (int)0x80004001u,
    CULVI_D3D_NO_INTERFACE = (int)0x80004002u,
    CULVI_D3D_BAD_ARGUMENT = (int)0x80070057u,
    CULVI_D3D_NO_MEMORY = (int)0x8007000eu
};

/* Records a failed call as an error of the class that its code belongs to. `reason_call` says why a
 * device was removed. */
culv_result culvi_fail_d3d(const culvi_voice *voice, const char *label, HRESULT code,
                           const char *call, const char *reason_call, culv_reason reason,
                           const char *format, ...) CULVI_PRINTF(7, 8);

/* " (E_INVALIDARG)", or "". */
const char *culvi_d3d_code_name(HRESULT code);
/* The interface that an object has, without a reference: the caller's own keeps it. NULL: it has
 * none. */
void *culvi_d3d_query(void *object, const GUID *id);
/* The first of these interfaces that an object has, as an index, and *as as of culvi_d3d_query().
 * One object may have several (Wine's devices have those of Direct3D 10 and 11): then the pointer
 * says which one is meant. -1: it has none. */
int culvi_d3d_pick(void *object, const GUID *const *ids, int count, void **as);
/* The same number for all interfaces of one object. */
uint64_t culvi_d3d_identity(void *object);
culv_luid culvi_d3d_luid(const void *luid);
/* "adapter LUID, and the culv_device '...' has ..."; `without` is why it may tell none. */
void culvi_d3d_add_device(culvi_text *text, const culv_device *device, const char *without);

#endif
