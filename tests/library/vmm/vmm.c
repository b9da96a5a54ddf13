/* SPDX-License-Identifier: MIT */
/* Virtual memory management: allocations, ranges, mappings, aliases. */
#define TEST_GROUP "vmm."
#include "vmm_stage.h"

#include <culvert/fabric.h>
#include <culvert/vmm.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORDS = 1000 };

/* Sizes are rounded up, and both are told. */
VMM_CASE(sizes)
{
    uint64_t least = 0;
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    LIB_OK(culv_vmm_get_granularity(s->w.device, &d, &least));
    REQUIRE(least > 0);
    const uint64_t rows[][2] = {{1, 1}, {least - 1, 1}, {least, 1}, {least + 1, 2}, {3 * least, 3}};
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
}

/* The memory that is mapped at an address, whoever mapped it. */
VMM_CASE(retained)
{
    const raw_cuda *cu = s->w.cu;
    OWN(culv_vmm_range) *range = vmm_range(s, 4);
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
    /* A taken address gets nothing. */
    culv_vmm_range *next = NULL;
    d.address = culv_vmm_range_pointer(range);
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
    d.struct_size = 3;
    LIB_INVALID(culv_vmm_allocation_create(s->w.device, &d, &allocation), STRUCT_SIZE);
    d.struct_size = sizeof d;
    LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &allocation));
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    info.struct_size = 1;
    LIB_INVALID(culv_vmm_allocation_get_info(allocation, &info), STRUCT_SIZE);
    vmm_require_counts(s, 1, 0, 0);
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
    culv_device *device = lib_another_device(0, NULL);
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
    device = lib_another_device(0, NULL);
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
        culv_reason reason;
    } rows[] = {
        {0, 0, 0, CULV_REASON_SIZE},
        {UINT64_MAX, 0, 0, CULV_REASON_SIZE},
        {1, 3, 0, CULV_REASON_VALUE},
        {1, 0, VMM_BLOCK + 4096, CULV_REASON_VALUE},
        {1, 4 * VMM_BLOCK, 2 * VMM_BLOCK, CULV_REASON_VALUE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_vmm_range_desc d = culv_vmm_range_desc_init();
        d.size = rows[i].size;
        d.alignment = rows[i].alignment;
        d.address = rows[i].at;
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

#undef TEST_GROUP
#define TEST_GROUP "share."
/* Virtual memory management: allocations that leave the process, and come in. */

enum { FD_BIT = 1 << CULV_HANDLE_OPAQUE_FD };

static culv_vmm_import_desc import_desc(int fd, uint64_t size)
{
    culv_vmm_import_desc d = culv_vmm_import_desc_init();
    d.handle = culv_handle_opaque_fd(fd);
    d.size = size;
    d.label = "came in";
    return d;
}

static int export_fd(culv_vmm_allocation *allocation)
{
    culv_handle handle = {0};
    LIB_OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_FD, &handle));
    REQUIRE(handle.type == CULV_HANDLE_OPAQUE_FD && handle.value.fd >= 0);
    REQUIRE(fcntl(handle.value.fd, F_GETFD) & FD_CLOEXEC);
    return handle.value.fd;
}

