/* SPDX-License-Identifier: MIT */
/* The library's core, without a device: names, versions, the last error, NULLs, the log. */
#include "image_stage.h"
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
    static const char known[] =
        "NONE NULL_ARGUMENT STRUCT_SIZE VALUE SIZE RANGE HANDLE_TYPE HANDLE_BAD HANDLE_KIND "
        "HANDLE_REFUSED DEVICE_MISMATCH DEVICE_UNKNOWN DEVICE_GROUP DEVICE_SLICE "
        "DRIVER_MISSING DRIVER_TOO_OLD DRIVER_INIT DRIVER_REFUSED SOFT_MISSING "
        "EXTENSION_MISSING LAYER_MISSING VULKAN_VERSION DEDICATED NOT_EXPORTABLE "
        "TIMELINE_BACKWARDS STREAM_DEVICE CONTEXT_DEVICE NOT_BUILT HOST_MEMORY DEVICE_MEMORY "
        "EARLIER_FAILURE DEVICE_LOST OS ";
#define TEXT(name, text) text,
    static const char *const texts[] = {CULV_REASONS(TEXT)};
#undef TEXT
    char now[sizeof known + 64] = "";
    for (int i = 0; strlen(now) < strlen(known) && i < CULV_REASON_COUNT_; i++)
        strcat(strcat(now, culv_reason_name((culv_reason)i)), " ");
    REQUIRE_EQ_STR(now, known);
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
    const culv_error e = lib_last_error();
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
    REQUIRE_EQ_STR(lib_last_error().message, culv_last_error_message());
    culv_last_error(NULL);
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

/* NULLs ---------------------------------------------------------------------------------------- */

#define NULLS(call) LIB_INVALID(call, NULL_ARGUMENT)

/* What nulls.c does not call, and where it looks for other words. */
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

#undef TEST_GROUP
#define TEST_GROUP "log."
/* The log callback, its levels and CULVERT_LOG. */

typedef struct heard {
    unsigned lines[5]; /* by level */
    char last[5][2048];
    bool closed;
} heard;

static void hear(void *user, culv_log_level level, const char *message)
{
    heard *h = user;
    REQUIRE(level >= CULV_LOG_ERROR && level <= CULV_LOG_DEBUG);
    REQUIRE(message != NULL && strchr(message, '\n') == NULL);
    REQUIRE(!h->closed);
    h->lines[level]++;
    snprintf(h->last[level], sizeof h->last[level], "%s", message);
}

/* Opens a device, makes one error, closes it. */
static void session(const culv_device_desc *desc)
{
    culv_memory *memory = NULL;
    culv_memory_desc d = culv_memory_desc_init();
    NEW(OWN(culv_device), device, culv_device_open_by_ordinal, 0, desc);
    REQUIRE_EQ(culv_memory_import(device, &d, &memory), CULV_ERROR_INVALID);
}

static culv_device_desc logging(heard *h, culv_log_level level)
{
    culv_device_desc d = culv_device_desc_init();
    memset(h, 0, sizeof *h);
    d.log = (culv_log){hear, h, level};
    d.label = "first light";
    return d;
}

