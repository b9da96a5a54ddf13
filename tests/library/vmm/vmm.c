/* SPDX-License-Identifier: MIT */
/* Virtual memory management: allocations, ranges, mappings, aliases. */
#define TEST_GROUP "vmm."
#include "vmm_stage.h"

#include <culvert/vmm.h>

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
        d.size = rows[i][0];
        NEW(OWN(culv_vmm_allocation), allocation, culv_vmm_allocation_create, s->w.device, &d);
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
    OWN(culv_vmm_allocation) *one = vmm_allocation(s, 1, 0), *two = vmm_allocation(s, 2, 0);
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, two, NULL, 0));
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    vmm_require_counts(s, 2, 1, 2);
    REQUIRE_EQ(lib_allocation(two).mappings, 1);
    const size_t all = 3 * VMM_BLOCK / sizeof(uint32_t);
    vmm_write(s->w.device, cu, vmm_address(range, 0), all, 5);
    vmm_require_words(s->w.device, cu, vmm_address(range, 0), all, 5);
    /* The two by another order at another place. */
    LIB_OK(culv_vmm_unmap(range, 0, culv_vmm_range_size(range), NULL));
    REQUIRE_EQ(vmm_count_mappings(s), 0);
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
}

/* One allocation at two places: what is written at one is at the other, for the next copy. */
VMM_CASE(aliases)
{
    const raw_cuda *cu = s->w.cu;
    OWN(culv_vmm_range) *here = vmm_range(s, 2), *there = vmm_range(s, 2);
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
    REQUIRE_EQ(vmm_count_mappings(s), 1);
    vmm_require_counts(s, 0, 2, 1);
    LIB_OK(culv_vmm_unmap(there, 0, 2 * VMM_BLOCK, NULL));
}

/* The memory that is mapped at an address, whoever mapped it. */
VMM_CASE(retained)
{
    const raw_cuda *cu = s->w.cu;
    culv_vmm_range *range = vmm_range(s, 4);
    culv_vmm_allocation *allocation = vmm_allocation(s, 2, 1u << CULV_HANDLE_OPAQUE_FD);
    culv_vmm_adopted *adopted = NULL;
    culv_part chunk;
    size_t count = 0;
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, allocation, NULL, 0));
    vmm_write(s->w.device, cu, vmm_address(range, 1), WORDS, 3);
    culv_vmm_allocation_destroy(&allocation);
    LIB_OK(culv_vmm_adopt(s->w.device, vmm_address(range, 2) + 12, 1, &adopted));
    LIB_OK(culv_vmm_adopted_get_parts(adopted, &chunk, 1, &count));
    culv_vmm_allocation_info info = lib_allocation(chunk.allocation);
    REQUIRE_EQ(info.size, 2 * VMM_BLOCK);
    REQUIRE_EQ(info.requested, 2 * VMM_BLOCK);
    REQUIRE_EQ(info.granularity, VMM_BLOCK);
    REQUIRE_EQ(info.handle_types, 1u << CULV_HANDLE_OPAQUE_FD);
    vmm_require_counts(s, 1, 1, 1);
    LIB_OK(culv_vmm_unmap(range, 0, 4 * VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_map(range, 0, chunk.allocation, NULL, 0)); /* the memory was kept by it */
    vmm_require_words(s->w.device, cu, vmm_address(range, 0), WORDS, 3);
    culv_vmm_adopted_destroy(&adopted);
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK * 4, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
}

