/* SPDX-License-Identifier: MIT */
/* What every back-end promises. */
#include "raw_cuda_image.h"
#include "suite.h"

enum { WORDS = BYTES / 4 };
static uint32_t words[WORDS];

/* On a native device that lies, for a back-end that is not excused. */
static void open_lying(scene *s, bool excused, backend_lie lie, uint32_t fallback)
{
    if (excused) SKIP("the back-end has nothing of this");
    suite_open(s, lie, fallback);
}

#define LYING_CASE(excuse, lie, fallback, ...)                                                     \
    TEST_ON(scene, s, open_lying(s, backend_under_test.excuse, lie, fallback), suite_close(s),     \
            __VA_ARGS__)

/* Imports -------------------------------------------------------------------------------------- */

SUITE_CASE(import_data, .title = "import.data")
{
    void *native = s->b->memory_create(BYTES);
    culv_memory *memory = NULL;
    culv_buffer *all = NULL, *part = NULL;
    OK(s->b->memory_import(s->attachment, native, s->b->memory_size(native), false, &memory));
    REQUIRE_EQ(culv_memory_size(memory), s->b->memory_size(native));
    culv_buffer_desc d = culv_buffer_desc_init();
    d.size = BYTES;
    OK(culv_buffer_map(memory, &d, &all));
    d.offset = 4 * 4099;
    d.size = BYTES - d.offset;
    OK(culv_buffer_map(memory, &d, &part));
    REQUIRE_EQ(culv_buffer_pointer(part), culv_buffer_pointer(all) + d.offset);
    suite_pattern(words, WORDS, 1);
    s->b->memory_write(native, words, BYTES);
    memset(words, 0, sizeof words);
    suite_download(s, words, culv_buffer_pointer(all), BYTES);
    REQUIRE_PATTERN(words, WORDS, 1);
    suite_pattern(words, WORDS, 2);
    suite_upload(s, culv_buffer_pointer(all), words, BYTES);
    memset(words, 0, sizeof words);
    s->b->memory_read(native, words, BYTES);
    REQUIRE_PATTERN(words, WORDS, 2);
    culv_buffer_unmap(&all, NULL);
    culv_memory_destroy(&memory); /* the other mapping keeps it */
    suite_download(s, words, culv_buffer_pointer(part), 4);
    culv_buffer_unmap(&part, NULL);
    s->b->memory_destroy(native);
}

static void require_memories(const scene *s, uint64_t expected)
{
    culv_device_counts c = culv_device_counts_init();
    OK(culv_device_get_counts(s->device, &c));
    REQUIRE_EQ(c.memories, expected);
}

LYING_CASE(imports_anew, BACKEND_HONEST, 0, import_shared, .title = "import.shared_is_found_again")
{
    void *native = s->b->memory_create(BYTES), *other = s->b->memory_create(BYTES);
    uint64_t size = s->b->memory_size(native);
    culv_memory *first = NULL, *second = NULL, *third = NULL, *wrong = NULL;
    OK(s->b->memory_import(s->attachment, native, size, true, &first));
    OK(s->b->memory_import(s->attachment, native, size, true, &second));
    OK(s->b->memory_import(s->attachment, other, size, true, &third));
    REQUIRE(first == second && first != third);
    REFUSED(s->b->memory_import(s->attachment, native, size - 1, true, &wrong), INVALID, SIZE,
            s->b->memory_word);
    REQUIRE(wrong == NULL);
    require_memories(s, 2);
    culv_memory_destroy(&first);
    require_memories(s, 2);
    culv_memory_destroy(&second);
    require_memories(s, 1);
    OK(s->b->memory_import(s->attachment, native, size, true, &first)); /* anew */
    culv_memory_destroy(&first);
    culv_memory_destroy(&third);
    s->b->memory_destroy(native);
    s->b->memory_destroy(other);
}

/* Identity ------------------------------------------------------------------------------------- */