TEST(levels, .own = true)
{
    heard h;
    (void)lib_driver();
    unsetenv("CULVERT_LOG");
    culv_device_desc d = logging(&h, CULV_LOG_ERROR);
    session(&d);
    REQUIRE_EQ(h.lines[CULV_LOG_ERROR], 1);
    REQUIRE_EQ_STR(h.last[CULV_LOG_ERROR], culv_last_error_message());
    REQUIRE(strncmp(h.last[CULV_LOG_ERROR], "[first light] ", 14) == 0);
    REQUIRE_EQ(h.lines[CULV_LOG_WARNING] + h.lines[CULV_LOG_INFO] + h.lines[CULV_LOG_DEBUG], 0);

    d = logging(&h, CULV_LOG_NONE); /* the default: warnings and errors */
    session(&d);
    REQUIRE_EQ(h.lines[CULV_LOG_ERROR], 1);
    REQUIRE_EQ(h.lines[CULV_LOG_INFO] + h.lines[CULV_LOG_DEBUG], 0);

    d = logging(&h, CULV_LOG_INFO);
    session(&d);
    REQUIRE_EQ(h.lines[CULV_LOG_ERROR], 1);
    REQUIRE(h.lines[CULV_LOG_INFO] >= 2); /* opened, closed */
    REQUIRE(strstr(h.last[CULV_LOG_INFO], "closed") != NULL);
    REQUIRE_EQ(h.lines[CULV_LOG_DEBUG], 0);

    d = logging(&h, CULV_LOG_DEBUG);
    session(&d);
    REQUIRE(h.lines[CULV_LOG_DEBUG] >= 5);
    REQUIRE(strncmp(strstr(h.last[CULV_LOG_DEBUG], "cu"), "cu", 2) == 0);

    /* An open that fails has no device, but its descriptor's log hears it. */
    culv_device *device = NULL;
    d = logging(&h, CULV_LOG_ERROR);
    LIB_ERROR(culv_device_open_by_ordinal(12345, &d, &device), NO_DEVICE, DEVICE_UNKNOWN);
    REQUIRE_EQ(h.lines[CULV_LOG_ERROR], 1);
    REQUIRE_EQ_STR(h.last[CULV_LOG_ERROR], culv_last_error_message());
}

/* What a label has in it makes no second line, in the log or in the error, whether the object was
 * made or not. Letters beyond ASCII stay. */
TEST(labels_forge_no_lines)
{
    heard h;
    culv_memory *memory = NULL;
    (void)lib_driver();
    culv_device_desc d = logging(&h, CULV_LOG_DEBUG);
    d.label = "gpu\nculvert error: forged\r\t\033[2J\177";
    NEW(culv_device, device, culv_device_open_by_ordinal, 0, &d);
    culv_memory_desc m = culv_memory_desc_init();
    m.label = "gr\303\266\303\237e\n[gpu] second";
    REQUIRE_EQ(culv_memory_import(device, &m, &memory), CULV_ERROR_INVALID);
    REQUIRE(strstr(h.last[CULV_LOG_ERROR], "[gpu?culvert error: forged???[2J?] '") ==
            h.last[CULV_LOG_ERROR]);
    REQUIRE(strstr(h.last[CULV_LOG_ERROR], "'gr\303\266\303\237e?[gpu] second': ") != NULL);
    REQUIRE_EQ_STR(h.last[CULV_LOG_ERROR], culv_last_error_message());
    culv_device_close(&device);
    REQUIRE(strstr(h.last[CULV_LOG_INFO], "[gpu?culvert error") == h.last[CULV_LOG_INFO]);
}

/* A label that is too long is cut, not overrun, and no letter is: of those of UTF-8 the last one
 * that fits whole stays. What is no UTF-8 is cut anywhere, and no terminal gets it. */
TEST(letters_are_not_cut)
{
    static const struct {
        const char *letter;
        size_t before, kept; /* bytes of ASCII, then how many of the label stay */
    } rows[] = {
        {"x", 200, 63},
        {"\303\266", 61, 63},
        {"\303\266", 62, 62},
        {"\342\202\254", 60, 63},
        {"\342\202\254", 61, 61},
        {"\342\202\254", 62, 62},
        {"\360\237\230\200", 59, 63},
        {"\360\237\230\200", 60, 60},
        {"\360\237\230\200", 61, 61},
        {"\360\237\230\200", 62, 62},
        {"\200\200\200\200\200\200\200\200", 58, 63},
    };
    (void)lib_driver();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        heard h;
        char label[300];
        culv_device_desc d = logging(&h, CULV_LOG_ERROR);
        memset(label, 'x', sizeof label);
        snprintf(label + rows[i].before, sizeof label - rows[i].before, "%szzzz", rows[i].letter);
        d.label = label;
        session(&d);
        label[rows[i].kept] = '\0';
        if (rows[i].before < 63 && (unsigned char)label[rows[i].before] == 0200)
            memset(label + rows[i].before, '?', rows[i].kept - rows[i].before);
        REQUIRE(strncmp(h.last[CULV_LOG_ERROR] + 1, label, rows[i].kept) == 0);
        REQUIRE(strncmp(h.last[CULV_LOG_ERROR] + 1 + rows[i].kept, "] ", 2) == 0);
    }
}

