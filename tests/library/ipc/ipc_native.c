/* SPDX-License-Identifier: MIT */
/* Vulkan's buffers and images in another process's CUDA, vectors that grow and shrink meanwhile,
 * and a ring whose consumer is Vulkan. */
#include "ipc_stage.h"
#include "raw_binary.h"
#include "raw_cuda_image.h"
#include "raw_vulkan_image.h"

#include <unistd.h>

enum { FD_BIT = 1 << CULV_HANDLE_OPAQUE_FD };

/* Buffers and images --------------------------------------------------------------------------- */

enum { WORDS = 12347, WIDTH = 253, HEIGHT = 127, TEXELS = WIDTH * HEIGHT };

static void copy_level(const lib_world *w, CUarray array, uint32_t *texels, bool in)
{
    LIB_CU_OK(w, in ? raw_cuda_write_array(w->cu, array, texels, WIDTH * 4, HEIGHT)
                    : raw_cuda_read_array(w->cu, array, texels, WIDTH * 4, HEIGHT));
}

IPC_ROLE(use_natives)
{
    static uint32_t texels[TEXELS];
    OWN(culv_image) *image = NULL;
    CUarray array = NULL;
    const lib_world *w = &e->s.w;
    culv_ipc_info info = culv_ipc_info_init();
    uint32_t count = 0;
    LIB_OK(culv_ipc_client_get_offer(e->client, 1, IPC_FAR, &info, &count));
    REQUIRE_EQ(count, 2);
    REQUIRE_EQ_STR(info.name, "picture");
    culv_ipc_object *object = ipc_receive(e->client, "vertices");
    info = ipc_info_of(object);
    REQUIRE(info.kind == CULV_IPC_BUFFER && info.size == WORDS * 4 && info.offset != 0);
    NEW(OWN(culv_buffer), buffer, culv_ipc_import_buffer, object);
    LIB_ERROR(culv_ipc_import_image(object, &image), INVALID, VALUE);
    culv_ipc_object_destroy(&object);
    ipc_require(w, e->stream, culv_buffer_pointer(buffer), WORDS, 1);
    ipc_write(w, e->stream, culv_buffer_pointer(buffer), WORDS, 2);
    object = ipc_receive(e->client, "picture");
    info = ipc_info_of(object);
    REQUIRE(info.format == CULV_FORMAT_R8G8B8A8_UNORM && info.width == WIDTH);
    REQUIRE(info.color == CULV_IPC_COLOR_SRGB && info.alpha == CULV_IPC_ALPHA_PREMULTIPLIED);
    LIB_OK(culv_ipc_import_image(object, &image));
    culv_ipc_object_destroy(&object);
    LIB_OK(culv_image_get_array(image, 0, 0, &array));
    copy_level(w, array, texels, false);
    REQUIRE_WORDS(texels, TEXELS, 3);
    lib_fill(texels, TEXELS, 4);
    copy_level(w, array, texels, true);
    ipc_say(&e->other, 'd');
}

static culv_ipc_info buffer_info(const char *name, const raw_vk_buffer *buffer)
{
    culv_ipc_info info = culv_ipc_info_named(name);
    info.kind = CULV_IPC_BUFFER;
    info.allocation_size = buffer->allocation_size;
    info.offset = buffer->offset;
    info.size = buffer->size;
    return info;
}

