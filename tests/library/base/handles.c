/* SPDX-License-Identifier: MIT */
/* Handles: types, duplicates, closing, and what Vulkan exports: each call a new one, the
 * caller's. */
#define TEST_GROUP "handles."
#include "library.h"

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

TEST(constructors)
{
    int mark;
    void *number = &mark;
    culv_handle fd = culv_handle_opaque_fd(7), nt = culv_handle_opaque_win32(number);
    culv_handle named = culv_handle_opaque_win32_named(L"heights"),
                kmt = culv_handle_opaque_win32_kmt(number);
    culv_handle dma = culv_handle_dma_buf_fd(8);
    REQUIRE(fd.type == CULV_HANDLE_OPAQUE_FD && fd.value.fd == 7 && fd.name == NULL);
    REQUIRE(dma.type == CULV_HANDLE_DMA_BUF_FD && dma.value.fd == 8 && dma.name == NULL);
    REQUIRE(nt.type == CULV_HANDLE_OPAQUE_WIN32 && nt.value.win32 == number && nt.name == NULL);
    REQUIRE(kmt.type == CULV_HANDLE_OPAQUE_WIN32_KMT && kmt.value.win32 == number &&
            kmt.name == NULL);
    REQUIRE(named.type == CULV_HANDLE_OPAQUE_WIN32 && named.value.win32 == NULL &&
            named.name != NULL);
}

/* Closing closes what is a file descriptor, once, and forgets. */
TEST(closing)
{
    culv_handle_close(NULL);
    culv_handle none = {CULV_HANDLE_NONE, {0}, NULL}; /* fd 0 is not its */
    culv_handle_close(&none);
    REQUIRE(fcntl(0, F_GETFD) >= 0);
    size_t fds = test_open_fds();
    static const culv_handle_type types[] = {CULV_HANDLE_OPAQUE_FD, CULV_HANDLE_DMA_BUF_FD};
    for (int i = 0; i < 2; i++) {
        int fd = memfd_create("handle", MFD_CLOEXEC);
        culv_handle h = culv_handle_opaque_fd(fd);
        h.type = types[i];
        culv_handle_close(&h);
        REQUIRE(fcntl(fd, F_GETFD) < 0);
        REQUIRE(h.type == CULV_HANDLE_NONE);
        culv_handle_close(&h);
    }
    culv_handle never = culv_handle_opaque_fd(-1);
    culv_handle_close(&never);
    REQUIRE_EQ(never.type, CULV_HANDLE_NONE);
    /* Of another system's handles, and of what is none, the bytes are no descriptor of this
     * one's. */
    int fd = memfd_create("handle", MFD_CLOEXEC);
    static const int others[] = {CULV_HANDLE_OPAQUE_WIN32, CULV_HANDLE_OPAQUE_WIN32_KMT, 5, 99, -1};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        culv_handle other = culv_handle_opaque_fd(fd);
        other.type = (culv_handle_type)others[i];
        culv_handle_close(&other);
        REQUIRE(fcntl(fd, F_GETFD) >= 0);
        REQUIRE(other.type == CULV_HANDLE_NONE && other.value.fd == 0);
    }
    REQUIRE(close(fd) == 0);
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
        lib_fd_require_untouched(&fd);
        lib_fd_done(&fd, true);
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
    const culv_handle windows[] = {culv_handle_opaque_win32(&out),
                                   culv_handle_opaque_win32_named(L"heights"),
                                   culv_handle_opaque_win32_kmt(&out)};
    for (int i = 0; i < 3; i++) {
        REFUSES_HANDLE(out, culv_handle_dup(&windows[i], &out), UNSUPPORTED, HANDLE_TYPE,
                       "only Windows has");
    }
    static const int none[] = {CULV_HANDLE_NONE, 99, -1};
    for (int i = 0; i < 3; i++) {
        h.type = (culv_handle_type)none[i];
        REFUSES_HANDLE(out, culv_handle_dup(&h, &out), INVALID, HANDLE_TYPE);
    }
}

/* A dma-buf into CUDA is asked of the driver, whose refusal is the machine's answer: the twin's
 * always. */
LIB_CASE(dma_buf_import)
{
    raw_vk_buffer vk = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    lib_fd fd = lib_fd_watch(raw_vk_buffer_fd(&w->vk, &vk));
    culv_memory_desc d = lib_memory_desc(w, &vk, fd.fd);
    culv_device_caps caps = culv_device_caps_init();
    culv_error e = culv_error_init();
    d.handle = culv_handle_dma_buf_fd(fd.fd);
    size_t fds = test_open_fds();
    culv_memory *memory = NULL;
    LIB_REFUSES(memory, culv_memory_import(w->device, &d, &memory), UNSUPPORTED, HANDLE_TYPE,
                "Thor");
    culv_last_error(&e);
    REQUIRE_EQ(e.native_api, CULV_NATIVE_CUDA);
    REQUIRE_EQ_STR(e.native_call, "cuImportExternalMemory");
    lib_fd_require_untouched(&fd);
    MEASURED("library.dma_buf_import", "an opaque fd as a dma-buf: CUresult %d",
             (int)e.native_code);
    REQUIRE_EQ(test_open_fds(), fds);
    LIB_OK(culv_device_get_caps(w->device, &caps));
    REQUIRE_EQ(caps.memory_handle_types & 1u << CULV_HANDLE_DMA_BUF_FD, 0);
    lib_fd_done(&fd, true);
}

/* Exports of one memory: each a new descriptor, all the same memory, which outlives none of
 * them. */
LIB_CASE(memory_is_exported, .title = "export.memory")
{
    enum { WORDS = 4096, TIMES = 3 };
    static uint32_t words[WORDS], back[WORDS];
    const raw_cuda *cu = w->cu;
    raw_vk_buffer vk = lib_case_buffer(w, sizeof words, RAW_VK_EXPORT);
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = lib_word(i, 77);
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
        lib_fd_require_untouched(&fd);
        lib_fd_done(&fd, false);
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
    static const struct {
        int type;
        culv_result result;
    } rows[] = {{CULV_HANDLE_NONE, CULV_ERROR_INVALID},
                {99, CULV_ERROR_INVALID},
                {-1, CULV_ERROR_INVALID},
                {CULV_HANDLE_OPAQUE_WIN32, CULV_ERROR_UNSUPPORTED},
                {CULV_HANDLE_OPAQUE_WIN32_KMT, CULV_ERROR_UNSUPPORTED}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_handle_type type = (culv_handle_type)rows[i].type;
        REFUSES_HANDLE_AS(out, culv_vk_memory_export_dup(vk, buffer.memory, type, &out),
                          rows[i].result, CULV_REASON_HANDLE_TYPE);
        REFUSES_HANDLE_AS(out, culv_vk_semaphore_export_dup(vk, timeline, type, &out),
                          rows[i].result, CULV_REASON_HANDLE_TYPE);
    }
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
 * with one. */
LIB_CASE(export_fails, .title = "export.fails")
{
    raw_vk_buffer buffer = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    VkSemaphore timeline = lib_case_timeline(w, 0);
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
        culv_vk_detach(&lying);
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
