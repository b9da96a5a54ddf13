/* SPDX-License-Identifier: MIT */
/* Multicast objects: where the twin plays devices that have them; NVIDIA's driver is only asked
 * whether it does, since making one may disturb others on a shared machine. Striped ranges
 * besides. */
#define TEST_GROUP "multicast."
#include "multicast_stage.h"

static uint64_t driver_calls(const raw_cuda *cu)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    if (cu->SoftCounts == NULL) return 0;
    cu->SoftCounts(&c);
    return c.calls;
}

/* The one case that runs on hardware. */
SPARSE_CASE(asked)
{
    culv_multicast *none;
    uint64_t least = 77, best = 77;
    int supported = 0;
    const raw_cuda *cu = s->w.cu;
    CU_OK(cu->DeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
    REQUIRE_EQ(culv_check_multicast(s->w.device) == CULV_OK, supported);
    culv_multicast_desc d = culv_multicast_desc_init();
    d.num_devices = 2;
    d.size = 2 << 20;
    const uint64_t before = driver_calls(cu);
    LIB_REFUSES(none, culv_multicast_create(s->w.device, &d, &none), INVALID, OPT_IN,
                "may disturb other programs");
    culv_multicast_import_desc id = culv_multicast_import_desc_init();
    id.num_devices = 2;
    id.size = 2 << 20;
    LIB_REFUSES(none, culv_multicast_import(s->w.device, &id, &none), INVALID, OPT_IN);
    REQUIRE_EQ(driver_calls(cu), before);
    if (supported) {
        LIB_OK(culv_multicast_get_granularity(s->w.device, &d, &least, &best));
        REQUIRE(least > 0 && best >= least && best % least == 0);
        MEASURED("library.multicast_granularity", "least %llu, recommended %llu",
                 (unsigned long long)least, (unsigned long long)best);
    } else {
        LIB_ERROR(culv_multicast_get_granularity(s->w.device, &d, &least, &best), UNSUPPORTED, VMM);
        REQUIRE(least == 77 && best == 77);
    }
    MEASURED("library.multicast_supported", "%d", supported);
}

/* Made, its team, bound, mapped, read through the object; the twin shows the memory of the device
 * that was added first. */
MULTICAST_CASE(team)
{
    culv_multicast *object = NULL;
    culv_vmm_range *range = NULL;
    culv_multicast_desc d = multicast_describe(3 << 20);
    LIB_OK(culv_multicast_create(s->s.w.device, &d, &object));
    REQUIRE_EQ(lib_allocation(culv_multicast_allocation(object)).size, 2 * MULTICAST_CHUNK);
    REQUIRE_EQ(lib_allocation(culv_multicast_allocation(object)).missing_devices, 2);
    culv_vmm_allocation *as_memory = culv_multicast_allocation(object);
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    LIB_OK(culv_vmm_allocation_get_info(as_memory, &info));
    REQUIRE(info.size == 2 * MULTICAST_CHUNK && info.requested == 3 << 20 && info.imported == 0);
    culv_vmm_range_desc rd = culv_vmm_range_desc_init();
    rd.size = 4 * MULTICAST_CHUNK;
    LIB_OK(culv_vmm_range_create(s->s.w.device, &rd, &range));
    /* Nothing waits for who is missing. */
    for (uint32_t missing = 2; missing > 0; missing--) {
        REQUIRE_EQ(lib_allocation(culv_multicast_allocation(object)).missing_devices, missing);
        LIB_INVALID(culv_multicast_bind(object, 0, s->memory[0], 0, MULTICAST_CHUNK), NOT_READY);
        LIB_INVALID(
            culv_multicast_bind_address(object, 0, s->devices[0], s->mapped[0], MULTICAST_CHUNK),
            NOT_READY);
        LIB_INVALID(culv_vmm_map(range, 0, as_memory, NULL, 0), NOT_READY);
        LIB_OK(culv_multicast_add_device(object, s->devices[2 - missing]));
    }
    REQUIRE_EQ(lib_allocation(culv_multicast_allocation(object)).missing_devices, 0);
    for (int i = 0; i < 2; i++)
        LIB_OK(culv_multicast_bind(object, 0, s->memory[i], 0, MULTICAST_CHUNK));
    const culv_vmm_access both[2] = {
        {.device = s->devices[0], .flags = CULV_VMM_ACCESS_READ_WRITE},
        {.device = s->devices[1], .flags = CULV_VMM_ACCESS_READ_WRITE}};
    LIB_OK(culv_vmm_map(range, 0, as_memory, both, 2));
    multicast_write(s, s->mapped[0], 0x31415926u);
    multicast_write(s, s->mapped[1], 0x27182818u);
    REQUIRE_EQ(multicast_read(s, culv_vmm_range_pointer(range)), 0x31415926u);
    multicast_write(s, culv_vmm_range_pointer(range), 0x16180339u);
    REQUIRE_EQ(multicast_read(s, s->mapped[0]), 0x16180339u);
    REQUIRE_EQ(multicast_read(s, s->mapped[1]), 0x27182818u);
    /* By address, at the other half; what is there goes on. */
    LIB_OK(culv_multicast_bind_address(object, MULTICAST_CHUNK, s->devices[1], s->mapped[1],
                                       MULTICAST_CHUNK));
    LIB_OK(culv_multicast_unbind(object, MULTICAST_CHUNK, s->devices[1], MULTICAST_CHUNK));
    LIB_OK(culv_multicast_unbind(object, 0, s->devices[1], MULTICAST_CHUNK));
    LIB_OK(culv_vmm_unmap(range, 0, culv_vmm_range_size(range), NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_multicast_destroy(&object); /* one binding is there yet */
    REQUIRE(object == NULL);
    culv_multicast_destroy(&object);
    culv_multicast_destroy(NULL);
}

/* Another process's half. The twin exports no multicast objects: the import is of plain memory, as
 * which the driver then refuses it; the rest is the object's own count. */
MULTICAST_CASE(shared)
{
    culv_multicast *ours = NULL, *theirs = NULL;
    culv_handle handle;
    culv_multicast_desc d = multicast_describe(MULTICAST_CHUNK);
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    d.recommended_granularity = 1;
    LIB_OK(culv_multicast_create(s->devices[0], &d, &ours));
    uint64_t best = 0;
    LIB_OK(culv_multicast_get_granularity(s->devices[0], &d, NULL, &best));
    REQUIRE_EQ(lib_allocation(culv_multicast_allocation(ours)).size, best);
    culv_result r =
        culv_vmm_export_dup(culv_multicast_allocation(ours), CULV_HANDLE_OPAQUE_FD, &handle);
    REQUIRE_EQ(r, CULV_ERROR_DRIVER);
    LIB_OK(culv_vmm_export_dup(s->shared[1], CULV_HANDLE_OPAQUE_FD, &handle));
    culv_multicast_import_desc id = culv_multicast_import_desc_init();
    id.handle = handle;
    id.num_devices = 2;
    id.opt_in = 1;
    id.size = MULTICAST_CHUNK;
    lib_fd watched = lib_fd_watch(handle.value.fd);
    LIB_OK(culv_multicast_import(s->devices[1], &id, &theirs));
    lib_fd_require_untouched(&watched);
    culv_multicast_destroy(&theirs);
    LIB_OK(culv_multicast_import(s->devices[1], &id, &theirs));
    lib_fd_require_untouched(&watched);
    lib_fd_done(&watched, true);
    REQUIRE_EQ(lib_allocation(culv_multicast_allocation(theirs)).missing_devices, 2);
    LIB_ERROR(culv_multicast_add_device(theirs, s->devices[1]), DRIVER, DRIVER_REFUSED);
    REQUIRE_EQ(lib_allocation(culv_multicast_allocation(theirs)).missing_devices, 2);
    LIB_OK(culv_multicast_mark_devices_added(theirs, 2));
    REQUIRE_EQ(lib_allocation(culv_multicast_allocation(theirs)).missing_devices, 0);
    /* Memory of a device that it did not add itself is none of its own. */
    LIB_INVALID(culv_multicast_bind(theirs, 0, s->shared[1], 0, MULTICAST_CHUNK), DEVICE_MISMATCH);
    LIB_INVALID(culv_multicast_bind(theirs, 0, s->memory[1], 0, MULTICAST_CHUNK), NOT_EXPORTABLE);
    LIB_INVALID(culv_multicast_mark_devices_added(ours, 3), VALUE);
    for (int i = 0; i < 2; i++)
        LIB_OK(culv_multicast_add_device(ours, s->devices[i]));
    /* What cannot be exported is not bound to what can. */
    LIB_INVALID(culv_multicast_bind(ours, 0, s->memory[0], 0, MULTICAST_CHUNK), NOT_EXPORTABLE);
    LIB_OK(culv_multicast_bind(ours, 0, s->shared[0], 0, MULTICAST_CHUNK));
    culv_multicast_destroy(&ours);
    culv_multicast_destroy(&theirs);
}

/* R26: a range whose every other chunk is another device's. On hardware too, where two GPUs reach
 * one another. */
TEST(striped, .title = "multicast.striped_range")
{
    enum { CHUNKS = 4 };
    sparse_stage s;
    culv_vmm_allocation *chunks[CHUNKS] = {NULL};
    culv_vmm_range *range = NULL;
    int can = 0;
    raw_cuda_two_devices();
    sparse_stage_open(&s);
    const raw_cuda *cu = s.w.cu;
    culv_device *devices[2] = {s.w.device, sparse_stage_second(&s)};
    if (devices[1] == NULL) SKIP("one CUDA device only");
    CU_OK(cu->DeviceCanAccessPeer(&can, 0, 1));
    if (!can) SKIP("devices 0 and 1 are no peers");
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = MULTICAST_CHUNK;
    culv_vmm_range_desc rd = culv_vmm_range_desc_init();
    rd.size = CHUNKS * MULTICAST_CHUNK;
    LIB_OK(culv_vmm_range_create(devices[0], &rd, &range));
    const culv_vmm_access both[2] = {{.device = devices[0], .flags = CULV_VMM_ACCESS_READ_WRITE},
                                     {.device = devices[1], .flags = CULV_VMM_ACCESS_READ_WRITE}};
    for (uint64_t i = 0; i < CHUNKS; i++) {
        LIB_OK(culv_vmm_allocation_create(devices[i % 2], &d, &chunks[i]));
        LIB_OK(culv_vmm_map(range, i * MULTICAST_CHUNK, chunks[i], both, 2));
    }
    /* Each device writes over all of it, and the other one reads that. */
    const CUdeviceptr base = culv_vmm_range_pointer(range);
    const size_t bytes = CHUNKS * MULTICAST_CHUNK;
    uint32_t *words = malloc(bytes);
    REQUIRE(words != NULL);
    for (int i = 0; i < 2; i++) {
        const lib_world writer = {
            .cu = cu, .device = devices[i], .context = culv_device_context(devices[i])};
        const lib_world reader = {
            .cu = cu, .device = devices[1 - i], .context = culv_device_context(devices[1 - i])};
        const uint32_t value = 0x10101010u + (uint32_t)i;
        CUstream stream = lib_stream(&writer);
        LIB_CU_OK(&writer, cu->MemsetD32Async(base, value, bytes / 4, stream));
        lib_finish(&writer, stream);
        lib_stream_destroy(&writer, stream);
        LIB_CU_OK(&reader, cu->MemcpyDtoH(words, base, bytes));
        for (size_t k = 0; k < bytes / 4; k++)
            REQUIRE_EQ(words[k], value);
    }
    free(words);
    for (uint64_t i = 0; i < CHUNKS; i++) {
        culv_pointer_info info = culv_pointer_info_init();
        LIB_OK(culv_pointer_get_info(devices[0], base + i * MULTICAST_CHUNK, &info));
        REQUIRE_EQ(info.device, i % 2);
        culv_vmm_allocation_destroy(&chunks[i]);
    }
    LIB_OK(culv_vmm_unmap(range, 0, culv_vmm_range_size(range), NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_device_close(&devices[1]);
    sparse_stage_close(&s);
}
