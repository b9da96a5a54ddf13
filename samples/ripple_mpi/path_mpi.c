/* SPDX-License-Identifier: MIT */
/* ripple's path for the ranks of an MPI program. A frame has the cells and then the texels, as
 * path_bands has them; a rank writes its rows of both. */
#include "path_mpi.h"

#include <stdio.h>
#include <stdlib.h>

#define WAIT_NS UINT64_C(60000000000)

ranks path_mpi_ranks;

typedef struct mpi_path {
    culv_mpi *mpi;
    uint32_t first; /* row */
    uint64_t cells_row, tint_row;
    float *edges; /* pinned: two rows to send, and two that come */
    /* The renderer's. */
    culv_vk_device *attached;
    culv_shared_semaphore *drawn;
    vulkan_buffer frames[EXCHANGE_MAX_BUFFERS];
    vulkan_image tint[EXCHANGE_MAX_BUFFERS];
} mpi_path;

/* Halos ---------------------------------------------------------------------------------------- */

/* The rows above and below, by way of the host: MPI need not know CUDA. */
static bool swap_edges(exchange *e, CUstream stream, CUdeviceptr heights, uint32_t first,
                       uint32_t last)
{
    const mpi_path *m = e->own;
    const ranks *r = &path_mpi_ranks;
    const culv_cuda_api *cu = e->cu;
    const size_t width = e->grid.width, row = width * sizeof(float);
    const int up = r->band > 0 ? r->solvers[r->band - 1] : MPI_PROC_NULL;
    const int down = r->band + 1 < r->num_solvers ? r->solvers[r->band + 1] : MPI_PROC_NULL;
    float *top = m->edges, *bottom = top + width, *above = bottom + width, *below = above + width;
    if (!cuda_ok(cu, cu->cuMemcpyDtoHAsync(top, heights + first * row, row, stream),
                 "cuMemcpyDtoHAsync") ||
        !cuda_ok(cu, cu->cuMemcpyDtoHAsync(bottom, heights + (last - 1) * row, row, stream),
                 "cuMemcpyDtoHAsync") ||
        !cuda_ok(cu, cu->cuStreamSynchronize(stream), "cuStreamSynchronize"))
        return false;
    MPI_Sendrecv(top, (int)width, MPI_FLOAT, up, 0, below, (int)width, MPI_FLOAT, down, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(bottom, (int)width, MPI_FLOAT, down, 1, above, (int)width, MPI_FLOAT, up, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return (up == MPI_PROC_NULL ||
            cuda_ok(cu, cu->cuMemcpyHtoDAsync(heights + (first - 1) * row, above, row, stream),
                    "cuMemcpyHtoDAsync")) &&
           (down == MPI_PROC_NULL ||
            cuda_ok(cu, cu->cuMemcpyHtoDAsync(heights + last * row, below, row, stream),
                    "cuMemcpyHtoDAsync"));
}

/* Making --------------------------------------------------------------------------------------- */

/* A slot of culvert-mpi's, as a buffer to draw from. */
static bool make_slot(exchange *e, mpi_path *m, uint32_t i)
{
    const vulkan_setup *v = e->vulkan;
    culv_vmm_allocation *allocation = culv_mpi_slot(m->mpi, i);
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    if (!culv_ok(culv_vmm_allocation_get_info(allocation, &info), "culv_vmm_allocation_get_info"))
        return false;
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                       .pNext = &external,
                                       .size = info.size,
                                       .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                                VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    vulkan_buffer *b = &m->frames[i];
    if (!VK_MADE(vkCreateBuffer(v->device, &create, NULL, &b->buffer), "vkCreateBuffer",
                 &b->buffer) ||
        !culv_ok(culv_vk_buffer_bind_vmm(m->attached, b->buffer, allocation, 0, &b->memory),
                 "culv_vk_buffer_bind_vmm") ||
        !vulkan_image_create(v, EXCHANGE_TINT_FORMAT, e->grid, VK_SAMPLE_COUNT_1_BIT,
                             VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                             VK_IMAGE_ASPECT_COLOR_BIT, &m->tint[i]))
        return false;
    e->buffers[i].cells = b->buffer;
    e->buffers[i].tint = m->tint[i].image;
    return true;
}

static bool tell_ways(mpi_path *m)
{
    culv_mpi_rank_info info[256];
    size_t count = 0;
    info[0] = culv_mpi_rank_info_init();
    if (!culv_ok(culv_mpi_get_ranks(m->mpi, info, 256, &count), "culv_mpi_get_ranks")) return false;
    for (size_t i = 0; i < count && i < 256; i++)
        fprintf(stderr, "ripple-mpi: rank %d: %s: %s\n", info[i].rank,
                culv_mpi_way_name(info[i].way), info[i].why);
    return true;
}

static bool create(exchange *e)
{
    const ranks *r = &path_mpi_ranks;
    mpi_path *m = e->own = calloc(1, sizeof *m);
    if (!m) return false;
    const uint64_t first = (uint64_t)r->band * e->grid.height / r->num_solvers;
    const uint64_t last = ((uint64_t)r->band + 1) * e->grid.height / r->num_solvers;
    const bool solves = r->band < r->num_solvers;
    m->first = (uint32_t)first;
    m->cells_row = (uint64_t)e->grid.width * 4 * sizeof(float);
    m->tint_row = (uint64_t)e->grid.width * 4;
    const culv_mpi_range ranges[] = {
        {first * m->cells_row, (last - first) * m->cells_row},
        {e->cells_size + first * m->tint_row, (last - first) * m->tint_row}};
    culv_mpi_desc desc = culv_mpi_desc_init();
    desc.frame_size = e->cells_size + e->cells_size / 4;
    desc.num_slots = e->num_buffers;
    desc.ranges = ranges;
    desc.num_ranges = solves ? 2 : 0;
    if (!culv_ok(culv_mpi_create(e->device, MPI_COMM_WORLD, &desc, &m->mpi), "culv_mpi_create"))
        return false;
    if (solves) {
        e->band = (exchange_band){r->band, r->num_solvers, swap_edges};
        if (!cuda_ok(e->cu,
                     e->cu->cuMemAllocHost((void **)&m->edges,
                                           4 * (size_t)e->grid.width * sizeof(float)),
                     "cuMemAllocHost"))
            return false;
    }
    if (!e->vulkan) return true;
    if (!tell_ways(m) || !interop_attach(e->vulkan, e->device, false, &m->attached) ||
        !interop_timeline(m->attached, "drawn", &m->drawn))
        return false;
    for (uint32_t i = 0; i < e->num_buffers; i++) {
        if (!make_slot(e, m, i)) return false;
    }
    return true;
}

static void destroy(exchange *e)
{
    mpi_path *m = e->own;
    if (!m) return;
    for (uint32_t i = 0; e->vulkan && i < EXCHANGE_MAX_BUFFERS; i++) {
        vulkan_buffer_destroy(e->vulkan, &m->frames[i]);
        vulkan_image_destroy(e->vulkan, &m->tint[i]);
    }
    culv_mpi_destroy(&m->mpi);
    culv_shared_semaphore_destroy(&m->drawn, NULL);
    culv_vk_detach(&m->attached);
    if (m->edges) (void)e->cu->cuMemFreeHost(m->edges);
    free(m);
}

/* Handing over --------------------------------------------------------------------------------- */

static bool cuda_acquire(exchange *e, CUstream stream, uint64_t frame)
{
    mpi_path *m = e->own;
    exchange_buffer *b = &e->buffers[e->filling];
    culv_mpi_part part = culv_mpi_part_init();
    (void)stream;
    (void)frame;
    if (!culv_ok(culv_mpi_acquire(m->mpi, WAIT_NS, &part), "culv_mpi_acquire")) return false;
    /* The kernels count rows from the grid's first one. */
    b->cuda_cells = culv_mpi_pointer(m->mpi, 0) - m->first * m->cells_row;
    b->cuda_tint_rows = culv_mpi_pointer(m->mpi, 1) - m->first * m->tint_row;
    return true;
}

static bool cuda_release(exchange *e, CUstream stream, uint64_t frame)
{
    const mpi_path *m = e->own;
    (void)frame;
    return culv_ok(culv_mpi_release(m->mpi, stream), "culv_mpi_release");
}

static bool begin_drawing(exchange *e, uint64_t frame)
{
    const mpi_path *m = e->own;
    culv_mpi_frame whole = culv_mpi_frame_init();
    (void)frame;
    if (!culv_ok(culv_mpi_acquire_frame(m->mpi, WAIT_NS, &whole), "culv_mpi_acquire_frame"))
        return false;
    e->drawing = whole.slot;
    return true;
}

static bool record_acquire(exchange *e, VkCommandBuffer commands, uint64_t frame)
{
    return path_bands.record_acquire(e, commands, frame);
}

static bool record_release(exchange *e, VkCommandBuffer commands, uint64_t frame)
{
    return path_bands.record_release(e, commands, frame);
}

/* The parts are there: nothing to wait for. */
static bool draw(exchange *e, uint64_t frame, const exchange_submission *s, bool *fenced)
{
    const mpi_path *m = e->own;
    const VkSemaphoreSubmitInfo signal = vulkan_submit_point(
        culv_vk_semaphore_handle(m->drawn), frame + 1, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    *fenced = true;
    return exchange_submit(e, s, 0, NULL, 1, &signal) &&
           culv_ok(culv_mpi_release_frame(m->mpi, culv_shared_semaphore_cuda(m->drawn), frame + 1),
                   "culv_mpi_release_frame");
}

static void unblock(exchange *e, uint64_t end)
{
    const mpi_path *m = e->own;
    if (m && m->drawn) vulkan_signal_up_to(e->vulkan, culv_vk_semaphore_handle(m->drawn), end + 1);
}

const exchange_path path_mpi = {.name = "mpi",
                                .create = create,
                                .destroy = destroy,
                                .cuda_acquire = cuda_acquire,
                                .cuda_release = cuda_release,
                                .begin_drawing = begin_drawing,
                                .record_acquire = record_acquire,
                                .record_release = record_release,
                                .draw = draw,
                                .unblock = unblock};
