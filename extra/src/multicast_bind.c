/* SPDX-License-Identifier: MIT */
/* What is bound to a multicast object. */
#include "multicast.h"

/* `from` is where the memory begins: an offset or an address, named so. */
static culv_result check_place(const culv_multicast *m, uint64_t offset, uint64_t from,
                               uint64_t size, const char *from_name, const char *call)
{
    const uint32_t missing = atomic_load(&m->missing);
    CULVI_X_REFUSE_IF(
        missing != 0, m->device, m->label, CULV_REASON_NOT_READY,
        "%s: %" PRIu32 " of the object's %" PRIu32
        " devices are missing, and the driver would wait for them forever (cuda.h, cuMulticastAddDevice); call culv_multicast_add_device() for each, and culv_multicast_mark_devices_added() for those that other processes have added",
        call, missing, m->num_devices);
    CULVI_X_REFUSE_IF(size == 0 || offset % m->granularity != 0 || from % m->granularity != 0 ||
                          size % m->granularity != 0,
                      m->device, m->label, CULV_REASON_VALUE,
                      "%s: offset is %" PRIu64 ", %s %" PRIu64 " and size %" PRIu64
                      "; all must be multiples of the granularity of %" PRIu64
                      " bytes (culv_multicast_get_granularity()), and size must not be 0",
                      call, offset, from_name, from, size, m->granularity);
    CULVI_X_REFUSE_IF(offset >= m->info.size || size > m->info.size - offset, m->device, m->label,
                      CULV_REASON_RANGE,
                      "%s: %" PRIu64 " bytes from offset %" PRIu64
                      " on, but the object has %" PRIu64,
                      call, size, offset, m->info.size);
    return CULV_OK;
}

/* The member with that UUID. */
static culv_result find_member(const culv_multicast *m, const culv_uuid *uuid, const char *call,
                               CUdevice *out)
{
    for (uint32_t i = 0; i < m->num_members; i++)
        if (memcmp(&m->members[i].uuid, uuid, sizeof *uuid) == 0) {
            *out = (CUdevice)m->members[i].ordinal;
            return CULV_OK;
        }
    return culvi_x_fail(m->device, m->label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
                        "%s: the memory belongs to a device that was not added to the object here",
                        call);
}

/* No two bindings of one device may overlap. */
static culv_result check_free(const culv_multicast *m, CUdevice device, uint64_t offset,
                              uint64_t size, const char *call)
{
    for (const culvi_binding *b = m->bindings; b != NULL; b = b->next)
        if (b->device == device && offset < b->offset + b->size && b->offset < offset + size)
            return culvi_x_fail(m->device, m->label, CULV_ERROR_BUSY, CULV_REASON_MAPPED,
                                "%s: CUDA device %d has bound %" PRIu64 " bytes at offset %" PRIu64
                                " already; unbind them first",
                                call, (int)device, b->size, b->offset);
    return CULV_OK;
}

static culv_result check_memory(const culv_multicast *m, const culv_vmm_allocation_info *memory,
                                uint64_t offset, uint64_t size, const char *call)
{
    if (memory->kind != CULV_VMM_LOCATION_DEVICE || (memory->usage & CULV_VMM_USAGE_TILE_POOL) ||
        (memory->usage & CULV_VMM_USAGE_MULTICAST))
        return culvi_x_fail(m->device, m->label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                            "%s: memory is %s; only plain device memory can be bound", call,
                            memory->kind != CULV_VMM_LOCATION_DEVICE     ? "on the host"
                            : (memory->usage & CULV_VMM_USAGE_TILE_POOL) ? "a tile pool"
                                                                         : "a multicast object");
    CULVI_X_REFUSE_IF(offset > memory->size || size > memory->size - offset, m->device, m->label,
                      CULV_REASON_RANGE,
                      "%s: %" PRIu64 " bytes from memory_offset %" PRIu64
                      " on, but the allocation has %" PRIu64,
                      call, size, offset, memory->size);
    /* An import's own handle types are not told: its exporter had some. */
    CULVI_X_REFUSE_IF(
        (m->info.handle_types != 0 || m->info.imported) && memory->handle_types == 0 &&
            !memory->imported,
        m->device, m->label, CULV_REASON_NOT_EXPORTABLE,
        "%s: the object %s, and memory was made without handle_types: CUDA binds only memory that can be exported to such an object (cuda.h, cuMulticastBindMem)",
        call, m->info.imported ? "was imported" : "can be exported");
    return CULV_OK;
}

/* What is bound is unbound by its device, which the driver takes from the memory and not from the
 * caller. In the device's context. */
static culv_result check_address(const culv_multicast *m, CUdevice device, CUdeviceptr address,
                                 const char *call)
{
    int ordinal = -1;
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
    void *value = &ordinal;
    CUresult r = CULV_CUDA(m->device)->cuPointerGetAttributes(1, &attribute, &value, address);
    if (r == CUDA_ERROR_INVALID_VALUE)
        return CULV_OK; /* nothing is there: the driver says so next */
    CULVI_X_TRY(
        culvi_multicast_result(m->device, m->label, r, "cuPointerGetAttributes",
                               "the driver could not be asked on which device the memory lies"));
    if (ordinal < 0 || ordinal == (int)device) return CULV_OK;
    return culvi_x_fail(m->device, m->label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
                        "%s: the memory at %#" PRIx64 " lies on CUDA device %d, and device is %d",
                        call, (uint64_t)address, ordinal, (int)device);
}

