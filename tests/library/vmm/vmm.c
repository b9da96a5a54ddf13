/* SPDX-License-Identifier: MIT */
/* Virtual memory management: allocations, ranges, mappings, aliases. */
#define TEST_GROUP "vmm."
#include "vmm_stage.h"

enum { WORDS = 1000 };

/* Sizes are rounded up, and both are told. */
VMM_CASE(sizes)
{
    uint64_t least = 0, recommended = 0;
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    LIB_OK(culv_vmm_get_granularity(s->w.device, &d, &least));
    d.recommended_granularity = 1;
    LIB_OK(culv_vmm_get_granularity(s->w.device, &d, &recommended));
    REQUIRE(least > 0 && recommended >= least && recommended % least == 0);
    MEASURED("library.vmm_granularity", "minimum %llu, recommended %llu", (unsigned long long)least,
             (unsigned long long)recommended);
    const uint64_t rows[][2] = {{1, 1}, {least - 1, 1}, {least, 1}, {least + 1, 2}, {3 * least, 3}};
    d.recommended_granularity = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_vmm_allocation *allocation = NULL;
        d.size = rows[i][0];
        LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &allocation));
        culv_vmm_allocation_info info = lib_allocation(allocation);
        REQUIRE_EQ(info.requested, rows[i][0]);
        REQUIRE_EQ(info.size, rows[i][1] * least);
        REQUIRE_EQ(info.granularity, least);
        REQUIRE(info.kind == CULV_VMM_LOCATION_DEVICE && info.numa_node == 0 &&
                info.handle_types == 0);
        REQUIRE(info.usage == 0 && info.imported == 0 && info.mappings == 0);
        culv_device_caps caps = lib_caps(s->w.device);
        REQUIRE_EQ_BYTES(&info.device, &caps.uuid, sizeof caps.uuid);
        REQUIRE(info.native_handle != 0 && info.missing_devices == 0);
        vmm_require_counts(s, 1, 0, 0);
        culv_vmm_allocation_destroy(&allocation);
        REQUIRE(allocation == NULL);
        culv_vmm_allocation_destroy(&allocation);
    }
    culv_vmm_allocation_destroy(NULL);
}

/* Two allocations side by side are one array, and what was unmapped comes back elsewhere as it
 * was. */