SUITE_CASE(identity_stranger, .title = "identity.stranger")
{
    void *attachment = NULL;
    culv_device *none = NULL;
    s->b->lie(BACKEND_STRANGER);
    REFUSED(s->b->attach(s->device, 0, &attachment), INVALID, DEVICE_MISMATCH);
    REQUIRE(attachment == NULL);
    REFUSED(s->b->device_open(&none), NO_DEVICE, DEVICE_UNKNOWN);
    REQUIRE(none == NULL);
}

/* What is on another GPU is not shared, whatever the driver would say. */
LYING_CASE(copies_nothing, BACKEND_STRANGER, CULV_FALLBACK_HOST, identity_foreign,
           .title = "identity.foreign")
{
    void *buffer = NULL, *native;
    culv_memory *memory = NULL;
    native = s->b->memory_create(BYTES);
    REFUSED(s->b->memory_import(s->attachment, native, s->b->memory_size(native), false, &memory),
            INVALID, DEVICE_MISMATCH);
    REFUSED(s->b->buffer_create(s->attachment, BYTES, 0, &buffer), INVALID, DEVICE_MISMATCH);
    REQUIRE(memory == NULL && buffer == NULL);
    OK(s->b->buffer_create(s->attachment, BYTES, CULV_FALLBACK_HOST, &buffer));
    REQUIRE_EQ(culv_buffer_sharing(s->b->buffer_cuda(buffer)), CULV_SHARING_HOST);
    s->b->buffer_destroy(&buffer, false, NULL);
    s->b->memory_destroy(native);
}

/* Both halves ---------------------------------------------------------------------------------- */

static void both_ways(const scene *s, void *buffer)
{
    culv_buffer *cuda = s->b->buffer_cuda(buffer);
    REQUIRE_EQ(culv_buffer_size(cuda), BYTES);
    for (uint32_t turn = 0; turn < 3; turn++) {
        suite_pattern(words, WORDS, turn);
        s->b->buffer_write(buffer, words, BYTES);
        OK(culv_buffer_copy(cuda, CULV_COPY_DOWNLOAD, s->stream));
        suite_finish(s);
        memset(words, 0, sizeof words);
        suite_download(s, words, culv_buffer_pointer(cuda), BYTES);
        REQUIRE_PATTERN(words, WORDS, turn);
        suite_pattern(words, WORDS, ~turn);
        suite_upload(s, culv_buffer_pointer(cuda), words, BYTES);
        OK(culv_buffer_copy(cuda, CULV_COPY_UPLOAD, s->stream));
        suite_finish(s);
        memset(words, 0, sizeof words);
        s->b->buffer_read(buffer, words, BYTES);
        REQUIRE_PATTERN(words, WORDS, ~turn);
    }
}

SUITE_CASE(made_buffer, .title = "made.buffer")
{
    void *buffer = NULL;
    OK(s->b->buffer_create(s->attachment, BYTES, 0, &buffer));
    REQUIRE_EQ(culv_buffer_sharing(s->b->buffer_cuda(buffer)), CULV_SHARING_SHARED);
    both_ways(s, buffer);
    culv_buffer *half = s->b->buffer_cuda(buffer);
    culv_buffer_unmap(&half, NULL); /* refused: both halves go together */
    REQUIRE(half != NULL);
    suite_require_says("destroy");
    REQUIRE(strcmp(s->b->name, "vulkan") == 0 || strstr(culv_last_error_message(), "vk") == NULL);
    s->b->buffer_destroy(&buffer, true, s->stream);
    REQUIRE(buffer == NULL);
}

static void image_turn(const scene *s, const void *image)
{
    const raw_cuda *cu = s->cu;
    CUarray array = NULL;
    uint32_t texels[HEIGHT][WIDTH];
    OK(culv_image_get_array(s->b->image_cuda(image), 0, 0, &array));
    suite_pattern(&texels[0][0], (size_t)WIDTH * HEIGHT, 7);
    CU_OK_IN(s, raw_cuda_write_box(cu, array, texels, sizeof texels[0], HEIGHT, 1));
    memset(texels, 0, sizeof texels);
    CU_OK_IN(s, raw_cuda_read_box(cu, array, texels, sizeof texels[0], HEIGHT, 1));
    REQUIRE_PATTERN(&texels[0][0], (size_t)WIDTH * HEIGHT, 7);
}

