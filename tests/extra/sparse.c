/* SPDX-License-Identifier: MIT */
/* Sparse arrays by data: tiles, levels, mip tails, layers, slices, blocks. */
#define TEST_GROUP "sparse."
#include "sparse_stage.h"

static culv_sparse_array_desc describe(uint32_t width, uint32_t height)
{
    culv_sparse_array_desc d = culv_sparse_array_desc_init();
    d.format = CULV_FORMAT_R32_UINT;
    d.width = width;
    d.height = height;
    d.label = "sparse";
    return d;
}

static culv_sparse_array *create(const sparse_stage *s, const culv_sparse_array_desc *d,
                                 culv_sparse_array_info *info)
{
    culv_device_caps caps = culv_device_caps_init();
    culv_sparse_array *array = NULL;
    LIB_OK(culv_device_get_caps(s->w.device, &caps));
    if (!caps.sparse_arrays) SKIP("no sparse arrays");
    LIB_OK(culv_sparse_array_create(s->w.device, d, &array));
    *info = culv_sparse_array_info_init();
    LIB_OK(culv_sparse_array_get_info(array, info));
    REQUIRE_EQ(info->tile_bytes, SPARSE_TILE);
    return array;
}

/* A box of 32-bit texels. */
static sparse_box box_of(CUarray array, size_t x, size_t y, size_t width, size_t height)
{
    return (sparse_box){array, x * 4, y, 0, width * 4, height, 1};
}

/* Tiles hold what is put there; the pool keeps it for the tile that comes next. */
SPARSE_CASE(tiles)
{
    culv_sparse_array_info info;
    const culv_sparse_array_desc d = describe(512, 384);
    culv_sparse_array *array = create(s, &d, &info);
    culv_vmm_allocation *pool = sparse_pool(s, 64);
    REQUIRE_EQ(info.tile_width, 128); /* Vulkan's standard shape of 32 bits */
    REQUIRE_EQ(info.tile_height, 128);
    REQUIRE_EQ(info.tile_depth, 1);
    REQUIRE_EQ(info.mip_levels, 1);
    REQUIRE_EQ(info.mip_tail_first_level, 1);
    REQUIRE_EQ(info.mip_tail_size, 0);
    REQUIRE_EQ(info.full_size, 12 * SPARSE_TILE);
    const CUarray handle = info.array;
    CUarray level = NULL;
    REQUIRE(handle != NULL && info.mipmapped_array == NULL);
    LIB_OK(culv_sparse_array_get_level(array, 0, &level));
    REQUIRE(level == handle);
    culv_sparse_region two = {.x = 128, .width = 256, .height = 128};
    const culv_sparse_region one = {.y = 256, .width = 128};
    uint64_t bytes = 0;
    LIB_OK(culv_sparse_array_get_region_size(array, &two, &bytes));
    REQUIRE_EQ(bytes, 2 * SPARSE_TILE);
    LIB_OK(sparse_map(array, &two, pool, 0, s->stream));
    LIB_OK(sparse_map(array, &one, pool, 8 * SPARSE_TILE, s->stream));
    const sparse_box first = box_of(handle, 128, 0, 256, 128),
                     second = box_of(handle, 0, 256, 128, 128);
    sparse_fill(s, &first, 5);
    sparse_fill(s, &second, 6);
    REQUIRE_EQ(sparse_wrong(s, &first, 5), 0);
    REQUIRE_EQ(sparse_wrong(s, &second, 6), 0);
    /* The first two go, and come back elsewhere. */
    LIB_OK(sparse_map(array, &two, NULL, 0, s->stream));
    two.x = 256;
    two.y = 128;
    LIB_OK(sparse_map(array, &two, pool, 0, s->stream));
    const sparse_box moved = box_of(handle, 256, 128, 256, 128);
    REQUIRE_EQ(sparse_wrong(s, &moved, 5), 0);
    REQUIRE_EQ(sparse_wrong(s, &second, 6), 0);
    LIB_OK(sparse_map(array, &one, NULL, 0, s->stream));
    uint32_t *words = calloc(128 * 128, 4);
    REQUIRE(words != NULL);
    sparse_read(s, &second, words);
    size_t zeros = 0;
    for (size_t i = 0; i < 128 * 128; i++)
        zeros += words[i] == 0;
    free(words);
    MEASURED("library.sparse_unmapped", "%zu of 16384 words are 0 once their tile was unmapped",
             zeros);
    if (s->w.cu->software) REQUIRE_EQ(zeros, 128 * 128);
    culv_sparse_array_destroy(&array, NULL); /* two tiles mapped as they are */
    REQUIRE(array == NULL);
    culv_vmm_allocation_destroy(&pool);
}