/* Out, and in again twice: all three are the same memory. At last the handle alone keeps it. */
VMM_CASE(in_one_process, .smoke = true)
{
    const raw_cuda *cu = s->w.cu;
    OWN(culv_vmm_range) *range = vmm_range(s, 6);
    OWN(culv_vmm_allocation) *made = vmm_allocation(s, 2, FD_BIT);
    REQUIRE_EQ(lib_allocation(made).handle_types, FD_BIT);
    LIB_OK(culv_vmm_map(range, 0, made, NULL, 0));
    vmm_write(s->w.device, cu, vmm_address(range, 0), WORDS, 1);
    const int fd = export_fd(made);
    lib_fd watched = lib_fd_watch(fd);
    culv_vmm_import_desc d = import_desc(fd, 2 * VMM_BLOCK);
    NEW(OWN(culv_vmm_allocation), borrowed, culv_vmm_import, s->w.device, &d);
    lib_fd_require_untouched(&watched);
    d.exporter = lib_allocation(made).device;
    NEW(OWN(culv_vmm_allocation), taken, culv_vmm_import, s->w.device, &d);
    lib_fd_require_untouched(&watched);
    culv_vmm_allocation_info info = lib_allocation(taken);
    REQUIRE(info.imported && info.handle_types == 0 && info.kind == CULV_VMM_LOCATION_DEVICE);
    REQUIRE(info.size == 2 * VMM_BLOCK && info.requested == info.size &&
            info.granularity == VMM_BLOCK);
    REQUIRE_EQ_BYTES(&info.device, &d.exporter, sizeof info.device);
    vmm_require_counts(s, 3, 1, 1);
    culv_vmm_allocation_destroy(&made); /* the imports keep the memory */
    LIB_OK(culv_vmm_map(range, 2 * VMM_BLOCK, taken, NULL, 0));
    LIB_OK(culv_vmm_map(range, 4 * VMM_BLOCK, borrowed, NULL, 0));
    vmm_require_words(s->w.device, cu, vmm_address(range, 2), WORDS, 1);
    vmm_write(s->w.device, cu, vmm_address(range, 4), WORDS, 2);
    vmm_require_words(s->w.device, cu, vmm_address(range, 0), WORDS, 2);
    culv_handle handle = {0};
    LIB_INVALID(culv_vmm_export_dup(taken, CULV_HANDLE_OPAQUE_FD, &handle), NOT_EXPORTABLE,
                "imported");
    REQUIRE_EQ(handle.type, CULV_HANDLE_NONE);

    LIB_OK(culv_vmm_unmap(range, 0, 6 * VMM_BLOCK, NULL));
    culv_vmm_allocation_destroy(&borrowed);
    culv_vmm_allocation_destroy(&taken);
    vmm_require_counts(s, 0, 1, 0);
    LIB_OK(culv_vmm_import(s->w.device, &d, &made));
    lib_fd_end(&watched, true);
    LIB_OK(culv_vmm_map(range, 0, made, NULL, 0));
    vmm_require_words(s->w.device, cu, vmm_address(range, 0), WORDS, 2);
}

VMM_CASE(refused)
{
    OWN(culv_vmm_allocation) *plain = vmm_allocation(s, 1, 0), *made = vmm_allocation(s, 2, FD_BIT),
                             *in = NULL;
    culv_handle handle = {0};
    LIB_INVALID(culv_vmm_export_dup(plain, CULV_HANDLE_OPAQUE_FD, &handle), NOT_EXPORTABLE,
                "handle_types");
    REQUIRE_EQ(handle.type, CULV_HANDLE_NONE);

    lib_fd fd = lib_fd_watch(export_fd(made));
    culv_vmm_import_desc d = import_desc(fd.fd, 2 * VMM_BLOCK);
#define ROW(change, class, ...)                                                                    \
    SPOILT(d, d.change, LIB_REFUSES(in, culv_vmm_import(s->w.device, &d, &in), class, __VA_ARGS__))
    ROW(struct_size = 1, INVALID, STRUCT_SIZE);
    ROW(size = 0, INVALID, SIZE);
    ROW(size = VMM_BLOCK + 1, INVALID, SIZE);
    ROW(exporter.bytes[3] = 77, INVALID, DEVICE_MISMATCH, "no CUDA device");
    ROW(handle.value.fd = -1, INVALID, HANDLE_BAD);
    ROW(handle.name = L"name", INVALID, VALUE);
#undef ROW
    lib_fd_require_untouched(&fd);
    vmm_require_counts(s, 2, 0, 0);

    /* A size that is not the allocation's: told where the driver sees it, when it is mapped. */
    d = import_desc(fd.fd, VMM_BLOCK);
    LIB_OK(culv_vmm_import(s->w.device, &d, &in));
    OWN(culv_vmm_range) *range = vmm_range(s, 2);
    culv_result r = culv_vmm_map(range, 0, in, NULL, 0);
    const culv_error e = lib_last_error();
    REQUIRE_EQ(r, CULV_ERROR_DRIVER);
    REQUIRE_EQ(e.reason, CULV_REASON_SIZE);
    LIB_SAYS("culv_vmm_import_desc.size");
    MEASURED("library.vmm_import_too_small", "%s", raw_cuda_result_name((CUresult)e.native_code));
    REQUIRE_EQ(vmm_count_mappings(s), 0);
    lib_fd_done(&fd, true);
}

