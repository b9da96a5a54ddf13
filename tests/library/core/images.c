/* SPDX-License-Identifier: MIT */
/* Images that CUDA and Vulkan share: what is asked of them, and what is refused. Data both ways, of
 * every format, kind and level, is tested with the formats. */
#define TEST_GROUP "data."
#include "image_stage.h"
#include "library.h"
#include "raw_cuda_image.h"
#include "raw_vulkan_image.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct opener {
    stage *s;
    int waiter; /* a thread */
} opener;

static void *open_when_asleep(void *user)
{
    const opener *o = user;
    (void)test_asleep(0, o->waiter, 20);
    raw_vk_timeline_signal(&o->s->w.vk, o->s->turns.to_cuda, 1);
    return NULL;
}

/* A kernel is still to store through a surface when the image is unmapped: the surface outlives
 * it. */
TEST(unmapped_under_work)
{
    stage s;
    shared_image i;
    opener o = {&s, (int)syscall(SYS_gettid)};
    pthread_t thread;
    stage_open(&s);
    if (s.turns.binary) SKIP("no timeline that the host could signal");
    shared_image_open(&s, CALLERS_DEDICATED, VK_FORMAT_R8G8B8A8_UNORM, 253, 127, 1, 0, &i);
    unsigned char *texels = malloc(i.size), *painted = malloc(i.size);
    REQUIRE(texels != NULL && painted != NULL);
    image_fill(&i, 9, 0, painted);
    cuda_paint(&s, &i, 0, 1); /* whatever is made by the first launch is there */
    lib_finish(&s.w, s.stream);
    LIB_OK(culv_semaphore_wait(s.turns.waits, s.stream, 1));
    cuda_paint(&s, &i, 0, 9);
    REQUIRE_EQ(pthread_create(&thread, NULL, open_when_asleep, &o), 0);
    culv_image_unmap(&i.cuda, NULL);
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    lib_finish(&s.w, s.stream);
    raw_vk_image_read(&s.w.vk, &i.caller, 0, texels);
    REQUIRE_EQ_BYTES(texels, painted, (size_t)253 * 127 * 4); /* i.size has padding */
    free(painted);
    free(texels);
    raw_vk_image_destroy(&s.w.vk, &i.caller);
    culv_memory_destroy(&i.memory);
    stage_close(&s);
}

/* Accessors ------------------------------------------------------------------------------------ */

IMAGE_CASE(arrays_and_surfaces_are_kept, .title = "levels.arrays_and_surfaces_are_kept")
{
    shared_image i;
    shared_image_open(s, CALLERS_DEDICATED, VK_FORMAT_R8G8B8A8_UNORM, 64, 32, 3,
                      VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT, &i);
    const raw_cuda *cu = s->w.cu;
    for (uint32_t level = 0; level < 3; level++) {
        CUarray array = NULL, array2 = NULL;
        CUsurfObject surface = 0, surface2 = 0;
        CUDA_ARRAY3D_DESCRIPTOR d;
        if (level != 1) LIB_OK(culv_image_get_array(i.cuda, level, 0, &array));
        LIB_OK(culv_image_get_surface(i.cuda, level, 0, &surface));
        LIB_OK(culv_image_get_surface(i.cuda, level, 0, &surface2));
        LIB_OK(culv_image_get_array(i.cuda, level, 0, &array2));
        REQUIRE(surface != 0 && surface == surface2 && array2 != NULL);
        REQUIRE(level == 1 || array == array2);
        LIB_CU_OK(&s->w, cu->Array3DGetDescriptor(&d, array2));
        REQUIRE_EQ(d.Width, 64 >> level);
        REQUIRE_EQ(d.Height, 32 >> level);
        REQUIRE_EQ(d.Format, i.format.cuda_array_format);
        REQUIRE_EQ(d.NumChannels, i.format.channels);
        if (cu->software) /* which tells the flags that an array was mapped with */
            REQUIRE_EQ(d.Flags, CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_COLOR_ATTACHMENT);
    }
    CUcontext current = NULL; /* none of these calls left a context current */
    CU_OK(cu->CtxGetCurrent(&current));
    REQUIRE(current == NULL);
    shared_image_close(s, &i);
}

/* docs/vulkan-memory.md's example. */
static culv_result image_from_fd(culv_device *device, culv_vk_device *vk, int fd,
                                 uint64_t allocation_size, uint64_t offset, VkImage image,
                                 const VkImageCreateInfo *create_info, culv_image **out)
{
    culv_memory_desc allocation = culv_memory_desc_init();
    culv_vk_image_desc bound = culv_vk_image_desc_init();
    culv_memory *memory = NULL;
    allocation.handle = culv_handle_opaque_fd(fd);
    allocation.size = allocation_size;
    bound.image = image;
    bound.create_info = create_info;
    bound.offset = offset;

    culv_result e = culv_memory_import(device, &allocation, &memory);
    if (e == CULV_OK) e = culv_vk_image_map(vk, memory, &bound, out);
    culv_memory_destroy(&memory);
    return e;
}

/* Of another library's image only a file descriptor, the allocation's size and the offset are
 * known. */
