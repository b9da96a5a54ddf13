/* SPDX-License-Identifier: MIT */
/* culv_multicast: made, imported, its devices, given up. */
#include "vmm/multicast.h"

#include "base/alloc.h"
#include "base/desc.h"
#include "core/import.h"
#include "cuda/context.h"
#include "vmm/property.h"

#include <inttypes.h>

static bool has_calls(const culvi_cuda *cuda)
{
    return cuda->cuMulticastCreate != NULL && cuda->cuMulticastAddDevice != NULL &&
           cuda->cuMulticastBindMem != NULL && cuda->cuMulticastBindAddr != NULL &&
           cuda->cuMulticastUnbind != NULL && cuda->cuMulticastGetGranularity != NULL;
}

/* Refuses a device without multicast, or a driver without its calls. */
static culv_result check_device(const culv_device *device, const char *label)
{
    if (!device->caps.multicast)
        return culvi_fail(
            &device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_VMM,
            "'%s' has no multicast (CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED is 0): that takes several GPUs behind NVSwitches",
            device->caps.name);
    if (!has_calls(device->cuda))
        return culvi_fail(
            &device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD,
            "the CUDA driver of '%s' lacks multicast objects, which came with CUDA 12.1",
            device->caps.name);
    return CULV_OK;
}

culv_result culv_check_multicast(const culv_device *device)
{
    CULVI_REQUIRE(NULL, device);
    return check_device(device, NULL);
}

culv_result culvi_multicast_fail(const culv_device *device, const char *label, CUresult r,
                                 const char *call, const char *what)
{
    if (r == CUDA_ERROR_SYSTEM_NOT_READY)
        return culvi_fail_native(
            &device->voice, label, CULV_ERROR_DRIVER, CULV_REASON_NOT_READY, CULV_NATIVE_CUDA, r,
            call,
            "%s: %s of '%s' answered CUDA_ERROR_SYSTEM_NOT_READY: the system software that multicast needs is not initialized or not running (the Fabric Manager, where NVSwitches are); "
            "try again once it is",
            what, call, device->caps.name);
    if (r == CUDA_ERROR_ILLEGAL_STATE)
        return culvi_fail_native(
            &device->voice, label, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED, CULV_NATIVE_CUDA,
            r, call,
            "%s: %s of '%s' answered CUDA_ERROR_ILLEGAL_STATE: the system's configuration is in an illegal state; "
            "see that it is valid and that all of the driver's daemons run, then make the object anew",
            what, call, device->caps.name);
    return culvi_fail_cuda(device, label, r, call, CULV_REASON_DRIVER_REFUSED, "%s", what);
}

static culv_result check_opt_in(const culv_device *device, uint32_t opt_in, const char *label,
                                const char *desc)
{
    if (opt_in != 0) return CULV_OK;
    return culvi_fail(
        &device->voice, label, CULV_ERROR_INVALID, CULV_REASON_OPT_IN,
        "%s.opt_in is 0: a multicast object sets up the NVSwitches of the machine, which may "
        "disturb other programs on it; set opt_in if nobody else uses the machine",
        desc);
}