static size_t stderr_of_session(const culv_device_desc *desc, char *out, size_t size)
{
    int ends[2];
    int before = dup(STDERR_FILENO);
    REQUIRE(before >= 0 && pipe(ends) == 0);
    fflush(stderr);
    REQUIRE(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    session(desc);
    fflush(stderr);
    REQUIRE(dup2(before, STDERR_FILENO) == STDERR_FILENO);
    close(before);
    close(ends[1]);
    size_t length = 0;
    for (ssize_t n = 1; n > 0 && length < size - 1; length += (size_t)n) {
        n = read(ends[0], out + length, size - 1 - length);
        REQUIRE(n >= 0);
    }
    out[length] = '\0';
    close(ends[0]);
    return length;
}

TEST(environment, .own = true)
{
    static char text[65536]; /* a pipe holds as much */
    heard h;
    (void)lib_driver();
    unsetenv("CULVERT_LOG");
    REQUIRE_EQ(stderr_of_session(NULL, text, sizeof text), 0); /* nothing is printed unless asked */
    setenv("CULVERT_LOG", "", 1);
    REQUIRE_EQ(stderr_of_session(NULL, text, sizeof text), 0);

    setenv("CULVERT_LOG", "error", 1);
    REQUIRE(stderr_of_session(NULL, text, sizeof text) > 0);
    REQUIRE(strstr(text, "culvert error: ") != NULL && strstr(text, "culvert info: ") == NULL);
    setenv("CULVERT_LOG", "info", 1);
    (void)stderr_of_session(NULL, text, sizeof text);
    REQUIRE(strstr(text, "culvert info: ") != NULL && strstr(text, "culvert debug: ") == NULL);
    setenv("CULVERT_LOG", "debug", 1);
    (void)stderr_of_session(NULL, text, sizeof text);
    REQUIRE(strstr(text, "culvert debug: ") != NULL);

    culv_device_desc d = logging(&h, CULV_LOG_ERROR); /* a callback comes first */
    REQUIRE_EQ(stderr_of_session(&d, text, sizeof text), 0);
    REQUIRE_EQ(h.lines[CULV_LOG_ERROR], 1);
}

#undef TEST_GROUP
#define TEST_GROUP "structs."
/* Descriptors of older and newer programs: struct_size in every one of them. */

/* A call that takes a descriptor of `size` bytes and undoes what it did; oldest: bytes of the
 * shortest descriptor that still means the same. */
typedef struct described {
    const char *name;
    const void *desc;
    size_t size, oldest;
    culv_result (*call)(lib_world *w, const void *desc);
} described;

/* Takes shorter, longer and wrong struct_sizes; never reads beyond what a descriptor says it
 * has. */
static void described_check(lib_world *w, const described *d)
{
    unsigned char *copy = malloc(1 << 17);
    REQUIRE(copy != NULL);
    /* The last two before the ends would cut a pointer in two. */
    static const size_t wrong[] = {
        0,     1,      4,       sizeof(size_t), 2 * sizeof(size_t) + 4, 6 * sizeof(size_t) + 1,
        65537, 100001, SIZE_MAX};
    printf("%s\n", d->name);
    memset(copy, 0, 1 << 17);
    memcpy(copy, d->desc, d->size);
    LIB_OK(d->call(w, copy));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        memcpy(copy, &wrong[i], sizeof(size_t));
        LIB_INVALID(d->call(w, copy), STRUCT_SIZE, d->name);
    }
    free(copy);
    /* Just as long as it says, so that a sanitizer sees a read beyond. */
    size_t oldest = (d->oldest + sizeof(size_t) - 1) / sizeof(size_t) *
                    sizeof(size_t); /* as its padding had it */
    for (size_t size = oldest; size <= d->size + 24; size += size < d->size ? d->size - size : 8) {
        copy = calloc(1, size);
        REQUIRE(copy != NULL);
        memcpy(copy, d->desc, size < d->size ? size : d->size);
        memcpy(copy, &size, sizeof size);
        LIB_OK(d->call(w, copy));
        for (size_t at = d->size; at < size; at++) {
            copy[at] = 1; /* a newer program uses what this library does not know */
            LIB_ERROR(d->call(w, copy), UNSUPPORTED, STRUCT_SIZE, d->name);
            copy[at] = 0;
        }
        free(copy);
    }
}

