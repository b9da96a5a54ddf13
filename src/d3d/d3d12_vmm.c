/* SPDX-License-Identifier: MIT */
/* VMM allocations as heaps of Direct3D 12, and vectors as buffers in such heaps. */
#include "d3d/d3d12_core.h"
/* after it */
#include "culvert/d3d12.h"
#include "graphics/vector_view.h"
#include "vmm/allocation.h"

typedef struct d3d12_view {
    culv_vector_view base;
    D3D12_RESOURCE_FLAGS flags;
} d3d12_view;

/* Heaps ---------------------------------------------------------------------------------------- */

static culv_result check(const culv_d3d_device *d3d, const char *label,
                         const culv_vmm_allocation *a)
{
    CULVI_TRY(culvi_check_exporter(d3d->base.device, label, &a->uuid, "VMM allocation"));
    CULVI_REFUSE_IF(a->usage & (CULV_VMM_USAGE_TILE_POOL | CULV_VMM_USAGE_MULTICAST), d3d->voice,
                    label, CULV_REASON_USAGE,
                    "the VMM allocation is a %s; open an ordinary allocation",
                    a->usage & CULV_VMM_USAGE_MULTICAST
                        ? "multicast object's, which no graphics API knows"
                        : "tile pool, which backs CUDA's sparse arrays and nothing else");
    CULVI_REFUSE_IF(
        a->imported, d3d->voice, label, CULV_REASON_NOT_EXPORTABLE,
        "the VMM allocation was imported, and CUDA does not export imports; give a handle of the exporter's to ID3D12Device::OpenSharedHandle");
    if (a->handle_types & 1u << CULV_HANDLE_OPAQUE_WIN32) return CULV_OK;
    return culvi_fail(
        d3d->voice, label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
        "the VMM allocation was not made to be exported as an NT handle; set the bit of OPAQUE_WIN32 in handle_types (%#" PRIx32
        ") of the descriptor that it is allocated with. Direct3D 12 opens no KMT handles",
        a->handle_types);
}

static culv_result refused(const culv_d3d_device *d3d, const char *label, HRESULT hr)
{
    static const char call[] = "ID3D12Device::OpenSharedHandle";
    const int code = (int)hr;
    if (code != CULVI_D3D_BAD_ARGUMENT && code != CULVI_D3D_NOT_IMPLEMENTED &&
        code != CULVI_D3D_NO_INTERFACE && code != CULVI_D3D_INVALID_HANDLE)
        return culvi_fail_d3d(d3d->voice, label, hr, call, "ID3D12Device::GetDeviceRemovedReason",
                              CULV_REASON_HANDLE_REFUSED,
                              "the VMM allocation could not be opened as an ID3D12Heap");
    return culvi_fail_native(
        d3d->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_REFUSED, CULV_NATIVE_D3D,
        (int64_t)(uint32_t)hr, call,
        "this Direct3D does not open CUDA's VMM memory as an ID3D12Heap: %s answered %#lx. Let Direct3D make the memory and CUDA import it (culv_d3d_buffer_create(), culv_d3d_memory_import())",
        call, (unsigned long)hr);
}

/* The heap holds the memory; the handle goes in any case. */
static culv_result open_heap(const culv_d3d_device *d3d, const char *label, culv_vmm_allocation *a,
                             ID3D12Heap **out)
{
    culv_handle handle = {.type = CULV_HANDLE_NONE};
    ID3D12Heap *heap = NULL;
    CULVI_TRY(check(d3d, label, a));
    CULVI_TRY(culv_vmm_export_dup(a, CULV_HANDLE_OPAQUE_WIN32, &handle));
    const HRESULT hr = ID3D12Device_OpenSharedHandle(culvi_d3d12_device(d3d), handle.value.win32,
                                                     &culvi_iid_d3d12_heap, (void **)&heap);
    culv_handle_close(&handle);
    if (FAILED(hr) || heap == NULL) return refused(d3d, label, hr);
    const uint64_t size = culvi_d3d12_heap_desc(heap).SizeInBytes;
    if (size < a->size) {
        ID3D12Heap_Release(heap);
        return culvi_fail(d3d->voice, label, CULV_ERROR_DRIVER, CULV_REASON_SIZE,
                          "the ID3D12Heap that was opened has %" PRIu64
                          " bytes, but the VMM allocation has %" PRIu64,
                          size, a->size);
    }
    *out = heap;
    return CULV_OK;
}

culv_result culv_d3d12_heap_from_vmm(culv_d3d_device *d3d, culv_vmm_allocation *allocation,
                                     ID3D12Heap **out)
{
    CULVI_REQUIRE_WITH2(d3d, d3d->voice, allocation, out);
    CULVI_TRY(culvi_d3d_check_api(d3d, &culvi_d3d12, __func__));
    return open_heap(d3d, allocation->label, allocation, out);
}

/* Vectors -------------------------------------------------------------------------------------- */

static void drop(culv_vector_view *view, const culvi_view_part *part)
{
    (void)view;
    ID3D12Resource_Release((ID3D12Resource *)culvi_d3d_object(part->object));
    ID3D12Heap_Release((ID3D12Heap *)culvi_d3d_object(part->memory));
}

static culv_result make(culv_vector_view *view, const culv_part *chunk, culvi_view_part *part)
{
    const culv_d3d_device *d3d = culvi_d3d_of(view->graphics);
    ID3D12Heap *heap = NULL;
    ID3D12Resource *buffer = NULL;
    CULVI_TRY(open_heap(d3d, view->label, chunk->allocation, &heap));
    const D3D12_RESOURCE_DESC desc =
        culvi_d3d12_buffer_desc(chunk->size, ((const d3d12_view *)view)->flags);
    const HRESULT hr = ID3D12Device_CreatePlacedResource(
        culvi_d3d12_device(d3d), heap, 0, &desc, D3D12_RESOURCE_STATE_COMMON, NULL,
        &culvi_d3d12.resource_iid, (void **)&buffer);
    if (FAILED(hr)) {
        ID3D12Heap_Release(heap);
        return culvi_d3d_fail(d3d, view->label, hr, "ID3D12Device::CreatePlacedResource",
                              "a buffer could not be placed in a chunk of the vector");
    }
    part->object = (uint64_t)(uintptr_t)buffer;
    part->memory = (uint64_t)(uintptr_t)heap;
    return CULV_OK;
}

static const culvi_vector_view_api view_api = {.make = make, .drop = drop};

culv_result culv_d3d12_vector_view_create(culv_d3d_device *d3d, culv_vector *vector,
                                          const culv_d3d12_vector_view_desc *desc,
                                          culv_vector_view **out)
{
    CULVI_REQUIRE_WITH2(d3d, d3d->voice, vector, out);
    CULVI_TRY(culvi_d3d_check_api(d3d, &culvi_d3d12, __func__));
    CULVI_READ(d3d->voice, culv_d3d12_vector_view_desc, d, desc);
    if (d.label == NULL) d.label = vector->label;
    CULVI_TRY(culvi_vector_view_check(&d3d->base, d.label, vector));
    CULVI_NEW(d3d12_view, view, d3d->voice, d.label);
    view->flags = (D3D12_RESOURCE_FLAGS)d.resource_flags;
    culvi_vector_view_init(&view->base, &view_api, &d3d->base, vector, d.label);
    return culvi_vector_view_made(&view->base, CULV_OK, out);
}
