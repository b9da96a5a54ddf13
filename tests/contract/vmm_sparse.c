/* SPDX-License-Identifier: MIT */
/* Contract rows: sparse arrays and mipmapped arrays, mapped on tile pools (R22). */
#define TEST_GROUP "vmm_sparse."
#include "contract.h"

#define TILE_BYTES 65536u
#define POOL_SIZE  (4 * VMM_SIZE)

typedef struct sparse_pair {
    pair p;
    PFN_cuMemMapArrayAsync_v11010 map;
    PFN_cuArrayGetSparseProperties_v11010 array_properties;
    PFN_cuMipmappedArrayGetSparseProperties_v11010 mipmap_properties;
    CUmemGenericAllocationHandle pool;
} sparse_pair;

static CUmemGenericAllocationHandle sparse_pool(const pair *p) /* of POOL_SIZE */
{
    CUmemAllocationProp prop = device_prop(p->device, 0);
    CUmemGenericAllocationHandle handle = 0;
    prop.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
    CU_OK(p->cu->MemCreate(&handle, POOL_SIZE, &prop, 0));
    return handle;
}

/* Skips where there are no sparse arrays. */
static void sparse_open(sparse_pair *f)
{
    int supported = 0;
    pair *p = &f->p;
    pair_open(p);
    CU_OK(p->cu->DeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED,
                                    p->device));
    if (!supported) SKIP("no sparse arrays");
    raw_cuda_find(p->cu, "cuMemMapArrayAsync", 11010, &f->map);
    raw_cuda_find(p->cu, "cuArrayGetSparseProperties", 11010, &f->array_properties);
    raw_cuda_find(p->cu, "cuMipmappedArrayGetSparseProperties", 11010, &f->mipmap_properties);
    f->pool = sparse_pool(p);
}

static void sparse_close(sparse_pair *f)
{
    if (f->pool != 0) CU_OK(f->p.cu->MemRelease(f->pool));
    pair_close(&f->p);
}
#define SPARSE_CASE(...) TEST_ON(sparse_pair, f, sparse_open(f), sparse_close(f), __VA_ARGS__)

static void map_tiles(const sparse_pair *f, CUarrayMapInfo *info, unsigned count)
{
    CU_OK(f->map(info, count, f->p.stream));
    CU_OK(f->p.cu->StreamSynchronize(f->p.stream));
}

/* Of 32-bit words. */
static CUDA_ARRAY3D_DESCRIPTOR sparse_desc(size_t width, size_t height, size_t depth,
                                           unsigned flags)
{
    return (CUDA_ARRAY3D_DESCRIPTOR)TEST_ROW(width, height, depth, CU_AD_FORMAT_UNSIGNED_INT32, 1,
                                             CUDA_ARRAY3D_SPARSE | flags);
}

/* pool 0: unmaps. What is mapped there is left to fill in. */
static CUarrayMapInfo sparse_info(const pair *p, CUmemGenericAllocationHandle pool, uint64_t offset)
{
    CUarrayMapInfo info;
    memset(&info, 0, sizeof info);
    info.memOperationType = pool != 0 ? CU_MEM_OPERATION_TYPE_MAP : CU_MEM_OPERATION_TYPE_UNMAP;
    info.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
    info.memHandle.memHandle = pool;
    info.offset = offset;
    info.deviceBitMask = 1u << p->device;
    return info;
}

/* So many tiles of 128 x 128 words side by side. */
static CUarrayMapInfo sparse_tiles(const pair *p, CUarray array, unsigned x, unsigned y,
                                   unsigned count, CUmemGenericAllocationHandle pool,
                                   uint64_t offset)
{
    CUarrayMapInfo info = sparse_info(p, pool, offset);
    info.resourceType = CU_RESOURCE_TYPE_ARRAY;
    info.resource.array = array;
    info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
    info.subresource.sparseLevel.offsetX = x * 128;
    info.subresource.sparseLevel.offsetY = y * 128;
    info.subresource.sparseLevel.extentWidth = count * 128;
    info.subresource.sparseLevel.extentHeight = 128;
    info.subresource.sparseLevel.extentDepth = 1;
    return info;
}

