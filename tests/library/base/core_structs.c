/* SPDX-License-Identifier: MIT */
/* Descriptors of older and newer programs: struct_size in every one of them. */
#define TEST_GROUP "structs."
#include "image_stage.h"
#include "library.h"

#include <unistd.h>

/* A call that takes a descriptor of `size` bytes and undoes what it did; oldest: bytes of the
 * shortest descriptor that still means the same. */
typedef struct described {
    const char *name;
    const void *desc;
    size_t size, oldest;
    culv_result (*call)(lib_world *w, const void *desc);
} described;

/* Takes shorter, longer and wrong struct_sizes; never reads beyond what a descriptor says it
 * has. */
static void described_check(lib_world *w, const described *d)
{
    unsigned char *copy = malloc(1 << 17);
    REQUIRE(copy != NULL);
    /* The last two before the ends would cut a pointer in two. */
    static const size_t wrong[] = {
        0,     1,      4,       sizeof(size_t), 2 * sizeof(size_t) + 4, 6 * sizeof(size_t) + 1,
        65537, 100001, SIZE_MAX};
    printf("%s\n", d->name);
    memset(copy, 0, 1 << 17);
    memcpy(copy, d->desc, d->size);
    LIB_OK(d->call(w, copy));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        memcpy(copy, &wrong[i], sizeof(size_t));
        LIB_INVALID(d->call(w, copy), STRUCT_SIZE, d->name);
    }
    free(copy);
    /* Just as long as it says, so that a sanitizer sees a read beyond. */
    size_t oldest = (d->oldest + sizeof(size_t) - 1) / sizeof(size_t) *
                    sizeof(size_t); /* as its padding had it */
    for (size_t size = oldest; size <= d->size + 24; size += size < d->size ? d->size - size : 8) {
        copy = calloc(1, size);
        REQUIRE(copy != NULL);
        memcpy(copy, d->desc, size < d->size ? size : d->size);
        memcpy(copy, &size, sizeof size);
        LIB_OK(d->call(w, copy));
        for (size_t at = d->size; at < size; at++) {
            copy[at] = 1; /* a newer program uses what this library does not know */
            LIB_ERROR(d->call(w, copy), UNSUPPORTED, STRUCT_SIZE, d->name);
            copy[at] = 0;
        }
        free(copy);
    }
}

static culv_result open_device(lib_world *w, const void *desc)
{
    culv_device *device = POISON(culv_device);
    culv_result r = culv_device_open_for_vk(vkGetInstanceProcAddr, w->vk.instance, w->vk.physical,
                                            desc, &device);
    if (r == CULV_OK)
        culv_device_close(&device);
    else
        REQUIRE(device == POISON(culv_device));
    return r;
}

static culv_result open_ordinal(lib_world *w, const void *desc)
{
    culv_device *device = POISON(culv_device);
    (void)w;
    culv_result r = culv_device_open_by_ordinal(0, desc, &device);
    if (r == CULV_OK)
        culv_device_close(&device);
    else
        REQUIRE(device == POISON(culv_device));
    return r;
}

static culv_result rank(lib_world *w, const void *desc)
{
    uint32_t count = 77;
    culv_result r =
        culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w->vk.instance, desc, NULL, 0, &count);
    REQUIRE((count == 77) == (r != CULV_OK));
    return r;
}

static culv_result attach(lib_world *w, const void *desc)
{
    culv_vk_device *vk = POISON(culv_vk_device);
    culv_result r = culv_vk_attach(w->device, desc, &vk);
    if (r == CULV_OK)
        culv_vk_detach(&vk);
    else
        REQUIRE(vk == POISON(culv_vk_device));
    return r;
}

static culv_result import_memory(lib_world *w, const void *desc)
{
    culv_memory *memory = POISON(culv_memory);
    culv_result r = culv_memory_import(w->device, desc, &memory);
    if (r == CULV_OK)
        culv_memory_destroy(&memory);
    else
        REQUIRE(memory == POISON(culv_memory));
    return r;
}