IPC_VK_CASE(natives, use_natives)
{
    static uint32_t data[TEXELS];
    raw_vk_buffer buffer;
    raw_vk_image image;
    lib_world *w = &e->s.w;
    raw_vk_buffer_create_at(&w->vk, WORDS * 4, 1, RAW_VK_EXPORT, &buffer);
    raw_vk_image_create(&w->vk,
                        &(raw_vk_image_desc){.format = VK_FORMAT_R8G8B8A8_UNORM,
                                             .width = WIDTH,
                                             .height = HEIGHT,
                                             .flags = RAW_VK_EXPORT | RAW_VK_DEDICATED},
                        &image);
    lib_fill(data, WORDS, 1);
    raw_vk_write(&w->vk, &buffer, 0, data, WORDS * 4);
    lib_fill(data, TEXELS, 3);
    raw_vk_image_write(&w->vk, &image, 0, data);

    culv_handle handle = culv_handle_opaque_fd(raw_vk_buffer_fd(&w->vk, &buffer));
    culv_ipc_info info = buffer_info("vertices", &buffer);
    LIB_OK(culv_ipc_offer(e->server, &info, culv_ipc_from_handle(&handle)));
    culv_handle_close(&handle);
    handle = culv_handle_opaque_fd(raw_vk_image_fd(&w->vk, &image));
    info = culv_ipc_info_named("picture");
    info.kind = CULV_IPC_IMAGE;
    info.allocation_size = image.allocation_size;
    info.offset = image.offset;
    info.dedicated = 7; /* any true value */
    info.format = CULV_FORMAT_R8G8B8A8_UNORM;
    info.width = WIDTH;
    info.height = HEIGHT;
    info.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    info.color = CULV_IPC_COLOR_SRGB;
    info.alpha = CULV_IPC_ALPHA_PREMULTIPLIED;
    LIB_OK(culv_ipc_offer(e->server, &info, culv_ipc_from_handle(&handle)));
    culv_handle_close(&handle);
    ipc_hear_serving(&e->other, 'd', e->server);
    raw_vk_read(&w->vk, &buffer, 0, data, WORDS * 4);
    REQUIRE_WORDS(data, WORDS, 2);
    raw_vk_image_read(&w->vk, &image, 0, data);
    REQUIRE_WORDS(data, TEXELS, 4);
    ipc_end_join(e);
    culv_ipc_server_destroy(&e->server);
    raw_vk_image_destroy(&w->vk, &image);
    raw_vk_buffer_destroy(&w->vk, &buffer);
}

/* Binary semaphores: one that Vulkan (or what plays it) signals and one that CUDA of the other
 * process does. That a signal was submitted, or a wait, the processes tell each other. */
enum { TURNS = 5 };

static culv_semaphore *receive_binary(culv_ipc_client *client, const char *name)
{
    culv_ipc_object *object = ipc_receive(client, name);
    REQUIRE_EQ(ipc_info_of(object).semaphore_type, CULV_SEMAPHORE_BINARY);
    NEW(culv_semaphore, out, culv_ipc_import_semaphore, object);
    culv_ipc_object_destroy(&object);
    return out;
}

IPC_ROLE(use_binaries)
{
    const lib_world *w = &e->s.w;
    culv_ipc_object *object = ipc_receive(e->client, "cells");
    NEW(OWN(culv_buffer), buffer, culv_ipc_import_buffer, object);
    culv_ipc_object_destroy(&object);
    culv_semaphore *there = receive_binary(e->client, "there"),
                   *back = receive_binary(e->client, "back");
    for (uint32_t i = 0; i < TURNS; i++) {
        ipc_hear(&e->other, 'w');
        LIB_OK(culv_semaphore_mark_signaled(there));
        LIB_OK(culv_semaphore_wait(there, e->stream, 0));
        ipc_require(w, e->stream, culv_buffer_pointer(buffer), WORDS, i);
        ipc_write(w, e->stream, culv_buffer_pointer(buffer), WORDS, i + 100);
        if (i > 0) LIB_OK(culv_semaphore_mark_waited(back));
        LIB_OK(culv_semaphore_signal(back, e->stream, 0));
        ipc_say(&e->other, 's');
    }
    lib_finish(w, e->stream);
    ipc_hear(&e->other, 'e');
    culv_semaphore_destroy(&there, NULL);
    culv_semaphore_destroy(&back, NULL);
}

static void offer_binary(culv_ipc_server *server, lib_world *w, const char *name, raw_binary *out)
{
    raw_binary_create(&w->vk, w->cu, out);
    culv_handle handle = culv_handle_opaque_fd(raw_binary_fd(&w->vk, out));
    culv_ipc_info info = culv_ipc_info_named(name);
    info.kind = CULV_IPC_SEMAPHORE;
    info.semaphore_type = CULV_SEMAPHORE_BINARY;
    LIB_OK(culv_ipc_offer(server, &info, culv_ipc_from_handle(&handle)));
    culv_handle_close(&handle);
}

