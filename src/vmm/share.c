/* SPDX-License-Identifier: MIT */
/* VMM memory out of this process, and into it. */
#include "vmm/share.h"

#include "core/import.h"

/* What CUDA takes and gives as a shareable handle. */
typedef union shareable {
    int fd;
    void *nt;
    uint32_t kmt; /* a D3DKMT_HANDLE */
    uint8_t fabric[64];
} shareable;

/* Export --------------------------------------------------------------------------------------- */

culv_result culv_vmm_export_dup(culv_vmm_allocation *allocation, culv_handle_type type,
                                culv_handle *out)
{
    shareable made = {0};
    CULVI_REQUIRE_WITH(allocation, &allocation->device->voice, out);
    culv_device *device = allocation->device;
    const culvi_voice *voice = &device->voice;
    const char *label = allocation->label;
    CULVI_REFUSE_IF(
        type == CULV_HANDLE_DMA_BUF_FD, voice, label, CULV_REASON_HANDLE_TYPE,
        "culv_vmm_export_dup: type is DMA_BUF_FD; a dma-buf is made of mapped memory: culv_dma_buf_export_dup()");
    const bool fabric = type == CULV_HANDLE_FABRIC;
    CULVI_TRY(fabric ? CULV_OK
                     : culvi_handle_use_check(voice, label, "culv_vmm_export_dup: type", type,
                                              CULVI_USE_VMM));
    CULVI_REFUSE_IF(
        !(allocation->handle_types & UINT32_C(1) << type), voice, label, CULV_REASON_NOT_EXPORTABLE,
        "culv_vmm_export_dup: the allocation %s %s%s",
        allocation->imported
            ? "was imported, and CUDA does not export imports: keep or duplicate the handle (culv_handle_dup()) that you imported as"
            : "was not made for export as",
        culvi_handle_type_name(type),
        allocation->imported ? ""
        : fabric
            ? "; set culv_vmm_allocation_desc.fabric, and culv_check_fabric() says why there may be none"
            : "; set its bit in culv_vmm_allocation_desc.handle_types");
    if (allocation->kept.type != CULV_HANDLE_NONE) return culv_handle_dup(&allocation->kept, out);
    CULVI_CU_INSIDE(r, device, label, cuMemExportToShareableHandle,
                    (&made, allocation->handle,
                     (CUmemAllocationHandleType)culvi_handle_number(type, CULVI_USE_VMM), 0));
    if (!culvi_cuda_answers(r) && !fabric)
        CULVI_TRY(
            culvi_handle_check_left(voice, label, "cuMemExportToShareableHandle", "allocation"));
    CULVI_CU_CHECK(device, label, r, "cuMemExportToShareableHandle", CULV_REASON_NOT_EXPORTABLE,
                   "%" PRIu64 " bytes could not be exported as %s", allocation->size,
                   culvi_handle_type_name(type));
    culv_handle handle = {.type = type};
    switch (culvi_handle_row_of(type)->kind) {
    case CULVI_KIND_FD: handle.value.fd = made.fd; break;
    case CULVI_KIND_NT: handle.value.win32 = made.nt; break;
    case CULVI_KIND_KMT: handle.value.win32 = (void *)(uintptr_t)made.kmt; break;
    case CULVI_KIND_BYTES: memcpy(handle.value.fabric, made.fabric, sizeof made.fabric); break;
    }
    if (!fabric) culvi_handle_keep_private(&handle);
    culvi_vmm_allocation_shared(allocation);
    *out = handle;
    return CULV_OK;
}

/* Import --------------------------------------------------------------------------------------- */

static CUresult import_handle(const culv_device *device, const culv_handle *duplicate,
                              CUmemGenericAllocationHandle *out)
{
    const unsigned type = culvi_handle_number(duplicate->type, CULVI_USE_VMM);
    return CULVI_CU(device, cuMemImportFromShareableHandle,
                    (out, culvi_vmm_shareable(duplicate), (CUmemAllocationHandleType)type));
}

static CUresult give(culv_device *device, const culv_handle *duplicate, void *object)
{
    culv_vmm_allocation *allocation = object;
    return import_handle(device, duplicate, &allocation->handle);
}

static void describe(const void *object, culvi_text *text)
{
    (void)object;
    culvi_text_add(
        text,
        "it must be one that culv_vmm_export_dup() (cuMemExportToShareableHandle) made, in a process that sees the same GPU");
}