static culv_result import_vk_memory(lib_world *w, const void *desc)
{
    culv_memory *memory = POISON(culv_memory);
    culv_result r = culv_vk_memory_import(w->attachment, desc, &memory);
    if (r == CULV_OK)
        culv_memory_destroy(&memory);
    else
        REQUIRE(memory == POISON(culv_memory));
    return r;
}

static culv_memory *shared_memory;

static culv_result map(lib_world *w, const void *desc)
{
    culv_buffer *buffer = POISON(culv_buffer);
    (void)w;
    culv_result r = culv_buffer_map(shared_memory, desc, &buffer);
    if (r == CULV_OK)
        culv_buffer_unmap(&buffer, NULL);
    else
        REQUIRE(buffer == POISON(culv_buffer));
    return r;
}

static culv_result import_semaphore(lib_world *w, const void *desc)
{
    culv_semaphore *semaphore = POISON(culv_semaphore);
    culv_result r = culv_semaphore_import(w->device, desc, &semaphore);
    if (r == CULV_OK)
        culv_semaphore_destroy(&semaphore, NULL);
    else
        REQUIRE(semaphore == POISON(culv_semaphore));
    return r;
}

static culv_result import_vk_semaphore(lib_world *w, const void *desc)
{
    culv_semaphore *semaphore = POISON(culv_semaphore);
    culv_result r = culv_vk_semaphore_import(w->attachment, desc, &semaphore);
    if (r == CULV_OK)
        culv_semaphore_destroy(&semaphore, NULL);
    else
        REQUIRE(semaphore == POISON(culv_semaphore));
    return r;
}

static culv_result make_vk_semaphore(lib_world *w, const void *desc)
{
    culv_shared_semaphore *semaphore = POISON(culv_shared_semaphore);
    culv_result r = culv_vk_semaphore_create(w->attachment, desc, &semaphore);
    if (r == CULV_OK)
        culv_shared_semaphore_destroy(&semaphore, NULL);
    else
        REQUIRE(semaphore == POISON(culv_shared_semaphore));
    return r;
}

static culv_result barriers(lib_world *w, const void *desc)
{
    VkBufferMemoryBarrier2 two;
    (void)w;
    culv_result r = culv_vk_buffer_get_barrier2(desc, CULV_VK_RELEASE, &two);
    REQUIRE_EQ(culv_vk_buffer_get_barrier2(desc, CULV_VK_ACQUIRE, &two), r);
    return r;
}

static culv_result make_ring(lib_world *w, const void *desc)
{
    culv_ring *ring = POISON(culv_ring);
    culv_result r = culv_ring_create(w->device, desc, &ring);
    if (r == CULV_OK)
        culv_ring_destroy(&ring, NULL);
    else
        REQUIRE(ring == POISON(culv_ring));
    return r;
}

static culv_result set_ring(lib_world *w, const void *settings)
{
    culv_ring_desc d = culv_ring_desc_init();
    d.max_depth = 4;
    d.settings = settings;
    return make_ring(w, &d);
}

