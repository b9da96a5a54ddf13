/* SPDX-License-Identifier: MIT */
/* Vulkan's side of the import target, and its file descriptors. */
#include "control.h"
#include "fuzz.h"

#include <culvert/image.h>
#include <culvert/vulkan_memory.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SLOTS = 4, MEMORY_BYTES = 65536 };

/* What one input has made so far. */
typedef struct import_state {
    culv_memory *memories[SLOTS];
    culv_buffer *buffers[SLOTS];
    culv_image *images[SLOTS];
    culv_semaphore *semaphores[SLOTS];
    culv_shared_semaphore *made[SLOTS];
    bool binary[SLOTS]; /* or perhaps, of those made */
    /* The semaphore is signaled and waited for no more: that could hang, or kill the context */
    bool silent[SLOTS];
    VkSemaphore timeline; /* made when the input first asks for it */
} import_state;

/* The caller's Vulkan objects: memory, and what is bound to it at offset 0. */
typedef struct import_resource {
    VkDeviceMemory memory;
    VkDeviceSize size;
    bool exportable, dedicated;
    VkBuffer buffer;
    VkImage image;
    VkImageCreateInfo info;
} import_resource;

enum { IMPORT_BUFFER, IMPORT_IMAGE, IMPORT_LINEAR, IMPORT_ARRAY, IMPORT_PRIVATE, IMPORT_RESOURCES };
static import_resource import_resources[IMPORT_RESOURCES];

void import_semaphore(fuzz_reader *r, import_state *s);

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

static void import_open_scene(void)
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

static bool import_fd_is_open(int fd)
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

static int another_fd(int fd)
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

/* A file descriptor for an import, the caller's, and of the kind that the input says: open or not,
 * exported or not. */
static int import_fd(fuzz_reader *r)
{
    switch (fuzz_u8(r) & 31) {
    default: return export_memory(&import_resources[fuzz_pick(r, IMPORT_PRIVATE)]);
    case 20: return -1;
    case 21: return -1 - (int)fuzz_bytes(r, 2);
    case 22: return closed(200 + (fuzz_u8(r) & 31));
    case 23: return 0x7ffffff0;
    case 24: return another_fd(pipe_fds[fuzz_u8(r) & 1]);
    case 25: return another_fd(socket_fds[0]);
    case 26: return another_fd(directory);
    case 27: return another_fd(null_device);
    case 28:
    case 29: return another_fd(plain);
    case 30: return forged(r);
    case 31: {
        int fd = memfd_create("empty", MFD_CLOEXEC);
        FUZZ_REQUIRE(fd >= 0 && ftruncate(fd, fuzz_pick(r, 64)) == 0, "a memfd");
        return fd;
    }
    }
}

/* Whether the number is open still, after an error or a borrowing; it is closed then. */
static void import_fd_kept(int fd, bool was_open)
{
    FUZZ_REQUIRE(import_fd_is_open(fd) == was_open, "file descriptor %d is %s", fd,
                 was_open ? "closed" : "open");
    if (was_open) close(fd);
}

/* Semaphores of the import target. Nothing here may wait for what nobody signals: a driver would
 * wait for ever. */

static VkSemaphore timeline(import_state *s)
{
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                            .initialValue = 5};
    const VkExportSemaphoreCreateInfo export_info = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
        .pNext = &type,
        .handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = &export_info};
    if (s->timeline == VK_NULL_HANDLE)
        FUZZ_REQUIRE(vkCreateSemaphore(fuzz.vk_device, &info, NULL, &s->timeline) == VK_SUCCESS,
                     "a timeline");
    return s->timeline;
}

static int export_timeline(import_state *s)
{
    VkSemaphoreGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                    .semaphore = timeline(s),
                                    .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    int fd = -1;
    FUZZ_REQUIRE(vkGetSemaphoreFdKHR(fuzz.vk_device, &info, &fd) == VK_SUCCESS,
                 "its file descriptor");
    return fd;
}

/* A binary semaphore that the twin plays; -1 where there is none. */
static int played_binary(void)
{
    void (*found)(void) = culv_device_cuda_proc(fuzz.device, "culvSoftBinaryCreate", 0);
    int (*create)(const uint8_t[16], int *);
    int fd = -1;
    if (found == NULL) return -1;
    memcpy(&create, &found, sizeof found);
    FUZZ_REQUIRE(create(fuzz.caps.uuid.bytes, &fd) == 0, "a binary semaphore");
    return fd;
}

