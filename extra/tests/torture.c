/* SPDX-License-Identifier: MIT */
/* Torture of culvert-extra's scenarios, each in its modes (torture.h). */
#include "torture.h"
#include "dmabuf_stage.h"
#include "pool_stage.h"
#include "sparse_stage.h"

#include "culvert/extra/multicast.h"
#include "culvert/extra/rdma_cache.h"
#include "culvert/extra/vulkan_rdma.h"

enum { BYTES = 65536 };

/* The layer makes calls of its own, and asks for properties whenever an image is made. */
static void without_validation(void)
{
    lib_with_option("--validation=off");
}

/* Bridges to dma-bufs: an imported one, one that is made, and rows ---------------------------- */

static const dmabuf_rows dmabuf_shape = {61, 33, 4, 64, 512};
static dmabuf_file tortured_file;

static void dmabuf_begin(void)
{
    dmabuf_needs_player();
    without_validation();
    tortured_file = dmabuf_file_make(&dmabuf_shape, 0);
}

static void dmabuf_end(void)
{
    dmabuf_file_done(&tortured_file);
}

static void dmabuf_run(void)
{
    static const uint64_t linear[] = {12345, CULV_SOFT_MODIFIER_LINEAR};
    lib_world *w = &torture.w;
    culv_vk_dma_buf_bridge *in = POISON(culv_vk_dma_buf_bridge), *made = in, *plain = in;
    culv_vk_dma_buf_turn turn = culv_vk_dma_buf_turn_init();
    culv_drm_format_info info = culv_drm_format_info_init();
    culv_vk_dma_buf_desc d = dmabuf_describe(tortured_file.fd, DRM_XR24, &dmabuf_shape);
    CUstream stream = torture_open();
    dmabuf_vulkan = lib_vk_desc(w);
    TRY_AGAIN(culv_vk_dma_buf_bridge_create(w->device, w->attachment, &d, NULL), true);
    TRY_AGAIN(culv_drm_format_get_info(&dmabuf_vulkan, DRM_XR24, &info), info.num_modifiers == 0);
    REQUIRE_EQ(info.num_modifiers, 2);
    TRY_AGAIN(culv_vk_dma_buf_bridge_create(w->device, w->attachment, &d, &in),
              in == POISON(culv_vk_dma_buf_bridge));
    d.to_buffer = 1;
    TRY_AGAIN(culv_vk_dma_buf_bridge_create(w->device, w->attachment, &d, &plain),
              plain == POISON(culv_vk_dma_buf_bridge));
    d.to_buffer = 0;
    d.handle = (culv_handle){.type = CULV_HANDLE_NONE};
    d.direction = CULV_VK_DMA_BUF_OUT;
    d.modifiers = linear;
    d.num_modifiers = 2;
    TRY_AGAIN(culv_vk_dma_buf_bridge_create(w->device, w->attachment, &d, &made),
              made == POISON(culv_vk_dma_buf_bridge));
    TRY_AGAIN(culv_vk_dma_buf_bridge_next(in, &(uint64_t){0}, &turn),
              turn.semaphore == VK_NULL_HANDLE);
    REQUIRE_EQ(turn.signal_value, 1);
    DO(culv_vk_dma_buf_bridge_destroy(&in));
    DO(culv_vk_dma_buf_bridge_destroy(&made));
    DO(culv_vk_dma_buf_bridge_destroy(&plain));
    REQUIRE(in == NULL && made == NULL && plain == NULL);
    torture_close(stream);
}

static const torture_path dmabuf_path = {
    .begin = dmabuf_begin, .run = dmabuf_run, .end = dmabuf_end, .least = {8, 25, 10}};
TORTURE_CASES("dmabuf", dmabuf_path)

/* Memory pools, and their fabric handles --- */