VMM_CASE(mapped, .smoke = true)
{
    const raw_cuda *cu = s->w.cu;
    culv_vmm_range *range = vmm_range(s, 8);
    REQUIRE_EQ(culv_vmm_range_size(range), 8 * VMM_BLOCK);
    REQUIRE(culv_vmm_range_pointer(range) % VMM_BLOCK == 0);
    culv_vmm_allocation *one = vmm_allocation(s, 1, 0), *two = vmm_allocation(s, 2, 0);
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, two, NULL, 0));
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    vmm_require_counts(s, 2, 1, 2);
    REQUIRE_EQ(lib_allocation(two).mappings, 1);
    const size_t all = 3 * VMM_BLOCK / sizeof(uint32_t);
    vmm_write(s->w.device, cu, vmm_address(range, 0), all, 5);
    vmm_require_words(s->w.device, cu, vmm_address(range, 0), all, 5);
    culv_vmm_mapping m[4];
    size_t count = 0;
    LIB_OK(culv_vmm_get_mappings(range, m, 4, &count));
    REQUIRE_EQ(count, 2);
    REQUIRE(m[0].offset == 0 && m[0].size == VMM_BLOCK && m[0].allocation == one &&
            !m[0].unmapping);
    REQUIRE(m[1].offset == VMM_BLOCK && m[1].size == 2 * VMM_BLOCK && m[1].allocation == two);
    LIB_OK(culv_vmm_get_mappings(range, m, 1, &count));
    REQUIRE_EQ(count, 2);
    /* The two by another order at another place. */
    LIB_OK(culv_vmm_unmap(range, 0, culv_vmm_range_size(range), NULL));
    REQUIRE_EQ(vmm_count_mappings(range), 0);
    vmm_require_counts(s, 2, 1, 0);
    LIB_OK(culv_vmm_map(range, 4 * VMM_BLOCK, two, NULL, 0));
    LIB_OK(culv_vmm_map(range, 6 * VMM_BLOCK, one, NULL, 0));
    vmm_require_words(s->w.device, cu, vmm_address(range, 6), VMM_BLOCK / 4, 5);
    LIB_OK(culv_vmm_unmap(range, 6 * VMM_BLOCK, VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_map(range, 3 * VMM_BLOCK, one, NULL, 0)); /* in front of two */
    vmm_require_words(s->w.device, cu, vmm_address(range, 3), all, 5);
    LIB_OK(culv_vmm_unmap(range, 0, 8 * VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    REQUIRE(range == NULL);
    LIB_OK(culv_vmm_range_destroy(&range));
    LIB_OK(culv_vmm_range_destroy(NULL));
    culv_vmm_allocation_destroy(&one);
    culv_vmm_allocation_destroy(&two);
}

/* One allocation at two places: what is written at one is at the other, for the next copy. */
VMM_CASE(aliases)
{
    const raw_cuda *cu = s->w.cu;
    culv_vmm_range *here = vmm_range(s, 2), *there = vmm_range(s, 2);
    culv_vmm_allocation *allocation = vmm_allocation(s, 1, 0);
    LIB_OK(culv_vmm_map(here, 0, allocation, NULL, 0));
    LIB_OK(culv_vmm_map(here, VMM_BLOCK, allocation, NULL, 0));
    LIB_OK(culv_vmm_map(there, VMM_BLOCK, allocation, NULL, 0));
    REQUIRE_EQ(lib_allocation(allocation).mappings, 3);
    vmm_write(s->w.device, cu, vmm_address(here, 0), WORDS, 1);
    vmm_require_words(s->w.device, cu, vmm_address(here, 1), WORDS, 1);
    vmm_write(s->w.device, cu, vmm_address(there, 1), WORDS, 2);
    vmm_require_words(s->w.device, cu, vmm_address(here, 0), WORDS, 2);
    LIB_OK(culv_vmm_unmap(here, 0, VMM_BLOCK, NULL));
    vmm_require_words(s->w.device, cu, vmm_address(here, 1), WORDS, 2);
    LIB_OK(culv_vmm_unmap(here, VMM_BLOCK, VMM_BLOCK, NULL));
    /* The memory outlives its handle where it is mapped. */
    culv_vmm_allocation_destroy(&allocation);
    vmm_require_words(s->w.device, cu, vmm_address(there, 1), WORDS, 2);
    culv_vmm_mapping m;
    size_t count = 0;
    LIB_OK(culv_vmm_get_mappings(there, &m, 1, &count));
    REQUIRE(count == 1 && m.allocation == NULL && m.size == VMM_BLOCK);
    vmm_require_counts(s, 0, 2, 1);
    LIB_OK(culv_vmm_unmap(there, 0, 2 * VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_range_destroy(&here));
    LIB_OK(culv_vmm_range_destroy(&there));
}

/* A handle of the memory that is mapped at an address, whoever mapped it. */
VMM_CASE(retained)
{
    const raw_cuda *cu = s->w.cu;
    culv_vmm_range *range = vmm_range(s, 4);
    culv_vmm_allocation *allocation = vmm_allocation(s, 2, 1u << CULV_HANDLE_OPAQUE_FD),
                        *again = NULL;
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, allocation, NULL, 0));
    vmm_write(s->w.device, cu, vmm_address(range, 1), WORDS, 3);
    culv_vmm_allocation_destroy(&allocation);
    LIB_OK(culv_vmm_allocation_retain_at(s->w.device, vmm_address(range, 2) + 12, &again));
    culv_vmm_allocation_info info = lib_allocation(again);
    REQUIRE_EQ(info.size, 2 * VMM_BLOCK);
    REQUIRE_EQ(info.requested, 2 * VMM_BLOCK);
    REQUIRE_EQ(info.granularity, VMM_BLOCK);
    REQUIRE_EQ(info.handle_types, 1u << CULV_HANDLE_OPAQUE_FD);
    vmm_require_counts(s, 1, 1, 1);
    LIB_OK(culv_vmm_unmap(range, 0, 4 * VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_map(range, 0, again, NULL, 0)); /* the memory was kept by it */
    vmm_require_words(s->w.device, cu, vmm_address(range, 0), WORDS, 3);
    culv_handle handle = {0};
    LIB_OK(culv_vmm_export_dup(again, CULV_HANDLE_OPAQUE_FD, &handle));
    culv_handle_close(&handle);
    culv_vmm_allocation_destroy(&again);
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK * 4, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));

    /* What has none. */
    CUdeviceptr plain = 0;
    range = vmm_range(s, 1);
    LIB_REFUSES(again, culv_vmm_allocation_retain_at(s->w.device, vmm_address(range, 0), &again),
                INVALID, NOT_MAPPED);
    LIB_OK(culv_vmm_range_destroy(&range));
    LIB_CU_OK(&s->w, cu->MemAlloc(&plain, 65536));
    LIB_REFUSES(again, culv_vmm_allocation_retain_at(s->w.device, plain, &again), INVALID,
                NOT_MAPPED, "other memory of CUDA's");
    LIB_CU_OK(&s->w, cu->MemFree(plain));
    LIB_REFUSES(again, culv_vmm_allocation_retain_at(s->w.device, 0x1000, &again), INVALID,
                NOT_MAPPED);
}

