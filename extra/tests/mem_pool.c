/* SPDX-License-Identifier: MIT */
/* Memory pools: allocations in stream order, other processes, Vulkan, what pointers tell, and what
 * is refused. */
#define TEST_GROUP "mem_pool."
#include "cuda/device.h"
#include "pool_stage.h"
#include "sparse_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BYTES = 1 << 20, FEW = 65536 };

static culv_pool *make_pool(const sparse_stage *s, uint32_t handle_types)
{
    culv_pool_desc d = culv_pool_desc_init();
    culv_pool *pool = NULL;
    d.handle_types = handle_types;
    d.label = "pool";
    LIB_OK(culv_pool_create(s->w.device, &d, &pool));
    return pool;
}

static void write_words(const sparse_stage *s, CUdeviceptr at, uint32_t value)
{
    pool_write(&s->w, s->stream, at, BYTES / 4, value);
}

static void require_words(const sparse_stage *s, CUdeviceptr at, uint32_t value)
{
    pool_require(&s->w, s->stream, at, BYTES / 4, value);
}

/* Also while another stream is captured in the strictest mode; memory outlives its pool. */
SPARSE_CASE(life)
{
    CUdeviceptr one = 0, two = 0;
    CUstream captured;
    CUgraph graph = NULL;
    const raw_cuda *cu = s->w.cu;
    culv_pool_desc d = culv_pool_desc_init();
    culv_pool *pool = NULL;
    LIB_OK(culv_pool_create(s->w.device, &d, &pool));
    REQUIRE(pool_info(pool).native_handle != NULL && pool_info(pool).handle_types == 0);
    CUcontext before = lib_enter(&s->w);
    CU_OK(cu->StreamCreate(&captured, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->StreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
    culv_pool *second = NULL;
    LIB_OK(culv_pool_create(s->w.device, NULL, &second));
    culv_pool_destroy(&second);
    CU_OK(cu->StreamEndCapture(captured, &graph));
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->StreamDestroy(captured));
    lib_leave(&s->w, before);
    one = pool_alloc(&s->w, pool, BYTES, s->stream);
    two = pool_alloc(&s->w, pool, BYTES, s->stream);
    write_words(s, one, 0x11111111u);
    write_words(s, two, 0x22222222u);
    require_words(s, one, 0x11111111u);
    lib_pool_free(&s->w, one, s->stream);
    culv_pool_destroy(&pool);
    REQUIRE(pool == NULL);
    require_words(s, two, 0x22222222u);
    lib_pool_free(&s->w, two, s->stream);
    lib_finish(&s->w, s->stream);
}

TEST(other_process_child)
{
    const char *text = getenv("LIBRARY_POOL");
    if (text == NULL) SKIP("only as a child");
    sparse_stage s;
    culv_mem_pool_import_desc d = culv_mem_pool_import_desc_init();
    culv_mem_pool *pool = NULL;
    culv_mem_pool_pointer sent;
    CUdeviceptr memory = 0;
    int fd = -1, from = -1;
    REQUIRE(sscanf(text, "%d,%d", &fd, &from) == 2);
    REQUIRE(read(from, &sent, sizeof sent) == (ssize_t)sizeof sent);
    sparse_stage_open(&s);
    d.handle = culv_handle_opaque_fd(fd);
    lib_fd watched = lib_fd_watch(fd);
    LIB_OK(culv_mem_pool_import(s.w.device, &d, &pool));
    lib_fd_require_untouched(&watched);
    lib_fd_done(&watched, true);
    LIB_OK(culv_mem_pool_import_pointer(pool, &sent, &memory));
    require_words(&s, memory, 0x27182818u);
    write_words(&s, memory, 0x28182845u);
    culv_pointer_info info = culv_pointer_info_init();
    LIB_OK(culv_pointer_get_info(s.w.device, memory, &info));
    MEASURED("library.imported_pool_pointer",
             "kind %d, handle types %#x, memory_id %d, buffer_id %d", (int)info.kind,
             info.handle_types, info.memory_id != 0, info.buffer_id != 0);
    REQUIRE_EQ(info.kind, CULV_POINTER_POOL);
    REQUIRE_EQ(info.graphics, 0);
    lib_pool_free(&s.w, memory, s.stream);
    lib_finish(&s.w, s.stream);
    culv_mem_pool_destroy(&pool);
    s.w.fds--; /* the handle that came with the process */
    sparse_stage_close(&s);
}

SPARSE_CASE(other_process, .own = true)
{
    culv_handle handle;
    culv_mem_pool_pointer sent;
    CUdeviceptr memory = 0;
    char text[64];
    int ends[2];
    culv_pool *pool = make_pool(s, 1u << CULV_HANDLE_OPAQUE_FD);
    memory = pool_alloc(&s->w, pool, BYTES, s->stream);
    write_words(s, memory, 0x27182818u);
    /* The pool goes first. */
    memset(&sent, 0x5a, sizeof sent);
    const culv_mem_pool_pointer poison = sent;
    LIB_INVALID(culv_pool_export_pointer(pool, memory, &sent), NOT_READY,
                "culv_pool_export_dup() first");
    REQUIRE_EQ_BYTES(&sent, &poison, sizeof sent);
    LIB_OK(culv_pool_export_dup(pool, CULV_HANDLE_OPAQUE_FD, &handle));
    REQUIRE_EQ(fcntl(handle.value.fd, F_GETFD), FD_CLOEXEC);
    LIB_OK(culv_pool_export_pointer(pool, memory, &sent));
    REQUIRE(pipe(ends) == 0 && write(ends[1], &sent, sizeof sent) == (ssize_t)sizeof sent);
    REQUIRE(fcntl(handle.value.fd, F_SETFD, 0) == 0);
    snprintf(text, sizeof text, "%d,%d", handle.value.fd, ends[0]);
    REQUIRE(setenv("LIBRARY_POOL", text, 1) == 0);
    REQUIRE_EQ(test_run_child("mem_pool.other_process_child"), 0);
    require_words(s, memory, 0x28182845u);
    close(ends[0]);
    close(ends[1]);
    culv_handle_close(&handle);
    lib_pool_free(&s->w, memory, s->stream);
    lib_finish(&s->w, s->stream);
    culv_pool_destroy(&pool);
}

static void count_warnings(void *user, culv_log_level level, const char *text)
{
    (void)text;
    *(int *)user += level == CULV_LOG_WARNING;
}

/* The process may open no more files: the driver is not asked, since a pool whose export fails then
 * crashes NVIDIA's driver when it is destroyed (measured). */
SPARSE_CASE(no_fds_left, .own = true)
{
    struct rlimit before;
    culv_handle handle = {0};
    culv_device *device = NULL;
    culv_device_desc dd = culv_device_desc_init();
    int warnings = 0;
    dd.log = (culv_log){.fn = count_warnings, .user = &warnings, .level = CULV_LOG_WARNING};
    LIB_OK(culv_device_open_by_ordinal(0, &dd, &device));
    culv_pool *pool = NULL, *other = NULL, *none = POISON(culv_pool);
    culv_pool_desc d = culv_pool_desc_init();
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    d.label = "shared";
    LIB_OK(culv_pool_create(device, &d, &pool));
    LIB_OK(culv_pool_create(device, &d, &other));
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    const struct rlimit nothing = {.rlim_cur = 3, .rlim_max = before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &nothing) == 0);
    culv_result exported = culv_pool_export_dup(pool, CULV_HANDLE_OPAQUE_FD, &handle);
    culv_error e = culv_error_init();
    culv_last_error(&e);
    culv_error made = culv_error_init();
    if (s->w.cu->software) { /* a pool's file is made with it */
        REQUIRE_EQ(culv_pool_create(s->w.device, &d, &none), CULV_ERROR_INVALID);
        culv_last_error(&made);
        REQUIRE_EQ(made.reason, CULV_REASON_OS);
    }
    culv_pool_destroy(&other); /* needs no file descriptor */
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    REQUIRE_EQ(exported, CULV_ERROR_INVALID);
    REQUIRE(e.reason == CULV_REASON_OS && e.native_api == CULV_NATIVE_OS &&
            e.native_code == EMFILE);
    REQUIRE_EQ(handle.type, CULV_HANDLE_NONE);
    REQUIRE(other == NULL);
    /* The pool is whole: it can be exported now, and goes like any other. */
    LIB_OK(culv_pool_export_dup(pool, CULV_HANDLE_OPAQUE_FD, &handle));
    culv_handle_close(&handle);
    culv_pool_destroy(&pool);
    REQUIRE_EQ(culv_device_collect(device), 0);
    REQUIRE_EQ(warnings, 0);
    /* Another thread may take the last one in between. */
    if (s->w.cu->software) {
        LIB_OK(culv_pool_create(device, &d, &pool));
        for (uint64_t n = 1; n < 16; n++) {
            s->w.cu->SoftFailAt(n, CUDA_ERROR_OPERATING_SYSTEM);
            exported = culv_pool_export_dup(pool, CULV_HANDLE_OPAQUE_FD, &handle);
            const char *call = s->w.cu->SoftFailedCall();
            if (call != NULL && strcmp(call, "cuMemPoolExportToShareableHandle") == 0) break;
            if (exported == CULV_OK) culv_handle_close(&handle);
        }
        s->w.cu->SoftFailAt(0, CUDA_SUCCESS);
        REQUIRE(exported != CULV_OK);
        CUmemoryPool native = pool_info(pool).native_handle;
        culv_pool_destroy(&pool);
        REQUIRE(pool == NULL && culv_device_collect(device) == 0);
        REQUIRE_EQ(warnings, 0);
        PFN_cuMemPoolDestroy_v11020 cuMemPoolDestroy;
        CUdriverProcAddressQueryResult status;
        void *address = NULL;
        REQUIRE_EQ(s->w.cu->GetProcAddress("cuMemPoolDestroy", &address, 11020, 0, &status),
                   CUDA_SUCCESS);
        memcpy(&cuMemPoolDestroy, &address, sizeof address);
        CU_OK(cuMemPoolDestroy(native)); /* it was left there: the twin only played the failure */
    }
    culv_device_close(&device);
}