/* Files that no driver made: the error says what it should have been, and the file stays open. */
VMM_CASE(wrong_files)
{
    culv_vmm_allocation *in = NULL;
    const int files[] = {open("/dev/null", O_RDWR | O_CLOEXEC),
                         memfd_create("nothing", MFD_CLOEXEC)};
    REQUIRE(files[0] >= 0 && files[1] >= 0 && ftruncate(files[1], 2 * (off_t)VMM_BLOCK) == 0);
    for (size_t i = 0; i < 2; i++) {
        lib_fd fd = lib_fd_watch(files[i]);
        culv_vmm_import_desc d = import_desc(files[i], VMM_BLOCK);
        LIB_REFUSES(in, culv_vmm_import(s->w.device, &d, &in), DRIVER, HANDLE_REFUSED,
                    "culv_vmm_export_dup()");
        LIB_REFUSES(in, culv_vmm_import(s->w.device, &d, &in), DRIVER, HANDLE_REFUSED);
        lib_fd_end(&fd, true);
    }
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    culv_vmm_import_desc d = import_desc(ends[0], VMM_BLOCK);
    LIB_REFUSES(in, culv_vmm_import(s->w.device, &d, &in), INVALID, HANDLE_KIND,
                "culv_vmm_export_dup()");
    REQUIRE(strstr(culv_last_error_message(), "vkGet") == NULL);
    close(ends[0]);
    close(ends[1]);
}

/* Memory of one GPU imported for the other: CUDA may, with access granted. */
VMM_TWO_CASE(other_gpu)
{
    if (!reach(s)) SKIP("the GPUs are no peers");
    OWN(culv_vmm_range) *range = vmm_range(s, 1);
    OWN(culv_vmm_allocation) *theirs = vmm_allocation_on(s->other, 1, FD_BIT, "theirs"), *in = NULL;
    lib_fd fd = lib_fd_watch(export_fd(theirs));
    culv_vmm_import_desc d = import_desc(fd.fd, VMM_BLOCK);
    /* Whose memory it is must be said. */
    LIB_REFUSES(in, culv_vmm_import(s->w.device, &d, &in), INVALID, DEVICE_MISMATCH);
    lib_fd_require_untouched(&fd);
    d.exporter = lib_allocation(theirs).device;
    LIB_OK(culv_vmm_import(s->w.device, &d, &in));
    culv_vmm_allocation_info info = lib_allocation(in);
    REQUIRE_EQ_BYTES(&info.device, &d.exporter, sizeof info.device);
    const culv_vmm_access both[] = {{.flags = CULV_VMM_ACCESS_READ_WRITE},
                                    {.device = s->other, .flags = CULV_VMM_ACCESS_READ_WRITE}};
    LIB_OK(culv_vmm_map(range, 0, in, both, 2));
    vmm_write(s->w.device, s->w.cu, vmm_address(range, 0), WORDS, 5);
    vmm_require_words(s->other, s->w.cu, vmm_address(range, 0), WORDS, 5);
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, NULL));
    culv_vmm_allocation_destroy(&in);
    if (s->w.cu->SoftBarPeers != NULL) {
        s->w.cu->SoftBarPeers(1);
        LIB_REFUSES(in, culv_vmm_import(s->w.device, &d, &in), INVALID, DEVICE_MISMATCH,
                    "cuDeviceCanAccessPeer");
        s->w.cu->SoftBarPeers(0);
    }
    lib_fd_end(&fd, true);
}