static culv_result check_desc(const culv_device *device, const culv_multicast_desc *d)
{
    if (d->num_devices == 0)
        return culvi_fail(&device->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_multicast_desc.num_devices is 0");
    culv_result result = culvi_handle_types_check(
        &device->voice, d->label, "the number of a bit in culv_multicast_desc.handle_types",
        d->handle_types, CULVI_USE_MULTICAST);
    if (result != CULV_OK) return result;
    return check_device(device, d->label);
}

static CUmulticastObjectProp to_cuda(uint32_t num_devices, uint64_t size, uint32_t handle_types)
{
    CUmulticastObjectProp prop;
    memset(&prop, 0, sizeof prop);
    prop.numDevices = num_devices;
    prop.size = (size_t)size;
    prop.handleTypes = culvi_vmm_to_cuda_handle_types(handle_types);
    return prop;
}

/* Runs in the device's context. */
static culv_result ask_granularity(const culv_device *device, const char *label,
                                   const CUmulticastObjectProp *prop,
                                   CUmulticastGranularity_flags which, uint64_t *out)
{
    size_t bytes = 0;
    CUresult r = CULVI_CU(device, cuMulticastGetGranularity, (&bytes, prop, which));
    if (r != CUDA_SUCCESS || bytes == 0)
        return culvi_multicast_fail(device, label, r != CUDA_SUCCESS ? r : CUDA_ERROR_UNKNOWN,
                                    "cuMulticastGetGranularity",
                                    "the granularity of multicast objects could not be queried");
    *out = bytes;
    return CULV_OK;
}

culv_result culv_multicast_get_granularity(culv_device *device, const culv_multicast_desc *desc,
                                           uint64_t *minimum, uint64_t *recommended)
{
    culv_multicast_desc d;
    culvi_scope scope;
    uint64_t least = 0, best = 0;
    CULVI_REQUIRE(NULL, device);
    CULVI_REQUIRE(&device->voice, desc);
    culv_result result = culvi_desc_read(&device->voice, &d, sizeof d, desc, "culv_multicast_desc");
    if (result == CULV_OK) result = check_desc(device, &d);
    if (result == CULV_OK) result = culvi_enter(device, &scope, d.label);
    if (result != CULV_OK) return result;
    const CUmulticastObjectProp prop = to_cuda(d.num_devices, 0, d.handle_types);
    if (minimum != NULL)
        result = ask_granularity(device, d.label, &prop, CU_MULTICAST_GRANULARITY_MINIMUM, &least);
    if (recommended != NULL && result == CULV_OK)
        result =
            ask_granularity(device, d.label, &prop, CU_MULTICAST_GRANULARITY_RECOMMENDED, &best);
    culvi_leave(device, &scope);
    if (result != CULV_OK) return result;
    if (minimum != NULL) *minimum = least;
    if (recommended != NULL) *recommended = best;
    return CULV_OK;
}

/* An object without a handle. NULL: recorded. */
static culv_multicast *new_object(culv_device *device, const char *label, uint32_t num_devices)
{
    culv_multicast *m = culvi_alloc(sizeof *m);
    if (m == NULL) {
        (void)culvi_fail_host_memory(&device->voice, label);
        return NULL;
    }
    m->allocation = culvi_vmm_allocation_new(device, label);
    if (m->allocation == NULL) goto free_object;
    if (!culvi_mutex_init(&m->lock)) {
        (void)culvi_fail(&device->voice, label, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_OS,
                         "a mutex could not be made");
        goto free_allocation;
    }
    m->device = device;
    m->num_devices = num_devices;
    m->allocation->multicast = true;
    atomic_init(&m->allocation->missing, num_devices);
    culvi_label_set(m->label, label);
    return m;

free_allocation:
    culvi_vmm_allocation_unref(m->allocation);
free_object:
    culvi_free(m);
    return NULL;
}

static void free_object(culv_multicast *m)
{
    culvi_mutex_destroy(&m->lock);
    culvi_free(m);
}

/* The object has its handle: from now on culvi_vmm_allocation_give_up() gives it back. */
static void own(culv_multicast *m, uint64_t requested, uint64_t size, bool counted)
{
    culv_device *device = m->device;
    m->allocation->requested = requested;
    m->allocation->size = size;
    m->allocation->granularity = m->granularity;
    m->allocation->owner_destroy_call = "culv_multicast_destroy";
    m->allocation->kind = CULV_VMM_LOCATION_DEVICE;
    culvi_mutex_lock(&device->lock);
    device->counts.vmm_allocations++;
    culvi_mutex_unlock(&device->lock);
    if (!counted) culvi_device_ref(device);
    culvi_log_object(&device->voice, "made", "multicast object", m->label, size);
}

static uint64_t up(uint64_t size, uint64_t granularity)
{
    return (size + granularity - 1) / granularity * granularity;
}

/* Runs in the device's context. */
static culv_result make(culv_multicast *m, const culv_multicast_desc *d, uint64_t *size)
{
    culv_device *device = m->device;
    CUmulticastObjectProp prop = to_cuda(d->num_devices, d->size, d->handle_types);
    uint64_t granularity = 0;
    culv_result result =
        ask_granularity(device, d->label, &prop, CU_MULTICAST_GRANULARITY_MINIMUM, &m->granularity);
    granularity = m->granularity;
    if (result == CULV_OK && d->recommended_granularity != 0)
        result = ask_granularity(device, d->label, &prop, CU_MULTICAST_GRANULARITY_RECOMMENDED,
                                 &granularity);
    if (result != CULV_OK) return result;
    if (d->size > SIZE_MAX - (granularity - 1))
        return culvi_fail(&device->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "culv_multicast_desc.size is %" PRIu64
                          " bytes, which cannot be rounded up to the granularity of %" PRIu64,
                          d->size, granularity);
    *size = up(d->size, granularity);
    prop.size = (size_t)*size;
    CUresult r = CULVI_CU(device, cuMulticastCreate, (&m->allocation->handle, &prop));
    if (r == CUDA_SUCCESS) return CULV_OK;
    return culvi_multicast_fail(device, d->label, r, "cuMulticastCreate",
                                "a multicast object could not be made");
}

culv_result culv_multicast_create(culv_device *device, const culv_multicast_desc *desc,
                                  culv_multicast **out)
{
    culv_multicast_desc d;
    culvi_scope scope;
    uint64_t size = 0;
    CULVI_REQUIRE(NULL, device);
    CULVI_REQUIRE2(&device->voice, desc, out);
    culv_result result = culvi_desc_read(&device->voice, &d, sizeof d, desc, "culv_multicast_desc");
    if (result == CULV_OK) result = check_opt_in(device, d.opt_in, d.label, "culv_multicast_desc");
    if (result == CULV_OK && d.size == 0)
        result = culvi_fail(&device->voice, d.label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                            "culv_multicast_desc.size is 0");
    if (result == CULV_OK) result = check_desc(device, &d);
    if (result != CULV_OK) return result;
    culv_multicast *m = new_object(device, d.label, d.num_devices);
    if (m == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    m->allocation->handle_types = d.handle_types;
    result = culvi_enter(device, &scope, d.label);
    if (result == CULV_OK) {
        result = make(m, &d, &size);
        culvi_leave(device, &scope);
    }
    if (result != CULV_OK) {
        culvi_vmm_allocation_unref(m->allocation);
        free_object(m);
        return result;
    }
    own(m, d.size, size, false);
    *out = m;
    return CULV_OK;
}

static CUresult give(culv_device *device, const culv_handle *duplicate, void *object)
{
    culv_multicast *m = object;
    const unsigned type = culvi_handle_number(duplicate->type, CULVI_USE_MULTICAST);
    return CULVI_CU(
        device, cuMemImportFromShareableHandle,
        (&m->allocation->handle, culvi_vmm_shareable(duplicate), (CUmemAllocationHandleType)type));
}

static void describe(const void *object, culvi_text *text)
{
    (void)object;
    culvi_text_add(
        text,
        "it must be of a multicast object (culv_vmm_export_dup() of culv_multicast_allocation())");
}

static culv_result check_import(const culv_device *device, const culv_multicast_import_desc *d)
{
    culv_result result = check_opt_in(device, d->opt_in, d->label, "culv_multicast_import_desc");
    if (result != CULV_OK) return result;
    if (d->num_devices == 0 || d->size == 0)
        return culvi_fail(&device->voice, d->label, CULV_ERROR_INVALID,
                          d->size == 0 ? CULV_REASON_SIZE : CULV_REASON_VALUE,
                          "culv_multicast_import_desc.%s is 0; CUDA does not report it for an "
                          "import",
                          d->size == 0 ? "size" : "num_devices");
    result =
        culvi_handle_use_check(&device->voice, d->label, "culv_multicast_import_desc.handle.type",
                               d->handle.type, CULVI_USE_MULTICAST);
    if (result != CULV_OK) return result;
    if (d->handle.name != NULL)
        return culvi_fail(&device->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE,
                          "culv_multicast_import_desc.handle has a name; "
                          "multicast objects are imported by handles without one");
    return check_device(device, d->label);
}

culv_result culv_multicast_import(culv_device *device, const culv_multicast_import_desc *desc,
                                  culv_multicast **out)
{
    static const culv_uuid any;
    culv_multicast_import_desc d;
    culvi_scope scope;
    uint64_t uncounted = 0;
    CULVI_REQUIRE(NULL, device);
    CULVI_REQUIRE2(&device->voice, desc, out);
    culv_result result =
        culvi_desc_read(&device->voice, &d, sizeof d, desc, "culv_multicast_import_desc");
    if (result != CULV_OK) return result;
    culvi_import import = {.what = "multicast object",
                           .call = "cuMemImportFromShareableHandle",
                           .field = "culv_multicast_import_desc.handle",
                           .source = "culv_multicast_export_dup() (cuMemExportToShareableHandle)",
                           .use = CULVI_USE_MULTICAST,
                           .handle = &d.handle,
                           .label = d.label,
                           .count = &uncounted,
                           .lent = true,
                           .give = give,
                           .describe = describe};
    result = check_import(device, &d);
    if (result == CULV_OK) result = culvi_import_check(device, &import, &any);
    if (result != CULV_OK) return result;
    culv_multicast *m = new_object(device, d.label, d.num_devices);
    if (m == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    m->allocation->imported = true;
    const CUmulticastObjectProp prop = to_cuda(d.num_devices, d.size, 0);
    result = culvi_enter(device, &scope, d.label);
    if (result == CULV_OK) {
        result = ask_granularity(device, d.label, &prop, CU_MULTICAST_GRANULARITY_MINIMUM,
                                 &m->granularity);
        culvi_leave(device, &scope);
    }
    if (result == CULV_OK)
        result = culvi_import_run(device, &import, m); /* the device has one reference more */
    if (result != CULV_OK) {
        culvi_vmm_allocation_unref(m->allocation);
        free_object(m);
        return result;
    }
    own(m, d.size, d.size, true);
    *out = m;
    return CULV_OK;
}

void culv_multicast_destroy(culv_multicast **multicast)
{
    if (multicast == NULL || *multicast == NULL) return;
    culv_multicast *m = *multicast;
    culvi_scope scope;
    *multicast = NULL;
    bool entered = culvi_enter_quietly(m->device, &scope) == CUDA_SUCCESS;
    culvi_multicast_unbind_all(m);
    if (entered) culvi_leave(m->device, &scope);
    culvi_vmm_allocation_give_up(&m->allocation);
    free_object(m);
}

culv_vmm_allocation *culv_multicast_allocation(const culv_multicast *multicast)
{
    return multicast != NULL ? multicast->allocation : NULL;
}

bool culvi_multicast_has(const culv_multicast *multicast, CUdevice device)
{
    for (uint32_t i = 0; i < multicast->num_members; i++)
        if (multicast->members[i] == device) return true;
    return false;
}

/* The caller holds the object's lock. */
static culv_result add(culv_multicast *m, culv_device *device)
{
    culvi_scope scope;
    const culvi_voice *voice = &m->device->voice;
    if (culvi_multicast_has(m, device->ordinal))
        return culvi_fail(voice, m->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_multicast_add_device: CUDA device %d '%s' was added already",
                          (int)device->ordinal, device->caps.name);
    if (atomic_load(&m->allocation->missing) == 0 || m->num_members == CULVI_MULTICAST_MEMBERS)
        return culvi_fail(voice, m->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_multicast_add_device: all of the object's %" PRIu32
                          " devices were added",
                          m->num_devices);
    culv_result result = culvi_enter(m->device, &scope, m->label);
    if (result != CULV_OK) return result;
    CUresult r =
        CULVI_CU(m->device, cuMulticastAddDevice, (m->allocation->handle, device->ordinal));
    culvi_leave(m->device, &scope);
    if (r != CUDA_SUCCESS)
        return culvi_multicast_fail(m->device, m->label, r, "cuMulticastAddDevice",
                                    "a device could not be added to the multicast object");
    m->members[m->num_members++] = device->ordinal;
    atomic_fetch_sub(&m->allocation->missing, 1);
    return CULV_OK;
}

culv_result culv_multicast_add_device(culv_multicast *multicast, culv_device *device)
{
    CULVI_REQUIRE(device != NULL ? &device->voice : NULL, multicast);
    CULVI_REQUIRE(NULL, device);
    if (!culvi_vmm_same_driver(multicast->device, device))
        return culvi_fail(
            &device->voice, multicast->label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
            "culv_multicast_add_device: '%s' is of another driver than '%s', which made the object",
            device->caps.name, multicast->device->caps.name);
    culv_result result = check_device(device, multicast->label);
    if (result != CULV_OK) return result;
    culvi_mutex_lock(&multicast->lock);
    result = add(multicast, device);
    culvi_mutex_unlock(&multicast->lock);
    return result;
}

culv_result culv_multicast_mark_devices_added(culv_multicast *multicast, uint32_t count)
{
    CULVI_REQUIRE(NULL, multicast);
    culvi_mutex_lock(&multicast->lock);
    const uint32_t missing = atomic_load(&multicast->allocation->missing);
    culv_result result = CULV_OK;
    if (count > missing)
        result = culvi_fail(&multicast->device->voice, multicast->label, CULV_ERROR_INVALID,
                            CULV_REASON_VALUE,
                            "culv_multicast_mark_devices_added: count is %" PRIu32 ", but %" PRIu32
                            " of the object's %" PRIu32 " devices are missing",
                            count, missing, multicast->num_devices);
    else
        atomic_fetch_sub(&multicast->allocation->missing, count);
    culvi_mutex_unlock(&multicast->lock);
    return result;
}