IPC_VK_CASE(binaries, use_binaries)
{
    lib_world *w = &e->s.w;
    raw_vk_buffer buffer = lib_case_buffer(w, WORDS * 4, RAW_VK_EXPORT);
    raw_vk_buffer host = lib_case_buffer(w, WORDS * 4, RAW_VK_HOST);
    culv_handle handle = culv_handle_opaque_fd(raw_vk_buffer_fd(&w->vk, &buffer));
    const culv_ipc_info info = buffer_info("cells", &buffer);
    LIB_OK(culv_ipc_offer(e->server, &info, culv_ipc_from_handle(&handle)));
    culv_handle_close(&handle);
    raw_binary there, back;
    offer_binary(e->server, w, "there", &there);
    offer_binary(e->server, w, "back", &back);
    for (uint32_t i = 0; i < TURNS; i++) {
        raw_binary_turn signals = {.signal = &there}, waits = {.wait = &back};
        lib_fill(host.mapped, WORDS, i);
        raw_vk_copy(&w->vk, &host, 0, &buffer, 0, WORDS * 4,
                    raw_binary_turn_begin(w->cu, &signals));
        ipc_say(&e->other, 'w');
        ipc_hear_serving(&e->other, 's', e->server);
        raw_vk_copy(&w->vk, &buffer, 0, &host, 0, WORDS * 4, raw_binary_turn_begin(w->cu, &waits));
        raw_vk_idle(&w->vk);
        REQUIRE_WORDS((const uint32_t *)host.mapped, WORDS, i + 100);
    }
    ipc_say(&e->other, 'e');
    ipc_end_join(e);
    culv_ipc_server_destroy(&e->server);
    raw_binary_destroy(&w->vk, &there);
    raw_binary_destroy(&w->vk, &back);
}

/* Vectors -------------------------------------------------------------------------------------- */

/* Bytes: odd, growing over many chunks, and shrinking. */
static const uint64_t steps[] = {4 * 777, 9000004, 40000012, 100000004, 30000004, 50000004};
enum { STEPS = sizeof steps / sizeof steps[0], EVERY = 4096 };

/* A word of each page, so that 100 MB take no second: the offset and the step. */
static void write_pages(const lib_world *w, CUdeviceptr at, uint64_t bytes, uint32_t step)
{
    CUcontext before = lib_enter(w);
    for (uint64_t i = 0; i + 4 <= bytes; i += 64 * EVERY) {
        const uint32_t word = lib_word((uint32_t)(i / EVERY), step);
        CU_OK(raw_cuda_upload(w->cu, at + i, &word, sizeof word));
    }
    lib_leave(w, before);
}

static void require_pages(const lib_world *w, CUdeviceptr at, uint64_t bytes, uint32_t step)
{
    CUcontext before = lib_enter(w);
    for (uint64_t i = 0; i + 4 <= bytes; i += 64 * EVERY) {
        uint32_t word = 0;
        CU_OK(w->cu->MemcpyDtoH(&word, at + i, 4));
        REQUIRE_EQ(word, lib_word((uint32_t)(i / EVERY), step));
    }
    lib_leave(w, before);
}

/* A tensor keeps memory and address where they are. */
static void refuse_pinned(culv_vector *vector, CUstream stream)
{
    culv_dlpack_desc d = culv_dlpack_desc_init();
    const uint64_t size = culv_vector_size(vector), generation = culv_vector_generation(vector);
    const CUdeviceptr at = culv_vector_pointer(vector);
    NEW(culv_dl_managed_tensor_versioned, tensor, culv_vector_get_dlpack, vector, &d);
    LIB_ERROR(culv_ipc_vector_update(vector, stream, IPC_FAR), BUSY, OWNED,
              "culv_ipc_vector_update: a tensor");
    REQUIRE(culv_vector_size(vector) == size && culv_vector_pointer(vector) == at);
    REQUIRE_EQ(culv_vector_generation(vector), generation);
    tensor->deleter(tensor);
}

