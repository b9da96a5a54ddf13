/* SPDX-License-Identifier: MIT */
/* Torture of RDMA: pointers, dma-bufs, the registration cache, and memory of all three. What was
 * registered before a failure can still be looked up after it, and everything is unpinned in the
 * end. */
#include "torture.h"

#include "culvert/extra/rdma_cache.h"
#include "culvert/extra/vulkan_rdma.h"

enum { BYTES = 1 << 20 };

static void begin(void)
{
    const raw_cuda *cu = lib_driver();
    if (!cu->software) SKIP("failures are the twin's");
    cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 1);
    cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 1);
    cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, 1);
    cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 1);
}

static unsigned pinned;

static culv_result pin(void *user, const culv_rdma_range *range, void **cookie)
{
    (void)range;
    *cookie = user;
    pinned++;
    return CULV_OK;
}

static void unpin(void *user, const culv_rdma_range *range, void *cookie, culv_rdma_unpin_why why)
{
    (void)range;
    (void)why;
    REQUIRE(cookie == user && pinned > 0);
    pinned--;
}

static void pointers(CUdeviceptr p, CUdeviceptr vmm)
{
    culv_device *device = torture.w.device;
    culv_rdma_info info = culv_rdma_info_init();
    culv_rdma_tokens tokens = culv_rdma_tokens_init();
    culv_rdma_caps caps = culv_rdma_caps_init();
    culv_rdma_dma_buf dma_buf = culv_rdma_dma_buf_init();
    culv_rdma_sync sync = CULV_RDMA_SYNC_FORCE32;
    TRY_AGAIN(culv_rdma_get_info(device, p, &info), info.kind == CULV_POINTER_NONE);
    TRY_AGAIN(culv_rdma_check_range(device, p, BYTES), true);
    TRY_AGAIN(culv_rdma_get_tokens(device, p, &tokens), tokens.p2p_token == 0);
    TRY_AGAIN(culv_rdma_get_caps(device, &caps), !caps.supported);
    TRY_AGAIN(culv_rdma_flush_writes(device, CULV_RDMA_ORDERING_OWNER), true);
    TRY_AGAIN(culv_rdma_set_sync_memops(device, vmm, 1, &sync), sync == CULV_RDMA_SYNC_FORCE32);
    TRY_AGAIN(culv_rdma_dma_buf_export_dup(device, p + 5, 100, CULV_DMA_BUF_PCIE, &dma_buf),
              dma_buf.handle.type == CULV_HANDLE_NONE);
    culv_handle_close(&dma_buf.handle);
}

static void registrations(culv_rdma_cache *cache, CUdeviceptr p)
{
    culv_rdma_registration *one = POISON(culv_rdma_registration);
    culv_rdma_registration *two = POISON(culv_rdma_registration);
    culv_rdma_registration *three = POISON(culv_rdma_registration);
    TRY_AGAIN(culv_rdma_cache_get(cache, p, 100, &one), one == POISON(culv_rdma_registration));
    TRY_AGAIN(culv_rdma_cache_get(cache, p, 10, &two), two == POISON(culv_rdma_registration));
    REQUIRE(pinned >= 1); /* a driver that knows no id any more says that it was freed */
    /* A larger one, which fails and leaves the smaller one as it was. */
    TRY_AGAIN(culv_rdma_cache_get(cache, p, BYTES / 2, &three),
              three == POISON(culv_rdma_registration));
    DO(culv_rdma_registration_put(&one));
    DO(culv_rdma_registration_put(&two));
    REQUIRE(pinned == 1); /* the larger one alone */
    TRY_AGAIN(culv_rdma_cache_invalidate(cache, p, BYTES), true);
    DO(culv_rdma_registration_put(&three));
    REQUIRE(pinned == 0);
    TRY_AGAIN(culv_rdma_cache_get(cache, p + BYTES / 2, 1, &one), one == NULL);
    DO(culv_rdma_registration_put(&one));
}

static void grow(culv_vk_rdma_buffer *buffer)
{
    culv_vk_rdma_part parts[4];
    size_t count = 0;
    TRY_AGAIN(culv_vk_rdma_buffer_grow(buffer, 4 << 20),
              culv_vk_rdma_buffer_size(buffer) == 2 << 20 &&
                  culv_vk_rdma_buffer_get_parts(buffer, parts, 4, &count) == CULV_OK && count == 1);
    LIB_OK(culv_vk_rdma_buffer_get_parts(buffer, parts, 4, &count));
    REQUIRE_EQ(count, 2);
}

static void run(void)
{
    lib_world *w = &torture.w;
    culv_rdma_cache *cache = POISON(culv_rdma_cache);
    culv_vk_rdma_buffer *buffer = POISON(culv_vk_rdma_buffer);
    CUdeviceptr p = 0;
    CUstream stream = torture_open();
    LIB_CU_OK(w, w->cu->MemAlloc(&p, BYTES));
    culv_vk_rdma_buffer_desc d = culv_vk_rdma_buffer_desc_init();
    d.size = d.max_part = 2 << 20;
    d.reserve = 16 << 20;
    d.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    TRY_AGAIN(culv_vk_rdma_buffer_create(w->device, w->attachment, &d, &buffer),
              buffer == POISON(culv_vk_rdma_buffer));
    pointers(p, culv_vk_rdma_buffer_pointer(buffer));
    grow(buffer);
    culv_rdma_cache_desc cd = culv_rdma_cache_desc_init();
    cd.pin = pin;
    cd.unpin = unpin;
    cd.exact_ranges = 1;
    TRY_AGAIN(culv_rdma_cache_create(w->device, &cd, &cache), cache == POISON(culv_rdma_cache));
    registrations(cache, p);
    DO(culv_rdma_cache_destroy(&cache));
    REQUIRE(cache == NULL && pinned == 0);
    DO(culv_vk_rdma_buffer_destroy(&buffer));
    LIB_CU_OK(w, w->cu->MemFree(p));
    torture_close(stream);
}

static const torture_path path = {
    .unvalidated = true, .begin = begin, .run = run, .least = {60, 6, 10}};
TORTURE_CASES("rdma", path)