VMM_CASE(places)
{
    culv_vmm_range *range = NULL, *next = NULL;
    culv_vmm_range_desc d = culv_vmm_range_desc_init();
    d.size = 1;
    LIB_OK(culv_vmm_range_create(s->w.device, &d, &range));
    REQUIRE_EQ(culv_vmm_range_size(range), VMM_BLOCK);
    LIB_OK(culv_vmm_range_destroy(&range));
    d.size = 3 * VMM_BLOCK;
    d.alignment = 16 * VMM_BLOCK;
    LIB_OK(culv_vmm_range_create(s->w.device, &d, &range));
    REQUIRE_EQ(culv_vmm_range_pointer(range) % d.alignment, 0);
    d.alignment = 0;
    /* A taken address: a hint gets another, exactly gets nothing. */
    d.address = culv_vmm_range_pointer(range);
    LIB_OK(culv_vmm_range_create(s->w.device, &d, &next));
    REQUIRE(culv_vmm_range_pointer(next) != d.address);
    LIB_OK(culv_vmm_range_destroy(&next));
    d.fixed_address = 1;
    d.label = "in place";
    LIB_REFUSES(next, culv_vmm_range_create(s->w.device, &d, &next), OUT_OF_MEMORY, ADDRESS,
                "in place");
    vmm_require_counts(s, 0, 1, 0);
    /* Behind it there may be room. */
    d.address += 3 * VMM_BLOCK;
    if (culv_vmm_range_create(s->w.device, &d, &next) == CULV_OK) {
        REQUIRE_EQ(culv_vmm_range_pointer(next), d.address);
        LIB_OK(culv_vmm_range_destroy(&next));
        MEASURED("library.vmm_extend_in_place", "granted");
    } else {
        MEASURED("library.vmm_extend_in_place", "%s", culv_last_error_message());
    }
    LIB_OK(culv_vmm_range_destroy(&range));
    d = culv_vmm_range_desc_init();
    d.size = UINT64_C(1) << 60;
    LIB_REFUSES(next, culv_vmm_range_create(s->w.device, &d, &next), OUT_OF_MEMORY, ADDRESS);
}

/* What the driver grants is told, not what was asked for. */
VMM_CASE(usages)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    culv_vmm_allocation *allocation = NULL;
    d.size = 1;
    d.usage = CULV_VMM_USAGE_COMPRESSIBLE;
    LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &allocation));
    MEASURED("library.vmm_compressible", "%s",
             lib_allocation(allocation).usage ? "granted" : "not granted");
    culv_vmm_allocation_destroy(&allocation);
    if (s->w.cu->SoftPlayAttribute != NULL) {
        s->w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 0);
        LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &allocation));
        REQUIRE_EQ(lib_allocation(allocation).usage, 0);
        culv_vmm_allocation_destroy(&allocation);
        s->w.cu->SoftPlayAttribute(0, 0);
    }
    d.usage = CULV_VMM_USAGE_RDMA;
    culv_result r = culv_vmm_allocation_create(s->w.device, &d, &allocation);
    MEASURED("library.vmm_rdma", "%s", r == CULV_OK ? "granted" : culv_last_error_message());
    if (r == CULV_OK) REQUIRE_EQ(lib_allocation(allocation).usage, CULV_VMM_USAGE_RDMA);
    culv_vmm_allocation_destroy(&allocation);
    d.usage = CULV_VMM_USAGE_HW_DECOMPRESS;
    r = culv_vmm_allocation_create(s->w.device, &d, &allocation);
    MEASURED("library.vmm_hw_decompress", "%s",
             r == CULV_OK ? "granted" : culv_last_error_message());
    culv_vmm_allocation_destroy(&allocation);
    culv_device_caps caps = lib_caps(s->w.device);
    d.usage = CULV_VMM_USAGE_TILE_POOL;
    if (caps.sparse_arrays) {
        culv_vmm_range *range = vmm_range(s, 1);
        LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &allocation));
        REQUIRE_EQ(lib_allocation(allocation).usage, CULV_VMM_USAGE_TILE_POOL);
        LIB_INVALID(culv_vmm_map(range, 0, allocation, NULL, 0), USAGE);
        culv_vmm_allocation_destroy(&allocation);
        LIB_OK(culv_vmm_range_destroy(&range));
    }
}