/* Words of a rectangle of a level, to or from host memory. */
static void sparse_copy(const pair *p, CUarray array, unsigned x, unsigned y, unsigned width,
                        unsigned height, uint32_t *words, bool upload)
{
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = upload ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    copy.dstMemoryType = upload ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    copy.srcHost = copy.dstHost = words;
    copy.srcPitch = copy.dstPitch = (size_t)width * 4;
    copy.srcArray = copy.dstArray = array;
    *(upload ? &copy.dstXInBytes : &copy.srcXInBytes) = (size_t)x * 4;
    *(upload ? &copy.dstY : &copy.srcY) = y;
    copy.WidthInBytes = (size_t)width * 4;
    copy.Height = height;
    CU_OK(p->cu->Memcpy2D(&copy));
    CU_OK(p->cu->CtxSynchronize());
}

static size_t sparse_wrong_bytes(const pair *p, CUarray array, unsigned x, unsigned y,
                                 unsigned width, unsigned height, const uint32_t *expected)
{
    const size_t words = (size_t)width * height;
    uint32_t *found = test_memory(words * 4);
    sparse_copy(p, array, x, y, width, height, found, false);
    return 4 * words_wrong(found, expected, words);
}

static void answer_rectangle(const pair *p, const char *key, CUarray array, unsigned x, unsigned y,
                             unsigned width, unsigned height, const uint32_t *expected)
{
    const size_t wrong = sparse_wrong_bytes(p, array, x, y, width, height, expected);
    ANSWER(key, "%zu of %zu bytes wrong", wrong, (size_t)width * height * 4);
    REQUIRE_EQ(wrong, 0);
}

static void report_properties(const char *what, CUresult result,
                              const CUDA_ARRAY_SPARSE_PROPERTIES *found)
{
    answer_with(what, result, "tile %u x %u x %u, tail from level %u, %llu bytes, flags 0x%x",
                found->tileExtent.width, found->tileExtent.height, found->tileExtent.depth,
                found->miptailFirstLevel, found->miptailSize, found->flags);
}

SPARSE_CASE(properties, .mark = TEST_BOTH)
{
    static const struct {
        const char *what;
        size_t width, height, depth;
        unsigned flags, levels; /* levels 0: an array */
    } rows[] = {{"array 512 x 384", 512, 384, 0, 0, 0},
                {"array 300 x 200", 300, 200, 0, 0, 0},
                {"array 64 x 64", 64, 64, 0, 0, 0},
                {"layered array 256 x 256, 3 layers", 256, 256, 3, CUDA_ARRAY3D_LAYERED, 0},
                {"array 128 x 128 x 64", 128, 128, 64, 0, 0},
                {"mipmapped array 512 x 512, 10 levels", 512, 512, 0, 0, 10},
                {"layered mipmapped array 512 x 512, 2 layers, 10 levels", 512, 512, 2,
                 CUDA_ARRAY3D_LAYERED, 10}};
    pair *p = &f->p;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const CUDA_ARRAY3D_DESCRIPTOR desc =
            sparse_desc(rows[i].width, rows[i].height, rows[i].depth, rows[i].flags);
        CUDA_ARRAY_SPARSE_PROPERTIES found;
        memset(&found, 0, sizeof found);
        CUarray array = NULL;
        CUmipmappedArray mipmap = NULL;
        CUresult made = rows[i].levels == 0
                            ? p->cu->Array3DCreate(&array, &desc)
                            : p->cu->MipmappedArrayCreate(&mipmap, &desc, rows[i].levels);
        if (made != CUDA_SUCCESS && !p->cu->software && i > 0) {
            ANSWER(rows[i].what, "not made, %s", raw_cuda_result_name(made));
            continue;
        }
        CU_OK(made);
        if (array != NULL) {
            report_properties(rows[i].what, f->array_properties(&found, array), &found);
            CU_OK(p->cu->ArrayDestroy(array));
        } else {
            CUDA_ARRAY_SPARSE_PROPERTIES none;
            report_properties(rows[i].what, f->mipmap_properties(&found, mipmap), &found);
            REQUIRE(found.miptailSize % TILE_BYTES == 0);
            CU_OK(p->cu->MipmappedArrayGetLevel(&array, mipmap, 0));
            answer_call(answer_key("a level of a %s", rows[i].what),
                        f->array_properties(&none, array)); /* cuda.h */
            CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
        }
        /* Vulkan's standard shape for 32 bits. */
        if (i == 0) REQUIRE(found.tileExtent.width == 128 && found.tileExtent.height == 128);
    }
    CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(256, 256, 0, 0);
    CUDA_ARRAY_SPARSE_PROPERTIES found;
    desc.Flags = 0;
    CUarray plain = raw_cuda_array(p->cu, &desc);
    answer_call("an array that is not sparse", f->array_properties(&found, plain));
}