/* A pool's handle is none of an allocation. */
TEST(vulkan_takes_none)
{
    lib_world w;
    culv_handle handle;
    lib_open(&w);
    const sparse_stage s = {.w = w};
    culv_pool *pool = make_pool(&s, 1u << CULV_HANDLE_OPAQUE_FD);
    LIB_OK(culv_pool_export_dup(pool, CULV_HANDLE_OPAQUE_FD, &handle));
    raw_vk_buffer usual = lib_case_buffer(&w, BYTES, RAW_VK_EXPORT);
    lib_fd watched = lib_fd_watch(handle.value.fd);
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    VkDeviceMemory memory = VK_NULL_HANDLE;
    d.handle = handle;
    d.size = BYTES;
    d.buffer = usual.buffer;
    culv_result r = culv_vk_memory_from_handle(w.attachment, &d, &memory);
    MEASURED("library.pool_into_vulkan", "%s: %s", culv_result_name(r), culv_last_error_message());
    REQUIRE(r != CULV_OK && memory == VK_NULL_HANDLE);
    lib_fd_require_untouched(&watched);
    lib_fd_done(&watched, false);
    culv_handle_close(&handle);
    culv_pool_destroy(&pool);
    lib_close(&w);
}

/* What pointers tell --------------------------------------------------------------------------- */