/* Levels of whole tiles and the tail, in one batch. */
SPARSE_CASE(levels)
{
    culv_sparse_array_info info;
    culv_sparse_bind binds[4];
    culv_sparse_array_desc d = describe(512, 512);
    d.mip_levels = 10;
    culv_sparse_array *array = create(s, &d, &info);
    REQUIRE(info.array == NULL && info.mipmapped_array != NULL);
    REQUIRE_EQ(info.mip_tail_first_level, 3);
    REQUIRE_EQ(info.mip_tail_size, SPARSE_TILE);
    REQUIRE_EQ(info.mip_tail_single, 1);
    REQUIRE_EQ(info.full_size, (16 + 4 + 1 + 1) * SPARSE_TILE);
    culv_vmm_allocation *pool = sparse_pool(s, info.full_size / SPARSE_TILE);
    uint64_t at = 0;
    memset(binds, 0, sizeof binds);
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t bytes = 0;
        binds[i].array = array;
        binds[i].pool = pool;
        binds[i].pool_offset = at;
        binds[i].part = i == 3 ? CULV_SPARSE_MIP_TAIL : CULV_SPARSE_TILES;
        binds[i].region.level = i;
        if (i < 3) LIB_OK(culv_sparse_array_get_region_size(array, &binds[i].region, &bytes));
        at += bytes;
    }
    LIB_OK(culv_sparse_bind_batch(binds, 4, s->stream));
    for (int turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; i < 10; i++) {
            CUarray level = NULL;
            LIB_OK(culv_sparse_array_get_level(array, i, &level));
            const sparse_box box = box_of(level, 0, 0, 512u >> i, 512u >> i);
            if (turn == 0) sparse_fill(s, &box, 100 + i);
            if (turn == 1) REQUIRE_EQ(sparse_wrong(s, &box, 100 + i), 0);
        }
    for (uint32_t i = 0; i < 3; i++)
        LIB_OK(sparse_map(array, &binds[i].region, NULL, 0, s->stream));
    LIB_OK(sparse_map_tail(array, 0, NULL, 0, s->stream));
    lib_finish(&s->w, s->stream);
    culv_sparse_array_destroy(&array, &s->stream);
    culv_vmm_allocation_destroy(&pool);
}