IMAGE_CASE(from_a_file_descriptor)
{
    raw_vk *vk = &s->w.vk;
    raw_vk_image theirs;
    const raw_vk_image_desc d = {.format = VK_FORMAT_R8G8B8A8_UNORM,
                                 .width = 101,
                                 .height = 53,
                                 .levels = 3,
                                 .min_offset = 70000,
                                 .flags = RAW_VK_EXPORT};
    if (!raw_vk_image_supported(vk, &d)) SKIP("no such image can be exported here");
    raw_vk_image_create(vk, &d, &theirs);
    REQUIRE(theirs.offset >= 70000);
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = image_info(d.format, d.width, d.height, d.levels, 0, &external);
    shared_image i = {
        .origin = CALLERS_AT_OFFSET, .width = d.width, .height = d.height, .levels = d.levels};
    lib_fd fd = lib_fd_watch(raw_vk_image_fd(vk, &theirs));
    LIB_OK(image_from_fd(s->w.device, s->w.attachment, fd.fd, theirs.allocation_size, theirs.offset,
                         theirs.image, &info, &i.cuda));
    lib_fd_end(&fd, true);
    i.format = culv_format_info_init();
    LIB_OK(culv_format_get_info(CULV_FORMAT_R8G8B8A8_UNORM, &i.format));
    for (uint32_t level = 0; level < i.levels; level++) {
        i.at[level] = i.size;
        i.size += raw_vk_image_bytes(&theirs, level);
        cuda_paint(s, &i, level, 77);
    }
    lib_finish(&s->w, s->stream);
    unsigned char *texels = test_memory(i.size), *wanted = test_memory(i.size);
    for (uint32_t level = 0; level < i.levels; level++)
        raw_vk_image_read(vk, &theirs, level, texels + i.at[level]);
    image_fill(&i, 77, 0, wanted);
    REQUIRE_EQ_BYTES(texels, wanted, i.size);
    culv_image_unmap(&i.cuda, NULL);
    REQUIRE_EQ(lib_counts(&s->w).memories, 0);
    raw_vk_image_destroy(vk, &theirs);
}

#undef TEST_GROUP
#define TEST_GROUP "images."
/* Images that cannot be shared: each its class and reason, before any driver is asked to make or
 * map it. */

enum { SIDE = 64, LEVELS = 3 };

static VkImageCreateInfo right_info(VkExternalMemoryImageCreateInfo *external)
{
    return image_info(VK_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE, LEVELS, 0, external);
}

/* sType, the pNext chain, NULL everywhere. */
IMAGE_CASE(descriptors)
{
    shared_image i;
    culv_image *mapped = NULL;
    culv_shared_image *made = NULL;
    shared_image_open(s, CALLERS_DEDICATED, VK_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE, LEVELS, 0, &i);
    culv_vk_device *vk = s->w.attachment;
    VkExternalMemoryImageCreateInfo external;
    VkImageCreateInfo info = right_info(&external);
    culv_vk_image_desc d = culv_vk_image_desc_init();
    culv_vk_image_create_desc c = culv_vk_image_create_desc_init();
    LIB_REFUSES(mapped, culv_vk_image_map(vk, i.memory, &d, &mapped), INVALID, NULL_ARGUMENT);
    d.image = i.image;
    LIB_REFUSES(mapped, culv_vk_image_map(vk, i.memory, &d, &mapped), INVALID, NULL_ARGUMENT,
                "create_info");
    LIB_REFUSES(made, culv_vk_image_create(vk, &c, &made), INVALID, NULL_ARGUMENT, "create_info");
    d.create_info = c.create_info = &info;
    LIB_INVALID(culv_vk_image_map(vk, i.memory, &d, NULL), NULL_ARGUMENT);

    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    LIB_REFUSES(mapped, culv_vk_image_map(vk, i.memory, &d, &mapped), INVALID, VALUE);
    info.pNext = NULL;
    LIB_REFUSES(made, culv_vk_image_create(vk, &c, &made), INVALID, VALUE);
    info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;

    /* The caller's image has to be created for export, as OPAQUE_FD; Culvert's gets that from
     * Culvert. */
    static const VkExternalMemoryHandleTypeFlags types[] = {
        0, VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT};
    LIB_REFUSES(mapped, culv_vk_image_map(vk, i.memory, &d, &mapped), INVALID, NOT_EXPORTABLE);
    info.pNext = &external;
    for (int n = 0; n < 2; n++) {
        external.handleTypes = types[n];
        LIB_REFUSES(mapped, culv_vk_image_map(vk, i.memory, &d, &mapped), INVALID, NOT_EXPORTABLE);
    }
    external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    const VkFormat list[] = {VK_FORMAT_R8G8B8A8_UNORM};
    VkImageFormatListCreateInfo formats = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO,
                                           .pNext = &external,
                                           .viewFormatCount = 1,
                                           .pViewFormats = list};
    info.pNext = &formats; /* behind others it is found as well */
    LIB_OK(culv_vk_image_map(vk, i.memory, &d, &mapped));
    culv_image_unmap(&mapped, NULL);
    LIB_REFUSES(made, culv_vk_image_create(vk, &c, &made), INVALID, VALUE);
    formats.pNext = NULL;
    LIB_OK(culv_vk_image_create(vk, &c, &made));
    culv_shared_image_destroy(&made, NULL);
    shared_image_close(s, &i);
}

