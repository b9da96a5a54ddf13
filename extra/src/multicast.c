/* SPDX-License-Identifier: MIT */
/* culv_multicast: made, imported, its devices, given up. */
#include "multicast.h"

/* Refuses a device without multicast, or a driver without its calls. */
static culv_result check_device(culv_device *device, const char *label)
{
    const culv_device_caps caps = culvi_x_caps(device);
    CULVI_X_UNSUPPORTED_IF(
        !caps.multicast, device, label, CULV_REASON_VMM,
        "'%s' has no multicast (CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED is 0): that takes several GPUs behind NVSwitches",
        caps.name);
    return CULV_CUDA_CHECK(device, cuMulticastCreate);
}

culv_result culv_check_multicast(culv_device *device)
{
    CULVI_X_REQUIRE(NULL, device);
    return check_device(device, NULL);
}

culv_result culvi_multicast_result(culv_device *device, const char *label, CUresult r,
                                   const char *call, const char *what)
{
    if (r == CUDA_ERROR_SYSTEM_NOT_READY)
        return culvi_x_fail_native(
            device, label, CULV_ERROR_DRIVER, CULV_REASON_NOT_READY, r, call,
            "%s: %s of '%s' answered CUDA_ERROR_SYSTEM_NOT_READY: the system software that multicast needs is not initialized or not running (the Fabric Manager, where NVSwitches are); try again once it is",
            what, call, culvi_x_caps(device).name);
    if (r == CUDA_ERROR_ILLEGAL_STATE)
        return culvi_x_fail_native(
            device, label, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED, r, call,
            "%s: %s of '%s' answered CUDA_ERROR_ILLEGAL_STATE: the system's configuration is in an illegal state; see that it is valid and that all of the driver's daemons run, then make the object anew",
            what, call, culvi_x_caps(device).name);
    return culvi_x_result(device, label, r, call, CULV_REASON_DRIVER_REFUSED, "%s", what);
}

static culv_result check_opt_in(culv_device *device, uint32_t opt_in, const char *label,
                                const char *desc)
{
    if (opt_in != 0) return CULV_OK;
    return culvi_x_fail(
        device, label, CULV_ERROR_INVALID, CULV_REASON_OPT_IN,
        "%s.opt_in is 0: a multicast object sets up the NVSwitches of the machine, which may disturb other programs on it; set opt_in if nobody else uses the machine",
        desc);
}

static culv_result check_desc(culv_device *device, const culv_multicast_desc *d)
{
    CULVI_X_REFUSE_IF(d->num_devices == 0, device, d->label, CULV_REASON_VALUE,
                      "culv_multicast_desc.num_devices is 0");
    const uint32_t fd = 1u << CULV_HANDLE_OPAQUE_FD, nt = 1u << CULV_HANDLE_OPAQUE_WIN32;
    if (d->handle_types & ~fd)
        return culvi_x_fail(device, d->label,
                            d->handle_types & ~(fd | nt) ? CULV_ERROR_INVALID
                                                         : CULV_ERROR_UNSUPPORTED,
                            CULV_REASON_HANDLE_TYPE,
                            "culv_multicast_desc.handle_types is %#" PRIx32
                            "; multicast objects are exported only as OPAQUE_FD (%#" PRIx32 ")",
                            d->handle_types, fd);
    return check_device(device, d->label);
}

static CUmulticastObjectProp to_cuda(uint32_t num_devices, uint64_t size, uint32_t handle_types)
{
    return (CUmulticastObjectProp){.numDevices = num_devices,
                                   .size = (size_t)size,
                                   .handleTypes = handle_types != 0
                                                      ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                                                      : CU_MEM_HANDLE_TYPE_NONE};
}

/* Runs in the device's context. */
static culv_result ask_granularity(culv_device *device, const char *label,
                                   const CUmulticastObjectProp *prop,
                                   CUmulticastGranularity_flags which, uint64_t *out)
{
    size_t bytes = 0;
    CUresult r = CULV_CUDA(device)->cuMulticastGetGranularity(&bytes, prop, which);
    if (r != CUDA_SUCCESS || bytes == 0)
        return culvi_multicast_result(device, label, r != CUDA_SUCCESS ? r : CUDA_ERROR_UNKNOWN,
                                      "cuMulticastGetGranularity",
                                      "the granularity of multicast objects could not be queried");
    *out = bytes;
    return CULV_OK;
}

