/* SPDX-License-Identifier: MIT */
/* Handles: types, duplicates, closing, and what Vulkan exports: each call a new one, the
 * caller's. */
#define TEST_GROUP "handles."
#include "../core/dma_buf_driver.h"
#include "image_stage.h"
#include "library.h"
#include "raw_binary.h"
#include "raw_vulkan_image.h"

#include <culvert/cuda_api.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* An out handle that no call returns. */
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

#define REFUSES_HANDLE(out, call, ...)    WRITES_NO_HANDLE(out, LIB_ERROR(call, __VA_ARGS__))
#define REFUSES_HANDLE_AS(out, call, ...) WRITES_NO_HANDLE(out, LIB_FAILS(call, __VA_ARGS__))
#define WRITES_NO_HANDLE(out, fails)                                                               \
    do {                                                                                           \
        (out) = poison();                                                                          \
        fails;                                                                                     \
        REQUIRE(poisoned(&(out)));                                                                 \
    } while (0)

static bool open_and_private(const culv_handle *h)
{
    return fcntl(h->value.fd, F_GETFD) == FD_CLOEXEC;
}

static bool same_file(int a, int b)
{
    struct stat one, two;
    REQUIRE(fstat(a, &one) == 0 && fstat(b, &two) == 0);
    return one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

/* Closing closes what is a file descriptor, once, and forgets. */
TEST(closing)
{
    culv_handle_close(NULL);
    culv_handle none = {CULV_HANDLE_NONE, {0}, NULL}; /* fd 0 is not its */
    culv_handle_close(&none);
    REQUIRE(fcntl(0, F_GETFD) >= 0);
    size_t fds = test_open_fds();
    culv_handle h = culv_handle_opaque_fd(memfd_create("handle", MFD_CLOEXEC));
    culv_handle_close(&h);
    REQUIRE_EQ(test_open_fds(), fds);
    REQUIRE(h.type == CULV_HANDLE_NONE);
    culv_handle_close(&h);
    culv_handle never = culv_handle_opaque_fd(-1);
    culv_handle_close(&never);
    REQUIRE_EQ(never.type, CULV_HANDLE_NONE);
    culv_handle named = culv_handle_opaque_win32_named(L"heights"); /* value.fd is 0 */
    culv_handle_close(&named);
    REQUIRE(fcntl(0, F_GETFD) >= 0 && named.name == NULL);
    REQUIRE_EQ(test_open_fds(), fds);
}

/* Each duplicate is a new descriptor of the same file, and private. */
TEST(duplicates)
{
    size_t fds = test_open_fds();
    int files[] = {memfd_create("handle", 0), open("/dev/null", O_RDWR | O_CLOEXEC)};
    for (int i = 0; i < 2; i++) {
        culv_handle h = culv_handle_opaque_fd(files[i]), copies[3];
        lib_fd fd = lib_fd_watch(files[i]);
        for (int k = 0; k < 3; k++) {
            LIB_OK(culv_handle_dup(&h, &copies[k]));
            REQUIRE(copies[k].type == h.type && copies[k].value.fd != files[i] &&
                    copies[k].name == NULL);
            REQUIRE(open_and_private(&copies[k]) && same_file(copies[k].value.fd, files[i]));
            for (int other = 0; other < k; other++)
                REQUIRE(copies[other].value.fd != copies[k].value.fd);
        }
        lib_fd_require_untouched(&fd);
        for (int k = 0; k < 3; k++)
            culv_handle_close(&copies[k]);
        lib_fd_end(&fd, true);
    }
    REQUIRE_EQ(test_open_fds(), fds);
}

TEST(duplicates_refused)
{
    culv_handle out, h = culv_handle_opaque_fd(-1);
    int ends[2];
    REFUSES_HANDLE(out, culv_handle_dup(&h, &out), INVALID, HANDLE_BAD);
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    h.value.fd = ends[0];
    REFUSES_HANDLE(out, culv_handle_dup(&h, &out), INVALID, HANDLE_KIND);
    h.name = L"heights";
    REFUSES_HANDLE(out, culv_handle_dup(&h, &out), INVALID, VALUE, "handle.name");
    close(ends[0]);
    close(ends[1]);
}

/* Exports of one memory: each a new descriptor, all the same memory, which outlives none of
 * them. */
LIB_CASE(memory_is_exported, .title = "export.memory")
{
    enum { WORDS = 4096, TIMES = 3 };
    static uint32_t words[WORDS], back[WORDS];
    const raw_cuda *cu = w->cu;
    raw_vk_buffer vk = lib_case_buffer(w, sizeof words, RAW_VK_EXPORT);
    lib_fill(words, WORDS, 77);
    raw_vk_write(&w->vk, &vk, 0, words, sizeof words);
    size_t fds = test_open_fds();
    culv_handle handles[TIMES];
    for (int i = 0; i < TIMES; i++) {
        LIB_OK(culv_vk_memory_export_dup(w->attachment, vk.memory, CULV_HANDLE_OPAQUE_FD,
                                         &handles[i]));
        REQUIRE_EQ(handles[i].type, CULV_HANDLE_OPAQUE_FD);
        REQUIRE(open_and_private(&handles[i]));
        for (int other = 0; other < i; other++)
            REQUIRE(handles[other].value.fd != handles[i].value.fd);
    }
    REQUIRE_EQ(test_open_fds(), fds + TIMES);
    for (int i = 0; i < TIMES; i++) {
        culv_memory_desc d = lib_memory_desc(w, &vk, handles[i].value.fd);
        lib_fd fd = lib_fd_watch(handles[i].value.fd);
        NEW(OWN(culv_memory), memory, culv_memory_import, w->device, &d);
        lib_fd_end(&fd, false);
        culv_handle_close(&handles[i]);
        NEW(OWN(culv_buffer), buffer, culv_buffer_map, memory, NULL);
        CUcontext before = lib_enter(w);
        memset(back, 0, sizeof back);
        CU_OK(cu->MemcpyDtoH(back, culv_buffer_pointer(buffer) + vk.offset, sizeof back));
        lib_leave(w, before);
        REQUIRE_WORDS(back, WORDS, 77);
    }
    if (cu->software) REQUIRE_EQ(test_open_fds(), fds);
}

LIB_CASE(semaphore_is_exported, .title = "export.semaphore")
{
    VkSemaphore timeline = lib_case_timeline(w, 4);
    CUstream stream = lib_case_stream(w);
    culv_handle one, two;
    LIB_OK(culv_vk_semaphore_export_dup(w->attachment, timeline, CULV_HANDLE_OPAQUE_FD, &one));
    LIB_OK(culv_vk_semaphore_export_dup(w->attachment, timeline, CULV_HANDLE_OPAQUE_FD, &two));
    REQUIRE(one.value.fd != two.value.fd && open_and_private(&one) && open_and_private(&two));
    culv_semaphore_desc d = culv_semaphore_desc_init();
    d.type = CULV_SEMAPHORE_TIMELINE;
    d.value = 4;
    d.handle = two;
    NEW(OWN(culv_semaphore), semaphore, culv_semaphore_import, w->device, &d);
    culv_handle_close(&two);
    LIB_OK(culv_semaphore_signal(semaphore, stream, 5));
    REQUIRE(raw_vk_timeline_wait(&w->vk, timeline, 5, TEST_FAR_MS));
    lib_finish(w, stream);
    culv_handle_close(&one);
}

LIB_CASE(exports_refused, .title = "export.refused")
{
    culv_vk_device *vk = w->attachment;
    raw_vk_buffer buffer = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    VkSemaphore timeline = lib_case_timeline(w, 0);
    /* From its first export on, Vulkan's side keeps an fd */
    close(raw_vk_timeline_fd(&w->vk, timeline));
    size_t fds = test_open_fds();
    culv_handle out;
    const culv_handle_type fd = CULV_HANDLE_OPAQUE_FD;
    REFUSES_HANDLE(out, culv_vk_memory_export_dup(vk, VK_NULL_HANDLE, fd, &out), INVALID,
                   NULL_ARGUMENT, "memory is VK_NULL_HANDLE");
    LIB_INVALID(culv_vk_memory_export_dup(vk, buffer.memory, fd, NULL), NULL_ARGUMENT);
    REFUSES_HANDLE(out, culv_vk_semaphore_export_dup(vk, VK_NULL_HANDLE, fd, &out), INVALID,
                   NULL_ARGUMENT);
    LIB_INVALID(culv_vk_semaphore_export_dup(vk, timeline, fd, NULL), NULL_ARGUMENT);
    REFUSES_HANDLE(out, culv_vk_semaphore_export_dup(vk, timeline, CULV_HANDLE_DMA_BUF_FD, &out),
                   INVALID, HANDLE_TYPE, "a dma-buf; handles of Vulkan's semaphores are OPAQUE_FD");
    if (!raw_vk_has_device_extension(w->vk.physical,
                                     VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME)) {
        REFUSES_HANDLE(
            out, culv_vk_memory_export_dup(vk, buffer.memory, CULV_HANDLE_DMA_BUF_FD, &out),
            UNSUPPORTED, EXTENSION_MISSING, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME);
    }
    REQUIRE_EQ(test_open_fds(), fds);
}

/* A success is no cause. */
static void require_no_success(void)
{
    if (strstr(culv_last_error_message(), "VK_SUCCESS") != NULL)
        FAIL("%s", culv_last_error_message());
}

/* A driver that gives nothing: without an error, as Mesa of memory that was not made for export, or
 * with one. Each call that exports says so, and what was made for it goes again. */
LIB_CASE(export_fails, .title = "export.fails")
{
    raw_vk_buffer buffer = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    VkSemaphore timeline = lib_case_timeline(w, 0);
    const VkBufferCreateInfo info = raw_vk_buffer_info(4096, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    const VkImageCreateInfo picture =
        raw_vk_image_info(VK_FORMAT_R32_SFLOAT, 16, 16, VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    culv_memory *memory = NULL;
    culv_semaphore *semaphore = NULL;
    culv_shared_semaphore *made = NULL;
    culv_shared_buffer *shared = NULL;
    culv_shared_image *image = NULL;
    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    culv_vk_semaphore_desc sd = culv_vk_semaphore_desc_init();
    culv_vk_buffer_create_desc bd = culv_vk_buffer_create_desc_init();
    culv_vk_image_create_desc id = culv_vk_image_create_desc_init();
    md.memory = buffer.memory;
    md.allocation_size = buffer.allocation_size;
    sd.semaphore = timeline;
    sd.type = CULV_SEMAPHORE_TIMELINE;
    bd.create_info = &info;
    id.create_info = &picture;
    static const struct {
        VkResult vulkan;
        culv_result result;
        culv_reason reason;
    } rows[] = {{VK_SUCCESS, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE},
                {VK_ERROR_INVALID_EXTERNAL_HANDLE, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE},
                {VK_ERROR_TOO_MANY_OBJECTS, CULV_ERROR_DRIVER, CULV_REASON_NOT_EXPORTABLE},
                {VK_ERROR_OUT_OF_HOST_MEMORY, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY},
                {VK_ERROR_DEVICE_LOST, CULV_ERROR_ASYNC, CULV_REASON_DEVICE_LOST}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_handle out;
        culv_vk_device_desc vd = lib_vk_desc(w);
        lib_lying = (lib_lies){.memory_fd_fails = true,
                               .memory_fd_result = rows[i].vulkan,
                               .semaphore_fd_fails = true,
                               .semaphore_fd_result = rows[i].vulkan};
        vd.get_instance_proc_addr = lib_lying_loader;
        NEW(culv_vk_device, lying, culv_vk_attach, w->device, &vd);
        REFUSES_HANDLE_AS(
            out, culv_vk_memory_export_dup(lying, buffer.memory, CULV_HANDLE_OPAQUE_FD, &out),
            rows[i].result, rows[i].reason);
        require_no_success();
        REFUSES_HANDLE_AS(
            out, culv_vk_semaphore_export_dup(lying, timeline, CULV_HANDLE_OPAQUE_FD, &out),
            rows[i].result, rows[i].reason);
        require_no_success();
#define NOTHING(object, call)                                                                      \
    LIB_REFUSES_AS(object, call, rows[i].result, rows[i].reason);                                  \
    require_no_success()
        NOTHING(semaphore, culv_vk_semaphore_import(lying, &sd, &semaphore));
        NOTHING(made, culv_vk_semaphore_create(lying, NULL, &made));
        NOTHING(shared, culv_vk_buffer_create(lying, &bd, &shared));
        NOTHING(image, culv_vk_image_create(lying, &id, &image));
        NOTHING(memory, culv_vk_memory_import(lying, &md, &memory));
#undef NOTHING
        const culv_error e = lib_last_error();
        REQUIRE_EQ(e.native_api, CULV_NATIVE_VULKAN);
        REQUIRE_EQ(e.native_code, rows[i].vulkan);
        REQUIRE_EQ_STR(e.native_call, "vkGetMemoryFdKHR");
        REQUIRE_EQ(lib_counts(w).created, 0);
        REQUIRE_EQ(lib_counts(w).attached_devices, 2);
        culv_vk_detach(&lying);
        REQUIRE_EQ(lib_counts(w).attached_devices, 1);
    }
}

/* A VkDevice without the extensions, which can be attached for fallbacks: there is no function to
 * call. */
LIB_CASE(not_enabled, .title = "export.not_enabled")
{
    raw_vk_buffer buffer = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    VkSemaphore timeline = lib_case_timeline(w, 0);
    static const char *const missing[] = {"vkGetMemoryFdKHR", "vkGetSemaphoreFdKHR"};
    for (int semaphores = 0; semaphores < 2; semaphores++) {
        culv_handle out;
        culv_vk_device_desc vd = lib_vk_desc(w);
        lib_lying = (lib_lies){.missing = missing[semaphores]};
        vd.get_instance_proc_addr = lib_lying_loader;
        vd.fallback = CULV_FALLBACK_ANY;
        NEW(culv_vk_device, poor, culv_vk_attach, w->device, &vd);
        if (semaphores) {
            REFUSES_HANDLE(
                out, culv_vk_semaphore_export_dup(poor, timeline, CULV_HANDLE_OPAQUE_FD, &out),
                UNSUPPORTED, EXTENSION_MISSING, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
            LIB_OK(culv_vk_memory_export_dup(poor, buffer.memory, CULV_HANDLE_OPAQUE_FD, &out));
            culv_handle_close(&out);
        } else {
            static const culv_handle_type types[] = {CULV_HANDLE_OPAQUE_FD, CULV_HANDLE_DMA_BUF_FD};
            for (int i = 0; i < 2; i++) {
                REFUSES_HANDLE(out, culv_vk_memory_export_dup(poor, buffer.memory, types[i], &out),
                               UNSUPPORTED, EXTENSION_MISSING,
                               VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
            }
        }
        culv_vk_detach(&poor);
    }
}

#undef TEST_GROUP
#define TEST_GROUP "handle_rows."
/* Every type of handle at every call that takes one or makes one: accepted, or refused by name with
 * the class and reason that the type's row has, and nothing is consumed or written. */

enum {
    BYTES = 65536,
    FD_BIT = 1 << CULV_HANDLE_OPAQUE_FD,
    POSIX = 1,
    WINDOWS = 0,
    BUILT_FD = 1,
    BUILT_NT = 1,
    BUILT_KMT = 1,
    BUILT_BYTES = 0
};

/* The columns that a call goes by. */
typedef enum column { MEMORY, BINARY, TIMELINE, VMM, VK_MEMORY, VK_SEMAPHORE, COLUMNS } column;

static const struct row {
    culv_handle_type type;
    const char *name;
    bool here, built;
    bool serves[COLUMNS];
} rows[] = {
#define CULVI_HANDLE(name, words, kind, system, dedicated, memory, binary, timeline, mutex, vmm,   \
                     vk_memory, vk_semaphore, gl)                                                  \
    {CULV_HANDLE_##name,                                                                           \
     #name,                                                                                        \
     system,                                                                                       \
     BUILT_##kind,                                                                                 \
     {(memory) != 0, (binary) != 0, (timeline) != 0, (vmm) != 0, (vk_memory) != 0,                 \
      (vk_semaphore) != 0}},
#include "base/handle_rows.h"

#undef CULVI_HANDLE
};
enum { ROWS = sizeof rows / sizeof rows[0] };

typedef struct handle_stage {
    lib_world w;
    raw_vk_buffer buffer;
    VkSemaphore timeline;
    raw_binary binary;
    bool has_binary;
    culv_vmm_allocation *allocation; /* NULL: the device has none */
    CUmemoryPool pool;
} handle_stage;

/* A call with a handle, or with a type alone. On success it gives back what it made, and closes
 * what it was lent. */
typedef culv_result call(const handle_stage *s, culv_handle handle);

/* An import that is refused has written nothing. */
#define IMPORT(type, by, destroy)                                                                  \
    do {                                                                                           \
        type *out = POISON(type);                                                                  \
        const culv_result result = by(s->w.device, &d, &out);                                      \
        if (result != CULV_OK) {                                                                   \
            REQUIRE(out == POISON(type));                                                          \
            return result;                                                                         \
        }                                                                                          \
        destroy;                                                                                   \
        culv_handle_close(&handle);                                                                \
        return CULV_OK;                                                                            \
    } while (0)

static culv_result memory(const handle_stage *s, culv_handle handle)
{
    culv_memory_desc d = lib_memory_desc(&s->w, &s->buffer, -1);
    d.handle = handle;
    IMPORT(culv_memory, culv_memory_import, culv_memory_destroy(&out));
}

static culv_result semaphore(const handle_stage *s, culv_handle handle, culv_semaphore_type type)
{
    culv_semaphore_desc d = culv_semaphore_desc_init();
    d.handle = handle;
    d.type = type;
    IMPORT(culv_semaphore, culv_semaphore_import, culv_semaphore_destroy(&out, NULL));
}

static culv_result timeline(const handle_stage *s, culv_handle handle)
{
    return semaphore(s, handle, CULV_SEMAPHORE_TIMELINE);
}

static culv_result binary(const handle_stage *s, culv_handle handle)
{
    return semaphore(s, handle, CULV_SEMAPHORE_BINARY);
}

static culv_result vmm(const handle_stage *s, culv_handle handle)
{
    culv_vmm_import_desc d = culv_vmm_import_desc_init();
    d.handle = handle;
    d.size = lib_allocation(s->allocation).size;
    IMPORT(culv_vmm_allocation, culv_vmm_import, culv_vmm_allocation_destroy(&out));
}

static culv_result pool(const handle_stage *s, culv_handle handle)
{
    culv_mem_pool_import_desc d = culv_mem_pool_import_desc_init();
    d.handle = handle;
    IMPORT(culv_mem_pool, culv_mem_pool_import, culv_mem_pool_destroy(&out));
}

static culv_result from_handle(const handle_stage *s, culv_handle handle)
{
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    VkDeviceMemory out = VK_NULL_HANDLE;
    d.handle = handle;
    d.size = s->buffer.allocation_size;
    d.memory_type_bits = 1u << s->buffer.memory_type;
    culv_result result = culv_vk_memory_from_handle(s->w.attachment, &d, &out);
    REQUIRE((result == CULV_OK) == (out != VK_NULL_HANDLE));
    if (result != CULV_OK) return result;
    vkFreeMemory(s->w.vk.device, out, NULL);
    culv_handle_close(&handle);
    return result;
}

static culv_result plan(const handle_stage *s, culv_handle handle)
{
    const VkBufferCreateInfo info = raw_vk_buffer_info(BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_check_desc d = culv_vk_check_desc_init();
    culv_vk_sharing_info out = culv_vk_sharing_info_init();
    d.handle_type = handle.type;
    culv_result result = culv_vk_check_buffer(s->w.attachment, &info, &d, &out);
    REQUIRE_EQ(out.handle_type, result == CULV_OK ? handle.type : CULV_HANDLE_NONE);
    if (result == CULV_OK) culv_handle_close(&handle);
    return result;
}

/* Exports: the handle that is given tells the type alone. */
static culv_result exported(const handle_stage *s, culv_handle handle, culv_result result,
                            culv_handle *out)
{
    if (result != CULV_OK) {
        REQUIRE_EQ(out->type, CULV_HANDLE_NONE);
        return result;
    }
    REQUIRE_EQ(out->type, handle.type);
    culv_handle_close(out);
    culv_handle_close(&handle);
    return result;
}

static culv_result export_memory(const handle_stage *s, culv_handle handle)
{
    culv_handle out = {0};
    return exported(s, handle,
                    culv_vk_memory_export_dup(s->w.attachment, s->buffer.memory, handle.type, &out),
                    &out);
}

static culv_result export_semaphore(const handle_stage *s, culv_handle handle)
{
    culv_handle out = {0};
    return exported(s, handle,
                    culv_vk_semaphore_export_dup(s->w.attachment, s->timeline, handle.type, &out),
                    &out);
}

static culv_result export_vmm(const handle_stage *s, culv_handle handle)
{
    culv_handle out = {0};
    return exported(s, handle, culv_vmm_export_dup(s->allocation, handle.type, &out), &out);
}

/* Descriptors with bits. */
static culv_result allocate(const handle_stage *s, culv_handle handle)
{
    culv_vmm_allocation *out = NULL;
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = BYTES;
    d.handle_types = UINT32_C(1) << handle.type;
    culv_result result = culv_vmm_allocation_create(s->w.device, &d, &out);
    REQUIRE((result == CULV_OK) == (out != NULL));
    culv_vmm_allocation_destroy(&out);
    if (result == CULV_OK) culv_handle_close(&handle);
    return result;
}

static const struct entry {
    const char *name;
    call *run;
    column by;
} calls[] = {
    {"culv_memory_import", memory, MEMORY},
    {"culv_semaphore_import (timeline)", timeline, TIMELINE},
    {"culv_semaphore_import (binary)", binary, BINARY},
    {"culv_vmm_import", vmm, VMM},
    {"culv_mem_pool_import", pool, VMM},
    {"culv_vk_memory_from_handle", from_handle, VK_MEMORY},
    {"culv_vk_check_buffer", plan, VK_MEMORY},
    {"culv_vk_memory_export_dup", export_memory, VK_MEMORY},
    {"culv_vk_semaphore_export_dup", export_semaphore, VK_SEMAPHORE},
    {"culv_vmm_export_dup", export_vmm, VMM},
    {"culv_vmm_allocation_create", allocate, VMM},
};

static void open_stage(handle_stage *s)
{
    memset(s, 0, sizeof *s);
    lib_open(&s->w);
    s->buffer = lib_case_buffer(&s->w, BYTES, RAW_VK_EXPORT);
    s->timeline = lib_case_timeline(&s->w, 0);
    /* From its first export on, Vulkan's side keeps an fd */
    close(raw_vk_timeline_fd(&s->w.vk, s->timeline));
    close(raw_vk_buffer_fd(&s->w.vk, &s->buffer));
    s->has_binary =
        s->w.cu->software || (raw_binary_properties(&s->w.vk).externalSemaphoreFeatures &
                              VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT) != 0;
    if (s->has_binary) raw_binary_create(&s->w.vk, s->w.cu, &s->binary);
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = BYTES;
    d.handle_types = FD_BIT;
    LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &s->allocation));
    const CUmemPoolProps pool = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                 .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
    CU_OK(CULV_CUDA(s->w.device)->cuMemPoolCreate(&s->pool, &pool));
}

static void close_stage(handle_stage *s)
{
    CU_OK(CULV_CUDA(s->w.device)->cuMemPoolDestroy(s->pool));
    culv_vmm_allocation_destroy(&s->allocation);
    if (s->has_binary) raw_binary_destroy(&s->w.vk, &s->binary);
    lib_close(&s->w);
}

/* An fd that is right for a call, as it is exported; -1: the machine has none. */
static int right_fd(handle_stage *s, const struct entry *c)
{
    culv_handle h = {0};
    if (c->run == pool) {
        CU_OK(CULV_CUDA(s->w.device)
                  ->cuMemPoolExportToShareableHandle(&h.value.fd, s->pool,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        return h.value.fd;
    }
    switch (c->by) {
    case VMM:
        LIB_OK(culv_vmm_export_dup(s->allocation, CULV_HANDLE_OPAQUE_FD, &h));
        return h.value.fd;
    case BINARY: return s->has_binary ? raw_binary_fd(&s->w.vk, &s->binary) : -1;
    case TIMELINE:
    case VK_SEMAPHORE: return raw_vk_timeline_fd(&s->w.vk, s->timeline);
    default: return raw_vk_buffer_fd(&s->w.vk, &s->buffer);
    }
}

static void require_refused(const struct entry *c, const struct row *r, culv_result result,
                            culv_result expected)
{
    const culv_error e = lib_last_error();
    printf("%s, %s: %s\n", c->name, r->name, e.message);
    REQUIRE_EQ(result, expected);
    REQUIRE_EQ(e.result, expected);
    REQUIRE_EQ(e.reason, CULV_REASON_HANDLE_TYPE);
    LIB_SAYS(r->name);
}

/* What no row's number decides: whether this machine has dma-bufs. */
static void require_dma_buf(const struct entry *c, culv_result result)
{
    const culv_error e = lib_last_error();
    printf("%s, DMA_BUF_FD: %s\n", c->name, e.message);
    if (c->by == MEMORY) {
        REQUIRE_EQ(result, CULV_ERROR_UNSUPPORTED);
        REQUIRE_EQ(e.reason, CULV_REASON_HANDLE_TYPE);
        REQUIRE_EQ_STR(e.native_call, "cuImportExternalMemory");
        LIB_SAYS("Thor");
    } else if (c->run == plan) {
        REQUIRE_EQ(result, CULV_ERROR_UNSUPPORTED);
        REQUIRE_EQ(e.reason, CULV_REASON_HANDLE_TYPE);
    } else {
        REQUIRE(result != CULV_OK); /* nothing here was made for export as one */
    }
}

/* Bytes of any kind come as far as the driver, or to what was not made for export as them. */
static bool takes_fabric(const struct entry *c, const struct row *r)
{
    return r->type == CULV_HANDLE_FABRIC &&
           (c->run == vmm || c->run == pool || c->run == export_vmm);
}

#define HANDLE_CASE(...) TEST_ON(handle_stage, s, open_stage(s), close_stage(s), __VA_ARGS__)

HANDLE_CASE(each_pair)
{
    unsigned accepted = 0, refused = 0;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (int k = 0; k < ROWS; k++) {
            const struct entry *c = &calls[i];
            const struct row *r = &rows[k];
            const bool served = r->serves[c->by], here = r->here && r->built;
            /* Making one on hardware may disturb other programs of the host: never in a test. */
            /* From Mesa 25 on lavapipe takes any file for a dma-buf, and hands out as one what was
             * made for another export, which the specification forbids to ask for. */
            const bool lax =
                r->type == CULV_HANDLE_DMA_BUF_FD && s->w.vk.dma_buf && s->w.cu->software;
            if (lax && c->run == export_memory) continue;
            int fd = right_fd(s, c);
            const bool right = fd >= 0 && r->type == CULV_HANDLE_OPAQUE_FD && served;
            if (fd < 0) fd = open("/dev/null", O_RDWR | O_CLOEXEC);
            lib_fd watched = lib_fd_watch(fd);
            const size_t fds = test_open_fds();
            culv_handle handle = culv_handle_opaque_fd(fd);
            handle.type = r->type;
            lib_forget_error();
            culv_result result = c->run(s, handle);
            const bool taken = lax && c->run == from_handle && result == CULV_OK;
            if (right || taken) {
                if (result != CULV_OK)
                    FAIL("%s, %s: %s", c->name, r->name, culv_last_error_message());
                lib_fd_require_gone(&watched);
                lib_fd_done(&watched, false);
                accepted++;
                continue;
            }
            if (!served) {
                require_refused(c, r, result, CULV_ERROR_INVALID);
                const char *all = strstr(culv_last_error_message(), "handles of"); /* to its end */
                REQUIRE(!all || (all[strlen(all) - 1] == ')' && !strstr(all, "WIN32")));
            } else if (!here && !takes_fabric(c, r))
                require_refused(c, r, result, CULV_ERROR_UNSUPPORTED);
            else if (r->type == CULV_HANDLE_DMA_BUF_FD)
                require_dma_buf(c, result);
            else
                REQUIRE(result != CULV_OK); /* /dev/null */
            lib_fd_require_untouched(&watched);
            REQUIRE_EQ(test_open_fds(), fds);
            lib_fd_done(&watched, true);
            refused++;
        }
    REQUIRE(accepted >= 11);
    MEASURED("library.handle_rows", "%u pairs accepted, %u refused", accepted, refused);
}

/* What is no type has no row: refused by each call, as what the caller did wrong. */
HANDLE_CASE(no_type)
{
    static const int none[] = {CULV_HANDLE_NONE, ROWS + 1, 31};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (size_t k = 0; k < sizeof none / sizeof none[0]; k++) {
            if (calls[i].run == plan && none[k] == CULV_HANDLE_NONE) continue; /* the default */
            const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
            lib_fd watched = lib_fd_watch(fd);
            culv_handle handle = culv_handle_opaque_fd(fd);
            handle.type = (culv_handle_type)none[k];
            printf("%s, type %d\n", calls[i].name, none[k]);
            LIB_INVALID(calls[i].run(s, handle), HANDLE_TYPE);
            lib_fd_end(&watched, true);
        }
}

/* Types without an open handle of this system's behind them are neither duplicated nor closed. */
TEST(duplicated_and_closed)
{
    const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    const size_t fds = test_open_fds();
    for (int k = 0; k < ROWS; k++) {
        const struct row *r = &rows[k];
        culv_handle handle = culv_handle_opaque_fd(fd), out = {0};
        handle.type = r->type;
        if (r->here && r->built) {
            LIB_OK(culv_handle_dup(&handle, &out));
            REQUIRE(out.type == r->type && out.value.fd != fd && fcntl(out.value.fd, F_GETFD) >= 0);
            culv_handle_close(&out);
        } else if (r->type == CULV_HANDLE_FABRIC) {
            LIB_OK(culv_handle_dup(&handle, &out));
            REQUIRE_EQ_BYTES(&out, &handle, sizeof out);
            culv_handle_close(&out);
            REQUIRE(out.type == CULV_HANDLE_NONE && fcntl(fd, F_GETFD) >= 0);
        } else {
            LIB_ERROR(culv_handle_dup(&handle, &out), UNSUPPORTED, HANDLE_TYPE, r->name);
            REQUIRE_EQ(out.type, CULV_HANDLE_NONE);
            culv_handle_close(&handle);
            REQUIRE(handle.type == CULV_HANDLE_NONE && fcntl(fd, F_GETFD) >= 0);
        }
        REQUIRE_EQ(test_open_fds(), fds);
    }
    static const int none[] = {CULV_HANDLE_NONE, ROWS + 1, 99, -1};
    for (size_t k = 0; k < sizeof none / sizeof none[0]; k++) {
        culv_handle handle = culv_handle_opaque_fd(fd), out = {0};
        handle.type = (culv_handle_type)none[k];
        LIB_INVALID(culv_handle_dup(&handle, &out), HANDLE_TYPE);
        culv_handle_close(&handle);
        REQUIRE(handle.type == CULV_HANDLE_NONE && (k == 0 || handle.value.fd == 0));
        REQUIRE(fcntl(fd, F_GETFD) >= 0);
    }
    close(fd);
}

/* The numbers are one after the other, and fit as bits. */
TEST(numbers)
{
    for (int k = 0; k < ROWS; k++)
        REQUIRE_EQ(rows[k].type, k + 1);
    REQUIRE(ROWS < 16); /* property.c keeps them in 16 bits */
}

#undef TEST_GROUP
#define TEST_GROUP "dma_buf."
/* CUDA's memory as dma-bufs, and dma-bufs in CUDA: on the driver under test, and on one that plays
 * a machine that has both ways (dma_buf_driver.c). */

enum { DMA_BYTES = 4 << 20, WIDTH = 61, HEIGHT = 17 };

/* Requires that the call fails so and writes nothing; no fd more than before. */
static void refuse(culv_device *device, CUdeviceptr p, uint64_t size, uint64_t flags,
                   culv_result class, culv_reason reason, const char *says)
{
    culv_handle out;
    size_t fds = test_open_fds();
    REFUSES_HANDLE_AS(out, culv_dma_buf_export_dup(device, p, size, flags, &out), class, reason,
                      says);
    REQUIRE_EQ(test_open_fds(), fds);
}

static void wrong_calls(culv_device *device, CUdeviceptr p, uint64_t page)
{
    const struct {
        uint64_t to, size, flags; /* p: 0 */
        culv_reason reason;
        const char *says;
    } wrong[] = {
        {0, page, 2, CULV_REASON_VALUE, "flags"},
        {0, page, UINT64_C(1) << 40, CULV_REASON_VALUE, "flags"},
        {0, 0, 0, CULV_REASON_SIZE, ""},
        {0, page - 1, 0, CULV_REASON_VALUE, "size is"},
        {256, page, 0, CULV_REASON_VALUE, "pointer is"},
        {0, UINT64_MAX - page + 1, 0, CULV_REASON_RANGE, ""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refuse(device, p + wrong[i].to, wrong[i].size, wrong[i].flags, CULV_ERROR_INVALID,
               wrong[i].reason, wrong[i].says);
    refuse(device, 0, page, 0, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT, "");
}

LIB_CASE(on_this_driver)
{
    const raw_cuda *cu = w->cu;
    CUdeviceptr p = 0;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    LIB_CU_OK(w, cu->MemAlloc(&p, DMA_BYTES));
    culv_device_caps caps = lib_caps(w->device);
    wrong_calls(w->device, p, page);
    static char not_cudas[8192];
    CUdeviceptr nobodys = ((CUdeviceptr)(uintptr_t)not_cudas + page - 1) / page * page;
    culv_handle none;
    culv_result r = culv_dma_buf_export_dup(w->device, nobodys, page, 0, &none);
    printf("not CUDA's: %s\n", culv_last_error_message());
    REQUIRE(cu->software ? r == CULV_ERROR_INVALID : r != CULV_OK);
    if (w->cu->software) {
        refuse(w->device, p, DMA_BYTES, 0, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE,
               "DMA_BUF_SUPPORTED is 0");
    }
    if (caps.dma_buf_export && cu->MemGetHandleForAddressRange != NULL) {
        culv_handle one, two, pcie;
        LIB_OK(culv_dma_buf_export_dup(w->device, p, DMA_BYTES, 0, &one));
        LIB_OK(culv_dma_buf_export_dup(w->device, p, DMA_BYTES / 2, 0, &two));
        REQUIRE(one.value.fd != two.value.fd && one.type == CULV_HANDLE_DMA_BUF_FD);
        REQUIRE_EQ(fcntl(one.value.fd, F_GETFD), FD_CLOEXEC);
        r = culv_dma_buf_export_dup(w->device, p, DMA_BYTES, CULV_DMA_BUF_PCIE, &pcie);
        MEASURED("library.dma_buf_pcie", "%s", r == CULV_OK ? "made" : culv_last_error_message());
        REQUIRE(r == CULV_OK || r == CULV_ERROR_UNSUPPORTED);
        if (r == CULV_OK) culv_handle_close(&pcie);
        culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
        VkDeviceMemory memory = VK_NULL_HANDLE;
        d.handle = one;
        d.size = DMA_BYTES;
        d.exporter = caps.uuid;
        r = culv_vk_memory_from_handle(w->attachment, &d, &memory);
        MEASURED("library.dma_buf_into_vulkan", "%s",
                 r == CULV_OK ? "made" : culv_last_error_message());
        if (r == CULV_OK) vkFreeMemory(w->vk.device, memory, NULL);
        culv_handle_close(&one);
        culv_handle_close(&two);
        /* What was imported has none: the driver says so. */
        raw_vk_buffer vk;
        raw_vk_buffer_create(&w->vk, DMA_BYTES, RAW_VK_EXPORT, &vk);
        OWN(culv_memory) *imported = lib_import(w, &vk);
        NEW(OWN(culv_buffer), buffer, culv_buffer_map, imported, NULL);
        refuse(w->device, culv_buffer_pointer(buffer), DMA_BYTES, 0, CULV_ERROR_DRIVER,
               CULV_REASON_NOT_EXPORTABLE, "imported from a graphics API");
        raw_vk_buffer_destroy(&w->vk, &vk);
    }
    LIB_CU_OK(w, cu->MemFree(p));
}

/* The played driver ---------------------------------------------------------------------------- */

typedef struct dma_stage {
    culv_device *device;
    dma_buf_driver *plays;
    CUdeviceptr pointer;
} dma_stage;

static void make_current(const dma_stage *s, CUcontext context)
{
    LIB_CUDA(s->device, PFN_cuCtxSetCurrent_v4000, cuCtxSetCurrent, 4000);
    CU_OK(cuCtxSetCurrent(context));
}

static void read_back(const dma_stage *s, CUdeviceptr from, void *to, size_t size)
{
    LIB_CUDA(s->device, PFN_cuMemcpyDtoH_v3020, cuMemcpyDtoH, 3020);
    make_current(s, culv_device_context(s->device));
    CU_OK(cuMemcpyDtoH(to, from, size));
    make_current(s, NULL);
}

static void dma_open(dma_stage *s)
{
    memset(s, 0, sizeof *s);
    s->plays = lib_open_played("lib/dma_buf", "culvDmaBufDriver", &s->device);
    make_current(s, culv_device_context(s->device));
    LIB_CUDA(s->device, PFN_cuMemAlloc_v3020, cuMemAlloc, 3020);
    CU_OK(cuMemAlloc(&s->pointer, DMA_BYTES));
    make_current(s, NULL);
}

static void dma_close(dma_stage *s)
{
    make_current(s, culv_device_context(s->device));
    LIB_CUDA(s->device, PFN_cuMemFree_v3020, cuMemFree, 3020);
    CU_OK(cuMemFree(s->pointer));
    make_current(s, NULL);
    culv_device_close(&s->device);
}

#define DMA_CASE(...) TEST_ON(dma_stage, s, dma_open(s), dma_close(s), __VA_ARGS__)

DMA_CASE(played_export, .own = true)
{
    culv_device_caps caps = lib_caps(s->device);
    REQUIRE_EQ(caps.dma_buf_export, 1);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    size_t fds = test_open_fds();
    culv_handle handles[3];
    for (int i = 0; i < 3; i++) {
        LIB_OK(culv_dma_buf_export_dup(s->device, s->pointer + page, page * 2,
                                       i == 2 ? CULV_DMA_BUF_PCIE : 0, &handles[i]));
        REQUIRE(handles[i].type == CULV_HANDLE_DMA_BUF_FD);
        REQUIRE_EQ(fcntl(handles[i].value.fd, F_GETFD), FD_CLOEXEC); /* the driver left that out */
        REQUIRE(s->plays->pointer == s->pointer + page && s->plays->size == page * 2);
        REQUIRE_EQ(s->plays->flags,
                   i == 2 ? 1 : 0); /* CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE */
    }
    REQUIRE_EQ(test_open_fds(), fds + 3);
    for (int i = 0; i < 3; i++)
        culv_handle_close(&handles[i]);
    REQUIRE_EQ(test_open_fds(), fds);

    wrong_calls(s->device, s->pointer, page);
    unsigned before = s->plays->calls;
    s->plays->managed = 1;
    refuse(s->device, s->pointer, page, 0, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
           "managed memory");
    s->plays->managed = 0;
    s->plays->ordinal = 1;
    refuse(s->device, s->pointer, page, 0, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH, "");
    s->plays->ordinal = 0;
    REQUIRE_EQ(s->plays->calls, before); /* the driver was not asked */
    static const struct {
        int code;
        uint64_t flags;
        culv_result class;
        culv_reason reason;
        const char *says;
    } table[] = {{CUDA_ERROR_NOT_SUPPORTED, 0, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE,
                  "cannot make a dma-buf of such memory"},
                 {CUDA_ERROR_NOT_SUPPORTED, 1, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE,
                  "without CULV_DMA_BUF_PCIE"},
                 {CUDA_ERROR_INVALID_VALUE, 0, CULV_ERROR_DRIVER, CULV_REASON_NOT_EXPORTABLE,
                  "imported from a graphics API"},
                 {CUDA_ERROR_OUT_OF_MEMORY, 0, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_DEVICE_MEMORY,
                  "cuMemGetHandle"},
                 {CUDA_ERROR_ILLEGAL_ADDRESS, 0, CULV_ERROR_ASYNC, CULV_REASON_EARLIER_FAILURE,
                  "not its cause"}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        s->plays->answer = table[i].code;
        refuse(s->device, s->pointer, page, table[i].flags, table[i].class, table[i].reason,
               table[i].says);
    }
    s->plays->answer = 0;
}

/* A driver that takes dma-bufs, as on Tegra from Thor on: without flags, also of dedicated memory;
 * buffers, no arrays. */
DMA_CASE(played_import, .own = true)
{
    raw_vk vk;
    culv_device_caps caps = lib_caps(s->device);
    raw_vk_open(&vk, &(raw_vk_options){.uuid = caps.uuid.bytes, .software = true});
    raw_vk_buffer buffer;
    raw_vk_buffer_create(&vk, 65536, RAW_VK_EXPORT | RAW_VK_DEDICATED, &buffer);
    raw_vk_fill(&vk, &buffer, 0, 65536, 0x0a0b0c0d, NULL);
    size_t fds = test_open_fds();
    culv_memory *memory = NULL;
    culv_image *image = NULL;
    culv_memory_desc d = culv_memory_desc_init();
    d.handle = culv_handle_dma_buf_fd(raw_vk_buffer_fd(&vk, &buffer));
    d.size = buffer.allocation_size;
    d.dedicated = 1;
    d.exporter = caps.uuid;
    lib_fd fd = lib_fd_watch(d.handle.value.fd);
    LIB_TAKE(culv_memory_import(s->device, &d, &memory), &d.handle);
    REQUIRE_EQ(s->plays->imports, 1);
    lib_fd_require_gone(&fd);
    lib_fd_done(&fd, false);
    NEW(culv_buffer, mapped, culv_buffer_map, memory, NULL);
    uint32_t word = 0;
    read_back(s, culv_buffer_pointer(mapped) + buffer.offset, &word, sizeof word);
    REQUIRE_EQ(word, 0x0a0b0c0d);
    culv_image_desc id = culv_image_desc_init();
    id.format = CULV_FORMAT_R8G8B8A8_UNORM;
    id.width = id.height = 16;
    id.mip_levels = 1;
    LIB_REFUSES(image, culv_image_map(memory, &id, &image), UNSUPPORTED, HANDLE_TYPE);
    culv_buffer_unmap(&mapped, NULL);
    culv_memory_destroy(&memory);
    REQUIRE_EQ(test_open_fds(), fds);
    raw_vk_buffer_destroy(&vk, &buffer);
    raw_vk_close(&vk);
}

/* What another thread opens while a refused import returns stays open, whatever number it got. */
DMA_CASE(played_bystanders, .own = true)
{
    static const struct {
        int bystander;
        bool reopens; /* the import's file is one that can be opened anew */
    } table[] = {
        {DUPLICATES, false}, {DUPLICATES_THERE, false}, {DUPLICATES, true}, {REOPENS_THERE, true}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        int file = table[i].reopens ? memfd_create("garbage", MFD_CLOEXEC)
                                    : open("/dev/null", O_RDWR | O_CLOEXEC);
        REQUIRE(file >= 0 && (!table[i].reopens || ftruncate(file, 65536) == 0));
        const size_t fds = test_open_fds();
        culv_memory *memory = NULL;
        culv_memory_desc d = culv_memory_desc_init();
        d.handle = culv_handle_opaque_fd(file);
        d.size = 65536;
        s->plays->bystander = table[i].bystander;
        s->plays->file = file;
        LIB_REFUSES(memory, culv_memory_import(s->device, &d, &memory), DRIVER, HANDLE_REFUSED);
        s->plays->bystander = NO_BYSTANDER;
        printf("given %d, the bystander's is %d\n", s->plays->given, s->plays->opened);
        if (fcntl(s->plays->opened, F_GETFD) < 0) FAIL("the file of row %zu was closed", i);
        REQUIRE(close(s->plays->opened) == 0);
        REQUIRE_EQ(test_open_fds(), fds);
        close(file);
    }
}

/* On such a driver a LINEAR image is mapped by its rows. What only the import can tell, the gate
 * does not deny. */
DMA_CASE(played_pitched, .own = true)
{
    raw_vk vk;
    culv_device_caps caps = lib_caps(s->device);
    raw_vk_open(&vk,
                &(raw_vk_options){.uuid = caps.uuid.bytes, .software = true, .with_formats = true});
    const raw_vk_image_desc wanted = {.format = VK_FORMAT_R8G8B8A8_UNORM,
                                      .width = WIDTH,
                                      .height = HEIGHT,
                                      .flags = RAW_VK_EXPORT | RAW_VK_LINEAR | RAW_VK_DEDICATED};
    if (!raw_vk_image_supported(&vk, &wanted)) SKIP("no such LINEAR image can be exported here");
    lib_world w = {.vk = vk, .device = s->device};
    culv_vk_device_desc vd = lib_vk_desc(&w);
    lib_lying = (lib_lies){.plays_dma_bufs = true, .dma_buf_types = 1};
    vd.get_instance_proc_addr = lib_lying_loader;
    NEW(culv_vk_device, attachment, culv_vk_attach, s->device, &vd);

    VkExternalMemoryImageCreateInfo external;
    VkImageCreateInfo info = image_info(wanted.format, WIDTH, HEIGHT, 1, 0, &external);
    external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
    info.tiling = VK_IMAGE_TILING_LINEAR;
    const VkBufferCreateInfo planned =
        raw_vk_buffer_info(DMA_BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    culv_vk_check_desc ask = culv_vk_check_desc_init();
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    ask.handle_type = CULV_HANDLE_DMA_BUF_FD;
    LIB_ERROR(culv_vk_check_image(attachment, &info, &ask, &sharing), UNSUPPORTED, HANDLE_TYPE,
              "only an import shows");
    LIB_ERROR(culv_vk_check_buffer(attachment, &planned, &ask, &sharing), UNSUPPORTED, HANDLE_TYPE,
              "only an import shows");

    static unsigned char texels[WIDTH * HEIGHT * 4], back[WIDTH * HEIGHT * 4];
    raw_vk_image image;
    raw_vk_image_create(&vk, &wanted, &image);
    for (size_t i = 0; i < sizeof texels; i++)
        texels[i] = (unsigned char)lib_word((uint32_t)i, 11);
    raw_vk_image_write(&vk, &image, 0, texels);
    culv_memory *memory = NULL;
    culv_buffer *table = NULL;
    culv_image *array = NULL;
    culv_subresource_layout layout = culv_subresource_layout_init();
    culv_memory_desc d = culv_memory_desc_init();
    d.handle = culv_handle_dma_buf_fd(raw_vk_image_fd(&vk, &image));
    d.size = image.allocation_size;
    d.dedicated = 1;
    d.exporter = caps.uuid;
    LIB_TAKE(culv_memory_import(s->device, &d, &memory), &d.handle);
    culv_vk_image_desc id = culv_vk_image_desc_init();
    id.image = image.image;
    id.create_info = &info;
    id.offset = image.offset;
    LIB_OK(culv_vk_image_map_pitched(attachment, memory, &id, 0, 0, &table, &layout));
    for (size_t y = 0; y < HEIGHT; y++)
        read_back(s, culv_buffer_pointer(table) + y * layout.row_pitch, back + y * WIDTH * 4,
                  WIDTH * 4);
    REQUIRE_EQ_BYTES(back, texels, sizeof back);
    culv_buffer_unmap(&table, NULL);
    VkImageCreateInfo optimal = info; /* an array there is none of */
    optimal.tiling = VK_IMAGE_TILING_OPTIMAL;
    id.create_info = &optimal;
    LIB_REFUSES(array, culv_vk_image_map(attachment, memory, &id, &array), UNSUPPORTED, HANDLE_TYPE,
                "LINEAR");
    culv_memory_destroy(&memory);
    culv_vk_detach(&attachment);
    raw_vk_image_destroy(&vk, &image);
    raw_vk_close(&vk);
}

/* A stream of another context is said to be one of a green context. */
DMA_CASE(played_green_stream, .own = true)
{
    CUcontext other = NULL;
    CUstream stream = NULL;
    LIB_CUDA(s->device, PFN_cuCtxCreate_v3020, cuCtxCreate, 3020);
    LIB_CUDA(s->device, PFN_cuStreamCreate_v2000, cuStreamCreate, 2000);
    LIB_CUDA(s->device, PFN_cuCtxDestroy_v4000, cuCtxDestroy, 4000);
    CU_OK(cuCtxCreate(&other, 0, (CUdevice)lib_caps(s->device).ordinal));
    CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (s->plays->green = 0; s->plays->green < 2; s->plays->green++) {
        if (s->plays->green) {
            LIB_OK(culv_dlpack_hand_over(s->device, stream, CULV_DLPACK_STREAM_HOST));
        } else {
            LIB_INVALID(culv_dlpack_hand_over(s->device, stream, CULV_DLPACK_STREAM_HOST),
                        STREAM_DEVICE, "belongs to a context of");
        }
    }
    CU_OK(cuCtxDestroy(other));
    make_current(s, NULL);
}
