/* SPDX-License-Identifier: MIT */
/* A linear field into an image: culv_image_write() with its kernel, beside cuMemcpy2DAsync. */
#include "sections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 16 };

typedef struct fields {
    frames_bench *b;
    culv_image *image;
    CUdeviceptr from;
    CUarray array;
    size_t row_bytes;
    uint32_t side, seed;
} fields;

static void check(const fields *s, const uint32_t *words)
{
    const size_t size = s->row_bytes * s->side;
    uint32_t *found = malloc(size);
    REQUIRE(found != NULL);
    const CUDA_MEMCPY2D back = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                                .srcArray = s->array,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = found,
                                .dstPitch = s->row_bytes,
                                .WidthInBytes = s->row_bytes,
                                .Height = s->side};
    RIG_CU(s->b->bench.rig.cu->Memcpy2D(&back));
    REQUIRE_EQ_BYTES(found, words, size);
    free(found);
    bench_checked(&s->b->bench);
}

static void turn(void *state, bench_side side, double ns[])
{
    fields *s = state;
    const rig *r = &s->b->bench.rig;
    const size_t count = s->row_bytes * s->side / 4;
    uint32_t *words = malloc(count * 4);
    REQUIRE(words != NULL);
    s->seed++;
    for (size_t i = 0; i < count; i++)
        words[i] = ((uint32_t)i + s->seed) * UINT32_C(2654435761);
    RIG_CU(raw_cuda_upload(r->cu, s->from, words, count * 4));
    culv_image_field field = culv_image_field_init();
    field.pointer = s->from;
    const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = s->from,
                                .srcPitch = s->row_bytes,
                                .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                .dstArray = s->array,
                                .WidthInBytes = s->row_bytes,
                                .Height = s->side};
    const double begun = bench_now();
    for (int i = 0; i < CALLS; i++) {
        if (side == BENCH_CULVERT)
            CULV_OK_OR_EXIT(culv_image_write(s->image, &field, r->stream));
        else
            RIG_CU(r->cu->Memcpy2DAsync(&copy, r->stream));
    }
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    ns[0] = bench_now() - begun;
    check(s, words);
    free(words);
}

static void measure(frames_bench *b, VkFormat format, const char *name, uint32_t texel,
                    uint32_t side)
{
    fields s = {.b = b, .row_bytes = (size_t)texel * side, .side = side};
    bench *base = &b->bench;
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = format,
                                    .extent = {side, side, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = VK_IMAGE_USAGE_STORAGE_BIT};
    culv_vk_image_create_desc desc = culv_vk_image_create_desc_init();
    culv_shared_image *shared;
    bench_series series;
    desc.create_info = &info;
    CULV_OK_OR_EXIT(culv_vk_image_create(base->rig.attached, &desc, &shared));
    s.image = culv_shared_image_cuda(shared);
    CULV_OK_OR_EXIT(culv_image_get_array(s.image, 0, &s.array));
    CULV_OK_OR_EXIT(culv_image_prepare_write(s.image));
    RIG_CU(base->rig.cu->MemAlloc(&s.from, s.row_bytes * side));
    bench_variant(base, "%s, %u x %u, beside cuMemcpy2DAsync", name, (unsigned)side,
                  (unsigned)side);
    bench_begin(
        base, &series,
        (bench_setup){
            .kind = BENCH_PAIR, .turn = turn, .state = &s, .num_phases = 1, .calls = CALLS});
    bench_row(base, &series, (bench_row_desc){.name = "culv_image_write", .phases = 1});
    bench_end(&series);
    const bench_result *r = &base->results[base->num_results - 1];
    if (base->text != NULL)
        fprintf(base->text, "  %-24s %25.1f GB/s %25.1f GB/s\n", "",
                (double)s.row_bytes * side * 1e-3 / r->sides[BENCH_CULVERT].median,
                (double)s.row_bytes * side * 1e-3 / r->sides[BENCH_RAW].median);
    RIG_CU(base->rig.cu->MemFree(s.from));
    culv_shared_image_destroy(&shared);
}

void fields_run(frames_bench *b, const options *o)
{
    const bool small = o->quick || b->bench.rig.caps.is_software;
    measure(b, VK_FORMAT_R8G8B8A8_UNORM, "RGBA8", 4, small ? 76 : 4096);
    measure(b, VK_FORMAT_R32G32B32A32_SFLOAT, "RGBA32F", 16, small ? 52 : 4096);
}