culv_result culv_multicast_get_granularity(culv_device *device, const culv_multicast_desc *desc,
                                           uint64_t *minimum, uint64_t *recommended)
{
    static const CUmulticastGranularity_flags which[] = {CU_MULTICAST_GRANULARITY_MINIMUM,
                                                         CU_MULTICAST_GRANULARITY_RECOMMENDED};
    uint64_t *const out[] = {minimum, recommended};
    uint64_t asked[2] = {0, 0};
    CULVI_X_REQUIRE_WITH(device, device, desc);
    CULVI_X_READ(device, culv_multicast_desc, d, desc);
    CULVI_X_TRY(check_desc(device, &d));
    const CUmulticastObjectProp prop = to_cuda(d.num_devices, 0, d.handle_types);
    for (int i = 0; i < 2; i++) {
        if (out[i] == NULL) continue;
        CULVI_X_INSIDE(result, device,
                       ask_granularity(device, d.label, &prop, which[i], &asked[i]));
        CULVI_X_TRY(result);
    }
    for (int i = 0; i < 2; i++)
        if (out[i] != NULL) *out[i] = asked[i];
    return CULV_OK;
}

/* An object without an allocation. */
static void begin(culv_multicast *m, culv_device *device, const char *label, uint32_t num_devices)
{
    culvi_x_mutex_init(&m->lock);
    m->device = device;
    m->num_devices = num_devices;
    atomic_init(&m->missing, num_devices);
    m->info = culv_vmm_allocation_info_init();
    culvi_x_label_set(m->label, label);
}

static void free_object(culv_multicast *m)
{
    culvi_x_mutex_destroy(&m->lock);
    culvi_x_free(m);
}

/* So many devices were added. The caller holds the object's lock, or nobody else knows it. */
static void note_added(culv_multicast *m, uint32_t count)
{
    atomic_fetch_sub(&m->missing, count);
    culv_vmm_allocation_own(m->allocation, "culv_multicast_destroy", atomic_load(&m->missing));
}

/* Runs in the device's context. */
static culv_result make(culv_multicast *m, const culv_multicast_desc *d)
{
    culv_device *device = m->device;
    CUmulticastObjectProp prop = to_cuda(d->num_devices, d->size, d->handle_types);
    CULVI_X_TRY(ask_granularity(device, d->label, &prop, CU_MULTICAST_GRANULARITY_MINIMUM,
                                &m->granularity));
    CULVI_X_REFUSE_IF(d->size > SIZE_MAX - (m->granularity - 1), device, d->label, CULV_REASON_SIZE,
                      "culv_multicast_desc.size is %" PRIu64
                      " bytes, which cannot be rounded up to the granularity of %" PRIu64,
                      d->size, m->granularity);
    m->info.requested = d->size;
    m->info.size = (d->size + m->granularity - 1) / m->granularity * m->granularity;
    m->info.granularity = m->granularity;
    m->info.handle_types = d->handle_types;
    prop.size = (size_t)m->info.size;
    CUmemGenericAllocationHandle handle = 0;
    CUresult r = CULV_CUDA(device)->cuMulticastCreate(&handle, &prop);
    CULVI_X_TRY(culvi_multicast_result(device, d->label, r, "cuMulticastCreate",
                                       "a multicast object could not be made"));
    m->info.native_handle = handle;
    CULVI_X_TRY_OR(culv_vmm_allocation_wrap(device, &m->info, d->label, &m->allocation),
                   CULVI_X_RELEASE(CULV_CUDA(device)->cuMemRelease(handle)));
    return CULV_OK;
}

culv_result culv_multicast_create(culv_device *device, const culv_multicast_desc *desc,
                                  culv_multicast **out)
{
    CULVI_X_REQUIRE_WITH2(device, device, desc, out);
    CULVI_X_READ(device, culv_multicast_desc, d, desc);
    CULVI_X_TRY(check_opt_in(device, d.opt_in, d.label, "culv_multicast_desc"));
    CULVI_X_REFUSE_IF(d.size == 0, device, d.label, CULV_REASON_SIZE,
                      "culv_multicast_desc.size is 0");
    CULVI_X_TRY(check_desc(device, &d));
    CULVI_X_NEW(culv_multicast, m, device, d.label);
    begin(m, device, d.label, d.num_devices);
    CULVI_X_INSIDE(result, device, make(m, &d));
    CULVI_X_TRY_OR(result, free_object(m));
    note_added(m, 0);
    *out = m;
    return CULV_OK;
}

static culv_result check_import(culv_device *device, const culv_multicast_import_desc *d)
{
    CULVI_X_TRY(check_opt_in(device, d->opt_in, d->label, "culv_multicast_import_desc"));
    CULVI_X_REFUSE_IF(d->num_devices == 0 || d->size == 0, device, d->label,
                      d->size == 0 ? CULV_REASON_SIZE : CULV_REASON_VALUE,
                      "culv_multicast_import_desc.%s is 0; CUDA does not report it for an import",
                      d->size == 0 ? "size" : "num_devices");
    return check_device(device, d->label);
}