static culv_pointer_info told(const sparse_stage *s, const char *what, CUdeviceptr pointer)
{
    culv_pointer_info info = culv_pointer_info_init();
    LIB_OK(culv_pointer_get_info(s->w.device, pointer, &info));
    printf("%s: %s\n", what, info.reason_text);
    MEASURED(
        "library.pointer_info",
        "%s: kind %d, handle types %#x, range of %llu, mapping of %llu, memory_id %s, buffer_id %s, ipc %u, rdma %u",
        what, (int)info.kind, info.handle_types, (unsigned long long)info.range_size,
        (unsigned long long)info.mapping_size, info.memory_id != 0 ? "told" : "0",
        info.buffer_id != 0 ? "told" : "0", info.ipc, info.rdma);
    REQUIRE(info.reason_text[0] != '\0' && strlen(info.reason_text) < sizeof info.reason_text - 1);
    return info;
}

static culv_vmm_allocation *allocate(const sparse_stage *s, uint32_t handle_types)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    culv_vmm_allocation *allocation = NULL;
    d.size = 2 << 20;
    d.handle_types = handle_types;
    LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &allocation));
    return allocation;
}

/* One range: an allocation that can be exported, twice, one that cannot, an import, nothing. */
SPARSE_CASE(pointers_vmm)
{
    const uint32_t fd_bit = 1u << CULV_HANDLE_OPAQUE_FD, dma_bit = 1u << CULV_HANDLE_DMA_BUF_FD;
    enum { CHUNK = 2 << 20 };
    culv_vmm_range *range = NULL;
    culv_vmm_allocation *imported = NULL;
    culv_handle handle;
    culv_vmm_range_desc rd = culv_vmm_range_desc_init();
    rd.size = 5 * CHUNK;
    LIB_OK(culv_vmm_range_create(s->w.device, &rd, &range));
    culv_vmm_allocation *open = allocate(s, fd_bit), *closed = allocate(s, 0);
    culv_vmm_import_desc id = culv_vmm_import_desc_init();
    LIB_OK(culv_vmm_export_dup(open, CULV_HANDLE_OPAQUE_FD, &handle));
    id.handle = handle;
    id.size = CHUNK;
    LIB_TAKE(culv_vmm_import(s->w.device, &id, &imported), &id.handle);
    culv_vmm_allocation *const by_place[] = {open, open, closed, imported};
    for (uint64_t i = 0; i < 4; i++)
        LIB_OK(culv_vmm_map(range, i * CHUNK, by_place[i], NULL, 0));
    const CUdeviceptr base = culv_vmm_range_pointer(range);
    culv_pointer_info info[5];
    static const char *const names[] = {"VMM, exportable", "the same, mapped again",
                                        "VMM, not exportable", "VMM, imported",
                                        "VMM, nothing mapped"};
    for (uint64_t i = 0; i < 5; i++)
        info[i] = told(s, names[i], base + i * CHUNK + 4096);
    for (uint64_t i = 0; i < 4; i++) {
        REQUIRE_EQ(info[i].kind, CULV_POINTER_VMM);
        if (i < 3 || s->w.cu->software) { /* of an import NVIDIA's driver is only asked */
            REQUIRE_EQ(info[i].handle_types & ~dma_bit, i < 2 ? fd_bit : 0);
            REQUIRE_EQ(info[i].graphics, i < 2);
        }
        REQUIRE_EQ(info[i].device, 0);
        REQUIRE_EQ(info[i].range_start, base);
        REQUIRE_EQ(info[i].range_size, 5 * CHUNK);
        REQUIRE_EQ(info[i].mapping_start, base + i * CHUNK);
        REQUIRE_EQ(info[i].mapping_size, CHUNK);
        REQUIRE(info[i].pool == NULL && info[i].memory_id != 0 && info[i].buffer_id != 0);
    }
    REQUIRE_EQ(info[0].memory_id, info[1].memory_id);
    REQUIRE(info[0].buffer_id != info[1].buffer_id);
    REQUIRE(info[2].memory_id != info[0].memory_id);
    MEASURED("library.memory_id_of_an_import", "%s",
             info[3].memory_id == info[0].memory_id ? "the exporter's" : "another");
    REQUIRE_EQ(info[4].kind, CULV_POINTER_NONE);
    REQUIRE_EQ(info[4].device, -1);
    REQUIRE(info[4].memory_id == 0 && info[4].handle_types == 0);
    LIB_OK(culv_vmm_unmap(range, 0, 4 * CHUNK, NULL));
    culv_vmm_allocation_destroy(&open);
    culv_vmm_allocation_destroy(&closed);
    culv_vmm_allocation_destroy(&imported);
    LIB_OK(culv_vmm_range_destroy(&range));
}

