/* SPDX-License-Identifier: MIT */
#include "dmabuf_stage.h"

#include <sys/mman.h>
#include <unistd.h>

enum { EMPTY = 0xee };

void dmabuf_needs_player(void)
{
    lib_with_environment("CULVERT_SOFT_DMA_BUF", "1");
    if (!lib_driver()->software) SKIP("dma-bufs are played on the twin; here there is no maker");
}

culv_vk_device_desc dmabuf_vulkan;

void dmabuf_open(dmabuf_stage *s)
{
    dmabuf_needs_player();
    lib_open(&s->w);
    dmabuf_vulkan = lib_vk_desc(&s->w);
    REQUIRE(s->w.vk.modifiers);
    s->stream = lib_stream(&s->w);
}

void dmabuf_open_by(lib_world *w, PFN_vkGetInstanceProcAddr loader)
{
    dmabuf_needs_player();
    lib_open_vulkan(w);
    culv_device_desc dd = culv_device_desc_init();
    dd.driver = CULV_DRIVER_SOFT;
    LIB_OK(culv_device_open_by_ordinal(0, &dd, &w->device));
    dmabuf_vulkan = lib_vk_desc(w);
    dmabuf_vulkan.get_instance_proc_addr = loader;
    LIB_OK(culv_vk_attach(w->device, &dmabuf_vulkan, &w->attachment));
    w->context = culv_device_context(w->device);
}

void dmabuf_close(dmabuf_stage *s)
{
    lib_stream_destroy(&s->w, s->stream);
    lib_close(&s->w);
}

