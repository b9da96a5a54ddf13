/* SPDX-License-Identifier: MIT */
/* Fabric handles of memory pools, which the twin plays: with an IMEX channel, with an attribute
 * that lies, and with a channel that goes. */
#define TEST_GROUP "fabric."
#include "pool_stage.h"
#include "sparse_stage.h"

#include <culvert/fabric.h>

enum {
    POOLS_WORDS = 77773,
    BYTES = POOLS_WORDS * 4,
    POOLS_FD_BIT = 1 << CULV_HANDLE_OPAQUE_FD,
    POOLS_FABRIC_BIT = 1 << CULV_HANDLE_FABRIC
};

static void open_fabric(sparse_stage *s, int attribute, int channel)
{
    const raw_cuda *cu = lib_driver();
    if (!cu->software) SKIP("IMEX channels are played on the twin");
    cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, attribute);
    cu->SoftPlayFabric(channel);
    sparse_stage_open(s);
}

#define FABRIC_CASE(...)                                                                           \
    TEST_ON(sparse_stage, s, open_fabric(s, 1, 1), sparse_stage_close(s), __VA_ARGS__)

static culv_pool_desc pools_wanted(culv_fabric fabric, uint32_t handle_types)
{
    culv_pool_desc d = culv_pool_desc_init();
    d.fabric = fabric;
    d.handle_types = handle_types;
    d.label = "woven pool";
    return d;
}

static uint64_t pools(void)
{
    culv_soft_counts counts = {.struct_size = sizeof counts};
    lib_driver()->SoftCounts(&counts);
    return counts.memory_pools;
}

/* Out and in again: the same memory, whatever else the pool is exported as. */
TEST(pools_both_ways)
{
    static const uint32_t others[] = {0, POOLS_FD_BIT};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        sparse_stage s;
        open_fabric(&s, 1, 1);
        const uint64_t before = pools();
        culv_pool *made = NULL;
        culv_mem_pool *imported = NULL;
        culv_mem_pool_pointer sent;
        culv_handle fd = {.type = CULV_HANDLE_NONE};
        culv_mem_pool_import_desc in = culv_mem_pool_import_desc_init();
        CUdeviceptr at = 0, there = 0;
        const CUstream stream = s.stream;
        const culv_pool_desc d = pools_wanted(CULV_FABRIC_REQUIRED, others[i]);
        LIB_OK(culv_pool_create(s.w.device, &d, &made));
        REQUIRE_EQ(pool_info(made).handle_types, others[i] | POOLS_FABRIC_BIT);
        at = pool_alloc(&s.w, made, BYTES, stream);
        lib_finish(&s.w, stream);
        pool_write(&s.w, stream, at, POOLS_WORDS, 1);
        LIB_INVALID(culv_pool_export_pointer(made, at, &sent),
                    NOT_READY); /* to try was no export */
        const size_t fds = test_open_fds();
        LIB_OK(culv_pool_export_dup(made, CULV_HANDLE_FABRIC, &in.handle));
        LIB_OK(culv_pool_export_pointer(made, at, &sent));
        REQUIRE_EQ(test_open_fds(), fds);
        if (others[i] == 0)
            LIB_INVALID(culv_pool_export_dup(made, CULV_HANDLE_OPAQUE_FD, &fd), NOT_EXPORTABLE);
        else
            LIB_OK(culv_pool_export_dup(made, CULV_HANDLE_OPAQUE_FD, &fd));
        culv_handle_close(&fd);
        LIB_OK(culv_mem_pool_import(s.w.device, &in, &imported));
        LIB_OK(culv_mem_pool_import_pointer(imported, &sent, &there));
        pool_require(&s.w, stream, there, POOLS_WORDS, 1);
        pool_write(&s.w, stream, there, POOLS_WORDS, 2);
        pool_require(&s.w, stream, at, POOLS_WORDS, 2);
        lib_pool_free(&s.w, there, stream);
        lib_pool_free(&s.w, at, stream);
        lib_finish(&s.w, stream);
        culv_mem_pool_destroy(&imported);
        culv_pool_destroy(&made);
        REQUIRE_EQ(pools(), before);
        sparse_stage_close(&s);
    }
}

/* What a pool gets where fabric handles do not work: `then` is played after the device has found
 * that they do. */