/* A pool's, whether it exports or not. pointer.* look at memory of other kinds. */
SPARSE_CASE(pointers)
{
    for (uint32_t exports = 0; exports < 2; exports++) {
        culv_handle handle;
        culv_pool *pool = make_pool(s, exports << CULV_HANDLE_OPAQUE_FD);
        if (exports) LIB_OK(culv_pool_export_dup(pool, CULV_HANDLE_OPAQUE_FD, &handle));
        if (exports) culv_handle_close(&handle);
        CUdeviceptr memory = pool_alloc(&s->w, pool, BYTES, s->stream);
        lib_finish(&s->w, s->stream);
        const culv_pointer_info info =
            told(s, exports ? "pool, exportable" : "pool, not exportable", memory);
        REQUIRE(info.kind == CULV_POINTER_POOL && info.graphics == 0);
        REQUIRE(info.pool == pool_info(pool).native_handle);
        REQUIRE(exports || info.handle_types == 0);
        lib_pool_free(&s->w, memory, s->stream);
        lib_finish(&s->w, s->stream);
        culv_pool_destroy(&pool);
    }
}

/* What is refused ------------------------------------------------------------------------------ */

#undef TEST_GROUP
#define TEST_GROUP "mem_pool_refused."

SPARSE_CASE(pools)
{
    const raw_cuda *cu = s->w.cu;
    culv_pool *pool;
    culv_pool_desc d = culv_pool_desc_init();
#define ROW(change, ...)                                                                           \
    SPOILT(d, change, LIB_REFUSES(pool, culv_pool_create(s->w.device, &d, &pool), __VA_ARGS__))
    ROW(d.struct_size = 0, INVALID, STRUCT_SIZE);
    ROW(d.handle_types = 1u << CULV_HANDLE_DMA_BUF_FD, INVALID, HANDLE_TYPE);
    ROW(d.handle_types = 1u << 31, INVALID, HANDLE_TYPE);
    ROW(d.handle_types = 1u << CULV_HANDLE_OPAQUE_WIN32, UNSUPPORTED, HANDLE_TYPE);
    if (cu->SoftPlayAttribute != NULL) { /* a device of another kind */
        cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0);
        LIB_REFUSES(pool, culv_pool_create(s->w.device, &d, &pool), UNSUPPORTED, VMM);
        cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1);
        cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0);
        ROW(d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD, UNSUPPORTED, HANDLE_TYPE,
            "MEMPOOL_SUPPORTED_HANDLE_TYPES");
        cu->SoftPlayAttribute(0, 0);
    }