/* Layers have tiles of their own, and a tail each or one for all: mapped as the driver says. */
SPARSE_CASE(layers)
{
    culv_sparse_array_info info;
    CUarray level = NULL;
    culv_sparse_array_desc d = describe(256, 256);
    d.array_layers = 3;
    d.mip_levels = 9;
    culv_sparse_array *array = create(s, &d, &info);
    MEASURED("library.sparse_layers", "3 layers, 9 levels: tail from level %u, %llu bytes, %s",
             info.mip_tail_first_level, (unsigned long long)info.mip_tail_size,
             info.mip_tail_single ? "one for all layers" : "one a layer");
    REQUIRE_EQ(info.array_layers, 3);
    REQUIRE_EQ(info.mip_tail_first_level, 2);
    culv_vmm_allocation *pool = sparse_pool(s, info.full_size / SPARSE_TILE);
    uint64_t at = 0;
    for (uint32_t layer = 0; layer < 3; layer++)
        for (uint32_t i = 0; i < 2; i++) {
            const culv_sparse_region all = {.level = i, .layer = layer};
            uint64_t bytes = 0;
            LIB_OK(culv_sparse_array_get_region_size(array, &all, &bytes));
            LIB_OK(sparse_map(array, &all, pool, at, s->stream));
            at += bytes;
        }
    for (uint32_t layer = 0; layer < (info.mip_tail_single ? 1u : 3u); layer++) {
        LIB_OK(sparse_map_tail(array, layer, pool, at, s->stream));
        at += info.mip_tail_size;
    }
    REQUIRE_EQ(at, info.full_size);
    for (uint32_t i = 0; i < 9; i++) {
        LIB_OK(culv_sparse_array_get_level(array, i, &level));
        const sparse_box box = {level, 0, 0, 0, (256u >> i) * 4, 256u >> i, 3};
        sparse_fill(s, &box, 200 + i);
    }
    for (uint32_t i = 0; i < 9; i++) {
        LIB_OK(culv_sparse_array_get_level(array, i, &level));
        const sparse_box box = {level, 0, 0, 0, (256u >> i) * 4, 256u >> i, 3};
        REQUIRE_EQ(sparse_wrong(s, &box, 200 + i), 0);
    }
    culv_sparse_array_destroy(&array, NULL);
    culv_vmm_allocation_destroy(&pool);
}

/* An array that is smaller than a tile is all tail. */
SPARSE_CASE(small)
{
    culv_sparse_array_info info;
    const culv_sparse_array_desc d = describe(64, 48);
    culv_sparse_array *array = create(s, &d, &info);
    REQUIRE_EQ(info.mip_tail_first_level, 0);
    REQUIRE_EQ(info.mip_tail_size, SPARSE_TILE);
    REQUIRE_EQ(info.mip_tail_single, 1);
    REQUIRE_EQ(info.full_size, SPARSE_TILE);
    culv_vmm_allocation *pool = sparse_pool(s, 1);
    /* The pool has more */
    LIB_OK(sparse_map_tail(array, 0, pool, SPARSE_TILE, s->stream));
    const sparse_box box = box_of(info.array, 0, 0, 64, 48);
    sparse_fill(s, &box, 31);
    REQUIRE_EQ(sparse_wrong(s, &box, 31), 0);
    culv_sparse_array_destroy(&array, NULL);
    culv_vmm_allocation_destroy(&pool);
}

/* A tail of several tiles' bytes, mapped in two parts: the second is all the rest. */
TEST(tail_in_parts)
{
    sparse_stage s;
    culv_sparse_array_info info;
    sparse_stage_open(&s);
    const culv_sparse_array_desc d = describe(4096, 40); /* lower than a tile */
    culv_sparse_array *array = create(&s, &d, &info);
    if (info.mip_tail_first_level != 0 || info.mip_tail_size < 3 * (uint64_t)SPARSE_TILE) {
        MEASURED("library.sparse_low_array", "no tail of several tiles: %llu bytes from level %u",
                 (unsigned long long)info.mip_tail_size, info.mip_tail_first_level);
        REQUIRE(!s.w.cu->software);
        culv_sparse_array_destroy(&array, NULL);
        sparse_stage_close(&s);
        return;
    }
    culv_vmm_allocation *pool = sparse_pool(&s, info.mip_tail_size / SPARSE_TILE);
    culv_vmm_allocation_info of_pool = culv_vmm_allocation_info_init();
    LIB_OK(culv_vmm_allocation_get_info(pool, &of_pool));
    const uint64_t rest = info.mip_tail_size - SPARSE_TILE;
    culv_sparse_bind bind = {.array = array,
                             .part = CULV_SPARSE_MIP_TAIL,
                             .pool = pool,
                             .tail_size = SPARSE_TILE,
                             .pool_offset = of_pool.size - rest - SPARSE_TILE};
    LIB_OK(culv_sparse_bind_batch(&bind, 1, s.stream));
    bind.tail_offset = SPARSE_TILE;
    bind.tail_size = 0;
    bind.pool_offset = of_pool.size - rest; /* the last bytes of the pool */
    LIB_OK(culv_sparse_bind_batch(&bind, 1, s.stream));
    bind.pool_offset += SPARSE_TILE;
    LIB_INVALID(culv_sparse_bind_batch(&bind, 1, s.stream), RANGE);
    const sparse_box box = box_of(info.array, 0, 0, 4096, 40);
    sparse_fill(&s, &box, 33);
    REQUIRE_EQ(sparse_wrong(&s, &box, 33), 0);
    culv_sparse_array_destroy(&array, NULL);
    culv_vmm_allocation_destroy(&pool);
    sparse_stage_close(&s);
}

