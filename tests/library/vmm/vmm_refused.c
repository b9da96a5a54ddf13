/* SPDX-License-Identifier: MIT */
/* Virtual memory management: what is refused, and that it changes nothing. */
#define TEST_GROUP "refused."
#include "vmm_stage.h"

typedef struct bad_allocation {
    uint64_t size;
    int kind;
    int32_t numa_node;
    uint32_t handle_types, usage;
    const void *object_attributes;
    culv_result result;
    culv_reason reason;
} bad_allocation;

VMM_CASE(allocations)
{
    const uint32_t fd = 1u << CULV_HANDLE_OPAQUE_FD, nt = 1u << CULV_HANDLE_OPAQUE_WIN32,
                   dma_buf = 1u << CULV_HANDLE_DMA_BUF_FD;
    const culv_result invalid = CULV_ERROR_INVALID, unsupported = CULV_ERROR_UNSUPPORTED;
    const bad_allocation rows[] = {
        {0, 0, 0, 0, 0, NULL, invalid, CULV_REASON_SIZE},
        {UINT64_MAX, 0, 0, 0, 0, NULL, invalid, CULV_REASON_SIZE},
        {1, 3, 0, 0, 0, NULL, invalid, CULV_REASON_VALUE},
        {1, -1, 0, 0, 0, NULL, invalid, CULV_REASON_VALUE},
        {1, CULV_VMM_LOCATION_HOST_NUMA, -1, 0, 0, NULL, invalid, CULV_REASON_VALUE},
        {1, CULV_VMM_LOCATION_DEVICE, 1, 0, 0, NULL, invalid, CULV_REASON_VALUE},
        {1, 0, 0, dma_buf, 0, NULL, invalid, CULV_REASON_HANDLE_TYPE},
        {1, 0, 0, 1u << 20, 0, NULL, invalid, CULV_REASON_HANDLE_TYPE},
        {1, 0, 0, 1, 0, NULL, invalid, CULV_REASON_HANDLE_TYPE},
        {1, 0, 0, nt, 0, NULL, unsupported, CULV_REASON_HANDLE_TYPE}, /* another system's */
        {1, CULV_VMM_LOCATION_HOST, 0, fd, 0, NULL, invalid, CULV_REASON_HANDLE_TYPE},
        {1, 0, 0, fd, 0, s, invalid, CULV_REASON_VALUE},
        {1, 0, 0, 0, 16, NULL, invalid, CULV_REASON_VALUE},
        {1, CULV_VMM_LOCATION_HOST_NUMA, 0, 0, CULV_VMM_USAGE_RDMA, NULL, unsupported,
         CULV_REASON_USAGE},
    };
    culv_vmm_allocation *allocation = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
        d.size = rows[i].size;
        d.kind = (culv_vmm_location_kind)rows[i].kind;
        d.numa_node = rows[i].numa_node;
        d.handle_types = rows[i].handle_types;
        d.usage = rows[i].usage;
        d.object_attributes = rows[i].object_attributes;
        d.label = "wrong";
        LIB_REFUSES_AS(allocation, culv_vmm_allocation_create(s->w.device, &d, &allocation),
                       rows[i].result, rows[i].reason);
        uint64_t granularity = 99;
        if (rows[i].reason != CULV_REASON_SIZE) {
            LIB_FAILS(culv_vmm_get_granularity(s->w.device, &d, &granularity), rows[i].result,
                      rows[i].reason);
            REQUIRE_EQ(granularity, 99);
        }
    }
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = 1;
    const culv_result null = CULV_ERROR_INVALID;
    LIB_FAILS(culv_vmm_allocation_retain_at(s->w.device, 0, &allocation), null,
              CULV_REASON_NULL_ARGUMENT);
    d.struct_size = 3;
    LIB_FAILS(culv_vmm_allocation_create(s->w.device, &d, &allocation), null,
              CULV_REASON_STRUCT_SIZE);
    d.struct_size = sizeof d;
    LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &allocation));
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    info.struct_size = 1;
    LIB_FAILS(culv_vmm_allocation_get_info(allocation, &info), null, CULV_REASON_STRUCT_SIZE);
    vmm_require_counts(s, 1, 0, 0);
    culv_vmm_allocation_destroy(&allocation);
}

/* More than there is: the driver's own answer, as one of memory. */
VMM_CASE(too_much)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    culv_vmm_allocation *allocation = NULL;
    d.size = UINT64_C(1) << 50;
    d.label = "too large";
    LIB_REFUSES(allocation, culv_vmm_allocation_create(s->w.device, &d, &allocation), OUT_OF_MEMORY,
                DEVICE_MEMORY, "too large");
}

