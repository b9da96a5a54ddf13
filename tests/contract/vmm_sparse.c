/* SPDX-License-Identifier: MIT */
/* Contract rows: sparse arrays and mipmapped arrays, mapped on tile pools (R22). */
#define TEST_GROUP "vmm_sparse."
#include "vmm_sparse.h"

static void proc(const raw_cuda *cu, const char *name, void *function)
{
    void *address = NULL;
    CUresult result = cu->GetProcAddress(name, &address, 11010, CU_GET_PROC_ADDRESS_DEFAULT, NULL);
    if (result != CUDA_SUCCESS || address == NULL) SKIP("no %s", name);
    memcpy(function, &address, sizeof address);
}

sparse_procs sparse_open(pair *p)
{
    sparse_procs f;
    int supported = 0;
    vmm_pair_open(p);
    CU_OK(p->cu->DeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED,
                                    p->device));
    if (!supported) SKIP("no sparse arrays");
    proc(p->cu, "cuMemMapArrayAsync", &f.map);
    proc(p->cu, "cuArrayGetSparseProperties", &f.array_properties);
    proc(p->cu, "cuMipmappedArrayGetSparseProperties", &f.mipmap_properties);
    return f;
}

CUmemGenericAllocationHandle sparse_pool(const pair *p)
{
    CUmemAllocationProp prop = vmm_prop(p, 0);
    CUmemGenericAllocationHandle handle = 0;
    prop.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
    CU_OK(p->cu->MemCreate(&handle, POOL_SIZE, &prop, 0));
    return handle;
}

CUDA_ARRAY3D_DESCRIPTOR sparse_desc(size_t width, size_t height, size_t depth, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR desc;
    memset(&desc, 0, sizeof desc);
    desc.Width = width;
    desc.Height = height;
    desc.Depth = depth;
    desc.Format = CU_AD_FORMAT_UNSIGNED_INT32;
    desc.NumChannels = 1;
    desc.Flags = CUDA_ARRAY3D_SPARSE | flags;
    return desc;
}

CUarrayMapInfo sparse_info(const pair *p, CUmemGenericAllocationHandle pool, uint64_t offset)
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

CUarrayMapInfo sparse_tiles(const pair *p, CUarray array, unsigned x, unsigned y, unsigned count,
                            CUmemGenericAllocationHandle pool, uint64_t offset)
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

void sparse_copy(const pair *p, CUarray array, unsigned x, unsigned y, unsigned width,
                 unsigned height, uint32_t *words, bool upload)
{
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = upload ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    copy.dstMemoryType = upload ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    copy.srcHost = copy.dstHost = words;
    copy.srcPitch = copy.dstPitch = (size_t)width * 4;
    copy.srcArray = copy.dstArray = array;
    if (upload) {
        copy.dstXInBytes = (size_t)x * 4;
        copy.dstY = y;
    } else {
        copy.srcXInBytes = (size_t)x * 4;
        copy.srcY = y;
    }
    copy.WidthInBytes = (size_t)width * 4;
    copy.Height = height;
    CU_OK(p->cu->Memcpy2D(&copy));
    CU_OK(p->cu->CtxSynchronize());
}

static size_t differing(const uint32_t *found, const uint32_t *expected, size_t words)
{
    size_t count = 0;
    for (size_t i = 0; i < words; i++)
        count += found[i] != expected[i];
    return count * 4;
}

size_t sparse_wrong_bytes(const pair *p, CUarray array, unsigned x, unsigned y, unsigned width,
                          unsigned height, const uint32_t *expected)
{
    const size_t words = (size_t)width * height;
    uint32_t *found = test_memory(words * 4);
    sparse_copy(p, array, x, y, width, height, found, false);
    const size_t wrong = differing(found, expected, words);
    return wrong;
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
    ANSWER(what, "%s, tile %u x %u x %u, tail from level %u, %llu bytes, flags 0x%x",
           raw_cuda_result_name(result), found->tileExtent.width, found->tileExtent.height,
           found->tileExtent.depth, found->miptailFirstLevel, found->miptailSize, found->flags);
}

