/* SPDX-License-Identifier: MIT */
/* Fallbacks: what waits for the GPU and what does not, and what goes before the VkDevice may. */
#define TEST_GROUP "waits."
#include "fallback_scene.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BYTES = 65536 };

/* Holds streams up. Nobody is to wait for it as long as it is closed; who does is found out after a
 * while. */
static struct {
    atomic_bool open, late;
    bool spins; /* whoever waits in the driver does */
} gate;

static void CUDA_CB hold(void *user)
{
    (void)user;
    for (unsigned i = 0; !atomic_load(&gate.open); i++) {
        if (i == TEST_FAR_MS) atomic_store(&gate.late, true);
        if (i == TEST_FAR_MS) return;
        lib_sleep_ms(1);
    }
}

static void close_gate(void)
{
    atomic_store(&gate.open, false);
    atomic_store(&gate.late, false);
}

static void open_gate(void)
{
    REQUIRE(!atomic_load(&gate.late));
    atomic_store(&gate.open, true);
}

static void hold_stream(const scene *s, CUstream stream)
{
    gate.spins = !s->w.cu->software;
    LIB_CU_OK(&s->w, s->w.cu->LaunchHostFunc(stream, hold, NULL));
}

/* Once the case waits: it sleeps in a call of the driver's. NVIDIA's driver spins there. */
static void *open_later(void *user)
{
    if (gate.spins)
        lib_sleep_ms(200);
    else
        (void)test_asleep(0, *(const int *)user, 20);
    atomic_store(&gate.open, true);
    return NULL;
}

static pthread_t start_opener(void)
{
    static int waiter;
    pthread_t thread;
    waiter = (int)syscall(SYS_gettid);
    REQUIRE(pthread_create(&thread, NULL, open_later, &waiter) == 0);
    return thread;
}

static void require_opened(pthread_t opener)
{
    bool open = atomic_load(&gate.open);
    REQUIRE(pthread_join(opener, NULL) == 0);
    REQUIRE(open); /* what was called before has waited for it */
}

/* Both GPUs are busy, and what the copies between them are verified with waits for neither. */
TEST(verified_beside_work, .smoke = true)
{
    static scene s;
    culv_shared_buffer *buffer = NULL;
    CUcontext far = NULL, popped = NULL;
    CUstream there = NULL;
    scene_open_bare(&s, SCENE_PEER);
    const raw_cuda *cu = s.w.cu;
    if (!cu->software) {
        scene_close(&s);
        SKIP("what other calls of a real driver wait for is not known");
    }
    s.stream = lib_stream(&s.w);
    CU_OK(cu->DevicePrimaryCtxRetain(&far, 0));
    CU_OK(cu->CtxPushCurrent(far));
    CU_OK(cu->StreamCreate(&there, CU_STREAM_NON_BLOCKING));
    close_gate();
    CU_OK(cu->LaunchHostFunc(there, hold, NULL));
    CU_OK(cu->CtxPopCurrent(&popped));
    hold_stream(&s, s.stream);
    LIB_OK(scene_buffer(&s, BYTES, CULV_FALLBACK_PEER, &buffer));
    open_gate();
    culv_shared_buffer_destroy(&buffer, NULL);
    CU_OK(cu->CtxPushCurrent(far));
    CU_OK(cu->StreamSynchronize(there));
    CU_OK(cu->StreamDestroy(there));
    CU_OK(cu->CtxPopCurrent(&popped));
    CU_OK(cu->DevicePrimaryCtxRelease(0));
    scene_close(&s);
}

/* Nor where they are wrong. */
TEST(wrong_copies_beside_work)
{
    static scene s;
    culv_shared_buffer *buffer = NULL;
    scene_open_bare(&s, SCENE_PEER);
    const raw_cuda *cu = s.w.cu;
    if (cu->SoftSpoilPeers == NULL) {
        scene_close(&s);
        SKIP("only the twin's copies go wrong on demand");
    }
    s.stream = lib_stream(&s.w);
    close_gate();
    hold_stream(&s, s.stream);
    cu->SoftSpoilPeers(1);
    LIB_REFUSES(buffer, scene_buffer(&s, BYTES, CULV_FALLBACK_PEER, &buffer), UNSUPPORTED, PEER);
    cu->SoftSpoilPeers(0);
    open_gate();
    scene_close(&s);
}