SUITE_CASE(made_image, .title = "made.image")
{
    void *image = NULL;
    OK(s->b->image_create(s->attachment, WIDTH, HEIGHT, 0, &image));
    REQUIRE_EQ(culv_image_sharing(s->b->image_cuda(image)), CULV_SHARING_SHARED);
    image_turn(s, image);
    s->b->image_destroy(&image, true, s->stream);
}

SUITE_CASE(made_many, .title = "made.many")
{
    void *buffers[5], *images[5];
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < 5; i++) {
            OK(s->b->buffer_create(s->attachment, BYTES + 4u * (unsigned)i, 0, &buffers[i]));
            OK(s->b->image_create(s->attachment, WIDTH + (unsigned)i, HEIGHT, 0, &images[i]));
        }
        for (int i = 0; i < 5; i++) {
            int k = (i * 3 + turn) % 5;
            s->b->image_destroy(&images[k], i % 2 != 0, s->stream);
            s->b->buffer_destroy(&buffers[4 - k], i % 2 == 0, s->stream);
        }
    }
}

/* Each order of giving up what an attachment has. */

typedef struct pieces {
    scene *s;
    void *native, *buffer, *image, *semaphore;
    culv_memory *memory;
    culv_buffer *mapping;
} pieces;

enum { PIECES = 7 };

static void give_up(pieces *p, int which)
{
    const backend *b = p->s->b;
    switch (which) {
    case 0: culv_device_close(&p->s->device); return;
    case 1: b->detach(&p->s->attachment); return;
    case 2: culv_memory_destroy(&p->memory); return;
    case 3: culv_buffer_unmap(&p->mapping, NULL); return;
    case 4: b->buffer_destroy(&p->buffer, false, NULL); return;
    case 5: b->image_destroy(&p->image, false, NULL); return;
    default:
        if (p->semaphore != NULL) b->semaphore_destroy(&p->semaphore, false, NULL);
    }
}

TEST(made_in_every_order, .title = "made.given_up_in_every_order", .time_limit = 300)
{
    scene s;
    suite_open_native(&s);
    const raw_cuda *cu = s.cu;
    CUcontext context;
    CU_OK(cu->DevicePrimaryCtxRetain(&context, 0)); /* a new one each time would take long */
    pieces p = {.s = &s, .native = s.b->memory_create(BYTES)};
    culv_soft_counts before = {.struct_size = sizeof before}, after = before;
    if (cu->SoftCounts != NULL) cu->SoftCounts(&before);
    unsigned orders = 0;
    /* Of all 5,040, which would take minutes on a GPU, every 17th. */
    for (unsigned number = 0; number < 5040; number += 17, orders++) {
        int left[PIECES] = {0, 1, 2, 3, 4, 5, 6};
        unsigned digits = number;
        OK(s.b->device_open(&s.device));
        OK(s.b->attach(s.device, 0, &s.attachment));
        OK(s.b->memory_import(s.attachment, p.native, s.b->memory_size(p.native), number % 2 != 0,
                              &p.memory));
        OK(culv_buffer_map(p.memory, NULL, &p.mapping));
        OK(s.b->buffer_create(s.attachment, BYTES, 0, &p.buffer));
        OK(s.b->image_create(s.attachment, WIDTH, HEIGHT, 0, &p.image));
        if (cu->software) OK(s.b->semaphore_create(s.attachment, 0, 0, &p.semaphore));
        for (unsigned n = PIECES; n > 0; n--) {
            unsigned i = digits % n;
            digits /= n;
            give_up(&p, left[i]);
            left[i] = left[n - 1];
        }
    }
    if (cu->SoftCounts != NULL) cu->SoftCounts(&after);
    before.calls = after.calls = 0;
    REQUIRE(memcmp(&before, &after, sizeof before) == 0);
    printf("%u orders\n", orders);
    s.b->memory_destroy(p.native);
    CU_OK(cu->DevicePrimaryCtxRelease(0));
    suite_require_empty(&s);
    s.b->close();
    raw_cuda_require_empty(cu);
}