static void keep(import_state *s, uint32_t slot, culv_semaphore *semaphore, bool silent)
{
    culv_semaphore_destroy(&s->semaphores[slot], NULL);
    s->semaphores[slot] = semaphore;
    s->silent[slot] = silent;
}

static void read_desc(fuzz_reader *r, culv_semaphore_desc *d, culv_semaphore_type usual)
{
    *d = culv_semaphore_desc_init();
    d->type = (culv_semaphore_type)(fuzz_rarely(r, 8) ? fuzz_enum(r, 3) : (uint32_t)usual);
    d->value = fuzz_value(r, 0);
    d->signal_pending = fuzz_rarely(r, 4) ? fuzz_value32(r, 1) : 0;
    d->untracked = fuzz_rarely(r, 4) ? fuzz_value32(r, 1) : 0;
    if (fuzz_rarely(r, 4)) d->exporter = fuzz.caps.uuid;
    if (fuzz_rarely(r, 16)) d->exporter.bytes[3] ^= fuzz_u8(r);
    d->label = fuzz_label(r);
}

void import_semaphore(fuzz_reader *r, import_state *s)
{
    culv_semaphore_desc d;
    uint32_t slot = fuzz_pick(r, SLOTS);
    uint8_t what = fuzz_u8(r);
    bool goes = fuzz_flag(r), binary = (what & 1) != 0;
    read_desc(r, &d, binary ? CULV_SEMAPHORE_BINARY : CULV_SEMAPHORE_TIMELINE);
    int fd = what >= 192 ? import_fd(r) : binary ? played_binary() : export_timeline(s);
    d.handle = culv_handle_opaque_fd(fd);
    d.handle.type =
        (culv_handle_type)(fuzz_rarely(r, 16) ? fuzz_enum(r, 5) : CULV_HANDLE_OPAQUE_FD);
    bool was_open = import_fd_is_open(fd);
    culv_semaphore_desc *desc = fuzz_box(r, &d, sizeof d);
    culv_semaphore *out = FUZZ_POISON(culv_semaphore);
    culv_result result = FUZZ_ARMED(r, culv_semaphore_import(fuzz.device, desc, &out));
    import_fd_kept(fd, was_open);
    if (result == CULV_OK && goes) culv_handle_close(&d.handle);
    if (result == CULV_OK) {
        /* Of binary ones the other side is only told of, so they say nothing but what is refused.
         * What is no semaphore NVIDIA's driver takes for one (memory: measured); then nobody knows
         * what a signal does. */
        bool foreign = what >= 192;
        FUZZ_REQUIRE(!foreign || !fuzz.caps.is_software, "what is no semaphore was imported");
        if (foreign)
            (void)fuzz_note("fuzz.foreign_semaphore",
                            "a file descriptor that is none was imported");
        keep(s, slot, out, foreign || !fuzz_box_whole(desc) || d.type == CULV_SEMAPHORE_BINARY);
    } else
        FUZZ_REQUIRE(out == FUZZ_POISON(culv_semaphore), "written after an error");
    fuzz_unbox(desc);
}

static void create(fuzz_reader *r, import_state *s, uint32_t slot)
{
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    d.type = (culv_semaphore_type)fuzz_enum(r, 3);
    d.initial_value = fuzz_value(r, 0);
    d.untracked = fuzz_rarely(r, 4) ? fuzz_value32(r, 1) : 0;
    d.label = fuzz_label(r);
    if (fuzz_rarely(r, 16)) d.fallback = 4 | fuzz_value32(r, 0); /* no such path */
    culv_vk_semaphore_create_desc *desc = fuzz_rarely(r, 16) ? NULL : fuzz_box(r, &d, sizeof d);
    culv_shared_semaphore *out = FUZZ_POISON(culv_shared_semaphore);
    culv_result result = FUZZ_ARMED(r, culv_vk_semaphore_create(fuzz.vk, desc, &out));
    if (result == CULV_OK) {
        FUZZ_REQUIRE(culv_vk_semaphore_handle(out) != VK_NULL_HANDLE &&
                         culv_shared_semaphore_cuda(out) != NULL,
                     "half a semaphore");
        culv_semaphore *cuda = culv_shared_semaphore_cuda(out);
        culv_semaphore_destroy(&cuda, NULL); /* is refused */
        FUZZ_REQUIRE(cuda != NULL, "its CUDA half went alone");
        culv_shared_semaphore_destroy(&s->made[slot], NULL);
        s->made[slot] = out;
        s->binary[slot] =
            desc != NULL && !(fuzz_box_whole(desc) && d.type == CULV_SEMAPHORE_TIMELINE);
    } else
        FUZZ_REQUIRE(out == FUZZ_POISON(culv_shared_semaphore), "written after an error");
    if (desc != NULL) fuzz_unbox(desc);
}