static void pool_share(culv_pool *pool, culv_handle_type type, CUdeviceptr memory, CUstream stream)
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
    TRY_AGAIN(culv_pool_export_dup(pool, type, &handle),
              memcmp(&handle, &poison, sizeof handle) == 0);
    TRY_AGAIN(culv_pool_export_pointer(pool, memory, &sent),
              memcmp(&sent, &unsent, sizeof sent) == 0);
    culv_mem_pool_import_desc d = culv_mem_pool_import_desc_init();
    d.handle = handle;
    const bool fd = type == CULV_HANDLE_OPAQUE_FD;
    lib_fd watched = {0};
    if (fd) watched = lib_fd_watch(handle.value.fd);
    TRY_AGAIN(culv_mem_pool_import(w->device, &d, &borrowed), borrowed == POISON(culv_mem_pool));
    if (fd) lib_fd_require_untouched(&watched);
    if (fd) lib_fd_done(&watched, true);
    TRY_AGAIN(culv_mem_pool_import_pointer(borrowed, &sent, &there), there == 77);
    lib_pool_free(w, there, stream);
    lib_finish(w, stream);
    DO(culv_mem_pool_destroy(&borrowed));
    REQUIRE(borrowed == NULL);
}

static void pool_run(void)
{
    lib_world *w = &torture.w;
    culv_pool *pool = POISON(culv_pool);
    CUdeviceptr memory = 77;
    CUstream stream = torture_open();
    culv_pool_desc d = culv_pool_desc_init();
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    TRY_AGAIN(culv_pool_create(w->device, &d, &pool), pool == POISON(culv_pool));
    memory = pool_alloc(w, pool, BYTES, stream);
    pool_share(pool, CULV_HANDLE_OPAQUE_FD, memory, stream);
    culv_pointer_info info = culv_pointer_info_init();
    TRY_AGAIN(culv_pointer_get_info(w->device, memory, &info), info.kind == CULV_POINTER_NONE);
    lib_pool_free(w, memory, stream);
    lib_finish(w, stream);
    DO(culv_pool_destroy(&pool));
    REQUIRE(pool == NULL);
    torture_close(stream);
}

static const torture_path pool_path = {
    .begin = without_validation, .run = pool_run, .least = {25, 0, 2}};
TORTURE_CUDA_CASES("mem_pool", pool_path)

static void fabric_begin(void)
{
    without_validation();
    torture.w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 1);
    torture.w.cu->SoftPlayFabric(1);
}

/* With `tried` it may fall back to file descriptors; what it says to be is what it is. */
static void share_pool(culv_fabric fabric, CUstream stream)
{
    lib_world *w = &torture.w;
    culv_pool *made = POISON(culv_pool);
    culv_pool_desc d = culv_pool_desc_init();
    d.fabric = fabric;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    TRY_AGAIN(culv_pool_create(w->device, &d, &made), made == POISON(culv_pool));
    if (pool_info(made).handle_types & 1u << CULV_HANDLE_FABRIC) {
        const CUdeviceptr at = pool_alloc(w, made, BYTES, stream);
        pool_share(made, CULV_HANDLE_FABRIC, at, stream);
        lib_pool_free(w, at, stream);
        lib_finish(w, stream);
    } else if (fabric == CULV_FABRIC_REQUIRED) {
        torture_complain("a pool without the fabric handle that was required");
    }
    DO(culv_pool_destroy(&made));
    REQUIRE(made == NULL);
}

static void fabric_run_pools(void)
{
    CUstream stream = torture_open();
    share_pool(CULV_FABRIC_REQUIRED, stream);
    share_pool(CULV_FABRIC_TRY, stream);
    torture_close(stream);
}

static const torture_path fabric_pools = {
    .begin = fabric_begin, .run = fabric_run_pools, .least = {25, 0, 4}};
TORTURE_CUDA_CASES("fabric_pools", fabric_pools)

/* Multicast objects: made, their devices, bound, mapped, imported, given up -------------------- */

#define CHUNK ((uint64_t)2 << 20)

static culv_device *second;

static void multicast_begin(void)
{
    without_validation();
    lib_with_environment("CULVERT_SOFT_DEVICES", "2");
    torture.w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 1);
}

