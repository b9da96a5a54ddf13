/* SPDX-License-Identifier: MIT */
/* The OpenGL back-end under the back-end suite: memory objects, in memory that a VkDevice of
 * Culvert's own exports. The caller's own memory and timelines are Vulkan's. */
#include "lying_gl.h"
#include "shared_objects.h"
#include "suite.h"
#include "vulkan_world.h"

#include "gl/gl_object.h"

static bool closed;
static bool borrows; /* the test's VkDevice: 300 of its own would take long */
static raw_gl gl;
static bool context_lost;
static lying_gl_counts gone; /* with contexts that were lost */

static const raw_cuda *open_native(void)
{
    borrows = strstr(test_case_name(), "every_order") != NULL ||
              strstr(test_case_name(), "torture") != NULL;
    open_world();
    raw_gl_open(&gl, world.cu->software, 0, RAW_GL_CORE);
    return world.cu;
}

static void close_native(void)
{
    const lying_gl_counts left = lying_gl_count();
    if (context_lost) gone = left;
    context_lost = false;
    REQUIRE_EQ(left.buffers, gone.buffers);
    REQUIRE_EQ(left.textures, gone.textures);
    REQUIRE_EQ(left.memories, gone.memories);
    REQUIRE_EQ(left.semaphores, gone.semaphores);
    raw_gl_close(&gl);
    close_world();
}

static void lie(backend_lie what)
{
    closed = what == BACKEND_CLOSED;
    lying_gl = (lying_gl_lies){.uuid_xor = what == BACKEND_STRANGER};
    if (closed) {
        lying_gl.hides[0] = "GL_EXT_memory_object_fd";
        lying_gl.hides[1] = "GL_EXT_semaphore_fd";
    }
    lib_lying = (lib_lies){.exports_nothing = closed, .exports_no_semaphores = closed};
}

static culv_gl_desc gl_desc(uint32_t fallback)
{
    culv_gl_desc d = culv_gl_desc_init();
    d.get_proc_address = lying_gl_get_proc;
    d.fallback = fallback;
    return d;
}

static culv_result device_open(culv_device **out)
{
    culv_device_desc desc = culv_device_desc_init();
    culv_gl_desc d = gl_desc(0);
    desc.driver = world.cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    return culv_device_open_for_gl(&d, &desc, out);
}

/* What exports nothing has a VkDevice that exports nothing; else Culvert makes one. */
static culv_result attach(culv_device *device, uint32_t fallback, void **out)
{
    culv_gl *made = NULL;
    culv_vk_device *vk = NULL;
    culv_gl_desc d = gl_desc(fallback);
    culv_result result = CULV_OK;
    if (closed || borrows) {
        culv_vk_device_desc v = lib_vk_desc(&world);
        v.get_instance_proc_addr = lib_lying_loader;
        v.fallback = fallback;
        result = culv_vk_attach(device, &v, &vk);
        d.vk = vk;
    }
    if (result == CULV_OK) result = culv_gl_attach(device, &d, &made);
    culv_vk_detach(&vk);
    if (result == CULV_OK) *out = made;
    return result;
}

static void detach(void **attachment)
{
    culv_gl *mine = *attachment;
    *attachment = NULL;
    culv_gl_detach(&mine);
}

static culv_result memory_import(void *attachment, const void *memory, uint64_t size, bool shared,
                                 culv_memory **out)
{
    const culv_gl *mine = attachment;
    culv_memory_desc d = culv_memory_desc_init();
    d.handle = culv_handle_opaque_fd(raw_vk_buffer_fd(&world.vk, memory));
    d.size = size;
    d.exporter = mine->base.uuid;
    culv_result result = culv_memory_import(mine->base.device, &d, out);
    culv_handle_close(&d.handle);
    return result;
}

static uint64_t timeline_value(void *timeline_)
{
    const timeline *t = timeline_;
    uint64_t value = 0;
    if (t->made == NULL) return raw_vk_timeline_value(&world.vk, t->semaphore);
    REQUIRE_EQ(culvi_gl_timeline_value(t->made->pair.graphics, t->made->pair.native, &value), 0);
    return value;
}

static culv_result timeline_import(void *attachment, void *t, culv_semaphore **out)
{
    const culv_gl *mine = attachment;
    culv_semaphore_desc d = culv_semaphore_desc_init();
    d.handle = culv_handle_opaque_fd(raw_vk_semaphore_fd(&world.vk, ((timeline *)t)->semaphore));
    d.type = CULV_SEMAPHORE_TIMELINE;
    d.value = timeline_value(t);
    culv_result result = culv_semaphore_import(mine->base.device, &d, out);
    culv_handle_close(&d.handle);
    return result;
}

static void timeline_signal(void *timeline_, uint64_t value)
{
    const timeline *t = timeline_;
    if (t->made != NULL)
        LIB_OK(culv_gl_semaphore_signal(t->made, value, NULL));
    else
        raw_vk_timeline_signal(&world.vk, t->semaphore, value);
}

static bool timeline_wait(void *timeline_, uint64_t value, unsigned timeout_ms)
{
    const timeline *t = timeline_;
    if (t->made == NULL) return raw_vk_timeline_wait(&world.vk, t->semaphore, value, timeout_ms);
    int code = culvi_gl_timeline_wait(t->made->pair.graphics, t->made->pair.native, value,
                                      timeout_ms * UINT64_C(1000000));
    REQUIRE(code >= 0);
    if (code == 0) LIB_OK(culv_gl_semaphore_wait(t->made, value, 0, NULL));
    return code == 0;
}

