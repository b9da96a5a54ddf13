/* SPDX-License-Identifier: MIT */
/* endurance [TURNS [DEVICES [leak]]]: each kind of object is made, used and destroyed TURNS times
 * (default: 60), and DEVICES devices are opened, used and closed (default: 12). It counts file
 * descriptors, mappings, resident bytes and what Culvert says that the driver holds, after a tenth
 * of the turns and after all of them, and prints a row for each. A number that has grown is a
 * failure; resident memory may grow by the noise of an allocator. */
#include "vulkan_device.hpp"

#include <dirent.h>
#include <string>
#include <unistd.h>

namespace {
constexpr uint32_t words = 1027;

struct held {
    long files = 0, mappings = 0, resident = 0; // KiB
    uint64_t driver = 0;
};

held look(const culvert::device &device)
{
    held h;
    DIR *directory = opendir("/proc/self/fd");
    MUST(directory != nullptr);
    while (readdir(directory) != nullptr)
        h.files++;
    closedir(directory);
    std::FILE *maps = std::fopen("/proc/self/maps", "r");
    MUST(maps != nullptr);
    for (int c = std::fgetc(maps); c != EOF; c = std::fgetc(maps))
        h.mappings += c == '\n';
    std::fclose(maps);
    std::FILE *memory = std::fopen("/proc/self/statm", "r");
    long pages = 0;
    MUST(memory != nullptr && std::fscanf(memory, "%*d %ld", &pages) == 1);
    std::fclose(memory);
    h.resident = pages * (sysconf(_SC_PAGESIZE) / 1024);
    if (device) {
        const culv_device_counts c = device.counts();
        h.driver = c.memories + c.mappings + c.buffers + c.images + c.semaphores + c.created +
                   c.deferred + c.late_destroys + c.allocations + c.vmm_allocations + c.vmm_ranges;
    }
    return h;
}

struct stage {
    vulkan v;
    culvert::device device = v.open();
    const culv_cuda_api &cuda = *CULV_CUDA(device.get());
    culvert::vk_device vk = culvert::vk_device::attach(device.get(), v.desc);
    CUstream stream = nullptr;

