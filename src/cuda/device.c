/* SPDX-License-Identifier: MIT */
/* culv_device: finding, opening, closing. */
#include "cuda/device.h"

#include "base/handle.h"
#include "cuda/format.h"
#include "cuda/retire.h"
#include "cuda/watch.h"

#include <stdio.h>

#if CUDA_VERSION >= 12090
/* Runs inside a driver call, on its thread: keeps what the driver says about it (R5). */
static void CUDA_CB note_driver_log(void *data, CUlogLevel level, char *message, size_t length)
{
    (void)data;
    (void)level;
    culvi_thread *thread = culvi_thread_state();
    if (message == NULL) return;
    while (length > 0 && (message[length - 1] == '\n' || message[length - 1] == '\0'))
        length--;
    snprintf(thread->driver_log, sizeof thread->driver_log, "%.*s",
             (int)(length > 500 ? 500 : length), message);
}
#endif

static void register_driver_log(culv_device *device)
{
#if CUDA_VERSION >= 12090
    if (device->cuda->cuLogsRegisterCallback == NULL ||
        device->cuda->cuLogsUnregisterCallback == NULL)
        return;
    if (device->cuda->cuLogsRegisterCallback(note_driver_log, NULL, &device->driver_log) !=
        CUDA_SUCCESS)
        device->driver_log = NULL; /* the driver's words are a help, not a need */
#else
    (void)device;
#endif
}

static void unregister_driver_log(culv_device *device)
{
#if CUDA_VERSION >= 12090
    if (device->driver_log == NULL) return;
    /* Twice: one that stays registered would be called after this library is gone. */
    CULVI_CU_TWICE(device, cuLogsUnregisterCallback, (device->driver_log));
#else
    (void)device;
#endif
}

/* An older driver does not know newer attributes: what it cannot tell, it cannot do. */
static culv_result attribute(const culv_device *device, CUdevice_attribute which, uint32_t *out)
{
    int value = 0;
    CUresult r = CULVI_CU(device, cuDeviceGetAttribute, (&value, which, device->ordinal));
    if (r == CUDA_SUCCESS) *out = (uint32_t)value;
    if (r == CUDA_SUCCESS || r == CUDA_ERROR_INVALID_VALUE) return CULV_OK;
    return culvi_fail_cuda(device, NULL, r, "cuDeviceGetAttribute", CULV_REASON_DRIVER_REFUSED,
                           "attribute %d of '%s' could not be read", (int)which, device->caps.name);
}