/* What the caller says of the binding, against what Vulkan says of the image. */
IMAGE_CASE(bindings)
{
    shared_image i, at;
    culv_image *mapped = NULL;
    culv_memory *memory = NULL;
    shared_image_open(s, CALLERS_DEDICATED, VK_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE, LEVELS, 0, &i);
    shared_image_open(s, CALLERS_AT_OFFSET, VK_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE, LEVELS, 0, &at);
    const VkDeviceSize size = at.caller.allocation_size, offset = at.caller.offset;
    const struct {
        VkDeviceSize size, offset;
        VkBool32 dedicated;
        culv_reason reason;
    } rows[] = {
        {at.caller.size - 1, 0, VK_FALSE, CULV_REASON_SIZE},
        {size - 1, offset, VK_FALSE, CULV_REASON_RANGE},
        {size, size, VK_FALSE, CULV_REASON_RANGE},
        {size, UINT64_MAX, VK_FALSE, CULV_REASON_RANGE},
        {size, UINT64_MAX - at.caller.size + 1, VK_FALSE, CULV_REASON_RANGE},
        {size, offset - 1, VK_FALSE, CULV_REASON_RANGE}, /* not aligned */
        {size, offset, VK_TRUE, CULV_REASON_DEDICATED},
    };
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = right_info(&external);
    culv_vk_image_desc d = culv_vk_image_desc_init();
    d.image = at.image;
    d.create_info = &info;
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        culv_vk_memory_desc md = culv_vk_memory_desc_init();
        md.memory = at.caller.memory;
        md.allocation_size = rows[n].size;
        md.dedicated = rows[n].dedicated;
        md.image = at.image;
        md.image_offset = rows[n].offset;
        LIB_REFUSES_AS(memory, culv_vk_memory_import(s->w.attachment, &md, &memory),
                       CULV_ERROR_INVALID, rows[n].reason);
        md.image = VK_NULL_HANDLE; /* not said at the import: then it is the mapping that refuses */
        LIB_OK(culv_vk_memory_import(s->w.attachment, &md, &memory));
        d.offset = rows[n].offset;
        LIB_REFUSES_AS(mapped, culv_vk_image_map(s->w.attachment, memory, &d, &mapped),
                       CULV_ERROR_INVALID, rows[n].reason);
        culv_memory_destroy(&memory);
    }
    /* A create_info that is not this image's. */
    VkImageCreateInfo other = info;
    other.extent.width = 4096;
    d.create_info = &other;
    d.offset = offset;
    LIB_REFUSES(mapped, culv_vk_image_map(s->w.attachment, at.memory, &d, &mapped), INVALID,
                EXTENT);

    /* The same GPU, but another culv_device. */
    culv_vk_device_desc vd = lib_vk_desc(&s->w);
    NEW(culv_device, device, lib_open_for_vk, &s->w, vkGetInstanceProcAddr, NULL);
    NEW(culv_vk_device, vk, culv_vk_attach, device, &vd);
    d.create_info = &info;
    LIB_REFUSES(mapped, culv_vk_image_map(vk, at.memory, &d, &mapped), INVALID, DEVICE_MISMATCH);
    culv_vk_detach(&vk);
    culv_device_close(&device);
    shared_image_close(s, &at);
    shared_image_close(s, &i);
}

/* A Vulkan that has other needs or answers than any at hand. */
IMAGE_CASE(vulkan_says_no)
{
    shared_image at;
    culv_image *mapped = NULL;
    culv_shared_image *made = NULL;
    culv_shared_buffer *buffer = NULL;
    shared_image_open(s, CALLERS_AT_OFFSET, VK_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE, LEVELS, 0, &at);
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = right_info(&external);
    VkImageCreateInfo plain = right_info(NULL);
    const VkFormat list[] = {VK_FORMAT_R8G8B8A8_UNORM};
    const VkImageFormatListCreateInfo formats = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO,
        .viewFormatCount = 1,
        .pViewFormats = list};
    const VkBufferOpaqueCaptureAddressCreateInfo address = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO};
    plain.pNext = &formats; /* the caller's chain is passed on */
    const VkBufferCreateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                            .pNext = &address,
                                            .size = 65536,
                                            .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    culv_vk_image_desc d = culv_vk_image_desc_init();
    d.image = at.image;
    d.create_info = &info;
    d.offset = at.caller.offset;
    culv_vk_image_create_desc c = culv_vk_image_create_desc_init();
    c.create_info = &plain;
    culv_vk_buffer_create_desc b = culv_vk_buffer_create_desc_init();
    b.create_info = &buffer_info;
    const struct {
        lib_lies lies;
        culv_result result;
        culv_reason reason;
    } rows[] = {{{.requires_dedicated = true}, CULV_ERROR_INVALID, CULV_REASON_DEDICATED},
                {{.dedicated_only = true}, CULV_ERROR_INVALID, CULV_REASON_DEDICATED},
                {{.exports_nothing = true}, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE},
                TEST_ROW({.image_format_result = VK_ERROR_FORMAT_NOT_SUPPORTED},
                         CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE),
                TEST_ROW({.image_format_result = VK_ERROR_OUT_OF_HOST_MEMORY},
                         CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY),
                TEST_ROW({.image_format_result = VK_ERROR_UNKNOWN}, CULV_ERROR_DRIVER,
                         CULV_REASON_DRIVER_REFUSED)};
    for (int n = 0; n < 6; n++) {
        culv_vk_device_desc vd = lib_vk_desc(&s->w);
        lib_lying = rows[n].lies;
        vd.get_instance_proc_addr = lib_lying_loader;
        NEW(culv_vk_device, lying, culv_vk_attach, s->w.device, &vd);
        LIB_REFUSES_AS(mapped, culv_vk_image_map(lying, at.memory, &d, &mapped), rows[n].result,
                       rows[n].reason);
        if (n < 2) { /* Culvert allocates as Vulkan wants it */
            lib_saw_dedicated = lib_saw_chain = false;
            LIB_OK(culv_vk_image_create(lying, &c, &made));
            REQUIRE(lib_saw_dedicated && lib_saw_chain);
            lib_saw_dedicated = lib_saw_chain = false;
            LIB_OK(culv_vk_buffer_create(lying, &b, &buffer));
            REQUIRE(lib_saw_dedicated && lib_saw_chain);
            culv_shared_image_destroy(&made, NULL);
            culv_shared_buffer_destroy(&buffer, NULL);
        } else {
            LIB_REFUSES_AS(made, culv_vk_image_create(lying, &c, &made), rows[n].result,
                           rows[n].reason);
        }
        if (n == 2)
            LIB_REFUSES_AS(buffer, culv_vk_buffer_create(lying, &b, &buffer), rows[n].result,
                           rows[n].reason);
        culv_vk_detach(&lying);
    }
    shared_image_close(s, &at);
}

