/* SPDX-License-Identifier: MIT */
/* Sparse arrays by data: tiles, levels, mip tails, layers, slices, blocks; and what is refused,
 * before the driver sees it. */
#define TEST_GROUP "sparse."
#include "cuda/device.h"
#include "sparse_stage.h"

static culv_sparse_array_desc describe(uint32_t width, uint32_t height, uint32_t levels)
{
    culv_sparse_array_desc d = culv_sparse_array_desc_init();
    d.format = CULV_FORMAT_R32_UINT;
    d.width = width;
    d.height = height;
    d.mip_levels = levels;
    d.label = "sparse";
    return d;
}

/* The stage's array, and a pool for all of it. */
static culv_sparse_array_info open_array(sparse_stage *s, const culv_sparse_array_desc *d)
{
    culv_sparse_array_info info = culv_sparse_array_info_init();
    if (!lib_caps(s->w.device).sparse_arrays) SKIP("no sparse arrays");
    LIB_OK(culv_sparse_array_create(s->w.device, d, &s->array));
    LIB_OK(culv_sparse_array_get_info(s->array, &info));
    REQUIRE_EQ(info.tile_bytes, SPARSE_TILE);
    s->pool = sparse_pool(s, info.full_size / SPARSE_TILE);
    return info;
}

static uint64_t size_of(const culv_sparse_array *array, const culv_sparse_region *region)
{
    uint64_t bytes = 0;
    LIB_OK(culv_sparse_array_get_region_size(array, region, &bytes));
    return bytes;
}

static void map(const sparse_stage *s, const culv_sparse_region *region, uint64_t tile)
{
    LIB_OK(sparse_map(s->array, region, s->pool, tile * SPARSE_TILE, s->stream));
}

static void unmap(const sparse_stage *s, const culv_sparse_region *region)
{
    LIB_OK(sparse_map(s->array, region, NULL, 0, s->stream));
}

/* A box of 32-bit texels. */
static sparse_box box_of(CUarray array, size_t x, size_t y, size_t width, size_t height)
{
    return (sparse_box){array, x * 4, y, 0, width * 4, height, 1};
}

/* Tiles hold what is put there; the pool keeps it for the tile that comes next. */
SPARSE_CASE(tiles)
{
    const culv_sparse_array_desc d = describe(512, 384, 0);
    const culv_sparse_array_info info = open_array(s, &d);
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
    LIB_OK(culv_sparse_array_get_level(s->array, 0, &level));
    REQUIRE(level == handle);
    culv_sparse_region two = {.x = 128, .width = 256, .height = 128};
    const culv_sparse_region one = {.y = 256, .width = 128};
    REQUIRE_EQ(size_of(s->array, &two), 2 * SPARSE_TILE);
    map(s, &two, 0);
    map(s, &one, 8);
    const sparse_box first = box_of(handle, 128, 0, 256, 128),
                     second = box_of(handle, 0, 256, 128, 128);
    sparse_fill(s, &first, 5);
    sparse_fill(s, &second, 6);
    REQUIRE_EQ(sparse_wrong(s, &first, 5), 0);
    REQUIRE_EQ(sparse_wrong(s, &second, 6), 0);
    /* The first two go, and come back elsewhere. */
    unmap(s, &two);
    two.x = 256;
    two.y = 128;
    map(s, &two, 0);
    const sparse_box moved = box_of(handle, 256, 128, 256, 128);
    REQUIRE_EQ(sparse_wrong(s, &moved, 5), 0);
    REQUIRE_EQ(sparse_wrong(s, &second, 6), 0);
    unmap(s, &one);
    uint32_t *words = test_memory(128 * 128 * 4);
    sparse_read(s, &second, words);
    size_t zeros = 0;
    for (size_t i = 0; i < 128 * 128; i++)
        zeros += words[i] == 0;
    MEASURED("library.sparse_unmapped", "%zu of 16384 words are 0 once their tile was unmapped",
             zeros);
    if (s->w.cu->software) REQUIRE_EQ(zeros, 128 * 128);
    culv_sparse_array_destroy(&s->array, NULL); /* two tiles mapped as they are */
    REQUIRE(s->array == NULL);
}