static uint64_t driver_calls(const sparse_stage *s)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    s->w.cu->SoftCounts(&c);
    return c.calls;
}

/* Tiles that follow one another go in one driver call, and each tail in one of its own: an H200
 * leaves a tail unmapped that follows tiles in a list (measured, docs/vmm-more.md). */
SPARSE_CASE(calls_of_batches)
{
    static const struct {
        const char *parts; /* t: tiles of a level, T: the tail */
        uint64_t calls;
    } rows[] = {{"t", 1}, {"tt", 1}, {"T", 1}, {"tT", 2}, {"Tt", 2}, {"ttTt", 3}, {"tTTt", 4}};
    culv_sparse_array_info info;
    uint64_t others = 0; /* calls of any batch */
    if (s->w.cu->SoftCounts == NULL) {
        sparse_stage_close(s);
        SKIP("only the twin counts its calls");
    }
    culv_sparse_array_desc d = describe(512, 512);
    d.mip_levels = 10;
    culv_sparse_array *array = create(s, &d, &info);
    culv_vmm_allocation *pool = sparse_pool(s, info.full_size / SPARSE_TILE);
    for (int again = 0; again < 2; again++) /* the first batch asks about the stream too */
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            culv_sparse_bind binds[4];
            uint32_t count = 0;
            memset(binds, 0, sizeof binds);
            for (; rows[i].parts[count] != '\0'; count++) {
                binds[count].array = array;
                binds[count].pool = pool;
                binds[count].part =
                    rows[i].parts[count] == 'T' ? CULV_SPARSE_MIP_TAIL : CULV_SPARSE_TILES;
                binds[count].region.level = rows[i].parts[count] == 'T' ? 0 : 2;
            }
            const uint64_t before = driver_calls(s);
            LIB_OK(culv_sparse_bind_batch(binds, count, s->stream));
            const uint64_t made = driver_calls(s) - before;
            if (i == 0) others = made - 1;
            if (again) REQUIRE_EQ(made, others + rows[i].calls);
        }
    lib_finish(&s->w, s->stream);
    culv_sparse_array_destroy(&array, NULL);
    culv_vmm_allocation_destroy(&pool);
}

SPARSE_CASE(volume)
{
    culv_sparse_array_info info;
    culv_sparse_array_desc d = describe(64, 64);
    d.type = CULV_IMAGE_3D;
    d.depth = 32;
    culv_sparse_array *array = create(s, &d, &info);
    REQUIRE_EQ(info.tile_width, 32);
    REQUIRE_EQ(info.tile_height, 32);
    REQUIRE_EQ(info.tile_depth, 16);
    culv_vmm_allocation *pool = sparse_pool(s, 8);
    const culv_sparse_region corner = {.x = 32, .z = 16, .width = 32}; /* to the end in y and z */
    uint64_t bytes = 0;
    LIB_OK(culv_sparse_array_get_region_size(array, &corner, &bytes));
    REQUIRE_EQ(bytes, 2 * SPARSE_TILE);
    LIB_OK(sparse_map(array, &corner, pool, 3 * SPARSE_TILE, s->stream));
    const sparse_box box = {info.array, 32 * 4, 0, 16, 32 * 4, 64, 16};
    sparse_fill(s, &box, 41);
    REQUIRE_EQ(sparse_wrong(s, &box, 41), 0);
    LIB_OK(sparse_map(array, &corner, NULL, 0, s->stream));
    culv_sparse_array_destroy(&array, NULL);
    culv_vmm_allocation_destroy(&pool);
}