dmabuf_file dmabuf_file_make(const dmabuf_rows *rows, size_t more)
{
    dmabuf_file file = {.size = rows->offset + rows->pitch * (rows->height - 1) +
                                rows->width * rows->texel + more};
    file.fd = memfd_create("a compositor's", MFD_CLOEXEC);
    REQUIRE(file.fd >= 0);
    REQUIRE(ftruncate(file.fd, (off_t)file.size) == 0);
    file.bytes = mmap(NULL, file.size, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
    REQUIRE(file.bytes != MAP_FAILED);
    memset(file.bytes, EMPTY, file.size);
    return file;
}

void dmabuf_file_done(dmabuf_file *file)
{
    REQUIRE(munmap(file->bytes, file->size) == 0);
    REQUIRE(close(file->fd) == 0);
}

uint8_t dmabuf_byte(uint32_t frame, uint32_t y, uint32_t i)
{
    return (uint8_t)(lib_word(y * 8191 + i, frame + 7) >> 8);
}

void dmabuf_fill(const dmabuf_file *file, const dmabuf_rows *rows, uint32_t frame)
{
    for (uint32_t y = 0; y < rows->height; y++)
        for (uint32_t i = 0; i < rows->width * rows->texel; i++)
            file->bytes[rows->offset + y * rows->pitch + i] = dmabuf_byte(frame, y, i);
}

void dmabuf_require(const dmabuf_file *file, const dmabuf_rows *rows, uint32_t frame)
{
    for (size_t at = 0; at < file->size; at++) {
        const size_t in = at - rows->offset, y = in / rows->pitch, i = in % rows->pitch;
        const bool inside =
            at >= rows->offset && y < rows->height && i < (size_t)rows->width * rows->texel;
        const uint8_t expected = inside ? dmabuf_byte(frame, (uint32_t)y, (uint32_t)i) : EMPTY;
        if (file->bytes[at] != expected)
            FAIL("byte %zu of the file is %#x, not %#x (row %zu, byte %zu of it)", at,
                 (unsigned)file->bytes[at], (unsigned)expected, y, i);
    }
}

culv_vk_dma_buf_desc dmabuf_describe(int fd, uint32_t fourcc, const dmabuf_rows *rows)
{
    culv_vk_dma_buf_desc d = culv_vk_dma_buf_desc_init();
    d.vulkan = &dmabuf_vulkan;
    d.handle = culv_handle_dma_buf_fd(fd);
    d.fourcc = fourcc;
    d.width = rows->width;
    d.height = rows->height;
    d.num_planes = 1;
    d.plane_offsets[0] = rows->offset;
    d.plane_pitches[0] = rows->pitch;
    d.queue_family = 0;
    d.label = "screen";
    return d;
}

/* Between CUDA's side and rows without padding on the host. */
static void move(dmabuf_stage *s, culv_vk_dma_buf_bridge *bridge, const dmabuf_rows *rows,
                 uint8_t *host, bool to_host)
{
    const size_t row = (size_t)rows->width * rows->texel;
    const culv_vk_dma_buf_info info = dmabuf_info(bridge);
    CUDA_MEMCPY2D copy = {.WidthInBytes = row, .Height = rows->height};
    CUarray array = NULL;
    if (info.pointer == 0)
        LIB_OK(culv_image_get_array(culv_shared_image_cuda(info.image), 0, 0, &array));
    const CUmemorytype type = array != NULL ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_DEVICE;
    if (to_host) {
        copy.srcMemoryType = type;
        copy.srcArray = array;
        copy.srcDevice = info.pointer;
        copy.srcPitch = info.buffer_pitch;
        copy.dstMemoryType = CU_MEMORYTYPE_HOST;
        copy.dstHost = host;
        copy.dstPitch = row;
    } else {
        copy.dstMemoryType = type;
        copy.dstArray = array;
        copy.dstDevice = info.pointer;
        copy.dstPitch = info.buffer_pitch;
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = host;
        copy.srcPitch = row;
    }
    LIB_CU_OK(&s->w, s->w.cu->Memcpy2DAsync(&copy, s->stream));
}

culv_vk_dma_buf_info dmabuf_info(const culv_vk_dma_buf_bridge *bridge)
{
    culv_vk_dma_buf_info info = culv_vk_dma_buf_info_init();
    LIB_OK(culv_vk_dma_buf_bridge_get_info(bridge, &info));
    return info;
}

static culv_semaphore *timeline(culv_vk_dma_buf_bridge *bridge)
{
    return culv_shared_semaphore_cuda(dmabuf_info(bridge).timeline);
}

static culv_vk_dma_buf_turn next(culv_vk_dma_buf_bridge *bridge)
{
    culv_vk_dma_buf_turn turn = culv_vk_dma_buf_turn_init();
    LIB_OK(culv_vk_dma_buf_bridge_next(bridge, &(uint64_t){0}, &turn));
    return turn;
}

static raw_vk_job job_of(const culv_vk_dma_buf_turn *turn)
{
    return (raw_vk_job){.wait = turn->semaphore,
                        .wait_value = turn->wait_value,
                        .signal = turn->semaphore,
                        .signal_value = turn->signal_value,
                        .pending = true};
}

void dmabuf_in(dmabuf_stage *s, culv_vk_dma_buf_bridge *bridge, VkCommandBuffer commands,
               const dmabuf_rows *rows, uint32_t frame)
{
    const size_t row = (size_t)rows->width * rows->texel;
    uint8_t *host = malloc(row * rows->height);
    REQUIRE(host != NULL);
    const culv_vk_dma_buf_turn turn = next(bridge);
    const raw_vk_job job = job_of(&turn);
    LIB_OK(culv_vk_dma_buf_bridge_record(bridge, commands, 0));
    raw_vk_submit(&s->w.vk, commands, &job);
    LIB_OK(culv_semaphore_wait(timeline(bridge), s->stream, turn.cuda_wait_value));
    move(s, bridge, rows, host, true);
    LIB_OK(culv_semaphore_signal(timeline(bridge), s->stream, turn.cuda_signal_value));
    lib_finish(&s->w, s->stream);
    for (uint32_t y = 0; y < rows->height; y++)
        for (uint32_t i = 0; i < row; i++)
            if (host[y * row + i] != dmabuf_byte(frame, y, i))
                FAIL("frame %u, row %u, byte %u is %#x, not %#x", (unsigned)frame, (unsigned)y,
                     (unsigned)i, (unsigned)host[y * row + i], (unsigned)dmabuf_byte(frame, y, i));
    free(host);
}

void dmabuf_first(dmabuf_stage *s, culv_vk_dma_buf_bridge *bridge)
{
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    LIB_OK(culv_vk_dma_buf_bridge_record(bridge, commands, 1));
    const raw_vk_job job = {.signal = culv_vk_semaphore_handle(dmabuf_info(bridge).timeline),
                            .signal_value = 1,
                            .pending = true};
    raw_vk_submit(&s->w.vk, commands, &job);
}

void dmabuf_out(dmabuf_stage *s, culv_vk_dma_buf_bridge *bridge, const dmabuf_rows *rows,
                uint32_t frame)
{
    const size_t row = (size_t)rows->width * rows->texel;
    uint8_t *host = malloc(row * rows->height);
    REQUIRE(host != NULL);
    for (uint32_t y = 0; y < rows->height; y++)
        for (uint32_t i = 0; i < row; i++)
            host[y * row + i] = dmabuf_byte(frame, y, i);
    const culv_vk_dma_buf_turn turn = next(bridge);
    const raw_vk_job job = job_of(&turn);
    LIB_OK(culv_semaphore_wait(timeline(bridge), s->stream, turn.cuda_wait_value));
    move(s, bridge, rows, host, false);
    LIB_OK(culv_semaphore_signal(timeline(bridge), s->stream, turn.cuda_signal_value));
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    LIB_OK(culv_vk_dma_buf_bridge_record(bridge, commands, 0));
    raw_vk_submit(&s->w.vk, commands, &job);
    raw_vk_idle(&s->w.vk);
    lib_finish(&s->w, s->stream);
    free(host);
}
