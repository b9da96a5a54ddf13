/* The Vulkan attachment's symbols in a build without it (CULVERT_VULKAN=OFF): each says so. Vulkan's types
 * are not there; on every ABI that Culvert builds for, its handles and pointers are passed alike as one
 * machine word. SPDX-License-Identifier: MIT */
#include "base/message.h"

#define REFUSE(name)                                                                                         \
    return culvi_fail(NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_BUILT,                             \
                      "%s: this build of Culvert leaves Vulkan out (CULVERT_VULKAN=OFF)", #name)
#define STUB2(name)                                                                                          \
    CULV_API culv_result name(WORD a, WORD b);                                                               \
    culv_result name(WORD a, WORD b)                                                                         \
    {                                                                                                        \
        (void)a, (void)b;                                                                                    \
        REFUSE(name);                                                                                        \
    }
#define STUB3(name)                                                                                          \
    CULV_API culv_result name(WORD a, WORD b, WORD c);                                                       \
    culv_result name(WORD a, WORD b, WORD c)                                                                 \
    {                                                                                                        \
        (void)a, (void)b, (void)c;                                                                           \
        REFUSE(name);                                                                                        \
    }
#define STUB4(name)                                                                                          \
    CULV_API culv_result name(WORD a, WORD b, WORD c, WORD d);                                               \
    culv_result name(WORD a, WORD b, WORD c, WORD d)                                                         \
    {                                                                                                        \
        (void)a, (void)b, (void)c, (void)d;                                                                  \
        REFUSE(name);                                                                                        \
    }
#define STUB5(name)                                                                                          \
    CULV_API culv_result name(WORD a, WORD b, WORD c, WORD d, WORD e);                                       \
    culv_result name(WORD a, WORD b, WORD c, WORD d, WORD e)                                                 \
    {                                                                                                        \
        (void)a, (void)b, (void)c, (void)d, (void)e;                                                         \
        REFUSE(name);                                                                                        \
    }
/* The exporting calls have an enum in the middle. */
#define STUB_EXPORT(name)                                                                                    \
    CULV_API culv_result name(WORD a, WORD b, int c, WORD d);                                                \
    culv_result name(WORD a, WORD b, int c, WORD d)                                                          \
    {                                                                                                        \
        (void)a, (void)b, (void)c, (void)d;                                                                  \
        REFUSE(name);                                                                                        \
    }
#define WORD const void *
CULV_API culv_result culv_vk_image_map_pitched(WORD a, WORD b, WORD c, uint32_t d, uint32_t e, WORD f,
                                               WORD g);
culv_result culv_vk_image_map_pitched(WORD a, WORD b, WORD c, uint32_t d, uint32_t e, WORD f, WORD g)
{
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g;
    REFUSE(culv_vk_image_map_pitched);
}
CULV_API const char *culv_vk_sampler_difference_text(int difference);
const char *culv_vk_sampler_difference_text(int difference)
{
    (void)difference;
    return "unknown";
}
/* Nothing can have been made, so there is nothing to destroy or to ask. */
#define STUB_DESTROY(name)                                                                                   \
    CULV_API void name(WORD a, WORD b);                                                                      \
    void name(WORD a, WORD b)                                                                                \
    {                                                                                                        \
        (void)a, (void)b;                                                                                    \
    }
#define STUB_GET(name)                                                                                       \
    CULV_API WORD name(WORD a, WORD b);                                                                      \
    WORD name(WORD a, WORD b)                                                                                \
    {                                                                                                        \
        (void)a, (void)b;                                                                                    \
        return NULL;                                                                                         \
    }

CULV_API uint32_t culv_vk_instance_extensions(uint32_t api_version, uint32_t capacity,
                                              const char **out_names);
CULV_API uint32_t culv_vk_instance_layers(WORD get_proc, uint32_t capacity, const char **out_names);
CULV_API uint32_t culv_vk_device_extensions(uint32_t api_version, uint32_t capacity, const char **out_names);
CULV_API uint32_t culv_vk_optional_device_extensions(uint32_t api_version, uint32_t capacity,
                                                     const char **out_names);
CULV_API uint64_t culv_vk_host_import_alignment(WORD vk);
CULV_API void culv_vk_detach(void **vk);

uint32_t culv_vk_instance_extensions(uint32_t api_version, uint32_t capacity, const char **out_names)
{
    (void)api_version, (void)capacity, (void)out_names;
    return 0;
}

uint32_t culv_vk_instance_layers(WORD get_proc, uint32_t capacity, const char **out_names)
{
    (void)get_proc, (void)capacity, (void)out_names;
    return 0;
}

uint32_t culv_vk_device_extensions(uint32_t api_version, uint32_t capacity, const char **out_names)
{
    (void)api_version, (void)capacity, (void)out_names;
    return 0;
}

uint32_t culv_vk_optional_device_extensions(uint32_t api_version, uint32_t capacity, const char **out_names)
{
    (void)api_version, (void)capacity, (void)out_names;
    return 0;
}

uint64_t culv_vk_host_import_alignment(WORD vk)
{
    (void)vk;
    return 0;
}

void culv_vk_detach(void **vk)
{
    (void)vk;
}

STUB5(culv_vk_rank_physical_devices)
STUB5(culv_vk_device_open)
STUB3(culv_vk_attach)
STUB3(culv_vk_memory_import)
STUB3(culv_vk_memory_acquire)
STUB3(culv_vk_texture_desc_from_sampler)
STUB3(culv_vk_memory_from_handle)
STUB4(culv_vk_memory_from_vmm)
STUB4(culv_vk_vector_create)
STUB3(culv_vk_semaphore_import)
STUB_EXPORT(culv_vk_memory_export_dup)
STUB_EXPORT(culv_vk_semaphore_export_dup)
STUB4(culv_vk_check_buffer)
STUB4(culv_vk_check_image)
STUB4(culv_vk_image_map)
STUB3(culv_vk_buffer_create)
STUB3(culv_vk_image_create)
STUB3(culv_vk_semaphore_create)
STUB2(culv_vk_buffer_record_push)
STUB2(culv_vk_buffer_record_pull)
STUB3(culv_vk_image_record_push)
STUB3(culv_vk_image_record_pull)
STUB_DESTROY(culv_vk_buffer_destroy)
STUB_DESTROY(culv_vk_buffer_destroy_after)
STUB_DESTROY(culv_vk_image_destroy)
STUB_DESTROY(culv_vk_image_destroy_after)
STUB_DESTROY(culv_vk_semaphore_destroy)
STUB_DESTROY(culv_vk_semaphore_destroy_after)
STUB_GET(culv_vk_buffer_handle)
STUB_GET(culv_vk_buffer_memory)
STUB_GET(culv_vk_buffer_cuda)
STUB_GET(culv_vk_buffer_host_pointer)
STUB_GET(culv_vk_image_handle)
STUB_GET(culv_vk_image_memory)
STUB_GET(culv_vk_image_cuda)
STUB_GET(culv_vk_semaphore_handle)
STUB_GET(culv_vk_semaphore_cuda)
STUB4(culv_vk_ring_create)
STUB2(culv_vk_ring_release)
STUB5(culv_vk_ring_submit)
STUB3(culv_vk_ring_flush)
STUB2(culv_vk_buffer_release_barrier2)
STUB2(culv_vk_buffer_acquire_barrier2)
STUB2(culv_vk_buffer_release_barrier)
STUB2(culv_vk_buffer_acquire_barrier)
STUB2(culv_vk_image_release_barrier2)
STUB2(culv_vk_image_acquire_barrier2)
STUB2(culv_vk_image_release_barrier)
STUB2(culv_vk_image_acquire_barrier)

/* Rings, whose calls have numbers among their parameters. */
CULV_API void culv_vk_ring_destroy(void **ring);
CULV_API WORD culv_vk_ring_core(WORD ring);
CULV_API WORD culv_vk_ring_image(WORD ring, uint32_t slot, uint32_t resource);
CULV_API WORD culv_vk_ring_buffer(WORD ring, uint32_t slot, uint32_t resource);
CULV_API WORD culv_vk_ring_semaphore(WORD ring, int side);
CULV_API culv_result culv_vk_ring_acquire(WORD ring, uint64_t timeout, WORD out);
CULV_API culv_result culv_vk_pick_queue_family(WORD get_proc, WORD instance, WORD device, int use, WORD out);
CULV_API culv_result culv_vk_ring_record_copy(WORD ring, WORD commands, uint32_t slot, uint32_t resource,
                                              WORD to, uint64_t offset, uint64_t size);

void culv_vk_ring_destroy(void **ring)
{
    (void)ring;
}

WORD culv_vk_ring_core(WORD ring)
{
    return (void)ring, NULL;
}

WORD culv_vk_ring_image(WORD ring, uint32_t slot, uint32_t resource)
{
    return (void)ring, (void)slot, (void)resource, NULL;
}

WORD culv_vk_ring_buffer(WORD ring, uint32_t slot, uint32_t resource)
{
    return (void)ring, (void)slot, (void)resource, NULL;
}

WORD culv_vk_ring_semaphore(WORD ring, int side)
{
    return (void)ring, (void)side, NULL;
}

culv_result culv_vk_ring_acquire(WORD ring, uint64_t timeout, WORD out)
{
    (void)ring, (void)timeout, (void)out;
    REFUSE(culv_vk_ring_acquire);
}

culv_result culv_vk_pick_queue_family(WORD get_proc, WORD instance, WORD device, int use, WORD out)
{
    (void)get_proc, (void)instance, (void)device, (void)use, (void)out;
    REFUSE(culv_vk_pick_queue_family);
}

culv_result culv_vk_ring_record_copy(WORD ring, WORD commands, uint32_t slot, uint32_t resource, WORD to,
                                     uint64_t offset, uint64_t size)
{
    (void)ring, (void)commands, (void)slot, (void)resource, (void)to, (void)offset, (void)size;
    REFUSE(culv_vk_ring_record_copy);
}

/* CUDA's memory in Vulkan, likewise. */
CULV_API culv_result culv_vk_buffer_bind_vmm(WORD vk, WORD buffer, WORD allocation, uint64_t offset,
                                             WORD out);
CULV_API culv_result culv_vk_image_bind_vmm(WORD vk, WORD image, WORD create_info, WORD allocation,
                                            uint64_t offset, WORD out);
CULV_API void culv_vk_vector_destroy(void **view);
CULV_API culv_result culv_vk_vector_update(WORD view);
CULV_API culv_result culv_vk_vector_get_parts(WORD view, WORD parts, size_t capacity, WORD count);
CULV_API uint64_t culv_vk_vector_generation(WORD view);

culv_result culv_vk_buffer_bind_vmm(WORD vk, WORD buffer, WORD allocation, uint64_t offset, WORD out)
{
    (void)vk, (void)buffer, (void)allocation, (void)offset, (void)out;
    REFUSE(culv_vk_buffer_bind_vmm);
}

culv_result culv_vk_image_bind_vmm(WORD vk, WORD image, WORD create_info, WORD allocation, uint64_t offset,
                                   WORD out)
{
    (void)vk, (void)image, (void)create_info, (void)allocation, (void)offset, (void)out;
    REFUSE(culv_vk_image_bind_vmm);
}

void culv_vk_vector_destroy(void **view)
{
    (void)view;
}

culv_result culv_vk_vector_update(WORD view)
{
    (void)view;
    REFUSE(culv_vk_vector_update);
}

culv_result culv_vk_vector_get_parts(WORD view, WORD parts, size_t capacity, WORD count)
{
    (void)view, (void)parts, (void)capacity, (void)count;
    REFUSE(culv_vk_vector_get_parts);
}

uint64_t culv_vk_vector_generation(WORD view)
{
    return (void)view, 0;
}