/* Binds in the device's context; memory NULL: by the address. */
static culv_result submit(const culv_multicast *m, CUdevice device, uint64_t offset,
                          const culv_vmm_allocation_info *memory, uint64_t from, uint64_t size,
                          const char *call)
{
    CULVI_X_TRY(memory == NULL ? check_address(m, device, from, call) : CULV_OK);
    const char *driver_call = memory != NULL ? "cuMulticastBindMem" : "cuMulticastBindAddr";
    CUresult r = memory != NULL ? CULV_CUDA(m->device)->cuMulticastBindMem(
                                      m->info.native_handle, (size_t)offset, memory->native_handle,
                                      (size_t)from, (size_t)size, 0)
                                : CULV_CUDA(m->device)->cuMulticastBindAddr(
                                      m->info.native_handle, (size_t)offset, from, (size_t)size, 0);
    return culvi_multicast_result(m->device, m->label, r, driver_call,
                                  "memory could not be bound to the multicast object");
}

/* The caller holds the object's lock; memory NULL: by the address. */
static culv_result bind_memory(culv_multicast *m, const culv_uuid *uuid, uint64_t offset,
                               const culv_vmm_allocation_info *memory, uint64_t from, uint64_t size,
                               const char *call)
{
    CUdevice device = -1;
    CULVI_X_TRY(find_member(m, uuid, call, &device));
    CULVI_X_TRY(check_free(m, device, offset, size, call));
    CULVI_X_NEW(culvi_binding, binding, m->device, m->label);
    CULVI_X_INSIDE(result, m->device, submit(m, device, offset, memory, from, size, call));
    CULVI_X_TRY_OR(result, culvi_x_free(binding));
    binding->device = device;
    binding->offset = offset;
    binding->size = size;
    binding->next = m->bindings;
    m->bindings = binding;
    return CULV_OK;
}

culv_result culv_multicast_bind(culv_multicast *multicast, uint64_t offset,
                                culv_vmm_allocation *memory, uint64_t memory_offset, uint64_t size)
{
    static const char call[] = "culv_multicast_bind";
    CULVI_X_REQUIRE_WITH(multicast, multicast->device, memory);
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    CULVI_X_TRY(culv_vmm_allocation_get_info(memory, &info));
    CULVI_X_TRY(check_place(multicast, offset, memory_offset, size, "memory_offset", call));
    CULVI_X_TRY(check_memory(multicast, &info, memory_offset, size, call));
    culvi_x_mutex_lock(&multicast->lock);
    culv_result result =
        bind_memory(multicast, &info.device, offset, &info, memory_offset, size, call);
    culvi_x_mutex_unlock(&multicast->lock);
    return result;
}

culv_result culv_multicast_bind_address(culv_multicast *multicast, uint64_t offset,
                                        culv_device *device, CUdeviceptr address, uint64_t size)
{
    static const char call[] = "culv_multicast_bind_address";
    CULVI_X_REQUIRE_WITH(multicast, multicast->device, device);
    const culv_device_caps caps = culvi_x_caps(device);
    CULVI_X_REFUSE_IF(address == 0, multicast->device, NULL, CULV_REASON_NULL_ARGUMENT,
                      "%s: address is 0", call);
    CULVI_X_TRY(check_place(multicast, offset, address, size, "address", call));
    CULVI_X_REFUSE_IF(!culvi_multicast_same_driver(multicast->device, device), device,
                      multicast->label, CULV_REASON_DEVICE_MISMATCH,
                      "%s: '%s' is of another driver", call, culvi_x_caps(device).name);
    culvi_x_mutex_lock(&multicast->lock);
    culv_result result = bind_memory(multicast, &caps.uuid, offset, NULL, address, size, call);
    culvi_x_mutex_unlock(&multicast->lock);
    return result;
}

/* The caller holds the object's lock. */
static culv_result unbind(culv_multicast *m, uint64_t offset, CUdevice device, uint64_t size)
{
    culvi_binding **link = &m->bindings;
    while (*link != NULL &&
           ((*link)->device != device || (*link)->offset != offset || (*link)->size != size))
        link = &(*link)->next;
    CULVI_X_REFUSE_IF(*link == NULL, m->device, m->label, CULV_REASON_NOT_MAPPED,
                      "culv_multicast_unbind: CUDA device %d has not bound %" PRIu64
                      " bytes at offset %" PRIu64
                      "; pass the values that the memory was bound with",
                      (int)device, size, offset);
    CULVI_X_CU_INSIDE(r, m->device,
                      CULV_CUDA(m->device)->cuMulticastUnbind(m->info.native_handle, device,
                                                              (size_t)offset, (size_t)size));
    CULVI_X_TRY(culvi_multicast_result(m->device, m->label, r, "cuMulticastUnbind",
                                       "memory could not be unbound from the multicast object"));
    culvi_binding *gone = *link;
    *link = gone->next;
    culvi_x_free(gone);
    return CULV_OK;
}

culv_result culv_multicast_unbind(culv_multicast *multicast, uint64_t offset, culv_device *device,
                                  uint64_t size)
{
    CULVI_X_REQUIRE_WITH(multicast, multicast->device, device);
    culvi_x_mutex_lock(&multicast->lock);
    culv_result result = unbind(multicast, offset, (CUdevice)culvi_x_caps(device).ordinal, size);
    culvi_x_mutex_unlock(&multicast->lock);
    return result;
}

void culvi_multicast_unbind_all(culv_multicast *multicast, bool entered)
{
    while (multicast->bindings != NULL) {
        culvi_binding *gone = multicast->bindings;
        multicast->bindings = gone->next;
        if (entered) /* what stays goes with the object */
            CULVI_X_RELEASE(CULV_CUDA(multicast->device)
                                ->cuMulticastUnbind(multicast->info.native_handle, gone->device,
                                                    (size_t)gone->offset, (size_t)gone->size));
        culvi_x_free(gone);
    }
}
