/* SPDX-License-Identifier: MIT */
/* The attachment of Direct3D 12, inside. It is included first: it brings Windows' headers. */
#ifndef CULVI_D3D_D3D12_CORE_H_
#define CULVI_D3D_D3D12_CORE_H_

#include "d3d/d3d_attach.h"
/* after it */
#include <d3d12.h>

#undef OPTIONAL

static inline ID3D12Device *culvi_d3d12_device(const culv_d3d_device *d3d)
{
    return d3d->device;
}

extern const GUID culvi_iid_d3d12_heap; /* MinGW's import libraries lack it */

/* Methods that return a struct. In C their true form takes a pointer to the result behind `this`,
 * which MinGW's headers and DirectX-Headers say and older Windows SDKs do not
 * (microsoft/DirectX-Headers issue 121). */
D3D12_HEAP_DESC culvi_d3d12_heap_desc(ID3D12Heap *heap);
D3D12_COMMAND_QUEUE_DESC culvi_d3d12_queue_desc(ID3D12CommandQueue *queue);

D3D12_RESOURCE_DESC culvi_d3d12_buffer_desc(uint64_t size, D3D12_RESOURCE_FLAGS flags);

#endif