VMM_CASE(places)
{
    culv_vmm_range_desc d = culv_vmm_range_desc_init();
    d.size = 1;
    NEW(culv_vmm_range, range, culv_vmm_range_create, s->w.device, &d);
    REQUIRE_EQ(culv_vmm_range_size(range), VMM_BLOCK);
    LIB_OK(culv_vmm_range_destroy(&range));
    d.size = 3 * VMM_BLOCK;
    d.alignment = 16 * VMM_BLOCK;
    LIB_OK(culv_vmm_range_create(s->w.device, &d, &range));
    REQUIRE_EQ(culv_vmm_range_pointer(range) % d.alignment, 0);
    d.alignment = 0;
    /* A taken address: a hint gets another, exactly gets nothing. */
    d.address = culv_vmm_range_pointer(range);
    NEW(culv_vmm_range, next, culv_vmm_range_create, s->w.device, &d);
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
    d.size = 1;
    d.usage = CULV_VMM_USAGE_COMPRESSIBLE;
    NEW(culv_vmm_allocation, allocation, culv_vmm_allocation_create, s->w.device, &d);
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
        OWN(culv_vmm_range) *range = vmm_range(s, 1);
        LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &allocation));
        REQUIRE_EQ(lib_allocation(allocation).usage, CULV_VMM_USAGE_TILE_POOL);
        LIB_INVALID(culv_vmm_map(range, 0, allocation, NULL, 0), USAGE);
        culv_vmm_allocation_destroy(&allocation);
    }
}

/* Memory on the host, where the driver has it. */
VMM_CASE(host_memory)
{
    const culv_vmm_location_kind kinds[] = {CULV_VMM_LOCATION_HOST_NUMA, CULV_VMM_LOCATION_HOST};
    for (size_t i = 0; i < 2; i++) {
        culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
        OWN(culv_vmm_allocation) *allocation = NULL;
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
        OWN(culv_vmm_range) *range = vmm_range(s, (info.size + VMM_BLOCK - 1) / VMM_BLOCK);
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
    }
}

/* Many mappings, of which some go and come. */
VMM_CASE(many)
{
    enum { MANY = 40 };
    culv_vmm_allocation *allocations[MANY];
    OWN(culv_vmm_range) *range = vmm_range(s, MANY);
    for (size_t i = 0; i < MANY; i++) {
        const size_t place = i * 17 % MANY; /* in no order */
        allocations[place] = vmm_allocation(s, 1, 0);
        LIB_OK(culv_vmm_map(range, place * VMM_BLOCK, allocations[place], NULL, 0));
    }
    for (size_t i = 1; i < MANY; i += 2)
        LIB_OK(culv_vmm_unmap(range, i * VMM_BLOCK, VMM_BLOCK, NULL));
    REQUIRE_EQ(vmm_count_mappings(s), MANY / 2);
    for (size_t i = 0; i < MANY; i++)
        REQUIRE_EQ(lib_allocation(allocations[i]).mappings, i % 2 == 0);
    LIB_OK(culv_vmm_unmap(range, 3 * VMM_BLOCK, 6 * VMM_BLOCK, NULL)); /* 4, 6, 8 */
    REQUIRE_EQ(vmm_count_mappings(s), MANY / 2 - 3);
    LIB_OK(culv_vmm_unmap(range, 0, MANY * VMM_BLOCK, NULL));
    for (size_t i = 0; i < MANY; i++)
        culv_vmm_allocation_destroy(&allocations[i]);
}

#undef TEST_GROUP
#define TEST_GROUP "access."
/* Virtual memory management: who may do what, on one device and on two. */

