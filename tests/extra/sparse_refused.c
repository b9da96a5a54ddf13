/* SPDX-License-Identifier: MIT */
/* Sparse arrays: what is refused, before the driver sees it. */
#define TEST_GROUP "sparse_refused."
#include "cuda/device.h"
#include "sparse_stage.h"

static culv_sparse_array_desc describe(uint32_t width, uint32_t height, uint32_t levels)
{
    culv_sparse_array_desc d = culv_sparse_array_desc_init();
    d.format = CULV_FORMAT_R32_UINT;
    d.width = width;
    d.height = height;
    d.mip_levels = levels;
    d.label = "refused";
    return d;
}

static uint64_t driver_calls(const sparse_stage *s)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    if (s->w.cu->SoftCounts == NULL) return 0;
    s->w.cu->SoftCounts(&c);
    return c.calls;
}

static void refuse(const sparse_stage *s, const culv_sparse_array_desc *d, culv_result class,
                   culv_reason reason)
{
    culv_sparse_array *array;
    const uint64_t before = driver_calls(s);
    LIB_REFUSES_AS(array, culv_sparse_array_create(s->w.device, d, &array), class, reason);
    REQUIRE_EQ(driver_calls(s), before);
}

SPARSE_CASE(arrays)
{
    culv_sparse_array *array;
    if (!s->w.device->caps.sparse_arrays) SKIP("no sparse arrays");
    culv_sparse_array_desc d = describe(512, 512, 0);
    d.struct_size = 0;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_STRUCT_SIZE);
    const culv_image_type no_types[] = {CULV_IMAGE_1D, CULV_IMAGE_CUBE, (culv_image_type)77};
    for (size_t i = 0; i < 3; i++) {
        d = describe(512, 512, 0);
        d.type = no_types[i];
        d.array_layers = i == 1 ? 6 : 0;
        refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_VALUE);
        LIB_SAYS("2D");
    }
    d = describe(512, 0, 0);
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_EXTENT);
    d = describe(512, 512, 0);
    d.depth = 2;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_EXTENT);
    d = describe(512, 512, 0);
    d.type = CULV_IMAGE_3D;
    d.depth = 16;
    d.array_layers = 2;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_EXTENT);
    d.array_layers = 0;
    d.depth = 0;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_EXTENT);
    d.depth = 1u << 20;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_EXTENT);
    d = describe(512, 512, 11);
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_EXTENT);
    LIB_SAYS("at most 10 levels");
    d = describe(512, 512, 0);
    d.texture_gather = 1;
    d.array_layers = 2;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_EXTENT);
    d = describe(512, 512, 0);
    d.texels = (culv_texels)5;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_VALUE);
    const culv_format no_formats[] = {CULV_FORMAT_NONE, CULV_FORMAT_R8G8B8_UNORM,
                                      CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, (culv_format)123456};
    for (size_t i = 0; i < sizeof no_formats / sizeof no_formats[0]; i++) {
        d = describe(512, 512, 0);
        d.format = no_formats[i];
        refuse(s, &d, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT);
    }
    d = describe(512, 512, 0);
    d.texels = CULV_TEXELS_NORMALIZED; /* R32_UINT has none */
    refuse(s, &d, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT);
    /* A driver of another age, or a device of another kind. */
    d = describe(512, 512, 0);
    culv_cuda_api *cuda = &s->w.device->tables[0].api;
    const culv_cuda_api kept = *cuda;
    cuda->cuMemMapArrayAsync = NULL;
    refuse(s, &d, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD);
    cuda->cuMemMapArrayAsync = kept.cuMemMapArrayAsync;
    s->w.device->caps.sparse_arrays = 0;
    refuse(s, &d, CULV_ERROR_UNSUPPORTED, CULV_REASON_VMM);
    s->w.device->caps.sparse_arrays = 1;
    /* As the driver likes. */
    d.surfaces = 1;
    array = NULL;
    culv_result r = culv_sparse_array_create(s->w.device, &d, &array);
    MEASURED("library.sparse_surfaces", "%s", r == CULV_OK ? "made" : culv_last_error_message());
    if (r != CULV_OK)
        LIB_REFUSES(array, culv_sparse_array_create(s->w.device, &d, &array), UNSUPPORTED, USAGE);
    culv_sparse_array_destroy(&array, NULL);
    culv_sparse_array_destroy(NULL, NULL);
    culv_sparse_array_destroy(&array, NULL);
    culv_sparse_array_destroy(NULL, &(CUstream){NULL});
}