IPC_ROLE(follow)
{
    vmm_gate gate;
    culv_ipc_vector_desc d = culv_ipc_vector_desc_init();
    d.name = "particles";
    d.reserve = 64 << 20; /* it has to move */
    d.keep_handles = 1;
    ipc_hear(&e->other, '0');
    NEW(culv_vector, vector, culv_ipc_vector_open, e->client, &d, IPC_FAR);
    for (uint32_t i = 0; i < STEPS; i++) {
        if (i > 0) {
            ipc_hear(&e->other, (char)('0' + i));
            if (i == 3 || i == 4) refuse_pinned(vector, e->stream); /* it moves, and it shrinks */
            if (i == 4) vmm_gate_begin(&e->s, &gate); /* it shrinks beside work, and grows */
            LIB_OK(culv_ipc_vector_update(vector, i == 4 ? gate.stream : e->stream, IPC_FAR));
            if (i == 5) vmm_gate_open(&e->s, &gate);
            if (i == 5) vmm_gate_end(&e->s, &gate);
        }
        REQUIRE_EQ(culv_vector_size(vector), steps[i]);
        require_pages(&e->s.w, culv_vector_pointer(vector), steps[i], i);
        write_pages(&e->s.w, culv_vector_pointer(vector), steps[i], 100 + i);
        size_t count = 0;
        uint64_t generation = 0;
        culv_handle handle = {0};
        culv_part chunk;
        LIB_OK(culv_vector_get_parts(vector, &chunk, 1, &count, &generation));
        REQUIRE(count > 0 && chunk.offset == 0 && chunk.id != 0);
        LIB_OK(culv_vmm_export_dup(chunk.allocation, CULV_HANDLE_OPAQUE_FD, &handle));
        REQUIRE_EQ(handle.type, CULV_HANDLE_OPAQUE_FD);
        culv_handle_close(&handle);
        LIB_INVALID(culv_vmm_allocation_destroy(&chunk.allocation), OWNED);
        LIB_OK(culv_ipc_vector_update(vector, e->stream, IPC_FAR)); /* nothing is new */
        REQUIRE_EQ(culv_vector_generation(vector), generation);
        ipc_say(&e->other, 'd');
    }
    /* Only the server's process changes it. */
    LIB_INVALID(culv_vector_grow(vector, 1), USAGE,
                "culv_vector_grow: the vector is another process's");
    LIB_INVALID(culv_vector_reserve(vector, 1), USAGE);
    LIB_INVALID(culv_vector_shrink(vector, 0, e->stream), USAGE);
    LIB_INVALID(culv_vector_retire(vector, 1, e->stream), VALUE);
    /* Without a connection it keeps what it has. */
    culv_ipc_client_destroy(&e->client);
    LIB_ERROR(culv_ipc_vector_update(vector, e->stream, IPC_FAR), ASYNC, IPC_GONE);
    require_pages(&e->s.w, culv_vector_pointer(vector), steps[STEPS - 1], 100 + STEPS - 1);
    culv_vector_destroy(&vector, &e->stream);
}

IPC_CASE(vectors, follow)
{
    culv_vector_desc d = culv_vector_desc_init();
    d.handle_types = FD_BIT;
    d.max_chunk = VMM_BLOCK; /* 48 chunks: several answers */
    NEW(OWN(culv_vector), vector, culv_vector_create, e->s.w.device, &d);
    culv_ipc_info info = culv_ipc_info_named("particles");
    LIB_OK(culv_ipc_offer(e->server, &info, culv_ipc_from_vector(vector)));
    LIB_INVALID(culv_ipc_vector_update(vector, e->stream, IPC_FAR), USAGE);
    for (uint32_t i = 0; i < STEPS; i++) {
        if (i > 0 && steps[i] < steps[i - 1])
            LIB_OK(culv_vector_shrink(vector, steps[i], e->stream));
        else
            LIB_OK(culv_vector_grow(vector, steps[i]));
        write_pages(&e->s.w, culv_vector_pointer(vector), steps[i], i);
        ipc_say(&e->other, (char)('0' + i));
        ipc_hear_serving(&e->other, 'd', e->server);
        require_pages(&e->s.w, culv_vector_pointer(vector), steps[i], 100 + i);
    }
    ipc_end_join(e);
    culv_ipc_server_destroy(&e->server);
}

/* A ring from CUDA to Vulkan ------------------------------------------------------------------- */

enum { SLOTS = 3 };

/* Vulkan's buffer in memory that another process's CUDA made. */
static raw_vk_buffer import_slot(lib_world *w, culv_ring *side, uint32_t slot)
{
    raw_vk_buffer b = {.size = WORDS * 4, .flags = RAW_VK_EXPORT};
    NEW(OWN(culv_ipc_object), object, culv_ipc_ring_receive, side, slot, 0, IPC_FAR);
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .pNext = &external,
                                     .size = b.size,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    VK_OK(vkCreateBuffer(w->vk.device, &info, NULL, &b.buffer));
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    LIB_OK(culv_ipc_object_get_handle(object, &d.handle));
    const culv_ipc_info what = ipc_info_of(object);
    d.size = what.allocation_size;
    d.exporter = what.device;
    d.buffer = b.buffer;
    LIB_OK(culv_vk_memory_from_handle(w->attachment, &d, &b.memory));
    VK_OK(vkBindBufferMemory(w->vk.device, b.buffer, b.memory, 0));
    return b;
}

static culv_result signal_ready(void *context, uint64_t value)
{
    return CULV_OK;
}

/* How far `done` is. */
typedef struct done_of {
    VkDevice device;
    VkSemaphore done;
} done_of;

static culv_result reached(void *context, uint64_t *value)
{
    const done_of *d = context;
    VK_OK(vkGetSemaphoreCounterValue(d->device, d->done, value));
    return CULV_OK;
}

