/* SPDX-License-Identifier: MIT */
/* RDMA: what is at a pointer, for a card; SYNC_MEMOPS; dma-bufs; what a
 * device has for cards, flushes, costs; BAR1 by an NVML that is played. */
#define TEST_GROUP "pointer."
#include "played_nvml.h"
#include "pool_stage.h"
#include "rdma_stage.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

/* For a card, and by culv_pointer_get_info(), from which it is: what is not made by VMM goes to no
 * graphics API, and no handle but a dma-buf leads to it; of pools that export mem_pool.c knows. */
static culv_rdma_info look(const rdma_stage *s, CUdeviceptr p)
{
    culv_rdma_info info = culv_rdma_info_init();
    culv_pointer_info told = culv_pointer_info_init();
    LIB_OK(culv_rdma_get_info(s->w.device, p, &info));
    LIB_OK(culv_pointer_get_info(s->w.device, p, &told));
    REQUIRE(told.kind == info.kind && told.reason_text[0] != '\0');
    REQUIRE(told.mapping_start == info.start && told.mapping_size == info.size);
    if (told.kind != CULV_POINTER_VMM)
        REQUIRE(told.graphics == 0 && (told.handle_types & ~(1u << CULV_HANDLE_DMA_BUF_FD)) == 0);
    REQUIRE(told.kind == CULV_POINTER_DEVICE || told.kind == CULV_POINTER_VMM ||
            told.handle_types == 0);
    REQUIRE((told.pool != NULL) == (told.kind == CULV_POINTER_POOL));
    if (told.kind == CULV_POINTER_DEVICE)
        REQUIRE(told.range_start == info.start && told.range_size == info.size);
    printf("%#llx: kind %d, path %d, %s %s\n", (unsigned long long)p, (int)info.kind,
           (int)info.path, culv_reason_name(info.reason), info.reason_text);
    return info;
}

RDMA_CASE(kinds, .smoke = true)
{
    const raw_cuda *cu = s->w.cu;
    CUdeviceptr device = rdma_alloc(s, 100000);
    culv_rdma_info i = look(s, device + 4321);
    REQUIRE(i.kind == CULV_POINTER_DEVICE && i.path == CULV_RDMA_PATH_DEVICE);
    REQUIRE(i.reason == CULV_REASON_NONE && i.reason_text[0] == '\0');
    REQUIRE_EQ(i.start, device);
    REQUIRE_EQ(i.size, 100000);
    REQUIRE(i.buffer_id != 0 && i.device == lib_caps(s->w.device).ordinal && !i.host_pages);
    const uint64_t id = i.buffer_id;

    void *pinned = NULL;
    CU_OK(cu->MemHostAlloc(&pinned, 8192, 0));
    i = look(s, (CUdeviceptr)(uintptr_t)pinned);
    REQUIRE(i.kind == CULV_POINTER_HOST && i.path == CULV_RDMA_PATH_HOST);
    LIB_OK(culv_rdma_check_range(s->w.device, (CUdeviceptr)(uintptr_t)pinned, 8192));
    CU_OK(cu->MemFreeHost(pinned));

    rdma_vmm vmm;
    rdma_vmm_make(s, &vmm, 2, CULV_VMM_USAGE_RDMA);
    i = look(s, vmm.pointer + RDMA_BLOCK + 5);
    REQUIRE(i.kind == CULV_POINTER_VMM && i.path == CULV_RDMA_PATH_DEVICE);
    REQUIRE_EQ(i.start, vmm.pointer + RDMA_BLOCK);
    REQUIRE_EQ(i.size, RDMA_BLOCK);
    REQUIRE(i.rdma_capable && i.buffer_id != id);
    const uint64_t mapping = i.buffer_id;
    /* Reserved, and nothing is mapped. */
    i = look(s, vmm.pointer + 2 * RDMA_BLOCK);
    REQUIRE(i.kind == CULV_POINTER_NONE && i.reason == CULV_REASON_NOT_MAPPED && i.device == -1);
    rdma_vmm_unmake(&vmm);
    REQUIRE(mapping != 0);

    rdma_vmm_make(s, &vmm, 1, 0);
    i = look(s, vmm.pointer);
    REQUIRE(i.kind == CULV_POINTER_VMM && !i.rdma_capable && i.path == CULV_RDMA_PATH_NONE);
    REQUIRE(i.reason == CULV_REASON_USAGE && strstr(i.reason_text, "CULV_VMM_USAGE_RDMA") != NULL);
    rdma_vmm_unmake(&vmm);

    rdma_import import;
    rdma_import_make(s, &import, 1 << 20);
    i = look(s, import.pointer);
    REQUIRE(i.kind == CULV_POINTER_EXTERNAL && i.path == CULV_RDMA_PATH_NONE);
    REQUIRE(i.reason == CULV_REASON_NOT_EXPORTABLE && strstr(i.reason_text, "1130") != NULL);
    REQUIRE(i.buffer_id != 0); /* a number like any other (R38) */
    rdma_import_unmake(s, &import);

    int on_stack = 0;
    i = look(s, (CUdeviceptr)(uintptr_t)&on_stack);
    /* Where the GPU reads pageable memory CUDA may know it. */
    if (i.kind == CULV_POINTER_NONE) REQUIRE(i.reason == CULV_REASON_HOST_POINTER && i.host_pages);
}