/* Levels of whole tiles and the tail, in one batch. */
SPARSE_CASE(levels)
{
    culv_sparse_bind binds[4];
    culv_sparse_array_desc d = describe(512, 512, 0);
    d.mip_levels = 10;
    const culv_sparse_array_info info = open_array(s, &d);
    REQUIRE(info.array == NULL && info.mipmapped_array != NULL);
    REQUIRE_EQ(info.mip_tail_first_level, 3);
    REQUIRE_EQ(info.mip_tail_size, SPARSE_TILE);
    REQUIRE_EQ(info.mip_tail_single, 1);
    REQUIRE_EQ(info.full_size, (16 + 4 + 1 + 1) * SPARSE_TILE);
    uint64_t at = 0;
    memset(binds, 0, sizeof binds);
    for (uint32_t i = 0; i < 4; i++) {
        binds[i].array = s->array;
        binds[i].pool = s->pool;
        binds[i].pool_offset = at;
        binds[i].part = i == 3 ? CULV_SPARSE_MIP_TAIL : CULV_SPARSE_TILES;
        binds[i].region.level = i;
        if (i < 3) at += size_of(s->array, &binds[i].region);
    }
    LIB_OK(culv_sparse_bind_batch(binds, 4, s->stream));
    for (int turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; i < 10; i++) {
            CUarray level = NULL;
            LIB_OK(culv_sparse_array_get_level(s->array, i, &level));
            const sparse_box box = box_of(level, 0, 0, 512u >> i, 512u >> i);
            if (turn == 0) sparse_fill(s, &box, 100 + i);
            if (turn == 1) REQUIRE_EQ(sparse_wrong(s, &box, 100 + i), 0);
        }
    for (uint32_t i = 0; i < 3; i++)
        unmap(s, &binds[i].region);
    LIB_OK(sparse_map_tail(s->array, 0, NULL, 0, s->stream));
    lib_finish(&s->w, s->stream);
    culv_sparse_array_destroy(&s->array, &s->stream);
}

/* Layers have tiles of their own, and a tail each or one for all: mapped as the driver says. */
SPARSE_CASE(layers)
{
    CUarray level = NULL;
    culv_sparse_array_desc d = describe(256, 256, 0);
    d.array_layers = 3;
    d.mip_levels = 9;
    const culv_sparse_array_info info = open_array(s, &d);
    MEASURED("library.sparse_layers", "3 layers, 9 levels: tail from level %u, %llu bytes, %s",
             info.mip_tail_first_level, (unsigned long long)info.mip_tail_size,
             info.mip_tail_single ? "one for all layers" : "one a layer");
    REQUIRE_EQ(info.array_layers, 3);
    REQUIRE_EQ(info.mip_tail_first_level, 2);
    uint64_t at = 0;
    for (uint32_t layer = 0; layer < 3; layer++)
        for (uint32_t i = 0; i < 2; i++) {
            const culv_sparse_region all = {.level = i, .layer = layer};
            LIB_OK(sparse_map(s->array, &all, s->pool, at, s->stream));
            at += size_of(s->array, &all);
        }
    for (uint32_t layer = 0; layer < (info.mip_tail_single ? 1u : 3u); layer++) {
        LIB_OK(sparse_map_tail(s->array, layer, s->pool, at, s->stream));
        at += info.mip_tail_size;
    }
    REQUIRE_EQ(at, info.full_size);
    for (uint32_t i = 0; i < 18; i++) { /* all are written, then all are read */
        const uint32_t of = i % 9, side = 256u >> of;
        LIB_OK(culv_sparse_array_get_level(s->array, of, &level));
        const sparse_box box = {level, 0, 0, 0, side * 4, side, 3};
        if (i < 9) sparse_fill(s, &box, 200 + of);
        if (i >= 9) REQUIRE_EQ(sparse_wrong(s, &box, 200 + of), 0);
    }
}

/* An array that is smaller than a tile, which is all tail; slices; and edges, at which the part of
 * a tile that lies within is mapped (measured: the driver refuses the whole of it). */