/* All frames, by Vulkan's copies to the host. */
static void read_frames(lib_world *w, culv_ring *side, VkSemaphore ready, VkSemaphore done,
                        const raw_vk_buffer slots[SLOTS], const raw_vk_buffer *host)
{
    for (uint32_t i = 0; i < IPC_FRAMES; i++) {
        culv_ring_frame f;
        LIB_OK(culv_ring_acquire(side, CULV_RING_CONSUMER, IPC_FAR, &f));
        REQUIRE_EQ(f.number, i);
        raw_vk_job job = {.wait = ready, .wait_value = f.wait_value, .signal = done};
        const uint32_t slot = f.slot;
        LIB_OK(culv_ring_release(side, CULV_RING_CONSUMER, &f));
        job.signal_value = f.signal_value;
        raw_vk_copy(&w->vk, &slots[slot], 0, host, 0, WORDS * 4, &job);
        raw_vk_idle(&w->vk);
        REQUIRE_WORDS((const uint32_t *)host->mapped, WORDS, i);
    }
}

/* A side that Vulkan is, with timelines of its own. */
typedef struct vk_side {
    lib_world w;
    culv_ipc_client *client;
    VkSemaphore ready, done;
    culv_ipc_timelines own;
    done_of at;
    culv_ipc_consumer_desc d;
} vk_side;

static void vk_side_open(vk_side *v, const char *name, bool cuda)
{
    lib_open(&v->w);
    v->client = ipc_client(cuda ? v->w.device : NULL, name);
    v->ready = lib_case_timeline(&v->w, 0);
    v->done = lib_case_timeline(&v->w, 0);
    v->at = (done_of){v->w.vk.device, v->done};
    v->own = culv_ipc_timelines_init();
    v->own.ready = culv_handle_opaque_fd(raw_vk_timeline_fd(&v->w.vk, v->ready));
    v->own.done = culv_handle_opaque_fd(raw_vk_timeline_fd(&v->w.vk, v->done));
    v->own.context = &v->at;
    v->d = culv_ipc_consumer_desc_init();
    v->d.ring = "frames";
    v->d.timelines = &v->own;
}

/* It has taken the handles by then. */
static culv_ring *vk_side_join(vk_side *v)
{
    NEW(culv_ring, side, culv_ipc_ring_join, v->client, &v->d, IPC_FAR);
    culv_handle_close(&v->own.ready);
    culv_handle_close(&v->own.done);
    return side;
}

static void vk_side_close(vk_side *v, culv_ring **side)
{
    culv_ring_destroy(side, NULL);
    culv_ipc_client_destroy(&v->client);
    lib_settle(&v->w);
}

static void show(ipc_child *parent, const char *name)
{
    raw_vk_buffer slots[SLOTS];
    culv_ring *side = NULL;
    vk_side v;
    vk_side_open(&v, name, false); /* CUDA has no part in it */
    const raw_vk_buffer host = lib_case_buffer(&v.w, WORDS * 4, RAW_VK_HOST);
    LIB_ERROR(culv_ipc_ring_join(v.client, &v.d, IPC_FAR, &side), INVALID, VALUE,
              "culv_ipc_timelines.signal is NULL");
    v.own.signal = signal_ready;
    LIB_ERROR(culv_ipc_ring_join(v.client, &v.d, IPC_FAR, &side), INVALID, VALUE,
              "culv_ipc_timelines.reached is NULL");
    v.own.reached = reached;
    culv_ipc_timelines none = culv_ipc_timelines_init(); /* they are its own */
    v.d.made = &none;
    side = vk_side_join(&v);
    REQUIRE(none.ready.type == CULV_HANDLE_NONE && none.done.type == CULV_HANDLE_NONE);
    for (uint32_t i = 0; i < SLOTS; i++)
        slots[i] = import_slot(&v.w, side, i);
    ipc_say(parent, 'j');
    read_frames(&v.w, side, v.ready, v.done, slots, &host);
    ipc_say(parent, 'd');
    culv_ipc_client_destroy(&v.client); /* the side needs it until it goes, too */
    vk_side_close(&v, &side);
    for (uint32_t i = 0; i < SLOTS; i++) {
        vkDestroyBuffer(v.w.vk.device, slots[i].buffer, NULL);
        vkFreeMemory(v.w.vk.device, slots[i].memory, NULL);
    }
    lib_close(&v.w);
}

