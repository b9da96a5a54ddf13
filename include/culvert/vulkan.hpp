/* SPDX-License-Identifier: MIT */
/* Culvert for C++17, Vulkan's half: culvert/culvert.hpp has the rules. If you have a Vulkan header
 * of your own (vulkan.h, volk.h or vulkan.hpp), include it first.
 *
 *   culvert::vk_device vk = culvert::vk_device::attach(device.get(), desc);
 *   culvert::vk_buffer buffer = culvert::vk_buffer::create(vk.get(), buffer_desc);
 *   vkCmdCopyBuffer(commands, buffer.vulkan(), ...);
 *   kernel<<<..., stream>>>(buffer.pointer()); */
#ifndef CULV_VULKAN_HPP_
#define CULV_VULKAN_HPP_

#include "culvert.hpp"
#include "vulkan.h"

namespace culvert {
inline namespace CULVERT_ERRORS_ {

/** Opens the CUDA device of a Vulkan physical device. */
inline made<device> open_for_vk(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                VkInstance instance, VkPhysicalDevice physical_device,
                                const culv_device_desc *desc = nullptr)
{
    culv_device *d = nullptr;
    const culv_result result =
        culv_device_open_for_vk(get_instance_proc_addr, instance, physical_device, desc, &d);
    return detail::finish(result, device(d));
}

/** Chooses a physical device that CUDA can reach (culv_vk_choose_physical_device()), writes it to
 * desc.physical_device, and opens its CUDA device. Reads get_instance_proc_addr and instance of
 * desc. */
inline made<device> choose_device(culv_vk_device_desc &desc, const culv_device_desc *cuda = nullptr)
{
    culv_device *d = nullptr;
    const culv_result result = culv_vk_choose_physical_device(
        desc.get_instance_proc_addr, desc.instance, cuda, &desc.physical_device, &d);
    return detail::finish(result, device(d));
}

/** A VkDevice to which Culvert is attached: culvert/vulkan_device.h. Objects made with it keep the
 * attachment alive; the VkDevice must outlive all of them. */
class vk_device : public handle<culv_vk_device, culv_vk_detach> {
  public:
    using handle::handle;
    static made<vk_device> attach(culv_device *device, const culv_vk_device_desc &desc)
    {
        return make<vk_device>(culv_vk_attach, device, &desc);
    }
};

/** A VkBuffer, and a CUdeviceptr to its bytes: culvert/vulkan_memory.h. */
class vk_buffer : public shared_buffer {
  public:
    using shared_buffer::shared_buffer;
    static made<vk_buffer> create(culv_vk_device *vk, const culv_vk_buffer_create_desc &desc)
    {
        return make<vk_buffer>(culv_vk_buffer_create, vk, &desc);
    }
    VkBuffer vulkan() const noexcept
    {
        return culv_vk_buffer_handle(get());
    }
    void *host_pointer() const noexcept
    {
        return culv_vk_buffer_host_pointer(get());
    }
};

/** A VkImage, and a CUDA array of its texels: culvert/vulkan_memory.h. */
class vk_image : public shared_image {
  public:
    using shared_image::shared_image;
    static made<vk_image> create(culv_vk_device *vk, const culv_vk_image_create_desc &desc)
    {
        return make<vk_image>(culv_vk_image_create, vk, &desc);
    }
    VkImage vulkan() const noexcept
    {
        return culv_vk_image_handle(get());
    }
};

/** A VkSemaphore that CUDA signals and waits for, too: culvert/vulkan_memory.h. */
class vk_semaphore : public shared_semaphore {
  public:
    using shared_semaphore::shared_semaphore;
    /** A timeline that begins at 0, unless desc says otherwise. */
    static made<vk_semaphore>
    create(culv_vk_device *vk,
           const culv_vk_semaphore_create_desc &desc = culv_vk_semaphore_create_desc_init())
    {
        return make<vk_semaphore>(culv_vk_semaphore_create, vk, &desc);
    }
    VkSemaphore vulkan() const noexcept
    {
        return culv_vk_semaphore_handle(get());
    }
};

/** Vulkan's turn with a slot. If you do not submit it, it is cancelled. The ring must outlive
 * it. */
class vk_ring_frame : public detail::turn {
  public:
    culv_ring_frame &get() noexcept
    {
        return frame_;
    }
    /** Returns the barriers to record around the use of the slot (culv_vk_ring_barriers()). */
    const VkDependencyInfo *barriers(culv_vk_direction direction) const noexcept
    {
        return culv_vk_ring_barriers(ring_, frame_.slot, direction);
    }
    /** Releases the frame and submits its command buffer (culv_vk_ring_submit()). */
    done submit(VkQueue queue, VkCommandBuffer commands, VkFence fence = VK_NULL_HANDLE)
    {
        return handed_over(culv_vk_ring_submit(ring_, queue, commands, fence, &frame_));
    }
    /** Releases the frame for your own submission (culv_ring_release()). */
    done release()
    {
        return handed_over(culv_ring_release(ring_, side_, &frame_));
    }

  private:
    friend class vk_ring;
};

/** A ring of frames between CUDA and Vulkan: culvert/vulkan_ring.h. */
class vk_ring : public ring {
  public:
    static made<vk_ring> create(culv_vk_device *vk, VkQueue queue, const culv_vk_ring_desc &desc)
    {
        culv_ring *r = nullptr;
        const culv_result result = culv_vk_ring_create(vk, queue, &desc, &r);
        return detail::finish(result, vk_ring(r, desc.side));
    }
    constexpr vk_ring() noexcept = default;
    /** Takes a ring that a C call made; `side` is Vulkan's. */
    constexpr explicit vk_ring(culv_ring *made, culv_ring_side side) noexcept
        : ring(made), side_(side)
    {
    }
    /** Returns the VkBuffer of a slot, or VK_NULL_HANDLE if the resource is an image. */
    VkBuffer buffer(uint32_t slot, uint32_t resource) const noexcept
    {
        return culv_vk_buffer_handle(culv_ring_shared_buffer(get(), slot, resource));
    }
    VkImage image(uint32_t slot, uint32_t resource) const noexcept
    {
        return culv_vk_image_handle(culv_ring_shared_image(get(), slot, resource));
    }
    /** Gets Vulkan's next slot. */
    made<vk_ring_frame> acquire(uint64_t timeout = CULV_RING_FOREVER) const
    {
        vk_ring_frame f;
        const culv_result result = culv_ring_acquire(get(), side_, timeout, &f.frame_);
        if (result == CULV_OK) {
            f.ring_ = get();
            f.side_ = side_;
        }
        return detail::finish(result, std::move(f));
    }
    /** Submits what submit() keeps of a burst, to its queue (culv_ring_flush()). */
    done flush() const
    {
        return detail::finish(culv_ring_flush(get(), side_, nullptr));
    }

  private:
    culv_ring_side side_ = CULV_RING_CONSUMER;
};

} // namespace CULVERT_ERRORS_
} // namespace culvert

#endif