/* Host memory of a NUMA node is exported too, where the driver says so (cuda.h, cuMemCreate). */
VMM_CASE(host_numa)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    OWN(culv_vmm_allocation) *made = NULL, *in = NULL;
    d.size = 1;
    d.kind = CULV_VMM_LOCATION_HOST_NUMA;
    d.handle_types = FD_BIT;
    culv_result r = culv_vmm_allocation_create(s->w.device, &d, &made);
    MEASURED("library.vmm_host_numa_exportable", "%s",
             r == CULV_OK ? "granted" : culv_last_error_message());
    if (r == CULV_OK) {
        culv_vmm_import_desc i = import_desc(export_fd(made), lib_allocation(made).size);
        LIB_TAKE(culv_vmm_import(s->w.device, &i, &in), &i.handle);
        culv_vmm_allocation_info info = lib_allocation(in);
        REQUIRE_EQ(info.kind, CULV_VMM_LOCATION_HOST_NUMA);
        REQUIRE_EQ_BYTES(&info.device, &(culv_uuid){{0}}, sizeof info.device);
        OWN(culv_vmm_range) *range = vmm_range(s, 2 * (info.size / VMM_BLOCK));
        LIB_OK(culv_vmm_map(range, 0, made, NULL, 0));
        LIB_OK(culv_vmm_map(range, info.size, in, NULL, 0));
        vmm_write(s->w.device, s->w.cu, vmm_address(range, 0), WORDS, 21);
        vmm_require_words(s->w.device, s->w.cu, culv_vmm_range_pointer(range) + info.size, WORDS,
                          21);
    }
}

#undef TEST_GROUP
#define TEST_GROUP "fabric."
/* Fabric handles, which the twin plays: with an IMEX channel, and with an attribute that lies. */

enum { FABRIC_FD_BIT = 1 << CULV_HANDLE_OPAQUE_FD, FABRIC_BIT = 1 << CULV_HANDLE_FABRIC };

void vmm_open_fabric(vmm_stage *s, int attribute, int channel)
{
    const raw_cuda *cu = lib_driver();
    if (!cu->software) SKIP("IMEX channels are played on the twin");
    cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, attribute);
    cu->SoftPlayFabric(channel);
    vmm_stage_open(s);
}

static culv_vmm_allocation_desc wanted(culv_fabric fabric, uint32_t handle_types)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = 2 * VMM_BLOCK;
    d.fabric = fabric;
    d.handle_types = handle_types;
    d.label = "woven";
    return d;
}

static culv_vmm_import_desc come_in(const culv_handle *handle, uint64_t size)
{
    culv_vmm_import_desc d = culv_vmm_import_desc_init();
    d.handle = culv_handle_fabric(handle->value.fabric);
    d.size = size;
    d.label = "came in";
    return d;
}

/* As on an H200 without an IMEX channel: the attribute is 1, and nothing works. */
VMM_FABRIC_CASE(1, 0, lying)
{
    OWN(culv_vmm_allocation) *made = NULL;
    culv_handle handle = {0};
    REQUIRE(lib_caps(s->w.device).vmm_fabric);
    LIB_ERROR(culv_check_fabric(s->w.device), UNSUPPORTED, HANDLE_TYPE, "IMEX channel");
    culv_vmm_allocation_desc d = wanted(CULV_FABRIC_REQUIRED, FABRIC_FD_BIT);
    LIB_REFUSES(made, culv_vmm_allocation_create(s->w.device, &d, &made), UNSUPPORTED, HANDLE_TYPE);
    d.fabric = CULV_FABRIC_TRY; /* falls back to file descriptors */
    LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &made));
    REQUIRE_EQ(lib_allocation(made).handle_types, FABRIC_FD_BIT);
    LIB_INVALID(culv_vmm_export_dup(made, CULV_HANDLE_FABRIC, &handle), NOT_EXPORTABLE,
                "culv_check_fabric()");
    culv_vmm_allocation_destroy(&made);
    lib_driver()->SoftPlayFabric(1); /* a channel comes */
    LIB_OK(culv_check_fabric(s->w.device));
    LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &made));
    REQUIRE_EQ(lib_allocation(made).handle_types, FABRIC_FD_BIT | FABRIC_BIT);
}

VMM_FABRIC_CASE(0, 1, none)
{
    LIB_ERROR(culv_check_fabric(s->w.device), UNSUPPORTED, HANDLE_TYPE, "vmm_fabric is 0");
}

