/* SPDX-License-Identifier: MIT */
/* Torture of memory pools: made, exported, imported, allocated from, asked about. */
#include "pool_stage.h"
#include "torture.h"

enum { BYTES = 65536 };

static void begin(void)
{
    lib_with_option(
        "--validation=off"); /* the layer makes calls of its own, and no Vulkan is used */
}

static void share(culv_pool *pool, CUdeviceptr memory, CUstream stream)
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
    TRY_AGAIN(culv_pool_export_dup(pool, CULV_HANDLE_OPAQUE_FD, &handle),
              memcmp(&handle, &poison, sizeof handle) == 0);
    TRY_AGAIN(culv_pool_export_pointer(pool, memory, &sent),
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
    culv_pool *pool = POISON(culv_pool);
    CUdeviceptr memory = 77;
    CUstream stream = torture_open();
    culv_pool_desc d = culv_pool_desc_init();
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    d.release_threshold = 1 << 20;
    TRY_AGAIN(culv_pool_create(w->device, &d, &pool), pool == POISON(culv_pool));
    memory = pool_alloc(w, pool, BYTES, stream);
    share(pool, memory, stream);
    culv_pointer_info info = culv_pointer_info_init();
    TRY_AGAIN(culv_pointer_get_info(w->device, memory, &info), info.kind == CULV_POINTER_NONE);
    lib_pool_free(w, memory, stream);
    lib_finish(w, stream);
    DO(culv_pool_destroy(&pool));
    REQUIRE(pool == NULL);
    torture_close(stream);
}

static const torture_path path = {.begin = begin, .run = run, .least = {25, 0, 2}};
TORTURE_CASES("mem_pool", path)

/* Fabric handles of pools. */

enum { FEW = 65536 };

static void fabric_begin(void)
{
    lib_with_option("--validation=off");
    torture.w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 1);
    torture.w.cu->SoftPlayFabric(1);
}

/* With `tried` it may fall back to file descriptors; what it says to be is what it is. */
static void share_pool(culv_fabric fabric, CUstream stream)
{
    lib_world *w = &torture.w;
    culv_pool *made = POISON(culv_pool);
    culv_mem_pool *in = POISON(culv_mem_pool);
    const culv_handle none = {0};
    culv_mem_pool_pointer sent;
    CUdeviceptr at = 77, there = 77;
    culv_mem_pool_import_desc i = culv_mem_pool_import_desc_init();
    culv_pool_desc d = culv_pool_desc_init();
    d.fabric = fabric;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    d.release_threshold = 1 << 20;
    TRY_AGAIN(culv_pool_create(w->device, &d, &made), made == POISON(culv_pool));
    if (pool_info(made).handle_types & 1u << CULV_HANDLE_FABRIC) {
        TRY_AGAIN(culv_pool_export_dup(made, CULV_HANDLE_FABRIC, &i.handle),
                  memcmp(&i.handle, &none, sizeof none) == 0);
        at = pool_alloc(w, made, FEW, stream);
        TRY_AGAIN(culv_pool_export_pointer(made, at, &sent), true);
        TRY_AGAIN(culv_mem_pool_import(w->device, &i, &in), in == POISON(culv_mem_pool));
        TRY_AGAIN(culv_mem_pool_import_pointer(in, &sent, &there), there == 77);
        lib_pool_free(w, there, stream);
        lib_pool_free(w, at, stream);
        lib_finish(w, stream);
        DO(culv_mem_pool_destroy(&in));
        REQUIRE(in == NULL);
    } else if (fabric == CULV_FABRIC_REQUIRED) {
        torture_complain("a pool without the fabric handle that was required");
    }
    DO(culv_pool_destroy(&made));
    REQUIRE(made == NULL);
}

static void run_pools(void)
{
    CUstream stream = torture_open();
    share_pool(CULV_FABRIC_REQUIRED, stream);
    share_pool(CULV_FABRIC_TRY, stream);
    torture_close(stream);
}

static const torture_path pools = {.begin = fabric_begin, .run = run_pools, .least = {25, 0, 4}};
TORTURE_CASES("fabric_pools", pools)