TEST(pools_not_here)
{
    static const struct {
        int attribute, channel, then;
        int types; /* MEMPOOL_SUPPORTED_HANDLE_TYPES; -1: as the device has them */
        const char *says;
    } rows[] = {
        {1, 0, 0, -1, "cuMem"}, /* as an H200 without an IMEX channel */
        {0, 1, 1, -1, "vmm_fabric is 0"},
        {1, 1, 0, -1, "cuMemPoolExportToShareableHandle"}, /* the pool is made all the same */
        {1, 1, 1, POOLS_FD_BIT, "MEMPOOL_SUPPORTED_HANDLE_TYPES"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sparse_stage s;
        open_fabric(&s, rows[i].attribute, rows[i].channel);
        const raw_cuda *cu = s.w.cu;
        const uint64_t before = pools();
        culv_pool *made = NULL;
        culv_handle fd = {.type = CULV_HANDLE_NONE};
        culv_pool_desc d = pools_wanted(CULV_FABRIC_REQUIRED, POOLS_FD_BIT);
        if (rows[i].channel && rows[i].attribute) LIB_OK(culv_check_fabric(s.w.device));
        cu->SoftPlayFabric(rows[i].then);
        if (rows[i].types >= 0)
            cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES,
                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        LIB_REFUSES(made, culv_pool_create(s.w.device, &d, &made), UNSUPPORTED, HANDLE_TYPE,
                    rows[i].says);
        REQUIRE_EQ(pools(), before);
        d.fabric = CULV_FABRIC_TRY; /* falls back to file descriptors */
        LIB_OK(culv_pool_create(s.w.device, &d, &made));
        REQUIRE_EQ(pool_info(made).handle_types, POOLS_FD_BIT);
        REQUIRE_EQ(pools(), before + 1);
        LIB_INVALID(culv_pool_export_dup(made, CULV_HANDLE_FABRIC, &fd), NOT_EXPORTABLE,
                    "culv_pool_desc.fabric");
        LIB_OK(culv_pool_export_dup(made, CULV_HANDLE_OPAQUE_FD, &fd));
        culv_handle_close(&fd);
        culv_pool_destroy(&made);
        REQUIRE_EQ(pools(), before);
        cu->SoftPlayAttribute(0, 0);
        sparse_stage_close(&s);
    }
}

FABRIC_CASE(pools_refused)
{
    culv_device *device = s->w.device;
    culv_pool *made = NULL, *none;
    culv_mem_pool *out;
    culv_vmm_allocation *memory = NULL;
    culv_handle handle, of_memory;
    culv_pool_desc d = pools_wanted(CULV_FABRIC_REQUIRED, 0);
    culv_mem_pool_import_desc in = culv_mem_pool_import_desc_init();
    LIB_OK(culv_pool_create(device, &d, &made));
    LIB_OK(culv_pool_export_dup(made, CULV_HANDLE_FABRIC, &handle));
    culv_vmm_allocation_desc m = culv_vmm_allocation_desc_init();
    m.size = (2 << 20);
    m.fabric = CULV_FABRIC_REQUIRED;
    LIB_OK(culv_vmm_allocation_create(device, &m, &memory));
    LIB_OK(culv_vmm_export_dup(memory, CULV_HANDLE_FABRIC, &of_memory));
    memset(&in.handle, 0x5a, sizeof in.handle);
    in.handle.type = CULV_HANDLE_FABRIC;
#define NO(call, ...) LIB_REFUSES(out, call, __VA_ARGS__)
    d.fabric = (culv_fabric)3;
    LIB_REFUSES(none, culv_pool_create(device, &d, &none), INVALID, VALUE);
    d = pools_wanted(CULV_FABRIC_NO, POOLS_FABRIC_BIT); /* asked for by `fabric` alone */
    LIB_REFUSES(none, culv_pool_create(device, &d, &none), UNSUPPORTED, HANDLE_TYPE);
    NO(culv_mem_pool_import(device, &in, &out), DRIVER, HANDLE_REFUSED);
    in.handle = of_memory;
    NO(culv_mem_pool_import(device, &in, &out), DRIVER, HANDLE_REFUSED);
    in.handle = handle;
    lib_driver()->SoftPlayFabric(0);
    NO(culv_mem_pool_import(device, &in, &out), DRIVER, HANDLE_REFUSED, "IMEX channel");
    lib_driver()->SoftPlayFabric(1);
#undef NO
    culv_vmm_allocation *other = NULL; /* a pool's bytes are no allocation */
    culv_vmm_import_desc i = culv_vmm_import_desc_init();
    i.handle = handle;
    i.size = (2 << 20);
    LIB_REFUSES(other, culv_vmm_import(device, &i, &other), DRIVER, HANDLE_REFUSED);
    culv_vmm_allocation_destroy(&memory);
    culv_pool_destroy(&made);
}