VMM_FABRIC_CASE(1, 1, fabric_refused, .title = "fabric.refused")
{
    culv_device *device = s->w.device;
    OWN(culv_vmm_allocation) *made = NULL, *out = NULL,
                             *plain = vmm_allocation(s, 1, FABRIC_FD_BIT);
    culv_handle handle = {0}, spoiled;
    culv_vmm_allocation_desc d = wanted(CULV_FABRIC_REQUIRED, 0);
    LIB_OK(culv_vmm_allocation_create(device, &d, &made));
    LIB_OK(culv_vmm_export_dup(made, CULV_HANDLE_FABRIC, &handle));
    culv_vmm_import_desc in = come_in(&handle, 2 * VMM_BLOCK);
#define NO(call, ...) LIB_REFUSES(out, call, INVALID, __VA_ARGS__)
    d.fabric = (culv_fabric)3;
    NO(culv_vmm_allocation_create(device, &d, &out), VALUE);
    in.size = 0;
    NO(culv_vmm_import(device, &in, &out), SIZE);
    in.size = 2 * VMM_BLOCK + 4096; /* no multiple of the granularity */
    NO(culv_vmm_import(device, &in, &out), SIZE);
    in.size = VMM_BLOCK; /* less than there is */
    NO(culv_vmm_import(device, &in, &out), SIZE);
    in.size = 4 * VMM_BLOCK; /* more than there is */
    NO(culv_vmm_import(device, &in, &out), SIZE);
    in = come_in(&handle, 2 * VMM_BLOCK);
    memset(in.exporter.bytes, 7, sizeof in.exporter.bytes);
    NO(culv_vmm_import(device, &in, &out), DEVICE_MISMATCH);
#undef NO
    memset(&spoiled, 0x5a, sizeof spoiled);
    in = come_in(&spoiled, 2 * VMM_BLOCK);
    LIB_REFUSES(out, culv_vmm_import(device, &in, &out), DRIVER, HANDLE_REFUSED);
    spoiled = handle;
    LIB_INVALID(culv_vmm_export_dup(plain, CULV_HANDLE_FABRIC, &handle), NOT_EXPORTABLE);
    REQUIRE_EQ_BYTES(&handle, &spoiled, sizeof handle);
    d = wanted(CULV_FABRIC_NO, FABRIC_BIT);
    LIB_REFUSES(out, culv_vmm_allocation_create(device, &d, &out), UNSUPPORTED, HANDLE_TYPE,
                "culv_vmm_allocation_desc.fabric");
    vmm_require_counts(s, 2, 0, 0);
}

#undef TEST_GROUP
#define TEST_GROUP "deferred."
/* Virtual memory management: what waits for a stream, captures, and contexts that are broken or
 * gone. */

/* Nothing goes before the stream got there, and nothing waits meanwhile. */
VMM_CASE(after_a_stream)
{
    vmm_gate gate;
    culv_vmm_range *range = vmm_range(s, 4);
    culv_vmm_allocation *one = vmm_allocation(s, 1, 0), *two = vmm_allocation(s, 2, 0);
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, two, NULL, 0));
    LIB_OK(culv_vmm_map(range, 3 * VMM_BLOCK, one, NULL, 0));
    vmm_write(s->w.device, s->w.cu, vmm_address(range, 0), WORDS, 1);
    vmm_gate_begin(s, &gate);
    LIB_CU_OK(&s->w,
              s->w.cu->MemsetD32Async(vmm_address(range, 1), 3, 2 * VMM_BLOCK / 4, gate.stream));
    LIB_OK(culv_vmm_unmap(range, 0, 3 * VMM_BLOCK, &gate.stream));
    culv_vmm_allocation_destroy(&two);
    vmm_require_counts(s, 1, 1, 3);
    culv_device_counts c = lib_counts(&s->w);
    REQUIRE_EQ(c.deferred, 1); /* one event for all of it */
    REQUIRE_EQ(lib_allocation(one).mappings, 2);
    LIB_ERROR(culv_vmm_map(range, 0, one, NULL, 0), BUSY, MAPPED, "waits for a stream");
    LIB_INVALID(culv_vmm_unmap(range, 0, VMM_BLOCK, NULL), NOT_MAPPED, "waits for a stream");
    LIB_INVALID(culv_vmm_unmap(range, 0, VMM_BLOCK, &gate.stream), NOT_MAPPED);
    LIB_ERROR(culv_vmm_range_destroy(&range), BUSY, MAPPED, "(unmapped: it waits for a stream)");
    LIB_OK(culv_vmm_unmap(range, 0, 4 * VMM_BLOCK, NULL)); /* what is there still */
    REQUIRE_EQ(vmm_count_mappings(s), 2);
    REQUIRE_EQ(culv_device_collect(s->w.device), 1);
    vmm_gate_open(s, &gate);
    /* A call for the range finds it done. */
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    REQUIRE_EQ(vmm_count_mappings(s), 1);
    REQUIRE_EQ(lib_counts(&s->w).deferred, 0);
    LIB_ERROR(culv_vmm_range_destroy(&range), BUSY, MAPPED);
    REQUIRE(strstr(culv_last_error_message(), "waits for a stream") == NULL);
    vmm_require_words(s->w.device, s->w.cu, vmm_address(range, 0), WORDS, 1);
    LIB_OK(culv_vmm_unmap(range, 0, 4 * VMM_BLOCK, &gate.stream)); /* which is idle */
    lib_settle(&s->w);
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_vmm_allocation_destroy(&one);
    vmm_gate_end(s, &gate);
}