#undef ROW
    culv_pool_destroy(NULL);
}

SPARSE_CASE(allocations)
{
    culv_pool *pool = make_pool(s, 0), *open = make_pool(s, 1u << CULV_HANDLE_OPAQUE_FD);
    CUdeviceptr memory = 0, of_open = 0, none = 77;
    culv_mem_pool_pointer sent;
    culv_handle handle, poison;
    memory = pool_alloc(&s->w, pool, FEW, s->stream);
    of_open = pool_alloc(&s->w, open, FEW, s->stream);
    memset(&poison, 0x5a, sizeof poison);
    handle = poison;
    LIB_INVALID(culv_pool_export_dup(pool, CULV_HANDLE_OPAQUE_FD, &handle), NOT_EXPORTABLE);
    LIB_INVALID(culv_pool_export_dup(open, CULV_HANDLE_DMA_BUF_FD, &handle), HANDLE_TYPE);
    LIB_ERROR(culv_pool_export_dup(open, CULV_HANDLE_OPAQUE_WIN32, &handle), UNSUPPORTED,
              HANDLE_TYPE);
    LIB_INVALID(culv_pool_export_dup(open, (culv_handle_type)99, &handle), HANDLE_TYPE);
    REQUIRE_EQ_BYTES(&handle, &poison, sizeof handle);
    LIB_INVALID(culv_pool_export_pointer(open, 0, &sent), NULL_ARGUMENT);
    LIB_INVALID(culv_pool_export_pointer(pool, memory, &sent), NOT_EXPORTABLE);
    LIB_INVALID(culv_pool_export_pointer(open, of_open, &sent), NOT_READY);
    LIB_OK(culv_pool_export_dup(open, CULV_HANDLE_OPAQUE_FD, &handle));
    LIB_INVALID(culv_pool_export_pointer(open, memory, &sent), VALUE, "of another pool");
    CUcontext before = lib_enter(&s->w);
    CUdeviceptr plain = 0;
    const raw_cuda *cu = s->w.cu;
    CU_OK(cu->MemAlloc(&plain, FEW));
    lib_leave(&s->w, before);
    LIB_INVALID(culv_pool_export_pointer(open, plain, &sent), VALUE, "not memory of a pool");
    LIB_CU_OK(&s->w, cu->MemFree(plain));
    /* Data of nothing. */
    culv_mem_pool_import_desc id = culv_mem_pool_import_desc_init();
    culv_mem_pool *imported = NULL;
    id.handle = handle;
    culv_result r = culv_mem_pool_import(s->w.device, &id, &imported);
    MEASURED("library.pool_of_this_process", "%s",
             r == CULV_OK ? "imported" : culv_last_error_message());
    if (s->w.cu->software) LIB_OK(r);
    if (r == CULV_OK) {
        memset(&sent, 0x77, sizeof sent);
        r = culv_mem_pool_import_pointer(imported, &sent, &none);
        MEASURED("library.pool_pointer_of_nothing", "%s: %s", culv_result_name(r),
                 culv_last_error_message());
        if (s->w.cu->software)
            LIB_ERROR(culv_mem_pool_import_pointer(imported, &sent, &none), DRIVER, HANDLE_REFUSED);
        REQUIRE(r != CULV_OK && none == 77);
        culv_mem_pool_destroy(&imported);
    }
    culv_handle_close(&handle);
    culv_pointer_info info = culv_pointer_info_init();
    info.struct_size = 0;
    LIB_INVALID(culv_pointer_get_info(s->w.device, memory, &info), STRUCT_SIZE);
    lib_pool_free(&s->w, memory, s->stream);
    lib_pool_free(&s->w, of_open, s->stream);
    lib_finish(&s->w, s->stream);
    culv_pool_destroy(&pool);
    culv_pool_destroy(&open);
}

