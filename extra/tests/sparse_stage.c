/* SPDX-License-Identifier: MIT */
/* See sparse_stage.h. */
#include "sparse_stage.h"

void sparse_stage_open(sparse_stage *s)
{
    memset(s, 0, sizeof *s);
    s->w.cu = lib_driver();
    s->w.fds = test_open_fds();
    LIB_OK(culv_device_open_by_ordinal(0, NULL, &s->w.device));
    s->w.context = culv_device_context(s->w.device);
    s->stream = lib_stream(&s->w);
}

void sparse_stage_close(sparse_stage *s)
{
    lib_finish(&s->w, s->stream);
    culv_sparse_array_destroy(&s->array, NULL);
    culv_vmm_allocation_destroy(&s->pool);
    lib_stream_destroy(&s->w, s->stream);
    lib_settle(&s->w);
    lib_require_no_objects(&s->w);
    culv_device_close(&s->w.device);
    if (s->w.cu->software) REQUIRE_EQ(test_open_fds(), s->w.fds);
    raw_cuda_require_empty(s->w.cu);
}

culv_device *sparse_stage_second(const sparse_stage *s)
{
    culv_device *second = NULL;
    if (s->w.cu->device_count < 2) return NULL;
    LIB_OK(culv_device_open_by_ordinal(1, NULL, &second));
    return second;
}

uint64_t sparse_driver_calls(const raw_cuda *cu)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    if (cu->SoftCounts != NULL) cu->SoftCounts(&c);
    return c.calls;
}

culv_vmm_allocation *sparse_pool(const sparse_stage *s, uint64_t tiles)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    culv_vmm_allocation *pool = NULL;
    d.size = tiles * SPARSE_TILE;
    d.usage = CULV_VMM_USAGE_TILE_POOL;
    d.label = "tiles";
    LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &pool));
    return pool;
}

static void copy(const sparse_stage *s, const sparse_box *box, void *bytes, bool upload)
{
    CUDA_MEMCPY3D c;
    memset(&c, 0, sizeof c);
    c.srcMemoryType = upload ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    c.dstMemoryType = upload ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    if (upload) {
        c.srcHost = bytes;
        c.srcPitch = box->width_bytes;
        c.srcHeight = box->height;
        c.dstArray = box->array;
        c.dstXInBytes = box->x_bytes;
        c.dstY = box->y;
        c.dstZ = box->z;
    } else {
        c.srcArray = box->array;
        c.srcXInBytes = box->x_bytes;
        c.srcY = box->y;
        c.srcZ = box->z;
        c.dstHost = bytes;
        c.dstPitch = box->width_bytes;
        c.dstHeight = box->height;
    }
    c.WidthInBytes = box->width_bytes;
    c.Height = box->height;
    c.Depth = box->depth;
    LIB_CU_OK(&s->w, s->w.cu->Memcpy3DAsync(&c, s->stream));
    lib_finish(&s->w, s->stream);
}

void sparse_write(const sparse_stage *s, const sparse_box *box, const void *bytes)
{
    void *theirs = NULL; /* only read */
    memcpy(&theirs, &bytes, sizeof bytes);
    copy(s, box, theirs, true);
}

void sparse_read(const sparse_stage *s, const sparse_box *box, void *bytes)
{
    copy(s, box, bytes, false);
}

static uint32_t *words_of(const sparse_box *box, size_t *count)
{
    const size_t bytes = box->width_bytes * box->height * box->depth;
    REQUIRE(bytes > 0 && bytes % 4 == 0);
    *count = bytes / 4;
    uint32_t *words = calloc(*count, 4);
    REQUIRE(words != NULL);
    return words;
}

void sparse_fill(const sparse_stage *s, const sparse_box *box, uint32_t seed)
{
    size_t count;
    uint32_t *words = words_of(box, &count);
    for (size_t i = 0; i < count; i++)
        words[i] = lib_word((uint32_t)i, seed);
    sparse_write(s, box, words);
    free(words);
}

size_t sparse_wrong(const sparse_stage *s, const sparse_box *box, uint32_t seed)
{
    size_t count, wrong = 0;
    uint32_t *words = words_of(box, &count);
    sparse_read(s, box, words);
    for (size_t i = 0; i < count; i++)
        wrong += words[i] != lib_word((uint32_t)i, seed);
    free(words);
    return wrong * 4;
}