/* At an edge the part of a tile that lies within is mapped (measured: the driver refuses the whole
 * of it). */
SPARSE_CASE(edges)
{
    culv_sparse_array_info info;
    const culv_sparse_array_desc d = describe(300, 200);
    culv_sparse_array *array = create(s, &d, &info);
    REQUIRE_EQ(info.full_size, 6 * SPARSE_TILE);
    culv_vmm_allocation *pool = sparse_pool(s, 6);
    const culv_sparse_region corner = {.x = 256, .y = 128, .width = 44, .height = 72, .depth = 1},
                             rest = {.width = 256};
    LIB_OK(sparse_map(array, &corner, pool, 5 * SPARSE_TILE, s->stream));
    LIB_OK(sparse_map(array, &rest, pool, 0, s->stream));
    const CUarray handle = info.array;
    const sparse_box in_corner = box_of(handle, 256, 128, 44, 72),
                     in_rest = box_of(handle, 0, 0, 256, 200);
    sparse_fill(s, &in_corner, 51);
    sparse_fill(s, &in_rest, 52);
    REQUIRE_EQ(sparse_wrong(s, &in_corner, 51), 0);
    REQUIRE_EQ(sparse_wrong(s, &in_rest, 52), 0);
    LIB_OK(sparse_map(array, &corner, NULL, 0, s->stream));
    REQUIRE_EQ(sparse_wrong(s, &in_rest, 52), 0);
    culv_sparse_array_destroy(&array, NULL);
    culv_vmm_allocation_destroy(&pool);
}

/* What a region takes of a pool: a tile at an edge takes a whole one. A pool that ends with the
 * last tile is enough, and a tile further on there is none. */
SPARSE_CASE(sizes_at_edges)
{
    static const struct {
        culv_sparse_region region;
        uint64_t tiles;
    } rows[] = {
        {{.width = 0}, 6},
        {{.width = 128, .height = 128}, 1},
        {{.x = 256}, 2},
        {{.y = 128}, 3},
        {{.x = 256, .y = 128}, 1},
        {{.x = 256, .y = 128, .width = 44, .height = 72}, 1},
        {{.x = 128, .width = 172, .height = 128}, 2},
        {{.x = 128, .y = 128, .width = 128}, 1},
        {{.level = 1}, 2},
        {{.level = 1, .x = 128, .width = 22, .height = 100}, 1},
    };
    culv_sparse_array_info info;
    culv_sparse_array_desc d = describe(300, 200);
    d.mip_levels = 2;
    culv_sparse_array *array = create(s, &d, &info);
    if (info.tile_width != 128 || info.tile_height != 128) SKIP("tiles of another shape");
    culv_vmm_allocation *pool = sparse_pool(s, 6);
    culv_vmm_allocation_info of_pool = culv_vmm_allocation_info_init();
    LIB_OK(culv_vmm_allocation_get_info(pool, &of_pool));
    const uint64_t end = of_pool.size;
    /* Level 1 has 150 x 100 texels, which some drivers put into the tail. */
    REQUIRE_EQ(info.full_size, info.mip_tail_size + (info.mip_tail_first_level == 2 ? 8 : 6) *
                                                        (uint64_t)SPARSE_TILE);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const culv_sparse_region *region = &rows[i].region;
        uint64_t bytes = 0;
        if (region->level >= info.mip_tail_first_level) continue;
        LIB_OK(culv_sparse_array_get_region_size(array, region, &bytes));
        REQUIRE_EQ(bytes, rows[i].tiles * SPARSE_TILE);
        LIB_OK(sparse_map(array, region, pool, end - bytes, s->stream));
        LIB_INVALID(sparse_map(array, region, pool, end - bytes + SPARSE_TILE, s->stream), RANGE);
        LIB_INVALID(sparse_map(array, region, pool, end, s->stream), RANGE);
        LIB_OK(sparse_map(array, region, NULL, 0, s->stream));
    }
    culv_sparse_array_destroy(&array, NULL);
    culv_vmm_allocation_destroy(&pool);
}