/* Copies --------------------------------------------------------------------------------------- */

LYING_CASE(copies_nothing, BACKEND_CLOSED, CULV_FALLBACK_ANY, fallback_host,
           .title = "fallback.host")
{
    void *buffer = NULL, *image = NULL;
    culv_memory *memory = NULL;
    void *native = s->b->memory_create(BYTES);
    OK(s->b->buffer_create(s->attachment, BYTES, CULV_FALLBACK_ANY, &buffer));
    OK(s->b->image_create(s->attachment, WIDTH, HEIGHT, CULV_FALLBACK_ANY, &image));
    REQUIRE_EQ(culv_buffer_sharing(s->b->buffer_cuda(buffer)), CULV_SHARING_HOST);
    REQUIRE_EQ(culv_image_sharing(s->b->image_cuda(image)), CULV_SHARING_HOST);
    both_ways(s, buffer);
    image_turn(s, image);
    OK(culv_image_copy(s->b->image_cuda(image), CULV_COPY_UPLOAD, s->stream));
    suite_finish(s);
    s->b->image_destroy(&image, true, s->stream);
    s->b->buffer_destroy(&buffer, true, s->stream);
    /* Without copies there is none. */
    REQUIRE(s->b->buffer_create(s->attachment, BYTES, 0, &buffer) == CULV_ERROR_UNSUPPORTED);
    REQUIRE(s->b->buffer_create(s->attachment, BYTES, CULV_FALLBACK_PEER, &buffer) ==
            CULV_ERROR_UNSUPPORTED);
    REFUSED(s->b->buffer_create(s->attachment, BYTES, 4, &buffer), INVALID, VALUE);
    REQUIRE(buffer == NULL && memory == NULL);
    s->b->memory_destroy(native);
}

static void copied_turns(const scene *s, const void *semaphore)
{
    culv_semaphore *cuda = s->b->semaphore_cuda(semaphore);
    for (uint64_t value = 4; value < 20; value += 2) {
        void *timeline = s->b->semaphore_timeline(semaphore);
        OK(culv_semaphore_signal(cuda, s->stream, value));
        REQUIRE(s->b->timeline_wait(timeline, value, TEST_FAR_MS));
        OK(culv_semaphore_wait(cuda, s->stream, value + 1));
        s->b->timeline_signal(timeline, value + 1);
        suite_finish(s);
        REQUIRE_EQ(s->b->timeline_value(timeline), value + 1);
    }
}

LYING_CASE(relays_nothing, BACKEND_CLOSED, CULV_FALLBACK_HOST, fallback_semaphore,
           .title = "fallback.semaphore")
{
    void *semaphore = NULL;
    OK(s->b->semaphore_create(s->attachment, 3, CULV_FALLBACK_HOST, &semaphore));
    REQUIRE_EQ(culv_semaphore_sharing(s->b->semaphore_cuda(semaphore)), CULV_SHARING_HOST);
    copied_turns(s, semaphore);
    s->b->semaphore_destroy(&semaphore, true, s->stream);
}