VMM_CASE(of_each_mapping)
{
    OWN(culv_vmm_range) *range = vmm_range(s, 4);
    OWN(culv_vmm_allocation) *one = vmm_allocation(s, 1, 0), *two = vmm_allocation(s, 2, 0);
    const culv_vmm_access none = {.flags = CULV_VMM_ACCESS_NONE},
                          reads = {.flags = CULV_VMM_ACCESS_READ};
    LIB_OK(culv_vmm_map(range, 0, one, &reads, 1));
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, two, &none, 1));
    REQUIRE_EQ(vmm_access_of(s->w.cu, range, 5, s->w.device), CULV_VMM_ACCESS_READ);
    REQUIRE_EQ(vmm_access_of(s->w.cu, range, 2 * VMM_BLOCK, s->w.device), CULV_VMM_ACCESS_NONE);
    REQUIRE_EQ(vmm_try_read(s, vmm_address(range, 0)), CUDA_SUCCESS);
    REQUIRE(vmm_try_read(s, vmm_address(range, 1)) != CUDA_SUCCESS); /* and the context lives: */
    /* A mapping that comes anew has its own access, not the last one's. */
    LIB_OK(culv_vmm_unmap(range, 0, 4 * VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    REQUIRE_EQ(vmm_access_of(s->w.cu, range, 0, s->w.device), CULV_VMM_ACCESS_READ_WRITE);
    vmm_write(s->w.device, s->w.cu, vmm_address(range, 0), WORDS, 2);
    vmm_require_words(s->w.device, s->w.cu, vmm_address(range, 0), WORDS, 2);
    LIB_OK(culv_vmm_unmap(range, 0, 4 * VMM_BLOCK, NULL));
}

/* What a copy to memory that is only to be read does is the driver's affair; that it does not write
 * is not. */
TEST(read_only, .faults = true)
{
    vmm_stage s;
    vmm_stage_open(&s);
    culv_vmm_range *range = vmm_range(&s, 2);
    culv_vmm_allocation *one = vmm_allocation(&s, 1, 0);
    const culv_vmm_access reads = {.flags = CULV_VMM_ACCESS_READ};
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, one, &reads, 1));
    vmm_write(s.w.device, s.w.cu, vmm_address(range, 0), WORDS, 1);
    vmm_require_words(s.w.device, s.w.cu, vmm_address(range, 1), WORDS, 1);
    CUresult r = vmm_try_write(&s, vmm_address(range, 1));
    MEASURED("library.vmm_copy_to_read_only", "%s", raw_cuda_result_name(r));
    REQUIRE(r != CUDA_SUCCESS);
    test_pass(); /* the context may be broken now */
}

static bool reach(const vmm_stage *s)
{
    int there = 0, back = 0;
    CU_OK(s->w.cu->DeviceCanAccessPeer(&there, 0, 1));
    CU_OK(s->w.cu->DeviceCanAccessPeer(&back, 1, 0));
    return there && back;
}

