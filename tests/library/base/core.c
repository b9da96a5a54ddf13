/* SPDX-License-Identifier: MIT */
/* The library's core, without a device: names, versions, the last error, NULLs, the log. */
#include "library.h"

#include <pthread.h>
#include <unistd.h>

TEST(versions)
{
    char text[32];
    REQUIRE_EQ(culv_version(), CULV_VERSION);
    REQUIRE_EQ(CULV_VERSION,
               CULV_VERSION_MAJOR * 1000000 + CULV_VERSION_MINOR * 1000 + CULV_VERSION_PATCH);
    snprintf(text, sizeof text, "%d.%d.%d", CULV_VERSION_MAJOR, CULV_VERSION_MINOR,
             CULV_VERSION_PATCH);
    REQUIRE_EQ_STR(culv_version_string(), text);
}

TEST(result_names, .title = "names.results")
{
    static const struct {
        culv_result result;
        int value;
        const char *name;
    } rows[] = {{CULV_OK, 0, "CULV_OK"},
                {CULV_ERROR_INVALID, -1, "CULV_ERROR_INVALID"},
                {CULV_ERROR_BUSY, -2, "CULV_ERROR_BUSY"},
                {CULV_ERROR_TIMEOUT, -3, "CULV_ERROR_TIMEOUT"},
                {CULV_ERROR_UNSUPPORTED, -10, "CULV_ERROR_UNSUPPORTED"},
                {CULV_ERROR_NO_DEVICE, -11, "CULV_ERROR_NO_DEVICE"},
                {CULV_ERROR_OUT_OF_MEMORY, -12, "CULV_ERROR_OUT_OF_MEMORY"},
                {CULV_ERROR_DRIVER, -20, "CULV_ERROR_DRIVER"},
                {CULV_ERROR_ASYNC, -21, "CULV_ERROR_ASYNC"},
                {CULV_ERROR_INTERNAL, -30, "CULV_ERROR_INTERNAL"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        REQUIRE_EQ(rows[i].result, rows[i].value);
        REQUIRE_EQ_STR(culv_result_name(rows[i].result), rows[i].name);
    }
    static const int others[] = {1, -4, -9, -22, -31, 0x7fffffff, -0x7fffffff - 1};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        REQUIRE_EQ_STR(culv_result_name((culv_result)others[i]), "unknown");
}

/* Reasons are stable: their values too, since programs store them. New ones go to the end. */
TEST(reason_names, .title = "names.reasons")
{
    static const char *const names[] = {"NONE",
                                        "NULL_ARGUMENT",
                                        "STRUCT_SIZE",
                                        "VALUE",
                                        "SIZE",
                                        "RANGE",
                                        "HANDLE_TYPE",
                                        "HANDLE_BAD",
                                        "HANDLE_KIND",
                                        "HANDLE_REFUSED",
                                        "DEVICE_MISMATCH",
                                        "DEVICE_UNKNOWN",
                                        "DEVICE_GROUP",
                                        "DEVICE_SLICE",
                                        "DRIVER_MISSING",
                                        "DRIVER_TOO_OLD",
                                        "DRIVER_INIT",
                                        "DRIVER_REFUSED",
                                        "SOFT_MISSING",
                                        "EXTENSION_MISSING",
                                        "LAYER_MISSING",
                                        "VULKAN_VERSION",
                                        "DEDICATED",
                                        "NOT_EXPORTABLE",
                                        "TIMELINE_BACKWARDS",
                                        "STREAM_DEVICE",
                                        "CONTEXT_DEVICE",
                                        "NOT_BUILT",
                                        "HOST_MEMORY",
                                        "DEVICE_MEMORY",
                                        "EARLIER_FAILURE",
                                        "DEVICE_LOST",
                                        "OS"};
#define TEXT(name, text) text,
    static const char *const texts[] = {CULV_REASONS(TEXT)};
#undef TEXT
    const int known = (int)(sizeof names / sizeof names[0]);
    REQUIRE(CULV_REASON_COUNT_ >= known);
    for (int i = 0; i < known; i++)
        REQUIRE_EQ_STR(culv_reason_name((culv_reason)i), names[i]);
    for (int i = 0; i < CULV_REASON_COUNT_; i++) {
        REQUIRE(strlen(culv_reason_name((culv_reason)i)) >= 2);
        REQUIRE(strlen(texts[i]) >= 8);
        for (int j = 0; j < i; j++) {
            REQUIRE(strcmp(culv_reason_name((culv_reason)i), culv_reason_name((culv_reason)j)) !=
                    0);
            REQUIRE(strcmp(texts[i], texts[j]) != 0);
        }
    }
    static const int others[] = {-1, CULV_REASON_COUNT_, 1000, 0x7fffffff};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        REQUIRE_EQ_STR(culv_reason_name((culv_reason)others[i]), "unknown");
}

/* The last error ------------------------------------------------------------------------------- */

static pthread_barrier_t barrier;

static void *other_thread(void *unused)
{
    (void)unused;
    culv_error e = culv_error_init();
    culv_last_error(&e);
    REQUIRE_EQ(e.result, CULV_OK); /* a thread begins without one */
    REQUIRE_EQ(e.reason, CULV_REASON_NONE);
    REQUIRE_EQ_STR(culv_last_error_message(), "");
    pthread_barrier_wait(&barrier); /* the first thread has its error */
    LIB_INVALID(culv_device_open_by_uuid(NULL, NULL, NULL), NULL_ARGUMENT,
                "culv_device_open_by_uuid");
    pthread_barrier_wait(&barrier); /* both have */
    pthread_barrier_wait(&barrier); /* the first has looked */
    LIB_SAYS("culv_device_open_by_uuid");
    return NULL;
}

TEST(last_error_is_the_threads_own, .title = "last_error.is_the_threads_own", .smoke = true)
{
    pthread_t thread;
    REQUIRE_EQ(pthread_barrier_init(&barrier, NULL, 2), 0);
    LIB_INVALID(culv_buffer_map(NULL, NULL, NULL), NULL_ARGUMENT);
    REQUIRE_EQ(pthread_create(&thread, NULL, other_thread, NULL), 0);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    LIB_SAYS("culv_buffer_map");
    pthread_barrier_wait(&barrier);
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    LIB_SAYS("culv_buffer_map");
    pthread_barrier_destroy(&barrier);
}

TEST(last_error_stays_after_success, .title = "last_error.stays_after_success")
{
    culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
    VkBufferMemoryBarrier2 b;
    t.queue_family = 0;
    LIB_INVALID(culv_buffer_map(NULL, NULL, NULL), NULL_ARGUMENT);
    memset(&t.buffer, 1, sizeof t.buffer);
    LIB_OK(culv_vk_buffer_get_barrier2(&t, CULV_VK_RELEASE, &b));
    LIB_SAYS("culv_buffer_map");
}

/* An older program's culv_error is shorter, a newer one's longer. */
TEST(last_error_copies_as_far_as_it_fits, .title = "last_error.copies_as_far_as_it_fits")
{
    struct {
        culv_error e;
        unsigned char beyond[64];
    } out;
    LIB_INVALID(culv_buffer_map(NULL, NULL, NULL), NULL_ARGUMENT);

    memset(&out, 0x77, sizeof out);
    out.e.struct_size = offsetof(culv_error, native_api);
    culv_last_error(&out.e);
    REQUIRE_EQ(out.e.struct_size, offsetof(culv_error, native_api));
    REQUIRE_EQ(out.e.result, CULV_ERROR_INVALID);
    REQUIRE_EQ(out.e.reason, CULV_REASON_NULL_ARGUMENT);
    for (size_t i = offsetof(culv_error, native_api); i < sizeof out; i++)
        REQUIRE_EQ(((unsigned char *)&out)[i], 0x77);

    memset(&out, 0x77, sizeof out);
    out.e.struct_size = sizeof(culv_error) + 32;
    culv_last_error(&out.e);
    REQUIRE_EQ(out.e.struct_size, sizeof(culv_error) + 32);
    REQUIRE_EQ_STR(out.e.message, culv_last_error_message());
    for (size_t i = 0; i < sizeof out.beyond; i++)
        REQUIRE_EQ(out.beyond[i], i < 32 ? 0 : 0x77); /* what this library does not know is zero */

    /* What was never set; the last are larger than any version's, or would cut a field in two. */
    static const size_t wrong[] = {0,
                                   1,
                                   sizeof(size_t) - 1,
                                   sizeof(size_t),
                                   sizeof(culv_error) + 4,
                                   sizeof(culv_error) - 1,
                                   65536 + sizeof(size_t),
                                   (size_t)0x7777777777777777u,
                                   SIZE_MAX};
    for (size_t t = 0; t < sizeof wrong / sizeof wrong[0]; t++) {
        memset(&out, 0x77, sizeof out);
        out.e.struct_size = wrong[t];
        culv_last_error(&out.e);
        for (size_t i = sizeof(size_t); i < sizeof out; i++)
            REQUIRE_EQ(((unsigned char *)&out)[i], 0x77);
    }
    culv_last_error(NULL);
}

/* NULLs ---------------------------------------------------------------------------------------- */

#define NULLS(call) LIB_INVALID(call, NULL_ARGUMENT)

/* What library-nulls does not call, and where it looks for other words. */
TEST(nulls, .title = "nulls.arguments")
{
    REQUIRE_EQ(culv_device_collect(NULL), 0);
    REQUIRE(culv_device_context(NULL) == NULL);
    REQUIRE(culv_device_cuda_proc(NULL, "cuInit", 2000) == NULL);
    REQUIRE_EQ(culv_memory_size(NULL), 0);
    REQUIRE_EQ(culv_buffer_pointer(NULL), 0);
    REQUIRE_EQ(culv_buffer_size(NULL), 0);
    const culv_semaphore_point point = {NULL, 1};
    NULLS(culv_semaphore_signal_batch(NULL, 1, NULL));
    NULLS(culv_semaphore_wait_batch(NULL, 1, NULL));
    NULLS(culv_semaphore_signal_batch(&point, 1, NULL));
    NULLS(culv_semaphore_wait_batch(&point, 1, NULL));
    culv_semaphore_mark_value(NULL, 1);
    REQUIRE_EQ(culv_semaphore_last_value(NULL), 0);
    REQUIRE(culv_vk_semaphore_handle(NULL) == VK_NULL_HANDLE &&
            culv_shared_semaphore_cuda(NULL) == NULL);

    culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
    VkBufferMemoryBarrier2 b2;
    transfer.queue_family = 0;
    for (int i = 0; i < 2; i++) {
        const culv_vk_direction way = i == 0 ? CULV_VK_RELEASE : CULV_VK_ACQUIRE;
        NULLS(culv_vk_buffer_get_barrier2(NULL, way, &b2));
        NULLS(culv_vk_buffer_get_barrier2(&transfer, way, NULL));
    }
    NULLS(culv_vk_buffer_get_barrier2(&transfer, CULV_VK_RELEASE,
                                      &b2)); /* its buffer is VK_NULL_HANDLE */

    REQUIRE_EQ(culv_vk_device_extensions(VK_API_VERSION_1_3, 8, NULL), 2);
    REQUIRE_EQ(culv_vk_instance_layers(NULL, 0, NULL), 0);
}

/* What a caller must enable -------------------------------------------------------------------- */

TEST(extension_lists, .title = "vulkan.extension_lists")
{
    const char *names[4] = {"poison", "poison", "poison", "poison"};
    REQUIRE_EQ(culv_vk_device_extensions(VK_API_VERSION_1_1, 0, names), 3);
    REQUIRE_EQ_STR(names[0], "poison");
    REQUIRE_EQ(culv_vk_device_extensions(VK_API_VERSION_1_1, 1, names), 3);
    REQUIRE_EQ_STR(names[0], VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
    REQUIRE_EQ_STR(names[1], "poison");
    REQUIRE_EQ(culv_vk_device_extensions(VK_API_VERSION_1_1, 4, names), 3);
    REQUIRE_EQ_STR(names[1], VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
    REQUIRE_EQ_STR(names[2], VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);
    REQUIRE_EQ_STR(names[3], "poison");
    REQUIRE_EQ(culv_vk_device_extensions(VK_API_VERSION_1_2, 4, names), 2);
}