/* import_semaphores.c */
static void import_vulkan_semaphore(fuzz_reader *r, import_state *s)
{
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    uint32_t slot = fuzz_pick(r, SLOTS);
    if (fuzz_flag(r)) {
        create(r, s, slot);
        return;
    }
    d.semaphore = fuzz_rarely(r, 16) ? VK_NULL_HANDLE : timeline(s);
    /* A timeline said to be binary is not found out, and would be a lie to the driver. */
    d.type =
        (culv_semaphore_type)(fuzz_rarely(r, 8) ? fuzz_value32(r, 0) | 4 : CULV_SEMAPHORE_TIMELINE);
    d.untracked = fuzz_rarely(r, 8) ? fuzz_value32(r, 1) : 0;
    d.signal_pending = fuzz_rarely(r, 8) ? fuzz_value32(r, 1) : 0;
    d.label = fuzz_label(r);
    culv_vk_semaphore_desc *desc = fuzz_box(r, &d, sizeof d);
    culv_semaphore *out = FUZZ_POISON(culv_semaphore);
    culv_result result = FUZZ_ARMED(r, culv_vk_semaphore_import(fuzz.vk, desc, &out));
    if (result == CULV_OK)
        keep(s, slot, out, false);
    else
        FUZZ_REQUIRE(out == FUZZ_POISON(culv_semaphore), "written after an error");
    fuzz_unbox(desc);
}

/* Semaphores of different timelines: of one that was imported twice, a signal could step back
 * behind a wait. */
static void batch(fuzz_reader *r, import_state *s)
{
    culv_semaphore_point points[CULV_SEMAPHORE_BATCH_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < SLOTS; i++) {
        culv_semaphore *semaphore = culv_shared_semaphore_cuda(s->made[i]);
        if (semaphore != NULL && s->binary[i]) continue;
        points[count].semaphore = semaphore; /* or NULL */
        points[count++].value = fuzz_value(r, culv_semaphore_last_value(semaphore) + 1);
        if (fuzz_rarely(r, 16)) points[count - 1] = points[0]; /* twice */
    }
    if (fuzz_rarely(r, 16))
        count = CULV_SEMAPHORE_BATCH_MAX + 1 + fuzz_u8(r); /* too many are not read */
    if (FUZZ_CALL(culv_semaphore_signal_batch(points, count, fuzz.stream)) != CULV_OK) return;
    FUZZ_REQUIRE(FUZZ_CALL(culv_semaphore_wait_batch(points, count, fuzz.stream)) == CULV_OK, "%s",
                 culv_last_error_message());
}

static void import_use_semaphore(fuzz_reader *r, import_state *s)
{
    uint32_t slot = fuzz_pick(r, SLOTS);
    culv_semaphore *semaphore = s->semaphores[slot];
    if (fuzz_flag(r) && s->made[slot] != NULL && !s->binary[slot])
        semaphore = culv_shared_semaphore_cuda(s->made[slot]);
    else if (s->silent[slot])
        semaphore = NULL;
    uint64_t last = culv_semaphore_last_value(semaphore), value = fuzz_value(r, last + 1);
    switch (fuzz_pick(r, 6)) {
    case 0:
    case 1: {
        culv_result result = FUZZ_CALL(culv_semaphore_signal(semaphore, fuzz.stream, value));
        FUZZ_REQUIRE(result != CULV_OK || value > last, "%llu after %llu",
                     (unsigned long long)value, (unsigned long long)last);
        /* Only for what was just signaled on the same stream. */
        if (result == CULV_OK)
            FUZZ_REQUIRE(FUZZ_CALL(culv_semaphore_wait(semaphore, fuzz.stream, value)) == CULV_OK,
                         "%s", culv_last_error_message());
        break;
    }
    case 2: culv_semaphore_mark_value(semaphore, value); break;
    case 3: (void)FUZZ_CALL(culv_semaphore_mark_signaled(s->semaphores[slot])); break;
    case 4: (void)FUZZ_CALL(culv_semaphore_mark_waited(s->semaphores[slot])); break;
    default: batch(r, s);
    }
}

static void import_drop_semaphores(import_state *s)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        culv_semaphore_destroy(&s->semaphores[i], NULL);
        culv_shared_semaphore_destroy(&s->made[i], NULL);
    }
    if (s->timeline != VK_NULL_HANDLE) vkDestroySemaphore(fuzz.vk_device, s->timeline, NULL);
}