static culv_result buffer_create(void *attachment, uint64_t size, uint32_t fallback, void **out)
{
    culv_gl_buffer_create_desc d = culv_gl_buffer_create_desc_init();
    culv_shared_buffer *made = NULL;
    d.size = size;
    d.fallback = fallback;
    culv_result result = culv_gl_buffer_create(attachment, &d, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static void buffer_write(void *buffer, const void *data, size_t size)
{
    raw_gl_write_buffer(&gl, culv_gl_buffer_name(buffer), data, size);
    LIB_OK(culv_gl_copy(buffer, NULL, CULV_COPY_DOWNLOAD));
    gl.Finish();
}

static void buffer_read(void *buffer, void *data, size_t size)
{
    LIB_OK(culv_gl_copy(buffer, NULL, CULV_COPY_UPLOAD));
    raw_gl_read_buffer(&gl, culv_gl_buffer_name(buffer), data, size);
}

static culv_result image_create(void *attachment, uint32_t width, uint32_t height,
                                uint32_t fallback, void **out)
{
    culv_gl_image_create_desc d = culv_gl_image_create_desc_init();
    culv_shared_image *made = NULL;
    d.internal_format = GL_R32UI;
    d.width = width;
    d.height = height;
    d.fallback = fallback;
    culv_result result = culv_gl_image_create(attachment, &d, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static culv_result semaphore_create(void *attachment, uint64_t value, uint32_t fallback, void **out)
{
    culv_gl_semaphore_create_desc d = culv_gl_semaphore_create_desc_init();
    culv_shared_semaphore *made = NULL;
    d.initial_value = value;
    d.fallback = fallback;
    culv_result result = culv_gl_semaphore_create(attachment, &d, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static void *semaphore_timeline(const void *semaphore)
{
    made_timeline.made = (culv_shared_semaphore *)(uintptr_t)semaphore;
    return &made_timeline;
}

static culv_ring_side ring_side; /* of the ring that there is */

static culv_result ring_create(void *attachment, const backend_ring *d, culv_ring **out)
{
    culv_ring *ring = NULL;
    culv_gl_ring_desc desc = culv_gl_ring_desc_init();
    culv_gl_buffer_create_desc b = culv_gl_buffer_create_desc_init();
    const culv_gl_ring_resource resource = {.buffer = &b};
    b.size = BACKEND_RING_BYTES;
    desc.max_depth = d->depth;
    desc.settings = d->settings;
    desc.resources = &resource;
    desc.num_resources = d->resources != 0 ? d->resources : 1;
    desc.side = d->side;
    desc.way = CULV_GL_WAY_MEMORY + (culv_gl_way)d->way;
    desc.label = "frames";
    culv_result result = culv_gl_ring_create(attachment, &desc, &ring);
    if (result != CULV_OK) return result;
    culv_gl_ring_info info = culv_gl_ring_info_init();
    LIB_OK(culv_gl_ring_get_info(ring, &info));
    REQUIRE_EQ(info.way, desc.way);
    REQUIRE_EQ_STR(info.refusals, "");
    REQUIRE_EQ(info.waits_on_host, desc.way == CULV_GL_WAY_STAGED ||
                                       (desc.way == CULV_GL_WAY_MEMORY && world.cu->software));
    ring_side = d->side;
    *out = ring;
    return CULV_OK;
}

static culv_result ring_release(culv_ring *ring, culv_ring_frame *frame, uint32_t seed)
{
    uint32_t words[BACKEND_RING_WORDS];
    const GLuint buffer = culv_gl_ring_name(ring, frame->slot, 0);
    suite_pattern(words, BACKEND_RING_WORDS, seed);
    if (ring_side == CULV_RING_PRODUCER) {
        raw_gl_write_buffer(&gl, buffer, words, sizeof words);
    } else {
        raw_gl_read_buffer(&gl, buffer, words, sizeof words);
        REQUIRE_PATTERN(words, BACKEND_RING_WORDS, seed);
    }
    return culv_ring_release(ring, ring_side, frame);
}

static bool ring_waits(const culv_ring *ring)
{
    culv_gl_ring_info info = culv_gl_ring_info_init();
    LIB_OK(culv_gl_ring_get_info(ring, &info));
    return info.waits_on_host != 0;
}

static void ring_thread(bool begins)
{
    static void *context;
    if (begins) {
        context = raw_gl_another(&gl, true);
        raw_gl_current(&gl, context);
        return;
    }
    gl.Finish();
    raw_gl_current(&gl, NULL);
    raw_gl_destroy(&gl, context);
}

static bool lose(void *attachment, bool told)
{
    REQUIRE(told);
    raw_gl_current(&gl, NULL);
    raw_gl_destroy(&gl, gl.context);
    gl.context = NULL;
    gl.context = raw_gl_another(&gl, false);
    raw_gl_current(&gl, gl.context);
    culv_gl_lose_contexts(attachment);
    context_lost = true;
    return true;
}

static void finish(void)
{
    gl.Finish();
}

/* Vulkan's calls of Culvert's own VkDevice fail in tests/gl. */
static uint64_t fail_at(uint64_t n, bool lost)
{
    return lying_gl_fail_at(n);
}

const backend backend_under_test = {
    .name = "gl",
    .memory_word = "GL memory object",
    .imports_anew = true,
    BACKEND_FUNCTIONS,
    BACKEND_RINGS,
    .ring_ways = 3,
    .signals_arrive = true,
    .ring_way_of_context = 1 + CULV_GL_WAY_REGISTER - CULV_GL_WAY_MEMORY,
    .ring_thread = ring_thread,
    .ring_waits = ring_waits,
    .lose = lose,
    .finish = finish,
    .fail_at = fail_at,
};