#undef TEST_GROUP
#define TEST_GROUP "maps."
/* culv_image_map() and what is asked of an image, called wrongly. */

/* Without Vulkan's word for it: what the descriptor and the allocation contradict in. */
#define CLASS_OF(reason)                                                                           \
    ((reason) == CULV_REASON_FORMAT ? CULV_ERROR_UNSUPPORTED : CULV_ERROR_INVALID)

IMAGE_CASE(maps, .title = "maps.wrong_descriptors", .smoke = true)
{
    shared_image i, at;
    culv_image *mapped = NULL;
    shared_image_open(s, CALLERS_DEDICATED, VK_FORMAT_R32_SFLOAT, 64, 64, 7, 0, &i);
    shared_image_open(s, CALLERS_AT_OFFSET, VK_FORMAT_R32_SFLOAT, 64, 64, 7, 0, &at);
    const uint64_t size = at.caller.allocation_size, offset = at.caller.offset;
    const struct {
        uint64_t offset;
        uint32_t format, width, height, levels;
        culv_reason reason;
    } rows[] = {
        {offset, 0, 64, 64, 7, CULV_REASON_FORMAT},
        {offset, 23, 64, 64, 7, CULV_REASON_FORMAT},  /* three channels */
        {offset, 129, 64, 64, 7, CULV_REASON_FORMAT}, /* D24_UNORM_S8_UINT */
        {offset, UINT32_MAX, 64, 64, 7, CULV_REASON_FORMAT},
        {offset, 124, 8, 8, 1, CULV_REASON_DEDICATED}, /* D16_UNORM */
        {offset, 127, 8, 8, 1, CULV_REASON_DEDICATED}, /* S8_UINT */
        {offset, 100, 0, 64, 1, CULV_REASON_EXTENT},
        {offset, 100, 64, 0, 1, CULV_REASON_EXTENT},
        {offset, 100, UINT32_MAX, 1, 1, CULV_REASON_EXTENT},
        {offset, 100, 1, UINT32_MAX, 1, CULV_REASON_EXTENT},
        {offset, 100, UINT32_MAX, UINT32_MAX, 32, CULV_REASON_EXTENT},
        {offset, 100, 64, 64, 8, CULV_REASON_EXTENT},
        {offset, 100, 1, 1, 2, CULV_REASON_EXTENT},
        {offset, 100, 64, 64, UINT32_MAX, CULV_REASON_EXTENT},
        {size, 100, 64, 64, 7, CULV_REASON_RANGE},
        {size - 1, 100, 1, 1, 1, CULV_REASON_RANGE},
        {UINT64_MAX, 100, 64, 64, 7, CULV_REASON_RANGE},
        {UINT64_MAX - 3, 100, 1, 1, 1, CULV_REASON_RANGE},
        {offset, 100, 4096, 4096, 1, CULV_REASON_RANGE},
        {offset, 109, 65536, 65536, 1, CULV_REASON_RANGE},
    };
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        culv_image_desc d = culv_image_desc_init();
        d.offset = rows[n].offset;
        d.format = (culv_format)rows[n].format;
        d.width = rows[n].width;
        d.height = rows[n].height;
        d.mip_levels = rows[n].levels;
        LIB_REFUSES_AS(mapped, culv_image_map(at.memory, &d, &mapped), CLASS_OF(rows[n].reason),
                       rows[n].reason);
    }
    culv_image_desc d = culv_image_desc_init();
    LIB_REFUSES(mapped, culv_image_map(at.memory, &d, &mapped), UNSUPPORTED,
                FORMAT); /* nothing said */
    d.format = CULV_FORMAT_R32_SFLOAT;
    d.width = d.height = 16;
    d.offset = 4096;
    LIB_REFUSES(mapped, culv_image_map(i.memory, &d, &mapped), INVALID, DEDICATED);
    LIB_REFUSES(mapped, culv_image_map(at.memory, NULL, &mapped), INVALID, NULL_ARGUMENT);
    LIB_INVALID(culv_image_map(at.memory, &d, NULL), NULL_ARGUMENT);
    culv_device_counts c = lib_counts(&s->w);
    REQUIRE(c.images == 2 && c.mappings == 2);
    shared_image_close(s, &at);
    shared_image_close(s, &i);
}