/* Imports, mappings, views and their ends in any order, as an input of a few steps says:
 * descriptors with sizes, offsets, handles, formats and levels that fit and that do not. */

void fuzz_target_open(void)
{
    fuzz_open_vulkan();
    import_open_scene();
}

/* `slot` may read the input: it is looked at once. */
#define KEEP(slots, slot, made, destroy)                                                           \
    do {                                                                                           \
        uint32_t kept = (slot);                                                                    \
        destroy;                                                                                   \
        (slots)[kept] = (made);                                                                    \
    } while (0)

static void import_memory(fuzz_reader *r, import_state *s)
{
    culv_memory_desc d = culv_memory_desc_init();
    uint32_t slot = fuzz_pick(r, SLOTS);
    int fd = import_fd(r);
    bool goes = fuzz_flag(r), was_open = import_fd_is_open(fd);
    d.handle = culv_handle_opaque_fd(fd);
    if (fuzz_rarely(r, 8)) d.handle.type = (culv_handle_type)fuzz_enum(r, 5);
    if (fuzz_rarely(r, 64)) d.handle.name = L"a name";
    d.size = fuzz_value(r, import_resources[fuzz_pick(r, IMPORT_RESOURCES)].size);
    d.dedicated = fuzz_flag(r);
    if (fuzz_flag(r)) d.exporter = fuzz.caps.uuid;
    if (fuzz_rarely(r, 16)) d.exporter.bytes[3] ^= fuzz_u8(r);
    d.label = fuzz_label(r);
    culv_memory_desc *desc = fuzz_box(r, &d, sizeof d);
    culv_memory *out = FUZZ_POISON(culv_memory);
    culv_result result = FUZZ_ARMED(r, culv_memory_import(fuzz.device, desc, &out));
    import_fd_kept(fd, was_open);
    if (result == CULV_OK && goes) culv_handle_close(&d.handle);
    if (result == CULV_OK) {
        FUZZ_REQUIRE(culv_memory_size(out) == d.size, "another size");
        KEEP(s->memories, slot, out, culv_memory_destroy(&s->memories[kept]));
    } else
        FUZZ_REQUIRE(out == FUZZ_POISON(culv_memory), "written after an error");
    fuzz_unbox(desc);
}

/* Memory that was not allocated for export: the twin's Vulkan gives no file descriptor of it.
 * NVIDIA's does, and CUDA imports it (measured): against the specification, but nothing tells such
 * memory from other. */
static void require_exportable(const import_resource *from, const char *what)
{
    if (from->exportable) return;
    FUZZ_REQUIRE(!fuzz.caps.is_software, "private memory was %s", what);
    (void)fuzz_note("fuzz.private_memory", "%s", what);
}

static void import_vulkan_memory(fuzz_reader *r, import_state *s)
{
    const import_resource *from = &import_resources[fuzz_pick(r, IMPORT_RESOURCES)];
    const import_resource *other =
        fuzz_rarely(r, 8) ? &import_resources[fuzz_pick(r, IMPORT_RESOURCES)] : from;
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    uint32_t slot = fuzz_pick(r, SLOTS);
    uint8_t bound = fuzz_u8(r);
    d.memory = fuzz_rarely(r, 32) ? VK_NULL_HANDLE : from->memory;
    d.allocation_size = fuzz_value(r, from->size);
    d.dedicated = fuzz_rarely(r, 8) ? !from->dedicated : from->dedicated;
    if (bound & 1) d.buffer = other->buffer;
    if (bound & 2) d.image = other->image;
    d.buffer_offset = fuzz_value(r, 0);
    d.image_offset = fuzz_value(r, 0);
    d.label = fuzz_label(r);
    bool acquire = fuzz_flag(r);
    culv_vk_memory_desc *desc = fuzz_box(r, &d, sizeof d);
    culv_memory *out = FUZZ_POISON(culv_memory);
    culv_result result = acquire ? FUZZ_ARMED(r, culv_vk_memory_import_shared(fuzz.vk, desc, &out))
                                 : FUZZ_ARMED(r, culv_vk_memory_import(fuzz.vk, desc, &out));
    if (result == CULV_OK) {
        require_exportable(from, "imported");
        FUZZ_REQUIRE(culv_memory_size(out) == d.allocation_size, "another size");
        KEEP(s->memories, slot, out, culv_memory_destroy(&s->memories[kept]));
    } else
        FUZZ_REQUIRE(out == FUZZ_POISON(culv_memory), "written after an error");
    fuzz_unbox(desc);
}