LIB_CASE(descriptors, .smoke = true)
{
    raw_vk_buffer buffer = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    VkSemaphore timeline = lib_case_timeline(w, 3);
    int fd = raw_vk_buffer_fd(&w->vk, &buffer);
    int timeline_fd = raw_vk_timeline_fd(&w->vk, timeline);
    shared_memory = lib_import(w, &buffer);

    culv_device_desc device = culv_device_desc_init();
    culv_vk_device_desc vk = lib_vk_desc(w);
    culv_memory_desc memory = lib_memory_desc(w, &buffer, fd);
    culv_buffer_desc range = culv_buffer_desc_init();
    culv_semaphore_desc semaphore = culv_semaphore_desc_init();
    semaphore.handle = culv_handle_opaque_fd(timeline_fd);
    semaphore.type = CULV_SEMAPHORE_TIMELINE;
    culv_vk_memory_desc vk_memory = culv_vk_memory_desc_init();
    vk_memory.memory = buffer.memory;
    vk_memory.allocation_size = buffer.allocation_size;
    culv_vk_semaphore_desc vk_semaphore = culv_vk_semaphore_desc_init();
    vk_semaphore.semaphore = timeline;
    vk_semaphore.type = CULV_SEMAPHORE_TIMELINE;
    culv_vk_semaphore_create_desc made = culv_vk_semaphore_create_desc_init();
    made.type = CULV_SEMAPHORE_TIMELINE;
    culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
    transfer.queue_family = 0;
    transfer.buffer = buffer.buffer;
    culv_ring_desc ring = culv_ring_desc_init();
    ring.max_depth = 2;
    culv_ring_settings settings = culv_ring_settings_init();

    const described rows[] = {
        {"culv_device_desc", &device, sizeof device, 16, open_device},
        {"culv_device_desc", &device, sizeof device, 16, open_ordinal},
        {"culv_device_desc", &device, sizeof device, 16, rank},
        {"culv_vk_device_desc", &vk, sizeof vk, offsetof(culv_vk_device_desc, api_version), attach},
        {"culv_memory_desc", &memory, sizeof memory, offsetof(culv_memory_desc, dedicated),
         import_memory},
        {"culv_buffer_desc", &range, sizeof range, 16, map},
        {"culv_semaphore_desc", &semaphore, sizeof semaphore, offsetof(culv_semaphore_desc, value),
         import_semaphore},
        {"culv_vk_memory_desc", &vk_memory, sizeof vk_memory,
         offsetof(culv_vk_memory_desc, dedicated), import_vk_memory},
        {"culv_vk_semaphore_desc", &vk_semaphore, sizeof vk_semaphore,
         offsetof(culv_vk_semaphore_desc, untracked), import_vk_semaphore},
        {"culv_vk_semaphore_create_desc", &made, sizeof made,
         offsetof(culv_vk_semaphore_create_desc, initial_value), make_vk_semaphore},
        {"culv_vk_buffer_transfer", &transfer, sizeof transfer,
         offsetof(culv_vk_buffer_transfer, stage), barriers},
        {"culv_ring_desc", &ring, sizeof ring, offsetof(culv_ring_desc, ready), make_ring},
        {"culv_ring_settings", &settings, sizeof settings, 16, set_ring},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        described_check(w, &rows[i]);

    culv_memory_destroy(&shared_memory);
    close(fd);
    close(timeline_fd);
}

/* An error in an old, short descriptor is reported without looking beyond it. */
TEST(short_transfer_with_an_error)
{
    size_t size = offsetof(culv_vk_buffer_transfer, access);
    culv_vk_buffer_transfer *t = calloc(1, size);
    VkBufferMemoryBarrier2 out;
    VkPipelineStageFlags2 hosts = VK_PIPELINE_STAGE_2_HOST_BIT;
    REQUIRE(t != NULL);
    memcpy(t, &size, sizeof size);
    memset((char *)t + offsetof(culv_vk_buffer_transfer, buffer), 1, sizeof(VkBuffer));
    memcpy((char *)t + offsetof(culv_vk_buffer_transfer, stage), &hosts, sizeof hosts);
    LIB_INVALID(culv_vk_buffer_get_barrier2(t, CULV_VK_RELEASE, &out), VALUE);
    free(t);
}

/* Structs that Culvert fills. */
TEST(outputs)
{
    struct {
        culv_device_caps caps;
        unsigned char beyond[32];
    } out;
    struct {
        culv_device_counts counts;
        unsigned char beyond[32];
    } numbers;
    (void)lib_driver();
    NEW(OWN(culv_device), device, culv_device_open_by_ordinal, 0, NULL);

    memset(&out, 0x77, sizeof out);
    out.caps.struct_size = offsetof(culv_device_caps, uuid);
    LIB_OK(culv_device_get_caps(device, &out.caps));
    REQUIRE(out.caps.name[0] != 0x77);
    for (size_t i = offsetof(culv_device_caps, uuid); i < sizeof out; i++)
        REQUIRE_EQ(((unsigned char *)&out)[i], 0x77);
    memset(&out, 0x77, sizeof out);
    out.caps.struct_size = sizeof out.caps + 16;
    LIB_OK(culv_device_get_caps(device, &out.caps));
    REQUIRE_EQ(out.caps.struct_size, sizeof out.caps + 16);
    for (size_t i = 0; i < sizeof out.beyond; i++)
        REQUIRE_EQ(out.beyond[i], i < 16 ? 0 : 0x77);

    memset(&numbers, 0x77, sizeof numbers);
    numbers.counts.struct_size = offsetof(culv_device_counts, mappings);
    LIB_OK(culv_device_get_counts(device, &numbers.counts));
    REQUIRE_EQ(numbers.counts.memories, 0);
    for (size_t i = offsetof(culv_device_counts, mappings); i < sizeof numbers; i++)
        REQUIRE_EQ(((unsigned char *)&numbers)[i], 0x77);

    /* A struct that was not initialized is refused, not half filled or overrun. */
    static const size_t wrong[] = {0, sizeof(size_t), 65537, SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        memset(&out, 0x77, sizeof out);
        out.caps.struct_size = wrong[i];
        LIB_INVALID(culv_device_get_caps(device, &out.caps), STRUCT_SIZE);
        memset(&numbers, 0x77, sizeof numbers);
        numbers.counts.struct_size = wrong[i];
        LIB_INVALID(culv_device_get_counts(device, &numbers.counts), STRUCT_SIZE);
    }
}

/* The array of culv_vk_rank_physical_devices() has the caller's stride. */
LIB_VULKAN_CASE(candidates)
{
    uint32_t count = 0;
    LIB_OK(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w->vk.instance, NULL, NULL, 0,
                                         &count));
    REQUIRE(count >= 1 && count < 64);
    uint32_t total = count;
    culv_vk_candidate *now = calloc(count, sizeof *now);
    size_t stride = sizeof(culv_vk_candidate) + 64;
    char *newer = malloc((total + 1) * stride);
    REQUIRE(now != NULL && newer != NULL);
    for (uint32_t i = 0; i < total; i++)
        now[i] = culv_vk_candidate_init();
    LIB_OK(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w->vk.instance, NULL, now, count,
                                         &count));
    REQUIRE_EQ(count, total);
    memset(newer, 0x77, (total + 1) * stride);
    for (uint32_t i = 0; i < total; i++)
        memcpy(newer + i * stride, &stride, sizeof stride);
    LIB_OK(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w->vk.instance, NULL,
                                         (culv_vk_candidate *)(void *)newer, count, &count));
    for (uint32_t i = 0; i < total; i++) {
        REQUIRE_EQ_BYTES(newer + i * stride + sizeof(size_t), (char *)&now[i] + sizeof(size_t),
                         sizeof(culv_vk_candidate) - sizeof(size_t));
        for (size_t k = sizeof(culv_vk_candidate); k < stride; k++)
            REQUIRE_EQ(newer[i * stride + k], 0);
    }
    REQUIRE_EQ(newer[total * stride], 0x77); /* no more elements than there are */

    count = 0; /* room for none */
    memset(newer, 0x77, stride);
    memcpy(newer, &stride, sizeof stride);
    LIB_OK(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w->vk.instance, NULL,
                                         (culv_vk_candidate *)(void *)newer, count, &count));
    REQUIRE_EQ(count, total);
    REQUIRE_EQ(newer[sizeof(size_t)], 0x77);

    count = total;
    static const size_t wrong[] = {0, sizeof(size_t), sizeof(culv_vk_candidate) + 4, 65537,
                                   SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        now[0].struct_size = wrong[i];
        LIB_INVALID(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w->vk.instance, NULL, now,
                                                  count, &count),
                    STRUCT_SIZE, "culv_vk_candidate");
    }
    REQUIRE_EQ(count, total);
    free(newer);
    free(now);
}