culv_result culv_multicast_import(culv_device *device, const culv_multicast_import_desc *desc,
                                  culv_multicast **out)
{
    CULVI_X_REQUIRE_WITH2(device, device, desc, out);
    CULVI_X_READ(device, culv_multicast_import_desc, d, desc);
    CULVI_X_TRY(check_import(device, &d));
    CULVI_X_NEW(culv_multicast, m, device, d.label);
    begin(m, device, d.label, d.num_devices);
    const CUmulticastObjectProp prop = to_cuda(d.num_devices, d.size, 0);
    culv_vmm_import_desc memory = culv_vmm_import_desc_init();
    memory.handle = d.handle;
    memory.size = d.size;
    memory.label = d.label;
    CULVI_X_INSIDE(
        result, device,
        ask_granularity(device, d.label, &prop, CU_MULTICAST_GRANULARITY_MINIMUM, &m->granularity));
    if (result == CULV_OK) result = culv_vmm_import(device, &memory, &m->allocation);
    CULVI_X_TRY_OR(result, free_object(m));
    (void)culv_vmm_allocation_get_info(m->allocation, &m->info);
    note_added(m, 0);
    *out = m;
    return CULV_OK;
}

void culv_multicast_destroy(culv_multicast **multicast)
{
    culv_multicast *m = culvi_x_take(multicast);
    uint64_t scope;
    if (m == NULL) return;
    const bool entered = culv_device_enter(m->device, 1, &scope) == CULV_OK;
    culvi_multicast_unbind_all(m, entered);
    if (entered) culv_device_leave(m->device, scope);
    culv_vmm_allocation_own(m->allocation, NULL, 0);
    (void)culv_vmm_allocation_destroy(&m->allocation);
    free_object(m);
}

culv_vmm_allocation *culv_multicast_allocation(const culv_multicast *multicast)
{
    return multicast != NULL ? multicast->allocation : NULL;
}

bool culvi_multicast_same_driver(culv_device *a, culv_device *b)
{
    return CULV_CUDA(a)->cuInit == CULV_CUDA(b)->cuInit;
}

/* The caller holds the object's lock. */
static culv_result add(culv_multicast *m, culv_device *device)
{
    const culv_device_caps caps = culvi_x_caps(device);
    for (uint32_t i = 0; i < m->num_members; i++)
        CULVI_X_REFUSE_IF(m->members[i].ordinal == caps.ordinal, m->device, m->label,
                          CULV_REASON_VALUE,
                          "culv_multicast_add_device: CUDA device %d '%s' was added already",
                          (int)caps.ordinal, caps.name);
    CULVI_X_REFUSE_IF(atomic_load(&m->missing) == 0 || m->num_members == CULVI_MULTICAST_MEMBERS,
                      m->device, m->label, CULV_REASON_VALUE,
                      "culv_multicast_add_device: all of the object's %" PRIu32
                      " devices were added",
                      m->num_devices);
    CULVI_X_CU_INSIDE(
        r, m->device,
        CULV_CUDA(m->device)->cuMulticastAddDevice(m->info.native_handle, (CUdevice)caps.ordinal));
    CULVI_X_TRY(culvi_multicast_result(m->device, m->label, r, "cuMulticastAddDevice",
                                       "a device could not be added to the multicast object"));
    m->members[m->num_members++] = caps;
    note_added(m, 1);
    return CULV_OK;
}

culv_result culv_multicast_add_device(culv_multicast *multicast, culv_device *device)
{
    CULVI_X_REQUIRE(device, multicast);
    CULVI_X_REQUIRE(NULL, device);
    CULVI_X_REFUSE_IF(
        !culvi_multicast_same_driver(multicast->device, device), device, multicast->label,
        CULV_REASON_DEVICE_MISMATCH,
        "culv_multicast_add_device: '%s' is of another driver than '%s', which made the object",
        culvi_x_caps(device).name, culvi_x_caps(multicast->device).name);
    CULVI_X_TRY(check_device(device, multicast->label));
    culvi_x_mutex_lock(&multicast->lock);
    culv_result result = add(multicast, device);
    culvi_x_mutex_unlock(&multicast->lock);
    return result;
}

culv_result culv_multicast_mark_devices_added(culv_multicast *multicast, uint32_t count)
{
    CULVI_X_REQUIRE(NULL, multicast);
    culvi_x_mutex_lock(&multicast->lock);
    const uint32_t missing = atomic_load(&multicast->missing);
    culv_result result = CULV_OK;
    if (count > missing)
        result =
            culvi_x_fail(multicast->device, multicast->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                         "culv_multicast_mark_devices_added: count is %" PRIu32 ", but %" PRIu32
                         " of the object's %" PRIu32 " devices are missing",
                         count, missing, multicast->num_devices);
    else
        note_added(multicast, count);
    culvi_x_mutex_unlock(&multicast->lock);
    return result;
}