/* It gives slots back, and its queue never signals. */
static void die_before_submitting(ipc_child *parent, const char *name)
{
    vk_side v;
    culv_ring_stats stats = culv_ring_stats_init();
    vk_side_open(&v, name, false);
    v.own.signal = signal_ready;
    v.own.reached = reached;
    culv_ring *side = vk_side_join(&v);
    ipc_say(parent, 'j');
    for (uint64_t i = 0; i < SLOTS; i++) {
        culv_ring_frame f;
        LIB_ERROR(culv_ring_acquire_on(side, CULV_RING_CONSUMER, NULL, 0, &f), INVALID, RING_SIDE,
                  "connected without a device");
        LIB_OK(culv_ring_acquire(side, CULV_RING_CONSUMER, IPC_FAR, &f));
        LIB_OK(culv_ring_cancel(side, CULV_RING_CONSUMER, &f)); /* it comes again */
        LIB_OK(culv_ring_acquire(side, CULV_RING_CONSUMER, IPC_FAR, &f));
        REQUIRE_EQ(f.number, i);
        LIB_OK(culv_ring_release(side, CULV_RING_CONSUMER, &f));
    }
    LIB_OK(culv_ring_flush(side, CULV_RING_CONSUMER, NULL));
    LIB_OK(culv_ring_get_stats(side, &stats));
    REQUIRE(stats.consumed == SLOTS && stats.depth == SLOTS);
    LIB_OK(culv_ring_stop(side));
    ipc_say(parent, 'h');
    pause();
}

/* It gives a slot back, its queue never signals, as that of a lost device, and it leaves: nothing
 * of this process waits for ever, though CUDA looked how far the queue is. */
static void leave_before_submitting(ipc_child *parent, const char *name)
{
    vk_side v;
    culv_ring_frame f;
    uint64_t value = 0;
    vk_side_open(&v, name, true);
    v.d.policy = CULV_RING_MAILBOX;
    culv_ring *side = vk_side_join(&v);
    ipc_say(parent, 'j');
    LIB_OK(culv_ring_acquire(side, CULV_RING_CONSUMER, IPC_FAR, &f));
    LIB_OK(culv_ring_release(side, CULV_RING_CONSUMER, &f));
    ipc_say(parent, 'h');
    ipc_hear(parent, 'm'); /* there are others by now */
    LIB_ERROR(culv_ring_acquire(side, CULV_RING_CONSUMER, 1000, &f), TIMEOUT, RING_LATE);
    vk_side_close(&v, &side);
    VK_OK(vkGetSemaphoreCounterValue(v.w.vk.device, v.done, &value));
    REQUIRE_EQ(value, 1); /* moved on */
    lib_close(&v.w);
}

IPC_CASE_(vulkan_leaves, false, leave_before_submitting, .title = "ring.vulkan_leaves", .own = true)
{
    ipc_ring_offer(e, SLOTS, WORDS, 0);
    ipc_hear_serving(&e->other, 'j', e->server);
    ipc_ring_produce(e, 1);
    ipc_hear_serving(&e->other, 'h', e->server);
    ipc_ring_produce(e, 2 * SLOTS); /* it has one slot, and nobody waits for it */
    ipc_say(&e->other, 'm');
}

IPC_CASE_(to_vulkan, false, show, .title = "ring.to_vulkan", .own = true)
{
    ipc_ring_offer(e, SLOTS, WORDS, 0);
    ipc_hear_serving(&e->other, 'j', e->server);
    ipc_ring_produce(e, IPC_FRAMES);
    ipc_hear_serving(&e->other, 'd', e->server);
}

IPC_CASE_(vulkan_dies, false, die_before_submitting, .title = "ring.vulkan_dies", .own = true)
{
    culv_ring_frame f;
    ipc_ring_offer(e, SLOTS, WORDS, 0);
    ipc_hear_serving(&e->other, 'j', e->server);
    ipc_ring_produce(e, SLOTS);
    ipc_hear_serving(&e->other, 'h', e->server);
    lib_finish(&e->s.w, e->stream);
    LIB_ERROR(culv_ring_acquire_on(e->ring, CULV_RING_PRODUCER, e->stream, 1000, &f), TIMEOUT,
              RING_FULL, "the GPU of the consumer 0");
    ipc_kill(&e->other);
    ipc_ring_wait_consumers(e, 0);
    ipc_ring_produce(e, 1);
}

#undef TEST_GROUP
#define TEST_GROUP "ring."
/* A ring whose producer is Vulkan: it makes two timelines for each consumer. The consumers are
 * CUDA or Vulkan, in other processes; one of them dies. */

enum { MOST = 4 };

static VkSemaphore import_timeline(raw_vk *vk, const culv_handle *handle)
{
    culv_handle mine;
    LIB_OK(culv_handle_dup(handle, &mine));
    return raw_vk_timeline_import(vk, mine.value.fd);
}

