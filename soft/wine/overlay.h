/* SPDX-License-Identifier: MIT */
/* Shared handles for Wine's Direct3D 12, which has none: culvert-rig.dll. Wine's own devices,
 * heaps, resources, queues and fences stay as they are: only the methods that it lacks are
 * replaced, in place, in the device's table. A handle is a section object that leads the twin's
 * CUDA driver to the memory (soft/shared/win32_share.h).
 *
 * What it changes besides: a shared DEFAULT heap becomes a CUSTOM one that the host can read and
 * write, and a committed shared resource a placed one in such a heap, which has all the bytes that
 * Direct3D says of it. */
#ifndef CULVERT_SOFT_WINE_OVERLAY_H_
#define CULVERT_SOFT_WINE_OVERLAY_H_

#define COBJMACROS
#include <windows.h>
/* after it */
#include <d3d12.h>
#include <stdbool.h>
#include <stdint.h>

#include "removed.h"

/* How the device lies from now on. */
typedef enum overlay_lie {
    OVERLAY_HONEST,
    OVERLAY_WRAPPER,  /* CreateSharedHandle() is E_NOTIMPL, OpenSharedHandle() too */
    OVERLAY_LINKED,   /* two nodes */
    OVERLAY_STRANGER, /* another adapter's LUID */
    OVERLAY_REMOVED, /* CreateSharedHandle() is DXGI_ERROR_DEVICE_REMOVED, OpenSharedHandle() too */
    OVERLAY_SMALL,   /* heaps that are opened have half of their bytes */
} overlay_lie;

/* All devices of a process have one table. Do it once. */
void overlay_install(ID3D12Device *device);
void overlay_tell(overlay_lie lie);
/* Before there is a device: the path of host/vulkan-1.dll, by which OpenSharedHandle() opens VMM
 * memory of the twin's. */
void overlay_load_host(const char *path);
/* Heaps that were opened and are alive. */
unsigned overlay_opened(void);
/* Makes the n-th call from now of CreateSharedHandle(), OpenSharedHandle(), CreateFence() or
 * CreateCommittedResource() fail with E_OUTOFMEMORY; 0: none. */
void overlay_fail_at(unsigned n);
unsigned overlay_calls(void);
/* References that imports of the twin hold. */
int overlay_references(void);
/* Forgets what was shared. Nothing must be imported. */
void overlay12_clear(void);

#endif