/* Kinds of image: what type, extent, layers and format contradict in. */
IMAGE_CASE(kinds, .title = "maps.wrong_kinds")
{
    shared_image at;
    culv_image *mapped = NULL;
    shared_image_open(s, CALLERS_AT_OFFSET, VK_FORMAT_R32_SFLOAT, 64, 64, 7, 0, &at);
    enum { FLOAT = CULV_FORMAT_R32_SFLOAT, NV12 = CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM };
    const struct {
        uint32_t type, format, texels, width, height, depth, layers, levels, gather;
        culv_reason reason;
    } rows[] = {
        {4, FLOAT, 0, 8, 8, 1, 1, 1, 0, CULV_REASON_VALUE},
        {UINT32_MAX, FLOAT, 0, 8, 8, 1, 1, 1, 0, CULV_REASON_VALUE},
        {CULV_IMAGE_1D, FLOAT, 0, 8, 2, 1, 1, 1, 0, CULV_REASON_EXTENT},
        {CULV_IMAGE_1D, FLOAT, 0, 8, 1, 2, 1, 1, 0, CULV_REASON_EXTENT},
        {CULV_IMAGE_1D, FLOAT, 0, 8, 1, 1, 1, 5, 0, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, FLOAT, 0, 8, 8, 2, 1, 1, 0, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, FLOAT, 0, 8, 8, 1, 2049, 1, 0, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, FLOAT, 0, 8, 8, 1, UINT32_MAX, 1, 0, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, FLOAT, 0, 8, 8, 1, 2, 1, 1, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, FLOAT, 0, 8, 8, 0, 1, 1, 0, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, FLOAT, 0, 8, 8, 8, 2, 1, 0, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, FLOAT, 0, 8, 8, 8, 1, 5, 0, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, FLOAT, 0, 8, 8, 16385, 1, 1, 0, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, FLOAT, 0, 8, 8, 8, 1, 1, 1, CULV_REASON_EXTENT},
        {CULV_IMAGE_CUBE, FLOAT, 0, 8, 4, 1, 6, 1, 0, CULV_REASON_EXTENT},
        {CULV_IMAGE_CUBE, FLOAT, 0, 8, 8, 1, 5, 1, 0, CULV_REASON_EXTENT},
        {CULV_IMAGE_CUBE, FLOAT, 0, 8, 8, 1, 7, 1, 0, CULV_REASON_EXTENT},
        {CULV_IMAGE_CUBE, FLOAT, 0, 8, 8, 1, 1, 1, 0, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, FLOAT, 1, 8, 8, 1, 1, 1, 0, CULV_REASON_FORMAT},
        {CULV_IMAGE_2D, FLOAT, 2, 8, 8, 1, 1, 1, 0, CULV_REASON_VALUE},
        {CULV_IMAGE_2D, NV12, 0, 7, 8, 1, 1, 1, 0, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, NV12, 0, 8, 7, 1, 1, 1, 0, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, NV12, 0, 8, 8, 1, 1, 2, 0, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, NV12, 0, 8, 8, 2, 1, 1, 0, CULV_REASON_EXTENT},
        /* More than the allocation, by each of the factors. */
        {CULV_IMAGE_1D, FLOAT, 0, 131072, 1, 1, 1, 1, 0, CULV_REASON_RANGE},
        {CULV_IMAGE_2D, FLOAT, 0, 64, 64, 1, 2048, 7, 0, CULV_REASON_RANGE},
        {CULV_IMAGE_3D, FLOAT, 0, 64, 64, 16384, 1, 1, 0, CULV_REASON_RANGE},
        {CULV_IMAGE_CUBE, FLOAT, 0, 64, 64, 1, 0, 7, 0, CULV_REASON_RANGE},
        {CULV_IMAGE_2D, CULV_FORMAT_R64G64_UINT, 0, 131072, 131072, 1, 2048, 18, 0,
         CULV_REASON_RANGE},
    };
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        culv_image_desc d = culv_image_desc_init();
        d.offset = at.caller.offset;
        d.format = (culv_format)rows[n].format;
        d.texels = (culv_texels)rows[n].texels;
        d.type = (culv_image_type)rows[n].type;
        d.width = rows[n].width;
        d.height = rows[n].height;
        d.depth = rows[n].depth;
        d.array_layers = rows[n].layers;
        d.mip_levels = rows[n].levels;
        d.texture_gather = rows[n].gather;
        LIB_REFUSES_AS(mapped, culv_image_map(at.memory, &d, &mapped), CLASS_OF(rows[n].reason),
                       rows[n].reason);
    }
    shared_image_close(s, &at);
}

/* What was mapped, with the defaults. */
IMAGE_CASE(told)
{
    shared_image i;
    shared_image_open(s, CALLERS_AT_OFFSET, VK_FORMAT_R8G8B8A8_UNORM, 40, 30, 3, 0, &i);
    culv_image_desc d = culv_image_desc_init();
    LIB_OK(culv_image_get_desc(i.cuda, &d));
    REQUIRE_EQ(d.struct_size, sizeof d);
    REQUIRE_EQ(d.offset, i.caller.offset);
    REQUIRE_EQ(d.format, CULV_FORMAT_R8G8B8A8_UNORM);
    REQUIRE_EQ(d.type, CULV_IMAGE_2D);
    REQUIRE(d.width == 40 && d.height == 30 && d.depth == 1 && d.array_layers == 1 &&
            d.mip_levels == 3);
    REQUIRE(d.label == NULL);
    CUarray plane = NULL;
    CUsurfObject surface = 0;
    LIB_INVALID(culv_image_get_array(i.cuda, 0, 1, &plane), LEVEL);
    LIB_INVALID(culv_image_get_surface(i.cuda, 0, 1, &surface), LEVEL);
    d.struct_size = 0;
    LIB_INVALID(culv_image_get_desc(i.cuda, &d), STRUCT_SIZE);
    shared_image_close(s, &i);
}

