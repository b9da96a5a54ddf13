/* SPDX-License-Identifier: MIT */
/* What the pages fill in C, in C++17, which has no designated initializers. With -Wpedantic. */
#include <cstdio>
#include <culvert/culvert.h>
#include <culvert/gl_ring.h>
#ifdef CONSUMER_VULKAN
#    include <culvert/vulkan_ring.h>
#endif

#if __cplusplus != 201703L
#    error "not C++17"
#endif

template <typename Resource, typename Buffer, typename Desc>
static bool fills(Resource resource, const Buffer &buffer, Desc desc)
{
    bool empty = resource.image == nullptr && resource.buffer == nullptr;
    resource.buffer = &buffer;
    Resource aggregate{};
    aggregate.buffer = &buffer;
    const Resource resources[] = {resource, aggregate};
    desc.resources = resources;
    desc.num_resources = 2;
    return empty && desc.struct_size == sizeof desc && desc.resources[1].image == nullptr &&
           desc.resources[0].buffer == desc.resources[1].buffer;
}

/* The library refuses a kernel that is none before it looks at the arguments. */
static bool launches()
{
    const int count = 253;
    float step = 0.5f;
    const culv_launch_desc desc = culv_launch_desc_init();
    return CULV_LAUNCH(nullptr, &desc, CULV_ARG(count), CULV_ARG(step)) == CULV_ERROR_INVALID;
}

int main()
{
    bool good = fills(culv_gl_ring_resource_init(), culv_gl_buffer_create_desc_init(),
                      culv_gl_ring_desc_init());
    good = good && launches();
#ifdef CONSUMER_VULKAN
    good = good && fills(culv_vk_ring_resource_init(), culv_vk_buffer_create_desc_init(),
                         culv_vk_ring_desc_init());
#endif
    std::printf("culvert %s\n", culv_version_string());
    return good ? 0 : 1;
}