/* A call that makes `object` of a descriptor, and its end. After an error it is as it was. */
#define MAKES(name, type, made, end)                                                               \
    static culv_result name(lib_world *w, const void *desc)                                        \
    {                                                                                              \
        type *object = POISON(type);                                                               \
        const culv_result r = (made);                                                              \
        if (r == CULV_OK)                                                                          \
            (void)(end);                                                                           \
        else                                                                                       \
            REQUIRE(object == POISON(type));                                                       \
        return r;                                                                                  \
    }
static culv_memory *shared_memory;
static shared_image subject; /* what is mapped */

MAKES(open_device, culv_device, lib_open_for_vk(w, vkGetInstanceProcAddr, desc, &object),
      (culv_device_close(&object), 0))
MAKES(open_ordinal, culv_device, culv_device_open_by_ordinal(0, desc, &object),
      (culv_device_close(&object), 0))
MAKES(attach, culv_vk_device, culv_vk_attach(w->device, desc, &object),
      (culv_vk_detach(&object), 0))
MAKES(import_memory, culv_memory, culv_memory_import(w->device, desc, &object),
      (culv_memory_destroy(&object), 0))
MAKES(import_vk_memory, culv_memory, culv_vk_memory_import(w->attachment, desc, &object),
      (culv_memory_destroy(&object), 0))
MAKES(map, culv_buffer, culv_buffer_map(shared_memory, desc, &object),
      culv_buffer_unmap(&object, NULL))
MAKES(import_semaphore, culv_semaphore, culv_semaphore_import(w->device, desc, &object),
      culv_semaphore_destroy(&object, NULL))
MAKES(import_vk_semaphore, culv_semaphore, culv_vk_semaphore_import(w->attachment, desc, &object),
      culv_semaphore_destroy(&object, NULL))
MAKES(make_vk_semaphore, culv_shared_semaphore,
      culv_vk_semaphore_create(w->attachment, desc, &object),
      culv_shared_semaphore_destroy(&object, NULL))
MAKES(make_ring, culv_ring, culv_ring_create(w->device, desc, &object),
      culv_ring_destroy(&object, NULL))
MAKES(image_map, culv_image, culv_image_map(subject.memory, desc, &object),
      culv_image_unmap(&object, NULL))
MAKES(map_vk, culv_image, culv_vk_image_map(w->attachment, subject.memory, desc, &object),
      culv_image_unmap(&object, NULL))
MAKES(make_buffer, culv_shared_buffer, culv_vk_buffer_create(w->attachment, desc, &object),
      culv_shared_buffer_destroy(&object, NULL))
MAKES(make_image, culv_shared_image, culv_vk_image_create(w->attachment, desc, &object),
      culv_shared_image_destroy(&object, NULL))

static culv_result rank(lib_world *w, const void *desc)
{
    uint32_t count = 77;
    culv_result r =
        culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w->vk.instance, desc, NULL, 0, &count);
    REQUIRE((count == 77) == (r != CULV_OK));
    return r;
}

static culv_result barriers(lib_world *w, const void *desc)
{
    VkBufferMemoryBarrier2 two;
    culv_result r = culv_vk_buffer_get_barrier2(desc, CULV_VK_RELEASE, &two);
    REQUIRE_EQ(culv_vk_buffer_get_barrier2(desc, CULV_VK_ACQUIRE, &two), r);
    return r;
}