typedef struct heard {
    uint64_t queries, warnings;
} heard;

static void listen(void *user, culv_log_level level, const char *message)
{
    heard *h = user;
    h->queries += strncmp(message, "cuEventQuery", strlen("cuEventQuery")) == 0;
    h->warnings +=
        level == CULV_LOG_WARNING && strstr(message, "1024 objects that were given up") != NULL;
}

/* Of what waits for a stream each call asks once, not once for each unmapping before it; what
 * another stream has passed meanwhile is found, and so is all in the end. The log warns of many. */
VMM_CASE(asked_once_a_stream)
{
    enum { BLOCKS = 1025 };
    vmm_gate gate;
    heard h = {0, 0};
    culv_device *quiet = s->w.device;
    s->w.device = lib_another_device(0, &(culv_log){listen, &h, CULV_LOG_DEBUG});
    culv_vmm_range *range = vmm_range(s, BLOCKS), *other = vmm_range(s, 2);
    culv_vmm_allocation *one = vmm_allocation(s, 1, 0);
    CUstream idle = lib_stream(&s->w);
    vmm_gate_begin(s, &gate);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        LIB_OK(culv_vmm_map(range, i * VMM_BLOCK, one, NULL, 0));
        LIB_OK(culv_vmm_unmap(range, i * VMM_BLOCK, VMM_BLOCK, &gate.stream));
    }
    printf("%llu queries\n", (unsigned long long)h.queries);
    REQUIRE(h.queries <= 2 * BLOCKS);
    REQUIRE_EQ(h.warnings, 1);
    REQUIRE_EQ(lib_counts(&s->w).deferred, BLOCKS);
    REQUIRE_EQ(vmm_count_mappings(s), BLOCKS);
    /* In a range of its own, and behind all of them. */
    LIB_OK(culv_vmm_map(other, 0, one, NULL, 0));
    LIB_OK(culv_vmm_map(other, VMM_BLOCK, one, NULL, 0));
    LIB_OK(culv_vmm_unmap(other, 0, VMM_BLOCK, &gate.stream));
    LIB_OK(culv_vmm_unmap(other, VMM_BLOCK, VMM_BLOCK, &idle));
    lib_finish(&s->w, idle);
    LIB_OK(culv_vmm_map(other, VMM_BLOCK, one, NULL, 0));
    LIB_ERROR(culv_vmm_map(other, 0, one, NULL, 0), BUSY, MAPPED);
    REQUIRE_EQ(lib_counts(&s->w).deferred, BLOCKS + 1);
    vmm_gate_open(s, &gate);
    h.queries = 0;
    LIB_OK(culv_vmm_map(range, (BLOCKS - 1) * VMM_BLOCK, one, NULL, 0));
    REQUIRE(h.queries <= BLOCKS + 1);
    REQUIRE_EQ(vmm_count_mappings(s), 2); /* and the other range's */
    REQUIRE_EQ(culv_device_collect(s->w.device), 0);
    LIB_OK(culv_vmm_unmap(range, 0, BLOCKS * VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_unmap(other, 0, 2 * VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    LIB_OK(culv_vmm_range_destroy(&other));
    culv_vmm_allocation_destroy(&one);
    vmm_gate_end(s, &gate);
    lib_stream_destroy(&s->w, idle);
    vmm_require_counts(s, 0, 0, 0);
    culv_device_close(&s->w.device);
    s->w.device = quiet;
}

static atomic_int gate_open;
static void CUDA_CB wait_for_gate(void *user)
{
    while (!atomic_load(&gate_open))
        lib_sleep_ms(1);
}

/* Of one stream's unmappings the first has passed and goes; more come behind those that stay. */
VMM_CASE(behind_what_has_passed)
{
    OWN(culv_vmm_range) *range = vmm_range(s, 5);
    OWN(culv_vmm_allocation) *one = vmm_allocation(s, 1, 0);
    CUstream stream = lib_case_stream(&s->w);
    atomic_store(&gate_open, 0);
    for (uint64_t i = 0; i < 5; i++)
        LIB_OK(culv_vmm_map(range, i * VMM_BLOCK, one, NULL, 0));
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, &stream));
    LIB_CU_OK(&s->w, s->w.cu->LaunchHostFunc(stream, wait_for_gate, NULL));
    LIB_OK(culv_vmm_unmap(range, VMM_BLOCK, VMM_BLOCK, &stream));
    LIB_OK(culv_vmm_unmap(range, 2 * VMM_BLOCK, VMM_BLOCK, &stream));
    for (unsigned i = 0; i < TEST_FAR_MS && culv_device_collect(s->w.device) > 2; i++)
        lib_sleep_ms(1);
    REQUIRE_EQ(culv_device_collect(s->w.device), 2);
    LIB_OK(culv_vmm_unmap(range, 3 * VMM_BLOCK, VMM_BLOCK, &stream));
    LIB_OK(culv_vmm_unmap(range, 4 * VMM_BLOCK, VMM_BLOCK, &stream));
    REQUIRE_EQ(culv_device_collect(s->w.device), 4);
    atomic_store(&gate_open, 1);
    lib_finish(&s->w, stream);
    REQUIRE_EQ(culv_device_collect(s->w.device), 0);
    REQUIRE_EQ(vmm_count_mappings(s), 0);
}