SPARSE_CASE(shapes)
{
    static const struct {
        const char *name;
        uint32_t width, height, depth, tiles; /* depth 0: 2D; tiles 0: as the driver likes */
        unsigned maps;                        /* regions; 0: the tail */
        struct {
            culv_sparse_region region;
            sparse_box box; /* what it maps */
            uint64_t at;    /* in tiles of the pool */
        } map[2];
    } rows[] = {
        {"small", 64, 48, 0, 1, 0, {{{0}, {NULL, 0, 0, 0, 256, 48, 1}, 1}}},
        {"volume",
         64,
         64,
         32,
         0,
         1,
         {{{.x = 32, .z = 16, .width = 32}, {NULL, 128, 0, 16, 128, 64, 16}, 3}}},
        {"edges",
         300,
         200,
         0,
         6,
         2,
         {{{.x = 256, .y = 128, .width = 44, .height = 72, .depth = 1},
           {NULL, 1024, 128, 0, 176, 72, 1},
           5},
          {{.width = 256}, {NULL, 0, 0, 0, 1024, 200, 1}, 0}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const bool tail = rows[i].maps == 0, solid = rows[i].depth != 0;
        culv_sparse_array_desc d = describe(rows[i].width, rows[i].height, 0);
        printf("%s\n", rows[i].name);
        if (solid) d.type = CULV_IMAGE_3D;
        d.depth = rows[i].depth;
        const culv_sparse_array_info info = open_array(s, &d);
        if (rows[i].tiles != 0) REQUIRE_EQ(info.full_size, rows[i].tiles * SPARSE_TILE);
        if (tail) REQUIRE(info.mip_tail_first_level == 0 && info.mip_tail_single == 1);
        if (tail) REQUIRE_EQ(info.mip_tail_size, SPARSE_TILE);
        if (solid)
            REQUIRE(info.tile_width == 32 && info.tile_height == 32 && info.tile_depth == 16);
        if (solid) REQUIRE_EQ(size_of(s->array, &rows[i].map[0].region), 2 * SPARSE_TILE);
        sparse_box boxes[2] = {rows[i].map[0].box, rows[i].map[1].box};
        for (unsigned k = 0; k < (tail ? 1 : rows[i].maps); k++) {
            if (tail) /* the pool has more than one tile */
                LIB_OK(sparse_map_tail(s->array, 0, s->pool, SPARSE_TILE, s->stream));
            else
                map(s, &rows[i].map[k].region, rows[i].map[k].at);
            boxes[k].array = info.array;
            sparse_fill(s, &boxes[k], 41 + k);
        }
        REQUIRE_EQ(sparse_wrong(s, &boxes[0], 41), 0);
        if (!tail) unmap(s, &rows[i].map[0].region);
        if (rows[i].maps == 2) REQUIRE_EQ(sparse_wrong(s, &boxes[1], 42), 0);
        culv_sparse_array_destroy(&s->array, NULL);
        culv_vmm_allocation_destroy(&s->pool);
    }
}

/* A tail of several tiles' bytes, mapped in two parts: the second is all the rest. */
SPARSE_CASE(tail_in_parts)
{
    const culv_sparse_array_desc d = describe(4096, 40, 0); /* lower than a tile */
    const culv_sparse_array_info info = open_array(s, &d);
    if (info.mip_tail_first_level != 0 || info.mip_tail_size < 3 * (uint64_t)SPARSE_TILE) {
        MEASURED("library.sparse_low_array", "no tail of several tiles: %llu bytes from level %u",
                 (unsigned long long)info.mip_tail_size, info.mip_tail_first_level);
        REQUIRE(!s->w.cu->software);
        return;
    }
    const uint64_t rest = info.mip_tail_size - SPARSE_TILE, end = lib_allocation(s->pool).size;
    culv_sparse_bind bind = {.array = s->array,
                             .part = CULV_SPARSE_MIP_TAIL,
                             .pool = s->pool,
                             .tail_size = SPARSE_TILE,
                             .pool_offset = end - rest - SPARSE_TILE};
    LIB_OK(culv_sparse_bind_batch(&bind, 1, s->stream));
    bind.tail_offset = SPARSE_TILE;
    bind.tail_size = 0;
    bind.pool_offset = end - rest; /* the last bytes of the pool */
    LIB_OK(culv_sparse_bind_batch(&bind, 1, s->stream));
    bind.pool_offset += SPARSE_TILE;
    LIB_INVALID(culv_sparse_bind_batch(&bind, 1, s->stream), RANGE);
    const sparse_box box = box_of(info.array, 0, 0, 4096, 40);
    sparse_fill(s, &box, 33);
    REQUIRE_EQ(sparse_wrong(s, &box, 33), 0);
}

/* Tiles that follow one another go in one driver call, and each tail in one of its own: an H200
 * leaves a tail unmapped that follows tiles in a list (measured, docs/vmm-more.md). */
SPARSE_CASE(calls_of_batches)
{
    static const struct {
        const char *parts; /* t: tiles of a level, T: the tail */
        uint64_t calls;
    } rows[] = {{"t", 1}, {"tt", 1}, {"T", 1}, {"tT", 2}, {"Tt", 2}, {"ttTt", 3}, {"tTTt", 4}};
    uint64_t others = 0; /* calls of any batch */
    if (s->w.cu->SoftCounts == NULL) SKIP("only the twin counts its calls");
    culv_sparse_array_desc d = describe(512, 512, 0);
    d.mip_levels = 10;
    (void)open_array(s, &d);
    for (int again = 0; again < 2; again++) /* the first batch asks about the stream too */
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            culv_sparse_bind binds[4];
            uint32_t count = 0;
            memset(binds, 0, sizeof binds);
            for (; rows[i].parts[count] != '\0'; count++) {
                binds[count].array = s->array;
                binds[count].pool = s->pool;
                binds[count].part =
                    rows[i].parts[count] == 'T' ? CULV_SPARSE_MIP_TAIL : CULV_SPARSE_TILES;
                binds[count].region.level = rows[i].parts[count] == 'T' ? 0 : 2;
            }
            const uint64_t before = sparse_driver_calls(s->w.cu);
            LIB_OK(culv_sparse_bind_batch(binds, count, s->stream));
            const uint64_t made = sparse_driver_calls(s->w.cu) - before;
            if (i == 0) others = made - 1;
            if (again) REQUIRE_EQ(made, others + rows[i].calls);
        }
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
    culv_sparse_array_desc d = describe(300, 200, 0);
    d.mip_levels = 2;
    const culv_sparse_array_info info = open_array(s, &d);
    if (info.tile_width != 128 || info.tile_height != 128) SKIP("tiles of another shape");
    const uint64_t end = lib_allocation(s->pool).size;
    /* Level 1 has 150 x 100 texels, which some drivers put into the tail. */
    REQUIRE_EQ(info.full_size, info.mip_tail_size + (info.mip_tail_first_level == 2 ? 8 : 6) *
                                                        (uint64_t)SPARSE_TILE);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const culv_sparse_region *region = &rows[i].region;
        if (region->level >= info.mip_tail_first_level) continue;
        const uint64_t bytes = size_of(s->array, region);
        REQUIRE_EQ(bytes, rows[i].tiles * SPARSE_TILE);
        LIB_OK(sparse_map(s->array, region, s->pool, end - bytes, s->stream));
        LIB_INVALID(sparse_map(s->array, region, s->pool, end - bytes + SPARSE_TILE, s->stream),
                    RANGE);
        LIB_INVALID(sparse_map(s->array, region, s->pool, end, s->stream), RANGE);
        unmap(s, region);
    }
}