/* Tiles hold what is put there, and the pool's memory keeps it for the next tile. */
SPARSE_CASE(array_tiles, .mark = TEST_BOTH)
{
    enum { WIDTH = 256, HEIGHT = 128 };
    pair *p = &f->p;
    CUarray array;
    const CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(512, 384, 0, 0),
                                  surface = sparse_desc(512, 384, 0, CUDA_ARRAY3D_SURFACE_LDST);
    answer_call("cuArray3DCreate with SURFACE_LDST", p->cu->Array3DCreate(&array, &surface));
    array = raw_cuda_array(p->cu, &desc);
    CUarrayMapInfo info[2] = {sparse_tiles(p, array, 1, 0, 2, f->pool, 0),
                              sparse_tiles(p, array, 0, 2, 1, f->pool, 8 * TILE_BYTES)};
    map_tiles(f, &info[0], 1);
    map_tiles(f, &info[1], 1);
    uint32_t *words = pattern_words(WIDTH * HEIGHT * 4, 5),
             *other = pattern_words(128 * 128 * 4, 6);
    sparse_copy(p, array, 128, 0, WIDTH, HEIGHT, words, true);
    sparse_copy(p, array, 0, 256, 128, 128, other, true);
    answer_rectangle(p, "two tiles", array, 128, 0, WIDTH, HEIGHT, words);
    answer_rectangle(p, "a third one", array, 0, 256, 128, 128, other);
    /* The first two go, and come back elsewhere. */
    info[0] = sparse_tiles(p, array, 1, 0, 2, 0, 0);
    map_tiles(f, info, 1);
    info[0] = sparse_tiles(p, array, 2, 1, 2, f->pool, 0);
    map_tiles(f, info, 1);
    answer_rectangle(p, "the two mapped elsewhere", array, 256, 128, WIDTH, HEIGHT, words);
    answer_rectangle(p, "the third one then", array, 0, 256, 128, 128, other);
    CU_OK(p->cu->MemRelease(f->pool)); /* its mappings keep it */
    f->pool = 0;
    answer_rectangle(p, "the two when the pool is released", array, 256, 128, WIDTH, HEIGHT, words);
    info[0] = sparse_tiles(p, array, 2, 1, 2, 0, 0);
    info[1] = sparse_tiles(p, array, 0, 2, 1, 0, 0);
    map_tiles(f, &info[0], 1);
    map_tiles(f, &info[1], 1);
}

/* [measure] */
SPARSE_CASE(two_in_a_list, .mark = TEST_BOTH, .reason = "of NVIDIA's driver reported")
{
    enum { WIDTH = 256, HEIGHT = 128 };
    pair *p = &f->p;
    const CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(512, 384, 0, 0);
    CUarray array = raw_cuda_array(p->cu, &desc);
    uint32_t *words = pattern_words(WIDTH * HEIGHT * 4, 5),
             *other = pattern_words(128 * 128 * 4, 6);
    CUarrayMapInfo info[2] = {sparse_tiles(p, array, 1, 0, 2, f->pool, 0),
                              sparse_tiles(p, array, 0, 2, 1, f->pool, 8 * TILE_BYTES)};
    map_tiles(f, info, 2);
    sparse_copy(p, array, 128, 0, WIDTH, HEIGHT, words, true);
    sparse_copy(p, array, 0, 256, 128, 128, other, true);
    const size_t wrong[] = {sparse_wrong_bytes(p, array, 128, 0, WIDTH, HEIGHT, words),
                            sparse_wrong_bytes(p, array, 0, 256, 128, 128, other)};
    ANSWER("wrong bytes", "the first %zu, the second %zu", wrong[0], wrong[1]);
}