/* The CUDA device with the exporter's UUID. In the device's context. */
static culv_result find_owner(culv_device *device, const culv_vmm_import_desc *d,
                              culv_vmm_allocation *allocation)
{
    int reaches = 0;
    const char *call;
    if (!culvi_uuid_given(&d->exporter) || culvi_uuid_equal(&d->exporter, &device->caps.uuid))
        return CULV_OK;
    CUresult r = culvi_device_find(device, &d->exporter, &allocation->owner, &call);
    if (r == CUDA_SUCCESS && allocation->owner >= 0)
        r = CULVI_CU_AS(call, device, cuDeviceCanAccessPeer,
                        (&reaches, device->ordinal, allocation->owner));
    CULVI_CU_CHECK(device, d->label, r, call, CULV_REASON_DRIVER_REFUSED,
                   "the GPU that the allocation lies on could not be looked for");
    allocation->uuid = d->exporter;
    if (reaches) return CULV_OK;
    CULVI_TEXT(text, 64);
    culvi_text_add_uuid(&text, &d->exporter);
    return culvi_fail(
        &device->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
        allocation->owner < 0
            ? "the exporter's GPU is said to be %s, and no CUDA device that this process sees has that UUID (CUDA_VISIBLE_DEVICES?); '%s' has another one"
            : "the exporter's GPU is said to be %s, a GPU whose memory '%s' does not reach (cuDeviceCanAccessPeer says so)",
        text.data, device->caps.name);
}

/* Where an import lies is told; how large it is is not. */
static culv_result check_import(culv_vmm_allocation *allocation)
{
    culv_device *device = allocation->device;
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof prop);
    CULVI_CU_INSIDE(r, device, allocation->label, cuMemGetAllocationPropertiesFromHandle,
                    (&prop, allocation->handle));
    if (r == CUDA_ERROR_INVALID_VALUE || r == CUDA_ERROR_NOT_SUPPORTED) {
        /* Memory of another API's, which CUDA takes as well (measured): as the descriptor says. */
        prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        prop.location.id = allocation->owner;
    } else if (r != CUDA_SUCCESS) {
        return culvi_fail_cuda(device, allocation->label, r,
                               "cuMemGetAllocationPropertiesFromHandle", CULV_REASON_DRIVER_REFUSED,
                               "the properties of the import could not be queried");
    }
    CULVI_REFUSE_IF(
        prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE && prop.location.id != allocation->owner,
        &device->voice, allocation->label, CULV_REASON_DEVICE_MISMATCH,
        "the allocation lies on CUDA device %d, but culv_vmm_import_desc.exporter says device %d; pass culv_vmm_allocation_info::device of the exporter",
        prop.location.id, (int)allocation->owner);
    culvi_vmm_allocation_describe(allocation, &prop);
    allocation->handle_types = 0; /* measured: an import's are, and it is not exported */
    return culvi_vmm_least_granularity(device, allocation->kind, allocation->numa_node,
                                       &allocation->granularity);
}

static culv_result check_desc(const culv_device *device, culvi_import *how,
                              const culv_vmm_import_desc *d)
{
    static const culv_uuid any;
    const culvi_voice *voice = &device->voice;
    CULVI_REFUSE_IF(
        d->size == 0, voice, d->label, CULV_REASON_SIZE,
        "culv_vmm_import_desc.size is 0; it is what culv_vmm_allocation_info::size of the exporter said");
    if (how->refused != NULL) return CULV_OK;
    CULVI_TRY(culvi_import_check(device, how, &any));
    CULVI_REFUSE_IF(
        d->handle.name != NULL, voice, d->label, CULV_REASON_VALUE,
        "culv_vmm_import_desc.handle.name is given; CUDA imports VMM memory only by handle");
    const uint64_t limit = how->facts.size_limit;
    if (d->size <= limit) return CULV_OK;
    return culvi_fail(
        voice, d->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
        "culv_vmm_import_desc.size is %" PRIu64 " bytes, but at most %" PRIu64
        " are behind file descriptor %d; pass culv_vmm_allocation_info::size of the exporter",
        d->size, limit, d->handle.value.fd);
}

/* What only the driver's handle tells. */
static culv_result check_made(culv_vmm_allocation *allocation)
{
    const culvi_voice *voice = &allocation->device->voice;
    culvi_log_object(voice, "made", "VMM allocation", allocation->label, allocation->size);
    culv_result result = check_import(allocation);
    if (result != CULV_OK || allocation->size % allocation->granularity == 0) return result;
    return culvi_fail(
        voice, allocation->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
        "culv_vmm_import_desc.size is %" PRIu64
        " bytes, which is not a multiple of the granularity of %" PRIu64
        "; pass culv_vmm_allocation_info::size of the exporter, not the size that it asked for",
        allocation->size, allocation->granularity);
}