IMAGE_CASE(levels)
{
    static const uint32_t wrong[] = {3, 4, 31, 32, 33, UINT32_MAX};
    shared_image i;
    shared_image_open(s, CULVERTS, VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 3, 0, &i);
    CUarray array = POISON(struct CUarray_st);
    CUsurfObject surface = 99;
    culv_subresource_layout layout = culv_subresource_layout_init();
    for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
        LIB_INVALID(culv_image_get_array(i.cuda, wrong[n], 0, &array), LEVEL);
        LIB_INVALID(culv_image_get_surface(i.cuda, wrong[n], 0, &surface), LEVEL);
        LIB_INVALID(culv_image_get_layout(i.cuda, wrong[n], 0, &layout), LEVEL);
    }
    REQUIRE(array == POISON(struct CUarray_st) && surface == 99 && layout.width == 0);
    shared_image_close(s, &i);
}

#undef TEST_GROUP
#define TEST_GROUP ""
/* Images of several planes: an array each, on plain memory, which any Vulkan exports, and on
 * DISJOINT images where Vulkan has such. */

/* Planes at multiples of what NVIDIA's driver aligns them to; chroma lies first. */
enum { WIDTH = 48, HEIGHT = 24, UNIT = 65536, MEMORY = 4 * UNIT };

typedef struct plane {
    uint32_t width, height, channels, bytes; /* of a texel */
    CUarray_format format;
} plane;

typedef struct row {
    culv_format format;
    uint32_t planes;
    plane plane[3];
    uint64_t offsets[3];
} row;

#define FULL  WIDTH, HEIGHT
#define HALF  WIDTH / 2, HEIGHT
#define SMALL WIDTH / 2, HEIGHT / 2
#define U8    CU_AD_FORMAT_UNSIGNED_INT8
#define U16   CU_AD_FORMAT_UNSIGNED_INT16

/* Restated from the formats' definitions, not taken from Culvert's table. */
static const row rows[] = {
    {CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, 2, {{FULL, 1, 1, U8}, {SMALL, 2, 2, U8}}, {UNIT, 0, 0}},
    {CULV_FORMAT_G8_B8_R8_3PLANE_420_UNORM,
     3,
     {{FULL, 1, 1, U8}, {SMALL, 1, 1, U8}, {SMALL, 1, 1, U8}},
     {2 * UNIT, UNIT, 0}},
    {CULV_FORMAT_G10X6_B10X6R10X6_2PLANE_422_UNORM_3PACK16,
     2,
     {{FULL, 1, 2, U16}, {HALF, 2, 4, U16}},
     {0, 3 * UNIT, 0}},
    {CULV_FORMAT_G12X4_B12X4_R12X4_3PLANE_444_UNORM_3PACK16,
     3,
     {{FULL, 1, 2, U16}, {FULL, 1, 2, U16}, {FULL, 1, 2, U16}},
     {3 * UNIT, 0, UNIT}},
    {CULV_FORMAT_G16_B16R16_2PLANE_444_UNORM,
     2,
     {{FULL, 1, 2, U16}, {FULL, 2, 4, U16}},
     {2 * UNIT, 0, 0}},
};

static culv_image_desc describe(const row *r)
{
    culv_image_desc d = culv_image_desc_init();
    d.format = r->format;
    d.width = WIDTH;
    d.height = HEIGHT;
    memcpy(d.plane_offsets, r->offsets, sizeof d.plane_offsets);
    return d;
}

static void fill(unsigned char *bytes, size_t size, uint32_t seed)
{
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(lib_word(i, seed) >> 24);
}

/* Of images of several planes alike, whatever they are on. */
static void check_planes(const lib_world *w, culv_image *image, const row *r)
{
    static unsigned char texels[WIDTH * HEIGHT * 4], expected[WIDTH * HEIGHT * 4];
    const raw_cuda *cu = w->cu;
    CUarray array = NULL, again = NULL;
    CUsurfObject surface = 0;
    CUtexObject texture = 0;
    LIB_INVALID(culv_image_get_array(image, 0, r->planes, &array), LEVEL);
    LIB_INVALID(culv_image_get_surface(image, 0, r->planes, &surface), LEVEL);
    LIB_INVALID(culv_image_get_array(image, 1, 0, &array), LEVEL);
    REQUIRE(array == NULL && surface == 0);
    for (uint32_t pass = 0; pass < 2; pass++) /* all are written before one is read */
        for (uint32_t i = 0; i < r->planes; i++) {
            const plane *p = &r->plane[i];
            const size_t row_bytes = (size_t)p->width * p->bytes, size = row_bytes * p->height;
            CUDA_ARRAY3D_DESCRIPTOR d;
            LIB_OK(culv_image_get_array(image, 0, i, &array));
            LIB_OK(culv_image_get_array(image, 0, i, &again));
            REQUIRE(array == again);
            fill(expected, size, 40 + i);
            CUcontext before = lib_enter(w);
            CU_OK(cu->Array3DGetDescriptor(&d, array));
            if (pass == 0)
                CU_OK(raw_cuda_write_box(cu, array, expected, row_bytes, p->height, 1));
            else
                CU_OK(raw_cuda_read_box(cu, array, texels, row_bytes, p->height, 1));
            lib_leave(w, before);
            REQUIRE(d.Width == p->width && d.Height == p->height && d.NumChannels == p->channels &&
                    d.Format == p->format);
            if (pass == 1) REQUIRE(memcmp(texels, expected, size) == 0);
        }
    for (uint32_t i = 0; i < r->planes; i++) {
        culv_texture_desc t = culv_texture_desc_init();
        t.plane = i;
        LIB_OK(culv_image_get_surface(image, 0, i, &surface));
        LIB_OK(culv_image_get_texture(image, &t, &texture));
        REQUIRE(surface != 0 && texture != 0);
    }
}

