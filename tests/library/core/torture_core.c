/* SPDX-License-Identifier: MIT */
/* Torture of the road of imports: rank, open, attach, import, map, signal, wait, and all back. */
#include "image_stage.h"
#include "raw_binary.h"
#include "torture.h"

#include <unistd.h>

static raw_vk_buffer shared;
static VkSemaphore timeline;
static uint64_t value; /* that the timeline has reached */

static void begin(void)
{
    raw_vk_buffer_create(&torture.w.vk, 65536, RAW_VK_EXPORT, &shared);
    timeline = raw_vk_timeline(&torture.w.vk, 0, true);
    close(raw_vk_timeline_fd(&torture.w.vk, timeline));
}

static void end(void)
{
    raw_vk_timeline_destroy(&torture.w.vk, timeline);
    raw_vk_buffer_destroy(&torture.w.vk, &shared);
}

static void run(void)
{
    lib_world *w = &torture.w;
    const raw_cuda *cu = w->cu;
    culv_device *device = POISON(culv_device);
    uint32_t count = 999, word = 0;
    CUcontext current = NULL;
    lib_fd fd = lib_fd_watch(raw_vk_buffer_fd(&w->vk, &shared));
    lib_fd fd2 = lib_fd_watch(raw_vk_timeline_fd(&w->vk, timeline));

    TRY_OPENING(
        culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w->vk.instance, NULL, NULL, 0, &count),
        count == 999);
    REQUIRE(count < 64);
    const unsigned failures = torture.failures;
    TRY_OPENING(lib_open_for_vk(w, vkGetInstanceProcAddr, NULL, &device),
                device == POISON(culv_device));
    if (torture.call != NULL && torture.failures == failures) {
        /* What the driver does not know, such a device does not have. */
        DO(culv_device_close(&device));
        LIB_OK(lib_open_for_vk(w, vkGetInstanceProcAddr, NULL, &device));
    }
    w->device = device;
    w->context = culv_device_context(device);
    culv_vk_device_desc vd = lib_vk_desc(w);
    TRY_NEW(culv_vk_device, vk, culv_vk_attach, device, &vd);

    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    md.memory = shared.memory;
    md.allocation_size = shared.allocation_size;
    md.buffer = shared.buffer;
    md.label = "tortured";
    TRY_NEW(culv_memory, memory, culv_vk_memory_import, vk, &md);
    culv_memory_desc d = lib_memory_desc(w, &shared, fd.fd);
    TRY_NEW(culv_memory, taken, culv_memory_import, device, &d);
    TRY_NEW(culv_buffer, one, culv_buffer_map, memory, NULL);
    culv_buffer_desc bd = culv_buffer_desc_init();
    bd.offset = 256;
    TRY_NEW(culv_buffer, two, culv_buffer_map, taken, &bd);
    culv_vk_semaphore_desc sd = culv_vk_semaphore_desc_init();
    sd.semaphore = timeline;
    sd.type = CULV_SEMAPHORE_TIMELINE;
    TRY_NEW(culv_semaphore, semaphore, culv_vk_semaphore_import, vk, &sd);
    culv_semaphore_desc rd = culv_semaphore_desc_init();
    rd.handle = culv_handle_opaque_fd(fd2.fd);
    rd.type = CULV_SEMAPHORE_TIMELINE;
    TRY_NEW(culv_semaphore, borrowed, culv_semaphore_import, device, &rd);

    CUstream stream = lib_stream(w);
    LIB_CU_OK(w, cu->MemsetD32Async(culv_buffer_pointer(one), 0x1234abcd, 256, stream));
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), value);
    TRY_AGAIN(culv_semaphore_signal(semaphore, stream, value + 1),
              culv_semaphore_last_value(semaphore) == value);
    value++;
    TRY_AGAIN(culv_semaphore_wait(borrowed, stream, value), true);
    lib_finish(w, stream);
    /* The same memory, by another import */
    LIB_CU_OK(w, cu->MemcpyDtoH(&word, culv_buffer_pointer(two), 4));
    REQUIRE_EQ(word, 0x1234abcd);
    culv_device_counts counts = culv_device_counts_init();
    TRY_AGAIN(culv_device_get_counts(device, &counts), true);
    DO(culv_semaphore_destroy(&borrowed, &stream));
    DO(culv_semaphore_destroy(&semaphore, NULL));
    DO(culv_buffer_unmap(&two, &stream));
    DO(culv_buffer_unmap(&one, NULL));
    DO(culv_memory_destroy(&taken));
    DO(culv_memory_destroy(&memory));
    DO(culv_vk_detach(&vk));
    lib_stream_destroy(w, stream);
    w->device = NULL;
    DO(culv_device_close(&device));
    REQUIRE(borrowed == NULL && semaphore == NULL && two == NULL && one == NULL);
    REQUIRE(taken == NULL && memory == NULL && vk == NULL && device == NULL);
    CU_OK(cu->CtxGetCurrent(&current));
    REQUIRE(current == NULL);
    lib_fd_end(&fd, true);
    lib_fd_end(&fd2, true);
}