static culv_shared_image *make_image(const scene *s, VkFormat format)
{
    culv_shared_image *image = NULL;
    const VkImageCreateInfo info = raw_vk_image_info(
        format, 32, 16, VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    d.fallback = CULV_FALLBACK_ANY;
    LIB_OK(culv_vk_image_create(s->w.attachment, &d, &image));
    return image;
}

/* Everything given up while its own stream and another one of the context are held up. */
static void after_waits_for_nothing(scene_kind kind)
{
    static scene s;
    culv_shared_buffer *buffer = NULL;
    culv_shared_semaphore *semaphore = NULL;
    if (kind != SCENE_PEER)
        lib_with_option("--validation=off"); /* fallback_scene.c, scene_signal() */
    scene_open(&s, kind);
    CUstream other = lib_stream(&s.w);
    LIB_OK(scene_buffer(&s, BYTES, CULV_FALLBACK_ANY, &buffer));
    LIB_OK(scene_semaphore(&s, CULV_FALLBACK_ANY, &semaphore));
    culv_shared_image *arrays = make_image(&s, VK_FORMAT_R8G8B8A8_UNORM);
    culv_shared_image *linear = make_image(&s, VK_FORMAT_D32_SFLOAT_S8_UINT);
    /* Before the gate: copies of memory that the driver has not pinned hold up the caller. */
    LIB_OK(culv_buffer_copy(culv_shared_buffer_cuda(buffer), CULV_COPY_UPLOAD, s.stream));
    LIB_OK(culv_image_copy(culv_shared_image_cuda(arrays), CULV_COPY_UPLOAD, s.stream));
    LIB_OK(culv_image_copy(culv_shared_image_cuda(linear), CULV_COPY_DOWNLOAD, s.stream));
    close_gate();
    hold_stream(&s, s.stream);
    hold_stream(&s, other);
    LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(semaphore), s.stream, 1));
    culv_shared_buffer_destroy(&buffer, &s.stream);
    culv_shared_image_destroy(&arrays, &s.stream);
    culv_shared_image_destroy(&linear, &s.stream);
    culv_shared_semaphore_destroy(&semaphore, &s.stream);
    REQUIRE(buffer == NULL && arrays == NULL && linear == NULL && semaphore == NULL);
    REQUIRE_EQ(lib_counts(&s.w).deferred, 4);
    open_gate();
    lib_finish(&s.w, other);
    lib_stream_destroy(&s.w, other);
    scene_close(&s);
}

TEST_AS(after_pages, after_waits_for_nothing(SCENE_PAGES), .title = "waits.after.pages",
        .own = true)
TEST_AS(after_mapped, after_waits_for_nothing(SCENE_MAPPED), .title = "waits.after.mapped",
        .own = true)
TEST_AS(after_peer, after_waits_for_nothing(SCENE_PEER), .title = "waits.after.peer", .own = true)

/* A semaphore stays as long as a host function is to come, whatever the stream of last use has
 * done. */
TEST(host_function_in_another_stream, .own = true)
{
    static scene s;
    culv_shared_semaphore *semaphore = NULL;
    lib_with_option("--validation=off");
    scene_open(&s, SCENE_PAGES);
    CUstream idle = lib_case_stream(&s.w);
    LIB_OK(scene_semaphore(&s, CULV_FALLBACK_ANY, &semaphore));
    close_gate();
    hold_stream(&s, s.stream);
    LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(semaphore), s.stream, 1));
    culv_shared_semaphore_destroy(&semaphore, &idle);
    lib_finish(&s.w, idle);
    for (int i = 0; i < 3; i++)
        REQUIRE_EQ(culv_device_collect(s.w.device), 1);
    open_gate();
    lib_finish(&s.w, s.stream);
    lib_settle(&s.w);
    scene_close(&s);
}

static culv_soft_vk_counts layer_counts(void)
{
    lib_layer layer;
    culv_soft_vk_counts c = {.struct_size = sizeof c};
    if (lib_layer_find(&layer)) layer.counts(&c);
    return c;
}

static void require_the_same(const culv_soft_vk_counts *before)
{
    culv_soft_vk_counts now = layer_counts();
    REQUIRE_EQ(now.buffers, before->buffers);
    REQUIRE_EQ(now.images, before->images);
    REQUIRE_EQ(now.memories, before->memories);
    REQUIRE_EQ(now.all_semaphores, before->all_semaphores);
}

/* As scene_open_bare() does, once more. */
static void attach(scene *s)
{
    culv_vk_device_desc d = lib_vk_desc(&s->w);
    d.get_instance_proc_addr = lib_lying_loader;
    d.fallback = CULV_FALLBACK_ANY;
    LIB_OK(culv_vk_attach(s->w.device, &d, &s->w.attachment));
}

/* The VkDevice may go once nothing of an attachment is left, the attachment itself included: what
 * was deferred is waited for then. */