static void map_buffer(fuzz_reader *r, import_state *s)
{
    culv_memory *memory = s->memories[fuzz_pick(r, SLOTS)];
    culv_buffer_desc d = culv_buffer_desc_init();
    uint32_t slot = fuzz_pick(r, SLOTS);
    d.offset = fuzz_value(r, 0);
    d.size = fuzz_value(r, 0);
    d.label = fuzz_label(r);
    culv_buffer_desc *desc = fuzz_rarely(r, 16) ? NULL : fuzz_box(r, &d, sizeof d);
    culv_buffer *out = FUZZ_POISON(culv_buffer);
    culv_result result = FUZZ_ARMED(r, culv_buffer_map(memory, desc, &out));
    if (result == CULV_OK) {
        uint64_t whole = culv_memory_size(memory), size = culv_buffer_size(out);
        FUZZ_REQUIRE(culv_buffer_pointer(out) != 0 && size != 0 && size <= whole,
                     "%llu bytes of %llu", (unsigned long long)size, (unsigned long long)whole);
        if (desc != NULL && fuzz_box_whole(desc))
            FUZZ_REQUIRE(d.offset <= whole - size && (d.size == 0 || size == d.size),
                         "it leaves the memory");
        /* On the twin it is memory of this process: its ends are there. */
        if (fuzz.caps.is_software) {
            volatile uint8_t *bytes = (volatile uint8_t *)(uintptr_t)culv_buffer_pointer(out);
            bytes[0] = bytes[size - 1] = 0;
        }
        KEEP(s->buffers, slot, out, culv_buffer_unmap(&s->buffers[kept], NULL));
    } else
        FUZZ_REQUIRE(out == FUZZ_POISON(culv_buffer), "written after an error");
    if (desc != NULL) fuzz_unbox(desc);
}

static void keep_image(fuzz_reader *r, import_state *s, culv_result result, culv_image *out)
{
    if (result == CULV_OK)
        KEEP(s->images, fuzz_pick(r, SLOTS), out, culv_image_unmap(&s->images[kept], NULL));
    else
        FUZZ_REQUIRE(out == FUZZ_POISON(culv_image), "written after an error");
}

static culv_image_desc description(const culv_image *image)
{
    culv_image_desc d = culv_image_desc_init();
    FUZZ_REQUIRE(culv_image_get_desc(image, &d) == CULV_OK, "no description");
    return d;
}

static void map_image(fuzz_reader *r, import_state *s)
{
    culv_memory *memory = s->memories[fuzz_pick(r, SLOTS)];
    culv_image_desc d = culv_image_desc_init();
    d.offset = fuzz_value(r, 0);
    d.format = (culv_format)fuzz_format(r, VK_FORMAT_R8G8B8A8_UNORM);
    d.texels = (culv_texels)fuzz_enum(r, 2);
    d.type = (culv_image_type)fuzz_enum(r, 4);
    d.width = fuzz_value32(r, 32);
    d.height = fuzz_value32(r, d.type == CULV_IMAGE_1D ? 1 : d.width);
    d.depth = fuzz_value32(r, d.type == CULV_IMAGE_3D ? 4 : 0);
    d.array_layers = fuzz_value32(r, d.type == CULV_IMAGE_CUBE ? 6 : 0);
    d.mip_levels = fuzz_value32(r, 1);
    uint8_t flags = fuzz_u8(r);
    d.color_attachment = flags & 1;
    d.texture_gather = flags & 4;
    d.video_encode_decode = flags & 8;
    d.no_surfaces = flags & 16;
    d.label = fuzz_label(r);
    if (fuzz_rarely(r, 4))
        for (int i = 0; i < 3; i++)
            d.plane_offsets[i] = fuzz_value(r, (uint64_t)i * 0x4000);
    culv_image_desc *desc = fuzz_box(r, &d, sizeof d);
    culv_image *out = FUZZ_POISON(culv_image);
    culv_result result = FUZZ_ARMED(r, culv_image_map(memory, desc, &out));
    if (result == CULV_OK && fuzz_box_whole(desc)) {
        FUZZ_REQUIRE(d.offset < culv_memory_size(memory), "it lies outside");
        const culv_image_desc told = description(out);
        FUZZ_REQUIRE(told.format == d.format &&
                         told.mip_levels == (d.mip_levels != 0 ? d.mip_levels : 1),
                     "another image");
    }
    keep_image(r, s, result, out);
    fuzz_unbox(desc);
}

