/* SPDX-License-Identifier: MIT */
/* Vulkan's side of the import target, and its file descriptors. */
#include "import.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

import_resource import_resources[IMPORT_RESOURCES];

static const VkExternalMemoryImageCreateInfo external_image = {
    .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
    .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
static const VkExternalMemoryBufferCreateInfo external_buffer = {
    .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
    .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};

#define VK(call) FUZZ_REQUIRE((call) == VK_SUCCESS, "%s", #call)

static void allocate(import_resource *out, const VkMemoryRequirements *needs)
{
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .image = out->image};
    const VkExportMemoryAllocateInfo export_info = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .pNext = out->dedicated ? &dedicated : NULL,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = out->exportable ? &export_info : NULL,
                                 .allocationSize = needs->size};
    while (!(needs->memoryTypeBits & (1u << info.memoryTypeIndex)))
        info.memoryTypeIndex++;
    VK(vkAllocateMemory(fuzz.vk_device, &info, NULL, &out->memory));
    out->size = needs->size;
}

static void open_buffer(import_resource *out, bool exportable)
{
    VkMemoryRequirements needs;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .pNext = exportable ? &external_buffer : NULL,
                                     .size = MEMORY_BYTES,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    out->exportable = exportable;
    VK(vkCreateBuffer(fuzz.vk_device, &info, NULL, &out->buffer));
    vkGetBufferMemoryRequirements(fuzz.vk_device, out->buffer, &needs);
    allocate(out, &needs);
    VK(vkBindBufferMemory(fuzz.vk_device, out->buffer, out->memory, 0));
}

static void open_image(import_resource *out, VkImageTiling tiling, uint32_t levels, uint32_t layers)
{
    VkMemoryRequirements needs;
    out->info =
        (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                            .pNext = &external_image,
                            .imageType = VK_IMAGE_TYPE_2D,
                            .format = VK_FORMAT_R8G8B8A8_UNORM,
                            .extent = {64, 64, 1},
                            .mipLevels = levels,
                            .arrayLayers = layers,
                            .samples = VK_SAMPLE_COUNT_1_BIT,
                            .tiling = tiling,
                            .usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_SAMPLED_BIT};
    out->exportable = true;
    out->dedicated = layers > 1;
    VK(vkCreateImage(fuzz.vk_device, &out->info, NULL, &out->image));
    vkGetImageMemoryRequirements(fuzz.vk_device, out->image, &needs);
    allocate(out, &needs);
    VK(vkBindImageMemory(fuzz.vk_device, out->image, out->memory, 0));
}

/* File descriptors that no driver exported. */
static int pipe_fds[2], socket_fds[2], directory, null_device, plain;

void import_open_scene(void)
{
    open_buffer(&import_resources[IMPORT_BUFFER], true);
    open_image(&import_resources[IMPORT_IMAGE], VK_IMAGE_TILING_OPTIMAL, 7, 1);
    open_image(&import_resources[IMPORT_LINEAR], VK_IMAGE_TILING_LINEAR, 1, 1);
    open_image(&import_resources[IMPORT_ARRAY], VK_IMAGE_TILING_OPTIMAL, 2, 6);
    open_buffer(&import_resources[IMPORT_PRIVATE], false);
    directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    null_device = open("/dev/null", O_RDWR | O_CLOEXEC);
    plain = memfd_create("plain", MFD_CLOEXEC);
    FUZZ_REQUIRE(pipe(pipe_fds) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, socket_fds) == 0 &&
                     directory >= 0 && null_device >= 0 && plain >= 0 &&
                     ftruncate(plain, MEMORY_BYTES) == 0,
                 "file descriptors");
}

bool import_fd_is_open(int fd)
{
    return fcntl(fd, F_GETFD) != -1;
}

static int export_memory(const import_resource *resource)
{
    VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                 .memory = resource->memory,
                                 .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    int fd = -1;
    VK(vkGetMemoryFdKHR(fuzz.vk_device, &info, &fd));
    return fd;
}

/* A file that looks like what Mesa's software drivers export, up to numbers that do not fit. */
static int forged(fuzz_reader *r)
{
    struct {
        uint64_t size, offset;
        uint8_t uuid[16];
    } header = {.size = fuzz_value(r, 2 * 4096), .offset = fuzz_value(r, 4096)};
    uint64_t repeated = header.offset;
    int fd = memfd_create("forged", MFD_CLOEXEC);
    FUZZ_REQUIRE(fd >= 0 && ftruncate(fd, (off_t)(fuzz_value(r, 2 * 4096) & 0xfffff)) == 0,
                 "a memfd");
    ssize_t n = pwrite(fd, &header, sizeof header, 0);
    if (n == (ssize_t)sizeof header) n = pwrite(fd, &repeated, sizeof repeated, 4096 - 8);
    FUZZ_REQUIRE(n > 0, "pwrite");
    return fd;
}

static int duplicate(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* From this number on. Drivers open files of their own. */
static int closed(int fd)
{
    while (import_fd_is_open(fd))
        fd++;
    return fd;
}

int import_fd(fuzz_reader *r)
{
    switch (fuzz_u8(r) & 31) {
    default: return export_memory(&import_resources[fuzz_pick(r, IMPORT_PRIVATE)]);
    case 20: return -1;
    case 21: return -1 - (int)fuzz_bytes(r, 2);
    case 22: return closed(200 + (fuzz_u8(r) & 31));
    case 23: return 0x7ffffff0;
    case 24: return duplicate(pipe_fds[fuzz_u8(r) & 1]);
    case 25: return duplicate(socket_fds[0]);
    case 26: return duplicate(directory);
    case 27: return duplicate(null_device);
    case 28:
    case 29: return duplicate(plain);
    case 30: return forged(r);
    case 31: {
        int fd = memfd_create("empty", MFD_CLOEXEC);
        FUZZ_REQUIRE(fd >= 0 && ftruncate(fd, fuzz_pick(r, 64)) == 0, "a memfd");
        return fd;
    }
    }
}

void import_fd_kept(int fd, bool was_open)
{
    FUZZ_REQUIRE(import_fd_is_open(fd) == was_open, "file descriptor %d is %s", fd,
                 was_open ? "closed" : "open");
    if (was_open) close(fd);
}