/* Other texels, blocks among them: tiles are told in texels, and hold 64 KiB. */
SPARSE_CASE(formats)
{
    static const struct {
        culv_format format;
        uint32_t width, height, block, block_bytes; /* of a tile: Vulkan's standard shapes */
    } rows[] = {{CULV_FORMAT_R8_UINT, 256, 256, 1, 1},
                {CULV_FORMAT_R16_UINT, 256, 128, 1, 2},
                {CULV_FORMAT_R8G8B8A8_UNORM, 128, 128, 1, 4},
                {CULV_FORMAT_R16G16B16A16_SFLOAT, 128, 64, 1, 8},
                {CULV_FORMAT_R32G32B32A32_SFLOAT, 64, 64, 1, 16},
                {CULV_FORMAT_BC1_RGBA_UNORM_BLOCK, 512, 256, 4, 8},
                {CULV_FORMAT_BC7_UNORM_BLOCK, 256, 256, 4, 16}};
    static const char *const names[] = {"R8_UINT",
                                        "R16_UINT",
                                        "R8G8B8A8_UNORM",
                                        "R16G16B16A16_SFLOAT",
                                        "R32G32B32A32_SFLOAT",
                                        "BC1_RGBA_UNORM_BLOCK",
                                        "BC7_UNORM_BLOCK"};
    culv_vmm_allocation *pool = sparse_pool(s, 2);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_sparse_array_info info;
        culv_sparse_array_desc d = describe(1024, 512);
        d.format = rows[i].format;
        if (culv_check_format(s->w.device, rows[i].format, CULV_TEXELS_STORED) != CULV_OK) continue;
        culv_sparse_array *array = create(s, &d, &info);
        MEASURED("library.sparse_tile", "%s: %u x %u", names[i], info.tile_width, info.tile_height);
        if (s->w.cu->software) {
            REQUIRE_EQ(info.tile_width, rows[i].width);
            REQUIRE_EQ(info.tile_height, rows[i].height);
        }
        const culv_sparse_region second = {
            .x = info.tile_width, .width = info.tile_width, .height = info.tile_height};
        LIB_OK(sparse_map(array, &second, pool, SPARSE_TILE, s->stream));
        const size_t row = info.tile_width / rows[i].block * rows[i].block_bytes;
        const sparse_box box = {info.array, row, 0, 0, row, info.tile_height / rows[i].block, 1};
        sparse_fill(s, &box, 60 + (uint32_t)i);
        REQUIRE_EQ(sparse_wrong(s, &box, 60 + (uint32_t)i), 0);
        culv_sparse_array_destroy(&array, NULL);
    }
    culv_vmm_allocation_destroy(&pool);
}

static void CUDA_CB nap(void *data)
{
    (void)data;
    lib_sleep_ms(50);
}

/* A mapping is work in its stream: behind what was submitted before, ahead of what comes after.
 * More regions than fit on the stack. */
