/* SPDX-License-Identifier: MIT */
/* See particles.h. */
#include "particles.h"

#include <stdlib.h>
#include <string.h>

#include "../common/progress.h"
#include "../common/report.h"

/* A chunk, and with it a buffer of Vulkan's, a draw and two barriers, is a 32nd of the whole, or
 * what CUDA has at the least. */
#define CHUNKS      UINT64_C(32)
#define LEAST_CHUNK (UINT64_C(2) << 20)

/* Addresses for all of them are reserved, which costs no memory; memory comes by chunks, each of
 * which can be exported. */
static bool create_vector(particles *p, culv_device *device, uint64_t reserve, uint64_t chunk)
{
    culv_vector_desc desc = culv_vector_desc_init();
    desc.reserve = reserve;
    desc.no_move = 1; /* kernels keep the pointer */
    desc.min_chunk = chunk;
    desc.commit_ahead =
        chunk; /* a thread commits the next one, so that growing only publishes it */
    desc.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    desc.label = "particles";
    return culv_ok(culv_vector_create(device, &desc, &p->vector), "culv_vector_create");
}

/* A buffer a chunk, or a sparse one for all, of the size that the vector may ever have. */
static bool create_view(particles *p, uint64_t reserve, bool sparse)
{
    culv_vk_vector_view_desc desc = culv_vk_vector_view_desc_init();
    desc.usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    if (p->vulkan->kernels) desc.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    if (sparse) {
        desc.sparse_queue = p->vulkan->queue;
        desc.sparse_size = reserve;
    }
    return culv_ok(culv_vk_vector_view_create(p->attached, p->vector, &desc, &p->view),
                   "culv_vk_vector_view_create");
}

bool particles_create(particles *p, const vulkan_setup *vulkan, culv_device *device, uint64_t most,
                      bool sparse)
{
    memset(p, 0, sizeof *p);
    p->vulkan = vulkan;
    uint64_t bytes = most * sizeof(particle), chunk = bytes / CHUNKS;
    if (chunk < LEAST_CHUNK) chunk = LEAST_CHUNK;
    uint64_t reserve = bytes + 3 * chunk; /* with what is ahead, and sizes rounded up to chunks */
    return interop_attach(vulkan, device, &p->attached) &&
           interop_timeline(p->attached, "ready", &p->ready) &&
           interop_timeline(p->attached, "drawn", &p->drawn) &&
           create_vector(p, device, reserve, chunk) && create_view(p, reserve, sparse);
}

void particles_destroy(particles *p)
{
    culv_vector_view_destroy(&p->view);
    culv_vector_destroy(&p->vector);
    culv_shared_semaphore_destroy(&p->ready);
    culv_shared_semaphore_destroy(&p->drawn);
    culv_vk_detach(&p->attached);
    free(p->parts);
    free(p->barriers);
    memset(p, 0, sizeof *p);
}

/* Growing -------------------------------------------------------------------------------------- */

/* Lists Vulkan's buffers anew. Those that were there must be there still: command buffers in flight
 * use them. */
static bool list_buffers(particles *p, particles_growth *growth)
{
    size_t count = 0;
    if (!culv_ok(culv_vk_vector_view_get_buffers(p->view, NULL, 0, &count),
                 "culv_vk_vector_view_get_buffers"))
        return false;
    culv_vk_vector_view_buffer *parts = calloc(count + 1, sizeof *parts);
    VkBufferMemoryBarrier2 *barriers = calloc(count + 1, sizeof *barriers);
    bool fine = parts && barriers;
    if (!fine) report("out of memory for a list of %zu buffers", count);
    fine = fine && culv_ok(culv_vk_vector_view_get_buffers(p->view, parts, count, &count),
                           "culv_vk_vector_view_get_buffers");
    for (size_t i = 0; fine && i < p->num_parts; i++) {
        fine = i < count && parts[i].buffer == p->parts[i].buffer &&
               parts[i].offset == p->parts[i].offset;
        if (!fine) report("buffer %zu of the particles is another one after they grew", i);
    }
    if (!fine) {
        free(parts);
        free(barriers);
        return false;
    }
    growth->kept = p->num_parts;
    growth->added = count - p->num_parts;
    free(p->parts);
    free(p->barriers);
    p->parts = parts;
    p->barriers = barriers;
    p->num_parts = count;
    return true;
}