static culv_result image_barriers(lib_world *w, const void *desc)
{
    VkImageMemoryBarrier2 two;
    culv_result r = culv_vk_image_get_barrier2(desc, CULV_VK_RELEASE, &two);
    REQUIRE_EQ(culv_vk_image_get_barrier2(desc, CULV_VK_ACQUIRE, &two), r);
    return r;
}

static culv_result set_ring(lib_world *w, const void *settings)
{
    culv_ring_desc d = culv_ring_desc_init();
    d.max_depth = 4;
    d.settings = settings;
    return make_ring(w, &d);
}

LIB_CASE(descriptors, .smoke = true)
{
    raw_vk_buffer buffer = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    VkSemaphore timeline = lib_case_timeline(w, 3);
    int fd = raw_vk_buffer_fd(&w->vk, &buffer);
    int timeline_fd = raw_vk_timeline_fd(&w->vk, timeline);
    shared_memory = lib_import(w, &buffer);

    culv_device_desc device = culv_device_desc_init();
    culv_vk_device_desc vk = lib_vk_desc(w);
    culv_memory_desc memory = lib_memory_desc(w, &buffer, fd);
    culv_buffer_desc range = culv_buffer_desc_init();
    culv_semaphore_desc semaphore = culv_semaphore_desc_init();
    semaphore.handle = culv_handle_opaque_fd(timeline_fd);
    semaphore.type = CULV_SEMAPHORE_TIMELINE;
    culv_vk_memory_desc vk_memory = culv_vk_memory_desc_init();
    vk_memory.memory = buffer.memory;
    vk_memory.allocation_size = buffer.allocation_size;
    culv_vk_semaphore_desc vk_semaphore = culv_vk_semaphore_desc_init();
    vk_semaphore.semaphore = timeline;
    vk_semaphore.type = CULV_SEMAPHORE_TIMELINE;
    culv_vk_semaphore_create_desc made = culv_vk_semaphore_create_desc_init();
    made.type = CULV_SEMAPHORE_TIMELINE;
    culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
    transfer.queue_family = 0;
    transfer.buffer = buffer.buffer;
    culv_ring_desc ring = culv_ring_desc_init();
    ring.max_depth = 2;
    culv_ring_settings settings = culv_ring_settings_init();

    const described rows[] = {
        {"culv_device_desc", &device, sizeof device, 16, open_device},
        {"culv_device_desc", &device, sizeof device, 16, open_ordinal},
        {"culv_device_desc", &device, sizeof device, 16, rank},
        {"culv_vk_device_desc", &vk, sizeof vk, offsetof(culv_vk_device_desc, api_version), attach},
        {"culv_memory_desc", &memory, sizeof memory, offsetof(culv_memory_desc, dedicated),
         import_memory},
        {"culv_buffer_desc", &range, sizeof range, 16, map},
        {"culv_semaphore_desc", &semaphore, sizeof semaphore, offsetof(culv_semaphore_desc, value),
         import_semaphore},
        {"culv_vk_memory_desc", &vk_memory, sizeof vk_memory,
         offsetof(culv_vk_memory_desc, dedicated), import_vk_memory},
        {"culv_vk_semaphore_desc", &vk_semaphore, sizeof vk_semaphore,
         offsetof(culv_vk_semaphore_desc, untracked), import_vk_semaphore},
        {"culv_vk_semaphore_create_desc", &made, sizeof made,
         offsetof(culv_vk_semaphore_create_desc, initial_value), make_vk_semaphore},
        {"culv_vk_buffer_transfer", &transfer, sizeof transfer,
         offsetof(culv_vk_buffer_transfer, stage), barriers},
        {"culv_ring_desc", &ring, sizeof ring, offsetof(culv_ring_desc, ready), make_ring},
        {"culv_ring_settings", &settings, sizeof settings, 16, set_ring},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        described_check(w, &rows[i]);

    culv_memory_destroy(&shared_memory);
    close(fd);
    close(timeline_fd);
}

/* An error in an old, short descriptor is reported without looking beyond it. */
TEST(short_transfer_with_an_error)
{
    size_t size = offsetof(culv_vk_buffer_transfer, access);
    culv_vk_buffer_transfer *t = calloc(1, size);
    VkBufferMemoryBarrier2 out;
    VkPipelineStageFlags2 hosts = VK_PIPELINE_STAGE_2_HOST_BIT;
    REQUIRE(t != NULL);
    memcpy(t, &size, sizeof size);
    memset((char *)t + offsetof(culv_vk_buffer_transfer, buffer), 1, sizeof(VkBuffer));
    memcpy((char *)t + offsetof(culv_vk_buffer_transfer, stage), &hosts, sizeof hosts);
    LIB_INVALID(culv_vk_buffer_get_barrier2(t, CULV_VK_RELEASE, &out), VALUE);
    free(t);
}

/* Structs that Culvert fills: an older program's is shorter, a newer one's longer, and one that was
 * not initialized is refused, not half filled or overrun. */
static culv_result get_error(culv_device *device, void *out)
{
    LIB_INVALID(culv_device_get_caps(device, NULL), NULL_ARGUMENT);
    culv_last_error(out);
    return CULV_OK;
}

static culv_result get_caps(culv_device *device, void *out)
{
    return culv_device_get_caps(device, out);
}

static culv_result get_counts(culv_device *device, void *out)
{
    return culv_device_get_counts(device, out);
}

static culv_result get_format(culv_device *device, void *out)
{
    return culv_format_get_info(CULV_FORMAT_R32_SFLOAT, out);
}

TEST(outputs)
{
    static const struct {
        const char *name;
        size_t size, older;
        culv_result (*get)(culv_device *device, void *out);
    } rows[] = {
        {"culv_error", sizeof(culv_error), offsetof(culv_error, native_api), get_error},
        {"culv_device_caps", sizeof(culv_device_caps), offsetof(culv_device_caps, uuid), get_caps},
        {"culv_device_counts", sizeof(culv_device_counts), offsetof(culv_device_counts, mappings),
         get_counts},
        {"culv_format_info", sizeof(culv_format_info),
         offsetof(culv_format_info, reason_text) / sizeof(size_t) * sizeof(size_t), get_format},
    };
    enum { BEYOND = 32 };
    unsigned char out[8192];
    (void)lib_driver();
    NEW(OWN(culv_device), device, culv_device_open_by_ordinal, 0, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const size_t size = rows[i].size;
        REQUIRE(size + BEYOND <= sizeof out);
        printf("%s\n", rows[i].name);
        for (int newer = 0; newer < 2; newer++) {
            const size_t told = newer ? size + BEYOND / 2 : rows[i].older;
            memset(out, 0x77, sizeof out);
            memcpy(out, &told, sizeof told);
            LIB_OK(rows[i].get(device, out));
            REQUIRE_EQ_BYTES(out, &told, sizeof told);
            REQUIRE(out[sizeof told] != 0x77);
            for (size_t at = newer ? size : told; at < size + BEYOND; at++)
                REQUIRE_EQ(out[at],
                           at < told ? 0 : 0x77); /* what this library does not know is 0 */
        }
        /* What was never set; those that would cut a field in two; those of no version. */
        const size_t wrong[] = {0,
                                1,
                                sizeof(size_t) - 1,
                                sizeof(size_t),
                                size - 1,
                                size + 4,
                                65537,
                                65536 + sizeof(size_t),
                                (size_t)0x7777777777777777u,
                                SIZE_MAX};
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
            memset(out, 0x77, sizeof out);
            memcpy(out, &wrong[k], sizeof wrong[k]);
            if (rows[i].get == get_error)
                (void)get_error(device, out); /* which has no error of its own */
            else
                LIB_INVALID(rows[i].get(device, out), STRUCT_SIZE);
            for (size_t at = sizeof(size_t); at < size + BEYOND; at++)
                REQUIRE_EQ(out[at], 0x77);
        }
    }
}