#undef TEST_GROUP
#define TEST_GROUP ""
/* Descriptors of images, of what Culvert makes, and of images' barriers, of older and newer
 * programs. */

/* What the calls below map. */
static shared_image subject;

#define UNDONE(type, object, result, undo)                                                         \
    do {                                                                                           \
        if ((result) == CULV_OK)                                                                   \
            undo(&(object), NULL);                                                                 \
        else                                                                                       \
            REQUIRE((object) == POISON(type));                                                     \
        return (result);                                                                           \
    } while (0)

static culv_result image_map(lib_world *w, const void *desc)
{
    culv_image *image = POISON(culv_image);
    (void)w;
    culv_result r = culv_image_map(subject.memory, desc, &image);
    UNDONE(culv_image, image, r, culv_image_unmap);
}

static culv_result map_vk(lib_world *w, const void *desc)
{
    culv_image *image = POISON(culv_image);
    culv_result r = culv_vk_image_map(w->attachment, subject.memory, desc, &image);
    UNDONE(culv_image, image, r, culv_image_unmap);
}

static culv_result make_buffer(lib_world *w, const void *desc)
{
    culv_shared_buffer *buffer = POISON(culv_shared_buffer);
    culv_result r = culv_vk_buffer_create(w->attachment, desc, &buffer);
    UNDONE(culv_shared_buffer, buffer, r, culv_shared_buffer_destroy);
}

