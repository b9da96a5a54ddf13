/* SPDX-License-Identifier: MIT */
/* Shared handles, keyed mutexes and fences for Wine's Direct3D 11, which has none. Wine's own
 * devices, contexts, textures and buffers stay as they are: QueryInterface() alone is replaced, in
 * place, and answers for the interfaces that they lack. A handle is a section object that leads the
 * twin's CUDA driver to pages of the host (soft/shared/win32_share.h).
 *
 * Wine draws this with OpenGL, whose memory has no address. So the pages are a copy: when Direct3D
 * acquires or releases the mutex, and signals or waits for a fence, the bytes that each side has
 * written since go to the other one. */
#ifndef CULVERT_SOFT_WINE_OVERLAY11_H_
#define CULVERT_SOFT_WINE_OVERLAY11_H_

#define COBJMACROS
#include <windows.h>
/* after it */
#include <d3d11_4.h>
#include <dxgi1_2.h>
#include <stdbool.h>
#include <stdint.h>

#include "removed.h"

/* How the device lies from now on. */
typedef enum overlay11_lie {
    OVERLAY11_HONEST,
    OVERLAY11_WRAPPER,    /* it makes no shared handles: E_NOTIMPL */
    OVERLAY11_OLD,        /* neither ID3D11Device5 nor IDXGIResource1 */
    OVERLAY11_REMOVED,    /* shared handles are DXGI_ERROR_DEVICE_REMOVED */
    OVERLAY11_UNSHARABLE, /* E_INVALIDARG */
    OVERLAY11_STRANGER    /* the adapter tells another LUID */
} overlay11_lie;

/* All devices of a process have one table. Do it once. */
void overlay11_install(ID3D11Device *device, ID3D11DeviceContext *context);
void overlay11_tell(overlay11_lie lie);
/* Makes the n-th call from now that makes a handle or a fence fail with E_OUTOFMEMORY; 0: none. */
void overlay11_fail_at(unsigned n);
unsigned overlay11_calls(void);
/* References that imports of the twin hold. */
int overlay11_references(void);
/* Without a mutex and a fence: each side gets what the other one wrote. */
void overlay11_turn(ID3D11Device *device);
/* Forgets what was shared. Nothing must be imported. */
void overlay11_clear(void);

#endif
