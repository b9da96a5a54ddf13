/* SPDX-License-Identifier: MIT */
/* Binary semaphores by the Vulkan road: the caller's own and those that Culvert makes. */
#define TEST_GROUP "vulkan."
#include "library.h"
#include "raw_binary.h"

#include <inttypes.h>

typedef struct road {
    lib_world w;
    raw_binary other;
    culv_vk_device *vk; /* through which binary semaphores can be had */
    CUstream stream;
} road;

static void road_open(road *r)
{
    lib_open(&r->w);
    raw_binary_create(&r->w.vk, r->w.cu, &r->other);
    const culv_vk_device_desc d = lib_vk_desc(&r->w);
    r->vk = NULL;
    LIB_OK(culv_vk_attach(r->w.device, &d, &r->vk));
    r->stream = lib_stream(&r->w);
}

static void road_close(road *r)
{
    lib_finish(&r->w, r->stream);
    lib_settle(&r->w);
    culv_vk_detach(&r->vk);
    lib_stream_destroy(&r->w, r->stream);
    raw_binary_destroy(&r->w.vk, &r->other);
    lib_close(&r->w);
}

#define ROAD_CASE(...) TEST_ON(road, r, road_open(r), road_close(r), __VA_ARGS__)

/* Three turns in each direction. */
static void alternate(road *r, culv_semaphore *semaphore, const raw_binary *other)
{
    for (int i = 0; i < 3; i++) {
        LIB_OK(culv_semaphore_signal(semaphore, r->stream, 0));
        REQUIRE(raw_binary_wait(&r->w.vk, r->w.cu, other, TEST_FAR_MS));
        LIB_OK(culv_semaphore_mark_waited(semaphore));
        raw_binary_signal(&r->w.vk, r->w.cu, other);
        LIB_OK(culv_semaphore_mark_signaled(semaphore));
        LIB_OK(culv_semaphore_wait(semaphore, r->stream, 0));
        lib_finish(&r->w, r->stream);
    }
}

ROAD_CASE(imported)
{
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    d.semaphore = r->other.vk;
    d.type = CULV_SEMAPHORE_BINARY;
    NEW(culv_semaphore, semaphore, culv_vk_semaphore_import, r->vk, &d);
    LIB_INVALID(culv_semaphore_wait(semaphore, r->stream, 0), WAIT_BEFORE_SIGNAL);
    alternate(r, semaphore, &r->other);
    culv_semaphore_destroy(&semaphore, NULL);

    raw_binary_signal(&r->w.vk, r->w.cu, &r->other);
    d.signal_pending = 1;
    LIB_OK(culv_vk_semaphore_import(r->vk, &d, &semaphore));
    LIB_INVALID(culv_semaphore_mark_signaled(semaphore), DOUBLE_SIGNAL);
    LIB_OK(culv_semaphore_wait(semaphore, r->stream, 0));
    lib_finish(&r->w, r->stream);
    alternate(r, semaphore, &r->other);
    culv_semaphore_destroy(&semaphore, NULL);

    raw_binary_signal(&r->w.vk, r->w.cu, &r->other);
    d.signal_pending = 0;
    d.untracked = 1;
    LIB_OK(culv_vk_semaphore_import(r->vk, &d, &semaphore));
    LIB_OK(culv_semaphore_wait(semaphore, r->stream, 0)); /* nobody told of the signal */
    lib_finish(&r->w, r->stream);
    alternate(r, semaphore, &r->other);
    culv_semaphore_destroy(&semaphore, &r->stream);
}

ROAD_CASE(made)
{
    culv_shared_semaphore *made = NULL;
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    d.type = CULV_SEMAPHORE_BINARY;
    for (int i = 0; i < 2; i++) {
        d.untracked = i == 1;
        LIB_OK(culv_vk_semaphore_create(r->vk, &d, &made));
        REQUIRE(culv_vk_semaphore_handle(made) != VK_NULL_HANDLE);
        culv_semaphore *cuda = culv_shared_semaphore_cuda(made);
        REQUIRE_EQ(lib_counts(&r->w).created, 1);
        const raw_binary other = {.vk = culv_vk_semaphore_handle(made), .peer = -1};
        alternate(r, cuda, &other);
        if (d.untracked)
            LIB_OK(culv_semaphore_mark_waited(cuda)); /* a no-op */
        else
            LIB_INVALID(culv_semaphore_mark_waited(cuda), WAIT_BEFORE_SIGNAL);
        raw_vk_idle(&r->w.vk); /* Vulkan's use is over, and the validation layer knows */
        culv_shared_semaphore_destroy(&made, i != 0 ? &r->stream : NULL);
        REQUIRE(made == NULL);
    }
}