TEST(properties, .mark = TEST_BOTH)
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
    pair p;
    const sparse_procs f = sparse_open(&p);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const CUDA_ARRAY3D_DESCRIPTOR desc =
            sparse_desc(rows[i].width, rows[i].height, rows[i].depth, rows[i].flags);
        CUDA_ARRAY_SPARSE_PROPERTIES found;
        memset(&found, 0, sizeof found);
        CUarray array = NULL;
        CUmipmappedArray mipmap = NULL;
        CUresult made = rows[i].levels == 0
                            ? p.cu->Array3DCreate(&array, &desc)
                            : p.cu->MipmappedArrayCreate(&mipmap, &desc, rows[i].levels);
        if (made != CUDA_SUCCESS && !p.cu->software && i > 0) {
            ANSWER(rows[i].what, "not made, %s", raw_cuda_result_name(made));
            continue;
        }
        CU_OK(made);
        if (array != NULL) {
            report_properties(rows[i].what, f.array_properties(&found, array), &found);
            CU_OK(p.cu->ArrayDestroy(array));
        } else {
            CUDA_ARRAY_SPARSE_PROPERTIES none;
            report_properties(rows[i].what, f.mipmap_properties(&found, mipmap), &found);
            REQUIRE(found.miptailSize % TILE_BYTES == 0);
            CU_OK(p.cu->MipmappedArrayGetLevel(&array, mipmap, 0));
            const CUresult result = f.array_properties(&none, array);
            answer_call(answer_key("a level of a %s", rows[i].what), result);
            CU_IS(result, CUDA_ERROR_INVALID_VALUE); /* cuda.h */
            CU_OK(p.cu->MipmappedArrayDestroy(mipmap));
        }
        if (i == 0) {
            REQUIRE_EQ(found.tileExtent.width, 128); /* Vulkan's standard shape for 32 bits */
            REQUIRE_EQ(found.tileExtent.height, 128);
            REQUIRE_EQ(found.tileExtent.depth, 1);
        }
    }
    CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(256, 256, 0, 0);
    CUDA_ARRAY_SPARSE_PROPERTIES found;
    desc.Flags = 0;
    CUarray plain = raw_cuda_array(p.cu, &desc);
    answer_is("an array that is not sparse", f.array_properties(&found, plain),
              CUDA_ERROR_INVALID_VALUE);
    pair_close(&p);
}