/* Images of the caller's, whose create infos may be told wrong. */
static void map_vulkan_image(fuzz_reader *r, import_state *s)
{
    static const uint8_t which[] = {IMPORT_IMAGE, IMPORT_LINEAR, IMPORT_ARRAY};
    const import_resource *from = &import_resources[which[fuzz_pick(r, 3)]];
    culv_memory *memory = s->memories[fuzz_pick(r, SLOTS)];
    fuzz_chain chain = {.count = 0};
    VkImageCreateInfo info = from->info;
    if (fuzz_rarely(r, 4)) {
        /* Vulkan is asked about the image with the levels and layers of the struct: those must be
         * its own. */
        fuzz_image_info(r, &chain, &info);
        info.tiling = from->info.tiling;
        info.mipLevels = from->info.mipLevels;
        info.arrayLayers = from->info.arrayLayers;
        info.flags &=
            ~(VkImageCreateFlags)VK_IMAGE_CREATE_DISJOINT_BIT; /* the same of its planes */
    }
    culv_vk_image_desc d = culv_vk_image_desc_init();
    d.image = fuzz_rarely(r, 64) ? VK_NULL_HANDLE : from->image;
    d.create_info = fuzz_rarely(r, 64) ? NULL : &info;
    d.offset = fuzz_value(r, 0);
    d.texels = (culv_texels)fuzz_enum(r, 2);
    d.no_surfaces = fuzz_flag(r);
    d.label = fuzz_label(r);
    if (fuzz_rarely(r, 16)) d.plane_offsets[fuzz_pick(r, 3)] = fuzz_value(r, 0);
    culv_vk_image_desc *desc = fuzz_box(r, &d, sizeof d);
    if (from != &import_resources[IMPORT_LINEAR] || fuzz_rarely(r, 8)) {
        culv_image *out = FUZZ_POISON(culv_image);
        culv_result result = FUZZ_ARMED(r, culv_vk_image_map(fuzz.vk, memory, desc, &out));
        FUZZ_REQUIRE(result != CULV_OK || from != &import_resources[IMPORT_LINEAR],
                     "LINEAR, as an array");
        keep_image(r, s, result, out);
    } else {
        culv_subresource_layout *layout = fuzz_box_out(r, sizeof *layout);
        culv_buffer *out = FUZZ_POISON(culv_buffer);
        uint32_t level = fuzz_value32(r, 0), plane = fuzz_value32(r, 0);
        culv_result result = FUZZ_ARMED(
            r, culv_vk_image_map_pitched(fuzz.vk, memory, desc, level, plane, &out, layout));
        if (result == CULV_OK) {
            FUZZ_REQUIRE(culv_buffer_size(out) <= culv_memory_size(memory), "it leaves the memory");
            KEEP(s->buffers, fuzz_pick(r, SLOTS), out, culv_buffer_unmap(&s->buffers[kept], NULL));
        } else {
            FUZZ_REQUIRE(out == FUZZ_POISON(culv_buffer), "written after an error");
            fuzz_require_untouched(layout);
        }
        fuzz_unbox(layout);
    }
    fuzz_unbox(desc);
    fuzz_chain_free(&chain);
}

static void texture(fuzz_reader *r, culv_image *image)
{
    culv_texture_desc d = culv_texture_desc_init();
    for (int i = 0; i < 3; i++)
        d.address[i] = (culv_texture_address)fuzz_enum(r, 4);
    d.filter = (culv_texture_filter)fuzz_enum(r, 2);
    d.mip_filter = (culv_texture_filter)fuzz_enum(r, 2);
    d.read = (culv_texture_read)fuzz_enum(r, 2);
    d.mip_bias = fuzz_float(r);
    d.clamp_lod = fuzz_flag(r);
    d.min_lod = fuzz_float(r);
    d.max_lod = fuzz_float(r);
    d.max_anisotropy = fuzz_value32(r, 0);
    for (int i = 0; i < 4; i++)
        d.border_color[i] = fuzz_float(r);
    d.unnormalized_coordinates = fuzz_rarely(r, 4);
    d.no_seamless_cube = fuzz_flag(r);
    d.base_level = fuzz_value32(r, 0);
    d.level_count = fuzz_value32(r, 0);
    d.base_layer = fuzz_value32(r, 0);
    d.layer_count = fuzz_value32(r, 0);
    d.plane = fuzz_value32(r, 0);
    culv_texture_desc *desc = fuzz_rarely(r, 16) ? NULL : fuzz_box(r, &d, sizeof d);
    CUtexObject first = 0x5a5a, second = 0x5a5a;
    culv_result result = FUZZ_ARMED(r, culv_image_get_texture(image, desc, &first));
    if (result != CULV_OK)
        FUZZ_REQUIRE(first == 0x5a5a, "written after an error");
    else /* NaN is equal to itself here */
        FUZZ_REQUIRE(FUZZ_CALL(culv_image_get_texture(image, desc, &second)) == CULV_OK &&
                         second == first,
                     "another object");
    if (desc != NULL) fuzz_unbox(desc);
}