/* What the device has not. */
VMM_CASE(without)
{
    if (s->w.cu->SoftPlayAttribute == NULL) SKIP("only the twin plays other devices");
    culv_vmm_allocation *allocation = NULL;
    culv_vmm_range *range = NULL;
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = 1;
    d.kind = CULV_VMM_LOCATION_HOST_NUMA;
    s->w.cu->SoftPlayAttribute(141, 0);
    LIB_REFUSES(allocation, culv_vmm_allocation_create(s->w.device, &d, &allocation), UNSUPPORTED,
                LOCATION);
    d.kind = CULV_VMM_LOCATION_HOST;
    s->w.cu->SoftPlayAttribute(145, 0);
    LIB_REFUSES(allocation, culv_vmm_allocation_create(s->w.device, &d, &allocation), UNSUPPORTED,
                LOCATION);
    s->w.cu->SoftPlayAttribute(0, 0);
    d.kind = CULV_VMM_LOCATION_HOST_NUMA;
    d.numa_node = 77;
    LIB_REFUSES(allocation, culv_vmm_allocation_create(s->w.device, &d, &allocation), DRIVER,
                LOCATION, "NUMA node");

    /* A device opened now has none of it. */
    s->w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0);
    culv_device *device = NULL;
    culv_device_desc dd = culv_device_desc_init();
    dd.driver = CULV_DRIVER_SOFT;
    LIB_OK(culv_device_open_by_ordinal(0, &dd, &device));
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    culv_vmm_import_desc i = culv_vmm_import_desc_init();
    uint64_t granularity = 0;
    d = culv_vmm_allocation_desc_init();
    r.size = d.size = i.size = 1;
    LIB_REFUSES(allocation, culv_vmm_allocation_create(device, &d, &allocation), UNSUPPORTED, VMM);
    LIB_ERROR(culv_vmm_get_granularity(device, &d, &granularity), UNSUPPORTED, VMM);
    LIB_REFUSES(range, culv_vmm_range_create(device, &r, &range), UNSUPPORTED, VMM);
    LIB_REFUSES(allocation, culv_vmm_allocation_retain_at(device, 4096, &allocation), UNSUPPORTED,
                VMM);
    LIB_REFUSES(allocation, culv_vmm_import(device, &i, &allocation), UNSUPPORTED, VMM);
    culv_device_close(&device);
    s->w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1);
    s->w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0);
    LIB_OK(culv_device_open_by_ordinal(0, &dd, &device));
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    culv_device_caps caps = lib_caps(device);
    if (!caps.vmm_posix_fd)
        LIB_REFUSES(allocation, culv_vmm_allocation_create(device, &d, &allocation), UNSUPPORTED,
                    HANDLE_TYPE);
    culv_device_close(&device);
    s->w.cu->SoftPlayAttribute(0, 0);
}

