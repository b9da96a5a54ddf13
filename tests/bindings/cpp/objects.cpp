/* SPDX-License-Identifier: MIT */
/* culvert.hpp and vulkan.hpp on a driver: each object is made, moved, used and destroyed; a frame
 * that an exception leaves behind is cancelled; errors tell what C tells; and in the end the device
 * has nothing left. */
#include "vulkan_device.hpp"

#include <cstring>
#include <unistd.h>
#include <vector>

/* A call throws an error with this result. */
#define THROWS(call, wanted)                                                                       \
    do {                                                                                           \
        culv_result result_ = CULV_OK;                                                             \
        try {                                                                                      \
            (void)(call);                                                                          \
        } catch (const culvert::error &e_) {                                                       \
            result_ = e_.result();                                                                 \
            MUST(e_.get().struct_size == sizeof(culv_error) && std::strlen(e_.what()) > 20);       \
        }                                                                                          \
        MUST(result_ == wanted);                                                                   \
    } while (0)

namespace {
constexpr uint32_t words = 10007;

void ranges_and_vectors(const culvert::device &device, const culv_cuda_api &cuda)
{
    culv_vmm_allocation_desc memory = culv_vmm_allocation_desc_init();
    culv_vmm_range_desc addresses = culv_vmm_range_desc_init();
    memory.size = addresses.size = 4 * words;
    culvert::vmm_allocation allocation = culvert::vmm_allocation::create(device.get(), memory);
    culvert::vmm_range range = culvert::vmm_range::create(device.get(), addresses);
    MUST(allocation.info().size == range.size() && range.size() >= 4 * words);
    range.map(0, allocation);
    std::vector<uint32_t> seen(words);
    MUST(cuda.cuMemsetD32(range.pointer(), 0x12345678, words) == CUDA_SUCCESS);
    MUST(cuda.cuMemcpyDtoH(seen.data(), range.pointer(), 4 * words) == CUDA_SUCCESS);
    for (uint32_t word : seen)
        MUST(word == 0x12345678);
    range.unmap(0, range.size());

    culv_vector_desc d = culv_vector_desc_init();
    d.size = 4 * words;
    culvert::vector grows = culvert::vector::create(device.get(), d);
    culvert::vector empty = std::move(grows); // the address goes along
    MUST(!grows && grows.get() == nullptr && empty);
    grows = std::move(empty);
    const CUdeviceptr before = grows.pointer();
    MUST(cuda.cuMemsetD32(before, 7, words) == CUDA_SUCCESS);
    grows.grow(64 << 20);
    MUST(grows.pointer() == before && grows.size() == 64 << 20);
    MUST(cuda.cuMemcpyDtoH(seen.data(), before, 4 * words) == CUDA_SUCCESS);
    for (uint32_t word : seen)
        MUST(word == 7);
    THROWS(grows.grow(UINT64_MAX), CULV_ERROR_INVALID);
    MUST(grows.size() == 64 << 20);
}

// CUDA fills an image and reads it; a timeline is behind that. Vulkan's side is the ring's.
void image_and_timeline(culv_vk_device *vk, const culv_cuda_api &cuda, CUstream stream)
{
    constexpr uint32_t width = 61, height = 33;
    VkImageCreateInfo image_info{};
    image_info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
    image_info.imageType = VK_IMAGE_TYPE_2D;
    image_info.format = VK_FORMAT_R32_UINT;
    image_info.extent = {width, height, 1};
    image_info.mipLevels = image_info.arrayLayers = 1;
    image_info.samples = VK_SAMPLE_COUNT_1_BIT;
    image_info.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    culv_vk_image_create_desc image_desc = culv_vk_image_create_desc_init();
    image_desc.create_info = &image_info;
    culvert::vk_image image = culvert::vk_image::create(vk, image_desc);
    MUST(image.vulkan() != VK_NULL_HANDLE);
    culvert::vk_semaphore first = culvert::vk_semaphore::create(vk);
    culvert::vk_semaphore timeline = std::move(first);
    std::vector<uint32_t> texels(width * height), seen(width * height);
    for (uint32_t i = 0; i < width * height; i++)
        texels[i] = i * 2654435761u;
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = texels.data();
    copy.srcPitch = copy.WidthInBytes = 4 * width;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = image.array();
    copy.Height = height;
    MUST(cuda.cuMemcpy2DAsync(&copy, stream) == CUDA_SUCCESS);
    timeline.signal(stream, 2);
    timeline.wait_on_host(2, 10000000000u);
    timeline.wait(stream, 2);
    CUDA_MEMCPY2D back{};
    back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    back.srcArray = image.array();
    back.dstMemoryType = CU_MEMORYTYPE_HOST;
    back.dstHost = seen.data();
    back.dstPitch = back.WidthInBytes = 4 * width;
    back.Height = height;
    MUST(cuda.cuMemcpy2DAsync(&back, stream) == CUDA_SUCCESS);
    MUST(cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS && seen == texels);
    THROWS(timeline.signal(stream, 2), CULV_ERROR_INVALID);
}

void rings(const vulkan &v, culv_vk_device *vk, const culv_cuda_api &cuda, CUstream stream)
{
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = 4 * words;
    info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    culv_vk_buffer_create_desc buffer_desc = culv_vk_buffer_create_desc_init();
    buffer_desc.create_info = &info;
    culv_vk_ring_resource resource = culv_vk_ring_resource_init();
    resource.buffer = &buffer_desc;
    resource.use = CULV_VK_USE_TRANSFER_SRC;
    culv_vk_ring_desc desc = culv_vk_ring_desc_init();
    desc.max_depth = 3;
    desc.num_resources = 1;
    desc.resources = &resource;
    desc.queue_family = v.family;
    const culvert::vk_ring ring = culvert::vk_ring::create(vk, v.queue, desc);
    info.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    buffer_desc.host_memory = 1;
    const culvert::vk_buffer host = culvert::vk_buffer::create(vk, buffer_desc);
    for (uint32_t i = 0; i < 10; i++) {
        try { // whoever throws loses no slot
            culvert::ring_frame lost = ring.view().acquire(CULV_RING_PRODUCER, stream);
            MUST(lost.number() == i);
            throw i;
        } catch (uint32_t) {
        }
        culvert::ring_frame frame = ring.view().acquire(CULV_RING_PRODUCER, stream);
        culvert::ring_frame moved = std::move(frame);
        MUST(cuda.cuMemsetD32Async(ring.pointer(moved.slot(), 0), 100 + i, words, stream) ==
             CUDA_SUCCESS);
        moved.release();
        {
            culvert::vk_ring_frame looked = ring.acquire();
        }
        culvert::vk_ring_frame turn = ring.acquire();
        MUST(turn.number() == i && ring.image(turn.slot(), 0) == VK_NULL_HANDLE);
        v.begin();
        culvert::ok(culv_vk_ring_record_copy(ring.get(), v.commands, turn.slot(), 0, host.vulkan(),
                                             0, 4 * words));
        MUST(vkEndCommandBuffer(v.commands) == VK_SUCCESS);
        turn.submit(v.queue, v.commands);
        MUST(vkQueueWaitIdle(v.queue) == VK_SUCCESS);
        const uint32_t *seen = static_cast<const uint32_t *>(host.host_pointer());
        for (uint32_t word = 0; word < words; word++)
            MUST(seen[word] == 100 + i);
    }
    ring.view().drain(10000000000u);
    MUST(ring.view().stats().consumed == 10);
    THROWS(ring.acquire(0), CULV_ERROR_TIMEOUT);
    desc.side = CULV_RING_PRODUCER; // Vulkan's frames that go unreleased are cancelled, too
    const culvert::vk_ring other = culvert::vk_ring::create(vk, v.queue, desc);
    for (int i = 0; i < 5; i++)
        MUST(other.acquire(0).number() == 0);
}

// An error between CUDA's wait and the submission that was to signal comes out: behind each line.
void gives_up(culv_vk_device *vk, const culv_cuda_api &cuda, CUstream stream)
{
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = 4 * words;
    info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    culv_vk_buffer_create_desc desc = culv_vk_buffer_create_desc_init();
    desc.create_info = &info;
    alarm(60); // ends a destructor that waits for ever
    for (int line = 0; line < 5; line++)
        try {
            int now = 0;
            const auto fail = [&] {
                if (now++ == line) throw line;
            };
            culvert::vk_semaphore timeline = culvert::vk_semaphore::create(vk);
            fail();
            const culvert::vk_buffer buffer = culvert::vk_buffer::create(vk, desc);
            fail();
            culvert::pending_wait pending = timeline.wait_for_submit(stream, 1);
            fail();
            timeline.signal(stream, 2);
            culvert::pending_wait moved = std::move(pending);
            fail();
            culvert::ok(culv_shared_semaphore_submit_failed(timeline.get())); // C's way
            moved.submitted();
            fail();
        } catch (int where) {
            MUST(where == line);
        }
    {
        culvert::vk_semaphore alone = culvert::vk_semaphore::create(vk);
        alone.wait(stream, 1);
    }
    MUST(cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    alarm(0);
}
} // namespace

int main()
{
    vulkan v;
    culvert::device device = v.open();
    const culv_cuda_api &cuda = *CULV_CUDA(device.get());
    CUstream stream = nullptr;
    MUST(cuda.cuCtxSetCurrent(device.context()) == CUDA_SUCCESS);
    MUST(cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    {
        const culvert::vk_device vk = culvert::vk_device::attach(device.get(), v.desc);
        ranges_and_vectors(device, cuda);
        image_and_timeline(vk.get(), cuda, stream);
        rings(v, vk.get(), cuda, stream);
        gives_up(vk.get(), cuda, stream);
    }
    device.collect();
    const culv_device_counts left = device.counts();
    MUST(left.memories + left.mappings + left.buffers + left.images + left.semaphores == 0);
    MUST(left.attached_devices + left.created + left.deferred + left.late_destroys == 0);
    MUST(cuda.cuStreamDestroy(stream) == CUDA_SUCCESS);
    THROWS(culvert::device::open(99), CULV_ERROR_NO_DEVICE);
    std::puts("each object of culvert.hpp: made, used, destroyed");
    return 0;
}