/* One array of addresses, every other piece of it on the other GPU. */
VMM_TWO_CASE(striped)
{
    if (!reach(s)) SKIP("the GPUs are no peers");
    const raw_cuda *cu = s->w.cu;
    enum { PIECES = 4 };
    culv_vmm_range *range = vmm_range(s, PIECES);
    culv_vmm_allocation *pieces[PIECES];
    const culv_vmm_access both[] = {{.device = s->w.device, .flags = CULV_VMM_ACCESS_READ_WRITE},
                                    {.device = s->other, .flags = CULV_VMM_ACCESS_READ_WRITE}};
    for (uint64_t i = 0; i < PIECES; i++) {
        pieces[i] = vmm_allocation_on(i % 2 == 0 ? s->w.device : s->other, 1, 0, "stripe");
        if (i == 0) { /* who was told nothing has nothing */
            LIB_OK(culv_vmm_map(range, 0, pieces[0], NULL, 0));
            REQUIRE_EQ(vmm_access_of(cu, range, 0, s->other), CULV_VMM_ACCESS_NONE);
            LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, NULL));
        }
        LIB_OK(culv_vmm_map(range, i * VMM_BLOCK, pieces[i], both, 2));
        REQUIRE_EQ(vmm_access_of(cu, range, i * VMM_BLOCK, s->other), CULV_VMM_ACCESS_READ_WRITE);
    }
    culv_device_counts c = lib_counts(&s->w);
    REQUIRE(c.vmm_allocations == 2 && c.vmm_mappings == PIECES);
    vmm_write(s->other, cu, vmm_address(range, 0), PIECES * VMM_BLOCK / 4, 6);
    vmm_require_words(s->w.device, cu, vmm_address(range, 0), PIECES * VMM_BLOCK / 4, 6);
    vmm_write(s->w.device, cu, vmm_address(range, 0), PIECES * VMM_BLOCK / 4, 7);
    vmm_require_words(s->other, cu, vmm_address(range, 0), PIECES * VMM_BLOCK / 4, 7);
    /* The other GPU's pieces outlive its device's handle. */
    culv_vmm_allocation_destroy(&pieces[1]);
    culv_vmm_allocation_destroy(&pieces[3]);
    culv_device_close(&s->other);
    vmm_require_words(s->w.device, cu, vmm_address(range, 0), PIECES * VMM_BLOCK / 4, 7);
    LIB_OK(culv_vmm_unmap(range, 0, PIECES * VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_vmm_allocation_destroy(&pieces[0]);
    culv_vmm_allocation_destroy(&pieces[2]);
    if (cu->software) s->fds = test_open_fds(); /* the other one's are gone */
}

VMM_TWO_CASE(no_peers)
{
    if (s->w.cu->SoftBarPeers != NULL)
        s->w.cu->SoftBarPeers(1);
    else if (reach(s))
        SKIP("the GPUs are peers");
    culv_vmm_range *range = vmm_range(s, 1);
    culv_vmm_allocation *one = vmm_allocation(s, 1, 0),
                        *theirs = vmm_allocation_on(s->other, 1, 0, NULL);
    const culv_vmm_access other = {.device = s->other, .flags = CULV_VMM_ACCESS_READ};
    LIB_INVALID(culv_vmm_map(range, 0, one, &other, 1), PEER, "cuDeviceCanAccessPeer");
    LIB_INVALID(culv_vmm_map(range, 0, theirs, NULL, 0), PEER);
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_vmm_allocation_destroy(&one);
    culv_vmm_allocation_destroy(&theirs);
    if (s->w.cu->SoftBarPeers != NULL) s->w.cu->SoftBarPeers(0);
}

/* The other GPU's memory is that GPU's. */
VMM_TWO_CASE(retained_elsewhere)
{
    if (!reach(s)) SKIP("the GPUs are no peers");
    OWN(culv_vmm_range) *range = vmm_range(s, 1);
    OWN(culv_vmm_allocation) *theirs =
        vmm_allocation_on(s->other, 1, 1u << CULV_HANDLE_OPAQUE_FD, NULL);
    culv_vmm_adopted *adopted = NULL;
    culv_part chunk;
    size_t count = 0;
    LIB_OK(culv_vmm_map(range, 0, theirs, NULL, 0));
    LIB_REFUSES(adopted, culv_vmm_adopt(s->w.device, vmm_address(range, 0), 1, &adopted), INVALID,
                DEVICE_MISMATCH);
    LIB_OK(culv_vmm_adopt(s->other, vmm_address(range, 0), 1, &adopted));
    LIB_OK(culv_vmm_adopted_get_parts(adopted, &chunk, 1, &count));
    culv_device_caps caps = lib_caps(s->other);
    culv_vmm_allocation_info info = lib_allocation(chunk.allocation);
    REQUIRE_EQ_BYTES(&info.device, &caps.uuid, sizeof caps.uuid);
    culv_vmm_adopted_destroy(&adopted);
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, NULL));
}