/* Memory on the host, where the driver has it. */
VMM_CASE(host_memory)
{
    const culv_vmm_location_kind kinds[] = {CULV_VMM_LOCATION_HOST_NUMA, CULV_VMM_LOCATION_HOST};
    for (size_t i = 0; i < 2; i++) {
        culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
        culv_vmm_allocation *allocation = NULL;
        d.size = 1;
        d.kind = kinds[i];
        culv_result r = culv_vmm_allocation_create(s->w.device, &d, &allocation);
        MEASURED(i == 0 ? "library.vmm_host_numa" : "library.vmm_host", "%s",
                 r == CULV_OK ? "granted" : culv_last_error_message());
        if (r != CULV_OK) {
            REQUIRE(r == CULV_ERROR_UNSUPPORTED && allocation == NULL);
            continue;
        }
        culv_vmm_allocation_info info = lib_allocation(allocation);
        REQUIRE_EQ(info.kind, kinds[i]);
        REQUIRE(info.size >= 1 && info.size % info.granularity == 0);
        REQUIRE_EQ_BYTES(&info.device, &(culv_uuid){{0}}, sizeof info.device);
        culv_vmm_range *range = vmm_range(s, (info.size + VMM_BLOCK - 1) / VMM_BLOCK);
        const culv_vmm_access both[] = {{.flags = CULV_VMM_ACCESS_READ_WRITE},
                                        {.kind = kinds[i], .flags = CULV_VMM_ACCESS_READ_WRITE}};
        r = culv_vmm_map(range, 0, allocation, both, 2);
        MEASURED(i == 0 ? "library.vmm_host_numa_access" : "library.vmm_host_access", "%s",
                 r == CULV_OK ? "granted" : culv_last_error_message());
        if (r != CULV_OK) LIB_OK(culv_vmm_map(range, 0, allocation, NULL, 0));
        vmm_write(s->w.device, s->w.cu, vmm_address(range, 0), WORDS, 9);
        vmm_require_words(s->w.device, s->w.cu, vmm_address(range, 0), WORDS, 9);
        if (r == CULV_OK) { /* by the host itself */
            const uint32_t *words = (const void *)(uintptr_t)vmm_address(range, 0);
            REQUIRE_WORDS(words, WORDS, 9);
        }
        LIB_OK(culv_vmm_unmap(range, 0, culv_vmm_range_size(range), NULL));
        LIB_OK(culv_vmm_range_destroy(&range));
        culv_vmm_allocation_destroy(&allocation);
    }
}

/* Objects outlive the device's handle. */
VMM_CASE(outlived)
{
    culv_vmm_range *range = vmm_range(s, 1);
    culv_vmm_allocation *allocation = vmm_allocation(s, 1, 0);
    culv_device_close(&s->w.device);
    LIB_OK(culv_vmm_map(range, 0, allocation, NULL, 0));
    culv_vmm_allocation_destroy(&allocation);
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
}

/* Many mappings, of which some go and come. */
VMM_CASE(many)
{
    enum { MANY = 40 };
    culv_vmm_allocation *allocations[MANY];
    culv_vmm_range *range = vmm_range(s, MANY);
    for (size_t i = 0; i < MANY; i++) {
        const size_t place = i * 17 % MANY; /* in no order */
        allocations[place] = vmm_allocation(s, 1, 0);
        LIB_OK(culv_vmm_map(range, place * VMM_BLOCK, allocations[place], NULL, 0));
    }
    for (size_t i = 1; i < MANY; i += 2)
        LIB_OK(culv_vmm_unmap(range, i * VMM_BLOCK, VMM_BLOCK, NULL));
    static culv_vmm_mapping m[MANY];
    size_t count = 0;
    LIB_OK(culv_vmm_get_mappings(range, m, MANY, &count));
    REQUIRE_EQ(count, MANY / 2);
    for (size_t i = 0; i < count; i++)
        REQUIRE(m[i].offset == 2 * i * VMM_BLOCK && m[i].allocation == allocations[2 * i]);
    LIB_OK(culv_vmm_unmap(range, 3 * VMM_BLOCK, 6 * VMM_BLOCK, NULL)); /* 4, 6, 8 */
    REQUIRE_EQ(vmm_count_mappings(range), MANY / 2 - 3);
    LIB_OK(culv_vmm_unmap(range, 0, MANY * VMM_BLOCK, NULL));
    for (size_t i = 0; i < MANY; i++)
        culv_vmm_allocation_destroy(&allocations[i]);
    LIB_OK(culv_vmm_range_destroy(&range));
}