VMM_CASE(ranges)
{
    culv_vmm_range *range = NULL;
    const struct {
        uint64_t size, alignment;
        CUdeviceptr at;
        uint32_t exactly;
        culv_reason reason;
    } rows[] = {
        {0, 0, 0, 0, CULV_REASON_SIZE},  {UINT64_MAX, 0, 0, 0, CULV_REASON_SIZE},
        {1, 3, 0, 0, CULV_REASON_VALUE}, {1, 0, VMM_BLOCK + 4096, 0, CULV_REASON_VALUE},
        {1, 0, 0, 1, CULV_REASON_VALUE}, {1, 4 * VMM_BLOCK, 2 * VMM_BLOCK, 1, CULV_REASON_VALUE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_vmm_range_desc d = culv_vmm_range_desc_init();
        d.size = rows[i].size;
        d.alignment = rows[i].alignment;
        d.address = rows[i].at;
        d.fixed_address = rows[i].exactly;
        LIB_REFUSES_AS(range, culv_vmm_range_create(s->w.device, &d, &range), CULV_ERROR_INVALID,
                       rows[i].reason);
    }
    culv_vmm_range_desc d = culv_vmm_range_desc_init();
    d.size = 1;
    d.struct_size = 0;
    LIB_INVALID(culv_vmm_range_create(s->w.device, &d, &range), STRUCT_SIZE);
    REQUIRE_EQ(culv_vmm_range_pointer(NULL), 0);
    REQUIRE_EQ(culv_vmm_range_size(NULL), 0);
}

VMM_CASE(maps)
{
    culv_vmm_range *range = vmm_range(s, 4);
    culv_vmm_allocation *one = vmm_allocation(s, 1, 0), *two = vmm_allocation(s, 2, 0);
    const culv_vmm_access twice[] = {{.flags = CULV_VMM_ACCESS_READ},
                                     {.device = s->w.device, .flags = CULV_VMM_ACCESS_READ}};
    const culv_vmm_access host = {.kind = CULV_VMM_LOCATION_HOST,
                                  .flags = CULV_VMM_ACCESS_READ_WRITE};
    const culv_vmm_access strange[] = {
        {.flags = (culv_vmm_access_flags)2},
        {.kind = (culv_vmm_location_kind)3, .flags = CULV_VMM_ACCESS_READ},
        {.kind = CULV_VMM_LOCATION_HOST, .device = s->w.device, .flags = CULV_VMM_ACCESS_READ},
        {.numa_node = 1, .flags = CULV_VMM_ACCESS_READ},
    };
    size_t count = 0;
    LIB_INVALID(culv_vmm_map(range, 0, one, NULL, 1), NULL_ARGUMENT);
    LIB_INVALID(culv_vmm_map(range, 4096, one, NULL, 0), VALUE);
    /* Which the driver takes (measured). */
    LIB_INVALID(culv_vmm_map(range, 3 * VMM_BLOCK, two, NULL, 0), RANGE);
    LIB_INVALID(culv_vmm_map(range, 4 * VMM_BLOCK, one, NULL, 0), RANGE);
    LIB_INVALID(culv_vmm_map(range, UINT64_MAX / VMM_BLOCK * VMM_BLOCK, one, NULL, 0), RANGE);
    LIB_INVALID(culv_vmm_map(range, 0, one, twice, 2), VALUE);
    LIB_INVALID(culv_vmm_map(range, 0, one, &host, 1), PEER);
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++)
        LIB_INVALID(culv_vmm_map(range, 0, one, &strange[i], 1), VALUE);
    REQUIRE_EQ(vmm_count_mappings(range), 0);
    REQUIRE_EQ(lib_allocation(one).mappings, 0);
    vmm_require_counts(s, 2, 1, 0);

    LIB_OK(culv_vmm_map(range, VMM_BLOCK, two, NULL, 0));
    LIB_ERROR(culv_vmm_map(range, VMM_BLOCK, one, NULL, 0), BUSY, MAPPED,
              "4194304 bytes at offset 2097152 ('cells')");
    LIB_ERROR(culv_vmm_map(range, 2 * VMM_BLOCK, one, NULL, 0), BUSY, MAPPED);
    LIB_ERROR(culv_vmm_map(range, 0, two, NULL, 0), BUSY, MAPPED);
    LIB_ERROR(culv_vmm_range_destroy(&range), BUSY, MAPPED,
              "4194304 bytes at offset 2097152 ('cells')");
    REQUIRE(range != NULL);

    LIB_INVALID(culv_vmm_unmap(range, 0, 0, NULL), RANGE);
    LIB_INVALID(culv_vmm_unmap(range, 0, 5 * VMM_BLOCK, NULL), RANGE);
    LIB_INVALID(culv_vmm_unmap(range, UINT64_MAX, 2, NULL), RANGE);
    LIB_INVALID(culv_vmm_unmap(range, 0, VMM_BLOCK, NULL), NOT_MAPPED);
    LIB_INVALID(culv_vmm_unmap(range, 0, 2 * VMM_BLOCK, NULL), NOT_MAPPED,
                "the one of 4194304 bytes at offset 2097152 ('cells')");
    LIB_INVALID(culv_vmm_unmap(range, 2 * VMM_BLOCK, 2 * VMM_BLOCK, NULL), NOT_MAPPED);
    LIB_INVALID(culv_vmm_unmap(range, VMM_BLOCK, 1, NULL), NOT_MAPPED);
    LIB_INVALID(culv_vmm_unmap(range, 0, 2 * VMM_BLOCK, &(CUstream){NULL}), NOT_MAPPED);
    LIB_INVALID(culv_vmm_unmap(range, 0, 5 * VMM_BLOCK, &(CUstream){NULL}), RANGE);

    culv_vmm_access a = {.flags = CULV_VMM_ACCESS_READ};
    LIB_INVALID(culv_vmm_set_access(range, 0, 1, NULL, 1), NULL_ARGUMENT);
    LIB_INVALID(culv_vmm_set_access(range, 0, 5 * VMM_BLOCK, &a, 1), RANGE);
    LIB_INVALID(culv_vmm_set_access(range, 0, 2 * VMM_BLOCK, &a, 1), NOT_MAPPED);
    LIB_INVALID(culv_vmm_set_access(range, 0, VMM_BLOCK, &a, 1), NOT_MAPPED);
    LIB_INVALID(culv_vmm_set_access(range, 0, 4 * VMM_BLOCK, twice, 2), VALUE);
    LIB_INVALID(culv_vmm_set_access(range, 0, 4 * VMM_BLOCK, &host, 1), PEER,
                "CUDA_ERROR_NOT_SUPPORTED");
    LIB_INVALID(culv_vmm_set_access(range, 0, 4 * VMM_BLOCK, &a, SIZE_MAX / 2), VALUE);
    LIB_INVALID(culv_vmm_get_access(range, 0, &a), NOT_MAPPED);
    LIB_INVALID(culv_vmm_get_access(range, 4 * VMM_BLOCK, &a), RANGE);
    a.kind = (culv_vmm_location_kind)9;
    LIB_INVALID(culv_vmm_get_access(range, VMM_BLOCK, &a), VALUE);
    LIB_INVALID(culv_vmm_get_mappings(range, NULL, 1, &count), NULL_ARGUMENT);
    vmm_require_counts(s, 2, 1, 1);
    /* It is all still there. */
    vmm_write(s->w.device, s->w.cu, vmm_address(range, 1), 100, 4);
    vmm_require_words(s->w.device, s->w.cu, vmm_address(range, 1), 100, 4);
    LIB_OK(culv_vmm_unmap(range, VMM_BLOCK, 2 * VMM_BLOCK, NULL));
    culv_vmm_allocation_destroy(&one);
    culv_vmm_allocation_destroy(&two);
    LIB_OK(culv_vmm_range_destroy(&range));
}

