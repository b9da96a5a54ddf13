/* SPDX-License-Identifier: MIT */
/* Torture of fallbacks: buffers, images and semaphores on each path that does not share. */
#include "raw_gl.h"
#include "torture.h"

#include <culvert/gl.h>

enum { WORDS = 4096 };

static bool peer_path, across_path;

/* The validation layer asks for properties itself whenever something is made: its calls are not to
 * be failed. It also takes signals by the host ill (fallback_scene.c). */
static void begin(bool mapped)
{
    lib_with_option("--validation=off");
    lib_lying =
        (lib_lies){.exports_nothing = true, .exports_no_semaphores = true, .takes_pages = !mapped};
}

static void pages_begin(void)
{
    begin(false);
}

static void mapped_begin(void)
{
    begin(true);
}

static void peer_begin(void)
{
    lib_with_option("--validation=off");
    lib_with_environment("CULVERT_SOFT_DEVICES", "2");
    peer_path = true;
}

static void across_begin(void)
{
    peer_begin();
    across_path = true;
}

static void open_all(CUstream *stream)
{
    lib_world *w = &torture.w;
    culv_device_desc dd = culv_device_desc_init();
    dd.driver = CULV_DRIVER_SOFT;
    LIB_OK(culv_device_open_by_ordinal(peer_path ? 1 : 0, &dd, &w->device));
    culv_vk_device_desc d = lib_vk_desc(w);
    d.get_instance_proc_addr = lib_lying_loader;
    d.fallback = across_path ? 0 : CULV_FALLBACK_ANY;
    d.allow_other_gpu = across_path;
    TRY_AGAIN(culv_vk_attach(w->device, &d, &w->attachment), w->attachment == NULL);
    w->context = culv_device_context(w->device);
    *stream = lib_stream(w);
}

static void close_all(CUstream stream)
{
    lib_world *w = &torture.w;
    DO(culv_vk_detach(&w->attachment));
    culv_device_counts c = culv_device_counts_init();
    TRY_AGAIN(culv_device_get_counts(w->device, &c), true);
    REQUIRE_EQ(c.buffers, 0);
    REQUIRE_EQ(c.images, 0);
    REQUIRE_EQ(c.created, 0);
    REQUIRE_EQ(c.attached_devices, 0);
    REQUIRE_EQ(c.peers, 0);
    lib_stream_destroy(w, stream);
    DO(culv_device_close(&w->device));
    REQUIRE(w->attachment == NULL && w->device == NULL);
}

/* Both ways, which the copies' order makes the identity: what was pushed is pulled. */
static void buffer_run(culv_shared_buffer *buffer, CUstream stream)
{
    lib_world *w = &torture.w;
    const raw_cuda *cu = w->cu;
    culv_buffer *cuda = culv_shared_buffer_cuda(buffer);
    static uint32_t words[WORDS];
    LIB_CU_OK(w, cu->MemsetD32Async(culv_buffer_pointer(cuda), 7, WORDS, stream));
    TRY_AGAIN(culv_buffer_copy(cuda, CULV_COPY_UPLOAD, stream), true);
    LIB_CU_OK(w, cu->MemsetD32Async(culv_buffer_pointer(cuda), 8, WORDS, stream));
    TRY_AGAIN(culv_buffer_copy(cuda, CULV_COPY_DOWNLOAD, stream), true);
    lib_finish(w, stream);
    LIB_CU_OK(w, cu->MemcpyDtoH(words, culv_buffer_pointer(cuda), sizeof words));
    REQUIRE_ALL(words, WORDS, 7);
}