/* Vulkan on this side, too: the producer's timelines in a queue of this process's. */
static void read_in_vulkan(ipc_child *parent, const char *name)
{
    lib_world w;
    raw_vk_buffer slots[SLOTS];
    culv_ipc_timelines t = culv_ipc_timelines_init(), bad = {.struct_size = 0};
    culv_ipc_consumer_desc d = culv_ipc_consumer_desc_init();
    lib_open(&w);
    const raw_vk_buffer host = lib_case_buffer(&w, WORDS * 4, RAW_VK_HOST),
                        like = lib_case_buffer(&w, WORDS * 4, RAW_VK_EXPORT);
    culv_ipc_client *client = ipc_client(w.device, name);
    d.ring = "frames";
    culv_ring *side = NULL;
    d.made = &bad;
    LIB_ERROR(culv_ipc_ring_join(client, &d, IPC_FAR, &side), INVALID, STRUCT_SIZE);
    d.made = &t;
    LIB_OK(culv_ipc_ring_join(client, &d, IPC_FAR, &side));
    REQUIRE(t.ready.type == CULV_HANDLE_OPAQUE_FD && t.done.type == CULV_HANDLE_OPAQUE_FD);
    REQUIRE(t.signal == NULL && t.context == NULL);
    const VkSemaphore ready = import_timeline(&w.vk, &t.ready),
                      done = import_timeline(&w.vk, &t.done);
    for (uint32_t i = 0; i < SLOTS; i++) {
        culv_handle handle;
        NEW(OWN(culv_ipc_object), object, culv_ipc_ring_receive, side, i, 0, IPC_FAR);
        const culv_ipc_info info = ipc_info_of(object);
        REQUIRE(info.allocation_size == like.allocation_size && info.offset == like.offset);
        LIB_OK(culv_ipc_object_get_handle(object, &handle));
        LIB_OK(culv_handle_dup(&handle, &handle));
        raw_vk_buffer_import(&w.vk, handle.value.fd, &like, &slots[i]);
    }
    ipc_say(parent, 'j');
    read_frames(&w, side, ready, done, slots, &host);
    ipc_say(parent, 'd');
    culv_ring_destroy(&side, NULL);
    culv_ipc_client_destroy(&client);
    for (uint32_t i = 0; i < SLOTS; i++)
        raw_vk_buffer_destroy(&w.vk, &slots[i]);
    raw_vk_timeline_destroy(&w.vk, ready);
    raw_vk_timeline_destroy(&w.vk, done);
    lib_settle(&w);
    lib_close(&w);
}

/* It ends with a frame in its hands, and the producer's queue must not wait for it. */
IPC_ROLE(die)
{
    culv_ring_frame f;
    ipc_ring_join(e, CULV_RING_FIFO);
    for (uint64_t i = 0; i < 2; i++)
        REQUIRE_EQ(ipc_ring_consume(e), i);
    LIB_OK(culv_ring_acquire_on(e->ring, CULV_RING_CONSUMER, e->stream, IPC_FAR, &f));
    ipc_say(&e->other, 'h');
    pause();
}

/* The producer --------------------------------------------------------------------------------- */

typedef struct lines {
    lib_world *w;
    VkSemaphore ready[MOST], done[MOST];
    culv_handle handles[2 * MOST];
    uint32_t made, dropped;
} lines;

static culv_result make(void *context, uint32_t number, culv_ipc_timelines *out)
{
    lines *l = context;
    REQUIRE(number < MOST);
    l->ready[number] = raw_vk_timeline(&l->w->vk, 0, true);
    l->done[number] = raw_vk_timeline(&l->w->vk, 0, true);
    culv_handle *h = &l->handles[2 * number];
    h[0] = culv_handle_opaque_fd(raw_vk_timeline_fd(&l->w->vk, l->ready[number]));
    h[1] = culv_handle_opaque_fd(raw_vk_timeline_fd(&l->w->vk, l->done[number]));
    out->ready = h[0];
    out->done = h[1];
    l->made++;
    return CULV_OK;
}

static void drop(void *context, uint32_t number)
{
    lines *l = context;
    culv_handle_close(&l->handles[2 * number]);
    culv_handle_close(&l->handles[2 * number + 1]);
    raw_vk_idle(&l->w->vk);
    raw_vk_timeline_destroy(&l->w->vk, l->ready[number]);
    raw_vk_timeline_destroy(&l->w->vk, l->done[number]);
    l->ready[number] = l->done[number] = VK_NULL_HANDLE;
    l->dropped++;
}