/* The array of culv_vk_rank_physical_devices() has the caller's stride. */
LIB_VULKAN_CASE(candidates)
{
    uint32_t count = 0;
    LIB_OK(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w->vk.instance, NULL, NULL, 0,
                                         &count));
    REQUIRE(count >= 1 && count < 64);
    uint32_t total = count;
    culv_vk_candidate *now = calloc(count, sizeof *now);
    size_t stride = sizeof(culv_vk_candidate) + 64;
    char *newer = malloc((total + 1) * stride);
    REQUIRE(now != NULL && newer != NULL);
    for (uint32_t i = 0; i < total; i++)
        now[i] = culv_vk_candidate_init();
    LIB_OK(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w->vk.instance, NULL, now, count,
                                         &count));
    REQUIRE_EQ(count, total);
    memset(newer, 0x77, (total + 1) * stride);
    for (uint32_t i = 0; i < total; i++)
        memcpy(newer + i * stride, &stride, sizeof stride);
    LIB_OK(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w->vk.instance, NULL,
                                         (culv_vk_candidate *)(void *)newer, count, &count));
    for (uint32_t i = 0; i < total; i++) {
        REQUIRE_EQ_BYTES(newer + i * stride + sizeof(size_t), (char *)&now[i] + sizeof(size_t),
                         sizeof(culv_vk_candidate) - sizeof(size_t));
        for (size_t k = sizeof(culv_vk_candidate); k < stride; k++)
            REQUIRE_EQ(newer[i * stride + k], 0);
    }
    REQUIRE_EQ(newer[total * stride], 0x77); /* no more elements than there are */

    count = 0; /* room for none */
    memset(newer, 0x77, stride);
    memcpy(newer, &stride, sizeof stride);
    LIB_OK(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w->vk.instance, NULL,
                                         (culv_vk_candidate *)(void *)newer, count, &count));
    REQUIRE_EQ(count, total);
    REQUIRE_EQ(newer[sizeof(size_t)], 0x77);

    count = total;
    static const size_t wrong[] = {0, sizeof(size_t), sizeof(culv_vk_candidate) + 4, 65537,
                                   SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        now[0].struct_size = wrong[i];
        LIB_INVALID(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w->vk.instance, NULL, now,
                                                  count, &count),
                    STRUCT_SIZE, "culv_vk_candidate");
    }
    REQUIRE_EQ(count, total);
    free(newer);
    free(now);
}