/* Other texels, blocks among them: tiles are told in texels, and hold 64 KiB. */
SPARSE_CASE(formats)
{
    static const struct {
        const char *name;
        culv_format format;
        uint32_t width, height, block, block_bytes; /* of a tile: Vulkan's standard shapes */
    } rows[] = {
#define ROW(format, ...) {#format, CULV_FORMAT_##format, __VA_ARGS__}
        ROW(R8_UINT, 256, 256, 1, 1),
        ROW(R16_UINT, 256, 128, 1, 2),
        ROW(R8G8B8A8_UNORM, 128, 128, 1, 4),
        ROW(R16G16B16A16_SFLOAT, 128, 64, 1, 8),
        ROW(R32G32B32A32_SFLOAT, 64, 64, 1, 16),
        ROW(BC1_RGBA_UNORM_BLOCK, 512, 256, 4, 8),
        ROW(BC7_UNORM_BLOCK, 256, 256, 4, 16)
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_sparse_array_desc d = describe(1024, 512, 0);
        d.format = rows[i].format;
        if (culv_check_format(s->w.device, rows[i].format, CULV_TEXELS_STORED) != CULV_OK) continue;
        const culv_sparse_array_info info = open_array(s, &d);
        MEASURED("library.sparse_tile", "%s: %u x %u", rows[i].name, info.tile_width,
                 info.tile_height);
        if (s->w.cu->software) {
            REQUIRE_EQ(info.tile_width, rows[i].width);
            REQUIRE_EQ(info.tile_height, rows[i].height);
        }
        const culv_sparse_region second = {
            .x = info.tile_width, .width = info.tile_width, .height = info.tile_height};
        map(s, &second, 1);
        const size_t row = info.tile_width / rows[i].block * rows[i].block_bytes;
        const sparse_box box = {info.array, row, 0, 0, row, info.tile_height / rows[i].block, 1};
        sparse_fill(s, &box, 60 + (uint32_t)i);
        REQUIRE_EQ(sparse_wrong(s, &box, 60 + (uint32_t)i), 0);
        culv_sparse_array_destroy(&s->array, NULL);
        culv_vmm_allocation_destroy(&s->pool);
    }
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
    culv_sparse_bind binds[ACROSS];
    const raw_cuda *cu = s->w.cu;
    const culv_sparse_array_desc d = describe(128 * ACROSS, 128, 0);
    const culv_sparse_array_info info = open_array(s, &d);
    memset(binds, 0, sizeof binds);
    for (uint32_t i = 0; i < ACROSS; i++)
        binds[i] = (culv_sparse_bind){.array = s->array,
                                      .region = {.x = i * 128, .width = 128},
                                      .pool = s->pool,
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
    unmap(s, &row);
    map(s, &left, 0);
    const sparse_box first = box_of(info.array, 0, 0, 128, 128);
    uint32_t *now = test_memory(128 * 128 * 4);
    sparse_read(s, &first, now);
    for (uint32_t y = 0; y < 128; y++)
        for (uint32_t x = 0; x < 128; x++)
            REQUIRE_EQ(now[y * 128 + x], lib_word(y * 128 * ACROSS + (ACROSS - 1) * 128 + x, 71));
    LIB_OK(culv_sparse_bind_batch(NULL, 0, s->stream));
    culv_sparse_array_destroy(&s->array, &s->stream);
    lib_finish(&s->w, s->stream);
    culv_vmm_allocation_destroy(&s->pool);
}

/* In which order the tiles of a region lie in the pool. */
SPARSE_CASE(order)
{
    const culv_sparse_array_desc d = describe(256, 256, 0);
    const culv_sparse_array_info info = open_array(s, &d);
    const culv_sparse_region all = {0}, one = {.width = 128, .height = 128};
    const CUarray handle = info.array;
    const sparse_box first = box_of(handle, 0, 0, 128, 128);
    map(s, &all, 0);
    for (uint32_t i = 0; i < 4; i++) {
        const sparse_box box = box_of(handle, i % 2 * 128, i / 2 * 128, 128, 128);
        sparse_fill(s, &box, i);
    }
    unmap(s, &all);
    for (uint32_t place = 0; place < 4; place++) {
        uint32_t found = 0;
        map(s, &one, place);
        while (found < 4 && sparse_wrong(s, &first, found) > 0)
            found++;
        MEASURED("library.sparse_order", "tile %u of the pool is tile %u of 2 x 2 (4: none)", place,
                 found);
        if (s->w.cu->software) REQUIRE_EQ(found, place);
        unmap(s, &one);
    }
}

/* Which ways of mapping a mip tail and tiles take effect: told of NVIDIA's driver, required of the
 * twin. */
SPARSE_CASE(ways)
{
    static const char *const names[] = {
        "an array's tile",        "a level's tile",    "a level in one region", "the tail alone",
        "the tail after a level", "both in one batch", "in the legacy stream"};
    const uint64_t tail_at = 4 * SPARSE_TILE;
    for (size_t way = 0; way < sizeof names / sizeof names[0]; way++) {
        CUarray level0 = NULL, level2 = NULL;
        culv_sparse_array_desc d = describe(256, 256, 0);
        d.mip_levels = way == 0 ? 0 : 9;
        (void)open_array(s, &d);
        const culv_sparse_region tile = {.width = 128, .height = 128}, all = {0};
        const culv_sparse_bind both[2] = {{.array = s->array, .pool = s->pool},
                                          {.array = s->array,
                                           .part = CULV_SPARSE_MIP_TAIL,
                                           .pool = s->pool,
                                           .pool_offset = tail_at}};
        const bool tail = way >= 3, whole = way == 2 || way >= 4, legacy = way == 6;
        if (way < 2) LIB_OK(sparse_map(s->array, &tile, s->pool, 0, s->stream));
        if (way == 2 || way == 4 || legacy)
            LIB_OK(sparse_map(s->array, &all, s->pool, 0, legacy ? NULL : s->stream));
        if (way == 3 || way == 4 || legacy)
            LIB_OK(sparse_map_tail(s->array, 0, s->pool, tail_at, legacy ? NULL : s->stream));
        if (way == 5) LIB_OK(culv_sparse_bind_batch(both, 2, s->stream));
        if (legacy) lib_finish(&s->w, NULL);
        LIB_OK(culv_sparse_array_get_level(s->array, 0, &level0));
        const uint32_t side = whole ? 256 : 128;
        const sparse_box in_level = box_of(level0, 0, 0, side, side);
        size_t wrong_level = 0, wrong_tail = 0;
        if (way != 3) sparse_fill(s, &in_level, 81);
        if (tail) {
            LIB_OK(culv_sparse_array_get_level(s->array, 2, &level2));
            const sparse_box in_tail = box_of(level2, 0, 0, 64, 64);
            sparse_fill(s, &in_tail, 82);
            wrong_tail = sparse_wrong(s, &in_tail, 82);
        }
        if (way != 3) wrong_level = sparse_wrong(s, &in_level, 81);
        MEASURED("library.sparse_way", "%s: %zu bytes wrong in level 0, %zu in the tail",
                 names[way], wrong_level, wrong_tail);
        if (s->w.cu->software) REQUIRE(wrong_level == 0 && wrong_tail == 0);
        lib_finish(&s->w, s->stream);
        culv_sparse_array_destroy(&s->array, NULL);
        culv_vmm_allocation_destroy(&s->pool);
    }
}

/* A pool that is given up once its tiles were unmapped; the next one takes its place. */
SPARSE_CASE(pools_in_turn)
{
    const culv_sparse_array_desc d = describe(128, 128, 0);
    const culv_sparse_array_info info = open_array(s, &d);
    const culv_sparse_region all = {0};
    map(s, &all, 0);
    const sparse_box box = box_of(info.array, 0, 0, 128, 128);
    sparse_fill(s, &box, 91);
    unmap(s, &all);
    lib_finish(&s->w, s->stream);
    culv_vmm_allocation_destroy(&s->pool);
    s->pool = sparse_pool(s, 1);
    map(s, &all, 0);
    sparse_fill(s, &box, 92);
    REQUIRE_EQ(sparse_wrong(s, &box, 92), 0);
}

/* What is refused ------------------------------------------------------------------------------ */

#undef TEST_GROUP
#define TEST_GROUP "sparse_refused."

static void refuse(const sparse_stage *s, const culv_sparse_array_desc *d, culv_result class,
                   culv_reason reason, const char *says)
{
    culv_sparse_array *array;
    const uint64_t before = sparse_driver_calls(s->w.cu);
    LIB_REFUSES_AS(array, culv_sparse_array_create(s->w.device, d, &array), class, reason, says);
    REQUIRE_EQ(sparse_driver_calls(s->w.cu), before);
}

SPARSE_CASE(arrays)
{
    culv_sparse_array *array;
    if (!s->w.device->caps.sparse_arrays) SKIP("no sparse arrays");
    culv_sparse_array_desc d = describe(512, 512, 0);
#define ROW(change, class, why, says)                                                              \
    SPOILT(d, change, refuse(s, &d, CULV_ERROR_##class, CULV_REASON_##why, says))
    ROW(d.struct_size = 0, INVALID, STRUCT_SIZE, "");
    ROW(d.type = CULV_IMAGE_1D, INVALID, VALUE, "2D");
    ROW((d.type = CULV_IMAGE_CUBE, d.array_layers = 6), INVALID, VALUE, "2D");
    ROW(d.type = (culv_image_type)77, INVALID, VALUE, "2D");
    ROW(d.height = 0, INVALID, EXTENT, "");
    ROW(d.depth = 2, INVALID, EXTENT, "");
    ROW((d.type = CULV_IMAGE_3D, d.depth = 16, d.array_layers = 2), INVALID, EXTENT, "");
    ROW(d.type = CULV_IMAGE_3D, INVALID, EXTENT, "");
    ROW((d.type = CULV_IMAGE_3D, d.depth = 1u << 20), INVALID, EXTENT, "");
    ROW(d.mip_levels = 11, INVALID, EXTENT, "at most 10 levels");
    ROW((d.texture_gather = 1, d.array_layers = 2), INVALID, EXTENT, "");
    ROW(d.texels = (culv_texels)5, INVALID, VALUE, "");
    ROW(d.format = CULV_FORMAT_NONE, UNSUPPORTED, FORMAT, "");
    ROW(d.format = CULV_FORMAT_R8G8B8_UNORM, UNSUPPORTED, FORMAT, "");
    ROW(d.format = CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, UNSUPPORTED, FORMAT, "");
    ROW(d.format = (culv_format)123456, UNSUPPORTED, FORMAT, "");
    ROW(d.texels = CULV_TEXELS_NORMALIZED, UNSUPPORTED, FORMAT, ""); /* R32_UINT has none */
    /* A driver of another age, or a device of another kind. */
    SPOILT(s->w.device->tables[0].api.cuMemMapArrayAsync,
           s->w.device->tables[0].api.cuMemMapArrayAsync = NULL,
           refuse(s, &d, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD, ""));
    SPOILT(s->w.device->caps.sparse_arrays, s->w.device->caps.sparse_arrays = 0,
           refuse(s, &d, CULV_ERROR_UNSUPPORTED, CULV_REASON_VMM, ""));
#undef ROW
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
    const uint64_t before = sparse_driver_calls(b->s.w.cu);
    LIB_FAILS(culv_sparse_bind_batch(two, 2, b->s.stream), CULV_ERROR_INVALID, reason, "binds[1].",
              says);
    REQUIRE_EQ(sparse_driver_calls(b->s.w.cu), before);
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

#define BINDS_CASE(...) TEST_ON(binds_stage, b, open_binds(b), close_binds(b), __VA_ARGS__)

BINDS_CASE(regions)
{
    struct {
        culv_sparse_array *array;
        culv_sparse_region region;
        culv_reason reason;
        const char *says;
    } rows[] = {
        {b->plain, {.level = 1}, CULV_REASON_LEVEL, "has 1 levels"},
        {b->mipmapped, {.level = 10}, CULV_REASON_LEVEL, "has 10 levels"},
        {b->mipmapped, {.level = 3}, CULV_REASON_LEVEL, "mip tail"},
        {b->plain, {.layer = 1}, CULV_REASON_RANGE, "has 1 layers"},
        {b->layered, {.layer = 2}, CULV_REASON_RANGE, "has 2 layers"},
        {b->plain, {.x = 512}, CULV_REASON_RANGE, "ends at 512"},
        {b->plain, {.x = 64}, CULV_REASON_VALUE, "multiple of the tile's 128"},
        {b->plain, {.y = 1}, CULV_REASON_VALUE, "region.y"},
        {b->plain, {.z = 1}, CULV_REASON_RANGE, "region.z"},
        {b->plain, {.x = 384, .width = 256}, CULV_REASON_RANGE, "ends at 512"},
        {b->plain, {.width = 100}, CULV_REASON_VALUE, "region.width"},
        {b->plain, {.height = 300}, CULV_REASON_VALUE, "region.height"},
        {b->plain, {.depth = 2}, CULV_REASON_RANGE, "region.depth"},
        {b->plain, {.width = UINT32_MAX}, CULV_REASON_RANGE, "region.width"},
        {b->plain, {.x = UINT32_MAX & ~127u, .width = 128}, CULV_REASON_RANGE, "region.x"},
        {b->volume, {.z = 8}, CULV_REASON_VALUE, "multiple of the tile's 16"},
        {b->volume, {.z = 16, .depth = 8}, CULV_REASON_VALUE, "region.depth"},
        {b->odd, {.x = 256, .width = 128}, CULV_REASON_RANGE, "ends at 300"},
        {b->odd, {.x = 256, .width = 40}, CULV_REASON_VALUE, "region.width"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t bytes = 77;
        const culv_sparse_bind bind = {
            .array = rows[i].array, .region = rows[i].region, .pool = b->pool};
        refuse_bind(b, &bind, rows[i].reason, rows[i].says);
        LIB_FAILS(culv_sparse_array_get_region_size(rows[i].array, &rows[i].region, &bytes),
                  CULV_ERROR_INVALID, rows[i].reason);
        LIB_FAILS(sparse_map(rows[i].array, &rows[i].region, b->pool, 0, b->s.stream),
                  CULV_ERROR_INVALID, rows[i].reason);
        LIB_FAILS(sparse_map(rows[i].array, &rows[i].region, NULL, 0, b->s.stream),
                  CULV_ERROR_INVALID, rows[i].reason);
        REQUIRE_EQ(bytes, 77);
    }
}

BINDS_CASE(pools_and_tails)
{
    const uint64_t tile = SPARSE_TILE;
    const char *const small = "but the pool has 2097152";
    culv_sparse_bind bind = b->bind;
#define ROW(change, why, says) SPOILT(bind, change, refuse_bind(b, &bind, CULV_REASON_##why, says))
    ROW(bind.pool = b->memory, USAGE, "not a tile pool");
    ROW(bind.pool_offset = 4096, VALUE, "pool_offset is 4096");
    ROW(bind.pool_offset = 32 * tile, RANGE, small);
    ROW(bind.pool_offset = 21 * tile, RANGE, small);
    ROW(bind.pool_offset = UINT64_MAX / tile * tile, RANGE, small);
    ROW((bind.pool = NULL, bind.pool_offset = tile), VALUE, "which unmaps");
    ROW(bind.part = (culv_sparse_part)2, VALUE, "part is 2");
    ROW(bind.tail_size = tile, VALUE, "part is TILES");
    bind.part = CULV_SPARSE_MIP_TAIL;
    ROW(bind.pool = b->pool, LEVEL, "has no mip tail");
    bind.array = b->mipmapped;
    ROW(bind.region.layer = 1, RANGE, "layer is 1");
    ROW(bind.tail_offset = 4096, VALUE, "tail_offset is 4096");
    ROW(bind.tail_offset = tile, RANGE, "tail_offset 65536");
    ROW(bind.tail_size = 2 * tile, RANGE, "tail_size is 131072");
    ROW((bind.array = b->layered, bind.region.layer = 2), RANGE, "layer is 2");
    ROW(bind.array = NULL, NULL_ARGUMENT, "array is NULL");
#undef ROW
    LIB_INVALID(culv_sparse_bind_batch(NULL, 1, b->s.stream), NULL_ARGUMENT);
    CUarray level;
    LIB_INVALID(sparse_map_tail(b->plain, 0, NULL, 0, b->s.stream), LEVEL);
    LIB_INVALID(culv_sparse_array_get_level(b->mipmapped, 10, &level), LEVEL);
    LIB_INVALID(culv_sparse_array_get_level(b->mipmapped, 0, NULL), NULL_ARGUMENT);
}

static void open_two(sparse_stage *s)
{
    raw_cuda_two_devices();
    sparse_stage_open(s);
}

TEST_ON(sparse_stage, s, open_two(s), sparse_stage_close(s), streams)
{
    CUgraph graph = NULL;
    const raw_cuda *cu = s->w.cu;
    culv_sparse_array *other = NULL;
    const culv_sparse_array_desc d = describe(128, 128, 0);
    const culv_sparse_region all = {0};
    (void)open_array(s, &d);
    /* A capture is refused, and goes on. */
    CUcontext before = lib_enter(&s->w);
    CU_OK(cu->StreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    LIB_INVALID(sparse_map(s->array, &all, s->pool, 0, s->stream), CAPTURE);
    CU_OK(cu->StreamEndCapture(s->stream, &graph));
    CU_OK(cu->GraphDestroy(graph));
    /* One in another stream is not broken either. */
    CUstream captured;
    CU_OK(cu->StreamCreate(&captured, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->StreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
    LIB_OK(sparse_map(s->array, &all, s->pool, 0, s->stream));
    CU_OK(cu->StreamEndCapture(captured, &graph));
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->StreamDestroy(captured));
    /* The legacy stream waits for every blocking one, and so for what is captured. */
    CU_OK(cu->StreamCreate(&captured, CU_STREAM_DEFAULT));
    CU_OK(cu->StreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    LIB_INVALID(sparse_map(s->array, &all, s->pool, 0, NULL), CAPTURE);
    CU_OK(cu->StreamEndCapture(captured, &graph));
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->StreamDestroy(captured));
    LIB_OK(sparse_map(s->array, &all, s->pool, 0, NULL));
    lib_leave(&s->w, before);
    culv_device *second = sparse_stage_second(s);
    if (second != NULL) {
        sparse_stage t = {
            .w = {.cu = cu, .device = second, .context = culv_device_context(second)}};
        t.stream = lib_stream(&t.w);
        culv_vmm_allocation *far = sparse_pool(&t, 1);
        LIB_INVALID(sparse_map(s->array, &all, far, 0, s->stream), DEVICE_MISMATCH);
        LIB_INVALID(sparse_map(s->array, &all, s->pool, 0, t.stream), STREAM_DEVICE);
        LIB_OK(culv_sparse_array_create(second, &d, &other));
        const culv_sparse_bind two[2] = {{.array = s->array, .pool = s->pool},
                                         {.array = other, .pool = far}};
        LIB_INVALID(culv_sparse_bind_batch(two, 2, s->stream), DEVICE_MISMATCH);
        LIB_OK(culv_sparse_bind_batch(two + 1, 1, t.stream)); /* the second device's own bit */
        culv_sparse_array_destroy(&other, NULL);
        culv_vmm_allocation_destroy(&far);
        lib_stream_destroy(&t.w, t.stream);
        culv_device_close(&second);
    } else {
        printf("one CUDA device only\n");
    }
}
