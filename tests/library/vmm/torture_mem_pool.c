/* SPDX-License-Identifier: MIT */
/* Torture of memory pools: made, exported, imported, allocated from, asked about. */
#include "torture.h"

enum { BYTES = 65536 };

static void begin(void)
{
    lib_with_option(
        "--validation=off"); /* the layer makes calls of its own, and no Vulkan is used */
}

static void share(culv_mem_pool *pool, CUdeviceptr memory, CUstream stream)
{
    lib_world *w = &torture.w;
    culv_handle handle, poison;
    culv_mem_pool *borrowed = POISON(culv_mem_pool);
    culv_mem_pool_pointer sent;
    CUdeviceptr there = 77;
    memset(&poison, 0x5a, sizeof poison);
    memset(&sent, 0x5a, sizeof sent);
    const culv_mem_pool_pointer unsent = sent;
    handle = poison;
    TRY_AGAIN(culv_mem_pool_export_dup(pool, CULV_HANDLE_OPAQUE_FD, &handle),
              memcmp(&handle, &poison, sizeof handle) == 0);
    TRY_AGAIN(culv_mem_pool_export_pointer(pool, memory, &sent),
              memcmp(&sent, &unsent, sizeof sent) == 0);
    culv_mem_pool_import_desc d = culv_mem_pool_import_desc_init();
    d.handle = handle;
    lib_fd watched = lib_fd_watch(handle.value.fd);
    TRY_AGAIN(culv_mem_pool_import(w->device, &d, &borrowed), borrowed == POISON(culv_mem_pool));
    lib_fd_require_untouched(&watched);
    lib_fd_done(&watched, true);
    TRY_AGAIN(culv_mem_pool_import_pointer(borrowed, &sent, &there), there == 77);
    lib_pool_free(w, there, stream);
    lib_finish(w, stream);
    DO(culv_mem_pool_destroy(&borrowed));
}

static void run(void)
{
    lib_world *w = &torture.w;
    culv_mem_pool *pool = POISON(culv_mem_pool);
    CUdeviceptr memory = 77;
    CUstream stream = torture_open();
    culv_mem_pool_desc d = culv_mem_pool_desc_init();
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    d.release_threshold = 1 << 20;
    TRY_AGAIN(culv_mem_pool_create(w->device, &d, &pool), pool == POISON(culv_mem_pool));
    memory = lib_pool_alloc(w, pool, BYTES, stream);
    share(pool, memory, stream);
    culv_pointer_info info = culv_pointer_info_init();
    TRY_AGAIN(culv_pointer_get_info(w->device, memory, &info), info.kind == CULV_POINTER_NONE);
    lib_pool_free(w, memory, stream);
    lib_finish(w, stream);
    DO(culv_mem_pool_destroy(&pool));
    REQUIRE(pool == NULL);
    torture_close(stream);
}

static const torture_path path = {.begin = begin, .run = run, .least = {25, 0, 2}};
TORTURE_CASES("mem_pool", path)