/* Of images, of what Culvert makes, and of images' barriers. */
IMAGE_CASE(image_descriptors)
{
    shared_image_open(s, CALLERS_DEDICATED, VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 1, 0, &subject);
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 1, 0, &external);
    const VkImageCreateInfo plain = image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 1, 0, NULL);
    const VkBufferCreateInfo buffer_info =
        raw_vk_buffer_info(4096, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_image_desc image = culv_image_desc_init();
    image.format = CULV_FORMAT_R8G8B8A8_UNORM;
    image.width = image.height = 64;
    culv_vk_image_desc vk_image = culv_vk_image_desc_init();
    vk_image.image = subject.image;
    vk_image.create_info = &info;
    culv_vk_buffer_create_desc buffer = culv_vk_buffer_create_desc_init();
    buffer.create_info = &buffer_info;
    culv_vk_image_create_desc made = culv_vk_image_create_desc_init();
    made.create_info = &plain;
    culv_vk_image_transfer transfer = culv_vk_image_transfer_init();
    transfer.queue_family = 0;
    transfer.image = subject.image;
    const described rows[] = {
        {"culv_image_desc", &image, sizeof image, offsetof(culv_image_desc, mip_levels), image_map},
        {"culv_vk_image_desc", &vk_image, sizeof vk_image, offsetof(culv_vk_image_desc, offset),
         map_vk},
        {"culv_vk_buffer_create_desc", &buffer, sizeof buffer,
         offsetof(culv_vk_buffer_create_desc, memory_properties), make_buffer},
        {"culv_vk_image_create_desc", &made, sizeof made,
         offsetof(culv_vk_image_create_desc, memory_properties), make_image},
        {"culv_vk_image_transfer", &transfer, sizeof transfer,
         offsetof(culv_vk_image_transfer, base_mip_level), image_barriers},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        described_check(&s->w, &rows[i]);
    shared_image_close(s, &subject);
}