/* Culvert's device is another GPU: the native device's own one is shared with, and copied to. */
TEST(fallback_peer, .title = "fallback.peer", .own = true, .time_limit = 60)
{
    scene s;
    void *buffer = NULL, *image = NULL, *semaphore = NULL;
    suite_open_on(&s, true, BACKEND_HONEST, CULV_FALLBACK_ANY);
    culv_result result = s.b->buffer_create(s.attachment, BYTES, CULV_FALLBACK_PEER, &buffer);
    if (result == CULV_ERROR_UNSUPPORTED)
        SKIP("no peer copies here: %s", culv_last_error_message());
    OK(result);
    OK(s.b->image_create(s.attachment, WIDTH, HEIGHT, CULV_FALLBACK_PEER, &image));
    REQUIRE_EQ(culv_buffer_sharing(s.b->buffer_cuda(buffer)), CULV_SHARING_PEER);
    REQUIRE_EQ(culv_image_sharing(s.b->image_cuda(image)), CULV_SHARING_PEER);
    both_ways(&s, buffer);
    image_turn(&s, image);
    result = s.b->semaphore_create(s.attachment, 3, CULV_FALLBACK_PEER, &semaphore);
    if (s.cu->software) OK(result);
    if (result == CULV_OK) {
        REQUIRE_EQ(culv_semaphore_sharing(s.b->semaphore_cuda(semaphore)), CULV_SHARING_PEER);
        copied_turns(&s, semaphore);
        /* CUDA waits no more for what a lost device never signals. */
        if (s.cu->software) OK(culv_semaphore_wait(s.b->semaphore_cuda(semaphore), s.stream, 99));
        if (s.b->lose != NULL) (void)s.b->lose(s.attachment, true);
        suite_finish(&s);
        s.b->semaphore_destroy(&semaphore, true, s.stream);
    }
    s.b->image_destroy(&image, true, s.stream);
    s.b->buffer_destroy(&buffer, true, s.stream);
    if (s.b->ring_end != NULL) s.b->ring_end();
    suite_close(&s);
}

/* Timelines ------------------------------------------------------------------------------------ */

static void timelines_turn(const scene *s, culv_semaphore *cuda, void *timeline, uint64_t value)
{
    const raw_cuda *cu = s->cu;
    CUcontext before;
    OK(culv_semaphore_wait(cuda, s->stream, value));
    OK(culv_semaphore_signal(cuda, s->stream, value + 1));
    CU_OK(cu->CtxPushCurrent(s->context));
    REQUIRE_EQ(cu->StreamQuery(s->stream), CUDA_ERROR_NOT_READY);
    CU_OK(cu->CtxPopCurrent(&before));
    REQUIRE(!s->b->timeline_wait(timeline, value + 1, 5));
    s->b->timeline_signal(timeline, value);
    REQUIRE(s->b->timeline_wait(timeline, value + 1, TEST_FAR_MS));
    suite_finish(s);
    REQUIRE_EQ(s->b->timeline_value(timeline), value + 1);
}

SUITE_CASE(timelines_made, .title = "timelines.made")
{
    void *semaphore = NULL;
    culv_result result = s->b->semaphore_create(s->attachment, 5, 0, &semaphore);
    if (result == CULV_ERROR_UNSUPPORTED)
        SKIP("no semaphore is shared here: %s", culv_last_error_message());
    OK(result);
    culv_semaphore *cuda = s->b->semaphore_cuda(semaphore);
    REQUIRE_EQ(culv_semaphore_sharing(cuda), CULV_SHARING_SHARED);
    REQUIRE_EQ(culv_semaphore_last_value(cuda), 5);
    for (uint64_t value = 6; value < 26; value += 2)
        timelines_turn(s, cuda, s->b->semaphore_timeline(semaphore), value);
    REFUSED(culv_semaphore_signal(cuda, s->stream, 7), INVALID, TIMELINE_BACKWARDS);
    s->b->semaphore_destroy(&semaphore, true, s->stream);
}

SUITE_CASE(timelines_imported, .title = "timelines.imported")
{
    culv_semaphore *cuda = NULL;
    void *timeline = s->b->timeline_create(40);
    culv_result result = s->b->timeline_import(s->attachment, timeline, &cuda);
    if (result == CULV_ERROR_UNSUPPORTED)
        SKIP("no semaphore is shared here: %s", culv_last_error_message());
    OK(result);
    REQUIRE_EQ(culv_semaphore_last_value(cuda), 40);
    for (uint64_t value = 41; value < 61; value += 2)
        timelines_turn(s, cuda, timeline, value);
    culv_semaphore_destroy(&cuda, NULL);
    s->b->timeline_destroy(timeline);
}
