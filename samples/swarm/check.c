/* SPDX-License-Identifier: MIT */
/* See check.h. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../common/report.h"

/* The host needs room for as many. */
#define PIECE (UINT32_C(1) << 19)

typedef struct check {
    particles *p;
    const culv_cuda_api *cu;
    vulkan_buffer by_vulkan;
    particle *by_cuda;
    uint64_t checksum;
} check;

static bool read_vulkan(check *c, const culv_vk_vector_view_buffer *part, uint64_t first,
                        uint32_t count)
{
    const VkPipelineStageFlags2 stage = VK_PIPELINE_STAGE_2_COPY_BIT;
    VkBufferCopy region = {.srcOffset = first * sizeof(particle) - part->offset,
                           .size = (VkDeviceSize)count * sizeof(particle)};
    vulkan_once once;
    bool fine = vulkan_once_begin(c->p->vulkan, &once) &&
                particles_record_acquire(c->p, once.commands, CULV_VK_USE_TRANSFER_SRC, stage);
    if (fine) {
        vkCmdCopyBuffer(once.commands, part->buffer, c->by_vulkan.buffer, 1, &region);
        vulkan_host_barrier(once.commands, c->by_vulkan.buffer);
        fine = particles_record_release(c->p, once.commands, CULV_VK_USE_TRANSFER_SRC, stage);
    }
    return vulkan_once_end(c->p->vulkan, &once, fine);
}

static bool read_cuda(check *c, uint64_t first, uint32_t count)
{
    CUdeviceptr from = culv_vector_pointer(c->p->vector) + first * sizeof(particle);
    return cuda_ok(c->cu, c->cu->cuMemcpyDtoH(c->by_cuda, from, count * sizeof(particle)),
                   "cuMemcpyDtoH");
}

/* FNV-1a's way, by words. */
static void add_to_checksum(check *c, const particle *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t words[sizeof(particle) / sizeof(uint64_t)];
        memcpy(words, &list[i], sizeof words);
        for (size_t j = 0; j < sizeof words / sizeof words[0]; j++)
            c->checksum = (c->checksum ^ words[j]) * UINT64_C(0x100000001b3);
    }
}

static bool check_piece(check *c, const culv_vk_vector_view_buffer *part, uint64_t first,
                        uint32_t count)
{
    if (!read_vulkan(c, part, first, count) || !read_cuda(c, first, count)) return false;
    const particle *list = c->by_vulkan.mapped;
    for (uint32_t i = 0; i < count; i++) {
        if (memcmp(&list[i], &c->by_cuda[i], sizeof list[i]) != 0) {
            report("particle %llu: what Vulkan reads is not what CUDA has",
                   (unsigned long long)(first + i));
            return false;
        }
        if (list[i].id != first + i + 1) {
            report("particle %llu is lost: %u is in its place", (unsigned long long)(first + i),
                   list[i].id);
            return false;
        }
        if (!(fabsf(list[i].x) < 100.0f && fabsf(list[i].y) < 100.0f &&
              fabsf(list[i].z) < 100.0f)) {
            report("particle %llu has left", (unsigned long long)(first + i));
            return false;
        }
    }
    add_to_checksum(c, list, count);
    return true;
}

bool check_particles(particles *p, const culv_cuda_api *cu, uint64_t *checksum)
{
    check c = {.p = p, .cu = cu, .checksum = UINT64_C(0xcbf29ce484222325)};
    uint32_t piece = p->count < PIECE ? (uint32_t)p->count : PIECE;
    c.by_cuda = malloc(piece * sizeof(particle));
    bool fine = vulkan_buffer_create(p->vulkan, piece * sizeof(particle),
                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT, true, &c.by_vulkan);
    if (!c.by_cuda) {
        report("out of memory for %u particles", piece);
        fine = false;
    }
    uint64_t checked = 0;
    for (size_t i = 0; fine && i < p->num_parts; i++) {
        uint64_t end = checked + particles_in(p, &p->parts[i]);
        while (fine && checked < end) {
            uint32_t count = end - checked < piece ? (uint32_t)(end - checked) : piece;
            fine = check_piece(&c, &p->parts[i], checked, count);
            checked += count;
        }
    }
    if (fine && checked != p->count) {
        report("Vulkan has %llu of %llu particles", (unsigned long long)checked,
               (unsigned long long)p->count);
        fine = false;
    }
    vulkan_buffer_destroy(p->vulkan, &c.by_vulkan);
    free(c.by_cuda);
    *checksum = c.checksum;
    return fine;
}
