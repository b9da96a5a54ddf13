/* SPDX-License-Identifier: MIT */
/* Contract rows: sparse arrays and mipmapped arrays, mapped on tile pools (R22). */
#define TEST_GROUP "vmm_sparse."
#include "contract.h"

#define TILE_BYTES 65536u
#define POOL_SIZE  (4 * VMM_SIZE)

typedef struct sparse_pair {
    pair p;
    CUmemGenericAllocationHandle pool;
} sparse_pair;

static CUmemGenericAllocationHandle sparse_pool(const pair *p) /* of POOL_SIZE */
{
    CUmemAllocationProp prop = raw_cuda_memory_prop(p->device, 0);
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
    f->pool = sparse_pool(p);
}

static void sparse_close(sparse_pair *f)
{
    if (f->pool != 0) CU_OK(f->p.cu->MemRelease(f->pool));
    pair_close(&f->p);
}
#define SPARSE_CASE(...) TEST_ON(sparse_pair, f, sparse_open(f), sparse_close(f), __VA_ARGS__)

/* Of 32-bit words. */
static CUDA_ARRAY3D_DESCRIPTOR sparse_desc(size_t width, size_t height)
{
    return (CUDA_ARRAY3D_DESCRIPTOR)TEST_ROW(width, height, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1,
                                             CUDA_ARRAY3D_SPARSE);
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

SPARSE_CASE(refusals, .mark = TEST_BOTH, .reason = "of NVIDIA's driver reported")
{
    pair *p = &f->p;
    CUarray flat = NULL, level;
    CUmemGenericAllocationHandle memory = pair_handle(p, VMM_SIZE, 0);
    CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(512, 384), odd_desc = sparse_desc(300, 200),
                            line = sparse_desc(512, 0), plain_desc = desc;
    plain_desc.Flags = 0;
    CUarray array = raw_cuda_array(p->cu, &desc), odd = raw_cuda_array(p->cu, &odd_desc),
            plain = raw_cuda_array(p->cu, &plain_desc);
    CUmipmappedArray mipmap = raw_cuda_mipmap(p->cu, &desc, 2);
    CU_OK(p->cu->MipmappedArrayGetLevel(&level, mipmap, 0));
    CUarrayMapInfo info;
#define ROW(what, tiles, change)                                                                   \
    info = tiles;                                                                                  \
    change;                                                                                        \
    answer_call(what, p->cu->MemMapArrayAsync(&info, 1, p->stream))
#define TILES(of, x, y, count, offset) sparse_tiles(p, of, x, y, count, f->pool, offset)
    ROW("memory that is no tile pool", sparse_tiles(p, array, 0, 0, 1, memory, 0), (void)0);
    ROW("an offset within a tile's bytes", TILES(array, 0, 0, 1, 4096), (void)0);
    ROW("past the pool", TILES(array, 0, 0, 1, POOL_SIZE), (void)0);
    ROW("an offset within a tile", TILES(array, 0, 0, 1, 0),
        info.subresource.sparseLevel.offsetX = 64);
    ROW("past the array", TILES(array, 3, 0, 2, 0), (void)0);
    ROW("for no device", TILES(array, 0, 0, 1, 0), info.deviceBitMask = 0);
    ROW("unmapping with a pool", TILES(array, 0, 0, 1, 0),
        info.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP);
    ROW("a level of a mipmapped array", TILES(level, 0, 0, 1, 0), (void)0);
    ROW("an array that is not sparse", TILES(plain, 0, 0, 1, 0), (void)0);
    /* An edge that is none of a tile. */
    ROW("a whole tile over the edge", TILES(odd, 2, 1, 1, 0), (void)0);
    ROW("less than the part up to the edge", TILES(odd, 2, 0, 1, TILE_BYTES),
        info.subresource.sparseLevel.extentWidth = 300 - 256 - 1);
    ROW("a row of tiles up to the edges", TILES(odd, 0, 1, 1, 2 * TILE_BYTES),
        info.subresource.sparseLevel.extentWidth = 300;
        info.subresource.sparseLevel.extentHeight = 200 - 128);
#undef ROW
    const CUdeviceptr range = pair_range(p, POOL_SIZE);
    CUresult result = p->cu->MemMap(range, POOL_SIZE, 0, f->pool, 0);
    answer_call("a tile pool in cuMemMap", result);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->MemUnmap(range, POOL_SIZE));
    result = p->cu->Array3DCreate(&flat, &line);
    answer_call("a sparse 1D array", result);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->ArrayDestroy(flat));
    CU_OK(p->cu->StreamSynchronize(p->stream));
}

/* Level 0 and the tail of 256 x 256 words, as entries of one list or of two calls: the bytes of all
 * levels that are not read back. */
static size_t map_with_tail(const sparse_pair *f, bool one_list, bool tail_first)
{
    enum { SIDE = 256, LEVELS = 9 };
    const pair *p = &f->p;
    CUDA_ARRAY_SPARSE_PROPERTIES found;
    const CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(SIDE, SIDE);
    CUmipmappedArray mipmap = NULL;
    CU_OK(p->cu->MipmappedArrayCreate(&mipmap, &desc, LEVELS));
    CU_OK(p->cu->MipmappedArrayGetSparseProperties(&found, mipmap));
    REQUIRE(found.miptailSize > 0 && found.miptailFirstLevel >= 1);
    CUarrayMapInfo whole = sparse_tiles(p, NULL, 0, 0, SIDE / 128, f->pool, 0),
                   tail = sparse_info(p, f->pool, 16 * TILE_BYTES);
    whole.resourceType = tail.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    whole.resource.mipmap = tail.resource.mipmap = mipmap;
    whole.subresource.sparseLevel.extentHeight = SIDE;
    tail.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
    tail.subresource.miptail.size = found.miptailSize;
    CUarrayMapInfo list[2] = {tail_first ? tail : whole, tail_first ? whole : tail};
    CU_OK(p->cu->MemMapArrayAsync(list, one_list ? 2 : 1, p->stream));
    if (!one_list) CU_OK(p->cu->MemMapArrayAsync(&list[1], 1, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    size_t wrong = 0;
    for (int reads = 0; reads < 2; reads++)
        for (unsigned i = 0; i < LEVELS; i = i == 0 ? found.miptailFirstLevel : i + 1) {
            const size_t side = SIDE >> i, row = side * 4;
            uint32_t *words = pattern_words(row * side, 7 + i), *back = test_memory(row * side);
            const CUarray level = image_level(p, mipmap, i);
            if (reads == 0)
                CU_OK(raw_cuda_write_array(p->cu, level, words, row, side));
            else
                CU_OK(raw_cuda_read_array(p->cu, level, back, row, side));
            CU_OK(p->cu->CtxSynchronize());
            if (reads == 1) wrong += bytes_wrong(back, words, row * side);
        }
    CU_OK(p->cu->MipmappedArrayDestroy(mipmap)); /* mapped as it is */
    return wrong;
}

/* A tail that comes after tiles in one list is not mapped, and reads zeros from level 2 on. */
SPARSE_CASE(mip_tail, .mark = TEST_BOTH)
{
    for (int one_list = 0; one_list < 2; one_list++)
        for (int tail_first = 0; tail_first < 2; tail_first++) {
            const size_t wrong = map_with_tail(f, one_list != 0, tail_first != 0);
            test_answer_is(answer_key("%s, %s first", one_list ? "one list" : "two calls",
                                      tail_first ? "the tail" : "level 0"),
                           (wrong != 0) == (one_list && !tail_first), "%zu bytes wrong", wrong);
        }
}