/* Memory for the planes, of the case's. */
static culv_memory *planes_memory(lib_world *w, uint32_t flags)
{
    const raw_vk_buffer buffer = lib_case_buffer(w, MEMORY, RAW_VK_EXPORT | flags);
    return lib_import(w, &buffer);
}

LIB_CASE(plain_memory)
{
    OWN(culv_memory) *memory = planes_memory(w, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_image_desc d = describe(&rows[i]), told = culv_image_desc_init();
        NEW(OWN(culv_image), image, culv_image_map, memory, &d);
        REQUIRE_EQ(lib_counts(w).mappings, 1);
        LIB_OK(culv_image_get_desc(image, &told));
        REQUIRE(memcmp(told.plane_offsets, rows[i].offsets, sizeof told.plane_offsets) == 0);
        REQUIRE(told.offset == 0 && told.mip_levels == 1 && told.array_layers == 1);
        check_planes(w, image, &rows[i]);
        culv_image_unmap(&image, NULL);
        REQUIRE_EQ(lib_counts(w).mappings, 0);
        /* Without surfaces. */
        CUsurfObject surface = 0;
        d.no_surfaces = 1;
        LIB_OK(culv_image_map(memory, &d, &image));
        LIB_INVALID(culv_image_get_surface(image, 0, 0, &surface), USAGE);
    }
}

/* Where the planes cannot be. */
LIB_CASE(wrong_places)
{
    static const struct {
        uint64_t offset, planes[3];
        culv_format format;
        const char *says;
    } wrong[] = {
        {0, {0, 0, 0}, CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, "overlap"},
        {0, {0, WIDTH * HEIGHT - 1, 0}, CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, "overlap"},
        {0, {WIDTH * HEIGHT / 2 - 1, 0, 0}, CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, "overlap"},
        {0, {0, UNIT, UNIT}, CULV_FORMAT_G8_B8_R8_3PLANE_444_UNORM, "planes 1 and 2"},
        {UNIT, {0, UNIT, 0}, CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, "leave offset 0"},
        {0, {MEMORY, 0, 0}, CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, "plane_offsets[0]"},
        {0,
         {0, MEMORY - WIDTH * HEIGHT / 2 + 1, 0},
         CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM,
         "plane_offsets[1]"},
        {0, {0, UINT64_MAX, 0}, CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, "plane_offsets[1]"},
        {0, {0, UNIT, 2 * UNIT}, CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, "plane_offsets[2]"},
        {0, {0, UNIT, UINT64_MAX - 7}, CULV_FORMAT_G8_B8_R8_3PLANE_420_UNORM, "plane_offsets[2]"},
        {0, {UNIT, 0, 0}, CULV_FORMAT_R8_UNORM, "plane_offsets[0]"},
        {0, {0, 0, 1}, CULV_FORMAT_R8_UNORM, "plane_offsets[2]"},
    };
    OWN(culv_memory) *memory = planes_memory(w, 0);
    culv_image *image = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        culv_image_desc d = describe(&rows[0]);
        d.format = wrong[i].format;
        d.offset = wrong[i].offset;
        memcpy(d.plane_offsets, wrong[i].planes, sizeof d.plane_offsets);
        LIB_REFUSES(image, culv_image_map(memory, &d, &image), INVALID, RANGE, wrong[i].says);
    }
    culv_image_desc d = describe(&rows[0]);
    d.video_encode_decode = 1;
    LIB_REFUSES(image, culv_image_map(memory, &d, &image), INVALID, USAGE);
    d = describe(&rows[0]);
    d.texels = CULV_TEXELS_NORMALIZED;
    LIB_REFUSES(image, culv_image_map(memory, &d, &image), UNSUPPORTED, FORMAT);
    REQUIRE_EQ(lib_counts(w).mappings, 0);
    culv_memory_destroy(&memory);
    memory = planes_memory(w, RAW_VK_DEDICATED);
    d = describe(&rows[0]);
    LIB_REFUSES(image, culv_image_map(memory, &d, &image), INVALID, DEDICATED, "DISJOINT");
}

/* Vulkan's images ------------------------------------------------------------------------------ */

static VkImageCreateInfo info_of(const row *r, VkExternalMemoryImageCreateInfo *external)
{
    VkImageCreateInfo info = image_info((VkFormat)r->format, WIDTH, HEIGHT, 1, 0, external);
    info.flags = VK_IMAGE_CREATE_DISJOINT_BIT;
    return info;
}