/* Each call of culv_vk_device_lost() lets one wait go; `calls`: as many as are allowed. */
static void lose_until_done(road *r, int calls)
{
    const double until = test_now_us() + TEST_FAR_MS * 1000.0;
    while (lib_query(&r->w, r->stream) == CUDA_ERROR_NOT_READY) {
        if (calls-- > 0) LIB_OK(culv_vk_device_lost(r->vk));
        lib_sleep_ms(1);
        if (test_now_us() > until) FAIL("the stream still waits");
    }
    lib_finish(&r->w, r->stream);
}

/* The VkDevice is lost, and with it a submission that was to signal: CUDA signals in its place.
 * What a GPU's driver does after a real loss is not known; here its VkDevice lives. */
ROAD_CASE(lost, .own = true)
{
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    d.semaphore = r->other.vk;
    d.type = CULV_SEMAPHORE_BINARY;
    culv_semaphore *untracked = NULL;
    culv_shared_semaphore *made = NULL;

    NEW(culv_semaphore, tracked, culv_vk_semaphore_import, r->vk, &d);
    for (int i = 0; i < 3; i++) { /* a second call signals what was added */
        LIB_OK(culv_semaphore_mark_signaled(tracked));
        LIB_OK(culv_semaphore_wait(tracked, r->stream, 0));
        REQUIRE_EQ(lib_query(&r->w, r->stream), CUDA_ERROR_NOT_READY);
        lose_until_done(r, 1);
    }
    culv_semaphore_destroy(&tracked, NULL);

    /* Two frames in flight: each call lets one go, or the same one twice. */
    d.untracked = 1;
    LIB_OK(culv_vk_semaphore_import(r->vk, &d, &untracked));
    LIB_OK(culv_semaphore_wait(untracked, r->stream, 0));
    LIB_OK(culv_semaphore_wait(untracked, r->stream, 0));
    lose_until_done(r, 1000000);
    culv_semaphore_destroy(&untracked, NULL);

    /* The destroy of one that Culvert made signals what was added since. */
    culv_vk_semaphore_create_desc m = culv_vk_semaphore_create_desc_init();
    m.type = CULV_SEMAPHORE_BINARY;
    m.untracked = 1;
    LIB_OK(culv_vk_semaphore_create(r->vk, &m, &made));
    culv_semaphore *cuda = culv_shared_semaphore_cuda(made);
    /* A signal may be left of the calls before. */
    for (int i = 0; i < 3 && lib_query(&r->w, r->stream) == CUDA_SUCCESS; i++)
        LIB_OK(culv_semaphore_wait(cuda, r->stream, 0));
    REQUIRE_EQ(lib_query(&r->w, r->stream), CUDA_ERROR_NOT_READY);
    culv_shared_semaphore_destroy(&made, NULL);
    lose_until_done(r, 0);
}

/* What the device says of itself decides, also of a semaphore of the caller's: drivers crash when
 * they are to export what they cannot. */
static void refuse_export(culv_semaphore_type type, lib_lies lies, const char *advice)
{
    lib_world w;
    lib_open(&w);
    culv_shared_semaphore *made = NULL;
    culv_semaphore *imported = NULL;
    culv_vk_device *vk = NULL;
    culv_vk_device_desc open = lib_vk_desc(&w);
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    culv_vk_semaphore_desc own = culv_vk_semaphore_desc_init();
    d.type = own.type = type;
    d.label = own.label = "present";
    own.semaphore = type == CULV_SEMAPHORE_BINARY ? raw_vk_binary(&w.vk, true)
                                                  : raw_vk_timeline(&w.vk, 0, true);
    lib_lying = lies;
    open.get_instance_proc_addr = lib_lying_loader;
    LIB_OK(culv_vk_attach(w.device, &open, &vk));
    LIB_REFUSES(made, culv_vk_semaphore_create(vk, &d, &made), UNSUPPORTED, NOT_EXPORTABLE,
                "'present'", w.vk.properties.deviceName, advice);
    LIB_REFUSES(imported, culv_vk_semaphore_import(vk, &own, &imported), UNSUPPORTED,
                NOT_EXPORTABLE, advice);
    lib_require_driver_counts(&w, 0, 0, 0);
    culv_vk_detach(&vk);
    raw_vk_semaphore_destroy(&w.vk, own.semaphore);
    lib_close(&w); /* nothing was made */
}

TEST(not_exportable)
{
    refuse_export(CULV_SEMAPHORE_BINARY, (lib_lies){.exports_no_binaries = true}, "use a timeline");
}

