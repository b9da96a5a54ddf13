/* SPDX-License-Identifier: MIT */
/* Torture of sparse arrays: made, mapped by region, batch and tail, unmapped, destroyed. */
#include "sparse_stage.h"
#include "torture.h"

enum { BINDS = 12 }; /* more than fit on the stack */

static void begin(void)
{
    lib_with_option(
        "--validation=off"); /* the layer makes calls of its own, and no Vulkan is used */
}

static void bind(culv_sparse_array *array, culv_sparse_array *mipmap, culv_vmm_allocation *pool,
                 CUstream stream)
{
    culv_sparse_bind binds[BINDS];
    const culv_sparse_region all = {0};
    memset(binds, 0, sizeof binds);
    for (uint32_t i = 0; i < BINDS; i++)
        binds[i] =
            (culv_sparse_bind){.array = i % 2 == 0 ? array : mipmap,
                               .region = {.x = i / 2 % 2 * 128, .width = 128, .height = 128},
                               .pool = i < 8 ? pool : NULL,
                               .pool_offset = i < 8 ? i * (uint64_t)CULV_SPARSE_TILE_BYTES : 0};
    TRY_AGAIN(sparse_map(array, &all, pool, 0, stream), true);
    TRY_AGAIN(sparse_map_tail(mipmap, 0, pool, 4 * CULV_SPARSE_TILE_BYTES, stream), true);
    TRY_AGAIN(culv_sparse_bind_batch(binds, BINDS, stream), true);
    TRY_AGAIN(sparse_map(array, &all, NULL, 0, stream), true);
    TRY_AGAIN(sparse_map_tail(mipmap, 0, NULL, 0, stream), true);
}

static void run(void)
{
    lib_world *w = &torture.w;
    culv_sparse_array *array = POISON(culv_sparse_array), *mipmap = POISON(culv_sparse_array);
    culv_vmm_allocation *pool = NULL;
    CUarray level = NULL;
    CUstream stream = torture_open();
    culv_vmm_allocation_desc pd = culv_vmm_allocation_desc_init();
    pd.size = 32 * CULV_SPARSE_TILE_BYTES;
    pd.usage = CULV_VMM_USAGE_TILE_POOL;
    LIB_OK(culv_vmm_allocation_create(w->device, &pd, &pool));
    culv_sparse_array_desc d = culv_sparse_array_desc_init();
    d.format = CULV_FORMAT_R32_UINT;
    d.width = d.height = 256;
    d.label = "tortured";
    TRY_AGAIN(culv_sparse_array_create(w->device, &d, &array), array == POISON(culv_sparse_array));
    d.mip_levels = 4;
    TRY_AGAIN(culv_sparse_array_create(w->device, &d, &mipmap),
              mipmap == POISON(culv_sparse_array));
    bind(array, mipmap, pool, stream);
    TRY_AGAIN(culv_sparse_array_get_level(mipmap, 3, &level), level == NULL);
    lib_finish(w, stream);
    DO(culv_sparse_array_destroy(&array, &stream));
    DO(culv_sparse_array_destroy(&mipmap, NULL));
    REQUIRE(array == NULL && mipmap == NULL);
    culv_vmm_allocation_destroy(&pool);
    torture_close(stream);
}

static const torture_path path = {.begin = begin, .run = run, .least = {20, 0, 3}};
TORTURE_CASES("sparse", path)
