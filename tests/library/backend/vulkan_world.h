/* SPDX-License-Identifier: MIT */
/* A test's own VkDevice, and the caller's memory and timelines of it. */
#ifndef CULVERT_TESTS_VULKAN_WORLD_H_
#define CULVERT_TESTS_VULKAN_WORLD_H_

#include "library.h"

static lib_world world;
static lib_layer layer;
static bool has_layer;

static void open_world(void)
{
    /* The validation layer takes the driver's failures for the program's, and waits ten seconds
     * when a counter is read while another thread waits for it (1.3.239). */
    if (strstr(test_case_name(), "torture") != NULL || strstr(test_case_name(), "lost") != NULL ||
        strcmp(test_case_name(), "fallback.semaphore") == 0 ||
        strcmp(test_case_name(), "rings.carried_by_host") == 0)
        lib_with_option("--validation=off");
    lib_open_vulkan(&world);
    has_layer = lib_layer_find(&layer);
    if (has_layer && !world.cu->software) { /* an earlier case of this process loaded it */
        culv_soft_vk_counts counts = {.struct_size = sizeof counts};
        layer.counts(&counts);
        has_layer = counts.instances > 0;
    }
}

/* Without Culvert's halves: the suite has closed them and looked at what they left. */
static void close_world(void)
{
    raw_vk_idle(&world.vk);
    raw_vk_close(&world.vk);
    if (has_layer) lib_require_empty_layer(&layer, raw_vk_kept());
}

static void *memory_create(uint64_t size)
{
    raw_vk_buffer *memory = calloc(1, sizeof *memory);
    REQUIRE(memory != NULL);
    raw_vk_buffer_create(&world.vk, size, RAW_VK_EXPORT, memory);
    return memory;
}

static void memory_destroy(void *memory)
{
    raw_vk_buffer_destroy(&world.vk, memory);
    free(memory);
}

static uint64_t memory_size(const void *memory)
{
    return ((const raw_vk_buffer *)memory)->allocation_size;
}

static void memory_write(const void *memory, const void *data, size_t size)
{
    raw_vk_write(&world.vk, memory, 0, data, size);
}

static void memory_read(const void *memory, void *data, size_t size)
{
    raw_vk_read(&world.vk, memory, 0, data, size);
}

typedef struct timeline {
    VkSemaphore semaphore;
    culv_shared_semaphore *made; /* or one that OpenGL's back-end made */
} timeline;

static timeline made_timeline; /* of semaphore_timeline(): one at a time */

static void *timeline_create(uint64_t value)
{
    timeline *t = calloc(1, sizeof *t);
    REQUIRE(t != NULL);
    t->semaphore = raw_vk_timeline(&world.vk, value, true);
    return t;
}

static void timeline_destroy(void *t)
{
    raw_vk_timeline_destroy(&world.vk, ((timeline *)t)->semaphore);
    free(t);
}

#endif