SPARSE_CASE(imports)
{
    culv_mem_pool *pool;
    culv_mem_pool_import_desc d = culv_mem_pool_import_desc_init();
    int ends[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
    REQUIRE(pipe(ends) == 0 && null >= 0);
    lib_fd watched = lib_fd_watch(null);
#define ROW(change, ...)                                                                           \
    SPOILT(d, change, LIB_REFUSES(pool, culv_mem_pool_import(s->w.device, &d, &pool), __VA_ARGS__))
    LIB_REFUSES(pool, culv_mem_pool_import(s->w.device, &d, &pool), INVALID, HANDLE_TYPE);
    ROW(d.handle = culv_handle_opaque_fd(-1), INVALID, HANDLE_BAD);
    ROW(d.handle = culv_handle_opaque_win32(&d), UNSUPPORTED, HANDLE_TYPE);
    ROW(d.handle = culv_handle_dma_buf_fd(0), INVALID, HANDLE_TYPE);
    ROW(d.handle = culv_handle_opaque_fd(ends[0]), INVALID, HANDLE_KIND);
    ROW(d.handle = culv_handle_opaque_fd(null), DRIVER, HANDLE_REFUSED);
    lib_fd_require_untouched(&watched);
    /* A driver of another age. */
    culvi_cuda *cuda = s->w.device->cuda;
    d.handle = culv_handle_opaque_fd(null);
    SPOILT(cuda->cuMemPoolImportPointer, cuda->cuMemPoolImportPointer = NULL,
           LIB_REFUSES(pool, culv_mem_pool_import(s->w.device, &d, &pool), UNSUPPORTED,
                       DRIVER_TOO_OLD));
#undef ROW
    lib_fd_done(&watched, true);
    close(ends[0]);
    close(ends[1]);
    culv_mem_pool_destroy(NULL);
}
