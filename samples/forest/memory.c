/* SPDX-License-Identifier: MIT */
/* See memory.h. */
#include "memory.h"

#include <string.h>

/* Of each place: a node's and more. */
#define ALIGNMENT UINT64_C(256)

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

memory_places memory_places_at(const memory_sizes *sizes, uint64_t address)
{
    memory_places places = {.particles = address};
    places.nodes = places.particles + aligned(sizes->particles);
    places.picture = places.nodes + aligned(sizes->nodes);
    return places;
}

uint64_t memory_bytes(const memory_sizes *sizes)
{
    return memory_places_at(sizes, 0).picture + aligned(sizes->picture);
}

bool memory_create(memory *m, const memory_mode *mode, const vulkan_setup *vulkan,
                   culv_device *device, const culv_cuda_api *cu, culv_kernels *kernels,
                   const memory_sizes *sizes)
{
    memset(m, 0, sizeof *m);
    m->vulkan = vulkan;
    m->cu = cu;
    m->sizes = *sizes;
    return interop_attach(vulkan, device, &m->attached) &&
           interop_timeline(m->attached, "ready", &m->ready) &&
           interop_timeline(m->attached, "drawn", &m->drawn) && mode->create(m, kernels);
}

void memory_destroy(memory *m, const memory_mode *mode)
{
    if (!m->vulkan) return;
    mode->destroy(m);
    culv_shared_semaphore_destroy(&m->ready);
    culv_shared_semaphore_destroy(&m->drawn);
    culv_vk_detach(&m->attached);
    memset(m, 0, sizeof *m);
}

void memory_unblock(memory *m, uint64_t end)
{
    if (m->ready) vulkan_signal_up_to(m->vulkan, culv_vk_semaphore_handle(m->ready), end + 1);
    if (m->drawn) vulkan_signal_up_to(m->vulkan, culv_vk_semaphore_handle(m->drawn), end + 1);
}