VMM_TWO_CASE(refused_streams)
{
    const raw_cuda *cu = s->w.cu;
    OWN(culv_vmm_range) *range = vmm_range(s, 1);
    OWN(culv_vmm_allocation) *one = vmm_allocation(s, 1, 0);
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    lib_world other = s->w;
    other.device = s->other;
    other.context = culv_device_context(s->other);
    CUstream theirs = lib_stream(&other);
    LIB_INVALID(culv_vmm_unmap(range, 0, VMM_BLOCK, &theirs), STREAM_DEVICE);
    lib_stream_destroy(&other, theirs);
    CUstream stream = lib_case_stream(&s->w);
    CUgraph graph = NULL;
    LIB_CU_OK(&s->w, cu->StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    LIB_INVALID(culv_vmm_unmap(range, 0, VMM_BLOCK, &stream), CAPTURE);
    CUcontext before = lib_enter(&s->w);
    CU_OK(cu->StreamEndCapture(stream, &graph));
    size_t nodes = 9;
    CU_OK(cu->GraphGetNodes(graph, NULL, &nodes));
    REQUIRE_EQ(nodes, 0);
    CU_OK(cu->GraphDestroy(graph));
    lib_leave(&s->w, before);
    vmm_require_counts(s, 1, 1, 1);
    REQUIRE_EQ(lib_counts(&s->w).deferred, 0);
    vmm_write(s->w.device, cu, vmm_address(range, 0), WORDS, 1);
}

/* The legacy stream waits for every blocking stream, one that is being captured included. */
VMM_CASE(legacy_during_a_capture)
{
    const raw_cuda *cu = s->w.cu;
    CUstream blocking = NULL;
    CUgraph graph = NULL;
    OWN(culv_vmm_range) *range = vmm_range(s, 1);
    OWN(culv_vmm_allocation) *one = vmm_allocation(s, 1, 0);
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    LIB_CU_OK(&s->w, cu->StreamCreate(&blocking, CU_STREAM_DEFAULT));
    LIB_CU_OK(&s->w, cu->StreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    LIB_INVALID(culv_vmm_unmap(range, 0, VMM_BLOCK, &(CUstream){NULL}), CAPTURE);
    REQUIRE_EQ(vmm_count_mappings(s), 1);
    CUcontext before = lib_enter(&s->w);
    CU_OK(cu->StreamEndCapture(blocking, &graph));
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->StreamDestroy(blocking));
    lib_leave(&s->w, before);
    const CUstream streams[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    for (int i = 0; i < 3; i++) {
        if (i > 0) LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
        LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, &streams[i]));
        lib_settle(&s->w);
        REQUIRE_EQ(vmm_count_mappings(s), 0);
    }
}