/* More than the message holds. */
VMM_CASE(long_list)
{
    enum { MANY = 30 };
    culv_vmm_range *range = vmm_range(s, MANY);
    culv_vmm_allocation *allocation = vmm_allocation_on(
        s->w.device, 1, 0, "an allocation with a name of the greatest length there is...");
    for (uint64_t i = 0; i < MANY; i++)
        LIB_OK(culv_vmm_map(range, i * VMM_BLOCK, allocation, NULL, 0));
    LIB_ERROR(culv_vmm_range_destroy(&range), BUSY, MAPPED, "and 22 more");
    LIB_OK(culv_vmm_unmap(range, 0, MANY * VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_vmm_allocation_destroy(&allocation);
}

/* Of two drivers in one process nothing mixes. */
TEST(of_another_driver, .own = true)
{
    lib_with_libcuda_of("lib/pose");
    lib_with_environment("CULVERT_SOFT", "1");
    char path[TEST_PATH_MAX];
    REQUIRE(setenv("CULVERT_SOFT_PATH", test_path(path, "lib"), 1) == 0);
    culv_device *nvidia = NULL, *soft = NULL;
    culv_device_desc d = culv_device_desc_init();
    if (culv_device_open_by_ordinal(0, NULL, &nvidia) != CULV_OK || lib_caps(nvidia).is_software)
        SKIP("no posing driver");
    d.driver = CULV_DRIVER_SOFT;
    if (culv_device_open_by_ordinal(0, &d, &soft) != CULV_OK) SKIP("%s", culv_last_error_message());
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    culv_vmm_range *range = NULL;
    r.size = VMM_BLOCK;
    LIB_OK(culv_vmm_range_create(nvidia, &r, &range));
    culv_vmm_allocation *theirs = vmm_allocation_on(soft, 1, 0, NULL),
                        *ours = vmm_allocation_on(nvidia, 1, 0, NULL);
    LIB_INVALID(culv_vmm_map(range, 0, theirs, NULL, 0), DEVICE_MISMATCH);
    culv_vmm_access a = {.device = soft, .flags = CULV_VMM_ACCESS_READ};
    LIB_INVALID(culv_vmm_map(range, 0, ours, &a, 1), DEVICE_MISMATCH);
    LIB_OK(culv_vmm_map(range, 0, ours, NULL, 0));
    LIB_INVALID(culv_vmm_set_access(range, 0, VMM_BLOCK, &a, 1), DEVICE_MISMATCH);
    LIB_INVALID(culv_vmm_get_access(range, 0, &a), DEVICE_MISMATCH);
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, NULL));
    culv_vmm_allocation_destroy(&theirs);
    culv_vmm_allocation_destroy(&ours);
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_device_close(&soft);
    culv_device_close(&nvidia);
}