bool particles_grow(particles *p, uint64_t count, particles_growth *out)
{
    *out = (particles_growth){.kept = p->num_parts};
    uint64_t had = culv_vector_view_generation(p->view);
    double began = clock_seconds();
    culv_result grown = culv_vector_grow(p->vector, count * sizeof(particle));
    double grew = clock_seconds();
    if (!culv_ok(grown, "culv_vector_grow")) return false;
    /* Imports the chunks that are new, those included that were committed ahead, and leaves the
     * others alone. */
    culv_result updated = culv_vector_view_update(p->view);
    double ended = clock_seconds();
    if (!culv_ok(updated, "culv_vector_view_update")) return false;
    out->grow_us = 1e6 * (grew - began);
    out->import_us = 1e6 * (ended - grew);
    out->news = p->num_parts == 0 || culv_vector_view_generation(p->view) != had;
    p->count = count;
    return !out->news || list_buffers(p, out);
}

/* Taking turns --------------------------------------------------------------------------------- */

bool particles_cuda_acquire(particles *p, CUstream stream, uint64_t frame)
{
    if (frame == 0) return true; /* nobody has drawn yet */
    return culv_ok(culv_semaphore_wait(culv_shared_semaphore_cuda(p->drawn), stream, frame),
                   "waiting for drawn");
}

bool particles_cuda_release(particles *p, CUstream stream, uint64_t frame)
{
    return culv_ok(culv_semaphore_signal(culv_shared_semaphore_cuda(p->ready), stream, frame + 1),
                   "signaling ready");
}

static culv_vk_buffer_transfer transfer_of(const particles *p, size_t part, culv_vk_use use,
                                           VkPipelineStageFlags2 stage)
{
    culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
    transfer.buffer = p->parts[part].buffer;
    transfer.queue_family = p->vulkan->queue_family;
    transfer.use = use;
    transfer.stage = stage;
    return transfer;
}

static void record_barriers(const particles *p, VkCommandBuffer commands)
{
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = (uint32_t)p->num_parts,
                                   .pBufferMemoryBarriers = p->barriers};
    vkCmdPipelineBarrier2(commands, &dependency);
}

bool particles_record_acquire(particles *p, VkCommandBuffer commands, culv_vk_use use,
                              VkPipelineStageFlags2 stage)
{
    for (size_t i = 0; i < p->num_parts; i++) {
        culv_vk_buffer_transfer transfer = transfer_of(p, i, use, stage);
        if (!culv_ok(culv_vk_buffer_get_barrier2(&transfer, CULV_VK_ACQUIRE, &p->barriers[i]),
                     "culv_vk_buffer_get_barrier2"))
            return false;
    }
    record_barriers(p, commands);
    return true;
}

bool particles_record_release(particles *p, VkCommandBuffer commands, culv_vk_use use,
                              VkPipelineStageFlags2 stage)
{
    for (size_t i = 0; i < p->num_parts; i++) {
        culv_vk_buffer_transfer transfer = transfer_of(p, i, use, stage);
        if (!culv_ok(culv_vk_buffer_get_barrier2(&transfer, CULV_VK_RELEASE, &p->barriers[i]),
                     "culv_vk_buffer_get_barrier2"))
            return false;
    }
    record_barriers(p, commands);
    return true;
}

uint32_t particles_in(const particles *p, const culv_vk_vector_view_buffer *part)
{
    uint64_t first = part->offset / sizeof(particle), room = part->size / sizeof(particle);
    if (p->count <= first) return 0; /* committed ahead */
    return (uint32_t)(p->count - first < room ? p->count - first : room);
}

void particles_unblock(particles *p, uint64_t end)
{
    if (p->ready) vulkan_signal_up_to(p->vulkan, culv_vk_semaphore_handle(p->ready), end + 1);
    if (p->drawn) vulkan_signal_up_to(p->vulkan, culv_vk_semaphore_handle(p->drawn), end + 1);
}