SPARSE_CASE(refusals, .mark = TEST_BOTH, .reason = "of NVIDIA's driver reported")
{
    pair *p = &f->p;
    CUarray flat = NULL, level;
    CUmemGenericAllocationHandle memory = pair_handle(p, VMM_SIZE, 0);
    CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(512, 384, 0, 0);
    CUarray array = raw_cuda_array(p->cu, &desc);
    CUmipmappedArray mipmap = raw_cuda_mipmap(p->cu, &desc, 2);
    CU_OK(p->cu->MipmappedArrayGetLevel(&level, mipmap, 0));
    CUarrayMapInfo info = sparse_tiles(p, array, 0, 0, 1, memory, 0);
    answer_call("memory that is no tile pool", f->map(&info, 1, p->stream));
    info = sparse_tiles(p, array, 0, 0, 1, f->pool, 4096);
    answer_call("an offset within a tile's bytes", f->map(&info, 1, p->stream));
    info = sparse_tiles(p, array, 0, 0, 1, f->pool, POOL_SIZE);
    answer_call("past the pool", f->map(&info, 1, p->stream));
    info = sparse_tiles(p, array, 0, 0, 1, f->pool, 0);
    info.subresource.sparseLevel.offsetX = 64;
    answer_call("an offset within a tile", f->map(&info, 1, p->stream));
    info = sparse_tiles(p, array, 3, 0, 2, f->pool, 0);
    answer_call("past the array", f->map(&info, 1, p->stream));
    info = sparse_tiles(p, array, 0, 0, 1, f->pool, 0);
    info.deviceBitMask = 0;
    answer_call("for no device", f->map(&info, 1, p->stream));
    info = sparse_tiles(p, array, 0, 0, 1, f->pool, 0);
    info.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    answer_call("unmapping with a pool", f->map(&info, 1, p->stream));
    info = sparse_tiles(p, level, 0, 0, 1, f->pool, 0);
    answer_call("a level of a mipmapped array", f->map(&info, 1, p->stream));
    desc.Flags = 0;
    CUarray plain = raw_cuda_array(p->cu, &desc);
    info = sparse_tiles(p, plain, 0, 0, 1, f->pool, 0);
    answer_call("an array that is not sparse", f->map(&info, 1, p->stream));
    const CUdeviceptr range = pair_range(p, POOL_SIZE);
    CUresult result = p->cu->MemMap(range, POOL_SIZE, 0, f->pool, 0);
    answer_call("a tile pool in cuMemMap", result);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->MemUnmap(range, POOL_SIZE));
    desc = sparse_desc(512, 0, 0, 0);
    result = p->cu->Array3DCreate(&flat, &desc);
    answer_call("a sparse 1D array", result);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->ArrayDestroy(flat));
    /* An edge that is none of a tile. */
    desc = sparse_desc(300, 200, 0, 0);
    CUarray odd = raw_cuda_array(p->cu, &desc);
    info = sparse_tiles(p, odd, 2, 1, 1, f->pool, 0);
    answer_call("a whole tile over the edge", f->map(&info, 1, p->stream));
    info = sparse_tiles(p, odd, 2, 0, 1, f->pool, TILE_BYTES);
    info.subresource.sparseLevel.extentWidth = 300 - 256;
    answer_ok("the part of a tile up to the edge", f->map(&info, 1, p->stream));
    info.subresource.sparseLevel.extentWidth = 300 - 256 - 1;
    answer_call("less than the part up to the edge", f->map(&info, 1, p->stream));
    info = sparse_tiles(p, odd, 0, 1, 1, f->pool, 2 * TILE_BYTES);
    info.subresource.sparseLevel.extentWidth = 300; /* a row of tiles, up to both edges */
    info.subresource.sparseLevel.extentHeight = 200 - 128;
    answer_call("a row of tiles up to the edges", f->map(&info, 1, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    uint32_t *words = pattern_words(300 * 72 * 4, 3);
    sparse_copy(p, odd, 0, 128, 300, 72, words, true);
    const size_t wrong = sparse_wrong_bytes(p, odd, 0, 128, 300, 72, words);
    ANSWER("that row of tiles", "%zu of %d bytes wrong", wrong, 300 * 72 * 4);
    if (p->cu->software) REQUIRE_EQ(wrong, 0);
}

/* What is written there is lost, and zeros are read. */
SPARSE_CASE(where_nothing_is_mapped, .mark = TEST_BOTH)
{
    enum { SIDE = 128 };
    pair *p = &f->p;
    uint32_t *words = pattern_words(3 * SIDE * SIDE * 4, 9),
             *zeros = test_memory(3 * SIDE * SIDE * 4);
    const CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(512, 384, 0, 0);
    CUarray array = raw_cuda_array(p->cu, &desc);
    sparse_copy(p, array, 0, 0, SIDE, SIDE, words, true);
    answer_rectangle(p, "zeros where nothing is mapped", array, 0, 0, SIDE, SIDE, zeros);
    /* Beside a tile that is mapped, in one copy; the tile keeps its part. */
    CUarrayMapInfo info = sparse_tiles(p, array, 1, 0, 1, f->pool, 0);
    map_tiles(f, &info, 1);
    sparse_copy(p, array, 0, 0, 3 * SIDE, SIDE, words, true);
    for (size_t y = 0; y < SIDE; y++)
        memcpy(zeros + (y * 3 + 1) * SIDE, words + (y * 3 + 1) * SIDE, SIDE * 4);
    const size_t beside = sparse_wrong_bytes(p, array, 0, 0, 3 * SIDE, SIDE, zeros);
    ANSWER("a tile between two that are not mapped", "%zu of %d bytes wrong", beside,
           3 * SIDE * SIDE * 4);
    if (p->cu->software) REQUIRE_EQ(beside, 0);
    /* [measure] Unmapped and mapped again, does the pool have it? */
    CUarrayMapInfo unmap = sparse_tiles(p, array, 1, 0, 1, 0, 0);
    map_tiles(f, &unmap, 1);
    memset(zeros, 0, SIDE * SIDE * 4);
    const size_t unmapped = sparse_wrong_bytes(p, array, SIDE, 0, SIDE, SIDE, zeros);
    ANSWER("an unmapped tile", "%zu bytes other than 0", unmapped);
    if (p->cu->software) REQUIRE_EQ(unmapped, 0);
}

/* 256 texels of a level by a texture of the mipmapped array: it may see what copies do not. */
static size_t wrong_in_texture(const pair *p, CUmipmappedArray mipmap, unsigned size,
                               unsigned level, const uint32_t *expected)
{
    const unsigned extent = size >> level, step = extent >= 16 ? extent / 16 : 1;
    int count = 0;
    place places[256];
    uint32_t wanted[256], found[256];
    const CUDA_TEXTURE_DESC desc =
        image_sampling(CU_TR_FILTER_MODE_POINT, CU_TRSF_NORMALIZED_COORDINATES, (float)level);
    CUtexObject texture = 0;
    for (unsigned y = 0; y < extent; y += step)
        for (unsigned x = 0; x < extent; x += step, count++) {
            places[count] = (place){.x = ((float)x + 0.5f) / (float)extent,
                                    .y = ((float)y + 0.5f) / (float)extent,
                                    .level = (float)level};
            wanted[count] = expected[y * extent + x];
        }
    CU_OK(raw_cuda_mip_texture(p->cu, mipmap, &desc, &texture));
    read_places(p, "read_2d_float", texture, places, count, found, sizeof found[0]);
    CU_OK(p->cu->TexObjectDestroy(texture));
    return words_wrong(found, wanted, (size_t)count);
}

typedef struct tail_variant {
    const char *what;
    unsigned size; /* of level 0 */
    enum { ONE_LIST, TAIL_FIRST_IN_LIST, LEVEL_THEN_TAIL, TAIL_THEN_LEVEL, TAIL_ONLY } how;
    uint64_t offset; /* of the tail in the pool */
    bool own_pool;   /* the tail's */
} tail_variant;

static size_t map_with_tail(const sparse_pair *f, const tail_variant *v)
{
    const pair *p = &f->p;
    CUmipmappedArray mipmap;
    CUarray level;
    CUDA_ARRAY_SPARSE_PROPERTIES found;
    const unsigned levels = image_full_chain(v->size, v->size);
    CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(v->size, v->size, 0, 0);
    desc.Format = CU_AD_FORMAT_FLOAT;
    CUmemGenericAllocationHandle tails = v->own_pool ? sparse_pool(p) : f->pool;
    CU_OK(p->cu->MipmappedArrayCreate(&mipmap, &desc, levels));
    CU_OK(f->mipmap_properties(&found, mipmap));
    const unsigned first = found.miptailFirstLevel;
    REQUIRE(found.miptailSize > 0 && first >= 1 && first < levels);
    CUarrayMapInfo whole = sparse_tiles(p, NULL, 0, 0, v->size / 128, f->pool, 0),
                   tail = sparse_info(p, tails, v->offset);
    whole.resourceType = tail.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    whole.resource.mipmap = tail.resource.mipmap = mipmap;
    whole.subresource.sparseLevel.extentHeight = v->size; /* all of level 0 */
    tail.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
    tail.subresource.miptail.size = found.miptailSize;
    const bool tail_first = v->how == TAIL_FIRST_IN_LIST || v->how == TAIL_THEN_LEVEL;
    CUarrayMapInfo list[2] = {tail_first ? tail : whole, tail_first ? whole : tail};
    if (v->how == ONE_LIST || v->how == TAIL_FIRST_IN_LIST) {
        map_tiles(f, list, 2);
    } else if (v->how == TAIL_ONLY) {
        map_tiles(f, &tail, 1);
    } else {
        map_tiles(f, &list[0], 1);
        map_tiles(f, &list[1], 1);
    }
    const size_t count = (size_t)v->size * v->size + 16;
    uint32_t *words = pattern_words(count * 4, 7);
    for (size_t i = 0; i < count; i++)
        words[i] = 0x3f800000u | words[i] >> 9; /* floats from 1 to 2 */
    size_t wrong = 0, wrong_first = 0, wrong_tail = 0, wrong_texels = 0;
    for (unsigned i = v->how == TAIL_ONLY ? first : 0; i < levels; i = i == 0 ? first : i + 1) {
        CU_OK(p->cu->MipmappedArrayGetLevel(&level, mipmap, i));
        sparse_copy(p, level, 0, 0, v->size >> i, v->size >> i, words + i, true);
    }
    for (unsigned i = v->how == TAIL_ONLY ? first : 0; i < levels; i = i == 0 ? first : i + 1) {
        CU_OK(p->cu->MipmappedArrayGetLevel(&level, mipmap, i));
        const size_t bytes =
            sparse_wrong_bytes(p, level, 0, 0, v->size >> i, v->size >> i, words + i);
        *(i == 0 ? &wrong : i == first ? &wrong_first : &wrong_tail) += bytes;
        if (i == first || i == first + 1)
            wrong_texels += wrong_in_texture(p, mipmap, v->size, i, words + i);
    }
    ANSWER(v->what,
           "tail from level %u, %llu bytes; "
           "wrong bytes: level 0 %zu, level %u %zu, the smaller ones %zu; "
           "wrong texels of a texture there %zu",
           first, found.miptailSize, wrong, first, wrong_first, wrong_tail, wrong_texels);
    if (tails != f->pool) CU_OK(p->cu->MemRelease(tails));
    CU_OK(p->cu->MipmappedArrayDestroy(mipmap)); /* mapped as it is */
    return wrong + wrong_first + wrong_tail + wrong_texels;
}

/* The first of these reads zeros from level 2 on. */
SPARSE_CASE(mip_tail, .mark = TEST_BOTH)
{
    static const tail_variant variants[] = {
        {"256 x 256, level 0 and the tail in one list", 256, ONE_LIST, 16 * TILE_BYTES, false},
        {"the tail first in the list", 256, TAIL_FIRST_IN_LIST, 16 * TILE_BYTES, false},
        {"level 0, then the tail", 256, LEVEL_THEN_TAIL, 16 * TILE_BYTES, false},
        {"the tail, then level 0", 256, TAIL_THEN_LEVEL, 16 * TILE_BYTES, false},
        {"the tail only", 256, TAIL_ONLY, 16 * TILE_BYTES, false},
        {"the tail only, at 0", 256, TAIL_ONLY, 0, false},
        {"the tail only, at 2 MiB", 256, TAIL_ONLY, VMM_SIZE, false},
        {"level 0, then the tail on a pool of its own", 256, LEVEL_THEN_TAIL, 0, true},
        {"512 x 512, level 0, then the tail", 512, LEVEL_THEN_TAIL, 32 * TILE_BYTES, false}};
    for (size_t i = 0; i < COUNT_OF(variants); i++) {
        const size_t wrong = map_with_tail(f, &variants[i]);
        /* A tail that comes after tiles in one list is not mapped. */
        REQUIRE((wrong != 0) == (variants[i].how == ONE_LIST));
    }
}