TORTURE(import, .any_driver = true, .begin = begin, .run = run, .end = end, .least = {4, 4, 4})

/* Torture of buffers and images: those that Culvert makes, and a caller's image mapped. */

enum { LEVELS = 2 };

/* Every level's array and surface, in either order. */
static void ask_for_levels(culv_image *image, bool surface_first)
{
    for (uint32_t level = 0; level < LEVELS; level++) {
        CUarray array = NULL;
        CUsurfObject surface = 0;
        if (surface_first)
            TRY_AGAIN(culv_image_get_surface(image, level, 0, &surface), surface == 0);
        TRY_AGAIN(culv_image_get_array(image, level, 0, &array), array == NULL);
        TRY_AGAIN(culv_image_get_surface(image, level, 0, &surface), surface == 0);
        REQUIRE(array != NULL && surface != 0);
    }
}

static void require_counts(uint64_t buffers, uint64_t images, uint64_t created)
{
    culv_device_counts c = culv_device_counts_init();
    TRY_AGAIN(culv_device_get_counts(torture.w.device, &c), true);
    REQUIRE_EQ(c.buffers, buffers);
    REQUIRE_EQ(c.images, images);
    REQUIRE_EQ(c.created, created);
    REQUIRE_EQ(c.memories, buffers + images);
    REQUIRE_EQ(c.mappings, buffers + images);
    REQUIRE_EQ(c.attached_devices, 1);
}

/* Those that Culvert makes --------------------------------------------------------------------- */