/* After a kernel's fault all that is there can be given up. */
TEST(after_a_fault, .faults = true)
{
    vmm_stage s;
    vmm_stage_open(&s);
    const raw_cuda *cu = s.w.cu;
    culv_vmm_range *range = vmm_range(&s, 3);
    culv_vmm_allocation *one = vmm_allocation(&s, 1, 0), *two = vmm_allocation(&s, 1, 0);
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, two, NULL, 0));
    LIB_OK(culv_vmm_map(range, 2 * VMM_BLOCK, one, NULL, 0));
    CUstream stream = lib_stream(&s.w);
    LIB_OK(culv_vmm_unmap(range, 2 * VMM_BLOCK, VMM_BLOCK, &stream));
    lib_fault(&s.w, stream);
    culv_vmm_allocation *more = NULL;
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = 1;
    culv_result result = culv_vmm_allocation_create(s.w.device, &d, &more);
    MEASURED("library.vmm_allocate_after_a_fault", "%s", culv_result_name(result));
    culv_vmm_allocation_destroy(&more);
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, &stream)); /* nothing runs any more */
    LIB_OK(culv_vmm_unmap(range, VMM_BLOCK, VMM_BLOCK, NULL));
    lib_settle(&s.w);
    culv_vmm_allocation_destroy(&one);
    culv_vmm_allocation_destroy(&two);
    LIB_OK(culv_vmm_range_destroy(&range));
    vmm_require_counts(&s, 0, 0, 0);
    culv_device_close(&s.w.device);
    const culv_soft_counts c = lib_soft_counts(cu);
    REQUIRE(c.physical_allocations == 0 && c.reservations == 0 && c.virtual_mappings == 0);
    test_pass(); /* the broken context's module and stream go with the process */
}

/* With the context gone every release is quiet, and counted. */
TEST(after_a_reset, .own = true)
{
    vmm_stage s;
    vmm_stage_open(&s);
    const raw_cuda *cu = s.w.cu;
    size_t before = 0, after = 0, total = 0;
    (void)lib_enter(&s.w);
    CU_OK(cu->MemGetInfo(&before, &total));
    culv_vmm_range *range = vmm_range(&s, 2);
    culv_vmm_allocation *one = vmm_allocation(&s, 1, 0);
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, one, NULL, 0));
    CU_OK(cu->DevicePrimaryCtxReset(lib_caps(s.w.device).ordinal));
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_unmap(range, VMM_BLOCK, VMM_BLOCK, &(CUstream){NULL}));
    culv_vmm_allocation_destroy(&one);
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_device_counts c = lib_counts(&s.w);
    REQUIRE(c.vmm_allocations == 0 && c.vmm_ranges == 0 && c.vmm_mappings == 0 && c.deferred == 0);
    /* Such memory is the process's: it was there still, and is given back. */
    REQUIRE_EQ(c.late_destroys, 0);
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = 1;
    LIB_REFUSES(one, culv_vmm_allocation_create(s.w.device, &d, &one), ASYNC, DEVICE_LOST);
    culv_device_close(&s.w.device);
    REQUIRE(raw_cuda_context(cu, 0) != NULL);
    CU_OK(cu->MemGetInfo(&after, &total));
    /* Of a GPU all processes' memory is told. */
    if (cu->software) REQUIRE(after + VMM_BLOCK > before);
    test_pass();
}