static void view(fuzz_reader *r, import_state *s)
{
    culv_image *image = s->images[fuzz_pick(r, SLOTS)];
    uint32_t index = fuzz_value32(r, 0);
    CUarray array = FUZZ_POISON(struct CUarray_st), again = NULL;
    CUsurfObject surface = 0x5a5a;
    culv_result result = CULV_OK;
    uint8_t what = fuzz_u8(r) % 7u;
    fuzz_arm(r);
    switch (what) {
    case 0: result = FUZZ_CALL(culv_image_get_array(image, index, 0, &array)); break;
    case 1: result = FUZZ_CALL(culv_image_get_surface(image, index, 0, &surface)); break;
    case 2: result = FUZZ_CALL(culv_image_get_array(image, 0, index, &array)); break;
    case 3: result = FUZZ_CALL(culv_image_get_surface(image, 0, index, &surface)); break;
    case 4: {
        culv_subresource_layout *out = fuzz_box_out(r, sizeof *out);
        result = FUZZ_CALL(culv_image_get_layout(image, index, 0, out));
        if (result != CULV_OK)
            fuzz_require_untouched(out);
        else if (fuzz_box_whole(out))
            FUZZ_REQUIRE(out->width != 0 && out->height != 0 && out->depth != 0, "no extent");
        fuzz_unbox(out);
        break;
    }
    case 5: {
        culv_image_desc *out = fuzz_box_out(r, sizeof *out);
        result = FUZZ_CALL(culv_image_get_desc(image, out));
        if (result != CULV_OK)
            fuzz_require_untouched(out);
        else if (fuzz_box_whole(out))
            FUZZ_REQUIRE(out->label == NULL && out->mip_levels == description(image).mip_levels,
                         "another image");
        fuzz_unbox(out);
        break;
    }
    default: fuzz_disarm(); texture(r, image);
    }
    fuzz_disarm();
    if (what == 0 || what == 2)
        FUZZ_REQUIRE((array == FUZZ_POISON(struct CUarray_st)) == (result != CULV_OK) &&
                         array != NULL,
                     "no array");
    if (what == 0 && result == CULV_OK)
        FUZZ_REQUIRE(index < description(image).mip_levels &&
                         culv_image_get_array(image, index, 0, &again) == CULV_OK && again == array,
                     "level %u", index);
    if (what == 1 || what == 3)
        FUZZ_REQUIRE((surface == 0x5a5a) == (result != CULV_OK) && surface != 0, "no surface");
}

static void export_and_back(fuzz_reader *r)
{
    const import_resource *from = &import_resources[fuzz_pick(r, IMPORT_RESOURCES)];
    culv_handle handle, before;
    memset(&handle, 0xa5, sizeof handle);
    memcpy(&before, &handle, sizeof handle);
    culv_handle_type type =
        (culv_handle_type)(fuzz_rarely(r, 4) ? fuzz_enum(r, 5) : CULV_HANDLE_OPAQUE_FD);
    VkDeviceMemory memory = fuzz_rarely(r, 16) ? VK_NULL_HANDLE : from->memory;
    if (FUZZ_CALL(culv_vk_memory_export_dup(fuzz.vk, memory, type, &handle)) != CULV_OK) {
        FUZZ_REQUIRE(memcmp(&handle, &before, sizeof handle) == 0, "written after an error");
        return;
    }
    require_exportable(from, "exported");
    FUZZ_REQUIRE(handle.type == type, "handle type %d", (int)handle.type);
    if (fuzz_rarely(r, 4)) {
        culv_handle_close(&handle);
        handle = culv_handle_opaque_fd(import_fd(r));
    }
    int fd = handle.value.fd;
    bool was_open = import_fd_is_open(fd);
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.handle = handle;
    if (fuzz_rarely(r, 16)) d.handle.type = (culv_handle_type)fuzz_enum(r, 5);
    d.size = fuzz_value(r, from->size);
    if (fuzz_rarely(r, 8)) d.exporter.bytes[fuzz_pick(r, 16)] = fuzz_u8(r);
    uint8_t bound = fuzz_u8(r);
    if (bound & 1) d.buffer = from->buffer;
    if (bound & 2) d.image = from->image;
    d.memory_type_bits = fuzz_bits(r, 0);
    d.dedicated = fuzz_rarely(r, 4);
    d.label = fuzz_label(r);
    culv_vk_memory_from_handle_desc *desc = fuzz_box(r, &d, sizeof d);
    VkDeviceMemory out = (VkDeviceMemory)(uintptr_t)0x5a5a;
    culv_result result = FUZZ_ARMED(r, culv_vk_memory_from_handle(fuzz.vk, desc, &out));
    import_fd_kept(fd, was_open);
    if (result == CULV_OK)
        vkFreeMemory(fuzz.vk_device, out, NULL);
    else
        FUZZ_REQUIRE(out == (VkDeviceMemory)(uintptr_t)0x5a5a, "written after an error");
    fuzz_unbox(desc);
}

