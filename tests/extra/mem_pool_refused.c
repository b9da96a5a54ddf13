/* SPDX-License-Identifier: MIT */
/* Memory pools: what is refused. */
#define TEST_GROUP "mem_pool_refused."
#include "cuda/device.h"
#include "pool_stage.h"
#include "sparse_stage.h"

#include <fcntl.h>
#include <unistd.h>

enum { BYTES = 65536 };

static void refuse(const sparse_stage *s, const culv_pool_desc *d, culv_result class,
                   culv_reason reason)
{
    culv_pool *pool;
    LIB_REFUSES_AS(pool, culv_pool_create(s->w.device, d, &pool), class, reason);
}

SPARSE_CASE(pools)
{
    culv_pool_desc d = culv_pool_desc_init();
    d.struct_size = 0;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_STRUCT_SIZE);
    d = culv_pool_desc_init();
    d.handle_types = 1u << CULV_HANDLE_DMA_BUF_FD;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE);
    d.handle_types = 1u << 31;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE);
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_WIN32;
    refuse(s, &d, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE);
    d = culv_pool_desc_init();
    d.security_attributes = &d;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_VALUE);
    /* A device of another kind. */
    d = culv_pool_desc_init();
    if (s->w.cu->SoftPlayAttribute != NULL) {
        s->w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0);
        refuse(s, &d, CULV_ERROR_UNSUPPORTED, CULV_REASON_VMM);
        s->w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1);
        s->w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0);
        d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
        refuse(s, &d, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE);
        LIB_SAYS("MEMPOOL_SUPPORTED_HANDLE_TYPES");
        s->w.cu->SoftPlayAttribute(0, 0);
    }
    culv_pool_destroy(NULL);
}

TEST(allocations)
{
    sparse_stage s;
    culv_pool *pool = NULL, *open = NULL;
    CUdeviceptr memory = 0, of_open = 0, none = 77;
    culv_mem_pool_pointer sent;
    culv_handle handle, poison;
    sparse_stage_open(&s);
    culv_pool_desc d = culv_pool_desc_init();
    LIB_OK(culv_pool_create(s.w.device, &d, &pool));
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    LIB_OK(culv_pool_create(s.w.device, &d, &open));
    memory = pool_alloc(&s.w, pool, BYTES, s.stream);
    of_open = pool_alloc(&s.w, open, BYTES, s.stream);
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
    CUcontext before = lib_enter(&s.w);
    CUdeviceptr plain = 0;
    const raw_cuda *cu = s.w.cu;
    CU_OK(cu->MemAlloc(&plain, BYTES));
    lib_leave(&s.w, before);
    LIB_INVALID(culv_pool_export_pointer(open, plain, &sent), VALUE, "not memory of a pool");
    LIB_CU_OK(&s.w, cu->MemFree(plain));
    /* Data of nothing. */
    culv_mem_pool_import_desc id = culv_mem_pool_import_desc_init();
    culv_mem_pool *imported = NULL;
    id.handle = handle;
    culv_result r = culv_mem_pool_import(s.w.device, &id, &imported);
    MEASURED("library.pool_of_this_process", "%s",
             r == CULV_OK ? "imported" : culv_last_error_message());
    if (s.w.cu->software) LIB_OK(r);
    if (r == CULV_OK) {
        memset(&sent, 0x77, sizeof sent);
        r = culv_mem_pool_import_pointer(imported, &sent, &none);
        MEASURED("library.pool_pointer_of_nothing", "%s: %s", culv_result_name(r),
                 culv_last_error_message());
        if (s.w.cu->software)
            LIB_ERROR(culv_mem_pool_import_pointer(imported, &sent, &none), DRIVER, HANDLE_REFUSED);
        REQUIRE(r != CULV_OK && none == 77);
        culv_mem_pool_destroy(&imported);
    }
    culv_handle_close(&handle);
    culv_pointer_info info = culv_pointer_info_init();
    info.struct_size = 0;
    LIB_INVALID(culv_pointer_get_info(s.w.device, memory, &info), STRUCT_SIZE);
    lib_pool_free(&s.w, memory, s.stream);
    lib_pool_free(&s.w, of_open, s.stream);
    lib_finish(&s.w, s.stream);
    culv_pool_destroy(&pool);
    culv_pool_destroy(&open);
    sparse_stage_close(&s);
}

SPARSE_CASE(imports)
{
    culv_mem_pool *pool;
    culv_mem_pool_import_desc d = culv_mem_pool_import_desc_init();
    LIB_REFUSES(pool, culv_mem_pool_import(s->w.device, &d, &pool), INVALID, HANDLE_TYPE);
    d.handle = culv_handle_opaque_fd(-1);
    LIB_REFUSES(pool, culv_mem_pool_import(s->w.device, &d, &pool), INVALID, HANDLE_BAD);
    d.handle = culv_handle_opaque_win32(&d);
    LIB_REFUSES(pool, culv_mem_pool_import(s->w.device, &d, &pool), UNSUPPORTED, HANDLE_TYPE);
    d.handle = culv_handle_dma_buf_fd(0);
    LIB_REFUSES(pool, culv_mem_pool_import(s->w.device, &d, &pool), INVALID, HANDLE_TYPE);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    d.handle = culv_handle_opaque_fd(ends[0]);
    LIB_REFUSES(pool, culv_mem_pool_import(s->w.device, &d, &pool), INVALID, HANDLE_KIND);
    close(ends[0]);
    close(ends[1]);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    REQUIRE(null >= 0);
    lib_fd watched = lib_fd_watch(null);
    d.handle = culv_handle_opaque_fd(null);
    LIB_REFUSES(pool, culv_mem_pool_import(s->w.device, &d, &pool), DRIVER, HANDLE_REFUSED);
    lib_fd_require_untouched(&watched);
    lib_fd_done(&watched, true);
    /* A driver of another age. */
    culvi_cuda *cuda = s->w.device->cuda;
    const culvi_cuda kept = *cuda;
    cuda->cuMemPoolImportPointer = NULL;
    LIB_REFUSES(pool, culv_mem_pool_import(s->w.device, &d, &pool), UNSUPPORTED, DRIVER_TOO_OLD);
    cuda->cuMemPoolImportPointer = kept.cuMemPoolImportPointer;
    culv_mem_pool_destroy(NULL);
}