static void multicast_import(culv_vmm_allocation *plain)
{
    lib_world *w = &torture.w;
    culv_multicast *imported = POISON(culv_multicast);
    culv_handle handle;
    LIB_OK(culv_vmm_export_dup(plain, CULV_HANDLE_OPAQUE_FD, &handle));
    culv_multicast_import_desc d = culv_multicast_import_desc_init();
    d.handle = handle;
    d.num_devices = 2;
    d.opt_in = 1;
    d.size = CHUNK;
    lib_fd watched = lib_fd_watch(handle.value.fd);
    TRY_AGAIN(culv_multicast_import(w->device, &d, &imported),
              (lib_fd_require_untouched(&watched), imported == POISON(culv_multicast)));
    lib_fd_done(&watched, true);
    DO(culv_multicast_destroy(&imported));
}

static void multicast_use(culv_multicast *object, culv_vmm_allocation *const memory[2])
{
    lib_world *w = &torture.w;
    culv_vmm_range *range = NULL;
    const culv_vmm_range_desc rd = {.struct_size = sizeof rd, .size = CHUNK};
    TRY_AGAIN(culv_multicast_add_device(object, w->device),
              lib_allocation(culv_multicast_allocation(object)).missing_devices == 2);
    TRY_AGAIN(culv_multicast_add_device(object, second),
              lib_allocation(culv_multicast_allocation(object)).missing_devices == 1);
    TRY_AGAIN(culv_multicast_bind(object, 0, memory[0], 0, CHUNK), true);
    TRY_AGAIN(culv_multicast_bind(object, 0, memory[1], 0, CHUNK), true);
    LIB_OK(culv_vmm_range_create(w->device, &rd, &range));
    LIB_OK(culv_vmm_map(range, 0, memory[0], NULL, 0));
    TRY_AGAIN(
        culv_multicast_bind_address(object, CHUNK, w->device, culv_vmm_range_pointer(range), CHUNK),
        true);
    TRY_AGAIN(culv_multicast_unbind(object, CHUNK, w->device, CHUNK), true);
    LIB_OK(culv_vmm_unmap(range, 0, CHUNK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
}

static void multicast_run(void)
{
    lib_world *w = &torture.w;
    culv_vmm_allocation *memory[2] = {NULL, NULL};
    culv_multicast *object = POISON(culv_multicast);
    uint64_t least = 77, best = 77;
    CUstream stream = torture_open();
    LIB_OK(culv_device_open_by_ordinal(1, NULL, &second));
    culv_vmm_allocation_desc md = culv_vmm_allocation_desc_init();
    md.size = CHUNK;
    md.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    LIB_OK(culv_vmm_allocation_create(w->device, &md, &memory[0]));
    LIB_OK(culv_vmm_allocation_create(second, &md, &memory[1]));
    culv_multicast_desc d = culv_multicast_desc_init();
    d.num_devices = 2;
    d.opt_in = 1;
    d.size = 2 * CHUNK;
    TRY_AGAIN(culv_multicast_get_granularity(w->device, &d, &least, &best),
              least == 77 && best == 77);
    TRY_AGAIN(culv_multicast_create(w->device, &d, &object), object == POISON(culv_multicast));
    multicast_use(object, memory);
    multicast_import(memory[0]);
    DO(culv_multicast_destroy(&object));
    REQUIRE(object == NULL);
    culv_vmm_allocation_destroy(&memory[0]);
    culv_vmm_allocation_destroy(&memory[1]);
    culv_device_close(&second); /* before the other one, whose context may be given up for lost */
    torture_close(stream);
}

static const torture_path multicast_path = {
    .begin = multicast_begin, .run = multicast_run, .least = {15, 0, 4}};
TORTURE_CUDA_CASES("multicast", multicast_path)

/* RDMA: pointers, dma-bufs, the registration cache, and memory of all three. What was registered
 * before a failure can still be looked up after it, and everything is unpinned in the end */

enum { PINNED_BYTES = 1 << 20 };

static void rdma_begin(void)
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

static void rdma_pointers(CUdeviceptr p, CUdeviceptr vmm)
{
    culv_device *device = torture.w.device;
    culv_rdma_info info = culv_rdma_info_init();
    culv_rdma_caps caps = culv_rdma_caps_init();
    culv_rdma_dma_buf dma_buf = culv_rdma_dma_buf_init();
    culv_rdma_sync sync = CULV_RDMA_SYNC_FORCE32;
    TRY_AGAIN(culv_rdma_get_info(device, p, &info), info.kind == CULV_POINTER_NONE);
    TRY_AGAIN(culv_rdma_check_range(device, p, PINNED_BYTES), true);
    TRY_AGAIN(culv_rdma_get_caps(device, &caps), !caps.supported);
    TRY_AGAIN(culv_rdma_flush_writes(device, CULV_RDMA_ORDERING_OWNER), true);
    TRY_AGAIN(culv_rdma_set_sync_memops(device, p, 1, &sync), sync == CULV_RDMA_SYNC_FORCE32);
    sync = CULV_RDMA_SYNC_FORCE32;
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
    TRY_AGAIN(culv_rdma_cache_get(cache, p, PINNED_BYTES / 2, &three),
              three == POISON(culv_rdma_registration));
    DO(culv_rdma_registration_put(&one));
    DO(culv_rdma_registration_put(&two));
    REQUIRE(pinned == 1); /* the larger one alone */
    TRY_AGAIN(culv_rdma_cache_invalidate(cache, p, PINNED_BYTES), true);
    DO(culv_rdma_registration_put(&three));
    REQUIRE(pinned == 0);
    TRY_AGAIN(culv_rdma_cache_get(cache, p + PINNED_BYTES / 2, 1, &one), one == NULL);
    DO(culv_rdma_registration_put(&one));
}

static void rdma_grow(culv_vk_rdma_buffer *buffer)
{
    culv_vk_rdma_part parts[4];
    size_t count = 0;
    TRY_AGAIN(culv_vk_rdma_buffer_grow(buffer, 4 << 20),
              culv_vk_rdma_buffer_size(buffer) == 2 << 20 &&
                  culv_vk_rdma_buffer_get_parts(buffer, parts, 4, &count) == CULV_OK && count == 1);
    LIB_OK(culv_vk_rdma_buffer_get_parts(buffer, parts, 4, &count));
    REQUIRE_EQ(count, 2);
}

static void rdma_run(void)
{
    lib_world *w = &torture.w;
    culv_rdma_cache *cache = POISON(culv_rdma_cache);
    culv_vk_rdma_buffer *buffer = POISON(culv_vk_rdma_buffer);
    CUdeviceptr p = 0;
    CUstream stream = torture_open();
    LIB_CU_OK(w, w->cu->MemAlloc(&p, PINNED_BYTES));
    culv_vk_rdma_buffer_desc d = culv_vk_rdma_buffer_desc_init();
    d.size = 2 << 20;
    d.reserve = 16 << 20;
    d.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    TRY_AGAIN(culv_vk_rdma_buffer_create(w->device, w->attachment, &d, &buffer),
              buffer == POISON(culv_vk_rdma_buffer));
    rdma_pointers(p, culv_vk_rdma_buffer_pointer(buffer));
    rdma_grow(buffer);
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

static const torture_path rdma_path = {
    .unvalidated = true, .begin = rdma_begin, .run = rdma_run, .least = {60, 6, 10}};
TORTURE_CASES("rdma", rdma_path)

/* Sparse arrays: made, mapped by region, batch and tail, unmapped, destroyed ------------------- */

enum { BINDS = 12 }; /* more than fit on the stack */

static void sparse_bind(culv_sparse_array *array, culv_sparse_array *mipmap,
                        culv_vmm_allocation *pool, CUstream stream)
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

static void sparse_run(void)
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
    sparse_bind(array, mipmap, pool, stream);
    TRY_AGAIN(culv_sparse_array_get_level(mipmap, 3, &level), level == NULL);
    lib_finish(w, stream);
    DO(culv_sparse_array_destroy(&array, &stream));
    DO(culv_sparse_array_destroy(&mipmap, NULL));
    REQUIRE(array == NULL && mipmap == NULL);
    culv_vmm_allocation_destroy(&pool);
    torture_close(stream);
}

static const torture_path sparse_path = {
    .begin = without_validation, .run = sparse_run, .least = {20, 0, 3}};
TORTURE_CUDA_CASES("sparse", sparse_path)