static void produce(lib_world *w, culv_ring *ring, const lines *l, const raw_vk_buffer *host,
                    const raw_vk_buffer slots[SLOTS])
{
    culv_ring_frame f;
    raw_vk_job job;
    memset(&job, 0, sizeof job);
    LIB_OK(culv_ring_acquire(ring, CULV_RING_PRODUCER, IPC_FAR, &f));
    REQUIRE_EQ(f.wait_value, 0);
    if (f.number == 0) {
        LIB_ERROR(culv_ring_release_on(ring, CULV_RING_PRODUCER, NULL, &f), INVALID, RING_SIDE,
                  "culv_ipc_ring_desc.make");
        LIB_OK(culv_ring_cancel(ring, CULV_RING_PRODUCER, &f)); /* it never was */
        LIB_OK(culv_ring_acquire(ring, CULV_RING_PRODUCER, IPC_FAR, &f));
    }
    lib_fill(host->mapped, WORDS, (uint32_t)f.number);
    const uint32_t slot = f.slot;
    LIB_OK(culv_ring_release(ring, CULV_RING_PRODUCER, &f));
    REQUIRE_EQ(f.signal_value, f.number + 1);
    for (int i = 0; i < MOST; i++) {
        if (l->ready[i] == VK_NULL_HANDLE) continue;
        job.signal = l->ready[i];
        job.signal_value = f.signal_value;
    }
    raw_vk_copy(&w->vk, host, 0, &slots[slot], 0, WORDS * 4, &job);
}

static void run(ipc_role role, const char *word, bool dies)
{
    ipc_child child;
    lib_world w;
    raw_vk_buffer slots[SLOTS];
    lines l = {.w = &w};
    char name[CULV_IPC_NAME_SIZE];
    ipc_fork(&child, role, ipc_name(name, word));
    lib_open(&w);
    const raw_vk_buffer host = lib_case_buffer(&w, WORDS * 4, RAW_VK_HOST);
    culv_ipc_server *server = ipc_server(w.device, name);
    culv_ipc_ring_desc d = culv_ipc_ring_desc_init();
    d.name = "frames";
    d.num_slots = SLOTS;
    d.max_consumers = MOST;
    d.make = make;
    d.drop = drop;
    d.context = &l;
    NEW(culv_ring, ring, culv_ipc_ring_create, server, &d);
    for (uint32_t i = 0; i < SLOTS; i++) {
        raw_vk_buffer_create(&w.vk, WORDS * 4, RAW_VK_EXPORT, &slots[i]);
        culv_handle handle = culv_handle_opaque_fd(raw_vk_buffer_fd(&w.vk, &slots[i]));
        const culv_ipc_info info = buffer_info("", &slots[i]);
        LIB_OK(culv_ipc_ring_offer(ring, i, 0, &info, culv_ipc_from_handle(&handle)));
        culv_handle_close(&handle);
    }
    ipc_hear_serving(&child, 'j', server);
    REQUIRE_EQ(l.made, 1);
    if (dies) {
        for (int i = 0; i < SLOTS; i++)
            produce(&w, ring, &l, &host, slots);
        ipc_hear_serving(&child, 'h', server);
        ipc_kill(&child);
    } else {
        for (int i = 0; i < IPC_FRAMES; i++)
            produce(&w, ring, &l, &host, slots);
        ipc_hear_serving(&child, 'd', server);
        ipc_join_serving(&child, server);
    }
    const double until = test_now_us() + TEST_FAR_MS * 1000.0;
    /* A consumer that has left no longer counts at once; a poll gives its timelines back. */
    while (culv_ipc_ring_consumers(ring, NULL, 0) > 0 || l.dropped == 0) {
        LIB_OK(culv_ipc_server_poll(server, UINT64_C(1000000), NULL));
        if (test_now_us() > until) FAIL("the consumer is still there");
    }
    REQUIRE_EQ(l.dropped, 1);
    for (int i = 0; i < 2 * SLOTS; i++) /* nobody looks, and nothing is waited for */
        produce(&w, ring, &l, &host, slots);
    culv_ring_destroy(&ring, NULL);
    culv_ipc_server_destroy(&server);
    lib_settle(&w);
    for (uint32_t i = 0; i < SLOTS; i++)
        raw_vk_buffer_destroy(&w.vk, &slots[i]);
    lib_close(&w);
}

TEST_AS(from_vulkan, run(ipc_read_every, "from-vulkan", false), .own = true)

TEST_AS(vulkan_to_vulkan, run(read_in_vulkan, "vulkan-to-vulkan", false), .own = true)
TEST_AS(from_vulkan_dies, run(die, "from-vulkan-dies", true), .own = true)