SPARSE_CASE(in_stream_order)
{
    enum { ACROSS = 16 };
    culv_sparse_array_info info;
    culv_sparse_bind binds[ACROSS];
    const raw_cuda *cu = s->w.cu;
    const culv_sparse_array_desc d = describe(128 * ACROSS, 128);
    culv_sparse_array *array = create(s, &d, &info);
    culv_vmm_allocation *pool = sparse_pool(s, ACROSS);
    memset(binds, 0, sizeof binds);
    for (uint32_t i = 0; i < ACROSS; i++)
        binds[i] = (culv_sparse_bind){.array = array,
                                      .region = {.x = i * 128, .width = 128},
                                      .pool = pool,
                                      .pool_offset = (ACROSS - 1 - i) * (uint64_t)SPARSE_TILE};
    CUcontext before = lib_enter(&s->w);
    CU_OK(cu->LaunchHostFunc(s->stream, nap, NULL));
    double start = test_now_us();
    LIB_OK(culv_sparse_bind_batch(binds, ACROSS, s->stream));
    MEASURED("library.sparse_batch", "%.0f us for %d tiles behind a sleeping stream",
             test_now_us() - start, (int)ACROSS);
    MEASURED("library.sparse_pending", "%s", raw_cuda_result_name(cu->StreamQuery(s->stream)));
    lib_leave(&s->w, before);
    const sparse_box box = box_of(info.array, 0, 0, 128 * ACROSS, 128);
    sparse_fill(s, &box, 71); /* in the same stream */
    REQUIRE_EQ(sparse_wrong(s, &box, 71), 0);
    /* The same memory, the other way round: the last tile's is the pool's first. */
    const culv_sparse_region row = {0}, left = {.width = 128};
    LIB_OK(sparse_map(array, &row, NULL, 0, s->stream));
    LIB_OK(sparse_map(array, &left, pool, 0, s->stream));
    const sparse_box first = box_of(info.array, 0, 0, 128, 128);
    uint32_t *now = calloc(128 * 128, 4);
    REQUIRE(now != NULL);
    sparse_read(s, &first, now);
    for (uint32_t y = 0; y < 128; y++)
        for (uint32_t x = 0; x < 128; x++)
            REQUIRE_EQ(now[y * 128 + x], lib_word(y * 128 * ACROSS + (ACROSS - 1) * 128 + x, 71));
    free(now);
    LIB_OK(culv_sparse_bind_batch(NULL, 0, s->stream));
    culv_sparse_array_destroy(&array, &s->stream);
    lib_finish(&s->w, s->stream);
    culv_vmm_allocation_destroy(&pool);
}

/* In which order the tiles of a region lie in the pool. */
SPARSE_CASE(order)
{
    culv_sparse_array_info info;
    const culv_sparse_array_desc d = describe(256, 256);
    culv_sparse_array *array = create(s, &d, &info);
    culv_vmm_allocation *pool = sparse_pool(s, 4);
    const culv_sparse_region all = {0}, one = {.width = 128, .height = 128};
    const CUarray handle = info.array;
    const sparse_box first = box_of(handle, 0, 0, 128, 128);
    LIB_OK(sparse_map(array, &all, pool, 0, s->stream));
    for (uint32_t i = 0; i < 4; i++) {
        const sparse_box box = box_of(handle, i % 2 * 128, i / 2 * 128, 128, 128);
        sparse_fill(s, &box, i);
    }
    LIB_OK(sparse_map(array, &all, NULL, 0, s->stream));
    for (uint32_t place = 0; place < 4; place++) {
        uint32_t found = 0;
        LIB_OK(sparse_map(array, &one, pool, place * (uint64_t)SPARSE_TILE, s->stream));
        while (found < 4 && sparse_wrong(s, &first, found) > 0)
            found++;
        MEASURED("library.sparse_order", "tile %u of the pool is tile %u of 2 x 2 (4: none)", place,
                 found);
        if (s->w.cu->software) REQUIRE_EQ(found, place);
        LIB_OK(sparse_map(array, &one, NULL, 0, s->stream));
    }
    lib_finish(&s->w, s->stream);
    culv_sparse_array_destroy(&array, NULL);
    culv_vmm_allocation_destroy(&pool);
}

/* Which ways of mapping a mip tail and tiles take effect: told of NVIDIA's driver, required of the
 * twin. */