static void buffers_run(void)
{
    lib_world *w = &torture.w;
    const VkBufferCreateInfo info = raw_vk_buffer_info(70000, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    d.label = "tortured";
    CUstream stream = torture_open();
    TRY_NEW(culv_shared_buffer, one, culv_vk_buffer_create, w->attachment, &d);
    TRY_NEW(culv_shared_buffer, two, culv_vk_buffer_create, w->attachment, &d);
    LIB_CU_OK(w, w->cu->MemsetD32Async(culv_buffer_pointer(culv_shared_buffer_cuda(one)), 7, 100,
                                       stream));
    require_counts(2, 0, 2);
    DO(culv_shared_buffer_destroy(&one, &stream));
    lib_finish(w, stream);
    DO(culv_shared_buffer_destroy(&two, NULL));
    REQUIRE(one == NULL && two == NULL);
    torture_close(stream);
}

static void images_run(void)
{
    lib_world *w = &torture.w;
    const VkImageCreateInfo info = image_info(VK_FORMAT_R8G8B8A8_UNORM, 61, 33, LEVELS, 0, NULL);
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    d.label = "tortured";
    CUstream stream = torture_open();
    TRY_NEW(culv_shared_image, one, culv_vk_image_create, w->attachment, &d);
    TRY_NEW(culv_shared_image, two, culv_vk_image_create, w->attachment, &d);
    ask_for_levels(culv_shared_image_cuda(one), false);
    ask_for_levels(culv_shared_image_cuda(two), true);
    require_counts(0, 2, 2);
    DO(culv_shared_image_destroy(&one, &stream));
    lib_finish(w, stream);
    DO(culv_shared_image_destroy(&two, NULL));
    REQUIRE(one == NULL && two == NULL);
    torture_close(stream);
}

/* The caller's --------------------------------------------------------------------------------- */

static raw_vk_image callers;

static void callers_begin(void)
{
    const raw_vk_image_desc d = {.format = VK_FORMAT_R16G16B16A16_SFLOAT,
                                 .width = 61,
                                 .height = 33,
                                 .levels = LEVELS,
                                 .flags = RAW_VK_EXPORT | RAW_VK_DEDICATED | RAW_VK_UNTOUCHED};
    raw_vk_image_create(&torture.w.vk, &d, &callers);
}

static void callers_end(void)
{
    raw_vk_image_destroy(&torture.w.vk, &callers);
}

static void callers_run(void)
{
    lib_world *w = &torture.w;
    CUstream stream = torture_open();
    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    md.memory = callers.memory;
    md.allocation_size = callers.allocation_size;
    md.dedicated = VK_TRUE;
    md.image = callers.image;
    TRY_NEW(culv_memory, memory, culv_vk_memory_import, w->attachment, &md);
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = image_info(callers.desc.format, 61, 33, LEVELS, 0, &external);
    culv_vk_image_desc d = culv_vk_image_desc_init();
    d.image = callers.image;
    d.create_info = &info;
    TRY_NEW(culv_image, one, culv_vk_image_map, w->attachment, memory, &d);
    ask_for_levels(one, true);
    require_counts(0, 1, 0);
    DO(culv_image_unmap(&one, NULL));
    TRY_NEW(culv_image, two, culv_vk_image_map, w->attachment, memory, &d);
    ask_for_levels(two, false);
    DO(culv_memory_destroy(&memory));
    DO(culv_image_unmap(&two, &stream));
    REQUIRE(memory == NULL && one == NULL && two == NULL);
    torture_close(stream);
}

/* Of several planes ---------------------------------------------------------------------------- */

enum { PLANE = 65536 };
static raw_vk_buffer plain;

static void planes_begin(void)
{
    raw_vk_buffer_create(&torture.w.vk, 2 * PLANE, RAW_VK_EXPORT, &plain);
}

static void planes_end(void)
{
    raw_vk_buffer_destroy(&torture.w.vk, &plain);
}

static void ask_for_planes(culv_image *image)
{
    for (uint32_t plane = 0; plane < 2; plane++) {
        CUarray array = NULL;
        CUsurfObject surface = 0;
        TRY_AGAIN(culv_image_get_array(image, 0, plane, &array), array == NULL);
        TRY_AGAIN(culv_image_get_surface(image, 0, plane, &surface), surface == 0);
        REQUIRE(array != NULL && surface != 0);
    }
}

/* On a buffer's memory, and as a DISJOINT image where Vulkan has such. */
static void planes_run(void)
{
    lib_world *w = &torture.w;
    culv_shared_image *two = POISON(culv_shared_image);
    VkImageCreateInfo info = image_info(VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, 32, 16, 1, 0, NULL);
    info.flags = VK_IMAGE_CREATE_DISJOINT_BIT;
    CUstream stream = torture_open();
    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    md.memory = plain.memory;
    md.allocation_size = plain.allocation_size;
    TRY_NEW(culv_memory, memory, culv_vk_memory_import, w->attachment, &md);
    culv_image_desc d = culv_image_desc_init();
    d.format = CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM;
    d.width = 32;
    d.height = 16;
    d.plane_offsets[1] = PLANE;
    TRY_NEW(culv_image, one, culv_image_map, memory, &d);
    ask_for_planes(one);
    require_counts(0, 1, 0);
    DO(culv_memory_destroy(&memory));
    if (lib_disjoint(w, info.format)) {
        culv_vk_image_create_desc made = culv_vk_image_create_desc_init();
        made.create_info = &info;
        TRY_AGAIN(culv_vk_image_create(w->attachment, &made, &two),
                  two == POISON(culv_shared_image));
        ask_for_planes(culv_shared_image_cuda(two));
        require_counts(0, 2, 1);
        DO(culv_shared_image_destroy(&two, NULL));
    }
    DO(culv_image_unmap(&one, &stream));
    lib_finish(w, stream);
    torture_close(stream);
}

TORTURE(buffers, .any_driver = true, .run = buffers_run, .least = {6, 6, 4})
TORTURE(images, .any_driver = true, .unvalidated = true, .run = images_run, .least = {8, 6, 4})
TORTURE(callers, .any_driver = true, .begin = callers_begin, .run = callers_run, .end = callers_end,
        .least = {8, 2, 3})
TORTURE(planes, .any_driver = true, .unvalidated = true, .begin = planes_begin, .run = planes_run,
        .end = planes_end, .least = {7, 1, 2})

/* Torture of files of kernels: loaded, asked for a kernel, launched, unloaded. */

static char share[TEST_PATH_MAX];

static void kernels_begin(void)
{
    lib_with_option("--validation=off"); /* no Vulkan is used */
    test_path(share, "share/culvert");
}

static void kernels_run(void)
{
    enum { BYTES = 60000 };
    lib_world *w = &torture.w;
    CUstream stream = torture_open();
    CUdeviceptr to = 0;
    CUcontext current = lib_enter(w);
    CU_OK(w->cu->MemAlloc(&to, BYTES));
    lib_leave(w, current);
    int bytes = BYTES;
    unsigned seed = 1;
    TRY_NEW(culv_kernels, kernels, culv_kernels_load, w->device, share, "block_kernels");
    TRY_NEW(culv_kernel, touch, culv_kernels_get, kernels, "block_touch");
    culv_launch_desc d = culv_launch_1d(1, 1, stream);
    d.shared_bytes = BYTES;
    const culv_kernel_arg args[] = {CULV_ARG(to), CULV_ARG(bytes), CULV_ARG(seed)};
    TRY_AGAIN(culv_kernel_launch(touch, &d, args, 3), true);
    lib_finish(w, stream);
    current = lib_enter(w);
    CU_OK(w->cu->MemFree(to));
    lib_leave(w, current);
    DO(culv_kernels_unload(&kernels));
    REQUIRE(kernels == NULL);
    torture_close(stream);
}

TORTURE(kernels, .begin = kernels_begin, .run = kernels_run, .least = {8, 0, 3})

/* Torture of semaphores: those that Culvert makes; binary ones by fd and by Vulkan; batches of both
 * types. */

/* Those that Culvert makes --------------------------------------------------------------------- */

static void made_run(void)
{
    lib_world *w = &torture.w;
    CUstream stream = torture_open();
    TRY_NEW(culv_shared_semaphore, one, culv_vk_semaphore_create, w->attachment, NULL);
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    d.initial_value = 5;
    d.label = "tortured";
    TRY_NEW(culv_shared_semaphore, two, culv_vk_semaphore_create, w->attachment, &d);
    culv_semaphore *out = culv_shared_semaphore_cuda(one), *in = culv_shared_semaphore_cuda(two);
    TRY_AGAIN(culv_semaphore_signal(out, stream, 1), culv_semaphore_last_value(out) == 0);
    REQUIRE_EQ(culv_semaphore_last_value(out), 1);
    TRY_AGAIN(culv_semaphore_wait(in, stream, 5), true);
    TRY_AGAIN(culv_stream_wait_stream(w->device, NULL, stream), true);
    TRY_AGAIN(culv_stream_wait_stream(w->device, stream, NULL), true);
    TRY_AGAIN(culv_shared_semaphore_wait_on_host(two, 5, 0), true);
    REQUIRE(raw_vk_timeline_wait(&w->vk, culv_vk_semaphore_handle(one), 1, TEST_FAR_MS));
    const culv_semaphore_point points[] = {{out, 2}, {in, 6}};
    TRY_AGAIN(culv_semaphore_signal_batch(points, 2, stream),
              culv_semaphore_last_value(out) == 1 && culv_semaphore_last_value(in) == 5);
    REQUIRE(raw_vk_timeline_wait(&w->vk, culv_vk_semaphore_handle(two), 6, TEST_FAR_MS));
    culv_device_counts counts = culv_device_counts_init();
    TRY_AGAIN(culv_device_get_counts(w->device, &counts), true);
    REQUIRE_EQ(counts.created, 2);
    REQUIRE_EQ(counts.semaphores, 2);
    lib_finish(w, stream);
    DO(culv_shared_semaphore_destroy(&one, &stream));
    DO(culv_shared_semaphore_destroy(&two, NULL));
    REQUIRE(one == NULL && two == NULL);
    torture_close(stream);
}

TORTURE(made, .any_driver = true, .run = made_run, .least = {8, 4, 4})

/* Binary ones, and batches --------------------------------------------------------------------- */

static raw_binary other; /* played: its partner's driver calls are not counted */

static void binary_begin(void)
{
    raw_binary_create_played(torture.w.cu, torture.w.vk.id.deviceUUID, &other);
    timeline = raw_vk_timeline(&torture.w.vk, 0, true);
    close(raw_vk_timeline_fd(&torture.w.vk, timeline));
    value = 0;
}

static void binary_end(void)
{
    raw_vk_timeline_destroy(&torture.w.vk, timeline);
    raw_binary_destroy(&torture.w.vk, &other);
}

static bool has_reason(culv_result result, culv_reason reason)
{
    const culv_error e = lib_last_error();
    return result == CULV_ERROR_INVALID && e.reason == reason;
}

static bool unsignaled(culv_semaphore *semaphore)
{
    return has_reason(culv_semaphore_mark_waited(semaphore), CULV_REASON_WAIT_BEFORE_SIGNAL);
}

static bool signaled(culv_semaphore *semaphore)
{
    return has_reason(culv_semaphore_mark_signaled(semaphore), CULV_REASON_DOUBLE_SIGNAL);
}

/* The other side takes CUDA's signal, and gives one of its own. */
static void turn(culv_semaphore *semaphore)
{
    lib_world *w = &torture.w;
    REQUIRE(raw_binary_wait(&w->vk, w->cu, &other, TEST_FAR_MS));
    LIB_OK(culv_semaphore_mark_waited(semaphore));
    raw_binary_signal(&w->vk, w->cu, &other);
    LIB_OK(culv_semaphore_mark_signaled(semaphore));
}

static void binary_run(void)
{
    lib_world *w = &torture.w;
    CUstream stream = torture_open();
    culv_vk_device_desc vd = lib_vk_desc(w);
    lib_lying = (lib_lies){.plays_binaries = true, .binary_fd = other.peer};
    vd.get_instance_proc_addr = lib_lying_loader;
    NEW(culv_vk_device, vk, culv_vk_attach, w->device, &vd);
    culv_semaphore *taken = POISON(culv_semaphore), *borrowed = POISON(culv_semaphore);

    culv_semaphore_desc d = culv_semaphore_desc_init();
    d.type = CULV_SEMAPHORE_BINARY;
    d.handle = culv_handle_opaque_fd(raw_binary_fd(&w->vk, &other));
    lib_fd fd = lib_fd_watch(d.handle.value.fd);
    TRY_AGAIN(culv_semaphore_import(w->device, &d, &borrowed),
              borrowed == POISON(culv_semaphore) && (lib_fd_require_untouched(&fd), true));
    lib_fd_require_untouched(&fd);
    TRY_AGAIN(culv_semaphore_import(w->device, &d, &taken),
              taken == POISON(culv_semaphore) && (lib_fd_require_untouched(&fd), true));
    lib_fd_done(&fd, true);
    TRY_AGAIN(culv_semaphore_signal(taken, stream, 0), unsignaled(taken));
    turn(taken);
    TRY_AGAIN(culv_semaphore_wait(taken, stream, 0), signaled(taken));
    REQUIRE(unsignaled(taken));
    lib_finish(w, stream);

    culv_vk_semaphore_create_desc cd = culv_vk_semaphore_create_desc_init();
    cd.type = CULV_SEMAPHORE_BINARY;
    TRY_NEW(culv_shared_semaphore, made, culv_vk_semaphore_create, vk, &cd);
    culv_semaphore *cuda = culv_shared_semaphore_cuda(made),
                   *timed = lib_import_timeline(w, timeline);
    const culv_semaphore_point signals[] = {{timed, value + 1}, {cuda, 0}};
    TRY_AGAIN(culv_semaphore_signal_batch(signals, 2, stream),
              culv_semaphore_last_value(timed) == value && unsignaled(cuda));
    value++;
    turn(cuda);
    const culv_semaphore_point waits[] = {{cuda, 0}, {timed, value}};
    TRY_AGAIN(culv_semaphore_wait_batch(waits, 2, stream), signaled(cuda));
    lib_finish(w, stream);
    REQUIRE_EQ(raw_vk_timeline_value(&w->vk, timeline), value);

    DO(culv_semaphore_destroy(&borrowed, &stream));
    DO(culv_shared_semaphore_destroy(&made, &stream));
    DO(culv_semaphore_destroy(&timed, NULL));
    DO(culv_vk_detach(&vk));
    DO(culv_semaphore_destroy(&taken, NULL));
    REQUIRE(borrowed == NULL && made == NULL && timed == NULL && vk == NULL && taken == NULL);
    torture_close(stream);
}

TORTURE(binary, .begin = binary_begin, .run = binary_run, .end = binary_end, .least = {8, 1, 4})

/* Torture of handles: exports from Vulkan, memory made of one of them, and what is refused only
 * after the driver or the system was asked. */

enum { BYTES = 65536 };
static VkBuffer unbound;
static CUdeviceptr pointer; /* in the context that the driver holds for the path */

static void handles_begin(void)
{
    lib_world *w = &torture.w;
    raw_vk_buffer_create(&w->vk, BYTES, RAW_VK_EXPORT, &shared);
    timeline = raw_vk_timeline(&w->vk, 0, true);
    close(raw_vk_timeline_fd(&w->vk, timeline));
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .pNext = &external,
                                     .size = BYTES,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VK_OK(vkCreateBuffer(w->vk.device, &info, NULL, &unbound));
}

static void handles_end(void)
{
    vkDestroyBuffer(torture.w.vk.device, unbound, NULL);
    raw_vk_timeline_destroy(&torture.w.vk, timeline);
    raw_vk_buffer_destroy(&torture.w.vk, &shared);
}

static culv_handle poison(void)
{
    culv_handle h;
    memset(&h, 0x5a, sizeof h);
    return h;
}

static bool poisoned(const culv_handle *h)
{
    const culv_handle expected = poison();
    return memcmp(h, &expected, sizeof expected) == 0;
}

/* A call that the machine refuses, when nothing fails before; what an injected failure answers
 * instead must fit it. */
#define TRY_REFUSED(made, refusal)                                                                 \
    do {                                                                                           \
        lib_forget_error();                                                                        \
        torture_arm();                                                                             \
        culv_result r_ = (made);                                                                   \
        bool hit_ = torture_disarm();                                                              \
        if (r_ != (refusal) && hit_)                                                               \
            torture_failed(#made, r_, true, false);                                                \
        else                                                                                       \
            REQUIRE_EQ(r_, refusal);                                                               \
    } while (0)

static void handles_run(void)
{
    lib_world *w = &torture.w;
    const raw_cuda *cu = w->cu;
    culv_handle memory_fd = poison(), semaphore_fd = poison(), copy = poison(), none = poison();
    VkDeviceMemory second = VK_NULL_HANDLE;
    culv_memory *never = POISON(culv_memory);
    CUstream stream = torture_open();
    LIB_CU_OK(w, cu->MemAlloc(&pointer, BYTES));

    TRY_AGAIN(
        culv_vk_memory_export_dup(w->attachment, shared.memory, CULV_HANDLE_OPAQUE_FD, &memory_fd),
        poisoned(&memory_fd));
    TRY_AGAIN(
        culv_vk_semaphore_export_dup(w->attachment, timeline, CULV_HANDLE_OPAQUE_FD, &semaphore_fd),
        poisoned(&semaphore_fd));
    TRY_AGAIN(culv_handle_dup(&memory_fd, &copy), poisoned(&copy));
    lib_fd fd = lib_fd_watch(memory_fd.value.fd);
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.handle = memory_fd;
    d.size = shared.allocation_size;
    d.buffer = unbound;
    TRY_AGAIN(culv_vk_memory_from_handle(w->attachment, &d, &second), second == VK_NULL_HANDLE);
    lib_fd_require_untouched(&fd);
    d.handle.type = CULV_HANDLE_DMA_BUF_FD;
    VkDeviceMemory third = VK_NULL_HANDLE;
    if (!w->vk.dma_buf) {
        TRY_REFUSED(culv_vk_memory_from_handle(w->attachment, &d, &third), CULV_ERROR_UNSUPPORTED);
        TRY_REFUSED(
            culv_vk_memory_export_dup(w->attachment, shared.memory, CULV_HANDLE_DMA_BUF_FD, &none),
            CULV_ERROR_UNSUPPORTED);
    }
    culv_memory_desc md = lib_memory_desc(w, &shared, memory_fd.value.fd);
    md.handle.type = CULV_HANDLE_DMA_BUF_FD;
    TRY_REFUSED(culv_memory_import(w->device, &md, &never), CULV_ERROR_UNSUPPORTED);
    TRY_REFUSED(culv_dma_buf_export_dup(w->device, pointer, BYTES, 0, &none),
                CULV_ERROR_UNSUPPORTED);
    REQUIRE(poisoned(&none) && never == POISON(culv_memory) && third == VK_NULL_HANDLE);
    lib_fd_end(&fd, false);

    vkFreeMemory(w->vk.device, second, NULL);
    DO(culv_handle_close(&memory_fd));
    DO(culv_handle_close(&semaphore_fd));
    DO(culv_handle_close(&copy));
    LIB_CU_OK(w, cu->MemFree(pointer));
    torture_close(stream);
}

TORTURE(handles, .begin = handles_begin, .run = handles_run, .end = handles_end, .least = {4, 3, 1})
