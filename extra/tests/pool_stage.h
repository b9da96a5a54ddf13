/* SPDX-License-Identifier: MIT */
/* Memory pools of this process, in tests. */
#ifndef CULVERT_TESTS_POOL_STAGE_H_
#define CULVERT_TESTS_POOL_STAGE_H_

#include "library.h"

#include "culvert/extra/mem_pool.h"

static inline culv_pool_info pool_info(const culv_pool *pool)
{
    culv_pool_info info = culv_pool_info_init();
    LIB_OK(culv_pool_get_info(pool, &info));
    return info;
}

static inline CUdeviceptr pool_alloc(const lib_world *w, const culv_pool *pool, size_t size,
                                     CUstream stream)
{
    return lib_pool_alloc(w, pool_info(pool).native_handle, size, stream);
}

static inline void pool_write(const lib_world *w, CUstream stream, CUdeviceptr at, uint32_t words,
                              uint32_t value)
{
    LIB_CU_OK(w, w->cu->MemsetD32Async(at, value, words, stream));
    lib_finish(w, stream);
}

static inline void pool_require(const lib_world *w, CUstream stream, CUdeviceptr at, uint32_t words,
                                uint32_t value)
{
    uint32_t *got = malloc((size_t)words * 4);
    REQUIRE(got != NULL);
    LIB_CU_OK(w, w->cu->MemcpyDtoHAsync(got, at, (size_t)words * 4, stream));
    lib_finish(w, stream);
    for (uint32_t i = 0; i < words; i++)
        REQUIRE_EQ(got[i], value);
    free(got);
}

#endif