typedef struct binds_stage {
    sparse_stage s;
    culv_sparse_array *plain, *mipmapped, *layered, *volume, *odd;
    culv_vmm_allocation *pool, *memory;
    culv_sparse_bind bind; /* of the plain one, whole */
} binds_stage;

static void refuse_bind(const binds_stage *b, const culv_sparse_bind *bind, culv_reason reason,
                        const char *says)
{
    const culv_sparse_bind two[2] = {b->bind, *bind};
    const uint64_t before = driver_calls(&b->s);
    LIB_FAILS(culv_sparse_bind_batch(two, 2, b->s.stream), CULV_ERROR_INVALID, reason, "binds[1].",
              says);
    REQUIRE_EQ(driver_calls(&b->s), before);
}

static void open_binds(binds_stage *b)
{
    memset(b, 0, sizeof *b);
    sparse_stage_open(&b->s);
    if (!b->s.w.device->caps.sparse_arrays) SKIP("no sparse arrays");
    culv_sparse_array_desc d = describe(512, 384, 0);
    LIB_OK(culv_sparse_array_create(b->s.w.device, &d, &b->plain));
    d = describe(512, 512, 10);
    LIB_OK(culv_sparse_array_create(b->s.w.device, &d, &b->mipmapped));
    d = describe(256, 256, 9);
    d.array_layers = 2;
    LIB_OK(culv_sparse_array_create(b->s.w.device, &d, &b->layered));
    d = describe(64, 64, 0);
    d.type = CULV_IMAGE_3D;
    d.depth = 32;
    LIB_OK(culv_sparse_array_create(b->s.w.device, &d, &b->volume));
    d = describe(300, 200, 0);
    LIB_OK(culv_sparse_array_create(b->s.w.device, &d, &b->odd));
    b->pool = sparse_pool(&b->s, 32);
    culv_vmm_allocation_desc plain = culv_vmm_allocation_desc_init();
    plain.size = 2 << 20;
    LIB_OK(culv_vmm_allocation_create(b->s.w.device, &plain, &b->memory));
    b->bind = (culv_sparse_bind){.array = b->plain, .pool = b->pool};
}

static void close_binds(binds_stage *b)
{
    culv_sparse_array_destroy(&b->plain, NULL);
    culv_sparse_array_destroy(&b->mipmapped, NULL);
    culv_sparse_array_destroy(&b->layered, NULL);
    culv_sparse_array_destroy(&b->volume, NULL);
    culv_sparse_array_destroy(&b->odd, NULL);
    culv_vmm_allocation_destroy(&b->pool);
    culv_vmm_allocation_destroy(&b->memory);
    sparse_stage_close(&b->s);
}