RDMA_CASE(bad_input)
{
    culv_device *d = s->w.device;
    CUdeviceptr p = rdma_alloc(s, 1 << 20);
    CUdeviceptr freed = rdma_alloc(s, 64 << 20);
    const CUdeviceptr at = freed;
    rdma_free(s, &freed);
    char *heap = malloc(4096);
    memset(heap, 1, 4096);
    const CUdeviceptr host = (CUdeviceptr)(uintptr_t)heap;
    const struct {
        CUdeviceptr p;
        uint64_t size;
        culv_reason reason;
    } rows[] = {
        {0, 4096, CULV_REASON_NULL_ARGUMENT},         {p, 0, CULV_REASON_SIZE},
        {p, UINT64_MAX, CULV_REASON_RANGE},           {p, UINT64_MAX - p + 1, CULV_REASON_RANGE},
        {UINT64_MAX - 4095, 4096, CULV_REASON_RANGE}, {p, (1 << 20) + 1, CULV_REASON_RANGE},
        {p + (1 << 20) - 1, 2, CULV_REASON_RANGE},    {at, 4096, CULV_REASON_NOT_MAPPED},
        {host, 64, CULV_REASON_HOST_POINTER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        printf("row %zu\n", i);
        LIB_FAILS(culv_rdma_check_range(d, rows[i].p, rows[i].size), CULV_ERROR_INVALID,
                  rows[i].reason);
        printf("%s\n", culv_last_error_message());
        culv_rdma_dma_buf out = culv_rdma_dma_buf_init(), expected = out;
        LIB_FAILS(culv_rdma_dma_buf_export_dup(d, rows[i].p, rows[i].size, 0, &out),
                  CULV_ERROR_INVALID, rows[i].reason);
        REQUIRE_EQ_BYTES(&out, &expected, sizeof out);
    }
    free(heap);
    LIB_OK(culv_rdma_check_range(d, p, 1 << 20));
    LIB_OK(culv_rdma_check_range(d, p + (1 << 20) - 1, 1));

    /* Two allocations, side by side. */
    rdma_vmm vmm;
    rdma_vmm_make(s, &vmm, 2, CULV_VMM_USAGE_RDMA);
    LIB_OK(culv_rdma_check_range(d, vmm.pointer + RDMA_BLOCK, RDMA_BLOCK));
    LIB_INVALID(culv_rdma_check_range(d, vmm.pointer + RDMA_BLOCK - 8, 16), RANGE, "mapping");
    /* Directly before and behind each, and behind all. */
    LIB_OK(culv_rdma_check_range(d, vmm.pointer + RDMA_BLOCK - 1, 1));
    LIB_OK(culv_rdma_check_range(d, vmm.pointer + RDMA_BLOCK, 1));
    LIB_OK(culv_rdma_check_range(d, vmm.pointer + 2 * RDMA_BLOCK - 1, 1));
    LIB_INVALID(culv_rdma_check_range(d, vmm.pointer + RDMA_BLOCK - 1, 2), RANGE);
    LIB_INVALID(culv_rdma_check_range(d, vmm.pointer + RDMA_BLOCK, RDMA_BLOCK + 1), RANGE);
    for (unsigned behind = 0; behind < 9 && s->w.cu->software; behind += 8) /* where nothing is */
        LIB_INVALID(culv_rdma_check_range(d, vmm.pointer + 2 * RDMA_BLOCK + behind, 1), NOT_MAPPED);
    rdma_vmm_unmake(&vmm);

    rdma_import import;
    rdma_import_make(s, &import, 1 << 20);
    LIB_INVALID(culv_rdma_check_range(d, import.pointer, 4096), NOT_EXPORTABLE, "1130");
    rdma_import_unmake(s, &import);

    if (s->w.cu->software) {
        REQUIRE_EQ(s->w.cu->SoftPlayManaged(p), 0);
        LIB_INVALID(culv_rdma_check_range(d, p, 4096), MANAGED);
        culv_rdma_dma_buf out = culv_rdma_dma_buf_init();
        LIB_INVALID(culv_rdma_dma_buf_export_dup(d, p, 4096, 0, &out), MANAGED);
        LIB_INVALID(culv_rdma_set_sync_memops(d, p, 1, NULL), MANAGED);
        REQUIRE(look(s, p).path == CULV_RDMA_PATH_NONE);
    }
}

RDMA_CASE(structs)
{
    culv_device *d = s->w.device;
    CUdeviceptr p = rdma_alloc(s, 65536);
    culv_rdma_info info = {0};
    culv_rdma_dma_buf buf = {0};
    culv_rdma_caps caps = {0};
    culv_rdma_bar1 bar1 = {0};
    culv_rdma_cost cost = {0};
#define TRY_ONE(call)  LIB_INVALID(call, STRUCT_SIZE)
#define TRY_NULL(call) LIB_INVALID(call, NULL_ARGUMENT)
    TRY_ONE(culv_rdma_get_info(d, p, &info));
    TRY_ONE(culv_rdma_dma_buf_export_dup(d, p, 1, 0, &buf));
    TRY_ONE(culv_rdma_get_caps(d, &caps));
    TRY_ONE(culv_rdma_get_bar1(d, &bar1));
    TRY_ONE(culv_rdma_get_cost(p, 1, &cost));
    info.struct_size = sizeof info;
    TRY_NULL(culv_rdma_get_info(NULL, p, &info));
    TRY_NULL(culv_rdma_get_info(d, p, NULL));
    TRY_NULL(culv_rdma_dma_buf_export_dup(d, p, 1, 0, NULL));
    TRY_NULL(culv_rdma_get_caps(d, NULL));
    TRY_NULL(culv_rdma_get_bar1(d, NULL));
    TRY_NULL(culv_rdma_get_cost(p, 1, NULL));
    TRY_NULL(culv_rdma_flush_writes(NULL, CULV_RDMA_ORDERING_OWNER));
    TRY_NULL(culv_rdma_set_sync_memops(NULL, p, 0, NULL));
}

/* Freed, and allocated again at the same address: another number (text 000, 2.2). */
RDMA_CASE(same_address)
{
    uint64_t last = 0;
    unsigned again = 0;
    CUdeviceptr before = 0;
    for (int i = 0; i < 8; i++) {
        CUdeviceptr p = rdma_alloc(s, 4 << 20);
        culv_rdma_info info = look(s, p);
        REQUIRE(info.buffer_id != 0 && info.buffer_id != last);
        again += p == before;
        before = p;
        last = info.buffer_id;
        rdma_free(s, &p);
        REQUIRE(look(s, before).kind == CULV_POINTER_NONE);
    }
    MEASURED("rdma.same_address", "%u of 7 at the address before", again);
}

RDMA_CASE(sync_memops, .own = true)
{
    culv_rdma_sync got = CULV_RDMA_SYNC_FORCE32;
    CUdeviceptr p = rdma_alloc(s, 65536);
    REQUIRE(!look(s, p).sync_memops);
    LIB_OK(culv_rdma_set_sync_memops(s->w.device, p + 100, 0, &got));
    REQUIRE_EQ((int)got, (int)CULV_RDMA_SYNC_ALLOCATION);
    REQUIRE(look(s, p + 65535).sync_memops);
    LIB_OK(culv_rdma_set_sync_memops(s->w.device, p, 0, NULL));
    rdma_vmm vmm;
    rdma_vmm_make(s, &vmm, 1, CULV_VMM_USAGE_RDMA);
    got = CULV_RDMA_SYNC_FORCE32;
    culv_result r = culv_rdma_set_sync_memops(s->w.device, vmm.pointer, 0, &got);
    MEASURED("rdma.sync_memops_vmm", "%s",
             r == CULV_OK ? "by the allocation" : culv_last_error_message());
    if (r != CULV_OK) {
        REQUIRE_EQ((int)got, (int)CULV_RDMA_SYNC_FORCE32);
        LIB_INVALID(culv_rdma_set_sync_memops(s->w.device, vmm.pointer, 0, &got), OPT_IN);
        LIB_OK(culv_rdma_set_sync_memops(s->w.device, vmm.pointer, 1, &got));
        REQUIRE_EQ((int)got, (int)CULV_RDMA_SYNC_CONTEXT);
        LIB_OK(culv_rdma_set_sync_memops(s->w.device, vmm.pointer, 1, &got)); /* is set already */
    }
    if (s->w.cu->software) {
        REQUIRE(r != CULV_OK);
        culv_soft_rdma_counts c = rdma_counted(s);
        REQUIRE_EQ(c.sync_memops, 2);
        REQUIRE_EQ(c.context_sync_memops, 1);
    }
    void *pinned = NULL;
    CU_OK(s->w.cu->MemHostAlloc(&pinned, 4096, 0));
    LIB_OK(culv_rdma_set_sync_memops(s->w.device, (CUdeviceptr)(uintptr_t)pinned, 0, &got));
    REQUIRE_EQ((int)got, (int)CULV_RDMA_SYNC_NONE);
    CU_OK(s->w.cu->MemFreeHost(pinned));
    rdma_vmm_unmake(&vmm);
}

/* A pool's memory is for cards where CUDA says so. */
RDMA_CASE(pools)
{
    culv_pool_desc d = culv_pool_desc_init();
    culv_pool *pool = NULL;
    CUstream stream = NULL;
    CUdeviceptr p = 0;
    CU_OK(s->w.cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    LIB_OK(culv_pool_create(s->w.device, &d, &pool));
    p = pool_alloc(&s->w, pool, 1 << 20, stream);
    CU_OK(s->w.cu->StreamSynchronize(stream));
    culv_rdma_info i = look(s, p + 100);
    REQUIRE(i.kind == CULV_POINTER_POOL && i.start == p && i.size == 1 << 20 && i.buffer_id != 0);
    MEASURED("rdma.pool", "%s", i.rdma_capable ? "reachable" : "not reachable");
    if (s->w.cu->software) REQUIRE(!i.rdma_capable);
    if (i.rdma_capable) {
        REQUIRE(i.path == CULV_RDMA_PATH_DEVICE && i.reason == CULV_REASON_NONE);
        LIB_OK(culv_rdma_check_range(s->w.device, p, 1 << 20));
    } else {
        REQUIRE(i.path == CULV_RDMA_PATH_NONE && i.reason == CULV_REASON_USAGE);
        LIB_ERROR(culv_rdma_check_range(s->w.device, p, 1 << 20), UNSUPPORTED, USAGE, "pool");
    }
    lib_pool_free(&s->w, p, stream);
    CU_OK(s->w.cu->StreamSynchronize(stream));
    culv_pool_destroy(&pool);
    CU_OK(s->w.cu->StreamDestroy(stream));
}

/* cuMemAllocManaged's own; bad_input plays what it is besides. */
RDMA_CASE(managed)
{
    PFN_cuMemAllocManaged_v6000 alloc = NULL;
    void (*proc)(void) = culv_device_cuda_proc(s->w.device, "cuMemAllocManaged", 6000);
    memcpy(&alloc, &proc, sizeof alloc);
    if (alloc == NULL) SKIP("the driver has no managed memory");
    CUdeviceptr p = 0;
    CU_OK(alloc(&p, 65536, CU_MEM_ATTACH_GLOBAL));
    culv_rdma_info i = look(s, p + 5);
    REQUIRE(i.kind == CULV_POINTER_MANAGED && i.path == CULV_RDMA_PATH_NONE);
    REQUIRE(i.reason == CULV_REASON_MANAGED);
    LIB_INVALID(culv_rdma_check_range(s->w.device, p, 4096), MANAGED);
    CU_OK(s->w.cu->MemFree(p));
}

/* dma-bufs of ranges --------------------------------------------------------------------------- */

#undef TEST_GROUP
#define TEST_GROUP "dma_buf."

static culv_rdma_dma_buf export(const rdma_stage *s, CUdeviceptr p, uint64_t size, uint64_t flags)
{
    culv_rdma_dma_buf b = culv_rdma_dma_buf_init();
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    LIB_OK(culv_rdma_dma_buf_export_dup(s->w.device, p, size, flags, &b));
    REQUIRE_EQ(fcntl(b.handle.value.fd, F_GETFD), FD_CLOEXEC);
    REQUIRE(b.handle.type == CULV_HANDLE_DMA_BUF_FD);
    REQUIRE(b.start % page == 0 && b.size % page == 0 && b.start + b.offset == p);
    REQUIRE(b.offset < page && b.offset + size <= b.size && b.size - size < 2 * page);
    if (s->w.cu->software) {
        culv_soft_dma_buf range;
        REQUIRE_EQ(s->w.cu->SoftDmaBufRange(b.handle.value.fd, &range), 0);
        REQUIRE(range.address == b.start && range.size == b.size);
        REQUIRE_EQ(range.flags, b.pcie ? 1 : 0);
    }
    return b;
}

/* What a card would write through the dma-buf; the twin alone has none. */
static void card_writes(const rdma_stage *s, const culv_rdma_dma_buf *b, const void *bytes,
                        size_t size)
{
    culv_soft_dma_buf range;
    REQUIRE_EQ(s->w.cu->SoftDmaBufRange(b->handle.value.fd, &range), 0);
    memcpy((char *)(uintptr_t)range.address + b->offset, bytes, size);
}

RDMA_CASE(ranges)
{
    if (!s->dma_bufs) SKIP("the device makes no dma-bufs");
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const size_t size = 1 << 20;
    CUdeviceptr p = rdma_alloc(s, size);
    const struct {
        uint64_t offset, size;
    } rows[] = {{0, size}, {0, 1}, {page - 1, 2}, {page, page}, {12345, 99999}, {size - 1, 1}};
    size_t fds = test_open_fds();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_rdma_dma_buf b = export(s, p + rows[i].offset, rows[i].size, 0);
        if (s->w.cu->software) {
            uint8_t there = 0, sent = (uint8_t)(i + 17);
            card_writes(s, &b, &sent, 1);
            CU_OK(s->w.cu->MemcpyDtoH(&there, p + rows[i].offset, 1));
            REQUIRE_EQ(there, sent);
        }
        culv_handle_close(&b.handle);
    }
    REQUIRE_EQ(test_open_fds(), fds);
    rdma_free(s, &p);
    /* An odd size: its last page is partly its own. */
    p = rdma_alloc(s, 100001);
    culv_rdma_dma_buf b = export(s, p, 100001, 0);
    culv_handle_close(&b.handle);
}

RDMA_CASE(mappings)
{
    if (!s->dma_bufs) SKIP("the device makes no dma-bufs");
    rdma_vmm vmm;
    rdma_vmm_make(s, &vmm, 2, CULV_VMM_USAGE_RDMA);
    culv_rdma_dma_buf b = export(s, vmm.pointer + RDMA_BLOCK - 100, 200, 0); /* spans both */
    culv_handle_close(&b.handle);
    b = export(s, vmm.pointer, 2 * RDMA_BLOCK, 0);
    culv_handle_close(&b.handle);
    culv_rdma_dma_buf none = culv_rdma_dma_buf_init();
    /* Where nothing is mapped any more the driver says so. */
    culv_result r =
        culv_rdma_dma_buf_export_dup(s->w.device, vmm.pointer, 3 * RDMA_BLOCK, 0, &none);
    printf("%s\n", culv_last_error_message());
    REQUIRE(r == CULV_ERROR_DRIVER);
    LIB_INVALID(culv_rdma_dma_buf_export_dup(s->w.device, vmm.pointer, 5 * RDMA_BLOCK, 0, &none),
                RANGE);
    rdma_vmm_unmake(&vmm);
}

RDMA_CASE(pcie)
{
    static const CUresult answers[] = {CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE,
                                       CUDA_ERROR_NOT_SUPPORTED};
    if (!s->dma_bufs) SKIP("the device makes no dma-bufs");
    CUdeviceptr p = rdma_alloc(s, 65536);
    for (int i = 0; i < (s->w.cu->software ? 3 : 1); i++) {
        if (s->w.cu->software) s->w.cu->SoftPlayDmaBufPcie((int)answers[i]);
        culv_rdma_dma_buf b = export(s, p, 65536, CULV_DMA_BUF_PCIE);
        MEASURED("rdma.pcie", "%s", b.pcie ? "granted" : "made without");
        if (s->w.cu->software) REQUIRE_EQ(b.pcie, answers[i] == CUDA_SUCCESS);
        culv_handle_close(&b.handle);
    }
    culv_rdma_dma_buf none = culv_rdma_dma_buf_init();
    if (s->w.cu->software) { /* what is not of the flag is not tried again */
        s->w.cu->SoftPlayDmaBufPcie(CUDA_ERROR_OUT_OF_MEMORY);
        LIB_ERROR(culv_rdma_dma_buf_export_dup(s->w.device, p, 4096, CULV_DMA_BUF_PCIE, &none),
                  OUT_OF_MEMORY, DEVICE_MEMORY);
    }
    LIB_INVALID(culv_rdma_dma_buf_export_dup(s->w.device, p, 4096, 2, &none), VALUE);
    void *pinned = NULL;
    CU_OK(s->w.cu->MemHostAlloc(&pinned, 4096, 0));
    LIB_INVALID(
        culv_rdma_dma_buf_export_dup(s->w.device, (CUdeviceptr)(uintptr_t)pinned, 4096, 0, &none),
        HOST_POINTER);
    CU_OK(s->w.cu->MemFreeHost(pinned));
}

/* Devices -------------------------------------------------------------------------------------- */

#undef TEST_GROUP
#define TEST_GROUP "window."

RDMA_CASE(caps)
{
    culv_rdma_caps c = culv_rdma_caps_init();
    LIB_OK(culv_rdma_get_caps(s->w.device, &c));
    MEASURED("rdma.caps", "supported %d, VMM %d, dma-buf %d, flush %d %d, ordering %d",
             (int)c.supported, (int)c.with_vmm, (int)c.dma_buf, (int)c.flush_host,
             (int)c.flush_memops, (int)c.ordering);
    if (!s->w.cu->software) {
        if (c.flush_host) LIB_OK(culv_rdma_flush_writes(s->w.device, CULV_RDMA_ORDERING_OWNER));
        if (c.flush_host)
            LIB_OK(culv_rdma_flush_writes(s->w.device, CULV_RDMA_ORDERING_ALL_DEVICES));
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
        uint64_t before = rdma_counted(s).flushes;
        s->w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING,
                                   rows[i].ordering);
        LIB_OK(culv_rdma_flush_writes(s->w.device, (culv_rdma_ordering)rows[i].scope));
        REQUIRE_EQ(rdma_counted(s).flushes - before, rows[i].flushes);
    }
    s->w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, 0);
    LIB_INVALID(culv_rdma_flush_writes(s->w.device, CULV_RDMA_ORDERING_NONE), VALUE);
    LIB_INVALID(culv_rdma_flush_writes(s->w.device, (culv_rdma_ordering)150), VALUE);
    s->w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, 2);
    LIB_ERROR(culv_rdma_flush_writes(s->w.device, CULV_RDMA_ORDERING_OWNER), UNSUPPORTED, USAGE);
    LIB_OK(culv_rdma_get_caps(s->w.device, &c));
    REQUIRE(!c.flush_host && c.flush_memops);
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

