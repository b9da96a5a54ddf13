/* SPDX-License-Identifier: MIT */
/* A registration that two threads ask for at once, with the other one in each gap of a look-up. */
#include "gaps.h"

#include "culvert/extra/rdma_cache.h"

#include <stdatomic.h>

static struct {
    lib_world w;
    CUdeviceptr memory;
    culv_rdma_cache *cache;
    culv_rdma_registration *registration[2];
    atomic_uint pins;
} s;

static void open_world(void)
{
    memset(&s, 0, sizeof s);
    lib_open(&s.w);
}

static void close_world(void)
{
    lib_close(&s.w);
}

static culv_result pin(void *user, const culv_rdma_range *range, void **cookie)
{
    (void)range;
    (void)user;
    *cookie = (void *)(uintptr_t)(atomic_fetch_add(&s.pins, 1) + 1);
    return CULV_OK;
}

static void unpin(void *user, const culv_rdma_range *range, void *cookie, culv_rdma_unpin_why why)
{
    (void)user;
    (void)range;
    (void)cookie;
    (void)why;
    atomic_fetch_sub(&s.pins, 1);
}

static void make_cache(void)
{
    culv_rdma_cache_desc d = culv_rdma_cache_desc_init();
    d.pin = pin;
    d.unpin = unpin;
    d.no_sync_memops = 1;
    if (s.w.cu->software)
        s.w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 1);
    LIB_OK(culv_rdma_cache_create(s.w.device, &d, &s.cache));
    LIB_CU_OK(&s.w, s.w.cu->MemAlloc(&s.memory, 2 << 20));
}

static void get_registration(int who)
{
    LIB_OK(culv_rdma_cache_get(s.cache, s.memory + 100, 70001, &s.registration[who]));
}

static void one_pin(void)
{
    REQUIRE_EQ(atomic_load(&s.pins), 1);
    REQUIRE(s.registration[0] == s.registration[1]);
    for (int i = 0; i < 2; i++)
        culv_rdma_registration_put(&s.registration[i]);
    culv_rdma_cache_destroy(&s.cache);
    REQUIRE_EQ(atomic_load(&s.pins), 0);
    LIB_CU_OK(&s.w, s.w.cu->MemFree(s.memory));
    if (s.w.cu->software) s.w.cu->SoftPlayAttribute(0, 0);
}

static const gaps_path registrations = {.open = open_world,
                                        .begin = make_cache,
                                        .act = get_registration,
                                        .judge = one_pin,
                                        .close = close_world,
                                        .least = {1, 0}};
TEST_AS(registrations_in_gaps, gaps_all(&registrations), .title = "registrations",
        .time_limit = 300, .own = true)