static culv_result make_image(lib_world *w, const void *desc)
{
    culv_shared_image *image = POISON(culv_shared_image);
    culv_result r = culv_vk_image_create(w->attachment, desc, &image);
    UNDONE(culv_shared_image, image, r, culv_shared_image_destroy);
}

static culv_result image_barriers(lib_world *w, const void *desc)
{
    VkImageMemoryBarrier2 two;
    (void)w;
    culv_result r = culv_vk_image_get_barrier2(desc, CULV_VK_RELEASE, &two);
    REQUIRE_EQ(culv_vk_image_get_barrier2(desc, CULV_VK_ACQUIRE, &two), r);
    return r;
}

IMAGE_CASE(image_descriptors, .title = "structs.image_descriptors")
{
    shared_image_open(s, CALLERS_DEDICATED, VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 1, 0, &subject);
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 1, 0, &external);
    const VkImageCreateInfo plain = image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 1, 0, NULL);
    const VkBufferCreateInfo buffer_info =
        raw_vk_buffer_info(4096, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_image_desc image = culv_image_desc_init();
    image.format = CULV_FORMAT_R8G8B8A8_UNORM;
    image.width = image.height = 64;
    culv_vk_image_desc vk_image = culv_vk_image_desc_init();
    vk_image.image = subject.image;
    vk_image.create_info = &info;
    culv_vk_buffer_create_desc buffer = culv_vk_buffer_create_desc_init();
    buffer.create_info = &buffer_info;
    culv_vk_image_create_desc made = culv_vk_image_create_desc_init();
    made.create_info = &plain;
    culv_vk_image_transfer transfer = culv_vk_image_transfer_init();
    transfer.queue_family = 0;
    transfer.image = subject.image;
    const described rows[] = {
        {"culv_image_desc", &image, sizeof image, offsetof(culv_image_desc, mip_levels), image_map},
        {"culv_vk_image_desc", &vk_image, sizeof vk_image, offsetof(culv_vk_image_desc, offset),
         map_vk},
        {"culv_vk_buffer_create_desc", &buffer, sizeof buffer,
         offsetof(culv_vk_buffer_create_desc, memory_properties), make_buffer},
        {"culv_vk_image_create_desc", &made, sizeof made,
         offsetof(culv_vk_image_create_desc, memory_properties), make_image},
        {"culv_vk_image_transfer", &transfer, sizeof transfer,
         offsetof(culv_vk_image_transfer, base_mip_level), image_barriers},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        described_check(&s->w, &rows[i]);
    shared_image_close(s, &subject);
}
