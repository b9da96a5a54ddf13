/* SPDX-License-Identifier: MIT */
/* Registers memory that Vulkan draws with a network card (InfiniBand, RoCE), by its dma-buf.
 *
 * It opens the first card and the GPU, makes 8 MiB of memory that is CUDA's and has a dma-buf, and
 * registers ranges of it through Culvert's cache: the second time each is there already. With
 * memory that is a VkBuffer too, take culv_vk_rdma_buffer_create() (culvert/vulkan_rdma.h) in place
 * of the allocation here.
 *
 * exit: 0 registered, 1 something failed, 3 there is no card, or no GPU with dma-bufs. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <infiniband/verbs.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 8 << 20, PIECE = 256 << 10, EXIT_NOTHING = 3 };

typedef struct card {
    struct ibv_context *context;
    struct ibv_pd *domain;
    culv_device *device;
} card;

/* The cache's pin(): a memory region of the range's pages, whose addresses are CUDA's. */
static culv_result pin(void *user, const culv_rdma_range *range, void **cookie)
{
    const card *c = user;
    culv_rdma_dma_buf dma_buf = culv_rdma_dma_buf_init();
    culv_result r = culv_rdma_dma_buf_export_dup(c->device, range->start, range->size,
                                                 CULV_DMA_BUF_PCIE, &dma_buf);
    if (r != CULV_OK) return r;
    struct ibv_mr *region = ibv_reg_dmabuf_mr(
        c->domain, dma_buf.offset, (size_t)range->size, range->start, dma_buf.handle.value.fd,
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
    const int why = errno;
    culv_handle_close(&dma_buf.handle); /* the region keeps what it needs */
    if (region == NULL) {
        fprintf(stderr, "ibv_reg_dmabuf_mr: %s\n", strerror(why));
        /* ENOMEM and ENOSPC: the cache unpins what was not used for longest, and tries again. */
        return why == ENOMEM || why == ENOSPC ? CULV_ERROR_OUT_OF_MEMORY : CULV_ERROR_UNSUPPORTED;
    }
    *cookie = region;
    return CULV_OK;
}

static void unpin(void *user, const culv_rdma_range *range, void *cookie, culv_rdma_unpin_why why)
{
    (void)user;
    (void)range;
    (void)why; /* a region of verbs is deregistered whatever the reason */
    ibv_dereg_mr(cookie);
}

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, culv_last_error_message());
    return EXIT_FAILURE;
}

static int run(card *c)
{
    const culv_cuda_api *cu = culv_device_cuda_api(c->device);
    culv_rdma_cache *cache = NULL;
    culv_rdma_cache_desc d = culv_rdma_cache_desc_init();
    CUdeviceptr memory = 0;
    CUcontext before;
    int status = EXIT_SUCCESS;
    d.pin = pin;
    d.unpin = unpin;
    d.user = c;
    d.max_bytes = BYTES;
    d.exact_ranges = 1;
    if (culv_rdma_cache_create(c->device, &d, &cache) != CULV_OK) return fail("the cache");
    if (cu->cuCtxPushCurrent(culv_device_context(c->device)) != CUDA_SUCCESS ||
        cu->cuMemAlloc(&memory, BYTES) != CUDA_SUCCESS) {
        fprintf(stderr, "cuMemAlloc failed\n");
        status = EXIT_FAILURE;
    }
    for (uint64_t at = 0; status == EXIT_SUCCESS && at < UINT64_C(2) * BYTES; at += PIECE) {
        culv_rdma_registration *r = NULL;
        if (culv_rdma_cache_get(cache, memory + at % BYTES, PIECE, &r) != CULV_OK) {
            status = fail("culv_rdma_cache_get");
            break;
        }
        const struct ibv_mr *region = culv_rdma_registration_cookie(r);
        if (at % BYTES == 0) printf("keys %#x and %#x\n", region->lkey, region->rkey);
        /* Post work requests with memory + at and these keys here, wait for their completions, then
         * culv_rdma_flush_writes(c->device, CULV_RDMA_ORDERING_OWNER). */
        culv_rdma_registration_put(&r);
    }
    culv_rdma_cache_stats stats = culv_rdma_cache_stats_init();
    if (culv_rdma_cache_get_stats(cache, &stats) == CULV_OK)
        printf("%llu regions for %d look-ups\n", (unsigned long long)stats.pins, 2 * BYTES / PIECE);
    culv_rdma_cache_destroy(&cache); /* before the memory goes */
    if (memory != 0) (void)cu->cuMemFree(memory);
    (void)cu->cuCtxPopCurrent(&before);
    return status;
}

int main(void)
{
    card c = {NULL, NULL, NULL};
    culv_rdma_caps caps = culv_rdma_caps_init();
    int count = 0, status = EXIT_NOTHING;
    struct ibv_device **list = ibv_get_device_list(&count);
    if (list == NULL || count == 0) {
        fprintf(stderr, "no RDMA card is here\n");
        if (list != NULL) ibv_free_device_list(list);
        return EXIT_NOTHING;
    }
    if (culv_device_open_by_ordinal(0, NULL, &c.device) != CULV_OK) {
        (void)fail("the GPU");
        goto free_list;
    }
    if (culv_rdma_get_caps(c.device, &caps) != CULV_OK || !caps.dma_buf) {
        fprintf(stderr, "the GPU makes no dma-bufs\n");
        goto close_device;
    }
    status = EXIT_FAILURE;
    c.context = ibv_open_device(list[0]);
    c.domain = c.context != NULL ? ibv_alloc_pd(c.context) : NULL;
    if (c.domain == NULL) {
        fprintf(stderr, "%s could not be opened\n", ibv_get_device_name(list[0]));
        goto close_card;
    }
    status = run(&c);
    ibv_dealloc_pd(c.domain);
close_card:
    if (c.context != NULL) ibv_close_device(c.context);
close_device:
    culv_device_close(&c.device);
free_list:
    ibv_free_device_list(list);
    return status;
}