    stage()
    {
        MUST(cuda.cuCtxSetCurrent(device.context()) == CUDA_SUCCESS);
        MUST(cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    }
    stage(const stage &) = delete;
    stage &operator=(const stage &) = delete;
    ~stage()
    {
        (void)cuda.cuStreamDestroy(stream);
    }
    held settled() // when nothing waits for the stream any more
    {
        MUST(cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS);
        (void)device.collect();
        return look(device);
    }
    void fill(CUdeviceptr pointer, uint32_t turn)
    {
        uint32_t last = 0;
        MUST(cuda.cuMemsetD32Async(pointer, turn, words, stream) == CUDA_SUCCESS);
        MUST(cuda.cuMemcpyDtoHAsync(&last, pointer + 4 * (words - 1), 4, stream) == CUDA_SUCCESS);
        MUST(cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS && last == turn);
    }
};

VkBufferCreateInfo buffer_info()
{
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = 4 * words;
    info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    return info;
}

void a_buffer(stage &s, uint32_t turn)
{
    const VkBufferCreateInfo info = buffer_info();
    culv_vk_buffer_create_desc desc = culv_vk_buffer_create_desc_init();
    desc.create_info = &info;
    desc.host_memory = turn % 4 == 3;
    culvert::vk_buffer buffer = culvert::vk_buffer::create(s.vk.get(), desc);
    s.fill(buffer.pointer(), turn);
    if (turn % 2 == 1) buffer.destroy_after(s.stream);
}

void an_image(stage &s, uint32_t turn)
{
    VkImageCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
    info.imageType = VK_IMAGE_TYPE_2D;
    info.format = VK_FORMAT_R8G8B8A8_UNORM;
    info.extent = {61, 33, 1};
    info.mipLevels = info.arrayLayers = 1;
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.usage = VK_IMAGE_USAGE_SAMPLED_BIT;
    culv_vk_image_create_desc desc = culv_vk_image_create_desc_init();
    desc.create_info = &info;
    culvert::vk_image image = culvert::vk_image::create(s.vk.get(), desc);
    MUST(image.array() != nullptr && image.surface() != 0);
    if (turn % 2 == 1) image.destroy_after(s.stream);
}

void a_timeline(stage &s, uint32_t turn)
{
    culvert::vk_semaphore timeline = culvert::vk_semaphore::create(s.vk.get());
    timeline.signal(s.stream, 1 + turn);
    timeline.wait(s.stream, 1 + turn);
    timeline.wait_on_host(1 + turn, 10000000000u);
}

void a_range(stage &s, uint32_t turn)
{
    culv_vmm_allocation_desc memory = culv_vmm_allocation_desc_init();
    culv_vmm_range_desc addresses = culv_vmm_range_desc_init();
    memory.size = addresses.size = 4 * words;
    const culvert::vmm_allocation allocation =
        culvert::vmm_allocation::create(s.device.get(), memory);
    culvert::vmm_range range = culvert::vmm_range::create(s.device.get(), addresses);
    range.map(0, allocation);
    s.fill(range.pointer(), turn);
    range.unmap(0, range.size());
}

void a_vector(stage &s, uint32_t turn)
{
    culv_vector_desc desc = culv_vector_desc_init();
    desc.size = 4 * words;
    culvert::vector vector = culvert::vector::create(s.device.get(), desc);
    vector.grow(5 << 20);
    s.fill(vector.pointer() + vector.size() - 4 * words, turn);
    if (turn % 2 == 1) vector.destroy_after(s.stream);
}

void a_ring(stage &s, uint32_t turn)
{
    const VkBufferCreateInfo info = buffer_info();
    culv_vk_buffer_create_desc buffer = culv_vk_buffer_create_desc_init();
    buffer.create_info = &info;
    culv_vk_ring_resource resource = culv_vk_ring_resource_init();
    resource.buffer = &buffer;
    culv_vk_ring_desc desc = culv_vk_ring_desc_init();
    desc.max_depth = 3;
    desc.num_resources = 1;
    desc.resources = &resource;
    desc.queue_family = s.v.family;
    const culvert::vk_ring ring = culvert::vk_ring::create(s.vk.get(), s.v.queue, desc);
    for (uint32_t i = 0; i < 4; i++) {
        culvert::ring_frame frame = ring.view().acquire(CULV_RING_PRODUCER, s.stream);
        s.fill(ring.pointer(frame.slot(), 0), turn + i);
        frame.release();
        culvert::vk_ring_frame taken = ring.acquire();
        s.v.begin();
        vkCmdPipelineBarrier2(s.v.commands, taken.barriers(CULV_VK_ACQUIRE));
        vkCmdPipelineBarrier2(s.v.commands, taken.barriers(CULV_VK_RELEASE));
        MUST(vkEndCommandBuffer(s.v.commands) == VK_SUCCESS);
        taken.submit(s.v.queue, s.v.commands);
        MUST(vkQueueWaitIdle(s.v.queue) == VK_SUCCESS);
    }
    ring.view().drain(10000000000u);
}

void an_attachment(stage &s, uint32_t)
{
    const culvert::vk_device again = culvert::vk_device::attach(s.device.get(), s.v.desc);
    const culvert::vk_semaphore timeline = culvert::vk_semaphore::create(again.get());
    MUST(timeline.vulkan() != VK_NULL_HANDLE);
}

bool row(const char *what, uint32_t turns, const held &early, const held &late)
{
    const bool flat = late.files <= early.files && late.mappings <= early.mappings + 8 &&
                      late.resident <= early.resident + 16 * 1024 && late.driver <= early.driver;
    std::printf("| %s | %u | %ld, %ld | %ld, %ld | %.1f, %.1f | %llu, %llu | %s |\n", what, turns,
                early.files, late.files, early.mappings, late.mappings,
                static_cast<double>(early.resident) / 1024,
                static_cast<double>(late.resident) / 1024,
                static_cast<unsigned long long>(early.driver),
                static_cast<unsigned long long>(late.driver), flat ? "flat" : "**grew**");
    std::fflush(stdout);
    return flat;
}
} // namespace

int main(int argc, char **argv)
try {
    const uint32_t turns = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 60;
    const uint32_t devices = argc > 2 ? static_cast<uint32_t>(std::atoi(argv[2])) : 12;
    const bool leaks = argc > 3; // does it notice?
    static const struct {
        const char *name;
        void (*turn)(stage &, uint32_t);
    } kinds[] = {{"buffer, also in host memory", a_buffer},
                 {"image", an_image},
                 {"timeline", a_timeline},
                 {"memory in a range", a_range},
                 {"vector that grows", a_vector},
                 {"ring, 4 frames", a_ring},
                 {"attachment", an_attachment}};
    MUST(turns >= 10 && devices >= 10);
    bool flat = true;
    std::puts("| what | turns | file descriptors, after a tenth and at the end | mappings | "
              "resident MiB | Culvert's counts | |\n|---|---:|---|---|---|---|---|");
    // It stays to the end: NVIDIA's Vulkan driver cannot be loaded again some dozen times
    // (vkCreateInstance fails), and it is unloaded with the last VkInstance.
    stage first;
    for (const auto &kind : kinds) {
        held early;
        for (uint32_t turn = 0; turn < turns; turn++) {
            kind.turn(first, turn);
            // What only ever defers has to collect now and then (docs/ownership.md).
            if (turn % 16 == 15) (void)first.device.collect();
            if (leaks) MUST(dup(1) >= 0);
            if (turn + 1 == turns / 10) early = first.settled();
        }
        flat = row(kind.name, turns, early, first.settled()) && flat;
    }
    held early;
    for (uint32_t i = 0; i < devices; i++) {
        { // with a VkInstance and a VkDevice of its own
            stage s;
            a_buffer(s, i);
        }
        if (i + 1 == devices / 10) early = look({});
    }
    flat = row("VkDevice, device, buffer", devices, early, look({})) && flat;
    return !flat;
} catch (const culvert::error &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