static void memory_run(void)
{
    lib_world *w = &torture.w;
    CUstream stream;
    culv_shared_buffer *one = POISON(culv_shared_buffer), *two = POISON(culv_shared_buffer);
    culv_shared_image *arrays = POISON(culv_shared_image), *linear = POISON(culv_shared_image);
    const VkBufferCreateInfo info = raw_vk_buffer_info(WORDS * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    VkImageCreateInfo image =
        raw_vk_image_info(VK_FORMAT_R8G8B8A8_UNORM, 61, 33, VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    culv_vk_image_create_desc i = culv_vk_image_create_desc_init();
    d.create_info = &info;
    d.fallback = i.fallback = CULV_FALLBACK_ANY;
    d.label = i.label = "tortured";
    i.create_info = &image;
    image.mipLevels = 2;
    open_all(&stream);
    TRY_AGAIN(culv_vk_buffer_create(w->attachment, &d, &one), one == POISON(culv_shared_buffer));
    TRY_AGAIN(culv_vk_buffer_create(w->attachment, &d, &two), two == POISON(culv_shared_buffer));
    TRY_AGAIN(culv_vk_image_create(w->attachment, &i, &arrays),
              arrays == POISON(culv_shared_image));
    image.format = VK_FORMAT_R32G32B32_SFLOAT;
    image.mipLevels = 1;
    TRY_AGAIN(culv_vk_image_create(w->attachment, &i, &linear),
              linear == POISON(culv_shared_image));
    REQUIRE(culv_buffer_sharing(culv_shared_buffer_cuda(one)) != CULV_SHARING_SHARED);
    REQUIRE_EQ(culv_image_sharing(culv_shared_image_cuda(linear)), CULV_SHARING_HOST);
    buffer_run(one, stream);
    culv_image_field f = culv_image_field_init();
    LIB_CU_OK(w, w->cu->MemAlloc(&f.pointer, 65536));
    TRY_AGAIN(culv_image_prepare_write(culv_shared_image_cuda(arrays)), true);
    TRY_AGAIN(culv_image_write(culv_shared_image_cuda(arrays), &f, stream), true);
    TRY_AGAIN(culv_image_write(culv_shared_image_cuda(linear), &f, stream), true);
    TRY_AGAIN(culv_image_copy(culv_shared_image_cuda(arrays), CULV_COPY_UPLOAD, stream), true);
    TRY_AGAIN(culv_image_copy(culv_shared_image_cuda(linear), CULV_COPY_DOWNLOAD, stream), true);
    DO(culv_shared_buffer_destroy(&one, &stream));
    DO(culv_shared_image_destroy(&linear, &stream));
    lib_finish(w, stream);
    LIB_CU_OK(w, w->cu->MemFree(f.pointer));
    DO(culv_shared_image_destroy(&arrays, NULL));
    DO(culv_shared_buffer_destroy(&two, NULL));
    REQUIRE(one == NULL && two == NULL && arrays == NULL && linear == NULL);
    close_all(stream);
}

/* Another GPU's memory in place, by both of the driver's ways. */
static void across_run(void)
{
    lib_world *w = &torture.w;
    CUstream stream;
    culv_shared_buffer *one = POISON(culv_shared_buffer), *two = POISON(culv_shared_buffer),
                       *three = POISON(culv_shared_buffer);
    const VkBufferCreateInfo info = raw_vk_buffer_info(WORDS * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    d.label = "tortured";
    open_all(&stream);
    TRY_AGAIN(culv_vk_buffer_create(w->attachment, &d, &one), one == POISON(culv_shared_buffer));
    d.memory_kind = CULV_MEMORY_KIND_COMPRESSIBLE;
    TRY_AGAIN(culv_vk_buffer_create(w->attachment, &d, &two), two == POISON(culv_shared_buffer));
    TRY_AGAIN(culv_vk_buffer_create(w->attachment, &d, &three),
              three == POISON(culv_shared_buffer));
    LIB_CU_OK(w, w->cu->MemsetD32Async(culv_shared_buffer_pointer(one), 7, WORDS, stream));
    LIB_CU_OK(w, w->cu->MemsetD32Async(culv_shared_buffer_pointer(two), 8, WORDS, stream));
    DO(culv_shared_buffer_destroy(&two, &stream));
    lib_finish(w, stream);
    DO(culv_shared_buffer_destroy(&one, NULL));
    DO(culv_shared_buffer_destroy(&three, NULL));
    REQUIRE(one == NULL && two == NULL && three == NULL);
    close_all(stream);
}

static void semaphore_run(void)
{
    lib_world *w = &torture.w;
    CUstream stream;
    culv_shared_semaphore *one = POISON(culv_shared_semaphore),
                          *two = POISON(culv_shared_semaphore);
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    d.fallback = CULV_FALLBACK_ANY;
    d.label = "tortured";
    open_all(&stream);
    TRY_AGAIN(culv_vk_semaphore_create(w->attachment, &d, &one),
              one == POISON(culv_shared_semaphore));
    TRY_AGAIN(culv_vk_semaphore_create(w->attachment, &d, &two),
              two == POISON(culv_shared_semaphore));
    culv_semaphore *a = culv_shared_semaphore_cuda(one), *b = culv_shared_semaphore_cuda(two);
    REQUIRE(culv_semaphore_sharing(a) != CULV_SHARING_SHARED);
    for (uint64_t value = 1; value <= 3; value++) {
        TRY_AGAIN(culv_semaphore_signal(a, stream, value),
                  culv_semaphore_last_value(a) == value - 1);
        TRY_AGAIN(culv_semaphore_wait(b, stream, value), true);
        raw_vk_timeline_signal(&w->vk, culv_vk_semaphore_handle(two), value);
        TRY_AGAIN(culv_semaphore_wait(b, stream, value), true);
        lib_finish(w, stream);
        REQUIRE(raw_vk_timeline_wait(&w->vk, culv_vk_semaphore_handle(one), value, TEST_FAR_MS));
    }
    DO(culv_shared_semaphore_destroy(&one, &stream));
    lib_finish(w, stream);
    DO(culv_shared_semaphore_destroy(&two, NULL));
    REQUIRE(one == NULL && two == NULL);
    close_all(stream);
}

static const torture_path pages_path = {
    .begin = pages_begin, .run = memory_run, .least = {10, 4, 8}};
static const torture_path mapped_path = {
    .begin = mapped_begin, .run = memory_run, .least = {10, 8, 8}};
static const torture_path peer = {.begin = peer_begin, .run = memory_run, .least = {20, 8, 8}};
static const torture_path across = {.begin = across_begin, .run = across_run, .least = {20, 4, 4}};
static const torture_path host_order = {
    .begin = pages_begin, .run = semaphore_run, .least = {4, 2, 4}};
static const torture_path peer_order = {
    .begin = peer_begin, .run = semaphore_run, .least = {10, 2, 4}};
TORTURE_CASES("pages", pages_path)
TORTURE_CASES("mapped", mapped_path)
TORTURE_CASES("peer", peer)
TORTURE_CASES("across", across)
/* Vulkan's calls are made in host functions there: library-fallback's host_function_fails. */
TORTURE_CUDA_CASES("host_order", host_order)
TORTURE_CASES("peer_order", peer_order)

/* Torture of OpenGL's objects: those that are registered, and those that Culvert makes with a
 * VkDevice of its own. */

static raw_gl context;
static GLuint buffer;
static raw_gl_image image;

static void register_begin(void)
{
    raw_gl_open(&context, torture.w.cu->software, 0, RAW_GL_CORE);
    context.CreateBuffers(1, &buffer);
    context.NamedBufferData(buffer, 4096, NULL, GL_DYNAMIC_DRAW);
    REQUIRE(raw_gl_image_make(&context, &raw_gl_kinds[0], raw_gl_format_named("GL_RGBA8"), &image));
}

static void end(void)
{
    raw_gl_image_delete(&context, &image);
    context.DeleteBuffers(1, &buffer);
    raw_gl_close(&context);
}

static void run(void)
{
    lib_world *w = &torture.w;
    culv_gl *gl = NULL;
    culv_registration *r[2] = {POISON(culv_registration), POISON(culv_registration)};
    culv_registration *readback = POISON(culv_registration);
    culv_gl_readback_desc d = culv_gl_readback_desc_init();
    culv_gl_desc how = culv_gl_desc_init();
    CUsurfObject surface = 0;
    CUarray array = NULL;
    d.width = d.height = 16;
    how.get_proc_address = raw_gl_get_proc;
    CUstream stream = torture_open();
    TRY_AGAIN(culv_gl_attach(w->device, &how, &gl), gl == NULL);
    TRY_AGAIN(culv_gl_register_buffer(gl, buffer, NULL, &r[0]), r[0] == POISON(culv_registration));
    TRY_AGAIN(culv_gl_register_image(gl, image.name, GL_TEXTURE_2D, NULL, &r[1]),
              r[1] == POISON(culv_registration));
    TRY_AGAIN(culv_gl_readback_create(gl, &d, &readback), readback == POISON(culv_registration));
    for (int turn = 0; turn < 2; turn++) {
        TRY_AGAIN(culv_registration_map(r, 2, stream), !culv_registration_is_mapped(r[0]) &&
                                                           !culv_registration_is_mapped(r[1]) &&
                                                           culv_registration_pointer(r[0]) == 0);
        REQUIRE(culv_registration_pointer(r[0]) != 0);
        TRY_AGAIN(culv_image_get_surface(culv_registration_image(r[1]), 0, 0, &surface), true);
        TRY_AGAIN(culv_registration_get_array(r[1], 0, 1, &array), true);
        LIB_CU_OK(w, w->cu->MemsetD32Async(culv_registration_pointer(r[0]), 7, 1024, stream));
        TRY_AGAIN(culv_registration_unmap(r, 2, stream),
                  culv_registration_is_mapped(r[0]) && culv_registration_is_mapped(r[1]));
    }
    uint32_t words[1024];
    raw_gl_read_buffer(&context, buffer, words, sizeof words);
    REQUIRE_ALL(words, 1024, 7);
    TRY_AGAIN(culv_registration_map(r, 2, stream), true);
    TRY_AGAIN(culv_registration_destroy(&r[1]), r[1] != NULL); /* mapped */
    TRY_AGAIN(culv_registration_destroy(&r[0]), r[0] != NULL);
    TRY_AGAIN(culv_registration_destroy(&readback), readback != NULL);
    REQUIRE(r[0] == NULL && r[1] == NULL && readback == NULL);
    DO(culv_gl_detach(&gl));
    torture_close(stream);
}

static const torture_path path = {.any_driver = true,
                                  .unvalidated = true,
                                  .begin = register_begin,
                                  .run = run,
                                  .end = end,
                                  .least = {8, 0, 6}};
TORTURE_CASES("register", path)

static void made_begin(void)
{
    raw_gl_open(&context, torture.w.cu->software, 0, RAW_GL_CORE);
}

static void made_end(void)
{
    raw_gl_close(&context);
}

static void made_run(void)
{
    lib_world *w = &torture.w;
    culv_gl *gl = NULL;
    culv_shared_buffer *shared = POISON(culv_shared_buffer);
    culv_shared_image *picture = POISON(culv_shared_image);
    culv_shared_semaphore *turn = POISON(culv_shared_semaphore);
    culv_gl_desc how = culv_gl_desc_init();
    culv_gl_buffer_create_desc bd = culv_gl_buffer_create_desc_init();
    culv_gl_image_create_desc id = culv_gl_image_create_desc_init();
    uint32_t words[1024];
    how.get_proc_address = raw_gl_get_proc;
    bd.size = sizeof words;
    id.internal_format = GL_RGBA8;
    id.width = id.height = 16;
    CUstream stream = torture_open();
    TRY_AGAIN(culv_gl_attach(w->device, &how, &gl), gl == NULL);
    TRY_AGAIN(culv_gl_buffer_create(gl, &bd, &shared), shared == POISON(culv_shared_buffer));
    TRY_AGAIN(culv_gl_image_create(gl, &id, &picture), picture == POISON(culv_shared_image));
    TRY_AGAIN(culv_gl_semaphore_create(gl, NULL, &turn), turn == POISON(culv_shared_semaphore));
    LIB_CU_OK(w, w->cu->MemsetD32Async(culv_buffer_pointer(culv_shared_buffer_cuda(shared)), 7,
                                       1024, stream));
    lib_finish(w, stream);
    raw_gl_read_buffer(&context, culv_gl_buffer_name(shared), words, sizeof words);
    REQUIRE_ALL(words, 1024, 7);
    DO(culv_shared_semaphore_destroy(&turn, NULL));
    DO(culv_shared_image_destroy(&picture, NULL));
    DO(culv_shared_buffer_destroy(&shared, NULL));
    DO(culv_gl_detach(&gl));
    torture_close(stream);
}

static const torture_path made = {.any_driver = true,
                                  .unvalidated = true,
                                  .begin = made_begin,
                                  .run = made_run,
                                  .end = made_end,
                                  .least = {8, 6, 6}};
TORTURE_CASES("gl_made", made)
