/* SPDX-License-Identifier: MIT */
/* Culvert: uses CUDA's memory in Direct3D 12. It opens VMM allocations as heaps, and shows a
 * culv_vector as buffers.
 *
 * CUDA exports the allocation as an NT handle (CU_MEM_HANDLE_TYPE_WIN32). Direct3D opens that by
 * ID3D12Device::OpenSharedHandle. Culvert closes the handle again. It has not run on a driver yet:
 * it ran under Wine on the software twin, with an OpenSharedHandle that the tests provide. If a
 * driver refuses the handle, the error says so and names the other way: memory that Direct3D makes
 * and CUDA imports (culvert/d3d.h). KMT handles are for Vulkan and for CUDA; Direct3D 12 opens
 * none.
 *
 * Like culvert/d3d.h this header only names Windows' structs. On other systems its calls answer
 * UNSUPPORTED (NOT_BUILT). */
#ifndef CULV_D3D12_VMM_H_
#define CULV_D3D12_VMM_H_

#ifndef CULV_EXPERIMENTAL
#    error "d3d12_vmm.h is experimental (docs/stability.md): define CULV_EXPERIMENTAL first"
#endif

#include "d3d.h"
#include "vector_view.h"

struct ID3D12Heap;

CULV_EXTERN_C_BEGIN

/** Opens a VMM allocation in device or host memory as an ID3D12Heap. The heap is as large as the
 * allocation. Place buffers in it at multiples of D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT (64
 * KiB). CUDA reads and writes them where the allocation is mapped (culv_vmm_map()). The order of
 * textures is the driver's own, and CUDA cannot map them from this side: for textures use
 * culv_d3d_image_create().
 * Errors: INVALID (NULL_ARGUMENT; VALUE: the attachment is Direct3D 11's; USAGE: a tile pool or a
 * multicast object; NOT_EXPORTABLE: the allocation was not made for export as OPAQUE_WIN32, or is
 * an import; DEVICE_MISMATCH: it lies on another GPU), UNSUPPORTED (NOT_BUILT; HANDLE_REFUSED: this
 * Direct3D does not open such a handle), DRIVER (HANDLE_REFUSED; SIZE: the opened heap is smaller),
 * ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for Release(). It keeps the memory alive, even if the allocation is
 * destroyed.
 * Threads: any.
 * Source: cuda.h, cuMemExportToShareableHandle; ID3D12Device::OpenSharedHandle. */
CULV_EXPORT culv_result culv_d3d12_heap_from_vmm(culv_d3d_device *d3d,
                                                 culv_vmm_allocation *allocation,
                                                 struct ID3D12Heap **out);

/** Direct3D's view of a vector. */
typedef struct culv_d3d12_vector_view_desc {
    size_t struct_size;      /**< Set by culv_d3d12_vector_view_desc_init(). */
    uint32_t resource_flags; /**< D3D12_RESOURCE_FLAGS of the buffers. Default: none. */
    const char *label;       /**< Copied (up to 63 bytes). Default: the vector's. */
} culv_d3d12_vector_view_desc;

CULV_INIT(culv_d3d12_vector_view_desc)

/** Makes Direct3D's view of a vector, with a heap and a buffer for each chunk that it has. The
 * chunks must be exportable as OPAQUE_WIN32. Draw and dispatch once for each. A vector with
 * `min_chunk` or `growth_percent` has few large chunks. `desc` may be NULL.
 * Errors: as culv_d3d12_heap_from_vmm(); INVALID (STRUCT_SIZE).
 * Ownership: *out is yours, for culv_vector_view_destroy(), before or after the vector is
 * destroyed.
 * Threads: any, but not during a call that changes the vector. */
CULV_EXPORT culv_result culv_d3d12_vector_view_create(culv_d3d_device *d3d, culv_vector *vector,
                                                      const culv_d3d12_vector_view_desc *desc,
                                                      culv_vector_view **out);

CULV_EXTERN_C_END

#endif
