/* SPDX-License-Identifier: MIT */
/* What a device has for cards, flushes, costs, and BAR1 by an NVML that a test library plays. */
#define TEST_GROUP "window."
#include "rdma_stage.h"

#include "played_nvml.h"

#include <dlfcn.h>

TEST(caps)
{
    rdma_stage s;
    rdma_stage_open(&s);
    culv_rdma_caps c = culv_rdma_caps_init();
    LIB_OK(culv_rdma_get_caps(s.w.device, &c));
    MEASURED("rdma.caps", "supported %d, VMM %d, dma-buf %d, flush %d %d, ordering %d",
             (int)c.supported, (int)c.with_vmm, (int)c.dma_buf, (int)c.flush_host,
             (int)c.flush_memops, (int)c.ordering);
    if (!s.w.cu->software) {
        if (c.flush_host) LIB_OK(culv_rdma_flush_writes(s.w.device, CULV_RDMA_ORDERING_OWNER));
        if (c.flush_host)
            LIB_OK(culv_rdma_flush_writes(s.w.device, CULV_RDMA_ORDERING_ALL_DEVICES));
        rdma_stage_close(&s);
        return;
    }
    REQUIRE(c.supported && c.with_vmm && c.dma_buf && c.flush_host && !c.flush_memops);
    REQUIRE_EQ((int)c.ordering, (int)CULV_RDMA_ORDERING_NONE);
    /* A flush where the order is less than what is asked for. */
    static const struct {
        int ordering, scope, flushes;
    } rows[] = {{0, 100, 1},   {0, 200, 1},   {100, 100, 0},
                {100, 200, 1}, {200, 100, 0}, {200, 200, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t before = rdma_counted(&s).flushes;
        s.w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING,
                                  rows[i].ordering);
        LIB_OK(culv_rdma_flush_writes(s.w.device, (culv_rdma_ordering)rows[i].scope));
        REQUIRE_EQ(rdma_counted(&s).flushes - before, rows[i].flushes);
    }
    s.w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, 0);
    LIB_INVALID(culv_rdma_flush_writes(s.w.device, CULV_RDMA_ORDERING_NONE), VALUE);
    LIB_INVALID(culv_rdma_flush_writes(s.w.device, (culv_rdma_ordering)150), VALUE);
    s.w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, 2);
    LIB_ERROR(culv_rdma_flush_writes(s.w.device, CULV_RDMA_ORDERING_OWNER), UNSUPPORTED, USAGE);
    LIB_OK(culv_rdma_get_caps(s.w.device, &c));
    REQUIRE(!c.flush_host && c.flush_memops);
    rdma_stage_close(&s);
}

TEST(costs)
{
    static const struct {
        CUdeviceptr p;
        uint64_t size, start, chunks;
    } rows[] = {
        {65536, 1, 65536, 1},
        {65536, 65536, 65536, 1},
        {65536, 65537, 65536, 2},
        {131071, 1, 65536, 1},
        {131071, 2, 65536, 2},
        {65537, 65536, 65536, 2},
        {3 << 20, 1 << 30, 3 << 20, 16384},
        {(3 << 20) + 1, 1 << 30, 3 << 20, 16385},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_rdma_cost c = culv_rdma_cost_init();
        LIB_OK(culv_rdma_get_cost(rows[i].p, rows[i].size, &c));
        REQUIRE_EQ(c.start, rows[i].start);
        REQUIRE_EQ(c.chunks, rows[i].chunks);
        REQUIRE_EQ(c.size, rows[i].chunks * 65536);
    }
    culv_rdma_cost c = culv_rdma_cost_init();
    LIB_INVALID(culv_rdma_get_cost(65536, 0, &c), SIZE);
    LIB_INVALID(culv_rdma_get_cost(65536, UINT64_MAX - 65535, &c), RANGE);
    LIB_INVALID(culv_rdma_get_cost(UINT64_MAX, 1, &c), RANGE);
    REQUIRE(c.size == 0 && c.chunks == 0);
}

TEST(bar1, .own = true)
{
    rdma_stage s;
    rdma_stage_open(&s);
    culv_rdma_bar1 b = culv_rdma_bar1_init();
    if (!s.w.cu->software) {
        culv_result r = culv_rdma_get_bar1(s.w.device, &b);
        MEASURED("rdma.bar1", "%s, total %llu, used %llu",
                 r == CULV_OK ? "told" : culv_last_error_message(), (unsigned long long)b.total,
                 (unsigned long long)b.used);
        REQUIRE(r == CULV_OK ? b.total >= b.used && b.usable <= b.free : b.total == 0);
        rdma_stage_close(&s);
        return;
    }
    /* Loaded under NVML's name, so that whoever opens that name gets it. */
    char path[TEST_PATH_MAX];
    void *library = dlopen(test_path(path, "lib/played_nvml/libnvidia-ml.so.1"), RTLD_NOW);
    if (library == NULL) FAIL("%s", dlerror());
    played_nvml *plays = dlsym(library, "culvPlayedNvml");
    REQUIRE(plays != NULL);
    *plays = (played_nvml){.total = UINT64_C(16) << 30, .used = UINT64_C(1) << 30};
    LIB_OK(culv_rdma_get_bar1(s.w.device, &b));
    REQUIRE_EQ(b.total, UINT64_C(16) << 30);
    REQUIRE_EQ(b.used, UINT64_C(1) << 30);
    REQUIRE_EQ(b.free, UINT64_C(15) << 30);
    REQUIRE_EQ(b.usable, b.free - CULV_RDMA_BAR1_RESERVE);
    REQUIRE(strcmp(plays->bus_id, lib_caps(s.w.device).pci_bus_id) == 0);
    REQUIRE(plays->inits == 1 && plays->shutdowns == 1);
    /* Nearly full. */
    plays->used = plays->total - (16 << 20);
    LIB_OK(culv_rdma_get_bar1(s.w.device, &b));
    REQUIRE_EQ(b.usable, 0);
    static const struct {
        int at, code;
        culv_result result;
        culv_reason reason;
    } rows[] = {{1, 9, CULV_ERROR_UNSUPPORTED, CULV_REASON_LIBRARY},      /* no driver is loaded */
                {2, 6, CULV_ERROR_UNSUPPORTED, CULV_REASON_LIBRARY},      /* not found */
                {3, 3, CULV_ERROR_UNSUPPORTED, CULV_REASON_LIBRARY},      /* not supported */
                {3, 999, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED}}; /* unknown */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned inits = plays->inits - plays->shutdowns;
        plays->fails_at = rows[i].at;
        plays->code = rows[i].code;
        culv_rdma_bar1 none = culv_rdma_bar1_init();
        LIB_FAILS(culv_rdma_get_bar1(s.w.device, &none), rows[i].result, rows[i].reason, "played");
        REQUIRE(none.total == 0 && plays->inits - plays->shutdowns == inits);
    }
    dlclose(library);
    rdma_stage_close(&s);
}