TEST(regions)
{
    binds_stage b;
    open_binds(&b);
    struct {
        culv_sparse_array *array;
        culv_sparse_region region;
        culv_reason reason;
        const char *says;
    } rows[] = {
        {b.plain, {.level = 1}, CULV_REASON_LEVEL, "has 1 levels"},
        {b.mipmapped, {.level = 10}, CULV_REASON_LEVEL, "has 10 levels"},
        {b.mipmapped, {.level = 3}, CULV_REASON_LEVEL, "mip tail"},
        {b.plain, {.layer = 1}, CULV_REASON_RANGE, "has 1 layers"},
        {b.layered, {.layer = 2}, CULV_REASON_RANGE, "has 2 layers"},
        {b.plain, {.x = 512}, CULV_REASON_RANGE, "ends at 512"},
        {b.plain, {.x = 64}, CULV_REASON_VALUE, "multiple of the tile's 128"},
        {b.plain, {.y = 1}, CULV_REASON_VALUE, "region.y"},
        {b.plain, {.z = 1}, CULV_REASON_RANGE, "region.z"},
        {b.plain, {.x = 384, .width = 256}, CULV_REASON_RANGE, "ends at 512"},
        {b.plain, {.width = 100}, CULV_REASON_VALUE, "region.width"},
        {b.plain, {.height = 300}, CULV_REASON_VALUE, "region.height"},
        {b.plain, {.depth = 2}, CULV_REASON_RANGE, "region.depth"},
        {b.plain, {.width = UINT32_MAX}, CULV_REASON_RANGE, "region.width"},
        {b.plain, {.x = UINT32_MAX & ~127u, .width = 128}, CULV_REASON_RANGE, "region.x"},
        {b.volume, {.z = 8}, CULV_REASON_VALUE, "multiple of the tile's 16"},
        {b.volume, {.z = 16, .depth = 8}, CULV_REASON_VALUE, "region.depth"},
        {b.odd, {.x = 256, .width = 128}, CULV_REASON_RANGE, "ends at 300"},
        {b.odd, {.x = 256, .width = 40}, CULV_REASON_VALUE, "region.width"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t bytes = 77;
        const culv_sparse_bind bind = {
            .array = rows[i].array, .region = rows[i].region, .pool = b.pool};
        refuse_bind(&b, &bind, rows[i].reason, rows[i].says);
        LIB_FAILS(culv_sparse_array_get_region_size(rows[i].array, &rows[i].region, &bytes),
                  CULV_ERROR_INVALID, rows[i].reason);
        LIB_FAILS(sparse_map(rows[i].array, &rows[i].region, b.pool, 0, b.s.stream),
                  CULV_ERROR_INVALID, rows[i].reason);
        LIB_FAILS(sparse_map(rows[i].array, &rows[i].region, NULL, 0, b.s.stream),
                  CULV_ERROR_INVALID, rows[i].reason);
        REQUIRE_EQ(bytes, 77);
    }
    close_binds(&b);
}

TEST(pools_and_tails)
{
    const uint64_t tile = SPARSE_TILE;
    binds_stage b;
    open_binds(&b);
    culv_sparse_bind bind = b.bind;
    bind.pool = b.memory;
    refuse_bind(&b, &bind, CULV_REASON_USAGE, "not a tile pool");
    bind = b.bind;
    bind.pool_offset = 4096;
    refuse_bind(&b, &bind, CULV_REASON_VALUE, "pool_offset is 4096");
    bind.pool_offset = 32 * tile;
    refuse_bind(&b, &bind, CULV_REASON_RANGE, "but the pool has 2097152");
    bind.pool_offset = 21 * tile;
    refuse_bind(&b, &bind, CULV_REASON_RANGE, "but the pool has 2097152");
    bind.pool_offset = UINT64_MAX / tile * tile;
    refuse_bind(&b, &bind, CULV_REASON_RANGE, "but the pool has 2097152");
    bind = b.bind;
    bind.pool = NULL;
    bind.pool_offset = tile;
    refuse_bind(&b, &bind, CULV_REASON_VALUE, "which unmaps");
    bind = b.bind;
    bind.part = (culv_sparse_part)2;
    refuse_bind(&b, &bind, CULV_REASON_VALUE, "part is 2");
    bind = b.bind;
    bind.tail_size = tile;
    refuse_bind(&b, &bind, CULV_REASON_VALUE, "part is TILES");
    bind = b.bind;
    bind.part = CULV_SPARSE_MIP_TAIL;
    refuse_bind(&b, &bind, CULV_REASON_LEVEL, "has no mip tail");
    bind.array = b.mipmapped;
    bind.region.layer = 1;
    refuse_bind(&b, &bind, CULV_REASON_RANGE, "layer is 1");
    bind.region.layer = 0;
    bind.tail_offset = 4096;
    refuse_bind(&b, &bind, CULV_REASON_VALUE, "tail_offset is 4096");
    bind.tail_offset = tile;
    refuse_bind(&b, &bind, CULV_REASON_RANGE, "tail_offset 65536");
    bind.tail_offset = 0;
    bind.tail_size = 2 * tile;
    refuse_bind(&b, &bind, CULV_REASON_RANGE, "tail_size is 131072");
    bind.array = b.layered;
    bind.tail_size = 0;
    bind.region.layer = 2;
    refuse_bind(&b, &bind, CULV_REASON_RANGE, "layer is 2");
    bind.array = NULL;
    refuse_bind(&b, &bind, CULV_REASON_NULL_ARGUMENT, "array is NULL");
    LIB_INVALID(culv_sparse_bind_batch(NULL, 1, b.s.stream), NULL_ARGUMENT);
    CUarray level;
    LIB_INVALID(sparse_map_tail(b.plain, 0, NULL, 0, b.s.stream), LEVEL);
    LIB_INVALID(culv_sparse_array_get_level(b.mipmapped, 10, &level), LEVEL);
    LIB_INVALID(culv_sparse_array_get_level(b.mipmapped, 0, NULL), NULL_ARGUMENT);
    close_binds(&b);
}

TEST(streams)
{
    sparse_stage s;
    CUgraph graph = NULL;
    raw_cuda_two_devices();
    sparse_stage_open(&s);
    if (!s.w.device->caps.sparse_arrays) SKIP("no sparse arrays");
    const raw_cuda *cu = s.w.cu;
    culv_sparse_array *array = NULL, *other = NULL;
    const culv_sparse_array_desc d = describe(128, 128, 0);
    const culv_sparse_region all = {0};
    LIB_OK(culv_sparse_array_create(s.w.device, &d, &array));
    culv_vmm_allocation *pool = sparse_pool(&s, 1);
    /* A capture is refused, and goes on. */
    CUcontext before = lib_enter(&s.w);
    CU_OK(cu->StreamBeginCapture(s.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    LIB_INVALID(sparse_map(array, &all, pool, 0, s.stream), CAPTURE);
    CU_OK(cu->StreamEndCapture(s.stream, &graph));
    CU_OK(cu->GraphDestroy(graph));
    /* One in another stream is not broken either. */
    CUstream captured;
    CU_OK(cu->StreamCreate(&captured, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->StreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
    LIB_OK(sparse_map(array, &all, pool, 0, s.stream));
    CU_OK(cu->StreamEndCapture(captured, &graph));
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->StreamDestroy(captured));
    /* The legacy stream waits for every blocking one, and so for what is captured. */
    CU_OK(cu->StreamCreate(&captured, CU_STREAM_DEFAULT));
    CU_OK(cu->StreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    LIB_INVALID(sparse_map(array, &all, pool, 0, NULL), CAPTURE);
    CU_OK(cu->StreamEndCapture(captured, &graph));
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->StreamDestroy(captured));
    LIB_OK(sparse_map(array, &all, pool, 0, NULL));
    lib_leave(&s.w, before);
    culv_device *second = sparse_stage_second(&s);
    if (second != NULL) {
        sparse_stage t = {
            .w = {.cu = cu, .device = second, .context = culv_device_context(second)}};
        t.stream = lib_stream(&t.w);
        culv_vmm_allocation *far = sparse_pool(&t, 1);
        LIB_INVALID(sparse_map(array, &all, far, 0, s.stream), DEVICE_MISMATCH);
        LIB_INVALID(sparse_map(array, &all, pool, 0, t.stream), STREAM_DEVICE);
        LIB_OK(culv_sparse_array_create(second, &d, &other));
        const culv_sparse_bind two[2] = {{.array = array, .pool = pool},
                                         {.array = other, .pool = far}};
        LIB_INVALID(culv_sparse_bind_batch(two, 2, s.stream), DEVICE_MISMATCH);
        LIB_OK(culv_sparse_bind_batch(two + 1, 1, t.stream)); /* the second device's own bit */
        culv_sparse_array_destroy(&other, NULL);
        culv_vmm_allocation_destroy(&far);
        lib_stream_destroy(&t.w, t.stream);
        culv_device_close(&second);
    } else {
        printf("one CUDA device only\n");
    }
    culv_sparse_array_destroy(&array, NULL);
    culv_vmm_allocation_destroy(&pool);
    sparse_stage_close(&s);
}
