/* SPDX-License-Identifier: MIT */
/* Opening devices, contexts, capabilities. */
#define TEST_GROUP "open."
#include "culvert/device.h"
#include "culvert/addon.h"
#include "library.h"

#include <culvert/cuda_api.h>

#include <unistd.h>

static void uuid_text(char out[40], const uint8_t uuid[16])
{
    size_t n = 0;
    for (int i = 0; i < 16; i++)
        n += (size_t)snprintf(out + n, 40 - n, "%s%02x",
                              i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

/* All three ways find the same device. */
LIB_CASE(ways_to_open, .title = "open.three_ways", .smoke = true)
{
    const raw_cuda *cu = w->cu;
    culv_device_caps one = lib_caps(w->device);
    REQUIRE_EQ_BYTES(one.uuid.bytes, w->vk.id.deviceUUID, VK_UUID_SIZE);
    REQUIRE_EQ(one.is_software, cu->software);

    NEW(culv_device, device, culv_device_open_by_uuid, &one.uuid, NULL);
    culv_device_caps two = lib_caps(device);
    REQUIRE_EQ_BYTES(&two, &one, sizeof one);
    REQUIRE(culv_device_context(device) ==
            culv_device_context(w->device)); /* one primary context */
    culv_device_close(&device);

    culv_device_desc d = culv_device_desc_init();
    d.driver = cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    for (int i = 0; i < cu->device_count; i++) {
        CUuuid uuid;
        CU_OK(cu->DeviceGetUuid(&uuid, i));
        LIB_OK(culv_device_open_by_ordinal(i, i == 0 ? NULL : &d, &device));
        two = lib_caps(device);
        REQUIRE_EQ_BYTES(two.uuid.bytes, uuid.bytes, 16);
        REQUIRE_EQ(two.ordinal, i);
        culv_device_close(&device);
    }
}

#define ROW(field, name)                                                                           \
    {                                                                                              \
#        field, offsetof(culv_device_caps, field), CU_DEVICE_ATTRIBUTE_##name                      \
    }
static const struct {
    const char *name;
    size_t at;
    CUdevice_attribute attribute;
} capabilities[] = {
    ROW(compute_major, COMPUTE_CAPABILITY_MAJOR),
    ROW(compute_minor, COMPUTE_CAPABILITY_MINOR),
    ROW(timeline_semaphores, TIMELINE_SEMAPHORE_INTEROP_SUPPORTED),
    ROW(vmm, VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED),
    ROW(vmm_posix_fd, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED),
    ROW(vmm_win32, HANDLE_TYPE_WIN32_HANDLE_SUPPORTED),
    ROW(vmm_fabric, HANDLE_TYPE_FABRIC_SUPPORTED),
    ROW(dma_buf_export, DMA_BUF_SUPPORTED),
    ROW(gpudirect_rdma, GPU_DIRECT_RDMA_SUPPORTED),
    ROW(sparse_arrays, SPARSE_CUDA_ARRAY_SUPPORTED),
    ROW(deferred_mapping_arrays, DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED),
    ROW(pageable_memory_access, PAGEABLE_MEMORY_ACCESS),
    ROW(multicast, MULTICAST_SUPPORTED),
    ROW(integrated, INTEGRATED),
    ROW(host_register_supported, HOST_REGISTER_SUPPORTED),
    ROW(can_use_host_pointer_for_registered_mem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM),
    ROW(pageable_memory_access_uses_host_page_tables, PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES),
};
#undef ROW
enum { CAPABILITIES = sizeof capabilities / sizeof capabilities[0] };

static uint32_t capability(const culv_device_caps *caps, size_t i)
{
    uint32_t value = 0;
    memcpy(&value, (const char *)caps + capabilities[i].at, sizeof value);
    return value;
}

LIB_CASE(caps_are_the_drivers, .title = "caps.are_the_drivers")
{
    const raw_cuda *cu = w->cu;
    culv_device_caps caps = lib_caps(w->device);
    char name[256];
    CU_OK(cu->DeviceGetName(name, (int)sizeof name, caps.ordinal));
    REQUIRE_EQ_STR(caps.name, name);
    REQUIRE_EQ(caps.driver_version, cu->driver_version);
    for (size_t i = 0; i < CAPABILITIES; i++) {
        int value = 0;
        CU_OK(cu->DeviceGetAttribute(&value, capabilities[i].attribute, caps.ordinal));
        REQUIRE_EQ(capability(&caps, i), value);
    }
    REQUIRE(caps.total_memory > UINT64_C(1) << 20);
    REQUIRE(strlen(caps.pci_bus_id) >= 12);
    REQUIRE_EQ(caps.memory_handle_types, 1u << CULV_HANDLE_OPAQUE_FD);
    REQUIRE_EQ(caps.semaphore_handle_types,
               caps.timeline_semaphores ? 1u << CULV_HANDLE_OPAQUE_FD : 0);
    REQUIRE_EQ(caps.mig_slice, 0);
}

/* Each capability is its own attribute, and no other one. */
TEST(caps_one_by_one, .title = "caps.are_the_drivers_one_by_one", .own = true)
{
    const raw_cuda *cu = lib_driver();
    if (cu->SoftPlayAttribute == NULL) SKIP("only the twin plays other devices");
    for (size_t i = 0; i < CAPABILITIES; i++) {
        NEW(culv_device, device, culv_device_open_by_ordinal, 0, NULL);
        const culv_device_caps before = lib_caps(device);
        culv_device_close(&device);
        cu->SoftPlayAttribute(capabilities[i].attribute, 77);
        LIB_OK(culv_device_open_by_ordinal(0, NULL, &device));
        const culv_device_caps after = lib_caps(device);
        culv_device_close(&device);
        cu->SoftPlayAttribute(0, 0);
        for (size_t k = 0; k < CAPABILITIES; k++)
            if (capability(&after, k) != (k == i ? 77 : capability(&before, k)))
                FAIL("%s is %u when the attribute of %s is 77", capabilities[k].name,
                     capability(&after, k), capabilities[i].name);
    }
}

LIB_CASE(cuda_proc, .title = "cuda_proc")
{
    CUresult(CUDAAPI * version)(int *) = NULL;
    void (*found)(void) = culv_device_cuda_proc(w->device, "cuDriverGetVersion", 2020);
    REQUIRE(found != NULL);
    memcpy(&version, &found, sizeof found);
    int value = 0;
    REQUIRE_EQ(version(&value), CUDA_SUCCESS);
    REQUIRE_EQ(value, w->cu->driver_version);
    REQUIRE(culv_device_cuda_proc(w->device, "cuNoSuchThing", 2020) == NULL);
    REQUIRE(culv_device_cuda_proc(w->device, NULL, 2020) == NULL);
}

/* Refusals ------------------------------------------------------------------------------------- */

LIB_CASE(unknown_uuid)
{
    const raw_cuda *cu = w->cu;
    culv_device *device = NULL;
    culv_uuid uuid = lib_caps(w->device).uuid;
    char text[40];
    uuid.bytes[7] ^= 0x55;
    LIB_REFUSES(device, culv_device_open_by_uuid(&uuid, NULL, &device), NO_DEVICE, DEVICE_UNKNOWN);
    uuid_text(text, uuid.bytes);
    LIB_SAYS(text);
    for (int i = 0; i < cu->device_count; i++) { /* every one that CUDA has, by name and UUID */
        char name[256];
        CUuuid theirs;
        CU_OK(cu->DeviceGetName(name, (int)sizeof name, i));
        CU_OK(cu->DeviceGetUuid(&theirs, i));
        uuid_text(text, (const uint8_t *)theirs.bytes);
        LIB_SAYS(name);
        LIB_SAYS(text);
    }
    memset(&uuid, 0, sizeof uuid);
    LIB_REFUSES(device, culv_device_open_by_uuid(&uuid, NULL, &device), NO_DEVICE, DEVICE_UNKNOWN);
}

TEST(unknown_ordinal)
{
    static const int32_t ordinals[] = {-1, -2, 64, 12345, INT32_MAX, INT32_MIN};
    const raw_cuda *cu = lib_driver();
    culv_device *device = NULL;
    for (size_t i = 0; i < sizeof ordinals / sizeof ordinals[0]; i++) {
        char text[32];
        LIB_REFUSES(device, culv_device_open_by_ordinal(ordinals[i], NULL, &device), NO_DEVICE,
                    DEVICE_UNKNOWN);
        snprintf(text, sizeof text, "%d", (int)ordinals[i]);
        LIB_SAYS(text);
    }
    LIB_REFUSES(device, culv_device_open_by_ordinal(cu->device_count, NULL, &device), NO_DEVICE,
                DEVICE_UNKNOWN);
    raw_cuda_require_empty(cu);
}

/* The Vulkan road knows both sides and names them. A Vulkan device that is nobody's is had by
 * spoiling its UUID. */
LIB_CASE(vulkan_device_without_a_match)
{
    culv_device *device = NULL;
    char text[40];
    uint8_t uuid[16];
    memcpy(uuid, w->vk.id.deviceUUID, 16);
    uuid[3] ^= 0x40;
    lib_lying = (lib_lies){.uuid_xor = 0x40};
    LIB_REFUSES(device, lib_open_for_vk(w, lib_lying_loader, NULL, &device), NO_DEVICE,
                DEVICE_UNKNOWN, w->vk.properties.deviceName);
    uuid_text(text, uuid);
    LIB_SAYS(text);
    LIB_SAYS(lib_caps(w->device).name);
    uuid_text(text, w->vk.id.deviceUUID);
    LIB_SAYS(text);
    LIB_SAYS(w->cu->software ? "software Vulkan device"
                             : "CUDA_VISIBLE_DEVICES"); /* the likely cause */

    lib_lying.says_type = true; /* another vendor's: only where the name does not say NVIDIA */
    lib_lying.type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    if (strstr(w->vk.properties.deviceName, "NVIDIA") == NULL)
        LIB_REFUSES(device, lib_open_for_vk(w, lib_lying_loader, NULL, &device), NO_DEVICE,
                    DEVICE_UNKNOWN, "not an NVIDIA GPU");
}

TEST(driver_kinds, .own = true)
{
    const raw_cuda *cu = lib_driver();
    culv_device *device = NULL;
    culv_device_desc d = culv_device_desc_init();
    static const int wrong[] = {-1, 3, 0x7fffffff};
    for (size_t i = 0; i < 3; i++) {
        d.driver = (culv_driver)wrong[i];
        LIB_REFUSES(device, culv_device_open_by_ordinal(0, &d, &device), INVALID, VALUE);
    }
    if (test_driver() != TEST_DRIVER_NVIDIA && cu->software) {
        /* Asked for by name, the twin needs no leave. */
        unsetenv("CULVERT_SOFT");
        d.driver = CULV_DRIVER_SOFT;
        LIB_OK(culv_device_open_by_ordinal(0, &d, &device));
        REQUIRE(lib_caps(device).is_software);
        culv_device_close(&device);
        REQUIRE_EQ(culv_soft_enabled(), 0);
        LIB_OK(culv_soft_enable());
        REQUIRE(culv_soft_enabled());
        LIB_OK(culv_soft_enable());
    }
    raw_cuda_require_empty(cu);
}

/* Contexts ------------------------------------------------------------------------------------- */

static CUcontext create_context(const raw_cuda *cu, CUdevice device)
{
    CUcontext context = NULL, popped = NULL;
    if (cu->CtxCreate == NULL || cu->CtxDestroy == NULL)
        SKIP("the driver has no cuCtxCreate of version 3020");
    CU_OK(cu->CtxCreate(&context, 0, device));
    CU_OK(cu->CtxPopCurrent(&popped));
    REQUIRE(popped == context);
    return context;
}

LIB_CASE(callers_context, .title = "context.callers", .smoke = true)
{
    const raw_cuda *cu = w->cu;
    CUcontext context = create_context(cu, lib_caps(w->device).ordinal), now = NULL;
    culv_device_desc d = culv_device_desc_init();
    d.context = context;
    NEW(culv_device, device, lib_open_for_vk, w, vkGetInstanceProcAddr, &d);
    REQUIRE(culv_device_context(device) == context);
    REQUIRE(culv_device_context(device) != culv_device_context(w->device));
    CU_OK(cu->CtxGetCurrent(&now));
    REQUIRE(now == NULL);
    culv_device_close(&device);
    CU_OK(cu->CtxPushCurrent(context)); /* borrowed: still there */
    CU_OK(cu->CtxSynchronize());
    CU_OK(cu->CtxPopCurrent(&now));
    CU_OK(cu->CtxDestroy(context));
    if (cu->software) /* on NVIDIA's driver a destroyed context's handle is undefined */
        LIB_REFUSES(device, lib_open_for_vk(w, vkGetInstanceProcAddr, &d, &device), INVALID, VALUE,
                    "culv_device_desc.context is no CUDA context, or was destroyed");
}

#undef TEST_GROUP
#define TEST_GROUP "addon."
/* What libraries on top of this one need: a device's context, its words, and objects of theirs. */

typedef struct lines {
    char text[8][512];
    culv_log_level level[8];
    unsigned count;
} lines;

static void note(void *user, culv_log_level level, const char *message)
{
    lines *l = user;
    if (l->count == 8) return;
    l->level[l->count] = level;
    snprintf(l->text[l->count++], sizeof l->text[0], "%s", message);
}

static culv_device *open_device(lines *l)
{
    culv_device_desc d = culv_device_desc_init();
    d.log = (culv_log){note, l, CULV_LOG_INFO};
    d.label = "ours";
    lib_driver();
    NEW(culv_device, device, culv_device_open_by_ordinal, 0, &d);
    l->count = 0;
    return device;
}

TEST(context)
{
    lines l = {.count = 0};
    OWN(culv_device) *device = open_device(&l);
    LIB_CUDA(device, PFN_cuCtxGetCurrent_v4000, cuCtxGetCurrent, 4000);
    LIB_CUDA(device, PFN_cuThreadExchangeStreamCaptureMode_v10010,
             cuThreadExchangeStreamCaptureMode, 10010);
    CUcontext before = NULL, now = NULL;
    uint64_t outer = 77, inner = 77;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    CU_OK(cuCtxGetCurrent(&before));
    CU_OK(cuThreadExchangeStreamCaptureMode(&mode));
    LIB_OK(culv_device_enter(device, 0, &outer));
    LIB_OK(culv_device_enter(device, 1, &inner));
    CU_OK(cuCtxGetCurrent(&now));
    REQUIRE(now == culv_device_context(device));
    culv_device_leave(device, inner);
    CU_OK(cuCtxGetCurrent(&now));
    REQUIRE(now == culv_device_context(device));
    culv_device_leave(device, outer);
    CU_OK(cuCtxGetCurrent(&now));
    REQUIRE(now == before);
    CU_OK(cuThreadExchangeStreamCaptureMode(&mode)); /* as the caller had set it */
    REQUIRE_EQ(mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    culv_device_leave(NULL, 0);
}

TEST(errors)
{
    lines l = {.count = 0};
    OWN(culv_device) *device = open_device(&l);
    culv_error e = culv_error_init();
    snprintf(e.message, sizeof e.message, "it has %d wheels", 5);
    LIB_INVALID(culv_device_fail(device, "cart", &e), VALUE);
    e.result = CULV_ERROR_UNSUPPORTED;
    e.reason = CULV_REASON_FORMAT;
    LIB_ERROR(culv_device_fail(device, "cart", &e), UNSUPPORTED, FORMAT,
              "[ours] 'cart': it has 5 wheels");
    REQUIRE(l.level[l.count - 1] == CULV_LOG_ERROR &&
            strcmp(l.text[l.count - 1], culv_last_error_message()) == 0);
    LIB_ERROR(culv_device_fail(NULL, NULL, &e), UNSUPPORTED, FORMAT, "it has 5 wheels");
    /* A driver's answer, whose class Culvert knows. */
    const struct {
        CUresult code;
        culv_result result;
        culv_reason reason;
    } rows[] = {
        {CUDA_ERROR_OUT_OF_MEMORY, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_DEVICE_MEMORY},
        {CUDA_ERROR_INVALID_VALUE, CULV_ERROR_DRIVER, CULV_REASON_LOCATION},
        {CUDA_ERROR_ILLEGAL_ADDRESS, CULV_ERROR_ASYNC, CULV_REASON_EARLIER_FAILURE},
    };
    e.result = CULV_OK;
    e.reason = CULV_REASON_LOCATION;
    e.native_api = CULV_NATIVE_CUDA;
    snprintf(e.native_call, sizeof e.native_call, "cuCartMake");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        e.native_code = rows[i].code;
        LIB_FAILS(culv_device_fail(device, NULL, &e), rows[i].result, rows[i].reason,
                  "it has 5 wheels", "cuCartMake");
        const culv_error told = lib_last_error();
        REQUIRE(told.native_api == CULV_NATIVE_CUDA && told.native_code == (int64_t)rows[i].code);
    }
}

TEST(objects)
{
    lines l = {.count = 0};
    culv_device *device = open_device(&l), *handle = device;
    culv_addon_object *object = NULL;
    culv_addon_object_desc d = culv_addon_object_desc_init();
    LIB_REFUSES(object, culv_addon_object_create(device, &d, &object), INVALID, NULL_ARGUMENT);
    d.kind = "cart";
    d.label = "red one";
    l.count = 0;
    NEW(culv_addon_object, plain, culv_addon_object_create, device, &d);
    d.size = 5;
    d.not_suspended = "has a wheel in another process";
    LIB_OK(culv_addon_object_create(device, &d, &object));
    REQUIRE(l.count == 2 && l.level[1] == CULV_LOG_INFO);
    REQUIRE_EQ_STR(l.text[0], "[ours] made cart 'red one'");
    REQUIRE_EQ_STR(l.text[1], "[ours] made cart 'red one', 5 bytes");
    LIB_INVALID(culv_device_suspend(device, NULL), MAPPED, "'red one'",
                "the cart has a wheel in another process");
    culv_device_close(&handle); /* lives on */
    l.count = 0;
    culv_addon_object_destroy(&object, NULL);
    REQUIRE(object == NULL && l.count == 1);
    REQUIRE_EQ_STR(l.text[0], "[ours] destroyed cart 'red one', 5 bytes");
    culv_result suspended = culv_device_suspend(device, NULL);
    if (suspended == CULV_OK) { /* only what is given back is called then */
        uint64_t scope = 77;
        LIB_INVALID(culv_device_enter(device, 0, &scope), NOT_READY);
        REQUIRE_EQ(scope, 77);
        LIB_OK(culv_device_enter(device, 1, &scope));
        culv_device_leave(device, scope);
        LIB_OK(culv_device_resume(device, NULL));
    }
    l.count = 0;
    culv_addon_object_destroy(&plain, NULL); /* and the device with it */
    culv_addon_object_destroy(&plain, NULL);
    REQUIRE(l.count >= 2 && strstr(l.text[l.count - 1], "closed device ") != NULL);
}

typedef struct cart {
    bool refuses;
    unsigned parked, freed;
} cart;

static int32_t give_back(void *user, const char **call)
{
    *call = "cuCartPark";
    ((cart *)user)->parked++;
    return ((cart *)user)->refuses ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static void forget(void *user)
{
    ((cart *)user)->freed++;
}

/* What has something at the driver is released behind its last use, and again where that was
 * refused. */
TEST(released, .own = true)
{
    lib_world w = {.cu = lib_driver()};
    lines l = {.count = 0};
    cart c = {.refuses = true};
    CUgraph graph = NULL;
    w.device = open_device(&l);
    w.context = culv_device_context(w.device);
    culv_addon_object_desc d = culv_addon_object_desc_init();
    d.kind = "cart";
    d.release = give_back;
    d.free = forget;
    d.user = &c;
    CUstream stream = lib_case_stream(&w);
    CUcontext before = lib_enter(&w);
    NEW(culv_addon_object, object, culv_addon_object_create, w.device, &d);
    culv_addon_object_destroy(&object, &stream);
    REQUIRE(object == NULL && c.parked == 0 && c.freed == 0);
    lib_finish(&w, stream);
    culv_device_collect(w.device);
    REQUIRE(c.parked == 1 && c.freed == 0);
    c.refuses = false;
    culv_device_collect(w.device);
    REQUIRE(c.parked == 2 && c.freed == 1);
    /* At once without a last use. */
    LIB_OK(culv_addon_object_create(w.device, &d, &object));
    culv_addon_object_destroy(&object, NULL);
    REQUIRE(c.parked == 3 && c.freed == 2);
    /* Streams. */
    LIB_OK(culv_device_check_stream(w.device, NULL, stream, "carts do not fly"));
    LIB_OK(culv_device_check_stream(w.device, NULL, NULL, "carts do not fly"));
    CU_OK(w.cu->StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    LIB_OK(culv_device_check_stream(w.device, NULL, stream, NULL));
    LIB_FAILS(culv_device_check_stream(w.device, "red one", stream, "carts do not fly"),
              CULV_ERROR_INVALID, CULV_REASON_CAPTURE, "'red one'", "carts do not fly");
    CU_OK(w.cu->StreamEndCapture(stream, &graph));
    CU_OK(w.cu->GraphDestroy(graph));
    lib_leave(&w, before);
    culv_device_close(&w.device);
}

/* A lost context is not entered, and what gives something back says nothing of it. */
TEST(lost, .own = true)
{
    lines l = {.count = 0};
    OWN(culv_device) *device = open_device(&l);
    LIB_CUDA(device, PFN_cuDevicePrimaryCtxReset_v11000, cuDevicePrimaryCtxReset, 11000);
    uint64_t scope = 77;
    CU_OK(cuDevicePrimaryCtxReset(0));
    l.count = 0;
    lib_forget_error();
    REQUIRE(culv_device_enter(device, 1, &scope) != CULV_OK && l.count == 0);
    LIB_ERROR(culv_device_enter(device, 0, &scope), ASYNC, DEVICE_LOST);
    REQUIRE_EQ(scope, 77);
}

#undef TEST_GROUP
#define TEST_GROUP "cuda_api."
/* The table of the driver's functions. */

/* As cuda_api_12.c has them. */
extern const size_t cuda_api_places_12[5];

typedef void (*function)(void);

typedef struct entry {
    const char *name;
    int version;
    const char *kind;
} entry;

static const entry entries[] = {
#define ENTRY(name, version, kind) {"cu" #name, version, #kind},
    CULV_CUDA_API_LIST(ENTRY)
#undef ENTRY
};
enum { NUM_ENTRIES = sizeof entries / sizeof entries[0] };

static function member(const culv_cuda_api *api, size_t i)
{
    function f;
    memcpy(&f, (const char *)api + sizeof(culv_cuda_api) - (NUM_ENTRIES - i) * sizeof f, sizeof f);
    return f;
}

static function ask(const raw_cuda *cu, size_t i, cuuint64_t flags)
{
    void *address = NULL;
    function f = NULL;
    int version = entries[i].version;
    if (flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM && version < 7000) version = 7000;
    CUdriverProcAddressQueryResult status;
    if (cu->GetProcAddress(entries[i].name, &address, version, flags, &status) != CUDA_SUCCESS)
        return NULL;
    memcpy(&f, &address, sizeof f);
    return f;
}

/* Each member is what the driver answers for its name and version. */
LIB_CASE(every_entry, .smoke = true)
{
    const culv_cuda_api *api = culv_device_cuda_api(w->device, 0);
    const culv_cuda_api *per_thread = culv_device_cuda_api(w->device, 1);
    REQUIRE(api != NULL && per_thread != NULL && api != per_thread);
    REQUIRE(culv_device_cuda_api(w->device, 0) == api);
    REQUIRE(CULV_CUDA(w->device) == api);
    REQUIRE_EQ(api->struct_size, sizeof *api);
    REQUIRE_EQ(per_thread->struct_size, sizeof *per_thread);
    unsigned there = 0, missing = 0;
    for (size_t i = 0; i < NUM_ENTRIES; i++) {
        function wanted = ask(w->cu, i, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
        function thread = ask(w->cu, i, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
        if (member(api, i) != wanted || member(per_thread, i) != thread)
            test_fail(__FILE__, __LINE__, "%s %d is another function", entries[i].name,
                      entries[i].version);
        there += wanted != NULL;
        missing += wanted == NULL;
        for (size_t j = 0; j < i; j++)
            REQUIRE(entries[i].version != entries[j].version ||
                    strcmp(entries[i].name, entries[j].name) != 0);
        /* A CHECK of the form that the header's own cuda.h calls so. */
        int version = strstr(entries[i].kind, "CUDA_12") != NULL ? 12090 : CUDA_VERSION;
        lib_forget_error();
        REQUIRE_EQ(culv_check_cuda_api(w->device, entries[i].name, version),
                   wanted != NULL ? CULV_OK : CULV_ERROR_UNSUPPORTED);
        if (wanted == NULL) LIB_SAYS(entries[i].name);
    }
    printf("%u functions, and %u that this driver lacks\n", there, missing);
    REQUIRE(there > 200);
    /* By name, as a caller means them. */
    REQUIRE((function)api->cuGetErrorName == (function)w->cu->GetErrorName);
    REQUIRE((function)api->cuMemAlloc == (function)w->cu->MemAlloc);
    REQUIRE((function)api->cuLaunchKernel == (function)w->cu->LaunchKernel);
    REQUIRE((function)api->cuGraphLaunch == (function)w->cu->GraphLaunch);
    REQUIRE((function)api->cuGraphAddDependencies_v10000 == (function)w->cu->GraphAddDependencies);
    /* What later versions may add is NULL here. */
    const unsigned char *room = (const unsigned char *)api;
    for (size_t at = sizeof *api; at < CULV_CUDA_API_ROOM; at++)
        REQUIRE_EQ(room[at], 0);
}

/* The layout is the same for every cuda.h; only names and types differ. */
TEST(older_header)
{
    const size_t places[] = {sizeof(culv_cuda_api), offsetof(culv_cuda_api, cuMemAdvise_v8000),
                             offsetof(culv_cuda_api, cuMemAdvise),
                             offsetof(culv_cuda_api, cuMulticastCreate),
                             offsetof(culv_cuda_api, cuGraphicsUnmapResources)};
    for (int i = 0; i < 5; i++)
        REQUIRE_EQ(cuda_api_places_12[i], places[i]);
}

LIB_CASE(misused)
{
    REQUIRE(culv_device_cuda_api(NULL, 0) == NULL && culv_device_cuda_api(NULL, 1) == NULL);
    const char *const strangers[] = {"",
                                     "cu",
                                     "cuMemAllo",
                                     "cuMemAllocX",
                                     "cuMemAlloc_v",
                                     "cuMemAlloc_v2_",
                                     "cuMemAlloc_v9000",
                                     "cuTexRefCreate"};
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        LIB_INVALID(culv_check_cuda_api(w->device, strangers[i], CUDA_VERSION), VALUE,
                    "culv_device_cuda_proc()");
    }
    LIB_OK(CULV_CUDA_CHECK(w->device, cuMemAlloc));
    LIB_OK(CULV_CUDA_CHECK(w->device, cuMemAlloc_v2));
    LIB_OK(CULV_CUDA_CHECK(w->device, cuMemcpyHtoD_v2_ptds));
    LIB_OK(CULV_CUDA_CHECK(w->device, cuGraphInstantiate));
    LIB_OK(CULV_CUDA_CHECK(w->device, cuGraphAddDependencies_v10000));
}

/* An older driver leaves later functions NULL, and the message names the function and both
 * versions. */
LIB_VULKAN_CASE(older_driver, .own = true)
{
    if (w->cu->SoftPlayVersion == NULL) SKIP("only the twin can be an older driver");
    w->cu->SoftPlayVersion(12000);
    lib_open_culvert(w);
    const culv_cuda_api *api = CULV_CUDA(w->device);
    unsigned missing = 0;
    for (size_t i = 0; i < NUM_ENTRIES; i++) {
        if (entries[i].version <= 12000) continue;
        REQUIRE(member(api, i) == NULL);
        missing++;
    }
    REQUIRE(missing > 20);
    REQUIRE(api->cuMemAlloc != NULL && api->cuMulticastCreate == NULL);
    LIB_ERROR(CULV_CUDA_CHECK(w->device, cuMulticastCreate), UNSUPPORTED, DRIVER_TOO_OLD,
              "cuMulticastCreate", "CUDA 12.0", "CUDA 12.1");
    /* The later form is missing, the earlier one is there. */
    LIB_OK(culv_check_cuda_api(w->device, "cuGraphAddDependencies", 12040));
    LIB_ERROR(culv_check_cuda_api(w->device, "cuGraphAddDependencies", 13000), UNSUPPORTED,
              DRIVER_TOO_OLD, "CUDA 12.3");
    LIB_OK(CULV_CUDA_CHECK(w->device, cuMemAlloc));
    w->cu->SoftPlayVersion(0);
    REQUIRE(CULV_CUDA(w->device)->cuMulticastCreate ==
            NULL); /* a device's driver does not change */
    lib_close_culvert(w);
    lib_open_culvert(w);
    REQUIRE(CULV_CUDA(w->device)->cuMulticastCreate != NULL);
    LIB_ERROR(CULV_CUDA_CHECK(w->device, cuGraphAddChildGraphNode), UNSUPPORTED, DRIVER_TOO_OLD,
              "software twin", "cuGraphAddChildGraphNode");
}
