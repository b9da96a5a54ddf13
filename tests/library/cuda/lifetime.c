/* SPDX-License-Identifier: MIT */
/* Objects given up in any order, and by several threads. */
#define TEST_GROUP "order."
#include "library.h"

/* Orders --------------------------------------------------------------------------------------- */

enum { OBJECTS = 6 }; /* memory, two buffers, semaphore, attachment, device */

typedef struct objects {
    culv_memory *memory;
    culv_buffer *one, *two;
    culv_semaphore *semaphore;
    culv_vk_device *vk;
    culv_device *device;
} objects;

static void make(const lib_world *w, const raw_vk_buffer *buffer, VkSemaphore timeline, objects *o)
{
    culv_vk_device_desc vd = lib_vk_desc(w);
    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    culv_vk_semaphore_desc sd = culv_vk_semaphore_desc_init();
    culv_buffer_desc bd = culv_buffer_desc_init();
    LIB_OK(culv_device_open_for_vk(vkGetInstanceProcAddr, w->vk.instance, w->vk.physical, NULL,
                                   &o->device));
    LIB_OK(culv_vk_attach(o->device, &vd, &o->vk));
    md.memory = buffer->memory;
    md.allocation_size = buffer->allocation_size;
    LIB_OK(culv_vk_memory_import(o->vk, &md, &o->memory));
    LIB_OK(culv_buffer_map(o->memory, NULL, &o->one));
    bd.offset = 4096;
    LIB_OK(culv_buffer_map(o->memory, &bd, &o->two));
    sd.semaphore = timeline;
    sd.type = CULV_SEMAPHORE_TIMELINE;
    LIB_OK(culv_vk_semaphore_import(o->vk, &sd, &o->semaphore));
}

static void give_up(objects *o, int which)
{
    switch (which) {
    case 0: culv_memory_destroy(&o->memory); break;
    case 1: culv_buffer_unmap(&o->one); break;
    case 2: culv_buffer_unmap(&o->two); break;
    case 3: culv_semaphore_destroy(&o->semaphore); break;
    case 4: culv_vk_detach(&o->vk); break;
    default: culv_device_close(&o->device); break;
    }
}

/* The n-th order of OBJECTS things. */
static void permutation(unsigned n, int out[OBJECTS])
{
    int left[OBJECTS];
    for (int i = 0; i < OBJECTS; i++)
        left[i] = i;
    for (int i = 0; i < OBJECTS; i++) {
        unsigned choices = (unsigned)(OBJECTS - i), pick = n % choices;
        n /= choices;
        out[i] = left[pick];
        left[pick] = left[choices - 1];
    }
}

TEST(every_order, .title = "order.every_one", .time_limit = 240, .smoke = true)
{
    lib_world w;
    lib_open(&w); /* holds the primary context, so that what is forgotten in it shows */
    raw_vk_buffer buffer;
    raw_vk_buffer_create(&w.vk, 65536, RAW_VK_EXPORT, &buffer);
    VkSemaphore timeline = raw_vk_timeline(&w.vk, 0, true);
    objects warm = {0}; /* Vulkan's side keeps an fd from a semaphore's first export on */
    make(&w, &buffer, timeline, &warm);
    for (int i = 0; i < OBJECTS; i++)
        give_up(&warm, i);
    size_t fds = test_open_fds();
    for (unsigned n = 0; n < 720; n++) {
        objects o = {0};
        int order[OBJECTS];
        permutation(n, order);
        make(&w, &buffer, timeline, &o);
        for (int i = 0; i < OBJECTS; i++)
            give_up(&o, order[i]);
        REQUIRE(o.memory == NULL && o.one == NULL && o.two == NULL);
        REQUIRE(o.semaphore == NULL && o.vk == NULL && o.device == NULL);
        lib_require_driver_counts(&w, 0, 0, 0);
        if (w.cu->software) REQUIRE_EQ(test_open_fds(), fds);
        for (int i = 0; i < OBJECTS; i++) /* once more: nothing happens */
            give_up(&o, i);
    }
    REQUIRE_EQ(test_open_fds(), fds);
    raw_vk_timeline_destroy(&w.vk, timeline);
    raw_vk_buffer_destroy(&w.vk, &buffer);
    lib_close(&w);
}

/* The driver sees the unmapping before the import's release: counts in between. */
LIB_CASE(mapping_goes_before_import)
{
    raw_vk_buffer vk;
    raw_vk_buffer_create(&w->vk, 65536, RAW_VK_EXPORT, &vk);
    culv_memory *memory = lib_import(w, &vk);
    culv_buffer *buffer = NULL;
    LIB_OK(culv_buffer_map(memory, NULL, &buffer));
    culv_memory_destroy(&memory);
    REQUIRE_EQ(lib_counts(w).memories, 1); /* the buffer holds it */
    lib_require_driver_counts(w, 1, 1, 0);
    culv_buffer_unmap(&buffer);
    lib_settle(w);
    REQUIRE_EQ(lib_counts(w).memories, 0);
    lib_require_driver_counts(w, 0, 0, 0);
    raw_vk_buffer_destroy(&w->vk, &vk);
}

/* Threads -------------------------------------------------------------------------------------- */

/* R8: a capture in global mode goes on, whatever is imported, mapped and given up meanwhile. */
LIB_CASE(capture_is_left_alone, .title = "capture.is_left_alone")
{
    const raw_cuda *cu = w->cu;
    if (cu->StreamBeginCapture == NULL || cu->StreamEndCapture == NULL || cu->GraphDestroy == NULL)
        SKIP("this driver does not capture streams");
    raw_vk_buffer vk;
    raw_vk_buffer_create(&w->vk, 65536, RAW_VK_EXPORT, &vk);
    VkSemaphore timeline = raw_vk_timeline(&w->vk, 0, true);
    CUstream captured = lib_stream(w), other = lib_stream(w);
    CUgraph graph = NULL;
    CUcontext before = lib_enter(w);
    CU_OK(cu->StreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
    culv_memory *memory = lib_import(w, &vk);
    culv_buffer *one = NULL, *two = NULL, *three = NULL;
    LIB_OK(culv_buffer_map(memory, NULL, &one));
    LIB_OK(culv_buffer_map(memory, NULL, &two));
    LIB_OK(culv_buffer_map(memory, NULL, &three));
    culv_semaphore *semaphore = lib_import_timeline(w, timeline);
    LIB_OK(culv_semaphore_signal(semaphore, other, 1));
    culv_buffer_unmap_after(&one, other);
    culv_buffer_unmap_after(&two, captured); /* its event must not become part of the graph */
    culv_buffer_unmap(&three);
    culv_semaphore_destroy_after(&semaphore, other);
    culv_memory_destroy(&memory);
    (void)lib_counts(w);
    CU_OK(cu->StreamEndCapture(captured, &graph));
    REQUIRE(graph != NULL);
    CU_OK(cu->GraphDestroy(graph));
    lib_leave(w, before);
    lib_settle(w);
    lib_stream_destroy(w, captured);
    lib_stream_destroy(w, other);
    raw_vk_timeline_destroy(&w->vk, timeline);
    raw_vk_buffer_destroy(&w->vk, &vk);
}