RDMA_CASE(bar1, .own = true)
{
    culv_rdma_bar1 b = culv_rdma_bar1_init();
    if (!s->w.cu->software) {
        culv_result r = culv_rdma_get_bar1(s->w.device, &b);
        MEASURED("rdma.bar1", "%s, total %llu, used %llu",
                 r == CULV_OK ? "told" : culv_last_error_message(), (unsigned long long)b.total,
                 (unsigned long long)b.used);
        REQUIRE(r == CULV_OK ? b.total >= b.used && b.usable <= b.free : b.total == 0);
        return;
    }
    /* Loaded under NVML's name, so that whoever opens that name gets it. */
    char path[TEST_PATH_MAX];
    void *library = dlopen(test_path(path, "lib/played_nvml/libnvidia-ml.so.1"), RTLD_NOW);
    if (library == NULL) FAIL("%s", dlerror());
    played_nvml *plays = dlsym(library, "culvPlayedNvml");
    REQUIRE(plays != NULL);
    *plays = (played_nvml){.total = UINT64_C(16) << 30, .used = UINT64_C(1) << 30};
    LIB_OK(culv_rdma_get_bar1(s->w.device, &b));
    REQUIRE_EQ(b.total, UINT64_C(16) << 30);
    REQUIRE_EQ(b.used, UINT64_C(1) << 30);
    REQUIRE_EQ(b.free, UINT64_C(15) << 30);
    REQUIRE_EQ(b.usable, b.free - CULV_RDMA_BAR1_RESERVE);
    REQUIRE(strcmp(plays->bus_id, lib_caps(s->w.device).pci_bus_id) == 0);
    REQUIRE(plays->inits == 1 && plays->shutdowns == 1);
    /* Nearly full. */
    plays->used = plays->total - (16 << 20);
    LIB_OK(culv_rdma_get_bar1(s->w.device, &b));
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
        LIB_FAILS(culv_rdma_get_bar1(s->w.device, &none), rows[i].result, rows[i].reason, "played");
        REQUIRE(none.total == 0 && plays->inits - plays->shutdowns == inits);
    }
    dlclose(library);
}