SPARSE_CASE(ways)
{
    static const char *const names[] = {
        "an array's tile",        "a level's tile",    "a level in one region", "the tail alone",
        "the tail after a level", "both in one batch", "in the legacy stream"};
    for (size_t way = 0; way < sizeof names / sizeof names[0]; way++) {
        culv_sparse_array_info info;
        CUarray level0 = NULL, level2 = NULL;
        culv_sparse_array_desc d = describe(256, 256);
        d.mip_levels = way == 0 ? 0 : 9;
        culv_sparse_array *array = create(s, &d, &info);
        culv_vmm_allocation *pool = sparse_pool(s, 32);
        const culv_sparse_region tile = {.width = 128, .height = 128}, all = {0};
        const culv_sparse_bind both[2] = {{.array = array, .pool = pool},
                                          {.array = array,
                                           .part = CULV_SPARSE_MIP_TAIL,
                                           .pool = pool,
                                           .pool_offset = 16 * SPARSE_TILE}};
        const bool tail = way >= 3, whole = way == 2 || way >= 4, legacy = way == 6;
        if (way < 2) LIB_OK(sparse_map(array, &tile, pool, 0, s->stream));
        if (way == 2 || way == 4 || legacy)
            LIB_OK(sparse_map(array, &all, pool, 0, legacy ? NULL : s->stream));
        if (way == 3 || way == 4 || legacy)
            LIB_OK(sparse_map_tail(array, 0, pool, 16 * SPARSE_TILE, legacy ? NULL : s->stream));
        if (way == 5) LIB_OK(culv_sparse_bind_batch(both, 2, s->stream));
        if (legacy) lib_finish(&s->w, NULL);
        LIB_OK(culv_sparse_array_get_level(array, 0, &level0));
        const uint32_t side = whole ? 256 : 128;
        const sparse_box in_level = box_of(level0, 0, 0, side, side);
        size_t wrong_level = 0, wrong_tail = 0;
        if (way != 3) sparse_fill(s, &in_level, 81);
        if (tail) {
            LIB_OK(culv_sparse_array_get_level(array, 2, &level2));
            const sparse_box in_tail = box_of(level2, 0, 0, 64, 64);
            sparse_fill(s, &in_tail, 82);
            wrong_tail = sparse_wrong(s, &in_tail, 82);
        }
        if (way != 3) wrong_level = sparse_wrong(s, &in_level, 81);
        MEASURED("library.sparse_way", "%s: %zu bytes wrong in level 0, %zu in the tail",
                 names[way], wrong_level, wrong_tail);
        if (s->w.cu->software) REQUIRE(wrong_level == 0 && wrong_tail == 0);
        lib_finish(&s->w, s->stream);
        culv_sparse_array_destroy(&array, NULL);
        culv_vmm_allocation_destroy(&pool);
    }
}

/* A pool that is given up once its tiles were unmapped; the next one takes its place. */
SPARSE_CASE(pools_in_turn)
{
    culv_sparse_array_info info;
    const culv_sparse_array_desc d = describe(128, 128);
    culv_sparse_array *array = create(s, &d, &info);
    culv_vmm_allocation *pool = sparse_pool(s, 1);
    const culv_sparse_region all = {0};
    LIB_OK(sparse_map(array, &all, pool, 0, s->stream));
    const sparse_box box = box_of(info.array, 0, 0, 128, 128);
    sparse_fill(s, &box, 91);
    LIB_OK(sparse_map(array, &all, NULL, 0, s->stream));
    lib_finish(&s->w, s->stream);
    culv_vmm_allocation_destroy(&pool);
    pool = sparse_pool(s, 1);
    LIB_OK(sparse_map(array, &all, pool, 0, s->stream));
    sparse_fill(s, &box, 92);
    REQUIRE_EQ(sparse_wrong(s, &box, 92), 0);
    culv_sparse_array_destroy(&array, NULL);
    culv_vmm_allocation_destroy(&pool);
}