/* Other handles of the same, and a dma-buf of what CUDA did not allocate. */
static void duplicate(fuzz_reader *r, import_state *s)
{
    const culv_buffer *buffer = s->buffers[fuzz_pick(r, SLOTS)];
    int fd = import_fd(r);
    bool was_open = import_fd_is_open(fd);
    culv_handle given = culv_handle_opaque_fd(fd), handle, before;
    given.type = (culv_handle_type)(fuzz_rarely(r, 4) ? fuzz_enum(r, 5) : CULV_HANDLE_OPAQUE_FD);
    if (fuzz_rarely(r, 16)) given.name = L"a name";
    memset(&handle, 0xa5, sizeof handle);
    memcpy(&before, &handle, sizeof handle);
    if (FUZZ_CALL(culv_handle_dup(&given, &handle)) == CULV_OK) {
        FUZZ_REQUIRE(was_open && handle.type == given.type && handle.value.fd != fd,
                     "no new handle");
        culv_handle_close(&handle);
    } else
        FUZZ_REQUIRE(memcmp(&handle, &before, sizeof handle) == 0, "written after an error");
    import_fd_kept(fd, was_open);
    memcpy(&handle, &before, sizeof handle);
    CUdeviceptr pointer = fuzz_value(r, culv_buffer_pointer(buffer));
    uint64_t size = fuzz_value(r, culv_buffer_size(buffer)), flags = fuzz_value(r, 0);
    if (FUZZ_CALL(culv_dma_buf_export_dup(fuzz.device, pointer, size, flags, &handle)) == CULV_OK)
        culv_handle_close(&handle);
    else
        FUZZ_REQUIRE(memcmp(&handle, &before, sizeof handle) == 0, "written after an error");
}

/* Any object, at once or once the stream is done; what was made from it lives on. */
static void give_up(fuzz_reader *r, import_state *s)
{
    uint32_t slot = fuzz_pick(r, SLOTS);
    const CUstream *last_use = fuzz_flag(r) ? &fuzz.stream : NULL;
    fuzz_arm(r); /* a release that the driver refuses is tried again */
    switch (fuzz_pick(r, 5)) {
    case 0: culv_memory_destroy(&s->memories[slot]); break;
    case 1: culv_buffer_unmap(&s->buffers[slot], last_use); break;
    case 2: culv_image_unmap(&s->images[slot], last_use); break;
    case 3: culv_semaphore_destroy(&s->semaphores[slot], last_use); break;
    default: culv_shared_semaphore_destroy(&s->made[slot], last_use);
    }
    fuzz_disarm();
}

void fuzz_target_run(fuzz_reader *r)
{
    import_state s;
    memset(&s, 0, sizeof s);
    for (int step = 0; step < 16 && (step == 0 || r->left > 0); step++)
        switch (fuzz_pick(r, 16)) {
        case 0: import_memory(r, &s); break;
        case 1:
        case 2: import_vulkan_memory(r, &s); break;
        case 3: map_buffer(r, &s); break;
        case 4:
        case 5: map_image(r, &s); break;
        case 6:
        case 7: map_vulkan_image(r, &s); break;
        case 8:
        case 9: view(r, &s); break;
        case 10: import_semaphore(r, &s); break;
        case 11: import_vulkan_semaphore(r, &s); break;
        case 12: import_use_semaphore(r, &s); break;
        case 13:
            if (fuzz_flag(r))
                duplicate(r, &s);
            else
                export_and_back(r);
            break;
        case 14: give_up(r, &s); break;
        default: (void)culv_device_collect(fuzz.device);
        }
    for (uint32_t i = 0; i < SLOTS; i++) {
        culv_image_unmap(&s.images[i], NULL);
        culv_memory_destroy(&s.memories[i]);
        culv_buffer_unmap(&s.buffers[i], NULL);
    }
    import_drop_semaphores(&s);
}