static void last_one_waits(bool detached_first)
{
    static scene s;
    culv_shared_buffer *buffer = NULL;
    culv_shared_semaphore *semaphore = NULL;
    lib_with_option("--validation=off");
    scene_open_bare(&s, SCENE_MAPPED);
    s.stream = lib_stream(&s.w);
    culv_soft_vk_counts before = layer_counts();
    LIB_OK(scene_buffer(&s, BYTES, CULV_FALLBACK_ANY, &buffer));
    LIB_OK(scene_semaphore(&s, CULV_FALLBACK_ANY, &semaphore));
    culv_shared_image *image = make_image(&s, VK_FORMAT_R8G8B8A8_UNORM);
    LIB_OK(culv_buffer_copy(culv_shared_buffer_cuda(buffer), CULV_COPY_DOWNLOAD, s.stream));
    LIB_OK(culv_image_copy(culv_shared_image_cuda(image), CULV_COPY_UPLOAD, s.stream));
    close_gate();
    hold_stream(&s, s.stream);
    LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(semaphore), s.stream, 1));
    if (detached_first) culv_vk_detach(&s.w.attachment);
    culv_shared_buffer_destroy(&buffer, &s.stream);
    culv_shared_semaphore_destroy(&semaphore, &s.stream);
    REQUIRE(!atomic_load(&gate.late));
    pthread_t opener = start_opener();
    culv_shared_image_destroy(&image, &s.stream);
    culv_vk_detach(&s.w.attachment);
    require_opened(opener);
    require_the_same(&before);
    REQUIRE_EQ(lib_counts(&s.w).deferred, 0);
    scene_close(&s);
}

TEST_AS(detach_waits, last_one_waits(false), .title = "waits.detach", .own = true)
TEST_AS(last_object_waits, last_one_waits(true), .title = "waits.last_object", .own = true)

static void need_twin(scene *s)
{
    if (s->w.cu->SoftFailAt != NULL) return;
    scene_close(s);
    SKIP("only the twin fails on demand");
}

/* CUDA refuses once to let go of what is Vulkan's: that goes with the attachment at the latest. */
TEST(refused_once)
{
    static scene s;
    scene_open_bare(&s, SCENE_MAPPED);
    need_twin(&s);
    culv_vk_detach(&s.w.attachment);
    culv_soft_vk_counts before = layer_counts();
    unsigned hits = 0;
    for (uint64_t n = 1; n == hits + 1; n++) {
        culv_shared_buffer *buffer = NULL;
        attach(&s);
        LIB_OK(scene_buffer(&s, BYTES, CULV_FALLBACK_ANY, &buffer));
        culv_shared_image *image = make_image(&s, VK_FORMAT_R8G8B8A8_UNORM);
        s.w.cu->SoftFailAt(n, CUDA_ERROR_UNKNOWN);
        culv_shared_buffer_destroy(&buffer, NULL);
        culv_shared_image_destroy(&image, NULL);
        hits += s.w.cu->SoftFailedCall() != NULL;
        s.w.cu->SoftFailAt(0, 0);
        culv_vk_detach(&s.w.attachment);
        require_the_same(&before);
        REQUIRE_EQ(lib_counts(&s.w).allocations, 0);
    }
    REQUIRE(hits > 8);
    scene_close(&s);
}

/* A call that is refused while it waits for a host function. Returns the name of that call, NULL:
 * there were less. */
static const char *destroyed_at(scene *s, uint64_t n, int code)
{
    culv_shared_semaphore *semaphore = NULL;
    LIB_OK(scene_semaphore(s, CULV_FALLBACK_ANY, &semaphore));
    close_gate();
    hold_stream(s, s->stream);
    LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(semaphore), s->stream, 1));
    pthread_t opener = start_opener();
    s->w.cu->SoftFailAt(n, code);
    culv_shared_semaphore_destroy(&semaphore, NULL);
    const char *call = s->w.cu->SoftFailedCall();
    s->w.cu->SoftFailAt(0, 0);
    require_opened(opener);
    lib_finish(&s->w, s->stream);
    lib_settle(&s->w);
    return call;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The host function uses the semaphore: it must be over, whatever the driver says meanwhile. */
TEST(refused_to_wait, .own = true)
{
    static scene s;
    unsigned asked = 0, hits = 0;
    lib_with_option("--validation=off");
    scene_open(&s, SCENE_PAGES);
    need_twin(&s);
    for (uint64_t n = 1; n == hits + 1; n++) {
        const char *call = destroyed_at(&s, n, CUDA_ERROR_UNKNOWN);
        hits += call != NULL;
        if (call == NULL || (!begins(call, "cuEventQuery") && !begins(call, "cuEventSynchronize")))
            continue;
        /* Nor is an answer that would stay with the context believed at once. */
        (void)destroyed_at(&s, n, CUDA_ERROR_ILLEGAL_ADDRESS);
        asked++;
    }
    REQUIRE(asked >= 2);
    scene_close(&s);
}