/* Such a device is no partner for rings, but memory and binary semaphores go. */
TEST(timelines_not_exportable)
{
    static culv_vk_candidate list[16];
    uint32_t count = 16, i = 0;
    refuse_export(CULV_SEMAPHORE_TIMELINE, (lib_lies){.exports_no_timelines = true},
                  "use a binary one");
    road r;
    culv_semaphore *semaphore = NULL;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = 4096,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    culv_vk_buffer_create_desc b = culv_vk_buffer_create_desc_init();
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    road_open(&r);
    culv_vk_detach(&r.vk);
    culv_vk_device_desc open = lib_vk_desc(&r.w);
    open.get_instance_proc_addr = lib_lying_loader;
    lib_lying = (lib_lies){.exports_no_timelines = true};
    for (uint32_t j = 0; j < count; j++)
        list[j] = culv_vk_candidate_init();
    LIB_OK(culv_vk_rank_physical_devices(lib_lying_loader, r.w.vk.instance, NULL, list, count,
                                         &count));
    while (i < count && list[i].physical_device != r.w.vk.physical)
        i++;
    REQUIRE(i < count && !list[i].reachable);
    REQUIRE_EQ(list[i].reason, CULV_REASON_NOT_EXPORTABLE);
    REQUIRE(strstr(list[i].reason_text, "Memory and binary semaphores can be shared") != NULL);
    LIB_OK(culv_vk_attach(r.w.device, &open, &r.vk));
    b.create_info = &info;
    NEW(culv_shared_buffer, buffer, culv_vk_buffer_create, r.vk, &b);
    d.semaphore = r.other.vk;
    d.type = CULV_SEMAPHORE_BINARY;
    LIB_OK(culv_vk_semaphore_import(r.vk, &d, &semaphore));
    alternate(&r, semaphore, &r.other);
    culv_semaphore_destroy(&semaphore, NULL);
    culv_shared_buffer_destroy(&buffer, NULL);
    road_close(&r);
}

/* Asking for it is against the specification, so validation stays off; what a driver does is its
 * own affair, but Culvert answers for what it hands out. */
TEST(not_made_for_export, .own = true)
{
    lib_with_option("--validation=off");
    lib_world w;
    lib_open(&w);
    VkSemaphore plain = raw_vk_binary(&w.vk, false);
    culv_semaphore *semaphore = POISON(culv_semaphore);
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    d.semaphore = plain;
    d.type = CULV_SEMAPHORE_BINARY;
    lib_forget_error();
    culv_result r = culv_vk_semaphore_import(w.attachment, &d, &semaphore);
    printf("%s\n", r == CULV_OK ? "the driver exported it" : culv_last_error_message());
    if (w.cu->software) REQUIRE(r != CULV_OK);
    if (r == CULV_OK) {
        culv_semaphore_destroy(&semaphore, NULL);
    } else {
        culv_error e = culv_error_init();
        culv_last_error(&e);
        REQUIRE(e.reason == CULV_REASON_NOT_EXPORTABLE || e.reason == CULV_REASON_HANDLE_REFUSED);
        REQUIRE(semaphore == POISON(culv_semaphore));
    }
    raw_vk_semaphore_destroy(&w.vk, plain);
    lib_close(&w);
}

/* Nobody may ask a binary semaphore for its counter: lavapipe crashes. */
TEST(told_as_timeline)
{
    lib_with_option("--validation=off");
    road r;
    road_open(&r);
    culv_semaphore *semaphore = POISON(culv_semaphore);
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    d.semaphore = r.other.vk;
    d.type = CULV_SEMAPHORE_TIMELINE;
    d.label = "present";
    /* By a handle that is none, or that is a binary semaphore's. */
    culv_vk_device *const roads[] = {r.w.attachment, r.vk};
    for (int i = 0; i < 2; i++) {
        lib_forget_error();
        culv_result result = culv_vk_semaphore_import(roads[i], &d, &semaphore);
        culv_error e = culv_error_init();
        culv_last_error(&e);
        printf("%s\n", e.message);
        if (result == CULV_OK &&
            !r.w.cu->software) { /* an H200's drivers do not tell the two apart (measured) */
            MEASURED("library.binary_told_as_timeline", "value %" PRIu64,
                     culv_semaphore_last_value(semaphore));
            culv_semaphore_destroy(&semaphore, NULL);
            semaphore = POISON(culv_semaphore);
            continue;
        }
        REQUIRE(result != CULV_OK && semaphore == POISON(culv_semaphore));
        REQUIRE(e.reason == CULV_REASON_NOT_EXPORTABLE || e.reason == CULV_REASON_HANDLE_REFUSED);
        LIB_SAYS("'present'");
        REQUIRE_EQ(lib_counts(&r.w).semaphores, 0);
    }
    road_close(&r);
}