static void check_made(const lib_world *w, const row *r)
{
    const VkImageCreateInfo info = info_of(r, NULL);
    VkDeviceSize size = 0;
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    culv_image_desc told = culv_image_desc_init();
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    LIB_OK(culv_vk_check_image(w->attachment, &info, NULL, &sharing));
    NEW(OWN(culv_shared_image), made, culv_vk_image_create, w->attachment, &d);
    REQUIRE(culv_vk_image_memory(made, &size) != VK_NULL_HANDLE);
    LIB_OK(culv_image_get_desc(culv_shared_image_cuda(made), &told));
    REQUIRE_EQ(size, sharing.requirements.size);
    REQUIRE(memcmp(told.plane_offsets, sharing.image.plane_offsets, sizeof told.plane_offsets) ==
            0);
    REQUIRE(told.plane_offsets[1] > 0);
    check_planes(w, culv_shared_image_cuda(made), r);
}

/* The caller's image, each plane told right, and then all that can be told wrong. */
static void check_callers(const lib_world *w, const row *r)
{
    raw_vk *vk = (raw_vk *)&w->vk;
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = info_of(r, &external);
    VkImageCreateInfo other = info;
    const raw_vk_image_desc rd = {.format = info.format,
                                  .width = WIDTH,
                                  .height = HEIGHT,
                                  .create_flags = info.flags,
                                  .planes = r->planes,
                                  .min_offset = 5000,
                                  .flags = RAW_VK_EXPORT | RAW_VK_UNTOUCHED};
    raw_vk_image callers;
    OWN(culv_memory) *memory = NULL;
    culv_image *image = NULL;
    raw_vk_image_create(vk, &rd, &callers);
    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    md.memory = callers.memory;
    md.allocation_size = callers.allocation_size;
    LIB_OK(culv_vk_memory_import(w->attachment, &md, &memory));
    culv_vk_image_desc d = culv_vk_image_desc_init();
    d.image = callers.image;
    d.create_info = &info;
    memcpy(d.plane_offsets, callers.plane_offsets, sizeof d.plane_offsets);
    LIB_OK(culv_vk_image_map(w->attachment, memory, &d, &image));
    check_planes(w, image, r);
    culv_image_unmap(&image, NULL);
#define REFUSED(change, ...)                                                                       \
    SPOILT(d, d.change,                                                                            \
           LIB_REFUSES(image, culv_vk_image_map(w->attachment, memory, &d, &image), __VA_ARGS__))
    REFUSED(plane_offsets[1] += 1, INVALID, RANGE, "the second plane's alignment");
    /* Plane 0 lies last, so it fits wherever another one does, whatever the driver makes of their
     * sizes. */
    REQUIRE(d.plane_offsets[0] > d.plane_offsets[1]);
    REFUSED(plane_offsets[0] = d.plane_offsets[1], INVALID, RANGE, "overlap");
    REFUSED(plane_offsets[1] = callers.allocation_size, INVALID, RANGE, "the second plane needs");
    REFUSED(plane_offsets[0] = UINT64_MAX, INVALID, RANGE, "the first plane needs");
    REFUSED(offset = callers.plane_offsets[0], INVALID, RANGE, "leave offset 0");
    if (r->planes == 2) REFUSED(plane_offsets[2] = 65536, INVALID, RANGE, "plane_offsets[2]");
    other.flags = 0;
    REFUSED(create_info = &other, UNSUPPORTED, USAGE, "VkBindImagePlaneMemoryInfo");
    other = info;
    other.extent.width += 64;
    d.create_info = &other;
    REQUIRE_EQ(culv_vk_image_map(w->attachment, memory, &d, &image), CULV_ERROR_INVALID);
    const culv_error e = lib_last_error(); /* by what the planes need, or where the last one ends */
    REQUIRE(e.reason == CULV_REASON_EXTENT || e.reason == CULV_REASON_RANGE);
    culv_memory_destroy(&memory);
    md.dedicated = VK_TRUE; /* which it is not, but the driver does not say so */
    LIB_OK(culv_vk_memory_import(w->attachment, &md, &memory));
    REFUSED(create_info = &info, INVALID, DEDICATED, "DISJOINT");
    raw_vk_image_destroy(vk, &callers);
}

LIB_CASE(disjoint)
{
    unsigned count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!lib_disjoint(w, (VkFormat)rows[i].format)) continue;
        check_made(w, &rows[i]);
        check_callers(w, &rows[i]);
        count++;
    }
    if (count == 0) SKIP("this Vulkan has no DISJOINT images");
    MEASURED("disjoint", "%u of %zu formats", count, sizeof rows / sizeof rows[0]);
}

/* A DISJOINT image has no dedicated allocation, so it is not shared where that is a must. */
LIB_CASE(dedicated_only)
{
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    const VkImageCreateInfo info = info_of(&rows[0], NULL);
    if (!lib_disjoint(w, info.format)) SKIP("this Vulkan has no DISJOINT images");
    culv_vk_device_desc vd = lib_vk_desc(w);
    vd.get_instance_proc_addr = lib_lying_loader;
    lib_lying.dedicated_only = true;
    NEW(culv_vk_device, vk, culv_vk_attach, w->device, &vd);
    LIB_ERROR(culv_vk_check_image(vk, &info, NULL, &sharing), UNSUPPORTED, NOT_EXPORTABLE,
              "an image for each plane");
    culv_vk_detach(&vk);
    lib_lying = (lib_lies){.missing = NULL};
}