/* `exported`: Culvert has just made the handle, and knows the size. */
static culv_result import_read(culv_device *device, const culv_vmm_import_desc *d, bool exported,
                               culv_vmm_allocation **out)
{
    CULVI_TRY(culvi_vmm_check_device(device, "culv_vmm_import"));
    culvi_import how = {.what = "allocation",
                        .call = "cuMemImportFromShareableHandle",
                        .field = "culv_vmm_import_desc.handle",
                        .source = "culv_vmm_export_dup() (cuMemExportToShareableHandle)",
                        .use = CULVI_USE_VMM,
                        .handle = &d->handle,
                        .label = d->label,
                        .count = &device->counts.vmm_allocations,
                        .lent = true,
                        .give = give,
                        .describe = describe};
    if (d->handle.type == CULV_HANDLE_FABRIC)
        how.refused =
            "the driver refused a fabric handle; its exporter must live, and this user needs the same IMEX channel (culv_check_fabric())";
    CULVI_TRY(exported ? culvi_import_trust(device, &how) : check_desc(device, &how, d));
    culv_vmm_allocation *allocation = culvi_vmm_allocation_new(device, d->label);
    if (allocation == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    allocation->requested = allocation->size = d->size;
    allocation->imported = true;
    culv_result result;
    CULVI_INSIDE(result, device, d->label, find_owner(device, d, allocation));
    if (result == CULV_OK) result = culvi_import_run(device, &how, allocation);
    CULVI_TRY_OR(result, culvi_vmm_allocation_unref(allocation));
    result = check_made(allocation);
    if (result == CULV_OK && how.refused != NULL) result = culvi_vmm_check_fabric_size(allocation);
    CULVI_TRY_OR(result, culv_vmm_allocation_destroy(&allocation));
    culvi_vmm_allocation_shared(allocation);
    *out = allocation;
    return CULV_OK;
}

culv_result culvi_vmm_import_exported(culv_device *device, const culv_vmm_import_desc *d,
                                      culv_vmm_allocation **out)
{
    culv_result result = import_read(device, d, true, out);
    culvi_handle_close(&d->handle);
    return result;
}

culv_result culv_vmm_import(culv_device *device, const culv_vmm_import_desc *desc,
                            culv_vmm_allocation **out)
{
    CULVI_REQUIRE_WITH2(device, &device->voice, desc, out);
    CULVI_READ(&device->voice, culv_vmm_import_desc, d, desc);
    return import_read(device, &d, false, out);
}

culv_result culvi_vmm_find_exporter(culv_device *device, const char *label,
                                    const culv_handle *handle, culv_uuid *out)
{
    culvi_scope scope;
    culvi_duplicate duplicate;
    CUmemGenericAllocationHandle found = 0;
    CUmemAllocationProp prop;
    CUuuid uuid;
    memset(&prop, 0, sizeof prop);
    if (!device->caps.vmm || culvi_handle_number(handle->type, CULVI_USE_VMM) == 0 ||
        handle->name != NULL)
        return CULV_OK;
    CULVI_TRY(culvi_enter(device, &scope, label));
    culv_result result = culvi_handle_lend_for(&device->voice, label, handle, NULL, &duplicate);
    if (result == CULV_OK) {
        const char *call = "cuMemImportFromShareableHandle";
        CUresult r = import_handle(device, &duplicate.handle, &found);
        culvi_handle_lent_done(&duplicate, handle, false);
        if (r == CUDA_SUCCESS) {
            call = "cuMemGetAllocationPropertiesFromHandle";
            r = CULVI_CU(device, cuMemGetAllocationPropertiesFromHandle, (&prop, found));
            culvi_vmm_release_handle(device, found);
        }
        if (r == CUDA_SUCCESS && prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
            call = "cuDeviceGetUuid";
            r = CULVI_CU(device, cuDeviceGetUuid, (&uuid, prop.location.id));
            if (r == CUDA_SUCCESS) memcpy(out->bytes, uuid.bytes, sizeof out->bytes);
        }
        /* Any other refusal: it is no such memory, and the one who imports it is told what is wrong
         * with it. */
        if (culvi_cuda_sticky(r) || culvi_cuda_gone(r))
            result = culvi_fail_cuda(device, label, r, call, CULV_REASON_DRIVER_REFUSED,
                                     "the driver could not be asked which GPU exported the handle");
    }
    culvi_leave(device, &scope);
    return result;
}