static culv_result read_caps(culv_device *device, const culvi_cuda_device *found)
{
    culv_device_caps *caps = &device->caps;
    caps->struct_size = sizeof *caps;
    memcpy(caps->name, found->name, sizeof caps->name);
    caps->uuid = found->uuid;
    caps->ordinal = found->ordinal;
    caps->is_software = found->cuda->kind == CULV_DRIVER_SOFT;
    caps->driver_version = (uint32_t)found->cuda->version;
    caps->mig_slice = found->mig;
    caps->luid_valid = found->luid_valid;
    if (found->luid_valid) {
        caps->luid = found->luid;
        caps->node_mask = found->node_mask;
    }
    size_t bytes = 0;
    if (CULVI_CU(device, cuDeviceTotalMem, (&bytes, device->ordinal)) == CUDA_SUCCESS)
        caps->total_memory = bytes;
    if (CULVI_CU(device, cuDeviceGetPCIBusId,
                 (caps->pci_bus_id, (int)sizeof caps->pci_bus_id, device->ordinal)) != CUDA_SUCCESS)
        caps->pci_bus_id[0] = '\0';
    const struct {
        uint32_t *field;
        CUdevice_attribute attribute;
    } rows[] = {
        {&caps->compute_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
        {&caps->compute_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
        {&caps->timeline_semaphores, CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED},
        {&caps->vmm, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED},
        {&caps->vmm_posix_fd, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED},
        {&caps->vmm_win32, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED},
        {&caps->vmm_fabric, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED},
        {&caps->dma_buf_export, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED},
        {&caps->dma_buf_export_host, CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED},
        {&caps->gpudirect_rdma, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED},
        {&caps->sparse_arrays, CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED},
        {&caps->deferred_mapping_arrays, CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED},
        {&caps->pageable_memory_access, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS},
        {&caps->multicast, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED},
        {&caps->integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED},
        {&caps->host_register_supported, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED},
        {&caps->can_use_host_pointer_for_registered_mem,
         CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM},
        {&caps->pageable_memory_access_uses_host_page_tables,
         CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES},
    };
    culv_result result = CULV_OK;
    for (size_t i = 0; result == CULV_OK && i < sizeof rows / sizeof rows[0]; i++)
        result = attribute(device, rows[i].attribute, rows[i].field);
    /* Whether it takes dma-bufs, the driver tells of an import alone. */
    caps->memory_handle_types =
        culvi_handle_types_of(CULVI_USE_MEMORY) & ~(1u << CULV_HANDLE_DMA_BUF_FD);
    caps->semaphore_handle_types =
        culvi_handle_types_of(CULVI_USE_BINARY) | culvi_handle_types_of(CULVI_USE_TIMELINE);
    return result;
}

/* What a device is looked for by: one of the first two, or else the ordinal. */
typedef struct key {
    const culv_uuid *uuid;
    const culv_luid *luid;
    uint32_t node_mask;
    int32_t ordinal;
    culvi_describe_fn describe; /* NULL: Culvert's own words */
    const void *asker;
} key;

/* What keeps devices from being found by a LUID. */
static void explain_luid(const culvi_probe *probe, bool linked, culvi_text *text)
{
    uint32_t without = 0;
    for (uint32_t i = 0; i < probe->num_devices; i++)
        without += !probe->devices[i].luid_valid;
    if (linked)
        culvi_text_add(
            text,
            ". Linked GPUs share a LUID and have a CUDA device for each node: pass the bit of the node that the resources are on");
    else if (without > 0)
        culvi_text_add(
            text,
            ". The driver reports no LUID for %u of them: it reports LUIDs only on Windows, and not in TCC mode; open the device by UUID or ordinal",
            (unsigned)without);
}

static culv_result no_match(const culvi_voice *voice, const culvi_probe *probe, const key *wanted,
                            bool linked, culv_driver asked)
{
    CULVI_TEXT(text, 1800);
    bool any_driver = probe->drivers[0] != NULL || probe->drivers[1] != NULL;
    bool mig = false;
    for (uint32_t i = 0; i < probe->num_devices; i++)
        mig = mig || probe->devices[i].mig;
    CULVI_TEXT(hint_text, 400);
    if (wanted->describe != NULL) {
        wanted->describe(wanted->asker, voice, probe, &text, &hint_text);
    } else if (wanted->uuid != NULL) {
        culvi_text_add(&text, "UUID ");
        culvi_text_add_uuid(&text, wanted->uuid);
    } else if (wanted->luid != NULL) {
        culvi_text_add_luid(&text, wanted->luid, wanted->node_mask);
    } else {
        culvi_text_add(&text, "ordinal %d", (int)wanted->ordinal);
    }
    culvi_text_add(&text, ". CUDA has: ");
    culvi_probe_describe_others(probe, &text);
    if (wanted->luid != NULL) explain_luid(probe, linked, &text);
    if (mig) culvi_text_add(&text, ". CUDA sees a MIG slice: graphics needs one of a +gfx profile");
    if (wanted->describe == NULL && !any_driver && asked == CULV_DRIVER_AUTO &&
        !culvi_soft_allowed())
        culvi_text_add(
            &hint_text,
            "Without a GPU, Culvert's software twin can take its place once it is installed and allowed (CULVERT_SOFT=1 or culv_soft_enable())");
    if (hint_text.data[0] != '\0') culvi_text_add(&text, ". %s", hint_text.data);
    const bool no_twin = probe->twin[0] != '\0';
    const char *behind = no_twin ? ". Therefore " : "";
    CULVI_UNSUPPORTED_IF(!any_driver, voice, NULL,
                         no_twin                             ? probe->twin_reason
                         : probe->reason != CULV_REASON_NONE ? probe->reason
                                                             : CULV_REASON_DRIVER_MISSING,
                         "%s%sno CUDA driver for %s", probe->twin, behind, text.data);
    return culvi_fail(voice, NULL, CULV_ERROR_NO_DEVICE,
                      linked                        ? CULV_REASON_DEVICE_GROUP
                      : mig && wanted->uuid != NULL ? CULV_REASON_DEVICE_SLICE
                                                    : CULV_REASON_DEVICE_UNKNOWN,
                      "%s%sno CUDA device is %s", probe->twin, behind, text.data);
}

static const culvi_cuda_device *find_ordinal(const culvi_probe *probe, int32_t ordinal)
{
    const culvi_cuda *cuda = NULL; /* NVIDIA's numbering where NVIDIA has devices */
    for (uint32_t i = 0; i < probe->num_devices; i++) {
        const culvi_cuda_device *d = &probe->devices[i];
        if (cuda == NULL) cuda = d->cuda;
        if (d->cuda == cuda && d->ordinal == ordinal) return d;
    }
    return NULL;
}

/* The context to work in: the caller's, which must be of this device, or the retained primary
 * one. */
static culv_result take_context(culv_device *device, CUcontext theirs)
{
    if (theirs == NULL) {
        CULVI_CU_TRY(device, NULL, cuDevicePrimaryCtxRetain, (&device->context, device->ordinal),
                     CULV_REASON_DRIVER_REFUSED,
                     "the primary context of '%s' could not be retained", device->caps.name);
        device->retained = true;
        return CULV_OK;
    }
    device->context = theirs;
    culvi_scope scope;
    culv_result result = culvi_enter(device, &scope, NULL);
    const int64_t code = culvi_thread_state()->error.native_code;
    CULVI_REFUSE_IF(
        result != CULV_OK &&
            (code == CUDA_ERROR_INVALID_CONTEXT || code == CUDA_ERROR_CONTEXT_IS_DESTROYED),
        &device->voice, NULL, CULV_REASON_VALUE,
        "culv_device_desc.context is no CUDA context, or was destroyed; pass one that outlives the device, or none for the primary one");
    if (result != CULV_OK) return result;
    CUdevice actual = -1;
    CUresult r = CULVI_CU(device, cuCtxGetDevice, (&actual));
    culvi_leave(device, &scope);
    CULVI_CU_CHECK(device, NULL, r, "cuCtxGetDevice", CULV_REASON_DRIVER_REFUSED,
                   "culv_device_desc.context cannot be used");
    CULVI_REFUSE_IF(
        actual != device->ordinal, &device->voice, NULL, CULV_REASON_CONTEXT_DEVICE,
        "culv_device_desc.context belongs to CUDA device %d, but the device asked for is %d '%s'; pass a context of that device, or none for its primary one",
        (int)actual, (int)device->ordinal, device->caps.name);
    return culvi_cig_note(device);
}

static void free_device(culv_device *device)
{
    culvi_mutex_destroy(&device->orders_lock);
    culvi_mutex_destroy(&device->rings_lock);
    culvi_mutex_destroy(&device->lock);
    culvi_cuda_close(device->cuda);
    culvi_free(device);
}

static culv_result open_device(const key *wanted, const culv_device_desc *desc, culv_device **out)
{
    bool linked = false;
    culvi_voice voice;
    culvi_probe probe;
    CULVI_READ(NULL, culv_device_desc, d, desc);
    culvi_voice_init(&voice, &d.log, d.label);
    CULVI_TRY(culvi_probe_open(&voice, d.driver, &probe));
    culv_result result;
    const culvi_cuda_device *found =
        wanted->uuid != NULL ? culvi_probe_find(&probe, wanted->uuid)
        : wanted->luid != NULL
            ? culvi_probe_find_luid(&probe, wanted->luid, wanted->node_mask, &linked)
            : find_ordinal(&probe, wanted->ordinal);
    if (found == NULL) {
        result = no_match(&voice, &probe, wanted, linked, d.driver);
        goto close_probe;
    }
    culv_device *device = culvi_alloc(sizeof *device);
    if (device == NULL) {
        result = culvi_fail_host_memory(&voice, NULL);
        goto close_probe;
    }
    atomic_init(&device->refs, 1);
    device->voice = voice;
    device->ordinal = found->ordinal;
    device->counts.struct_size = sizeof device->counts;
    int which = found->cuda->kind == CULV_DRIVER_SOFT;
    device->cuda = probe.drivers[which];
    probe.drivers[which] = NULL; /* the device's from here on */
    culvi_mutex_init(&device->lock);
    culvi_mutex_init(&device->rings_lock);
    culvi_mutex_init(&device->orders_lock);
    if (!culvi_watch_init(device)) {
        result = culvi_fail_host_memory(&voice, NULL);
        goto free_it;
    }
    result = read_caps(device, found);
    if (result == CULV_OK) result = take_context(device, d.context);
    if (result != CULV_OK) goto end_watch;
    unsigned long long id = 0;
    CUresult r = CULVI_CU(device, cuCtxGetId, (device->context, &id));
    if (r != CUDA_SUCCESS) {
        result = culvi_fail_cuda(device, NULL, r, "cuCtxGetId", CULV_REASON_DRIVER_REFUSED,
                                 "the context of '%s' cannot be used", device->caps.name);
        goto release_context;
    }
    device->context_id = id;
    register_driver_log(device);
    culvi_log(&device->voice, CULV_LOG_INFO, "opened %s device %d '%s'",
              culvi_driver_name(device->cuda->kind), (int)device->ordinal, device->caps.name);
    culvi_probe_close(&probe);
    *out = device;
    return CULV_OK;

release_context:
    if (device->retained) CULVI_CU_TWICE(device, cuDevicePrimaryCtxRelease, (device->ordinal));
end_watch:
    culvi_watch_end(device);
free_it:
    free_device(device);
close_probe:
    culvi_probe_close(&probe);
    return result;
}

culv_result culvi_device_open(const culv_uuid *uuid, int32_t ordinal, culvi_describe_fn describe,
                              const void *asker, const culv_device_desc *desc, culv_device **out)
{
    const key wanted = {.uuid = uuid, .ordinal = ordinal, .describe = describe, .asker = asker};
    return open_device(&wanted, desc, out);
}

culv_result culv_device_open_by_luid(const culv_luid *luid, uint32_t node_mask,
                                     const culv_device_desc *desc, culv_device **out)
{
    CULVI_REQUIRE2(NULL, luid, out);
    CULVI_REFUSE_IF(
        !culvi_luid_given(luid) || node_mask == 0, NULL, NULL, CULV_REASON_VALUE,
        "culv_device_open_by_luid: %s is 0; %s", node_mask == 0 ? "node_mask" : "luid",
        node_mask == 0
            ? "it has the bit of one node, which is 1 for a GPU alone"
            : "no adapter has that LUID; a graphics API that reports it has no LUID for its device (in Vulkan VkPhysicalDeviceIDProperties::deviceLUIDValid)");
    CULVI_REFUSE_IF(
        (node_mask & (node_mask - 1)) != 0, NULL, NULL, CULV_REASON_DEVICE_GROUP,
        "culv_device_open_by_luid: node_mask is %#x, several nodes of linked GPUs; CUDA has a device for each of them: pass one bit, and open a device for each node that is used",
        (unsigned)node_mask);
    return open_device(&(key){.luid = luid, .node_mask = node_mask, .ordinal = -1}, desc, out);
}

culv_result culv_device_open_by_uuid(const culv_uuid *uuid, const culv_device_desc *desc,
                                     culv_device **out)
{
    CULVI_REQUIRE2(NULL, uuid, out);
    return culvi_device_open(uuid, -1, NULL, NULL, desc, out);
}

culv_result culv_device_open_by_ordinal(int32_t ordinal, const culv_device_desc *desc,
                                        culv_device **out)
{
    CULVI_REQUIRE(NULL, out);
    return culvi_device_open(NULL, ordinal, NULL, NULL, desc, out);
}

void culvi_device_ref(culv_device *device)
{
    atomic_fetch_add(&device->refs, 1);
}

void culvi_device_unref(culv_device *device)
{
    if (atomic_fetch_sub(&device->refs, 1) != 1) return;
    culvi_watch watch = {.kind = "device"};
    culvi_wait_and_collect(device);
    culvi_late_end(device);
    culvi_watch_begin(device, &watch, device->caps.name);
    culvi_formats_release(device);
    culvi_order_end(device);
    culvi_watch_done(device, &watch);
    if (device->free_fields != NULL) device->free_fields(device);
    if (device->free_peers != NULL) device->free_peers(device);
    unregister_driver_log(device);
    culvi_watch_begin(device, &watch, device->caps.name);
    if (device->retained) {
        CUresult r = CULVI_CU(device, cuDevicePrimaryCtxRelease, (device->ordinal));
        if (!culvi_release_done(device, "cuDevicePrimaryCtxRelease", r, false)) {
            r = CULVI_CU(device, cuDevicePrimaryCtxRelease, (device->ordinal));
            (void)culvi_release_done(device, "cuDevicePrimaryCtxRelease", r, true);
        }
    }
    culvi_watch_done(device, &watch);
    culvi_watch_end(device);
    culvi_log(&device->voice, CULV_LOG_INFO, "closed device %d '%s'", (int)device->ordinal,
              device->caps.name);
    free_device(device);
}

void culv_device_close(culv_device **device)
{
    CULVI_TAKE(culv_device, mine, device);
    culvi_late_collect(mine);
    culvi_device_unref(mine);
}

culv_result culv_device_get_caps(const culv_device *device, culv_device_caps *out)
{
    CULVI_REQUIRE2(NULL, device, out);
    culv_result result = culvi_struct_check(&device->voice, out, "culv_device_caps");
    if (result == CULV_OK) culvi_struct_write(out, &device->caps, sizeof device->caps);
    return result;
}

uint64_t culv_device_collect(culv_device *device)
{
    if (device == NULL) return 0;
    culvi_late_collect(device);
    culvi_mutex_lock(&device->lock);
    culvi_collect_for(device, NULL);
    uint64_t deferred = device->counts.deferred;
    culvi_mutex_unlock(&device->lock);
    return deferred;
}

culv_result culv_device_get_counts(culv_device *device, culv_device_counts *out)
{
    CULVI_REQUIRE2(NULL, device, out);
    CULVI_TRY(culvi_struct_check(&device->voice, out, "culv_device_counts"));
    culvi_late_collect(device);
    culvi_mutex_lock(&device->lock);
    culvi_collect_for(device, NULL);
    culv_device_counts counts = device->counts;
    culvi_mutex_unlock(&device->lock);
    culvi_struct_write(out, &counts, sizeof counts);
    return CULV_OK;
}

CULVI_GETTER(CUcontext, culv_device_context, culv_device, self->context, NULL)

void (*culv_device_cuda_proc(const culv_device *device, const char *name, int version))(void)
{
    if (device == NULL || name == NULL) return NULL;
    return culvi_cuda_proc(device->cuda, name, version);
}

void culvi_tie_add(culv_device *device, culvi_tie *tie, const char *kind, const char *label,
                   const char *what)
{
    if (tie->link != NULL) return;
    *tie = (culvi_tie){.what = what, .kind = kind, .label = label};
    CULVI_LIST_ADD(device->ties, tie);
}

void culvi_tie_remove(culvi_tie *tie)
{
    CULVI_LIST_REMOVE(tie);
}

CUresult culvi_device_find(const culv_device *device, const culv_uuid *uuid, int *ordinal,
                           const char **call)
{
    int count = 0;
    *ordinal = -1;
    CUresult r = CULVI_CU_AS(*call, device, cuDeviceGetCount, (&count));
    for (int i = 0; i < count && r == CUDA_SUCCESS && *ordinal < 0; i++) {
        CUdevice one = 0;
        CUuuid native = {{0}};
        culv_uuid other;
        r = CULVI_CU_AS(*call, device, cuDeviceGet, (&one, i));
        if (r != CUDA_SUCCESS) break;
        r = CULVI_CU_AS(*call, device, cuDeviceGetUuid, (&native, one));
        memcpy(other.bytes, native.bytes, sizeof other.bytes);
        if (r == CUDA_SUCCESS && culvi_uuid_equal(uuid, &other)) *ordinal = (int)one;
    }
    return r;
}

culv_result culvi_check_exporter(const culv_device *device, const char *object,
                                 const culv_uuid *exporter, const char *what)
{
    if (!culvi_uuid_given(exporter) || culvi_uuid_equal(exporter, &device->caps.uuid))
        return CULV_OK;
    CULVI_TEXT(text, 500);
    int ordinal;
    const char *call;
    const bool known = culvi_device_find(device, exporter, &ordinal, &call) == CUDA_SUCCESS;
    culvi_text_add_uuid(&text, exporter);
    if (ordinal >= 0) culvi_text_add(&text, ", CUDA device %d here", ordinal);
    culvi_text_add(&text, "; this device is '%s' UUID ", device->caps.name);
    culvi_text_add_uuid(&text, &device->caps.uuid);
    return culvi_fail(
        &device->voice, object, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
        "the %s was exported by the device with UUID %s. %s", what, text.data,
        known && ordinal < 0
            ? "This process does not see that GPU: look at CUDA_VISIBLE_DEVICES, or give this container that GPU"
            : "Import it on the device that exported it (culv_device_open_by_uuid()). Another GPU takes VMM memory (culv_ipc_from_vmm() and its like); docs/two-gpus.md has the rest");
}