#undef TEST_GROUP
#define TEST_GROUP "refused."
/* Virtual memory management: what is refused, and that it changes nothing. */

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
    OWN(culv_vmm_allocation) *allocation = NULL;
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
    d.struct_size = 3;
    LIB_FAILS(culv_vmm_allocation_create(s->w.device, &d, &allocation), null,
              CULV_REASON_STRUCT_SIZE);
    d.struct_size = sizeof d;
    LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &allocation));
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    info.struct_size = 1;
    LIB_FAILS(culv_vmm_allocation_get_info(allocation, &info), null, CULV_REASON_STRUCT_SIZE);
    vmm_require_counts(s, 1, 0, 0);
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
    culv_device_desc dd = culv_device_desc_init();
    dd.driver = CULV_DRIVER_SOFT;
    NEW(culv_device, device, culv_device_open_by_ordinal, 0, &dd);
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    culv_vmm_import_desc i = culv_vmm_import_desc_init();
    uint64_t granularity = 0;
    d = culv_vmm_allocation_desc_init();
    r.size = d.size = i.size = 1;
    LIB_REFUSES(allocation, culv_vmm_allocation_create(device, &d, &allocation), UNSUPPORTED, VMM);
    LIB_ERROR(culv_vmm_get_granularity(device, &d, &granularity), UNSUPPORTED, VMM);
    LIB_REFUSES(range, culv_vmm_range_create(device, &r, &range), UNSUPPORTED, VMM);
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
    OWN(culv_vmm_range) *range = vmm_range(s, 4);
    OWN(culv_vmm_allocation) *one = vmm_allocation(s, 1, 0), *two = vmm_allocation(s, 2, 0);
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
    REQUIRE_EQ(vmm_count_mappings(s), 0);
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
    vmm_require_counts(s, 2, 1, 1);
    /* It is all still there. */
    vmm_write(s->w.device, s->w.cu, vmm_address(range, 1), 100, 4);
    vmm_require_words(s->w.device, s->w.cu, vmm_address(range, 1), 100, 4);
    LIB_OK(culv_vmm_unmap(range, VMM_BLOCK, 2 * VMM_BLOCK, NULL));
}

/* More than the message holds. */
VMM_CASE(long_list)
{
    enum { MANY = 30 };
    OWN(culv_vmm_range) *range = vmm_range(s, MANY);
    OWN(culv_vmm_allocation) *allocation = vmm_allocation_on(
        s->w.device, 1, 0, "an allocation with a name of the greatest length there is...");
    for (uint64_t i = 0; i < MANY; i++)
        LIB_OK(culv_vmm_map(range, i * VMM_BLOCK, allocation, NULL, 0));
    LIB_ERROR(culv_vmm_range_destroy(&range), BUSY, MAPPED, "and 22 more");
    LIB_OK(culv_vmm_unmap(range, 0, MANY * VMM_BLOCK, NULL));
}

/* Of two drivers in one process nothing mixes. */
TEST(of_another_driver, .own = true)
{
    lib_with_libcuda_of("lib/pose");
    lib_with_environment("CULVERT_SOFT", "1");
    char path[TEST_PATH_MAX];
    REQUIRE(setenv("CULVERT_SOFT_PATH", test_path(path, "lib"), 1) == 0);
    OWN(culv_device) *nvidia = NULL, *soft = NULL;
    culv_device_desc d = culv_device_desc_init();
    if (culv_device_open_by_ordinal(0, NULL, &nvidia) != CULV_OK || lib_caps(nvidia).is_software)
        SKIP("no posing driver");
    d.driver = CULV_DRIVER_SOFT;
    if (culv_device_open_by_ordinal(0, &d, &soft) != CULV_OK) SKIP("%s", culv_last_error_message());
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    r.size = VMM_BLOCK;
    NEW(OWN(culv_vmm_range), range, culv_vmm_range_create, nvidia, &r);
    OWN(culv_vmm_allocation) *theirs = vmm_allocation_on(soft, 1, 0, NULL),
                             *ours = vmm_allocation_on(nvidia, 1, 0, NULL);
    LIB_INVALID(culv_vmm_map(range, 0, theirs, NULL, 0), DEVICE_MISMATCH);
    culv_vmm_access a = {.device = soft, .flags = CULV_VMM_ACCESS_READ};
    LIB_INVALID(culv_vmm_map(range, 0, ours, &a, 1), DEVICE_MISMATCH);
}
