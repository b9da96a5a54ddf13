/* SPDX-License-Identifier: MIT */
/* CUDA's memory as dma-bufs, and dma-bufs in CUDA: on the driver under test, and on one that plays
 * a machine that has both ways (dma_buf_driver.c). */
#define TEST_GROUP "dma_buf."
#include "dma_buf_driver.h"
#include "library.h"
#include "raw_vulkan_image.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 4 << 20, WIDTH = 61, HEIGHT = 17 };

/* Requires that the call fails so and writes nothing; no fd more than before. */
static void refuse(const char *what, culv_device *device, CUdeviceptr p, uint64_t size,
                   uint64_t flags, culv_result class, culv_reason reason)
{
    culv_handle out, expected;
    memset(&expected, 0x5a, sizeof expected);
    out = expected;
    size_t fds = test_open_fds();
    printf("%s\n", what);
    LIB_FAILS(culv_dma_buf_export_dup(device, p, size, flags, &out), class, reason);
    REQUIRE_EQ_BYTES(&out, &expected, sizeof out);
    REQUIRE_EQ(test_open_fds(), fds);
}

static void wrong_calls(culv_device *device, CUdeviceptr p, uint64_t page)
{
    refuse("no device", NULL, p, page, 0, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    refuse("no pointer", device, 0, page, 0, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    refuse("unknown flags", device, p, page, 2, CULV_ERROR_INVALID, CULV_REASON_VALUE);
    refuse("unknown flags", device, p, page, UINT64_C(1) << 40, CULV_ERROR_INVALID,
           CULV_REASON_VALUE);
    refuse("no size", device, p, 0, 0, CULV_ERROR_INVALID, CULV_REASON_SIZE);
    refuse("not a page", device, p, page - 1, 0, CULV_ERROR_INVALID, CULV_REASON_VALUE);
    LIB_SAYS("size is");
    refuse("not at a page", device, p + 256, page, 0, CULV_ERROR_INVALID, CULV_REASON_VALUE);
    LIB_SAYS("pointer is");
    refuse("beyond the end", device, p, UINT64_MAX - page + 1, 0, CULV_ERROR_INVALID,
           CULV_REASON_RANGE);
}

LIB_CASE(on_this_driver)
{
    const raw_cuda *cu = w->cu;
    CUdeviceptr p = 0;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    LIB_CU_OK(w, cu->MemAlloc(&p, BYTES));
    culv_device_caps caps = lib_caps(w->device);
    wrong_calls(w->device, p, page);
    static char not_cudas[8192];
    CUdeviceptr nobodys = ((CUdeviceptr)(uintptr_t)not_cudas + page - 1) / page * page;
    culv_handle none;
    culv_result r = culv_dma_buf_export_dup(w->device, nobodys, page, 0, &none);
    printf("not CUDA's: %s\n", culv_last_error_message());
    REQUIRE(cu->software ? r == CULV_ERROR_INVALID : r != CULV_OK);
    if (w->cu->software) {
        refuse("the twin has none", w->device, p, BYTES, 0, CULV_ERROR_UNSUPPORTED,
               CULV_REASON_HANDLE_TYPE);
        LIB_SAYS("DMA_BUF_SUPPORTED is 0");
    }
    if (caps.dma_buf_export && cu->MemGetHandleForAddressRange != NULL) {
        culv_handle one, two, pcie;
        LIB_OK(culv_dma_buf_export_dup(w->device, p, BYTES, 0, &one));
        LIB_OK(culv_dma_buf_export_dup(w->device, p, BYTES / 2, 0, &two));
        REQUIRE(one.value.fd != two.value.fd && one.type == CULV_HANDLE_DMA_BUF_FD);
        REQUIRE_EQ(fcntl(one.value.fd, F_GETFD), FD_CLOEXEC);
        r = culv_dma_buf_export_dup(w->device, p, BYTES, CULV_DMA_BUF_PCIE, &pcie);
        MEASURED("library.dma_buf_pcie", "%s", r == CULV_OK ? "made" : culv_last_error_message());
        REQUIRE(r == CULV_OK || r == CULV_ERROR_UNSUPPORTED);
        if (r == CULV_OK) culv_handle_close(&pcie);
        culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
        VkDeviceMemory memory = VK_NULL_HANDLE;
        d.handle = one;
        d.size = BYTES;
        d.exporter = caps.uuid;
        r = culv_vk_memory_from_handle(w->attachment, &d, &memory);
        MEASURED("library.dma_buf_into_vulkan", "%s",
                 r == CULV_OK ? "made" : culv_last_error_message());
        if (r == CULV_OK) vkFreeMemory(w->vk.device, memory, NULL);
        culv_handle_close(&one);
        culv_handle_close(&two);
        /* What was imported has none: the driver says so. */
        raw_vk_buffer vk;
        raw_vk_buffer_create(&w->vk, BYTES, RAW_VK_EXPORT, &vk);
        OWN(culv_memory) *imported = lib_import(w, &vk);
        NEW(OWN(culv_buffer), buffer, culv_buffer_map, imported, NULL);
        refuse("an imported buffer", w->device, culv_buffer_pointer(buffer), BYTES, 0,
               CULV_ERROR_DRIVER, CULV_REASON_NOT_EXPORTABLE);
        LIB_SAYS("imported from a graphics API");
        raw_vk_buffer_destroy(&w->vk, &vk);
    }
    LIB_CU_OK(w, cu->MemFree(p));
}

/* The played driver ---------------------------------------------------------------------------- */

typedef struct stage {
    culv_device *device;
    dma_buf_driver *plays;
    CUdeviceptr pointer;
} stage;

static void make_current(const stage *s, CUcontext context)
{
    LIB_CUDA(s->device, PFN_cuCtxSetCurrent_v4000, cuCtxSetCurrent, 4000);
    CU_OK(cuCtxSetCurrent(context));
}

static void read_back(const stage *s, CUdeviceptr from, void *to, size_t size)
{
    LIB_CUDA(s->device, PFN_cuMemcpyDtoH_v3020, cuMemcpyDtoH, 3020);
    make_current(s, culv_device_context(s->device));
    CU_OK(cuMemcpyDtoH(to, from, size));
    make_current(s, NULL);
}

static void stage_open(stage *s)
{
    memset(s, 0, sizeof *s);
    s->plays = lib_open_played("lib/dma_buf", "culvDmaBufDriver", &s->device);
    make_current(s, culv_device_context(s->device));
    LIB_CUDA(s->device, PFN_cuMemAlloc_v3020, cuMemAlloc, 3020);
    CU_OK(cuMemAlloc(&s->pointer, BYTES));
    make_current(s, NULL);
}

static void stage_close(stage *s)
{
    make_current(s, culv_device_context(s->device));
    LIB_CUDA(s->device, PFN_cuMemFree_v3020, cuMemFree, 3020);
    CU_OK(cuMemFree(s->pointer));
    make_current(s, NULL);
    culv_device_close(&s->device);
}

#define STAGE_CASE(...) TEST_ON(stage, s, stage_open(s), stage_close(s), __VA_ARGS__)

STAGE_CASE(played_export, .own = true)
{
    culv_device_caps caps = lib_caps(s->device);
    REQUIRE_EQ(caps.dma_buf_export, 1);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    size_t fds = test_open_fds();
    culv_handle handles[3];
    for (int i = 0; i < 3; i++) {
        LIB_OK(culv_dma_buf_export_dup(s->device, s->pointer + page, page * 2,
                                       i == 2 ? CULV_DMA_BUF_PCIE : 0, &handles[i]));
        REQUIRE(handles[i].type == CULV_HANDLE_DMA_BUF_FD);
        REQUIRE_EQ(fcntl(handles[i].value.fd, F_GETFD), FD_CLOEXEC); /* the driver left that out */
        REQUIRE(s->plays->pointer == s->pointer + page && s->plays->size == page * 2);
        REQUIRE_EQ(s->plays->flags,
                   i == 2 ? 1 : 0); /* CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE */
    }
    REQUIRE_EQ(test_open_fds(), fds + 3);
    for (int i = 0; i < 3; i++)
        culv_handle_close(&handles[i]);
    REQUIRE_EQ(test_open_fds(), fds);

    wrong_calls(s->device, s->pointer, page);
    unsigned calls = s->plays->calls;
    s->plays->managed = 1;
    refuse("managed", s->device, s->pointer, page, 0, CULV_ERROR_INVALID,
           CULV_REASON_NOT_EXPORTABLE);
    LIB_SAYS("managed memory");
    s->plays->managed = 0;
    s->plays->ordinal = 1;
    refuse("another device's", s->device, s->pointer, page, 0, CULV_ERROR_INVALID,
           CULV_REASON_DEVICE_MISMATCH);
    s->plays->ordinal = 0;
    REQUIRE_EQ(s->plays->calls, calls); /* the driver was not asked */
    static const struct {
        int code;
        uint64_t flags;
        culv_result class;
        culv_reason reason;
        const char *says;
    } rows[] = {{CUDA_ERROR_NOT_SUPPORTED, 0, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE,
                 "cannot make a dma-buf of such memory"},
                {CUDA_ERROR_NOT_SUPPORTED, 1, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE,
                 "without CULV_DMA_BUF_PCIE"},
                {CUDA_ERROR_INVALID_VALUE, 0, CULV_ERROR_DRIVER, CULV_REASON_NOT_EXPORTABLE,
                 "imported from a graphics API"},
                {CUDA_ERROR_OUT_OF_MEMORY, 0, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_DEVICE_MEMORY,
                 "cuMemGetHandle"},
                {CUDA_ERROR_ILLEGAL_ADDRESS, 0, CULV_ERROR_ASYNC, CULV_REASON_EARLIER_FAILURE,
                 "not its cause"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        s->plays->answer = rows[i].code;
        refuse("refused", s->device, s->pointer, page, rows[i].flags, rows[i].class,
               rows[i].reason);
        LIB_SAYS(rows[i].says);
    }
    s->plays->answer = 0;
}

/* A driver that takes dma-bufs, as on Tegra from Thor on: without flags, also of dedicated memory;
 * buffers, no arrays. */
STAGE_CASE(played_import, .own = true)
{
    raw_vk vk;
    culv_device_caps caps = lib_caps(s->device);
    raw_vk_open(&vk, &(raw_vk_options){.uuid = caps.uuid.bytes, .software = true});
    raw_vk_buffer buffer;
    raw_vk_buffer_create(&vk, 65536, RAW_VK_EXPORT | RAW_VK_DEDICATED, &buffer);
    raw_vk_fill(&vk, &buffer, 0, 65536, 0x0a0b0c0d, NULL);
    size_t fds = test_open_fds();
    culv_memory *memory = NULL;
    culv_image *image = NULL;
    culv_memory_desc d = culv_memory_desc_init();
    d.handle = culv_handle_dma_buf_fd(raw_vk_buffer_fd(&vk, &buffer));
    d.size = buffer.allocation_size;
    d.dedicated = 1;
    d.exporter = caps.uuid;
    lib_fd fd = lib_fd_watch(d.handle.value.fd);
    LIB_TAKE(culv_memory_import(s->device, &d, &memory), &d.handle);
    REQUIRE_EQ(s->plays->imports, 1);
    lib_fd_require_gone(&fd);
    lib_fd_done(&fd, false);
    NEW(culv_buffer, mapped, culv_buffer_map, memory, NULL);
    uint32_t word = 0;
    read_back(s, culv_buffer_pointer(mapped) + buffer.offset, &word, sizeof word);
    REQUIRE_EQ(word, 0x0a0b0c0d);
    culv_image_desc id = culv_image_desc_init();
    id.format = CULV_FORMAT_R8G8B8A8_UNORM;
    id.width = id.height = 16;
    id.mip_levels = 1;
    LIB_REFUSES(image, culv_image_map(memory, &id, &image), UNSUPPORTED, HANDLE_TYPE);
    culv_buffer_unmap(&mapped, NULL);
    culv_memory_destroy(&memory);
    REQUIRE_EQ(test_open_fds(), fds);
    raw_vk_buffer_destroy(&vk, &buffer);
    raw_vk_close(&vk);
}

/* What another thread opens while a refused import returns stays open, whatever number it got. */
STAGE_CASE(played_bystanders, .own = true)
{
    static const struct {
        int bystander;
        bool reopens; /* the import's file is one that can be opened anew */
    } rows[] = {
        {DUPLICATES, false}, {DUPLICATES_THERE, false}, {DUPLICATES, true}, {REOPENS_THERE, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int file = rows[i].reopens ? memfd_create("garbage", MFD_CLOEXEC)
                                   : open("/dev/null", O_RDWR | O_CLOEXEC);
        REQUIRE(file >= 0 && (!rows[i].reopens || ftruncate(file, 65536) == 0));
        const size_t fds = test_open_fds();
        culv_memory *memory = NULL;
        culv_memory_desc d = culv_memory_desc_init();
        d.handle = culv_handle_opaque_fd(file);
        d.size = 65536;
        s->plays->bystander = rows[i].bystander;
        s->plays->file = file;
        LIB_REFUSES(memory, culv_memory_import(s->device, &d, &memory), DRIVER, HANDLE_REFUSED);
        s->plays->bystander = NO_BYSTANDER;
        printf("given %d, the bystander's is %d\n", s->plays->given, s->plays->opened);
        if (fcntl(s->plays->opened, F_GETFD) < 0) FAIL("the file of row %zu was closed", i);
        REQUIRE(close(s->plays->opened) == 0);
        REQUIRE_EQ(test_open_fds(), fds);
        close(file);
    }
}

/* On such a driver a LINEAR image is mapped by its rows. What only the import can tell, the gate
 * does not deny. */
STAGE_CASE(played_pitched, .own = true)
{
    raw_vk vk;
    culv_device_caps caps = lib_caps(s->device);
    raw_vk_open(&vk,
                &(raw_vk_options){.uuid = caps.uuid.bytes, .software = true, .with_formats = true});
    const raw_vk_image_desc wanted = {.format = VK_FORMAT_R8G8B8A8_UNORM,
                                      .width = WIDTH,
                                      .height = HEIGHT,
                                      .flags = RAW_VK_EXPORT | RAW_VK_LINEAR | RAW_VK_DEDICATED};
    if (!raw_vk_image_supported(&vk, &wanted)) SKIP("no such LINEAR image can be exported here");
    lib_world w = {.vk = vk, .device = s->device};
    culv_vk_device_desc vd = lib_vk_desc(&w);
    lib_lying = (lib_lies){.plays_dma_bufs = true, .dma_buf_types = 1};
    vd.get_instance_proc_addr = lib_lying_loader;
    NEW(culv_vk_device, attachment, culv_vk_attach, s->device, &vd);

    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT};
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .pNext = &external,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = wanted.format,
                                    .extent = {WIDTH, HEIGHT, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .tiling = VK_IMAGE_TILING_LINEAR,
                                    .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                             VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    const VkBufferCreateInfo planned = raw_vk_buffer_info(BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    culv_vk_check_desc ask = culv_vk_check_desc_init();
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    ask.handle_type = CULV_HANDLE_DMA_BUF_FD;
    LIB_ERROR(culv_vk_check_image(attachment, &info, &ask, &sharing), UNSUPPORTED, HANDLE_TYPE,
              "only an import shows");
    LIB_ERROR(culv_vk_check_buffer(attachment, &planned, &ask, &sharing), UNSUPPORTED, HANDLE_TYPE,
              "only an import shows");

    static unsigned char texels[WIDTH * HEIGHT * 4], back[WIDTH * HEIGHT * 4];
    raw_vk_image image;
    raw_vk_image_create(&vk, &wanted, &image);
    for (size_t i = 0; i < sizeof texels; i++)
        texels[i] = (unsigned char)lib_word((uint32_t)i, 11);
    raw_vk_image_write(&vk, &image, 0, texels);
    culv_memory *memory = NULL;
    culv_buffer *rows = NULL;
    culv_image *array = NULL;
    culv_subresource_layout layout = culv_subresource_layout_init();
    culv_memory_desc d = culv_memory_desc_init();
    d.handle = culv_handle_dma_buf_fd(raw_vk_image_fd(&vk, &image));
    d.size = image.allocation_size;
    d.dedicated = 1;
    d.exporter = caps.uuid;
    LIB_TAKE(culv_memory_import(s->device, &d, &memory), &d.handle);
    culv_vk_image_desc id = culv_vk_image_desc_init();
    id.image = image.image;
    id.create_info = &info;
    id.offset = image.offset;
    LIB_OK(culv_vk_image_map_pitched(attachment, memory, &id, 0, 0, &rows, &layout));
    for (size_t y = 0; y < HEIGHT; y++)
        read_back(s, culv_buffer_pointer(rows) + y * layout.row_pitch, back + y * WIDTH * 4,
                  WIDTH * 4);
    REQUIRE_EQ_BYTES(back, texels, sizeof back);
    culv_buffer_unmap(&rows, NULL);
    VkImageCreateInfo optimal = info; /* an array there is none of */
    optimal.tiling = VK_IMAGE_TILING_OPTIMAL;
    id.create_info = &optimal;
    LIB_REFUSES(array, culv_vk_image_map(attachment, memory, &id, &array), UNSUPPORTED, HANDLE_TYPE,
                "LINEAR");
    culv_memory_destroy(&memory);
    culv_vk_detach(&attachment);
    raw_vk_image_destroy(&vk, &image);
    raw_vk_close(&vk);
}

/* A stream of another context is said to be one of a green context. */
STAGE_CASE(played_green_stream, .own = true)
{
    CUcontext other = NULL;
    CUstream stream = NULL;
    LIB_CUDA(s->device, PFN_cuCtxCreate_v3020, cuCtxCreate, 3020);
    LIB_CUDA(s->device, PFN_cuStreamCreate_v2000, cuStreamCreate, 2000);
    LIB_CUDA(s->device, PFN_cuCtxDestroy_v4000, cuCtxDestroy, 4000);
    CU_OK(cuCtxCreate(&other, 0, (CUdevice)lib_caps(s->device).ordinal));
    CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (s->plays->green = 0; s->plays->green < 2; s->plays->green++) {
        if (s->plays->green) {
            LIB_OK(culv_dlpack_hand_over(s->device, stream, CULV_DLPACK_STREAM_HOST));
        } else {
            LIB_INVALID(culv_dlpack_hand_over(s->device, stream, CULV_DLPACK_STREAM_HOST),
                        STREAM_DEVICE, "belongs to a context of");
        }
    }
    CU_OK(cuCtxDestroy(other));
    make_current(s, NULL);
}
