/* SPDX-License-Identifier: MIT */
/* The null back-end under the back-end suite. */
#define TEST_GROUP "null."
#include "null.h"
#include "shared_objects.h"
#include "suite.h"

static null_native native;

static const raw_cuda *open_native(void)
{
    char path[TEST_PATH_MAX];
    REQUIRE(setenv("CULVERT_SOFT_PATH", test_path(path, "lib"), 1) == 0);
    native = (null_native){.cu = raw_cuda_open(), .copies_nothing = native.copies_nothing};
    if (native.cu->software) REQUIRE(setenv("CULVERT_SOFT", "1", 1) == 0);
    null_native_open(&native);
    return native.cu;
}

static void close_native(void)
{
    null_native_close(&native);
}

static void lie(backend_lie what)
{
    native.uuid_xor = what == BACKEND_STRANGER;
    native.exports_nothing = what == BACKEND_CLOSED;
}

static culv_result device_open(culv_device **out)
{
    return null_device_open(&native, out);
}

static culv_result attach(culv_device *device, uint32_t fallback, void **out)
{
    null_device *made = NULL;
    culv_result result = null_attach(device, &native, fallback, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static void detach(void **attachment)
{
    null_device *mine = *attachment;
    *attachment = NULL;
    null_detach(&mine);
}

static void *memory_create(uint64_t size)
{
    const char *call = NULL;
    null_memory *memory = calloc(1, sizeof *memory);
    REQUIRE(memory != NULL);
    CU_OK(null_memory_create(&native, size, memory, &call));
    return memory;
}

static void memory_destroy(void *memory)
{
    null_memory_destroy(&native, memory);
    free(memory);
}

static uint64_t memory_size(const void *memory)
{
    return ((const null_memory *)memory)->size;
}

static void memory_write(const void *memory, const void *data, size_t size)
{
    null_memory_write(&native, memory, data, size);
}

static void memory_read(const void *memory, void *data, size_t size)
{
    null_memory_read(&native, memory, data, size);
}

static culv_result memory_import(void *attachment, const void *memory, uint64_t size, bool shared,
                                 culv_memory **out)
{
    return null_memory_import(attachment, memory, size, shared, out);
}

static void *timeline_create(uint64_t value)
{
    null_timeline *timeline = NULL;
    REQUIRE_EQ(null_timeline_create(&native, value, &timeline), 0);
    return timeline;
}

static void timeline_destroy(void *timeline)
{
    null_timeline_destroy(timeline);
}

static culv_result timeline_import(void *attachment, void *timeline, culv_semaphore **out)
{
    return null_semaphore_import(attachment, timeline, out);
}

static void timeline_signal(void *timeline, uint64_t value)
{
    REQUIRE_EQ(null_timeline_signal(timeline, value), 0);
}

static bool timeline_wait(void *timeline, uint64_t value, unsigned timeout_ms)
{
    return null_timeline_wait(timeline, value, timeout_ms * UINT64_C(1000000)) == 0;
}

static uint64_t timeline_value(void *timeline)
{
    uint64_t value = 0;
    REQUIRE_EQ(null_timeline_value(timeline, &value), 0);
    return value;
}

static culv_result buffer_create(void *attachment, uint64_t size, uint32_t fallback, void **out)
{
    culv_shared_buffer *made = NULL;
    culv_result result = null_buffer_create(attachment, size, fallback, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static void buffer_write(void *buffer, const void *data, size_t size)
{
    null_buffer_write(buffer, data, size);
}

static void buffer_read(void *buffer, void *data, size_t size)
{
    null_buffer_read(buffer, data, size);
}

static culv_result image_create(void *attachment, uint32_t width, uint32_t height,
                                uint32_t fallback, void **out)
{
    culv_image_desc d = culv_image_desc_init();
    d.format = CULV_FORMAT_R32_UINT;
    d.width = width;
    d.height = height;
    culv_shared_image *made = NULL;
    culv_result result = null_image_create(attachment, &d, fallback, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static culv_result semaphore_create(void *attachment, uint64_t value, uint32_t fallback, void **out)
{
    culv_shared_semaphore *made = NULL;
    culv_result result = null_semaphore_create(attachment, value, fallback, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static void *semaphore_timeline(const void *semaphore)
{
    return null_semaphore_timeline(semaphore);
}

/* An API may have neither copies to another GPU nor copies through the host. */
TEST(without_copies)
{
    scene s;
    void *buffer = NULL, *semaphore = NULL;
    native.copies_nothing = true;
    suite_open(&s, BACKEND_CLOSED, CULV_FALLBACK_ANY);
    REFUSED(s.b->buffer_create(s.attachment, BYTES, CULV_FALLBACK_ANY, &buffer), UNSUPPORTED,
            NOT_EXPORTABLE, "Culvert has no copies through the host for null");
    REFUSED(s.b->buffer_create(s.attachment, BYTES, CULV_FALLBACK_PEER, &buffer), UNSUPPORTED, PEER,
            "Culvert has no copies to another GPU for null");
    REFUSED(s.b->semaphore_create(s.attachment, 0, CULV_FALLBACK_PEER, &semaphore), UNSUPPORTED,
            PEER);
    REQUIRE(buffer == NULL && semaphore == NULL);
    suite_close(&s);
    native.copies_nothing = false;
}

const backend backend_under_test = {
    .name = "null",
    .memory_word = "null memory",
    BACKEND_FUNCTIONS,
    .ring_ways = 1,
    .rings_of_the_twin = true,
    .ring_submits = true,
    .lose = null_lose,
    .ring_create = null_ring_create,
    .ring_release = null_ring_release,
};
