/* SPDX-License-Identifier: MIT */
/* A linear field into an image: culv_image_write() with its kernel, beside cuMemcpy2DAsync. And the
 * ways to copy a shared buffer, each beside cuMemcpyAsync of CUDA's own memory. */
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

/* Of the last row. */
static void print_rates(const bench *base, size_t bytes)
{
    const bench_result *r = &base->results[base->num_results - 1];
    if (base->text == NULL) return;
    fprintf(base->text, "  %-24s %25.1f GB/s %25.1f GB/s\n", "",
            (double)bytes * 1e-3 / r->sides[BENCH_CULVERT].median,
            (double)bytes * 1e-3 / r->sides[BENCH_RAW].median);
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
    CULV_OK_OR_EXIT(culv_image_get_array(s.image, 0, 0, &s.array));
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
    print_rates(base, s.row_bytes * side);
    RIG_CU(base->rig.cu->MemFree(s.from));
    culv_shared_image_destroy(&shared, NULL);
}

enum { BY_CUDA, BY_COMMAND };

typedef struct buffers {
    frames_bench *b;
    culv_shared_buffer *shared[2]; /* from, to */
    CUdeviceptr own[2];
    size_t size;
    unsigned calls;
    int way;
    uint32_t seed;
    /* `size` bytes each: 256 MiB anew for each turn cost more than the copies. */
    uint32_t *words, *found;
} buffers;

static raw_vk_buffer as_raw(const culv_shared_buffer *buffer)
{
    return (raw_vk_buffer){.buffer = culv_vk_buffer_handle(buffer),
                           .size = culv_buffer_size(culv_shared_buffer_cuda(buffer)),
                           .flags = RAW_VK_EXPORT};
}

static double copy_in_stream(const buffers *s, CUdeviceptr from, CUdeviceptr to)
{
    const rig *r = &s->b->bench.rig;
    const double begun = bench_now();
    for (unsigned i = 0; i < s->calls; i++)
        RIG_CU(r->cu->MemcpyDtoDAsync(to, from, s->size, r->stream));
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    return bench_now() - begun;
}

static double copy_in_queue(const buffers *s)
{
    rig *r = &s->b->bench.rig;
    const raw_vk_buffer from = as_raw(s->shared[0]), to = as_raw(s->shared[1]);
    const VkBufferCopy all = {.size = s->size};
    VkMemoryBarrier2 each;
    const VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                         .memoryBarrierCount = 1,
                                         .pMemoryBarriers = &each};
    CULV_OK_OR_EXIT(culv_vk_kernel_get_barrier2(&each));
    VkCommandBuffer commands = raw_vk_begin(&r->vk, 0);
    raw_vk_acquire(&r->vk, commands, 0, &from);
    raw_vk_acquire(&r->vk, commands, 0, &to);
    for (unsigned i = 0; i < s->calls; i++) {
        vkCmdCopyBuffer(commands, from.buffer, to.buffer, 1, &all);
        vkCmdPipelineBarrier2(commands, &dependency);
    }
    raw_vk_release(&r->vk, commands, 0, &from);
    raw_vk_release(&r->vk, commands, 0, &to);
    const double begun = bench_now();
    raw_vk_submit(&r->vk, commands, NULL);
    return bench_now() - begun;
}

static void copy_turn(void *state, bench_side side, double ns[])
{
    buffers *s = state;
    const rig *r = &s->b->bench.rig;
    const bool shared = side == BENCH_CULVERT;
    const CUdeviceptr from = shared ? culv_shared_buffer_pointer(s->shared[0]) : s->own[0];
    const CUdeviceptr to = shared ? culv_shared_buffer_pointer(s->shared[1]) : s->own[1];
    s->seed++;
    for (size_t i = 0; i < s->size / 4; i++)
        s->words[i] = ((uint32_t)i + s->seed) * UINT32_C(2654435761);
    RIG_CU(raw_cuda_upload(r->cu, from, s->words, s->size));
    ns[0] = shared && s->way != BY_CUDA ? copy_in_queue(s) : copy_in_stream(s, from, to);
    RIG_CU(r->cu->MemcpyDtoH(s->found, to, s->size));
    REQUIRE_EQ_BYTES(s->found, s->words, s->size);
    bench_checked(&s->b->bench);
}

static void measure_copies(frames_bench *b, size_t size, unsigned calls)
{
    static const char *const names[] = {"cuMemcpyAsync, shared", "vkCmdCopyBuffer"};
    bench *base = &b->bench;
    buffers s = {
        .b = b, .size = size, .calls = calls, .words = malloc(size), .found = malloc(size)};
    REQUIRE(s.words != NULL && s.found != NULL);
    const VkBufferCreateInfo info = raw_vk_buffer_info(size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                                                 VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc desc = culv_vk_buffer_create_desc_init();
    desc.create_info = &info;
    for (int i = 0; i < 2; i++) {
        CULV_OK_OR_EXIT(culv_vk_buffer_create(base->rig.attached, &desc, &s.shared[i]));
        RIG_CU(base->rig.cu->MemAlloc(&s.own[i], size));
    }
    bench_variant(base, "copies of %zu KiB, beside cuMemcpyAsync", size / 1024);
    for (s.way = BY_CUDA; s.way <= BY_COMMAND; s.way++) {
        bench_series series;
        bench_begin(base, &series,
                    (bench_setup){.kind = BENCH_PAIR,
                                  .turn = copy_turn,
                                  .state = &s,
                                  .num_phases = 1,
                                  .calls = calls});
        bench_row(base, &series, (bench_row_desc){.name = names[s.way], .phases = 1});
        bench_end(&series);
        print_rates(base, size);
    }
    for (int i = 0; i < 2; i++) {
        RIG_CU(base->rig.cu->MemFree(s.own[i]));
        culv_shared_buffer_destroy(&s.shared[i], NULL);
    }
    free(s.found);
    free(s.words);
}

void fields_run(frames_bench *b, const options *o)
{
    const bool small = o->quick || b->bench.rig.caps.is_software;
    measure(b, VK_FORMAT_R8G8B8A8_UNORM, "RGBA8", 4, small ? 76 : 4096);
    measure(b, VK_FORMAT_R32G32B32A32_SFLOAT, "RGBA32F", 16, small ? 52 : 4096);
    measure_copies(b, small ? (size_t)100 << 10 : (size_t)8 << 20, small ? 4 : 256);
    measure_copies(b, small ? (size_t)300 << 10 : (size_t)256 << 20, small ? 4 : 16);
}