/* Tiles hold what is put there, and the pool's memory keeps it for the next tile. */
TEST(array_tiles, .mark = TEST_BOTH)
{
    enum { WIDTH = 256, HEIGHT = 128 };
    pair p;
    CUarray array;
    const sparse_procs f = sparse_open(&p);
    CUmemGenericAllocationHandle pool = sparse_pool(&p);
    const CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(512, 384, 0, 0),
                                  surface = sparse_desc(512, 384, 0, CUDA_ARRAY3D_SURFACE_LDST);
    answer_is("cuArray3DCreate with SURFACE_LDST", p.cu->Array3DCreate(&array, &surface),
              CUDA_ERROR_INVALID_VALUE);
    array = raw_cuda_array(p.cu, &desc);
    CUarrayMapInfo info[2] = {sparse_tiles(&p, array, 1, 0, 2, pool, 0),
                              sparse_tiles(&p, array, 0, 2, 1, pool, 8 * TILE_BYTES)};
    CU_OK(f.map(&info[0], 1, p.stream));
    CU_OK(f.map(&info[1], 1, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    uint32_t *words = pattern_words(WIDTH * HEIGHT * 4, 5),
             *other = pattern_words(128 * 128 * 4, 6);
    sparse_copy(&p, array, 128, 0, WIDTH, HEIGHT, words, true);
    sparse_copy(&p, array, 0, 256, 128, 128, other, true);
    answer_rectangle(&p, "two tiles", array, 128, 0, WIDTH, HEIGHT, words);
    answer_rectangle(&p, "a third one", array, 0, 256, 128, 128, other);
    /* The first two go, and come back elsewhere. */
    info[0] = sparse_tiles(&p, array, 1, 0, 2, 0, 0);
    CU_OK(f.map(info, 1, p.stream));
    info[0] = sparse_tiles(&p, array, 2, 1, 2, pool, 0);
    CU_OK(f.map(info, 1, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    answer_rectangle(&p, "the two mapped elsewhere", array, 256, 128, WIDTH, HEIGHT, words);
    answer_rectangle(&p, "the third one then", array, 0, 256, 128, 128, other);
    CU_OK(p.cu->MemRelease(pool)); /* its mappings keep it */
    answer_rectangle(&p, "the two when the pool is released", array, 256, 128, WIDTH, HEIGHT,
                     words);
    info[0] = sparse_tiles(&p, array, 2, 1, 2, 0, 0);
    info[1] = sparse_tiles(&p, array, 0, 2, 1, 0, 0);
    CU_OK(f.map(&info[0], 1, p.stream));
    CU_OK(f.map(&info[1], 1, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    pair_close(&p);
}

/* [measure] */
TEST(two_in_a_list, .mark = TEST_BOTH, .reason = "of NVIDIA's driver reported")
{
    enum { WIDTH = 256, HEIGHT = 128 };
    pair p;
    const sparse_procs f = sparse_open(&p);
    CUmemGenericAllocationHandle pool = sparse_pool(&p);
    const CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(512, 384, 0, 0);
    CUarray array = raw_cuda_array(p.cu, &desc);
    uint32_t *words = pattern_words(WIDTH * HEIGHT * 4, 5),
             *other = pattern_words(128 * 128 * 4, 6);
    CUarrayMapInfo info[2] = {sparse_tiles(&p, array, 1, 0, 2, pool, 0),
                              sparse_tiles(&p, array, 0, 2, 1, pool, 8 * TILE_BYTES)};
    CU_OK(f.map(info, 2, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    sparse_copy(&p, array, 128, 0, WIDTH, HEIGHT, words, true);
    sparse_copy(&p, array, 0, 256, 128, 128, other, true);
    const size_t wrong[] = {sparse_wrong_bytes(&p, array, 128, 0, WIDTH, HEIGHT, words),
                            sparse_wrong_bytes(&p, array, 0, 256, 128, 128, other)};
    ANSWER("wrong bytes", "the first %zu, the second %zu", wrong[0], wrong[1]);
    CU_OK(p.cu->MemRelease(pool));
    pair_close(&p);
}

TEST(refusals, .mark = TEST_BOTH, .reason = "of NVIDIA's driver reported")
{
    pair p;
    CUarray flat = NULL;
    CUarray level;
    const sparse_procs f = sparse_open(&p);
    CUmemGenericAllocationHandle pool = sparse_pool(&p), memory = pair_handle(&p, VMM_SIZE, 0);
    CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(512, 384, 0, 0);
    CUarray array = raw_cuda_array(p.cu, &desc);
    CUmipmappedArray mipmap = raw_cuda_mipmap(p.cu, &desc, 2);
    CU_OK(p.cu->MipmappedArrayGetLevel(&level, mipmap, 0));
    CUarrayMapInfo info = sparse_tiles(&p, array, 0, 0, 1, memory, 0);
    answer_call("memory that is no tile pool", f.map(&info, 1, p.stream));
    info = sparse_tiles(&p, array, 0, 0, 1, pool, 4096);
    answer_call("an offset within a tile's bytes", f.map(&info, 1, p.stream));
    info = sparse_tiles(&p, array, 0, 0, 1, pool, POOL_SIZE);
    answer_call("past the pool", f.map(&info, 1, p.stream));
    info = sparse_tiles(&p, array, 0, 0, 1, pool, 0);
    info.subresource.sparseLevel.offsetX = 64;
    answer_call("an offset within a tile", f.map(&info, 1, p.stream));
    info = sparse_tiles(&p, array, 3, 0, 2, pool, 0);
    answer_call("past the array", f.map(&info, 1, p.stream));
    info = sparse_tiles(&p, array, 0, 0, 1, pool, 0);
    info.deviceBitMask = 0;
    answer_call("for no device", f.map(&info, 1, p.stream));
    info = sparse_tiles(&p, array, 0, 0, 1, pool, 0);
    info.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    answer_call("unmapping with a pool", f.map(&info, 1, p.stream));
    info = sparse_tiles(&p, level, 0, 0, 1, pool, 0);
    answer_call("a level of a mipmapped array", f.map(&info, 1, p.stream));
    desc.Flags = 0;
    CUarray plain = raw_cuda_array(p.cu, &desc);
    info = sparse_tiles(&p, plain, 0, 0, 1, pool, 0);
    answer_call("an array that is not sparse", f.map(&info, 1, p.stream));
    const CUdeviceptr range = pair_range(&p, POOL_SIZE);
    CUresult result = p.cu->MemMap(range, POOL_SIZE, 0, pool, 0);
    answer_call("a tile pool in cuMemMap", result);
    if (result == CUDA_SUCCESS) CU_OK(p.cu->MemUnmap(range, POOL_SIZE));
    desc = sparse_desc(512, 0, 0, 0);
    result = p.cu->Array3DCreate(&flat, &desc);
    answer_call("a sparse 1D array", result);
    if (result == CUDA_SUCCESS) CU_OK(p.cu->ArrayDestroy(flat));
    /* An edge that is none of a tile. */
    desc = sparse_desc(300, 200, 0, 0);
    CUarray odd = raw_cuda_array(p.cu, &desc);
    info = sparse_tiles(&p, odd, 2, 1, 1, pool, 0);
    answer_call("a whole tile over the edge", f.map(&info, 1, p.stream));
    info = sparse_tiles(&p, odd, 2, 0, 1, pool, TILE_BYTES);
    info.subresource.sparseLevel.extentWidth = 300 - 256;
    answer_is("the part of a tile up to the edge", f.map(&info, 1, p.stream), CUDA_SUCCESS);
    info.subresource.sparseLevel.extentWidth = 300 - 256 - 1;
    answer_call("less than the part up to the edge", f.map(&info, 1, p.stream));
    info = sparse_tiles(&p, odd, 0, 1, 1, pool, 2 * TILE_BYTES);
    info.subresource.sparseLevel.extentWidth = 300; /* a row of tiles, up to both edges */
    info.subresource.sparseLevel.extentHeight = 200 - 128;
    answer_call("a row of tiles up to the edges", f.map(&info, 1, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    uint32_t *words = pattern_words(300 * 72 * 4, 3);
    sparse_copy(&p, odd, 0, 128, 300, 72, words, true);
    const size_t wrong = sparse_wrong_bytes(&p, odd, 0, 128, 300, 72, words);
    ANSWER("that row of tiles", "%zu of %d bytes wrong", wrong, 300 * 72 * 4);
    if (p.cu->software) REQUIRE_EQ(wrong, 0);
    CU_OK(p.cu->MemRelease(pool));
    pair_close(&p);
}

/* What is written there is lost, and zeros are read. */
TEST(where_nothing_is_mapped, .mark = TEST_BOTH)
{
    enum { SIDE = 128 };
    pair p;
    uint32_t *words = pattern_words(3 * SIDE * SIDE * 4, 9),
             *zeros = test_memory(3 * SIDE * SIDE * 4);
    const sparse_procs f = sparse_open(&p);
    CUmemGenericAllocationHandle pool = sparse_pool(&p);
    const CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(512, 384, 0, 0);
    CUarray array = raw_cuda_array(p.cu, &desc);
    sparse_copy(&p, array, 0, 0, SIDE, SIDE, words, true);
    answer_rectangle(&p, "zeros where nothing is mapped", array, 0, 0, SIDE, SIDE, zeros);
    /* Beside a tile that is mapped, in one copy; the tile keeps its part. */
    CUarrayMapInfo info = sparse_tiles(&p, array, 1, 0, 1, pool, 0);
    CU_OK(f.map(&info, 1, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    sparse_copy(&p, array, 0, 0, 3 * SIDE, SIDE, words, true);
    for (size_t y = 0; y < SIDE; y++)
        memcpy(zeros + (y * 3 + 1) * SIDE, words + (y * 3 + 1) * SIDE, SIDE * 4);
    const size_t beside = sparse_wrong_bytes(&p, array, 0, 0, 3 * SIDE, SIDE, zeros);
    ANSWER("a tile between two that are not mapped", "%zu of %d bytes wrong", beside,
           3 * SIDE * SIDE * 4);
    if (p.cu->software) REQUIRE_EQ(beside, 0);
    /* [measure] Unmapped and mapped again, does the pool have it? */
    CUarrayMapInfo unmap = sparse_tiles(&p, array, 1, 0, 1, 0, 0);
    CU_OK(f.map(&unmap, 1, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    memset(zeros, 0, SIDE * SIDE * 4);
    const size_t unmapped = sparse_wrong_bytes(&p, array, SIDE, 0, SIDE, SIDE, zeros);
    ANSWER("an unmapped tile", "%zu bytes other than 0", unmapped);
    if (p.cu->software) REQUIRE_EQ(unmapped, 0);
    CU_OK(p.cu->MemRelease(pool));
    pair_close(&p);
}
